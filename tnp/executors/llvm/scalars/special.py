"""Floating-point functions that neither LLVM nor every libm has: on bits, by series and by rational approximation.

All are straight-line code, with selects instead of branches, so loops over them vectorise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm.scalars.conversions import narrow, widen
from tnp.executors.llvm.scalars.elementary import call
from tnp.executors.llvm.scalars.registers import Register, intrinsic, select

__all__ = ["NARROW_BITS", "SPECIAL", "frexp", "ldexp"]

#: (exponent's bias, bits of the fraction)
_FORMATS = {dtypes.float32: (127, 23), dtypes.float64: (1023, 52)}


def _signed(dtype: DType) -> DType:
    return dtypes.by_name(f"int{dtype.bits}")


def _power_of_two(n: Register, dtype: DType) -> Register:
    """``2**n`` for an ``n`` that is a normal number's exponent; ``n`` is an integer as wide as ``dtype``."""
    bias, fraction = _FORMATS[dtype]
    return ((n + bias) << fraction).bitcast(dtype)


def _clamped(n: Register, low: int, high: int) -> Register:
    return intrinsic("smin", intrinsic("smax", n, low), high)


def ldexp(a: Register, n: Register) -> Register:
    """``a * 2**n`` rounded once; ``n`` is int64."""
    if a.dtype is not dtypes.float64:
        scale = _power_of_two(_clamped(n, -400, 400), dtypes.float64)
        return narrow(widen(a).to_float(dtypes.float64) * scale, a.dtype)
    # In three steps; downwards the first two stay 53 bits clear of the subnormal numbers, where each would round.
    n = _clamped(n, -3100, 3100)
    for _ in range(2):
        down = n < -1022
        step = select(down, -1022 + 53, intrinsic("smin", n, 1023))
        step = select(down | (n > 1023), step, 0)
        a = a * _power_of_two(step, a.dtype)
        n = n - step
    return a * _power_of_two(_clamped(n, -1022, 1023), a.dtype)


def frexp(a: Register) -> tuple[Register, Register]:
    """The mantissa, its magnitude in [0.5, 1), and the int32 exponent, which is 0 for zeros, infinities and NaN."""
    dtype = a.dtype
    if dtype not in _FORMATS:
        mantissa, exponent = frexp(widen(a))
        return narrow(mantissa, dtype), exponent
    bias, fraction = _FORMATS[dtype]
    subnormal = intrinsic("fabs", a) < 2.0 ** (1 - bias)
    scaled = select(subnormal, a * 2.0 ** (fraction + 2), a)
    bits = scaled.bitcast(_signed(dtype))
    mask = (2 * bias + 1) << fraction
    exponent = ((bits & mask) >> fraction) - (bias - 1)
    exponent = select(subnormal, exponent - (fraction + 2), exponent)
    mantissa = ((bits & ~mask) | ((bias - 1) << fraction)).bitcast(dtype)
    ordinary = (a != 0) & (intrinsic("fabs", a) < math.inf)
    return select(ordinary, mantissa, a), select(ordinary, exponent, 0).resize(dtypes.int32)


def _signbit(a: Register) -> Register:
    return a.bitcast(_signed(a.dtype)) < 0


def _nextafter(a: Register, b: Register) -> Register:
    bits = a.bitcast(_signed(a.dtype))
    grows = (a < b) ^ (a < 0)
    moved = (bits + select(grows, bits.lift(1), -1)).bitcast(a.dtype)
    least = intrinsic("copysign", bits.lift(1).bitcast(a.dtype), b)
    moved = select(a == 0, least, moved)
    unordered = Register(a.code, a.code.op(f"fcmp uno {a.type} {a.text}, {b.text}"), dtypes.bool8)
    return select(unordered, a + b, select(a == b, b, moved))


def _spacing(a: Register) -> Register:
    """To the next number away from zero; of negative numbers it is negative."""
    nonzero = select(a == 0, 0.0, a)
    following = (nonzero.bitcast(_signed(a.dtype)) + 1).bitcast(a.dtype)
    return select(intrinsic("fabs", a) < math.inf, following - nonzero, math.nan)


def _in_double(function: Callable[[Register], Register]) -> Callable[[Register], Register]:
    """float32 goes through float64: cheaper than approximations of its own."""
    return lambda a: function(a.to_float(dtypes.float64)).to_float(a.dtype)


#: Bernoulli numbers B(2k) / 2k
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


