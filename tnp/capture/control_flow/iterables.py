"""Countable iterables of ``for`` loops: ranges, arrays, and ``enumerate``, ``zip`` and ``reversed`` of those.

Python's functions of these names return stand-ins if an argument is a traced value. The stand-ins are sequences that
can only compute item ``i``, until Python code iterates over them.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.libraries.numpy.list_of_rows import array_of_rows, element
from tnp.capture.objects.row_list import ListStandIn, is_repeated
from tnp.capture.tracing.growing import array_of
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import intervals, prims, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy

__all__ = [
    "Count",
    "Iterations",
    "TracedRange",
    "counted_from_zero",
    "enumerate_",
    "is_known",
    "iterations_of",
    "pairwise_",
    "range_",
    "reversed_",
    "use_up",
    "zip_",
]

#: iterations that Python runs before compiled code pays
LONG = 1_000

#: a number whose value the trace need not know
Count = Any


def is_known(x: Count) -> bool:
    """Whether a number has a value in the call being traced."""
    return type(x) is not TracedNumber or x.proxy.value is not None


#: numbers of a range that the program computes one by one
_MOST_ITEMS = 256


class TracedRange:
    """``range`` of numbers of which some are traced."""

    def __init__(self, start: Count, stop: Count, step: Count) -> None:
        self.start, self.stop, self.step = start, stop, step

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return range

    def known(self) -> range:
        """The range itself; the trace depends on its numbers from now on. Raises ``NeedsValue`` if one has no value."""
        return range(*map(operator.index, (self.start, self.stop, self.step)))

    def _known_length(self) -> int | None:
        """How many numbers there are, as far as that does not depend on which (``range(4 * i, 4 * i + 4)``); ``None`` otherwise."""
        if type(self.step) is not int or not self.step:
            return None
        start, stop = (x.proxy if type(x) is TracedNumber else x for x in (self.start, self.stop))
        return intervals.progression_length(start, stop, self.step)

    def __iter__(self) -> Iterator[Any]:
        length = self._known_length()
        if length is None or length > _MOST_ITEMS:
            return iter(self.known())
        return iter([self.start + k * self.step if k else self.start for k in range(length)])

    def __len__(self) -> int:
        length = self._known_length()
        return len(self.known()) if length is None else length

    def __getitem__(self, key: Any) -> Any:
        return self.known()[key]

    def __contains__(self, x: Any) -> bool:
        return x in self.known()

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.known())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.known(), name)


class Iterations:
    """``item(i)`` for i in ``range(start, stop, step)``. A step that is known only when the program runs is positive."""

    def __init__(self, start: Count, stop: Count, step: Count, item: Callable[[Any], Any]) -> None:
        self.start, self.stop, self.step, self.item = start, stop, step, item
        #: where Python is that iterates over it: what ``enumerate`` and its like give is run through once
        self._iterator: Iterator[Any] | None = None
        self._is_used_up = False
        #: the lists that it iterates over, or stand-ins for them, each with its length
        self.over: tuple[tuple[ListStandIn | _PlainList, Any], ...] = ()
        #: how many iterations may be written out, where that depends on what calls the body
        self.most_written_out: int | None = None
        #: whether the bounds are known because the loop is no operation
        self.is_asked_for = False

    def use_up(self) -> None:
        """Says that a loop runs over it, how far it may be known only when the program runs."""
        self._is_used_up = True

    @property
    def is_begun(self) -> bool:
        """Whether Python has begun to iterate over it. Raises :class:`NeedsEager` if a loop has run over it before."""
        if self._is_used_up:
            raise NeedsEager("it runs twice over what one enumerate, zip or reversed gives")
        return self._iterator is not None

    @property
    def constant(self) -> bool:
        """Whether every bound stands in the program: a plain number, or a global or closure variable."""
        bounds = (self.start, self.stop, self.step)
        return all(type(x) is not TracedNumber or x.proxy.name in active.current().inputs.settings for x in bounds)

    @property
    def known(self) -> bool:
        return all(map(is_known, (self.start, self.stop, self.step)))

    @property
    def is_of_one_length(self) -> bool:
        """Whether the program is for this number of iterations."""
        bounds = (self.start, self.stop, self.step)
        return self.known and not any(type(x) is TracedNumber and symbols.is_symbol(x.proxy) for x in bounds)

    def sized_count(self) -> Count | None:
        """How many iterations there are, in terms of symbolic sizes, or of bounds whose difference is known; ``None`` for other loops."""
        if self.is_of_one_length:
            return None
        if self.known:
            return self.count()
        first, last = (intervals.linear(x.proxy if type(x) is TracedNumber else x) for x in (self.start, self.stop))
        span = last.plus(first, -1)
        if type(self.step) is not int or self.step != 1 or any(n.value is None for n, _ in span.terms.values()):
            return None
        count: Count = span.constant
        for number, k in span.terms.values():
            traced: Any = TracedNumber(number)
            count = count + (traced if k == 1 else k * traced)
        return count if count >= 0 else None

    def count(self) -> Count:
        """How many iterations there are, or a negative number if there are none."""
        span = self.stop if type(self.start) is int and self.start == 0 else self.stop - self.start
        return span if type(self.step) is int and self.step == 1 else -(-span // self.step)

    def length(self) -> int | None:
        """How many iterations there are in this call; ``None`` if that is known only when the program runs."""
        if not self.known:
            return None
        counts: list[Any] = [
            x.proxy.value if type(x) is TracedNumber else x for x in (self.start, self.stop, self.step)
        ]
        return len(range(*counts))

    @property
    def is_long(self) -> bool:
        """Whether there are so many iterations in this call that a loop over numbers is better compiled than run while tracing."""
        return (self.length() or 0) > LONG

    def most(self) -> Count | None:
        """How many iterations there are at most; ``None`` if nobody knows."""
        low, high = self.interval()
        if low is not None and high is not None and type(self.step) is int:
            return max(0, (high - low) // abs(self.step) + 1)
        starts_at = self.start if type(self.start) is int else intervals.bounds(self.start.proxy)[0]
        is_size = type(self.stop) is TracedNumber and symbols.is_symbol(self.stop.proxy)
        if not is_size or starts_at is None or starts_at < 0:
            return None
        if type(self.step) is int and self.step == 1:
            return self.stop
        count = self.count() if type(self.step) is not int or self.step > 1 else None
        return count if type(count) is TracedNumber and symbols.is_symbol(count.proxy) else None

    def bound(self, index: NumberProxy) -> None:
        """Gives ``index``, which stands for the positions, the bounds of all positions."""
        index.low, index.bound = self.interval()
        index.most = self.most_index()

    def interval(self) -> tuple[int | None, int | None]:
        """The least and the largest position, as far as they are known."""
        if type(self.step) is int and self.step == 0:
            return None, None
        bounds = (self.start, self.stop, self.step)
        if all(type(x) is int for x in bounds) and (found := range(self.start, self.stop, self.step)):
            return min(found[0], found[-1]), max(found[0], found[-1])
        (first_low, first_high), (stop_low, stop_high) = (
            intervals.bounds(x.proxy if type(x) is TracedNumber else x) for x in (self.start, self.stop)
        )
        if type(self.step) is not int or self.step > 0:
            return first_low, None if stop_high is None else stop_high - 1
        return None if stop_low is None else stop_low + 1, first_high

    def most_index(self) -> tuple[int, intervals.Linear] | None:
        """A linear form that positions never exceed, with a factor of 1; ``None`` if there is none."""
        last, less = (self.stop, 1) if type(self.step) is not int or self.step > 0 else (self.start, 0)
        if type(last) is not TracedNumber or last.proxy.python_type is not int:
            return None
        return 1, intervals.linear(last.proxy).plus(intervals.linear(less), -1)

    def begins(self) -> bool:
        """Whether there is a first iteration, which the trace depends on from now on. The bounds are known."""
        if type(self.step) is int and self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        ascends = type(self.step) is not int or self.step > 0
        return bool(self.start < self.stop if ascends else self.start > self.stop)

    def behind_first(self) -> Iterations:
        """The same without the first iteration."""
        self.check_lists()
        made = Iterations(self.start + self.step, self.stop, self.step, self.item)
        made.over, made.most_written_out = self.over, self.most_written_out
        made.is_asked_for = self.is_asked_for
        return made

    def check_written_out(self, reason: str) -> None:
        """Raises :class:`NeedsEager` if no loop over it may be written out, which is no operation for that ``reason``."""
        if self.most_written_out is not None and (self.length() or 0) > self.most_written_out:
            raise NeedsEager(f"a library calls a function in a loop, which is not one operation: {reason}")
        for x, _ in self.over:
            x.check_written_out()

    def check_lists(self) -> None:
        """Raises :class:`NeedsEager` if an iteration changed the length of a list that it runs over."""
        for x, length in self.over:
            x.check_length(length)

    def in_turns(self, period: int) -> tuple[Iterations, list[Any]] | None:
        """The iterations by so many at a time (at each position the first of them), and the positions of those that are left over; the
        trace depends on how many these are, and on the step. The bounds are known. ``None`` if there are not so many iterations."""
        step = operator.index(self.step)
        span = self.stop if type(self.start) is int and self.start == 0 else self.stop - self.start
        count = span if step == 1 else -(-span // step)
        left = operator.index(count % period)
        if abs(step) == 1:
            stop = self.stop - left * step if left else self.stop
        else:
            stop = self.start + (count - left) * step
        whole = Iterations(self.start, stop, step * period, self.item)
        return (whole, [stop + k * step for k in range(left)]) if whole.begins() else None

    def indices(self) -> range:
        """The positions as Python's numbers. Raises ``NeedsValue`` if they are known only when the program runs."""
        return range(*map(operator.index, (self.start, self.stop, self.step)))

    def __iter__(self) -> Iterator[Any]:
        if not self.is_begun:
            self.check_written_out("Python iterates over it")
            self._iterator = (self.item(i) for i in self.indices())
        assert self._iterator is not None
        return self._iterator

    def __next__(self) -> Any:
        return next(iter(self))


