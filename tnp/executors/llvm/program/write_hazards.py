"""Write hazards: storing values that read the memory to which they are stored.

Elements are stored in the order of memory. That is valid if each is computed before its inputs are overwritten
(``row[1:-1] = row[2:]``). If only some rows or columns are read at other places
(``a[:] = np.minimum(a, np.add.outer(a[:, k], a[k]))``), they are copied first. Otherwise the whole value goes to a
temporary first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tnp.executors.llvm.program.integers import Atom, Int, coefficient, magnitude, without
from tnp.executors.llvm.program.ir import Item, Register, instructions_in
from tnp.executors.llvm.program.values import Array, At, Stride, StridedView

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["Copied", "copies_of_what_is_read", "reads_ahead", "recorded", "somewhere"]

#: a row that is copied is at most that part of what is stored
SMALL = 8


class Copied:
    """A copy of what is read of the target's memory at ``base`` plus multiples of some of the positions."""

    def __init__(
        self, place: StridedView, base: Int, dims: Sequence[int], strides: Sequence[Stride], copy: StridedView
    ) -> None:
        self.place = place
        self.base = base
        self.dims = dims
        self.strides = strides
        self.copy = copy

    def offset(self, at: At) -> Int:
        """What is read at a position of the target."""
        total = self.base
        for d, stride in zip(self.dims, self.strides):
            total = total + at[d] * stride
        return total


def reads_ahead(p: Program, target: StridedView, x: Array) -> bool:
    """Whether each element of ``x`` is computed before anything that it reads is overwritten."""
    at = _position(p, target)
    return not _behind(target, at, recorded(p, x, at)[0])


def copies_of_what_is_read(p: Program, target: StridedView, x: Array) -> list[Copied] | None:
    """Copies of what an element of ``x`` reads of the target that is overwritten before; ``None`` if that is too much, or unknown."""
    at = _position(p, target)
    accesses, registers = recorded(p, x, at)
    dims = {next(iter(i.terms)): d for d, i in enumerate(at) if i.terms}
    found: dict[Int, tuple[StridedView, dict[int, Int]]] = {}
    for place, offset in _behind(target, at, accesses):
        factors = dict.fromkeys(f for a in offset.terms for f in a.factors)
        steps = {dims[f]: coefficient(offset, f) for f in factors if f in dims}
        used = {d: c for d, c in steps.items() if c is not None and without(c, dims) == c}
        if len(used) < len(steps):
            return None
        count = math.prod(max(1, target.shape[d].high) for d in used)
        if count * SMALL > math.prod(max(1, n.high) for n in target.shape):
            return None
        if any(f.register in registers for f in factors):
            return None  # an inner loop's
        found[offset] = place, used
    copied = []
    for offset, (place, used) in found.items():
        base = without(offset, dims)
        shape, strides = [target.shape[d] for d in used], list(used.values())
        view = StridedView(place.memory, place.dtype, base, shape, strides)
        copied.append(Copied(place, base, list(used), strides, p.force(view)))
    return copied


def somewhere(p: Program, x: Array) -> At:
    """A position in an array, as registers that the program has not."""
    return tuple(Int(0, {Atom(f"%at{d}", 0, max(1, n.high - 1), p.most(n - 1)): 1}) for d, n in enumerate(x.shape))


def _position(p: Program, target: StridedView) -> At:
    return tuple(i if n.known != 1 else Int(0) for i, n in zip(somewhere(p, target), target.shape))


def _behind(target: StridedView, at: At, accesses: Sequence[tuple[StridedView, Int]]) -> list[tuple[StridedView, Int]]:
    """Which accesses may find what was stored before."""
    here = target.where(at)
    strides = [Int.of(s) for s in target.strides]
    dims = sorted((d for d in range(len(at)) if at[d].terms), key=lambda d: -magnitude(strides[d]))
    ascending = all(strides[d].low > 0 for d in dims)
    ascending = ascending and all((strides[d] - strides[e] * target.shape[e]).low >= 0 for d, e in pairwise(dims))
    found = []
    for place, offset in accesses:
        distance = offset - here
        if place.memory is target.memory and distance != Int(0) and not (ascending and distance.low > 0):
            found.append((place, offset))
    return found


def recorded(p: Program, x: Array, at: At) -> tuple[list[tuple[StridedView, Int]], set[Register]]:
    """What the element of ``x`` at a position reads, and the registers that it takes. No code is written."""
    accesses, known, scratch = p.accesses, p.known, list[Item]()
    p.accesses, p.known = [], [{}]
    try:
        with p.code.inside(scratch):
            x.element(p, at)
        return p.accesses, {r for i in instructions_in(scratch) for r in i.results}
    finally:
        p.accesses, p.known = accesses, known
