"""What depends on what in a program, as far as derivatives go."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["add_dependents", "add_sources", "is_differentiable"]


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


def add_sources(bsyms: Sequence[BoundSymbol], names: set[str], detached: Container[str]) -> None:
    """Adds to ``names`` those of all values that one of them depends on."""
    for b in reversed(bsyms):
        if OpTags.DETACHES in b.sym.tags:
            continue
        if all(p.name not in names or p.name in detached for p in b.flat_outputs):
            continue
        if b.subsymbols:
            add_sources(b.subsymbols, names, detached)
        else:
            names.update(p.name for p in b.flat_inputs if is_differentiable(p))
