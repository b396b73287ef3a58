"""From a kernel of the loop IR to LLVM IR.

Each nest becomes one function of a context and a range of its outermost parallel loop, which ``tnp_parallel`` splits among
threads. The context has the addresses of all buffers and numbers, and the symbolic sizes. Loops that go evenly through all memory
become one. A reduction with no parallel loop around it goes in blocks, whose results a second function combines; how long blocks
are depends on the size alone, so that the number of threads changes no bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tnp.core import symbols
from tnp.executors.llvm import scalars
from tnp.executors.llvm.any_size import SIZES
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.emit.kernel import c_strides
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.index import Index, Var, linear
from tnp.executors.llvm.loop_ir.functions import HINTS, MALLOC, SLOT_BYTES, Body, Function, product
from tnp.executors.llvm.loop_ir.nodes import (
    ORDERED,
    Buffer,
    Check,
    Kernel,
    Load,
    Nest,
    Position,
    Positions,
    Reduce,
    Rows,
    Scan,
    Statement,
    parts_of,
)
from tnp.executors.llvm.loop_ir.strips import cost_of
from tnp.runtime.launcher import RECORD_WORDS

__all__ = ["COUNT", "Interface", "Module", "NestCode", "emit"]

#: blocks of a reduction that has no parallel loop, at most, and their iterations, at least
BLOCKS, BLOCK_LENGTH = 1024, 4096
#: in place of a dimension
COUNT = -1
#: a function that counts
COUNTING = """\
define internal i64 @count_true(ptr %mask, i64 %n) noinline #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %count = phi i64 [ 0, %entry ], [ %sum, %loop ]
  %place = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %place, align 1
  %is.true = icmp ne i8 %byte, 0
  %one = zext i1 %is.true to i64
  %sum = add nuw nsw i64 %count, %one
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %sum
}"""
#: columns that a thread takes of a reduction over rows
COLUMNS = 256


@dataclass(frozen=True)
class Interface:
    """What a kernel is called with: ``slots`` are its buffers and its numbers (by index), in order, and ``roots`` the sizes that no
    others make, by name, with where each is found: a slot, a dimension of it (of a number: ``None``), and what is to be taken from that.
    For the dimension :data:`COUNT` it is how many elements of the slot, a vector of bools, are true."""

    slots: Sequence[Buffer | int]
    inputs: int
    roots: Mapping[str, tuple[int, int | None, int]]


def emit(kernel: Kernel, name: str, interface: Interface, attributes: str, *, fast: bool = False) -> str:
    """The module of a kernel. It has two functions, ``name`` and ``name``:data:`SIZES`, as ``launcher.Spec`` describes them.

    Raises :class:`Refused` for a size that does not follow from the roots, and for reductions over loops in other orders than
    those that have code.
    """
    return Module(kernel, name, interface, attributes, fast).emit()


class Module:
    def __init__(self, kernel: Kernel, name: str, interface: Interface, attributes: str, fast: bool) -> None:
        self.kernel = kernel
        self.name = name
        self.interface = interface
        self.attributes = attributes
        self.code = Code(fast=fast)
        self.functions: list[str] = []
        self.scopes: dict[Buffer, int] = {b: i for i, b in enumerate(kernel.buffers)}
        #: the word of the context that has the address of a buffer, of a number, or a size
        given = [x if isinstance(x, Buffer) else f"number{x}" for x in interface.slots]
        kept = [b for b in kernel.temporaries if b.role == "temporary"]
        self.words: dict[Any, int] = {x: i for i, x in enumerate([*given, *interface.roots, *kept])}
        self.given = len(given)
        self.roots = set(interface.roots)
        #: what LLVM is told of each loop that it is told something of
        self.hints: list[str] = []
        #: the word that is 1 once a nest has found no memory
        self.failed = self.words.setdefault("failed", len(self.words))

    def word(self, key: Any) -> int:
        """The word of the context for a buffer, a number, a size, or, made here, partial results."""
        return self.words.setdefault(key, len(self.words))

    def alias(self, buffer: Buffer) -> str:
        count = len(self.scopes)
        own = self.scopes[buffer]
        return f", !alias.scope !{1 + count + own}, !noalias !{1 + 2 * count + own}"

    def hint(self, name: str) -> int:
        """The number of the metadata of a loop."""
        self.hints.append(HINTS[name])
        return 2 + 3 * len(self.scopes) + 2 * len(self.hints)

    def emit(self) -> str:
        calls: list[Callable[[Function], None]] = []
        for nest in self.kernel.nests:
            if isinstance(nest, Check):
                calls.append(partial(self._refuse_if, nest.buffer))
            else:
                calls += [RowsCode(self, nest).call()] if isinstance(nest, Rows) else NestCode(self, nest).calls()
        main = self._main(calls) + "\n\n" + self._sizes()
        attributes = f"attributes #0 = {{ nounwind {self.attributes} }}"
        return "\n\n".join([*self.functions, main, self.code.module_text(), self._scopes(), attributes]) + "\n"

    def _main(self, calls: Sequence[Callable[[Function], None]]) -> str:
        function = Function(self)
        code = function.code
        partials = [k for k in self.words if isinstance(k, tuple)]
        code.line(f"%ctx = alloca [{max(len(self.words), 1)} x i64], align 16")
        for i in range(self.given):
            function.set_word(i, code.op(f"load i64, ptr {code.op(f'getelementptr ptr, ptr %slots, i64 {i}')}"))
        self._set_roots(function)
        for key in partials:
            place = code.op(f"alloca [{BLOCKS * SLOT_BYTES} x i8], align 64")
            function.set_word(self.words[key], code.op(f"ptrtoint ptr {place} to i64"))
        function.set_word(self.failed, "0")
        freed = self._make_temporaries(function)
        for call in calls:
            call(function)
        code.line("br label %leave")
        code.block("leave")
        for place in freed:
            code.line(f"call void @free(ptr {place})")
        code.line(f"ret i64 {function.word('failed')}")
        if freed:
            code.block("refused")
            code.line("ret i64 1")
        return f"define i64 @{self.name}(ptr %slots) #0 {{\nentry:\n{code.text()}\n}}"

    def _refuse_if(self, buffer: Buffer, function: Function) -> None:
        """Leaves if a bool is true: the kernel refuses its arguments."""
        code = function.code
        found = scalars.load(code, function.pointer(buffer), buffer.dtype, "")
        wrong, onward = code.label("wrong"), code.label("onward")
        code.line(f"br i1 {found}, label %{wrong}, label %{onward}")
        code.block(wrong)
        function.set_word(self.failed, "1")
        code.line("br label %leave")
        code.block(onward)

    def _set_roots(self, function: Function) -> None:
        """Puts the sizes that are given into the context."""
        code = function.code
        in_order = sorted(self.interface.roots.items(), key=lambda item: item[1][1] == COUNT)
        for name, (slot, dim, less) in in_order:
            number = self._count(function, slot) if dim == COUNT else self._dimension(function, slot, dim)
            function.set_word(self.words[name], code.op(f"sub nsw i64 {number}, {less}") if less else number)

    def _count(self, function: Function, slot: int) -> str:
        """The register of how many elements of an argument are true."""
        code, mask = function.code, self.interface.slots[slot]
        assert isinstance(mask, Buffer)
        self.code.require("count_true", COUNTING)
        data = code.op(f"load ptr, ptr {code.op(f'getelementptr ptr, ptr %slots, i64 {slot}')}")
        return code.op(f"call i64 @count_true(ptr {data}, i64 {function.size(mask.shape[0])})")

    def _dimension(self, function: Function, slot: int, dim: int | None) -> str:
        """The register of a dimension of an argument, or of a number among them."""
        code = function.code
        i = slot if dim is None else len(self.interface.slots) + RECORD_WORDS + slot
        place = code.op(f"load ptr, ptr {code.op(f'getelementptr ptr, ptr %slots, i64 {i}')}")
        return code.op(f"load i64, ptr {code.op(f'getelementptr i64, ptr {place}, i64 {dim or 0}')}")

    def _sizes(self) -> str:
        """The function that gives the dimensions of results, and 1 if one that is computed is none, or if arguments do not fit."""
        function = Function(self)
        code, lacking = function.code, "false"
        code.line(f"%ctx = alloca [{max(len(self.words), 1)} x i64], align 16")
        self._set_roots(function)
        for name in self.interface.roots:  # a loop has an iteration
            lacking = code.op(f"or i1 {lacking}, {code.op(f'icmp slt i64 {function.word(name)}, 1')}")
        for slot, b in enumerate(self.interface.slots[: self.interface.inputs]):
            for d, n in enumerate(b.shape if isinstance(b, Buffer) else ()):
                name = "" if isinstance(n, int) else symbols.number_of(n).name
                if self.interface.roots.get(name, (slot, d, 0)) != (slot, d, 0):
                    other = code.op(f"icmp ne i64 {self._dimension(function, slot, d)}, {function.size(n)}")
                    lacking = code.op(f"or i1 {lacking}, {other}")
        made = [b for b in self.interface.slots[self.interface.inputs :] if isinstance(b, Buffer)]
        for i, n in enumerate(n for b in made for n in b.shape):
            size = function.size(n)
            code.line(f"store i64 {size}, ptr {code.op(f'getelementptr i64, ptr %shapes, i64 {i}')}")
            if not isinstance(n, int):
                lacking = code.op(f"or i1 {lacking}, {code.op(f'icmp slt i64 {size}, 1')}")
        code.line(f"ret i64 {code.op(f'zext i1 {lacking} to i64')}")
        return f"define i64 @{self.name}{SIZES}(ptr %slots, ptr %shapes) #0 {{\nentry:\n{code.text()}\n}}"

    def _make_temporaries(self, function: Function) -> list[str]:
        """Takes memory for the temporary buffers; where there is none, the kernel refuses."""
        code, places = function.code, []
        for buffer in self.kernel.temporaries:
            if buffer.role != "temporary":
                continue
            self.code.require("malloc", MALLOC)
            size = function.size(product([*buffer.shape, buffer.dtype.itemsize]))
            place = code.op(f"call ptr @malloc(i64 {code.op(f'add i64 {size}, 64')})")
            missing, onward = code.op(f"icmp eq ptr {place}, null"), code.label("onward")
            lacking = code.label("lacking") if places else "refused"
            code.line(f"br i1 {missing}, label %{lacking}, label %{onward}")
            if places:
                code.block(lacking)
                for earlier in places:
                    code.line(f"call void @free(ptr {earlier})")
                code.line("br label %refused")
            code.block(onward)
            function.set_word(self.words[buffer], code.op(f"ptrtoint ptr {place} to i64"))
            places.append(place)
        return places

    def _scopes(self) -> str:
        """An alias scope for each buffer, and the list of all others; hints for loops."""
        count = len(self.scopes)
        lines = ['!0 = distinct !{!0, !"memory"}']
        lines += [f"!{1 + i} = distinct !{{!{1 + i}, !0}}" for i in range(count)]
        lines += [f"!{1 + count + i} = !{{!{1 + i}}}" for i in range(count)]
        for i in range(count):
            others = ", ".join(f"!{1 + j}" for j in range(count) if j != i)
            lines.append(f"!{1 + 2 * count + i} = !{{{others}}}")
        for i, text in enumerate(self.hints, 1):
            number = 2 + 3 * count + 2 * i
            lines += [f"!{number} = distinct !{{!{number}, !{number + 1}}}", f"!{number + 1} = !{{{text}}}"]
        return "\n".join(lines)


class NestCode:
    """The functions of one nest."""

    def __init__(self, module: Module, nest: Nest | Rows) -> None:
        self.module = module
        self.nest = nest
        self.statements: list[Statement] = (
            [s for inner in nest.nests for s in inner.statements] if isinstance(nest, Rows) else nest.statements
        )
        self.offsets: dict[tuple[Buffer, tuple[Index, ...]], Index] = {}
        self.inner: list[Var] = []
        self.over: set[Var] = set() if isinstance(nest, Rows) else set(nest.reduced)
        #: loops that are one, by the variable of the innermost, with their number of iterations
        self.runs = [] if self.scans else self._runs(nest.loops, self.over)

    @property
    def scans(self) -> bool:
        """Whether its only statement runs in the order of a loop."""
        return isinstance(self.statements[0], ORDERED)

    def _runs(self, loops: Sequence[Var], over: set[Var]) -> list[tuple[Var, Any]]:
        runs: list[tuple[Var, Any]] = []
        for var in loops:
            if runs and (var in over) == (runs[-1][0] in over) and self._is_even(runs[-1][0], var):
                outer, count = runs.pop()
                self.inner.append(outer)
                runs.append((var, count * var.limit))
            else:
                runs.append((var, var.limit))
        return runs

    def offset(self, buffer: Buffer, at: tuple[Index, ...]) -> Index:
        """How many bytes an element is from the first."""
        key = (buffer, at)
        if key not in self.offsets:
            self.offsets[key] = linear(at, c_strides(buffer.shape, buffer.dtype.itemsize))
        return self.offsets[key]

    def _accesses(self) -> Iterator[Index]:
        for s in self.statements:
            yield self.offset(s.buffer, s.at)
            for x in parts_of(s.value):
                if isinstance(x, Load):
                    yield self.offset(x.buffer, x.at)
                elif isinstance(x, Position):
                    yield x.index

    def _is_even(self, outer: Var, var: Var) -> bool:
        """Whether a loop and the one around it are one loop: every memory is gone through evenly, and no position is asked."""
        if any(isinstance(x, Position) for s in self.statements for x in parts_of(s.value)):
            return False
        return all(i.terms.get(outer, 0) == i.terms.get(var, 0) * var.limit for i in self._accesses())

    @property
    def cost(self) -> int:
        """Additions of one point."""
        return cost_of(self.statements)

    def calls(self) -> Iterator[Callable[[Function], None]]:
        """The functions, and their calls."""
        kinds = [var in self.over for var, _ in self.runs]
        if self.scans:
            yield self._scan()
        elif not any(kinds):
            yield self._stores()
        elif all(kinds):
            yield from self._whole()
        elif kinds == sorted(kinds):
            yield self._rows()
        elif kinds == [True] * kinds.count(True) + [False] * kinds.count(False) and kinds.count(False) == 1:
            yield self._columns()
        else:
            raise Refused("a reduction over loops inside and outside of others")

    def _call(self, body: Body, first: Any, inner: Sequence[Any], cost: Any = None) -> Callable[[Function], None]:
        name = body.finish()
        one = product([self.cost, *inner]) if cost is None else product([cost, *inner])

        def call(function: Function) -> None:
            function.call(name, function.size(first), function.size(one))

        return call

    def _stores(self) -> Callable[[Function], None]:
        """All elements, in parallel over the outermost loop."""
        body = Body(self)
        if not self.runs:
            body.run()
            return self._call(body, 1, [])
        (_, count), *others = self.runs
        body.points(self.runs, "%begin", "%end")
        return self._call(body, count, [n for _, n in others])

    def _rows(self) -> Callable[[Function], None]:
        """Reductions over the inner loops, in parallel over the outermost one."""
        body = Body(self)
        outer = [(v, n) for v, n in self.runs if v not in self.over]
        inner = [(v, n) for v, n in self.runs if v in self.over]
        (first, count), *others = outer
        with body.loop(first, "%begin", "%end"), body.nested(others):
            body.reset()
            body.points(inner)
            body.keep()
        return self._call(body, count, [n for _, n in (*others, *inner)])

    def _whole(self) -> Iterator[Callable[[Function], None]]:
        """Reductions over all loops: of blocks of the outermost one, in parallel, and then of their results."""
        (_, count), *others = self.runs
        body = Body(self)
        length, blocks = self._blocks(body.head, count, others)
        with body.plain_loop("%begin", "%end") as block:
            begin = body.code.op(f"mul nuw nsw i64 {block}, {length}")
            end = extreme(body.code, "smin", body.code.op(f"add nuw nsw i64 {begin}, {length}"), body.head.size(count))
            body.reset()
            body.points(self.runs, begin, end)
            for i, s in enumerate(self.statements):
                body.store_partial((self, i), s, block)
        name = body.finish()

        def call(function: Function) -> None:
            length, blocks = self._blocks(function, count, others)
            inner = function.size(product([self.cost, *(n for _, n in others)]))
            function.call(name, blocks, function.code.op(f"mul i64 {inner}, {length}"))

        yield call
        ending = Body(self)
        _, blocks = self._blocks(ending.head, count, others)
        ending.reset()
        with ending.plain_loop("0", blocks, "scalar") as block:
            for i, s in enumerate(self.statements):
                ending.add_partial((self, i), s, block)
        ending.keep()
        last = ending.finish()
        yield lambda function: function.code.line(f"call void @{last}(ptr %ctx, i64 0, i64 1)")

    def _blocks(self, function: Function, count: Any, others: Sequence[tuple[Var, Any]]) -> tuple[str, str]:
        """The iterations of a block, and how many blocks there are."""
        code = function.code
        whole = function.size(count)
        enough = code.op(f"udiv i64 {code.op(f'add i64 {whole}, {BLOCKS - 1}')}, {BLOCKS}")
        least = BLOCK_LENGTH if not others else 1
        length = extreme(function.code, "smax", enough, str(least))
        up = code.op(f"sub i64 {length}, 1")
        return length, code.op(f"udiv i64 {code.op(f'add i64 {whole}, {up}')}, {length}")

    def _columns(self) -> Callable[[Function], None]:
        """Reductions over the outer loops, row by row into the results' memory, in parallel over tiles of columns."""
        for s in self.statements:
            assert isinstance(s, Reduce)
            if scalars.reducer(s.op, s.buffer.dtype).dtype is not s.buffer.dtype:
                raise Refused("a reduction in another dtype than its result's")
        body = Body(self)
        column, count = self.runs[-1]
        rows = self.runs[:-1]
        tiles = (count + (COLUMNS - 1)) // COLUMNS
        with body.plain_loop("%begin", "%end") as tile:
            begin = body.code.op(f"mul nuw nsw i64 {tile}, {COLUMNS}")
            end = extreme(body.code, "smin", body.code.op(f"add nuw nsw i64 {begin}, {COLUMNS}"), body.head.size(count))
            with body.loop(column, begin, end):
                body.store_neutral()
            with body.nested(rows), body.loop(column, begin, end):
                body.combine_in_place()
        return self._call(body, tiles, [COLUMNS, *(n for _, n in rows)])

    def _scan(self) -> Callable[[Function], None]:
        """Partial results, in order along a loop, in parallel over the outermost of the others."""
        (s,) = self.statements
        if isinstance(s, Positions):
            body = Body(self)
            body.positions(s)
            return self._call(body, 1, [s.along.limit])
        assert isinstance(s, Scan)
        loops, position = self.nest.loops, self.nest.loops.index(s.along)
        outer, inner = loops[:position], loops[position + 1 :]
        split = (*outer, *inner)[:1]
        body = Body(self)
        with body.split(outer, split):
            if inner:
                body.scan_rows(s, inner, split)
            else:
                body.scan(s)
        return self._call(body, split[0].limit if split else 1, [v.limit for v in loops if v not in split])


