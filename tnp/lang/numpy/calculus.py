"""Differences, gradients, integrals, interpolation, rounding and clipping, parts of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy import elementwise as _elementwise
from tnp.lang.numpy import reductions
from tnp.lang.numpy.dtypes import result_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import (
    as_array,
    axes,
    check_real,
    integer_or_eager,
    is_scalar_like,
    listed,
    promote,
    static_int,
)
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.reductions import NoValue, dtype_by_example
from tnp.lang.numpy.registry import Out, alias, npmethod, npproperty, npsymbol
from tnp.runtime.quiet import quiet

__all__ = [
    "angle",
    "clip",
    "cross",
    "diff",
    "ediff1d",
    "fix",
    "gradient",
    "imag",
    "interp",
    "real",
    "real_if_close",
    "round",
    "sinc",
    "trapezoid",
    "unwrap",
]

ufuncs: Any = _elementwise


def _part(a: TensorProxy, start: int, stop: int, dim: int) -> TensorProxy:
    """``a[start:stop]`` along a dimension, negative positions counting from the end."""
    known = symbols.extents(a.shape[dim : dim + 1])
    if known is None:  # which subscripts see to
        return clang.getitem(a, (*(slice(None),) * dim, slice(start, stop or None)))
    (n,) = known
    if type(n) is not int:
        made: TensorProxy = prims.dynamic_slice(a, dim, start, stop or None, 1)
        return made
    first, last, _ = slice(start, stop or None).indices(n)
    return clang.slice_dim(a, first, max(first, last), dim=dim)


# Differences


def _difference(a: TensorProxy, dim: int) -> TensorProxy:
    later, earlier = _part(a, 1, 0, dim), _part(a, 0, -1, dim)
    return clang.ne(later, earlier) if a.dtype.kind == "b" else clang.sub(later, earlier)


def _end(x: Any, a: TensorProxy, dim: int) -> TensorProxy:
    """What goes before or after ``a`` along a dimension; a number there is repeated across the others."""
    end = as_array(x)
    if end.ndim:
        return end
    return clang.broadcast_to(end, tuple(1 if d == dim else n for d, n in enumerate(a.shape)))


@npsymbol()
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = NoValue, append: Any = NoValue) -> TensorProxy:
    """The ``n``-th differences along ``axis``; of bools, whether they change."""
    times = integer_or_eager(n, "n")
    check(times != 0, lambda: "np.diff(x, 0) is its argument itself", NeedsEager)
    check(times > 0, lambda: f"order must be non-negative but got {times}")
    a = as_array(a)
    check(a.ndim > 0, lambda: "diff requires input that is at least one dimensional")
    dim = one_axis(a.ndim, axis)
    parts = [a]
    if prepend is not NoValue:
        parts.insert(0, _end(prepend, a, dim))
    if append is not NoValue:
        parts.append(_end(append, a, dim))
    if len(parts) > 1:
        a = clang.concatenate(promote(*parts), dim)
    for _ in range(times):
        a = _difference(a, dim)
    return a


@npsymbol()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> TensorProxy:
    """The differences of the elements in C order, between ``to_begin`` and ``to_end``, which must fit their dtype."""
    a = clang.reshape(as_array(ary), (-1,))
    check(a.dtype.kind != "b", lambda: "numpy boolean subtract, the `-` operator, is not supported", TypeError)
    parts = [_difference(a, 0)]
    for name, x in (("to_begin", to_begin), ("to_end", to_end)):
        if x is None:
            continue
        end = as_array(x)
        check(
            np.can_cast(to_numpy_dtype(end.dtype), to_numpy_dtype(a.dtype), "same_kind"),
            lambda name=name: f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.",
            TypeError,
        )
        end = clang.reshape(clang.convert(end, a.dtype), (-1,))
        parts.insert(0 if name == "to_begin" else len(parts), end)
    return clang.concatenate(parts, 0)


def _spacings(spacings: tuple[Any, ...], dims: tuple[int, ...], f: TensorProxy) -> list[Any]:
    """For each dimension the distance of its points, or the distances (an array that broadcasts against ``f``)."""
    if not spacings:
        return [1.0] * len(dims)
    if len(spacings) == 1 and (is_scalar_like(spacings[0]) or as_array(spacings[0]).ndim == 0):
        return list(spacings) * len(dims)
    check(len(spacings) == len(dims), lambda: "invalid number of arguments", TypeError)
    found = []
    for x, dim in zip(spacings, dims):
        if is_scalar_like(x) or as_array(x).ndim == 0:
            found.append(x)
            continue
        points = as_array(x)
        check(points.dtype.kind != "b", lambda: "np.gradient over coordinates that are bools", NeedsEager)
        check(points.ndim == 1, lambda: "distances must be either scalars or 1d")
        check(
            sizes.equal(points.shape[0], f.shape[dim]),
            lambda: "when 1d, distances must match the length of the corresponding dimension",
        )
        points = clang.convert(points, dtypes.float64) if points.dtype.kind in "iu" else points
        found.append(clang.expand_dims(_difference(points, 0), [d for d in range(f.ndim) if d != dim]))
    return found


def _slope(f: TensorProxy, dim: int, spacing: Any, edge_order: int) -> TensorProxy:
    """The derivative along one dimension: central differences inside, one-sided ones of ``edge_order`` at the ends."""
    (n,) = sizes.extents(f.shape[dim : dim + 1], "np.gradient")
    check(
        n >= edge_order + 1,
        lambda: (
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        ),
    )
    uniform = not (isinstance(spacing, TensorProxy) and spacing.ndim)

    def at(i: int) -> TensorProxy:
        return _part(f, i, i + 1, dim)

    def step(i: int) -> Any:
        return spacing if uniform else _part(spacing, i, i + 1, dim)

    if uniform:
        inner = (_part(f, 2, 0, dim) - _part(f, 0, -2, dim)) / (2.0 * spacing)
    else:
        h, k = _part(spacing, 0, -1, dim), _part(spacing, 1, 0, dim)
        left, middle, right = -k / (h * (h + k)), (k - h) / (h * k), h / (k * (h + k))
        inner = left * _part(f, 0, -2, dim) + middle * _part(f, 1, -1, dim) + right * _part(f, 2, 0, dim)
    if edge_order == 1:
        first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
    else:
        first = _one_sided([at(0), at(1), at(2)], step(0), step(1))
        last = -_one_sided([at(-1), at(-2), at(-3)], step(-1), step(-2))
    return clang.concatenate([clang.convert(x, f.dtype) for x in (first, inner, last)], dim)


def _one_sided(points: list[TensorProxy], h: Any, k: Any) -> TensorProxy:
    """The derivative at the first of three points ``h`` and ``k`` apart, of second order."""
    weights = -(2.0 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))
    a, b, c = (w * p for w, p in zip(weights, points))
    return a + b + c


@npsymbol(row_major=False)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """The gradient by second-order differences: an array for one axis, a tuple of them for several.

    ``varargs`` are distances, or the coordinates of the points, one for each axis.
    """
    f = as_array(f)
    dims = axes(f.ndim, listed(axis))
    order = static_int(edge_order, "edge_order")
    check(order <= 2, lambda: "'edge_order' greater than 2 not supported")
    if order < 1:
        raise NeedsOpaque("np.gradient with an edge_order below 1 is not compiled")
    spacings = _spacings(varargs, dims, f)
    check(f.dtype.kind != "b", lambda: "numpy boolean subtract, the `-` operator, is not supported", TypeError)
    work = clang.convert(f, dtypes.float64) if f.dtype.kind in "iu" else f
    found = tuple(_slope(work, d, s, order) for d, s in zip(dims, spacings))
    return found[0] if len(found) == 1 else found


# Integrals


@npsymbol()
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> TensorProxy:
    """The integral of ``y`` along ``axis`` by the trapezoidal rule, over the points ``x`` or ones ``dx`` apart."""
    y = as_array(y)
    dim = one_axis(y.ndim, axis)
    if x is None:
        steps = dx
    else:
        points = as_array(x)
        at = 0 if points.ndim == 1 else one_axis(points.ndim, axis)
        steps = _difference(points, at)
        if points.ndim == 1:
            steps = clang.expand_dims(steps, [d for d in range(y.ndim) if d != dim])
    areas = steps * (_part(y, 1, 0, dim) + _part(y, 0, -1, dim)) / 2.0
    return reductions.sum(areas, axis)


if hasattr(np, "trapz"):  # until NumPy 2.4
    alias("trapz", trapezoid)


# Interpolation


def _periodic(x: TensorProxy, xp: TensorProxy, fp: TensorProxy, period: Any) -> tuple[TensorProxy, ...]:
    """Positions in one period, and the points sorted in it with one more on either side."""
    x, xp = (ufuncs.remainder(v, period) for v in (x, xp))
    order = prims.argsort(xp, 0)
    xp, fp = prims.take(xp, order, 0), prims.take(fp, order, 0)
    xp = clang.concatenate([_part(xp, -1, 0, 0) - period, xp, _part(xp, 0, 1, 0) + period], 0)
    return x, xp, clang.concatenate([_part(fp, -1, 0, 0), fp, _part(fp, 0, 1, 0)], 0)


@npsymbol()
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> TensorProxy:
    """The values at ``x`` of the polygon through the points ``(xp, fp)``; ``left`` and ``right`` beyond its ends."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    for v in (x, xp):
        if v.scalar:
            check_real(v, dtypes.float64)
        check(v.dtype.kind != "c", lambda: "Cannot cast array data from complex128 to float64", TypeError)
    kind = dtypes.complex128 if fp.dtype.kind == "c" else dtypes.float64
    x, xp, fp = clang.convert(x, dtypes.float64), clang.convert(xp, dtypes.float64), clang.convert(fp, kind)
    check(xp.ndim == 1 and fp.ndim == 1, lambda: "Data points must be 1-D sequences")
    check(sizes.equal(xp.shape[0], fp.shape[0]), lambda: "fp and xp are not of the same length.")
    if period is not None:
        if not is_number(period):
            raise NeedsOpaque("np.interp with a period that is no Python number is not compiled")
        check(pyval(period) != 0, lambda: "period must be a non-zero value")
        x, xp, fp = _periodic(x, xp, fp, abs(pyval(period)))
        left = right = None
    left, right = (None if end is None else as_array(end, kind) for end in (left, right))
    return on_polygon(x, xp, fp, left, right)


