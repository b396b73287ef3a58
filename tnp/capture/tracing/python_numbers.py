"""Python's conversions of numbers, and the functions of :mod:`math`, on traced numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import condition_of
from tnp.capture.tracing.traced_values import SIZE_METHODS, TracedArray, TracedNumber
from tnp.core import intervals, languages, prims, symbols
from tnp.core.elementwise_table import ROWS, by_name
from tnp.core.errors import NeedsEager
from tnp.core.prims.elementwise import refuses_some
from tnp.core.proxies import NumberProxy

__all__ = ["MATH", "converted", "index_of", "rounded"]


def _number(x: Any) -> Any:
    """An array of one element, or a traced number, as a traced number; where a number is needed, both kinds are equal."""
    x = condition_of(x)
    if type(x) is TracedArray:
        return active.current().call(prims.item, (x,), {})
    return x


def _is_complex(x: Any) -> bool:
    return (type(x) is TracedArray and x._element_type.kind == "c") or (
        type(x) is TracedNumber and x.proxy.python_type is complex
    )


def converted(python_type: type) -> Callable[..., Any]:
    """``int``, ``float`` or ``complex`` on traced values."""

    def convert(x: Any = 0, *rest: Any) -> Any:
        x = condition_of(x)
        if rest and any(map(_is_complex, (x, *rest))):  # which only a real complex number may be
            raise NeedsEager("it makes a complex number of complex parts")
        if rest or not isinstance(x, (TracedArray, TracedNumber)):
            return python_type(x, *rest)
        if type(x) is TracedArray and x._element_type.kind == "c" and python_type is not complex:
            raise NeedsEager(f"it takes a complex scalar for {python_type.__name__}")
        if type(x) is TracedArray and x.ndim:
            if python_type is bool and x.size != 1:
                return bool(x)
            x.library.check_number(python_type, x)
        number = _number(x)
        if number.proxy.python_type is python_type:
            return number
        if python_type is int and number.proxy.origin is not None and number.proxy.origin[0] == "float":
            return TracedNumber(number.proxy.origin[1][0])  # a size, which the float holds
        if number.proxy.python_type is complex:
            raise TypeError(f"{python_type.__name__}() argument must be a string or a real number, not 'complex'")
        if refuses_some("convert_number", (number.proxy, python_type)):
            active.current().before_raising()
        return active.current().call(prims.convert_number, (number, python_type), {})

    return convert


_float, _int = converted(float), converted(int)


def index_of(x: Any) -> Any:
    """``operator.index`` on traced values: an integer is one for any value."""
    x = condition_of(x)
    is_number = type(x) is TracedNumber and x.proxy.python_type is int
    is_scalar = type(x) is TracedArray and x._element_type.kind in "iu" and x.library.is_single(x)
    return _int(x) if is_number or is_scalar else operator.index(x)


def _isqrt(n: Any) -> Any:
    """``math.isqrt``; of a size as the root of a float, which is exact."""
    number = index_of(n)
    if type(number) is TracedNumber and symbols.is_symbol(number.proxy) and operator.lt(number, 2**52):
        return _int(MATH[math.sqrt](number))
    return math.isqrt(number)


def _number_of(function: str, x: Any) -> Any:
    """An argument of a function of :mod:`math` as a number: a traced one of a traced value."""
    if type(x) is TracedArray and x._element_type.kind == "c":
        raise NeedsEager(f"it takes a complex scalar for math.{function}")
    if type(x) is TracedArray and x.ndim:
        x.library.check_number(float, x)
    return _number(x) if is_traced(x) or not isinstance(x, np.generic) else float(x)


def _over_numbers(name: str) -> Callable[..., Any]:
    """A function of :mod:`math` on traced numbers: the operation of the table that means it on Python numbers."""

    count = by_name[name].nargs

    def call(*args: Any) -> Any:
        if len(args) != count:
            raise NeedsEager(f"it calls math.{name} with {len(args)} arguments")
        numbers = [_number_of(name, a) for a in args]
        floats = [_float(n) if type(n) is TracedNumber else n for n in numbers]
        values = [n.proxy if type(n) is TracedNumber else n for n in floats]
        if refuses_some(name, values):
            active.current().before_raising()
        result = languages.core.method(name)(*values)
        return TracedNumber(result) if isinstance(result, NumberProxy) else result

    return call


def _of_integers(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A logarithm, which takes integers that are too large for a float, unlike sizes."""
    of_floats = _over_numbers(name)

    def call(x: Any) -> Any:
        if type(x) is TracedNumber and x.proxy.python_type is int and not symbols.is_symbol(x.proxy):
            return function(x._known())
        return of_floats(x)

    return call


