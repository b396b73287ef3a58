"""Long lists of arrays of different lengths, such as the frames of a recording. A program with each array as an input would have guards
on each, and hold for the lengths of one call.

An :class:`UnevenList` stands for a list whose arrays differ in their first dimension alone. The prologue makes one array of all their
rows, and one of the offsets at which each begins (:mod:`tnp.runtime.uneven_lists`). Items are slices, whose lengths loops read of the
offsets. Any other use is traced again, and so is a program that may write to one of the arrays, or returns one: then the list is
foreign (:class:`LeftList`). The program may ask how long it is, and read items at places that it knows. Python runs what does more
with it, such as a loop, whose body is compiled for one array of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import Source
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.growing_list import refuse_uses
from tnp.capture.objects.row_list import ListStandIn

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["LeftList", "UnevenList", "differ_in_length", "is_uneven", "joined_all", "length_of"]

#: lists of fewer arrays are inputs, array by array
LONG = 64
#: lists of arrays of fewer lengths are, too: they may be the parameters of a model
LENGTHS = 3

_SHAPE = attrgetter("shape")


def is_uneven(items: list[Any]) -> bool:
    """Whether a list is long, and of arrays that differ in their first dimension alone."""
    return len(items) >= LONG and differ_in_length(items)


def differ_in_length(items: list[Any]) -> bool:
    """Whether a list is of arrays that differ in their first dimension alone, of several lengths."""
    if len(items) < LENGTHS or type(items[0]) is not np.ndarray or set(map(type, items)) != {np.ndarray}:
        return False
    shapes = set(map(_SHAPE, items))
    return len(shapes) >= LENGTHS and () not in shapes and len({shape[1:] for shape in shapes}) == 1


class UnevenList(ListStandIn):
    """Array ``i`` is ``rows[offsets[i]:offsets[i + 1]]``, of traced arrays. The prologue makes both from the list that ``source`` fetches,
    by the name ``made``."""

    def __init__(self, description: str, rows: Any, offsets: Any, source: Source, made: str) -> None:
        super().__init__(description)
        self.rows, self.offsets = rows, offsets
        self.source, self.made = source, made
        #: whether there are rows of other arrays, too
        self.is_cut = False

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._cut(key)
        if not isinstance(key, int) or isinstance(key, bool):
            raise ReadsVarying(self.description)
        if type(key) is int and key >= 0 and not key < self.length():
            raise IndexError("list index out of range")
        lengths = self.offsets[1:]
        return self._between(self.offsets[:-1][key], lengths[key])

    def _cut(self, key: slice) -> UnevenList:
        """The items at a slice, which are some or more, one behind the other."""
        n, ends = self.length(), (key.start, key.stop)
        if key.step not in (None, 1) or not all(x is None or type(x) is int for x in ends):
            raise ReadsVarying(self.description)
        first, last = (d if x is None else x if x >= 0 else n + x for x, d in zip(ends, (0, n)))
        if not (0 <= first < last <= n):
            raise ReadsVarying(self.description)
        made = UnevenList(self.description, self.rows, self.offsets[first : last + 1], self.source, self.made)
        made.is_cut = True
        return made

    def _between(self, begin: Any, end: Any) -> Any:
        return self.rows[begin.item() : end.item()]

    def length(self) -> Any:
        return self.offsets.shape[0] - 1

    def is_filled(self) -> Any:
        return self.length() > 0

    def by_position(self) -> Callable[[Any], Any]:
        return lambda i: self._between(self.offsets[i], self.offsets[i + 1])

    def check_written_out(self) -> None:
        """Python runs a loop that is no operation of the program."""
        raise ReadsVarying(self.description)

    def joined(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        rows = self._between(self.offsets[0], self.offsets[-1]) if self.is_cut else self.rows
        made = joined_all(function, rows, args, kwargs)
        if made is None:
            raise ReadsVarying(self.description)
        return made


def joined_all(function: Any, rows: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a function that joins arrays, for arrays whose rows are ``rows``; ``None`` for another function."""
    axis = args[0] if len(args) == 1 and not kwargs else kwargs.get("axis", 0) if not args and len(kwargs) < 2 else None
    if function is np.concatenate and type(axis) is int and axis == 0 and not kwargs.keys() - {"axis"}:
        return rows.copy()
    is_along_first = (function is np.hstack and rows.ndim == 1) or (function is np.vstack and rows.ndim > 1)
    return rows.copy() if is_along_first and not args and not kwargs else None


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


refuse_uses(UnevenList)
