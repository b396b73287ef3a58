"""The code of functions: sizes and words of the context, loops, memory, and the values of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes, intervals, sizes, symbols
from tnp.core.proxies import NumberProxy
from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir import memory, strips
from tnp.executors.llvm.loop_ir.accumulators import Accumulator, accumulator
from tnp.executors.llvm.loop_ir.addresses import Addresses, OpenLoop
from tnp.executors.llvm.loop_ir.nodes import (
    Apply,
    Buffer,
    Constant,
    Convert,
    Expression,
    Load,
    Number,
    Position,
    Reduce,
    Size,
    Statement,
    Store,
    cost_of,
)
from tnp.executors.llvm.loop_ir.prefetch import Ahead
from tnp.executors.llvm.lowering import Refused
from tnp.runtime.launcher import INTERRUPTED, POLL, POLL_DECLARED

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.emitter import Module
    from tnp.executors.llvm.loop_ir.nests import NestCode
    from tnp.executors.llvm.loop_ir.skewed import SkewedCode

__all__ = ["HINTS", "Body", "Function", "typical"]

#: elements that one accumulator sums
CHUNK = 4096

_ONE_VECTOR = '!"llvm.loop.interleave.count", i32 1'
#: what LLVM is told of innermost loops
HINTS = {
    **{f"{n} vectors": [f'!"llvm.loop.interleave.count", i32 {n}'] for n in (2, 4, 8)},
    "1 vectors": [_ONE_VECTOR],
    **{
        f"{n} vectors of {length}": [
            f'!"llvm.loop.interleave.count", i32 {n}',
            f'!"llvm.loop.vectorize.width", i32 {length}',
        ]
        for n in (1, 2, 4, 8)
        for length in (2, 4, 8, 16, 32, 64)
    },
    "masked": [_ONE_VECTOR, '!"llvm.loop.vectorize.predicate.enable", i1 true'],
    "scalar": ['!"llvm.loop.vectorize.enable", i1 false'],
    "unrolled": ['!"llvm.loop.unroll.full"'],
}


class Function:
    """The code of one function, and the sizes that it has computed."""

    def __init__(self, module: Module, words: dict[Any, int] | None = None) -> None:
        self.module = module
        self.code = Code(module.code)
        #: where words are found that a frame has in the place of the context
        self.words = words
        #: registers of addresses that are in no word, or in one, too
        self.addresses: dict[Any, str] = {}
        self.known: dict[Any, str] = {}
        #: the names of sizes that are being computed
        self.sought: set[str] = set()

    def _place(self, i: int) -> str:
        return self.code.op(f"getelementptr i64, ptr %ctx, i64 {i}")

    def set_word(self, i: int, value: str) -> None:
        self.code.line(f"store i64 {value}, ptr {self._place(i)}, align 8")

    def word(self, key: Any) -> str:
        return self.code.op(f"load i64, ptr {self.place(key)}, align 8")

    def pointer(self, key: Any) -> str:
        return self.addresses.get(key) or self.code.op(f"load ptr, ptr {self.place(key)}, align 8")

    def size(self, n: Any) -> str:
        """The register of a size."""
        if isinstance(n, int):
            return str(n)
        number = n.number if isinstance(n, symbols.Extent) else n
        if number.text not in self.known:
            self.known[number.text] = self._found(number)
        return self.known[number.text]

    def last(self, n: Any) -> str:
        """The register of a size less 1."""
        return str(n - 1) if isinstance(n, int) else self.code.op(f"sub nsw i64 {self.size(n)}, 1")

    def _found(self, number: NumberProxy) -> str:
        """The register of a size. It is computed from the arguments, if need be by way of an equal size."""
        if number.name in self.module.roots:
            return self.word(number.name)
        if number.name in self.sought:
            raise Refused(f"the size {number.text} follows from itself")
        self.sought.add(number.name)
        try:
            form = intervals.linear(number)
            if [*form.terms] == [number.name]:
                ways = [self._computed, *(partial(self._same, n) for n in sizes.equals(number))]
            else:
                ways = [partial(self._total, form), self._computed]
            for k, way in enumerate(ways):
                try:
                    return way(number)
                except Refused:
                    if k == len(ways) - 1:
                        raise
            raise AssertionError("there is a way at least")
        finally:
            self.sought.remove(number.name)

    def _same(self, other: NumberProxy, number: NumberProxy) -> str:
        return self.word(other.name) if other.name in self.module.roots else self._computed(other)

    def _total(self, form: intervals.Linear, number: NumberProxy) -> str:
        total = str(form.constant)
        for part, factor in form.terms.values():
            total = self.code.arithmetic("add", total, self.code.arithmetic("mul", self.size(part), self.size(factor)))
        return total

    def _computed(self, number: NumberProxy) -> str:
        if number.origin is None or number.origin[0] not in (*_OPERATIONS, "floor_divide", "remainder"):
            raise Refused(f"the size {number.text} does not follow from the arguments")
        operation, args = number.origin
        if operation in ("floor_divide", "remainder"):
            return self._divided(number, *args)
        a, b = map(self.size, args)
        return self.code.op(f"{_OPERATIONS[operation]} i64 {a}, {b}")

    def _divided(self, number: NumberProxy, whole: Any, by: Any) -> str:
        """A quotient, rounded down, or its remainder. That of a negative ``a`` is ``~(~a // b)``: ``-1 % n``."""
        low, least = (x if isinstance(x, int) else intervals.linear(x).interval()[0] for x in (whole, by))
        if least is None or least < 1:
            raise Refused(f"the size {number.text} is a quotient by what may be negative")
        assert number.origin is not None
        code, (a, b), wants_rest = self.code, map(self.size, (whole, by)), number.origin[0] == "remainder"
        if low is not None and low >= 0:
            return code.op(f"{'urem' if wants_rest else 'udiv'} i64 {a}, {b}")
        sign = code.op(f"ashr i64 {a}, 63")
        quotient = code.op(f"udiv i64 {code.op(f'xor i64 {a}, {sign}')}, {b}")
        quotient = code.op(f"xor i64 {quotient}, {sign}")
        return code.op(f"sub i64 {a}, {code.op(f'mul i64 {quotient}, {b}')}") if wants_rest else quotient

    def place(self, key: Any) -> str:
        """The address of a word of the context."""
        if self.words is not None:
            return self._place(self.words.setdefault(key, len(self.words)))
        return self._place(self.module.word(key))

    def branch(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """One thing or another. What they compute is not there behind them."""
        code, known = self.code, dict(self.known)
        if condition in ("true", "false"):
            (then if condition == "true" else otherwise)()
            return
        labels = [code.label(hint) for hint in ("one", "another", "onward")]
        code.line(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        for label, write in zip(labels, (then, otherwise)):
            code.block(label)
            write()
            code.line(f"br label %{labels[2]}")
            self.known = dict(known)
        code.block(labels[2])

    def call(self, name: str, count: str, cost: str, least: int = 1, context: str = "%ctx") -> None:
        """The call of a nest's function for ``count`` iterations of ``cost`` additions each, on as many threads as pay, each of which
        gets ``least`` iterations or more. A long one looks for Ctrl-C, unless the caller's arrays are being changed."""
        code = self.code
        cost = extreme(code, "smax", cost, "1")
        grain = extreme(code, "smax", code.arithmetic("udiv", str(target.GRAIN), cost), str(least))
        pays = code.compare("sge", count, code.arithmetic("mul", grain, "2"))
        is_long = (
            code.compare("sge", count, code.arithmetic("udiv", str(target.POLLED_COST), cost))
            if self.module.may_stop
            else "false"
        )

        def together() -> None:
            code.require("parallel", "declare void @tnp_parallel(ptr, ptr, i64, i64)")
            code.line(f"call void @tnp_parallel(ptr @{name}, ptr {context}, i64 {count}, i64 {grain})")

        def alone() -> None:
            code.line(f"call void @{name}(ptr {context}, i64 0, i64 {count})")

        self.branch(
            is_long,
            lambda: self._in_slices(name, count, cost, grain, context),
            lambda: self.branch(pays, together, alone),
        )

    def _in_slices(self, name: str, count: str, cost: str, grain: str, context: str) -> None:
        """The call of a nest's function for some iterations at a time; between them the kernel is left if the user has pressed Ctrl-C."""
        code = self.code
        length = extreme(code, "smax", code.arithmetic("udiv", str(target.POLL_COST), cost), grain)
        code.require("parallel_from", "declare void @tnp_parallel_from(ptr, ptr, i64, i64, i64)")
        code.require("@tnp_poll", POLL_DECLARED)
        head, ask, stop, again, done = (code.label(hint) for hint in ("slice", "ask", "stop", "again", "sliced"))
        first, following, before = code.temp("first"), code.temp("next"), code.current
        code.line(f"br label %{head}")
        code.block(head)
        code.line(f"{first} = phi i64 [ 0, %{before} ], [ {following}, %{again} ]")
        part = extreme(code, "smin", code.op(f"sub i64 {count}, {first}"), length)
        code.line(f"call void @tnp_parallel_from(ptr @{name}, ptr {context}, i64 {first}, i64 {part}, i64 {grain})")
        code.line(f"{following} = add i64 {first}, {part}")
        code.line(f"br i1 {code.op(f'icmp slt i64 {following}, {count}')}, label %{ask}, label %{done}")
        code.block(ask)
        code.line(f"br i1 {code.op(POLL)}, label %{stop}, label %{again}")
        code.block(stop)
        self.set_word(self.module.failed, str(INTERRUPTED))
        code.line("br label %leave")
        code.block(again)
        code.line(f"br label %{head}")
        code.block(done)


_OPERATIONS = {"add": "add nsw", "sub": "sub nsw", "mul": "mul nsw"}


def typical(n: Any) -> int:
    """A size in the call that was traced, by which code is chosen that is right for any."""
    return n if isinstance(n, int) else symbols.value_of(symbols.number_of(n)) or 0


class Body(Addresses):
    """The function of a nest while it is written: ``head`` comes before its loops.

    It has many methods: loops, addresses, values and accumulators are written by one object, which knows what has been computed.
    """

    def __init__(self, nest: NestCode | SkewedCode) -> None:
        self.nest = nest
        self.module = nest.module
        self.head = Function(self.module, nest.words)
        self.code = Code(self.module.code)
        self.code._count = 1_000_000  # registers of the body and of its head have different names
        self.values = [dict.fromkeys(nest.inner, "0")]
        self.pointers = {}
        self.slots = {}
        #: the buffers, numbered as they are used
        self.memories: dict[Buffer, int] = {}
        self.accumulators: dict[Reduce, Accumulator] = {}
        #: which of an accumulator's lanes takes an element
        self.lane = "0"
        #: those of the nest being written
        self.statements: Sequence[Statement] = nest.statements
        self.rows: tuple[str, str] | None = None
        #: what the loop that is being written prefetches
        self.ahead: list[Ahead] = []

    def finish(self) -> str:
        """Ends the function; its name."""
        self.code.line("ret void")
        name = f"{self.module.name}.nest{len(self.module.functions)}".replace(".", "_")
        text = "\n".join([self.head.code.text(), "  br label %start", "start:", self.code.text()])
        self.module.functions.append(
            f"define internal void @{name}(ptr %ctx, i64 %begin, i64 %end) noinline #0 {{\nentry:\n{text}\n}}"
        )
        return name

    # Loops

    @contextmanager
    def plain_loop(self, begin: str, end: str, hint: str = "", step: int = 1) -> Iterator[str]:
        """A loop of one iteration at least, whose variable ends at ``end``; gives its register. ``hint`` is for LLVM: a name in
        :data:`HINTS`."""
        code = self.code
        before = code.current if code.current != "entry" else "start"
        head, leave = code.label("loop"), code.label("done")
        with self.slot():
            code.line(f"br label %{head}")
            code.block(head)
            at = len(code.lines)
            variable = code.temp("i")
            code.line("")
            loop = OpenLoop(variable, begin, step)
            self.values.append({"loop": loop})
            yield variable
            self.values.pop()
        code.lines[at] = "\n".join(loop.heads(before, code.current))
        code.lines += loop.ends()
        more = code.op(f"icmp ne i64 {variable}.next, {end}")
        if not hint and code.current == head:  # it has no loop in it
            is_short = begin == "0" and end.isdigit() and int(end) <= strips.UNROLLED and self.is_cheap()
            hint = "unrolled" if is_short else "2 vectors" if self.reductions() else "1 vectors"
        if self._has_negative_stride() and (not hint or hint.endswith("vectors")):
            is_long = not end.isdigit() or int(end) > strips.LONGEST_SCALAR
            length = strips.vector_length(self.statements)
            # Of what LLVM does not vectorise though it is told the length, it writes a remark.
            hint = (
                f"{hint or '1 vectors'} of {length}" if is_long and strips.are_vectorised(self.statements) else "scalar"
            )
        told = f", !llvm.loop !{self.module.hint(hint)}" if hint else ""
        code.line(f"br i1 {more}, label %{head}, label %{leave}{told}")
        code.block(leave)

    def _has_negative_stride(self) -> bool:
        """Whether an access has a constant negative stride. LLVM 22 has two cost models for vectors of such accesses, and aborts where they
        disagree (``x[::-1].sum(axis=1)`` of a few rows), unless the length of vectors is given."""
        accesses = [(x.buffer, x.at) for s in self.statements for x in (s, *s.reads)]
        steps = [step for access in accesses for step in self.nest.offset(*access).terms.values()]
        return any(isinstance(step, int) and step < 0 for step in steps)

    def is_cheap(self) -> bool:
        """Whether the statements are so short that writing them out some times saves more than it costs."""
        return cost_of(self.statements) <= target.CHEAP

    @contextmanager
    def loop(self, var: Var, begin: str, end: str, hint: str = "") -> Iterator[None]:
        with self.plain_loop(begin, end, hint) as i:
            self.values[-1][var] = i
            yield

    @contextmanager
    def nested(self, loops: Sequence[tuple[Var, Any]]) -> Iterator[None]:
        if not loops:
            yield
            return
        (var, count), *others = loops
        with self.loop(var, "0", self.head.size(count)), self.nested(others):
            yield

    @contextmanager
    def counted(self, var: Var, begin: str, count: str, hint: str) -> Iterator[str]:
        """A loop of ``count`` iterations from ``begin`` on, one at least; gives the register that counts them. LLVM sees how many there
        are."""
        with self.plain_loop("0", count, hint) as i:
            self.values[-1][var] = self.code.arithmetic("add", begin, i)
            yield i

    def when(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        """What is run if a condition is true, and what is run if not."""
        code = self.code
        if condition in ("true", "false"):
            chosen = then if condition == "true" else otherwise
            if chosen is not None:
                self._in_scope(chosen)
            return
        some, onward = code.label("some"), code.label("onward")
        other = code.label("other") if otherwise is not None else onward
        with self.slot():
            code.line(f"br i1 {condition}, label %{some}, label %{other}")
            code.block(some)
            self._in_scope(then)
            code.line(f"br label %{onward}")
            if otherwise is not None:
                code.block(other)
                self._in_scope(otherwise)
                code.line(f"br label %{onward}")
        code.block(onward)

    def _in_scope(self, write: Callable[[], None]) -> None:
        """Writes code whose values are not there behind it."""
        self.values.append({})
        write()
        self.values.pop()

    def points(self, loops: Sequence[tuple[Var, Any]], begin: str = "0", end: str = "") -> None:
        """Loops, the first from ``begin`` to before ``end``, and the statements at each of their points."""
        if not loops:
            self.run()
            return
        (var, count), *others = loops
        end = end or self.head.size(count)
        if others:
            with self.loop(var, begin, end):
                self.points(others)
        elif self._is_long(count):
            self._blocks(var, begin, end, typical(count))
        else:
            strips.emit(self, var, begin, end, typical(count), self.run)

    def _is_long(self, count: Any) -> bool:
        """Whether so many elements may be added up that one after the other is not accurate enough."""
        sums = any(s.op == "sum" and s.buffer.dtype.kind in "fc" for s in self.reductions())
        return sums and not (isinstance(count, int) and count <= CHUNK)

    def _blocks(self, var: Var, begin: str, end: str, length: int) -> None:
        """An innermost loop that adds up blocks, and then these."""
        code = self.code
        totals = {s: self.accumulators[s] for s in self.reductions()}
        count = code.arithmetic("sub", end, begin)
        blocks = code.arithmetic("udiv", code.arithmetic("add", count, str(CHUNK - 1)), str(CHUNK))
        for s in totals:
            self.accumulators[s] = accumulator(self, s)
        with self.plain_loop("0", blocks) as block:
            first = code.arithmetic("add", begin, code.arithmetic("mul", block, str(CHUNK)))
            last = extreme(code, "smin", code.arithmetic("add", first, str(CHUNK)), end)
            for s in totals:
                self.accumulators[s].reset()
            strips.emit(self, var, first, last, min(length, CHUNK), self.run)
            for s, total in totals.items():
                total.add(self.accumulators[s].get())
        self.accumulators.update(totals)

    @contextmanager
    def split(self, loops: Sequence[Var], by: Sequence[Var]) -> Iterator[None]:
        """Loops, of which that in ``by`` goes over the function's own range."""
        if not loops:
            yield
            return
        var, *others = loops
        begin, end = ("%begin", "%end") if var in by else ("0", self.head.size(var.limit))
        with self.loop(var, begin, end), self.split(others, by):
            yield

    # Memory

    def load(self, buffer: Buffer, at: tuple[Index, ...]) -> Any:
        return scalars.load(self.code, self.address(buffer, at), buffer.dtype, self.alias(buffer))

    def alias(self, buffer: Buffer) -> str:
        """What an access tells LLVM: that the buffer's memory is no other's."""
        return self.module.alias(self.memories.setdefault(buffer, len(self.memories)))

    def store(self, buffer: Buffer, at: tuple[Index, ...], value: Any) -> None:
        for scope in self.values:  # what was loaded before may be another value now
            for key in [k for k in scope if isinstance(k, tuple) and k[0] is buffer]:
                del scope[key]
        if buffer.role not in ("row", "point") or buffer.shape:  # else it is a register
            scalars.store(self.code, value, self.address(buffer, at), buffer.dtype, self.alias(buffer))
        self.values[-1][buffer, at] = value

    # Values

    def value(self, x: Expression) -> Any:
        """The registers of an element."""
        if isinstance(x, Constant):
            return scalars.constant(x.value, x.dtype)
        key = (x.buffer, x.at) if isinstance(x, Load) else id(x)
        found = self.find(key)
        if found is None:
            found = self._computed(x)
            self.values[0 if isinstance(x, (Number, Size)) else -1][key] = found
        return found

    def _computed(self, x: Expression) -> Any:
        code = self.code
        if isinstance(x, Load):
            return self.load(x.buffer, x.at)
        if isinstance(x, Number):
            return self._number(x)
        if isinstance(x, Size):
            return scalars.convert(self.head.code, self.head.size(x.size), dtypes.int64, x.dtype)
        if isinstance(x, Position):
            return scalars.convert(code, self.index(x.index), dtypes.int64, x.dtype)
        if isinstance(x, Convert):
            change = scalars.bitcast if x.bits else scalars.convert
            return change(code, self.value(x.x), x.x.dtype, x.dtype)
        assert isinstance(x, Apply)
        if x.op == "where":
            condition, *values = x.args
            parts = [self.value(condition), *map(self._chosen, values)]
            return scalars.where(code, parts, x.of, is_unpredictable=True)
        if x.op == "ldexp":
            a, b = x.args
            return scalars.emit_ldexp(code, self.value(a), self.value(b), a.dtype, b.dtype)
        return scalars.emit(code, x.op, [self.value(a) for a in x.args], x.of)

    def _chosen(self, x: Expression) -> Any:
        """A value of a ``where``. Of ``max(accumulator, select(c, x, -inf))`` LLVM would make a select of accumulators, which it does not
        vectorise, so it does not know that constant."""
        if not isinstance(x, Constant) or not scalars.is_identity_of_extreme(x.value, x.dtype):
            return self.value(x)
        key = (repr(x.value), x.dtype)
        if key not in self.values[0]:
            head = self.head.code
            place, where = head.op("alloca [16 x i8], align 16"), head.op("alloca ptr, align 8")
            scalars.store(head, scalars.constant(x.value, x.dtype), place, x.dtype, "")
            head.line(f"store ptr {place}, ptr {where}, align 8")
            pointer = head.op(f"load volatile ptr, ptr {where}, align 8")
            self.values[0][key] = scalars.load(head, pointer, x.dtype, "")
        return self.values[0][key]

    def _number(self, x: Number) -> Any:
        head = self.head.code
        pointer = self.head.pointer(f"number{x.index}")
        if x.python_type is bool:
            return head.op(f"trunc i64 {head.op(f'load i64, ptr {pointer}, align 8')} to i1")
        return scalars.load(head, pointer, x.dtype, "")

    # Rows of their own

    def make_rows(self, buffers: Sequence[Buffer]) -> None:
        """Takes memory for buffers of a row."""
        self.take({b: b.bytes for b in buffers})

    def take(self, sizes: Mapping[Any, Any]) -> None:
        """Takes memory of some sizes in bytes, by the keys of its addresses: on the stack if it is little. Where there is none, the function
        tells so and ends."""
        code, total, offsets = self.code, "0", []
        for size in sizes.values():
            offsets.append(total)
            padded = code.arithmetic("add", self.head.size(size), "63")
            total = code.arithmetic("add", total, code.arithmetic("and", padded, "-64"))
        if total.isdigit() and int(total) <= target.ROW_STACK_BYTES:
            place = self.head.code.op(f"alloca [{total} x i8], align 64") if sizes else ""
        else:
            place = memory.allocate(code, total)
            self.rows = place, total
            missing, onward, lacking = (
                code.op(f"icmp eq ptr {place}, null"),
                code.label("onward"),
                code.label("lacking"),
            )
            code.line(f"br i1 {missing}, label %{lacking}, label %{onward}")
            code.block(lacking)
            failed = code.op(f"getelementptr i64, ptr %ctx, i64 {self.module.failed}")
            code.line(f"store i64 1, ptr {failed}, align 8")
            code.line("ret void")
            code.block(onward)
        for key, offset in zip(sizes, offsets):
            self.pointers[key] = place if offset == "0" else code.op(f"getelementptr i8, ptr {place}, i64 {offset}")

    def free_rows(self) -> None:
        if self.rows is not None:
            memory.give_back(self.code, [self.rows])

    # Statements

    def run(self, counts: str | None = None) -> None:
        """The statements at this point. Reductions take it only if it ``counts``."""
        for s in self.statements:
            if isinstance(s, Store):
                self.store(s.buffer, s.at, self.value(s.value))
            else:
                assert isinstance(s, Reduce)
                self.accumulators[s].add_element(counts)

    def reset(self) -> None:
        """Sets the accumulators to what is neutral."""
        for s in self.reductions():
            if s not in self.accumulators:
                self.accumulators[s] = accumulator(self, s)
            self.accumulators[s].reset()

    def reductions(self) -> list[Reduce]:
        return [s for s in self.statements if isinstance(s, Reduce)]

    def keep(self) -> None:
        """Stores the accumulators where the results are."""
        for s in self.reductions():
            self.store(s.buffer, s.at, self.accumulators[s].result())
