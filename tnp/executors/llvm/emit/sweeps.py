"""The loop over the rows of a sweep: some rows at a time, so that several cache lines are in flight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.accumulators import SLOT_BYTES, Accumulator, combine_pairwise, make_accumulator
from tnp.executors.llvm.emit.body import Body, Part
from tnp.executors.llvm.emit.columns import ROWS, Columns
from tnp.executors.llvm.emit.loops import ROW_BLOCKS, accumulators_in, emit_ending, emit_group, emit_stage, runs_of
from tnp.executors.llvm.emit.parts import CHUNK, even_length, part_of
from tnp.executors.llvm.graph import Reduction
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.row_fusion import Sweep, adds_rows
from tnp.executors.llvm.statements import Group, Nest, Statement

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = ["emit_sweep"]

#: rows that are gone through at once
TOGETHER = 4

Sums = dict[Statement, Accumulator]


def emit_sweep(module: Module, nest: Sweep) -> Iterator[Callable[[Code], None]]:
    """The function of nests over the same rows, for blocks of these; its call, and those that combine the blocks' sums."""
    body = Body(module, nest)
    code = body.code
    (rows,) = nest.outer
    length = -(-max(ROWS, -(-rows.limit // ROW_BLOCKS)) // TOGETHER) * TOGETHER
    blocks = -(-rows.limit // length)
    added = {part: _columns(body, part) for part in nest.nests if adds_rows(part)}
    slots = {s: module.temporary(blocks * c.width * SLOT_BYTES) for c in added.values() for s in c.members}
    with body.loop("%begin", "%end") as block:
        sums: dict[Nest, Sums] = {}
        for part, columns in added.items():
            first = code.op(f"mul nuw nsw i64 {block}, {columns.width}")
            sums[part] = {s: accumulators_in(body, s, slots[s], first) for s in columns.members}
            columns.reset(sums[part])
        begin, end, *_ = part_of(body, block, length, rows.limit)
        if not end:
            end = code.op(f"add nuw nsw i64 {begin}, {length}")
        several = code.op(f"and i64 {code.op(f'sub nuw nsw i64 {end}, {begin}')}, {-TOGETHER}")
        alone = code.op(f"add nuw nsw i64 {begin}, {several}")
        count = code.op(f"udiv i64 {several}, {TOGETHER}")
        with body.loop("0", count, maybe_empty=True) as i:
            first = code.op(f"add nuw nsw i64 {begin}, {code.op(f'mul nuw nsw i64 {i}, {TOGETHER}')}")
            at = [first, *(code.op(f"add nuw nsw i64 {first}, {k}") for k in range(1, TOGETHER))]
            _emit_rows(body, nest, at, added, sums)
        if rows.limit % TOGETHER:
            with body.loop(alone, end, maybe_empty=True) as i:
                _emit_rows(body, nest, [i], added, sums)
    cost = sum(s.cost() * s.iterations() for s in nest.statements())
    yield module.call(body.finish(), blocks, cost / blocks)
    for columns in added.values():
        yield emit_ending(columns, slots, blocks)


def _columns(body: Body, nest: Nest) -> Columns:
    (group,) = nest.groups
    loops = group.inner(0)
    return Columns(body, group, loops, next(v.limit for v in loops if v not in group.statements[0].reduced))


def _emit_rows(
    body: Body, nest: Sweep, at: Sequence[str], added: Mapping[Nest, Columns], sums: Mapping[Nest, Sums]
) -> None:
    """What a sweep does in the rows whose numbers are in the registers ``at``."""
    (rows,) = nest.outer
    for part in nest.nests:
        columns = added.get(part)
        if columns is not None and len(columns.inner) == len(columns.loops) - 2:
            _add_rows(columns, rows, at, sums[part])
        elif columns is None and _begins_with_sums(body, part):
            _sum_rows(body, part.groups, rows, at)
        else:
            end = body.code.op(f"add nuw nsw i64 {at[0]}, {len(at)}")
            with body.over(rows, Part(at[0], end)):
                if columns is not None:
                    columns.add_row(sums[part])
                else:
                    emit_stage(body, part)


def _begins_with_sums(body: Body, nest: Nest) -> bool:
    """Whether a nest is sums along a row, in one loop, and then what is computed of them once a row."""
    first, *others = nest.groups
    loops = first.inner(1)
    reduces = all(isinstance(s.node, Reduction) and s.reduced == set(loops) for s in first.statements)
    if len(nest.outer) != 1 or not loops or not reduces or any(group.inner(1) for group in others):
        return False
    return len(runs_of(body.module, first.statements, loops)) == 1


@contextmanager
def _row(body: Body, rows: Var, row: str) -> Iterator[None]:
    """Positions are in that row."""
    body.known.append({rows: row})
    yield
    body.known.pop()


def _add_rows(columns: Columns, rows: Var, at: Sequence[str], into: Sums) -> None:
    """Adds some rows: what has been accumulated is loaded and stored once."""
    body = columns.body
    with columns.columns() as column:
        totals = {s: a.get(column) for s, a in into.items()}
        for row in at:
            with _row(body, rows, row):
                for s, a in into.items():
                    totals[s] = a.combine(body.code, totals[s], a.element())
        for s, a in into.items():
            a.put(totals[s], column)


def _sum_rows(body: Body, groups: Sequence[Group], rows: Var, at: Sequence[str]) -> None:
    """Sums along some rows, in one loop; then, row by row, what is computed of them."""
    group, *others = groups
    run = group.inner(1)
    limit = math.prod(v.limit for v in run)
    length = (even_length(group.statements, limit) or CHUNK) if limit > CHUNK else limit
    count = -(-limit // length)
    several = len(at)
    totals = {s: make_accumulator(body, s, count * several) for s in group.statements}
    own = [{s: make_accumulator(body, s) for s in group.statements} for _ in at]
    with ExitStack() as loops:
        block = loops.enter_context(body.loop("0", str(count))) if count > 1 else "0"
        for sums in own:
            for a in sums.values():
                a.reset()
        # the rows are independent sums enough: LLVM is not to interleave vectors of each
        with body.together(run, part_of(body, block, length, limit)._replace(vectors=1)):
            for row, sums in zip(at, own):
                with _row(body, rows, row):
                    for a in sums.values():
                        a.add_element()
        first = body.code.op(f"mul nuw nsw i64 {block}, {several}")
        for k, sums in enumerate(own):
            place = body.code.op(f"add nuw nsw i64 {first}, {k}")
            for s, a in sums.items():
                totals[s].put(a.get(), place)
    combine_pairwise(list(totals.values()), count, several)
    for k, row in enumerate(at):
        with _row(body, rows, row):
            for s, a in totals.items():
                body.store(s.node, s.store.at, a.result(str(k)))
            for other in others:  # memory that the row has for itself is the next row's, too
                emit_group(body, other, 1)
