"""Operands of ``numpy.linalg``: stacks of matrices in LAPACK's dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.dtypes import DType
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy.contractions import conjugated
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.operands import as_array, promote

LinAlgError = np.linalg.LinAlgError
MAY_RAISE = (OpTags.MAY_RAISE,)


def linalg_dtype(*arrays: TensorProxy) -> DType:
    """The dtype that LAPACK works in: the widest of the operands, integers and bools counting as float64.

    Raises ``TypeError`` for float16.
    """
    for a in arrays:
        check(a.dtype is not dtypes.float16, lambda: "array type float16 is unsupported in linalg", TypeError)
    single = all(a.dtype in (dtypes.float32, dtypes.complex64) for a in arrays)
    real = dtypes.float32 if single else dtypes.float64
    return dtypes.complex_counterpart(real) if any(a.dtype.kind == "c" for a in arrays) else real


def stacked_matrices(*xs: Any) -> list[TensorProxy]:
    """Operands of two or more dimensions, in the dtype that LAPACK works in. Raises ``LinAlgError`` for fewer."""
    arrays = [as_array(x) for x in xs]
    for a in arrays:
        check_stacked(a)
    wanted = linalg_dtype(*arrays)
    return [clang.convert(a, wanted) for a in arrays]


def check_stacked(a: TensorProxy) -> None:
    check(
        a.ndim >= 2,
        lambda: f"{a.ndim}-dimensional array given. Array must be at least two-dimensional",
        LinAlgError,
    )


def check_square(a: TensorProxy) -> None:
    check_stacked(a)
    check(
        sizes.equal(a.shape[-1], a.shape[-2]) is not False,
        lambda: "Last 2 dimensions of the array must be square",
        LinAlgError,
    )


def square_matrices(x: Any) -> TensorProxy:
    """A stack of square matrices in the dtype that LAPACK works in. Raises ``LinAlgError`` for anything else."""
    a = as_array(x)
    check_square(a)
    return stacked_matrices(a)[0]


def adjoint(a: TensorProxy) -> TensorProxy:
    return conjugated(clang.matrix_transpose(a))


def identity_matrix(n: int, dtype: DType) -> TensorProxy:
    at = clang.arange(n, dtype=dtypes.int64)
    same = clang.eq(clang.expand_dims(at, (1,)), clang.expand_dims(at, (0,)))
    return clang.convert(same, dtype)


def plain(x: Any) -> Any:
    """An option (the order of a norm, a limit) as the Python number or string that the trace depends on."""
    return x.item() if isinstance(x, np.generic) else pyval(x)


def no_elements(shape: Sequence[sizes.Dim]) -> bool:
    """Whether one of the lengths is surely 0."""
    return any(sizes.equal(n, 0) for n in shape)


def in_dtype_of(a: TensorProxy, b: TensorProxy) -> TensorProxy:
    return clang.convert(a, b.dtype)


def epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number. Raises ``ValueError`` for integers, as ``np.finfo`` does."""
    return float(np.finfo(to_numpy_dtype(dtype)).eps)


def largest_of(s: TensorProxy) -> TensorProxy:
    """The largest along the last dimension, which stays; 0 if there is none."""
    if no_elements(s.shape[-1:]):
        return clang.full((*s.shape[:-1], 1), 0, dtype=s.dtype)
    return clang.expand_dims(prims.amax(s, (s.ndim - 1,)), (-1,))


def times_last(a: TensorProxy, factor: Any) -> TensorProxy:
    """``a`` times a number, or times an array with a new last dimension."""
    if is_number(factor):
        return clang.mul(a, factor)
    x, y = promote(a, clang.expand_dims(as_array(factor), (-1,)))
    return clang.mul(x, y)


def squared(a: TensorProxy) -> TensorProxy:
    """``|a|²``, real."""
    return prims.real(clang.mul(clang.conj(a), a)) if a.dtype.kind == "c" else clang.mul(a, a)
