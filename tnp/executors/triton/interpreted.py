"""CUDA's mathematical library for Triton's interpreter, which cannot call it: the same functions by NumPy and
Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tnp.core.elementwise_table import ROWS

__all__ = ["libdevice"]


def _on_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function as one of the interpreter's blocks, whose elements are in ``handle.data``."""

    def call(*blocks: Any) -> Any:
        import triton.language as tl
        from triton.runtime.interpreter import TensorHandle

        first = blocks[0]
        with np.errstate(all="ignore"):
            values = np.asarray(function(*(b.handle.data for b in blocks)), first.handle.data.dtype)
        shape = [tl.constexpr(n) if hasattr(tl, "constexpr") else n for n in values.shape]
        kind = tl.block_type(first.dtype, shape) if values.ndim else first.dtype
        return tl.tensor(TensorHandle(values, first.dtype.scalar), kind)

    return call


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at a pole, and beyond the largest float
        return math.inf


def _erfinv(y: float) -> float:
    """By Newton's method on ``erf``, from Winitzki's approximation (2008)."""
    if not abs(y) < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    log = math.log1p(-y * y)
    part = 2 / (math.pi * 0.147) + log / 2
    x = math.copysign(math.sqrt(math.sqrt(part * part - log / 0.147) - part), y)
    for _ in range(4):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _one_by_one(function: Callable[..., float]) -> Callable[..., Any]:
    return np.vectorize(function, otypes=[float])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    row.c: getattr(np, row.numpy) if row.numpy else _one_by_one(getattr(math, row.c)) for row in ROWS if row.c
}
_FUNCTIONS |= {"erfinv": _one_by_one(_erfinv), "lgamma": _one_by_one(_lgamma)}

libdevice = SimpleNamespace(**{name: _on_blocks(f) for name, f in _FUNCTIONS.items()})
