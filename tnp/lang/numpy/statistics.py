"""Averages, order statistics, covariances, histograms, and searching in sorted arrays."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy import reductions
from tnp.lang.numpy.dtypes import dtype_argument, result_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, axes, integer_or_eager, listed, promote, size_or_int
from tnp.lang.numpy.quantiles import Quantiles, lines, middle_mean, quantile_function, quantile_of, scalar_unless_kept
from tnp.lang.numpy.reductions import NoValue, keeps_dims, sum_of, with_kept_dims
from tnp.lang.numpy.registry import npsymbol
from tnp.lang.numpy.selection import ask_numpy

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram_bin_edges",
    "median",
    "percentile",
    "quantile",
    "searchsorted",
]


# Averages


def _fitting_weights(weights: Any, a: TensorProxy, axis: Any) -> TensorProxy:
    """Weights that broadcast against ``a``: of its shape, or of that of the dimensions that are averaged."""
    given = as_array(weights)
    is_same = sizes.shapes_equal(given.shape, a.shape)
    if is_same:
        return given
    check(is_same is False, lambda: "whether its weights fit is known only when the program runs", NeedsOpaque)
    check(axis is not None, lambda: "Axis must be specified when shapes of a and weights differ.", TypeError)
    dims = axes(a.ndim, axis)
    check(
        sizes.shapes_equal(given.shape, [a.shape[d] for d in dims]),
        lambda: "Shape of weights must be consistent with shape of a along specified axis.",
    )
    ordered = clang.transpose(given, sorted(range(len(dims)), key=lambda i: dims[i]))
    return clang.expand_dims(ordered, [d for d in range(a.ndim) if d not in dims])


@npsymbol(tags=(OpTags.MAY_RAISE,))
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NoValue) -> Any:
    """The weighted mean along ``axis``, with the sum of the weights if ``returned``.

    Raises ``ZeroDivisionError`` at run time for weights that sum to zero.
    """
    a, axis = as_array(a), listed(axis)
    dims = axes(a.ndim, axis)
    if weights is None:
        mean = reductions.mean(a, dims, keepdims=keepdims)
        count = sizes.product([a.shape[d] for d in dims])
        check(
            0 not in [n for n in mean.shape if type(n) is int],
            lambda: "how many elements the mean of nothing is of is divided by zero",
            NeedsOpaque,
        )
        return (mean, clang.full(mean.shape, count, dtype=mean.dtype)) if returned else mean
    weight = _fitting_weights(weights, a, axis)
    dtype = result_dtype(a, weight)
    if a.dtype.kind in "biu":
        dtype = result_dtype(clang.convert(a, dtype), np.float64(0))
    weight = clang.convert(weight, dtype)
    total = sum_of(weight, dims)
    total = prims.require(
        total, clang.ne(total, 0), ZeroDivisionError, "Weights sum to zero, can't be normalized"
    )  # fmt: skip
    mean = clang.div(*clang.broadcast(sum_of(clang.mul(clang.convert(a, dtype), weight), dims), total))
    kept = keeps_dims(keepdims)
    if not returned:
        return mean if kept else clang.squeeze(mean, dims)
    total = clang.broadcast_to(total, mean.shape)
    return (mean, total) if kept else (clang.squeeze(mean, dims), clang.squeeze(total, dims))


# Order statistics


@npsymbol(returns="array", row_major=False, tags=(OpTags.BETTER_OPENED,))
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> TensorProxy:
    """The middle element, or the mean of the two in the middle, along ``axis``; NaN where there is one."""
    a = as_array(a)
    check(not overwrite_input, lambda: "np.median sorts its argument in place", NeedsEager)
    along, dims = lines(a, axis)
    return scalar_unless_kept(with_kept_dims(middle_mean(along), dims, keepdims), keepdims)


def _quantile(a: TensorProxy, q: Quantiles, axis: Any, method: str, keepdims: Any) -> TensorProxy:
    return quantile_of(a, q, axis, method, keepdims, q.result_dtype("quantile", to_numpy_dtype(a.dtype), method))


quantile = quantile_function("quantile", 1, _quantile, "The ``q``-th quantiles along ``axis``.")
percentile = quantile_function("percentile", 100, _quantile, ":func:`quantile` of ``q / 100``.")


# Covariances


def _covariance(m: Any, y: Any, rowvar: Any, bias: Any, ddof: Any, dtype: Any) -> TensorProxy:
    """The covariance matrix of the rows (or columns) of ``m`` and ``y``; a matrix also for one variable."""
    operands = [as_array(x) for x in (m, y) if x is not None]
    for name, x in zip("my", operands):
        check(x.ndim <= 2, lambda: f"{name} has more than 2 dimensions")
    if ddof is not None and getattr(ddof, "python_type", type(ddof)) is float:
        check(int(pyval(ddof)) == pyval(ddof), lambda: "ddof must be integer")
        ddof = int(pyval(ddof))
    work = result_dtype(*operands, np.float64(0)) if dtype is None else dtype_argument(dtype)
    if work.kind not in "fc":
        raise NeedsOpaque("a covariance in integers is not compiled")
    rows = []
    for i, x in enumerate(operands):
        wide = clang.expand_dims(clang.convert(x, work), range(2 - x.ndim))
        as_columns = not rowvar and (x.ndim != 1 if i == 0 else wide.shape[0] != 1)
        rows.append(clang.matrix_transpose(wide) if as_columns else wide)
    if rows[0].shape[0] == 0:
        raise NeedsOpaque("the covariance of nothing is not compiled")
    joined = clang.concatenate(rows, 0) if len(rows) > 1 else rows[0]
    taken = (0 if bias else 1) if ddof is None else integer_or_eager(ddof)
    count = sizes.at_least(joined.shape[1], taken + 1, "a covariance")
    # Each in turn: centered, it is written to its place once.
    parts = [clang.sub(*clang.broadcast(x, reductions.mean(x, 1, keepdims=True))) for x in rows]
    centered = clang.concatenate(parts, 0) if len(parts) > 1 else parts[0]
    mirrored = clang.conj(centered) if work.kind == "c" else centered
    products = prims.matmul(centered, clang.matrix_transpose(mirrored))
    if symbols.value_of(count) is None:
        return clang.mul(products, clang.div(1, clang.sub(count, taken)))
    (known,) = sizes.extents((count,), "a covariance")
    # Without degrees of freedom left NumPy warns.
    check(known > taken, lambda: "the covariance of too little is not compiled", NeedsOpaque)
    freedom = symbols.number_of(known - taken)
    return clang.mul(products, 1 / freedom if isinstance(freedom, int) else clang.div(1, freedom))


@npsymbol(returns="array", row_major=False, tags=(OpTags.BETTER_OPENED,))
def cov(
    m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> TensorProxy:  # fmt: skip
    """The covariance matrix of variables that are rows (columns without ``rowvar``); 0-d for one variable."""
    if fweights is not None or aweights is not None:
        raise NeedsOpaque("weighted covariances are not compiled")
    matrix = _covariance(m, y, rowvar, bias, ddof, dtype)
    return clang.squeeze(matrix, [d for d in (0, 1) if matrix.shape[d] == 1])


@npsymbol(row_major=False, tags=(OpTags.BETTER_OPENED,))
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> TensorProxy:
    """The correlation coefficients of variables that are rows (columns without ``rowvar``); a scalar for one."""
    matrix = _covariance(x, y, rowvar, False, None, dtype)
    if matrix.shape == (1, 1):
        only = clang.squeeze(matrix, (0, 1))
        return clang.div(only, only)
    variances = prims.diagonal(matrix, 0, 0, 1)
    is_complex = matrix.dtype.kind == "c"
    deviations = clang.sqrt(prims.real(variances) if is_complex else variances)
    deviations = clang.convert(deviations, matrix.dtype)
    scaled = clang.div(*clang.broadcast(matrix, clang.expand_dims(deviations, (1,))))
    scaled = clang.div(*clang.broadcast(scaled, deviations))

    def bounded(part: TensorProxy) -> TensorProxy:
        return clang.minimum(clang.maximum(part, -1.0), 1.0)

    return prims.complex(bounded(prims.real(scaled)), bounded(prims.imag(scaled))) if is_complex else bounded(scaled)


# Searching


@npsymbol(method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> TensorProxy:
    """Where to insert each of ``v`` into the sorted 1-d ``a``; int64. ``sorter`` are the indices that sort ``a``."""
    check(side in ("left", "right"), lambda: f"search side must be 'left' or 'right' (got '{side}')")
    a, v = promote(as_array(a), as_array(v))
    check(a.ndim == 1, lambda: "object too deep for desired array")
    if sorter is not None:
        order = as_array(sorter)
        check(order.dtype.kind in "biu", lambda: "sorter must only contain integers", TypeError)
        check(
            order.ndim == 1 and sizes.equal(order.shape[0], a.shape[0]),
            lambda: "sorter.size must equal array.size",
        )
        a = prims.take(a, clang.convert(order, dtypes.int64), 0)
    return prims.searchsorted(a, v, side == "right")


@npsymbol(tags=(OpTags.MAY_RAISE,))
def digitize(x: Any, bins: Any, right: Any = False) -> TensorProxy:
    """The number of the bin, of monotonic edges ``bins``, that each of ``x`` falls into; int64.

    Raises ``ValueError`` at run time for edges that neither ascend nor descend.
    """
    x, bins = promote(as_array(x), as_array(bins))
    check(x.dtype.kind != "c", lambda: "x may not be complex", TypeError)
    check(bins.ndim == 1, lambda: "object too deep for desired array")
    (n,) = bins.shape
    if type(n) is int and n < 2:
        return prims.searchsorted(bins, x, not right)
    sizes.extents(bins.shape, "np.digitize")
    descends = clang.lt(prims.select(bins, 0, n - 1), prims.select(bins, 0, 0))
    ascending = clang.where(descends, clang.flip(bins, (0,)), bins)
    falls = clang.gt(clang.slice_dim(ascending, 0, n - 1, dim=0), clang.slice_dim(ascending, 1, n, dim=0))
    found = prims.searchsorted(ascending, x, not right)
    found = clang.where(descends, clang.sub(clang.full_like(found, n), found), found)
    return prims.require(
        found, clang.logical_not(falls), ValueError, "bins must be monotonically increasing or decreasing"
    )


# Counting


@npsymbol(tags=(OpTags.MAY_RAISE,))
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> TensorProxy:
    """How often each number from 0 on stands in the 1-d ``x``, or the sum of its weights.

    The length, one more than the largest number or ``minlength``, is known at run time. Raises ``ValueError`` then for
    negative numbers.
    """
    is_list = isinstance(x, (list, tuple))
    x = as_array(x)
    if not (is_list and x.shape == (0,)):
        if is_list and x.dtype.kind not in "biu":
            raise NeedsEager("np.bincount warns of a list whose numbers are not all integers")
        ask_numpy(np.bincount, TensorProxy(like=x, shape=(1,)))  # uint64 is taken from NumPy 2.4 on
    check(x.ndim == 1, lambda: "object of too small depth for desired array")
    least = size_or_int(minlength, "minlength")
    check(symbols.extent(least) >= 0, lambda: "'minlength' must not be negative")
    x = clang.convert(x, dtypes.int64)
    if weights is None:
        amounts = clang.full_like(x, 1)
    else:
        amounts = as_array(weights)
        check(
            np.can_cast(to_numpy_dtype(amounts.dtype), np.float64),
            lambda: f"Cannot cast array data from {amounts.dtype} to float64 according to the rule 'safe'",
            TypeError,
        )
        amounts = clang.convert(amounts, dtypes.float64)
        check(sizes.shapes_equal(amounts.shape, x.shape), lambda: "The weights and list don't have the same length.")
    if x.shape == (0,):
        return clang.full((least,), 0, dtype=dtypes.int64)
    x = prims.require(x, clang.ge(x, 0), ValueError, "'list' argument must have no negative elements")
    length = clang.maximum(clang.add(prims.amax(x, (0,)), 1), least)
    zeros = clang.full((prims.item(length),), 0, dtype=amounts.dtype)
    return prims.index_put(zeros, [x], amounts, True)


def _outer_edges(a: TensorProxy, range: Any) -> tuple[TensorProxy, TensorProxy, DType]:
    """The first and the last edge of equal bins, floating, and the dtype that NumPy gives all edges."""
    if range is not None:
        first, last = range
        kind = result_dtype(*(x if is_number(x) else as_array(x) for x in (first, last)), a)
        low, high = as_array(first), as_array(last)
        _check_ordered(first, last)
    elif a.numel == 0:
        kind, low, high = result_dtype(a, 0), as_array(0), as_array(1)
    else:
        every = axes(a.ndim, None)
        kind, low, high = a.dtype, prims.amin(a, every), prims.amax(a, every)
    kind = dtypes.float64 if kind.kind in "biu" else kind
    work = result_dtype(low, high, 1.0)
    low, high = clang.convert(low, work), clang.convert(high, work)
    finite = clang.logical_and(clang.isfinite(low), clang.isfinite(high))
    if range is not None:
        low = prims.require(low, clang.le(low, high), ValueError, "max must be larger than min in range parameter.")
    low = prims.require(
        low, finite, ValueError, f"{'supplied' if range is not None else 'autodetected'} range is not finite"
    )
    same = clang.eq(low, high)
    return clang.where(same, clang.sub(low, 0.5), low), clang.where(same, clang.add(high, 0.5), high), kind


def _check_ordered(first: Any, last: Any) -> None:
    """Raises now, rather than at run time, for a range that is known to be wrong."""
    known = [x for x in (first, last) if type(x) in (int, float)]
    check(all(math.isfinite(x) for x in known), lambda: f"supplied range of [{first}, {last}] is not finite")
    check(len(known) < 2 or first <= last, lambda: "max must be larger than min in range parameter.")


def _bin_edges(a: TensorProxy, bins: Any, range: Any) -> tuple[TensorProxy, bool]:
    """The edges of the bins, and whether there are so many equal ones rather than given edges."""
    if isinstance(bins, str) or a.dtype.kind in "bc":
        raise NeedsOpaque(
            "a number of bins that depends on the values, or a histogram of complex or bool, is not compiled"
        )
    if isinstance(bins, (TensorProxy, list, tuple, builtins.range)) and as_array(bins).ndim != 0:
        edges = as_array(bins)
        check(edges.ndim == 1, lambda: "`bins` must be 1d, when an array")
        (n,) = sizes.extents(edges.shape, "np.histogram")
        if n < 2:
            raise NeedsOpaque("a histogram of less than two edges is not compiled")
        return edges, False
    count = symbols.extent(symbols.as_dimension(size_or_int(bins, "`bins`")))
    check(count >= 1, lambda: "`bins` must be positive, when an integer")
    first, last, kind = _outer_edges(a, range)
    step = clang.div(clang.sub(last, first), symbols.number_of(count))
    places = clang.add(clang.mul(clang.arange(count, dtype=first.dtype), step), first)
    edges = clang.convert(clang.concatenate([places, clang.expand_dims(last, (0,))], 0), kind)
    grows = clang.lt(clang.slice_dim(edges, 0, count, dim=0), clang.slice_dim(edges, 1, count + 1, dim=0))
    number = count if type(count) is int else "so many"  # which eager says, where it may raise the error
    message = f"Too many bins for data range. Cannot create {number} finite-sized bins."
    return prims.require(edges, grows, ValueError, message), True


@npsymbol(returns="view", tags=(OpTags.MAY_RAISE,))
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> TensorProxy:
    """The edges of ``bins`` equal bins over the range of ``a``."""
    edges, equal = _bin_edges(as_array(a), bins, range)
    if equal:
        return edges
    if isinstance(bins, TensorProxy):
        raise NeedsEager("np.histogram_bin_edges is called with edges, which it checks and gives back")
    return _ascending(edges)


@npsymbol(returns="view", tags=(OpTags.MAY_RAISE, OpTags.BETTER_OPENED))
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[TensorProxy, TensorProxy]:
    """How many elements, or how much of ``weights``, fall between edges: ``(counts, edges)``; the last bin is closed.

    Raises ``ValueError`` at run time for edges that do not ascend, or a range that is not finite.
    """
    a = as_array(a)
    weight = None if weights is None else as_array(weights)
    if weight is not None:
        check(sizes.shapes_equal(weight.shape, a.shape), lambda: "weights should have the same shape as a.")
        if weight.dtype.kind == "b":
            raise NeedsOpaque("a histogram with bool weights is not compiled")
    edges, equal = _bin_edges(a, bins, range)
    if equal:
        values, limits = clang.convert(a, edges.dtype), edges
    else:
        values, limits = promote(a, edges)
        limits = _ascending(limits)
    counts = _counts(clang.reshape(values, (-1,)), limits, weight, equal and edges.dtype.bits >= 32)
    if density:
        before, after = _neighbours(edges)
        widths = clang.convert(clang.sub(after, before), dtypes.float64)
        counts = counts / widths / reductions.sum(counts)
    return counts, edges


def _ascending(edges: TensorProxy) -> TensorProxy:
    ascends = clang.le(*_neighbours(edges))
    return prims.require(edges, ascends, ValueError, "`bins` must increase monotonically, when an array")


def _neighbours(edges: TensorProxy) -> tuple[TensorProxy, TensorProxy]:
    (n,) = sizes.extents(edges.shape, "np.histogram")
    return clang.slice_dim(edges, 0, n - 1, dim=0), clang.slice_dim(edges, 1, n, dim=0)


def _counts(values: TensorProxy, edges: TensorProxy, weight: TensorProxy | None, equal: bool) -> TensorProxy:
    """What falls into the bins, which may be ``equal``, between ascending ``edges``: added up in int64, or in double precision."""
    (n,) = sizes.extents(edges.shape, "np.histogram")
    first, last = prims.select(edges, 0, 0), prims.select(edges, 0, symbols.number_of(n - 1))
    inside = clang.logical_and(clang.ge(values, first), clang.le(values, last))
    if equal:
        found = _equal_bin(clang.where(inside, values, first), edges, n - 1)
    else:
        found = clang.sub(prims.searchsorted(edges, values, True), 1)
    found = clang.maximum(clang.minimum(found, symbols.number_of(n - 2)), 0)
    if weight is None:
        amounts = clang.convert(inside, dtypes.int64)
        kind = dtypes.int64
    else:
        kind = weight.dtype
        wide = dtypes.complex128 if kind.kind == "c" else dtypes.float64
        amounts = clang.where(inside, clang.reshape(clang.convert(weight, wide), (-1,)), 0)
    zeros = clang.full(symbols.dimensions((n - 1,)), 0, dtype=amounts.dtype)
    return clang.convert(prims.index_put(zeros, [found], amounts, True), kind)


def _equal_bin(values: TensorProxy, edges: TensorProxy, bins: Any) -> TensorProxy:
    """The bin of each value, which lies between the first and the last edge, among so many equal ones: by NumPy's arithmetic, which is right but
    for one bin, and compared with the edges."""
    count, most = symbols.number_of(bins), symbols.number_of(bins - 1)
    first, last = prims.select(edges, 0, 0), prims.select(edges, 0, count)
    distance = clang.mul(clang.div(clang.sub(values, first), clang.sub(last, first)), count)
    guess = clang.maximum(clang.minimum(clang.convert(distance, dtypes.int64), most), 0)
    below = clang.lt(values, prims.take(edges, guess, 0))
    guess = clang.maximum(clang.sub(guess, clang.convert(below, dtypes.int64)), 0)
    above = clang.ge(values, prims.take(edges, clang.add(guess, 1), 0))
    return clang.add(guess, clang.convert(above, dtypes.int64))
