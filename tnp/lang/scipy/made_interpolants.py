"""Interpolants that a program makes itself: SciPy's class is called when the program runs, and gives the arrays of its state.

What else there is in the state (a kind, whether points outside are refused) is known from a dry run, and compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import dtypes, sizes, symbols
from tnp.core.errors import LateGuardFailed, NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.scipy.registry import Method, methods_of, own_call
from tnp.runtime.modules import loaded
from tnp.runtime.quiet import quiet

__all__ = ["CLASSES", "CONSTRUCTION", "NATIVE", "is_made", "native_state", "parameters", "state_of"]

#: by a class's name, the parameters of its constructor: two arrays, and options
CLASSES: dict[str, tuple[str, ...]] = {
    "interp1d": ("x", "y", "kind", "axis", "copy", "bounds_error", "fill_value", "assume_sorted"),
    "CubicSpline": ("x", "y", "axis", "bc_type", "extrapolate"),
    "PchipInterpolator": ("x", "y", "axis", "extrapolate"),
    "Akima1DInterpolator": ("x", "y", "axis"),
}
#: the same of what may be passed by name alone
BY_NAME: dict[str, tuple[str, ...]] = {"Akima1DInterpolator": ("extrapolate",)}
#: kinds of interp1d whose state is computed here
NATIVE = ("linear", "nearest", "nearest-up", "previous", "next", "zero")


def parameters(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, Any], dict[str, Any]] | None:
    """The two arrays and the options of a construction; ``None`` for another call."""
    places = CLASSES[name]
    if (
        len(args) > len(places)
        or kwargs.keys() - {*places, *BY_NAME.get(name, ())}
        or kwargs.keys() & {*places[: len(args)]}
    ):
        return None
    options = {**dict(zip(places, args)), **kwargs}
    if not {"x", "y"} <= options.keys():
        return None
    return (options.pop("x"), options.pop("y")), options


def is_made(x: Any) -> bool:
    """Whether ``x`` is a class of SciPy's whose interpolants a program can make."""
    name = getattr(x, "__name__", "")
    module = loaded("scipy.interpolate") if name in CLASSES else None
    return module is not None and getattr(module, name, None) is x


def _real(name: str, options: dict[str, Any], arrays: tuple[Any, ...]) -> tuple[Method, dict[str, Any]]:
    """The method that calls an interpolant, and its state."""
    made = getattr(loaded("scipy.interpolate"), name)(*arrays, **options)
    method = methods_of(type(made))["__call__"]

    def get(*names: str) -> Any:
        return next((getattr(made, n) for n in names if hasattr(made, n)), None)

    return method, method.read(get)


