"""``scipy.signal``: convolutions with short kernels and Savitzky-Golay filters as stencils, transforms by NumPy's, and calls.

Functions that design filters and windows of numbers are called while a program is traced.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags, Symbol
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, promote
from tnp.lang.numpy.registry import by_id, language
from tnp.lang.scipy import ndimage
from tnp.lang.scipy.linalg.operands import finite
from tnp.lang.scipy.registry import by_dry_run, scipycall, scipysymbol

__all__: list[str] = []

#: longer kernels are convolved by Fourier transforms
_MOST_TAPS = 128


def _concrete(x: TensorProxy) -> tuple[int, ...]:
    return tuple(sizes.concrete(x.shape, "a signal"))


def _extents(x: TensorProxy) -> tuple[Any, ...]:
    """The sizes of a signal, to compute with: of any size, where a kernel's sizes are known."""
    return sizes.extents(x.shape, "a signal")


def _count(x: TensorProxy) -> Any:
    """How many elements there are."""
    return math.prod(_extents(x))


def _dimension(axis: Any, ndim: int) -> int:
    axis = axis.known() if isinstance(axis, NumberProxy) else axis
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise NeedsOpaque("an axis that the signal lacks")
    return axis % ndim


def _fft(name: str) -> Symbol:
    """One of NumPy's Fourier transforms."""
    return by_id[f"numpy.fft.{name}"].symbol


# Convolution


def _two(in1: Any, in2: Any) -> tuple[TensorProxy, TensorProxy]:
    """Real operands of one number of dimensions, with elements."""
    a, b = as_array(in1), as_array(in2)
    if a.ndim != b.ndim or not a.ndim or not (sizes.is_never_empty(a.shape) and sizes.is_never_empty(b.shape)):
        raise NeedsOpaque("operands of different dimensions, or without elements")
    if a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        raise NeedsOpaque("operands that are no real numbers")
    return a, b


