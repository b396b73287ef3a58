"""60 programs that call SciPy, each function inside of a computation: SciPy, tnp and JAX in one run.

    python benchmarks/scipy_programs.py [--only NAME] [--seconds S] [--page]

JAX runs the same source with ``jax.numpy`` and ``jax.scipy`` in the names' places, where it has the function. Results are
compared before anything is timed. ``--page`` makes benchmarks/results/scipy_programs.md. The column *tnp runs* says what the compiled program consists of: *native* kernels, or
the *calls* of libraries in it. Times are milliseconds, the least of calls in turns.
"""

from __future__ import annotations

import argparse
import math
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pages import wrapped
from scipy import fft, integrate, interpolate, linalg, ndimage, signal, sparse, spatial, special, stats

import tnp

N = 1_000_000
RNG = np.random.default_rng(0)


def reals(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def units(*shape: int) -> np.ndarray:
    return RNG.uniform(0.02, 0.98, shape)


def positives(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 8.0, shape)


def definite(n: int) -> np.ndarray:
    a = reals(n, n)
    return a @ a.T / n + np.eye(n)


def diagonals(n: int) -> np.ndarray:
    return np.stack([reals(n) * 0.1, 4 + reals(n) * 0.1, reals(n) * 0.1])


def band(n: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)))


# Elementwise functions, between other elementwise operations.


def erf(x):
    return 0.5 * x * (1 + special.erf(x / math.sqrt(2)))


def erfc(x):
    return np.exp(-x) * special.erfc(np.abs(x) + 0.1)


def erfinv(u):
    return np.sqrt(2) * special.erfinv(2 * u - 1) + 1


def gamma(x):
    return special.gamma(x) / (x + 1)


def gammaln(x):
    return special.gammaln(x + 1) - x * np.log(x) + x


def digamma(x):
    return np.log(x) - special.digamma(x) - 0.5 / x


def beta(x):
    return special.beta(x, x + 0.5) * x


def expit(x):
    p = special.expit(x)
    return p * (1 - p)


def logit(u):
    return special.logit(u) * 0.5 + u


def ndtr(x):
    return x * special.ndtr(x) + np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def ndtri(u):
    return 1.5 + 0.2 * special.ndtri(u)


def log_ndtr(x):
    return np.exp(-0.5 * x * x - special.log_ndtr(x))


def xlogy(u):
    return -(special.xlogy(u, u) + special.xlogy(1 - u, 1 - u))


def entr(u):
    return special.entr(u).sum() / u.size


def rel_entr(u):
    return special.rel_entr(u, u[::-1]).sum()


def j0(x):
    return special.j0(x) ** 2 + 0.5


def j1(x):
    return (2 * special.j1(x) / x) ** 2


def jn(x):
    return special.jn(2, x) * x


def i0(x):
    return special.i0(np.sqrt(x)) / 3.0


def i1(x):
    return special.i1(x) / special.i0(x)


def k0(x):
    return special.k0(x) * np.sqrt(x)


def k1(x):
    return x * special.k1(x)


def softmax(x):
    return special.softmax(x * 0.5, axis=1) @ np.ones(x.shape[1])


def logsumexp(x):
    return x - special.logsumexp(x, axis=1, keepdims=True)


# Linear algebra.


def solve(a, b):
    x = linalg.solve(a, b)
    return ((a @ x - b) ** 2).sum() + x.sum()


def solve_triangular(a, b):
    return linalg.solve_triangular(np.tril(a), b, lower=True) * 2 + b


def solve_banded(ab, b):
    return linalg.solve_banded((1, 1), ab, b * 2) + b


def cho_solve(a, b):
    return b @ linalg.cho_solve(linalg.cho_factor(a), b) * 0.5


def lu_solve(a, b):
    return linalg.lu_solve(linalg.lu_factor(a), b) + b


def expm(a, b):
    return linalg.expm(a * 0.01) @ b


def inv(a, b):
    return linalg.inv(a) @ b - b


def det(a, b):
    return linalg.det(a / 4) + b.sum()


def svd(a, b):
    u, s, vt = linalg.svd(a)
    return vt.T @ ((u.T @ b) * s / (s * s + 0.1))


def eigh(a, b):
    w, v = linalg.eigh(a)
    return v @ (np.exp(-w) * (v.T @ b))


def solve_toeplitz(c, b):
    return linalg.solve_toeplitz(c * np.exp(-np.arange(c.shape[0]) * 0.1), b)


