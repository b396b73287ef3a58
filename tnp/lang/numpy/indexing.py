"""Subscripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number
from tnp.core.symbol import OpTags
from tnp.core.views import converts_late
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.registry import MOST_DIMS, npmethod

__all__ = ["getitem", "index_key", "setitem"]


def _key_part(part: Any) -> Any:
    if isinstance(part, (list, tuple, range)):
        found = as_array(part)
        return clang.convert(found, dtypes.int64) if found.shape == (0,) else found
    return bool(part) if isinstance(part, np.bool) else part


def index_key(key: Any) -> Any:
    """A key with its sequences as arrays. Raises ``IndexError`` for more arrays and bools than NumPy takes."""
    if not isinstance(key, tuple):
        return _key_part(key)
    parts = tuple(_key_part(k) for k in key)
    if len(parts) >= MOST_DIMS:
        count = sum(isinstance(p, (bool, TensorProxy)) for p in parts)
        check(count < MOST_DIMS, lambda: f"{count} index arrays are too many", IndexError)
    return parts


@npmethod("getitem", returns="view", tags=(OpTags.SUBSCRIPT, OpTags.ANY_SIZE))
def getitem(a: TensorProxy, key: Any) -> TensorProxy:
    """``a[key]``: a view for numbers, slices and new axes, else a copy; a NumPy scalar if every dimension is indexed."""
    parts = key if isinstance(key, tuple) else (key,)
    result = clang.getitem(a, index_key(key))
    check(result.ndim <= MOST_DIMS, lambda: f"indexing result would have {result.ndim} dimensions", IndexError)
    if result.ndim == 0:
        scalar = not any(p is Ellipsis for p in parts)
        if result is a and scalar is not a.scalar:
            result = prims.clone(result)
        result.scalar = scalar
    return result


@npmethod("setitem", returns="array", tags=(OpTags.UPDATE, OpTags.MAY_RAISE))
def setitem(a: TensorProxy, key: Any, value: Any) -> TensorProxy:
    """``a`` after ``a[key] = value``, the value converted to the array's dtype as assignment does."""
    late = converts_late(value, a.dtype)
    new = value if late else clang.convert(value, a.dtype) if is_number(value) else as_array(value, a.dtype)
    parts = index_key(key)
    mask = parts[0] if isinstance(parts, tuple) and len(parts) == 1 else parts
    if isinstance(mask, TensorProxy) and mask.dtype.kind == "b" and mask.ndim == a.ndim > 0 and not is_number(new):
        check(
            new.ndim <= 1,
            lambda: (
                "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
                f"input has {new.ndim} dimensions"
            ),
            TypeError,
        )
    return clang.setitem(a, parts, new)
