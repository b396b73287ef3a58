"""Measures the special functions that tnp computes itself beside SciPy's, and prints the table of ``docs/notes/special_functions.md``.

    python tools/special_errors.py

Errors are the largest found at random points and at edges, in units in the last place of the exact value that mpmath computes in 40
digits; those of ``j0`` and ``j1``, which have zeros, in units of the amplitude's last place; those of ``betaln``, which has zeros,
in units of the last place of 1 where it is smaller. Times are nanoseconds an element of
100,000, the least of 20 calls in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

import tnp

mp.dps = 40
RNG = np.random.default_rng(0)


def between(low: float, high: float, count: int = 400) -> np.ndarray:
    return RNG.uniform(low, high, count)


def sizes(low: float, high: float, count: int = 200) -> np.ndarray:
    """Numbers of all sizes in between."""
    return np.exp(RNG.uniform(np.log(low), np.log(high), count))


def pairs() -> list[np.ndarray]:
    """Pairs of positive numbers, small and large."""
    ranges = (
        (between(0, 20), between(0, 20)),
        (sizes(1e-8, 200), sizes(1e-8, 200)),
        (between(0, 2), sizes(2, 1e6, 400)),
    )
    return [np.stack(pair, 1) for pair in ranges]


def log_beta(a: float, b: float) -> mpf:
    return mpmath.log(mpmath.beta(mpf(a), mpf(b)))


#: exact functions, and where they are compared
FUNCTIONS: dict[str, tuple[Callable[..., mpf], list[np.ndarray]]] = {
    "beta": (lambda a, b: mpmath.beta(mpf(a), mpf(b)), pairs()),
    "betaln": (log_beta, pairs()),
    "erfcinv": (lambda y: mpmath.erfinv(1 - mpf(y)), [between(0, 2), sizes(1e-12, 0.3), 2 - sizes(1e-12, 0.3)]),
    "erfcx": (lambda x: mpmath.exp(mpf(x) ** 2) * mpmath.erfc(x), [between(-26, 1), between(0, 26), sizes(1e-8, 1e8)]),
    "gamma": (mpmath.gamma, [between(-170, 171), between(-5, 14), sizes(1e-300, 1e-3), np.arange(1.0, 171.0)]),
    "i0": (lambda x: mpmath.besseli(0, x), [between(0, 700), between(-12, 12), sizes(1e-10, 1)]),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(mpf(x))), [between(0, 700), between(-12, 12)]),
    "i1": (lambda x: mpmath.besseli(1, x), [between(0, 700), between(-12, 12), sizes(1e-10, 1)]),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(mpf(x))), [between(0, 700), between(-12, 12)]),
    "j0": (lambda x: mpmath.besselj(0, x), [between(-20, 20), sizes(20, 1e4)]),
    "j1": (lambda x: mpmath.besselj(1, x), [between(-20, 20), sizes(20, 1e4)]),
    "k0": (lambda x: mpmath.besselk(0, x), [between(0, 700), between(0, 5), sizes(1e-10, 1)]),
    "k0e": (lambda x: mpmath.besselk(0, x) * mpmath.exp(mpf(x)), [between(0, 700), between(0, 5), sizes(1e-10, 1)]),
    "k1": (lambda x: mpmath.besselk(1, x), [between(0, 700), between(0, 5), sizes(1e-10, 1)]),
    "k1e": (lambda x: mpmath.besselk(1, x) * mpmath.exp(mpf(x)), [between(0, 700), between(0, 5), sizes(1e-10, 1)]),
    "log_ndtr": (lambda x: mpmath.log(mpmath.erfc(-mpf(x) / mpmath.sqrt(2)) / 2), [between(-37, 8), between(-1.5, 1.5)]),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * mpf(p) - 1), [between(0, 1), sizes(1e-12, 0.2)]),
    "rgamma": (mpmath.rgamma, [between(-170, 177), between(-5, 14), sizes(1e-300, 1e-3)]),
}  # fmt: skip


def error(name: str, points: np.ndarray, exact: list[mpf], found: np.ndarray) -> float:
    worst = 0.0
    for x, e, y in zip(points, exact, found):
        size = abs(float(e))
        if name in ("j0", "j1"):
            size = max(size, 1 / np.sqrt(np.pi * max(abs(x), 1)))
        elif name == "betaln":
            size = max(size, 1.0)
        worst = max(worst, float(abs(mpf(float(y)) - e) / mpf(float(np.spacing(size))))) if np.isfinite(y) else np.inf
    return worst


def columns(points: np.ndarray) -> list[np.ndarray]:
    """The arguments of a function at points."""
    return [points] if points.ndim == 1 else [np.ascontiguousarray(x) for x in points.T]


def times(ours: Callable, theirs: Callable, points: np.ndarray) -> tuple[float, float]:
    many = [np.resize(x, 100_000) for x in columns(points)]
    pairs = []
    for _ in range(20):
        moments = [time.perf_counter()]
        for f in (ours, theirs):
            f(*many)
            moments.append(time.perf_counter())
        pairs.append(np.diff(moments) / many[0].size * 1e9)
    a, b = np.min(pairs, axis=0)
    return float(a), float(b)


def main() -> None:
    print("| function | error | SciPy's | ns | SciPy's |\n| --- | --- | --- | --- | --- |")
    for name, (function, parts) in FUNCTIONS.items():
        theirs = getattr(scipy.special, name)
        ours = tnp.jit(lambda *xs, f=theirs: f(*xs), strict=True)
        points = np.concatenate(parts)
        exact = [function(*np.atleast_1d(x)) for x in points]
        errors = [error(name, points, exact, f(*columns(points))) for f in (ours, theirs)]
        row = [
            name,
            *(f"{e:.1f}" if e < 1e4 else f"{e:.0e}" for e in errors),
            *(f"{t:.0f}" for t in times(ours, theirs, points)),
        ]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
