"""In which order a scatter goes through its elements: where several go to one place, the last one wins, or sums are
rounded.

NumPy documents the order of the value's elements, and keeps to it when it adds (``np.add.at``), when whole rows are
written (``x[i] = v`` of two dimensions), and for a line of indices to a 1-d array. Otherwise (``x[i, j] = v``) its
iterator goes through indices and values as they lie in memory, from the end of what lies backwards in all of them; so
do we.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tnp.executors.llvm.graph import Node, Update, variables
from tnp.executors.llvm.layout import Strides, axis_order, contiguous, descending

__all__ = ["axes", "backwards", "ordered_dims"]


def ordered_dims(update: Update) -> frozenset[int]:
    """The dimensions of an update's value along which several elements may go to one place.

    Along the others, some index of the place depends on that dimension alone and grows with it, so that places never meet.
    """
    if not update.lookups:
        return frozenset()
    own = variables(update.value.shape)
    alone = {var for i in update.where(own) if len(i.terms) == 1 for var in i.terms}
    return frozenset(d for d, i in enumerate(own) if i.terms and not alone & i.terms.keys())


def _operands(update: Update, strides: Mapping[Node, Strides]) -> list[Strides]:
    """How that lies in memory by which NumPy's iterator chooses its order; nothing where it does not choose."""
    return [strides[n] for n in (*update.ordered_by, update.value) if n in strides] if update.ordered_by else []


def backwards(update: Update, strides: Mapping[Node, Strides]) -> frozenset[int]:
    """The dimensions of a scatter's value along which it goes from the end."""
    return descending(update.value.shape, _operands(update, strides))


def axes(update: Update, strides: Mapping[Node, Strides]) -> Sequence[int]:
    """The dimensions of a scatter's value, outermost loop first.

    Those whose order counts go in that order. Outside of them are others along which the places are further apart than
    the indices' (``x[:, i] = v`` goes row by row, rows in parallel), inside the rest (``x[i] = v`` writes a row at a time).
    """
    value, base = update.value, update.base
    found = axis_order(value.shape, _operands(update, strides))
    ordered = ordered_dims(update)
    own = variables(value.shape)
    steps = strides.get(base, contiguous(base.shape, range(len(base.shape)), base.dtype.itemsize))
    places = [(i, abs(step)) for i, step in zip(update.where(own), steps)]
    looked_up = min((step for i, step in places if any(True for _ in i.lookups())), default=0)
    apart = {
        d: max((step for i, step in places if own[d].terms.keys() & i.terms.keys()), default=0)
        for d in found
        if d not in ordered
    }
    free = sorted(apart, key=lambda d: -apart[d])
    outside = [d for d in free if apart[d] > looked_up]
    return [*outside, *(d for d in found if d in ordered), *free[len(outside) :]]