def dgtsv(ab, b):
    return linalg.lapack.dgtsv(ab[0, 1:], ab[1], ab[2, :-1], b * 2)[3] + b


def dgemm(a, b):
    return linalg.blas.dgemm(0.5, a, a.T) @ b


# Transforms and filters.


def rfft(x):
    return np.abs(fft.rfft(x * 0.5)) ** 2


def ifft2(x):
    return fft.ifft2(fft.fft2(x) * 0.5).real + x


def dct(x):
    return fft.idct(fft.dct(x, norm="ortho") * 0.5, norm="ortho")


def ndimage_convolve(x):
    return ndimage.convolve(x, np.ones((3, 3)) / 9) - x


def ndimage_correlate(x):
    return np.abs(ndimage.correlate(x, np.array([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])))


def gaussian_filter(x):
    return x - ndimage.gaussian_filter(x, 2.0)


def uniform_filter(x):
    mean = ndimage.uniform_filter(x, 5)
    return ndimage.uniform_filter(x * x, 5) - mean * mean


def sobel(x):
    return np.hypot(ndimage.sobel(x, 0), ndimage.sobel(x, 1))


def map_coordinates(x):
    i, j = np.meshgrid(np.arange(x.shape[0]), np.arange(x.shape[1]), indexing="ij")
    return ndimage.map_coordinates(x, [i + 0.3 * np.sin(j), j + 0.3 * np.cos(i)], order=1, mode="nearest")


def label(x):
    labels, count = ndimage.label(x > 1.0)
    return np.where(labels > 0, x, 0.0).sum() / count


def lfilter(x):
    return signal.lfilter([0.2, 0.3], [1.0, -0.5], x * 2) + x


def sosfilt(x):
    return signal.sosfilt([[0.2, 0.4, 0.2, 1.0, -0.4, 0.2], [1.0, 0.5, 0.1, 1.0, 0.1, 0.3]], x) * 2


def signal_convolve(x, taps):
    return np.abs(signal.convolve(x, taps, "same")) + 1


def fftconvolve(x, taps):
    return signal.fftconvolve(x, taps, "same") * 0.5


def windows(x):
    return np.abs(np.fft.rfft(x * signal.windows.hann(x.shape[0]))) ** 2


# Distributions, integrals, interpolation, distances.


def norm_logpdf(x, m):
    return stats.norm.logpdf(x, m, 2.0).sum()


def gamma_pdf(x, m):
    return stats.gamma.pdf(x, 2.5) * m


def t_logpdf(x, m):
    return stats.t.logpdf(x - m, 4.0).mean()


def trapezoid(y, x):
    return integrate.trapezoid(np.sin(y) ** 2, x)


def simpson(y, x):
    return integrate.simpson(np.sin(y), x=x)


def cumulative_trapezoid(y, x):
    return np.exp(-integrate.cumulative_trapezoid(y * y, x, initial=0))


def interp1d(y, x):
    return interpolate.interp1d(x, y)(x * 0.5 + 0.1) * 2


def cubic_spline(y, x):
    return interpolate.CubicSpline(x, y)(x * 0.5 + 0.1) - y


def regular_grid(z, u):
    axis = np.linspace(0.0, 1.0, z.shape[0])
    return interpolate.RegularGridInterpolator((axis, axis), z)(np.stack([u, u[::-1]], axis=-1)) + 1


def sparse_product(a, x):
    for _ in range(10):
        x = x + 0.1 * (a @ x)
    return x


def cdist(x, y):
    d = spatial.distance.cdist(x, y)
    return np.exp(-0.5 * d * d).sum(axis=1)


SIGNAL = np.cumsum(np.append(0.0, RNG.uniform(0.5, 1.5, 99_999)))
A, B = definite(300), reals(300)
IMAGE, TAPS = reals(512, 512), reals(31)

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((f, (reals(N),)) for f in (erf, erfc, expit, ndtr, log_ndtr)),
    *((f, (units(N),)) for f in (erfinv, logit, ndtri, xlogy, entr, rel_entr)),
    *((f, (positives(N),)) for f in (gamma, gammaln, digamma, beta, j0, j1, jn, i0, i1, k0, k1)),
    *((f, (reals(2000, 100),)) for f in (softmax, logsumexp)),
    *((f, (A, B)) for f in (solve, solve_triangular, cho_solve, lu_solve, expm, inv, det, svd, eigh, dgemm)),
    *((f, (diagonals(100_000), reals(100_000))) for f in (solve_banded, dgtsv)),
    (solve_toeplitz, (np.concatenate([[4.0], reals(299)]), B)),
    *((f, (reals(100_000),)) for f in (rfft, dct, lfilter, sosfilt, windows)),
    *((f, (IMAGE,)) for f in (ifft2, ndimage_convolve, ndimage_correlate, gaussian_filter, uniform_filter, sobel)),
    *((f, (IMAGE,)) for f in (map_coordinates, label)),
    *((f, (reals(100_000), TAPS)) for f in (signal_convolve, fftconvolve)),
    *((f, (positives(N), np.float64(0.5))) for f in (norm_logpdf, gamma_pdf, t_logpdf)),
    *((f, (reals(100_000), SIGNAL)) for f in (trapezoid, simpson, cumulative_trapezoid, interp1d, cubic_spline)),
    (regular_grid, (reals(200, 200), units(100_000))),
    (sparse_product, (band(100_000), reals(100_000))),
    (cdist, (reals(1000, 3), reals(800, 3))),
]


