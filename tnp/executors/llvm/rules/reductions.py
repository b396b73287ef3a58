"""Reductions, scans, positions of extremes, and variances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Node, Reduction
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import Lowering, Value, product, rule

__all__: list[str] = []

#: A product of more floats is in NumPy's order: in parts, one may overflow while another is 0.
FACTORS = 8


def _is_reducible(bsym: BoundSymbol) -> bool:
    """Whether it is real, or of complex numbers added or multiplied. NumPy rounds each step of float16's, which extremes do not need, and
    sums do without."""
    a, name = bsym.args[0], bsym.sym.name
    dtype = a.dtype
    if name == "prod" and dtype.kind in "fc":
        lengths = [a.shape[d] for d in bsym.args[1]]
        return all(type(n) is int for n in lengths) and math.prod(lengths) <= FACTORS
    if dtype.kind == "f" and dtype.bits < 32:
        return name in ("sum", "amax", "amin")
    return dtype.kind != "c" or name in ("sum", "prod")


def _bind_reduction(name: str) -> Callable[..., Node]:
    def lower_one(lowering: GraphLowering, output: TensorProxy, a: Node, dims: Any) -> Node:
        return lowering.reduce(name, output.shape, output.dtype, a, tuple(dims))

    return lower_one


for _row in REDUCTIONS:
    rule(_row.name, checker=_is_reducible)(_bind_reduction(_row.name))


def _bind_arg_reduction(name: str) -> Callable[..., Node]:
    def lower_one(lowering: GraphLowering, output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return lowering.make("full", output.shape, output.dtype, (0,))
        if dim == len(a.shape) - 1:
            return _first_of_extremes(lowering, output, a, "amax" if name == "argmax" else "amin")
        position = lowering.next_position()
        return lowering.add(Reduction(name, output.shape, output.dtype, a, (dim,), position=position))

    return lower_one


def _first_of_extremes(lowering: GraphLowering, output: TensorProxy, a: Node, extreme: str) -> Node:
    """The first index along the last axis where an array has its extreme, or is NaN.

    Two passes that are vectors: the comparisons of one pass, each of which depends on the one before, take ten times as long.
    """
    dim, length = len(a.shape) - 1, a.shape[-1]
    kind = dtypes.int32 if isinstance(length, int) and length < 2**31 else dtypes.int64
    best = lowering.reduce(extreme, output.shape, a.dtype, a, (dim,))
    spread = lowering.view(best, a.shape, lambda at: at[:dim], repeats=True)
    found = lowering.make("eq", a.shape, dtypes.bool8, (a, spread))
    if a.dtype.kind == "f":
        nan = lowering.make("isnan", a.shape, dtypes.bool8, (a,))
        found = lowering.make("logical_or", a.shape, dtypes.bool8, (found, nan))
    numbers = lowering.view(lowering.make("iota", (length,), kind, (0, 1)), a.shape, lambda at: at[dim:], repeats=True)
    index = lowering.make("where", a.shape, kind, (found, numbers, length))
    first = lowering.reduce("amin", output.shape, kind, index, (dim,))
    return lowering.make("convert_element_type", output.shape, output.dtype, (first,))


for _name in ("argmax", "argmin"):
    rule(_name, checker=lambda b: b.args[0].dtype.kind != "c")(_bind_arg_reduction(_name))


def _is_scanned(name: str, dtype: DType) -> bool:
    """Whether results in order are in the dtype's own precision: NumPy rounds each of float16's, but for extremes."""
    if name not in ("cummax", "cummin") and dtype.kind == "f" and dtype.bits < 32:
        return False
    return dtype.kind != "c" or name == "cumsum"


def _bind_scan(name: str) -> Callable[..., Node]:
    def lower_one(lowering: GraphLowering, output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return lowering.make("copy", a.shape, a.dtype, (a,))
        return lowering.scan(name, a, dim)

    return lower_one


for _row in REDUCTIONS:
    if _row.scan:
        rule(_row.scan, checker=lambda b: _is_scanned(b.sym.name, b.args[0].dtype))(_bind_scan(_row.scan))


def _is_in_order(bsym: BoundSymbol) -> bool:
    """Whether NumPy multiplies the floats of each row one after the other, as it does for running products."""
    a, dims = bsym.args[:2]
    return a.dtype.kind == "f" and tuple(dims) == (a.ndim - 1,) and _is_scanned("cumprod", a.dtype)


@rule("prod", checker=_is_in_order)
def _last_product(lowering: GraphLowering, output: TensorProxy, a: Node, dims: Any) -> Node:
    (dim,) = dims
    running = lowering.scan("cumprod", a, dim)
    last = lowering.view(running, output.shape, lambda at: (*at, a.shape[dim] - 1))
    return lowering.make("copy", output.shape, output.dtype, (last,))


def _is_real_variance(bsym: BoundSymbol) -> bool:
    a, correction = bsym.args[0], bsym.kwargs["correction"]
    if (
        type(correction) is float
        and not correction.is_integer()
        and any(type(a.shape[d]) is not int for d in bsym.args[1])
    ):
        return False  # what it is taken off of is an expression of integers
    return a.dtype.kind == "f" and a.dtype.bits >= 32 and type(correction) in (int, float)


def _is_plain_variance(
    lowering: Lowering, bsym: BoundSymbol, a: Value, dims: Sequence[int], *, correction: Any
) -> bool:
    is_integer = type(correction) in (int, float) and float(correction).is_integer()
    return a.dtype in (dtypes.float32, dtypes.float64) and bool(dims) and is_integer


@rule("var", checker=_is_real_variance, in_loops=_is_plain_variance)
def _var(lowering: Lowering, output: TensorProxy, a: Value, dims: Sequence[int], *, correction: float) -> Any:
    dims = tuple(dims)
    count = product(a.shape[d] for d in dims)
    known = lowering.length(count)
    total = lowering.reduce("sum", output.shape, a.dtype, a, dims)
    mean = lowering.make("div", output.shape, a.dtype, (total, count if known is None else float(known)))
    spread = lowering.view(mean, a.shape, lambda at: tuple(i for d, i in enumerate(at) if d not in dims), repeats=True)
    distance = lowering.make("sub", a.shape, a.dtype, (a, spread))
    squares = lowering.make("mul", a.shape, a.dtype, (distance, distance))
    total = lowering.reduce("sum", output.shape, a.dtype, squares, dims)
    left = lowering.at_least_zero(count - int(correction)) if known is None else float(max(known - correction, 0))
    return lowering.make("div", output.shape, a.dtype, (total, left))
