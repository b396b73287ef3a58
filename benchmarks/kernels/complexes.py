"""Complex numbers: a fixed number of steps of the Mandelbrot iteration on an array."""

from __future__ import annotations

import numpy as np

from .base import Kernel, Unsupported, numexpr_evaluate, prange, uniform, with_numpy_as

STEPS = 4


def mandelbrot(c):
    """How many steps each point stays within radius 2."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int32)
    for _ in range(STEPS):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        count = count + inside
    return count, z


def mandelbrot_loops(c):
    count, out = np.zeros(c.shape, np.int32), np.empty_like(c)
    for i in prange(c.size):
        z = c.dtype.type(0)
        for _ in range(STEPS):
            if z.real * z.real + z.imag * z.imag <= 4:
                z = z * z + c[i]
                count[i] += 1
        out[i] = z
    return count, out


def mandelbrot_torch():
    import torch

    def f(c):
        z = torch.zeros_like(c)
        count = torch.zeros(c.shape, dtype=torch.int32)
        for _ in range(STEPS):
            inside = torch.abs(z) <= 2
            z = torch.where(inside, z * z + c, z)
            count = count + inside
        return count, z

    return f


def mandelbrot_numexpr():
    def f(c):
        if c.dtype != np.complex128:
            raise Unsupported("numexpr has no complex64")
        z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
        for _ in range(STEPS):
            inside = numexpr_evaluate("real(z) * real(z) + imag(z) * imag(z) <= 4", z=z)
            z = numexpr_evaluate("where(inside, z * z + c, z)", z=z, c=c, inside=inside)
            count += inside
        return count, z

    return f


def _plane(n, dtype):
    kind = np.complex64 if np.dtype(dtype) == np.float32 else np.complex128
    return (
        (uniform(n, dtype=dtype, low=-2, high=0.5) + 1j * uniform(n, dtype=dtype, low=-1.2, high=1.2, seed=1)).astype(
            kind
        ),
    )


KERNELS = (
    Kernel(
        "Mandelbrot, 4 steps",
        mandelbrot,
        _plane,
        loops=mandelbrot_loops,
        jax=with_numpy_as("jax.numpy", mandelbrot),
        torch=mandelbrot_torch,
        numexpr=mandelbrot_numexpr,
    ),
)
