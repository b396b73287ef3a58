"""Random numbers, drawn by the executor's own generator, at each call, in program order.

The NumPy language does not use these prims: its programs call NumPy's generators, whose streams are part of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.prims.base import check_kind, prim
from tnp.core.proxies import Number, TensorProxy
from tnp.core.sizes import Dim
from tnp.core.symbol import OpTags

__all__ = ["normal", "uniform"]


@prim(OpTags.RANDOM, OpTags.EFFECT)
def uniform(shape: Sequence[Dim], low: Number, high: Number, *, device: Device, dtype: DType) -> TensorProxy:
    """Independent draws from ``[low, high)``."""
    check_kind(dtype, "f", "uniform")
    return TensorProxy(shape=tuple(shape), device=device, dtype=dtype)


@prim(OpTags.RANDOM, OpTags.EFFECT)
def normal(shape: Sequence[Dim], mean: Number, std: Number, *, device: Device, dtype: DType) -> TensorProxy:
    """Independent draws from the normal distribution."""
    check_kind(dtype, "f", "normal")
    return TensorProxy(shape=tuple(shape), device=device, dtype=dtype)
