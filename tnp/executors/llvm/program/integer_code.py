"""Arithmetic on the integers of a loop, sizes and indices: what is not affine is an instruction, once a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.executors.llvm.program.integers import Atom, Int, ceiling
from tnp.executors.llvm.program.ir import FALSE, TRUE, Builder, Operand, Register, whole_number

__all__ = ["IntegerCode"]

#: how far an integer may be below another so that its bounds are those of the larger of the two
NEAR = 16


class IntegerCode:
    """What makes integers of a program. ``known``: by scope, the innermost last, what has been computed, by a key that says what it is."""

    code: Builder
    known: list[dict[Any, Any]]
    #: what registers are made here
    atoms: type[Atom] = Atom

    def find(self, key: Any) -> Any:
        """What :meth:`remember` was told."""
        for scope in reversed(self.known):
            if key in scope:
                return scope[key]
        return None

    def atom(self, key: Any, write: Callable[[], Operand], low: int, high: int, most: Int | None = None) -> Int:
        """The integer whose register ``write`` gives, the same for the same ``key``."""
        found = self.find(key)
        if found is None:
            found = self.known[-1][key] = self._number(write(), low, high, most)
        assert isinstance(found, Int)
        return found

    def _number(self, x: Operand, low: int, high: int, most: Int | None) -> Int:
        return Int.of(self.atoms(x, low, high, most)) if isinstance(x, Register) else whole_number(x, low, high, most)

    def maximum(self, a: Int, b: Int) -> Int:
        if (a - b).low >= 0:
            return a
        if (b - a).low >= 0:
            return b
        most = None
        for x, y in ((a, b), (b, a)):
            if y.known is not None and 0 < y.known - x.low <= NEAR:  # as in max(n - 2, 0)
                most = x + (y.known - x.low)
            elif most is None and y.known is not None and (bound := ceiling(x)) is not None and bound.low >= y.known:
                most = bound  # as in max(stop - start, 0)
        return self._extreme("smax", a, b, max(a.low, b.low), max(a.high, b.high), most)

    def minimum(self, a: Int, b: Int) -> Int:
        if (a - b).low >= 0:
            return b
        if (b - a).low >= 0:
            return a
        most = next((x for x in (b, a) if ceiling(x) is not None), b)
        return self._extreme("smin", a, b, min(a.low, b.low), min(a.high, b.high), most)

    def _extreme(self, name: str, a: Int, b: Int, low: int, high: int, most: Int | None) -> Int:
        return self.atom(
            (name, a, b), lambda: self.code.extreme(name, a, b), low, high, most if most is not None and most.terms else None
        )  # fmt: skip

    def less(self, a: Int, b: Int) -> Operand:
        """The bool ``a < b``."""
        distance = a - b
        if distance.high < 0:
            return TRUE
        return FALSE if distance.low >= 0 else self.code.compare("slt", a, b)

    def equal(self, a: Int, b: Int) -> Operand:
        """The bool ``a == b``."""
        distance = a - b
        if not distance.terms:
            return FALSE if distance.constant else TRUE
        if distance.low > 0 or distance.high < 0:
            return FALSE
        return self.code.compare("eq", a, b)
