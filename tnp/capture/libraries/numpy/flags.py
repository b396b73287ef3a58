"""``a.flags`` of arrays whose place in memory is known: those of the caller, and arrays of one dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.output_aliasing import freeze, is_sealed
from tnp.capture.tracing.strides import contiguity
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import AmbiguousView, NeedsEager

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["TracedFlags", "flags_of", "set_writeable"]

_CONTIGUOUS = frozenset(("C_CONTIGUOUS", "CONTIGUOUS", "C", "F_CONTIGUOUS", "FORTRAN", "F"))
_ROW_MAJOR = frozenset(("C_CONTIGUOUS", "CONTIGUOUS", "C"))
_WRITEABLE = frozenset(("WRITEABLE", "W"))


class TracedFlags:
    """The flags of an array, each guarded when the program reads it. ``real`` are those of the caller's array, which ``expression``
    fetches; without them the strides tell the orders, if they are known, and nothing else is known."""

    __slots__ = ("_array", "_expression", "_real")
    _array: TracedArray
    _real: Any
    _expression: str

    def __init__(self, array: TracedArray, real: Any, expression: str) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_real", real)
        object.__setattr__(self, "_expression", expression)

    def __getitem__(self, key: str) -> bool:
        if self._real is None:
            if key in _CONTIGUOUS and (known := _is_contiguous(self._array, key)) is not None:
                return known
            if key in _WRITEABLE and is_sealed(self._array):
                return False
            of_layout = key in _CONTIGUOUS and self._array.ndim > 1
            raise (AmbiguousView if of_layout else NeedsEager)("it reads a flag of an array that the program makes")
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
        self[name.upper()] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in _WRITEABLE:
            raise NeedsEager("it sets a flag of an array")
        set_writeable(active.current(), self._array, value)


def _is_contiguous(a: TracedArray, key: str) -> bool | None:
    """Whether an array is contiguous in the order that ``key`` names; ``None`` if it may be either."""
    strides = a.strides_
    if strides is None:
        return None
    ways = 1 if key in _ROW_MAJOR else -1
    return contiguity(a.shape_[::ways], strides[::ways])


def set_writeable(tracer: Tracer, a: TracedArray, value: Any) -> None:
    """Makes an array that the program made read-only. ``True`` changes nothing where it is not."""
    is_its_own = a.storage.origin is None or tracer.inputs.value_of(a) is None
    if type(value) not in (bool, int) or not is_its_own or tracer.regions or type(a) is not TracedArray:
        raise NeedsEager("it sets a flag of an array")
    if not value:
        freeze(a)
    elif not a.storage.writable:
        raise NeedsEager("it makes an array writable again")


def flags_of(a: TracedArray) -> TracedFlags | None:
    """The flags of an array; ``None`` if they are not known."""
    if a.scalar:
        return None
    if a.storage.origin is not None and not a.path:
        array, expression = active.current().inputs.memory_of(a.storage.origin.name)
        return TracedFlags(a, array.flags, f"{expression}.flags") if type(array) is np.ndarray else None
    return TracedFlags(a, None, "") if a.storage.origin is None or a.strides_ is not None else None
