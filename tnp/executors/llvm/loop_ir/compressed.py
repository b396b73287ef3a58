"""The code of compression: eight elements of the mask at a time where processors have masks, without a branch on any of them.

A loop of single elements writes each element, and the next one over it if it does not count. The mask was counted before: nothing
is written behind the end, even if another thread has changed it since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tnp.executors.llvm.code import Code
from tnp.executors.llvm.loop_ir.nodes import Compress, Load
from tnp.runtime import engine

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["write"]

#: elements of the mask at a time
LANES = 8


def write(body: Body, statements: Sequence[Compress]) -> None:
    """The loop of some statements with one mask."""
    first = statements[0]
    length, most = body.head.size(first.along.limit), body.head.size(first.buffer.shape[0])
    begin = _Loop(body, statements, length, most, LANES).write("0", "0") if engine.target().has_masks else ("0", "0")
    _Loop(body, statements, length, most, 1).write(*begin)


class _Loop:
    """A loop of some elements of the mask at a time, as long as there are as many and room for as many."""

    def __init__(self, body: Body, statements: Sequence[Compress], length: str, most: str, lanes: int) -> None:
        self.code = body.code
        self.length, self.most, self.lanes = length, most, lanes
        self.mask = body.pointer_to(statements[0].mask.buffer)
        #: bytes of an element, and where arrays and results begin; of positions, there is no array
        self.copies = [
            (int(s.buffer.dtype.itemsize), body.pointer_to(s.value.buffer) if isinstance(s.value, Load) else "", body.pointer_to(s.buffer))
            for s in statements
        ]  # fmt: skip

    def write(self, begin: str, count: str) -> tuple[str, str]:
        """Writes the loop; the registers of the element and of the count that it ends with."""
        code = self.code
        before = code.current if code.current != "entry" else "start"
        head, inside, leave = (code.label(hint) for hint in ("some", "inside", "rest"))
        i, found = code.temp("i"), code.temp("found")
        code.line(f"br label %{head}")
        code.block(head)
        at = len(code.lines)
        code.lines += ["", ""]
        following = code.op(f"add nuw nsw i64 {i}, {self.lanes}")
        has_mask = code.op(f"icmp sle i64 {following}, {self.length}")
        has_room = code.op(f"icmp sle i64 {code.op(f'add nuw nsw i64 {found}, {self.lanes}')}, {self.most}")
        code.line(f"br i1 {code.op(f'and i1 {has_mask}, {has_room}')}, label %{inside}, label %{leave}")
        code.block(inside)
        ways = [(begin, count, before)]
        if self.lanes == 1:
            ways.append(self._skip(i, found, head))
            self._copy_one(i, found)
            holds = code.op(f"icmp ne i8 {code.op(f'load i8, ptr {_at(code, self.mask, i, 1)}, align 1')}, 0")
            number = code.op(f"zext i1 {holds} to i64")
        else:
            bools = code.op(f"load <{LANES} x i8>, ptr {_at(code, self.mask, i, 1)}, align 1")
            holds = code.op(f"icmp ne <{LANES} x i8> {bools}, zeroinitializer")
            self._copy_some(i, found, holds)
            number = _count(code, holds)
        ways.append((following, code.op(f"add nuw nsw i64 {found}, {number}"), code.current))
        code.line(f"br label %{head}")
        for k, register in enumerate((i, found)):
            values = ", ".join(f"[ {way[k]}, %{way[2]} ]" for way in ways)
            code.lines[at + k] = f"  {register} = phi i64 {values}"
        code.block(leave)
        return i, found

    def _skip(self, i: str, found: str, head: str) -> tuple[str, str, str]:
        """Goes on behind eight elements that do not count: where, with how many, and the block that goes there."""
        code = self.code
        look, skip, single = (code.label(hint) for hint in ("look", "skip", "single"))
        behind = code.op(f"add nuw nsw i64 {i}, {LANES}")
        code.line(f"br i1 {code.op(f'icmp sle i64 {behind}, {self.length}')}, label %{look}, label %{single}")
        code.block(look)
        eight = code.op(f"load i64, ptr {_at(code, self.mask, i, 1)}, align 1")
        code.line(f"br i1 {code.op(f'icmp eq i64 {eight}, 0')}, label %{skip}, label %{single}")
        code.block(skip)
        code.line(f"br label %{head}")
        code.block(single)
        return behind, found, skip

    def _copy_one(self, i: str, found: str) -> None:
        code = self.code
        for size, source, target in self.copies:
            element = i if not source else code.op(f"load i{8 * size}, ptr {_at(code, source, i, size)}, align 1")
            code.line(f"store i{8 * size} {element}, ptr {_at(code, target, found, size)}, align 1")

    def _copy_some(self, i: str, found: str, holds: str) -> None:
        code = self.code
        for size, source, target in self.copies:
            if size == 16:  # four elements at a time, as pairs of 64 bits
                there = found
                for half in range(2):
                    lanes = range(half * LANES // 2, (half + 1) * LANES // 2)
                    twice = ", ".join(f"i32 {k}" for k in lanes for _ in range(2))
                    both = code.op(
                        f"shufflevector <{LANES} x i1> {holds}, <{LANES} x i1> poison, <{LANES} x i32> <{twice}>"
                    )
                    first = code.arithmetic("add", i, str(half * LANES // 2))
                    values = code.op(f"load <{LANES} x i64>, ptr {_at(code, source, first, size)}, align 1")
                    self._store(values, both, 8, _at(code, target, there, size))
                    there = code.op(f"add nuw nsw i64 {there}, {code.op(f'lshr i64 {_count(code, both)}, 1')}")
                continue
            if source:
                values = code.op(f"load <{LANES} x i{8 * size}>, ptr {_at(code, source, i, size)}, align 1")
            else:
                one = code.op(f"insertelement <{LANES} x i64> poison, i64 {i}, i64 0")
                all_ = code.op(
                    f"shufflevector <{LANES} x i64> {one}, <{LANES} x i64> poison, <{LANES} x i32> zeroinitializer"
                )
                numbers = ", ".join(f"i64 {k}" for k in range(LANES))
                values = code.op(f"add nuw nsw <{LANES} x i64> {all_}, <{numbers}>")
            self._store(values, holds, size, _at(code, target, found, size))

    def _store(self, values: str, holds: str, size: int, place: str) -> None:
        """Stores a vector, of which those that count come first."""
        code, wide = self.code, max(size, 4)  # there are instructions for 32 and 64 bits
        vector, type_ = f"<{LANES} x i{8 * size}>", f"<{LANES} x i{8 * wide}>"
        name = f"@llvm.experimental.vector.compress.v{LANES}i{8 * wide}"
        code.require(name, f"declare {type_} {name}({type_}, <{LANES} x i1>, {type_})")
        given = values if wide == size else code.op(f"zext {vector} {values} to {type_}")
        chosen = code.op(f"call {type_} {name}({type_} {given}, <{LANES} x i1> {holds}, {type_} {given})")
        chosen = chosen if wide == size else code.op(f"trunc {type_} {chosen} to {vector}")
        code.line(f"store {vector} {chosen}, ptr {place}, align 1")


def _at(code: Code, pointer: str, i: str, size: int) -> str:
    return code.op(f"getelementptr [{size} x i8], ptr {pointer}, i64 {i}")


def _count(code: Code, holds: str) -> str:
    """How many of eight bools are true."""
    code.require("ctpop", "declare i8 @llvm.ctpop.i8(i8)")
    number = code.op(f"call i8 @llvm.ctpop.i8(i8 {code.op(f'bitcast <{LANES} x i1> {holds} to i8')})")
    return code.op(f"zext i8 {number} to i64")
