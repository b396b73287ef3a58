"""The array values of a region: its prims, as nodes.

A node is an array. A *view* maps its elements to those of another node. A reduction, and a lookup at run-time indices,
have source nodes. All other nodes are computed element by element. Nodes are immutable: other executors claim updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate, pairwise, product
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.triton import scalars
from tnp.executors.triton.index import ZERO, Indices, Where, offset_of, quotient, remainder, row_major

__all__ = ["Graph", "Node", "Refused", "looks_up", "lower", "takes"]


class Refused(Exception):
    """The region cannot be compiled; others run it."""


class Node:
    """An array of the region, or a Python number.

    ``op`` is ``input``, ``number``, ``full``, ``iota``, ``view``, ``lookup``, ``reduce``, ``select`` (one of two
    sources, by position) or an elementwise prim. ``sources`` are nodes and Python numbers.
    """

    def __init__(
        self,
        op: str,
        shape: Sequence[int],
        dtype: DType,
        sources: Sequence[Any] = (),
        *,
        where: Where | None = None,
        **parameters: Any,
    ) -> None:
        self.op = op
        self.shape = tuple(shape)
        self.dtype = dtype
        self.sources = tuple(sources)
        self.where = where
        self.parameters = parameters

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The nodes among the sources."""
        return tuple(s for s in self.sources if isinstance(s, Node))

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype.shortname}{list(self.shape)}>"


class Graph:
    """A region: its inputs (arrays and numbers), its outputs, and all nodes in order."""

    def __init__(self) -> None:
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []
        self.nodes: list[Node] = []
        #: whether an index that is data may be out of bounds
        self.looks_up = False
        #: how many operations draw random numbers
        self.draws = 0


Rule = Callable[..., Node]
Checker = Callable[[BoundSymbol], bool]
_rules: dict[str, tuple[Rule, Checker]] = {}


def takes(bsym: BoundSymbol, *, random: bool = False) -> bool:
    """Whether every prim of a bound symbol can be part of a region (devices apart); with ``random``, draws of random numbers, too."""
    if random and bsym.sym.id in draws:
        return draws[bsym.sym.id][1](bsym)
    if not bsym.sym.is_prim:
        return bool(bsym.subsymbols) and all(takes(b, random=random) for b in bsym.subsymbols)
    if bsym.sym.executor is not None or prims.registry.get(bsym.sym.name) is not bsym.sym:
        return False
    arrays = [p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy)]
    if bsym.sym.name not in _rules or not isinstance(bsym.output, TensorProxy):
        return False
    known = all(type(n) is int and n > 0 for a in arrays for n in a.shape)
    return known and all(a.dtype.kind != "c" for a in arrays) and _rules[bsym.sym.name][1](bsym)


def looks_up(bsym: BoundSymbol) -> bool:
    """Whether part of a bound symbol reads at positions that are data."""
    return bsym.sym in (prims.take, prims.gather, prims.index_get) or any(map(looks_up, bsym.subsymbols))


def rule(*names: str, checker: Checker = lambda bsym: True) -> Callable[[Rule], Rule]:
    """Decorates what becomes of prims: ``f(output, *args, **kwargs)``, with nodes for arrays, gives the node of ``output``."""

    def decorate(f: Rule) -> Rule:
        for name in names:
            _rules[name] = f, checker
        return f

    return decorate


