"""Gradients of reductions, scans and sorting."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.proxies import Proxy, TensorProxy
from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.rules import get_grad, put_grad, register_grad, rule

__all__: list[str] = []


def spread(g: TensorProxy, a: TensorProxy, dims: Any) -> TensorProxy:
    """The result of a reduction of ``a`` along ``dims`` repeated to its shape."""
    made: TensorProxy = prims.broadcast_in_dim(g, a.shape, [d for d in range(a.ndim) if d not in dims])
    return made


@rule(prims.sum)
def _sum(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any) -> Any:
    return spread(g, a, dims)


@rule(prims.amax, prims.amin)
def _extreme(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any) -> Any:
    """Equals share evenly."""
    chosen = clang.convert(clang.eq(a, spread(out, a, dims)), a.dtype)
    count = spread(prims.sum(chosen, dims), a, dims)
    return times(spread(g, a, dims), clang.div(chosen, count))


@rule(prims.var)
def _var(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any, *, correction: Any) -> Any:
    count = sizes.product([a.shape[d] for d in dims])
    if isinstance(count, int) and count == 1:
        return None  # of one element it is constant
    mean = spread(clang.div(prims.sum(a, dims), count), a, dims)
    scale = clang.div(clang.mul(g, 2), _less(count, correction))
    # The cotangent of a standard deviation of 0 is infinite, and no element is away from the mean.
    scale = clang.where(clang.bitwise_and(clang.eq(out, 0), clang.isinf(scale)), 0, scale)
    if a.dtype.kind == "c":
        scale = clang.convert(scale, a.dtype)
    return clang.mul(spread(scale, a, dims), clang.sub(a, mean))


def _less(count: sizes.Dim, correction: Any) -> Any:
    """``count - correction``, a Python number where both are."""
    return (
        clang.sub(count, correction)
        if isinstance(count, Proxy) or isinstance(correction, Proxy)
        else count - correction
    )


# Products: no division, so that zeros among the factors are as good as any


def _line_up(a: TensorProxy, dims: Any) -> tuple[TensorProxy, list[int]]:
    """``a`` with ``dims`` as one last dimension, and the order in which its dimensions were."""
    order = [*(d for d in range(a.ndim) if d not in dims), *dims]
    moved = clang.transpose(a, order)
    kept = moved.shape[: a.ndim - len(dims)]
    return clang.reshape(moved, (*kept, sizes.product([a.shape[d] for d in dims]))), order


def _shifted(a: TensorProxy, by: int, fill: float) -> TensorProxy:
    """``a`` moved by some places along its last dimension, ``fill`` moving in."""
    config = [(0, 0, 0)] * (a.ndim - 1) + [(by, -by, 0)]
    made: TensorProxy = prims.pad(a, fill, tuple(config))
    return made


def _backwards(a: TensorProxy) -> TensorProxy:
    made: TensorProxy = prims.flip(a, (a.ndim - 1,))
    return made


@rule(prims.prod)
def _prod(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any) -> Any:
    """The product of those before times the product of those behind."""
    if not dims:
        return g
    line, order = _line_up(a, dims)
    last = line.ndim - 1
    if line.shape[last] == 0:
        return None
    before = _shifted(prims.cumprod(line, last), 1, 1)
    behind = _backwards(_shifted(prims.cumprod(_backwards(line), last), 1, 1))
    others = clang.mul(before, behind)
    others = clang.conj(others) if a.dtype.kind == "c" else others
    found = clang.mul(prims.broadcast_in_dim(g, line.shape, tuple(range(last))), others)
    found = clang.reshape(found, tuple(a.shape[d] for d in order))
    return clang.transpose(found, [order.index(d) for d in range(a.ndim)])


@rule(prims.cumsum)
def _cumsum(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int) -> Any:
    return prims.flip(prims.cumsum(prims.flip(g, (dim,)), dim), (dim,))


@rule(prims.cumprod)
def _cumprod(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int) -> Any:
    """``before[i] * s[i]`` where ``s[i] = g[i] + a[i + 1] * s[i + 1]``, the recurrence solved by doubling (Hillis and Steele, Data
    parallel algorithms, 1986): after k steps ``s`` has the terms of the next 2ᵏ elements."""
    line, order = _line_up(a, (dim,))
    last = line.ndim - 1
    (length,) = sizes.concrete(line.shape[last:], "the gradient of cumprod")
    before = _shifted(prims.cumprod(line, last), 1, 1)
    line = clang.conj(line) if a.dtype.kind == "c" else line
    before = clang.conj(before) if a.dtype.kind == "c" else before
    s, _ = _line_up(g, (dim,))
    factor = _shifted(line, -1, 0)
    step = 1
    while step < length:
        s = clang.add(s, clang.mul(factor, _shifted(s, -step, 0)))
        factor = clang.mul(factor, _shifted(factor, -step, 0))
        step *= 2
    found = clang.mul(before, s)
    return clang.transpose(found, [order.index(d) for d in range(a.ndim)])


@rule(prims.cummax, prims.cummin)
def _running_extreme(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int) -> Any:
    """To the last element so far that is the extreme."""
    if a.ndim == 0:
        return g
    (length,) = sizes.concrete(a.shape[dim : dim + 1], "the gradient of a running extreme")
    at = prims.iota(length, device=a.device, dtype=dtypes.int64)
    at = prims.broadcast_in_dim(at, a.shape, (dim,))
    found = prims.cummax(clang.where(clang.eq(a, out), at, 0), dim)
    return prims.scatter_add(clang.full_like(a, 0), found, g, dim)


# Order


def _spread_ranks(g: TensorProxy, indices: TensorProxy, dim: int) -> TensorProxy:
    made: TensorProxy = prims.scatter(clang.full_like(g, 0), indices, g, dim)
    return made


@rule(prims.sort)
def _sort(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int, **how: Any) -> Any:
    return _spread_ranks(g, prims.argsort(a, dim, **how), dim)


def _topk(a: TensorProxy, /, k: int, dim: int, largest: bool = True, sorted: bool = True) -> Any:
    fwd = prims.topk(a, k, dim, largest, sorted)
    val, idx = fwd
    val_grad = get_grad(val)
    put_grad(a, prims.scatter_add(clang.full_like(a, 0), idx, val_grad, dim))
    return fwd


register_grad(prims.topk, _topk)
