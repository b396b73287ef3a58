"""Positions that are elements of arrays of indices: known ones, lookups, and the check that they are in bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes, symbols
from tnp.executors.llvm.graph import Indices, Node, Positions, View, origin, variables
from tnp.executors.llvm.index import Index, Lookup

if TYPE_CHECKING:
    from tnp.executors.llvm.graph_lowering import GraphLowering

__all__ = ["check_bounds", "lookup"]


def lookup(indices: Node, at: Indices, length: int) -> Index:
    """The element of an array of indices at ``at``, as a position along a dimension of that length."""
    known = _known(indices, at)
    if known is not None and _fits(known, -length, length):
        if _fits(known, 0, length):
            return known
        if _fits(known, -length, 0):
            return known + length
    return Index() if _is_one(length) else Index.of(Lookup(indices, at, length))


def _is_one(length: Any) -> bool:
    """Whether a dimension is surely 1."""
    try:
        return not length > 1
    except symbols.Undecided:
        return False


def _known(indices: Node, at: Indices) -> Index | None:
    """An element of an array of indices as an expression in its position, if it is one."""
    node, place = origin(indices, at)
    if node.op == "convert_element_type" and node.sources:
        found = _known(node.sources[0], place)
    elif node.op == "iota" and all(type(x) is int for x in node.args):
        start, step = node.args
        found = place[0] * step + start
    elif node.op == "full" and type(node.args[0]) is int:
        found = Index(node.args[0])
    else:
        return None
    bits = node.dtype.bits - (node.dtype.kind == "i")
    lowest = -(2**bits) if node.dtype.kind == "i" else 0
    return found if found is not None and node.dtype.kind in "iu" and _fits(found, lowest, 2**bits) else None


def _fits(index: Index, lowest: Any, limit: Any) -> bool:
    """Whether an index surely lies between two sizes."""
    try:
        low, high = index.range()
        return low >= lowest and high < limit
    except symbols.Undecided:
        return False


def _interval(x: Any, depth: int = 8) -> tuple[float, float]:
    """Between what the elements of an array of integers lie, as far as ``np.minimum`` and its like tell."""
    if type(x) is int:
        return x, x
    if not isinstance(x, Node) or not depth:
        return -math.inf, math.inf
    if x.dtype.kind == "b":
        return 0, 1
    bounds = [_interval(a, depth - 1) for a in x.args] if x.op in _BOUNDED and x.dtype.kind in "iu" else []
    match x.op, bounds:
        case "minimum", [(a, b), (c, d)]:
            return min(a, c), min(b, d)
        case "maximum", [(a, b), (c, d)]:
            return max(a, c), max(b, d)
        case "add", [(a, b), (c, d)]:
            found = a + c, b + d
        case "sub", [(a, b), (c, d)]:
            found = a - d, b - c
        case "view" | "full" | "convert_element_type", [(a, b), *_]:
            found = a, b
        case _:
            return -math.inf, math.inf
    # What may not fit the dtype may be any number.
    bits = x.dtype.bits - (x.dtype.kind == "i")
    fits = found[0] >= (-(2**bits) if x.dtype.kind == "i" else 0) and found[1] < 2**bits
    return found if fits else (-math.inf, math.inf)


_BOUNDED = frozenset(("minimum", "maximum", "add", "sub", "view", "full", "convert_element_type"))


def check_bounds(lowering: GraphLowering, indices: Node, length: int, *, lowest: int) -> None:
    """Makes the kernel refuse indices that are not from ``lowest``, which is 0 or less, to below ``length``."""
    while isinstance(indices, View) and indices.whole:
        indices = indices.source
    counted = indices.sources[0] if indices.op == "copy" else indices
    if isinstance(counted, Positions) and counted.sources[0].shape[0] == length:
        return
    known = _known(indices, variables(indices.shape))
    if (known is not None and _fits(known, lowest, length)) or (indices, length, lowest) in lowering.in_bounds:
        return
    low, high = _interval(indices)
    if (
        math.isfinite(low)
        and math.isfinite(high)
        and _fits(Index(int(low)), lowest, length)
        and _fits(Index(int(high)), lowest, length)
    ):
        return
    lowering.in_bounds.add((indices, length, lowest))
    shape, dtype = indices.shape, indices.dtype
    if dtype.kind == "u":
        if _fits(Index(2**dtype.bits - 1), 0, length):
            return
        wide = dtype.bits < 64 and not isinstance(length, int)  # the dtype may not hold a length that varies
        counted = lowering.make("convert_element_type", shape, dtypes.uint64, (indices,)) if wide else indices
    else:  # as unsigned numbers from the lowest on, so that one comparison does
        wide = lowering.make("convert_element_type", shape, dtypes.int64, (indices,)) if dtype.bits < 64 else indices
        from_lowest = lowering.make("sub", shape, dtypes.int64, (wide, lowest)) if lowest else wide
        counted = lowering.make("bitcast", shape, dtypes.uint64, (from_lowest,))
        length -= lowest
    wrong = lowering.make("ge", shape, dtypes.bool8, (counted, length))
    lowering.refuse(wrong)
