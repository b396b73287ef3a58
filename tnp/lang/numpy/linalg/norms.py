"""Norms, and other scalars of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang.numpy.contractions import contract
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype
from tnp.lang.numpy.linalg.decompositions import singular_values
from tnp.lang.numpy.linalg.operands import (
    MAY_RAISE,
    LinAlgError,
    epsilon,
    identity_matrix,
    in_dtype_of,
    no_elements,
    plain,
    square_matrices,
    squared,
    times_last,
)
from tnp.lang.numpy.operands import as_array, axes, integer_or_eager, promote
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import npsymbol

__all__ = ["cond", "det", "matrix_norm", "matrix_rank", "norm", "slogdet", "vector_norm"]

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


# Norms


def _floating(x: Any) -> TensorProxy:
    a = as_array(x)
    return a if a.dtype.kind in "fc" else clang.convert(a, dtypes.float64)


def _norm_of_nothing() -> float | None:
    """What norms that are a largest element give for no elements; ``None`` where this version of NumPy raises."""
    try:
        return float(np.linalg.norm(np.empty(0), np.inf))
    except ValueError:
        return None


_NORM_OF_NOTHING = _norm_of_nothing()


def _extreme(prim: Any, a: TensorProxy, dim: int, *, of_nothing: float | None = None) -> TensorProxy:
    """The largest or smallest along a dimension; ``of_nothing`` is the one of no elements, where there is one."""
    if of_nothing is not None and sizes.equal(a.shape[dim], 0) is not False:
        # None, or it is not known whether any: what no elements give is one more.
        a = clang.concatenate([a, clang.full(_with_length(a, dim, 1), of_nothing, dtype=a.dtype)], dim)
    return prim(a, (dim,))


def _with_length(a: TensorProxy, dim: int, n: int) -> sizes.Shape:
    return tuple(n if d == dim else length for d, length in enumerate(a.shape))


def _vector_norm(a: TensorProxy, order: Any, dim: int) -> TensorProxy:
    if order == math.inf:
        return _extreme(prims.amax, clang.abs(a), dim, of_nothing=_NORM_OF_NOTHING)
    if order == -math.inf:
        return _extreme(prims.amin, clang.abs(a), dim)
    if order == 0:
        return prims.sum(clang.convert(clang.ne(a, 0), dtypes.real_counterpart(a.dtype)), (dim,))
    if order == 1:
        return prims.sum(clang.abs(a), (dim,))
    if order is None or order == 2:
        return clang.sqrt(prims.sum(squared(a), (dim,)))
    check(not isinstance(order, str), lambda: f"Invalid norm order '{order}' for vectors")
    return clang.pow(prims.sum(clang.pow(clang.abs(a), order), (dim,)), 1 / order)


def _sums_extreme(summed_dim: int, prim: Any, of_nothing: float | None) -> Callable[[TensorProxy], TensorProxy]:
    """Of matrices as the last two dimensions: the extreme of the sums of magnitudes along one of them."""

    def norm(a: TensorProxy) -> TensorProxy:
        sums = prims.sum(clang.abs(a), (a.ndim + summed_dim,))
        return _extreme(prim, sums, sums.ndim - 1, of_nothing=of_nothing)

    return norm


def _values_reduced(reduce: Callable[[TensorProxy], TensorProxy]) -> Callable[[TensorProxy], TensorProxy]:
    return lambda a: reduce(singular_values(a))


def _frobenius(a: TensorProxy) -> TensorProxy:
    return clang.sqrt(prims.sum(squared(a), (a.ndim - 2, a.ndim - 1)))


#: the norms of matrices, which are the last two dimensions
_MATRIX_NORMS: dict[Any, Callable[[TensorProxy], TensorProxy]] = {
    None: _frobenius,
    "f": _frobenius,
    "fro": _frobenius,
    "nuc": _values_reduced(lambda s: prims.sum(s, (s.ndim - 1,))),
    2: _values_reduced(lambda s: _extreme(prims.amax, s, s.ndim - 1, of_nothing=_NORM_OF_NOTHING)),
    -2: _values_reduced(lambda s: _extreme(prims.amin, s, s.ndim - 1)),
    1: _sums_extreme(-2, prims.amax, _NORM_OF_NOTHING),
    -1: _sums_extreme(-2, prims.amin, None),
    math.inf: _sums_extreme(-1, prims.amax, _NORM_OF_NOTHING),
    -math.inf: _sums_extreme(-1, prims.amin, None),
}


def _norm(a: TensorProxy, order: Any, dims: Sequence[Any] | None, keepdims: bool) -> TensorProxy:
    rank = a.ndim
    if dims is None and (
        order is None or (order in ("f", "fro") and rank == 2) or (order == 2 and type(order) is not str and rank == 1)
    ):
        flat = clang.reshape(a, (a.numel,))
        parts = (prims.real(flat), prims.imag(flat)) if a.dtype.kind == "c" else (flat,)
        squares = [contract(part, part, (0,), (0,)) for part in parts]
        result = clang.sqrt(squares[0] if len(squares) == 1 else clang.add(*squares))
        return clang.expand_dims(result, range(rank)) if keepdims else result
    along = tuple(one_axis(rank, d) for d in (range(rank) if dims is None else dims))
    check(len(along) in (1, 2), lambda: "Improper number of dimensions to norm.")
    if len(along) == 1:
        result = _vector_norm(a, order, along[0])
    else:
        check(along[0] != along[1], lambda: "Duplicate axes given.")
        check(order in _MATRIX_NORMS, lambda: "Invalid norm order for matrices.")
        result = _MATRIX_NORMS[order](clang.moveaxis(a, along, (-2, -1)))
    return clang.expand_dims(result, sorted(along)) if keepdims else result


@npsymbol("linalg.norm", tags=MAY_RAISE)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> TensorProxy:
    """A norm of vectors (one axis) or matrices (two); of all elements by default.

    Raises ``ValueError`` for an order that does not exist or for another number of axes.
    """
    a = _floating(x)
    if keepdims and a.ndim == 0:
        raise NeedsEager("norm of a 0-d array with keepdims=True is not compiled")
    dims = None if axis is None else axis if isinstance(axis, tuple) else (integer_or_eager(axis, "an axis"),)
    return _norm(a, plain(ord), dims, bool(keepdims))


@npsymbol("linalg.matrix_norm", tags=MAY_RAISE)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> TensorProxy:
    """A norm of the matrices that are the last two dimensions."""
    return _norm(_floating(x), plain(ord), (-2, -1), bool(keepdims))


@npsymbol("linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> TensorProxy:
    """A norm over any number of axes, taken as one vector."""
    a = _floating(x)
    if keepdims and a.ndim == 0:
        raise NeedsEager("vector_norm of a 0-d array with keepdims=True is not compiled")
    along = axes(a.ndim, axis)
    moved = clang.moveaxis(a, along, range(len(along)))
    flat = clang.reshape(moved, (sizes.product(moved.shape[: len(along)]), *moved.shape[len(along) :]))
    result = _norm(flat, plain(ord), (0,), False)
    return clang.expand_dims(result, sorted(along)) if keepdims else result


# Determinants, ranks, condition numbers


@npsymbol("linalg.det")
def det(a: Any) -> TensorProxy:
    """The determinant of each matrix."""
    return prims.det(square_matrices(a))


@npsymbol("linalg.slogdet")
def slogdet(a: Any) -> Any:
    """The sign of the determinant and the logarithm of its magnitude, which does not overflow."""
    return SlogdetResult(*prims.slogdet(square_matrices(a)))


@npsymbol("linalg.matrix_rank", tags=MAY_RAISE)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values exceed ``tol`` (default: the largest times ``rtol``); a Python int below two dimensions."""
    check(rtol is None or tol is None, lambda: "`tol` and `rtol` can't be both set.")
    a = as_array(A)
    if a.ndim < 2:
        nonzero = clang.ne(a, False if a.dtype.kind == "b" else 0)
        return prims.convert_number(prims.item(prims.any(nonzero, tuple(range(a.ndim)))), int)
    s = singular_values(a, hermitian)
    if tol is None:
        if rtol is None:
            longer = max(sizes.extents(a.shape[-2:], "matrix_rank"))
            rtol = (
                longer * epsilon(s.dtype)
                if type(longer) is int
                else prims.mul(symbols.number_of(longer), epsilon(s.dtype))
            )
        largest = _extreme(prims.amax, s, s.ndim - 1, of_nothing=_NORM_OF_NOTHING)
        limit: Any = times_last(clang.expand_dims(largest, (-1,)), rtol)
    else:
        limit = tol if is_number(tol) else clang.expand_dims(as_array(tol), (-1,))
    values, limit = (s, limit) if is_number(limit) else clang.broadcast(*promote(s, limit))
    return prims.sum(clang.convert(clang.gt(values, limit), dtypes.int64), (values.ndim - 1,))


