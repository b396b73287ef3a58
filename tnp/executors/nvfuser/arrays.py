"""Prims of whole arrays in nvFuser's operations: shapes, arrays of nothing, reductions, scans, products, random
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import Proxy, TensorProxy
from tnp.executors.nvfuser.writer import Refused, Val, Writer, rule

__all__: list[str] = []


def _known(*xs: Any) -> None:
    """Refuses numbers that are known at run time only where the definition holds them."""
    for x in xs:
        if isinstance(x, (list, tuple)):
            _known(*x)
        elif isinstance(x, Proxy):
            raise Refused("a position or a length that is known at run time only")


# Shape


@rule("broadcast_in_dim")
def _broadcast_in_dim(w: Writer, out: TensorProxy, a: Any, shape: Sequence[int], dims: Sequence[int]) -> Val:
    return w.view("broadcast_in_dim", w.of(a), list(shape), list(dims))


@rule("reshape")
def _reshape(w: Writer, out: TensorProxy, a: Any, shape: Sequence[int]) -> Val:
    return w.view("reshape", w.of(a), list(shape))


@rule("transpose")
def _transpose(w: Writer, out: TensorProxy, a: Any, permutation: Sequence[int]) -> Val:
    return w.view("permute", w.of(a), list(permutation)) if permutation else w.view("set", w.of(a))


@rule("squeeze")
def _squeeze(w: Writer, out: TensorProxy, a: Any, dims: Sequence[int]) -> Val:
    return w.view("squeeze", w.of(a), sorted(dims)) if dims else w.view("set", w.of(a))


@rule("slice")
def _slice(w: Writer, out: TensorProxy, a: Any, starts: Any, stops: Any, strides: Any = None) -> Val:
    _known(starts, stops, strides or ())
    if any(s != 1 for s in strides or ()):
        raise Refused("nvFuser slices by steps of 1 only")
    if not starts:
        return w.view("set", w.of(a))
    return w.view("slice", w.of(a), list(starts), list(stops))


@rule("as_language")
def _as_language(w: Writer, out: TensorProxy, a: Any, name: str) -> Val:
    return w.of(a)


@rule("clone")
def _clone(w: Writer, out: TensorProxy, a: Any) -> Val:
    return w.view("set", w.of(a))


@rule("stride_order")
def _stride_order(w: Writer, out: TensorProxy, a: Any, order: Sequence[int] | None = None) -> Val:
    if not out.ndim:
        return w.view("set", w.of(a))
    return w.view("stride_order", w.of(a), list(range(out.ndim))[::-1] if order is None else list(order))


@rule("pad")
def _pad(w: Writer, out: TensorProxy, a: Any, value: Any, config: Any) -> Val:
    _known(config)
    if any(inner or low < 0 or high < 0 for low, high, inner in config):
        raise Refused("nvFuser pads by zero elements or more, and not between elements")
    if not config:
        return w.view("set", w.of(a))
    widths = [n for low, high, _ in reversed(config) for n in (low, high)]
    made = w.call("pad", w.wide(w.of(a), out.dtype), widths, w.number(value, out.dtype))
    return w.narrow(made, out.dtype)


@rule("concatenate")
def _concatenate(w: Writer, out: TensorProxy, arrays: Any, dim: int) -> Val:
    if len(arrays) == 1:
        return w.view("set", w.of(arrays[0]))
    return w.call("cat", [w.of(a) for a in arrays], dim)


# Arrays of nothing


@rule("full")
def _full(w: Writer, out: TensorProxy, shape: Any, fill_value: Any, *, device: Any, dtype: DType) -> Val:
    work = dtypes.float32 if dtype.kind == "f" and dtype.bits == 16 else dtype
    return w.narrow(w.call("full", list(shape), w.number(fill_value, dtype), work), dtype)


@rule("iota")
def _iota(w: Writer, out: TensorProxy, length: int, *, start: Any = 0, step: Any = 1, device: Any, dtype: DType) -> Val:
    """Positions, scaled and shifted in the result's dtype, as eager computes them."""
    if dtype.kind == "b":
        raise Refused("positions as bools")
    _known(length)
    made = w.call("iota", length, 0, 1, dtypes.int64)
    made = made if dtype is dtypes.int64 else w.call("cast", made, dtype)
    if isinstance(start, Proxy) or isinstance(step, Proxy) or (start, step) != (0, 1):
        scaled = w.narrow(w.call("mul", w.wide(made, dtype), w.number(step, dtype)), dtype)
        made = w.narrow(w.call("add", w.wide(scaled, dtype), w.number(start, dtype)), dtype)
    return made


