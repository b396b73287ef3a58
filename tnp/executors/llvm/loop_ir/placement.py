"""Where updates write: to the memory of their base, or to that of a copy."""

from __future__ import annotations

from tnp.executors.llvm.graph import (
    Graph,
    Node,
    Positions,
    Reduction,
    Routine,
    Scan,
    Update,
    first_version,
    needed_for,
    variables,
)

__all__ = ["Placement", "memory_of_outputs", "separate_outputs"]


def memory_of_outputs(graph: Graph) -> list[Node]:
    """The node in whose memory each output of a graph will be: an input that it updates, or one of its own. Outputs become distinct."""
    separate_outputs(graph)
    if not any(isinstance(n, Update) for n in graph.nodes):
        return list(graph.outputs)
    placement = Placement(graph)
    return [placement.root(n) for n in graph.outputs]


class Placement:
    """An update writes to the memory of its base, if nobody wants that as it was, or else to that of a copy."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.used = needed_for([*graph.outputs, *graph.errors])
        self.consumers: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            for source in node.sources if node in self.used else ():
                self.consumers.setdefault(source, []).append(node)
        #: the nodes in whose memory updates are
        self.memory: dict[Node, Node] = {}
        #: what outputs started from
        self.written = {first_version(n) for n in graph.outputs}
        updates = [n for n in graph.nodes if isinstance(n, Update) and n in self.used]
        #: what reads memory before an update, and is used behind it
        self.early = [n for update in updates for n in self._place(update)]

    def root(self, node: Node) -> Node:
        """The node in whose memory a value is."""
        root = node
        while root in self.memory:
            root = self.memory[root]
        while node is not root:  # chains of updates are long, and asked about often
            self.memory[node], node = root, self.memory[node]
        return root

    def _place(self, update: Update) -> list[Node]:
        """Decides where an update writes. Gives what reads that memory before and is used behind."""
        base = update.base
        if self._replaces_all(update) and self.root(base).op != "input":
            return []
        later = [c for c in self.consumers.get(base, ()) if c.position > update.position]
        if base in self.graph.outputs or later or (base.op == "input" and base not in self.written):
            copy = self.graph.add(Node("copy", base.shape, base.dtype, (base,), position=update.position - 0.5))
            self.consumers.setdefault(base, []).append(copy)
            update.start_from(copy)
            self.written = {first_version(n) for n in self.graph.outputs}
            self.memory[update] = copy
            return []
        self.memory[update] = base
        early: list[Node] = []
        seen: set[Node] = set()
        waiting = list(self.consumers.get(base, ()))
        while waiting:
            node = waiting.pop()
            if (
                node in seen
                or node.position >= update.position
                or isinstance(node, (Reduction, Scan, Positions, Routine, Update))
            ):
                continue
            seen.add(node)
            users = self.consumers.get(node, ())
            if any(c.position > update.position for c in users):
                early.append(node)
            else:
                waiting += users
        return early

    def _replaces_all(self, update: Update) -> bool:
        """Whether an update writes every element of its base."""
        if update.lookups:
            return False
        at = variables(update.value.shape)
        same = len(update.value.shape) == len(update.shape) and update.where(at) == at
        return same and all(n == m for n, m in zip(update.value.shape, update.shape))


def separate_outputs(graph: Graph) -> None:
    """Makes outputs that are inputs, or one value, values of their own."""
    seen: set[Node] = set()
    for i, node in enumerate(graph.outputs):
        if node in seen or node.op == "input":
            position = graph.nodes[-1].position + 1
            graph.outputs[i] = graph.add(Node("copy", node.shape, node.dtype, (node,), position=position))
        seen.add(graph.outputs[i])
