"""Lists of lists: a counted list whose items are lists of numbers or scalars has them as the rows of one array.

The program makes such a list by appending lists that have as many items each (``[[0.0] * m for _ in range(n)]``), reads and changes
elements, and runs over the lists. Anything else that it does with one of them is traced again, with lists as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tnp.capture.control_flow.appended_lists import is_number, number_type
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.objects.growing_list import refuse_uses
from tnp.capture.objects.row_list import ListStandIn, RowOfNumbers
from tnp.capture.tracing.traced_values import TracedArray

if TYPE_CHECKING:
    from tnp.capture.control_flow.counted_lists import CountedList

__all__ = ["ItemOfRows", "is_changed", "look"]

_NUMBERS = {"f": float, "i": int, "c": complex}


def look(items: list[Any]) -> list[Any]:
    """What is in a list that is appended to another, for who wants to know whether it was changed since."""
    return items.look() if isinstance(items, ListStandIn) else list(items)


def is_changed(items: list[Any], before: list[Any]) -> bool:
    now = look(items)
    return len(now) != len(before) or any(x is not y and (type(x) is not int or x != y) for x, y in zip(now, before))


class ItemOfRows(ListStandIn):
    """The list at a position of a list of lists: the row of an array."""

    def __init__(self, rows: CountedList, at: Any) -> None:
        super().__init__(rows.description)
        self.of, self.at = rows, at

    def _row(self) -> Any:
        (part,) = self.of.parts
        assert part.rows is not None
        return part.rows[self.at]

    def _element(self, j: Any) -> Any:
        (part,) = self.of.parts
        assert part.rows is not None
        x = part.rows[self.at, j]
        return x.item() if self.of.together is RowOfNumbers else x

    def _position(self, key: Any) -> Any:
        return self.of.position_in(self.length(), key)

    def length(self) -> Any:
        return self.of.parts[0].shape[0]

    def by_position(self) -> Callable[[Any], Any]:
        return self._element

    def is_filled(self) -> Any:
        return self.length() > 0

    def as_array(self, *, filled: bool = False, typed: bool = False) -> Any:
        return self._row().copy()

    def check_told_apart(self, other: Any) -> None:
        """Raises :class:`ReadsVarying` where it may be the list that another stand-in stands for."""
        if type(other) is ItemOfRows and other.of is self.of and not type(other.at) is type(self.at) is int:
            raise ReadsVarying(self.description)

    def as_item(self, x: Any) -> Any:
        return x.item() if type(x) is TracedArray and self.of.together is RowOfNumbers else x

    def as_row(self) -> Any:
        return self._row().copy()

    def kind_as_row(self) -> type:
        assert self.of.together is not None
        return self.of.together

    def __len__(self) -> int:
        n = self.length()
        if type(n) is not int:
            raise ReadsVarying(self.description)
        return n

    def __iter__(self) -> Iterator[Any]:
        return (self._element(j) for j in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            raise ReadsVarying(self.description)
        return self._element(self._position(key))

    def __setitem__(self, key: Any, x: Any) -> None:
        rows, (part,) = self.of, self.of.parts
        if self.of.together is RowOfNumbers:
            is_one = is_number(x) and number_type(x) is _NUMBERS[part.dtype.kind]
        else:
            is_one = type(x) is TracedArray and x.scalar and x.dtype == part.dtype
        if type(key) is slice or not is_one:
            raise ReadsVarying(self.description)
        key = self._position(key)
        rows.rewrite()
        assert rows.parts[0].rows is not None
        rows.parts[0].rows[self.at, key] = x


refuse_uses(ItemOfRows)
