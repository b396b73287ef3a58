"""The values that the names of a program stand for during code generation.

A :class:`Number` is a Python number, a :class:`Scalar` the element of a 0-d array, both in registers. A
:class:`StridedView` is an array in memory with an offset and strides: taking a view costs nothing. A :class:`Thunk` is
a lazy array without memory: its elements are computed where they are read. The memory behind a view or a thunk may be
overwritten later; before a write, live values that read the old contents are materialized.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tnp.core.dtypes import DType
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Operand, Register

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["Array", "At", "Memory", "Number", "Scalar", "Stride", "StridedView", "Thunk"]

#: a position: an integer a dimension
At: TypeAlias = "tuple[Int, ...]"
#: bytes from one element to the next: a number, or, made of sizes, an integer of the program
Stride: TypeAlias = "int | Int"


@dataclass(frozen=True)
class Number:
    """A Python number. ``value`` is an operand; of an ``int``, an :class:`Int`."""

    python_type: type
    value: Any


@dataclass(eq=False)
class Memory:
    """Memory that overlaps with no other. ``scope`` numbers it for alias analysis; ``level`` is the depth of the body
    that may write to it. ``is_new``: an operation of the program made what is in it, so that nobody else has that array."""

    pointer: Register
    scope: int
    level: int
    is_new: bool = False
    #: what the pointer may be, if it is another in each iteration of a loop
    homes: tuple[Register, ...] = ()
    #: all elements are indices of a dimension of this length
    indices_of: Int | None = None


class Scalar:
    """The element of a 0-d array."""

    shape: At = ()
    reads: frozenset[Memory] = frozenset()
    cost = 0

    def __init__(self, value: Operand, dtype: DType) -> None:
        self.value = value
        self.dtype = dtype

    def element(self, p: Program, at: At) -> Operand:
        return self.value


class StridedView:
    """An array in memory: its element at ``at`` is ``offset + sum(at * stride)`` bytes from the memory's beginning."""

    cost = 0

    def __init__(
        self, memory: Memory, dtype: DType, offset: Int, shape: Sequence[Int], strides: Sequence[Stride]
    ) -> None:
        self.memory = memory
        self.dtype = dtype
        self.offset = offset
        self.shape: At = tuple(shape)
        self.strides = tuple(s.constant if isinstance(s, Int) and not s.terms else s for s in strides)
        self.reads = frozenset((memory,))

    def like(self, offset: Int, shape: Sequence[Int], strides: Sequence[Stride]) -> StridedView:
        """Another view of the same memory."""
        return StridedView(self.memory, self.dtype, offset, shape, strides)

    def where(self, at: At) -> Int:
        """How many bytes an element is from the memory's beginning."""
        total = self.offset
        for i, stride in zip(at, self.strides):
            total = total + i * stride
        return total

    def element(self, p: Program, at: At) -> Operand:
        return p.load(self, at)

    def same_as(self, other: object) -> bool:
        """Whether the other array is the very same elements of the same memory."""
        return (
            isinstance(other, StridedView)
            and (self.memory, self.offset, self.shape) == (other.memory, other.offset, other.shape)
            and self.strides == other.strides
        )


class Thunk:
    """An array whose elements ``make`` computes; ``cost`` is about how many operations one takes, ``reads`` what memory. ``cuts`` are the
    positions along a dimension at which what is read begins anew."""

    def __init__(
        self,
        shape: Sequence[Int],
        dtype: DType,
        make: Callable[[Program, At], Operand],
        reads: frozenset[Memory] = frozenset(),
        cost: int = 0,
        cuts: Mapping[int, tuple[Int, ...]] | None = None,
    ) -> None:
        self.shape: At = tuple(shape)
        self.dtype = dtype
        self.make = make
        self.reads = reads
        self.cost = cost
        self.cuts = cuts or {}

    def element(self, p: Program, at: At) -> Operand:
        return self.make(p, at)


Array: TypeAlias = "Scalar | StridedView | Thunk"
