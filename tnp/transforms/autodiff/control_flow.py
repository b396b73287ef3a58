"""Gradients of branches and loops.

A branch's gradient is a branch: each side runs its side of the program again, and then backwards.

A loop's gradient is a loop the other way. What the values carried by the loop were at the beginning of each iteration
is kept in stacks, of those that the backward needs; from there each iteration is run again, and then backwards. So
memory is the carried values, once an iteration. Where that is more than :data:`KEPT_BYTES`, the loop of n iterations is
first written as a loop of √n loops of √n iterations: then the state is kept √n times for the outer loop, and √n times,
in the same memory, for the inner one at work, at the price of running each iteration once more (Griewank and Walther,
Evaluating Derivatives, chapter 12; Chen et al., Training deep nets with sublinear memory cost, 2016).

A ``while`` loop runs twice: first to count its iterations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tnp.core import clang, dtypes, prims, sizes, views
from tnp.core.activity import sources_of_round
from tnp.core.context import current_trace
from tnp.core.devices import cpu
from tnp.core.errors import GradientError
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body
from tnp.core.symbol import BoundSymbol, flat_proxies
from tnp.core.views import Path, Step
from tnp.transforms.autodiff.replay import like, live, make_body, renamed, replay, rolled, stored
from tnp.transforms.autodiff.reverse import Program, Reverse, active_names, is_differentiable, zeros_for
from tnp.transforms.autodiff.rules import of_bound_symbol, rule, without_derivative

__all__ = ["KEPT_BYTES"]

#: loops whose carried values, once an iteration, are more than this many bytes keep fewer of them
KEPT_BYTES = 64 * 2**20
#: why a loop whose iterations change the length of an array that its backward needs has no gradient
UNKNOWN_SHAPES = "a loop that replaces an array by others of unknown shapes has no gradient"
#: loops of fewer iterations are not divided
DIVIDED_ITERATIONS = 16


# Branches


@rule(prims.cond)
@of_bound_symbol
def _cond(reverse: Reverse, bsym: BoundSymbol, g: Any) -> None:
    condition, then, otherwise, *inits = bsym.args
    cotangents = dict(zip(range(len(then.results)), g))
    wanted = _wanted(reverse, [*inits, *then.captures, *otherwise.captures])
    if not wanted:
        return

    def walked(body: Body, found: list[TensorProxy | None]) -> Body:
        def make() -> list[Any]:
            start = len(_statements())
            results = replay(body, inits)
            program = Program(start)
            inner = Reverse(active_names(program.bound_symbols, (p.name for p in wanted)), {})
            for k, r in enumerate(results):
                if cotangents[k] is not None:
                    inner.put(r, cotangents[k])
            program.walk(inner)
            found.extend(inner.cotangents.get(p.name) for p in wanted)
            return []

        return make_body((), make)

    found: tuple[list[TensorProxy | None], ...] = ([], [])
    walks = [walked(body, list_of) for body, list_of in zip((then, otherwise), found)]
    # What neither side has a cotangent of has none: zeros would be multiplied by what may be infinite.
    reached = [k for k, sides in enumerate(zip(*found)) if any(h is not None for h in sides)]
    if not reached:
        return

    def completed(walk: Body, given: list[TensorProxy | None]) -> Body:
        results: list[Any] = []

        def make() -> list[Any]:
            for k in reached:
                known = given[k]
                h = zeros_for(wanted[k]) if known is None else known
                if h.scalar:  # the other side's may be none
                    h = prims.clone(h)
                    h.scalar = False
                results.append(h)
            return []

        zeros = make_body((), make)
        return Body((), [*walk.bound_symbols, *zeros.bound_symbols], results)

    for k, h in zip(reached, prims.cond(condition, *map(completed, walks, found))):
        reverse.put(wanted[k], h)


def _statements() -> list[BoundSymbol]:
    trace = current_trace()
    assert trace is not None
    return trace.statements


def _wanted(reverse: Reverse, values: list[Any]) -> list[Proxy]:
    """Those of ``values`` whose cotangents somebody wants, each once."""
    return list({p.name: p for p in values if reverse.needs(p)}.values())


# Loops


def _number(x: Any) -> Any:
    """A number as an int, where it is known: the trace is then for that number."""
    return int(x) if isinstance(x, NumberProxy) and x.value is not None else x


def iterations_of(start: Any, stop: Any, step: Any) -> Any:
    """How often a loop runs: an int, or a number known at run time."""
    if all(type(x) is int for x in (start, stop, step)):
        return len(range(start, stop, step))
    if type(step) is not int:
        raise GradientError(
            "a loop whose step is known only when the program runs has no gradient; give it a step that is a constant"
        )
    span = clang.sub(stop, start) if step > 0 else clang.sub(start, stop)
    length = clang.floor_divide(clang.add(span, abs(step) - 1), abs(step)) if abs(step) != 1 else span
    return clang.mul(length, prims.convert_number(clang.gt(length, 0), int))


def raise_unknown_step() -> None:
    from tnp.core.errors import GradientError

    raise GradientError(
        "a loop whose step is known only when the program runs has no gradient; give it a step that is a constant"
    )


def _bytes(x: Any) -> int:
    """How much a carried value takes; 0 where that is known only at run time."""
    if not isinstance(x, TensorProxy):
        return 8
    return int(math.prod(x.shape)) * x.dtype.itemsize if sizes.is_known(x.shape) else 0


@rule(prims.for_loop)
@of_bound_symbol
def _for_loop(reverse: Reverse, bsym: BoundSymbol, g: Any) -> None:
    start, stop, step = (_number(x) for x in bsym.args[:3])
    body, *inits = bsym.args[3:]
    loop = bsym.replace(args=(start, stop, step, body, *inits))
    trace = current_trace()
    assert trace is not None
    before = trace.push_body()
    try:
        iterations = iterations_of(start, stop, step)
    finally:
        trace.pop_body()
    breaks = len(body.results) > len(inits)
    kept = sum(map(_bytes, inits))
    if type(iterations) is int and not breaks and iterations >= DIVIDED_ITERATIONS and iterations * kept > KEPT_BYTES:
        reverse.replaced[id(bsym)] = _divided(reverse, loop, iterations, g)
    else:
        reverse.replaced[id(bsym)] = [*before, *_pull_loop(reverse, loop, iterations, g)]


def _divided(reverse: Reverse, loop: BoundSymbol, iterations: int, g: Any) -> list[BoundSymbol]:
    """A loop as the iterations that are left over, then a loop of loops; cotangents pulled back through both."""
    start, _, step, body, *inits = loop.args
    count = math.isqrt(iterations)
    inside, left = divmod(iterations, count)
    trace = current_trace()
    assert trace is not None
    scope = trace.push_body()
    try:
        values = inits
        if left:
            values = prims.for_loop(start, start + left * step, step, renamed(body, {}), *inits)
        block = NumberProxy(trace.make_name("i"), int)

        def one_block() -> list[Any]:
            begin = clang.add(clang.mul(block, inside * step), start + left * step)

            def one_round(index: NumberProxy, *carried: Any) -> list[Any]:
                return replay(body, [clang.add(clang.mul(index, step), begin), *carried])

            return stored(rolled(0, inside, 1, body.args[1:], one_round), body.args[1:])

        outer = make_body([block, *body.args[1:]], one_block)
        prims.for_loop(0, count, 1, outer, *values)
    finally:
        trace.pop_body()
    made = list(scope)
    reverse.active |= active_names(made, reverse.active)
    if left:
        reverse.replaced[id(made[1])] = _pull_loop(reverse, made[1], count, g)
        reverse.pull(made[0])
    else:
        reverse.replaced[id(made[0])] = _pull_loop(reverse, made[0], count, g)
    return made


def _active_carried(reverse: Reverse, body: Body, inits: list[Any]) -> tuple[set[str], list[int]]:
    """What is active inside of a loop's body, and which carried values are."""
    outside = {p.name for p in body.captures if p.name in reverse.active}
    carried = {k for k, x in enumerate(inits) if reverse.needs(x)}
    args = body.args[1:]
    while True:
        active = active_names(body.bound_symbols, outside | {args[k].name for k in carried})
        more = {
            k for k, r in enumerate(body.results[: len(inits)])
            if isinstance(r, Proxy) and r.name in active and is_differentiable(args[k])
        }  # fmt: skip
        if more <= carried:
            return outside, sorted(carried)
        carried |= more


