"""Compression: what arrays have where a mask is true (``x[mask], y[mask]``) is written in one pass over the mask.

As lowered, the positions are written first, and elements are gathered from there. That stays for what is computed of gathered
elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tnp.core import symbols
from tnp.executors.llvm.index import Atom, Index, Part, Var
from tnp.executors.llvm.loop_ir.nodes import (
    Buffer,
    Check,
    Compress,
    Element,
    Entry,
    Kernel,
    Load,
    Nest,
    Position,
    Positions,
    Statement,
    Store,
    statements_of,
)

__all__ = ["compress"]


def compress(kernel: Kernel) -> Kernel:
    """The kernel with :class:`~.nodes.Compress` in the place of copies of elements at the positions of a mask."""
    nests = list(kernel.nests)
    gone: set[Buffer] = set()
    for found in [e for e in nests if isinstance(e, Nest) and isinstance(e.statements[0], Positions)]:
        (positions,) = found.statements
        assert isinstance(positions, Positions)
        mask = positions.value
        if not isinstance(mask, Load) or mask.buffer.offset(mask.at) != Index.of(positions.along):
            continue
        for i in range(nests.index(found) + 1, len(nests)):
            entry = nests[i]
            if isinstance(entry, Nest) and (copies := _copies_in(entry, positions)):
                made = [_compressed(s, positions, mask) for s in copies]
                rest = [s for s in entry.statements if s not in copies]
                nests[i : i + 1] = [Nest((positions.along,), made), *([Nest(entry.loops, rest)] if rest else [])]
                break
            if mask.buffer in _written(entry):
                break
        at = nests.index(found)
        if any(load.buffer is positions.buffer for e in nests for s in _statements(e) for load in s.reads):
            numbers = Position(Index.of(positions.along), positions.buffer.dtype)
            made = Compress(positions.buffer, (Index(),), numbers, mask, positions.along)
            nests[at] = Nest(found.loops, [made])
        else:
            del nests[at]
            gone.add(positions.buffer)
    temporaries = [b for b in kernel.temporaries if b not in gone]
    return kernel if nests == kernel.nests else replace(kernel, nests=nests, temporaries=temporaries)


def _statements(entry: Entry) -> Iterator[Statement]:
    return iter(()) if isinstance(entry, Check) else statements_of(entry)


def _written(entry: Entry) -> set[Buffer]:
    return {s.buffer for s in _statements(entry)}


def _copies_in(nest: Nest, positions: Positions) -> Sequence[Store]:
    """The statements of a nest that copy elements at ``positions`` into new arrays, if they can come first."""
    if len(nest.loops) != 1:
        return []
    (along,) = nest.loops
    copies = [s for s in nest.statements if isinstance(s, Store) and _is_copy(s, along, positions)]
    others = {s.buffer for s in nest.statements if s not in copies}
    assert isinstance(positions.value, Load)
    read = {load.buffer for s in copies for load in s.reads}
    return [] if others & (read | {positions.value.buffer}) else copies


def _is_copy(s: Store, along: Var, positions: Positions) -> bool:
    """Whether a statement writes an element that a mask selects, or its position."""
    value, place = s.value, (Index.of(along),)
    if not isinstance(value, Load) or s.at != place or s.buffer.strides or s.buffer.role not in ("output", "temporary"):
        return False
    if value.buffer is positions.buffer:
        return value.at == place
    offset = value.buffer.offset(value.at)
    if value.buffer.strides or offset.constant != 0 or [*offset.terms.values()] != [value.dtype.itemsize]:
        return False
    (atom,) = offset.terms
    if not isinstance(atom, Element) or not isinstance(atom.x, Load):
        return False
    is_there = atom.x.buffer is positions.buffer and atom.x.at == place
    return is_there and _are_equal(atom.limit, positions.along.limit)


def _are_equal(n: object, m: object) -> bool:
    try:
        return bool(n == m)
    except symbols.Undecided:
        return False


def _compressed(s: Store, positions: Positions, mask: Load) -> Compress:
    assert isinstance(s.value, Load)
    place = (Index.of(positions.along),)
    if s.value.buffer is positions.buffer:
        return Compress(s.buffer, (Index(),), Position(*place, s.buffer.dtype), mask, positions.along)

    def along(i: Index) -> Index:
        """The index with the loop's variable for the position that was looked up."""
        return Index(i.constant, {atom(a): c for a, c in i.terms.items()})

    def atom(a: Atom) -> Atom:
        return positions.along if isinstance(a, Element) else a.mapped(along) if isinstance(a, Part) else a

    value = Load(s.value.buffer, tuple(map(along, s.value.at)))
    return Compress(s.buffer, (Index(),), value, mask, positions.along)
