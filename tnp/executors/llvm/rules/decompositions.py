"""Decompositions of small matrices, and of stacks of them: eigenvalues, singular values, and QR, by LAPACK's routines.

They are nodes of the graph, compiled with what stands around them, and the matrices of a stack are shared among
threads. If LAPACK does not converge, the kernel refuses its arguments, and NumPy raises its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import is_known
from tnp.core.symbol import BoundSymbol
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
from tnp.executors.llvm.lowering import Lowering, Refused, Value, rule

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


def _is_small_in_loops(lowering: Lowering, bsym: BoundSymbol, a: Value, *options: bool) -> bool:
    m, n = map(lowering.length, a.shape[-2:])
    if m is None or n is None or not is_small(m, n, full=True in options[:1] and bsym.sym is not prims.eigh):
        raise Refused("a decomposition of a large matrix, or of one whose size is not known")
    if a.dtype.kind not in "fc" or not decomposes(wide_dtype(a.dtype)):
        raise Refused(f"decompositions of {a.dtype}")
    return True


class _Decomposed:
    """A routine's memory: each result has its own lines. ``vectors`` are the positions of results without which it does less."""

    def __init__(self, lowering: Lowering, a: Value, layout: Layout, vectors: Sequence[int] = ()) -> None:
        self.lowering, self.layout, self.given = lowering, layout, a.dtype
        self.stack = a.shape[:-2]
        lines = lowering.lines(self.converted(a, wide_dtype(a.dtype)), layout.lines, layout.width)
        self.memory = lowering.routine(layout.routine, lines, layout.without_vectors, vectors)

    def line(self, i: int, count: int) -> Any:
        """The first elements of a line."""
        return self.lowering.view(self.memory, (*self.stack, count), lambda at: (*at[:-1], i, at[-1]))

    def columns(self, first: int, rows: int, count: int) -> Any:
        """A matrix whose columns are lines."""
        shape = (*self.stack, rows, count)
        return self.lowering.view(self.memory, shape, lambda at: (*at[:-2], at[-1] + first, at[-2]))

    def values(self, count: int) -> Any:
        """Real values. They are NaN where LAPACK fails."""
        line = self.line(self.layout.values, count)
        if self.memory.dtype.kind == "c":
            line = self.lowering.make("real", line.shape, dtypes.real_counterpart(line.dtype), (line,))
        self.check(line)
        return self.converted(line, dtypes.real_counterpart(self.given))

    def converted(self, x: Any, dtype: DType) -> Any:
        return x if x.dtype is dtype else self.lowering.make("convert_element_type", x.shape, dtype, (x,))

    def check(self, line: Any) -> None:
        finite = self.lowering.make("isfinite", line.shape, dtypes.bool8, (line,))
        self.lowering.refuse(self.lowering.make("logical_not", line.shape, dtypes.bool8, (finite,)))

    def vectors(self, x: Any, dtype: DType) -> Any:
        """A result in C order."""
        return self.lowering.copied(x, dtype, in_c_order=True)


def _shape_of(lowering: Lowering, a: Value) -> tuple[int, int]:
    """Rows and columns, which are known."""
    m, n = map(lowering.length, a.shape[-2:])
    assert m is not None and n is not None
    return m, n


@rule("eigh", checker=_is_small, in_loops=_is_small_in_loops)
def _eigh(lowering: Lowering, output: TensorProxy, a: Value, upper: bool = False) -> tuple[Any, ...]:
    n, _ = _shape_of(lowering, a)
    made = _Decomposed(lowering, a, layout_of_eigh(n, upper), vectors=(1,))
    return made.values(n), made.vectors(made.columns(0, n, n), a.dtype)


def _eigenvalues(made: _Decomposed, n: int, dtype: DType) -> Any:
    values = made.line(made.layout.values, n)
    made.check(values)
    if values.dtype.kind == "f":
        parts = (values, made.line(made.layout.values + 1, n))
        values = made.lowering.make("complex", values.shape, dtypes.complex128, parts)
    return made.converted(values, dtype)


@rule("eig", checker=_is_small, in_loops=_is_small_in_loops)
def _eig(lowering: Lowering, output: TensorProxy, a: Value) -> tuple[Any, ...]:
    n, _ = _shape_of(lowering, a)
    made = _Decomposed(lowering, a, layout_of_eig(n, a.dtype), vectors=(1,))
    values = _eigenvalues(made, n, output.dtype)
    first = made.layout.right
    vectors = made.columns(first, n, n)
    if a.dtype.kind == "f":
        parts = (vectors, made.columns(first + n, n, n))
        vectors = lowering.make("complex", vectors.shape, dtypes.complex128, parts)
    return values, made.vectors(vectors, output.dtype)


@rule("eigvals", checker=_is_small, in_loops=_is_small_in_loops)
def _eigvals(lowering: Lowering, output: TensorProxy, a: Value) -> Any:
    n, _ = _shape_of(lowering, a)
    return _eigenvalues(_Decomposed(lowering, a, layout_of_eig(n, a.dtype, vectors=False)), n, output.dtype)


@rule("svd", checker=_is_small, in_loops=_is_small_in_loops)
def _svd(lowering: Lowering, output: TensorProxy, a: Value, full: bool = False) -> tuple[Any, ...]:
    m, n = _shape_of(lowering, a)
    few = min(m, n)
    made = _Decomposed(lowering, a, layout_of_svd(m, n, full), vectors=(0, 2))
    s = made.values(few)
    left = made.columns(made.layout.left, m, m if full else few)
    right = made.columns(made.layout.right, n if full else few, n)
    return made.vectors(left, a.dtype), s, made.vectors(right, a.dtype)


@rule("qr", checker=_is_small, in_loops=_is_small_in_loops)
def _qr(lowering: Lowering, output: TensorProxy, a: Value, full: bool = False) -> tuple[Any, ...]:
    m, n = _shape_of(lowering, a)
    few = m if full else min(m, n)
    made = _Decomposed(lowering, a, layout_of_qr(m, n, full), vectors=(0, 1))
    r = made.columns(0, few, n)
    numbers = lowering.make("iota", (max(m, n),), dtypes.int64, (0, 1))
    row, column = (
        lowering.view(numbers, r.shape, lambda at, d=d: (at[d],), repeats=True, whole=True) for d in (-2, -1)
    )
    is_above = lowering.make("le", r.shape, dtypes.bool8, (row, column))
    triangle = lowering.make("where", r.shape, r.dtype, (is_above, r, 0))
    q = made.columns(made.layout.left, m, few)
    return made.vectors(q, a.dtype), made.vectors(triangle, a.dtype)
