"""Indexing prims: reads and writes at positions computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import dtypes, intervals, sizes, symbols
from tnp.core.context import current_trace
from tnp.core.prims.base import check, check_kind, check_same_device, check_same_dtype, check_tensor, prim, size_proxy
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.sizes import Dim
from tnp.core.slice_bounds import slice_length
from tnp.core.symbol import OpTags

__all__ = [
    "dynamic_slice",
    "gather",
    "index_get",
    "index_put",
    "nonzero",
    "scatter",
    "scatter_add",
    "searchsorted",
    "select",
    "size",
    "slice_update",
    "take",
]


@prim(OpTags.VIEW, OpTags.MAY_RAISE)
def select(a: TensorProxy, /, dim: int, index: int | NumberProxy) -> TensorProxy:
    """``a`` at position ``index`` of ``dim``, without that dimension. Raises ``IndexError`` at run time if there is none.

    Negative indices count from the end.
    """
    check_tensor(a, "select")
    limit = sizes.bound_or_none(a.shape[dim])
    if type(index) is int and limit is not None:
        check(
            -limit <= index < limit,
            lambda: f"index {index} is out of bounds for axis {dim} with size {limit}",
            IndexError,
        )
    n = a.shape[dim]
    relations = symbols.relations_of(n, index)
    if relations is not None:
        size = symbols.value_of(n)
        fits = relations.less(index, n) and not relations.less(index, symbols.compute("mul", n, -1))
        check(fits, lambda: f"index {index} is out of bounds for axis {dim} with size {size}", IndexError)
    return TensorProxy(like=a, shape=tuple(n for i, n in enumerate(a.shape) if i != dim))


@prim(OpTags.VIEW)
def dynamic_slice(a: TensorProxy, /, dim: int, start: Any, stop: Any, step: int = 1) -> TensorProxy:
    """``a[start:stop:step]`` along ``dim`` as Python slices, with bounds that are known at run time."""
    check_tensor(a, "dynamic_slice")
    limits = [sizes.bound_or_none(a.shape[dim])]
    if step > 0 and type(stop) is int and stop >= 0:
        limits.append(stop)
    limit = min((n for n in limits if n is not None), default=None)
    found = intervals.slice_length(a.shape[dim], start, stop) if step > 0 else None
    if step > 1:
        found = -(-found // step) if isinstance(found, int) else None
    length: Dim
    known = slice_length(a.shape[dim], start, stop, step) if type(found) is not int else None
    if known is not None:
        length = known
    elif isinstance(found, int):
        length = found
    else:
        length = size_proxy(None if limit is None else (limit + abs(step) - 1) // abs(step))
        length.form = found
    return TensorProxy(like=a, shape=tuple(length if i == dim else n for i, n in enumerate(a.shape)))


@prim(OpTags.MAY_RAISE)
def take(a: TensorProxy, indices: TensorProxy, /, dim: int) -> TensorProxy:
    """``a`` at integer ``indices`` (any shape, negative from the end) of ``dim``; their dimensions replace it.

    Raises ``IndexError`` at run time for an index out of bounds.
    """
    check_kind(indices.dtype, "iu", "take's indices")
    check_same_device("take", a, indices)
    check(0 <= dim < a.ndim, lambda: f"dimension {dim} is not one of {a.ndim}")
    return TensorProxy(like=a, shape=(*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :]))


@prim(OpTags.MAY_RAISE)
def gather(a: TensorProxy, indices: TensorProxy, /, dim: int) -> TensorProxy:
    """``result[i][j] = a[indices[i][j]][j]`` for dim 0: NumPy's take_along_axis, torch's gather. Indices ≥ 0."""
    check_kind(indices.dtype, "iu", "gather's indices")
    check(a.ndim == indices.ndim, lambda: "gather needs indices of the array's rank")
    return TensorProxy(like=a, shape=indices.shape)


@prim(OpTags.UPDATE, OpTags.MAY_RAISE)
def scatter(a: TensorProxy, indices: TensorProxy, source: TensorProxy, /, dim: int) -> TensorProxy:
    """``a`` with ``result[indices[i][j]][j] = source[i][j]`` for dim 0 (torch's scatter). The last of equals wins."""
    check_kind(indices.dtype, "iu", "scatter's indices")
    check_same_dtype("scatter", a, source)
    return TensorProxy(like=a)


@prim(OpTags.UPDATE, OpTags.MAY_RAISE)
def scatter_add(a: TensorProxy, indices: TensorProxy, source: TensorProxy, /, dim: int) -> TensorProxy:
    """``a`` with ``result[indices[i][j]][j] += source[i][j]`` for dim 0 (torch's scatter_add)."""
    check_kind(indices.dtype, "iu", "scatter_add's indices")
    check_same_dtype("scatter_add", a, source)
    return TensorProxy(like=a)


@prim(OpTags.UPDATE, OpTags.MAY_RAISE)
def index_put(a: TensorProxy, indices: Sequence[TensorProxy], values: TensorProxy, /, accumulate: bool) -> TensorProxy:
    """``a`` with ``values`` at the positions that integer arrays of one shape give for its first dimensions.

    ``values`` has the indices' shape followed by the dimensions not indexed. With ``accumulate`` they are added,
    once for each time that a position is named; without, the last one wins.
    """
    for i in indices:
        check_kind(i.dtype, "iu", "index_put's indices")
    check_same_dtype("index_put", a, values)
    check(len(indices) <= a.ndim, lambda: f"too many indices for {a.ndim} dimensions", IndexError)
    expected = (*indices[0].shape, *a.shape[len(indices) :])
    check(
        sizes.shapes_equal(values.shape, expected),
        lambda: f"index_put needs values of shape {sizes.show(expected)}, not {sizes.show(values.shape)}",
    )
    return TensorProxy(like=a)


@prim(OpTags.UPDATE)
def slice_update(
    a: TensorProxy, b: TensorProxy, /, starts: Sequence[int], strides: Sequence[int] | None = None
) -> TensorProxy:
    """``a`` with the elements of :func:`~tnp.core.prims.shape.slice` at ``starts`` replaced by ``b``."""
    check_same_dtype("slice_update", a, b)
    check_same_device("slice_update", a, b)
    check(len(starts) == a.ndim == b.ndim, lambda: f"slice_update needs {a.ndim} starts and an update of that rank")
    steps = (1,) * a.ndim if strides is None else strides
    for n, m, start, step in zip(a.shape, b.shape, starts, steps):
        if type(n) is int and type(m) is int:
            last = start + (m - 1) * step
            check(m == 0 or 0 <= start <= last < n, lambda: f"an update of {m} from {start} does not fit into {n}")
    return TensorProxy(like=a)


@prim()
def size(a: TensorProxy, /, dim: int) -> NumberProxy:
    """The length of ``dim``, as a number of the program."""
    length = a.shape[dim]
    if isinstance(length, int):
        return NumberProxy(None, int, length)
    return size_proxy(sizes.bound_or_none(length)) if symbols.value_of(length) is None else length


@prim()
def nonzero(a: TensorProxy, /) -> tuple[TensorProxy, ...]:
    """The int64 positions of the true elements, an array a dimension, in C order. Their length is a size."""
    check_kind(a.dtype, "b", "nonzero")
    length = _count_of(a)
    return tuple(TensorProxy(like=a, shape=(length,), dtype=dtypes.int64) for _ in range(a.ndim))


def _count_of(mask: TensorProxy) -> NumberProxy:
    """How many elements are true. One mask has one count, and so have two computed alike.

    Of torch's masks it is one number: in a program that trains, arrays of one length must have one shape. In a loop it is another one each
    time, and lists that are made of NumPy's arrays have lengths of their own.
    """
    trace, name = current_trace(), f"nonzero({_text(mask)})"
    is_shared = trace is not None and not trace.open_bodies and mask.lang.name == "torch"
    known = trace.counts if trace is not None and is_shared else {}
    if name not in known:
        bound = sizes.most(mask.shape)
        count = NumberProxy(name, int, bound=bound, low=0)
        known[name] = size_proxy(bound)
        known[name].form = intervals.Linear({name: (count, 1)}, 0)
    return known[name]


#: how far back, in statements, and how deep it is looked for what a mask is computed of
_BACK, _DEEP = 64, 4


def _text(x: Any, depth: int = _DEEP) -> str:
    """How a mask is computed, as text: the same of two masks that are equal for certain."""
    trace = current_trace()
    if not isinstance(x, TensorProxy) or trace is None or depth == 0:
        return x.name if isinstance(x, Proxy) else repr(x)
    for body in reversed([trace.bound_symbols, *trace.open_bodies]):
        for b in body[: -_BACK - 1 : -1]:
            if b.output is x and OpTags.ELEMENTWISE in b.sym.tags and not b.kwargs:
                return f"{b.sym.id}({', '.join(_text(a, depth - 1) for a in b.args)})"
    return x.name


@prim()
def searchsorted(a: TensorProxy, values: TensorProxy, /, right: bool = False) -> TensorProxy:
    """Where to insert each value into the ascending 1-d ``a`` so that it stays sorted; int64."""
    check(a.ndim == 1, lambda: "searchsorted needs a 1-d sorted array")
    check_same_dtype("searchsorted", a, values)
    return TensorProxy(like=values, dtype=dtypes.int64)


@prim(OpTags.MAY_RAISE)
def index_get(a: TensorProxy, indices: Sequence[TensorProxy], /) -> TensorProxy:
    """``a`` at the positions that integer arrays of one shape give for its first dimensions.

    The result has the indices' shape followed by the dimensions not indexed. Negative indices count from the end;
    one out of bounds raises ``IndexError`` at run time.
    """
    for i in indices:
        check_kind(i.dtype, "iu", "index_get's indices")
    check(len(indices) <= a.ndim, lambda: f"too many indices for {a.ndim} dimensions", IndexError)
    return TensorProxy(like=a, shape=(*indices[0].shape, *a.shape[len(indices) :]))
