"""A region as a graph of array values, with the effect of each shape operation on the positions of elements.

Nothing here has memory yet. A :class:`Node` is an array value: computed element by element, reduced from another's
elements, or an array with some elements replaced. Operations that only rearrange elements become :class:`View` nodes,
which map the position of an element to a position in their source, so they copy nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.graph_utils import reached
from tnp.executors.llvm.index import Index, Var

__all__ = [
    "Graph",
    "Indices",
    "Node",
    "Positions",
    "Product",
    "Reduction",
    "Routine",
    "Scan",
    "Search",
    "Update",
    "View",
    "first_version",
    "is_version_of",
    "needed_for",
    "origin",
    "places_of",
    "variables",
    "with_zeros",
]

Indices = tuple[Index, ...]


class Node:
    """An array value computed element by element: ``op`` of the elements of ``args`` at the same position.

    ``op`` is a prim's name, or ``"input"``, ``"number"``, ``"full"``, ``"iota"``, ``"empty"``, ``"copy"``. ``args`` are
    nodes and Python numbers. ``position`` is its place in the order of the program.
    """

    def __init__(
        self,
        op: str,
        shape: Sequence[int],
        dtype: DType,
        args: Sequence[Any] = (),
        *,
        position: float = 0,
        **params: Any,
    ) -> None:
        self.op = op
        self.shape = tuple(shape)
        self.dtype = dtype
        self.params = params
        self.position = position
        #: the array whose memory the program has it in: its axes lie as in that
        self.layout: Node | None = None
        self._take(args)

    def _take(self, args: Sequence[Any]) -> None:
        self.args = tuple(args)
        #: the nodes that it reads
        self.sources: tuple[Node, ...] = tuple([a for a in self.args if isinstance(a, Node)])

    def become(self, op: str, args: Sequence[Any]) -> None:
        """Makes it another operation with the same elements."""
        self.op = op
        self._take(args)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype.shortname}{list(self.shape)} @{self.position}>"


class View(Node):
    """Elements of ``source`` in other places: ``where`` maps a position in the view to one in the source.

    ``lookups`` are the arrays of indices that this depends on. ``repeats`` says that elements may stand in several places,
    ``whole`` that each stands in one at least.
    """

    def __init__(
        self, source: Node, shape: Sequence[int], where: Callable[[Indices], Indices], *, position: int,
        lookups: Sequence[Node] = (), repeats: bool = False, whole: bool = False,
    ) -> None:  # fmt: skip
        super().__init__("view", shape, source.dtype, (source, *lookups), position=position)
        self.source = source
        self._where = where
        #: positions that were computed before: a plan needs each several times
        self._places: dict[Indices, Indices] = {}
        self.lookups = tuple(lookups)
        self.repeats = repeats or bool(lookups)
        self.whole = whole

    def where(self, at: Indices) -> Indices:
        """The position in the source of the element at a position in the view."""
        place = self._places.get(at)
        if place is None:
            place = self._places[at] = tuple(map(Index.of, self._where(at)))
        return place


class Reduction(Node):
    """``op``, a row of the table of reductions, over the dimensions ``dims`` of its argument."""

    def __init__(
        self, op: str, shape: Sequence[int], dtype: DType, source: Node, dims: Sequence[int], *, position: int
    ) -> None:
        super().__init__(op, shape, dtype, (source,), position=position)
        self.dims = frozenset(dims)


class Product(Reduction):
    """A product of two matrices, as the sum over the last dimension of what ``source`` multiplies: views of both. It is made by
    panels of rows, or as any sum."""

    def __init__(
        self, shape: Sequence[int], dtype: DType, source: Node, *, position: int, in_panels: bool = False
    ) -> None:
        super().__init__("product", shape, dtype, source, (len(source.shape) - 1,), position=position)
        self.in_panels = in_panels


class Search(Reduction):
    """How often ``source``, a bool, is true along its last dimension: from the first element on, and nowhere behind one that is false."""

    def __init__(self, source: Node, *, position: int) -> None:
        super().__init__("search", source.shape[:-1], dtypes.int64, source, (len(source.shape) - 1,), position=position)


class Routine(Node):
    """``op``, one of :data:`~tnp.executors.llvm.routines.ROUTINES`, of the rows or matrices in the last dimensions; ``without_vectors`` if
    nothing needs its :attr:`vectors`."""

    def __init__(self, op: str, source: Node, *, position: int, without_vectors: str | None = None) -> None:
        super().__init__(op, source.shape, source.dtype, (source,), position=position)
        self.without_vectors = without_vectors
        self.vectors: tuple[Node, ...] = ()


class Scan(Node):
    """``op``, the running form of a reduction, of its argument along ``dim``."""

    def __init__(self, op: str, source: Node, dim: int, *, position: int) -> None:
        super().__init__(op, source.shape, source.dtype, (source,), position=position)
        self.dim = dim


class Positions(Node):
    """The positions at which a vector of bools is true, in order: as many as there are."""

    def __init__(self, shape: Sequence[int], mask: Node, *, position: int) -> None:
        super().__init__("positions", shape, dtypes.int64, (mask,), position=position)


class Update(Node):
    """``base`` with the elements that the view ``target`` of it selects replaced by those of ``value``, or those added to them.

    If the target depends on arrays of indices, it is a *scatter*: several elements of the value may go to one place. They do
    in the order of the value's elements; ``ordered_by`` are the arrays of indices by whose layout NumPy chooses another.
    """

    def __init__(
        self, base: Node, target: Node, value: Node, *, position: int, accumulates: bool = False,
        ordered_by: Sequence[Node] = (),
    ) -> None:  # fmt: skip
        self.lookups = target.lookups if isinstance(target, View) else ()
        op = "update" if not self.lookups else "scatter_add" if accumulates else "scatter"
        super().__init__(op, base.shape, base.dtype, (base, value, *self.lookups), position=position)
        self.target = target
        self.accumulates = accumulates
        self.ordered_by = tuple(ordered_by)

    @property
    def base(self) -> Node:
        return self.sources[0]

    @property
    def value(self) -> Node:
        return self.sources[1]

    def start_from(self, copy: Node) -> None:
        """Makes it an update of ``copy``, which has the elements of its base."""
        self._take((copy, *self.args[1:]))

    def where(self, indices: Indices) -> Indices:
        """The position in the base of a position in the value."""
        return origin(self.target, indices)[1]


def origin(node: Node, at: Indices) -> tuple[Node, Indices]:
    """The array that a chain of views starts from, and where an element stands in it."""
    while isinstance(node, View):
        node, at = node.source, node.where(at)
    return node, at


def with_zeros(at: Indices, dims: Sequence[int]) -> Indices:
    """``at`` with a zero inserted at each of ``dims``."""
    rest = iter(at)
    return tuple(Index() if d in dims else next(rest) for d in range(len(at) + len(dims)))


def places_of(node: Node) -> tuple[Node, list[View]]:
    """The array in whose memory an array's elements have places of their own, and the views from there to it, last first."""
    chain: list[View] = []
    while isinstance(node, View) and not node.repeats:
        chain.append(node)
        node = node.source
    return node, chain


