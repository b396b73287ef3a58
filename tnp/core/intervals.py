"""Interval analysis of integers: linear forms and bounds.

A loop's index, a size, and sums and products with constants of them are *linear forms*, ``2 * i + 1``, over numbers
whose bounds may be known (``i`` of ``range(1, n - 1)`` with a known ``n``). They prove the shapes of slices:
``a[:, i:i + 3]`` has length 3 if ``i + 3`` never exceeds the array's length, and the operands of ``a[:i] @ b[:i]`` have
equal lengths.

>>> from tnp.core import intervals
>>> from tnp.core.proxies import NumberProxy
>>> i = NumberProxy("i", int, low=1, bound=6)
>>> j = NumberProxy("j", int)
>>> j.form = intervals.linear(i).plus(intervals.linear(3))
>>> intervals.slice_length(10, i, j)
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tnp.core.context import current_trace

if TYPE_CHECKING:
    from tnp.core.proxies import NumberProxy

__all__ = [
    "Linear",
    "bounds",
    "differ_by",
    "linear",
    "note_either",
    "note_least",
    "note_result",
    "reduced",
    "slice_length",
]

#: terms of a form whose products are looked at, and quotients of quotients
MOST_TERMS, MOST_DIVIDED = 4, 2

#: the ends of an interval, both included; ``None`` for an end that is not known
Interval: TypeAlias = "tuple[int | None, int | None]"


class Linear:
    """``constant`` plus the numbers in ``terms``, each times a factor other than 0."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[str, tuple[NumberProxy, int]], constant: int) -> None:
        self.terms = terms
        self.constant = constant

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This plus ``factor`` times ``other``."""
        terms = dict(self.terms)
        for name, (number, k) in other.terms.items():
            found = terms.pop(name, (number, 0))[1] + factor * k
            if found:
                terms[name] = (number, found)
        return Linear(terms, self.constant + factor * other.constant)

    def times(self, factor: int) -> Linear:
        return Linear({}, 0).plus(self, factor)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def key(self) -> tuple[Any, ...]:
        """What it has in common with equal forms, and with no others."""
        return self.constant, frozenset((name, k) for name, (_, k) in self.terms.items())

    def interval(self, divided: int = MOST_DIVIDED) -> Interval:
        """Where the value surely lies. So many quotients, one in the other, are looked at."""
        low, high = self._ends()
        products = [number for number, _ in self.terms.values() if _factors(number)]
        if products and len(self.terms) <= MOST_TERMS:
            low, high = self._narrowed(low, high, divided, [(Linear._ends_without, x) for x in products])
        limited = [number for number, _ in self.terms.values() if number.most is not None]
        if limited and len(self.terms) <= MOST_TERMS:
            low, high = self._narrowed(low, high, divided, [(Linear._ends_at_most, x) for x in limited])
        quotients = [number for number, _ in self.terms.values() if number.quotient_of is not None]
        if quotients and divided and len(self.terms) <= MOST_TERMS:
            low, high = self._narrowed(low, high, divided - 1, [(Linear._ends_undivided, x) for x in quotients])
        return low, high

    def _narrowed(
        self, low: int | None, high: int | None, divided: int, ways: list[tuple[Any, NumberProxy]]
    ) -> Interval:
        """The ends, or closer ones that the ``ways`` of replacing a number find."""
        lows = [least(self, x, divided) for least, x in ways]
        highs = [least(self.times(-1), x, divided) for least, x in ways]
        low = max((x for x in (low, *lows) if x is not None), default=None)
        high = min((x for x in (high, *(-x for x in highs if x is not None)) if x is not None), default=None)
        return low, high

    def _ends_at_most(self, number: NumberProxy, divided: int) -> int | None:
        """A lower bound that replaces a number by the form that it never exceeds: ``n - i`` is at least 1 for ``i`` in ``range(n)``."""
        k = self.terms[number.name][1]
        assert number.most is not None
        factor, form = number.most
        if k > 0 or k % factor:
            return None
        return self.plus(Linear({number.name: (number, 1)}, 0), -k).plus(form, k // factor).interval(divided)[0]

    def _ends_undivided(self, quotient: NumberProxy, divided: int) -> int | None:
        """A lower bound from the bounds of a quotient: ``k * (x // k)`` is at most ``x`` and at least ``x - (k - 1)``."""
        k = self.terms[quotient.name][1]
        assert quotient.quotient_of is not None
        divisor, form = quotient.quotient_of
        times = 1 if k % divisor == 0 else divisor  # ``2 * (n - n // 2)`` is at least ``n``
        rest = form if k < 0 else form.plus(Linear({}, 1 - divisor))
        others = self.plus(Linear({quotient.name: (quotient, 1)}, 0), -k)
        low = others.times(times).plus(rest, k * times // divisor).interval(divided)[0]
        return None if low is None else -(-low // times)

    def _ends_without(self, product: NumberProxy, divided: int) -> int | None:
        """A lower bound that replaces the product ``x * y`` by ``x`` times the least ``y``: it proves that ``x * y - x`` is not negative if
        ``y`` is at least 1."""
        k = self.terms[product.name][1]
        found = []
        for x, y in (_factors(product), _factors(product)[::-1]):
            if k > 0:
                rest = self.plus(Linear({product.name: (product, 1)}, 0), -k)
                found.append(rest.plus(linear(x), k * (y.low or 0)).interval(divided)[0])
        return max((low for low in found if low is not None), default=None)

    def _ends(self) -> Interval:
        low: int | None = self.constant
        high: int | None = self.constant
        for number, k in self.terms.values():
            ends = (number.low, number.bound) if k > 0 else (number.bound, number.low)
            low = None if low is None or ends[0] is None else low + k * ends[0]
            high = None if high is None or ends[1] is None else high + k * ends[1]
        return low, high


def _factors(number: NumberProxy) -> tuple[NumberProxy, ...]:
    """The factors of a product of two numbers that are not negative; otherwise ``()``."""
    if number.origin is None or number.origin[0] != "mul":
        return ()
    factors = tuple(number.origin[1])
    is_plain = all(not isinstance(x, (int, float)) and x.low is not None and x.low >= 0 for x in factors)
    return factors if is_plain else ()


def linear(x: int | NumberProxy) -> Linear:
    """An integer as a linear form. One that the trace depends on already is the value that it has."""
    if isinstance(x, int):
        return Linear({}, int(x))
    trace = current_trace()
    known = trace.value_guards if trace is not None else {}
    form = x.form if x.form is not None and x.name not in known else Linear({x.name: (x, 1)}, 0)
    for _, (number, k) in list(form.terms.items()):
        if number.form is not None and number.name != x.name:  # found to equal another since
            form = form.plus(Linear({number.name: (number, 1)}, 0), -k).plus(linear(number), k)
    result = form
    for name, (number, k) in form.terms.items():
        if name in known and number.value is not None:
            assert isinstance(number.value, int)
            value = int(number.value)
            result = result.plus(Linear({name: (number, 1)}, 0), -k).plus(Linear({}, value), k)
    return result


def reduced(form: Linear) -> Linear:
    """The same in terms of fewer numbers, where some have been found to equal others since."""
    found = Linear({}, form.constant)
    for number, k in form.terms.values():
        found = found.plus(linear(number), k)
    return found


def bounds(x: int | NumberProxy) -> Interval:
    """Where an integer surely lies."""
    return linear(x).interval()


def differ_by(a: int | NumberProxy, b: int | NumberProxy) -> int | None:
    """``a - b`` where that is one number; ``None`` if it is not known."""
    found = linear(a).plus(linear(b), -1)
    return found.constant if found.is_constant else None


def progression_length(start: int | NumberProxy, stop: int | NumberProxy, step: int) -> int | None:
    """The length of ``range(start, stop, step)``, where that is one number; ``None`` if it is not known."""
    between = differ_by(stop, start)
    return None if between is None else len(range(0, between, step))


def note_result(result: NumberProxy, operation: str, args: tuple[Any, ...]) -> None:
    """Notes what is known of ``result``, an integer that the elementwise ``operation`` makes of ``args``."""
    if result.python_type is not int or not all(_is_integer(a) for a in args):
        return
    forms = [linear(a) for a in args]
    if operation in ("add", "sub"):
        result.form = forms[0].plus(forms[1], 1 if operation == "add" else -1)
    elif operation == "neg":
        result.form = forms[0].times(-1)
    elif operation == "mul" and (forms[0].is_constant or forms[1].is_constant):
        factor, other = forms if forms[0].is_constant else (forms[1], forms[0])
        result.form = other.times(factor.constant)
    elif len(forms) == 2 and forms[1].is_constant and forms[1].constant > 0:
        divisor = forms[1].constant
        low, high = forms[0].interval()
        is_multiple = all(k % divisor == 0 for _, k in forms[0].terms.values())  # but for the constant
        if operation == "remainder" and is_multiple:
            result.form = Linear({}, forms[0].constant % divisor)
        elif operation == "remainder":
            result.low, result.bound = 0, divisor - 1
        elif operation == "floor_divide" and is_multiple:
            quotients = {name: (n, k // divisor) for name, (n, k) in forms[0].terms.items()}
            result.form = Linear(quotients, forms[0].constant // divisor)
        elif operation == "floor_divide":
            result.low = None if low is None else low // divisor
            result.bound = None if high is None else high // divisor
            result.quotient_of = divisor, forms[0]


def note_least(x: Linear, least: int) -> bool:
    """Notes that a form is at least ``least``, if it is one number plus a constant. Gives whether it is. The bound on that number bounds
    everything that is computed from it."""
    terms = list(x.terms.values())
    if len(terms) != 1 or terms[0][1] != 1:
        return False
    number, low = terms[0][0], least - x.constant
    number.low = low if number.low is None else max(low, number.low)
    return True


def note_either(result: NumberProxy, a: Any, b: Any) -> None:
    """Notes what is known of ``result``, which is one of two numbers."""
    if _is_integer(a) and _is_integer(b):
        (low_a, high_a), (low_b, high_b) = bounds(a), bounds(b)
        result.low = None if low_a is None or low_b is None else min(low_a, low_b)
        result.bound = None if high_a is None or high_b is None else max(high_a, high_b)


def slice_length(n: int | NumberProxy, start: Any, stop: Any) -> Linear | int | None:
    """The length of ``[start:stop]`` of a dimension ``n``: a number, a form of the numbers that decide it, or ``None``.

    NumPy counts negative ends from the back and moves others into ``[0, n]``, so that the length is ``stop - start`` only where
    both surely lie there.
    """
    if not all(x is None or _is_integer(x) for x in (start, stop)):
        return None
    whole = linear(n)
    first = linear(0 if start is None else start)
    last = whole if stop is None else linear(stop)
    if not _is_negative_nowhere(first) or not _is_negative_nowhere(last):
        return None
    if _is_negative_nowhere(last.plus(whole, -1)):
        last = whole
    elif not _is_negative_nowhere(whole.plus(last, -1)):
        return None
    length = last.plus(first, -1)
    low, high = length.interval()
    if high is not None and high <= 0:
        return 0
    if low is None or low < 0:
        return None
    return length.constant if length.is_constant else length


def _is_negative_nowhere(x: Linear) -> bool:
    low, _ = x.interval()
    return low is not None and low >= 0


def _is_integer(x: Any) -> bool:
    return type(x) is int or getattr(x, "python_type", None) is int
