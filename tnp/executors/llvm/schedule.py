"""From a graph of values to loop nests: what is stored, where, and which loops are shared.

1. **What is stored.** Outputs, reductions and updates are; so is a value that would otherwise be computed again so often
   that memory traffic is cheaper, or that reads memory which is written before the value is used. Everything else is
   computed where it is needed and never has memory.
2. **Statements.** Each stored value is a loop over its domain: the dimensions of the elements that it goes through, those
   that a reduction runs over included. Dimensions of length 1 are no loops.
3. **Nests.** Statements share their outer loops as deep as the order of reads and writes allows (:func:`_shared_depth`),
   and if they share all of them, their bodies: then a value goes from one to the next in a register.
4. **Memory.** A value that only its own nest reads has memory for one iteration of the shared loops.

Loop variables are shared between statements by level and length, so positions can be compared as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tnp.core import dtypes
from tnp.executors.llvm import scalars, scatters
from tnp.executors.llvm.graph import Graph, Indices, Node, Reduction, Scan, Update, View, first_version
from tnp.executors.llvm.index import Index, Var, disjoint
from tnp.executors.llvm.layout import Strides, axis_order

__all__ = ["Access", "Group", "Nest", "Schedule", "Statement", "schedule"]

#: a value is stored when computing it where it is used would cost this much more an element than once (additions)
RECOMPUTE = 8
#: operations between an element of what is stored and that of what it is computed from
DEPTH = 60
#: statements of different inner loops share outer ones if what one outer iteration touches has at most this many bytes
INNER_BYTES = 256 * 1024
#: so many outer iterations are enough for any number of threads
OUTER_ITERATIONS = 8


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

    def __init__(self, node: Node, plan: _Plan) -> None:
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
        self.at = tuple(at)
        if isinstance(node, Reduction):
            store_at = tuple(i for d, i in enumerate(at) if d not in dims)
        else:
            store_at = node.where(self.at) if isinstance(node, Update) else self.at
        self.store = Access(node, store_at, True)
        self.loads, self.visits = plan.trace(self.reads())

    @property
    def parallel(self) -> list[Var]:
        """The loops outside the first that is reduced, or whose order counts."""
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
        own = 1.0 if isinstance(self.node, Reduction | Scan | Update) else scalars.cost(self.node.op, self.node.dtype)
        inner = [_cost(n) for n, _ in self.visits]
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


def _cost(node: Node) -> float:
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


class Schedule:
    """The nests in order, the nodes that are stored and in whose memory, and which memory is one iteration's only."""

    def __init__(self, nests: list[Nest], plan: _Plan) -> None:
        self.nests = nests
        self.stored = plan.stored
        self.memory_of = plan.memory_of
        #: stored nodes that live in registers
        self.registers: set[Node] = set()
        #: memory of one nest: owner → the nest and the dimensions that its outer loops fix
        self.scratch: dict[Node, tuple[Nest, frozenset[int]]] = {}
        #: memory of the rows that a stage of a nest needs of the stage before
        self.windows: dict[Node, Any] = {}

    def describe(self) -> list[str]:
        """The nests as text: their loops, and inside those, what is computed."""
        lines = []
        for nest in self.nests:
            outer = " x ".join(str(v.limit) for v in nest.outer) or "once"
            lines.append(f"loops {outer}")
            for group in nest.groups:
                inner = " x ".join(str(v.limit) for v in group.inner(len(nest.outer)))
                what = ", ".join(self._what(s.node) for s in group.statements)
                lines.append(f"  {f'loops {inner}: ' if inner else ''}{what}")
        return lines

    def _what(self, node: Node) -> str:
        kind = f"{node.op} {node.dtype.shortname}[{', '.join(map(str, node.shape))}]"
        where = self.memory_of(node)
        if where in self.registers:
            return f"{kind} in a register"
        if where in self.scratch:
            return f"{kind} for one iteration"
        if where in self.windows:
            return f"{kind}, {self.windows[where].length} rows at a time"
        return f"{kind} in an argument" if where.op == "input" else kind


# 1. What is stored


