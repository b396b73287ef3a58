"""``numpy.fft``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.lang.numpy.creation import cpu_device
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, listed, size_or_int, static_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import Out, language, npsymbol

__all__: list[str] = []

#: what a transform's result is multiplied by under a norm, for n points: forward, then inverse; the prims' inverse
#: already divides by n
_SCALES: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "backward": (lambda n: 1, lambda n: 1),
    "ortho": (lambda n: 1 / math.sqrt(n), math.sqrt),
    "forward": (lambda n: 1 / n, float),
}
#: NumPy does not always store into the array that it is given
_OUT = Out(position=4, refused="it computes a Fourier transform into out=, which NumPy does not always store into")
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(norm: Any) -> str:
    """A norm's name. Raises ``ValueError`` for one that does not exist."""
    name = "backward" if norm is None else norm
    check(name in _SCALES, lambda: f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return str(name)


@cache
def _result_dtype(name: str, dtype: DType) -> DType:
    """The dtype of ``np.fft.<name>`` of an array of ``dtype``. Raises ``TypeError`` if it takes none."""
    return to_dtype(getattr(np.fft, name)(np.zeros(2, to_numpy_dtype(dtype))).dtype)


def _points(n: Any, default: Any) -> Any:
    """How many points are transformed, to compute with. Raises ``ValueError`` for none."""
    (count,) = sizes.extents((default if n is None else size_or_int(n),), "an FFT")
    check(count >= 1, lambda: f"Invalid number of FFT data points ({count}) specified.")
    return count


def _resized(a: TensorProxy, dim: int, n: Any) -> TensorProxy:
    """``a`` cut, or filled with zeros, to ``n`` elements along ``dim``."""
    (length,) = sizes.extents(a.shape[dim : dim + 1], "an FFT")
    if length == n:
        return a
    if length > n:
        return clang.slice_dim(a, 0, n, dim=dim)
    return prims.pad(
        a, 0, tuple((0, symbols.number_of(n - length), 0) if d == dim else (0, 0, 0) for d in range(a.ndim))
    )


def _scaled(a: TensorProxy, points: Sequence[Any], norm: str, *, inverse: bool) -> TensorProxy:
    if norm == "backward":
        return a
    scale = math.prod(_SCALES[norm][inverse](symbols.fixed(n)) for n in points)
    return a if scale == 1 else clang.mul(a, float(scale))


def _complex(
    name: str, a: TensorProxy, points: Sequence[Any], dims: Sequence[int], norm: str, *, inverse: bool
) -> TensorProxy:
    """The complex transform along ``dims``, one after the other where one is named twice."""
    if not dims:
        return a
    a = clang.convert(a, _result_dtype(name, a.dtype))
    if len(set(dims)) < len(dims):
        for n, d in reversed(list(zip(points, dims))):
            a = _complex(name, a, (n,), (d,), norm, inverse=inverse)
        return a
    for n, d in zip(points, dims):
        a = _resized(a, d, n)
    return _scaled(prims.fft(a, tuple(dims), inverse), points, norm, inverse=inverse)


def _real_forward(a: TensorProxy, n: Any, dim: int, norm: str) -> TensorProxy:
    dtype = _result_dtype("rfft", a.dtype)
    a = clang.convert(a, dtypes.float64 if dtype is dtypes.complex128 else dtypes.float32)
    return _scaled(prims.rfft(_resized(a, dim, n), dim), (n,), norm, inverse=False)


def _real_inverse(a: TensorProxy, n: Any, dim: int, norm: str) -> TensorProxy:
    dtype = _result_dtype("irfft", a.dtype)
    a = clang.convert(a, dtypes.complex128 if dtype is dtypes.float64 else dtypes.complex64)
    result = prims.irfft(_resized(a, dim, n // 2 + 1), dim, symbols.number_of(n))
    return clang.convert(_scaled(result, (n,), norm, inverse=True), dtype)


# One dimension


def _one_dimension(name: str, doc: str, inverse: bool) -> None:
    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> TensorProxy:
        a = as_array(a)
        dim = one_axis(a.ndim, axis)
        return _complex(name, a, (_points(n, a.shape[dim]),), (dim,), _norm(norm), inverse=inverse)

    transform.__name__ = name
    transform.__doc__ = f"The {doc} along one axis, cut or filled with zeros to ``n`` points."
    npsymbol(f"fft.{name}", out=_OUT)(transform)


_one_dimension("fft", "discrete Fourier transform", False)
_one_dimension("ifft", "inverse discrete Fourier transform", True)


@npsymbol("fft.rfft", out=_OUT)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> TensorProxy:
    """The first ``n // 2 + 1`` values of the transform of a real array. Raises ``TypeError`` for a complex one."""
    a = as_array(a)
    dim = one_axis(a.ndim, axis)
    return _real_forward(a, _points(n, a.shape[dim]), dim, _norm(norm))


@npsymbol("fft.irfft", out=_OUT)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> TensorProxy:
    """The real array of ``n`` (default: an even number of) points of which ``a`` is the half spectrum."""
    a = as_array(a)
    dim = one_axis(a.ndim, axis)
    return _real_inverse(a, _points(n, _of_half(a.shape[dim])), dim, _norm(norm))


def _of_half(length: Any) -> Any:
    """The even number of points whose half spectrum has so many values."""
    return symbols.number_of((symbols.extent(length) - 1) * 2) if symbols.is_symbol(length) else (length - 1) * 2


@npsymbol("fft.hfft", out=_OUT)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> TensorProxy:
    """The real spectrum of a signal that is Hermitian in time, of which ``a`` is the first half."""
    a = as_array(a)
    dim = one_axis(a.ndim, axis)
    conjugate = clang.conj(a) if a.dtype.kind == "c" else a
    return _real_inverse(conjugate, _points(n, _of_half(a.shape[dim])), dim, _SWAPPED[_norm(norm)])


@npsymbol("fft.ihfft", out=_OUT)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> TensorProxy:
    """The inverse of :func:`hfft`: the first half of a signal that is Hermitian in time."""
    a = as_array(a)
    dim = one_axis(a.ndim, axis)
    return clang.conj(_real_forward(a, _points(n, a.shape[dim]), dim, _SWAPPED[_norm(norm)]))


# Several dimensions


def _shape_and_axes(a: TensorProxy, s: Any, axes: Any, *, to_real: bool = False) -> tuple[list[Any], list[int]]:
    """How many points along which dimensions; -1 of ``s`` means all there are.

    Raises ``ValueError`` if the two differ in length.
    """
    s = listed(s)
    if axes is None:
        dims = list(range(a.ndim)) if s is None else list(range(-len(s), 0))
    else:
        dims = [static_int(d) for d in listed(axes)]
    dims = [one_axis(a.ndim, d) for d in dims]
    if not dims:
        raise NeedsEager("an FFT over no axes is not compiled")
    check(s is None or len(s) == len(dims), lambda: "Shape and axes have different lengths.")
    lengths: list[Any] = [a.shape[d] for d in dims]
    if to_real:
        lengths[-1] = _of_half(a.shape[dims[-1]])
    if s is not None:
        # To a real result, -1 means all points that the half spectrum has, not those of the signal.
        wanted = [symbols.extent(size_or_int(n)) for n in s]
        lengths = [a.shape[d] if n == -1 else symbols.number_of(n) for n, d in zip(wanted, dims)]
    return [_points(None, n) for n in lengths], dims


def _several_dimensions(name: str, default: Any, meta: Callable[..., TensorProxy], doc: str) -> None:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> TensorProxy:
        return meta(as_array(a), s, axes, _norm(norm))

    transform.__name__ = name
    transform.__doc__ = f"The {doc}, along several axes, cut or filled with zeros to ``s`` points."
    npsymbol(f"fft.{name}", out=_OUT)(transform)


def _fftn(a: TensorProxy, s: Any, axes: Any, norm: str) -> TensorProxy:
    points, dims = _shape_and_axes(a, s, axes)
    return _complex("fft", a, points, dims, norm, inverse=False)


def _ifftn(a: TensorProxy, s: Any, axes: Any, norm: str) -> TensorProxy:
    points, dims = _shape_and_axes(a, s, axes)
    return _complex("ifft", a, points, dims, norm, inverse=True)


def _rfftn(a: TensorProxy, s: Any, axes: Any, norm: str) -> TensorProxy:
    points, dims = _shape_and_axes(a, s, axes)
    a = _real_forward(a, points[-1], dims[-1], norm)
    return _complex("fft", a, points[:-1], dims[:-1], norm, inverse=False)


def _irfftn(a: TensorProxy, s: Any, axes: Any, norm: str) -> TensorProxy:
    points, dims = _shape_and_axes(a, s, axes, to_real=True)
    a = _complex("ifft", a, points[:-1], dims[:-1], norm, inverse=True)
    return _real_inverse(a, points[-1], dims[-1], norm)


for _name, _meta, _doc in (
    ("fft", _fftn, "discrete Fourier transform"),
    ("ifft", _ifftn, "inverse discrete Fourier transform"),
    ("rfft", _rfftn, "transform of a real array, the last axis in its first half"),
    ("irfft", _irfftn, "inverse transform to a real array, of whose last axis the first half is given"),
):
    _several_dimensions(f"{_name}n", None, _meta, _doc)
    _several_dimensions(f"{_name}2", (-2, -1), _meta, _doc)


# Frequencies and their order


def _frequencies(k: list[TensorProxy], n: Any, d: Any) -> TensorProxy:
    """``k / (n * d)``, by the rules of NumPy's operators for what ``d`` is."""
    joined, n = clang.concatenate(k, 0), symbols.number_of(n)
    if is_number(n) and is_number(d) and not isinstance(n, NumberProxy):
        step: Any = 1.0 / (n * d)
    else:
        step = language.method("div")(1.0, language.method("mul")(n, d))
    return language.method("mul")(joined, step)


def _count(n: Any) -> Any:
    is_integer = n.scalar and n.dtype.kind in "iu" if isinstance(n, TensorProxy) else hasattr(n, "__index__")
    check(is_integer, lambda: "n should be an integer")
    return symbols.extent(size_or_int(n))


@npsymbol("fft.fftfreq", factory=True)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> TensorProxy:
    """The frequencies of the values of an ``n``-point transform for a sample spacing ``d``: positive, then negative."""
    n = _count(n)
    device = cpu_device(device)
    check(n >= 0, lambda: "negative dimensions are not allowed")
    half = (n - 1) // 2 + 1
    first, second = symbols.dimensions((half, n - half))
    positive = prims.iota(first, device=device, dtype=dtypes.int64)
    negative = prims.iota(second, start=symbols.number_of(-(n // 2)), device=device, dtype=dtypes.int64)
    return _frequencies([positive, negative], n, d)


@npsymbol("fft.rfftfreq", factory=True)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> TensorProxy:
    """The frequencies of the values of an ``n``-point transform of real samples ``d`` apart: ``n // 2 + 1`` of them."""
    n = _count(n)
    (count,) = symbols.dimensions((n // 2 + 1,))
    return _frequencies([prims.iota(count, device=cpu_device(device), dtype=dtypes.int64)], n, d)


def _rolled(x: Any, axes: Any, shift: Callable[[Any], Any]) -> TensorProxy:
    a = as_array(x)
    check(a.ndim > 0, lambda: "the spectrum is a number", NeedsOpaque)
    for d in range(a.ndim) if axes is None else [static_int(d) for d in _several(listed(axes))]:
        dim = one_axis(a.ndim, d)
        (n,) = sizes.extents(a.shape[dim : dim + 1], "a shift")
        by = shift(n) if n else 0
        if by:
            parts = clang.slice_dim(a, n - by, n, dim=dim), clang.slice_dim(a, 0, n - by, dim=dim)
            a = clang.concatenate(parts, dim)
    return a


def _several(x: Any) -> Sequence[Any]:
    return x if isinstance(x, (tuple, list)) else (x,)


@npsymbol("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> TensorProxy:
    """The zero frequency moved to the middle of each axis."""
    return _rolled(x, axes, lambda n: n // 2)


@npsymbol("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> TensorProxy:
    """The inverse of :func:`fftshift`; they differ for odd lengths."""
    return _rolled(x, axes, lambda n: n - n // 2)
