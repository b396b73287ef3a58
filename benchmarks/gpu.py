"""tnp on a CUDA device beside CuPy, torch.compile and jax.jit, in one process: times, and the part of the copy bandwidth.

    python benchmarks/gpu.py [--elements 20000000] [--out benchmarks/results/gpu.md] [--only softmax]

Arrays are on the device before the clock starts; results stay there. Every version's result is compared with NumPy's. What is not
installed, or fails, is a note in the table. Executors whose package is
missing have no rows. Without a CUDA device it says so and ends with 1.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import gpu_kernels
import gpu_torch
import numpy as np
from pages import wrapped

import tnp
from tnp.executors import registry
from tnp.runtime.device_allocator import share_with_torch

#: seconds that a version runs for
SECONDS = 0.5


def chain(a, b):
    return np.sqrt(a * a + b) / (a + 2) - a * b


def black_scholes(s, k, t):
    root = 0.2 * np.sqrt(t)
    d1 = (np.log(s / k) + 0.07 * t) / root
    d2 = d1 - root
    n1 = 1 / (1 + np.exp(-1.702 * d1))
    n2 = 1 / (1 + np.exp(-1.702 * d2))
    return s * n1 - k * np.exp(-0.05 * t) * n2


def softmax(x):
    e = np.exp(x - np.amax(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x):
    mean = np.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def log_sum_exp(x):
    top = np.amax(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[:, 0]


def stencil_2d(u):
    return 0.2 * (u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def stencil_3d(u):
    return (
        u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2]
        + u[1:-1, 1:-1, 2:] - 6 * u[1:-1, 1:-1, 1:-1]
    )  # fmt: skip


def distances(a, b):
    return np.sqrt(np.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1))


def total(x):
    return np.sum(x * x)


def _positive(*shape: int) -> Any:
    return (np.random.default_rng(0).random(shape, np.float32) + 0.5).astype(np.float32)


def _side(n: int, dims: int) -> tuple[int, ...]:
    return (max(4, round(n ** (1 / dims))),) * dims


#: name → (function, its arguments for about n elements)
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "chain": (chain, lambda n: (_positive(n), _positive(n))),
    "black_scholes": (black_scholes, lambda n: (_positive(n), _positive(n), _positive(n))),
    "softmax": (softmax, lambda n: (_positive(max(1, n // 2048), 2048),)),
    "layer_norm": (layer_norm, lambda n: (_positive(max(1, n // 1024), 1024),)),
    "log_sum_exp of 50257": (log_sum_exp, lambda n: (_positive(max(1, n // 50257), 50257),)),
    "stencil_2d": (stencil_2d, lambda n: (_positive(*_side(n, 2)),)),
    "stencil_3d": (stencil_3d, lambda n: (_positive(*_side(n, 3)),)),
    "distances": (distances, lambda n: (_positive(_side(n, 2)[0], 3), _positive(_side(n, 2)[0], 3))),
    "total": (total, lambda n: (_positive(n),)),
}


def in_library(function: Any, library: Any) -> Any:
    """The function with another library for ``np``."""
    return FunctionType(function.__code__, {**function.__globals__, "np": library}, function.__name__)


def tnp_version(function: Any, inputs: list[Any], **options: Any) -> Any:
    """The function on arrays that are on the device: its result is there, too."""
    jitted = tnp.jit(function, **options)
    jitted(*inputs)
    return lambda: jitted(*inputs)


def versions(function: Any, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """name → what makes the function without arguments that is timed."""
    cupy = importlib.import_module("cupy")

    def of_cupy() -> Any:
        inputs = [cupy.asarray(a) for a in args]
        own = in_library(function, cupy)
        return lambda: own(*inputs)

    def of_torch(compiled: bool) -> Any:
        torch = importlib.import_module("torch")
        inputs = [torch.from_numpy(a).cuda() for a in args]
        own = in_library(function, torch)
        own = torch.compile(own) if compiled else own
        return lambda: own(*inputs)

    def of_jax() -> Any:
        jax = importlib.import_module("jax")
        inputs = [jax.device_put(a, jax.devices("gpu")[0]) for a in args]
        own = jax.jit(in_library(function, jax.numpy))
        return lambda: own(*inputs)

    def of_tensors(**options: Any) -> Any:
        torch = importlib.import_module("torch")
        return tnp_version(in_library(function, torch), [torch.from_numpy(a).cuda() for a in args], **options)

    def arrays() -> list[Any]:
        return [cupy.asarray(a) for a in args]

    by_nvfuser = {"tnp by nvFuser": lambda: tnp_version(function, arrays(), executors=["nvfuser[cupy]", "cupy"])}
    return {
        "tnp": lambda: tnp_version(function, arrays()),
        **({} if registry.availability()["nvfuser"] else by_nvfuser),
        "tnp, CuPy's kernels": lambda: tnp_version(function, arrays(), executors=["cupy"]),
        "tnp, tensors": of_tensors,
        "tnp, tensors, cudagraphs": lambda: of_tensors(cudagraphs=True),
        "cupy": of_cupy,
        "torch": lambda: of_torch(False),
        "torch.compile": lambda: of_torch(True),
        "jax.jit": of_jax,
    }


def seconds(run: Callable[[], Any], synchronize: Callable[[], None]) -> float:
    """Seconds of a call: the least of several turns, each of as many calls as fill a part of :data:`SECONDS`."""
    run()
    synchronize()
    start = time.perf_counter()
    run()
    synchronize()
    calls = max(1, int(SECONDS / 5 / max(time.perf_counter() - start, 1e-7)))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def as_numpy(x: Any) -> Any:
    if hasattr(x, "get"):  # CuPy
        return x.get()
    return x.cpu().numpy() if hasattr(x, "cpu") else np.asarray(x)


def measure(name: str, elements: int, bandwidth: float, synchronize: Callable[[], None]) -> list[str]:
    """The lines of the table for a program."""
    function, make = PROGRAMS[name]
    args = make(elements)
    expected = function(*args)
    moved = sum(a.nbytes for a in args) + expected.nbytes
    lines = []
    for version, prepare in versions(function, args).items():
        try:
            run = prepare()
            np.testing.assert_allclose(as_numpy(run()), expected, rtol=2e-3, atol=1e-4)
            took = seconds(run, synchronize)
            peak = peak_of(run, synchronize)
        except Exception as error:  # a peer that is missing or fails is a note, not the end
            text = (str(error).splitlines() or [""])[0][:90].replace("|", "/")
            lines.append(f"| {name} | {version} | {type(error).__name__}: {text} | | | |")
            continue
        rate = moved / took
        own_pool = version == "jax.jit" or peak is None
        shown = "" if own_pool else f"{peak / 2**20:.0f}"
        lines.append(f"| {name} | {version} | {took * 1e6:.1f} | {rate / 1e9:.0f} | {rate / bandwidth:.2f} | {shown} |")
    return lines


def peak_of(run: Callable[[], Any], synchronize: Callable[[], None]) -> int | None:
    """Bytes of the device that a call takes at most beside what was there, results included, in the pool of torch and CuPy; ``None`` where torch cannot use
    the device, and CuPy has a pool of its own."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return None
    synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    synchronize()
    return int(torch.cuda.max_memory_allocated()) - before


