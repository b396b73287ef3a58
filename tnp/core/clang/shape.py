"""Shape functions of the core language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tnp.core import prims, sizes, symbols
from tnp.core.clang.base import clangop
from tnp.core.prims.base import canonicalize_dim, canonicalize_dims, check
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import Dim, Shape

__all__ = [
    "broadcast",
    "broadcast_to",
    "concatenate",
    "contiguous",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "repeat_dim",
    "reshape",
    "slice_dim",
    "squeeze",
    "stack",
    "transpose",
    "unfold",
]


def broadcast_to(a: TensorProxy, shape: Sequence[Dim]) -> TensorProxy:
    """``a`` broadcast to ``shape``; itself if it has it. Raises ``ValueError`` if it does not fit."""
    shape = symbols.dimensions(shape)
    if sizes.shapes_equal(a.shape, shape):
        return a
    check(
        len(shape) >= a.ndim,
        lambda: f"cannot broadcast {sizes.show(a.shape)} to {sizes.show(shape)}, which has fewer dimensions",
    )
    return prims.broadcast_in_dim(a, shape, tuple(range(len(shape) - a.ndim, len(shape))))  # type: ignore[no-any-return]


def broadcast(*arrays: TensorProxy) -> list[TensorProxy]:
    """The arrays in the shape that they broadcast to."""
    first = arrays[0].shape
    for a in arrays:
        if not sizes.shapes_equal(a.shape, first):
            break
    else:
        return list(arrays)
    shape = sizes.broadcast(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


@clangop(method_name="reshape")
def reshape(a: TensorProxy, shape: Sequence[Dim]) -> TensorProxy:
    """``a`` in another shape, one dimension of which may be -1; itself if it has it."""
    shape = symbols.dimensions(shape)
    unknown = [i for i, d in enumerate(shape) if type(d) is int and d == -1]
    check(len(unknown) <= 1, lambda: "can only specify one unknown dimension")
    if unknown:
        (at,) = unknown
        rest = sizes.product(shape[:at] + shape[at + 1 :])
        total = a.numel
        if type(rest) is int and type(total) is int:
            check(
                rest != 0 and total % rest == 0 if rest else False,
                lambda: f"cannot reshape array of size {total} into shape {sizes.show(shape)}",
            )
            length: Dim = total // rest
        elif type(rest) is int and rest == 1:
            length = total
        else:
            length = cast("Any", total) // rest
        shape = (*shape[:at], length, *shape[at + 1 :])
    if sizes.shapes_equal(a.shape, shape):
        return a
    return prims.reshape(a, shape)  # type: ignore[no-any-return]


@clangop(method_name="transpose")
def transpose(a: TensorProxy, permutation: Sequence[int]) -> TensorProxy:
    """Dimensions rearranged; itself if they stay."""
    permutation = tuple(canonicalize_dim(a.ndim, d) for d in permutation)
    return a if permutation == tuple(range(a.ndim)) else prims.transpose(a, permutation)


def matrix_transpose(a: TensorProxy) -> TensorProxy:
    """The last two dimensions swapped."""
    return transpose(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))


def moveaxis(a: TensorProxy, source: Sequence[int], destination: Sequence[int]) -> TensorProxy:
    """Dimensions ``source`` moved to the positions ``destination``, the others in order around them."""
    source = canonicalize_dims(a.ndim, source)
    destination = canonicalize_dims(a.ndim, destination)
    order = [d for d in range(a.ndim) if d not in source]
    for to, of in sorted(zip(destination, source)):
        order.insert(to, of)
    return transpose(a, order)


def expand_dims(a: TensorProxy, dims: Sequence[int]) -> TensorProxy:
    """With dimensions of length 1 at the positions ``dims`` of the result."""
    rank = a.ndim + len(dims)
    new = canonicalize_dims(rank, dims)
    if not new:
        return a
    kept = [d for d in range(rank) if d not in new]
    lengths = iter(a.shape)
    shape: Shape = tuple(1 if d in new else next(lengths) for d in range(rank))
    return prims.broadcast_in_dim(a, shape, kept)  # type: ignore[no-any-return]


def squeeze(a: TensorProxy, dims: Sequence[int]) -> TensorProxy:
    """Without the dimensions ``dims``, of length 1."""
    dims = canonicalize_dims(a.ndim, dims)
    return prims.squeeze(a, dims) if dims else a


def flip(a: TensorProxy, dims: Sequence[int]) -> TensorProxy:
    """Reversed along ``dims``."""
    dims = canonicalize_dims(a.ndim, dims)
    return prims.flip(a, dims) if dims else a


def slice_dim(a: TensorProxy, start: Any, stop: Any, stride: int = 1, *, dim: int) -> TensorProxy:
    """``a[start:stop:stride]`` along one dimension, bounds within it, which symbolic sizes may be part of."""
    start, stop = symbols.number_of(start), symbols.number_of(stop)
    if not all(map(sizes.is_known, (a.shape, (start, stop)))) and symbols.extents((*a.shape, start, stop)) is not None:
        made: TensorProxy = prims.dynamic_slice(a, dim, start, stop, stride)
        return made
    starts = [0] * a.ndim
    stops = [sizes.bound(n) for n in a.shape]
    strides = [1] * a.ndim
    starts[dim], stops[dim], strides[dim] = start, stop, stride
    return prims.slice(a, starts, stops, strides)  # type: ignore[no-any-return]


def concatenate(arrays: Sequence[TensorProxy], dim: int) -> TensorProxy:
    """The arrays, of one dtype, joined along ``dim``."""
    check(len(arrays) > 0, lambda: "need at least one array to concatenate")
    return prims.concatenate(list(arrays), canonicalize_dim(arrays[0].ndim, dim))  # type: ignore[no-any-return]


def stack(arrays: Sequence[TensorProxy], dim: int) -> TensorProxy:
    """The arrays, of one shape and dtype, along a new dimension."""
    return concatenate([expand_dims(a, (dim,)) for a in arrays], dim)


def repeat_dim(a: TensorProxy, count: Dim, dim: int) -> TensorProxy:
    """Each element along ``dim`` repeated ``count`` times in place."""
    wide = expand_dims(a, (dim + 1,))
    wide = broadcast_to(wide, (*a.shape[: dim + 1], count, *a.shape[dim + 1 :]))
    return reshape(wide, (*a.shape[:dim], sizes.product((a.shape[dim], count)), *a.shape[dim + 1 :]))


@clangop(method_name="unfold")
def unfold(a: TensorProxy, dim: int, size: int, step: int) -> TensorProxy:
    """Windows of ``size`` elements along ``dim``, ``step`` apart, as a new last dimension."""
    return prims.unfold(a, dim, size, step)  # type: ignore[no-any-return]


@clangop(method_name="contiguous")
def contiguous(a: TensorProxy) -> TensorProxy:
    """``a`` in row-major memory."""
    return prims.stride_order(a, tuple(reversed(range(a.ndim))))  # type: ignore[no-any-return]
