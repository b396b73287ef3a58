"""What a kernel is, and short ways to make the versions of it that the peers get."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:  # the loops are run by numba alone
    prange = range

__all__ = ["Kernel", "Unsupported", "numexpr_evaluate", "prange", "side", "uniform", "with_numpy_as"]


class Unsupported(Exception):
    """A peer cannot run a kernel on these arguments. Its text is the footnote."""


@dataclass(frozen=True)
class Kernel:
    """A program: the NumPy function, its arguments, and its versions for peers that need it rewritten.

    ``arguments(n, dtype)`` makes arrays of about ``n`` elements. numba and torch.compile are given ``function`` as it is
    and, where there are, hand-written ``loops`` and a ``torch`` version on tensors. Versions are made by factories, so
    that a peer is imported by its own contestant only. The ``jax`` version returns the changed arguments after the
    results. ``cannot`` has, by peer, the reason of a blank.
    """

    name: str
    function: Callable[..., Any]
    arguments: Callable[[int, Any], tuple[Any, ...]]
    #: arguments that a call changes
    changes: tuple[int, ...] = ()
    loops: Callable[..., Any] | None = None
    jax: Callable[[], Callable[..., Any]] | None = None
    torch: Callable[[], Callable[..., Any]] | None = None
    numexpr: Callable[[], Callable[..., Any]] | None = None
    cannot: dict[str, str] = field(default_factory=dict)
    #: memory is what bounds it on any machine of today: its bandwidth is worth a look
    memory_bound: bool = False
    #: contestants call libraries for products of matrices, whose threads spin for a while after a call
    products: bool = False
    #: arguments whose elements are read; default: all arrays
    reads: tuple[int, ...] | None = None

    def bytes_moved(self, args: tuple[Any, ...], results: list[Any]) -> int:
        """Bytes that any program for it must read and write: each array once."""
        arrays = {i: x.nbytes for i, x in enumerate(args) if isinstance(x, np.ndarray)}
        read = sum(arrays[i] for i in (arrays if self.reads is None else self.reads))
        return read + sum(arrays[i] for i in self.changes) + sum(np.asarray(r).nbytes for r in results)


def uniform(*shape: int, dtype: Any, low: float = 0.1, high: float = 1.0, seed: int = 0) -> Any:
    """Random numbers, the same at each call."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def side(n: int, dimensions: int = 2) -> int:
    """The side of a square or cube of about ``n`` elements."""
    return max(round(n ** (1 / dimensions)), 4)


def with_numpy_as(module: str, function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """The function as if its file said ``import <module> as np``: how a user ports what needs no other change."""

    def make() -> Callable[..., Any]:
        import importlib

        names = {**function.__globals__, "np": importlib.import_module(module)}
        return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)

    return make


_FLOAT_LITERAL = re.compile(r"(?<![\w.])\d+\.\d*(?:e[-+]?\d+)?")


def numexpr_evaluate(expression: str, **arrays: Any) -> Any:
    """``numexpr.evaluate``, where float literals have the dtype of the first array: numexpr's own are float64.

    An argument ``out`` is where the result goes.
    """
    import numexpr

    out = arrays.pop("out", None)
    dtype = next(x.dtype for x in arrays.values() if isinstance(x, np.ndarray))
    if dtype == np.float32:
        expression, literals = _without_literals(expression)
        arrays |= literals
    return numexpr.evaluate(expression, local_dict=arrays, global_dict={}, out=out, sanitize=False)


_rewritten: dict[str, tuple[str, dict[str, Any]]] = {}


def _without_literals(expression: str) -> tuple[str, dict[str, Any]]:
    if expression not in _rewritten:
        literals: dict[str, Any] = {}

        def name(match: re.Match[str]) -> str:
            literals[f"k{len(literals)}"] = np.float32(match.group())
            return f"k{len(literals) - 1}"

        _rewritten[expression] = _FLOAT_LITERAL.sub(name, expression), literals
    return _rewritten[expression]
