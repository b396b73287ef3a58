"""Innermost loops in parts of a fixed length, a multiple of LLVM's vector length times its interleave count.

A loop whose trip count is a known multiple of its vectors is one loop in machine code. For any other, LLVM emits two or
three (vectors, fewer vectors, single elements), which doubles its compile time, and the scalar remainder is slow. The
last vector of a short loop is masked, where the processor has masks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tnp.executors.llvm.emit.body import UNROLLED, Body, Part
from tnp.executors.llvm.emit.prefetch import LINE_BYTES, LINES, ask_for_part, next_rows
from tnp.executors.llvm.graph import Update
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.statements import Statement, vector_length
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = [
    "CHUNK",
    "Parts",
    "Tail",
    "blocks_of",
    "even_length",
    "goes_backwards",
    "innermost",
    "least",
    "masked_vector",
    "part_of",
    "parts_of",
    "repeats_stores",
    "tail_of",
    "vectors_that_fill",
    "whole_vectors",
]

#: elements of one innermost loop that a thread goes through at a time, and that one accumulator sums
CHUNK = 4096
#: vectors that LLVM interleaves at most
INTERLEAVED = 4
#: what the time of an iteration comes to where fewer vectors are interleaved
SLOWER = {INTERLEAVED: 1.0, 2: 1.03, 1: 1.06}
#: vectors whose time a part takes besides its iterations
PART_COST = 1
#: vectors of a loop whose last one is masked, at most: where parts may overlap, and where they may not
MASKED, MASKED_ELSE = 4, 16
#: additions of an iteration of it, at least, if it has more than ``UNROLLED``
MASKED_COST = 64


@dataclass(frozen=True)
class Parts:
    """``limit`` iterations as ``count`` parts of ``length``. The last one begins early if it ``overlaps`` the one before,
    else it has what is left. LLVM is told to interleave so many ``vectors`` where it would not fill the length otherwise."""

    limit: int
    length: int
    count: int
    overlaps: bool
    vectors: int | None = None

    def part(self, body: Body, i: str) -> Part:
        """Part ``i``."""
        if not self.overlaps:
            return part_of(body, i, self.length, self.limit)._replace(vectors=self.vectors)
        whole = body.code.op(f"mul nuw nsw i64 {i}, {self.length}")
        begin = least(body, whole, self.limit - self.length)
        return Part(begin, "", self.length, self.vectors)


@dataclass(frozen=True)
class Tail:
    """What the vectors that LLVM takes at a time leave over of a loop that is reduced: ``length`` iterations that fill vectors, of
    which those from number ``first`` on were not among the ``whole`` ones before. They have accumulators of their own, which LLVM
    would else make one number twice, and add to it one by one what fills no vector."""

    whole: int
    length: int
    first: int
    vectors: int | None


def tail_of(statements: Sequence[Statement], limit: int) -> Tail | None:
    """How a loop of so many iterations ends, if it is long and not all of it fills the vectors that LLVM takes at a time."""
    vector = vector_length(statements)
    rest = limit % (INTERLEAVED * vector)
    if not rest or rest == limit:
        return None
    length = -(-rest // vector) * vector
    return Tail(limit - rest, length, length - rest, _interleaved(length // vector))


def part_of(body: Body, i: str, length: int, limit: int) -> Part:
    """Part ``i`` of a loop: ``length`` iterations, of the last one what is left."""
    if limit <= length:
        return Part("0", str(limit))
    begin = body.code.op(f"mul nuw nsw i64 {i}, {length}")
    if limit % length == 0:
        return Part(begin, "", length)
    end = body.code.op(f"add nuw nsw i64 {begin}, {length}")
    return Part(begin, least(body, end, limit))


def least(body: Body, register: str, limit: int) -> str:
    """The lesser of a register and a number."""
    body.code.require("@llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
    return body.code.op(f"call i64 @llvm.smin.i64(i64 {register}, i64 {limit})")


def parts_of(module: Module, statements: Sequence[Statement], limit: int) -> Parts:
    """How an innermost loop over ``statements`` is cut into parts."""
    if module.is_plain and limit <= CHUNK:
        return Parts(limit, limit, 1, False)
    vector = vector_length(statements)
    if limit % vector == 0 and limit <= CHUNK:
        return Parts(limit, limit, 1, False, _interleaved(limit // vector))
    length = even_length(statements, limit)
    if length is not None:
        return Parts(limit, length, limit // length, False)
    if limit > vector and may_repeat(module, statements):
        return _overlapping(limit, vector)
    return Parts(limit, min(limit, CHUNK), -(-limit // CHUNK), False)


def _interleaved(vectors: int) -> int | None:
    """How many vectors at a time so many are; ``None`` where that is LLVM's own choice."""
    return None if vectors % INTERLEAVED == 0 else 2 if vectors % 2 == 0 else 1


def vectors_that_fill(statements: Sequence[Statement], length: int) -> int | None:
    """How many vectors at a time LLVM is to be told to take in a loop of that length (0: it is not known); ``None``: nothing."""
    vectors, rest = divmod(length, vector_length(statements))
    return _interleaved(vectors) if vectors and not rest else None


