"""Traces: programs as lists of bound symbols, which print as Python and run as what they print.

>>> import numpy as np, tnp
>>> trace = tnp.trace()(lambda a, b: a + b * a, np.ones((2, 2)), np.ones((2, 1)))
>>> [b.sym.qualified_name for b in trace.bound_symbols]
['prims.unpack_trivial', 'prims.unpack_trivial', 'lnp.multiply', 'lnp.add', 'prims.python_return']
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.core import metadata
from tnp.core.context import current_trace, state
from tnp.core.errors import NeedsEager, StackLocation, user_location, user_stack
from tnp.core.metadata import Metadata
from tnp.core.printing import compile_source, trace_source
from tnp.core.proxies import NumberProxy, Proxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.runtime import logs

__all__ = ["OWN_TRACE", "Provenance", "Trace", "check_length", "current_trace", "detached", "tracing"]


#: the name of a weak reference to the trace in a program's globals: tracebacks look at it
OWN_TRACE = "__tnp_trace__"
#: a trace shows how long it is each time that it has so many names more
LOOK_EVERY = 500
#: names of attempts that were undone, at most, that count for nothing: each takes time
MOST_UNDONE = 100_000


class Provenance:
    """Which pass made a trace, and how long it took."""

    __slots__ = ("name", "seconds")

    def __init__(self, name: str, seconds: float | None = None) -> None:
        self.name = name
        self.seconds = seconds

    def __str__(self) -> str:
        took = "" if self.seconds is None else f" (took {self.seconds * 1000:.0f} milliseconds)"
        return f"# Constructed by {self.name}{took}"


def check_length(trace: Trace, count: int) -> None:
    """Raises :class:`NeedsEager` if so many names are too many for a trace. Some may be of attempts that were undone."""
    if count - min(trace.undone_names, MOST_UNDONE) > trace.most_names:
        raise NeedsEager(f"it is more than {trace.most_names:,} operations long when it is written out")


class Trace:
    """A program: its argument proxies, its bound symbols in order, and what it returns.

    The last bound symbol is ``prims.python_return``; the first ones are ``prims.unpack_trivial``, one an argument.

    It has many methods: those that build a program, those that make names, and those that print and run it.
    """

    def __init__(self, name: str = "computation") -> None:
        self.name = name
        self.args: list[Proxy] = []
        self.bound_symbols: list[BoundSymbol] = []
        #: what it returns as long as it has no return
        self._output: Any = None
        self.provenance: Provenance | None = None
        #: numbers whose value the trace came to depend on, in the order in which it did
        self.value_guards: dict[str, NumberProxy] = {}
        #: how passes after capture computed numbers that they read
        self.asked_numbers: list[BoundSymbol] = []
        #: what made each number, also one that stood in the body of a branch or a function that a transform then replaced
        self.number_definitions: dict[str, BoundSymbol] = {}
        #: of NumPy scalars that are arguments, how to get the value, which the trace then depends on
        self.scalar_values: dict[str, Callable[[], Any]] = {}
        #: how many elements masks select, by how these are computed
        self.counts: dict[str, NumberProxy] = {}
        #: arguments that are C-contiguous in memory
        self.row_major: set[str] = set()
        #: results that the caller may not write through
        self.read_only: set[str] = set()
        #: results of the program's own memory that it made read-only
        self.frozen: set[str] = set()
        #: whether the caller's arrays are written when nothing can raise any more
        self.writes_last = False
        #: whether the call may run eagerly after all, while it is recorded
        self.may_start_over = False
        #: called with a number whose value is to be guarded
        self.before_value_guard: Callable[[NumberProxy], None] | None = None
        #: whether it may catch an error that an operation raises when the program runs: after one, eager decides
        self.catches = False
        #: what others know of it, by their keys
        self.metadata: dict[Metadata[Any], Any] = {}
        #: how many names may be made before :class:`NeedsEager` is raised
        self.most_names = sys.maxsize
        #: names of operations that were recorded on trial, and taken away again
        self.undone_names = 0
        #: from how many names on that is looked at, and progress shown
        self._look_at = LOOK_EVERY
        self._names: set[str] = set()
        self._counters: dict[str, int] = {}
        #: whether the names are another trace's as well, so that they are copied before one is added
        self._shares_names = False
        self._scopes: list[list[BoundSymbol]] = [self.bound_symbols]
        #: the open scopes whose symbols are statements of the program, not parts of another symbol
        self._bodies: list[list[BoundSymbol]] = [self.bound_symbols]
        self._callable: Callable[..., Any] | None = None

    @property
    def output(self) -> Any:
        """What the program returns: what its last line says."""
        last = self.bound_symbols[-1] if self.bound_symbols else None
        return last.args[0] if last is not None and OpTags.RETURNS in last.sym.tags else self._output

    @output.setter
    def output(self, output: Any) -> None:
        self._output = output

    @classmethod
    def like(cls, other: Trace, bound_symbols: Iterable[BoundSymbol] = ()) -> Trace:
        """A trace with the names, arguments and result of ``other`` and other bound symbols."""
        new = cls(other.name)
        new.args = list(other.args)
        new.bound_symbols.extend(bound_symbols)
        new._output = other.output
        new.value_guards, new.asked_numbers = other.value_guards, other.asked_numbers
        new.number_definitions = other.number_definitions
        new.row_major = other.row_major
        new.read_only = other.read_only
        new.frozen = other.frozen
        new.writes_last, new.catches = other.writes_last, other.catches
        new.metadata = metadata.inherited(other)
        new._names, new._counters = other._names, other._counters
        new._shares_names = other._shares_names = True
        return new

    # Building

    def make_name(self, prefix: str) -> str:
        """A name not used yet: the prefix and the next number."""
        if self._shares_names:
            self._own_names()
        counter = self._counters.get(prefix, 0)
        name = f"{prefix}{counter}"
        while name in self._names:
            counter += 1
            name = f"{prefix}{counter}"
        self._counters[prefix] = counter + 1
        self._names.add(name)
        if len(self._names) > self._look_at:
            check_length(self, len(self._names))
            logs.progress(f"{len(self._names):,} values")
            self._look_at = len(self._names) + LOOK_EVERY
        return name

    @property
    def name_count(self) -> int:
        """How many names there are."""
        return len(self._names)

    def add_name(self, wanted: str) -> str:
        """``wanted``, with a number appended if it is in use."""
        if wanted in self._names:
            return self.make_name(f"{wanted}_")
        if self._shares_names:
            self._own_names()
        self._names.add(wanted)
        return wanted

    def record(self, bsym: BoundSymbol) -> None:
        """Appends a bound symbol to the innermost open scope."""
        scope = self._scopes[-1]
        if scope is self._bodies[-1] and bsym.location is None:
            bsym.location = StackLocation(user_stack()) if OpTags.LATE_GUARD in bsym.sym.tags else user_location()
        scope.append(bsym)
        if type(bsym.output) is NumberProxy:
            self.number_definitions[bsym.output.name] = bsym

    def open_statements(self) -> Iterator[BoundSymbol]:
        """The bound symbols of all open scopes, the latest first."""
        for scope in reversed(self._scopes):
            yield from reversed(scope)

    def push_scope(self) -> list[BoundSymbol]:
        """Bound symbols go to the list returned, until ``pop_scope``."""
        scope: list[BoundSymbol] = []
        self._scopes.append(scope)
        return scope

    def pop_scope(self) -> list[BoundSymbol]:
        return self._scopes.pop()

    def push_body(self) -> list[BoundSymbol]:
        """As :meth:`push_scope`, for the statements of a loop or a branch, until ``pop_body``."""
        scope = self.push_scope()
        self._bodies.append(scope)
        return scope

    def pop_body(self) -> list[BoundSymbol]:
        """Closes the innermost body, and scopes inside it that an error left open."""
        scope = self._bodies.pop()
        while self._scopes.pop() is not scope:
            pass
        return scope

    @property
    def statements(self) -> list[BoundSymbol]:
        """The innermost open body: where the statement being traced will be recorded."""
        return self._bodies[-1]

    @property
    def open_bodies(self) -> list[list[BoundSymbol]]:
        """The open bodies of loops and branches, the outermost first."""
        return self._bodies[1:]

    @property
    def scope(self) -> list[BoundSymbol]:
        """The innermost open scope: where symbols called now are recorded."""
        return self._scopes[-1]

    def take_names(self, other: Trace) -> None:
        """Counts the names that ``other``, a trace made like this one, has made since as used here too."""
        if other._names is not self._names:
            if self._shares_names:
                self._own_names()
            self._names |= other._names
            self._counters.update(other._counters)

    def _own_names(self) -> None:
        self._names, self._counters = set(self._names), dict(self._counters)
        self._shares_names = False

    def depend_on_value(self, number: NumberProxy) -> None:
        """Specializes the trace on the current value of ``number``."""
        if self.before_value_guard is not None and number.name not in self.value_guards:
            self.before_value_guard(number)
        self.value_guards.setdefault(number.name, number)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    # Reading

    @property
    def body(self) -> list[BoundSymbol]:
        """The bound symbols without the unpacking and the return."""
        return [b for b in self.bound_symbols if OpTags.PROGRAM not in b.sym.tags]

    def python(self) -> str:
        """The program as Python source."""
        return trace_source(self, self._context())

    def _context(self) -> dict[str, Any]:
        """What printers begin with."""
        return metadata.printed(self)

    def python_context(self) -> dict[str, Any]:
        """The names that the printed program uses and that its imports do not give."""
        context = self._context()
        trace_source(self, context)
        return context

    def python_callable(self) -> Callable[..., Any]:
        """The printed program, compiled. Takes the values of ``args`` in order."""
        if self._callable is None:
            context = self._context()
            source = trace_source(self, context, comments=False)
            self._callable = compile_source(source, self.name, context)
            self._callable.__globals__[OWN_TRACE] = weakref.ref(self)
        return self._callable

    def emptying_callable(self, given: Sequence[str]) -> Callable[[list[Any]], Any]:
        """The printed program as a function of a list of values for the names ``given``, ``args`` among them. It empties the list, so
        that an argument is gone when the program deletes it, if nobody else has it."""
        context = self._context()
        source = trace_source(self, context, comments=False, given=given)
        return compile_source(source, self.name, context)

    def __str__(self) -> str:
        return self.python()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What notebooks show: the program with syntax colours."""
        from tnp.core.rendering import python_as_html

        return python_as_html(self.python())


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Records the symbols called inside in ``trace``."""
    before = state.trace
    state.trace = trace
    try:
        yield trace
    finally:
        state.trace = before


@contextmanager
def detached() -> Iterator[None]:
    """Runs the symbols called inside, without recording them."""
    before = state.trace
    state.trace = None
    try:
        yield
    finally:
        state.trace = before


def timed_pass(name: str, f: Callable[[Trace], Trace], trace: Trace) -> Trace:
    """``f(trace)``, with its provenance."""
    logs.progress(name)
    start = time.perf_counter()
    result = f(trace)
    if result is not trace:
        result.provenance = Provenance(name, time.perf_counter() - start)
    return result
