"""``scipy.ndimage``: filters with few weights as stencils on padded arrays, and calls of SciPy's own functions.

A filter computes in double precision, adds in SciPy's order, and casts its result, as SciPy does: results are SciPy's to the last
bit. Filters with ``output=`` an array, and those of complex numbers, are SciPy's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, pyval
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.registry import by_dry_run, call_symbol, scipysymbol

__all__: list[str] = []

#: filters with more weights are SciPy's: their code would take long to compile
_MOST_TAPS = 128
#: SciPy leaves out weights of several dimensions that are not larger
_EPSILON = sys.float_info.epsilon
_MODES = {
    "constant": "constant", "grid-constant": "constant", "grid-mirror": "symmetric", "grid-wrap": "wrap", "mirror": "reflect",
    "nearest": "edge", "reflect": "symmetric", "wrap": "wrap",
}  # fmt: skip


# Arguments


def _image(x: Any) -> TensorProxy:
    x = as_array(x)
    if x.dtype.kind not in "biuf" or (x.dtype.bits == 16 and x.dtype.kind == "f") or not x.ndim:
        raise NeedsOpaque("a filter of complex numbers or of a number")
    if not all(type(n) is int and n for n in sizes.concrete(x.shape, "a filter")):
        raise NeedsOpaque("a filter of an empty array")
    return x


def _output_dtype(output: Any, x: TensorProxy) -> DType:
    if output is None:
        return x.dtype
    if isinstance(output, TensorProxy):
        raise NeedsEager("a filter that writes its result to an array is not compiled")
    try:
        made = np.dtype(output)
    except TypeError:
        raise NeedsEager("a filter's output= is no dtype") from None
    if made.kind not in "biuf" or (isinstance(output, str) and made.kind == "b"):
        raise NeedsOpaque("a filter with complex output")
    return result_of(made)


def _known(x: Any) -> Any:
    """A number, or numbers in lists and tuples, on whose values the trace depends."""
    if isinstance(x, (list, tuple)):
        return [_known(y) for y in x]
    if isinstance(x, TensorProxy):
        raise NeedsEager("a filter's sizes come from an array")
    return x.known() if isinstance(x, NumberProxy) else x.item() if isinstance(x, np.generic) else x


def _each(x: Any, count: int) -> list[Any]:
    """``x`` for each of so many axes."""
    x = _known(x)
    made = x if isinstance(x, list) else [x] * count
    if len(made) != count:
        raise NeedsOpaque("a filter's sequence has another length")
    return made


def _axes(axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    axes = _known(axes)
    made = [
        a % ndim if type(a) is int and -ndim <= a < ndim else -1 for a in (axes if isinstance(axes, list) else [axes])
    ]
    if -1 in made or len(set(made)) != len(made):
        raise NeedsOpaque("a filter's axes are none of the array's")
    return made


def _is_known(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(_is_known, x))
    return not isinstance(x, (TensorProxy, NumberProxy))


def _weights(weights: Any) -> tuple[np.ndarray[Any, Any] | None, TensorProxy | None]:
    """Weights in double precision: as numbers, or as an array of the program."""
    if _is_known(weights):
        known = np.asarray(weights)
        if known.dtype.kind not in "biuf":
            raise NeedsOpaque("complex weights")
        return known.astype(np.float64), None
    array = as_array(weights)
    if array.dtype.kind not in "biuf":
        raise NeedsOpaque("complex weights")
    return None, clang.convert(array, dtypes.float64)


def _shape_of(known: np.ndarray[Any, Any] | None, array: TensorProxy | None) -> tuple[int, ...]:
    if array is None:
        return () if known is None else known.shape
    return tuple(sizes.concrete(array.shape, "a filter"))


def _shift(origin: Any, length: int) -> int:
    if type(origin) is not int or not -(length // 2) <= origin <= (length - 1) // 2:
        raise NeedsOpaque("a filter's origin is outside of it")
    return origin


# Stencils


def _padded(x: TensorProxy, widths: Sequence[tuple[int, int]], mode: Any, cval: Any) -> TensorProxy:
    """``x`` extended by so much before and after each dimension."""
    kind = _MODES.get(mode) if isinstance(mode, str) else None
    if kind is None:
        raise NeedsOpaque("a filter's mode")
    if not any(map(any, widths)):
        return x
    if kind != "constant":
        return lnp.pad(x, [list(w) for w in widths], mode=kind)
    if isinstance(cval, TensorProxy) and cval.ndim:
        raise NeedsOpaque("a filter's constant is an array")
    if type(cval) not in (int, float) or cval != 0 or x.dtype.kind != "f":
        x = clang.convert(x, dtypes.float64)
    return prims.pad(x, _fill(cval), [(*w, 0) for w in widths])


def _fill(cval: Any) -> Any:
    """The constant beyond the edges, as a float."""
    if isinstance(cval, NumberProxy):
        return cval if cval.python_type is float else prims.convert_number(cval, float)
    if isinstance(cval, TensorProxy):
        return prims.item(clang.convert(cval, dtypes.float64))
    return float(cval)


def _cast(x: TensorProxy, dtype: DType) -> TensorProxy:
    """A result in the output's dtype: truncated, as C does."""
    if dtype.kind in "bu":
        # Negative numbers wrap around in C, by way of signed ones.
        return clang.convert(clang.convert(x, dtypes.int64), dtypes.uint8 if dtype.kind == "b" else dtype)
    return clang.convert(x, dtype)


