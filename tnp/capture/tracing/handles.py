"""Tests for traced values, and for containers that hold some."""

from __future__ import annotations

from typing import Any

from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject

__all__ = ["is_traced"]

_HANDLES = (TracedArray, TracedNumber, TracedObject, TracedEither)


def is_traced(x: Any) -> bool:
    """Whether ``x`` is a traced value, or a list, tuple, dict or slice that holds one."""
    kind = type(x)
    if kind in _HANDLES:
        return True
    if kind in (list, tuple) or isinstance(x, (list, tuple)):
        return any(is_traced(y) for y in x)
    if kind is dict:
        return any(is_traced(y) for y in x.values())
    if kind is slice:
        return is_traced((x.start, x.stop, x.step))
    return False
