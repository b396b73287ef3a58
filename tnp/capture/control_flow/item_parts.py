"""The items of a list as rows of arrays: one array, or one for each part of items that are tuples or lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.appended_lists import is_number, number_type, type_of, value_of
from tnp.capture.libraries.numpy.list_of_rows import Rows, array_of_rows
from tnp.capture.objects.row_list import ListStandIn, RowOfNumbers, RowOfScalars, is_repeated
from tnp.capture.speculation.regions import ListUse
from tnp.capture.tracing.optional_values import settled_if_known
from tnp.capture.tracing.scalar_kind import Kinds, TracedEither, either, kinds_of_both
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import symbols
from tnp.core.proxies import TensorProxy

__all__ = [
    "ListsOfRows",
    "Part",
    "RowsOfParts",
    "appended_memory",
    "kind_of_item",
    "parts_of_item",
    "room_for",
]


#: bytes allocated for a list whose number of items has no bound, and the most that is allocated for one
ROOM, MOST_ROOM = 1 << 22, 1 << 28


@dataclass(frozen=True)
class Part:
    """A part of each item: numbers, scalars, or arrays of the kind of ``example``. With ``kinds``, each is a number or a scalar, and
    ``flags`` tells which. ``rows`` is the array that stores them; it is allocated when the list begins to be counted."""

    example: Any
    kinds: Kinds | None = None
    rows: TracedArray | None = None
    flags: TracedArray | None = None

    @property
    def dims(self) -> tuple[Any, ...]:
        return self.example.shape_ if type(self.example) is TracedArray else ()

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(n if type(n) is int else TracedNumber(n) for n in self.dims)

    @property
    def dtype(self) -> np.dtype[Any]:
        if self.kinds is not None:
            return np.dtype(self.kinds[0])
        x = self.example
        return x.dtype if type(x) is TracedArray else np.dtype(number_type(x))

    @property
    def is_array(self) -> bool:
        return type(self.example) is TracedArray and not self.example.scalar

    @property
    def are_numbers(self) -> bool:
        return self.kinds is None and is_number(self.example)

    @property
    def width(self) -> Any:
        """The bytes of one, in this call."""
        return math.prod(symbols.value_of(n) or 1 for n in self.dims) * self.dtype.itemsize

    def taking(self, x: Any) -> Part | None:
        """The part as it is if ``x`` is one of its values, too; ``None`` if there is none."""
        if self.kinds is not None:
            return self if _is_one_of(x, self.kinds) else None
        value = None if type(x) is TracedEither else value_of([x], views=True)
        if value is not None and type_of(value) == type_of(self.example):
            return self
        kinds = None if self.is_array or type(x) is tuple else kinds_of_both(self.example, x)
        if kinds is None or not (_is_one_of(x, kinds) and _is_one_of(self.example, kinds)):
            return None
        return replace(self, kinds=kinds)

    def allocated(self, room: Any, before: Part | None, count: Any) -> Part:
        """The part with memory for so many, and ``count`` of those that it had ``before``."""
        call = active.current().numpy_function
        made = replace(self, rows=call(np.empty, ((room, *self.shape), self.dtype), {}))
        if self.kinds is not None:
            made = replace(made, flags=call(np.empty, ((room,), np.dtype(bool)), {}))
        if before is not None and before.rows is not None:
            assert made.rows is not None
            made.rows[:count] = before.rows[:count]
            if made.flags is not None:
                made.flags[:count] = not before.are_numbers if before.flags is None else before.flags[:count]
        return made

    def repeated(self, values: list[Any], times: Any) -> Part:
        """The part with memory that has these values so many times."""
        call = active.current().numpy_function
        made = self.allocated(len(values), None, 0)
        for i, x in enumerate(values):
            made.store(i, x)
        at = call(np.arange, (times * len(values),), {}) % len(values)
        assert made.rows is not None
        flags = None if made.flags is None else made.flags[at]
        return replace(made, rows=made.rows[at], flags=flags)

    def store_all(self, at: Any, count: Any, other: Part) -> None:
        """Stores the first ``count`` of another part from a position on."""
        assert self.rows is not None
        self.rows[at : at + count] = other.first(count)
        if self.flags is not None:
            is_scalar = not other.are_numbers if other.flags is None else other.flags[:count]
            self.flags[at : at + count] = is_scalar

    def store(self, at: Any, x: Any) -> None:
        assert self.rows is not None
        if self.kinds is None:
            self.rows[at] = x
            return
        found = either(x, self.kinds)
        assert found is not None and self.flags is not None
        self.rows[at], self.flags[at] = found.scalar, found.flag

    def item(self, at: Any, description: str) -> Any:
        """The one at a position in bounds."""
        assert self.rows is not None
        x = self.rows[at]
        if self.kinds is not None:
            assert self.flags is not None
            return TracedEither(x, self.flags[at].item(), self.kinds[1])
        if self.are_numbers:
            return x.item()
        if self.is_array:
            x = x.copy()
            x.storage.writable, x.storage.listed = False, description
        return x

    def first(self, count: Any) -> TracedArray:
        """The first ``count`` as an array."""
        assert self.rows is not None
        made: TracedArray = self.rows[:count]
        return made

    def cut(self, count: Any, key: Any) -> Part:
        """The part of a list of those at ``key``, a slice or an array of indices, of the first ``count``."""
        rows = self.first(count)[key].copy()
        assert self.flags is None or self.kinds is not None
        return replace(self, rows=rows, flags=None if self.flags is None else self.flags[:count][key].copy())

    def reverse(self, count: Any) -> None:
        """Puts the first ``count`` in the opposite order."""
        for array in (self.rows, self.flags):
            if array is not None:
                array[:count] = array[:count][::-1].copy()

    def output(self, count: Any) -> Any:
        """What the program returns for the first ``count``."""
        rows = self.first(count).__tnp_value__()
        if self.kinds is None:
            return Rows(rows, self.are_numbers)
        assert self.flags is not None
        return MixedRows(rows, self.flags[:count].__tnp_value__(), self.kinds[1])


def _is_one_of(x: Any, kinds: Kinds) -> bool:
    """Whether a value is a scalar or a number of these kinds, and of no other that is equal to one: a 0 is no 0.0."""
    if is_number(x) and number_type(x) is not kinds[1]:
        return False
    return either(x, kinds) is not None


def kind_of_item(item: Any) -> type | None:
    """How an item consists of parts: as a tuple, a list, or a list that is the row of an array; ``None`` for one without parts."""
    if type(item) is tuple:
        return tuple
    if isinstance(item, ListStandIn):
        return item.kind_as_row()
    if type(item) is not list:
        return None
    first = item[0] if item else None
    rows = array_of_rows(item, least=2) if item else None
    if rows is not None and rows.ndim == 1 and rows.dtype.kind != "b":
        return RowOfNumbers if type(first) is TracedNumber else RowOfScalars
    if is_number(first) and all(is_number(x) and number_type(x) is number_type(first) for x in item):
        fit = type(first) is not bool and not any(type(x) is int and abs(x) >> 63 for x in item)
        return RowOfNumbers if fit else list
    is_scalar = type(first) is TracedArray and first.scalar and value_of([first]) is not None
    alike = is_scalar and all(type(x) is TracedArray and x.scalar and type_of(x) == type_of(first) for x in item)
    return RowOfScalars if alike else list


def parts_of_item(item: Any) -> tuple[type | None, tuple[Any, ...]]:
    """The kind of an item that has parts, and these: of a list that is a row, the array."""
    kind = kind_of_item(item)
    if kind is None:
        return None, (settled_if_known(item),)
    if kind is RowOfNumbers or kind is RowOfScalars:
        return kind, (_row_of(item),)
    return kind, tuple(map(settled_if_known, item))


def _row_of(items: Any) -> TracedArray:
    """A new array of the numbers or scalars in a list."""
    made: TracedArray
    if isinstance(items, ListStandIn):
        made = items.as_row()
        return made
    call, rows = active.current().numpy_function, array_of_rows(items, least=2)
    if rows is not None:
        made = rows.copy()
    elif is_repeated(items):
        made = call(np.full, ((len(items),), items[0]), {})
    else:
        made = call(np.array, (list(items),), {})
    return made


def appended_memory(values: tuple[Any, ...]) -> tuple[tuple[tuple[Storage, int], ...], bool] | None:
    """The storages of the arrays in an item, with their versions, and whether other arrays share them: the list stores copies. ``None`` if it
    may not."""
    arrays = [x for x in values if type(x) is TracedArray and not x.scalar]
    made_after = max((r.serial for r in active.current().regions if r.is_loop), default=-1)
    if any(type(x.storage) is not Storage for x in arrays):
        return None
    are_shared = any(x.path or x.storage.origin is not None or x.storage.serial < made_after for x in arrays)
    return tuple((x.storage, x.storage.version) for x in arrays), are_shared


def room_for(uses: Sequence[ListUse], width: int, there: Any) -> tuple[Any, bool]:
    """The number of items, of ``width`` bytes each, to allocate memory for, and whether it may be too small. The list has ``there`` items."""
    if any(n is None for use in uses for n in use.times):
        return ROOM // width, True
    total = there
    for use in uses:
        product = math.prod(n for n in use.times if type(n) is not int or n != 1)
        total = product if type(total) is int and total == 0 else total + product
    if type(total) is int and total * width > MOST_ROOM:
        return ROOM // width, True
    return total, False


class MixedRows:
    """A list that the program returns. ``flags`` tells which items are scalars; the others are numbers of ``python_type``."""

    __slots__ = ("flags", "python_type", "rows")

    def __init__(self, rows: TensorProxy, flags: TensorProxy, python_type: type) -> None:
        self.rows, self.flags, self.python_type = rows, flags, python_type

    def __tnp_children__(self) -> list[Any]:
        return [self.rows, self.flags]

    def __tnp_rebuild__(self, children: list[Any]) -> MixedRows:
        return MixedRows(children[0], children[1], self.python_type)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_list_of_mixed"] = _list_of_mixed
        parts = ", ".join(literal(x, context) for x in (self.rows, self.flags))
        return f"_list_of_mixed({parts}, {self.python_type.__name__})"


def _list_of_mixed(rows: Any, flags: Any, python_type: type) -> list[Any]:
    return [x if is_scalar else python_type(x) for x, is_scalar in zip(rows, flags)]


class RowsOfParts:
    """A list that the program returns, of tuples or lists whose parts are the rows of arrays."""

    __slots__ = ("columns", "together")

    def __init__(self, columns: list[Any], together: type) -> None:
        self.columns, self.together = columns, together

    def __tnp_children__(self) -> list[Any]:
        return list(self.columns)

    def __tnp_rebuild__(self, children: list[Any]) -> RowsOfParts:
        return RowsOfParts(children, self.together)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        columns = ", ".join(literal(c, context) for c in self.columns)
        return f"[*map({self.together.__name__}, zip({columns}))]"


class ListsOfRows(Rows):
    """A list that the program returns, of lists: the rows of an array, as Python's numbers or as NumPy's scalars."""

    __slots__ = ()

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        rows = literal(self.rows, context)
        return f"{rows}.tolist()" if self.are_numbers else f"[*map(list, {rows})]"