def copy_bandwidth(cupy: Any, elements: int, synchronize: Callable[[], None]) -> float:
    """Bytes a second, read and written, of a copy on the device of four times as many elements."""
    source = cupy.asarray(np.ones(elements * 4, np.float32))
    target = cupy.empty_like(source)

    def copy() -> None:
        target[...] = source

    return 2 * source.nbytes / seconds(copy, synchronize)


def device_name(cupy: Any) -> str:
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def versions_of(*packages: str) -> str:
    """``, torch 2.13.0``, of those that are installed."""
    found = [p for p in packages if importlib.util.find_spec(p) is not None]
    return "".join(f", {p} {importlib.metadata.version(p)}" for p in found)


def parts(options: argparse.Namespace, bandwidth: float, synchronize: Callable[[], None]) -> Iterator[list[str]]:
    """The lines of the page behind its head, as they are measured."""
    for name in options.only:
        yield measure(name, options.elements, bandwidth, synchronize)
    if options.only == list(PROGRAMS):
        yield gpu_kernels.table(seconds, peak_of, synchronize)
    yield gpu_torch.lines(seconds, synchronize)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--elements", type=int, default=20_000_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.md")
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # jax would take most of the device's memory
    try:
        tnp.jit(lambda x: x + 1, device="cuda")(np.ones(2))
    except tnp.NoDeviceError as error:
        print(f"no benchmark of the GPU: {error}", file=sys.stderr)
        return 1
    cupy = importlib.import_module("cupy")

    def synchronize() -> None:
        cupy.cuda.runtime.deviceSynchronize()

    share_with_torch()
    bandwidth = copy_bandwidth(cupy, options.elements, synchronize)
    lines = [
        "# On a GPU",
        "",
        f"{device_name(cupy)}. CuPy {cupy.__version__}, NumPy {np.__version__}{versions_of('torch', 'triton', 'jax')}; "
        f"{options.elements:,} elements of float32; a copy on the device runs at {bandwidth / 1e9:.0f} GB/s. Made by `make test-gpu`.",
        "",
        "| program | version | µs | GB/s of inputs and results | of a copy's | MiB at most |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines))
    for part in parts(options, bandwidth, synchronize):
        print("\n".join(part), flush=True)
        lines += part
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(wrapped("\n".join(lines) + "\n"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
