"""The order of a backward program: what is computed again, and gradients of weights, late.

What a backward program computes again it needs at one place or two. Computed at its begin, all of it would have memory
until then, as if it had been saved; so each such statement comes before the first one that reads it. There it can be
part of the region that the cotangents go through anyway. For that a product which only makes a result (a weight's
gradient) waits for the next product on the way back: what both it and the cotangents read is then computed in the
region before, with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tnp.core.proxies import Proxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["schedule_recomputation"]


def schedule_recomputation(again: Sequence[BoundSymbol], walk: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """The statements ``again``, which may come anywhere before what reads them, and those of the ``walk`` back, in order."""
    moving = {id(b) for b in again} | {id(b) for b in walk if _is_view(b)}
    return _sunk([*again, *_after_the_next(walk)], lambda b: id(b) in moving)


def _sunk(statements: Iterable[BoundSymbol], may_move: Callable[[BoundSymbol], bool]) -> list[BoundSymbol]:
    """``statements``, those that may move each before the first one that reads it."""
    waiting: dict[str, BoundSymbol] = {}
    found: list[BoundSymbol] = []

    def emit(b: BoundSymbol) -> None:
        for p in b.flat_outputs:
            waiting.pop(p.name, None)
        for p in b.flat_inputs:
            if p.name in waiting:
                emit(waiting[p.name])
        found.append(b)

    for b in statements:
        if may_move(b) and b.flat_outputs:
            waiting.update((p.name, b) for p in b.flat_outputs)
        else:
            emit(b)
    while waiting:
        emit(next(iter(waiting.values())))
    return found


def _after_the_next(walk: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """``walk``, in which a product that no other one reads stands before the second of the others that comes behind it."""
    feeding = _feeding(walk)
    found: list[BoundSymbol] = []
    before: list[BoundSymbol] = []
    behind: list[BoundSymbol] = []
    delayed: set[str] = set()
    for b in walk:
        is_product = _is_product(b)
        if (is_product and _names(b.flat_outputs).isdisjoint(feeding)) or not _names(b.flat_inputs).isdisjoint(delayed):
            behind.append(b)
            delayed |= _names(b.flat_outputs)
            continue
        if is_product:
            found += before
            before, behind = behind, []
        found.append(b)
    return [*found, *before, *behind]


def _feeding(walk: Sequence[BoundSymbol]) -> set[str]:
    """The values that products are computed of."""
    found: set[str] = set()
    for b in reversed(walk):
        if _is_product(b) or not _names(b.flat_outputs).isdisjoint(found):
            found |= _names(b.flat_inputs)
    return found


def _names(values: Iterable[Proxy]) -> set[str]:
    return {p.name for p in values}


def _is_view(b: BoundSymbol) -> bool:
    if b.subsymbols:
        return all(map(_is_view, b.subsymbols))
    return OpTags.VIEW in b.sym.tags and OpTags.EFFECT not in b.sym.tags


def _is_product(b: BoundSymbol) -> bool:
    """Whether a statement is more than elementwise operations, reductions and moving elements about; one that draws or has an effect
    stays where it is."""
    if b.has_tag_inside(OpTags.EFFECT) or b.has_tag_inside(OpTags.RANDOM) or b.has_tag_inside(OpTags.UPDATE):
        return False
    if b.subsymbols:
        return any(map(_is_product, b.subsymbols))
    return bool(b.flat_inputs) and not any(t in b.sym.tags for t in _LIGHT)


_LIGHT = (OpTags.ELEMENTWISE, OpTags.VIEW, OpTags.REDUCTION, OpTags.FACTORY, OpTags.SHAPE_OP, OpTags.CONVERSION)
