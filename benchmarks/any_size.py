"""Code for any size beside code for one size, and what many sizes cost: ``python benchmarks/any_size.py --out FOLDER``.

Two tables. The first has the kernels of ``make bench``, compiled for any size and for the sizes of the call, in turns on the same
arguments. The second calls functions with random sizes, and compares the time of all calls, those that compile included, with
NumPy's.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from contestants import Version
from kernels import KERNELS, Kernel
from measure import Timer, difference, interleaved
from pages import wrapped
from report import machine

import tnp
from tnp.compile import any_size

#: of the columns of the first table
SIZES, DTYPES = (100_000, 1_000_000, 10_000_000), ("float64", "float32")
#: a ratio below this is measured again, as long as the first time and longer
SLOW, MORE_TIME = 0.95, 4.0


def ratio(kernel: Kernel, n: int, dtype: str, seconds: float) -> float:
    """How fast the code for any size is, relative to the code for ``n`` elements."""
    original, larger = (kernel.arguments(m, np.dtype(dtype)) for m in (n, 4 * n))
    timers: dict[Any, Timer] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for dynamic in (None, False):
            version = Version("NumPy", lambda: None)
            timer = Timer(version, tnp.jit(kernel.function, dynamic=dynamic), original, kernel.changes)
            if dynamic is None:
                _mark(timer.args, larger)
            for _ in range(2):
                timer.once(keep=True)
            timers[dynamic] = timer
        expected = [x.copy() for x in timers[False].outputs()]
        if wrong := difference(timers[None].outputs(), expected, dtype):
            raise AssertionError(f"{kernel.name}: {wrong}")
        for timer in timers.values():
            # On the same arrays: where arrays lie in memory changes times by a tenth.
            timer.result, timer.args, timer.passed = None, timers[False].args, timers[False].passed
        found = interleaved(timers, seconds, products=kernel.products)
        if found[False] / found[None] < SLOW:
            found = interleaved(timers, MORE_TIME * seconds, products=kernel.products)
    return found[False] / found[None]


def _mark(args: tuple[Any, ...], larger: tuple[Any, ...]) -> None:
    """Marks the dimensions that depend on the number of elements as dynamic."""
    for x, y in zip(args, larger):
        for d, (size, other) in enumerate(zip(np.shape(x), np.shape(y))):
            if size != other:
                tnp.mark_dynamic(x, d)


def ratios(kernels: list[Kernel], sizes: list[int], seconds: float) -> Iterator[str]:
    """The lines of the first table."""
    columns = [(dtype, n) for dtype in DTYPES for n in sizes]
    yield "| kernel | " + " | ".join(f"{dtype}, {n:.0e}" for dtype, n in columns) + " |"
    yield "| --- |" + " ---: |" * len(columns)
    everything: list[float] = []
    for kernel in kernels:
        row = [ratio(kernel, n, dtype, seconds) for dtype, n in columns]
        everything += row
        print(kernel.name, *(f"{r:.2f}" for r in row), flush=True)
        yield f"| {kernel.name} | " + " | ".join(f"{r:.2f}" for r in row) + " |"
    mean = math.exp(sum(map(math.log, everything)) / len(everything))
    slow = sum(r < SLOW for r in everything)
    yield ""
    yield f"Geometric mean {mean:.3f}; {slow} of {len(everything)} below {SLOW}."


def masked_sums(x: Any, y: Any) -> Any:
    """An elementwise function with a mask and two reductions."""
    z = np.where(x > 0.5, np.sqrt(x) * y, x - y)
    return z.sum(), (z * z).max()


def diffused(u: Any, steps: Any) -> Any:
    """A loop of stencils."""
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def _rows(rng: Any) -> tuple[Any, ...]:
    n = int(rng.integers(10, 20_001))
    return rng.random(n), rng.random(n)


def _grid(rng: Any) -> tuple[Any, ...]:
    return rng.random(tuple(int(n) for n in rng.integers(20, 400, 2))), 20


#: name, function, how many sizes, and the maker of arguments
PROGRAMS: tuple[tuple[str, Callable[..., Any], int, Callable[[Any], tuple[Any, ...]]], ...] = (
    ("a mask and two reductions, 10 to 20,000 elements", masked_sums, 200, _rows),
    ("20 steps of a stencil, 20 to 400 rows and columns", diffused, 60, _grid),
)


def many_sizes() -> Iterator[str]:
    """The lines of the second table."""
    yield "| program | sizes | programs compiled | seconds | seconds with NumPy |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, function, count, arguments in PROGRAMS:
        rng = np.random.default_rng(0)
        calls = [arguments(rng) for _ in range(count)]
        copies = [tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args) for args in calls]
        start = time.perf_counter()
        expected = [function(*args) for args in calls]
        eager = time.perf_counter() - start
        jitted = tnp.jit(function)
        start = time.perf_counter()
        results = [jitted(*args) for args in copies]
        seconds = time.perf_counter() - start
        for got, wanted in zip(results, expected):
            np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9)
        compiled = tnp.cache_info(jitted).misses
        print(name, compiled, seconds, eager, flush=True)
        yield f"| {name} | {count} | {compiled} | {seconds:.2f} | {eager:.2f} |"


def main() -> None:
    """Measures, and writes or prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="*", help="those whose name contains one of these words")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=0.5, help="time spent on each figure, about")
    parser.add_argument("--out", help="folder for the page")
    chosen = parser.parse_args()
    kernels = [k for k in KERNELS if chosen.kernels is None or any(word in k.name for word in chosen.kernels)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        second = "\n".join(many_sizes())
    first = "\n".join(ratios(kernels, chosen.sizes, chosen.seconds))
    page = f"# Code for any size\n\n{machine()}\n\n{_FIRST}\n\n{first}\n\n## Many sizes\n\n{_SECOND}\n\n{second}\n"
    if chosen.out:
        Path(chosen.out, "any_size.md").write_text(wrapped(page))
    else:
        print(page)


_FIRST = """\
The speed of programs for any size, relative to programs for one size. Below 1, code for any size is slower. Each
dimension that depends on the number of elements is a symbol. Medians of calls in turns, two threads, results compared.
Figures below 0.95 come from a second, longer measurement."""

_SECOND = """\
Calls with random sizes. The time covers all calls, and compiling every program, with empty caches."""

if __name__ == "__main__":
    os.environ["TNP_DISABLE_CACHE"] = "1"
    any_size.MOST = 0  # no size gets its own program because its calls take long
    main()
