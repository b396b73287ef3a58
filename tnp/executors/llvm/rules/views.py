"""Lowering of prims that only rearrange elements to views: functions from position to position."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tnp.core import dtypes, intervals, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.core.slice_bounds import slice_bounds
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target, view_maps
from tnp.executors.llvm.graph import Indices, Node, Reduction, Scan, Update, View, origin, variables
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.lowering import Lowering, Refused, Value, rule

__all__ = ["groups_of_any_size", "only_ones_differ"]


@rule("broadcast_in_dim")
def _broadcast(lowering: GraphLowering, output: TensorProxy, a: Node, shape: Any, dims: Any) -> Node:
    if tuple(output.shape) == a.shape:
        return a
    own = {d: n for n, d in zip(a.shape, dims)}
    return lowering.view(
        a, output.shape, view_maps.broadcast([n == 1 for n in a.shape], dims),
        repeats=any(n != 1 and own.get(d, 1) == 1 for d, n in enumerate(output.shape)), whole=True,
    )  # fmt: skip


@rule("transpose", in_loops=True)
def _transpose(lowering: Lowering, output: TensorProxy, a: Value, permutation: Any) -> Any:
    return lowering.view(a, [a.shape[d] for d in permutation], view_maps.transposed(permutation), whole=True)


@rule("squeeze", in_loops=True)
def _squeeze(lowering: Lowering, output: TensorProxy, a: Value, dims: Any) -> Any:
    for d in dims:
        lowering.require_one(a.shape[d], _cannot_squeeze)
    left = [n for d, n in enumerate(a.shape) if d not in dims]
    return lowering.view(a, left, view_maps.squeezed(dims, len(a.shape)), whole=True)


def _cannot_squeeze(*sizes: int) -> Exception:
    return ValueError("cannot select an axis to squeeze out which has size not equal to one")


@rule("slice")
def _slice(lowering: GraphLowering, output: TensorProxy, a: Node, starts: Any, stops: Any, strides: Any = None) -> Node:
    steps = [1] * len(starts) if strides is None else list(strides)
    return lowering.view(a, output.shape, view_maps.sliced(starts, steps))


def _has_bounds(b: BoundSymbol) -> bool:
    """Whether it is known where a slice begins: bounds that are symbols are sizes of a kernel for any size alone."""
    a, dim, *bounds = b.args
    is_symbolic = any(type(n) is not int for n in (*a.shape, *b.output.shape))
    plain = all(x is None or type(x) is int for x in bounds)
    try:
        return (is_symbolic or plain) and slice_bounds(a.shape[dim], *bounds[:2], *(bounds[2:] or [1])) is not None
    except NeedsEager:  # that depends on lengths which the program finds out, of which it asserts nothing more now
        return False


@rule("dynamic_slice", checker=_has_bounds)
def _dynamic_slice(
    lowering: GraphLowering, output: TensorProxy, a: Node, dim: int, start: Any, stop: Any, step: int = 1
) -> Node:
    found = slice_bounds(*map(symbols.number_of, (a.shape[dim], start, stop)), step)
    if found is None:
        raise Refused("a slice whose bounds are known only when the program runs")
    first = symbols.provable(found[0])
    return lowering.view(
        a, output.shape, lambda at: tuple(i * step + Index(first) if d == dim else i for d, i in enumerate(at))
    )


@rule("flip", in_loops=True)
def _flip(lowering: Lowering, output: TensorProxy, a: Value, dims: Any) -> Any:
    return lowering.view(a, a.shape, view_maps.flipped(dims, a.shape), whole=True)


def _has_position(b: BoundSymbol) -> bool:
    """Whether a position is known, or a symbol of a kernel for any size, from the front or the back."""
    a, _, index = b.args
    is_symbolic = any(type(n) is not int for n in (*a.shape, *b.output.shape))
    return type(index) is int or (
        is_symbolic and symbols.value_of(index) is not None and _is_negative(index) is not None
    )


def _is_negative(index: Any) -> bool | None:
    """Whether a position counts from the end; ``None`` if only the running program knows."""
    low, high = intervals.bounds(index)
    if low is not None and low >= 0:
        return False
    return True if high is not None and high < 0 else None


@rule("select", checker=_has_position)
def _select(lowering: GraphLowering, output: TensorProxy, a: Node, dim: int, index: Any) -> Node:
    number = symbols.number_of(index)
    at = Index(symbols.provable(number))
    return lowering.view(a, output.shape, view_maps.selected(dim, at + a.shape[dim] if _is_negative(number) else at))


@rule("diagonal", in_loops=True)
def _diagonal(lowering: Lowering, output: TensorProxy, a: Value, offset: int, dim1: int, dim2: int) -> Any:
    return lowering.view(a, lowering.sizes(output.shape), view_maps.diagonal(offset, dim1, dim2, len(a.shape)))


@rule("as_language", in_loops=True)
def _as_language(lowering: Lowering, output: TensorProxy, a: Value, name: str) -> Any:
    return a


@rule("unfold", checker=lambda b: b.args[0].ndim > 0, in_loops=True)
def _unfold(lowering: Lowering, output: TensorProxy, a: Value, dim: int, size: int, step: int) -> Any:
    return lowering.view(a, lowering.sizes(output.shape), view_maps.unfolded(dim % len(a.shape), step), repeats=True)


@rule("reshape")
def _reshape(lowering: GraphLowering, output: TensorProxy, a: Node, shape: Any) -> Node:
    if tuple(output.shape) == a.shape:
        return a
    if any(isinstance(n, symbols.Extent) for n in (*output.shape, *a.shape)):
        if only_ones_differ(a.shape, output.shape):
            return _with_ones(lowering, output, a)
        groups = groups_of_any_size(output.shape, a.shape)
        if groups is None:
            raise Refused("a reshape of a length that only the program knows")
        _require_runs(lowering, output.shape, a.shape, groups)
        if _divides(a.shape, groups) and not (lowering.is_written or _is_even(a) or _repeats_rows(a)):
            a = lowering.update(lowering.make("empty", a.shape, a.dtype), a)
    else:
        groups = _reshape_groups(output.shape, a.shape)

    def where(at: Indices) -> Indices:
        result: list[Index] = []
        for new, old in groups:
            flat = Index()
            for d in new:
                flat = flat * output.shape[d] + at[d]
            parts: list[Index] = []
            for k, n in reversed([*enumerate(a.shape[d] for d in old)][1:]):
                flat, rest = flat.divide(n, math.prod(a.shape[d] for d in old[:k]))
                parts.append(rest)
            if old:
                result += [flat, *reversed(parts)]
        return tuple(result)

    return lowering.view(a, output.shape, where, whole=True)


def only_ones_differ(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are surely the same but for dimensions of 1."""
    first, second = ([n for n in shape if n != 1] for shape in (a, b))
    return len(first) == len(second) and all(n == m for n, m in zip(first, second))


