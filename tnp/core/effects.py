"""Effects of programs: everything except computing results."""

from __future__ import annotations

from tnp.core import prims
from tnp.core.subtraces import bodies_of
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace

__all__ = ["acts_on_the_outside"]


def acts_on_the_outside(trace: Trace) -> bool:
    """Whether a program writes to the caller's memory, prints, or draws random numbers: after an error it may not run again. Attributes and
    items are assigned when nothing can raise any more, and so are arrays where the trace says so."""
    return any(_acts(b) for b in trace.bound_symbols if b.sym is not prims.copy_ or not trace.writes_last)


def _acts(b: BoundSymbol) -> bool:
    if OpTags.ASSIGNS in b.operation.tags:
        return False
    if b.sym is prims.copy_ or b.has_tag_inside(OpTags.EFFECT) or b.has_tag_inside(OpTags.RANDOM):
        return True
    return any(_acts(inner) for body in bodies_of(b) for inner in body.bound_symbols)
