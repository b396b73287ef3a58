"""Reductions that skip NaN.

A NaN is replaced by the neutral element, and excluded from counts; arrays that cannot hold NaN are reduced unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, is_number
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.numpy import reductions
from tnp.lang.numpy.dtypes import dtype_argument, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, as_item, is_complex, ufunc_axes
from tnp.lang.numpy.quantiles import (
    Quantiles,
    lines,
    middle_mean,
    quantile_function,
    quantile_of,
    scalar_unless_kept,
    with_leading,
)
from tnp.lang.numpy.reductions import (
    NoValue,
    ddof_of,
    divided,
    dtype_by_example,
    keeps_dims,
    mask_of,
    spread_function,
    square_of,
    sum_of,
    with_kept_dims,
)
from tnp.lang.numpy.registry import npsymbol

__all__ = ["nan_to_num", "nanmean", "nanmedian", "nanpercentile", "nanquantile", "nanstd", "nanvar"]


def _replaced(a: TensorProxy, value: Any) -> tuple[TensorProxy, TensorProxy | None]:
    """``a`` with ``value`` for NaN, and where its NaNs are; ``None`` if its dtype has none."""
    if a.dtype.kind not in "fc":
        return a, None
    nan = clang.isnan(a)
    return clang.where(nan, value, a), nan


# What passes NaN over by replacing it


def _replacing_function(name: str, plain_name: str, neutral: int) -> Symbol:
    plain = getattr(reductions, plain_name)

    def f(a: Any, axis: Any = None, dtype: Any = None, *options: Any, **keywords: Any) -> TensorProxy:
        return plain(_replaced(as_array(a), neutral)[0], axis, dtype, *options, **keywords)

    f.__name__ = name
    f.__doc__ = f"``np.{plain_name}`` with {neutral} for NaN."
    return npsymbol()(f)


for _name, _plain, _neutral in (
    ("nansum", "sum", 0),
    ("nanprod", "prod", 1),
    ("nancumsum", "cumsum", 0),
    ("nancumprod", "cumprod", 1),
):
    globals()[_name] = _replacing_function(_name, _plain, _neutral)
    __all__.append(_name)


def _extreme_function(name: str, plain_name: str, neutral: float) -> Symbol:
    plain = getattr(reductions, plain_name)

    def f(
        a: Any, axis: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
    ) -> TensorProxy:
        a = as_array(a)
        low: Any = complex(neutral, neutral) if a.dtype.kind == "c" else neutral
        filled, nan = _replaced(a, low)
        start = NoValue
        all_nan = None if nan is None else reductions.all(nan, axis, keepdims=keepdims, where=where)
        if initial is not NoValue and initial is not None:
            start = as_item(initial, a.dtype)
            if all_nan is not None:
                all_nan = clang.logical_and(*clang.broadcast(all_nan, clang.isnan(start)))
                start = _replaced(start, low)[0]
        result = plain(filled, axis, keepdims=keepdims, initial=start, where=where)
        return result if all_nan is None else clang.where(all_nan, float("nan"), result)

    f.__name__ = name
    f.__doc__ = f"The {plain_name} of the elements that are not NaN; NaN if all are."
    return npsymbol()(f)


nanmax = _extreme_function("nanmax", "max", -np.inf)
nanmin = _extreme_function("nanmin", "min", np.inf)


def _arg_function(name: str, neutral: float) -> Symbol:
    plain = getattr(reductions, name.removeprefix("nan"))

    def f(a: Any, axis: Any = None, *, keepdims: Any = NoValue) -> TensorProxy:
        a = as_array(a)
        low: Any = complex(neutral, neutral) if a.dtype.kind == "c" else neutral
        filled, nan = _replaced(a, low)
        found = plain(filled, axis, keepdims=keepdims)
        if nan is None:
            return found
        some = clang.logical_not(reductions.all(nan, axis))
        return prims.require(found, some, ValueError, "All-NaN slice encountered")

    f.__name__ = name
    f.__doc__ = f"The position of {name} among what is not NaN. Raises ``ValueError`` at run time where all are NaN."
    return npsymbol(tags=(OpTags.MAY_RAISE,))(f)


nanargmax = _arg_function("nanargmax", -np.inf)
nanargmin = _arg_function("nanargmin", np.inf)
__all__ += ["nanargmax", "nanargmin", "nanmax", "nanmin"]


# What counts the elements that are not NaN


def _check_inexact(dtype: Any) -> None:
    check(
        dtype is None or dtype_argument(dtype).kind in "fc",
        lambda: "If a is inexact, then dtype must be inexact",
        TypeError,
    )


def _both(mask: TensorProxy | None, nan: TensorProxy) -> TensorProxy:
    valid = clang.logical_not(nan)
    return valid if mask is None else clang.logical_and(valid, mask)


def _squeezed(result: TensorProxy, dims: tuple[int, ...], keepdims: Any) -> TensorProxy:
    return result if keeps_dims(keepdims) else clang.squeeze(result, dims)


@npsymbol()
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue
) -> TensorProxy:
    """The mean of the elements that are not NaN."""
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return reductions.mean(a, axis, dtype, keepdims, where=where)
    _check_inexact(dtype)
    dims = ufunc_axes(a.ndim, axis)
    valid = _both(mask_of(where, a), clang.isnan(a))
    work = clang.convert(a, dtype_by_example("nanmean", a, dtype))
    count = reductions.count_of(a, dims, valid)
    return _squeezed(divided(sum_of(work, dims, valid), count), dims, keepdims)


def _nanvar(
    name: str, a: TensorProxy, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, given: Any, correction: Any
) -> TensorProxy:
    if a.dtype.kind not in "fc":
        plain = getattr(reductions, name.removeprefix("nan"))
        return plain(a, axis, dtype, ddof, keepdims, where=where, mean=given, correction=correction)
    _check_inexact(dtype)
    ddof = ddof_of(ddof, correction)
    wanted = dtype_by_example(name, a, dtype)
    dims = ufunc_axes(a.ndim, axis)
    valid = _both(mask_of(where, a), clang.isnan(a))
    count = reductions.count_of(a, dims, valid)
    summed = a if a.dtype.kind == "c" else clang.convert(a, wanted)
    center = divided(sum_of(summed, dims, valid), count) if given is NoValue else as_array(given)
    distance = clang.convert(a - center, a.dtype)
    squares = clang.convert(square_of(distance), wanted)
    freedom = clang.convert(count, dtypes.float64) - ddof
    spread = divided(sum_of(squares, dims, valid), freedom)
    spread = clang.where(clang.broadcast_to(freedom <= 0, spread.shape), float("nan"), spread)
    return _squeezed(clang.sqrt(spread) if name == "nanstd" else spread, dims, keepdims)


nanvar = spread_function(
    "nanvar",
    _nanvar,
    "The variance of the elements that are not NaN; NaN where there are not more of them than ``ddof``.",
    (),
)
nanstd = spread_function("nanstd", _nanvar, "The square root of :func:`nanvar`.", ())


# Order statistics


def _sorted_valid(a: TensorProxy, axis: Any) -> tuple[TensorProxy, TensorProxy, tuple[int, ...]]:
    """Lines of ``a`` in order along the last dimension, NaNs last; how many are not NaN; the dimensions they were."""
    along, dims = lines(a, axis)
    ordered = prims.sort(along, along.ndim - 1)
    valid = clang.convert(clang.logical_not(clang.isnan(ordered)), dtypes.int64)
    return ordered, prims.sum(valid, (along.ndim - 1,)), dims


def _at(ordered: TensorProxy, index: TensorProxy) -> TensorProxy:
    """The elements at one position of each line; those before the first are the first."""
    first = clang.where(index < 0, 0, index)
    last = ordered.ndim - 1
    return clang.squeeze(prims.gather(ordered, clang.expand_dims(first, (last,)), last), (last,))


@npsymbol(returns="array", row_major=False, tags=(OpTags.BETTER_OPENED,))
def nanmedian(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = NoValue) -> TensorProxy:
    """The median of the elements that are not NaN; NaN if all are."""
    a = as_array(a)
    check(not overwrite_input, lambda: "np.nanmedian sorts its argument in place", NeedsEager)
    if a.dtype.kind == "c":
        raise NeedsOpaque("np.nanmedian of complex numbers is not compiled")
    if a.dtype.kind != "f":
        along, dims = lines(a, axis)
        return scalar_unless_kept(with_kept_dims(middle_mean(along), dims, keepdims), keepdims)
    check(sizes.concrete((a.numel,), "np.nanmedian") != (0,), lambda: "np.nanmedian of nothing warns", NeedsOpaque)
    ordered, count, dims = _sorted_valid(a, axis)
    pair = clang.stack([_at(ordered, (count - 1) // 2), _at(ordered, count // 2)], ordered.ndim - 1)
    return scalar_unless_kept(with_kept_dims(reductions.mean(pair, -1), dims, keepdims), keepdims)


def _nanquantile(a: TensorProxy, q: Quantiles, axis: Any, method: str, keepdims: Any) -> TensorProxy:
    wanted = q.result_dtype("nanquantile", to_numpy_dtype(a.dtype), method)
    if a.dtype.kind not in "fc":
        return quantile_of(a, q, axis, method, keepdims, wanted)
    if method != "linear" or wanted is not a.dtype:
        # With another dtype, NumPy's result has it or the array's own, as its first line holds a number or none.
        raise NeedsOpaque(f"np.nanquantile by the method {method!r} with a result of {wanted} is not compiled")
    check(sizes.concrete((a.numel,), "np.nanquantile") != (0,), lambda: "np.nanquantile of nothing warns", NeedsOpaque)
    ordered, count, dims = _sorted_valid(a, axis)
    found = [_linear_quantile(ordered, count, float(x), exact=q.is_exact) for x in q.values]
    return with_leading([with_kept_dims(x, dims, keepdims) for x in found], q.shape)


def _linear_quantile(ordered: TensorProxy, count: TensorProxy, q: float, *, exact: bool) -> TensorProxy:
    """The ``q``-th quantile of the first ``count`` elements of each line, which are in order.

    It lies at ``q`` times the last position, linearly between the two elements next to it; ``exact`` takes the one before.
    """
    last = clang.convert(clang.sub(count, 1), dtypes.float64)
    place = clang.mul(last, q)
    before = clang.floor(place)
    low = _at(ordered, clang.convert(before, dtypes.int64))
    if exact:
        return low
    after = clang.where(clang.ge(place, last), before, clang.add(before, 1))
    high = _at(ordered, clang.convert(after, dtypes.int64))
    weight = clang.convert(clang.sub(place, before), ordered.dtype)
    return _between(low, high, weight)


def _between(low: TensorProxy, high: TensorProxy, weight: TensorProxy) -> TensorProxy:
    """``low + (high - low) * weight``, computed from the nearer end as NumPy does."""
    step = clang.sub(high, low)
    from_low = clang.add(low, clang.mul(step, weight))
    from_high = clang.sub(high, clang.mul(step, clang.sub(1, weight)))
    return clang.where(clang.ge(weight, 0.5), from_high, from_low)


nanquantile = quantile_function("nanquantile", 1, _nanquantile, "The ``q``-th quantiles of what is not NaN.")
nanpercentile = quantile_function("nanpercentile", 100, _nanquantile, ":func:`nanquantile` of ``q / 100``.")


# Replacing


@npsymbol()
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> TensorProxy:
    """With numbers for NaN and infinities (by default 0 and the largest finite ones), in real and imaginary part."""
    x = as_array(x)
    check(bool(copy), lambda: "np.nan_to_num(copy=False) writes to its argument", NeedsEager)
    if x.dtype.kind not in "fc":
        return x
    if any(map(is_complex, (nan, posinf, neginf))):
        raise NeedsEager("np.nan_to_num puts a complex number")
    limits = np.finfo(dtypes.real_counterpart(x.dtype).name)
    above = float(limits.max) if posinf is None else posinf
    below = float(limits.min) if neginf is None else neginf

    def finite(part: TensorProxy) -> TensorProxy:
        infinite = clang.isinf(part)
        for condition, value in (
            (clang.isnan(part), nan),
            (clang.logical_and(infinite, clang.gt(part, 0)), above),
            (clang.logical_and(infinite, clang.lt(part, 0)), below),
        ):
            new = value if is_number(value) else clang.broadcast_to(as_array(value, part.dtype), part.shape)
            part = clang.where(condition, new, part)
        return part

    return prims.complex(finite(prims.real(x)), finite(prims.imag(x))) if x.dtype.kind == "c" else finite(x)
