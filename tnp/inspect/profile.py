"""``profile``: the times of a compiled program, measured by a pass that times each statement."""

from __future__ import annotations

import itertools
import os
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec

import numpy as np

from tnp.api import jitted_function
from tnp.capture.guards.prologue import MISS
from tnp.compile.any_size import HotSizes
from tnp.compile.aot_autograd import without_gradients
from tnp.compile.cache_entry import CacheEntry
from tnp.compile.compiled_function import Jitted
from tnp.compile.resume_points import ResumePoints
from tnp.core.errors import shown_file
from tnp.core.printing import literal
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.inspect.copies import copied, unbound
from tnp.inspect.html import html_table
from tnp.inspect.measuring import MOST_CALLS, SECONDS, PartTimes, measured_parts
from tnp.inspect.statements import bounds_of, counted, is_fusion, lines_of, operations_in, statement_of, time_text
from tnp.transforms.subtraces import in_bodies

__all__ = ["Profile", "Row", "measured", "profile", "table"]

P = ParamSpec("P")

#: executions of statements that a Chrome trace shows at most
MOST_EVENTS = 100_000
#: the columns of a table
WIDTH = 100


@dataclass
class Row:
    """One statement of the program, and the time of its executions: an operation, a fusion, a loop with its body.

    ``depth`` counts the loops and branches around it; ``operations`` are those in a fusion. ``iterations`` counts those of a loop, also
    of a fusion that is one. ``phase`` is ``"forward"`` or ``"backward"`` in programs whose results are differentiated. Of a function
    that runs in parts, a row is a line that Python runs (``executor`` is ``"Python"``) or a compiled part (``"tnp"``).
    """

    name: str
    statement: str
    executor: str
    location: str
    operations: tuple[str, ...]
    depth: int
    phase: str = ""
    calls: float = 0
    seconds: float = 0.0
    iterations: float = 0

    def described(self, calls: int) -> str:
        """The statement in words: a fusion with its operations, a loop with its iterations, in each of ``calls`` calls."""
        rounds = f"{self.iterations / max(calls, 1):g} iterations" if self.iterations else ""
        if not self.operations:
            return f"{self.statement}{f'  # {rounds}' if rounds else ''}"
        loop = f"a loop of {rounds} of " if rounds else ""
        return f"{self.name}: {loop}{counted(self.operations)}"


