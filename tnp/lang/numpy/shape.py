"""Shape manipulation."""

from __future__ import annotations

from typing import Any

from tnp.core import clang
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy
from tnp.lang.numpy.operands import as_array, axes, static_int
from tnp.lang.numpy.registry import npproperty, npsymbol

__all__ = ["reshape", "transpose"]


@npsymbol(returns="view")
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: bool | None = None) -> TensorProxy:
    """The elements in another shape, one length of which may be -1; a view where the memory allows."""
    a = as_array(a)
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    wanted = tuple(d if hasattr(d, "bound") else static_int(d) for d in wanted)
    if order == "F":
        flipped = clang.reshape(clang.transpose(a, range(a.ndim)[::-1]), wanted[::-1])
        return clang.transpose(flipped, range(flipped.ndim)[::-1])
    return clang.reshape(a, wanted)


@npsymbol(returns="view")
def transpose(a: Any, axes_: Any = None) -> TensorProxy:
    """Dimensions reversed, or in the given order."""
    a = as_array(a)
    order = tuple(range(a.ndim))[::-1] if axes_ is None else axes(a.ndim, axes_)
    check(len(order) == a.ndim, lambda: "axes don't match array")
    return clang.transpose(a, order)


npproperty("T")(lambda a: transpose(a))
