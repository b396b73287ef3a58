"""Nests that go through the rows of one array in one sweep, though some of them sum the rows.

``A @ x`` sums along the rows of ``A``, ``y @ A`` adds its rows up; ``(A @ x) @ A`` adds up each row times the sum along
it. As nests of their own, both read all of ``A``. But what an iteration over the rows needs of the matrix is its one
row, which the first of them brings into the cache. So one loop over the rows runs them all, one after the other in each
row.

A loop that adds up rows carries its sums from row to row, and cannot be shared among threads as it is. So the rows are
cut in blocks, of which each has sums of its own, combined pairwise when all blocks are through. The blocks do not
depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tnp.executors.llvm.graph import Node, Reduction
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.skewed_fusion import conflicts, loads_and_stores
from tnp.executors.llvm.statements import Nest

__all__ = ["Sweep", "adds_rows", "sweep"]

#: memory that two nests read has at least so many bytes: less stays in the cache anyway
SHARED_BYTES = 4 << 20
#: what one row of everything takes at most, so that it is still in a core's cache when the next nest comes to it
ROW_BYTES = 512 * 1024
#: shorter rows are not summed several at a time: the processor comes to the next one soon enough
LONG_ROW_BYTES = 4096
#: rows at least, so that the blocks' own sums are few beside them
ROWS = 1024


class Sweep(Nest):
    """Several nests over the same ``rows``, in order. Those of which :func:`adds_rows` is true have sums for each block of rows."""

    shares_rows = False

    def __init__(self, nests: Sequence[Nest], rows: Var) -> None:
        self.nests = list(nests)
        self.outer = [rows]
        self.groups = [group for nest in nests for group in nest.groups]
        self.windows = {}

    def parts(self) -> list[Nest]:
        return self.nests


def adds_rows(nest: Nest) -> bool:
    """Whether a nest reduces over its outermost loop, and has others inside it: it adds up rows."""
    if not nest.shares_rows or nest.outer or len(nest.groups) != 1:
        return False
    (group,) = nest.groups
    return all(
        isinstance(s.node, Reduction) and not s.ordered and not s.reduces_last and s.loops[0] in s.reduced
        for s in group.statements
    )


def _sums_rows(nest: Nest) -> bool:
    """Whether a nest does nothing but reduce each row."""
    if not nest.shares_rows or len(nest.outer) != 1 or len(nest.groups) != 1:
        return False
    (group,) = nest.groups
    return all(
        isinstance(s.node, Reduction) and s.reduces_last and len(s.loops) - len(s.reduced) == 1
        for s in group.statements
    )


def sweep(nests: Sequence[Nest], memory_of: Callable[[Node], Node], errors: set[Node]) -> list[Nest]:
    """``nests`` with those put together that gain by it. Nests that find ``errors`` stay as they are."""
    result: list[Nest] = []
    for nest in nests:
        for k in reversed(range(len(result))):
            made = _together(result[k], nest, memory_of, errors)
            if made is not None:
                result[k] = made
                break
            if any(True for _ in conflicts(result[k], nest, memory_of)):
                result.append(nest)
                break
        else:
            result.append(nest)
    return [_alone(nest, memory_of, errors) or nest for nest in result]


def _rows_of(nest: Nest) -> Var | None:
    """The loop over rows that a nest can share."""
    if not (nest.shares_rows or isinstance(nest, Sweep)) or any(s.ordered for s in nest.statements()):
        return None
    if nest.outer:
        return nest.outer[0]
    return nest.groups[0].statements[0].loops[0] if adds_rows(nest) else None


def _together(first: Nest, second: Nest, memory_of: Callable[[Node], Node], errors: set[Node]) -> Sweep | None:
    rows = _rows_of(first)
    if rows is None or rows is not _rows_of(second) or rows.limit < ROWS:
        return None
    parts = [*first.parts(), *second.parts()]
    if not any(map(adds_rows, parts)) or any(s.node in errors for nest in parts for s in nest.statements()):
        return None
    for x, y in conflicts(first, second, memory_of):
        if not any(a == b and a.terms == {rows: 1} for a, b in zip(x.at, y.at)):
            return None  # what one of them leaves, the other one needs in other rows
    touched = [_bytes_of_rows(nest, rows, memory_of) for nest in (first, second)]
    shared = rows.limit * sum(n for m, n in touched[0].items() if m in touched[1])
    return _if_it_fits(Sweep(parts, rows), memory_of) if shared >= SHARED_BYTES else None


def _alone(nest: Nest, memory_of: Callable[[Node], Node], errors: set[Node]) -> Sweep | None:
    """A nest that does nothing but sum rows, or add them up: several at a time."""
    if not (adds_rows(nest) or _sums_rows(nest)):
        return None
    rows = _rows_of(nest)
    if rows is None or rows.limit < ROWS or any(s.node in errors for s in nest.statements()):
        return None
    row = sum(_bytes_of_rows(nest, rows, memory_of).values())
    pays = rows.limit * row >= SHARED_BYTES and (adds_rows(nest) or row >= LONG_ROW_BYTES)
    return _if_it_fits(Sweep([nest], rows), memory_of) if pays else None


def _if_it_fits(sweep: Sweep, memory_of: Callable[[Node], Node]) -> Sweep | None:
    """The sweep, if what one row takes of all memory, and what rows are added up in, fit a core's cache."""
    (rows,) = sweep.outer
    row = sum(_bytes_of_rows(sweep, rows, memory_of).values())
    sums = sum(_bytes(s.node) for nest in sweep.nests if adds_rows(nest) for s in nest.statements())
    return sweep if row + sums <= ROW_BYTES else None


def _bytes_of_rows(nest: Nest, rows: Var, memory_of: Callable[[Node], Node]) -> dict[Node, int]:
    """Of each memory that a nest goes through by rows, the bytes of a row."""
    found = {}
    for access in loads_and_stores(nest):
        if any(rows in i.terms for i in access.at):
            memory = memory_of(access.node)
            found[memory] = _bytes(memory) // rows.limit
    return found


def _bytes(memory: Node) -> int:
    return math.prod(memory.shape) * int(memory.dtype.itemsize)