_log = _of_integers(math.log, "log")


def _log_to_base(x: Any, *base: Any) -> Any:
    if not base:
        return _log(x)
    parts = [_log(a) if is_traced(a) else math.log(a) for a in (x, *base)]
    return parts[0] / parts[1]


def _toward(name: str, step: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    """A rounding to an integer: the integer next to zero, and what ``step`` adds to it."""

    def call(x: Any) -> Any:
        number = _number_of(name, x)
        if number.proxy.python_type in (bool, int) and type(x) is TracedNumber:
            return _int(number)
        number = _float(number)  # of NumPy's integers, too
        whole = _int(number)
        return whole + step(number, whole)

    return call


def rounded(x: Any) -> Any:
    """``round(x)`` of a traced number, or of a NumPy scalar: halves go to the even integer."""
    number = _number(x)
    if number.proxy.python_type in (bool, int):
        return _int(number)
    whole = _int(number)
    whole = whole - (number < whole)
    rest = number - whole
    return whole + (rest > 0.5) + (rest == 0.5) * (whole % 2)


def _trunc(x: Any) -> Any:
    if type(x) is TracedArray and not (x.scalar and issubclass(x.dtype.type, float)):
        name = x.dtype.type.__name__ if x.scalar else "ndarray"
        raise TypeError(f"type numpy.{name} doesn't define __trunc__ method")
    return _int(x)


def _pow(x: Any, y: Any) -> Any:
    if is_traced(y) or not (float(y).is_integer() and y >= 0):
        raise NeedsEager("it calls math.pow with a power that is not a known natural number")
    return _float(_number_of("pow", x)) ** float(y)


def _ldexp(x: Any, n: Any) -> Any:
    n = n._known() if type(n) is TracedNumber else n
    if not -1_000 <= n <= 0:
        raise NeedsEager("it calls math.ldexp, whose result may be too large or too small")
    return _float(_number_of("ldexp", x)) * 2.0**n


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    if is_traced((rel_tol, abs_tol)):
        raise NeedsEager("it calls math.isclose with a tolerance that it computes")
    if rel_tol < 0 or abs_tol < 0:
        raise ValueError("tolerances must be non-negative")
    x, y = (_float(_number_of("isclose", v)) for v in (a, b))
    distance = abs(y - x)
    is_near = (distance <= abs(rel_tol * y)) | (distance <= abs(rel_tol * x)) | (distance <= abs_tol)
    infinite = MATH[math.isinf]
    return (x == y) | (is_near & (infinite(x) == False) & (infinite(y) == False))  # noqa: E712 — traced


def _scaled(name: str, factor: float) -> Callable[[Any], Any]:
    return lambda x: _float(_number_of(name, x)) * factor


def _bit_length(n: TracedNumber) -> Any:
    """``n.bit_length()`` of a size, by its logarithm if a float holds that well enough."""
    size = symbols.extent(n.proxy)
    if not size > 0 or not size < 2**47:
        return int(n).bit_length()
    whole = _int(MATH[math.log2](n))
    if type(whole) is TracedNumber:
        intervals.note_least(intervals.linear(whole.proxy), 0)
    return whole + 1


SIZE_METHODS["bit_length"] = _bit_length

#: what stands in programs for the functions of :mod:`math`, where an argument is a traced value
MATH: dict[Any, Callable[..., Any]] = {
    **{
        getattr(math, row.number.partition(".")[2]): _over_numbers(row.name)
        for row in ROWS
        if row.number.startswith("math.") and row.name not in ("gcd", "lcm")
    },
    math.log: _log_to_base,
    math.log2: _of_integers(math.log2, "log2"),
    math.log10: _of_integers(math.log10, "log10"),
    math.floor: _toward("floor", lambda x, n: (x < n) * -1),
    math.ceil: _toward("ceil", lambda x, n: (x > n) * 1),
    math.trunc: _trunc,
    math.fabs: lambda x: abs(_float(_number_of("fabs", x))),
    math.degrees: _scaled("degrees", 180.0 / math.pi),
    math.radians: _scaled("radians", math.pi / 180.0),
    math.pow: _pow,
    math.ldexp: _ldexp,
    math.isclose: _isclose,
    math.isqrt: _isqrt,
}
