"""pow, cbrt and hypot.

pow is 2**(b · log2(a)). The logarithm has 12 more bits than a float64, because it is multiplied by up to 1074.

float32 is computed in float64, which has these bits already.

hypot is the root of the sum of squares, scaled by a power of two so that no square overflows or loses digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tnp.core import dtypes
from tnp.executors.llvm.scalars.elementary import coefficients
from tnp.executors.llvm.scalars.elementary.arithmetic import (
    FORMATS,
    clamped,
    format_of,
    magnitude,
    multiply_add,
    nearest_integer,
    polynomial,
    power_of_two,
    product_with_rest,
    sum_of_larger,
    with_sign_of,
)
from tnp.executors.llvm.scalars.elementary.exponentials import exp2_of_parts
from tnp.executors.llvm.scalars.elementary.logarithms import as_number, split
from tnp.executors.llvm.scalars.registers import Register, intrinsic, select

__all__ = ["SHORT", "cbrt", "hypot", "power", "short_power", "sum_of_squares"]

_DOUBLE = FORMATS[dtypes.float64]

#: 2 / log(2) and a third of it, in two parts
_SCALE = (float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55"))
_THIRD = (float.fromhex("0x1.ec709dc3a03fdp-1"), float.fromhex("0x1.d27f05548af0cp-55"))


def power(a: Register, b: Register) -> Register:
    wide = a.dtype is dtypes.float64
    size = magnitude(a)
    result = _of_double(size, b) if wide else _of_single(size, b)
    whole = intrinsic("rint", b) == b
    half = b * 0.5
    odd = whole & (intrinsic("rint", half) != half)
    # 1 to any power, and anything to the power of 0, even NaN
    one = (b == 0.0) | ((size == 1.0) & ((a > 0.0) | ~b.isnan()))
    result = select(one, 1.0, result)
    result = select(odd, intrinsic("copysign", result, a), result)
    return select((a < 0.0) & (a > -math.inf) & ~whole, math.nan, result)


def _of_double(a: Register, b: Register) -> Register:
    """``a**b`` for a positive ``a``, 0 and infinity included."""
    f = _DOUBLE
    subnormal = a < f.least_normal
    m, exponent = split(select(subnormal, a * 2.0**54, a))
    k = as_number(exponent, a.dtype, select(subnormal, a.lift(2.0**52 + f.bias + 54), 2.0**52 + f.bias))
    log, rest = _log2(m, k)
    log = _limits(a, log)
    high, low = product_with_rest(b, log)
    low = multiply_add(b, rest, low)
    low = select(magnitude(high) < 1100.0, low, 0.0)
    high = clamped(high, -1080.0, 1025.0)
    n, bits = nearest_integer(high, 1.0, 2 * f.bias)
    return exp2_of_parts((high - n) + low, bits)


def short_power(a: Register, exponent: float) -> Register:
    """``a**exponent`` for a small multiple of 1/2, by products and a square root, in double-double arithmetic for float64."""
    if a.dtype is not dtypes.float64:
        result = _product(a.to_float(dtypes.float64), exponent).to_float(a.dtype)
    else:
        made = _product(_Parts(a, a.lift(0.0)), exponent)
        total = made.high + made.low
        result = select(total.isnan(), made.high, total)  # the rest of an infinity is NaN
    return select(a == -math.inf, math.inf, result + 0.0) if exponent % 1 else result


def _product(base: Any, exponent: float) -> Any:
    whole, half = divmod(abs(exponent), 1.0)
    base = 1.0 / base if exponent < 0 else base
    made = None if not half else base.root() if isinstance(base, _Parts) else intrinsic("sqrt", base)
    count = int(whole)
    while True:
        if count % 2:
            made = base if made is None else made * base
        count //= 2
        if not count:
            return made
        base = base * base


class _Parts:
    """A double-double number: the unevaluated sum of two float64, T. J. Dekker (1971)."""

    def __init__(self, high: Register, low: Register) -> None:
        self.high, self.low = high, low

    def __mul__(self, other: _Parts) -> _Parts:
        high, rest = product_with_rest(self.high, other.high)
        return _Parts(high, multiply_add(self.high, other.low, multiply_add(self.low, other.high, rest)))

    def __rtruediv__(self, one: float) -> _Parts:
        high = one / self.high
        product, rest = product_with_rest(high, self.high)
        return _Parts(high, (((one - product) - rest) - high * self.low) * high)

    def root(self) -> _Parts:
        high = intrinsic("sqrt", self.high)
        square, rest = product_with_rest(high, high)
        return _Parts(high, (((self.high - square) - rest) + self.low) / (high + high))


#: exponents for which this is faster than the general power
SHORT = frozenset((*range(4, 17), *range(-16, -1), 1.5, 2.5, 3.5))


def _limits(a: Register, log: Register) -> Register:
    """``log``, or the logarithm of 0 or infinity."""
    ordinary = (a.bitcast(dtypes.uint64) - 1) < _DOUBLE.bits_of(math.inf) - 1
    return select(ordinary, log, select(a == 0.0, -math.inf, a))


def _log2(m: Register, k: Register) -> tuple[Register, Register]:
    """k + log2(m) in two parts, by log(m) = 2 (s + s**3 / 3 + s**5 / 5 + ...) with s = (m - 1) / (m + 1)."""
    above = m - 1.0
    below, below_rest = sum_of_larger(1.0, m)
    reciprocal = 1.0 / below
    s = above * reciprocal
    # of the quotient, by what s leaves of the dividend
    product, product_rest = product_with_rest(s, below)
    s_rest = ((above - product) - product_rest - s * below_rest) * reciprocal
    z, z_rest = product_with_rest(s, s)
    z_rest = multiply_add(s + s, s_rest, z_rest)
    third, third_rest = product_with_rest(z, _THIRD[0])
    third_rest = multiply_add(z, _THIRD[1], multiply_add(z_rest, _THIRD[0], third_rest))
    factor, factor_rest = sum_of_larger(third, z * z * polynomial(z, coefficients.POW_LOG2[64]))
    total, total_rest = sum_of_larger(_SCALE[0], factor)
    total_rest = total_rest + (factor_rest + third_rest + _SCALE[1])
    log, log_rest = product_with_rest(s, total)
    log_rest = multiply_add(s, total_rest, multiply_add(s_rest, total, log_rest))
    result, result_rest = sum_of_larger(k, log)
    return result, result_rest + log_rest


def _of_single(size: Register, exponent: Register) -> Register:
    a, b = size.to_float(dtypes.float64), exponent.to_float(dtypes.float64)
    m, biased = split(a)
    above = m - 1.0
    log = multiply_add(
        above, polynomial(above, coefficients.POWF_LOG2[64]), as_number(biased, a.dtype, 2.0**52 + _DOUBLE.bias)
    )
    product = clamped(b * _limits(a, log), -200.0, 200.0)
    n, bits = nearest_integer(product, 1.0, _DOUBLE.bias)
    result = polynomial(product - n, coefficients.POWF_EXP2[64]) * power_of_two(bits, a.dtype)
    return result.to_float(dtypes.float32)


#: multiplied with subnormal numbers: powers of 8
_LIFTS = {dtypes.float64: 54, dtypes.float32: 24}


def cbrt(x: Register) -> Register:
    """2**q · cbrt(v), v between 2**-1.5 and 2**1.5: p, about v**(-1/3) by a polynomial, then a step of Newton's to the root from v p**2."""
    f, size = format_of(x), magnitude(x)
    lift = _LIFTS[x.dtype]
    subnormal = size < f.least_normal
    m, exponent = split(select(subnormal, size * 2.0**lift, size))
    k = as_number(exponent, x.dtype, 2.0**f.fraction + f.bias)
    q, bits = nearest_integer(k, 1 / 3, f.bias)
    rest = k - 3.0 * q
    p = polynomial(m - 1.0, coefficients.CBRT[f.bits])
    p = p * select(rest > 0.0, p.lift(2 ** (-1 / 3)), select(rest < 0.0, p.lift(2 ** (1 / 3)), 1.0))
    v = m * select(rest > 0.0, p.lift(2.0), select(rest < 0.0, p.lift(0.5), 1.0))
    square = p * p
    root = v * square
    over = _cube_over(root, v)
    result = multiply_add(over * square, -1 / 3, root) * power_of_two(bits, x.dtype)
    result = select(subnormal, result * 2.0 ** (-lift // 3), result)
    ordinary = (size.bitcast(f.unsigned) - 1) < f.bits_of(math.inf) - 1
    return select(ordinary, with_sign_of(result, x), x)


def _cube_over(root: Register, v: Register) -> Register:
    """``root**3 - v``, which is small."""
    if root.dtype is dtypes.float32:
        wide = root.to_float(dtypes.float64)
        return (wide * wide * wide - v.to_float(dtypes.float64)).to_float(dtypes.float32)
    square, square_rest = product_with_rest(root, root)
    cube, cube_rest = product_with_rest(square, root)
    return (cube - v) + (cube_rest + square_rest * root)


@dataclass(frozen=True)
class _Squares:
    """From where to where numbers may be squared and added, and the exponent of the power of two that brings others there."""

    low: float
    high: float
    shift: int


_SQUARES = {dtypes.float64: _Squares(2.0**-510, 2.0**511, 600), dtypes.float32: _Squares(2.0**-62, 2.0**63, 90)}


def hypot(a: Register, b: Register) -> Register:
    x, y, limits = magnitude(a), magnitude(b), _SQUARES[a.dtype]
    larger = select(x > y, x, y)
    too_large, too_small = larger > limits.high, larger < limits.low
    up, down = 2.0**limits.shift, 2.0**-limits.shift
    x, y = (v * select(too_large, v.lift(down), select(too_small, v.lift(up), 1.0)) for v in (x, y))
    root = intrinsic("sqrt", sum_of_squares(x, y, infinite=True))
    return root * select(too_large, root.lift(up), select(too_small, root.lift(down), 1.0))


def sum_of_squares(x: Register, y: Register, *, infinite: bool = False) -> Register:
    """``x * x + y * y``; ``infinite`` says that it is to be that where one number is, even beside NaN."""
    total = multiply_add(x, x, y * y)
    if not infinite:
        return total
    return select((magnitude(x) == math.inf) | (magnitude(y) == math.inf), math.inf, total)
