"""From a graph of values to loop nests: shared loops, and memory that lives for one iteration only.

1. **Stored values** (:mod:`materialization`) and the **statements** that compute them (:mod:`statements`).
2. **Nests.** Statements share their outer loops as deep as the order of reads and writes allows
   (:func:`_shared_depth`). If they share all loops, they share a body: then values go from one to the next in a
   register. Nests that read each other's neighbouring rows may be fused row by row (:mod:`overlapped_fusion`,
   :mod:`skewed_fusion`), and nests that read the same rows may share one sweep (:mod:`row_fusion`).
3. **Memory.** A value that only its own nest reads has memory for one iteration of the shared loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tnp.executors.llvm.graph import Graph, Indices, Node, Product, Reduction, Scan
from tnp.executors.llvm.index import Var, disjoint
from tnp.executors.llvm.layout import Strides
from tnp.executors.llvm.materialization import Plan
from tnp.executors.llvm.one_pass_variance import Centered, sum_squares_at_once
from tnp.executors.llvm.overlapped_fusion import Window, slide
from tnp.executors.llvm.panels import Panels
from tnp.executors.llvm.row_fusion import Sweep, sweep
from tnp.executors.llvm.skewed_fusion import Following, follow
from tnp.executors.llvm.statements import Access, Group, Nest, Statement
from tnp.executors.llvm.target import CACHED_BYTES

__all__ = ["Schedule", "memory_of_outputs", "schedule"]

#: so many outer iterations are enough for any number of threads
OUTER_ITERATIONS = 8


class Schedule:
    """The nests in order, the nodes that are stored and in whose memory, and which memory is one iteration's only."""

    def __init__(self, nests: list[Nest], plan: Plan) -> None:
        self.nests = nests
        self.stored = plan.stored
        self.memory_of = plan.memory_of
        #: stored nodes that live in registers
        self.registers: set[Node] = set()
        #: memory of one nest: owner → the nest and the dimensions that its outer loops fix
        self.scratch: dict[Node, tuple[Nest, frozenset[int]]] = {}
        #: memory of the rows that a stage of a nest needs of the stage before
        self.windows: dict[Node, Window] = {}

    def cost(self) -> float:
        """What a call costs, in additions."""
        return sum(s.cost() * s.iterations() for nest in self.nests for s in nest.statements())

    def describe(self) -> list[str]:
        """The nests as text: their loops, and inside those, what is computed."""
        lines = []
        for nest, following in self._described():
            outer = " x ".join(str(v.limit) for v in nest.outer) or "once"
            lines.append(f"loops {outer}{following}")
            for group in nest.groups:
                inner = " x ".join(str(v.limit) for v in group.inner(len(nest.outer)))
                what = ", ".join(self._what(s.node) for s in group.statements)
                lines.append(f"  {f'loops {inner}: ' if inner else ''}{what}")
        return lines

    def _described(self) -> Iterator[tuple[Nest, str]]:
        for nest in self.nests:
            if isinstance(nest, Centered):
                yield nest, ", in the pass that sums the same"
            elif isinstance(nest, Following):
                yield nest.first, ""
                yield (
                    nest.second,
                    f", row j after row j + {nest.high} of these" if nest.high else ", row by row with these",
                )
            elif isinstance(nest, Sweep):
                yield nest.nests[0], ""
                yield from ((part, ", in the same sweep over the rows") for part in nest.nests[1:])
            else:
                yield nest, ""

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


# Which loops are shared


def _aligned(a: Indices, b: Indices, outer: Sequence[Var]) -> int:
    """How many of the outer loops, from the outermost, are at the same iteration whenever two positions are equal."""
    for depth, var in enumerate(outer):
        if not any(x == y and len(x.terms) == 1 and var in x.terms for x, y in zip(a, b)):
            return depth
    return len(outer)


def _conflicts(plan: Plan, a: Statement, b: Statement) -> Iterator[tuple[Indices, Indices]]:
    """The positions of accesses of ``a`` and ``b`` to the same memory, one of them a write."""
    written = plan.memory_of(a.store.node), plan.memory_of(b.store.node)
    if written[0] not in _memories(plan, b) and written[1] not in _memories(plan, a):
        return
    for x in a.accesses():
        memory = plan.memory_of(x.node)
        for y in b.accesses():
            if (x.writes or y.writes) and plan.memory_of(y.node) is memory and not disjoint(x.at, y.at):
                yield x.at, y.at


def _memories(plan: Plan, statement: Statement) -> set[Node]:
    """The memories that a statement reads or writes, when all that is stored is known."""
    if statement.memories is None:
        statement.memories = {plan.memory_of(a.node) for a in statement.accesses()}
    return statement.memories


def _shared_depth(plan: Plan, nest: Nest, statement: Statement) -> int:
    depth = 0
    for x, y in zip(nest.outer, statement.parallel):
        if x is not y:
            break
        depth += 1
    for other in nest.statements():
        if depth == 0:
            break
        for x, y in _conflicts(plan, other, statement):
            depth = min(depth, _aligned(x, y, nest.outer[:depth]))
    return depth


