"""Lowering of operations to nodes of a region's graph: elementwise operations, conversions, factories, reductions and
scans.

Views, indexing and products have modules of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name as rows
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.graph import REDUCTIONS, RULES, Lowering, Node, Reduction, Routine, Rule, Scan, rule

__all__: list[str] = []

# Elementwise


def _operand_dtypes(bsym: BoundSymbol) -> tuple[DType, ...]:
    return tuple(a.dtype for a in bsym.args if isinstance(a, TensorProxy))


_ORDERS = ("lt", "le", "gt", "ge")


def _is_supported(bsym: BoundSymbol) -> bool:
    if not isinstance(bsym.output, TensorProxy):
        return False
    if bsym.sym is prims.pow and bsym.output.dtype.kind == "i" and not _is_natural(bsym.args[1]):
        return False  # a negative power of an integer is an error
    operands = _operand_dtypes(bsym)
    if bsym.output.scalar and bsym.sym.name in _ORDERS and any(d.kind == "c" for d in operands):
        return False  # Python's operators on NumPy's complex scalars order NaNs otherwise than its ufuncs do
    return scalars.supports(bsym.sym.name, operands)


def _is_natural(x: Any) -> bool:
    return type(x) in (int, bool) and x >= 0


def _bind_elementwise(name: str) -> Callable[..., Node]:
    def lower_one(lowering: Lowering, output: TensorProxy, *args: Any) -> Node:
        return lowering.make(name, output.shape, output.dtype, args)

    return lower_one


for _name in (*rows, "where", "ldexp", "complex", "real", "imag"):
    RULES[_name] = [Rule(_bind_elementwise(_name), _is_supported)]


def _always_fits(number: type, dtype: DType) -> bool:
    """Whether a Python number can be stored as ``dtype`` whatever it is: NumPy raises ``OverflowError`` for 300 as uint8."""
    return dtype.kind not in "iu" or number is bool or (number is int and dtype is dtypes.int64)


def _converts(bsym: BoundSymbol) -> bool:
    a, target = bsym.args
    source = a.dtype if isinstance(a, TensorProxy) else None
    if isinstance(a, NumberProxy):
        return _always_fits(a.python_type, target)
    if source is None:
        return isinstance(a, bool | int | float | complex)
    return scalars.supports("convert_element_type", (source, target))


@rule("convert_element_type", checker=_converts)
def _convert(lowering: Lowering, output: TensorProxy, a: Any, dtype: DType) -> Node:
    if not isinstance(a, Node):
        return lowering.make("full", (), dtype, (a,))
    if a.op == "number":
        return lowering.make("full", (), dtype, (a,))
    if not output.shape and scalars.differs_in_arrays(a.dtype, dtype):
        a = lowering.make("convert_element_type", (), dtypes.int64, (a,))
    return lowering.make("convert_element_type", output.shape, dtype, (a,))


@rule("clone")
def _clone(lowering: Lowering, output: TensorProxy, a: Node) -> Node:
    return lowering.make("copy", a.shape, a.dtype, (a,))


@rule("bitcast", checker=lambda b: scalars.supports("bitcast", (b.args[0].dtype, b.args[1])))
def _bitcast(lowering: Lowering, output: TensorProxy, a: Node, dtype: DType) -> Node:
    return lowering.make("bitcast", a.shape, dtype, (a,))


@rule("full", checker=lambda b: is_number(b.args[1]))
def _full(lowering: Lowering, output: TensorProxy, shape: Any, value: Any, **_: Any) -> Node:
    return lowering.make("full", output.shape, output.dtype, (value,))


@rule("empty")
def _empty(lowering: Lowering, output: TensorProxy, shape: Any, **_: Any) -> Node:
    return lowering.make("empty", output.shape, output.dtype)


def _is_plain_iota(bsym: BoundSymbol) -> bool:
    numbers = bsym.kwargs.get("start", 0), bsym.kwargs.get("step", 1)
    return bsym.kwargs["dtype"].kind in "iuf" and all(is_number(x) for x in numbers)


@rule("iota", checker=_is_plain_iota)
def _iota(lowering: Lowering, output: TensorProxy, length: Any, *, start: Any = 0, step: Any = 1, **_: Any) -> Node:
    start, step = lowering.node(start), lowering.node(step)
    return lowering.make("iota", output.shape, output.dtype, (start, step))


@rule("require")
def _require(lowering: Lowering, output: TensorProxy, a: Node, condition: Node, error: Any, message: str) -> Node:
    """The kernel refuses its arguments where the condition is false; then operations run one by one, and raise the error."""
    wrong = lowering.make("logical_not", condition.shape, dtypes.bool8, (condition,))
    lowering.refuse(wrong)
    return a


def _is_short_sort(bsym: BoundSymbol) -> bool:
    a, dim = bsym.args
    n, dtype = a.shape[dim], a.dtype
    if (
        bsym.kwargs.get("descending")
        or bsym.kwargs.get("stable")
        or type(n) is not int
        or not 0 < n <= target.SORTED_BY_INSERTION
    ):
        return False
    return dtype.kind in "iuf" and scalars.supports("lt", (dtype, dtype))


@rule("sort", checker=_is_short_sort)
def _sort(lowering: Lowering, output: TensorProxy, a: Node, dim: int, **_: Any) -> Node:
    """Short lines, each a row of its own. Shell's sort is not stable, which zeros of both signs show."""
    last = len(a.shape) - 1
    if a.shape[dim] == 1:
        return lowering.make("copy", a.shape, a.dtype, (a,))
    order = [*(d for d in range(last + 1) if d != dim), dim]
    rows = lowering.view(a, [a.shape[d] for d in order], lambda at: tuple(at[order.index(d)] for d in range(last + 1)))
    lowering.position += 1
    made = lowering.graph.add(Routine("sort", rows, position=lowering.position))
    lines = lowering.view(made, a.shape, lambda at: tuple(at[d] for d in order))
    return lowering.make("copy", a.shape, a.dtype, (lines,))


