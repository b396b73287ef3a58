"""Integers of a program: polynomials of registers, with bounds.

Every integer (a loop's index, a size, a stride, an offset in memory) is a sum of multiples of registers and of their
products, with bounds. That replaces run-time checks: whether an index is in bounds, whether two sizes are equal, whether
a sum may overflow, or whether an element is read before another is written.

>>> i = Int.of(Atom("%i", 0, 9))
>>> (i * 2 + 1).low, (i * 2 + 1).high
(1, 19)
>>> (i + 1) - i == Int(1)
True

A bound may depend on a register, too, such as a size that is known at run time only:

>>> n = Int.of(Atom("%n", 2))
>>> j = Int.of(Atom("%j", 0, most=n - 1))
>>> (n - j).low, (n * (j + 1) - n * j == n)
(1, True)
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from tnp.executors.llvm.index import Sum, plus

__all__ = [
    "HIGHEST",
    "LARGEST",
    "LOWEST",
    "Atom",
    "Int",
    "Product",
    "Size",
    "ceiling",
    "coefficient",
    "magnitude",
    "row_major",
    "without",
]

LOWEST, HIGHEST = -(2**63), 2**63 - 1


#: what a size is at most, in programs for any size
LARGEST = 2**31 - 1
#: a bound that is a number is good enough to make room, if it is not more than this
FEW = 2**20
#: what a size counts where steps are compared
NOMINAL = 1000
#: registers that are set to their bounds one after the other, at most
MOST_STEPS = 8


class Atom:
    """A register that holds an integer from ``low`` to ``high``, and of at most ``most``, if that is given. One that stands for any number,
    in bounds alone, has a name instead of a register."""

    __slots__ = ("high", "low", "most", "register")

    def __init__(self, register: Any, low: int = LOWEST, high: int = HIGHEST, most: Int | None = None) -> None:
        self.register = register
        self.low = max(low, LOWEST)
        self.high = min(high, HIGHEST)
        self.most = most

    @property
    def factors(self) -> tuple[Atom, ...]:
        return (self,)

    def __repr__(self) -> str:
        return str(self.register)


class Size(Atom):
    """A register that holds the size of an argument, or what is computed of sizes: all of the program can read it."""

    __slots__ = ()


class Product(Atom):
    """A product of registers. It has no register of its own."""

    __slots__ = ("_factors",)

    def __init__(self, factors: tuple[Atom, ...]) -> None:
        low, high = factors[0].low, factors[0].high
        for x in factors[1:]:
            corners = [a * b for a in (low, high) for b in (x.low, x.high)]
            low, high = min(corners), max(corners)
        super().__init__(None, low, high)
        self._factors = factors

    @property
    def factors(self) -> tuple[Atom, ...]:
        return self._factors

    def __repr__(self) -> str:
        return "*".join(map(repr, self._factors))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self._factors == other._factors

    def __hash__(self) -> int:
        return hash(self._factors)


def _times(a: Atom, b: Atom) -> Product:
    return Product(tuple(sorted((*a.factors, *b.factors), key=lambda x: (str(x.register), id(x)))))


class Int(Sum):
    """A sum of multiples of registers and of their products, a mathematical integer with bounds. Equal are those of always the same value."""

    __slots__ = ("high", "low")

    def __init__(self, constant: int = 0, terms: Mapping[Atom, int] | None = None, *, tight: bool = True) -> None:
        super().__init__(constant, terms)
        self.low = self.high = constant
        depends = False
        for atom, c in self.terms.items():
            first, last = c * atom.low, c * atom.high
            self.low += min(first, last)
            self.high += max(first, last)
            depends = depends or any(x.most is not None for x in atom.factors)
        if depends and tight:
            self.low = max(self.low, self._bound(-1))
            self.high = min(self.high, self._bound(1))

    def _bound(self, sign: int) -> int:
        """A lower bound (``sign`` -1) or an upper bound, found by replacing registers by their symbolic bounds."""
        x, best = self, self.low if sign < 0 else self.high
        for _ in range(MOST_STEPS):
            found = next((t for a, c in x.terms.items() if c * sign > 0 and (t := _largest(a)) is not None), None)
            if found is None:
                return best
            atom, step = found
            c = x.terms[atom]
            x = Int(
                x.constant + c * step.constant,
                plus({a: k for a, k in x.terms.items() if a != atom}, step.terms, c),
                tight=False,
            )
            best = max(best, x.low) if sign < 0 else min(best, x.high)
        return best

    @classmethod
    def of(cls, x: Any) -> Int:
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
    def is_of_sizes(self) -> bool:
        """Whether all of the program can compute it."""
        return all(map(_is_of_sizes, self.terms))

    @property
    def fits(self) -> bool:
        """Whether it surely is a 64-bit integer."""
        return LOWEST <= self.low and self.high <= HIGHEST

    def __mul__(self, factor: Int | int) -> Int:
        return self.times(factor) if isinstance(factor, Int) else super().__mul__(factor)

    def times(self, other: Int, *, tight: bool = True) -> Int:
        """The product; ``tight`` says whether its bounds are to be as narrow as they can be."""
        terms = plus(plus({}, self.terms, other.constant), other.terms, self.constant)
        for a, c in self.terms.items():
            terms = plus(terms, {_times(a, b): d for b, d in other.terms.items()}, c)
        return Int(self.constant * other.constant, terms, tight=tight)

    def divided(self, divisor: int) -> Int | None:
        """The quotient, if every term is a multiple of ``divisor``."""
        if self.constant % divisor or any(c % divisor for c in self.terms.values()):
            return None
        return Int(self.constant // divisor, {a: c // divisor for a, c in self.terms.items()})


def ceiling(x: Int) -> Int | None:
    """What an integer is at most, made of sizes alone; ``None`` if nobody knows."""
    total: Int | None = Int(x.constant)
    for atom, c in x.terms.items():
        bound = _ceiling_of(atom) if c > 0 or _is_of_sizes(atom) else Int(atom.low)
        if bound is None or total is None or (c < 0 and atom.low <= LOWEST):
            return None
        total = total + bound * c
    return total


def _is_of_sizes(atom: Atom) -> bool:
    return all(isinstance(x, Size) for x in atom.factors)


def _ceiling_of(atom: Atom) -> Int | None:
    if _is_of_sizes(atom):
        return Int(0, {atom: 1})
    total = Int(1)
    for x in atom.factors:
        bound = Int(0, {x: 1}) if isinstance(x, Size) else None if x.most is None else ceiling(x.most)
        if bound is None and x.high <= FEW:
            bound = Int(x.high)
        if bound is None or x.low < 0:
            return None
        total = total * bound
    return total


def _largest(atom: Atom) -> tuple[Atom, Int] | None:
    """A register, or a product, and what it is at most, if a register in it has such a bound."""
    for i, x in enumerate(atom.factors):
        rest = (*atom.factors[:i], *atom.factors[i + 1 :])
        if x.most is not None and all(y.low >= 0 for y in rest):
            bound = x.most
            for y in rest:
                bound = bound.times(Int(0, {y: 1}, tight=False), tight=False)
            return atom, bound
    return None


def magnitude(x: Int | int) -> float:
    """About how large a step is, of sizes that nobody knows."""
    if isinstance(x, int):
        return abs(x)
    return abs(x.constant + sum(c * NOMINAL ** len(a.factors) for a, c in x.terms.items()))


def coefficient(x: Int, atom: Atom) -> Int | None:
    """What a register is multiplied by; ``None`` if that depends on it."""
    terms: dict[Atom, int] = {}
    constant = 0
    for a, c in x.terms.items():
        if atom not in a.factors:
            continue
        rest = list(a.factors)
        rest.remove(atom)
        if atom in rest:
            return None
        if not rest:
            constant = c
        else:
            terms[rest[0] if len(rest) == 1 else Product(tuple(rest))] = c
    return Int(constant, terms)


def row_major(shape: Sequence[Int], itemsize: int) -> tuple[list[Int], Int]:
    """The strides in bytes of an array in C's order, and its size in bytes."""
    strides, step = [Int()] * len(shape), Int(itemsize)
    for d in reversed(range(len(shape))):
        strides[d] = step
        step = step * shape[d]
    return strides, step


def without(x: Int, atoms: Container[Atom]) -> Int:
    """The terms that contain none of those registers."""
    return Int(x.constant, {a: c for a, c in x.terms.items() if not any(f in atoms for f in a.factors)})
