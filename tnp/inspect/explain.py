"""``explain``: what a jitted function was compiled to, as text, and how long its parts take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tnp.api import jitted_behind, programs_of
from tnp.compile.cache_entry import CacheEntry
from tnp.compile.resume_points import ResumePoints
from tnp.core import prims
from tnp.core.errors import UserLocation, shown_file
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.inspect.copies import unbound
from tnp.inspect.html import html_outline
from tnp.inspect.measuring import PartTimes, eager_seconds, measured_parts, seconds_a_call
from tnp.inspect.profile import Profile, Row, cut, measured
from tnp.inspect.statements import by_line, counted, is_fusion, lines_of, operations_in, statement_of, time_text
from tnp.transforms.claim import REFUSALS

__all__ = ["OPAQUE", "Explanation", "explain"]

#: how the ids of symbols begin that are opaque calls, and what their functions are in
OPAQUE = {"opaque": "np", "torch_opaque": "torch"}
#: statements that no executor fused, of a program, which are shown one by one
MOST_STATEMENTS = 80
#: the longest block of lines that is looked for in a row several times
MOST_FOLDED = 12
#: the columns of lines with code, which is cut, but for so many
WIDTH = 100
SHORTEST = 24
#: calls of programs with loops that take longer are not compared with eager ones, which may take a thousand times as long
LONGEST = 0.1


class Explanation(str):
    """A string that an interactive session shows as it prints, and a notebook as an outline. An example is at :func:`explain`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_outline(self, closed=("guards:", "kernel for"))


