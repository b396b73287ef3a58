"""Nests that follow each other through the same memory, a few rows behind, so that rows are used while they are in the
cache.

``b[1:-1] = f(a)`` followed by ``a[1:-1] = f(b)`` are two nests that both go through all of ``a`` and ``b``. The second
one may compute a row as soon as the first is done with the rows that both touch: with those that the second reads, and
with those that read what the second overwrites. So one loop runs both, the second nest some rows behind the first.

Each thread does so in a range of rows of its own. At the borders of a range the second nest would meet rows of another
thread's, which may not be done. Those few rows are left, and made when all threads are through. No row is computed
twice, so nests that write to their own arguments can follow each other, where :mod:`sliding` cannot put them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tnp.executors.llvm.graph import Indices, Node
from tnp.executors.llvm.index import disjoint
from tnp.executors.llvm.statements import Access, Nest

__all__ = ["Following", "conflicts", "follow", "loads_and_stores"]

#: memory that both nests touch has at least so many bytes: less stays in the cache anyway
SHARED_BYTES = 1 << 20
#: what both touch while the second nest is behind has at most so many bytes
WORKING_BYTES = 4 << 20
#: bytes of a row at least, which make up for a call
ROW_BYTES = 2048
#: rows of a thread for each one that is left at its borders, at least
ROWS_FOR_EACH_LEFT = 8


class Following(Nest):
    """Two nests. Row ``j`` of the ``second`` comes after the rows ``j + low`` to ``j + high`` of the ``first``."""

    shares_rows = False

    def __init__(self, first: Nest, second: Nest, low: int, high: int) -> None:
        self.first = first
        self.second = second
        self.low = low
        self.high = high
        self.outer = first.outer[:1]
        self.groups = [*first.groups, *second.groups]
        self.windows = {}

    def parts(self) -> list[Nest]:
        return [self.first, self.second]

    def rows_for_a_thread(self) -> int:
        return max(1, ROWS_FOR_EACH_LEFT * (self.high - self.low))


def follow(nests: Sequence[Nest], memory_of: Callable[[Node], Node], errors: set[Node]) -> list[Nest]:
    """``nests`` with neighbours put together that gain by it. Nests that find ``errors`` stay as they are: nothing is written
    before those are known."""
    result: list[Nest] = []
    for nest in nests:
        made = _together(result[-1], nest, memory_of, errors) if result else None
        if made is None:
            result.append(nest)
        else:
            result[-1] = made
    return result


def _together(first: Nest, second: Nest, memory_of: Callable[[Node], Node], errors: set[Node]) -> Following | None:
    for nest in (first, second):
        if not nest.outer or not nest.shares_rows or any(s.node in errors for s in nest.statements()):
            return None
    distances: set[int] = set()
    for x, y in conflicts(first, second, memory_of):
        distance = _rows_between(x.at, y.at, first, second)
        if distance is None:
            return None
        distances.add(distance)
    if not distances:
        return None
    made = Following(first, second, min(distances), max(distances))
    return made if _pays(made, memory_of) else None


def conflicts(first: Nest, second: Nest, memory_of: Callable[[Node], Node]) -> Iterator[tuple[Access, Access]]:
    """Accesses of two nests to the same memory, one of them a write."""
    theirs = list(loads_and_stores(second))
    for x in loads_and_stores(first):
        memory = memory_of(x.node)
        for y in theirs:
            if (x.writes or y.writes) and memory_of(y.node) is memory and not disjoint(x.at, y.at):
                yield x, y


def _rows_between(x: Indices, y: Indices, first: Nest, second: Nest) -> int | None:
    """How many rows the first nest is ahead when two accesses meet; ``None`` if they may meet at several distances."""
    for a, b in zip(x, y):
        if a.terms == {first.outer[0]: 1} and b.terms == {second.outer[0]: 1}:
            return b.constant - a.constant
    return None


def _pays(made: Following, memory_of: Callable[[Node], Node]) -> bool:
    rows = made.first.outer[0].limit
    if rows < 2 * made.rows_for_a_thread():
        return False
    touched = [{memory_of(a.node) for a in loads_and_stores(nest)} for nest in made.parts()]
    sizes = {m: math.prod(m.shape) * m.dtype.itemsize for m in touched[0] | touched[1]}
    shared = sum(sizes[m] for m in touched[0] & touched[1])
    row = sum(sizes.values()) // rows
    return shared >= SHARED_BYTES and row >= ROW_BYTES and row * (made.high - made.low + 2) <= WORKING_BYTES


def loads_and_stores(nest: Nest) -> Iterator[Access]:
    for statement in nest.statements():
        yield from statement.accesses()