@dataclass
class Profile:
    """The times of a function's program, one row per statement. Prints as a table of at most 100 columns, in which what is too long ends
    in "…"; times include some 0.1 µs for the clock. An example is at :func:`profile`.

    ``name`` is the function's, ``rows`` are the statements in order. ``seconds`` is the total time of ``calls`` calls,
    including guards and unpacking of arguments. ``eager_reason`` is why the call does not run as a whole program, and ``events`` are
    the data of :meth:`chrome_trace`.
    """

    name: str
    rows: list[Row]
    calls: int = 0
    seconds: float = 0.0
    eager_reason: str = ""
    #: (row, start, end) in nanoseconds; the row of a whole call is -1
    events: list[tuple[int, int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self._lines(WIDTH))

    __repr__ = __str__

    def _lines(self, width: int) -> list[str]:
        heading = f"{self.name}: {self.calls} calls, {time_text(self.seconds / max(self.calls, 1))} a call"
        reason = textwrap.wrap(self.eager_reason, width, initial_indent="  ", subsequent_indent="    ")
        return [heading, *reason, *(f"  {line}" for line in table(self._cells(), width - 2))]

    def _cells(self) -> list[tuple[str, ...]]:
        """The table's rows."""
        if not self.rows:
            return []
        each = max(self.calls, 1)
        inside = sum(r.seconds for r in self.rows if not r.depth)
        cells: list[tuple[str, ...]] = [("time", "share", "times", "executor", "line", "statement")]

        def add(seconds: float, times: float, executor: str, statement: str, location: str = "") -> None:
            share = f"{100 * seconds / max(self.seconds, 1e-12):.1f}%"
            cells.append((time_text(seconds / each), share, f"{times:g}", executor, location, statement))

        phase = ""
        for r in self.rows:
            if r.phase != phase:
                phase = r.phase
                add(sum(x.seconds for x in self.rows if x.phase == phase and not x.depth), 1, "", f"{phase}:")
            indent = "  " * (r.depth + bool(phase))
            add(r.seconds, r.calls / each, r.executor, indent + r.described(self.calls), r.location)
        rest = "guards, arguments and results" if not self.eager_reason else "guards, and the rest of Python"
        add(max(self.seconds - inside, 0.0), 1, "", rest)
        return cells

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head, *cells = self._cells() or [()]
        heading, *reason = self._lines(10_000)[: 1 + bool(self.eager_reason)]
        return html_table(" ".join([heading, *reason]), head, cells)

    def chrome_trace(self) -> dict[str, Any]:
        """The executions in the Trace Event Format, which chrome://tracing and https://ui.perfetto.dev read.

        Source: "Trace Event Format" of the Chromium project; complete events (``"ph": "X"``), times in µs.
        """
        first = min((start for _, start, _ in self.events), default=0)
        shown = []
        for row, start, end in self.events:
            r = self.rows[row] if row >= 0 else None
            details = {} if r is None else {"statement": r.statement, "executor": r.executor, "location": r.location}
            if r is not None and r.operations:
                details["operations"] = ", ".join(r.operations)
            if r is not None and r.phase:
                details["phase"] = r.phase
            shown.append(
                {
                    "name": self.name if r is None else r.name,
                    "cat": "call" if r is None else r.executor or "python",
                    "ph": "X",
                    "ts": (start - first) / 1000,
                    "dur": (end - start) / 1000,
                    "pid": os.getpid(),
                    "tid": 0,
                    "args": details,
                }
            )
        return {"traceEvents": shown, "displayTimeUnit": "ns", "otherData": {"producer": "tnp"}}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes :meth:`chrome_trace` as JSON to the file ``path``. Raises ``OSError`` where ``open`` does."""
        import json

        Path(path).write_text(json.dumps(self.chrome_trace()))


class _Clock:
    """The functions that an instrumented program calls before and after each statement."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.started = [0] * len(profile.rows)

    def begin(self, row: int, *bounds: Any) -> None:
        """A statement begins: a loop, if it has ``bounds``."""
        if bounds:
            self.profile.rows[row].iterations += len(range(*map(int, bounds)))
        self.started[row] = time.perf_counter_ns()

    def end(self, row: int) -> None:
        now = time.perf_counter_ns()
        r = self.profile.rows[row]
        r.calls += 1
        r.seconds += (now - self.started[row]) * 1e-9
        if len(self.profile.events) < MOST_EVENTS:
            self.profile.events.append((row, self.started[row], now))


def _statement(what: str) -> Symbol:
    def printed(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        clock, *rest = bsym.args
        context["_clock"] = clock
        return f"_clock.{what}({', '.join(literal(x, context) for x in rest)})"

    return Symbol(f"clock_{what}", lambda *args: None, is_prim=True, tags=(OpTags.EFFECT,), printer=printed)


_BEGIN, _END = _statement("begin"), _statement("end")


def _timed(trace: Trace, clock: _Clock, phase: str = "", depth: int = 0) -> Trace:
    """``trace`` with a clock around each statement, loops' bodies included, and a row for each in the clock's profile."""
    rows = clock.profile.rows
    new = Trace.like(trace)
    for bsym in trace.bound_symbols:
        if OpTags.PROGRAM in bsym.sym.tags:
            new.bound_symbols.append(bsym)
            continue
        rows.append(_row(bsym, phase, depth))
        clock.started.append(0)
        row = len(rows) - 1
        inner = bsym
        if is_control_flow(bsym):
            one = Trace.like(trace, [bsym])
            (inner,) = in_bodies(lambda t: _timed(t, clock, phase, depth + 1), one).bound_symbols
        bounds = (bounds_of(bsym) if is_fusion(bsym) else None) or ()
        new.bound_symbols += [_BEGIN.bind(clock, row, *bounds, output=None), inner, _END.bind(clock, row, output=None)]
    new.output = trace.output
    return new


def _row(bsym: BoundSymbol, phase: str, depth: int) -> Row:
    found = statement_of(bsym, depth)
    operations = tuple(s.sym.name for s in operations_in(bsym)) if is_fusion(bsym) else ()
    return Row(bsym.sym.name, found.text, found.executor, lines_of(bsym), operations, depth, phase)


def _count_iterations(rows: list[Row]) -> None:
    """Those of loops that Python runs: as often as the body's statements ran."""
    for i, row in enumerate(rows):
        if row.executor or not row.statement.startswith(("for ", "while ")):
            continue
        inside = itertools.takewhile(lambda r, depth=row.depth: r.depth > depth, rows[i + 1 :])  # type: ignore[misc]
        row.iterations = max((r.calls for r in inside if r.depth == row.depth + 1), default=0)


def profile(function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Profile:
    """Measures the statements of the program of ``function`` for these arguments.

    ``function`` is jitted if it is not yet. It is called twice first, so that everything is compiled, then for a tenth
    of a second, at most 1000 times. Each call gets copies of the arguments, with the same memory layouts; a method also
    gets a copy of its object. Other effects (closures, objects, printing) happen at every call. Operations on a GPU are
    measured until their launch.

    For a program whose results are differentiated, both programs are measured, the backward program with ones as
    cotangents (of the results whose gradients were computed first, otherwise of all). The overhead of torch's autograd
    is not included, and no tensor gets a ``grad``.

    Returns a :class:`Profile`, which prints as a table; its ``rows`` have the times, ``save("f.json")`` writes a Chrome
    trace. A call that runs eagerly has no rows, only a time and the reason.

    Raises the function's errors, ``TraceError`` if tnp cannot compile it, and ``RuntimeError`` if copies of the
    arguments do not match the guards.

    >>> import numpy as np, tnp
    >>> found = tnp.profile(lambda x: np.sort(np.sin(x) + 1), np.zeros((100, 100)))
    >>> [(row.executor, row.operations) for row in found.rows]
    [('llvm', ('sin', 'add')), ('numpy', ())]
    """
    called, given, named = unbound(function, args, kwargs)
    return measured(jitted_function(called), given, named)[0]


def measured(jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Profile, CacheEntry | None]:
    """The profile of a call, and the cache entry that such a call runs."""
    for _ in range(2):
        fresh_args, fresh_kwargs = copied((args, kwargs))
        jitted(*fresh_args, **fresh_kwargs)
    form, values = jitted._formed(args, kwargs)
    entry = jitted.entry_for(form, copied(values))
    found = Profile(jitted.called, [])
    if entry is None or entry.eager_reason is not None:
        found.eager_reason = (entry.eager_reason if entry is not None else None) or "it runs eagerly"
        points = entry.points if entry is not None else jitted._points
        if points is not None and points.has_parts():
            found.rows = _rows_of_parts(points, measured_parts(points, form.apply, values))
        function = jitted.__tnp_function__ if points is None else points.function()
        _call_again(found, lambda *v: form.apply(function, v), values)
        for row in found.rows:  # they are of one call
            row.calls, row.seconds = row.calls * found.calls, row.seconds * found.calls
        return found, entry
    clock = _Clock(found)

    def compiled(phase: str, trace: Trace) -> Callable[..., Any]:
        return _timed(trace, clock, phase).python_callable()

    if entry.training is not None:
        from tnp.inspect.torch_training import both_ways

        program = both_ways(entry.training, compiled)
    else:
        program = compiled("", entry.traces[-1])
        if any(isinstance(p, TensorProxy) and p.lang.name == "torch" for p in entry.traces[-1].args):
            program = without_gradients(program)  # no result is differentiated: torch need not record this
    _call_again(found, _calling(entry.run, program), values)
    _count_iterations(found.rows)
    return found, entry


def _call_again(found: Profile, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
    """Calls for a tenth of a second, with copies of the values, and notes the time of each call."""
    start = time.perf_counter()
    while found.calls == 0 or (found.calls < MOST_CALLS and time.perf_counter() - start < SECONDS):
        fresh = copied(values)
        with np.errstate():
            before = time.perf_counter_ns()
            result = call(*fresh)
            after = time.perf_counter_ns()
        if result is MISS:
            raise RuntimeError(
                f"a program of {found.name} is not valid for copies of the arguments that it was made for"
            )
        found.calls += 1
        found.seconds += (after - before) * 1e-9
        if len(found.events) < MOST_EVENTS:
            found.events.append((-1, before, after))


def _rows_of_parts(points: ResumePoints, times: PartTimes) -> list[Row]:
    """The lines that Python runs and the compiled parts, in the order of the source."""
    rows: list[tuple[int, Row]] = []
    for place, text, _ in points.places():
        location = f"{os.path.basename(shown_file(points.file))}:{place[0]}"
        last = place[2] or place[0]
        lines = [n for n in times.lines if place[0] <= n <= last]
        if not lines or any(r.location == location and r.executor == "Python" for _, r in rows):
            continue
        seconds = sum(times.lines[n] for n in lines)
        rows.append((place[0], Row("python", text, "Python", location, (), 0, "", times.line_calls[lines[0]], seconds)))
    for i, (places, _) in enumerate(points.parts):
        first, end = min(p[0] for p in places), max(p[2] for p in places)
        location = f"{os.path.basename(shown_file(points.file))}:{first}{f'-{end}' if end > first else ''}"
        row = Row(
            "part", f"compiled part {i}", "tnp", location, (), 0, "", times.calls.get(i, 0), times.parts.get(i, 0)
        )
        rows.append((first, row))
    return [row for _, row in sorted(rows, key=lambda r: r[0])]


def _calling(prologue: Any, program: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled prologue that calls another program, of the same inputs."""
    if isinstance(prologue, HotSizes):
        prologue = prologue.func
    scope = {**prologue.__globals__, "computation": program}
    return FunctionType(prologue.__code__, scope, prologue.__name__)


def table(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Rows of six cells as lines of at most ``width`` columns: the last cell is cut, the first three stand to the right."""
    sizes = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
    sizes[4] = min(sizes[4], 28)
    for row in rows:
        cells = [
            f"{cell:>{n}}" if i < 3 else f"{cut(cell, n, at_end=False):<{n}}"
            for i, (cell, n) in enumerate(zip(row, sizes))
        ]
        line = "  ".join(cells) + "  "
        yield (line + cut(row[5], width - len(line))).rstrip()


def cut(text: str, width: int, *, at_end: bool = True) -> str:
    """``text`` in ``width`` columns, with "…" in the place of its end, or of its beginning.

    >>> cut("abcdef", 4), cut("abcdef", 4, at_end=False)
    ('abc…', '…def')
    """
    if len(text) <= width:
        return text
    return text[: width - 1] + "…" if at_end else "…" + text[len(text) - width + 1 :]
