"""``scipy.ndimage``: filters with few weights as stencils on padded arrays, and calls of SciPy's own functions.

A filter computes in double precision, adds in SciPy's order, and casts its result, as SciPy does: results are SciPy's to the last
bit. Filters with ``output=`` an array, and those of complex numbers, are SciPy's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, pyval
from tnp.lang import numpy as lnp
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.registry import by_dry_run, call_symbol, scipysymbol
from tnp.lang.scipy.stencils import (
    EPSILON,
    MOST_TAPS,
    axes_of,
    axis_of,
    cast,
    checked_origin,
    correlated_line,
    for_each,
    image_of,
    known_number,
    output_dtype,
    padded_by,
    shape_of,
    weights_of,
)

__all__: list[str] = []


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
    x = image_of(input)
    axis = axis_of(axis, x.ndim)
    return correlated_line(x, weights, axis, mode, cval, known_number(origin), output_dtype(output, x))


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
    x = image_of(input)
    axis = axis_of(axis, x.ndim)
    return correlated_line(x, weights, axis, mode, cval, known_number(origin), output_dtype(output, x), backwards=True)


def _correlated(
    input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any, convolves: bool
) -> TensorProxy:
    x = image_of(input)
    dtype = output_dtype(output, x)
    known, array = weights_of(weights)
    shape = shape_of(known, array)
    dims = axes_of(axes, x.ndim)
    count = int(np.prod(shape))
    is_behind = type(axes) is int and axes < 0  # SciPy itself refuses
    if is_behind or dtype.kind == "b" or len(shape) != len(dims) or not 1 <= count <= MOST_TAPS or dims != sorted(dims):
        raise NeedsOpaque("a filter's weights")
    if convolves:
        array = None if array is None else clang.flip(array, tuple(range(len(shape))))
        known = None if known is None else np.flip(known)
    widths = [(0, 0)] * x.ndim
    for d, n, o in zip(dims, shape, for_each(origin, len(dims))):
        o = (-o - (0 if n % 2 else 1)) if convolves else o
        o = checked_origin(o, n)
        widths[d] = n // 2 + o, n - n // 2 - 1 - o
    padded = padded_by(x, widths, mode, cval)
    total: Any = None
    flat = None if array is None else clang.reshape(array, (count,))
    for i, index in enumerate(np.ndindex(*shape)):
        if known is not None and not abs(known[index]) > EPSILON:  # SciPy leaves out NaN, too
            continue
        part = padded
        for d, j in zip(dims, index):
            part = clang.slice_dim(part, j, j + x.shape[d], dim=d)
        part = clang.convert(part, dtypes.float64)
        if flat is None:
            term = clang.mul(part, float(known[index]))
        else:
            w = prims.select(flat, 0, i)
            w = clang.where(clang.isnan(w), 0.0, w)
            # A weight of 0 leaves out what is infinite. Its derivative stays.
            counts = clang.logical_or(clang.gt(clang.abs(w), EPSILON), clang.isfinite(part))
            term = clang.mul(clang.where(counts, part, 0.0), w)
        total = term if total is None else clang.add(total, term)
    if total is None:
        total = clang.full_like(x, 0.0, dtype=dtypes.float64)
    return cast(total, dtype)


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


@lru_cache(maxsize=None, typed=True)  # SciPy refuses orders like 1.0
def _gaussian(sigma: float, order: int, truncate: float, radius: int | None) -> list[float]:
    """The weights of SciPy's filter, of which the response to an impulse shows them backwards."""
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    if type(reach) is not int or reach < 0 or type(order) is not int or order < 0 or 2 * reach + 1 > MOST_TAPS:
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
    dims = axes_of(axes, x.ndim)
    of_each = [for_each(a, len(dims)) for a in (sigma, order, mode, radius)]
    result = None
    for d, s, o, m, r in zip(dims, *of_each):
        if s > 1e-15:
            result = correlated_line(
                x if result is None else result,
                _gaussian(float(s), o, float(known_number(truncate)), r),
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
    x = image_of(input)
    weights = _gaussian(
        float(known_number(sigma)), known_number(order), float(known_number(truncate)), known_number(radius)
    )
    axis = axis_of(axis, x.ndim)
    return correlated_line(x, weights, axis, mode, cval, 0, output_dtype(output, x))


@scipysymbol("ndimage.gaussian_filter", returns="array")
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, truncate: Any = 4.0, *,
    radius: Any = None, axes: Any = None,
) -> TensorProxy:  # fmt: skip
    """``scipy.ndimage.gaussian_filter``: one axis after the other."""
    x = image_of(input)
    return _smoothed(x, sigma, order, output_dtype(output, x), mode, cval, truncate, radius, axes)