def _with_ones(lowering: GraphLowering, output: TensorProxy, a: Node) -> Node:
    """A reshape of symbolic sizes that inserts or drops dimensions of 1."""
    kept = [d for d, n in enumerate(a.shape) if n != 1]
    wanted = [d for d, n in enumerate(output.shape) if n != 1]
    where = view_maps.with_ones(dict(zip(kept, wanted)), len(a.shape))
    return lowering.view(a, output.shape, where, whole=True)


def groups_of_any_size(new: Sequence[Any], old: Sequence[Any]) -> list[tuple[list[int], list[int]]] | None:
    """As :func:`_reshape_groups` for shapes with symbolic sizes, which hold as many elements: the runs of the call that was traced. ``None``
    for lengths that nobody knows."""
    first, second = ([symbols.value_of(symbols.number_of(n)) for n in shape] for shape in (new, old))
    known, before = ([n for n in shape if n is not None] for shape in (first, second))
    if len(known) < len(new) or len(before) < len(old) or 0 in (*known, *before):
        return None
    return _reshape_groups(known, before)


def _divides(old: Sequence[Any], groups: Iterable[tuple[list[int], list[int]]]) -> bool:
    """Whether positions are quotients by sizes that vary."""
    return any(not isinstance(old[d], int) for _, dims in groups for d in dims[1:])


def _is_even(a: Node, depth: int = 20) -> bool:
    """Whether all that an element is computed of stands at its own place in arrays of one shape: in C order a quotient and a remainder are
    put together again there (:func:`~tnp.executors.llvm.index.linear`)."""
    if isinstance(a, (Reduction, Scan, Update)) or a.op in ("input", "full", "number"):
        return True
    if isinstance(a, View) or type(a) is not Node or a.op == "iota" or not depth:
        return False
    return all(not x.shape or (x.shape == a.shape and _is_even(x, depth - 1)) for x in a.sources)


def _repeats_rows(a: Node) -> bool:
    """Whether an array is one row a few times: loops over it are cut where it begins anew."""
    if not isinstance(a, View) or len(a.shape) != 2:
        return False
    count, at = a.shape[0], variables(a.shape)
    row, place = origin(a, at)
    is_few = isinstance(count, int) and count <= target.MOST_PIECES
    return is_few and not any(at[0].variables() & i.variables() for i in place) and _is_even(row)


def _require_runs(
    lowering: GraphLowering, new: Sequence[Any], old: Sequence[Any], groups: Sequence[tuple[list[int], list[int]]]
) -> None:
    """Makes the kernel refuse sizes for which old and new runs have different numbers of elements. The last run is not checked: it agrees
    if all others do."""
    pairs = [(math.prod(new[d] for d in left), math.prod(old[d] for d in right)) for left, right in groups]
    open_ones = [(n, m) for n, m in pairs if not (isinstance(n, int) and isinstance(m, int)) and not n == m]
    for pair in open_ones[1:]:
        n, m = (lowering.make("full", (), dtypes.int64, (x,)) for x in pair)
        lowering.refuse(lowering.make("ne", (), dtypes.bool8, (n, m)))


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
