"""Stencils that follow each other row by row, for some columns at a time.

Between a row and the next one all that is needed again should stay in a core's own cache: several rows of every array
and of every value between the stages. Planes of a volume do not. So the second loop is cut into tiles, and all rows are
made for one tile, then for the next; what a stage needs beside the last one's columns is made twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tnp.executors.llvm.emit.body import Body, Part
from tnp.executors.llvm.emit.parts import least, may_repeat, vectors_that_fill, whole_vectors
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.overlapped_fusion import Sliding, Stage

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = ["Tiles", "tiles_of"]

#: bytes of a row of the largest value that is left whole: a dozen of those are in a core's own cache
WHOLE_BYTES = 96 * 1024
#: bytes of such a row's part in a tile
ROW_BYTES = 48 * 1024
#: columns of a tile are a multiple of this, so that they fill vectors whatever stands inside
STEP = 32
#: rows at least for each one that the beginning of a tile makes twice
ROWS = 32


@dataclass(frozen=True)
class Tiles:
    """``count`` tiles of ``length`` iterations of the second loop of the last stage. The last one begins early."""

    module: Module
    nest: Sliding
    length: int
    count: int

    def begin(self, body: Body, tile: str) -> str:
        """The first column of a tile."""
        whole = body.code.op(f"mul nuw nsw i64 {tile}, {self.length}")
        return least(body, whole, self.nest.stages[-1].nest.outer[1].limit - self.length)

    def part(self, body: Body, begin: str, stage: Stage) -> Part:
        """What a stage makes of a row for the tile that begins there."""
        inner, count = _below(stage), _count(self.module, self.nest, stage, self.length)
        low, _ = stage.columns or (0, 0)
        first = body.code.op(f"mul nuw nsw i64 {body.code.op(f'add nuw nsw i64 {begin}, {low}')}, {inner}")
        if stage is not self.nest.stages[-1]:
            first = least(body, first, stage.nest.outer[1].limit * inner - count)
        return Part(first, "", count, vectors_that_fill(list(stage.nest.statements()), count))


def tiles_of(module: Module, nest: Sliding, runs: Sequence[Sequence[list[Var]]]) -> Tiles | None:
    """The tiles of stages whose loops inside a row are ``runs``; ``None`` if a row is one tile."""
    if any(len(r) != 1 or s.columns is None or _has_loops_inside(s) for r, s in zip(runs, nest.stages)):
        return None
    last = nest.stages[-1]
    limit = last.nest.outer[1].limit
    row = max(
        _below(s) * s.nest.outer[1].limit * int(n.node.dtype.itemsize) for s in nest.stages for n in s.nest.statements()
    )
    if row <= WHOLE_BYTES or nest.outer[0].limit < ROWS * max(s.high - s.low for s in nest.stages):
        return None
    if not may_repeat(module, list(last.nest.statements())):
        return None
    fitting = max(STEP, limit * ROW_BYTES // row // STEP * STEP)
    length = -(-limit // -(-limit // fitting))
    length = -(-length // STEP) * STEP
    wide = any(
        _count(module, nest, s, length) > _below(s) * s.nest.outer[1].limit or s.columns[1] - s.columns[0] > length // 4
        for s in nest.stages
        if s.columns is not None
    )
    return None if length >= limit or wide else Tiles(module, nest, length, -(-limit // length))


def _has_loops_inside(stage: Stage) -> bool:
    return any(g.inner(len(stage.nest.outer)) for g in stage.nest.groups)


def _below(stage: Stage) -> int:
    """Elements of an iteration of a stage's second loop."""
    return math.prod(v.limit for v in stage.nest.outer[2:])


def _count(module: Module, nest: Sliding, stage: Stage, length: int) -> int:
    """How many elements a stage makes of a row for a tile of that length. Of what is computed from the caller's arrays alone, some more
    may be made than are needed."""
    low, high = stage.columns or (0, 0)
    exact = (length + high - low) * _below(stage)
    statements = list(stage.nest.statements())
    reads_windows = any(module.plan.memory_of(a.node) in nest.windows for s in statements for a in s.loads)
    return exact if stage is nest.stages[-1] or reads_windows else whole_vectors(statements, exact)
