"""Solving equations and inverting matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.contractions import matrix_product
from tnp.lang.numpy.linalg.decompositions import svd_of
from tnp.lang.numpy.linalg.operands import (
    MAY_RAISE,
    LinAlgError,
    adjoint,
    check_square,
    check_stacked,
    epsilon,
    in_dtype_of,
    largest_of,
    linalg_dtype,
    no_elements,
    plain,
    square_matrices,
    squared,
    times_last,
)
from tnp.lang.numpy.operands import as_array, promote, static_int
from tnp.lang.numpy.registry import npsymbol

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]

# Inverses


@npsymbol("linalg.inv", tags=MAY_RAISE)
def inv(a: Any) -> TensorProxy:
    """The inverse of each matrix. Raises ``LinAlgError`` for one that is not square or (at run time) is singular."""
    return prims.inv(square_matrices(a))


def _inverses_above(s: TensorProxy, limit: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """``1 / s`` where ``s`` exceeds the limit, else 0; and where it does."""
    large = clang.gt(*promote(s, limit))
    return clang.where(large, clang.reciprocal(clang.where(large, s, 1)), 0), large


def _other_shape(s: TensorProxy, inverses: TensorProxy) -> str:
    """What NumPy says of limits that are for more matrices than there are."""
    shapes = sizes.show(s.shape), sizes.show(inverses.shape)
    return "non-broadcastable output operand with shape {} doesn't match the broadcast shape {}".format(*shapes)


@npsymbol("linalg.pinv", tags=(*MAY_RAISE, OpTags.BETTER_OPENED))
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> TensorProxy:
    """The Moore-Penrose inverse of each matrix; singular values up to ``rcond`` times the largest count as zero."""
    a = as_array(a)
    check(rcond is None or rtol is np._NoValue, lambda: "`rtol` and `rcond` can't be both set.")
    check_stacked(a)
    if no_elements(a.shape[-2:]):
        return clang.full((*a.shape[:-2], a.shape[-1], a.shape[-2]), 0, dtype=a.dtype)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(sizes.concrete(a.shape[-2:], "pinv")) * epsilon(a.dtype)
    u, s, vh = svd_of(a, full=False, hermitian=hermitian)
    inverses, _ = _inverses_above(s, times_last(largest_of(s), rcond))
    check(sizes.shapes_equal(inverses.shape, s.shape) is not False, lambda: _other_shape(s, inverses))
    return matrix_product(adjoint(vh), clang.mul(clang.expand_dims(in_dtype_of(inverses, u), (-1,)), adjoint(u)))


@npsymbol("linalg.tensorinv", tags=MAY_RAISE)
def tensorinv(a: Any, ind: Any = 2) -> TensorProxy:
    """The inverse for ``tensordot`` over ``ind`` dimensions."""
    a, count = as_array(a), static_int(ind)
    check(count > 0, lambda: "Invalid ind argument.")
    if not a.ndim:
        raise NeedsEager("the inverse of no dimensions is not compiled")
    first, last = a.shape[:count], a.shape[count:]
    square = clang.reshape(a, (sizes.product(last), -1))
    return clang.reshape(inv(square), (*last, *first))


# Systems of equations


@npsymbol("linalg.solve", tags=MAY_RAISE)
def solve(a: Any, b: Any) -> TensorProxy:
    """``x`` with ``a @ x = b``; ``b`` is one vector if 1-d, else matrices. Batches broadcast.

    Raises ``LinAlgError`` for matrices that are not square or (at run time) are singular.
    """
    a, b = as_array(a), as_array(b)
    check_square(a)
    check(b.ndim >= 1, lambda: "solve: Input operand 1 does not have enough dimensions")
    wanted = linalg_dtype(a, b)
    a, b = clang.convert(a, wanted), clang.convert(b, wanted)
    columns = clang.expand_dims(b, (1,)) if b.ndim == 1 else b
    check(
        sizes.equal(a.shape[-1], columns.shape[-2]) is not False,
        lambda: (
            f"solve: Input operand 1 has a mismatch in its core dimension 0 (size {columns.shape[-2]} is "
            f"different from {a.shape[-1]})"
        ),
    )
    batch = sizes.broadcast(a.shape[:-2], columns.shape[:-2])
    x = prims.solve(
        clang.broadcast_to(a, (*batch, *a.shape[-2:])), clang.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    )
    return clang.squeeze(x, (-1,)) if b.ndim == 1 else x


@npsymbol("linalg.tensorsolve", tags=MAY_RAISE, returns="array")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> TensorProxy:
    """``x`` with ``tensordot(a, x, x.ndim) = b``; ``axes`` of ``a`` are moved to its end first."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(a.ndim))
        for d in axes:
            order.remove(static_int(d))
            order.insert(a.ndim, static_int(d))
        a = clang.transpose(a, order)
    unknowns = a.shape[-(a.ndim - b.ndim) :]
    n = sizes.product(unknowns)
    total = a.numel
    check(
        None if type(n) is not int or type(total) is not int else total == n * n,
        lambda: "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])",
        LinAlgError,
    )
    return clang.reshape(solve(clang.reshape(a, (n, n)), clang.reshape(b, (b.numel,))), unknowns)


