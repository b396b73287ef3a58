"""Products of matrices by torch's library and by tnp's own kernel, in GFLOP/s on one thread.

    python benchmarks/products.py

What `tnp.executors.shared.cpu_kernels.matmul.is_preferred` says of a processor is decided by this. Calls are in turns, the thread's time counts, and of
each the least; `[rows, in] → [rows, out]` with a bias, then the gradients of the input and of the weight.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable

import torch

from tnp.executors.shared.cpu_kernels import matmul
from tnp.runtime import engine

#: rows, out, in: linear layers of the models in models.py
SHAPES = [
    (2048, 1152, 384), (2048, 384, 384), (2048, 384, 1536), (2048, 1536, 384),
    (1024, 768, 256), (1024, 256, 256), (1024, 1024, 256), (1024, 256, 1024),
]  # fmt: skip
CALLS = 15


def least(functions: list[Callable[[], object]]) -> list[float]:
    """The least seconds of each function's calls."""
    found = [float("inf")] * len(functions)
    for n in range(CALLS + 1):
        for i, function in enumerate(functions):
            start = time.thread_time()
            function()
            if n:  # the first call compiles
                found[i] = min(found[i], time.thread_time() - start)
    return found


def row(rows: int, out: int, inner: int) -> list[str]:
    """A row of the table: torch's and tnp's speed, three times."""
    x, w, b, g = (torch.randn(*s) for s in ((rows, inner), (out, inner), (out,), (rows, out)))
    zeros = torch.zeros(inner)
    y, dx, dw = torch.empty(rows, out), torch.empty(rows, inner), torch.empty(out, inner)
    seconds = least(
        [
            lambda: torch.addmm(b, x, w.t(), out=y), lambda: matmul.multiply(x, w.t(), b, y),
            lambda: torch.mm(g, w, out=dx), lambda: matmul.multiply(g, w, zeros, dx),
            lambda: torch.mm(g.t(), x, out=dw), lambda: matmul.multiply(g.t(), x, zeros, dw),
        ]
    )  # fmt: skip
    return [f"{rows}, {out}, {inner}", *(f"{2e-9 * rows * out * inner / s:.0f}" for s in seconds)]


def main() -> None:
    torch.set_num_threads(1)
    print(f"{engine.target().cpu}, torch {torch.__version__}; tnp's kernel is preferred: {matmul.is_preferred()}\n")
    print("| rows, out, in | torch | tnp | input's gradient: torch | tnp | weight's gradient: torch | tnp |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for shape in SHAPES:
        print(f"| {' | '.join(row(*shape))} |", flush=True)


if __name__ == "__main__":
    main()
