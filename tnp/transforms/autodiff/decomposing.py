"""Decomposition of compositions whose inner values derivatives need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tnp.core.proxies import Proxy
from tnp.core.symbol import BoundSymbol

__all__ = ["decomposed"]


def decomposed(
    program: Sequence[BoundSymbol], needed: Iterable[Proxy], replaced: dict[int, list[BoundSymbol]]
) -> list[BoundSymbol]:
    """The program with compositions decomposed until all ``needed`` values are defined outside of any."""
    names = {p.name for p in needed}
    return [s for b in program for s in _shown(b, names, replaced)]


def _shown(bsym: BoundSymbol, names: set[str], replaced: dict[int, list[BoundSymbol]]) -> list[BoundSymbol]:
    if id(bsym) in replaced:
        for made in replaced[id(bsym)]:
            made.location = bsym.location
        return [s for made in replaced[id(bsym)] for s in _shown(made, names, replaced)]
    if not bsym.subsymbols or not _hides(bsym, names, replaced):
        return [bsym]
    for sub in bsym.subsymbols:
        if sub.location is None:
            sub.location = bsym.location
    return [s for sub in bsym.subsymbols for s in _shown(sub, names, replaced)]


def _hides(bsym: BoundSymbol, names: set[str], replaced: dict[int, list[BoundSymbol]]) -> bool:
    outputs = {p.name for p in bsym.flat_outputs}
    return any(
        id(s) in replaced or any(p.name in names and p.name not in outputs for p in s.flat_outputs)
        for s in _inside(bsym)
    )


def _inside(bsym: BoundSymbol) -> Iterable[BoundSymbol]:
    for s in bsym.subsymbols:
        yield s
        yield from _inside(s)
