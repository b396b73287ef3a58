"""Reductions and cumulative operations.

NumPy gives the dtype of a result, by a reduction of one element. ``initial`` and ``where`` are applied to the elements
before the reduction: elements that ``where`` excludes become the operation's identity.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number, pyval
from tnp.core.sizes import Dim
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.numpy.dtypes import dtype_argument, result_dtype, result_of, to_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, as_item, as_mask, asked, axes, check_real, static_int, ufunc_axes
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import alias, npsymbol

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "dtype_by_example",
    "keeps_dims",
    "mean",
    "ptp",
    "reduced_dims",
    "spread_function",
    "std",
    "sum_of",
    "var",
    "with_kept_dims",
]

NoValue: Any = np._NoValue


# What reductions share


@cache
def _example(name: str, dtype: np.dtype[Any], options: tuple[tuple[str, Any], ...]) -> DType:
    with np.errstate(all="ignore"):
        return result_of(getattr(np, name)(np.ones(1, dtype), **dict(options)).dtype)


def dtype_by_example(name: str, a: TensorProxy, dtype: Any = None, **options: Any) -> DType:
    """The dtype that ``np.<name>(a, dtype=dtype)`` has, found on one element. Raises what NumPy raises."""
    if dtype is not None:
        wanted = dtype_argument(dtype)
        check_real(a, wanted)
        options["dtype"] = to_numpy_dtype(wanted)
    return _example(name, to_numpy_dtype(a.dtype), tuple(options.items()))


def reduced_dims(a: TensorProxy, axis: Any) -> tuple[int, ...]:
    """The dimensions that ``axis`` names, ``None`` meaning all. Raises ``AxisError``, ``ValueError``, ``TypeError``."""
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    return axes(a.ndim, axis)


def keeps_dims(keepdims: Any) -> bool:
    """The flag ``keepdims`` as a bool. Raises ``TypeError`` if it is not an integer, and ``NeedsEager`` if it overflows a C ``int``."""
    if keepdims is NoValue:
        return False
    wanted = static_int(keepdims, "keepdims")
    check(-(2**31) <= wanted < 2**31, lambda: "a C int does not hold keepdims", NeedsEager)
    return wanted != 0


def with_kept_dims(result: TensorProxy, dims: Sequence[int], keepdims: Any) -> TensorProxy:
    """The result of a reduction, with the dimensions ``dims`` as ones if they are kept."""
    return clang.expand_dims(result, dims) if keeps_dims(keepdims) else result


def mask_of(where: Any, a: TensorProxy, *, counts: bool = False) -> TensorProxy | None:
    """``where`` as a bool array of the shape of ``a``; ``None`` if it is ``True``. Raises as NumPy for what is no mask."""
    if where is NoValue or where is True:
        return None
    mask = as_mask(where)
    if counts and as_array(where).dtype is not dtypes.bool8:  # NumPy takes the sum of such values for a count
        raise NeedsEager("it counts elements by a mask that is not of bools")
    check(mask.ndim <= a.ndim, lambda: "non-broadcastable where operand")
    return clang.broadcast_to(mask, a.shape)


def count_of(a: TensorProxy, dims: Sequence[int], mask: TensorProxy | None) -> Any:
    """How many elements are reduced: a number, or with a mask an int64 array with the dimensions kept."""
    if mask is None:
        return sizes.product([a.shape[d] for d in dims])
    return clang.expand_dims(prims.sum(clang.convert(mask, dtypes.int64), dims), dims)


def sum_of(a: TensorProxy, dims: Sequence[int], mask: TensorProxy | None = None) -> TensorProxy:
    """The sum where the mask holds, in the dtype of ``a``, the dimensions kept."""
    kept = a if mask is None else clang.where(mask, a, False if a.dtype.kind == "b" else 0)
    return clang.expand_dims(prims.sum(kept, dims), dims)


def divided(total: TensorProxy, count: Any) -> TensorProxy:
    """``total / count`` in the dtype of ``total``, computed in one that holds the count."""
    narrow = total.dtype.kind not in "fc" or total.dtype is dtypes.float16
    wide = dtypes.float64 if narrow else total.dtype
    divisor = clang.convert(count, wide) if isinstance(count, TensorProxy) else count
    return clang.convert(clang.div(clang.convert(total, wide), divisor), total.dtype)


# Sums, products, extremes, truth


def _reduce_function(name: str, *, method: str, has_dtype: bool, identity: Any) -> Symbol:
    reduce = prims.registry[name]
    numpy_name = method

    def compute(a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> TensorProxy:
        a = as_array(a)
        dims = ufunc_axes(a.ndim, axis)
        work = dtype_by_example(numpy_name, a, dtype)
        a = clang.convert(a, work)
        mask = mask_of(where, a)
        if initial is None or initial is NoValue:
            check(
                mask is None or identity is not None,
                lambda: (
                    f"reduction operation '{name}' does not have an identity, so to use a where mask one has to "
                    "specify 'initial'"
                ),
            )
            start = None
        else:
            start = as_item(initial, work)
            check(start.ndim == 0, lambda: "Input object to FillWithScalar is not a scalar")
        if mask is not None:
            neutral = start if identity is None else (bool(identity) if work is dtypes.bool8 else identity)
            a = clang.where(mask, a, neutral)
        return with_kept_dims(_reduced(a, dims, start), dims, keepdims)

    def _reduced(a: TensorProxy, dims: Sequence[int], start: TensorProxy | None) -> TensorProxy:
        if start is not None and dims and identity is None:
            # The initial value stands in front of the elements, and in each dimension of which there may be none: the least and the
            # greatest do not mind repeats.
            for at in [dims[0], *(d for d in dims[1:] if type(a.shape[d]) is not int or a.shape[d] == 0)]:
                first = clang.broadcast_to(start, tuple(1 if d == at else n for d, n in enumerate(a.shape)))
                a = clang.concatenate([first, a], at)
            return reduce(a, dims)
        if identity is None and start is None:
            left = tuple(n for d, n in enumerate(a.shape) if d not in dims)
            none = [type(n) is int and n == 0 for n in a.shape]
            if builtins.any(none) and not builtins.any(none[d] for d in dims):
                return clang.full(left, 0, dtype=a.dtype, device=a.device)
        result = reduce(a, dims)
        return result if start is None else _COMBINE[name](start, result)

    def _with_dtype(
        a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = NoValue, initial: Any = NoValue,
        where: Any = NoValue,
    ) -> TensorProxy:  # fmt: skip
        return compute(a, axis, dtype, keepdims, initial, where)

    def _without_dtype(
        a: Any, axis: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
    ) -> TensorProxy:
        return compute(a, axis, None, keepdims, initial, where)

    f = _with_dtype if has_dtype else _without_dtype
    f.__name__ = numpy_name
    f.__doc__ = f"``np.{numpy_name}``: the {name} of the elements along ``axis``."
    return npsymbol(method=method, tags=() if identity is None else (OpTags.ANY_SIZE,))(f)


_COMBINE = {
    "sum": lambda x, y: clang.logical_or(x, y) if x.dtype.kind == "b" else clang.add(x, y),
    "prod": lambda x, y: clang.logical_and(x, y) if x.dtype.kind == "b" else clang.mul(x, y),
    "amax": clang.maximum,
    "amin": clang.minimum,
}

for _prim_name, _method, _has_dtype, _identity in (
    ("sum", "sum", True, 0),
    ("prod", "prod", True, 1),
    ("amax", "max", False, None),
    ("amin", "min", False, None),
):
    globals()[_method] = _reduce_function(_prim_name, method=_method, has_dtype=_has_dtype, identity=_identity)
    __all__.append(_method)
alias("amax", globals()["max"])
alias("amin", globals()["min"])


def _truth_function(name: str, neutral: bool) -> Symbol:
    def f(a: Any, axis: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> TensorProxy:
        a = as_array(a)
        dims = ufunc_axes(a.ndim, axis)
        mask = mask_of(where, a)
        truth = clang.convert(a, dtypes.bool8)
        truth = truth if mask is None else clang.where(mask, truth, neutral)
        return with_kept_dims(prims.registry[name](truth, dims), dims, keepdims)

    f.__name__ = name
    f.__doc__ = f"Whether {name} elements along ``axis`` are true; NaN is."
    return npsymbol(method=name, tags=(OpTags.ANY_SIZE,))(f)


any = _truth_function("any", False)
all = _truth_function("all", True)
__all__ += ["all", "any"]


@npsymbol()
def ptp(a: Any, axis: Any = None, keepdims: Any = NoValue) -> TensorProxy:
    """The largest element less the smallest, in the array's dtype. Raises ``TypeError`` for bool, as NumPy does."""
    a = as_array(a)
    dims = ufunc_axes(a.ndim, axis)
    check(a.dtype.kind != "b", lambda: "numpy boolean subtract, the `-` operator, is not supported", TypeError)
    return with_kept_dims(clang.sub(prims.amax(a, dims), prims.amin(a, dims)), dims, keepdims)


