"""The accumulators of reductions: stack slots, which LLVM promotes to registers, or rows of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.body import Body
from tnp.executors.llvm.graph import Node
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.one_pass_variance import squared
from tnp.executors.llvm.statements import Statement

__all__ = ["SLOT_BYTES", "Accumulator", "combine_pairwise", "make_accumulator"]

#: the most that one accumulator takes
SLOT_BYTES = 32

_SCANS = {row.scan: row.name for row in REDUCTIONS if row.scan}
#: what is accumulated in the order of elements, since every partial result is one, by the prim; extremes are the same in any order
_IN_ORDER = {row.scan: row.combines for row in REDUCTIONS if row.scan and row.neutral is not None}
#: what the same element may be accumulated in twice
_IDEMPOTENT = {"amax", "amin", "any", "all"}


class Accumulator:
    """``count`` accumulators of a reduction's values, half precision in single. They start from the identity."""

    #: bytes of one
    size: int

    def __init__(self, body: Body, statement: Statement, count: int = 1, pointer: str | None = None) -> None:
        self.body = body
        self.statement = statement
        self.node: Node = statement.node
        self._set_up()
        self.pointer = body.allocate(count * self.size) if pointer is None else pointer

    def _set_up(self) -> None:
        self.reducer = scalars.reducer(_SCANS.get(self.node.op, self.node.op), self.node.dtype)
        self.dtype = self.reducer.dtype
        self.identity = self.reducer.identity
        if (
            self.node.op == "cumsum" and self.dtype.kind in "fc"
        ):  # the first partial result is the first element, be it -0.0
            self.identity = scalars.constant(-0.0 if self.dtype.kind == "f" else complex(-0.0, -0.0), self.dtype)
        self.size = self.dtype.itemsize

    def part(self, i: str) -> str:
        """Where accumulator ``i`` is."""
        key = (self.pointer, self.size, i)
        place = self.body.find(key)
        if place is None:
            offset = self.body.code.op(f"mul nuw nsw i64 {i}, {self.size}")
            place = self.body.code.op(f"getelementptr inbounds i8, ptr {self.pointer}, i64 {offset}")
            self.body.known[-1][key] = place
        return place

    def _place(self, i: str | None) -> str:
        return self.pointer if i is None else self.part(i)

    def get(self, i: str | None = None) -> Any:
        """What has been accumulated."""
        return scalars.load(self.body.code, self._place(i), self.dtype, self.body.module.access)

    def put(self, value: Any, i: str | None = None) -> None:
        scalars.store(self.body.code, value, self._place(i), self.dtype, self.body.module.access)

    def combine(self, code: Code, a: Any, b: Any) -> Any:
        """Two values as one; ``a`` comes first in the order of elements."""
        if self.node.op in _IN_ORDER:
            return scalars.emit(code, _IN_ORDER[self.node.op], [a, b], self.dtype)
        return self.reducer.combine(code, a, b)

    def element(self) -> Any:
        """The element at this point of the loops."""
        (source,) = self.node.sources
        root = squared(source) if self.node.op == "sum" and source not in self.body.plan.stored else None
        if root is not None and root.dtype == self.dtype and self.dtype.kind == "f":
            return scalars.square_to_add(self.body.code, self.body.value(root, self.statement.at), self.dtype)
        value = self.body.value(source, self.statement.at)
        return scalars.convert(self.body.code, value, source.dtype, self.dtype)

    def result(self, i: str | None = None) -> Any:
        """What has been accumulated, in the reduction's dtype."""
        return scalars.convert(self.body.code, self.get(i), self.dtype, self.node.dtype)

    def reset(self, i: str | None = None) -> None:
        self.put(self.identity, i)

    def add(self, value: Any, i: str | None = None) -> None:
        """Accumulates a value that comes after all before."""
        self.put(self.combine(self.body.code, self.get(i), value), i)

    @property
    def takes_tail(self) -> bool:
        """Whether an element may be added that does not count."""
        return self.node.op in _IDEMPOTENT or (self.node.op == "sum" and self.dtype.kind == "f")

    def add_element(self, i: str | None = None, counts: str | None = None) -> None:
        """Accumulates the element at this point of the loops; if it does not ``count``, it has been accumulated before."""
        value = self.element()
        if counts is not None and self.node.op not in _IDEMPOTENT:
            value = scalars.emit(self.body.code, "where", [counts, value, self.identity], self.dtype)
        self.add(value, i)


