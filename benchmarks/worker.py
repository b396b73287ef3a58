"""A process of the benchmark: ``python worker.py TASK OUT``, run by ``run.py`` with the threads that it is to have.

``TASK`` is a JSON object; results are appended to the file ``OUT``, a JSON object a line, so that a crash of a peer loses
one kernel only.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import costs
import numpy as np
from kernels import ADD, KERNELS
from measure import Measurer, copy_bandwidth

import tnp
from tnp.runtime import allocator


def time_kernels(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each kernel, dtype and size; the first size is where cold times count."""
    yield {"bandwidth": copy_bandwidth(task["threads"]), "threads": task["threads"]}
    measurer = Measurer(task["contestants"], task["threads"], task["seconds"], task["styles"])
    # a process that has compiled before: its libraries are loaded
    Measurer(task["contestants"], task["threads"], 0).measure(ADD, task["sizes"][0], "float64")
    for kernel in _chosen(task):
        yield {"begins": kernel.name}
        for dtype in task["dtypes"]:
            for n in task["sizes"]:
                start = time.perf_counter()
                row = measurer.measure(kernel, n, dtype)
                yield row | {"took": time.perf_counter() - start}
    yield {"styles": measurer.styles}


def cold_from_disk(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The first call of each kernel in a process that finds its native code in tnp's disk cache, and one of its native code alone, for
    whose results the system has to clear memory, too."""
    n, dtype = task["sizes"][0], np.dtype(task["dtypes"][0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tnp.jit(ADD.function)(*ADD.arguments(n, dtype))
        for kernel in _chosen(task):
            args = kernel.arguments(n, dtype)
            allocator.trim()
            start = time.perf_counter()
            jitted = tnp.jit(kernel.function)
            jitted(*args)
            first = time.perf_counter() - start
            allocator.trim()
            start = time.perf_counter()
            jitted(*args)
            yield {"kernel": kernel.name, "from_disk": first, "run": time.perf_counter() - start}


def other_costs(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What does not depend on the data."""
    yield {"dispatch": costs.dispatch(task["contestants"])}
    yield {"tracing": costs.tracing()}
    yield {"imports": costs.import_times(["numpy", "tnp", *task["modules"]])}
    if os.path.exists("/proc/self/status"):
        yield {"memory": costs.peak_memory()}


def _chosen(task: dict[str, Any]) -> list[Any]:
    return [k for k in KERNELS if k.name in task["kernels"]]


if __name__ == "__main__":
    tasks = {"kernels": time_kernels, "from disk": cold_from_disk, "costs": other_costs}
    chosen = json.loads(sys.argv[1])
    with open(sys.argv[2], "a") as out:
        for record in tasks[chosen["task"]](chosen):
            print(json.dumps(record), file=out, flush=True)
            if "took" in record:
                speed = record["warm"]["NumPy"] / record["warm"]["tnp"] if "tnp" in record["warm"] else float("nan")
                print(
                    f"{record['kernel']}, {record['n']:,} {record['dtype']}, {record['threads']} threads: "
                    f"tnp {speed:.2f} × NumPy ({record['took']:.1f} s)",
                    file=sys.stderr,
                )