# Means and variances


@npsymbol(method="mean", tags=(OpTags.ANY_SIZE,))
def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> TensorProxy:
    """The mean along ``axis``: integers in float64, float16 summed in float32."""
    a = as_array(a)
    dims = reduced_dims(a, axis)
    wanted = dtype_by_example("mean", a, dtype)
    work = dtypes.float32 if dtype is None and wanted is dtypes.float16 else wanted
    mask = mask_of(where, a, counts=True)
    count = count_of(a, dims, mask)
    check(mask is not None or type(count) is not int or count != 0, lambda: "np.mean of nothing warns", NeedsOpaque)
    total = sum_of(clang.convert(a, work), dims, mask)
    result = clang.convert(divided(total, count), wanted)
    return result if keeps_dims(keepdims) else clang.squeeze(result, dims)


def ddof_of(ddof: Any, correction: Any) -> Any:
    """The degrees of freedom taken off. Raises ``ValueError`` if it is said twice."""
    for x in (ddof, correction):
        kind = x.dtype.kind if isinstance(x, TensorProxy) else getattr(x, "python_type", type(x))
        if (isinstance(x, TensorProxy) and x.ndim) or kind in ("c", complex, list, tuple):
            raise NeedsEager("degrees of freedom are several, or complex")
        if kind is float and math.isnan(pyval(x)):
            raise NeedsEager("degrees of freedom are NaN")
    if correction is NoValue:
        return ddof
    check(is_number(ddof) and ddof == 0, lambda: "ddof and correction can't be provided simultaneously.")
    return correction


