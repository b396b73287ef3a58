"""Special functions of real arrays in double precision: approximations by polynomials, straight-line and so fused.

Each range of a function is computed of arguments moved into it, so that what is not chosen is finite, and has no part in a
gradient either.
"""

from __future__ import annotations

import math
from typing import Any

from tnp.core import clang, dtypes
from tnp.lang.scipy.special_coefficients import FITS

__all__ = ["FUNCTIONS", "clamped", "fitted", "horner"]

#: the functions of ``scipy.special`` that this module defines
FUNCTIONS = (
    "erfcinv",
    "erfcx",
    "gamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "log_ndtr",
    "ndtri",
    "rgamma",
)


def horner(t: Any, coefficients: Any) -> Any:
    *rest, total = coefficients
    for c in reversed(rest):
        total = clang.add(clang.mul(total, t), c)
    return total


def fitted(name: str, x: Any) -> Any:
    """The polynomial ``name`` at ``x``, which is in its interval."""
    low, high, coefficients = FITS[name]
    scale = 2.0 / (high - low)
    return horner(clang.add(clang.mul(x, scale), -low * scale - 1.0), coefficients)


def clamped(x: Any, low: float, high: float) -> Any:
    return clang.minimum(clang.maximum(x, low), high)


def _is_nan(x: Any) -> Any:
    return clang.ne(x, x)


# The gamma function

#: from where on Stirling's series is used; below, the argument is moved to [2, 3] step by step
_STIRLING_FROM = 12.0


def _gamma_factors(a: Any) -> tuple[Any, Any]:
    """Two factors of ``gamma(a)`` for ``a > 0``, each a normal number."""
    small = clamped(a, 0.0, _STIRLING_FROM)
    product: Any = clang.full_like(a, 1.0)
    below: Any = clang.full_like(a, 1.0)
    for k in range(1, int(_STIRLING_FROM) - 1):
        factor = clang.sub(small, float(k))
        product = clang.where(clang.ge(small, 2.0 + k), clang.mul(product, factor), product)
    for k in (0, 1):
        below = clang.where(clang.lt(small, 2.0 - k), clang.mul(below, clang.add(small, float(k))), below)
    whole = clang.floor(small)
    moved = clamped(clang.add(clang.sub(small, whole), 2.0), 2.0, 3.0)
    near = clang.mul(fitted("GAMMA", moved), product)
    large = clamped(a, _STIRLING_FROM, 180.0)
    half_power = clang.pow(large, clang.sub(clang.mul(large, 0.5), 0.25))
    series = fitted("STIRLING", clang.reciprocal(large))
    far = clang.mul(clang.mul(half_power, clang.exp(clang.neg(large))), series)
    is_far = clang.ge(a, _STIRLING_FROM)
    return clang.where(is_far, far, clang.div(near, below)), clang.where(is_far, half_power, 1.0)


def _sine_of_pi(a: Any) -> Any:
    """``sin(pi * a)`` for ``a >= 0``: of the distance to the next integer, which is exact."""
    nearest = clang.round(a)
    half = clang.mul(nearest, 0.5)
    is_odd = clang.ne(clang.floor(half), half)
    sine = clang.sin(clang.mul(clang.sub(a, nearest), math.pi))
    return clang.where(is_odd, clang.neg(sine), sine)


def gamma(x: Any) -> Any:
    """The gamma function: NaN at the poles but 0, where it is infinite, and at minus infinity."""
    a = clang.abs(x)
    tiny = clang.lt(a, 1e-300)
    first, second = _gamma_factors(clang.where(tiny, 1.0, a))
    value = clang.mul(first, second)
    sine = _sine_of_pi(clang.minimum(a, 1e18))
    reflected = clang.neg(clang.div(clang.div(clang.div(math.pi, clang.mul(a, sine)), first), second))
    is_pole = clang.logical_and(clang.lt(x, 0.0), clang.eq(clang.floor(x), x))
    value = clang.where(clang.gt(a, 171.7), math.inf, value)
    reflected = clang.where(clang.gt(a, 190.0), clang.mul(sine, -0.0), reflected)
    found = clang.where(clang.gt(x, 0.0), value, reflected)
    found = clang.where(is_pole, math.nan, found)
    found = clang.where(tiny, clang.reciprocal(x), found)
    return clang.where(_is_nan(x), x, found)


def rgamma(x: Any) -> Any:
    """The reciprocal of the gamma function, 0 at its poles."""
    a = clang.abs(x)
    tiny = clang.lt(a, 1e-300)
    first, second = _gamma_factors(clang.where(tiny, 1.0, a))
    above = clang.div(clang.reciprocal(first), second)
    below = clang.mul(clang.mul(clang.mul(clang.div(_sine_of_pi(a), -math.pi), a), first), second)
    found = clang.where(clang.gt(x, 0.0), clang.where(clang.gt(a, 179.0), 0.0, above), below)
    is_pole = clang.logical_and(clang.lt(x, 0.0), clang.eq(clang.floor(x), x))
    found = clang.where(is_pole, 0.0, found)
    found = clang.where(tiny, x, found)
    return clang.where(_is_nan(x), x, found)


