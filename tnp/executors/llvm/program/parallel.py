"""Loops whose iterations are independent, on all threads.

A loop is written as it is; once the whole program is, :func:`outline` moves the loops that may run in parallel to
functions of their own. Iterations are independent if

- memory that the loop writes to is read and written at places of each iteration's own. Offsets are sums of multiples of
  registers with bounds (:mod:`integers`): if all of one memory have the same multiple of the loop's variable, and what
  is left of them never differs by as much as a step of it, then no two iterations meet. (Of columns, multiples of a
  row's length are left out before, if the rest lies within one row.);
- nothing is carried from one to the next: all other memory that is written was made inside the loop, and each thread
  gets its own;
- nobody leaves the loop early.

What happens in an iteration does not depend on who runs it, so results are the same bits for any number of threads:
threads take chunks from a common counter (of a triangle's rows, some cost more than others), whose lengths do not
depend on how many threads there are.

A check that fails in one iteration comes too late for others that should not have run. So such loops undo all that the
program has written, and Python runs the call: it raises what is to be raised in the order of the program. That takes a
copy of what is written, so it has to be little beside the work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tnp.executors.llvm.program.allocations import undone
from tnp.executors.llvm.program.integers import Atom, Int
from tnp.executors.llvm.program.interrupts import BUDGET, asking, work_of_round
from tnp.executors.llvm.program.values import Memory
from tnp.runtime.launcher import FAILED, INTERRUPTED, POLL_DECLARED, RECORD_WORDS, REFUSED

if TYPE_CHECKING:
    from tnp.executors.llvm.program.emitter import Program

__all__ = ["UNKNOWN_TRIPS", "VECTORISED", "Access", "LoopRecord", "Work", "most_of", "outline", "trips_of"]

#: Instructions from which on another thread pays: some 0.2 ms, more than a kernel's, because a loop in a loop waits for the other
#: thread at each iteration.
GRAIN = 500_000
#: what an instruction counts in loops that LLVM may vectorise
VECTORISED = 0.08
#: chunks that the iterations of a loop are cut into
CHUNKS = 32
#: iterations that a loop is taken to have if its bounds are arguments, or if they are read from arrays
UNKNOWN_TRIPS, READ_TRIPS = 32, 4
#: iterations that a loop may be taken to have though it mostly has fewer
FEW_TRIPS = 64
#: accesses to one memory that are compared
MOST_ACCESSES = 60
#: instructions for which a byte is copied that may have to be restored
WORK_PER_BYTE = 2

#: what the registers of loops' variables begin with
LOOP_VARIABLE = "%i"

_REGISTER = re.compile(r"(label )?(%[\w.]+)")
_SIMPLE = frozenset({"i1", "i8", "i16", "i32", "i64", "half", "float", "double", "ptr"})


@dataclass(frozen=True)
class Access:
    """A load or a store of ``size`` bytes, ``offset`` bytes from the beginning of a memory."""

    memory: Memory
    offset: Int
    size: int
    stores: bool


@dataclass
class LoopRecord:
    """A loop in the code: its lines from the label of its first block to the branch back, and what is known of it."""

    start: int
    variable: str
    first: str
    last: str
    step: int
    head: str
    done: str
    #: where its accesses begin, and end, in the program's list
    accesses: int
    #: whether its iterations are iterations of a loop of the user's, in their order; how many there are at most, about, and surely
    iterations: bool = False
    most: float = math.inf
    bound: float = math.inf
    end: int = 0
    accesses_end: int = 0
    #: instructions of an iteration, and iterations, about
    work: float = 0.0
    trips: float = 1.0

    def is_one_block(self, lines: Sequence[str]) -> bool:
        """Whether there is nothing but straight-line code in it, without calls of anything but LLVM's own functions."""
        inside = lines[self.start + 1 : self.end]
        return all(line.startswith(" ") and (" call " not in line or "@llvm." in line) for line in inside)


@dataclass
class Work:
    """Instructions written so far at the present depth of loops, and the line up to which they are counted."""

    line: int
    total: float = 0.0

    def count(self, lines: int) -> float:
        """Takes in what has been written up to line ``lines``."""
        self.total += max(0, lines - self.line)
        self.line = lines
        return self.total


def trips_of(begin: Int, end: Int, step: int = 1) -> float:
    """About how many iterations a loop has."""
    distance = (end - begin) if step > 0 else (begin - end)
    low, high = max(0, distance.low), max(0, distance.high)
    if high > 2**40:
        return UNKNOWN_TRIPS
    if not all(atom.text.startswith(LOOP_VARIABLE) for atom in distance.terms):
        return min(high, READ_TRIPS)
    return max(1.0, (low + high) / 2 / abs(step))


