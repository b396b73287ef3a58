"""The tracing driver: runs a user's function once, on traced values, and returns its trace."""

from __future__ import annotations

import dataclasses
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Prologue, Source
from tnp.capture.guards.scalar_guards import guard_numbers
from tnp.capture.guards.varying_values import ReadsVarying, TracesAgain
from tnp.capture.libraries.base import capturing, library_of_value
from tnp.capture.libraries.numpy.errstate import check_restored
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.list_of_rows import is_maybe_in_list
from tnp.capture.libraries.numpy.uneven_lists import copy_no_rows
from tnp.capture.objects.shadows import stored_attributes
from tnp.capture.output_values import change_containers, note_shared, output_of, result_of
from tnp.capture.rewrite.code_of_tree import is_part
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.speculation.value_specialization import GuardEvaluator
from tnp.capture.tracing.hooks import Runtime
from tnp.capture.tracing.library_errors import raise_if_of_library
from tnp.capture.tracing.outer_names import assigned_names
from tnp.capture.tracing.output_aliasing import may_share
from tnp.capture.tracing.traced_values import TracedArray
from tnp.capture.tracing.tracer import Tracer
from tnp.core import languages, prims
from tnp.core.effects import acts_on_the_outside
from tnp.core.errors import AmbiguousView, LosesStores, NeedsEager, NeedsValue, RaisedWhenAsked, RaisedWhileTracing
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Provenance, Trace, tracing
from tnp.runtime.quiet import quiet

__all__ = ["Captured", "Differentiate", "capture_trace"]

#: makes something of a trace and the names of its arguments that require gradients
Differentiate = Callable[[Trace, set[str]], Any]


@dataclasses.dataclass
class Captured:
    """A trace, the prologue that guards it, and what fetches each of its arguments."""

    trace: Trace
    prologue: Prologue
    inputs: Inputs
    #: whether gradients are on and arguments require them, and what ``differentiate`` made of the trace then
    requires_gradients: bool = False
    differentiated: Any = None

    @property
    def expressions(self) -> dict[str, str]:
        """The expression that fetches each argument, by name."""
        return self.inputs.expressions

    def guard_numbers(self, known: int) -> None:
        """Guards the numbers that passes have read, except the first ``known``."""
        numbers = list(self.trace.value_guards.values())[known:]
        guard_numbers(self.trace, numbers, self.inputs)


#: a program whose loops have fewer iterations than this, all together, is traced again iteration by iteration where what follows the loops
#: asks for values that are known then
ITERATIONS_AGAIN = 1_000
#: operations of a program that is written out and holds for a value only: the next call may have another
MOST_FOR_A_VALUE = 400
#: operations of a trace, about; a program of more takes longer to compile than it will run
MOST_OPERATIONS = 50_000
#: the same of a program whose loops could be operations, and which is traced again without
MOST_OPERATIONS_AGAIN = 5_000


def capture_trace(
    function: Callable[..., Any], parameters: list[str], call: Callable[..., Any], values: tuple[Any, ...], *,
    prologue: Prologue, strict: bool = False, differentiate: Differentiate | None = None, evaluator: GuardEvaluator | None = None,
) -> Captured:  # fmt: skip
    """Traces ``function`` for the arguments ``values`` of ``parameters``.

    If arguments require gradients, ``differentiate`` gets the trace and their names while what it makes may still depend on
    the values of numbers.

    ``call(function, handles)`` applies a function to values of the parameters. Whatever the program raises while it is
    traced comes out of here, :class:`NeedsEager` among it; the arguments are untouched then. ``evaluator`` computes values
    that tracing specializes on; without it, a program that needs one runs eagerly.
    """

    varying = prologue.varying
    while True:
        varying.counting.clear()
        varying.has_lengths = varying.has_optionals = False
        try:
            return _captured(function, parameters, call, values, prologue, strict, differentiate, evaluator)
        except ReadsVarying as read:
            is_to_be_taught = isinstance(read, TracesAgain) or varying.is_counted(read.description)
            if not is_to_be_taught or not read.teach(varying):
                raise
        except (Exception, NeedsEager):  # that a length is not known may be the reason
            if varying.has_lengths:
                varying.knows_lengths = True
                continue
            if varying.has_optionals:  # or that something may be None
                varying.knows_none = True
                continue
            if not varying.counting:
                raise
            for name in varying.counting:
                varying.specialize(name, None)


