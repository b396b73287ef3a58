"""Value specialization: Python needs a run-time value while a program is traced.

``float(x.sum())`` as a shape, ``if`` around Python side effects, a string made of a value: the program is then compiled
for that value. The operations traced so far compute it. Reduced to the operations that the value needs, and to effects
that can be undone, they form a program of their own, a *value guard*. It writes no memory of the caller and prints
nothing, so it can run first at each call, to select the program for the call.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast

from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Prologue
from tnp.capture.guards.scalar_guards import guard_numbers
from tnp.capture.libraries.numpy.errstate import is_setting
from tnp.capture.speculation.lengths_of_slices import know_integers_of
from tnp.capture.suspended import suspended
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core import intervals, prims, sizes
from tnp.core.errors import NeedsElements, NeedsValue, UserLocation, user_location
from tnp.core.prims.control_flow import START_OVER, starts_over
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow, map_bodies, with_parts
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.symbols import roots
from tnp.core.trace import Trace

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["GuardEvaluator", "Specializer", "ValueProgram"]


def _assertions(body: Iterable[BoundSymbol], found: Iterable[BoundSymbol]) -> list[BoundSymbol]:
    """What is asserted of the lengths of arrays that the statements ``found`` make: code for them relies on it."""
    dims = [n for b in found for p in b.flat_outputs if isinstance(p, TensorProxy) for n in p.shape]
    there = {root.name for n in dims for x, _ in intervals.linear(n).terms.values() for root in roots(x)}
    conditions: dict[str, BoundSymbol] = {}
    made: list[BoundSymbol] = []
    for b in body:
        if isinstance(b.output, NumberProxy):
            conditions[b.output.name] = b
        elif starts_over(b) and isinstance(b.args[0], NumberProxy) and b.args[0].name in conditions:
            condition = conditions[b.args[0].name]
            numbers = [x for p in condition.flat_inputs if isinstance(p, NumberProxy) for x in roots(p)]
            if numbers and all(x.name in there for x in numbers):
                made += condition, b
    return made


@dataclasses.dataclass
class ValueProgram:
    """A value that tracing specializes on: the program that computes it, with guards and inputs like a captured program."""

    name: str
    trace: Trace
    prologue: Prologue
    inputs: Inputs
    #: whether gradients are on and arguments require them
    requires_gradients: bool
    #: whether random numbers are drawn on the way
    draws: bool
    #: the Python operation that needs it, and its line
    what: str
    location: UserLocation
    #: what is raised where there is no program for the value
    needed: NeedsValue

    #: elements from which on it is worth compiling what is computed of them
    MANY = 4096
    #: elements that take longer than calls of parts do
    LONG = 2**16

    @property
    def expressions(self) -> dict[str, str]:
        """The expression that fetches each argument, by name."""
        return self.inputs.expressions

    def guard_numbers(self, known: int) -> None:
        """Guards the numbers that passes have read, except the first ``known``."""
        numbers = list(self.trace.value_guards.values())[known:]
        with _guarding_in(self.inputs, self.prologue):
            guard_numbers(self.trace, numbers, self.inputs)

    def computes_again(self, computed: set[str]) -> bool:
        """Whether what it computes of ``computed`` takes longer than calls of parts do, by the elements; adds the rest to that."""
        made = {p.name: p for b in self.trace.body if OpTags.VIEW not in b.sym.tags for p in b.flat_outputs}
        counts = [sizes.most(p.shape) for n, p in made.items() if n in computed and isinstance(p, TensorProxy)]
        computed.update(made)
        return sum(self.LONG if n is None else n for n in counts) >= self.LONG

    @property
    def is_light(self) -> bool:
        """Whether a library's calls one by one are fast enough: there are no loops, and at most one of them on a large array."""
        large = 0
        for b in self.trace.body:
            if is_control_flow(b):
                return False
            counts = [sizes.most(p.shape) for p in b.flat_inputs if isinstance(p, TensorProxy)]
            large += OpTags.VIEW not in b.sym.tags and any(n is None or n > self.MANY for n in counts)
        return large <= 1


class GuardEvaluator(Protocol):
    """Computes the values that traces specialize on, for the arguments of one call."""

    def begin(self) -> None:
        """Called when a trace is begun, maybe another time."""

    def __call__(self, wanted: ValueProgram, most: int | None = None) -> Any:
        """The value, as a Python number; ``None`` if there are programs for ``most`` other values."""

    def once(self, wanted: ValueProgram) -> Any:
        """The value, which is no other in any call that the trace is valid for."""


