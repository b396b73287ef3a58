"""Sums of squared distances to a mean, in the pass over memory that finds the mean.

A variance is a sum, and a sum of squares that starts from its result: two passes over an array that no cache holds. But
the squares of a block of rows can be summed around any number that is near its mean, such as the mean of the block
itself, while the block is in the cache. Of ``n`` elements with the sums ``e`` of ``x - c`` and ``q`` of ``(x - c)²``,
and ``d = c - m``,

    sum((x - m)²) = q + (2 e + n d) d

for any ``m``: exactly, and without cancellation where ``e`` is no more than the rounding of ``c``. So results are those
of the two passes, up to roundings, where one with sums of ``x`` and ``x²`` loses all digits of a variance much smaller
than the mean's square. (In the form for two blocks it is T. F. Chan, G. H. Golub and R. J. LeVeque's, "Updating
formulae and a pairwise algorithm for computing sample variances", 1979.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.executors.llvm.graph import Node, Reduction, View, needed_for, variables
from tnp.executors.llvm.statements import Nest, Statement

__all__ = ["Centered", "Moments", "squared", "sum_squares_at_once"]

#: a smaller array is in the cache when the second pass comes
LARGE_BYTES = 1 << 20


class Moments(Nest):
    """A nest that sums ``values``, and maybe others. In the same pass over memory it sums what :class:`Centered` needs, too."""

    shares_rows = False

    def __init__(self, nest: Nest, values: Node) -> None:
        self.outer = []
        self.groups = nest.groups
        self.windows = {}
        self.values = values

    @property
    def sums(self) -> list[Statement]:
        """What is reduced."""
        return self.groups[0].statements

    @property
    def total(self) -> Statement:
        """The sum of the values."""
        return next(s for s in self.sums if _is_sum_of(s.node, self.values))


class Centered(Nest):
    """A nest that sums the squares of the distances to ``center``, which comes from the sums of ``moments``, of the values there."""

    shares_rows = False

    def __init__(self, nest: Nest, moments: Moments, center: Node) -> None:
        self.outer = []
        self.groups = nest.groups
        self.windows = {}
        self.moments = moments
        self.center = center

    @property
    def squares(self) -> Statement:
        """The sum of squares."""
        return self.groups[0].statements[0]


def sum_squares_at_once(nests: Sequence[Nest]) -> list[Nest]:
    """``nests``, of which those that sum squares of distances to what others sum have no pass over memory of their own."""
    result = [part for nest in nests for part in _apart(nest)]
    for k, second in enumerate(result):
        found = _values_and_center(second)
        if found is None:
            continue
        values, center = found
        for j, first in enumerate(result[:k]):
            if not _sums(first, values, second):
                continue
            moments = Moments(first, values)
            if moments.total.node in needed_for([center]):
                result[j], result[k] = moments, Centered(second, moments, center)
                break
    return result if any(isinstance(nest, Centered) for nest in result) else list(nests)


def _apart(nest: Nest) -> list[Nest]:
    """The groups of a nest as nests of their own, where no loop is around them."""
    if nest.outer or not nest.shares_rows:
        return [nest]
    found = []
    for group in nest.groups:
        alone = Nest(group.statements[0])
        alone.outer, alone.groups = [], [group]
        found.append(alone)
    return found


def _sums(first: Nest, values: Node, second: Nest) -> bool:
    """Whether a nest goes through the same loops as the second, reduces all that it computes, and sums ``values``."""
    if first.outer or not first.shares_rows:
        return False
    (squares,) = second.groups[0].statements
    sums = first.groups[0].statements
    if any(s.loops != squares.loops or s.reduced != squares.reduced or s.node.op != "sum" for s in sums):
        return False
    return any(_is_sum_of(s.node, values) for s in sums)


def _is_sum_of(node: Node, values: Node) -> bool:
    return node.op == "sum" and node.sources[0] is values and node.dtype == values.dtype


def _values_and_center(nest: Nest) -> tuple[Node, Node] | None:
    """Of a sum of ``(x - c)²`` over an array that is not in the cache, with ``c`` the same for all that is summed into one: ``x`` and ``c``."""
    if nest.outer or not nest.shares_rows or len(nest.groups[0].statements) != 1:
        return None
    node = nest.groups[0].statements[0].node
    if not isinstance(node, Reduction) or node.op != "sum" or node.dtype.kind != "f" or node.dtype.bits < 32:
        return None
    if node.sources[0].size * int(node.dtype.itemsize) < LARGE_BYTES:
        return None
    distance = squared(node.sources[0])
    if distance is None or distance.op != "sub" or distance.dtype != node.dtype:
        return None
    values, center = distance.args
    if not isinstance(values, Node) or values.shape != distance.shape or not isinstance(center, View):
        return None
    at = variables(center.shape)
    moving = set().union(*(at[d].variables() for d in node.dims))
    position = center.where(at)
    return None if any(moving & i.variables() for i in position) else (values, center)


def squared(node: Node) -> Node | None:
    """What a node is the square of, if it is one."""
    if node.op == "square":
        return node.sources[0]
    if node.op == "mul" and node.args[0] is node.args[1] and isinstance(node.args[0], Node):
        return node.args[0]
    if node.op == "pow" and type(node.args[1]) in (int, float) and node.args[1] == 2 and isinstance(node.args[0], Node):
        return node.args[0]
    return None
