"""``scipy.linalg``: definitions with gradients, which SciPy's own functions run, and calls of all others.

A definition says the dtypes and shapes of results, and what gradients and ``tnp.vmap`` make of a function. SciPy computes: its
checks, errors and warnings are its own.
"""

from tnp.lang.scipy.linalg import calls, decompositions, gradients, lapack, matrices, solving
from tnp.lang.scipy.linalg.calls import expm
from tnp.lang.scipy.linalg.decompositions import cho_factor, cholesky, eigh, eigvalsh, qr, svd, svdvals
from tnp.lang.scipy.linalg.matrices import block_diag, circulant, hankel, norm, toeplitz
from tnp.lang.scipy.linalg.solving import cho_solve, det, inv, pinv, solve, solve_triangular

__all__ = [
    "block_diag",
    "calls",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "decompositions",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "gradients",
    "hankel",
    "inv",
    "lapack",
    "matrices",
    "norm",
    "pinv",
    "qr",
    "solve",
    "solve_triangular",
    "solving",
    "svd",
    "svdvals",
    "toeplitz",
]
