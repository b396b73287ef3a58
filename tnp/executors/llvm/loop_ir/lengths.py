"""Lengths that only the running program knows, as symbolic sizes of one region: its code is for any."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import Region

__all__ = ["with_symbols"]

#: what such a length is taken for where code is chosen by sizes
_TYPICAL = 1000


def with_symbols(region: Region) -> Region:
    """The region with a symbol for each length that is unknown; itself, if there is none. Equal lengths are one symbol."""
    relations = symbols.Relations()
    made: dict[str, NumberProxy] = {}

    def symbol_for(n: Any) -> Any:
        if not isinstance(n, NumberProxy) or symbols.value_of(n) is not None:
            return n
        (root, factor), *others = intervals.linear(n).terms.values()
        name = n.name if others or factor != 1 or intervals.linear(n).constant else root.name
        if name not in made:
            made[name] = relations.adopt(NumberProxy(n.name, int, _TYPICAL, n.bound), n.name, low=0)
        return made[name]

    names: dict[str, Proxy] = {}
    for p in _proxies(region):
        if isinstance(p, TensorProxy) and any(symbols.value_of(n) is None for n in p.shape):
            names[p.name] = renamed = p.renamed(p.name)
            renamed.shape = tuple(map(symbol_for, p.shape))
    if not names:
        return region
    lengths = {
        n.name: symbol_for(n)
        for p in _proxies(region)
        if isinstance(p, TensorProxy)
        for n in p.shape
        if n is not symbol_for(n)
    }
    names.update((p.name, lengths[p.name]) for p in _proxies(region) if p.name in lengths)

    def swapped(ps: Any) -> tuple[Any, ...]:
        return tuple(names.get(p.name, p) for p in ps)

    return dataclasses.replace(
        region,
        bound_symbols=tuple(b.substitute(names) for b in region.bound_symbols),
        inputs=swapped(region.inputs),
        outputs=swapped(region.outputs),
    )


def _proxies(region: Region) -> Iterator[Proxy]:
    """The proxies of a region, those inside of its operations included."""

    def inside(b: BoundSymbol) -> Iterator[Proxy]:
        yield from (*b.flat_inputs, *b.flat_outputs)
        for part in b.subsymbols:
            yield from inside(part)

    yield from region.inputs
    for b in region.bound_symbols:
        yield from inside(b)
    yield from region.outputs
