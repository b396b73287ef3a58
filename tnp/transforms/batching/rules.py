"""Batch rules of prims: dimensions move one to the right.

Elementwise operations need none. An operation without a rule that is no composition runs in a loop over the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import clang, dtypes, intervals, prims, sizes
from tnp.core.proxies import TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol
from tnp.core.symbols import is_symbol
from tnp.transforms.batching.walk import Batched, Walk, batch_rule, batch_rules

__all__: list[str] = []


def _next(dims: Sequence[int]) -> list[int]:
    return [d + 1 for d in dims]


def _data_warning(walk: Walk, b: BoundSymbol, effect: Any, result: None, count: Any) -> None:
    """The elements of the batch warn together."""
    b.sym(effect, result, prims.sum(clang.convert(count.array, dtypes.int64), (0,)))


batch_rules["tnp.data_warning"] = _data_warning


# Shapes


@batch_rule(prims.broadcast_in_dim)
def _broadcast_in_dim(walk: Walk, b: BoundSymbol, a: Any, shape: Any, dims: Any) -> Any:
    return Batched(prims.broadcast_in_dim(a.array, (walk.length, *shape), (0, *_next(dims))))


@batch_rule(prims.reshape)
def _reshape(walk: Walk, b: BoundSymbol, a: Any, shape: Any) -> Any:
    return Batched(prims.reshape(a.array, (walk.length, *shape)))


@batch_rule(prims.transpose)
def _transpose(walk: Walk, b: BoundSymbol, a: Any, permutation: Any) -> Any:
    return Batched(prims.transpose(a.array, [0, *_next(permutation)]))


@batch_rule(prims.slice)
def _slice(walk: Walk, b: BoundSymbol, a: Any, starts: Any, stops: Any, strides: Any = None) -> Any:
    first = a.array.shape[0]
    if type(first) is not int:
        made = a.array
        for dim, (start, stop) in enumerate(zip(starts, stops), 1):
            made = prims.dynamic_slice(made, dim, start, stop, 1 if strides is None else strides[dim - 1])
        return Batched(made)
    return Batched(prims.slice(a.array, [0, *starts], [first, *stops], None if strides is None else [1, *strides]))


@batch_rule(prims.dynamic_slice)
def _dynamic_slice(walk: Walk, b: BoundSymbol, a: Any, dim: int, start: Any, stop: Any, step: int = 1) -> Any:
    if isinstance(start, Batched) or isinstance(stop, Batched):
        width = b.output.shape[dim]
        if isinstance(a, Batched) or not isinstance(start, Batched) or not (type(width) is int or is_symbol(width)):
            return walk.one_by_one(b)
        # Windows of one length end before the array does.
        return Batched(clang.moveaxis(prims.take(a, _windows(walk, start.array, width, step), dim), (dim,), (0,)))
    return Batched(prims.dynamic_slice(a.array, dim + 1, start, stop, step))


def _windows(walk: Walk, starts: TensorProxy, width: Any, step: int) -> TensorProxy:
    """The positions in windows, a row each."""
    shape = (walk.length, width)
    within = prims.mul(prims.iota(width, device=starts.device, dtype=dtypes.int64), step)
    made: TensorProxy = prims.add(
        prims.broadcast_in_dim(starts, shape, (0,)), prims.broadcast_in_dim(within, shape, (1,))
    )
    return made


@batch_rule(prims.squeeze, prims.flip)
def _dims(walk: Walk, b: BoundSymbol, a: Any, dims: Any) -> Any:
    return Batched(b.sym(a.array, _next(dims)))


@batch_rule(prims.diagonal)
def _diagonal(walk: Walk, b: BoundSymbol, a: Any, offset: int, dim1: int, dim2: int) -> Any:
    return Batched(prims.diagonal(a.array, offset, dim1 + 1, dim2 + 1))


@batch_rule(prims.unfold)
def _unfold(walk: Walk, b: BoundSymbol, a: Any, dim: int, size: int, step: int) -> Any:
    return Batched(prims.unfold(a.array, dim % b.args[0].ndim + 1, size, step))


@batch_rule(prims.clone, prims.real, prims.imag, prims.cholesky, prims.inv, prims.det, prims.slogdet, prims.frexp)
def _same(walk: Walk, b: BoundSymbol, a: Any) -> Any:
    found = b.sym(a.array)
    return tuple(map(Batched, found)) if isinstance(found, tuple) else Batched(found)


@batch_rule(prims.bitcast, prims.device_put, prims.qr, prims.svd, prims.eigh, prims.eig, prims.eigvals)
def _with_option(walk: Walk, b: BoundSymbol, a: Any, *options: Any) -> Any:
    found = b.sym(a.array, *options)
    return tuple(map(Batched, found)) if isinstance(found, tuple) else Batched(found)


@batch_rule(prims.stride_order)
def _stride_order(walk: Walk, b: BoundSymbol, a: Any, order: Any = None) -> Any:
    return Batched(prims.stride_order(a.array, None if order is None else [len(order), *order]))


@batch_rule(prims.require)
def _require(walk: Walk, b: BoundSymbol, a: Any, condition: Any, *rest: Any) -> Any:
    return Batched(prims.require(walk.array(a), walk.array(condition), *rest))


@batch_rule(prims.pad)
def _pad(walk: Walk, b: BoundSymbol, a: Any, value: Any, config: Any) -> Any:
    if isinstance(value, Batched):
        return walk.one_by_one(b)
    return Batched(prims.pad(a.array, value, ((0, 0, 0), *config)))


@batch_rule(prims.concatenate)
def _concatenate(walk: Walk, b: BoundSymbol, arrays: Any, dim: int) -> Any:
    return Batched(prims.concatenate([walk.array(a) for a in arrays], dim + 1))


@batch_rule(prims.full)
def _full(walk: Walk, b: BoundSymbol, shape: Any, value: Any, *, device: Any, dtype: Any) -> Any:
    return Batched(prims.broadcast_in_dim(clang.convert(value.array, dtype), (walk.length, *shape), (0,)))


# Numbers and elements


@batch_rule(prims.size)
def _size(walk: Walk, b: BoundSymbol, a: Any, dim: int) -> Any:
    return prims.size(a.array, dim % b.args[0].ndim + 1)


@batch_rule(prims.item)
def _item(walk: Walk, b: BoundSymbol, a: Any) -> Any:
    return Batched(clang.reshape(a.array, (walk.length,)))


@batch_rule(prims.convert_element_type)
def _convert(walk: Walk, b: BoundSymbol, a: Any, dtype: Any) -> Any:
    return Batched(clang.convert(a.array, dtype))


# Reductions


@batch_rule(*(prims.registry[row.name] for row in REDUCTIONS), prims.var)
def _reduce(walk: Walk, b: BoundSymbol, a: Any, dims: Any, **options: Any) -> Any:
    return Batched(b.sym(a.array, _next(dims), **options))


@batch_rule(
    *(prims.registry[row.scan] for row in REDUCTIONS if row.scan),
    prims.argmax,
    prims.argmin,
    prims.sort,
    prims.argsort,
    prims.rfft,
)
def _along(walk: Walk, b: BoundSymbol, a: Any, dim: int, **options: Any) -> Any:
    return Batched(b.sym(a.array, dim + 1, **options))


@batch_rule(prims.topk)
def _topk(walk: Walk, b: BoundSymbol, a: Any, k: int, dim: int, *options: Any) -> Any:
    return tuple(map(Batched, prims.topk(a.array, k, dim + 1, *options)))


@batch_rule(prims.fft)
def _fft(walk: Walk, b: BoundSymbol, a: Any, dims: Any, inverse: bool = False) -> Any:
    return Batched(prims.fft(a.array, tuple(_next(dims)), inverse))


@batch_rule(prims.irfft)
def _irfft(walk: Walk, b: BoundSymbol, a: Any, dim: int, length: int) -> Any:
    return Batched(prims.irfft(a.array, dim + 1, length))


# Linear algebra: leading dimensions are batches already


@batch_rule(prims.matmul, prims.solve, prims.triangular_solve)
def _matrices(walk: Walk, b: BoundSymbol, x: Any, y: Any, **options: Any) -> Any:
    return Batched(b.sym(walk.array(x), walk.array(y), **options))


# Indexing


def _rows(walk: Walk, like: TensorProxy) -> TensorProxy:
    """The number of the batch's element at each element of a batched array."""
    rows = prims.iota(walk.length, device=like.device, dtype=dtypes.int64)
    made: TensorProxy = prims.broadcast_in_dim(rows, like.shape, (0,))
    return made


