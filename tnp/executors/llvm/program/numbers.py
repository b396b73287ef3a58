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
from tnp.executors.llvm import scalars
from tnp.executors.llvm.graph import Refused
from tnp.executors.llvm.program.emitter import ONE, ZERO, Program
from tnp.executors.llvm.program.integers import HIGHEST, LOWEST, Atom, Int
from tnp.executors.llvm.program.values import Number
from tnp.executors.llvm.scalars.registers import Value

__all__ = ["as_dtype", "as_number", "number_operation", "real", "truth", "whole"]

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
        return Number(kind, scalars.constant(x, _DTYPES[kind]))
    raise Refused(f"{x!r} is no number")


def whole(p: Program, x: Any) -> Int:
    """An integer or a bool, as an integer."""
    n = as_number(x)
    if n.python_type is int:
        assert isinstance(n.value, Int)
        return n.value
    if n.python_type is not bool:
        raise Refused("a number that should be whole")
    if n.value in ("true", "false"):
        return ONE if n.value == "true" else ZERO
    return Int.of(Atom(p.code.op(f"zext i1 {n.value} to i64"), 0, 1))


def real(p: Program, x: Any) -> str:
    """An integer, a bool or a float as a double."""
    n = as_number(x)
    if n.python_type is float:
        assert isinstance(n.value, str)
        return n.value
    i = whole(p, n)
    if i.known is not None:
        return str(scalars.constant(float(i.known), dtypes.float64))
    return p.code.op(f"sitofp i64 {p.text(i)} to double")


def truth(p: Program, x: Any) -> str:
    """The bool of a number."""
    n = as_number(x)
    if n.python_type is bool:
        assert isinstance(n.value, str)
        return n.value
    if n.python_type is int:
        i = whole(p, n)
        if i.known is not None:
            return "true" if i.known else "false"
        return p.code.op(f"icmp ne i64 {p.text(i)}, 0")
    value: str = scalars.convert(p.code, n.value, _DTYPES[n.python_type], dtypes.bool8)
    return value


def as_dtype(p: Program, x: Any, dtype: DType) -> Value:
    """A number as an element of ``dtype``. An integer that does not fit raises ``OverflowError``."""
    n = as_number(x)
    if n.python_type is float and dtype.kind in "iu":
        _check_truncated(p, n.value, dtype)
    if n.python_type is not int or dtype.kind not in "iu":
        value = real(p, n) if n.python_type is int and dtype.kind in "fc" else n.value
        source = dtypes.float64 if n.python_type is int and dtype.kind in "fc" else _DTYPES[n.python_type]
        if n.python_type is int and dtype.kind == "b":
            return truth(p, n)
        return scalars.convert(p.code, value, source, dtype)
    i = whole(p, n)
    low, high = _limits(dtype)
    if not (low <= i.low and i.high <= high):
        p.check(
            _between(p, i, low, high), lambda v: OverflowError(f"Python integer {v} out of bounds for {dtype.name}"), i
        )
    if i.known is not None and low <= i.known <= high:
        return scalars.constant(i.known, dtype)
    return scalars.convert(p.code, p.text(i), dtypes.int64, dtype)


def surely_fits(p: Program, x: Any, dtype: DType) -> bool:
    """Whether an integer dtype holds a Python integer, whatever that is when the program runs. What is no integer does not count."""
    n = as_number(x)
    if n.python_type is not int or dtype.kind not in "iu":
        return True
    i = whole(p, n)
    low, high = _limits(dtype)
    return low <= i.low and i.high <= high


def _limits(dtype: DType) -> tuple[int, int]:
    bits = dtype.bits
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _check_truncated(p: Program, x: str, dtype: DType) -> None:
    """What the integer part of a float raises that ``dtype`` does not hold, or that NaN has none, is left to Python."""
    low, high = _limits(dtype)
    exact = dtype.bits < 64 or dtype.kind == "u"  # whether low - 1 is a float
    least, end = (scalars.constant(float(limit), dtypes.float64) for limit in (low - exact, high + 1))
    above = p.code.op(f"fcmp {'ogt' if exact else 'oge'} double {x}, {least}")
    p.check(p.code.op(f"and i1 {above}, {p.code.op(f'fcmp olt double {x}, {end}')}"), None)


def _between(p: Program, i: Int, low: int, high: int) -> str:
    above = "true" if i.low >= low else p.code.op(f"icmp sge i64 {p.text(i)}, {max(low, LOWEST)}")
    below = "true" if i.high <= high else p.code.op(f"icmp sle i64 {p.text(i)}, {min(high, HIGHEST)}")
    return (
        p.code.op(f"and i1 {above}, {below}") if "true" not in (above, below) else below if above == "true" else above
    )


# Whole numbers