def lower(bound_symbols: Sequence[BoundSymbol], inputs: Sequence[Proxy], outputs: Sequence[Proxy]) -> Graph:
    """The graph of a region. Raises :class:`Refused` for what cannot be one."""
    graph = Graph()
    nodes: dict[str, Node] = {}
    for p in inputs:
        if isinstance(p, TensorProxy):
            node = Node("input", p.shape, p.dtype)
        elif isinstance(p, NumberProxy) and p.python_type in (bool, int, float):
            node = Node("number", (), dtypes.dtype_of_number(p.python_type))
        else:
            raise Refused(f"{p.name} is no array and no real number")
        nodes[p.name] = node
        graph.inputs.append(node)

    def argument(x: Any) -> Any:
        if isinstance(x, Proxy):
            if x.name not in nodes:
                raise Refused(f"{x.name} is no array of the region")
            return nodes[x.name]
        return [argument(y) for y in x] if isinstance(x, (tuple, list)) else x

    def lower_one(bsym: BoundSymbol) -> None:
        if bsym.sym.id in draws:
            graph.draws += 1
            args = [argument(a) for a in bsym.args]
            nodes[bsym.output.name] = draws[bsym.sym.id][0](bsym.output, graph.draws - 1, *args)
            return
        if not bsym.sym.is_prim:
            for sub in bsym.subsymbols:
                lower_one(sub)
            return
        args = [argument(a) for a in bsym.args]
        kwargs = {k: argument(v) for k, v in bsym.kwargs.items()}
        nodes[bsym.output.name] = _rules[bsym.sym.name][0](bsym.output, *args, **kwargs)

    for bsym in bound_symbols:
        lower_one(bsym)
    for p in outputs:
        node = nodes[p.name]
        if node.op in ("input", "number") or node in graph.outputs:  # each result is memory of its own
            node = Node("copy", node.shape, node.dtype, (node,))
        graph.outputs.append(node)
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for source in node.arrays:
                visit(source)
            graph.nodes.append(node)

    for node in graph.outputs:
        visit(node)
    graph.looks_up = any(n.op == "lookup" for n in graph.nodes)
    return graph


# Elementwise


def _is_spelled(bsym: BoundSymbol) -> bool:
    operands = [a.dtype for a in bsym.args if isinstance(a, TensorProxy)]
    if any(isinstance(a, complex) for a in bsym.args) or any(isinstance(a, NumberProxy) and a.python_type is complex for a in bsym.args):  # fmt: skip
        return False
    return scalars.supports(bsym.sym.name, operands[-1], bsym.args)


def _elementwise(name: str) -> Rule:
    return lambda output, *args: Node(name, output.shape, output.dtype, args)


for _name in (*scalars.SPELLINGS, "where"):
    rule(_name, checker=_is_spelled)(_elementwise(_name))


def _is_small_power(bsym: BoundSymbol) -> bool:
    a, n = bsym.args
    return isinstance(a, TensorProxy) and a.dtype.kind in "iu" and type(n) is int and 0 <= n <= MOST_POWER


#: integer powers up to this one are products
MOST_POWER = 64


def _power(output: TensorProxy, a: Any, n: Any) -> Node:
    """Powers of floating numbers are a function; those of integers products of squares, which wrap around as NumPy's do."""
    if output.dtype.kind == "f":
        return Node("pow", output.shape, output.dtype, (a, n))
    result = None
    while n:
        if n & 1:
            result = a if result is None else Node("mul", a.shape, a.dtype, (result, a))
        n >>= 1
        a = Node("mul", a.shape, a.dtype, (a, a)) if n else a
    return Node("convert_element_type", output.shape, output.dtype, (1,)) if result is None else result


rule("pow", checker=lambda b: _is_small_power(b) or _is_spelled(b))(_power)


def _fits(number: type, dtype: DType) -> bool:
    """Whether any number of that type can be stored as ``dtype``: NumPy raises for 300 as uint8."""
    return dtype.kind not in "iu" or number is bool or (number is int and dtype is dtypes.int64)


def _converts(bsym: BoundSymbol) -> bool:
    a, target = bsym.args
    if isinstance(a, NumberProxy):
        return a.python_type is not complex and target.kind != "c" and _fits(a.python_type, target)
    return target.kind != "c" and not isinstance(a, complex)


@rule("convert_element_type", checker=_converts)
def _convert(output: TensorProxy, a: Any, dtype: DType) -> Node:
    return Node("convert_element_type", output.shape, dtype, (a,))


@rule("clone")
def _clone(output: TensorProxy, a: Node) -> Node:
    return Node("copy", a.shape, a.dtype, (a,))


@rule("full", checker=lambda b: is_number(b.args[1]) and not isinstance(b.args[1], complex) and b.args[1] is not None)
def _full(output: TensorProxy, shape: Any, value: Any, **_: Any) -> Node:
    return Node("convert_element_type", output.shape, output.dtype, (value,))