@batch_rule(prims.select)
def _select(walk: Walk, b: BoundSymbol, a: Any, dim: int, index: Any) -> Any:
    if not isinstance(index, Batched):
        return Batched(prims.select(a.array, dim + 1, index))
    if not isinstance(a, Batched):
        taken = _range_of(walk, a, dim, index)
        return Batched(clang.moveaxis(prims.take(a, index.array, dim) if taken is None else taken, (dim,), (0,)))
    order = [0, dim + 1, *(d for d in range(1, a.array.ndim) if d != dim + 1)]
    return Batched(prims.index_get(prims.transpose(a.array, order), [_rows(walk, index.array), index.array]))


def _range_of(walk: Walk, a: TensorProxy, dim: int, index: Batched) -> TensorProxy | None:
    """The elements that ``index`` counts along ``dim``, as a view, if it surely stays within the array."""
    if index.bounds is None:
        return None
    start, stop, step = index.bounds
    room = intervals.linear(a.shape[dim]).plus(intervals.linear(stop), -1).interval()[0]
    if type(step) is not int or room is None or room < 0:
        return None
    view: TensorProxy = prims.dynamic_slice(a, dim, start, stop, step)
    return view if sizes.equal(view.shape[dim], walk.length) is True else None


@batch_rule(prims.take)
def _take(walk: Walk, b: BoundSymbol, a: Any, indices: Any, dim: int) -> Any:
    if not isinstance(indices, Batched):
        return Batched(prims.take(a.array, indices, dim + 1))
    places = indices.array
    rank = places.ndim - 1
    if not isinstance(a, Batched):
        taken = prims.take(a, places, dim)
        return Batched(clang.moveaxis(taken, (dim,), (0,)))
    order = [0, dim + 1, *(d for d in range(1, a.array.ndim) if d != dim + 1)]
    taken = prims.index_get(prims.transpose(a.array, order), [_rows(walk, places), places])
    return Batched(clang.moveaxis(taken, range(1, 1 + rank), range(1 + dim, 1 + dim + rank)))


