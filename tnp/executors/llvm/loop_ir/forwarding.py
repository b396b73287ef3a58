"""Store forwarding: what reads an array that is made box by box is computed in the same boxes.

Of ``lap = np.zeros_like(u); lap[1:-1, 1:-1] = ...; new = u + dt * lap`` the border and the inside of ``new`` are computed
with those of ``lap``, which then takes no memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from tnp.core import symbols
from tnp.executors.llvm.bounds import simplest
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.loop_ir.boxes import Box, around, box_of, written_in_parts
from tnp.executors.llvm.loop_ir.dependence import At, conflict, conflicts, disjoint, may_share_a_point, touched
from tnp.executors.llvm.loop_ir.nodes import (
    Buffer,
    Check,
    Entry,
    Kernel,
    Nest,
    Statement,
    Store,
    cost_of,
    statements_of,
    subexpressions,
)
from tnp.executors.llvm.loop_ir.splitting import Substitution

__all__ = ["forward_stores"]

#: parts of the expressions of a nest that is written once for each box, at most
MOST_PARTS = 100
#: additions for each element of a row that it pays to compute in a box without vectors
SPARED = 1
#: elements of a row of unknown length, and of a vector
USUAL, VECTOR = 128, 8


def forward_stores(kernel: Kernel) -> Kernel:
    """The kernel whose nests go over the boxes of the arrays that they read."""
    nests, candidates = kernel.nests, written_in_parts(kernel).intersection(kernel.temporaries)
    for nest in kernel.nests if candidates else ():
        if isinstance(nest, Nest) and nest.loops and all(isinstance(s, Store) for s in nest.statements):
            nests = _forwarded(nests, nest, candidates) or nests
    return replace(kernel, nests=nests)


def _forwarded(entries: Sequence[Entry], reader: Nest, temporaries: set[Buffer]) -> list[Entry] | None:
    """The entries with what ``reader`` does in the nests that make an array which it reads; ``None`` if that cannot be."""
    end = next(i for i, e in enumerate(entries) if e is reader)
    made = {b: at for b, at in _read_by_point(reader).items() if b in temporaries and not _is_read(b, entries, reader)}
    entries = [part for i, e in enumerate(entries) for part in (_taken_apart(e, made) if i < end else [e])]
    end = next(i for i, e in enumerate(entries) if e is reader)
    statements = [[] if isinstance(e, Check) else statements_of(e) for e in entries]
    writers = {b: [i for i, some in enumerate(statements[:end]) if any(s.buffer is b for s in some)] for b in made}
    first = next((b for b, found in writers.items() if len(found) > 1), None)
    if first is None or sum(1 for s in reader.statements for _ in subexpressions(s.value)) > MOST_PARTS:
        return None
    together = {b for b, found in writers.items() if found == writers[first]}
    nests = [entries[i] for i in writers[first]]
    places = [_place(e, together) for e in nests]
    between = [e for i, e in enumerate(entries[:end]) if i > writers[first][0] and i not in writers[first]]
    if not _is_all([at for at in places if at is not None], len(places), first) or any(
        conflict(e, reader) for e in between
    ):
        return None
    if any(_meet(statements_of(e), reader.statements) - together for e in nests):
        return None
    if _is_slow(reader, made[first], [box for at in places if at is not None and (box := box_of(at)) is not None]):
        return None
    found = list(entries)
    for i, at in zip(writers[first], places):
        nest = found[i]
        assert isinstance(nest, Nest) and at is not None
        own = {v: place for index, place in zip(made[first], at) for v in index.terms if isinstance(v, Var)}
        more = Substitution(own).nest(Nest((), reader.statements)).statements
        if not all(may_share_a_point(a, b) for a in nest.statements for b in more):
            return None
        found[i] = Nest(nest.loops, [*nest.statements, *more])
    del found[end]
    return found


def _is_slow(reader: Nest, at: At, boxes: Sequence[Box]) -> bool:
    """Whether a nest costs too much in boxes that are thin along its innermost loop: it is computed there element by element."""
    inner = reader.loops[-1]
    dim = next(d for d, i in enumerate(at) if inner in i.terms)
    thin = sum(n for box in boxes if isinstance(n := box[dim][1], int) and n < VECTOR)
    row = symbols.value_of(symbols.number_of(inner.limit)) or USUAL
    return thin * cost_of(reader.statements) > SPARED * row


def _taken_apart(entry: Entry, buffers: Container[Buffer]) -> list[Entry]:
    """A nest that stores to several places of one buffer, as a nest for each of its statements, if their order does not matter."""
    if not isinstance(entry, Nest) or not all(isinstance(s, Store) for s in entry.statements):
        return [entry]
    written = [s.buffer for s in entry.statements if s.buffer in buffers]
    pairs = combinations(entry.statements, 2)
    if len(set(written)) == len(written) or not all(disjoint(a, b) for pair in pairs for _, a, b in conflicts(*pair)):
        return [entry]
    return [Nest(entry.loops, [s]) for s in entry.statements]


def _read_by_point(reader: Nest) -> Mapping[Buffer, At]:
    """The arrays that a nest reads only at its own point: at each point, the element there."""
    found: dict[Buffer, At] = {}
    others = set[Buffer]()
    for load in (load for s in reader.statements for load in s.reads):
        box = box_of(load.at)
        is_all = box is not None and all(b == 0 and m == n for (b, m), n in zip(box, load.buffer.shape))
        if not is_all or found.setdefault(load.buffer, load.at) != load.at:
            others.add(load.buffer)
        elif {v for i in load.at for v in i.terms} != {*reader.loops}:
            others.add(load.buffer)
    return {b: at for b, at in found.items() if b not in others}


def _is_read(buffer: Buffer, entries: Iterable[Entry], but: Nest) -> bool:
    """Whether anything else reads a buffer."""
    others = [e for e in entries if e is not but and not isinstance(e, Check)]
    return any(buffer in touched(statements_of(e))[0] for e in others)


def _place(entry: Entry, buffers: set[Buffer]) -> At | None:
    """Where a nest stores to some buffers, if it is at the same place to all, and once to each."""
    if not isinstance(entry, Nest):
        return None
    stores = [s for s in entry.statements if s.buffer in buffers]
    is_plain = len(stores) == len(buffers) and all(isinstance(s, Store) and s.at == stores[0].at for s in stores)
    return stores[0].at if is_plain else None


def _is_all(places: Sequence[At], count: int, buffer: Buffer) -> bool:
    """Whether positions go through a buffer, each element once: through a box and what is around it, or through parts that were put together."""
    boxes = [box for box in map(box_of, places) if box is not None]
    if len(boxes) != count:
        return False
    return any(_is_around([b for b in boxes if b is not inside], inside, buffer) for inside in boxes) or any(
        _is_along(boxes, d, buffer) for d in range(len(buffer.shape))
    )


def _is_around(boxes: Sequence[Box], inside: Box, buffer: Buffer) -> bool:
    found = around(inside, buffer.shape)
    return found is not None and len(found) == len(boxes) and all(box in boxes for box in found)


def _is_along(boxes: Sequence[Box], dim: int, buffer: Buffer) -> bool:
    """Whether boxes lie one behind the other along a dimension, in their order."""
    end: Any = 0
    for box in boxes:
        (begin, length), whole = box[dim], [box[d] == (0, simplest(n)) for d, n in enumerate(buffer.shape) if d != dim]
        if not (begin == end and all(whole)):
            return False
        end = simplest(begin + length)
    return bool(end == simplest(buffer.shape[dim]))


def _meet(some: Sequence[Statement], others: Sequence[Statement]) -> set[Buffer]:
    """The buffers that decide the order of statements."""
    (read, written), (reads, writes) = touched(some), touched(others)
    return (written & (reads | writes)) | (read & writes)
