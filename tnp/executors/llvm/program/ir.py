"""The IR of whole loops: typed instructions in three-address form, in blocks, loops and branches.

A block is a list of items. An :class:`Instruction` has an operation (a row of the table in :mod:`.instructions`),
operands and a result. A :class:`Loop` counts, a :class:`While` asks, a :class:`Branch` chooses. An operand is a
:class:`Register`, a :class:`Constant`, or an :class:`~tnp.executors.llvm.program.integers.Int`, which is affine in
registers. A register is assigned once; a :class:`Cell` is a variable.

:class:`Builder` appends instructions to a block. :mod:`.parallel`, :mod:`.interrupts` and :mod:`.emitter` read them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.program.integers import HIGHEST, LOWEST, Atom, Int
from tnp.executors.llvm.scalars.registers import Value, known_float

if TYPE_CHECKING:
    from tnp.executors.llvm.program.values import Memory

__all__ = [
    "FALSE",
    "TRUE",
    "Access",
    "Allocation",
    "Block",
    "Branch",
    "Builder",
    "Cell",
    "Constant",
    "Instruction",
    "Item",
    "Loop",
    "LoopVariable",
    "Operand",
    "Register",
    "While",
    "constant",
    "instructions_in",
    "items_in",
    "parts_of",
    "registers_in",
    "whole_number",
]


class Register:
    """A value that an instruction makes; ``dtype`` is ``None`` for an address."""

    __slots__ = ("dtype", "name")

    def __init__(self, dtype: DType | None, name: str) -> None:
        self.dtype = dtype
        self.name = name

    def __repr__(self) -> str:
        return self.name


class LoopVariable(Register):
    """The variable of a loop."""

    __slots__ = ()


@dataclass(frozen=True)
class Constant:
    """A number, as LLVM spells it."""

    text: Value
    dtype: DType

    def __repr__(self) -> str:
        value = known_float(self.text) if isinstance(self.text, str) and self.dtype.kind == "f" else None
        return str(self.text if value is None else value)


def constant(x: Any, dtype: DType) -> Constant:
    """A Python number as ``dtype``. Raises ``OverflowError`` if it does not fit."""
    return Constant(scalars.constant(x, dtype), dtype)


TRUE, FALSE = constant(True, dtypes.bool8), constant(False, dtypes.bool8)

Operand: TypeAlias = "Register | Constant | Int"


class Cell:
    """A variable: ``dtype`` is ``None`` for an address. ``inside`` are the loops that it was made in."""

    __slots__ = ("dtype", "inside", "name")

    def __init__(self, dtype: DType | None, name: str, inside: Sequence[Loop]) -> None:
        self.dtype = dtype
        self.name = name
        self.inside = tuple(inside)

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Allocation:
    """Memory of the program's own, of ``size`` bytes: a number, or an integer and the bool whether it is more than there is."""

    register: Register
    size: int | tuple[Int, Operand]
    on_stack: bool
    inside: tuple[Loop, ...]


@dataclass(frozen=True)
class Access:
    """What a load or a store touches: an element of ``dtype``, ``offset`` bytes from the beginning of a memory."""

    memory: Memory
    offset: Int
    dtype: DType
    stores: bool


@dataclass(eq=False, slots=True)
class Instruction:
    """``result = op(args)``; ``info`` is what ``op`` needs besides."""

    op: str
    args: tuple[Any, ...]
    result: Register | None = None
    info: Any = None
    #: a second result
    also: Register | None = None

    @property
    def results(self) -> tuple[Register, ...]:
        """The registers that it makes."""
        return tuple(r for r in (self.result, self.also) if r is not None)


