"""Acquiring a trace: a user's function, run once on handles."""

from __future__ import annotations

import dataclasses
import time
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from tnp.core import langs, prims, pytree, sizes
from tnp.core.bodies import Body, bodies_of
from tnp.core.elementwise_table import by_name
from tnp.core.errors import NeedsEager
from tnp.core.prims.elementwise import number_function
from tnp.core.printing import literal
from tnp.core.proxies import NumberProxy, Proxy
from tnp.core.symbol import BoundSymbol, flat_proxies
from tnp.core.trace import Provenance, Trace, tracing
from tnp.frontend import state
from tnp.frontend.either import TracedEither
from tnp.frontend.handles import TracedArray, TracedNumber, TracedObject
from tnp.frontend.inputs import CONSTANT_TYPES, Inputs
from tnp.frontend.libraries import capturing, library_of_language, library_of_value
from tnp.frontend.objects import Construct, attributes_of, is_plain_object, is_shadow, stored_attributes
from tnp.frontend.results import is_sealed
from tnp.frontend.rounds import TracedRange
from tnp.frontend.runtime import Runtime
from tnp.frontend.sources import Prologue, Source
from tnp.frontend.tracer import Tracer, is_traced
from tnp.lang import numpy as lnp

__all__ = ["Acquired", "acquire"]


@dataclasses.dataclass
class Acquired:
    """A trace, the prologue that guards it, and what fetches each of its arguments."""

    trace: Trace
    prologue: Prologue
    inputs: Inputs

    @property
    def expressions(self) -> dict[str, str]:
        """The expression that fetches each argument, by name."""
        return self.inputs.expressions

    def guard_numbers(self, known: int) -> None:
        """Guards the numbers that passes have asked for since there were ``known`` that the trace depends on."""
        numbers = list(self.trace.value_guards.values())[known:]
        _guard_numbers([*self.trace.bound_symbols, *self.trace.asked_numbers], numbers, self.inputs)


#: a program whose loops have fewer rounds than this, all together, is traced again round by round where what follows the loops
#: asks for values that are known then
ROUNDS_AGAIN = 1_000


def acquire(
    function: Callable[..., Any], parameters: list[str], call: Callable[..., Any], values: tuple[Any, ...], *,
    prologue: Prologue, strict: bool = False,
) -> Acquired:  # fmt: skip
    """Traces ``function`` for the arguments ``values`` of ``parameters``.

    ``call(function, handles)`` applies a function to values of the parameters. Whatever the program raises while it is
    traced comes out of here, :class:`NeedsEager` among it; the arguments are untouched then.
    """
    trace = Trace()
    tracer = Tracer(trace, Inputs(trace, prologue), strict=strict)
    try:
        return _acquire(function, parameters, call, values, tracer)
    except NeedsEager as needed:
        if not tracer.rolled or tracer.rolled_rounds > ROUNDS_AGAIN:
            raise
        reason = needed
    # Numbers that a loop computes are not known as long as it is one operation, and what is whose memory is known less well.
    prologue.clear()
    trace = Trace()
    tracer = Tracer(trace, Inputs(trace, prologue), strict=strict)
    tracer.rolls = False
    try:
        return _acquire(function, parameters, call, values, tracer)
    except NeedsEager:
        raise reason from None  # what is in the way of the program as it is written


