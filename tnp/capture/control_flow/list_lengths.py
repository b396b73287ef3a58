"""The length of a counted list as a variable, which loops and branches carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tnp.capture.tracing.outer_names import Binding

if TYPE_CHECKING:
    from tnp.capture.control_flow.counted_lists import CountedList

__all__ = ["ListLength"]


class ListLength(Binding):
    """The number of items of a list, as a variable."""

    __slots__ = ("list",)

    def __init__(self, counted: CountedList) -> None:
        self.list = counted

    def __str__(self) -> str:
        return "the length of a list"

    @property
    def serial(self) -> int:
        return self.list.serial

    @property
    def interval(self) -> tuple[int | None, int | None]:
        capacity = self.list.capacity
        return 0, capacity if type(capacity) is int else None

    def known(self, nothing: Any) -> Any:
        return self.list.filled

    def put(self, value: Any, nothing: Any) -> None:
        self.list.filled = value

    def settle(self, value: int) -> None:
        self.list.settled = self.list.filled, value
