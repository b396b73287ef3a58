"""``a.flags`` of arrays whose place in memory is known: those of the caller, and arrays of one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager

__all__ = ["TracedFlags", "flags_of"]

_CONTIGUOUS = frozenset(("C_CONTIGUOUS", "CONTIGUOUS", "C", "F_CONTIGUOUS", "FORTRAN", "F"))


class TracedFlags:
    """The flags of an array, each guarded when the program reads it. ``real`` are those of the caller's array, which ``expression``
    fetches; without them both orders are ``is_contiguous``, and nothing else is known."""

    __slots__ = ("_expression", "_is_contiguous", "_real")
    _real: Any
    _expression: str
    _is_contiguous: bool

    def __init__(self, real: Any, expression: str, is_contiguous: bool = False) -> None:
        object.__setattr__(self, "_real", real)
        object.__setattr__(self, "_expression", expression)
        object.__setattr__(self, "_is_contiguous", is_contiguous)

    def __getitem__(self, key: str) -> bool:
        if self._real is None:
            if key not in _CONTIGUOUS:
                raise NeedsEager("it reads a flag of an array that the program makes")
            return self._is_contiguous
        value = self._real[key]
        active.current().inputs.prologue.guard(
            f"{self._expression}[{key!r}] is {value}", f"{self._expression}[{key!r}] is {value}"
        )
        return bool(value)

    def __getattr__(self, name: str) -> bool:
        if name.startswith("__") or not hasattr(np.empty(0).flags, name):
            raise AttributeError(f"'numpy.flagsobj' object has no attribute {name!r}")
        if name == "num":
            raise NeedsEager("it reads all flags of an array")
        return self[name.upper()]

    def __setattr__(self, name: str, value: Any) -> None:
        raise NeedsEager("it sets a flag of an array")

    def __setitem__(self, name: str, value: Any) -> None:
        raise NeedsEager("it sets a flag of an array")


def flags_of(a: TracedArray) -> TracedFlags | None:
    """The flags of an array; ``None`` if they are not known."""
    if a.scalar:
        return None
    if a.storage.origin is not None and not a.path:
        array, expression = active.current().inputs.memory_of(a.storage.origin.name)
        return TracedFlags(array.flags, f"{expression}.flags") if type(array) is np.ndarray else None
    if a.ndim != 1 or a.strides_ is None:
        return None
    (length,) = a.shape_
    return TracedFlags(None, "", (type(length) is int and length <= 1) or a.strides_ == (1,))