# The error function and the normal distribution


def _square_exp(x: Any, sign: float) -> Any:
    """``exp(sign * x**2)``, of the square in two parts, so that rounding it does not count."""
    high = clang.convert(clang.convert(x, dtypes.float32), dtypes.float64)
    rest = clang.mul(clang.sub(x, high), clang.add(x, high))
    return clang.mul(clang.exp(clang.mul(clang.mul(high, high), sign)), clang.exp(clang.mul(rest, sign)))


def _erfcx_above(x: Any) -> Any:
    """For ``x >= 0``."""
    t = clang.div(clang.sub(x, 4.0), clang.add(x, 4.0))
    return clang.div(fitted("ERFCX", t), clang.add(clang.mul(x, 2.0), 1.0))


def erfcx(x: Any) -> Any:
    """``exp(x**2) * erfc(x)``."""
    above = _erfcx_above(clang.minimum(clang.abs(x), 1e290))
    below = clang.sub(clang.mul(_square_exp(clamped(x, -26.7, 0.0), 1.0), 2.0), above)
    far = clang.div(1.0 / math.sqrt(math.pi), clang.maximum(x, 1.0))
    found = clang.where(clang.ge(x, 0.0), clang.where(clang.gt(x, 1e290), far, above), below)
    return clang.where(clang.lt(x, -26.7), math.inf, clang.where(_is_nan(x), x, found))


def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function: of ``erfcx`` and the exponent apart, which is exact in the tail."""
    size = clang.minimum(clang.abs(x), 1e150)
    scaled = clang.mul(_erfcx_above(clang.mul(size, math.sqrt(0.5))), 0.5)
    below = clang.sub(clang.log(scaled), clang.mul(clang.mul(size, size), 0.5))
    above = clang.log1p(clang.neg(clang.mul(scaled, _square_exp(clang.minimum(size, 40.0), -0.5))))
    found = clang.where(clang.lt(x, 0.0), below, clang.where(clang.gt(x, 40.0), -0.0, above))
    return clang.where(clang.lt(x, -1e150), clang.mul(clang.mul(x, x), -0.5), clang.where(_is_nan(x), x, found))


#: up to here, the quantile is the tail's
_TAIL = 0.15


def _tail(p: Any) -> Any:
    """Minus the normal quantile of ``p`` in (0, 0.15]."""
    r = clang.sqrt(clang.neg(clang.log(clamped(p, 5e-324, _TAIL))))
    near = fitted("QUANTILE_NEAR", clamped(r, 1.37, 5.0))
    far = fitted("QUANTILE_FAR", clang.reciprocal(clamped(r, 5.0, 28.0)))
    return clang.mul(r, clang.where(clang.lt(r, 5.0), near, far))


def _middle(q: Any) -> Any:
    """The normal quantile of ``1/2 + q``."""
    q = clamped(q, -0.35, 0.35)
    return clang.mul(q, fitted("QUANTILE", clang.mul(q, q)))


def ndtri(p: Any) -> Any:
    """The normal distribution's quantile."""
    rest = clang.sub(1.0, p)
    middle, tail = _middle(clang.sub(p, 0.5)), _tail(clang.minimum(p, rest))
    found = clang.where(clang.lt(p, _TAIL), clang.neg(tail), clang.where(clang.lt(rest, _TAIL), tail, middle))
    return _at_ends(p, 1.0, found, -math.inf)


def erfcinv(y: Any) -> Any:
    """The inverse of ``erfc``, between 0 and 2."""
    half = clang.mul(y, 0.5)
    rest = clang.sub(1.0, half)
    middle, tail = clang.neg(_middle(clang.sub(half, 0.5))), _tail(clang.minimum(half, rest))
    found = clang.where(clang.lt(half, _TAIL), tail, clang.where(clang.lt(rest, _TAIL), clang.neg(tail), middle))
    return _at_ends(y, 2.0, clang.mul(found, math.sqrt(0.5)), math.inf)


def _at_ends(p: Any, one: float, inside: Any, at_zero: float) -> Any:
    """Infinite at 0 and at ``one``, NaN beyond."""
    found = clang.where(clang.eq(p, 0.0), at_zero, clang.where(clang.eq(p, one), -at_zero, inside))
    outside = clang.logical_or(clang.lt(p, 0.0), clang.gt(p, one))
    return clang.where(outside, math.nan, clang.where(_is_nan(p), p, found))


# Bessel functions

#: the power series of ``I0(x)`` and of ``I1(x) / x``, by powers of ``x**2``: up to 8, where the next term does not count
_SERIES = tuple(
    tuple(1.0 / (4**k * math.factorial(k) * math.factorial(k + order) * 2**order) for k in range(26))
    for order in (0, 1)
)