def _captured(
    function: Callable[..., Any], parameters: list[str], call: Callable[..., Any], values: tuple[Any, ...], prologue: Prologue,
    strict: bool, differentiate: Differentiate | None, evaluator: GuardEvaluator | None,
) -> Captured:  # fmt: skip
    """:func:`capture_trace`, without another trace where a list is to be taken for something else."""

    def attempt(*, asks: bool, rolls: bool = True, says_compiling: bool = False, postpones: bool = False) -> Captured:
        # Arrays of the caller's are written before an operation that may raise, or behind all of them; or the program ends before one
        # where attributes are still to be assigned.
        for stores in ("early", "last", "none"):
            prologue.clear()
            if evaluator is not None:
                evaluator.begin()
            trace = Trace()
            trace.most_names = MOST_OPERATIONS if rolls else MOST_OPERATIONS_AGAIN
            trace.writes_last = stores == "last"
            trace.may_start_over = prologue.may_catch and stores != "none"
            tracers.append(Tracer(trace, Inputs(trace, prologue), strict=strict, evaluator=evaluator if asks else None))
            tracers[-1].rolls, tracers[-1].says_compiling = rolls, says_compiling
            tracers[-1].loses_no_stores = stores == "none"
            if postpones:
                tracers[-1].specializer.postponed = lambda: may_write_out(tracers[-1]) or may_say(tracers[-1])
            try:
                return _capture_trace(function, parameters, call, values, tracers[-1], differentiate)
            except LosesStores:
                if stores == "none":
                    raise
            except RaisedWhenAsked as raised:
                raised.may_be_caught = tracers[-1].has_caught
                raise
        raise AssertionError("unreachable")

    def may_write_out(tracer: Tracer) -> bool:
        return tracer.rolled and tracer.rolled_iterations <= ITERATIONS_AGAIN

    def may_say(tracer: Tracer) -> bool:
        """Libraries look at values for shortcuts that they leave out where a compiler is at work."""
        return tracer.inputs.guarded_state

    tracers: list[Tracer] = []
    try:
        return attempt(asks=True, postpones=True)
    except NeedsEager as needed:
        if isinstance(needed, TracesAgain) or (
            isinstance(needed, ReadsVarying) and prologue.varying.is_counted(needed.description)
        ):
            raise
        rolls, says_compiling = not may_write_out(tracers[-1]), isinstance(needed, NeedsValue) and may_say(tracers[-1])
        if rolls and not says_compiling:
            raise
        reason = needed
    # Numbers that a loop computes are not known as long as it is one operation, and what is whose memory is known less well.
    try:
        captured = attempt(asks=bool(tracers[-1].specializer.specialized), rolls=rolls, says_compiling=says_compiling)
        if rolls or not tracers[-1].specializer.specialized or len(captured.trace.bound_symbols) <= MOST_FOR_A_VALUE:
            return captured
        raise reason  # so long a program is not compiled for one value
    except NeedsEager:
        if evaluator is None or not isinstance(reason, NeedsValue):
            raise reason from None  # what is in the way of the program as it is written
    return attempt(asks=True, says_compiling=says_compiling)


