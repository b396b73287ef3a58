"""Gradients of reads and writes at run-time positions: the cotangents of a read are added at the positions read."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.proxies import TensorProxy
from tnp.transforms.autodiff.rules import of_bound_symbol, rule

__all__: list[str] = []


@rule(prims.take)
def _take(g: TensorProxy, out: TensorProxy, a: TensorProxy, indices: TensorProxy, dim: int) -> Any:
    order = [dim, *(d for d in range(a.ndim) if d != dim)]
    rank = indices.ndim
    places = list(range(dim, dim + rank))
    front = clang.transpose(g, [*places, *(d for d in range(g.ndim) if d not in places)])
    zeros = clang.full(tuple(a.shape[d] for d in order), 0, dtype=a.dtype, device=a.device)
    total = prims.index_put(zeros, [indices], front, True)
    return clang.transpose(total, [order.index(d) for d in range(a.ndim)])


@rule(prims.index_get)
def _index_get(g: TensorProxy, out: TensorProxy, a: TensorProxy, indices: Any) -> Any:
    return prims.index_put(clang.full_like(a, 0), list(indices), g, True)


@rule(prims.gather)
def _gather(g: TensorProxy, out: TensorProxy, a: TensorProxy, indices: TensorProxy, dim: int) -> Any:
    return prims.scatter_add(clang.full_like(a, 0), indices, g, dim)


@rule(prims.scatter_add)
def _scatter_add(
    g: TensorProxy, out: TensorProxy, a: TensorProxy, indices: TensorProxy, source: TensorProxy, dim: int
) -> Any:
    return g, None, lambda: _cut(prims.gather(g, indices, dim), source)


@rule(prims.scatter)
def _scatter(
    g: TensorProxy, out: TensorProxy, a: TensorProxy, indices: TensorProxy, source: TensorProxy, dim: int
) -> Any:
    """Of several stores to one place the last one counts: it is found by storing their numbers."""

    def of_source() -> TensorProxy:
        winners = prims.gather(prims.scatter(_numbers(a, -1), indices, _numbers(source), dim), indices, dim)
        return clang.where(clang.eq(winners, _numbers(source)), prims.gather(g, indices, dim), 0)

    return lambda: prims.scatter(g, indices, clang.full_like(source, 0), dim), None, of_source


def _cut(g: TensorProxy, source: TensorProxy) -> TensorProxy:
    return g if sizes.shapes_equal(g.shape, source.shape) else clang.reshape(g, source.shape)


def _numbers(a: TensorProxy, constant: int | None = None) -> TensorProxy:
    """The elements of an array of the shape of ``a`` numbered in C order, in int64."""
    if constant is not None:
        return clang.full_like(a, constant, dtype=dtypes.int64)
    return clang.reshape(prims.iota(a.numel, device=a.device, dtype=dtypes.int64), a.shape)


@rule(prims.index_put)
@of_bound_symbol
def _index_put(reverse: Any, bsym: Any, g: TensorProxy) -> Any:
    a, indices, values, accumulate = bsym.args
    if accumulate:
        return g, None, lambda: prims.index_get(g, list(indices))

    def of_values() -> TensorProxy:
        """Of several stores to one place the last one counts."""
        found = prims.index_get(g, list(indices))
        if reverse.are_distinct(indices):
            made: TensorProxy = found
            return made
        order = _numbers(indices[0])
        blank = clang.full(a.shape[: len(indices)], -1, dtype=order.dtype, device=a.device)
        places = prims.index_put(blank, list(indices), order, False)
        wins = clang.eq(prims.index_get(places, list(indices)), order)
        wins = clang.broadcast_to(clang.expand_dims(wins, range(wins.ndim, values.ndim)), values.shape)
        return clang.where(wins, found, 0)

    return lambda: prims.index_put(g, list(indices), clang.full_like(values, 0), False), None, of_values
