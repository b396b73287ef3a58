"""Effects that a program executes at each run: printing, logging, and reading clocks."""

from __future__ import annotations

from typing import Any

from tnp.core.proxies import NumberProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.registry import npsymbol
from tnp.runtime.python_calls import Effect

__all__ = ["clock_call", "python_call", "warning_call"]


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT,))
def python_call(effect: Effect, result: type | None, *values: Any) -> NumberProxy | None:
    """Makes the call, with the values of its slots. Gives a number of type ``result``, or nothing."""
    return None if result is None else NumberProxy(None, result)


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT, OpTags.BARRIER))
def clock_call(effect: Effect, result: type | None, *values: Any) -> NumberProxy | None:
    """As :func:`python_call`, of what tells how long the program takes: all that stands before it is computed before."""
    return None if result is None else NumberProxy(None, result)


@npsymbol(id_prefix="tnp", tags=(OpTags.EFFECT, OpTags.MAY_RAISE, OpTags.WARNS))
def warning_call(effect: Effect, result: type | None, *values: Any) -> None:
    """As :func:`python_call`, of what may raise (``warnings.warn``)."""
