"""Times compiled functions of SciPy beside SciPy's own, and prints the table of ``docs/notes/scipy.md``.

    python benchmarks/scipy_functions.py

Times are milliseconds, the least of 20 calls in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import ndimage, signal, stats

import tnp

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(512, 512)) * 50 + 100
SERIES = RNG.normal(size=100_000)
TAPS, PATCH = RNG.normal(size=15), RNG.normal(size=(3, 3))

FILTERS: dict[str, Callable] = {
    "`ndimage.gaussian_filter`, sigma 1": lambda x: ndimage.gaussian_filter(x, 1),
    "`ndimage.gaussian_filter`, sigma 5": lambda x: ndimage.gaussian_filter(x, 5),
    "`ndimage.sobel`": lambda x: ndimage.sobel(x),
    "`ndimage.laplace`": lambda x: ndimage.laplace(x),
    "`ndimage.convolve`, 3 × 3": lambda x: ndimage.convolve(x, [[1, 2, 1], [2, 4, 2], [1, 2, 1.5]]),
    "`ndimage.maximum_filter`, 5": lambda x: ndimage.maximum_filter(x, 5),
}
OF_SERIES: dict[str, Callable] = {
    "`signal.convolve`, 15 taps": lambda x: signal.convolve(x, TAPS, "same"),
    "`signal.savgol_filter`, 11 points": lambda x: signal.savgol_filter(x, 11, 3),
    "`signal.fftconvolve`, 2,000 taps": lambda x: signal.fftconvolve(x, x[:2000], "same"),
    "`signal.hilbert`": lambda x: signal.hilbert(x),
    "`signal.detrend`": lambda x: signal.detrend(x),
    "`stats.zscore`": lambda x: stats.zscore(x),
    "`stats.skew`": lambda x: stats.skew(x),
    "`stats.norm.logpdf`": lambda x: stats.norm.logpdf(x, 0.1, 2.0),
    "`stats.norm.logpdf`, 3 numbers": lambda x: stats.norm.logpdf(x[:3], 0.1, 2.0),
}


def times(f: Callable, x: np.ndarray) -> tuple[float, float]:
    """Of the compiled function, and of ``f``."""
    compiled = tnp.jit(f)
    compiled(x)
    pairs = []
    for _ in range(20):
        moments = [time.perf_counter()]
        for function in (compiled, f):
            function(x)
            moments.append(time.perf_counter())
        pairs.append(np.diff(moments) * 1e3)
    ours, theirs = np.min(pairs, axis=0)
    return float(ours), float(theirs)


def main() -> None:
    print("| function | tnp | SciPy | ratio |\n| --- | --- | --- | --- |")
    cases = [
        (f"{name}, {dtype}", f, IMAGE.astype(dtype)) for dtype in ("float64", "uint8") for name, f in FILTERS.items()
    ]
    cases += [("`signal.convolve2d`, 3 × 3", lambda x: signal.convolve2d(x, PATCH, "same"), IMAGE)]
    for name, f, x in cases + [(name, f, SERIES) for name, f in OF_SERIES.items()]:
        ours, theirs = times(f, x)
        print(f"| {name} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