def _is_plain_iota(bsym: BoundSymbol) -> bool:
    numbers = bsym.kwargs.get("start", 0), bsym.kwargs.get("step", 1)
    return bsym.kwargs["dtype"].kind in "iu" and all(type(x) is int for x in numbers)


@rule("iota", checker=_is_plain_iota)
def _iota(output: TensorProxy, length: Any, *, start: int = 0, step: int = 1, **_: Any) -> Node:
    return Node("iota", output.shape, output.dtype, start=start, step=step)


# Random numbers: a function of a seed, which each operation draws at each call, and of the position


def _is_plain_draw(bsym: BoundSymbol) -> bool:
    out = bsym.output
    known = isinstance(out, TensorProxy) and all(type(n) is int and n > 0 for n in out.shape)
    numbers = [a for a in bsym.args if isinstance(a, (NumberProxy, complex))]
    return known and not numbers and out.dtype.name in ("float32", "float64") and not bsym.kwargs.get("generator")


def _draw(output: TensorProxy, number: int, name: str, low: float = 0.0, high: float = 1.0) -> Node:
    """``name`` is ``uniform``, from ``low`` up to ``high``, or ``normal``, of that mean and deviation."""
    return Node("random", output.shape, output.dtype, number=number, name=name, low=float(low), high=float(high))


def _mask(output: TensorProxy, number: int, a: Node, p: float, channels: bool) -> Node:
    """What dropout keeps."""
    drawn = Node("random", output.shape, dtypes.float32, number=number, name="uniform", low=0.0, high=1.0)
    kept = Node("ge", output.shape, dtypes.bool8, (drawn, float(p)))
    return kept if output.dtype is dtypes.bool8 else Node("convert_element_type", output.shape, output.dtype, (kept,))


def _is_plain_mask(bsym: BoundSymbol) -> bool:
    return len(bsym.args) == 3 and bsym.args[2] is False and type(bsym.args[1]) is float and 0 not in bsym.output.shape


#: id of an operation that draws → what becomes of it, and its checker
draws: dict[Any, tuple[Callable[..., Node], Checker]] = {
    prims.uniform.id: (lambda out, number, shape, low, high: _draw(out, number, "uniform", low, high), _is_plain_draw),
    prims.normal.id: (lambda out, number, shape, mean, std: _draw(out, number, "normal", mean, std), _is_plain_draw),
    "torch_opaque.private.dropout_mask": (_mask, _is_plain_mask),
}
for _name, _kind in (("rand", "uniform"), ("rand_like", "uniform"), ("randn", "normal"), ("randn_like", "normal")):
    draws[f"torch_opaque.{_name}"] = lambda out, number, *rest, kind=_kind: _draw(out, number, kind), _is_plain_draw


# Views


def _view(source: Node, shape: Sequence[int], where: Where) -> Node:
    return Node("view", shape, source.dtype, (source,), where=where)


@rule("as_language")
def _as_language(output: TensorProxy, a: Node, name: str) -> Node:
    return a


@rule("broadcast_in_dim")
def _broadcast(output: TensorProxy, a: Node, shape: Any, dims: Sequence[int]) -> Node:
    return _view(a, output.shape, lambda at: tuple(ZERO if n == 1 else at[d] for n, d in zip(a.shape, dims)))


@rule("reshape")
def _reshape(output: TensorProxy, a: Node, shape: Any) -> Node:
    steps, own = row_major(output.shape), row_major(a.shape)

    def where(at: Indices) -> Indices:
        flat = offset_of(at, steps)
        return tuple(remainder(quotient(flat, step), n) if n > 1 else ZERO for step, n in zip(own, a.shape))

    return _view(a, output.shape, where)


@rule("transpose")
def _transpose(output: TensorProxy, a: Node, permutation: Sequence[int]) -> Node:
    return _view(a, output.shape, lambda at: tuple(at[permutation.index(d)] for d in range(len(permutation))))


@rule("squeeze")
def _squeeze(output: TensorProxy, a: Node, dims: Sequence[int]) -> Node:
    return _view(a, output.shape, lambda at: _with_zeros(at, dims))


