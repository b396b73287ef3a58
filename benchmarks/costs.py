"""Costs that do not depend on the data: dispatch, tracing, imports; and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from contestants import versions
from kernels import ADD

import tnp

__all__ = ["dispatch", "import_times", "in_fresh_process", "module_dispatch", "peak_memory", "tracing"]


def dispatch(contestants: list[str]) -> dict[str, float]:
    """Seconds a call of ``a + b`` on arrays of one element, each contestant on arrays of its own kind."""
    found: dict[str, float] = {}
    for name in contestants:
        for version in versions(ADD, name, 1, 1):
            args = version.convert(ADD.arguments(1, np.dtype("float64")))
            function = np.add if name == "NumPy" else version.make()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*args)
                seconds = _per_call(lambda f=function, args=args: f(*args))
            found[name] = min(seconds, found.get(name, seconds))
    return found


def module_dispatch() -> dict[str, dict[str, float]]:
    """Seconds a call of small modules on tensors of one element, without gradients and in training, where only the way forward counts:
    eager's and the jitted module's, in turns."""
    import torch

    modules = {
        "Linear": torch.nn.Linear(1, 1),
        "three layers": torch.nn.Sequential(
            torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1)
        ),
    }
    x, found = torch.ones(1, 1), {}
    for way, gradients in (("", False), (", training", True)):
        with torch.set_grad_enabled(gradients):
            for name, module in modules.items():
                jitted = tnp.jit(module)
                jitted(x)
                both = [
                    (_per_call(lambda f=f: f(x)), kind)
                    for _ in range(3)
                    for f, kind in ((module, "eager"), (jitted, "tnp"))
                ]
                found[name + way] = {kind: min(t for t, k in both if k == kind) for kind in ("eager", "tnp")}
    return found


def _per_call(f: Callable[[], Any], seconds: float = 0.05) -> float:
    """The best mean of several runs of about that long."""
    number, elapsed = 1, 0.0
    while elapsed < seconds / 4:
        number *= 2
        elapsed = _elapsed(f, number)
    return min(_elapsed(f, number) for _ in range(7)) / number


def _elapsed(f: Callable[[], Any], number: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(number):
        f()
    return time.perf_counter() - start


def thirty_operations(x, y):
    for _ in range(6):
        x = x * 1.5 + y
        y = np.sin(x) - y
        x = x / 2
    return x


def tracing() -> dict[str, Any]:
    """Seconds to trace a recorded operation, and of the first call of a function of 30 operations, by executor.

    The native code of the llvm executor's first calls comes from the disk cache but for the very first.
    """
    a, b = np.ones(5), np.ones(5)
    trace = tnp.trace()
    count = len(trace(thirty_operations, a, b).body)
    found: dict[str, Any] = {
        "operations": count,
        "an operation": min(_elapsed(lambda: trace(thirty_operations, a, b)) for _ in range(20)) / count,
    }
    for name, executors in (("llvm", None), ("numpy", ["numpy"])):
        tnp.jit(thirty_operations, executors=executors)(a, b)
        found[f"first call, {name}"] = min(
            _elapsed(lambda e=executors: tnp.jit(thirty_operations, executors=e)(a, b)) for _ in range(10)
        )
        found[f"in a fresh process, {name}"] = float(in_fresh_process(_FIRST_CALL, *(executors or [])))
    return found


_FIRST_CALL = """
import sys, time, numpy as np, tnp
from costs import thirty_operations
f = tnp.jit(thirty_operations, executors=sys.argv[1:] or None)
start = time.perf_counter(); f(np.ones(5), np.ones(5)); print(time.perf_counter() - start)
"""


def import_times(names: list[str]) -> dict[str, float]:
    """Seconds to import each module in a fresh process: the best of several."""

    def best(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return min(float(in_fresh_process(code)) for _ in range(5))

    return {name: best(name) for name in names}


def peak_memory() -> dict[str, dict[str, int]]:
    """Peak MB beyond the arguments, of a chain on three arrays of 128 MB and of an in-place stencil on two."""
    found: dict[str, dict[str, int]] = {}
    for program in ("chain", "wave"):
        found[program] = {name: int(in_fresh_process(_MEMORY, program, name)) for name in ("NumPy", "tnp")}
    return found


_MEMORY = """
import sys, numpy as np, tnp
from kernels import elementwise, stencils
program, shape = {"chain": (elementwise.chain, (2**24,)), "wave": (stencils.wave, (2**12, 2**12))}[sys.argv[1]]
f = program if sys.argv[2] == "NumPy" else tnp.jit(program)
count = program.__code__.co_argcount
f(*(np.ones([8] * len(shape)) for _ in range(count)))  # what compiling brings along
args = [np.ones(shape) for _ in range(count)]
def peak():  # of this process alone: getrusage counts its parent's before exec
    return int(next(x for x in open("/proc/self/status") if x.startswith("VmHWM")).split()[1])
before = peak()
for _ in range(2):
    f(*args)
print(round((peak() - before) / 1024))
"""


def in_fresh_process(code: str, *arguments: str) -> str:
    """What ``code`` prints. Modules come as installed packages have them, as bytecode."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parent
    )
    return done.stdout.strip()
