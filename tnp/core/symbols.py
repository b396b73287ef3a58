"""Symbolic sizes: dimensions that may differ from call to call of one program.

A symbolic size is an integer :class:`~tnp.core.proxies.NumberProxy` with the value that it has in the call being traced. Each
question that tracing or a pass asks (are two sizes equal, is one even) is answered by that value, and the answer becomes a
:class:`relation <Relations>`: a condition of the program, which its prologue checks. Sizes 0 and 1 are never symbolic, since they
mean something else where arrays are broadcast.

>>> from tnp.core import sizes, symbols
>>> from tnp.core.proxies import NumberProxy
>>> relations = symbols.Relations()
>>> n = relations.adopt(NumberProxy("n", int, 7), "x.shape[0]")
>>> m = relations.adopt(NumberProxy("m", int, 7), "y.shape[0]")
>>> sizes.equal(n, m), sizes.equal(n, 1)
(True, False)
>>> list(relations)
['x.shape[0] == y.shape[0]']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from tnp.core import intervals
from tnp.core.context import current_trace
from tnp.core.number_operations import DECIDED, DIVISIONS, MATH, NEUTRAL, PYTHON, SUMS, WITH_EQUAL, WRITTEN

if TYPE_CHECKING:
    from tnp.core.proxies import NumberProxy

__all__ = [
    "LEAST",
    "Extent",
    "Relations",
    "as_dimension",
    "compute",
    "dimensions",
    "extent",
    "extents",
    "fixed",
    "is_found",
    "is_symbol",
    "note_relations",
    "number_of",
    "present",
    "provable",
    "relations_of",
    "roots",
    "value_of",
]

#: the least value of a symbolic size
LEAST = 2
#: values of a number that may get a program each
FEW = 4
#: terms of a product that is written as a sum, at most
MOST_TERMS = 12
#: operations in the expression of a number, at most: Python reads 200 nested parentheses
LONGEST = 150


class Relations:
    """What a program relies on of the symbolic sizes of one call: conditions, as Python over the prologue's names."""

    def __init__(self) -> None:
        #: by their texts. Some say that a linear form is not negative (``>=``), or that it is 0 (``==``).
        self._conditions: dict[str, tuple[str, intervals.Linear] | None] = {}
        #: the symbols of the call
        self.symbols: list[NumberProxy] = []
        #: by its expression, the first number that no linear form describes: a quotient, a remainder, a product
        self.atoms: dict[str, NumberProxy] = {}
        #: what passes have computed of the numbers, by the operation and the names
        self.computed: dict[tuple[Any, ...], int | NumberProxy] = {}
        #: the names of numbers that the program finds out while it runs, in order, and what makes conditions on such its own
        self.found: list[str] = []
        self.settle: Callable[[str, Any, Any], None] | None = None
        self._settled: set[tuple[str, ...]] = set()
        #: the numbers that have to have the values that they had in that call
        self._fixed: list[NumberProxy] = []

    def __iter__(self) -> Iterator[str]:
        least, others = self.conditions()
        yield from (f"{text} >= {low}" for text, low in least.items())
        yield from others

    def conditions(self) -> tuple[dict[str, int], list[str]]:
        """By their expressions, the least values of numbers; and the other conditions."""
        least: dict[str, int] = {}
        others: dict[str, None] = {}
        for text, meaning in self._conditions.items():
            kind, form = meaning or ("", intervals.Linear({}, 0))
            terms = list(intervals.reduced(form).terms.values()) if kind == ">=" else list(form.terms.values())
            if kind == ">=" and len(terms) == 1 and terms[0][1] > 0:
                number, factor = terms[0]
                low = -(intervals.reduced(form).constant // factor)
                least[_text_of(number)] = max(low, least.get(_text_of(number), low))
            elif kind == "==" and sorted(k for _, k in terms) == [-1, 1]:
                a, b = (
                    number for number, _ in sorted(terms, key=lambda term: term[1] * (-1 if form.constant <= 0 else 1))
                )
                more = f" + {abs(form.constant)}" if form.constant else ""
                others[f"{_text_of(a)} == {_text_of(b)}{more}"] = None
            else:
                others[text] = None
        return least, list(others)

    def adopt(self, number: NumberProxy, text: str, low: int | None = LEAST) -> NumberProxy:
        """Makes ``number`` a symbolic size of at least ``low``, which the expression ``text`` fetches at each call."""
        number.relations, number.text, number.low = self, text, low
        self.symbols.append(number)
        return number

    def specialized(self) -> list[NumberProxy]:
        """The symbols that decide a number which the program fixes to one of many values."""
        names = {root.name for number in self._fixed if not _has_few_values(number) for root in roots(number)}
        return [n for n in self.symbols if n.name in names]

    def fix(self, number: NumberProxy) -> None:
        """The program holds for the present value of a number only."""
        if number.text in ("True", "False") or self._is_settled("eq", number, number.value):
            return
        if number.python_type is bool:
            self._conditions[number.text if number.value else f"not {number.text}"] = None
        elif number.python_type is not int or intervals.linear(number).interval() != (number.value, number.value):
            self._conditions[f"{number.text} == {number.value!r}"] = None
            self._fixed.append(number)

    def equal(self, a: int | NumberProxy, b: int | NumberProxy) -> bool:
        """Whether two sizes with known values are equal, which the program relies on from now on."""
        texts = [_text_of(x) for x in (a, b)]
        if texts[0] == texts[1]:
            return True
        is_equal = value_of(a) == value_of(b)
        difference = intervals.linear(a).plus(intervals.linear(b), -1)
        low, high = difference.interval()
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        if not self._is_settled("eq" if is_equal else "ne", a, b):
            self._conditions[f"{texts[0]} {'==' if is_equal else '!='} {texts[1]}"] = (
                ("==", difference) if is_equal else None
            )
        if is_equal:
            _unify(a, b)
            if isinstance(a, int) != isinstance(b, int):
                self._fixed.append(cast("NumberProxy", b if isinstance(a, int) else a))
        return is_equal

    def less(self, a: int | NumberProxy, b: int | NumberProxy) -> bool:
        """Whether ``a < b``, which the program relies on from now on."""
        difference = intervals.linear(b).plus(intervals.linear(a), -1)
        low, high = difference.interval()
        if low is not None and low > 0:
            return True
        if high is not None and high <= 0:
            return False
        is_less = _known(a) < _known(b)
        excess = difference.plus(intervals.linear(1), -1) if is_less else difference.times(-1)
        if not self._is_settled("lt" if is_less else "ge", a, b):
            self._conditions[f"{_text_of(a)} {'<' if is_less else '>='} {_text_of(b)}"] = ">=", excess
        intervals.note_least(excess, 0)
        return is_less

    def finds(self, number: Any) -> bool:
        """Whether the program finds out a symbol, or what it is made of, while it runs."""
        return bool(self.found) and any(root.name in self.found for root in roots(number))

    def holds(self, comparison: NumberProxy) -> bool | None:
        """Whether a comparison of such numbers holds, on which the program relies from now on; ``None`` for other bools."""
        operation, args = comparison.origin or ("", ())
        if operation in ("eq", "ne"):
            return self.equal(*args) is (operation == "eq")
        if operation in ("lt", "ge"):
            return self.less(*args) is (operation == "lt")
        if operation in ("gt", "le"):
            return self.less(*args[::-1]) is (operation == "gt")
        return None

    def _is_settled(self, operation: str, a: Any, b: Any) -> bool:
        """Whether a condition is one on numbers that the program finds out, and the program's now."""
        if not self.finds(a) and not self.finds(b):
            return False
        key = operation, _text_of(a), _text_of(b)
        if key not in self._settled:
            assert self.settle is not None
            self.settle(operation, a, b)
            self._settled.add(key)
        return True


def roots(number: Any) -> Iterator[NumberProxy]:
    """The symbols that a number is computed of."""
    if isinstance(number, (int, float)):
        return
    if number.origin is None:
        yield number
    else:
        for part in number.origin[1]:
            yield from roots(part)


def _unify(a: int | NumberProxy, b: int | NumberProxy) -> None:
    """Makes two sizes that are equal the same linear form: a number that they are made of is written in terms of the others."""
    difference = intervals.linear(a).plus(intervals.linear(b), -1)
    latest = [*difference.terms.values()]
    latest.reverse()
    latest.sort(key=lambda term: -_order_of(term[0]))
    for number, k in latest:
        if abs(k) == 1 and number.form is None:
            rest = difference.plus(intervals.Linear({number.name: (number, 1)}, 0), -k)
            if any(_is_made_of(other, number) for other, _ in rest.terms.values()):
                continue
            number.form = rest.times(-k)
            return


def _order_of(n: NumberProxy) -> int:
    """When the program finds out a number: 0 for one that is known before. Others are not written in terms of a later one."""
    found = n.relations.found if n.relations is not None else []
    return max((found.index(root.name) + 1 for root in roots(n) if root.name in found), default=0)


def is_found(n: Any) -> bool:
    """Whether the program finds out a symbol, or what it is made of, while it runs."""
    return is_symbol(n) and bool(n.relations.finds(n))


def _is_made_of(x: Any, number: NumberProxy) -> bool:
    """Whether ``number`` is needed to compute ``x``: ``n`` for ``n // 2``."""
    if isinstance(x, (int, float)):
        return False
    if x.name == number.name:
        return True
    parts = [*(x.origin[1] if x.origin else ()), *(part for part, _ in (x.form.terms.values() if x.form else ()))]
    return any(part is not x and _is_made_of(part, number) for part in parts)


def value_of(n: int | NumberProxy) -> int | None:
    """A size in the call being traced; ``None`` for one that only the running program knows."""
    if isinstance(n, int):
        return n
    return None if n.relations is None else cast("int | None", n.value)


def _known(n: int | NumberProxy) -> int:
    value = value_of(n)
    assert value is not None
    return value


def relations_of(*numbers: Any) -> Relations | None:
    """The relations of numbers that are all known in the call being traced, and not all constants; ``None`` for others."""
    found = None
    for n in numbers:
        own = n.relations if is_symbol(n) else None
        if own is None and type(n) is not int:
            return None
        found = own or found
    return found


def _text_of(n: Any) -> str:
    return repr(n) if isinstance(n, (int, float)) else str(n.text)


def compute(operation: str, a: int | NumberProxy, b: int | NumberProxy) -> int | NumberProxy:
    """The result of an operation on two numbers with known values. The trace gets no operation: metas compute shapes with this."""
    if isinstance(a, int) and isinstance(b, int):
        return cast("int", PYTHON[operation](a, b))
    if isinstance(b, int) and b == NEUTRAL.get(operation):
        return a
    if operation == "mul" and any(isinstance(x, int) and x == 0 for x in (a, b)):
        return 0
    if operation in ("floor_divide", "remainder") and isinstance(a, int) and a == 0 and _is_positive(b):
        return 0
    if operation == "mul" and isinstance(a, int) and a == 1:
        return b
    if operation == "add" and isinstance(a, int) and a == 0:
        return b
    relations = relations_of(a, b) if current_trace() is None else None
    if relations is None:
        return _computed(operation, a, b)
    # Passes compute the same positions again and again.
    key = operation, *(x if isinstance(x, int) else x.name for x in (a, b))
    found = relations.computed.get(key)
    if found is None:
        found = relations.computed[key] = _computed(operation, a, b)
    return found


def _computed(operation: str, a: int | NumberProxy, b: int | NumberProxy) -> int | NumberProxy:
    if operation in SUMS:
        found = _alone(intervals.linear(a).plus(intervals.linear(b), SUMS[operation]))
        if isinstance(found, int):
            return found
        if found is not None:
            operation, (a, b) = found
            if b == 0:
                return a
    number: Any = b if isinstance(a, int) else a
    # Outside a trace, where no name is new, its text names it: forms tell numbers by their names.
    name = None if current_trace() is not None else WRITTEN[operation].format(_text_of(a), _text_of(b))
    value: int = PYTHON[operation](_known(a), _known(b))
    made: NumberProxy = type(number)(name, int, value)  # of the class, which this module cannot import
    intervals.note_result(made, operation, (a, b))
    note_relations(made, operation, (a, b))
    if made.form is not None and made.form.is_constant:
        return made.form.constant
    return made


def _alone(form: intervals.Linear) -> int | tuple[str, tuple[Any, int]] | None:
    """A form of at most one number as the operation on it and a constant: ``n`` - 2 + 1 as ``n`` - 1. So what is computed of a size step by
    step has a short expression."""
    if form.is_constant:
        return form.constant
    ((number, factor), *others) = form.terms.values()
    if others or factor != 1:
        return None
    return ("sub", (number, -form.constant)) if form.constant < 0 else ("add", (number, form.constant))


def _has_few_values(number: NumberProxy) -> bool:
    """Whether a program for each value of a number is few programs, as of a size's parity."""
    low, high = intervals.linear(number).interval() if number.python_type is int else (None, None)
    return low is not None and high is not None and high - low < FEW


def dimensions(shape: Any) -> tuple[int | NumberProxy, ...]:
    """A shape that has been computed with, as dimensions."""
    return tuple(as_dimension(x.number) if isinstance(x, Extent) else x for x in shape)


def fixed(x: Any) -> int:
    """The present value of an integer that was computed with, on which the program relies from now on."""
    n = number_of(x)
    return n if isinstance(n, int) else cast("int", n.known())


def present(x: Any) -> Any:
    """What a size or an extent is in the call being traced, on which the program does not rely by that."""
    n = number_of(x)
    return n if isinstance(n, int) else _known(n)


def is_symbol(n: Any) -> bool:
    """Whether ``n`` is a symbolic size, or an integer made of such."""
    return getattr(n, "relations", None) is not None and n.python_type is int


def as_dimension(n: int | NumberProxy) -> int | NumberProxy:
    """An integer with a known value as a dimension: 0, 1, and what is negative are never symbolic."""
    if isinstance(n, int) or n.relations is None:
        return n
    if n.relations.less(n, LEAST):
        n.relations.fix(n)
        return _known(n)
    if not intervals.note_least(intervals.linear(n), LEAST) and n.form is None:
        n.low = max(n.low or 0, LEAST)
    return n


class Extent:
    """A symbolic size, or arithmetic on such, for computations that are not part of the program: of strides, and of code.

    It behaves as an integer whose comparisons become relations. Nothing takes it for its present value unasked: it has no
    ``__index__`` or ``__int__``.
    """

    __slots__ = ("number",)

    def __init__(self, number: NumberProxy) -> None:
        self.number = number

    def made(self, n: int | NumberProxy) -> Any:
        """The result of arithmetic."""
        return n if isinstance(n, int) else type(self)(n)

    def __repr__(self) -> str:
        return self.number.text

    def __hash__(self) -> int:
        return hash(_known(self.number))

    def _relations(self) -> Relations:
        assert self.number.relations is not None
        return self.number.relations

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, Extent)) and self._relations().equal(self.number, number_of(other))

    def __lt__(self, other: Any) -> bool:
        return self._relations().less(self.number, number_of(other))

    def __gt__(self, other: Any) -> bool:
        return self._relations().less(number_of(other), self.number)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __add__(self, other: Any) -> Any:
        return self.made(compute("add", self.number, number_of(other)))

    def __sub__(self, other: Any) -> Any:
        return self.made(compute("sub", self.number, number_of(other)))

    def __rsub__(self, other: Any) -> Any:
        return self.made(compute("sub", number_of(other), self.number))

    def __mul__(self, other: Any) -> Any:
        return self.made(compute("mul", self.number, number_of(other)))

    def __floordiv__(self, other: Any) -> Any:
        return self.made(compute("floor_divide", self.number, number_of(other)))

    def __rfloordiv__(self, other: Any) -> Any:
        return self.made(compute("floor_divide", number_of(other), self.number))

    def __mod__(self, other: Any) -> Any:
        return self.made(compute("remainder", self.number, number_of(other)))

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    __radd__, __rmul__ = __add__, __mul__


