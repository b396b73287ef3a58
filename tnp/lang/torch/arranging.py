"""Tensors composed of others: padding, diagonals, tensors with parts replaced, copies of views."""

from __future__ import annotations

import inspect
import math
from typing import Any

import torch

from tnp.core import clang, devices, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.torch.creation import check_plain
from tnp.lang.torch.dtypes import default_dtype, dtype_or, result_dtype
from tnp.lang.torch.indexing import lined, not_negative, nothing_of
from tnp.lang.torch.operands import (
    as_tensor,
    dimension,
    extent,
    extents,
    known,
    real_only,
    size_or_int,
    static_int,
    tensor_only,
)
from tnp.lang.torch.registry import symbol_of, torchsymbol
from tnp.lang.torch.shape import bounds

__all__: list[str] = []


# Copies of views

#: functions that return views, of which torch has a variant that copies
_COPIED = (
    "diagonal", "detach", "expand", "permute", "select", "slice", "squeeze", "t", "transpose", "unfold", "unsqueeze", "view",
    "unbind", "split", "split_with_sizes", "narrow",
)  # fmt: skip


def _copy_of(name: str, view: Symbol) -> None:
    function = view.meta.__wrapped__

    def copy(*args: Any, **kwargs: Any) -> Any:
        """What the function of that name shows, in memory of its own."""
        return function(*args, **kwargs)

    copy.__signature__ = inspect.signature(function)
    copy.__name__ = f"{name}_copy"
    torchsymbol(getattr(torch, f"{name}_copy"))(copy)


for _name in _COPIED:
    _view = symbol_of(getattr(torch, _name, None)) or symbol_of(getattr(torch.Tensor, _name, None))
    if _view is not None and hasattr(torch, f"{_name}_copy"):
        _copy_of(_name, _view)


@torchsymbol("alias_copy")
def alias_copy(input: Any) -> TensorProxy:
    """A copy."""
    tensor_only(input)
    return prims.clone(input)


# Padding and repeating


def _padded(input: Any, pad: Any, value: Any) -> TensorProxy:
    tensor_only(input)
    widths = extents((pad,))
    if len(widths) % 2 or len(widths) > 2 * input.ndim:
        raise RuntimeError("Padding length must be divisible by 2 and at most twice the number of dimensions")
    pairs = list(zip(widths[::2], widths[1::2]))[::-1]
    config = [(0, 0, 0)] * (input.ndim - len(pairs)) + [(a, b, 0) for a, b in pairs]
    lengths = sizes.extents(input.shape, "pad")
    if any(n + a + b < 0 or a < -n or b < -n for n, (a, b, _) in zip(lengths, config)):
        raise NeedsOpaque("padding that leaves less than nothing")
    if isinstance(value, TensorProxy) or (input.dtype.kind in "biu" and type(value) is float and value != int(value)):
        raise NeedsOpaque("a value of another kind")
    fill = 0 if value is None else bool(value) if input.dtype.kind == "b" else value
    config = [tuple(map(symbols.number_of, part)) for part in config]
    return prims.pad(input, int(fill) if input.dtype.kind in "iu" else fill, config)


def _reflected(a: TensorProxy, kept: TensorProxy, d: int, before: Any, after: Any) -> list[TensorProxy]:
    (n,) = sizes.extents((a.shape[d],), "pad")
    if before >= n or after >= n:
        raise NeedsOpaque("a border wider than the tensor")
    edges = [clang.slice_dim(a, *at, dim=d) for at in ((1, before + 1), (n - 1 - after, n - 1))]
    return [prims.flip(edges[0], (d,)), kept, prims.flip(edges[1], (d,))]


def _wrapped(a: TensorProxy, kept: TensorProxy, d: int, before: Any, after: Any) -> list[TensorProxy]:
    (n,) = sizes.extents((kept.shape[d],), "pad")
    if before > n or after > n:
        raise NeedsOpaque("a border wider than the tensor")
    return [clang.slice_dim(kept, n - before, n, dim=d), kept, clang.slice_dim(kept, 0, after, dim=d)]


def _replicated(a: TensorProxy, kept: TensorProxy, d: int, before: Any, after: Any) -> list[TensorProxy]:
    def repeated(at: Any, times: Any) -> TensorProxy:
        edge = clang.slice_dim(a, at, at + 1, dim=d)
        return clang.broadcast_to(edge, symbols.dimensions(times if i == d else m for i, m in enumerate(edge.shape)))

    (n,) = sizes.extents((a.shape[d],), "pad")
    return [repeated(0, before), kept, repeated(n - 1, after)]


