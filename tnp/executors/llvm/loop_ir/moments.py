"""Sums of squared distances to a mean, in the same pass over memory as the mean.

A variance is a sum, and a sum of squares that depends on its result: two passes over an array that exceeds the cache. But the squares of a
block of rows can be summed around any number near its mean, such as the mean of the block itself, while the block is in the cache. With
the sums ``e`` of ``x - c`` and ``q`` of ``(x - c)²`` over ``n`` elements, and ``d = c - m``,

    sum((x - m)²) = q + (2 e + n d) d

for any ``m``: exactly, and without cancellation if ``e`` is at most the rounding error of ``c``. So results equal those of two passes, up to
rounding. Sums of ``x`` and ``x²`` would lose all digits of a variance much smaller than the mean's square. (The form for two blocks is that
of T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tnp.executors.llvm import target
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.dependence import touched
from tnp.executors.llvm.loop_ir.functions import typical
from tnp.executors.llvm.loop_ir.fusion import TRIED, renamed
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Centered,
    Check,
    Convert,
    Element,
    Entry,
    Expression,
    Kernel,
    Load,
    Moments,
    Nest,
    Position,
    Reduce,
    loads_in,
    product,
    statements_of,
    subexpressions,
)

__all__ = ["sum_squares_at_once"]


def sum_squares_at_once(kernel: Kernel) -> Kernel:
    """The kernel, of which nests that sum squares of distances to what others sum have no pass over memory of their own."""
    entries = list(kernel.nests)
    for k, second in enumerate(entries):
        if not isinstance(second, Nest):
            continue
        for j in range(k - 1, max(k - TRIED, 0) - 1, -1):
            first = entries[j]
            made = _together(first, second, entries[j + 1 : k]) if isinstance(first, Nest) else None
            if made is not None:
                entries[j], entries[k] = made, Centered(made)
                break
    return replace(kernel, nests=entries)


def _together(first: Nest, second: Nest, between: list[Entry]) -> Moments | None:
    if len(first.loops) != len(second.loops) or len(second.statements) != 1 or not _has_blocks(first):
        return None
    if any(not (v.limit == w.limit) for v, w in zip(first.loops, second.loops)):
        return None
    names = dict(zip(second.loops, first.loops))
    mine = renamed(second, names)
    (squares,) = mine.statements if isinstance(mine, Nest) else ()
    sums = [s for s in first.statements if isinstance(s, Reduce) and s.op == "sum"]
    if len(sums) != len(first.statements) or not isinstance(squares, Reduce) or set(squares.over) != set(sums[0].over):
        return None
    found = _values_and_center(squares)
    if (
        found is None
        or product([*(typical(v.limit) for v in first.loops), squares.buffer.dtype.itemsize]) < target.SECOND_PASS_BYTES
    ):
        return None
    values, center = found
    total = next((s for s in sums if s.buffer.dtype is squares.buffer.dtype and _is_same(s.value, values)), None)
    return (
        None
        if total is None or not _follows(total, values, center, between)
        else Moments(first, total, squares, center)
    )


def _has_blocks(nest: Nest) -> bool:
    """Whether loops are reduced over from the outermost on."""
    over = set(nest.reduced)
    return bool(over) and over == set(nest.loops[: len(over)])


def _values_and_center(s: Reduce) -> tuple[Expression, Expression] | None:
    """Of a sum of ``(x - c)²``, with ``c`` the same for all that is summed into one: ``x`` and ``c``."""
    x, dtype = s.value, s.buffer.dtype
    if s.op != "sum" or dtype.kind != "f" or dtype.bits < 32 or not isinstance(x, Apply):
        return None
    if not (x.op == "square" or (x.op == "mul" and x.args[0] is x.args[1])):
        return None
    distance = x.args[0]
    if not isinstance(distance, Apply) or distance.op != "sub" or distance.dtype is not dtype:
        return None
    values, center = distance.args
    places = [
        i
        for x in subexpressions(center)
        for i in (x.at if isinstance(x, Load) else [x.index] if isinstance(x, Position) else [])
    ]
    return None if any(i.variables() & set(s.over) for i in places) else (values, center)


def _follows(total: Reduce, values: Expression, center: Expression, between: list[Entry]) -> bool:
    """Whether the center is computed from the sum of the values, and nothing overwrites these."""
    read = {load.buffer for load in loads_in(values)}
    made: set[Buffer] = {total.buffer}
    for entry in between:
        if isinstance(entry, Check):
            continue
        reads, writes = touched(statements_of(entry))
        if writes & read:
            return False
        if reads & made:
            made |= writes
    return any(load.buffer in made for load in loads_in(center))


def _is_same(x: Expression, y: Expression) -> bool:
    """Whether two expressions over the same loops are equal."""
    if x is y:
        return True
    if type(x) is not type(y) or x.dtype is not y.dtype:
        return False
    if isinstance(x, Load) and isinstance(y, Load):
        return x.buffer is y.buffer and all(map(_same_index, x.at, y.at))
    if isinstance(x, Apply) and isinstance(y, Apply):
        return x.op == y.op and x.of is y.of and all(map(_is_same, x.args, y.args))
    if isinstance(x, Convert) and isinstance(y, Convert):
        return x.bits == y.bits and _is_same(x.x, y.x)
    return bool(x == y)


def _same_index(i: Index, j: Index) -> bool:
    def key(a: Any) -> Any:
        return a if isinstance(a, Var) else None

    if any(isinstance(a, Element) or key(a) is None for a in (*i.terms, *j.terms)):
        return False
    return i == j
