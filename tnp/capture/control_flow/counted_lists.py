"""Lists of which only the running program knows the length: loops append to them in branches, or as often as values say.

The items are the first rows of an array, and the program counts them. The count is a variable of loops and branches, as an attribute
is. A list is one of these once a loop was found to append to it so: the function is traced again, and the place that makes the list
makes a :class:`CountedList`. Uses that need the items one by one have it traced once more, with a list as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.appended_lists import is_number, number_type, type_of, value_of
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.list_of_rows import Rows
from tnp.capture.objects.growing_list import refuse_uses
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.speculation.regions import ListUse
from tnp.capture.tracing.outer_names import Binding
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber, serials
from tnp.core import prims
from tnp.core.views import Path

__all__ = ["CountedList", "new_list"]

#: bytes of the items of a list for which there is room where nobody knows how many there will be, and at most
ROOM, MOST_ROOM = 1 << 22, 1 << 28
#: rows that are never filled: an index of the next item is in bounds whatever the count is
SPARE = 1


def new_list(items: list[Any], made_at: str) -> list[Any]:
    """``items``, a list that the program has just made at a place of its code, or what counts its items."""
    tracer = active.current()
    varying = tracer.inputs.prologue.varying
    if varying.is_counted(made_at):
        varying.counting.add(made_at)
        return CountedList(made_at, items)
    tracer.lists[id(items)] = items, made_at
    return items


class _Count(Binding):
    """The number of items of a list, as a variable."""

    __slots__ = ("list",)

    def __init__(self, counted: CountedList) -> None:
        self.list = counted

    def __str__(self) -> str:
        return "the length of a list"

    @property
    def serial(self) -> int:  # type: ignore[override]  # it is the list's
        return self.list.serial

    @property
    def interval(self) -> tuple[int | None, int | None]:  # type: ignore[override]
        capacity = self.list.capacity
        return 0, capacity if type(capacity) is int else None

    def known(self, nothing: Any) -> Any:
        return self.list.count

    def put(self, value: Any, nothing: Any) -> None:
        self.list.count = value


class CountedList(ListStandIn):
    """Before a loop appends to it, it has its ``items``. From then on ``columns`` have them, the first ``count`` rows: one array, or
    one for each part of items that are tuples or lists.

    It has many methods: those of a list.
    """

    def __init__(self, made_at: str, items: list[Any]) -> None:
        super().__init__(made_at)
        self.items = items
        self.serial = next(serials)
        self.count: Any = 0
        self.columns: tuple[TracedArray, ...] = ()
        #: for how many items there is room; whether there may be more
        self.capacity: Any = 0
        self.may_overflow = False
        #: how often it may be appended to, at most
        self._planned: tuple[ListUse, ...] = ()
        #: the class of the items if they have parts, and a key and an example of each part
        self._together: type | None = None
        self._kinds: tuple[Any, ...] = ()
        self._parts: tuple[Any, ...] = ()
        self._counter = _Count(self)
        #: lists that were appended, which nobody may change, with what is in them
        self._given: list[tuple[list[Any], list[Any]]] = []
        #: stands for the memory of the items
        self._memory: Storage | None = None

    # Room

    def state(self) -> Any:
        names = ("count", "columns", "capacity", "may_overflow", "_planned", "_together", "_kinds", "_parts", "_memory")
        return {name: getattr(self, name) for name in names}, list(self.items), list(self._given)

    def restore(self, state: Any) -> None:
        values, self.items, self._given = state[0], list(state[1]), list(state[2])
        for name, value in values.items():
            setattr(self, name, value)

    def make_room(self, uses: Sequence[ListUse]) -> None:
        items, before = self.items, self.columns
        is_new = not before
        if is_new:
            self._take_kind(items[0] if items else self._example)
            if any(self._kind_of(x)[1] != self._kinds for x in items):
                raise self._refusal()
        self._planned = tuple(uses)
        width = max(
            1, max(math.prod(p.shape_) * p.dtype.itemsize if type(p) is TracedArray else 8 for p in self._parts)
        )
        room, self.may_overflow = _room(uses, width, len(items) if is_new else self.count)
        call = active.current().numpy_function
        if not is_new and type(room) is int and type(self.capacity) is int and room <= self.capacity:
            return
        shapes = [
            (p.shape_, p.dtype) if type(p) is TracedArray else ((), np.dtype(number_type(p))) for p in self._parts
        ]
        self.columns = tuple(call(np.empty, ((room + SPARE, *shape), dtype), {}) for shape, dtype in shapes)
        for made, old in zip(self.columns, before):
            made[: self.capacity] = old[: self.capacity]
        self.capacity = room
        if is_new:
            for i, x in enumerate(items):
                self._store(i, x)
            self.count, self.items = len(items), []
            self._memory = Storage(self.columns[0].storage.value)
            self._memory.has_list = True

    def share(self, holders: Sequence[Storage]) -> None:
        assert self._memory is not None
        for holder in holders:
            mark_shared(holder, self._memory)

    # Items

    def _refusal(self) -> ReadsVarying:
        return ReadsVarying(self.description)

    def _kind_of(self, item: Any) -> tuple[type | None, tuple[Any, ...], tuple[Any, ...]]:
        """The class of an item that has parts, the keys of the parts, and these."""
        together = type(item) if type(item) in (tuple, list) else None
        parts = tuple(item) if together is not None else (item,)
        values = tuple(value_of([x]) for x in parts)
        if not parts or any(v is None for v in values):
            raise self._refusal()
        return together, (together, *map(type_of, values)), parts

    def _take_kind(self, item: Any) -> None:
        self._together, self._kinds, self._parts = self._kind_of(item)

    def _store(self, at: Any, item: Any) -> None:
        for rows, x in zip(self.columns, self._kind_of(item)[2]):
            rows[at] = x

    def _item(self, at: Any) -> Any:
        """The item at a position in bounds."""
        if self._together is list:
            raise self._refusal()  # the program might change it
        found = []
        for rows, like in zip(self.columns, self._parts):
            x = rows[at]
            if is_number(like):
                x = x.item()
            elif not like.scalar:
                x = x.copy()
                x.storage.writable, x.storage.listed = False, self.description
            found.append(x)
        return found[0] if self._together is None else tuple(found)

    def _check(self) -> None:
        """Raises :class:`ReadsVarying` if an item was changed after it was appended."""
        arrays = (a for use in active.current().list_uses if use.list is self for a in use.arrays)
        changed = any(storage.version != version for storage, version in arrays)
        if changed or any(now != before for now, before in self._given):
            raise self._refusal()

    def _demand(self, condition: Any) -> None:
        """Has the call run eagerly unless the condition holds."""
        if type(condition) is bool:
            if not condition:
                raise self._refusal()
            return
        tracer = active.current()
        tracer.expects_no_error()
        tracer.call(prims.assert_, (condition,), {})

    def _position(self, key: Any) -> Any:
        """A subscript from the beginning of the list; where it is out of bounds, the call runs eagerly."""
        is_whole = type(key) is int or (type(key) is TracedNumber and key.proxy.python_type is int)
        if not is_whole or not self.columns:
            raise self._refusal()
        if type(key) is int and key < 0:
            self._demand(self.count >= -key)
            return self.count + key
        self._demand(key >= 0)
        self._demand(key < self.count)
        return key

    # What a list does

    def append(self, item: Any) -> None:
        tracer = active.current()
        around = [r for r in tracer.regions if r.serial > self.serial]
        if not around and not self.columns:
            self.items.append(item)
            return
        if (not any(r.is_loop for r in tracer.regions) and not self.columns) or any(r.over is self for r in around):
            raise self._refusal()
        self._check()
        use = ListUse(self, tuple(r.times for r in around), self._arrays(item))
        tracer.list_uses.append(use)
        uses = [u for u in tracer.list_uses if u.list is self]
        if len(uses) > len(self._planned):
            self._example = item
            if around:
                raise around[0].retraced(uses)
            self.make_room(uses)
        if self._kind_of(item)[1] != self._kinds:
            raise self._refusal()
        if self.may_overflow:
            self._demand(self.count < self.capacity)
        if type(item) is list:
            self._given.append((item, list(item)))
        self._store(self.count, item)
        tracer.assigns(self._counter, "value")
        self.count = self.count + 1

    def _arrays(self, item: Any) -> tuple[tuple[Storage, int], ...]:
        """The memory of the arrays of an item, which nothing else may have: the list has copies."""
        arrays = [x for x in self._kind_of(item)[2] if type(x) is TracedArray and not x.scalar]
        made_after = max((r.serial for r in active.current().regions if r.is_loop), default=-1)
        for x in arrays:
            if type(x.storage) is not Storage or x.storage.origin is not None or x.storage.serial < made_after:
                raise self._refusal()
        return tuple((x.storage, x.storage.version) for x in arrays)

    def extend(self, items: Iterable[Any]) -> None:
        if type(items) not in (list, tuple):
            raise self._refusal()
        for x in items:
            self.append(x)

    def __iadd__(self, items: Any) -> CountedList:  # type: ignore[override, misc]  # of a list, Python has two
        self.extend(items)
        return self

    def pop(self, *at: Any) -> Any:
        if at or not self.columns:
            raise self._refusal()
        tracer = active.current()
        self._demand(self.count > 0)
        found = self._item(self.count - 1)
        tracer.assigns(self._counter, "value")
        self.count = self.count - 1
        return found

    def __getitem__(self, key: Any) -> Any:
        if not self.columns and type(key) is int:
            return self.items[key]
        return self._item(self._position(key))

    def __setitem__(self, key: Any, item: Any) -> None:
        position = self._position(key)
        if self._kind_of(item)[1] != self._kinds or self._arrays(item) or type(item) is list:
            raise self._refusal()
        self._store(position, item)

    def __len__(self) -> int:
        n = self.length()
        if type(n) is not int:
            raise self._refusal()
        return n

    def __iter__(self) -> Iterator[Any]:
        n = len(self)
        return iter([self._item(i) for i in range(n)] if self.columns else list(self.items))

    # What the program does with it

    def length(self) -> Any:
        return self.count if self.columns else len(self.items)

    def by_position(self) -> Callable[[Any], Any]:
        self._check()
        return self._item if self.columns else self.items.__getitem__

    def is_filled(self) -> Any:
        return self.length() > 0

    def held(self) -> list[Any]:
        return self.items

    def as_array(self, *, filled: bool = False) -> Any:
        call = active.current().numpy_function
        if not self.columns:
            if filled and not self.items:
                raise self._refusal()
            return call(np.array, (list(self.items),), {})
        self._check()
        parts = [rows[: self.count] for rows in self.columns]
        if filled or self._together is not None or parts[0].ndim > 1 or parts[0].dtype != float:
            self._demand(self.count > 0)  # an empty list is an array of floats
        if self._together is None:
            return parts[0].copy()
        if any(p.ndim > 1 for p in parts):
            raise self._refusal()
        dtype = np.result_type(*(p.dtype for p in parts))
        return call(np.stack, ([p.astype(dtype) for p in parts],), {"axis": 1})

    def as_subscript(self) -> Any:
        """The array of indices that NumPy takes it for."""
        if len(self.columns) != 1 or self.columns[0].ndim != 1 or self.columns[0].dtype.kind != "i":
            return self.as_array(filled=True)
        self._check()
        return self.columns[0][: self.count].copy()

    def joined(self, function: Any) -> Any:
        """What a function of a sequence of arrays makes of it."""
        rows = self.as_array(filled=True)
        if self._together is not None or rows.ndim < 2:
            raise self._refusal()
        joins = function is np.concatenate or (function is np.vstack and rows.ndim > 2)
        joins = joins or (function is np.hstack and rows.ndim == 2)
        if joins:
            return rows.reshape((-1, *rows.shape[2:]))
        if function is np.stack or function is np.vstack:
            return rows
        raise self._refusal()

    def as_item(self, x: Any) -> Any:
        return x.item() if type(x) is TracedArray and is_number(self._parts[0]) else x

    def as_result(self, output: Callable[[Any], Any]) -> Any:
        if not self.columns:
            return [output(x) for x in self.items]
        self._check()
        tracer = active.current()
        assert self._memory is not None
        tracer.output_lists.append(TracedArray(self._memory, Path(), self._memory.value, ROW_MAJOR))
        columns = [
            Rows(rows[: self.count].__tnp_value__(), is_number(like)) for rows, like in zip(self.columns, self._parts)
        ]
        return columns[0] if self._together is None else RowsOfParts(columns, self._together)


def _room(uses: Sequence[ListUse], width: int, there: Any) -> tuple[Any, bool]:
    """For how many items of ``width`` bytes there is to be room, of which ``there`` are there already; and whether that may be too few."""
    if any(n is None for use in uses for n in use.times):
        return ROOM // width, True
    total = sum(math.prod(use.times) for use in uses) + (there if type(there) is int else 0)
    if type(total) is int and total * width > MOST_ROOM:
        return ROOM // width, True
    return total, False


class RowsOfParts:
    """A list that the program returns, of tuples or lists whose parts are the rows of arrays."""

    __slots__ = ("columns", "together")

    def __init__(self, columns: list[Rows], together: type) -> None:
        self.columns, self.together = columns, together

    def __tnp_children__(self) -> list[Any]:
        return list(self.columns)

    def __tnp_rebuild__(self, children: list[Any]) -> RowsOfParts:
        return RowsOfParts(children, self.together)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        columns = ", ".join(literal(c, context) for c in self.columns)
        return f"[*map({self.together.__name__}, zip({columns}))]"


refuse_uses(CountedList)
