"""Sorting, and what picks elements by their order."""

from __future__ import annotations

from typing import Any

import torch

from tnp.core import prims
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.operands import dimension, static_int, tensor_only
from tnp.lang.torch.reductions import reduced
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []


def _line(input: Any, dim: Any) -> int:
    tensor_only(input)
    if input.ndim == 0 or input.dtype.kind not in "iuf" or 0 in input.shape:
        raise NeedsOpaque("the order of one number, or of bools")
    return dimension(input.ndim, dim)


@torchsymbol("sort")
def sort(input: Any, dim: Any = -1, descending: Any = False, stable: Any = False) -> Any:
    """The elements in order, and the indices that put them so."""
    d = _line(input, dim)
    order = {"descending": bool(descending), "stable": bool(stable)}
    return torch.return_types.sort((prims.sort(input, d, **order), prims.argsort(input, d, **order)))


@torchsymbol("argsort")
def argsort(input: Any, dim: Any = -1, descending: Any = False, *, stable: Any = False) -> TensorProxy:
    """The indices that sort."""
    return prims.argsort(input, _line(input, dim), descending=bool(descending), stable=bool(stable))


@torchsymbol("msort")
def msort(input: Any) -> TensorProxy:
    """The elements in order along the first dimension."""
    return prims.sort(input, _line(input, 0), descending=False, stable=False)


@torchsymbol("topk")
def topk(input: Any, k: Any, dim: Any = -1, largest: Any = True, sorted: Any = True) -> Any:
    """The ``k`` largest, or least, elements, and their indices."""
    d, n = _line(input, dim), static_int(k)
    if not 0 <= n <= input.shape[d]:
        raise RuntimeError("selected index k out of range")
    return torch.return_types.topk(prims.topk(input, n, d, bool(largest), bool(sorted)))


@torchsymbol("aminmax")
def aminmax(input: Any, *, dim: Any = None, keepdim: Any = False) -> Any:
    """The least and the largest element, of all or along a dimension."""
    tensor_only(input)
    if input.dtype.kind not in "iuf" or 0 in input.shape or (input.ndim == 0 and dim is not None):
        raise NeedsOpaque("the extrema of nothing")
    dims = tuple(range(input.ndim)) if dim is None else (dimension(input.ndim, dim),)
    return torch.return_types.aminmax(tuple(reduced(p, input, dims, keepdim) for p in (prims.amin, prims.amax)))
