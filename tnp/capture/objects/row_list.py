"""Stand-ins for lists whose items the program does not have one by one.

A :class:`RowList` stands for a list of the caller's, of arrays of one kind, that is long or whose length varies: the program reads the
rows of one array that has them all. The prologue makes that array at each call. Loops over the list, its items, slices and length,
and functions that take it for an array are compiled so. Any other use is traced again, with each array as an input, as is a program
that writes to an array, which may be one of the list. A :class:`NumberList` is the same for a list of numbers or scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.prologue import same_dtype
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.joined_rows import joined_rows
from tnp.capture.objects.equal_items import contains, count_of, index_of
from tnp.capture.objects.growing_list import refuse_uses
from tnp.capture.tracing.traced_values import TracedNumber

__all__ = [
    "ListStandIn",
    "NumberList",
    "RepeatedList",
    "RowList",
    "RowOfNumbers",
    "RowOfScalars",
    "is_apart",
    "is_repeated",
    "rows_of",
]


class ListStandIn(list[Any]):
    """Stands for a list, called ``description``. Uses that a class does not define raise :class:`ReadsVarying`."""

    def __init__(self, description: str) -> None:
        super().__init__()
        self.description = description

    def length(self) -> Any:
        """How many items the list has."""
        raise ReadsVarying(self.description)

    @property
    def is_by_position(self) -> bool:
        """Whether loops take its items by position; if not, they iterate over it as over any list."""
        return True

    def by_position(self) -> Callable[[Any], Any]:
        """A function from positions to items, for loops over the list."""
        raise ReadsVarying(self.description)

    def check_length(self, length: Any) -> None:
        """Raises :class:`ReadsVarying` if :meth:`length` does not give ``length`` any more."""

    def check_written_out(self) -> None:
        """Called before a loop over the list is written out. Raises :class:`ReadsVarying` where the loop may append to it."""

    def contains(self, value: Any) -> Any:
        """Whether an item equals ``value``."""
        raise ReadsVarying(self.description)

    def is_filled(self) -> Any:
        """Whether the list has items."""
        raise ReadsVarying(self.description)

    def as_array(self, *, filled: bool = False, typed: bool = False) -> Any:
        """The array that NumPy makes of the list; with ``filled``, the call runs eagerly if the list is empty, and with ``typed`` it does
        not matter which dtype an empty one has."""
        raise ReadsVarying(self.description)

    @property
    def are_integers(self) -> bool:
        """Whether all items are Python's integers, of which the program counts how many there are."""
        return False

    def as_subscript(self) -> Any:
        """The array of indices that NumPy takes it for."""
        raise ReadsVarying(self.description)

    def joined(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What ``function``, which joins arrays, makes of the items; ``args`` are those behind the list."""
        raise ReadsVarying(self.description)

    def as_list(self) -> list[Any] | None:
        """The items, where the program has them one by one."""
        return None

    def check_told_apart(self, other: Any) -> None:
        """Raises :class:`ReadsVarying` where it cannot be told whether another stand-in, which is not this one, stands for the same list."""

    def kind_as_row(self) -> type:
        """How it is stored as the item of another list."""
        raise ReadsVarying(self.description)

    def as_row(self) -> Any:
        """A new array of its items, which are numbers or scalars."""
        raise ReadsVarying(self.description)

    def look(self) -> list[Any]:
        """Objects that are others once it was changed."""
        return []

    def as_item(self, x: Any) -> Any:
        """An element of :meth:`as_array`, or a result of one, as what an item is."""
        raise ReadsVarying(self.description)

    def as_result(self, output: Callable[[Any], Any]) -> Any:
        """What the program returns for the list; ``output`` gives that of an item."""
        raise ReadsVarying(self.description)

    def held(self) -> list[Any]:
        """The objects in the list."""
        return []


class RowOfNumbers(list[Any]):
    """The kind of items that are lists of Python's numbers of one type, as many in each: rows of one array."""


class RowOfScalars(list[Any]):
    """The kind of items that are lists of scalars of one dtype, as many in each: rows of one array."""


class RowList(ListStandIn):
    """``rows`` is the traced array of the arrays of the list."""

    def __init__(self, description: str, rows: Any) -> None:
        super().__init__(description)
        self.rows = rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return RowList(self.description, self.rows[key])
        if isinstance(key, int) and not isinstance(key, bool):
            return self.rows[key]
        raise ReadsVarying(self.description)

    def length(self) -> Any:
        return self.rows.shape[0]

    def by_position(self) -> Callable[[Any], Any]:
        return lambda i: self.rows[i]

    def given_to(self, function: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What ``function`` gives of the list and other arguments, made by ``call(function, args, kwargs)`` of the rows."""
        others = [*args, *kwargs.values()]
        if function in _OF_AN_ARRAY and not any(isinstance(x, (list, tuple)) for x in others):
            return call(function, (self.rows, *args), kwargs)
        made = joined_rows(function, self.rows, args, kwargs)
        if made is None:
            raise ReadsVarying(self.description)
        return made


class NumberList(ListStandIn):
    """``numbers`` is the traced array of the numbers of the list, which has them as Python's, or as NumPy's scalars."""

    def __init__(self, description: str, numbers: Any, *, are_scalars: bool) -> None:
        super().__init__(description)
        self.numbers, self.are_scalars = numbers, are_scalars

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return NumberList(self.description, self.numbers[key], are_scalars=self.are_scalars)
        if isinstance(key, bool):
            raise ReadsVarying(self.description)
        return self.as_item(self.numbers[key])

    index, count, contains = index_of, count_of, contains

    def __add__(self, other: Any) -> Any:
        if hasattr(type(other), "__radd__"):  # an array adds the numbers to its own
            return NotImplemented
        raise ReadsVarying(self.description)

    def copy(self) -> Any:
        raise ReadsVarying(self.description)  # the program may change it

    def length(self) -> Any:
        return self.numbers.shape[0]

    def by_position(self) -> Callable[[Any], Any]:
        return lambda i: self.as_item(self.numbers[i])

    def is_filled(self) -> Any:
        return self.length() > 0

    def as_array(self, *, filled: bool = False, typed: bool = False) -> Any:
        if filled and not isinstance(self.length(), int):
            raise ReadsVarying(self.description)
        return self.numbers.copy()

    def as_subscript(self) -> Any:
        return self.numbers.copy()

    def as_item(self, x: Any) -> Any:
        return x if self.are_scalars else x.item()


class RepeatedList(ListStandIn):
    """Stands for ``[item] * times``, of a size that varies from call to call. Where the program does more with it than to take items and
    to run over it, it is traced again, for that very size."""

    def __init__(self, description: str, item: Any, times: Any) -> None:
        super().__init__(description)
        self.item, self.times = item, times

    def length(self) -> Any:
        return self.times

    def by_position(self) -> Callable[[Any], Any]:
        return lambda i: self.item

    def held(self) -> list[Any]:
        return [self.item]

    def kind_as_row(self) -> type:
        kind = self.item.proxy.python_type if type(self.item) is TracedNumber else type(self.item)
        if kind not in (int, float, complex):
            raise ReadsVarying(self.description)
        return RowOfNumbers

    def as_row(self) -> Any:
        return active.current().numpy_function(np.full, ((self.times,), self.item), {})

    def __radd__(self, other: Any) -> Any:
        """``other + self``: a list that the program made counts its items then."""
        if type(other) is list:
            active.current().counts_items_of(other)
        raise ReadsVarying(self.description)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int and -self.times <= key < self.times:
            return self.item
        raise ReadsVarying(self.description)


#: functions that give a new array or a number, and take a list of arrays for one array
_OF_AN_ARRAY = (np.array, np.sum, np.mean, np.max, np.min, np.std, np.var, np.prod)

#: bytes of the arrays of a list in all: to copy what no cache holds takes longer than most loops over it
MOST_BYTES = 1 << 20

_SHAPE, _STRIDES, _DTYPE, _BASE = map(attrgetter, ("shape", "strides", "dtype", "base"))

refuse_uses(RowList)
refuse_uses(NumberList)
refuse_uses(RepeatedList)


def is_repeated(items: Sequence[Any]) -> bool:
    """Whether a sequence has one object again and again."""
    return len(items) > 1 and all(map(is_, items, repeat(items[0])))


def _are_alike(arrays: list[Any]) -> bool:
    """Whether all are arrays of one shape, dtype and layout. The list may be long."""
    if set(map(type, arrays)) != {np.ndarray}:
        return False
    dtypes = {id(d): d for d in map(_DTYPE, arrays)}
    is_one_layout = len(set(map(_SHAPE, arrays))) == 1 == len(set(map(_STRIDES, arrays)))
    return is_one_layout and all(same_dtype(d, arrays[0].dtype) for d in dtypes.values())


def is_apart(arrays: list[Any], a: Any) -> bool:
    """Whether an array surely shares no memory with any of a list."""
    root = a if getattr(a, "base", None) is None else a.base
    return type(root) is np.ndarray and id(root) not in {*map(id, arrays), *map(id, map(_BASE, arrays))}


def rows_of(arrays: Any) -> Any:
    """The arrays of a list as the rows of one; ``None`` unless they are two or more of one kind, in C order, and small."""
    if type(arrays) is not list or len(arrays) < 2:
        return None
    first = arrays[0]
    if type(first) is not np.ndarray or not first.ndim or not 0 < first.nbytes * len(arrays) <= MOST_BYTES:
        return None
    if not first.flags.c_contiguous:
        return None
    if is_repeated(arrays):
        made = np.repeat(first[np.newaxis], len(arrays), axis=0)
    elif _are_alike(arrays):
        made = np.concatenate(arrays).reshape(len(arrays), *first.shape)
    else:
        return None
    made.flags.writeable = False
    return made