#: what stands before and behind those elements of a dimension that are kept, which stand between
_BORDERS = {"reflect": _reflected, "circular": _wrapped, "replicate": _replicated}


def _bordered(input: Any, widths: tuple[Any, ...], mode: str) -> TensorProxy:
    """A border made of the tensor's own elements."""
    tensor_only(input)
    k = len(widths) // 2
    if len(widths) % 2 or not 1 <= k <= 3 or input.ndim not in (k + 1, k + 2) or input.dtype.kind not in "biuf":
        raise NeedsOpaque("a border that torch refuses")
    if 0 in input.shape[input.ndim - k - 1 :]:
        raise NeedsOpaque("a border of nothing")
    a = input
    for i in range(k):
        d, (before, after) = a.ndim - 1 - i, widths[2 * i : 2 * i + 2]
        (n,) = sizes.extents((a.shape[d],), "pad")
        if before < -n or after < -n or n + before + after < 1:
            raise NeedsOpaque("a border that leaves nothing")
        kept = clang.slice_dim(a, max(-before, 0), max(n - max(-after, 0), 0), dim=d)
        parts = _BORDERS[mode](a, kept, d, max(before, 0), max(after, 0))
        a = prims.concatenate([p for p in parts if p.shape[d]], d)
    return a


@torchsymbol(torch.nn.functional.pad)
def pad(input: Any, pad: Any, mode: Any = "constant", value: Any = None) -> TensorProxy:
    """A constant, by default 0, or elements of the tensor, around the last dimensions."""
    if mode in _BORDERS:
        return _bordered(input, extents((pad,)), mode)
    if mode != "constant" or (value is not None and not is_number(value)):
        raise NeedsOpaque("a value that is no number")
    return _padded(input, pad, value if value is None or type(value) in (bool, int, float) else value.known())


@torchsymbol("constant_pad_nd")
def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> TensorProxy:
    """A constant around the last dimensions."""
    return _padded(input, pad, value if type(value) in (bool, int, float) else value.known())


