"""Gradients of Fourier transforms: their adjoints, which are transforms in the other direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import Dim
from tnp.transforms.autodiff.rules import rule

__all__: list[str] = []


@rule(prims.fft)
def _fft(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any, inverse: bool = False) -> Any:
    n = _count([a.shape[d] for d in dims])
    back = prims.fft(g, tuple(dims), not inverse)
    return clang.mul(back, 1 / n if inverse else n * 1.0)


def _count(lengths: Sequence[Dim]) -> Any:
    """How many values are transformed: an integer, or a symbolic size."""
    return symbols.number_of(math.prod(sizes.extents(lengths, "the gradient of an FFT")))


def _along(values: TensorProxy, a: TensorProxy, dim: int) -> TensorProxy:
    return clang.broadcast_to(clang.expand_dims(values, [d for d in range(a.ndim) if d != dim]), a.shape)


@rule(prims.rfft)
def _rfft(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int) -> Any:
    """The spectrum's other half is not there: its cotangent is 0."""
    n, half = sizes.extents((a.shape[dim], g.shape[dim]), "the gradient of an FFT")
    missing = symbols.number_of(n - half)
    whole = prims.pad(g, 0, tuple((0, missing, 0) if d == dim else (0, 0, 0) for d in range(g.ndim)))
    return clang.mul(prims.real(prims.fft(whole, (dim,), True)), symbols.number_of(n) * 1.0)


@rule(prims.irfft)
def _irfft(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int, length: int) -> Any:
    """Each value but the first, and of an even length the last, stands for its conjugate as well."""
    half = prims.rfft(g, dim)
    count = a.shape[dim]
    at = prims.iota(count, device=a.device, dtype=dtypes.int64)
    once = clang.eq(at, 0)
    if symbols.extent(length) % 2 == 0:
        once = clang.logical_or(once, clang.eq(at, count - 1))
    weight = clang.where(once, clang.full((count,), 1 / length, dtype=g.dtype, device=g.device), 2 / length)
    return clang.mul(half, clang.convert(_along(weight, half, dim), half.dtype))
