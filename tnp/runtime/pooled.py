"""Uninitialised large arrays from the pool."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["pooled"]


def pooled(shape: tuple[int, ...], dtype: Any) -> Any:
    """``np.empty``, from the pool of large memory if there is one."""
    return _empty()(shape, dtype)


@functools.cache
def _empty() -> Any:
    try:
        from tnp.runtime import allocator

        allocator.empty(0)
    except Exception:  # without native code, NumPy's own memory will do
        return np.empty
    return allocator.empty
