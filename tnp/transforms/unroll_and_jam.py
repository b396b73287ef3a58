"""Iterations of a loop that read the same large arrays, several at a time (*unroll and jam*).

``for i in range(n): out[i] = data[(i <= r) & (r < i + 1)].mean()`` reads all of ``r`` and ``data`` in each iteration,
from memory if they do not fit the caches. Eight iterations written out behind each other are one region, whose
reductions share a loop: each element is read once in eight iterations.

Only loops that stay Python loops around kernels are worth it: those with reductions of so many elements. What is
computed on the way must be cheap, or it is not memory that the loop waits for, and must go nowhere but into reductions,
or there would be eight of it at once. What is carried (``out``) may depend on the reductions, and not the other way
round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tnp.core import clang, intervals, prims, sizes
from tnp.core.elementwise_table import by_name as rows
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of
from tnp.core.symbol import BoundSymbol, OpTags, leaves_of, map_proxies
from tnp.core.trace import Trace, tracing
from tnp.core.views import update
from tnp.transforms.autodiff.replay import renamed, replay, rolled
from tnp.transforms.batch_matvec import iterations_of
from tnp.transforms.dce import common_subexpressions
from tnp.transforms.subtraces import in_bodies

__all__ = ["unroll_and_jam"]

#: iterations that become one
ITERATIONS = 8
#: elements of a reduction, and bytes of what it reads, from which on that pays: more than the caches of one core hold
MANY, BYTES = 256 * 1024, 4 * 2**20
#: a reduction's result has at most that part of the elements
REDUCED = 1024
#: operations of an iteration
MOST = 48

_REFUSED = (OpTags.CONTROL_FLOW, OpTags.FACTORY, OpTags.LATE_GUARD, OpTags.RANDOM, OpTags.BARRIER)
_CHEAP = frozenset((prims.where, prims.convert_element_type, prims.div))


def unroll_and_jam(trace: Trace, executors: Sequence[Any]) -> Trace:
    """``trace`` with such loops by :data:`ITERATIONS` iterations at a time, and a loop for the iterations that are left over."""
    if not any(e.is_fusing for e in executors):
        return trace
    trace = in_bodies(lambda t: unroll_and_jam(t, executors), trace)
    if not any(_pays(trace, b) for b in trace.bound_symbols):
        return trace
    new = Trace.like(trace)
    names: dict[str, Any] = {}
    with tracing(new):
        for b in trace.bound_symbols:
            b = b.substitute(names)
            if not _pays(trace, b):
                new.bound_symbols.append(b)
                continue
            begun = len(new.bound_symbols)
            names.update(zip((p.name for p in b.output), _jammed(b, iterations_of(trace, b))))
            for made in new.bound_symbols[begun:]:
                made.location = b.location
    new.output = map_proxies(lambda p: names.get(p.name, p), trace.output)
    return common_subexpressions(new)


def _pays(trace: Trace, loop: BoundSymbol) -> bool:
    """Whether it is a loop whose iterations wait for memory that all of them read."""
    if loop.sym is not prims.for_loop or len(iterations_of(trace, loop)) < 2 * ITERATIONS:
        return False
    body = loop.args[3]
    carried = body.args[1:]
    steps = list(body.bound_symbols)
    if len(steps) > MOST or len(body.results) > len(carried) or not all(_may_be_repeated(b) for b in steps):
        return False
    changing = {p.name for p in carried}
    large: dict[str, int] = {p.name: _bytes(p) for p in body.captures if _elements(p) >= MANY}
    read = 0
    for b in steps:
        if b.operation is prims.copy_:
            continue
        if any(p.name in changing for p in b.flat_inputs):
            # What depends on the iteration before is small, and stays a step of its own.
            if any(p.name in large for p in b.flat_inputs):
                return False
            changing.update(p.name for p in b.flat_outputs)
            continue
        sources = [p for p in b.flat_inputs if p.name in large]
        if not sources:
            continue
        if _is_reduction(b):
            read = max(read, sum(large[n] for n in {p.name for p in sources}))
        elif _is_cheap(b):
            total = sum(large[n] for n in {p.name for p in sources})
            large.update((p.name, total) for p in b.flat_outputs)
        else:
            return False
    return read >= BYTES and not any(isinstance(r, Proxy) and r.name in large for r in body.results)


def _may_be_repeated(b: BoundSymbol) -> bool:
    """Whether a step has shapes that are known, no effect but stores to what the loop carries, and surely does not raise."""
    if b.operation is prims.copy_:
        return True
    if any(b.has_tag_inside(tag) for tag in _REFUSED) or bodies_of(b):
        return False
    proxies = (*b.flat_inputs, *b.flat_outputs)
    if any(isinstance(p, TensorProxy) and not sizes.is_known(p.shape) for p in proxies):
        return False
    parts = list(leaves_of(b))
    if any(OpTags.EFFECT in p.sym.tags for p in parts):
        return False
    if b.sym is update:  # the views that it goes through; what follows them is for executors that write no memory
        parts = [p for p in parts if OpTags.VIEW in p.sym.tags]
    return all(_is_in_bounds(p) for p in parts if OpTags.MAY_RAISE in p.sym.tags)


def _is_in_bounds(b: BoundSymbol) -> bool:
    """Whether an operation takes one element, which surely is there."""
    if b.operation is not prims.select:
        return False
    a, dim, index = b.args
    low, high = intervals.bounds(index)
    return low is not None and high is not None and 0 <= low and high < a.shape[dim]


def _is_reduction(b: BoundSymbol) -> bool:
    """Whether little comes out of an operation on large arrays, each of whose steps is a reduction or cheap."""
    most = max(_elements(p) for p in b.flat_inputs)
    return (
        b.has_tag_inside(OpTags.REDUCTION)
        and all(_elements(p) * REDUCED <= most for p in b.flat_outputs)
        and all(OpTags.REDUCTION in p.sym.tags or _is_cheap(p) for p in leaves_of(b))
    )


def _is_cheap(b: BoundSymbol) -> bool:
    """Whether an operation goes element by element, and takes little more than to read them."""
    for part in leaves_of(b):
        row = rows.get(part.sym.name)
        exact = row is not None and ("i" in row.takes or "b" in row.takes) and row.name != "pow"
        if not exact and part.sym not in _CHEAP and OpTags.VIEW not in part.sym.tags:
            return False
    return True


def _elements(p: Any) -> int:
    return math.prod(p.shape) if isinstance(p, TensorProxy) and sizes.is_known(p.shape) else 0


def _bytes(p: Proxy) -> int:
    return _elements(p) * p.dtype.itemsize if isinstance(p, TensorProxy) else 0


def _jammed(loop: BoundSymbol, iterations: range) -> tuple[Proxy, ...]:
    """Records a loop of the iterations that are too few, and one by several iterations at a time; what they carry."""
    body, *inits = loop.args[3:]
    start, stop, step = iterations.start, iterations.stop, iterations.step
    left = len(iterations) % ITERATIONS

    ahead = _needed_for_reductions(body)
    reduced = [p for b in ahead for p in b.flat_outputs]
    first = Body(body.args, ahead, reduced)
    behind = [b for b in body.bound_symbols if all(b is not a for a in ahead)]
    second = Body([*body.args, *reduced], behind, body.results)

    def several(index: NumberProxy, *carried: Any) -> Sequence[Any]:
        indices = [clang.add(index, k * step) if k else index for k in range(ITERATIONS)]
        found = [replay(first, [i, *carried]) for i in indices]  # none of which reads what is carried
        for i, values in zip(indices, found):
            carried = tuple(replay(second, [i, *carried, *values]))
        return carried

    values = prims.for_loop(start, iterations[left], step, renamed(body, {}), *inits) if left else inits
    return rolled(iterations[left], stop, step * ITERATIONS, values, several)


def _needed_for_reductions(body: Body) -> list[BoundSymbol]:
    """The large reductions of an iteration, and what they are computed from."""
    needed: set[str] = set()
    found: list[BoundSymbol] = []
    for b in reversed(body.bound_symbols):
        is_large = b.operation is not prims.copy_ and any(_elements(p) >= MANY for p in b.flat_inputs)
        if (is_large and _is_reduction(b)) or any(p.name in needed for p in b.flat_outputs):
            found.append(b)
            needed.update(p.name for p in b.flat_inputs)
    return found[::-1]
