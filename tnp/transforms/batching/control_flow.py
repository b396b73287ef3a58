"""Batch rules of branches and loops.

A branch on an unbatched condition stays a branch. For a batched condition both sides run on the whole batch, and each
element selects its own. A carried value is batched if it depends on the batch in any iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import BatchError
from tnp.core.prims.control_flow import stored as memory_of
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, with_parts
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.transforms.autodiff.replay import like, make_body, renamed, stored
from tnp.transforms.batching.walk import Batched, Walk, batch_rule, dtype_of_number
from tnp.transforms.dce import refuses_values

__all__: list[str] = []


def _run_body(walk: Walk, body: Body, values: Sequence[Any]) -> list[Any]:
    """What a body gives for values of its arguments, in the innermost open body."""
    inner = Walk(
        walk.length, {**walk.names, **dict(zip((a.name for a in body.args), values))}, (a.name for a in body.args)
    )
    inner.run(body.bound_symbols)
    return [inner.of(r) for r in body.results]


def _try_body(walk: Walk, body: Body, values: Sequence[Any], found: list[Any]) -> list[Any]:
    """Adds to ``found`` what a body gives; the body that is recorded meanwhile has no results."""
    found.extend(_run_body(walk, body, values))
    return []


def _value(walk: Walk, p: Any, x: Any) -> TensorProxy:
    """A carried value or a result as an array with the batch first."""
    dtype = p.dtype if isinstance(p, TensorProxy) else dtype_of_number(p)
    return walk.array(x, dtype)


def _rewrap(flags: Sequence[bool], values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(Batched(v) if f else v for f, v in zip(flags, values))


@batch_rule(prims.cond)
def _cond(walk: Walk, b: BoundSymbol) -> Any:
    condition, then, otherwise, *inits = b.args
    values = [walk.of(x) for x in inits]
    if walk.is_batched(condition):
        chosen = clang.convert(walk.of(condition).array, dtypes.bool8)
        chosen = clang.reshape(chosen, (walk.length,))
        sides = [
            _side_for_all(walk, b, side, values, takes)
            for side, takes in ((then, chosen), (otherwise, prims.logical_not(chosen)))
        ]
        results = []
        for p, x, y in zip(b.output, *sides):
            first, second = _value(walk, p, x), _value(walk, p, y)
            wide = prims.broadcast_in_dim(chosen, first.shape, (0,))
            results.append(Batched(clang.where(wide, first, second)))
        return tuple(results)
    flags: list[bool] = []
    for side in (then, otherwise):  # on trial: what differs on either side is batched on both
        found: list[Any] = []
        make_body((), partial(_try_body, walk, side, values, found))
        flags = [f or isinstance(x, Batched) for f, x in zip(flags or [False] * len(found), found)]

    def made(side: Body) -> Body:
        def results() -> list[Any]:
            found = _run_body(walk, side, values)
            return [_value(walk, p, x) if f else x for f, p, x in zip(flags, b.output, found)]

        return make_body((), results)

    return _rewrap(flags, prims.cond(walk.of(condition), made(then), made(otherwise)))


def _side_for_all(walk: Walk, b: BoundSymbol, side: Body, values: Sequence[Any], takes: TensorProxy) -> Sequence[Any]:
    """What a side of a branch gives for the whole batch. One that may raise runs only if an element of the batch takes
    it, and the elements that do not take it have the values of the first that does: they raise only what that one
    raises."""
    if not any(
        x.has_tag_inside(OpTags.MAY_RAISE) or any(map(refuses_values, with_parts(x))) for x in side.bound_symbols
    ):
        return _run_body(walk, side, values)

    def results() -> list[Any]:
        inner, given = walk, values
        if walk.length != 0:
            each = prims.iota(walk.length, dtype=dtypes.int64, device=takes.device)
            first = prims.argmax(clang.convert(takes, dtypes.int64), 0)
            source = clang.where(takes, each, prims.broadcast_in_dim(first, (walk.length,), ()))

            def of_takers(x: Any) -> Any:
                return Batched(prims.take(x.array, source, 0)) if isinstance(x, Batched) else x

            read = {p.name: walk.names[p.name] for p in side.captures if p.name in walk.names}
            inner = Walk(walk.length, {**walk.names, **{name: of_takers(x) for name, x in read.items()}})
            given = [of_takers(x) for x in values]
        return [_value(walk, p, x) for p, x in zip(b.output, _run_body(inner, side, given))]

    made = make_body((), results)
    nothing = make_body((), lambda: [clang.full_like(r, 0) for r in made.results])
    return [Batched(x) for x in prims.cond(prims.any(takes, (0,)), made, nothing)]


def _flags_of(
    walk: Walk, args: Sequence[Proxy], inits: Sequence[Any], results_of: Callable[[list[Any]], list[Any]]
) -> list[bool]:
    """Which carried values are batched: those that begin so, and those that become so in some iteration."""
    flags = [isinstance(x, Batched) for x in inits]
    while True:
        found: list[Any] = []

        def trial() -> list[Any]:
            found.extend(
                results_of([Batched(_blank(walk, a)) if f else like(a, walk.names) for f, a in zip(flags, args)])
            )
            return []

        make_body((), trial)
        more = [f or isinstance(x, Batched) for f, x in zip(flags, found)]
        if more == flags:
            return flags
        flags = more


def _blank(walk: Walk, p: Proxy) -> TensorProxy:
    """A new batched value of the kind of ``p``."""
    if isinstance(p, TensorProxy):
        return TensorProxy(like=p, shape=(walk.length, *p.shape), lang=p.lang)
    return TensorProxy(shape=(walk.length,), dtype=dtype_of_number(p))


@batch_rule(prims.for_loop)
def _for_loop(walk: Walk, b: BoundSymbol) -> Any:
    bounds = [walk.of(x) for x in b.args[:3]]
    (body,) = bodies_of(b)
    if any(isinstance(x, Batched) for x in bounds):
        raise BatchError(
            "a loop whose number of iterations differs from element to element of the batch cannot be mapped",
            b.location,
        )
    if len(body.results) > len(body.args) - 1:
        raise BatchError("a loop that is left by break cannot be mapped", b.location)
    _, *args = body.args
    inits = [walk.of(x) for x in b.args[4:]]
    index = NumberProxy(None, int)
    flags = _flags_of(walk, args, inits, lambda values: _run_body(walk, body, [index, *values]))
    carried = [_blank(walk, a) if f else like(a, walk.names) for f, a in zip(flags, args)]
    memory = memory_of(b)

    def keeps_variable(arg: Proxy, now: Proxy, result: Any) -> bool:
        """Whether an iteration may bind a variable to an array of another shape, which its memory would not hold."""
        return (
            isinstance(now, TensorProxy)
            and arg.name not in memory
            and sizes.shapes_equal(now.shape, result.shape) is not True
        )

    def one_round() -> list[Any]:
        found = _run_body(walk, body, [index, *_rewrap(flags, carried)])
        results = [_value(walk, a, x) if f else x for f, a, x in zip(flags, args, found)]
        return [r if keeps_variable(a, c, r) else stored([r], [c])[0] for a, c, r in zip(args, carried, results)]

    made = make_body([index, *carried], one_round)
    begin = [_value(walk, a, x) if f else x for f, a, x in zip(flags, args, inits)]
    return _rewrap(flags, prims.for_loop(*bounds, made, *begin))


@batch_rule(prims.while_loop)
def _while_loop(walk: Walk, b: BoundSymbol) -> Any:
    if walk.is_batched(b.args):
        raise BatchError(
            "a while loop on values that differ from element to element of the batch cannot be mapped", b.location
        )
    shared: dict[str, Proxy] = {}
    return b.sym(*(renamed(x, walk.names, shared) if isinstance(x, Body) else walk.of(x) for x in b.args))
