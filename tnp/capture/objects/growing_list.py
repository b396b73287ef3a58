"""A list of the caller's that the program appends to and does not read: no guard asks what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tnp.capture.guards.varying_values import ReadsVarying

__all__ = ["GrowingList"]


class GrowingList(list[Any]):
    """Stands for a list whose length differed from call to call, called ``description``. ``added`` is what the program appends."""

    def __init__(self, description: str) -> None:
        super().__init__()
        self.description = description
        self.added: list[Any] = []

    def append(self, item: Any) -> None:
        """Appends one item."""
        self.added.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Appends items."""
        self.added.extend(items)


def _added(self: GrowingList, items: Iterable[Any]) -> GrowingList:
    if hasattr(type(items), "__radd__"):  # an array is added to the items that there are
        raise ReadsVarying(self.description)
    self.added.extend(items)
    return self


def _reading(name: str) -> Callable[..., Any]:
    def method(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
        raise ReadsVarying(self.description)

    method.__name__ = name
    return method


setattr(GrowingList, "__iadd__", _added)  # noqa: B010 (list has an __add__ of another signature)
_KEPT = frozenset((*vars(GrowingList), *vars(object)))
for _name in [*vars(list), "__str__", "__format__", "__reduce_ex__"]:
    if callable(getattr(list, _name)) and (_name not in _KEPT or _name in ("__eq__", "__ne__", "__repr__", "__str__")):
        setattr(GrowingList, _name, _reading(_name))