# Reductions. Half precision is summed in float32, as torch sums it.


def _reduction(name: str, operation: str) -> None:
    @rule(name)
    def write(w: Writer, out: TensorProxy, a: Any, dims: Sequence[int]) -> Val:
        if a.dtype.kind == "b":
            raise Refused(f"{name} of bools")
        if not dims:
            return w.view("set", w.of(a))
        work = dtypes.float32 if a.dtype.bits == 16 else a.dtype
        made = w.call(operation, w.wide(w.of(a), a.dtype), sorted(dims), False, work)
        return w.narrow(made, a.dtype)


_reduction("sum", "sum")
_reduction("prod", "prod")


def _extreme(name: str, operation: str) -> None:
    @rule(name)
    def write(w: Writer, out: TensorProxy, a: Any, dims: Sequence[int]) -> Val:
        """A NaN among floating-point elements is the result: nvFuser's documentation does not say so of its own reduction."""
        if not dims:
            return w.view("set", w.of(a))
        x, dtype = w.wide(w.of(a), a.dtype), a.dtype
        if dtype.kind == "b":
            return _of_bools(w, x, dims, operation)
        made = w.call(operation, x, sorted(dims))
        if dtype.kind == "f":
            made = w.where(_of_bools(w, w.call("ne", x, x), dims, "max"), w.number(math.nan, dtype), made, dtype)
        return w.narrow(made, dtype)


def _of_bools(w: Writer, x: Val, dims: Sequence[int], operation: str) -> Val:
    """Whether any (``max``) or all (``min``) are true."""
    found = w.call(operation, w.call("cast", x, dtypes.int32), sorted(dims))
    return w.call("ne", found, w.number(0, dtypes.int32))


_extreme("amax", "max")
_extreme("amin", "min")


def _quantifier(name: str, operation: str) -> None:
    @rule(name)
    def write(w: Writer, out: TensorProxy, a: Any, dims: Sequence[int]) -> Val:
        return _of_bools(w, w.of(a), dims, operation) if dims else w.view("set", w.of(a))


_quantifier("any", "max")
_quantifier("all", "min")


@rule("var")
def _var(w: Writer, out: TensorProxy, a: Any, dims: Sequence[int], *, correction: Any) -> Val:
    _known(correction)
    count = math.prod(a.shape[d] for d in dims)
    if not dims or correction != int(correction) or correction < 0 or count <= correction:
        raise Refused("a variance of too few elements")
    made = w.call("var", w.wide(w.of(a), a.dtype), sorted(dims), int(correction), False)
    return w.narrow(made, a.dtype)


def _scanning(name: str) -> None:
    @rule(name)
    def write(w: Writer, out: TensorProxy, a: Any, dim: int) -> Val:
        if a.ndim < 2:
            raise Refused("nvFuser scans arrays of two dimensions or more")
        if a.dtype.kind == "b":
            raise Refused(f"{name} of bools")
        return w.narrow(w.call(name, w.wide(w.of(a), a.dtype), dim), a.dtype)


_scanning("cumsum")
_scanning("cumprod")


# Products, and random numbers from torch's generator of the device


@rule("matmul")
def _matmul(w: Writer, out: TensorProxy, a: Any, b: Any) -> Val:
    if a.dtype.kind != "f":
        raise Refused(f"products of {a.dtype}")
    return w.call("matmul", w.of(a), w.of(b))


def _drawing(name: str) -> None:
    @rule(name)
    def write(w: Writer, out: TensorProxy, shape: Any, first: Any, second: Any, *, device: Any, dtype: DType) -> Val:
        if dtype.bits == 16:
            raise Refused("random numbers of half precision")
        return w.call(name, w.number(first, dtype), w.number(second, dtype), list(shape), dtype=dtype)


_drawing("uniform")
_drawing("normal")
