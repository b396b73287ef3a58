"""The code emitter of programs: registers, loops, memory, checks, and exits.

A program is one function. Its operations are emitted in program order, so after an error memory is as in eager. Values without memory are computed where they are read. A failed check jumps to a *cold* block, which stores the
check's number and values, and returns; the caller raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.core import prims, symbols
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code, told_apart
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.program.allocations import DECLARATIONS, Allocations, undone
from tnp.executors.llvm.program.hoisting import narrowed
from tnp.executors.llvm.program.integer_code import IntegerCode
from tnp.executors.llvm.program.integers import Atom, Int, ceiling, magnitude, row_major
from tnp.executors.llvm.program.interrupts import asking
from tnp.executors.llvm.program.liveness import Block, steps_of
from tnp.executors.llvm.program.parallel import (
    UNKNOWN_TRIPS,
    VECTORISED,
    Access,
    LoopRecord,
    Work,
    most_of,
    outline,
    trips_of,
)
from tnp.executors.llvm.program.rules import RULES
from tnp.executors.llvm.program.sizes import Sizes, is_counted
from tnp.executors.llvm.program.strip_mining import Strips
from tnp.executors.llvm.program.values import Array, At, Memory, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.write_hazards import Copied, copies_of_what_is_read, reads_ahead
from tnp.executors.llvm.scalars.registers import Value
from tnp.runtime.launcher import FAILED, INTERRUPTED, POLL, POLL_DECLARED, RECORD_WORDS, REFUSED

__all__ = ["ONE", "UNPREDICTABLE", "ZERO", "Failure", "Program"]

ZERO, ONE = Int(0), Int(1)

#: iterations of a loop that is written out, and lines that this may come to
UNROLLED, LONGEST_UNROLLED = 8, 250
#: bytes that temporaries take at most
MEMORY_LIMIT = 1 << 36
#: operations from which on an array that is read twice is kept
WORTH_KEEPING = 4

#: metadata: weights of a branch to a cold block, that a branch cannot be predicted, the scopes' domain; and those of memories from there on
_UNLIKELY, _UNLIKELY_FIRST, UNPREDICTABLE, _DOMAIN, _SCOPES = 0, 1, 2, 3, 4
#: and of hints for loops, the first of which is what they say
_HINTS = 10_000_000

Failure = Callable[..., BaseException]


class Program(IntegerCode):
    """The function of one loop, or branch, with all that is in it.

    It has many methods: they are the vocabulary in which the rules of :mod:`.arrays`, :mod:`.numbers`, :mod:`.flow` and others write code.
    """

    def __init__(
        self, *, fast: bool = False, failures: list[tuple[Failure, int]] | None = None, cuts: bool = False
    ) -> None:
        self.code = Code(fast=fast)
        self.code._count = 1_000_000  # registers of the body and of its head have different names
        self.code.current = "start"
        self.head = Code(self.code)
        #: copies of what may have to be restored
        self.copies = Code(self.code)
        self.copies._count = 500_000
        #: what has to hold for the program to begin; whether all iterations come here, the first and last value of loops' variables
        self.ahead = Code(self.code)
        self.ahead._count = 400_000
        #: the sizes of a program for any size
        self.sizes: Sizes | None = None
        self.is_unconditional = True
        self.iterations: dict[Atom, tuple[Int, Int]] = {}
        #: registers with narrower bounds, and bounds of loops that checks tell
        self.narrower: dict[tuple[Atom, int], Atom] = {}
        self.limits: dict[str, int] = {}
        self.cold: list[str] = []
        self.scopes: list[dict[str, Any]] = [{}]
        self.blocks: list[Block] = []
        #: integers that have been computed, for as long as they are in force
        self.known: list[dict[Any, Any]] = [{}]
        #: what checks raise, and with how many numbers of the record
        self.failures = [] if failures is None else failures
        self.may_refuse = self.may_decline = False
        self.memories: list[Memory] = []
        self.allocations = Allocations()
        #: slots, and how many lines the program had when they were made
        self.slots: dict[str, int] = {}
        #: all loads and stores, and the loops that might run in parallel
        self.log: list[Access] = []
        self.spans: list[LoopRecord] = []
        #: the first labels of ``while`` loops
        self.whiles: list[str] = []
        self.work = Work(0)
        self.parallel_loops = 0
        #: whether loops may be cut into strips; how the present one is, and where its strip begins
        self.cuts = cuts
        self.strips: Strips | None = None
        self.strip_begin = ZERO
        #: what is read while that is being recorded, and at what offset
        self.accesses: list[tuple[StridedView, Int]] | None = None
        #: copies that are read instead of what is at these offsets, and where
        self.redirected: list[tuple[Copied, Int, At]] = []
        self.copies_rows = False
        #: sums over lengths that nobody knows
        self.few = 0
        #: checks of indices that wait for those of the axes before them
        self.waiting: list[tuple[int, Callable[[], None]]] = []
        self.last_select: str | None = None
        #: where results of the region are to be, by name
        self.places: dict[str, StridedView] = {}
        #: the names of values that leave the program as new ones
        self.leaving: set[str] = set()
        #: the caller's arrays that are written to
        self.written: list[StridedView] = []

    # Names

    def value(self, x: Any) -> Any:
        """What a name stands for; numbers as they are."""
        if not isinstance(x, Proxy):
            return x
        for scope in reversed(self.scopes):
            if x.name in scope:
                return scope[x.name]
        if self.sizes is not None and isinstance(x, NumberProxy) and symbols.is_symbol(x):
            return Number(int, self.sizes.of(x))
        raise Refused(f"{x.name} is no value of the program")

    def resolve(self, x: Any) -> Any:
        """:meth:`value` of all proxies in an argument."""
        if isinstance(x, (tuple, list)):
            return [self.resolve(y) for y in x]
        return self.value(x)

    def bind(self, out: Any, value: Any) -> None:
        """Gives a name its value, and memory if that pays."""
        if isinstance(out, TensorProxy):
            if isinstance(value, Thunk):
                if not value.shape:
                    self.flush()
                    value = Scalar(value.element(self, ()), value.dtype)
                elif self._wants_memory(out.name, value):
                    value = self.force(value)
            assert len(out.shape) == len(value.shape), f"{out!r} has {value.shape}"
            for n, m in zip(out.shape, value.shape):
                if is_counted(n) and not any(n.name in scope for scope in self.scopes):
                    self.scopes[-1][n.name] = Number(int, m)
        self.scopes[-1][out.name] = value

    def _wants_memory(self, name: str, value: Thunk) -> bool:
        block = self.blocks[-1]
        if not value.cost:
            return False
        return name in block.inside or (block.count.get(name, 0) > 1 and value.cost > WORTH_KEEPING)

    def is_live(self, name: str) -> bool:
        """Whether the value of a name is needed after the step that is being written."""
        for block, scope in zip(reversed(self.blocks), reversed(self.scopes)):
            if block.needs_later(name):
                return True
            if name in scope:
                return False
            if block.repeats and name in block.last:
                return True
        return False

    # Bodies

    @contextmanager
    def body(self, body: Body, values: Mapping[str, Any], *, repeats: bool) -> Iterator[list[Any]]:
        """Writes a body's operations; gives the values of its results, inside."""
        block = Block(list(steps_of(body.bound_symbols)), body.results, repeats=repeats)
        self.blocks.append(block)
        self.scopes.append(dict(values))
        for i, b in enumerate(block.steps):
            block.position = i
            self.step(b)
        self.flush()
        block.position = len(block.steps)
        yield [self.value(r) for r in body.results]
        self.scopes.pop()
        self.blocks.pop()

    def step(self, b: BoundSymbol) -> None:
        """Writes one operation."""
        run = RULES.get(b.sym.name)
        if run is None:
            raise Refused(f"{b.sym.name} is not compiled in loops")
        if b.sym is not prims.select or b.args[0].name != self.last_select:
            self.flush()
        run(self, b if self.strips is None else self.strips.adapted(b))

    def flush(self) -> None:
        """Makes the checks that wait, in order of the axes, and reads the elements that were selected."""
        waiting, self.waiting = self.waiting, []
        for _, check in sorted(waiting, key=lambda w: w[0]):
            check()
        name, self.last_select = self.last_select, None
        if name is not None:
            found = self.scopes[-1].get(name)
            if isinstance(found, StridedView) and not found.shape:
                self.scopes[-1][name] = Scalar(self.load(found, ()), found.dtype)

    # Checks

    def check(self, ok: str, failure: Failure | None, *values: Int | str) -> None:
        """Leaves unless ``ok``; then the caller raises ``failure(*values)``, or, without one, runs everything as eager does."""
        if ok == "true":
            return
        onward, wrong = self.code.label("onward"), self.code.label("wrong")
        self.code.line(f"br i1 {ok}, label %{onward}, label %{wrong}, !prof !{_UNLIKELY}")
        self.code.block(wrong)
        self.leave(failure, *values)
        self.code.block(onward)

    def begin_only_if(self, ok: str) -> None:
        """Declines the arguments unless ``ok``. Nothing has been written yet."""
        if ok == "true":
            return
        self.may_decline = True
        onward = self.code.label("onward")
        self.code.line(f"br i1 {ok}, label %{onward}, label %decline")
        self.code.block(onward)

    def leave(self, failure: Failure | None, *values: Int | str) -> None:
        """Ends the block by leaving, see :meth:`check`."""
        if failure is None:
            self.may_refuse = True
            self.code.line("br label %refuse")
            return
        words = [str(len(self.failures)), *(v if isinstance(v, str) else self.text(v) for v in values)]
        assert len(words) <= RECORD_WORDS
        self.failures.append((failure, len(values)))
        for k, word in enumerate(words):
            at = self.code.op(f"getelementptr i64, ptr %slots, i64 {k}")
            self.code.line(f"store i64 {word}, ptr {at}")
        self.code.line(f"store i64 {FAILED}, ptr %outcome")
        self.code.line("br label %leave")

    def stop(self) -> None:
        """Ends the block by leaving because of Ctrl-C: an exception is set."""
        self.code.line(f"store i64 {INTERRUPTED}, ptr %outcome")
        self.code.line("br label %leave")

    def check_fits(self, x: Int) -> Int:
        """``x``, which is surely a 64-bit integer when it is used."""
        if not x.fits:
            raise Refused("arithmetic on integers that may not fit 64 bits")
        return x

    # Loops

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Integers that are computed inside are forgotten after it."""
        self.known.append({})
        yield
        self.known.pop()

    @contextmanager
    def loop(self, begin: Int, end: Int, *, maybe_empty: bool = True, reduces: bool = False) -> Iterator[Int]:
        """``for i in range(begin, end)``, for loops over elements. A short one is written out. One that ``reduces`` may take its elements
        in any order."""
        code = self.code
        if end.known is not None and begin.known is not None and end.known - begin.known == 1:
            with self.scope():
                yield begin
            return
        head, done = code.label("loop"), code.label("done")
        first, last = self.text(begin), self.text(end)
        some = self.less(begin, end) if maybe_empty else "true"
        start, before = len(code.lines), code.current
        code.line(f"br label %{head}" if some == "true" else f"br i1 {some}, label %{head}, label %{done}")
        few = reduces and (begin.known is None or end.known is None)
        bounds = {"trips": trips_of(begin, end), "most": most_of(begin, end)}
        with self.span(head, done, first, last, 1, **bounds, few=few) as variable:
            with self.scope():
                yield Int.of(Atom(variable, begin.low, max(begin.low, end.high - 1), self.most(end - 1)))
            inside, is_block = code.lines[start + 3 :], some == "true" and code.current == head
        if begin.known is not None and end.known is not None and is_block:
            count = end.known - begin.known
            if count <= UNROLLED and count * len(inside) <= LONGEST_UNROLLED:
                self.spans.pop()
                code.lines[start:] = _written_out(inside, variable, range(begin.known, end.known))
                code.current = before

    @contextmanager
    def span(
        self, head: str, done: str, first: str, last: str, step: int, trips: float, most: tuple[float, float], *, few: bool = False,
        iterations: bool = False,
    ) -> Iterator[str]:  # fmt: skip
        """Writes the block at a loop's beginning, to which the code so far branches, and the branch back, to the label ``head``
        or ``done``; gives the register of the loop's variable. ``iterations``: it is a loop of the user's. Of one that sums up ``few`` elements or many, two vectors at a time
        are enough: of LLVM's four a sum of fifty elements would be left over."""
        code, before = self.code, self.code.current
        outside = self.work
        outside.count(len(code.lines))
        self.work = Work(len(code.lines))
        code.block(head)
        at = len(code.lines)
        variable = code.temp("i")
        code.line("")
        span = LoopRecord(
            at - 1, variable, first, last, step, head, done, len(self.log), iterations, *most, trips=trips
        )
        yield variable
        following = code.op(f"add nsw i64 {variable}, {step}")
        code.lines[at] = f"  {variable} = phi i64 [ {first}, %{before} ], [ {following}, %{code.current} ]"
        more = code.op(f"icmp {'slt' if step > 0 else 'sgt'} i64 {following}, {last}")
        self.few += few
        hint = f", !llvm.loop !{_HINTS + self.few}" if few else ""
        code.line(f"br i1 {more}, label %{head}, label %{done}{hint}")
        if trips == UNKNOWN_TRIPS:
            trips = span.trips = self.limits.get(variable, trips)
            span.bound = min(span.bound, self.limits.get(variable, span.bound))
        span.end, span.accesses_end = len(code.lines), len(self.log)
        span.work = self.work.count(len(code.lines))
        if span.is_one_block(code.lines):
            span.work *= VECTORISED
        outside.total += span.work * trips
        outside.line = len(code.lines)
        self.work = outside
        self.spans.append(span)
        code.block(done)

    @contextmanager
    def loops(self, shape: Sequence[Int], order: Sequence[int] | None = None, *, reduces: bool = False) -> Iterator[At]:
        """Loops over all positions of a shape; the dimensions in ``order``, outermost first."""
        order = range(len(shape)) if order is None else order
        at: dict[int, Int] = {}

        @contextmanager
        def nested(left: Sequence[int]) -> Iterator[None]:
            if not left:
                yield
                return
            with self.loop(ZERO, shape[left[0]], reduces=reduces) as i:
                at[left[0]] = i
                with nested(left[1:]):
                    yield

        with nested(list(order)):
            yield tuple(at[d] for d in range(len(shape)))

    # Memory

    def memory(self, pointer: str, level: int) -> Memory:
        """New memory; ``level`` is the depth of the body that may write to it."""
        made = Memory(pointer, len(self.memories), level)
        self.memories.append(made)
        return made

    @property
    def level(self) -> int:
        return len(self.blocks)

    def temporary(self, shape: Sequence[Int], dtype: DType) -> StridedView:
        """Memory of the call's own for an array, the same each time that this step runs."""
        strides, size = row_major([self._room_along(n) for n in shape], dtype.itemsize)
        if size.known is not None and size.known > MEMORY_LIMIT:
            raise Refused("a temporary array whose size has no useful bound")
        made = self.memory(self._allocate(size), self.level)
        made.is_new = True
        return StridedView(made, dtype, ZERO, shape, strides)

    def _room_along(self, n: Int) -> Int:
        """For how many elements there is to be room in a dimension."""
        found = Int(n.high) if self.sizes is None else ceiling(n)
        if found is None:
            raise Refused("a temporary array whose size has no useful bound")
        return found if found.terms else Int(max(1, found.constant))

    def _allocate(self, size: Int) -> str:
        if size.known is not None:
            return self.allocations.take(size.known, len(self.code.lines))
        assert self.sizes is not None
        return self.allocations.take(self.sizes.bytes(size, MEMORY_LIMIT), len(self.code.lines))

    def text_of_size(self, x: Int | int) -> str:
        """The operand of an integer of sizes, in all of the program."""
        return str(x) if isinstance(x, int) or self.sizes is None else self.sizes.text(x)

    def most(self, x: Int) -> Int | None:
        """``x`` as the bound of a register, if it says more than a number."""
        return x if self.sizes is not None and x.terms else None

    def alias(self, memory: Memory) -> str:
        own = _SCOPES + 3 * memory.scope
        return f", !alias.scope !{own + 1}, !noalias !{own + 2}"

    def pointer(self, place: StridedView, at: At) -> str:
        offset = self.text(place.where(at))
        return self.code.op(f"getelementptr i8, ptr {place.memory.pointer}, i64 {offset}")

    def load(self, place: StridedView, at: At) -> Value:
        if self.redirected:
            where = place.where(at)
            for copied, offset, position in self.redirected:
                if copied.place.memory is place.memory and copied.place.dtype is place.dtype and offset == where:
                    return self.load(copied.copy, position)
        self._note(place, at, stores=False)
        return scalars.load(self.code, self.pointer(place, at), place.dtype, self.alias(place.memory))

    def _note(self, place: StridedView, at: At, *, stores: bool) -> None:
        if self.accesses is not None:
            self.accesses.append((place, place.where(at)))
        else:
            self.log.append(Access(place.memory, narrowed(self, place.where(at)), place.dtype.itemsize, stores))

    def store(self, place: StridedView, at: At, value: Value) -> None:
        self._note(place, at, stores=True)
        scalars.store(self.code, value, self.pointer(place, at), place.dtype, self.alias(place.memory))

    def slot(self, type_: str) -> str:
        """A register's worth of memory, which LLVM turns into registers."""
        made = self.head.op(f"alloca {type_}, align 16")
        self.slots[made] = len(self.code.lines)
        return made

    # Arrays

    def scalar(self, x: Any) -> Value:
        """The only element of a 0-d array."""
        value: Value = x.element(self, tuple(ZERO for _ in x.shape))
        return value

    def force(self, x: Array) -> StridedView:
        """An array's elements in memory of the program's own."""
        made = self.temporary(x.shape, x.dtype)
        self.fill(made, x)
        return made

    def room_for(self, name: str, shape: Sequence[Int], dtype: DType) -> StridedView:
        """Memory for the value of a name: where the result of that name is to be, or a temporary."""
        place = self.places.get(name) if not self.blocks else None
        return self.temporary(shape, dtype) if place is None else place

    def room(self, name: str, x: Array) -> StridedView:
        """A copy of ``x`` in :meth:`room_for` it."""
        made = self.room_for(name, x.shape, x.dtype)
        self.fill(made, x)
        return made

    def fill(self, target: StridedView, x: Array, copied: Sequence[Copied] = ()) -> None:
        """Stores all elements of ``x``, whose shape is the target's, none of which the target's memory holds elsewhere, but for what
        was copied."""
        order = sorted(range(len(target.shape)), key=lambda d: -magnitude(target.strides[d]))
        with self.loops(target.shape, order) as at:
            self.redirected = [(c, c.offset(at), tuple(at[d] for d in c.dims)) for c in copied]
            value = x.element(self, at)
            self.redirected = []
            self.store(target, at, value)

    def assign(self, target: StridedView, x: Array) -> None:
        """:meth:`fill`, whatever ``x`` looks at."""
        if target.same_as(x):
            return
        if self.may_assign(target, x):
            self.fill(target, x)
            return
        copied = copies_of_what_is_read(self, target, x)
        if copied is None:
            self.fill(target, self.force(x))
        else:
            self.copies_rows = True
            self.fill(target, x, copied)

    def may_assign(self, target: StridedView, x: Array) -> bool:
        """Whether :meth:`fill` stores the right elements though ``x`` may look at the target's memory."""
        return target.same_as(x) or target.memory not in x.reads or reads_ahead(self, target, x)

    def keep_what_is_read(self, memory: Memory, but: str, also: Callable[[str], bool] = lambda name: False) -> None:
        """Before ``memory`` is written to: gives memory of their own to all values that look at it and are still needed."""
        for scope in self.scopes:
            for name, x in list(scope.items()):
                if isinstance(x, (StridedView, Thunk)) and memory in x.reads and name != but:
                    if self.is_live(name) or also(name):
                        self.scopes[-1][name] = self.force(x)

    # The whole

    @property
    def loops_asking(self) -> dict[str, LoopRecord | None]:
        """The loops in which Ctrl-C is looked for, by their first labels."""
        return {s.head: s for s in self.spans} | dict.fromkeys(self.whiles)

    def function(self, name: str, attributes: str) -> str:
        """The module. What has been written ends where the program ends well."""
        code, head = self.code, self.head
        # Sizes that are hot get code of their own, with threads.
        loops = outline(self, name) if self.sizes is None else []
        self.parallel_loops = len(loops)
        code.lines, asked = asking(code.lines, self.loops_asking, POLL)
        if any(POLL in line for line in code.lines):
            code.require("@tnp_poll", POLL_DECLARED)
        code.line("store i64 0, ptr %outcome")
        code.line("br label %leave")
        if self.may_refuse:
            code.block("refuse")
            self._restore()
            code.line("br label %decline")
        made, lacking, freed = self.allocations.write(list(self.allocations))
        if self.may_refuse or self.may_decline or lacking:
            code.block("decline")
            code.line(f"store i64 {REFUSED}, ptr %outcome")
            code.line("br label %leave")
        code.block("leave")
        code.lines += freed
        if freed or any("@malloc" in loop for loop in loops):
            code.require("malloc", DECLARATIONS)
        code.line(f"ret i64 {code.op('load i64, ptr %outcome')}")
        begin = f"  br i1 {lacking}, label %decline, label %copy" if lacking else "  br label %copy"
        copy = ["copy:", *self.ahead.lines, *self.copies.lines, "  br label %start"]
        body = [
            "  %outcome = alloca i64",
            "  store i64 0, ptr %outcome",
            *asked,
            *(self.sizes.code.lines if self.sizes is not None else ()),
            *made,
            *head.lines,
            begin,
            *copy,
            "start:",
        ]
        text = "\n".join([*body, code.text()])
        parts = [*loops, f"define i64 @{name}(ptr %slots) #0 {{\nentry:\n{text}\n}}", code.module_text()]
        parts += [self._metadata(), f"attributes #0 = {{ nounwind {attributes} }}"]
        return "\n\n".join(parts) + "\n"

    def _restore(self) -> None:
        """Undoes what has been written to the caller's arrays, which are copied at the beginning: who refuses has done nothing."""
        memcpy = "@llvm.memcpy.p0.p0.i64"
        self.code.require(memcpy, f"declare void {memcpy}(ptr, ptr, i64, i1)")
        arrays = undone(self.written)
        if arrays is None:
            raise Refused("an array with gaps, which might have to be restored")
        for place, first, size in arrays:
            begin = self.copies.op(f"getelementptr i8, ptr {place.memory.pointer}, i64 {first}")
            copy, count = self._allocate(Int.of(size)), self.text_of_size(size)
            self.copies.line(f"call void {memcpy}(ptr {copy}, ptr {begin}, i64 {count}, i1 false)")
            self.code.line(f"call void {memcpy}(ptr {begin}, ptr {copy}, i64 {count}, i1 false)")

    def _metadata(self) -> str:
        """Weights of branches, and an alias scope for each memory with the list of all others."""
        count = len(self.memories)
        lines = [f'!{_UNLIKELY} = !{{!"branch_weights", i32 1000000, i32 1}}']
        lines.append(f'!{_UNLIKELY_FIRST} = !{{!"branch_weights", i32 1, i32 1000000}}')
        lines.append(f"!{UNPREDICTABLE} = !{{}}")
        if self.few:
            lines.append(f'!{_HINTS} = !{{!"llvm.loop.interleave.count", i32 2}}')
            lines += [f"!{n} = distinct !{{!{n}, !{_HINTS}}}" for n in range(_HINTS + 1, _HINTS + self.few + 1)]
        lines.append(f'!{_DOMAIN} = distinct !{{!{_DOMAIN}, !"memory"}}')
        for i in range(count):
            own = _SCOPES + 3 * i
            others = ", ".join(f"!{_SCOPES + 3 * j}" for j in told_apart(i, count))
            lines.append(f"!{own} = distinct !{{!{own}, !{_DOMAIN}}}")
            lines += [f"!{own + 1} = !{{!{own}}}", f"!{own + 2} = !{{{others}}}"]
        return "\n".join(lines)


_REGISTER_PARTS = re.compile(r"%[\w.]+")


def _written_out(lines: Sequence[str], variable: str, values: range) -> list[str]:
    """The lines of a block once for each value of a variable, with registers of their own."""
    made = {line.split(" = ", 1)[0].strip() for line in lines if line.startswith("  %")}
    found: list[str] = []
    for value in values:
        names = {name: f"{name}.{value}" for name in made} | {variable: str(value)}
        found += [_REGISTER_PARTS.sub(lambda m, names=names: names.get(m[0], m[0]), line) for line in lines]
    return found
