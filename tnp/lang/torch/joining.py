"""Joining, repeating, reversing and shifting elements."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.operands import (
    dimension,
    extents,
    integers,
    known,
    shape_argument,
    size_or_int,
    static_int,
    tensor_only,
)
from tnp.lang.torch.registry import torchsymbol
from tnp.lang.torch.shape import sliced

__all__: list[str] = []

Tensor = torch.Tensor


@torchsymbol("cat", "concat", "concatenate")
def cat(tensors: Any, dim: Any = 0) -> TensorProxy:
    """Joined along a dimension, in the dtype that they promote to."""
    tensor_only(*tensors)
    kept = list(tensors)
    if not kept:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    if any(x.shape == (0,) for x in kept) and any(x.ndim != 1 for x in kept):
        raise NeedsOpaque("a 1-d tensor of no elements, which fits any others")
    dtype = _joined_dtype(tensors)
    if any(x.ndim != kept[0].ndim for x in kept) or kept[0].ndim == 0:
        raise RuntimeError("Tensors must have same number of dimensions")
    d = dimension(kept[0].ndim, dim)
    arrays = [clang.convert(x, dtype) for x in kept]
    return prims.concatenate(arrays, d) if len(arrays) > 1 else arrays[0]


def _joined_dtype(tensors: Any) -> Any:
    """The dtype of tensors that are joined: those without dimensions count as others do."""
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        if x.dtype is not dtype:
            raise NeedsOpaque("tensors of several dtypes")
    return dtype


@torchsymbol("stack")
def stack(tensors: Any, dim: Any = 0) -> TensorProxy:
    """Joined along a new dimension."""
    tensor_only(*tensors)
    if not tensors or any(x.shape != tensors[0].shape for x in tensors):
        raise RuntimeError("stack expects each tensor to be equal size")
    _joined_dtype(tensors)
    return clang.stack(list(tensors), dimension(tensors[0].ndim + 1, dim))


def _stacked(name: str, wide: Any, dim: int) -> None:
    @torchsymbol(name)
    def stacked(tensors: Any) -> TensorProxy:
        """Joined along a dimension after they were given at least so many."""
        tensor_only(*tensors)
        arrays = [wide(x) for x in tensors]
        if not arrays:
            raise NeedsOpaque("nothing to join")
        _joined_dtype(arrays)
        along = 0 if dim and arrays[0].ndim == 1 else dim
        return prims.concatenate(arrays, along) if len(arrays) > 1 else arrays[0]


def _at_least(ndim: int) -> Any:
    def widen(x: TensorProxy) -> TensorProxy:
        if x.ndim >= ndim:
            return x
        if x.ndim == 2:
            return clang.expand_dims(x, (2,))
        shape = {1: (1,), 2: (1, *(x.shape or (1,))), 3: (1, *(x.shape or (1,)), 1)}[ndim]
        return clang.reshape(x, shape)

    return widen


_stacked("hstack", _at_least(1), 1)
_stacked("vstack", _at_least(2), 0)
_stacked("row_stack", _at_least(2), 0)
_stacked("dstack", _at_least(3), 2)


def _widening(ndim: int) -> None:
    widen = _at_least(ndim)

    @torchsymbol(f"atleast_{ndim}d", returns="argument")
    def widened(input: Any) -> TensorProxy:
        """With at least so many dimensions."""
        tensor_only(input)
        return widen(input)


for _ndim in (1, 2, 3):
    _widening(_ndim)


@torchsymbol("flip")
def flip(input: Any, *axes: Any, dims: Any = None) -> TensorProxy:
    """Reversed along dimensions."""
    along = integers(axes if dims is None else (dims,))
    return clang.flip(input, [dimension(input.ndim, d) for d in along] if input.ndim else [])


@torchsymbol("fliplr")
def fliplr(input: Any) -> TensorProxy:
    """Reversed along the second dimension."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return clang.flip(input, [1])


