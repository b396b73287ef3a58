"""The functions of a product of matrices by panels, and of what follows it row by row.

The right operand is first packed into strips as wide as a tile, row after row, and the rows of a panel into tiles, column after column;
so the inner loop reads both sequentially. All sums of a tile are in registers; each is accumulated in the order of the inner dimension.
The nests that follow run on the rows of a panel while it is in the cache.

The blocking for registers and caches follows K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM
Transactions on Mathematical Software 34 (2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.loop_ir.functions import Body
from tnp.executors.llvm.loop_ir.nests import Call, RowsCode
from tnp.executors.llvm.loop_ir.nodes import Apply, Nest, Panels, Reduce, SizeOf, cost_of, product
from tnp.executors.llvm.tiling import tiling

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["PanelsCode"]


class PanelsCode(RowsCode):
    """The functions of a product and what follows it."""

    def __init__(self, module: Module, nest: Panels) -> None:
        super().__init__(module, nest)
        product = nest.nests[0]
        (self.row,), (self.column, self.depth) = nest.loops, product.loops
        (statement,) = product.statements
        assert isinstance(statement, Reduce) and isinstance(statement.value, Apply)
        self.product = statement
        self.left, self.right = statement.value.args
        self.dtype = statement.buffer.dtype
        self.itemsize = int(self.dtype.itemsize)
        self.cut = tiling((self.row.limit, self.column.limit, self.depth.limit), self.dtype)
        self.others = self.parts[1:]

    def calls(self) -> Iterator[Call]:
        cut, k = self.cut, self.depth.limit
        for size, most in ((k, target.PANEL_DEPTH), (k * self.column.limit * self.itemsize, target.RIGHT_BYTES)):
            if not isinstance(size, int):
                self.module.limits.append((size, most))
        strips = self.module.scratch(cut.strips * k * (cut.columns * self.itemsize))
        yield Call(self._copy_right(strips), cut.strips, k * cut.columns)
        cost = (self.column.limit * k // 10 + sum(_cost(nest) for nest, _ in self.others)) * cut.panel
        yield Call(self._multiply(strips), cut.panels, cost)

    def _begin(self, body: Body, i: str, length: int, limit: SizeOf) -> str:
        """Where piece ``i`` of that length begins: the last one early if it would not be full."""
        begin = body.code.arithmetic("mul", i, str(length))
        return begin if isinstance(limit, int) and limit % length == 0 else self._early(body, begin, length, limit)

    def _early(self, body: Body, begin: str, length: int, limit: SizeOf) -> str:
        """``begin``, or earlier, so that a piece of that length ends at ``limit``, unless that is shorter."""
        if isinstance(limit, int):
            return extreme(body.code, "smin", begin, str(max(limit - length, 0)))
        last = body.head.code.op(f"sub nsw i64 {body.head.size(limit)}, {length}")
        return extreme(body.code, "smin", begin, extreme(body.head.code, "smax", last, "0"))

    def _place(self, body: Body, base: str, *steps: tuple[str, SizeOf]) -> str:
        """The address so many elements behind ``base``: a sum of registers times sizes."""
        total = "0"
        for register, factor in steps:
            step = body.code.arithmetic("mul", register, body.head.size(factor))
            total = body.code.arithmetic("add", total, step)
        offset = body.code.arithmetic("mul", total, str(self.itemsize))
        return body.code.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _copy_right(self, strips: str) -> str:
        """The function that copies the right operand to strips."""
        body, cut = Body(self), self.cut
        (_, n, k), base = cut.shape, body.head.pointer(strips)
        filled = extreme(body.head.code, "smin", str(cut.columns), body.head.size(n))
        with body.plain_loop("%begin", "%end") as strip:
            first = self._begin(body, strip, cut.columns, n)
            with body.loop(self.depth, "0", body.head.size(k)):
                inner = str(body.find(self.depth))
                line = self._place(body, base, (strip, k * cut.columns), (inner, cut.columns))
                with body.counted(self.column, first, filled, "1 vectors") as j:
                    scalars.store(body.code, body.value(self.right), self._place(body, line, (j, 1)), self.dtype, "")
                is_full = body.head.code.compare("sge", filled, str(cut.columns))
                body.when(is_full, lambda: None, partial(self._fill_line, body, line, filled))
        return body.finish()

    def _fill_line(self, body: Body, line: str, filled: str) -> None:
        """Pads a line of a strip with zeros."""
        with body.plain_loop(filled, str(self.cut.columns), "scalar") as j:
            zero = scalars.constant(0, self.dtype)
            scalars.store(body.code, zero, self._place(body, line, (j, 1)), self.dtype, "")

    def _multiply(self, strips: str) -> str:
        """The function that makes panels of the product, and what is computed from them."""
        body, cut = Body(self), self.cut
        code, (m, n, k) = body.code, cut.shape
        own = {
            s.buffer for nest, _ in self.others for s in nest.statements if s.buffer.role == "row" and s.buffer.shape
        }
        sizes = {b: b.shape[0] * b.dtype.itemsize for b in sorted(own, key=lambda b: b.name)}
        body.take(
            {"tiles": k * (cut.panel * self.itemsize), "panel": cut.width * ((cut.rows + cut.panel) * self.itemsize)}
            | sizes
        )
        base, tiles, panel = body.head.pointer(strips), body.pointers["tiles"], body.pointers["panel"]
        with body.plain_loop("%begin", "%end") as p:
            first = code.arithmetic("mul", p, str(cut.panel))
            end = extreme(code, "smin", code.arithmetic("add", first, str(cut.panel)), body.head.size(m))
            filled = code.arithmetic("sub", code.arithmetic("add", end, str(cut.rows - 1)), first)
            count = code.arithmetic("udiv", filled, str(cut.rows))
            # where row 0 would be; a tile that begins early may begin before the panel
            back = code.arithmetic("sub", str(cut.rows), first)
            origin = self._place(body, panel, (back, cut.width))
            with body.plain_loop("0", count) as t:
                tile = self._place(body, tiles, (t, k * cut.rows))
                self._copy_left(body, self._row_of_tile(body, first, t), tile)
            with body.plain_loop("0", body.head.size(cut.strips)) as s:
                strip = self._place(body, base, (s, k * cut.columns))
                left = self._begin(body, s, cut.columns, n)
                with body.plain_loop("0", count) as t:
                    tile = self._place(body, tiles, (t, k * cut.rows))
                    to = self._place(body, origin, (self._row_of_tile(body, first, t), cut.width), (left, 1))
                    self._multiply_tile(body, tile, strip, to)
            with body.loop(self.row, first, end):
                self._rows_of_panel(body, origin)
        body.free_rows()
        return body.finish()

    def _rows_of_panel(self, body: Body, origin: str) -> None:
        """What follows the product in a row of a panel."""
        line = self._place(body, origin, (str(body.find(self.row)), self.cut.width))
        if self.product.buffer.role == "row":
            body.pointers[self.product.buffer] = line
        else:
            with body.loop(self.column, "0", body.head.size(self.cut.shape[1])):
                where = self._place(body, line, (str(body.find(self.column)), 1))
                value = scalars.load(body.code, where, self.dtype, "")
                body.store(self.product.buffer, self.product.at, value)
        for nest, runs in self.others:
            body.statements = nest.statements
            self._part(body, nest, runs)

    def _row_of_tile(self, body: Body, first: str, t: str) -> str:
        """The row in which tile ``t`` of the panel that begins at row ``first`` begins."""
        behind = body.code.arithmetic("add", first, body.code.arithmetic("mul", t, str(self.cut.rows)))
        return self._early(body, behind, self.cut.rows, self.cut.shape[0])

    def _copy_left(self, body: Body, begin: str, tile: str) -> None:
        """Copies rows of the left operand to a tile. Of fewer rows than a tile has, the last one is copied more than once."""
        m, _, k = self.cut.shape
        with body.counted(self.row, begin, str(self.cut.rows), "scalar") as r:
            if not isinstance(m, int):
                body.values[-1][self.row] = extreme(body.code, "smin", str(body.find(self.row)), body.head.last(m))
            to = self._place(body, tile, (r, 1))
            with body.loop(self.depth, "0", body.head.size(k), "scalar"):
                where = self._place(body, to, (str(body.find(self.depth)), self.cut.rows))
                scalars.store(body.code, body.value(self.left), where, self.dtype, "")

    def _multiply_tile(self, body: Body, tile: str, strip: str, to: str) -> None:
        """The products of a tile's rows with a strip's columns, in registers until they are all summed."""
        code, cut, itemsize = body.code, self.cut, self.itemsize
        element = scalars.register_type(self.dtype)
        vector = f"<{cut.vector} x {element}>"
        name = f"@llvm.fmuladd.v{cut.vector}f{self.dtype.bits}"
        code.require(name, f"declare {vector} {name}({vector}, {vector}, {vector})")
        places = [(r, v) for r in range(cut.rows) for v in range(cut.columns // cut.vector)]
        before = code.current if code.current != "entry" else "start"
        head, leave = code.label("loop"), code.label("done")
        code.line(f"br label %{head}")
        code.block(head)
        counter = code.temp("i")
        sums = {place: code.temp("sum") for place in places}
        at = len(code.lines)
        for _ in range(1 + len(places)):
            code.line("")
        row = self._place(body, strip, (counter, cut.columns))
        rights = []
        for v in range(cut.columns // cut.vector):
            where = code.op(f"getelementptr i8, ptr {row}, i64 {v * cut.vector * itemsize}")
            rights.append(code.op(f"load {vector}, ptr {where}, align {itemsize}"))
        column = self._place(body, tile, (counter, cut.rows))
        added = {}
        for r in range(cut.rows):
            where = code.op(f"getelementptr i8, ptr {column}, i64 {r * itemsize}")
            value = code.op(f"load {element}, ptr {where}, align {itemsize}")
            one = code.op(f"insertelement {vector} poison, {element} {value}, i64 0")
            spread = code.op(f"shufflevector {vector} {one}, {vector} poison, <{cut.vector} x i32> zeroinitializer")
            for v, right in enumerate(rights):
                added[r, v] = code.op(
                    f"call {vector} {name}({vector} {spread}, {vector} {right}, {vector} {sums[r, v]})"
                )
        following = code.op(f"add nuw nsw i64 {counter}, 1")
        code.lines[at] = f"  {counter} = phi i64 [ 0, %{before} ], [ {following}, %{head} ]"
        for i, place in enumerate(places):
            phi = f"phi {vector} [ zeroinitializer, %{before} ], [ {added[place]}, %{head} ]"
            code.lines[at + 1 + i] = f"  {sums[place]} = {phi}"
        more = code.op(f"icmp slt i64 {following}, {body.head.size(cut.shape[2])}")
        code.line(f"br i1 {more}, label %{head}, label %{leave}")
        code.block(leave)
        for r, v in places:
            where = self._place(body, to, (str(r), cut.width), (str(v), cut.vector))
            code.line(f"store {vector} {added[r, v]}, ptr {where}, align {itemsize}")


def _cost(nest: Nest) -> Any:
    """Additions of a nest in a row."""
    return product([cost_of(nest.statements), *(v.limit for v in nest.loops)])
