"""Derives the polynomials of ``tnp/executors/llvm/scalars/elementary/coefficients.py`` and prints that file.

    python tools/minimax.py > tnp/executors/llvm/scalars/elementary/coefficients.py
    ruff check --fix . && ruff format .

Each function is fitted by least squares at Chebyshev's points, which is within a small factor of the best approximation there
is, in 60 digits by mpmath. The first coefficients are rounded one after the other, and the rest is fitted again to what
remains, so that the rounding of the large ones is made up for by the small ones.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import (
    cos,
    cosh,
    erf,
    erfc,
    exp,
    linspace,
    log,
    log1p,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tanh,
)

mp.dps = 60


@dataclass
class Fit:
    """``function`` on ``[low, high]`` as a polynomial of so many terms in float64 and in float32 (0: none)."""

    name: str
    meaning: str
    function: Callable[[mpf], mpf]
    low: mpf
    high: mpf
    terms: tuple[int, int]
    #: how much an error matters
    weight: Callable[[mpf], mpf] = lambda x: mpf(1)


def rounded(x: mpf, bits: int) -> float:
    return float(x) if bits == 64 else struct.unpack("<f", struct.pack("<f", float(x)))[0]


def fitted(f: Fit, done: list[float], count: int) -> list[mpf]:
    """The ``count`` coefficients after those in ``done``, by least squares at Chebyshev's points."""
    middle, half, points = (f.low + f.high) / 2, (f.high - f.low) / 2, 4 * (len(done) + count)
    nodes = [middle + half * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    powers = range(len(done), len(done) + count)
    rest = [f.function(x) - sum(c * x**i for i, c in enumerate(done)) for x in nodes]
    weights = [f.weight(x) for x in nodes]
    rows = [[w * x**j for j in powers] for w, x in zip(weights, nodes)]
    return list(lu_solve(matrix(rows), matrix([w * y for w, y in zip(weights, rest)])))


#: so many coefficients are rounded before the others are fitted again
IN_TURN = 4


def fit(f: Fit, count: int, bits: int) -> list[float]:
    done: list[float] = []
    while len(done) < min(IN_TURN, count):
        done.append(rounded(fitted(f, done, count - len(done))[0], bits))
    return done + [rounded(c, bits) for c in (fitted(f, done, count - len(done)) if len(done) < count else [])]


def error(f: Fit, coefficients: list[float]) -> float:
    points = [x for x in linspace(f.low, f.high, 400) if x]
    return max(
        float(f.weight(x) * abs(f.function(x) - sum(c * x**i for i, c in enumerate(coefficients)))) for x in points
    )


HALF_LOG2 = log(2) / 2 * mpf("1.001")
LEAST, MOST = 1 / sqrt(mpf(2)) - 1, sqrt(mpf(2)) - 1
EIGHTH = pi / 4 * mpf("1.002")


def root(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """A function of the square."""
    return lambda z: function(sqrt(z))


def logarithm(base: mpf) -> Callable[[mpf], mpf]:
    return lambda f: (log1p(f) - f) / (f * f * log(base))


FITS = (
    Fit("EXP", "(exp(r) - 1 - r) / r**2", lambda r: (exp(r) - 1 - r) / r**2, -HALF_LOG2, HALF_LOG2, (10, 5)),
    Fit("EXPM1", "(exp(r) - 1 - r) / r**2", lambda r: (exp(r) - 1 - r) / r**2, -HALF_LOG2, HALF_LOG2, (11, 5)),
    Fit("EXP2", "(2**r - 1 - r log(2)) / r**2", lambda r: (mpf(2) ** r - 1 - r * log(2)) / r**2, mpf(-0.5), mpf(0.5), (10, 5)),
    Fit("SINH", "(sinh(r) / r - 1) / r**2, of r**2", root(lambda r: (sinh(r) / r - 1) / r**2), mpf("1e-20"), HALF_LOG2**2, (6, 3)),
    Fit("COSH", "(cosh(r) - 1) / r**2, of r**2", root(lambda r: (cosh(r) - 1) / r**2), mpf("1e-20"), HALF_LOG2**2, (6, 3)),
    Fit("TANH", "(tanh(x) / x - 1) / x**2, of x**2", root(lambda x: (tanh(x) / x - 1) / x**2), mpf("1e-20"), mpf(0.55) ** 2, (11, 5)),
    Fit("LOG", "(log(1 + f) - f) / f**2", logarithm(exp(mpf(1))), LEAST, MOST, (20, 9)),
    Fit("LOG2", "(log(1 + f) - f) / f**2 / log(2)", logarithm(mpf(2)), LEAST, MOST, (20, 9)),
    Fit("LOG10", "(log(1 + f) - f) / f**2 / log(10)", logarithm(mpf(10)), LEAST, MOST, (20, 9)),
    Fit("POW_LOG2", "the terms of log2((1 + s) / (1 - s)) / s from s**4 on, over s**4, of s**2", root(lambda s: ((log1p(s) - log1p(-s)) / s - 2 - 2 * s**2 / 3) / s**4 / log(2)), mpf("1e-20"), mpf("0.0295"), (8, 0)),
    Fit("POWF_LOG2", "log2(1 + f) / f", lambda f: log1p(f) / f / log(2), LEAST, MOST, (15, 0)),
    Fit("POWF_EXP2", "2**r", lambda r: mpf(2) ** r, mpf(-0.5), mpf(0.5), (8, 0)),
    Fit("ERF", "erf(x) / x - 1, of x**2", root(lambda x: erf(x) / x - 1), mpf("1e-20"), mpf(1), (13, 7)),
    Fit("LOG_ERFC", "log(erfc(x)); the error is erfc's", lambda x: log(erfc(x)), mpf(1), mpf(6), (17, 7), erfc),
    Fit("CBRT", "(1 + f)**(-1/3)", lambda f: (1 + f) ** (-mpf(1) / 3), LEAST, MOST, (11, 6)),
    Fit("SIN", "(sin(r) / r - 1) / r**2, of r**2", root(lambda r: (sin(r) / r - 1) / r**2), mpf("1e-20"), EIGHTH**2, (6, 3)),
    Fit("COS", "(cos(r) - 1 + r**2 / 2) / r**4, of r**2", root(lambda r: (cos(r) - 1 + r**2 / 2) / r**4), mpf("1e-20"), EIGHTH**2, (6, 3)),
)  # fmt: skip


def main() -> None:
    print('"""Polynomials, constant term first, as ``tools/minimax.py`` derives and prints them; do not edit."""\n')
    print("from __future__ import annotations\n\n__all__ = [")
    for f in FITS:
        print(f'    "{f.name}",')
    print("]\n")
    for f in FITS:
        print(f"\n#: {f.meaning}\n{f.name}: dict[int, tuple[float, ...]] = {{")
        for bits, count in zip((64, 32), f.terms):
            if count:
                made = fit(f, count, bits)
                print(f"    # error {error(f, made):.1e}")
                print(f"    {bits}: (")
                for c in made:
                    print(f'        float.fromhex("{c.hex()}"),')
                print("    ),")
        print("}")


if __name__ == "__main__":
    main()
