"""``numpy.linalg``.

``eig`` and ``eigvals`` have no definition: whether the eigenvalues of a real matrix are real, and so their dtype, is known only at
run time. They run as opaque calls, whose results are compared with a dry run's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy import opaque, products
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, axes, promote, static_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.products import conjugated, contract, matrix_product
from tnp.lang.numpy.registry import npsymbol

LinAlgError = np.linalg.LinAlgError

#: the named tuples that NumPy returns
EighResult = type(np.linalg.eigh(np.eye(1)))
QRResult = type(np.linalg.qr(np.eye(1)))
SVDResult = type(np.linalg.svd(np.eye(1)))
SlogdetResult = type(np.linalg.slogdet(np.eye(1)))

_MAY_RAISE = (OpTags.MAY_RAISE,)


# Operands


def _linalg_dtype(*arrays: TensorProxy) -> DType:
    """The dtype that LAPACK works in: the widest of the operands, integers and bools counting as float64.

    Raises ``TypeError`` for float16.
    """
    for a in arrays:
        check(a.dtype is not dtypes.float16, lambda: "array type float16 is unsupported in linalg", TypeError)
    single = all(a.dtype in (dtypes.float32, dtypes.complex64) for a in arrays)
    real = dtypes.float32 if single else dtypes.float64
    return dtypes.complex_counterpart(real) if any(a.dtype.kind == "c" for a in arrays) else real


def _matrices(*xs: Any) -> list[TensorProxy]:
    """Operands of two or more dimensions, in the dtype that LAPACK works in. Raises ``LinAlgError`` for fewer."""
    arrays = [as_array(x) for x in xs]
    for a in arrays:
        _check_stacked(a)
    wanted = _linalg_dtype(*arrays)
    return [clang.convert(a, wanted) for a in arrays]


def _check_stacked(a: TensorProxy) -> None:
    check(
        a.ndim >= 2,
        lambda: f"{a.ndim}-dimensional array given. Array must be at least two-dimensional",
        LinAlgError,
    )


def _check_square(a: TensorProxy) -> None:
    _check_stacked(a)
    check(
        sizes.equal(a.shape[-1], a.shape[-2]) is not False,
        lambda: "Last 2 dimensions of the array must be square",
        LinAlgError,
    )


def _square(x: Any) -> TensorProxy:
    """A stack of square matrices in the dtype that LAPACK works in. Raises ``LinAlgError`` for anything else."""
    a = as_array(x)
    _check_square(a)
    return _matrices(a)[0]


def _adjoint(a: TensorProxy) -> TensorProxy:
    return conjugated(clang.matrix_transpose(a))


def _eye(n: int, dtype: DType) -> TensorProxy:
    at = clang.arange(n, dtype=dtypes.int64)
    same = clang.eq(clang.expand_dims(at, (1,)), clang.expand_dims(at, (0,)))
    return clang.convert(same, dtype)


def _triangle(a: TensorProxy) -> TensorProxy:
    """The upper triangle, zeros below it."""
    rows, columns = (clang.arange(n, dtype=dtypes.int64) for n in sizes.concrete(a.shape[-2:], "a triangle"))
    keep = clang.le(clang.expand_dims(rows, (1,)), clang.expand_dims(columns, (0,)))
    return clang.where(keep, a, 0)


def _diagonals(a: TensorProxy) -> TensorProxy:
    return prims.diagonal(a, 0, a.ndim - 2, a.ndim - 1)


def _plain(x: Any) -> Any:
    """An option (the order of a norm, a limit) as the Python number or string that the trace depends on."""
    return x.item() if isinstance(x, np.generic) else pyval(x)


def _no_elements(shape: Sequence[sizes.Dim]) -> bool:
    """Whether one of the lengths is surely 0."""
    return any(sizes.equal(n, 0) for n in shape)


# Inverses and determinants


@npsymbol("linalg.inv", tags=_MAY_RAISE)
def inv(a: Any) -> TensorProxy:
    """The inverse of each matrix. Raises ``LinAlgError`` for one that is not square or (at run time) is singular."""
    return prims.inv(_square(a))


@npsymbol("linalg.det")
def det(a: Any) -> TensorProxy:
    """The determinant of each matrix."""
    return prims.det(_square(a))


@npsymbol("linalg.slogdet")
def slogdet(a: Any) -> Any:
    """The sign of the determinant and the logarithm of its magnitude, which does not overflow."""
    q, r = prims.qr(_square(a))
    factors = _diagonals(r)
    logarithm = prims.sum(clang.log(clang.abs(factors)), (factors.ndim - 1,))
    # The determinant of q has magnitude 1 up to rounding; what is left of it is its sign.
    sign = clang.mul(clang.sign(prims.det(q)), prims.prod(clang.sign(factors), (factors.ndim - 1,)))
    return SlogdetResult(sign, logarithm)


@npsymbol("linalg.pinv", tags=_MAY_RAISE)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> TensorProxy:
    """The Moore-Penrose inverse of each matrix; singular values up to ``rcond`` times the largest count as zero."""
    a = as_array(a)
    check(rcond is None or rtol is np._NoValue, lambda: "`rtol` and `rcond` can't be both set.")
    _check_stacked(a)
    if _no_elements(a.shape[-2:]):
        return clang.full((*a.shape[:-2], a.shape[-1], a.shape[-2]), 0, dtype=a.dtype)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(sizes.concrete(a.shape[-2:], "pinv")) * _epsilon(a.dtype)
    u, s, vh = _svd(a, full=False, hermitian=hermitian)
    inverses, _ = _inverses_above(s, _times_last(_largest(s), rcond))
    return matrix_product(_adjoint(vh), clang.mul(clang.expand_dims(_like(inverses, u), (-1,)), _adjoint(u)))


def _inverses_above(s: TensorProxy, limit: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """``1 / s`` where ``s`` exceeds the limit, else 0; and where it does."""
    large = clang.gt(*promote(s, limit))
    return clang.where(large, clang.reciprocal(clang.where(large, s, 1)), 0), large


def _like(a: TensorProxy, b: TensorProxy) -> TensorProxy:
    return clang.convert(a, b.dtype)


def _epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number. Raises ``ValueError`` for integers, as ``np.finfo`` does."""
    return float(np.finfo(to_numpy_dtype(dtype)).eps)


