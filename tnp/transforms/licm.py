"""Loop-invariant code motion: what a loop computes anew in each iteration, always the same, is computed once before it.

Only what has no effect and cannot raise moves. Arithmetic on numbers moves out of every loop. Of arrays, reductions and
products move, with what they need, and out of loops that surely have an iteration: elsewhere they might be computed for
nothing, and warn. An elementwise operation stays where it is, unless one of those needs it: in the loop it is fused
with what reads it, and outside it would cost memory.
"""

from __future__ import annotations

from tnp.core import prims, sizes
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["licm"]

#: arithmetic on numbers that never raises
_SAFE = frozenset(
    (prims.add, prims.sub, prims.mul, prims.neg, prims.positive, prims.abs, prims.eq, prims.ne, prims.lt, prims.le, prims.gt, prims.ge,
     prims.bitwise_and, prims.bitwise_or, prims.bitwise_xor, prims.logical_not)
)  # fmt: skip
_STAYING = (
    OpTags.CONTROL_FLOW, OpTags.EFFECT, OpTags.FACTORY, OpTags.LATE_GUARD, OpTags.MAY_RAISE, OpTags.PROGRAM, OpTags.RANDOM,
    OpTags.UPDATE,
)  # fmt: skip


def licm(trace: Trace) -> Trace:
    """The trace with loop-invariant operations before their loops, as far out as they can be."""
    trace = in_bodies(licm, trace)
    lines: list[BoundSymbol] = []
    changed = False
    for b in trace.bound_symbols:
        moved: list[BoundSymbol] = []
        if is_control_flow(b) and b.sym is not prims.cond:
            args = tuple(_without_invariant(a, moved, _surely_runs(b)) if isinstance(a, Body) else a for a in b.args)
            if moved:
                b, changed = b.replace(args=args), True
        lines += moved
        lines.append(b)
    return Trace.like(trace, lines) if changed else trace


def _surely_runs(loop: BoundSymbol) -> bool:
    """Whether a loop has an iteration in every call for which the trace is valid."""
    if loop.sym is not prims.for_loop:
        return False
    bounds = loop.args[:3]
    return all(type(x) is int for x in bounds) and len(range(*bounds)) > 0


def _without_invariant(body: Body, moved: list[BoundSymbol], surely_runs: bool) -> Body:
    """``body`` without its loop-invariant operations, which ``moved`` collects."""
    if any(OpTags.ENTERS_ERRSTATE in b.sym.tags for b in body.bound_symbols):
        surely_runs = False  # what it computes would warn, or not, as outside
    inside = {p.name for p in body.args}
    movable: list[BoundSymbol] = []
    for b in body.bound_symbols:
        if _may_move(b) and not any(p.name in inside for p in b.flat_inputs):
            movable.append(b)
        else:
            inside.update(p.name for p in b.flat_outputs)
    needed: set[str] = set()
    chosen: list[BoundSymbol] = []
    for b in reversed(movable):
        wanted = isinstance(b.output, NumberProxy) or (surely_runs and _is_heavy(b))
        if wanted or any(p.name in needed for p in b.flat_outputs):
            chosen.append(b)
            needed.update(p.name for p in b.flat_inputs)
    if not chosen:
        return body
    moved += reversed(chosen)
    kept = [b for b in body.bound_symbols if all(b is not c for c in chosen)]
    return Body(body.args, kept, body.results)


def _may_move(b: BoundSymbol) -> bool:
    """Whether an operation has no effect, cannot raise, and makes what has a known shape."""
    if any(b.has_tag_inside(tag) for tag in _STAYING) or bodies_of(b):
        return False
    arrays = [p for p in (*b.flat_inputs, *b.flat_outputs) if isinstance(p, TensorProxy)]
    if not arrays:
        return b.operation in _SAFE and isinstance(b.output, NumberProxy)
    numbers = any(isinstance(p, NumberProxy) for p in b.flat_outputs)
    return not numbers and all(sizes.is_known(p.shape) for p in arrays)


def _is_heavy(b: BoundSymbol) -> bool:
    return b.has_tag_inside(OpTags.REDUCTION) or b.has_tag(OpTags.PRODUCT)
