"""A product of matrices with what follows it, and an image."""

from __future__ import annotations

import numpy as np

from .base import Kernel, numexpr_evaluate, prange, side, uniform, with_numpy_as


def matmul_epilogue(a, b, bias):
    return np.maximum(a @ b + bias, 0)


def matmul_epilogue_loops(a, b, bias):
    out = a @ b
    zero = a.dtype.type(0)
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = max(out[i, j] + bias[j], zero)
    return out


def matmul_epilogue_torch():
    import torch

    return lambda a, b, bias: torch.relu(a @ b + bias)


def matmul_epilogue_numexpr():
    def f(a, b, bias):
        return numexpr_evaluate("where(p + bias > 0, p + bias, 0)", p=a @ b, bias=bias)

    return f


def threshold(rgb):
    """An image to grey, to black and white at the mean."""
    grey = rgb[..., 0] * 0.299 + rgb[..., 1] * 0.587 + rgb[..., 2] * 0.114
    return np.where(grey > grey.mean(), 255, 0).astype(np.uint8)


def threshold_loops(rgb):
    t = rgb.dtype.type
    r, g, b = t(0.299), t(0.587), t(0.114)
    grey = np.empty(rgb.shape[:2], rgb.dtype)
    total = t(0)
    for i in prange(rgb.shape[0]):
        part = t(0)
        for j in range(rgb.shape[1]):
            grey[i, j] = rgb[i, j, 0] * r + rgb[i, j, 1] * g + rgb[i, j, 2] * b
            part += grey[i, j]
        total += part
    mean = t(total / t(grey.size))
    out = np.empty(grey.shape, np.uint8)
    for i in prange(rgb.shape[0]):
        for j in range(rgb.shape[1]):
            out[i, j] = 255 if grey[i, j] > mean else 0
    return out


def threshold_torch():
    import torch

    def f(rgb):
        grey = rgb[..., 0] * 0.299 + rgb[..., 1] * 0.587 + rgb[..., 2] * 0.114
        return torch.where(grey > grey.mean(), 255, 0).to(torch.uint8)

    return f


def threshold_numexpr():
    def f(rgb):
        grey = numexpr_evaluate("r * 0.299 + g * 0.587 + b * 0.114", r=rgb[..., 0], g=rgb[..., 1], b=rgb[..., 2])
        mean = grey.mean()
        return numexpr_evaluate("where(grey > mean, 255, 0)", grey=grey, mean=mean).astype(np.uint8)

    return f


def _matrices(n, dtype):
    """The product has ``n`` elements, each of a sum of at most 128."""
    s = side(n)
    inner = min(s, 128)
    return (
        uniform(s, inner, dtype=dtype, low=-1),
        uniform(inner, s, dtype=dtype, low=-1, seed=1),
        uniform(s, dtype=dtype, seed=2),
    )


def _image(n, dtype):
    s = side(n // 3)
    return (uniform(s, s, 3, dtype=dtype),)


KERNELS = (
    Kernel(
        "matmul + epilogue",
        matmul_epilogue,
        _matrices,
        loops=matmul_epilogue_loops,
        jax=with_numpy_as("jax.numpy", matmul_epilogue),
        torch=matmul_epilogue_torch,
        numexpr=matmul_epilogue_numexpr,
        products=True,
    ),
    Kernel(
        "image to black and white",
        threshold,
        _image,
        loops=threshold_loops,
        jax=with_numpy_as("jax.numpy", threshold),
        torch=threshold_torch,
        numexpr=threshold_numexpr,
        memory_bound=True,
    ),
)