def variables(shape: Sequence[int]) -> Indices:
    """A position in an array of that shape, in variables of its own."""
    return tuple(Index.of(Var(f"v{d}", n)) for d, n in enumerate(shape))


def first_version(node: Node) -> Node:
    """What a series of updates, of which ``node`` is the last, started from."""
    while isinstance(node, Update):
        node = node.base
    return node


class Graph:
    """A lowered region: its input nodes, the nodes of its outputs, and all nodes in order of the program."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []
        #: bools that must be false: of an index that is out of bounds, for one. If one is true, nothing may be written yet.
        self.errors: list[Node] = []
        #: the limits of numbers before unused nodes were dropped: what nothing reads raises, too
        self._limits: dict[Node, tuple[int, int]] = {}

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def drop_what_is_unused(self) -> None:
        self._limits = {n: self.limits(n) for n in self.inputs if n.op == "number"}
        used = needed_for([*self.inputs, *self.outputs, *self.errors])
        self.nodes = [n for n in self.nodes if n in used]
        for node in self.nodes:
            if isinstance(node, Routine) and node.without_vectors and used.isdisjoint(node.vectors):
                node.op = node.without_vectors

    def limits(self, number: Node) -> tuple[int, int]:
        """From where to where a Python integer fits the dtypes of the arrays that it meets; NumPy raises for others (``u8 + 300``)."""
        low, high = self._limits.get(number, (-(2**63), 2**63 - 1))
        for node in self.nodes:
            arrays = [a for a in node.sources if a.op != "number"]
            if number in node.sources and arrays and arrays[-1].dtype.kind in "iu":
                least, most = arrays[-1].dtype.limits
                low, high = max(low, least), min(high, most)
        return low, high

    def look_for_errors_first(self) -> None:
        """Moves what :attr:`errors` are computed from before everything else, so that it is known before anything is written.

        What of that is an update of an input is made one of a copy.
        """
        needed = needed_for(self.errors)
        for node in [n for n in self.nodes if n in needed and isinstance(n, Update) and n.base.op == "input"]:
            assert isinstance(node, Update)
            copy = Node("copy", node.shape, node.dtype, (node.base,), position=node.position - 0.5)
            node.start_from(copy)
            needed.add(self.add(copy))
        self.nodes.sort(key=lambda n: (n.op not in ("input", "number"), n not in needed, n.position))
        for position, node in enumerate(self.nodes):
            node.position = position


def needed_for(nodes: Sequence[Node]) -> set[Node]:
    """``nodes``, and what they are computed from."""

    def sources(node: Node) -> Iterable[Node]:
        return (*node.sources, node.target, *node.ordered_by) if isinstance(node, Update) else node.sources

    return reached(nodes, sources)


def is_version_of(node: Node, base: Node) -> bool:
    """Whether ``node`` is what became of ``base`` by updates, or a view of it."""
    while True:
        if isinstance(node, View):
            node = node.source
        elif isinstance(node, Update):
            node = node.base
            if node is base:
                return True
        else:
            return False