@dataclass(eq=False)
class Loop:
    """``for variable in range(first, last, step)``, where it is known whether ``step`` is positive. ``some`` is the bool whether it has
    iterations."""

    variable: LoopVariable
    first: Int
    last: Int
    step: Int
    some: Operand
    #: about how many iterations it has; at most, infinite if that is anybody's guess; and surely at most
    trips: float
    most: float
    bound: float
    #: whether its iterations are iterations of a loop of the user's, in their order
    iterations: bool = False
    #: whether it goes over elements, and may be written out if it is short
    of_elements: bool = False
    #: whether it sums up few elements, or many: nobody knows
    few: bool = False
    body: Block = field(default_factory=list)
    #: instructions of an iteration, about
    work: float = 0.0
    #: whether it is written once for each iteration
    is_written_out: bool = False
    #: what it needs to run on all threads, if it may and should
    parallel: Any = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.first, self.last, self.some, self.step

    @property
    def ascends(self) -> bool:
        return self.step.low > 0

    @property
    def least_step(self) -> int:
        """How far one iteration is from the next, at least."""
        return min(abs(self.step.low), abs(self.step.high))


@dataclass(eq=False)
class While:
    """Runs ``test``, and while ``goes_on`` is true, ``body`` and ``test`` again."""

    test: Block = field(default_factory=list)
    goes_on: Operand = TRUE
    body: Block = field(default_factory=list)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.goes_on,)


@dataclass(eq=False)
class Branch:
    """``then`` if ``condition`` is true, ``otherwise`` if not. Nobody can tell which, if it ``is_unpredictable``."""

    condition: Operand
    then: Block = field(default_factory=list)
    otherwise: Block = field(default_factory=list)
    is_unpredictable: bool = False

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.condition,)


Item: TypeAlias = "Instruction | Loop | While | Branch"
Block: TypeAlias = "list[Item]"


def parts_of(item: Item) -> tuple[Block, ...]:
    """The blocks in an item."""
    if isinstance(item, Loop):
        return (item.body,)
    if isinstance(item, While):
        return item.test, item.body
    return (item.then, item.otherwise) if isinstance(item, Branch) else ()


def items_in(block: Block) -> Iterator[Item]:
    """All items, and those in them, in order."""
    for item in block:
        yield item
        for part in parts_of(item):
            yield from items_in(part)


def instructions_in(block: Block) -> Iterator[Instruction]:
    """All instructions, in order."""
    return (item for item in items_in(block) if isinstance(item, Instruction))


def whole_number(x: Operand, low: int = LOWEST, high: int = HIGHEST, most: Int | None = None) -> Int:
    """A 64-bit integer, with bounds."""
    if isinstance(x, Constant):
        assert isinstance(x.text, str)
        return Int(int(x.text))
    return x if isinstance(x, Int) else Int.of(Atom(x, low, high, most))


def registers_in(x: Any) -> Iterator[Register]:
    """The registers of an operand."""
    if isinstance(x, Register):
        yield x
    elif isinstance(x, Int):
        for atom in x.terms:
            for factor in atom.factors:
                if isinstance(factor.register, Register):
                    yield factor.register


