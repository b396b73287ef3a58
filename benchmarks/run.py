"""Times tnp beside NumPy and every peer that is installed, in one run, and checks that all agree.

``python benchmarks/run.py`` writes a report and a plot to ``benchmarks/results``. One thread and all threads are measured in
processes of their own, since the libraries count threads when they are loaded. Figures compare only within one run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from contestants import PEERS, installed  # noqa: E402
from kernels import KERNELS  # noqa: E402
from pages import wrapped  # noqa: E402
from report import plot, report  # noqa: E402

#: each library's number of threads
THREADS = ("OMP_NUM", "MKL_NUM", "OPENBLAS_NUM", "NUMBA_NUM", "NUMEXPR_NUM", "NUMEXPR_MAX")
#: the number of elements nearest to which cold times are taken
COLD_ELEMENTS = 1_000_000


def main() -> None:
    chosen = _arguments()
    peers = installed(chosen.peers)
    contestants = ["NumPy", "tnp", *(f"tnp ({e})" for e in chosen.executors), *peers]
    sizes = sorted(chosen.sizes, key=lambda n: abs(math.log(n / COLD_ELEMENTS)))
    task = {
        "contestants": contestants,
        "kernels": [k.name for k in KERNELS if chosen.kernels is None or any(w in k.name for w in chosen.kernels)],
        "sizes": sizes,
        "dtypes": chosen.dtypes,
        "seconds": chosen.seconds,
        "styles": {},
        "modules": [PEERS[p] for p in peers],
    }
    start = time.perf_counter()
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as caches:
        for threads in sorted(set(chosen.threads), reverse=True):
            environment = _environment(threads, Path(caches))
            found = _kernels({**task, "task": "kernels", "threads": threads}, environment)
            # versions that lost clearly with all threads are not compiled again for one
            task["styles"] = {k: v for r in found for k, v in r.get("styles", {}).items()}
            records += found
            if threads == max(chosen.threads):
                for name in ("from disk", "costs"):
                    records += _worker({**task, "task": name, "threads": threads}, environment)[0]
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.json:
        chosen.json.write_text("\n".join(json.dumps(r) for r in records) + "\n")
    text = report(records, contestants, sizes[0], time.perf_counter() - start)
    (chosen.out / f"{chosen.name}.md").write_text(wrapped(text))
    plot(records, contestants, chosen.out / f"{chosen.name}.png")
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000, 1_000_000, 10_000_000])
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"], choices=["float64", "float32"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, cores], help="default: 1, and the cores")
    parser.add_argument("--kernels", nargs="+", help="those whose name contains one of these words")
    parser.add_argument("--seconds", type=float, default=0.08, help="time spent on each warm figure, about")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), help="default: those installed")
    parser.add_argument("--executors", nargs="*", default=[], help="time tnp with these alone too, as 'numpy'")
    parser.add_argument("--quick", action="store_true", help="one size and dtype, few calls: does everything work?")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--name", default="benchmarks", help="of the report and the plot")
    parser.add_argument("--json", type=Path, help="keep the measurements here")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.dtypes, chosen.seconds = [COLD_ELEMENTS], ["float64"], 0.01
    return chosen


def _environment(threads: int, caches: Path) -> dict[str, str]:
    """The environment of a process with that many threads, in which no compiler's disk cache has anything yet."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "TNP_DISABLE_CACHE")}
    environment |= {f"{name}_THREADS": str(threads) for name in THREADS}
    return environment | {
        "TNP_CACHE_DIR": str(caches / f"tnp-{threads}"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / f"torch-{threads}"),
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCH_LOGS": "-all",
    }


@contextlib.contextmanager
def _on_cores(count: int) -> Iterator[None]:
    """Child processes may run on that many cores only: what every library heeds, jax's pool of threads included."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _worker(task: dict[str, Any], environment: dict[str, str]) -> tuple[list[dict[str, Any]], int]:
    """The records of a worker process, and its exit status."""
    with tempfile.NamedTemporaryFile("r") as out, _on_cores(task["threads"]):
        command = [sys.executable, str(HERE / "worker.py"), json.dumps(task), out.name]
        status = subprocess.run(command, env=environment, cwd=HERE).returncode
        return [json.loads(line) for line in out.read().splitlines()], status


def _kernels(task: dict[str, Any], environment: dict[str, str]) -> list[dict[str, Any]]:
    """The records of all kernels; after a crash another process goes on behind the kernel that crashed."""
    records: list[dict[str, Any]] = []
    left = task["kernels"]
    while left:
        found, status = _worker({**task, "kernels": left}, environment)
        records += found
        begun = [r["begins"] for r in found if "begins" in r]
        if status == 0:
            break
        if not begun:
            raise SystemExit(f"the worker process ended with status {status} before the first kernel")
        print(f"{begun[-1]} ended the process with status {status}", file=sys.stderr)
        records.append({"crashed": begun[-1], "threads": task["threads"], "status": status})
        left = left[left.index(begun[-1]) + 1 :]
    return records


if __name__ == "__main__":
    main()
