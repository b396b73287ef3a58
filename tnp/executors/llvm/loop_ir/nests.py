"""The functions of nests: loops in parallel, reductions by rows, of columns and of everything, scans, and nests that share loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.emit.kernel import c_strides
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.index import Index, Var, linear
from tnp.executors.llvm.loop_ir import strips
from tnp.executors.llvm.loop_ir.functions import Body, Function, product
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Buffer,
    Load,
    Nest,
    Position,
    Positions,
    Reduce,
    Rows,
    Scan,
    Statement,
    parts_of,
)
from tnp.executors.llvm.loop_ir.strips import cost_of

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["BLOCKS", "Call", "NestCode", "RowsCode"]

#: blocks of a reduction that has no parallel loop, at most, and their iterations, at least
BLOCKS, BLOCK_LENGTH = 1024, 4096
#: columns that a thread takes of a reduction over rows, and rows that it adds at a time
COLUMNS, TOGETHER = 256, 4


@dataclass(frozen=True)
class Call:
    """The call of a function for ``count`` iterations, each of ``cost`` additions: integers, or extents."""

    name: str
    count: Any
    cost: Any

    def __call__(self, function: Function) -> None:
        function.call(self.name, function.size(self.count), function.size(self.cost))


class NestCode:
    """The functions of one nest. With ``keeps_first``, its outermost loop is not one with those inside of it."""

    def __init__(self, module: Module, nest: Nest | Rows, *, keeps_first: bool = False) -> None:
        self.module = module
        self.nest = nest
        self.statements: list[Statement] = (
            [s for inner in nest.nests for s in inner.statements] if isinstance(nest, Rows) else nest.statements
        )
        self.offsets: dict[tuple[Buffer, tuple[Index, ...]], Index] = {}
        self.inner: list[Var] = []
        self.over: set[Var] = set() if isinstance(nest, Rows) else set(nest.reduced)
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
            self.offsets[key] = linear(at, c_strides(buffer.shape, buffer.dtype.itemsize))
        return self.offsets[key]

    def _accesses(self) -> Iterator[Index]:
        for s in self.statements:
            yield self.offset(s.buffer, s.at)
            for x in parts_of(s.value):
                if isinstance(x, Load):
                    yield self.offset(x.buffer, x.at)
                elif isinstance(x, Position):
                    yield x.index

    def _is_even(self, outer: Var, var: Var) -> bool:
        """Whether a loop and the one around it are one loop: every memory is gone through evenly, and no position is asked."""
        if any(isinstance(x, Position) for s in self.statements for x in parts_of(s.value)):
            return False
        return all(i.terms.get(outer, 0) == i.terms.get(var, 0) * var.limit for i in self._accesses())

    @property
    def cost(self) -> int:
        """Additions of one point."""
        return cost_of(self.statements)

    def calls(self) -> Iterator[Callable[[Function], None]]:
        """The functions, and their calls."""
        kinds = [var in self.over for var, _ in self.runs]
        if self.scans:
            yield self._scan()
        elif not any(kinds):
            yield self._stores()
        elif all(kinds):
            yield from self._whole()
        elif kinds == sorted(kinds):
            yield self._rows()
        elif kinds == [True] * kinds.count(True) + [False] * kinds.count(False) and kinds.count(False) == 1:
            yield self._columns()
        else:
            raise Refused("a reduction over loops inside and outside of others")

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
        (_, count), *others = self.runs
        body.points(self.runs, "%begin", "%end")
        return self._call(body, count, [n for _, n in others])

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
        length, blocks = self._blocks(body.head, count, others)
        with body.plain_loop("%begin", "%end") as block:
            begin = body.code.op(f"mul nuw nsw i64 {block}, {length}")
            end = extreme(body.code, "smin", body.code.op(f"add nuw nsw i64 {begin}, {length}"), body.head.size(count))
            body.reset()
            body.points(self.runs, begin, end)
            for i, s in enumerate(self.statements):
                body.store_partial((self, i), s, block)
        name = body.finish()

        def call(function: Function) -> None:
            length, blocks = self._blocks(function, count, others)
            inner = function.size(product([self.cost, *(n for _, n in others)]))
            function.call(name, blocks, function.code.op(f"mul i64 {inner}, {length}"))

        yield call
        ending = Body(self)
        _, blocks = self._blocks(ending.head, count, others)
        ending.reset()
        with ending.plain_loop("0", blocks, "scalar") as block:
            for i, s in enumerate(self.statements):
                ending.add_partial((self, i), s, block)
        ending.keep()
        last = ending.finish()
        yield lambda function: function.code.line(f"call void @{last}(ptr %ctx, i64 0, i64 1)")

    def _blocks(self, function: Function, count: Any, others: Sequence[tuple[Var, Any]]) -> tuple[str, str]:
        """The iterations of a block, and how many blocks there are."""
        code = function.code
        whole = function.size(count)
        enough = code.op(f"udiv i64 {code.op(f'add i64 {whole}, {BLOCKS - 1}')}, {BLOCKS}")
        least = BLOCK_LENGTH if not others else 1
        length = extreme(function.code, "smax", enough, str(least))
        up = code.op(f"sub i64 {length}, 1")
        return length, code.op(f"udiv i64 {code.op(f'add i64 {whole}, {up}')}, {length}")

    def _columns(self) -> Call:
        """Reductions over the outer loops, row by row into the results' memory, in parallel over tiles of columns."""
        for s in self.statements:
            assert isinstance(s, Reduce)
            if scalars.reducer(s.op, s.buffer.dtype).dtype is not s.buffer.dtype:
                raise Refused("a reduction in another dtype than its result's")
        body = Body(self)
        column, count = self.runs[-1]
        *outer, (row, number) = self.runs[:-1]
        tiles = (count + (COLUMNS - 1)) // COLUMNS
        rows = body.head.size(number)
        several = body.head.code.arithmetic("and", rows, str(-TOGETHER))
        with body.plain_loop("%begin", "%end") as tile:
            begin = body.code.arithmetic("mul", tile, str(COLUMNS))
            end = extreme(body.code, "smin", body.code.arithmetic("add", begin, str(COLUMNS)), body.head.size(count))
            strips.emit_columns(body, column, begin, end, body.store_neutral)
            with body.nested(outer):
                body.when(
                    body.code.compare("ne", several, "0"),
                    lambda: self._add_rows(body, row, "0", several, TOGETHER, begin, end),
                )
                body.when(
                    body.code.compare("ne", several, rows),
                    lambda: self._add_rows(body, row, several, rows, 1, begin, end),
                )
        return self._call(body, tiles, [COLUMNS, *(n for _, n in self.runs[:-1])])

    def _add_rows(self, body: Body, row: Var, first: str, last: str, step: int, begin: str, end: str) -> None:
        """Adds rows to the columns from ``begin`` to ``end``, so many at a time: what has been added is loaded and stored once."""
        count = body.code.arithmetic("udiv", body.code.arithmetic("sub", last, first), str(step))
        with body.plain_loop("0", count) as k:
            start = body.code.arithmetic("add", first, body.code.arithmetic("mul", k, str(step)))
            rows = [{row: body.code.arithmetic("add", start, str(i))} for i in range(step)]
            strips.emit_columns(body, self.runs[-1][0], begin, end, lambda: body.combine_in_place(rows))

    def _scan(self) -> Call:
        """Partial results, in order along a loop, in parallel over the outermost of the others."""
        (s,) = self.statements
        if isinstance(s, Positions):
            body = Body(self)
            body.positions(s)
            return self._call(body, 1, [s.along.limit])
        assert isinstance(s, Scan)
        loops, position = self.nest.loops, self.nest.loops.index(s.along)
        outer, inner = loops[:position], loops[position + 1 :]
        split = (*outer, *inner)[:1]
        body = Body(self)
        with body.split(outer, split):
            if inner:
                body.scan_rows(s, inner, split)
            else:
                body.scan(s)
        return self._call(body, split[0].limit if split else 1, [v.limit for v in loops if v not in split])


