"""Lists whose items are the rows of one array, as loops make them (:mod:`tnp.capture.control_flow.appended_lists`).

The list is an ordinary list. Its items are arrays, scalars and numbers that are looked up when they are used. Loops over the list, and
functions that take it for an array, use the one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.output_aliasing import may_share
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core.proxies import TensorProxy
from tnp.core.views import Path, Step
from tnp.lang import numpy as lnp

__all__ = ["Rows", "array_of_rows", "element", "is_maybe_in_list", "rows_of_storage"]

#: so few items are looked at one by one
FEW = 8


class Rows:
    """A list that the program returns, made at each call of the rows of an array: of its elements, if it has one dimension, as NumPy's
    scalars or as Python's numbers."""

    __slots__ = ("are_numbers", "rows")

    def __init__(self, rows: Any, are_numbers: bool) -> None:
        self.rows, self.are_numbers = rows, are_numbers

    def __tnp_children__(self) -> list[Any]:
        return [self.rows]

    def __tnp_rebuild__(self, children: list[Any]) -> Rows:
        return type(self)(children[0], self.are_numbers)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        if self.are_numbers:
            return f"{literal(self.rows, context)}.tolist()"
        context["_list_of_rows"] = _list_of_rows
        return f"_list_of_rows({literal(self.rows, context)})"


def _list_of_rows(rows: np.ndarray[Any, Any]) -> list[Any]:
    return list(rows) if rows.ndim == 1 else [row.copy() for row in rows]


def rows_of_storage(storage: Storage, count: int, item: TensorProxy | None) -> list[Any]:
    """The rows of an array as the items of a list, each of the type of ``item``; ``None`` makes elements Python's numbers."""
    if item is None:
        whole = TracedArray(storage, Path(), storage.value, ROW_MAJOR)
        return [_number((whole, i)) for i in range(count)]
    made: list[Any] = []
    for i in range(count):
        handle = TracedArray(storage, Path([Step(lnp.getitem, (i,))]), item, ROW_MAJOR)
        handle._seen = -1  # it is looked up when it is used
        made.append(handle)
    return made


def _number(row: tuple[TracedArray, int]) -> TracedNumber:
    made = TracedNumber.__new__(TracedNumber)
    made.row = row
    return made


def array_of_rows(items: Sequence[Any], least: int = FEW) -> TracedArray | None:
    """The array that has the items of a list as its rows, one after another; ``None`` if there is none, or they are fewer than
    ``least``."""
    kind = type(items[0]) if len(items) >= least else None
    if kind is not TracedArray and kind is not TracedNumber:
        return None
    storage, first = _place(items[0])
    if storage is None or not storage.has_list or first is None:
        return None
    for i, x in enumerate(items, first):
        if type(x) is not kind or _place(x) != (storage, i):
            return None
    whole = TracedArray(storage, Path(), storage.value, ROW_MAJOR)
    if len(items) == storage.value.shape[0]:
        return whole
    part: TracedArray = active.current().call(lnp.getitem, (whole, slice(first, first + len(items))), {})
    return part


def is_maybe_in_list(x: TracedArray, y: TracedArray) -> bool:
    """Whether one of two arrays may be an item of a list, which the other is a row of."""
    return any(a.storage.has_list and a.storage in may_share(b.storage) for a, b in ((x, y), (y, x)))


def element(rows: TracedArray, i: Any, items: Sequence[Any]) -> Any:
    """Item ``i`` of a list that has the rows of an array as its items."""
    return rows[i].item() if type(items[0]) is TracedNumber else rows[i]


def _place(x: Any) -> tuple[Storage | None, int | None]:
    """The memory that an array, or a number, is a row of, and which."""
    if type(x) is TracedArray:
        return x.storage, _row(x)
    found = getattr(x, "row", None)
    return (None, None) if found is None else (found[0].storage, found[1])


def _row(x: TracedArray) -> int | None:
    """Which row of its memory an array is, if it is one of a list's."""
    steps = x.path.steps
    if len(steps) != 1 or steps[0].symbol is not lnp.getitem or len(steps[0].args) != 1:
        return None
    key = steps[0].args[0]
    return key if type(key) is int else None
