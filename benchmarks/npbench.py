"""NPBench's programs, unmodified, through ``tnp.jit``, beside NumPy and the peers' own variants.

    git clone https://github.com/spcl/npbench ../npbench
    python benchmarks/npbench.py --npbench ../npbench --preset M

For each program: the first call (ms), and warm calls as ratios of NumPy's time. tnp and torch.compile are given the program as it
stands in ``*_numpy.py``; numba and jax are given NPBench's versions written for them (``*_numba_*.py``, of which the best counts,
and ``*_jax.py``). Each contestant runs a program in a process of its own. Results and *all* array arguments are compared with
NumPy's; arguments that the program changes are restored in place between calls, untimed. How memory happens to lie is another in each
process, and decides a quarter of the time of programs that are one call of BLAS on a large array. ``--turns`` compares tnp with NumPy in
one process as well, call by call.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from pages import wrapped

CONTESTANTS = ("tnp", "numba", "jax", "torch")
#: NPBench's default for the norm of the difference over the norm of the result
NORM_ERROR = 1e-5
#: what numba's versions are called in NPBench: object mode, nopython, parallel
NUMBA_VERSIONS = ("n", "np", "npr", "o", "op", "opr")


# The parent


def main() -> None:
    chosen = _arguments()
    if chosen.worker:
        _worker(json.loads(chosen.worker))
        return
    folder = Path(chosen.npbench).resolve()
    names = sorted(p.stem for p in (folder / "bench_info").glob("*.json"))
    if chosen.programs:
        names = [n for n in names if any(w == n or (w.endswith("*") and n.startswith(w[:-1])) for w in chosen.programs)]
    rows = []
    for name in names:
        row = _measure(folder, name, chosen)
        rows.append(row)
        print(_line(row), flush=True)
        if chosen.json:
            Path(chosen.json).write_text(json.dumps(rows, indent=1))
    text = _report(rows, chosen)
    print(text)
    if chosen.out:
        Path(chosen.out).mkdir(parents=True, exist_ok=True)
        Path(chosen.out, "npbench.md").write_text(wrapped(text))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--npbench", help="a clone of spcl/npbench")
    parser.add_argument("--preset", default="S", choices=["S", "M", "L", "paper"])
    parser.add_argument("--programs", nargs="*", help="their short names; default: all")
    parser.add_argument("--contestants", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--seconds", type=float, default=1.0, help="time spent on each warm figure, about")
    parser.add_argument(
        "--turns", action="store_true", help="also call NumPy's program and tnp's in turns, in one process"
    )
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for a contestant's process")
    parser.add_argument("--out", help="folder for the report")
    parser.add_argument("--json", help="keep the measurements here")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(folder: Path, name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    row: dict[str, Any] = {"program": name}
    with tempfile.TemporaryDirectory() as scratch:
        task = {"npbench": str(folder), "program": name, "preset": chosen.preset, "seconds": chosen.seconds}
        task["reference"] = str(Path(scratch, "reference.npz"))
        environment = {**os.environ, "TNP_CACHE_DIR": str(Path(scratch, "cache"))}
        for contestant in ("NumPy", *chosen.contestants):
            timeout = chosen.timeout if contestant != "NumPy" else max(600, chosen.timeout)
            row[contestant] = _in_process({**task, "contestant": contestant}, timeout, environment)
            if contestant == "NumPy" and "warm" not in row[contestant]:
                break
        else:
            if chosen.turns:
                row["turns"] = _in_process({**task, "contestant": "turns"}, chosen.timeout, environment).get("turns")
    return row


def _in_process(task: dict[str, Any], timeout: float, environment: dict[str, str]) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        command = [sys.executable, __file__, "--worker", json.dumps({**task, "out": out.name})]
        try:
            done = subprocess.run(command, env=environment, timeout=timeout, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return json.loads(out.read() or "{}") | {"failed": f"more than {timeout:.0f} s"}
        found = json.loads(out.read() or "{}")
        if done.returncode and "failed" not in found:
            last = done.stderr.strip().splitlines()
            found["failed"] = last[-1] if last else f"exit {done.returncode}"
        return found


# The report


def _ratio(row: dict[str, Any], contestant: str) -> float | None:
    found = row.get(contestant, {})
    return row["NumPy"]["warm"] / found["warm"] if "warm" in found and "wrong" not in found else None


def _line(row: dict[str, Any]) -> str:
    parts = [f"{row['program']:12}"]
    if "warm" not in row["NumPy"]:
        return f"{parts[0]} NumPy: {row['NumPy'].get('failed')}"
    parts.append(f"NumPy {row['NumPy']['warm'] * 1e3:9.2f} ms")
    for contestant in CONTESTANTS:
        found = row.get(contestant)
        if found is None:
            continue
        ratio = _ratio(row, contestant)
        if ratio is not None:
            parts.append(
                f"{contestant} {ratio:.2f} (first {found['cold'] * 1e3:.0f} ms{', ' + found['note'] if found.get('note') else ''})"
            )
        else:
            parts.append(f"{contestant} FAILED: {found.get('wrong') or found.get('failed')}"[:150])
    if row.get("turns") is not None:
        parts.append(f"in turns {row['turns']:.2f}")
    return " | ".join(parts)


def _mean(ratios: Iterable[float | None]) -> float:
    """The geometric mean, a failure counting as NumPy's own speed."""
    logs = [math.log(r) if r is not None else 0.0 for r in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _report(rows: list[dict[str, Any]], chosen: argparse.Namespace) -> str:
    rows = [r for r in rows if "warm" in r["NumPy"]]
    names = [c for c in CONTESTANTS if c in chosen.contestants]
    lines = [
        "# NPBench",
        "",
        f"Preset {chosen.preset}. Warm calls: how many times as fast as NumPy. A failure counts as 1 in the means.",
        "",
    ]
    turns = ["in turns"] if chosen.turns else []
    lines += ["| " + " | ".join(["program", "NumPy, ms", *names, "tnp's first call, ms", *turns]) + " |"]
    lines += ["| --- " + "| ---: " * (len(names) + 2 + len(turns)) + "|"]
    for r in rows:
        cells = []
        for c in names:
            ratio = _ratio(r, c)
            cells.append(f"{ratio:.2f}" if ratio is not None else "wrong" if r[c].get("wrong") else "failed")
        cold = r.get("tnp", {}).get("cold")
        cells.append(f"{cold * 1e3:.0f}" if cold is not None else "")
        if turns:
            cells.append(f"{r['turns']:.2f}" if r.get("turns") is not None else "")
        lines.append(f"| {r['program']} | {r['NumPy']['warm'] * 1e3:.2f} | " + " | ".join(cells) + " |")
    means = [f"{_mean(_ratio(r, c) for r in rows):.2f}" for c in names]
    lines += [f"| **geometric mean** | | {' | '.join(means)} | |{' |' * len(turns)}", ""]
    peers = [c for c in names if c != "tnp"]
    if "tnp" in names:
        own = [_ratio(r, "tnp") or 0.0 for r in rows]
        if peers:
            best = [max((_ratio(r, c) or 1.0 for c in peers), default=1.0) for r in rows]
            lines.append(f"The best peer of each program taken together: {_mean(best):.2f}. "
                         f"tnp is at least as fast as the best peer on {sum(a >= b for a, b in zip(own, best))} of {len(rows)} programs.")  # fmt: skip
        slower = [r["program"] for r, a in zip(rows, own) if (r.get("turns") or a) < 1]
        colds = [r["tnp"]["cold"] for r in rows if "cold" in r.get("tnp", {})]
        lines.append(f"Slower than NumPy, or failed: {', '.join(slower) or 'none'}.")
        if colds:
            lines.append(
                f"First calls: median {statistics.median(colds) * 1e3:.0f} ms, at most {max(colds) * 1e3:.0f} ms."
            )
        notes = [f"- {r['program']}: {r['tnp']['note']}" for r in rows if r.get("tnp", {}).get("note")]
        lines += ["", *notes]
    return "\n".join(lines) + "\n"


# A process of one contestant


class _Program:
    """A program of NPBench and its arguments."""

    def __init__(self, folder: str, name: str, preset: str) -> None:
        self.info = json.loads(Path(folder, "bench_info", f"{name}.json").read_text())["benchmark"]
        self.module = f"npbench.benchmarks.{self.info['relative_path'].replace('/', '.')}.{self.info['module_name']}"
        self.data: dict[str, Any] = dict(self.info["parameters"][preset])
        init = self.info.get("init")
        np.random.seed(42)  # some draw from NumPy's own generator
        if init:
            function = getattr(importlib.import_module(self.module), init["func_name"])
            made = function(*(self.data[a] for a in init["input_args"]))
            made = made if len(init["output_args"]) > 1 else (made,)
            self.data.update(zip(init["output_args"], made))
        self.names = self.info["input_args"]
        self.arguments = [self.data[n] for n in self.names]
        self.tolerance = self.info.get("norm_error", NORM_ERROR)

    def function(self, postfix: str) -> Callable[..., Any]:
        return getattr(importlib.import_module(f"{self.module}_{postfix}"), self.info["func_name"])


def _arrays(x: Any) -> list[np.ndarray]:
    if x is None:
        return []
    if isinstance(x, (tuple, list)):
        return [a for y in x for a in _arrays(y)]
    return [np.asarray(x)]


def _worker(task: dict[str, Any]) -> None:
    warnings.simplefilter("ignore")
    sys.path[0] = task["npbench"]  # in place of this file's folder, where ``npbench`` is this file
    program = _Program(task["npbench"], task["program"], task["preset"])
    record: dict[str, Any] = {}

    def keep(**found: Any) -> None:
        record.update(found)
        Path(task["out"]).write_text(json.dumps(record))

    if task["contestant"] == "turns":
        keep(turns=_in_turns(program, task["seconds"]))
        return
    try:
        versions = list(_versions(program, task["contestant"]))
    except Exception as e:
        keep(failed=f"{type(e).__name__}: {e}"[:300])
        return
    best: dict[str, Any] | None = None
    failures = []
    for label, function, convert in versions:
        try:
            found = _time(program, function, convert, task)
        except Exception as e:
            failures.append(f"{label}{type(e).__name__}: {e}"[:300])
            continue
        if "wrong" in found:
            failures.append(found["wrong"])
        elif best is None or found["warm"] < best["warm"]:
            best = found
            keep(**best)
    if best is None:
        keep(failed="; ".join(failures)[:300] or "there is no version for it")


def _versions(program: _Program, contestant: str) -> Iterable[tuple[str, Callable[..., Any], Callable[[Any], Any]]]:
    def same(x: Any) -> Any:
        return x

    if contestant == "NumPy":
        yield "", program.function("numpy"), same
    elif contestant == "tnp":
        import tnp

        tnp.jit(lambda x: np.sqrt(x * 2) + 1)(np.ones(3))  # a process that has compiled before
        yield "", tnp.jit(program.function("numpy")), same
    elif contestant == "numba":
        for version in NUMBA_VERSIONS:
            try:
                yield f"{version}: ", program.function(f"numba_{version}"), same
            except (ImportError, AttributeError):  # there is none, or its function has another name
                continue
    elif contestant == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        function = program.function("jax")
        yield (
            "",
            lambda *args: jax.block_until_ready(function(*args)),
            lambda x: jax.numpy.array(x) if isinstance(x, np.ndarray) else x,
        )
    else:
        import torch

        yield "", torch.compile(program.function("numpy")), same


def _time(
    program: _Program, function: Callable[..., Any], convert: Callable[[Any], Any], task: dict[str, Any]
) -> dict[str, Any]:
    originals = program.arguments
    arguments = [convert(x.copy() if isinstance(x, np.ndarray) else x) for x in originals]
    start = time.perf_counter()
    result = function(*arguments)
    found: dict[str, Any] = {"cold": time.perf_counter() - start}
    is_reference = task["contestant"] == "NumPy"
    results, after = _arrays(result), [a for a in arguments if isinstance(a, np.ndarray)]
    if is_reference:
        moved = _moved_by_an_ulp(program, function, [*results, *after])
        np.savez(task["reference"], *results, *after, count=len(results), moved=moved)
    else:
        rewritten = task["contestant"] in ("numba", "jax")
        wrong = _compare(program, results, after, task["reference"], may_return_nothing=rewritten)
        if wrong:
            return found | {"wrong": wrong}
    del result, results
    changed = _changed(arguments, originals)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < task["seconds"] and len(times) < 200):
        times.append(_call(function, arguments, changed))
        if times[-1] > 20 * task["seconds"]:
            break
    found["warm"] = statistics.median(times)
    if task["contestant"] == "tnp":
        import tnp

        text = str(tnp.explain(function))
        note = next((line.strip() for line in text.splitlines() if "eager" in line), None)
        if note:
            found["note"] = note[:160]
    return found


