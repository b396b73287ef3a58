"""The names that look at one memory, by where they are read last."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

__all__ = ["Members"]


class Members:
    """Names with the positions of their last reads. Of many, only those are looked through that are still read."""

    def __init__(self, *found: tuple[str, int]) -> None:
        self._names = {name for name, _ in found}
        self._by_last_use = [(last, name) for name, last in found]

    def add(self, name: str, last_use: int) -> None:
        if name not in self._names:
            self._names.add(name)
            insort(self._by_last_use, (last_use, name))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def used_after(self, index: int) -> Iterator[str]:
        """The names that are read after ``index``."""
        for last, name in reversed(self._by_last_use):
            if last <= index:
                return
            yield name

    def last_use(self) -> int:
        return self._by_last_use[-1][0]
