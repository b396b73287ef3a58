"""Context managers that a program enters while it is traced, and that its operations run under."""

from __future__ import annotations

from typing import Any

from tnp.core.errors import NeedsEager
from tnp.frontend import state
from tnp.lang import numpy as lnp

__all__ = ["Errstate"]


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
