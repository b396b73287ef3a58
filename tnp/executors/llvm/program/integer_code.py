"""Arithmetic on the integers of a loop, sizes and indices, as instructions: each expression is computed once a
scope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.executors.llvm.code import Code
from tnp.executors.llvm.program.integers import Atom, Int, ceiling

__all__ = ["IntegerCode"]

#: how far an integer may be below another so that its bounds are those of the larger of the two
NEAR = 16


class IntegerCode:
    """What writes integers of a function. ``known``: by scope, the innermost last, what has been computed, by a key that says what it is."""

    code: Code
    known: list[dict[Any, Any]]
    #: what registers are made here
    atoms: type[Atom] = Atom

    def text(self, x: Int) -> str:
        """The operand of an integer."""
        total, so_far = "", Int(0)

        def nsw(part: Int) -> str:
            # What is added up may wrap though the whole does not. Of an offset in memory, whose bounds are none, nothing does.
            return "" if x.fits and not part.fits else "nsw "

        for atom, factor in x.terms.items():
            part = Int(0, {atom: factor})
            first, *others = atom.factors
            product = first.text
            for other in others:
                product = self.code.op(f"mul {nsw(part)}i64 {product}, {other.text}")
            term = product if factor == 1 else self.code.op(f"mul {nsw(part)}i64 {product}, {factor}")
            so_far += part
            total = term if not total else self.code.op(f"add {nsw(so_far)}i64 {total}, {term}")
        if not total:
            return str(x.constant)
        return self.code.op(f"add {nsw(x)}i64 {total}, {x.constant}") if x.constant else total

    def find(self, key: Any) -> Any:
        """What :meth:`remember` was told."""
        for scope in reversed(self.known):
            if key in scope:
                return scope[key]
        return None

    def atom(self, key: Any, write: Callable[[], str], low: int, high: int, most: Int | None = None) -> Int:
        """The integer whose register ``write`` gives, the same for the same ``key``."""
        found = self.find(key)
        if found is None:
            found = self.known[-1][key] = Int.of(self.atoms(write(), low, high, most))
        assert isinstance(found, Int)
        return found

    def maximum(self, a: Int, b: Int) -> Int:
        if (a - b).low >= 0:
            return a
        if (b - a).low >= 0:
            return b
        most = None
        for x, y in ((a, b), (b, a)):
            if y.known is not None and 0 < y.known - x.low <= NEAR:  # as in max(n - 2, 0)
                most = x + (y.known - x.low)
        return self._extreme("smax", a, b, max(a.low, b.low), max(a.high, b.high), most)

    def minimum(self, a: Int, b: Int) -> Int:
        if (a - b).low >= 0:
            return b
        if (b - a).low >= 0:
            return a
        most = next((x for x in (b, a) if ceiling(x) is not None), b)
        return self._extreme("smin", a, b, min(a.low, b.low), min(a.high, b.high), most)

    def _extreme(self, name: str, a: Int, b: Int, low: int, high: int, most: Int | None) -> Int:
        def write() -> str:
            self.code.require(f"@llvm.{name}.i64", f"declare i64 @llvm.{name}.i64(i64, i64)")
            return self.code.op(f"call i64 @llvm.{name}.i64(i64 {self.text(a)}, i64 {self.text(b)})")

        return self.atom((name, a, b), write, low, high, most if most is not None and most.terms else None)

    def less(self, a: Int, b: Int) -> str:
        """The bool ``a < b``."""
        distance = a - b
        if distance.high < 0:
            return "true"
        return "false" if distance.low >= 0 else self.code.op(f"icmp slt i64 {self.text(a)}, {self.text(b)}")

    def equal(self, a: Int, b: Int) -> str:
        """The bool ``a == b``."""
        distance = a - b
        if not distance.terms:
            return "false" if distance.constant else "true"
        if distance.low > 0 or distance.high < 0:
            return "false"
        return self.code.op(f"icmp eq i64 {self.text(a)}, {self.text(b)}")
