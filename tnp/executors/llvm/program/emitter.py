"""From the program IR to LLVM IR: loops, branches, checks, polls, and memory.

A failed check jumps to a *cold* block, which stores the check's number and values, and returns; the caller raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tnp.executors.llvm import target
from tnp.executors.llvm.code import Code, extreme, told_apart
from tnp.executors.llvm.program.instructions import DOMAIN, RARELY, SCOPES, UNPREDICTABLE, USUALLY, Writer
from tnp.executors.llvm.program.interrupts import Polls
from tnp.executors.llvm.program.ir import Allocation, Block, Branch, Instruction, Loop, While
from tnp.runtime.launcher import FAILED, INTERRUPTED, POLL, POLL_DECLARED

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["Emitter", "Module"]

#: what has to be declared for memory from the heap
_HEAP = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
#: the first number of the metadata of loops
_HINTS = 10_000_000


class Module:
    """What the functions of a program share."""

    def __init__(self, p: Program, name: str) -> None:
        self.p = p
        self.name = name
        self.code = Code(fast=p.fast)
        self.functions: list[str] = []
        #: sums over lengths that nobody knows
        self.few = 0

    def metadata(self) -> str:
        """Weights of branches, hints for loops, and an alias scope for each memory with the list of all others."""
        count = len(self.p.memories)
        lines = [f'!{USUALLY} = !{{!"branch_weights", i32 1000000, i32 1}}']
        lines.append(f'!{RARELY} = !{{!"branch_weights", i32 1, i32 1000000}}')
        lines.append(f"!{UNPREDICTABLE} = !{{}}")
        if self.few:
            lines.append(f'!{_HINTS} = !{{!"llvm.loop.interleave.count", i32 2}}')
            lines += [f"!{n} = distinct !{{!{n}, !{_HINTS}}}" for n in range(_HINTS + 1, _HINTS + self.few + 1)]
        lines.append(f'!{DOMAIN} = distinct !{{!{DOMAIN}, !"memory"}}')
        for i in range(count):
            own = SCOPES + 3 * i
            others = ", ".join(f"!{SCOPES + 3 * j}" for j in told_apart(i, count))
            lines.append(f"!{own} = distinct !{{!{own}, !{DOMAIN}}}")
            lines += [f"!{own + 1} = !{{!{own}}}", f"!{own + 2} = !{{{others}}}"]
        return "\n".join(lines)


class Emitter(Writer):
    """The text of a function with loops and branches.

    It has many methods: one for each kind of item, and of loop.
    """

    #: asks whether Ctrl-C was pressed
    poll = POLL

    def __init__(self, module: Module, polls: Polls) -> None:
        super().__init__(Code(module.code))
        self.module = module
        self.polls = polls
        #: where the user's loops around lead when they end
        self.exits: list[str] = []
        self._counter = ""
        self.code.current = "start"

    # Items

    def block(self, block: Block) -> None:
        for item in block:
            if isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, While):
                self._while(item)
            elif isinstance(item, Branch):
                self._branch(item)
            elif item.op == "check":
                self._check(item)
            elif item.op == "break":
                self.leave_if(self.operand(item.args[0]), self.exits[-1])
            elif item.op == "decline":
                self.leave_unless(self.operand(item.args[0]), "decline")
            else:
                self.instruction(item)

    def leave_if(self, condition: str, leave: str) -> None:
        """Goes to a block if a condition is true."""
        onward = self.code.label("onward")
        self.code.line(f"br i1 {condition}, label %{leave}, label %{onward}")
        self.code.block(onward)

    def leave_unless(self, condition: str, leave: str, weights: str = "") -> None:
        """Goes to a block unless a condition is true."""
        onward = self.code.label("onward")
        self.code.line(f"br i1 {condition}, label %{onward}, label %{leave}{weights}")
        self.code.block(onward)

    def _check(self, x: Instruction) -> None:
        ok, *values = x.args
        code, words = self.code, [self.operand(v) for v in values]
        if x.info is None:
            self.leave_unless(self.operand(ok), "refuse", f", !prof !{USUALLY}")
            return
        onward, wrong = code.label("onward"), code.label("wrong")
        code.line(f"br i1 {self.operand(ok)}, label %{onward}, label %{wrong}, !prof !{USUALLY}")
        code.block(wrong)
        self.fail(x.info, words)
        code.block(onward)

    def fail(self, failure: int, words: Sequence[str]) -> None:
        """Ends a block: the caller raises."""
        for k, word in enumerate((str(failure), *words)):
            at = self.code.op(f"getelementptr i64, ptr %slots, i64 {k}")
            self.code.line(f"store i64 {word}, ptr {at}")
        self.leave(FAILED)

    def leave(self, outcome: int) -> None:
        """Ends a block, and the function."""
        self.code.line(f"store i64 {outcome}, ptr %outcome")
        self.code.line("br label %leave")

    def _branch(self, x: Branch) -> None:
        code = self.code
        sides = code.label("then"), code.label("else")
        join = code.label("join")
        hint = f", !unpredictable !{UNPREDICTABLE}" if x.is_unpredictable else ""
        code.line(f"br i1 {self.operand(x.condition)}, label %{sides[0]}, label %{sides[1]}{hint}")
        for label, part in zip(sides, (x.then, x.otherwise)):
            code.block(label)
            with self.scope():
                self.block(part)
            code.line(f"br label %{join}")
        code.block(join)

    # Loops

    def loop(self, x: Loop) -> None:
        if x.is_written_out:
            assert x.first.known is not None and x.last.known is not None
            for value in range(x.first.known, x.last.known):
                self.values[x.variable] = str(value)
                with self.scope():
                    self.block(x.body)
            return
        code = self.code
        first, last, some, step = map(self.operand, x.operands)
        head, done = code.label("for"), code.label("done")
        if x in self.polls.announces and x not in self.polls.stretches:
            low, high = (first, last) if x.ascends else (last, first)
            distance = code.op(f"sub i64 {high}, {low}")
            if some != "true":
                distance = code.op(f"select i1 {some}, i64 {distance}, i64 0")
            self._count(self._work_over(x, distance))
        if x in self.polls.stretches:
            self._in_stretches(x, first, last, step, some, done)
        else:
            before = code.current
            code.line(f"br label %{head}" if some == "true" else f"br i1 {some}, label %{head}, label %{done}")
            self.rounds(x, head, first, before, last, step, done, done)
        code.block(done)

    def rounds(self, x: Loop, head: str, first: str, before: str, last: str, step: str, done: str, leave: str) -> str:
        """Writes the blocks of a loop, from ``head`` to the branch back; returns the variable's next value. ``before`` is the block that
        leads to ``head``, ``done`` the one behind the last iteration, ``leave`` the target of the user's ``break``."""
        code = self.code
        code.block(head)
        at = len(code.lines)
        variable = self.values[x.variable] = code.temp("i")
        code.line("")
        with self._inside(x, leave):
            self.block(x.body)
        if x in self.polls.counts:
            self._poll_after(self.polls.counts[x])
        following = code.op(f"add nsw i64 {variable}, {step}")
        code.lines[at] = f"  {variable} = phi i64 [ {first}, %{before} ], [ {following}, %{code.current} ]"
        more = code.op(f"icmp {'slt' if x.ascends else 'sgt'} i64 {following}, {last}")
        self.module.few += x.few
        hint = f", !llvm.loop !{_HINTS + self.module.few}" if x.few else ""
        code.line(f"br i1 {more}, label %{head}, label %{done}{hint}")
        return following

    @contextmanager
    def _inside(self, x: Loop, leave: str) -> Iterator[None]:
        with self.scope():
            if not x.of_elements:
                self.exits.append(leave)
            yield
            if not x.of_elements:
                self.exits.pop()

    def _in_stretches(self, x: Loop, first: str, last: str, step: str, some: str, done: str) -> None:
        """A loop of some iterations at a time; between them it polls."""
        code, way = self.code, self.operand(x.step * self.polls.stretches[x])
        stretch, head, between = code.label("stretch"), code.label("for"), code.label("between")
        again, before = code.label("again"), code.current
        code.line(f"br label %{stretch}" if some == "true" else f"br i1 {some}, label %{stretch}, label %{done}")
        code.block(stretch)
        at = len(code.lines)
        begin = code.temp("from")
        code.line("")
        left = code.op(f"sub i64 {last}, {begin}" if x.ascends else f"sub i64 {begin}, {last}")
        if x in self.polls.announces:
            self._count(self._work_over(x, left))
        far = code.op(f"icmp ugt i64 {left}, {way if x.ascends else code.op(f'sub i64 0, {way}')}")
        until = code.op(f"select i1 {far}, i64 {code.op(f'add i64 {begin}, {way}')}, i64 {last}")
        code.line(f"br label %{head}")
        following = self.rounds(x, head, begin, stretch, until, step, between, done)
        code.lines[at] = f"  {begin} = phi i64 [ {first}, %{before} ], [ {following}, %{again} ]"
        code.block(between)
        goes_on, ask = code.op(f"icmp {'slt' if x.ascends else 'sgt'} i64 {following}, {last}"), code.label("ask")
        code.line(f"br i1 {goes_on}, label %{ask}, label %{done}")
        code.block(ask)
        self._ask(again)
        code.line(f"br label %{stretch}")

    def _while(self, x: While) -> None:
        code = self.code
        head, done, inside = code.label("while"), code.label("done"), code.label("do")
        code.line(f"br label %{head}")
        code.block(head)
        if x in self.polls.counts:
            self._poll_after(self.polls.counts[x])
        self.exits.append(done)
        with self.scope():
            self.block(x.test)
            code.line(f"br i1 {self.operand(x.goes_on)}, label %{inside}, label %{done}")
            code.block(inside)
            self.block(x.body)
        self.exits.pop()
        code.line(f"br label %{head}")
        code.block(done)

    # Ctrl-C

    def _work_over(self, x: Loop, distance: str) -> str:
        """The instructions of the iterations over a distance, about."""
        distance = extreme(self.code, "umin", distance, str(1 << 32))  # so that the product fits
        return self.code.op(f"shl i64 {distance}, {self.polls.announces[x]}")

    def _count(self, work: str) -> str:
        """Adds to the instructions since the last poll; how many there are."""
        if not self._counter:
            self._counter = self.entry.op("alloca i64")
            self.entry.line(f"store i64 0, ptr {self._counter}")
        total = self.code.op(f"add i64 {self.code.op(f'load i64, ptr {self._counter}')}, {work}")
        self.code.line(f"store i64 {total}, ptr {self._counter}")
        return total

    def _poll_after(self, work: int) -> None:
        """Adds what an iteration counts, and polls if that is enough."""
        code = self.code
        due = code.op(f"icmp ugt i64 {self._count(str(work))}, {target.POLL_INSTRUCTIONS}")
        ask, onward = code.label("ask"), code.label("onward")
        code.line(f"br i1 {due}, label %{ask}, label %{onward}, !prof !{RARELY}")
        code.block(ask)
        code.line(f"store i64 0, ptr {self._counter}")
        asked = code.label("asked")
        self._ask(asked)
        code.line(f"br label %{onward}")
        code.block(onward)

    def _ask(self, onward: str) -> None:
        """Leaves if Ctrl-C was pressed; begins the block ``onward``."""
        self.code.require("@tnp_poll", POLL_DECLARED)
        stop = self.code.label("stop")
        self.code.line(f"br i1 {self.code.op(self.poll)}, label %{stop}, label %{onward}")
        self.code.block(stop)
        self.leave(INTERRUPTED)
        self.code.block(onward)

    # Memory

    def allocate(self, allocations: Iterable[Allocation]) -> tuple[str, list[str]]:
        """Makes memory; the bool whether there was too little (or nothing), and what to free."""
        code, lacking, raws = self.code, "", []
        for a in allocations:
            if a.on_stack:
                self.values[a.register] = self.entry.op(f"alloca [{a.size} x i8], align 64")
                continue
            code.require("malloc", _HEAP)
            if isinstance(a.size, int):
                raw = code.op(f"call ptr @malloc(i64 {a.size + 64})")
                missing = code.op(f"icmp eq ptr {raw}, null")
            else:
                size, is_too_large = self.integer(a.size[0] + 64), self.operand(a.size[1])
                raw = code.op(f"call ptr @malloc(i64 {code.op(f'select i1 {is_too_large}, i64 64, i64 {size}')})")
                missing = code.op(f"or i1 {code.op(f'icmp eq ptr {raw}, null')}, {is_too_large}")
            up = code.op(f"add i64 {code.op(f'ptrtoint ptr {raw} to i64')}, 63")
            self.values[a.register] = code.op(f"inttoptr i64 {code.op(f'and i64 {up}, -64')} to ptr")
            lacking = code.op(f"or i1 {lacking}, {missing}") if lacking else missing
            raws.append(raw)
        return lacking, raws

    def free(self, raws: Sequence[str]) -> None:
        for raw in raws:
            self.code.line(f"call void @free(ptr {raw})")
