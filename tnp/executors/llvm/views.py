"""Lowering of prims that only rearrange elements to views: functions from position to position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import symbols
from tnp.core.proxies import TensorProxy
from tnp.core.slice_bounds import slice_bounds
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import view_maps
from tnp.executors.llvm.graph import Indices, Lowering, Node, Refused, rule
from tnp.executors.llvm.index import Index

__all__ = ["only_ones_differ"]


@rule("broadcast_in_dim")
def _broadcast(lowering: Lowering, output: TensorProxy, a: Node, shape: Any, dims: Any) -> Node:
    if tuple(output.shape) == a.shape:
        return a
    own = {d: n for n, d in zip(a.shape, dims)}
    return lowering.view(
        a, output.shape, view_maps.broadcast([n == 1 for n in a.shape], dims),
        repeats=any(n != 1 and own.get(d, 1) == 1 for d, n in enumerate(output.shape)), whole=True,
    )  # fmt: skip


@rule("transpose")
def _transpose(lowering: Lowering, output: TensorProxy, a: Node, permutation: Any) -> Node:
    return lowering.view(a, output.shape, view_maps.transposed(permutation), whole=True)


@rule("squeeze")
def _squeeze(lowering: Lowering, output: TensorProxy, a: Node, dims: Any) -> Node:
    return lowering.view(a, output.shape, view_maps.squeezed(dims, len(a.shape)), whole=True)


@rule("slice")
def _slice(lowering: Lowering, output: TensorProxy, a: Node, starts: Any, stops: Any, strides: Any = None) -> Node:
    steps = [1] * len(starts) if strides is None else list(strides)
    return lowering.view(a, output.shape, view_maps.sliced(starts, steps))


def _has_bounds(b: BoundSymbol) -> bool:
    """Whether it is known where a slice begins: bounds that are symbols are sizes of a kernel for any size alone."""
    a, dim, *bounds = b.args
    is_symbolic = any(type(n) is not int for n in (*a.shape, *b.output.shape))
    plain = all(x is None or type(x) is int for x in bounds)
    return (is_symbolic or plain) and slice_bounds(a.shape[dim], *bounds[:2], *(bounds[2:] or [1])) is not None


@rule("dynamic_slice", checker=_has_bounds)
def _dynamic_slice(
    lowering: Lowering, output: TensorProxy, a: Node, dim: int, start: Any, stop: Any, step: int = 1
) -> Node:
    found = slice_bounds(*map(symbols.number_of, (a.shape[dim], start, stop)), step)
    if found is None:
        raise Refused("a slice whose bounds are known only when the program runs")
    first = symbols.provable(found[0])
    return lowering.view(
        a, output.shape, lambda at: tuple(i * step + Index(first) if d == dim else i for d, i in enumerate(at))
    )


@rule("flip")
def _flip(lowering: Lowering, output: TensorProxy, a: Node, dims: Any) -> Node:
    return lowering.view(a, output.shape, view_maps.flipped(dims, a.shape), whole=True)


@rule("select", checker=lambda b: type(b.args[2]) is int)
def _select(lowering: Lowering, output: TensorProxy, a: Node, dim: int, index: int) -> Node:
    return lowering.view(a, output.shape, view_maps.selected(dim, index if index >= 0 else a.shape[dim] + index))


@rule("diagonal")
def _diagonal(lowering: Lowering, output: TensorProxy, a: Node, offset: int, dim1: int, dim2: int) -> Node:
    return lowering.view(a, output.shape, view_maps.diagonal(offset, dim1, dim2, len(a.shape)))


@rule("as_language")
def _as_language(lowering: Lowering, output: TensorProxy, a: Node, name: str) -> Node:
    return a


@rule("unfold", checker=lambda b: b.args[0].ndim > 0)
def _unfold(lowering: Lowering, output: TensorProxy, a: Node, dim: int, size: int, step: int) -> Node:
    return lowering.view(a, output.shape, view_maps.unfolded(dim % len(a.shape), step), repeats=True)


@rule("reshape")
def _reshape(lowering: Lowering, output: TensorProxy, a: Node, shape: Any) -> Node:
    if tuple(output.shape) == a.shape:
        return a
    if any(isinstance(n, symbols.Extent) for n in (*output.shape, *a.shape)):
        return _with_ones(lowering, output, a)
    groups = _reshape_groups(output.shape, a.shape)

    def where(at: Indices) -> Indices:
        result: list[Index] = []
        for new, old in groups:
            flat = Index()
            for d in new:
                flat = flat * output.shape[d] + at[d]
            parts: list[Index] = []
            for n in reversed([a.shape[d] for d in old[1:]]):
                flat, rest = flat.divide(n)
                parts.append(rest)
            if old:
                result += [flat, *reversed(parts)]
        return tuple(result)

    return lowering.view(a, output.shape, where, whole=True)


def only_ones_differ(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are surely the same but for dimensions of 1."""
    first, second = ([n for n in shape if n != 1] for shape in (a, b))
    return len(first) == len(second) and all(n == m for n, m in zip(first, second))


def _with_ones(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    """A reshape of symbolic sizes that inserts or drops dimensions of 1. Raises :class:`Refused` for any other."""
    if not only_ones_differ(a.shape, output.shape):
        raise Refused("a reshape of symbolic sizes")
    kept = [d for d, n in enumerate(a.shape) if n != 1]
    wanted = [d for d, n in enumerate(output.shape) if n != 1]
    where = view_maps.with_ones(dict(zip(kept, wanted)), len(a.shape))
    return lowering.view(a, output.shape, where, whole=True)


def _reshape_groups(new: Sequence[int], old: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Runs of dimensions of the two shapes that hold as many elements, as short as they can be."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(new) or j < len(old):
        left, right = [], []
        n = m = 1
        if i < len(new):
            left.append(i)
            n *= new[i]
            i += 1
        if j < len(old):
            right.append(j)
            m *= old[j]
            j += 1
        while n != m:
            if n < m:
                left.append(i)
                n *= new[i]
                i += 1
            else:
                right.append(j)
                m *= old[j]
                j += 1
        groups.append((left, right))
    return groups
