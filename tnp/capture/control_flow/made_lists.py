"""Lists that a program makes, and where it is found that it has to count their items.

``[]`` and ``[0] * 5``, at a place of the code, ``items * n``, ``list(a)`` and ``a.tolist()``. A list counts its items if only the running
program knows how many there are, or which of them it reads and changes.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.appended_lists import number_type
from tnp.capture.control_flow.counted_lists import CountedList
from tnp.capture.control_flow.item_parts import Part, parts_of_item
from tnp.capture.control_flow.iterables import TracedRange, is_known
from tnp.capture.control_flow.uneven_items import can_count
from tnp.capture.guards.varying_values import CountsItems
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.lifting import may_be_numbers, name_of_numbers
from tnp.capture.libraries.numpy.operations import scalar_of
from tnp.capture.objects.row_list import ListStandIn, RepeatedList, is_repeated
from tnp.capture.speculation.constant_loops import takes_constants
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import intervals, prims
from tnp.core.errors import user_stack
from tnp.core.symbols import is_symbol

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["added", "check_method", "count", "is_item", "list_of", "new_list", "position", "repeated"]

#: so many items of a list are written out, to be repeated
_MOST_ITEMS = 16


#: a list of a known length that is longer is rows of an array, where it is made of one
_LONG = 1000


def new_list(items: list[Any], code: types.CodeType, line: int, column: int) -> list[Any]:
    """``items``, a list that the program has just made at a place of some code, or what counts its items."""
    tracer = active.running()
    if tracer is None or not tracer.rolls or type(items) is not list:
        return items
    made_at = f"the list made in {code.co_name}, {code.co_filename}:{line}:{column}"
    varying = tracer.inputs.prologue.varying
    if varying.is_counted(made_at):
        varying.counting.add(made_at)
        made = CountedList(made_at, items)
        if is_repeated(items):  # it changes items by position, and has its rows before a loop or a branch begins
            made.begin()
        return made
    tracer.lists[id(items)] = items, made_at, can_count
    return items


def position(items: Any, key: Any) -> Any:
    """``key``, at which the program reads or changes an item. A list that it made counts its items if only the running program knows it."""
    if type(items) is list:
        begin_counting(items, key)
    return key


def begin_counting(items: list[Any], key: Any) -> None:
    """Raises :class:`CountsItems` where the program reads or changes an item by a value, of a list that it made or was given."""
    is_number = type(key) is TracedNumber and key.proxy.python_type is int and key.proxy.value is None
    if is_number or (type(key) is TracedArray and key.scalar and key._element_type.kind in "iu"):
        count(items)
        _read_by_value(items)


def _read_by_value(items: list[Any]) -> None:
    """Raises :class:`CountsItems` for a list of the caller's that can be one array of numbers. So short a list has each as an input otherwise,
    and none at a position that only the running program knows."""
    tracer = active.running()
    given = None if tracer is None else next((c for c in tracer.inputs.containers if c.made is items), None)
    if tracer is None or given is None or not tracer.rolls or takes_constants(tracer):
        return
    name, varying = name_of_numbers(given.source), tracer.inputs.prologue.varying
    if may_be_numbers(given.real, given.source) and not varying.is_counted(name) and not varying.is_specialized(name):
        raise CountsItems(name)


def added(items: Any, more: Any) -> Any:
    """``more``, which the program adds to a list. If it is as long as only the running program knows, that counts its items."""
    if type(items) is list and (type(more) is RepeatedList or (type(more) is CountedList and more.is_counted)):
        count(items)
    return more


def check_method(items: list[Any], name: str, args: Sequence[Any]) -> None:
    """As :func:`added`, of a method of a list: ``extend`` takes arrays, too, and what ``sort`` and ``index`` do depends on values."""
    if name == "extend" and len(args) == 1:
        (more,) = args
        added(items, more)
        if type(more) is TracedArray and more.ndim == 1 and type(more.shape_[0]) is not int:
            count(items)
    if name in ("sort", "index") and len(items) > 1 and all(type(x) in (TracedNumber, TracedArray) for x in items):
        count(items)


def is_item(x: Any, items: Any) -> Any:
    """``x in items``."""
    if isinstance(items, ListStandIn):
        return items.contains(x)
    if type(items) is list:
        check_method(items, "index", (x,))
    return x in items


def count(items: list[Any]) -> None:
    """Raises :class:`CountsItems` for a list that the program made, if it can count its items."""
    tracer = active.running()
    if tracer is None:
        return
    _, made_at, can = tracer.lists.get(id(items), (None, "", None))
    varying = tracer.inputs.prologue.varying
    if made_at and can is not None and not varying.is_specialized(made_at) and all(map(can, items)):
        raise CountsItems(made_at)


def list_of(x: Any, listed: Callable[[], Any], *, numbers: bool, counts: bool = False) -> Any:
    """``list(x)``, or ``x.tolist()`` with ``numbers``. If the items are known one by one, ``listed()`` makes the list. With ``counts``, the
    items of any array are counted.

    Of an array of one dimension, it counts its items if the length is known at run time only, if they are many, or if the program
    changes the list as counted lists are changed. So it does of a range.
    """
    tracer = active.running()
    place = None if tracer is None or not tracer.rolls else next(iter(user_stack()), None)
    if tracer is None or place is None:
        return listed()
    description = f"the list made at {place}"
    varying = tracer.inputs.prologue.varying
    is_range = type(x) is TracedRange or type(x) is range
    if varying.is_specialized(description) or not (is_range or _is_row(x, numbers)):
        return listed()
    if counts or varying.is_counted(description) or (not is_range and _is_long(x.shape_[0])):
        varying.counting.add(description)
        rows = tracer.numpy_function(np.arange, (x.start, x.stop, x.step), {"dtype": int}) if is_range else x.copy()
        example: Any = scalar_of(rows.dtype.type, 0)
        if numbers or is_range:
            example = example.item()
            rows = rows.astype(np.dtype(number_type(example)))
        return CountedList.of_rows(description, example, (Part(example, rows=rows),), rows.shape[0])
    made = listed()
    if type(made) is list:
        tracer.lists[id(made)] = made, description, can_count
    return made


def _is_row(x: Any, numbers: bool) -> bool:
    """Whether an array's elements can be the items of a list that is counted."""
    is_array = type(x) is TracedArray and x.library is NUMPY and x.ndim == 1 and x._element_type.kind in "biufc"
    return is_array and not (numbers and x.dtype == np.uint64)  # which has integers that are no int64


