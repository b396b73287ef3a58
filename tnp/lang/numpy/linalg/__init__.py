"""``numpy.linalg``, by NumPy's own families."""

from tnp.lang.numpy.linalg.decompositions import cholesky, eigh, eigvalsh, qr, svd, svdvals
from tnp.lang.numpy.linalg.matmul import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from tnp.lang.numpy.linalg.norms import cond, det, matrix_norm, matrix_rank, norm, slogdet, vector_norm
from tnp.lang.numpy.linalg.solving import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
