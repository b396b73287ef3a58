"""The kernels of a region, and the statements of each, on positions, without memory layouts yet.

A kernel runs over a *space*: the shape of its values, with some dimensions possibly reduced. Elementwise values have no
memory: each kernel that needs them recomputes them. The region's outputs, reductions that another kernel reads, and
values that would be recomputed too often have memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tnp.core.dtypes import DType
from tnp.executors.triton.graph import Graph, Node
from tnp.executors.triton.index import ZERO, Coordinate, Index, Indices, Looked, offset_of, row_major, within
from tnp.executors.triton.scalars import literal

__all__ = ["Kernel", "Statement", "schedule"]

#: statements in a kernel beyond which what is computed in several places gets memory
STATEMENT_LIMIT = 400


@dataclass
class Statement:
    """``name = …`` in a kernel. ``kind`` says of what; ``level``: how many passes over the reduced dimensions come before."""

    name: str
    kind: str
    dtype: DType
    #: names of other statements, and Python numbers
    operands: tuple[Any, ...] = ()
    node: Node | None = None
    #: where a load, or a position, is
    at: Indices = ()
    #: conditions under which a load may look at memory
    guards: tuple[str, ...] = ()
    #: of ``x`` and ``r``, those on which the value depends
    depends: frozenset[str] = frozenset()
    level: int = 0


class _NotHere(Exception):
    """A value cannot be had in a kernel."""


class _NeedsMemory(Exception):
    """A node is computed in too many places."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.node = node


@dataclass
class Kernel:
    """One kernel: its space, what it reduces and stores, and the statements for that."""

    position: int
    shape: tuple[int, ...]
    reduced: tuple[int, ...]
    reductions: list[Node] = field(default_factory=list)
    #: node → where in it the element of a coordinate of the space is
    stores: dict[Node, Indices] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    #: node stored → the name of its value
    stored: dict[Node, str] = field(default_factory=dict)

    @property
    def coordinates(self) -> Indices:
        """The position in the space."""
        return tuple(Index.of(Coordinate(d, n)) for d, n in enumerate(self.shape))

    @property
    def row(self) -> Indices:
        """The position in the dimensions that are kept."""
        return tuple(c for d, c in enumerate(self.coordinates) if d not in self.reduced)

    def place(self, node: Node) -> Indices | None:
        """Where in ``node`` the kernel's elements (or rows) are, if it has as many in that order; else ``None``."""
        kept = [n for d, n in enumerate(self.shape) if d not in self.reduced]
        spaces = [(self.shape, self.coordinates), (kept, self.row)]
        for shape, at in spaces if self.reduced else spaces[:1]:
            long = [c for n, c in zip(shape, at) if n != 1]
            if [n for n in shape if n != 1] == [n for n in node.shape if n != 1]:
                rest = iter(long)
                return tuple(ZERO if n == 1 else next(rest) for n in node.shape)
        return None


