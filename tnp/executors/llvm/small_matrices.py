"""Small matrices, and stacks of them: products as sums of products, and systems of linear equations.

A library's call takes longer than the arithmetic on a matrix of a few rows. As nodes of the graph, these operations are
compiled with what stands around them: a step of a Kalman filter is one kernel. A matrix without an inverse makes the
kernel refuse its arguments, and NumPy raises its error.
"""

from __future__ import annotations

from typing import Any

from tnp.core import dtypes
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import is_known
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Indices, Lowering, Node, Product, Routine, rule
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.target import MOST_ROWS, SMALL_PRODUCT

__all__: list[str] = []


def _is_small_product(bsym: BoundSymbol) -> bool:
    a, b = bsym.args
    if a.dtype.kind not in "iufc" or (a.dtype.kind == "f" and a.dtype.bits < 32) or bsym.output.lang.name == "torch":
        return False  # models have the bits of torch's library
    m, k, n = *a.shape[-2:], b.shape[-1]
    return is_known((m, k, n)) and 0 < m * k * n <= SMALL_PRODUCT


@rule("matmul", checker=_is_small_product)
def _product(lowering: Lowering, output: TensorProxy, a: Node, b: Node) -> Node:
    *batch, m, k = a.shape
    r = len(batch)
    shape = (*batch, m, b.shape[-1], k)
    left = lowering.view(a, shape, lambda at: (*at[: r + 1], at[-1]), repeats=True, whole=True)
    right = lowering.view(b, shape, lambda at: (*at[:r], at[-1], at[r + 1]), repeats=True, whole=True)
    products = lowering.make("mul", shape, output.dtype, (left, right))
    if k == 1:
        return lowering.reduce("sum", output.shape, output.dtype, products, (r + 2,))
    lowering.position += 1
    return lowering.graph.add(Product(output.shape, output.dtype, products, position=lowering.position))


# Systems of linear equations


def _is_small(bsym: BoundSymbol) -> bool:
    """Whether the matrices have few rows, and one stack dimension at most: NumPy's results are in C order then."""
    a = bsym.args[0]
    if a.ndim > 3 or a.dtype.kind not in "fc" or a.dtype.bits < 32 or _is_of_torch(bsym):
        return False
    n, columns = a.shape[-1], bsym.args[-1].shape[-1]
    return is_known((n, columns)) and 0 < n <= MOST_ROWS and 0 < columns <= 4 * MOST_ROWS


def _is_of_torch(bsym: BoundSymbol) -> bool:
    return any(p.lang.name == "torch" for p in bsym.flat_outputs)


def _factored(lowering: Lowering, op: str, a: Node) -> Node:
    lowering.position += 1
    return lowering.graph.add(Routine(op, a, position=lowering.position))


def _diagonal(lowering: Lowering, a: Node) -> Node:
    return lowering.view(a, a.shape[:-1], lambda at: (*at, at[-1]))


def _not_finite(lowering: Lowering, x: Node) -> Node:
    """Where a diagonal is infinite or NaN: what comes of that is LAPACK's choice."""
    finite = lowering.make("isfinite", x.shape, dtypes.bool8, (x,))
    return lowering.make("logical_not", x.shape, dtypes.bool8, (finite,))


def _solved(lowering: Lowering, a: Node, b: Node) -> Node:
    """``x`` with ``a @ x = b``."""
    *batch, n, m = b.shape
    if n == 1:
        diagonal = _diagonal(lowering, a)
        spread = lowering.view(a, b.shape, lambda at: (*at[:-1], Index()), repeats=True, whole=True)
        x = lowering.make("div", b.shape, b.dtype, (b, spread))
    else:
        both = lowering.make("empty", (*batch, n, n + m), a.dtype)
        both = lowering.update(both, a, lambda whole: lowering.view(whole, a.shape, lambda at: at))
        both = lowering.update(both, b, lambda whole: lowering.view(whole, b.shape, _behind(n)))
        made = _factored(lowering, "eliminate", both)
        diagonal = _diagonal(lowering, lowering.view(made, a.shape, lambda at: at))
        x = lowering.make("copy", b.shape, b.dtype, (lowering.view(made, b.shape, _behind(n)),))
    none = lowering.make("eq", diagonal.shape, dtypes.bool8, (diagonal, 0))
    wrong = lowering.make("logical_or", diagonal.shape, dtypes.bool8, (none, _not_finite(lowering, diagonal)))
    lowering.refuse(wrong)
    return x


