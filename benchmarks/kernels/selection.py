"""Elements chosen by masks and indices, and a scan."""

from __future__ import annotations

import numpy as np

from .base import Kernel, numexpr_evaluate, prange, uniform, with_numpy_as


def masked_update(x, y):
    m = x < y
    x[m] = y[m] * 0.5 + 1


def masked_update_loops(x, y):
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    for i in prange(x.size):
        if x[i] < y[i]:
            x[i] = y[i] * half + one


def masked_update_jax():
    import jax.numpy as jnp

    return lambda x, y: jnp.where(x < y, y * 0.5 + 1, x)


def masked_update_torch():
    import torch

    def f(x, y):
        x[:] = torch.where(x < y, y * 0.5 + 1, x)

    return f


def masked_update_numexpr():
    def f(x, y):
        numexpr_evaluate("where(x < y, y * 0.5 + 1, x)", x=x, y=y, out=x)

    return f


def cumulative_sum(x):
    return np.cumsum(x)


def cumulative_sum_loops(x):
    out = np.empty_like(x)
    total = x.dtype.type(0)
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out


def gather(table, index, weight):
    """A product with a sparse vector: elements at random places, weighted, summed."""
    return (table[index] * weight).sum()


def gather_loops(table, index, weight):
    total = table.dtype.type(0)
    for i in prange(index.size):
        total += table[index[i]] * weight[i]
    return total


def _two(n, dtype):
    return uniform(n, dtype=dtype), uniform(n, dtype=dtype, seed=1)


def _places(n, dtype):
    index = np.random.default_rng(2).integers(0, n, n)
    return uniform(n, dtype=dtype), index, uniform(n, dtype=dtype, seed=1)


KERNELS = (
    Kernel(
        "masked update",
        masked_update,
        _two,
        changes=(0,),
        loops=masked_update_loops,
        jax=masked_update_jax,
        torch=masked_update_torch,
        numexpr=masked_update_numexpr,
        memory_bound=True,
    ),
    Kernel(
        "cumulative sum",
        cumulative_sum,
        lambda n, d: (uniform(n, dtype=d, low=-1, high=1),),
        loops=cumulative_sum_loops,
        jax=with_numpy_as("jax.numpy", cumulative_sum),
        torch=lambda: lambda x: x.cumsum(0),
        cannot={"numexpr": "numexpr has no cumulative sum"},
        # not bound by memory: sums are rounded in order, so that each addition waits for the one before
    ),
    Kernel(
        "gather + sum",
        gather,
        _places,
        loops=gather_loops,
        jax=lambda: gather,
        torch=lambda: gather,
        cannot={"numexpr": "numexpr has no indexing"},
    ),
)