class Provable(Extent):
    """An extent for computations that add no relations: two are equal if they surely are, and comparisons that sizes may decide
    raise :class:`Undecided`."""

    __slots__ = ()

    def _difference(self, other: Any) -> tuple[int | None, int | None]:
        return intervals.linear(self.number).plus(intervals.linear(number_of(other)), -1).interval()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, Extent)):
            return False
        return self._difference(other) == (0, 0) or (
            isinstance(other, Extent) and other.number.text == self.number.text
        )

    __hash__ = Extent.__hash__  # equal ones have equal values

    def __lt__(self, other: Any) -> bool:
        low, high = self._difference(other)
        if high is not None and high < 0:
            return True
        if low is not None and low >= 0:
            return False
        raise Undecided(f"whether {self} < {other}")

    def __gt__(self, other: Any) -> bool:
        low, high = self._difference(other)
        if low is not None and low > 0:
            return True
        if high is not None and high <= 0:
            return False
        raise Undecided(f"whether {self} > {other}")


def provable(n: int | NumberProxy) -> int | Provable:
    """A size to ask about what surely holds."""
    return n if isinstance(n, int) else Provable(n)


class Undecided(Exception):
    """Sizes that differ from call to call decide."""


def number_of(x: Any) -> int | NumberProxy:
    """What an extent stands for; anything else as it is."""
    return x.number if isinstance(x, Extent) else x


