"""Images of another size: ``torch.nn.functional.interpolate`` by nearest elements, linear interpolation and means.

Each dimension is interpolated by itself. Of a whole number of results for each element, each is a fixed combination of
the element and a neighbour, so that the gradient is one, too. Otherwise elements are taken by computed positions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.operands import extent, known
from tnp.lang.torch.registry import symbol_of, torchsymbol

__all__: list[str] = []

#: the modes that are defined, and for how many dimensions linear interpolation has which name
_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_NEAREST = {"nearest": 0.0, "nearest-exact": 0.5}


@torchsymbol(F.interpolate)
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: Any = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: Any = False,
) -> TensorProxy:  # fmt: skip
    """``[n, c, *spatial]`` at other numbers of positions."""
    _check(input, mode, align_corners, antialias)
    rank = input.ndim - 2
    if _LINEAR.get(mode, rank) != rank or (size is None) == (scale_factor is None):
        raise NeedsOpaque("an input of another rank")
    before = sizes.extents(input.shape[2:], "interpolate")
    if scale_factor is None:
        counts, steps = _each(size, rank, extent), [None] * rank
    else:
        factors = _each(scale_factor, rank, lambda x: float(known(x)))
        counts = [_scaled(n, f) for n, f in zip(before, factors)]
        steps = [None if known(recompute_scale_factor) else 1 / f for f in factors]
    if any(n <= 0 for n in (*before, *counts)):
        raise NeedsOpaque("an image of nothing")
    if mode == "area":
        pool = symbol_of(getattr(F, f"adaptive_avg_pool{rank}d"))
        assert pool is not None
        means: TensorProxy = pool(input, symbols.dimensions(counts))
        return means
    a = input
    for dim, (n, count, step) in enumerate(zip(before, symbols.dimensions(counts), steps), 2):
        a = _along(a, dim, symbols.number_of(n), count, step, mode, known(align_corners))
    return a


def _scaled(n: Any, factor: float) -> Any:
    """``floor(n * factor)``, of a symbolic size for factors like 2, 1.5 and 0.25."""
    exact = Fraction(factor) if math.isfinite(factor) else None
    if type(n) is int or exact is None or exact.denominator > 1024:
        return math.floor(float(symbols.fixed(n)) * factor)
    return n * exact.numerator // exact.denominator


def _along(
    a: TensorProxy, dim: int, n: Any, count: Any, given: float | None, mode: str, align_corners: Any
) -> TensorProxy:
    """``a`` with ``count`` results for the ``n`` positions of a dimension, ``given`` apart or spread evenly."""
    step = n / count if given is None else given
    times = _multiple(n, count)
    if mode in _NEAREST:
        return _nearest(a, dim, n, count, step, _NEAREST[mode], times)
    if align_corners:
        return _linear(a, dim, n, count, (n - 1) / (count - 1) if count > 1 else 0.0, 0.0)
    is_even = given is None or (times is not None and given * times == 1)
    if is_even and times is not None:
        return a if times == 1 else _in_phases(a, dim, n, times, count)
    return _linear(a, dim, n, count, step, 0.5)


def _multiple(n: Any, count: Any) -> int | None:
    """How many times ``n`` the ``count`` surely is: a whole number, or ``None``."""
    times, rest = divmod(symbols.present(count), symbols.present(n))
    return times if rest == 0 and symbols.provable(count) == symbols.provable(n) * times else None


def _check(input: Any, mode: Any, align_corners: Any, antialias: Any) -> None:
    if not isinstance(input, TensorProxy) or input.dtype not in (dtypes.float32, dtypes.float64) or known(antialias):
        raise NeedsOpaque("an image of other numbers")
    if not 3 <= input.ndim <= 5 or 0 in input.shape:
        raise NeedsOpaque("an input of another rank")
    if mode not in (*_LINEAR, *_NEAREST, "area") or (mode not in _LINEAR and align_corners is not None):
        raise NeedsOpaque("another mode")


def _each(given: Any, rank: int, of: Any) -> list[Any]:
    numbers = list(given) if isinstance(given, (tuple, list)) else [given] * rank
    if len(numbers) != rank:
        raise NeedsOpaque("sizes of another rank")
    return [of(x) for x in numbers]


def _nearest(a: TensorProxy, dim: int, n: Any, count: Any, step: Any, shift: float, times: int | None) -> TensorProxy:
    """The element at ``floor((i + shift) * step)`` for each i, which torch computes in float32."""
    if type(n) is int and type(count) is int:
        found = (
            ((torch.arange(count, dtype=torch.float32, device="cpu") + shift) * step)
            .floor()
            .to(torch.int64)
            .clamp(max=n - 1)
        )
        places: list[int] = found.tolist()
        if times is not None and places == [i // times for i in range(count)]:
            return a if times == 1 else _repeated(a, dim, times, count)
        if n % count == 0 and places == list(range(places[0], n, n // count)):
            return clang.slice_dim(a, places[0], n, n // count, dim=dim)
    elif times is not None and times & (times - 1) == 0:  # whose inverse a float holds, so that no position is rounded
        return a if times == 1 else _repeated(a, dim, times, count)
    at = clang.mul(clang.add(clang.arange(count, dtype=dtypes.float32), shift), step)
    return prims.take(a, clang.minimum(clang.convert(at, dtypes.int64), n - 1), dim)


def _repeated(a: TensorProxy, dim: int, times: int, count: Any) -> TensorProxy:
    """Each element so many times, ``count`` in all."""
    wide = clang.broadcast_to(clang.expand_dims(a, (dim + 1,)), (*a.shape[: dim + 1], times, *a.shape[dim + 1 :]))
    return clang.reshape(wide, (*a.shape[:dim], count, *a.shape[dim + 1 :]))


def _in_phases(a: TensorProxy, dim: int, n: Any, k: int, count: Any) -> TensorProxy:
    """Linear interpolation to ``k`` results for each element, ``count`` in all, with the corners of elements aligned."""
    first, last = clang.slice_dim(a, 0, 1, dim=dim), clang.slice_dim(a, n - 1, n, dim=dim)
    before = prims.concatenate([first, clang.slice_dim(a, 0, n - 1, dim=dim)], dim) if n > 1 else a
    after = prims.concatenate([clang.slice_dim(a, 1, n, dim=dim), last], dim) if n > 1 else a
    phases = []
    for r in range(k):
        weight = abs(2 * r + 1 - k) / (2 * k)
        other = before if 2 * r + 1 < k else after
        found = clang.add(clang.mul(a, 1 - weight), clang.mul(other, weight)) if weight else a
        phases.append(clang.expand_dims(found, (dim + 1,)))
    shape = (*a.shape[:dim], count, *a.shape[dim + 1 :])
    return clang.reshape(prims.concatenate(phases, dim + 1), shape)


def _linear(a: TensorProxy, dim: int, n: Any, count: Any, step: Any, shift: float) -> TensorProxy:
    """Linear interpolation at ``(i + shift) * step - shift`` for each i."""
    at = clang.add(clang.arange(count, dtype=a.dtype), shift)
    at = clang.maximum(clang.sub(clang.mul(at, step), shift), 0)
    low = clang.minimum(clang.convert(at, dtypes.int64), n - 1)
    high = clang.minimum(clang.add(low, 1), n - 1)
    weight = clang.minimum(clang.sub(at, clang.convert(low, a.dtype)), 1)
    weight = clang.reshape(weight, tuple(count if d == dim else 1 for d in range(a.ndim)))
    return clang.add(
        clang.mul(prims.take(a, low, dim), clang.sub(1, weight)), clang.mul(prims.take(a, high, dim), weight)
    )
