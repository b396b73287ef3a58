"""The loop IR: kernels of loop nests over buffers whose sizes may be symbolic.

A :class:`Kernel` has buffers and nests. A :class:`Nest` has loops, and statements that run at each of their points: a
:class:`Store` writes an element, a :class:`Reduce` combines one with what its place has, a :class:`Scan` writes partial results. :class:`Rows` are nests inside of loops
that they share, and of :class:`Skewed` nests one follows the other some rows behind. Elements are expressions: loads,
constants, numbers, operations (rows of the table of elementwise prims), conversions, and positions. Each has a dtype.

Indices are :class:`~tnp.executors.llvm.index.Index`: one a dimension, affine in the loops' variables and in :class:`Element`, the values
of arrays of indices. A :class:`Check` that these are in bounds stands before what writes to the caller's memory. Sizes are integers or
:class:`~tnp.core.symbols.Extent`. :mod:`.printing` shows a kernel, :mod:`.verify` checks it, :mod:`.fusion` rewrites
it, :mod:`.emitter` writes LLVM IR.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from tnp.core import symbols
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.index import Atom, Index, Part, Var, linear

__all__ = [
    "ORDERED",
    "Apply",
    "Buffer",
    "Centered",
    "Check",
    "Compress",
    "Constant",
    "Convert",
    "Element",
    "Entry",
    "Expression",
    "InPlace",
    "Kernel",
    "Load",
    "Moments",
    "Nest",
    "Number",
    "Panels",
    "Parameter",
    "Position",
    "Positions",
    "Reduce",
    "Rows",
    "Scan",
    "Scatter",
    "Search",
    "Size",
    "Skewed",
    "Statement",
    "Store",
    "Swept",
    "c_strides",
    "cost_of",
    "elements_in",
    "loads_in",
    "operands_of",
    "order_of",
    "product",
    "statements_of",
    "steps_of",
    "subexpressions",
]  # fmt: skip

#: an integer, or an ``Extent``
SizeOf: TypeAlias = Any


def product(sizes: Iterable[SizeOf]) -> SizeOf:
    """The product of sizes."""
    result: Any = 1
    for n in sizes:
        result = result * n
    return result


def c_strides(shape: Sequence[SizeOf], itemsize: int) -> tuple[SizeOf, ...]:
    """The strides of an array in C order."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step = n * step
    return tuple(reversed(strides))


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory in C order, or with ``strides`` in bytes. ``role``: ``"input"``, ``"output"``, ``"inout"`` (the caller's, which the kernel reads, writes, or both),
    ``"temporary"``, ``"row"``: a temporary that is private to an iteration of the shared loops around its uses, or ``"point"``: one that is
    private to a point of a nest, a register."""

    name: str
    dtype: DType
    shape: tuple[SizeOf, ...]
    role: str = "temporary"
    strides: tuple[int, ...] | None = None

    @property
    def bytes(self) -> SizeOf:
        """What it takes."""
        return product([*self.shape, self.dtype.itemsize])

    def offset(self, at: Sequence[Index]) -> Index:
        """How many bytes an element is from the first."""
        return linear(at, self.strides or c_strides(self.shape, self.dtype.itemsize))


@dataclass(frozen=True)
class Constant:
    """A number, as ``dtype`` has it."""

    value: Any
    dtype: DType


@dataclass(frozen=True)
class Number:
    """A Python number that the caller passes, at full width: the input ``index``."""

    index: int
    python_type: type
    dtype: DType


@dataclass(frozen=True)
class Size:
    """A symbolic size as an element."""

    size: SizeOf
    dtype: DType


@dataclass(frozen=True)
class Position:
    """The value of an index as an element."""

    index: Index
    dtype: DType


@dataclass(frozen=True)
class Load:
    """An element of a buffer."""

    buffer: Buffer
    at: tuple[Index, ...]

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


@dataclass(frozen=True, eq=False)
class Apply:
    """An elementwise prim of operands that have the dtype ``of`` (``where``: the values have)."""

    op: str
    args: tuple[Expression, ...]
    of: DType
    dtype: DType


@dataclass(frozen=True, eq=False)
class Convert:
    """``x`` as ``dtype``: its value, or with ``bits`` its bytes."""

    x: Expression
    dtype: DType
    bits: bool = False


Expression: TypeAlias = "Constant | Number | Size | Position | Load | Apply | Convert"


class Element(Atom):
    """The value of ``x``, an integer, as a position in a dimension of ``limit`` elements, from its end if it is negative. One out of
    bounds is some position, and a :class:`Check` refuses the arguments."""

    __slots__ = ("x",)

    def __init__(self, x: Expression, limit: SizeOf) -> None:
        super().__init__(limit)
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self.x is other.x and self.limit == other.limit

    def __hash__(self) -> int:
        return hash((id(self.x), self.limit))


@dataclass(frozen=True, eq=False)
class _Statement:
    buffer: Buffer
    at: tuple[Index, ...]
    value: Expression

    @cached_property
    def reads(self) -> tuple[Load, ...]:
        """What it reads: for its value, and for its place."""
        found = dict.fromkeys(loads_in(self.value))
        for x in elements_in(self.at):
            found.update(dict.fromkeys(loads_in(x)))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Store(_Statement):
    """``buffer[at] = value``. Its loops go over all elements of the buffer, or over those of a part, which it updates."""


@dataclass(frozen=True, eq=False)
class Reduce(_Statement):
    """``buffer[at] = op(buffer[at], value)`` over the loops ``over``, from the neutral element on; ``op`` is a row of the table
    of reductions."""

    op: str
    over: tuple[Var, ...]


@dataclass(frozen=True, eq=False)
class Scan(_Statement):
    """``buffer[at]`` is the reduction ``op`` of the values up to this point of the loop ``along``, in their order. Alone in its nest."""

    op: str
    along: Var


@dataclass(frozen=True, eq=False)
class Positions(_Statement):
    """``buffer`` is the positions of the loop ``along`` at which ``value``, a bool, is true, from ``at`` on. One element behind its end
    may be written, too. Alone in its nest."""

    along: Var


@dataclass(frozen=True, eq=False)
class Compress(_Statement):
    """``buffer`` is ``value`` at the points of the loop ``along`` at which ``mask``, a bool, is true, in order. With others of the same mask
    alone in its nest."""

    mask: Load
    along: Var

    @cached_property
    def reads(self) -> tuple[Load, ...]:
        return (*super().reads, self.mask)


@dataclass(frozen=True, eq=False)
class Search(_Statement):
    """``buffer[at]`` is the number of iterations of the loop ``along`` for which ``value``, a bool, is true. ``value`` is true up to some
    iteration and false from there on, so a search finds that one. Alone in its nest."""

    along: Var


@dataclass(frozen=True, eq=False)
class Scatter(_Statement):
    """``buffer[at] = value``, or with ``adds`` that added to what is there, where several points may have one place: the loops ``ordered``
    go in their order. Alone in its nest."""

    adds: bool
    ordered: tuple[Var, ...]


@dataclass(frozen=True, eq=False)
class InPlace(_Statement):
    """For each point of the other loops: ``buffer[at] = value`` over the loops ``inner``, of a row or a matrix, and then ``op``, one of
    :data:`~tnp.executors.llvm.routines.ROUTINES`, of these elements in place. Alone in its nest."""

    op: str
    inner: tuple[Var, ...]


Statement: TypeAlias = "Store | Reduce | Scan | Positions | Compress | Search | Scatter | InPlace"
#: statements that run in the order of loops
ORDERED = (Scan, Positions, Compress, Search, Scatter, InPlace)


def order_of(s: Statement) -> tuple[Var, ...]:
    """The loops that a statement goes through in their order."""
    if isinstance(s, (Scan, Positions, Compress, Search)):
        return (s.along,)
    return s.ordered if isinstance(s, Scatter) else s.inner if isinstance(s, InPlace) else ()


@dataclass(eq=False)
class Nest:
    """Loops, outermost first, and what runs at each of their points, in order. Loops over which nothing is reduced or scanned are parallel."""

    loops: tuple[Var, ...]
    statements: list[Statement]

    @property
    def reduced(self) -> tuple[Var, ...]:
        """The loops over which statements reduce: all of them do, or those beside stores over the innermost ones."""
        return next((s.over for s in self.statements if isinstance(s, Reduce)), ())


@dataclass(eq=False)
class Rows:
    """Nests inside of loops that they share, which are parallel: each iteration runs the nests in order."""

    loops: tuple[Var, ...]
    nests: list[Nest]


@dataclass(eq=False)
class Panels(Rows):
    """Nests that share the rows of a product of matrices, which the first of them is: the sum over its second loop of elements of one
    matrix times those of another. The product is made by panels of rows."""


@dataclass(eq=False)
class Skewed:
    """Two nests that run together: row ``j`` of the second, which is an iteration of its outermost loop, comes after the rows
    ``j + low`` to ``j + high`` of the first. ``made`` has a byte for each row of the second."""

    first: Nest | Rows
    second: Nest | Rows
    low: int
    high: int
    made: Buffer


@dataclass(eq=False)
class Swept:
    """Nests whose outermost loop is ``rows``, which they share: each row goes through all of them in order. Some add rows up."""

    rows: Var
    parts: list[Nest | Rows]

    @property
    def loops(self) -> tuple[Var, ...]:
        """The loop that is shared."""
        return (self.rows,)


@dataclass(eq=False)
class Moments:
    """A nest that sums values, and maybe others. In the same pass over memory it sums what :class:`Centered` needs for ``squares``, the sum
    of the squares of the distances of the values of ``total`` to ``center``, over the same loops."""

    first: Nest
    total: Reduce
    squares: Reduce
    center: Expression


@dataclass(eq=False)
class Centered:
    """The sum of squares of ``moments``, now that its center is known."""

    moments: Moments

    @property
    def nest(self) -> Nest:
        """The sum as a nest of its own."""
        return Nest(self.moments.first.loops, [self.moments.squares])


@dataclass(frozen=True, eq=False)
class Check:
    """The kernel ends here, and refuses its arguments, if ``buffer``, a bool, is true. Nothing of the caller's has been written."""

    buffer: Buffer


Entry: TypeAlias = "Nest | Rows | Skewed | Swept | Moments | Centered | Check"


def statements_of(entry: Nest | Rows | Skewed | Swept | Moments | Centered) -> Iterator[Statement]:
    """The statements of nests, in order."""
    if isinstance(entry, Nest):
        yield from entry.statements
        return
    if isinstance(entry, Moments):
        yield from entry.first.statements
        return
    if isinstance(entry, Centered):
        yield entry.moments.squares
        return
    if isinstance(entry, Swept):
        parts: Iterable[Nest | Rows] = entry.parts
    else:
        parts = entry.nests if isinstance(entry, Rows) else (entry.first, entry.second)
    for nest in parts:
        yield from statements_of(nest)


@dataclass(frozen=True)
class Parameter:
    """A Python number that is passed: its type, and from where to where the kernel takes it if it is an ``int``."""

    python_type: type
    low: int
    high: int


@dataclass(eq=False)
class Kernel:
    """The nests, in order. ``numbers`` are the Python numbers that are passed after the input buffers, which include those that
    are written."""

    inputs: list[Buffer] = field(default_factory=list)
    outputs: list[Buffer] = field(default_factory=list)
    temporaries: list[Buffer] = field(default_factory=list)
    numbers: list[Parameter] = field(default_factory=list)
    nests: list[Entry] = field(default_factory=list)
    #: memory whose elements may be anything before they are written
    undefined: set[Buffer] = field(default_factory=set)

    def cost(self) -> float:
        """What a call costs, in additions, where sizes are known."""
        return sum(_cost(entry, 1) for entry in self.nests if not isinstance(entry, Check))

    @property
    def buffers(self) -> list[Buffer]:
        """All memory, the caller's first."""
        return [*self.inputs, *self.outputs, *self.temporaries]


def _cost(entry: Nest | Rows | Skewed | Swept | Moments | Centered, times: int) -> float:
    if isinstance(entry, (Moments, Centered)):
        return 3 * _cost(entry.first, times) if isinstance(entry, Moments) else 0.0
    if isinstance(entry, Swept):
        return sum(_cost(part, times) for part in entry.parts)
    if isinstance(entry, Skewed):
        return _cost(entry.first, times) + _cost(entry.second, times)
    points = math.prod(v.limit for v in entry.loops) * times
    if isinstance(entry, Rows):
        return sum(_cost(nest, points) for nest in entry.nests)
    for s in entry.statements:
        if isinstance(s, Search):
            points = points // max(s.along.limit, 1) * steps_of(s)
    return float(points * cost_of(entry.statements))


def steps_of(s: Search) -> int:
    """At how many positions a search looks, in the call that was traced: each waits for the one before it, which takes as long as some additions."""
    return 2 * (symbols.value_of(symbols.number_of(s.along.limit)) or 1).bit_length()


def cost_of(statements: Sequence[Statement]) -> int:
    """Additions of one point."""
    found = {id(x): x for s in statements for x in subexpressions(s.value)}
    return 1 + sum(scalars.cost(x.op, x.of) for x in found.values() if isinstance(x, Apply) and x.op != "ldexp")


def subexpressions(x: Expression) -> Iterator[Expression]:
    """All parts of an expression, each once."""
    waiting, seen = [x], set()
    while waiting:
        y = waiting.pop()
        if id(y) in seen:
            continue
        seen.add(id(y))
        yield y
        waiting += operands_of(y)


def operands_of(x: Expression) -> Sequence[Expression]:
    """What an expression is computed from."""
    if isinstance(x, Load):
        return elements_in(x.at)
    if isinstance(x, Position):
        return elements_in((x.index,))
    return x.args if isinstance(x, Apply) else (x.x,) if isinstance(x, Convert) else ()


def elements_in(at: Iterable[Index]) -> list[Expression]:
    """The values of arrays of indices that a position depends on."""
    found: list[Expression] = []
    waiting = [i for i in at if not i.is_affine]
    for i in waiting:
        found += [atom.x for atom in i.terms if isinstance(atom, Element)]
        waiting += [atom.of for atom in i.terms if isinstance(atom, Part)]
    return found


def loads_in(x: Expression) -> Iterator[Load]:
    """The loads of an expression."""
    return (y for y in subexpressions(x) if isinstance(y, Load))
