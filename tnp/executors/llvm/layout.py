"""Memory layout: NumPy's rules for the strides of results, applied to the values of a region.

A result has the layout of its operands (``x.T + 1`` is Fortran-ordered if ``x`` is C-ordered), and programs can observe
it: it decides whether a reshape is a view. So outputs get NumPy's layout, and loops follow the order of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.executors.llvm.graph import Graph, Node, Product, Reduction, Update, View
from tnp.executors.llvm.index import Index, Var, linear

__all__ = ["Strides", "axis_order", "contiguous", "descending", "lies_as_inputs", "strides_of_new", "strides_of_nodes"]

Strides = tuple[int, ...]

#: operations whose results lie in memory as their operands do not
_ROW_MAJOR = ("full", "iota", "empty", "number")


def contiguous(shape: Sequence[int], order: Sequence[int], itemsize: int) -> Strides:
    """The strides of a contiguous array whose axes, outermost in memory first, are ``order``."""
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def strides_of_new(shape: Sequence[int], like: Strides, itemsize: int) -> Strides:
    """The strides of a new array that lies in memory as one with the strides ``like``.

    C's or Fortran's in full where those differ from its strides along axes of one element only, as NumPy has it.
    """
    axes = range(len(shape))
    made = contiguous(shape, axis_order(shape, [like]), itemsize)
    for order in (axes, axes[::-1]):
        found = contiguous(shape, order, itemsize)
        if all(a == b for a, b, n in zip(made, found, shape) if n > 1):
            return found
    return made


def axis_order(shape: Sequence[int], operands: Sequence[Strides]) -> tuple[int, ...]:
    """The axes in the order in which NumPy's iterator (``order="K"``) goes through operands of these strides.

    Axes are sorted by the size of their strides, by insertion; where operands disagree, C order wins.
    """
    order: list[int] = []  # innermost first
    for axis in reversed(range(len(shape))):
        at = len(order)
        for i in reversed(range(len(order))):
            inside = _goes_inside(axis, order[i], operands)
            if inside is None:
                continue
            if not inside:
                break
            at = i
        order.insert(at, axis)
    return tuple(reversed(order))


def _goes_inside(axis: int, other: int, operands: Sequence[Strides]) -> bool | None:
    """Whether ``axis``, which stands outside of ``other``, belongs inside; ``None`` if no operand moves along both."""
    answer: bool | None = None
    for strides in operands:
        a, b = abs(strides[axis]), abs(strides[other])
        if a and b:
            if b <= a:
                answer = False
            elif answer is None:
                answer = True
    return answer


def descending(shape: Sequence[int], operands: Sequence[Strides]) -> frozenset[int]:
    """The axes along which NumPy's iterator goes from the end: no operand goes up in memory, and one goes down."""
    steps = [{s[axis] for s in operands} for axis in range(len(shape))]
    return frozenset(d for d, found in enumerate(steps) if shape[d] > 1 and min(found, default=0) < 0 >= max(found))


def strides_of_nodes(graph: Graph, inputs: Sequence[Strides | None]) -> dict[Node, Strides]:
    """The strides that NumPy's results would have, for inputs of these strides (``None`` for numbers)."""
    found: dict[Node, Strides] = {n: s or () for n, s in zip(graph.inputs, inputs)}
    for node in sorted(graph.nodes, key=lambda n: n.position):
        if node not in found:
            _find_strides(node, found)
    return found


def lies_as_inputs(node: Node) -> bool:
    """Whether the layout of a value depends on the layout of the region's inputs, by the rules of :func:`strides_of_nodes`."""
    return _lies_as_inputs(node, {})


def _lies_as_inputs(node: Node, found: dict[Node, bool]) -> bool:
    if node not in found:
        found[node] = any(_lies_as_inputs(n, found) for n in _lies_as(node)) or node.op == "input"
    return found[node]


def _lies_as(node: Node) -> Sequence[Node]:
    """The values whose layouts decide the layout of ``node``."""
    if node.layout is not None:
        return (node.layout,)
    if isinstance(node, View):
        return (node.source,)
    if isinstance(node, Update):
        return (node.base,)
    kept = len(node.shape) - 2 if isinstance(node, Product) else len(node.shape)
    if isinstance(node, (Product, Reduction)):  # fewer than two dimensions have only one order
        return node.sources[:1] if kept > (0 if isinstance(node, Product) else 1) else ()
    return () if node.op in _ROW_MAJOR else [s for s in node.sources if s.shape == node.shape and len(s.shape) > 1]


def _find_strides(node: Node, found: dict[Node, Strides]) -> Strides:
    if node not in found:
        if node.layout is not None:
            order = axis_order(node.shape, [_find_strides(node.layout, found)])
            found[node] = contiguous(node.shape, order, node.dtype.itemsize)
        else:
            for source in node.sources:
                _find_strides(source, found)
            found[node] = _strides(node, found)
    return found[node]


def _strides(node: Node, found: dict[Node, Strides]) -> Strides:
    axes = range(len(node.shape))
    itemsize = node.dtype.itemsize
    if isinstance(node, View):
        variables = [Var(f"v{d}", n) for d, n in enumerate(node.shape)]
        offset = linear(node.where(tuple(map(Index.of, variables))), found[node.source])
        if offset.is_affine:
            return tuple(offset.terms.get(v, 0) for v in variables)
    elif isinstance(node, Update):
        return found[node.base]
    elif isinstance(node, Product):  # stacks lie as those of the operands, matrices in C order
        (source,), stacks = node.sources, len(node.shape) - 2
        order = [d for d in axis_order(source.shape, [found[source]]) if d < stacks]
        return contiguous(node.shape, [*order, stacks, stacks + 1], itemsize)
    elif isinstance(node, Reduction):
        (source,) = node.sources
        order = axis_order(source.shape, [found[source]])
        kept = [d for d in range(len(source.shape)) if d not in node.dims]
        return contiguous(node.shape, [kept.index(d) for d in order if d in kept], itemsize)
    elif node.op not in _ROW_MAJOR:
        operands = [found[s] for s in node.sources if s.shape == node.shape]
        return contiguous(node.shape, axis_order(node.shape, operands), itemsize)
    return contiguous(node.shape, axes, itemsize)
