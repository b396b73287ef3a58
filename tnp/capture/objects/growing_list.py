"""A list of the caller's that the program appends to and does not read: no guard asks what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tnp.capture.guards.varying_values import ReadsVarying

__all__ = ["GrowingList", "refuse_uses"]


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
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ReadsVarying(self.description)

    method.__name__ = name
    return method


def refuse_uses(kind: type) -> None:
    """Makes all uses that a class of lists does not define itself, with a ``description``, raise :class:`ReadsVarying`."""
    kept = frozenset((*vars(kind), *vars(object)))
    for name in [*vars(list), "__str__", "__format__", "__reduce_ex__"]:
        compared = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__repr__", "__str__")
        if callable(getattr(list, name)) and (name not in kept or name in compared):
            setattr(kind, name, _reading(name))
    if "__radd__" not in kept:  # a list has none, and adds what a stand-in has
        setattr(kind, "__radd__", _reading("__radd__"))  # noqa: B010 (a type checker knows no such attribute)


setattr(GrowingList, "__iadd__", _added)  # noqa: B010 (list has an __add__ of another signature)
refuse_uses(GrowingList)