class Specializer:
    """The values that one trace specializes on. Without ``evaluator`` there are none."""

    #: value guards of one trace; a function that needs more runs eagerly
    LIMIT = 16
    #: so many have programs of any length. Those of more have so many operations in all: of a loop that is written out, each computes again
    #: what the ones before do
    FEW, MOST_OPERATIONS = 4, 1_000
    #: operations, in all, of the programs that are made to find out a length in the present call
    MOST_ASKED = 3_000
    #: values of a length that get a program each, before one serves all lengths
    FEW_LENGTHS = 2
    #: so many integers are guarded, in place of a value that is computed of them
    FEW_NUMBERS = 8

    def __init__(self, tracer: Tracer, evaluator: GuardEvaluator | None) -> None:
        self.tracer = tracer
        self.evaluator = evaluator
        #: the value of each proxy, by name, on which the trace is specialized
        self.specialized: dict[str, Any] = {}
        #: the values of those that are computed of guarded integers alone, for which there are no value guards
        self.settled: dict[str, Any] = {}
        #: whether a length had other values in several calls
        self.is_for_any_length = False
        #: the values that its value guards compute
        self._computed: set[str] = set()
        #: the operations of their programs, in all, and how many of the values each place of the program needs
        self._operations = 0
        self._places: Counter[str] = Counter()
        #: the operations of the programs that found out lengths in the present call
        self._asked = 0
        #: what :meth:`value` raised last, which code in C may have replaced by an error of its own
        self.refused: NeedsValue | None = None
        #: whether it is too early to specialize: unrolling loops might make the value known
        self.postponed: Callable[[], bool] = lambda: False

    def has_elements(self, needed: NeedsElements) -> bool:
        """Goes on as if a size that only the running program knows were large enough; where it is not, the call runs eagerly. Gives whether
        the trace can."""
        tracer = self.tracer
        if (
            tracer.regions
            or not tracer.may_start_over()
            or not intervals.note_least(intervals.linear(needed.size), needed.least)
        ):
            return False
        tracer.expects_no_error()
        prims.assert_(prims.ge(needed.size, needed.least), START_OVER)
        return True

    def present(self, n: NumberProxy) -> int | None:
        """A length in the present call, on which the trace does not come to depend; ``None`` if it is too early to ask, no program of its
        own computes it, or the trace has asked for too many: each program computes again what those before do."""
        if self.evaluator is None or self.tracer.differentiating or self.postponed():
            return None
        wanted = self._value_guard(n, "a length", NeedsValue("a length is known only when the program runs"))
        if wanted is None or wanted.draws:
            return None
        self._asked += len(wanted.trace.body)
        if self._asked > self.MOST_ASKED:
            return None
        with suspended(self.tracer):
            return cast("int", self.evaluator.once(wanted))

    def value(self, proxy: Proxy, what: str) -> Any:
        """The number that ``proxy``, of one element, has in this call. Raises :class:`NeedsValue` if the trace cannot specialize on it."""
        try:
            return self._value(proxy, what)
        except NeedsValue as needed:
            self.refused = needed
            raise

    def _value(self, proxy: Proxy, what: str) -> Any:
        if proxy.name in self.specialized or proxy.name in self.settled:
            return self._found(proxy)
        if (number := self.tracer.size_arrays.number(proxy)) is not None:
            return self.tracer.known(number)
        if (
            isinstance(proxy, NumberProxy) and proxy.relations is not None and not proxy.relations.finds(proxy)
        ):  # a size
            return proxy.known()
        needed = NeedsValue(f"{what} needs the value of {proxy.name}, which is known only when the program runs")
        if self.tracer.regions and isinstance(proxy, NumberProxy):
            know_integers_of(proxy, self.tracer)
        if self.evaluator is None or self.tracer.regions or self.tracer.differentiating or self.postponed():
            raise needed
        wanted = self._value_guard(proxy, what, needed)
        if wanted is not None and self._settles(wanted):
            return self._found(proxy)
        self._check_limit(what, proxy)
        if wanted is None:
            raise needed
        if wanted.computes_again(self._computed):
            raise NeedsValue(f"{what} needs the value of {proxy.name}, of what another value was needed before")
        self._operations += len(wanted.trace.body)
        if len(self.specialized) >= self.FEW and self._operations > self.MOST_OPERATIONS:
            self._give_up_places()
            raise NeedsValue(
                f"{what} needs the value of {proxy.name}, and the value guards have {self._operations:,} operations in all"
            )
        with suspended(self.tracer):
            found = self.evaluator(wanted)
        self.specialized[proxy.name] = found
        self._places[str(user_location())] += 1
        return found

    def _check_limit(self, what: str, proxy: Proxy) -> None:
        """Raises :class:`NeedsValue` if the trace has all the value guards that it may have. A place that needed most of them gets none in
        later traces: a program for each way that a loop over values goes serves few calls."""
        done = len(self.specialized)
        if str(user_location()) in self.tracer.inputs.prologue.varying.without_guards:
            raise NeedsValue(f"{what} needs the value of {proxy.name}, as it needed of too many before")
        if done >= self.LIMIT:
            self._give_up_places()
            raise NeedsValue(f"{what} needs the value of {proxy.name}, and the program has {done} value guards already")

    def _give_up_places(self) -> None:
        """Gives no guards to the places that needed most of them, in later traces."""
        least = max(len(self.specialized), self.LIMIT // 2)
        self.tracer.inputs.prologue.varying.without_guards.update(p for p, n in self._places.items() if n * 2 >= least)

    def length(self, proxy: Proxy, what: str) -> Any:
        """The integer that ``proxy`` has in this call, if that is one of few in the calls; ``None`` if the program is to be for any.

        Raises :class:`NeedsValue` if it is too early to ask."""
        if proxy.name in self.specialized or proxy.name in self.settled:
            return self._found(proxy)
        tracer = self.tracer
        if self.evaluator is None or tracer.regions or tracer.differentiating or len(self.specialized) >= self.LIMIT:
            return None
        if self.is_for_any_length:
            return None
        needed = NeedsValue(f"{what} needs the value of {proxy.name}, which is known only when the program runs")
        if self.postponed():
            raise needed
        wanted = self._value_guard(proxy, what, needed)
        if wanted is not None and self._settles(wanted):
            return self._found(proxy)
        if wanted is None or wanted.computes_again(self._computed):
            return None
        with suspended(tracer):
            found = self.evaluator(wanted, self.FEW_LENGTHS)
        if found is None:
            self.is_for_any_length = True
        else:
            self.specialized[proxy.name] = found
        return found

    def known(self, x: Any) -> Any:
        """``x``, or its value if the trace specializes on it."""
        if type(x) is not TracedNumber:
            return x
        return self.specialized.get(x.proxy.name, self.settled.get(x.proxy.name, x))

    def _found(self, proxy: Proxy) -> Any:
        return self.specialized.get(proxy.name, self.settled.get(proxy.name))

    def _settles(self, wanted: ValueProgram) -> bool:
        """Whether a value is computed of a few integers alone, which did not vary so far: they are guarded then, which takes less time than to
        compute it at each call."""
        numbers = wanted.trace.args
        if wanted.draws or len(numbers) > self.FEW_NUMBERS or not all(map(_is_plain_integer, numbers)):
            return False
        assert self.evaluator is not None
        for p in numbers:
            assert isinstance(p, NumberProxy)
            p.known()
        with suspended(self.tracer):
            self.settled[wanted.name] = self.evaluator.once(wanted)
        return True

    def _value_guard(self, proxy: Proxy, what: str, needed: NeedsValue) -> ValueProgram | None:
        tracer = self.tracer
        body, names = _without_writes(tracer.trace.bound_symbols)
        wanted = names.get(proxy.name, proxy)
        available = tracer.inputs.with_sizes(body)
        inputs = {p.name for p in available}
        found = _slice(body, [wanted], inputs)
        draws = found is not None and any(b.has_tag_inside(OpTags.RANDOM) for b in found)
        random = [b for b in body if b.has_tag_inside(OpTags.RANDOM)] if draws else []
        if draws:  # what has been drawn before, and states that were set, decide what is drawn
            drawn = [p for b in random for p in b.flat_outputs or b.flat_inputs]
            found = _slice(body, [wanted, *drawn], inputs)
        if found is None:
            return None
        asserted = {id(b) for b in _assertions(body, found)}
        kept = {id(b) for b in (*found, *random)} | asserted
        body = [b for b in body if id(b) in kept or is_setting(b)]
        body = [b for b in (b if id(b) in asserted else _quiet(b) for b in body) if b is not None]
        if self._relies_on_layouts(body):
            return None
        body, wanted = self._on_copies(body, wanted)
        trace = Trace.like(tracer.trace)
        trace.value_guards = dict(tracer.trace.value_guards)
        used = {p.name for b in body for part in with_parts(b) for p in part.flat_inputs} | {wanted.name}
        trace.args = [p for p in available if p.name in used]
        prologue = self._prologue(used)
        trace.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in trace.args]
        trace.bound_symbols += body
        trace.bound_symbols.append(prims.python_return.bind(wanted, output=None))
        trace.output = wanted
        requires = tracer.gradients is not None and bool(tracer.gradients.roots)
        return ValueProgram(proxy.name, trace, prologue, tracer.inputs, requires, draws, what, user_location(), needed)

    def _written(self) -> list[TensorProxy]:
        """The caller's arrays that the program writes."""
        return [s.origin for s in self.tracer.inputs.storages if s.dirty and s.origin is not None]

    def _relies_on_layouts(self, body: Iterable[BoundSymbol]) -> bool:
        """Whether a program reshapes arrays, and writes one whose copy lies otherwise in memory: which reshapes are views would differ."""
        row_major = self.tracer.trace.row_major
        if all(p.ndim < 2 or p.name in row_major for p in self._written()):
            return False
        return any(part.operation is prims.reshape for b in body for part in with_parts(b))

    def _on_copies(self, body: list[BoundSymbol], wanted: Proxy) -> tuple[list[BoundSymbol], Proxy]:
        """A program in which copies stand for the caller's arrays that it writes: what loops and branches carry, they may write to."""
        trace, read = self.tracer.trace, {p.name for b in body for p in b.flat_inputs} | {wanted.name}
        copies: dict[str, Any] = {}
        made = []
        for p in self._written():
            if p.name in read:
                copies[p.name] = TensorProxy(trace.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)
                made.append(prims.clone.bind(p, output=copies[p.name]))
        return [*made, *(b.substitute(copies) for b in body)], copies.get(wanted.name, wanted)

    def _prologue(self, used: set[str]) -> Prologue:
        """What must hold for the program so far."""
        inputs = self.tracer.inputs
        with _guarding_in(inputs, inputs.prologue.copy()):
            inputs.finish(used)
            guard_numbers(self.tracer.trace, self.tracer.trace.value_guards.values(), inputs)
            return inputs.prologue


