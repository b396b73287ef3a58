"""Times tnp beside NumPy and every peer that is installed, in one run, and checks that all agree.

``python benchmarks/run.py`` prints the tables and writes them, with a plot, to ``benchmarks/results``. Figures are ratios
to NumPy on the same machine in the same run: above 1 is faster. Arguments that a kernel changes are restored, untimed,
before each call.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kernels import KERNELS, Kernel

import tnp

RESULTS = Path(__file__).parent / "results"
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}


# Contestants: from a kernel to a function of the same arguments, or None where the peer has none.


def _numpy(kernel: Kernel) -> Any:
    return kernel.function


def _tnp(kernel: Kernel) -> Any:
    return tnp.jit(kernel.function)


def _numba(kernel: Kernel) -> Any:
    import numba

    return numba.njit(kernel.function, fastmath=False)


def _jax(kernel: Kernel) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    if "jax" not in kernel.peers:
        return None
    compiled = jax.jit(kernel.peers["jax"]())
    return lambda *args: jax.block_until_ready(compiled(*args))


def _torch_compile(kernel: Kernel) -> Any:
    import torch

    return torch.compile(kernel.function)


def _numexpr(kernel: Kernel) -> Any:
    return kernel.peers["numexpr"]() if "numexpr" in kernel.peers else None


CONTESTANTS: dict[str, tuple[str | None, Callable[[Kernel], Any]]] = {
    "numpy": (None, _numpy),
    "tnp": (None, _tnp),
    "numba": ("numba", _numba),
    "jax": ("jax", _jax),
    "torch.compile": ("torch", _torch_compile),
    "numexpr": ("numexpr", _numexpr),
}


def _outputs(kernel: Kernel, name: str, result: Any, args: tuple[Any, ...]) -> list[Any]:
    """What a call produced: its results, and the arguments that it changed (which jax returns)."""
    found = list(result) if isinstance(result, tuple) else [] if result is None else [result]
    if name != "jax":
        found += [args[i] for i in kernel.changes]
    return [np.asarray(x) for x in found]


class _Timer:
    """Calls of one contestant on arguments that are restored in place between calls, outside the timed region."""

    def __init__(self, kernel: Kernel, function: Any, args: tuple[Any, ...]) -> None:
        self.changes = kernel.changes
        self.function = function
        self.args = args
        self.originals = {i: args[i].copy() for i in kernel.changes}

    def once(self) -> float:
        for i, original in self.originals.items():
            self.args[i][...] = original
        start = time.perf_counter()
        self.function(*self.args)
        return time.perf_counter() - start


def interleaved(timers: dict[str, _Timer], seconds: float, rounds: int = 12) -> dict[str, float]:
    """The median seconds a call of each contestant, from calls in turns: a slow phase of the machine meets all of them.

    Each contestant gets about ``seconds`` in all, and at least one call a round.
    """
    times: dict[str, list[float]] = {name: [] for name in timers}
    for timer in timers.values():
        timer.once()
    for _ in range(rounds):
        for name, timer in timers.items():
            deadline = time.perf_counter() + seconds / rounds
            while True:
                times[name].append(timer.once())
                if time.perf_counter() > deadline:
                    break
    return {name: statistics.median(found) for name, found in times.items()}


def measure(kernel: Kernel, n: int, dtype: str, names: list[str], seconds: float) -> dict[str, dict[str, float]]:
    """Cold and warm seconds of each contestant on a kernel. Raises ``AssertionError`` if results differ."""
    expected = None
    cold: dict[str, float] = {}
    timers: dict[str, _Timer] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            args = kernel.arguments(n, np.dtype(dtype))
            try:
                function = CONTESTANTS[name][1](kernel)
                if function is None:
                    continue
                start = time.perf_counter()
                result = function(*args)
                cold[name] = time.perf_counter() - start
            except Exception as error:  # a peer that cannot take the program is a blank in the table
                print(f"  {name} does not run {kernel.name}: {type(error).__name__}", file=sys.stderr)
                continue
            outputs = _outputs(kernel, name, result, args)
            if expected is None:
                expected = outputs
            for a, e in zip(outputs, expected, strict=True):
                tolerance = TOLERANCE[dtype]
                np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance, err_msg=f"{name} on {kernel.name}")
            timers[name] = _Timer(kernel, function, kernel.arguments(n, np.dtype(dtype)))
        warm = interleaved(timers, seconds)
    return {name: {"cold": cold[name], "warm": warm[name]} for name in timers}


def kernel_tables(names: list[str], sizes: list[int], dtypes: list[str], seconds: float) -> tuple[str, dict[str, Any]]:
    """A Markdown table a size and dtype, and the ratios for the plot."""
    text: list[str] = []
    ratios: dict[str, Any] = {}
    for dtype in dtypes:
        for n in sizes:
            text += [f"\n### {n:,} elements, {dtype}\n"]
            text += ["| kernel | NumPy | " + " | ".join(f"{x} (×)" for x in names[1:]) + " | tnp cold |"]
            text += ["| --- | ---: |" + " ---: |" * len(names)]
            for kernel in KERNELS:
                rows = measure(kernel, n, dtype, names, seconds)
                base = rows["numpy"]["warm"]
                cells = [f"{base / rows[x]['warm']:.2f}" if x in rows else "" for x in names[1:]]
                text.append(f"| {kernel.name} | {_time(base)} | {' | '.join(cells)} | {_time(rows['tnp']['cold'])} |")
                print(text[-1], flush=True)
                ratios[f"{kernel.name}, {n:,}, {dtype}"] = {x: base / rows[x]["warm"] for x in names[1:] if x in rows}
    return "\n".join(text), ratios


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


# Costs that do not depend on the data.


def _per_call(f: Callable[[], Any], number: int = 20_000) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(number):
            f()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def dispatch(names: list[str]) -> list[str]:
    """Seconds a call of ``a + b`` on arrays of one element, NumPy in and out."""
    kernel = Kernel(
        "add",
        lambda a, b: a + b,
        lambda n, d: (np.ones(1, d), np.ones(1, d)),
        peers={"jax": lambda: lambda a, b: a + b},
    )
    lines = ["\n## Dispatch: `a + b` of one element\n", "| | µs a call |", "| --- | ---: |"]
    a, b = kernel.arguments(1, np.dtype("float64"))
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function = np.add if name == "numpy" else CONTESTANTS[name][1](kernel)
                if function is None:
                    continue
                np.asarray(function(a, b))
            except Exception:
                continue
            lines.append(f"| {name} | {_per_call(lambda f=function: f(a, b)) * 1e6:.2f} |")
    return lines


def compile_costs() -> list[str]:
    """Tracing a recorded operation, and the first call of a function of 30 operations."""

    def thirty(x, y):
        for _ in range(6):
            x = x * 1.5 + y
            y = np.sin(x) - y
            x = x / 2
        return x

    a, b = np.ones(5), np.ones(5)
    traced = tnp.trace()
    count = len(traced(thirty, a, b).body)
    tracing = min(_elapsed(lambda: traced(thirty, a, b)) for _ in range(20)) / count
    cold = min(_elapsed(lambda: tnp.jit(thirty)(a, b)) for _ in range(20))
    first = _in_fresh_process(_FIRST_CALL)
    return [
        "\n## Compiling\n",
        "| | |",
        "| --- | ---: |",
        f"| tracing, a recorded operation | {tracing * 1e6:.1f} µs |",
        f"| first call, {count} operations, numpy executor | {cold * 1e3:.1f} ms |",
        f"| the same, first function of a fresh process | {first} ms |",
    ]


_FIRST_CALL = """
import time, numpy as np, tnp
def thirty(x, y):
    for _ in range(6):
        x = x * 1.5 + y
        y = np.sin(x) - y
        x = x / 2
    return x
