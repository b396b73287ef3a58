"""Products, powers and chains of matrices, and the Array API's names for functions of the main namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import clang, prims, sizes, symbols
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy import contractions
from tnp.lang.numpy.linalg.operands import (
    MAY_RAISE,
    LinAlgError,
    check_square,
    identity_matrix,
    square_matrices,
)
from tnp.lang.numpy.operands import as_array, promote, static_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import npsymbol

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


@npsymbol("linalg.matrix_power", returns="argument", tags=MAY_RAISE)
def matrix_power(a: Any, n: Any) -> TensorProxy:
    """``a @ a @ …``, ``n`` times; the identity for 0, powers of the inverse below; ``a`` itself for 1."""
    a = as_array(a)
    check_square(a)
    n = static_int(n, "exponent")
    if n == 0:
        (length,) = sizes.concrete(a.shape[-1:], "matrix_power")
        return prims.clone(clang.broadcast_to(identity_matrix(length, a.dtype), a.shape))
    power, n = (prims.inv(square_matrices(a)), -n) if n < 0 else (a, n)
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


@npsymbol("linalg.multi_dot")
def multi_dot(arrays: Any) -> TensorProxy:
    """The product of matrices, in the order that takes the fewest multiplications; the first and last may be vectors."""
    items = [as_array(a) for a in arrays]
    check(len(items) >= 2, lambda: "Expecting at least two arrays.")
    if len(items) == 2:
        return contractions.dot(*items)
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
    known = [(n, symbols.value_of(n)) for n in lengths]  # the sizes of this call, for others the order is right as well
    bounds = [sizes.bound(n) if value is None else value for n, value in known]
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
    return contractions.dot(_chain(items, split, i, k), _chain(items, split, k + 1, j))


# The Array API's names for functions of the main namespace, over the last two dimensions


@npsymbol("linalg.matmul", tags=(OpTags.PRODUCT, OpTags.MATMUL))
def matmul(x1: Any, x2: Any, /) -> TensorProxy:
    """The matrix product (:func:`numpy.matmul`)."""
    return contractions.matmul(x1, x2)


@npsymbol("linalg.tensordot", returns="array", tags=(OpTags.PRODUCT,))
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> TensorProxy:
    """The sum of products over several dimensions (:func:`numpy.tensordot`)."""
    return contractions.tensordot(x1, x2, axes=axes)


@npsymbol("linalg.vecdot")
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> TensorProxy:
    """The products of vectors along ``axis``, the first one's conjugate."""
    return contractions.vecdot(x1, x2, axis=axis)


@npsymbol("linalg.outer", tags=(OpTags.PRODUCT,))
def outer(x1: Any, x2: Any, /) -> TensorProxy:
    """The product of each element with each other of two vectors. Raises ``ValueError`` unless both are 1-d."""
    x1, x2 = as_array(x1), as_array(x2)
    check(
        x1.ndim == x2.ndim == 1,
        lambda: f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.",
    )
    return contractions.outer(x1, x2)


@npsymbol("linalg.trace")
def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> TensorProxy:
    """The sums along diagonals."""
    return contractions.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@npsymbol("linalg.diagonal", returns="view")
def diagonal(x: Any, /, *, offset: Any = 0) -> TensorProxy:
    """The diagonals, a read-only view."""
    a = as_array(x)
    check(a.ndim >= 2, lambda: "diag requires an array of at least two dimensions")
    return prims.diagonal(a, static_int(offset), a.ndim - 2, a.ndim - 1)


@npsymbol("linalg.matrix_transpose", returns="view")
def matrix_transpose(x: Any, /) -> TensorProxy:
    """The last two dimensions swapped, a view."""
    a = as_array(x)
    check(
        a.ndim >= 2,
        lambda: f"Input array must be at least 2-dimensional, but it is {a.ndim}",
    )
    return clang.matrix_transpose(a)


@npsymbol("linalg.cross")
def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> TensorProxy:
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