def _exactly(p: Program, name: str, a: Int, b: Int, low: int, high: int) -> Int:
    """``a op b`` by the instruction that tells of overflow."""
    function = f"@llvm.{name}.with.overflow.i64"
    p.code.require(function, f"declare {{i64, i1}} {function}(i64, i64)")
    both = p.code.op(f"call {{i64, i1}} {function}(i64 {p.text(a)}, i64 {p.text(b)})")
    over = p.code.op(f"extractvalue {{i64, i1}} {both}, 1")
    p.check(p.code.op(f"xor i1 {over}, true"), None)
    return Int.of(Atom(p.code.op(f"extractvalue {{i64, i1}} {both}, 0"), low, high))


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
    return Int.of(Atom(p.code.op(f"mul nsw i64 {p.text(a)}, {p.text(b)}"), low, high))


def _not_zero(p: Program, b: Int, message: str) -> None:
    if b.low <= 0 <= b.high:
        p.check(p.code.op(f"icmp ne i64 {p.text(b)}, 0"), lambda: ZeroDivisionError(message))


def _divided(p: Program, a: Int, b: Int) -> tuple[str, str]:
    """Quotient, rounded down, and remainder, with the divisor's sign."""
    if a.low <= LOWEST and b.low <= -1 <= b.high:
        p.check(p.code.op(f"icmp ne i64 {p.text(a)}, {LOWEST}"), None)
    x, y = p.text(a), p.text(b)
    quotient, rest = p.code.op(f"sdiv i64 {x}, {y}"), p.code.op(f"srem i64 {x}, {y}")
    if a.low >= 0 and b.low >= 0:
        return quotient, rest
    some = p.code.op(f"icmp ne i64 {rest}, 0")
    apart = p.code.op(f"icmp slt i64 {p.code.op(f'xor i64 {rest}, {y}')}, 0")
    below = p.code.op(f"and i1 {some}, {apart}")
    one = p.code.op(f"sext i1 {below} to i64")
    return p.code.op(f"add i64 {quotient}, {one}"), p.code.op(
        f"add i64 {rest}, {p.code.op(f'select i1 {below}, i64 {y}, i64 0')}"
    )


