"""Derivative activity: which values of a program depend on which, differentiably."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.prims.control_flow import carrying_bodies
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, carried_with_inits, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["add_dependents", "add_sources", "is_differentiable", "is_empty", "sources_of_round"]


def is_empty(p: Proxy) -> bool:
    """Whether a value has no elements: nothing depends on it, and zeros for it would be multiplied by what may be infinite."""
    return isinstance(p, TensorProxy) and any(isinstance(n, int) and n == 0 for n in p.shape)


def is_differentiable(p: Any) -> bool:
    """Whether a value has derivatives: floating and complex arrays and numbers."""
    if isinstance(p, TensorProxy):
        return p.dtype.kind in "fc"
    return isinstance(p, NumberProxy) and p.python_type in (float, complex)


def add_dependents(
    bsyms: Iterable[BoundSymbol], names: set[str], detached: Container[str], without_derivative: Container[Any] = ()
) -> None:
    """Adds to ``names`` those of all differentiable values that depend on one of them, those inside of compositions included.

    Nothing goes through values that are ``detached``, nor through operations whose ids are ``without_derivative``.
    """
    for b in bsyms:
        if b.sym.id in without_derivative or OpTags.DETACHES in b.sym.tags:
            continue
        if all(p.name not in names for p in b.flat_inputs):
            continue
        if b.subsymbols:
            add_dependents(b.subsymbols, names, detached, without_derivative)
            continue
        # A carried value of a loop depends on whatever its body depends on: to say which is not worth the walks.
        names.update(p.name for p in b.flat_outputs if is_differentiable(p) and p.name not in detached)


def add_sources(
    bsyms: Sequence[BoundSymbol], names: set[str], detached: Container[str], without_derivative: Container[Any] = ()
) -> None:
    """Adds to ``names`` those of all values that one of them depends on, of what loops and branches carry those that matter.

    Nothing goes through values that are ``detached``, nor through operations whose ids are ``without_derivative``.
    """
    for b in reversed(bsyms):
        if b.sym.id in without_derivative or OpTags.DETACHES in b.sym.tags:
            continue
        if all(p.name not in names or p.name in detached for p in b.flat_outputs):
            continue
        if is_control_flow(b):
            names.update(p.name for p in _sources_of_block(b, names, detached, without_derivative))
        elif b.subsymbols:
            add_sources(b.subsymbols, names, detached, without_derivative)
        else:
            names.update(p.name for p in b.flat_inputs if is_differentiable(p))


def _sources_of_block(
    b: BoundSymbol, names: set[str], detached: Container[str], without_derivative: Container[Any]
) -> list[Proxy]:
    """The values around a loop or a branch that those of its results depend on which are among ``names``."""
    wanted = {k for k, p in enumerate(b.output) if p.name in names}
    found: list[Any] = []
    for body in carrying_bodies(b):
        args = body.args[1:] if b.sym is prims.for_loop else body.args
        inside = sources_of_round(body, args, wanted, detached, without_derivative)
        found += [p for p in body.captures if p.name in inside]
    found += [init for k, (_, init) in enumerate(carried_with_inits(b)) if k in wanted]
    return [p for p in found if is_differentiable(p)]


def sources_of_round(
    body: Body,
    args: Sequence[Proxy],
    wanted: set[int],
    detached: Container[str] = (),
    without_derivative: Container[Any] = (),
) -> set[str]:
    """The names of what the ``wanted`` ones of a body's results depend on. Adds to ``wanted`` those of its ``args``, the carried values,
    that they depend on: as results of an earlier iteration of a loop, or as what a branch begins with."""
    inside: set[str] = set()
    while True:
        results = [body.results[k] for k in wanted]
        inside.update(r.name for r in results if isinstance(r, Proxy))
        add_sources(body.bound_symbols, inside, detached, without_derivative)
        more = {k for k, a in enumerate(args) if a.name in inside and is_differentiable(a)}
        if more <= wanted:
            return inside
        wanted |= more
