"""The SciPy language: functions of SciPy on NumPy's arrays, as operations of the trace.

Nothing here imports SciPy: a function is looked up once a program calls one, and then SciPy is loaded. :mod:`registry` says how
functions become operations.
"""

from __future__ import annotations

from typing import Any

from tnp.core.symbol import Symbol
from tnp.lang.scipy import registry, special
from tnp.runtime.modules import loaded

__all__ = ["call_of", "derived_of", "is_frozen", "is_part", "methods_of", "symbol_of", "unfrozen"]


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of SciPy's functions; ``None`` if the language lacks it."""
    if loaded("scipy") is None:
        return None
    found = special.symbol_of(function) if loaded("scipy.special") else None
    return found or registry.symbol_of(function)


call_of, is_part = registry.call_of, registry.is_part
derived_of, methods_of = registry.derived_of, registry.methods_of


def unfrozen(function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """Of a method of a distribution with parameters (``stats.norm(0, 1).pdf``): the distribution's own, and the parameters; ``None`` for
    other functions."""
    if loaded("scipy.stats") is None:
        return None
    from tnp.lang.scipy import stats_distributions

    return stats_distributions.unfrozen(function)


def is_frozen(x: Any) -> bool:
    """Whether ``x`` is a distribution whose parameters are numbers: it never changes."""
    if loaded("scipy.stats") is None or not str(type(x).__module__).startswith("scipy.stats"):
        return False
    from tnp.lang.scipy import stats_distributions

    return stats_distributions.is_frozen(x)