def square_of(x: TensorProxy) -> TensorProxy:
    """The squared magnitude of each element; real."""
    if x.dtype.kind != "c":
        return clang.mul(x, x)
    return clang.add(clang.square(prims.real(x)), clang.square(prims.imag(x)))


def _var(
    name: str, a: TensorProxy, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, given: Any, correction: Any
) -> TensorProxy:
    ddof = ddof_of(ddof, correction)
    dims = reduced_dims(a, axis)
    mask = mask_of(where, a, counts=True)
    wanted = dtype_by_example(name, a, dtype)
    count = count_of(a, dims, mask)
    if (type(count) is int or symbols.is_symbol(count)) and type(ddof) in (int, float):
        check(asked(lambda: count > ddof), lambda: f"np.{name} of too little warns", NeedsOpaque)
    check(
        a.dtype.kind != "c" or dtype is None or to_dtype(dtype).kind == "c",
        lambda: "it is of complex numbers",
        NeedsOpaque,
    )
    check(
        wanted.kind in "fc",
        lambda: f"Cannot cast ufunc 'subtract' output to {wanted} with casting rule 'same_kind'",
        NeedsEager,
    )
    if given is not NoValue:
        given = as_array(given)
        wanted = wanted if dtype is not None else dtypes.real_counterpart(result_dtype(a, given))
    work = result_dtype(a, as_array(0, wanted))
    if mask is None and given is NoValue and is_number(ddof):
        spread = clang.expand_dims(prims.var(clang.convert(a, work), dims, correction=ddof), dims)
    else:
        values = clang.convert(a, work)
        center = divided(sum_of(values, dims, mask), count) if given is NoValue else given
        squares = square_of(values - center)
        freedom = as_array(count, dtypes.float64) - ddof
        total = sum_of(squares, dims, mask)
        spread = divided(total, clang.convert(clang.where(freedom < 0, 0.0, freedom), dtypes.float64))
    result = clang.convert(spread, wanted)
    result = clang.sqrt(result) if name == "std" else result
    return result if keeps_dims(keepdims) else clang.squeeze(result, dims)


def spread_function(name: str, compute: Callable[..., TensorProxy], doc: str, method: str | tuple[str, ...]) -> Symbol:
    """A variance or standard deviation of NumPy's; ``compute`` takes its name, then its arguments in order."""

    def f(
        a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = NoValue, *,
        where: Any = NoValue, mean: Any = NoValue, correction: Any = NoValue,
    ) -> TensorProxy:  # fmt: skip
        return compute(name, as_array(a), axis, dtype, ddof, keepdims, where, mean, correction)

    f.__name__ = name
    f.__doc__ = doc
    return npsymbol(method=method)(f)


