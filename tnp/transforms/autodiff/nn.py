"""Gradients of neural-network prims."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, prims, sizes
from tnp.core.proxies import TensorProxy
from tnp.transforms.autodiff.rules import rule

__all__: list[str] = []


@rule(prims.convolution)
def _convolution(
    g: TensorProxy,
    out: TensorProxy,
    a: TensorProxy,
    weight: TensorProxy,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    """Both are convolutions: by the array, of the cotangent spread by the stride with the weight turned round; by the weight, of the
    array with the cotangent, batch and channels having changed places."""
    n, c, *spatial = sizes.concrete(a.shape, "the gradient of a convolution")
    o, c_group, *kernel = sizes.concrete(weight.shape, "the gradient of a convolution")
    places = out.shape[2:]
    rank = len(spatial)
    ones, zeros = (1,) * rank, (0,) * rank
    inner = tuple(range(3, 3 + rank))

    def of_array() -> TensorProxy:
        config = [(0, 0, 0), (0, 0, 0)]
        for length, count, k, s, p, d in zip(spatial, places, kernel, stride, padding, dilation):
            low = d * (k - 1) - p
            config.append((low, length + d * (k - 1) - low - (count - 1) * s - 1, s - 1))
        turned = clang.reshape(weight, (groups, o // groups, c_group, *kernel))
        turned = clang.reshape(clang.transpose(turned, (0, 2, 1, *inner)), (c, o // groups, *kernel))
        turned = clang.flip(turned, range(2, 2 + rank))
        made: TensorProxy = prims.convolution(prims.pad(g, 0, tuple(config)), turned, ones, zeros, dilation, groups)
        return made

    def of_weight() -> TensorProxy:
        channels = clang.reshape(a, (n, groups, c_group, *spatial))
        channels = clang.reshape(clang.transpose(channels, (2, 1, 0, *inner)), (c_group, groups * n, *spatial))
        swapped = (1, 0, *range(2, 2 + rank))
        found = prims.convolution(channels, clang.transpose(g, swapped), dilation, padding, stride, groups)
        # A stride that leaves elements over has room for more places than the kernel has.
        found = prims.slice(found, [0] * found.ndim, [c_group, o, *kernel], [1] * found.ndim)
        return clang.transpose(found, swapped)

    return of_array, of_weight
