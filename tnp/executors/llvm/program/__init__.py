"""Loops and branches of the user's program as one native function.

:mod:`~tnp.executors.llvm.loop_ir` reorders straight-line code over arrays of known shapes. Here a program is compiled
as written: its loops, its scalars in registers, single elements read and written in place, rows and columns of run-time
lengths.

:mod:`ir` defines the IR, and :mod:`lowering` makes it: names, checks, loops and memory. :mod:`rules` is the table of
operations, which :mod:`numbers`, :mod:`views`, :mod:`arrays`, :mod:`reductions`, :mod:`equations`, :mod:`updates` and
:mod:`flow` fill.
:mod:`blocks` puts straight-line code and loops together. :mod:`parallel` and :mod:`interrupts` decide what loops do besides. :mod:`instructions`, :mod:`emitter` and
:mod:`functions` write LLVM IR. :mod:`region` is the interface to the executor.
"""

from tnp.executors.llvm.program.blocks import BLOCK, with_blocks
from tnp.executors.llvm.program.lengths import with_sizes, with_symbols
from tnp.executors.llvm.program.region import AnySizeProgram, ProgramRegion, has_room, is_sized, may_pay, takes

__all__ = [
    "BLOCK",
    "AnySizeProgram",
    "ProgramRegion",
    "has_room",
    "is_sized",
    "may_pay",
    "takes",
    "with_blocks",
    "with_sizes",
    "with_symbols",
]
