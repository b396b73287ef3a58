"""Dead store elimination: an array of which a part is overwritten before anything reads it is only made around that part.

``new = u.copy(); new[1:-1, 1:-1] = ...`` copies the border alone, and ``np.zeros_like(u)`` fills it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from tnp.executors.llvm.bounds import simplest
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.dependence import conflict
from tnp.executors.llvm.loop_ir.nodes import Buffer, Entry, Kernel, Nest, Reduce, Store
from tnp.executors.llvm.loop_ir.splitting import Substitution

__all__ = ["drop_dead_stores"]

#: the elements of an array of known size from which on it pays to make it in parts
LEAST = 512

#: a begin and a length a dimension
Box = tuple[tuple[Any, Any], ...]


def drop_dead_stores(kernel: Kernel) -> Kernel:
    """The kernel without stores of elements that are overwritten."""
    nests = list(kernel.nests)
    for i in reversed(range(len(nests))):
        nest = nests[i]
        if isinstance(nest, Nest) and not any(isinstance(s, Reduce) for s in nest.statements):
            nests[i : i + 1] = _without_dead(nest, nests[i + 1 :])
    return replace(kernel, nests=nests)


def _without_dead(nest: Nest, later: Sequence[Entry]) -> list[Entry]:
    """A nest, and what comes in its place."""
    kept = list(nest.statements)
    parts: list[Entry] = []
    for s in nest.statements:
        if not isinstance(s, Store) or not _is_whole(s, nest) or _is_small(s.buffer):
            continue
        if conflict(Nest((), [s]), Nest((), [o for o in nest.statements if o is not s])):
            continue
        parted = next((p for p in map(partial(_around, s), _overwritten(s.buffer, later)) if p is not None), None)
        if parted is not None:
            kept.remove(s)
            parts += [_part(nest, s, box) for box in parted]
    return [*([Nest(nest.loops, kept)] if kept else []), *parts]


def _is_small(buffer: Buffer) -> bool:
    return isinstance(buffer.bytes, int) and buffer.bytes < LEAST * buffer.dtype.itemsize


def _is_whole(s: Store, nest: Nest) -> bool:
    """Whether a nest stores every element of a buffer, at the position of its variables."""
    places = [(_range(i), n) for i, n in zip(s.at, s.buffer.shape)]
    return all(place is not None and place[0] == 0 and place[1] == n for place, n in places) and (
        {*nest.loops} == {v for i in s.at for v in i.terms}
    )


def _overwritten(buffer: Buffer, later: Sequence[Entry]) -> Iterator[Box]:
    """The parts of a buffer that are stored before anything reads of it."""
    for entry in later:
        if not isinstance(entry, Nest):
            return
        for s in entry.statements:
            if any(load.buffer is buffer for load in s.reads) or (s.buffer is buffer and not isinstance(s, Store)):
                return
        for s in entry.statements:
            box = tuple(map(_range, s.at)) if s.buffer is buffer else ()
            if box and None not in box:
                yield cast("Box", box)


def _range(i: Index) -> tuple[Any, Any] | None:
    """Where an index goes from one number to the next: from where on, and how far."""
    (atom, factor), *others = i.terms.items() or [(None, 1)]
    if others or factor != 1 or not (atom is None or isinstance(atom, Var)):
        return None
    return i.constant, 1 if atom is None else atom.limit


def _around(s: Store, inside: Box) -> list[Box] | None:
    """What is around a part of a buffer, as boxes; ``None`` if their widths are not known, so that they may be large."""
    ahead: list[tuple[Any, Any]] = []
    found: list[Box] = []
    shape = s.buffer.shape
    for d, ((begin, length), n) in enumerate(zip(inside, shape)):
        after = simplest(n - (begin + length))
        if not isinstance(begin, int) or not isinstance(after, int):
            return None
        behind = [(0, m) for m in shape[d + 1 :]]
        found += [
            (*ahead, (first, count), *behind) for first, count in ((0, begin), (begin + length, after)) if count > 0
        ]
        ahead.append((begin, length))
    return found


def _part(nest: Nest, s: Store, box: Box) -> Nest:
    """The store of the elements of a box."""
    loops, places = [], {}
    for v in nest.loops:
        begin, count = next(part for i, part in zip(s.at, box) if v in i.terms)
        own = Var(v.name, simplest(count))
        places[v] = Index.of(own) + Index(simplest(begin))
        loops += [own] if own.limit != 1 else []
    return Nest(tuple(loops), Substitution(places).nest(Nest((), [s])).statements)
