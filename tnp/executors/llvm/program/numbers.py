"""Arithmetic on Python's numbers: integers do not wrap around, and division by zero raises.

Integers are 64-bit registers. Results that may overflow are checked; after an overflow, Python runs the call again.
Bounds of integers make most of these checks unnecessary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name
from tnp.executors.llvm import scalars
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.integers import HIGHEST, LOWEST, Int
from tnp.executors.llvm.program.ir import FALSE, TRUE, Operand, constant, whole_number
from tnp.executors.llvm.program.lowering import ONE, ZERO, Program
from tnp.executors.llvm.program.values import Number

__all__ = ["as_dtype", "as_number", "check_truncates", "number_operation", "real", "truth", "whole"]

#: beyond these, not every integer is a double
EXACT = 2**53

_DTYPES = {bool: dtypes.bool8, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
_COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


def as_number(x: Any) -> Number:
    """A number of the program, or a Python number, as a number of the program."""
    if isinstance(x, Number):
        return x
    kind = type(x)
    if kind is int:
        if not LOWEST <= x <= HIGHEST:
            raise Refused("an integer beyond 64 bits")
        return Number(int, Int(x))
    if kind in (bool, float, complex):
        return Number(kind, constant(x, _DTYPES[kind]))
    raise Refused(f"{x!r} is no number")


def whole(p: Program, x: Any) -> Int:
    """An integer or a bool, as an integer."""
    n = as_number(x)
    if n.python_type is int:
        assert isinstance(n.value, Int)
        return n.value
    if n.python_type is not bool:
        raise Refused("a number that should be whole")
    if n.value in (TRUE, FALSE):
        return ONE if n.value == TRUE else ZERO
    return whole_number(p.code.convert(n.value, dtypes.bool8, dtypes.int64), 0, 1)


def real(p: Program, x: Any) -> Operand:
    """An integer, a bool or a float as a double."""
    n = as_number(x)
    if n.python_type is float:
        return n.value
    i = whole(p, n)
    if i.known is not None:
        return constant(float(i.known), dtypes.float64)
    return p.code.convert(i, dtypes.int64, dtypes.float64)


def truth(p: Program, x: Any) -> Operand:
    """The bool of a number."""
    n = as_number(x)
    if n.python_type is bool:
        return n.value
    if n.python_type is int:
        i = whole(p, n)
        if i.known is not None:
            return TRUE if i.known else FALSE
        return p.code.compare("ne", i, 0)
    return p.code.convert(n.value, _DTYPES[n.python_type], dtypes.bool8)


def as_dtype(p: Program, x: Any, dtype: DType) -> Operand:
    """A number as an element of ``dtype``. An integer that does not fit raises ``OverflowError``."""
    n = as_number(x)
    if n.python_type is float and dtype.kind in "iu":
        # What the integer part of a float raises that the dtype does not hold, or that NaN has none, is left to Python.
        check_truncates(p, n.value, *dtype.limits, exact=dtype.bits < 64 or dtype.kind == "u")
    if n.python_type is not int or dtype.kind not in "iu":
        value = real(p, n) if n.python_type is int and dtype.kind in "fc" else n.value
        source = dtypes.float64 if n.python_type is int and dtype.kind in "fc" else _DTYPES[n.python_type]
        if n.python_type is int and dtype.kind == "b":
            return truth(p, n)
        return p.code.convert(value, source, dtype)
    i = whole(p, n)
    low, high = dtype.limits
    if not (low <= i.low and i.high <= high):
        p.check(
            _between(p, i, low, high), lambda v: OverflowError(f"Python integer {v} out of bounds for {dtype.name}"), i
        )
    if i.known is not None and low <= i.known <= high:
        return constant(i.known, dtype)
    return p.code.convert(i, dtypes.int64, dtype)


def surely_fits(p: Program, x: Any, dtype: DType) -> bool:
    """Whether an integer dtype holds a Python integer, whatever that is when the program runs. What is no integer does not count."""
    n = as_number(x)
    if n.python_type is not int or dtype.kind not in "iu":
        return True
    i = whole(p, n)
    low, high = dtype.limits
    return low <= i.low and i.high <= high


def check_truncates(p: Program, x: Operand, low: int, high: int, *, exact: bool) -> None:
    """Leaves to Python what is no integer from ``low`` to ``high`` when it is truncated, NaN too. ``exact``: ``low - 1`` is a float."""
    code, double = p.code, dtypes.float64
    least, end = constant(float(low - exact), double), constant(float(high + 1), double)
    above = code.raw(f"fcmp {'ogt' if exact else 'oge'}", x, least, double, dtypes.bool8)
    p.check(code.both(above, code.raw("fcmp olt", x, end, double, dtypes.bool8)), None)


def _between(p: Program, i: Int, low: int, high: int) -> Operand:
    above = TRUE if i.low >= low else p.code.compare("sge", i, max(low, LOWEST))
    below = TRUE if i.high <= high else p.code.compare("sle", i, min(high, HIGHEST))
    return p.code.both(above, below)


# Whole numbers


def _exactly(p: Program, name: str, a: Int, b: Int, low: int, high: int) -> Int:
    """``a op b`` by the instruction that tells of overflow."""
    result, over = p.code.exactly(name, a, b)
    p.check(p.code.negated(over), None)
    return whole_number(result, low, high)


def _add(p: Program, a: Int, b: Int) -> Int:
    total = a + b
    return total if total.fits else _exactly(p, "sadd", a, b, total.low, total.high)


def _sub(p: Program, a: Int, b: Int) -> Int:
    total = a - b
    return total if total.fits else _exactly(p, "ssub", a, b, total.low, total.high)


def _products(a: Int, b: Int) -> tuple[int, int]:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _mul(p: Program, a: Int, b: Int) -> Int:
    for x, y in ((a, b), (b, a)):
        if y.known is not None and (x * y.known).fits:
            return x * y.known
    low, high = _products(a, b)
    if low < LOWEST or high > HIGHEST:
        return _exactly(p, "smul", a, b, low, high)
    if a.is_of_sizes and b.is_of_sizes:
        return a * b
    return whole_number(p.code.whole("mul nsw", a, b), low, high)


def _not_zero(p: Program, b: Int, message: str) -> None:
    if b.low <= 0 <= b.high:
        p.check(p.code.compare("ne", b, 0), lambda: ZeroDivisionError(message))


def _divided(p: Program, a: Int, b: Int) -> tuple[Operand, Operand]:
    """Quotient, rounded down, and remainder, with the divisor's sign."""
    code = p.code
    if a.low <= LOWEST and b.low <= -1 <= b.high:
        p.check(code.compare("ne", a, LOWEST), None)
    quotient, rest = code.whole("sdiv", a, b), code.whole("srem", a, b)
    if a.low >= 0 and b.low >= 0:
        return quotient, rest
    below = code.both(code.compare("ne", rest, 0), code.compare("slt", code.whole("xor", rest, b), 0))
    one, more = code.select(below, Int(-1), ZERO, dtypes.int64), code.select(below, b, ZERO, dtypes.int64)
    return code.whole("add", quotient, one), code.whole("add", rest, more)


