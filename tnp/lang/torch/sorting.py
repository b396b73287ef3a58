"""Sorting, and functions that select elements by their order."""

from __future__ import annotations

from typing import Any

import torch

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.indexing import lined
from tnp.lang.torch.operands import dimension, dimensions, size_or_int, tensor_only
from tnp.lang.torch.reductions import is_of_nothing, reduced
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []


def _lines(input: Any, dim: Any, kinds: str = "biuf") -> tuple[TensorProxy, int]:
    """A tensor of at least one dimension, and that along which it is ordered."""
    tensor_only(input)
    (a,) = lined(input)
    d = dimension(a.ndim, dim)
    if a.dtype.kind not in kinds:
        raise NeedsOpaque(f"an order of {a.dtype}")
    return a, d


@torchsymbol("sort")
def sort(input: Any, dim: Any = -1, descending: Any = False, stable: Any = False) -> Any:
    """The elements in order, and the indices that put them so."""
    a, d = _lines(input, dim)
    order = {"descending": bool(descending), "stable": bool(stable)}
    found = (p(a, d, **order) for p in (prims.sort, prims.argsort))
    return torch.return_types.sort(tuple(clang.reshape(x, input.shape) for x in found))


@torchsymbol("argsort")
def argsort(input: Any, dim: Any = -1, descending: Any = False, *, stable: Any = False) -> TensorProxy:
    """The indices that sort."""
    a, d = _lines(input, dim)
    return clang.reshape(prims.argsort(a, d, descending=bool(descending), stable=bool(stable)), input.shape)


@torchsymbol("msort")
def msort(input: Any) -> TensorProxy:
    """The elements in order along the first dimension."""
    a, d = _lines(input, 0)
    return clang.reshape(prims.sort(a, d, descending=False, stable=False), input.shape)


@torchsymbol("topk")
def topk(input: Any, k: Any, dim: Any = -1, largest: Any = True, sorted: Any = True) -> Any:
    """The ``k`` largest, or least, elements, and their indices."""
    (a, d), n = _lines(input, dim, "iuf"), symbols.as_dimension(size_or_int(k))
    if not 0 <= symbols.extent(n) <= sizes.extents((a.shape[d],), "topk")[0]:
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:  # none of one number is that number, too
        return torch.return_types.topk((input, clang.full_like(input, 0, dtype=dtypes.int64)))
    return torch.return_types.topk(prims.topk(a, n, d, bool(largest), bool(sorted)))


def _runs(flat: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    """Of a 1-d tensor, whether each element differs from the one before it, and the positions of those that do."""
    begins = clang.full((1,), True, dtype=dtypes.bool8)
    left, right = (clang.slice_dim(flat, s, flat.shape[0] - 1 + s, dim=0) for s in (0, 1))
    is_first = clang.concatenate([begins, clang.ne(left, right)], 0)
    return is_first, prims.nonzero(is_first)[0]


def _distinct(
    flat: TensorProxy, order: TensorProxy | None, shape: Any, return_inverse: Any, return_counts: Any
) -> tuple[TensorProxy, ...]:
    """The first element of each run, on request which run each element is in (``order`` are the places that the elements had), and how
    long the runs are."""
    is_first, first = _runs(flat)
    found = [prims.take(flat, first, 0)]
    if return_inverse:
        rank = clang.sub(prims.cumsum(clang.convert(is_first, dtypes.int64), 0), 1)
        placed = rank if order is None else prims.index_put(clang.full_like(rank, 0), [order], rank, False)
        found.append(clang.reshape(placed, shape))
    if return_counts:
        ends = clang.concatenate([first, clang.full((1,), flat.shape[0], dtype=dtypes.int64)], 0)
        following = clang.add(prims.iota(first.shape[0], device=ends.device, dtype=dtypes.int64), 1)
        found.append(clang.sub(prims.take(ends, following, 0), first))
    return tuple(found)


def _flat(input: Any, dim: Any) -> TensorProxy:
    tensor_only(input)
    if dim is not None or 0 in input.shape or input.dtype.kind not in "biuf" or input.dtype.bits == 16:
        raise NeedsOpaque("distinct slices, or those of nothing")
    return clang.reshape(input, (-1,))


@torchsymbol(torch.unique, torch.Tensor.unique, name="unique")
def unique(
    input: Any, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None
) -> Any:
    """The distinct elements in order, on request which of them each element is, and how often each occurs."""
    flat = _flat(input, dim)
    if not sorted:
        raise NeedsOpaque("an order that torch chooses")
    order = prims.argsort(flat, 0, stable=True)
    found = _distinct(prims.take(flat, order, 0), order, input.shape, return_inverse, return_counts)
    return found if len(found) > 1 else found[0]


@torchsymbol(torch.unique_consecutive, torch.Tensor.unique_consecutive, name="unique_consecutive")
def unique_consecutive(input: Any, return_inverse: Any = False, return_counts: Any = False, dim: Any = None) -> Any:
    """The elements that differ from those before them, on request which run each element is in, and how long the runs are."""
    found = _distinct(_flat(input, dim), None, input.shape, return_inverse, return_counts)
    return found if len(found) > 1 else found[0]


@torchsymbol("aminmax")
def aminmax(input: Any, *, dim: Any = None, keepdim: Any = False) -> Any:
    """The least and the largest element, of all or along a dimension."""
    tensor_only(input)
    dims = tuple(range(input.ndim)) if dim is None else dimensions(input.ndim, dim)
    if input.dtype.kind == "c" or is_of_nothing(input, dims):
        raise NeedsOpaque("the extrema of nothing")
    return torch.return_types.aminmax(tuple(reduced(p, input, dims, keepdim) for p in (prims.amin, prims.amax)))
