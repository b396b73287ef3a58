"""Prims that are more than one NumPy call, as functions on NumPy arrays."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from tnp.core.elementwise_table import by_name
from tnp.core.reduction_table import REDUCTIONS

__all__: list[str] = []


def take(a: Any, indices: Any, dim: int) -> Any:
    return np.take(a, indices, axis=dim)


def gather(a: Any, indices: Any, dim: int) -> Any:
    return np.take_along_axis(_cut(a, indices, dim), indices, axis=dim)


def _cut(a: Any, indices: Any, dim: int) -> Any:
    """``a`` without what lies beyond the indices in the other dimensions."""
    return a[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(indices.shape))]


def scatter_(a: Any, indices: Any, source: Any, dim: int) -> None:
    cut = tuple(slice(n) for n in indices.shape)
    np.put_along_axis(_cut(a, indices, dim), indices, source[cut], axis=dim)


def scatter_add_(a: Any, indices: Any, source: Any, dim: int) -> None:
    grid = list(np.indices(indices.shape, sparse=True))
    grid[dim] = indices
    np.add.at(a, tuple(grid), source[tuple(slice(n) for n in indices.shape)])


def index_put_(a: Any, indices: Any, values: Any, accumulate: bool) -> None:
    if accumulate:
        np.add.at(a, tuple(indices), values)
    else:
        a[tuple(indices)] = values


def slice_update_(a: Any, b: Any, starts: Any, strides: Any = None) -> None:
    steps = (1,) * a.ndim if strides is None else strides
    a[tuple(slice(s, s + (n - 1) * step + 1 if n else s, step) for s, n, step in zip(starts, b.shape, steps))] = b


def index_get(a: Any, indices: Any) -> Any:
    return a[tuple(indices)]


def nonzero(a: Any) -> Any:
    return np.nonzero(a)


def searchsorted(a: Any, values: Any, right: bool = False) -> Any:
    return np.searchsorted(a, values, side="right" if right else "left")


def iota(length: int, *, start: Any = 0, step: Any = 1, device: Any, dtype: Any) -> Any:
    if start == 0 and step == 1:
        return np.arange(length, dtype=dtype)
    made = np.arange(length, dtype=dtype) * np.asarray(step, dtype)
    return (made + np.asarray(start, dtype)).astype(dtype, copy=False)


def pad(a: Any, value: Any, config: Any) -> Any:
    shape = [n + max(0, n - 1) * inner + max(low, 0) + max(high, 0) for n, (low, high, inner) in zip(a.shape, config)]
    result = np.full(shape, value, a.dtype)
    at = tuple(
        slice(max(low, 0), max(low, 0) + (n - 1) * (inner + 1) + 1 if n else max(low, 0), inner + 1)
        for n, (low, _, inner) in zip(a.shape, config)
    )
    result[at] = a
    cut = tuple(slice(-min(low, 0), n + min(high, 0)) for n, (low, high, _) in zip(shape, config))
    return result[cut]


def stride_order(a: Any, order: Any = None) -> Any:
    if order is None:
        return np.array(a, order="C")
    slowest_first = sorted(range(a.ndim), key=lambda d: -order[d])
    made = np.array(a.transpose(slowest_first), order="C")
    return made.transpose([slowest_first.index(d) for d in range(a.ndim)])


def unfold(a: Any, dim: int, size: int, step: int) -> Any:
    if a.ndim == 0:
        return np.reshape(a, 1)[:size]
    windows = np.lib.stride_tricks.sliding_window_view(a, size, dim) if size else np.empty(
        (*a.shape[:dim], a.shape[dim] + 1, *a.shape[dim + 1 :], 0), a.dtype
    )  # fmt: skip
    return windows[(slice(None),) * dim + (slice(None, None, step),)]


def _reduction(ufunc: np.ufunc) -> Any:
    def reduction(a: Any, dims: Any) -> Any:
        return ufunc.reduce(a, axis=tuple(dims), dtype=a.dtype)

    return reduction


def _scan(ufunc: np.ufunc) -> Any:
    def scan(a: Any, dim: int) -> Any:
        return ufunc.accumulate(a, axis=dim, dtype=a.dtype)

    return scan


for _row in REDUCTIONS:
    _ufunc = getattr(np, by_name[_row.combines].numpy)
    globals()[_row.name] = _reduction(_ufunc)
    if _row.scan:
        globals()[_row.scan] = _scan(_ufunc)


def argmax(a: Any, dim: int) -> Any:
    return np.argmax(a, axis=dim)


def argmin(a: Any, dim: int) -> Any:
    return np.argmin(a, axis=dim)


def var(a: Any, dims: Any, *, correction: Any) -> Any:
    dims = tuple(dims)
    if math.prod(a.shape[d] for d in dims) > correction:
        return np.var(a, axis=dims, ddof=correction)
    # NumPy's warns, which the program does itself.
    spread = np.square(np.abs(a - np.sum(a, dims, keepdims=True) / max(math.prod(a.shape[d] for d in dims), 1)))
    return np.divide(np.sum(spread, dims), np.zeros((), spread.dtype))


def sort(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    made = np.sort(a, axis=dim, kind="stable" if stable else None)
    return np.flip(made, dim) if descending else made


def argsort(a: Any, dim: int, *, descending: bool = False, stable: bool = False) -> Any:
    if not descending:
        return np.argsort(a, axis=dim, kind="stable" if stable else None)
    # A stable descending order is the ascending one of the reversed array, read backwards.
    made = np.argsort(np.flip(a, dim), axis=dim, kind="stable")
    return np.flip(a.shape[dim] - 1 - made, dim)


def topk(a: Any, k: int, dim: int, largest: bool = True, sorted: bool = True) -> Any:
    at = argsort(a, dim, descending=largest, stable=True)[(slice(None),) * dim + (slice(k),)]
    return np.take_along_axis(a, at, axis=dim), at


def complex(a: Any, b: Any) -> Any:
    result = np.empty(np.shape(a), np.result_type(a.dtype, np.complex64))
    result.real, result.imag = a, b
    return result[()] if result.ndim == 0 else result


def triangular_solve(a: Any, b: Any, *, upper: bool = False, transpose: bool = False, unit: bool = False) -> Any:
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        a = a - a * np.eye(a.shape[-1], dtype=a.dtype) + np.eye(a.shape[-1], dtype=a.dtype)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, b)


def qr(a: Any, full: bool = False) -> Any:
    return tuple(np.linalg.qr(a, "complete" if full else "reduced"))


def svd(a: Any, full: bool = False) -> Any:
    return tuple(np.linalg.svd(a, full_matrices=full))


def eigh(a: Any, upper: bool = False) -> Any:
    return tuple(np.linalg.eigh(a, "U" if upper else "L"))


def eig(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    wide = np.result_type(a.dtype, np.complex64)
    return values.astype(wide, copy=False), vectors.astype(wide, copy=False)


def eigvals(a: Any) -> Any:
    return np.linalg.eigvals(a).astype(np.result_type(a.dtype, np.complex64), copy=False)


def slogdet(a: Any) -> Any:
    return tuple(np.linalg.slogdet(a))


def solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def fft(a: Any, dims: Any, inverse: bool = False) -> Any:
    return (np.fft.ifftn if inverse else np.fft.fftn)(a, axes=tuple(dims))


def rfft(a: Any, dim: int) -> Any:
    return np.fft.rfft(a, axis=dim)


def irfft(a: Any, dim: int, length: int) -> Any:
    return np.fft.irfft(a, length, axis=dim)


def convolution(a: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    rank = a.ndim - 2
    a = np.pad(a, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spans = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(a, spans, tuple(range(2, 2 + rank)))
    windows = windows[
        (slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))
    ]
    n, c = a.shape[:2]
    out = weight.shape[0]
    space = windows.shape[2 : 2 + rank]
    windows = windows.reshape(n, groups, c // groups, *space, *weight.shape[2:])
    weight = weight.reshape(groups, out // groups, *weight.shape[1:])
    x = "abcdefgh"[:rank]
    k = "ijklmnop"[:rank]
    return np.einsum(f"ngz{x}{k},goz{k}->ngo{x}", windows, weight, optimize=True).reshape(n, out, *space)


def uniform(shape: Any, low: Any, high: Any, *, device: Any, dtype: Any) -> Any:
    return np.random.uniform(low, high, shape).astype(dtype)


def normal(shape: Any, mean: Any, std: Any, *, device: Any, dtype: Any) -> Any:
    return np.random.normal(mean, std, shape).astype(dtype)


def _over_elements(function: Any) -> Any:
    """A function of Python's ``math`` on each element, in float64; slow, and right."""

    def call(a: Any) -> Any:
        flat = np.fromiter((function(x) for x in np.ravel(a).tolist()), np.float64, np.size(a))
        result = flat.astype(a.dtype).reshape(np.shape(a))
        return result[()] if result.ndim == 0 else result

    call.__name__ = function.__name__
    return call


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except ValueError:
        return math.inf
    except OverflowError:
        return math.inf