def _changed(arguments: list[Any], originals: list[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The arrays that a call has changed, with what was in them."""
    return [
        (a, o)
        for a, o in zip(arguments, originals)
        if isinstance(a, np.ndarray) and not np.array_equal(a, o, equal_nan=a.dtype.kind in "fc")
    ]


def _call(function: Callable[..., Any], arguments: list[Any], changed: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The seconds of a call; what it changes is restored before."""
    for a, o in changed:
        a[...] = o
    start = time.perf_counter()
    result = function(*arguments)
    took = time.perf_counter() - start
    del result
    return took


def _in_turns(program: _Program, seconds: float) -> float:
    """How many times as fast as NumPy tnp is, of calls in turns on the same memory: the ratio of the medians."""
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in program.arguments]
    functions = [next(iter(_versions(program, c)))[1] for c in ("NumPy", "tnp")]
    times: list[list[float]] = [[] for _ in functions]
    changed: list[tuple[np.ndarray, np.ndarray]] = []
    for f in functions:
        f(*arguments)
        changed = changed or _changed(arguments, program.arguments)
    while len(times[0]) < 9 or (sum(times[0]) < 2 * seconds and len(times[0]) < 200):
        for f, found in zip(functions, times):
            found.append(_call(f, arguments, changed))
    return statistics.median(times[0]) / statistics.median(times[1])


def _distance(a: np.ndarray, e: np.ndarray) -> float:
    """The norm of the difference over the norm of ``e``."""
    size = float(np.linalg.norm(e.ravel())) or 1.0
    return float(np.linalg.norm((a.astype(e.dtype) - e).ravel() if e.dtype != bool else (a != e).ravel())) / size


def _moved_by_an_ulp(program: _Program, function: Callable[..., Any], expected: list[np.ndarray]) -> list[float]:
    """How far NumPy's own results and arguments move if every floating-point argument is rounded another way."""
    rng = np.random.default_rng(0)
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in program.arguments]
    for a in arguments:
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            a *= 1 + np.finfo(a.dtype).eps * rng.choice((-1.0, 0.0, 1.0), a.shape).astype(a.real.dtype)
    found = [*_arrays(function(*arguments)), *(a for a in arguments if isinstance(a, np.ndarray))]
    return [_distance(a, e) if a.shape == e.shape else 0.0 for a, e in zip(found, expected)]