def of_jax(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[], Any] | None:
    """A call of ``f`` through ``jax.jit``, with JAX's modules in the place of NumPy's and SciPy's; ``None`` if it lacks something."""
    try:
        import jax
        import jax.numpy as jnp
        import jax.scipy as jsp
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    modules = {name: getattr(jsp, name, None) for name in ("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "spatial", "special", "stats")}  # fmt: skip
    modules["fft"] = types.SimpleNamespace(**{**vars(jnp.fft), **vars(jsp.fft)})
    compiled = jax.jit(types.FunctionType(f.__code__, {"np": jnp, "math": math, **modules}))
    try:
        given = [jnp.asarray(x) for x in args]
        compiled(*given)
    except Exception:
        return None
    return lambda: jax.block_until_ready(compiled(*given))


def runs(jitted: Any) -> str:
    """What the compiled program consists of."""
    text = str(tnp.explain(jitted))
    if "in parts" in text:
        return "in parts"
    calls = []
    for b in tnp.last_traces(jitted)[-1].bound_symbols:
        name = b.sym.qualified_name
        if "fusion" not in name and not name.startswith(("prims.", "python_")) and name not in calls:
            calls.append(name)
    return ", ".join(f"`{c}`" for c in calls) if calls else "native"


def times(contestants: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The least milliseconds of each, called in turns."""
    best = [math.inf] * len(contestants)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or math.inf in best:
        for k, f in enumerate(contestants):
            start = time.perf_counter()
            f()
            best[k] = min(best[k], (time.perf_counter() - start) * 1e3)
    return best


INTRODUCTION = (
    "Each function inside of a computation, warm: SciPy, tnp, and JAX where it has the function, in one run on two threads, results "
    "compared. *tnp runs*: native kernels, or the calls of libraries that the compiled program has. Made by "
    "`benchmarks/scipy_programs.py`.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each program")
    parser.add_argument("--page", action="store_true", help="write the page of results")
    options = parser.parse_args()
    warnings.simplefilter("error", tnp.EagerFallbackWarning)
    over_scipy, over_jax, lines = [], [], []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    tell("| program | SciPy, ms | tnp, ms | JAX, ms | times SciPy's speed | times JAX's | tnp runs |")
    tell("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for f, args in PROGRAMS:
        if options.only not in f.__name__:
            continue
        jitted, peer = tnp.jit(f), of_jax(f, args)
        expected = f(*args)
        for found in (jitted(*args), *([peer()] if peer else [])):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=1e-8, err_msg=f.__name__)
        contestants = [lambda: f(*args), lambda: jitted(*args), *([peer] if peer else [])]
        theirs, ours, *rest = times(contestants, options.seconds)
        over_scipy.append(theirs / ours)
        over_jax += [t / ours for t in rest]
        jax_ms, jax_ratio = (f"{rest[0]:.3f}", f"{rest[0] / ours:.2f}") if rest else ("–", "–")
        tell(
            f"| {f.__name__} | {theirs:.3f} | {ours:.3f} | {jax_ms} | {theirs / ours:.2f} | {jax_ratio} | {runs(jitted)} |"
        )
    for name, ratios in (("SciPy", over_scipy), ("JAX", over_jax)):
        if ratios:
            tell(f"\nGeometric mean over {name}: {np.exp(np.mean(np.log(ratios))):.2f} ({len(ratios)} programs).")
    if options.page:
        text = "\n".join(("# Programs with SciPy", "", *INTRODUCTION, "", *lines))
        (Path(__file__).parent / "results" / "scipy_programs.md").write_text(wrapped(text + "\n"))


if __name__ == "__main__":
    main()