def _floor_divide(p: Program, a: Int, b: Int) -> Int:
    _not_zero(p, b, "integer division or modulo by zero")
    limits = (LOWEST, HIGHEST)
    if b.low > 0:
        limits = min(a.low // b.low, a.low // b.high), max(a.high // b.low, a.high // b.high)
    return Int.of(Atom(_divided(p, a, b)[0], *limits))


def _remainder(p: Program, a: Int, b: Int) -> Int:
    _not_zero(p, b, "integer modulo by zero")
    return Int.of(Atom(_divided(p, a, b)[1], min(0, b.low + 1), max(0, b.high - 1)))


def _shift_count(p: Program, b: Int) -> None:
    if b.low < 0:
        p.check(p.code.op(f"icmp sge i64 {p.text(b)}, 0"), lambda: ValueError("negative shift count"))


def _right_shift(p: Program, a: Int, b: Int) -> Int:
    _shift_count(p, b)
    count = p.minimum(b, Int(63))
    least = max(0, min(b.low, 63))
    low, high = (a.low >> least if a.low < 0 else 0), (a.high >> least if a.high >= 0 else -1)
    return Int.of(Atom(p.code.op(f"ashr i64 {p.text(a)}, {p.text(count)}"), low, high))


def _left_shift(p: Program, a: Int, b: Int) -> Int:
    _shift_count(p, b)
    if b.high < 63 and LOWEST <= a.low << b.high and a.high << b.high <= HIGHEST:
        low, high = min(a.low << b.high, a.low), max(a.high << b.high, a.high)
        return a * (1 << b.known) if b.known is not None else Int.of(Atom(p.code.op(f"shl nsw i64 {p.text(a)}, {p.text(b)}"), low, high))  # fmt: skip
    count = p.text(p.minimum(b, Int(63)))
    shifted = p.code.op(f"shl i64 {p.text(a)}, {count}")
    back = p.code.op(f"icmp eq i64 {p.code.op(f'ashr i64 {shifted}, {count}')}, {p.text(a)}")
    small = p.code.op(f"icmp slt i64 {p.text(b)}, 64") if b.high > 63 else "true"
    p.check(back if small == "true" else p.code.op(f"and i1 {back}, {small}"), None)
    return Int.of(Atom(shifted))


def _bits(name: str, limits: Callable[[Int, Int], tuple[int, int]]) -> Callable[[Program, Int, Int], Int]:
    return lambda p, a, b: Int.of(Atom(p.code.op(f"{name} i64 {p.text(a)}, {p.text(b)}"), *limits(a, b)))


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


def _float_division(p: Program, name: str, a: str, b: str) -> str:
    message = {
        "div": "float division by zero",
        "floor_divide": "float floor division by zero",
        "remainder": "float modulo",
    }[name]
    p.check(p.code.op(f"fcmp une double {b}, 0.0"), lambda: ZeroDivisionError(message))
    value: str = scalars.emit(p.code, name, [a, b], dtypes.float64)
    return value


def _float_power(p: Program, a: str, b: str) -> str:
    """C's ``pow``, as Python's; what it raises for is left to Python."""
    p.code.require("@pow", "declare double @pow(double, double)")
    result = p.code.op(f"call double @pow(double {a}, double {b}) nobuiltin")
    p.code.require("@llvm.is.fpclass.f64", "declare i1 @llvm.is.fpclass.f64(double, i32)")
    finite = p.code.op(f"call i1 @llvm.is.fpclass.f64(double {result}, i32 504)")
    p.check(finite, None)
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
        value = truth(p, numbers[0])
        return Number(bool, {"true": "false", "false": "true"}.get(value) or p.code.op(f"xor i1 {value}, true"))
    if kinds == {bool} and name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        op = name.removeprefix("bitwise_")
        return Number(bool, p.code.op(f"{op} i1 {numbers[0].value}, {numbers[1].value}"))
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
        p.check(p.code.op(f"fcmp une double {operands[1]}, 0.0"), lambda: ZeroDivisionError("division by zero"))
        return Number(float, p.code.op(f"fdiv double {operands[0]}, {operands[1]}"))
    if name in ("div", "floor_divide", "remainder"):
        return Number(float, _float_division(p, name, *operands))
    if name == "pow":
        return Number(float, _float_power(p, *operands))
    if name in (_FREELY if len(operands) == 2 else _FREELY_UNARY):
        return Number(float, scalars.emit(p.code, name, list(operands), dtypes.float64))
    raise Refused(f"{name} of Python floats")


# Complex numbers


def _parts(p: Program, n: Number) -> tuple[str, str]:
    """The real and the imaginary part of a number."""
    return n.value if n.python_type is complex else (real(p, n), str(scalars.constant(0.0, dtypes.float64)))


def _complex_operation(p: Program, name: str, numbers: list[Number]) -> Number:
    """An operation on Python numbers of which one is complex: a real number beside it is one without an imaginary part."""
    if sys.version_info >= (3, 14) and name not in ("eq", "ne", "logical_not", "neg", "positive", "abs"):
        raise Refused(
            f"{name} of complex Python numbers"
        )  # which has other rules for infinities and real numbers there

    def op(what: str, x: str, y: str) -> str:
        return p.code.op(f"{what} double {x}, {y}")

    a, *others = (_parts(p, n) for n in numbers)
    if name == "positive":
        return numbers[0]
    if name == "logical_not":
        return Number(bool, p.code.op(f"xor i1 {truth(p, numbers[0])}, true"))
    if name == "neg":
        return Number(complex, tuple(p.code.op(f"fneg double {x}") for x in a))
    if name == "abs":
        size: str = scalars.emit(p.code, "abs", [a], dtypes.complex128)
        infinite = [
            op("fcmp oeq", p.code.op(f"call double @llvm.fabs.f64(double {x})"), "0x7FF0000000000000")
            for x in (*a, size)
        ]
        p.code.require("@llvm.fabs.f64", "declare double @llvm.fabs.f64(double)")
        was = p.code.op(f"or i1 {infinite[0]}, {infinite[1]}")
        p.check(p.code.op(f"or i1 {was}, {p.code.op(f'xor i1 {infinite[2]}, true')}"), None)  # it raises OverflowError
        return Number(float, size)
    if len(others) != 1:
        raise Refused(f"{name} of complex Python numbers")
    (b,) = others
    if name in ("eq", "ne"):
        same = p.code.op(f"and i1 {op('fcmp oeq', a[0], b[0])}, {op('fcmp oeq', a[1], b[1])}")
        return Number(bool, same if name == "eq" else p.code.op(f"xor i1 {same}, true"))
    if name in ("add", "sub"):
        return Number(complex, tuple(op(f"f{name}", x, y) for x, y in zip(a, b)))
    if name == "mul":
        re = op("fsub", op("fmul", a[0], b[0]), op("fmul", a[1], b[1]))
        return Number(complex, (re, op("fadd", op("fmul", a[0], b[1]), op("fmul", a[1], b[0]))))
    raise Refused(f"{name} of complex Python numbers")


def _compare(p: Program, name: str, a: Number, b: Number) -> str:
    if float not in (a.python_type, b.python_type):
        x, y = whole(p, a), whole(p, b)
        if name in ("eq", "ne"):
            found = p.equal(x, y)
            flipped = {"true": "false", "false": "true"}
            return found if name == "eq" else flipped.get(found) or p.code.op(f"xor i1 {found}, true")
        first, second = (x, y) if name in ("lt", "ge") else (y, x)
        found = p.less(first, second)
        flipped = {"true": "false", "false": "true"}
        return found if name in ("lt", "gt") else flipped.get(found) or p.code.op(f"xor i1 {found}, true")
    for n in (a, b):
        if n.python_type is int:
            p.check(_between(p, whole(p, n), -EXACT, EXACT), None)
    value: str = scalars.emit(p.code, name, [real(p, a), real(p, b)], dtypes.float64)
    return value
