"""The programs that are timed: plain NumPy functions, a module a family, and their versions for the peers."""

from __future__ import annotations

import numpy as np

from . import complexes, composed, elementwise, integers, reductions, selection, stencils, volumes
from .base import Kernel, Unsupported, numexpr_evaluate

__all__ = ["ADD", "KERNELS", "Kernel", "Unsupported"]

KERNELS: tuple[Kernel, ...] = (
    *elementwise.KERNELS,
    *complexes.KERNELS,
    *stencils.KERNELS,
    *volumes.KERNELS,
    *reductions.KERNELS,
    *selection.KERNELS,
    *integers.KERNELS,
    *composed.KERNELS,
)

#: the least program, for the cost of a call
ADD = Kernel(
    "a + b",
    lambda a, b: a + b,
    lambda n, d: (np.ones(n, d), np.ones(n, d)),
    jax=lambda: lambda a, b: a + b,
    torch=lambda: lambda a, b: a + b,
    numexpr=lambda: lambda a, b: numexpr_evaluate("a + b", a=a, b=b),
)
