"""Blocks: numbers, small arrays, loops and branches that stand one behind the other, as one native function.

``n = len(x) // 2; m = float(x[n]); for i in range(n): …; return m / total`` is a loop, and around it operations of which Python and NumPy
would run each alone: a call of NumPy's takes as long as some hundred additions. A block is lowered as the body of a loop is. It makes all that
it writes to, so it can run again from its beginning.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, carried_with_inits, is_control_flow, map_bodies
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, flat_proxies
from tnp.core.trace import Trace
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.program.liveness import steps_of
from tnp.executors.llvm.program.region import hands_on
from tnp.executors.llvm.program.rules import RULES

__all__ = ["BLOCK", "with_blocks"]


def _no_meta(*args: Any) -> Any:
    raise AssertionError("a block is made, not traced")


#: operations in order, as subsymbols; the arguments are what they read from outside
BLOCK = Symbol("block", _no_meta, id="llvm.block", tags=(OpTags.CONTROL_FLOW,))

_STAYING = (
    OpTags.ASSIGNS,
    OpTags.BARRIER,
    OpTags.ENTERS_ERRSTATE,
    OpTags.EXITS_ERRSTATE,
    OpTags.PROGRAM,
    OpTags.RANDOM,
)


#: operations of a block at most
_LONGEST = 400


def with_blocks(
    trace: Trace, takes: Callable[[BoundSymbol], bool], is_anothers: Callable[[BoundSymbol], bool]
) -> Trace:
    """The trace with operations put together to blocks. ``takes`` says whether native code can be made of a loop, a branch or a block,
    ``is_anothers`` whether an executor that comes before has an operation."""
    found = _Blocks(takes, is_anothers).among(trace.bound_symbols, ())
    return trace if found is trace.bound_symbols else Trace.like(trace, found)


class _Blocks:
    def __init__(self, takes: Callable[[BoundSymbol], bool], is_anothers: Callable[[BoundSymbol], bool]) -> None:
        self.takes = takes
        self.is_anothers = is_anothers

    def among(self, bsyms: Sequence[BoundSymbol], results: Sequence[Any]) -> Sequence[BoundSymbol]:
        """``bsyms`` with blocks; themselves if there are none. ``results`` are read behind them."""
        if not any(is_control_flow(b) or isinstance(b.output, NumberProxy) for b in bsyms):
            return bsyms
        last = {p.name: i for i, b in enumerate(bsyms) for p in b.flat_inputs}
        last.update((p.name, len(bsyms)) for p in flat_proxies(results))
        new: list[BoundSymbol] = []
        waiting = self._runs(bsyms)
        while waiting:
            run = waiting.pop()
            needed = {name for name, i in last.items() if i >= run.stop}
            part = bsyms[run.start : run.stop]
            block = _block(part, needed) if 1 < len(part) <= _LONGEST else None
            if block is not None and not self.takes(block[-1]):
                block, failing = None, [i for i in run if is_control_flow(bsyms[i]) and not self.takes(bsyms[i])]
                if failing:
                    ends = [run.start, *(k for i in failing for k in (i, i + 1)), run.stop]
                    waiting += reversed([range(i, k) for i, k in itertools.pairwise(ends) if i < k])
                    continue
            new += [self._inside(b) for b in part] if block is None else block
        return bsyms if len(new) == len(bsyms) and all(a is b for a, b in zip(new, bsyms)) else new

    def _inside(self, b: BoundSymbol) -> BoundSymbol:
        """A loop or a branch that Python runs, with blocks in it."""
        if not bodies_of(b) or _fits_inside(b):
            return b

        def blocked(body: Body) -> Body:
            found = self.among(body.bound_symbols, body.results)
            return body if found is body.bound_symbols else Body(body.args, found, body.results)

        return map_bodies(blocked, b)

    def _runs(self, bsyms: Sequence[BoundSymbol]) -> list[range]:
        """All of ``bsyms`` in parts, the last one first: as many as possible together that could be one block, and others alone."""
        found: list[range] = []
        made: set[str] = set()
        strict = begin = 0
        for i, b in enumerate(bsyms):
            strict += (OpTags.ENTERS_ERRSTATE in b.sym.tags) - (OpTags.EXITS_ERRSTATE in b.sym.tags)
            if strict or not _fits(b, made) or self.is_anothers(b):
                found += [range(k, end) for k, end in ((begin, i), (i, i + 1)) if k < end]
                begin, made = i + 1, set()
            else:
                made.update(p.name for p in b.flat_outputs)
        return [*found, range(begin, len(bsyms))][::-1]


def _fits(b: BoundSymbol, made: set[str]) -> bool:
    """Whether an operation can be part of a block that makes the values ``made`` before it, as far as that is known at once."""
    if b.sym.executor is not None or b.operation is prims.copy_ or any(b.has_tag_inside(t) for t in _STAYING):
        return False
    given = {p.name for p in b.flat_inputs}
    if any(p.name in given for p in b.flat_outputs):
        return False
    if is_control_flow(b):
        if b.sym is prims.cond and hands_on(b):
            return False
        # What it writes to, or may give as it was, is the block's own.
        begins = [init for _, init in carried_with_inits(b) if isinstance(init, TensorProxy)]
        return all(p.name in made or p.scalar for p in begins) and _fits_inside(b)
    try:
        steps = list(steps_of((b,)))
    except Refused:
        return False
    inside = {p.name for s in steps for p in s.flat_outputs}
    for s in steps:
        if s.sym.name not in RULES:
            return False
        if OpTags.UPDATE in s.sym.tags and s.args[0].name not in made and s.args[0].name not in inside:
            return False
        if OpTags.VIEW not in s.sym.tags and not all(map(_is_small, (*s.flat_inputs, *s.flat_outputs))):
            return False
    return True


def _fits_inside(b: BoundSymbol) -> bool:
    """Whether there is a rule for all that a loop or a branch does."""
    try:
        steps = [s for body in bodies_of(b) for s in steps_of(body.bound_symbols)]
    except Refused:
        return False
    return all(_fits_inside(s) if is_control_flow(s) else s.sym.name in RULES for s in steps)


def _is_small(p: Proxy) -> bool:
    if not isinstance(p, TensorProxy):
        return True
    return all(type(n) is int for n in p.shape) and math.prod(p.shape) <= target.BLOCK_ELEMENTS


def _block(run: Sequence[BoundSymbol], needed: set[str]) -> list[BoundSymbol] | None:
    """The block of some operations, and before it views that are ``needed`` behind it; ``None`` if there is none, or it does not pay."""
    views: list[BoundSymbol] = []
    inside: list[BoundSymbol] = []
    own: set[str] = set()
    for b in run:
        if any(p.name in needed for p in b.flat_outputs) and _is_view(b):
            if any(p.name in own for p in b.flat_inputs):
                return None
            views.append(b)
        else:
            inside.append(b)
            own.update(p.name for p in b.flat_outputs)
    inputs = {p.name: p for b in inside for p in b.flat_inputs if p.name not in own}
    outputs = [p for b in inside for p in b.flat_outputs if p.name in needed]
    if not _pays(inside, len(inputs), len(outputs)) or not all(map(_may_leave, outputs)):
        return None
    return [*views, BoundSymbol(BLOCK, tuple(inputs.values()), {}, tuple(outputs), tuple(inside), inside[0].location)]


def _is_view(b: BoundSymbol) -> bool:
    arrays = [p for p in b.flat_outputs if isinstance(p, TensorProxy) and not p.scalar]
    return bool(arrays) and not is_control_flow(b) and all(OpTags.VIEW in s.sym.tags for s in steps_of((b,)))


def _may_leave(p: Proxy) -> bool:
    """Whether a value can be a result: the memory of an array with more dimensions may have another order in NumPy."""
    return isinstance(p, NumberProxy) or (isinstance(p, TensorProxy) and p.ndim <= 1)


def _pays(run: Sequence[BoundSymbol], inputs: int, outputs: int) -> bool:
    """Whether a block of operations takes less time than they do alone."""
    alone, calls, is_kernel = 0.0, 0, False
    for b in run:
        gives_number = isinstance(b.output, NumberProxy)
        if gives_number and not any(isinstance(p, TensorProxy) for p in b.flat_inputs):
            alone += target.PYTHON_NS
            is_kernel = False
        elif is_control_flow(b) or gives_number or not is_kernel:
            alone += target.CALL_NS
            calls += 1
            is_kernel = not is_control_flow(b) and not gives_number
    together = target.CALL_NS + target.OPERAND_NS * (inputs + 3 * outputs)
    return alone > 1.5 * together and (calls > 1 or alone > target.BLOCK_NS)
