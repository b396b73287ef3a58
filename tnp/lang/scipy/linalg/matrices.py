"""Norms, and matrices made of vectors."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.proxies import TensorProxy
from tnp.lang import numpy as lnp
from tnp.lang.numpy.linalg.operands import plain
from tnp.lang.numpy.operands import as_array, promote
from tnp.lang.scipy.linalg.operands import MAY_RAISE, covered, finite, flag, is_single
from tnp.lang.scipy.registry import scipysymbol

__all__ = ["block_diag", "circulant", "hankel", "norm", "toeplitz"]


@scipysymbol("linalg.norm", tags=MAY_RAISE)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, check_finite: Any = True) -> Any:
    """The norm of a vector or a matrix: a Python float where SciPy calls BLAS or LAPACK for it, else a NumPy scalar or an array."""
    a = as_array(a)
    a, order = finite(a, check_finite, called=is_single(a)), plain(ord)
    found = lnp.linalg.norm(a, order, axis, flag(keepdims))
    in_blas = (
        a.dtype in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
        and axis is None
        and not flag(keepdims)
        and all(sizes.equal(n, 0) is False for n in a.shape)
        and ((a.ndim == 1 and order in (None, 2)) or (a.ndim == 2 and order in (1, float("inf"))))
    )
    return prims.item(found) if in_blas else found


def _vector(x: Any) -> TensorProxy:
    a = as_array(x)
    covered(a.ndim == 1 and sizes.is_known(a.shape))
    return a


def _picked(values: TensorProxy, rows: Any, columns: Any, start: int, row_step: int, column_step: int) -> TensorProxy:
    """The matrix with ``values[start + i * row_step + j * column_step]`` in row i and column j."""
    i, j = clang.arange(rows, dtype=dtypes.int64), clang.arange(columns, dtype=dtypes.int64)
    at = clang.add(
        clang.expand_dims(clang.add(clang.mul(i, row_step), start), (1,)),
        clang.expand_dims(clang.mul(j, column_step), (0,)),
    )
    flat = prims.gather(values, clang.reshape(at, (rows * columns,)), 0)
    return prims.clone(clang.reshape(flat, (rows, columns)))


@scipysymbol("linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> TensorProxy:
    """The matrix with constant diagonals, of the first column ``c`` and the first row ``r`` (default: the conjugate of ``c``)."""
    c = _vector(c)
    r = (clang.conj(c) if c.dtype.kind == "c" else c) if r is None else _vector(r)
    covered(c.shape[0] > 0 and r.shape[0] > 0)
    c, r = promote(c, r)
    m, n = c.shape[0], r.shape[0]
    values = clang.concatenate([clang.flip(c, (0,)), clang.slice_dim(r, 1, n, dim=0)], 0)
    return _picked(values, m, n, m - 1, -1, 1)


@scipysymbol("linalg.hankel")
def hankel(c: Any, r: Any = None) -> TensorProxy:
    """The matrix with constant anti-diagonals, of the first column ``c`` and the last row ``r`` (default: zeros)."""
    c = _vector(c)
    r = clang.full_like(c, 0) if r is None else _vector(r)
    covered(c.shape[0] > 0 and r.shape[0] > 0)
    c, r = promote(c, r)
    m, n = c.shape[0], r.shape[0]
    return _picked(clang.concatenate([c, clang.slice_dim(r, 1, n, dim=0)], 0), m, n, 0, 1, 1)


@scipysymbol("linalg.circulant")
def circulant(c: Any) -> TensorProxy:
    """The matrix whose columns are ``c``, each moved down by one more."""
    c = _vector(c)
    n = c.shape[0]
    covered(n > 0)
    return _picked(
        clang.concatenate([clang.flip(c, (0,)), clang.slice_dim(clang.flip(c, (0,)), 0, n - 1, dim=0)], 0),
        n,
        n,
        n - 1,
        -1,
        1,
    )


@scipysymbol("linalg.block_diag")
def block_diag(*arrs: Any) -> TensorProxy:
    """The matrices on the diagonal of one, zeros beside them; vectors and numbers are rows."""
    blocks = promote(*map(as_array, arrs)) if arrs else []
    covered(bool(blocks) and all(b.ndim <= 2 and sizes.is_known(b.shape) for b in blocks))
    blocks = [clang.reshape(b, (1, -1 if b.ndim else 1)) if b.ndim < 2 else b for b in blocks]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(prims.pad(b, 0, ((0, 0, 0), (start, width - start - b.shape[1], 0))))
        start += b.shape[1]
    return clang.concatenate(rows, 0)
