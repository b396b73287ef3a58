"""Integers and bools: NumPy's wrap-around arithmetic. Division by zero gives 0, and shifts may have any length."""

from __future__ import annotations

from collections.abc import Callable

from tnp.core import dtypes
from tnp.executors.llvm.scalars.registers import Register, intrinsic, register_type, select

__all__ = ["BOOLS", "INTEGERS"]


def _is(value: bool) -> Callable[[Register], Register]:
    return lambda a: Register(a.code, "true" if value else "false", dtypes.bool8)


def _same(a: Register) -> Register:
    return a


def _signed(a: Register) -> bool:
    return a.dtype.kind == "i"


def _is_number(a: Register) -> bool:
    return a.text.lstrip("-").isdecimal()


def _safe_divisor(a: Register, b: Register) -> tuple[Register, Register]:
    """A divisor for which LLVM defines division, and whether ``b`` is 0; x // -1 is to be -x."""
    if _is_number(b) and b.text not in ("0", "-1"):
        return b, Register(b.code, "false", dtypes.bool8)
    zero = b == 0
    unsafe = zero | (b == -1) if _signed(a) else zero
    return select(unsafe, 1, b), zero


def _quotient(a: Register, b: Register) -> Register:
    """``a / b`` truncated.

    There are no instructions that divide vectors of integers. Floating ones are exact enough where the fraction is longer than
    the operands: the quotient's distance from the next whole number is more than a rounding error.
    """
    if _is_number(b) or a.dtype.bits == 64:
        return a / b
    wide = dtypes.float32 if a.dtype.bits <= 16 else dtypes.float64
    type_ = register_type(wide)
    operands = f"{type_} {a.to_float(wide).text}, {b.to_float(wide).text}"
    quotient = a.code.op(f"fdiv {operands}")
    whole = dtypes.by_name(f"{'int' if _signed(a) else 'uint'}{max(a.dtype.bits, 32)}")
    op = "fptosi" if _signed(a) else "fptoui"
    return Register(a.code, a.code.op(f"{op} {type_} {quotient} to i{whole.bits}"), whole).resize(a.dtype)


def _floor_divide(a: Register, b: Register) -> Register:
    divisor, zero = _safe_divisor(a, b)
    quotient = _quotient(a, divisor)
    if _signed(a):
        rest = a - quotient * divisor
        below = (rest != 0) & ((rest ^ divisor) < 0)
        quotient = select(b == -1, -a, quotient - below.resize(a.dtype))
    return select(zero, 0, quotient)


def _fmod(a: Register, b: Register) -> Register:
    divisor, zero = _safe_divisor(a, b)
    return select(zero, 0, a - _quotient(a, divisor) * divisor)


def _remainder(a: Register, b: Register) -> Register:
    divisor, zero = _safe_divisor(a, b)
    rest = a - _quotient(a, divisor) * divisor
    if _signed(a):
        rest = select((rest != 0) & ((rest ^ divisor) < 0), rest + divisor, rest)
    return select(zero, 0, rest)


def _unsigned(a: Register) -> Register:
    return a.bitcast(dtypes.by_name(f"uint{a.dtype.bits}"))


def _left_shift(a: Register, b: Register) -> Register:
    fits = _unsigned(b) < a.dtype.bits
    return select(fits, a << select(fits, b, 0), 0)


def _right_shift(a: Register, b: Register) -> Register:
    bits = a.dtype.bits
    fits = _unsigned(b) < bits
    if _signed(a):
        return a >> select(fits, b, bits - 1)
    return select(fits, a >> select(fits, b, 0), 0)


def _absolute(a: Register) -> Register:
    return intrinsic("abs", a, tail="i1 false") if _signed(a) else a


def _sign(a: Register) -> Register:
    positive = (a > 0).resize(a.dtype)
    return positive - (a < 0).resize(a.dtype) if _signed(a) else positive


def _maximum(a: Register, b: Register) -> Register:
    return intrinsic("smax" if _signed(a) else "umax", a, b)


def _minimum(a: Register, b: Register) -> Register:
    return intrinsic("smin" if _signed(a) else "umin", a, b)


#: Stein's algorithm, on unsigned numbers
_GCD = """
define internal {type} @tnp_gcd_{type}({type} %a, {type} %b) nounwind willreturn memory(none) {{
entry:
  %a.zero = icmp eq {type} %a, 0
  %b.zero = icmp eq {type} %b, 0
  %trivial = or i1 %a.zero, %b.zero
  %either = or {type} %a, %b
  br i1 %trivial, label %done, label %start
start:
  %common = call {type} @llvm.cttz.{type}({type} %either, i1 true)
  %a.twos = call {type} @llvm.cttz.{type}({type} %a, i1 true)
  %a.odd = lshr {type} %a, %a.twos
  br label %loop
loop:
  %x = phi {type} [ %a.odd, %start ], [ %least, %loop ]
  %y = phi {type} [ %b, %start ], [ %rest, %loop ]
  %y.twos = call {type} @llvm.cttz.{type}({type} %y, i1 true)
  %y.odd = lshr {type} %y, %y.twos
  %smaller = icmp ult {type} %x, %y.odd
  %least = select i1 %smaller, {type} %x, {type} %y.odd
  %most = select i1 %smaller, {type} %y.odd, {type} %x
  %rest = sub {type} %most, %least
  %equal = icmp eq {type} %rest, 0
  br i1 %equal, label %finish, label %loop
finish:
  %shifted = shl {type} %least, %common
  br label %done
done:
  %result = phi {type} [ %either, %entry ], [ %shifted, %finish ]
  ret {type} %result
}}"""

