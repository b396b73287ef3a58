"""Lists that loops append to: a loop stores what it appends into one array, of which each item of the list is a row from then on.

The list is a list as any other, and its items are arrays and scalars that are looked up when they are used. What runs over all of
them, or takes the list for an array, takes the one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.output_aliasing import may_share
from tnp.capture.tracing.strides import ROW_MAJOR
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core.proxies import TensorProxy
from tnp.core.views import Path, Step
from tnp.lang import numpy as lnp

__all__ = ["Rows", "array_of_rows", "is_maybe_in_list", "rows_of_storage"]

#: so few items are looked at one by one
FEW = 8


class Rows:
    """A list that the program returns, made at each call of the rows of an array: of its elements, if it has one dimension."""

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __tnp_children__(self) -> list[Any]:
        return [self.rows]

    def __tnp_rebuild__(self, children: list[Any]) -> Rows:
        return Rows(children[0])

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_list_of_rows"] = _list_of_rows
        return f"_list_of_rows({literal(self.rows, context)})"


def _list_of_rows(rows: np.ndarray[Any, Any]) -> list[Any]:
    return list(rows) if rows.ndim == 1 else [row.copy() for row in rows]


def rows_of_storage(storage: Storage, count: int, item: TensorProxy) -> list[TracedArray]:
    """The rows of an array as the items of a list, each of the type of ``item``."""
    made = []
    for i in range(count):
        handle = TracedArray(storage, Path([Step(lnp.getitem, (i,))]), item, ROW_MAJOR)
        handle._seen = -1  # it is looked up when it is used
        made.append(handle)
    return made


def array_of_rows(items: Sequence[Any], least: int = FEW) -> TracedArray | None:
    """The array that has the items of a list as its rows, one after another; ``None`` if there is none, or they are fewer than
    ``least``."""
    if len(items) < least or type(items[0]) is not TracedArray:
        return None
    storage, first = items[0].storage, _row(items[0])
    if not storage.has_list or first is None:
        return None
    for i, x in enumerate(items, first):
        if type(x) is not TracedArray or x.storage is not storage or _row(x) != i:
            return None
    whole = TracedArray(storage, Path(), storage.value, ROW_MAJOR)
    if len(items) == storage.value.shape[0]:
        return whole
    part: TracedArray = active.current().call(lnp.getitem, (whole, slice(first, first + len(items))), {})
    return part


def is_maybe_in_list(x: TracedArray, y: TracedArray) -> bool:
    """Whether one of two arrays may be an item of a list, which the other is a row of."""
    return any(a.storage.has_list and a.storage in may_share(b.storage) for a, b in ((x, y), (y, x)))


def _row(x: TracedArray) -> int | None:
    """Which row of its memory an array is, if it is one of a list's."""
    steps = x.path.steps
    if len(steps) != 1 or steps[0].symbol is not lnp.getitem or len(steps[0].args) != 1:
        return None
    key = steps[0].args[0]
    return key if type(key) is int else None
