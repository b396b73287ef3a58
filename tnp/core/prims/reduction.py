"""Reductions, cumulative operations, sorting: prims whose results depend on whole lines of elements."""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core import dtypes, sizes
from tnp.core.dtypes import DType
from tnp.core.prims.base import check, check_kind, check_tensor, own_prim, prim
from tnp.core.proxies import Number, TensorProxy
from tnp.core.symbol import OpTags, Symbol

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "prod",
    "sort",
    "sum",
    "topk",
    "var",
]


def _reduced(a: TensorProxy, dims: Sequence[int], dtype: DType | None = None) -> TensorProxy:
    for d in dims:
        check(0 <= d < a.ndim, lambda: f"dimension {d} is not one of {a.ndim}")
    shape = tuple(n for i, n in enumerate(a.shape) if i not in dims)
    return TensorProxy(like=a, shape=shape, dtype=dtype)


def _reduction(name: str, doc: str, kinds: str, *, dtype: DType | None = None, nonempty: bool = False) -> Symbol:
    def meta(a: TensorProxy, /, dims: Sequence[int]) -> TensorProxy:
        check_tensor(a, name)
        check_kind(a.dtype, kinds, name)
        if nonempty:
            for d in dims:
                check(
                    None if type(a.shape[d]) is not int else a.shape[d] != 0,
                    lambda: f"zero-size array to reduction operation {name} which has no identity",
                )
        return _reduced(a, dims, dtype)

    meta.__doc__ = f"{doc} along ``dims``, which the result lacks."
    return own_prim(name, meta, (OpTags.REDUCTION,))


sum = _reduction("sum", "The sum, in the argument's dtype,", "biufc")
prod = _reduction("prod", "The product, in the argument's dtype,", "biufc")
amax = _reduction("amax", "The largest element, NaN if there is one,", "biufc", nonempty=True)
amin = _reduction("amin", "The smallest element, NaN if there is one,", "biufc", nonempty=True)
any = _reduction("any", "Whether any element is true", "b")
all = _reduction("all", "Whether all elements are true", "b")


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


def _cumulative(name: str, doc: str, kinds: str) -> Symbol:
    def meta(a: TensorProxy, /, dim: int) -> TensorProxy:
        check_kind(a.dtype, kinds, name)
        check(0 <= dim < a.ndim, lambda: f"dimension {dim} is not one of {a.ndim}")
        return TensorProxy(like=a)

    meta.__doc__ = f"The running {doc} along ``dim``, in the argument's dtype."
    return own_prim(name, meta)


cumsum = _cumulative("cumsum", "sum", "iufc")
cumprod = _cumulative("cumprod", "product", "iufc")
cummax = _cumulative("cummax", "maximum", "biufc")
cummin = _cumulative("cummin", "minimum", "biufc")


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
    check(0 <= k <= sizes.bound(a.shape[dim]), lambda: f"topk of {k} among {a.shape[dim]}")
    shape = tuple(k if i == dim else n for i, n in enumerate(a.shape))
    return TensorProxy(like=a, shape=shape), TensorProxy(like=a, shape=shape, dtype=dtypes.int64)
