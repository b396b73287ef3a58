"""Library calls in the iterations of a loop, as one call before it.

``for i in range(n): power[i] = np.abs(np.fft.rfft(x[i])) ** 2`` calls the library once a row, and a call takes longer than
a short transform. One call takes all rows. The loop, with a row of the result in the call's place, has nothing left that
native code cannot do.

The conditions: the call's operands depend on the iteration and on what the loop does not change; every iteration surely
reaches the call, so the loop has no early exit or branch before it; and the operands of all iterations are no large
memory. A call that raises does so before the first iteration, so iterations must not act on the outside then, or the
program must be one that runs eagerly after an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.core import intervals, languages, prims, symbols
from tnp.core.dtypes import int64
from tnp.core.effects import acts_inside, acts_on_the_outside
from tnp.core.errors import BatchError, NeedsConcreteSize
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow, with_parts
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies, leaves_of
from tnp.core.trace import Trace, tracing
from tnp.transforms.batching import Batched, Walk
from tnp.transforms.subtraces import in_bodies

__all__ = ["batch_calls"]

#: the least iterations that are batched, and the most bytes of a batch's operands and results
MANY_ITERATIONS, MOST_BYTES = 8, 1 << 28
#: elements of a row that a library sorts in less time than native code in the loop
MANY_SORTED = 6

_SORTS = frozenset((prims.sort, prims.argsort))
_DECOMPOSITIONS = frozenset((prims.eig, prims.eigh, prims.eigvals, prims.qr, prims.slogdet, prims.svd))
#: what libraries compute of stacks of rows and matrices
_CALLS = (
    _SORTS
    | _DECOMPOSITIONS
    | frozenset((prims.cholesky, prims.det, prims.fft, prims.inv, prims.irfft, prims.rfft, prims.solve))
)
_STAYING = (
    OpTags.ASSIGNS, OpTags.BARRIER, OpTags.CONTROL_FLOW, OpTags.EFFECT, OpTags.ENTERS_ERRSTATE, OpTags.LATE_GUARD,
    OpTags.PROGRAM, OpTags.RANDOM,
)  # fmt: skip


@dataclass
class _Settings:
    """What decides for a whole program. ``runs_again``: after an error it runs eagerly, from its beginning."""

    executors: Sequence[Any]
    runs_again: bool
    may_start_over: bool = False
    #: whether it does so where a batch would be too large
    starts_over: bool = False


@dataclass
class _Calls:
    """The calls of a loop, by the names of their results, and the operations that they need, in order."""

    loop: BoundSymbol
    results: dict[str, TensorProxy]
    steps: list[BoundSymbol]
    #: bytes of an iteration, in the call that is traced
    row_bytes: int
    may_raise: bool

    @property
    def bounds(self) -> tuple[Any, Any, Any]:
        start, stop, step = self.loop.args[:3]
        return start, stop, step

    @property
    def index(self) -> NumberProxy:
        index: NumberProxy = self.loop.args[3].args[0]
        return index


def batch_calls(trace: Trace, executors: Sequence[Any]) -> Trace:
    """``trace`` with such calls before their loops, where there is an executor that compiles what is left of the loops."""
    fusing = [e for e in executors if e.is_fusing]
    if not fusing or not any(p.sym is prims.for_loop for b in trace.bound_symbols for p in with_parts(b)):
        return trace
    settings = _Settings(fusing, runs_again=not acts_on_the_outside(trace, warnings=False))
    settings.may_start_over = trace.may_start_over and settings.runs_again
    made = _batched(trace, settings)
    trace.catches |= settings.starts_over
    made.catches |= settings.starts_over
    return made


def _batched(trace: Trace, settings: _Settings) -> Trace:
    trace = in_bodies(lambda t: _batched(t, settings), trace)
    with tracing(trace):
        found = {id(b): _found(trace, b, settings) for b in trace.bound_symbols if b.sym is prims.for_loop}
    if not any(found.values()):
        return trace
    new = Trace.like(trace)
    with tracing(new):
        for b in trace.bound_symbols:
            calls = found.get(id(b))
            made = None if calls is None else _computed(new, calls, settings)
            if calls is not None and made is not None:
                b = b.replace(args=(*b.args[:3], _with_rows(new, calls, made), *b.args[4:]))
            new.bound_symbols.append(b)
    return new


# What to batch


def _found(trace: Trace, loop: BoundSymbol, settings: _Settings) -> _Calls | None:
    """The calls in a loop's iterations that are worth it."""
    body: Body = loop.args[3]
    if not _is_counted_up(loop) or len(body.results) >= len(body.args) or not isinstance(body.args[0], NumberProxy):
        return None
    if not any(s.sym in _CALLS for b in body.bound_symbols if not is_control_flow(b) for s in leaves_of(b)):
        return None
    if any(b.has_tag_inside(OpTags.ENTERS_ERRSTATE) for b in body.bound_symbols):
        return None  # the call would warn, or not, as outside
    known, varying = {p.name for p in body.captures}, {body.args[0].name}
    known.update(varying)
    read = {p.name for b in body.bound_symbols for p in b.flat_inputs} | {p.name for p in flat_proxies(body.results)}
    steps: list[BoundSymbol] = []
    for b in body.bound_symbols:
        made = [p for p in b.flat_outputs if p.name in read]
        if any(b.has_tag_inside(tag) for tag in _STAYING) or _warns(b) or not all(map(_is_sized, made)):
            continue
        inputs = {p.name for p in b.flat_inputs}
        if inputs <= known:
            steps.append(b)
            known.update(p.name for p in made)
            if not inputs.isdisjoint(varying):
                varying.update(p.name for p in made)
    calls = [b for b in steps if _is_call(b, settings.executors) and any(p.name in varying for p in b.flat_outputs)]
    steps = _needed(steps, calls)
    may_raise = any(map(_may_raise, steps))
    if not calls or (may_raise and not settings.runs_again and acts_inside(trace, loop)):
        return None
    results = {p.name: p for b in calls for p in b.flat_outputs if isinstance(p, TensorProxy) and p.name in read}
    memory = [p for b in steps if OpTags.VIEW not in b.sym.tags for p in b.flat_outputs if p.name in read]
    memory += [p for b in calls for p in b.flat_inputs]
    found = _Calls(loop, results, steps, sum(map(_bytes, memory)), may_raise)
    if not settings.may_start_over and not all(type(x) is int or symbols.is_symbol(x) for x in found.bounds):
        return None
    count = _typical_count(found.bounds)
    pays = count is None or (count >= MANY_ITERATIONS and count * found.row_bytes <= MOST_BYTES)
    return found if pays else None


