"""``explain``: what a jitted function was compiled to, as text."""

from __future__ import annotations

from typing import Any

from tnp.api import jitted_behind, programs_of
from tnp.compile.cache_entry import CallSignature
from tnp.compile.resume_points import ResumePoints
from tnp.core.errors import UserLocation
from tnp.core.symbol import OpTags
from tnp.core.trace import Trace
from tnp.transforms.claim import REFUSALS, FusedSymbol

__all__ = ["OPAQUE", "Explanation", "explain"]

#: how the ids of symbols begin that are opaque calls, and what their functions are in
OPAQUE = {"opaque": "np", "torch_opaque": "torch"}


class Explanation(str):
    """A string that an interactive session shows as it prints. An example is at :func:`explain`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(f: Any) -> Explanation:
    """What was compiled, as text: each program's operations by executor, regions with their loops, opaque calls, guards, and
    why it recompiled.

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
    return Explanation("\n".join(_described(jitted_behind(f), set())))


def _described(f: Any, seen: set[int]) -> list[str]:
    """What was compiled; of functions in ``seen``, which have been described, the name."""
    name = f.called
    if id(f) in seen:
        return [f"{name}: see above"]
    seen.add(id(f))
    programs = programs_of(f)
    lines = [f"{name}: {_count(len(programs), 'program')}, {_count(f._hits, 'hit')}, {_count(f._misses, 'miss')}"]
    for i, (entry, conditions) in enumerate(programs):
        if entry.points is not None:
            lines += [f"program {i}: in parts", *conditions, *_choice(entry.form), *_parts(entry.points, seen)]
            continue
        if entry.eager_reason is not None:
            lines += [f"program {i}: eager", *conditions, f"  {entry.eager_reason}"]
            continue
        lines += [f"program {i} (compiled in {entry.seconds * 1000:.1f} ms)", *conditions, *_choice(entry.form)]
        if symbols := [n.text for n in entry.prologue.relations.symbols]:
            lines.append(f"  for any {', '.join(symbols)}")
        lines += [f"  {line}" for line in _claims(entry.traces)]
        for b in entry.traces[-1].body:
            if isinstance(b.sym, FusedSymbol):
                lines += [f"  {b.sym.name}: {_count(len(b.subsymbols), 'operation')}"]
                lines += [f"    {line}" for line in b.sym.describe()]
        if entry.training is not None:
            lines += [f"  {line}" for line in entry.training.describe()]
        lines += [f"  {line}" for graph in entry.graphs for line in graph.describe()]
        lines.append("  guards:")
        lines += [f"    {g.description}" for g in entry.prologue.guards]
    for entry in f._entries:
        if entry.guard is not None and (n := entry.guard.family.overflowed):
            lines.append(
                f"{_count(n, 'call')} ran eagerly, for other values than the {entry.guard.family.count} that there are programs for"
            )
    lines += [f"recompiled because {reason}" for reason in f._recompiled]
    if any(form.last_resort is not None for form in f.forms()):
        if f._points is not None and f._points.has_parts():
            choices = [line for form in f.forms() for line in _choice(form)]
            lines += ["calls that no program is valid for run in parts", *choices, *_parts(f._points, seen)]
        else:
            lines.append("calls that no program is valid for run eagerly: there were too many")
    return lines


def _choice(form: CallSignature) -> list[str]:
    """Whether calls that could run compiled do not."""
    chosen = (form.in_parts, form.choice)
    return ["  for now they run eagerly, which takes less time"] if any(c and c.is_eager for c in chosen) else []


def _parts(points: ResumePoints, seen: set[int]) -> list[str]:
    """What of a function Python runs, and what is compiled around that."""
    lines = ["  Python runs:", *(f"    {line}" for line in points.describe())]
    for places, compiled in points.parts:
        first, last = min(p[0] for p in places), max(p[2] for p in places)
        lines += [f"  compiled, lines {first} to {last}:", *(f"    {line}" for line in _described(compiled, seen))]
    for compiled in points.functions:
        lines += ["  compiled, called by what Python runs:", *(f"    {line}" for line in _described(compiled, seen))]
    return lines


def _count(n: int, noun: str) -> str:
    return f"{n} {noun if n == 1 else noun + 'es' if noun.endswith('s') else noun + 's'}"


def _claims(traces: list[Trace]) -> list[str]:
    counts: dict[str, int] = {}
    for b in traces[-1].body:
        if b.sym.executor is not None:
            counts[b.sym.executor.name] = counts.get(b.sym.executor.name, 0) + 1
    lines = ["executors: " + (", ".join(f"{k} {v}" for k, v in counts.items()) or "none needed")]
    refusals = dict.fromkeys(found for t in (traces[0], traces[-1]) for found in REFUSALS.of(t))
    for executor, operation, reason, location in refusals:
        where = f" at {location}" if isinstance(location, UserLocation) else ""
        lines.append(f"{executor} does not support {operation}: {reason}{where}")
    for b in traces[0].bound_symbols:
        kind, _, function = b.sym.id.partition(".") if isinstance(b.sym.id, str) else ("", "", "")
        if kind in OPAQUE and OpTags.RANDOM not in b.sym.tags:
            where = f" at {b.location}" if isinstance(b.location, UserLocation) else ""
            lines.append(f"opaque call: {OPAQUE[kind]}.{function.removeprefix('private.')}{where}")
    return lines
