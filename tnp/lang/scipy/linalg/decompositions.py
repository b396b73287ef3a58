"""Decompositions and eigenvalues of symmetric matrices."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, prims
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.linalg.operands import adjoint
from tnp.lang.scipy.linalg.operands import MAY_RAISE, covered, dtype_of, flag, matrix, triangle
from tnp.lang.scipy.registry import scipysymbol

__all__ = ["cho_factor", "cholesky", "eigh", "eigvalsh", "qr", "svd", "svdvals"]


def _several(a: TensorProxy, *results: TensorProxy, matrices: int = 2) -> Any:
    """Results for ``a``: for a stack of matrices SciPy returns a list."""
    return results if a.ndim == matrices else list(results)


def _factor(name: str, a: Any, lower: bool, check_finite: Any) -> tuple[TensorProxy, TensorProxy]:
    """The triangular factor of positive definite matrices, zeros beside it, and the matrices."""
    a = matrix(a, check_finite, square=True)
    a = clang.convert(a, dtype_of(name, a))
    return (prims.cholesky(a) if lower else adjoint(prims.cholesky(adjoint(a)))), a


@scipysymbol("linalg.cholesky", tags=MAY_RAISE)
def cholesky(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> TensorProxy:
    """The triangular factor of Hermitian positive definite matrices, of which that triangle is read."""
    return _factor("linalg.cholesky", a, flag(lower), check_finite)[0]


@scipysymbol("linalg.cho_factor", tags=MAY_RAISE)
def cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """As :func:`cholesky`, with what ``a`` has in the other triangle; and which triangle it is."""
    is_lower, given = flag(lower), pyval(lower)
    covered(given in (0, 1))  # LAPACK takes no others
    factor, a = _factor("linalg.cholesky", a, is_lower, check_finite)
    covered(a.ndim == 2)
    return clang.add(factor, triangle(a, lower=not is_lower, strictly=True)), given


@scipysymbol("linalg.svd", tags=MAY_RAISE)
def svd(
    a: Any, full_matrices: Any = True, compute_uv: Any = True, overwrite_a: Any = False, check_finite: Any = True,
    lapack_driver: Any = "gesdd",
) -> Any:  # fmt: skip
    """``U, s, Vh``, singular values descending; ``compute_uv=False`` gives ``s`` alone."""
    covered(lapack_driver in ("gesdd", "gesvd"))
    a = matrix(a, check_finite)
    u, s, vh = prims.svd(clang.convert(a, dtype_of("linalg.svd", a)), flag(full_matrices) and flag(compute_uv))
    return _several(a, u, s, vh) if flag(compute_uv) else s


@scipysymbol("linalg.svdvals", tags=MAY_RAISE)
def svdvals(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> TensorProxy:
    """Singular values, descending."""
    a = matrix(a, check_finite)
    s: TensorProxy = prims.svd(clang.convert(a, dtype_of("linalg.svd", a)))[1]
    return s


def _eigh(a: Any, b: Any, lower: Any, type: Any, check_finite: Any, index: Any, value: Any) -> Any:
    if value is not None:
        raise NeedsEager("it asks for the eigenvalues in an interval, whose number depends on values")
    covered(b is None and index is None and type == 1)
    a = matrix(a, check_finite, square=True)
    return prims.eigh(clang.convert(a, dtype_of("linalg.cholesky", a)), not flag(lower))


@scipysymbol("linalg.eigh", tags=MAY_RAISE)
def eigh(
    a: Any, b: Any = None, *, lower: Any = True, eigvals_only: Any = False, overwrite_a: Any = False,
    overwrite_b: Any = False, type: Any = 1, check_finite: Any = True, subset_by_index: Any = None,
    subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read."""
    values, vectors = _eigh(a, b, lower, type, check_finite, subset_by_index, subset_by_value)
    return values if flag(eigvals_only) else _several(values, values, vectors, matrices=1)


@scipysymbol("linalg.eigvalsh", tags=MAY_RAISE)
def eigvalsh(
    a: Any, b: Any = None, *, lower: Any = True, overwrite_a: Any = False, overwrite_b: Any = False, type: Any = 1,
    check_finite: Any = True, subset_by_index: Any = None, subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    """Ascending eigenvalues of Hermitian matrices, of which one triangle is read."""
    return _eigh(a, b, lower, type, check_finite, subset_by_index, subset_by_value)[0]


@scipysymbol("linalg.qr", tags=MAY_RAISE)
def qr(
    a: Any, overwrite_a: Any = False, lwork: Any = None, mode: Any = "full", pivoting: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    """``Q, R`` with orthonormal columns and an upper triangle; ``mode="r"`` gives a tuple of R alone."""
    covered(mode in ("full", "economic", "r") and not flag(pivoting))
    a = matrix(a, check_finite)
    q, r = prims.qr(clang.convert(a, dtype_of("linalg.qr", a)), mode != "economic")
    return (triangle(r, lower=False),) if mode == "r" else (q, r)