class RowsCode(NestCode):
    """The function of nests that share loops, in parallel over the outermost one."""

    def __init__(self, module: Module, rows: Rows) -> None:
        super().__init__(module, rows)
        self.rows = rows
        self.parts: list[tuple[Nest, list[tuple[Var, Any]]]] = []
        for nest in rows.nests:
            runs = self._runs(nest.loops, set(nest.reduced))
            kinds = [v in nest.reduced for v, _ in runs]
            if kinds != sorted(kinds):
                raise Refused("a reduction over loops outside of others")
            self.parts.append((nest, runs))

    def call(self) -> Callable[[Function], None]:
        """The function, and its call."""
        body = Body(self)
        own = {s.buffer for s in self.statements if s.buffer.role == "row"}
        body.make_rows(sorted((b for b in own if b.shape), key=lambda b: b.name))
        (first, count), *others = self.runs
        cost: Any = 1
        with body.loop(first, "%begin", "%end"), body.nested(others):
            for nest, runs in self.parts:
                outer = [(v, n) for v, n in runs if v not in nest.reduced]
                inner = [(v, n) for v, n in runs if v in nest.reduced]
                body.statements = nest.statements
                if nest.reduced:
                    with body.nested(outer):
                        body.reset()
                        body.points(inner)
                        body.keep()
                else:
                    body.points(outer)
                cost = cost + product([cost_of(nest.statements), *(n for _, n in runs)])
        body.free_rows()
        return self._call(body, count, [n for _, n in others], cost)