@torchsymbol("repeat_interleave")
def repeat_interleave(input: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> TensorProxy:
    """Each element repeated in place."""
    tensor_only(input)
    if isinstance(repeats, TensorProxy) or extent(repeats) < 0:
        raise NeedsOpaque("counts that are values")
    a = clang.reshape(input, (-1,)) if dim is None else input
    if a.ndim == 0 or 0 in a.shape:
        raise NeedsOpaque("repeats of nothing")
    return clang.repeat_dim(a, symbols.as_dimension(size_or_int(repeats)), 0 if dim is None else dimension(a.ndim, dim))


@torchsymbol("block_diag")
def block_diag(*tensors: Any) -> TensorProxy:
    """Matrices along the diagonal of one."""
    tensor_only(*tensors)
    blocks = [clang.reshape(x, (1, *x.shape) if x.ndim == 1 else (1, 1) if x.ndim == 0 else x.shape) for x in tensors]
    if any(b.ndim != 2 or 0 in b.shape or b.dtype is not blocks[0].dtype for b in blocks):
        raise NeedsOpaque("blocks that are no matrices")
    columns = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        rows.append(prims.pad(b, 0, [(0, 0, 0), (start, columns - start - b.shape[1], 0)]))
        start += b.shape[1]
    return prims.concatenate(rows, 0)


@torchsymbol("meshgrid", returns="view")
def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[TensorProxy, ...]:
    """The coordinates of a grid's points."""
    arrays = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    tensor_only(*arrays)
    if (
        indexing not in (None, "ij", "xy")
        or any(a.ndim > 1 or a.dtype is not arrays[0].dtype for a in arrays)
        or not arrays
    ):
        raise NeedsOpaque("a grid of other arrays")
    lines = [clang.reshape(a, (1,)) if a.ndim == 0 else a for a in arrays]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    shape = tuple(lines[i].shape[0] for i in order)
    return tuple(prims.broadcast_in_dim(x, shape, (order.index(i),)) for i, x in enumerate(lines))


@torchsymbol("kron")
def kron(input: Any, other: Any) -> TensorProxy:
    """Every element of one times the whole of the other."""
    tensor_only(input, other)
    rank = max(input.ndim, other.ndim)
    if input.dtype is not other.dtype or rank == 0 or 0 in (*input.shape, *other.shape):
        raise NeedsOpaque("a product of two dtypes")
    shapes_ = [(*(1,) * (rank - x.ndim), *x.shape) for x in (input, other)]
    a = clang.reshape(input, tuple(m for n in shapes_[0] for m in (n, 1)))
    b = clang.reshape(other, tuple(m for n in shapes_[1] for m in (1, n)))
    return clang.reshape(clang.mul(a, b), tuple(n * m for n, m in zip(*shapes_)))


@torchsymbol("cartesian_prod")
def cartesian_prod(*tensors: Any) -> TensorProxy:
    """Every choice of one element of each line, a row each."""
    tensor_only(*tensors)
    if any(x.ndim != 1 or x.dtype is not tensors[0].dtype for x in tensors) or len(tensors) < 2:
        raise NeedsOpaque("what are no lines of one dtype, or a single line, which is itself the result")
    shape = tuple(x.shape[0] for x in tensors)
    grids = [prims.broadcast_in_dim(x, shape, (i,)) for i, x in enumerate(tensors)]
    return clang.stack([clang.reshape(g, (math.prod(shape),)) for g in grids], 1)


# Diagonals


def _embedded(a: TensorProxy, offset: int) -> TensorProxy:
    """Vectors as the diagonals of matrices."""
    n = a.shape[-1] + abs(offset)
    low = (max(offset, 0), n - a.shape[-1] - max(offset, 0), 0)
    wide = prims.pad(a, 0, [(0, 0, 0)] * (a.ndim - 1) + [low])
    i = clang.expand_dims(prims.iota(n, start=offset, device=a.device, dtype=dtypes.int64), (1,))
    on = clang.eq(i, clang.expand_dims(clang.arange(n, dtype=dtypes.int64), (0,)))
    rows = clang.broadcast_to(clang.expand_dims(wide, (-2,)), (*wide.shape[:-1], n, n))
    return clang.where(clang.broadcast_to(on, rows.shape), rows, clang.full((), 0, dtype=a.dtype))


@torchsymbol("diag_embed")
def diag_embed(input: Any, offset: Any = 0, dim1: Any = -2, dim2: Any = -1) -> TensorProxy:
    """Vectors as the diagonals of matrices."""
    tensor_only(input)
    if input.ndim == 0 or 0 in input.shape:
        raise NeedsOpaque("a diagonal of nothing")
    rows, columns = (dimension(input.ndim + 1, d) for d in (dim1, dim2))
    if rows == columns:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return clang.moveaxis(_embedded(input, static_int(offset)), (-2, -1), (rows, columns))


@torchsymbol("diag")
def diag(input: Any, diagonal: Any = 0) -> TensorProxy:
    """The matrix of a diagonal, or the diagonal of a matrix."""
    tensor_only(input)
    if input.ndim == 1 and 0 not in input.shape:
        return _embedded(input, static_int(diagonal))
    if input.ndim != 2:
        raise NeedsOpaque("a diagonal of other ranks")
    return prims.diagonal(input, static_int(diagonal), 0, 1)


@torchsymbol("diagflat")
def diagflat(input: Any, offset: Any = 0) -> TensorProxy:
    """The matrix whose diagonal the elements are."""
    tensor_only(input)
    if 0 in input.shape:
        raise NeedsOpaque("a diagonal of nothing")
    return _embedded(clang.reshape(input, (-1,)), static_int(offset))


# Parts replaced


def _replaced(input: TensorProxy, new: TensorProxy, dim: int, start: Any, step: int = 1) -> TensorProxy:
    starts, strides = [0] * input.ndim, [1] * input.ndim
    starts[dim], strides[dim] = symbols.number_of(start), step
    return prims.slice_update(input, new, starts, strides)


@torchsymbol("select_scatter")
def select_scatter(input: Any, src: Any, dim: Any, index: Any) -> TensorProxy:
    """The tensor with one position of a dimension replaced."""
    tensor_only(input, src)
    d, at = dimension(input.ndim, dim), extent(index)
    (n,) = sizes.extents(input.shape[d : d + 1], "select_scatter")
    if src.dtype is not input.dtype or src.shape != (*input.shape[:d], *input.shape[d + 1 :]) or 0 in input.shape:
        raise NeedsOpaque("a part of another dtype")
    if not -n <= at < n:
        raise IndexError(f"index {at} out of range")
    return _replaced(input, clang.expand_dims(src, (d,)), d, at + n if at < 0 else at)


@torchsymbol("diagonal_scatter")
def diagonal_scatter(input: Any, src: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> TensorProxy:
    """The tensor with a diagonal of planes replaced."""
    tensor_only(input, src)
    k, dims = static_int(offset), tuple(dimension(input.ndim, d) for d in (dim1, dim2))
    if src.dtype is not input.dtype or dims[0] == dims[1] or 0 in (*input.shape, *src.shape):
        raise NeedsOpaque("a diagonal of another dtype")
    planes = clang.moveaxis(input, dims, (-2, -1))
    rows, columns = planes.shape[-2:]
    above, n = max(-k, 0), min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    if src.shape != (*planes.shape[:-2], n):
        raise RuntimeError("expected src to have a size equal to the slice of self")
    i = clang.expand_dims(prims.iota(rows, start=k, device=input.device, dtype=dtypes.int64), (1,))
    on = clang.eq(i, clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,)))
    lines = prims.pad(src, 0, [(0, 0, 0)] * (src.ndim - 1) + [(above, rows - n - above, 0)])
    replaced = clang.where(on, clang.broadcast_to(clang.expand_dims(lines, (-1,)), planes.shape), planes)
    return clang.moveaxis(replaced, (-2, -1), dims)


