"""Ctrl-C: the user's loops poll for it, and exit between two iterations.

``tnp_poll`` takes some 30 ns. To make its cost negligible, it is called about every :data:`~tnp.executors.llvm.target.POLL_INSTRUCTIONS` instructions, which
take some milliseconds. For a loop that may run that many:

- a ``for`` loop with a known number of instructions per iteration is split into *stretches* of that many iterations,
  with a poll in between. Inside a stretch the loop is unchanged, and LLVM vectorises it as before;
- any other loop (a ``while``, iterations with inner loops of unknown lengths) counts the instructions of its
  iterations. Inner loops add their trip counts before they begin.

A loop over elements is not interrupted, as in NumPy; nor are strip-mined loops, whose iterations are out of order. This
module decides which loops do what; :mod:`.emitter` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tnp.executors.llvm import target
from tnp.executors.llvm.program.instructions import weight
from tnp.executors.llvm.program.ir import Block, Instruction, Loop, While, parts_of

__all__ = ["Polls", "polls_of", "work_of_round"]

#: A loop that is surely over after so many budgets is not cut: it is short, mostly, and what cuts it takes longer.
LATE = 8

_AnyLoop: TypeAlias = "Loop | While"


@dataclass
class Polls:
    """What loops do so that Ctrl-C is heard."""

    #: by a ``for`` loop, the iterations of a stretch
    stretches: dict[Loop, int] = field(default_factory=dict)
    #: by a loop, the instructions that each of its iterations counts
    counts: dict[_AnyLoop, int] = field(default_factory=dict)
    #: by a ``for`` loop that says before it begins what it will come to, how many bits an iteration's instructions have
    announces: dict[Loop, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.stretches or self.counts)


class _Durations:
    """What loops take."""

    def __init__(self, outside: Loop | None) -> None:
        #: the loop whose function this is
        self.outside = outside
        self._work: dict[_AnyLoop, float] = {}
        self._inner: dict[_AnyLoop, list[_AnyLoop]] = {}

    def inner(self, x: _AnyLoop) -> list[_AnyLoop]:
        """The loops right inside of a loop."""
        if x not in self._inner:
            self._inner[x] = [y for part in parts_of(x) for y in self.loops_in(part)]
        return self._inner[x]

    def loops_in(self, block: Block) -> Iterator[_AnyLoop]:
        """The outermost loops of a block that do not run in functions of their own."""
        for item in block:
            if isinstance(item, (Loop, While)):
                if not self.is_called(item):
                    yield item
            else:
                for part in parts_of(item):
                    yield from self.loops_in(part)

    def is_called(self, x: _AnyLoop) -> bool:
        return isinstance(x, Loop) and x.parallel is not None and x is not self.outside

    def work(self, x: _AnyLoop) -> float:
        """Instructions of an iteration but for those of inner loops of lengths that nobody knows."""
        if x not in self._work:
            self._work[x] = 3 + sum(map(self._work_of, parts_of(x)))
        return self._work[x]

    def _work_of(self, block: Block) -> float:
        total = 0.0
        for item in block:
            if isinstance(item, Instruction):
                total += weight(item)
            elif isinstance(item, (Loop, While)):
                whole = self.total(item)
                total += 0 if math.isinf(whole) else whole
            else:
                total += sum(map(self._work_of, parts_of(item)))
        return total

    def unknown(self, x: _AnyLoop) -> list[_AnyLoop]:
        return [y for y in self.inner(x) if math.isinf(self.total(y))]

    def total(self, x: _AnyLoop) -> float:
        """Instructions of a loop, infinite if nobody knows."""
        if self.is_called(x):
            return target.POLL_INSTRUCTIONS
        if isinstance(x, While) or self.unknown(x):
            return math.inf
        return self.work(x) * x.most


def polls_of(block: Block, outside: Loop | None = None) -> Polls:
    """What the loops of a function do. ``outside`` is the loop that the function takes iterations of, which is not cut."""
    durations, polls = _Durations(outside), Polls()
    for x in durations.loops_in(block):
        if durations.total(x) > target.POLL_INSTRUCTIONS:
            _visit(polls, durations, x, counts=False, cuts=x is not outside)
    return polls


def work_of_round(loop: Loop) -> float:
    """Instructions of an iteration, infinite if it has loops of lengths that nobody knows."""
    durations = _Durations(loop)
    return math.inf if durations.unknown(loop) else durations.work(loop)


def _visit(polls: Polls, durations: _Durations, x: _AnyLoop, *, counts: bool, cuts: bool = True) -> None:
    """A loop that may take long; ``counts``: a loop around it wants to know how long it takes; ``cuts``: it may be cut."""
    inner, unknown, work = durations.inner(x), durations.unknown(x), durations.work(x)
    if isinstance(x, Loop) and not x.iterations:
        for y in inner:
            _visit(polls, durations, y, counts=counts)
        if counts and not unknown:
            _announce(polls, x, work)
        return
    counted = isinstance(x, While) or bool(unknown)
    for y in unknown:
        _visit(polls, durations, y, counts=counted)
    for y in inner:
        if target.POLL_INSTRUCTIONS < durations.total(y) < math.inf:
            _visit(polls, durations, y, counts=False)
    if counted:
        polls.counts[x] = min(target.POLL_INSTRUCTIONS, max(1, int(work)))
        return
    assert isinstance(x, Loop)
    iterations = max(1, int(target.POLL_INSTRUCTIONS / max(work, 1)))
    if cuts and iterations * LATE < x.bound and iterations < x.most:
        polls.stretches[x] = iterations
    if counts:
        _announce(polls, x, work)


def _announce(polls: Polls, x: Loop, work: float) -> None:
    # An iteration that takes longer than is polled for counts as that: a shift by 64 bits and more is undefined.
    work = min(work / x.least_step, target.POLL_INSTRUCTIONS)
    polls.announces[x] = max(0, round(math.log2(max(work, 1))))
