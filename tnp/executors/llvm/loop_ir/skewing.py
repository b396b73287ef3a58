"""Skewing: nests that go through the same memory, one some rows behind the other, so that rows are reused in the cache.

``b[1:-1] = f(a)`` followed by ``a[1:-1] = f(b)`` are two nests that both go through ``a`` and ``b``. The second may make a row as soon as
the first is done with the rows that both access: those that the second reads, and those of which the second overwrites what the first
reads. So one loop runs both, the second nest some rows behind the first. The code decides for the sizes of a call whether that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tnp.core import dtypes
from tnp.executors.llvm import target
from tnp.executors.llvm.loop_ir.dependence import meetings, touched
from tnp.executors.llvm.loop_ir.functions import typical
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Buffer,
    Entry,
    Kernel,
    Nest,
    Panels,
    Reduce,
    Rows,
    Skewed,
    statements_of,
)

__all__ = ["bytes_of", "skew", "touched_by_both"]


def skew(kernel: Kernel) -> Kernel:
    """The kernel with neighbours together that gain by it for some sizes."""
    entries: list[Entry] = []
    rows: list[Buffer] = []
    for entry in kernel.nests:
        made = _together(entries[-1], entry, len(rows)) if entries else None
        if made is None:
            entries.append(entry)
        else:
            entries[-1] = made
            rows.append(made.made)
    return replace(kernel, temporaries=[*kernel.temporaries, *rows], nests=entries)


def _together(first: Entry, second: Entry, number: int) -> Skewed | None:
    if not isinstance(first, (Nest, Rows)) or not isinstance(second, (Nest, Rows)):
        return None
    if not _has_rows(first) or not _has_rows(second):
        return None
    distances: set[Any] = {ahead for _, ahead in meetings(first, second, first.loops[0], second.loops[0])}
    shared = touched_by_both(first, second)
    if not distances or None in distances or typical(bytes_of(shared)) < target.SKEWED_CODE_BYTES:
        return None
    made = Buffer(f"made{number}", dtypes.uint8, (second.loops[0].limit,))
    return Skewed(first, second, min(distances), max(distances), made)


def _has_rows(nest: Nest | Rows) -> bool:
    """Whether a nest has loops inside of its outermost one, which is parallel. A product by panels has not: it reuses what it reads
    for all rows of a panel."""
    statements = list(statements_of(nest))
    if isinstance(statements[0], ORDERED) or not nest.loops or isinstance(nest, Panels):
        return False
    inner = len(nest.loops) > 1 or isinstance(nest, Rows)
    return inner and not any(isinstance(s, Reduce) and nest.loops[0] in s.over for s in statements)


def touched_by_both(first: Nest | Rows, second: Nest | Rows) -> list[Buffer]:
    """The memory that both nests use."""
    mine, theirs = (set().union(*touched(statements_of(n))) for n in (first, second))
    return [b for b in mine & theirs if b.role not in ("row", "point")]


def bytes_of(buffers: Sequence[Buffer]) -> Any:
    """The bytes of some buffers, an integer or an extent."""
    total: Any = 0
    for b in buffers:
        total = b.bytes + total
    return total