def _floor_divide(p: Program, a: Int, b: Int) -> Int:
    _not_zero(p, b, "integer division or modulo by zero")
    limits = (LOWEST, HIGHEST)
    if b.low > 0:
        limits = min(a.low // b.low, a.low // b.high), max(a.high // b.low, a.high // b.high)
    return whole_number(_divided(p, a, b)[0], *limits)


def _remainder(p: Program, a: Int, b: Int) -> Int:
    _not_zero(p, b, "integer modulo by zero")
    return whole_number(_divided(p, a, b)[1], min(0, b.low + 1), max(0, b.high - 1))


def _shift_count(p: Program, b: Int) -> None:
    if b.low < 0:
        p.check(p.code.compare("sge", b, 0), lambda: ValueError("negative shift count"))


def _right_shift(p: Program, a: Int, b: Int) -> Int:
    _shift_count(p, b)
    count = p.minimum(b, Int(63))
    least = max(0, min(b.low, 63))
    low, high = (a.low >> least if a.low < 0 else 0), (a.high >> least if a.high >= 0 else -1)
    return whole_number(p.code.whole("ashr", a, count), low, high)


def _left_shift(p: Program, a: Int, b: Int) -> Int:
    _shift_count(p, b)
    if b.high < 63 and LOWEST <= a.low << b.high and a.high << b.high <= HIGHEST:
        low, high = min(a.low << b.high, a.low), max(a.high << b.high, a.high)
        return a * (1 << b.known) if b.known is not None else whole_number(p.code.whole("shl nsw", a, b), low, high)
    code, count = p.code, p.minimum(b, Int(63))
    shifted = code.whole("shl", a, count)
    back = code.compare("eq", code.whole("ashr", shifted, count), a)
    p.check(code.both(back, code.compare("slt", b, 64) if b.high > 63 else TRUE), None)
    return whole_number(shifted)


def _bits(name: str, limits: Callable[[Int, Int], tuple[int, int]]) -> Callable[[Program, Int, Int], Int]:
    return lambda p, a, b: whole_number(p.code.whole(name, a, b), *limits(a, b))


def _limits_of_and(a: Int, b: Int) -> tuple[int, int]:
    highs = [x.high for x in (a, b) if x.low >= 0]
    return (0, min(highs)) if highs else (LOWEST, max(a.high, b.high))


def _limits_of_or(a: Int, b: Int) -> tuple[int, int]:
    bits = max(x.bit_length() for x in (a.low, a.high, b.low, b.high))
    return (0 if a.low >= 0 and b.low >= 0 else -(1 << bits)), (1 << bits) - 1


def _int_power(p: Program, a: Int, b: Int) -> Int:
    if b.known is None or not 0 <= b.known <= 8:
        raise Refused("a power of integers")
    result = ONE
    for _ in range(b.known):
        result = _mul(p, result, a)
    return result


_WHOLE: dict[str, Callable[[Program, Int, Int], Int]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "right_shift": _right_shift,
    "left_shift": _left_shift,
    "pow": _int_power,
    "bitwise_and": _bits("and", _limits_of_and),
    "bitwise_or": _bits("or", _limits_of_or),
    "bitwise_xor": _bits("xor", _limits_of_or),
}

_WHOLE_UNARY: dict[str, Callable[[Program, Int], Int]] = {
    "neg": lambda p, a: _sub(p, ZERO, a),
    "positive": lambda p, a: a,
    "bitwise_not": lambda p, a: a * -1 - 1,
    "abs": lambda p, a: p.maximum(a, _sub(p, ZERO, a)),
}


# Floats


def _float_division(p: Program, name: str, a: Operand, b: Operand) -> Operand:
    message = {
        "div": "float division by zero",
        "floor_divide": "float floor division by zero",
        "remainder": "float modulo",
    }[name]
    p.check(_is_not_zero(p, b), lambda: ZeroDivisionError(message))
    return p.code.apply(name, [a, b], dtypes.float64, dtypes.float64)


def _is_not_zero(p: Program, x: Operand) -> Operand:
    return p.code.raw("fcmp une", x, constant(0.0, dtypes.float64), dtypes.float64, dtypes.bool8)


def _float_power(p: Program, a: Operand, b: Operand) -> Operand:
    """C's ``pow``, as Python's; what it raises for is left to Python."""
    result = p.code.make("pow_of_c", (a, b), dtypes.float64)
    p.check(p.code.apply("isfinite", [result], dtypes.float64, dtypes.bool8), None)
    return result


#: what can be done to floats without Python raising, as on elements of float64
_FREELY = ("add", "sub", "mul")
_FREELY_UNARY = ("neg", "abs", "positive")


def number_operation(p: Program, name: str, *args: Any) -> Number:
    """An operation on Python numbers."""
    numbers = [as_number(a) for a in args]
    kinds = {n.python_type for n in numbers}
    if complex in kinds:
        return _complex_operation(p, name, numbers)
    if not numbers:
        raise Refused(f"{name} of nothing")
    if name in _COMPARISONS:
        return Number(bool, _compare(p, name, *numbers))
    if name == "logical_not":
        return Number(bool, p.code.negated(truth(p, numbers[0])))
    if kinds == {bool} and name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        op = name.removeprefix("bitwise_")
        return Number(bool, p.code.raw(op, numbers[0].value, numbers[1].value, dtypes.bool8))
    if float not in kinds and name != "div":
        operands = [whole(p, n) for n in numbers]
        if len(operands) == 1 and name in _WHOLE_UNARY:
            return Number(int, _WHOLE_UNARY[name](p, *operands))
        if len(operands) == 2 and name in _WHOLE:
            return Number(int, p.check_fits(_WHOLE[name](p, *operands)))
        raise Refused(f"{name} of Python integers")
    for n in numbers:
        if n.python_type is int and name == "div":
            i = whole(p, n)
            p.check(_between(p, i, -EXACT, EXACT), None)
    operands = [real(p, n) for n in numbers]
    if name == "div" and float not in kinds:
        p.check(_is_not_zero(p, operands[1]), lambda: ZeroDivisionError("division by zero"))
        return Number(float, p.code.raw("fdiv", *operands, dtypes.float64))
    if name in ("div", "floor_divide", "remainder"):
        return Number(float, _float_division(p, name, *operands))
    if name == "pow":
        return Number(float, _float_power(p, *operands))
    if name in (_FREELY if len(operands) == 2 else _FREELY_UNARY):
        return Number(float, p.code.apply(name, operands, dtypes.float64, dtypes.float64))
    return _float_function(p, name, operands)


#: of :mod:`math`, what gives integers
_GIVING_INTEGERS = frozenset(("ceil", "floor", "trunc", "gcd", "lcm"))


def _float_function(p: Program, name: str, operands: list[Operand]) -> Number:
    """A function of :mod:`math`. Where the result is not finite, Python may raise, and decides what it does."""
    row, code, double = by_name.get(name), p.code, dtypes.float64
    is_of_math = row is not None and row.number.startswith("math.") and name not in _GIVING_INTEGERS
    if row is None or not is_of_math or not scalars.supports(name, (double,) * len(operands)):
        raise Refused(f"{name} of Python floats")
    if row.result == "bool":
        return Number(bool, code.apply(name, operands, double, dtypes.bool8))
    result = code.apply(name, operands, double, double)
    if not row.total:
        fine = code.apply("isfinite", [result], double, dtypes.bool8)
        for x in operands:
            fine = code.either(fine, code.apply("isnan", [x], double, dtypes.bool8))
        p.check(fine, None)
    return Number(float, result)


# Complex numbers


def _as_complex(p: Program, n: Number) -> Operand:
    if n.python_type is complex:
        return n.value
    parts = [real(p, n), constant(0.0, dtypes.float64)]
    return p.code.apply("complex", parts, dtypes.float64, dtypes.complex128)


def _product(p: Program, a: Operand, b: Operand) -> Operand:
    """The product of complex numbers as Python has it: each operation rounds."""
    code, double = p.code, dtypes.float64
    (a_re, a_im), (b_re, b_im) = (
        [code.apply(part, [x], dtypes.complex128, double) for part in ("real", "imag")] for x in (a, b)
    )
    re = code.raw("fsub", code.raw("fmul", a_re, b_re, double), code.raw("fmul", a_im, b_im, double), double)
    im = code.raw("fadd", code.raw("fmul", a_re, b_im, double), code.raw("fmul", a_im, b_re, double), double)
    return code.apply("complex", [re, im], double, dtypes.complex128)


def _complex_operation(p: Program, name: str, numbers: list[Number]) -> Number:
    """An operation on Python numbers of which one is complex: a real number beside it is one without an imaginary part."""
    if sys.version_info >= (3, 14) and name not in ("eq", "ne", "logical_not", "neg", "positive", "abs"):
        raise Refused(
            f"{name} of complex Python numbers"
        )  # which has other rules for infinities and real numbers there

    code, kind = p.code, dtypes.complex128
    if name == "logical_not":
        return Number(bool, code.negated(truth(p, numbers[0])))
    if name == "positive":
        return numbers[0]
    values = [_as_complex(p, n) for n in numbers]
    if name == "neg":
        return Number(complex, code.apply("neg", values, kind, kind))
    if name == "abs":
        size = code.apply("abs", values, kind, dtypes.float64)
        # It raises OverflowError.
        of_infinity = code.apply("isinf", values, kind, dtypes.bool8)
        is_infinite = code.apply("isinf", [size], dtypes.float64, dtypes.bool8)
        p.check(code.either(of_infinity, code.negated(is_infinite)), None)
        return Number(float, size)
    if len(values) == 2 and name in ("eq", "ne"):
        return Number(bool, code.apply(name, values, kind, dtypes.bool8))
    if len(values) == 2 and name in ("add", "sub"):
        return Number(complex, code.apply(name, values, kind, kind))
    if len(values) == 2 and name == "mul":
        return Number(complex, _product(p, *values))
    raise Refused(f"{name} of complex Python numbers")


def _compare(p: Program, name: str, a: Number, b: Number) -> Operand:
    if float not in (a.python_type, b.python_type):
        x, y = whole(p, a), whole(p, b)
        if name in ("eq", "ne"):
            found = p.equal(x, y)
            return found if name == "eq" else p.code.negated(found)
        first, second = (x, y) if name in ("lt", "ge") else (y, x)
        found = p.less(first, second)
        return found if name in ("lt", "gt") else p.code.negated(found)
    for n in (a, b):
        if n.python_type is int:
            p.check(_between(p, whole(p, n), -EXACT, EXACT), None)
    return p.code.apply(name, [real(p, a), real(p, b)], dtypes.float64, dtypes.bool8)
