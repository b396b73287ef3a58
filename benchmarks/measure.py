"""Cold and warm times of all contestants on a kernel, in turns, with their results compared."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from contestants import Version, invalidate, one_line, versions
from kernels import Kernel, Unsupported

__all__ = ["Measurer", "copy_bandwidth", "interleaved"]

#: the largest difference over the largest element
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
#: the part of integers computed from floats that may differ: comparisons at the borderline
INTEGERS_THAT_MAY_DIFFER = 1e-4
#: elements from which on memory-bound kernels are compared with copies
LARGE = 1_000_000
#: stands for a contestant: copies of as many bytes, in turns with the kernel, as the machine's bandwidth changes
COPY = "copy"
#: a turn of calls shorter than this starts with an untimed one, which warms the caches and lets others' threads sleep
WARMED_SECONDS = 0.02
#: the time in which threads that wait for their next parallel loop by spinning go to sleep; those of libraries for products take longer
SPINNING_SECONDS, LIBRARY_SECONDS = 0.002, 0.1


class Timer:
    """Calls of one version on arguments that are restored between calls, outside the timed region."""

    def __init__(self, version: Version, function: Any, originals: tuple[Any, ...], changes: tuple[int, ...]) -> None:
        self.version = version
        self.function = function
        self.args = tuple(x.copy() if i in changes else x for i, x in enumerate(originals))
        self.originals = {i: originals[i] for i in changes}
        self.passed = version.convert(self.args)
        self.uses_up = version.functional and bool(changes)
        self.result: Any = None
        self.last = 0.0

    def once(self, keep: bool = False) -> float:
        """Seconds of a call; ``keep`` leaves its result in ``result``."""
        for i, original in self.originals.items():
            self.args[i][...] = original
        passed = self.version.convert(self.args) if self.uses_up else self.passed
        start = time.perf_counter()
        result = self.function(*passed)
        if keep:
            self.result = result
        del result  # freeing the results belongs to the call
        self.last = time.perf_counter() - start
        return self.last

    def outputs(self) -> list[Any]:
        """What the call that was kept produced: its results, and the arguments that it changed."""
        result = self.result
        found = list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]
        if not self.version.functional:
            found += [self.args[i] for i in self.originals]
        return [np.asarray(x) for x in found]


class CopyTimer:
    """Copies of as many bytes as a kernel moves, half of them read and half written."""

    def __init__(self, copy: Callable[[], Any]) -> None:
        self.copy = copy
        self.last = 0.0

    def once(self) -> float:
        """Seconds of a copy."""
        start = time.perf_counter()
        self.copy()
        self.last = time.perf_counter() - start
        return self.last


def copies(source: Any, target: Any, threads: int, pool: ThreadPoolExecutor) -> list[Callable[[], Any]]:
    """Ways to copy an array: one thread's ``np.copyto``; with several, that on a part for each thread, and torch's copy."""
    found: list[Callable[[], Any]] = [lambda: np.copyto(target, source)]
    if threads > 1:
        parts = list(zip(np.array_split(target, threads), np.array_split(source, threads)))
        found.append(lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
        try:
            import torch
        except ImportError:
            pass
        else:
            a, b = torch.from_numpy(target), torch.from_numpy(source)
            found.append(lambda: a.copy_(b))
    return found


def interleaved(
    timers: dict[Any, Timer | CopyTimer], seconds: float, rounds: int = 8, least: int = 3, *, products: bool = False
) -> dict[Any, float]:
    """The median seconds a call of each contestant, from calls in turns: a slow phase of the machine meets all of them.

    Each gets about ``seconds`` in all, and at least ``least`` calls. The order rotates from round to round. After contestants that call
    libraries for ``products``, the next one waits until their threads sleep.
    """
    times: dict[Any, list[float]] = {key: [] for key in timers}
    keys = list(timers)
    for r in range(rounds):
        for key in keys[r % len(keys) :] + keys[: r % len(keys)]:
            found, timer = times[key], timers[key]
            if len(found) >= least and sum(found) > seconds:
                continue
            if products or timer.last > WARMED_SECONDS:
                time.sleep(LIBRARY_SECONDS if products else SPINNING_SECONDS)
            if timer.last <= WARMED_SECONDS:
                timer.once()
            deadline = time.perf_counter() + seconds / rounds
            while True:
                found.append(timer.once())
                if time.perf_counter() > deadline:
                    break
    return {key: statistics.median(found) for key, found in times.items()}


def difference(got: list[Any], expected: list[Any], dtype: str) -> str | None:
    """How results differ from NumPy's beyond the tolerance; None if they agree."""
    if len(got) != len(expected):
        return f"{len(got)} results instead of {len(expected)}"
    for g, e in zip(got, expected):
        if g.shape != e.shape:
            return f"shape {g.shape} instead of {e.shape}"
        if e.dtype.kind in "biu":
            part = np.mean(g != e)
            if part > INTEGERS_THAT_MAY_DIFFER:
                return f"{part:.1%} of the elements differ"
        else:  # no kernel makes infinities or NaN
            error, largest = np.abs(g - e).max(), np.abs(e).max()
            if not error <= TOLERANCE[dtype] * largest:
                return f"an error of {error / largest:.1e} of the largest element"
    return None