def _is_counted_up(loop: BoundSymbol) -> bool:
    """Whether a loop's positions are not negative and go up."""
    start, _, step = loop.args[:3]
    first = intervals.bounds(start)[0]
    return (type(step) is not int or step > 0) and first is not None and first >= 0


def _warns(b: BoundSymbol) -> bool:
    """Whether an operation leaves it to a library to warn, which compiled code only suspects (of an ill-conditioned matrix)."""
    return any(s.sym is prims.require and issubclass(s.args[2], Warning) for s in leaves_of(b))


def _is_sized(p: Proxy) -> bool:
    """Whether all iterations have a value of one shape."""
    shape = p.shape if isinstance(p, TensorProxy) else ()
    return all(type(n) is int or symbols.is_symbol(n) for n in shape)


def _is_call(b: BoundSymbol, executors: Sequence[Any]) -> bool:
    """Whether a library runs an operation, or the decisive one of its parts, and gives arrays."""
    if not all(isinstance(p, TensorProxy) for p in b.flat_outputs):
        return False
    return any(s.sym in _CALLS and not _is_native(s, executors) for s in leaves_of(b))


def _is_native(b: BoundSymbol, executors: Sequence[Any]) -> bool:
    if b.sym in _SORTS:
        n = symbols.value_of(b.args[0].shape[b.args[1]]) if b.args[0].ndim else 1
        return n is not None and n < MANY_SORTED
    if b.sym in _DECOMPOSITIONS:  # threads share the matrices of a stack
        return False
    return any(e.can_fuse(b) for e in executors)


def _needed(steps: Sequence[BoundSymbol], calls: Iterable[BoundSymbol]) -> list[BoundSymbol]:
    """The operations that give what ``calls`` take, and these, in order."""
    wanted = {p.name for b in calls for p in b.flat_outputs}
    kept = []
    for b in reversed(steps):
        if any(p.name in wanted for p in b.flat_outputs):
            kept.append(b)
            wanted.update(p.name for p in b.flat_inputs)
    return kept[::-1]


def _may_raise(b: BoundSymbol) -> bool:
    return any(OpTags.MAY_RAISE in s.sym.tags and not _is_in_bounds(s) for s in leaves_of(b))


