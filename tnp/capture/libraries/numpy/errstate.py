"""``np.errstate`` and ``np.seterr``: how floating-point errors are reported, which the program sets where it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy import lapack
from tnp.core.errors import NeedsEager
from tnp.core.symbol import BoundSymbol
from tnp.lang import numpy as lnp

__all__ = ["Errstate", "check_restored", "is_setting", "set_errors"]


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


class Settings:
    """What ``np.seterr(…)`` returns in a traced program: what was set before, which the running program knows."""

    def __init__(self, state: Errstate, regions: tuple[Any, ...]) -> None:
        self.state = state
        self.regions = regions

    def keys(self) -> tuple[str, ...]:
        return _KINDS

    def __getitem__(self, kind: str) -> tuple[Settings, str]:
        if kind not in _KINDS:
            raise KeyError(kind)
        return self, kind

    def restored_by(self, given: dict[str, Any]) -> bool:
        """Whether ``np.seterr(**given)`` sets all again that was set since."""
        changed = _KINDS if "all" in self.state.settings else self.state.settings
        return set(changed) <= set(given) and all(
            type(v) is tuple and v[0] is self and v[1] == k for k, v in given.items()
        )


def set_errors(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> Settings:
    """``np.seterr``, whose settings a later call restores, in the same loop or branch."""
    given = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    given = {k: v for k, v in given.items() if v is not None}
    tracer = active.current()
    regions = tuple(tracer.regions)
    if tracer.set_errors and tracer.set_errors[-1].restored_by(given):
        last = tracer.set_errors[-1]
        if last.regions != regions:
            raise NeedsEager("it restores what np.seterr has set in another loop or branch")
        tracer.set_errors.pop()
        last.state.__exit__(None, None, None)
        return last
    if not given or any(type(v) is not str or v not in _WAYS for v in given.values()):
        raise NeedsEager(_UNKNOWN)
    state = Errstate(**given)
    state.__enter__()
    tracer.set_errors.append(Settings(state, regions))
    return tracer.set_errors[-1]


def check_restored(tracer: Any) -> None:
    """Raises :class:`NeedsEager` if errors are reported another way than before when the program ends."""
    if tracer.set_errors:
        raise NeedsEager(_UNKNOWN)


_KINDS = ("divide", "over", "under", "invalid")
_WAYS = ("ignore", "warn", "raise", "print")
_UNKNOWN = "it calls seterr, which may do something else at each call"


def is_setting(b: BoundSymbol) -> bool:
    """Whether an operation says how errors are reported."""
    return b.sym.id in (lnp.enter_errstate.id, lnp.exit_errstate.id)