def on_polygon(
    x: TensorProxy, xp: TensorProxy, fp: TensorProxy, left: TensorProxy | None = None, right: TensorProxy | None = None
) -> TensorProxy:
    """The values at ``x`` of the polygon through the points ``(xp, fp)``, as ``np.interp`` computes them of float64."""
    (n,) = sizes.extents(xp.shape, "np.interp")
    check(n > 0, lambda: "array of sample points is empty")
    first, last = prims.select(fp, 0, 0), prims.select(fp, 0, -1)
    below = first if left is None else left
    above = last if right is None else right
    if n > 1:
        found = clang.sub(prims.searchsorted(xp, x, True), 1)
        found = clang.maximum(clang.minimum(found, symbols.number_of(n - 2)), 0)
        inside = _on_segment(x, xp, fp, found)
        inside = clang.where(clang.eq(x, prims.select(xp, 0, -1)), last, inside)
    else:
        inside = clang.broadcast_to(first, x.shape)
    inside = clang.where(clang.lt(x, prims.select(xp, 0, 0)), below, inside)
    inside = clang.where(clang.gt(x, prims.select(xp, 0, -1)), above, inside)
    if n == 1:  # NumPy compares with the point alone
        return inside
    # A NaN position is NaN also where the value is complex, with no imaginary part.
    return clang.where(clang.isnan(x), clang.convert(x, fp.dtype), inside)


