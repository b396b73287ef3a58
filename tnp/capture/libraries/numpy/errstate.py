"""``np.errstate``: how floating-point errors are reported, which the program sets where it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy import lapack
from tnp.core.errors import NeedsEager
from tnp.core.symbol import BoundSymbol
from tnp.lang import numpy as lnp

__all__ = ["Errstate", "is_setting"]


class Errstate:
    """``np.errstate(…)`` in a traced program: recorded on entry and on exit, set when the program runs."""

    def __init__(self, **settings: Any) -> None:
        self.is_lapacks = lapack.is_handler(settings.get("call"))
        if self.is_lapacks:
            settings = {}
        if "call" in settings or not all(isinstance(v, str) for v in settings.values()):
            raise NeedsEager("it sets an error callback with np.errstate")
        self.settings = settings
        self.before: Any = None
        self.real: Any = None
        self.raises = "raise" in settings.values()

    def __enter__(self) -> None:
        if self.before is not None:
            raise NeedsEager("it enters an np.errstate twice")
        tracer = active.current()
        if self.is_lapacks:
            self.before = lapack.begin(tracer)
            return
        self.before = tracer.call(lnp.enter_errstate, (), dict(self.settings))
        # What Python computes of known scalars meanwhile is computed now.
        self.real = np.errstate(**self.settings)
        self.real.__enter__()
        tracer.raising += self.raises

    def __exit__(self, *error: object) -> None:
        tracer = active.current()
        if self.is_lapacks:
            lapack.end(tracer, self.before)
            return
        self.real.__exit__(*error)
        tracer.raising -= self.raises
        tracer.call(lnp.exit_errstate, (self.before,), {})

    def __call__(self, function: Any) -> Any:
        raise NeedsEager("it decorates a function with np.errstate")


def is_setting(b: BoundSymbol) -> bool:
    """Whether an operation says how errors are reported."""
    return b.sym.id in (lnp.enter_errstate.id, lnp.exit_errstate.id)