class _Plan:
    def __init__(self, graph: Graph, strides: dict[Node, Strides]) -> None:
        self.graph = graph
        self.strides = strides
        self.variables: dict[tuple[int, int], Var] = {}
        self.stored: set[Node] = {n for n in graph.nodes if n.op == "input"}
        #: the node whose memory a stored node has
        self.owner: dict[Node, Node] = {}
        self.consumers: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            for source in node.sources:
                self.consumers.setdefault(source, []).append(node)

    def order_of_axes(self, node: Node, domain: Sequence[int]) -> Sequence[int]:
        """The axes of a statement's domain as they lie in memory, outermost first."""
        if isinstance(node, Update):
            if node.lookups:
                return scatters.axes(node, self.strides)
            node = node.target
        elif isinstance(node, Reduction):
            (node,) = node.sources
        strides = self.strides.get(node)
        return range(len(domain)) if strides is None else axis_order(domain, [strides])

    def trace(self, starts: Sequence[tuple[Node, Indices]]) -> tuple[list[Access], list[tuple[Node, Indices]]]:
        """What computing nodes at positions reads from memory, and what it computes on the way."""
        loads: list[Access] = []
        visits: list[tuple[Node, Indices]] = []
        seen: set[tuple[Node, Indices]] = set()
        stack = list(starts)
        while stack:
            node, at = stack.pop()
            if (node, at) in seen:
                continue
            seen.add((node, at))
            stack += [(lookup.node, lookup.at) for i in at for lookup in i.lookups()]
            if node in self.stored:
                loads.append(Access(node, at, False))
            else:
                visits.append((node, at))
                stack += operands_at(node, at)
        return loads, visits

    def var(self, level: int, limit: int) -> Var:
        return self.variables.setdefault((level, limit), Var(f"i{level}", limit))

    def statements(self) -> list[Statement]:
        roots = sorted(
            (n for n in self.stored if n.op not in ("input", "empty")),
            key=lambda n: n.position,
        )
        return [Statement(n, self) for n in roots]

    def store_what_must_be(self) -> None:
        self.stored.update(self.graph.outputs)
        for node in self.graph.nodes:
            if isinstance(node, Reduction):
                self.stored.add(node)
            elif isinstance(node, Scan):
                self.stored.add(node)
            elif isinstance(node, Update):
                self.stored.update((node, node.base))
        self.stored.update(self.graph.errors)
        written = {first_version(n) for n in self.graph.outputs}
        for node in list(self.graph.nodes):
            if isinstance(node, Update):
                self._place(node, written)

    def _place(self, update: Update, written: set[Node]) -> None:
        """Writes an update to its base's memory if nobody wants the base as it was; stores what reads that memory and is
        used later. Of inputs only those in ``written`` may be."""
        base = update.base
        later = [c for c in self.consumers.get(base, ()) if c.position > update.position]
        if base in self.graph.outputs or later or (base.op == "input" and base not in written):
            copy = self.graph.add(Node("copy", base.shape, base.dtype, (base,), position=update.position - 0.5))
            update.start_from(copy)
            self.stored.add(copy)
            self.owner[update] = copy
            return
        self.owner[update] = base
        reads: dict[Node, bool] = {base: True}

        def reads_base(node: Node) -> bool:
            if node not in reads:
                reads[node] = node not in self.stored and any(map(reads_base, node.sources))
            return reads[node]

        for node in self.graph.nodes:
            if node is base or node.position > update.position or not reads_base(node):
                continue
            if any(c.position > update.position for c in self.consumers.get(node, ())):
                self.stored.add(node)

    def store_what_updates_would_overwrite(self) -> None:
        """An update whose value or indices are computed from other places of the memory that it writes takes them from a
        copy; a scatter even from the same ones, which an iteration before may have written."""
        for statement in self.statements():
            update = statement.node
            if not isinstance(update, Update):
                continue
            memory = self.memory_of(update)
            if not any(self.memory_of(load.node) is memory for load in statement.loads):
                continue
            for node, at in statement.reads():
                for load in self.trace([(node, at)])[0]:
                    if self.memory_of(load.node) is not memory or disjoint(load.at, statement.store.at):
                        continue
                    if statement.ordered or load.at != statement.store.at:
                        self.stored.add(node)
                        break

    def store_what_is_scattered(self) -> None:
        """What is scattered and costs much is computed before: a loop in a fixed order has neither vectors nor threads."""
        for statement in self.statements():
            if statement.ordered and isinstance(statement.node, Update):
                node = statement.node.value
                while isinstance(node, View) and node.source.size <= node.size:
                    node = node.source
                if node not in self.stored and self._inline_cost(node) > RECOMPUTE:
                    self.stored.add(node)

    def memory_of(self, node: Node) -> Node:
        while node in self.owner:
            node = self.owner[node]
        return node

    def store_what_is_deep(self) -> None:
        """Cuts long chains of operations: neighbours share their loops, and the value goes on in a register."""
        depth: dict[Node, int] = {}
        for node in self.graph.nodes:
            inner = [depth.get(s, 0) for s in node.sources if s not in self.stored]
            depth[node] = 1 + max(inner, default=0)
            if depth[node] > DEPTH and node.shape:
                self.stored.add(node)

    def store_what_costs(self) -> None:
        """Stores values that would be computed too often, first those by which most is saved, of equals the last."""
        while True:
            executed: dict[Node, int] = {}
            for statement in self.statements():
                for node, at in statement.visits:
                    executed[node] = executed.get(node, 0) + _times(statement, at)
            saved = {
                node: self._inline_cost(node) * (times / node.size - 1)
                for node, times in executed.items()
                if node.shape and not isinstance(node, View) and node.op not in _FREE and times > node.size
            }
            paying = [node for node, additions in saved.items() if additions > RECOMPUTE]
            if not paying:
                return
            self.stored.add(max(paying, key=lambda n: (saved[n] * n.size, n.position)))

    def _inline_cost(self, node: Node) -> float:
        seen: set[Node] = set()

        def total(n: Node) -> float:
            if n in seen or (n in self.stored and n is not node):
                return 0.0
            seen.add(n)
            return _cost(n) + sum(map(total, n.sources))

        return total(node)


