"""``scipy.interpolate``: values of splines and interpolants, from the arrays that the objects hold. SciPy makes the objects."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.calculus import on_polygon
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.linalg.operands import plain
from tnp.lang.numpy.operands import as_array, promote
from tnp.lang.scipy.registry import by_dry_run, derived, own_call, random_of, scipymethod

__all__ = ["fitted_values", "grid_values", "interp1d_values", "polynomial_values", "spline_values"]


# Positions


def _covered(condition: Any, what: str) -> None:
    if not condition:
        raise NeedsEager(f"it evaluates {what}, which is not compiled")


def _flat(x: Any) -> tuple[TensorProxy, sizes.Shape]:
    """Points in double precision and one dimension, and their shape."""
    a = as_array(x)
    _covered(a.dtype.kind != "c", "an interpolant at complex points")
    a = clang.convert(a, dtypes.float64)
    return clang.reshape(a, (a.numel,)), a.shape


def _interval(knots: TensorProxy, x: TensorProxy, first: int, last: sizes.Dim) -> TensorProxy:
    """The last i in ``[first, last]`` with ``knots[i] <= x``, or ``first``."""
    at = clang.sub(prims.searchsorted(knots, x, right=True), 1)
    return clang.minimum(clang.maximum(at, first), last)


def _outside(x: TensorProxy, low: TensorProxy, high: TensorProxy) -> TensorProxy:
    """Where points are outside of an interval, or are not numbers."""
    inside = clang.logical_and(
        clang.ge(x, clang.broadcast_to(low, x.shape)), clang.le(x, clang.broadcast_to(high, x.shape))
    )
    return clang.logical_not(inside)


def _one(a: TensorProxy, i: int) -> TensorProxy:
    made: TensorProxy = prims.select(a, 0, i)
    return made


def _wrapped(x: TensorProxy, low: TensorProxy, high: TensorProxy) -> TensorProxy:
    """Points moved by periods into the interval."""
    low, period = clang.broadcast_to(low, x.shape), clang.broadcast_to(clang.sub(high, low), x.shape)
    return clang.add(low, clang.remainder(clang.sub(x, low), period))


def _beside(a: TensorProxy, values: TensorProxy) -> TensorProxy:
    """``a``, one value a point, as what multiplies ``values``, which have further dimensions."""
    a = clang.convert(a, values.dtype)
    return clang.expand_dims(a, tuple(range(1, values.ndim))) if values.ndim > 1 else a


def _blanked(values: TensorProxy, outside: TensorProxy, with_what: Any = math.nan) -> TensorProxy:
    mask = clang.expand_dims(outside, tuple(range(1, values.ndim))) if values.ndim > 1 else outside
    return clang.where(clang.broadcast_to(mask, values.shape), with_what, values)


def _arranged(values: TensorProxy, shape: sizes.Shape, axis: int) -> TensorProxy:
    """Values, one a point, with the points' dimensions, which are moved to ``axis``."""
    found = clang.reshape(values, (*shape, *values.shape[1:]))
    if axis:
        n, rest = len(shape), range(len(shape), found.ndim)
        found = clang.transpose(found, [*rest[:axis], *range(n), *rest[axis:]])
    return found


def _mode(own: Any, asked: Any) -> Any:
    mode = own if asked is None else asked
    return mode if mode == "periodic" else bool(pyval(mode))


# Piecewise polynomials


def _polynomial(get: Callable[..., Any]) -> dict[str, Any]:
    return {"c": get("_c", "c"), "x": get("_x", "x"), "axis": get("axis"), "mode": get("extrapolate")}