def _symmetry(w: np.ndarray[Any, Any]) -> int:
    """1 for weights that are the same backwards, -1 for those that change their sign, else 0: as SciPy tells them."""
    if len(w) % 2 == 0:
        return 0
    half = len(w) // 2
    before, after = w[:half][::-1], w[half + 1 :]
    if np.all(np.abs(before - after) <= _EPSILON):
        return 1
    return -1 if np.all(np.abs(before + after) <= _EPSILON) else 0


def _line(
    x: TensorProxy, weights: Any, axis: int, mode: Any, cval: Any, origin: int, dtype: DType, backwards: bool = False
) -> TensorProxy:
    """The correlation with weights along an axis; ``backwards``: the convolution."""
    known, array = _weights(weights)
    shape = _shape_of(known, array)
    if len(shape) != 1 or not 1 <= shape[0] <= _MOST_TAPS or dtype.kind == "b":
        raise NeedsOpaque("a filter's weights")
    if array is not None and dtype.kind != "f":
        raise NeedsOpaque("an integer result, which depends on whether the weights are symmetric")
    (count,) = shape
    if backwards:
        known = None if known is None else known[::-1]
        array = None if array is None else clang.flip(array, (0,))
        origin = -origin - (0 if count % 2 else 1)
    origin = _shift(origin, count)
    size = count // 2
    widths = [(0, 0)] * x.ndim
    widths[axis] = size + origin, count - size - 1 - origin
    n = x.shape[axis]
    padded = _padded(x, widths, mode, cval)

    def at(j: int) -> TensorProxy:
        return clang.convert(clang.slice_dim(padded, j, j + n, dim=axis), dtypes.float64)

    def weight(j: int) -> Any:
        return prims.select(array, 0, j) if known is None else float(known[j])

    symmetry = 0 if known is None else _symmetry(known)
    if symmetry:
        total = clang.mul(at(size), weight(size))
        combine = clang.add if symmetry > 0 else clang.sub
        for j in range(size):
            total = clang.add(total, clang.mul(combine(at(j), at(count - 1 - j)), weight(j)))
    else:
        total = clang.mul(at(count - 1), weight(count - 1))
        for j in range(count - 1):
            total = clang.add(total, clang.mul(at(j), weight(j)))
    return _cast(total, dtype)


@scipysymbol("ndimage.correlate1d", returns="array")
def correlate1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> TensorProxy:
    """``scipy.ndimage.correlate1d`` with at most 128 weights."""
    x = _image(input)
    (axis,) = _axes(axis, x.ndim)
    return _line(x, weights, axis, mode, cval, _known(origin), _output_dtype(output, x))


@scipysymbol("ndimage.convolve1d", returns="array")
def convolve1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> TensorProxy:
    """``scipy.ndimage.convolve1d`` with at most 128 weights."""
    x = _image(input)
    (axis,) = _axes(axis, x.ndim)
    return _line(x, weights, axis, mode, cval, _known(origin), _output_dtype(output, x), backwards=True)


