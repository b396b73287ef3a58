"""Value guards and the programs behind them, in the cache of a jitted function
(:mod:`tnp.capture.speculation.value_specialization`).

A :class:`ValueGuard` is a value guard: the program that computes a value, with the programs compiled for its results, which
may begin with further value guards. It has no side effects, so a call has done nothing before its program is selected: a
program for the value runs, or is compiled, or, if there are too many, the function runs eagerly.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import MISS, Prologue
from tnp.capture.speculation.value_specialization import ValueProgram
from tnp.compile.checked_values import Expected
from tnp.core.errors import LateGuardFailed, NeedsEager, RaisedWhenAsked
from tnp.core.prims.control_flow import START_OVER
from tnp.lang.numpy import opaque
from tnp.runtime import signals
from tnp.runtime.quiet import quiet

if TYPE_CHECKING:
    from tnp.compile.cache_entry import CacheEntry

__all__ = ["SPECIALISATIONS", "CallGuards", "Family", "ValueGuard"]

#: the default limit of specialized programs per call signature
SPECIALISATIONS = 8
#: calls in a row whose value has no program, after which no more values are computed
PATIENCE = 16


@dataclasses.dataclass
class Family:
    """The specialized programs of one call signature: their number, its limit, and the handling of calls without a program."""

    limit: int
    run_eagerly: Callable[..., Any]
    #: the function itself, which raises the error that computing a value raises
    run_function: Callable[..., Any]
    count: int = 0
    #: calls in a row for which there was no program
    in_vain: int = 0
    #: calls that ran eagerly, for there may be no more programs
    overflowed: int = 0
    #: the first value guard, and the program that calls are expected to come to
    first: ValueGuard | None = None
    expected: Expected = dataclasses.field(default_factory=Expected)
    #: whether a program computes a value with other rounding than its value guard
    rounds: bool = False


#: what a program gives that finds another value than the one that it is for
ANOTHER = object()


class ValueGuard:
    """A value guard; ``compute`` returns the value for the arguments of a call, or ``MISS``."""

    def __init__(self, wanted: ValueProgram, compute: Callable[..., Any], family: Family) -> None:
        self.name, self.length = wanted.name, len(wanted.trace.bound_symbols)
        self.what, self.location = wanted.what, wanted.location
        self.prologue: Prologue = wanted.prologue
        self.trace = wanted.trace
        self.compute = compute
        #: NumPy's own calls among what computes the value, which may warn: the program makes them again
        self.calls_numpy = any(
            isinstance(b.sym.id, str) and b.sym.id.startswith("opaque.") for b in wanted.trace.bound_symbols
        )
        self.family = family
        if family.first is None:
            family.first = self
        #: by a value, as :func:`key_of` writes it, the programs for it
        self.programs: dict[str, list[CacheEntry]] = {}

    def evaluate(self, values: tuple[Any, ...]) -> Any:
        """The value for these arguments, as a Python number; ``MISS`` if the value guard is not valid for them."""
        with quiet() if self.calls_numpy else contextlib.nullcontext():
            value = self.compute(*values)
        return value if value is MISS else value.item() if hasattr(value, "item") else value

    def run(self, *values: Any) -> Any:
        """The program for the value that these arguments lead to; ``MISS`` if it is yet to be compiled."""
        family = self.family
        if family.expected.program is not None and family.first is self:
            result = self._as_expected(family.expected.program, values)
            if result is not MISS:
                family.expected.calls += 1
                return result
        if family.in_vain >= PATIENCE:
            return MISS if self.prologue.first_failure(values) is not None else self._eagerly(values)
        try:
            value = self.evaluate(values)
        except LateGuardFailed:
            raise
        except Exception as error:  # the program's own error, which is raised where it stands
            if signals.of_handler(error) is not None:
                raise
            return family.run_function(*values)
        if value is MISS:
            return MISS
        for entry in self.programs_for(value):
            result = self._unless_another(entry, values)
            if result is ANOTHER:
                self._forget(entry)
                return family.run_function(*values)
            if result is not MISS:
                family.in_vain = 0
                if entry.guard is None:
                    family.expected.ran(entry)
                return result
        return MISS if family.count < family.limit else self._eagerly(values)

    def _unless_another(self, program: CacheEntry, values: tuple[Any, ...]) -> Any:
        """What a program gives; ``ANOTHER`` if it checks the values that it is for, and finds another."""
        try:
            return program.run(*values)
        except AssertionError as error:
            if not program.checks_values or error.args != (START_OVER,):
                raise
        return ANOTHER

    def _as_expected(self, program: CacheEntry, values: tuple[Any, ...]) -> Any:
        """What the program gives that calls came to so far; ``MISS`` if a value is another this time."""
        result = self._unless_another(program, values)
        if result is not ANOTHER:
            return result
        self.family.expected.was_another()
        return MISS

    def _forget(self, program: CacheEntry) -> None:
        """Drops a program that finds another value than its value guard: the next one for it checks none."""
        self.family.rounds = True
        self.family.count -= 1
        for entries in self.programs.values():
            if program in entries:
                entries.remove(program)

    def _eagerly(self, values: tuple[Any, ...]) -> Any:
        self.family.in_vain += 1
        self.family.overflowed += 1
        return self.family.run_eagerly(*values)

    def is_for(self, wanted: ValueProgram, values: tuple[Any, ...]) -> bool:
        """Whether it asks the same as ``wanted``, for a call with these arguments."""
        same = self.name == wanted.name and self.length == len(wanted.trace.bound_symbols)
        return same and self.prologue.first_failure(values) is None

    def programs_for(self, value: Any) -> Sequence[CacheEntry]:
        return self.programs.get(key_of(value), ())

    def add(self, value: Any, entry: CacheEntry) -> None:
        """Keeps ``entry`` for a value."""
        entries = self.programs.setdefault(key_of(value), [])
        if not any(e is entry for e in entries):
            entries.insert(0, entry)

    def leaves(self) -> Iterator[tuple[tuple[str, ...], CacheEntry]]:
        """The programs, each with what the values are that it is for."""
        for key, entries in self.programs.items():
            condition = f"the value {key} that {self.what} needs ({self.location})"
            for entry in entries:
                if entry.guard is None:
                    yield (condition,), entry
                else:
                    yield from (((condition, *others), leaf) for others, leaf in entry.guard.leaves())


class CallGuards:
    """The value guards in the tracing of one call, and their results: new ones, or those in the cache.

    ``entries`` are the cache entries, and ``make`` makes a value guard.
    """

    def __init__(
        self,
        entries: Sequence[CacheEntry],
        values: tuple[Any, ...],
        make: Callable[[ValueProgram, Family | None], ValueGuard],
    ) -> None:
        self.entries, self.values, self.make = entries, values, make
        self.begin()

    def begin(self) -> None:
        self.steps: list[tuple[ValueGuard, Any]] = []

    def __call__(self, wanted: ValueProgram, most: int | None = None) -> Any:
        entries = self.entries
        if self.steps:
            guard, value = self.steps[-1]
            entries = guard.programs_for(value)
        known = (e.guard for e in entries if e.guard is not None and e.guard.is_for(wanted, self.values))
        found = next(known, None) or self._made(wanted)
        value = self._evaluated(found)
        if most is not None and len(found.programs) >= min(most, found.family.limit) and not found.programs_for(value):
            return None
        self.steps.append((found, value))
        return value

    def once(self, wanted: ValueProgram) -> Any:
        return self._evaluated(self._made(wanted))

    def _made(self, wanted: ValueProgram) -> ValueGuard:
        return self.make(wanted, self.steps[0][0].family if self.steps else None)

    def _evaluated(self, guard: ValueGuard) -> Any:
        try:
            value = guard.evaluate(self.values)
        except LateGuardFailed as failure:
            raise NeedsEager(failure.reason, failure.place) from None
        except Exception as error:
            raise RaisedWhenAsked(error) from None
        if value is MISS:
            raise NeedsEager(f"{guard.what} needs a value that the program does not compute")
        return value


def key_of(value: Any) -> str:
    """A text for a number that tells apart whatever Python does: its type, the zeros, and NaN."""
    return repr(value)


def repeatable(program: Callable[..., Any], *, draws: bool) -> Callable[..., Any]:
    """``program``, that leaves NumPy's floating-point settings, and the random generators that it draws from, as they were."""

    def run(*inputs: Any) -> Any:
        with np.errstate(), _undrawn(inputs) if draws else contextlib.nullcontext():
            return program(*inputs)

    return run


@contextlib.contextmanager
def _undrawn(inputs: tuple[Any, ...]) -> Iterator[None]:
    generators: list[Any] = [x for x in (*inputs, opaque.global_generator()) if isinstance(x, opaque.generators())]
    before = [_state(g) for g in generators]
    try:
        yield
    finally:
        for g, saved in zip(generators, before):
            if isinstance(g, np.random.Generator):
                g.bit_generator.state = saved
            else:
                g.set_state(saved)


def _state(g: Any) -> Any:
    return g.bit_generator.state if isinstance(g, np.random.Generator) else g.get_state(legacy=False)
