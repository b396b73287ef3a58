"""Loop collapsing: a loop and the one inside of it may run as one, if every memory is gone through evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tnp.executors.llvm.index import Index, Part, Var
from tnp.executors.llvm.loop_ir.accumulators import POSITIONS_OF
from tnp.executors.llvm.loop_ir.nodes import Buffer, Position, Reduce, Statement, subexpressions

__all__ = ["collapses"]

#: how many bytes an element of a buffer is from the first one
Offset = Callable[[Buffer, tuple[Index, ...]], Index]


def collapses(statements: Sequence[Statement], outer: Var, inner: Var, offset: Offset = Buffer.offset) -> bool:
    """Whether two loops around ``statements`` may run as one: all strides agree, and no statement asks for a position."""
    if any(isinstance(x, Position) for s in statements for x in subexpressions(s.value)):
        return False
    if any(isinstance(s, Reduce) and s.op in POSITIONS_OF for s in statements):
        return False
    return all(
        i.terms.get(outer, 0) == i.terms.get(inner, 0) * inner.limit and not {outer, inner} & _divided(i)
        for i in _offsets(statements, offset)
    )


def _offsets(statements: Sequence[Statement], offset: Offset) -> Iterator[Index]:
    for s in statements:
        yield offset(s.buffer, s.at)
        for load in s.reads:
            yield offset(load.buffer, load.at)


def _divided(i: Index) -> set[Var]:
    """The variables of which an index has quotients and remainders."""
    return set().union(*(atom.of.variables() for atom in i.terms if isinstance(atom, Part)))
