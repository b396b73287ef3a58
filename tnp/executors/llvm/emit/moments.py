"""The code of sums and sums of squares in one pass, see :mod:`tnp.executors.llvm.moments`.

A block of the values is gone through twice while it is in the cache: for its sums, then for its squares around its own mean. The sums of
all blocks are combined pairwise, as those of any reduction; what they say of the center moves the squares of each block there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.accumulators import SLOT_BYTES, Accumulator, combine_pairwise, make_accumulator
from tnp.executors.llvm.emit.body import Body, entry
from tnp.executors.llvm.emit.parts import CHUNK, Parts, even_length, part_of, vectors_that_fill, whole_vectors
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.moments import Moments, Moved
from tnp.executors.llvm.statements import Statement

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = ["emit_moments"]

#: rows of a block, where columns are kept
ROWS = 128
#: bytes of a block, in a core's own cache
BLOCK_BYTES = 256 * 1024
#: fewer columns are no loop worth it
COLUMNS = 16


def _is_in_one_pass(nest: Moments, runs: Sequence[list[Var]]) -> bool:
    """Whether the loops are such that blocks can be made: all are reduced, or those outside the ones that are kept."""
    reduced = nest.total.reduced
    if len(runs) == 1:
        return runs[0][0] in reduced
    return len(runs) == 2 and runs[0][0] in reduced and runs[1][0] not in reduced and _length(runs[1]) >= COLUMNS


def _length(run: Sequence[Var]) -> int:
    return math.prod(v.limit for v in run)


def emit_moments(
    module: Module, nest: Moments, moved: Moved, runs: Sequence[list[Var]]
) -> tuple[list[Callable[[Code], None]], Callable[[Code], None]] | None:
    """The calls of the functions that sum blocks and combine the sums, and, for when the center is known, of that which combines the
    squares. ``None`` if the loops, in ``runs`` that are one loop each, are not such that blocks can be made."""
    if not _is_in_one_pass(nest, runs):
        return None
    work = _Work(module, nest, moved, runs)
    cost = sum(s.cost() * s.iterations() for s in work.statements)
    first = module.call(work.sum_blocks(), work.count, cost / work.count)
    return [first, module.call(work.combine_sums(), 1, 0)], module.call(work.combine_squares(), 1, 0)


class _Work:
    """Blocks of ``rows`` times ``tile`` elements. Without loops that are kept, there is one column."""

    def __init__(self, module: Module, nest: Moments, moved: Moved, runs: Sequence[list[Var]]) -> None:
        self.module = module
        self.nest = nest
        self.moved = moved
        self.run, *kept = runs
        self.kept = kept[0] if kept else []
        self.columns = _length(self.kept)
        self.limit = _length(self.run)
        statements = [*nest.sums, moved.squares]
        self.statements = statements
        itemsize = int(nest.values.dtype.itemsize)
        if self.kept:
            self.rows = ROWS
            loads = len({a.node for s in nest.sums for a in s.loads})
            width = BLOCK_BYTES // (ROWS * itemsize * max(loads, 1))
            self.tiles = -(-self.columns // width)
            self.tile = self.columns if self.tiles == 1 else whole_vectors(statements, -(-self.columns // self.tiles))
        else:
            self.rows = even_length(module, statements, self.limit) or CHUNK
            self.tiles = self.tile = 1
        self.blocks = -(-self.limit // self.rows)
        self.count = self.blocks * self.tiles
        #: memory of each block's sums, its own mean, the sum of distances to that, and of their squares
        places = self.blocks * self.columns
        last = module.plan.nests.index(moved)
        self.slots = {s: module.temporary(places * SLOT_BYTES, module.nest, last) for s in statements}
        self.mean_slot, self.rest_slot = (module.temporary(places * itemsize, module.nest, last) for _ in range(2))

    def _in_memory(self, body: Body, s: Statement, slot: int) -> Accumulator:
        base = body.head.op(f"load ptr, ptr {entry(body.head, '%ctx', slot)}")
        return make_accumulator(body, s, pointer=base)

    def _all(self, body: Body) -> tuple[dict[Statement, Accumulator], Accumulator, Accumulator]:
        total = self.nest.total
        sums = {s: self._in_memory(body, s, slot) for s, slot in self.slots.items()}
        return sums, self._in_memory(body, total, self.mean_slot), self._in_memory(body, total, self.rest_slot)

    @contextmanager
    def _columns(self, body: Body, part: Any = None) -> Iterator[tuple[str, str]]:
        """A loop over columns, or those of a part: gives the column, and its number in the part."""
        if not self.kept:
            yield "0", "0"
            return
        if part is not None:
            part = part._replace(vectors=vectors_that_fill(self.statements, self.tile))
        vectors = {} if part is not None else {"vectors": vectors_that_fill(self.statements, self.columns)}
        with body.together(self.kept, part, independent=True, **vectors) as column:
            inside = column if part is None else body.code.op(f"sub nuw nsw i64 {column}, {part.begin}")
            yield column, inside

    def sum_blocks(self) -> str:
        """The function that goes through the values."""
        nest, body = self.nest, Body(self.module, self.nest)
        code, dtype = body.code, nest.values.dtype
        sums, means, rests = self._all(body)
        rows = {s: make_accumulator(body, s, self.tile) for s in self.statements}
        mean, rest = (make_accumulator(body, nest.total, self.tile) for _ in range(2))
        squares = rows[self.moved.squares]
        with body.loop("%begin", "%end", maybe_empty=True) as i:
            block, tile = i, "0"
            if self.tiles > 1:
                block, tile = code.op(f"udiv i64 {i}, {self.tiles}"), code.op(f"urem i64 {i}, {self.tiles}")
            part = None
            if self.tiles > 1:
                part = Parts(self.columns, self.tile, self.tiles, overlaps=True).part(body, tile)
            those = part_of(body, block, self.rows, self.limit)
            with self._columns(body, part) as (_, c):
                for a in (*rows.values(), rest):
                    a.reset(c)
            with body.together(self.run, those), self._columns(body, part) as (_, c):
                for s in nest.sums:
                    rows[s].add_element(c)
            count = self._count(body, block)
            with self._columns(body, part) as (_, c):
                mean.put(scalars.emit(code, "div", [rows[nest.total].get(c), count], dtype), c)
            with body.together(self.run, those), self._columns(body, part) as (_, c):
                value = body.value(nest.values, nest.total.at)
                distance = scalars.emit(code, "sub", [value, mean.get(c)], dtype)
                rest.add(distance, c)
                squares.add(scalars.emit(code, "mul", [distance, distance], dtype), c)
            first = code.op(f"mul nuw nsw i64 {block}, {self.columns}")
            with self._columns(body, part) as (column, c):
                to = code.op(f"add nuw nsw i64 {first}, {column}")
                for s, a in rows.items():
                    sums[s].put(a.get(c), to)
                means.put(mean.get(c), to)
                rests.put(rest.get(c), to)
        return body.finish()

    def _count(self, body: Body, block: str) -> str:
        """How many elements each of a block's sums has, as a number of their dtype."""
        code, dtype = body.code, self.nest.values.dtype
        whole, last = (scalars.constant(float(n), dtype) for n in (self.rows, (self.limit - 1) % self.rows + 1))
        if whole == last:
            return str(whole)
        is_last = code.op(f"icmp eq i64 {block}, {self.blocks - 1}")
        kind = scalars.register_type(dtype)
        return code.op(f"select i1 {is_last}, {kind} {last}, {kind} {whole}")

    def _vectors(self) -> int | None:
        return vectors_that_fill(self.statements, self.columns) if self.kept else None

    def combine_sums(self) -> str:
        """The function that combines the blocks' sums."""
        body = Body(self.module, self.nest)
        sums, _, _ = self._all(body)
        for s in self.nest.sums:
            combine_pairwise(sums[s], self.blocks, self.columns, self._vectors())
        with self._columns(body) as (column, _):
            for s in self.nest.sums:
                body.store(s.node, s.store.at, sums[s].result(column))
        return body.finish()

    def combine_squares(self) -> str:
        """The function that combines the blocks' squares, moved to the center."""
        body, squares = Body(self.module, self.moved), self.moved.squares
        code, dtype = body.code, self.nest.values.dtype
        sums, means, rests = self._all(body)
        total = sums[squares]
        with body.loop("0", str(self.blocks)) as block:
            count = self._count(body, block)
            first = code.op(f"mul nuw nsw i64 {block}, {self.columns}")
            with self._columns(body) as (column, _):
                at = code.op(f"add nuw nsw i64 {first}, {column}")
                mean, own = means.get(at), total.get(at)
                away = scalars.emit(code, "sub", [mean, body.value(self.moved.center, squares.at)], dtype)
                twice = scalars.emit(code, "add", [rests.get(at), rests.get(at)], dtype)
                slope = scalars.emit(code, "add", [twice, scalars.emit(code, "mul", [count, away], dtype)], dtype)
                there = scalars.emit(code, "add", [own, scalars.emit(code, "mul", [slope, away], dtype)], dtype)
                # Of a block whose sum is infinite the squares are, too, or one is NaN.
                finite = scalars.emit(code, "isfinite", [mean], dtype)
                total.put(scalars.emit(code, "where", [finite, there, own], dtype), at)
        combine_pairwise(total, self.blocks, self.columns, self._vectors())
        with self._columns(body) as (column, _):
            body.store(squares.node, squares.store.at, total.result(column))
        return body.finish()
