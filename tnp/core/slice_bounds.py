"""Slices of dimensions with symbolic sizes: where they begin, and how long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tnp.core.symbols import as_dimension, compute, relations_of

if TYPE_CHECKING:
    from tnp.core.proxies import NumberProxy

__all__ = ["slice_bounds", "slice_length"]


def slice_length(n: int | NumberProxy, start: Any, stop: Any, step: int) -> int | NumberProxy | None:
    """How many elements ``[start:stop:step]`` of a dimension ``n`` has; ``None`` if only the running program knows."""
    found = slice_bounds(n, start, stop, step)
    return None if found is None else found[1]


def slice_bounds(n: int | NumberProxy, start: Any, stop: Any, step: int) -> tuple[Any, int | NumberProxy] | None:
    """Where ``[start:stop:step]`` of a dimension ``n`` begins, and how many elements it has; ``None`` if only the running program knows."""
    if all(x is None or type(x) is int for x in (n, start, stop)):
        found = range(*slice(start, stop, step).indices(n))
        return found.start, len(found)
    relations = relations_of(n, *(x for x in (start, stop) if x is not None))
    if relations is None:
        return None

    def end(x: Any, least: int, most: Any) -> Any:
        """Where a bound stands, from the front."""
        if relations.less(x, 0):
            x = compute("add", x, n)
            return least if relations.less(x, 0) else x
        return most if relations.less(most, x) else x

    if step > 0:
        first, last = 0 if start is None else end(start, 0, n), n if stop is None else end(stop, 0, n)
    else:
        top = compute("sub", n, 1)
        first, last = -1 if stop is None else end(stop, -1, top), top if start is None else end(start, -1, top)
    begin = first if step > 0 else last
    if not relations.less(first, last):
        return begin, 0
    length = compute("sub", last, first)
    if abs(step) != 1:
        length = compute("floor_divide", compute("add", length, abs(step) - 1), abs(step))
    return begin, as_dimension(length)