class _Body:
    """Makes a kernel's statements. ``made_in``: in which kernel each node with memory is made."""

    def __init__(self, kernel: Kernel, graph: Graph, made_in: dict[Node, int]) -> None:
        self.kernel = kernel
        self.inputs = set(graph.inputs)
        self.made_in = made_in
        self.read: set[Node] = set()
        self.statements: dict[str, Statement] = {}
        self.known: dict[Any, str] = {}
        self.places: dict[Node, int] = {}
        for node in kernel.reductions:
            source = self.value(node.sources[0], kernel.coordinates)
            self.reduce(node, source)
        for node, at in kernel.stores.items():
            kernel.stored[node] = self.value(node, at)
        kernel.statements = list(self.statements.values())

    def add(self, key: Any, kind: str, dtype: DType, operands: Sequence[Any] = (), **fields: Any) -> str:
        if key in self.known:
            return self.known[key]
        name = f"v{len(self.statements)}"
        at = fields.get("at", ())
        used = [self.statements[x] for x in (*operands, *fields.get("guards", ())) if isinstance(x, str)]
        depends = {d for s in used for d in s.depends}
        for index in (i for top in at for i in top.walk()):
            for atom, _ in index.terms:
                if isinstance(atom, Coordinate):
                    depends.add("r" if atom.dim in self.kernel.reduced else "x")
                elif isinstance(atom, Looked):
                    used.append(self.statements[atom.name])
                    depends |= self.statements[atom.name].depends
        level = max((s.level for s in used), default=0)
        made = Statement(name, kind, dtype, tuple(operands), depends=frozenset(depends), level=level, **fields)
        self.statements[name] = made
        self.known[key] = name
        return name

    def reduce(self, node: Node, source: str) -> None:
        same = (node.parameters["name"], source)
        if same in self.known:  # the mean, and the mean of the variance
            self.known[node, "reduced"] = self.known[same]
            return
        name = self.known[node, "reduced"] = self.add(same, "reduce", node.dtype, (source,), node=node)
        made = self.statements[name]
        made.depends = frozenset("x") if self.kernel.row else frozenset()
        made.level += 1

    def value(self, node: Any, at: Indices, guards: tuple[str, ...] = ()) -> str:
        """The name of the value of ``node`` at a position. Raises :class:`_NotHere` if this kernel cannot have it."""
        if node.op == "view":
            return self.value(node.sources[0], node.where(at), guards)
        if node in self.inputs or node in self.made_in:
            if node.op == "number":
                return self.add(node, "number", node.dtype, node=node)
            if node in self.kernel.reductions:
                if at == self.kernel.row and not guards:
                    return self.known[node, "reduced"]
                raise _NotHere
            if self.made_in.get(node, -1) < self.kernel.position:
                self.read.add(node)
                return self.add((node, at, guards), "load", node.dtype, node=node, at=at, guards=guards)
            if self.made_in[node] > self.kernel.position or node not in self.kernel.stores:
                raise _NotHere
        if node.op == "reduce":
            raise _NotHere
        key = (node, at, guards)
        if key in self.known:
            return self.known[key]
        self.places[node] = self.places.get(node, 0) + 1
        if len(self.statements) > STATEMENT_LIMIT:
            most = max(self.places, key=lambda n: (self.places[n], n.size))
            if self.places[most] > 2:
                raise _NeedsMemory(most)
        return self.compute(node, at, guards, key)

    def compute(self, node: Node, at: Indices, guards: tuple[str, ...], key: Any) -> str:
        if node.op == "iota":
            where = (at[0] * node.parameters["step"] + node.parameters["start"],)
            return self.add(key, "position", node.dtype, at=where)
        if node.op == "random":
            where = (offset_of(at, row_major(node.shape)),)
            return self.add(key, "random", node.dtype, node=node, at=where)
        if node.op == "scan":
            if at != self.kernel.coordinates or self.kernel.reduced != (node.parameters["dim"],) or guards:
                raise _NotHere
            return self.add(key, "scan", node.dtype, (self.value(node.sources[0], at),), node=node, at=at)
        if node.op == "select":
            return self.select(node, at, guards, key)
        if node.op == "lookup":
            source, *indices = node.sources
            assert node.where is not None
            places, rest = node.where(at)
            looked: list[Index] = []
            missing = [d for d, i in enumerate(rest) if i is None]
            for dim, index, place in zip(missing, indices, places):
                value = self.value(index, place, guards)
                size = source.shape[dim]
                name = self.add((value, size, guards), "lookup", index.dtype, (value, size), guards=guards)
                looked.append(Index.of(Looked(name, size)))
            found = iter(looked)
            return self.value(source, tuple(next(found) if i is None else i for i in rest), guards)
        if node.op == "convert_element_type" and not isinstance(node.sources[0], Node):
            return self.constant(node.sources[0], node.dtype)
        if node.op == "copy" or (node.op == "convert_element_type" and node.sources[0].dtype is node.dtype):
            return self.value(node.sources[0], at, guards)
        operand = next(
            (s.dtype for s in reversed(node.sources) if isinstance(s, Node) and s.op != "number"), node.dtype
        )
        operands = [self.operand(s, at, guards, operand) for s in node.sources]
        return self.add(key, node.op, node.dtype, operands, node=node)

    def constant(self, value: Any, dtype: DType) -> str:
        return self.add(("constant", literal(value, dtype, "")), "constant", dtype, (value,))

    def operand(self, source: Any, at: Indices, guards: tuple[str, ...], dtype: DType) -> str:
        """An argument of an elementwise operation on arrays of ``dtype``: numbers are converted to it."""
        if not isinstance(source, Node):
            return self.constant(source, dtype)
        if source.op == "number":
            name = self.value(source, at, guards)
            return self.add((name, dtype), "convert_element_type", dtype, (name,))
        return self.value(source, at, guards)

    def select(self, node: Node, at: Indices, guards: tuple[str, ...], key: Any) -> str:
        dim, split = node.parameters["dim"], node.parameters["split"]
        first, second = node.sources
        ahead = (*at[:dim], within(at[dim], first.shape[dim]), *at[dim + 1 :])
        behind = (*at[:dim], within(at[dim] + -split, second.shape[dim]), *at[dim + 1 :])
        if at[dim].high < split:
            return self.value(first, at, guards)
        if at[dim].low >= split:
            return self.value(second, behind, guards)
        before = self.add((at[dim], split, "before"), "before", node.dtype, (split,), at=(at[dim],))
        after = self.add((at[dim], split, "after"), "after", node.dtype, (split,), at=(at[dim],))
        a = self.value(first, ahead, (*guards, before))
        b = self.value(second, behind, (*guards, after))
        return self.add(key, "choose", node.dtype, (before, a, b))


