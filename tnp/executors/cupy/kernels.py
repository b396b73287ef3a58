"""Prims that are more than one CuPy call, or for which CuPy's result differs from the prim's, as functions on CuPy
arrays.

CuPy wraps indices that are out of bounds. Here they are checked first, which synchronises with the device, and raise
NumPy's errors.
"""

from __future__ import annotations

import builtins
import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from tnp.core.dtypes import DType
from tnp.core.errors import NoDeviceError
from tnp.runtime.device_allocator import share_with_torch

__all__: list[str] = []

_slice = builtins.slice


def array_type(dtype: DType) -> Any:
    """NumPy's dtype, which is CuPy's."""
    return np.dtype(dtype.name)


# Between the libraries


@functools.cache
def find_device() -> None:
    """Raises :class:`NoDeviceError` if there is no CUDA device that CuPy can use."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # no driver, or one too old
        raise NoDeviceError(
            f"CuPy cannot use a CUDA device here: {error}; jit without device= to run on the CPU"
        ) from None
    if not count:
        raise NoDeviceError("there is no CUDA device here; jit without device= to run on the CPU")
    if "torch" in sys.modules:  # whose kernels work on CuPy's arrays
        share_with_torch()


def to_device(x: Any) -> Any:
    """An ndarray, or a NumPy scalar, copied to the current device. Raises :class:`NoDeviceError` if there is none."""
    find_device()
    return cupy.asarray(np.ascontiguousarray(x).reshape(np.shape(x)))


def to_host(a: Any) -> Any:
    """A CuPy array copied to the host, with what it is computed from awaited."""
    made = cupy.asnumpy(a)
    return made.view(np.int64) if made.dtype.char == "q" != np.dtype(np.int64).char else made  # of argmin


# Elementwise


def where(condition: Any, a: Any, b: Any) -> Any:
    return cupy.where(condition, a, b)


def convert_element_type(a: Any, dtype: DType) -> Any:
    return a.astype(array_type(dtype))


def ldexp(a: Any, b: Any) -> Any:
    return cupy.ldexp(a, b)


def popcount(a: Any) -> Any:
    return cupy.bitwise_count(a).astype(a.dtype)


def rsqrt(a: Any) -> Any:
    return cupy.reciprocal(cupy.sqrt(a))


def complex(a: Any, b: Any) -> Any:
    made = cupy.empty(a.shape, np.result_type(a.dtype, np.complex64))
    made.real, made.imag = a, b
    return made


# Shape


def broadcast_in_dim(a: Any, shape: Sequence[int], dims: Sequence[int]) -> Any:
    middle = [1] * len(shape)
    for n, d in zip(a.shape, dims):
        middle[d] = n
    return cupy.broadcast_to(a.reshape(middle), tuple(shape))


def slice(a: Any, starts: Any, stops: Any, strides: Any = None) -> Any:
    return a[_slices(starts, stops, strides)]


def _slices(starts: Any, stops: Any, strides: Any) -> tuple[Any, ...]:
    steps = (1,) * len(starts) if strides is None else strides
    return tuple(map(_slice, starts, stops, steps))


def transpose(a: Any, permutation: Sequence[int]) -> Any:
    return a.transpose(tuple(permutation))


def reshape(a: Any, shape: Sequence[int]) -> Any:
    return a.reshape(tuple(shape))


def squeeze(a: Any, dims: Sequence[int]) -> Any:
    return a.squeeze(tuple(dims))


def flip(a: Any, dims: Sequence[int]) -> Any:
    return cupy.flip(a, tuple(dims))


def diagonal(a: Any, offset: int, dim1: int, dim2: int) -> Any:
    return a.diagonal(offset, dim1, dim2)


def select(a: Any, dim: int, index: int) -> Any:
    n = a.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for axis {dim} with size {n}")
    return a[(_slice(None),) * dim + (index,)]


def dynamic_slice(a: Any, dim: int, start: Any, stop: Any, step: int = 1) -> Any:
    return a[(_slice(None),) * dim + (_slice(start, stop, step),)]


def unfold(a: Any, dim: int, size: int, step: int) -> Any:
    if not a.ndim:
        return a.reshape(1)[:size]
    shape, strides = [*a.shape, size], [*a.strides, a.strides[dim]]
    shape[dim] = (a.shape[dim] - size) // step + 1
    strides[dim] *= step
    return cupy.lib.stride_tricks.as_strided(a, tuple(shape), tuple(strides))


def bitcast(a: Any, dtype: DType) -> Any:
    return a.view(array_type(dtype))


def real(a: Any) -> Any:
    return a.real


def imag(a: Any) -> Any:
    return a.imag


def as_language(a: Any, name: str) -> Any:
    return a


def clone(a: Any) -> Any:
    return a.copy()


def stride_order(a: Any, order: Sequence[int] | None = None) -> Any:
    if order is None:
        return cupy.ascontiguousarray(a).copy()
    slowest_first = sorted(range(a.ndim), key=lambda d: -order[d])
    made = cupy.ascontiguousarray(a.transpose(slowest_first)).copy()
    return made.transpose([slowest_first.index(d) for d in range(a.ndim)])


def pad(a: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    shape = [n + max(0, n - 1) * inner + max(low, 0) + max(high, 0) for n, (low, high, inner) in zip(a.shape, config)]
    made = cupy.full(shape, value, a.dtype)
    starts = [max(low, 0) for low, _, _ in config]
    ends = [s + (n - 1) * (inner + 1) + 1 if n else s for s, n, (_, _, inner) in zip(starts, a.shape, config)]
    made[_slices(starts, ends, [inner + 1 for _, _, inner in config])] = a
    return made[_slices([-min(low, 0) for low, _, _ in config], [n + min(h, 0) for n, (_, h, _) in zip(shape, config)], None)]  # fmt: skip


def concatenate(arrays: Sequence[Any], dim: int) -> Any:
    return cupy.concatenate(list(arrays), axis=dim)


def full(shape: Sequence[int], fill_value: Any, *, device: Any, dtype: DType) -> Any:
    find_device()
    return cupy.full(tuple(shape), fill_value, array_type(dtype))


def empty(shape: Sequence[int], *, device: Any, dtype: DType) -> Any:
    find_device()
    return cupy.empty(tuple(shape), array_type(dtype))


def iota(length: int, *, start: Any = 0, step: Any = 1, device: Any, dtype: DType) -> Any:
    find_device()
    kind = array_type(dtype)
    made = cupy.arange(length, dtype=kind)
    if start == 0 and step == 1:
        return made
    return (made * kind.type(step) + kind.type(start)).astype(kind, copy=False)


# Indexing


def _checked(indices: Any, size: int, dim: int, low: int) -> Any:
    """``indices``, if all are from ``low`` to ``size - 1``."""
    if indices.dtype.kind == "u":
        indices = indices.astype(np.int64)
    outside = (indices < low) | (indices >= size)
    if indices.size and bool(outside.any()):
        first = int(indices[outside].ravel()[0])
        raise IndexError(f"index {first} is out of bounds for axis {dim} with size {size}")
    return indices


def take(a: Any, indices: Any, dim: int) -> Any:
    return cupy.take(a, _checked(indices, a.shape[dim], dim, -a.shape[dim]), axis=dim)


def gather(a: Any, indices: Any, dim: int) -> Any:
    cut = a[tuple(_slice(None) if d == dim else _slice(n) for d, n in enumerate(indices.shape))]
    return cupy.take_along_axis(cut, _checked(indices, a.shape[dim], dim, -a.shape[dim]), axis=dim)


def index_get(a: Any, indices: Sequence[Any]) -> Any:
    return a[tuple(_checked(i, n, d, -n) for d, (i, n) in enumerate(zip(indices, a.shape)))]


def nonzero(a: Any) -> Any:
    return tuple(cupy.nonzero(a))


def searchsorted(a: Any, values: Any, right: bool = False) -> Any:
    return cupy.searchsorted(a, values, side="right" if right else "left")


# Reductions


def _along(name: str) -> Callable[..., Any]:
    def call(a: Any, dims: Sequence[int]) -> Any:
        return getattr(cupy, name)(a, axis=tuple(dims))

    return call


def _accumulating(name: str) -> Callable[..., Any]:
    """Of CuPy's functions that would choose a dtype of their own; ``along`` dimensions, or one."""

    def call(a: Any, along: Sequence[int] | int) -> Any:
        return getattr(cupy, name)(a, axis=along if isinstance(along, int) else tuple(along), dtype=a.dtype)

    return call


