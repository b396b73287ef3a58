"""Fourier transforms along one or more dimensions, unnormalised forward and divided by n backward (NumPy's default)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import dtypes, sizes, symbols
from tnp.core.prims.base import check, check_kind, prim
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import Dim

__all__ = ["fft", "irfft", "rfft"]


@prim()
def fft(a: TensorProxy, /, dims: Sequence[int], inverse: bool = False) -> TensorProxy:
    """The complex transform of a complex array along ``dims``."""
    check_kind(a.dtype, "c", "fft")
    return TensorProxy(like=a)


def _half(n: Any) -> Any:
    """How many values of a spectrum of ``n`` are those of a real array."""
    return symbols.dimensions((symbols.extent(n) // 2 + 1,))[0] if symbols.is_symbol(n) else n // 2 + 1


@prim()
def rfft(a: TensorProxy, /, dim: int) -> TensorProxy:
    """The first half of the spectrum of a real array along ``dim``: ``n // 2 + 1`` values."""
    check_kind(a.dtype, "f", "rfft")
    shape = tuple(_half(n) if i == dim else n for i, n in enumerate(a.shape))
    return TensorProxy(like=a, shape=shape, dtype=dtypes.complex_counterpart(a.dtype))


@prim()
def irfft(a: TensorProxy, /, dim: int, length: Dim) -> TensorProxy:
    """The real array of ``length`` whose half spectrum is ``a``, which has ``length // 2 + 1`` values along ``dim``."""
    check_kind(a.dtype, "c", "irfft")
    check(sizes.equal(a.shape[dim], _half(length)), lambda: f"irfft to {length} needs {_half(length)} values")
    shape = tuple(length if i == dim else n for i, n in enumerate(a.shape))
    return TensorProxy(like=a, shape=shape, dtype=dtypes.real_counterpart(a.dtype))
