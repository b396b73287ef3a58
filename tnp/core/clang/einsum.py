"""Einstein summation, as far as NumPy's and torch's are one: operands with labeled dimensions, and how two of them are multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tnp.core import prims, sizes
from tnp.core.clang.elementwise import mul
from tnp.core.clang.shape import expand_dims, reshape, squeeze, transpose
from tnp.core.proxies import TensorProxy

__all__ = [
    "Label",
    "Pair",
    "Term",
    "default_output",
    "is_one",
    "is_spelled",
    "matrix_product_of",
    "split_term",
    "widest_ellipsis",
]

#: of a dimension: a letter, or a negative number for one that an ellipsis stands for, counted from the right
Label = str | int


def is_one(n: sizes.Dim) -> bool:
    """Whether a length is surely 1, and broadcasts."""
    return type(n) is int and n == 1


def is_spelled(term: str) -> bool:
    """Whether a term is letters, with at most one ellipsis."""
    letters = term.replace("...", "", 1)
    return letters == "" or (letters.isalpha() and letters.isascii())


def split_term(term: str, rank: int | None, widest: int) -> tuple[tuple[Label, ...], int]:
    """The labels of one term of subscripts, and for how many dimensions its ellipsis stands: what ``rank`` leaves, negative if that does
    not fit, or ``widest`` if that is ``None``."""
    before, dots, after = term.partition("...")
    missing = widest if rank is None else rank - len(before) - len(after)
    return (*before, *(range(-missing, 0) if dots else ()), *after), missing


def widest_ellipsis(inputs: Iterable[Iterable[Label]]) -> int:
    """The most dimensions that an ellipsis stands for."""
    return max((-label for labels in inputs for label in labels if isinstance(label, int)), default=0)


def default_output(inputs: Iterable[Sequence[Label]]) -> tuple[Label, ...]:
    """The labels of a result that subscripts do not name: those of ellipses, and letters that stand once, in order."""
    flat = [label for labels in inputs for label in labels]
    once = sorted(x for x in set(flat) if isinstance(x, str) and flat.count(x) == 1)
    return (*range(-widest_ellipsis([flat]), 0), *once)


@dataclass(frozen=True)
class Term:
    """An array and the labels of its dimensions."""

    array: TensorProxy
    labels: tuple[Label, ...]

    def length(self, label: Label) -> sizes.Dim:
        return self.array.shape[self.labels.index(label)]

    def with_diagonals(self, check: Callable[[Label, sizes.Dim, sizes.Dim], None]) -> Term:
        """Repeated labels taken along the diagonal. ``check(label, n, m)`` raises for lengths that are not the same."""
        array, labels = self.array, self.labels
        for label in dict.fromkeys(labels):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                check(label, array.shape[first], array.shape[second])
                array = prims.diagonal(array, 0, first, second)
                labels = (*(x for d, x in enumerate(labels) if d not in (first, second)), label)
        return Term(array, labels)

    def without_ones(self, lengths: Mapping[Label, sizes.Dim]) -> Term:
        """Without dimensions of 1 that broadcast against another operand's."""
        gone = [
            d for d, (n, x) in enumerate(zip(self.array.shape, self.labels)) if is_one(n) and not is_one(lengths[x])
        ]
        return Term(squeeze(self.array, gone), tuple(x for d, x in enumerate(self.labels) if d not in gone))

    def summed(self, kept: Iterable[Label]) -> Term:
        """Summed over the labels that are not ``kept``; of bools, whether any is true."""
        kept = set(kept)
        gone = tuple(d for d, label in enumerate(self.labels) if label not in kept)
        if not gone:
            return self
        array = (prims.any if self.array.dtype.kind == "b" else prims.sum)(self.array, gone)
        return Term(array, tuple(label for label in self.labels if label in kept))

    def arranged(self, order: Sequence[Label]) -> TensorProxy:
        """The array with its dimensions in that order."""
        return transpose(self.array, [self.labels.index(label) for label in order])

    def spread(self, order: Sequence[Label]) -> TensorProxy:
        """The array with its dimensions in that order, and 1 for labels that it lacks."""
        own = self.arranged([label for label in order if label in self.labels])
        return expand_dims(own, [d for d, label in enumerate(order) if label not in self.labels])

    def times(self, other: Term, labels: Sequence[Label]) -> Term:
        """The products of the elements of two terms, with dimensions in that order."""
        return Term(mul(self.spread(labels), other.spread(labels)), tuple(labels))


@dataclass(frozen=True)
class Pair:
    """Two terms whose product is summed over the labels that are not ``kept``, in the roles that labels have in a product of matrices."""

    left: Term
    right: Term
    batch: list[Label]
    contracted: list[Label]
    rows: list[Label]
    columns: list[Label]

    @classmethod
    def of(cls, a: Term, b: Term, kept: Sequence[Label]) -> Pair:
        """Labels that one term alone has, and that are not kept, are summed first. ``rows`` and ``columns`` are in the order of their terms."""
        a = a.summed({*kept, *b.labels})
        b = b.summed({*kept, *a.labels})
        shared = [label for label in a.labels if label in b.labels]
        return cls(
            a, b,
            batch=[label for label in shared if label in kept],
            contracted=[label for label in shared if label not in kept],
            rows=[label for label in a.labels if label not in shared],
            columns=[label for label in b.labels if label not in shared],
        )  # fmt: skip


def matrix_product_of(pair: Pair) -> Term:
    """The product of two terms as a batch of products of matrices."""
    batch, contracted, rows, columns = pair.batch, pair.contracted, pair.rows, pair.columns
    outside, middle, inside = ([pair.left.length(x) for x in labels] for labels in (batch, rows, contracted))
    last, depth = [pair.right.length(x) for x in columns], sizes.product(inside)
    left, right = pair.left.arranged([*batch, *rows, *contracted]), pair.right.arranged([*batch, *contracted, *columns])
    product = prims.matmul(
        reshape(left, (*outside, sizes.product(middle), depth)), reshape(right, (*outside, depth, sizes.product(last)))
    )
    return Term(reshape(product, (*outside, *middle, *last)), (*batch, *rows, *columns))