def calls_by_library(first: int, stop: Any, most_written_out: int) -> Iterations:
    """A loop over ``range(first, stop)`` in which a library calls a user's function. It unrolls at most ``most_written_out`` calls, as the
    function may be long."""
    made = Iterations(first, stop, 1, lambda i: i)
    made.most_written_out = most_written_out
    return made


def iterations_of(x: Any) -> Iterations | None:
    """How to run over ``x`` by counting; ``None`` if Python has to iterate over it."""
    x = array_of(x)
    kind = type(x)
    if kind is Iterations:
        return None if x.is_begun else x
    if isinstance(x, ListStandIn):
        if not x.is_by_position:
            return None
        made = Iterations(0, x.length(), 1, x.by_position())
        made.over = ((x, made.stop),)
        return made
    if kind is range or kind is TracedRange:
        made = Iterations(x.start, x.stop, x.step, lambda i: i)
        return made if type(x.step) is int or _is_positive(x.step) else _from_zero(made)
    if (kind is list or kind is tuple) and is_repeated(x):
        item = x[0]
        return _over_list(x, lambda i: item)
    if kind is list and (rows := array_of_rows(x)) is not None:
        return _over_list(x, lambda i: element(rows, i, x))
    if kind is TracedArray and x.shape_:
        n = x.shape_[0]
        return Iterations(0, n if type(n) is int else TracedNumber(n), 1, lambda i: x[i])
    return None


