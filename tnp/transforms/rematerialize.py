"""The choice of values to save for the backward pass: a minimum cut for minimal memory.

Cheap values (elementwise operations, views), and those of checkpointed functions, can be recomputed; the rest
(products, convolutions, reductions, random draws, library calls) cannot. Every value is an edge whose capacity is its
size in bytes. Arguments and values that are not recomputed are connected to the source, values that the backward pass
reads to the sink. The values on a minimum cut are saved (Chen et al., Training deep nets with sublinear memory cost,
2016; cuts as in PyTorch's AOTAutograd). Of several minimum cuts the one nearest to the sink is chosen, which recomputes
least.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from tnp.core import symbols
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["choose_saved", "is_cheap"]

#: what is in nobody's way: an argument that autograd would keep, too, or a number
_FREE = 1
_UNBOUNDED = 1 << 62


def choose_saved(
    forward: Sequence[BoundSymbol],
    wanted: Sequence[Proxy],
    arguments: Iterable[Proxy],
    results: Iterable[Proxy],
    kept: Iterable[Proxy],
    roots: Mapping[str, str],
    may: Callable[[BoundSymbol], bool],
) -> list[Proxy]:
    """The values of the program ``forward`` to save, from which all ``wanted`` can be computed by statements that ``may`` run again.

    ``roots`` says of values that look at another one's memory at whose. The memory of ``arguments`` and ``results`` is there in any case,
    but their owner may write to it before the backward pass, unless it is that of a value that autograd would have ``kept``: others are
    copied where they are saved.
    """
    given = {p.name: p for p in arguments}
    values = dict(given)
    there = {*given, *(roots.get(p.name, p.name) for p in results)}
    there &= {roots.get(p.name, p.name) for p in kept}
    network = _Network()
    for name in given:
        network.add(_SOURCE, (name, 0), _UNBOUNDED)
    for b in forward:
        cheap = may(b)
        for p in b.flat_outputs:
            if p.name in values:
                continue
            values[p.name] = p
            if not cheap:
                network.add(_SOURCE, (p.name, 0), _UNBOUNDED)
            for q in b.flat_inputs if cheap else ():
                network.add((q.name, 1), (p.name, 0), _UNBOUNDED)
    for name, p in values.items():
        is_free = roots.get(name, name) in there
        network.add((name, 0), (name, 1), _FREE if is_free else _bytes(p))
    for p in wanted:
        network.add((p.name, 1), _SINK, _UNBOUNDED)
    behind = network.behind_minimum_cut()
    return [p for name, p in values.items() if (name, 0) not in behind and (name, 1) in behind]


def is_cheap(b: BoundSymbol) -> bool:
    """Whether a statement only looks at arrays, or computes each element from others of its place, without drawing or raising."""
    if any(t in b.sym.tags for t in _DEAR) or b.sym.executor is not None:
        return False
    if b.subsymbols:
        return all(map(is_cheap, b.subsymbols))
    return OpTags.ELEMENTWISE in b.sym.tags or OpTags.VIEW in b.sym.tags or not b.flat_inputs


_DEAR = (OpTags.EFFECT, OpTags.RANDOM, OpTags.MAY_RAISE, OpTags.CONTROL_FLOW, OpTags.LATE_GUARD, OpTags.UPDATE)


def _bytes(p: Proxy) -> int:
    if not isinstance(p, TensorProxy) or any(symbols.value_of(n) is None for n in p.shape):
        return _FREE
    count: int = math.prod(map(symbols.present, p.shape))
    return max(_FREE, count * p.dtype.itemsize)


_Node = tuple[str, int]
_SOURCE: _Node = ("", 0)
_SINK: _Node = ("", 1)


class _Network:
    """A flow network; a node is a name and a number."""

    def __init__(self) -> None:
        #: of each edge, where it goes and what it can still carry; the next one, or the one before, is its reverse
        self.to: list[_Node] = []
        self.left: list[int] = []
        self.edges: dict[_Node, list[int]] = {_SOURCE: [], _SINK: []}

    def add(self, a: _Node, b: _Node, capacity: int) -> None:
        for x, y, c in ((a, b, capacity), (b, a, 0)):
            self.edges.setdefault(x, []).append(len(self.to))
            self.to.append(y)
            self.left.append(c)

    def behind_minimum_cut(self) -> set[_Node]:
        """The nodes from which the sink can be reached when as much flows as can: the smallest part that a minimum cut severs.

        Dinic's algorithm (1970).
        """
        while (levels := self._levels()) is not None:
            at = dict.fromkeys(self.edges, 0)
            while self._augment(levels, at):
                pass
        found = {_SINK}
        queue = deque(found)
        while queue:
            node = queue.popleft()
            for e in self.edges[node]:
                before = self.to[e]
                if self.left[e ^ 1] > 0 and before not in found:
                    found.add(before)
                    queue.append(before)
        return found

    def _levels(self) -> dict[_Node, int] | None:
        """The distance of each node from the source along edges that can carry more; ``None`` if the sink has none."""
        found = {_SOURCE: 0}
        queue = deque([_SOURCE])
        while queue:
            node = queue.popleft()
            for e in self.edges[node]:
                if self.left[e] > 0 and self.to[e] not in found:
                    found[self.to[e]] = found[node] + 1
                    queue.append(self.to[e])
        return found if _SINK in found else None

    def _augment(self, levels: dict[_Node, int], at: dict[_Node, int]) -> bool:
        """Sends more along one path that gets nearer to the sink with each edge; whether there was one."""
        path: list[int] = []
        node = _SOURCE
        while node != _SINK:
            edges = self.edges[node]
            while at[node] < len(edges):
                e = edges[at[node]]
                if self.left[e] > 0 and levels.get(self.to[e]) == levels[node] + 1:
                    break
                at[node] += 1
            else:
                if not path:
                    return False
                node = self.to[path.pop() ^ 1]
                at[node] += 1
                continue
            path.append(e)
            node = self.to[e]
        amount = min(self.left[e] for e in path)
        for e in path:
            self.left[e] -= amount
            self.left[e ^ 1] += amount
        return True
