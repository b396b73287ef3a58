"""Neural-network prims without a good decomposition."""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core import sizes, symbols
from tnp.core.prims.base import check, check_same_dtype, prim
from tnp.core.proxies import TensorProxy

__all__ = ["convolution"]


@prim()
def convolution(
    a: TensorProxy,
    weight: TensorProxy,
    /,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> TensorProxy:
    """Cross-correlation of ``[n, c, *spatial]`` with ``[out, c / groups, *kernel]`` (torch's conv1d/2d/3d).

    Zeros are padded on both sides of each spatial dimension.
    """
    check_same_dtype("convolution", a, weight)
    rank = a.ndim - 2
    check(rank >= 1 and weight.ndim == a.ndim, lambda: "convolution takes an array and a weight of one rank ≥ 3")
    check(len(stride) == len(padding) == len(dilation) == rank, lambda: f"convolution needs {rank} strides, …")
    n, c, *spatial = sizes.extents(a.shape, "convolution")
    out, per_group, *kernel = sizes.extents(weight.shape, "convolution")
    check(
        c == per_group * groups and out % groups == 0, lambda: f"{c} channels, weight {weight.shape}, {groups} groups"
    )
    shape = [n, out]
    for length, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        span = length + 2 * p - d * (k - 1) - 1
        check(span >= 0, lambda: f"a kernel of {k} is longer than the padded {length + 2 * p}")
        shape.append(span // s + 1)
    return TensorProxy(like=a, shape=symbols.dimensions(shape))
