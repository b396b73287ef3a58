"""Statements, and the loop nests that contain them.

Each stored value is a *statement*: a loop over its domain, which are the dimensions of its elements, including those
that a reduction sums over. Dimensions of length 1 have no loop. Statements share loop variables by level and length, so
their positions can be compared directly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes
from tnp.executors.llvm import scalars, scatters
from tnp.executors.llvm.graph import Indices, Node, Product, Reduction, Scan, Update, View
from tnp.executors.llvm.index import Index, Var
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.materialization import Plan

__all__ = ["Access", "Group", "Nest", "Statement", "cost_of", "operands_at", "vector_length"]


#: what it costs to multiply and add in a product of matrices (additions)
PRODUCT_COST = 0.1


class Access:
    """A read or write of a stored node's memory at a position."""

    __slots__ = ("at", "node", "writes")

    def __init__(self, node: Node, at: Indices, writes: bool) -> None:
        self.node = node
        self.at = at
        self.writes = writes


class Statement:
    """A stored node and the loops that compute it.

    ``loops`` are the variables of its domain, outermost first, ``reduced`` those that a reduction runs over, and ``ordered``
    those whose iterations may write to one place, so that their order counts. ``at`` is the position in the domain.
    """

    def __init__(self, node: Node, plan: Plan) -> None:
        self.node = node
        if isinstance(node, Reduction):
            self.domain = node.sources[0].shape
            dims = node.dims
        else:
            self.domain = node.value.shape if isinstance(node, Update) else node.shape
            dims = frozenset((node.dim,)) if isinstance(node, Scan) else frozenset()
        self.loops: list[Var] = []
        self.reduced: set[Var] = set()
        self.ordered: set[Var] = set()
        ordered = scatters.ordered_dims(node) if isinstance(node, Update) else ()
        backwards = scatters.backwards(node, plan.strides) if isinstance(node, Update) else ()
        at = [Index()] * len(self.domain)
        for d in plan.order_of_axes(node, self.domain):
            if self.domain[d] == 1:
                continue
            var = plan.var(len(self.loops), self.domain[d])
            self.loops.append(var)
            at[d] = Index.of(var) * -1 + (self.domain[d] - 1) if d in backwards else Index.of(var)
            if d in dims:
                self.reduced.add(var)
            if d in ordered:
                self.ordered.add(var)
        #: no loop of it is reduced or has an order
        self.is_elementwise = not self.reduced and not self.ordered
        self.at = tuple(at)
        if isinstance(node, Reduction):
            store_at = tuple(i for d, i in enumerate(at) if d not in dims)
        else:
            store_at = node.where(self.at) if isinstance(node, Update) else self.at
        self.store = Access(node, store_at, True)
        self.loads, self.visits = plan.trace(self.reads())
        #: the memories of all accesses, once they are asked for
        self.memories: set[Node] | None = None

    @property
    def parallel(self) -> list[Var]:
        """The loops outside the first that is reduced, or whose order counts. A product of matrices is made row by row."""
        if isinstance(self.node, Product):
            return self.loops[:1]
        found: list[Var] = []
        for var in self.loops:
            if var in self.reduced or var in self.ordered:
                break
            found.append(var)
        return found

    @property
    def reduces_last(self) -> bool:
        """Whether no loop that is not reduced stands inside one that is."""
        return not any(var in self.reduced for var in self.loops[: len(self.loops) - len(self.reduced)])

    @property
    def body(self) -> tuple[Node, Indices]:
        """What is computed at each point, and its position: the node whose value is stored or accumulated."""
        if isinstance(self.node, Reduction | Scan):
            return self.node.sources[0], self.at
        if isinstance(self.node, Update):
            return self.node.value, self.at
        return self.node, self.at

    def reads(self) -> list[tuple[Node, Indices]]:
        """What an iteration starts from: nodes at positions."""
        first, at = self.body
        found = [(first, at)] if first is not self.node else list(operands_at(self.node, at))
        return found + [(lookup.node, lookup.at) for i in self.store.at for lookup in i.lookups()]

    def accesses(self) -> Iterator[Access]:
        yield self.store
        yield from self.loads

    def iterations(self) -> int:
        return math.prod(v.limit for v in self.loops)

    def cost(self) -> float:
        """What an iteration costs, in additions."""
        if isinstance(self.node, Product):
            return PRODUCT_COST
        own = 1.0 if isinstance(self.node, Reduction | Scan | Update) else scalars.cost(self.node.op, self.node.dtype)
        inner = [cost_of(n) for n, _ in self.visits]
        total = own + len(self.loads) + sum(inner)
        # Tests keep one bit of each element: whether 10⁵ indices are in bounds takes 15 µs, a + b * 2 of as many takes 63.
        return total / 4 if self.node.op in ("any", "all") and max(inner, default=0) <= 1 else total


def operands_at(node: Node, at: Indices) -> Iterator[tuple[Node, Indices]]:
    """The nodes whose elements an element of ``node`` is computed from, and where those stand."""
    if isinstance(node, View):
        yield node.source, node.where(at)
    else:
        for source in node.sources:
            yield source, at if source.shape else ()


def cost_of(node: Node) -> float:
    if node.op in ("view", "full", "empty", "number", "copy", "input"):
        return 0
    return 1 if node.op == "iota" else scalars.cost(node.op, _operand_dtype(node))


def _operand_dtype(node: Node) -> dtypes.DType:
    return node.sources[-1].dtype if node.sources else node.dtype


class Group:
    """Statements that share all loops inside a nest's outer ones, and so one body."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements

    def inner(self, depth: int) -> list[Var]:
        """The loops inside the ``depth`` outer ones."""
        return self.statements[0].loops[depth:]


class Nest:
    """Loops over ``outer``, and in each of their iterations the groups, one after the other."""

    #: whether its outermost loop may be that of other nests, too (:mod:`sliding`, :mod:`following`)
    shares_rows = True

    def __init__(self, statement: Statement) -> None:
        self.outer: list[Var] = statement.parallel
        self.groups = [Group([statement])]
        #: values of which a few rows are kept only, see :mod:`sliding`
        self.windows: dict[Node, Any] = {}

    def parts(self) -> list[Nest]:
        """The nests that this one consists of."""
        return [self]

    def statements(self) -> Iterator[Statement]:
        for group in self.groups:
            yield from group.statements


def vector_length(statements: Sequence[Statement]) -> int:
    """Elements of a vector: the widest type in memory says how many are in one."""
    widest = 1
    for s in statements:
        for access in s.accesses():
            dtype = access.node.dtype
            widest = max(widest, dtype.itemsize // (2 if dtype.kind == "c" else 1))
    return engine.target().vector_bits // (8 * widest)
