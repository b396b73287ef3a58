"""``sum``, ``max``, ``min``, ``any`` and ``all`` of an array: an operation on it, in place of one for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.python_numbers import converted
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.proxies import NumberProxy

__all__ = ["is_flat", "is_long", "largest", "total", "truth"]

#: so many elements are combined one by one, which native code does in registers
_FEW = 32
_truth = converted(bool)


def is_flat(x: Any) -> bool:
    """Whether ``x`` is a NumPy array of numbers with one dimension."""
    is_array = type(x) is TracedArray and not x.scalar and x.ndim == 1
    return is_array and isinstance(x.dtype, np.dtype) and x.dtype.kind in "biufc"


def is_long(x: Any, kinds: str, dims: int = 1) -> bool:
    """Whether ``x`` is a NumPy array of these kinds of elements, with at most ``dims`` dimensions, that Python would go through
    at length. Of a length that varies, one element is enough.
    """
    if type(x) is not TracedArray or x.scalar or not 1 <= x.ndim <= dims:
        return False
    dtype = x.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in kinds or dtype == np.float16:
        return False
    n = x.shape_[0]
    if isinstance(n, NumberProxy):
        number: Any = TracedNumber(n)
        return bool(number > 0)
    return bool(n > _FEW)


def total(x: Any, start: Any = 0) -> Any:
    """``sum(x, start)``: the elements from first to last, after a number. An integer 0 makes integers of bools, and 0.0 of -0.0. Any other
    number may decide the dtype of all sums.
    """
    call = active.current().numpy_function
    if type(start) is int and start == 0:
        dtype = np.dtype(int) if x.dtype == bool else x.dtype
        return 0 + call(np.cumsum, (x,), {"axis": 0, "dtype": dtype})[-1]
    first = start + x[0]
    items = call(np.concatenate, ((first[None], x[1:]),), {})
    return call(np.cumsum, (items,), {"axis": 0, "dtype": first.dtype})[-1]


def largest(x: Any, comparison: str) -> Any:
    """``max(x)`` or ``min(x)``: the first of equals. Every comparison with NaN is false, so that the first element stays if it
    is NaN, and no other NaN is taken.
    """
    call = active.current().numpy_function
    position = np.argmax if comparison == "gt" else np.argmin
    if x.dtype.kind != "f":
        return x[call(position, (x,), {})]
    lowest = -np.inf if comparison == "gt" else np.inf
    found = call(position, (call(np.where, (call(np.isnan, (x,), {}), x.dtype.type(lowest), x), {}),), {})
    return x[call(np.where, (call(np.isnan, (x[0],), {}), 0, found), {})]


def truth(x: Any, function: Any) -> Any:
    """``any(x)`` or ``all(x)``, by NumPy's function of that name."""
    return _truth(active.current().numpy_function(function, (x,), {}))
