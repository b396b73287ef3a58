"""Prims that are more than one torch call, or for which torch's result differs from the prim's, as functions on
tensors.

Every result has memory of its own unless the prim is tagged ``VIEW``: a few torch functions return the argument itself
(``positive``, ``conj_physical`` of real tensors), which is copied here.
"""

from __future__ import annotations

import builtins
import operator
import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import torch

__all__: list[str] = []

Tensor = torch.Tensor

#: below this many elements torch's index_put_ on the CPU runs on one thread, in order
_SERIAL = 32768


# Between the libraries


def to_tensor(x: Any) -> Tensor:
    """An ndarray as a tensor on the same memory; a NumPy scalar, or an array that torch cannot look at, as a copy.

    torch has no negative strides, none that are no multiple of the item size, and not the second of NumPy's two 64-bit
    integers of C (``np.longlong``).
    """
    if not isinstance(x, np.ndarray):
        return torch.from_numpy(np.array(x))
    try:
        # torch.from_numpy warns of read-only memory. Nothing writes to what the program may not change.
        return torch.from_numpy(x) if x.flags.writeable else torch.from_dlpack(x)
    except (ValueError, TypeError, RuntimeError, BufferError):
        return torch.from_numpy(np.array(x, order="C").view(x.dtype.str))


def to_ndarray(t: Tensor) -> Any:
    """A tensor as an ndarray on the same memory."""
    if t.requires_grad:
        t = t.detach()
    return t.resolve_conj().resolve_neg().numpy() if t.is_conj() or t.is_neg() else t.numpy()


def scalar(x: Any, dtype: torch.dtype) -> Tensor:
    """A Python number as a 0-d tensor. Raises ``OverflowError`` for an integer that the dtype does not hold."""
    if isinstance(x, int) and not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool:
        limits = torch.iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise OverflowError(f"Python integer {x} out of bounds for {str(dtype).removeprefix('torch.')}")
    return torch.tensor(x, dtype=dtype)


# Elementwise


def positive(a: Tensor) -> Tensor:
    return a.clone()


def conj(a: Tensor) -> Tensor:
    return torch.conj_physical(a) if a.is_complex() else a.clone()


def sign(a: Tensor) -> Tensor:
    return torch.where(torch.isnan(a), a, torch.sgn(a))


def cbrt(a: Tensor) -> Tensor:
    """A power of 1/3, and one step of Newton's to full precision."""
    size = a.abs().to(torch.float64)
    root = size.pow(1 / 3)
    better = root - (root * root * root - size) / (3 * root * root)
    return torch.copysign(torch.where((size > 0) & torch.isfinite(size), better, root), a).to(a.dtype)


def popcount(a: Tensor) -> Tensor:
    """The bits set in the absolute value, as NumPy counts them."""
    size = a.abs() if a.dtype.is_signed else a
    return reduce(operator.add, ((size >> i) & 1 for i in range(a.element_size() * 8)))


def spacing(a: Tensor) -> Tensor:
    return torch.nextafter(a, torch.copysign(torch.full_like(a, torch.inf), a)) - a


def add_complex(a: Tensor, b: Tensor) -> Tensor:
    """Part by part: torch multiplies ``b`` by a complex 1, which makes infinities NaN."""
    return torch.complex(a.real + b.real, a.imag + b.imag)


def sub_complex(a: Tensor, b: Tensor) -> Tensor:
    return torch.complex(a.real - b.real, a.imag - b.imag)


