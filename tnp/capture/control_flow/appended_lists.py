"""Lists that each iteration of a loop appends to.

While the body is traced, a stand-in replaces such a list; it can only be appended to. Each iteration stores its item into a row of an
array. After the loop, the list holds the rows (:mod:`tnp.capture.libraries.numpy.list_of_rows`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.list_of_rows import array_of_rows, rows_of_storage
from tnp.capture.objects.assigned_attributes import dictionaries_of
from tnp.capture.objects.growing_list import GrowingList
from tnp.capture.speculation.regions import Region
from tnp.capture.speculation.trials import Failure
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import symbols
from tnp.core.proxies import TensorProxy

__all__ = ["APPENDED", "AppendedList", "is_number", "number_type", "type_of", "value_of"]

#: what the stand-ins are called
APPENDED = "a list that a loop appends to"
_NUMBERS = frozenset((bool, int, float, complex))


class AppendedList:
    """A list, ``items``. Each iteration of a loop over ``iterations`` appends values to it whose types are those of ``appended``."""

    def __init__(self, items: list[Any], appended: list[Any], iterations: Iterations) -> None:
        self.items = items
        self.iterations = iterations
        #: the number of items that one iteration appends: one, or the rows of an array
        self.count = len(appended)
        found = value_of(appended)
        if found is None or abs(self._step()) != 1:
            raise Failure("it changes a list, a dict or an object")
        #: the type of the stored value, and the type of an item (``None``: a Python number)
        self._like = type_of(found)
        self._item: TensorProxy | None = None if is_number(appended[0]) else appended[0].__tnp_value__()
        self._shape = found.shape if type(found) is TracedArray else ()
        self._dtype = found.dtype if type(found) is TracedArray else np.dtype(number_type(found))
        self._array: Any = None
        self._stand_in = GrowingList(APPENDED)

    def _step(self) -> int:
        step = self.iterations.step
        return step if type(step) is int else 0

    def make(self, length: int) -> Storage:
        """The memory of the array, before the loop."""
        self._array = active.current().numpy_function(np.empty, ((length, *self._shape), self._dtype), {})
        storage: Storage = self._array.storage
        return storage

    def stand_in(self, region: Region, *, begins: bool) -> None:
        """Replaces the list by the stand-in wherever the program holds it, or the stand-in by the list."""
        old, new = (self.items, self._stand_in) if begins else (self._stand_in, self.items)
        for name, value in region.variables.values().items():
            if value is old:
                region.variables[name] = new
        for x in region.contents.growing:
            if x.added is (self.items if begins else self._stand_in.added):
                x.added = self._stand_in.added if begins else self.items
        for cell in region.contents.cells:
            if cell.cell_contents is old:
                cell.cell_contents = new
        inputs = region.tracer.inputs
        attributes = dictionaries_of((*inputs.shadows, *inputs.copies))
        for holder in (*(now for now, _ in region.contents.found), *attributes):
            if type(holder) is list:
                holder[:] = [new if x is old else x for x in holder]
            elif isinstance(holder, dict):  # past all code of the program's
                for key, x in dict.items(holder):
                    if x is old:
                        dict.__setitem__(holder, key, new)
        if begins:
            self._stand_in.added.clear()

    def store(self, region: Region, index: TracedNumber) -> Storage | None:
        """Stores the appended value. Returns its memory; ``None`` for scalars and numbers."""
        appended = list(self._stand_in.added)
        value = value_of(appended)
        if value is None or len(appended) != self.count or type_of(value) != self._like:
            raise Failure("it appends other things to a list in each iteration")
        if is_number(appended[0]) != (self._item is None):
            raise Failure("it appends other things to a list in each iteration")
        has_arrays = self._item is not None and not self._item.scalar
        storage = value.storage if has_arrays else None
        if has_arrays and (
            type(storage) is not Storage or storage.serial < region.serial or storage.origin is not None
        ):
            raise Failure("it appends an array to a list that others hold, too")
        start = self.iterations.start
        at: Any = index if type(start) is int and start == 0 else index - start
        self._array[at if self._step() == 1 else start - index] = value
        return storage

    def extend(self, holders: list[Storage]) -> None:
        """Adds the rows to the list, after the loop. ``holders`` is the memory of variables that may be bound to the last row."""
        storage, length = self._array.storage, self._array.storage.value.shape[0]
        if self.count > 1:  # several rows in each iteration
            rows = self._array.reshape((length * self.count, *self._shape[1:]))
            storage = rows.storage if not rows.path else rows.copy().storage
        storage.has_list = True
        for holder in holders:
            mark_shared(holder, storage)
        self.items.extend(rows_of_storage(storage, length * self.count, self._item))


def is_number(x: Any) -> bool:
    return type(x) is TracedNumber or type(x) in _NUMBERS


def number_type(x: Any) -> type:
    kind: type = x.proxy.python_type if type(x) is TracedNumber else type(x)
    return kind


def value_of(appended: list[Any], *, views: bool = False) -> Any:
    """The appended value as one array or number; ``None`` if there is none."""
    one = appended[0] if len(appended) == 1 else array_of_rows(appended, least=2)
    if is_number(one):
        return None if type(one) is int and abs(one) >> 63 else one
    if type(one) is not TracedArray or type(one.storage) is not Storage or one.library is not NUMPY:
        return None
    if one._element_type.kind not in "biufc" or symbols.extents(one.shape_) is None:
        return None
    if not one.ndim and not one.scalar:
        return None  # a row of an array of one dimension is a scalar
    if not views and len(appended) == 1 and not one.scalar and (one.path or one._strides is not ROW_MAJOR):
        return None  # a view, or one in another order
    return one


def type_of(x: Any) -> Any:
    """A key that is equal for values that fit into one array."""
    if is_number(x):
        return number_type(x)
    return (
        x.shape_,
        x.dtype,
        x.scalar,
    )  # what it is, and not its value: of an example, that may be from a trial that failed