def most_of(begin: Int, end: Int, step: int = 1) -> tuple[float, float]:
    """How many iterations a loop has at most: about, infinite if that is anybody's guess, and surely."""
    distance = end - begin if step > 0 else begin - end
    is_known = all(atom.text.startswith(LOOP_VARIABLE) for atom in distance.terms)
    bound = max(0, distance.high) / abs(step)
    return bound if is_known or distance.high <= FEW_TRIPS else math.inf, bound


def outline(p: Program, name: str) -> list[str]:
    """Moves loops of a program that has been written to functions, whose texts it gives."""
    worth = [s for s in p.spans if s.work * s.trips >= 2 * GRAIN]
    if not worth:
        return []
    registers = _Registers(p)
    chosen: list[tuple[LoopRecord, _Parts]] = []
    for span in sorted(worth, key=lambda s: (s.start, -s.end)):
        if any(s.start <= span.start and span.end <= s.end for s, _ in chosen):
            continue
        parts = _parts(p, span, registers)
        if parts is not None and _are_independent(p, span, parts, registers):
            chosen.append((span, parts))
    functions = []
    for span, parts in reversed(chosen):  # the last first: lines before it stay where they are
        functions.append(_outlined(p, span, parts, f"{name}_loop{len(functions)}"))
    return functions


class _Registers:
    """Where the registers of a program are made and used."""

    def __init__(self, p: Program) -> None:
        self.made: dict[str, int] = {}
        self.text: dict[str, str] = {}
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        #: lines of the head that use a register made there
        self.in_head: dict[str, list[str]] = {}
        for line in p.head.lines:
            made = self._definition(line, -1)
            for used in _used(line):
                if used != made:
                    self.in_head.setdefault(used, []).append(line)
        for i, line in enumerate(p.code.lines):
            self._definition(line, i)
            for used in _used(line):
                self.first.setdefault(used, i)
                self.last[used] = i

    def _definition(self, line: str, at: int) -> str:
        if not line.startswith("  %"):
            return ""
        made, text = line.strip().split(" = ", 1)
        self.made[made], self.text[made] = at, text
        return made


def _used(line: str) -> list[str]:
    """The registers in a line, without labels."""
    found = [name for label, name in _REGISTER.findall(line) if not label]
    if " = phi " in line:  # [ value, %label ]
        labels = {part.split(",")[1].strip(" ]") for part in line.split("[")[1:]}
        return [name for name in found if name not in labels]
    return found


def _type_of(text: str) -> str | None:
    """The type of what an instruction gives; ``None`` if that is not one of the simple ones."""
    words = text.split()
    match words[0]:
        case "alloca" | "getelementptr":
            return "ptr"
        case "icmp" | "fcmp":
            return "i1"
        case "load":
            found = words[1].rstrip(",")
        case "phi":
            found = words[1]
        case "call" | "tail":
            found = text.split(" @", 1)[0].split()[-1]
        case "zext" | "sext" | "trunc" | "sitofp" | "uitofp" | "fptosi" | "fptoui" | "fpext" | "fptrunc":
            found = words[-1]
        case "inttoptr" | "ptrtoint" | "bitcast":
            found = words[-1]
        case "select":
            found = text.split(", ", 1)[1].split()[0]
        case _:
            found = text.split(",")[0].split()[-2]
    return found if found in _SIMPLE else None


@dataclass
class _Parts:
    """What an outlined loop needs: values from outside with their types, and memory of each thread's own."""

    captures: dict[str, str] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)
    may_fail: bool = False
    may_stop: bool = False
    #: lines of the function's entry for what asks for Ctrl-C inside, and iterations after which a thread asks
    asking: list[str] = field(default_factory=list)
    most: int | None = None


