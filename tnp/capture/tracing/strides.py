"""Strides of traced arrays, if known: they decide whether a reshape is a view or a copy.

Strides are counted in elements; ``None`` means unknown. A field of a structured array may have strides of a fraction of an element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tnp.core import prims, sizes, symbols
from tnp.core.proxies import NumberProxy
from tnp.core.symbol import BoundSymbol

__all__ = [
    "ROW_MAJOR", "Later", "Strides", "contiguity", "follow", "in_bytes", "in_elements", "is_contiguous", "is_row_ordered", "repeats", "reshape_strides",
    "row_major", "same_layout", "settled", "views_any_layout",
]  # fmt: skip

Strides = tuple[int, ...] | None

#: the strides of whatever shape an array has, C-contiguous: computed lazily
ROW_MAJOR: Any = "C"


def in_elements(stride: int, itemsize: int) -> Any:
    """A stride of so many bytes: an int, or else a fraction."""
    return Fraction(stride, itemsize) if stride % itemsize else stride // itemsize


def in_bytes(stride: Any, itemsize: int) -> int:
    """The bytes of a known stride."""
    return int((stride if type(stride) is Fraction else operator.index(symbols.number_of(stride))) * itemsize)


class Later:
    """Lazy strides: ``found()`` computes them, from those of ``arrays``."""

    __slots__ = ("arrays", "found")

    def __init__(self, arrays: list[Any], found: Callable[[], Any]) -> None:
        self.arrays = arrays
        self.found = found


def settled(array: Any) -> None:
    """Works out the strides of a traced array, and first those that they depend on, however long the chain of these."""
    waiting = [array]
    while waiting:
        a = waiting[-1]
        later = a._strides
        if type(later) is not Later:
            waiting.pop()
            continue
        unknown = [x for x in later.arrays if type(x._strides) is Later]
        if unknown:
            waiting += unknown
        else:
            a._strides = later.found()


def row_major(shape: tuple[Any, ...]) -> Strides:
    """The strides of a C-contiguous array; ``None`` if a size is known at run time only."""
    lengths = symbols.extents(shape)
    if lengths is None:
        return None
    strides: list[int] = []
    step = 1
    for n in reversed(lengths):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def same_layout(a: Any, b: Any) -> bool:
    """Whether two traced arrays of one shape surely lie in memory in the same way."""
    if a._strides is ROW_MAJOR and b._strides is ROW_MAJOR:
        return True
    strides = a.strides_
    return strides is not None and strides == b.strides_


def is_contiguous(shape: tuple[Any, ...], strides: Strides) -> bool:
    """Whether an array with these strides is surely C-contiguous (dimensions of 1 do not matter)."""
    return contiguity(shape, strides) is True


def contiguity(shape: tuple[Any, ...], strides: Strides) -> bool | None:
    """Whether an array with these strides is C-contiguous; ``None`` if sizes that are known at run time only decide. An array that turns out
    to be empty may be either."""
    if strides is None:
        return None
    if any(type(n) is int and n == 0 for n in shape):
        return True
    step: int | None = 1
    found: bool | None = True
    for d, s in zip(reversed(shape), reversed(strides)):
        n = d if symbols.value_of(d) is None else symbols.extent(d)
        if isinstance(n, NumberProxy):
            found = found if s == step else None
            step = None
        elif n != 1:
            if step is None:
                found = None
            elif s != step:
                return False
            else:
                step *= n
    return found


def is_row_ordered(a: Any) -> bool:
    """Whether the axes of a traced array surely stand in row-major order, with gaps or reversed maybe: NumPy's functions then lay out
    new arrays of its shape row-major."""
    if a.contiguous_ or len(a.shape_) < 2:
        return True
    strides = a.strides_
    lengths = symbols.extents(a.shape_)
    if strides is None or lengths is None:
        return False
    steps = [abs(s) for n, s in zip(lengths, strides) if n != 1]
    return all(s > t for s, t in zip(steps, [*steps[1:], 0]))


def reshape_strides(shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> Strides:
    """The strides of the view that a C-order reshape gives, or ``None`` if it must copy (NumPy's rule).

    Dimensions are matched in groups of equal size; within a group the old ones must be one run of memory.
    """
    if 0 in shape:
        return row_major(new)
    kept = [(n, s) for n, s in zip(shape, strides) if n != 1]
    result: list[int] = []
    i = j = 0
    targets = list(new)
    while i < len(kept) or j < len(targets):
        if j < len(targets) and targets[j] == 1:
            result.append(0)
            j += 1
            continue
        if i >= len(kept) or j >= len(targets):
            return None
        old_first, new_first = i, j
        old_size, new_size = kept[i][0], targets[j]
        while old_size != new_size:
            if old_size < new_size:
                i += 1
                if i >= len(kept):
                    return None
                old_size *= kept[i][0]
            else:
                j += 1
                if j >= len(targets):
                    return None
                new_size *= targets[j]
        for k in range(old_first, i):
            if kept[k][1] != kept[k + 1][0] * kept[k + 1][1]:
                return None
        run = [0] * (j + 1 - new_first)
        step = kept[i][1]
        for k in range(j, new_first - 1, -1):
            run[k - new_first] = step
            step *= targets[k]
        result += run
        i, j = i + 1, j + 1
    return tuple(result)


def _with_ones(shape: tuple[Any, ...], strides: tuple[int, ...], new: tuple[Any, ...]) -> Strides:
    """The strides after a reshape that inserts or drops dimensions of length 1, which is always a view; ``None`` for any other."""
    kept = [(n, s) for n, s in zip(shape, strides) if type(n) is not int or n != 1]
    wanted = [n for n in new if type(n) is not int or n != 1]
    if not sizes.shapes_equal(tuple(n for n, _ in kept), tuple(wanted)):
        return None
    left = iter(kept)
    return tuple(0 if type(n) is int and n == 1 else next(left)[1] for n in new)


def repeats(bsym: BoundSymbol) -> bool:
    """Whether a view prim may show an element more than once."""
    if bsym.sym is not prims.broadcast_in_dim:
        return False
    a, shape, dims = bsym.args[0], bsym.args[1], list(bsym.args[2])
    kept = [d in dims and sizes.equal(a.shape[dims.index(d)], n) is True for d, n in enumerate(shape)]
    return not all(k or (type(n) is int and n == 1) for k, n in zip(kept, shape))


def views_any_layout(bsym: BoundSymbol) -> bool:
    """Whether a view prim gives a view however its argument lies in memory. All but reshapes do, and reshapes of an array with at most one
    dimension that is not of length 1, since such an array has one distance between its elements."""
    if bsym.sym is not prims.reshape:
        return True
    return sum(type(n) is not int or n != 1 for n in bsym.args[0].shape) < 2


class NotAView(Exception):
    """A reshape on the way copies."""


class MaybeAView(Exception):
    """Whether a reshape on the way copies depends on sizes that are known at run time only."""


def follow(chain: list[BoundSymbol], strides: Strides, *, contiguous_only: bool = False) -> Strides:
    """The strides after a chain of view prims, from those of the array that it starts from.

    Raises :class:`NotAView` where a reshape must copy; with ``contiguous_only``, where what it reshapes is not contiguous; and
    :class:`MaybeAView` where that is not known.
    """
    for bsym in chain:
        if strides is None:
            return None
        if contiguous_only and bsym.sym is prims.reshape:
            found = contiguity(bsym.args[0].shape, strides)
            if found is not True:
                raise NotAView if found is False else MaybeAView
        strides = _after(bsym, strides)
    return strides


def _after(bsym: BoundSymbol, strides: tuple[int, ...]) -> Strides:
    a = bsym.args[0]
    sym = bsym.sym
    if sym is prims.slice:
        steps = bsym.args[3] if len(bsym.args) > 3 else (1,) * a.ndim
        return tuple(s * step for s, step in zip(strides, steps))
    if sym is prims.dynamic_slice:
        dim, step = bsym.args[1], bsym.args[4]
        return tuple(s * step if i == dim else s for i, s in enumerate(strides))
    if sym is prims.flip:
        return tuple(-s if i in bsym.args[1] else s for i, s in enumerate(strides))
    if sym is prims.transpose:
        return tuple(strides[d] for d in bsym.args[1])
    if sym is prims.squeeze:
        return tuple(s for i, s in enumerate(strides) if i not in bsym.args[1])
    if sym is prims.select:
        return tuple(s for i, s in enumerate(strides) if i != bsym.args[1])
    if sym is prims.broadcast_in_dim:
        shape, dims = bsym.args[1], list(bsym.args[2])
        known = [sizes.equal(m, shape[d]) for m, d in zip(a.shape, dims)]
        if None in known:  # of length 1, and repeated, or as long as the other
            return None
        return tuple(strides[dims.index(d)] if d in dims and known[dims.index(d)] else 0 for d, n in enumerate(shape))
    if sym is prims.diagonal:
        _, _, dim1, dim2 = bsym.args
        rest = tuple(s for i, s in enumerate(strides) if i not in (dim1, dim2))
        return (*rest, strides[dim1] + strides[dim2])
    if sym is prims.unfold and strides:
        dim, step = bsym.args[1] % len(strides), symbols.extent(bsym.args[3])
        return (*(s * step if i == dim else s for i, s in enumerate(strides)), strides[dim])
    if sym is prims.reshape:
        lengths, new = symbols.extents(a.shape), symbols.extents(bsym.output.shape)
        if lengths is None or new is None:
            found = _with_ones(a.shape, strides, bsym.output.shape)
            if found is None and not is_contiguous(a.shape, strides):
                raise MaybeAView
            return found
        found = reshape_strides(lengths, strides, new)
        if found is None:
            raise NotAView
        return found
    if sym in (prims.real, prims.imag):
        return tuple(2 * s for s in strides)
    return strides if sym in (prims.bitcast, prims.as_language) else None