def _is_long(n: Any) -> bool:
    return n > _LONG if type(n) is int else not is_symbol(n)


def repeated(tracer: Tracer, items: list[Any], times: Any) -> Any:
    """``items * times``, of a traced integer or a traced scalar of integers; ``NotImplemented`` where the program needs to know how often.

    A list of one object is a :class:`RepeatedList` where ``times`` is a size, as long as the program only reads it. Others count their
    items, if these are numbers or scalars of one kind.
    """
    varying = tracer.inputs.prologue.varying
    place = next(iter(user_stack()), None)
    if type(times) is TracedArray:
        known = tracer.known_scalar(times)
        times = tracer.call(prims.item, (times,), {}) if known is None else int(known)
    if type(times) is not TracedNumber:
        return items * times
    if place is None:
        return NotImplemented
    description = f"a list repeated at {place}"
    if len(items) == 1 and is_symbol(times.proxy) and not varying.is_specialized(description):
        return RepeatedList(description, items[0], times)
    description = f"the items of a list repeated at {place}"
    parts = _parts(items)
    if parts is None or not tracer.rolls or varying.is_specialized(description):
        return NotImplemented
    n = _not_negative(tracer, times)
    made = tuple(part.repeated(values, n) for part, values in parts)
    return CountedList.of_rows(description, items[0], made, n * len(items))


def _not_negative(tracer: Tracer, times: TracedNumber) -> Any:
    low = intervals.bounds(times.proxy)[0]
    if (low is not None and low >= 0) or (is_known(times) and operator.ge(times, 0)):
        return times
    n: TracedNumber = tracer.numpy_function(np.maximum, (times, 0), {}).item()
    n.proxy.low = 0
    return n


def _parts(items: list[Any]) -> list[tuple[Part, list[Any]]] | None:
    """What each item has, with the values of all; ``None`` if they cannot be rows of arrays."""
    if not 0 < len(items) <= _MOST_ITEMS or not all(map(can_count, items)):
        return None
    together = parts_of_item(items[0])[0]
    found = [parts_of_item(x) for x in items]
    if together is list or any(kind is not together or len(x) != len(found[0][1]) for kind, x in found):
        return None
    made = []
    for values in zip(*(x for _, x in found)):
        part: Part | None = Part(values[0], values[0].kinds if type(values[0]) is TracedEither else None)
        for x in values:
            part = None if part is None or part.is_array else part.taking(x)
        if part is None:
            return None
        made.append((part, list(values)))
    return made