def _acquire(
    function: Callable[..., Any],
    parameters: list[str],
    call: Callable[..., Any],
    values: tuple[Any, ...],
    tracer: Tracer,
) -> Acquired:
    start = time.perf_counter()
    trace, inputs, prologue = tracer.trace, tracer.inputs, tracer.inputs.prologue
    before = state.set_current(tracer)
    language = langs.set_current(lnp.language)
    try:
        with tracing(trace), np.errstate(all="ignore"), capturing(tracer):
            handles = [inputs.lift(v, Source(p, f"argument {p}")) for p, v in zip(parameters, values)]
            runtime = tracer.runtime = Runtime(_no_function)
            if type(function) is not types.FunctionType:  # a bound method, a partial, an object that is called
                description = "the function" if library_of_value(function) is None else type(function).__name__
                function = inputs.lift(function, Source(prologue.constant(function, "function"), description))
            result = call(lambda *args, **kwargs: runtime.call(function, *args, **kwargs), handles)
            if tracer.must_run_eagerly is not None:
                raise tracer.must_run_eagerly
            _check_containers(inputs)
            _finish(trace, inputs, tracer, result)
    finally:
        langs.set_current(language)
        state.set_current(before)
        inputs.release()
    trace.provenance = Provenance("Acquisition", time.perf_counter() - start)
    return Acquired(trace, prologue, inputs)


def _no_function() -> None:
    """Whose globals and closure a runtime has that belongs to no function."""


def _finish(trace: Trace, inputs: Inputs, tracer: Tracer, result: Any) -> None:
    """Stores what was written into the caller's memory and objects, and returns the result."""
    tracer.flush()
    for storage in inputs.storages:
        library = library_of_language(storage.value.lang) if storage.dirty else None
        if library is not None:
            library.written(storage.value)
    inputs.array_objects.update((h.__tnp_value__().name, h) for h in inputs.arrays())
    for shadow in inputs.shadows:
        source, kind, stored = stored_attributes(shadow)
        if stored:
            obj = inputs.object_proxy(source, kind)
            for name, value in stored.items():
                prims.set_attribute(obj, name, _output(value))
    output = _output(result)
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs} | {p.name for p in flat_proxies(output)}
    inputs.finish(used)
    _guard_numbers(trace.bound_symbols, trace.value_guards.values(), inputs)
    trace.args = list(inputs.proxies)
    _check_scopes(trace, output)
    unpacking = [BoundSymbol(prims.unpack_trivial, (), {}, p) for p in inputs.proxies]
    prims.python_return(output)
    trace.output = output
    trace.bound_symbols[:0] = unpacking


def _check_scopes(trace: Trace, output: Any) -> None:
    """Raises :class:`NeedsEager` if the program reads what only the inside of a loop or a branch defines."""
    inside = {p.name for b in trace.bound_symbols for body in bodies_of(b) for p in _defined_in(body)}
    if not inside:
        return
    defined = {p.name for b in trace.bound_symbols for p in b.flat_outputs}
    read = [*flat_proxies(output), *(p for b in trace.bound_symbols for p in b.flat_inputs)]
    if any(p.name in inside and p.name not in defined for p in read):
        raise NeedsEager("it keeps an array of the inside of a loop or a branch where tnp does not see it")


def _defined_in(body: Body) -> Iterator[Proxy]:
    for b in body.bound_symbols:
        yield from b.flat_outputs
        for inner in bodies_of(b):
            yield from _defined_in(inner)


def _array_output(x: TracedArray, inputs: Inputs) -> Proxy:
    """The value of an array, as an object of its own if another array that looks at the same elements is one too."""
    value = x.__tnp_value__()
    if is_sealed(x):
        # As an object of its own: another array of these elements may be writable.
        value = prims.reshape(value, value.shape) if sizes.is_known(value.shape) else value
        state.current().trace.read_only.add(value.name)
        return value
    first = inputs.array_objects.setdefault(value.name, x)
    if first is x or value.scalar or not sizes.is_known(value.shape):
        return value
    with langs.language_context(value.lang):
        return prims.reshape(value, value.shape)


#: kinds of values that are returned as they are
_UNCHANGING = (*CONSTANT_TYPES, type, types.ModuleType, np.ufunc)


def _check_containers(inputs: Inputs) -> None:
    for container in inputs.containers:
        if container.changed():
            raise NeedsEager(f"it changes a {container.kind.__name__} that was passed to it")


