"""The dependence test of the loop IR: which accesses of two statements may be of one element, at which points of their loops.

Two accesses of one buffer, one of them a write, are a *conflict*. The order of the statements decides what the buffer holds in the
end, unless the accesses are surely *disjoint*. Statements may stand in one nest if all of their conflicts are at one point of its loops,
and nests may share loops if all conflicts are in one iteration of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tnp.core.intervals import Linear
from tnp.executors.llvm.bounds import ends, form, is_provable
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.nodes import Buffer, Check, Entry, Reduce, Scatter, Statement, statements_of

__all__ = [
    "At",
    "conflict",
    "conflicts",
    "disjoint",
    "distance",
    "is_in_place",
    "is_innermost",
    "may_share_a_point",
    "may_share_loops",
    "meetings",
    "touched",
]

#: a position: an index a dimension
At = tuple[Index, ...]


def touched(statements: Iterable[Statement]) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that statements read, and those that they write."""
    reads, writes = set[Buffer](), set[Buffer]()
    for s in statements:
        writes.add(s.buffer)
        reads.update(load.buffer for load in s.reads)
    return reads, writes


def conflict(earlier: Entry, later: Entry) -> bool:
    """Whether the order of two entries of a kernel may matter."""
    if isinstance(earlier, Check) or isinstance(later, Check):
        return True
    (read, written), (reads, writes) = touched(statements_of(earlier)), touched(statements_of(later))
    return bool(written & (reads | writes) or read & writes)


def conflicts(first: Statement, second: Statement) -> Iterator[tuple[Buffer, At, At]]:
    """Of accesses of two statements to one buffer, one of them a write, the buffer and the positions."""
    if first.buffer is second.buffer:
        yield first.buffer, first.at, second.at
    for load in second.reads:
        if load.buffer is first.buffer:
            yield load.buffer, first.at, load.at
    for load in first.reads:
        if load.buffer is second.buffer:
            yield load.buffer, load.at, second.at


def may_share_a_point(first: Statement, second: Statement) -> bool:
    """Whether the second statement may stand behind the first in its nest, over the same loop variables."""
    reduced = {
        s.buffer for s in (first, second) if isinstance(s, Reduce)
    }  # elements of which are complete behind the loops
    return all(buffer not in reduced and (a == b or disjoint(a, b)) for buffer, a, b in conflicts(first, second))


def may_share_loops(first: Statement, second: Statement, loops: Iterable[Var], names: Mapping[Var, Var]) -> bool:
    """Whether all conflicts are in one iteration of ``loops``, the first statement's, as those in buffers of a row or a point are. ``names`` has the
    first's variables for the second's."""
    for buffer, a, b in conflicts(first, second):
        if buffer.role in ("row", "point"):
            continue
        named = tuple(i.renamed(names) for i in b)
        if disjoint(a, named):
            continue
        for v in loops:
            if not any(i == j and i.terms.keys() == {v} for i, j in zip(a, named)):
                return False
    return True


def is_innermost(reduced: Sequence[Var], loops: Sequence[Var]) -> bool:
    """Whether loops that are reduced over are the innermost ones: stores may stand beside the reduction."""
    return set(loops[len(loops) - len(reduced) :]) == set(reduced)


def distance(a: At, b: At, first: Var, second: Var) -> int | None:
    """How many iterations the loop of ``first`` is ahead of that of ``second`` where two accesses meet; ``None`` if they may meet at several
    distances."""
    for i, j in zip(a, b):
        if i.terms == {first: 1} and j.terms == {second: 1}:
            ahead = form(j.constant).plus(form(i.constant), -1)
            return ahead.constant if ahead.is_constant else None
    return None


def meetings(first: Entry, second: Entry, loop: Var, other: Var) -> Iterator[tuple[Buffer, int | None]]:
    """Where accesses of two entries may meet that conflict: the buffer, and the :func:`distance` of the loops."""
    for a in statements_of(first):
        for b in statements_of(second):
            for buffer, at, theirs in conflicts(a, b):
                if not disjoint(at, theirs):
                    yield buffer, distance(at, theirs, loop, other)


def is_in_place(s: Statement) -> bool:
    """Whether a statement reads of the buffer that it writes only the element of the same point."""
    is_ordered = isinstance(s, Scatter)  # an iteration before may have written there
    return all(
        (load.at == s.at and not is_ordered) or disjoint(load.at, s.at) for load in s.reads if load.buffer is s.buffer
    )


# Where indices lie


def disjoint(a: At, b: At) -> bool:
    """Whether positions in one buffer surely differ, at whatever points of their loops."""
    return any(map(_apart, a, b))


def _apart(i: Index, j: Index) -> bool:
    if not (i.is_affine and j.is_affine):
        return False
    if not i.terms and not j.terms and isinstance(i.constant, int) and isinstance(j.constant, int):
        return i.constant != j.constant
    (low, high), (least, most) = ends(i), ends(j)
    return (
        is_provable(least.plus(high, -1).plus(_ONE, -1))
        or is_provable(low.plus(most, -1).plus(_ONE, -1))
        or _never_meet(i, j)
    )


_ONE = Linear({}, 1)


def _never_meet(i: Index, j: Index) -> bool:
    """Whether the steps of two indices never take them to one number."""
    step = 0
    for c in (*i.terms.values(), *j.terms.values()):
        if not isinstance(c, int):
            return False
        while c:
            step, c = c, step % c
    distance = form(i.constant).plus(form(j.constant), -1)
    return abs(step) > 1 and distance.is_constant and distance.constant % abs(step) != 0
