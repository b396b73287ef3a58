"""Traced containers: copies of the caller's containers whose items are traced values."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from tnp.capture.guards.prologue import Source
from tnp.core import pytree

__all__ = ["LiftedContainer"]


@dataclass(frozen=True)
class LiftedContainer:
    """A container made for the program in place of one that it was given, and what it held then."""

    made: Any
    contents: list[Any]
    source: Source
    kind: type
    #: the container that the program was given
    real: Any

    def changed(self) -> bool:
        """Whether the program changed it."""
        if isinstance(self.made, tuple):
            return False
        if isinstance(self.made, list):
            now: Any = self.made
        elif type(self.made) is dict:
            now = [*self.made, *self.made.values()]
        elif type(self.made) is set:
            return self.made != set(self.contents)
        else:
            now = pytree.flatten(self.made)[0]
        return len(now) != len(self.contents) or not all(map(operator.is_, now, self.contents))

    def restore(self) -> None:
        """Takes back what the program did to it, on trial."""
        if not self.changed():
            return
        if type(self.made) is dict:
            half = len(self.contents) // 2
            self.made.clear()
            self.made.update(zip(self.contents[:half], self.contents[half:]))
        elif type(self.made) is set:
            self.made.clear()
            self.made.update(self.contents)
        elif isinstance(self.made, list):
            self.made[:] = self.contents