def _output(x: Any) -> Any:
    """A result with handles replaced by proxies, stand-ins by what they stand for, made objects by how to make them."""
    if type(x) is TracedRange:
        x = x.known()
    kind = type(x)
    inputs = state.current().inputs
    if kind is TracedArray:
        return _array_output(x, inputs)
    if kind in (TracedNumber, TracedObject):
        return x.proxy
    if kind is TracedEither:
        return x.output()
    if kind in (int, float, complex, bool) or isinstance(x, _UNCHANGING) or id(x) in inputs.same:
        return x
    if kind is slice:
        return slice(_output(x.start), _output(x.stop), _output(x.step))
    for container in inputs.containers:
        if container.made is x:  # what was passed in comes back as itself
            return inputs.object_proxy(container.source, container.kind)
    if kind is tuple or (isinstance(x, tuple) and hasattr(x, "_fields")):
        items = [_output(y) for y in x]
        return kind(*items) if hasattr(x, "_fields") else tuple(items)
    if is_shadow(x):
        source, real_kind, _ = stored_attributes(x)
        return inputs.object_proxy(source, real_kind)
    if isinstance(x, np.generic):
        return x
    library = library_of_value(x)
    if library is not None and library.is_constant(x):
        return x
    if isinstance(x, np.ndarray) or (library is not None and not isinstance(x, tuple)):
        raise NeedsEager("it returns an array that was not made by a function that tnp traces")
    if id(x) in inputs.returned:
        raise NeedsEager(f"it returns one {kind.__name__} in two places")
    inputs.returned[id(x)] = x
    if kind is list:
        return [_output(y) for y in x]
    if kind is dict:
        return {k: _output(y) for k, y in x.items()}
    if is_plain_object(x) and not callable(x):
        attributes = attributes_of(x)
        if any(is_traced(v) or is_plain_object(v) for v in attributes.values()):
            return Construct(kind, {k: _output(v) for k, v in attributes.items()})
        raise NeedsEager(f"it returns a new {kind.__name__}")
    if pytree.is_container(x):
        children, metadata, unflatten = pytree.flatten(x)
        return pytree.Rebuilt(kind, metadata, unflatten, [_output(c) for c in children])
    raise NeedsEager(f"it returns a {kind.__name__}")


def _guard_numbers(program: Sequence[BoundSymbol], numbers: Collection[NumberProxy], inputs: Inputs) -> None:
    """Guards numbers that the program depends on, computed in the prologue from those that it is given."""
    producers: dict[str, BoundSymbol] = {}

    def collect(bsyms: Any) -> None:
        for b in bsyms:
            collect(b.subsymbols)
            for body in bodies_of(b):
                collect(body.bound_symbols)
            for p in b.flat_outputs:
                if isinstance(p, NumberProxy):
                    producers.setdefault(p.name, b)

    if numbers:
        collect(program)
    expressions = dict(inputs.expressions)

    def describe(x: Any) -> str:
        if not isinstance(x, Proxy) or x.name in inputs.expressions:
            return x.name if isinstance(x, Proxy) else str(x)
        b = producers[x.name]
        return f"{b.sym.name}({', '.join(describe(a) for a in b.args)})"

    def expression(x: Any) -> str:
        if not isinstance(x, Proxy):
            return inputs.prologue.constant(x, "type") if isinstance(x, type) else literal(x, {})
        if x.name not in expressions:
            b = producers[x.name]
            function = inputs.prologue.constant(_number_function(b), "number")
            text = f"{function}({', '.join(expression(a) for a in b.args)})"
            expressions[x.name] = inputs.prologue.let(Source(text, x.name)).expression
        return expressions[x.name]

    for number in numbers:
        inputs.number_guard(expression(number), describe(number), number)


def _number_function(b: BoundSymbol) -> Callable[..., Any]:
    if b.sym.name == "convert_number":
        python_type = b.args[1]
        return lambda x, _: python_type(x)
    function = number_function(by_name[b.sym.name])
    assert function is not None
    return function
