"""NumPy's functions that are written in Python, where the language has no definition of them: their source is traced as the user's.

The other way is an opaque call, which is tried on dummy data, and may have to start over where its results depend on values. It
cannot stand behind a write, and cannot give a view.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.libraries.numpy import lapack
from tnp.capture.libraries.numpy.dtype_queries import ANSWERS
from tnp.capture.libraries.numpy.opaque_calls import run_opaquely
from tnp.capture.libraries.numpy.strided import as_strided
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["call_undefined"]

#: functions whose results depend on values, or that call others that are compiled: their source is traced first
_FIRST = frozenset((
    np.polyfit, np.roots, np.trim_zeros,
    *(getattr(np.emath, name) for name in ("sqrt", "log", "log2", "log10", "logn", "power", "arccos", "arcsin", "arctanh")),
))  # fmt: skip
#: functions that look for other classes of arrays among the items of their argument, which they refuse if it has no dimensions
_OF_ITEMS = frozenset((np.poly, np.roots))
#: functions that are defined while tracing
_OWN: dict[Any, Any] = {np.lib.stride_tricks.as_strided: as_strided}
_DISPATCHED = type(np.sum)
#: modules whose functions make texts, act on files, or make other arrays than plain ones
_NOT_TRACED = (
    "numpy._core.arrayprint", "numpy._core.records", "numpy._core.memmap", "numpy.core", "numpy.ctypeslib", "numpy.f2py",
    "numpy.lib._datasource", "numpy.lib._format_impl", "numpy.lib._npyio_impl", "numpy.lib._utils_impl", "numpy.lib.recfunctions",
    "numpy.ma", "numpy.matrixlib", "numpy.random", "numpy.testing",
)  # fmt: skip


def call_undefined(tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a function of NumPy's that the language lacks: an opaque call, or its source traced where there can be none."""
    if lapack.is_routine(function):
        return lapack.call(tracer, function, args, kwargs)
    if function in _OF_ITEMS and any(getattr(x, "ndim", 1) == 0 for x in (*args, *kwargs.values())):
        raise NeedsEager(f"np.{function.__name__} takes no array without dimensions")
    own = _OWN.get(function)
    if own is not None:
        return own(*args, **kwargs)
    source = _in_python(function)
    if source is None or function in ANSWERS:
        return run_opaquely(tracer, function, args, kwargs)
    if function in _FIRST or source.__name__.startswith("_"):
        return _traced(source, args, kwargs)
    try:
        return run_opaquely(tracer, function, args, kwargs)
    except NeedsEager as error:
        try:
            return _traced(source, args, kwargs)
        except NeedsEager:
            raise error from None


def _in_python(function: Any) -> types.FunctionType | None:
    """A function as it is written in Python, without what looks for other classes of arrays; ``None`` if it is
    written in C, or is not traced."""
    found = getattr(function, "__wrapped__", None) if type(function) is _DISPATCHED else function
    if type(found) is not types.FunctionType or str(found.__globals__.get("__name__")).startswith(_NOT_TRACED):
        return None
    return found


def _traced(source: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from tnp.capture.tracing.hooks import call_traced

    return call_traced(source, args, kwargs)
