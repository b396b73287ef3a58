"""Sweeping: nests that go through the rows of one array share one loop over them, though some of them add the rows up.

``A @ x`` sums along the rows of ``A``, ``y @ A`` sums over its rows; ``(A @ x) @ A`` sums each row times its own sum. As separate nests,
both read all of ``A``. But an iteration over the rows needs only one row, which the first nest brings into the cache. So one loop over the
rows runs all nests, one after the other in each row.

A loop that adds rows up carries its sums, so it cannot be split among threads directly. So the rows are divided into blocks with sums of
their own, which are added up at the end.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tnp.executors.llvm import target
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.loop_ir.collapsing import collapses
from tnp.executors.llvm.loop_ir.dependence import conflict, meetings
from tnp.executors.llvm.loop_ir.functions import typical
from tnp.executors.llvm.loop_ir.fusion import TRIED, renamed
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Buffer,
    Entry,
    Kernel,
    Nest,
    Panels,
    Reduce,
    Rows,
    Swept,
    statements_of,
)

__all__ = ["adds_rows", "sweep"]

#: rows at least, so that the blocks' own sums are few beside them
ROWS = 1024


def sweep(kernel: Kernel) -> Kernel:
    """The kernel with nests together that gain by it."""
    done: list[Entry] = []
    for entry in kernel.nests:
        for i in range(len(done) - 1, max(len(done) - TRIED, 0) - 1, -1):
            made = _together(done[i], entry)
            if made is not None:
                done[i] = made
                break
            if conflict(done[i], entry):
                done.append(entry)
                break
        else:
            done.append(entry)
    return replace(kernel, nests=done)


def adds_rows(nest: Nest | Rows) -> bool:
    """Whether a nest reduces over its outermost loop, and not over its innermost one: it adds rows up."""
    if isinstance(nest, Rows) or len(nest.loops) < 2:
        return False
    first, *inner = nest.loops
    return all(isinstance(s, Reduce) and first in s.over and not set(inner) & set(s.over) for s in nest.statements)


def _parts(entry: Entry) -> list[Nest | Rows]:
    if isinstance(entry, Swept):
        return entry.parts
    if not isinstance(entry, (Nest, Rows)) or isinstance(entry, Panels) or not entry.loops:
        return []
    statements = list(statements_of(entry))
    if any(isinstance(s, ORDERED) for s in statements) or (isinstance(entry, Rows) and len(entry.loops) > 1):
        return []
    first = entry.loops[0]
    reduces = any(isinstance(s, Reduce) and first in s.over for s in statements)
    return [entry] if not reduces or adds_rows(entry) else []


def _together(first: Entry, second: Entry) -> Swept | None:
    parts, more = _parts(first), _parts(second)
    if not parts or not more:
        return None
    rows, own = parts[0].loops[0], more[0].loops[0]
    statements = [*statements_of(first), *statements_of(second)]
    sums = [p for p in (*parts, *more) if adds_rows(p)]
    if not (rows.limit == own.limit) or typical(rows.limit) < ROWS or not sums:
        return None
    for a in statements_of(first):
        for b in statements_of(second):
            if isinstance(a, Reduce) and rows in a.over and any(load.buffer is a.buffer for load in b.reads):
                return None  # a sum of all rows
    if not all(collapses(statements, a, b) for p in sums for a, b in pairwise(p.loops[1:])):
        return None  # a row is one loop, which it is not where memory has gaps
    if any(ahead != 0 for _, ahead in meetings(first, second, rows, own)):
        return None  # what one of them leaves, the other one needs in other rows
    mine, theirs = (
        (_by_rows(p, rows) for p in (parts, more) if p) if rows is own else (_by_rows(parts, rows), _by_rows(more, own))
    )
    if sum(typical(b.bytes) for b in mine & theirs) < target.SWEPT_BYTES:
        return None
    row = sum(typical(b.bytes) // typical(rows.limit) for b in mine | theirs)
    row += sum(typical(s.buffer.bytes) for p in sums for s in statements_of(p))
    return Swept(rows, [*parts, *(renamed(p, {own: rows}) for p in more)]) if row <= target.SWEPT_ROW_BYTES else None


def _by_rows(parts: list[Nest | Rows], rows: Var) -> set[Buffer]:
    """The memory that is gone through by rows."""
    found = set()
    for part in parts:
        for s in statements_of(part):
            for buffer, at in ((s.buffer, s.at), *((load.buffer, load.at) for load in s.reads)):
                if buffer.role not in ("row", "point") and any(rows in i.terms for i in at):
                    found.add(buffer)
    return found