def _with_zeros(at: Indices, dims: Sequence[int]) -> Indices:
    rest = iter(at)
    return tuple(ZERO if d in dims else next(rest) for d in range(len(at) + len(dims)))


@rule("slice")
def _slice(output: TensorProxy, a: Node, starts: Any, stops: Any, strides: Any = None) -> Node:
    steps = (1,) * len(starts) if strides is None else tuple(strides)
    return _view(a, output.shape, lambda at: tuple(i * step + start for i, step, start in zip(at, steps, starts)))


@rule("flip")
def _flip(output: TensorProxy, a: Node, dims: Sequence[int]) -> Node:
    return _view(
        a, a.shape, lambda at: tuple(i * -1 + (n - 1) if d in dims else i for d, (i, n) in enumerate(zip(at, a.shape)))
    )


@rule("select", checker=lambda b: type(b.args[2]) is int)
def _select(output: TensorProxy, a: Node, dim: int, index: int) -> Node:
    position = ZERO + index % a.shape[dim]
    return _view(a, output.shape, lambda at: (*at[:dim], position, *at[dim:]))


@rule("diagonal")
def _diagonal(output: TensorProxy, a: Node, offset: int, dim1: int, dim2: int) -> Node:
    def where(at: Indices) -> Indices:
        rest = iter(at[:-1])
        ends = {dim1: at[-1] + max(-offset, 0), dim2: at[-1] + max(offset, 0)}
        return tuple(ends[d] if d in ends else next(rest) for d in range(len(a.shape)))

    return _view(a, output.shape, where)


@rule("unfold", checker=lambda b: b.args[0].ndim > 0)
def _unfold(output: TensorProxy, a: Node, dim: int, size: int, step: int) -> Node:
    dim %= len(a.shape)
    return _view(a, output.shape, lambda at: (*at[:dim], at[dim] * step + at[-1], *at[dim + 1 : -1]))


# Joining, by position


@rule("concatenate")
def _concatenate(output: TensorProxy, arrays: Sequence[Node], dim: int) -> Node:
    """A chain of choices: from each array's end on, the next one."""
    ends = list(accumulate(a.shape[dim] for a in arrays))
    joined = arrays[-1]
    start = ends[-1] - joined.shape[dim]
    for a, (begin, end) in zip(reversed(arrays[:-1]), reversed(list(pairwise([0, *ends[:-1]])))):
        shape = (*a.shape[:dim], ends[-1] - begin, *a.shape[dim + 1 :])
        joined = Node("select", shape, a.dtype, (a, joined), dim=dim, split=end - begin)
        start = begin
    assert start == 0
    return joined


@rule(
    "pad",
    checker=lambda b: is_number(b.args[1]) and type(b.args[1]) is not complex and all(c[2] == 0 for c in b.args[2]),
)
def _pad(output: TensorProxy, a: Node, value: Any, config: Sequence[tuple[int, int, int]]) -> Node:
    """What is left of the array, dimension by dimension between what is filled in."""
    starts = [max(-low, 0) for low, _, _ in config]
    stops = [n - max(-high, 0) for n, (_, high, _) in zip(a.shape, config)]
    if any(x or y != n for x, y, n in zip(starts, stops, a.shape)):
        a = _slice(TensorProxy("", shape=[y - x for x, y in zip(starts, stops)], dtype=a.dtype), a, starts, stops)
    for d, (low, high, _) in enumerate(config):
        shapes = [(*a.shape[:d], n, *a.shape[d + 1 :]) for n in (low, high)]
        before, after = (
            [Node("convert_element_type", s, a.dtype, (value,))] if n > 0 else [] for s, n in zip(shapes, (low, high))
        )
        if before or after:
            a = _concatenate(output, [*before, a, *after], d)
    return a


# Scans: rows that a tile holds


#: elements of a row that a scan takes
MOST_SCANNED = 2**13


def _is_short(bsym: BoundSymbol) -> bool:
    a, dim = bsym.args
    return a.ndim > 0 and a.shape[dim] <= MOST_SCANNED and a.dtype.kind in "iuf"


