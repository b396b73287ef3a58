"""The functions of a program: the one that is called, and one for each loop that runs in parallel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tnp.core.dtypes import real_counterpart
from tnp.executors.llvm import target
from tnp.executors.llvm.program import parallel
from tnp.executors.llvm.program.emitter import Emitter, Module
from tnp.executors.llvm.program.instructions import type_of
from tnp.executors.llvm.program.interrupts import polls_of, work_of_round
from tnp.executors.llvm.program.ir import Instruction, Loop, Register
from tnp.executors.llvm.scalars.registers import Value
from tnp.runtime.launcher import FAILED, INTERRUPTED, POLL_DECLARED, REFUSED

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["written"]


#: words that a loop's threads share: the counter of iterations taken, what has happened, threads at work, how many iterations
#: there are, the first value of the variable; and what the loop uses from outside
_COUNTER, _HAPPENED, _ACTIVE, _COUNT, _FIRST, _STEP, _CAPTURES = range(7)

#: asks in a loop's function
_POLLED = "call i1 @stopped(ptr %happened)"

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


def written(p: Program, name: str, attributes: str) -> str:
    """The module of a program that has been lowered."""
    parallel.measure(p.body_block)
    # Sizes that are hot get code of their own, with threads.
    loops = parallel.choose(p) if p.sizes is None else []
    p.parallel_loops = len(loops)
    p.may_refuse = p.may_refuse or any(x.parallel.may_fail for x in loops)
    if p.may_refuse:
        p.save()
    module = Module(p, name)
    main = _Main(module, {a.register for x in loops for a in x.parallel.arrays}).text()
    code = module.code.module_text()
    parts = [*module.functions, main, code, module.metadata(), f"attributes #0 = {{ nounwind {attributes} }}"]
    return "\n\n".join(parts) + "\n"


class _Main(Emitter):
    """The function that the launcher calls. ``private`` memory is of the functions of loops."""

    def __init__(self, module: Module, private: set[Register]) -> None:
        super().__init__(module, polls_of(module.p.body_block))
        self.private = private

    def text(self) -> str:
        p, code = self.module.p, self.code
        self.entry.lines += ["  %outcome = alloca i64", "  store i64 0, ptr %outcome"]
        if p.sizes is not None:
            self.block(p.sizes.code.block)
        lacking, raws = self.allocate(a for a in p.allocations if a.register not in self.private)
        self.block(p.head)
        if lacking:
            self.leave_if(lacking, "decline")
        for part in (p.ahead, p.copies, p.body_block):
            self.block(part)
        self.leave(0)
        if p.may_refuse:
            code.block("refuse")
            self.block(p.restores)
            code.line("br label %decline")
        if p.may_refuse or p.may_decline or lacking:
            code.block("decline")
            self.leave(REFUSED)
        code.block("leave")
        self.free(raws)
        code.line(f"ret i64 {code.op('load i64, ptr %outcome')}")
        lines = "\n".join([*self.entry.lines, "  br label %start", "start:", *code.lines])
        return f"define i64 @{self.module.name}(ptr %slots) #0 {{\nentry:\n{lines}\n}}"

    def loop(self, x: Loop) -> None:
        if x.parallel is None:
            super().loop(x)
        else:
            self._in_parallel(x)

    def _in_parallel(self, x: Loop) -> None:
        """Calls the function of a loop on all threads."""
        code, function = self.code, _OfLoop(self.module, x)
        first, last, some, step = map(self.operand, x.operands)
        name = f"{self.module.name}_loop{len(self.module.functions)}"
        self.module.functions.append(function.text(name))
        captured = [part for r in x.parallel.captures for part in _parts(r, self.values[r])]
        shared = self.entry.op(f"alloca [{_CAPTURES + len(captured)} x i64], align 16")
        head, done = code.label("all"), code.label("done")
        if some != "true":
            code.line(f"br i1 {some}, label %{head}, label %{done}")
            code.block(head)
        above, below = (last, first) if x.ascends else (first, last)
        count, by = code.op(f"sub i64 {above}, {below}"), x.step if x.ascends else -x.step
        if by.known != 1:
            up = code.op(f"add i64 {count}, {self.operand(by - 1)}")
            count = code.op(f"udiv i64 {up}, {self.operand(by)}")
        for k, (type_, value) in enumerate(
            [*[("i64", "0")] * _COUNT, ("i64", count), ("i64", first), ("i64", step), *captured]
        ):
            code.line(f"store {type_} {value}, ptr {code.op(f'getelementptr i64, ptr {shared}, i64 {k}')}")
        grain = max(1, math.ceil(target.GRAIN_IN_LOOPS / max(x.work, 1)))
        code.require("parallel", "declare void @tnp_parallel(ptr, ptr, i64, i64)")
        code.line(f"call void @tnp_parallel(ptr @{name}, ptr {shared}, i64 {count}, i64 {grain})")
        happened = code.op(f"load i64, ptr {code.op(f'getelementptr i64, ptr {shared}, i64 {_HAPPENED}')}")
        if x.parallel.may_fail:
            self.leave_if(code.op(f"icmp eq i64 {happened}, {REFUSED}"), "refuse")
        if function.from_heap:
            failures = self.module.p.failures
            failures.append((MemoryError, 0))
            self._end_if(happened, FAILED, len(failures) - 1)
        if function.may_stop:
            self._end_if(happened, INTERRUPTED, None)
        if some != "true":
            code.line(f"br label %{done}")
            code.block(done)

    def _end_if(self, happened: str, what: int, failure: int | None) -> None:
        this, onward = self.code.label("this"), self.code.label("onward")
        self.code.line(f"br i1 {self.code.op(f'icmp eq i64 {happened}, {what}')}, label %{this}, label %{onward}")
        self.code.block(this)
        if failure is None:
            self.leave(what)
        else:
            self.fail(failure, ())
        self.code.block(onward)


def _parts(register: Register, value: Value) -> list[tuple[str, str]]:
    """The types and values of a register; a complex one has two."""
    type_ = type_of(register.dtype)
    return [(type_, value)] if isinstance(value, str) else [(type_, part) for part in value]


class _OfLoop(Emitter):
    """The function that takes chunks of a loop's iterations until there are none."""

    poll = _POLLED

    def __init__(self, module: Module, loop: Loop) -> None:
        super().__init__(module, polls_of([loop], loop))
        self.of = loop
        self.from_heap = any(not a.on_stack for a in loop.parallel.arrays)
        #: iterations between two polls of a thread; ``None``: it has no need to, or does it inside
        self.most: int | None = None
        if loop.iterations and not self.polls:
            work = work_of_round(loop)
            if work * loop.most > target.POLL_INSTRUCTIONS:
                self.most = max(1, int(target.POLL_INSTRUCTIONS / work))
        self.may_stop = bool(self.polls) or self.most is not None

    def _check(self, x: Instruction) -> None:
        """The whole program is run again, in order."""
        self.leave_unless(self.operand(x.args[0]), "refuse")

    def text(self, name: str) -> str:
        code, entry, x = self.code, self.entry, self.of
        entry.lines += ["  %outcome = alloca i64", "  store i64 0, ptr %outcome"]
        code.line(f"%happened = getelementptr i64, ptr %its, i64 {_HAPPENED}")
        count, start, step = (self._word(k, "i64") for k in (_COUNT, _FIRST, _STEP))
        self._load_captures()
        lacking, raws = self.allocate(x.parallel.arrays)
        if self.may_stop:
            code.require("@tnp_poll", POLL_DECLARED)
            code.require("stopped", _STOPPED)
            code.line(f"%active = getelementptr i64, ptr %its, i64 {_ACTIVE}")
            code.op("atomicrmw add ptr %active, i64 1 monotonic")
        code.require("@llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
        whole = code.op(f"add i64 {code.op(f'udiv i64 {count}, {target.CHUNKS}')}, 1")
        chunk = code.op(f"call i64 @llvm.umin.i64(i64 {whole}, i64 {self.most or 2**62})")
        if lacking:
            self.leave_if(lacking, "lacking")
        code.line("br label %take")
        code.block("take")
        if self.most is not None:
            self.leave_if(code.op(_POLLED), "last")
        taken = code.op(f"atomicrmw add ptr %its, i64 {chunk} monotonic")
        self.leave_unless(code.op(f"icmp slt i64 {taken}, {count}"), "end")
        until = code.op(f"call i64 @llvm.umin.i64(i64 {code.op(f'add i64 {taken}, {chunk}')}, i64 {count})")
        begin, stop = (code.op(f"add i64 {start}, {code.op(f'mul i64 {i}, {step}')}") for i in (taken, until))
        head, before = code.label("for"), code.current
        code.line(f"br label %{head}")
        self.rounds(x, head, begin, before, stop, step, "take", "take")
        self._finish(bool(lacking), raws)
        lines = "\n".join([*entry.lines, "  br label %start", "start:", *code.lines])
        return f"define internal void @{name}(ptr %its, i64 %its.0, i64 %its.1) #0 {{\nentry:\n{lines}\n}}"

    def _word(self, k: int, type_: str) -> str:
        return self.code.op(f"load {type_}, ptr {self.code.op(f'getelementptr i64, ptr %its, i64 {k}')}")

    def _load_captures(self) -> None:
        k = _CAPTURES
        for r in self.of.parallel.captures:
            is_pair = r.dtype is not None and real_counterpart(r.dtype) is not r.dtype
            words = [self._word(k + i, type_of(r.dtype)) for i in range(1 + is_pair)]
            self.values[r] = (words[0], words[1]) if is_pair else words[0]
            k += len(words)

    def _finish(self, may_lack: bool, raws: list[str]) -> None:
        """Writes the blocks that end the function."""
        code, may_fail = self.code, self.of.parallel.may_fail
        if self.polls:
            code.block("leave")  # because of Ctrl-C: an exception is set
            code.line("br label %last")
        # Of what happens to several threads, the first counts: but for Ctrl-C.
        for label, what, there in (("refuse", REFUSED, may_fail), ("lacking", FAILED, may_lack)):
            if there:
                code.block(label)
                code.line(f"cmpxchg ptr %happened, i64 0, i64 {what} monotonic monotonic")
                code.line("br label %last")
        if may_fail or may_lack or self.may_stop:
            code.block("last")
            code.line(f"store atomic i64 {self._count_of_all()}, ptr %its monotonic, align 8")
            code.line("br label %end")
        code.block("end")
        if self.may_stop:
            code.line("call void @wait(ptr %active, ptr %happened)")
        self.free(raws)
        code.line("ret void")

    def _count_of_all(self) -> str:
        """How many iterations there are: who takes more gets none."""
        return self._word(_COUNT, "i64")
