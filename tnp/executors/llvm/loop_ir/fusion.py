"""Row sharing: nests over the same outer loops are fused into one nest, which finishes a row before it begins the next.

A row stays in the cache from nest to nest. A temporary that only the fused nest reads shrinks to one row, or to a register. A
nest may share loops with an earlier one if every dependence between them stays within an iteration (:mod:`.dependence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tnp.executors.llvm.index import Atom, Index, Part, Var
from tnp.executors.llvm.loop_ir.dependence import conflict, may_share_a_point, may_share_loops, touched
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Apply,
    Buffer,
    Check,
    Convert,
    Element,
    Entry,
    Expression,
    InPlace,
    Kernel,
    Load,
    Nest,
    Panels,
    Position,
    Positions,
    Reduce,
    Rows,
    Scan,
    Scatter,
    Search,
    Statement,
    Store,
    statements_of,
)

__all__ = ["Renaming", "renamed", "share_rows"]

#: entries that a nest is tried to share loops with
TRIED = 8


def share_rows(kernel: Kernel) -> Kernel:
    """The kernel with rows shared."""
    done: list[Entry] = []
    for nest in kernel.nests:
        if isinstance(nest, Nest):
            _add(done, nest)
        else:
            done.append(nest)
    return _contracted(replace(kernel, nests=[_merged(e) for e in done]))


def _add(done: list[Entry], nest: Nest) -> None:
    """Adds a nest to the last one that it can share loops with, or behind all."""
    for i in range(len(done) - 1, max(len(done) - TRIED, 0) - 1, -1):
        earlier = done[i]
        if isinstance(earlier, Check):
            break
        count = _shared_loops(earlier, nest)
        if count:
            if isinstance(earlier, Nest):
                done[i] = earlier = Rows(earlier.loops[:count], [Nest(earlier.loops[count:], earlier.statements)])
            names = dict(zip(nest.loops, earlier.loops))
            earlier.nests.append(Renaming(names, {}).nest(Nest(nest.loops[count:], nest.statements)))
            return
        if conflict(earlier, nest):
            break
    done.append(nest)


def _shared_loops(earlier: Nest | Rows, nest: Nest) -> int:
    """How many outer loops a nest can share with an earlier one, and gains from."""
    if any(isinstance(s, ORDERED) for s in (*statements_of(earlier), *nest.statements)):
        return 0
    most = max(len(earlier.loops), len(nest.loops))
    counts = (
        [len(earlier.loops)] if isinstance(earlier, Rows) else [n for n in range(len(earlier.loops), 0, -1) if n < most]
    )
    counts = [n for n in counts if n <= len(nest.loops)]
    if not counts or not set().union(*touched(statements_of(earlier))) & set().union(*touched(nest.statements)):
        return 0
    return next((n for n in counts if _may_share(earlier, nest, n)), 0)


def _may_share(earlier: Nest | Rows, nest: Nest, count: int) -> bool:
    outer, own = earlier.loops[:count], nest.loops[:count]
    reduced = {*nest.reduced, *(v for s in statements_of(earlier) if isinstance(s, Reduce) for v in s.over)}
    if any(not (v.limit == w.limit) for v, w in zip(outer, own)) or reduced & {*outer, *own}:
        return False
    names = dict(zip(own, outer))
    return all(may_share_loops(a, b, outer, names) for a in statements_of(earlier) for b in nest.statements)


# Loops inside of the shared ones


def _merged(entry: Entry) -> Entry:
    """The same with inner loops as one that go over the same points, and read of each other what the same point writes."""
    if not isinstance(entry, Rows):
        return entry
    first = 1 if isinstance(entry, Panels) else 0  # a product is alone
    nests: list[Nest] = entry.nests[:first]
    for nest in entry.nests[first:]:
        for i in range(len(nests) - 1, first - 1, -1):
            joined = _joined(nests[i], nest)
            if joined is not None:
                nests[i] = joined
                break
            if conflict(nests[i], nest):
                nests.append(nest)
                break
        else:
            nests.append(nest)
    return type(entry)(entry.loops, nests)


def _joined(earlier: Nest, nest: Nest) -> Nest | None:
    if len(earlier.loops) != len(nest.loops):
        return None
    if any(not (v.limit == w.limit) for v, w in zip(earlier.loops, nest.loops)):
        return None
    if any(n.reduced and len(n.reduced) != len(n.loops) for n in (earlier, nest)):
        return None
    renamed = Renaming(dict(zip(nest.loops, earlier.loops)), {}).nest(nest)
    if not all(may_share_a_point(a, b) for a in earlier.statements for b in renamed.statements):
        return None
    return Nest(earlier.loops, [*earlier.statements, *renamed.statements])


# Temporaries


def _contracted(kernel: Kernel) -> Kernel:
    """The kernel with temporaries of one row, and of one point."""
    users: dict[Buffer, list[Entry]] = {}
    for entry in kernel.nests:
        for buffer in {entry.buffer} if isinstance(entry, Check) else set().union(*touched(statements_of(entry))):
            users.setdefault(buffer, []).append(entry)
    small: dict[Buffer, tuple[Buffer, list[int]]] = {}
    for buffer in kernel.temporaries:
        (entry, *others) = users[buffer]
        if all(isinstance(e, (Nest, Rows)) and _is_of_points(buffer, e) for e in users[buffer]):
            small[buffer] = Buffer(buffer.name, buffer.dtype, (), "point"), []
            continue
        if others or not isinstance(entry, Rows):
            continue
        outer = {Index(), *(Index.of(v) for v in entry.loops)}  # a dimension of one element has no loop
        writer, *updates = (s for s in statements_of(entry) if s.buffer is buffer)
        if updates:
            continue
        kept = [d for d, i in enumerate(writer.at) if i not in outer]
        small[buffer] = Buffer(buffer.name, buffer.dtype, tuple(buffer.shape[d] for d in kept), "row"), kept
    renaming = Renaming({}, small)
    nests = [
        type(e)(e.loops, [renaming.nest(n) for n in e.nests])
        if isinstance(e, Rows)
        else renaming.nest(e)
        if isinstance(e, Nest)
        else e
        for e in kernel.nests
    ]
    temporaries = [small[b][0] if b in small else b for b in kernel.temporaries]
    return replace(kernel, temporaries=temporaries, nests=nests)


def _is_of_points(buffer: Buffer, entry: Nest | Rows) -> bool:
    """Whether each nest that uses a buffer reads what it writes there itself, at the same point."""
    for nest in entry.nests if isinstance(entry, Rows) else [entry]:
        users = [s for s in nest.statements if s.buffer is buffer or any(x.buffer is buffer for x in s.reads)]
        if not users:
            continue
        (writer, *readers) = users
        if not isinstance(writer, Store) or writer.buffer is not buffer or any(s.buffer is buffer for s in readers):
            return False
        if any(x.buffer is buffer for x in writer.reads):
            return False
        if any(x.at != writer.at for s in readers for x in s.reads if x.buffer is buffer):
            return False
    return True


def renamed(entry: Nest | Rows, names: Mapping[Var, Var]) -> Nest | Rows:
    """The same with other loop variables."""
    renaming = Renaming(names, {})
    if isinstance(entry, Nest):
        return renaming.nest(entry)
    return type(entry)(tuple(map(renaming._var, entry.loops)), [renaming.nest(n) for n in entry.nests])


class Renaming:
    """Nests with other variables, and with other buffers, which have some dimensions of those that they stand for."""

    def __init__(self, names: Mapping[Var, Var], buffers: Mapping[Buffer, tuple[Buffer, Sequence[int]]]) -> None:
        self.names = names
        self.buffers = buffers
        #: an expression is a graph, whose parts are shared; the parts stay alive with it
        self._made: dict[int, tuple[Expression, Expression]] = {}

    def nest(self, nest: Nest) -> Nest:
        return Nest(tuple(map(self._var, nest.loops)), [self._statement(s) for s in nest.statements])

    def _var(self, v: Var) -> Var:
        return self.names.get(v, v)

    def _at(self, buffer: Buffer, at: tuple[Index, ...]) -> tuple[Buffer, tuple[Index, ...]]:
        new, kept = self.buffers.get(buffer, (buffer, range(len(at))))
        return new, tuple(self._index(at[d]) for d in kept)

    def _index(self, i: Index) -> Index:
        return Index(i.constant, {self._atom(atom): c for atom, c in i.terms.items()})

    def _atom(self, atom: Atom) -> Atom:
        if isinstance(atom, Var):
            return self._var(atom)
        if isinstance(atom, Element):
            return Element(self._expression(atom.x), atom.limit)
        assert isinstance(atom, Part)
        return atom.mapped(self._index)

    def _statement(self, s: Statement) -> Statement:
        value = self._expression(s.value)
        buffer, at = self._at(s.buffer, s.at)
        loops: dict[str, Any] = {"along": self._var(s.along)} if isinstance(s, (Scan, Positions, Search)) else {}
        if isinstance(s, (Reduce, Scatter, InPlace)):
            name = "over" if isinstance(s, Reduce) else "ordered" if isinstance(s, Scatter) else "inner"
            loops[name] = tuple(map(self._var, getattr(s, name)))
        return replace(s, buffer=buffer, at=at, value=value, **loops)

    def _expression(self, x: Expression) -> Expression:
        if id(x) not in self._made:
            self._made[id(x)] = x, self._renamed(x)
        return self._made[id(x)][1]

    def _renamed(self, x: Expression) -> Expression:
        if isinstance(x, Load):
            return Load(*self._at(x.buffer, x.at))
        if isinstance(x, Apply):
            return Apply(x.op, tuple(map(self._expression, x.args)), x.of, x.dtype)
        if isinstance(x, Convert):
            return Convert(self._expression(x.x), x.dtype, x.bits)
        return Position(self._index(x.index), x.dtype) if isinstance(x, Position) else x
