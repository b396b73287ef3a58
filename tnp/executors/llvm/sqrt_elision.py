"""Magnitudes that are only compared with numbers are compared by their squares: ``abs(z) <= 2`` takes no root.

The root of a sum of squares, as :func:`~tnp.executors.llvm.scalars.elementary.powers.hypot` iterations it, is
monotonous in the sum. So it is at most ``c`` exactly where the sum is at most the largest number whose rounded root is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm.graph import Graph, Node

__all__ = ["compare_squares", "largest_with_root"]

#: between these numbers, squares that overflow or lose digits are on the right side of the limit all the same
_RANGE = {dtypes.float32: (2.0**-60, 2.0**60), dtypes.float64: (2.0**-500, 2.0**500)}
_MIRRORED = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}


def compare_squares(graph: Graph) -> None:
    """Rewrites the comparisons of ``abs`` of complex numbers, and of ``hypot``, with numbers, where nothing else looks at it."""
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for source in node.sources:
            users.setdefault(source, []).append(node)
    for root in list(graph.nodes):
        if not _is_magnitude(root) or root in graph.outputs or root in graph.errors:
            continue
        found = [(node, _comparison(node, root)) for node in users.get(root, ())]
        if found and all(how is not None for _, how in found):
            # an infinite part makes the root infinite even beside NaN: that it is larger must be seen
            sees_infinity = any(op == "gt" for _, (op, _) in found)
            name = "squares_or_infinity" if sees_infinity else "squares"
            sums = Node(name, root.shape, root.dtype, root.args, position=root.position)
            graph.nodes[graph.nodes.index(root)] = sums
            for node, (op, limit) in found:
                node.become(op, (sums, limit))


def _is_magnitude(node: Node) -> bool:
    return node.dtype in _RANGE and (node.op == "hypot" or (node.op == "abs" and node.sources[0].dtype.kind == "c"))


def _comparison(node: Node, root: Node) -> tuple[str, float] | None:
    """``le`` or ``gt``, and the limit of the sum of squares, that say what ``node`` says of the root."""
    if node.op not in _MIRRORED:
        return None
    (a, b), op = node.args, node.op
    if b is root:
        a, b, op = b, a, _MIRRORED[op]
    if a is not root or type(b) not in (int, float):
        return None
    low, high = _RANGE[root.dtype]
    number = _as(root.dtype, b) if abs(b) < high else None
    if number is None or not low <= number <= high:
        return None
    if op in ("lt", "ge"):
        number = np.nextafter(number, -math.inf, dtype=number.dtype)
    return "le" if op in ("le", "lt") else "gt", largest_with_root(number)


def _as(dtype: DType, number: float) -> Any:
    return np.dtype(dtype.name).type(number)


def largest_with_root(root: Any) -> float:
    """The largest number whose rounded root is at most the positive NumPy scalar ``root``.

    >>> largest_with_root(np.float64(2.0))
    4.000000000000001
    """
    found = root * root
    while np.sqrt(found) > root:
        found = np.nextafter(found, -math.inf, dtype=found.dtype)
    while np.sqrt(following := np.nextafter(found, math.inf, dtype=found.dtype)) <= root:
        found = following
    return float(found)
