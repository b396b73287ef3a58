"""Integers of a program: sums of multiples of registers, with bounds.

The compiler of programs knows of every integer (a loop's index, a size, an offset in memory) how it is made of others
and between which bounds it lies. That decides what a check at run time would otherwise: whether an index is in bounds,
two sizes are equal, a sum may overflow, or an element is read before another is written.

>>> i = Int.of(Atom("%i", 0, 9))
>>> (i * 2 + 1).low, (i * 2 + 1).high
(1, 19)
>>> (i + 1) - i == Int(1)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["HIGHEST", "LOWEST", "Atom", "Int"]

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Atom:
    """A register that holds an integer from ``low`` to ``high``."""

    __slots__ = ("high", "low", "text")

    def __init__(self, text: str, low: int = LOWEST, high: int = HIGHEST) -> None:
        self.text = text
        self.low = max(low, LOWEST)
        self.high = min(high, HIGHEST)

    def __repr__(self) -> str:
        return self.text


class Int:
    """``constant + sum(factor * atom)``, as a mathematical integer. Immutable; equal if they always have the same value."""

    __slots__ = ("constant", "high", "low", "terms")

    def __init__(self, constant: int = 0, terms: Mapping[Atom, int] | None = None) -> None:
        self.constant = constant
        self.terms = {a: c for a, c in terms.items() if c} if terms else {}
        self.low = self.high = constant
        for atom, c in self.terms.items():
            first, last = c * atom.low, c * atom.high
            self.low += min(first, last)
            self.high += max(first, last)

    @classmethod
    def of(cls, x: Any) -> Int:
        """An atom, an ``int``, or an integer of the program. An atom of one value only is that value."""
        if isinstance(x, Int):
            return x
        if isinstance(x, Atom):
            return cls(0, {x: 1}) if x.low < x.high else cls(x.low)
        return cls(int(x))

    @property
    def known(self) -> int | None:
        """The value, if it is the same in every run."""
        return None if self.terms else self.constant

    @property
    def fits(self) -> bool:
        """Whether it surely is a 64-bit integer."""
        return LOWEST <= self.low and self.high <= HIGHEST

    def __add__(self, other: Int | int) -> Int:
        other = Int.of(other)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        return Int(self.constant + other.constant, terms)

    def __sub__(self, other: Int | int) -> Int:
        return self + Int.of(other) * -1

    def __mul__(self, factor: int) -> Int:
        return Int(self.constant * factor, {a: c * factor for a, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Int) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    def __repr__(self) -> str:
        parts = [f"{c}*{a!r}" if c != 1 else repr(a) for a, c in self.terms.items()]
        return " + ".join([*parts, str(self.constant)] if self.constant or not parts else parts)
