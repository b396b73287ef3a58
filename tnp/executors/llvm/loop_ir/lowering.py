"""From a region's graph of array values to a kernel of the loop IR.

Views are maps of indices and never statements. What is stored: the outputs, reductions, updates, and what several statements would
compute again at more than :data:`~tnp.executors.llvm.target.RECOMPUTE` additions an element, or a broadcast at :data:`~tnp.executors.llvm.target.REPEAT`. Each stored value is a statement
over its domain. A statement joins the last nest that goes over the same domain, unless a dependence is in the way.

An update writes to the memory of its base, if nobody wants that as it was, or else to that of a copy. What reads the memory before
the update and is used behind it is stored before.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from tnp.core import symbols
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars, scatters, target
from tnp.executors.llvm.graph import (
    Graph,
    Indices,
    Node,
    Positions,
    Product,
    Reduction,
    Routine,
    Scan,
    Search,
    Update,
    View,
    needed_for,
    places_of,
    variables,
)
from tnp.executors.llvm.graph_lowering import lower
from tnp.executors.llvm.index import Atom, Index, Lookup, Part, Var
from tnp.executors.llvm.layout import Strides, axis_order, lies_as_inputs
from tnp.executors.llvm.loop_ir import nodes
from tnp.executors.llvm.loop_ir.dependence import is_in_place, is_innermost, may_share_a_point, touched
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Check,
    Constant,
    Convert,
    Element,
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
    c_strides,
)
from tnp.executors.llvm.loop_ir.placement import Placement, separate_outputs
from tnp.executors.llvm.loop_ir.splitting import cuts_of, is_cut
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.rotations import Rotation
from tnp.executors.llvm.routines import ROUTINES
from tnp.executors.llvm.sqrt_elision import compare_squares

__all__ = ["SCANS", "cost_of", "kernel_of", "lowered", "with_extents"]

#: by the prim of a scan, the reduction that it gives partial results of
SCANS = {row.scan: row.name for row in REDUCTIONS if row.scan}

#: what has memory
_STORED = (Reduction, Scan, Positions, Routine, Update)

#: operations between an element of what is stored and that of what it is computed from
DEPTH = 60
#: places that a statement reads a value at, where they are counted
MOST_PLACES = 16
#: nests that a statement is tried to be part of
TRIED = 8
_DIVISIONS = frozenset(("div", "reciprocal", "sqrt", "rsqrt"))
#: what costs nothing to compute again
_FREE = frozenset(("number", "full", "empty", "iota", "copy", "input"))


def with_extents(
    bsyms: Sequence[BoundSymbol], *interfaces: Sequence[Proxy]
) -> tuple[list[BoundSymbol], list[list[Proxy]]]:
    """The operations, and lists of inputs or outputs, with sizes to compute with in the shapes of all arrays."""
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

    operations = [b.substitute({p.name: measured(p) for p in names(b)}) for b in bsyms]
    # No operation may read an input: the array that a result is stored to.
    return operations, [[measured(p) if isinstance(p, TensorProxy) else p for p in ps] for ps in interfaces]


def lowered(
    bsyms: Sequence[BoundSymbol],
    inputs: Sequence[Proxy],
    outputs: Sequence[Proxy],
    stores: Mapping[int, int] | None = None,
) -> tuple[Kernel, dict[int, int], bool]:
    """The kernel of a region, which outputs are in the memory of which inputs, and whether the layout of the others depends on the inputs'
    layout. ``stores`` says where outputs will be stored.

    Raises :class:`Refused` for a region with operations that the loop IR does not have."""
    try:
        whole, (given, made) = with_extents(bsyms, inputs, outputs)
        graph = lower(whole, given, made, stores)
        compare_squares(graph)
        follow = [lies_as_inputs(node) for node in graph.outputs]
        kernel, updates = kernel_of(graph, [p.name for p in inputs])
        return kernel, updates, any(f for k, f in enumerate(follow) if k not in updates)
    except symbols.Undecided as reason:
        raise Refused(str(reason)) from None


def kernel_of(
    graph: Graph, names: Sequence[str], strides: Mapping[Node, Strides] | None = None, *, is_quick: bool = False
) -> tuple[Kernel, dict[int, int]]:
    """The kernel of a graph, whose inputs have ``names``, and which outputs are in the memory of which inputs.

    ``strides`` say how values lie in memory, and so in which order loops go; C order without. One that ``is_quick`` is made in less
    time, and stores more.
    """
    separate_outputs(graph)
    lowering = _Lowering(graph, names, strides or {}, is_quick)
    return lowering.kernel, lowering.updates


def _is_read_often(view: View, gathered: View) -> bool:
    """Whether a view reads each gathered element several times. A view of unknown size is assumed to."""
    many, few = (symbols.value_of(symbols.number_of(node.size)) for node in (view, gathered))
    return few is not None and (many is None or many >= target.GATHERED * few)


class _Lowering:
    """From a graph to a kernel.

    It has many methods: what is stored, where, and the expressions of the rest are decided on one graph.
    """

    def __init__(self, graph: Graph, names: Sequence[str], strides: Mapping[Node, Strides], is_quick: bool) -> None:
        self.graph = graph
        self.strides = strides
        self.kernel = Kernel()
        self.names = set(names)
        self.stored: dict[Node, Buffer] = {}
        self.numbers: dict[Node, int] = {}
        #: which outputs are in the memory of which inputs
        self.updates: dict[int, int] = {}
        #: elements that were written before: an expression is a graph, whose parts are shared
        self._elements: dict[tuple[Node, Indices], Expression] = {}
        self.placement = placement = Placement(graph)
        self.consumers, used = placement.consumers, placement.used
        written = {self.placement.root(n) for n in graph.outputs if isinstance(n, Update)}
        for node, name in zip(graph.inputs, names):
            if node.op == "number":
                self.numbers[node] = len(self.kernel.numbers)
                self.kernel.numbers.append(Parameter(node.params["python_type"], *graph.limits(node)))
            else:
                self.stored[node] = self._buffer(name, node, "inout" if node in written else "input")
                self.kernel.inputs.append(self.stored[node])
        for k, node in enumerate(graph.outputs):
            root = self.placement.root(node)
            if root.op == "input":
                self.updates[k] = graph.inputs.index(root)
            else:
                self.stored[root] = self._buffer(self._name(f"result{k}"), node, "output")
                self.kernel.outputs.append(self.stored[root])
        for node in graph.errors:
            if node not in self.stored:
                self._store(node)
        for node in graph.nodes:
            if node in used and node not in self.stored and isinstance(node, _STORED):
                if isinstance(node, Update):
                    root = self.placement.root(node)
                    if root not in self.stored:
                        self._store(root)
                    self.stored[node] = self.stored[root]
                else:
                    self._store(node)
        for node in placement.early:
            if node not in self.stored:
                self._store(node)
        self._store_what_is_deep(used)
        if is_quick:
            self._store_what_is_read_in_places(used)
        else:
            self._store_what_repeats(graph)
            self._store_what_is_scattered()
            self._store_what_costs(used)
            self._store_what_neighbours_read()
        self._store_what_goes_round(used)
        self._store_what_updates_overwrite()
        self.kernel.undefined = {self.stored[n] for n in self.stored if n.op == "empty"}
        kept = [n for n in self.stored if n.op not in ("input", "number", "empty")]
        is_unchecked = bool(graph.errors)
        for node in sorted(kept, key=lambda n: n.position):
            if is_unchecked and self.stored[node].role == "inout":
                self._check()
                is_unchecked = False
            self._add(node)
        if is_unchecked:
            self._check()

    def _buffer(self, name: str, node: Node, role: str) -> Buffer:
        """Memory that the caller provides for a node."""
        strides = self.strides.get(node)
        plain = c_strides(node.shape, node.dtype.itemsize)
        is_c = strides is None or all(a == b or n == 1 for a, b, n in zip(strides, plain, node.shape))
        return Buffer(name, node.dtype, node.shape, role, None if is_c else strides)

    def _check(self) -> None:
        """Refuses the arguments if an error has been found, before anything of the caller's is written."""
        entries = [e for e in self.kernel.nests if not isinstance(e, Check)]
        found = {s.buffer for e in entries for s in nodes.statements_of(e)}
        if any(self.stored[n] not in found for n in self.graph.errors):
            raise Refused("a write before a check")
        self.kernel.nests += [Check(self.stored[n]) for n in self.graph.errors]

    def _store_what_goes_round(self, used: Container[Node]) -> None:
        """Stores rotated arrays where loops cannot be cut for them (:mod:`.splitting`)."""
        rotations = {n for n in self.graph.nodes if isinstance(n, Rotation) and n in used}
        for node in [*self.stored] if rotations else ():
            inside = [n for n in self._inline(node) if n in rotations]
            if not inside or node.op in ("input", "number"):
                continue
            self._elements.clear()
            domain = self._domain(node)
            dims = [d for d in self._axes(node, domain) if domain[d] != 1]
            loops = tuple(Var(f"i{k}", domain[d]) for k, d in enumerate(dims))
            statement = self._statement(node, domain, dims, loops)
            cuts = cuts_of([statement], loops[-1]) if loops else []
            if cuts is None or (cuts and not isinstance(statement, Store)):
                for n in inside:
                    self._store(n)
        self._elements.clear()

    def _store_what_updates_overwrite(self) -> None:
        """Stores what is written to memory that it reads at other positions."""
        for update in [n for n in self.stored if isinstance(n, Update) and n in self.placement.memory]:
            self._elements.clear()
            dims = range(len(update.value.shape))
            loops = tuple(Var(f"i{d}", n) for d, n in enumerate(update.value.shape))
            if not is_in_place(self._statement(update, update.value.shape, dims, loops)):
                self._store_what_reads(update)
        self._elements.clear()

    def _store_what_reads(self, update: Update) -> None:
        """Stores what an update takes of the memory that it writes: its value, and its indices."""
        memory = self.stored[update]
        for node in (update.value, *update.lookups):
            read = {self.stored[n] for n in self._reads(node)} if node not in self.stored else {self.stored[node]}
            if memory in read:
                self._store(node)

    def _name(self, name: str) -> str:
        """``name``, or another that no input has."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def _store(self, node: Node) -> None:
        self.stored[node] = Buffer(self._name(f"t{len(self.kernel.temporaries)}"), node.dtype, node.shape)
        self.kernel.temporaries.append(self.stored[node])

    # What is stored

    def _store_what_repeats(self, graph: Graph) -> None:
        """Stores what a broadcast would compute at each point again, and what is gathered for many points."""
        used = needed_for(graph.outputs)
        for view in graph.nodes:
            if not isinstance(view, View) or isinstance(view, Rotation) or not view.repeats or view not in used:
                continue
            node, _ = places_of(view.source)
            if node in self.stored or not node.shape:
                continue
            if isinstance(node, View):
                if node.lookups and _is_read_often(view, node):
                    self._store(node)
            elif self._cost_of(node) >= target.REPEAT:
                self._store(node)

    def _store_what_is_scattered(self) -> None:
        """What is scattered and costs much is computed before: a loop in a fixed order has neither vectors nor threads."""
        for update in [n for n in self.stored if isinstance(n, Update) and n.lookups]:
            node = update.value
            while isinstance(node, View) and not node.repeats:
                node = node.source
            if node not in self.stored and node.shape and self._cost_of(node) > target.RECOMPUTE:
                self._store(node)

    def _store_what_costs(self, used: Container[Node]) -> None:
        """Stores what several statements of other domains, or reductions, would compute again. Of the last value first: what is computed of
        it is known then."""
        #: of each value, the statements that compute it, as bits
        users: dict[Node, int] = {}
        for number, node in enumerate(sorted(self.graph.nodes, key=lambda n: -n.position)):
            found = 0
            for c in self.consumers.get(node, ()):
                found |= users.get(c, 0)
            several = found & (found - 1) and node in used and node not in self.stored and node.shape
            if (
                several
                and not isinstance(node, View)
                and node.op not in _FREE
                and self._cost_of(node) > target.RECOMPUTE
            ):
                self._store(node)
            users[node] = 1 << number if node in self.stored else found

    def _store_what_neighbours_read(self) -> None:
        """Stores what one statement would compute several times at each point: a value that is read at neighbours (``e[1:] - e[:-1]``)."""
        if not any(isinstance(n, View) and not n.whole for n in self.graph.nodes):
            return
        #: of each value that a statement computes on the way, where it does; of the last value first
        places: dict[Node, dict[Node, set[Indices]]] = {}
        for node in sorted(self.graph.nodes, key=lambda n: -n.position):
            found = places.pop(node, {})
            count = max(map(len, found.values()), default=0)
            if (
                count > 1
                and not isinstance(node, View)
                and node.op not in _FREE
                and (count - 1) * self._time_of(node) >= target.NEIGHBOURS
            ):
                self._store(node)
            if node in self.stored:
                found = {node: {variables(self._domain(node))}}
            read = (
                [node.value]
                if isinstance(node, Update)
                else node.sources[:1]
                if isinstance(node, View)
                else node.sources
            )
            for statement, positions in found.items():
                for source in read:
                    at = places.setdefault(source, {}).setdefault(statement, set())
                    if source.shape and source not in self.stored and len(at) < MOST_PLACES:
                        at.update(map(node.where, positions) if isinstance(node, View) else positions)

    def _store_what_is_deep(self, used: Container[Node]) -> None:
        """Cuts long chains of operations: neighbours share their loops, and the value goes on in a register."""
        depth: dict[Node, int] = {}
        for node in sorted(self.graph.nodes, key=lambda n: n.position):
            depth[node] = 1 + max((depth.get(n, 0) for n in node.sources if n not in self.stored), default=0)
            if depth[node] > DEPTH and node in used and node not in self.stored:
                self._store(node)

    def _store_what_is_read_in_places(self, used: Container[Node]) -> None:
        """Stores values that are read through views and more than once, without weighing what that costs."""
        for node in self.graph.nodes:
            readers = self.consumers.get(node, ())
            if len(readers) > 1 and node.shape and node in used and node not in self.stored and node.op not in _FREE:
                if not isinstance(node, View) and any(isinstance(r, View) for r in readers):
                    self._store(node)

    def _cost_of(self, node: Node) -> float:
        """What it costs to compute an element from what is stored, in additions."""
        return sum(
            target.READ_APART if isinstance(n, View) and n.source in self.stored and _is_apart(n) else cost_of(n)
            for n in {node, *self._inline(node)}
        )

    def _time_of(self, node: Node) -> float:
        """:meth:`_cost_of` vectors in the cache, where divisions and roots take longer."""
        slow = sum(n.op in _DIVISIONS for n in {node, *self._inline(node)})
        return self._cost_of(node) + slow * target.SLOW_DIVISION

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
        domain = self._domain(node)
        if isinstance(node, Product) and node.in_panels:
            row, column, depth = loops = tuple(Var(f"i{k}", n) for k, n in enumerate(domain))
            product = self._statement(node, domain, range(3), loops)
            self.kernel.nests.append(nodes.Panels((row,), [Nest((column, depth), [product])]))
            return
        dims = [d for d in self._axes(node, domain) if domain[d] != 1]
        reads, writes = {self.stored[n] for n in self._reads(node)}, self.stored[node]
        for nest in self.kernel.nests[: -TRIED - 1 : -1]:
            if not isinstance(nest, Nest):
                break
            if self._joins(nest, node, domain, dims):
                return
            read, written = touched(nest.statements)
            if reads & written or writes in read or writes in written:
                break
        loops = tuple(Var(f"i{k}", domain[d]) for k, d in enumerate(dims))
        self.kernel.nests.append(Nest(loops, [self._statement(node, domain, dims, loops)]))

    def _axes(self, node: Node, domain: Sequence[Any]) -> Sequence[int]:
        """The dimensions of a domain as its elements lie in memory, outermost first."""
        if isinstance(node, Update) and node.lookups:
            return scatters.axes(node, self.strides)
        if isinstance(node, Routine):  # rows lie behind each other
            return range(len(domain))
        like = node.target if isinstance(node, Update) else node.sources[0] if isinstance(node, Reduction) else node
        strides = self.strides.get(like)
        return range(len(domain)) if strides is None else axis_order(domain, [strides])

    def _domain(self, node: Node) -> Sequence[Any]:
        if isinstance(node, (Reduction, Positions)):
            return node.sources[0].shape
        return node.value.shape if isinstance(node, Update) else node.shape

    def _reads(self, node: Node) -> Iterator[Node]:
        for n in (*self._inline(node), node):
            yield from (s for s in n.sources if s in self.stored)

    def _joins(self, nest: Nest, node: Node, domain: Sequence[Any], dims: Sequence[int]) -> bool:
        """Makes ``node`` a statement of a nest, if it can be one."""
        sizes = [domain[d] for d in dims]
        if (
            isinstance(node, (Scan, Positions, Search, Routine))
            or (isinstance(node, Update) and node.lookups)
            or any(isinstance(s, nodes.ORDERED) for s in nest.statements)
        ):
            return False
        if len(sizes) != len(nest.loops) or any(not (v.limit == n) for v, n in zip(nest.loops, sizes)):
            return False
        statement = self._statement(node, domain, dims, nest.loops)
        over = statement.over if isinstance(statement, Reduce) else ()
        reduced = over or nest.reduced
        if over != nest.reduced and ((over and nest.reduced) or not is_innermost(reduced, nest.loops)):
            return False
        if nest.loops and not all(may_share_a_point(earlier, statement) for earlier in nest.statements):
            return False
        if (over or nest.reduced) and is_cut([*nest.statements, statement], nest.loops):
            return False
        nest.statements.append(statement)
        return True

    def _statement(self, node: Node, domain: Sequence[Any], dims: Sequence[int], loops: Sequence[Var]) -> Statement:
        variables = dict(zip(dims, map(Index.of, loops)))
        at = tuple(variables.get(d, Index()) for d in range(len(domain)))
        if isinstance(node, Update):
            return self._update(node, at)
        if isinstance(node, Positions):
            if not loops:
                raise Refused("a mask of one element")
            return nodes.Positions(
                self.stored[node], (Index(),), self._element(node.sources[0], at), *at[0].variables()
            )
        if isinstance(node, Routine):
            inner = tuple(loops[-ROUTINES[node.op].dims :])
            return nodes.InPlace(self.stored[node], at, self._element(node.sources[0], at), node.op, inner)
        if isinstance(node, Scan):
            (along,) = at[node.dim].variables()
            return nodes.Scan(self.stored[node], at, self._element(node.sources[0], at), SCANS[node.op], along)
        if not isinstance(node, Reduction):
            return Store(self.stored[node], at, self._computed(node, at))
        place = tuple(i for d, i in enumerate(at) if d not in node.dims)
        over = tuple(v for v in loops if any(v in at[d].terms for d in node.dims))
        if isinstance(node, Search):
            return nodes.Search(self.stored[node], place, self._element(node.sources[0], at), *over)
        op = "sum" if isinstance(node, Product) else node.op
        return Reduce(self.stored[node], place, self._element(node.sources[0], at), op, over)

    def _update(self, node: Update, at: Indices) -> Statement:
        if not node.lookups:
            return Store(self.stored[node], node.where(at), self._element(node.value, at))
        backwards = scatters.backwards(node, self.strides)
        at = tuple(i * -1 + (n - 1) if d in backwards else i for d, (i, n) in enumerate(zip(at, node.value.shape)))
        ordered = [v for d in scatters.ordered_dims(node) for v in at[d].variables()]
        place = tuple(map(self._looked_up, node.where(at)))
        return nodes.Scatter(self.stored[node], place, self._element(node.value, at), node.accumulates, tuple(ordered))

    # Elements

    def _element(self, node: Node, at: Indices) -> Expression:
        if node.op == "copy" and node.sources[0] in self.stored and self.stored[node.sources[0]].role == "input":
            node = node.sources[0]  # so that an update of the copy does not read what it writes
        if node in self.stored:
            return Load(self.stored[node], at)
        if (node, at) not in self._elements:
            self._elements[node, at] = self._computed(node, at)
        return self._elements[node, at]

    def _looked_up(self, index: Index) -> Index:
        """An index with elements of the kernel's buffers for those of the graph's nodes."""
        if index.is_affine:
            return index
        return Index(index.constant, {self._atom(atom): c for atom, c in index.terms.items()})

    def _atom(self, atom: Atom) -> Atom:
        if isinstance(atom, Lookup):
            return Element(self._element(atom.node, atom.at), atom.limit)
        return atom.mapped(self._looked_up) if isinstance(atom, Part) else atom

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
            return self._element(node.source, tuple(map(self._looked_up, node.where(at))))
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
        if node.op == "empty":
            return Constant(0, node.dtype)
        if node.op in ("input", "number") or isinstance(node, Reduction):
            raise Refused(f"{node.op}, which has no rule")
        if node.op == "ldexp":
            parts = tuple(self._element(a, at) for a in node.args)
            return Apply("ldexp", parts, parts[0].dtype, node.dtype)
        if node.op == "where":
            condition, *values = node.args
            chosen = (self._element(condition, at), *(self._operand(a, at, node.dtype) for a in values))
            return Apply("where", chosen, node.dtype, node.dtype)
        of = next(a.dtype for a in node.args if isinstance(a, Node) and a.op != "number")
        if not scalars.supports(node.op, (of,)):
            raise Refused(f"{node.op} of {of.name}")
        return Apply(node.op, tuple(self._operand(a, at, of) for a in node.args), of, node.dtype)


def cost_of(node: Node) -> float:
    """What an element costs, in additions, besides its operands."""
    if node.op in ("view", "full", "empty", "number", "copy", "input"):
        return 0
    return 1 if node.op == "iota" else scalars.cost(node.op, node.sources[-1].dtype if node.sources else node.dtype)


def _is_apart(view: View) -> bool:
    """Whether no two elements of a view are neighbours in the memory that it is of (``x[..., 0]``)."""
    shape = view.source.shape
    last = view.where(variables(view.shape))[-1] if shape else Index()
    return bool(shape) and not (shape[-1] == 1) and all(abs(c) != 1 for c in last.terms.values() if isinstance(c, int))