def extent(n: int | NumberProxy) -> int | Extent:
    """A size to compute with."""
    return n if isinstance(n, int) else Extent(n)


def extents(shape: Any) -> tuple[Any, ...] | None:
    """The dimensions of a shape, or of extents, to compute with; ``None`` if only the running program knows one."""
    numbers = tuple(map(number_of, shape))
    return None if any(value_of(n) is None for n in numbers) else tuple(map(extent, numbers))


def _is_plain(x: Any) -> bool:
    return type(x) is int or (type(x) is float and math.isfinite(x))


def note_relations(result: NumberProxy, operation: str, args: tuple[Any, ...]) -> None:
    """Makes ``result`` a number with relations where ``operation`` makes it of such numbers and of constants alone."""
    relations = next((r for a in args if (r := getattr(a, "relations", None)) is not None), None)
    if relations is None or operation not in WRITTEN:
        return
    # The prologue must not divide by 0.
    by = args[1] if operation in DIVISIONS else 1
    if by == 0 if type(by) in (int, float) else not is_symbol(by) or relations.equal(by, 0):
        return
    is_root = operation == "pow" and type(args[1]) is float
    if operation == "pow" and not is_root and not _is_whole_power(*args):
        return
    if (is_root or operation in MATH) and not _is_positive(args[0]):  # others raise for some sizes
        return
    if all(_is_plain(a) or getattr(a, "relations", None) is relations for a in args):
        alone = _alone(result.form) if result.form is not None else None
        if isinstance(alone, tuple):
            operation, args = alone
        is_number = isinstance(alone, tuple) and alone[1][1] == 0
        text = _text_of(args[0]) if is_number else WRITTEN[operation].format(*map(_text_of, args))
        if text.count("(") > LONGEST:
            _forget_origin(result, args)
            return
        result.relations, result.text = relations, text
        result.origin = operation, args
        if not all(type(a) is int or is_symbol(a) for a in args):
            return
        if operation in DECIDED:
            low, high = intervals.linear(args[0]).plus(intervals.linear(args[1]), -1).interval()
            if (
                (low is not None and low > 0)
                or (high is not None and high < 0)
                or (operation in WITH_EQUAL and low == 0)
                or low == high == 0
            ):
                result.text = str(result.value)
        elif operation == "mul" and result.form is None:
            lows = [low for a in args if (low := intervals.bounds(a)[0]) is not None and low >= 0]
            result.low = lows[0] * lows[1] if len(lows) == 2 else None
            result.form = _expanded(result, *map(intervals.linear, args))
        if result.form is None and result.python_type is int:
            first = relations.atoms.setdefault(text, result)
            if first is not result:  # the same computation: forms tell by names what cancels
                result.form = intervals.linear(first)


