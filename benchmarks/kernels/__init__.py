"""The programs that are timed: plain NumPy functions, a module a family, and their versions for the peers."""

from __future__ import annotations

from . import complexes, composed, elementwise, integers, reductions, selection, stencils, volumes
from .base import Kernel, Unsupported

__all__ = ["KERNELS", "Kernel", "Unsupported"]

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