amax, amin, any, all = (_along(name) for name in ("amax", "amin", "any", "all"))
sum, prod, cumsum, cumprod = (_accumulating(name) for name in ("sum", "prod", "cumsum", "cumprod"))


def argmax(a: Any, dim: int) -> Any:
    return cupy.argmax(a, axis=dim)


def argmin(a: Any, dim: int) -> Any:
    return cupy.argmin(a, axis=dim)


def var(a: Any, dims: Sequence[int], *, correction: Any) -> Any:
    return cupy.var(a, axis=tuple(dims), ddof=correction)


def sort(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    made = cupy.sort(a, axis=dim)
    return cupy.flip(made, dim) if descending else made


def argsort(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    if not descending:
        return cupy.argsort(a, axis=dim, kind="stable")
    # A stable descending order is the ascending one of the reversed array, read backwards.
    made = cupy.argsort(cupy.flip(a, dim), axis=dim, kind="stable")
    return cupy.flip(a.shape[dim] - 1 - made, dim)


def topk(a: Any, k: int, dim: int, largest: bool = True, sorted: bool = True) -> Any:
    at = argsort(a, dim, descending=largest)[(_slice(None),) * dim + (_slice(k),)]
    return cupy.take_along_axis(a, at, axis=dim), at


# Linear algebra and transforms


def matmul(a: Any, b: Any) -> Any:
    return cupy.matmul(a, b)


def qr(a: Any, full: bool = False) -> Any:
    return tuple(cupy.linalg.qr(a, "complete" if full else "reduced"))


def svd(a: Any, full: bool = False) -> Any:
    return tuple(cupy.linalg.svd(a, full_matrices=full))


def fft(a: Any, dims: Sequence[int], inverse: bool = False) -> Any:
    return (cupy.fft.ifftn if inverse else cupy.fft.fftn)(a, axes=tuple(dims))


def rfft(a: Any, dim: int) -> Any:
    return cupy.fft.rfft(a, axis=dim)


def irfft(a: Any, dim: int, length: int) -> Any:
    return cupy.fft.irfft(a, length, axis=dim)


# Checks


def require(a: Any, condition: Any, error: Any, message: str) -> Any:
    """``a``; awaits ``condition`` on the host."""
    if not bool(condition.all()):
        if issubclass(error, Warning):
            warnings.warn(message, error, stacklevel=3)
        else:
            raise error(message)
    return a


# Writes, to memory of the program


def write(a: Any, value: Any, steps: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> None:
    """Writes ``value`` to the view that ``steps`` (names of kernels, with their arguments) lead to."""
    *before, last = [("", (), {}), *steps]
    for name, args, kwargs in before[1:]:
        a = globals()[name](a, *args, **kwargs)
    if last[0] == "select":  # of one dimension it is an element, no view
        dim, index = last[1]
        select(a, dim, index)
        a[(_slice(None),) * dim + (index,)] = value
    else:
        target = globals()[last[0]](a, *last[1], **last[2]) if last[0] else a
        target[...] = value


def copy_(source: Any, destination: Any) -> Any:
    destination[...] = source
    return destination


def slice_update_(a: Any, b: Any, starts: Any, strides: Any = None) -> None:
    steps = (1,) * a.ndim if strides is None else strides
    ends = [s + (n - 1) * step + 1 if n else s for s, n, step in zip(starts, b.shape, steps)]
    a[_slices(starts, ends, steps)] = b
