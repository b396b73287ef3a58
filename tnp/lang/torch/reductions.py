"""Reductions and cumulative functions."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang.torch.dtypes import dtype_or
from tnp.lang.torch.operands import dimension, dimensions, float_dtype, known, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__ = ["reduced"]


def reduced(prim: Any, a: TensorProxy, dims: tuple[int, ...], keepdim: Any, **parameters: Any) -> TensorProxy:
    """``prim`` along ``dims``; with ``keepdim`` they stay as dimensions of length 1."""
    result = prim(a, dims, **parameters)
    if keepdim and dims:
        result = clang.reshape(result, tuple(1 if i in dims else n for i, n in enumerate(a.shape)))
    return result


def _sum_dtype(a: TensorProxy, dtype: Any) -> DType:
    return dtype_or(dtype, dtypes.int64 if a.dtype.kind in "biu" else a.dtype)


def _checked_conversion(a: TensorProxy, dtype: DType) -> TensorProxy:
    if a.dtype.kind == "c" and dtype.kind != "c":
        raise NeedsOpaque("complex numbers as others")
    return clang.convert(a, dtype)


def _is_half(*xs: Any) -> bool:
    return any(isinstance(x, TensorProxy) and x.dtype.kind == "f" and x.dtype.bits == 16 for x in xs)


@torchsymbol("sum")
def sum(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The sum; integers are added in int64."""
    tensor_only(input)
    if _is_half(input):
        raise NeedsOpaque("a sum of halves")
    a = _checked_conversion(input, _sum_dtype(input, dtype))
    return reduced(prims.sum, a, dimensions(a.ndim, dim), keepdim)


@torchsymbol("prod")
def prod(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> TensorProxy:
    """The product; integers are multiplied in int64."""
    tensor_only(input)
    if _is_half(input) or isinstance(dim, (tuple, list)):
        raise NeedsOpaque("a product of halves")
    a = _checked_conversion(input, _sum_dtype(input, dtype))
    dims = tuple(range(a.ndim)) if dim is None else dimensions(a.ndim, dim)
    return reduced(prims.prod, a, dims, keepdim)


@torchsymbol("mean")
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
    return known(correction)


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


@torchsymbol("std")
def std(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> TensorProxy:
    """The square root of :func:`var`."""
    return clang.sqrt(var(input, dim, unbiased, keepdim, correction=correction))


@torchsymbol("var_mean")
def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, *, correction: Any = None
) -> tuple[TensorProxy, TensorProxy]:
    """The variance and the mean."""
    dims = None if isinstance(dim, bool) else dim
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dims, keepdim)


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
    @torchsymbol(name)
    def reduce(input: Any, dim: Any = None, keepdim: Any = False) -> TensorProxy:
        """Whether all, or any, elements are other than zero; of bytes, as bytes."""
        tensor_only(input)
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
    @torchsymbol(name)
    def reduce(input: Any, dim: Any = (), keepdim: Any = False) -> TensorProxy:
        """The largest, or least, element; NaN if there is one."""
        tensor_only(input)
        dims = dimensions(input.ndim, dim)
        if input.dtype.kind == "c" or 0 in input.shape:
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
        if input.dtype.kind not in "iuf" or 0 in input.shape or (input.ndim == 0 and along is not None):
            raise NeedsOpaque("an extremum of nothing, or of bools")
        if along is None:
            return prim(input, tuple(range(input.ndim)))
        d = dimension(input.ndim, along)
        index = arg_prim(input, d)
        index = clang.expand_dims(index, (d,)) if keepdim else index
        return results((reduced(prim, input, (d,), keepdim), index))


_of_all("max", prims.amax, prims.argmax, clang.maximum)
_of_all("min", prims.amin, prims.argmin, clang.minimum)


def _index_of(name: str, prim: Any) -> None:
    @torchsymbol(name)
    def reduce(input: Any, dim: Any = None, keepdim: Any = False) -> TensorProxy:
        """The index of the largest, or least, element, the first of equals."""
        tensor_only(input)
        if input.dtype.kind not in "iuf" or 0 in input.shape or input.ndim == 0:
            raise NeedsOpaque("an extremum of nothing, or of bools")
        if dim is None:
            result = prim(clang.reshape(input, (math.prod(input.shape),)), 0)
            return clang.reshape(result, (1,) * input.ndim) if keepdim else result
        d = dimension(input.ndim, dim)
        result = prim(input, d)
        return clang.expand_dims(result, (d,)) if keepdim else result


_index_of("argmax", prims.argmax)
_index_of("argmin", prims.argmin)


@torchsymbol("logsumexp")
def logsumexp(input: Any, dim: Any, keepdim: Any = False) -> TensorProxy:
    """The logarithm of the sum of exponentials."""
    tensor_only(input)
    dims = dimensions(input.ndim, dim)
    if input.dtype.kind == "c" or _is_half(input) or 0 in input.shape:
        raise NeedsOpaque("logsumexp of other numbers")
    a = clang.convert(input, float_dtype(input.dtype))
    largest = reduced(prims.amax, a, dims, True)
    largest = clang.where(clang.isfinite(largest), largest, clang.full((), 0, dtype=a.dtype))
    total = reduced(prims.sum, clang.exp(clang.sub(a, largest)), dims, True)
    result = clang.add(clang.log(total), largest)
    return result if keepdim else clang.squeeze(result, dims)


def _cumulative(name: str, prim: Any) -> None:
    @torchsymbol(name)
    def accumulate(input: Any, dim: Any, *, dtype: Any = None) -> TensorProxy:
        """The running sum, or product; of integers in int64."""
        tensor_only(input)
        if _is_half(input):
            raise NeedsOpaque("a running sum of halves")
        a = _checked_conversion(input, _sum_dtype(input, dtype))
        if a.ndim == 0 or a.dtype.kind == "b" or 0 in a.shape:
            raise NeedsOpaque("a running sum of one number")
        return prim(a, dimension(a.ndim, dim))


_cumulative("cumsum", prims.cumsum)
_cumulative("cumprod", prims.cumprod)


@torchsymbol("diff")
def diff(input: Any, n: Any = 1, dim: Any = -1, prepend: Any = None, append: Any = None) -> TensorProxy:
    """The differences of neighbours."""
    tensor_only(input)
    if known(n) != 1 or prepend is not None or append is not None or input.ndim == 0:
        raise NeedsOpaque("differences of differences")
    d = dimension(input.ndim, dim)
    length = max(input.shape[d], 1)
    first = clang.slice_dim(input, 0, length - 1, dim=d)
    second = clang.slice_dim(input, min(1, input.shape[d]), input.shape[d], dim=d)
    return clang.ne(second, first) if input.dtype.kind == "b" else clang.sub(second, first)


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
    """:func:`vector_norm`; norms of matrices are left to torch."""
    p = known(p)
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


@torchsymbol("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: Any = -1) -> TensorProxy:
    """The area under points one unit, or ``dx``, apart."""
    tensor_only(y)
    if x is not None or y.dtype.kind != "f" or y.ndim == 0 or _is_half(y) or y.shape[dimension(y.ndim, dim)] < 2:
        raise NeedsOpaque("an area under other points")
    d = dimension(y.ndim, dim)
    n = y.shape[d]
    pairs = clang.add(clang.slice_dim(y, 0, n - 1, dim=d), clang.slice_dim(y, 1, n, dim=d))
    return clang.mul(prims.sum(pairs, (d,)), known(dx) / 2)
