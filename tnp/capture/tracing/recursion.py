"""Functions that call themselves while they are traced."""

from __future__ import annotations

import types
from typing import Any

from tnp.core.errors import NeedsValue

__all__ = ["call_in_region"]

#: calls of one function in one another, in branches and loops that are tried
_DEEPEST = 4


def call_in_region(tracer: Any, f: types.FunctionType, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function with hooks. One that calls itself where a value decides would do so for ever."""
    calls = tracer.calls_in_regions
    if calls.count(f.__code__) >= _DEEPEST:
        raise NeedsValue(
            f"{f.__name__} calls itself, as often as values say, which are known only when the program runs"
        )
    calls.append(f.__code__)
    try:
        return made(*args, **kwargs)
    finally:
        calls.pop()