def _result_region(mode: Any, n: Sequence[Any], m: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Where the result begins in the full convolution, and how long it is, along each axis."""
    if mode == "full":
        return [(0, i + j - 1) for i, j in zip(n, m)]
    if mode == "same":
        return [((j - 1) // 2, i) for i, j in zip(n, m)]
    if mode == "valid" and all(i >= j for i, j in zip(n, m)):
        return [(j - 1, i - j + 1) for i, j in zip(n, m)]
    if mode == "valid" and all(j >= i for i, j in zip(n, m)):
        return [(i - 1, j - i + 1) for i, j in zip(n, m)]
    raise NeedsOpaque("a convolution's mode")


_BOUNDARIES = {"fill": "constant", "symm": "symmetric", "symmetric": "symmetric", "wrap": "wrap", "circular": "wrap"}


def _stencil(
    a: TensorProxy, k: TensorProxy, region: Sequence[tuple[Any, Any]], boundary: str = "constant", value: Any = 0
) -> TensorProxy:
    """A region of the convolution of arrays of one dtype, element by element of ``k``."""
    shape, taps = _extents(a), _concrete(k)
    first = [start - (t - 1) for (start, _), t in zip(region, taps)]
    widths = [(_at_least_0(-f), _at_least_0(start + n - size)) for f, (start, n), size in zip(first, region, shape)]
    if any(map(any, widths)):
        if boundary == "constant":
            a = prims.pad(a, value, [(*w, 0) for w in widths])
        else:
            a = lnp.pad(a, [list(w) for w in widths], mode=boundary)
    flat = clang.reshape(k, (int(np.prod(taps)),))
    total = None
    for i, index in enumerate(np.ndindex(*taps)):
        part = a
        for d, (j, f, (before, _), (_, n)) in enumerate(zip(index, first, widths, region)):
            at = f + before + taps[d] - 1 - j
            part = clang.slice_dim(part, *map(symbols.number_of, (at, at + n)), dim=d)
        weight = prims.select(flat, 0, i)
        if a.ndim == 1:  # SciPy does not pad vectors: infinity times a padded 0 would be NaN
            weight = _where_inside(weight, at - widths[0][0], n, shape[0])
        term = clang.mul(part, weight)
        total = term if total is None else clang.add(total, term)
    assert total is not None
    return total


def _at_least_0(n: Any) -> int:
    return max(0, symbols.fixed(n))


def _where_inside(weight: TensorProxy, start: Any, n: Any, size: Any) -> TensorProxy:
    """``weight`` for each of ``n`` positions from ``start`` on, 0 where it is none of ``size``."""
    if start >= 0 and start + n <= size:
        return weight
    count, first, end = map(symbols.number_of, (n, start, size))
    at = prims.iota(count, start=first, device=weight.device, dtype=dtypes.int64)
    inside = clang.logical_and(clang.ge(at, 0), clang.lt(at, end))
    return clang.where(inside, weight, False if weight.dtype.kind == "b" else 0)


def _is_short(a: TensorProxy, b: TensorProxy) -> bool:
    return bool(_count(a) <= _MOST_TAPS or _count(b) <= _MOST_TAPS)


def _convolved(a: TensorProxy, b: TensorProxy, mode: Any, method: Any) -> TensorProxy:
    region = _result_region(mode, _extents(a), _extents(b))
    if a.ndim > 1 and a.dtype is not b.dtype and not (a.dtype is dtypes.float64 and b.dtype.kind in "iu"):
        raise NeedsOpaque("operands of two dtypes")
    x, y = promote(a, b)
    if _is_short(x, y) and method != "fft" and (x.dtype.kind != "u" or x.dtype.bits > 16):
        big, small = (x, y) if _count(x) >= _count(y) else (y, x)
        return _stencil(big, small, region)
    if x.dtype.kind != "f" or method == "direct":
        raise NeedsOpaque("a long direct convolution, or one of integers")
    return _by_transforms(x, y, region, list(range(x.ndim)))


def _by_transforms(a: TensorProxy, b: TensorProxy, region: Sequence[tuple[Any, Any]], axes: list[int]) -> TensorProxy:
    """A region of the convolution along some axes, by Fourier transforms of lengths that are fast."""
    if not axes:
        return lnp.multiply(a, b)
    full = [i + j - 1 for i, j in zip(_concrete(a), _concrete(b))]
    lengths = [_fast_length(full[d]) for d in axes]
    product = lnp.multiply(_fft("rfftn")(a, lengths, axes), _fft("rfftn")(b, lengths, axes))
    found = _fft("irfftn")(product, lengths, axes)
    for d in axes:
        start, n = map(symbols.fixed, region[d])
        found = clang.slice_dim(found, start, start + n, dim=d)
    return clang.convert(found, a.dtype)


@cache
def _fast_length(n: int) -> int:
    """The least length from ``n`` on whose prime factors are 2, 3 and 5."""
    while True:
        rest = n
        for p in (2, 3, 5):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1


@scipysymbol("signal.convolve", returns="array")
def convolve(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> TensorProxy:
    """``scipy.signal.convolve``: a stencil where one operand has at most 128 elements."""
    if method not in ("auto", "direct", "fft"):
        raise NeedsOpaque("a convolution's method")
    return _convolved(*_two(in1, in2), mode, method)


@scipysymbol("signal.correlate", returns="array")
def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> TensorProxy:
    """``scipy.signal.correlate``: a convolution with the second operand backwards."""
    a, b = _two(in1, in2)
    if method not in ("auto", "direct", "fft"):
        raise NeedsOpaque("a correlation's method")
    if mode == "valid" and not all(i >= j for i, j in zip(_extents(a), _extents(b))):
        raise NeedsOpaque("a correlation with something longer")
    return _convolved(a, clang.flip(b, tuple(range(b.ndim))), mode, method)


@scipysymbol("signal.fftconvolve", returns="array")
def fftconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> TensorProxy:
    """``scipy.signal.fftconvolve`` of real numbers along all axes."""
    a, b = _two(in1, in2)
    if axes is not None:
        raise NeedsOpaque("a convolution along some axes")
    wide = [as_array(x, dtypes.float64) if x.dtype.kind in "iu" else x for x in (a, b)]
    if any(x.dtype not in (dtypes.float32, dtypes.float64) for x in wide):
        raise NeedsOpaque("a convolution of half precision")
    region = _result_region(mode, _concrete(a), _concrete(b))
    x, y = promote(*wide)
    # SciPy multiplies along axes of length 1, which is the same.
    return _by_transforms(x, y, region, list(range(x.ndim)))


def _in_a_plane(in1: Any, in2: Any, mode: Any, boundary: Any, fillvalue: Any, backwards: bool) -> TensorProxy:
    a, b = _two(in1, in2)
    if a.ndim != 2 or boundary not in _BOUNDARIES:
        raise NeedsOpaque("a convolution of other than planes")
    n, m = _extents(a), _concrete(b)
    region = _result_region(mode, n, m)
    if mode == "same" and backwards:  # in the middle of a correlation, which is another one for even lengths
        region = [(j // 2, i) for i, j in zip(n, m)]
    if int(np.prod(m)) > _MOST_TAPS or (mode == "valid" and any(i < j for i, j in zip(n, m))):
        raise NeedsOpaque("a kernel with many elements")
    if type(fillvalue) not in (int, float):
        raise NeedsOpaque("a fill value that is no number")
    x, y = promote(a, b)
    if x.dtype.kind == "u" or (x.dtype.kind != "f" and fillvalue != int(fillvalue)):
        raise NeedsOpaque("a convolution of unsigned integers, or a fill value with a fraction")
    value = float(fillvalue) if x.dtype.kind == "f" else int(fillvalue)
    return _stencil(x, clang.flip(y, (0, 1)) if backwards else y, region, _BOUNDARIES[boundary], value)


@scipysymbol("signal.convolve2d", returns="array")
def convolve2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> TensorProxy:
    """``scipy.signal.convolve2d`` with kernels of at most 128 elements."""
    return _in_a_plane(in1, in2, mode, boundary, fillvalue, False)


@scipysymbol("signal.correlate2d", returns="array")
def correlate2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> TensorProxy:
    """``scipy.signal.correlate2d`` with kernels of at most 128 elements."""
    return _in_a_plane(in1, in2, mode, boundary, fillvalue, True)


# Smoothing, trends, analytic signals


def _numbers(*xs: Any) -> list[Any]:
    """Numbers on whose values the trace depends."""
    if any(isinstance(x, TensorProxy) for x in xs):
        raise NeedsEager("a filter's size comes from an array")
    return [x.known() if isinstance(x, NumberProxy) else x for x in xs]


@lru_cache(maxsize=None, typed=True)
def _savgol(window: int, order: int, deriv: int, delta: float) -> tuple[Any, Any]:
    """The filter's coefficients, and how the values at the edges follow from those of a window."""
    signal = sys.modules["scipy.signal"]
    coefficients = signal.savgol_coeffs(window, order, deriv=deriv, delta=delta)
    edges = signal.savgol_filter(np.eye(window), window, order, deriv=deriv, delta=delta, axis=0, mode="interp")
    return coefficients, edges


@scipysymbol("signal.savgol_filter", returns="array")
def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: Any = -1,
    mode: Any = "interp",
    cval: Any = 0.0,
) -> TensorProxy:
    """``scipy.signal.savgol_filter``: a stencil, and at the edges the polynomial's values, a small matrix times a window."""
    x = as_array(x)
    if x.dtype not in (dtypes.float32, dtypes.float64):
        x = as_array(x, dtypes.float64)
    if (
        not x.ndim
        or any(n == 0 for n in _extents(x))
        or mode not in ("mirror", "constant", "nearest", "interp", "wrap")
    ):
        raise NeedsOpaque("a filter's mode")
    window, order, deriv, delta = _numbers(window_length, polyorder, deriv, delta)
    d = _dimension(axis, x.ndim)
    n = _extents(x)[d]
    are_integers = type(window) is type(order) is type(deriv) is int
    if not (are_integers and 0 <= order < window <= _MOST_TAPS and window <= n):
        raise NeedsOpaque("a filter's window")
    coefficients, edges = _savgol(window, order, deriv, float(delta))
    weights = coefficients.tolist()
    smooth = ndimage.convolve1d(x, weights, d, None, "constant" if mode == "interp" else mode, cval)
    if mode != "interp":
        return smooth
    half = window // 2
    moved = clang.moveaxis(x, (d,), (0,))
    ends = [
        _by_matrix(rows, finite(_slice(moved, at, at + window), check_finite=True))
        for rows, at in ((edges[:half], 0), (edges[window - half :], n - window))
    ]
    inner = _slice(clang.moveaxis(smooth, (d,), (0,)), half, n - half)
    made = clang.concatenate([ends[0], inner, ends[1]], 0) if half else inner
    return clang.moveaxis(made, (0,), (d,))


