"""Derives the polynomials of ``tnp/lang/scipy/special_coefficients.py`` and prints that file.

    python tools/special_functions.py > tnp/lang/scipy/special_coefficients.py
    ruff check --fix . && ruff format .

Each function is interpolated at Chebyshev's points in 40 digits by mpmath, as a polynomial of ``t``, which goes from -1 to 1
while the function's variable goes from ``low`` to ``high``. Terms are added until the first that is left out is below
the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import (
    besseli,
    besselj,
    besselk,
    cos,
    erfc,
    erfinv,
    exp,
    findroot,
    gamma,
    lambertw,
    log,
    mp,
    mpf,
    pi,
    sqrt,
)

mp.dps = 40

#: what a term may be to be left out, relative to the function's size
LEAST = mpf(2) ** -56


@dataclass
class Fit:
    """``function`` on ``[low, high]``."""

    name: str
    meaning: str
    function: Callable[[mpf], mpf]
    low: mpf
    high: mpf


def chebyshev(f: Fit, count: int) -> list[mpf]:
    """The coefficients of Chebyshev's polynomials, by the discrete cosine transform."""
    middle, half = (mpf(f.low) + f.high) / 2, (mpf(f.high) - f.low) / 2
    angles = [pi * (2 * i + 1) / (2 * count) for i in range(count)]
    values = [f.function(middle + half * cos(a)) for a in angles]
    made = [2 * sum(v * cos(k * a) for v, a in zip(values, angles)) / count for k in range(count)]
    return [made[0] / 2, *made[1:]]


def powers(coefficients: list[mpf]) -> list[mpf]:
    """The same polynomial by powers of ``t``."""
    count = len(coefficients)
    before, current = [mpf(1)], [mpf(0), mpf(1)]
    total = [mpf(0)] * count
    for c in coefficients:
        for i, p in enumerate(before):
            total[i] += c * p
        following = [mpf(0), *(2 * p for p in current)]
        for i, p in enumerate(before):
            following[i] -= p
        before, current = current, following
    return total


def fit(f: Fit, most: int = 64) -> list[mpf]:
    made = chebyshev(f, most)
    size = min(abs(f.function(mpf(f.low) + (mpf(f.high) - f.low) * i / 16)) for i in range(1, 16))
    size = max(size, max(map(abs, made)) / 16)
    count = max(i for i, c in enumerate(made) if abs(c) > LEAST * size) + 1
    return powers(made[:count])


