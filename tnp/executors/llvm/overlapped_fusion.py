"""Overlapped fusion: stencil stages in one loop over rows, so that intermediate rows stay in the cache.

``lap = f(field)`` followed by ``out[:] = g(lap)``, where ``g`` reads ``lap`` in a few neighbouring rows, are two nests:
the rows of ``lap`` go to memory and back. Instead one loop over the rows of ``out`` computes, before each row, the one
new row of ``lap``. Then ``lap`` has memory only for a *window* of rows.

Each thread starts with a full window of its own: the rows at the borders are computed twice, with equal values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tnp.executors.llvm.graph import Node, Update
from tnp.executors.llvm.index import Index, disjoint
from tnp.executors.llvm.statements import Access, Nest

__all__ = ["Sliding", "Stage", "Window", "slide"]

#: a value between stages goes through memory if it has fewer bytes than this: it stays in the cache anyway
SMALL_BYTES = 256 * 1024
#: all windows together have at most so many bytes
WINDOW_BYTES = 2 << 20
#: stages that may be put together
MOST = 8
#: rows of the last stage for each row that a thread computes twice, at least
ROWS_FOR_EACH_TWICE = 8


class Stage:
    """A nest whose rows ``low`` to ``high``, counted from that of the last stage, are needed for a row of the last stage.

    ``columns`` are the same of its second loop, if that is known.
    """

    def __init__(self, nest: Nest, low: int, high: int, columns: tuple[int, int] | None = None) -> None:
        self.nest = nest
        self.low = low
        self.high = high
        self.columns = columns


class Window:
    """The memory of a value between stages: ``length`` places along the dimension ``dim``, each used again and again."""

    def __init__(self, dim: int, length: int) -> None:
        self.dim = dim
        self.length = length

    def place(self, at: Sequence[Index]) -> tuple[Index, ...]:
        """The position in the window of a position in the value."""
        return tuple(i.divide(self.length)[1] if d == self.dim else i for d, i in enumerate(at))

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(min(n, self.length) if d == self.dim else n for d, n in enumerate(shape))


class Sliding(Nest):
    """Nests that share their outermost loop, shifted against each other. The last one has no shift."""

    shares_rows = False

    def __init__(self, stages: Sequence[Stage], windows: dict[Node, Window]) -> None:
        last = stages[-1].nest
        self.outer = last.outer[:1]
        self.groups = [g for s in stages for g in s.nest.groups]
        self.stages = list(stages)
        self.windows = windows

    def parts(self) -> list[Nest]:
        return [s.nest for s in self.stages]

    def rows_for_a_thread(self) -> int:
        return ROWS_FOR_EACH_TWICE * sum(s.high - s.low for s in self.stages)


class _NoWindow(Exception):
    """The stages cannot follow each other row by row."""


def slide(nests: Sequence[Nest], memory_of: Callable[[Node], Node], kept: set[Node]) -> list[Nest]:
    """``nests`` with those put together that can follow each other row by row, and gain by it.

    ``kept`` are the memories that others see: outputs, inputs and errors.
    """
    result = list(nests)
    users: dict[Node, set[int]] = {}
    for nest in result:
        for a in _accesses(nest):
            users.setdefault(memory_of(a.node), set()).add(id(nest))
    if sum(m.size * m.dtype.itemsize for m in users if m not in kept) < SMALL_BYTES:
        return result
    end = len(result)
    while end > 1:
        for begin in range(max(0, end - MOST), end - 1):
            try:
                made = _Attempt(result[begin:end], users, memory_of, kept).run()
            except _NoWindow:
                continue
            replaced = set(map(id, result[begin:end]))
            for nests_of in users.values():
                if not nests_of.isdisjoint(replaced):
                    nests_of -= replaced
                    nests_of.add(id(made))
            result[begin:end] = [made]
            end = begin
            break
        else:
            end -= 1
    return result


class _Attempt:
    """Putting nests together. ``users`` are the ids of the nests that read or write each memory."""

    def __init__(
        self, nests: Sequence[Nest], users: dict[Node, set[int]], memory_of: Callable[[Node], Node], kept: set[Node]
    ) -> None:
        self.nests = nests
        self.users = users
        self.memory_of = memory_of
        self.kept = kept

    def run(self) -> Sliding:
        """Raises :class:`_NoWindow` if that cannot be, or does not pay."""
        if any(not nest.outer or not nest.shares_rows for nest in self.nests):
            raise _NoWindow
        producers = self.nests[:-1]
        made = {self.memory_of(s.node): k for k, nest in enumerate(producers) for s in nest.statements()}
        own = set(map(id, self.nests))
        if not made.keys().isdisjoint(self.kept) or any(not self.users[m] <= own for m in made):
            raise _NoWindow
        between = {m: k for m, k in made.items() if any(id(nest) in self.users[m] for nest in self.nests[k + 1 :])}
        if any(isinstance(s.node, Update) and s.node.lookups for nest in producers for s in nest.statements()):
            raise _NoWindow  # a scatter that adds must not run twice
        self._check_what_is_written(between)
        dims, ranges = self._ranges(between, 0)
        try:
            columns: list[tuple[int, int] | None] = [*self._ranges(between, 1)[1]]
        except _NoWindow:
            columns = [None] * len(self.nests)
        stages = [Stage(nest, *reach, side) for nest, reach, side in zip(self.nests, ranges, columns)]
        windows = {m: Window(dims[m], stages[k].high - stages[k].low + 1) for m, k in between.items()}
        found = Sliding(stages, windows)
        self._check_that_it_pays(found)
        return found

    def _ranges(self, between: dict[Node, int], level: int) -> tuple[dict[Node, int], list[tuple[int, int]]]:
        """Of each nest, which iterations of a loop (0: the outermost) one of the last nest needs, counted from that; and the dimensions of
        the memories ``between`` that those loops go along."""
        if any(len(nest.outer) <= level for nest in self.nests):
            raise _NoWindow
        *producers, last = self.nests
        ranges: list[tuple[int, int] | None] = [None] * len(producers) + [(0, 0)]
        dims: dict[Node, int] = {}
        for k in reversed(range(len(producers))):
            for memory in (m for m, made_by in between.items() if made_by == k):
                dims[memory] = self._dimension(memory, self.nests[k], level)
                for t in range(k, len(self.nests)):
                    for shift in self._shifts(memory, dims[memory], self.nests[t], level):
                        if t == k:
                            if shift:
                                raise _NoWindow
                        else:
                            ranges[k] = _hull(ranges[k], ranges[t], shift)
        limit, found = last.outer[level].limit, []
        for nest, reach in zip(self.nests, ranges):
            if reach is None or reach[0] < 0 or reach[1] + limit > nest.outer[level].limit:
                raise _NoWindow
            found.append(reach)
        return dims, found

    def _check_what_is_written(self, between: dict[Node, int]) -> None:
        """Nothing else that these nests write may be what one of them reads or writes elsewhere: stages run ahead."""
        for k, nest in enumerate(self.nests):
            for a in _accesses(nest):
                memory = self.memory_of(a.node)
                if not a.writes or memory in between:
                    continue
                for t, other in enumerate(self.nests):
                    for b in _accesses(other):
                        if t != k and self.memory_of(b.node) is memory and not disjoint(a.at, b.at):
                            raise _NoWindow

    def _dimension(self, memory: Node, nest: Nest, level: int) -> int:
        """The dimension of a value that a loop of its stage goes along."""
        lead = Index.of(nest.outer[level])
        found = {
            next((d for d, i in enumerate(a.at) if i == lead), None)
            for a in _accesses(nest)
            if a.writes and self.memory_of(a.node) is memory
        }
        if len(found) != 1 or None in found:
            raise _NoWindow
        return found.pop()

    def _shifts(self, memory: Node, dim: int, nest: Nest, level: int) -> Iterator[int]:
        """How far from its own iteration of a loop a nest uses a memory."""
        lead = nest.outer[level]
        for a in _accesses(nest):
            if self.memory_of(a.node) is not memory:
                continue
            if a.at[dim].terms != {lead: 1} or any(lead in i.variables() for d, i in enumerate(a.at) if d != dim):
                raise _NoWindow
            yield a.at[dim].constant

    def _check_that_it_pays(self, made: Sliding) -> None:
        sizes = {m: m.size * m.dtype.itemsize for m in made.windows}
        windows = sum(math.prod(w.shape(m.shape)) * m.dtype.itemsize for m, w in made.windows.items())
        if sum(sizes.values()) < SMALL_BYTES or windows > WINDOW_BYTES:
            raise _NoWindow
        if made.outer[0].limit < 2 * made.rows_for_a_thread():
            raise _NoWindow


def _hull(a: tuple[int, int] | None, of: tuple[int, int] | None, shift: int) -> tuple[int, int]:
    """``a`` widened to what a stage with the range ``of`` needs at a distance."""
    if of is None:
        raise _NoWindow  # nothing needs that stage
    low, high = of[0] + shift, of[1] + shift
    return (low, high) if a is None else (min(a[0], low), max(a[1], high))


def _accesses(nest: Nest) -> Iterator[Access]:
    for statement in nest.statements():
        yield from statement.accesses()
