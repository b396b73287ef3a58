"""The loop IR, and the regions of symbolic sizes that are compiled by it: lowering, printing, LLVM IR, and the function that calls."""

from tnp.executors.llvm.loop_ir.fixed_region import FusedRegion
from tnp.executors.llvm.loop_ir.lengths import without_sizes
from tnp.executors.llvm.loop_ir.region import (
    SymbolicRegion,
    counts_what_it_makes,
    has_unknown_lengths,
    is_symbolic,
    kind_of,
    takes,
)

__all__ = [
    "FusedRegion",
    "SymbolicRegion",
    "counts_what_it_makes",
    "has_unknown_lengths",
    "is_symbolic",
    "kind_of",
    "takes",
    "without_sizes",
]