@torchsymbol("slice_scatter")
def slice_scatter(input: Any, src: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1) -> TensorProxy:
    """The tensor with a slice of a dimension replaced."""
    tensor_only(input, src)
    d, by = dimension(input.ndim, dim), static_int(step)
    first, last = bounds(start, end, input.shape[d])
    n = symbols.number_of(-(-(last - first) // by) if by > 0 else 0)
    if (
        src.dtype is not input.dtype
        or n <= 0
        or not sizes.shapes_equal(src.shape, (*input.shape[:d], n, *input.shape[d + 1 :]))
    ):
        raise NeedsOpaque("a part of another dtype or shape")
    return _replaced(input, src, d, first, by)


@torchsymbol("index_fill", tags=(OpTags.MAY_RAISE,))
def index_fill(input: Any, dim: Any, index: Any, value: Any) -> TensorProxy:
    """The tensor with positions of a dimension set to a value."""
    tensor_only(input, index)
    if index.ndim != 1 or input.dtype.kind not in "biuf" or 0 in index.shape:
        raise NeedsOpaque("positions of nothing")
    is_number_fitting = is_number(value) and result_dtype(input, value) is input.dtype
    if not is_number_fitting and getattr(value, "ndim", 1):
        raise NeedsOpaque("a value of another kind")
    (a,) = lined(input)
    d = dimension(a.ndim, dim)
    moved = clang.moveaxis(a, (d,), (0,))
    new = clang.broadcast_to(as_tensor(value, input.dtype), (index.shape[0], *moved.shape[1:]))
    return clang.reshape(clang.moveaxis(prims.index_put(moved, [index], new, False), (0,), (d,)), input.shape)


def _index_update(name: str, accumulate: bool) -> None:
    @torchsymbol(name, tags=(OpTags.MAY_RAISE,))
    def update(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> TensorProxy:
        """The tensor with positions of a dimension replaced by, or increased by, those of another."""
        tensor_only(input, index, source)
        factor = known(alpha)
        if source.dtype is not input.dtype or input.dtype.kind not in "bif":
            raise NeedsOpaque("a source of another dtype")
        if type(factor) not in {"b": (bool,), "i": (int,), "f": (int, float)}[input.dtype.kind] and factor != 1:
            raise NeedsOpaque("a factor of another kind")
        a, source = lined(input, source)
        d = dimension(a.ndim, dim)
        if index.ndim != 1 or source.shape != (*a.shape[:d], index.shape[0], *a.shape[d + 1 :]) or 0 in source.shape:
            raise NeedsOpaque("a source of another shape")
        if factor != 1:
            source = clang.mul(source, factor)
        moved, new = (clang.moveaxis(x, (d,), (0,)) for x in (a, source))
        made = clang.moveaxis(prims.index_put(moved, [not_negative(index)], new, accumulate), (0,), (d,))
        return clang.reshape(made, input.shape)


_index_update("index_add", True)
_index_update("index_copy", False)


@torchsymbol("take", tags=(OpTags.MAY_RAISE,))
def take(input: Any, index: Any) -> TensorProxy:
    """Elements at positions of the flattened tensor."""
    tensor_only(input, index)
    if index.dtype is not dtypes.int64 or (0 in input.shape and 0 not in index.shape):
        raise NeedsOpaque("positions in nothing")
    if 0 in index.shape:
        return nothing_of(input, index.shape)
    return prims.take(clang.reshape(input, (-1,)), index, 0)


# Ranges


def _is_of_sizes(x: Any) -> bool:
    return isinstance(x, NumberProxy) and x.relations is not None


@torchsymbol(torch.linspace, factory=True)
def linspace(start: Any, end: Any, steps: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: Any = False) -> TensorProxy:  # fmt: skip
    """``steps`` numbers from ``start`` to ``end``, both included."""
    check_plain(device, layout, requires_grad)
    wanted, n = dtype_or(dtype, default_dtype()), symbols.as_dimension(size_or_int(steps))
    real_only(start, end)
    if wanted.kind not in "if" or wanted.bits == 16 or n < 0:
        raise NeedsOpaque("bounds that are values")
    first, last = (x if wanted.kind == "f" and _is_of_sizes(x) else known(x) for x in (start, end))
    if wanted.kind == "i":
        return clang.convert(_whole_steps(int(first), int(last), n), wanted)
    if n < 2:
        return clang.full((n,), first, dtype=wanted)
    step = (last - first) / (n - 1)
    rising = prims.iota(n, start=first * 1.0, step=step, device=devices.current(), dtype=wanted)
    falling = prims.iota(n, start=last - step * (n - 1), step=step, device=devices.current(), dtype=wanted)
    early = clang.lt(clang.arange(n, dtype=dtypes.int64), n // 2)
    return clang.where(early, rising, falling)


def _whole_steps(first: int, last: int, n: int) -> TensorProxy:
    """The numbers that :func:`linspace` of integers rounds towards zero, in float64, from the nearer end."""
    if n < 2:
        return clang.full((n,), float(first), dtype=dtypes.float64)
    step = (last - first) / (n - 1)
    i = clang.arange(n, dtype=dtypes.int64)
    way = [clang.mul(clang.convert(x, dtypes.float64), step) for x in (i, clang.sub(clang.full_like(i, n - 1), i))]
    ends = [clang.full_like(way[0], float(x)) for x in (first, last)]
    return clang.where(clang.lt(i, n // 2), clang.add(ends[0], way[0]), clang.sub(ends[1], way[1]))


def _triangle_indices(name: str, below: bool) -> None:
    @torchsymbol(getattr(torch, name), factory=True)
    def indices(row: Any, col: Any, offset: Any = 0, *, dtype: Any = torch.long, device: Any = None,
                layout: Any = None) -> TensorProxy:  # fmt: skip
        """The positions of a triangle, row by row."""
        check_plain(device, layout)
        rows, columns, k = size_or_int(row), size_or_int(col), size_or_int(offset)
        wanted = dtype_or(dtype, dtypes.int64)
        if rows < 0 or columns < 0 or wanted.kind != "i":
            raise NeedsOpaque("sizes below zero")
        i, j = clang.arange(rows, dtype=dtypes.int64), clang.arange(columns, dtype=dtypes.int64)
        i = clang.add(clang.broadcast_to(clang.expand_dims(i, (1,)), (rows, columns)), k)
        j = clang.broadcast_to(j, (rows, columns))
        if not sizes.is_known((rows, columns, k)):
            found = prims.nonzero((clang.ge if below else clang.le)(i, j))
            return clang.convert(clang.stack(found, 0), wanted)
        count = sum(max(0, min(columns, r + k + 1) if below else columns - max(0, r + k)) for r in range(rows))
        if count == 0:
            return clang.full((2, 0), 0, dtype=wanted)
        found = prims.nonzero((clang.ge if below else clang.le)(i, j))
        return clang.convert(clang.stack([clang.slice_dim(x, 0, count, dim=0) for x in found], 0), wanted)


_triangle_indices("tril_indices", True)
_triangle_indices("triu_indices", False)


@torchsymbol(torch.nn.functional.one_hot, tags=(OpTags.MAY_RAISE,))
def one_hot(tensor: Any, num_classes: Any = -1) -> TensorProxy:
    """A one at the place of each class, zeros elsewhere; how many classes there are must be given."""
    tensor_only(tensor)
    n = symbols.as_dimension(size_or_int(num_classes))
    if n < 1 or tensor.dtype is not dtypes.int64 or 0 in tensor.shape:
        raise NeedsOpaque("classes that are counted")
    safe = not_negative(tensor, below=n)
    classes = clang.arange(n, dtype=dtypes.int64)
    return clang.convert(clang.eq(*clang.broadcast(clang.expand_dims(safe, (-1,)), classes)), dtypes.int64)
