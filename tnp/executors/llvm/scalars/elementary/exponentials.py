"""exp, exp2, expm1, sinh, cosh and tanh.

exp(x) = 2**n · exp(r): n is the whole number nearest to x / log(2), and r what remains, subtracted in two parts of
which the first times n is exact (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tnp.core import dtypes
from tnp.executors.llvm.scalars.elementary import coefficients
from tnp.executors.llvm.scalars.elementary.arithmetic import (
    clamped,
    format_of,
    magnitude,
    multiply_add,
    nearest_integer,
    polynomial,
    power_of_two,
    with_sign_of,
)
from tnp.executors.llvm.scalars.registers import Register, select

__all__ = ["LOG2_PARTS", "cosh", "exp", "exp2", "exp2_of_parts", "expm1", "reduced", "sinh", "tanh"]

#: log(2) in two parts; the first has so few bits that its products with exponents are exact
LOG2_PARTS = {
    dtypes.float64: (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")),
    dtypes.float32: (float.fromhex("0x1.62e4000000000p-1"), float.fromhex("0x1.7f7d1c0000000p-20")),
}
#: where exp is 0, where it is infinite
_EXP_RANGE = {dtypes.float64: (-746.0, 710.0), dtypes.float32: (-104.0, 89.0)}
_EXP2_RANGE = {dtypes.float64: (-1080.0, 1025.0), dtypes.float32: (-160.0, 129.0)}
#: where expm1 is -1
_LOWEST = {dtypes.float64: -40.0, dtypes.float32: -20.0}
#: where sinh and cosh are infinite
_HYPERBOLIC_HIGHEST = {dtypes.float64: 710.5, dtypes.float32: 89.6}
#: from here on, 2 / (exp(x) + 1) does not matter beside 1
_TANH_LIMITS = {dtypes.float64: 40.0, dtypes.float32: 20.0}


def reduced(x: Register, plus: int) -> tuple[Register, Register]:
    """r, and bits of which the lowest are n + ``plus``."""
    n, bits = nearest_integer(x, 1 / math.log(2.0), plus)
    high, low = LOG2_PARTS[x.dtype]
    return multiply_add(n, -low, multiply_add(n, -high, x)), bits


def _reduced_with_rest(x: Register, plus: int) -> tuple[Register, Register, Register]:
    """As :func:`reduced`, with what r's rounding left (to be added to r) in the second place."""
    n, bits = nearest_integer(x, 1 / math.log(2.0), plus)
    high, low = LOG2_PARTS[x.dtype]
    first = multiply_add(n, -high, x)
    r = multiply_add(n, -low, first)
    return r, multiply_add(n, -low, first - r), bits


def exp(x: Register) -> Register:
    f = format_of(x)

    def power(x: Register) -> Register:
        r, bits = reduced(x, 2 * f.bias)
        return _scaled(multiply_add(r * r, polynomial(r, coefficients.EXP[f.bits]), r), bits)

    return _or_zero(power, x, *_EXP_RANGE[x.dtype])


def exp2(x: Register) -> Register:
    def power(x: Register) -> Register:
        n, bits = nearest_integer(x, 1.0, 2 * format_of(x).bias)
        return exp2_of_parts(x - n, bits)

    return _or_zero(power, x, *_EXP2_RANGE[x.dtype])


def _or_zero(power: Callable[[Register], Register], x: Register, low: float, high: float) -> Register:
    """``power`` of ``x``, which is 0 below ``low``, and infinite above ``high``. Numbers that round to 0 take a processor as long as ten
    others, so that none is computed."""
    is_zero = x < low
    return select(is_zero, 0.0, power(select(is_zero, 0.0, select(x > high, high, x))))


def exp2_of_parts(r: Register, bits: Register) -> Register:
    """2**(n + r), ``r`` between -1/2 and 1/2; the lowest of ``bits`` are n plus twice the bias."""
    return _scaled(multiply_add(r, math.log(2.0), r * r * polynomial(r, coefficients.EXP2[r.dtype.bits])), bits)


def _scaled(tail: Register, bits: Register) -> Register:
    """(1 + ``tail``) · 2**n, by two halves of the power, each of which is a normal number's."""
    f = format_of(tail)
    half = (bits.bitcast(f.unsigned) >> 1).bitcast(f.integer)
    first, second = power_of_two(half, tail.dtype), power_of_two(bits - half, tail.dtype)
    return multiply_add(tail, first, first) * second


def expm1(x: Register) -> Register:
    """2**n · (exp(r) - 1) + (2**n - 1); n is one less on the way, for the largest numbers' sake."""
    f = format_of(x)
    r, rest, bits = _reduced_with_rest(clamped(x, _LOWEST[x.dtype], _EXP_RANGE[x.dtype][1]), f.bias - 1)
    tail = multiply_add(r * r, polynomial(r, coefficients.EXPM1[f.bits]), rest)
    power = power_of_two(bits, x.dtype)
    result = multiply_add(power, tail, multiply_add(power, r, power - 0.5))
    return select(magnitude(x) < 2.0 ** -(f.fraction + 2), x, result + result)


def sinh(x: Register) -> Register:
    """sinh(n log(2) + r) = sinh(r) cosh(n log(2)) + cosh(r) sinh(n log(2))."""
    size, f = magnitude(x), format_of(x)
    r, rest, cosine, sine, plus, minus = _parts(size)
    small = multiply_add(cosine, minus, (sine + rest) * plus)
    result = multiply_add(r, plus, minus) + small
    result = with_sign_of(result + result, x)
    return select(size < 2.0 ** -(f.fraction // 2 + 1), x, result)


def cosh(x: Register) -> Register:
    r, _, cosine, sine, plus, minus = _parts(magnitude(x))
    result = plus + multiply_add(cosine, plus, (r + sine) * minus)
    return result + result


def _parts(size: Register) -> tuple[Register, ...]:
    """Of a positive number: r and what its rounding left, cosh(r) - 1, sinh(r) - r, and a quarter of 2**n + 2**-n and 2**n - 2**-n."""
    f = format_of(size)
    highest = _HYPERBOLIC_HIGHEST[size.dtype]
    r, rest, bits = _reduced_with_rest(select(size > highest, highest, size), f.bias - 2)
    square = r * r
    cosine = square * polynomial(square, coefficients.COSH[f.bits])
    sine = square * r * polynomial(square, coefficients.SINH[f.bits])
    up = power_of_two(bits, size.dtype)
    # 2**-n, or 0 where it is too small to matter
    exponent = (f.bits_of(f.shift) + 2 * (f.bias - 2)) - bits
    down = power_of_two(select(exponent < 0, 0, exponent), size.dtype)
    return r, rest, cosine, sine, up + down, up - down


def tanh(x: Register) -> Register:
    """x + x**3 · P(x**2) for small numbers, 1 - 2 / (exp(2 x) + 1) for others."""
    f, size = format_of(x), magnitude(x)
    square = x * x
    small = multiply_add(square * x, polynomial(square, coefficients.TANH[f.bits]), x)
    twice = size + size
    limit = _TANH_LIMITS[x.dtype]
    r, bits = reduced(select(twice > limit, limit, twice), f.bias)
    tail = multiply_add(r * r, polynomial(r, coefficients.EXP[f.bits]), r)
    power = power_of_two(bits, x.dtype)
    large = 1.0 - 2.0 / multiply_add(power, tail, power + 1.0)
    return with_sign_of(select(size < 0.55, small, large), x)
