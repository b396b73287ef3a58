"""Random NumPy programs for tests: their source, their arguments, and how far results may differ from NumPy's.

:func:`random_program` writes a function statement by statement, running each under NumPy as it goes, so that programs are
valid (or end in the error that they are to end in). What it keeps is text: :meth:`Program.script` prints a program that runs
by itself.

Results of exact operations must be equal. Others carry a bound on their error, which :class:`Replay` follows through the
statements: ``0`` for an exact value, infinite where nothing can be said (a rounding of a value that is not exact).
"""

from .arguments import layout, values
from .comparing import SMALL_BLOCKS, difference, first_failure
from .minimising import minimised
from .programs import Program, define
from .tally import Tally
from .writing import random_program

__all__ = [
    "SMALL_BLOCKS",
    "Program",
    "Tally",
    "define",
    "difference",
    "first_failure",
    "layout",
    "minimised",
    "random_program",
    "values",
]
