"""How long calls take: of a compiled function, of the function run eagerly, and of the parts of one that runs in parts."""

from __future__ import annotations

import sys
import time
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tnp.compile.resume_points import ResumePoints
from tnp.compile.switches import switches
from tnp.inspect.copies import copied

__all__ = ["MOST_CALLS", "SECONDS", "PartTimes", "eager_seconds", "measured_parts", "seconds_a_call"]

#: how long calls are measured, and how often the function is called for that at most
SECONDS = 0.1
MOST_CALLS = 1000


def seconds_a_call(call: Callable[..., Any], values: tuple[Any, ...]) -> float:
    """The median time of ``call(*copies of the values)``, at least one call."""
    times: list[float] = []
    start = time.perf_counter()
    while not times or (len(times) < MOST_CALLS and time.perf_counter() - start < SECONDS):
        fresh = copied(values)
        with np.errstate():
            before = time.perf_counter()
            call(*fresh)
            times.append(time.perf_counter() - before)
    return float(np.median(times))


def eager_seconds(call: Callable[..., Any], values: tuple[Any, ...]) -> float:
    """As :func:`seconds_a_call`, with all jitted functions that ``call`` calls run eagerly."""
    before = switches.disabled
    switches.turn(disabled=True)
    try:
        return seconds_a_call(call, values)
    finally:
        switches.turn(disabled=before)


@dataclass
class PartTimes:
    """The times of a function that runs in parts, for one call: of its lines that Python runs, by number, without the compiled parts in
    them, and of the compiled parts, by their place in ``ResumePoints.parts``. ``calls`` counts those."""

    seconds: float = 0.0
    lines: dict[int, float] = field(default_factory=dict)
    parts: dict[int, float] = field(default_factory=dict)
    calls: dict[int, float] = field(default_factory=dict)
    line_calls: dict[int, float] = field(default_factory=dict)


class _Stopwatch:
    """Traces the lines of one code object (``sys.settrace``), and times what is called from them."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.lines: Counter[int] = Counter()
        self.line_calls: Counter[int] = Counter()
        self.parts: Counter[int] = Counter()
        self.calls: Counter[int] = Counter()
        self._inside = 0  # time in compiled parts since the last line began
        self._at: list[tuple[int, int]] = []

    def part(self, i: int, run: Callable[..., Any]) -> Callable[..., Any]:
        """A compiled part that notes its time. Nothing in it is traced."""

        def timed(*args: Any) -> Any:
            tracer = sys.gettrace()
            sys.settrace(None)
            before = time.perf_counter_ns()
            try:
                return run(*args)
            finally:
                took = time.perf_counter_ns() - before
                self.parts[i] += took
                self.calls[i] += 1
                self._inside += took
                sys.settrace(tracer)

        return timed

    def trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code is self.code else None

    def _line(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        now = time.perf_counter_ns()
        if self._at:
            line, since = self._at.pop()
            self.lines[line] += now - since - self._inside
            self.line_calls[line] += 1
        if event != "return":
            self._inside = 0
            self._at.append((frame.f_lineno, time.perf_counter_ns()))
        return self._line


def measured_parts(points: ResumePoints, apply: Callable[..., Any], values: tuple[Any, ...]) -> PartTimes:
    """Calls the function in parts for a tenth of a second, with copies of the values, and measures its lines and parts."""
    whole = points.function()
    function = getattr(whole, "__func__", whole)
    watch = _Stopwatch(function.__code__)
    spans = {id(compiled): i for i, (_, compiled) in enumerate(points.parts)}
    cells = [_timed_cell(cell, spans, watch) for cell in function.__closure__ or ()]
    timed: Any = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    timed.__kwdefaults__ = function.__kwdefaults__
    if whole is not function:
        timed = types.MethodType(timed, whole.__self__)
    count, total, start = 0, 0.0, time.perf_counter()
    tracer = sys.gettrace()
    while count == 0 or (count < MOST_CALLS and time.perf_counter() - start < SECONDS):
        fresh = copied(values)
        with np.errstate():
            sys.settrace(watch.trace)
            try:
                before = time.perf_counter()
                apply(timed, fresh)
                total += time.perf_counter() - before
            finally:
                sys.settrace(tracer)
        count += 1
    return PartTimes(
        total / count,
        {line: ns * 1e-9 / count for line, ns in watch.lines.items()},
        {i: ns * 1e-9 / count for i, ns in watch.parts.items()},
        {i: n / count for i, n in watch.calls.items()},
        {line: n / count for line, n in watch.line_calls.items()},
    )


def _timed_cell(cell: types.CellType, spans: dict[int, int], watch: _Stopwatch) -> types.CellType:
    """A cell with a timed part; any other as it is."""
    try:
        content = cell.cell_contents
    except ValueError:  # an unbound variable
        return cell
    inner = getattr(content, "__tnp_span__", content)
    return types.CellType(watch.part(spans[id(inner)], content)) if id(inner) in spans else cell
