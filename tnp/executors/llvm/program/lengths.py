"""Lengths that only the running program knows, as symbolic sizes of one loop: ``for i in np.flatnonzero(mask)`` is code for any."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, with_parts
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import Region
from tnp.executors.llvm.program.sizes import is_counted

__all__ = ["with_sizes", "with_symbols", "with_symbols_inside"]

#: what such a length is taken for where code is chosen by sizes
_TYPICAL = 1000


def with_symbols(region: Region) -> Region:
    """The region of one loop with a symbol for each length of its inputs that is unknown; itself, if there is none."""
    (bsym,) = region.bound_symbols
    names = _names(bsym, region.inputs)
    if not names:
        return region

    def swapped(ps: Iterable[Proxy]) -> tuple[Any, ...]:
        return tuple(names.get(p.name, p) for p in ps)

    return dataclasses.replace(
        region,
        bound_symbols=(bsym.substitute(names),),
        inputs=swapped(region.inputs),
        outputs=swapped(region.outputs),
    )


def with_symbols_inside(bsym: BoundSymbol) -> BoundSymbol:
    """The same of a loop alone."""
    return bsym.substitute(_names(bsym, bsym.flat_inputs))


def with_sizes(bsym: BoundSymbol) -> BoundSymbol:
    """A loop with the sizes of the present call in the place of symbols."""
    names: dict[str, Any] = {}
    for p in _proxies(bsym, bsym.flat_inputs):
        if isinstance(p, NumberProxy) and symbols.value_of(p) is not None:
            names[p.name] = symbols.value_of(p)
    for p in _proxies(bsym, bsym.flat_inputs):
        if isinstance(p, TensorProxy) and any(isinstance(n, NumberProxy) and n.name in names for n in p.shape):
            names[p.name] = renamed = p.renamed(p.name)
            # A copy, which nothing else refers to yet.
            renamed.shape = tuple(names.get(n.name, n) if isinstance(n, NumberProxy) else n for n in p.shape)
    return bsym.substitute(names)


def _names(bsym: BoundSymbol, inputs: Iterable[Proxy]) -> dict[str, Any]:
    """By name, what stands for the unknown lengths of ``inputs``, the numbers that are surely equal to them, and the arrays that have them."""
    inputs = list(inputs)
    lengths = {n.name: n for p in inputs if isinstance(p, TensorProxy) for n in p.shape if is_counted(n)}
    if not lengths:
        return {}
    sizes = [n for p in inputs for n in (p.shape if isinstance(p, TensorProxy) else (p,)) if isinstance(n, NumberProxy)]
    relations = next((n.relations for n in sizes if n.relations is not None), None) or symbols.Relations()
    names: dict[str, Any] = {}
    for n in lengths.values():
        made = names[n.name] = NumberProxy(n.name, int, _TYPICAL, n.bound, low=0)
        made.relations, made.text = relations, n.name
    for p in _proxies(bsym, inputs):
        if isinstance(p, NumberProxy) and p.python_type is int and p.name not in names and not symbols.is_symbol(p):
            form = intervals.linear(p)
            terms = list(form.terms.values())
            if len(terms) == 1 and not form.constant and terms[0][1] == 1 and terms[0][0].name in lengths:
                names[p.name] = names[terms[0][0].name]
    for p in _proxies(bsym, inputs):
        if isinstance(p, TensorProxy) and any(isinstance(n, NumberProxy) and n.name in names for n in p.shape):
            names[p.name] = renamed = p.renamed(p.name)
            # A copy, which nothing else refers to yet.
            renamed.shape = tuple(names.get(n.name, n) if isinstance(n, NumberProxy) else n for n in p.shape)
    return names


def _proxies(bsym: BoundSymbol, inputs: Iterable[Proxy]) -> Iterator[Proxy]:
    """The proxies of a loop, those inside of it included."""
    yield from inputs
    for b in with_parts(bsym):
        yield from (*b.flat_inputs, *b.flat_outputs)
        for body in bodies_of(b):
            yield from body.args
