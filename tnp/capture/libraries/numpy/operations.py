"""What the tracer itself records in NumPy's terms, where Python's meaning of a program asks for it: a scalar, a copy, a choice, a print."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.objects.text_arrays import as_cells
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import languages, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import Proxy
from tnp.lang import numpy as lnp

if TYPE_CHECKING:
    from tnp.runtime.python_calls import Effect

__all__ = ["as_array", "copy_of", "fresh", "python_call", "range_as_array", "scalar_of", "scalar_or_number", "select"]


def scalar_of(kind: type, *value: Any) -> TracedArray:
    """``kind(value)``: a scalar of one of NumPy's classes."""
    made: TracedArray = active.current().call(lnp.scalar_of, (kind, *value), {})
    return made


def copy_of(x: Any, **keywords: Any) -> Any:
    """``np.copy(x)``."""
    return active.current().call(lnp.copy, (x,), keywords)


def fresh(x: Any) -> Any:
    """Copies of arrays that NumPy computed from constants while tracing, so that each call returns arrays of its own."""
    if type(x) is TracedArray:  # what a function of the program's has given
        return x
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray:
            raise NeedsEager(f"it makes a {type(x).__name__}")
        if x.dtype.kind in "OUS":
            return as_cells(x)
        made = copy_of(active.current().inputs.constant_array(x))
        if x.flags.c_contiguous:
            made._strides = ROW_MAJOR
        return made
    return type(x)(map(fresh, x)) if type(x) in (tuple, list) else x


def select(better: Any, x: Any, best: Any) -> Any:
    """The scalar ``x`` where ``better``, else ``best``."""
    return active.current().call(lnp.where, (better, x, best), {})[()]


def as_array(x: Any, *dtype: Any) -> TracedArray:
    """``np.asarray(x, dtype)``: the array itself if it has the dtype."""
    made: TracedArray = active.current().call(lnp.asarray, (x, *dtype), {})
    return made


#: dtypes that hold any integer of a range, or a float near it
_WIDE = (int, float, complex, np.int64, np.float64, np.complex128)


def range_as_array(x: TracedRange, dtype: Any) -> Any:
    """``np.arange`` of a traced range, which is to become an array of ``dtype``. An empty range stays a range, since NumPy makes an array of
    floats of it, as does one for a dtype that may not hold all integers, since NumPy raises."""
    if type(x.step) is not int or not (dtype is None or dtype in _WIDE):
        return x.known()
    made = active.current().call(lnp.arange, (x.start, x.stop, x.step), {})
    return x.known() if sizes.equal(made._proxy.shape[0], 0) else made


def scalar_or_number(scalar: Proxy, is_scalar: Any, python_type: type) -> Any:
    """What the program gives for a value that is a scalar where ``is_scalar``, and otherwise the equal number of Python's."""
    return lnp.scalar_or_number(scalar, is_scalar, python_type)


def python_call(effect: Effect, result: type | None, values: list[Any]) -> Any:
    """Has the program make a call at each time that it runs, with what it then computes for ``values``; a number of type ``result``."""
    is_clock = getattr(effect.function, "__module__", None) == "time"
    says = effect.function is warnings.warn
    symbol = lnp.warning_call if says else lnp.clock_call if is_clock else lnp.python_call
    with languages.language_context(lnp.language):
        return active.current().handle(symbol(effect, result, *values), {}, 0)
