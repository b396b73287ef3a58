"""From a kernel of the loop IR to LLVM IR.

Each nest becomes one function of a context and a range of its outermost parallel loop, which ``tnp_parallel`` splits among
threads. The context has the addresses of all buffers and numbers, and the symbolic sizes. Loops that go evenly through all memory
become one. A reduction with no parallel loop around it goes in blocks, whose results a second function combines; how long blocks
are depends on the size alone, so that the number of threads changes no bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from tnp.core import symbols
from tnp.executors.llvm import scalars
from tnp.executors.llvm.any_size import SIZES
from tnp.executors.llvm.code import Code, told_apart
from tnp.executors.llvm.loop_ir.functions import HINTS, Function
from tnp.executors.llvm.loop_ir.memory import give_back, places_of, take
from tnp.executors.llvm.loop_ir.moments_code import MomentsCode
from tnp.executors.llvm.loop_ir.nests import NestCode, RowsCode
from tnp.executors.llvm.loop_ir.nodes import (
    Buffer,
    Centered,
    Check,
    Compress,
    Kernel,
    Moments,
    Panels,
    Rows,
    Skewed,
    Swept,
    product,
    statements_of,
)
from tnp.executors.llvm.loop_ir.panels import PanelsCode
from tnp.executors.llvm.loop_ir.sharing import FRAME, Nests
from tnp.executors.llvm.loop_ir.skewed import SkewedCode
from tnp.executors.llvm.loop_ir.swept import SweptCode
from tnp.runtime.launcher import RECORD_WORDS, polls

__all__ = ["COUNT", "Interface", "Module", "emit"]

#: in place of a dimension
COUNT = -1
#: a function that counts
COUNTING = """\
declare i16 @llvm.vector.reduce.add.v64i16(<64 x i16>)
define internal i64 @count_true(ptr %mask, i64 %n) noinline #0 {
entry:
  %vectors = lshr i64 %n, 6
  %whole = and i64 %n, -64
  %some = icmp ne i64 %vectors, 0
  br i1 %some, label %block, label %rest
block:
  %first = phi i64 [ 0, %entry ], [ %last, %added ]
  %total = phi i64 [ 0, %entry ], [ %more.total, %added ]
  %far = add i64 %first, 128
  %is.last = icmp ugt i64 %far, %vectors
  %last = select i1 %is.last, i64 %vectors, i64 %far
  br label %vector
vector:
  %v = phi i64 [ %first, %block ], [ %v.next, %vector ]
  %sums = phi <64 x i8> [ zeroinitializer, %block ], [ %more.sums, %vector ]
  %at = shl i64 %v, 6
  %places = getelementptr i8, ptr %mask, i64 %at
  %bytes = load <64 x i8>, ptr %places, align 1
  %are.true = icmp ne <64 x i8> %bytes, zeroinitializer
  %ones = zext <64 x i1> %are.true to <64 x i8>
  %more.sums = add <64 x i8> %sums, %ones
  %v.next = add nuw nsw i64 %v, 1
  %v.more = icmp ult i64 %v.next, %last
  br i1 %v.more, label %vector, label %added
added:
  %wide = zext <64 x i8> %more.sums to <64 x i16>
  %sum = call i16 @llvm.vector.reduce.add.v64i16(<64 x i16> %wide)
  %sum.wide = zext i16 %sum to i64
  %more.total = add i64 %total, %sum.wide
  %b.more = icmp ult i64 %last, %vectors
  br i1 %b.more, label %block, label %rest
rest:
  %before = phi i64 [ 0, %entry ], [ %more.total, %added ]
  %left = icmp ult i64 %whole, %n
  br i1 %left, label %loop, label %done
