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
from tnp.lang.scipy.made_interpolants import NATIVE, is_made, native_state, parameters, state_of

__all__ = ["is_made", "made"]

#: classes whose objects compute with doubles, whatever they are made of
_OF_DOUBLES = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")


def made(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An interpolant of traced arrays; ``NotImplemented`` for what is called as it is."""
    name = cls.__name__
    tracer = active.current()
    if not is_traced((args, tuple(kwargs.values()))):
        return NotImplemented
    found = parameters(name, args, kwargs)
    if found is None:
        raise NeedsEager(f"it makes a {name} in a way that is not compiled")
    x, y, options = _array(tracer, found[0][0]), _array(tracer, found[0][1]), found[1]
    if name in _OF_DOUBLES:
        x, y = _in_doubles(x), _in_doubles(y)
    arrays = (x, y)
    if any(a._element_type.name not in ("float64", "int64", "complex128") or not a.ndim for a in arrays):
        raise NeedsEager(f"it makes a {name} of other arrays than of doubles")
    kind = options.get("kind", "linear")
    is_native = name == "interp1d" and type(kind) is str and kind in NATIVE
    known = {k: tracer.known(v) for k, v in options.items() if not (is_native and k == "fill_value")}
    if is_traced(tuple(known.values())) or not all(map(_is_plain, known.values())):
        raise NeedsEager(f"it makes a {name} with options that are not known")
    if is_native:
        known |= {k: v for k, v in options.items() if k == "fill_value"}
        return Interpolant(cls, *native_state(tracer.call, known, arrays), [])
    if name in _OF_DOUBLES:  # whose states have the kinds that a dry run has, whatever the values are
        method, state = state_of(tracer.call, name, known, arrays)
        return Interpolant(cls, method, state, [(a.storage, a.storage.value.name) for a in arrays])
    if tracer.regions:
        raise NeedsEager(f"it makes a {name} in a loop or a branch, where it is a call of SciPy's")

    def record(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        check_may_start_over(tracer, symbol, f"scipy.interpolate.{name}")
        return tracer.call(symbol, args, kwargs)

    method, state = state_of(record, name, known, arrays)
    return Interpolant(cls, method, state, [(a.storage, a.storage.value.name) for a in arrays])


def _in_doubles(a: TracedArray) -> TracedArray:
    """The numbers of ``a`` as SciPy computes with them."""
    dtype, made = a.dtype, a
    if dtype.kind in "biu" or dtype in (np.float16, np.float32):
        made = a.astype(np.float64)
    elif dtype == np.complex64:
        made = a.astype(np.complex128)
    return made


def _is_plain(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, str) or isinstance(x, np.generic)


def _array(tracer: Any, x: Any) -> TracedArray:
    x = range_as_array(x, None) if type(x) is TracedRange else np.asarray(x) if type(x) is range else x
    found: TracedArray = tracer.call(lnp.asarray, (x,), {})
    return found