def inverse(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """A function of ``1 / x``, by its limit at 0."""
    return lambda u: f(1 / u) if u > mpf("1e-12") else f(mpf("1e12"))


def tail_quantile(r: mpf) -> mpf:
    """The normal quantile ``-x`` of the probability ``exp(-r**2)``, over ``r``."""
    p = exp(-r * r)
    square = lambertw(1 / (2 * pi * p * p)).real
    start = sqrt(square)
    return findroot(lambda x: log(erfc(x / sqrt(mpf(2))) / 2) + r * r, start) / r


def middle_quantile(square: mpf) -> mpf:
    q = sqrt(square)
    return sqrt(mpf(2)) * erfinv(2 * q) / q if q > TINY else sqrt(2 * pi)


def hankel(order: int, part: int) -> Callable[[mpf], mpf]:
    """Of ``64 / x**2``: the amplitudes of the cosine and of the sine in a Bessel function, the latter times ``x``."""

    def amplitude(u: mpf) -> mpf:
        z = 8 / sqrt(u) if u > mpf("1e-20") else mpf("1e10")
        phase = z - (2 * order + 1) * pi / 4
        a, b = besselj(order, z), mp.bessely(order, z)
        scale = sqrt(pi * z / 2)
        if part == 0:
            return scale * (a * cos(phase) + b * mp.sin(phase))
        return scale * (b * cos(phase) - a * mp.sin(phase)) * z

    return amplitude


def scaled_i(order: int) -> Callable[[mpf], mpf]:
    return inverse(lambda x: sqrt(x) * exp(-x) * besseli(order, x))


def scaled_k(order: int) -> Callable[[mpf], mpf]:
    return inverse(lambda x: sqrt(x) * exp(x) * besselk(order, x))


def remainder_k0(square: mpf) -> mpf:
    x = sqrt(square)
    return besselk(0, x) + log(x / 2) * besseli(0, x)


def remainder_k1(square: mpf) -> mpf:
    x = sqrt(square)
    return (besselk(1, x) - log(x / 2) * besseli(1, x) - 1 / x) / x


TINY = mpf("1e-10")


def erfcx_from(t: mpf) -> mpf:
    """``(1 + 2 x) exp(x**2) erfc(x)`` of ``t = (x - 4) / (x + 4)``."""
    if t > 1 - mpf("1e-9"):
        return 2 / sqrt(pi)
    x = 4 * (1 + t) / (1 - t)
    if x > 1e5:
        series = 1 - 1 / (2 * x**2) + 3 / (4 * x**4)
        return (1 + 2 * x) / (x * sqrt(pi)) * series
    with mp.workdps(60):
        return (1 + 2 * x) * exp(x**2) * erfc(x)


FITS = (
    Fit("GAMMA", "gamma(x), 2 <= x <= 3", gamma, mpf(2), mpf(3)),
    Fit("STIRLING", "gamma(x) / (x**(x - 1/2) exp(-x)), of 1 / x", inverse(lambda x: exp(mp.loggamma(x) - (x - mpf(1) / 2) * log(x) + x)), mpf(0), mpf(1) / 12),
    Fit("SINE_OF_PI", "sin(pi x) / x, of x**2", lambda s: mp.sin(pi * sqrt(s)) / sqrt(s) if s > TINY**2 else pi, mpf(0), mpf(1) / 4),
    Fit("ERFCX", "(1 + 2 x) exp(x**2) erfc(x), of (x - 4) / (x + 4)", erfcx_from, mpf(-1), mpf(1)),
    Fit("QUANTILE", "the normal quantile of 1/2 + q over q, of q**2", middle_quantile, mpf(0), mpf("0.1225")),
    Fit("QUANTILE_NEAR", "the normal quantile of exp(-r**2) over -r", tail_quantile, mpf("1.37"), mpf(5)),
    Fit("QUANTILE_FAR", "the same, of 1 / r", inverse(tail_quantile), mpf(1) / 28, mpf(1) / 5),
    Fit("I0_FAR", "sqrt(x) exp(-x) I0(x), of 1 / x", scaled_i(0), mpf(0), mpf(1) / 8),
    Fit("I1_FAR", "sqrt(x) exp(-x) I1(x), of 1 / x", scaled_i(1), mpf(0), mpf(1) / 8),
    Fit("K0_NEAR", "K0(x) + log(x / 2) I0(x), of x**2", remainder_k0, mpf(0), mpf(1)),
    Fit("K1_NEAR", "(K1(x) - log(x / 2) I1(x) - 1 / x) / x, of x**2", remainder_k1, mpf(0), mpf(1)),
    Fit("K0", "sqrt(x) exp(x) K0(x), of 1 / x", scaled_k(0), mpf(1) / 4, mpf(1)),
    Fit("K1", "sqrt(x) exp(x) K1(x), of 1 / x", scaled_k(1), mpf(1) / 4, mpf(1)),
    Fit("K0_FAR", "sqrt(x) exp(x) K0(x), of 1 / x", scaled_k(0), mpf(0), mpf(1) / 4),
    Fit("K1_FAR", "sqrt(x) exp(x) K1(x), of 1 / x", scaled_k(1), mpf(0), mpf(1) / 4),
    Fit("J0", "J0(x), of x**2", lambda s: besselj(0, sqrt(s)), mpf(0), mpf(16)),
    Fit("J0_MIDDLE", "J0(x), of x**2", lambda s: besselj(0, sqrt(s)), mpf(16), mpf(64)),
    Fit("J1", "J1(x) / x, of x**2", lambda s: besselj(1, sqrt(s)) / sqrt(s) if s > TINY else mpf(1) / 2, mpf(0), mpf(16)),
    Fit("J1_MIDDLE", "J1(x) / x, of x**2", lambda s: besselj(1, sqrt(s)) / sqrt(s), mpf(16), mpf(64)),
    Fit("J0_COSINE", "J0's amplitude of the cosine, of 64 / x**2", hankel(0, 0), mpf(0), mpf(1)),
    Fit("J0_SINE", "J0's amplitude of the sine times -x, of 64 / x**2", hankel(0, 1), mpf(0), mpf(1)),
    Fit("J1_COSINE", "J1's amplitude of the cosine, of 64 / x**2", hankel(1, 0), mpf(0), mpf(1)),
    Fit("J1_SINE", "J1's amplitude of the sine times -x, of 64 / x**2", hankel(1, 1), mpf(0), mpf(1)),
)  # fmt: skip


#: the shift of Lanczos's approximation; with it, twelve terms reach double precision
LANCZOS_SHIFT = 8


def lanczos(count: int = 12) -> list[mpf]:
    """The polynomial ``S(z) * z * (z + 1) * … * (z + count - 2)``, where ``gamma(z) = (z + 8)**(z - 1/2) * exp(1/2 - z) * S(z)``: exact
    at the first whole numbers."""
    points = [mpf(k) for k in range(1, count + 1)]
    values = []
    for z in points:
        s = gamma(z) * exp(z - mpf(1) / 2) / (z + LANCZOS_SHIFT) ** (z - mpf(1) / 2)
        values.append(s * mp.fprod(z + k for k in range(count - 1)))
    return list(mp.lu_solve(mp.matrix([[z**k for k in range(count)] for z in points]), mp.matrix(values)))


def main() -> None:
    print(
        '"""Polynomials of ``t``, constant term first, with the interval of their variable that ``t`` maps to [-1, 1].\n'
    )
    print("``tools/special_functions.py`` derives and prints them; do not edit.")
    print('"""\n\nfrom __future__ import annotations\n\n__all__ = ["FITS", "LANCZOS"]\n')
    print("#: (low, high, coefficients) by name\nFITS: dict[str, tuple[float, float, tuple[float, ...]]] = {")
    for f in FITS:
        print(f"    # {f.meaning}\n    {f.name!r}: ({float(f.low)!r}, {float(f.high)!r}, (")
        for c in fit(f):
            print(f'        float.fromhex("{float(c).hex()}"),')
        print("    )),")
    print("}")
    print("\n#: gamma(z) times z * (z + 1) * … * (z + 10) * (z + 8)**(1/2 - z) * exp(z - 1/2), of z\nLANCZOS = (")
    for c in lanczos():
        print(f'    float.fromhex("{float(c).hex()}"),')
    print(")")


if __name__ == "__main__":
    main()