def _parts(state: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of a state's arrays, and what is no array."""
    names = [k for k, v in state.items() if isinstance(v, np.ndarray)]
    return names, {k: v for k, v in state.items() if k not in names}


def _call(name: str, options: dict[str, Any], plain: str, shapes: Any, *arrays: Any) -> tuple[Any, ...]:
    _, state = _real(name, options, arrays)
    names, others = _parts(state)
    if repr(others) != plain or any(state[k].shape != tuple(shape) for k, shape in zip(names, shapes)):
        raise LateGuardFailed(f"scipy.interpolate.{name} makes an interpolant of another kind, which depends on values")
    return tuple(np.array(state[k]) for k in names)


def _dry(
    name: str, options: dict[str, Any], arrays: tuple[TensorProxy, ...], points: int | None = None
) -> tuple[Method, dict[str, Any]]:
    """The method and the state for dummy data: of so many points where the program knows their number when it runs."""
    axis = _axis(name, options)
    given = []
    for a, along in zip(arrays, (0, axis)):
        shape = list(a.shape)
        if points is not None:
            shape[along] = points
        known = sizes.concrete(shape, "an interpolant")
        given.append(np.arange(np.prod(known, dtype=int)).reshape(known).astype(to_numpy_dtype(a.dtype)))
    with quiet(), np.errstate(all="ignore"):
        try:
            return _real(name, options, tuple(given))
        except Exception as error:
            raise NeedsEager(f"a dry run of scipy.interpolate.{name} on dummy data raised {error!r}") from error


def _axis(name: str, options: dict[str, Any]) -> int:
    axis: int = options.get("axis", -1 if name == "interp1d" else 0)
    return axis


def _meta(
    name: str, options: dict[str, Any], plain: str, shapes: Sequence[sizes.Shape], *arrays: TensorProxy
) -> tuple[TensorProxy, ...]:
    points = None if sizes.is_known(arrays[0].shape) else _TRIED[0]
    _, state = _dry(name, options, arrays, points)
    names, _ = _parts(state)
    return tuple(TensorProxy(shape=tuple(shape), dtype=result_of(state[k].dtype)) for k, shape in zip(names, shapes))


#: the call of a constructor
CONSTRUCTION = own_call("interpolate.made", _call, _meta)
#: numbers of points of which dry runs tell how arrays grow with them
_TRIED = (16, 17)


def state_of(
    record: Callable[..., Any], name: str, options: dict[str, Any], arrays: tuple[Any, ...]
) -> tuple[Method, dict[str, Any]]:
    """The method that calls the interpolant ``name(*arrays, **options)`` of traced arrays, and its state, for any number of points.
    ``record`` records an operation."""
    proxies = tuple(a.__tnp_value__() for a in arrays)
    is_any = _is_for_any_number(name, options, proxies)
    method, state = _dry(name, options, proxies, _TRIED[0] if is_any else None)
    names, plain = _parts(state)
    shapes: list[Any] = [state[k].shape for k in names]
    if is_any:
        _, longer = _dry(name, options, proxies, _TRIED[1])
        n, least = arrays[0].shape[0], _TRIED[0]
        sizes_of = {least + by: n + by if by else n for by in {d - least for shape in shapes for d in shape}}
        shapes = [
            tuple(d if d == e else sizes_of[d] for d, e in zip(shape, longer[k].shape))
            for k, shape in zip(names, shapes)
        ]
    made = record(CONSTRUCTION, (name, options, repr(plain), shapes, *arrays), {})
    return method, {**plain, **dict(zip(names, made))}


def _is_for_any_number(name: str, options: dict[str, Any], arrays: tuple[TensorProxy, ...]) -> bool:
    """Whether the number of points is a size that the program knows when it runs, and the other sizes are known."""
    x, y = arrays
    axis = _axis(name, options)
    if x.ndim != 1 or not -y.ndim <= axis < y.ndim or sizes.is_known(x.shape):
        return False
    return sizes.equal(x.shape[0], y.shape[axis]) is True


def _distinct(x: Any) -> Any:
    if np.any(x[1:] == x[:-1]):
        raise ValueError("Expect x to not have duplicates")
    return x


#: knots of a spline, which may not be equal
_DISTINCT = own_call("interpolate.distinct", _distinct, lambda x: TensorProxy(like=x))
_DISTINCT.pulls_back = lambda cotangents, wanted, args, kwargs: cotangents


def native_state(
    record: Callable[..., Any], options: dict[str, Any], arrays: tuple[Any, Any]
) -> tuple[Method, dict[str, Any]]:
    """The same of an ``interp1d`` between neighbours, for arrays of any length. Its state is computed as its constructor computes it."""
    x, y = arrays
    kind, axis = options.get("kind", "linear"), options.get("axis", -1)
    _require(x.ndim == 1 and -y.ndim <= axis < y.ndim, "of arrays of other dimensions")
    axis %= y.ndim
    n = _shape(x)[0]
    _require(sizes.equal(n, _shape(y)[axis]) is True, "of arrays of other lengths")
    _require(
        symbols.is_symbol(n) or (type(n) is int and n > 1), "of one point, or of a number of points that is not known"
    )
    if options.get("assume_sorted", False):
        _require(options.get("copy", True) is True, "of arrays that may be written later")
        x = record(lnp.copy, (x,), {})
    else:
        order = record(lnp.argsort, (x,), {"kind": "mergesort"})
        x, y = record(lnp.take, (x, order), {}), record(lnp.take, (y, order), {"axis": axis})
    rows = record(lnp.moveaxis, (y, axis, 0), {}) if axis else y
    extra = rows.shape[1:]
    kinds = [a.__tnp_value__().dtype for a in (x, y)]
    rows = record(lnp.reshape, (rows, (x.shape[0], -1)), {})
    rows = record(lnp.array, (rows, np.complex128 if kinds[1].kind == "c" else np.float64), {})
    state = {"kind": kind, "x": x, "_y": rows, "_y_axis": axis, "_y_extra_shape": extra}
    if kind in ("nearest", "nearest-up"):
        halves = x / 2.0
        state |= {"bounds": halves[1:] + halves[:-1], "side": "left" if kind == "nearest" else "right"}
    elif kind == "linear":  # SciPy leaves to np.interp what that can do
        is_double = kinds[0] in (dtypes.float64, dtypes.int64) and (
            kinds[1] is dtypes.float64 or kinds[1].kind in "biu"
        )
        state |= {"is_numpys": is_double and y.ndim == 1 and type(options.get("fill_value")) is not str}
    elif kind == "zero":
        state |= {"bounds": record(_DISTINCT, (x,), {}), "side": "right", "shift": 0}
    elif kind in ("previous", "next"):
        is_next = kind == "next"
        bounds = record(lnp.nextafter, (x, np.inf if is_next else -np.inf), {})
        state |= {"bounds": bounds, "side": "right" if is_next else "left", "shift": int(is_next)}
    return methods_of(loaded("scipy.interpolate").interp1d)["__call__"], state | _outside(record, options, state)


def _outside(record: Callable[..., Any], options: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The part of the state that says what values points outside get."""
    fill, kind = options.get("fill_value", np.nan), state["kind"]
    raises = options.get("bounds_error")
    if type(fill) is str:
        _require(fill == "extrapolate" and not raises, "with a fill value that SciPy does not take")
        if kind not in ("previous", "next"):
            return {"bounds_error": False, "_extrapolate": True}
        raises, rows = False, state["_y"]
        fill = (rows[0], np.nan) if kind == "next" else (np.nan, rows[-1])
        shape = rows.shape[1:]
    else:
        shape = state["_y_extra_shape"]
    values = fill if type(fill) is tuple and len(fill) == 2 else (fill, fill)
    below, above = (_filling(record, value, shape) for value in values)
    return {
        "bounds_error": raises is None or bool(raises),
        "_extrapolate": False,
        "below": below,
        "above": above,
    }


def _filling(record: Callable[..., Any], value: Any, shape: Sequence[Any]) -> Any:
    """The values that a point outside gets, one for each row."""
    a = record(lnp.asarray, (value,), {})
    _require(a.__tnp_value__().dtype.kind in "biuf", "with fill values that are no real numbers")
    if not a.ndim:
        return a
    wanted = tuple(shape) or (1,)
    fits = a.ndim <= len(wanted) and all(
        (type(d) is int and d == 1) or d == w for d, w in zip(reversed(a.shape), reversed(wanted))
    )
    _require(fits, "with fill values of another shape")
    return record(lnp.reshape, (record(lnp.broadcast_to, (a, wanted), {}), (-1,)), {})


def _shape(a: Any) -> sizes.Shape:
    shape: sizes.Shape = a.__tnp_value__().shape
    return shape


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise NeedsEager(f"it makes an interp1d {what}")
