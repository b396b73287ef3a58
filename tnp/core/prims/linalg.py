"""Linear algebra prims. Matrices are the last two dimensions; the dimensions before them are batches and agree."""

from __future__ import annotations

from tnp.core import dtypes, sizes
from tnp.core.prims.base import check, check_kind, check_same_device, check_same_dtype, check_tensor, prim
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import Dim
from tnp.core.symbol import OpTags

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "inv",
    "matmul",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "triangular_solve",
]


def _check_square(a: TensorProxy, operation: str) -> None:
    check_tensor(a, operation)
    check(a.ndim >= 2, lambda: f"{operation} takes matrices, not {a.ndim} dimensions")
    check(
        sizes.equal(a.shape[-1], a.shape[-2]), lambda: f"{operation} takes square matrices, not {sizes.show(a.shape)}"
    )


def _check_inexact(a: TensorProxy, operation: str) -> None:
    check_tensor(a, operation)
    check_kind(a.dtype, "fc", operation)
    check(a.dtype.itemsize >= 4, lambda: f"{operation} does not take {a.dtype}", TypeError)


def _rows_and_columns(a: TensorProxy, operation: str) -> tuple[sizes.Dim, sizes.Dim, sizes.Dim]:
    """The dimensions of matrices, and the smaller one."""
    m, n = sizes.extents(a.shape[-2:], operation)
    return a.shape[-2], a.shape[-1], a.shape[-2] if m < n else a.shape[-1]


@prim(OpTags.PRODUCT, OpTags.MATMUL)
def matmul(a: TensorProxy, b: TensorProxy, /) -> TensorProxy:
    """``[*batch, m, k] @ [*batch, k, n]``, in the arrays' dtype."""
    check_same_dtype("matmul", a, b)
    check_same_device("matmul", a, b)
    check(a.ndim == b.ndim >= 2, lambda: f"matmul takes arrays of one rank ≥ 2, not {a.ndim} and {b.ndim}")
    check(
        sizes.shapes_equal(a.shape[:-2], b.shape[:-2]),
        lambda: f"matmul takes one batch shape, not {sizes.show(a.shape[:-2])} and {sizes.show(b.shape[:-2])}",
    )
    check(
        sizes.equal(a.shape[-1], b.shape[-2]),
        lambda: f"matmul: {sizes.show(a.shape)} and {sizes.show(b.shape)} do not fit",
    )
    return TensorProxy(like=a, shape=(*a.shape[:-1], b.shape[-1]))


@prim(OpTags.MAY_RAISE)
def cholesky(a: TensorProxy, /) -> TensorProxy:
    """The lower triangular factor of Hermitian positive definite matrices (``LinAlgError`` at run time for others)."""
    _check_inexact(a, "cholesky")
    _check_square(a, "cholesky")
    return TensorProxy(like=a)


@prim()
def qr(a: TensorProxy, /, full: bool = False) -> tuple[TensorProxy, TensorProxy]:
    """``q, r``: reduced (``[m, k]``, ``[k, n]``, k = min(m, n)) or full (``[m, m]``, ``[m, n]``)."""
    _check_inexact(a, "qr")
    m, n, least = _rows_and_columns(a, "qr")
    k = m if full else least
    batch = a.shape[:-2]
    return TensorProxy(like=a, shape=(*batch, m, k)), TensorProxy(like=a, shape=(*batch, k, n))


@prim(OpTags.MAY_RAISE)
def svd(a: TensorProxy, /, full: bool = False) -> tuple[TensorProxy, TensorProxy, TensorProxy]:
    """``u, s, vh`` with descending singular values, reduced or full."""
    _check_inexact(a, "svd")
    m, n, k = _rows_and_columns(a, "svd")
    batch = a.shape[:-2]
    return (
        TensorProxy(like=a, shape=(*batch, m, m if full else k)),
        TensorProxy(like=a, shape=(*batch, k), dtype=dtypes.real_counterpart(a.dtype)),
        TensorProxy(like=a, shape=(*batch, n if full else k, n)),
    )


@prim(OpTags.MAY_RAISE)
def eigh(a: TensorProxy, /, upper: bool = False) -> tuple[TensorProxy, TensorProxy]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    _check_inexact(a, "eigh")
    _check_square(a, "eigh")
    return TensorProxy(like=a, shape=a.shape[:-1], dtype=dtypes.real_counterpart(a.dtype)), TensorProxy(like=a)


@prim(OpTags.MAY_RAISE)
def eig(a: TensorProxy, /) -> tuple[TensorProxy, TensorProxy]:
    """Eigenvalues and right eigenvectors of general matrices, complex."""
    _check_inexact(a, "eig")
    _check_square(a, "eig")
    dtype = dtypes.complex_counterpart(a.dtype)
    return TensorProxy(like=a, shape=a.shape[:-1], dtype=dtype), TensorProxy(like=a, dtype=dtype)


@prim(OpTags.MAY_RAISE)
def eigvals(a: TensorProxy, /) -> TensorProxy:
    """Eigenvalues of general matrices, complex: not always, to the last bit, those of :func:`eig`."""
    _check_inexact(a, "eigvals")
    _check_square(a, "eigvals")
    return TensorProxy(like=a, shape=a.shape[:-1], dtype=dtypes.complex_counterpart(a.dtype))


@prim(OpTags.MAY_RAISE)
def solve(a: TensorProxy, b: TensorProxy, /) -> TensorProxy:
    """``x`` with ``a @ x = b``; both have one batch shape (``LinAlgError`` at run time for a singular ``a``)."""
    _check_inexact(a, "solve")
    _check_square(a, "solve")
    check_same_dtype("solve", a, b)
    check(sizes.shapes_equal(a.shape[:-1], b.shape[:-1]), lambda: "solve: the sides do not fit")
    return TensorProxy(like=b)


@prim()
def triangular_solve(
    a: TensorProxy, b: TensorProxy, /, *, upper: bool = False, transpose: bool = False, unit: bool = False
) -> TensorProxy:
    """``x`` with ``a @ x = b`` (``a.T @ x = b``) for triangular ``a``, whose other triangle is not read."""
    _check_inexact(a, "triangular_solve")
    _check_square(a, "triangular_solve")
    check_same_dtype("triangular_solve", a, b)
    check(sizes.shapes_equal(a.shape[:-1], b.shape[:-1]), lambda: "triangular_solve: the sides do not fit")
    return TensorProxy(like=b)


@prim(OpTags.MAY_RAISE)
def inv(a: TensorProxy, /) -> TensorProxy:
    """The inverse (``LinAlgError`` at run time for a singular matrix)."""
    _check_inexact(a, "inv")
    _check_square(a, "inv")
    return TensorProxy(like=a)


@prim()
def det(a: TensorProxy, /) -> TensorProxy:
    """The determinant."""
    _check_inexact(a, "det")
    _check_square(a, "det")
    batch: tuple[Dim, ...] = a.shape[:-2]
    return TensorProxy(like=a, shape=batch)


@prim()
def slogdet(a: TensorProxy, /) -> tuple[TensorProxy, TensorProxy]:
    """The sign of the determinant, and the logarithm of its magnitude: 0 and -inf where the matrix is singular."""
    _check_inexact(a, "slogdet")
    _check_square(a, "slogdet")
    batch: tuple[Dim, ...] = a.shape[:-2]
    return TensorProxy(like=a, shape=batch), TensorProxy(like=a, shape=batch, dtype=dtypes.real_counterpart(a.dtype))
