"""Functions of ``scipy.linalg`` that are calls of SciPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.linalg.operands import adjoint
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.linalg.operands import covered, dtype_of, flag, matrix
from tnp.lang.scipy.registry import by_dry_run, call_symbol, scipycall

__all__ = ["expm"]


@scipycall("linalg.expm")
def expm(A: Any) -> TensorProxy:
    """The exponential of each matrix. The gradient is by the exponential of a block matrix: Najfeld and Havel, Derivatives of the
    matrix exponential and their computation (1995)."""
    covered(isinstance(A, TensorProxy))
    a = matrix(A, False, square=True)
    return TensorProxy(like=a, dtype=dtype_of("linalg.expm", a))


def _pull_expm(cotangents: Any, wanted: Any, args: Any, kwargs: Any) -> list[TensorProxy]:
    a, g = adjoint(clang.convert(args[0], cotangents[0].dtype)), cotangents[0]
    n = a.shape[-1]
    top = clang.concatenate([a, g], a.ndim - 1)
    bottom = clang.concatenate([clang.full_like(a, 0), a], a.ndim - 1)
    whole = expm(clang.concatenate([top, bottom], a.ndim - 2))
    corner = clang.slice_dim(clang.slice_dim(whole, 0, n, dim=a.ndim - 2), n, 2 * n, dim=a.ndim - 1)
    return [clang.convert(corner, args[0].dtype)]


expm.pulls_back = _pull_expm


@scipycall("linalg.eig")
def eig(a: Any, b: Any = None, left: Any = False, right: Any = True, *options: Any, **more: Any) -> Any:
    """Eigenvalues, which are complex, and eigenvectors. Those of a real matrix are real or complex, as the eigenvalues are."""
    if (flag(left) or flag(right)) and as_array(a).dtype.kind != "c":
        raise NeedsEager("it wants the eigenvectors of a real matrix, whose dtype depends on values")
    return call_symbol("linalg.eig").meta(a, b, left, right, *options, **more)


def _riccati(name: str) -> None:
    def meta(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: Any = True) -> TensorProxy:
        operands = [as_array(x) for x in (a, b, q, r)]
        if e is not None or s is not None or operands[0].ndim != 2:
            raise NeedsEager("it solves a generalised equation of Riccati's")
        return TensorProxy(like=operands[0], dtype=dtype_of(f"linalg.{name}", *operands))

    meta.__name__, meta.__doc__ = name, f"``scipy.linalg.{name}``, called."
    scipycall(f"linalg.{name}")(meta)


_riccati("solve_continuous_are")
_riccati("solve_discrete_are")

by_dry_run(
    "linalg",
    "bandwidth cdf2rdf companion convolution_matrix coshm cosm cossin dft diagsvd eigvals "
    "eigh_tridiagonal eigvalsh_tridiagonal expm_cond expm_frechet fiedler fiedler_companion hadamard helmert hessenberg "
    "hilbert invhilbert invpascal ishermitian issymmetric khatri_rao ldl leslie lu lu_factor lu_solve matmul_toeplitz matrix_balance "
    "orthogonal_procrustes pascal pinvh polar qr_delete qr_insert qr_multiply qr_update qz rq rsf2csf schur sinhm sinm "
    "solve_banded solve_circulant solve_continuous_lyapunov solve_discrete_lyapunov "
    "solve_lyapunov solve_sylvester subspace_angles tanhm tanm",
)


def _diagonal_in(row: int) -> Any:
    """Data for the bands of a positive definite matrix, whose diagonal is in one row."""

    def dummy(p: TensorProxy) -> Any:
        made = np.ones(sizes.concrete(p.shape, "a dry run"), to_numpy_dtype(p.dtype))
        if made.ndim > 1:
            made[..., row, :] = 4 * made.shape[-2]
        return made

    return dummy


by_dry_run(
    "linalg",
    "cho_solve_banded cholesky_banded eig_banded eigvals_banded solveh_banded",
    dummies=(_diagonal_in(-1), _diagonal_in(0)),
)
by_dry_run("linalg", "fractional_matrix_power logm lstsq null_space orth signm sqrtm", guarded=True)
