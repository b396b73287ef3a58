"""The functions of nests: loops in parallel, reductions by rows, of columns and of everything, scans, and nests that share loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir import compressed, ordered, searches, strips
from tnp.executors.llvm.loop_ir.accumulators import Partials, accumulator
from tnp.executors.llvm.loop_ir.addresses import Sum
from tnp.executors.llvm.loop_ir.collapsing import collapses
from tnp.executors.llvm.loop_ir.functions import Body, Function, typical
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Buffer,
    Compress,
    InPlace,
    Nest,
    Positions,
    Reduce,
    Rows,
    Scan,
    Scatter,
    Search,
    Statement,
    Swept,
    cost_of,
    product,
    statements_of,
    steps_of,
)
from tnp.executors.llvm.loop_ir.prefetch import next_rows
from tnp.executors.llvm.routines import ROUTINES

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["BLOCKS", "BlockCall", "Call", "NestCode", "RowsCode"]

#: blocks of a reduction that has no parallel loop, at most, and their iterations, at least
BLOCKS, BLOCK_LENGTH = 1024, 4096
#: columns that have accumulators at a time: where memory is gone through row by row, and where threads have columns of their own
WIDE, NARROW = 2048, 256
#: rows that are added at a time
TOGETHER = 4
#: Rows of fewer bytes are vectorised across rows.
SHORT = 64
#: rows of a block at least, and blocks at most
ROWS, ROW_BLOCKS = 128, 64
#: columns at most, each of which has sums in all blocks
MOST_COLUMNS = 1 << 16


@dataclass(frozen=True)
class Call:
    """The call of a function for ``count`` iterations, each of ``cost`` additions: integers, or extents."""

    name: str
    count: Any
    cost: Any

    def __call__(self, function: Function) -> None:
        function.call(self.name, function.size(self.count), function.size(self.cost))


@dataclass(frozen=True)
class BlockCall:
    """The call of a function for all blocks, an iteration of which costs so many additions; ``blocks`` gives how long they are, and how many."""

    name: str
    cost: Any
    blocks: Callable[[Function], tuple[str, str]]

    def __call__(self, function: Function) -> None:
        length, blocks = self.blocks(function)
        function.call(self.name, blocks, function.code.arithmetic("mul", function.size(self.cost), length))


class NestCode:
    """The functions of one nest. With ``keeps_first``, its outermost loop is not one with those inside of it."""

    def __init__(self, module: Module, nest: Nest | Rows | Swept, *, keeps_first: bool = False) -> None:
        self.module = module
        self.nest = nest
        self.statements: list[Statement] = list(statements_of(nest))
        self.offsets: dict[tuple[Buffer, tuple[Index, ...]], Index] = {}
        self.inner: list[Var] = []
        #: the words of the frame of a function that several nests share
        self.words: dict[Any, int] | None = None
        self.over: set[Var] = set(nest.reduced) if isinstance(nest, Nest) else set()
        #: loops that are one, by the variable of the innermost, with their number of iterations
        apart = 1 if keeps_first else 0
        kept = [(v, v.limit) for v in nest.loops[:apart]]
        self.runs = [] if self.scans else [*kept, *self._runs(nest.loops[apart:], self.over)]

    @property
    def scans(self) -> bool:
        """Whether its only statement runs in the order of a loop."""
        return isinstance(self.statements[0], ORDERED)

    def _runs(self, loops: Sequence[Var], over: set[Var]) -> list[tuple[Var, Any]]:
        runs: list[tuple[Var, Any]] = []
        for var in loops:
            if runs and (var in over) == (runs[-1][0] in over) and self._is_even(runs[-1][0], var):
                outer, count = runs.pop()
                self.inner.append(outer)
                runs.append((var, count * var.limit))
            else:
                runs.append((var, var.limit))
        return runs

    def offset(self, buffer: Buffer, at: tuple[Index, ...]) -> Index:
        """How many bytes an element is from the first."""
        key = (buffer, at)
        if key not in self.offsets:
            self.offsets[key] = buffer.offset(at)
        return self.offsets[key]

    def _is_even(self, outer: Var, var: Var) -> bool:
        return collapses(self.statements, outer, var, self.offset)

    @property
    def cost(self) -> int:
        """Additions of one point."""
        return cost_of(self.statements)

    @property
    def is_one_function(self) -> bool:
        """Whether :meth:`calls` gives one :class:`Call`, of a function that needs no memory of its own."""
        kinds = [var in self.over for var, _ in self.runs]
        if self.scans or not all(kinds):
            return not self.scans and (not any(kinds) or kinds[-1])
        return not kinds or self._is_alone(Function(self.module))

    def _is_alone(self, function: Function) -> bool:
        """Whether a reduction over all loops is one block."""
        (_, count), *others = self.runs
        return isinstance(count, int) and self._blocks(function, count, others)[1] == "1"

    def calls(self) -> Iterator[Callable[[Function], None]]:
        """The functions, and their calls."""
        kinds = [var in self.over for var, _ in self.runs]
        if self.scans:
            yield self._scan()
        elif not any(kinds):
            yield self._stores()
        elif all(kinds):
            yield from self._whole()
        elif kinds[-1]:
            yield self._rows()
        else:
            yield from self._columns()

    def _call(self, body: Body, first: Any, inner: Sequence[Any], cost: Any = None) -> Call:
        one = product([self.cost, *inner]) if cost is None else product([cost, *inner])
        return Call(body.finish(), first, one)

    def rows(self) -> Call:
        """The function of a range of rows, iterations of the outermost loop, over which nothing is reduced."""
        return self._rows() if self.over else self._stores()

    def _stores(self) -> Call:
        """All elements, in parallel over the outermost loop."""
        body = Body(self)
        if not self.runs:
            body.run()
            return self._call(body, 1, [])
        (var, count), *others = self.runs
        if not others and isinstance(count, int) and not self.module.is_plain:
            return self._parts(body, var, count)
        body.points(self.runs, "%begin", "%end")
        return self._call(body, count, [n for _, n in others])

    def _parts(self, body: Body, var: Var, count: int) -> Call:
        """All elements of one loop of known length, in parallel over parts of it that have one length."""
        length, parts = strips.parts_of(self.statements, count)
        is_even = parts * length == count or strips.may_repeat(self.statements)
        with body.plain_loop("%begin", "%end") as part:
            begin = "0" if parts == 1 else body.code.arithmetic("mul", part, str(length))
            if parts * length != count and is_even:
                begin = extreme(body.code, "smin", begin, str(count - length))
            end = body.code.arithmetic("add", begin, str(length))
            if is_even:
                strips.emit(body, var, begin, end, length, body.run, str(length))
            else:
                strips.emit(body, var, begin, extreme(body.code, "smin", end, str(count)), length, body.run)
        return self._call(body, parts, [length])

    def _rows(self) -> Call:
        """Reductions over the inner loops, in parallel over the outermost one."""
        body = Body(self)
        outer = [(v, n) for v, n in self.runs if v not in self.over]
        inner = [(v, n) for v, n in self.runs if v in self.over]
        (first, count), *others = outer
        with body.loop(first, "%begin", "%end"), body.nested(others):
            body.reset()
            body.points(inner)
            body.keep()
        return self._call(body, count, [n for _, n in (*others, *inner)])

    def _whole(self) -> Iterator[Callable[[Function], None]]:
        """Reductions over all loops: of blocks of the outermost one, in parallel, and then of their results."""
        (_, count), *others = self.runs
        body = Body(self)
        if self._is_alone(body.head):
            body.reset()
            body.points(self.runs)
            body.keep()
            yield self._alone(body)
            return
        partials = {s: Partials.make(self.module.scratch, BLOCKS) for s in body.reductions()}
        length, _ = self._blocks(body.head, count, others)
        with body.plain_loop("%begin", "%end") as block:
            begin = body.code.arithmetic("mul", block, length)
            end = extreme(body.code, "smin", body.code.arithmetic("add", begin, length), body.head.size(count))
            body.reset()
            body.points(self.runs, begin, end)
            for s, of_blocks in partials.items():
                body.accumulators[s].save(of_blocks, block)
        cost = product([self.cost, *(n for _, n in others)])
        yield BlockCall(body.finish(), cost, lambda function: self._blocks(function, count, others))
        yield self._sum_blocks(Body(self), partials)

    def _sum_blocks(self, body: Body, partials: Mapping[Reduce, Partials]) -> Call:
        """The function that adds up what blocks of a whole have found."""
        (_, count), *others = self.runs
        _, blocks = self._blocks(body.head, count, others)
        body.reset()
        with body.plain_loop("0", blocks, "scalar") as block:
            for s, of_blocks in partials.items():
                a = body.accumulators[s]
                a.add(a.saved(of_blocks, block))
        body.keep()
        return self._alone(body)

    def _alone(self, body: Body) -> Call:
        """The call of a function that is not in parallel."""
        return Call(body.finish(), 1, 1)

    def _blocks(self, function: Function, count: Any, others: Sequence[tuple[Var, Any]]) -> tuple[str, str]:
        """The iterations of a block, and how many blocks there are."""
        code, whole = function.code, function.size(count)
        enough = code.arithmetic("udiv", code.arithmetic("add", whole, str(BLOCKS - 1)), str(BLOCKS))
        length = extreme(code, "smax", enough, str(BLOCK_LENGTH if not others else 1))
        up = code.arithmetic("sub", length, "1")
        return length, code.arithmetic("udiv", code.arithmetic("add", whole, up), length)

    def _columns(self) -> Iterator[Callable[[Function], None]]:
        """Reductions over other loops than the innermost one, in parallel over the outermost that is kept. If only the innermost is: over
        blocks of rows, which go through memory as it lies; over tiles of columns, if there are few rows."""
        columns = Columns(self.nest.statements, self.runs)
        kept = columns.kept
        if not kept and typical(columns.outermost[1]) > 2 * ROWS and typical(columns.count) <= MOST_COLUMNS:
            yield from self._row_blocks(columns)
            return
        body = Body(self)
        inner = [n for v, n in self.runs if v in self.over]
        if not kept:
            columns = Columns(self.nest.statements, self.runs, NARROW)
            with body.plain_loop("%begin", "%end") as tile:
                columns.emit(body, tile)
            yield self._call(body, columns.tiles, [NARROW, *inner])
            return
        (first, number), *others = kept
        with body.loop(first, "%begin", "%end"), body.nested(others), columns.each_tile(body) as tile:
            columns.emit(body, tile)
        yield self._call(body, number, [columns.count, *inner, *(n for _, n in others)])

    def _row_blocks(self, columns: Columns) -> Iterator[Callable[[Function], None]]:
        """Blocks of rows in parallel, whose sums a second function adds up."""
        rows = columns.outermost[1]
        most = min(ROW_BLOCKS, rows // ROWS + 1) if isinstance(rows, int) else ROW_BLOCKS
        places = product([columns.count, most])
        blocks = RowBlocks(columns, rows, {s: Partials.make(self.module.scratch, places) for s in columns.reductions})
        body = Body(self)
        with body.plain_loop("%begin", "%end") as block:
            begin, end = rows_of_block(body, rows, block)
            with columns.each_tile(body) as tile:
                columns.accumulate(body, tile, begin, end)
                place = blocks.place(body, tile, block)
                columns.over(body, tile, lambda i: blocks.save(body, body.code.arithmetic("add", place, i), i))
        yield blocks.call(body, product([self.cost, columns.count, *(n for _, n in columns.between)]))
        yield blocks.ending(Body(self))

    def _scan(self) -> Call:
        """Partial results, in order along a loop, in parallel over the outermost of the others."""
        s, *_ = self.statements
        if isinstance(s, Compress):
            body = Body(self)
            compressed.write(body, [s for s in self.statements if isinstance(s, Compress)])
            return self._call(body, 1, [s.along.limit])
        if isinstance(s, Positions):
            body = Body(self)
            ordered.positions(body, s)
            return self._call(body, 1, [s.along.limit])
        if isinstance(s, Scatter):
            return self._scatter(s)
        if isinstance(s, InPlace):
            return self._in_place(s)
        if isinstance(s, Search):
            return self._search(s)
        assert isinstance(s, Scan)
        loops, position = self.nest.loops, self.nest.loops.index(s.along)
        outer, inner = loops[:position], loops[position + 1 :]
        split = (*outer, *inner)[:1]
        body = Body(self)
        with body.split(outer, split):
            if inner:
                ordered.scan_rows(body, s, inner, split)
            else:
                ordered.scan(body, s)
        return self._call(body, split[0].limit if split else 1, [v.limit for v in loops if v not in split])

    def _scatter(self, s: Scatter) -> Call:
        """Stores in the order of loops, in parallel over the outermost one, if its order does not matter."""
        body = Body(self)
        loops = self.nest.loops
        split = [v for v in loops[:1] if v not in s.ordered]
        with body.split(loops, split):
            ordered.scatter(body, s)
        return self._call(body, split[0].limit if split else 1, [v.limit for v in loops if v not in split])

    def _search(self, s: Search) -> Call:
        """Searches, in parallel over the outermost of the other loops."""
        body = Body(self)
        loops = [v for v in self.nest.loops if v is not s.along]
        around, point = loops[:-1], loops[-1] if loops else None
        with body.split(around, around[:1]):
            begin, end = ("0", body.head.size(point.limit)) if around and point else ("%begin", "%end")
            searches.search(body, s, point, begin, end)
        return self._call(body, loops[0].limit if loops else 1, [steps_of(s), *(v.limit for v in loops[1:])])

    def _in_place(self, s: InPlace) -> Call:
        """Rows or matrices, in parallel over the outermost loop."""
        body = Body(self)
        outer = self.nest.loops[: -len(s.inner)]
        split = outer[:1]
        with body.split(outer, split):
            ordered.in_place(body, s)
        size = [v.limit for v in s.inner]
        inner = [ROUTINES[s.op].cost, *(v.limit for v in outer[1:]), size[0], *size]
        return self._call(body, split[0].limit if split else 1, inner)

    def _part(self, body: Body, nest: Nest, runs: Sequence[tuple[Var, Any]]) -> None:
        """A nest in an iteration of the shared loops."""
        reduced = [r for r in runs if r[0] in nest.reduced]
        if not reduced:
            body.points(runs)
        elif runs[-1] in reduced:
            with body.nested([r for r in runs if r not in reduced]):
                body.reset()
                body.points(reduced)
                body.keep()
        else:
            columns = Columns(nest.statements, runs)
            with body.nested(columns.kept), columns.each_tile(body) as tile:
                columns.emit(body, tile)


class RowsCode(NestCode):
    """The function of nests that share loops, in parallel over the outermost one."""

    def __init__(self, module: Module, nest: Rows, *, keeps_first: bool = False) -> None:
        super().__init__(module, nest, keeps_first=keeps_first)
        self.parts = [(part, self._runs(part.loops, set(part.reduced))) for part in nest.nests]

    def rows(self) -> Call:
        body = Body(self)
        own = {s.buffer for s in self.statements if s.buffer.role == "row"}
        body.make_rows(sorted((b for b in own if b.shape), key=lambda b: b.name))
        (first, count), *others = self.runs
        cost: Any = 1
        with body.loop(first, "%begin", "%end"), body.nested(others):
            for nest, runs in self.parts:
                body.statements = nest.statements
                is_last = len(self.parts) > 1 and nest is self.parts[-1][0]
                if is_last and len(runs) == 1 and not nest.reduced and not self.module.is_plain:
                    body.ahead = next_rows(self, self.parts[0][0], self.runs[-1][0], runs[0])
                self._part(body, nest, runs)
                body.ahead = []
                cost = cost + product([cost_of(nest.statements), *(n for _, n in runs)])
        body.free_rows()
        return self._call(body, count, [n for _, n in others], cost)


class Columns:
    """Reductions over other loops than the innermost one: a tile of accumulators, one for each column, to which rows are added. Other
    loops that are kept, of which there may be some, stand outside."""

    def __init__(self, statements: Sequence[Statement], runs: Sequence[tuple[Var, Any]], width: int = WIDE) -> None:
        self.reductions = [s for s in statements if isinstance(s, Reduce)]
        over = {v for s in self.reductions for v in s.over}
        self.column, self.count = runs[-1]
        self.kept = [r for r in runs[:-1] if r[0] not in over]
        self.outermost, *self.between = [r for r in runs if r[0] in over]
        self.width = min(width, self.count) if isinstance(self.count, int) else width
        self.tiles = (self.count + (self.width - 1)) // self.width

    def each_tile(self, body: Body) -> AbstractContextManager[str]:
        """The loop over tiles."""
        return body.plain_loop("0", body.head.size(self.tiles))

    def over(self, body: Body, tile: str, write: Callable[[str], None]) -> None:
        """Writes the loop over a tile's columns; ``write`` is given their number in the tile."""
        begin, count = "0", str(self.width)
        if self.width != self.count:
            begin = body.code.arithmetic("mul", tile, str(self.width))
            left = body.code.arithmetic("sub", body.head.size(self.count), begin)
            count = extreme(body.code, "smin", count, left)
        strips.emit_columns(body, self.reductions, self.column, begin, count, write)

    def reset(self, body: Body, tile: str) -> None:
        for s in self.reductions:
            if s not in body.accumulators:
                body.accumulators[s] = accumulator(body, s, self.width)

        def write(i: str) -> None:
            for s in self.reductions:
                body.accumulators[s].reset(i)

        self.over(body, tile, write)

    def emit(self, body: Body, tile: str) -> None:
        """The results of a tile."""
        self.accumulate(body, tile, "0", body.head.size(self.outermost[1]))
        self.keep(body, tile)

    def keep(self, body: Body, tile: str) -> None:
        """Stores the accumulators where the results are."""

        def write(i: str) -> None:
            for s in self.reductions:
                body.store(s.buffer, s.at, body.accumulators[s].result(i))

        self.over(body, tile, write)

    def accumulate(self, body: Body, tile: str, begin: str, end: str) -> None:
        """Adds the rows of the outermost loop from ``begin`` to ``end``."""
        self.reset(body, tile)
        if self.between:
            with body.loop(self.outermost[0], begin, end):
                self.add_between(body, tile)
        else:
            self._add(body, tile, self.outermost[0], begin, end)

    def add_between(self, body: Body, tile: str) -> None:
        """Adds what an iteration of the outermost loop has."""
        with body.nested(self.between[:-1]):
            self._add(body, tile, self.between[-1][0], "0", body.head.size(self.between[-1][1]))

    def _add(self, body: Body, tile: str, row: Var, begin: str, end: str) -> None:
        """Adds rows, some at a time: what has been added is loaded and stored once."""
        code = body.code
        if not body.is_cheap() or self._has_vectors_of_rows:
            self._add_rows(body, tile, row, begin, end, 1)
            return
        several = code.arithmetic("and", code.arithmetic("sub", end, begin), str(-TOGETHER))
        middle = code.arithmetic("add", begin, several)
        body.when(code.compare("ne", several, "0"), lambda: self._add_rows(body, tile, row, begin, middle, TOGETHER))
        body.when(code.compare("ne", middle, end), lambda: self._add_rows(body, tile, row, middle, end, 1))

    @property
    def _is_narrow(self) -> bool:
        """Whether the loop over columns is written out: the accumulators are in registers."""
        return isinstance(self.count, int) and self.count <= strips.UNROLLED

    @property
    def _has_vectors_of_rows(self) -> bool:
        """Whether the loop over rows is vectorised: a vector holds one column's elements of several rows. LLVM loads short rows whole, and
        shuffles them; of longer ones it gathers elements, which is slow."""
        memory = {s.buffer for s in self.reductions} | {load.buffer for s in self.reductions for load in s.reads}
        return self._is_narrow and all(self.count * b.dtype.itemsize < SHORT for b in memory)

    def _add_rows(self, body: Body, tile: str, row: Var, begin: str, end: str, step: int) -> None:
        hint = ""
        if self._is_narrow and body.is_cheap():
            hint = "1 vectors" if self._has_vectors_of_rows else "scalar"
        with body.plain_loop(begin, end, hint, step) as first:
            self.add_rows(body, tile, [{row: Sum.of(body.code, first, i)} for i in range(step)])

    def prepare(self, body: Body, i: str) -> None:
        """Makes what elements of a column depend on."""

    def add_rows(self, body: Body, tile: str, rows: Sequence[dict[Var, str]]) -> None:
        """Adds some rows, of each of which it is said where a loop's variable is."""
        level = len(body.values) - 1

        def write(i: str) -> None:
            self.prepare(body, i)
            for s in self.reductions:
                a = body.accumulators[s]
                elements = []
                for row in rows:
                    body.values.append({**row, **{("known since", var): level for var in row}})
                    elements.append(a.element())
                    body.values.pop()
                a.add_all(elements, i)

        self.over(body, tile, write)


