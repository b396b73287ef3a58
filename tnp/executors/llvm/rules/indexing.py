"""Lowering of prims that write to parts of arrays, and of prims whose positions are run-time values.

In a region, an element of an array of indices is an atom of index arithmetic, a :class:`~tnp.executors.llvm.index.Lookup`, so
gathers are views like any other, and scatters are updates of such views. Known indices (``np.arange(n)``, the 0 of
``x[i, 0]``) are plain positions, which never coincide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import symbols
from tnp.core.proxies import TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars
from tnp.executors.llvm.graph import Indices, Node, Positions, Update, View, first_version, origin, places_of, variables
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.lowering import Lowering, Value, Where, product, rule
from tnp.executors.llvm.rotations import rotation

__all__: list[str] = []

#: arrays that are put together in a region: each is a loop of its own, and loops are compared with each other
MOST_PARTS = 32


# Arrays put together: each part is written to its place


def _part(lowering: Lowering, shape: Sequence[Any], where: Where) -> Callable[[Any], Any]:
    """The view of an array that an update writes to."""
    return lambda a: lowering.view(a, shape, where)


def _only_grows(lowering: Lowering, bsym: BoundSymbol, a: Value, value: Any, config: Any) -> bool:
    """Whether dimensions that are not known have something put around them, and nothing between or cut off."""
    known = [lowering.length(n) is not None for n in a.shape]
    return all(ok or (low >= 0 and high >= 0 and not interior) for ok, (low, high, interior) in zip(known, config))


@rule("pad", checker=lambda b: is_number(b.args[1]), in_loops=_only_grows)
def _pad(lowering: Lowering, output: TensorProxy, a: Value, value: Any, config: Any) -> Any:
    shape = lowering.sizes(output.shape)
    filled = lowering.make("full", shape, output.dtype, (value,))
    starts, counts, places = [], [], []
    for n, length, (low, high, interior) in zip(a.shape, shape, config):
        if low >= 0 and high >= 0 and not interior:
            starts.append(0)
            counts.append(n)
            places.append((low, 1))
            continue
        n, length = (m if (known := lowering.length(m)) is None else known for m in (n, length))
        step = interior + 1
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(n - 1, (length - 1 - low) // step)
        starts.append(first)
        counts.append(last - first + 1)
        places.append((low + first * step, step))
    if any(isinstance(c, int) and c <= 0 for c in counts):
        return filled
    inside = lowering.view(a, counts, lambda at: tuple(i + s for i, s in zip(at, starts)))
    target = _part(lowering, counts, lambda at: tuple(i * s + f for i, (f, s) in zip(at, places)))
    return lowering.update(filled, inside, target)


def _has_places(b: BoundSymbol) -> bool:
    """Whether the arrays are few, and it is known where each begins."""
    arrays, dim = b.args[0], b.args[1]
    return len(arrays) <= MOST_PARTS and all(symbols.value_of(a.shape[dim]) is not None for a in arrays)


@rule("concatenate", checker=_has_places)
def _concatenate(lowering: GraphLowering, output: TensorProxy, arrays: Any, dim: int) -> Node:
    round_ = rotation(arrays, output.shape, dim, lowering.next_position())
    if round_ is not None:
        return lowering.add(round_)
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
def _slice_update(
    lowering: GraphLowering, output: TensorProxy, a: Node, b: Node, starts: Any, strides: Any = None
) -> Node:
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


@rule("nonzero", checker=lambda b: b.args[0].ndim > 0)
def _nonzero(lowering: GraphLowering, output: TensorProxy, mask: Node) -> tuple[Node, ...]:
    """What is written has room behind its end: a result is a copy. Positions in several dimensions are computed of those in all elements."""
    if mask not in lowering.positions:
        flat, shape = mask, mask.shape
        if len(shape) > 1:
            flat = lowering.view(mask, (product(shape),), lambda at: _unraveled(at[0], shape), whole=True)
        made = Positions(output.shape, flat, position=lowering.next_position())
        lowering.positions[mask] = lowering.add(made)
    flat = lowering.make("copy", output.shape, output.dtype, (lowering.positions[mask],))
    if len(mask.shape) == 1:
        return (flat,)
    made = []
    for d, n in enumerate(mask.shape):

        def where(at: Indices, d: int = d) -> Indices:
            return (_unraveled(lowering.lookup(flat, at, product(mask.shape)), mask.shape)[d],)

        along = lowering.view(lowering.make("iota", (n,), output.dtype, (0, 1)), output.shape, where, [flat])
        made.append(lowering.make("copy", output.shape, output.dtype, (along,)))
        lowering.selecting[made[d]] = mask, d
    return tuple(made)


def _unraveled(flat: Index, shape: Sequence[Any]) -> Indices:
    """The position in an array of that shape of an element with a number in C order."""
    found: list[Index] = []
    for d, n in reversed([*enumerate(shape)][1:]):
        flat, rest = flat.divide(n, product(shape[:d]))
        found.append(rest)
    return (flat, *reversed(found))


def _selected(lowering: Lowering, a: Any, indices: Sequence[Any]) -> Node | None:
    """The positions in all elements of a mask, if ``indices`` are those of one with the shape of the first dimensions of ``a``."""
    if not isinstance(lowering, GraphLowering) or len(indices) < 2:
        return None
    found = [lowering.selecting.get(i) for i in indices]
    mask = found[0][0] if found[0] is not None else None
    if mask is None or found != [(mask, d) for d in range(len(mask.shape))]:
        return None
    fits = len(found) == len(indices) and all(n == m for n, m in zip(mask.shape, a.shape))
    return lowering.positions[mask] if fits else None


@rule("take", in_loops=True)
def _take(lowering: Lowering, output: TensorProxy, a: Value, indices: Value, dim: int) -> Any:
    n, rank = a.shape[dim], len(indices.shape)
    indices = lowering.checked(indices, n, dim)
    shape = (*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :])

    def where(at: Any) -> Any:
        return (*at[:dim], lowering.lookup(indices, at[dim : dim + rank], n), *at[dim + rank :])

    return lowering.view(a, shape, where, [indices])


def _along(lowering: Lowering, indices: Value, dim: int, n: Any) -> Where:
    """Positions of which only that along ``dim`` is looked up."""
    return lambda at: (*at[:dim], lowering.lookup(indices, at, n), *at[dim + 1 :])


def _at_all(lowering: Lowering, indices: Sequence[Value], lengths: Sequence[Any]) -> Where:
    """Positions of which the first are looked up in an array each, all at one place."""
    rank = len(indices[0].shape)
    return lambda at: (*(lowering.lookup(i, at[:rank], n) for i, n in zip(indices, lengths)), *at[rank:])


def _fits_inside(lowering: Lowering, bsym: BoundSymbol, a: Value, indices: Value, *others: Any) -> bool:
    """Whether the indices have the shape of the array, but for the dimension that is looked up."""
    dim = others[-1]
    pairs = [(n, m) for d, (n, m) in enumerate(zip(a.shape, indices.shape)) if d != dim]
    lengths = [(lowering.length(n), lowering.length(m)) for n, m in pairs]
    return all(n is not None and m is not None and m <= n for n, m in lengths)


@rule("gather", in_loops=_fits_inside)
def _gather(lowering: Lowering, output: TensorProxy, a: Value, indices: Value, dim: int) -> Any:
    n = a.shape[dim]
    indices = lowering.checked(indices, n, dim, from_end=False)
    return lowering.view(a, indices.shape, _along(lowering, indices, dim, n), [indices])


@rule("index_get", in_loops=True)
def _index_get(lowering: Lowering, output: TensorProxy, a: Value, indices: Sequence[Value]) -> Any:
    shape = (*indices[0].shape, *a.shape[len(indices) :])
    selected, first = _selected(lowering, a, indices), a.shape[: len(indices)]
    if selected is not None:
        flat = lowering.make("copy", selected.shape, selected.dtype, (selected,))

        def where(at: Any) -> Any:
            return (*_unraveled(lowering.lookup(flat, at[:1], product(first)), first), *at[1:])

        return lowering.view(a, shape, where, [flat])
    indices = lowering.checked_together(indices, a.shape)
    return lowering.view(a, shape, _at_all(lowering, indices, a.shape), indices)


# Scatters


def _adds(bsym: BoundSymbol) -> bool:
    return scalars.supports("add", (bsym.args[0].dtype,))


@rule("index_put", checker=lambda b: not b.args[3] or _adds(b), in_loops=True)
def _index_put(
    lowering: Lowering, output: TensorProxy, a: Value, indices: Sequence[Value], value: Value, accumulate: bool
) -> Any:
    # NumPy goes through indices and values as they lie in memory, except when it adds, has whole rows to write, or only a line.
    rank = len(indices[0].shape)
    in_order = accumulate or len(indices) < len(a.shape) or (len(indices) == 1 and rank == 1)
    return lowering.scatter(
        a, value, lambda own: _at_all(lowering, own, a.shape), lowering.checked_together(indices, a.shape),
        accumulates=accumulate, ordered_by=() if in_order else indices,
    )  # fmt: skip


def _bind_scatter(*, accumulates: bool) -> Callable[..., Any]:
    def lower_one(lowering: Lowering, output: TensorProxy, a: Value, indices: Value, source: Value, dim: int) -> Any:
        n = a.shape[dim]
        indices = lowering.checked(indices, n, dim, from_end=False)
        value = lowering.view(source, indices.shape, lambda at: at)
        return lowering.scatter(
            a, value, lambda own: _along(lowering, own[0], dim, n), [indices], accumulates=accumulates
        )

    return lower_one


rule("scatter", in_loops=_fits_inside)(_bind_scatter(accumulates=False))
rule("scatter_add", checker=_adds, in_loops=_fits_inside)(_bind_scatter(accumulates=True))
