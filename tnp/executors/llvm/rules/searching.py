"""Lowering of ``searchsorted``: the elements before a value are counted, one by one in a short array, or by a search."""

from __future__ import annotations

import math

from tnp.core import dtypes, symbols
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Node, Search
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import rule

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
def _searchsorted(lowering: GraphLowering, output: TensorProxy, a: Node, values: Node, right: bool = False) -> Node:
    """The insertion points of ``values``. The kernel refuses an array that is not sorted or has a NaN."""
    (n,) = a.shape
    if not isinstance(n, int) or n > 1:
        first, second = (lowering.view(a, (n - 1,), lambda at, k=k: (at[0] + k,)) for k in (0, 1))
        ascends = lowering.make("le", (n - 1,), dtypes.bool8, (first, second))
    else:
        ascends = lowering.make("eq", (n,), dtypes.bool8, (a, a))
    lowering.refuse(lowering.make("logical_not", ascends.shape, dtypes.bool8, (ascends,)))
    before = _is_before(lowering, a, values, right)
    if isinstance(n, int) and n <= target.SEARCHED:
        counted = lowering.make("convert_element_type", before.shape, dtypes.int64, (before,))
        return lowering.reduce("sum", values.shape, dtypes.int64, counted, (len(values.shape),))
    return lowering.add(Search(before, position=lowering.next_position()))


def _is_before(lowering: GraphLowering, a: Node, values: Node, right: bool) -> Node:
    """Whether each element is before each value; the elements are the last dimension."""
    (n,), rank = a.shape, len(values.shape)
    shape = (*values.shape, n)
    elements = lowering.view(a, shape, lambda at: at[rank:], repeats=True, whole=True)
    spread = lowering.view(values, shape, lambda at: at[:rank], repeats=True, whole=True)
    behind = lowering.make("gt" if right else "ge", shape, dtypes.bool8, (elements, spread))
    return lowering.make("logical_not", shape, dtypes.bool8, (behind,))
