"""Symbolic sizes of a program for any size: registers that are there from its beginning on.

The *roots* are sizes that no others make: a dimension of an argument, or an integer among the arguments. All others are
computed of them, as the trace says, where the program begins.
"""

from __future__ import annotations

from typing import Any

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy
from tnp.executors.llvm.any_size import Roots
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.program.integer_code import IntegerCode
from tnp.executors.llvm.program.integers import LARGEST, Int, Size
from tnp.runtime.launcher import RECORD_WORDS

__all__ = ["Sizes", "is_counted", "sizes_function"]


class Sizes(IntegerCode):
    """The code of the sizes of a function whose ``%slots`` are those of a call with ``count`` slots."""

    atoms = Size

    def __init__(self, code: Code, roots: Roots, count: int) -> None:
        self.code = code
        self.known = [{}]
        self._values = {name: self._load(n, root, count) for name, (n, root) in roots.items()}

    def _load(self, n: NumberProxy, root: tuple[int, int | None, int], count: int) -> Int:
        (slot, dim, less), code = root, self.code
        at = slot if dim is None else count + RECORD_WORDS + slot
        place = code.op(f"load ptr, ptr {code.op(f'getelementptr ptr, ptr %slots, i64 {at}')}")
        number = code.op(f"load i64, ptr {code.op(f'getelementptr i64, ptr {place}, i64 {dim or 0}')}")
        return Int.of(Size(number, max(n.low or 0, 0) + less, LARGEST)) - less

    def of(self, n: Any) -> Int:
        """A size. Raises :class:`Refused` if it is not made of the roots."""
        n = symbols.number_of(n)
        if isinstance(n, int):
            return Int(n)
        form = intervals.linear(n)
        total = Int(form.constant)
        for number, factor in form.terms.values():
            total = total + self._number(number) * factor
        return total

    def _number(self, n: NumberProxy) -> Int:
        if n.name not in self._values:
            self._values[n.name] = self._computed(n)
        return self._values[n.name]

    def _computed(self, n: NumberProxy) -> Int:
        operation, args = n.origin or ("", ())
        if not operation or not all(type(a) is int or symbols.is_symbol(a) for a in args):
            raise Refused(f"the size {n.name}, which nobody knows when the program begins")
        values = [self.of(a) for a in args]
        if operation in ("minimum", "maximum"):
            return getattr(self, operation)(*values)
        if operation == "mul":
            return values[0] * values[1]
        if operation not in ("floor_divide", "remainder") or values[0].low < 0 or values[1].low < 1:
            raise Refused(f"a size that is the {operation} of others")
        (a, b), (texts) = values, [self.text(v) for v in values]
        if operation == "remainder":
            return Int.of(Size(self.code.op(f"urem i64 {texts[0]}, {texts[1]}"), 0, min(a.high, b.high - 1)))
        return Int.of(Size(self.code.op(f"udiv i64 {texts[0]}, {texts[1]}"), a.low // b.high, a.high // b.low, a))

    def bytes(self, size: Int, most: int) -> tuple[str, str]:
        """The operand of a number of bytes, and the bool whether it is more than ``most``: products of sizes may not fit 64 bits."""
        total = "0.0"
        for atom, c in [*size.terms.items(), *([(None, size.constant)] if size.constant else [])]:
            part = f"{float(c)}"
            for x in atom.factors if atom is not None else ():
                part = self.code.op(f"fmul double {part}, {self.code.op(f'sitofp i64 {x.text} to double')}")
            total = self.code.op(f"fadd double {total}, {part}")
        return self.text(size), self.code.op(f"fcmp ogt double {total}, {float(most)}")


def is_counted(n: Any) -> bool:
    """Whether a dimension is known at run time only, where an operation has counted it."""
    return isinstance(n, NumberProxy) and not symbols.is_symbol(n)


def sizes_function(name: str, roots: Roots, count: int, shapes: list[Any], attributes: str) -> str:
    """The function that gives the dimensions of results, and 1 for arguments that the program does not take, see
    :class:`~tnp.runtime.launcher.Spec`."""
    code = Code()
    sizes = Sizes(code, roots, count)
    wrong = "false"
    for n, _ in roots.values():
        far = code.op(f"icmp ugt i64 {sizes.text(sizes.of(n))}, {LARGEST}")
        wrong = code.op(f"or i1 {wrong}, {far}")
    for i, n in enumerate(n for shape in shapes for n in shape):
        size = sizes.of(n)
        text = sizes.text(size)
        code.line(f"store i64 {text}, ptr {code.op(f'getelementptr i64, ptr %shapes, i64 {i}')}")
        if size.low < 1:
            wrong = code.op(f"or i1 {wrong}, {code.op(f'icmp slt i64 {text}, 1')}")
    code.line(f"ret i64 {code.op(f'zext i1 {wrong} to i64')}")
    return f"define i64 @{name}(ptr %slots, ptr %shapes) {attributes} {{\nentry:\n{code.text()}\n}}"