class _PlainList:
    """A list that a loop runs over by position, which it may not change meanwhile."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items

    def check_length(self, length: Any) -> None:
        if len(self.items) != length:
            raise NeedsEager("it changes a list that a loop runs over")

    def check_written_out(self) -> None:
        """It may be."""


def _over_list(items: Sequence[Any], item: Callable[[Any], Any]) -> Iterations:
    made = Iterations(0, len(items), 1, item)
    made.over = ((_PlainList(items), made.stop),)
    return made


def counted_from_zero(x: Any) -> Iterations | None:
    """As :func:`iterations_of`, with positions 0, 1, …; ``None`` if it cannot be told how many there are."""
    iterations = iterations_of(x)
    if iterations is None:
        return None
    if type(iterations.start) is int and type(iterations.step) is int and (iterations.start, iterations.step) == (0, 1):
        return iterations
    return _from_zero(iterations)


def _from_zero(x: Iterations) -> Iterations:
    """The same with positions 0, 1, …"""
    count = len(x.indices()) if x.constant else x.count()
    return Iterations(0, count, 1, lambda i: x.item(x.start + i * x.step))


def _is_positive(step: Any) -> bool:
    """Whether a step is positive, on which the trace depends from now on."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return bool(step > 0)


def _integer(x: Any) -> Any:
    """A bound of a range: an int, or a traced number of that type."""
    if type(x) is TracedArray and x.scalar and x._element_type.kind in "iu":
        known = active.current().known_scalar(x)
        return active.current().call(prims.item, (x,), {}) if known is None else int(known)
    if type(x) is TracedNumber and x.proxy.python_type is int:
        return x
    return operator.index(x)


