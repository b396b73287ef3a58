"""Loops with independent iterations, on all threads.

:func:`choose` marks the loops that run in parallel; :mod:`.emitter` writes each as a function of its own. Iterations are
independent if

- each iteration reads and writes places of its own in the memory that the loop writes to. Offsets are sums of multiples
  of registers with bounds (:mod:`integers`). If all offsets in one memory have the same multiple of the loop's
  variable, and their remainders differ by less than a step of it, then no two iterations access the same place. (For
  columns, multiples of a row's length are removed first, if the rest lies within one row.);
- no value is carried: all other memory that is written was allocated inside the loop, and each thread gets its own;
- the loop has no early exit.

The result of an iteration does not depend on its thread, so results are bitwise equal for any number of threads.
Threads take chunks from a common counter (of a triangle's rows, some cost more than others). The length of a chunk does
not depend on the number of threads.

When a check fails in one iteration, later iterations may have run already. So such loops undo all writes of the
program, and Python runs the call: it raises the errors in program order. That needs a copy of the written memory, which
must be small compared with the work.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tnp.executors.llvm import target
from tnp.executors.llvm.program.allocations import undone
from tnp.executors.llvm.program.instructions import weight
from tnp.executors.llvm.program.integers import Atom, Int
from tnp.executors.llvm.program.ir import (
    TRUE,
    Access,
    Allocation,
    Block,
    Branch,
    Cell,
    Instruction,
    Loop,
    LoopVariable,
    Register,
    instructions_in,
    items_in,
    parts_of,
    registers_in,
)
from tnp.executors.llvm.program.values import Memory

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["UNKNOWN_TRIPS", "Parts", "choose", "measure", "most_of", "trips_of"]

#: iterations of a loop that is written out, and instructions that this may come to
UNROLLED, LONGEST_UNROLLED = 8, 250
#: the same of nested loops, where all that are written out come to no more than that
LONGEST_NEST, MOST_WRITTEN_OUT = 2400, 5000
#: iterations that a loop is taken to have if its bounds are arguments, or if they are read from arrays
UNKNOWN_TRIPS, READ_TRIPS = 32, 4
#: iterations that a loop may be taken to have though it mostly has fewer
FEW_TRIPS = 64
#: accesses to one memory that are compared
MOST_ACCESSES = 60
#: instructions for which a byte is copied that may have to be restored
WORK_PER_BYTE = 2
#: what branches
_BRANCHES = frozenset(("check", "break", "decline", "call"))


@dataclass
class Parts:
    """What a loop needs to run in a function of its own: registers from outside, and memory of each thread's own."""

    captures: list[Register] = field(default_factory=list)
    arrays: list[Allocation] = field(default_factory=list)
    may_fail: bool = False


def trips_of(begin: Int, end: Int, step: Int) -> float:
    """About how many iterations a loop has."""
    distance = (end - begin) if step.low > 0 else (begin - end)
    low, high = max(0, distance.low), max(0, distance.high)
    if high > 2**40:
        return UNKNOWN_TRIPS
    if not _is_of_loops(distance):
        return min(high, READ_TRIPS)
    return max(1.0, (low + high) / 2 / min(abs(step.low), abs(step.high)))


def most_of(begin: Int, end: Int, step: Int) -> tuple[float, float]:
    """How many iterations a loop has at most: about, infinite if that is anybody's guess, and surely."""
    distance = end - begin if step.low > 0 else begin - end
    bound = max(0, distance.high) / min(abs(step.low), abs(step.high))
    return bound if _is_of_loops(distance) or distance.high <= FEW_TRIPS else math.inf, bound


def _is_of_loops(x: Int) -> bool:
    """Whether an integer is made of loops' variables."""
    return all(isinstance(f.register, LoopVariable) for atom in x.terms for f in atom.factors)


# Work


def measure(block: Block) -> float:
    """Estimates how many instructions a block executes, with the likely number of iterations for each loop.

    Each loop gets its estimate, and whether it is written out. Nested loops are written out together, unless that makes more code than
    LLVM compiles quickly.
    """
    total = _measure(block, LONGEST_NEST)
    return total if _written_out(block) <= MOST_WRITTEN_OUT else _measure(block, LONGEST_UNROLLED)


