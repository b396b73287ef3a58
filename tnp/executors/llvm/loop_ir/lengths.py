"""Lengths that only the running program knows, as symbolic sizes of one region: its code is for any."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.executors.base import Region
from tnp.executors.llvm.operations import collected

__all__ = ["with_symbols", "without_sizes"]

#: what such a length is taken for where code is chosen by sizes
_TYPICAL = 1000


def with_symbols(region: Region) -> Region:
    """The region with a symbol for each length that is unknown; itself, if there is none. Equal lengths are one symbol."""
    arrays = [p for p in _proxies(region) if isinstance(p, TensorProxy)]
    numbers = [n for p in arrays for n in p.shape if isinstance(n, NumberProxy)]
    unknown = {n.name: n for n in numbers if symbols.value_of(n) is None}
    if not unknown:
        return region
    relations = next((n.relations for n in numbers if n.relations is not None), None) or symbols.Relations()
    made: dict[str, NumberProxy] = {}
    names: dict[str, Proxy] = {}
    for n in unknown.values():
        form = intervals.linear(n)
        roots = [root.name for root, factor in form.terms.values() if factor == 1 and not form.constant]
        name = roots[0] if len(roots) == len(form.terms) == 1 else n.name
        if name not in made:
            made[name] = symbol = NumberProxy(n.name, int, _TYPICAL, n.bound, low=0)
            symbol.relations, symbol.text = relations, n.name
        names[n.name] = made[name]
    for p in arrays:
        if any(isinstance(n, NumberProxy) and n.name in unknown for n in p.shape):
            names[p.name] = renamed = p.renamed(p.name)
            # A copy, which nothing else refers to yet.
            renamed.shape = tuple(names.get(n.name, n) if isinstance(n, NumberProxy) else n for n in p.shape)

    def swapped(ps: Any) -> tuple[Any, ...]:
        return tuple(names.get(p.name, p) for p in ps)

    return dataclasses.replace(
        region,
        bound_symbols=tuple(b.substitute(names) for b in region.bound_symbols),
        inputs=swapped(region.inputs),
        outputs=swapped(region.outputs),
    )


def without_sizes(bsyms: Sequence[BoundSymbol], inputs: Sequence[Proxy]) -> list[Proxy]:
    """The inputs of a region without the numbers that follow from the sizes of its arrays, and that no element is computed of."""
    dims = {n.name for p in inputs if isinstance(p, TensorProxy) for n in p.shape if isinstance(n, NumberProxy)}
    elements = {x.name for b in collected(bsyms) if OpTags.VIEW not in b.sym.tags for x in _numbers(b)}

    def follows(p: Proxy) -> bool:
        return symbols.is_symbol(p) and p.name not in elements and all(n.name in dims for n in symbols.roots(p))

    return [p for p in inputs if not follows(p)]


def _numbers(b: BoundSymbol) -> Iterator[Proxy]:
    """The numbers that a prim takes by themselves, not as a part of a shape."""
    yield from (x for x in (*b.args, *b.kwargs.values()) if isinstance(x, NumberProxy))


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
