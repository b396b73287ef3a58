"""Positions as linear forms of a kernel's coordinates.

Shapes are known when a kernel is compiled, so the position of an element is a constant plus multiples of *atoms*: a
coordinate of the kernel, a quotient or a remainder (of a reshape), or an index that was loaded. Forms are compared by
structure: two accesses at equal forms are one load.

>>> i = Index.of(Coordinate(0, 6))
>>> str(quotient(i * 4 + 1, 4)), str(remainder(i * 4 + 1, 4)), str(quotient(i, 4))
('c0', '1', '(c0 // 4)')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd

__all__ = [
    "ZERO",
    "Atom",
    "Coordinate",
    "Index",
    "Indices",
    "Looked",
    "Part",
    "Within",
    "offset_of",
    "quotient",
    "remainder",
    "within",
]


@dataclass(frozen=True)
class Coordinate:
    """The position along dimension ``dim`` of the kernel, from 0 to ``size - 1``."""

    dim: int
    size: int

    @property
    def high(self) -> int:
        return self.size - 1

    def __str__(self) -> str:
        return f"c{self.dim}"


@dataclass(frozen=True)
class Part:
    """The quotient (``//``) or the remainder (``%``) of an index that is not negative by a number."""

    index: Index
    operator: str
    by: int

    @property
    def high(self) -> int:
        return self.index.high // self.by if self.operator == "//" else min(self.by - 1, self.index.high)

    def __str__(self) -> str:
        inner = f"({self.index})" if len(self.index.terms) > 1 or self.index.constant else str(self.index)
        return f"({inner} {self.operator} {self.by})"


@dataclass(frozen=True)
class Within:
    """An index that is read only where it lies in a part of an array: from 0 to ``size - 1``."""

    index: Index
    size: int

    @property
    def high(self) -> int:
        return self.size - 1

    def __str__(self) -> str:
        return f"({self.index})"


@dataclass(frozen=True)
class Looked:
    """An index that is a value of the kernel, of the given name: from 0 to ``size - 1`` (the kernel sees to that)."""

    name: str
    size: int

    @property
    def high(self) -> int:
        return self.size - 1

    def __str__(self) -> str:
        return self.name


Atom = Coordinate | Part | Within | Looked


@dataclass(frozen=True)
class Index:
    """``constant + Σ factor * atom``. Atoms are never negative; factors and constant may be (a reversed dimension)."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of(atom: Atom) -> Index:
        """The atom itself; 0 if it can be nothing else."""
        return Index(((atom, 1),)) if atom.high else ZERO

    @cached_property
    def high(self) -> int:
        """The largest value that the form can have, as far as its atoms' ranges tell."""
        return self.constant + sum(atom.high * factor for atom, factor in self.terms if factor > 0)

    @cached_property
    def low(self) -> int:
        """The least value, likewise."""
        return self.constant + sum(atom.high * factor for atom, factor in self.terms if factor < 0)

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.constant + other)
        factors = dict(self.terms)
        for atom, factor in other.terms:
            factors[atom] = factors.get(atom, 0) + factor
        whole = _whole(factors)
        made = Index(_sorted(factors), self.constant + other.constant)
        return made if whole is None else made + whole

    def __mul__(self, factor: int) -> Index:
        if factor == 0:
            return ZERO
        return Index(tuple((atom, f * factor) for atom, f in self.terms), self.constant * factor)

    def walk(self) -> Iterator[Index]:
        """This form, and those inside its atoms."""
        yield self
        for atom, _ in self.terms:
            if isinstance(atom, (Part, Within)):
                yield from atom.index.walk()

    def __str__(self) -> str:
        parts = [str(atom) if factor == 1 else f"{factor}*{atom}" for atom, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


Indices = tuple[Index, ...]
ZERO = Index()


def _sorted(factors: dict[Atom, int]) -> tuple[tuple[Atom, int], ...]:
    """Terms in one order, so that equal forms are equal objects."""
    return tuple(sorted(((a, f) for a, f in factors.items() if f), key=lambda term: str(term[0])))


def _whole(factors: dict[Atom, int]) -> Index | None:
    """``i * f`` for a quotient ``(i // n) * (n * f)`` and a remainder ``(i % n) * f``, which leave ``factors``: a dimension that a view split."""
    for atom, factor in factors.items():
        if isinstance(atom, Part) and atom.operator == "%" and factor:
            other = Part(atom.index, "//", atom.by)
            if factors.get(other) == factor * atom.by:
                del factors[atom], factors[other]
                return atom.index * factor
    return None


def within(index: Index, size: int) -> Index:
    """An index where it lies between 0 and ``size - 1``; elsewhere nobody reads it."""
    return index if 0 <= index.low and index.high < size else Index.of(Within(index, size))


def quotient(index: Index, by: int) -> Index:
    """``index // by`` of an index that is not negative."""
    return _divided(index, by, "//")


def remainder(index: Index, by: int) -> Index:
    """``index % by`` of an index that is not negative."""
    return _divided(index, by, "%")


def _divided(index: Index, by: int, operator: str) -> Index:
    if by == 1:
        return index if operator == "//" else ZERO
    multiples = Index(tuple((a, f // by) for a, f in index.terms if f % by == 0), index.constant // by)
    rest = Index(tuple((a, f) for a, f in index.terms if f % by), index.constant % by)
    if rest.low < 0 or multiples.low < 0:
        return Index.of(Part(index, operator, by))
    if rest.high < by:
        return multiples if operator == "//" else rest
    step, coarse, fine = _coarse(rest, by)
    if operator == "//":
        return multiples + Index.of(Part(coarse, operator, by // step))
    return Index.of(Part(coarse, operator, by // step)) * step + fine


def _coarse(index: Index, by: int) -> tuple[int, Index, Index]:
    """``step, a, b`` with ``index = step * a + b``, where ``step`` divides ``by`` and ``b`` is less than a step: only ``a`` is divided."""
    for step in sorted({gcd(f, by) for _, f in index.terms}, reverse=True):
        fine = Index(tuple((a, f) for a, f in index.terms if f % step), index.constant % step)
        if 0 <= fine.low and fine.high < step:
            coarse = tuple((a, f // step) for a, f in index.terms if f % step == 0)
            return step, Index(coarse, index.constant // step), fine
    return 1, index, ZERO


def offset_of(at: Sequence[Index], strides: Sequence[int]) -> Index:
    """The position in memory of the element ``at``, in elements."""
    total = ZERO
    for index, stride in zip(at, strides, strict=True):
        total += index * stride
    return total


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a new array."""
    return tuple(accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1))[::-1] if shape else ()


#: from the position of an element in a view to that in what it looks at
Where = Callable[[Indices], Indices]
