"""The beta function of real arrays in double precision, and its logarithm: by Lanczos's approximation of the gamma function.

For positive ``z``, ``gamma(z) = (z + G)**(z - 1/2) * exp(1/2 - z) * S(z)``, where ``S`` is a quotient of polynomials with positive
coefficients (C. Lanczos, "A precision approximation of the gamma function", 1964). In ``gamma(p) * gamma(q) / gamma(p + q)`` the
exponentials cancel. Two powers of quotients remain. How much rounding changes a quotient is computed, too, because the power
magnifies it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tnp.core import clang, dtypes
from tnp.lang.scipy.special_approximations import fitted, horner
from tnp.lang.scipy.special_coefficients import LANCZOS

__all__ = ["beta", "betaln"]

#: the shift of the bases of powers: a whole number, so that adding it rounds little
G = 8.0
#: SciPy takes larger whole numbers for infinite
_LARGEST_WHOLE = 2.0**31


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """``a + b``, and what rounding took away (D. E. Knuth's TwoSum)."""
    total = clang.add(a, b)
    part = clang.sub(total, a)
    return total, clang.add(clang.sub(a, clang.sub(total, part)), clang.sub(b, part))


def _halves(a: Any) -> tuple[Any, Any]:
    """Two numbers of 26 bits whose sum is ``a`` (T. J. Dekker's splitting)."""
    scaled = clang.mul(a, 2.0**27 + 1)
    high = clang.sub(scaled, clang.sub(scaled, a))
    return high, clang.sub(a, high)


def _rest_of_quotient(a: Any, b: Any, quotient: Any) -> Any:
    """``a - quotient * b``."""
    (c, d), (e, f) = _halves(quotient), _halves(b)
    rest = clang.sub(a, clang.mul(c, e))
    return clang.sub(clang.sub(clang.sub(rest, clang.mul(c, f)), clang.mul(d, e)), clang.mul(d, f))


def _lanczos(z: Any) -> Any:
    """``S(z)`` for ``z > 0``."""
    z = clang.minimum(z, 1e20)  # beyond that it does not change
    below = z
    for k in range(1, len(LANCZOS) - 1):
        below = clang.mul(below, clang.add(z, float(k)))
    return clang.div(horner(z, LANCZOS), below)


class _Parts(NamedTuple):
    """The beta function is ``factor * first**(p - 1/2) * second**q * exp(rest)``."""

    factor: Any
    first: Any
    second: Any
    rest: Any
    #: the logarithm of the two powers
    logarithm: Any


def _parts(p: Any, q: Any) -> _Parts:
    """Of ``p >= q >= 0``."""
    a, a_rest = _sum(p, G)
    b, b_rest = _sum(q, G)
    total, rest = _sum(p, q)
    c, c_rest = _sum(total, G)
    c_rest = clang.div(clang.add(rest, c_rest), c)
    first, second = clang.div(a, c), clang.div(b, c)
    # Beyond, halves are infinite, and a quotient is 1, or the function is 0.
    is_small = clang.lt(c, 1e290)
    first_rest = clang.sub(
        clang.div(clang.add(clang.where(is_small, _rest_of_quotient(a, c, first), 0.0), a_rest), a), c_rest
    )
    second_rest = clang.sub(
        clang.div(clang.add(clang.where(is_small, _rest_of_quotient(b, c, second), 0.0), b_rest), b), c_rest
    )
    exponent = clang.sub(p, 0.5)
    rest = clang.add(clang.mul(exponent, first_rest), clang.mul(q, second_rest))
    factor = clang.mul(clang.div(_lanczos(p), _lanczos(total)), _lanczos(q))
    factor = clang.mul(factor, clang.sqrt(clang.div(math.e, b)))
    logarithm = clang.add(clang.mul(exponent, clang.log1p(clang.div(clang.neg(q), c))), clang.mul(q, clang.log(second)))
    return _Parts(factor, first, second, rest, logarithm)


def _sine_of_pi(a: Any) -> Any:
    """``sin(pi * a)``, of the distance to the next integer, which is exact."""
    nearest = clang.round(a)
    half = clang.mul(nearest, 0.5)
    distance = clang.sub(a, nearest)
    sine = clang.mul(distance, fitted("SINE_OF_PI", clang.mul(distance, distance)))
    return clang.where(clang.eq(clang.floor(half), half), sine, clang.neg(sine))


def _both(a: Any, b: Any) -> Any:
    return clang.logical_and(a, b)


def _signed(is_negative: Any, size: float) -> Any:
    """``size``, with its sign."""
    return clang.where(is_negative, clang.full_like(is_negative, -size, dtype=dtypes.float64), size)


def _is_whole(a: Any) -> Any:
    return clang.eq(clang.floor(a), a)


def _is_odd(a: Any) -> Any:
    """Of a whole number."""
    return clang.logical_not(_is_whole(clang.mul(a, 0.5)))


def _is_pole(a: Any) -> Any:
    return _both(clang.le(a, 0.0), _is_whole(a))


def _is_limit(low: Any, high: Any) -> Any:
    """Whether SciPy takes the limit along the first argument, ``B(n, m) = ±B(1 - n - m, m)``: of a whole number up to 0 and a smaller
    one above it."""
    are_whole = _both(_both(_is_pole(low), _is_whole(high)), clang.gt(high, 0.0))
    return _both(are_whole, _both(clang.gt(clang.sub(1.0, clang.add(low, high)), 0.0), clang.ge(low, -_LARGEST_WHOLE)))


class _Moved(NamedTuple):
    """``beta(a, b)`` is ``factor * beta(p, q)``, or ``factor / beta(p, q)`` if it ``is_inverse``, where ``p >= q >= 0``."""

    p: Any
    q: Any
    factor: Any
    is_inverse: Any


def _moved(a: Any, b: Any) -> _Moved:
    """By the reflection of the gamma function."""
    low, high = clang.minimum(a, b), clang.maximum(a, b)
    total = clang.add(low, high)
    is_limit = _is_limit(low, high)
    one, both = clang.lt(low, 0.0), clang.lt(high, 0.0)
    # Of a negative number that outweighs a positive one, both gamma functions are reflected, and their quotient remains.
    is_quotient = clang.logical_or(is_limit, _both(clang.lt(total, 0.0), clang.logical_not(both)))
    sine, other, of_total = (_sine_of_pi(x) for x in (low, high, total))
    quotient = clang.div(of_total, sine)
    below = clang.div(clang.mul(quotient, math.pi), clang.mul(other, clang.sub(1.0, total)))
    crossed = clang.where(is_quotient, quotient, clang.div(math.pi, clang.mul(sine, high)))
    factor = clang.where(one, clang.where(both, below, crossed), 1.0)
    factor = clang.where(is_limit, _signed(_is_odd(high), 1.0), factor)
    p = clang.where(one, clang.where(both, clang.sub(1.0, high), clang.where(is_quotient, high, total)), high)
    q = clang.where(one, clang.sub(1.0, clang.where(is_quotient, total, low)), low)
    is_inverse = _both(one, clang.logical_not(is_quotient))
    return _Moved(clang.maximum(p, q), clang.minimum(p, q), factor, is_inverse)


def _exceptions(a: Any, b: Any) -> tuple[Any, Any]:
    """Where SciPy has no finite value by the formula, and what it has there: at poles, at infinity, and next to 0."""
    low, high = clang.minimum(a, b), clang.maximum(a, b)
    is_endless = clang.eq(high, math.inf)
    is_tiny = _both(clang.gt(low, 0.0), _both(clang.lt(low, 1e-308), clang.logical_not(is_endless)))
    is_pole = _both(clang.logical_or(_is_pole(a), _is_pole(b)), clang.logical_not(_is_limit(low, high)))
    is_negative = _both(_both(_is_pole(a), _is_pole(b)), _both(_is_odd(b), clang.ge(a, -_LARGEST_WHOLE)))
    is_nothing = clang.logical_or(clang.gt(low, 1e300), clang.lt(low, 1e-300))
    above = clang.where(is_nothing, clang.full_like(a, math.nan), 0.0)
    endless = clang.where(clang.lt(low, 0.0), _signed(clang.lt(_sine_of_pi(low), 0.0), math.inf), above)
    is_infinite = clang.logical_or(is_pole, is_tiny)
    return clang.logical_or(is_infinite, is_endless), clang.where(is_infinite, _signed(is_negative, math.inf), endless)


def _positive(parts: _Parts, p: Any, q: Any) -> Any:
    powers = clang.mul(clang.pow(parts.first, clang.sub(p, 0.5)), clang.pow(parts.second, q))
    return clang.mul(clang.mul(powers, clang.exp(parts.rest)), parts.factor)


def beta(a: Any, b: Any) -> Any:
    """``gamma(a) * gamma(b) / gamma(a + b)``."""
    m = _moved(a, b)
    value = _positive(_parts(m.p, m.q), m.p, m.q)
    found = clang.where(m.is_inverse, clang.div(m.factor, value), clang.mul(m.factor, value))
    is_exception, instead = _exceptions(a, b)
    return clang.where(is_exception, instead, found)


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the magnitude of :func:`beta`."""
    m = _moved(a, b)
    parts = _parts(m.p, m.q)
    value = _positive(parts, m.p, m.q)
    is_near = _both(clang.gt(value, 1e-290), clang.lt(value, 1e290))
    near = clang.log(clang.where(is_near, value, 1.0))
    logarithm = clang.where(is_near, near, clang.add(parts.logarithm, clang.log(parts.factor)))
    logarithm = clang.where(m.is_inverse, clang.neg(logarithm), logarithm)
    found = clang.add(logarithm, clang.log(clang.abs(m.factor)))
    is_exception, instead = _exceptions(a, b)
    return clang.where(is_exception, clang.log(clang.abs(instead)), found)
