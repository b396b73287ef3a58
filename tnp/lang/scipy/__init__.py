"""The SciPy language: functions of SciPy on NumPy's arrays, as operations of the trace.

Nothing here imports SciPy: a function is looked up once a program calls one, and then SciPy is loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from tnp.core.symbol import Symbol
from tnp.lang.scipy import special

__all__ = ["symbol_of"]


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of SciPy's functions; ``None`` if the language lacks it."""
    return special.symbol_of(function) if "scipy.special" in sys.modules else None