def explain(f: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """What was compiled, as text: each program's statements, those in loops and branches, too, regions with the user's lines and
    their loops, opaque calls, guards, and why it recompiled. Of a function that runs in parts: what Python runs, why, and
    what is compiled.

    With arguments, such a call is measured: compiled and eager, each statement, and each line that Python runs. It is called for some
    tenths of a second, each time with copies of the arguments; other effects happen at each call. While eager calls are measured, all
    jitted functions of the process run eagerly. Eager calls are left out where they may take very long.

    Raises ``TypeError`` if ``f`` is not a jitted function, and what the call raises.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sin(x) + 1)
    >>> f(np.zeros(3))
    array([1., 1., 1.])
    >>> print(tnp.explain(f))  # doctest: +ELLIPSIS
    <lambda>: 1 program, 0 hits, 1 miss
    program 0 (compiled in ... ms)
      executors: llvm 1
      ...
    """
    jitted = jitted_behind(f)
    times = _measured(jitted, *unbound(f, args, kwargs)[1:]) if args or kwargs else None
    return Explanation("\n".join(_described(jitted, set(), times)))


@dataclass
class _Times:
    """What was measured of a call: its program, the rows of its statements, and the seconds of whole calls."""

    entry: CacheEntry | None
    profile: Profile
    compiled: float
    eager: float | None
    parts: PartTimes | None = None
    rows: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"a call takes {time_text(self.compiled)}"
        if self.eager is None:
            return text
        return f"{text}, an eager one {time_text(self.eager)}: {self.eager / max(self.compiled, 1e-12):.3g} times eager's speed"


def _measured(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Times:
    hits = jitted.dispatch.hits
    try:
        return _times(jitted, args, kwargs)
    finally:
        jitted.dispatch.hits = hits  # measuring is no use of the cache


def _times(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Times:
    profile, entry = measured(jitted, args, kwargs)
    form, values = jitted._formed(args, kwargs)
    compiled = seconds_a_call(lambda *v: form.apply(jitted, v), values)
    loops = any(row.iterations for row in profile.rows) or bool(profile.eager_reason)
    eager = None
    if jitted.runs_eagerly and not (loops and compiled > LONGEST):
        eager = eager_seconds(lambda *v: form.apply(jitted.__tnp_function__, v), values)
    points = entry.points if entry is not None else jitted._points
    parts = measured_parts(points, form.apply, values) if points is not None and points.has_parts() else None
    rows = [row for row in profile.rows if row.phase in ("", "forward")]
    return _Times(entry, profile, compiled, eager, parts, rows)


def _described(f: Any, seen: set[int], times: _Times | None = None) -> list[str]:
    """What was compiled; of functions in ``seen``, which have been described, the name."""
    name = f.called
    if id(f) in seen:
        return [f"{name}: see above"]
    seen.add(id(f))
    programs = programs_of(f)
    lines = [
        f"{name}: {_count(len(programs), 'program')}, {_count(f.dispatch.hits, 'hit')}, {_count(f._misses, 'miss')}"
    ]
    for i, (entry, conditions) in enumerate(programs):
        own = times if times is not None and times.entry is entry else None
        took = [] if own is None else [f"  {own}"]
        if entry.points is not None:
            parts = None if own is None else own.parts
            lines += [
                f"program {i}: in parts",
                *conditions,
                *_choice(entry),
                *took,
                *_parts(entry.points, seen, parts),
            ]
            continue
        if entry.eager_reason is not None:
            lines += [f"program {i}: eager", *conditions, *took, f"  {entry.eager_reason}"]
            continue
        lines += [f"program {i} (compiled in {entry.seconds * 1000:.1f} ms)", *conditions, *_choice(entry), *took]
        lines += _program(entry, own)
    for entry in f._entries:
        if entry.guard is not None and getattr(entry.way or entry.run, "is_eager", False):
            lines.append("calls whose program depends on values run eagerly for now, which takes less time")
        if entry.guard is not None and (n := entry.guard.family.overflowed):
            lines.append(
                f"{_count(n, 'call')} ran eagerly, for other values than the {entry.guard.family.count} that there are programs for"
            )
    lines += [f"recompiled because {reason}" for reason in f._recompiled]
    if any(form.last_resort is not None for form in f.forms()):
        if f._points is not None and f._points.has_parts():
            took = [] if times is None or times.entry is not None else [f"  {times}"]
            parts = None if times is None or times.entry is not None else times.parts
            lines += ["calls that no program is valid for run in parts", *took, *_parts(f._points, seen, parts)]
        else:
            lines.append("calls that no program is valid for run eagerly: there were too many")
    return lines


def _program(entry: CacheEntry, times: _Times | None) -> list[str]:
    """A compiled program."""
    lines = []
    if symbols := [n.text for n in entry.prologue.relations.symbols]:
        lines.append(f"  for any {', '.join(symbols)}")
    lines += [f"  {line}" for line in _claims(entry.traces)]
    lines += _statements(entry.traces[-1], times)
    if entry.training is not None:
        lines += [f"  {line}" for line in entry.training.describe()]
        if times is not None and (back := [r for r in times.profile.rows if r.phase == "backward" and not r.depth]):
            took = time_text(sum(r.seconds for r in back) / max(times.profile.calls, 1))
            lines.append(f"  the backward program takes {took}; tnp.profile has its statements")
    lines += [f"  {line}" for graph in entry.graphs for line in graph.describe()]
    return [*lines, "  guards:", *(f"    {g.description}" for g in entry.prologue.guards)]


def _statements(trace: Trace, times: _Times | None) -> list[str]:
    """The statements of a program, each with its time if that was measured, and fusions with what they are made of."""
    rows = iter(times.rows) if times is not None and times.rows else None
    left = MOST_STATEMENTS
    lines = []
    for b, depth, mark in _walk(trace.bound_symbols):
        if mark:
            lines.append(f"{'  ' * (depth + 1)}{mark}")
            continue
        row = next(rows, None) if rows is not None else None
        is_shown = is_fusion(b) or is_control_flow(b) or left > 0
        left -= not is_fusion(b) and not is_control_flow(b)
        if is_shown:
            lines += [f"{'  ' * (depth + 1)}{line}" for line in _statement(b, row, times, WIDTH - 2 * depth - 2)]
    return [*lines, f"  and {_count(-left, 'statement')} more"] if left < 0 else lines


def _walk(bsyms: Iterable[BoundSymbol], depth: int = 0) -> Iterator[tuple[BoundSymbol, int, str]]:
    """Statements with their depths, in the order of a profile's rows; before what stands under ``else``, that."""
    for b in bsyms:
        if OpTags.PROGRAM in b.sym.tags:
            continue
        yield b, depth, ""
        for i, body in enumerate(bodies_of(b)):
            if b.sym is prims.cond and i and any(OpTags.PROGRAM not in x.sym.tags for x in body.bound_symbols):
                yield b, depth, "else:"
            yield from _walk(body.bound_symbols, depth + 1)


def _statement(b: BoundSymbol, row: Row | None, times: _Times | None, width: int) -> list[str]:
    """A statement: its first line, which says how long it takes, and for a fusion what it is made of. Code is cut so that lines have
    ``width`` columns."""
    where = lines_of(b)
    took = ""
    if row is not None and times is not None:
        each = max(times.profile.calls, 1)
        share = 100 * row.seconds / max(times.profile.seconds, 1e-12)
        often = f", {row.calls / each:g} times" if row.calls != each else ""
        rounds = f", {row.iterations / each:g} iterations" if row.iterations else ""
        took = f"  [{time_text(row.seconds / each)}, {share:.1f}%{often}{rounds}]"
    if not is_fusion(b):
        shown = statement_of(b)
        executor = f"{shown.executor}: " if shown.executor else ""
        behind = f"{f'  {where}' if where else ''}{took}"
        return [f"{executor}{cut(shown.text, max(width - len(executor) - len(behind), SHORTEST))}{behind}"]
    has_loops = any(bodies_of(part) for s in b.subsymbols for part in (s, *s.subsymbols))
    count = len(operations_in(b)) if any(map(is_control_flow, b.subsymbols)) else len(b.subsymbols)
    loop = " in a loop" if has_loops else ""
    lines = [f"{b.sym.name}: {_count(count, 'operation')}{loop}{f', {where}' if where else ''}{took}"]
    for place, source, names in by_line(b):
        behind = counted(names)
        code = cut(source, max(width - len(place) - len(behind) - 6, SHORTEST))
        lines.append(f"  {place}: {code}: {behind}" if place else f"  {behind}")
    fusion: Any = b.sym  # of an executor that fuses, whose symbols describe their kernels
    once = folded(fusion.describe())
    return [*lines, *(f"  {line}" for line in folded(once))]  # a repeated block may hold repeated blocks


#: a kernel's memory for itself
_TEMPORARY = re.compile(r"\bt\d+_*")


def folded(lines: Sequence[str]) -> list[str]:
    """Prints a repeated block of lines once, with the number of repetitions: unrolled loops repeat their kernels. Which temporaries
    it has does not count.

    >>> folded(["a", "b", "c", "b", "c", "b", "c", "d"])
    ['a', 'b', 'c', '(these 2 lines: 3 times)', 'd']
    """
    made: list[str] = []
    alike = [_TEMPORARY.sub("t", line) for line in lines]
    at = 0
    while at < len(lines):
        for size in range(1, MOST_FOLDED + 1):
            block, first = lines[at : at + size], alike[at : at + size]
            times = 1
            while alike[at + times * size : at + (times + 1) * size] == first:
                times += 1
            if times >= 3:
                break
        else:
            made.append(lines[at])
            at += 1
            continue
        indent = block[0][: len(block[0]) - len(block[0].lstrip())]
        these = "this line" if size == 1 else f"these {size} lines"
        made += [*block, f"{indent}({these}: {times} times)"]
        at += times * size
    return made


def _choice(entry: CacheEntry) -> list[str]:
    """Whether calls that could run compiled do not."""
    way = entry.form.in_parts if entry.way is None else entry.way
    is_eager = way is not None and way.is_eager
    return ["  for now they run eagerly, which takes less time"] if is_eager else []


def _parts(points: ResumePoints, seen: set[int], times: PartTimes | None = None) -> list[str]:
    """What of a function Python runs, and what is compiled around that."""
    lines = ["  Python runs:"]
    for place, text, reason in points.places():
        took = "" if times is None else _time_of(times, place[0], place[2] or place[0])
        lines.append(f"    {shown_file(points.file)}:{place[0]}: {text}: {reason}{took}")
    for i, (places, compiled) in enumerate(points.parts):
        first, last = min(p[0] for p in places), max(p[2] for p in places)
        took = ""
        if times is not None:
            took = f"  [{time_text(times.parts.get(i, 0.0))}{_often(times.calls.get(i, 0))}]"
        lines.append(f"  compiled, lines {first} to {last}:{took}")
        lines += [f"    {line}" for line in _described(compiled, seen)]
    for compiled in points.functions:
        lines += ["  compiled, called by what Python runs:", *(f"    {line}" for line in _described(compiled, seen))]
    return lines


def _time_of(times: PartTimes, first: int, last: int) -> str:
    """What Python's part of the lines takes in a call."""
    lines = [n for n in times.lines if first <= n <= last]
    if not lines:
        return "  [not reached in this call]"
    return f"  [{time_text(sum(times.lines[n] for n in lines))}{_often(times.line_calls[lines[0]])}]"


def _often(n: float) -> str:
    return "" if n == 1 else f", {n:g} times"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun if n == 1 else noun + 'es' if noun.endswith('s') else noun + 's'}"


def _all(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    """Bound symbols, and those in loops and branches."""
    for b in bsyms:
        yield b
        for body in bodies_of(b):
            yield from _all(body.bound_symbols)


def _claims(traces: list[Trace]) -> list[str]:
    counts = Counter(b.sym.executor.name for b in _all(traces[-1].body) if b.sym.executor is not None)
    lines = ["executors: " + (", ".join(f"{k} {v}" for k, v in counts.items()) or "none needed")]
    refusals = dict.fromkeys(found for t in (traces[0], traces[-1]) for found in REFUSALS.of(t))
    for executor, operation, reason, location in refusals:
        where = f" at {location}" if isinstance(location, UserLocation) else ""
        lines.append(f"{executor} does not support {operation}: {reason}{where}")
    for b in _all(traces[0].bound_symbols):
        kind, _, function = b.sym.id.partition(".") if isinstance(b.sym.id, str) else ("", "", "")
        if kind in OPAQUE and OpTags.RANDOM not in b.sym.tags:
            where = f" at {b.location}" if isinstance(b.location, UserLocation) else ""
            lines.append(f"opaque call: {OPAQUE[kind]}.{function.removeprefix('private.')}{where}")
    return lines
