"""exp of float64 as a straight line of instructions, for systems without libmvec.

Of all functions it is the one that is used most, and libm's would be called for each element. (Where there is libmvec, this is
as fast alone, and slower in a loop that calls other functions, around which its constants are kept on the stack.)

exp(x) = 2**k · exp(r), where k is the whole number nearest to x / log(2) and r is what remains, reduced with log(2) in two parts (W. J. Cody and
W. Waite, "Software Manual for the Elementary Functions", 1980). The error is about 1 ulp.
"""

from __future__ import annotations

import math

from tnp.core import dtypes
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.registers import Register, intrinsic, libm, select

__all__ = ["exp"]

_LOG2_HIGH, _LOG2_LOW = math.log(2.0), float.fromhex("0x1.abc9e3b39803fp-56")

#: (exp(r) - 1 - r) / r**2 for abs(r) <= log(2) / 2, interpolated at Chebyshev's points; constant term first
_TAIL = tuple(map(float.fromhex, (
    "0x1.0000000000001p-1", "0x1.5555555555556p-3", "0x1.5555555553d63p-5", "0x1.11111111109b3p-7",
    "0x1.6c16c1788bd90p-10", "0x1.a01a01a7c41d5p-13", "0x1.a019b90d2ae7ap-16", "0x1.71de0dae63bb3p-19",
    "0x1.289185613a3d6p-22", "0x1.af38a9b0ec855p-26",
)))  # fmt: skip

#: where exp is 0, and where it is infinite
_LOWEST, _HIGHEST = -746.0, 710.0


def _fma(a: Register, b: Register | float, c: Register | float) -> Register:
    return intrinsic("fma", a, b, c)


def _product(a: Register, b: Register) -> Register:
    """A product that may not be reordered."""
    return Register(a.code, a.code.op(f"fmul double {a.text}, {b.text}"), dtypes.float64)


def exp(x: Register) -> Register:
    """exp of float32 or float64."""
    if x.dtype is not dtypes.float64 or vectormath.is_vectorised("exp", x.dtype) or not vectormath.has_fma():
        return libm("exp", x)
    return _in_line(x)


def _in_line(x: Register) -> Register:
    x = select(x < _LOWEST, _LOWEST, select(x > _HIGHEST, _HIGHEST, x))
    k = intrinsic("rint", _product(x, x.lift(1 / math.log(2.0))))
    r = _fma(k, -_LOG2_LOW, _fma(k, -_LOG2_HIGH, x))
    # Estrin's scheme: shorter chains than Horner's
    square = _product(r, r)
    fourth = _product(square, square)
    pairs = [_fma(r, _TAIL[i + 1], r.lift(_TAIL[i])) for i in range(0, 10, 2)]
    low = _fma(square, pairs[1], pairs[0])
    middle = _fma(square, pairs[3], pairs[2])
    tail = _fma(fourth, _fma(fourth, pairs[4], middle), low)
    result = _fma(square, tail, r)
    result = _fma(result, 1.0, 1.0)
    # Twice half the exponent: each is a normal number's. NaN has no whole number, and whichever is frozen here, it stays NaN.
    code = x.code
    n = Register(code, code.op(f"freeze i32 {code.op(f'fptosi double {k.text} to i32')}"), dtypes.int32)
    half = n >> 1
    for part in (half, n - half):
        scale = ((part + 1023).resize(dtypes.int64) << 52).bitcast(dtypes.float64)
        result = _product(result, scale)
    return result