def _is_in_bounds(b: BoundSymbol) -> bool:
    """Whether an operation selects from where there surely is an element."""
    if b.sym is not prims.select:
        return False
    a, dim, index = b.args
    low = intervals.bounds(index)[0]
    room = intervals.linear(a.shape[dim]).plus(intervals.linear(index), -1).interval()[0]
    return low is not None and low >= 0 and room is not None and room > 0


def _bytes(p: Proxy) -> int:
    if not isinstance(p, TensorProxy):
        return 8
    return math.prod(symbols.value_of(n) or 0 for n in p.shape) * p.dtype.itemsize


def _typical_count(bounds: Sequence[Any]) -> int | None:
    """The number of iterations in the call that is traced, if it is known."""
    found = [n for n in map(symbols.value_of, bounds) if n is not None]
    return len(range(*found)) if len(found) == len(bounds) else None


# The batch


def _computed(trace: Trace, calls: _Calls, settings: _Settings) -> dict[str, Any] | None:
    """Records the calls for all iterations; their results, batched where they differ, by the names that one iteration's have. ``None`` if an
    operation has no batch of these sizes."""
    most = 4 * MOST_BYTES // max(1, calls.row_bytes)
    if calls.may_raise and settings.may_start_over:
        settings.starts_over = True  # eager says what is wrong
    trace.push_body()
    try:
        count = _count(calls.bounds)
        if symbols.is_symbol(count):
            count.relations.less(count, most)  # which is a guard
        elif not isinstance(count, int):
            prims.assert_(prims.ge(count, 0), START_OVER)
            prims.assert_(prims.le(count, most), START_OVER)
            settings.starts_over = True
        device = next(iter(calls.results.values())).device
        walk = Walk(count, {calls.index.name: Batched(_positions(calls, count, device), calls.bounds)})
        for b in calls.steps:
            language = next((p.lang for p in b.flat_outputs if isinstance(p, TensorProxy)), languages.current())
            with languages.language_context(language):
                walk.run_one(b)
        walk.is_batched(list(calls.results.values()))  # raises if an operation has no batched result
        found = {name: walk.names[name] for name in calls.results}
    except (BatchError, NeedsConcreteSize):
        trace.pop_body()
        return None
    lines = trace.pop_body()
    for line in lines:
        line.location = calls.loop.location
    trace.bound_symbols += lines
    return found


def _count(bounds: tuple[Any, Any, Any]) -> Any:
    """The number of iterations, a size of the batch. What nobody knows before the program runs may be negative."""
    start, stop, step = bounds
    if all(type(x) is int for x in bounds):
        return len(range(start, stop, step))
    if all(type(x) is int or symbols.is_symbol(x) for x in bounds):
        span = symbols.compute("sub", stop, start)
        last = symbols.compute("floor_divide", symbols.compute("sub", span, 1), step)
        return symbols.as_dimension(symbols.compute("add", last, 1))
    span = stop if type(start) is int and start == 0 else prims.sub(stop, start)
    if type(step) is int and step == 1:
        return span
    return prims.neg(prims.floor_divide(prims.neg(span), step))


def _positions(calls: _Calls, count: Any, device: Any) -> TensorProxy:
    start, _, step = calls.bounds
    made: TensorProxy = prims.iota(count, device=device, dtype=int64)
    if type(step) is not int or step != 1:
        made = prims.mul(made, step)
    if type(start) is not int or start != 0:
        made = prims.add(made, start)
    return made


def _with_rows(outer: Trace, calls: _Calls, made: Mapping[str, Any]) -> Body:
    """The loop's body, in which copies of the rows of ``made`` replace the calls."""
    body: Body = calls.loop.args[3]
    outer.push_body()
    row = _row(calls)
    lines: list[BoundSymbol] = list(outer.pop_body())
    for b in body.bound_symbols:
        if not any(p.name in made for p in b.flat_outputs):
            lines.append(b)
            continue
        for p in b.flat_outputs:
            if not isinstance(p, TensorProxy) or p.name not in made:
                continue
            outer.push_body()
            found = made[p.name]
            with languages.language_context(p.lang):
                selected = prims.select(found.array, 0, row) if isinstance(found, Batched) else found
            copied = [*outer.pop_body(), prims.clone.bind(selected, output=p)]
            for line in copied:
                line.location = b.location
            lines += copied
    return Body(body.args, lines, body.results)


def _row(calls: _Calls) -> Any:
    """The number of an iteration, in terms of the loop's index."""
    start, _, step = calls.bounds
    row: Any = calls.index
    if type(start) is not int or start != 0:
        row = prims.sub(row, start)
    if type(step) is not int or step != 1:
        row = prims.floor_divide(row, step)
    return row