def _piecewise(state: dict[str, Any], x: Any, nu: Any, extrapolate: Any, *, may_descend: bool) -> TensorProxy:
    c, knots, nu = as_array(state["c"]), as_array(state["x"]), plain(nu)
    _covered(type(nu) is int and nu >= 0, "a spline's integral")
    x, shape = _flat(x)
    mode, n = _mode(state["mode"], extrapolate), knots.shape[0]
    low, high = _one(knots, 0), _one(knots, n - 1)
    if may_descend:
        sign = clang.sub(1.0, clang.mul(2.0, clang.convert(clang.lt(high, low), dtypes.float64)))
        turned = (
            clang.mul(knots, clang.broadcast_to(sign, knots.shape)),
            clang.mul(x, clang.broadcast_to(sign, x.shape)),
        )
        low, high = clang.minimum(low, high), clang.maximum(low, high)
        _covered(mode != "periodic", "a periodic PPoly")
    if mode == "periodic":
        x = _wrapped(x, low, high)
    # The last piece is that of the coefficients, of which there is one less than of knots.
    at = _interval(*(turned if may_descend else (knots, x)), 0, c.shape[1] - 1)
    s = clang.sub(x, prims.take(knots, at, 0))
    degree = c.shape[0] - 1
    total = clang.full((x.shape[0], *c.shape[2:]), 0, dtype=c.dtype)
    power: Any = None
    for k in range(nu, degree + 1):
        term = prims.take(_one(c, degree - k), at, 0)
        factor = math.perm(k, nu)
        if power is not None:
            term = clang.mul(term, _beside(power, term))
        total = clang.add(total, clang.mul(term, float(factor)) if factor != 1 else term)
        power = s if power is None else clang.mul(power, s)
    unknown = clang.isnan(x) if mode is True else _outside(x, low, high)
    return _arranged(_blanked(total, unknown), shape, pyval(state["axis"]))


