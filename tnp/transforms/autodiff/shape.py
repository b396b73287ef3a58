"""Gradients of shape operations: each moves cotangents back to the source of their elements."""

from __future__ import annotations

from functools import partial
from typing import Any

from tnp.core import clang, prims, sizes, symbols
from tnp.core.proxies import TensorProxy
from tnp.core.views import Path, Step
from tnp.transforms.autodiff.reverse import Placed, Sliced, stored_at
from tnp.transforms.autodiff.rules import of_bound_symbol, rule

__all__ = ["summed_to"]


def summed_to(g: TensorProxy, shape: sizes.Shape) -> TensorProxy:
    """``g`` summed over what broadcasting ``shape`` to its shape repeats."""
    leading = g.ndim - len(shape)
    repeated = [
        i for i, n in enumerate(g.shape)
        if i < leading or (_is_one(shape[i - leading]) and not _is_one(n))
    ]  # fmt: skip
    total = prims.sum(g, tuple(repeated)) if repeated else g
    return total if sizes.shapes_equal(total.shape, shape) else clang.reshape(total, shape)


def _is_one(n: Any) -> bool:
    return type(n) is int and n == 1


@rule(prims.broadcast_in_dim)
def _broadcast_in_dim(g: TensorProxy, out: TensorProxy, a: TensorProxy, shape: Any, dims: Any) -> Any:
    own = dict(zip(dims, a.shape))
    repeated = [d for d in range(g.ndim) if d not in own or (_is_one(own[d]) and not _is_one(g.shape[d]))]
    total = prims.sum(g, tuple(repeated)) if repeated else g
    return total if sizes.shapes_equal(total.shape, a.shape) else clang.reshape(total, a.shape)


@rule(prims.reshape, prims.squeeze)
def _reshape(g: TensorProxy, out: TensorProxy, a: TensorProxy, *rest: Any) -> Any:
    return clang.reshape(g, a.shape)


@rule(prims.transpose)
def _transpose(g: TensorProxy, out: TensorProxy, a: TensorProxy, permutation: Any) -> Any:
    return prims.transpose(g, [list(permutation).index(d) for d in range(a.ndim)])


@rule(prims.flip)
def _flip(g: TensorProxy, out: TensorProxy, a: TensorProxy, dims: Any) -> Any:
    return prims.flip(g, dims)


@rule(prims.clone, prims.stride_order)
def _clone(g: TensorProxy, out: TensorProxy, a: TensorProxy, *order: Any) -> Any:
    return g


@rule(prims.device_put)
def _device_put(g: TensorProxy, out: TensorProxy, a: TensorProxy, device: Any) -> Any:
    return prims.device_put(g, a.device)


@rule(prims.as_language)
def _as_language(g: TensorProxy, out: TensorProxy, a: TensorProxy, name: str) -> Any:
    return prims.as_language(g, a.lang.name)


@rule(prims.require)
def _require(g: TensorProxy, out: TensorProxy, a: TensorProxy, *check: Any) -> Any:
    return g


@rule(prims.copy_)
def _copy_(g: TensorProxy, out: TensorProxy, source: TensorProxy, destination: TensorProxy) -> Any:
    return g


@rule(prims.slice)
@of_bound_symbol
def _slice(reverse: Any, bsym: Any, g: TensorProxy) -> Any:
    a, starts, stops, *rest = bsym.args
    strides = rest[0] if rest else bsym.kwargs.get("strides")
    if a.ndim == 0:
        return g
    if a.name in reverse.in_place or not sizes.is_known(a.shape) or any(s != 1 for s in strides or ()):
        return Placed(Path([Step(prims.slice, (starts, stops, strides))]), g)
    return Sliced(starts, g)


@rule(prims.select)
def _select(g: TensorProxy, out: TensorProxy, a: TensorProxy, dim: int, index: Any) -> Any:
    return Placed(Path([Step(prims.select, (dim, index))]), g)


@rule(prims.dynamic_slice)
def _dynamic_slice(g: TensorProxy, out: TensorProxy, a: TensorProxy, *at: Any) -> Any:
    return Placed(Path([Step(prims.dynamic_slice, at)]), g)


@rule(prims.diagonal)
def _diagonal(g: TensorProxy, out: TensorProxy, a: TensorProxy, *at: Any) -> Any:
    return Placed(Path([Step(prims.diagonal, at)]), g)


def _slice_step(a: TensorProxy, dim: int, start: int, stop: Any, step: int) -> Step:
    """The step of a path that takes ``[start:stop:step]`` along one dimension."""
    if not sizes.is_known((*a.shape, stop)):
        return Step(prims.dynamic_slice, (dim, start, stop, step))
    starts, stops, strides = [0] * a.ndim, list(a.shape), [1] * a.ndim
    starts[dim], stops[dim], strides[dim] = start, stop, step
    return Step(prims.slice, (starts, stops, strides))


