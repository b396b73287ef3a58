"""Programs for a value: what a jitted function keeps where tracing asked for values
(:mod:`tnp.capture.speculation.value_specialization`).

A :class:`Question` is the program that computes such a value, and by its answers the programs that were compiled, which
may ask again. It changes nothing, so whatever it answers, the call has not begun to act: a program for that value runs
all of it, or one is compiled, or, when there are too many, the function runs eagerly.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import MISS, Prologue
from tnp.capture.speculation.value_specialization import Asked
from tnp.core.errors import LateGuardFailed, NeedsEager, RaisedWhenAsked
from tnp.lang.numpy import opaque
from tnp.runtime import signals
from tnp.runtime.quiet import quiet

if TYPE_CHECKING:
    from tnp.compile.cache_entry import CacheEntry

__all__ = ["SPECIALISATIONS", "Answered", "Family", "Question"]

#: programs for a value that are kept of one kind of call, unless the user says otherwise
SPECIALISATIONS = 8
#: calls in a row whose value has no program, after which no more values are computed
PATIENCE = 16


@dataclasses.dataclass
class Family:
    """The programs of one kind of call: how many there are and may be, and what is done with a call that has none."""

    limit: int
    run_eagerly: Callable[..., Any]
    count: int = 0
    #: calls in a row for which there was no program
    in_vain: int = 0
    #: calls that ran eagerly, for there may be no more programs
    overflowed: int = 0


class Question:
    """A value that tracing asked for; ``compute`` gives it for the arguments of a call, or ``MISS``."""

    def __init__(self, asked: Asked, compute: Callable[..., Any], family: Family) -> None:
        self.name, self.length = asked.name, len(asked.trace.bound_symbols)
        self.what, self.location = asked.what, asked.location
        self.prologue: Prologue = asked.prologue
        self.trace = asked.trace
        self.compute = compute
        #: NumPy's own calls among what computes the value, which may warn: the program makes them again
        self.calls_numpy = any(
            isinstance(b.sym.id, str) and b.sym.id.startswith("opaque.") for b in asked.trace.bound_symbols
        )
        self.family = family
        #: by a value, as :func:`key_of` writes it, the programs for it
        self.programs: dict[str, list[CacheEntry]] = {}

    def answer(self, values: tuple[Any, ...]) -> Any:
        """The value for these arguments, as a Python number; ``MISS`` where the question is not one for them."""
        with quiet() if self.calls_numpy else contextlib.nullcontext():
            value = self.compute(*values)
        return value if value is MISS else value.item() if hasattr(value, "item") else value

    def run(self, *values: Any) -> Any:
        """The program for the value that these arguments lead to; ``MISS`` if it is yet to be compiled."""
        family = self.family
        if family.in_vain >= PATIENCE:
            return MISS if self.prologue.first_failure(values) is not None else self._eagerly(values)
        try:
            value = self.answer(values)
        except LateGuardFailed:
            raise
        except Exception as error:  # the program's own error, which is raised where it stands
            if signals.of_handler(error) is not None:
                raise
            return family.run_eagerly(*values)
        if value is MISS:
            return MISS
        for entry in self.programs_for(value):
            result = entry.run(*values)
            if result is not MISS:
                family.in_vain = 0
                return result
        return MISS if family.count < family.limit else self._eagerly(values)

    def _eagerly(self, values: tuple[Any, ...]) -> Any:
        self.family.in_vain += 1
        self.family.overflowed += 1
        return self.family.run_eagerly(*values)

    def is_for(self, asked: Asked, values: tuple[Any, ...]) -> bool:
        """Whether it asks the same as ``asked``, for a call with these arguments."""
        same = self.name == asked.name and self.length == len(asked.trace.bound_symbols)
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
                if entry.question is None:
                    yield (condition,), entry
                else:
                    yield from (((condition, *others), leaf) for others, leaf in entry.question.leaves())


class Answered:
    """The questions that the tracing of one call asks, and their answers: new ones, or those of programs that are kept.

    ``entries`` are the programs that there are, and ``make`` makes a question.
    """

    def __init__(
        self, entries: Sequence[CacheEntry], values: tuple[Any, ...], make: Callable[[Asked, Family | None], Question]
    ) -> None:
        self.entries, self.values, self.make = entries, values, make
        self.begin()

    def begin(self) -> None:
        self.steps: list[tuple[Question, Any]] = []

    def __call__(self, asked: Asked) -> Any:
        entries = self.entries
        if self.steps:
            question, value = self.steps[-1]
            entries = question.programs_for(value)
        known = (e.question for e in entries if e.question is not None and e.question.is_for(asked, self.values))
        found = next(known, None) or self.make(asked, self.steps[0][0].family if self.steps else None)
        try:
            value = found.answer(self.values)
        except LateGuardFailed as failure:
            raise NeedsEager(str(failure)) from None
        except Exception as error:
            raise RaisedWhenAsked(error) from None
        if value is MISS:
            raise NeedsEager(f"{asked.what} needs a value that the program does not compute")
        self.steps.append((found, value))
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