def _is_plain_integer(p: Proxy) -> bool:
    """Whether an input is an integer that is the same at each call so far."""
    if not isinstance(p, NumberProxy) or p.python_type not in (int, bool):
        return False
    return p.relations is None and p.value is not None


@contextlib.contextmanager
def _guarding_in(inputs: Inputs, prologue: Prologue) -> Iterator[None]:
    """While what ``inputs`` guards goes to another ``prologue``."""
    own, inputs.prologue = inputs.prologue, prologue
    try:
        yield
    finally:
        inputs.prologue = own


def _without_writes(bsyms: Iterable[BoundSymbol]) -> tuple[list[BoundSymbol], dict[str, Any]]:
    """A program without its writes to the caller's memory, and what stands in the places of their results."""
    names: dict[str, Any] = {}
    kept = []
    for b in bsyms:
        b = b.substitute(names)
        if b.operation is prims.copy_:
            names[b.output.name] = b.args[0]
        elif OpTags.PROGRAM not in b.sym.tags:
            kept.append(b)
    return kept, names


def _slice(body: list[BoundSymbol], wanted: list[Proxy], inputs: set[str]) -> list[BoundSymbol] | None:
    """The operations that values are computed by; ``None`` if some are unknown, or if the values would be others the next time."""
    definers: dict[str, BoundSymbol] = {}
    for b in body:
        for p in b.flat_outputs:
            definers.setdefault(p.name, b)
        for p in b.flat_outputs:
            for n in p.shape if isinstance(p, TensorProxy) else ():
                if isinstance(n, NumberProxy) and (n.relations is None or n.relations.finds(n)):
                    definers.setdefault(n.name, b)
    found: dict[int, BoundSymbol] = {}
    needed = list(wanted)
    while needed:
        p = needed.pop()
        definer = definers.get(p.name)
        if definer is None:
            if p.name in inputs:
                continue
            return None
        if id(definer) not in found:
            if _depends_on_time(definer):
                return None
            found[id(definer)] = definer
            needed += definer.flat_inputs
    return list(found.values())


