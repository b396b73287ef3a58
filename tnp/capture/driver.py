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
from tnp.capture.contract import CONSTANT_TYPES
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.control_flow.maybe_unbound import UNBOUND, TracedMaybe
from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Prologue, Source
from tnp.capture.guards.scalar_guards import guard_numbers
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.base import capturing, library_of_value
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.list_of_rows import Rows, array_of_rows, is_maybe_in_list
from tnp.capture.objects.attribute_dicts import AttributeDict
from tnp.capture.objects.constructs import Construct, attributes_of, is_made_of_attributes
from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.immutable_values import is_immutable
from tnp.capture.objects.shadows import is_copy, is_plain_object, is_shadow, stored_attributes
from tnp.capture.objects.twins import class_of
from tnp.capture.rewrite.code_of_tree import is_part
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.speculation.trials import CONSTANTS
from tnp.capture.speculation.value_specialization import GuardEvaluator
from tnp.capture.tracing.hooks import Runtime
from tnp.capture.tracing.outer_names import assigned_names
from tnp.capture.tracing.output_aliasing import check_repeats_nothing, is_sealed, view_of_all
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject, TracedSize
from tnp.capture.tracing.tracer import Tracer
from tnp.core import languages, prims, pytree, sizes, symbols
from tnp.core.effects import acts_on_the_outside
from tnp.core.errors import AmbiguousView, LosesStores, NeedsEager, NeedsValue, RaisedWhileTracing
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

    def attempt(*, asks: bool, rolls: bool = True, says_compiling: bool = False, postpones: bool = False) -> Captured:
        # Arrays of the caller's are written before an operation that may raise, or behind all of them; or the program ends before one
        # where attributes are still to be assigned.
        for stores in ("early", "last", "none"):
            prologue.clear()
            if evaluator is not None:
                evaluator.begin()
            trace = Trace()
            trace.most_names, trace.writes_last = MOST_OPERATIONS, stores == "last"
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


def _finish(trace: Trace, inputs: Inputs, tracer: Tracer, result: Any, differentiate: Differentiate | None) -> Any:
    """Stores what was written into the caller's memory and objects, and returns the result. Gives what ``differentiate`` makes."""
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
    inputs.array_objects.update((h.__tnp_value__().name, h) for h in (*tracer.choices.chosen(), *inputs.arrays()))
    for shadow in inputs.shadows:
        source, kind, stored = stored_attributes(shadow)
        if stored:
            obj = inputs.object_proxy(source, kind)
            store = prims.store_attribute if is_followed(kind.__setattr__) else prims.set_attribute
            for name, value in stored.items():
                store(obj, name, _output(value))
    _change_containers(inputs)
    for assigned in assigned_names(tracer):
        assigned.bind(_output)
    if tracer.may_lose_stores and acts_on_the_outside(trace):
        raise LosesStores(
            "it assigns an attribute or an item, and then does what may raise after arrays were written to"
        )
    output = _result(result)
    _check_reshapes(tracer)
    if tracer.choices.is_unclear([h for h, _ in tracer.output_objects.values()], inputs.arrays()):
        raise NeedsEager("it returns arrays of which its branches decide whether they are one object")
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs} | {p.name for p in flat_proxies(output)}
    _check_lists(tracer)
    inputs.finish(used)
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
    if is_differentiated and trace.catches:
        raise NeedsEager("it catches errors of an operation that may raise when the program runs")
    if is_differentiated:
        assert differentiate is not None and gradients is not None
        differentiated = differentiate(trace, gradients.roots)
    guard_numbers(trace, trace.value_guards.values(), inputs)
    return differentiated


def _check_lists(tracer: Tracer) -> None:
    """Raises :class:`NeedsEager` if the result holds one array twice, once in a list that a loop has made."""
    returned = [x for x, _ in tracer.output_objects.values()]
    rows = [x for x in tracer.output_lists if x.ndim > 1] + [x for x in returned if x.storage.has_list and not x.scalar]
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
        a, b = root(id(made)), root(id(source))
        if a != b:
            memory[a] = b
    returned = {id(h.storage) for h, _ in tracer.output_objects.values()}
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