f = tnp.jit(thirty)
start = time.perf_counter(); f(np.ones(5), np.ones(5)); print(f"{(time.perf_counter() - start) * 1e3:.1f}")
"""


def _elapsed(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def _in_fresh_process(code: str, *arguments: str) -> str:
    """What ``code`` prints. Modules come as installed packages have them, as bytecode."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parent
    )
    return done.stdout.strip()


def import_times() -> list[str]:
    """Milliseconds to import NumPy, and tnp, in a fresh process: the best of several."""

    def best(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return min(float(_in_fresh_process(code)) for _ in range(7))

    numpy_time, tnp_time = best("numpy"), best("tnp")
    return [
        "\n## Import\n",
        "| | ms |",
        "| --- | ---: |",
        f"| numpy | {numpy_time * 1e3:.0f} |",
        f"| tnp (numpy included) | {tnp_time * 1e3:.0f} |",
        f"| difference | {(tnp_time - numpy_time) * 1e3:.0f} |",
    ]


def peak_memory() -> list[str]:
    """Peak memory of an in-place stencil on two 128 MB arrays beyond the arrays, under NumPy and under tnp."""
    lines = ["\n## Memory: the stencil on two arrays of 128 MB\n", "| | MB beyond the arrays |", "| --- | ---: |"]
    return lines + [f"| {name} | {_in_fresh_process(_MEMORY, name)} |" for name in ("numpy", "tnp")]


_MEMORY = """
import sys, numpy as np, tnp
from kernels import heat
f = heat if sys.argv[1] == "numpy" else tnp.jit(heat)
f(np.ones((8, 8)), np.ones((8, 8)))
u, v = np.ones((4096, 4096)), np.ones((4096, 4096))
def peak():  # of this process alone: getrusage counts its parent's before exec
    return int(next(x for x in open("/proc/self/status") if x.startswith("VmHWM")).split()[1])
before = peak()
f(u, v)
print(round((peak() - before) / 1024))
"""


def machine() -> str:
    """The machine, in a line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = next(
            (x.split(":")[1].strip() for x in cpuinfo.read_text().splitlines() if x.startswith("model name")), model
        )
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {total:.0f} GiB; Python {platform.python_version()}, NumPy {np.__version__}"
    )


def plot(ratios: dict[str, Any], names: list[str], path: Path) -> None:
    """A bar a kernel and contestant: how many times faster than NumPy."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 0.4 * len(ratios) + 1.5), layout="constrained")
    height = 0.8 / max(len(names) - 1, 1)
    for i, name in enumerate(names[1:]):
        at = [y + i * height for y, row in enumerate(ratios.values()) if name in row]
        axes.barh(at, [row[name] for row in ratios.values() if name in row], height, label=name)
    axes.set_yticks([y + 0.4 for y in range(len(ratios))], list(ratios), fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("times NumPy's speed")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000, 1_000_000])
    parser.add_argument("--dtypes", nargs="+", default=["float64"], choices=sorted(TOLERANCE))
    parser.add_argument("--seconds", type=float, default=0.3, help="time spent on each warm figure")
    parser.add_argument("--peers", nargs="*", help="which peers (default: those installed)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    names = [
        name for name, (package, _) in CONTESTANTS.items()
        if package is None or (importlib.util.find_spec(package) and (chosen.peers is None or name in chosen.peers))
    ]  # fmt: skip
    text = [
        f"# Benchmarks\n\n{machine()}\n\nBeside NumPy: {', '.join(names[1:])}. Ratios to NumPy in one run; above 1 is faster."
    ]
    tables, ratios = kernel_tables(names, chosen.sizes, chosen.dtypes, chosen.seconds)
    for lines in (["\n## Kernels", tables], dispatch(names), compile_costs(), import_times(), peak_memory()):
        text += lines
    report = "\n".join(text) + "\n"
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "numpy_executor.md").write_text(report)
    if importlib.util.find_spec("matplotlib"):
        plot(ratios, names, chosen.out / "numpy_executor.png")
    print(report)


if __name__ == "__main__":
    main()
