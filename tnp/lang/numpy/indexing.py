"""Subscripts and the functions around them."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes
from tnp.core.proxies import TensorProxy, is_number
from tnp.core.symbol import OpTags
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.registry import npmethod

__all__ = ["getitem", "setitem"]


def _key(key: Any) -> Any:
    """A key with its sequences as arrays."""
    if isinstance(key, tuple):
        return tuple(_key(k) for k in key)
    if isinstance(key, (list, range)):
        return as_array(key) if len(key) else as_array(key, dtypes.int64)
    return key


@npmethod("getitem", returns="view")
def getitem(a: TensorProxy, key: Any) -> TensorProxy:
    """``a[key]``: a view for numbers, slices and new axes, else a copy; a NumPy scalar if every dimension is indexed."""
    key = _key(key)
    result = clang.getitem(a, key)
    if result.ndim == 0 and result is not a:
        parts = key if isinstance(key, tuple) else (key,)
        result.scalar = not any(p is Ellipsis for p in parts)
    return result


@npmethod("setitem", returns="array", tags=(OpTags.UPDATE, OpTags.MAY_RAISE))
def setitem(a: TensorProxy, key: Any, value: Any) -> TensorProxy:
    """``a`` after ``a[key] = value``, the value converted to the array's dtype as assignment does."""
    new = value if is_number(value) else as_array(value, a.dtype)
    return clang.setitem(a, _key(key), clang.convert(new, a.dtype) if is_number(new) else new)