def _array_output(x: TracedArray, inputs: Inputs) -> Proxy:
    """The value of an array, as an object of its own if another array that looks at the same elements is one too."""
    known = active.current().output_objects
    if id(x) not in known:
        known[id(x)] = x, _own_object(x, inputs)
    return known[id(x)][1]


def _own_object(x: TracedArray, inputs: Inputs) -> Proxy:
    value = x.__tnp_value__()
    if is_sealed(x):
        # As an object of its own: another array of these elements may be writable.
        value = view_of_all(value)
        active.current().trace.read_only.add(value.name)
        return value
    if x.storage in inputs.subclassed and not x.scalar:
        raise NeedsEager("it returns a memmap, or a view of one")
    if x.storage.listed and not x.scalar:
        raise ReadsVarying(x.storage.listed)
    if x.storage in inputs.captured and not x.scalar:
        raise NeedsEager("it returns a view of an array that was not made by a function that tnp traces")
    if inputs.keeps_layout and len(value.shape) > 1 and x.strides_ is None:
        _keep_layout(value)
    if x.storage.has_list and not x.scalar:  # an array of its own
        own: Proxy = prims.clone(value)
        return own
    is_view = x.storage.owner not in (None, id(x)) and value.name == x.storage.value.name
    if value.scalar or (not is_view and inputs.array_objects.setdefault(value.name, x) is x):
        return value
    return view_of_all(value)


def _keep_layout(value: TensorProxy) -> None:
    """Has a part that is not in C order compiled for the sizes that it has: programs for any size make all results in C order, and the
    part behind may see the difference, for a reshape is a view or not."""
    if all(symbols.value_of(n) is not None for n in value.shape):
        sizes.concrete(value.shape, "a part")


#: kinds of values that are returned as they are
_UNCHANGING = (*CONSTANT_TYPES, type, types.ModuleType, np.ufunc)


def _change_containers(inputs: Inputs) -> None:
    """Records the changes that the program makes to the caller's lists and dicts, as effects at its end."""
    for container in inputs.containers:
        change = container.change() if container.may_change else None
        if change is not None:
            adds, items = change
            effect = prims.add_items if adds else prims.set_items
            effect(inputs.object_proxy(container.source, container.kind), _items(items))
            x = container.source.expression
            others = (c for c in inputs.containers if c.kind is container.kind and c.real is not container.real)
            for y in (other.source.expression for other in others):
                inputs.prologue.guard(f"{x} is not {y}", f"{x} is not {y}")
        elif container.changed():
            raise NeedsEager(f"it changes a {container.kind.__name__} that was passed to it")


def _items(x: Any) -> Any:
    """Items of a list or of a dict of the caller's."""
    if isinstance(x, list):
        return _list_output(x)
    keys = {k: _key(k) for k in x}
    if not all(type(k) in CONSTANTS and k == k for k in keys.values()):  # a NaN is found as the object that it is
        raise NeedsEager("it changes a dict whose keys are objects")
    return {keys[k]: _output(v) for k, v in x.items()}


def _list_output(x: list[Any]) -> Any:
    """The items of a list. Those that a loop has made are made at once: copies of the rows of an array."""
    rows = array_of_rows(x)
    if rows is None:
        return [_output(y) for y in x]
    active.current().output_lists.append(rows)
    return Rows(rows.__tnp_value__(), type(x[0]) is TracedNumber)


def _key(x: Any) -> Any:
    """A key of a dict: hashing it has specialized the trace on its value."""
    if type(x) is tuple:
        return tuple(map(_key, x))
    if type(x) is TracedNumber:
        return x.proxy.known()
    if type(x) is TracedEither:
        return _key(x.settled())
    if is_shadow(x) or class_of(x) is Foreign:
        raise NeedsEager("it returns a dict whose keys are objects that its caller has")
    return x.known_scalar() if type(x) is TracedArray else x


