"""Solving equations, inverses and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang.numpy.contractions import matrix_product
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.linalg.operands import adjoint, in_dtype_of, largest_of
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.linalg.matrices import toeplitz
from tnp.lang.scipy.linalg.operands import (
    MAY_RAISE,
    as_columns,
    covered,
    dtype_of,
    finite,
    flag,
    is_called,
    is_single,
    like,
    matrix,
    mirrored,
    transposed_solution,
    triangle,
    well_conditioned,
)
from tnp.lang.scipy.registry import scipysymbol

__all__ = ["cho_solve", "det", "inv", "pinv", "solve", "solve_toeplitz", "solve_triangular"]

_GENERAL = (None, "gen", "general")
#: ``assume_a``: a function of the matrix and ``lower=`` that gives what SciPy reads of it
_STRUCTURES: dict[Any, Any] = {
    **dict.fromkeys(_GENERAL, lambda a, lower: a),
    **dict.fromkeys(("pos", "positive definite", "her", "hermitian"),
                    lambda a, lower: mirrored(a, lower=lower, conjugate=True)),
    **dict.fromkeys(("sym", "symmetric"), lambda a, lower: mirrored(a, lower=lower, conjugate=False)),
    "upper triangular": lambda a, lower: triangle(a, lower=False),
    "lower triangular": lambda a, lower: triangle(a, lower=True),
}  # fmt: skip


@scipysymbol("linalg.solve", tags=MAY_RAISE)
def solve(
    a: Any, b: Any, lower: Any = False, overwrite_a: Any = False, overwrite_b: Any = False, check_finite: Any = True,
    assume_a: Any = None, transposed: Any = False,
) -> TensorProxy:  # fmt: skip
    """``x`` with ``a @ x = b``; ``b`` is one vector if 1-d, else matrices. Batches broadcast.

    Raises ``LinAlgError`` at run time for singular matrices.
    """
    covered(assume_a in _STRUCTURES)
    called = is_called(as_array(a))
    a, b = matrix(a, check_finite, square=True, called=called), finite(as_array(b), check_finite)
    covered(b.ndim >= 1 and not (flag(transposed) and a.dtype.kind == "c"))
    columns = as_columns(b)
    covered(sizes.equal(a.shape[-1], columns.shape[-2]) is True)
    wanted = dtype_of("linalg.solve", a, b)
    a, columns = clang.convert(a, wanted), clang.convert(columns, wanted)
    a = _STRUCTURES[assume_a](a, flag(lower))
    a = clang.matrix_transpose(a) if flag(transposed) else a
    columns = columns if called else well_conditioned(columns, a, prims.inv(a))
    batch = sizes.broadcast(a.shape[:-2], columns.shape[:-2])
    a = clang.broadcast_to(a, (*batch, *a.shape[-2:]))
    return like(b, prims.solve(a, clang.broadcast_to(columns, (*batch, *columns.shape[-2:]))))


@scipysymbol("linalg.solve_triangular", tags=MAY_RAISE)
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
    check_finite: Any = True,
) -> TensorProxy:  # fmt: skip
    """``x`` with ``a @ x = b`` (``trans`` 1 or T: ``aᵀ``, 2 or C: ``aᴴ``) for a triangular ``a``, whose other triangle is not read."""
    covered(not isinstance(trans, TensorProxy) and trans in (0, "N", 1, "T", 2, "C"))
    a, b = matrix(a, check_finite, square=True), finite(as_array(b), check_finite)
    covered(a.ndim == 2 and b.ndim in (1, 2) and sizes.equal(a.shape[0], b.shape[0]) is True)
    wanted = dtype_of("linalg.solve_triangular", a, b)
    a, columns = clang.convert(a, wanted), clang.convert(as_columns(b), wanted)
    if trans in (2, "C"):
        return like(b, transposed_solution(a, columns, upper=not flag(lower), unit=flag(unit_diagonal)))
    x = prims.triangular_solve(a, columns, upper=not flag(lower), transpose=trans in (1, "T"), unit=flag(unit_diagonal))
    return like(b, x)


@scipysymbol("linalg.solve_toeplitz", tags=MAY_RAISE)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: Any = True) -> TensorProxy:
    """``x`` with ``toeplitz(c, r) @ x = b``."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c, b = finite(as_array(c), check_finite), finite(as_array(b), check_finite)
    covered(
        c.ndim == 1 and b.ndim in (1, 2) and c.dtype.kind in "fc" and b.dtype.kind in "fc" and c.dtype.itemsize >= 8
    )
    a = toeplitz(c, r if r is None else finite(as_array(r), check_finite))
    wanted = dtypes.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else dtypes.float64
    covered(sizes.equal(a.shape[0], a.shape[1]) is True and sizes.equal(a.shape[0], b.shape[0]) is True)
    return like(b, prims.solve(clang.convert(a, wanted), clang.convert(as_columns(b), wanted)))