class Builder:
    """Appends instructions to a block.

    It has many methods: they are the vocabulary of the rules.
    """

    def __init__(self, names: Iterator[int] | None = None) -> None:
        self.names = itertools.count() if names is None else names
        self.block: Block = []

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """What is appended inside goes to another block."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @contextmanager
    def when(self, condition: Operand) -> Iterator[None]:
        """What is appended inside runs if the condition is true."""
        branch = Branch(condition)
        self.block.append(branch)
        with self.inside(branch.then):
            yield

    def register(self, dtype: DType | None) -> Register:
        return Register(dtype, f"%{next(self.names)}")

    def make(self, op: str, args: Sequence[Any], dtype: DType | None, info: Any = None) -> Register:
        """Appends an instruction; its result, of ``dtype``."""
        result = self.register(dtype)
        self.block.append(Instruction(op, tuple(args), result, info))
        return result

    def do(self, op: str, *args: Any, info: Any = None) -> Instruction:
        """Appends an instruction without a result."""
        made = Instruction(op, args, None, info)
        self.block.append(made)
        return made

    # Elements

    def apply(self, name: str, args: Sequence[Operand], of: DType, dtype: DType) -> Register:
        """A row of the table of elementwise prims; ``of`` is the dtype of its operands."""
        return self.make("apply", args, dtype, (name, of))

    def convert(self, x: Operand, source: DType, target: DType) -> Operand:
        """NumPy's ``astype``."""
        return x if source is target else self.make("convert", (x,), target, source)

    def bitcast(self, x: Operand, source: DType, target: DType) -> Operand:
        """The bytes of ``x`` as another dtype."""
        return x if source is target else self.make("bitcast", (x,), target, source)

    def hidden(self, x: Operand, dtype: DType) -> Operand:
        """A constant that LLVM does not know."""
        return self.make("hidden", (x,), dtype)

    def raw(self, op: str, a: Operand, b: Operand, dtype: DType | None, result: DType | None = None) -> Register:
        """LLVM's binary instruction ``op`` of two operands of ``dtype``, which gives one of ``result`` (default: the same)."""
        return self.make("raw", (a, b), dtype if result is None else result, (op, dtype))

    def exactly(self, name: str, a: Operand, b: Operand) -> tuple[Register, Register]:
        """``a`` plus (``"sadd"``), minus or times ``b``, 64-bit integers, and whether that is more than 64 bits."""
        result, over = self.register(dtypes.int64), self.register(dtypes.bool8)
        self.block.append(Instruction("exactly", (a, b), result, name, over))
        return result, over

    def whole(self, op: str, a: Operand | int, b: Operand | int) -> Register:
        """LLVM's instruction ``op`` of two 64-bit integers."""
        return self.raw(op, _operand(a), _operand(b), dtypes.int64)

    def compare(self, condition: str, a: Operand | int, b: Operand | int) -> Register:
        """Whether ``a < b`` (``"slt"``), …, of 64-bit integers."""
        return self.raw(f"icmp {condition}", _operand(a), _operand(b), dtypes.int64, dtypes.bool8)

    def extreme(self, name: str, a: Operand | int, b: Operand | int) -> Register:
        """``smin``, ``smax`` or ``umin`` of two 64-bit integers."""
        return self.make("extreme", (_operand(a), _operand(b)), dtypes.int64, name)

    def select(self, condition: Operand, a: Operand, b: Operand, dtype: DType) -> Operand:
        """``a`` if the condition is true, else ``b``."""
        if isinstance(condition, Constant):
            return a if condition == TRUE else b
        return self.make("apply", (condition, a, b), dtype, ("where", dtype))

    # Bools

    def both(self, a: Operand, b: Operand) -> Operand:
        if FALSE in (a, b):
            return FALSE
        if TRUE in (a, b):
            return b if a == TRUE else a
        return self.raw("and", a, b, dtypes.bool8)

    def either(self, a: Operand, b: Operand) -> Operand:
        if TRUE in (a, b):
            return TRUE
        if FALSE in (a, b):
            return b if a == FALSE else a
        return self.raw("or", a, b, dtypes.bool8)

    def negated(self, a: Operand) -> Operand:
        if isinstance(a, Constant):
            return FALSE if a == TRUE else TRUE
        return self.raw("xor", a, TRUE, dtypes.bool8)

    # Variables and memory

    def get(self, cell: Cell) -> Register:
        """The value of a variable."""
        return self.make("get", (), cell.dtype, cell)

    def set(self, cell: Cell, value: Operand) -> None:
        self.do("set", value, info=cell)

    def address(self, pointer: Register, offset: Int | int) -> Register:
        """The address that is ``offset`` bytes behind another."""
        return self.make("address", (pointer, Int.of(offset)), None)

    def load(self, pointer: Register, offset: Int | int, dtype: DType | None, access: Access | None = None) -> Register:
        """What is in memory ``offset`` bytes behind an address."""
        return self.make("load", (pointer, Int.of(offset)), dtype, access)

    def store(
        self,
        pointer: Register,
        offset: Int | int,
        value: Operand,
        dtype: DType | None,
        access: Access | None = None,
    ) -> None:
        self.do("store", pointer, Int.of(offset), value, info=(dtype, access))


def _operand(x: Operand | int) -> Operand:
    return Int(x) if isinstance(x, int) else x