def _scan(name: str) -> Rule:
    def lower(output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return Node("copy", a.shape, a.dtype, (a,))
        return Node("scan", a.shape, a.dtype, (a,), name=name, dim=dim % len(a.shape))

    return lower


for _name in ("cumsum", "cumprod"):
    rule(_name, checker=_is_short)(_scan(_name))


# Looking up


def _lookup(output: TensorProxy, a: Node, indices: Sequence[Node], where: Callable[..., Any]) -> Node:
    """``where(at)``: where each of ``indices`` is read, and the rest of the position, with ``None`` for what they say."""
    return Node("lookup", output.shape, output.dtype, (a, *indices), where=where)


@rule("take")
def _take(output: TensorProxy, a: Node, indices: Node, dim: int) -> Node:
    n = len(indices.shape)
    return _lookup(output, a, [indices], lambda at: ([at[dim : dim + n]], (*at[:dim], None, *at[dim + n :])))


@rule("gather")
def _gather(output: TensorProxy, a: Node, indices: Node, dim: int) -> Node:
    return _lookup(output, a, [indices], lambda at: ([at], (*at[:dim], None, *at[dim + 1 :])))


@rule("index_get", checker=lambda b: len(b.args[1]) > 0)
def _index_get(output: TensorProxy, a: Node, indices: Sequence[Node]) -> Node:
    n, k = len(indices[0].shape), len(indices)
    return _lookup(output, a, indices, lambda at: ([at[:n]] * k, ((None,) * k + at[n:])))


# Reductions


def _reduce(op: str, output_shape: Sequence[int], dtype: DType, a: Node, dims: Sequence[int]) -> Node:
    """A reduction; one over lengths of 1 alone only drops them."""
    dims = tuple(d % len(a.shape) for d in dims)
    long = tuple(d for d in dims if a.shape[d] != 1)
    if not long:
        return _view(a, output_shape, lambda at: _with_zeros(at, dims))
    if long != dims:
        short = tuple(d for d in dims if d not in long)
        kept = [n for d, n in enumerate(a.shape) if d not in short]
        a = _view(a, kept, lambda at: _with_zeros(at, short))
        long = tuple(d - sum(s < d for s in short) for d in long)
    if math.prod(a.shape[d] for d in long) <= UNROLLED:
        return _unrolled(op, dtype, a, long)
    return Node("reduce", output_shape, dtype, (a,), name=op, dims=long)


#: reductions of at most so many elements are written out, such as sums over the coordinates of a point: in a tile they waste threads
UNROLLED = 4
_PAIRS = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum", "any": "bitwise_or", "all": "bitwise_and"}


def _unrolled(op: str, dtype: DType, a: Node, dims: tuple[int, ...]) -> Node:
    """A reduction as operations on its elements, in their order."""
    wide = scalars.compute_dtype(a.dtype)
    shape = [n for d, n in enumerate(a.shape) if d not in dims]

    def element(place: tuple[int, ...]) -> Node:
        own = dict(zip(dims, place))

        def where(at: Indices) -> Indices:
            rest = iter(at)
            return tuple(ZERO + own[d] if d in own else next(rest) for d in range(len(a.shape)))

        found = _view(a, shape, where)
        return found if wide is a.dtype else Node("convert_element_type", shape, wide, (found,))

    first, *others = (element(p) for p in product(*(range(a.shape[d]) for d in dims)))
    made = reduce(lambda x, y: Node(_PAIRS[op], shape, wide, (x, y)), others, first)
    return made if wide is dtype else Node("convert_element_type", shape, dtype, (made,))


#: a reduction whose results are fewer programs than this leaves most of a device idle: parts are reduced first, by about ``PARTS`` programs
BUSY, PARTS = 256, 512
#: where reduced elements are apart in memory, a program computes so many neighbouring results (``emit`` chooses that tile)
NEIGHBOURS = 64
#: elements of a result that are worth parts, and those of a part, at least: where they are neighbours in memory, and where they are apart
WORTH_PARTS, SHORTEST = (2**16, 2**10), (2**10, 2**7)
_IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}


