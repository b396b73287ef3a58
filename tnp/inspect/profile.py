"""``profile``: the times of a compiled program, measured by a pass that times each statement."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec

import numpy as np

from tnp.api import jitted_function
from tnp.capture.guards.prologue import MISS
from tnp.compile.aot_autograd import without_gradients
from tnp.core.errors import UserLocation
from tnp.core.printing import bound_symbol_lines
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.inspect.copies import copied
from tnp.transforms.subtraces import in_bodies

__all__ = ["Profile", "Row", "profile"]

P = ParamSpec("P")

#: how long calls are measured, and how often the function is called for that at most
SECONDS = 0.1
MOST_CALLS = 1000
#: executions of statements that a Chrome trace shows at most
MOST_EVENTS = 100_000


@dataclass
class Row:
    """One statement of the program, and the time of its executions: an operation, a fusion, a loop with its body.

    ``depth`` counts the loops and branches around it; ``operations`` are those in a fusion. ``phase`` is ``"forward"``
    or ``"backward"`` in programs whose results are differentiated.
    """

    name: str
    statement: str
    executor: str
    location: str
    operations: tuple[str, ...]
    depth: int
    phase: str = ""
    calls: int = 0
    seconds: float = 0.0


@dataclass
class Profile:
    """The times of a function's program, one row per statement. Prints as a table; times include some 0.1 µs for the
    clock. An example is at :func:`profile`.

    ``name`` is the function's, ``rows`` are the statements in order. ``seconds`` is the total time of ``calls`` calls,
    including guards and unpacking of arguments. ``eager_reason`` is why there are no rows, and ``events`` are the data
    of :meth:`chrome_trace`.
    """

    name: str
    rows: list[Row]
    calls: int = 0
    seconds: float = 0.0
    eager_reason: str = ""
    #: (row, start, end) in nanoseconds; the row of a whole call is -1
    events: list[tuple[int, int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        each = max(self.calls, 1)
        lines = [f"{self.name}: {self.calls} calls, {_time(self.seconds / each)} a call"]
        if self.eager_reason:
            return "\n".join([*lines, f"  {self.eager_reason}"])
        inside = sum(r.seconds for r in self.rows if not r.depth)
        table = [("time", "share", "times", "executor", "statement", "")]

        def add(seconds: float, times: float, executor: str, statement: str, location: str = "") -> None:
            share = f"{100 * seconds / max(self.seconds, 1e-12):.1f}%"
            table.append((_time(seconds / each), share, f"{times:g}", executor, statement, location))

        phase = ""
        for r in self.rows:
            if r.phase != phase:
                phase = r.phase
                add(sum(x.seconds for x in self.rows if x.phase == phase and not x.depth), 1, "", f"{phase}:")
            made_of = f"  # {', '.join(r.operations)}" if r.operations else ""
            indent = "  " * (r.depth + bool(phase))
            add(r.seconds, r.calls / each, r.executor, indent + r.statement + made_of, r.location)
        add(max(self.seconds - inside, 0.0), 1, "", "guards, arguments and results")
        widths = [max(len(row[i]) for row in table) for i in range(5)]
        for time_, share, times, executor, statement, location in table:
            line = f"{time_:>{widths[0]}}  {share:>{widths[1]}}  {times:>{widths[2]}}  {executor:<{widths[3]}}  "
            lines.append(f"  {line}{statement:<{widths[4]}}  {location}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__

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

    def begin(self, row: int) -> None:
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
        clock, row = bsym.args
        context["_clock"] = clock
        return f"_clock.{what}({row})"

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
        new.bound_symbols += [_BEGIN.bind(clock, row, output=None), inner, _END.bind(clock, row, output=None)]
    new.output = trace.output
    return new


def _row(bsym: BoundSymbol, phase: str, depth: int) -> Row:
    from tnp.transforms.claim import FusedSymbol

    lines = bound_symbol_lines(bsym, {}, comments=False)
    statement = next((line for line in lines if line.endswith(":")), lines[0])  # before a loop stand its variables
    operations = tuple(s.sym.name for s in bsym.subsymbols) if isinstance(bsym.sym, FusedSymbol) else ()
    location = bsym.location if isinstance(bsym.location, UserLocation) else None
    if location is None:
        location = next((s.location for s in bsym.subsymbols if isinstance(s.location, UserLocation)), None)
    where = "" if location is None else f"{Path(location.filename).name}:{location.line}"
    executor = "" if bsym.sym.executor is None else str(bsym.sym.executor.name)
    return Row(bsym.sym.name, statement, executor, where, operations, depth, phase)


def profile(function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Profile:
    """Measures the statements of the program of ``function`` for these arguments.

    ``function`` is jitted if it is not yet. It is called twice first, so that everything is compiled, then for a tenth
    of a second, at most 1000 times, each time with copies of the arguments (arrays with the same memory layouts), so
    the arguments do not change; other effects (closures, objects, printing) happen at every call. Operations on a GPU
    are measured until their launch.

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
    jitted = jitted_function(function)
    for _ in range(2):
        fresh_args, fresh_kwargs = copied((args, kwargs))
        jitted(*fresh_args, **fresh_kwargs)
    form, values = jitted._formed(args, kwargs)
    entry = jitted.entry_for(form, copied(values))
    found = Profile(jitted.called, [])
    if entry is None or entry.eager_reason is not None:
        found.eager_reason = (entry.eager_reason if entry is not None else None) or "it runs eagerly"
        points = entry.points if entry is not None else None
        function = jitted.__tnp_function__ if points is None else points.function()
        call: Callable[..., Any] = lambda *v: form.apply(function, v)  # noqa: E731
    else:
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
        call = _calling(entry.run, program)
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
    return found


def _calling(prologue: Any, program: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled prologue that calls another program, of the same inputs."""
    scope = {**prologue.__globals__, "computation": program}
    return FunctionType(prologue.__code__, scope, prologue.__name__)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} µs"
