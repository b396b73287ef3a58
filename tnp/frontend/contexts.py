"""Context managers that a program enters while it is traced, and that its operations run under."""

from __future__ import annotations

from typing import Any

from tnp.core.errors import NeedsEager
from tnp.frontend import state
from tnp.lang import numpy as lnp

__all__ = ["Errstate", "MayCatch"]


class Errstate:
    """``np.errstate(…)`` in a traced program: recorded on entry and on exit, set when the program runs."""

    def __init__(self, **settings: Any) -> None:
        if "call" in settings or not all(isinstance(v, str) for v in settings.values()):
            raise NeedsEager("it sets an error callback with np.errstate")
        self.settings = settings
        self.before: Any = None

    def __enter__(self) -> None:
        self.before = state.current().call(lnp.enter_errstate, (), dict(self.settings))

    def __exit__(self, *error: object) -> None:
        state.current().call(lnp.exit_errstate, (self.before,), {})


class MayCatch:
    """Any other context manager: it may catch errors of its body, or do something when there are some. A run-time error
    of the body's operations would come after it is left."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __enter__(self) -> Any:
        entered = self.inner.__enter__()
        state.current().catching += 1
        return entered

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        tracer = state.current()
        tracer.catching -= 1
        if isinstance(error, NeedsEager):
            tracer.must_run_eagerly = error  # even if the context manager swallows it
        return self.inner.__exit__(kind, error, traceback)