def _pull_loop(reverse: Reverse, loop: BoundSymbol, iterations: Any, g: Any) -> list[BoundSymbol]:
    """Pulls cotangents back through a loop; gives the loop that keeps what that needs, to take its place."""
    start, _, step, body, *inits = loop.args
    args = body.args[1:]
    outside, active = _active_carried(reverse, body, inits)
    if type(iterations) is int and iterations == 0:
        for x, h in zip(inits, g):
            reverse.put(x, h)
        return [loop]
    trace = current_trace()
    assert trace is not None
    counts = len(body.results) > len(inits)
    done = NumberProxy(trace.make_name("n"), int) if counts else iterations

    # An iteration backwards, from placeholders for the state that it began with.
    index = NumberProxy(trace.make_name("i"), int)
    known, own = _sizes_of_iterations(body, inits)
    states = [like(a, known) for a in args]
    at_end = {k for k in active if g[k] is not None}
    sources = sources_of_round(body, args, at_end, without_derivative=without_derivative)
    carried = sorted(at_end & set(active))
    captures = [p for p in body.captures if p.name in outside & sources and is_differentiable(p)]
    given = [zeros_for(args[k]) if g[k] is None else g[k] for k in carried]
    sums = [reverse.cotangents.get(p.name) for p in captures]
    sums = [zeros_for(p) if h is None else h for p, h in zip(captures, sums)]
    begun = {name: n for name, n in known.items() if not (isinstance(n, NumberProxy) and n.name in own)}
    cells: list[Any] = [like(h, begun) for h in (*given, *sums)]
    replaced: set[int] = set()  # what no iteration reads, of another shape at first than after an iteration

    def one_round() -> list[Any]:
        at = index if _is_plain(start, step) else clang.add(clang.mul(index, step), start)
        begin = len(trace.statements)
        results = replay(body, [at, *states])
        program = Program(begin)
        names = outside | {states[k].name for k in active}
        inner = Reverse(active_names(program.bound_symbols, names), {}, (p.name for p in captures))
        inner.cotangents.update((p.name, c) for p, c in zip(captures, cells[len(carried) :]))
        for k, c in zip(carried, cells):
            inner.put(results[k], c)
        program.walk(inner)
        assert not {states[k].name for k in active if k not in carried} & inner.cotangents.keys()
        found: list[Any] = [inner.cotangents.get(states[k].name) for k in carried]
        found += [inner.cotangents[p.name] for p in captures]
        for k, h in zip(carried, found):
            if not own.isdisjoint(_names(_sizes(states[k]))):
                if h is not None or type(iterations) is not int or not sizes.is_known(body.results[k].shape):
                    raise GradientError(UNKNOWN_SHAPES)
                replaced.add(k)
        found = [clang.full_like(c, 0) if h is None else h for h, c in zip(found, cells)]
        return stored([prims.clone(h) if h.name in _names(states) else h for h in found], cells)

    scratch = make_body([index, *cells], one_round)
    statements = live(scratch.bound_symbols, scratch.results, _names(list(scratch.args)))
    read = {p.name for b in statements for p in b.flat_inputs} | {p.name for p in flat_proxies(scratch.results)}
    needed = [k for k, s in enumerate(states) if s.name in read]
    if not own.isdisjoint(read.union(*(_names(_sizes(states[k])) for k in needed))):
        raise GradientError(UNKNOWN_SHAPES)

    forward, stacks = _keeping(loop, iterations, {args[k].name: states[k] for k in needed}, done)

    def unpacked() -> list[Any]:
        for k, stack in zip(needed, stacks):
            _read(stack, index, states[k])
        return []

    lookups = make_body((), unpacked).bound_symbols
    backward = Body(scratch.args, [*lookups, *statements], scratch.results)
    last = done - 1 if type(done) is int else clang.sub(done, 1)
    found = prims.for_loop(last, -1, -1, backward, *given, *sums)
    for k, h in zip(carried, found):
        if k not in replaced:
            reverse.put(inits[k], h)
    for p, h in zip(captures, found[len(carried) :]):
        reverse.cotangents[p.name] = h
    return forward


