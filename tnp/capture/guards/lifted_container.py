"""Traced containers: copies of the caller's containers whose items are traced values."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnp.capture.guards.prologue import Source
from tnp.capture.objects.growing_list import GrowingList
from tnp.capture.objects.row_list import ListStandIn
from tnp.core import pytree

__all__ = ["MAY_CHANGE", "PLAIN_KEYS", "LiftedContainer", "same_keys", "same_set"]


@dataclass(frozen=True)
class LiftedContainer:
    """A container made for the program in place of one that it was given, and what it held then."""

    made: Any
    contents: list[Any]
    source: Source
    kind: type
    #: the container that the program was given
    real: Any
    #: whether a program may change it, which is an effect
    may_change: bool = False

    def changed(self) -> bool:
        """Whether the program changed it."""
        if isinstance(self.made, (tuple, ListStandIn)):
            return False
        if type(self.made) is GrowingList:
            return bool(self.made.added)
        now: Any
        if isinstance(self.made, list):
            now = self.made
        elif self.kind is np.ndarray:
            now = self.made.cells.held
        elif isinstance(self.made, dict):
            now = [*self.made, *self.made.values()]
        elif type(self.made) is set:
            return self.made != set(self.contents)
        else:
            now = pytree.flatten(self.made)[0]
        return len(now) != len(self.contents) or not all(map(operator.is_, now, self.contents))

    def change(self) -> tuple[bool, Any] | None:
        """The change that the program made to a list or a dict: ``True`` and the items that it added or replaced, or ``False`` and all items.
        ``None`` if there is none. Of an array, ``False`` and the elements that it replaced, by their indices."""
        if not self.changed():
            return None
        if self.kind is np.ndarray:
            places = np.ndindex(*self.made.shape)
            pairs = zip(places, self.made.cells.held, self.contents)
            return False, {at: x for at, x, before in pairs if x is not before}
        if type(self.made) is GrowingList:
            return True, self.made.added
        known = len(self.contents)
        if isinstance(self.made, (list, deque)):
            now = list(self.made)
            is_longer = len(now) >= known and all(map(operator.is_, now, self.contents))
            return is_longer, now[known:] if is_longer else now
        keys, values = self.contents[: known // 2], self.contents[known // 2 :]
        if len(self.made) < len(keys) or not all(map(operator.is_, self.made, keys)):
            return False, dict(self.made)
        before = dict(zip(keys, values))
        return True, {k: v for k, v in self.made.items() if k not in before or before[k] is not v}

    def release(self) -> None:
        """Lets go of the caller's array of objects or strings, which stand-ins may be kept for."""
        if self.kind is np.ndarray:
            self.made.cells.given = None

    def restore(self) -> None:
        """Takes back what the program did to it, on trial."""
        if not self.changed():
            return
        if type(self.made) is GrowingList:
            self.made.added.clear()
        elif isinstance(self.made, dict):
            half = len(self.contents) // 2
            self.made.clear()
            self.made.update(zip(self.contents[:half], self.contents[half:]))
        elif type(self.made) is set:
            self.made.clear()
            self.made.update(self.contents)
        elif self.kind is np.ndarray:
            self.made.cells.held[:] = self.contents
        elif isinstance(self.made, list):
            self.made[:] = self.contents
        elif isinstance(self.made, deque):
            self.made.clear()
            self.made.extend(self.contents)


#: kinds of containers of Python's, besides lists and dicts, that a program may change
MAY_CHANGE = frozenset((OrderedDict, defaultdict, deque, Counter))
#: types of keys that are compared by value
PLAIN_KEYS = frozenset((str, int, bytes, bool, float, type(None)))


def same_keys(found: dict[Any, Any], keys: list[Any]) -> bool:
    """Whether a dict has these very keys, or equal ones of kinds that never change."""
    return len(found) == len(keys) and all(
        a is b or (type(a) is type(b) and type(a) in PLAIN_KEYS and a == b) for a, b in zip(found, keys)
    )


def same_set(found: Any, expected: frozenset[Any]) -> bool:
    return found == expected and {type(x) for x in found} == {type(x) for x in expected}