@scipysymbol("linalg.cho_solve", tags=MAY_RAISE)
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> TensorProxy:
    """``x`` with ``a @ x = b``, by the factor of ``a`` that :func:`cho_factor` gives."""
    covered(isinstance(c_and_lower, (tuple, list)) and len(c_and_lower) == 2)
    c, lower = c_and_lower
    c, b = matrix(c, check_finite, square=True), finite(as_array(b), check_finite)
    covered(c.ndim == 2 and b.ndim in (1, 2) and sizes.equal(c.shape[0], b.shape[0]) is True)
    wanted = dtype_of("linalg.solve_triangular", c, b)
    c, columns = clang.convert(c, wanted), clang.convert(as_columns(b), wanted)
    if flag(lower):
        x = transposed_solution(c, prims.triangular_solve(c, columns), upper=False)
    else:
        x = prims.triangular_solve(c, transposed_solution(c, columns, upper=True), upper=True)
    return like(b, x)


@scipysymbol("linalg.inv", tags=MAY_RAISE)
def inv(
    a: Any, overwrite_a: Any = False, check_finite: Any = True, *, assume_a: Any = None, lower: Any = False
) -> TensorProxy:
    """The inverse of each matrix. Raises ``LinAlgError`` at run time for singular ones."""
    covered(assume_a in _STRUCTURES)
    called = is_called(as_array(a))
    a = _STRUCTURES[assume_a](
        clang.convert(matrix(a, check_finite, square=True, called=called), dtype_of("linalg.inv", a)), flag(lower)
    )
    made: TensorProxy = prims.inv(a)
    return made if called else well_conditioned(made, a, made)


@scipysymbol("linalg.det", tags=MAY_RAISE)
def det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> TensorProxy:
    """The determinant of each matrix, in double precision."""
    a = matrix(a, check_finite, square=True, called=is_single(as_array(a)))
    made: TensorProxy = prims.det(clang.convert(a, dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64))
    return made


@scipysymbol("linalg.pinv", tags=MAY_RAISE)
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: Any = False, check_finite: Any = True
) -> TensorProxy:
    """The Moore-Penrose inverse; singular values up to ``atol + rtol`` times the largest count as zero."""
    covered(not flag(return_rank) and all(t is None or is_number(t) for t in (atol, rtol)))
    a = matrix(a, check_finite)
    covered(a.ndim == 2 and all(type(n) is int and n > 0 for n in a.shape))
    u, s, vh = prims.svd(clang.convert(a, dtype_of("linalg.svd", a)))
    if rtol is None:
        rtol = max(sizes.concrete(a.shape, "pinv")) * float(np.finfo(to_numpy_dtype(u.dtype)).eps)
    limit = clang.mul(largest_of(s), rtol)
    large = clang.gt(s, clang.broadcast_to(limit if atol is None else clang.add(limit, atol), s.shape))
    inverses = clang.where(large, clang.reciprocal(clang.where(large, s, 1)), 0)
    return matrix_product(adjoint(vh), clang.mul(clang.expand_dims(in_dtype_of(inverses, u), (-1,)), adjoint(u)))
