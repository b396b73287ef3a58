"""Tuples and lists of other items, of the same class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tnp.core.errors import NeedsEager

__all__ = ["with_items"]


def with_items(x: Any, items: Iterable[Any]) -> Any:
    """A tuple or list of the class of ``x`` with other items.

    Raises :class:`NeedsEager` for classes that take other arguments, such as those of results of ``scipy.stats``.
    """
    kind = type(x)
    if not hasattr(kind, "_fields"):
        return kind(items)
    try:
        return kind(*items)
    except TypeError:
        raise NeedsEager(f"it makes a {kind.__name__}, which takes other arguments than its items") from None