def _guarded(b: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Where an integer divisor is 0, where it is -1, and a divisor that is neither: those end a process, or raise."""
    zero = b == 0
    if not b.dtype.is_signed:
        return zero, None, torch.where(zero, 1, b)
    minus = b == -1
    return zero, minus, torch.where(zero | minus, 1, b)


def floor_divide(a: Tensor, b: Tensor) -> Tensor:
    """Integers; by zero 0, the least one by -1 itself."""
    zero, minus, divisor = _guarded(b)
    quotient = torch.where(zero, 0, torch.floor_divide(a, divisor))
    return quotient if minus is None else torch.where(minus, -a, quotient)


def _integer_remainder(function: Any) -> Any:
    def call(a: Tensor, b: Tensor) -> Tensor:
        zero, minus, divisor = _guarded(b)
        return torch.where(zero if minus is None else zero | minus, 0, function(a, divisor))

    return call


fmod = _integer_remainder(torch.fmod)
remainder = _integer_remainder(torch.remainder)


def float_remainder(a: Tensor, b: Tensor) -> Tensor:
    """With the sign of ``b``, that of a zero included."""
    rest = torch.fmod(a, b)
    other_side = (b < 0) != (rest < 0)
    return torch.where(rest != 0, torch.where(other_side, rest + b, rest), torch.copysign(torch.zeros_like(rest), b))


def _size(a: Tensor) -> Tensor:
    return a.abs() if a.dtype.is_signed else a


def gcd(a: Tensor, b: Tensor) -> Tensor:
    return _size(torch.gcd(_size(a), _size(b)))


def lcm(a: Tensor, b: Tensor) -> Tensor:
    common = gcd(a, b)
    parts = torch.floor_divide(_size(a), torch.where(common == 0, 1, common))
    return _size(parts) * _size(b)


def heaviside(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(torch.isnan(a), a, torch.heaviside(a, b))


def power(a: Tensor, b: Tensor) -> Tensor:
    """Integers. Raises ``ValueError`` for negative exponents."""
    if b.dtype.is_signed and bool((b < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")
    return torch.pow(a, b)


def ldexp(a: Tensor, b: Tensor) -> Tensor:
    """In four factors of float64, none of which overflows."""
    wide, rest = a.to(torch.float64), b.to(torch.int64).clamp(-2200, 2200)
    for parts in (4, 3, 2, 1):
        step = torch.div(rest, parts, rounding_mode="floor")
        wide = wide * torch.exp2(step.to(torch.float64))
        rest = rest - step
    return wide.to(a.dtype)


def convert_element_type(a: Tensor, dtype: torch.dtype) -> Tensor:
    if a.is_complex() and not dtype.is_complex and dtype is not torch.bool:
        a = a.real
    return a.to(dtype, copy=True)


def complex(a: Tensor, b: Tensor) -> Tensor:
    return torch.complex(a, b)


def frexp(a: Tensor) -> tuple[Tensor, Tensor]:
    mantissa, exponent = torch.frexp(a)
    return mantissa, exponent


def item(a: Tensor) -> Any:
    return a.item()


def require(a: Tensor, condition: Tensor, error: type[Exception], message: str) -> Tensor:
    """Raises ``error`` if a condition does not hold; on a device, which would have to be waited for, that asserts it, as torch's kernels do."""
    if condition.is_cuda:
        torch._assert_async(condition.all(), message)
    elif not condition.is_meta and not condition.all():
        if issubclass(error, Warning):
            warnings.warn(message, error, stacklevel=3)
        else:
            raise error(message)
    return a


def iota(length: int, *, start: Any = 0, step: Any = 1, device: Any, dtype: torch.dtype) -> Tensor:
    """``start + step * i``, computed in ``dtype``; unsigned integers in int64, which agrees with them."""
    is_integer = not dtype.is_floating_point and not dtype.is_complex
    work = torch.int64 if is_integer else dtype
    count = torch.arange(length, dtype=torch.int64, device=device).to(work)
    if (start, step) != (0, 1):
        # Filled by kernels, not copied from the host: a graph of kernels may be recorded.
        by, first = (torch.full((), x, dtype=work, device=device) for x in (step, start))
        count = count * by + first
    return count.to(dtype)


# Shape


def broadcast_in_dim(a: Tensor, shape: Sequence[int], dims: Sequence[int]) -> Tensor:
    middle = [1] * len(shape)
    for n, d in zip(a.shape, dims):
        middle[d] = n
    return a.reshape(middle).expand(tuple(shape))


def stride_order(a: Tensor, order: Any = None) -> Tensor:
    if order is None:
        return a.clone(memory_format=torch.contiguous_format)
    slowest_first = sorted(range(a.ndim), key=lambda d: -order[d])
    made = a.permute(slowest_first).clone(memory_format=torch.contiguous_format)
    return made.permute([slowest_first.index(d) for d in range(a.ndim)])


def pad(a: Tensor, value: Any, config: Any) -> Tensor:
    shape = [n + max(0, n - 1) * inner + max(low, 0) + max(high, 0) for n, (low, high, inner) in zip(a.shape, config)]
    result = a.new_full(shape, value)
    at = tuple(
        slice(max(low, 0), max(low, 0) + (n - 1) * (inner + 1) + 1 if n else max(low, 0), inner + 1)
        for n, (low, _, inner) in zip(a.shape, config)
    )
    result[at] = a
    return result[tuple(slice(-min(low, 0), n + min(high, 0)) for n, (low, high, _) in zip(shape, config))]


def _along(dim: int, part: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (part,)


def select(a: Tensor, dim: int, index: int) -> Tensor:
    """Raises NumPy's ``IndexError`` if there is no such position."""
    n = a.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for axis {dim} with size {n}")
    return a.select(dim, index)


def dynamic_slice(a: Tensor, dim: int, start: Any, stop: Any, step: int = 1) -> Tensor:
    at = range(a.shape[dim])[start:stop:step]
    if not at:
        return a.narrow(dim, 0, 0)
    first, last = min(at[0], at[-1]), max(at[0], at[-1])
    part = a[_along(dim, slice(first, last + 1, builtins.abs(step)))]
    return part if step > 0 else torch.flip(part, (dim,))


# Indexing


def _positions(indices: Tensor, n: int, axis: int) -> Tensor:
    """Indices as int64 positions in ``[0, n)``. Raises NumPy's ``IndexError``; on a device, which would have to be waited for, torch's
    kernels assert that they are in bounds, as they do in eager."""
    at = indices.to(torch.int64)
    if not at.is_cpu:
        return torch.where(at < 0, at + n, at)
    outside = (at < -n) | (at >= n)
    if bool(outside.any()):
        bad = int(at[outside].reshape(-1)[0])
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")
    return torch.where(at < 0, at + n, at)


def take(a: Tensor, indices: Tensor, dim: int) -> Tensor:
    at = _positions(indices, a.shape[dim], dim)
    taken = torch.index_select(a, dim, at.reshape(-1))
    return taken.reshape((*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :]))


def gather(a: Tensor, indices: Tensor, dim: int) -> Tensor:
    return torch.gather(a, dim, _positions(indices, a.shape[dim], dim))


def index_get(a: Tensor, indices: Sequence[Tensor]) -> Tensor:
    at = [_positions(x, n, d).reshape(-1) for d, (x, n) in enumerate(zip(indices, a.shape))]
    return a[tuple(at)].reshape((*indices[0].shape, *a.shape[len(at) :]))


def index_put_(a: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool) -> None:
    """In one dimension of positions, so that torch goes through them in order; the last of equals is to win."""
    at = [_positions(x, n, d).reshape(-1) for d, (x, n) in enumerate(zip(indices, a.shape))]
    new = values.reshape((at[0].shape[0], *a.shape[len(at) :])).contiguous()
    if not accumulate and (a.is_cuda or new.numel() >= _SERIAL):
        last = _last_of_equals(at, a.shape)
        at, new = [x[last] for x in at], new[last]
    a.index_put_(tuple(at), new, accumulate)


def _last_of_equals(at: list[Tensor], shape: Sequence[int]) -> Tensor:
    """The numbers of those positions that no later one equals."""
    linear = at[0]
    total = shape[0]
    for x, n in zip(at[1:], shape[1:]):
        linear = linear * n + x
        total *= n
    order = torch.arange(linear.shape[0], device=linear.device)
    winner = torch.full((total,), -1, dtype=torch.int64, device=linear.device)
    winner.scatter_reduce_(0, linear, order, "amax")
    return torch.nonzero(winner[linear] == order).reshape(-1)


def _grid(a: Tensor, indices: Tensor, dim: int) -> list[Tensor]:
    """The position in each dimension that an element of a scatter goes to."""
    grid = [
        torch.arange(n, device=a.device).reshape([-1 if i == d else 1 for i in range(a.ndim)]).expand(indices.shape)
        for d, n in enumerate(indices.shape)
    ]
    grid[dim] = indices
    return grid


def scatter_(a: Tensor, indices: Tensor, source: Tensor, dim: int) -> None:
    new = source[tuple(slice(n) for n in indices.shape)]
    index_put_(a, _grid(a, indices, dim), new, False)


def scatter_add_(a: Tensor, indices: Tensor, source: Tensor, dim: int) -> None:
    a.scatter_add_(dim, _positions(indices, a.shape[dim], dim), source)


def slice_update_(a: Tensor, b: Tensor, starts: Any, strides: Any = None) -> None:
    steps = (1,) * a.ndim if strides is None else strides
    at = tuple(slice(s, s + (n - 1) * step + 1 if n else s, step) for s, n, step in zip(starts, b.shape, steps))
    a[at].copy_(b)


def nonzero(a: Tensor) -> tuple[Tensor, ...]:
    return torch.nonzero(a, as_tuple=True)


def searchsorted(a: Tensor, values: Tensor, right: bool = False) -> Tensor:
    """NaNs stand last in ``a``, and are found there: torch's bisection does not order them."""
    a, values = a.contiguous(), values.contiguous()
    if not a.is_floating_point():
        return torch.searchsorted(a, values, right=right)
    ordered = a[: int((~torch.isnan(a)).sum())]
    found = torch.searchsorted(ordered, values, right=right)
    return torch.where(torch.isnan(values), a.shape[0] if right else ordered.shape[0], found)


# Reductions


def _reducing(function: Any) -> Any:
    """A reduction over several dimensions, for which torch takes none to mean all."""

    def call(a: Tensor, dims: Sequence[int], **keywords: Any) -> Tensor:
        return function(a, tuple(dims), **keywords) if dims else function(a.unsqueeze(-1), (a.ndim,), **keywords)

    return call


@_reducing
def sum(a: Tensor, dims: tuple[int, ...]) -> Tensor:
    return torch.sum(a, dims, dtype=a.dtype)


@_reducing
def prod(a: Tensor, dims: tuple[int, ...]) -> Tensor:
    for d in sorted(dims, reverse=True):
        a = torch.prod(a, d, dtype=a.dtype)
    return a


amax = _reducing(torch.amax)
amin = _reducing(torch.amin)
any = _reducing(torch.any)
all = _reducing(torch.all)


@_reducing
def var(a: Tensor, dims: tuple[int, ...], *, correction: Any) -> Tensor:
    """As NumPy: of fewer elements than ``correction`` it is NaN or infinite; torch warns of that."""
    distance = a - a.mean(dims, keepdim=True)
    squares = (distance * distance.conj()).real if a.is_complex() else distance * distance
    count = reduce(operator.mul, (a.shape[d] for d in dims))
    return squares.sum(dims) / max(count - correction, 0)


def _for_order(a: Tensor) -> Tensor:
    return a.to(torch.uint8) if a.dtype is torch.bool else a


def argmax(a: Tensor, dim: int) -> Tensor:
    return torch.argmax(_for_order(a), dim)


def argmin(a: Tensor, dim: int) -> Tensor:
    return torch.argmin(_for_order(a), dim)


def cumsum(a: Tensor, dim: int) -> Tensor:
    return torch.cumsum(a, dim, dtype=a.dtype)


def cumprod(a: Tensor, dim: int) -> Tensor:
    return torch.cumprod(a, dim, dtype=a.dtype)


def cummax(a: Tensor, dim: int) -> Tensor:
    return torch.cummax(a, dim).values


def cummin(a: Tensor, dim: int) -> Tensor:
    return torch.cummin(a, dim).values


def sort(a: Tensor, dim: int, *, descending: bool = False, stable: bool = False) -> Tensor:
    return torch.sort(a, dim=dim, descending=descending, stable=True).values


def argsort(a: Tensor, dim: int, *, descending: bool = False, stable: bool = False) -> Tensor:
    return torch.sort(a, dim=dim, descending=descending, stable=True).indices


def topk(a: Tensor, k: int, dim: int, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """By a stable sort, so that of equals the first come, which torch.topk does not promise."""
    values, indices = torch.sort(a, dim=dim, descending=largest, stable=True)
    return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)


# Linear algebra


def _raising(function: Any, message: str) -> Any:
    """``function``, raising NumPy's ``LinAlgError`` for torch's."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except torch.linalg.LinAlgError:
            raise np.linalg.LinAlgError(message) from None

    return call


cholesky = _raising(torch.linalg.cholesky, "Matrix is not positive definite")
inv = _raising(torch.linalg.inv, "Singular matrix")
solve = _raising(torch.linalg.solve, "Singular matrix")
det = torch.linalg.det


def slogdet(a: Tensor) -> tuple[Tensor, ...]:
    return tuple(torch.linalg.slogdet(a))


_eigh = _raising(torch.linalg.eigh, "Eigenvalues did not converge")
_eig = _raising(torch.linalg.eig, "Eigenvalues did not converge")
eigvals = _raising(torch.linalg.eigvals, "Eigenvalues did not converge")
_svd = _raising(torch.linalg.svd, "SVD did not converge")


def qr(a: Tensor, full: bool = False) -> tuple[Tensor, ...]:
    return tuple(torch.linalg.qr(a, "complete" if full else "reduced"))


def svd(a: Tensor, full: bool = False) -> tuple[Tensor, ...]:
    return tuple(_svd(a, full))


def eigh(a: Tensor, upper: bool = False) -> tuple[Tensor, ...]:
    return tuple(_eigh(a, "U" if upper else "L"))


def eig(a: Tensor) -> tuple[Tensor, ...]:
    return tuple(_eig(a))


def triangular_solve(
    a: Tensor, b: Tensor, *, upper: bool = False, transpose: bool = False, unit: bool = False
) -> Tensor:
    return torch.linalg.solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unit)


# Fourier transforms. The library behind torch refuses arrays without elements.


def fft(a: Tensor, dims: Sequence[int], inverse: bool = False) -> Tensor:
    if not a.numel() or not dims:
        return a.clone()
    return (torch.fft.ifftn if inverse else torch.fft.fftn)(a, dim=tuple(dims))


def rfft(a: Tensor, dim: int) -> Tensor:
    if not a.numel():
        shape = [n // 2 + 1 if i == dim else n for i, n in enumerate(a.shape)]
        return torch.zeros(shape, dtype=a.dtype.to_complex(), device=a.device)
    return torch.fft.rfft(a, dim=dim)


def irfft(a: Tensor, dim: int, length: int) -> Tensor:
    if not a.numel():
        shape = [length if i == dim else n for i, n in enumerate(a.shape)]
        return torch.zeros(shape, dtype=a.dtype.to_real(), device=a.device)
    return torch.fft.irfft(a, length, dim)


# Random numbers, from torch's own generators


def uniform(shape: Sequence[int], low: Any, high: Any, *, device: Any, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).uniform_(low, high)


def normal(shape: Sequence[int], mean: Any, std: Any, *, device: Any, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_(mean, std)


# Neural networks


def convolution(a: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[a.ndim - 3]
    return function(a, weight, None, tuple(stride), tuple(padding), tuple(dilation), groups)


# Effects


def copy_(source: Tensor, destination: Tensor) -> Tensor:
    return destination.copy_(source)