def _on_segment(x: TensorProxy, xp: TensorProxy, fp: TensorProxy, found: TensorProxy) -> TensorProxy:
    """The line from point ``found`` to the next, at ``x``; measured from the other end where this one gives NaN."""
    after = clang.add(found, 1)
    x0, x1 = prims.take(xp, found, 0), prims.take(xp, after, 0)
    parts = [prims.real(fp), prims.imag(fp)] if fp.dtype.kind == "c" else [fp]
    values = []
    for part in parts:
        y0, y1 = prims.take(part, found, 0), prims.take(part, after, 0)
        slope = clang.div(clang.sub(y1, y0), clang.sub(x1, x0))
        value = clang.add(clang.mul(slope, clang.sub(x, x0)), y0)
        other = clang.add(clang.mul(slope, clang.sub(x, x1)), y1)
        other = clang.where(clang.logical_and(clang.isnan(other), clang.eq(y0, y1)), y0, other)
        value = clang.where(clang.isnan(value), other, value)
        values.append(clang.where(clang.eq(x, x0), y0, value))
    return prims.complex(*values) if len(values) == 2 else values[0]


@npsymbol()
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> TensorProxy:
    """With jumps of more than ``discont`` (half a period) along ``axis`` undone by multiples of ``period``."""
    p = as_array(p)
    dim = one_axis(p.ndim, axis)
    steps = _difference(p, dim)
    check(discont is None or is_scalar_like(discont), lambda: "it gives np.unwrap an array of jumps", NeedsOpaque)
    limit = period / 2 if discont is None else discont
    dtype = result_dtype(steps, period if is_scalar_like(period) else as_array(period))
    if dtype.kind in "iu":
        if not is_number(period):
            raise NeedsOpaque("np.unwrap of integers with a period that is no Python number is not compiled")
        high, odd = divmod(pyval(period), 2)
        ambiguous = odd == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = ufuncs.remainder(steps - low, period) + low
    if ambiguous:
        up = clang.logical_and(ufuncs.equal(wrapped, low), clang.gt(steps, 0))
        wrapped = clang.where(up, _scalar(high, wrapped.dtype), wrapped)
    correction = wrapped - steps
    small = ufuncs.less(ufuncs.absolute(steps), limit)
    correction = clang.where(small, _scalar(0, correction.dtype), correction)
    rest = clang.convert(_part(p, 1, 0, dim) + reductions.cumsum(correction, dim), dtype)
    return clang.concatenate([clang.convert(_part(p, 0, 1, dim), dtype), rest], dim)


