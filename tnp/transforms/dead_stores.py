"""Stores to arguments (``copy_``), which tracing puts before whatever may raise: leaving out those that nobody can see.

While it is decided what can raise, reads of a stored value are *forwarded*: they read what was stored. Afterwards they
read the argument again, whose memory the value then has.
"""

from __future__ import annotations

from typing import Any

from tnp.core import prims
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.transforms.dce import any_size, memory_of_results, refuses_values

__all__ = ["dead_stores", "forward_stores", "restore_stores"]


def forward_stores(trace: Trace) -> tuple[Trace, set[str]]:
    """The trace with what was stored read from where it was computed, and the names of the values so read.

    Updates go on in the argument's memory, and views that the caller gets look at it.
    """
    shown = memory_of_results(trace)
    last_read = {p.name: i for i, b in enumerate(trace.bound_symbols) for p in b.flat_inputs}
    names: dict[str, Any] = {}
    lines: list[BoundSymbol] = []
    for i, b in enumerate(trace.bound_symbols):
        if names and not _stays(b, shown):
            b = b.substitute({p.name: names[p.name] for p in b.flat_inputs if p.name in names})
        if b.operation is prims.copy_:
            value = b.args[0]
            if value.name in names or last_read[value.name] <= i:  # nothing else reads it any more
                names[b.output.name] = names.get(value.name, value)
        lines.append(b)
    return (Trace.like(trace, lines) if names else trace), {v.name for v in names.values()}


def restore_stores(trace: Trace, forwarded: set[str]) -> Trace:
    """The trace with the values in ``forwarded`` read from the arguments that they have been stored to."""
    shown = memory_of_results(trace)
    names: dict[str, Any] = {}
    lines: list[BoundSymbol] = []
    for b in trace.bound_symbols:
        if names and not _stays(b, shown):
            b = b.substitute({p.name: names[p.name] for p in b.flat_inputs if p.name in names})
        if b.operation is prims.copy_ and b.args[0].name in forwarded:
            names[b.args[0].name] = b.output
        lines.append(b)
    return Trace.like(trace, lines) if names else trace


def _stays(b: BoundSymbol, shown: set[str]) -> bool:
    """Whether it matters to ``b`` in which memory a value is."""
    if b.operation in (prims.copy_, prims.python_return) or any(p.name in shown for p in b.flat_outputs):
        return True
    return b.has_tag_inside(OpTags.UPDATE) or b.has_tag_inside(OpTags.EFFECT)


def dead_stores(trace: Trace) -> Trace:
    """Without the stores after which nothing can raise or act before the next store to the same argument."""
    last: dict[str, int] = {}
    dead: set[int] = set()
    for i, b in enumerate(trace.bound_symbols):
        if b.operation is prims.copy_:
            destination = b.args[1].name
            if destination in last:
                dead.add(last[destination])
            last[destination] = i
        elif _is_seen(b):
            last.clear()
    names: dict[str, Any] = {}
    kept: list[BoundSymbol] = []
    for i, b in enumerate(trace.bound_symbols):
        b = b.substitute(names)
        if i in dead:
            names[b.output.name] = b.args[0]
        else:
            kept.append(b)
    return Trace.like(trace, kept) if dead else trace


def _is_seen(b: BoundSymbol) -> bool:
    """Whether the caller may find out in what order ``b`` and a store ran."""
    if any_size(b):
        return True
    if b.subsymbols:
        return any(map(_is_seen, b.subsymbols))
    return refuses_values(b) or any(b.has_tag_inside(t) for t in (OpTags.EFFECT, OpTags.MAY_RAISE, OpTags.LATE_GUARD))