class _ArgAccumulator(Accumulator):
    """Of ``argmax`` and ``argmin``: the best value so far, and its index. The first of equals stays; NaN is best of all."""

    def _set_up(self) -> None:
        (source,) = self.node.sources
        self.dtype: DType = source.dtype
        self.identity = (scalars.reducer("amax" if self.node.op == "argmax" else "amin", source.dtype).identity, "0")
        if self.dtype.bits == 16 and self.dtype.kind == "f":
            self.dtype = dtypes.float32
        self.size = 16

    def get(self, i: str | None = None) -> Any:
        place = self._place(i)
        index = self.body.code.op(f"getelementptr inbounds i8, ptr {place}, i64 8")
        access = self.body.module.access
        value = scalars.load(self.body.code, place, self.dtype, access)
        return value, scalars.load(self.body.code, index, dtypes.int64, access)

    def put(self, value: Any, i: str | None = None) -> None:
        place = self._place(i)
        index = self.body.code.op(f"getelementptr inbounds i8, ptr {place}, i64 8")
        access = self.body.module.access
        scalars.store(self.body.code, value[0], place, self.dtype, access)
        scalars.store(self.body.code, value[1], index, dtypes.int64, access)

    def combine(self, code: Code, a: Any, b: Any) -> Any:
        better = scalars.emit(code, "gt" if self.node.op == "argmax" else "lt", [b[0], a[0]], self.dtype)
        if self.dtype.kind == "f":
            new_nan = scalars.emit(code, "isnan", [b[0]], self.dtype)
            old_nan = scalars.emit(code, "isnan", [a[0]], self.dtype)
            first_nan = code.op(f"icmp ugt i1 {new_nan}, {old_nan}")
            better = code.op(f"or i1 {better}, {first_nan}")
        value = scalars.emit(code, "where", [better, b[0], a[0]], self.dtype)
        return value, code.op(f"select i1 {better}, i64 {b[1]}, i64 {a[1]}")

    def element(self) -> Any:
        (var,) = self.statement.reduced
        return super().element(), self.body.index(Index.of(var))

    def result(self, i: str | None = None) -> Any:
        return self.get(i)[1]


def make_accumulator(body: Body, statement: Statement, count: int = 1, pointer: str | None = None) -> Accumulator:
    """``count`` accumulators of a statement's reduction, at ``pointer`` or in memory of their own."""
    kind = _ArgAccumulator if statement.node.op in ("argmax", "argmin") else Accumulator
    return kind(body, statement, count, pointer)


def combine_pairwise(several: Sequence[Accumulator], count: int, width: int = 1, vectors: int | None = None) -> None:
    """Combines ``count`` rows of ``width`` accumulators of each kind into the first row, neighbours first, so many ``vectors`` at a time."""
    if count == 1 or not several:
        return
    body = several[0].body
    code = body.code

    def combine(left: str, right: str) -> None:
        for a in several:
            a.put(a.combine(code, a.get(left), a.get(right)), left)

    # Rows 0 and 1, 2 and 3, …; then 0 and 2, 4 and 6, …; and so on. One without a neighbour waits.
    with body.loop("0", str((count - 1).bit_length()), scalar=True) as level:
        distance = code.op(f"shl nuw nsw i64 1, {level}")
        last = code.op(f"add nuw nsw i64 {distance}, {count - 1}")
        shift = code.op(f"add nuw nsw i64 {level}, 1")
        pairs = code.op(f"lshr i64 {last}, {shift}")
        with body.loop("0", pairs, scalar=True) as pair:
            left = code.op(f"shl nuw nsw i64 {pair}, {shift}")
            right = code.op(f"add nuw nsw i64 {left}, {distance}")
            if width == 1:
                combine(left, right)
            else:
                starts = [code.op(f"mul nuw nsw i64 {row}, {width}") for row in (left, right)]
                with body.loop("0", str(width), vectors=vectors, independent=True) as column:
                    combine(*(code.op(f"add nuw nsw i64 {start}, {column}") for start in starts))
