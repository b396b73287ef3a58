"""Reachability in graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["reached"]

T = TypeVar("T")


def reached(starts: Iterable[T], neighbours: Callable[[T], Iterable[T]]) -> set[T]:
    """``starts``, their ``neighbours``, the neighbours of those, and so on.

    >>> sorted(reached([4], lambda n: [n // 2]))
    [0, 1, 2, 4]
    """
    found: set[T] = set()
    stack = list(starts)
    while stack:
        x = stack.pop()
        if x not in found:
            found.add(x)
            stack += neighbours(x)
    return found
