"""Tuples and lists of other items, of the same class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tnp.core.errors import NeedsEager

__all__ = ["is_made_of_items", "of_items", "with_items"]


def is_made_of_items(kind: type) -> bool:
    """Whether a class of named tuples takes its items: it has the ``__new__`` that came with its ``_fields``."""
    return "_fields" in next(c.__dict__ for c in kind.__mro__ if "__new__" in c.__dict__)


def of_items(kind: Any, items: Iterable[Any]) -> Any:
    """A tuple or list of a class. The user's ``__new__`` does not run: it ran when the program made its tuple.

    Raises :class:`NeedsEager` for classes that take other arguments, such as those of results of ``scipy.stats``.
    """
    if not hasattr(kind, "_fields"):
        return kind(items)
    if not is_made_of_items(kind):
        return tuple.__new__(kind, items)
    try:
        return kind(*items)
    except TypeError:
        raise NeedsEager(f"it makes a {kind.__name__}, which takes other arguments than its items") from None


def with_items(x: Any, items: Iterable[Any]) -> Any:
    """A tuple or list of the class of ``x`` with other items (:func:`of_items`)."""
    return of_items(type(x), items)
