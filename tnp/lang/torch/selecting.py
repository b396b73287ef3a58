"""Functions that select among elements: ``where``, ``clamp``, ``masked_fill``, and interpolation between two."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang.torch.dtypes import default_dtype, result_dtype, to_torch_dtype
from tnp.lang.torch.elementwise import of_kinds
from tnp.lang.torch.operands import (
    as_tensor,
    known,
    operands_in,
    promote,
    real_only,
    tensor_only,
)
from tnp.lang.torch.registry import torchsymbol

__all__ = [
    "addcdiv",
    "addcmul",
    "clamp",
    "clamp_max",
    "clamp_min",
    "fill",
    "isclose",
    "lerp",
    "masked_fill",
    "nan_to_num",
    "where",
]


@torchsymbol("where")
def where(condition: Any, input: Any, other: Any) -> TensorProxy:
    """``input`` where ``condition`` holds, else ``other``."""
    tensor_only(condition)
    if condition.dtype.kind != "b":
        raise NeedsOpaque("a condition that is not bool")
    dtype = result_dtype(input, other)
    return clang.where(condition, *(as_tensor(x, dtype) for x in (input, other)))


@torchsymbol("clamp", "clip")
def clamp(input: Any, min: Any = None, max: Any = None) -> TensorProxy:
    """At least ``min`` and at most ``max``."""
    tensor_only(input)
    limits = [x for x in (min, max) if x is not None]
    if not limits or any(isinstance(x, float) and x != x for x in limits):
        raise NeedsOpaque("no limits, or NaN for one")
    dtype = result_dtype(input, *limits)
    if dtype.kind in "bc":
        raise NeedsOpaque(f"clamp of {dtype}")
    result = clang.convert(input, dtype)
    if min is not None:
        result = clang.maximum(*operands_in(dtype, result, min))
    return result if max is None else clang.minimum(*operands_in(dtype, result, max))


def _are_bools(*xs: Any) -> bool:
    return all(isinstance(x, TensorProxy) and x.dtype.kind == "b" for x in xs)


@torchsymbol("clamp_min")
def clamp_min(input: Any, min: Any) -> TensorProxy:
    """At least ``min``."""
    return clang.maximum(*clang.broadcast(input, min)) if _are_bools(input, min) else clamp(input, min)


@torchsymbol("clamp_max")
def clamp_max(input: Any, max: Any) -> TensorProxy:
    """At most ``max``."""
    return clang.minimum(*clang.broadcast(input, max)) if _are_bools(input, max) else clamp(input, None, max)


@torchsymbol("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> TensorProxy:
    """``value`` where ``mask`` holds, in the dtype of ``input``."""
    tensor_only(input, mask)
    if mask.dtype.kind != "b" or (isinstance(value, TensorProxy) and value.ndim):
        raise NeedsOpaque("a mask that is not bool")
    if input.dtype.kind == "b" and is_number(value):
        value = bool(known(value))
    if result_dtype(input, value) is not input.dtype:
        raise NeedsOpaque("a value of another kind")
    return clang.where(mask, as_tensor(value, input.dtype), input)


@torchsymbol("nan_to_num")
def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> TensorProxy:
    """NaN and the infinities replaced, by default by 0 and the largest and least finite numbers."""
    tensor_only(input)
    real_only(*(x for x in (nan, posinf, neginf) if x is not None))
    (a,) = of_kinds([input], "biuf", "nan_to_num")
    if a.dtype.kind != "f":
        return a
    limits = torch.finfo(getattr(torch, a.dtype.name))
    a = clang.where(clang.isnan(input), 0.0 if nan is None else nan, a)
    a = clang.where(clang.eq(input, math.inf), limits.max if posinf is None else posinf, a)
    return clang.where(clang.eq(input, -math.inf), limits.min if neginf is None else neginf, a)


@torchsymbol("lerp", rounds_once=True)
def lerp(input: Any, end: Any, weight: Any) -> TensorProxy:
    """``input + weight * (end - input)``, computed from the nearer end."""
    tensor_only(input, end)
    if getattr(weight, "python_type", type(weight)) is complex or (
        getattr(weight, "ndim", 0) and weight.dtype is not input.dtype
    ):
        raise NeedsOpaque("lerp of several dtypes")
    w = as_tensor(weight, input.dtype)
    a, b, w = clang.broadcast(*of_kinds([input, end, w], "f", "lerp"))
    if a.dtype is not b.dtype:
        raise NeedsOpaque("lerp of two dtypes")
    way = clang.sub(b, a)
    near = clang.lt(clang.abs(w), 0.5)
    return clang.where(
        near, clang.add(a, clang.mul(w, way)), clang.sub(b, clang.mul(way, clang.sub(clang.full_like(w, 1), w)))
    )


@torchsymbol("addcmul", rounds_once=True)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> TensorProxy:
    """``input + value * tensor1 * tensor2``."""
    a, b, c = of_kinds(promote(input, tensor1, tensor2), "iuf", "addcmul")
    if result_dtype(input, tensor1, tensor2).kind != "f" and type(known(value)) is not int:
        raise NeedsOpaque("a factor that is rounded")
    if any(isinstance(x, TensorProxy) and x.dtype.kind == "f" and x.dtype.bits == 16 for x in (a, b, c)):
        raise NeedsOpaque("halves, which torch rounds once")
    b, c = as_tensor(b), as_tensor(c)
    return clang.add(a, clang.mul(clang.mul(b, value) if value != 1 else b, c))


@torchsymbol("addcdiv", rounds_once=True)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> TensorProxy:
    """``input + value * tensor1 / tensor2``."""
    a, b, c = of_kinds(promote(input, tensor1, tensor2), "f", "addcdiv")
    b, c = as_tensor(b), as_tensor(c)
    return clang.add(a, clang.mul(clang.div(b, c), value) if value != 1 else clang.div(b, c))


@torchsymbol("isclose")
def isclose(input: Any, other: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> TensorProxy:
    """Whether ``|input - other| <= atol + rtol * |other|``."""
    tensor_only(input, other)
    a, b = clang.broadcast(*of_kinds([input, other], "biuf", "isclose"))
    if a.dtype is not b.dtype:
        raise NeedsOpaque("isclose of two dtypes")
    rtol, atol = known(rtol), known(atol)
    if not (rtol >= 0 and atol >= 0):
        raise RuntimeError(f"{'atol' if rtol >= 0 else 'rtol'} must be greater than or equal to zero")
    close = clang.eq(a, b)
    if a.dtype.kind != "f":
        if rtol == 0 and atol == 0:
            return close
        a, b = (clang.convert(x, default_dtype()) for x in (a, b))
    elif equal_nan:
        close = clang.logical_or(close, clang.logical_and(clang.isnan(a), clang.isnan(b)))
    distance = clang.abs(clang.sub(a, b))
    allowed = clang.add(clang.abs(clang.mul(b, rtol)), atol)
    near = clang.logical_and(clang.isfinite(distance), clang.le(distance, allowed))
    return clang.logical_or(close, near)


@torchsymbol("fill")
def fill(input: Any, value: Any) -> TensorProxy:
    """A value everywhere, in the dtype of the tensor."""
    tensor_only(input)
    number = as_tensor(value)
    if number.ndim or (number.dtype.kind == "c" and input.dtype.kind != "c") or not is_number(value):
        raise NeedsOpaque("a value that is a tensor")
    if input.dtype.kind in "iu":
        limits, value = torch.iinfo(to_torch_dtype(input.dtype)), known(value)
        if type(value) is float or not limits.min <= value <= limits.max:
            raise NeedsOpaque("a value that may not fit")
        value = int(value)
    return clang.full_like(input, bool(known(value)) if input.dtype.kind == "b" else value)