def _measure(block: Block, longest: int) -> float:
    total = 0.0
    for item in block:
        if isinstance(item, Instruction):
            total += weight(item)
            continue
        inside = sum(_measure(part, longest) for part in parts_of(item))
        if isinstance(item, Loop):
            is_straight = _is_straight(item.body)
            item.is_written_out = is_straight and _is_short(item, inside, longest)
            item.work = inside if item.is_written_out else inside + 3
            if is_straight and not item.is_written_out:
                item.work *= target.VECTORISED
            inside = item.work * item.trips
        total += inside
    return total


def _written_out(block: Block) -> float:
    """The instructions in loops that are written out."""
    total = 0.0
    for item in block:
        if isinstance(item, Loop) and item.is_written_out:
            total += item.work * item.trips
        elif not isinstance(item, Instruction):
            total += sum(map(_written_out, parts_of(item)))
    return total


def _is_straight(block: Block) -> bool:
    """Whether there is nothing but straight-line code, without calls of anything but LLVM's own functions."""
    return all(
        item.op not in _BRANCHES if isinstance(item, Instruction) else isinstance(item, Loop) and item.is_written_out
        for item in block
    )


def _is_short(loop: Loop, work: float, longest: int) -> bool:
    """Whether a loop may be written once for each iteration, of so many instructions."""
    if not loop.of_elements or loop.some != TRUE or loop.first.known is None or loop.last.known is None:
        return False
    count = loop.last.known - loop.first.known
    return count <= UNROLLED and count * work <= longest


# Which loops


def choose(p: Program) -> list[Loop]:
    """Marks the loops of a program that run in parallel. Loops have been measured."""
    uses, found = _uses_in(p.body_block), []

    def visit(block: Block) -> None:
        for item in block:
            if isinstance(item, Loop) and item.work * item.trips >= 2 * target.GRAIN_IN_LOOPS:
                parts = _parts(p, item, uses)
                if parts is not None and _are_independent(item, parts):
                    item.parallel = parts
                    found.append(item)
                    continue
            for part in parts_of(item):
                visit(part)

    visit(p.body_block)
    return found


def _uses_in(block: Block) -> Counter[Register | Cell]:
    """How often registers and cells are used."""
    found: Counter[Register | Cell] = Counter()
    for item in items_in(block):
        if isinstance(item, Instruction):
            operands: Sequence[object] = item.args
            if isinstance(item.info, Cell):
                found[item.info] += 1
        else:
            operands = item.operands
        for x in operands:
            found.update(registers_in(x))
    return found


def _made_in(loop: Loop) -> set[Register]:
    found: set[Register] = {loop.variable}
    for item in items_in(loop.body):
        if isinstance(item, Instruction):
            found.update(item.results)
        elif isinstance(item, Loop):
            found.add(item.variable)
    return found


def _parts(p: Program, loop: Loop, uses: Counter[Register | Cell]) -> Parts | None:
    """What a loop uses; ``None`` if it cannot be a function of its own."""
    parts = Parts()
    if not loop.of_elements and any(x.op == "break" for x in _of_its_own(loop.body)):
        return None
    for x in instructions_in(loop.body):
        if x.op in ("call", "decline"):
            return None  # a library has threads of its own
        parts.may_fail = parts.may_fail or x.op == "check"
    made = _made_in(loop)
    for x, count in _uses_in(loop.body).items():
        inside = count == uses[x]
        if isinstance(x, Cell):
            if not inside or loop not in x.inside:
                return None  # what one iteration leaves there, another finds
            continue
        if x in made:
            continue
        born = p.allocations.get(x)
        if born is not None and inside and loop in born.inside:
            parts.arrays.append(born)
        else:
            parts.captures.append(x)
    if parts.may_fail and not _may_be_undone(p, loop):
        return None
    return parts


