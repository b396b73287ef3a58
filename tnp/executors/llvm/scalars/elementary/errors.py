"""erf: x · (1 + P(x**2)) up to 1, and 1 - exp(Q(x)) beyond, where Q approximates log(1 - erf(x))."""

from __future__ import annotations

from tnp.executors.llvm.scalars.elementary import coefficients
from tnp.executors.llvm.scalars.elementary.arithmetic import (
    format_of,
    magnitude,
    multiply_add,
    polynomial,
    power_of_two,
    with_sign_of,
)
from tnp.executors.llvm.scalars.elementary.exponentials import reduced
from tnp.executors.llvm.scalars.registers import Register, select

__all__ = ["erf"]

#: from here on erf is 1
_HIGHEST = 6.0


def erf(x: Register) -> Register:
    f, size = format_of(x), magnitude(x)
    small = multiply_add(size, polynomial(x * x, coefficients.ERF[f.bits]), size)
    r, bits = reduced(polynomial(select(size > _HIGHEST, _HIGHEST, size), coefficients.LOG_ERFC[f.bits]), f.bias)
    tail = multiply_add(r * r, polynomial(r, coefficients.EXP[f.bits]), r)
    power = power_of_two(bits, x.dtype)
    large = (1.0 - power) - power * tail
    return with_sign_of(select(size < 1.0, small, large), x)