def _correlated(
    input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any, convolves: bool
) -> TensorProxy:
    x = _image(input)
    dtype = _output_dtype(output, x)
    known, array = _weights(weights)
    shape = _shape_of(known, array)
    dims = _axes(axes, x.ndim)
    count = int(np.prod(shape))
    if dtype.kind == "b" or len(shape) != len(dims) or not 1 <= count <= _MOST_TAPS or dims != sorted(dims):
        raise NeedsOpaque("a filter's weights")
    if convolves:
        array = None if array is None else clang.flip(array, tuple(range(len(shape))))
        known = None if known is None else np.flip(known)
    widths = [(0, 0)] * x.ndim
    for d, n, o in zip(dims, shape, _each(origin, len(dims))):
        o = (-o - (0 if n % 2 else 1)) if convolves else o
        o = _shift(o, n)
        widths[d] = n // 2 + o, n - n // 2 - 1 - o
    padded = _padded(x, widths, mode, cval)
    total: Any = None
    flat = None if array is None else clang.reshape(array, (count,))
    for i, index in enumerate(np.ndindex(*shape)):
        if known is not None and abs(known[index]) <= _EPSILON:
            continue
        part = padded
        for d, j in zip(dims, index):
            part = clang.slice_dim(part, j, j + x.shape[d], dim=d)
        part = clang.convert(part, dtypes.float64)
        if flat is None:
            term = clang.mul(part, float(known[index]))
        else:
            w = prims.select(flat, 0, i)
            # A weight of 0 leaves out what is infinite. Its derivative stays.
            counts = clang.logical_or(clang.gt(clang.abs(w), _EPSILON), clang.isfinite(part))
            term = clang.mul(clang.where(counts, part, 0.0), w)
        total = term if total is None else clang.add(total, term)
    if total is None:
        total = clang.full_like(x, 0.0, dtype=dtypes.float64)
    return _cast(total, dtype)


@scipysymbol("ndimage.correlate", returns="array")
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> TensorProxy:
    """``scipy.ndimage.correlate`` with at most 128 weights."""
    return _correlated(input, weights, output, mode, cval, origin, axes, False)


@scipysymbol("ndimage.convolve", returns="array")
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> TensorProxy:
    """``scipy.ndimage.convolve`` with at most 128 weights."""
    return _correlated(input, weights, output, mode, cval, origin, axes, True)


# Gaussians


@cache
def _gaussian(sigma: float, order: int, truncate: float, radius: int | None) -> list[float]:
    """The weights of SciPy's filter, of which the response to an impulse shows them backwards."""
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    if type(reach) is not int or reach < 0 or type(order) is not int or order < 0 or 2 * reach + 1 > _MOST_TAPS:
        raise NeedsOpaque("a Gaussian filter's size")
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1
    filtered = sys.modules["scipy.ndimage"].gaussian_filter1d(
        impulse, sigma, order=order, mode="constant", radius=reach
    )
    made: list[float] = filtered[::-1].tolist()
    return made


def _smoothed(
    x: TensorProxy, sigma: Any, order: Any, dtype: DType, mode: Any, cval: Any, truncate: Any, radius: Any, axes: Any
) -> TensorProxy:
    dims = _axes(axes, x.ndim)
    of_each = [_each(a, len(dims)) for a in (sigma, order, mode, radius)]
    result = None
    for d, s, o, m, r in zip(dims, *of_each):
        if s > 1e-15:
            result = _line(
                x if result is None else result,
                _gaussian(float(s), o, float(_known(truncate)), r),
                d,
                m,
                cval,
                0,
                dtype,
            )
    return clang.convert(x, dtype) if result is None else result


@scipysymbol("ndimage.gaussian_filter1d", returns="array")
def gaussian_filter1d(
    input: Any, sigma: Any, axis: Any = -1, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: Any = 4.0, *, radius: Any = None,
) -> TensorProxy:  # fmt: skip
    """``scipy.ndimage.gaussian_filter1d``. The result depends on ``sigma`` as a number that the program is compiled for."""
    x = _image(input)
    weights = _gaussian(float(_known(sigma)), _known(order), float(_known(truncate)), _known(radius))
    (axis,) = _axes(axis, x.ndim)
    return _line(x, weights, axis, mode, cval, 0, _output_dtype(output, x))


@scipysymbol("ndimage.gaussian_filter", returns="array")
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, truncate: Any = 4.0, *,
    radius: Any = None, axes: Any = None,
) -> TensorProxy:  # fmt: skip
    """``scipy.ndimage.gaussian_filter``: one axis after the other."""
    x = _image(input)
    return _smoothed(x, sigma, order, _output_dtype(output, x), mode, cval, truncate, radius, axes)