def _parts(p: Program, span: LoopRecord, registers: _Registers) -> _Parts | None:
    """What the lines of a loop use; ``None`` if it cannot be a function of its own."""
    lines = p.code.lines[span.start : span.end]
    labels = {line[:-1] for line in lines if not line.startswith(" ")}
    if any("@tnp_blas_" in line for line in lines):
        return None  # which has threads of its own
    parts = _Parts()
    for line in lines[:-1]:
        for target in re.findall(r"label %([\w.]+)", line):
            if target in ("leave", "refuse"):
                continue
            if target not in labels:
                return None  # a way out of the loop
    parts.may_fail = any("br label %refuse" in line or f"store i64 {FAILED}, ptr %outcome" in line for line in lines)
    used = dict.fromkeys(name for line in lines for name in _used(line))
    for name in used:
        if name in ("%slots", "%outcome") or name[1:] in labels:
            continue
        inside = span.start <= registers.first[name] and registers.last[name] < span.end
        born = p.allocations.line_of(name)
        if born is not None:
            if inside and born >= span.start:
                parts.arrays.append(name)
            else:
                parts.captures[name] = "ptr"
            continue
        at = registers.made.get(name)
        if at is None:
            return None
        if span.start <= at < span.end:
            continue
        text = registers.text[name]
        if name in p.slots:
            if not inside or p.slots[name] < span.start:
                return None  # what one iteration leaves there, another finds
            if not all(line.startswith("  store ") for line in registers.in_head.get(name, ())):
                return None
            parts.slots.append(name)
            continue
        type_ = _type_of(text)
        if type_ is None:
            return None
        parts.captures[name] = type_
    if parts.may_fail and not _may_be_undone(p, span):
        return None
    return parts


def _may_be_undone(p: Program, span: LoopRecord) -> bool:
    """Whether what the program writes can be copied before, and is little beside the work."""
    arrays = undone(p.written)
    return arrays is not None and sum(size for _, _, size in arrays) * WORK_PER_BYTE <= span.work * span.trips


def _are_independent(p: Program, span: LoopRecord, parts: _Parts, registers: _Registers) -> bool:
    """Whether no two iterations meet in memory that one of them writes to."""
    by_memory: dict[Memory, dict[tuple[Int, int, bool], None]] = {}
    accesses = p.log[span.accesses : span.accesses_end]
    own = set(parts.arrays)
    written = {a.memory for a in accesses if a.stores and not own.issuperset(a.memory.homes or (a.memory.pointer,))}
    for a in accesses:
        if a.memory in written:
            by_memory.setdefault(a.memory, {})[a.offset, a.size, a.stores] = None

    def is_outside(atom: Atom) -> bool:
        at = registers.made.get(atom.text)
        return at is not None and not span.start <= at < span.end

    return all(_are_apart(list(found), span, is_outside) for found in by_memory.values())


def _are_apart(found: Sequence[tuple[Int, int, bool]], span: LoopRecord, is_outside: Callable[[Atom], bool]) -> bool:
    """Whether accesses to one memory in two iterations never meet."""
    if len(found) > MOST_ACCESSES:
        return False
    if _gap(found, span, is_outside):
        return True
    # Columns: if all that is no multiple of a row's length lies within one, only places in one row can meet.
    rows = {abs(c) for offset, _, _ in found for a, c in offset.terms.items() if a.text != span.variable}
    for row in sorted(rows):
        rests = [(_rest(offset, row), size, stores) for offset, size, stores in found]
        width = max(rest.high + size for rest, size, _ in rests) - min(rest.low for rest, _, _ in rests)
        if width <= row and _gap(rests, span, is_outside):
            return True
    return False


def _rest(offset: Int, row: int) -> Int:
    """``offset`` without multiples of ``row``."""
    half = row // 2
    terms = {a: c for a, c in offset.terms.items() if c % row}
    return Int((offset.constant + half) % row - half, terms)


def _gap(found: Sequence[tuple[Int, int, bool]], span: LoopRecord, is_outside: Callable[[Atom], bool]) -> bool:
    """Whether accesses in one iteration differ by less than the steps from one iteration to the next."""
    factors, split = set(), []
    for offset, size, stores in found:
        factor = 0
        fixed: dict[Atom, int] = {}
        varying: dict[Atom, int] = {}
        for atom, c in offset.terms.items():
            if atom.text == span.variable:
                factor = c
            else:
                (fixed if is_outside(atom) else varying)[atom] = c
        factors.add(factor)
        split.append((Int(offset.constant, fixed), Int(0, varying), size, stores))
    if len(factors) != 1:
        return False
    gap = abs(factors.pop() * span.step)
    for fixed_a, varying_a, size_a, stores in split:
        for fixed_b, varying_b, size_b, _ in split if stores else ():
            apart = fixed_a - fixed_b
            least = apart.low + varying_a.low - varying_b.high
            most = apart.high + varying_a.high - varying_b.low
            if least < size_b - gap or most > gap - size_a:
                return False
    return True


