"""Operands of ``scipy.linalg``: matrices in the dtypes that SciPy computes in, with the check for numbers that are not finite."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.context import current_trace
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import TensorProxy, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.numpy.linalg.operands import largest_of, no_elements
from tnp.lang.numpy.operands import as_array
from tnp.lang.scipy.registry import function_of, own_call
from tnp.runtime.quiet import quiet

MAY_RAISE = (OpTags.MAY_RAISE,)


def covered(condition: Any) -> None:
    """Raises :class:`NeedsOpaque` for arguments that a definition does not cover: SciPy is called, which may raise."""
    if not condition:
        raise NeedsOpaque("the arguments are not those of the definition")


@cache
def _dtypes(name: str, operands: tuple[DType, ...]) -> DType:
    matrices = [np.eye(2, dtype=to_numpy_dtype(d)) for d in operands]
    with quiet(), np.errstate(all="ignore"):
        try:
            found = function_of(name)(*matrices)
        except Exception as error:
            raise NeedsEager(f"scipy.{name} of {', '.join(map(str, operands))} raises {error!r}") from error
    return result_of((found[0] if isinstance(found, tuple) else found).dtype)


def dtype_of(name: str, *operands: TensorProxy) -> DType:
    """The dtype of the (first) result of ``scipy.<name>`` of matrices of the operands' dtypes."""
    return _dtypes(name, tuple(a.dtype for a in operands))


_finite = own_call("asarray_chkfinite", np.asarray_chkfinite, lambda a: TensorProxy(like=a))
_finite.pulls_back = lambda cotangents, wanted, args, kwargs: cotangents


def finite(a: TensorProxy, check_finite: Any, *, called: bool = False) -> TensorProxy:
    """``a``. Raises ``ValueError`` at run time for numbers that are not finite. With ``called`` it is a call, which no region has: of SciPy's
    functions that warn of ill-conditioned matrices."""
    if not flag(check_finite) or a.dtype.kind not in "fc":
        return a
    made: TensorProxy = (
        _finite(a) if called else prims.require(a, clang.isfinite(a), ValueError, "array must not contain infs or NaNs")
    )
    return made


def well_conditioned(x: TensorProxy, a: TensorProxy, inverse: TensorProxy) -> TensorProxy:
    """``x``, made of matrices ``a`` that have that ``inverse``. Of matrices that may be so ill-conditioned that SciPy warns of them, compiled
    code leaves the call to SciPy."""
    from scipy.linalg import LinAlgWarning

    if no_elements(a.shape):
        return x
    number = clang.mul(*(largest_of(prims.sum(clang.abs(m), (m.ndim - 2,))) for m in (a, inverse)))
    limit = 0.1 / float(np.finfo(to_numpy_dtype(dtypes.real_counterpart(a.dtype))).eps)
    message = "An ill-conditioned matrix detected: result may not be accurate."
    made: TensorProxy = prims.require(x, clang.lt(number, limit), LinAlgWarning, message)
    return made


def is_called(a: TensorProxy) -> bool:
    """Whether SciPy's functions that warn of ill-conditioned matrices are called: in single precision, whose rounding can be seen, and
    where the call could not run again to let SciPy warn."""
    trace = current_trace()
    return is_single(a) or trace is None or not trace.may_start_over


def is_single(a: TensorProxy) -> bool:
    """Whether SciPy computes in single precision, and gives double: its rounding can be seen."""
    return a.dtype.kind in "fc" and dtypes.real_counterpart(a.dtype).bits < 64


def flag(x: Any) -> bool:
    """An option as the bool that the trace depends on."""
    return bool(pyval(x))


def matrix(x: Any, check_finite: Any, *, square: bool = False, called: bool = False) -> TensorProxy:
    """``x`` as a stack of matrices. Other arrays are SciPy's business."""
    a = as_array(x)
    covered(a.ndim >= 2)
    covered(not square or sizes.equal(a.shape[-1], a.shape[-2]) is True)
    return finite(a, check_finite, called=called)


def triangle(a: TensorProxy, *, lower: bool, strictly: bool = False) -> TensorProxy:
    """A triangle of matrices, zeros beside it."""
    rows, columns = (clang.arange(n, dtype=dtypes.int64) for n in sizes.concrete(a.shape[-2:], "a triangle"))
    rows, columns = clang.expand_dims(rows, (1,)), clang.expand_dims(columns, (0,))
    if not lower:
        rows, columns = columns, rows
    keep = (clang.gt if strictly else clang.ge)(rows, columns)
    return clang.where(clang.broadcast_to(keep, a.shape), a, 0)


def mirrored(a: TensorProxy, *, lower: bool, conjugate: bool) -> TensorProxy:
    """The symmetric or Hermitian matrices whose triangles are those of ``a``."""
    other = clang.matrix_transpose(triangle(a, lower=lower, strictly=True))
    other = clang.conj(other) if conjugate and a.dtype.kind == "c" else other
    return clang.add(triangle(a, lower=lower), other)


def as_columns(b: TensorProxy) -> TensorProxy:
    return clang.expand_dims(b, (1,)) if b.ndim == 1 else b


def like(b: TensorProxy, x: TensorProxy) -> TensorProxy:
    """Solutions ``x`` in columns as the right sides ``b`` are: one vector for one."""
    return clang.squeeze(x, (-1,)) if b.ndim == 1 else x


def transposed_solution(a: TensorProxy, b: TensorProxy, *, upper: bool, unit: bool = False) -> TensorProxy:
    """``x`` with ``aᴴ x = b`` for a triangle of ``a``."""
    conjugate = clang.conj(a) if a.dtype.kind == "c" else a
    made: TensorProxy = prims.triangular_solve(conjugate, b, upper=upper, transpose=True, unit=unit)
    return made
