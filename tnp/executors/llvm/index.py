"""Index arithmetic: the position of an element, as an expression in loop variables.

An :class:`Index` is an integer constant plus multiples of *atoms*: loop variables, elements of arrays of indices, and
quotients and remainders of other indices, which reshapes introduce. All dividends are non-negative, so quotients round
down in either convention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

__all__ = ["Atom", "Index", "Lookup", "Part", "Quotient", "Remainder", "Sum", "Var", "linear", "plus"]


class Atom:
    """Something that takes integer values from 0 to ``limit - 1``."""

    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit


class Var(Atom):
    """A loop variable; two are the same if they are one object."""

    __slots__ = ("name",)

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(limit)
        self.name = name

    def __repr__(self) -> str:
        return self.name


_VARIABLES = frozenset((Var,))


class Part(Atom):
    """``of // by`` or ``of % by``."""

    __slots__ = ("by", "of")

    def __init__(self, of: Index, by: int, limit: int) -> None:
        super().__init__(limit)
        self.of = of
        self.by = by

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.of == self.of and other.by == self.by

    def __hash__(self) -> int:
        return hash((type(self), self.of, self.by))

    def mapped(self, f: Callable[[Index], Index]) -> Part:
        """The same of another index."""
        return type(self)(f(self.of), self.by, self.limit)


class Quotient(Part):
    __slots__ = ()


class Remainder(Part):
    __slots__ = ()


class Lookup(Atom):
    """The element at ``at`` of ``node``, an array of indices. A negative index counts from the end."""

    __slots__ = ("at", "node")

    def __init__(self, node: Any, at: tuple[Index, ...], limit: int) -> None:
        super().__init__(limit)
        self.node = node
        self.at = at

    def __eq__(self, other: object) -> bool:
        return type(other) is Lookup and (self.node, self.at, self.limit) == (other.node, other.at, other.limit)

    def __hash__(self) -> int:
        return hash((self.node, self.at, self.limit))


class Sum:
    """``constant + sum(coefficient * atom)``. Immutable; two are equal if they have the same terms. A subclass says what atoms are."""

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: int, terms: Mapping[Any, int] | None) -> None:
        self.constant = constant
        self.terms = {a: c for a, c in terms.items() if c} if terms else {}
        self._hash: int | None = None

    @classmethod
    def of(cls, x: Any) -> Self:
        """An atom, an ``int``, or a sum, as a sum. An atom that takes one value only is that value."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Self:
        other = self.of(other)
        return type(self)(self.constant + other.constant, plus(self.terms, other.terms))

    __radd__ = __add__

    def __neg__(self) -> Self:
        return self * -1

    def __sub__(self, other: Any) -> Self:
        return self + self.of(other) * -1

    def __mul__(self, factor: Any) -> Self:
        return type(self)(self.constant * factor, {a: c * factor for a, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        return self.text(repr)

    def text(self, shown: Callable[[Any], str]) -> str:
        """The sum as text, with what ``shown`` gives for its atoms."""
        parts = [f"{c}*{shown(a)}" if c != 1 else shown(a) for a, c in self.terms.items()]
        return " + ".join([*parts, str(self.constant)] if self.constant or not parts else parts)


def plus(a: Mapping[Any, int], b: Mapping[Any, int], factor: Any = None) -> dict[Any, int]:
    """The terms of ``a + b``, or of ``a + factor * b``."""
    terms = dict(a)
    for atom, c in b.items():
        terms[atom] = terms.get(atom, 0) + (c if factor is None else c * factor)
    return terms


class Index(Sum):
    """A sum of loop variables, elements of arrays of indices, quotients and remainders.

    >>> i = Index.of(Var("i", 10))
    >>> (i * 4 + 3).range()
    (3, 39)
    """

    __slots__ = ("is_affine",)

    def __init__(self, constant: int = 0, terms: Mapping[Atom, int] | None = None) -> None:
        super().__init__(constant, terms)
        #: whether all atoms are loop variables
        self.is_affine = not terms or _VARIABLES.issuperset(map(type, self.terms))

    @classmethod
    def of(cls, x: Any) -> Index:
        if isinstance(x, Index):
            return x
        if isinstance(x, Atom):
            return cls(0, {x: 1}) if x.limit != 1 else cls()
        return cls(x)

    def range(self) -> tuple[int, int]:
        """The least and the greatest value."""
        low = high = self.constant
        for atom, c in self.terms.items():
            reach = c * (atom.limit - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def renamed(self, names: Mapping[Var, Var]) -> Index:
        """With other loop variables."""
        if not names:
            return self

        def atom(a: Any) -> Atom:
            return (
                names.get(a, a)
                if isinstance(a, Var)
                else a.mapped(lambda i: i.renamed(names))
                if isinstance(a, Part)
                else a
            )

        return Index(self.constant, {atom(a): c for a, c in self.terms.items()})

    def variables(self) -> set[Var]:
        """The loop variables that it depends on."""
        if self.is_affine:
            return cast("set[Var]", set(self.terms))
        found: set[Var] = set()
        for atom in self.terms:
            if isinstance(atom, Var):
                found.add(atom)
            elif isinstance(atom, Part):
                found |= atom.of.variables()
            elif isinstance(atom, Lookup):
                found |= set().union(*(i.variables() for i in atom.at))
        return found

    def lookups(self) -> Iterator[Lookup]:
        """The elements of arrays of indices that it depends on."""
        for atom in self.terms:
            if isinstance(atom, Lookup):
                yield atom
            elif isinstance(atom, Part):
                yield from atom.of.lookups()

    def _split(self, by: int) -> tuple[Index, Index]:
        """Multiples of ``by``, divided by it, and the rest."""
        multiples = Index(self.constant // by, {a: c // by for a, c in self.terms.items() if c % by == 0})
        rest = Index(self.constant % by, {a: c for a, c in self.terms.items() if c % by})
        return multiples, rest

    def divide(self, by: Any, most: Any = None) -> tuple[Index, Index]:
        """Quotient and remainder. By a size that varies, the quotient is less than ``most``."""
        if not isinstance(by, int):
            return Index.of(Quotient(self, by, most)), Index.of(Remainder(self, by, by))
        if by == 1:
            return self, Index()
        multiples, rest = self._split(by)
        low, high = rest.range()
        if 0 <= low and high < by:
            return multiples, rest
        whole = rest if low >= 0 else self
        base = multiples if low >= 0 else Index()
        quotient = Quotient(whole, by, whole.range()[1] // by + 1)
        return base + Index.of(quotient), Index.of(Remainder(whole, by, by))


def linear(indices: Sequence[Index], strides: Sequence[int]) -> Index:
    """``sum(index * stride)``, quotients and remainders of one index put together again where they fit."""
    constant, terms = 0, dict[Atom, int]()
    for index, stride in zip(indices, strides):
        constant += index.constant * stride
        terms = plus(terms, index.terms, stride)
    total = Index(constant, terms)
    while True:
        for atom, c in total.terms.items():
            if type(atom) is Remainder:
                quotient = Quotient(atom.of, atom.by, atom.limit)  # to look for: how large it is makes no difference
                if total.terms.get(quotient) == c * atom.by:
                    rest = Index(total.constant, {a: k for a, k in total.terms.items() if a not in (atom, quotient)})
                    total = rest + atom.of * c
                    break
        else:
            return total