def _outlined(p: Program, span: LoopRecord, parts: _Parts, name: str) -> str:
    """Replaces the lines of a loop by a parallel call of the function that it gives."""
    code = p.code
    lines = _asking(p, span, parts, code.lines[span.start : span.end])
    captures = parts.captures
    text, from_heap = _function(p, span, parts, lines, name)

    # What the function needs is in an array of words.
    shared = p.head.op(f"alloca [{_CAPTURES + len(captures)} x i64], align 16")
    code.require("parallel", "declare void @tnp_parallel(ptr, ptr, i64, i64)")
    kept, code.lines = code.lines[span.end :], code.lines[: span.start + 1]
    above, below = (span.last, span.first) if span.step > 0 else (span.first, span.last)
    count, by = code.op(f"sub i64 {above}, {below}"), abs(span.step)
    if by != 1:
        count = code.op(f"udiv i64 {code.op(f'add i64 {count}, {by - 1}')}, {by}")
    values = [*[("i64", "0")] * _COUNT, ("i64", count), ("i64", span.first), *((t, n) for n, t in captures.items())]
    for k, (type_, value) in enumerate(values):
        code.line(f"store {type_} {value}, ptr {code.op(f'getelementptr i64, ptr {shared}, i64 {k}')}")
    grain = max(1, math.ceil(GRAIN / max(span.work, 1)))
    code.line(f"call void @tnp_parallel(ptr @{name}, ptr {shared}, i64 {count}, i64 {grain})")
    happened = code.op(f"load i64, ptr {code.op(f'getelementptr i64, ptr {shared}, i64 {_HAPPENED}')}")
    ends = []
    if parts.may_fail:
        p.may_refuse = True
        ends.append((REFUSED, lambda: p.leave(None)))
    if from_heap:
        ends.append((FAILED, lambda: p.leave(MemoryError)))
    if parts.may_stop:
        ends.append((INTERRUPTED, p.stop))
    for what, leave in ends:
        this, onward = code.label("this"), code.label("onward")
        code.line(f"br i1 {code.op(f'icmp eq i64 {happened}, {what}')}, label %{this}, label %{onward}")
        code.block(this)
        leave()
        code.block(onward)
    code.line(f"br label %{span.done}")
    code.lines += kept
    return text


def _asking(p: Program, span: LoopRecord, parts: _Parts, lines: Sequence[str]) -> list[str]:
    """The lines of a loop with what asks for Ctrl-C, which is said in ``parts``."""
    found, parts.asking = asking(lines, p.loops_asking, _ASKED, outside=span.head)
    parts.may_stop = len(found) > len(lines)
    if span.iterations and not parts.may_stop:
        work = work_of_round(lines, p.loops_asking)
        if work * span.most > BUDGET:
            parts.may_stop, parts.most = True, max(1, int(BUDGET / work))
    return found


#: words that a loop's threads share: the counter of iterations taken, what has happened, threads at work, how many iterations
#: there are, the first value of the variable; and what the loop uses from outside
_COUNTER, _HAPPENED, _ACTIVE, _COUNT, _FIRST, _CAPTURES = range(6)

#: asks in a loop's function
_ASKED = "call i1 @stopped(ptr %its.happened)"

#: Whether a loop is to end: only the main thread learns of Ctrl-C, and tells the others. It must not wait for them without
#: looking, so who has nothing to do any more looks until nobody has.
_STOPPED = f"""
declare i32 @sched_yield()

define internal i1 @stopped(ptr %happened) {{
  %now = load atomic i64, ptr %happened monotonic, align 8
  %known = icmp ne i64 %now, 0
  br i1 %known, label %yes, label %ask
ask:
  %polled = call i1 @tnp_poll()
  br i1 %polled, label %tell, label %no
tell:
  store atomic i64 {INTERRUPTED}, ptr %happened monotonic, align 8
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal void @wait(ptr %active, ptr %happened) {{
  %before = atomicrmw sub ptr %active, i64 1 monotonic
  br label %look
look:
  %i = phi i64 [ 0, %0 ], [ %i.next, %next ]
  %now = load atomic i64, ptr %active monotonic, align 8
  %alone = icmp eq i64 %now, 0
  br i1 %alone, label %done, label %again
again:
  %yielded = call i32 @sched_yield()
  %i.next = add i64 %i, 1
  %round = and i64 %i.next, 1023
  %due = icmp eq i64 %round, 0
  br i1 %due, label %ask, label %next
ask:
  %stopped = call i1 @stopped(ptr %happened)
  br label %next
next:
  br label %look
done:
  ret void
}}"""


#: before a thread takes more iterations
_TAKE = (
    f"  %its.asked = {_ASKED}",
    "  br i1 %its.asked, label %its.last, label %its.next",
    "its.next:",
)


