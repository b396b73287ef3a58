"""Reductions, alone and amid elementwise work."""

from __future__ import annotations

import numpy as np

from .base import Kernel, prange, side, uniform, with_numpy_as

_NUMEXPR = {"numexpr": "numexpr has no reduction amid an expression"}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_loops(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def softmax_torch():
    import torch

    return lambda x: torch.softmax(x, 1)


def layer_norm(x, weight, bias):
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


def layer_norm_loops(x, weight, bias):
    out = np.empty_like(x)
    t = x.dtype.type
    for i in prange(x.shape[0]):
        total = t(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / t(x.shape[1])
        squares = t(0)
        for j in range(x.shape[1]):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        scale = t(1) / np.sqrt(squares / t(x.shape[1]) + t(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * weight[j] + bias[j]
    return out


def layer_norm_torch():
    import torch

    return lambda x, weight, bias: torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)


def variance_of_columns(x):
    return x.var(axis=0)


def variance_of_columns_loops(x):
    rows, columns = x.shape
    t = x.dtype.type
    out = np.empty(columns, x.dtype)
    blocks = (columns + 63) // 64
    for b in prange(blocks):  # 64 columns at a time: their sums stay in the first cache
        begin, end = b * 64, min(b * 64 + 64, columns)
        mean, squares = np.zeros(64, x.dtype), np.zeros(64, x.dtype)
        for i in range(rows):
            for j in range(begin, end):
                mean[j - begin] += x[i, j]
        for j in range(begin, end):
            mean[j - begin] /= t(rows)
        for i in range(rows):
            for j in range(begin, end):
                squares[j - begin] += (x[i, j] - mean[j - begin]) * (x[i, j] - mean[j - begin])
        for j in range(begin, end):
            out[j] = squares[j - begin] / t(rows)
    return out


def variance_of_rows(x):
    return x.var(axis=1)


def variance_of_rows_loops(x):
    rows, columns = x.shape
    t = x.dtype.type
    out = np.empty(rows, x.dtype)
    for i in prange(rows):
        total = t(0)
        for j in range(columns):
            total += x[i, j]
        mean = total / t(columns)
        squares = t(0)
        for j in range(columns):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        out[i] = squares / t(columns)
    return out


def pairwise(x, y):
    """The distance from each point to the nearest of the others, in 4 dimensions."""
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt((d * d).sum(axis=2)).min(axis=1)


def pairwise_loops(x, y):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        nearest = x.dtype.type(np.inf)
        for j in range(y.shape[0]):
            total = x.dtype.type(0)
            for k in range(x.shape[1]):
                total += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
            nearest = min(nearest, total)
        out[i] = np.sqrt(nearest)
    return out


def pairwise_torch():
    import torch

    def f(x, y):
        d = x[:, None, :] - y[None, :, :]
        return torch.sqrt((d * d).sum(dim=2)).amin(dim=1)

    return f


def _square(n, dtype):
    return (uniform(side(n), side(n), dtype=dtype),)


def _layer(n, dtype):
    s = side(n)
    return uniform(s, s, dtype=dtype), uniform(s, dtype=dtype, seed=1), uniform(s, dtype=dtype, seed=2)


def _points(n, dtype):
    """The differences of all pairs have ``n`` elements."""
    s = side(n // 4)
    return uniform(s, 4, dtype=dtype), uniform(s, 4, dtype=dtype, seed=1)


KERNELS = (
    Kernel(
        "softmax",
        softmax,
        _square,
        loops=softmax_loops,
        jax=with_numpy_as("jax.numpy", softmax),
        torch=softmax_torch,
        cannot=_NUMEXPR,
    ),
    Kernel(
        "layer norm",
        layer_norm,
        _layer,
        loops=layer_norm_loops,
        jax=with_numpy_as("jax.numpy", layer_norm),
        torch=layer_norm_torch,
        cannot=_NUMEXPR,
        memory_bound=True,
    ),
    Kernel(
        "variance of columns",
        variance_of_columns,
        _square,
        loops=variance_of_columns_loops,
        jax=lambda: variance_of_columns,
        torch=lambda: lambda x: x.var(dim=0, correction=0),
        cannot=_NUMEXPR,
        memory_bound=True,
    ),
    Kernel(
        "variance of rows",
        variance_of_rows,
        _square,
        loops=variance_of_rows_loops,
        jax=lambda: variance_of_rows,
        torch=lambda: lambda x: x.var(dim=1, correction=0),
        cannot=_NUMEXPR,
        memory_bound=True,
    ),
    Kernel(
        "pairwise distances + min",
        pairwise,
        _points,
        loops=pairwise_loops,
        jax=with_numpy_as("jax.numpy", pairwise),
        torch=pairwise_torch,
        cannot=_NUMEXPR,
    ),
)
