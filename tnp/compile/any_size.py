"""Programs for any size: when they are compiled, and which sizes get code of their own again.

The first call of a kind is compiled for its sizes. When a dimension comes with another size, it is a symbol of the next
program. That program is kept if it has all the native code that a program for one size has. A size whose calls have taken
longer than a compilation does gets a program of its own, which is kept if it is faster.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from tnp.capture.driver import Captured
from tnp.capture.guards.prologue import Prologue
from tnp.capture.guards.varying_values import ReadsVarying, container_of, without_positions
from tnp.compile.cache_entry import CacheEntry, CallSignature
from tnp.compile.driver import Compiled
from tnp.core import symbols
from tnp.core.errors import NeedsEager
from tnp.core.trace import Trace

if TYPE_CHECKING:
    from tnp.compile.compiled_function import Jitted

__all__ = ["FOR_ONE_SIZE", "HotSizes", "trace_for_any_size", "trace_with_stand_ins"]

#: programs for one size each of a kind of call, before those for any size may be run worse than they
FOR_ONE_SIZE = 16
#: a program for one size is kept if it takes at most this part of the time of that for any size
FASTER = 0.95
#: of a container whose items vary, so many are found to be read one by one
ITEMS = 3
#: seconds of a compilation, at least: programs for any size may come from the disk cache
COMPILING = 0.05
#: sizes that are looked at, and calls that are compared
SIZES, CALLS = 1024, 8
#: programs for one size beside one for any size
MOST = 8
#: A size may get its own program because eager is faster, if an eager call takes at least so many seconds: guards alone take less. And
#: how often that is tried.
WORTH, MOST_ASKED = 4e-6, 16
#: one of so many calls is timed; and where one takes less than ``SHORT`` seconds
TIMED, RARELY, SHORT = 8, 64, 5e-5


def trace_for_any_size(
    prologue: Prologue, trace_it: Callable[[], Captured], needs_sizes: Callable[[Trace], bool] | None
) -> Captured:
    """The capture of a call, with symbols for the sizes that varied; without symbols if it cannot have them, or if
    ``needs_sizes`` says that executors would run the trace worse."""
    prologue.varying.reads_late = True
    try:
        return _traced_for_any_size(prologue, lambda: trace_with_stand_ins(prologue, trace_it), needs_sizes)
    finally:
        prologue.varying.reads_late = False


def trace_with_stand_ins(prologue: Prologue, trace_it: Callable[[], Captured]) -> Captured:
    """The capture of a call, in which lists, dicts and strings that vary, or are long, are stand-ins where the program allows it."""
    varying = prologue.varying
    read_items: Counter[str] = Counter()
    while True:
        varying.late.clear()
        varying.growing.clear()
        varying.large.clear()
        varying.larger.clear()
        try:
            return trace_it()
        except ReadsVarying as read:
            is_left = prologue.may_leave and read.description in varying.larger
            if is_left or varying.is_specialized(read.description):  # the next trace would end here, too
                raise
            varying.specialize(read.description, None)
            container = container_of(read.description)
            read_items[container] += 1
            if container and read_items[container] == ITEMS:  # the program reads the others as well
                varying.reads_items_of(container)
            likes = without_positions(read.description)
            if likes != read.description:
                read_items[likes] += 1
                if read_items[likes] == ITEMS:
                    varying.reads_of_all(likes)
        except (Exception, NeedsEager) as error:  # that a value is a stand-in may be the reason, whatever was raised
            names = varying.late | varying.growing
            if isinstance(error, NeedsEager):
                text = str(error)
                names = varying.late - {name for name in varying.large if name not in text}
                names -= varying.larger if prologue.may_leave else set()
            if not names:
                raise
            for name in names:
                varying.specialize(name, None)


def _traced_for_any_size(
    prologue: Prologue, traced: Callable[[], Captured], needs_sizes: Callable[[Trace], bool] | None
) -> Captured:
    varying = prologue.varying
    if varying.in_vain and needs_sizes is not None and not varying.at_once:
        return traced()
    varying.is_on = True
    small: list[tuple[str, int | None]] = []
    try:
        while True:
            known = len(varying.known_integers)
            captured = traced()
            if varying.at_once or not prologue.relations.symbols:
                return captured
            if len(varying.known_integers) > known:
                continue
            specialized = prologue.relations.specialized()
            if not specialized:
                break
            for n in specialized:
                place = captured.inputs.dimensions[n.name]
                varying.specialize(*place)
                if symbols.present(n) <= symbols.LEAST:  # it is too small for a symbol, or a size computed from it is
                    small.append(place)
        if needs_sizes is None or not needs_sizes(captured.trace):
            return captured
    except NeedsEager:
        if not prologue.relations.symbols:
            raise
    finally:
        varying.is_on = False
        for place in small:
            varying.generalize(*place)
    varying.in_vain += 1
    return traced()


class HotSizes(functools.partial[Any]):
    """A program for any size, behind its guards, and how long its calls take, by size.

    A ``partial`` calls the program from C; a ``__call__`` in Python would take longer than the guards. The program decides by turns
    whether a call is timed.
    """

    is_for_any_size = True

    def __new__(cls, jitted: Jitted, form: CallSignature, made: Compiled, seconds: float) -> Self:
        return super().__new__(cls, made.guarded(made.program, in_turns=True))

    def __init__(self, jitted: Jitted, form: CallSignature, made: Compiled, seconds: float) -> None:
        self.jitted, self.form = jitted, form
        #: what code for one size takes to compile, at least
        self.seconds = max(seconds, COMPILING)
        #: of each size, the seconds that its calls took in all, and those of the fastest
        self._times: dict[Any, tuple[float, float]] = {}
        #: programs for one size each
        self._own: dict[Any, CacheEntry] = {}
        #: the size that is to get code of its own
        self._due: Any = None
        self._made = 0
        #: the seconds of an eager call, where the next call is to get a program for its size; and how often that was so
        self._eager = math.inf
        self._asked = 0
        #: one of so many calls is timed
        self._pause = TIMED
        self._program: Any = made.guarded(self._timed(made.program), with_sizes=True)
        self.__tnp_source__: str = self._program.__tnp_source__
        self.func.__globals__["timed"] = self._call_timed
        self._time_after(0)

    def _time_after(self, calls: float) -> None:
        """Times the calls that come after so many others."""
        turns = itertools.repeat(False) if calls == math.inf else itertools.repeat(False, int(calls))
        self.func.__globals__["turns"] = itertools.chain(turns, itertools.repeat(True))

    def _call_timed(self, *values: Any) -> Any:
        """The result, or ``MISS``. A call whose size has taken long in all compiles a program for that size."""
        result = self._program(*values)
        self._time_after(math.inf if self._made >= MOST else self._pause - 1)
        if self._due is not None:
            self._specialize(values)
        return result

    def gets_own(self, eager: float) -> bool:
        """Whether sizes may get programs of their own, because eager calls take ``eager`` seconds, which is less than this program takes.
        The size of the next call does, if it has come before."""
        if self._made >= MOST or self._asked >= MOST_ASKED or eager < WORTH:
            return False
        self._asked += 1
        self._eager = eager
        self._time_after(0)
        return True

    def _timed(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """``program`` as a function whose first argument is the tuple of its sizes."""

        def run(sizes: Any, *inputs: Any) -> Any:
            start = time.perf_counter()
            result = program(*inputs)
            self._note(sizes, time.perf_counter() - start)
            return result

        return run

    def _note(self, sizes: Any, seconds: float) -> None:
        own = self._own.get(sizes)
        if own is not None:  # calls of other sizes had this program tried first
            self.jitted.replace(own, own)
        if len(self._times) >= SIZES and sizes not in self._times:
            self._times.clear()
        has_come = sizes in self._times
        spent, fastest = self._times.get(sizes, (0.0, seconds))
        fastest = min(seconds, fastest)
        if self._eager < math.inf:
            if has_come:
                spent, fastest = math.inf, min(fastest, self._eager)
            self._eager = math.inf
        spent += fastest * (self._pause if spent else 1)  # a first call may take longer than others
        self._pause = TIMED if seconds > SHORT else RARELY
        self._times[sizes] = spent, fastest
        if spent > self.seconds and self._made < MOST:
            self._due = sizes

    def _fastest(self, sizes: Any) -> float:
        return self._times.get(sizes, (0.0, 0.0))[1]

    def _stop(self) -> None:
        """Calls are not timed any more: no further size gets a program."""
        self._made = MOST
        self._time_after(math.inf)

    def _specialize(self, values: tuple[Any, ...]) -> None:
        """Compiles a program for the sizes of a call that has run."""
        if not self.jitted.lock.acquire(blocking=False):
            return
        try:
            sizes, self._due = self._due, None
            if sizes is None:  # another thread was here
                return
            self._made += 1
            self._times[sizes] = -math.inf, self._fastest(sizes)
            start = time.perf_counter()
            found = self.jitted.compile_as_is(self.form, values)
            if found is not None:
                prologue, made = found
                entry = CacheEntry(self.form, prologue, made.run, made.traces, graphs=made.graphs)
                entry.run = made.guarded(self._compared(sizes, made, entry))
                entry.seconds = time.perf_counter() - start
                self.jitted.keep(entry, f"calls with the sizes {sizes} take long")
        finally:
            self.jitted.lock.release()

    def _compared(self, sizes: Any, made: Compiled, entry: CacheEntry) -> Callable[..., Any]:
        """A program for one size. After some calls it is kept, or forgotten because it is not faster."""
        times: list[float] = []
        fastest = self._fastest(sizes)

        def run(*inputs: Any) -> Any:
            start = time.perf_counter()
            result = made.program(*inputs)
            times.append(time.perf_counter() - start)
            if len(times) == CALLS:
                pays = min(times) <= FASTER * fastest
                if not pays or self._made >= MOST:
                    self._stop()
                kept = dataclasses.replace(entry, run=made.run) if pays else None
                if kept is not None:
                    kept.way = self.jitted.way_of_short_calls(kept)  # its guards may take longer than it saves
                    self._own[sizes] = kept
                self.jitted.replace(entry, kept)
            return result

        return run