var = spread_function(
    "var",
    _var,
    "The mean squared distance from the mean along ``axis``, divided by ``n - ddof``; real for complex.",
    "var",
)
std = spread_function("std", _var, "The square root of :func:`var`.", "std")


# Positions and counts


def _arg_function(name: str) -> Symbol:
    reduce = prims.registry[name]

    def f(a: Any, axis: Any = None, *, keepdims: Any = NoValue) -> TensorProxy:
        a = as_array(a)
        if axis is None or a.ndim == 0:
            if axis is not None:
                one_axis(1, axis)
            found = reduce(clang.reshape(a, (-1,)) if a.ndim != 1 else a, 0)
            return with_kept_dims(found, range(a.ndim), keepdims)
        dim = one_axis(a.ndim, axis)
        return with_kept_dims(reduce(a, dim), (dim,), keepdims)

    f.__name__ = name
    f.__doc__ = f"The int64 position of ``{name[3:]}`` along ``axis``: the first of equals, a NaN before all others."
    return npsymbol(method=name)(f)


argmax = _arg_function("argmax")
argmin = _arg_function("argmin")

#: what ``np.count_nonzero`` counts the whole array with: an int before NumPy 2.4, then a NumPy scalar
_COUNTS_IN_PYTHON = type(np.count_nonzero(np.ones(1))) is int


@npsymbol(tags=(OpTags.ANY_SIZE,))
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> TensorProxy | NumberProxy:
    """How many elements along ``axis`` are not zero."""
    a = as_array(a)
    dims = ufunc_axes(a.ndim, axis)
    counts = prims.sum(clang.convert(clang.convert(a, dtypes.bool8), dtypes.int64), dims)
    if axis is None and not keepdims and _COUNTS_IN_PYTHON:
        return prims.item(counts)
    return with_kept_dims(counts, dims, keepdims)


# Running sums and products


def _running(name: str, a: TensorProxy, dim: int, dtype: Any) -> TensorProxy:
    work = dtype_by_example(name, a, dtype)
    if work is dtypes.bool8:
        name = {"cumsum": "cummax", "cumprod": "cummin"}[name]
    return prims.registry[name](clang.convert(a, work), dim)


def _cumulative_function(name: str) -> Symbol:
    def f(a: Any, axis: Any = None, dtype: Any = None) -> TensorProxy:
        a = as_array(a)
        if axis is None or a.ndim == 0:
            if axis is not None:
                one_axis(1, axis)
            return _running(name, clang.reshape(a, (-1,)) if a.ndim != 1 else a, 0, dtype)
        return _running(name, a, one_axis(a.ndim, axis), dtype)

    f.__name__ = name
    f.__doc__ = f"The running {'sum' if name == 'cumsum' else 'product'} along ``axis``, or of all elements in C order."
    return npsymbol(method=name)(f)


cumsum = _cumulative_function("cumsum")
cumprod = _cumulative_function("cumprod")


def _standard_cumulative_function(name: str, running: str, start: int) -> Symbol:
    def f(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> TensorProxy:
        x = as_array(x)
        x = clang.reshape(x, (1,)) if x.ndim == 0 else x
        check(
            axis is not None or x.ndim == 1,
            lambda: "For arrays which have more than one dimension ``axis`` argument is required.",
        )
        dim = 0 if axis is None else one_axis(x.ndim, axis)
        result = _running(running, x, dim, dtype)
        if not include_initial:
            return result
        front: list[Dim] = [1 if d == dim else n for d, n in enumerate(x.shape)]
        value = bool(start) if result.dtype is dtypes.bool8 else start
        return clang.concatenate([clang.full(tuple(front), value, dtype=result.dtype), result], dim)

    f.__name__ = name
    f.__doc__ = f"``np.{running}`` with the Array API standard's parameters."
    return npsymbol()(f)


# These came with NumPy 2.1.
for _name, _running_name, _start in (("cumulative_sum", "cumsum", 0), ("cumulative_prod", "cumprod", 1)):
    if hasattr(np, _name):
        globals()[_name] = _standard_cumulative_function(_name, _running_name, _start)
        __all__.append(_name)
