"""Deletes arrays after their last use, which frees their memory."""

from __future__ import annotations

from tnp.core import prims
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["del_last_used"]


def del_last_used(trace: Trace) -> Trace:
    """The trace with ``del`` after the last use of each array. What a loop or a branch got from outside stays."""
    return _deleting(trace, set())


def _deleting(trace: Trace, used: set[str]) -> Trace:
    trace = in_bodies(lambda body: _deleting(body, {p.name for p in body.args}), trace)
    lines: list[BoundSymbol] = []
    python_del = prims.registry["python_del"]
    for b in reversed(trace.bound_symbols):
        if OpTags.PROGRAM in b.sym.tags:
            used.update(p.name for p in b.flat_inputs)
            lines.append(b)
            continue
        last: list[TensorProxy] = []
        for p in (*b.flat_inputs, *b.flat_outputs):
            if isinstance(p, TensorProxy) and p.name not in used:
                used.add(p.name)
                last.append(p)
        if last:
            lines.append(python_del.bind(*last, output=None))
        lines.append(b)
    return Trace.like(trace, reversed(lines))
