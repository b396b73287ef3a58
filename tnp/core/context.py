"""The trace that each thread is recording. A module of its own, so that the parts of traces can import it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = ["current_trace", "registrations", "state"]


class _State(threading.local):
    trace: Trace | None = None
    #: the shape of the array that what is computed now will be stored in, if it decides something
    stored_in: tuple[Any, ...] | None = None


state = _State()


def current_trace() -> Trace | None:
    """The trace that symbols called now are recorded in; ``None`` outside tracing."""
    return state.trace


class _Registrations:
    """Who keeps compiled programs is told here when an extension changes what they were compiled with.

    So that a call costs nothing more, it is the one who registers that looks for programs, not the program that looks at what is registered.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[str, Callable[[Any], bool]], None]] = []
        #: tables of rules by id
        self.tables: list[dict[Any, Any]] = []

    def note(self, what: str, concerns: Callable[[Any], bool]) -> None:
        """``what`` has changed (a clause, for the logs), which ``concerns(f)`` a jitted function ``f`` or does not."""
        for listener in self.listeners:
            listener(what, concerns)

    def defined(self, id: Any) -> None:
        """There is a new operation of that id: rules are of one that had it before (a notebook's cell runs again)."""
        for table in self.tables:
            table.pop(id, None)


registrations = _Registrations()