#: what costs nothing to compute again
_FREE = frozenset(("number", "full", "empty", "iota", "copy"))


def _times(statement: Statement, at: Indices) -> int:
    """How often a value at that position is computed: in every loop down to the innermost that it depends on."""
    needed = set().union(*(i.variables() for i in at)) if at else set()
    deepest = max((level for level, var in enumerate(statement.loops) if var in needed), default=-1)
    return math.prod(var.limit for var in statement.loops[: deepest + 1])


# 3. Which loops are shared


def _aligned(a: Indices, b: Indices, outer: Sequence[Var]) -> int:
    """How many of the outer loops, from the outermost, are at the same iteration whenever two positions are equal."""
    for depth, var in enumerate(outer):
        if not any(x == y and len(x.terms) == 1 and var in x.terms for x, y in zip(a, b)):
            return depth
    return len(outer)


def _conflicts(plan: _Plan, a: Statement, b: Statement) -> Iterator[tuple[Indices, Indices]]:
    """The positions of accesses of ``a`` and ``b`` to the same memory, one of them a write."""
    for x in a.accesses():
        memory = plan.memory_of(x.node)
        for y in b.accesses():
            if (x.writes or y.writes) and plan.memory_of(y.node) is memory and not disjoint(x.at, y.at):
                yield x.at, y.at


def _shared_depth(plan: _Plan, nest: Nest, statement: Statement) -> int:
    depth = 0
    for x, y in zip(nest.outer, statement.parallel):
        if x is not y:
            break
        depth += 1
    for other in nest.statements():
        for x, y in _conflicts(plan, other, statement):
            depth = min(depth, _aligned(x, y, nest.outer[:depth]))
    return depth


def _can_join(plan: _Plan, group: Group, statement: Statement) -> bool:
    first = group.statements[0]
    if len(first.loops) != len(statement.loops) or any(x is not y for x, y in zip(first.loops, statement.loops)):
        return False
    for other in group.statements:
        if not _reduce_alike(other, statement):
            return False
        if other.node is not statement.node and any(
            _aligned(x, y, statement.loops) < len(statement.loops) for x, y in _conflicts(plan, other, statement)
        ):
            return False
        # A reduction's result is there after its loops only.
        if isinstance(other.node, Reduction) and any(a.node is other.node for a in statement.loads):
            return False
    return True


def _reduce_alike(a: Statement, b: Statement) -> bool:
    """Whether two statements fit into one body: a reduction over outer loops needs those around it reduced alike."""
    if isinstance(a.node, Scan) or isinstance(b.node, Scan) or a.ordered != b.ordered:
        return False
    if a.reduces_last and b.reduces_last:
        return True
    return not a.reduced or not b.reduced or a.reduced == b.reduced


def _touch(plan: _Plan, nest: Nest, statement: Statement) -> bool:
    """Whether a statement uses memory that the nest uses too."""
    used = {plan.memory_of(a.node) for s in nest.statements() for a in s.accesses()}
    return any(plan.memory_of(a.node) in used for a in statement.accesses())


def _inner_bytes(statement: Statement, depth: int) -> int:
    inner = math.prod(v.limit for v in statement.loops[depth:])
    return inner * statement.body[0].dtype.itemsize * (1 + len(statement.loads))


