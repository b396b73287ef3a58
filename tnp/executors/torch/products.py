"""Products of matrices in memory of the pool.

torch asks the system's allocator for every result. There the many sizes of a training step break up the memory of large results, so that
the next ones need more; the pool that compiled regions use keeps blocks of their sizes. The calls of BLAS are torch's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tnp.core.devices import DeviceType
from tnp.core.proxies import TensorProxy
from tnp.executors.numpy.kernels import pooled

__all__ = ["goes_to_pool", "linear", "matmul"]

#: results of fewer bytes are torch's
LARGE = 1 << 20

_KINDS = {torch.float32: "float32", torch.float64: "float64"}


def goes_to_pool(shape: Sequence[Any], *operands: Any) -> bool:
    """Whether a product's result of a shape is large enough for the pool, and its operands of a dtype and a device that it serves."""
    arrays = [a for a in operands if isinstance(a, TensorProxy)]
    dtype = arrays[0].dtype
    return (
        dtype.name in _KINDS.values()
        and all(a.dtype is dtype and a.device.devicetype is DeviceType.CPU for a in arrays)
        and all(type(n) is int for n in shape)
        and math.prod(shape) * dtype.itemsize >= LARGE
    )


def _empty(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.from_numpy(pooled(tuple(shape), _KINDS[dtype]))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``torch.matmul`` of two matrices."""
    return torch.mm(a, b, out=_empty((a.shape[0], b.shape[1]), a.dtype))


def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.nn.functional.linear`` of a tensor of two or more dimensions: the product that torch makes of it, over all rows."""
    if not input.is_contiguous() or not input.numel() or (bias is not None and bias.ndim != 1):
        return torch.nn.functional.linear(input, weight, bias)
    rows = input.view(-1, input.shape[-1])
    out = _empty((rows.shape[0], weight.shape[0]), input.dtype)
    if bias is None:
        torch.mm(rows, weight.t(), out=out)
    else:
        torch.addmm(bias, rows, weight.t(), out=out)
    return out.view(*input.shape[:-1], weight.shape[0])