# Derivatives


def _edges(input: Any, axis: Any, output: Any, mode: Any, cval: Any, across: list[int]) -> TensorProxy:
    x = image_of(input)
    dtype = output_dtype(output, x)
    axis = axis_of(axis, x.ndim)
    modes = for_each(mode, x.ndim)
    result = correlated_line(x, [-1, 0, 1], axis, modes[axis], cval, 0, dtype)
    for d in range(x.ndim):
        if d != axis:
            result = correlated_line(result, across, d, modes[d], cval, 0, dtype)
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
    x = image_of(input)
    dtype, dims = output_dtype(output, x), axes_of(axes, x.ndim)
    modes = for_each(mode, len(dims))
    return _sum_over((correlated_line(x, [1, -2, 1], d, m, cval, 0, dtype) for d, m in zip(dims, modes)), x, dtype)


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
    x = image_of(input)
    if axes is not None or set(kwargs) - {"truncate", "radius"}:
        raise NeedsOpaque("gaussian_laplace along some axes")
    dtype, modes = output_dtype(output, x), for_each(mode, x.ndim)
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
    x = image_of(input)
    dtype = output_dtype(output, x)
    if axes is not None or set(kwargs) - {"truncate", "radius"} or dtype.kind != "f":
        raise NeedsOpaque("gaussian_gradient_magnitude along some axes, or of integers")
    modes = for_each(mode, x.ndim)
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
    x = image_of(input)
    dtype, dims = output_dtype(output, x), axes_of(axes, x.ndim)
    result = None
    for d, n, o, m in zip(dims, *(for_each(a, len(dims)) for a in (size, origin, mode))):
        if n > 1:
            n = int(n)
            if n > most or not 0 <= n // 2 + o < n:
                raise NeedsOpaque("a filter's size")
            result = along(x if result is None else result, n, d, m, cval, o, dtype)
    return clang.convert(x, dtype) if result is None else result


def _parts(x: TensorProxy, n: int, d: int, mode: Any, cval: Any, origin: int) -> list[TensorProxy]:
    widths = [(0, 0)] * x.ndim
    widths[d] = n // 2 + origin, n - n // 2 - 1 - origin
    padded = padded_by(x, widths, mode, cval)
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
        return cast(result, dtype) if result.dtype is not dtype else result

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
    if not known_number(size) >= 1:
        raise NeedsOpaque("a filter's size")
    dim = axis_of(axis, image_of(input).ndim)
    return _windows(input, size, output, mode, cval, origin, dim, _MOST_OF_WINDOW, _mean)


def _define_extremes(name: str, along: Any) -> None:
    @scipysymbol(f"ndimage.{name}_filter", returns="array")
    def of_windows(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
        origin: Any = 0, *, axes: Any = None,
    ) -> TensorProxy:  # fmt: skip
        """The largest or smallest element of a window, along one axis after the other."""
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
        """The largest or smallest element of a window along an axis."""
        if not known_number(size) >= 1:
            raise NeedsOpaque("a filter's size")
        dim = axis_of(axis, image_of(input).ndim)
        return _windows(input, size, output, mode, cval, origin, dim, _MOST_OF_WINDOW, along)


for _name, _is_largest in (("maximum", True), ("minimum", False)):
    _define_extremes(_name, _extreme(_is_largest))


# Interpolation

#: of so many dimensions an element is interpolated between 2 to their power of others
_MOST_DIMENSIONS = 3


def _coordinates(coordinates: Any, ndim: int) -> list[TensorProxy]:
    """The position along each dimension, in double precision."""
    if not isinstance(coordinates, (list, tuple)):
        whole = as_array(coordinates)
        if not whole.ndim:
            raise NeedsOpaque("one coordinate")
        coordinates = [clang.squeeze(clang.slice_dim(whole, d, d + 1, dim=0), (0,)) for d in range(whole.shape[0])]
    found = clang.broadcast(*map(as_array, coordinates))
    shapes = {as_array(c).shape for c in coordinates}
    if len(found) != ndim or len(shapes) != 1 or not found[0].ndim or any(c.dtype.kind == "c" for c in found):
        raise NeedsOpaque("coordinates that SciPy refuses")
    return [clang.convert(c, dtypes.float64) for c in found]