def _slice(x: TensorProxy, first: Any, last: Any) -> TensorProxy:
    """Elements of the first dimension, between extents."""
    return clang.slice_dim(x, *map(symbols.number_of, (first, last)), dim=0)


def _by_matrix(rows: np.ndarray[Any, Any], x: TensorProxy) -> TensorProxy:
    """``rows @ x``, computed in double precision."""
    wide = clang.convert(x, dtypes.float64)
    made = []
    for row in rows:
        total = None
        for j, w in enumerate(row):
            term = clang.mul(clang.slice_dim(wide, j, j + 1, dim=0), float(w))
            total = term if total is None else clang.add(total, term)
        made.append(total)
    return clang.convert(clang.concatenate(made, 0), x.dtype) if made else clang.slice_dim(x, 0, 0, dim=0)


@scipysymbol("signal.detrend", returns="array", tags=(OpTags.MAY_RAISE,))
def detrend(data: Any, axis: Any = -1, type: Any = "linear", bp: Any = 0, overwrite_data: Any = False) -> TensorProxy:
    """``scipy.signal.detrend``: less the mean, or less the line that fits best, without break points. Raises ``ValueError`` for numbers that
    are not finite, of which no line is fitted."""
    x = as_array(data)
    if type in ("constant", "c"):
        return lnp.subtract(x, lnp.mean(x, axis=axis, keepdims=True))
    is_plain = isinstance(bp, int) and not isinstance(bp, NumberProxy) and bp == 0
    if type not in ("linear", "l") or not is_plain or overwrite_data or x.dtype.kind not in "biuf" or not x.ndim:
        raise NeedsOpaque("a trend of several lines")
    x = x if x.dtype in (dtypes.float32, dtypes.float64) else as_array(x, dtypes.float64)
    d = _dimension(axis, x.ndim)
    n = _extents(x)[d]
    if n < 2 or 0 in _extents(x):
        raise NeedsOpaque("a trend of nothing")
    shape = tuple(x.shape[d] if i == d else 1 for i in range(x.ndim))
    length = float(n) if isinstance(n, int) else as_array(symbols.number_of(n), dtypes.float64)
    at = clang.arange(symbols.number_of(n), dtype=dtypes.float64)
    at = clang.reshape(lnp.subtract(at, lnp.divide(lnp.subtract(length, 1.0), 2.0)), shape)
    wide = finite(clang.convert(x, dtypes.float64), check_finite=True)
    centered = lnp.subtract(wide, lnp.mean(wide, axis=d, keepdims=True))
    squares = lnp.divide(lnp.multiply(length, lnp.subtract(lnp.multiply(length, length), 1.0)), 12.0)
    slope = lnp.divide(lnp.sum(lnp.multiply(centered, at), axis=d, keepdims=True), squares)
    return clang.convert(lnp.subtract(centered, lnp.multiply(slope, at)), x.dtype)


