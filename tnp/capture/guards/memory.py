"""Guards on the memory of arrays that a program writes to: it is writable, and nothing else that the program uses lies in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tnp.capture.guards.prologue import Extent, disjoint
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.objects.row_list import is_apart
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.tracing.traced_values import Storage

__all__ = ["ArrayInput", "guard_memory", "lie_apart"]

#: bits of ``ndarray.flags.num``
WRITEABLE, WARN_ON_WRITE = 0x400, 0x80000000


class ArrayInput(NamedTuple):
    """What is known of the memory of an array that is an input.

    ``expression`` fetches its ``memory``, and ``array`` itself. ``apart(written, others)`` says whether arrays of its library surely share
    no memory; ``None`` where they are asked in pairs.
    """

    memory: np.ndarray[Any, Any] | Extent
    storage: Storage
    expression: str
    array: str = ""
    apart: Callable[[Sequence[Any], Sequence[Any]], bool] | None = None


def lie_apart(written: Iterable[tuple[int, int, int]], others: Iterable[tuple[int, int, int]]) -> bool:
    """Whether no extent (space, start, stop) of ``written`` meets another one, of ``written`` or of ``others``."""
    space, reached, stored = -1, 0, 0  # how far the extents so far go, and those of them that are written
    extents = [(*e, True) for e in written]
    extents += [(*e, False) for e in others]
    extents.sort()
    for here, start, stop, is_written in extents:
        if start == stop:
            continue
        if here != space:
            space, reached, stored = here, start, start
        if start < (reached if is_written else stored):
            return False
        reached = max(reached, stop)
        if is_written:
            stored = max(stored, stop)
    return True


def guard_memory(inputs: Inputs, arrays: dict[str, ArrayInput], used: set[str]) -> None:
    """Guards that what the program writes to is writable, and shares no memory with what else it uses."""
    written = [name for name, a in arrays.items() if a.storage.dirty]
    if not written:
        return
    _guard_lists(inputs, arrays, written)
    for name in written:
        memory, _, expression, _, apart = arrays[name]
        if apart is not None:  # torch's, which are never read-only
            continue
        flag = "flags.writeable"
        if isinstance(memory, np.ndarray):  # an array that warns when it is written to has a flag of its own
            flag = f"flags.num & {WRITEABLE | WARN_ON_WRITE:#x} == {WRITEABLE:#x}"
        inputs.prologue.guard_writable(expression, f"{expression}.{flag}", f"{name} is writable")
    together: dict[Any, tuple[dict[str, None], dict[str, None]]] = defaultdict(lambda: ({}, {}))
    for name, other in _pairs(written, [n for n, a in arrays.items() if n in used or a.storage.dirty]):
        a, b = arrays[name], arrays[other]
        if not disjoint(a.memory, b.memory):
            condition = f"not disjoint({a.expression}, {b.expression})"
            inputs.prologue.guard(condition, f"{name} and {other} may overlap in memory")
            raise NeedsEager(f"{name}, which it writes, may overlap {other} in memory")
        if a.apart is not None and a.apart is b.apart:
            stored, read = together[a.apart]
            stored[a.array] = None
            (stored if b.storage.dirty else read)[b.array] = None
        else:
            _guard_pair(inputs, name, other, a, b)
    for apart, (stored, read) in together.items():
        lists = " ".join(f"[{', '.join(expressions)}]," for expressions in (stored, read))
        condition = f"{inputs.prologue.constant(apart, 'apart')}({lists[:-1]})"
        inputs.prologue.guard(condition, "what it writes overlaps nothing else in memory")


def _pairs(written: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each of ``written`` with each of ``others``, once."""
    done = set()
    for name in written:
        done.add(name)
        yield from ((name, other) for other in others if other not in done)


def _guard_pair(inputs: Inputs, name: str, other: str, a: ArrayInput, b: ArrayInput) -> None:
    x, y = a.expression, b.expression
    condition = f"disjoint({x}, {y})"
    plain = x == inputs.expressions[name] and y == inputs.expressions[other]
    if plain and a.memory.base is None and b.memory.base is None:  # the common case, told without a call
        condition = f"({x} is not {y} and {x}.base is None and {y}.base is None or {condition})"
    inputs.prologue.guard(condition, f"{name} and {other} do not overlap in memory")


def _guard_lists(inputs: Inputs, arrays: dict[str, ArrayInput], written: Sequence[str]) -> None:
    """Guards that none of the arrays that are written to is one of a list whose arrays are rows of one array."""
    for listed, (held, x) in inputs.lists.items():
        for name in written:
            memory, _, expression, *_ = arrays[name]
            if not is_apart(held, memory):
                raise ReadsVarying(listed)
            apart = f"{inputs.prologue.constant(is_apart, 'is_apart')}({x}, {expression})"
            inputs.prologue.guard(apart, f"{name} is none of {listed}")