@scipymethod("interpolate.PPoly.__call__", _polynomial)
def polynomial_values(state: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> TensorProxy:
    """Values or derivatives of a piecewise polynomial, whose breakpoints may descend."""
    return _piecewise(state, x, nu, extrapolate, may_descend=True)


@scipymethod(
    "interpolate.CubicSpline.__call__ interpolate.CubicHermiteSpline.__call__ interpolate.PchipInterpolator.__call__ "
    "interpolate.Akima1DInterpolator.__call__",
    _polynomial,
)
def cubic_values(state: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> TensorProxy:
    """Values or derivatives of a cubic spline."""
    return _piecewise(state, x, nu, extrapolate, may_descend=False)


# B-splines


def _spline(get: Callable[..., Any]) -> dict[str, Any]:
    return {
        "t": get("_t", "t"), "c": get("_c", "c"), "k": get("k"), "axis": get("axis"), "mode": get("extrapolate"),
    }  # fmt: skip


def _basis(t: TensorProxy, at: TensorProxy, x: TensorProxy, k: int, nu: int) -> list[TensorProxy]:
    """The B-splines of degree k, or their derivatives, that are not 0 in the interval ``at``: de Boor, A Practical Guide to Splines (1978)."""
    knots = {j: prims.take(t, clang.add(at, j), 0) for j in range(1 - k, k + 1)}
    values = [clang.full_like(x, 1)]
    for j in range(1, k + 1):
        is_derivative = j > k - nu
        found = [clang.full_like(x, 0)]
        for m in range(1, j + 1):
            high, low = knots[m], knots[m - j]
            is_empty = clang.eq(high, low)
            width = clang.where(is_empty, 1.0, clang.sub(high, low))
            part = clang.where(is_empty, 0.0, clang.div(values[m - 1], width))
            if is_derivative:
                part = clang.mul(part, float(j))
                left, right = clang.neg(part), part
            else:
                left, right = clang.mul(part, clang.sub(high, x)), clang.mul(part, clang.sub(x, low))
            found[-1] = clang.add(found[-1], left)
            found.append(right)
        values = found
    return values


def _spline_at(t: TensorProxy, c: TensorProxy, k: int, x: TensorProxy, nu: int, mode: Any) -> TensorProxy:
    n = t.shape[0] - k - 1
    low, high = _one(t, k), _one(t, n)
    if mode == "periodic":
        x = _wrapped(x, low, high)
    at = _interval(t, x, k, n - 1)
    total = clang.full((x.shape[0], *c.shape[1:]), 0, dtype=c.dtype)
    for j, b in enumerate(_basis(t, at, x, k, nu)):
        coefficients = prims.take(c, clang.add(at, j - k), 0)
        total = clang.add(total, clang.mul(coefficients, _beside(b, coefficients)))
    return _blanked(total, clang.isnan(x) if mode is True else _outside(x, low, high))


@scipymethod("interpolate.BSpline.__call__", _spline)
def spline_values(state: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> TensorProxy:
    """Values or derivatives of a B-spline."""
    t, c, k, nu = as_array(state["t"]), as_array(state["c"]), pyval(state["k"]), plain(nu)
    _covered(type(nu) is int and 0 <= nu <= k, "a high derivative of a spline")
    x, shape = _flat(x)
    found = _spline_at(t, c, k, x, nu, _mode(state["mode"], extrapolate))
    return _arranged(found, shape, pyval(state["axis"]))


def _fitted(get: Callable[..., Any]) -> dict[str, Any]:
    t, c, k = get("_eval_args")
    return {"t": t, "c": c, "k": k, "ext": get("ext")}


_OUTSIDE = {"extrapolate": 0, "zeros": 1, "const": 3, 0: 0, 1: 1, 3: 3}


@scipymethod(
    "interpolate.UnivariateSpline.__call__ interpolate.InterpolatedUnivariateSpline.__call__ "
    "interpolate.LSQUnivariateSpline.__call__",
    _fitted,
)
def fitted_values(state: Any, x: Any, nu: Any = 0, ext: Any = None) -> TensorProxy:
    """Values or derivatives of a spline of FITPACK's."""
    t, c, k, nu = as_array(state["t"]), as_array(state["c"]), pyval(state["k"]), plain(nu)
    outside = _OUTSIDE.get(pyval(state["ext"]) if ext is None else plain(ext))
    _covered(type(nu) is int and 0 <= nu < k, "a high derivative of a spline")
    _covered(outside is not None, "a spline that refuses what is outside")
    _covered(outside != 3 or nu == 0, "a derivative of a spline with boundary values outside")
    x, shape = _flat(x)
    _covered(all(type(n) is not int or n > 0 for n in shape), "a spline at no places")
    low, high = (clang.broadcast_to(_one(t, i), x.shape) for i in (k, t.shape[0] - k - 1))
    inside = clang.minimum(clang.maximum(x, low), high) if outside == 3 else x
    found = _spline_at(t, c, k, inside, nu, True)
    if outside == 1:
        found = _blanked(found, clang.logical_or(clang.lt(x, low), clang.gt(x, high)), 0.0)
    return _arranged(found, shape, 0)


# Interpolants


def _checked(x: Any, low: Any, high: Any) -> Any:
    below, above = x < low, x > high
    if below.any():
        value = x[np.argmax(below)]
        raise ValueError(f"A value ({value}) in x_new is below the interpolation range's minimum value ({low}).")
    if above.any():
        value = x[np.argmax(above)]
        raise ValueError(f"A value ({value}) in x_new is above the interpolation range's maximum value ({high}).")
    return x


_in_range = own_call("interpolate.in_range", _checked, lambda x, low, high: TensorProxy(like=x))
_in_range.pulls_back = lambda cotangents, wanted, args, kwargs: [cotangents[0] if i == 0 else None for i in wanted]


def _interpolant(get: Callable[..., Any]) -> dict[str, Any]:
    kind = get("_kind")
    state = {
        "kind": kind,
        **{n: get(n) for n in ("x", "_y", "bounds_error", "_extrapolate", "_y_axis", "_y_extra_shape")},
    }
    if not state["_extrapolate"]:
        state |= {"below": get("_fill_value_below"), "above": get("_fill_value_above")}
    if kind in ("nearest", "nearest-up"):
        state |= {"bounds": get("x_bds"), "side": get("_side")}
    elif kind in ("previous", "next"):
        state |= {"bounds": get("_x_shift"), "side": get("_side"), "shift": get("_ind")}
    elif kind == "linear":
        state |= {"is_numpys": get("_call").__name__ == "_call_linear_np"}
    elif kind == "spline":
        spline = get("_spline")
        t, c = (spline._t, spline._c) if hasattr(spline, "_t") else (spline.t, spline.c)
        state |= {"t": t, "c": c, "k": spline.k, "call": get("_call").__name__}
    return state


def _interpolated(state: dict[str, Any], x: TensorProxy) -> TensorProxy:
    """A row of values a point, wherever the points are."""
    knots, y, kind = as_array(state["x"]), as_array(state["_y"]), state["kind"]
    n = knots.shape[0]
    if kind == "spline":
        _covered(state["call"] == "_call_spline", "a spline through what is no number")
        return _spline_at(as_array(state["t"]), as_array(state["c"]), pyval(state["k"]), x, 0, True)
    if kind != "linear":
        at = prims.searchsorted(as_array(state["bounds"]), x, right=state["side"] == "right")
        if kind in ("nearest", "nearest-up"):
            return prims.take(y, clang.minimum(clang.maximum(at, 0), n - 1), 0)
        shift = pyval(state["shift"])
        at = clang.minimum(clang.maximum(at, 1 - shift), n - shift)
        found = prims.take(y, clang.add(at, shift - 1), 0)
        return _blanked(found, clang.isnan(x)) if kind == "zero" else found
    if pyval(state["is_numpys"]):  # which takes other neighbours where knots are equal
        found = on_polygon(*(clang.convert(a, dtypes.float64) for a in (x, knots, prims.select(y, 1, 0))))
        return clang.reshape(found, (found.shape[0], 1))
    knots = clang.convert(knots, dtypes.float64)
    at = clang.minimum(clang.maximum(prims.searchsorted(knots, x), 1), n - 1)
    before = clang.sub(at, 1)
    x0, x1, y0, y1 = (prims.take(a, i, 0) for a in (knots, y) for i in (before, at))
    y0, y1 = (clang.convert(a, dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64) for a in (y0, y1))
    slope = clang.div(clang.sub(y1, y0), _beside(clang.sub(x1, x0), y0))
    return clang.add(clang.mul(slope, _beside(clang.sub(x, x0), y0)), y0)


@scipymethod("interpolate.interp1d.__call__", _interpolant)
def interp1d_values(state: Any, x: Any) -> TensorProxy:
    """Values of an interpolant. Raises ``ValueError`` at run time for points outside, if the object does."""
    points = as_array(x)
    single = points.dtype in (dtypes.float32, dtypes.float16) and state["kind"] not in ("nearest", "previous", "next")
    _covered(not single and as_array(state["_y"]).dtype.itemsize >= 8, "an interpolant in single precision")
    x, shape = _flat(points)
    knots = as_array(state["x"])
    _covered(knots.dtype.kind != "c", "an interpolant of complex abscissas")
    low, high = _one(knots, 0), _one(knots, knots.shape[0] - 1)
    if pyval(state["bounds_error"]):
        x = _in_range(x, low, high)
    found = _interpolated(state, x)
    if not pyval(state["_extrapolate"]):
        for fill, is_out in (
            (state["below"], clang.lt(x, clang.broadcast_to(clang.convert(low, x.dtype), x.shape))),
            (state["above"], clang.gt(x, clang.broadcast_to(clang.convert(high, x.dtype), x.shape))),
        ):
            value = clang.reshape(clang.convert(as_array(fill), found.dtype), (1, -1))
            found = _blanked(found, is_out, clang.broadcast_to(value, found.shape))
    extra = tuple(pyval(n) for n in state["_y_extra_shape"])
    found = clang.reshape(found, (found.shape[0], *extra))
    return _arranged(found, shape, pyval(state["_y_axis"]) if shape else 0)


# Grids


def _checked_grid(xi: Any, *grid: Any) -> Any:
    for i, (p, g) in enumerate(zip(xi.T, grid)):
        if not (np.all(g[0] <= p) and np.all(p <= g[-1])):
            raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
    return xi


_in_grid = own_call("interpolate.in_grid", _checked_grid, lambda xi, *grid: TensorProxy(like=xi))
_in_grid.pulls_back = lambda cotangents, wanted, args, kwargs: [cotangents[0] if i == 0 else None for i in wanted]


def _grid(get: Callable[..., Any]) -> dict[str, Any]:
    return {
        "grid": get("_grid", "grid"), "values": get("_values", "values"), "method": get("method"),
        "bounds_error": get("bounds_error"), "fill_value": get("fill_value"),
    }  # fmt: skip


def _coordinates(xi: Any, count: int) -> TensorProxy:
    """Points, their coordinates along the last dimension: of an array, or of one array a coordinate."""
    if isinstance(xi, tuple):
        parts = clang.broadcast(*promote(*map(as_array, xi)))
        return clang.stack(list(parts), -1)
    a = as_array(xi)
    return clang.reshape(a, (-1, count)) if a.ndim == 1 else a


@scipymethod("interpolate.RegularGridInterpolator.__call__", _grid)
def grid_values(state: Any, xi: Any, method: Any = None, *, nu: Any = None) -> TensorProxy:
    """Values between those on a grid, linear or of the nearest point. Raises ``ValueError`` at run time for points outside, if the
    object does."""
    method = state["method"] if method is None else method
    _covered(method in ("linear", "nearest") and nu is None, f"a {method} interpolant on a grid")
    grid, values = [as_array(g) for g in state["grid"]], as_array(state["values"])
    known = all(sizes.is_known(g.shape) and g.shape[0] > 1 and g.dtype is dtypes.float64 for g in grid)
    _covered(known and values.dtype in (dtypes.float64, dtypes.complex128), "an interpolant on a grid of one point")
    xi = clang.convert(_coordinates(xi, len(grid)), dtypes.float64)
    _covered(
        xi.ndim >= 2 and sizes.equal(xi.shape[-1], len(grid)) is True, "an interpolant at points of another dimension"
    )
    shape = xi.shape[:-1]
    xi = clang.reshape(xi, (sizes.product(shape), len(grid)))
    if pyval(state["bounds_error"]):
        xi = _in_grid(xi, *grid)
    points = [prims.select(xi, 1, i) for i in range(len(grid))]
    at = [_interval(g, x, 0, g.shape[0] - 2) for g, x in zip(grid, points)]
    ends = [(prims.take(g, i, 0), prims.take(g, clang.add(i, 1), 0)) for g, i in zip(grid, at)]
    shares = [clang.div(clang.sub(x, a), clang.sub(b, a)) for x, (a, b) in zip(points, ends)]
    strides = [sizes.product(values.shape[d + 1 : len(grid)]) for d in range(len(grid))]
    flat = clang.reshape(values, (sizes.product(values.shape[: len(grid)]), *values.shape[len(grid) :]))

    def value_at(indices: Any) -> TensorProxy:
        place = clang.mul(indices[0], strides[0])
        for i, stride in zip(indices[1:], strides[1:]):
            place = clang.add(place, clang.mul(i, stride))
        made: TensorProxy = prims.take(flat, place, 0)
        return made

    if method == "nearest":
        found = value_at([clang.where(clang.le(w, 0.5), i, clang.add(i, 1)) for i, w in zip(at, shares)])
    else:
        found = _corners(value_at, at, shares)
    if not pyval(state["bounds_error"]) and state["fill_value"] is not None:
        fill = to_numpy_dtype(found.dtype).type(plain(state["fill_value"])).item()
        for x, g in zip(points, grid):
            beyond = _outside(x, _one(g, 0), _one(g, g.shape[0] - 1))
            found = _blanked(found, beyond, fill)
    for x in points:
        found = _blanked(found, clang.isnan(x))
    return clang.reshape(found, (*shape, *found.shape[1:]))


def _corners(value_at: Callable[[Any], TensorProxy], at: list[TensorProxy], shares: list[TensorProxy]) -> TensorProxy:
    """The values at the corners of cells, each by its share."""
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight: Any = None
        for upper, w in zip(corner, shares):
            share = w if upper else clang.sub(1.0, w)
            weight = share if weight is None else clang.mul(weight, share)
        value = value_at([clang.add(i, 1) if upper else i for upper, i in zip(corner, at)])
        term = clang.mul(value, _beside(weight, value))
        total = term if total is None else clang.add(total, term)
    made: TensorProxy = total
    return made


derived(
    "interpolate.PPoly interpolate.CubicSpline interpolate.CubicHermiteSpline interpolate.PchipInterpolator "
    "interpolate.Akima1DInterpolator interpolate.BSpline",
    "derivative antiderivative",
)

# Functions


def _inside(p: TensorProxy) -> Any:
    """Data for which points are inside of grids: positions in one dimension, halves in more."""
    shape, dtype = sizes.concrete(p.shape, "a dry run"), to_numpy_dtype(p.dtype)
    made = np.arange(shape[0]).astype(dtype) if len(shape) == 1 else np.full(shape, 0.5).astype(dtype)
    return made[()] if p.scalar else made


by_dry_run("interpolate", "griddata", dummies=(random_of,))
by_dry_run("interpolate", "interpn", dummies=(_inside,))
by_dry_run("interpolate", "barycentric_interpolate bisplev krogh_interpolate pchip_interpolate spalde splev splint")
