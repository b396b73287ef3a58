"""The contestants: from a kernel to the versions of it that each of them runs.

A contestant may have several versions of a kernel, nearest to the user's program first: numba and torch.compile take the
NumPy function as it is, and one written for them. The best counts.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernels import Kernel

__all__ = ["PEERS", "Version", "installed", "invalidate", "one_line", "versions"]

#: peers by name, and the package that each needs
PEERS = {"numba": "numba", "jax.jit": "jax", "torch.compile": "torch", "numexpr": "numexpr"}

#: numba's threads cost some µs a loop: up to this many elements it runs serial loops, up to the next both
SERIAL_ELEMENTS, EITHER_ELEMENTS = 1_000, 100_000

#: what numba's hand-written loops may do: sum in any order and fuse multiplications with additions, as jax and torch do.
#: NaN and infinities keep their meaning.
LOOP_MATH = {"reassoc", "contract", "nsz"}


@dataclass
class Version:
    """A way of running a kernel."""

    #: who wrote it: "NumPy" (the user's function) or the kind of code
    style: str
    #: makes the function that is timed; compiling happens here or at the first call
    make: Callable[[], Callable[..., Any]]
    #: from NumPy's arguments to what the function takes, untimed
    convert: Callable[[tuple[Any, ...]], tuple[Any, ...]] = tuple
    #: whether the changed arguments come back as further results, and the arguments passed are used up
    functional: bool = False
    #: the version's name within its style
    detail: str = ""


def installed(names: list[str] | None) -> list[str]:
    """Those of the peers named (default: all) that can be imported."""
    return [p for p in PEERS if (names is None or p in names) and importlib.util.find_spec(PEERS[p])]


def versions(kernel: Kernel, contestant: str, n: int, threads: int) -> Iterator[Version]:
    """The versions of a kernel that a contestant runs on ``n`` elements; none where it cannot."""
    if contestant in kernel.cannot:
        return
    if contestant == "NumPy":
        yield Version("NumPy", lambda: kernel.function)
    elif contestant == "tnp":
        yield Version("NumPy", lambda: _tnp(kernel, None))
    elif contestant.startswith("tnp ("):
        yield Version("NumPy", lambda: _tnp(kernel, [contestant[5:-1]]))
    elif contestant == "numba":
        yield from _numba(kernel, n, threads)
    elif contestant == "jax.jit" and kernel.jax is not None:
        yield Version("jax.numpy", lambda: _jax(kernel), lambda args: _to_jax(args, kernel.changes), functional=True)
    elif contestant == "torch.compile":
        yield Version("NumPy", lambda: _torch(kernel.function))
        if kernel.torch is not None:
            yield Version("torch", lambda: _torch(kernel.torch()), _to_torch)
    elif contestant == "numexpr" and kernel.numexpr is not None:
        yield Version("expressions", kernel.numexpr)


def _tnp(kernel: Kernel, executors: list[str] | None) -> Any:
    import tnp

    return tnp.jit(kernel.function, executors=executors)


def _numba(kernel: Kernel, n: int, threads: int) -> Iterator[Version]:
    parallel = [False] if threads == 1 or n <= SERIAL_ELEMENTS else [False, True] if n <= EITHER_ELEMENTS else [True]
    for p in parallel:
        detail = "parallel" if p else "serial"
        yield Version("NumPy", lambda p=p: _njit(kernel.function, p, False), detail=detail)
        if kernel.loops is not None:
            yield Version("loops", lambda p=p: _njit(kernel.loops, p, True), detail=detail)


@functools.cache
def _njit(function: Any, parallel: bool, any_order: bool) -> Any:
    """One for all sizes: numba compiles for dtypes, not for shapes."""
    import numba

    return numba.njit(function, parallel=parallel, fastmath=LOOP_MATH if any_order else False)


def _jax(kernel: Kernel) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    # donated arguments may be overwritten, as the NumPy program does
    compiled = jax.jit(kernel.jax(), donate_argnums=kernel.changes)
    return lambda *args: jax.block_until_ready(compiled(*args))


def _to_jax(args: tuple[Any, ...], changes: tuple[int, ...]) -> tuple[Any, ...]:
    import jax.numpy as jnp

    arrays = [
        x if not isinstance(x, np.ndarray) else jnp.array(x) if i in changes else jnp.asarray(x)
        for i, x in enumerate(args)
    ]
    for x in arrays:
        if hasattr(x, "block_until_ready"):
            x.block_until_ready()
    return tuple(arrays)


def _torch(function: Any) -> Any:
    import torch

    return torch.compile(function, dynamic=False)


def _to_torch(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors on the memory of the arrays."""
    import torch

    return tuple(torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in args)


def invalidate(contestants: list[str]) -> None:
    """Lets torch forget its programs: it stops compiling a function that came with many shapes."""
    if "torch.compile" in contestants:
        import torch

        torch.compiler.reset()


def one_line(error: Exception) -> str:
    """The line of an error that tells most, shortened."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip() and not x.startswith("Failed in nopython")]
    text = lines[0] if lines else ""
    return f"{type(error).__name__}: {text[:120]}" if text else type(error).__name__


warnings.filterwarnings("ignore", category=UserWarning, module="torch")