class Measurer:
    """Measures kernels in this process, with its number of threads."""

    def __init__(
        self, contestants: list[str], threads: int, seconds: float, styles: dict[str, Any] | None = None
    ) -> None:
        self.contestants = contestants
        self.threads = threads
        self.seconds = seconds
        #: by kernel and contestant, the styles that are still timed, if it has been measured
        self.styles: dict[str, list[str]] = styles or {}

    def measure(self, kernel: Kernel, n: int, dtype: str) -> dict[str, Any]:
        """A row of the report, of JSON's types: warm and cold seconds by contestant, and why some have none."""
        row: dict[str, Any] = {"kernel": kernel.name, "n": n, "dtype": dtype, "threads": self.threads}
        row |= {"cold": {}, "blank": {}, "wrong": {}, "unfused": []}
        row["memory_bound"] = kernel.memory_bound
        invalidate(self.contestants)
        expected: list[Any] = []
        timers: dict[tuple[str, str, str], Timer | CopyTimer] = {}
        original = kernel.arguments(n, np.dtype(dtype))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for name in self.contestants:
                failed = kernel.cannot.get(name, "")
                for version in versions(kernel, name, n, self.threads):
                    if version.style not in self.styles.get(f"{kernel.name}: {name}", [version.style]):
                        continue
                    try:
                        timer, cold = self._first_call(kernel, version, original)
                    except Exception as error:  # a peer that cannot take the program is a blank in the table
                        failed = str(error) if isinstance(error, Unsupported) else one_line(error)
                        continue
                    outputs = timer.outputs()
                    if not expected:
                        expected = [x.copy() for x in outputs]
                        row["bytes"] = kernel.bytes_moved(timer.args, outputs[: len(outputs) - len(kernel.changes)])
                    wrong = difference(outputs, expected, dtype)
                    if wrong:
                        row["wrong"][f"{name}, {version.style}"] = wrong
                        failed = f"other results than NumPy: {wrong}"
                        continue
                    timer.result = None
                    row["cold"].setdefault(name, cold)
                    timers[name, version.style, version.detail] = timer
                    if name == "tnp":
                        row["unfused"] = unfused(timer.function)
                if not any(key[0] == name for key in timers):
                    row["blank"][name] = failed or "no version of it here"
            del expected
            with ThreadPoolExecutor(self.threads) as pool:
                if kernel.memory_bound and n >= LARGE:
                    source = np.ones(row["bytes"] // 2, np.uint8)
                    found = copies(source, np.zeros_like(source), self.threads, pool)
                    timers |= {(COPY, "", str(i)): CopyTimer(copy) for i, copy in enumerate(found)}
                warm = interleaved(timers, self.seconds, products=kernel.products)
        copied = [warm.pop(key) for key in list(warm) if key[0] == COPY]
        if copied:
            row["copy"] = row["bytes"] / min(copied)
        self._drop_slow_styles(kernel.name, warm)
        row["warm"], row["version"] = {}, {}
        for (name, style, detail), value in warm.items():
            if value < row["warm"].get(name, float("inf")):
                row["warm"][name] = value
                row["version"][name] = f"{style}, {detail}" if detail else style
        return row

    def _first_call(self, kernel: Kernel, version: Version, original: tuple[Any, ...]) -> tuple[Timer, float]:
        start = time.perf_counter()
        function = version.make()
        made = time.perf_counter() - start
        timer = Timer(version, function, original, kernel.changes)
        return timer, made + timer.once(keep=True)

    def _drop_slow_styles(self, kernel: str, warm: dict[tuple[str, str, str], float]) -> None:
        """Styles that lost clearly where a kernel was measured first are not compiled again for other sizes and dtypes.

        Of two that are about as fast, the one written for the peer stays: it is the faster one on few elements.
        """
        for name in self.contestants:
            best: dict[str, float] = {}
            for (contestant, style, _), value in warm.items():
                if contestant == name:
                    best[style] = min(value, best.get(style, value))
            if f"{kernel}: {name}" in self.styles or not best:
                continue
            fastest, written = min(best.values()), list(best)[-1]
            kept = [style for style, value in best.items() if value <= 1.5 * fastest]
            self.styles[f"{kernel}: {name}"] = [written] if best[written] <= 1.1 * fastest else kept


def unfused(jitted: Any) -> list[str]:
    """The operations of a program of tnp's that are not in native code; or why the call runs eagerly."""
    import tnp

    try:
        trace = tnp.last_traces(jitted)[-1]
    except (IndexError, RuntimeError):  # RuntimeError: tracing raised what the program does not
        return [line.strip() for line in tnp.explain(jitted).splitlines() if "eagerly" in line] or ["runs eagerly"]
    executors = [(b.sym.executor.name, b.sym.name) for b in trace.body if b.sym.executor]
    return [
        f"{executor}: {operation}" for executor, operation in executors if not executor.startswith(("llvm", "python"))
    ]


def copy_bandwidth(threads: int, megabytes: int = 128, repeats: int = 7) -> float:
    """Bytes a second, read and written, of the best copy between two large arrays with that many threads."""
    source = np.ones(megabytes * 2**17)
    with ThreadPoolExecutor(threads) as pool:
        timers = [CopyTimer(copy) for copy in copies(source, np.zeros_like(source), threads, pool)]
        return 2 * source.nbytes / min(timer.once() for timer in timers * repeats)