_POWER = """
define internal {type} @tnp_power_{type}({type} %base, {type} %exponent) nounwind willreturn memory(none) {{
entry:
  br label %loop
loop:
  %result = phi {type} [ 1, %entry ], [ %product, %loop ]
  %square = phi {type} [ %base, %entry ], [ %next, %loop ]
  %left = phi {type} [ %exponent, %entry ], [ %rest, %loop ]
  %bit = trunc {type} %left to i1
  %factor = select i1 %bit, {type} %square, {type} 1
  %product = mul {type} %result, %factor
  %next = mul {type} %square, %square
  %rest = lshr {type} %left, 1
  %more = icmp ne {type} %rest, 0
  br i1 %more, label %loop, label %done
done:
  ret {type} %product
}}"""


def _call(function: str, template: str, a: Register, b: Register) -> Register:
    """A call of a function of the module, which is made of ``template``."""
    type_ = a.type
    name = f"@tnp_{function}_{type_}"
    a.code.require(name, template.format(type=type_))
    return Register(a.code, a.code.op(f"call {type_} {name}({type_} {a.text}, {type_} {b.text})"), a.dtype)


def _gcd(a: Register, b: Register) -> Register:
    a.code.require(f"@llvm.cttz.{a.type}", f"declare {a.type} @llvm.cttz.{a.type}({a.type}, i1)")
    return _call("gcd", _GCD, _absolute(a), _absolute(b))


def _lcm(a: Register, b: Register) -> Register:
    a, b = _absolute(a), _absolute(b)
    divisor = _unsigned(_gcd(a, b))
    zero = divisor == 0
    return select(zero, 0, _unsigned(a) / select(zero, 1, divisor) * _unsigned(b)).bitcast(a.dtype)


#: up to this constant exponent a power is a chain of multiplications
_LONGEST_CHAIN = 64


def _power(a: Register, b: Register) -> Register:
    if not b.text.isdecimal() or int(b.text) > _LONGEST_CHAIN:
        return _call("power", _POWER, a, b)
    exponent = int(b.text)
    result = None
    while exponent:
        if exponent & 1:
            result = a if result is None else result * a
        exponent >>= 1
        a = a * a if exponent else a
    return a.lift(1) if result is None else result


def _reciprocal(a: Register) -> Register:
    """1 / a truncated; of 0, what the conversion of an infinity gives on x86."""
    of_zero = -(2 ** (a.dtype.bits - 1)) if _signed(a) and a.dtype.bits >= 32 else 0
    unit = (a == 1) | (a == -1) if _signed(a) else a == 1
    return select(unit, a, select(a == 0, a.lift(of_zero), 0))


#: comparisons, whose signedness is the registers'
_COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

_BITWISE = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a,
}

_WHOLE = {
    "ceil": _same,
    "floor": _same,
    "trunc": _same,
    "isfinite": _is(True),
    "isinf": _is(False),
    "isnan": _is(False),
}

INTEGERS: dict[str, Callable[..., Register]] = {
    **_COMPARISONS,
    **_BITWISE,
    **_WHOLE,
    "abs": _absolute,
    "add": lambda a, b: a + b,
    "conj": _same,
    "floor_divide": _floor_divide,
    "fmax": _maximum,
    "fmin": _minimum,
    "fmod": _fmod,
    "gcd": _gcd,
    "lcm": _lcm,
    "left_shift": _left_shift,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_not": lambda a: a == 0,
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    "maximum": _maximum,
    "minimum": _minimum,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "popcount": lambda a: intrinsic("ctpop", _absolute(a)),
    "positive": _same,
    "pow": _power,
    "reciprocal": _reciprocal,
    "remainder": _remainder,
    "right_shift": _right_shift,
    "sign": _sign,
    "square": lambda a: a * a,
    "sub": lambda a, b: a - b,
}

BOOLS: dict[str, Callable[..., Register]] = {
    **_COMPARISONS,
    **_BITWISE,
    **_WHOLE,
    "abs": _same,
    "add": lambda a, b: a | b,
    "fmax": lambda a, b: a | b,
    "fmin": lambda a, b: a & b,
    "logical_and": lambda a, b: a & b,
    "logical_not": lambda a: ~a,
    "logical_or": lambda a, b: a | b,
    "logical_xor": lambda a, b: a ^ b,
    "maximum": lambda a, b: a | b,
    "minimum": lambda a, b: a & b,
    "mul": lambda a, b: a & b,
}