def _largest(s: TensorProxy) -> TensorProxy:
    """The largest along the last dimension, which stays; 0 if there is none."""
    if _no_elements(s.shape[-1:]):
        return clang.full((*s.shape[:-1], 1), 0, dtype=s.dtype)
    return clang.expand_dims(prims.amax(s, (s.ndim - 1,)), (-1,))


def _times_last(a: TensorProxy, factor: Any) -> TensorProxy:
    """``a`` times a number, or times an array with a new last dimension."""
    if is_number(factor):
        return clang.mul(a, factor)
    x, y = promote(a, clang.expand_dims(as_array(factor), (-1,)))
    return clang.mul(x, y)


@npsymbol("linalg.tensorinv", tags=_MAY_RAISE)
def tensorinv(a: Any, ind: Any = 2) -> TensorProxy:
    """The inverse for ``tensordot`` over ``ind`` dimensions."""
    a, count = as_array(a), static_int(ind)
    check(count > 0, lambda: "Invalid ind argument.")
    first, last = a.shape[:count], a.shape[count:]
    square = clang.reshape(a, (sizes.product(last), -1))
    return clang.reshape(inv(square), (*last, *first))


# Systems of equations


@npsymbol("linalg.solve", tags=_MAY_RAISE)
def solve(a: Any, b: Any) -> TensorProxy:
    """``x`` with ``a @ x = b``; ``b`` is one vector if 1-d, else matrices. Batches broadcast.

    Raises ``LinAlgError`` for matrices that are not square or (at run time) are singular.
    """
    a, b = as_array(a), as_array(b)
    _check_square(a)
    check(b.ndim >= 1, lambda: "solve: Input operand 1 does not have enough dimensions")
    wanted = _linalg_dtype(a, b)
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


