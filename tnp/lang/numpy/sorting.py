"""Sorting, and sets as sorted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.lang.numpy.operands import as_array, promote, size_or_int, static_axis
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import npsymbol
from tnp.lang.numpy.selection import flattened, isin

__all__ = ["argsort", "sort", "unique"]

_KINDS = frozenset("qhsm")


def _line(a: Any, axis: Any) -> tuple[TensorProxy, int]:
    """The array and the dimension to sort along: the only one of the flattened array for ``None``."""
    a = as_array(a)
    axis = None if axis is None else static_axis(axis)
    return (flattened(a), 0) if axis is None else (a, one_axis(a.ndim, axis))


def _argument_line(a: Any, axis: Any) -> tuple[TensorProxy, int]:
    """:func:`_line` for indices, for which NumPy takes a 0-d array for one of a single element."""
    a = as_array(a)
    return _line(a, None if a.ndim == 0 and axis in (-1, 0) else axis)


def _is_stable(a: TensorProxy, kind: Any, order: Any, stable: Any) -> bool:
    check(order is None, lambda: "Cannot specify order when the array has no fields.")
    check(kind is None or stable is None, lambda: "`kind` and `stable` parameters can't be provided at the same time.")
    # NumPy looks at the first letter.
    letter = kind[:1].lower() if isinstance(kind, str) else "q" if kind is None else ""
    check(letter in _KINDS, lambda: f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return bool(stable) or letter in ("s", "m")


@npsymbol()
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> TensorProxy:
    """Sorted along an axis (flattened for ``None``), NaNs last."""
    a, at = _line(a, axis)
    return prims.sort(a, at, stable=_is_stable(a, kind, order, stable))


@npsymbol(method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> TensorProxy:
    """The int64 indices that sort along an axis (of the flattened array for ``None``)."""
    a, at = _argument_line(a, axis)
    return prims.argsort(a, at, stable=_is_stable(a, kind, order, stable))


def _check_kth(a: TensorProxy, at: int, kth: Any) -> None:
    length = a.shape[at]
    for k in kth if isinstance(kth, (tuple, list, range)) else (kth,):
        if isinstance(k, TensorProxy):
            raise NeedsEager("the kth of a partition is a value of the program")
        position = symbols.extent(size_or_int(k, "kth"))
        if type(length) is int or symbols.is_symbol(length):
            n = symbols.extent(length)
            check(-n <= position < n or a.numel == 0, lambda: f"kth(={k}) out of bounds ({length})")


def _check_partition(kind: str, order: Any) -> None:
    check(kind == "introselect", lambda: f"select kind must be 'introselect' (got {kind!r})")
    check(order is None, lambda: "Cannot specify order when the array has no fields.")


@npsymbol()
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> TensorProxy:
    """The kth element in its sorted place, smaller ones before it; in prims all are in their sorted place."""
    a, at = _line(a, axis)
    _check_kth(a, at, kth)
    _check_partition(kind, order)
    return prims.sort(
        a, at, stable=True
    )  # which no native code takes: the other elements would be in another order than NumPy's


@npsymbol(method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> TensorProxy:
    """The int64 indices that :func:`partition` along an axis."""
    a, at = _argument_line(a, axis)
    _check_kth(a, at, kth)
    _check_partition(kind, order)
    return prims.argsort(a, at)


@npsymbol()
def lexsort(keys: Any, axis: Any = -1) -> TensorProxy:
    """The indices that sort by the last key, equals by the one before it, and so on."""
    if isinstance(keys, TensorProxy):
        check(keys.ndim > 0, lambda: "need sequence of keys with len > 0 in lexsort")
        count = keys.shape[0]
        if type(count) is not int:
            raise NeedsEager("np.lexsort by keys of a number that is known only when the program runs")
        keys = [prims.select(keys, 0, i) for i in range(count)]
    found = [as_array(k) for k in keys]
    if not found:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if found[0].ndim == 0:
        raise NeedsEager("np.lexsort by 0-d keys is for NumPy to do")
    check(
        all(sizes.shapes_equal(k.shape, found[0].shape) is not False for k in found),
        lambda: "all keys need to be the same shape",
    )
    at = one_axis(found[0].ndim, axis)
    order = prims.argsort(found[0], at, stable=True)
    for key in found[1:]:
        finer = prims.argsort(prims.gather(key, order, at), at, stable=True)
        order = prims.gather(order, finer, at)
    return order


@npsymbol()
def sort_complex(a: Any) -> TensorProxy:
    """Sorted by real, then imaginary parts, as complex numbers."""
    a = as_array(a)
    ordered = prims.sort(a, one_axis(a.ndim, -1))
    small = a.dtype.kind in "iu" and a.dtype.bits <= 16
    wanted: DType = a.dtype if a.dtype.kind == "c" else dtypes.complex64 if small else dtypes.complex128
    return clang.convert(ordered, wanted)


# Sets


class _Uniques:
    """The distinct elements of a 1-d array in order: where each first stands among the sorted elements.

    ``index``, ``inverse`` and ``counts`` are as of np.unique. The first two are there if ``has_places``.
    """

    def __init__(self, flat: TensorProxy, equal_nan: bool, *, has_places: bool = False) -> None:
        self.flat = flat
        n = symbols.extent(flat.shape[0]) if symbols.is_symbol(flat.shape[0]) else flat.shape[0]
        self.length = flat.shape[0]
        if has_places:
            self.order = prims.argsort(flat, 0, stable=True)
        self.ordered = prims.take(flat, self.order, 0) if has_places else prims.sort(flat, 0)
        if isinstance(n, NumberProxy):  # known only when the program runs, maybe 0
            at = prims.iota(n, device=flat.device, dtype=dtypes.int64)
            left = prims.take(self.ordered, clang.maximum(clang.sub(at, 1), 0), 0)
            self.is_first = clang.logical_or(self._differs(left, self.ordered, equal_nan), clang.eq(at, 0))
        elif n == 0:
            self.is_first = clang.full((0,), True, dtype=dtypes.bool8)
        else:
            left, right = (clang.slice_dim(self.ordered, s, n - 1 + s, dim=0) for s in (0, 1))
            differs = self._differs(left, right, equal_nan)
            self.is_first = clang.concatenate([clang.full((1,), True, dtype=dtypes.bool8), differs], 0)
        (self.first,) = prims.nonzero(self.is_first)

    @staticmethod
    def _differs(left: TensorProxy, right: TensorProxy, equal_nan: bool) -> TensorProxy:
        """Where elements differ from those before them."""
        found: TensorProxy = clang.ne(left, right)
        if equal_nan and left.dtype.kind in "fc":
            found = clang.logical_and(found, clang.logical_not(clang.isnan(left)))
        return found

    @property
    def values(self) -> TensorProxy:
        return prims.take(self.ordered, self.first, 0)

    @property
    def index(self) -> TensorProxy:
        return prims.take(self.order, self.first, 0)

    @property
    def inverse(self) -> TensorProxy:
        rank = clang.sub(prims.cumsum(clang.convert(self.is_first, dtypes.int64), 0), 1)
        return prims.index_put(clang.full_like(rank, 0), [self.order], rank, False)

    @property
    def counts(self) -> TensorProxy:
        ends = clang.concatenate([self.first, clang.expand_dims(clang.convert(self.length, dtypes.int64), (0,))], 0)
        following = clang.add(prims.iota(self.first.shape[0], device=ends.device, dtype=dtypes.int64), 1)
        return clang.sub(prims.take(ends, following, 0), self.first)


@npsymbol(returns="array")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements, sorted; their number is known at run time. On request where each first stands, which
    each element is, and how often each occurs."""
    a = as_array(ar)
    if axis is not None:
        raise NeedsEager("np.unique along an axis is not compiled")
    found = _Uniques(flattened(a), equal_nan, has_places=return_index or return_inverse)
    wanted = [found.values]
    if return_index:
        wanted.append(found.index)
    if return_inverse:
        wanted.append(clang.reshape(found.inverse, a.shape))
    if return_counts:
        wanted.append(found.counts)
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _unique_variant(name: str) -> None:
    function = getattr(np, name)

    def variant(x: Any, /) -> Any:
        kind: Any = type(function(np.zeros(1)))  # not before it is called: NumPy loads its masked arrays for it
        a = as_array(x)
        has_places = kind is not np.ndarray and bool({"indices", "inverse_indices"} & set(kind._fields))
        found = _Uniques(flattened(a), equal_nan=False, has_places=has_places)
        if kind is np.ndarray:
            return found.values
        parts = {
            "values": lambda: found.values,
            "indices": lambda: found.index,
            "inverse_indices": lambda: clang.reshape(found.inverse, a.shape),
            "counts": lambda: found.counts,
        }
        return kind(*(parts[field]() for field in kind._fields))

    variant.__name__ = name
    variant.__doc__ = function.__doc__
    globals()[name] = npsymbol(returns="array")(variant)
    __all__.append(name)


