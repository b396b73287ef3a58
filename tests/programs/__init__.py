"""Whole programs, written as users of NumPy write them: nothing in them is for tnp.

One module a theme; :mod:`tests.programs.registry` lists them for ``tests/whole_programs/test_programs.py``.
"""

from . import (
    branches,
    clustering,
    finance,
    image,
    linear_algebra,
    loops,
    misc,
    ml,
    nbody,
    physics,
    sequence,
    signal,
    solvers,
    statistics,
    stencils,
    values,
)
from .registry import Call, Program, programs

__all__ = [
    "Call",
    "Program",
    "branches",
    "clustering",
    "finance",
    "image",
    "linear_algebra",
    "loops",
    "misc",
    "ml",
    "nbody",
    "physics",
    "programs",
    "sequence",
    "signal",
    "solvers",
    "statistics",
    "stencils",
    "values",
]