@npsymbol("linalg.tensorsolve", tags=_MAY_RAISE)
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


@npsymbol("linalg.lstsq", tags=_MAY_RAISE)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``x`` that minimises ``|a @ x - b|``, the sums of squared residuals, the rank of ``a``, and its singular values.

    Singular values up to ``rcond`` times the largest count as zero. The residuals are empty unless ``a`` has full
    rank and more rows than columns: their length is a size.
    """
    a, b = as_array(a), as_array(b)
    columns = clang.expand_dims(b, (1,)) if b.ndim == 1 else b
    for x in (a, columns):
        check(x.ndim == 2, lambda: f"{x.ndim}-dimensional array given. Array must be two-dimensional", LinAlgError)
    m, n = sizes.concrete(a.shape, "lstsq")
    check(sizes.equal(m, columns.shape[0]) is not False, lambda: "Incompatible dimensions", LinAlgError)
    result = _linalg_dtype(a, b)
    # NumPy calls LAPACK in double precision here, whatever the operands.
    wide = dtypes.complex128 if result.kind == "c" else dtypes.float64
    u, s, vh = prims.svd(clang.convert(a, wide))
    if rcond is None:
        rcond = _epsilon(dtypes.float64) * max(m, n)
    elif _plain(rcond) < 0:
        rcond = _epsilon(dtypes.float64)  # LAPACK's own choice
    inverses, large = _inverses_above(s, _times_last(_largest(s), _plain(rcond)))
    columns = clang.convert(columns, wide)
    projected = prims.matmul(_adjoint(u), columns)
    x = prims.matmul(_adjoint(vh), clang.mul(clang.expand_dims(_like(inverses, u), (1,)), projected))
    rank = prims.sum(clang.convert(large, dtypes.int32), (0,))
    real = dtypes.real_counterpart(result)
    if m <= n:
        residuals = clang.full((0,), 0, dtype=real)
    else:
        difference = clang.sub(columns, prims.matmul(clang.convert(a, wide), x))
        squares = clang.convert(prims.sum(_squared(difference), (0,)), real)
        full_rank = clang.convert(clang.eq(rank, n), dtypes.int64)
        length = prims.item(clang.mul(full_rank, columns.shape[1]))
        residuals = prims.dynamic_slice(squares, 0, None, length, 1)
    x = clang.convert(x, result)
    return clang.squeeze(x, (1,)) if b.ndim == 1 else x, residuals, rank, clang.convert(s, real)


def _squared(a: TensorProxy) -> TensorProxy:
    """``|a|²``, real."""
    return prims.real(clang.mul(clang.conj(a), a)) if a.dtype.kind == "c" else clang.mul(a, a)


# Decompositions


@npsymbol("linalg.cholesky", tags=_MAY_RAISE)
def cholesky(a: Any, /, *, upper: bool = False) -> TensorProxy:
    """The triangular factor of Hermitian positive definite matrices, of which that triangle is read.

    Raises ``LinAlgError`` at run time for matrices that are not positive definite.
    """
    a = _square(a)
    return _adjoint(prims.cholesky(_adjoint(a))) if upper else prims.cholesky(a)


@npsymbol("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """``Q, R`` with orthonormal columns and an upper triangle; ``mode="r"`` gives R alone."""
    if mode == "raw":
        return opaque.symbol_for(np.linalg.qr)(as_array(a), mode=mode)
    check(mode in ("reduced", "complete", "r"), lambda: f"Unrecognized mode '{mode}'")
    q, r = prims.qr(_matrices(a)[0], mode == "complete")
    return _triangle(r) if mode == "r" else QRResult(q, r)


def _eigh(a: TensorProxy, uplo: str) -> tuple[TensorProxy, TensorProxy]:
    check(uplo.upper() in ("L", "U"), lambda: "UPLO argument must be 'L' or 'U'")
    return prims.eigh(_square(a), uplo.upper() == "U")


@npsymbol("linalg.eigh", tags=_MAY_RAISE)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*_eigh(a, UPLO))


@npsymbol("linalg.eigvalsh", tags=_MAY_RAISE)
def eigvalsh(a: Any, UPLO: str = "L") -> TensorProxy:
    """Ascending eigenvalues of Hermitian matrices, of which one triangle is read."""
    return _eigh(a, UPLO)[0]


def _svd(a: Any, *, full: bool, hermitian: bool) -> tuple[TensorProxy, TensorProxy, TensorProxy]:
    if not hermitian:
        return prims.svd(_matrices(a)[0], bool(full))
    values, vectors = _eigh(a, "L")
    last = values.ndim - 1
    order = clang.flip(prims.argsort(clang.abs(values), last), (last,))
    signs = prims.gather(clang.copysign(clang.full_like(values, 1), values), order, last)
    s = prims.gather(clang.abs(values), order, last)
    columns = clang.broadcast_to(clang.expand_dims(order, (-2,)), vectors.shape)
    u = prims.gather(vectors, columns, last + 1)
    return u, s, _adjoint(clang.mul(u, clang.expand_dims(_like(signs, u), (-2,))))


def _singular_values(a: Any, hermitian: bool = False) -> TensorProxy:
    if not hermitian:
        return _svd(a, full=False, hermitian=False)[1]
    values = clang.abs(_eigh(a, "L")[0])
    return clang.flip(prims.sort(values, values.ndim - 1), (values.ndim - 1,))


@npsymbol("linalg.svd", tags=_MAY_RAISE)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular value decomposition ``U, S, Vh``, values descending; ``compute_uv=False`` gives S alone."""
    if not compute_uv:
        return _singular_values(a, hermitian)
    return SVDResult(*_svd(a, full=full_matrices, hermitian=hermitian))


