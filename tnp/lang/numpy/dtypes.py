"""Conversions between NumPy's dtypes and tnp's, and NumPy's promotion, computed by NumPy itself.

>>> import numpy as np
>>> from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype, result_dtype
>>> to_dtype("f4"), to_numpy_dtype(to_dtype(int))
(dtypes.float32, dtype('int64'))
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, TraceError
from tnp.core.proxies import NumberProxy, TensorProxy

__all__ = ["dtype_argument", "resolve_ufunc", "result_dtype", "result_of", "to_dtype", "to_numpy_dtype", "weak_type"]

_FROM_NUMPY = {np.dtype(d.name): d for d in dtypes.ALL if d is not dtypes.bfloat16}
_TO_NUMPY = {d: n for n, d in _FROM_NUMPY.items()}


def to_dtype(dtype: Any) -> DType:
    """tnp's dtype for anything that ``np.dtype`` takes, or for one of its own.

    Raises :class:`TraceError` for dtypes that tnp does not compile (object, str, datetime64, longdouble, structured),
    ``TypeError`` for what is no dtype.
    """
    if isinstance(dtype, DType):
        return dtype
    found = _FROM_NUMPY.get(dtype) if isinstance(dtype, np.dtype) else None
    if found is None:
        wanted = np.dtype(dtype)
        found = _FROM_NUMPY.get(wanted.newbyteorder("=")) if wanted.kind in "biufc" else None
        if found is None:
            raise TraceError(f"tnp does not compile arrays of dtype {wanted}")
    return found


def dtype_argument(dtype: Any) -> DType:
    """The dtype that an argument ``dtype=`` names.

    One that tnp does not compile, or of foreign byte order, makes the program run eagerly; so does a second one of the same elements
    (``longlong``, or one with metadata), which results would not have. Raises ``TypeError`` for what is no dtype.
    """
    if isinstance(dtype, DType):
        return dtype
    wanted = np.dtype(dtype)
    found = result_of(wanted)
    if wanted.char != _TO_NUMPY[found].char or wanted.metadata is not None:
        raise NeedsEager(f"it asks for dtype {wanted}, which tnp does not compile")
    return found


def result_of(dtype: np.dtype[Any]) -> DType:
    """The dtype that NumPy says a result to have. One that tnp does not compile makes the program run eagerly."""
    found = _FROM_NUMPY.get(dtype)
    if found is None:
        raise NeedsEager(f"it asks for dtype {dtype}, which tnp does not compile")
    return found


def to_numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype for tnp's. Raises :class:`TraceError` for bfloat16, which NumPy has not."""
    try:
        return _TO_NUMPY[dtype]
    except KeyError:
        raise TraceError(f"NumPy has no dtype {dtype}") from None


def weak_type(x: Any) -> Any:
    """What NumPy's promotion sees of an operand: a dtype, or ``int``, ``float``, ``complex`` for Python numbers."""
    if isinstance(x, TensorProxy):
        return to_numpy_dtype(x.dtype)
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    if kind is bool:
        return np.dtype(bool)
    if kind in (int, float, complex):
        return kind
    if isinstance(x, np.generic):
        return x.dtype
    raise TypeError(f"not an operand: {x!r}")


_SAMPLES = {int: 0, float: 0.0, complex: 0j}


@cache
def resolve_ufunc(name: str, operands: tuple[Any, ...], dtype: Any, casting: str) -> tuple[DType, ...]:
    """The dtypes of the loop that ``np.<name>`` runs: inputs, then outputs. Raises NumPy's own errors."""
    ufunc = getattr(np, name)
    # Where an operand is a Python number, NumPy 2.4 crashes on "equiv", which between native dtypes is "no".
    keywords: dict[str, Any] = {"casting": "no" if casting == "equiv" else casting}
    if dtype is not None:
        keywords["signature"] = (*(None,) * ufunc.nin, *(to_numpy_dtype(dtype_argument(dtype)),) * ufunc.nout)
    with np.errstate(all="ignore"):
        if dtype is not None and all(isinstance(o, type) for o in operands):
            operands = tuple(np.dtype(o) for o in operands)
        found = ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout), **keywords)
        if casting in ("equiv", "no") and any(isinstance(o, type) for o in operands):
            # Which numbers are cast so differs from version to version: the call itself raises where they are not.
            examples = [_SAMPLES[o] if isinstance(o, type) else np.empty(0, o) for o in operands]
            ufunc(*examples, **{**keywords, "casting": casting})
    return tuple(map(result_of, found))


@cache
def _result_dtype(operands: tuple[Any, ...]) -> DType:
    return result_of(np.result_type(*(_SAMPLES[o] if isinstance(o, type) else o for o in operands)))


def result_dtype(*operands: Any) -> DType:
    """The dtype that the operands (arrays, Python numbers, NumPy scalars) promote to: ``np.result_type``."""
    return _result_dtype(tuple(weak_type(x) for x in operands))
