"""Addresses: the registers of indices, and how few of them the loads of neighbours need.

The address of an element is the address of its *place* plus a constant, which processors add for free. The address of a place is its
row's address plus a distance. The row's address is computed before the loop along the row, once for all loops over it. Where the stride of
rows is known at run time only, that address is an induction variable of the loop over rows, so no row needs a multiplication.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes, intervals, symbols
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.index import Index, Part, Quotient
from tnp.executors.llvm.loop_ir.nodes import Buffer, Element, Expression

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Function
    from tnp.executors.llvm.loop_ir.nests import NestCode
    from tnp.executors.llvm.loop_ir.skewed import SkewedCode

__all__ = ["Addresses", "OpenLoop", "Sum"]


class Sum(str):
    """The register of ``variable + by``."""

    variable: str
    by: int

    @classmethod
    def of(cls, code: Code, variable: str, by: int) -> Sum:
        total = cls(code.arithmetic("add", variable, str(by)))
        total.variable, total.by = variable, by
        return total


@dataclass
class OpenLoop:
    """A loop that is being written, and its induction variables: ``variable``, which starts at ``begin``, and ``pointers``, each with its
    first value and its step in bytes."""

    variable: str
    begin: str
    step: int
    pointers: dict[str, tuple[str, str]] = field(default_factory=dict)

    def heads(self, before: str, latch: str) -> Iterator[str]:
        """Instructions at the head of the loop, which is entered from the block ``before`` and repeated from the ``latch``."""
        yield f"  {self.variable} = phi i64 [ {self.begin}, %{before} ], [ {self.variable}.next, %{latch} ]"
        for pointer, (first, _) in self.pointers.items():
            yield f"  {pointer} = phi ptr [ {first}, %{before} ], [ {pointer}.next, %{latch} ]"

    def ends(self) -> Iterator[str]:
        """Instructions at the end of an iteration."""
        yield f"  {self.variable}.next = add nuw nsw i64 {self.variable}, {self.step}"
        for pointer, (_, distance) in self.pointers.items():
            yield f"  {pointer}.next = getelementptr i8, ptr {pointer}, i64 {distance}"


class Addresses:
    """What of a function's body computes where elements are."""

    code: Code
    head: Function
    nest: NestCode | SkewedCode
    #: what has been computed, by scope
    values: list[dict[Any, Any]]
    pointers: dict[Any, str]
    #: by depth of scopes, the line at which instructions may be put before a scope
    slots: dict[int, int]

    def value(self, x: Expression) -> Any:
        """The registers of an element."""
        raise NotImplementedError

    def find(self, key: Any) -> Any:
        for scope in reversed(self.values):
            if key in scope:
                return scope[key]
        return None

    @contextmanager
    def slot(self) -> Iterator[None]:
        """A place for instructions before the scope that is entered inside."""
        depth = len(self.values)
        before = self.slots.get(depth)
        self.slots[depth] = len(self.code.lines)
        self.code.lines.append("")
        yield
        del self.slots[depth]
        if before is not None:
            self.slots[depth] = before

    def index(self, index: Index) -> str:
        """The register of an index's value."""
        found = self.find(index)
        if found is not None:
            return str(found)
        code, total = self.code, self.head.size(index.constant)
        for atom, factor in index.terms.items():
            value = self._part(atom) if isinstance(atom, (Element, Part)) else self.find(atom)
            assert value is not None, f"{atom} has no loop here"
            if value == "0":
                continue
            scale = self.head.size(factor)
            term = value if scale == "1" else code.op(f"mul nsw i64 {value}, {scale}")
            total = term if total == "0" else code.op(f"add nsw i64 {total}, {term}")
        self.values[-1][index] = total
        return total

    def _part(self, atom: Element | Part) -> str:
        if isinstance(atom, Element):
            return self._position(atom)
        op = "udiv" if isinstance(atom, Quotient) else "urem"
        return self.code.op(f"{op} i64 {self.index(atom.of)}, {self.head.size(atom.by)}")

    def _position(self, element: Element) -> str:
        """An element of an array of indices, counted from the front. Indices are clamped to the dimension, so that no load leaves the
        array; a check raises for those out of bounds."""
        found = self.find(element)
        if found is None:
            code, x = self.code, element.x
            found = scalars.convert(code, self.value(x), x.dtype, dtypes.int64)
            if x.dtype.kind == "i":
                negative = code.op(f"icmp slt i64 {found}, 0")
                length = code.op(f"select i1 {negative}, i64 {self.head.size(element.limit)}, i64 0")
                found = code.op(f"add nsw i64 {found}, {length}")
            found = extreme(code, "umin", found, self.head.last(element.limit))
            self.values[-1][element] = found
        return str(found)

    def pointer_to(self, buffer: Buffer) -> str:
        if buffer not in self.pointers:
            self.pointers[buffer] = self.head.pointer(buffer)
        return self.pointers[buffer]

    def address(self, buffer: Buffer, at: tuple[Index, ...]) -> str:
        """The address of an element: neighbours are known distances from one address, which processors add for free."""
        offset = self.nest.offset(buffer, at)
        constant = offset.constant
        known = constant if isinstance(constant, int) else intervals.linear(symbols.number_of(constant)).constant
        place = Index(constant - known, offset.terms)
        pointer = self.find(("place", buffer, place))
        if pointer is None:
            pointer = self.values[-1]["place", buffer, place] = self._pointer_at(buffer, place)
        return str(pointer) if not known else self.code.op(f"getelementptr i8, ptr {pointer}, i64 {known}")

    def _pointer_at(self, buffer: Buffer, place: Index) -> str:
        """The address of a place: the row's address, which is computed before the loop along the row, plus the distance from it."""
        levels = {atom: level for atom in place.terms if (level := self._level_of(atom)) is not None}
        along = max(levels.values(), default=0)
        outer = {atom: place.terms[atom] for atom, level in levels.items() if level < along}
        row, inside = Index(place.constant, outer), max((levels[atom] for atom in outer), default=0)
        if row == Index() or inside + 1 not in self.slots or buffer.role in ("row", "point"):
            return self._behind(self.pointer_to(buffer), place)
        pointer = self._induction_pointer(buffer, row, inside)
        if pointer is None:
            registers = {var: self.find(var) for var in row.variables()}
            key = ("place", buffer, row, frozenset(registers.items()))
            pointer = self.find(key)
            if pointer is None:
                # For the scope behind the slot alone: what comes after that may be reached by another way.
                pointer = self.values[inside + 1][key] = self._before(inside + 1, buffer, row, registers)
        return self._behind(str(pointer), Index(0, {a: c for a, c in place.terms.items() if a not in outer}))

    def _before(self, depth: int, buffer: Buffer, row: Index, registers: dict[Any, Any]) -> str:
        """The address of a row, computed before the scope of that depth."""
        lines, values = self.code.lines, self.values
        self.code.lines, self.values = [], [*values[:depth], registers]
        pointer = self._behind(self.pointer_to(buffer), row)
        slot = self.slots[depth]
        lines[slot] = "\n".join([lines[slot], *self.code.lines])
        self.code.lines, self.values = lines, values
        return pointer

    def _induction_pointer(self, buffer: Buffer, row: Index, depth: int) -> str | None:
        """The address of a row as an induction variable of the loop at ``depth``; ``None`` if the row does not depend on its variable, or by a
        constant stride."""
        loop = self.values[depth].get("loop")
        going = [atom for atom in row.terms if self._level_of(atom) == depth]
        if loop is None or len(going) != 1 or isinstance(row.terms[going[0]], int) or depth not in self.slots:
            return None
        (var,) = going
        register = self.find(var)
        by = register.by if isinstance(register, Sum) else 0
        if isinstance(var, Part) or (register.variable if isinstance(register, Sum) else register) != loop.variable:
            return None
        key = ("induction", buffer, row, by)
        if key not in self.values[depth]:
            distance, before = row.terms[var], {v: self.find(v) for v in row.variables()}
            first = Index(row.constant + distance * by, row.terms)
            pointer = self.values[depth][key] = self.code.temp("row")
            begin = self._before(depth, buffer, first, {**before, var: loop.begin})
            loop.pointers[pointer] = begin, self.head.size(distance * loop.step)
        return str(self.values[depth][key])

    def _behind(self, pointer: str, offset: Index) -> str:
        if offset == Index():
            return pointer
        return self.code.op(f"getelementptr i8, ptr {pointer}, i64 {self.index(offset)}")

    def _level_of(self, atom: Any) -> int | None:
        """In which scope a loop's variable, or what is computed of such, is known; ``None`` of an element of an array."""
        if isinstance(atom, Part):
            levels = [self._level_of(a) for a in atom.of.terms]
            return None if None in levels else max((n for n in levels if n is not None), default=0)
        found = next((n for n in reversed(range(len(self.values))) if atom in self.values[n]), None)
        return None if found is None else self.values[found].get(("known since", atom), found)