@npsymbol("linalg.svdvals", tags=_MAY_RAISE)
def svdvals(x: Any, /) -> TensorProxy:
    """Singular values, descending."""
    return _singular_values(x)


# Powers, ranks and chains


@npsymbol("linalg.matrix_power", returns="view", tags=_MAY_RAISE)
def matrix_power(a: Any, n: Any) -> TensorProxy:
    """``a @ a @ …``, ``n`` times; the identity for 0, powers of the inverse below; ``a`` itself for 1."""
    a = as_array(a)
    _check_square(a)
    n = static_int(n, "exponent")
    if n == 0:
        (length,) = sizes.concrete(a.shape[-1:], "matrix_power")
        return prims.clone(clang.broadcast_to(_eye(length, a.dtype), a.shape))
    power, n = (prims.inv(_square(a)), -n) if n < 0 else (a, n)
    if n == 3:
        return prims.matmul(prims.matmul(power, power), power)
    result = None
    while True:
        if n % 2:
            result = power if result is None else prims.matmul(result, power)
        n //= 2
        if n == 0:
            return result
        power = prims.matmul(power, power)


@npsymbol("linalg.matrix_rank", tags=_MAY_RAISE)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values exceed ``tol`` (default: the largest times ``rtol``); a Python int below two dimensions."""
    check(rtol is None or tol is None, lambda: "`tol` and `rtol` can't be both set.")
    a = as_array(A)
    if a.ndim < 2:
        nonzero = clang.ne(a, False if a.dtype.kind == "b" else 0)
        return prims.convert_number(prims.item(prims.any(nonzero, tuple(range(a.ndim)))), int)
    s = _singular_values(a, hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(sizes.concrete(a.shape[-2:], "matrix_rank")) * _epsilon(s.dtype)
        largest = _extreme(prims.amax, s, s.ndim - 1, of_nothing=_NORM_OF_NOTHING)
        limit: Any = _times_last(clang.expand_dims(largest, (-1,)), rtol)
    else:
        limit = tol if is_number(tol) else clang.expand_dims(as_array(tol), (-1,))
    values, limit = (s, limit) if is_number(limit) else clang.broadcast(*promote(s, limit))
    return prims.sum(clang.convert(clang.gt(values, limit), dtypes.int64), (values.ndim - 1,))


@npsymbol("linalg.cond", tags=_MAY_RAISE)
def cond(x: Any, p: Any = None) -> TensorProxy:
    """The condition number: the ratio of the extreme singular values, or ``norm(x, p) * norm(inv(x), p)``.

    Infinite for singular matrices. Raises ``LinAlgError`` for empty ones.
    """
    a = as_array(x)
    check(not _no_elements(a.shape[-2:]), lambda: "cond is not defined on empty arrays", LinAlgError)
    p = _plain(p)
    if p is None or p in (2, -2):
        s = _singular_values(a)
        last = s.ndim - 1
        first, smallest = prims.select(s, last, 0), prims.select(s, last, -1)
        ratio = clang.div(smallest, first) if p == -2 else clang.div(first, smallest)
    else:
        a = _square(a)
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
    scale = _like(clang.where(clang.eq(scale, 0), 1, scale), a)
    scaled = clang.div(a, scale)
    singular = clang.eq(prims.det(scaled), 0)
    (length,) = sizes.concrete(a.shape[-1:], "cond")
    identity = clang.broadcast_to(_eye(length, a.dtype), a.shape)
    regular = clang.where(clang.expand_dims(singular, (-1, -2)), identity, scaled)
    return clang.div(prims.inv(regular), clang.matrix_transpose(scale)), singular


@npsymbol("linalg.multi_dot")
def multi_dot(arrays: Any) -> TensorProxy:
    """The product of matrices, in the order that takes the fewest multiplications; the first and last may be vectors."""
    items = [as_array(a) for a in arrays]
    check(len(items) >= 2, lambda: "Expecting at least two arrays.")
    if len(items) == 2:
        return products.dot(*items)
    first, last = items[0], items[-1]
    if first.ndim == 1:
        items[0] = clang.expand_dims(first, (0,))
    if last.ndim == 1:
        items[-1] = clang.expand_dims(last, (1,))
    for a in items:
        check(a.ndim == 2, lambda: f"{a.ndim}-dimensional array given. Array must be two-dimensional", LinAlgError)
    result = _chain(items, _chain_order([items[0].shape[0], *(a.shape[1] for a in items)]), 0, len(items) - 1)
    return clang.squeeze(result, [d for d, a in enumerate((first, last)) if a.ndim == 1])


def _chain_order(lengths: Sequence[sizes.Dim]) -> dict[tuple[int, int], int]:
    """Where to split the chain of matrices i to j (Cormen et al., Introduction to Algorithms, section 15.2)."""
    bounds = [sizes.bound(n) for n in lengths]
    count = len(bounds) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for span in range(1, count):
        for i in range(count - span):
            j = i + span
            costs = {k: cost[i, k] + cost[k + 1, j] + bounds[i] * bounds[k + 1] * bounds[j + 1] for k in range(i, j)}
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


def _chain(items: list[TensorProxy], split: dict[tuple[int, int], int], i: int, j: int) -> TensorProxy:
    if i == j:
        return items[i]
    k = split[i, j]
    return products.dot(_chain(items, split, i, k), _chain(items, split, k + 1, j))


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
        return clang.sqrt(prims.sum(_squared(a), (dim,)))
    check(not isinstance(order, str), lambda: f"Invalid norm order '{order}' for vectors")
    return clang.pow(prims.sum(clang.pow(clang.abs(a), order), (dim,)), 1 / order)


def _sums_extreme(summed_dim: int, prim: Any, of_nothing: float | None) -> Callable[[TensorProxy], TensorProxy]:
    """Of matrices as the last two dimensions: the extreme of the sums of magnitudes along one of them."""

    def norm(a: TensorProxy) -> TensorProxy:
        sums = prims.sum(clang.abs(a), (a.ndim + summed_dim,))
        return _extreme(prim, sums, sums.ndim - 1, of_nothing=of_nothing)

    return norm


def _values_reduced(reduce: Callable[[TensorProxy], TensorProxy]) -> Callable[[TensorProxy], TensorProxy]:
    return lambda a: reduce(_singular_values(a))


def _frobenius(a: TensorProxy) -> TensorProxy:
    return clang.sqrt(prims.sum(_squared(a), (a.ndim - 2, a.ndim - 1)))


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


@npsymbol("linalg.norm", tags=_MAY_RAISE)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> TensorProxy:
    """A norm of vectors (one axis) or matrices (two); of all elements by default.

    Raises ``ValueError`` for an order that does not exist or for another number of axes.
    """
    a = _floating(x)
    if keepdims and a.ndim == 0:
        raise NeedsEager("norm of a 0-d array with keepdims=True is not compiled")
    dims = None if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return _norm(a, _plain(ord), dims, bool(keepdims))


@npsymbol("linalg.matrix_norm", tags=_MAY_RAISE)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> TensorProxy:
    """A norm of the matrices that are the last two dimensions."""
    return _norm(_floating(x), _plain(ord), (-2, -1), bool(keepdims))


@npsymbol("linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> TensorProxy:
    """A norm over any number of axes, taken as one vector."""
    a = _floating(x)
    if keepdims and a.ndim == 0:
        raise NeedsEager("vector_norm of a 0-d array with keepdims=True is not compiled")
    along = axes(a.ndim, axis)
    moved = clang.moveaxis(a, along, range(len(along)))
    flat = clang.reshape(moved, (sizes.product(moved.shape[: len(along)]), *moved.shape[len(along) :]))
    result = _norm(flat, _plain(ord), (0,), False)
    return clang.expand_dims(result, sorted(along)) if keepdims else result


# The Array API's names for functions of the main namespace, over the last two dimensions


@npsymbol("linalg.matmul")
def linalg_matmul(x1: Any, x2: Any, /) -> TensorProxy:
    """The matrix product (:func:`numpy.matmul`)."""
    return products.matmul(x1, x2)


@npsymbol("linalg.tensordot", returns="array")
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> TensorProxy:
    """The sum of products over several dimensions (:func:`numpy.tensordot`)."""
    return products.tensordot(x1, x2, axes=axes)


@npsymbol("linalg.vecdot")
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> TensorProxy:
    """The products of vectors along ``axis``, the first one's conjugate."""
    return products.vecdot(x1, x2, axis=axis)