def whole_vectors(statements: Sequence[Statement], length: int) -> int:
    """The next length that the vectors fill which LLVM takes at a time."""
    step = INTERLEAVED * vector_length(statements)
    return -(-length // step) * step


def _overlapping(limit: int, vector: int) -> Parts:
    """The parts of equal length that take the least time: in short loops, the elements that are computed twice count."""
    fewest = max(2, -(-limit // CHUNK))
    found = []
    for vectors, slower in SLOWER.items():
        step = vectors * vector
        for count in (fewest, fewest + 1):
            length = -(-limit // (count * step)) * step
            if length > limit:
                continue
            count = -(-limit // length)
            time = count * (length * slower + PART_COST * vector)
            found.append((time, Parts(limit, length, count, True, _interleaved(length // vector))))
    return min(found, key=lambda f: f[0])[1]


def _of_lines(statements: Sequence[Statement]) -> int:
    """Elements in as many cache lines as are prefetched at a time."""
    return LINES * LINE_BYTES * 8 * vector_length(statements) // engine.target().vector_bits


def blocks_of(statements: Sequence[Statement], limit: int) -> tuple[int, int, int]:
    """A loop that is reduced as blocks of one length near ``CHUNK``, which fills the vectors that LLVM takes at a time: the length, how many
    blocks there are, and the iterations that are left, as few as can be."""
    if limit <= CHUNK:
        return limit, 1, 0
    step = INTERLEAVED * vector_length(statements)
    length = min(range(CHUNK, CHUNK // 4, -step), key=lambda length: limit % length)
    return length, *divmod(limit, length)


def even_length(statements: Sequence[Statement], limit: int) -> int | None:
    """The greatest length of parts that ``limit`` is a multiple of, if there is one near ``CHUNK``."""
    length, _, rest = blocks_of(statements, limit)
    return length if limit > CHUNK and not rest else None


@contextmanager
def innermost(body: Body, run: Sequence[Var], statements: Sequence[Statement]) -> Iterator[None]:
    """The loop over ``run``, inside others and around nothing else."""
    limit = math.prod(v.limit for v in run)
    parts = parts_of(body.module, statements, limit)
    ahead = next_rows(body, run, statements) if may_repeat(body.module, statements) else []
    length = _of_lines(statements)
    if ahead and length <= limit:
        parts = Parts(limit, length, -(-limit // length), True)
    masked = masked_vector(statements, limit, parts.overlaps)
    if masked or not parts.overlaps:
        with body.together(
            run, vectors=parts.vectors, masked=masked, from_last=goes_backwards(body.module, run, statements)
        ):
            yield
        return
    with body.loop("0", str(parts.count)) as i:
        part = parts.part(body, i)
        ask_for_part(body, ahead, part.begin, parts.length)
        with body.together(run, part):
            yield


def masked_vector(statements: Sequence[Statement], limit: int, may_overlap: bool) -> int:
    """The elements of a vector in a short loop whose last one is masked: what it has beside the loop's elements is neither read nor
    written. 0 for other loops.

    Elements one by one would take as long as a vector each, and up to ``UNROLLED`` of them are written out, which takes
    long to compile. Where an iteration of others costs little, elements one by one are faster: the processor cannot read
    what a masked store wrote before it is in the cache. Longer loops are parts that overlap where that is possible.
    """
    if limit > UNROLLED and sum(s.cost() for s in statements) < MASKED_COST:
        return 0
    vector = vector_length(statements)
    most = MASKED if may_overlap else MASKED_ELSE
    if not engine.target().has_masks or limit % vector == 0 or not vector // 2 < limit <= most * vector:
        return 0
    return 0 if any(s.reduced or s.ordered for s in statements) else vector


def goes_backwards(module: Module, run: Sequence[Var], statements: Sequence[Statement]) -> bool:
    """Whether a loop, whose iterations may be run in any order, goes through memory backwards, as over ``x[::-1]``: from its last
    position on it takes vectors as they lie there."""
    if any(s.reduced or s.ordered for s in statements):
        return False
    steps = {offset.terms.get(run[-1], 0) for offset in module.offsets(statements)}
    return min(steps, default=0) < 0 and max(steps) <= 0


def may_repeat(module: Module, statements: Sequence[Statement]) -> bool:
    """Whether iterations may be run twice: nothing that is written is read."""
    return not any(s.reduced for s in statements) and repeats_stores(module, statements)


def repeats_stores(module: Module, statements: Sequence[Statement]) -> bool:
    """Whether what is not reduced may be run twice."""
    owner = module.plan.memory_of
    stores = [s for s in statements if not s.reduced]
    if any(s.ordered or (isinstance(s.node, Update) and (s.node.accumulates or s.node.lookups)) for s in stores):
        return False
    written = {owner(s.store.node) for s in stores}
    return not any(owner(access.node) in written for s in statements for access in s.loads)
