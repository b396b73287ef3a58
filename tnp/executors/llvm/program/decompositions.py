"""Decompositions of small matrices in loops of the user's, by LAPACK's routines."""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.lapack import (
    Layout,
    decomposes,
    is_small,
    layout_of_eigh,
    layout_of_qr,
    layout_of_svd,
    wide_dtype,
)
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Operand, constant
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.rules import step
from tnp.executors.llvm.program.values import Array, At, StridedView, Thunk
from tnp.executors.llvm.program.views import moved
from tnp.executors.llvm.routines import ROUTINES

__all__: list[str] = []


def _sizes(a: Array, *, full: bool = False) -> tuple[int, int]:
    m, n = (x.known for x in a.shape[-2:])
    if m is None or n is None or not is_small(m, n, full=full):
        raise Refused("a decomposition of a large matrix, or of one whose size is not known")
    if a.dtype.kind not in "fc" or not decomposes(wide_dtype(a.dtype)):
        raise Refused(f"decompositions of {a.dtype}")
    return m, n


class _Decomposed:
    """A routine's memory: each result has its own lines."""

    def __init__(self, p: Program, a: Array, layout: Layout, vectors: Sequence[TensorProxy]) -> None:
        self.p, self.layout, self.given = p, layout, a.dtype
        *self.stack, m, n = a.shape
        lines, width = Int(layout.lines), Int(layout.width)
        self.memory = p.temporary([*self.stack, lines, width], wide_dtype(a.dtype))
        columns = self.columns(0, m, n)
        assert isinstance(columns, StridedView)
        p.fill(columns, self.converted(a, self.memory.dtype))
        routine = layout.routine
        if layout.without_vectors and not any(p.is_live(v.name) for v in vectors):
            routine = layout.without_vectors
        cost = ROUTINES[routine].cost * layout.lines**2 * layout.width
        with p.loops(self.stack) as at:
            first = p.code.address(self.memory.memory.pointer, self.memory.where((*at, ZERO, ZERO)))
            p.code.do("in_place", first, lines, width, info=(routine, self.memory.dtype, cost, self.memory.memory))

    def columns(self, first: int, rows: Int, count: Int) -> Array:
        """A matrix whose columns are lines."""
        return moved(self.memory, [*self.stack, rows, count], lambda at: (*at[:-2], at[-1] + first, at[-2]))

    def converted(self, x: Array, dtype: DType) -> Array:
        """A copy of ``x`` in a precision; the real parts of what is complex in a real dtype."""
        real = dtypes.real_counterpart(x.dtype)

        def element(p: Program, at: At) -> Operand:
            value, of = x.element(p, at), x.dtype
            if of.kind == "c" and dtype.kind == "f":
                value, of = p.code.apply("real", [value], of, real), real
            return value if of is dtype else p.code.convert(value, of, dtype)

        return Thunk(x.shape, dtype, element, x.reads)

    def values(self, count: Int) -> Array:
        """Real values. Eager decides what to do if they are NaN, because LAPACK failed."""
        p, code, line = self.p, self.p.code, self.layout.values
        found = moved(self.memory, [*self.stack, count], lambda at: (*at[:-1], line, at[-1]))
        found = self.converted(found, dtypes.real_counterpart(self.memory.dtype))
        failed = p.cell(dtypes.bool8)
        code.set(failed, constant(False, dtypes.bool8))
        with p.loops(found.shape) as at:
            finite = code.apply("isfinite", [found.element(p, at)], found.dtype, dtypes.bool8)
            code.set(failed, code.either(code.get(failed), code.negated(finite)))
        p.check(code.negated(code.get(failed)), None)
        return self.converted(found, dtypes.real_counterpart(self.given))

    def vectors(self, first: int, rows: Int, count: Int) -> Array:
        return self.converted(self.columns(first, rows, count), self.given)


def _bind(p: Program, outputs: tuple[TensorProxy, ...], *values: Array) -> None:
    for output, value in zip(outputs, values, strict=True):
        p.bind(output, value)


@step("eigh")
def _eigh(p: Program, b: BoundSymbol) -> None:
    a, upper = p.resolve(b.args[0]), len(b.args) > 1 and b.args[1]
    _, n = _sizes(a)
    made = _Decomposed(p, a, layout_of_eigh(n, upper), b.output[1:])
    _bind(p, b.output, made.values(a.shape[-1]), made.vectors(0, *a.shape[-2:]))


@step("svd")
def _svd(p: Program, b: BoundSymbol) -> None:
    a, full = p.resolve(b.args[0]), len(b.args) > 1 and b.args[1]
    m, n = _sizes(a, full=full)
    rows, columns = a.shape[-2:]
    few = Int(min(m, n))
    layout = layout_of_svd(m, n, full)
    made = _Decomposed(p, a, layout, (b.output[0], b.output[2]))
    u = made.vectors(layout.left, rows, rows if full else few)
    _bind(p, b.output, u, made.values(few), made.vectors(layout.right, columns if full else few, columns))


@step("qr")
def _qr(p: Program, b: BoundSymbol) -> None:
    a, full = p.resolve(b.args[0]), len(b.args) > 1 and b.args[1]
    m, n = _sizes(a, full=full)
    rows, columns = a.shape[-2:]
    few = Int(m if full else min(m, n))
    layout = layout_of_qr(m, n, full)
    made = _Decomposed(p, a, layout, b.output)
    above, zero = made.vectors(0, few, columns), constant(0, a.dtype)

    def triangle(p: Program, at: At) -> Operand:
        is_above = p.code.compare("sle", at[-2], at[-1])
        return p.code.select(is_above, above.element(p, at), zero, a.dtype)

    r = Thunk(above.shape, a.dtype, triangle, above.reads)
    _bind(p, b.output, made.vectors(layout.left, rows, few), r)
