"""Rotations in whole loops: slices of one array that are put together so that positions go round it, as ``np.roll`` does.

As a :class:`~.values.Thunk` they take no memory. It says where loops over it are to be cut, so that each piece reads neighbours;
elsewhere a position is compared with the period.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tnp.core import dtypes
from tnp.executors.llvm import target
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Operand, whole_number
from tnp.executors.llvm.program.values import Array, At, StridedView, Thunk

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["cuts_of", "pieces", "rotation"]


def rotation(
    p: Program, arrays: Sequence[Array], dim: int, starts: Sequence[Int], shape: Sequence[Int]
) -> Thunk | None:
    """Arrays that are put together along ``dim`` at ``starts``, if they are parts of one array that go round it."""
    views = [a for a in arrays if isinstance(a, StridedView)]
    if len(views) != len(arrays) or len(views) < 2:
        return None
    first, second = views[:2]
    stride = Int.of(second.strides[dim])
    lengths = [v.shape[dim] for v in views]
    if any(v.memory is not first.memory or v.dtype is not first.dtype or v.strides != first.strides for v in views):
        return None
    periods = (starts[1] + lengths[1], lengths[1], lengths[0])
    period = next((n for n in periods if first.offset == second.offset + stride * (n - lengths[0])), None)
    if period is None or any(v.offset != second.offset for v in views[2:]) or any(n != period for n in lengths[1:-1]):
        return None
    ahead = period - lengths[0]
    if period.low < 1 or ahead.low < 0 or (period - lengths[-1]).low < 0:
        return None
    whole = second.like(second.offset, [period if d == dim else n for d, n in enumerate(shape)], second.strides)

    def make(p: Program, at: At) -> Operand:
        return p.load(whole, (*at[:dim], _wrapped(p, at[dim] + ahead, period), *at[dim + 1 :]))

    cuts = [lengths[0]]
    while len(cuts) < len(views) - 1:
        cuts.append(cuts[-1] + period)
    return Thunk(shape, first.dtype, make, first.reads, 1, {dim: tuple(cuts)})


def _wrapped(p: Program, i: Int, period: Int) -> Int:
    """``i % period``, of an integer that is not negative."""
    while (i - period).low >= 0:
        i = i - period
    if (period - i).low >= 1:
        return i

    def remainder() -> Operand:
        code = p.code
        if (period * 2 - i).low < 1:
            return code.whole("urem", i, period)
        return code.select(code.compare("slt", i, period), i, i - period, dtypes.int64)

    return whole_number(remainder(), 0, period.high - 1, p.most(period - 1))


def cuts_of(arrays: Sequence[Array]) -> dict[int, tuple[Int, ...]]:
    """Where loops over an elementwise combination of arrays are to be cut."""
    found: dict[int, tuple[Int, ...]] = {}
    for a in arrays:
        for d, cuts in a.cuts.items() if isinstance(a, Thunk) else ():
            found[d] = tuple(dict.fromkeys((*found.get(d, ()), *cuts)))
    return found


def pieces(n: Int, cuts: Sequence[Int]) -> Iterator[tuple[Int, Int]]:
    """Where the pieces of a loop of ``n`` iterations begin, and how long they are."""
    ordered: list[Int] = []
    for cut in dict.fromkeys(cuts):
        at = next((i for i, c in enumerate(ordered) if (c - cut).low > 0), len(ordered))
        is_known = all((cut - c).low > 0 for c in ordered[:at])
        if is_known and cut.low > 0 and (n - cut).low > 0 and len(ordered) < target.MOST_PIECES - 1:
            ordered.insert(at, cut)
    bounds = [Int(0), *ordered, n]
    for begin, end in pairwise(bounds):
        yield begin, end - begin