def schedule(graph: Graph) -> list[Kernel]:
    """The kernels of a region, in the order in which they run."""
    with_memory = {*graph.outputs, *(n for n in graph.nodes if n.op == "scan")}
    while True:
        try:
            return _schedule(graph, with_memory)
        except _NeedsMemory as found:
            with_memory.add(found.node)


def _schedule(graph: Graph, with_memory: set[Node]) -> list[Kernel]:
    kernels: list[Kernel] = []
    made_in: dict[Node, int] = {}
    for node in graph.nodes:
        if node in made_in or (node.op != "reduce" and node not in with_memory):
            continue
        stored = node in with_memory
        for kernel in reversed(kernels):
            made = _joined(kernel, node, stored, graph, made_in)
            if made is not None:
                kernels[kernel.position] = made
                break
        else:
            shape = node.sources[0].shape if node.op == "reduce" else node.shape
            along = {"reduce": "dims", "scan": "dim"}.get(node.op)
            dims = node.parameters[along] if along else ()
            kernel = Kernel(len(kernels), shape, dims if isinstance(dims, tuple) else (dims,))
            made = _joined(kernel, node, stored, graph, made_in)
            assert made is not None
            kernels.append(made)
        made_in[node] = made.position
    read = {node for kernel in kernels for node in _Body(kernel, graph, made_in).read}
    for kernel in kernels:
        kernel.stores.update({node: kernel.row for node in kernel.reductions if node in read})
        _Body(kernel, graph, made_in)
    return kernels


def _joined(kernel: Kernel, node: Node, stored: bool, graph: Graph, made_in: dict[Node, int]) -> Kernel | None:
    """``kernel`` with ``node`` computed in it as well; ``None`` if it cannot be."""
    made = Kernel(kernel.position, kernel.shape, kernel.reduced, [*kernel.reductions], dict(kernel.stores))
    if node.op == "reduce":
        if node.sources[0].shape != kernel.shape or node.parameters["dims"] != kernel.reduced:
            return None
        made.reductions.append(node)
    place = made.place(node) if node.op != "reduce" else made.row
    if stored:
        if place is None:
            return None
        made.stores[node] = place
    try:
        _Body(made, graph, made_in | {node: made.position})
    except _NotHere:
        return None
    return made