def _capture_trace(
    function: Callable[..., Any],
    parameters: list[str],
    call: Callable[..., Any],
    values: tuple[Any, ...],
    tracer: Tracer,
    differentiate: Differentiate | None,
) -> Captured:
    start = time.perf_counter()
    trace, inputs, prologue = tracer.trace, tracer.inputs, tracer.inputs.prologue
    inputs.keeps_layout = is_part(function)
    before = active.set_current(tracer)
    language = languages.set_current(NUMPY.language)
    try:
        with tracing(trace), NUMPY.capture(tracer), capturing(tracer), quiet(*_OF_VALUES) as said:
            nothing: Any = _no_function
            runtime = tracer.runtime = Runtime(nothing)
            handles = [
                inputs.lift(v, Source(name, f"argument {p}"))
                for name, p, v in zip(prologue.variables, parameters, values, strict=True)
            ]
            if type(function) is not types.FunctionType:  # a bound method, a partial, an object that is called
                description = "the function" if library_of_value(function) is None else type(function).__name__
                function = inputs.lift(function, Source(prologue.constant(function, "function"), description))
            try:
                result = call(lambda *args, **kwargs: runtime.call(function, *args, **kwargs), handles)
            except Exception as error:
                _check_own(error, tracer)
                raise
            if tracer.must_run_eagerly is not None:
                raise tracer.must_run_eagerly
            if said:  # each call is to say it
                raise NeedsEager(f"it gives a {said[0].__name__} for what it computes of constants")
            differentiated = _finish(trace, inputs, tracer, result, differentiate)
    except BaseException:
        guard_numbers(trace, trace.value_guards.values(), inputs, given_up=True)  # what is found is found for these
        raise
    finally:
        languages.set_current(language)
        active.set_current(before)
        inputs.release()
        tracer.specializer.evaluator = None  # it has the caller's arguments
        tracer.found_lengths.close()
    trace.most_names = sys.maxsize
    trace.provenance = Provenance("Capture", time.perf_counter() - start)
    requires = tracer.gradients is not None and bool(tracer.gradients.roots)
    return Captured(trace, prologue, inputs, requires, differentiated)


#: warnings that NumPy gives because of values
_OF_VALUES = (np.exceptions.ComplexWarning, RuntimeWarning)


def _check_own(error: Exception, tracer: Tracer) -> None:
    """Raises :class:`NeedsEager` where eager may not come to an error: the program has caught one that is not eager's before, or has
    seen a result of which only a dry run is known."""
    if tracer.must_run_eagerly is not None:
        raise tracer.must_run_eagerly from error
    raise_if_of_library(error)
    if tracer.trace.catches:
        raise RaisedWhileTracing(f"it raises a {type(error).__name__}, unless it catches one before", error) from error
    guessed = next((b for b in tracer.trace.bound_symbols if b.has_tag_inside(OpTags.LATE_GUARD)), None)
    if guessed is not None:
        reason = f"it raises a {type(error).__name__}, since {guessed.sym.name} gives something else in a dry run"
        raise RaisedWhileTracing(reason, error) from error
    changed = next((c for c in tracer.inputs.containers if c.changed()), None)
    if changed is not None:  # what the program sees of it may lag behind
        raise RaisedWhileTracing(f"it changes a {changed.kind.__name__} that was passed to it", error) from error
    if isinstance(error, RecursionError):
        raise RaisedWhileTracing(
            "it calls functions, or holds lists in lists, deeper than tracing can follow", error
        ) from error


def _no_function() -> None:
    """Whose globals and closure a runtime has that belongs to no function."""


def _may_be_written_last(x: TracedArray) -> bool:
    """Whether an array may be one of the caller's that the program writes, as a branch or a loop chose."""
    others = (s for s in may_share(x.storage) if s is not x.storage)
    return any(s.origin is not None and s.written for s in others)


