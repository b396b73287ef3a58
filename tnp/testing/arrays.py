"""Arrays to test with."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype

__all__ = ["make_array", "special_values", "variants"]


def make_array(
    shape: int | tuple[int, ...],
    *,
    dtype: Any,
    low: float | None = None,
    high: float | None = None,
    seed: int = 0,
    device: Any = None,
    requires_grad: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of random values of ``dtype`` in ``[low, high)``, the same for the same arguments.

    By default integers lie in [-9, 9] (unsigned: [0, 9]), floating numbers and both parts of complex ones in [-9, 9).
    """
    kind: DType = to_dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    rng = np.random.default_rng(zlib.crc32(repr((shape, kind.name, low, high, seed)).encode()))
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        first = (0 if kind.kind == "u" else -9) if low is None else int(np.ceil(low))
        last = 10 if high is None else max(int(np.ceil(high)), first + 1)
        return rng.integers(first, last, shape).astype(to_numpy_dtype(kind))
    first_float, last_float = -9.0 if low is None else low, 9.0 if high is None else high
    values = rng.uniform(first_float, last_float, shape)
    if kind.kind == "c":
        values = values + 1j * rng.uniform(first_float, last_float, shape)
    return np.asarray(values).astype(to_numpy_dtype(kind))


def special_values(dtype: Any) -> np.ndarray[Any, Any]:
    """A 1-d array of the values of ``dtype`` that are easy to get wrong: extremes, zeros, NaN, infinities."""
    kind = to_dtype(dtype)
    np_dtype = to_numpy_dtype(kind)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        limits = np.iinfo(np_dtype)
        return np.array([0, 1, 2, 3, limits.max, limits.max - 1, limits.min, limits.min + 1], np_dtype)
    real = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-4, -3.0, 100.0])
    if kind.kind == "c":
        finite = np.array([0, 1, -1, 1j, -1j, 1 + 1j, -2.5 + 0.5j, 3 - 4j, complex(np.nan, 0), complex(np.inf, 1)])
        return finite.astype(np_dtype)
    return real.astype(np_dtype)


def variants(a: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """``a`` in other memory layouts, with the same values: Fortran order, every other element, negative strides."""
    yield a
    if a.ndim >= 2:
        yield np.asfortranarray(a)
    if a.ndim >= 1 and a.size:
        wide = np.zeros((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
        wide[..., ::2] = a
        yield wide[..., ::2]
        yield np.ascontiguousarray(a[..., ::-1])[..., ::-1]
