"""NumPy functions that query dtypes and memory only, and ``np.require``: evaluated while tracing, from the metadata of traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture.libraries.numpy.requirements import require
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager, NeedsValue

__all__ = ["ANSWERS", "BY_KIND", "answer_by_kind"]


def _dtype_or_number(x: Any) -> Any:
    """A traced value for promotion: an array's dtype, a number of that type."""
    if type(x) is TracedEither:
        x = x.settled()
    if type(x) is TracedArray:
        return x.dtype
    return x.proxy.python_type(1) if type(x) is TracedNumber else x


def _empty(x: Any) -> Any:
    return np.empty(0, x.dtype) if type(x) is TracedArray else np.asarray(_dtype_or_number(x))


def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    if type(to) is TracedArray:
        raise TypeError("Cannot construct a dtype from an array")
    return np.can_cast(_dtype_or_number(from_), _dtype_or_number(to), casting)


def _common_type(*arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, x.dtype) if type(x) is TracedArray else _dtype_or_number(x) for x in arrays))


def _min_scalar_type(a: Any) -> Any:
    if type(a) is TracedArray and a.ndim:
        return a.dtype
    raise NeedsValue("np.min_scalar_type of a number")


def _is_scalar(element: Any) -> bool:
    if type(element) is TracedArray:
        return element.scalar
    return type(element) in (TracedNumber, TracedEither) or np.isscalar(element)


def _is_iterable(y: Any) -> bool:
    if type(y) is TracedArray:
        return y.ndim > 0
    return type(y) not in (TracedNumber, TracedEither) and np.iterable(y)


def answer_by_kind(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy's gives that asks what kind of value it is given: Python's numbers, and containers of them, keep their
    values to themselves. ``NotImplemented`` for other functions."""
    asks = BY_KIND.get(f)
    return asks(*args, **kwargs) if asks is not None and is_traced((*args, *kwargs.values())) else NotImplemented


BY_KIND: dict[Any, Callable[..., Any]] = {np.isscalar: _is_scalar, np.iterable: _is_iterable}


def _share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    if type(a) is TracedArray and type(b) is TracedArray:
        if a.scalar or b.scalar:
            return False  # NumPy makes an array of a scalar, a new one each time
        x, y = a.storage, b.storage
        if x is y and (a.path == b.path or not a.path or not b.path) and a.size and b.size:
            return True
        unrelated = x is not y and not x.maybe_shared and not y.maybe_shared
        if unrelated and (x.origin is None or y.origin is None):
            return False
    raise NeedsEager("whether the arrays share memory is known only when the program runs")


#: by function: its result for arguments that include traced values
ANSWERS: dict[Any, Callable[..., Any]] = {
    np.can_cast: _can_cast,
    np.common_type: _common_type,
    np.iscomplexobj: lambda x: np.iscomplexobj(_empty(x)),
    np.isrealobj: lambda x: np.isrealobj(_empty(x)),
    np.may_share_memory: _share_memory,
    np.min_scalar_type: _min_scalar_type,
    np.require: require,
    np.result_type: lambda *operands: np.result_type(*map(_dtype_or_number, operands)),
    np.shares_memory: _share_memory,
}
