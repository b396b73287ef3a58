"""Functions of other people's packages: each as it is, and jitted whole, on the arguments that the package's own tests pass.

``python benchmarks/public_code.py PACKAGE TESTS... [--json FILE] [--per-function SECONDS]`` runs the tests (files or folders,
as pytest takes them) and records the arguments with which functions and methods of the package are called with arrays. Each
is then called eagerly and through :func:`tnp.jit`: results, changed arguments and errors are compared, and both are timed in
the warm state. The table says how many ran compiled, in parts, or eagerly, and why.

The package and what its tests need must be installed; nothing of it is part of tnp. ``benchmarks/public_inputs`` has calls of
some packages' functions on data of the sizes that their users have, as tests:
``python benchmarks/public_code.py skyfield benchmarks/public_inputs/of_skyfield.py --json skyfield.json``.
``python benchmarks/public_code.py --page skyfield.json ...`` makes benchmarks/results/public_code.md of such files.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import logging
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pages import wrapped

import tnp
from tnp.inspect.measuring import measured_parts
from tnp.testing import assert_same

#: calls of a function that are kept, each with other kinds of arguments
KEPT = 2
#: what takes less time eagerly tells nothing
LEAST_SECONDS = 3e-6
#: calls with other values
OTHERS = 6
#: of eager's speed, what is below counts as slower
LEAST_RATIO = 0.9
#: Both ways are timed in at most ``MOST_TURNS`` turns, and the least time of each counts. Two turns are enough if the jitted function takes
#: less than ``CLOSE`` times eager's time.
MOST_TURNS, CLOSE = 20, 1.03
#: a function below this ratio is measured in so many processes in all, and the median counts: what a process's threads do may last as long
#: as the process
DOUBTFUL, PROCESSES = 0.95, 3
#: of the largest number of a result, what rounding may leave where it is 0
RESIDUE = 1e-15
#: of eager's time, what Python may run of a function that counts as compiled around it
LARGEST_SHARE = 0.5
#: calls before a jitted function is timed
WARM_CALLS = 80
#: bytes of arguments that are copied
MOST_BYTES = 1 << 26
#: calls in a row, whose arguments are copied before, if these are no more bytes
IN_A_ROW, FEW_BYTES = 8, 1 << 20


class Recorder:
    """Records the calls of a package's functions, as a profile function of Python's."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.calls: dict[str, list[tuple[Any, tuple[Any, ...], dict[str, Any]]]] = {}
        self._kinds: dict[str, set[str]] = {}
        self._functions: dict[types.CodeType, tuple[str, Any] | None] = {}
        self._is_busy = False

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "call" or self._is_busy:
            return
        name = frame.f_globals.get("__name__", "")
        if name != self.package and not name.startswith(f"{self.package}."):
            return
        self._is_busy = True
        with contextlib.suppress(Exception):  # a value that has no copy, or is not there yet
            self._record(frame)
        self._is_busy = False

    def _record(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if code not in self._functions:
            self._functions[code] = _function_of(frame)
        found = self._functions[code]
        if found is None or len(self.calls.get(found[0], ())) >= KEPT:
            return
        name, function = found
        args, kwargs = _arguments(code, frame.f_locals)
        if not _has_arrays((args, kwargs)):
            return
        kind = _kind((args, kwargs))
        if kind in self._kinds.setdefault(name, set()):
            return
        self._kinds[name].add(kind)
        with contextlib.suppress(Exception):
            self.calls.setdefault(name, []).append((function, *copy.deepcopy((args, kwargs))))


def _function_of(frame: types.FrameType) -> tuple[str, Any] | None:
    """The name and the function of a frame: one of a module, or a method of a class of a module."""
    code, module = frame.f_code, frame.f_globals["__name__"]
    if code.co_flags & 0x2A0 or code.co_name.startswith("<") or "<locals>" in code.co_qualname or "test" in module:
        return None
    found: Any = types.SimpleNamespace(**frame.f_globals)
    for part in code.co_qualname.split("."):
        found = vars(found).get(part)
        if found is None or not hasattr(found, "__dict__"):
            return None
    return (f"{module}.{code.co_qualname}", found) if getattr(found, "__code__", None) is code else None


def _arguments(code: types.CodeType, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    names, n = code.co_varnames, code.co_argcount
    args = [values[name] for name in names[:n]]
    kwargs = {name: values[name] for name in names[n : n + code.co_kwonlyargcount]}
    n += code.co_kwonlyargcount
    if code.co_flags & 0x04:
        args += values[names[n]]
        n += 1
    if code.co_flags & 0x08:
        kwargs |= values[names[n]]
    return tuple(args), kwargs


def _parts(x: Any, depth: int = 3) -> Iterator[Any]:
    yield x
    if depth and isinstance(x, (tuple, list)):
        for y in x[:50]:
            yield from _parts(y, depth - 1)
    elif depth and isinstance(x, dict):
        yield from _parts(list(x.values()), depth)
    elif depth and hasattr(x, "__dict__") and not isinstance(x, (type, types.ModuleType, types.FunctionType)):
        yield from _parts(vars(x), depth - 1)


def _has_arrays(x: Any) -> bool:
    arrays = [y for y in _parts(x) if isinstance(y, np.ndarray)]
    return bool(arrays) and sum(a.nbytes for a in arrays) < MOST_BYTES


def _kind(x: Any) -> str:
    return str([(type(y).__name__, str(getattr(y, "dtype", ""))) for y in _parts(x)])


class TooLong(Exception):
    """A call took more than its time."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def outcome(f: Callable[..., Any], args: Any, kwargs: Any, seconds: float) -> tuple[Any, Any]:
    """What a call gives or raises, and what its arguments are afterwards."""
    args, kwargs = copy.deepcopy((args, kwargs))
    np.random.seed(0)
    random.seed(0)
    try:
        with within(seconds), contextlib.redirect_stdout(io.StringIO()):
            result = f(*args, **kwargs)
    except (Exception, SystemExit) as error:
        result = type(error)
    return result, (args, kwargs)


def _is_error(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, BaseException)


def rounding_of(x: Any) -> float:
    """What may be left of a difference of the floats in ``x`` that are the largest."""
    arrays = [np.asarray(y) for y in _parts(x) if isinstance(y, (np.ndarray, np.inexact, float, complex))]
    found = (a for a in arrays if a.dtype.kind in "fc" and a.size)
    return RESIDUE * max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in found), default=0.0)


def is_same(a: Any, b: Any, depth: int = 4, residue: float | None = None) -> bool:
    """Whether two results or arguments are alike, to rounding."""
    if type(a) is not type(b):
        return False
    residue = rounding_of(b) if residue is None else residue
    if depth and isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(is_same(x, y, depth - 1, residue) for x, y in zip(a, b))
    if depth and isinstance(a, dict):
        return list(a) == list(b) and all(is_same(a[k], b[k], depth - 1, residue) for k in a)
    if isinstance(a, (np.ndarray, np.generic, float, complex, int, str, bytes, type(None))):
        try:
            inexact = isinstance(a, (float, complex)) or (isinstance(a, np.ndarray) and a.dtype.kind in "fc")
            # Solvers that iterate end within their own tolerance of the solution.
            assert_same(a, b, rtol=1e-6 if inexact or isinstance(a, np.inexact) else None)
        except AssertionError:
            x, y = np.asarray(a), np.asarray(b)
            is_float = x.dtype.kind in "fc" and (x.shape, x.dtype) == (y.shape, y.dtype)
            return is_float and bool(np.all(np.abs(x - y) <= residue))
        except Exception:
            return repr(a) == repr(b)
        return True
    if depth and hasattr(a, "__dict__") and not isinstance(a, (type, types.FunctionType, types.ModuleType)):
        return is_same(vars(a), vars(b), depth - 1, residue)
    return True


def _copies(args: Any, kwargs: Any) -> list[tuple[Any, Any]]:
    """Arguments for calls in a row."""
    few = sum(a.nbytes for a in _parts((args, kwargs)) if isinstance(a, np.ndarray)) <= FEW_BYTES
    return [copy.deepcopy((args, kwargs)) for _ in range(IN_A_ROW if few else 1)]


def seconds_of(f: Callable[..., Any], args: Any, kwargs: Any, most: float) -> float:
    """The least time of a call, of those that ``most`` seconds allow, and of three at least: the first may find another state of the
    package's caches, and compile for it. Some calls follow one another, since copying arguments takes the function's code and tables out of
    the processor's caches."""
    best, end = math.inf, time.perf_counter() + most
    calls = 0
    with contextlib.redirect_stdout(io.StringIO()):
        while True:
            for copied_args, copied_kwargs in _copies(args, kwargs):
                start = time.perf_counter()
                try:
                    f(*copied_args, **copied_kwargs)
                except Exception:  # an error is a result as well
                    pass
                now = time.perf_counter()
                best = min(best, now - start)
                calls += 1
                if now > end and calls >= 3:
                    return best


def warm_up(f: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Calls a jitted function, as :func:`seconds_of` does, until it has found whether programs or eager take less time, or a second has
    passed."""
    end, calls = time.perf_counter() + 1, 0
    with contextlib.redirect_stdout(io.StringIO()):
        while calls < WARM_CALLS and time.perf_counter() < end:
            for copied_args, copied_kwargs in _copies(args, kwargs):
                with contextlib.suppress(Exception):
                    f(*copied_args, **copied_kwargs)
                calls += 1


def varied(x: Any, k: int) -> Any:
    """Arguments with slightly larger floating-point numbers."""
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(varied(y, k) for y in x)
    if type(x) is dict:
        return {name: varied(y, k) for name, y in x.items()}
    is_float = type(x) is float or (isinstance(x, np.floating) or (type(x) is np.ndarray and x.dtype.kind == "f"))
    if not is_float:
        return x
    factor = 1 + k * 2.0**-12
    return x * x.dtype.type(factor) if isinstance(x, (np.ndarray, np.floating)) else x * factor


def with_other_values(function: Any, jitted: Any, args: Any, kwargs: Any) -> tuple[int, str]:
    """How many programs calls with other values make, and what is wrong with their results."""
    before = tnp.cache_info(jitted).misses
    for k in range(1, OTHERS + 1):
        others = varied(args, k), varied(kwargs, k)
        expected, left = outcome(function, *others, 20)
        found, mine = outcome(jitted, *others, 120)
        if expected is not TooLong and not (is_same(found, expected) and is_same(mine, left)):
            return 0, f"{found!r:.300} instead of {expected!r:.300}"
    return tnp.cache_info(jitted).misses - before, ""


def examined(name: str, function: Any, args: Any, kwargs: Any, seconds: float) -> dict[str, Any] | None:
    """A row of the table; ``None`` for calls that cannot be judged: they raise, differ from time to time, or take no time."""
    expected, left = outcome(function, args, kwargs, 20)
    again, left_again = outcome(function, args, kwargs, 20)
    if expected is TooLong or _is_error(expected) or not is_same(expected, again) or not is_same(left, left_again):
        return None
    eager = seconds_of(function, args, kwargs, seconds)
    if eager < LEAST_SECONDS:
        return None
    row: dict[str, Any] = {"name": name, "eager": eager, "kind": "compiled", "reason": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jitted = tnp.jit(function)
        start = time.perf_counter()
        for _ in range(4):
            found, mine = outcome(jitted, args, kwargs, 120)
            if not is_same(found, expected):
                row |= {"kind": "wrong", "reason": f"{found!r:.300} instead of {expected!r:.300}"}
                return row
            if not is_same(mine, left):
                row |= {"kind": "wrong", "reason": "other arguments"}
                return row
            if row.get("first") is None:
                row["first"] = time.perf_counter() - start
        warm_up(jitted, args, kwargs)
        row["programs"], wrong = with_other_values(function, jitted, args, kwargs)
        if wrong:
            row |= {"kind": "wrong", "reason": f"with other values: {wrong}"}
            return row
    ways = {"eager": function, "jitted": jitted}
    for turn in range(MOST_TURNS):  # as the processor is not always as fast
        row |= {way: min(row.get(way, math.inf), seconds_of(f, args, kwargs, seconds)) for way, f in ways.items()}
        if turn and row["jitted"] < CLOSE * row["eager"]:
            break
    for w in caught:
        if issubclass(w.category, tnp.InternalErrorWarning):
            row |= {"kind": "internal error", "reason": str(w.message)}
            return row
    text = str(tnp.explain(jitted))
    row["faster eagerly"] = (
        "\n  for now they run eagerly, which" in text or "\ncalls whose program depends on values run eagerly" in text
    )
    eagerly = [line.strip() for line in text.split("\n") if " runs eagerly: " in line]
    if "\nprogram 0: in parts" in text:
        row["points"] = _share_of_points(jitted, args, kwargs, eager)
        runs = text.split("Python runs:\n")[1].split("\n")[0].strip()
        row |= {
            "kind": "parts",
            "reason": runs,
            "eagerly": eagerly,
        }
    elif eagerly:
        row |= {"kind": "eager", "reason": eagerly[0]}
    return row


def _share_of_points(jitted: Any, args: Any, kwargs: Any, eager: float) -> float:
    """The time that the statements left to Python take in a call, divided by the time of an eager call."""
    form, values = jitted._formed(*copy.deepcopy((args, kwargs)))
    entry = jitted.entry_for(form, values)
    points = jitted._points if entry is None else entry.points
    if points is None or not points.has_parts():
        return 1.0
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        return sum(measured_parts(points, form.apply, values).lines.values()) / eager
    return 1.0


def _ratio(row: dict[str, Any]) -> float:
    return row["eager"] / row["jitted"] if "jitted" in row else math.nan


def settled(row: dict[str, Any], package: str, tests: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """A row, or the one of the median ratio of several processes if it is doubtful."""
    rows = [row]
    while _ratio(row) < DOUBTFUL and len(rows) < PROCESSES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "row.json")
            command = [sys.executable, __file__, package, *tests, *options, "--only", row["name"], "--once"]
            subprocess.run([*command, "--json", str(file)], check=True, capture_output=True)
            again = next((r for r in json.loads(file.read_text()) if r["name"] == row["name"]), row)
        if "jitted" not in again:  # a wrong result, or an internal error, is no matter of time
            return again
        rows.append(again)
    return sorted(rows, key=_ratio)[len(rows) // 2]


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _counted(rows: list[dict[str, Any]], name: str) -> str:
    """A row of the table of packages."""
    ratios = [r["eager"] / r["jitted"] for r in rows if "jitted" in r]
    kinds = Counter(r["kind"] for r in rows)
    eagerly = sum(bool(r.get("faster eagerly")) for r in rows)
    around = sum(r["kind"] == "parts" and r.get("points", 1.0) < LARGEST_SHARE for r in rows)
    cells = [
        name, str(len(rows)), str(kinds["compiled"]), str(kinds["parts"]), str(around), str(kinds["eager"]), str(eagerly),
        str(kinds["wrong"] + kinds["internal error"]), f"{_mean(ratios):.2f}", f"{min(ratios):.2f}",
        str(sum(r < LEAST_RATIO for r in ratios)),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def page(files: list[Path]) -> str:
    """The page of results: a table of packages, and one of functions."""
    found = {file.stem: json.loads(file.read_text()) for file in files}
    every = [row for rows in found.values() for row in rows]
    lines = [
        "# Functions of public packages",
        "",
        "Each function as it is and jitted whole, on the arguments that `benchmarks/public_inputs` leads to, warm; the least time of a "
        "call, eagerly and jitted, of several in a row, in turns: two, or up to twenty if the jitted one takes longer; below 0.95 the median of three processes. *In parts*: compiled around what Python runs; *small points*: of these, where that takes less than half of "
        "eager's time. *Runs eagerly*: short calls that take less time "
        "eagerly, as tnp has measured. Results, changed arguments and errors are compared, with six other values of floats, too. "
        "Made by `benchmarks/public_code.py`.",
        "",
        f"| package | functions | compiled | in parts | small points | eager | runs eagerly | wrong | times eager | least | below {LEAST_RATIO} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(_counted(rows, name) for name, rows in found.items()),
        _counted(every, "all"),
        "",
        "| function | eager, µs | times eager | |",
        "| --- | ---: | ---: | --- |",
    ]
    for row in sorted(every, key=lambda r: r["name"]):
        ratio = f"{row['eager'] / row['jitted']:.2f}" if "jitted" in row else ""
        kind = f"{row['kind']}, runs eagerly" if row.get("faster eagerly") else row["kind"]
        lines.append(f"| `{row['name']}` | {row['eager'] * 1e6:.1f} | {ratio} | {kind} |")
    return wrapped("\n".join(lines) + "\n")


def main() -> None:
    """Records, examines and prints."""
    if sys.argv[1:2] == ["--page"]:
        (Path(__file__).parent / "results" / "public_code.md").write_text(page([Path(f) for f in sys.argv[2:]]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--json", help="where the rows go")
    parser.add_argument("--per-function", type=float, default=0.05, help="seconds of timing for each way of calling")
    parser.add_argument("--most", type=int, default=200, help="functions at most")
    parser.add_argument("--only", help="functions whose names contain this")
    parser.add_argument("--once", action="store_true", help="no function is measured in other processes, too")
    options = parser.parse_args()
    import pytest

    logging.disable(logging.DEBUG)  # which the package may turn on
    recorder = Recorder(options.package)
    sys.setprofile(recorder)
    try:
        pytest.main(
            [
                *options.tests,
                "-q",
                "--continue-on-collection-errors",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:warnings",
                "--no-header",
                "--tb=no",
            ]
        )
    finally:
        sys.setprofile(None)
    calls = [(n, c) for n, found in sorted(recorder.calls.items()) for c in found[:1] if (options.only or "") in n]
    random.Random(0).shuffle(calls)
    rows = []
    for name, (function, args, kwargs) in calls[: options.most]:
        row = None
        with contextlib.suppress(TooLong):
            row = examined(name, function, args, kwargs, options.per_function)
        if row is not None:
            if not options.once:
                row = settled(row, options.package, options.tests, ["--per-function", str(options.per_function)])
            rows.append(row)
            ratio = _ratio(row)
            print(
                f"{row['kind']:15} {ratio:8.2f} {row['eager'] * 1e6:10.1f} us  {row.get('programs', 0)}  {name}  {row['reason'][-200:]}",
                flush=True,
            )
    counts = Counter(row["kind"] for row in rows)
    print(dict(counts))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