def _compare(
    program: _Program, results: list[np.ndarray], after: list[np.ndarray], reference: str, *, may_return_nothing: bool
) -> str | None:
    """How results and arguments differ from NumPy's; None if they agree. A version written anew may leave results in arguments alone."""
    with np.load(reference) as stored:
        count, moved = int(stored["count"]), stored["moved"]
        expected = [stored[f"arr_{i}"] for i in range(len(moved))]
    wanted = {f"result {i}": e for i, e in enumerate(expected[:count])}
    changed = {
        f"argument {n}": e
        for n, e in zip(
            [n for n, x in zip(program.names, program.arguments) if isinstance(x, np.ndarray)], expected[count:]
        )
    }
    if after:
        got = dict(zip(wanted, results)) | dict(zip(changed, after))
        if len(results) != count and not (may_return_nothing and not results):
            return f"{len(results)} results instead of {count}"
        pairs = [(k, got[k], e) for k, e in (wanted | changed).items() if k in got]
    else:  # a functional version returns what it changes
        outputs = [
            e for k, e in (wanted | changed).items() if k.startswith("result") or k[9:] in program.info["output_args"]
        ]
        pairs = [(f"output {i}", g, e) for i, (g, e) in enumerate(zip(results, outputs))]
    # Nobody can be nearer to what a rounding of the input changes by itself (the bodies of a long simulation).
    allowed = {name: max(program.tolerance, 10 * by) for name, by in zip(wanted | changed, moved)}
    for name, g, e in pairs:
        if g.shape != e.shape:
            return f"{name} has shape {g.shape} instead of {e.shape}"
        error = _distance(g, e)
        if not (
            error <= allowed.get(name, program.tolerance) or (np.isnan(e).any() and np.allclose(g, e, equal_nan=True))
        ):
            return f"{name} differs by {error:.1e}"
    return None


if __name__ == "__main__":
    main()
