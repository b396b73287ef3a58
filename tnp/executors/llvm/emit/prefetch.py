"""Memory that is asked for before it is needed.

A nest that goes through each row several times (softmax: the maximum, the exponentials with their sum, the quotients)
waits for memory in its first loop over a row, and leaves it idle in the others, which find the row in the cache. So the
last loop over a row asks for the next one: a loop without a reduction in steps of some lines, between its parts, and
one with a reduction for the beginning of the row, from where the processor goes on by itself.

AMD's processors go on from row to row by themselves: there, asking for the beginning of a row gains nothing, and asking
for anything costs up to a third in an array that the last cache does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tnp.executors.llvm.emit.body import Body
from tnp.executors.llvm.graph import Indices
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.statements import Statement
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Memory

__all__ = ["FAR", "LINES", "LINE_BYTES", "ask_for_beginning", "ask_for_part", "next_rows"]

LINE_BYTES = 64
#: lines that are asked for between two parts of a loop: a core waits for about a dozen at a time
LINES = 8
#: lines at the beginning of a row
FIRST_LINES = 32
#: smaller arrays are in the cache
LARGE = 512 * 1024
#: larger arrays are in no cache
FAR = 16 << 20


def next_rows(body: Body, run: Sequence[Var], statements: Sequence[Statement]) -> list[tuple[Memory, Indices]]:
    """What the next iteration of the loops outside reads first, from end to end, if the loop over ``run`` is the last one of this
    iteration: memories and positions."""
    if _goes_on() and any(s.reduced for s in statements):
        return []
    nest = body.nest
    loops = [g for g in nest.groups if g.inner(len(nest.outer))]
    if not nest.outer or len(loops) < 2 or statements is not loops[-1].statements:
        return []
    return list(dict.fromkeys(_read_in_rows(body, run, loops[0].statements)))


def _goes_on() -> bool:
    """Whether the processor goes on to the next row by itself, though it went through this one more than once."""
    return engine.target().is_zen


def _read_in_rows(
    body: Body, run: Sequence[Var], statements: Sequence[Statement]
) -> Iterator[tuple[Memory, Indices]]:  # fmt: skip
    limit = math.prod(v.limit for v in run)
    for access in (a for s in statements for a in s.loads):
        memory = body.module.memories.get(body.plan.memory_of(access.node))
        if memory is None or memory.node.op != "input":
            continue
        size = access.node.dtype.itemsize
        row = memory.offset(access.at).terms.get(body.nest.outer[-1], 0)
        whole = math.prod(memory.node.shape) * size
        if row == limit * size >= 2 * LINES * LINE_BYTES and LARGE <= whole <= (FAR if _goes_on() else whole):
            yield memory, access.at


def ask_for_part(body: Body, rows: Sequence[tuple[Memory, Indices]], begin: str, length: int) -> None:
    """Asks for the next rows' ``length`` elements from ``begin`` on."""
    for memory, at in rows:
        size = memory.node.dtype.itemsize
        _ask(body, memory, at, body.code.op(f"mul nuw nsw i64 {begin}, {size}"), -(-length * size // LINE_BYTES))


def ask_for_beginning(body: Body, rows: Sequence[tuple[Memory, Indices]]) -> None:
    """Asks for the next rows' first lines, less than half of them."""
    for memory, at in rows:
        row = memory.offset(at).terms[body.nest.outer[-1]]
        _ask(body, memory, at, "0", min(FIRST_LINES, row // (2 * LINE_BYTES)))


def _ask(body: Body, memory: Memory, at: Indices, column: str, lines: int) -> None:
    """Asks for so many lines of the next row, from byte ``column`` of it on. Behind the last row nothing is read, and no harm done."""
    code, outer = body.code, body.nest.outer
    code.require("@llvm.prefetch", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    index = memory.offset(at)
    total = code.op(f"add i64 {column}, {index.constant + index.terms[outer[-1]]}")
    for var in outer:
        if var in index.terms:
            total = code.op(f"add i64 {total}, {code.op(f'mul i64 {body.find(var)}, {index.terms[var]}')}")
    for line in range(lines):
        where = code.op(f"add i64 {total}, {line * LINE_BYTES}")
        place = code.op(f"getelementptr i8, ptr {body.pointer(memory)}, i64 {where}")
        code.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
