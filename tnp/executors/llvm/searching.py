"""Lowering of ``searchsorted``: a linear or a branchless binary search."""

from __future__ import annotations

import math
from collections.abc import Callable

from tnp.core import dtypes
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Indices, Lowering, Node, rule
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.indexing import lookup

__all__: list[str] = []


def _is_searched(bsym: BoundSymbol) -> bool:
    """Whether there are enough values to pay for the check that the array is sorted, which reads all of it."""
    a, values = bsym.args[:2]
    n = a.shape[0] if a.ndim == 1 else None  # torch has one for each row
    if type(n) is not int or not 0 < n <= target.MOST_SEARCHED or a.dtype.kind not in "iuf" or a.dtype.bits < 16:
        return False
    if any(type(m) is not int for m in values.shape):
        return n <= target.SEARCHED_FOR_UNKNOWN
    return n <= target.SEARCHED_FOR_ONE * max(math.prod(values.shape), target.SEARCHED_FOR_ONE)


@rule("searchsorted", checker=_is_searched)
def _searchsorted(lowering: Lowering, output: TensorProxy, a: Node, values: Node, right: bool = False) -> Node:
    """The insertion points of ``values``. The kernel refuses an array that is not sorted or has a NaN."""
    (n,) = a.shape
    if n > 1:
        first, second = (lowering.view(a, (n - 1,), lambda at, k=k: (at[0] + k,)) for k in (0, 1))
        ascends = lowering.make("le", (n - 1,), dtypes.bool8, (first, second))
    else:
        ascends = lowering.make("eq", (n,), dtypes.bool8, (a, a))
    lowering.refuse(lowering.make("logical_not", ascends.shape, dtypes.bool8, (ascends,)))
    return _counted(lowering, a, values, right) if n <= target.SEARCHED else _searched(lowering, a, values, right)


def _searched(lowering: Lowering, a: Node, values: Node, right: bool) -> Node:
    """A branchless binary search. The first comparison leaves 2**k - 1 elements, so that later steps stay in bounds."""
    (n,), shape = a.shape, values.shape

    def is_before(at: Callable[[Indices], Index], *lookups: Node) -> Node:
        element = lowering.view(a, shape, lambda i: (at(i),), lookups, repeats=not lookups, whole=not lookups)
        behind = lowering.make("gt" if right else "ge", shape, dtypes.bool8, (element, values))
        return lowering.make("logical_not", shape, dtypes.bool8, (behind,))

    half = 1 << (n.bit_length() - 1)
    before = is_before(lambda _, last=half - 1: Index() + last)
    found = lowering.make("where", shape, dtypes.int64, (before, n - half + 1, 0))
    while half := half >> 1:
        last = lowering.make("add", shape, dtypes.int64, (found, half - 1))
        before = is_before(lambda i, last=last: lookup(last, i, n), last)
        step = lowering.make(
            "where", shape, dtypes.int64, (before, half, 0)
        )  # a select of constants is not compiled to a branch
        found = lowering.make("add", shape, dtypes.int64, (found, step))
    return found


def _counted(lowering: Lowering, a: Node, values: Node, right: bool) -> Node:
    """A linear search: counts the elements before each value."""
    (n,), rank = a.shape, len(values.shape)
    shape = (*values.shape, n)
    elements = lowering.view(a, shape, lambda at: at[rank:], repeats=True, whole=True)
    spread = lowering.view(values, shape, lambda at: at[:rank], repeats=True, whole=True)
    behind = lowering.make("gt" if right else "ge", shape, dtypes.bool8, (elements, spread))
    before = lowering.make("logical_not", shape, dtypes.bool8, (behind,))
    counted = lowering.make("convert_element_type", shape, dtypes.int64, (before,))
    return lowering.reduce("sum", values.shape, dtypes.int64, counted, (rank,))
