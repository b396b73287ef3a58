"""The functions of nests that share a loop over rows, some of which add the rows up: blocks of rows, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.loop_ir import strips
from tnp.executors.llvm.loop_ir.accumulators import PART_BYTES, PARTS, Accumulator, accumulator
from tnp.executors.llvm.loop_ir.functions import CHUNK, Body, Function
from tnp.executors.llvm.loop_ir.nests import (
    NARROW,
    ROW_BLOCKS,
    TOGETHER,
    BlockCall,
    Call,
    Columns,
    NestCode,
    block_rows,
    rows_of_block,
)
from tnp.executors.llvm.loop_ir.nodes import Nest, Reduce, Rows, Swept, cost_of, product
from tnp.executors.llvm.loop_ir.sweeping import adds_rows

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["SweptCode"]


class SweptCode(NestCode):
    """The functions of a sweep."""

    def __init__(self, module: Module, nest: Swept) -> None:
        super().__init__(module, nest)
        self.rows_of = nest.rows
        #: of each nest, the loops inside of that over rows, where they are one loop if they can be
        self.parts: list[tuple[Nest | Rows, list[tuple[Nest, list[tuple[Var, Any]]]]]] = []
        for part in nest.parts:
            inside = part.nests if isinstance(part, Rows) else [Nest(part.loops[1:], part.statements)]
            self.parts.append((part, [(n, self._runs(n.loops, set(n.reduced) - {nest.rows})) for n in inside]))
        #: of nests that add rows up, where blocks have their sums
        self.sums: dict[Reduce, str] = {}
        for part, _ in self.parts:
            for s in part.statements if isinstance(part, Nest) and adds_rows(part) else ():
                assert isinstance(s, Reduce)
                columns = product(v.limit for v in part.loops[1:])
                self.sums[s] = module.scratch(product([columns, ROW_BLOCKS * PARTS * PART_BYTES]))

    def calls(self) -> Iterator[Callable[[Function], None]]:
        body, rows = Body(self), self.rows_of
        added = {part: self._columns_of(part, runs) for part, ((_, runs), *_) in self.parts if adds_rows(part)}
        with body.plain_loop("%begin", "%end") as block:
            begin, end = rows_of_block(body, rows.limit, block)
            for columns in added.values():
                for s in columns.reductions:
                    slots = self._places(body, s, columns.count, block)
                    body.accumulators[s] = accumulator(body, s, 0, slots)
                columns.reset(body, "0")
            self._rows_in(body, added, begin, end)
        cost = sum((self._cost(part) for part, _ in self.parts), 0)
        yield BlockCall(body.finish(), cost, lambda function: block_rows(function, rows.limit))
        for part, ((_, runs), *_) in self.parts:
            if adds_rows(part):
                yield self._ending(Columns(part.statements, [(rows, rows.limit), *runs], NARROW), runs)

    def _columns_of(self, part: Nest | Rows, runs: Sequence[tuple[Var, Any]]) -> Columns:
        assert isinstance(part, Nest)
        columns = Columns(part.statements, [(self.rows_of, self.rows_of.limit), *runs])
        columns.width, columns.tiles = columns.count, 1
        return columns

    def _cost(self, part: Nest | Rows) -> Any:
        inner = part.nests if isinstance(part, Rows) else [Nest(part.loops[1:], part.statements)]
        total: Any = 0
        for nest in inner:
            total = product([cost_of(nest.statements), *(v.limit for v in nest.loops)]) + total
        return total

    def _places(self, body: Body, s: Reduce, count: Any, block: str) -> list[str]:
        """Where the parts of a block's sums are."""
        code, base = body.code, body.head.pointer(self.sums[s])
        columns = body.head.size(count)
        first = code.arithmetic("mul", block, str(PARTS))
        offsets = [code.arithmetic("mul", code.arithmetic("add", first, str(k)), columns) for k in range(PARTS)]
        return [code.op(f"getelementptr i64, ptr {base}, i64 {offset}") for offset in offsets]

    def _rows_in(self, body: Body, added: dict[Any, Columns], begin: str, end: str) -> None:
        code = body.code
        several = code.arithmetic("and", code.arithmetic("sub", end, begin), str(-TOGETHER))
        middle = code.arithmetic("add", begin, several)

        def rows(first: str, last: str, step: int) -> None:
            count = code.arithmetic("udiv", code.arithmetic("sub", last, first), str(step))
            with body.plain_loop("0", count) as k:
                at = code.arithmetic("add", first, code.arithmetic("mul", k, str(step)))
                self._some_rows(body, added, [code.arithmetic("add", at, str(i)) for i in range(step)])

        body.when(code.compare("ne", several, "0"), lambda: rows(begin, middle, TOGETHER))
        body.when(code.compare("ne", middle, end), lambda: rows(middle, end, 1))

    def _some_rows(self, body: Body, added: dict[Any, Columns], at: Sequence[str]) -> None:
        """What a sweep does in the rows whose numbers are in registers."""
        for part, nests in self.parts:
            columns = added.get(part)
            if columns is not None:
                columns.add_rows(body, "0", [{self.rows_of: row} for row in at])
                continue
            ((first, inside), *others) = nests
            if len(inside) == 1 and first.reduced == first.loops:
                self._sum_rows(body, first, inside[0], at, others)
                continue
            for row in at:
                body.values.append({self.rows_of: row})
                for nest, runs in nests:
                    body.statements = nest.statements
                    self._part(body, nest, runs)
                body.values.pop()

    def _sum_rows(
        self, body: Body, nest: Nest, run: tuple[Var, Any], at: Sequence[str], others: Sequence[tuple[Nest, Any]]
    ) -> None:  # fmt: skip
        """Sums along some rows, in one loop, so that several cache lines are in flight; then, row by row, the ``others``."""
        var, count = run
        body.statements = nest.statements
        sums = [{s: accumulator(body, s) for s in body.reductions()} for _ in at]

        def each_row(write: Callable[[Reduce, Accumulator], None], kept: Sequence[dict[Reduce, Accumulator]]) -> None:
            for row, own in zip(at, kept):
                body.values.append({self.rows_of: row})
                for s, a in own.items():
                    write(s, a)
                body.values.pop()

        def add(counts: str | None, kept: Sequence[dict[Reduce, Accumulator]]) -> None:
            each_row(lambda _, a: a.add_element(counts), kept)

        def of(kept: Sequence[dict[Reduce, Accumulator]]) -> list[Accumulator]:
            return [a for own in kept for a in own.values()]

        each_row(lambda _, a: a.reset(), sums)
        end = body.head.size(count)
        if isinstance(count, int) and count <= CHUNK:
            strips.emit_rows(body, var, "0", end, of(sums), lambda counts: add(counts, sums))
        else:
            parts = [{s: accumulator(body, s) for s in body.reductions()} for _ in at]
            blocks = body.code.arithmetic("udiv", body.code.arithmetic("add", end, str(CHUNK - 1)), str(CHUNK))
            with body.plain_loop("0", blocks) as block:
                begin = body.code.arithmetic("mul", block, str(CHUNK))
                last = extreme(body.code, "smin", body.code.arithmetic("add", begin, str(CHUNK)), end)
                each_row(lambda _, a: a.reset(), parts)
                strips.emit_rows(body, var, begin, last, of(parts), lambda counts: add(counts, parts))
                for own, total in zip(parts, sums):
                    for s, a in own.items():
                        total[s].add(a.get())
        for row, own in zip(at, sums):
            body.values.append({self.rows_of: row})
            for s, a in own.items():
                body.store(s.buffer, s.at, a.result())
            for other, runs in others:
                body.statements = other.statements
                self._part(body, other, runs)
            body.values.pop()

    def _ending(self, columns: Columns, runs: Sequence[tuple[Var, Any]]) -> Call:
        """The function that adds up the sums of all blocks, tile by tile."""
        body = Body(self)
        _, blocks = block_rows(body.head, self.rows_of.limit)
        with body.plain_loop("%begin", "%end") as tile:
            columns.reset(body, tile)
            with body.plain_loop("0", blocks) as block:
                kept = {
                    s: accumulator(body, s, 0, self._places(body, s, columns.count, block)) for s in columns.reductions
                }
                first = body.code.arithmetic("mul", tile, str(columns.width))

                def write(i: str) -> None:
                    for s, a in kept.items():
                        body.accumulators[s].add(a.get(body.code.arithmetic("add", first, i)), i)

                columns.over(body, tile, write)
            columns.keep(body, tile)
        return Call(body.finish(), columns.tiles, ROW_BLOCKS * columns.width)
