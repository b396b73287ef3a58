"""Ctrl-C: the user's loops look for it now and then, and are left between two iterations.

Whether the user has pressed it, ``tnp_poll`` tells in some 30 ns. So that this costs nothing, it is asked only when
about :data:`BUDGET` instructions have run since it was asked last, some milliseconds: of a loop that may come to that
many,

- a ``for`` whose iterations are known to take so many instructions is cut into *stretches* of that many iterations,
  between which it is asked. What is inside of a stretch is the loop as it was, which LLVM vectorises as ever;
- any other (a ``while``, iterations with loops of lengths that nobody knows) counts what its iterations come to. Loops
  inside add how often they run before they begin.

A loop over elements, which NumPy would not leave either, is not interrupted; nor are loops that run strip by strip,
whose iterations are not in order. What is written here is put into lines of IR that are there: loops are found again by
the labels of their first blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tnp.runtime.launcher import INTERRUPTED

if TYPE_CHECKING:
    from tnp.executors.llvm.program.parallel import LoopRecord

__all__ = ["BUDGET", "asking", "work_of_round"]

#: instructions between two looks: 5 ms where each is vectorised, 80 ms where each waits for the second-level cache
BUDGET = 1 << 24
#: A loop that is surely over after so many budgets is not cut: it is short, mostly, and what cuts it takes longer.
LATE = 8
#: what a call of a function of another library counts, and a copy of memory
CALL, COPY = 16, 1 << 12

#: metadata of a branch whose second way is the usual one
_RARELY = ", !prof !1"

_LABELS = re.compile(r"label %([\w.]+)")


@dataclass
class _Loop:
    """A loop in lines: from the label of its first block to the branch back; ``span`` is that of a ``for``."""

    start: int
    end: int
    span: LoopRecord | None
    inner: list[_Loop] = field(default_factory=list)
    #: instructions of an iteration but for those of inner loops of lengths that nobody knows
    work: float = 0.0

    @property
    def unknown(self) -> list[_Loop]:
        return [x for x in self.inner if math.isinf(x.total)]

    @property
    def total(self) -> float:
        if self.span is None or self.unknown:
            return math.inf
        return self.work * self.span.most


def asking(
    lines: Sequence[str], loops: Mapping[str, LoopRecord | None], poll: str, outside: str = ""
) -> tuple[list[str], list[str]]:
    """The lines with what asks, and what has to be in the function's entry; the same lines if nothing takes long.

    ``loops``: those that there may be, by their first label, ``None`` for a ``while``. ``poll`` asks. ``outside`` is the label of a loop that is not to be cut.
    """
    writer = _Writer(lines, poll)
    for loop in _nested(lines, loops):
        if loop.total > BUDGET:
            writer.visit(loop, counts=False, cuts=lines[loop.start] != f"{outside}:")
    return writer.written(), writer.entry


def work_of_round(lines: Sequence[str], loops: Mapping[str, LoopRecord | None]) -> float:
    """Instructions of an iteration of the loop whose lines these are, infinite if it has loops of lengths that nobody knows."""
    (loop,) = _nested(lines, loops)
    return math.inf if loop.unknown else loop.work


def _nested(lines: Sequence[str], loops: Mapping[str, LoopRecord | None]) -> list[_Loop]:
    """The outermost loops, in order."""
    starts = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":") and line[:-1] in loops}
    ends: dict[str, int] = {}
    for i, line in enumerate(lines):
        if line.startswith("  br "):
            for label in _LABELS.findall(line):
                if starts.get(label, i) < i:
                    ends[label] = i
    roots: list[_Loop] = []
    around: list[_Loop] = []
    for label, start in starts.items():
        if label not in ends:  # the label of a loop that runs in a function of its own
            continue
        loop = _Loop(start, ends[label], loops[label])
        while around and around[-1].end < start:
            around.pop()
        (around[-1].inner if around else roots).append(loop)
        around.append(loop)
    for loop in roots:
        _count(loop, lines)
    return roots


def _count(loop: _Loop, lines: Sequence[str]) -> None:
    at = loop.start
    for x in loop.inner:
        _count(x, lines)
        loop.work += sum(map(_weight, lines[at : x.start]))
        loop.work += 0 if math.isinf(x.total) else x.total
        at = x.end + 1
    loop.work += sum(map(_weight, lines[at : loop.end + 1]))


def _weight(line: str) -> int:
    """What a line counts."""
    if not line.startswith("  "):
        return 0
    if "call " in line:
        if "@tnp_blas_" in line or "@tnp_parallel" in line:
            return BUDGET
        if "@llvm.memcpy" in line:
            return COPY
        return 1 if "@llvm." in line else CALL
    return CALL if " frem " in line else 1


class _Writer:
    """Puts lines between others."""

    def __init__(self, lines: Sequence[str], poll: str) -> None:
        self.lines = list(lines)
        self.poll = poll
        self.entry: list[str] = []
        #: lines that come before one, and behind it
        self.before: dict[int, list[str]] = {}
        self.behind: dict[int, list[str]] = {}
        #: blocks that have been cut in two: how the first part is called, and the second
        self.cut: dict[str, str] = {}

    def written(self) -> list[str]:
        """All lines."""
        found = []
        for i, line in enumerate(self.lines):
            found += [*self.before.get(i, ()), line, *self.behind.get(i, ())]
        return [self._renamed(line) if " = phi " in line else line for line in found]

    def _renamed(self, phi: str) -> str:
        return re.sub(r"(, %)([\w.]+)( \])", lambda m: m[1] + self.cut.get(m[2], m[2]) + m[3], phi)

    def visit(self, loop: _Loop, *, counts: bool, cuts: bool = True) -> None:
        """Writes what asks in a loop that may take long; ``counts``: a loop around it wants to know how long it takes; ``cuts``: it may be cut."""
        span = loop.span
        if span is not None and not span.iterations:
            for x in loop.inner:
                self.visit(x, counts=counts)
            if counts and not loop.unknown:
                self._announce(loop)
            return
        counted = span is None or bool(loop.unknown)
        for x in loop.unknown:
            self.visit(x, counts=counted)
        for x in loop.inner:
            if x.total > BUDGET and not math.isinf(x.total):
                self.visit(x, counts=False)
        if counted:
            self._count_iterations(loop)
            return
        iterations = max(1, int(BUDGET / max(loop.work, 1)))
        if cuts and iterations * LATE < span.bound and iterations < span.most:
            self._stretch(loop, span, iterations, counts)
        elif counts:
            self._announce(loop)

    def _announce(self, loop: _Loop) -> None:
        """Adds what a loop of an unknown length will come to, before it begins."""
        span, line = loop.span, self.lines[loop.start - 1]
        assert span is not None
        label = span.head
        first, last = (span.first, span.last) if span.step > 0 else (span.last, span.first)
        added = [f"  %long.{label} = sub i64 {last}, {first}"]
        iterations = f"%long.{label}"
        if line.startswith("  br i1 "):  # it may have no iterations
            added.append(f"  %some.{label} = icmp sgt i64 {iterations}, 0")
            added.append(f"  %iterations.{label} = select i1 %some.{label}, i64 {iterations}, i64 0")
            iterations = f"%iterations.{label}"
        self.before.setdefault(loop.start - 1, []).extend([*added, *self._add_iterations(loop, span, iterations)])

    def _add_iterations(self, loop: _Loop, span: LoopRecord, distance: str) -> list[str]:
        """Adds what the iterations over a distance will come to."""
        shift = max(0, round(math.log2(max(loop.work / abs(span.step), 1))))
        work = f"%work.{span.head}"
        return [f"  {work} = shl i64 {distance}, {shift}", *self._add(f"{span.head}.a", work)]

    def _add(self, name: str, work: str) -> list[str]:
        if not self.entry:
            self.entry = ["  %asked.work = alloca i64", "  store i64 0, ptr %asked.work"]
        return [
            f"  %so.far.{name} = load i64, ptr %asked.work",
            f"  %worked.{name} = add i64 %so.far.{name}, {work}",
            f"  store i64 %worked.{name}, ptr %asked.work",
        ]

    def _count_iterations(self, loop: _Loop) -> None:
        """Asks where an iteration begins (of a ``while``) or ends, if enough has been done."""
        label = self.lines[loop.start][:-1]
        work = min(BUDGET, max(1, int(loop.work)))
        onward = f"onward.{label}"
        text = [
            *self._add(label, str(work)),
            f"  %due.{label} = icmp ugt i64 %worked.{label}, {BUDGET}",
            f"  br i1 %due.{label}, label %ask.{label}, label %{onward}{_RARELY}",
            f"ask.{label}:",
            "  store i64 0, ptr %asked.work",
            *self._ask(label, onward),
            f"{onward}:",
        ]
        if loop.span is None:
            self.behind.setdefault(loop.start, []).extend(text)
            self.cut[label] = onward
        else:
            self.before.setdefault(loop.end - 2, []).extend(text)
            self.cut[_phi(self.lines[loop.start + 1])[-1]] = onward

    def _ask(self, label: str, onward: str) -> Iterator[str]:
        """Leaves, if the answer is yes."""
        yield f"  %asked.{label} = {self.poll}"
        yield f"  br i1 %asked.{label}, label %stop.{label}, label %{onward}"
        yield f"stop.{label}:"
        yield f"  store i64 {INTERRUPTED}, ptr %outcome"
        yield "  br label %leave"

    def _stretch(self, loop: _Loop, span: LoopRecord, iterations: int, counts: bool) -> None:
        """Cuts a ``for`` into stretches of so many iterations; ``counts``: and says before each what all that are left will come to."""
        label, step = span.head, span.step * iterations
        entering, phi = loop.start - 1, loop.start + 1
        first, before, following, current = _phi(self.lines[phi])
        compare, back = loop.end - 1, loop.end
        done = _LABELS.findall(self.lines[back])[1]
        more, test = self.lines[compare].strip().split(" = ", 1)
        test, last = test.rsplit(", ", 1)
        stretch, again = f"stretch.{label}", f"again.{label}"
        self.lines[entering] = re.sub(rf"label %{re.escape(label)}(?![\w.])", f"label %{stretch}", self.lines[entering])
        distance = f"{last}, %from.{label}" if step > 0 else f"%from.{label}, {last}"
        self.before.setdefault(loop.start, []).extend([
            f"{stretch}:",
            f"  %from.{label} = phi i64 [ {first}, %{before} ], [ {following}, %{again} ]",
            f"  %left.{label} = sub i64 {distance}",
            *(self._add_iterations(loop, span, f"%left.{label}") if counts else ()),
            f"  %far.{label} = icmp ugt i64 %left.{label}, {abs(step)}",
            f"  %next.{label} = add i64 %from.{label}, {step}",
            f"  %until.{label} = select i1 %far.{label}, i64 %next.{label}, i64 {last}",
            f"  br label %{label}",
        ])  # fmt: skip
        self.lines[phi] = f"  {span.variable} = phi i64 [ %from.{label}, %{stretch} ], [ {following}, %{current} ]"
        self.lines[compare] = f"  {more} = {test}, %until.{label}"
        self.lines[back] = self.lines[back].replace(f"label %{done}", f"label %between.{label}", 1)
        self.behind.setdefault(back, []).extend([
            f"between.{label}:",
            f"  %goes.on.{label} = {test}, {last}",
            f"  br i1 %goes.on.{label}, label %ask.{label}, label %{done}",
            f"ask.{label}:",
            *self._ask(label, again),
            f"{again}:",
            f"  br label %{stretch}",
        ])  # fmt: skip


def _phi(line: str) -> list[str]:
    """``[first, label before, following, label]`` of a loop's variable."""
    return [
        part.strip(" %") if i % 2 else part.strip()
        for i, part in enumerate(re.split(r"\], \[|, ", line.split(" = phi i64 [", 1)[1].rstrip("] ")))
    ]
