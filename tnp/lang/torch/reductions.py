"""Reductions and cumulative functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from tnp.core import clang, dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.torch.dtypes import dtype_or
from tnp.lang.torch.elementwise import mul, true_divide
from tnp.lang.torch.operands import dimension, dimensions, float_dtype, known, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__ = ["is_of_nothing", "reduced"]


def reduced(prim: Any, a: TensorProxy, dims: tuple[int, ...], keepdim: Any, **parameters: Any) -> TensorProxy:
    """``prim`` along ``dims``; with ``keepdim`` they stay as dimensions of length 1."""
    result = prim(a, dims, **parameters)
    if keepdim and dims:
        result = clang.reshape(result, tuple(1 if i in dims else n for i, n in enumerate(a.shape)))
    return result


def is_of_nothing(a: TensorProxy, dims: Iterable[int]) -> bool:
    """Whether a reduction along ``dims`` has no elements for a result."""
    return any(a.shape[d] == 0 for d in dims if a.ndim)


def _sum_dtype(a: TensorProxy, dtype: Any) -> DType:
    return dtype_or(dtype, dtypes.int64 if a.dtype.kind in "biu" else a.dtype)


def _checked_conversion(a: TensorProxy, dtype: DType) -> TensorProxy:
    if a.dtype.kind == "c" and dtype.kind != "c":
        raise NeedsOpaque("complex numbers as others")
    return clang.convert(a, dtype)


def _is_half(*xs: Any) -> bool:
    return any(isinstance(x, TensorProxy) and x.dtype.kind == "f" and x.dtype.bits == 16 for x in xs)


@torchsymbol("sum", tags=(OpTags.ANY_SIZE,), unknown_sizes=True, rounds_once=True)
def sum(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The sum; integers are added in int64."""
    tensor_only(input)
    if _is_half(input):
        raise NeedsOpaque("a sum of halves")
    a = _checked_conversion(input, _sum_dtype(input, dtype))
    return reduced(prims.sum, a, dimensions(a.ndim, dim), keepdim)


