"""Interpolants of SciPy's that a program makes: ``interp1d(x, y)`` of traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.libraries.numpy.opaque_calls import check_may_start_over
from tnp.capture.libraries.numpy.operations import range_as_array
from tnp.capture.objects.interpolant import Interpolant
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp
from tnp.lang.scipy.made_interpolants import CLASSES, CONSTRUCTION, NATIVE, is_made, state_of

__all__ = ["is_made", "made"]


def made(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An interpolant of traced arrays; ``NotImplemented`` for what is called as it is."""
    name = cls.__name__
    count, options = CLASSES[name]
    tracer = active.current()
    if not is_traced((args, tuple(kwargs.values()))):
        return NotImplemented
    is_native = name == "interp1d" and kwargs.get("kind", "linear") in NATIVE
    if len(args) != count or kwargs.keys() - options or (tracer.regions and not is_native):
        raise NeedsEager(f"it makes a {name} in a way, or at a place, that is not compiled")
    fill = kwargs.get("fill_value")
    if is_native and is_traced(fill):
        kwargs = {**kwargs, "fill_value": (0.0, 0.0) if type(fill) is tuple else 0.0}
    known = {k: tracer.known(v) for k, v in kwargs.items()}
    if is_traced(tuple(known.values())) or not all(map(_is_plain, known.values())):
        raise NeedsEager(f"it makes a {name} with options that are not known")
    arrays = tuple(_array(tracer, a) for a in args)
    if any(a._element_type.name not in ("float64", "int64", "complex128") or not a.ndim for a in arrays):
        raise NeedsEager(f"it makes a {name} of other arrays than of doubles")

    def record(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if symbol is CONSTRUCTION:
            check_may_start_over(tracer, symbol, f"scipy.interpolate.{name}")
        return tracer.call(symbol, args, kwargs)

    method, state = state_of(record, name, known, arrays)
    if is_native and is_traced(fill):
        below, above = (tracer.call(lnp.asarray, (x,), {}) for x in (fill if type(fill) is tuple else (fill, fill)))
        if any(a.ndim for a in (below, above)):
            raise NeedsEager(f"it makes a {name} with several values for points outside")
        state |= {"below": below, "above": above}
    return Interpolant(cls, method, state, [(a.storage, a.storage.value.name) for a in arrays])


def _is_plain(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, str) or isinstance(x, np.generic)


def _array(tracer: Any, x: Any) -> TracedArray:
    x = range_as_array(x, None) if type(x) is TracedRange else np.asarray(x) if type(x) is range else x
    found: TracedArray = tracer.call(lnp.asarray, (x,), {})
    return found