def _behind(n: int) -> Any:
    """The columns behind the first ``n``."""

    def where(at: Indices) -> Indices:
        return (*at[:-1], at[-1] + n)

    return where


@rule("solve", checker=_is_small)
def _solve(lowering: Lowering, output: TensorProxy, a: Node, b: Node) -> Node:
    return _solved(lowering, a, b)


def _rows_and_columns(lowering: Lowering, a: Node) -> tuple[Node, Node]:
    """The numbers of each element's row and column."""
    numbers = lowering.make("iota", (a.shape[-1],), dtypes.int64, (0, 1))
    row = lowering.view(numbers, a.shape, lambda at: (at[-2],), repeats=True, whole=True)
    return row, lowering.view(numbers, a.shape, lambda at: (at[-1],), repeats=True, whole=True)


@rule("inv", checker=_is_small)
def _inv(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    on_diagonal = lowering.make("eq", a.shape, dtypes.bool8, _rows_and_columns(lowering, a))
    return _solved(lowering, a, lowering.make("convert_element_type", a.shape, a.dtype, (on_diagonal,)))


@rule("triangular_solve", checker=_is_small)
def _triangular_solve(
    lowering: Lowering, output: TensorProxy, a: Node, b: Node, *, upper: bool = False, transpose: bool = False,
    unit: bool = False,
) -> Node:  # fmt: skip
    """The other triangle is not read. Without a pivot, what comes of it is LAPACK's choice."""
    row, column = _rows_and_columns(lowering, a)
    kept = lowering.make("le" if upper else "ge", a.shape, dtypes.bool8, (row, column))
    triangle = lowering.make("where", a.shape, a.dtype, (kept, a, 0))
    if unit:
        on_diagonal = lowering.make("eq", a.shape, dtypes.bool8, (row, column))
        triangle = lowering.make("where", a.shape, a.dtype, (on_diagonal, 1, triangle))
    if transpose:
        triangle = lowering.view(triangle, a.shape, lambda at: (*at[:-2], at[-1], at[-2]), whole=True)
    return _solved(lowering, triangle, b)


def _is_small_and_real(bsym: BoundSymbol) -> bool:
    return bsym.args[0].dtype.kind == "f" and _is_small(bsym)


@rule("slogdet", checker=_is_small_and_real)
def _slogdet(lowering: Lowering, output: TensorProxy, a: Node) -> tuple[Node, Node]:
    """The sign of the product, and the sum of the logarithms, of the pivots."""
    if a.shape[-1] == 1:
        diagonal = _diagonal(lowering, a)
    else:
        diagonal = _diagonal(lowering, _factored(lowering, "eliminate", a))
    lowering.refuse(_not_finite(lowering, diagonal))
    shape, dtype, last = diagonal.shape, a.dtype, (len(a.shape) - 2,)
    sign = lowering.reduce("prod", shape[:-1], dtype, lowering.make("sign", shape, dtype, (diagonal,)), last)
    logs = lowering.make("log", shape, dtype, (lowering.make("abs", shape, dtype, (diagonal,)),))
    return sign, lowering.reduce("sum", shape[:-1], dtype, logs, last)


@rule("det", checker=_is_small_and_real)
def _det(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    """As NumPy computes it."""
    sign, logarithm = _slogdet(lowering, output, a)
    size = lowering.make("exp", output.shape, a.dtype, (logarithm,))
    return lowering.make("mul", output.shape, a.dtype, (sign, size))


@rule("cholesky", checker=lambda b: b.args[0].dtype.kind == "f" and _is_small(b))
def _cholesky(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    if a.shape[-1] == 1:
        made = lowering.make("sqrt", a.shape, a.dtype, (a,))
    else:
        made = lowering.make("copy", a.shape, a.dtype, (_factored(lowering, "cholesky", a),))
    diagonal = _diagonal(lowering, made)
    positive = lowering.make("gt", diagonal.shape, dtypes.bool8, (diagonal, 0))
    wrong = lowering.make("logical_not", diagonal.shape, dtypes.bool8, (positive,))
    lowering.refuse(lowering.make("logical_or", wrong.shape, dtypes.bool8, (wrong, _not_finite(lowering, diagonal))))
    return made