def _function(p: Program, span: LoopRecord, parts: _Parts, lines: Sequence[str], name: str) -> tuple[str, bool]:
    """The function that takes chunks of a loop's iterations until there are none, and whether it needs the heap."""
    private = set(parts.slots)
    entry = ["  %outcome = alloca i64", "  store i64 0, ptr %outcome", f"  %slots = alloca [{RECORD_WORDS} x i64]"]
    made, lacking, freed = p.allocations.write(parts.arrays)
    moved = [line for line in p.head.lines if private.intersection(_used(line))]
    p.head.lines = [line for line in p.head.lines if line not in moved]
    entry += [*made, *moved, *parts.asking]
    entry.append(f"  %its.happened = getelementptr i64, ptr %its, i64 {_HAPPENED}")
    fields = {_COUNT: ("%its.count", "i64"), _FIRST: ("%its.first", "i64")}
    fields |= dict(enumerate(parts.captures.items(), _CAPTURES))
    for k, (register, type_) in fields.items():
        entry.append(f"  %its.at{k} = getelementptr i64, ptr %its, i64 {k}")
        entry.append(f"  {register} = load {type_}, ptr %its.at{k}")
    begin = [
        f"  %its.chunk.0 = udiv i64 %its.count, {CHUNKS}",
        "  %its.chunk.1 = add i64 %its.chunk.0, 1",
        f"  %its.chunk = call i64 @llvm.umin.i64(i64 %its.chunk.1, i64 {parts.most or 2**62})",
        f"  br i1 {lacking}, label %its.lacking, label %its.take" if lacking else "  br label %its.take",
        "its.take:",
        *(_TAKE if parts.most else ()),
        "  %its.from = atomicrmw add ptr %its, i64 %its.chunk monotonic",
        "  %its.more = icmp slt i64 %its.from, %its.count",
        "  br i1 %its.more, label %its.run, label %its.end",
        "its.run:",
        "  %its.to.0 = add i64 %its.from, %its.chunk",
        "  %its.is.last = icmp sgt i64 %its.to.0, %its.count",
        "  %its.to = select i1 %its.is.last, i64 %its.count, i64 %its.to.0",
        f"  %its.skip = mul i64 %its.from, {span.step}",
        f"  %its.reach = mul i64 %its.to, {span.step}",
        "  %its.begin = add i64 %its.first, %its.skip",
        "  %its.stop = add i64 %its.first, %its.reach",
        f"  br label %{span.head}",
    ]
    body = list(lines)
    following, current = (part.strip(" ]") for part in body[1].rsplit("[", 1)[1].split(","))
    body[1] = f"  {span.variable} = phi i64 [ %its.begin, %its.run ], [ {following}, {current} ]"
    body[-2] = f"{body[-2].split(' = ')[0]} = icmp {'slt' if span.step > 0 else 'sgt'} i64 {following}, %its.stop"
    body[-1] = body[-1].replace(f"label %{span.done}", "label %its.take")
    end: list[str] = []
    if parts.may_fail or parts.may_stop:
        end += ["leave:", "  %outcome.0 = load i64, ptr %outcome"]
        end.append(f"  %outcome.stop = icmp eq i64 %outcome.0, {INTERRUPTED}")
        end.append(f"  br i1 %outcome.stop, label %its.last, label %{'refuse' if parts.may_fail else 'its.last'}")
    for label, what, there in (("refuse", REFUSED, parts.may_fail), ("its.lacking", FAILED, bool(lacking))):
        if there:
            # Of what happens to several threads, the first counts: but for Ctrl-C, after which an exception is set.
            end.append(f"{label}:")
            end.append(f"  cmpxchg ptr %its.happened, i64 0, i64 {what} monotonic monotonic")
            end.append("  br label %its.last")
    if end:
        end += ["its.last:", "  store atomic i64 %its.count, ptr %its monotonic, align 8", "  br label %its.end"]
    end.append("its.end:")
    p.code.require("umin", "declare i64 @llvm.umin.i64(i64, i64)")
    if parts.may_stop:
        p.code.require("@tnp_poll", POLL_DECLARED)
        p.code.require("stopped", _STOPPED)
        entry.append(f"  %its.active = getelementptr i64, ptr %its, i64 {_ACTIVE}")
        entry.append("  %its.before = atomicrmw add ptr %its.active, i64 1 monotonic")
        end.append("  call void @wait(ptr %its.active, ptr %its.happened)")
    text = "\n".join([*entry, *begin, *body, *end, *freed, "  ret void"])
    return f"define internal void @{name}(ptr %its, i64 %its.0, i64 %its.1) #0 {{\nentry:\n{text}\n}}", bool(freed)