def _digamma(x: float) -> float:
    """Recurrence up to x ≥ 10, then the asymptotic series (Abramowitz & Stegun 6.3.18); reflection below 0."""
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0:
        if x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * (x - math.floor(x)))
    result = 0.0
    while x < 10:
        result -= 1 / x
        x += 1
    if x == math.inf:
        return x
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * 691 / 32760)))))
    return result + math.log(x) - 0.5 / x - series


def _erfinv(y: float) -> float:
    """Winitzki's approximation, then Newton steps on erf to full precision."""
    if not -1 <= y <= 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if y == 0:
        return y
    if abs(y) > 0.5:
        # Work with erfc near the ends, where erf loses the digits that matter.
        tail = 1 - abs(y)
        t = math.sqrt(-2 * math.log(tail / 2))
        x = (
            t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t**3)
        ) / math.sqrt(2)
        for _ in range(4):
            error = math.erfc(x) - tail
            x += error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        return math.copysign(x, y)
    log_term = math.log(1 - y * y)
    half = 2 / (math.pi * 0.147) + log_term / 2
    x = math.copysign(math.sqrt(math.sqrt(half * half - log_term / 0.147) - half), y)
    for _ in range(4):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


erf = _over_elements(math.erf)
erfc = _over_elements(math.erfc)
lgamma = _over_elements(_lgamma)
digamma = _over_elements(_digamma)
erfinv = _over_elements(_erfinv)
for _f, _name in ((lgamma, "lgamma"), (digamma, "digamma"), (erfinv, "erfinv")):
    _f.__name__ = _name


