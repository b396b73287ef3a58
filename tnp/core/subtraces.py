"""Subtraces: the bodies of control flow operations.

A :class:`Body` begins with ``args`` (a loop's index, then the carried values), runs its bound symbols, and ends with
``results``. Other values that it reads are its ``captures``. They are children of the body for
:func:`~tnp.core.symbol.flat_proxies` and :func:`~tnp.core.symbol.map_proxies`, so the inputs of a loop or a branch are
complete, and renaming reaches into it. Names are unique in the whole trace.

Passes work on bodies as on any trace, through :func:`tnp.transforms.subtraces.in_bodies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies, map_proxies
from tnp.core.symbols import is_symbol

__all__ = ["Body", "bodies_of", "carried_with_inits", "is_control_flow", "map_bodies", "with_parts"]


class Body:
    """``results`` of running ``bound_symbols`` on ``args``: proxies and numbers."""

    __slots__ = ("args", "bound_symbols", "captures", "results")

    def __init__(self, args: Sequence[Proxy], bound_symbols: Iterable[BoundSymbol], results: Sequence[Any]) -> None:
        self.args = tuple(args)
        self.bound_symbols = tuple(bound_symbols)
        self.results = tuple(results)
        self.captures = _captures(self.args, self.bound_symbols, self.results)

    def substitute(self, names: dict[str, Any]) -> Body:
        """The body with proxies, except its own arguments, replaced by name."""
        results = map_proxies(lambda p: names.get(p.name, p), self.results)
        return Body(self.args, [b.substitute(names) for b in self.bound_symbols], results)

    @property
    def tags_inside(self) -> frozenset[OpTags]:
        """The tags of all that the body does."""
        return frozenset().union(*(b.tags_inside for b in self.bound_symbols))

    def __tnp_children__(self) -> list[Any]:
        return list(self.captures)

    def __tnp_rebuild__(self, children: list[Any]) -> Body:
        names = {old.name: new for old, new in zip(self.captures, children) if new is not old}
        for old, new in zip(
            self.captures, children
        ):  # sizes that only parts of operations read are not among the captures
            if new is not old and isinstance(old, TensorProxy) and isinstance(new, TensorProxy):
                found = {n.name: m for n, m in zip(old.shape, new.shape) if isinstance(n, NumberProxy) and n is not m}
                names = {**found, **names}
        return self.substitute(names) if names else self

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.args)
        return f"<body of ({names}): {len(self.bound_symbols)} operations>"


def _captures(args: Sequence[Proxy], bsyms: Iterable[BoundSymbol], results: Any) -> tuple[Proxy, ...]:
    """The proxies that a body reads and does not define, in order, once."""
    defined = {p.name for p in args}
    found: dict[str, Proxy] = {}
    outside = {n.name for p in args for n in _sizes(p)}
    for b in bsyms:
        for p in b.flat_inputs:
            if p.name not in defined:
                found.setdefault(p.name, p)
                outside.update(n.name for n in _sizes(p) if n.name not in defined)
        for p in b.flat_outputs:
            if p.name not in found:
                defined.add(p.name)
                # A size is defined by the array that first has it, see the pass that defines sizes; a symbolic one by the prologue.
                own = (n.name for n in _sizes(p) if not is_symbol(n))
                defined.update(name for name in own if name not in found and name not in outside)
    for p in flat_proxies(results):
        if p.name not in defined:
            found.setdefault(p.name, p)
    return tuple(found.values())


def _sizes(p: Proxy) -> list[NumberProxy]:
    return [n for n in p.shape if isinstance(n, NumberProxy)] if isinstance(p, TensorProxy) else []


def is_control_flow(bsym: BoundSymbol) -> bool:
    """Whether a bound symbol is a loop or a branch."""
    return OpTags.CONTROL_FLOW in bsym.sym.tags


def bodies_of(bsym: BoundSymbol) -> list[Body]:
    """The bodies among a bound symbol's arguments."""
    return [a for a in bsym.args if isinstance(a, Body)]


def carried_with_inits(b: BoundSymbol) -> list[tuple[Any, Any]]:
    """The carried values of a loop or a branch, and what each is before."""
    bodies = bodies_of(b)
    return list(zip(b.output, b.args[b.args.index(bodies[-1]) + 1 :])) if bodies else []


def map_bodies(f: Callable[[Body], Body], bsym: BoundSymbol) -> BoundSymbol:
    """A loop or a branch with ``f`` applied to its bodies, claimed as it was; itself if they stay what they are."""
    args = tuple([f(a) if isinstance(a, Body) else a for a in bsym.args])
    if all(a is b for a, b in zip(args, bsym.args)):
        return bsym
    return bsym.remade(bsym.sym, args, bsym.kwargs, bsym.output, bsym.subsymbols, bsym.location)


def with_parts(b: BoundSymbol) -> Iterator[BoundSymbol]:
    """An operation, those that it is decomposed into, and those of its bodies."""
    yield b
    for part in (*b.subsymbols, *(inner for body in bodies_of(b) for inner in body.bound_symbols)):
        yield from with_parts(part)