@scipysymbol("signal.hilbert", returns="array")
def hilbert(x: Any, N: Any = None, axis: Any = -1) -> TensorProxy:
    """``scipy.signal.hilbert``: the spectrum without negative frequencies, twice the others."""
    x = as_array(x)
    if x.dtype.kind not in "biuf" or not x.ndim or 0 in _concrete(x):
        raise NeedsOpaque("an analytic signal of complex numbers")
    d = _dimension(axis, x.ndim)
    (n,) = _numbers(_concrete(x)[d] if N is None else N)
    if type(n) is not int or n <= 0:
        raise NeedsOpaque("a transform's length")
    half, is_even = (n + 1) // 2, int(n % 2 == 0)
    spectrum = _fft("fft")(x, n, d)
    dtype = dtypes.float32 if spectrum.dtype is dtypes.complex64 else dtypes.float64
    counts = ((1.0, 1), (2.0, half - 1), (1.0, is_even), (0.0, n - half - is_even))
    parts = [clang.full((count,), value, dtype=dtype) for value, count in counts if count]
    factors = clang.reshape(clang.concatenate(parts, 0), tuple(n if i == d else 1 for i in range(x.ndim)))
    return _fft("ifft")(lnp.multiply(spectrum, factors), None, d)


# Recursive filters: calls


