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
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.liveness import steps_of
from tnp.executors.llvm.program.region import hands_on
from tnp.executors.llvm.program.rules import RULES

__all__ = ["BLOCK", "with_blocks"]


def _no_meta(*args: Any) -> Any:
    raise AssertionError("a block is made, not traced")


#: operations in order, as subsymbols; the arguments are what they read from outside
BLOCK = Symbol("block", _no_meta, id="llvm.block", tags=(OpTags.CONTROL_FLOW,))

#: what is no part of a block
_STAYING = (
    OpTags.ASSIGNS, OpTags.BARRIER, OpTags.ENTERS_ERRSTATE, OpTags.EXITS_ERRSTATE, OpTags.PROGRAM, OpTags.RANDOM,
)  # fmt: skip

#: operations of a block at most
_LONGEST = 400
#: what Python does to numbers without a call
_ARITHMETIC = frozenset(
    (prims.add, prims.sub, prims.mul, prims.div, prims.floor_divide, prims.remainder, prims.neg, prims.eq, prims.ne, prims.lt, prims.le,
     prims.gt, prims.ge, prims.logical_not, prims.assert_)
)  # fmt: skip


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

    def among(
        self, bsyms: Sequence[BoundSymbol], results: Sequence[Any], repeats: bool = False
    ) -> Sequence[BoundSymbol]:
        """``bsyms`` with blocks; themselves if there are none. ``results`` are read behind them; ``repeats`` says that they are in a loop."""
        if not any(is_control_flow(b) or isinstance(b.output, NumberProxy) for b in bsyms):
            return bsyms
        last = {p.name: i for i, b in enumerate(bsyms) for p in b.flat_inputs}
        last.update((p.name, len(bsyms)) for p in flat_proxies(results))
        new: list[BoundSymbol] = []
        waiting = self._runs(bsyms)
        while waiting:
            run = waiting.pop()
            if len(run) > _LONGEST:
                step = -(-len(run) // -(-len(run) // _LONGEST))
                waiting += [run[i : i + step] for i in range(0, len(run), step)][::-1]
                continue
            part = bsyms[run.start : run.stop]
            needed = {p.name for b in part for p in b.flat_outputs if last.get(p.name, -1) >= run.stop}
            block = _block(part, needed, repeats) if len(part) > 1 else None
            if block is not None and not self.takes(block[-1]):
                block, failing = None, [i for i in run if is_control_flow(bsyms[i]) and not self.takes(bsyms[i])]
                if failing:
                    ends = [run.start, *(k for i in failing for k in (i, i + 1)), run.stop]
                    waiting += reversed([range(i, k) for i, k in itertools.pairwise(ends) if i < k])
                    continue
            new += [self._inside(b, repeats) for b in part] if block is None else block
        return bsyms if len(new) == len(bsyms) and all(a is b for a, b in zip(new, bsyms)) else new

    def _inside(self, b: BoundSymbol, repeats: bool) -> BoundSymbol:
        """A loop or a branch that Python runs, with blocks in it."""
        if not bodies_of(b) or _fits_inside(b):
            return b

        def blocked(body: Body) -> Body:
            found = self.among(body.bound_symbols, body.results, repeats or b.sym is not prims.cond)
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
        if s.sym is prims.sort and _elements(s.output) > target.BLOCK_SORTED:
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
    return _elements(p) <= target.BLOCK_ELEMENTS


def _elements(p: Any) -> float:
    """The number of elements of an array; infinite if it is not known."""
    if not isinstance(p, TensorProxy):
        return 0
    return math.prod(p.shape) if all(type(n) is int for n in p.shape) else math.inf


def _block(run: Sequence[BoundSymbol], needed: set[str], repeats: bool) -> list[BoundSymbol] | None:
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
    if not _pays(inside, len(inputs), len(outputs), repeats) or not all(map(_may_leave, outputs)):
        return None
    if _may_share(inside, outputs):
        return None
    return [*views, BoundSymbol(BLOCK, tuple(inputs.values()), {}, tuple(outputs), tuple(inside), inside[0].location)]


def _may_share(run: Sequence[BoundSymbol], outputs: Sequence[Proxy]) -> bool:
    """Whether two results may be one array in eager, or share memory: a block gives each its own."""
    memory: dict[str, str] = {}

    def joined(first: Any, second: Any) -> None:
        if all(isinstance(p, TensorProxy) and not p.scalar for p in (first, second)):
            old, new = (memory.get(p.name, p.name) for p in (first, second))
            for name, at in list(memory.items()):
                memory[name] = new if at == old else at
            memory[first.name] = memory[second.name] = new

    for b in run:
        if b.sym is prims.cond:
            for p, (_, init) in itertools.product(b.flat_outputs, carried_with_inits(b)):
                joined(p, init)
        elif is_control_flow(b):
            for p, init in carried_with_inits(b):
                joined(p, init)
        else:
            for s in steps_of((b,)):
                if OpTags.VIEW in s.sym.tags or OpTags.UPDATE in s.sym.tags:
                    joined(s.flat_outputs[0], s.args[0])
            if {p.name for p in b.flat_outputs} & {p.name for p in b.flat_inputs}:
                return True
    arrays = [memory.get(p.name, p.name) for p in outputs if isinstance(p, TensorProxy) and not p.scalar]
    return len(set(arrays)) < len(arrays)


def _is_view(b: BoundSymbol) -> bool:
    arrays = [p for p in b.flat_outputs if isinstance(p, TensorProxy) and not p.scalar]
    return bool(arrays) and not is_control_flow(b) and all(OpTags.VIEW in s.sym.tags for s in steps_of((b,)))


def _may_leave(p: Proxy) -> bool:
    """Whether a value can be a result: the memory of an array with more dimensions may have another order in NumPy."""
    return isinstance(p, NumberProxy) or (isinstance(p, TensorProxy) and p.ndim <= 1)


def _pays(run: Sequence[BoundSymbol], inputs: int, outputs: int, repeats: bool) -> bool:
    """Whether a block of operations takes less time than they do alone. It must take much less, unless it ``repeats``, if nothing of it would
    be compiled otherwise."""
    alone, reads, is_compiled = 0.0, 0, any(map(is_control_flow, run))
    kernel: list[BoundSymbol] = []
    for b in (*run, None):
        if b is not None and _is_of_arrays(b):
            if _reads_element(b):
                reads += 1
            else:
                kernel.append(b)
            continue
        if len(kernel) > 1:  # it reads elements as well
            is_compiled = True
            alone += target.KERNEL_NS
        else:
            alone += reads * target.ELEMENT_NS + sum(map(_ns_of_numpy, kernel))
        kernel, reads = [], 0
        if b is not None:
            alone += _ns_of_python(b)
    together = target.CALL_NS + target.OPERAND_NS * (inputs + 3 * outputs)
    return alone > 1.5 * together and (is_compiled or repeats or alone > target.BLOCK_NS)


def _is_of_arrays(b: BoundSymbol) -> bool:
    """Whether a kernel may have it: numbers are Python's, but for those that are read."""
    return not is_control_flow(b) and isinstance(b.output, TensorProxy)


def _reads_element(b: BoundSymbol) -> bool:
    return b.output.scalar and all(OpTags.VIEW in s.sym.tags for s in steps_of((b,)))


def _ns_of_numpy(b: BoundSymbol) -> float:
    """The time of a single operation on arrays, which is NumPy's."""
    if any(OpTags.REDUCTION in s.sym.tags or s.sym is prims.sort for s in (b, *b.subsymbols)):
        return target.REDUCTION_NS
    return target.ELEMENT_NS if b.output.scalar or OpTags.UPDATE in b.sym.tags else target.ARRAY_NS


def _ns_of_python(b: BoundSymbol) -> float:
    """The time of a loop or a branch in native code, or of an operation on numbers."""
    if is_control_flow(b):
        return target.CALL_NS
    if any(isinstance(p, TensorProxy) for p in b.flat_inputs):
        return target.ELEMENT_NS
    return target.PYTHON_NS if b.operation in _ARITHMETIC else target.FUNCTION_NS
