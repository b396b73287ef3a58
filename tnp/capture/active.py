"""The active tracer of this thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["current", "running", "set_current"]


class _State(threading.local):
    tracer: Tracer | None = None


_state = _State()


def running() -> Tracer | None:
    """The tracer at work, or ``None``."""
    return _state.tracer


def current() -> Tracer:
    """The tracer at work. Raises ``RuntimeError`` for a traced array that outlived its trace."""
    if _state.tracer is None:
        raise RuntimeError(
            "a traced array was used after its trace was finished: do not keep arrays of a jitted function"
        )
    return _state.tracer


def set_current(tracer: Tracer | None) -> Tracer | None:
    """Makes ``tracer`` current and returns the one before it."""
    before = _state.tracer
    _state.tracer = tracer
    return before
