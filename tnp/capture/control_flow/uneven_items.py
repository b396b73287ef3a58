"""The items of a list that are arrays of several lengths: rows of one array, and the offsets at which each item begins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.appended_lists import value_of
from tnp.capture.control_flow.item_parts import ROOM, Part, parts_of_item
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.uneven_lists import UnevenArrays
from tnp.capture.objects.uneven_lists import UnevenList
from tnp.capture.speculation.lengths_of_slices import know_integers_of
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core import prims, symbols
from tnp.core.prims.control_flow import START_OVER

if TYPE_CHECKING:
    from tnp.capture.speculation.regions import Region

__all__ = ["UnevenPart", "can_count", "part_of"]


def is_uneven_array(x: Any) -> bool:
    """Whether a value is an array whose number of rows alone is unknown before the program runs."""
    if type(x) is not TracedArray or x.scalar or not x.ndim or type(x.storage) is not Storage or x.library is not NUMPY:
        return False
    if x._element_type.kind not in "biufc" or symbols.extents(x.shape_[1:]) is None:
        return False
    return symbols.extents(x.shape_[:1]) is None


def can_count(item: Any) -> bool:
    """Whether a list can be counted that has such an item."""
    values = parts_of_item(item)[1]
    return bool(values) and all(map(_can_be_part, values))


def _can_be_part(x: Any) -> bool:
    """Whether a value can be one of those that an array has as its rows."""
    return type(x) is TracedEither or value_of([x], views=True) is not None or is_uneven_array(x)


def part_of(x: Any, made_at: str) -> Part:
    """The part of the items of a list, which is called ``made_at``, that has such a value. Raises
    :class:`~tnp.capture.guards.varying_values.KnowsIntegers` where integers among the arguments decide how many rows an array has."""
    if not is_uneven_array(x):
        return Part(x, x.kinds if type(x) is TracedEither else None)
    know_integers_of(x.shape_[0], active.current())
    loops = tuple(r for r in active.current().regions if r.is_loop)
    sources = {id(s): s for r in loops for over in r.over for s in _sources(over)}
    return UnevenPart(x, made_at=made_at, sources=tuple(sources.values()), times=tuple(map(_times, loops)))


def _sources(over: Any) -> tuple[UnevenList, ...]:
    """The lists of the caller's whose items are those of a list, or lead to them."""
    if type(over) is UnevenList:
        return (over,)
    return tuple(s for p in getattr(over, "parts", ()) if type(p) is UnevenPart for s in p.sources)


def _times(loop: Region) -> int:
    """How often a loop repeats what others do, as far as that is known."""
    is_over = any(_sources(x) for x in loop.over)
    return loop.times if not is_over and type(loop.times) is int else 1


@dataclass(frozen=True, eq=False)
class UnevenPart(Part):
    """Array ``i`` is ``rows[offsets[i]:offsets[i + 1]]``. There is memory for four times as many rows as the lists have that loops run
    over, ``sources``."""

    made_at: str = ""
    sources: tuple[UnevenList, ...] = ()
    times: tuple[int, ...] = ()
    offsets: TracedArray | None = None

    @property
    def dims(self) -> tuple[Any, ...]:
        """Those of a row."""
        dims: tuple[Any, ...] = self.example.shape_[1:]
        return dims

    def taking(self, x: Any) -> Part | None:
        fits = is_uneven_array(x) or (type(x) is TracedArray and not x.scalar and value_of([x], views=True) is not None)
        kind = self.example
        return self if fits and x.dtype == kind.dtype and x.ndim == kind.ndim and x.shape_[1:] == self.dims else None

    def _room(self) -> Any:
        """The number of rows to allocate memory for."""
        if not self.sources:
            return ROOM // max(self.width, 1)
        rows = 0
        for source in self.sources:
            rows = 4 * (source.rows.shape[0] + source.offsets.shape[0]) + rows
        return rows * math.prod(self.times)

    def allocated(self, room: Any, before: Part | None, count: Any) -> Part:
        call, size = active.current().numpy_function, self._room()
        if type(before) is UnevenPart and before.rows is not None:
            size = size + before.rows.shape[0]
        rows = call(np.empty, ((size, *self.shape), self.dtype), {})
        offsets = call(np.empty, ((room + 1,), np.dtype(np.int64)), {})
        if type(before) is UnevenPart and before.rows is not None:
            assert before.offsets is not None
            offsets[: count + 1] = before.offsets[: count + 1]
            rows[: before.rows.shape[0]] = before.rows
        else:
            offsets[0] = 0
        return replace(self, rows=rows, offsets=offsets)

    def store(self, at: Any, x: Any) -> None:
        assert self.rows is not None and self.offsets is not None
        tracer, n = active.current(), x.shape[0]
        begin = self.offsets[at].item()
        end = begin + n
        tracer.expects_no_error()
        tracer.call(prims.assert_, (end <= self.rows.shape[0], START_OVER), {})
        self.offsets[at + 1] = end
        self.rows[begin:end] = x

    def item(self, at: Any, description: str) -> Any:
        assert self.rows is not None and self.offsets is not None
        x = self.rows[self.offsets[at].item() : self.offsets[at + 1].item()].copy()
        x.storage.writable, x.storage.listed = False, description
        return x

    def all_rows(self, count: Any) -> TracedArray:
        """The rows of the first ``count``."""
        assert self.rows is not None and self.offsets is not None
        made: TracedArray = self.rows[: self.offsets[count].item()]
        return made

    def first(self, count: Any) -> TracedArray:
        raise ReadsVarying(self.made_at)  # they are no array

    def reverse(self, count: Any) -> None:
        raise ReadsVarying(self.made_at)

    def output(self, count: Any) -> Any:
        assert self.rows is not None and self.offsets is not None
        return UnevenArrays(self.rows.__tnp_value__(), self.offsets[: count + 1].__tnp_value__())
