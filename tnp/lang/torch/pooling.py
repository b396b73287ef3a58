"""Image windows: pooling, transposed convolutions, and unfolding of images to columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, Symbol
from tnp.lang.torch.activations import floating
from tnp.lang.torch.linear_algebra import convolved, each
from tnp.lang.torch.operands import extent, known, static_int
from tnp.lang.torch.reductions import reduced
from tnp.lang.torch.registry import language, torchsymbol

__all__ = ["largest_in_windows"]


def _strides(stride: Any, kernel: tuple[Any, ...]) -> tuple[Any, ...]:
    return kernel if stride is None or stride == [] or stride == () else each(stride, len(kernel), extent)


def _batched(input: Any, rank: int) -> TensorProxy:
    """``[n, c, *spatial]``, of which there may be no ``n``."""
    floating(input)
    if input.ndim not in (rank + 1, rank + 2) or 0 in input.shape:
        raise NeedsOpaque("an input of another rank")
    return input if input.ndim == rank + 2 else clang.expand_dims(input, (0,))


def _count(n: Any, width: Any, stride: Any, padding: int, ceil_mode: bool) -> Any:
    """The number of windows; in ``ceil_mode`` one may reach over the end, if it begins before it."""
    over = n + 2 * padding - width
    if not ceil_mode:
        return over // stride + 1
    count = -(-over // stride) + 1
    return count - 1 if (count - 1) * stride >= n + padding else count


def windows(
    a: TensorProxy, kernel: Sequence[Any], stride: Sequence[Any], padding: Sequence[int], dilation: Sequence[int], value: Any,
    ceil_mode: bool = False,
) -> TensorProxy:  # fmt: skip
    """``[n, c, *positions, *kernel]``: the windows of ``[n, c, *spatial]``, padded with ``value``."""
    config, counts = [(0, 0, 0), (0, 0, 0)], []
    for n, k, s, p, d in zip(sizes.extents(a.shape[2:], "pooling"), kernel, stride, padding, dilation):
        width = (k - 1) * d + 1
        if k <= 0 or s <= 0 or d <= 0 or n + 2 * p < width:
            raise NeedsOpaque("windows larger than the input")
        counts.append(_count(n, width, s, p, ceil_mode))
        # ``max`` asks whether the second is larger, which it surely is not without ``ceil_mode``.
        after = max(0 if ceil_mode else p, (counts[-1] - 1) * s + width - n - p)
        config.append((p, symbols.number_of(after), 0))
    if any(part != (0, 0, 0) for part in config):
        a = prims.pad(a, value, config)
    for i, (k, s, d, count) in enumerate(zip(kernel, stride, dilation, counts)):
        a = prims.unfold(a, i + 2, symbols.number_of((k - 1) * d + 1), symbols.number_of(s))
        (found,) = sizes.extents(a.shape[i + 2 : i + 3], "pooling")
        if count < found:
            a = clang.slice_dim(a, 0, count, dim=i + 2)
        if d > 1:
            a = clang.slice_dim(a, 0, a.shape[-1], d, dim=a.ndim - 1)
    return a


def _unbatched(result: TensorProxy, input: TensorProxy, rank: int) -> TensorProxy:
    return result if input.ndim == rank + 2 else clang.squeeze(result, (0,))


def _largest_in_windows(found: TensorProxy, rank: int) -> TensorProxy:
    """The largest element of each window, the last ``rank`` dimensions. The gradient is that of the first of equals."""
    return reduced(prims.amax, found, tuple(range(found.ndim - rank, found.ndim)), False)


largest_in_windows = Symbol(
    "largest_in_windows", _largest_in_windows, id="composed.largest_in_windows", language=language,
    namespace=Namespace("ltorch.pooling", "import tnp.lang.torch as ltorch"),
)  # fmt: skip


def _max_pool(rank: int) -> None:
    @torchsymbol(
        getattr(torch, f"max_pool{rank}d"), getattr(F, f"max_pool{rank}d"), name=f"nn.functional.max_pool{rank}d"
    )
    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False,
        return_indices: Any = False,
    ) -> TensorProxy:  # fmt: skip
        """The largest element of each window."""
        if return_indices:
            raise NeedsOpaque("the places of the largest elements")
        a = _batched(input, rank)
        kernel, pads = each(kernel_size, rank, extent), each(padding, rank)
        if any(2 * p > k for p, k in zip(pads, kernel)):
            raise RuntimeError("pad should be at most half of effective kernel size")
        found = windows(
            a, kernel, _strides(stride, kernel), pads, each(dilation, rank), -math.inf, bool(known(ceil_mode))
        )
        return _unbatched(largest_in_windows(found, rank), input, rank)


def _begins(count: Any, stride: Any, padding: int) -> TensorProxy:
    """Where each window begins."""
    return clang.sub(clang.mul(clang.arange(count, dtype=dtypes.int64), symbols.number_of(stride)), padding)


def _inside(n: Any, k: Any, s: Any, p: int, count: Any) -> TensorProxy:
    """How many elements that are no padding each window has."""
    begins = _begins(count, s, p)
    return clang.sub(clang.minimum(clang.add(begins, symbols.number_of(k)), n), clang.maximum(begins, 0))


def _within_padding(n: Any, k: Any, s: Any, p: int, count: Any) -> TensorProxy:
    """How many elements each window has, padding included, which the last one may reach over."""
    begins = _begins(count, s, p)
    return clang.sub(clang.minimum(clang.add(begins, symbols.number_of(k)), n + p), begins)


def _avg_pool(rank: int) -> None:
    def pooled(
        input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor: Any
    ) -> TensorProxy:
        a = _batched(input, rank)
        kernel, pads = each(kernel_size, rank, extent), each(padding, rank)
        if any(2 * p > k for p, k in zip(pads, kernel)):
            raise RuntimeError("pad should be at most half of kernel size")
        if divisor == 0:
            raise NeedsOpaque("a divisor of 0")
        steps, over = _strides(stride, kernel), bool(known(ceil_mode))
        found = windows(a, kernel, steps, pads, (1,) * rank, 0.0, over)
        total = reduced(prims.sum, found, tuple(range(rank + 2, 2 * rank + 2)), False)
        with_padding = known(count_include_pad) or not any(pads)
        if divisor is not None or (with_padding and not over):
            result = clang.div(total, symbols.number_of(math.prod(kernel)) if divisor is None else static_int(divisor))
            return _unbatched(result, input, rank)
        for i, (n, k, s, p) in enumerate(zip(a.shape[2:], kernel, steps, pads)):
            counts = (_within_padding if with_padding else _inside)(n, k, s, p, total.shape[i + 2])
            total = clang.div(total, _along(clang.convert(counts, total.dtype), i + 2, total.ndim))
        return _unbatched(total, input, rank)

    if rank == 1:

        @torchsymbol(F.avg_pool1d)
        def avg_pool(
            input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: Any = False,
            count_include_pad: Any = True,
        ) -> TensorProxy:  # fmt: skip
            """The mean of each window."""
            return pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    else:

        @torchsymbol(getattr(F, f"avg_pool{rank}d"))
        def avg_pool(
            input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: Any = False,
            count_include_pad: Any = True, divisor_override: Any = None,
        ) -> TensorProxy:  # fmt: skip
            """The mean of each window."""
            return pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _along(vector: TensorProxy, dim: int, ndim: int) -> TensorProxy:
    return clang.reshape(vector, tuple(vector.shape[0] if i == dim else 1 for i in range(ndim)))


def _ranges(n: int, count: int) -> list[tuple[int, int]]:
    """The windows of adaptive pooling, which cover all and are as long as they must."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def _adaptive(
    a: TensorProxy, dims: Iterable[int], counts: Sequence[int], reduce: Callable[[TensorProxy, int], TensorProxy]
) -> TensorProxy:
    """``reduce`` of each window, a dimension at a time, in the order of ``dims``. ``counts`` are the windows along each, the first two left out."""
    for dim in dims:
        n, count = a.shape[dim], counts[dim - 2]
        if count <= 0:
            raise NeedsOpaque("pooling to nothing")
        if n % count == 0:
            shape = (*a.shape[:dim], count, n // count, *a.shape[dim + 1 :])
            a = reduce(clang.reshape(a, shape), dim + 1)
        else:
            parts = [reduce(clang.slice_dim(a, *ends, dim=dim), dim) for ends in _ranges(n, count)]
            a = prims.concatenate([clang.expand_dims(part, (dim,)) for part in parts], dim)
    return a


def _mean(a: TensorProxy, dim: int) -> TensorProxy:
    return clang.div(prims.sum(a, (dim,)), a.shape[dim])


def _output_size(output_size: Any, a: TensorProxy, rank: int) -> tuple[int, ...]:
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * rank
    return tuple(n if w is None else static_int(w) for w, n in zip(wanted, a.shape[2:], strict=True))


def _adaptive_avg_pool(rank: int) -> None:
    functions = [getattr(F, f"adaptive_avg_pool{rank}d")]
    functions += [getattr(torch._C._nn, f"adaptive_avg_pool{rank}d")] if rank > 1 else []

    @torchsymbol(*functions, name=f"nn.functional.adaptive_avg_pool{rank}d")
    def pool(input: Any, output_size: Any) -> TensorProxy:
        """The means of as many windows as ``output_size`` says."""
        a = _batched(input, rank)
        counts = _output_size(output_size, a, rank)
        return _unbatched(_adaptive(a, range(2, rank + 2), counts, _mean), input, rank)


def _largest(a: TensorProxy, dim: int) -> TensorProxy:
    return largest_in_windows(clang.transpose(a, (*(d for d in range(a.ndim) if d != dim), dim)), 1)


def _adaptive_max_pool(rank: int) -> None:
    @torchsymbol(getattr(F, f"adaptive_max_pool{rank}d"), name=f"nn.functional.adaptive_max_pool{rank}d")
    def pool(input: Any, output_size: Any, return_indices: Any = False) -> TensorProxy:
        """The largest elements of as many windows as ``output_size`` says."""
        if return_indices:
            raise NeedsOpaque("the places of the largest elements")
        a = _batched(input, rank)
        counts = _output_size(output_size, a, rank)
        if all(count > 0 and n % count == 0 for n, count in zip(a.shape[2:], counts)):
            kernel = tuple(n // count for n, count in zip(a.shape[2:], counts))
            found = largest_in_windows(windows(a, kernel, kernel, (0,) * rank, (1,) * rank, -math.inf), rank)
        else:  # the last dimension first: of equals, gradients go to the first in the order of memory
            found = _adaptive(a, range(rank + 1, 1, -1), counts, _largest)
        return _unbatched(found, input, rank)


def _transposed_convolution(rank: int) -> None:
    @torchsymbol(getattr(F, f"conv_transpose{rank}d"))
    def convolve(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: Any = 1, dilation: Any = 1,
    ) -> TensorProxy:  # fmt: skip
        """What a convolution does to gradients: each element of the input adds a multiple of the kernel to the result."""
        floating(input, weight, *(() if bias is None else (bias,)))
        a, g = _batched(input, rank), static_int(groups)
        steps, pads, spread = each(stride, rank), each(padding, rank), each(dilation, rank)
        more = each(output_padding, rank)
        if weight.ndim != rank + 2 or a.shape[1] != weight.shape[0] or weight.shape[0] % g or 0 in weight.shape:
            raise NeedsOpaque("a weight that does not fit")
        if any(e >= max(s, d) for e, s, d in zip(more, steps, spread)):
            raise RuntimeError("output padding must be smaller than either stride or dilation")
        kernel = weight.shape[2:]
        config = [
            (d * (k - 1) - p, d * (k - 1) - p + e, s - 1) for k, s, p, d, e in zip(kernel, steps, pads, spread, more)
        ]
        a = prims.pad(a, 0.0, [(0, 0, 0), (0, 0, 0), *config])
        w = clang.reshape(weight, (g, weight.shape[0] // g, weight.shape[1], *kernel))
        w = clang.transpose(w, (0, 2, 1, *range(3, rank + 3)))
        w = clang.reshape(w, (g * weight.shape[1], weight.shape[0] // g, *kernel))
        w = prims.flip(w, tuple(range(2, rank + 2)))
        return _unbatched(convolved(a, w, bias, (1,) * rank, (0,) * rank, spread, g), input, rank)


for _rank in (1, 2, 3):
    _max_pool(_rank)
    _avg_pool(_rank)
    _adaptive_avg_pool(_rank)
    _adaptive_max_pool(_rank)
    _transposed_convolution(_rank)


@torchsymbol(F.unfold)
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> TensorProxy:
    """The windows of images as columns: ``[n, c * kernel, positions]``."""
    a = _batched(input, 2)
    kernel = each(kernel_size, 2, extent)
    found = windows(a, kernel, each(stride, 2, extent), each(padding, 2), each(dilation, 2), 0.0)
    n, c, rows, columns, *_ = found.shape
    area = symbols.number_of(math.prod(kernel))
    columns_first = clang.transpose(found, (0, 1, 4, 5, 2, 3))
    return (
        clang.reshape(columns_first, (n, c * area, rows * columns))
        if input.ndim == 4
        else clang.reshape(columns_first, (c * area, rows * columns))
    )


@torchsymbol(F.fold)
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> TensorProxy:
    """The sum of windows where they lie: :func:`unfold` the other way."""
    floating(input)
    if input.ndim not in (2, 3) or 0 in input.shape:
        raise NeedsOpaque("an input of another rank")
    a = input if input.ndim == 3 else clang.expand_dims(input, (0,))
    size, kernel, steps, pads, spread = (each(x, 2) for x in (output_size, kernel_size, stride, padding, dilation))
    counts = [_count(n, (k - 1) * d + 1, s, p, False) for n, k, s, p, d in zip(size, kernel, steps, pads, spread)]
    channels = a.shape[1] // math.prod(kernel)
    if a.shape[1] % math.prod(kernel) or a.shape[2] != math.prod(counts):
        raise NeedsOpaque("columns that do not fit")
    blocks = clang.reshape(a, (a.shape[0], channels, *kernel, *counts))
    total = None
    for at in itertools.product(*map(range, kernel)):
        block = prims.select(prims.select(blocks, 2, at[0]), 2, at[1])
        config = [(0, 0, 0), (0, 0, 0)]
        for n, k, s, p, d, count in zip(size, at, steps, pads, spread, counts):
            low = k * d - p
            config.append((low, n - low - (count - 1) * s - 1, s - 1))
        placed = prims.pad(block, 0.0, config)
        total = placed if total is None else clang.add(total, placed)
    assert total is not None
    return total if input.ndim == 3 else clang.squeeze(total, (0,))