def _nests(plan: _Plan, statements: Sequence[Statement]) -> list[Nest]:
    nests: list[Nest] = []
    for statement in statements:
        for nest in reversed(nests):
            if _merge(plan, nest, statement):
                break
            if _must_follow(plan, nest, statement):
                nests.append(Nest(statement))
                break
        else:
            nests.append(Nest(statement))
    return nests


def _writes_after_errors(plan: _Plan, nest: Nest, statement: Statement) -> bool:
    """Nothing of the caller's is written before it is known that nothing is wrong."""
    writes = plan.memory_of(statement.node).op == "input"
    return writes and any(s.node in plan.graph.errors for s in nest.statements())


def _must_follow(plan: _Plan, nest: Nest, statement: Statement) -> bool:
    if _writes_after_errors(plan, nest, statement):
        return True
    return any(True for other in nest.statements() for _ in _conflicts(plan, other, statement))


def _merge(plan: _Plan, nest: Nest, statement: Statement) -> bool:
    """Puts a statement into a nest if that is possible and pays."""
    if not _touch(plan, nest, statement):
        return False
    if _writes_after_errors(plan, nest, statement):
        return False
    depth = _shared_depth(plan, nest, statement)
    whole = depth == len(nest.outer) and depth == len(statement.loops)
    joins = _can_join(plan, nest.groups[-1], statement)
    if not whole:
        if depth == 0 and not joins:
            return False
        if depth == 0 and len(nest.groups) > 1:
            return False
        if depth:
            iterations = math.prod(v.limit for v in nest.outer[:depth])
            inner = max(_inner_bytes(s, depth) for s in (*nest.statements(), statement))
            total = inner * iterations
            if inner > INNER_BYTES or (iterations < OUTER_ITERATIONS and total > INNER_BYTES):
                return False
    nest.outer = nest.outer[:depth]
    if joins:
        nest.groups[-1].statements.append(statement)
    else:
        nest.groups.append(Group([statement]))
    return True


# 4. Memory


def _plan_memory(plan: _Plan, result: Schedule) -> None:
    outputs = {plan.memory_of(n) for n in plan.graph.outputs}
    errors = set(plan.graph.errors)
    uses: dict[Node, list[tuple[Nest, Group, Access]]] = {}
    for whole in result.nests:
        result.windows |= whole.windows
        for nest in whole.parts():
            for group in nest.groups:
                for statement in group.statements:
                    for access in statement.accesses():
                        uses.setdefault(plan.memory_of(access.node), []).append((nest, group, access))
    for memory, found in uses.items():
        if memory in outputs or memory in errors or memory.op == "input" or memory in result.windows:
            continue
        nest, group, first = found[0]
        is_scattered = any(True for i in first.at for _ in i.lookups())
        if (
            not isinstance(memory, Reduction)
            and not is_scattered
            and all(g is group and a.at == first.at for _, g, a in found)
        ):
            result.registers.add(memory)
        elif nest.outer and all(n is nest for n, _, _ in found):
            fixed = frozenset(
                d for d in range(len(memory.shape))
                if all(a.at[d] == first.at[d] and set(a.at[d].terms) <= set(nest.outer) for _, _, a in found)
            )  # fmt: skip
            result.scratch[memory] = (nest, fixed)


def schedule(graph: Graph, strides: dict[Node, Strides] | None = None) -> Schedule:
    """The nests of a graph. Outputs become distinct stored nodes; ``graph.outputs`` is changed where they were not.

    ``strides`` say how values lie in memory, and so in which order loops go; C order where they do not.
    """
    _separate_outputs(graph)
    plan = _Plan(graph, strides or {})
    plan.store_what_must_be()
    plan.store_what_is_deep()
    plan.store_what_updates_would_overwrite()
    plan.store_what_is_scattered()
    plan.store_what_costs()
    plan.store_what_updates_would_overwrite()
    from tnp.executors.llvm.sliding import slide

    outer = {plan.memory_of(n) for n in (*graph.outputs, *graph.errors, *graph.inputs)}
    nests = slide(_nests(plan, plan.statements()), plan.memory_of, outer)
    result = Schedule(nests, plan)
    _plan_memory(plan, result)
    return result


def _separate_outputs(graph: Graph) -> None:
    seen: set[Any] = set()
    for i, node in enumerate(graph.outputs):
        if node in seen or node.op == "input":
            position = graph.nodes[-1].position + 1
            graph.outputs[i] = graph.add(Node("copy", node.shape, node.dtype, (node,), position=position))
        seen.add(graph.outputs[i])