# Derivatives


def _edges(input: Any, axis: Any, output: Any, mode: Any, cval: Any, across: list[int]) -> TensorProxy:
    x = _image(input)
    dtype = _output_dtype(output, x)
    (axis,) = _axes(axis, x.ndim)
    modes = _each(mode, x.ndim)
    result = _line(x, [-1, 0, 1], axis, modes[axis], cval, 0, dtype)
    for d in range(x.ndim):
        if d != axis:
            result = _line(result, across, d, modes[d], cval, 0, dtype)
    return result


@scipysymbol("ndimage.sobel", returns="array")
def sobel(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> TensorProxy:
    """``scipy.ndimage.sobel``."""
    return _edges(input, axis, output, mode, cval, [1, 2, 1])


@scipysymbol("ndimage.prewitt", returns="array")
def prewitt(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> TensorProxy:
    """``scipy.ndimage.prewitt``."""
    return _edges(input, axis, output, mode, cval, [1, 1, 1])


def _sum_over(parts: Iterable[TensorProxy], x: TensorProxy, dtype: DType) -> TensorProxy:
    total = None
    for part in parts:
        total = part if total is None else clang.add(total, part)
    return clang.convert(x, dtype) if total is None else total


@scipysymbol("ndimage.laplace", returns="array")
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> TensorProxy:
    """``scipy.ndimage.laplace``: the sum of second differences."""
    x = _image(input)
    dtype, dims = _output_dtype(output, x), _axes(axes, x.ndim)
    modes = _each(mode, len(dims))
    return _sum_over((_line(x, [1, -2, 1], d, m, cval, 0, dtype) for d, m in zip(dims, modes)), x, dtype)


@scipysymbol("ndimage.gaussian_laplace", returns="array")
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> TensorProxy:
    """``scipy.ndimage.gaussian_laplace``, along all axes."""
    x = _image(input)
    if axes is not None or set(kwargs) - {"truncate", "radius"}:
        raise NeedsOpaque("gaussian_laplace along some axes")
    dtype, modes = _output_dtype(output, x), _each(mode, x.ndim)
    truncate, radius = kwargs.get("truncate", 4.0), kwargs.get("radius")
    parts = []
    for d in range(x.ndim):
        order = [2 if i == d else 0 for i in range(x.ndim)]
        parts.append(_smoothed(x, sigma, order, dtype, modes[d], cval, truncate, radius, None))
    return _sum_over(parts, x, dtype)


@scipysymbol("ndimage.gaussian_gradient_magnitude", returns="array")
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> TensorProxy:
    """``scipy.ndimage.gaussian_gradient_magnitude`` of floats, along all axes."""
    x = _image(input)
    dtype = _output_dtype(output, x)
    if axes is not None or set(kwargs) - {"truncate", "radius"} or dtype.kind != "f":
        raise NeedsOpaque("gaussian_gradient_magnitude along some axes, or of integers")
    modes = _each(mode, x.ndim)
    truncate, radius = kwargs.get("truncate", 4.0), kwargs.get("radius")
    parts = []
    for d in range(x.ndim):
        order = [1 if i == d else 0 for i in range(x.ndim)]
        part = _smoothed(x, sigma, order, dtype, modes[d], cval, truncate, radius, None)
        parts.append(clang.mul(part, part))
    return clang.sqrt(_sum_over(parts, x, dtype))


# Means and extremes of windows


def _windows(
    input: Any, size: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any, most: int, along: Any
) -> TensorProxy:
    """What ``along`` makes of windows along each axis in turn."""
    x = _image(input)
    dtype, dims = _output_dtype(output, x), _axes(axes, x.ndim)
    result = None
    for d, n, o, m in zip(dims, *(_each(a, len(dims)) for a in (size, origin, mode))):
        if n > 1:
            n = int(n)
            if n > most or not 0 <= n // 2 + o < n:
                raise NeedsOpaque("a filter's size")
            result = along(x if result is None else result, n, d, m, cval, o, dtype)
    return clang.convert(x, dtype) if result is None else result


def _parts(x: TensorProxy, n: int, d: int, mode: Any, cval: Any, origin: int) -> list[TensorProxy]:
    widths = [(0, 0)] * x.ndim
    widths[d] = n // 2 + origin, n - n // 2 - 1 - origin
    padded = _padded(x, widths, mode, cval)
    return [clang.slice_dim(padded, j, j + x.shape[d], dim=d) for j in range(n)]


def _mean(x: TensorProxy, n: int, d: int, mode: Any, cval: Any, origin: int, dtype: DType) -> TensorProxy:
    if dtype.kind != "f":
        raise NeedsOpaque("a mean of integers, which SciPy truncates after sums in an order of its own")
    total = None
    for part in _parts(x, n, d, mode, cval, origin):
        wide = clang.convert(part, dtypes.float64)
        total = wide if total is None else clang.add(total, wide)
    return clang.convert(clang.div(total, float(n)), dtype)


def _extreme(largest: bool) -> Any:
    pick = clang.maximum if largest else clang.minimum

    def along(x: TensorProxy, n: int, d: int, mode: Any, cval: Any, origin: int, dtype: DType) -> TensorProxy:
        if dtype.kind == "b" or x.dtype.kind == "b" or (x.dtype.kind in "iu" and x.dtype.bits == 64):
            raise NeedsOpaque("extremes of bools, or of integers that no double holds")
        result = None
        for part in _parts(x, n, d, mode, cval, origin):
            result = part if result is None else pick(result, part)
        return _cast(result, dtype) if result.dtype is not dtype else result

    return along


#: up to here SciPy's running mean, and its queue of extremes, are slower
_MOST_OF_WINDOW = 15


@scipysymbol("ndimage.uniform_filter", returns="array")
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> TensorProxy:
    """``scipy.ndimage.uniform_filter`` of floats, of small windows."""
    return _windows(input, size, output, mode, cval, origin, axes, _MOST_OF_WINDOW, _mean)


@scipysymbol("ndimage.uniform_filter1d", returns="array")
def uniform_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> TensorProxy:
    """``scipy.ndimage.uniform_filter1d`` of floats, of small windows."""
    if not _known(size) >= 1:
        raise NeedsOpaque("a filter's size")
    return _windows(input, size, output, mode, cval, origin, axis, _MOST_OF_WINDOW, _mean)


def _define_extremes(name: str, along: Any) -> None:
    @scipysymbol(f"ndimage.{name}_filter", returns="array")
    def of_windows(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
        origin: Any = 0, *, axes: Any = None,
    ) -> TensorProxy:  # fmt: skip
        if footprint is not None or size is None:
            raise NeedsOpaque("a filter with a footprint")
        return _windows(input, size, output, mode, cval, origin, axes, _MOST_OF_WINDOW, along)

    @scipysymbol(f"ndimage.{name}_filter1d", returns="array")
    def of_lines(
        input: Any,
        size: Any,
        axis: Any = -1,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
    ) -> TensorProxy:
        if not _known(size) >= 1:
            raise NeedsOpaque("a filter's size")
        return _windows(input, size, output, mode, cval, origin, axis, _MOST_OF_WINDOW, along)


for _name, _is_largest in (("maximum", True), ("minimum", False)):
    _define_extremes(_name, _extreme(_is_largest))


# Calls

by_dry_run(
    "ndimage",
    "affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening "
    "binary_propagation black_tophat center_of_mass distance_transform_bf distance_transform_cdt distance_transform_edt extrema "
    "fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform generate_binary_structure grey_closing grey_dilation "
    "grey_erosion grey_opening histogram iterate_structure label map_coordinates maximum maximum_position mean median "
    "median_filter minimum minimum_position morphological_gradient morphological_laplace percentile_filter rank_filter shift "
    "spline_filter spline_filter1d standard_deviation sum sum_labels variance watershed_ift white_tophat",
)


def _shape_of_numbers(name: str) -> None:
    """A call whose result's shape depends on floats: the program is compiled for them."""
    called = call_symbol(f"ndimage.{name}")

    @scipysymbol(f"ndimage.{name}", returns="array")
    def call(*args: Any, **kwargs: Any) -> Any:
        args = (*args[:1], *(_or_array(a) for a in args[1:]))
        return called(*args, **{k: _or_array(v) if k != "input" else v for k, v in kwargs.items()})


def _or_array(x: Any) -> Any:
    if isinstance(x, TensorProxy):
        raise NeedsEager("the shape of a transformed image depends on an array's values")
    if isinstance(x, (list, tuple)):
        return type(x)(_or_array(y) for y in x)
    return pyval(x) if isinstance(x, NumberProxy) else x


for _name in ("rotate", "zoom"):
    _shape_of_numbers(_name)
