"""Shared code of medians and quantiles: sorted lines, and positions between their elements.

The positions and weights of a quantile depend only on the method, the line's length and ``q``. If these are known while
tracing, they are computed then, by the definitions of Hyndman and Fan, "Sample Quantiles in Statistical Packages",
1996.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.numpy import reductions
from tnp.lang.numpy.dtypes import result_of
from tnp.lang.numpy.operands import as_array, axes, listed
from tnp.lang.numpy.reductions import NoValue, keeps_dims, with_kept_dims
from tnp.lang.numpy.registry import npsymbol

__all__ = [
    "Quantiles",
    "lines",
    "middle_mean",
    "quantile_function",
    "quantile_of",
    "scalar_unless_kept",
    "with_leading",
]

#: quantiles computed one by one in a call; more run as an opaque call
MAX_QUANTILES = 64


def lines(a: TensorProxy, axis: Any) -> tuple[TensorProxy, tuple[int, ...]]:
    """``a`` with the dimensions that ``axis`` names merged into a last one, and these dimensions."""
    dims = axes(a.ndim, listed(axis))
    rest = [d for d in range(a.ndim) if d not in dims]
    moved = clang.transpose(a, [*rest, *sorted(dims)])
    length = sizes.product([a.shape[d] for d in dims])
    return clang.reshape(moved, (*(a.shape[d] for d in rest), length)), dims


def last_element(ordered: TensorProxy) -> TensorProxy:
    """The last element of each line."""
    return prims.select(ordered, ordered.ndim - 1, -1)


def middle_mean(along: TensorProxy) -> TensorProxy:
    """The mean of the one or two elements in the middle of each line; NaN if the line holds one."""
    last = along.ndim - 1
    length = sizes.at_least(along.shape[-1], 1, "a median")
    if symbols.value_of(length) is None or symbols.is_found(length):  # of other calls it may be odd
        return _middle_at_run_time(prims.sort(along, last), clang.convert(length, dtypes.int64))
    (n,) = sizes.extents((length,), "a median")
    ordered = prims.sort(along, last)
    before = n // 2 - (1 - symbols.fixed(n % 2))  # by whose parity it is known how many are in the middle
    middle = clang.slice_dim(ordered, max(before, 0), min(n // 2 + 1, n), dim=last)
    result = reductions.mean(middle, -1)
    if along.dtype.kind not in "fc" or n == 0:
        return result
    end = last_element(ordered)
    return clang.where(clang.isnan(end), end, result)


def _middle_at_run_time(ordered: TensorProxy, n: TensorProxy) -> TensorProxy:
    """:func:`middle_mean` of sorted lines of ``n`` elements, which only the running program knows."""
    dim = ordered.ndim - 1
    low, high = (prims.take(ordered, clang.floor_divide(x, 2), dim) for x in (clang.sub(n, 1), n))
    one, both = (reductions.mean(clang.stack(middle, dim), -1) for middle in ((low,), (low, high)))
    result = clang.where(clang.eq(clang.remainder(n, 2), 1), one, both)
    if ordered.dtype.kind not in "fc":
        return result
    end = last_element(ordered)
    return clang.where(clang.isnan(end), end, result)


def scalar_unless_kept(result: TensorProxy, keepdims: Any) -> TensorProxy:
    """``result``, a NumPy scalar if it is 0-d: but these functions keep no dimensions of a 0-d array as a 0-d array."""
    result.scalar = result.ndim == 0 and not keeps_dims(keepdims)
    return result


def with_leading(results: Sequence[TensorProxy], shape: tuple[int, ...]) -> TensorProxy:
    """One result for each quantile, stacked to the shape of ``q``."""
    if shape == ():
        return results[0]
    if not results:
        raise NeedsOpaque("there are no quantiles to compute")
    stacked = clang.stack(results, 0)
    return clang.reshape(stacked, (*shape, *stacked.shape[1:]))


class Quantiles:
    """The ``q`` of a call: numbers that are known when the program is traced. Raises :class:`NeedsOpaque` for others."""

    def __init__(self, q: Any, divisor: int = 1) -> None:
        known = _known(q)
        self.weak = type(known) in (int, float)
        array = np.asarray(known)
        if array.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
            raise NeedsOpaque(f"quantiles given as {array.dtype} are not compiled")
        if array.size > MAX_QUANTILES:
            raise NeedsOpaque(f"{array.size} quantiles in one call are not compiled")
        self.array = np.true_divide(array, divisor) if divisor != 1 else array
        self.values = self.array.ravel().tolist()
        self.shape = array.shape

    @property
    def is_exact(self) -> bool:
        """Whether the quantiles are the integers 0 and 1, for which NumPy interpolates nothing."""
        return bool(self.array.dtype.kind == "i")

    def result_dtype(self, function: str, dtype: np.dtype[Any], method: str) -> DType:
        """The dtype of ``np.quantile``'s result, found on two elements. Raises what it raises for ``q`` or ``method``."""
        q = self.array.item() if self.weak else self.array
        with np.errstate(all="ignore"):
            return result_of(getattr(np, function)(np.array([0, 1], dtype), q, method=method).dtype)


def _known(q: Any) -> Any:
    if isinstance(q, NumberProxy):
        return q.known()
    if isinstance(q, (tuple, list)):
        return [_known(x) for x in q]
    if is_number(q) or isinstance(q, np.generic):
        return q
    raise NeedsOpaque("quantiles that are known only when the program runs are not compiled")


def _between(alpha: float, beta: float) -> Callable[[int, float], float]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _upwards(index: float) -> int:
    return max(int(np.ceil(index)), 0)


