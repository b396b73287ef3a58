"""Opaque calls of torch functions (:mod:`tnp.lang.torch.opaque`) in a traced program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tnp.capture.libraries.torch import layouts
from tnp.capture.libraries.torch.arguments import sized, with_strides
from tnp.capture.libraries.torch.random_state import SEEDED, has_drawn
from tnp.capture.objects.shadows import is_stand_in
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.strides import ROW_MAJOR, row_major
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject
from tnp.core import languages, sizes, symbols
from tnp.core.errors import NeedsEager, TraceError
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import Symbol
from tnp.lang.torch import language, opaque
from tnp.lang.torch.fills import as_strided_in_order
from tnp.lang.torch.registry import by_id, function_of, symbol_of

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["OpaqueCalls"]


def _plain(tracer: Tracer, x: Any) -> Any:
    """Arguments with numbers that are known made plain, but for symbolic sizes."""
    kind = type(x)
    if kind is TracedNumber and symbols.is_symbol(x.proxy):
        return x
    if kind is dict:
        return {k: _plain(tracer, v) for k, v in x.items()}
    if kind in (list, tuple) and is_traced(x):
        return kind([_plain(tracer, y) for y in x])
    return tracer.known(x)


class OpaqueCalls:
    """The part of the library that calls functions as themselves."""

    def opaque_call(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called = tracer.calling if symbol_of(tracer.calling) is symbol else function_of(symbol.id)
        return self.run_opaquely(tracer, called, args, kwargs)

    def run_opaquely(
        self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, in_order: bool = False
    ) -> Any:
        """A function that is not compiled, called as itself when the program runs. With ``in_order`` what it draws does not depend on how
        its arguments lie in memory."""
        name = getattr(function, "__name__", str(function))
        args, kwargs = sized(tracer, args, name), sized(tracer, kwargs, name)
        if any(map(is_stand_in, (*args, *kwargs.values()))):
            raise NeedsEager(f"it passes a module or another object to torch.{name}, which is not compiled")
        args, kwargs = _plain(tracer, args), _plain(tracer, kwargs)
        seen: dict[str, TracedArray] = {}
        proxies, keywords = tracer.value(args, seen), tracer.value(kwargs, seen)
        if any(h.library is not self for h in seen.values()):
            raise NeedsEager(f"it calls torch.{name} on an array of NumPy's")
        with languages.language_context(language):
            outcome = opaque.dry_run(function, proxies, keywords, {n: h.strides_ for n, h in seen.items()})
        if outcome.draws and has_drawn(tracer):
            raise NeedsEager(SEEDED)
        if isinstance(outcome.result, TensorProxy) and outcome.result.name in seen:  # nothing to do
            return seen[outcome.result.name]
        if not outcome.strides:  # it says something about its arguments
            if outcome.draws or not seen:
                raise NeedsEager(f"it calls torch.{name}, which is not compiled")
            return outcome.result
        if tracer.strict:
            raise TraceError(f"torch.{name} would run as an opaque call, which strict=True refuses")
        if outcome.is_view:
            self._check_view(tracer, name, args, kwargs)
        depend, apart = tracer.gradients.before_opaque_call(function, proxies, keywords)
        if apart:
            args, kwargs = self._detached(tracer, args, apart), self._detached(tracer, kwargs, apart)
        replays = outcome.draws and depend is not None and any(depend)
        called, given = function, (args, kwargs)
        if name == "as_strided" and type(args[0]) is TracedArray and args[0].storage.origin is None:
            function = as_strided_in_order
        if outcome.draws and not in_order:
            function, args = layouts.drawing(function, args, kwargs)
        if replays:
            if any(type(x) is TracedObject for x in (*args, *kwargs.values())):
                raise NeedsEager(
                    f"it computes gradients through torch.{name}, which draws from a generator that it is given"
                )
            args = (tracer.call(opaque.generator_state, (), {}), *args)
        result = tracer.call(opaque.symbol_for(function, outcome, replays=replays), args, kwargs)
        tracer.gradients.after_opaque_call(depend)
        if outcome.is_view:
            return self._viewed(tracer, name, args[0], result, outcome)
        is_plain = all(h.contiguous_ for h in seen.values())
        made = with_strides(result, iter(outcome.strides.values()) if is_plain else None)
        layouts.lay_out(called, *given, made, opaque=True)
        return made

    def _check_view(self, tracer: Tracer, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises :class:`NeedsEager` where a view of ``args[0]`` that torch makes may be of other memory than in eager's run."""
        a = args[0]
        if type(a) is not TracedArray or not a.contiguous_:
            raise NeedsEager(f"it calls torch.{name}, a view, on a tensor that is not contiguous")
        count = sizes.product(a.shape_)
        held: Any = TracedNumber(count) if isinstance(count, NumberProxy) else count  # as what it is compared to
        if name == "as_strided" and layouts.reach(*args, **kwargs) >= held:
            raise NeedsEager("it calls torch.as_strided beyond the elements of a tensor")
        if name == "as_strided" and (
            len(args) > 3 or kwargs.get("storage_offset") is not None
        ):  # from the memory's beginning
            if a.path or (a.storage.origin is not None and tracer.offsets[a.storage.origin.name]):
                raise NeedsEager("it calls torch.as_strided with an offset on a part of a tensor's memory")
            if a.storage.origin is not None:
                e = tracer.inputs.expressions[a.storage.origin.name]
                tracer.inputs.prologue.guard(f"{e}.storage_offset() == 0", f"{a.storage.origin.name} begins its memory")

    def _viewed(self, tracer: Tracer, name: str, base: TracedArray, result: Any, outcome: opaque.DryRun) -> Any:
        (strides,) = outcome.strides.values()
        if result.storage is not base.storage:
            raise NeedsEager(f"it calls torch.{name}, a view that tnp does not follow")
        result._strides = ROW_MAJOR if strides == row_major(result.shape_) else strides
        return result

    def _detached(self, tracer: Tracer, x: Any, names: set[str]) -> Any:
        """Arguments with those tensors detached whose values have these names."""
        if type(x) is TracedArray:
            named = x.__tnp_value__().name in names
            return tracer.call(by_id["torch.detach"].symbol, (x,), {}) if named else x
        if type(x) in (tuple, list):
            return type(x)(self._detached(tracer, y, names) for y in x)
        return {k: self._detached(tracer, y, names) for k, y in x.items()} if type(x) is dict else x