def _of_its_own(block: Block) -> Iterator[Instruction]:
    """The instructions of a block but for those in loops of the user's inside."""
    for item in block:
        if isinstance(item, Instruction):
            yield item
        elif isinstance(item, Branch) or (isinstance(item, Loop) and item.of_elements):
            for part in parts_of(item):
                yield from _of_its_own(part)


def _may_be_undone(p: Program, loop: Loop) -> bool:
    """Whether what the program writes can be copied before, and is little beside the work."""
    arrays, count = undone(p.written), loop.last - loop.first
    is_told = count.known is not None or count.is_of_sizes or _is_of_loops(count)
    trips = loop.trips if is_told else min(loop.trips, UNKNOWN_TRIPS)  # of a list there may be room for many more
    return arrays is not None and sum(size for _, _, size in arrays) * WORK_PER_BYTE <= loop.work * trips


def _accesses(loop: Loop) -> Iterator[Access]:
    for x in instructions_in(loop.body):
        access = x.info if x.op == "load" else x.info[1] if x.op == "store" else None
        if access is not None:
            yield access


def _are_independent(loop: Loop, parts: Parts) -> bool:
    """Whether no two iterations meet in memory that one of them writes to."""
    by_memory: dict[Memory, dict[tuple[Int, int, bool], None]] = {}
    accesses = list(_accesses(loop))
    own = {a.register for a in parts.arrays}

    def is_own(memory: Memory) -> bool:
        return own.issuperset(memory.homes or (memory.pointer,))

    if not all(is_own(x.info[3]) for x in instructions_in(loop.body) if x.op == "in_place"):
        return False
    written = {a.memory for a in accesses if a.stores and not is_own(a.memory)}
    for a in accesses:
        if a.memory in written:
            by_memory.setdefault(a.memory, {})[a.offset, a.dtype.itemsize, a.stores] = None
    made = _made_in(loop)

    def is_outside(atom: Atom) -> bool:
        return all(f.register not in made for f in atom.factors)

    return all(_are_apart(list(found), loop, is_outside) for found in by_memory.values())


def _are_apart(found: Sequence[tuple[Int, int, bool]], loop: Loop, is_outside: Callable[[Atom], bool]) -> bool:
    """Whether accesses to one memory in two iterations never meet."""
    if len(found) > MOST_ACCESSES:
        return False
    if _gap(found, loop, is_outside):
        return True
    # Columns: if all that is no multiple of a row's length lies within one, only places in one row can meet.
    rows = {abs(c) for offset, _, _ in found for a, c in offset.terms.items() if a.register is not loop.variable}
    for row in sorted(rows):
        rests = [(_rest(offset, row), size, stores) for offset, size, stores in found]
        width = max(rest.high + size for rest, size, _ in rests) - min(rest.low for rest, _, _ in rests)
        if width <= row and _gap(rests, loop, is_outside):
            return True
    return False


def _rest(offset: Int, row: int) -> Int:
    """``offset`` without multiples of ``row``."""
    half = row // 2
    terms = {a: c for a, c in offset.terms.items() if c % row}
    return Int((offset.constant + half) % row - half, terms)


def _gap(found: Sequence[tuple[Int, int, bool]], loop: Loop, is_outside: Callable[[Atom], bool]) -> bool:
    """Whether accesses in one iteration differ by less than the steps from one iteration to the next."""
    factors, split = set(), []
    for offset, size, stores in found:
        factor = 0
        fixed: dict[Atom, int] = {}
        varying: dict[Atom, int] = {}
        for atom, c in offset.terms.items():
            if atom.register is loop.variable:
                factor = c
            else:
                (fixed if is_outside(atom) else varying)[atom] = c
        factors.add(factor)
        split.append((Int(offset.constant, fixed), Int(0, varying), size, stores))
    if len(factors) != 1:
        return False
    gap = abs(factors.pop()) * loop.least_step
    for fixed_a, varying_a, size_a, stores in split:
        for fixed_b, varying_b, size_b, _ in split if stores else ():
            apart = fixed_a - fixed_b
            least = apart.low + varying_a.low - varying_b.high
            most = apart.high + varying_a.high - varying_b.low
            if least < size_b - gap or most > gap - size_a:
                return False
    return True