# Reductions


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
    def lower_one(lowering: Lowering, output: TensorProxy, a: Node, dims: Any) -> Node:
        return lowering.reduce(name, output.shape, output.dtype, a, tuple(dims))

    return lower_one


for _row in REDUCTIONS.values():
    RULES[_row.name] = [Rule(_bind_reduction(_row.name), _is_reducible)]


def _bind_arg_reduction(name: str) -> Callable[..., Node]:
    def lower_one(lowering: Lowering, output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return lowering.make("full", output.shape, output.dtype, (0,))
        if dim == len(a.shape) - 1:
            return _first_of_extremes(lowering, output, a, "amax" if name == "argmax" else "amin")
        lowering.position += 1
        return lowering.graph.add(
            Reduction(name, output.shape, output.dtype, a, (dim,), position=lowering.position)
        )  # fmt: skip

    return lower_one


def _first_of_extremes(lowering: Lowering, output: TensorProxy, a: Node, extreme: str) -> Node:
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
    RULES[_name] = [Rule(_bind_arg_reduction(_name), lambda b: b.args[0].dtype.kind != "c")]


def _is_scanned(name: str, dtype: DType) -> bool:
    """Whether results in order are in the dtype's own precision: NumPy rounds each of float16's, but for extremes."""
    if name not in ("cummax", "cummin") and dtype.kind == "f" and dtype.bits < 32:
        return False
    return dtype.kind != "c" or name == "cumsum"


def _bind_scan(name: str) -> Callable[..., Node]:
    def lower_one(lowering: Lowering, output: TensorProxy, a: Node, dim: int) -> Node:
        if a.shape[dim] == 1:
            return lowering.make("copy", a.shape, a.dtype, (a,))
        lowering.position += 1
        return lowering.graph.add(Scan(name, a, dim, position=lowering.position))

    return lower_one


for _row in REDUCTIONS.values():
    if _row.scan:
        RULES[_row.scan] = [Rule(_bind_scan(_row.scan), lambda b: _is_scanned(b.sym.name, b.args[0].dtype))]


def _is_in_order(bsym: BoundSymbol) -> bool:
    """Whether NumPy multiplies the floats of each row one after the other, as it does for running products."""
    a, dims = bsym.args[:2]
    return a.dtype.kind == "f" and tuple(dims) == (a.ndim - 1,) and _is_scanned("cumprod", a.dtype)


def _last_product(lowering: Lowering, output: TensorProxy, a: Node, dims: Any) -> Node:
    (dim,) = dims
    lowering.position += 1
    running = lowering.graph.add(Scan("cumprod", a, dim, position=lowering.position))
    last = lowering.view(running, output.shape, lambda at: (*at, a.shape[dim] - 1))
    return lowering.make("copy", output.shape, output.dtype, (last,))


RULES["prod"].append(Rule(_last_product, _is_in_order))


def _is_real_variance(bsym: BoundSymbol) -> bool:
    a, correction = bsym.args[0], bsym.kwargs["correction"]
    if (
        type(correction) is float
        and not correction.is_integer()
        and any(type(a.shape[d]) is not int for d in bsym.args[1])
    ):
        return False  # what it is taken off of is an expression of integers
    return a.dtype.kind == "f" and a.dtype.bits >= 32 and type(correction) in (int, float)


@rule("var", checker=_is_real_variance)
def _var(lowering: Lowering, output: TensorProxy, a: Node, dims: Any, *, correction: float) -> Node:
    dims = tuple(dims)
    count = math.prod(a.shape[d] for d in dims)
    total = lowering.reduce("sum", output.shape, a.dtype, a, dims)
    known = isinstance(count, int)
    mean = lowering.make("div", output.shape, a.dtype, (total, float(count) if known else count))
    spread = lowering.view(mean, a.shape, lambda at: tuple(i for d, i in enumerate(at) if d not in dims), repeats=True)
    distance = lowering.make("sub", a.shape, a.dtype, (a, spread))
    squares = lowering.make("mul", a.shape, a.dtype, (distance, distance))
    total = lowering.reduce("sum", output.shape, a.dtype, squares, dims)
    left = float(max(count - correction, 0)) if known else count - int(correction)
    return lowering.make("div", output.shape, a.dtype, (total, left))
