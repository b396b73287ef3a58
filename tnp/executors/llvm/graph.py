"""A region as a graph of array values, with the effect of each shape operation on the positions of elements.

Nothing here has memory yet. A :class:`Node` is an array value: computed element by element, reduced from another's
elements, or an array with some elements replaced. Operations that only rearrange elements become :class:`View` nodes,
which map the position of an element to a position in their source, so they copy nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tnp.core import dtypes, prims, symbols
from tnp.core.devices import cpu
from tnp.core.dtypes import DType
from tnp.core.graph_utils import reached
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.views import update
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.operations import is_of_sizes, path_of

__all__ = [
    "REDUCTIONS",
    "RULES",
    "Graph",
    "Indices",
    "Lowering",
    "Node",
    "Positions",
    "Product",
    "Reduction",
    "Refused",
    "Routine",
    "Scan",
    "Search",
    "Update",
    "View",
    "first_version",
    "is_version_of",
    "lower",
    "needed_for",
    "origin",
    "path_of",
    "places_of",
    "rule",
    "takes",
    "variables",
    "with_zeros",
]

Indices = tuple[Index, ...]


class Refused(Exception):
    """The region holds what this executor does not compile; another runs it."""


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


# What is supported


def takes(bsym: BoundSymbol) -> bool:
    """Whether every prim of a bound symbol can be part of a region."""
    if bsym.sym is update:
        return _is_plain(bsym) and _path_is_static(bsym) and all(map(takes, bsym.subsymbols))
    if not bsym.sym.is_prim:
        return bool(bsym.subsymbols) and all(map(takes, bsym.subsymbols))
    if bsym.sym.executor is not None or prims.registry.get(bsym.sym.name) is not bsym.sym:
        return False
    return bsym.sym.name in RULES and _is_plain(bsym) and _rule_for(bsym) is not None


def _rule_for(bsym: BoundSymbol) -> Rule | None:
    """The rule that takes a prim."""
    return next((rule for rule in RULES[bsym.sym.name] if rule.checker(bsym)), None)


def _path_is_static(bsym: BoundSymbol) -> bool:
    return not any(isinstance(p, NumberProxy) for p in bsym.flat_inputs[1 + isinstance(bsym.args[1], TensorProxy) :])


def _is_plain(bsym: BoundSymbol) -> bool:
    """Whether all arrays are on the CPU, of known shape, and hold something; and some array is there."""
    some = False
    for p in (*bsym.flat_inputs, *bsym.flat_outputs):
        if isinstance(p, TensorProxy):
            if p.device is not cpu or p.dtype is dtypes.bfloat16:  # of which there are no ndarrays
                return False
            for n in p.shape:
                if type(n) is not int or n <= 0:
                    return False
            some = True
    return some


class Rule:
    """How a prim becomes nodes, and which uses of it are supported."""

    def __init__(self, lower: Callable[..., Any], checker: Callable[[BoundSymbol], bool]) -> None:
        self.lower = lower
        self.checker = checker


#: the rules of prims; of several for one, each takes other uses
RULES: dict[str, list[Rule]] = {}


def _always(bsym: BoundSymbol) -> bool:
    return True


def rule(*names: str, checker: Callable[[BoundSymbol], bool] = _always) -> Callable[..., Any]:
    """Decorates what becomes of prims: ``f(lowering, output, *args, **kwargs)`` gives the node of ``output``."""

    def decorate(f: Any) -> Any:
        for name in names:
            assert OpTags.EFFECT not in prims.registry[name].tags
            RULES.setdefault(name, []).append(Rule(f, checker))
        return f

    return decorate


# From bound symbols to nodes


REDUCTIONS = {row.name: row for row in REDUCTIONS}


class Lowering:
    def __init__(self) -> None:
        self.graph = Graph()
        #: arrays of indices that have been checked, with the limits
        self.checked: set[tuple[Node, int, int]] = set()
        #: reductions by operation, dtype, source and dimensions
        self.reductions: dict[tuple[str, DType, Node, frozenset[int]], Node] = {}
        #: by a mask, the positions where it is true
        self.positions: dict[Node, Node] = {}
        self.nodes: dict[str, Node] = {}
        self.position = 0

    def node(self, x: Any) -> Any:
        """The node of a proxy, or the extent of a symbolic size; a number as it is."""
        if isinstance(x, Proxy):
            if x.name not in self.nodes:
                if isinstance(x, NumberProxy) and symbols.value_of(x) is not None:
                    return symbols.Provable(x)
                raise Refused(f"{x.name} is no array of the region")
            return self.nodes[x.name]
        return x

    def make(self, op: str, shape: Sequence[int], dtype: DType, args: Sequence[Any] = (), **params: Any) -> Node:
        self.position += 1
        return self.graph.add(Node(op, shape, dtype, args, position=self.position, **params))

    def view(
        self, source: Node, shape: Sequence[int], where: Callable[[Indices], Indices], lookups: Sequence[Node] = (), *,
        repeats: bool = False, whole: bool = False,
    ) -> Node:  # fmt: skip
        """A view; the array itself if it undoes the views before it."""
        self.position += 1
        made = View(source, shape, where, position=self.position, lookups=lookups, repeats=repeats, whole=whole)
        node, start = source, variables(shape)
        at = made.where(start) if isinstance(source, View) else start
        while isinstance(node, View):
            node, at = node.source, node.where(at)
            if node.shape == made.shape and at == start:
                return node
        return self.graph.add(made)

    def reduce(self, op: str, shape: Sequence[int], dtype: DType, source: Node, dims: Sequence[int]) -> Node:
        """A reduction; one over lengths of 1 alone only drops them. What has been reduced so before (for a mean and a variance) is the same."""
        if all(source.shape[d] == 1 for d in dims):
            # NumPy's begin with what is neutral: a sum is never -0, a complex product with NaN in one part has it in both
            row = REDUCTIONS[op]
            if row.neutral is not None and dtype.kind in "fc" and (op != "prod" or dtype.kind == "c"):
                source = self.make(row.combines, source.shape, dtype, (source, float(row.neutral)))
            return self.view(source, shape, lambda at: with_zeros(at, dims))
        key = (op, dtype, source, frozenset(dims))
        if key not in self.reductions:
            self.position += 1
            self.reductions[key] = Reduction(op, shape, dtype, source, dims, position=self.position)
            self.graph.add(self.reductions[key])
        return self.reductions[key]

    def refuse(self, wrong: Node) -> None:
        """Makes the kernel refuse its arguments if one of some bools is true."""
        if wrong.shape:
            wrong = self.reduce("any", (), dtypes.bool8, wrong, tuple(range(len(wrong.shape))))
        self.graph.errors.append(wrong)

    def update(
        self, base: Node, value: Node, select: Callable[[Node], Node] | None = None, *, accumulates: bool = False,
        ordered_by: Sequence[Node] = (),
    ) -> Node:  # fmt: skip
        """``base`` after ``value`` has been written to the view ``select`` of it (default: to all of it).

        ``base`` may be a view itself; then the array that it looks at is what changes.
        """
        root, chain = places_of(base)
        if isinstance(root, View):
            # Its elements have no places of their own.
            root = self.make("copy", root.shape, root.dtype, (root,))
            base = self.through(chain, root)
        value = self.apart(value, root)
        target = base if select is None else select(base)
        self.position += 1
        made: Node = self.graph.add(
            Update(root, target, value, position=self.position, accumulates=accumulates, ordered_by=ordered_by)
        )
        return self.through(chain, made)

    def through(self, chain: Sequence[View], node: Node) -> Node:
        """``node`` seen through the views of :func:`places_of`."""
        for step in reversed(chain):
            node = self.view(node, step.shape, step.where, whole=step.whole)
        return node

    def apart(self, node: Node, root: Node) -> Node:
        """``node``; if it is the very memory of ``root``, as a value that can be kept elsewhere while that is written."""
        if first_version(node) is first_version(root):
            return self.make("copy", node.shape, node.dtype, (node,))
        return node

    def lower(self, bsym: BoundSymbol) -> None:
        if is_of_sizes(bsym):
            return
        if bsym.sym is update:
            self._lower_update(bsym)
        elif bsym.sym.is_prim:
            args = [self._argument(a) for a in bsym.args]
            rules = RULES[bsym.sym.name]
            found = rules[0] if len(rules) == 1 else _rule_for(bsym)
            assert found is not None
            outputs = (bsym.output,) if isinstance(bsym.output, Proxy) else bsym.output
            made = found.lower(self, outputs[0], *args, **bsym.kwargs)
            for output, node in zip(outputs, made if isinstance(made, tuple) else (made,)):
                self.nodes[output.name] = node
        else:
            for sub in bsym.subsymbols:
                self.lower(sub)

    def _argument(self, a: Any) -> Any:
        if isinstance(a, (tuple, list)):
            return [self._argument(x) for x in a]
        return self.node(a)

    def _lower_update(self, bsym: BoundSymbol) -> None:
        if any(isinstance(n, symbols.Extent) for n in bsym.output.shape):
            self._lower_update_of_any_size(bsym)
            return
        for sub in bsym.subsymbols:
            self.lower(sub)
        base = self.node(bsym.args[0])
        made = self.nodes[bsym.output.name]
        if base.op == "input" and not is_version_of(made, base):
            # All of an array that the region was given is replaced: written to its memory, not to new one.
            self.nodes[bsym.output.name] = self.update(base, made)
        elif len(made.shape) > 1 and made is not base and not is_version_of(made, base):
            made = self.make("copy", made.shape, made.dtype, (made,))
            made.layout = base
            self.nodes[bsym.output.name] = made

    def _lower_update_of_any_size(self, bsym: BoundSymbol) -> None:
        """Through the views that the update goes through: the decomposition writes to positions that are computed."""
        a, path = bsym.args[0], path_of(bsym)

        def target_in(base: Node) -> Node:
            self.nodes[a.name] = base
            for step in path:
                self.lower(step)
            return self.nodes[path[-1].output.name] if path else base

        base = self.node(a)
        target = target_in(base)
        value = self.node(bsym.args[1])
        if not isinstance(value, Node) or value.op == "number":
            value = self.make("full", target.shape, a.dtype, (value,))
        value = self._fitted(value, target.shape)
        self.nodes[bsym.output.name] = self.update(base, value, target_in)
        self.nodes[a.name] = base

    def _fitted(self, value: Node, shape: Sequence[Any]) -> Node:
        """``value`` as it is assigned to an array of that shape."""
        extra = len(value.shape) - len(shape)
        if extra > 0:
            value = self.view(value, value.shape[extra:], lambda at: (*(Index(),) * extra, *at), whole=True)
        if len(value.shape) == len(shape) and all(n == m for n, m in zip(value.shape, shape)):
            return value
        given, first = value.shape, len(shape) - len(value.shape)
        return self.view(
            value, shape, lambda at: tuple(Index() if n == 1 else at[first + d] for d, n in enumerate(given)),
            repeats=True, whole=True,
        )  # fmt: skip


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


def lower(
    bound_symbols: Sequence[BoundSymbol],
    inputs: Sequence[Proxy],
    outputs: Sequence[Proxy],
    stores: Mapping[int, int] | None = None,
) -> Graph:
    """The graph of a region. Raises :class:`Refused` for what cannot be one.

    ``stores`` gives for an output the input that it will replace.
    """
    lowering = Lowering()
    for p in inputs:
        if isinstance(p, TensorProxy):
            node = lowering.make("input", p.shape, p.dtype)
        elif isinstance(p, NumberProxy):
            node = lowering.make("number", (), dtypes.dtype_of_number(p.python_type), python_type=p.python_type)
        else:
            raise Refused(f"{p.name} is no array and no number")
        lowering.nodes[p.name] = node
        lowering.graph.inputs.append(node)
    for bsym in bound_symbols:
        lowering.lower(bsym)
    found = [lowering.nodes[p.name] for p in outputs]
    for k, j in (stores or {}).items():
        place = lowering.graph.inputs[j]
        if not is_version_of(found[k], place) and found[k].shape == place.shape and found[k] is not place:
            found[k] = lowering.update(place, found[k])
    lowering.graph.outputs = found
    lowering.graph.drop_what_is_unused()
    lowering.graph.look_for_errors_first()
    return lowering.graph
