"""Calls of symbols outside of tracing: one operation, compiled and run."""

from __future__ import annotations

from typing import Any

from tnp.capture import active
from tnp.capture.guards.prologue import Prologue
from tnp.compile.cache_entry import CacheEntry, CallSignature
from tnp.compile.compiled_function import Jitted
from tnp.compile.executor_selection import OperatorSelection
from tnp.compile.faults import located
from tnp.core.errors import EagerFallbackWarning, NeedsEager, TraceError
from tnp.core.symbol import call_outside_trace_with
from tnp.core.trace import detached

__all__: list[str] = []


class _Single(Jitted):
    """One operation as a function. Called a few times on arrays of many shapes, it is not worth compiling."""

    runs_eagerly = False

    make_selection = OperatorSelection

    def _refused(self, form: CallSignature, prologue: Prologue, error: TraceError) -> CacheEntry:
        raise located(error, self.__tnp_function__) from None

    def _eager_entry(
        self, form: CallSignature, prologue: Prologue, reason: NeedsEager, warning: type[Warning] = EagerFallbackWarning
    ) -> CacheEntry:
        """There is no other way to run it."""
        if isinstance(reason.__cause__, TraceError):
            raise reason.__cause__
        raise TraceError(f"{self.__qualname__} cannot run: {reason.reason} (at {reason.location})") from None


_single: dict[Any, Jitted] = {}


def _call_one(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A symbol called outside any trace: that one operation, compiled and run."""
    jitted = _single.get(symbol)
    if jitted is None:

        def call(*args: Any, **kwargs: Any) -> Any:
            return active.current().call(symbol, args, kwargs)

        call.__name__ = call.__qualname__ = symbol.name
        vars(call)["__tnp_operation__"] = symbol
        jitted = _single[symbol] = _Single(call)
    with detached():
        return jitted(*args, **kwargs)


call_outside_trace_with(_call_one)
