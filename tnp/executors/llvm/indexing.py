"""Lowering of prims that write to parts of arrays, and of prims whose positions are run-time values.

An element of an array of indices is an atom of index arithmetic, a :class:`~tnp.executors.llvm.index.Lookup`, so
gathers are views like any other, and scatters are updates of such views. Known indices (``np.arange(n)``, the 0 of
``x[i, 0]``) are plain positions, which never coincide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import dtypes, symbols
from tnp.core.proxies import TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars
from tnp.executors.llvm.graph import (
    Indices,
    Lowering,
    Node,
    Positions,
    Update,
    View,
    first_version,
    origin,
    places_of,
    rule,
    variables,
)
from tnp.executors.llvm.index import Index, Lookup
from tnp.executors.llvm.rotations import rotation

__all__ = ["lookup"]

Where = Callable[[Indices], Indices]

#: arrays that are put together in a region: each is a loop of its own, and loops are compared with each other
MOST_PARTS = 32


# Arrays put together: each part is written to its place


def _part(lowering: Lowering, shape: Sequence[int], where: Where) -> Callable[[Node], Node]:
    """The view of an array that an update writes to."""
    return lambda a: lowering.view(a, shape, where)


@rule("pad", checker=lambda b: is_number(b.args[1]))
def _pad(lowering: Lowering, output: TensorProxy, a: Node, value: Any, config: Any) -> Node:
    filled = lowering.make("full", output.shape, output.dtype, (value,))
    starts, counts, places = [], [], []
    for n, length, (low, _, interior) in zip(a.shape, output.shape, config):
        step = interior + 1
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(n - 1, (length - 1 - low) // step)
        starts.append(first)
        counts.append(last - first + 1)
        places.append((low + first * step, step))
    if any(c <= 0 for c in counts):
        return filled
    inside = lowering.view(a, counts, lambda at: tuple(i + s for i, s in zip(at, starts)))
    target = _part(lowering, counts, lambda at: tuple(i * s + f for i, (f, s) in zip(at, places)))
    return lowering.update(filled, inside, target)


def _has_places(b: BoundSymbol) -> bool:
    """Whether the arrays are few, and it is known where each begins."""
    arrays, dim = b.args[0], b.args[1]
    return len(arrays) <= MOST_PARTS and all(symbols.value_of(a.shape[dim]) is not None for a in arrays)


@rule("concatenate", checker=_has_places)
def _concatenate(lowering: Lowering, output: TensorProxy, arrays: Any, dim: int) -> Node:
    lowering.position += 1
    round_ = rotation(arrays, output.shape, dim, lowering.position)
    if round_ is not None:
        return lowering.graph.add(round_)
    made = lowering.make("empty", output.shape, output.dtype)
    start: Any = 0
    for a in arrays:
        made = lowering.update(made, a, _part(lowering, a.shape, _shifted(dim, start)))
        start = symbols.compute("add", *map(symbols.number_of, (start, a.shape[dim])))
    return made


def _shifted(dim: int, start: Any) -> Where:
    first = Index(symbols.provable(start))
    return lambda at: tuple(i + first if d == dim else i for d, i in enumerate(at))


@rule("slice_update")
def _slice_update(lowering: Lowering, output: TensorProxy, a: Node, b: Node, starts: Any, strides: Any = None) -> Node:
    steps = [1] * len(starts) if strides is None else list(strides)

    def where(at: Indices) -> Indices:
        return tuple(i * s + f for i, s, f in zip(at, steps, starts))

    root, chain = places_of(a)
    written = _already_written(root, chain, b, where)
    if written is not None:
        return lowering.through(chain, written)
    return lowering.update(a, b, _part(lowering, b.shape, where))


def _already_written(root: Node, chain: Sequence[View], part: Node, where: Where) -> Node | None:
    """The version of ``root`` that differs from it only where ``part``, its own view of those elements, says.

    There is one after a scatter to a slice (``x[1:][i] = v``): the slice was written in its place.
    """
    at = variables(part.shape)
    found, place = origin(part, at)
    wanted = where(at)
    for step in chain:
        wanted = step.where(wanted)
    if place != wanted or first_version(found) is not first_version(root):
        return None
    version = found
    while version is not root:
        if not isinstance(version, Update) or not _goes_through(version, at, place):
            return None
        version = version.base
    return found


def _goes_through(update: Update, at: Indices, place: Indices) -> bool:
    """Whether the target of an update is a view of the elements at ``place``, where ``at`` goes through them all.

    Dimensions of 1 make no difference: ``x[1:, 0] = v`` is written by way of a slice with one more.
    """
    shape = [i.range()[1] + 1 for i in at]
    own = [i for i, n in zip(at, shape) if n != 1]
    lengths = [n for n in shape if n != 1]
    node = update.target
    while isinstance(node, View):
        if [n for n in node.shape if n != 1] == lengths:
            rest = iter(own)
            if origin(node, tuple(Index() if n == 1 else next(rest) for n in node.shape))[1] == place:
                return True
        node = node.source
    return False


# Positions that are values


def lookup(indices: Node, at: Indices, length: int) -> Index:
    """The element of an array of indices at ``at``, as a position along a dimension of that length."""
    known = _known(indices, at)
    if known is not None and _fits(known, -length, length):
        if _fits(known, 0, length):
            return known
        if _fits(known, -length, 0):
            return known + length
    return Index.of(Lookup(indices, at, length)) if length > 1 else Index()


def _known(indices: Node, at: Indices) -> Index | None:
    """An element of an array of indices as an expression in its position, if it is one."""
    node, place = origin(indices, at)
    if node.op == "convert_element_type" and node.sources:
        found = _known(node.sources[0], place)
    elif node.op == "iota" and all(type(x) is int for x in node.args):
        start, step = node.args
        found = place[0] * step + start
    elif node.op == "full" and type(node.args[0]) is int:
        found = Index(node.args[0])
    else:
        return None
    bits = node.dtype.bits - (node.dtype.kind == "i")
    lowest = -(2**bits) if node.dtype.kind == "i" else 0
    return found if found is not None and node.dtype.kind in "iu" and _fits(found, lowest, 2**bits) else None


def _fits(index: Index, lowest: Any, limit: Any) -> bool:
    """Whether an index surely lies between two sizes."""
    try:
        low, high = index.range()
        return low >= lowest and high < limit
    except symbols.Undecided:
        return False


def _interval(x: Any, depth: int = 8) -> tuple[float, float]:
    """Between what the elements of an array of integers lie, as far as ``np.minimum`` and its like tell."""
    if type(x) is int:
        return x, x
    if not isinstance(x, Node) or not depth:
        return -math.inf, math.inf
    if x.dtype.kind == "b":
        return 0, 1
    bounds = [_interval(a, depth - 1) for a in x.args] if x.op in _BOUNDED and x.dtype.kind in "iu" else []
    match x.op, bounds:
        case "minimum", [(a, b), (c, d)]:
            return min(a, c), min(b, d)
        case "maximum", [(a, b), (c, d)]:
            return max(a, c), max(b, d)
        case "add", [(a, b), (c, d)]:
            found = a + c, b + d
        case "sub", [(a, b), (c, d)]:
            found = a - d, b - c
        case "view" | "full" | "convert_element_type", [(a, b), *_]:
            found = a, b
        case _:
            return -math.inf, math.inf
    # What may not fit the dtype may be any number.
    bits = x.dtype.bits - (x.dtype.kind == "i")
    fits = found[0] >= (-(2**bits) if x.dtype.kind == "i" else 0) and found[1] < 2**bits
    return found if fits else (-math.inf, math.inf)


_BOUNDED = frozenset(("minimum", "maximum", "add", "sub", "view", "full", "convert_element_type"))


def _check_bounds(lowering: Lowering, indices: Node, length: int, *, lowest: int) -> None:
    """Makes the kernel refuse indices that are not from ``lowest``, which is 0 or less, to below ``length``."""
    while isinstance(indices, View) and indices.whole:
        indices = indices.source
    counted = indices.sources[0] if indices.op == "copy" else indices
    if isinstance(counted, Positions) and counted.sources[0].shape[0] == length:
        return
    known = _known(indices, variables(indices.shape))
    if (known is not None and _fits(known, lowest, length)) or (indices, length, lowest) in lowering.checked:
        return
    low, high = _interval(indices)
    if (
        math.isfinite(low)
        and math.isfinite(high)
        and _fits(Index(int(low)), lowest, length)
        and _fits(Index(int(high)), lowest, length)
    ):
        return
    lowering.checked.add((indices, length, lowest))
    shape, dtype = indices.shape, indices.dtype
    if dtype.kind == "u":
        if _fits(Index(2**dtype.bits - 1), 0, length):
            return
        wide = dtype.bits < 64 and not isinstance(length, int)  # the dtype may not hold a length that varies
        counted = lowering.make("convert_element_type", shape, dtypes.uint64, (indices,)) if wide else indices
    else:  # as unsigned numbers from the lowest on, so that one comparison does
        wide = lowering.make("convert_element_type", shape, dtypes.int64, (indices,)) if dtype.bits < 64 else indices
        from_lowest = lowering.make("sub", shape, dtypes.int64, (wide, lowest)) if lowest else wide
        counted = lowering.make("bitcast", shape, dtypes.uint64, (from_lowest,))
        length -= lowest
    wrong = lowering.make("ge", shape, dtypes.bool8, (counted, length))
    lowering.refuse(wrong)


@rule("nonzero", checker=lambda b: b.args[0].ndim == 1)
def _nonzero(lowering: Lowering, output: TensorProxy, mask: Node) -> Node:
    """What is written has room behind its end: a result is a copy."""
    if mask not in lowering.positions:
        lowering.position += 1
        lowering.positions[mask] = lowering.graph.add(Positions(output.shape, mask, position=lowering.position))
    return lowering.make("copy", output.shape, output.dtype, (lowering.positions[mask],))


@rule("take")
def _take(lowering: Lowering, output: TensorProxy, a: Node, indices: Node, dim: int) -> Node:
    length, rank = a.shape[dim], len(indices.shape)
    _check_bounds(lowering, indices, length, lowest=-length)
    return lowering.view(
        a, output.shape, lambda at: (*at[:dim], lookup(indices, at[dim : dim + rank], length), *at[dim + rank :]), [indices]
    )  # fmt: skip


def _along(indices: Node, dim: int, length: int) -> Where:
    """Positions of which only that along ``dim`` is looked up."""
    return lambda at: (*at[:dim], lookup(indices, at, length), *at[dim + 1 :])


def _at_all(indices: Sequence[Node], lengths: Sequence[int]) -> Where:
    """Positions of which the first are looked up in an array each, all at one place."""
    rank = len(indices[0].shape)
    return lambda at: (*(lookup(i, at[:rank], n) for i, n in zip(indices, lengths)), *at[rank:])


@rule("gather")
def _gather(lowering: Lowering, output: TensorProxy, a: Node, indices: Node, dim: int) -> Node:
    _check_bounds(lowering, indices, a.shape[dim], lowest=0)
    return lowering.view(a, output.shape, _along(indices, dim, a.shape[dim]), [indices])


@rule("index_get")
def _index_get(lowering: Lowering, output: TensorProxy, a: Node, indices: Any) -> Node:
    for i, n in zip(indices, a.shape):
        _check_bounds(lowering, i, n, lowest=-n)
    return lowering.view(a, output.shape, _at_all(indices, a.shape), indices)


# Scatters


def _scatter_to(
    lowering: Lowering, a: Node, value: Node, where: Callable[[Sequence[Node]], Where], indices: Sequence[Node], *,
    accumulates: bool, ordered_by: Sequence[Node] = (),
) -> Node:  # fmt: skip
    root, _ = places_of(a)
    own = [lowering.apart(i, root) for i in indices]
    return lowering.update(
        a, value, lambda array: lowering.view(array, value.shape, where(own), own),
        accumulates=accumulates, ordered_by=ordered_by,
    )  # fmt: skip


def _adds(bsym: BoundSymbol) -> bool:
    return scalars.supports("add", (bsym.args[0].dtype,))


@rule("index_put", checker=lambda b: not b.args[3] or _adds(b))
def _index_put(lowering: Lowering, output: TensorProxy, a: Node, indices: Any, value: Node, accumulate: bool) -> Node:
    for i, n in zip(indices, a.shape):
        _check_bounds(lowering, i, n, lowest=-n)
    # NumPy goes through indices and values as they lie in memory, except when it adds, has whole rows to write, or only a line.
    rank = len(indices[0].shape)
    in_order = accumulate or len(indices) < len(a.shape) or (len(indices) == 1 and rank == 1)
    return _scatter_to(
        lowering, a, value, lambda own: _at_all(own, a.shape), indices,
        accumulates=accumulate, ordered_by=() if in_order else indices,
    )  # fmt: skip


def _bind_scatter(*, accumulates: bool) -> Callable[..., Node]:
    def lower_one(lowering: Lowering, output: TensorProxy, a: Node, indices: Node, source: Node, dim: int) -> Node:
        _check_bounds(lowering, indices, a.shape[dim], lowest=0)
        value = lowering.view(source, indices.shape, lambda at: at)
        return _scatter_to(
            lowering, a, value, lambda own: _along(own[0], dim, a.shape[dim]), [indices], accumulates=accumulates
        )

    return lower_one


rule("scatter")(_bind_scatter(accumulates=False))
rule("scatter_add", checker=_adds)(_bind_scatter(accumulates=True))
