"""What is stored, and in whose memory.

Outputs, reductions and updates are stored; so is a value that would otherwise be computed again so often that memory
traffic is cheaper, or that reads memory which is written before the value is used. Everything else is computed where it
is needed and never has memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
            stack += [(lookup.node, lookup.at) for i in at for lookup in i.lookups()]
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
        while True:
            executed: dict[Node, int] = {}
            for counts in executions:
                for node, times in counts.items():
                    executed[node] = executed.get(node, 0) + times
            saved = {
                node: self._inlinecost_of(node) * (times / node.size - 1)
                for node, times in executed.items()
                if node.shape and not isinstance(node, View) and node.op not in _FREE and times > node.size
            }
            paying = [node for node, additions in saved.items() if additions > RECOMPUTE]
            if not paying:
                return
            chosen = max(paying, key=lambda n: (saved[n] * n.size, n.position))
            self.stored.add(chosen)
            for k, counts in enumerate(executions):
                if chosen in counts:
                    statements[k] = Statement(statements[k].node, self)
                    executions[k] = _executions(statements[k])
            statements.append(Statement(chosen, self))
            executions.append(_executions(statements[-1]))

    def _inlinecost_of(self, node: Node) -> float:
        seen: set[Node] = set()

        def total(n: Node) -> float:
            if n in seen or (n in self.stored and n is not node):
                return 0.0
            seen.add(n)
            own = APART if self._is_apart(n) else cost_of(n)
            return own + sum(map(total, n.sources))

        return total(node)

    def _is_apart(self, node: Node) -> bool:
        """Whether a node reads elements of stored memory of which no two are neighbours (``x[..., 0]``)."""
        if not isinstance(node, View) or node.source not in self.stored:
            return False
        steps = [abs(step) for step, n in zip(self.strides.get(node, ()), node.shape) if n > 1 and step]
        return min(steps, default=0) > node.dtype.itemsize


def _executions(statement: Statement) -> dict[Node, int]:
    """How often a statement computes each value."""
    counts: dict[Node, int] = {}
    for node, at in statement.visits:
        counts[node] = counts.get(node, 0) + _times(statement, at)
    return counts


def _times(statement: Statement, at: Indices) -> int:
    """How often a value at that position is computed: in every loop down to the innermost that it depends on."""
    needed = set().union(*(i.variables() for i in at)) if at else set()
    deepest = max((level for level, var in enumerate(statement.loops) if var in needed), default=-1)
    return math.prod(var.limit for var in statement.loops[: deepest + 1])
