"""The trace being recorded, one a thread. It stands apart so that what traces are made of can ask for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = ["current_trace", "registrations", "state"]


class _State(threading.local):
    trace: Trace | None = None


state = _State()


def current_trace() -> Trace | None:
    """The trace that symbols called now are recorded in; ``None`` outside tracing."""
    return state.trace


class _Registrations:
    """How often extensions have registered an implementation or a rule: what was compiled before may be out of date."""

    count = 0

    def note(self) -> None:
        self.count += 1


registrations = _Registrations()
