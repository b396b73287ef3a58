"""The executors of a program: those that the user named, those for its devices, and the always executors."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.array_kinds import USER_KIND
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace
from tnp.executors import registry
from tnp.transforms.batch_calls import batch_calls
from tnp.transforms.own_results import own_results

__all__ = ["ExecutorSelection", "OperatorSelection"]


class ExecutorSelection:
    """The executors of one function. ``named`` and ``always`` are what the user listed, ``None`` for the defaults; they are looked up anew at
    each compilation, since extensions may be registered at any time. Raises ``ValueError`` for names of no executor."""

    def __init__(self, named: Any, always: Any, *, fastmath: bool) -> None:
        self.listed = _listed(named)
        self.always = _listed(always)
        self.fastmath = fastmath
        #: the executors that programs were compiled for, and what the lists of executors stood for then
        self.used: set[Any] = set()
        self.meaning: tuple[Any, ...] = ()

    def begin(self) -> None:
        """Notes what is used by a compilation that begins now."""
        self.meaning = registry.meaning(self.listed, self.always)
        self.used.update(self.named())

    def has_changed(self) -> bool:
        """Whether the lists stand for other executors now than those that programs were compiled for."""
        return bool(self.used) and self.meaning != registry.meaning(self.listed, self.always)

    def named(self) -> list[Any]:
        """The executors that the user listed, or the defaults."""
        found = registry.get_default_executors() if self.listed is None else registry.resolve(self.listed)
        return [e.with_fastmath() for e in found] if self.fastmath else list(found)

    def of_gradients(self, languages: Collection[str]) -> list[Any]:
        """The executors whose gradient rules a program uses while it is traced, when its devices are not known yet."""
        named = self.named()
        torch = sys.modules.get("torch")
        if self.listed is None and torch is not None and torch.cuda.is_initialized():
            named += [e for e in registry.get_device_executors(["cuda"]) if e not in named]
        return [*named, *self.behind(languages)]

    def behind(self, languages: Iterable[str]) -> Sequence[Any]:
        """The executors that run what no other claims, for values of these languages."""
        return registry.get_always_executors(languages) if self.always is None else registry.resolve(self.always)

    def for_trace(self, trace: Trace) -> list[Any]:
        """The executors that a trace is offered to, in order, each behind its fuser."""
        named = self.named()
        tensors = [p for b in trace.bound_symbols for p in b.flat_outputs if isinstance(p, TensorProxy)]
        if self.listed is None:
            kinds = {p.device.devicetype.value for p in tensors}
            named += [e for e in registry.get_device_executors(sorted(kinds - {"cpu"})) if e not in named]
        if USER_KIND.of(trace) != "numpy":  # arrays of that kind are among the arguments
            own = registry.resolve(registry.executors_of_device("cuda") or ())
            named = [*(named if self.listed is not None else ()), *(e for e in own if e not in named)]
        behind = self.behind({p.lang.name for p in tensors})
        found = [*named, *(e for e in behind if e not in named)]
        self.used.update(found)
        return [f for e in found for f in (e.fuser, e) if f is not None]

    def needs_known_sizes(self, trace: Trace) -> bool:
        """Whether an executor would compile operations of a trace if their symbolic sizes were known, and does not as it is."""
        fusers = [e for e in self.for_trace(trace) if e.is_fusing]
        trace = own_results(batch_calls(trace, fusers), fusers)  # which may leave loops that are compiled
        loops = [b for b in trace.bound_symbols if _has_a_loop(b)]  # a branch outside of loops runs once
        return any(e.needs_known_sizes(b) for e in fusers for b in loops)


class OperatorSelection(ExecutorSelection):
    """The executors of a single operation, which is not worth fusing."""

    def named(self) -> list[Any]:
        return [e for e in super().named() if not e.is_fusing]


def _has_a_loop(bsym: BoundSymbol) -> bool:
    """Whether an operation is a loop, or a branch with one inside."""
    if not is_control_flow(bsym):
        return False
    return bsym.sym is not prims.cond or any(_has_a_loop(b) for body in bodies_of(bsym) for b in body.bound_symbols)


def _listed(executors: Any) -> tuple[Any, ...] | None:
    if executors is None:
        return None
    named = executors if isinstance(executors, str) else tuple(executors)
    registry.resolve(named)
    return tuple(named)