def _scalar(x: Any, dtype: DType) -> Any:
    return x if is_number(x) and not isinstance(x, NumberProxy) else as_array(x, dtype)


# Products


@npsymbol(returns="array", row_major=False)
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> TensorProxy:
    """The cross product of vectors of three components, or (until NumPy 2.5) two; a number where both have two."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote(as_array(a), as_array(b))
    check(a.ndim >= 1 and b.ndim >= 1, lambda: "At least one array has zero dimension")
    a = clang.moveaxis(a, (one_axis(a.ndim, axisa),), (0,))
    b = clang.moveaxis(b, (one_axis(b.ndim, axisb),), (0,))
    lengths = sizes.concrete((a.shape[0], b.shape[0]), "np.cross")
    with quiet() as said:
        np.cross(*(np.broadcast_to(0.0, n) for n in lengths))  # which lengths it takes differs from version to version
    check(not said, lambda: "np.cross warns of vectors of two components", NeedsOpaque)
    check(a.dtype.kind != "b", lambda: "numpy boolean subtract, the `-` operator, is not supported", TypeError)
    x = [prims.select(a, 0, i) for i in range(lengths[0])]
    y = [prims.select(b, 0, i) for i in range(lengths[1])]

    def minor(i: int, j: int) -> TensorProxy:
        """``x[i] * y[j] - x[j] * y[i]``, with 0 for components that are not there."""
        terms = [clang.mul(x[k], y[m]) for k, m in ((i, j), (j, i)) if k < len(x) and m < len(y)]
        if len(terms) == 2:
            return clang.sub(*terms)
        return terms[0] if i < len(x) and j < len(y) else clang.neg(terms[0])

    if lengths == (2, 2):
        return minor(0, 1)
    made = clang.stack(clang.broadcast(minor(1, 2), minor(2, 0), minor(0, 1)), 0)
    return clang.moveaxis(made, (0,), (one_axis(made.ndim, axisc),))


# Rounding and clipping


def _clipped(a: TensorProxy, low: Any, high: Any) -> TensorProxy:
    if low is None and high is None:
        np.empty(0).clip(None, None)  # raises where this version of NumPy needs a bound
    if a.dtype.kind in "iu":
        limits = np.iinfo(to_numpy_dtype(a.dtype))
        # symbolic integers are int64, so every int64 array takes them
        numbers = [
            pyval(x) if type(x) is int or (_is_int(x) and a.dtype is not dtypes.int64) else None for x in (low, high)
        ]
        if any(n is not None and not limits.min <= n <= limits.max for n in numbers):
            np.empty(0, limits.dtype).clip(*numbers)  # raises where this version of NumPy takes no such bound
        # Python numbers at or beyond the limits of the dtype bound nothing.
        low = None if numbers[0] is not None and numbers[0] <= limits.min else low
        high = None if numbers[1] is not None and numbers[1] >= limits.max else high
    if low is None and high is None:
        return ufuncs.positive(a)
    if low is None or high is None:
        return ufuncs.maximum(a, low) if high is None else ufuncs.minimum(a, high)
    operands = [x if is_scalar_like(x) else as_array(x) for x in (a, low, high)]
    dtype = result_dtype(*operands)
    are_numbers = all(type(x) in (int, float) and x == x for x in (low, high))
    a, low, high = (as_array(x, dtype) for x in operands)
    if are_numbers and dtype.kind == "f":  # what is equal to a bound stays, -0.0 beside 0.0
        a = clang.where(clang.lt(a, low), low, a)
        return clang.where(clang.gt(a, high), high, a)
    return clang.minimum(clang.maximum(a, low), high)


def _is_int(x: Any) -> bool:
    return type(x) is int or (isinstance(x, NumberProxy) and x.python_type is int)


@npsymbol(tags=(OpTags.ELEMENTWISE,), out=Out(position=3, converts=True))
def clip(
    a: Any, a_min: Any = NoValue, a_max: Any = NoValue, *, min: Any = NoValue, max: Any = NoValue, **options: Any
) -> TensorProxy:
    """The elements, with those beyond ``a_min`` and ``a_max`` replaced by them; ``None`` is no bound."""
    if options:
        raise NeedsOpaque(f"np.clip with {', '.join(options)} is not compiled")
    if a_min is NoValue and a_max is NoValue:
        low, high = (None if x is NoValue else x for x in (min, max))
    else:
        check(a_min is not NoValue, lambda: "clip() missing 1 required positional argument: 'a_min'", TypeError)
        check(a_max is not NoValue, lambda: "clip() missing 1 required positional argument: 'a_max'", TypeError)
        check(
            min is NoValue and max is NoValue,
            lambda: "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.",
        )
        low, high = a_min, a_max
    return _clipped(as_array(a), low, high)


@npmethod("clip")
def _clip_method(a: TensorProxy, min: Any = None, max: Any = None, *out: Any, **options: Any) -> TensorProxy:
    """``a.clip(min, max)``."""
    check(not out, lambda: "ndarray.clip with an array to write to is not compiled", NeedsEager)
    check(not options, lambda: f"ndarray.clip with {', '.join(options)} is not compiled", NeedsEager)
    return _clipped(a, min, max)


@npsymbol(method="round")
def round(a: Any, decimals: Any = 0) -> TensorProxy:
    """To the nearest number of so many decimals, of two equally near ones the even; integers stay what they are."""
    a = as_array(a)
    places = static_int(decimals, "decimals")
    dtype = dtype_by_example("round", a, decimals=places)
    if a.dtype.kind in "iu":
        if places >= 0:
            return a
        scaled = clang.div(clang.convert(a, dtypes.float64), 10.0**-places)
        return clang.convert(clang.mul(clang.round(scaled), 10.0**-places), dtype)
    a = clang.convert(a, dtype)
    if places == 0:
        return clang.round(a)

    def rounded(part: TensorProxy) -> TensorProxy:
        scale = 10.0 ** abs(places)
        if places > 0:
            return clang.div(clang.round(clang.mul(part, scale)), scale)
        return clang.mul(clang.round(clang.div(part, scale)), scale)

    if a.dtype.kind == "c":
        return prims.complex(rounded(prims.real(a)), rounded(prims.imag(a)))
    return rounded(a)


alias("around", round)


@npsymbol()
def fix(x: Any) -> TensorProxy:
    """Towards zero, to whole numbers."""
    x = as_array(x)
    return clang.trunc(clang.convert(x, dtype_by_example("fix", x)))


# Complex numbers


def _real(a: TensorProxy) -> TensorProxy:
    if a.dtype.kind != "c":
        return a
    part = prims.real(a)
    part.scalar = a.scalar
    return part


def _imag(a: TensorProxy) -> TensorProxy:
    part = prims.imag(a) if a.dtype.kind == "c" else clang.full_like(a, False if a.dtype.kind == "b" else 0)
    part.scalar = a.scalar
    return part


npproperty("real")(_real)
npproperty("imag")(_imag)


def _part_of_number(x: Any, part: Callable[[TensorProxy], TensorProxy]) -> NumberProxy:
    """The real or imaginary part of a Python number: a float of a complex number, an int of a bool."""
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    number = prims.item(part(as_array(x)))
    return prims.convert_number(number, int) if kind is bool else number


@npsymbol(returns="argument")
def real(val: Any) -> TensorProxy | NumberProxy:
    """The real part: a view of a complex array, a real one itself; of a Python number one."""
    return _part_of_number(val, _real) if is_number(val) else _real(as_array(val))


@npsymbol(returns="view or read-only")
def imag(val: Any) -> TensorProxy | NumberProxy:
    """The imaginary part: a view of a complex array, zeros for a real one; of a Python number one."""
    return _part_of_number(val, _imag) if is_number(val) else _imag(as_array(val))


@npsymbol(returns="argument")
def real_if_close(a: Any, tol: Any = 100) -> TensorProxy:
    """A real array itself, a scalar as a 0-d one. Of complex ones the values decide what the result is: that runs eagerly."""
    a = as_array(a)
    check(a.dtype.kind != "c", lambda: "what np.real_if_close returns of complex numbers depends on them", NeedsEager)
    return prims.clone(a) if a.scalar else a


@npsymbol()
def angle(z: Any, deg: Any = False) -> TensorProxy:
    """The angle of complex numbers in the plane, in radians or degrees; 0 or π for real ones."""
    z = as_array(z)
    if z.dtype.kind == "c":
        found = clang.atan2(prims.imag(z), prims.real(z))
    else:
        found = ufuncs.arctan2(0, z)
    return clang.mul(found, 180 / math.pi) if deg else found


@npsymbol()
def sinc(x: Any) -> TensorProxy:
    """``sin(πx) / (πx)``, 1 at 0."""
    x = as_array(x)
    scaled = clang.mul(clang.convert(x, dtype_by_example("sinc", x)), math.pi)
    zero = clang.eq(scaled, 0)
    safe = clang.where(zero, 1, scaled)
    return clang.where(zero, 1, clang.div(clang.sin(safe), safe))
