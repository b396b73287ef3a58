"""Lists whose lengths are known only at run time: loops append to them in branches, or a number of times that depends on values.

The items are the first rows of an array. Their count is a variable of loops and branches, as an attribute is. Once a loop was found to
append to a list so, the function is traced again, and the place that makes it makes a :class:`CountedList`; for uses that need the items
one by one, once more, with a list as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.item_parts import (
    ListsOfRows,
    Part,
    RowsOfParts,
    appended_memory,
    kind_of_item,
    parts_of_item,
    room_for,
)
from tnp.capture.control_flow.iterables import is_known
from tnp.capture.control_flow.list_lengths import ListLength
from tnp.capture.control_flow.lists_of_lists import ItemOfRows, is_changed, look
from tnp.capture.control_flow.names_of_lists import are_named, is_new
from tnp.capture.control_flow.uneven_items import UnevenPart, can_count, part_of
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.joined_rows import joined_rows
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.operations import scalar_of
from tnp.capture.objects.equal_items import contains, count_of, index_of
from tnp.capture.objects.growing_list import refuse_uses
from tnp.capture.objects.row_list import ListStandIn, RepeatedList, RowOfNumbers, RowOfScalars, is_repeated
from tnp.capture.objects.uneven_lists import joined_all
from tnp.capture.speculation.regions import ListUse
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber, serials
from tnp.core import intervals, prims
from tnp.core.prims.control_flow import START_OVER
from tnp.core.symbols import is_symbol
from tnp.core.views import Path

__all__ = ["CountedList"]

#: the least number of items that memory is allocated for
LEAST_ROOM = 16
#: rows that are never filled: an index of the next item is in bounds whatever the count is
SPARE = 1


class CountedList(ListStandIn):
    """Before a loop appends to it, it has its ``items``. From then on the rows of its ``parts`` have them, the first ``count``.

    It has many methods: those of a list.
    """

    def __init__(self, made_at: str, items: list[Any]) -> None:
        super().__init__(made_at)
        self.items = items
        self.serial = next(serials)
        self.filled: Any = 0
        #: a count, and the number that a loop has counted to so
        self.settled: tuple[Any, Any] = None, None
        self.parts: tuple[Part, ...] = ()
        #: the class of the items if they have parts
        self.together: type | None = None
        self._kind: type | None = None
        #: for how many items there is room; whether there may be more
        self.capacity: Any = 0
        self.may_overflow = False
        #: what the parts are to be that must hold other values, too
        self._wanted: tuple[Part, ...] = ()
        #: how many items it began with, at most, and how many operations that append to it there is room for
        self._base: Any = 0
        self._planned = 0
        #: whether items are parts of other arrays: of such a list NumPy may make an array, and nothing else is done with it
        self.has_views = False
        self._counter = ListLength(self)
        #: the lists that it begins with, which nobody may change, with what is in them
        self._given: list[tuple[list[Any], list[Any]]] = []
        #: whether some of these may have other names, which would not see that an item is changed
        self._may_have_names = False
        #: for its items at places that are known, if they are lists
        self._stand_ins: dict[int, ItemOfRows] = {}
        self._memory: Storage | None = None  # a stand-in for the memory of the items

    def begin(self) -> None:
        """Has rows from now on."""
        self._use(ListUse(self, (0,)), self.items[0])

    @property
    def is_counted(self) -> bool:
        return bool(self.parts)

    @property
    def are_rows(self) -> bool:
        """Whether its items are lists that are the rows of an array."""
        return self.together is RowOfNumbers or self.together is RowOfScalars

    def kind_as_row(self) -> type:
        if not self.is_counted:
            return kind_of_item(self.items) or list
        n = self.length()
        is_sized = type(n) is not TracedNumber or is_symbol(n.proxy)
        if not is_sized and is_known(n):
            self.filled, is_sized = operator.index(n), True
        if not is_sized or self.together is not None or self.parts[0].is_array or self.parts[0].kinds is not None:
            raise self._refusal()
        return RowOfNumbers if self.parts[0].are_numbers else RowOfScalars

    def as_row(self) -> Any:
        self._check()
        return self.parts[0].first(self.length()).copy() if self.is_counted else parts_of_item(self.items)[1][0]

    def look(self) -> list[Any]:
        storage = self.parts[0].rows.storage if self.parts and self.parts[0].rows is not None else None
        return [self.filled, *self.items, *(() if storage is None else (storage, storage.version))]

    @classmethod
    def of_rows(cls, made_at: str, example: Any, parts: tuple[Part, ...], count: Any) -> CountedList:
        """A new list of items like ``example``, which are the rows of ``parts``."""
        made = cls(made_at, [])
        made._example, made.together, made.parts = example, kind_of_item(example), parts
        made._kind = made.together
        made.filled = made.capacity = made._base = count
        assert parts[0].rows is not None
        made._memory = Storage(parts[0].rows.storage.value)
        return made

    # Room

    def state(self) -> Any:
        names = "filled parts together capacity may_overflow _base _planned _memory has_views settled _may_have_names".split()
        return {name: getattr(self, name) for name in names}, list(self.items), list(self._given)

    def restore(self, state: Any) -> None:
        values, self.items, self._given = state[0], list(state[1]), list(state[2])
        for name, value in values.items():
            setattr(self, name, value)

    def make_room(self, uses: Sequence[ListUse]) -> None:
        before, items = self.parts, self.items
        lists = [x for x in items if isinstance(x, list)]
        if lists:
            self.items = []
            is_named, self.items = are_named(lists), items
            if is_named:
                raise self._refusal()
        parts = self._wanted or before
        for x in items:
            parts = self._taking(x, parts)
        if not before:
            self._base = len(items)
        more, self._planned = uses[self._planned :], len(uses)
        is_same = bool(before) and all(p.kinds == q.kinds for p, q in zip(parts, before))
        if is_same and all(use.appends_nothing for use in more):
            return
        room, self.may_overflow = room_for(uses, max(p.width for p in parts), self._base)
        if type(room) is int and type(self.capacity) is int and not any(r.is_loop for r in active.current().regions):
            room = max(room, LEAST_ROOM, 2 * self.capacity if room > self.capacity else 0)  # there may be more to come
        is_enough = type(room) is int and type(self.capacity) is int and room <= self.capacity
        if is_same and is_enough:
            return
        pairs = zip(parts, before or (None,) * len(parts))
        self.parts = tuple(p.allocated(room + SPARE, q, self.filled) for p, q in pairs)
        self.capacity = room
        if not before:
            self.together = self._kind
            for i, x in enumerate(items[:1] if is_repeated(items) else items):
                self._store(i if not is_repeated(items) else slice(len(items)), x)
            self.filled, self.items = len(items), []
            self._given += [(x, look(x)) for x in lists]
            self._may_have_names = bool(lists)
            assert self.parts[0].rows is not None
            self._memory = Storage(self.parts[0].rows.storage.value)
            self._memory.has_list = True

    def share(self, holders: Sequence[Storage]) -> None:
        assert self._memory is not None
        for holder in holders:
            mark_shared(holder, self._memory)

    def given(self) -> list[Any]:
        return [items for items, _ in self._given_lists()]

    def _given_lists(self) -> Iterator[tuple[list[Any], list[Any]]]:
        yield from self._given
        yield from (u.given for u in active.current().list_uses if u.list is self and u.given is not None)

    # Items

    def _refusal(self) -> ReadsVarying:
        return ReadsVarying(self.description)

    def _taking(self, item: Any, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """The parts as they are if an item is one of the list's."""
        together, values = parts_of_item(item)
        if not parts:
            if not can_count(item):
                raise self._refusal()
            return tuple(part_of(x, self.description) for x in values)
        if together is not self._kind or len(values) != len(parts):
            raise self._refusal()
        found = [p.taking(x) for p, x in zip(parts, values)]
        if any(p is None for p in found):
            raise self._refusal()
        return tuple(p for p in found if p is not None)

    def _store(self, at: Any, item: Any) -> None:
        for part, x in zip(self.parts, parts_of_item(item)[1]):
            part.store(at, x)

    def _item(self, at: Any) -> Any:
        """The item at a position in bounds."""
        if self.together is list or self.has_views:
            raise self._refusal()  # the program might change it
        if self.are_rows:
            self._check()
            return ItemOfRows(self, at) if type(at) is not int else self._stand_ins.setdefault(at, ItemOfRows(self, at))
        found = [p.item(at, self.description) for p in self.parts]
        return found[0] if self.together is None else tuple(found)

    def _check(self) -> None:
        """Raises :class:`ReadsVarying` if an item was changed after it was appended."""
        arrays = (a for use in active.current().list_uses if use.list is self for a in use.arrays)
        changed = any(storage.version != version for storage, version in arrays)
        if changed or any(is_changed(given, before) for given, before in self._given_lists()):
            raise self._refusal()

    def _demand(self, condition: Any) -> None:
        """Has the call run eagerly unless the condition holds."""
        if type(condition) is bool:
            if not condition:
                raise self._refusal()
            return
        active.current().expects_no_error()
        active.current().call(prims.assert_, (condition, START_OVER), {})

    def _position(self, key: Any) -> Any:
        """A subscript from the beginning of the list; where it is out of bounds, the call runs eagerly."""
        if not self.is_counted:
            raise self._refusal()
        return self.position_in(self.filled, key)

    def position_in(self, count: Any, key: Any) -> Any:
        """``key`` as an index of at least 0 into a list of ``count`` items."""
        if type(key) is int:
            self._demand(count >= -key if key < 0 else count > key)
            return count + key if key < 0 else key
        if type(key) is TracedArray and key.scalar and np.can_cast(key.dtype, np.int64):
            key = key.item()
        if type(key) is not TracedNumber or key.proxy.python_type is not int:
            raise self._refusal()
        at: Any = key
        if (low := intervals.bounds(key.proxy)[0]) is None or low < 0:
            at = active.current().numpy_function(np.where, (at < 0, at + count, at), {}).item()
            self._demand(at >= 0)
        self._demand(at < count)
        return at

    def rewrite(self) -> None:
        """Notes that an item is about to be changed."""
        if self._may_have_names:
            raise self._refusal()
        self._use(ListUse(self, (0,)))

    def _set_count(self, count: Any) -> None:
        active.current().assigns(self._counter, "value")
        self.filled = count

    # What a list does

    index, count, contains = index_of, count_of, contains

    def append(self, item: Any) -> None:
        tracer = active.current()
        around = [r for r in tracer.regions if r.serial > self.serial]
        if not around and not self.is_counted:
            self.items.append(item)
            return
        serial = item.serial if isinstance(item, CountedList) else None
        if any(x is self for r in around for x in r.over) or (
            isinstance(item, list) and not is_new(item, serial, around)
        ):
            raise self._refusal()
        self._check()
        if (memory := appended_memory(parts_of_item(item)[1])) is None:
            raise self._refusal()
        arrays, are_shared = memory
        before = [a for use in tracer.list_uses if use.list is self for a, _ in use.arrays]
        self.has_views = self.has_views or are_shared or any(a is b for a, _ in arrays for b in before)
        given = (item, look(item)) if isinstance(item, list) else None
        self._use(ListUse(self, tuple(r.times for r in around), arrays, given), item)
        if self.may_overflow:
            self._demand(self.filled < self.capacity)
        self._store(self.filled, item)
        self._set_count(self.filled + 1)

    def _use(self, use: ListUse, *stored: Any) -> None:
        """Notes what appends or stores an item, or changes one. Raises :class:`Retrace` in a loop or a branch if there is no room for it."""
        (tracer := active.current()).list_uses.append(use)
        uses = [u for u in tracer.list_uses if u.list is self]
        if stored and not self.is_counted:
            self._example, self._kind = stored[0], kind_of_item(stored[0])
        parts = self._taking(stored[0], self.parts) if stored else self.parts
        is_same = self.is_counted and all(p is q for p, q in zip(parts, self.parts))
        if not is_same or (len(uses) > self._planned and not use.appends_nothing):
            self._wanted = parts
            region = next((r for r in tracer.regions if r.serial > self.serial), None)
            if region is not None:
                raise region.retraced(uses)
            self.make_room(uses)

    def extend(self, items: Iterable[Any]) -> None:
        if isinstance(items, ListStandIn) and (found := items.as_list()) is not None:
            items = found
        if type(items) in (list, tuple):
            for x in items:
                self.append(x)
            return
        rows = _rows_of_items(items)
        if rows is None or any(r.over and any(x is self for x in r.over) for r in active.current().regions):
            raise self._refusal()
        example, parts, n = rows
        if type(n) is not int or n:
            self._extend(example, parts, n)

    def _extend(self, example: Any, parts: tuple[Part, ...], n: Any) -> None:
        """Appends the first ``n`` of ``parts``."""
        if self.together is list or any(p.is_array for p in parts):
            raise self._refusal()
        around = [r for r in active.current().regions if r.serial > self.serial]
        self._check()
        self._use(ListUse(self, (*(r.times for r in around), None if around else n)), example)
        if self.may_overflow:
            self._demand(self.filled + n <= self.capacity)
        for mine, other in zip(self.parts, parts):
            mine.store_all(self.filled, n, other)
        self._set_count(self.filled + n)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, list):
            return NotImplemented
        made = self.copy()
        made.extend(other)
        return made

    def __radd__(self, other: Any) -> Any:
        if type(other) is not list:
            return NotImplemented
        made = CountedList(self.description, list(other))
        made.extend(self)
        return made

    def __iadd__(self, items: Any) -> CountedList:
        if not isinstance(items, (list, tuple)):
            return NotImplemented  # of an array, it is a sum
        self.extend(items)
        return self

    def _is_plain(self) -> bool:
        """Whether it has its items one by one, and an operation that changes it may change these."""
        if self.is_counted:
            return False
        if all(r.serial < self.serial for r in active.current().regions):
            return True
        if self.items:  # in a loop or a branch, it begins to count
            self.begin()
        raise self._refusal()

    def pop(self, *at: Any) -> Any:
        if self._is_plain():
            return self.items.pop(*at)
        if at:
            raise self._refusal()
        self._demand(self.filled > 0)
        found = self._item(self.filled - 1)
        self._set_count(self.filled - 1)
        return found

    def reverse(self) -> None:
        if self._is_plain():
            self.items.reverse()
            return
        if self.are_rows:
            raise self._refusal()  # there may be stand-ins for its items
        self._check()
        self._use(ListUse(self, (0,)))
        for p in self.parts:
            p.reverse(self.filled)

    def copy(self) -> CountedList:
        return self._cut(slice(None))

    def _cut(self, key: Any) -> CountedList:
        """A new list of the items at ``key``, a slice or an array of indices."""
        if self.together is list or (self.is_counted and any(p.is_array for p in self.parts)):
            raise self._refusal()
        if not self.is_counted:
            return CountedList(self.description, self.items[key])
        self._check()
        parts = tuple(p.cut(self.filled, key) for p in self.parts)
        assert parts[0].rows is not None
        return CountedList.of_rows(self.description, self._example, parts, parts[0].rows.shape[0])

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        if key is not None or type(reverse) is not bool or self.together is not None or not self.is_counted:
            raise self._refusal()
        if reverse:  # equal items keep their order
            self.reverse()
        self._use(ListUse(self, (0,)))
        (part,) = self.parts
        values, call = part.first(self.filled), active.current().numpy_function
        if part.is_array or part.dtype.kind not in "iuf" or part.kinds is not None:
            raise self._refusal()
        if part.dtype.kind == "f":  # Python leaves NaNs where they are
            self._demand(~call(np.any, (call(np.isnan, (values,), {}),), {}))
        assert part.rows is not None
        part.rows[: self.filled] = call(np.sort, (values,), {"kind": "stable"})
        if reverse:
            self.reverse()

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return self._cut(key)
        if not self.is_counted:
            if type(key) is int or not self.items:
                return self.items[key]
            self.begin()
        return self._item(self._position(key))

    def __setitem__(self, key: Any, item: Any) -> None:
        if type(key) is int or not self.items:
            if self._is_plain():
                self.items[key] = item
                return
        elif not self.is_counted:
            self.begin()
        if any(p.is_array for p in self.parts) or isinstance(item, list):
            raise self._refusal()
        self._use(ListUse(self, (0,)), item)
        self._store(self._position(key), item)

    def __len__(self) -> int:
        n = self.length()
        if type(n) is not int:
            raise self._refusal()
        return n

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while not self.is_counted and at < len(self.items):  # there may be more by then
            yield self.items[at]
            at += 1
        while self.is_counted and type(self.filled) is int and at < self.filled:
            yield self._item(at)
            at += 1
        if self.is_counted and type(self.filled) is not int:
            raise self._refusal()

    # What the program does with it

    def length(self) -> Any:
        counted, known = self.settled
        return len(self.items) if not self.is_counted else known if counted is self.filled else self.filled

    @property
    def is_by_position(self) -> bool:
        return self.is_counted

    def by_position(self) -> Callable[[Any], Any]:
        self._check()
        return self._item

    def check_length(self, length: Any) -> None:
        if self.length() is not length:
            raise self._refusal()

    def check_written_out(self) -> None:
        if not self.is_counted or type(self.filled) is not int:
            raise self._refusal()

    def is_filled(self) -> Any:
        return self.length() > 0

    def held(self) -> list[Any]:
        return self.items

    def as_array(self, *, filled: bool = False, typed: bool = False) -> Any:
        call = active.current().numpy_function
        if not self.is_counted:
            if filled and not self.items:
                raise self._refusal()
            return call(np.array, (list(self.items),), {})
        self._check()
        n = self.length()
        rows = [p.first(n) for p in self.parts]
        is_plain = len(rows) == 1 and self.together is None and not self.parts[0].is_array
        if filled or not is_plain or (self.parts[0].dtype != float and not typed):
            # An empty list is an array of floats. Where that has come often, each case has a program.
            if filled or active.current().inputs.prologue.may_catch or type(n) is int:
                self._demand(n > 0)
            elif not n > 0:
                return call(np.array, ([],), {})
        for p in self.parts:
            self._check_dtype(p)
        if self.together is None or self.are_rows:
            return rows[0].copy()
        if any(p.is_array for p in self.parts):
            raise self._refusal()
        dtype = np.result_type(*(p.dtype for p in self.parts))
        return call(np.stack, ([r.astype(dtype) for r in rows],), {"axis": 1})

    def _check_dtype(self, part: Part) -> None:
        """Raises :class:`ReadsVarying`, or has the call run eagerly, where NumPy's dtype for the values depends on these."""
        if part.kinds is None or np.dtype(part.kinds[1]) == part.dtype:
            return
        if part.kinds != (np.dtype(float), int):
            raise self._refusal()
        assert part.flags is not None
        self._demand(active.current().numpy_function(np.any, (part.flags[: self.filled],), {}))

    def as_subscript(self) -> Any:
        part = self.parts[0] if len(self.parts) == 1 else None
        if part is None or part.is_array or part.dtype.kind != "i":
            return self.as_array(filled=True)
        self._check()
        return part.first(self.filled).copy()

    @property
    def are_integers(self) -> bool:
        return self.is_counted and self.together is None and self.parts[0].are_numbers and self.parts[0].dtype == int

    def joined(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.is_counted and self.together is None and type(part := self.parts[0]) is UnevenPart:
            self._check()
            self._demand(self.length() > 0)
            made = joined_all(function, part.all_rows(self.filled), args, kwargs)
        else:
            made = joined_rows(function, self.as_array(filled=True), args, kwargs) if self.together is None else None
        if made is None:
            raise self._refusal()
        return made

    def as_list(self) -> list[Any] | None:
        return None if self.is_counted else self.items

    def as_item(self, x: Any) -> Any:
        if self.together is not None or self.parts[0].kinds is not None:
            raise self._refusal()
        return x.item() if type(x) is TracedArray and self.parts[0].are_numbers else x

    def as_result(self, output: Callable[[Any], Any]) -> Any:
        if not self.is_counted:
            return [output(x) for x in self.items]
        self._check()
        if self.has_views:
            raise self._refusal()
        assert self._memory is not None
        held = TracedArray(self._memory, Path(), self._memory.value, ROW_MAJOR)
        if self.are_rows or any(p.is_array for p in self.parts):
            active.current().output_lists.append(held)
        if self.are_rows:
            return ListsOfRows(self.parts[0].first(self.filled).__tnp_value__(), self.together is RowOfNumbers)
        columns = [p.output(self.filled) for p in self.parts]
        return columns[0] if self.together is None else RowsOfParts(columns, self.together)


def _rows_of_items(items: Any) -> tuple[Any, tuple[Part, ...], Any] | None:
    """An example of the items of a list or of an array, the parts that have them, and how many there are; ``None`` if they are not rows."""
    if type(items) is CountedList:
        items._check()
        if items.has_views:
            return None
        return items._example, items.parts, items.filled
    if type(items) is RepeatedList:
        example, n = items.item, items.times
        if type(example) is list or not can_count(example):
            return None
        values = parts_of_item(example)[1]
        found = tuple(Part(x, x.kinds if type(x) is TracedEither else None).repeated([x], n) for x in values)
        return example, found, n
    if (
        type(items) is TracedArray
        and items.library is NUMPY
        and items.ndim == 1
        and items._element_type.kind in "biufc"
    ):
        example = scalar_of(items.dtype.type, 0)
        return example, (Part(example, rows=items),), items.shape[0]
    return None


refuse_uses(CountedList)