def block_rows(function: Function, rows: Any) -> tuple[str, str]:
    """The rows of a block, and how many blocks there are: by the number of rows alone."""
    code, count = function.code, function.size(rows)
    enough = code.arithmetic("udiv", code.arithmetic("add", count, str(ROW_BLOCKS - 1)), str(ROW_BLOCKS))
    length = extreme(code, "smax", enough, str(ROWS))
    up = code.arithmetic("add", count, code.arithmetic("sub", length, "1"))
    return length, code.arithmetic("udiv", up, length)


def rows_of_block(body: Body, rows: Any, block: str) -> tuple[str, str]:
    """The rows of a block, from one to before another."""
    length, _ = block_rows(body.head, rows)
    begin = body.code.arithmetic("mul", block, length)
    return begin, extreme(body.code, "smin", body.code.arithmetic("add", begin, length), body.head.size(rows))


class RowBlocks:
    """Blocks of rows. Each block has its own sums of the columns, in ``partials``. The length of a block depends on the number of rows
    alone."""

    def __init__(self, columns: Columns, rows: Any, partials: Mapping[Reduce, Partials]) -> None:
        self.columns = columns
        self.rows = rows
        self.partials = partials

    def place(self, body: Body, tile: str, block: str) -> str:
        """The number of the first column of a tile among those of all blocks."""
        first = body.code.arithmetic("mul", tile, str(self.columns.width))
        return body.code.arithmetic(
            "add", body.code.arithmetic("mul", block, body.head.size(self.columns.count)), first
        )

    def save(self, body: Body, place: str, i: str) -> None:
        """Stores the sums of column ``i`` of a tile at their place."""
        for s, partials in self.partials.items():
            body.accumulators[s].save(partials, place, i)

    def call(self, body: Body, cost: Any) -> BlockCall:
        """The call of a function for all blocks, a row of which costs so much."""
        return BlockCall(body.finish(), cost, lambda function: block_rows(function, self.rows))

    def over_blocks(self, body: Body, of_block: Callable[[str], Callable[[str, str], None]]) -> Call:
        """A function that combines what blocks have found, tile by tile. What ``of_block`` gives of a block is given a place and a column
        of a tile."""
        columns = self.columns
        _, blocks = block_rows(body.head, self.rows)
        with body.plain_loop("%begin", "%end") as tile:
            columns.reset(body, tile)
            with body.plain_loop("0", blocks) as block:
                write, place = of_block(block), self.place(body, tile, block)
                columns.over(body, tile, lambda i: write(body.code.arithmetic("add", place, i), i))
            columns.keep(body, tile)
        return Call(body.finish(), columns.tiles, ROW_BLOCKS * columns.width)

    def ending(self, body: Body) -> Call:
        """The function that adds up the sums of all blocks, tile by tile."""

        def add(place: str, i: str) -> None:
            for s in self.columns.reductions:
                a = body.accumulators[s]
                a.add(a.saved(self.partials[s], place), i)

        return self.over_blocks(body, lambda _: add)
