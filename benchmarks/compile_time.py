"""How long the first call of long programs takes, and which passes take it.

``python benchmarks/compile_time.py`` prints the two tables of docs/notes/compile_time.md: programs of several lengths, and the
passes of 5,000 operations by time. Times are those of the processor, without the disk cache.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TNP_DISABLE_CACHE"] = "1"

import numpy as np

import tnp
from tnp.runtime import logs
from tnp.transforms import pipeline

X, Y = np.linspace(0.1, 1, 50), np.linspace(1, 2, 50)
OPERATIONS = ("x + y", "x * 0.5", "np.sin(x)", "x - y", "np.maximum(x, y)", "y * x")


def _function(lines: list[str], result: str = "x", before: str = "") -> str:
    body = "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
    return f"import numpy as np\nimport tnp\n{before}\ndef f(x, y, zs=None):\n{body}\n"


def straight_line(n: int) -> str:
    return _function([f"x, y = {OPERATIONS[i % 6]}, x" for i in range(n)])


def gradient(n: int) -> str:
    return straight_line(n).replace("return x", "return x.sum()") + "f = tnp.grad(f)\n"


def rolls(n: int) -> str:
    return _function([f"x = x * 0.5 + np.roll(x, {i % 5})" for i in range(n)])


def element_writes(n: int) -> str:
    return _function(["x = x.copy()", *(f"x[{i % 50}] = x[{i * 7 % 50}] + {i}.0" for i in range(n))])


def chain(n: int) -> str:
    return _function([], " + ".join(["x", "y"] * (n // 2)))


def kalman_filter(n: int) -> str:
    """A filter over a list of ``n`` measurements, in the variable ``zs``."""
    step = ("p = p + 0.1", "k = p / (p + 0.5)", "m = m + k * (z - m)", "p = (1 - k) * p", "out.append(m)")
    lines = ["m, p, out = x[0], y[0], []", "for z in zs:", *(f"    {line}" for line in step)]
    return _function(lines, "np.array(out)") + f"zs = [float(i) for i in range({n})]\n"


def matrix_filter(n: int) -> str:
    """The same, of two states, by products of matrices and an inverse."""
    step = (
        "m, P = F @ m, F @ P @ F.T + 0.1 * np.eye(2)",
        "K = P @ H.T @ np.linalg.inv(H @ P @ H.T + 0.5)",
        "m, P = m + K @ (z - H @ m), (np.eye(2) - K @ H) @ P",
        "out.append(m)",
    )
    first = ["m, P, out = x[:2], np.eye(2), []", "F, H = np.array([[1.0, 1], [0, 1]]), np.array([[1.0, 0]])"]
    lines = [*first, "for z in zs:", *(f"    {line}" for line in step)]
    return _function(lines, "np.array(out)") + f"zs = [np.array([float(i)]) for i in range({n})]\n"


def solutions(n: int) -> str:
    lines = ["A = x[:3] * np.eye(3) + 1"]
    return _function(lines, "[np.linalg.solve(A, b) for b in zs]") + f"zs = [np.arange(3.0) + i for i in range({n})]\n"


def helpers(n: int) -> str:
    before = "".join(f"def h{i}(x, y):\n    z = x * 0.{i + 1}\n    return z + y\n" for i in range(n))
    return _function([f"x = h{i}(x, y)" for i in range(n)], before=before)


def branches(n: int) -> str:
    return _function([line for i in range(n) for line in (f"if x[{i % 40}] > {i}.0:", "    x = x + y")])


def array_of_range(n: int) -> str:
    return _function([], f"np.array(range({n})) + x[0]")


PROGRAMS: dict[Callable[[int], str], tuple[int, int]] = {
    straight_line: (1_250, 5_000),
    gradient: (500, 2_000),
    rolls: (375, 1_500),
    element_writes: (250, 1_000),
    chain: (225, 900),
    kalman_filter: (125, 500),
    matrix_filter: (50, 200),
    solutions: (100, 400),
    helpers: (75, 300),
    branches: (50, 200),
    array_of_range: (250, 1_000),
}


def load(source: str, folder: str) -> ModuleType:
    """A module with that source in a file, where tnp reads it."""
    file = Path(folder) / f"program{len(list(Path(folder).iterdir()))}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_call(source: str, folder: str) -> tuple[float, Any]:
    """The processor's seconds of a first call, and the jitted function."""
    module = load(source, folder)
    f = tnp.jit(module.f)
    zs = getattr(module, "zs", None)
    start = time.process_time()
    f(X, Y, *(() if zs is None else (zs,)))
    return time.process_time() - start, f


def passes(source: str, folder: str) -> list[tuple[str, float]]:
    """The passes of a program and their seconds, the longest first; passes that change nothing have no trace to tell it."""
    found: dict[str, float] = {"machine code": 0.0}
    timed = pipeline.timed_pass

    def listener(event: logs.Event) -> None:
        found["machine code"] += event.seconds if event.kind == "native" else 0

    def timed_too(name: str, f: Any, trace: Any) -> Any:
        start = time.process_time()
        made = timed(name, f, trace)
        found[name] = found.get(name, 0) + time.process_time() - start
        return made

    logs.listeners.append(listener)
    pipeline.timed_pass = timed_too
    try:
        whole, _ = first_call(source, folder)
    finally:
        logs.listeners.remove(listener)
        pipeline.timed_pass = timed
    found["capture"] = whole - sum(found.values())
    return sorted(found.items(), key=lambda item: -item[1])


def main() -> None:
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        first_call(rolls(5), folder)  # what a process makes once
        print("| program | length | s | length | s | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        for program, lengths in PROGRAMS.items():
            short, long = (first_call(program(n), folder)[0] for n in lengths)
            name = program.__name__.replace("_", " ")
            print(f"| {name} | {lengths[0]:,} | {short:.2f} | {lengths[1]:,} | {long:.2f} | {long / short:.1f} |")
        print("\n| pass | ms |\n| --- | ---: |")
        for name, seconds in passes(
            straight_line(5_000).replace("0.5", "0.25"), folder
        ):  # no text that was rewritten before
            print(f"| {name} | {seconds * 1000:.0f} |")


if __name__ == "__main__":
    main()
