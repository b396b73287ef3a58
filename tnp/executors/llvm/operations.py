"""Questions about the operations of a region: their prims, the views through which they update, whether they compute sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tnp.core import symbols
from tnp.core.proxies import NumberProxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["collected", "is_of_sizes", "path_of"]


def is_of_sizes(bsym: BoundSymbol) -> bool:
    """Whether an operation computes a size of others, which shapes have as well."""
    output = bsym.output
    return isinstance(output, symbols.Extent) or (isinstance(output, NumberProxy) and symbols.is_symbol(output))


def path_of(bsym: BoundSymbol) -> list[BoundSymbol]:
    """The view prims of an update's path: from the array to the part that is written."""
    current, path = bsym.args[0], []
    for b in collected(bsym.subsymbols) if len(bsym.args) > 2 else ():
        if OpTags.VIEW in b.sym.tags and b.flat_inputs and b.args[0] is not None and b.args[0].name == current.name:
            path.append(b)
            current = b.output
    return path


def collected(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    """The prims that operations are made of, in order."""
    for b in bsyms:
        yield from collected(b.subsymbols) if b.subsymbols else (b,)
