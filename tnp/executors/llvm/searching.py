"""Lowering of ``searchsorted``: a linear or a branchless binary search."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tnp.core import dtypes, symbols
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
    if a.ndim != 1 or a.dtype.kind not in "iuf" or a.dtype.bits < 16:  # torch has one for each row
        return False
    n = symbols.value_of(a.shape[0])
    if n is None or symbols.is_found(a.shape[0]) or not 0 < n <= target.MOST_SEARCHED:
        return False
    lengths = [None if symbols.is_found(m) else symbols.value_of(m) for m in values.shape]
    if None in lengths:
        return n <= target.SEARCHED_FOR_UNKNOWN
    return n <= target.SEARCHED_FOR_ONE * max(math.prod(m or 0 for m in lengths), target.SEARCHED_FOR_ONE)


@rule("searchsorted", checker=_is_searched)
def _searchsorted(lowering: Lowering, output: TensorProxy, a: Node, values: Node, right: bool = False) -> Node:
    """The insertion points of ``values``. The kernel refuses an array that is not sorted or has a NaN."""
    (n,) = a.shape
    if not isinstance(n, int) or n > 1:
        first, second = (lowering.view(a, (n - 1,), lambda at, k=k: (at[0] + k,)) for k in (0, 1))
        ascends = lowering.make("le", (n - 1,), dtypes.bool8, (first, second))
    else:
        ascends = lowering.make("eq", (n,), dtypes.bool8, (a, a))
    lowering.refuse(lowering.make("logical_not", ascends.shape, dtypes.bool8, (ascends,)))
    if not isinstance(n, int):
        return _searched_for_any_size(lowering, a, values, right)
    return _counted(lowering, a, values, right) if n <= target.SEARCHED else _searched(lowering, a, values, right)


def _compared(lowering: Lowering, a: Node, values: Node, right: bool) -> Callable[..., Node]:
    """A function of a position in ``a``, which may depend on arrays of indices, and of these: whether the element there is before each
    value."""
    shape = values.shape

    def is_before(at: Callable[[Indices], Index], *lookups: Node) -> Node:
        element = lowering.view(a, shape, lambda i: (at(i),), lookups, repeats=not lookups, whole=not lookups)
        behind = lowering.make("gt" if right else "ge", shape, dtypes.bool8, (element, values))
        return lowering.make("logical_not", shape, dtypes.bool8, (behind,))

    return is_before


def _searched(lowering: Lowering, a: Node, values: Node, right: bool) -> Node:
    """A branchless binary search. The first comparison leaves 2**k - 1 elements, so that later steps stay in bounds."""
    (n,), shape = a.shape, values.shape
    is_before = _compared(lowering, a, values, right)
    half = 1 << (n.bit_length() - 1)
    before = is_before(lambda _, last=half - 1: Index() + last)
    found = lowering.make("where", shape, dtypes.int64, (before, n - half + 1, 0))
    while half := half >> 1:
        last = lowering.make("add", shape, dtypes.int64, (found, half - 1))
        before = is_before(lambda i, last=last: lookup(last, i, n), last)
        step = lowering.make("where", shape, dtypes.int64, (before, half, 0))
        found = lowering.make("add", shape, dtypes.int64, (found, step))
    return found


#: an array of any size has at most so many times as many elements as the one in the call that was traced: 2**k times
SPARE_STEPS = 2


def _searched_for_any_size(lowering: Lowering, a: Node, values: Node, right: bool) -> Node:
    """A branchless binary search. Each step leaves the larger half, whose first element is before the value if another is; in an array that
    is shorter than it may be, the last steps have nothing to halve."""
    (n,), shape = a.shape, values.shape
    typical = symbols.value_of(symbols.number_of(n))
    assert typical is not None
    steps = typical.bit_length() + SPARE_STEPS
    lowering.refuse(_is_longer(lowering, n, 1 << steps))
    is_before = _compared(lowering, a, values, right)
    length = lowering.make("full", shape, dtypes.int64, (n,))
    found = lowering.make("full", shape, dtypes.int64, (0,))
    for k in range(steps):  # ceil(n / 2**k) elements are left
        up = lowering.make("add", shape, dtypes.int64, (length, (1 << k) - 1))
        half = lowering.make("right_shift", shape, dtypes.int64, (up, k + 1))
        middle = lowering.make("add", shape, dtypes.int64, (found, half))
        before = is_before(lambda i, at=middle: lookup(at, i, n, is_sure=True), middle)
        found = lowering.make("where", shape, dtypes.int64, (before, middle, found))
    before = is_before(lambda i, at=found: lookup(at, i, n, is_sure=True), found)
    return lowering.make(
        "add", shape, dtypes.int64, (found, lowering.make("where", shape, dtypes.int64, (before, 1, 0)))
    )


def _is_longer(lowering: Lowering, n: Any, most: int) -> Node:
    """Whether a size is more than that."""
    size = lowering.make("full", (), dtypes.int64, (n,))
    return lowering.make("gt", (), dtypes.bool8, (size, most))


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