def _is_whole_power(base: Any, exponent: Any) -> bool:
    """Whether a power of an integer is one: the exponent is a constant, or a size of a constant base (``2 ** k``), and not negative."""
    if type(exponent) is int:
        return exponent >= 0
    return type(base) is int and base > 0 and is_symbol(exponent) and not exponent.relations.less(exponent, 0)


def _is_positive(x: Any) -> bool:
    """Whether a number surely is: a size, or one as a float."""
    if isinstance(x, (int, float)):
        return x > 0
    if x.origin is not None and x.origin[0] == "float":
        return _is_positive(x.origin[1][0])
    least = intervals.bounds(x)[0] if is_symbol(x) else None
    return least is not None and least > 0


def _expanded(result: NumberProxy, a: intervals.Linear, b: intervals.Linear) -> intervals.Linear | None:
    """The product of two forms as a form of products of numbers; ``None`` if that is long."""
    if (len(a.terms) + bool(a.constant)) * (len(b.terms) + bool(b.constant)) > MOST_TERMS:
        return None
    form = a.times(b.constant).plus(b, a.constant).plus(intervals.Linear({}, -a.constant * b.constant))
    for x, k in a.terms.values():
        for y, m in b.terms.values():
            form = form.plus(intervals.linear(_product(result, *sorted((x, y), key=lambda n: n.name))), k * m)
    return form


def _product(like: NumberProxy, x: NumberProxy, y: NumberProxy) -> NumberProxy:
    """The product of two numbers, as a number with the relations of ``like``."""
    assert like.relations is not None
    text = WRITTEN["mul"].format(_text_of(x), _text_of(y))
    if text not in like.relations.atoms:
        name = None if current_trace() is not None else text
        made: NumberProxy = type(like)(name, int, _known(x) * _known(y))
        made.relations, made.text, made.origin = like.relations, text, ("mul", (x, y))
        lows = [n.low for n in (x, y) if n.low is not None and n.low >= 0]
        made.low = lows[0] * lows[1] if len(lows) == 2 else None
        like.relations.atoms[text] = made
    return like.relations.atoms[text]


def _forget_origin(result: NumberProxy, args: tuple[Any, ...]) -> None:
    """Makes ``result`` the value that it has, because its expression would be too long: ``args`` are fixed."""
    if not _is_plain(result.value) and type(result.value) is not bool:
        return
    for a in args:
        if getattr(a, "relations", None) is not None:
            result.relations = a.relations
            a.relations.fix(a)
    result.text = repr(result.value)
