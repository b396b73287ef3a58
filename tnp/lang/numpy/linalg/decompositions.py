"""Decompositions and eigenvalues.

``eig`` and ``eigvals`` have no definition: whether the eigenvalues of a real matrix are real, and so their dtype, is
known only at run time. Capture asks for that, and calls the functions here, which always give complex numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy
from tnp.lang.numpy import opaque
from tnp.lang.numpy.linalg.operands import (
    MAY_RAISE,
    adjoint,
    in_dtype_of,
    square_matrices,
    stacked_matrices,
)
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.registry import npsymbol

__all__ = [
    "cholesky",
    "complex_eig",
    "complex_eigvals",
    "eigh",
    "eigh_of",
    "eigvalsh",
    "qr",
    "singular_values",
    "svd",
    "svd_of",
    "svdvals",
]

#: the named tuples that NumPy returns
EighResult = type(np.linalg.eigh(np.eye(1)))
QRResult = type(np.linalg.qr(np.eye(1)))
SVDResult = type(np.linalg.svd(np.eye(1)))


@npsymbol("linalg.cholesky", tags=MAY_RAISE)
def cholesky(a: Any, /, *, upper: bool = False) -> TensorProxy:
    """The triangular factor of Hermitian positive definite matrices, of which that triangle is read.

    Raises ``LinAlgError`` at run time for matrices that are not positive definite.
    """
    a = square_matrices(a)
    return adjoint(prims.cholesky(adjoint(a))) if upper else prims.cholesky(a)


def _triangle(a: TensorProxy) -> TensorProxy:
    """The upper triangle, zeros below it."""
    rows, columns = (clang.arange(n, dtype=dtypes.int64) for n in sizes.concrete(a.shape[-2:], "a triangle"))
    keep = clang.le(clang.expand_dims(rows, (1,)), clang.expand_dims(columns, (0,)))
    return clang.where(keep, a, 0)


@npsymbol("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """``Q, R`` with orthonormal columns and an upper triangle; ``mode="r"`` gives R alone."""
    if mode == "raw":
        return opaque.symbol_for(np.linalg.qr)(as_array(a), mode=mode)
    check(mode in ("reduced", "complete", "r"), lambda: f"Unrecognized mode '{mode}'")
    q, r = prims.qr(stacked_matrices(a)[0], mode == "complete")
    return _triangle(r) if mode == "r" else QRResult(q, r)


def eigh_of(a: TensorProxy, uplo: str) -> tuple[TensorProxy, TensorProxy]:
    check(uplo.upper() in ("L", "U"), lambda: "UPLO argument must be 'L' or 'U'")
    return prims.eigh(square_matrices(a), uplo.upper() == "U")


@npsymbol("linalg.eigh", tags=MAY_RAISE)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*eigh_of(a, UPLO))


@npsymbol("linalg.eigvalsh", tags=MAY_RAISE)
def eigvalsh(a: Any, UPLO: str = "L") -> TensorProxy:
    """Ascending eigenvalues of Hermitian matrices, of which one triangle is read."""
    return eigh_of(a, UPLO)[0]


def svd_of(a: Any, *, full: bool, hermitian: bool) -> tuple[TensorProxy, TensorProxy, TensorProxy]:
    if not hermitian:
        return prims.svd(stacked_matrices(a)[0], bool(full))
    values, vectors = eigh_of(a, "L")
    last = values.ndim - 1
    order = clang.flip(prims.argsort(clang.abs(values), last), (last,))
    signs = prims.gather(clang.copysign(clang.full_like(values, 1), values), order, last)
    s = prims.gather(clang.abs(values), order, last)
    columns = clang.broadcast_to(clang.expand_dims(order, (-2,)), vectors.shape)
    u = prims.gather(vectors, columns, last + 1)
    return u, s, adjoint(clang.mul(u, clang.expand_dims(in_dtype_of(signs, u), (-2,))))


@npsymbol(id_prefix="tnp", tags=MAY_RAISE)
def complex_eig(a: Any) -> tuple[TensorProxy, TensorProxy]:
    """``np.linalg.eig``, complex."""
    return prims.eig(square_matrices(a))


@npsymbol(id_prefix="tnp", tags=MAY_RAISE)
def complex_eigvals(a: Any) -> TensorProxy:
    """``np.linalg.eigvals``, complex."""
    return prims.eigvals(square_matrices(a))


def singular_values(a: Any, hermitian: bool = False) -> TensorProxy:
    if not hermitian:
        return svd_of(a, full=False, hermitian=False)[1]
    values = clang.abs(eigh_of(a, "L")[0])
    return clang.flip(prims.sort(values, values.ndim - 1), (values.ndim - 1,))


@npsymbol("linalg.svd", tags=MAY_RAISE)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular value decomposition ``U, S, Vh``, values descending; ``compute_uv=False`` gives S alone."""
    if not compute_uv:
        return singular_values(a, hermitian)
    return SVDResult(*svd_of(a, full=full_matrices, hermitian=hermitian))


@npsymbol("linalg.svdvals", tags=MAY_RAISE)
def svdvals(x: Any, /) -> TensorProxy:
    """Singular values, descending."""
    return singular_values(x)
