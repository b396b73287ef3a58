"""Programs: loops and branches of the user's program as one native function, with all that is in them.

Where :mod:`~tnp.executors.llvm.schedule` rearranges straight-line code over arrays of known shapes, a program is
compiled as it is written: its loops, its scalars in registers, single elements read and written in place, rows and
columns whose lengths are known when it runs. :mod:`emitter` has registers, loops, memory and checks; :mod:`rules` the
table of operations, which :mod:`numbers`, :mod:`views`, :mod:`arrays`, :mod:`reductions`, :mod:`updates` and
:mod:`flow` fill; :mod:`region` is what the executor sees.
"""

from tnp.executors.llvm.program.region import ProgramRegion, is_sized, takes

__all__ = ["ProgramRegion", "is_sized", "takes"]
