"""Memory that a program allocates: on the stack if it is small, otherwise on the heap.

Who asks gets a register at once. What makes it is written with the function that uses the memory: an outlined loop has its own temporaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tnp.executors.llvm import target
from tnp.executors.llvm.program.integers import Int, row_major
from tnp.executors.llvm.program.ir import Allocation, Loop, Operand, Register
from tnp.executors.llvm.program.values import StridedView

__all__ = ["Allocations", "extent", "undone"]


class Allocations:
    """The memory of one program, by register."""

    def __init__(self) -> None:
        self._made: dict[Register, Allocation] = {}
        self._stack = 0

    def take(self, register: Register, size: int | tuple[Int, Operand], around: Sequence[Loop]) -> None:
        """Reserves ``size`` bytes, aligned to 64, whose address is ``register``; ``around`` are the loops that it is reserved in. A symbolic
        size comes with the bool whether it is too large."""
        on_stack = (
            isinstance(size, int) and size <= target.ARRAY_STACK_BYTES and self._stack + size <= target.LOOP_STACK_BYTES
        )
        self._stack += size if isinstance(size, int) and on_stack else 0
        self._made[register] = Allocation(register, size, on_stack, tuple(around))

    def get(self, register: Register) -> Allocation | None:
        """What is at that address; ``None`` if that is not the program's own."""
        return self._made.get(register)

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self._made.values())


def extent(place: StridedView) -> tuple[int, int | Int] | None:
    """Where the bytes of an array of the caller's begin, and how many there are; ``None`` if others lie between them."""
    if any(n.terms for n in place.shape):
        strides, size = row_major(place.shape, place.dtype.itemsize)
        return (0, size) if strides == [Int.of(s) for s in place.strides] else None
    if any(n.known == 0 for n in place.shape):
        return 0, 0
    low = high = 0
    step = place.dtype.itemsize
    known = [s.constant if isinstance(s, Int) else s for s in place.strides]
    for stride, n in sorted((abs(s), n.constant) for n, s in zip(place.shape, known) if n.constant != 1):
        if stride != step:
            return None
        step *= n
    for n, stride in zip(place.shape, known):
        reach = (n.constant - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high - low + place.dtype.itemsize


def undone(written: Sequence[StridedView]) -> Sequence[tuple[StridedView, int, int | Int]] | None:
    """What has to be copied so that writes can be undone: each array, where it begins, and its bytes."""
    found = [(place, extent(place)) for place in written]
    return None if any(e is None for _, e in found) else [(place, *e) for place, e in found if e is not None]
