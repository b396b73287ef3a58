"""Large matrix products: by tnp's own kernel where it is faster than torch's library, with results in the pool.

torch allocates every result with the system's allocator. The many sizes of a training step fragment the memory of large
results, so later ones need new memory; the pool of compiled regions reuses blocks of equal size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from tnp.core import symbols
from tnp.core.devices import DeviceType
from tnp.core.proxies import TensorProxy
from tnp.executors.shared.cpu_kernels import matmul as own
from tnp.runtime.pooled import pooled

__all__ = ["goes_to_pool", "is_own", "linear", "matmul", "present_lengths"]

#: results of fewer bytes are torch's
LARGE = 1 << 20

_KINDS = {torch.float32: "float32", torch.float64: "float64"}


def goes_to_pool(shape: Sequence[Any], *operands: Any) -> bool:
    """Whether a product's result of a shape is large enough for the pool, and its operands of a dtype and a device that it serves.
    A symbolic size counts as what it is in the call being traced."""
    dtype, lengths = _dtype(operands), present_lengths(shape)
    return dtype is not None and lengths is not None and math.prod(lengths) * dtype.itemsize >= LARGE


def is_own(m: Any, n: Any, k: Any, *operands: Any) -> bool:
    """Whether tnp's kernel is to multiply ``[m, k]`` and ``[k, n]``."""
    dtype, lengths = _dtype(operands), present_lengths((m, n, k))
    if dtype is None or dtype.name != "float32" or lengths is None:
        return False
    return own.takes(*lengths) and own.is_preferred()


def present_lengths(shape: Sequence[Any]) -> list[int] | None:
    """A shape in the call being traced; ``None`` if only the running program knows it."""
    return None if any(symbols.value_of(n) is None for n in shape) else list(map(symbols.present, shape))


def _dtype(operands: Sequence[Any]) -> Any:
    """The dtype of all arrays among ``operands``, if it is one that is served here and they are on the CPU."""
    arrays = [a for a in operands if isinstance(a, TensorProxy)]
    dtype = arrays[0].dtype
    of_one_kind = all(a.dtype is dtype and a.device.devicetype is DeviceType.CPU for a in arrays)
    return dtype if of_one_kind and dtype.name in _KINDS.values() else None


def _empty(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    if math.prod(shape) * dtype.itemsize < LARGE:
        return torch.empty(shape, dtype=dtype)
    return torch.from_numpy(pooled(tuple(shape), _KINDS[dtype]))


@functools.lru_cache(16)
def _zeros(n: int) -> torch.Tensor:
    return torch.zeros(n)


def _multiplied(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """``bias + a @ b``."""
    (m, k), n = a.shape, b.shape[1]
    out = _empty((m, n), a.dtype)
    if a.dtype is torch.float32 and own.takes(m, n, k) and own.is_preferred():
        start = _zeros(n) if bias is None else bias
        if start.shape == (n,) and start.is_contiguous() and own.multiply(a, b, start, out):
            return out
    return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``torch.matmul`` of two matrices."""
    return _multiplied(a, b, None)


def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.nn.functional.linear`` of a tensor of two or more dimensions: the product that torch makes of it, over all rows."""
    if not input.is_contiguous() or not input.numel() or (bias is not None and bias.ndim != 1):
        return torch.nn.functional.linear(input, weight, bias)
    rows = input.view(-1, input.shape[-1])
    return _multiplied(rows, weight.t(), bias).view(*input.shape[:-1], weight.shape[0])
