"""The functions of two nests of which the second follows the first some rows behind.

Each thread runs both in its own range of rows. At the borders of a range the second nest would access rows of another thread, which
may not be ready. Those few are left until all threads are done. No row is made twice, so nests that write to what they read can run so.
A byte for each row of the second nest says whether it has been made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tnp.executors.llvm import target
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.loop_ir.dependence import touched
from tnp.executors.llvm.loop_ir.functions import Body, Function
from tnp.executors.llvm.loop_ir.nests import NestCode, RowsCode
from tnp.executors.llvm.loop_ir.nodes import Rows, Skewed, Statement, statements_of
from tnp.executors.llvm.loop_ir.skewing import bytes_of, touched_by_both

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module

__all__ = ["SkewedCode"]

#: rows of a thread for each one that is left at its borders, at least
ROWS_FOR_EACH_LEFT = 8
#: rows that are left by threads which are made by one, which does not wait for the others again
FEW_ROWS = 4

MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"


class SkewedCode:
    """The functions of two nests, and their call."""

    def __init__(self, module: Module, nest: Skewed) -> None:
        self.module = module
        self.nest = nest
        self.inner: list[Var] = []
        self.words = None
        self.statements: list[Statement] = []
        self.first, self.second = (
            (RowsCode if isinstance(n, Rows) else NestCode)(module, n, keeps_first=True).rows()
            for n in (nest.first, nest.second)
        )
        #: the word of how many rows have been made
        self.counter = f"rows of {nest.made.name}"
        module.word(self.counter)
        self.least = max(1, ROWS_FOR_EACH_LEFT * (nest.high - nest.low))
        self.together, self.missing = self._together(), self._missing()

    def __call__(self, function: Function) -> None:
        function.branch(self._pays(function), lambda: self._run(function), lambda: self._apart(function))

    def _apart(self, function: Function) -> None:
        self.first(function)
        self.second(function)

    def _pays(self, function: Function) -> str:
        """Whether it pays to run both at a time, for the sizes of a call."""
        code, nest = function.code, self.nest
        buffers = set().union(*(set().union(*touched(statements_of(n))) for n in (nest.first, nest.second)))
        rows = function.size(self.first.count)
        whole = function.size(bytes_of([b for b in buffers if b.role not in ("row", "point")]))
        row = code.arithmetic("udiv", whole, rows)
        working = code.arithmetic("mul", row, str(nest.high - nest.low + 2))
        shared = function.size(bytes_of(touched_by_both(nest.first, nest.second)))
        return code.all(
            code.compare("sge", rows, str(2 * self.least)),
            code.compare("sge", shared, str(target.SKEWED_BYTES)),
            code.compare("sge", row, str(target.SKEWED_ROW_BYTES)),
            code.compare("sge", str(target.SKEWED_WORKING_BYTES), working),
        )

    def _run(self, function: Function) -> None:
        code, limit = function.code, function.size(self.second.count)
        self._set(function, function.pointer(self.nest.made), limit, 0)
        function.set_word(self.module.word(self.counter), "0")
        cost = function.size(self.first.cost + self.second.cost)
        function.call(self.together, function.size(self.first.count), cost, self.least)
        done = code.arithmetic("add", function.word(self.counter), str(FEW_ROWS))
        function.branch(
            code.compare("sge", done, limit),
            lambda: code.line(f"call void @{self.missing}(ptr %ctx, i64 0, i64 {limit})"),
            lambda: function.call(self.missing, limit, cost),
        )

    def _set(self, function: Function | Body, pointer: str, count: str, value: int) -> None:
        function.code.require("@llvm.memset", MEMSET)
        function.code.line(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 {value}, i64 {count}, i1 false)")

    def _together(self) -> str:
        """The function that runs the first nest in a range of rows, and of the second what needs no others; its name."""
        nest, body = self.nest, Body(self)
        code = body.code
        rows, limit = body.head.size(self.first.count), body.head.size(self.second.count)
        made, counter = body.head.pointer(nest.made), body.head.place(self.counter)
        low = extreme(code, "smax", code.arithmetic("sub", "%begin", str(nest.low)), "0")
        low = code.choose(code.compare("eq", "%begin", "0"), "0", low)
        high = extreme(code, "smin", code.arithmetic("sub", "%end", str(nest.high)), limit)
        high = code.choose(code.compare("eq", "%end", rows), limit, high)
        with body.plain_loop("%begin", "%end", "scalar") as i:
            following = code.arithmetic("add", i, "1")
            code.line(f"call void @{self.first.name}(ptr %ctx, i64 {i}, i64 {following})")
            # after the first row, all up to there; after the last one, all that are left
            begin, end = (code.arithmetic("sub", x, str(nest.high)) for x in (i, following))
            begin = code.choose(code.compare("eq", i, "%begin"), low, extreme(code, "smax", begin, low))
            end = code.choose(code.compare("eq", following, "%end"), high, extreme(code, "smin", end, high))
            call = f"call void @{self.second.name}(ptr %ctx, i64 {begin}, i64 {end})"
            body.when(code.compare("slt", begin, end), lambda: code.line(call))
        count = extreme(code, "smax", code.arithmetic("sub", high, low), "0")
        self._set(body, code.op(f"getelementptr i8, ptr {made}, i64 {low}"), count, 1)
        code.line(f"atomicrmw add ptr {counter}, i64 {count} monotonic")
        return body.finish()

    def _missing(self) -> str:
        """The function that makes those of a range of rows of the second nest that are missing; its name."""
        body = Body(self)
        code, made = body.code, body.head.pointer(self.nest.made)
        with body.plain_loop("%begin", "%end", "scalar") as j:
            done = code.op(f"load i8, ptr {code.op(f'getelementptr i8, ptr {made}, i64 {j}')}, align 1")
            call = f"call void @{self.second.name}(ptr %ctx, i64 {j}, i64 {code.arithmetic('add', j, '1')})"
            body.when(code.op(f"icmp eq i8 {done}, 0"), lambda: code.line(call))
        return body.finish()
