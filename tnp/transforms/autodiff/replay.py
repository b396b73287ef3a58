"""Replay of subtraces: records the bodies of loops and branches again, with fresh names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tnp.core import languages, prims
from tnp.core.context import current_trace
from tnp.core.errors import GradientError
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.subtraces import Body, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies, map_proxies

__all__ = ["like", "live", "make_body", "renamed", "replay", "rolled"]


def like(x: Any, lengths: dict[str, Any] | None = None) -> Proxy:
    """A new value of the kind of ``x``: what a body has for a carried one. ``lengths`` are other sizes for those in its shape, by name."""
    if isinstance(x, TensorProxy):
        shape = tuple((lengths or {}).get(d.name, d) if isinstance(d, NumberProxy) else d for d in x.shape)
        return TensorProxy(like=x, shape=shape, lang=x.lang, scalar=x.scalar)
    assert is_number(x)
    return NumberProxy(None, x.python_type if isinstance(x, NumberProxy) else type(x))


def make_body(args: Sequence[Proxy], make: Callable[[], Sequence[Any]]) -> Body:
    """A body of what ``make`` records and returns."""
    trace = current_trace()
    assert trace is not None
    trace.push_body()
    try:
        results = make()
    finally:
        scope = trace.pop_body()
    return Body(args, scope, results)


def stored(results: Sequence[Any], args: Sequence[Proxy]) -> list[Any]:
    """The results of an iteration, those that are arrays stored where its arguments are: such carried arrays are memory."""
    return [
        prims.copy_(r, a) if isinstance(a, TensorProxy) and a.ndim and r.name != a.name else r
        for r, a in zip(results, args)
    ]


def rolled(
    start: Any, stop: Any, step: Any, inits: Sequence[Any], make: Callable[..., Sequence[Any]]
) -> tuple[Proxy, ...]:
    """Records a loop: ``make(index, *carried)`` records an iteration and gives what is carried on. Carried arrays are memory."""
    trace = current_trace()
    assert trace is not None
    index = NumberProxy(trace.make_name("i"), int)
    if all(type(x) is int for x in (start, stop, step)) and (iterations := range(start, stop, step)):
        index.low, index.bound = min(iterations[0], iterations[-1]), max(iterations[0], iterations[-1])
    args = [like(x) for x in inits]
    body = make_body([index, *args], lambda: stored(make(index, *args), args))
    results: tuple[Proxy, ...] = prims.for_loop(start, stop, step, body, *inits)
    return results


def live(
    bsyms: Sequence[BoundSymbol], results: Any, memory: Iterable[str] = (), *, effects: bool = False
) -> list[BoundSymbol]:
    """Those bound symbols that ``results`` need, those that store to arrays called as ``memory`` says, and maybe those with effects."""
    needed = {p.name for p in flat_proxies(results)}
    memory = set(memory)
    kept = []
    for b in reversed(bsyms):
        stores = b.operation is prims.copy_ and b.args[1].name in memory
        stores = stores or (effects and b.has_tag_inside(OpTags.EFFECT))
        if stores or any(p.name in needed for p in b.flat_outputs) or not needed.isdisjoint(_sizes_made(b)):
            kept.append(b)
            needed.update(p.name for p in b.flat_inputs)
    return kept[::-1]


def _sizes_made(b: BoundSymbol) -> set[str]:
    """The sizes that the results of an operation are the first to have."""
    known = {n.name for p in b.flat_inputs if isinstance(p, TensorProxy) for n in p.shape if isinstance(n, NumberProxy)}
    made = {n.name for p in b.flat_outputs if isinstance(p, TensorProxy) for n in p.shape if isinstance(n, NumberProxy)}
    return made - known


class _Values:
    """What names of the program that is run again stand for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        #: sizes that begin with the body that is made
        self.own_sizes: set[str] = set()

    def of(self, x: Any) -> Any:
        return map_proxies(lambda p: self.names.get(p.name, p), x)

    def bind(self, old: Any, new: Any) -> None:
        for a, b in zip(flat_proxies(old), flat_proxies(new)):
            if a.name == b.name:
                continue
            self.names[a.name] = b
            if isinstance(a, TensorProxy) and isinstance(b, TensorProxy):
                b.scalar = a.scalar
                self.bind_sizes(a, b)

    def bind_sizes(self, old: Any, new: Any) -> None:
        if isinstance(old, TensorProxy) and isinstance(new, TensorProxy):
            self.names.update(
                (m.name, n) for m, n in zip(old.shape, new.shape) if isinstance(m, NumberProxy) and m is not n
            )


