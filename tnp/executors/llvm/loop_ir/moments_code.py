"""The functions of sums and sums of squares in one pass, see :mod:`~tnp.executors.llvm.loop_ir.moments`.

A block of the values is read twice while it is in the cache: for its sums, then for its squares around its own mean. The sums of all blocks
are added up, as in any reduction. They give the center, to which each block's squares are then shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.loop_ir.accumulators import Accumulator, Partials, accumulator
from tnp.executors.llvm.loop_ir.functions import Body, Function
from tnp.executors.llvm.loop_ir.nests import (
    BLOCKS,
    NARROW,
    ROW_BLOCKS,
    BlockCall,
    Call,
    Columns,
    NestCode,
    RowBlocks,
    rows_of_block,
)
from tnp.executors.llvm.loop_ir.nodes import Apply, Buffer, Load, Moments, Reduce, product

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["MomentsCode"]

#: columns that a block has at a time: it is in a core's own cache when it is read again
TILE = 256


class MomentsCode(NestCode):
    """The functions of the first nest, and that which combines the squares when the center is known."""

    def __init__(self, module: Module, nest: Moments) -> None:
        super().__init__(module, nest.first)
        self.moments = nest
        self.dtype = nest.squares.buffer.dtype
        #: the mean of a block, and the sums of distances to it and of their squares
        self.mean = Buffer("mean", self.dtype, (), "point")
        assert isinstance(nest.squares.value, Apply) and isinstance(nest.squares.value.args[0], Apply)
        values = nest.squares.value.args[0].args[0]
        distance = Apply("sub", (values, Load(self.mean, ())), self.dtype, self.dtype)
        square = Apply("mul", (distance, distance), self.dtype, self.dtype)
        s = nest.squares
        self.rest, self.square = (Reduce(s.buffer, s.at, x, "sum", s.over) for x in (distance, square))
        self.sums = [s for s in nest.first.statements if isinstance(s, Reduce)]
        self.count = self.runs[0][1]
        self.is_whole = len(self.runs) == 1
        #: the memory of what blocks have found
        self.partials: dict[Reduce, Partials] = {}
        self.means: Partials

    @property
    def has_blocks(self) -> bool:
        """Whether the loops are one, or rows and columns. Others are not summed in one pass."""
        kinds = [v in self.over for v, _ in self.runs]
        return kinds in ([True], [True, False])

    def calls(self) -> Iterator[Callable[[Function], None]]:
        columns = 1 if self.is_whole else self.runs[-1][1]
        places = product([columns, BLOCKS if self.is_whole else ROW_BLOCKS])
        self.partials = {s: Partials.make(self.module.keep, places) for s in (*self.sums, self.rest, self.square)}
        self.means = Partials.make(self.module.keep, places)
        yield from self._whole_blocks() if self.is_whole else self._column_blocks()

    def centered(self) -> Iterator[Callable[[Function], None]]:
        """The function that combines the squares."""
        yield self._shift_whole() if self.is_whole else self._shift_columns()

    def _mean_of(self, body: Body, total: Any, begin: str, end: str) -> Any:
        length = scalars.convert(body.code, body.code.arithmetic("sub", end, begin), dtypes.int64, self.dtype)
        return scalars.emit(body.code, "div", [total, length], self.dtype)

    def _mean_place(self, body: Body, block: str) -> str:
        """Where a block's mean is."""
        (place,) = self.means.places(body, block, [scalars.register_type(self.dtype)])
        return place

    def _shifted(self, body: Body, place: str, length: str) -> Any:
        """A block's squares around the center: ``q + (2 e + n d) d``."""
        code, dtype = body.code, self.dtype
        q, e = (body.accumulators[s].saved(self.partials[s], place) for s in (self.square, self.rest))
        mean = scalars.load(code, self._mean_place(body, place), dtype, "")
        center = body.value(self.moments.center)
        n = scalars.convert(code, length, dtypes.int64, dtype)

        def emit(op: str, *args: Any) -> Any:
            return scalars.emit(code, op, list(args), dtype)

        d = emit("sub", mean, center)
        there = emit("add", q, emit("mul", emit("add", emit("add", e, e), emit("mul", n, d)), d))
        # Of a block whose sum is infinite the squares are, too, or one is NaN.
        return emit("where", emit("isfinite", mean), there, q)

    # All in one

    def _whole_blocks(self) -> Iterator[Callable[[Function], None]]:
        ((_, count),) = self.runs
        body = Body(self)
        length, _ = self._blocks(body.head, count, [])
        with body.plain_loop("%begin", "%end") as block:
            begin = body.code.arithmetic("mul", block, length)
            end = extreme(body.code, "smin", body.code.arithmetic("add", begin, length), body.head.size(count))
            body.statements = self.sums
            body.reset()
            body.points(self.runs, begin, end)
            mean = self._mean_of(body, body.accumulators[self.moments.total].get(), begin, end)
            scalars.store(body.code, mean, self._mean_place(body, block), self.dtype, "")
            body.statements = [self.rest, self.square]
            body.reset()
            body.values[-1][self.mean, ()] = mean
            body.points(self.runs, begin, end)
            for s, partials in self.partials.items():
                body.accumulators[s].save(partials, block)
        yield BlockCall(body.finish(), 3 * self.cost, lambda function: self._blocks(function, count, []))
        ending = Body(self)
        ending.statements = self.sums
        yield self._sum_blocks(ending, {s: self.partials[s] for s in self.sums})

    def _shift_whole(self) -> Callable[[Function], None]:
        ((_, count),) = self.runs
        body = Body(self)
        body.statements = [self.rest, self.square]
        body.reset()
        length, blocks = self._blocks(body.head, count, [])
        total = accumulator(body, self.square)
        total.reset()
        with body.plain_loop("0", blocks, "scalar") as block:
            begin = body.code.arithmetic("mul", block, length)
            end = extreme(body.code, "smin", body.code.arithmetic("add", begin, length), body.head.size(count))
            total.add(self._shifted(body, block, body.code.arithmetic("sub", end, begin)))
        body.store(self.square.buffer, self.square.at, total.result())
        return self._alone(body)

    # Columns

    def _column_blocks(self) -> Iterator[Callable[[Function], None]]:
        body = Body(self)
        columns = Columns(self.sums, self.runs, TILE)
        around = _Around([self.rest, self.square], self.runs, self.mean)
        blocks = RowBlocks(columns, self.count, self.partials)
        with body.plain_loop("%begin", "%end") as block:
            begin, end = rows_of_block(body, self.count, block)
            with columns.each_tile(body) as tile:
                body.statements = self.sums
                columns.accumulate(body, tile, begin, end)
                place = blocks.place(body, tile, block)
                if around.means is None:
                    around.means = accumulator(body, self.rest, columns.width)

                def put_mean(i: str) -> None:
                    assert around.means is not None
                    mean = self._mean_of(body, body.accumulators[self.moments.total].get(i), begin, end)
                    around.means.put(mean, i)
                    at = self._mean_place(body, body.code.arithmetic("add", place, i))
                    scalars.store(body.code, mean, at, self.dtype, "")

                columns.over(body, tile, put_mean)
                body.statements = [self.rest, self.square]
                around.accumulate(body, tile, begin, end)
                columns.over(body, tile, lambda i: blocks.save(body, body.code.arithmetic("add", place, i), i))
        yield blocks.call(body, product([columns.count, 3 * self.cost]))
        ending = Body(self)
        ending.statements = self.sums
        yield RowBlocks(Columns(self.sums, self.runs, NARROW), self.count, self.partials).ending(ending)

    def _shift_columns(self) -> Call:
        body = Body(self)
        body.statements = [self.rest, self.square]
        columns = Columns([self.square], self.runs, NARROW)
        for s in (self.rest, self.square):
            body.accumulators[s] = accumulator(body, s, columns.width)
        blocks = RowBlocks(columns, self.count, self.partials)

        def of_block(block: str) -> Callable[[str, str], None]:
            begin, end = rows_of_block(body, self.count, block)
            length = body.code.arithmetic("sub", end, begin)
            return lambda place, i: body.accumulators[self.square].add(self._shifted(body, place, length), i)

        return blocks.over_blocks(body, of_block)


class _Around(Columns):
    """Sums of distances to the means of columns."""

    def __init__(self, statements: Sequence[Reduce], runs: Sequence[tuple[Any, Any]], mean: Buffer) -> None:
        super().__init__(statements, runs, TILE)
        self.mean = mean
        self.means: Accumulator | None = None

    def prepare(self, body: Body, i: str) -> None:
        assert self.means is not None
        body.values[-1][self.mean, ()] = self.means.get(i)
