"""Long lists of arrays of different lengths, such as the frames of a recording: they are foreign, since a program with each array as an
input would have guards on each, and hold for the lengths of one call.

A program may ask how long the list is, and read items at places that it knows. Python runs what does more with it, such as a loop over
the list, whose body is compiled for one array of any length.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import Source
from tnp.capture.objects.foreign import Foreign, real_value, source_of

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["LeftList", "is_uneven", "length_of"]

#: lists of fewer arrays are inputs, array by array
LONG = 64
#: lists of arrays of fewer lengths are, too: they may be the parameters of a model
LENGTHS = 3

_SHAPE = attrgetter("shape")


def is_uneven(items: list[Any]) -> bool:
    """Whether a list is long, and of arrays that differ in their first dimension alone."""
    if len(items) < LONG or type(items[0]) is not np.ndarray or set(map(type, items)) != {np.ndarray}:
        return False
    shapes = set(map(_SHAPE, items))
    return len(shapes) >= LENGTHS and () not in shapes and len({shape[1:] for shape in shapes}) == 1


class LeftList:
    """Reads a list that is foreign for a program, which ``inputs`` are the inputs of."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._length: Any = None
        self._places: set[int] = set()

    def item(self, of: Foreign, key: Any) -> Any:
        """``items[key]``."""
        items, source = real_value(of), source_of(of)
        if type(key) is not int or not -len(items) <= key < len(items):
            return NotImplemented
        self._places.add(key)
        if len(self._places) > LONG:  # a loop that is written out
            return NotImplemented
        least = key + 1 if key >= 0 else -key
        self._inputs.prologue.guard(f"len({source.expression}) >= {least}", f"{source.description} has {least} or more")
        return self._inputs.lift(items[key], source.item(key))

    def length(self, of: Foreign) -> Any:
        """``len(items)``, a number of the program."""
        if self._length is None:
            source = source_of(of)
            counted = Source(f"len({source.expression})", f"the length of {source.description}")
            self._length = self._inputs.lift_number(len(real_value(of)), counted)
        return self._length

    def truth(self, of: Foreign) -> Any:
        """``bool(items)``."""
        source = source_of(of)
        self._inputs.prologue.guard(f"len({source.expression}) > 0", f"{source.description} has some")
        return True

    def iterate(self, of: Foreign, *args: Any) -> Any:
        """``iter(items)``: Python iterates over them."""
        return NotImplemented

    contains = attribute = iterate


def length_of(x: Any) -> Any:
    """How long a list is that is foreign; ``None`` for anything else."""
    reader = object.__getattribute__(x, "_tnp_reader") if type(x) is Foreign else None
    return reader.length(x) if type(reader) is LeftList else None
