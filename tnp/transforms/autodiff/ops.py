"""An operation that only derivatives use."""

from __future__ import annotations

from typing import Any

from tnp.core import clang
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol

__all__ = ["times"]


def _times(g: TensorProxy, factor: Any) -> TensorProxy:
    """``g * factor``, and 0 where ``g`` is 0, whatever the factor is.

    A cotangent is 0 where a result was not used (``where(x > 0, sqrt(x), 0)``); the derivative there may be infinite or NaN.
    It is an operation of its own, with a gradient of its own, because what it is made of has the wrong one: a comparison with
    0 would cut off the second derivative of ``(x / y) ** 2`` at ``x = 0``.
    """
    return clang.where(clang.eq(g, 0), 0, clang.mul(g, factor))


times = Symbol(
    "times",
    _times,
    id="autodiff.times",
    tags=(OpTags.ELEMENTWISE,),
    namespace=Namespace("autodiff", "from tnp.transforms import autodiff"),
)