@rule(prims.unfold)
@of_bound_symbol
def _unfold(reverse: Any, bsym: Any, g: TensorProxy) -> Any:
    """Windows overlap: element ``k`` of each goes back by itself. Windows side by side of a symbolic size are a reshape."""
    a, dim, size, step = bsym.args
    if a.ndim == 0:
        return clang.reshape(g, ())
    dim %= a.ndim
    count = bsym.output.shape[dim]
    if not count:
        return None
    if symbols.is_symbol(size) and symbols.provable(size) == symbols.provable(step):
        return _side_by_side(g, a, dim)
    size, step = symbols.fixed(size), symbols.fixed(step)
    for k in range(size):
        piece = prims.select(g, g.ndim - 1, k)
        if step == 1 and sizes.is_known(a.shape):
            reverse.put_slice(a, [k if d == dim else 0 for d in range(a.ndim)], piece)
            continue
        stop = symbols.number_of((symbols.extent(count) - 1) * step + k + 1)
        reverse.put_at(a, Path([_slice_step(a, dim, k, stop, step)]), piece)
    return None


def _side_by_side(g: TensorProxy, a: TensorProxy, dim: int) -> TensorProxy:
    """What windows that neither overlap nor leave gaps, the last dimension of ``g``, give to ``a``."""
    count, size = symbols.extent(g.shape[dim]), symbols.extent(g.shape[-1])
    flat = clang.reshape(
        clang.moveaxis(g, (-1,), (dim + 1,)),
        symbols.dimensions((*a.shape[:dim], count * size, *a.shape[dim + 1 :])),
    )
    rest = symbols.extent(a.shape[dim]) - count * size
    made: TensorProxy = prims.pad(flat, 0, [(0, symbols.number_of(rest) if d == dim else 0, 0) for d in range(a.ndim)])
    return made


@rule(prims.pad)
def _pad(g: TensorProxy, out: TensorProxy, a: TensorProxy, value: Any, config: Any) -> Any:
    """What was padded is dropped; what was cut off has no cotangent."""
    inverse = prims.pad(g, 0, tuple((-low, -high, 0) for low, high, _ in config))
    strides = [interior + 1 for _, _, interior in config]
    if not all(type(s) is int for s in strides):  # a symbolic number of elements in between
        inverse = prims.slice(inverse, [0] * a.ndim, list(inverse.shape), strides)
    else:
        for d, step in enumerate(strides):
            if step != 1:
                inverse = clang.slice_dim(inverse, 0, inverse.shape[d], step, dim=d)

    def of_value() -> TensorProxy:
        inside = prims.pad(clang.full_like(a, 1), 0, config)
        made: TensorProxy = prims.sum(clang.mul(g, clang.sub(1, inside)), tuple(range(g.ndim)))
        return made

    return inverse, of_value


@rule(prims.concatenate)
def _concatenate(g: TensorProxy, out: TensorProxy, arrays: Any, dim: int) -> Any:
    pieces = []
    at: Any = 0
    for a in arrays:
        end = at + a.shape[dim]
        if type(at) is int and type(end) is int and sizes.is_known(g.shape):
            pieces.append(partial(clang.slice_dim, g, at, end, dim=dim))
        else:
            pieces.append(partial(prims.dynamic_slice, g, dim, at, end, 1))
        at = end
    return (pieces,)


@rule("core.update")
def _update(g: TensorProxy, out: TensorProxy, a: TensorProxy, value: Any, at: Any = None) -> Any:
    """What was overwritten has no cotangent; what was stored has that of where it went."""

    def of_value() -> TensorProxy:
        there = g if at is None else at(g)
        shape = value.shape if isinstance(value, TensorProxy) else ()
        while len(shape) > there.ndim:  # leading ones, which assignment drops
            shape = shape[1:]
        total = summed_to(there, shape)
        return clang.reshape(total, value.shape) if isinstance(value, TensorProxy) else total

    return None if at is None else (lambda: stored_at(g, 0, at)), of_value


@rule(prims.slice_update)
def _slice_update(
    g: TensorProxy, out: TensorProxy, a: TensorProxy, b: TensorProxy, starts: Any, strides: Any = None
) -> Any:
    steps = (1,) * a.ndim if strides is None else tuple(strides)
    return (
        lambda: prims.slice_update(g, clang.full_like(b, 0), starts, strides),
        lambda: _part(g, starts, b.shape, steps),
    )


def _part(g: TensorProxy, starts: Any, lengths: Any, steps: Any) -> TensorProxy:
    """So many elements of ``g`` along each dimension, from ``starts``, ``steps`` apart."""
    if sizes.is_known((*g.shape, *starts, *lengths)):
        stops = [s + max(0, m - 1) * k + (m > 0) for s, m, k in zip(starts, lengths, steps)]
        made: TensorProxy = prims.slice(g, starts, stops, steps)
        return made
    for d, (start, length, step) in enumerate(zip(starts, lengths, steps)):
        if not (type(start) is int and start == 0 and step == 1 and sizes.equal(length, g.shape[d])):
            first, count = symbols.extent(start), symbols.extent(length)
            g = clang.slice_dim(g, first, first + (count - 1) * step + 1, step, dim=d)
    return g
