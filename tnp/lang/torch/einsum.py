"""Einstein summation: each pair of operands is one batch of matrix products, as in torch."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import torch

from tnp.core import sizes, symbols
from tnp.core.clang.einsum import (
    Label,
    Pair,
    Term,
    default_output,
    is_one,
    is_spelled,
    matrix_product_of,
    split_term,
    widest_ellipsis,
)
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.contractions import alike
from tnp.lang.torch.registry import torchsymbol

__all__ = ["einsum"]


def _labels(term: str, rank: int | None, widest: int) -> tuple[Label, ...]:
    labels, missing = split_term(term, rank, widest)
    is_fit = missing >= 0 if "..." in term or rank is None else missing == 0
    if not is_fit or not is_spelled(term):
        raise NeedsOpaque("subscripts that do not fit")
    return labels


@functools.lru_cache(maxsize=1024)
def parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """The labels of each operand and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise NeedsOpaque("other operands than the subscripts say")
    inputs = [_labels(term, rank, 0) for term, rank in zip(terms, ranks)]
    output = _labels(right, None, widest_ellipsis(inputs)) if arrow else default_output(inputs)
    if len(set(output)) < len(output) or not set(output) <= {label for labels in inputs for label in labels}:
        raise NeedsOpaque("subscripts of a result that torch refuses")
    return inputs, output


def _check_diagonal(label: Label, n: sizes.Dim, m: sizes.Dim) -> None:
    if sizes.equal(n, m) is not True:
        raise NeedsOpaque("a diagonal of dimensions that may differ")


def _lengths(terms: Sequence[Term]) -> dict[Label, sizes.Dim]:
    """The length of each label; 1 gives way to any other."""
    lengths: dict[Label, sizes.Dim] = {}
    for term in terms:
        for label, n in zip(term.labels, term.array.shape):
            known = lengths.setdefault(label, n)
            if is_one(known):
                lengths[label] = n
            elif not is_one(n) and sizes.equal(known, n) is not True:
                raise NeedsOpaque("lengths that may differ")
    return lengths


def _multiplied(a: Term, b: Term, kept: Sequence[Label]) -> Term:
    """The product of two terms, summed over the labels that are not ``kept``: as torch does it, with labels in their order."""
    pair = Pair.of(a, b, kept)
    if not pair.contracted or not (pair.rows or pair.columns):
        labels = [label for label in kept if label in (*pair.left.labels, *pair.right.labels)]
        return pair.left.times(pair.right, [*labels, *pair.contracted]).summed(kept)
    of_kept = {x: [label for label in kept if label in getattr(pair, x)] for x in ("batch", "rows", "columns")}
    return matrix_product_of(dataclasses.replace(pair, **of_kept))


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
    terms = [Term(x, labels).with_diagonals(_check_diagonal) for x, labels in zip(operands, inputs)]
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