def rsqrt(a: Any) -> Any:
    return 1 / np.sqrt(a)


def popcount(a: Any) -> Any:
    return np.bitwise_count(a)


def item(a: Any) -> Any:
    return a.item()


def convert_scalar(a: Any, dtype: Any) -> Any:
    made = np.empty((), np.dtype(dtype.name))
    made[()] = a[()]  # NumPy's own store of a scalar, which refuses what does not fit
    return made[()]


def require(a: Any, condition: Any, error: Any, message: str) -> Any:
    if not (condition.all() if condition.ndim else condition):  # np.all takes some µs
        if issubclass(error, Warning):
            warnings.warn(message, error, stacklevel=3)
        else:
            raise error(message)
    return a


def copy_(source: Any, destination: Any) -> Any:
    destination[...] = source
    return destination


def as_array(x: Any) -> Any:
    """A 0-d result as the 0-d array that the language says it is, not NumPy's scalar."""
    return np.asarray(x)


def as_scalar(x: Any) -> Any:
    """A 0-d result as the NumPy scalar that the language says it is."""
    return x[()]


def as_frozen(x: Any) -> Any:
    """An array that the program made, made read-only."""
    x = np.asarray(x)
    x.flags.writeable = False
    return x


def as_read_only(x: Any) -> Any:
    """A result as an array that cannot be written through, as the language says it is."""
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x
