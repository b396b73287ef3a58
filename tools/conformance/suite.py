"""Runs the tests of a folder in guarded processes, one file after the other: what hangs or crashes is ended, noted, and left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: processes that ended without an end of a test, a file, at most
MOST_LOST = 40


def run_all(
    files: list[Path], root: Path, out: Path, *, arguments: list[str], env: dict[str, str], limit: float, jobs: int
) -> None:
    """The outcomes of the tests in ``files`` under ``root``, one file of ``out`` each. A test may take ``limit`` seconds."""
    out.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, **env, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    with ThreadPoolExecutor(jobs) as pool:
        for name, seconds in pool.map(lambda f: _run_file(f, root, out, arguments, env, limit), files):
            print(f"{seconds:7.1f} s  {name}", flush=True)


def _run_file(
    file: Path, root: Path, out: Path, arguments: list[str], env: dict[str, str], limit: float
) -> tuple[str, float]:
    name = str(file.relative_to(root))
    outcomes = out / (name.replace("/", ".") + ".jsonl")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "jitted_tests",
        "-p",
        "no:cacheprovider",
        "--outcomes",
        str(outcomes),
        *arguments,
        name,
    ]
    start = time.monotonic()
    for _ in range(MOST_LOST):
        with outcomes.with_suffix(".log").open("ab") as log:
            process = subprocess.Popen(command, cwd=root, env=env, stdout=log, stderr=log, start_new_session=True)
        why = _watch(process, outcomes, limit)
        running = _running(outcomes)
        if running is None:  # it came to its end, or never began
            break
        with outcomes.open("a") as lines:
            lines.write(json.dumps({"test": running, "outcome": why, "seconds": 0, "error": why}) + "\n")
    return name, time.monotonic() - start


def _watch(process: subprocess.Popen[bytes], outcomes: Path, limit: float) -> str:
    """Waits for a process, and ends it if a test takes longer than ``limit`` seconds; how it ended."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = outcomes.stat().st_size if outcomes.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > limit:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"took longer than {limit:g} s"
    return f"ended the process with {process.returncode}"


def _running(outcomes: Path) -> str | None:
    """The test that has begun and not ended."""
    lines = outcomes.read_text().splitlines() if outcomes.exists() else []
    last = json.loads(lines[-1]) if lines else {}
    return last.get("began")


def read(out: Path) -> dict[str, dict[str, object]]:
    """The outcomes that a run left, by test."""
    found = {}
    for file in sorted(out.glob("*.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            if "test" in line:
                found[line["test"]] = line
    return found