def _depends_on_time(b: BoundSymbol) -> bool:
    """Whether an operation gives something else each time, for reasons that cannot be put back."""
    if b.has_tag_inside(OpTags.BARRIER):
        return True
    return b.has_tag_inside(OpTags.RANDOM) and not _is_of_numpy(b)


def _is_of_numpy(b: BoundSymbol) -> bool:
    """Whether the random numbers of an operation are drawn by NumPy."""
    if is_control_flow(b):
        bodies = [a for a in b.args if isinstance(a, Body)]
        return all(_is_of_numpy(c) for body in bodies for c in body.bound_symbols)
    if not b.has_tag_inside(OpTags.RANDOM):
        return True
    return isinstance(b.sym.id, str) and b.sym.id.startswith(("opaque.random.", "generator."))


def _quiet(b: BoundSymbol) -> BoundSymbol | None:
    """An operation without what it prints, logs and asserts; ``None`` if nothing is left."""
    if is_control_flow(b):
        return map_bodies(_quiet_body, b)
    says = OpTags.EFFECT in b.sym.tags and OpTags.RANDOM not in b.sym.tags
    return None if says and not b.flat_outputs and not is_setting(b) else b


def _quiet_body(body: Body) -> Body:
    kept = [b for b in map(_quiet, body.bound_symbols) if b is not None]
    same = len(kept) == len(body.bound_symbols) and all(a is b for a, b in zip(kept, body.bound_symbols))
    return body if same else Body(body.args, kept, body.results)
