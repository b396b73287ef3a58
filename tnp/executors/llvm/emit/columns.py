"""Reductions over rows, several columns at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tnp.executors.llvm.emit.accumulators import Accumulator, make_accumulator
from tnp.executors.llvm.emit.body import Body, Part
from tnp.executors.llvm.emit.parts import (
    Parts,
    part_of,
    vectors_that_fill,
    whole_vectors,
)
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.statements import Group, Statement

__all__ = ["ROWS", "TILE", "Columns"]


#: columns of a reduction over rows that are accumulated at a time
TILE = 2048


#: rows that one accumulator sums in a reduction over rows
ROWS = 128


class Columns:
    """A reduction over outer loops, for one tile of the columns: a row of accumulators, added to row by row.

    ``tile``: how many columns, in steps of the outermost loop that is kept; several rows are added at a time then, so that single vectors of them
    are enough work.
    """

    def __init__(self, body: Body, group: Group, loops: list[Var], tile: int | None = None) -> None:
        self.body = body
        self.group = group
        self.loops = loops
        self.members = [s for s in group.statements if s.reduced]
        self.is_ordered = any(s.ordered for s in group.statements)
        self.first, *self.inner = [v for v in loops if v not in self.members[0].reduced]
        below = math.prod(v.limit for v in self.inner)
        self.is_given = tile is not None
        #: columns of a tile, and how many tiles there are
        self.tile = min(self.first.limit, max(1, TILE // below)) if tile is None else tile
        self.tiles = -(-self.first.limit // self.tile)
        #: the last tile begins early if sums may be made twice, so that all have the same length
        self.repeats = self.tiles > 1 and not self.inner and len(self.members) == len(group.statements)
        if self.repeats:
            self.tile = min(self.first.limit, whole_vectors(group.statements, -(-self.first.limit // self.tiles)))
            self.tiles = -(-self.first.limit // self.tile)
        self.width = self.tile * below
        self.part = Part("0", str(self.first.limit))

    def set_tile(self, t: str) -> None:
        limit = self.first.limit
        if self.repeats:
            self.part = Parts(limit, self.tile, self.tiles, overlaps=True).part(self.body, t)
        else:
            self.part = part_of(self.body, t, self.tile, limit)

    def _loop(self, var: Var, is_last: bool) -> AbstractContextManager[str]:
        """A loop over columns. In the innermost one, each iteration has accumulators of its own."""
        part = self.part if var is self.first else Part("0", str(var.limit))
        if not is_last:
            return self.body.over(var, part)
        length = part.count or (var.limit if part.end == str(var.limit) else 0)
        return self.body.over(var, part._replace(vectors=self.vectors(length)), independent=True)

    def vectors(self, length: int) -> int | None:
        """How many vectors of columns LLVM is to take at a time."""
        return 1 if self.is_given else vectors_that_fill(self.group.statements, length)

    def _place(self) -> str:
        """The number of this point's column in the tile."""
        code, column = self.body.code, self.body.find(self.first)
        if self.part.begin != "0":
            column = code.op(f"sub nuw nsw i64 {column}, {self.part.begin}")
        for v in self.inner:
            column = code.op(f"mul nuw nsw i64 {column}, {v.limit}")
            column = code.op(f"add nuw nsw i64 {column}, {self.body.find(v)}")
        return column

    @contextmanager
    def columns(self) -> Iterator[str]:
        """Loops over the columns of the tile."""
        with ExitStack() as loops:
            kept = [self.first, *self.inner]
            for var in kept:
                loops.enter_context(self._loop(var, var is kept[-1]))
            yield self._place()

    def reset(self, rows: dict[Statement, Accumulator]) -> None:
        with self.columns() as column:
            for a in rows.values():
                a.reset(column)

    def add_rows(self, into: dict[Statement, Accumulator], part: Part | None = None) -> None:
        """Adds what stands in part of the outermost loop, or in all of it."""
        if self.loops[0] is self.first:
            self._add(self.loops, into)
        else:
            with self.body.over(self.loops[0], part):
                self.add_row(into)

    def add_row(self, into: dict[Statement, Accumulator]) -> None:
        """Adds what stands in this iteration of the outermost loop."""
        self._add(self.loops[1:], into)

    def _add(self, remaining: list[Var], into: dict[Statement, Accumulator]) -> None:
        if not remaining:
            column = self._place()
            for s in self.group.statements:
                if s in into:
                    into[s].add_element(column)
                else:
                    self.body.run(s)
        else:
            var, *others = remaining
            kept = var is self.first or var in self.inner
            with self._loop(var, not others and not self.is_ordered) if kept else self.body.over(var):
                self._add(others, into)

    def emit(self, t: str) -> None:
        """The tile ``t``, all rows: blocks of rows in accumulators of their own, so that errors stay small."""
        body = self.body
        self.set_tile(t)
        totals = {s: make_accumulator(body, s, self.width) for s in self.members}
        self.reset(totals)
        limit = self.loops[0].limit
        if limit > 2 * ROWS and self.loops[0] is not self.first and any(a.dtype.kind in "fc" for a in totals.values()):
            partial = {s: make_accumulator(body, s, self.width) for s in self.members}
            with body.loop("0", str(-(-limit // ROWS))) as block:
                self.reset(partial)
                self.add_rows(partial, part_of(body, block, ROWS, limit))
                with self.columns() as column:
                    for s, a in partial.items():
                        totals[s].add(a.get(column), column)
        else:
            self.add_rows(totals)
        self.store(totals)

    def store(self, totals: dict[Statement, Accumulator]) -> None:
        with self.columns() as column:
            for s, a in totals.items():
                self.body.store(s.node, s.store.at, a.result(column))
