"""Reductions, scans and sorting: prims whose results depend on all elements along a dimension.

The rows of :mod:`tnp.core.reduction_table` generate the reductions and scans of an elementwise operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core import dtypes, sizes
from tnp.core.dtypes import DType
from tnp.core.prims.base import check, check_kind, check_tensor, own_prim, prim
from tnp.core.proxies import Number, TensorProxy
from tnp.core.reduction_table import REDUCTIONS, Reduction
from tnp.core.symbol import OpTags, Symbol

__all__ = ["argmax", "argmin", "argsort", "sort", "topk", "var"]


def _reduced(a: TensorProxy, dims: Sequence[int], dtype: DType | None = None) -> TensorProxy:
    for d in dims:
        check(0 <= d < a.ndim, lambda: f"dimension {d} is not one of {a.ndim}")
    shape = tuple(n for i, n in enumerate(a.shape) if i not in dims)
    return TensorProxy(like=a, shape=shape, dtype=dtype)


def _reduction(row: Reduction) -> Symbol:
    name = row.name

    def meta(a: TensorProxy, /, dims: Sequence[int]) -> TensorProxy:
        check_tensor(a, name)
        check_kind(a.dtype, row.takes, name)
        if row.neutral is None:
            for d in dims:
                check(
                    None if type(a.shape[d]) is not int else a.shape[d] != 0,
                    lambda: f"zero-size array to reduction operation {name} which has no identity",
                )
        return _reduced(a, dims)

    meta.__doc__ = f"{row.says} along ``dims``, which the result lacks."
    return own_prim(name, meta, (OpTags.REDUCTION,))


def _cumulative(row: Reduction) -> Symbol:
    name = row.scan

    def meta(a: TensorProxy, /, dim: int) -> TensorProxy:
        check_kind(a.dtype, row.scan_takes, name)
        check(0 <= dim < a.ndim, lambda: f"dimension {dim} is not one of {a.ndim}")
        return TensorProxy(like=a)

    meta.__doc__ = f"{row.says} up to each element along ``dim``."
    return own_prim(name, meta)


for _row in REDUCTIONS:
    globals()[_row.name] = _reduction(_row)
    __all__.append(_row.name)
    if _row.scan:
        globals()[_row.scan] = _cumulative(_row)
        __all__.append(_row.scan)


def _arg_reduction(name: str, doc: str) -> Symbol:
    def meta(a: TensorProxy, /, dim: int) -> TensorProxy:
        check_tensor(a, name)
        check(
            None if type(a.shape[dim]) is not int else a.shape[dim] != 0,
            lambda: f"attempt to get {name} of an empty sequence",
        )
        return _reduced(a, (dim,), dtypes.int64)

    meta.__doc__ = f"The int64 index along ``dim`` of the {doc} element: the first of equals, a NaN before all others."
    return own_prim(name, meta, (OpTags.REDUCTION,))


argmax = _arg_reduction("argmax", "largest")
argmin = _arg_reduction("argmin", "smallest")


@prim(OpTags.REDUCTION)
def var(a: TensorProxy, /, dims: Sequence[int], *, correction: Number) -> TensorProxy:
    """The mean squared distance from the mean along ``dims``, divided by ``n - correction``; real for complex."""
    check_kind(a.dtype, "fc", "var")
    return _reduced(a, dims, dtypes.real_counterpart(a.dtype))


@prim()
def sort(a: TensorProxy, /, dim: int, *, descending: bool = False, stable: bool = False) -> TensorProxy:
    """The elements in order along ``dim``, NaNs last (first if descending)."""
    check(0 <= dim < a.ndim, lambda: f"dimension {dim} is not one of {a.ndim}")
    return TensorProxy(like=a)


@prim()
def argsort(a: TensorProxy, /, dim: int, *, descending: bool = False, stable: bool = False) -> TensorProxy:
    """The int64 indices that sort ``a`` along ``dim``."""
    check(0 <= dim < a.ndim, lambda: f"dimension {dim} is not one of {a.ndim}")
    return TensorProxy(like=a, dtype=dtypes.int64)


@prim()
def topk(
    a: TensorProxy, /, k: int, dim: int, largest: bool = True, sorted: bool = True
) -> tuple[TensorProxy, TensorProxy]:
    """The ``k`` largest (or smallest) elements along ``dim``, and their int64 indices."""
    most = sizes.bound_or_none(a.shape[dim])
    is_fitting = type(k) is not int or (k >= 0 and (most is None or k <= most))
    check(is_fitting, lambda: f"topk of {k} among {a.shape[dim]}")
    shape = tuple(k if i == dim else n for i, n in enumerate(a.shape))
    return TensorProxy(like=a, shape=shape), TensorProxy(like=a, shape=shape, dtype=dtypes.int64)
