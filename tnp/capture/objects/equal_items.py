"""Where the items of a list that equal a value are, of lists that are rows of an array: ``items.index(x)``, ``items.count(x)``, ``x in items``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import prims
from tnp.core.prims.control_flow import START_OVER

__all__ = ["contains", "count_of", "index_of"]

#: integers up to this are floats
_EXACT = 1 << 53


def index_of(items: Any, value: Any, *bounds: Any) -> Any:
    """The position of the first item that equals ``value``. Where there is none, the call runs eagerly, and raises."""
    if bounds:
        raise ReadsVarying(items.description)
    equal = _equal(items, value)
    call = active.current().numpy_function
    _demand(call(np.any, (equal,), {}))
    found: TracedNumber = call(np.argmax, (equal,), {}).item()
    found.proxy.low = 0
    return found


def count_of(items: Any, value: Any) -> Any:
    """How many items equal ``value``."""
    return active.current().numpy_function(np.sum, (_equal(items, value),), {}).item()


def contains(items: Any, value: Any) -> Any:
    """Whether an item equals ``value``."""
    return active.current().numpy_function(np.any, (_equal(items, value),), {}).item()


def _equal(items: Any, value: Any) -> Any:
    """An array of bools, one an item: whether it equals ``value``. Of a NaN, it would matter whether it is the very object in the list."""
    rows = items.as_array(typed=True)
    kind = _kind(value)
    if type(rows) is not TracedArray or rows.ndim != 1 or kind is None:
        raise ReadsVarying(items.description)
    is_exact = kind == rows.dtype or (rows.dtype == float and type(value) is int and abs(value) <= _EXACT)
    if not is_exact or (type(value) is float and value != value):
        raise ReadsVarying(items.description)
    call = active.current().numpy_function
    if kind == np.dtype(float) and type(value) is not float:
        _demand(call(np.logical_not, (call(np.isnan, (value,), {}),), {}))
    return call(np.equal, (rows, value), {})


def _kind(value: Any) -> Any:
    """The dtype of a value as an item of a list: int64, float64, or ``None`` for others."""
    if type(value) is TracedNumber:
        kind: Any = value.proxy.python_type
    elif type(value) is TracedArray:
        kind = value.dtype if value.scalar else None
    else:
        kind = type(value)
    return np.dtype(kind) if kind in (int, float, np.dtype(np.int64), np.dtype(np.float64)) else None


def _demand(holds: Any) -> None:
    tracer = active.current()
    number = holds.item() if type(holds) is TracedArray else holds
    tracer.expects_no_error()
    tracer.call(prims.assert_, (number, START_OVER), {})