@torchsymbol("flipud")
def flipud(input: Any) -> TensorProxy:
    """Reversed along the first dimension."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return clang.flip(input, [0])


@torchsymbol("roll")
def roll(input: Any, shifts: Any, dims: Any = None) -> TensorProxy:
    """Shifted along dimensions, what leaves at one end coming in at the other."""
    amounts = extents((shifts,))
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(amounts) != 1:
            raise RuntimeError("shifts and dimensions must align")
        return clang.reshape(_rolled(clang.reshape(input, (math.prod(input.shape),)), amounts[0], 0), input.shape)
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dims} but tensor has no dimensions")
    along = [dimension(input.ndim, d) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))]
    if len(along) != len(amounts):
        raise RuntimeError("shifts and dimensions must align")
    for n, d in zip(amounts, along):
        input = _rolled(input, n, d)
    return input


def _rolled(a: TensorProxy, shift: Any, dim: int) -> TensorProxy:
    (n,) = sizes.extents(a.shape[dim : dim + 1], "roll") if a.ndim else (0,)
    at = sizes.modulo(-shift, n) if n else 0
    if at == 0:
        return a
    return prims.concatenate([sliced(a, dim, at, n), sliced(a, dim, 0, at)], dim)


@torchsymbol("rot90", row_major=False)
def rot90(input: Any, k: Any = 1, dims: Any = (0, 1)) -> TensorProxy:
    """Rotated by quarter turns in a plane."""
    i, j = (dimension(input.ndim, d) for d in dims)
    if i == j or input.ndim < 2:
        raise RuntimeError("expected rotation dims to be different")
    turns = static_int(k) % 4
    turned = clang.flip(input, {0: (), 1: (j,), 2: (i, j), 3: (i,)}[turns])
    order = list(range(input.ndim))
    if turns % 2:
        order[i], order[j] = j, i
    return prims.transpose(turned, order)


@torchsymbol(Tensor.repeat)
def repeat(input: Any, *sizes: Any) -> TensorProxy:
    """Repeated as a whole along each dimension."""
    counts = shape_argument(sizes)
    new = len(counts) - input.ndim
    if new < 0 or any(type(n) is int and n < 0 for n in counts):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    lengths = (*(1,) * new, *input.shape)
    spread = tuple(x for n in lengths for x in (1, n))
    wide = clang.broadcast_to(clang.reshape(input, spread), tuple(x for c, n in zip(counts, lengths) for x in (c, n)))
    return clang.reshape(wide, tuple(c * n for c, n in zip(counts, lengths)))


@torchsymbol("tile")
def tile(input: Any, *repeats: Any, dims: Any = None) -> TensorProxy:
    """Repeated as a whole; missing counts are 1."""
    counts = shape_argument(repeats if dims is None else (dims,))
    return repeat(input, *(1,) * (input.ndim - len(counts)), *counts)


@torchsymbol("tril")
def tril(input: Any, diagonal: Any = 0) -> TensorProxy:
    """Zeros above a diagonal."""
    return _triangle(input, diagonal, clang.ge)


@torchsymbol("triu")
def triu(input: Any, diagonal: Any = 0) -> TensorProxy:
    """Zeros below a diagonal."""
    return _triangle(input, diagonal, clang.le)


def _triangle(a: TensorProxy, k: Any, compare: Any) -> TensorProxy:
    if a.ndim < 2:
        raise RuntimeError("input tensor must have at least 2 dimensions")
    rows, columns = a.shape[-2:]
    first = size_or_int(k)
    at = prims.iota(rows, start=first if type(first) is int else 0, device=a.device, dtype=dtypes.int64)
    i = clang.expand_dims(at if type(first) is int else clang.add(at, first), (1,))
    j = clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,))
    kept = clang.broadcast_to(compare(i, j), a.shape)
    return clang.where(kept, a, clang.full((), 0, dtype=a.dtype))


@torchsymbol("column_stack")
def column_stack(tensors: Any) -> TensorProxy:
    """Vectors as the columns of a matrix, and matrices side by side."""
    tensor_only(*tensors)
    arrays = [clang.reshape(x, (math.prod(x.shape), 1)) if x.ndim < 2 else x for x in tensors]
    if not arrays:
        raise NeedsOpaque("nothing to join")
    _joined_dtype(arrays)
    return prims.concatenate(arrays, 1) if len(arrays) > 1 else arrays[0]


@torchsymbol(torch.nn.functional.pixel_shuffle)
def pixel_shuffle(input: Any, upscale_factor: Any) -> TensorProxy:
    """Channels as pixels."""
    r = static_int(upscale_factor)
    if input.ndim < 3 or r < 1 or input.shape[-3] % (r * r):
        raise NeedsOpaque("channels that do not divide")
    *batch, c, h, w = input.shape
    k = len(batch)
    wide = clang.reshape(input, (*batch, c // (r * r), r, r, h, w))
    moved = prims.transpose(wide, [*range(k), k, k + 3, k + 1, k + 4, k + 2])
    return clang.reshape(moved, (*batch, c // (r * r), h * r, w * r))


@torchsymbol(torch.nn.functional.pixel_unshuffle)
def pixel_unshuffle(input: Any, downscale_factor: Any) -> TensorProxy:
    """Pixels as channels."""
    r = static_int(downscale_factor)
    if input.ndim < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise NeedsOpaque("pixels that do not divide")
    *batch, c, h, w = input.shape
    k = len(batch)
    wide = clang.reshape(input, (*batch, c, h // r, r, w // r, r))
    moved = prims.transpose(wide, [*range(k), k, k + 2, k + 4, k + 1, k + 3])
    return clang.reshape(moved, (*batch, c * r * r, h // r, w // r))


@torchsymbol(torch.nn.functional.channel_shuffle)
def channel_shuffle(input: Any, groups: Any) -> TensorProxy:
    """Channels of groups taken in turn."""
    g = static_int(groups)
    if input.ndim < 3 or g < 1 or input.shape[1] % g or 0 in input.shape:
        raise NeedsOpaque("channels that do not divide")
    n, c, *rest = input.shape
    wide = clang.reshape(input, (n, g, c // g, *rest))
    order = [0, 2, 1, *range(3, wide.ndim)]
    return clang.reshape(prims.transpose(wide, order), input.shape)


@torchsymbol(torch._C._nn.pad_sequence, name="nn.utils.rnn.pad_sequence")
def pad_sequence(
    sequences: Any, batch_first: Any = False, padding_value: Any = 0.0, padding_side: Any = "right"
) -> TensorProxy:
    """Tensors of several lengths side by side, filled up to the length of the longest."""
    if not isinstance(sequences, (tuple, list)) or not sequences or known(padding_side) not in ("right", "left"):
        raise NeedsOpaque("sequences that are no list")
    tensor_only(*sequences)
    first = sequences[0]
    if any(x.ndim == 0 or x.shape[1:] != first.shape[1:] or x.dtype is not first.dtype for x in sequences):
        raise NeedsOpaque("sequences that differ in more than their length")
    length = max(x.shape[0] for x in sequences)
    rows = []
    for x in sequences:
        missing = length - x.shape[0]
        ends = (missing, 0, 0) if known(padding_side) == "left" else (0, missing, 0)
        rows.append(prims.pad(x, padding_value, [ends, *[(0, 0, 0)] * (x.ndim - 1)]) if missing else x)
    return clang.stack(rows, 0 if known(batch_first) else 1)