def replay(body: Body, values: Sequence[Any]) -> list[Any]:
    """Records what a body does, given values for its arguments; its results. What it stores to its arguments' memory it only computes."""
    names = _Values({})
    for a, v in zip(body.args, values):
        names.names[a.name] = v
        names.bind_sizes(a, v)
    _run(body.bound_symbols, names, {a.name for a in body.args})
    return [names.of(r) for r in body.results]


def _run(bsyms: Iterable[BoundSymbol], names: _Values, memory: set[str]) -> None:
    trace = current_trace()
    assert trace is not None
    for b in bsyms:
        if b.operation is prims.copy_ and b.args[1].name in memory:
            names.names[b.output.name] = names.of(b.args[0])
            memory.add(b.output.name)
            continue
        if b.operation is prims.size and b.args[0].name in names.names:
            a, dim = names.of(b.args)
            length = a.shape[dim]
            if getattr(length, "name", "") != b.output.name:  # another array stands here, and has its own length
                names.names[b.output.name] = length
                if getattr(length, "name", "") in names.own_sizes:
                    trace.scope.append(prims.size.bind(a, dim, output=length))
                continue
        if OpTags.EFFECT in b.sym.tags and b.operation is not prims.copy_:
            if not b.flat_outputs:
                continue  # an assertion: it has held
            raise GradientError(
                f"{b.sym.qualified_name} in a loop or a branch gives something else each time, and the backward would run it again; "
                "call it before",
                b.location,
            )
        language = next((p.lang for p in b.flat_outputs if isinstance(p, TensorProxy)), languages.current())
        with languages.language_context(language):
            if is_control_flow(b):
                output = b.sym(*_fresh_bodies(b, names))
            else:
                start = len(trace.scope)
                output = b.sym(*names.of(b.args), **names.of(b.kwargs))
                for made in trace.scope[start:]:
                    made.location = b.location
        names.bind(b.output, output)


def _fresh_bodies(b: BoundSymbol, names: _Values) -> list[Any]:
    """The arguments of a loop or a branch, its bodies with names of their own."""
    made: list[Any] = []
    shared: dict[str, Proxy] = {}
    for a in b.args:
        made.append(renamed(a, names.names, shared) if isinstance(a, Body) else names.of(a))
    return made


def renamed(body: Body, names: dict[str, Any], shared: dict[str, Proxy] | None = None) -> Body:
    """A body that does the same with other names. ``shared`` are those of arguments that it shares with other bodies."""
    shared = {} if shared is None else shared
    trace = current_trace()
    assert trace is not None
    arguments = {a.name for a in body.args}
    own: dict[str, Any] = {}
    for b in body.bound_symbols:
        if b.operation is prims.size and b.args[0].name in arguments:
            n = b.output
            own[n.name] = shared.setdefault(n.name, NumberProxy(trace.make_name("n"), int, bound=n.bound, low=0))
    args = [shared.setdefault(a.name, like(a, {**names, **own})) for a in body.args]
    inner = _Values({**names, **own, **{a.name: n for a, n in zip(body.args, args)}})
    inner.own_sizes = {n.name for n in own.values()}

    def make() -> list[Any]:
        _run(body.bound_symbols, inner, set())
        return [inner.of(r) for r in body.results]

    return make_body(args, make)