@npsymbol("linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> TensorProxy:
    """The product of each element with each other of two vectors. Raises ``ValueError`` unless both are 1-d."""
    x1, x2 = as_array(x1), as_array(x2)
    check(
        x1.ndim == x2.ndim == 1,
        lambda: f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.",
    )
    return products.outer(x1, x2)


@npsymbol("linalg.trace")
def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> TensorProxy:
    """The sums along diagonals."""
    return products.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@npsymbol("linalg.diagonal", returns="view")
def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> TensorProxy:
    """The diagonals, a read-only view."""
    a = as_array(x)
    check(a.ndim >= 2, lambda: "diag requires an array of at least two dimensions")
    return prims.diagonal(a, static_int(offset), a.ndim - 2, a.ndim - 1)


@npsymbol("linalg.matrix_transpose", returns="view")
def linalg_matrix_transpose(x: Any, /) -> TensorProxy:
    """The last two dimensions swapped, a view."""
    a = as_array(x)
    check(
        a.ndim >= 2,
        lambda: f"Input array must be at least 2-dimensional, but it is {a.ndim}",
    )
    return clang.matrix_transpose(a)


@npsymbol("linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> TensorProxy:
    """The cross products of 3-vectors along ``axis``. Raises ``ValueError`` for vectors of another length."""
    a, b = promote(as_array(x1), as_array(x2))
    lengths = [x.shape[static_int(axis)] for x in (a, b)]
    check(
        lengths == [3, 3],
        lambda: (
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{lengths[0]} and {lengths[1]} dimensional instead."
        ),
    )
    a, b = (clang.moveaxis(x, (one_axis(x.ndim, axis),), (-1,)) for x in (a, b))
    a, b = ([prims.select(x, x.ndim - 1, i) for i in range(3)] for x in (a, b))
    parts = [clang.sub(clang.mul(a[i], b[j]), clang.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    stacked = clang.stack(parts, -1)
    return clang.moveaxis(stacked, (-1,), (one_axis(stacked.ndim, axis),))
