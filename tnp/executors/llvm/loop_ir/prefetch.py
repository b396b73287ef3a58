"""Prefetching of the next row.

Nests that share rows may read each row several times (softmax: the maximum, the exponentials with their sum, the quotients). They are bound
by memory in their first loop over a row; the others find the row in the cache. So the last loop over a row, if it is one of stores, prefetches
the next row, some cache lines at a time. AMD's processors go on to the next row by themselves if an array exceeds the last-level cache; there
prefetches cost up to a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import target
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.nodes import Buffer, Nest
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body
    from tnp.executors.llvm.loop_ir.nests import NestCode

__all__ = ["Ahead", "ask", "elements", "next_rows"]


@dataclass(frozen=True)
class Ahead:
    """A buffer that is read in rows from end to end: where a row begins, how far the next one is, and the bytes of an element."""

    buffer: Buffer
    row: Index
    step: Any
    itemsize: int


def next_rows(code: NestCode, first: Nest, rows: Var, run: tuple[Var, Any]) -> list[Ahead]:
    """What the first nest of some that share the loop ``rows`` reads of a row, if the last loop over it is ``run``."""
    from tnp.executors.llvm.loop_ir.functions import typical

    found: dict[Buffer, Ahead] = {}
    _, length = run
    for load in (load for s in first.statements for load in s.reads):
        buffer, itemsize = load.buffer, load.dtype.itemsize
        size = typical(buffer.bytes)
        if buffer.role not in ("input", "inout") or not target.PREFETCHED_FROM <= size <= (
            target.PREFETCHED_TO if engine.target().is_zen else size
        ):
            continue
        offset = code.offset(buffer, load.at)
        step = offset.terms.get(rows, 0)
        inner = set(offset.terms) - {rows}
        is_row = len(inner) == 1 and all(offset.terms[v] == itemsize for v in inner)
        if (
            is_row
            and typical(length) * itemsize >= 2 * target.PREFETCHED_LINES * target.LINE_BYTES
            and typical(step) == typical(length) * itemsize
        ):
            found[buffer] = Ahead(buffer, Index(offset.constant, {rows: step}), step, itemsize)
    return list(found.values())


def elements(ahead: Sequence[Ahead]) -> int:
    """Elements of the part of a loop for which lines are prefetched at a time."""
    return target.PREFETCHED_LINES * target.LINE_BYTES // max(a.itemsize for a in ahead)


def ask(body: Body, ahead: Sequence[Ahead], first: str) -> None:
    """Prefetches the part of the next rows that begins at column ``first``. Behind the last row that has no effect."""
    code, count = body.code, elements(ahead)
    code.require("@llvm.prefetch", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for a in ahead:
        column = code.arithmetic("mul", first, str(a.itemsize))
        total = code.arithmetic("add", code.arithmetic("add", body.index(a.row), body.head.size(a.step)), column)
        for line in range(-(-count * a.itemsize // target.LINE_BYTES)):
            where = code.arithmetic("add", total, str(line * target.LINE_BYTES))
            place = code.op(f"getelementptr i8, ptr {body.pointer_to(a.buffer)}, i64 {where}")
            code.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
