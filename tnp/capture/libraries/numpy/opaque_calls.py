"""Calls of NumPy functions that the language does not define: evaluated from metadata, or opaque calls."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from tnp.capture.libraries.numpy.arguments import check_plain
from tnp.capture.libraries.numpy.dtype_queries import ANSWERS
from tnp.capture.rewrite.rewriter import RUNTIME
from tnp.capture.tracing.predicates import is_traced
from tnp.core.errors import NeedsEager, TraceError
from tnp.core.symbol import OpTags
from tnp.lang.numpy import opaque

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer
    from tnp.core.symbol import Symbol

__all__ = ["check_may_start_over", "run_opaquely"]

_EMPTY = types.CellType()


def run_opaquely(tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function that the language lacks: evaluated from metadata, or an opaque call."""
    answer = ANSWERS.get(function)
    if answer is not None:
        return answer(*args, **kwargs)
    name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
    if tracer.strict:
        raise TraceError(f"{name} would run as an opaque call, which strict=True refuses")
    if any(_is_of_trace(a) for a in (*args, *kwargs.values())):
        raise NeedsEager(f"it hands {name}, which is not compiled, a function that computes with traced values")
    check_plain(function, name, (*args, *kwargs.values()))
    check_may_start_over(tracer, opaque.symbol_for(function), name)
    return tracer.call(opaque.symbol_for(function), args, kwargs)


def check_may_start_over(tracer: Tracer, symbol: Symbol, name: str) -> None:
    """Raises :class:`NeedsEager` where a call that may have to start over, with results unlike those of a dry run, cannot stand."""
    if tracer.regions and OpTags.LATE_GUARD in symbol.tags:
        raise NeedsEager(f"it calls {name}, which is not compiled, in a loop or a branch")
    if any(s.dirty for s in tracer.inputs.storages) or any(
        b.has_tag_inside(OpTags.EFFECT) for b in tracer.trace.bound_symbols
    ):
        # The call may have to start over, which is only right while nothing has happened.
        raise NeedsEager(
            f"it calls {name}, which is not compiled, after it wrote to an argument or drew random numbers"
        )


def _is_of_trace(x: Any) -> bool:
    """Whether ``x`` is a function that means something only while the trace is made: one with hooks, or that has traced values."""
    if isinstance(x, (list, tuple)):
        return any(map(_is_of_trace, x))
    if type(x) is types.MethodType:
        return is_traced(x.__self__) or _is_of_trace(x.__func__)
    if type(x) is not types.FunctionType:
        return False
    return RUNTIME in x.__code__.co_freevars or any(
        is_traced(c.cell_contents) for c in x.__closure__ or () if c != _EMPTY
    )