def _least_ratio(rcond: Any, m: Any, n: Any) -> Any:
    """The relative cutoff of the singular values of an ``m`` by ``n`` matrix: smaller ones count as zero."""
    if rcond is None:
        most = symbols.number_of(m if m > n else n)
        if type(most) is int:
            return epsilon(dtypes.float64) * most
        return clang.mul(as_array(most, dtypes.float64), epsilon(dtypes.float64))
    is_of_length = isinstance(rcond, NumberProxy) and rcond.relations is not None and rcond.python_type is float
    if is_of_length or (isinstance(rcond, TensorProxy) and not rcond.ndim and rcond.dtype.kind == "f"):
        ratio = as_array(rcond, dtypes.float64)  # it is computed, of a length in ``np.polyfit``
        return clang.where(clang.lt(ratio, 0.0), epsilon(dtypes.float64), ratio)
    return epsilon(dtypes.float64) if plain(rcond) < 0 else plain(rcond)  # negative: LAPACK's own choice


@npsymbol("linalg.lstsq", tags=MAY_RAISE)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``x`` that minimises ``|a @ x - b|``, the sums of squared residuals, the rank of ``a``, and its singular values.

    Singular values up to ``rcond`` times the largest count as zero. The residuals are empty unless ``a`` has full
    rank and more rows than columns: their length is a size.
    """
    a, b = as_array(a), as_array(b)
    columns = clang.expand_dims(b, (1,)) if b.ndim == 1 else b
    for x in (a, columns):
        check(x.ndim == 2, lambda: f"{x.ndim}-dimensional array given. Array must be two-dimensional", LinAlgError)
    m, n = sizes.extents(a.shape, "lstsq")
    check(sizes.equal(a.shape[0], columns.shape[0]) is not False, lambda: "Incompatible dimensions", LinAlgError)
    result = linalg_dtype(a, b)
    # NumPy calls LAPACK in double precision here, whatever the operands.
    wide = dtypes.complex128 if result.kind == "c" else dtypes.float64
    u, s, vh = prims.svd(clang.convert(a, wide))
    inverses, large = _inverses_above(s, times_last(largest_of(s), _least_ratio(rcond, m, n)))
    columns = clang.convert(columns, wide)
    projected = prims.matmul(adjoint(u), columns)
    x = prims.matmul(adjoint(vh), clang.mul(clang.expand_dims(in_dtype_of(inverses, u), (1,)), projected))
    rank = prims.sum(clang.convert(large, dtypes.int32), (0,))
    real = dtypes.real_counterpart(result)
    if m <= n:
        residuals = clang.full((0,), 0, dtype=real)
    else:
        difference = clang.sub(columns, prims.matmul(clang.convert(a, wide), x))
        squares = clang.convert(prims.sum(squared(difference), (0,)), real)
        full_rank = clang.convert(clang.eq(rank, symbols.number_of(n)), dtypes.int64)
        length = prims.item(clang.mul(full_rank, columns.shape[1]))
        residuals = prims.dynamic_slice(squares, 0, None, length, 1)
    x = clang.convert(x, result)
    return clang.squeeze(x, (1,)) if b.ndim == 1 else x, residuals, rank, clang.convert(s, real)