def _filtered(x: TensorProxy, *others: TensorProxy) -> TensorProxy:
    """The result of a recursive filter: of the signal's shape."""
    dtype = np.result_type(*(to_numpy_dtype(a.dtype) for a in (x, *others)))
    if dtype.char not in "fdFD" or not x.ndim or not sizes.is_never_empty(x.shape):
        raise NeedsEager("a filter of integers, or of a signal without elements, is not compiled")
    return TensorProxy(shape=x.shape, dtype=result_of(dtype), lang=language)


def _sections(sos: Any) -> TensorProxy:
    sos = as_array(sos)
    if sos.ndim != 2 or not sizes.equal(sos.shape[1], 6):
        raise NeedsEager("a filter whose sections are none is not compiled")
    return sos


_RAISES = (OpTags.MAY_RAISE,)


@scipycall("signal.sosfilt", tags=_RAISES, returns="array")
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    """``scipy.signal.sosfilt``, called."""
    sos, x = _sections(sos), as_array(x)
    if zi is None:
        return _filtered(x, sos)
    zi = as_array(zi)
    made = _filtered(x, sos, zi)
    return made, TensorProxy(shape=zi.shape, dtype=made.dtype, lang=language)


def _one_result(*arrays: Any) -> TensorProxy:
    *others, x = map(as_array, arrays)
    made = _filtered(x, *others)
    wide = dtypes.complex128 if made.dtype.kind == "c" else dtypes.float64
    return (
        made
        if made.dtype.kind == "c" or all(a.dtype is dtypes.float32 for a in (x, *others))
        else TensorProxy(shape=x.shape, dtype=wide, lang=language)
    )


@scipycall("signal.filtfilt", tags=_RAISES, returns="array")
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: Any = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: Any = "pad",
    irlen: Any = None,
) -> TensorProxy:
    """``scipy.signal.filtfilt``, called."""
    if method != "pad":
        raise NeedsEager("scipy.signal.filtfilt by Gustafsson's method is not compiled")
    return _one_result(b, a, x)


@scipycall("signal.sosfiltfilt", tags=_RAISES, returns="array")
def sosfiltfilt(sos: Any, x: Any, axis: Any = -1, padtype: Any = "odd", padlen: Any = None) -> TensorProxy:
    """``scipy.signal.sosfiltfilt``, called."""
    return _one_result(_sections(sos), x)


by_dry_run(
    "signal",
    "bilinear chirp coherence correlation_lags csd cspline1d cspline1d_eval cspline2d czt decimate deconvolve envelope freqz "
    "freqz_sos freqz_zpk gauss_spline gausspulse group_delay hilbert2 istft lfilter lfilter_zi lfiltic lombscargle medfilt medfilt2d "
    "oaconvolve order_filter periodogram qspline1d qspline1d_eval qspline2d resample resample_poly savgol_coeffs sawtooth sepfir2d "
    "sosfilt_zi spectrogram spline_filter square stft sweep_poly symiirorder1 symiirorder2 upfirdn vectorstrength welch wiener "
    "zoom_fft",
)
