"""Interpolants that a program makes itself: SciPy's class is called when the program runs, and gives the arrays of its state.

What else there is in the state (a kind, whether points outside are refused) is known from a dry run, and compared again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import sizes
from tnp.core.errors import LateGuardFailed, NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.scipy.registry import Method, methods_of, own_call
from tnp.runtime.modules import loaded
from tnp.runtime.quiet import quiet

__all__ = ["CLASSES", "CONSTRUCTION", "NATIVE", "is_made", "state_of"]

#: by a class's name, how many arrays its constructor takes, and the options that it may have
CLASSES: dict[str, tuple[int, frozenset[str]]] = {
    "interp1d": (2, frozenset(("kind", "axis", "bounds_error", "fill_value", "assume_sorted"))),
    "CubicSpline": (2, frozenset(("axis", "bc_type", "extrapolate"))),
    "PchipInterpolator": (2, frozenset(("axis", "extrapolate"))),
    "Akima1DInterpolator": (2, frozenset(("axis", "extrapolate"))),
}
#: kinds of interp1d whose state is computed here
NATIVE = ("linear", "nearest")


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


def _call(name: str, options: dict[str, Any], plain: str, *arrays: Any) -> tuple[Any, ...]:
    _, state = _real(name, options, arrays)
    names, others = _parts(state)
    if repr(others) != plain:
        raise LateGuardFailed(f"scipy.interpolate.{name} makes an interpolant of another kind, which depends on values")
    return tuple(np.array(state[k]) for k in names)


def _dry(name: str, options: dict[str, Any], arrays: tuple[TensorProxy, ...]) -> tuple[Method, dict[str, Any]]:
    given = []
    for a in arrays:
        shape = sizes.concrete(a.shape, "an interpolant")
        given.append(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(to_numpy_dtype(a.dtype)))
    with quiet(), np.errstate(all="ignore"):
        try:
            return _real(name, options, tuple(given))
        except Exception as error:
            raise NeedsEager(f"a dry run of scipy.interpolate.{name} on dummy data raised {error!r}") from error


def _meta(name: str, options: dict[str, Any], plain: str, *arrays: TensorProxy) -> tuple[TensorProxy, ...]:
    _, state = _dry(name, options, arrays)
    return tuple(TensorProxy(shape=state[k].shape, dtype=result_of(state[k].dtype)) for k in _parts(state)[0])


#: the call of a constructor
CONSTRUCTION = own_call("interpolate.made", _call, _meta)


def state_of(
    record: Callable[..., Any], name: str, options: dict[str, Any], arrays: tuple[Any, ...]
) -> tuple[Method, dict[str, Any]]:
    """The method that calls the interpolant ``name(*arrays, **options)`` of traced arrays, and its state. ``record`` records an operation."""
    proxies = tuple(a.__tnp_value__() for a in arrays)
    method, state = _dry(name, options, proxies)
    names, plain = _parts(state)
    if name == "interp1d" and state["kind"] in NATIVE:
        return method, state | _of_points(record, arrays, state, options)
    made = record(CONSTRUCTION, (name, options, repr(plain), *arrays), {})
    return method, {**plain, **dict(zip(names, made))}


def _of_points(
    record: Callable[..., Any], arrays: tuple[Any, ...], state: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """The arrays of the state of an interpolant between neighbours, computed as its constructor computes them."""
    x, y = arrays
    axis = state["_y_axis"]
    if not options.get("assume_sorted", False):
        order = record(lnp.argsort, (x,), {"kind": "mergesort"})
        x, y = record(lnp.take, (x, order), {}), record(lnp.take, (y, order), {"axis": axis})
    rows = record(lnp.moveaxis, (y, axis, 0), {}) if axis else y
    rows = record(lnp.reshape, (rows, (x.shape[0], -1)), {})
    kind = np.complex128 if state["_y"].dtype.kind == "c" else np.float64
    found = {"x": record(lnp.copy, (x,), {}), "_y": record(lnp.array, (rows, kind), {})}
    if state["kind"] == "nearest":
        halves = x / 2.0
        found["bounds"] = halves[1:] + halves[:-1]
    return found