@npsymbol("linalg.cond", tags=MAY_RAISE)
def cond(x: Any, p: Any = None) -> TensorProxy:
    """The condition number: the ratio of the extreme singular values, or ``norm(x, p) * norm(inv(x), p)``.

    Infinite for singular matrices. Raises ``LinAlgError`` for empty ones.
    """
    a = as_array(x)
    check(not no_elements(a.shape[-2:]), lambda: "cond is not defined on empty arrays", LinAlgError)
    p = plain(p)
    if p is None or p in (2, -2):
        s = singular_values(a)
        last = s.ndim - 1
        first, smallest = prims.select(s, last, 0), prims.select(s, last, -1)
        ratio = clang.div(smallest, first) if p == -2 else clang.div(first, smallest)
    else:
        a = square_matrices(a)
        inverse, singular = _inverse_if_regular(a)
        ratio = clang.mul(_norm(a, p, (-2, -1), False), _norm(inverse, p, (-2, -1), False))
        example = np.linalg.cond(np.eye(1, dtype=to_numpy_dtype(a.dtype)), p)  # complex for complex ones in NumPy 2.0
        ratio = clang.convert(ratio, to_dtype(example.dtype))
        ratio = clang.where(singular, math.inf, ratio)
    unknown = prims.any(clang.isnan(a), (a.ndim - 2, a.ndim - 1))
    undefined = clang.logical_and(clang.isnan(ratio), clang.logical_not(unknown))
    return clang.where(undefined, math.inf, ratio)


def _inverse_if_regular(a: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """The inverse, something else for singular matrices, and which are singular. Raises nothing.

    Rows are scaled to a largest element of 1 first, so that a determinant of 0 is no underflow.
    """
    scale = clang.expand_dims(prims.amax(clang.abs(a), (a.ndim - 1,)), (-1,))
    scale = in_dtype_of(clang.where(clang.eq(scale, 0), 1, scale), a)
    scaled = clang.div(a, scale)
    singular = clang.eq(prims.det(scaled), 0)
    (length,) = sizes.concrete(a.shape[-1:], "cond")
    identity = clang.broadcast_to(identity_matrix(length, a.dtype), a.shape)
    regular = clang.where(clang.expand_dims(singular, (-1, -2)), identity, scaled)
    return clang.div(prims.inv(regular), clang.matrix_transpose(scale)), singular
