"""log, log2, log10 and log1p.

log(x) = k · log(2) + log(1 + f): x is 2**k · (1 + f), with 1 + f between the square roots of 1/2 and 2. log(1 + f) = f
+ f**2 · P(f) is a polynomial of some length rather than the usual series of f / (2 + f): a loop over the elements has
no division then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.elementary import coefficients
from tnp.executors.llvm.scalars.elementary.arithmetic import (
    first_half,
    fma,
    format_of,
    multiply_add,
    polynomial,
    power_of_two,
    sum_with_rest,
)
from tnp.executors.llvm.scalars.elementary.exponentials import LOG2_PARTS
from tnp.executors.llvm.scalars.registers import Register, intrinsic, select

__all__ = ["log", "log1p", "log2", "log10"]


@dataclass(frozen=True)
class _Base:
    """What a base needs in one dtype: log(2) and 1 / log(base), to that base, in two parts each, and P over log(base)."""

    log2: tuple[float, float]
    scale: tuple[float, float]
    polynomial: tuple[float, ...]


_NATURAL = {d: _Base(parts, (1.0, 0.0), coefficients.LOG[d.bits]) for d, parts in LOG2_PARTS.items()}
_BINARY = {
    d: _Base((1.0, 0.0), tuple(map(float.fromhex, parts)), coefficients.LOG2[d.bits])
    for d, parts in {
        dtypes.float64: ("0x1.71547652b82fep+0", "0x1.777d0ffda0d24p-56"),
        dtypes.float32: ("0x1.7154760000000p+0", "0x1.4ae0c00000000p-26"),
    }.items()
}
_DECIMAL = {
    d: _Base(tuple(map(float.fromhex, log2)), tuple(map(float.fromhex, scale)), coefficients.LOG10[d.bits])
    for d, log2, scale in (
        (dtypes.float64, ("0x1.34413509f7000p-2", "0x1.3fde623e2566bp-43"),
         ("0x1.bcb7b1526e50ep-2", "0x1.95355baaafad3p-57")),
        (dtypes.float32, ("0x1.3440000000000p-2", "0x1.3509f80000000p-18"),
         ("0x1.bcb7b20000000p-2", "-0x1.5b235e0000000p-27")),
    )
}  # fmt: skip

_ROOT_OF_HALF = {dtypes.float64: 0x3FE6A09E667F3BCD, dtypes.float32: 0x3F3504F3}


def split(x: Register) -> tuple[Register, Register]:
    """The significand of a normal number, between the square roots of 1/2 and 2, and the power of two's biased exponent."""
    f, low = format_of(x), _ROOT_OF_HALF[x.dtype]
    moved = x.bitcast(f.integer) + ((f.bias << f.fraction) - low)
    exponent = (moved.bitcast(f.unsigned) >> f.fraction).bitcast(f.integer)
    return ((moved & ((1 << f.fraction) - 1)) + low).bitcast(x.dtype), exponent


def as_number(exponent: Register, dtype: DType, less: Register | float) -> Register:
    """A small positive integer as a floating number, less another: by its bits, because not all processors convert int64."""
    f = format_of(Register(exponent.code, "", dtype))
    return (exponent | f.bits_of(2.0**f.fraction)).bitcast(dtype) - less


def _logarithm(f: Register, k: Register, base: _Base) -> Register:
    """k · log(2) + log(1 + f) to that base."""
    high, low = base.scale
    tail = f * f * polynomial(f, base.polynomial)
    if base.log2[1]:
        tail = multiply_add(k, base.log2[1], tail)
    if high == 1.0:
        rest = f + tail
    elif vectormath.has_fma():
        rest = fma(f, high, fma(f, low, tail))
    else:
        # The product of the upper halves is exact.
        format_, upper = format_of(f), first_half(f)
        short = format_.rounded(high, format_.fraction // 2)
        rest = upper * short + (((f - upper) * short + f * (high - short + low)) + tail)
    return multiply_add(k, base.log2[0], rest)


def _of(bases: dict[DType, _Base]) -> Callable[[Register], Register]:
    def call(x: Register) -> Register:
        f = format_of(x)
        subnormal = x < f.least_normal
        lift = 2.0 ** (f.fraction + 1)
        m, exponent = split(select(subnormal, x * lift, x))
        whole = 2.0**f.fraction + f.bias
        k = as_number(exponent, x.dtype, select(subnormal, x.lift(whole + f.fraction + 1), whole))
        result = _logarithm(m - 1.0, k, bases[x.dtype])
        # 0 < x < inf in one comparison of bits
        ordinary = (x.bitcast(f.unsigned) - 1) < f.bits_of(math.inf) - 1
        return select(ordinary, result, select(x == 0.0, -math.inf, select(x < 0.0, math.nan, x)))

    return call


log, log2, log10 = _of(_NATURAL), _of(_BINARY), _of(_DECIMAL)


def log1p(x: Register) -> Register:
    """As log of 1 + x, with what rounds away in that sum added to f."""
    f = format_of(x)
    total, rest = sum_with_rest(x.lift(1.0), x)
    m, exponent = split(total)
    scale = power_of_two(intrinsic("smax", 2 * f.bias - exponent, 0), x.dtype)
    k = as_number(exponent, x.dtype, 2.0**f.fraction + f.bias)
    result = _logarithm(multiply_add(rest, scale, m - 1.0), k, _NATURAL[x.dtype])
    ordinary = (x > -1.0) & (x < math.inf) & (x != 0.0)
    return select(ordinary, result, select(x == -1.0, -math.inf, select(x < -1.0, math.nan, x)))
