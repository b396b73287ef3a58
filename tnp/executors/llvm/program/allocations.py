"""Memory that a program allocates: on the stack if it is small, otherwise on the heap.

An allocation returns a register at once. Its instructions are emitted when the program is complete, because they belong
to the function that uses the memory: an outlined loop has its own temporaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tnp.executors.llvm.program.integers import Int, row_major
from tnp.executors.llvm.program.values import StridedView

__all__ = ["Allocations", "extent"]

#: bytes of one temporary, and of all, that live on the stack
STACK_BYTES, STACK_TOTAL = 16 * 1024, 256 * 1024

#: what has to be declared for memory from the heap
DECLARATIONS = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"


@dataclass(frozen=True)
class _Allocation:
    #: a number, or the operand of an integer and the bool whether that is more than there is
    size: int | tuple[str, str]
    on_stack: bool
    #: how many lines the program had when it was requested
    line: int


class Allocations:
    """The memory of one program, by register."""

    def __init__(self) -> None:
        self._made: dict[str, _Allocation] = {}
        self._count = 0
        self._stack = 0

    def take(self, size: int | tuple[str, str], line: int) -> str:
        """The register of ``size`` bytes, aligned to 64. A size that is no number comes with the bool whether it is too large."""
        on_stack = isinstance(size, int) and size <= STACK_BYTES and self._stack + size <= STACK_TOTAL
        self._stack += size if isinstance(size, int) and on_stack else 0
        register = f"%memory{self._count}"
        self._count += 1
        self._made[register] = _Allocation(size, on_stack, line)
        return register

    def line_of(self, register: str) -> int | None:
        """How many lines the program had when that memory was requested; ``None`` for other memory."""
        found = self._made.get(register)
        return None if found is None else found.line

    def __iter__(self) -> Iterable[str]:
        return iter(list(self._made))

    @property
    def use_heap(self) -> bool:
        """Whether any is from the heap."""
        return any(not a.on_stack for a in self._made.values())

    def write(self, registers: Iterable[str]) -> tuple[list[str], str, list[str]]:
        """The instructions that make those, the bool whether there was too little (or nothing), and those that free them.

        They are not the program's any more."""
        lines: list[str] = []
        raws: list[str] = []
        lacking = ""
        for r in registers:
            made = self._made.pop(r)
            if made.on_stack:
                lines.append(f"  {r} = alloca [{made.size} x i8], align 64")
                continue
            raws.append(f"{r}.raw")
            if isinstance(made.size, int):
                size, too_large = str(made.size + 64), "false"
            else:
                size, too_large = f"{r}.sane", made.size[1]
                lines.append(f"  {r}.size = add i64 {made.size[0]}, 64")
                lines.append(f"  {r}.sane = select i1 {too_large}, i64 64, i64 {r}.size")
            lines += [
                f"  {r}.raw = call ptr @malloc(i64 {size})",
                f"  {r}.none = icmp eq ptr {r}.raw, null",
                f"  {r}.null = or i1 {r}.none, {too_large}",
                f"  {r}.at = ptrtoint ptr {r}.raw to i64",
                f"  {r}.up = add i64 {r}.at, 63",
                f"  {r}.down = and i64 {r}.up, -64",
                f"  {r} = inttoptr i64 {r}.down to ptr",
            ]
            if lacking:
                lines.append(f"  {r}.lacking = or i1 {lacking}, {r}.null")
            lacking = f"{r}.lacking" if lacking else f"{r}.null"
        return lines, lacking, [f"  call void @free(ptr {raw})" for raw in raws]


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
