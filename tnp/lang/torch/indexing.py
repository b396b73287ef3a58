"""Subscripts, gathers and scatters."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.creation import from_sequence
from tnp.lang.torch.operands import as_tensor, dimension, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__ = ["getitem", "lined", "not_negative", "nothing_of", "setitem"]


def _key_part(part: Any) -> Any:
    if isinstance(part, (list, range)):
        part = from_sequence(list(part))
        if part.shape == (0,):
            part = clang.convert(part, dtypes.int64)
    if isinstance(part, slice) and isinstance(part.step, int) and part.step <= 0:
        raise ValueError("step must be greater than zero")
    if isinstance(part, TensorProxy) and part.dtype is dtypes.uint8:
        raise NeedsOpaque("a mask of bytes")
    return part


def index_key(key: Any) -> Any:
    """A key with its sequences as tensors."""
    return tuple(_key_part(k) for k in key) if isinstance(key, tuple) else _key_part(key)


@torchsymbol(torch.Tensor.__getitem__, returns="view", method="getitem", tags=(OpTags.SUBSCRIPT,))
def getitem(input: Any, key: Any) -> TensorProxy:
    """``input[key]``: a view for numbers, slices and new axes, else a copy."""
    return clang.getitem(input, index_key(key))


@torchsymbol(torch.Tensor.__setitem__, returns="update", tags=(OpTags.MAY_RAISE,))
def setitem(input: Any, key: Any, value: Any) -> TensorProxy:
    """``input`` after ``input[key] = value``."""
    return clang.setitem(input, index_key(key), as_tensor(value, input.dtype))


def not_negative(index: TensorProxy, below: int | None = None) -> TensorProxy:
    """Indices of a function that, unlike a subscript, does not count negative ones from the end."""
    fits = clang.ge(index, 0)
    if below is not None:
        fits = clang.logical_and(fits, clang.lt(index, below))
    return prims.require(index, fits, IndexError, "index out of range in self")


def lined(*xs: TensorProxy) -> list[TensorProxy]:
    """Numbers as lines of one element; others as they are."""
    return [x if x.ndim else clang.reshape(x, (1,)) for x in xs]


def nothing_of(a: TensorProxy, shape: tuple[int, ...]) -> TensorProxy:
    """No elements of ``a``, in a shape of none."""
    flat = clang.reshape(a, (math.prod(a.shape),))
    return clang.reshape(clang.slice_dim(flat, 0, 0, dim=0), shape)


@torchsymbol("index_select", tags=(OpTags.MAY_RAISE,))
def index_select(input: Any, dim: Any, index: Any) -> TensorProxy:
    """The positions ``index`` of a dimension."""
    tensor_only(input, index)
    if index.ndim != 1 or (input.ndim == 0 and index.shape != (1,)):
        raise NeedsOpaque("positions that are no line")
    (a,) = lined(input)
    taken = prims.take(a, not_negative(index), dimension(a.ndim, dim))
    return taken if input.ndim else clang.reshape(taken, ())


@torchsymbol("gather", tags=(OpTags.MAY_RAISE,))
def gather(input: Any, dim: Any, index: Any, *, sparse_grad: Any = False) -> TensorProxy:
    """``result[i][j] = input[index[i][j]][j]`` for dimension 0."""
    tensor_only(input, index)
    if 0 in index.shape:
        return nothing_of(input, index.shape)
    a, at = lined(input, not_negative(index))
    d = dimension(a.ndim, dim)
    if a.ndim != at.ndim or 0 in input.shape:
        raise NeedsOpaque("gather of other ranks")
    if any(m > n for i, (n, m) in enumerate(zip(a.shape, at.shape)) if i != d):
        raise RuntimeError("Size does not match at a dimension other than dim")
    return clang.reshape(prims.gather(a, at, d), index.shape)


@torchsymbol(torch.nn.functional.embedding, row_major="always", tags=(OpTags.MAY_RAISE,))
def embedding(
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: Any = 2.0,
    scale_grad_by_freq: Any = False, sparse: Any = False,
) -> TensorProxy:  # fmt: skip
    """The rows of ``weight`` that ``input`` names."""
    tensor_only(input, weight)
    if max_norm is not None or weight.ndim != 2 or input.dtype.name not in ("int64", "int32"):
        raise NeedsOpaque("an embedding that is renormalised")
    if scale_grad_by_freq or sparse:
        raise NeedsOpaque("an embedding with another gradient")
    rows = weight.shape[0]
    if padding_idx is not None and not (type(padding_idx) is type(rows) is int and -rows <= padding_idx < rows):
        raise NeedsOpaque("an embedding whose padding may be refused")
    return prims.take(weight, not_negative(input), 0)


def _scattered(name: str, prim: Any, kinds: str) -> None:
    @torchsymbol(name, tags=(OpTags.MAY_RAISE,))
    def scatter(input: Any, dim: Any, index: Any, src: Any) -> TensorProxy:
        """``input`` with ``result[index[i][j]][j]`` replaced, or increased, by ``src[i][j]`` for dimension 0."""
        tensor_only(input, index, src)
        if not index.ndim == src.ndim == input.ndim or 0 in index.shape:
            raise NeedsOpaque("a source of another shape")
        if src.dtype is not input.dtype or index.dtype is not dtypes.int64 or input.dtype.kind not in kinds:
            raise NeedsOpaque("a source of another dtype")
        if any(n < m for n, m in zip(src.shape, index.shape)):
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")
        for i, n in enumerate(index.shape):
            src = clang.slice_dim(src, 0, n, dim=i) if src.shape[i] != n else src
        a, at, new = lined(input, not_negative(index), src)
        d = dimension(a.ndim, dim)
        if any(m > n for i, (n, m) in enumerate(zip(a.shape, at.shape)) if i != d):
            raise RuntimeError("Expected index to be no larger than self apart from dimension dim")
        return clang.reshape(prim(a, at, new, d), input.shape)


_scattered("scatter", prims.scatter, "bif")
_scattered("scatter_add", prims.scatter_add, "bif")


@torchsymbol("take_along_dim", tags=(OpTags.MAY_RAISE,))
def take_along_dim(input: Any, indices: Any, dim: Any = None) -> TensorProxy:
    """:func:`gather`; the tensor and the indices broadcast in the other dimensions."""
    tensor_only(input, indices)
    if dim is None:
        input, indices, dim = clang.reshape(input, (-1,)), clang.reshape(indices, (-1,)), 0
    d = dimension(input.ndim, dim)
    if input.ndim != indices.ndim or 0 in (*input.shape, *indices.shape):
        raise NeedsOpaque("indices of another rank")
    a, b = ((*x.shape[:d], 1, *x.shape[d + 1 :]) for x in (input, indices))
    common = sizes.broadcast(a, b)
    input, indices = (clang.broadcast_to(x, (*common[:d], x.shape[d], *common[d + 1 :])) for x in (input, indices))
    indices = clang.where(clang.lt(indices, 0), clang.add(indices, input.shape[d]), indices)
    return prims.gather(input, not_negative(indices), d)
