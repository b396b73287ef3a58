"""Where a long region is cut: by the bytes that cross.

In a region, a value goes from operation to operation in a register. If there are more values than registers, some are
spilled to the stack, which is in the first-level cache. What crosses from one region to the next is an array: it is
written to memory and read again. So a region is cut where what crosses stays in the cache, and otherwise only where it
is longer than its fuser compiles at once. Then the cuts are those that the fewest bytes cross.

A region's operations are in an order that is valid, so each part of it depends on earlier parts only.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from tnp.core import symbols
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol

__all__ = ["bytes_that_cross", "cut_region", "longest"]


def longest(fuser: Any) -> int:
    """How many operations a region of a fuser has before it is cut."""
    found: int = fuser.longest_region or fuser.region_limit
    return found


def cut_region(region: Sequence[BoundSymbol], fuser: Any) -> list[list[BoundSymbol]]:
    """A region in parts. See ``region_limit``, ``longest_region`` and ``cached_bytes`` of
    :class:`~tnp.executors.base.FusionExecutor`."""
    if len(region) <= fuser.region_limit or fuser.longest_region is None:
        return _with_few_operands(region, fuser)
    crossing = bytes_that_cross(region)
    cheap = list(_cheap_cuts(crossing, fuser.region_limit, fuser.cached_bytes))
    cuts = [0]
    for end in [*cheap, len(region)]:
        cuts += [*_least_cuts(crossing, cuts[-1], end, fuser.longest_region), end]
    parts = [region[a:b] for a, b in itertools.pairwise(cuts)]
    return [part for found in parts for part in _with_few_operands(found, fuser)]


def _with_few_operands(region: Sequence[BoundSymbol], fuser: Any) -> list[list[BoundSymbol]]:
    """A region in parts that have no more than ``most_operands`` inputs and results that the part itself does not read."""
    if fuser.most_operands is None or len(region) < 2:
        return [list(region)]
    read = {p.name for b in region for p in b.flat_inputs}
    made = {p.name for b in region for p in b.flat_outputs}
    if len(read ^ made) <= fuser.most_operands:
        return [list(region)]
    middle = len(region) // 2
    return [*_with_few_operands(region[:middle], fuser), *_with_few_operands(region[middle:], fuser)]


def bytes_that_cross(region: Sequence[BoundSymbol]) -> list[int]:
    """The bytes of the arrays that a cut before each operation leaves on both sides: made or read before it, and read after it."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for k, b in enumerate(region):
        for p in b.flat_inputs:
            if isinstance(p, TensorProxy):
                first.setdefault(p.name, k)
                last[p.name] = k
                sizes[p.name] = _bytes(p)
        for p in b.flat_outputs:
            first.setdefault(p.name, k)
    change = [0] * (len(region) + 1)
    for name, k in last.items():
        change[first[name] + 1] += sizes[name]
        change[k + 1] -= sizes[name]
    found, total = [], 0
    for step in change[:-1]:
        total += step
        found.append(total)
    return found


def _bytes(p: TensorProxy) -> int:
    """The bytes of an array; a size that only the running program knows counts as 1."""
    sizes = (symbols.value_of(n) for n in p.shape)
    return math.prod(1 if n is None else n for n in sizes) * p.dtype.itemsize


def _cheap_cuts(crossing: Sequence[int], length: int, cached: int) -> Iterator[int]:
    """Cuts that at most ``cached`` bytes cross, into parts of half of ``length`` to ``length`` operations where there are such cuts."""
    start = 0
    while len(crossing) - start > length:
        least = min(range(start + length, start + length // 2, -1), key=crossing.__getitem__)
        if crossing[least] > cached:
            behind = range(start + length + 1, len(crossing))
            least = next((k for k in behind if crossing[k] <= cached), len(crossing))
        if least == len(crossing):
            return
        yield least
        start = least


def _least_cuts(crossing: Sequence[int], start: int, end: int, length: int) -> list[int]:
    """The cuts between ``start`` and ``end`` into parts of at most ``length`` operations that the fewest bytes cross in all, of equals
    the fewest cuts."""
    if end - start <= length:
        return []
    # the bytes and cuts up to each position, and the cut before it
    best = {start: (0, 0)}
    before: dict[int, int] = {}
    candidates = deque([start])  # positions within reach, the best first
    for k in range(start + 1, end + 1):
        while candidates[0] < k - length:
            candidates.popleft()
        before[k] = candidates[0]
        total, count = best[candidates[0]]
        best[k] = total + (crossing[k] if k < end else 0), count + 1
        while candidates and best[candidates[-1]] >= best[k]:
            candidates.pop()
        candidates.append(k)
    cuts, k = [], before[end]
    while k != start:
        cuts.append(k)
        k = before[k]
    return cuts[::-1]
