"""Rotations: arrays whose positions along a dimension go round, as those of ``np.roll`` and of ``np.pad(mode="wrap")``.

These functions put slices of one array together. As a view whose positions are remainders they copy nothing, so that a
stencil on a periodic grid is one kernel. Innermost loops are cut where positions begin anew (:mod:`.loop_ir.splitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.executors.llvm.bounds import ends, form, is_provable, simplest
from tnp.executors.llvm.graph import Indices, Node, View, variables
from tnp.executors.llvm.index import Index, Remainder, Var

__all__ = ["Rotation", "rotation", "wrapped"]


class Rotation(View):
    """A view whose positions along a dimension of its source are remainders. Its elements have no places of their own."""


def rotation(arrays: Sequence[Node], shape: Sequence[Any], dim: int, position: int) -> Rotation | None:
    """Arrays that are put together along ``dim``, if they are slices of one array that go round it.

    The position of an element in the source is its position in the result, less the *period* for each part before its own.
    """
    first = arrays[0]
    if type(first) is not View or len(arrays) < 2:
        return None
    source = first.source
    if any(a is not source and not (type(a) is View and a.source is source and not a.lookups) for a in arrays):
        return None
    starts = _starts(arrays, source, shape, dim)
    if starts is None:
        return None
    lengths = [a.shape[dim] for a in arrays]
    # The step of an array of one element may be any. It says nothing about the others, whose steps are 1.
    stepping = next((i for i in (1, *range(len(arrays))) if _steps_by_one(arrays[i], source, shape, dim)), None)
    if stepping is None:
        return None
    period = simplest(starts[0] + lengths[0] - starts[1])
    whole = all(n == period for n in lengths[1:-1]) and all(s == starts[1] for s in starts[2:])
    if not whole or any(not _is_at_most(n, period) for n in (lengths[0], lengths[-1])) or not _is_at_most(1, period):
        return None
    ahead, before = simplest(period - lengths[0]), simplest(starts[1] - starts[stepping])

    def where(at: Indices) -> Indices:
        place = wrapped(at[dim] + Index(ahead), period) + Index(before)
        return _place(arrays[stepping], source, (*at[:dim], place, *at[dim + 1 :]))

    return Rotation(source, shape, where, position=position, repeats=True)


def _place(node: Node, source: Node, at: Indices) -> Indices:
    """Where an element of an array, a view of the source or the source itself, is in that."""
    return node.where(at) if isinstance(node, View) and node is not source else at


def _steps_by_one(a: Node, source: Node, shape: Sequence[Any], dim: int) -> bool:
    """Whether neighbours in a view are neighbours in its source, however many it has."""
    at = variables(shape)
    first, second = (_place(a, source, (*at[:dim], Index(i), *at[dim + 1 :])) for i in (0, 1))
    steps = [y - x for x, y in zip(first, second) if x != y]
    return len(steps) == 1 and not steps[0].terms and type(steps[0].constant) is int and steps[0].constant == 1


def _starts(arrays: Sequence[Node], source: Node, shape: Sequence[Any], dim: int) -> list[Any] | None:
    """Where each array begins in one dimension of the source, if its elements are neighbours there and nothing else tells the arrays apart."""
    at = variables(shape)
    places = []
    for a in arrays:
        own = Index.of(Var("own", a.shape[dim]))
        places.append((own, _place(a, source, (*at[:dim], own, *at[dim + 1 :]))))
    moving = [d for d, indices in enumerate(zip(*(place for _, place in places))) if len(set(indices)) > 1]
    if len(moving) != 1:
        return None
    starts = [place[moving[0]] - own for own, place in places]
    if any(i.terms for i in starts) or not all(i.is_affine for _, place in places for i in place):
        return None
    return [i.constant for i in starts]


def wrapped(index: Index, period: Any) -> Index:
    """``index % period``, of an index that is not negative; without a remainder where it is surely within one period."""
    inner = next((a for a in index.terms if isinstance(a, Remainder) and a.by == period), None)
    if inner is not None and index.terms[inner] == 1:
        rest = Index(index.constant, {a: c for a, c in index.terms.items() if a is not inner})
        return wrapped(rest + inner.of, period)
    index = Index(simplest(index.constant), index.terms)
    while _is_never_below(index, period):
        index = Index(simplest(index.constant - period), index.terms)
    return index if _is_within(index, period) else Index.of(Remainder(index, period, period))


def _is_never_below(index: Index, period: Any) -> bool:
    """Whether an index surely is at least ``period``, also one that goes backwards."""
    if index.is_affine:
        low, _ = ends(index)
        return is_provable(low.plus(form(period), -1))
    return all(factor >= 0 for factor in index.terms.values()) and _is_at_most(period, index.constant)


def _is_within(index: Index, period: Any) -> bool:
    """Whether an index surely is from 0 to ``period - 1``."""
    if not index.is_affine:
        return False
    low, high = ends(index)
    return is_provable(low) and is_provable(form(period - 1).plus(high, -1))


def _is_at_most(n: Any, most: Any) -> bool:
    return is_provable(form(most).plus(form(n), -1))