def _sizes_of_iterations(body: Body, inits: list[Any]) -> tuple[dict[str, Any], set[str]]:
    """What the sizes in the shapes of carried arrays are in an iteration: those that the arrays begin with, if each iteration keeps them, and
    otherwise new ones, whose names are in the second set."""
    trace = current_trace()
    assert trace is not None
    found: dict[str, Any] = {}
    own: set[str] = set()
    for a, r, x in zip(body.args[1:], body.results, inits):
        for n, after, before in zip(a.shape, r.shape, x.shape) if isinstance(a, TensorProxy) else ():
            if not isinstance(n, NumberProxy) or sizes.equal(n, before) is True:
                continue
            if sizes.equal(n, after) is True:
                found.setdefault(n.name, before)
            elif n.name not in own:
                found[n.name] = NumberProxy(trace.make_name("n"), int, bound=n.bound, low=0)
                own.add(n.name)
    return found, {found[name].name for name in own}


def _sizes(x: Any) -> list[NumberProxy]:
    return [n for n in x.shape if isinstance(n, NumberProxy)] if isinstance(x, TensorProxy) else []


def _is_plain(start: Any, step: Any) -> bool:
    """Whether a loop's index is the number of its iteration."""
    return type(start) is int and type(step) is int and (start, step) == (0, 1)


