"""From a region's graph of array values to a kernel of the loop IR.

Views are maps of indices and never statements. What is stored: the outputs, reductions, and what several statements would compute
again at more than :data:`RECOMPUTE` additions an element, or a broadcast at :data:`REPEAT`. Each stored value is a statement over
its domain. A statement joins the last nest that goes over the same domain, unless it needs, at other positions, what that nest or
one behind it stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tnp.core import symbols
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars
from tnp.executors.llvm.graph import Graph, Indices, Node, Reduction, Refused, View, lower, needed_for, places_of
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Constant,
    Convert,
    Expression,
    Kernel,
    Load,
    Nest,
    Number,
    Parameter,
    Position,
    Reduce,
    Size,
    Statement,
    Store,
    loads_in,
)  # fmt: skip
from tnp.executors.llvm.statements import cost_of

__all__ = ["kernel_of", "lowered", "with_extents"]

#: additions that an element may cost more than once, and at each point of a larger domain
RECOMPUTE, REPEAT = 8, 4


def with_extents(bsyms: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """The operations, with sizes to compute with in the shapes of all arrays."""
    known: dict[str, TensorProxy] = {}

    def measured(p: Proxy) -> Any:
        if symbols.is_symbol(p):
            return symbols.Provable(p)
        if not isinstance(p, TensorProxy):
            return p
        if p.name not in known:
            made: Any = p.renamed(p.name)
            made.shape = tuple(map(symbols.provable, p.shape))
            known[p.name] = made
        return known[p.name]

    def names(b: BoundSymbol) -> Iterator[Proxy]:
        yield from (*b.flat_inputs, *b.flat_outputs)
        for part in b.subsymbols:
            yield from names(part)

    return [b.substitute({p.name: measured(p) for p in names(b)}) for b in bsyms]


def lowered(bsyms: Sequence[BoundSymbol], inputs: Sequence[Proxy], outputs: Sequence[Proxy]) -> Kernel:
    """A region as a kernel. Raises :class:`Refused` for a region with operations that the loop IR does not have."""
    try:
        whole = with_extents([*bsyms])
        found = {p.name: p for b in whole for p in (*b.flat_inputs, *b.flat_outputs)}
        graph = lower(whole, [found.get(p.name, p) for p in inputs], [found.get(p.name, p) for p in outputs])
        return kernel_of(graph, [p.name for p in inputs])
    except symbols.Undecided as reason:
        raise Refused(str(reason)) from None


def kernel_of(graph: Graph, names: Sequence[str]) -> Kernel:
    """The kernel of a graph, whose inputs have ``names``."""
    if graph.errors or len(set(graph.outputs)) < len(graph.outputs) or any(n.op == "input" for n in graph.outputs):
        raise Refused("results that are arguments, or what may be out of bounds")
    return _Lowering(graph, names).kernel


class _Lowering:
    def __init__(self, graph: Graph, names: Sequence[str]) -> None:
        self.kernel = Kernel()
        self.stored: dict[Node, Buffer] = {}
        self.numbers: dict[Node, int] = {}
        #: elements that were written before: an expression is a graph, whose parts are shared
        self._elements: dict[tuple[Node, Indices], Expression] = {}
        for node, name in zip(graph.inputs, names):
            if node.op == "number":
                self.numbers[node] = len(self.kernel.numbers)
                self.kernel.numbers.append(Parameter(node.params["python_type"], *graph.limits(node)))
            else:
                self.stored[node] = Buffer(name, node.dtype, node.shape, "input")
                self.kernel.inputs.append(self.stored[node])
        for i, node in enumerate(graph.outputs):
            self.stored[node] = Buffer(self._name(f"result{i}"), node.dtype, node.shape, "output")
            self.kernel.outputs.append(self.stored[node])
        used = needed_for(graph.outputs)
        for node in graph.nodes:
            if node in used and isinstance(node, Reduction) and node not in self.stored:
                self._store(node)
        self._store_what_repeats(graph)
        self._store_what_costs(graph)
        for node in sorted((n for n in self.stored if n.op not in ("input", "number")), key=lambda n: n.position):
            self._add(node)

    def _name(self, name: str) -> str:
        """``name``, or another that no input has."""
        taken = {buffer.name for buffer in self.stored.values()}
        while name in taken:
            name += "_"
        return name

    def _store(self, node: Node) -> None:
        self.stored[node] = Buffer(self._name(f"t{len(self.kernel.temporaries)}"), node.dtype, node.shape)
        self.kernel.temporaries.append(self.stored[node])

    # What is stored

    def _store_what_repeats(self, graph: Graph) -> None:
        """Stores what a broadcast would compute at each point again."""
        used = needed_for(graph.outputs)
        for view in graph.nodes:
            if not isinstance(view, View) or not view.repeats or view not in used:
                continue
            node, _ = places_of(view.source)
            if node in self.stored or isinstance(node, View) or not node.shape:
                continue
            if sum(cost_of(n) for n in {node, *self._inline(node)}) >= REPEAT:
                self._store(node)

    def _store_what_costs(self, graph: Graph) -> None:
        """Stores what several statements of other domains, or reductions, would compute again."""
        for node in reversed(graph.nodes):
            if (
                node in self.stored
                or isinstance(node, View)
                or not node.shape
                or node.op in ("full", "iota", "empty", "number")
            ):
                continue
            users = [root for root in self.stored if root.op != "input" and node in self._inline(root)]
            if len(users) > 1 and sum(cost_of(n) for n in {node, *self._inline(node)}) > RECOMPUTE:
                self._store(node)

    def _inline(self, root: Node) -> set[Node]:
        """What is computed where ``root`` is."""
        found: set[Node] = set()
        waiting = [*root.sources]
        while waiting:
            node = waiting.pop()
            if node not in found and node not in self.stored:
                found.add(node)
                waiting += node.sources
        return found

    # Statements

    def _add(self, node: Node) -> None:
        domain = node.sources[0].shape if isinstance(node, Reduction) else node.shape
        dims = node.dims if isinstance(node, Reduction) else frozenset()
        for nest in reversed(self.kernel.nests):
            if self._joins(nest, node, domain, dims):
                return
            made = {s.buffer for s in nest.statements}
            if any(self.stored[n] in made for n in self._reads(node)):
                break
        loops = tuple(Var(f"i{d}", n) for d, n in enumerate(domain) if n != 1)
        self.kernel.nests.append(Nest(loops, [self._statement(node, domain, dims, loops)]))

    def _reads(self, node: Node) -> Iterator[Node]:
        for n in (*self._inline(node), node):
            yield from (s for s in n.sources if s in self.stored)

    def _joins(self, nest: Nest, node: Node, domain: Sequence[Any], dims: frozenset[int]) -> bool:
        """Makes ``node`` a statement of a nest, if it can be one."""
        sizes = [n for n in domain if n != 1]
        if len(sizes) != len(nest.loops) or any(not (v.limit == n) for v, n in zip(nest.loops, sizes)):
            return False
        statement = self._statement(node, domain, dims, nest.loops)
        if (statement.over if isinstance(statement, Reduce) else ()) != nest.reduced:
            return False
        for load in loads_in(statement.value):
            for other in nest.statements:
                if load.buffer is other.buffer and (isinstance(other, Reduce) or load.at != other.at):
                    return False
        nest.statements.append(statement)
        return True

    def _statement(self, node: Node, domain: Sequence[Any], dims: frozenset[int], loops: Sequence[Var]) -> Statement:
        left = iter(loops)
        at = tuple(Index.of(next(left)) if n != 1 else Index() for n in domain)
        if not isinstance(node, Reduction):
            return Store(self.stored[node], at, self._computed(node, at))
        place = tuple(i for d, i in enumerate(at) if d not in dims)
        over = tuple(v for v in loops if any(v in at[d].terms for d in dims))
        return Reduce(self.stored[node], place, node.op, self._element(node.sources[0], at), over)

    # Elements

    def _element(self, node: Node, at: Indices) -> Expression:
        if node in self.stored:
            return Load(self.stored[node], at)
        if (node, at) not in self._elements:
            self._elements[node, at] = self._computed(node, at)
        return self._elements[node, at]

    def _operand(self, x: Any, at: Indices, dtype: Any) -> Expression:
        """An argument of an elementwise operation in ``dtype``; numbers stand for arrays of it."""
        if not isinstance(x, Node):
            return Size(x, dtype) if isinstance(x, symbols.Extent) else Constant(x, dtype)
        if x.op == "number":
            number = Number(self.numbers[x], x.params["python_type"], x.dtype)
            return number if x.dtype is dtype else Convert(number, dtype)
        return self._element(x, at if x.shape else ())

    def _computed(self, node: Node, at: Indices) -> Expression:
        if isinstance(node, View):
            if node.lookups:
                raise Refused("an array of indices")
            return self._element(node.source, node.where(at))
        if node.op == "full":
            return self._operand(node.args[0], (), node.dtype)
        if node.op == "copy":
            return self._element(node.sources[0], at)
        if node.op == "iota":
            start, step = (self._operand(x, (), node.dtype) for x in node.args)
            scaled = Apply("mul", (Position(at[0], node.dtype), step), node.dtype, node.dtype)
            return Apply("add", (scaled, start), node.dtype, node.dtype)
        if node.op in ("convert_element_type", "bitcast"):
            return Convert(self._element(node.sources[0], at), node.dtype, node.op == "bitcast")
        if node.op in ("ldexp", "frexp", "complex", "empty", "input", "number") or isinstance(node, Reduction):
            raise Refused(f"{node.op}, which has no rule")
        if node.op == "where":
            condition, *values = node.args
            chosen = (self._element(condition, at), *(self._operand(a, at, node.dtype) for a in values))
            return Apply("where", chosen, node.dtype, node.dtype)
        of = next(a.dtype for a in node.args if isinstance(a, Node) and a.op != "number")
        if not scalars.supports(node.op, (of,)):
            raise Refused(f"{node.op} of {of.name}")
        return Apply(node.op, tuple(self._operand(a, at, of) for a in node.args), of, node.dtype)
