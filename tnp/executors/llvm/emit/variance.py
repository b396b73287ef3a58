"""The code of sums and sums of squares in one pass, see :mod:`tnp.executors.llvm.one_pass_variance`.

A block of the values is gone through twice while it is in the cache: for its sums, then for its squares around its own
mean. The sums of all blocks are combined pairwise, as those of any reduction; what they say of the center moves the
squares of each block there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.accumulators import SLOT_BYTES, Accumulator, combine_pairwise, make_accumulator
from tnp.executors.llvm.emit.body import Body, Part, copy_bytes, entry, set_bytes
from tnp.executors.llvm.emit.parts import CHUNK, Parts, even_length, part_of, vectors_that_fill, whole_vectors
from tnp.executors.llvm.emit.prefetch import FAR, LINE_BYTES
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.one_pass_variance import Centered, Moments
from tnp.executors.llvm.statements import Statement

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Memory, Module

__all__ = ["emit_moments"]

#: rows of a block, where columns are kept
ROWS = 128
#: bytes of a block, in a core's own cache
BLOCK_BYTES = 256 * 1024
#: rows that are added at a time
TOGETHER = 4
#: blocks whose sums are added one after the other; more are combined pairwise
IN_ORDER = 1024
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
    module: Module, nest: Moments, moved: Centered, runs: Sequence[list[Var]]
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

    def __init__(self, module: Module, nest: Moments, moved: Centered, runs: Sequence[list[Var]]) -> None:
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
            self.tile = min(self.columns, whole_vectors(statements, -(-self.columns // -(-self.columns // width))))
            self.tiles = -(-self.columns // self.tile)
        else:
            self.rows = even_length(statements, self.limit) or CHUNK
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
    def _columns(self, body: Body, part: Part | None = None, piece: Part | None = None) -> Iterator[tuple[str, str]]:
        """A loop over columns, or those of a part, or of a piece of one: gives the column, and its number in the part."""
        if not self.kept:
            yield "0", "0"
            return
        length = self.columns if part is None else self.tile
        loop = piece or part or Part("0", str(self.columns))
        if piece is None:
            loop = loop._replace(vectors=vectors_that_fill(self.statements, length))
        with body.together(self.kept, loop, independent=True) as column:
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
        with body.loop("%begin", "%end") as i:
            block, tile = i, "0"
            if self.tiles > 1:
                block, tile = code.op(f"udiv i64 {i}, {self.tiles}"), code.op(f"urem i64 {i}, {self.tiles}")
            part = None
            if self.tiles > 1:
                part = Parts(self.columns, self.tile, self.tiles, overlaps=True).part(body, tile)
            those = part_of(body, block, self.rows, self.limit)
            following = code.op(f"add nuw nsw i64 {i}, 1")
            for a in (*rows.values(), rest):  # all are sums
                set_bytes(code, a.pointer, str(self.tile * a.size), 0)

            def add(at: Sequence[str]) -> None:
                with self._columns(body, part) as (_, c):
                    for s in nest.sums:
                        a = rows[s]
                        a.add(_pairwise(a, self._at(body, at, a.element)), c)

            def add_squares(at: Sequence[str]) -> None:
                with (
                    self._asking(body, following, at, those, part) as piece,
                    self._columns(body, part, piece) as (_, c),
                ):
                    own = mean.get(c)
                    values = self._at(body, at, lambda: body.value(nest.values, nest.total.at))
                    distances = [scalars.emit(code, "sub", [x, own], dtype) for x in values]
                    rest.add(_pairwise(rest, distances), c)
                    squares.add(_pairwise(squares, [scalars.square_to_add(code, d, dtype) for d in distances]), c)

            self._over_rows(body, those, add)
            count = self._count(body, block)
            with self._columns(body, part) as (_, c):
                mean.put(scalars.emit(code, "div", [rows[nest.total].get(c), count], dtype), c)
            self._over_rows(body, those, add_squares)
            to = code.op(f"mul nuw nsw i64 {block}, {self.columns}")
            if part is not None:
                to = code.op(f"add nuw nsw i64 {to}, {part.begin}")
            for a, whole in (*((a, sums[s]) for s, a in rows.items()), (mean, means), (rest, rests)):
                copy_bytes(code, whole.part(to), a.pointer, str(self.tile * a.size))
        return body.finish()

    def _over_rows(self, body: Body, those: Part, write: Callable[[Sequence[str]], None]) -> None:
        """Loops over the rows of a block: ``write`` is given the rows of an iteration, which are several where columns are kept,
        because each time the sums of all columns come from memory and go back."""
        if not self.kept:
            with body.together(self.run, those) as row:
                write([row])
            return
        code = body.code
        count = str(those.count) if those.count else code.op(f"sub nuw nsw i64 {those.end}, {those.begin}")
        groups = code.op(f"udiv i64 {count}, {TOGETHER}")
        with body.loop("0", groups, maybe_empty=True) as group:
            first = code.op(f"add nuw nsw i64 {those.begin}, {code.op(f'mul nuw nsw i64 {group}, {TOGETHER}')}")
            write([first, *(code.op(f"add nuw nsw i64 {first}, {k}") for k in range(1, TOGETHER))])
        if self.limit % TOGETHER:
            done = code.op(f"add nuw nsw i64 {those.begin}, {code.op(f'mul nuw nsw i64 {groups}, {TOGETHER}')}")
            with body.loop(
                done, those.end or code.op(f"add nuw nsw i64 {those.begin}, {count}"), maybe_empty=True
            ) as row:
                write([row])

    def _at(self, body: Body, rows: Sequence[str], value: Callable[[], Any]) -> list[Any]:
        """What ``value`` gives in each of the rows."""
        found = []
        for row in rows:
            body.known.append({**dict.fromkeys(self.run[:-1], "0"), self.run[-1]: row})
            found.append(value())
            body.known.pop()
        return found

    @contextmanager
    def _asking(
        self, body: Body, following: str, rows: Sequence[str], those: Part, part: Part | None
    ) -> Iterator[Part | None]:
        """A loop over pieces of the columns, each before it asks for the piece of the block ``following`` that has its place there.

        This block is in the cache, so that memory would be idle.
        """
        length = whole_vectors(self.statements, 1)
        found = list(self._asked())
        if not found or self.tile % length:
            yield None
            return
        code = body.code
        code.require("@llvm.prefetch", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        block, tile = code.op(f"udiv i64 {following}, {self.tiles}"), code.op(f"urem i64 {following}, {self.tiles}")
        first = code.op(f"mul nuw nsw i64 {tile}, {self.tile}")
        down = code.op(f"sub i64 {code.op(f'mul nuw nsw i64 {block}, {self.rows}')}, {those.begin}")
        with body.loop("0", str(self.tile // length)) as p:
            ahead = code.op(f"mul nuw nsw i64 {p}, {length}")
            column = code.op(f"add nuw nsw i64 {first}, {ahead}")
            for memory, index, itemsize in found:
                right = code.op(f"add i64 {code.op(f'mul i64 {column}, {itemsize}')}, {index.constant}")
                for row in rows:
                    away = code.op(f"mul i64 {code.op(f'add i64 {row}, {down}')}, {index.terms.get(self.run[-1], 0)}")
                    place = code.op(
                        f"getelementptr i8, ptr {body.pointer(memory)}, i64 {code.op(f'add i64 {away}, {right}')}"
                    )
                    for line in range(-(-length * itemsize // LINE_BYTES)):
                        where = code.op(f"getelementptr i8, ptr {place}, i64 {line * LINE_BYTES}")
                        code.line(f"call void @llvm.prefetch.p0(ptr {where}, i32 0, i32 2, i32 1)")
            begin = ahead if part is None else code.op(f"add nuw nsw i64 {part.begin}, {ahead}")
            yield Part(begin, "", length)

    def _asked(self) -> Iterator[tuple[Memory, Index, int]]:
        """What the values are read from along the columns, and is in no cache: memory, offset, bytes of an element."""
        if not self.kept:
            return
        for access in self.nest.total.loads:
            memory = self.module.memories.get(self.module.plan.memory_of(access.node))
            if memory is None or memory.node.op != "input":
                continue
            index, itemsize = memory.offset(access.at), int(access.node.dtype.itemsize)
            if index.terms.get(self.kept[-1], 0) == itemsize and access.node.size * itemsize >= FAR:
                yield memory, index, itemsize

    def _count(self, body: Body, block: str) -> str:
        """How many elements each of a block's sums has, as a number of their dtype."""
        code, dtype = body.code, self.nest.values.dtype
        whole, last = (scalars.constant(float(n), dtype) for n in (self.rows, (self.limit - 1) % self.rows + 1))
        if whole == last:
            return str(whole)
        is_last = code.op(f"icmp eq i64 {block}, {self.blocks - 1}")
        kind = scalars.register_type(dtype)
        return code.op(f"select i1 {is_last}, {kind} {last}, {kind} {whole}")

    @property
    def _in_order(self) -> bool:
        """Whether blocks are few enough to be added one after the other, to what is stored, which takes a fraction of the time to compile."""
        alike = all(s.node.dtype is scalars.reducer("sum", s.node.dtype).dtype for s in self.statements)
        return bool(self.kept) and self.blocks <= IN_ORDER and alike

    def _add_up(self, body: Body, sums: dict[Statement, Accumulator]) -> None:
        """Adds all blocks' sums, which are many, and stores the results."""
        vectors = vectors_that_fill(self.statements, self.columns) if self.kept else None
        combine_pairwise(list(sums.values()), self.blocks, self.columns, vectors)
        with self._columns(body) as (column, _):
            for s, a in sums.items():
                body.store(s.node, s.store.at, a.result(column))

    def _add_in_order(self, body: Body, s: Statement, block: str, value: Any) -> None:
        """Adds a block's sum to what is stored of the blocks before."""
        code, dtype = body.code, s.node.dtype
        together = scalars.emit(code, "add", [body.load(s.node, s.store.at), value], dtype)
        is_first = code.op(f"icmp eq i64 {block}, 0")
        body.store(s.node, s.store.at, scalars.emit(code, "where", [is_first, value, together], dtype))

    def combine_sums(self) -> str:
        """The function that combines the blocks' sums."""
        body = Body(self.module, self.nest)
        sums = {s: a for s, a in self._all(body)[0].items() if s is not self.moved.squares}
        if not self._in_order:
            self._add_up(body, sums)
            return body.finish()
        with body.loop("0", str(self.blocks)) as block:
            first = body.code.op(f"mul nuw nsw i64 {block}, {self.columns}")
            with self._columns(body) as (column, _):
                at = body.code.op(f"add nuw nsw i64 {first}, {column}")
                for s, a in sums.items():
                    self._add_in_order(body, s, block, a.get(at))
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
                rest = rests.get(at)
                twice = scalars.emit(code, "add", [rest, rest], dtype)
                slope = scalars.emit(code, "add", [twice, scalars.emit(code, "mul", [count, away], dtype)], dtype)
                there = scalars.emit(code, "add", [own, scalars.emit(code, "mul", [slope, away], dtype)], dtype)
                # Of a block whose sum is infinite the squares are, too, or one is NaN.
                finite = scalars.emit(code, "isfinite", [mean], dtype)
                value = scalars.emit(code, "where", [finite, there, own], dtype)
                if self._in_order:
                    self._add_in_order(body, squares, block, value)
                else:
                    total.put(value, at)
        if not self._in_order:
            self._add_up(body, {squares: total})
        return body.finish()


def _pairwise(a: Accumulator, values: Sequence[Any]) -> Any:
    """Values as one, neighbours first."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2])
        values = [*(a.combine(a.body.code, x, y) for x, y in pairs), *values[len(values) // 2 * 2 :]]
    return values[0]
