"""Dead store elimination: where a part of a new array is overwritten before anything reads it, only the rest is made.

``new = u.copy(); new[1:-1, 1:-1] = ...`` copies the border alone, and ``np.zeros_like(u)`` fills it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import cast

from tnp.executors.llvm.bounds import simplest
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.boxes import Box, around, box_of, written_in_parts
from tnp.executors.llvm.loop_ir.dependence import At, conflict, touched
from tnp.executors.llvm.loop_ir.fusion import Renaming
from tnp.executors.llvm.loop_ir.nodes import (
    Buffer,
    Check,
    Constant,
    Entry,
    Expression,
    Kernel,
    Load,
    Nest,
    Reduce,
    Statement,
    Store,
    statements_of,
)
from tnp.executors.llvm.loop_ir.splitting import Substitution

__all__ = ["drop_dead_stores"]

#: arrays of known size with fewer elements are made as a whole
LEAST = 512


def drop_dead_stores(kernel: Kernel) -> Kernel:
    """The kernel without stores of elements that are overwritten."""
    nests, candidates = list(kernel.nests), written_in_parts(kernel)
    for i in reversed(range(len(nests))):
        nest = nests[i]
        if isinstance(nest, Nest) and any(s.buffer in candidates for s in nest.statements):
            _forward_constants(nests, i)
            if not any(isinstance(s, Reduce) for s in nest.statements):
                nests[i : i + 1] = _without_dead(nest, nests[i + 1 :], candidates)
    return replace(kernel, nests=nests)


def _forward_constants(nests: list[Entry], first: int) -> None:
    """Has an update of an array of one constant (``n = np.zeros(...); n[1:-1] += ...``) take that, and not read the array."""
    nest = nests[first]
    for s in nest.statements if isinstance(nest, Nest) else ():
        if not isinstance(s, Store) or not isinstance(s.value, Constant) or not _is_whole(s, cast("Nest", nest)):
            continue
        if sum(o.buffer is s.buffer for o in cast("Nest", nest).statements) > 1:
            continue
        for i in range(first + 1, len(nests)):
            entry = nests[i]
            if isinstance(entry, Check) or s.buffer in touched(statements_of(entry))[1]:
                if isinstance(entry, Nest):
                    nests[i] = Nest(entry.loops, _with_constant(entry.statements, s.buffer, s.value))
                break


def _with_constant(statements: Sequence[Statement], buffer: Buffer, value: Constant) -> list[Statement]:
    """Statements; the first that writes to an array of a constant takes the constant."""
    first = next(i for i, s in enumerate(statements) if s.buffer is buffer)
    is_store = isinstance(statements[first], Store)
    known = _Known(buffer, value, statements[first].at)
    return [known.update(s) if i == first and is_store else s for i, s in enumerate(statements)]


class _Known(Renaming):
    """Replaces loads of one element of an array, the one that a statement writes, by a constant."""

    def __init__(self, buffer: Buffer, value: Constant, place: At) -> None:
        super().__init__({}, {})
        self.buffer = buffer
        self.constant = value
        self.place = place

    def update(self, s: Statement) -> Statement:
        return self._statement(s)

    def _renamed(self, x: Expression) -> Expression:
        is_known = isinstance(x, Load) and x.buffer is self.buffer and x.at == self.place
        return self.constant if is_known else super()._renamed(x)


def _without_dead(nest: Nest, later: Sequence[Entry], candidates: Container[Buffer]) -> list[Entry]:
    """A nest, and what comes in its place. Stores with the same parts left stay together."""
    kept = list(nest.statements)
    parted: dict[tuple[Box, ...], list[Statement]] = {}
    for s in nest.statements:
        if not isinstance(s, Store) or s.buffer not in candidates or _is_small(s.buffer) or not _is_whole(s, nest):
            continue
        if conflict(Nest((), [s]), Nest((), [o for o in nest.statements if o is not s])):
            continue
        parts = next(
            (p for box in _overwritten(s.buffer, later) if (p := around(box, s.buffer.shape)) is not None), None
        )
        if parts is not None:
            kept.remove(s)
            parted.setdefault(tuple(parts), []).append(s)
    made = [_part(nest, statements, box) for boxes, statements in parted.items() for box in boxes]
    return [*([Nest(nest.loops, kept)] if kept else []), *made]


def _is_small(buffer: Buffer) -> bool:
    return isinstance(buffer.bytes, int) and buffer.bytes < LEAST * buffer.dtype.itemsize


def _is_whole(s: Store, nest: Nest) -> bool:
    """Whether a nest stores every element of a buffer, at the position of its variables."""
    box = box_of(s.at)
    is_all = box is not None and all(b == 0 and length == n for (b, length), n in zip(box, s.buffer.shape))
    return is_all and {*nest.loops} == {v for i in s.at for v in i.terms}


def _overwritten(buffer: Buffer, later: Sequence[Entry]) -> Iterator[Box]:
    """The parts of a buffer that are stored before anything reads of it."""
    for entry in later:
        if not isinstance(entry, Nest):
            return
        for s in entry.statements:
            if any(load.buffer is buffer for load in s.reads) or (s.buffer is buffer and not isinstance(s, Store)):
                return
        for s in entry.statements:
            box = box_of(s.at) if s.buffer is buffer else None
            if box is not None:
                yield box


def _part(nest: Nest, statements: Sequence[Statement], box: Box) -> Nest:
    """The stores of the elements of a box."""
    loops: list[Var] = []
    places: dict[Var, Index] = {}
    for v in nest.loops:
        begin, count = next(part for i, part in zip(statements[0].at, box) if v in i.terms)
        own = Var(v.name, simplest(count))
        places[v] = Index.of(own) + Index(begin)
        loops += [own] if own.limit != 1 else []
    return Nest(tuple(loops), Substitution(places).nest(Nest((), [*statements])).statements)
