"""Decompositions of small matrices, and of stacks of them: eigenvalues, singular values, and QR, by LAPACK's routines.

They are nodes of the graph, compiled with what stands around them, and the matrices of a stack are shared among
threads. If LAPACK does not converge, the kernel refuses its arguments, and NumPy raises its error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import is_known
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Indices, Lowering, Node, Routine, rule
from tnp.executors.llvm.lapack import (
    Layout,
    decomposes,
    is_small,
    layout_of_eig,
    layout_of_eigh,
    layout_of_qr,
    layout_of_svd,
    wide_dtype,
)

__all__ = ["has_other_signs"]

_PRIMS = (prims.eig, prims.eigh, prims.qr, prims.svd)


def has_other_signs(bsym: BoundSymbol, parts: Iterable[BoundSymbol]) -> bool:
    """Whether a function of SciPy's gives vectors with other signs than the routines here: it has another driver for eigenvectors, and
    decomposes matrices of single precision as such."""
    if not isinstance(bsym.sym.id, str) or not bsym.sym.id.startswith("scipy.linalg."):
        return False
    dtypes_of = [p.args[0].dtype for p in parts if p.sym in _PRIMS]
    return bsym.sym.id == "scipy.linalg.eigh" or any(wide_dtype(d) is not d for d in dtypes_of)


def _is_small(bsym: BoundSymbol) -> bool:
    """Whether the matrices have few rows, and one stack dimension at most: NumPy's results are in C order then."""
    a = bsym.args[0]
    of_torch = any(p.lang.name == "torch" for p in bsym.flat_outputs)
    if a.ndim > 3 or of_torch or not is_known(a.shape[-2:]):
        return False
    m, n = a.shape[-2:]
    is_vector = m == 1 and (n == 1 or bsym.sym.name == "qr")  # whose lines have one element
    full = bsym.args[1] is True if len(bsym.args) > 1 else False
    return is_small(m, n, full=full) and not is_vector and decomposes(wide_dtype(a.dtype))


class _Decomposed:
    """A routine's memory: each result has its own lines."""

    def __init__(self, lowering: Lowering, a: Node, layout: Layout) -> None:
        self.lowering, self.layout, self.given = lowering, layout, a.dtype
        *self.stack, m, n = a.shape
        a = self.converted(a, wide_dtype(a.dtype))
        lines = self._view(a, layout.lines, layout.width, lambda at: (at[-1].divide(m)[1], at[-2].divide(n)[1]))
        lowering.position += 1
        self.memory = Routine(layout.routine, lines, position=lowering.position, without_vectors=layout.without_vectors)
        lowering.graph.add(self.memory)

    def _view(self, source: Node, lines: int, width: int, where: Any) -> Node:
        """A view whose matrices repeat elements of those of ``source``."""
        r = len(self.stack)
        shape = (*self.stack, lines, width)
        return self.lowering.view(source, shape, lambda at: (*at[:r], *where(at)), repeats=True, whole=True)

    def line(self, i: int, count: int) -> Node:
        """The first elements of a line."""
        return self.lowering.view(self.memory, (*self.stack, count), lambda at: (*at[:-1], i, at[-1]))

    def columns(self, first: int, rows: int, count: int) -> Node:
        """A matrix whose columns are lines."""

        def where(at: Indices) -> Indices:
            return (*at[:-2], at[-1] + first, at[-2])

        return self.lowering.view(self.memory, (*self.stack, rows, count), where)

    def values(self, count: int) -> Node:
        """Real values. They are NaN where LAPACK fails."""
        line = self.line(self.layout.values, count)
        if self.memory.dtype.kind == "c":
            line = self.lowering.make("real", line.shape, dtypes.real_counterpart(line.dtype), (line,))
        self.check(line)
        return self.converted(line, dtypes.real_counterpart(self.given))

    def converted(self, x: Node, dtype: DType) -> Node:
        return x if x.dtype is dtype else self.lowering.make("convert_element_type", x.shape, dtype, (x,))

    def check(self, line: Node) -> None:
        finite = self.lowering.make("isfinite", line.shape, dtypes.bool8, (line,))
        self.lowering.refuse(self.lowering.make("logical_not", line.shape, dtypes.bool8, (finite,)))

    def vectors(self, dtype: DType, *vectors: Node) -> tuple[Node, ...]:
        """Results in C order, without which the routine does less."""
        made = [self.lowering.make("convert_element_type", v.shape, dtype, (v,)) for v in vectors]
        for v in made:
            v.layout = Node("empty", v.shape, dtype)
        self.memory.vectors = tuple(made)
        return self.memory.vectors


@rule("eigh", checker=_is_small)
def _eigh(lowering: Lowering, output: TensorProxy, a: Node, upper: bool = False) -> tuple[Node, ...]:
    n = a.shape[-1]
    made = _Decomposed(lowering, a, layout_of_eigh(n, upper))
    return made.values(n), *made.vectors(a.dtype, made.columns(0, n, n))


def _eigenvalues(made: _Decomposed, n: int, dtype: DType) -> Node:
    values = made.line(made.layout.values, n)
    made.check(values)
    if values.dtype.kind == "f":
        parts = (values, made.line(made.layout.values + 1, n))
        values = made.lowering.make("complex", values.shape, dtypes.complex128, parts)
    return made.converted(values, dtype)


@rule("eig", checker=_is_small)
def _eig(lowering: Lowering, output: TensorProxy, a: Node) -> tuple[Node, ...]:
    n = a.shape[-1]
    made = _Decomposed(lowering, a, layout_of_eig(n, a.dtype))
    values = _eigenvalues(made, n, output.dtype)
    first = made.layout.right
    vectors = made.columns(first, n, n)
    if a.dtype.kind == "f":
        parts = (vectors, made.columns(first + n, n, n))
        vectors = lowering.make("complex", vectors.shape, dtypes.complex128, parts)
    return values, *made.vectors(output.dtype, vectors)


@rule("eigvals", checker=_is_small)
def _eigvals(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    n = a.shape[-1]
    return _eigenvalues(_Decomposed(lowering, a, layout_of_eig(n, a.dtype, vectors=False)), n, output.dtype)


@rule("svd", checker=_is_small)
def _svd(lowering: Lowering, output: TensorProxy, a: Node, full: bool = False) -> tuple[Node, ...]:
    m, n = a.shape[-2:]
    few = min(m, n)
    made = _Decomposed(lowering, a, layout_of_svd(m, n, full))
    s = made.values(few)
    left = made.columns(made.layout.left, m, m if full else few)
    u, vh = made.vectors(a.dtype, left, made.columns(made.layout.right, n if full else few, n))
    return u, s, vh


@rule("qr", checker=_is_small)
def _qr(lowering: Lowering, output: TensorProxy, a: Node, full: bool = False) -> tuple[Node, ...]:
    m, n = a.shape[-2:]
    few = m if full else min(m, n)
    made = _Decomposed(lowering, a, layout_of_qr(m, n, full))
    r = made.columns(0, few, n)
    numbers = lowering.make("iota", (max(m, n),), dtypes.int64, (0, 1))
    row, column = (
        lowering.view(numbers, r.shape, lambda at, d=d: (at[d],), repeats=True, whole=True) for d in (-2, -1)
    )
    is_above = lowering.make("le", r.shape, dtypes.bool8, (row, column))
    triangle = lowering.make("where", r.shape, r.dtype, (is_above, r, 0))
    q, r = made.vectors(a.dtype, made.columns(made.layout.left, m, few), triangle)
    return q, r
