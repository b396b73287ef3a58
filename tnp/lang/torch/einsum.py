"""Einstein summation: each pair of operands is one batch of matrix products, as in torch."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from tnp.core import clang, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.contractions import alike
from tnp.lang.torch.registry import torchsymbol

__all__ = ["einsum"]

#: a label of a dimension: a letter, or a negative number for one that an ellipsis stands for, counted from the right
Label = str | int


class Term(NamedTuple):
    """A tensor and the labels of its dimensions."""

    tensor: TensorProxy
    labels: tuple[Label, ...]

    def length(self, label: Label) -> sizes.Dim:
        return self.tensor.shape[self.labels.index(label)]

    def with_diagonals(self) -> Term:
        """Repeated labels taken along the diagonal."""
        tensor, labels = self
        for label in dict.fromkeys(labels):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                if sizes.equal(tensor.shape[first], tensor.shape[second]) is not True:
                    raise NeedsOpaque("a diagonal of dimensions that may differ")
                tensor = prims.diagonal(tensor, 0, first, second)
                labels = (*(x for d, x in enumerate(labels) if d not in (first, second)), label)
        return Term(tensor, labels)

    def without_ones(self, lengths: dict[Label, sizes.Dim]) -> Term:
        """Without dimensions of 1 that broadcast against another operand's."""
        gone = [
            d for d, (n, x) in enumerate(zip(self.tensor.shape, self.labels)) if _is_one(n) and not _is_one(lengths[x])
        ]
        return Term(clang.squeeze(self.tensor, gone), tuple(x for d, x in enumerate(self.labels) if d not in gone))

    def summed(self, kept: Iterable[Label]) -> Term:
        """Summed over the labels that are not ``kept``."""
        kept = set(kept)
        gone = tuple(d for d, label in enumerate(self.labels) if label not in kept)
        tensor = prims.sum(self.tensor, gone) if gone else self.tensor
        return Term(tensor, tuple(label for label in self.labels if label in kept))

    def arranged(self, order: Sequence[Label]) -> TensorProxy:
        """The tensor with its dimensions in that order."""
        return clang.transpose(self.tensor, [self.labels.index(label) for label in order])

    def spread(self, order: Sequence[Label]) -> TensorProxy:
        """The tensor with its dimensions in that order, and 1 for labels that it lacks."""
        own = self.arranged([label for label in order if label in self.labels])
        return clang.expand_dims(own, [d for d, label in enumerate(order) if label not in self.labels])


def _is_one(n: sizes.Dim) -> bool:
    return type(n) is int and n == 1


def _labels(term: str, rank: int | None, widest: int) -> tuple[Label, ...]:
    """The labels of one term. An ellipsis stands for what ``rank`` leaves, or for ``widest`` dimensions where that is ``None``."""
    before, dots, after = term.partition("...")
    letters = before + after
    missing = widest if rank is None else rank - len(letters)
    if (
        not (letters == "" or (letters.isalpha() and letters.isascii()))
        or missing < 0
        or (rank is not None and missing and not dots)
    ):
        raise NeedsOpaque("subscripts that do not fit")
    return (*before, *(range(-missing, 0) if dots else ()), *after)


@functools.lru_cache(maxsize=1024)
def parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """The labels of each operand and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise NeedsOpaque("other operands than the subscripts say")
    inputs = [_labels(term, rank, 0) for term, rank in zip(terms, ranks)]
    flat = [label for labels in inputs for label in labels]
    widest = max((-label for label in flat if isinstance(label, int)), default=0)
    once = sorted(x for x in set(flat) if isinstance(x, str) and flat.count(x) == 1)
    output = _labels(right, None, widest) if arrow else (*range(-widest, 0), *once)
    if len(set(output)) < len(output) or not set(output) <= set(flat):
        raise NeedsOpaque("subscripts of a result that torch refuses")
    return inputs, output


def _lengths(terms: Sequence[Term]) -> dict[Label, sizes.Dim]:
    """The length of each label; 1 gives way to any other."""
    lengths: dict[Label, sizes.Dim] = {}
    for term in terms:
        for label, n in zip(term.labels, term.tensor.shape):
            known = lengths.setdefault(label, n)
            if _is_one(known):
                lengths[label] = n
            elif not _is_one(n) and sizes.equal(known, n) is not True:
                raise NeedsOpaque("lengths that may differ")
    return lengths


def _multiplied(a: Term, b: Term, kept: Sequence[Label]) -> Term:
    """The product of two terms, summed over the labels that are not ``kept``."""
    a = a.summed({*kept, *b.labels})
    b = b.summed({*kept, *a.labels})
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in kept if label in shared]
    contracted = [label for label in shared if label not in kept]
    rows = [label for label in kept if label in a.labels and label not in shared]
    columns = [label for label in kept if label in b.labels and label not in shared]
    if not contracted or not (rows or columns):
        labels = (*(label for label in kept if label in (*a.labels, *b.labels)), *contracted)
        return Term(clang.mul(a.spread(labels), b.spread(labels)), labels).summed(kept)
    outside, middle, last = ([t.length(x) for x in xs] for t, xs in ((a, batch), (a, rows), (b, columns)))
    depth = sizes.product([a.length(x) for x in contracted])
    left, right = a.arranged([*batch, *rows, *contracted]), b.arranged([*batch, *contracted, *columns])
    product = prims.matmul(
        clang.reshape(left, (*outside, sizes.product(middle), depth)),
        clang.reshape(right, (*outside, depth, sizes.product(last))),
    )
    return Term(clang.reshape(product, (*outside, *middle, *last)), (*batch, *rows, *columns))


def _path(equation: str, tensors: Sequence[TensorProxy]) -> list[tuple[int, ...]]:
    """Which operands are multiplied one after another, for the present lengths: as torch does it, which asks opt_einsum if that is installed."""
    settings: Any = torch.backends.opt_einsum
    shapes = [tuple(map(symbols.present, t.shape)) for t in tensors]
    if len(tensors) < 3 or not settings.enabled or not settings.is_available():
        return [(0, 1)] + [(0, n) for n in range(len(tensors) - 2, 0, -1)]
    found = settings.get_opt_einsum().contract_path(equation, *shapes, shapes=True, optimize=settings.strategy)
    return [tuple(pair) for pair in found[0]]


@torchsymbol("einsum", returns="view", row_major=False, tags=(OpTags.PRODUCT,))
def einsum(equation: Any, *operands: Any) -> TensorProxy:
    """Einstein's summation convention, of tensors of one dtype; of one tensor without a sum, a view."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if type(equation) is not str or not operands:
        raise NeedsOpaque("subscripts as lists")
    alike(*operands)
    inputs, output = parse(equation, tuple(x.ndim for x in operands))
    terms = [Term(x, labels).with_diagonals() for x, labels in zip(operands, inputs)]
    lengths = _lengths(terms)
    terms = [t.without_ones(lengths) for t in terms]
    for pair in _path(equation, operands) if len(terms) > 1 else ():
        if len(pair) != 2:
            raise NeedsOpaque("products of more than two tensors at once")
        first, second = (terms[i] for i in pair)
        terms = [t for i, t in enumerate(terms) if i not in pair]
        later = [label for t in terms for label in t.labels]
        terms.append(_multiplied(first, second, list(dict.fromkeys([*output, *later]))))
    return terms[0].summed(output).arranged(output)
