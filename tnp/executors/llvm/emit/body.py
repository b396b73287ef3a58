"""Code at one point of the loops: the values of nodes at positions, and their addresses in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.graph import Indices, Node, Update, View
from tnp.executors.llvm.index import Index, Lookup, Quotient, Var
from tnp.executors.llvm.statements import Nest, Statement, vector_length

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Memory, Module

__all__ = ["STACK_BYTES", "Body", "Part", "copy_bytes", "entry", "set_bytes"]

#: iterations of an innermost loop that is written out, and its instructions then, at most: LLVM vectorises the loop around it in a time
#: that may double with each of them that depends on two others
UNROLLED, UNROLLED_SIZE = 8, 512
#: memory of a nest or a kernel that lives on the stack
STACK_BYTES = 64 * 1024


def entry(code: Code, base: str, i: int) -> str:
    return code.op(f"getelementptr ptr, ptr {base}, i64 {i}")


def set_bytes(code: Code, pointer: str, count: str, value: int) -> None:
    """Sets so many bytes to a value."""
    code.require("@llvm.memset", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    code.line(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 {value}, i64 {count}, i1 false)")


def copy_bytes(code: Code, to: str, pointer: str, count: str) -> None:
    """Copies so many bytes."""
    code.require("@llvm.memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {pointer}, i64 {count}, i1 false)")


def _number_behind(x: Any) -> Any:
    """The number that all elements of a node are, if that is known; else something else."""
    while isinstance(x, View):
        x = x.source
    return x.args[0] if isinstance(x, Node) and x.op == "full" else x


class Part(NamedTuple):
    """The iterations of a loop from ``begin`` to before ``end``, registers or numbers; ``count`` is their number where it is known,
    and ``vectors`` how many vectors at a time fill it, where LLVM is to be told."""

    begin: str
    end: str
    count: int | None = None
    vectors: int | None = None


class Body:
    """The code of one nest: values of nodes at positions, and loops.

    What has been computed is remembered for as long as the loop that it was computed in goes on.
    """

    def __init__(self, module: Module, nest: Nest) -> None:
        self.module = module
        self.plan = module.plan
        self.nest = nest
        self.code = Code(module.code)
        self.head = Code(module.code)  # allocations and pointers, at the head of the function
        self.known: list[dict[Any, Any]] = [{}]
        self.pointers: dict[Memory, str] = {}
        self.freed: list[str] = []
        self.loops = 0
        #: the loops that go backwards through some memory
        self._backwards: set[Var] | None = None
        self.code._count = 1_000_000  # registers of the body and of its head have different names

    def finish(self) -> str:
        """Ends the function; its name."""
        for raw in self.freed:
            self.code.line(f"call void @free(ptr {raw})")
        self.code.line("ret void")
        self.head.lines += self.code.lines
        return self.module.function(self.head)

    def find(self, key: Any) -> Any:
        for scope in reversed(self.known):
            if key in scope:
                return scope[key]
        return None

    # Loops

    @contextmanager
    def loop(
        self, begin: str, end: str, count: int | None = None, vectors: int | None = None, *, maybe_empty: bool = False,
        scalar: bool = False, independent: bool = False, masked: int = 0, width: int = 1,
    ) -> Iterator[str]:  # fmt: skip
        """A loop; gives the register of its variable. A ``scalar`` one is short: it is not worth the time to vectorise it. Others get
        vectors of ``width`` elements, or, for 1, of as many as LLVM thinks best. Of one that is ``masked``, vectors have so many, and the
        last one may have elements that the loop does not.
        Of an ``independent`` one, no iteration touches what another writes. Where it is not said that a loop is ``maybe_empty``, it has
        an iteration: to look whether it has costs LLVM a tenth of its time.

        With a ``count`` the iterations are counted from 0: LLVM leaves out what is for another number of them.
        """
        code = self.code
        first, last = (begin, end) if count is None else ("0", str(count))
        head, leave = code.label("loop"), code.label("done")
        before = code.current
        if maybe_empty:
            some = code.op(f"icmp slt i64 {begin}, {end}")
            code.line(f"br i1 {some}, label %{head}, label %{leave}")
        else:
            code.line(f"br label %{head}")
        code.block(head)
        at = len(code.lines)
        variable = counter = code.temp("i")
        code.line("")
        if first != begin:
            variable = code.op(f"add nuw nsw i64 {begin}, {counter}")
        self.known.append({})
        self.loops += 1
        loops = self.loops
        yield variable
        self.known.pop()
        following = code.op(f"add nuw nsw i64 {counter}, 1")
        code.lines[at] = f"  {counter} = phi i64 [ {first}, %{before} ], [ {following}, %{code.current} ]"
        more = code.op(f"icmp ne i64 {following}, {last}")
        short = loops == self.loops and first == "0" and last.isdigit() and int(last) <= UNROLLED and not masked
        short = short and int(last) * (len(code.lines) - at) <= UNROLLED_SIZE
        kinds: list[str | int] = ["scalar"] if scalar else [vectors] if vectors else ["unrolled"] if short else []
        if masked:
            kinds, width = [1, "masked"], masked
        if width > 1 and not scalar and not short:
            kinds.append(f"width {width}")
        if independent and not short:
            kinds.append("independent")
        hint = f", !llvm.loop !{self.module.hinted_loop(kinds)}" if kinds else ""
        code.line(f"br i1 {more}, label %{head}, label %{leave}{hint}")
        code.block(leave)

    @contextmanager
    def over(self, var: Var, part: Part | None = None, **options: Any) -> Iterator[str]:
        """A loop over a variable of the schedule, or part of it."""
        with self.loop(*(part or ("0", str(var.limit))), width=self._width(var), **options) as i:
            self.known[-1][var] = i
            yield i

    @contextmanager
    def together(
        self, run: Sequence[Var], part: Part | None = None, *, from_last: bool = False, **options: Any
    ) -> Iterator[str]:
        """One loop over all of ``run``, variables over which positions in every memory advance evenly, or part of it. With
        ``from_last``, the last position comes first."""
        limit = math.prod(v.limit for v in run)
        width = 1 if from_last else self._width(run[-1])
        with self.loop(*(part or ("0", str(limit))), width=width, **options) as i:
            self.known[-1].update(dict.fromkeys(run[:-1], "0"))
            self.known[-1][run[-1]] = self.code.op(f"sub nsw i64 {limit - 1}, {i}") if from_last else i
            yield i

    def _width(self, var: Var) -> int:
        """How many elements LLVM is to take at a time in a loop that goes backwards through some memory; 1 for others.

        Of such loops it computes the cost in two ways, and ends the process where they come to different widths.
        """
        if self._backwards is None:
            offsets = self.module.offsets(self.nest.statements())
            self._backwards = {
                v for i in offsets for atom, k in i.terms.items() if k < 0 for v in Index.of(atom).variables()
            }
        return vector_length(list(self.nest.statements())) if var in self._backwards else 1

    @contextmanager
    def nested(self, variables: Sequence[Var]) -> Iterator[None]:
        if not variables:
            yield
            return
        with self.over(variables[0]), self.nested(variables[1:]):
            yield

    # Positions

    def index(self, index: Index) -> str:
        """The register of an index's value."""
        if not index.terms:
            return str(index.constant)
        found = self.find(index)
        if found is not None:
            return found
        code = self.code
        total = ""
        for atom, factor in index.terms.items():
            if isinstance(atom, Var):
                value = self.find(atom)
                assert value is not None, f"{atom} has no loop here"
            elif isinstance(atom, Lookup):
                value = self.lookup(atom)
            else:
                op = "udiv" if isinstance(atom, Quotient) else "urem"
                value = code.op(f"{op} i64 {self.index(atom.of)}, {atom.by}")
            term = value if factor == 1 else code.op(f"mul nsw i64 {value}, {factor}")
            total = term if not total else code.op(f"add nsw i64 {total}, {term}")
        if index.constant:
            total = code.op(f"add nsw i64 {total}, {index.constant}")
        self.known[-1][index] = total
        return total

    def lookup(self, atom: Lookup) -> str:
        """An index that is an array's element. One out of bounds, which the kernel refuses, reads something harmless."""
        code = self.code
        raw = scalars.convert(code, self.value(atom.node, atom.at), atom.node.dtype, dtypes.int64)
        negative = code.op(f"icmp slt i64 {raw}, 0")
        wrapped = code.op(f"add i64 {raw}, {atom.limit}")
        chosen = code.op(f"select i1 {negative}, i64 {wrapped}, i64 {raw}")
        code.require("@llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
        return code.op(f"call i64 @llvm.umin.i64(i64 {chosen}, i64 {atom.limit - 1})")

    def address(self, memory: Memory, at: Indices) -> str:
        offset = self.index(memory.offset(at))
        return self.code.op(f"getelementptr i8, ptr {self.pointer(memory)}, i64 {offset}")

    def pointer(self, memory: Memory) -> str:
        if memory not in self.pointers:
            if memory.slot is None:
                if memory.window is not None:
                    size = math.prod(memory.window.shape(memory.node.shape))
                else:
                    fixed = self.plan.scratch[memory.node][1]
                    size = math.prod(n for d, n in enumerate(memory.node.shape) if d not in fixed)
                self.pointers[memory] = self.allocate(size * memory.node.dtype.itemsize)
            else:
                self.pointers[memory] = self.head.op(f"load ptr, ptr {entry(self.head, '%ctx', memory.slot)}")
        return self.pointers[memory]

    def allocate(self, size: int) -> str:
        """Memory of the function: on the stack if it is small."""
        head = self.head
        if size <= STACK_BYTES:
            return head.op(f"alloca [{size} x i8], align 64")
        self.module.code.require("malloc", "declare ptr @malloc(i64)\ndeclare void @free(ptr)")
        raw = head.op(f"call ptr @malloc(i64 {size})")
        self.freed.append(raw)
        return raw

    # Values

    def value(self, node: Node, at: Indices) -> Any:
        """The value of a node's element."""
        key = (node, at)
        found = self.find(key)
        if found is not None:
            return found
        if node in self.plan.stored:
            made = self.load(node, at)
        else:
            made = self.compute(node, at)
        self.known[-1][key] = made
        return made

    def load(self, node: Node, at: Indices) -> Any:
        memory = self.module.memories[self.plan.memory_of(node)]
        if node.op == "number":
            return self.number(node)
        return scalars.load(self.code, self.address(memory, at), node.dtype, self.module.alias(memory))

    def store(self, node: Node, at: Indices, value: Any) -> None:
        owner = self.plan.memory_of(node)
        if owner not in self.plan.registers:
            memory = self.module.memories[owner]
            scalars.store(self.code, value, self.address(memory, at), node.dtype, self.module.alias(memory))
        self.known[-1][node, at] = value

    def number(self, node: Node) -> Any:
        """A Python number, at full width."""
        memory = self.module.memories[node]
        pointer = self.pointer(memory)
        python_type = node.params["python_type"]
        alias = self.module.alias(memory)
        if python_type is bool:
            whole = self.code.op(f"load i64, ptr {pointer}, align 8{alias}")
            return self.code.op(f"trunc i64 {whole} to i1")
        return scalars.load(self.code, pointer, dtypes.dtype_of_number(python_type), alias)

    def operand(self, x: Any, at: Indices, dtype: DType) -> Any:
        """An argument of an elementwise operation in ``dtype``; numbers stand for arrays of it."""
        if not isinstance(x, Node):
            return scalars.constant(x, dtype)
        if x.op == "number":
            return scalars.convert(self.code, self.value(x, ()), x.dtype, dtype)
        return self.value(x, at)

    def unfolded(self, x: Any, dtype: DType) -> Any:
        """A constant that LLVM does not know.

        Of ``max(accumulator, select(c, x, -inf))`` it would make a select of accumulators, which it does not vectorise.
        """
        key = (repr(x), dtype)
        if key not in self.known[0]:
            place = self.allocate(dtype.itemsize)
            scalars.store(self.head, scalars.constant(x, dtype), place, dtype)
            where = self.head.op("alloca ptr, align 8")
            self.head.line(f"store ptr {place}, ptr {where}, align 8")
            self.known[0][key] = scalars.load(
                self.head, self.head.op(f"load volatile ptr, ptr {where}, align 8"), dtype
            )
        return self.known[0][key]

    def compute(self, node: Node, at: Indices) -> Any:
        code = self.code
        if isinstance(node, View):
            return self.value(node.source, node.where(at))
        if node.op == "number":
            return self.number(node)
        if node.op == "full":
            return self.operand(node.args[0], (), node.dtype)
        if node.op == "empty":
            return scalars.constant(0, node.dtype)
        if node.op == "copy":
            return self.value(node.sources[0], at)
        if node.op == "iota":
            place = scalars.convert(code, self.index(at[0]), dtypes.int64, node.dtype)
            start, step = (self.operand(x, (), node.dtype) for x in node.args)
            scaled = scalars.emit(code, "mul", [place, step], node.dtype)
            return scalars.emit(code, "add", [scaled, start], node.dtype)
        if node.op in ("convert_element_type", "bitcast"):
            (source,) = node.sources
            change = scalars.convert if node.op == "convert_element_type" else scalars.bitcast
            return change(code, self.value(source, at), source.dtype, node.dtype)
        if node.op == "where":
            condition = self.value(node.args[0], at)
            chosen = [
                self.unfolded(number, node.dtype)
                if scalars.is_identity_of_extreme(number := _number_behind(a), node.dtype)
                else self.operand(a, at, node.dtype)
                for a in node.args[1:]
            ]
            return scalars.emit(code, "where", [condition, *chosen], node.dtype)
        if node.op == "ldexp":
            a, b = node.args
            return scalars.emit_ldexp(code, self.value(a, at), self.value(b, at), a.dtype, b.dtype)
        dtype = next(a.dtype for a in node.args if isinstance(a, Node) and a.op != "number")
        return scalars.emit(code, node.op, [self.operand(a, at, dtype) for a in node.args], dtype)

    # Statements

    def run(self, statement: Statement) -> None:
        """Computes a statement's element here and stores it."""
        node, at = statement.body
        value = self.compute(node, at) if node is statement.node else self.value(node, at)
        if isinstance(statement.node, Update) and statement.node.accumulates:
            base = statement.node.base
            # Another iteration may have written there.
            before = (self.load if statement.ordered else self.value)(base, statement.store.at)
            value = scalars.emit(self.code, "add", [before, value], base.dtype)
        self.store(statement.node, statement.store.at, value)