@scipysymbol("ndimage.map_coordinates", returns="array")
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> TensorProxy:
    """``scipy.ndimage.map_coordinates`` of floats, linear (``order=1``), with a constant or the nearest element beyond the borders.

    The sum is SciPy's, in its order: neighbours that do not exist have weights, too, and are those that the mode says (constant: the
    one before the last).
    """
    x = image_of(input)
    dtype = output_dtype(output, x)
    if (
        type(pyval(order)) is not int
        or pyval(order) != 1
        or mode not in ("constant", "nearest")
        or x.ndim > _MOST_DIMENSIONS
    ):
        raise NeedsOpaque("another interpolation")
    if x.dtype.kind != "f" or dtype.kind != "f":
        raise NeedsOpaque("an interpolation of integers")
    inside = None
    steps: list[list[tuple[TensorProxy, TensorProxy]]] = []
    for at, n in zip(_coordinates(coordinates, x.ndim), x.shape):
        if mode == "nearest":
            here = clang.isfinite(at)
        else:
            here = clang.logical_and(clang.ge(at, 0.0), clang.le(at, float(n - 1)))
        inside = here if inside is None else clang.logical_and(inside, here)
        at = clang.where(here, at, 0.0)
        low = clang.floor(at)
        share = clang.sub(at, low)
        places = [low, clang.add(low, 1.0)]
        if mode == "nearest":
            places = [clang.minimum(clang.maximum(p, 0.0), float(n - 1)) for p in places]
        else:
            places[1] = clang.where(clang.gt(places[1], n - 1), float(max(n - 2, 0)), places[1])
        first, second = (clang.convert(p, dtypes.int64) for p in places)
        steps.append([(first, clang.sub(1.0, share)), (second, share)])
    total: Any = 0.0
    for corner in product(*steps):
        value = clang.convert(prims.index_get(x, [i for i, _ in corner]), dtypes.float64)
        for _, weight in corner:
            value = clang.mul(value, weight)
        total = clang.add(value, total)
    assert inside is not None
    outside = float(known_number(cval)) if mode == "constant" else np.nan
    return clang.convert(clang.where(inside, total, outside), dtype)


# Measurements

_center_of_mass = call_symbol("ndimage.center_of_mass")


@scipysymbol("ndimage.center_of_mass")
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The center of mass of an image. SciPy computes those of parts with labels."""
    x = as_array(input)
    if labels is not None or index is not None or x.dtype.kind not in "biuf" or not x.ndim:
        return _center_of_mass(input, labels, index)
    mass = lnp.sum(x)
    found = []
    for axis, n in enumerate(x.shape):
        places = lnp.reshape(lnp.arange(n, dtype=np.float64), (-1, *(1,) * (x.ndim - axis - 1)))
        found.append(lnp.true_divide(lnp.sum(lnp.multiply(x, places)), mass))
    return tuple(found)


# Calls

by_dry_run(
    "ndimage",
    "affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening "
    "binary_propagation black_tophat distance_transform_bf distance_transform_cdt distance_transform_edt extrema "
    "fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform generate_binary_structure grey_closing grey_dilation "
    "grey_erosion grey_opening iterate_structure label maximum maximum_position mean median "
    "median_filter minimum minimum_position morphological_gradient morphological_laplace percentile_filter rank_filter shift "
    "spline_filter spline_filter1d standard_deviation sum sum_labels variance watershed_ift white_tophat",
)


by_dry_run("ndimage", "histogram", guarded=True)  # without elements of a label, there is none


def _shape_of_numbers(name: str) -> None:
    """A call whose result's shape depends on floats: the program is compiled for them."""
    called = call_symbol(f"ndimage.{name}")

    @scipysymbol(f"ndimage.{name}", returns="array")
    def call(*args: Any, **kwargs: Any) -> Any:
        """A transformed image, by SciPy's own function."""
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