def _digamma(a: Register) -> Register:
    """Reflection to positive numbers, recurrence up to 10, the asymptotic series (Abramowitz & Stegun 6.3.7, 6.3.5, 6.3.18)."""
    negative = a <= 0
    x = select(negative, 1.0 - a, a)
    # The sum of 1/x over the steps is kept as a fraction, for one division in all.
    numerator, denominator = x.lift(0.0), x.lift(1.0)
    for _ in range(10):
        small = x < 10
        numerator = select(small, numerator * x + denominator, numerator)
        denominator = select(small, denominator * x, denominator)
        x = select(small, x + 1.0, x)
    s = 1.0 / (x * x)
    result = call("log", x) - 0.5 / x - s * _polynomial(s, _DIGAMMA_SERIES) - numerator / denominator
    result = select(x == math.inf, math.inf, result)
    fraction = a - intrinsic("rint", a)
    reflected = result - math.pi / call("tan", fraction * math.pi)
    reflected = select(fraction == 0, math.nan, reflected)
    result = select(negative, reflected, result)
    return select(a == 0, intrinsic("copysign", a.lift(math.inf), -a), result)


def _polynomial(x: Register, coefficients: tuple[float, ...]) -> Register:
    """Horner's scheme; the constant term comes first."""
    *rest, last = coefficients
    result = x.lift(last)
    for c in reversed(rest):
        result = result * x + c
    return result


#: M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", 1988: in each of three ranges
#: the numerator's and the denominator's coefficients, constant term first
_AS241 = (
    (
        (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
        (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
    ),
    (
        (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
        (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
    ),
    (
        (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
        (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
    ),
)  # fmt: skip


def _erfinv(a: Register) -> Register:
    """The normal distribution's quantile at (a + 1) / 2, over the square root of 2."""
    magnitude = intrinsic("fabs", a)
    central = magnitude <= 0.85
    half = a * 0.5
    r = intrinsic("sqrt", -call("log", (1.0 - magnitude) * 0.5))
    far = r > 5.0
    variable = select(central, 0.180625 - half * half, select(far, r - 5.0, r - 1.6))
    top, bottom = (_polynomial_by_range(variable, central, far, [_AS241[i][part] for i in range(3)]) for part in (0, 1))
    quantile = select(central, half, intrinsic("copysign", a.lift(1.0), a)) * (top / bottom)
    result = quantile * math.sqrt(0.5)
    return select(magnitude == 1, intrinsic("copysign", a.lift(math.inf), a), result)


def _polynomial_by_range(x: Register, first: Register, third: Register, ranges: list[tuple[float, ...]]) -> Register:
    """Horner's scheme with coefficients chosen by range."""
    result = None
    for coefficients in zip(*(reversed(r) for r in ranges)):
        a, b, c = (x.lift(v) for v in coefficients)
        chosen = a if coefficients[0] == coefficients[1] else select(first, a, select(third, c, b))
        result = chosen if result is None else result * x + chosen
    return result


SPECIAL: dict[str, Callable[..., Register]] = {
    "digamma": _in_double(_digamma),
    "erfinv": _in_double(_erfinv),
    "nextafter": _nextafter,
    "signbit": _signbit,
    "spacing": _spacing,
}

_SIGN, _MAGNITUDE = 0x8000, 0x7FFF


def _bits(a: Register) -> Register:
    return a.bitcast(dtypes.uint16) if a.dtype is dtypes.float16 else Register(a.code, a.text, dtypes.uint16)


def _on_bits(function: Callable[..., Register]) -> Callable[..., Register]:
    """A function of the bits of float16 or bfloat16 values."""

    def narrow_function(*args: Register) -> Register:
        bits = function(*(_bits(a) for a in args))
        return bits if args[0].dtype is dtypes.bfloat16 else bits.bitcast(dtypes.float16)

    return narrow_function


def _narrow_nextafter(a: Register, b: Register) -> Register:
    x, y, bits = widen(a), widen(b), _bits(a)
    moved = bits + select((x < y) ^ (x < 0), bits.lift(1), 0xFFFF)
    moved = select(x == 0, (_bits(b) & _SIGN) | 1, moved)
    unordered = x.isnan() | y.isnan()
    quiet = 0x7E00 if a.dtype is dtypes.float16 else 0x7FC0
    return _as_narrow(select(unordered, quiet, select(x == y, bits, moved)), a.dtype)


def _as_narrow(bits: Register, dtype: DType) -> Register:
    return Register(bits.code, bits.bitcast(dtype).text, dtype)


def _narrow_spacing(a: Register) -> Register:
    """To the next greater number: unlike in the wider types, positive for negative numbers too."""
    x, bits = widen(a), _bits(a)
    following = select(x == 0, 1, bits + select(x < 0, bits.lift(0xFFFF), 1))
    difference = widen(_as_narrow(following, a.dtype)) - x
    return narrow(select(intrinsic("fabs", x) < math.inf, difference, math.nan), a.dtype)


#: what float16 and bfloat16 do on their own bits instead of in float32
NARROW_BITS: dict[str, Callable[..., Register]] = {
    "abs": _on_bits(lambda a: a & _MAGNITUDE),
    "conj": lambda a: a,
    "copysign": _on_bits(lambda a, b: (a & _MAGNITUDE) | (b & _SIGN)),
    "neg": _on_bits(lambda a: a ^ _SIGN),
    "nextafter": _narrow_nextafter,
    "positive": lambda a: a,
    "spacing": _narrow_spacing,
}
