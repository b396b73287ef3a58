"""The table of lowering rules, by kinds of prims: importing a module adds its rows to :data:`~tnp.executors.llvm.lowering.RULES`."""

from tnp.executors.llvm.rules import (
    decompositions,
    elementwise,
    indexing,
    matmul,
    matrices,
    panels,
    reductions,
    searching,
    views,
)

__all__ = [
    "decompositions",
    "elementwise",
    "indexing",
    "matmul",
    "matrices",
    "panels",
    "reductions",
    "searching",
    "views",
]
