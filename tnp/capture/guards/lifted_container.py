"""Traced containers: copies of the caller's containers whose items are traced values."""

from __future__ import annotations

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
        if isinstance(self.made, (list, tuple)):
            now: Any = self.made
        elif type(self.made) is dict:
            now = [*self.made, *self.made.values()]
        elif type(self.made) is set:
            return self.made != set(self.contents)
        else:
            now = pytree.flatten(self.made)[0]
        return len(now) != len(self.contents) or any(a is not b for a, b in zip(now, self.contents))

    def grew(self) -> bool:
        """Whether it has more or fewer items than at first. This is quicker than :meth:`changed`."""
        if isinstance(self.made, (list, tuple)):
            return len(self.made) != len(self.contents)
        return type(self.made) is dict and 2 * len(self.made) != len(self.contents)

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
