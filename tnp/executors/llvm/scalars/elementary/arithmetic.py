"""What the elementary functions are written with: fused products where the processor has them, powers of two,
polynomials.

All of it is exact or rounded once in the way that is said, so it must not be rearranged: the functions' code is never
``fast``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.registers import Register, intrinsic, select

__all__ = [
    "FORMATS", "Format", "clamped", "first_half", "fma", "format_of", "magnitude", "multiply_add", "nearest_integer", "polynomial",
    "power_of_two", "product_with_rest", "sum_of_larger", "sum_with_rest", "with_sign_of",
]  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A binary floating format: its exponent's bias, the bits of its fraction, and the integers of its width."""

    bits: int
    bias: int
    fraction: int
    integer: DType

    @property
    def unsigned(self) -> DType:
        return dtypes.by_name(f"u{self.integer}")

    @property
    def shift(self) -> float:
        """Added to a number, it leaves the nearest whole number in the low bits of the sum."""
        return 1.5 * 2.0**self.fraction

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    def bits_of(self, x: float) -> int:
        """A constant as an integer of its bits."""
        return int.from_bytes(struct.pack("<d" if self.bits == 64 else "<f", x), "little")

    def rounded(self, x: float, digits: int) -> float:
        """A constant with so many bits, the first included."""
        mantissa, exponent = math.frexp(x)
        return math.ldexp(round(mantissa * 2**digits), exponent - digits)


FORMATS = {
    dtypes.float32: Format(32, 127, 23, dtypes.int32),
    dtypes.float64: Format(64, 1023, 52, dtypes.int64),
}


def format_of(a: Register) -> Format:
    return FORMATS[a.dtype]


def fma(a: Register, b: Register | float, c: Register | float) -> Register:
    """``a * b + c``, rounded once; only where :func:`vectormath.has_fma`."""
    return intrinsic("fma", a, b, c)


def multiply_add(a: Register, b: Register | float, c: Register | float) -> Register:
    """``a * b + c``, rounded once or twice, whichever the processor does faster."""
    return fma(a, b, c) if vectormath.has_fma() else a * b + c


def polynomial(x: Register, coefficients: Sequence[float]) -> Register:
    """The polynomial whose constant term comes first.

    By Estrin's scheme (pairs, pairs of pairs, and so on), for a processor does not look far enough ahead to work at several of
    Horner's chains at once. The constant term is added last: in the scheme, each sum would round it again.
    """
    constant, *terms = coefficients
    power = x
    while len(terms) > 1:
        rest = terms[len(terms) & ~1 :]
        terms = [multiply_add(power, high, x.lift(low)) for low, high in zip(terms[::2], terms[1::2])] + rest
        if len(terms) > 1:
            power = power * power
    return multiply_add(x, terms[0], x.lift(constant))


def nearest_integer(x: Register, scale: float, plus: int = 0) -> tuple[Register, Register]:
    """The whole number nearest to ``x * scale`` (or next to it, at ties), and bits of which the lowest are that number plus ``plus``.

    ``abs(x * scale)`` is below a quarter of :attr:`Format.shift`.
    """
    f = format_of(x)
    shifted = multiply_add(x, scale, f.shift + plus)
    return shifted - (f.shift + plus), shifted.bitcast(f.integer)


def power_of_two(biased: Register, dtype: DType) -> Register:
    """2 to the power of ``biased`` less the bias; other bits of ``biased`` above the exponent's are dropped."""
    return (biased << FORMATS[dtype].fraction).bitcast(dtype)


def magnitude(a: Register) -> Register:
    return intrinsic("fabs", a)


def with_sign_of(a: Register, sign: Register) -> Register:
    return intrinsic("copysign", a, sign)


def sum_with_rest(a: Register, b: Register) -> tuple[Register, Register]:
    """``a + b``, and exactly what its rounding left (D. E. Knuth, "The Art of Computer Programming", 4.2.2, theorem B)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def product_with_rest(a: Register, b: Register | float) -> tuple[Register, Register]:
    """``a * b``, and exactly what its rounding left.

    Without fused products by halves of 26 and 27 bits (T. J. Dekker, "A floating-point technique for extending the available
    precision", 1971); for float64 only.
    """
    b = a.lift(b)
    product = a * b
    if vectormath.has_fma():
        return product, fma(a, b, -product)
    (a0, a1), (b0, b1) = _halves(a), _halves(b)
    return product, ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1


def _halves(a: Register) -> tuple[Register, Register]:
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def first_half(a: Register) -> Register:
    """``a`` without the lower half of its fraction's bits."""
    f = format_of(a)
    return (a.bitcast(f.integer) & (-1 << (f.fraction // 2 + 1))).bitcast(a.dtype)


def sum_of_larger(a: Register | float, b: Register) -> tuple[Register, Register]:
    """``a + b``, and exactly what its rounding left, where ``a`` is 0 or the larger in magnitude."""
    a = b.lift(a)
    total = a + b
    return total, (a - total) + b


def clamped(x: Register, low: float, high: float) -> Register:
    """``x`` between two numbers; NaN stays."""
    x = select(x < low, low, x)
    return select(x > high, high, x)