def _to_even(index: float) -> int:
    """The nearest integer, of two equally near ones that which is even counted from 1."""
    down = int(np.floor(index))
    return max(down if index == down and down % 2 == 1 else down + 1, 0)


#: the position of the one element that a method picks
_PICKING: dict[str, Callable[[int, float], int]] = {
    "lower": lambda n, q: int(np.floor((n - 1) * q)),
    "higher": lambda n, q: int(np.ceil((n - 1) * q)),
    "nearest": lambda n, q: int(np.around((n - 1) * q)),
    "inverted_cdf": lambda n, q: _upwards(n * q - 1),
    "closest_observation": lambda n, q: _to_even(n * q - 1.5),
}

#: the position between two elements at which a method interpolates
_INTERPOLATING: dict[str, Callable[[int, float], float]] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}


def _weight(method: str, place: float, before: int) -> float:
    fraction = place - before
    if method == "averaged_inverted_cdf":
        return 0.5 if fraction == 0 else 1.0
    if method == "midpoint":
        return 0.0 if place % 1 == 0 else 0.5
    return fraction


def quantile_of(a: TensorProxy, q: Quantiles, axis: Any, method: str, keepdims: Any, wanted: DType) -> TensorProxy:
    """The quantiles of lines of ``a`` that hold no NaN, NaN for the others; ``q``'s dimensions come first."""
    along, dims = lines(a, axis)
    last = along.ndim - 1
    by_arrays = type(along.shape[-1]) is not int and method == "linear" and not q.is_exact
    n: Any = sizes.at_least(along.shape[-1], 1, "a quantile") if by_arrays else along.shape[-1]
    if not by_arrays or symbols.value_of(n) is not None:
        (n,) = sizes.extents((n,), "a quantile")
        n = n if by_arrays else symbols.fixed(n)
        if (n == 0 and along.numel != 0) or (n == 0 and sizes.product(along.shape[:-1]) != 0):
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        if n == 0:
            raise NeedsOpaque("quantiles of nothing")
    ordered = prims.sort(along, last)
    nan = clang.isnan(last_element(ordered)) if a.dtype.kind == "f" else None

    def at(index: int) -> TensorProxy:
        return prims.select(ordered, last, index)

    def one(x: float) -> TensorProxy:
        if by_arrays:
            return _at_place(ordered, n, x, wanted)
        if method in _PICKING:
            return at(_PICKING[method](n, x))
        place = _INTERPOLATING[method](n, x)
        if q.is_exact and method == "linear":
            return at(int(place))
        before = int(np.floor(place))
        low, high = (n - 1, n - 1) if place >= n - 1 else (0, 0) if place < 0 else (before, before + 1)
        # As NumPy has it, the fraction is measured from the element that was found, also beyond the ends.
        weight = _weight(method, place, -1 if place >= n - 1 else low)
        return _interpolated(at(low), at(high), weight, wanted, ending=weight >= 0.5)

    found = []
    for x in q.values:
        result = one(x)
        if nan is not None:
            result = clang.where(nan, clang.convert(last_element(ordered), result.dtype), result)
        found.append(with_kept_dims(result, dims, keepdims))
    return with_leading(found, q.shape)


def _at_place(ordered: TensorProxy, n: Any, q: float, wanted: DType) -> TensorProxy:
    """The elements of sorted lines of ``n`` elements, of no known number, at ``(n - 1) * q``, which are computed when the program runs."""
    last = clang.sub(clang.convert(symbols.number_of(n), dtypes.int64), 1)
    place = clang.mul(clang.convert(last, dtypes.float64), q)
    before = clang.minimum(clang.convert(clang.floor(place), dtypes.int64), last)
    after = clang.minimum(clang.add(before, 1), last)
    weight = clang.sub(place, clang.convert(before, dtypes.float64))
    low, high = (prims.take(ordered, at, ordered.ndim - 1) for at in (before, after))
    from_low, from_high = (_interpolated(low, high, weight, wanted, ending=ending) for ending in (False, True))
    return clang.where(clang.ge(weight, 0.5), from_high, from_low)


def _interpolated(low: TensorProxy, high: TensorProxy, weight: Any, wanted: DType, *, ending: bool) -> TensorProxy:
    """``low + (high - low) * weight``, from ``low`` or from the ``ending``, which is nearer."""
    if low.dtype.kind == "b":
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    step = clang.convert(clang.sub(high, low), wanted)
    if isinstance(weight, TensorProxy):
        weight = clang.convert(clang.sub(1, weight) if ending else weight, wanted)
    elif ending:
        weight = 1 - weight
    moved = clang.mul(step, weight)
    return clang.sub(clang.convert(high, wanted), moved) if ending else clang.add(clang.convert(low, wanted), moved)


def quantile_function(name: str, divisor: int, compute: Callable[..., TensorProxy], doc: str) -> Symbol:
    """One of NumPy's functions of an array and quantiles ``q``, given in units of ``1 / divisor``.

    ``compute`` takes the array, the :class:`Quantiles`, ``axis``, ``method`` and ``keepdims``. What depends on values
    that are known only when the program runs, and what is weighted, are opaque calls.
    """

    def f(
        a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = NoValue, *, weights: Any = None,
    ) -> TensorProxy:  # fmt: skip
        quantiles = Quantiles(q, divisor)
        check(not overwrite_input, lambda: "a quantile that may sort its argument in place", NeedsEager)
        if weights is not None:
            raise NeedsOpaque("weighted quantiles are not compiled")
        return scalar_unless_kept(compute(as_array(a), quantiles, axis, method, keepdims), keepdims)

    f.__name__ = name
    f.__doc__ = f"{doc} ``q`` is known when the program is traced, else the call is opaque."
    return npsymbol(returns="array", row_major=False, tags=(OpTags.BETTER_OPENED,))(f)