@torchsymbol("prod", tags=(OpTags.ANY_SIZE,), unknown_sizes=True, rounds_once=True)
def prod(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The product; integers are multiplied in int64."""
    tensor_only(input)
    if _is_half(input) or isinstance(dim, (tuple, list)):
        raise NeedsOpaque("a product of halves")
    a = _checked_conversion(input, _sum_dtype(input, dtype))
    dims = tuple(range(a.ndim)) if dim is None else dimensions(a.ndim, dim)
    return reduced(prims.prod, a, dims, keepdim)


@torchsymbol("mean", tags=(OpTags.ANY_SIZE,), unknown_sizes=True, rounds_once=True)
def mean(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The mean, of floating tensors."""
    tensor_only(input)
    if dtype_or(dtype, input.dtype).kind not in "fc" or _is_half(input):
        raise NeedsOpaque("a mean of integers")
    a = _checked_conversion(input, dtype_or(dtype, input.dtype))
    dims = dimensions(a.ndim, dim)
    return clang.div(reduced(prims.sum, a, dims, keepdim), math.prod(a.shape[d] for d in dims))


def _correction(unbiased: Any, correction: Any) -> Any:
    if unbiased is not None:
        return int(bool(unbiased))
    if correction is None:
        return 1
    if not is_number(correction):
        raise NeedsOpaque("a correction that is a value")
    number = known(correction)
    if number != number:
        raise NeedsOpaque("a correction that is NaN")
    return number


@torchsymbol("var")
def var(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> TensorProxy:
    """The variance, by default divided by one less than the number of elements."""
    tensor_only(input)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.kind != "f" or _is_half(input):
        raise NeedsOpaque("a variance of other numbers")
    dims = dimensions(input.ndim, dim)
    number = _correction(unbiased, correction)
    if math.prod(input.shape[d] for d in dims) <= number:
        raise NeedsOpaque("a variance of too few numbers")
    return reduced(prims.var, input, dims, keepdim, correction=number)


def _var(input: Any, dim: Any, unbiased: Any, keepdim: Any, correction: Any) -> TensorProxy:
    """:func:`var`, with arguments that go together in a call of torch's."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return var(input, dim, keepdim=keepdim, correction=_correction(unbiased, correction))


@torchsymbol("std")
def std(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> TensorProxy:
    """The square root of :func:`var`."""
    return clang.sqrt(_var(input, dim, unbiased, keepdim, correction))


@torchsymbol("var_mean")
def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> tuple[TensorProxy, TensorProxy]:
    """The variance and the mean."""
    dims = None if isinstance(dim, bool) else dim
    return _var(input, dim, unbiased, keepdim, correction), mean(input, dims, keepdim)


@torchsymbol("std_mean")
def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> tuple[TensorProxy, TensorProxy]:
    """The standard deviation and the mean."""
    dims = None if isinstance(dim, bool) else dim
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dims, keepdim)


def _truth(a: TensorProxy) -> TensorProxy:
    return a if a.dtype.kind == "b" else clang.ne(a, 0)


def _of_truth(name: str, prim: Any) -> None:
    @torchsymbol(name, tags=(OpTags.ANY_SIZE,), unknown_sizes=True)
    def reduce(input: Any, dim: Any = None, keepdim: Any = False) -> TensorProxy:
        """Whether all, or any, elements are other than zero; of bytes, as bytes."""
        tensor_only(input)
        if dim in ((), []):
            raise NeedsOpaque("the truth of each element")
        result = reduced(prim, _truth(input), dimensions(input.ndim, dim), keepdim)
        return clang.convert(result, dtypes.uint8) if input.dtype is dtypes.uint8 else result


_of_truth("all", prims.all)
_of_truth("any", prims.any)


@torchsymbol("count_nonzero")
def count_nonzero(input: Any, dim: Any = None) -> TensorProxy:
    """How many elements are other than zero."""
    tensor_only(input)
    return prims.sum(clang.convert(_truth(input), dtypes.int64), dimensions(input.ndim, dim))


def _extremum(name: str, prim: Any) -> None:
    @torchsymbol(name, unknown_sizes=True)
    def reduce(input: Any, dim: Any = (), keepdim: Any = False) -> TensorProxy:
        """The largest, or least, element; NaN if there is one."""
        tensor_only(input)
        dims = dimensions(input.ndim, dim)
        if input.dtype.kind == "c" or is_of_nothing(input, dims):
            raise NeedsOpaque("an extremum of nothing")
        return reduced(prim, input, dims, keepdim)


_extremum("amax", prims.amax)
_extremum("amin", prims.amin)


def _of_all(name: str, prim: Any, arg_prim: Any, elementwise: Any) -> None:
    results = getattr(torch.return_types, name)

    @torchsymbol(name)
    def reduce(input: Any, other: Any = None, keepdim: Any = False, *, dim: Any = None) -> Any:
        """The largest, or least, element of all; along a dimension, with its index; of two tensors element by element."""
        tensor_only(input)
        if isinstance(other, TensorProxy):
            if input.dtype is not other.dtype or input.dtype.kind == "c":
                raise NeedsOpaque("operands of two dtypes")
            return elementwise(*clang.broadcast(input, other))
        along = other if dim is None else dim
        dims = tuple(range(input.ndim)) if along is None else (dimension(input.ndim, along),)
        if input.dtype.kind == "c" or is_of_nothing(input, dims):
            raise NeedsOpaque("an extremum of nothing")
        if along is None:
            return prim(input, dims)
        if input.ndim == 0:
            return results((input, clang.full_like(input, 0, dtype=dtypes.int64)))
        index = arg_prim(input, dims[0])
        index = clang.expand_dims(index, dims) if keepdim else index
        return results((reduced(prim, input, dims, keepdim), index))


_of_all("max", prims.amax, prims.argmax, clang.maximum)
_of_all("min", prims.amin, prims.argmin, clang.minimum)


def _index_of(name: str, prim: Any) -> None:
    @torchsymbol(name)
    def reduce(input: Any, dim: Any = None, keepdim: Any = False) -> TensorProxy:
        """The index of the largest, or least, element, the first of equals."""
        tensor_only(input)
        d = None if dim is None else dimension(input.ndim, dim)
        if input.dtype.kind not in "iuf" or is_of_nothing(input, range(input.ndim) if d is None else (d,)):
            raise NeedsOpaque("an extremum of nothing, or of bools")
        if d is None or input.ndim == 0:
            result = prim(clang.reshape(input, (math.prod(input.shape),)), 0)
            return clang.reshape(result, (1,) * input.ndim) if keepdim else result
        result = prim(input, d)
        return clang.expand_dims(result, (d,)) if keepdim else result


_index_of("argmax", prims.argmax)
_index_of("argmin", prims.argmin)


@torchsymbol("logsumexp")
def logsumexp(input: Any, dim: Any, keepdim: Any = False) -> TensorProxy:
    """The logarithm of the sum of exponentials."""
    tensor_only(input)
    dims = dimensions(input.ndim, dim)
    if input.dtype.kind == "c" or _is_half(input) or 0 in input.shape or dim in ((), []):
        raise NeedsOpaque("logsumexp of other numbers")
    a = clang.convert(input, float_dtype(input.dtype))
    largest = reduced(prims.amax, a, dims, True)
    largest = clang.where(clang.isfinite(largest), largest, clang.full((), 0, dtype=a.dtype))
    total = reduced(prims.sum, clang.exp(clang.sub(a, largest)), dims, True)
    result = clang.add(clang.log(total), largest)
    return result if keepdim else clang.squeeze(result, dims)


def _cumulative(name: str, prim: Any) -> Symbol:
    @torchsymbol(name)
    def accumulate(input: Any, dim: Any, *, dtype: Any = None) -> TensorProxy:
        """The running sum, or product; of integers in int64."""
        tensor_only(input)
        if _is_half(input):
            raise NeedsOpaque("a running sum of halves")
        a = _checked_conversion(input, _sum_dtype(input, dtype))
        d = dimension(a.ndim, dim)
        if a.dtype.kind == "b":
            raise NeedsOpaque("a running sum of bools")
        return prim(a, d) if a.ndim else a

    return accumulate


cumsum = _cumulative("cumsum", prims.cumsum)
_cumulative("cumprod", prims.cumprod)


@torchsymbol("diff")
def diff(input: Any, n: Any = 1, dim: Any = -1, prepend: Any = None, append: Any = None) -> TensorProxy:
    """The differences of neighbours."""
    tensor_only(input)
    parts = [x for x in (prepend, input, append) if x is not None]
    tensor_only(*parts)
    if any(x.ndim != input.ndim or x.dtype is not input.dtype for x in parts) or input.ndim == 0 or known(n) < 0:
        raise NeedsOpaque("differences of others")
    d = dimension(input.ndim, dim)
    if known(n) == 0:
        return input
    a = prims.concatenate(parts, d) if len(parts) > 1 else input
    for _ in range(known(n)):
        length = a.shape[d]
        first = clang.slice_dim(a, 0, max(length - 1, 0), dim=d)
        second = clang.slice_dim(a, min(1, length), length, dim=d)
        a = clang.ne(second, first) if a.dtype.kind == "b" else clang.sub(second, first)
    return a


@torchsymbol(torch.linalg.vector_norm)
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The norm of vectors, of order 1, 2, infinity or another number."""
    tensor_only(x)
    ord = known(ord)
    a = x if dtype is None else _checked_conversion(x, dtype_or(dtype, x.dtype))
    dims = dimensions(a.ndim, dim)
    if a.dtype.kind != "f" or _is_half(a) or type(ord) not in (int, float) or 0 in a.shape:
        raise NeedsOpaque("a norm of other numbers")
    if ord == 0:  # which to autograd has a gradient, and none by its argument
        raise NeedsOpaque("a number of elements")
    size = clang.abs(a)
    if ord in (math.inf, -math.inf):
        return reduced(prims.amax if ord > 0 else prims.amin, size, dims, keepdim)
    if ord == 1:
        return reduced(prims.sum, size, dims, keepdim)
    if ord == 2:
        return clang.sqrt(reduced(prims.sum, clang.square(a), dims, keepdim))
    return clang.pow(reduced(prims.sum, clang.pow(size, float(ord)), dims, keepdim), 1.0 / ord)


@torchsymbol("norm")
def norm(input: Any, p: Any = 2, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> TensorProxy:
    """:func:`vector_norm`; norms of matrices but for ``"fro"`` are left to torch."""
    p = 2 if p == "fro" and (not isinstance(dim, (tuple, list)) or len(dim) <= 2) else known(p)
    if type(p) not in (int, float):
        raise NeedsOpaque("a norm of matrices")
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


@torchsymbol("dist")
def dist(input: Any, other: Any, p: Any = 2) -> TensorProxy:
    """The norm of the difference."""
    tensor_only(input, other)
    if input.dtype is not other.dtype:
        raise NeedsOpaque("operands of two dtypes")
    return vector_norm(clang.sub(*clang.broadcast(input, other)), p)


def _without_nan(input: Any) -> TensorProxy:
    tensor_only(input)
    if input.dtype.kind != "f" or _is_half(input):
        raise NeedsOpaque("numbers that may not be NaN")
    return clang.where(clang.isnan(input), 0.0, input)


@torchsymbol("nansum")
def nansum(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The sum of what is not NaN."""
    tensor_only(input)
    numbers = input if input.dtype.kind in "biu" else _without_nan(input)
    return sum(numbers, dim, keepdim, dtype=dtype)


@torchsymbol("nanmean")
def nanmean(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The mean of what is not NaN."""
    numbers = clang.convert(clang.logical_not(clang.isnan(input)), input.dtype)
    return clang.div(sum(_without_nan(input), dim, keepdim, dtype=dtype), sum(numbers, dim, keepdim, dtype=dtype))


@torchsymbol("trace")
def trace(input: Any) -> TensorProxy:
    """The sum of a matrix's diagonal."""
    tensor_only(input)
    if input.ndim != 2 or _is_half(input):
        raise NeedsOpaque("a trace of no matrix")
    return sum(prims.diagonal(input, 0, 0, 1))


def _steps(a: TensorProxy, d: int, operation: Any) -> TensorProxy:
    """``operation`` of each element along a dimension but the first, and the one before it."""
    n = a.shape[d]
    return operation(clang.slice_dim(a, 1, n, dim=d), clang.slice_dim(a, 0, n - 1, dim=d))


def _trapezoids(y: Any, x: Any, dx: Any, dim: Any) -> tuple[TensorProxy, int]:
    """Twice the areas between neighbours, and the dimension along which they lie. Raises ``RuntimeError`` for as many points as there are
    no values."""
    tensor_only(*(a for a in (y, x) if a is not None))
    d = dimension(y.ndim, dim)
    if y.dtype.kind not in "if" or y.ndim == 0 or _is_half(y) or y.shape[d] < 2:
        raise NeedsOpaque("an area under other points")
    sums = _steps(y, d, clang.add)
    if x is None:
        if isinstance(dx, NumberProxy) and dx.relations is not None and dx.python_type is float:
            return mul(sums, dx), d
        step = known(dx)
        if type(step) not in (int, float):
            raise NeedsOpaque("points a tensor, or no real number, apart")
        return mul(sums, float(step)), d
    if x.dtype.kind not in "if" or not 1 <= x.ndim <= y.ndim:
        raise NeedsOpaque("an area under other points")
    if x.ndim == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = clang.reshape(x, tuple(x.shape[0] if i == d else 1 for i in range(y.ndim)))
    x = clang.reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape))
    if x.shape[d] != y.shape[d]:
        raise NeedsOpaque("points that are repeated")
    return mul(_steps(x, d, clang.sub), sums), d


@torchsymbol("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: Any = -1) -> TensorProxy:
    """The area under points one unit, ``dx``, or the differences of ``x``, apart."""
    areas, d = _trapezoids(y, x, dx, dim)
    return true_divide(sum(areas, d), 2)


@torchsymbol("cumulative_trapezoid")
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: Any = -1) -> TensorProxy:
    """The areas under the points up to each, as :func:`trapezoid`."""
    areas, d = _trapezoids(y, x, dx, dim)
    return true_divide(cumsum(areas, d), 2)