def use_up(*xs: Any) -> None:
    """Says that loops run over those of ``xs`` that can be run over once only."""
    for x in xs:
        if type(x) is Iterations:
            x.use_up()


def range_(*bounds: Any) -> Any:
    """``range(*bounds)``."""
    if not 1 <= len(bounds) <= 3:
        return range(*bounds)
    numbers = [_integer(x) for x in bounds]
    if not any(type(x) is TracedNumber for x in numbers):
        return range(*numbers)
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    return TracedRange(start, stop, numbers[2] if len(numbers) == 3 else 1)


def enumerate_(x: Any, start: Any = 0) -> Any:
    """``enumerate(x, start)``."""
    iterations = counted_from_zero(x)
    if iterations is None or not isinstance(start, int):
        return builtins.enumerate(x, start)
    use_up(x)
    from_zero = type(start) is int and start == 0
    made = Iterations(0, iterations.stop, 1, lambda i: (i if from_zero else start + i, iterations.item(i)))
    made.over = iterations.over
    return made


def zip_(*xs: Any, strict: bool = False) -> Any:
    """``zip(*xs)``; of sequences of different lengths as long as the shortest."""
    found = [counted_from_zero(x) for x in xs]
    if strict or not found or any(r is None for r in found):
        return builtins.zip(*xs, strict=strict)
    iterations = [r for r in found if r is not None]
    use_up(*xs)
    shortest = functools.reduce(_less, (r.stop for r in iterations))
    made = Iterations(0, shortest, 1, lambda i: tuple(r.item(i) for r in iterations))
    made.over = tuple(x for r in iterations for x in r.over)
    return made


def pairwise_(x: Any) -> Any:
    """``itertools.pairwise(x)``."""
    found = counted_from_zero(x)
    if found is None or not is_known(found.stop):
        return itertools.pairwise(x)
    use_up(x)
    made = Iterations(0, found.stop - 1, 1, lambda i: (found.item(i), found.item(i + 1)))
    made.over = found.over
    return made


def _less(n: Count, m: Count) -> Count:
    """The lesser of two lengths; which that is, the trace depends on, unless they are one."""
    if type(n) is type(m) is TracedNumber and n.proxy.name == m.proxy.name:
        return n
    if is_known(n) and is_known(m):
        return n if n <= m else m
    return active.current().runtime.call(min, n, m)


def reversed_(x: Any) -> Any:
    """``reversed(x)``."""
    if type(x) is TracedRange:
        if type(x.step) is not int or x.step not in (1, -1):
            return reversed(x.known())
        return Iterations(x.stop - x.step, x.start - x.step, -x.step, lambda i: i)
    iterations = counted_from_zero(x) if type(x) is not Iterations else None
    if iterations is None:
        return builtins.reversed(x)
    made = Iterations(iterations.stop - 1, -1, -1, iterations.item)
    made.over = iterations.over
    return made
