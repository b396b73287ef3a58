"""The state of autograd in a traced program: which values require a gradient, and where gradients are disabled.

If arguments require gradients, the whole trace is differentiated after tracing (:mod:`tnp.compile.aot_autograd`).
Tracing records what the trace does not show: values computed under ``torch.no_grad()``
(:data:`tnp.core.gradient_marks.DETACHED`), and writes with special semantics in autograd.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from tnp.capture.tracing.traced_values import serials
from tnp.core.activity import add_dependents
from tnp.core.errors import NeedsEager
from tnp.core.gradient_marks import DETACHED
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags, flat_proxies
from tnp.lang.torch import autocast
from tnp.lang.torch.opaque import dependences

if TYPE_CHECKING:
    from tnp.capture.tracing.traced_values import Storage, TracedArray
    from tnp.capture.tracing.tracer import Tracer
    from tnp.core.symbol import BoundSymbol

__all__ = ["Gradients"]


def _set_grad_enabled(mode: bool) -> None:
    with torch._C.DisableTorchFunction():  # which is no part of the program
        torch._C._set_grad_enabled(mode)


class Gradients:
    """Gradients in one trace.

    ``roots`` are the names of the values that require gradients by themselves: arguments, what a transform
    differentiates with respect to, and tensors that the program makes to be such (:meth:`require`).
    """

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        #: how modes were set, and whether gradients were on, when tracing began
        self.began = self.modes()
        self.began_on = self.is_on = torch.is_grad_enabled()
        #: the same of inference mode
        self.began_inferring = self._is_inferring = torch.is_inference_mode_enabled()
        #: whether there are statements that are computed in inference mode (``True``), and out of it
        self._modes: set[bool] = set()
        #: how many statements there were when it was turned on or off last
        self._turned_at = 0
        #: whether it matters where they are off
        self.tracks = self.began_on
        self.roots: set[str] = set()
        #: the names of arguments of which several elements may be one place in memory
        self.overlapping: set[str] = set()
        #: where in which body of the trace gradients were turned off
        self._off_since: tuple[list[BoundSymbol], int] | None = None
        #: where what was made later is made once more in the backward, in a function that is checkpointed
        self._repeats_since: int | None = None
        #: what depends on the roots among the first statements of the program, and how many those are
        self._known: tuple[set[str], int] = set(), 0

    # Where gradients are on

    def sync(self) -> None:
        """Notes whether gradients are on: called before anything is recorded."""
        if torch.is_inference_mode_enabled() is not self._is_inferring:
            self._turn_inference()
        on = torch.is_grad_enabled()
        if on == self.is_on or not self.tracks:
            self.is_on = on
            return
        statements = self.tracer.trace.statements
        if not on:
            self._off_since = statements, len(statements)
        elif self._off_since is not None:
            where, start = self._off_since
            if where is not statements:
                raise NeedsEager("it turns gradients off around a part of a loop or a branch")
            self._detach(statements[start:])
            self._off_since = None
        self.is_on = on

    def guard_mode(self) -> None:
        """The trace holds only where gradients are on, or off, as they are now."""
        prologue = self.tracer.inputs.prologue
        on = f"{prologue.constant(torch.is_grad_enabled, 'grad_enabled')}()"
        prologue.guard(on if self.began_on else f"not {on}", f"gradients are {'on' if self.began_on else 'off'}")

    def guard_anomalies(self) -> None:
        """The trace holds only where torch does not look at each function in the backward."""
        prologue = self.tracer.inputs.prologue
        looked = f"{prologue.constant(torch.is_anomaly_enabled, 'looks_for_anomalies')}()"
        is_on = torch.is_anomaly_enabled()
        prologue.guard(looked if is_on else f"not {looked}", f"anomaly detection is {'on' if is_on else 'off'}")
        if is_on:
            raise NeedsEager("torch looks for anomalies in gradients")

    def guard_inference(self) -> None:
        """The trace holds only where inference mode is on, or off, as it is now."""
        prologue = self.tracer.inputs.prologue
        on = f"{prologue.constant(torch.is_inference_mode_enabled, 'inferring')}()"
        now = "on" if self.began_inferring else "off"
        prologue.guard(on if self.began_inferring else f"not {on}", f"inference mode is {now}")

    def _turn_inference(self) -> None:
        """Notes that inference mode is on where it was off, or off where it was on."""
        self.guard_inference()
        if self.tracer.regions or self.began_inferring:
            raise NeedsEager("it turns inference mode on or off in a part of its computation")
        self._note_mode()
        self._is_inferring = not self._is_inferring

    def _note_mode(self) -> None:
        """Notes in which mode the statements that were recorded since the last turn are computed."""
        count = len(self.tracer.trace.statements)
        if count > self._turned_at:
            self._modes.add(self._is_inferring)
        self._turned_at = count

    @property
    def infers(self) -> bool:
        """Whether the program turns inference mode on for all that it computes."""
        return not self.began_inferring and self._modes == {True}

    @contextmanager
    def differentiating(self) -> Iterator[None]:
        """Around a function that a transform of tnp's differentiates: in it gradients are on, except where it turns them off itself."""
        self.sync()
        before = self.tracks, self.is_on
        _set_grad_enabled(True)
        self.tracks = self.is_on = True
        try:
            yield
            self.sync()
        finally:
            self.tracks, self.is_on = before
            _set_grad_enabled(self.is_on)

    def modes(self) -> Any:
        """Whether gradients are on, and how autocast is set."""
        return torch.is_grad_enabled(), autocast.state_now()

    def put_back_modes(self, modes: Any) -> None:
        """Sets what :meth:`modes` gave."""
        on, casts = modes
        _set_grad_enabled(on)
        autocast.put_back(casts)

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Around what eager runs again in the backward, which may write to nothing that was there before."""
        before = self._repeats_since
        if before is None:
            self._repeats_since = next(serials)
        try:
            yield
        finally:
            self._repeats_since = before

    def finish(self) -> None:
        """Called when the program has been traced."""
        self.sync()
        self._note_mode()
        if len(self._modes) == 2:  # what is made in it is another kind of tensor to autograd
            raise NeedsEager("it computes a part of its results in inference mode")
        if self._off_since is not None:
            where, start = self._off_since
            self._detach(where[start:])
            self._off_since = None

    def _detach(self, bsyms: list[BoundSymbol]) -> None:
        if bsyms and self.tracer.regions:
            raise NeedsEager("it turns gradients off in a loop or a branch")
        for b in bsyms:
            given = {p.name for p in b.flat_inputs}
            DETACHED.of(self.tracer.trace).update(p.name for p in b.flat_outputs if p.name not in given)

    # Who requires a gradient

    def requires(self, value: TensorProxy) -> bool:
        """Whether ``value`` requires a gradient, as far as the program has been traced."""
        if not self.roots or value.dtype.kind not in "fc":
            return False
        return value.name in self._dependents()

    def _dependents(self) -> set[str]:
        trace = self.tracer.trace
        self.sync()
        off = {
            p.name
            for where, start in [self._off_since or ([], 0)]
            for b in where[start:]
            for p in b.flat_outputs
            if all(p.name != q.name for q in b.flat_inputs)
        }
        detached = DETACHED.of(trace) | off
        names, count = self._known
        if count > len(trace.bound_symbols):  # some of them have been undone
            names, count = set(), 0
        names |= self.roots
        add_dependents(trace.bound_symbols[count:], names, detached)
        if not self.tracer.regions and not off:
            self._known = names, len(trace.bound_symbols)
            return names
        self._known = set(), 0
        for body in trace.open_bodies:
            add_dependents(body, names, detached)
        return names

    def require(self, a: TracedArray) -> None:
        """Notes that ``a``, which the program has made, requires a gradient from now on.

        Nobody reads that gradient: what depends on ``a`` has to depend on an argument that requires one, too, which is checked when the
        program has been traced (:mod:`tnp.transforms.partition_fw_bw`).
        """
        self.sync()
        value, storage = a.__tnp_value__(), a.storage
        if self.requires(value):
            return
        is_used = any(p.name == value.name for b in self.tracer.trace.bound_symbols for p in b.flat_inputs)
        is_own = storage.origin is None and not a.path and not is_used
        if not (is_own and self.is_on and self.began_on and not self.tracer.regions and value.dtype.kind in "fc"):
            raise NeedsEager("it makes a tensor require a gradient")
        self.roots.add(value.name)

    def before_opaque_call(self, function: Any, args: Any, kwargs: Any) -> tuple[list[bool] | None, set[str]]:
        """Of an opaque call, which of its results depend on what requires a gradient (``None``: nothing does), and on which of those
        arguments none depends, by name."""
        given = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
        requiring = {p.name for p in given if self.requires(p)}
        return dependences(function, args, kwargs, requiring) if requiring and self.is_on else (None, set())

    def after_opaque_call(self, depend: list[bool] | None) -> None:
        """Notes that the results of the call that was just recorded depend on its arguments as told."""
        if depend is not None:
            results = [p for p in self.tracer.trace.statements[-1].flat_outputs if isinstance(p, TensorProxy)]
            DETACHED.of(self.tracer.trace).update(p.name for p, d in zip(results, depend, strict=True) if not d)

    def viewed(self, a: TracedArray, bsyms: list[BoundSymbol]) -> None:
        """Notes whether ``a``, a view that ``bsyms`` made, is one of which autograd does not know."""
        if self.roots and (not self.is_on or any(OpTags.DETACHES in b.sym.tags for b in bsyms)):
            storage = a.storage
            getattr(storage, "base", storage).has_detached_view = True

    def check_write(self, storage: Storage, value: TensorProxy) -> None:
        """Raises :class:`NeedsEager` for a write whose gradient is not that of replacing a value by another, or that eager makes twice."""
        if self._repeats_since is not None and storage.serial < self._repeats_since:
            raise NeedsEager("it checkpoints a function that writes to what was there before")
        if storage.origin is not None and storage.origin.name in self.overlapping:
            raise NeedsEager("it writes to an argument of which several elements are one place in memory")
        if not self.roots:
            return
        before, after = self.requires(storage.value), self.requires(value)
        if not (before or after):
            return
        if storage.origin is not None and storage.origin.name in self.roots:
            raise NeedsEager("it writes to an argument that requires a gradient")
        if storage.value.name in self.roots:
            raise NeedsEager("it writes to a tensor that it has made to require a gradient")
        if before and not after:
            raise NeedsEager("it overwrites all of a tensor that requires a gradient by what requires none")
        if not self.is_on:
            raise NeedsEager("it writes to a tensor that requires a gradient while gradients are off")
        if storage.has_detached_view:
            raise NeedsEager("it writes to a tensor that requires a gradient, of which there is a detached view")

    def check_results(self) -> None:
        """Raises :class:`NeedsEager` if an argument would come to require a gradient by being written to."""
        for storage in self.tracer.inputs.storages:
            if storage.dirty and self.requires(storage.value):
                raise NeedsEager("it writes a value that requires a gradient to an argument")
