"""From the operations of a region to its graph: which prims a region may have, and the nodes that rules make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tnp.core import dtypes, prims, symbols
from tnp.core.devices import cpu
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol
from tnp.core.views import update
from tnp.executors.llvm.graph import (
    Graph,
    Indices,
    Node,
    Reduction,
    Routine,
    Scan,
    Update,
    View,
    first_version,
    is_version_of,
    places_of,
    variables,
    with_zeros,
)
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.lookups import check_bounds, lookup
from tnp.executors.llvm.lowering import RULES, Lowering, Refused, Rule, Where, outputs_of
from tnp.executors.llvm.operations import is_of_sizes, path_of

__all__ = ["GraphLowering", "lower", "takes"]

_REDUCTIONS = {row.name: row for row in REDUCTIONS}

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
            if p.device is not cpu or p.dtype is dtypes.bfloat16:  # NumPy has no bfloat16
                return False
            for n in p.shape:
                if type(n) is not int or n <= 0:
                    return False
            some = True
    return some


# From bound symbols to nodes


class GraphLowering(Lowering):
    """Makes nodes of a region's prims.

    It has many methods: they are the vocabulary of the rules.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        #: arrays of indices that have been checked, with the limits
        self.in_bounds: set[tuple[Node, int, int]] = set()
        #: reductions by operation, dtype, source and dimensions
        self.reductions: dict[tuple[str, DType, Node, frozenset[int]], Node] = {}
        #: for each mask, the flat positions where it is true
        self.positions: dict[Node, Node] = {}
        #: for each array of positions, its mask, and the dimension of the mask that they are along
        self.selecting: dict[Node, tuple[Node, int]] = {}
        self.nodes: dict[str, Node] = {}
        self.position = 0
        #: whether views are being lowered that an update writes through: none of them is a copy
        self.is_written = False

        #: routines of the prim whose rule runs, and which of its results are vectors
        self._routines: list[tuple[Routine, Sequence[int]]] = []

    def node(self, x: Any) -> Any:
        """The node of a proxy, or the extent of a symbolic size; a number as it is."""
        if isinstance(x, Proxy):
            if x.name not in self.nodes:
                if isinstance(x, NumberProxy) and symbols.value_of(x) is not None:
                    return symbols.Provable(x)
                raise Refused(f"{x.name} is no array of the region")
            return self.nodes[x.name]
        return x

    def next_position(self) -> int:
        """The place of a new node in the order of the program."""
        self.position += 1
        return self.position

    def add(self, node: Node) -> Node:
        return self.graph.add(node)

    def sizes(self, shape: Sequence[Any]) -> Sequence[Any]:
        return shape

    def length(self, n: Any) -> int | None:
        return n if isinstance(n, int) else None

    def require_one(self, n: Any, failure: Callable[..., Exception]) -> None:
        """It is known."""

    def require_equal(self, a: Sequence[Any], b: Sequence[Any]) -> None:
        """They are known to be."""

    # Values

    def make(self, op: str, shape: Sequence[int], dtype: DType, args: Sequence[Any] = (), **params: Any) -> Node:
        return self.add(Node(op, shape, dtype, args, position=self.next_position(), **params))

    def view(
        self, source: Node, shape: Sequence[int], where: Callable[[Indices], Indices], lookups: Sequence[Node] = (), *,
        repeats: bool = False, whole: bool = False,
    ) -> Node:  # fmt: skip
        """A view; the array itself if it undoes the views before it."""
        made = View(source, shape, where, position=self.next_position(), lookups=lookups, repeats=repeats, whole=whole)
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
            row = _REDUCTIONS[op]
            if row.neutral is not None and dtype.kind in "fc" and (op != "prod" or dtype.kind == "c"):
                source = self.make(row.combines, source.shape, dtype, (source, float(row.neutral)))
            return self.view(source, shape, lambda at: with_zeros(at, dims))
        key = (op, dtype, source, frozenset(dims))
        if key not in self.reductions:
            self.reductions[key] = self.add(Reduction(op, shape, dtype, source, dims, position=self.next_position()))
        return self.reductions[key]

    def scan(self, op: str, source: Node, dim: int) -> Node:
        """``op``, the running form of a reduction, along ``dim``."""
        return self.add(Scan(op, source, dim, position=self.next_position()))

    def copied(self, x: Node, dtype: DType, *, in_c_order: bool = False) -> Node:
        op = "copy" if x.dtype is dtype and not in_c_order else "convert_element_type"
        made = self.make(op, x.shape, dtype, (x,))
        if in_c_order:
            made.layout = Node("empty", x.shape, dtype)
        return made

    def routine(self, op: str, source: Node, without_vectors: str | None = None, vectors: Sequence[int] = ()) -> Node:
        made = Routine(op, source, position=self.next_position(), without_vectors=without_vectors)
        self._routines.append((made, vectors))
        return self.add(made)

    def lines(self, matrix: Node, count: int, width: int) -> Node:
        *stack, m, n = matrix.shape
        r = len(stack)

        def where(at: Indices) -> Indices:
            return (*at[:r], at[-1].divide(m)[1], at[-2].divide(n)[1])

        return self.view(matrix, (*stack, count, width), where, repeats=True, whole=True)

    # Positions that are values

    def checked(self, indices: Node, n: Any, dim: int, *, from_end: bool = True) -> Node:
        check_bounds(self, indices, n, lowest=-n if from_end else 0)
        return indices

    def lookup(self, indices: Node, at: Indices, n: Any) -> Index:
        return lookup(indices, at, n)

    def scatter(
        self, a: Node, value: Node, where: Callable[[Sequence[Node]], Where], indices: Sequence[Node], *,
        accumulates: bool, ordered_by: Sequence[Node] = (),
    ) -> Node:  # fmt: skip
        root, _ = places_of(a)
        own = [self.apart(i, root) for i in indices]
        return self.update(
            a, value, lambda array: self.view(array, value.shape, where(own), own),
            accumulates=accumulates, ordered_by=ordered_by,
        )  # fmt: skip

    # Checks

    def expect_finite(self, x: Node) -> None:
        finite = self.make("isfinite", x.shape, dtypes.bool8, (x,))
        self.refuse(self.make("logical_not", x.shape, dtypes.bool8, (finite,)))

    def refuse(self, wrong: Node, failure: Callable[[], Exception] | None = None) -> None:
        """Makes the kernel refuse its arguments if one of some bools is true: NumPy raises."""
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
        position = self.next_position()
        made = self.add(Update(root, target, value, position=position, accumulates=accumulates, ordered_by=ordered_by))
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
            self.outputs = outputs_of(bsym)
            made = found.lower(self, self.outputs[0], *args, **bsym.kwargs)
            nodes = made if isinstance(made, tuple) else (made,)
            for output, node in zip(self.outputs, nodes):
                self.nodes[output.name] = node
            for routine, vectors in self._routines:
                routine.vectors = tuple(nodes[i] for i in vectors)
            self._routines.clear()
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
            self.nodes[a.name], self.is_written = base, True
            for step in path:
                self.lower(step)
            self.is_written = False
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
            value = self.view(value, value.shape[extra:], lambda at: (*(0,) * extra, *at), whole=True)
        if len(value.shape) == len(shape) and all(n == m for n, m in zip(value.shape, shape)):
            return value
        given, first = value.shape, len(shape) - len(value.shape)
        return self.view(
            value, shape, lambda at: tuple(Index() if n == 1 else at[first + d] for d, n in enumerate(given)),
            repeats=True, whole=True,
        )  # fmt: skip


def lower(
    bound_symbols: Sequence[BoundSymbol],
    inputs: Sequence[Proxy],
    outputs: Sequence[Proxy],
    stores: Mapping[int, int] | None = None,
) -> Graph:
    """The graph of a region. Raises :class:`Refused` if an operation has no rule.

    ``stores`` gives for an output the input that it will replace.
    """
    lowering = GraphLowering()
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