def _modified_first(x: Any, order: int, scaled: bool) -> Any:
    """``I0`` and ``I1``; ``scaled``: times ``exp(-abs(x))``."""
    a = clang.abs(x)
    small, large = clang.minimum(a, 8.0), clang.maximum(a, 8.0)
    near = horner(clang.mul(small, small), _SERIES[order])
    near = near if order == 0 else clang.mul(near, small)
    far = clang.div(fitted(f"I{order}_FAR", clang.reciprocal(large)), clang.sqrt(large))
    if scaled:
        near = clang.mul(near, clang.exp(clang.neg(small)))
    else:
        # In two factors, since the exponential alone is infinite before the function is.
        half = clang.exp(clang.mul(clamped(a, 8.0, 720.0), 0.5))
        far = clang.where(clang.gt(a, 720.0), math.inf, clang.mul(clang.mul(far, half), half))
    found = clang.where(clang.lt(a, 8.0), near, far)
    found = found if order == 0 else clang.where(clang.lt(x, 0.0), clang.neg(found), found)
    if not scaled:
        found = clang.where(clang.eq(a, math.inf), math.nan, found)  # as SciPy has it
    return clang.where(_is_nan(x), x, found)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0."""
    return _modified_first(x, 0, False)


def i0e(x: Any) -> Any:
    """``i0(x) * exp(-abs(x))``."""
    return _modified_first(x, 0, True)


def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 1."""
    return _modified_first(x, 1, False)


def i1e(x: Any) -> Any:
    """``i1(x) * exp(-abs(x))``."""
    return _modified_first(x, 1, True)


def _modified_second(x: Any, order: int, scaled: bool) -> Any:
    """``K0`` and ``K1``; ``scaled``: times ``exp(x)``."""
    small = clamped(x, 5e-324, 1.0)
    square = clang.mul(small, small)
    logarithm = clang.log(clang.mul(small, 0.5))
    series = horner(square, _SERIES[order][:12])
    if order == 0:
        near = clang.sub(fitted("K0_NEAR", square), clang.mul(logarithm, series))
    else:
        rest = clang.mul(clang.add(fitted("K1_NEAR", square), clang.mul(logarithm, series)), small)
        near = clang.add(clang.reciprocal(small), rest)
    middle, large = clamped(x, 1.0, 4.0), clang.maximum(x, 4.0)
    between = clang.div(fitted(f"K{order}", clang.reciprocal(middle)), clang.sqrt(middle))
    far = clang.div(fitted(f"K{order}_FAR", clang.reciprocal(large)), clang.sqrt(large))
    far = clang.where(clang.lt(x, 4.0), between, far)
    if scaled:
        near = clang.mul(near, clang.exp(small))
    else:
        far = clang.mul(far, clang.exp(clang.neg(clang.maximum(x, 1.0))))
    found = clang.where(clang.le(x, 1.0), near, far)
    found = clang.where(clang.eq(x, 0.0), math.inf, found)
    found = clang.where(clang.lt(x, 0.0), math.nan, found)
    return clang.where(_is_nan(x), x, found)


def k0(x: Any) -> Any:
    """The modified Bessel function of the second kind, of order 0."""
    return _modified_second(x, 0, False)


def k0e(x: Any) -> Any:
    """``k0(x) * exp(x)``."""
    return _modified_second(x, 0, True)


def k1(x: Any) -> Any:
    """The modified Bessel function of the second kind, of order 1."""
    return _modified_second(x, 1, False)


def k1e(x: Any) -> Any:
    """``k1(x) * exp(x)``."""
    return _modified_second(x, 1, True)


def _first(x: Any, order: int) -> Any:
    """``J0`` and ``J1``: two polynomials up to 8, beyond it the amplitudes of a cosine and a sine."""
    a = clang.abs(x)
    small, large = clang.minimum(a, 8.0), clamped(a, 8.0, 1.7e308)
    below, middle = clang.minimum(small, 4.0), clang.maximum(small, 4.0)
    near = clang.where(
        clang.lt(a, 4.0),
        fitted(f"J{order}", clang.mul(below, below)),
        fitted(f"J{order}_MIDDLE", clang.mul(middle, middle)),
    )
    near = near if order == 0 else clang.mul(near, small)
    inverse = clang.div(8.0, large)
    square = clang.mul(inverse, inverse)
    cosine, sine = fitted(f"J{order}_COSINE", square), fitted(f"J{order}_SINE", square)
    sine = clang.mul(sine, clang.mul(inverse, 0.125))
    # cos(x - π/4) is (cos x + sin x) / √2, and so on: nothing is subtracted from the argument.
    c, s = clang.cos(large), clang.sin(large)
    together, apart = clang.add(c, s), clang.sub(s, c)
    first, second = (together, apart) if order == 0 else (apart, clang.neg(together))
    wave = clang.sub(clang.mul(cosine, first), clang.mul(sine, second))
    far = clang.mul(wave, clang.div(1.0 / math.sqrt(math.pi), clang.sqrt(large)))
    found = clang.where(clang.lt(a, 8.0), near, far)
    found = found if order == 0 else clang.where(clang.lt(x, 0.0), clang.neg(found), found)
    found = clang.where(clang.eq(a, math.inf), math.nan, found)  # as SciPy has it
    return clang.where(_is_nan(x), x, found)


def j0(x: Any) -> Any:
    """The Bessel function of the first kind, of order 0."""
    return _first(x, 0)


def j1(x: Any) -> Any:
    """The Bessel function of the first kind, of order 1."""
    return _first(x, 1)