def _can_join(plan: Plan, group: Group, statement: Statement) -> bool:
    first = group.statements[0]
    if isinstance(first.node, Product):
        return False
    if len(first.loops) != len(statement.loops) or any(x is not y for x, y in zip(first.loops, statement.loops)):
        return False
    for other in group.statements:
        if not _reduce_alike(other, statement):
            return False
        if (
            statement.loops
            and other.node is not statement.node
            and any(
                _aligned(x, y, statement.loops) < len(statement.loops) for x, y in _conflicts(plan, other, statement)
            )
        ):
            return False
        # A reduction's result is there after its loops only.
        if isinstance(other.node, Reduction) and any(a.node is other.node for a in statement.loads):
            return False
    return True


def _reduce_alike(a: Statement, b: Statement) -> bool:
    """Whether two statements fit into one body: a reduction over outer loops needs those around it reduced alike."""
    if a.is_elementwise and b.is_elementwise:
        return True
    if isinstance(a.node, Scan) or isinstance(b.node, Scan) or a.ordered != b.ordered:
        return False
    if a.reduces_last and b.reduces_last:
        return True
    return not a.reduced or not b.reduced or a.reduced == b.reduced


def _touch(plan: Plan, nest: Nest, statement: Statement) -> bool:
    """Whether a statement uses memory that the nest uses too."""
    own = _memories(plan, statement)
    return any(not own.isdisjoint(_memories(plan, s)) for s in nest.statements())


def _inner_bytes(statement: Statement, depth: int) -> int:
    loops = statement.loops[depth:-1] if isinstance(statement.node, Product) else statement.loops[depth:]
    inner = math.prod(v.limit for v in loops)
    return inner * statement.body[0].dtype.itemsize * (1 + len(statement.loads))


def _nests(plan: Plan, statements: Sequence[Statement]) -> list[Nest]:
    nests: list[Nest] = []
    for statement in statements:
        for nest in reversed(nests):
            if _merge(plan, nest, statement):
                break
            if _must_follow(plan, nest, statement):
                nests.append(_nest(statement))
                break
        else:
            nests.append(_nest(statement))
    return nests


def _nest(statement: Statement) -> Nest:
    return (Panels if isinstance(statement.node, Product) else Nest)(statement)


def _writes_after_errors(plan: Plan, nest: Nest, statement: Statement) -> bool:
    """Nothing of the caller's is written before it is known that nothing is wrong."""
    writes = plan.memory_of(statement.node).op == "input"
    return writes and any(s.node in plan.graph.errors for s in nest.statements())


def _must_follow(plan: Plan, nest: Nest, statement: Statement) -> bool:
    if _writes_after_errors(plan, nest, statement):
        return True
    return any(True for other in nest.statements() for _ in _conflicts(plan, other, statement))


def _merge(plan: Plan, nest: Nest, statement: Statement) -> bool:
    """Puts a statement into a nest if that is possible and pays."""
    if isinstance(statement.node, Product) or not _touch(plan, nest, statement):
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
            if inner > CACHED_BYTES or (iterations < OUTER_ITERATIONS and total > CACHED_BYTES):
                return False
    nest.outer = nest.outer[:depth]
    if joins:
        nest.groups[-1].statements.append(statement)
    else:
        nest.groups.append(Group([statement]))
    return True


# Memory


def _plan_memory(plan: Plan, result: Schedule) -> None:
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


def schedule(graph: Graph, strides: dict[Node, Strides] | None = None, *, is_quick: bool = False) -> Schedule:
    """The nests of a graph. Outputs become distinct stored nodes; ``graph.outputs`` is changed where they were not.

    ``strides`` say how values lie in memory, and so in which order loops go; C order where they do not. A plan that
    ``is_quick`` is made in less time, and stores more.
    """
    _separate_outputs(graph)
    plan = Plan(graph, strides or {})
    plan.store_what_must_be()
    if is_quick:
        plan.store_what_is_read_in_places()
    plan.store_what_is_deep()
    plan.store_what_updates_would_overwrite()
    plan.store_what_is_scattered()
    plan.store_what_costs()
    plan.store_what_updates_would_overwrite()
    outer = {plan.memory_of(n) for n in (*graph.outputs, *graph.errors, *graph.inputs)}
    nests = slide(_nests(plan, plan.statements()), plan.memory_of, outer)
    errors = set(graph.errors)
    nests = follow(sum_squares_at_once(nests), plan.memory_of, errors)
    result = Schedule(sweep(nests, plan.memory_of, errors), plan)
    _plan_memory(plan, result)
    return result


def memory_of_outputs(graph: Graph) -> list[Node]:
    """The node in whose memory each output of a graph will be: an input that it updates, or one of its own.

    Outputs become distinct stored nodes, as in :func:`schedule`.
    """
    _separate_outputs(graph)
    plan = Plan(graph, {})
    plan.store_what_must_be()
    return [plan.memory_of(n) for n in graph.outputs]


def _separate_outputs(graph: Graph) -> None:
    seen: set[Any] = set()
    for i, node in enumerate(graph.outputs):
        if node in seen or node.op == "input":
            position = graph.nodes[-1].position + 1
            graph.outputs[i] = graph.add(Node("copy", node.shape, node.dtype, (node,), position=position))
        seen.add(graph.outputs[i])
