"""C's ``fmod``, several elements at a time.

No vector library has it, and libm's takes 20 ns. Where the quotient fits a float's fraction, the remainder is ``a -
trunc(a / b) * b`` in one fused operation, without error: the product is exact inside it, and the remainder is
representable. The rounded quotient may be one too large, which shows in the remainder's sign. If a lane's quotient is
larger, or infinite or NaN, all lanes take the slow way.

A straight line of instructions could not branch like this, so it is a function of the module with vector forms of its
own, which the loop vectoriser finds by the attribute that names libmvec's (see :mod:`tnp.executors.llvm.vectormath`).
"""

from __future__ import annotations

import math

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.registers import Register, constant

__all__ = ["fmod"]

_TEMPLATE = """
define internal {type} @{name}({type} %a, {type} %b) {attributes} {{
  %quotient = fdiv {type} %a, %b
  %whole = call {type} @llvm.trunc.{suffix}({type} %quotient)
  %size = call {type} @llvm.fabs.{suffix}({type} %quotient)
  %large = fcmp uge {type} %size, {limit}
  %b.size = call {type} @llvm.fabs.{suffix}({type} %b)
  %b.infinite = fcmp oeq {type} %b.size, {infinity}
  %hard = or {mask} %large, %b.infinite
  %any = {any}
  br i1 %any, label %slow, label %fast
slow:
  %remainder = frem {type} %a, %b
  ret {type} %remainder
fast:
  %minus = fneg {type} %whole
  %rest = call {type} @llvm.fma.{suffix}({type} %minus, {type} %b, {type} %a)
  %step = call {type} @llvm.copysign.{suffix}({type} %b, {type} %a)
  %next = fadd {type} %rest, %step
  %positive = fcmp ogt {type} %rest, {zero}
  %negative = fcmp olt {type} %rest, {zero}
  %a.negative = fcmp olt {type} %a, {zero}
  %wrong = select {mask} %a.negative, {mask} %positive, {mask} %negative
  %right = select {mask} %wrong, {type} %next, {type} %rest
  %result = call {type} @llvm.copysign.{suffix}({type} %right, {type} %a)
  ret {type} %result
}}"""


def _definition(name: str, dtype: DType, lanes: int, attributes: str) -> str:
    """The function of one element (``lanes`` 0) or of vectors."""
    element, suffix, digits = ("float", "f32", 23) if dtype is dtypes.float32 else ("double", "f64", 52)
    limit, infinity = constant(2.0**digits, dtype), constant(math.inf, dtype)
    if not lanes:
        return _TEMPLATE.format(
            name=name, attributes=attributes, type=element, suffix=suffix, mask="i1",
            limit=limit, infinity=infinity, zero="0.0", any="or i1 %hard, false",
        )  # fmt: skip
    mask = f"<{lanes} x i1>"
    return _TEMPLATE.format(
        name=name, attributes=attributes, type=f"<{lanes} x {element}>", suffix=f"v{lanes}{suffix}", mask=mask,
        limit=f"splat ({element} {limit})", infinity=f"splat ({element} {infinity})", zero="zeroinitializer",
        any=f"call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %hard)",
    )  # fmt: skip


def fmod(a: Register, b: Register) -> Register:
    """The remainder with ``a``'s sign, exactly."""
    code, dtype = a.code, a.dtype
    if not vectormath.has_fma():
        return Register(code, code.op(f"frem {a.type} {a.text}, {b.text}"), dtype)
    name = f"tnp_fmod_{a.type}"
    vectormath.define_with_forms(code, name, dtype, 2, _definition)
    return Register(code, code.op(f"call {a.type} @{name}({a.type} {a.text}, {a.type} {b.text})"), dtype)
