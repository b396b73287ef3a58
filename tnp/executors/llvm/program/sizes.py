"""Symbolic sizes of a program for any size: registers that are there from its beginning on.

The *roots* are sizes that no others make: a dimension of an argument, or an integer among the arguments. All others are
computed of them, as the trace says, where the program begins.
"""

from __future__ import annotations

from typing import Any

from tnp.core import dtypes, intervals, symbols
from tnp.core.proxies import NumberProxy
from tnp.core.sizes import equals
from tnp.executors.llvm.any_size import Roots
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.instructions import SHAPES, SLOTS, Writer
from tnp.executors.llvm.program.integer_code import IntegerCode
from tnp.executors.llvm.program.integers import LARGEST, Int, Size
from tnp.executors.llvm.program.ir import FALSE, Builder, Operand, constant
from tnp.runtime.launcher import RECORD_WORDS

__all__ = ["Sizes", "is_counted", "sizes_function"]


class Sizes(IntegerCode):
    """The sizes of a function whose slots are those of a call with ``count`` slots."""

    atoms = Size

    def __init__(self, code: Builder, roots: Roots, count: int) -> None:
        self.code = code
        self.known = [{}]
        #: the names of sizes that are being computed
        self._sought: set[str] = set()
        self._values = {name: self._load(n, root, count) for name, (n, root) in roots.items()}

    def _load(self, n: NumberProxy, root: tuple[int, int | None, int], count: int) -> Int:
        (slot, dim, less), code = root, self.code
        at = slot if dim is None else count + RECORD_WORDS + slot
        number = code.load(code.load(SLOTS, 8 * at, None), 8 * (dim or 0), dtypes.int64)
        return Int.of(Size(number, max(n.low or 0, 0) + less, LARGEST)) - less

    def of(self, n: Any) -> Int:
        """A size. Raises :class:`Refused` if it is not made of the roots."""
        n = symbols.number_of(n)
        if isinstance(n, int):
            return Int(n)
        form = intervals.linear(n)
        total = Int(form.constant)
        try:
            for number, factor in form.terms.values():
                total = total + self._number(number) * factor
        except Refused:
            if n.name not in self._values:  # where no argument tells what it is made of
                raise
            return self._values[n.name]
        return total

    def _number(self, n: NumberProxy) -> Int:
        if n.name not in self._values:
            self._values[n.name] = self._found(n)
        return self._values[n.name]

    def _found(self, n: NumberProxy) -> Int:
        """A size: computed, or an equal size if only that one follows from the arguments."""
        if n.name in self._sought:
            raise Refused(f"the size {n.name}, which follows from itself")
        self._sought.add(n.name)
        try:
            return self._computed(n)
        except Refused:
            for other in equals(n) if symbols.is_symbol(n) else ():
                try:
                    return self._values[other.name] if other.name in self._values else self._computed(other)
                except Refused:
                    continue
            raise
        finally:
            self._sought.remove(n.name)

    def _computed(self, n: NumberProxy) -> Int:
        operation, args = n.origin or ("", ())
        if not operation or not all(type(a) is int or symbols.is_symbol(a) for a in args):
            raise Refused(f"the size {n.name}, which nobody knows when the program begins")
        values = [self.of(a) for a in args]
        if operation in ("minimum", "maximum"):
            return getattr(self, operation)(*values)
        if operation == "mul":
            return values[0] * values[1]
        if operation not in ("floor_divide", "remainder") or values[1].low < 1:
            raise Refused(f"a size that is the {operation} of others")
        a, b = values
        if a.low < 0:
            quotient = self._floor_divide(a, b)
            return quotient if operation == "floor_divide" else a - quotient * b
        if operation == "remainder":
            return Int.of(Size(self.code.whole("urem", a, b), 0, min(a.high, b.high - 1)))
        return Int.of(Size(self.code.whole("udiv", a, b), a.low // b.high, a.high // b.low, a))

    def _floor_divide(self, a: Int, b: Int) -> Int:
        """The quotient by a positive number, rounded down. That of a negative ``a`` is ``~(~a // b)``."""
        code = self.code
        sign = code.whole("ashr", a, 63)
        quotient = code.whole("xor", code.whole("udiv", code.whole("xor", a, sign), b), sign)
        return Int.of(Size(quotient, min(a.low // b.low, a.low // b.high), max(a.high // b.low, a.high // b.high)))

    def is_too_large(self, size: Int, most: int) -> Operand:
        """The bool whether a number of bytes is more than ``most``: products of sizes may not fit 64 bits."""
        code, double = self.code, dtypes.float64
        total: Operand = constant(0.0, double)
        for atom, c in [*size.terms.items(), *([(None, size.constant)] if size.constant else [])]:
            part: Operand = constant(float(c), double)
            for x in atom.factors if atom is not None else ():
                part = code.raw("fmul", part, code.convert(Int(0, {x: 1}), dtypes.int64, double), double)
            total = code.raw("fadd", total, part, double)
        return code.raw("fcmp ogt", total, constant(float(most), double), double, dtypes.bool8)


def is_counted(n: Any) -> bool:
    """Whether a dimension is known at run time only, where an operation has counted it."""
    return isinstance(n, NumberProxy) and not symbols.is_symbol(n)


def sizes_function(name: str, roots: Roots, count: int, shapes: list[Any], attributes: str) -> str:
    """The function that gives the dimensions of results, and 1 for arguments that the program does not take, see
    :class:`~tnp.runtime.launcher.Spec`."""
    code = Builder()
    sizes = Sizes(code, roots, count)
    wrong: Operand = FALSE
    for n, _ in roots.values():
        wrong = code.either(wrong, code.compare("ugt", sizes.of(n), LARGEST))
    for i, n in enumerate(n for shape in shapes for n in shape):
        size = sizes.of(n)
        code.store(SHAPES, 8 * i, size, dtypes.int64)
        if size.low < 1:
            wrong = code.either(wrong, code.compare("slt", size, 1))
    answer = code.convert(wrong, dtypes.bool8, dtypes.int64)
    writer = Writer(Code())
    writer.block(code.block)
    writer.code.line(f"ret i64 {writer.operand(answer)}")
    return f"define i64 @{name}(ptr %slots, ptr %shapes) {attributes} {{\nentry:\n{writer.code.text()}\n}}"
