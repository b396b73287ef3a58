"""Small matrices, and stacks of them: products as sums of products, and systems of linear equations.

A library's call takes longer than the arithmetic on a matrix of a few rows. As nodes of the graph, these operations are
compiled with what stands around them: a step of a Kalman filter is one kernel. A matrix without an inverse makes the
kernel refuse its arguments, and NumPy raises its error. Whole loops raise it themselves.
"""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from tnp.core import dtypes
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import is_known
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Node, Product
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import Lowering, Refused, Value, rule
from tnp.executors.llvm.target import MOST_ROWS, ROWS_IN_LOOPS, SMALL_PRODUCT

__all__: list[str] = []


def _is_small_product(bsym: BoundSymbol) -> bool:
    a, b = bsym.args
    if a.dtype.kind not in "iufc" or (a.dtype.kind == "f" and a.dtype.bits < 32) or bsym.output.lang.name == "torch":
        return False  # models have the bits of torch's library
    m, k, n = *a.shape[-2:], b.shape[-1]
    return is_known((m, k, n)) and 0 < m * k * n <= SMALL_PRODUCT


@rule("matmul", checker=_is_small_product)
def _product(lowering: GraphLowering, output: TensorProxy, a: Node, b: Node) -> Node:
    *batch, m, k = a.shape
    r = len(batch)
    shape = (*batch, m, b.shape[-1], k)
    left = lowering.view(a, shape, lambda at: (*at[: r + 1], at[-1]), repeats=True, whole=True)
    right = lowering.view(b, shape, lambda at: (*at[:r], at[-1], at[r + 1]), repeats=True, whole=True)
    products = lowering.make("mul", shape, output.dtype, (left, right))
    if k == 1:
        return lowering.reduce("sum", output.shape, output.dtype, products, (r + 2,))
    return lowering.add(Product(output.shape, output.dtype, products, position=lowering.next_position()))


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


def _is_small_in_loops(lowering: Lowering, bsym: BoundSymbol, a: Any, *others: Any, **options: Any) -> bool:
    if a.dtype.kind not in "fc" or a.dtype.bits < 32:
        raise Refused(f"equations of {a.dtype}")
    if max(n.high for n in a.shape[-2:]) > ROWS_IN_LOOPS:
        raise Refused("a large system of equations, or one of a size that nobody knows")
    return True


def _singular() -> Exception:
    return LinAlgError("Singular matrix")


def _diagonal(lowering: Lowering, a: Value) -> Any:
    return lowering.view(a, a.shape[:-1], lambda at: (*at, at[-1]))


def _solved(lowering: Lowering, a: Value, b: Value) -> Any:
    """``x`` with ``a @ x = b``."""
    *batch, n, m = b.shape
    lowering.require_equal(a.shape[:-1], b.shape[:-1])
    if lowering.length(n) == 1:
        diagonal = _diagonal(lowering, a)
        spread = lowering.view(a, b.shape, lambda at: (*at[:-1], 0), repeats=True, whole=True)
        x = lowering.make("div", b.shape, b.dtype, (b, spread))
    else:
        both = lowering.make("empty", (*batch, n, n + m), a.dtype)
        both = lowering.update(both, a, lambda whole: lowering.view(whole, a.shape, lambda at: at))
        both = lowering.update(both, b, lambda whole: lowering.view(whole, b.shape, _behind(n)))
        made = lowering.routine("eliminate", both)
        diagonal = _diagonal(lowering, lowering.view(made, a.shape, lambda at: at))
        x = lowering.copied(lowering.view(made, b.shape, _behind(n)), b.dtype)
    lowering.refuse(lowering.make("eq", diagonal.shape, dtypes.bool8, (diagonal, 0)), _singular)
    lowering.expect_finite(diagonal)
    return x


def _behind(n: Any) -> Any:
    """The columns behind the first ``n``."""

    def where(at: Any) -> Any:
        return (*at[:-1], at[-1] + n)

    return where


@rule("solve", checker=_is_small, in_loops=_is_small_in_loops)
def _solve(lowering: Lowering, output: TensorProxy, a: Value, b: Value) -> Any:
    return _solved(lowering, a, b)


def _rows_and_columns(lowering: Lowering, a: Value) -> tuple[Any, Any]:
    """The numbers of each element's row and column."""
    numbers = lowering.make("iota", (a.shape[-1],), dtypes.int64, (0, 1))
    row = lowering.view(numbers, a.shape, lambda at: (at[-2],), repeats=True, whole=True)
    return row, lowering.view(numbers, a.shape, lambda at: (at[-1],), repeats=True, whole=True)


@rule("inv", checker=_is_small, in_loops=_is_small_in_loops)
def _inv(lowering: Lowering, output: TensorProxy, a: Value) -> Any:
    on_diagonal = lowering.make("eq", a.shape, dtypes.bool8, _rows_and_columns(lowering, a))
    return _solved(lowering, a, lowering.make("convert_element_type", a.shape, a.dtype, (on_diagonal,)))


@rule("triangular_solve", checker=_is_small, in_loops=_is_small_in_loops)
def _triangular_solve(
    lowering: Lowering, output: TensorProxy, a: Value, b: Value, *, upper: bool = False, transpose: bool = False,
    unit: bool = False,
) -> Any:  # fmt: skip
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


def _is_small_and_real_in_loops(lowering: Lowering, bsym: BoundSymbol, a: Any) -> bool:
    return a.dtype.kind == "f" and _is_small_in_loops(lowering, bsym, a)


@rule("slogdet", checker=_is_small_and_real, in_loops=_is_small_and_real_in_loops)
def _slogdet(lowering: Lowering, output: TensorProxy, a: Value) -> tuple[Any, Any]:
    """The sign of the product, and the sum of the logarithms, of the pivots."""
    factors = a if lowering.length(a.shape[-1]) == 1 else lowering.routine("eliminate", a)
    diagonal = _diagonal(lowering, factors)
    lowering.expect_finite(diagonal)
    shape, dtype, last = diagonal.shape, a.dtype, (len(a.shape) - 2,)
    sign = lowering.reduce("prod", shape[:-1], dtype, lowering.make("sign", shape, dtype, (diagonal,)), last)
    logs = lowering.make("log", shape, dtype, (lowering.make("abs", shape, dtype, (diagonal,)),))
    return sign, lowering.reduce("sum", shape[:-1], dtype, logs, last)


@rule("det", checker=_is_small_and_real, in_loops=_is_small_and_real_in_loops)
def _det(lowering: Lowering, output: TensorProxy, a: Value) -> Any:
    """As NumPy computes it."""
    sign, logarithm = _slogdet(lowering, output, a)
    size = lowering.make("exp", a.shape[:-2], a.dtype, (logarithm,))
    return lowering.make("mul", a.shape[:-2], a.dtype, (sign, size))


@rule("cholesky", checker=_is_small_and_real, in_loops=_is_small_and_real_in_loops)
def _cholesky(lowering: Lowering, output: TensorProxy, a: Value) -> Any:
    if lowering.length(a.shape[-1]) == 1:
        made = lowering.make("sqrt", a.shape, a.dtype, (a,))
    else:
        made = lowering.copied(lowering.routine("cholesky", a), a.dtype)
    diagonal = _diagonal(lowering, made)
    positive = lowering.make("gt", diagonal.shape, dtypes.bool8, (diagonal, 0))
    # NaN passes some libraries.
    lowering.refuse(lowering.make("logical_not", diagonal.shape, dtypes.bool8, (positive,)))
    lowering.expect_finite(diagonal)
    return made