def _result(x: Any) -> Any:
    """What the function returns, as :func:`_output`; an error says which of several results it is about."""
    try:
        return _output(x)
    except NeedsEager as error:
        error.result = next((i for i, y in enumerate(x) if _is_no_output(y)), -1) if type(x) is tuple else -1
        raise


def _is_no_output(x: Any) -> bool:
    try:
        _output(x)
    except NeedsEager:
        return True
    return False


def _output(x: Any) -> Any:
    """A result with traced values replaced by proxies, stand-ins by the real objects, new objects by their constructors."""
    if type(x) in (TracedRange, TracedSize):
        x = x.known()
    kind = class_of(x)
    inputs = active.current().inputs
    if kind is Foreign:
        return inputs.object_proxy(source_of(x), type(real_value(x)))
    if kind is TracedArray:
        check_repeats_nothing(x)
        return _array_output(x, inputs)
    if kind in (TracedNumber, TracedObject):
        return x.proxy
    if x is UNBOUND:  # of a span
        return inputs.object_proxy(Source(inputs.prologue.constant(x, "unbound"), "an unbound variable"), kind)
    if kind is TracedMaybe:
        raise NeedsEager("whether a variable is bound is known only when the program runs")
    if kind is TracedEither:
        return x.output()
    if kind in (int, float, complex, bool) or isinstance(x, _UNCHANGING) or id(x) in inputs.same or is_immutable(x):
        return x
    if kind is slice:
        return slice(_output(x.start), _output(x.stop), _output(x.step))
    for container in inputs.containers:
        if container.made is x:  # what was passed in comes back as itself
            return inputs.object_proxy(container.source, container.kind)
    if type(x) is AttributeDict:
        return inputs.object_proxy(x.source, dict)
    if kind is tuple or (isinstance(x, tuple) and hasattr(x, "_fields")):
        items = [_output(y) for y in x]
        return kind(*items) if hasattr(x, "_fields") else tuple(items)
    if is_shadow(x):
        if is_copy(x):
            raise NeedsEager(f"it returns a copy of an object of the class {kind.__name__}")
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
        return _list_output(x)
    if kind is dict:
        return {_key(k): _output(y) for k, y in x.items()}
    if (is_plain_object(x) or (isinstance(x, dict) and is_made_of_attributes(x))) and not callable(x):
        if not _holds_traced(x):  # it may be one that the program got hold of unseen
            raise NeedsEager(f"it returns a new {kind.__name__}")
        attributes = attributes_of(x)
        if not isinstance(x, dict):
            return Construct(kind, {k: _output(v) for k, v in attributes.items()})
        fields = tuple(k for k, v in attributes.items() if dict.get(x, k, _output) is v)
        entries = {k: _output(v) for k, v in dict.items(x)}
        return Construct(kind, {k: _output(v) for k, v in attributes.items() if k not in fields}, entries, fields)
    if pytree.is_container(x):
        if isinstance(x, dict) and any(map(is_traced, dict.keys(x))):
            raise NeedsEager(f"it returns a {kind.__name__} whose keys are values of the program")
        if is_followed(getattr(x, "default_factory", None)):
            raise NeedsEager(f"it returns a {kind.__name__} that calls a function of the program")
        children, metadata, unflatten = pytree.flatten(x)
        return pytree.Rebuilt(kind, metadata, unflatten, [_output(c) for c in children])
    raise NeedsEager(f"it returns a {x.__class__.__name__}")


def _holds_traced(x: Any) -> bool:
    """Whether a value of the trace is in ``x``, or in what it is made of."""
    if is_traced(x) or is_shadow(x):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(_holds_traced, x))
    return (isinstance(x, dict) and any(map(_holds_traced, dict.values(x)))) or (
        is_made_of_attributes(x) and any(map(_holds_traced, attributes_of(x).values()))
    )
