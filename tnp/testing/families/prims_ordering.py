"""Samples and references of the prims that sort, select the largest, or solve."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType
from tnp.testing.arrays import make_array, variants
from tnp.testing.opinfo import SampleInput

__all__ = ["argsort_reference", "sort_reference", "sort_samples", "topk_reference", "topk_samples"]


def topk_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((4, 7), dtype=dtype)):
        for k, dim, largest in ((0, 1, True), (3, 1, True), (2, 0, False), (7, 1, False)):
            yield SampleInput(a, k, dim, largest)
    yield SampleInput(np.array([1, 3, 3, 1, 3], dtype.name), 4, 0)


def topk_reference(a: Any, k: int, dim: int, largest: bool = True, sorted: bool = True) -> Any:
    """A stable sort of Python's of each line; of equals the first come."""

    def line(values: Any) -> Any:
        values = values.tolist()
        return np.array(_by_value(range(len(values)), values, largest)[:k], np.int64)

    at = np.apply_along_axis(line, dim, a)
    return np.take_along_axis(a, at, axis=dim), at


def _by_value(positions: Any, values: list[Any], descending: bool) -> list[int]:
    return sorted(positions, key=lambda i: -values[i] if descending else values[i])


def sort_samples(dtype: DType) -> Iterator[SampleInput]:
    for a in variants(make_array((4, 7), dtype=dtype)):
        for dim, descending in ((0, False), (1, True)):
            yield SampleInput(a, dim, descending=descending, stable=True)


def argsort_reference(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    return topk_reference(a, a.shape[dim], dim, descending)[1]


def sort_reference(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    return topk_reference(a, a.shape[dim], dim, descending)[0]


def triangular_samples(dtype: DType) -> Iterator[SampleInput]:
    for upper, transpose, unit in itertools.product((False, True), repeat=3):
        for batch in ((), (2,)):
            a = make_array((*batch, 3, 3), dtype=dtype, low=1, high=2)
            yield SampleInput(a, make_array((*batch, 3, 2), dtype=dtype), upper=upper, transpose=transpose, unit=unit)
    yield SampleInput(make_array((0, 0), dtype=dtype), make_array((0, 2), dtype=dtype))


def triangular_reference(a: Any, b: Any, *, upper: bool = False, transpose: bool = False, unit: bool = False) -> Any:
    """Substitution, row by row."""
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        a = a.copy()
        a[..., range(a.shape[-1]), range(a.shape[-1])] = 1
    if transpose:
        a, upper = np.swapaxes(a, -1, -2), not upper
    n = a.shape[-1]
    x = np.zeros_like(b)
    for i in reversed(range(n)) if upper else range(n):
        rest = np.einsum("...k,...kj->...j", a[..., i, :], x)
        x[..., i, :] = (b[..., i, :] - rest) / a[..., i, i, None]
    return x