loop:
  %i = phi i64 [ %whole, %rest ], [ %next, %loop ]
  %count = phi i64 [ %before, %rest ], [ %more.count, %loop ]
  %place = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %place, align 1
  %is.true = icmp ne i8 %byte, 0
  %one = zext i1 %is.true to i64
  %more.count = add nuw nsw i64 %count, %one
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %found = phi i64 [ %before, %rest ], [ %more.count, %loop ]
  ret i64 %found
}"""


@dataclass(frozen=True)
class Interface:
    """What a kernel is called with: ``slots`` are its buffers and its numbers (by index), in order, and ``roots`` the sizes that no
    others make, by name, with where each is found: a slot, a dimension of it (of a number: ``None``), and what is to be taken from that.
    For the dimension :data:`COUNT` it is how many elements of the slot, a vector of bools, are true. Those that are ``numbers`` may be
    anything, while all others, and ``lengths``, must be positive."""

    slots: Sequence[Buffer | int]
    inputs: int
    roots: Mapping[str, tuple[int, int | None, int]]
    numbers: Set[str] = frozenset()
    lengths: Sequence[Any] = ()


def emit(
    kernel: Kernel, name: str, interface: Interface, attributes: str, *, fast: bool = False, is_plain: bool = False
) -> str:  # fmt: skip
    """The module of a kernel. It has two functions, ``name`` and ``name``:data:`SIZES`, as ``launcher.Spec`` describes them. One that
    ``is_plain`` is not to be optimized: it says nothing of its accesses, and its loops are as they are.

    Raises :class:`Refused` for a size that does not follow from the roots, and for reductions over loops in other orders than
    those that have code.
    """
    return Module(kernel, name, interface, attributes, fast, is_plain).emit()


class Module:
    def __init__(
        self, kernel: Kernel, name: str, interface: Interface, attributes: str, fast: bool, is_plain: bool
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.is_plain = is_plain
        self.name = name
        self.interface = interface
        self.attributes = attributes
        self.code = Code(fast=fast)
        self.functions: list[str] = []
        #: the word of the context that has the address of a buffer, of a number, or a size
        given = [x if isinstance(x, Buffer) else f"number{x}" for x in interface.slots]
        self.words: dict[Any, int] = {x: i for i, x in enumerate([*given, *interface.roots])}
        self.given = len(given)
        self.roots = set(interface.roots)
        #: the numbers of metadata that are taken, those of hints with their texts, and those of scopes: of each the first of three
        self.metadata = 1
        self.hints: dict[int, list[str]] = {}
        self.scopes: list[int] = []
        #: words of the longest frame, see :mod:`~tnp.executors.llvm.loop_ir.sharing`
        self.frame = 0
        #: memory of entries for themselves: keys, sizes, and the numbers of the entries
        self.scratches: list[tuple[str, Any, int]] = []
        self.entry = 0
        #: those that stay
        self.kept: set[str] = set()
        #: sizes and their upper bounds: above them the kernel declines, since a library is faster
        self.limits: list[tuple[Any, int]] = []
        #: What has begun to change the caller's arrays goes on to its end: NumPy's functions are not left in their midst either.
        self.may_stop = all(b.role != "inout" for b in kernel.inputs) and polls()
        #: the word of what the kernel returns: 1 once a nest has found no memory
        self.failed = self.words.setdefault("failed", len(self.words))

    def word(self, key: Any) -> int:
        """The word of the context for a buffer, a number, a size, or partial results. All are made before the kernel's function is written."""
        return self.words.setdefault(key, len(self.words))

    def scratch(self, size: Any) -> str:
        """The key of memory of so many bytes, an integer or an extent, for the entry of the kernel that is being written."""
        key = f"scratch {len(self.scratches)}"
        self.scratches.append((key, size, self.entry))
        self.word(key)
        return key

    def keep(self, size: Any) -> str:
        """The same for all entries from that on."""
        key = self.scratch(size)
        self.kept.add(key)
        return key

    def _numbers(self, count: int) -> int:
        """The first of some numbers for metadata."""
        self.metadata += count
        return self.metadata - count

    def alias(self, memory: int) -> str:
        """What an access to a function's memory of that number tells LLVM: that it is no other's."""
        if self.is_plain:
            return ""
        while len(self.scopes) <= memory:
            self.scopes.append(self._numbers(3))
        own = self.scopes[memory]
        return f", !alias.scope !{own + 1}, !noalias !{own + 2}"

    def hint(self, name: str) -> int:
        """The number of the metadata of a loop."""
        number = self._numbers(1 + len(HINTS[name]))
        self.hints[number] = HINTS[name]
        return number

    def emit(self) -> str:
        calls: list[Callable[[Function], None]] = []
        moments: dict[Moments, MomentsCode] = {}
        nests = Nests(self, self.kernel.nests)
        for number, entry in enumerate(self.kernel.nests):
            self.entry = number
            if isinstance(entry, Check):
                calls.append(partial(self._refuse_if, entry.buffer))
            elif isinstance(entry, Panels):
                calls += PanelsCode(self, entry).calls()
            elif isinstance(entry, Rows):
                calls.append(RowsCode(self, entry).rows())
            elif isinstance(entry, Moments):
                moments[entry] = code = MomentsCode(self, entry)
                calls += (code if code.has_blocks else NestCode(self, entry.first)).calls()
            elif isinstance(entry, Centered):
                code = moments[entry.moments]
                calls += code.centered() if code.has_blocks else NestCode(self, entry.nest).calls()
            elif isinstance(entry, Swept):
                calls += SweptCode(self, entry).calls()
            elif isinstance(entry, Skewed):
                calls.append(SkewedCode(self, entry))
            else:
                calls += nests.calls(entry)
        main = self._main(calls) + "\n\n" + self._sizes()
        attributes = f"attributes #0 = {{ nounwind {self.attributes} }}"
        return "\n\n".join([*self.functions, main, self.code.module_text(), self._scopes(), attributes]) + "\n"

    def _main(self, calls: Sequence[Callable[[Function], None]]) -> str:
        function = Function(self)
        code = function.code
        code.line(f"%ctx = alloca [{max(len(self.words), 1)} x i64], align 16")
        for i in range(self.given):
            function.set_word(i, code.op(f"load i64, ptr {code.op(f'getelementptr ptr, ptr %slots, i64 {i}')}"))
        self._set_roots(function)
        function.set_word(self.failed, "0")
        if self.frame:
            code.line(f"{FRAME} = alloca [{self.frame} x i64], align 16")
        last = len(self.kernel.nests)
        scratches = [(key, size, i, last if key in self.kept else i) for key, size, i in self.scratches]
        taken = take(function, places_of(self.kernel, scratches))
        for call in calls:
            call(function)
        code.line("br label %leave")
        code.block("leave")
        give_back(code, taken)
        code.line(f"ret i64 {function.word('failed')}")
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
        return code.op(f"call i64 @count_true(ptr {data}, i64 {function.size(product(mask.shape))})")

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
        counts = self._counts_that_may_be_none()
        positive = self.interface.roots.keys() - self.interface.numbers - counts
        lengths = [function.word(name) for name in self.interface.roots if name in positive]
        for length in (*lengths, *map(function.size, self.interface.lengths)):  # a loop has an iteration
            lacking = code.op(f"or i1 {lacking}, {code.op(f'icmp slt i64 {length}, 1')}")
        for size, most in self.limits:
            lacking = code.op(f"or i1 {lacking}, {code.op(f'icmp sgt i64 {function.size(size)}, {most}')}")
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
            if not isinstance(n, int) and symbols.number_of(n).name not in counts:
                lacking = code.op(f"or i1 {lacking}, {code.op(f'icmp slt i64 {size}, 1')}")
        code.line(f"ret i64 {code.op(f'zext i1 {lacking} to i64')}")
        return f"define i64 @{self.name}{SIZES}(ptr %slots, ptr %shapes) #0 {{\nentry:\n{code.text()}\n}}"

    def _counts_that_may_be_none(self) -> set[str]:
        """The numbers of elements that masks select, by name, if no loop goes over what is selected."""
        statements = [s for e in self.kernel.nests for s in (() if isinstance(e, Check) else statements_of(e))]
        if not all(isinstance(s, Compress) for s in statements):
            return set()
        return {name for name, (_, dim, less) in self.interface.roots.items() if dim == COUNT and not less}

    def _scopes(self) -> str:
        """An alias scope for each memory of a function, and the list of all others; hints for loops."""
        lines = ['!0 = distinct !{!0, !"memory"}']
        for i, own in enumerate(self.scopes):
            others = ", ".join(f"!{self.scopes[j]}" for j in told_apart(i, len(self.scopes)))
            lines += [f"!{own} = distinct !{{!{own}, !0}}", f"!{own + 1} = !{{!{own}}}", f"!{own + 2} = !{{{others}}}"]
        for number, texts in self.hints.items():
            parts = range(number + 1, number + 1 + len(texts))
            lines.append(f"!{number} = distinct !{{!{number}, {', '.join(f'!{n}' for n in parts)}}}")
            lines += [f"!{n} = !{{{text}}}" for n, text in zip(parts, texts)]
        return "\n".join(lines)
