"""sin, cos and tan, for processors with fused products.

x = q π/2 + r, with r between -π/4 and π/4; the quadrant q says which of ±sin(r) and ±cos(r) is meant, and both are
computed. The multiple is subtracted in three parts of π/2. With fused products the first difference is exact however
large the multiple, and the others are rounded once each, so that r has an error of about an ulp wherever the multiple
itself is known.

From some size on it is not. If an element is that far out, libm computes it. A straight line of instructions cannot
branch, so that is a small function of the module with vector forms of its own, as in
:mod:`tnp.executors.llvm.scalars.fmod`.
"""

from __future__ import annotations

import math
from functools import partial

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.elementary import coefficients
from tnp.executors.llvm.scalars.elementary.arithmetic import (
    fma,
    format_of,
    magnitude,
    nearest_integer,
    polynomial,
    with_sign_of,
)
from tnp.executors.llvm.scalars.registers import Register, constant, select

__all__ = ["cos", "sin", "tan"]

#: π/2 in parts, each cut off rather than rounded: products of 0 with them keep their sign
_PARTS = {
    dtypes.float64: ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107"),
    dtypes.float32: ("0x1.921fb40000000p+0", "0x1.4442d00000000p-24", "0x1.8469880000000p-48"),
}
#: up to here 2/π, rounded, tells the multiple
_FAR = {dtypes.float64: 2.0**40, dtypes.float32: 2.0**14}


def _quadrant(x: Register) -> tuple[Register, Register]:
    """r, and a number with q in its low bits."""
    multiple, bits = nearest_integer(x, 2 / math.pi)
    for part in _PARTS[x.dtype]:
        x = fma(multiple, -float.fromhex(part), x)
    return x, bits


def _sine_and_cosine(r: Register) -> tuple[Register, Register]:
    """sin(r) without its sign, and cos(r): the sign is left out of the sum, in which that of zero would be lost."""
    f, size = format_of(r), magnitude(r)
    square = r * r
    sine = fma(size * square, polynomial(square, coefficients.SIN[f.bits]), size)
    return sine, fma(square * square, polynomial(square, coefficients.COS[f.bits]), fma(square, -0.5, 1.0))


def _of_quadrant(r: Register, q: Register) -> Register:
    """sin(r + q π/2)."""
    f = format_of(r)
    sine, cosine = _sine_and_cosine(r)
    result = select((q & 1) != 0, cosine, with_sign_of(sine, r))
    sign = (q << (f.bits - 2)) & (-1 << (f.bits - 1))
    return (result.bitcast(f.integer) ^ sign).bitcast(r.dtype)


def sin(x: Register) -> Register:
    return _unless_far(x, _of_quadrant(*_quadrant(x)), "sin")


def cos(x: Register) -> Register:
    r, q = _quadrant(x)
    return _unless_far(x, _of_quadrant(r, q + 1), "cos")


def tan(x: Register) -> Register:
    """sin(r) / cos(r), or in odd quadrants -cos(r) / sin(r)."""
    f = format_of(x)
    r, q = _quadrant(x)
    sine, cosine = _sine_and_cosine(r)
    odd = (q & 1) != 0
    quotient = select(odd, cosine, sine) / select(odd, sine, cosine)
    sign = (r.bitcast(f.integer) ^ (q << (f.bits - 1))) & (-1 << (f.bits - 1))
    return _unless_far(x, (quotient.bitcast(f.integer) ^ sign).bitcast(x.dtype), "tan")


_TEMPLATE = """
define internal {type} @{symbol}({type} %x, {type} %near) {attributes} {{
  %size = call {type} @llvm.fabs.{suffix}({type} %x)
  %far = fcmp ogt {type} %size, {limit}
  %any = {any}
  br i1 %any, label %slow, label %fast
slow:
  %all = call {type} @llvm.{name}.{suffix}({type} %x)
  %result = select {mask} %far, {type} %all, {type} %near
  ret {type} %result
fast:
  ret {type} %near
}}"""


def _definition(name: str, symbol: str, dtype: DType, lanes: int, attributes: str) -> str:
    element, suffix = ("float", "f32") if dtype is dtypes.float32 else ("double", "f64")
    limit = constant(_FAR[dtype], dtype)
    if not lanes:
        return _TEMPLATE.format(
            symbol=symbol, name=name, attributes=attributes, type=element, suffix=suffix, limit=limit, mask="i1",
            any="or i1 %far, false",
        )  # fmt: skip
    mask = f"<{lanes} x i1>"
    return _TEMPLATE.format(
        symbol=symbol, name=name, attributes=attributes, type=f"<{lanes} x {element}>", suffix=f"v{lanes}{suffix}",
        limit=f"splat ({element} {limit})", mask=mask, any=f"call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %far)",
    )  # fmt: skip


def _unless_far(x: Register, near: Register, name: str) -> Register:
    code, dtype = x.code, x.dtype
    symbol = f"tnp_far_{name}_{x.type}"
    vectormath.define_with_forms(code, symbol, dtype, 2, partial(_definition, name))
    return Register(code, code.op(f"call {x.type} @{symbol}({x.type} {x.text}, {x.type} {near.text})"), dtype)