def _number_of_parts(a: Node, dims: Sequence[int]) -> int:
    """In how many parts a reduction is done, a power of two; 1 where parts gain nothing."""
    results = math.prod(n for d, n in enumerate(a.shape) if d not in dims)
    length = math.prod(a.shape[d] for d in dims)
    apart = max((d for d, n in enumerate(a.shape) if n != 1), default=0) not in dims
    programs = -(-results // NEIGHBOURS) if apart else results
    if not 0 < programs < BUSY or length < WORTH_PARTS[apart]:
        return 1
    return 1 << (min(PARTS // programs, length // SHORTEST[apart]).bit_length() - 1)


def _in_parts(op: str, output_shape: Sequence[int], dtype: DType, a: Node, dims: Sequence[int]) -> Node:
    """A reduction, in two steps where one would leave most of the device idle."""
    long = [d % len(a.shape) for d in dims]
    parts = _number_of_parts(a, long)
    if parts == 1:
        return _reduce(op, output_shape, dtype, a, dims)
    wide = scalars.compute_dtype(dtype)
    if wide is not dtype:
        a = Node("convert_element_type", a.shape, wide, (a,))
    kept = tuple(output_shape)
    lengths = [a.shape[d] for d in long]
    length = math.prod(lengths)
    steps = row_major(lengths)

    def where(at: Indices) -> Indices:
        rest = iter(at[1:])
        own = {d: remainder(quotient(at[0], step), n) for d, step, n in zip(long, steps, lengths)}
        return tuple(own[d] if d in own else next(rest) for d in range(len(a.shape)))

    line = _view(a, (length, *kept), where)
    width = -(-length // parts)
    missing = parts * width - length
    if missing:  # the last part is filled up with what changes nothing: for extremes, with an element
        filler = Node("convert_element_type", (missing, *kept), wide, (_IDENTITIES.get(op),))
        if op not in _IDENTITIES:
            filler = _view(line, (missing, *kept), lambda at: (ZERO, *at[1:]))
        line = Node("select", (parts * width, *kept), wide, (line, filler), dim=0, split=length)
    # The partial results have the parts as their outer dimension, so that neighbouring threads write neighbouring elements.
    tiles = _view(line, (parts, *kept, width), lambda at: (at[0] * width + at[-1], *at[1:-1]))
    partial = _reduce(op, (parts, *kept), wide, tiles, (len(kept) + 1,))
    made = _reduce(op, kept, wide, partial, (0,))
    return made if wide is dtype else Node("convert_element_type", kept, dtype, (made,))


def _reduction(name: str) -> Rule:
    return lambda output, a, dims: _in_parts(name, output.shape, output.dtype, a, tuple(dims))


for _name in ("sum", "prod", "amax", "amin", "any", "all"):
    rule(_name)(_reduction(_name))


def _arg_reduction(name: str) -> Rule:
    def lower_one(output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return Node("convert_element_type", output.shape, output.dtype, (0,))
        return Node("reduce", output.shape, output.dtype, (a,), name=name, dims=(dim,))

    return lower_one


for _name in ("argmax", "argmin"):
    rule(_name)(_arg_reduction(_name))


def _is_known_variance(bsym: BoundSymbol) -> bool:
    return bsym.args[0].dtype.bits >= 32 and type(bsym.kwargs["correction"]) in (int, float)


@rule("var", checker=_is_known_variance)
def _var(output: TensorProxy, a: Node, dims: Any, *, correction: float) -> Node:
    """In two passes: the mean, and the squares of the distances from it."""
    dims = tuple(dims)
    count = math.prod(a.shape[d] for d in dims)
    mean = Node("div", output.shape, a.dtype, (_in_parts("sum", output.shape, a.dtype, a, dims), float(count)))
    spread = _view(mean, a.shape, lambda at: tuple(i for d, i in enumerate(at) if d not in dims))
    distance = Node("sub", a.shape, a.dtype, (a, spread))
    squares = Node("mul", a.shape, a.dtype, (distance, distance))
    total = _in_parts("sum", output.shape, a.dtype, squares, dims)
    return Node("div", output.shape, a.dtype, (total, float(max(count - correction, 0))))