for _name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
    _unique_variant(_name)


def _chosen(a: TensorProxy, mask: TensorProxy) -> TensorProxy:
    return prims.take(a, prims.nonzero(mask)[0], 0)


def _distinct(a: TensorProxy) -> TensorProxy:
    return _Uniques(a, equal_nan=True).values


@npsymbol()
def union1d(ar1: Any, ar2: Any) -> TensorProxy:
    """The distinct elements of both, sorted."""
    if any(is_number(x) for x in (ar1, ar2)):
        raise NeedsEager("np.union1d of a number, which NumPy casts unchecked")
    return _distinct(clang.concatenate([flattened(x) for x in promote(ar1, ar2)], 0))


def _in_order(ar1: Any, ar2: Any, assume_unique: bool) -> TensorProxy:
    """The distinct elements of both arrays together, sorted: an element that both have stands twice.

    Elements are told apart in their own dtype, before they are promoted; NumPy does so too.
    """
    a, b = (flattened(as_array(x)) for x in (ar1, ar2))
    parts = (a, b) if assume_unique else (_distinct(a), _distinct(b))
    return prims.sort(clang.concatenate(promote(*parts), 0), 0)


def _neighbours(ordered: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """All elements but the last, and those that follow them."""
    return clang.getitem(ordered, slice(None, -1)), clang.getitem(ordered, slice(1, None))


@npsymbol()
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that are in both, sorted."""
    if return_indices:
        raise NeedsEager("np.intersect1d with return_indices is not compiled")
    left, right = _neighbours(_in_order(ar1, ar2, assume_unique))
    return _chosen(left, clang.eq(left, right))


@npsymbol()
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> TensorProxy:
    """The distinct elements of the first that are not in the second, sorted."""
    a = flattened(as_array(ar1))
    a = a if assume_unique else _distinct(a)
    return _chosen(a, isin(a, ar2, invert=True))


@npsymbol()
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> TensorProxy:
    """The distinct elements that are in one of both only, sorted."""
    ordered = _in_order(ar1, ar2, assume_unique)
    lengths = [as_array(x).numel for x in (ar1, ar2)]
    if any(type(n) is not int and not symbols.is_symbol(n) for n in lengths):  # there may be none
        raise NeedsEager("np.setxor1d of elements of a number that is known only when the program runs")
    if sizes.bound_or_none(ordered.shape[0]) == 0:
        return ordered
    differs = clang.ne(*_neighbours(ordered))
    end = clang.full((1,), True, dtype=dtypes.bool8)
    alone = clang.logical_and(clang.concatenate([end, differs], 0), clang.concatenate([differs, end], 0))
    return _chosen(ordered, alone)