@batch_rule(prims.index_get)
def _index_get(walk: Walk, b: BoundSymbol, a: Any, indices: Any) -> Any:
    if not isinstance(a, Batched):
        return Batched(prims.index_get(a, [walk.array(i) for i in indices]))
    arrays = [walk.array(i) for i in indices]
    return Batched(prims.index_get(a.array, [_rows(walk, arrays[0]), *arrays]))


@batch_rule(prims.index_put)
def _index_put(walk: Walk, b: BoundSymbol, a: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    arrays = [walk.array(i) for i in indices]
    return Batched(prims.index_put(walk.array(a), [_rows(walk, arrays[0]), *arrays], walk.array(values), accumulate))


@batch_rule(prims.gather)
def _gather(walk: Walk, b: BoundSymbol, a: Any, indices: Any, dim: int) -> Any:
    return Batched(prims.gather(walk.array(a), walk.array(indices), dim + 1))


@batch_rule(prims.scatter, prims.scatter_add)
def _scatter(walk: Walk, b: BoundSymbol, a: Any, indices: Any, source: Any, dim: int) -> Any:
    return Batched(b.sym(walk.array(a), walk.array(indices), walk.array(source), dim + 1))


@batch_rule(prims.slice_update)
def _slice_update(walk: Walk, b: BoundSymbol, a: Any, new: Any, starts: Any, strides: Any = None) -> Any:
    steps = None if strides is None else [1, *strides]
    return Batched(prims.slice_update(walk.array(a), walk.array(new), [0, *starts], steps))