def _finish(trace: Trace, inputs: Inputs, tracer: Tracer, result: Any, differentiate: Differentiate | None) -> Any:
    """Stores what was written into the caller's memory and objects, and returns the result. Gives what ``differentiate`` makes."""
    check_restored(tracer)
    gradients = tracer.gradients
    if gradients is not None:
        gradients.finish()
        gradients.check_results()
    if trace.writes_last and any(b.sym is prims.copy_ for b in trace.bound_symbols):  # before a loop or a branch
        raise LosesStores("it writes arrays before a loop or a branch, and assigns attributes or items")
    tracer.flush()
    for storage in inputs.storages:
        if storage.dirty:
            storage.value.lang.library.written(storage.value)
    kept = [v for shadow in inputs.shadows for v in stored_attributes(shadow)[2].values()]
    changed = [c.change() for c in inputs.containers if c.may_change]
    note_shared([*kept, *(c[1] for c in changed if c is not None), result])
    inputs.array_objects.update((h.__tnp_value__().name, h) for h in (*tracer.choices.chosen(), *inputs.arrays()))
    for shadow in inputs.shadows:
        source, kind, stored = stored_attributes(shadow)
        if stored:
            obj = inputs.object_proxy(source, kind)
            store = prims.store_attribute if is_followed(kind.__setattr__) else prims.set_attribute
            for name, value in stored.items():
                store(obj, name, output_of(value))
    change_containers(inputs)
    for assigned in assigned_names(tracer):
        assigned.bind(output_of)
    if tracer.may_lose_stores and acts_on_the_outside(trace, warnings=not trace.catches, draws=not trace.catches):
        raise LosesStores(
            "it assigns an attribute or an item, and then does what may raise after arrays were written to"
        )
    output = result_of(result)
    _check_reshapes(tracer)
    if trace.writes_last and any(map(_may_be_written_last, (h for h, _ in tracer.output_objects.values()))):
        raise LosesStores("it returns what may be an array of the caller's, which is written behind all of the program")
    if tracer.choices.is_unclear([h for h, _ in tracer.output_objects.values()], inputs.arrays()):
        raise NeedsEager("it returns arrays of which its branches or loops decide whether they are one object")
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs} | {p.name for p in flat_proxies(output)}
    _check_lists(tracer)
    inputs.finish(used)
    copy_no_rows(inputs, trace.bound_symbols, list(flat_proxies(output)))
    is_differentiated = differentiate is not None and gradients is not None and bool(gradients.roots)
    ending = prims.python_return.bind(output, output=None)
    inputs.proxies = inputs.with_sizes([*trace.bound_symbols, ending], all_roots=is_differentiated)
    trace.args = list(inputs.proxies)
    _check_scopes(trace, output)
    unpacking = [BoundSymbol(prims.unpack_trivial, (), {}, p) for p in inputs.proxies]
    prims.python_return(output)
    trace.output = output
    trace.bound_symbols[:0] = unpacking
    differentiated = None
    if is_differentiated:
        assert differentiate is not None and gradients is not None
        differentiated = differentiate(trace, gradients.roots)
    guard_numbers(trace, trace.value_guards.values(), inputs)
    return differentiated


def _check_lists(tracer: Tracer) -> None:
    """Raises :class:`NeedsEager` if the result holds one array twice, once in a list that a loop has made."""
    returned = [x for x, _ in tracer.output_objects.values()]
    rows = tracer.output_lists + [x for x in returned if x.storage.has_list and not x.scalar]
    is_twice = len({id(x.storage) for x in rows}) < len(rows)
    if is_twice or any(is_maybe_in_list(x, y) for x in rows for y in returned if y is not x):
        raise NeedsEager("it returns an array that is in a list which a loop has made, too")


def _check_reshapes(tracer: Tracer) -> None:
    """Raises :class:`NeedsEager` if an array and a reshape of it are returned of which the layout in memory decides whether it is a view."""
    memory: dict[int, int] = {}

    def root(x: int) -> int:
        while x in memory:
            x = memory[x]
        return x

    for made, source in tracer.reshaped:
        a, b = root(made), root(source)
        if a != b:
            memory[a] = b
    returned = {h.storage.serial for h, _ in tracer.output_objects.values()}
    if len({root(x) for x in returned}) < len(returned):
        raise AmbiguousView("it returns an array and a reshape of it that may or may not share memory with it")


def _check_scopes(trace: Trace, output: Any) -> None:
    """Raises :class:`NeedsEager` if the program reads what only the inside of a loop or a branch defines, or what was traced on trial and
    is not there any more."""
    inside = {p.name for b in trace.bound_symbols for body in bodies_of(b) for p in _defined_in(body)}
    defined = {p.name for p in trace.args} | {p.name for b in trace.bound_symbols for p in b.flat_outputs}
    read = [*flat_proxies(output), *(p for b in trace.bound_symbols for p in b.flat_inputs)]
    for p in read:  # sizes have no definition of their own
        if p.name not in defined and (p.name in inside or isinstance(p, TensorProxy)):
            raise NeedsEager("it keeps an array of the inside of a loop or a branch where tnp does not see it")


def _defined_in(body: Body) -> Iterator[Proxy]:
    for b in body.bound_symbols:
        yield from b.flat_outputs
        for inner in bodies_of(b):
            yield from _defined_in(inner)