class RowsCode(NestCode):
    """The function of nests that share loops, in parallel over the outermost one."""

    def __init__(self, module: Module, nest: Rows, *, keeps_first: bool = False) -> None:
        super().__init__(module, nest, keeps_first=keeps_first)
        self.parts: list[tuple[Nest, list[tuple[Var, Any]]]] = []
        for part in nest.nests:
            runs = self._runs(part.loops, set(part.reduced))
            kinds = [v in part.reduced for v, _ in runs]
            if kinds != sorted(kinds):
                raise Refused("a reduction over loops outside of others")
            self.parts.append((part, runs))

    def rows(self) -> Call:
        body = Body(self)
        own = {s.buffer for s in self.statements if s.buffer.role == "row"}
        body.make_rows(sorted((b for b in own if b.shape), key=lambda b: b.name))
        (first, count), *others = self.runs
        cost: Any = 1
        with body.loop(first, "%begin", "%end"), body.nested(others):
            for nest, runs in self.parts:
                outer = [(v, n) for v, n in runs if v not in nest.reduced]
                inner = [(v, n) for v, n in runs if v in nest.reduced]
                body.statements = nest.statements
                if nest.reduced:
                    with body.nested(outer):
                        body.reset()
                        body.points(inner)
                        body.keep()
                else:
                    body.points(outer)
                cost = cost + product([cost_of(nest.statements), *(n for _, n in runs)])
        body.free_rows()
        return self._call(body, count, [n for _, n in others], cost)
