"""Variables of a loop that are of several kinds: a number or a scalar, maybe unbound, maybe ``None``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.control_flow.loop_carried import (
    CarriedSizes,
    carried_handle,
    either_of,
    is_bound,
    is_scalar,
    name_of,
    output_handle,
    parts_of,
    proxy_of,
)
from tnp.capture.control_flow.maybe_unbound import TracedMaybe, nothing_like, split
from tnp.capture.speculation.regions import UNBOUND
from tnp.capture.speculation.trials import Failure, Trial
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.scalar_kind import TracedEither, either
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy

__all__ = ["UnsettledVariables"]


class UnsettledVariables(Trial):
    """A loop on trial, as far as its variables do not have one kind."""

    iterations: Iterations | None
    sizes: CarriedSizes
    loose: set[str]

    def __init__(self, functions: Sequence[Any], names: Sequence[str], stores: Sequence[str]) -> None:
        super().__init__(functions, names, stores)
        #: variables that may be unbound: a proxy of the value, by name
        self.maybe: dict[str, Any] = {}
        #: those of them that are bound to ``None`` instead
        self.optional: set[str] = set()
        #: variables that the first iteration surely binds: a proxy of the value, or the kinds of a number or a scalar, by name
        self.bound_first: dict[str, Any] = {}

    def _carry_either(
        self, name: str, value: Any, inits: dict[str, Any], carried: dict[str, Proxy], entries: dict[str, Any]
    ) -> None:
        """Carries a variable that is a number or a scalar: its value, and whether it is a scalar."""
        kinds = self.mixed[name]
        begin = either(value, kinds)
        if begin is None:
            raise Failure(f"{name} begins as another kind of number")
        inits[name], inits[is_scalar(name)] = parts_of(begin)
        init = inits[name]
        carried[name] = TensorProxy(self.trace.make_name(name_of(name)), like=init, lang=init.lang, scalar=True)
        carried[is_scalar(name)] = NumberProxy(self.trace.make_name("n"), bool)
        entries[name] = either_of((carried[name], carried[is_scalar(name)]), kinds)

    def _carry_maybe(
        self, name: str, value: Any, inits: dict[str, Any], carried: dict[str, Proxy], entries: dict[str, Any]
    ) -> None:
        """Carries a variable that may be unbound: what it is bound to, and whether it is."""
        held, there = split(value, self._nothing(name))
        if held is UNBOUND:
            nothing = nothing_like(self.maybe[name])
            held = output_handle(nothing, None) if isinstance(nothing, Proxy) else nothing
        made = carried_handle(name, held, is_loose=name in self.loose, writable=False, varying=(), size=self.sizes.size)
        if made is None or name in self.mixed:
            raise Failure(f"{name} may be unbound")
        inits[name], carried[name], entries[name] = made
        inits[is_bound(name)], carried[is_bound(name)] = there, NumberProxy(self.trace.make_name("n"), bool)

    def _nothing(self, name: str) -> Any:
        """What a variable that may be nothing is bound to then."""
        return None if name in self.optional else UNBOUND

    def _maybe(self, name: str, handle: Any, flag: Any) -> Any:
        return (TracedOptional if name in self.optional else TracedMaybe)(handle, TracedNumber(flag))

    def _may_be_nothing(self, name: str, value: Any) -> bool:
        if type(value) is TracedMaybe:
            self.maybe.setdefault(name, proxy_of(value.value))
        elif type(value) is TracedOptional and name not in self.maybe:
            self._may_be_none(name, proxy_of(value.value))
        return name in self.maybe

    def _may_be_none(self, name: str, like: Any) -> None:
        """Notes that a variable is ``None`` or something like a proxy, in an iteration."""
        varying = self.tracer.inputs.prologue.varying
        if name not in self.mixed and nothing_like(like) is not None and not varying.knows_none:
            varying.has_optionals = True
            self.optional.add(name)
            self.maybe[name] = like

    def _note_unbound(self, name: str, value: Any) -> None:
        """Notes a variable that is unbound before the loop. An iteration that may leave the loop cannot be peeled."""
        like = value.kinds if type(value) is TracedEither else proxy_of(split(value)[0])
        if nothing_like(like) is None and type(value) is not TracedEither:
            return
        if type(value) is not TracedMaybe and self.iterations is not None and self.iterations.known:
            self.bound_first[name] = like
            if type(value) is TracedEither:
                self.mixed[name] = like
        elif type(value) is not TracedEither:
            self.maybe[name] = like
