"""Materialization: which values are stored, and in which memory.

Outputs, reductions and updates are stored. So is a value whose recomputation costs more than memory traffic, and a
value that reads memory which is overwritten before the value is used. All other values are computed where they are
needed, without memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tnp.executors.llvm import scatters
from tnp.executors.llvm.graph import Graph, Indices, Node, Product, Reduction, Scan, Update, View, first_version
from tnp.executors.llvm.index import Var, disjoint
from tnp.executors.llvm.layout import Strides, axis_order
from tnp.executors.llvm.statements import Access, Statement, cost_of, operands_at

__all__ = ["Plan"]

#: a value is stored when computing it where it is used would cost this much more an element than once (additions)
RECOMPUTE = 8
#: what it costs to read elements that are not neighbours in memory (additions)
APART = 2
#: operations between an element of what is stored and that of what it is computed from
DEPTH = 60
#: what costs nothing to compute again
_FREE = frozenset(("number", "full", "empty", "iota", "copy"))


class Plan:
    def __init__(self, graph: Graph, strides: dict[Node, Strides]) -> None:
        self.graph = graph
        self.strides = strides
        self.variables: dict[tuple[int, int], Var] = {}
        self.stored: set[Node] = {n for n in graph.nodes if n.op == "input"}
        #: the node whose memory a stored node has
        self.owner: dict[Node, Node] = {}
        self.consumers: dict[Node, list[Node]] = {}
        self._costs: dict[Node, float] = {}
        #: the statements that were made when so many nodes were stored
        self._built: dict[Node, Statement] = {}
        self._built_for = 0
        for node in graph.nodes:
            for source in node.sources:
                self.consumers.setdefault(source, []).append(node)

    def order_of_axes(self, node: Node, domain: Sequence[int]) -> Sequence[int]:
        """The axes of a statement's domain as they lie in memory, outermost first."""
        if isinstance(node, Product):
            return range(len(domain))
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
            for i in at:
                if not i.is_affine:
                    stack += [(lookup.node, lookup.at) for lookup in i.lookups()]
            if node in self.stored:
                loads.append(Access(node, at, False))
            else:
                visits.append((node, at))
                stack += operands_at(node, at)
        return loads, visits

    def var(self, level: int, limit: int) -> Var:
        return self.variables.setdefault((level, limit), Var(f"i{level}", limit))

    def statements(self, kind: type[Node] = Node) -> list[Statement]:
        """The statements of what is stored, of that kind of nodes, in order."""
        roots = sorted(
            (n for n in self.stored if isinstance(n, kind) and n.op not in ("input", "empty")),
            key=lambda n: n.position,
        )
        return [self._statement(n) for n in roots]

    def _statement(self, node: Node) -> Statement:
        """The statement of a stored node, made again only if more is stored than when it was made."""
        if self._built_for != len(self.stored):
            self._built, self._built_for = {}, len(self.stored)
        made = self._built.get(node)
        if made is None:
            made = self._built[node] = Statement(node, self)
        return made

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
        self.owner[update] = self.memory_of(base)
        # What is computed from the base before the update, and not stored, forwards from it.
        seen: set[Node] = set()
        stack = list(self.consumers.get(base, ()))
        while stack:
            node = stack.pop()
            if node in seen or node.position > update.position or node in self.stored:
                continue
            seen.add(node)
            stack += self.consumers.get(node, ())
        for node in seen:
            if any(c.position > update.position for c in self.consumers.get(node, ())):
                self.stored.add(node)

    def store_what_updates_would_overwrite(self) -> None:
        """An update whose value or indices are computed from other places of the memory that it writes takes them from a
        copy; a scatter even from the same ones, which an iteration before may have written."""
        for statement in self.statements(Update):
            update = statement.node
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
        for statement in self.statements(Update):
            if statement.ordered and isinstance(statement.node, Update):
                node = statement.node.value
                while isinstance(node, View) and node.source.size <= node.size:
                    node = node.source
                if node not in self.stored and self._inlinecost_of(node) > RECOMPUTE:
                    self.stored.add(node)

    def memory_of(self, node: Node) -> Node:
        memory = node
        while memory in self.owner:
            memory = self.owner[memory]
        while node is not memory:  # chains of updates are long, and asked about often
            self.owner[node], node = memory, self.owner[node]
        return memory

    def store_what_is_read_in_places(self) -> None:
        """Stores values that are read through views and more than once, without weighing what that costs."""
        for node in self.graph.nodes:
            readers = self.consumers.get(node, ())
            if len(readers) > 1 and node.shape and not isinstance(node, View) and node.op not in _FREE:
                if any(isinstance(r, View) for r in readers):
                    self.stored.add(node)

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
        statements = self.statements()
        executions = [_executions(s) for s in statements]
        executed: dict[Node, int] = {}
        computing: dict[Node, set[int]] = {}  # the statements that compute a node
        for k, counts in enumerate(executions):
            _count(executed, counts, 1)
            for node in counts:
                computing.setdefault(node, set()).add(k)
        paying: dict[Node, float] = {}
        changed: Iterable[Node] = executed
        while True:
            for node in changed:
                saved = self._saved(node, executed.get(node, 0))
                if saved > RECOMPUTE:
                    paying[node] = saved * node.size
                else:
                    paying.pop(node, None)
            if not paying:
                self._built, self._built_for = {s.node: s for s in statements}, len(self.stored)
                return
            chosen = max(paying, key=lambda n: (paying[n], n.position))
            self.stored.add(chosen)
            affected = self._computed_with(chosen)
            for k in [*computing.pop(chosen, ()), len(statements)]:
                before = executions[k] if k < len(statements) else {}
                if k == len(statements):
                    statements.append(Statement(chosen, self))
                    executions.append({})
                else:
                    statements[k] = Statement(statements[k].node, self)
                executions[k] = counts = _executions(statements[k])
                _count(executed, before, -1)
                _count(executed, counts, 1)
                for node in before.keys() - counts.keys():
                    computing.get(node, set()).discard(k)
                for node in counts:
                    computing.setdefault(node, set()).add(k)
                affected |= before.keys() | counts.keys()
            changed = affected

    def _saved(self, node: Node, times: int) -> float:
        """What storing a value saves that is computed so many times, in additions an element."""
        if times <= node.size or not node.shape or isinstance(node, View) or node.op in _FREE:
            return 0.0
        return self._inlinecost_of(node) * (times / node.size - 1)

    def _computed_with(self, node: Node) -> set[Node]:
        """The values that are computed from ``node`` without memory in between: what they cost changes where it is stored."""
        found: set[Node] = set()
        stack = [node]
        while stack:
            x = stack.pop()
            if x not in found:
                found.add(x)
                stack += [c for c in self.consumers.get(x, ()) if c not in self.stored]
        return found

    def _inlinecost_of(self, node: Node) -> float:
        """The cost of an element of ``node``, computed from stored values, in additions."""
        seen: set[Node] = set()
        stack = [node]
        total = 0.0
        while stack:
            n = stack.pop()
            if n in seen or (n in self.stored and n is not node):
                continue
            seen.add(n)
            if isinstance(n, View) and self._is_apart(n):
                total += APART
            else:
                cost = self._costs.get(n)
                if cost is None:
                    cost = self._costs[n] = cost_of(n)
                total += cost
            stack += n.sources
        return total

    def _is_apart(self, node: View) -> bool:
        """Whether a view of stored memory has no two elements that are neighbours there (``x[..., 0]``)."""
        if node.source not in self.stored:
            return False
        steps = [abs(step) for step, n in zip(self.strides.get(node, ()), node.shape) if n > 1 and step]
        return min(steps, default=0) > node.dtype.itemsize


def _executions(statement: Statement) -> dict[Node, int]:
    """How often a statement computes each value."""
    counts: dict[Node, int] = {}
    known: dict[Indices, int] = {}
    for node, at in statement.visits:
        times = known.get(at)
        if times is None:
            times = known[at] = _times(statement, at)
        counts[node] = counts.get(node, 0) + times
    return counts


def _count(executed: dict[Node, int], counts: Mapping[Node, int], sign: int) -> None:
    for node, times in counts.items():
        executed[node] = executed.get(node, 0) + sign * times


def _times(statement: Statement, at: Indices) -> int:
    """How often a value at that position is computed: in every loop down to the innermost that it depends on."""
    needed = set().union(*(i.variables() for i in at)) if at else set()
    deepest = max((level for level, var in enumerate(statement.loops) if var in needed), default=-1)
    return math.prod(var.limit for var in statement.loops[: deepest + 1])