def _names(proxies: Iterable[Any]) -> set[str]:
    return {p.name for p in proxies}


def _stack_dtype(x: Proxy) -> dtypes.DType:
    if isinstance(x, TensorProxy):
        return x.dtype
    assert isinstance(x, NumberProxy)
    return {bool: dtypes.bool8, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}[x.python_type]


def _keeping(
    loop: BoundSymbol, iterations: Any, states: dict[str, Any], done: Any
) -> tuple[list[BoundSymbol], list[TensorProxy]]:
    """The loop with what some carried values are at the beginning of each iteration kept in stacks, and those. ``states`` are placeholders for
    them, whose shapes they have."""
    trace = current_trace()
    assert trace is not None
    start, stop, step, body, *inits = loop.args
    index, *args = body.args
    kept = [a for a in args if a.name in states]
    counts = done is not iterations
    if not kept and not counts:
        return [loop], []
    scope = trace.push_body()
    try:
        blank = [
            prims.empty(
                (iterations, *(x.shape if isinstance(x, TensorProxy) else ())), device=_device(x), dtype=_stack_dtype(x)
            )
            for x in states.values()
        ]
        stacks: list[Any] = [like(b) for b in blank]

        def write() -> list[Any]:
            at = index
            if not _is_plain(start, step):
                at = clang.floor_divide(clang.sub(index, start), step)
            made = []
            for x, stack in zip(kept, stacks):
                value = x if isinstance(x, TensorProxy) else clang.convert(x, stack.dtype)
                made.append(views.update(stack, value, Path([Step(prims.select, (0, at))])))
            return [*stored(made, stacks), *([clang.add(at, 1)] if counts else [])]

        first = make_body((), write)
        counter = [done] if counts else []
        results = [*body.results[: len(args)], *first.results, *body.results[len(args) :]]
        whole = Body([*body.args, *stacks, *counter], [*first.bound_symbols, *body.bound_symbols], results)
        prims.for_loop(start, stop, step, whole, *inits, *blank, *([0] if counts else []))
    finally:
        trace.pop_body()
    return list(scope), [s for s in stacks if isinstance(s, TensorProxy)]


def _device(x: Any) -> Any:
    return x.device if isinstance(x, TensorProxy) else cpu


def _read(stack: TensorProxy, index: NumberProxy, state: Proxy) -> None:
    """Records that ``state`` is what the stack has for an iteration."""
    view = prims.select(stack, 0, index)
    if isinstance(state, TensorProxy):
        _statements()[-1] = prims.select.bind(stack, 0, index, output=state)
    else:
        prims.item(view)
        _statements()[-1] = prims.item.bind(view, output=state)


@rule(prims.while_loop)
@of_bound_symbol
def _while_loop(reverse: Reverse, bsym: BoundSymbol, g: Any) -> None:
    """As the ``for`` loop of as many iterations as a run that only counts finds."""
    test, body, *inits = bsym.args
    trace = current_trace()
    assert trace is not None
    scope = trace.push_body()
    try:
        shared: dict[str, Proxy] = {}
        count = NumberProxy(trace.make_name("n"), int)
        tested, counted = (renamed(b, {}, shared) for b in (test, body))
        n = len(inits)

        def one_more() -> list[Any]:
            return [clang.add(count, 1)]

        more = make_body((), one_more)
        results = [*counted.results[:n], *more.results, *counted.results[n:]]
        counting = Body([*counted.args, count], [*counted.bound_symbols, *more.bound_symbols], results)
        prims.while_loop(Body([*tested.args, count], tested.bound_symbols, tested.results), counting, *inits, 0)
        index = NumberProxy(trace.make_name("i"), int)
        prims.for_loop(0, count, 1, Body([index, *body.args], body.bound_symbols, body.results[:n]), *inits)
    finally:
        trace.pop_body()
    *before, loop = scope
    reverse.replaced[id(bsym)] = [*before, *_pull_loop(reverse, loop, count, g)]
