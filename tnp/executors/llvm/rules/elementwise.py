"""Elementwise operations, conversions, new arrays, conditions, and sorts of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name as rows
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import scalars, target
from tnp.executors.llvm.graph import Node
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import Lowering, Value, rule

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


def _bind_elementwise(name: str) -> Callable[..., Any]:
    def lower_one(lowering: Lowering, output: TensorProxy, *args: Any) -> Any:
        return lowering.make(name, output.shape, output.dtype, args)

    return lower_one


# Loops have rules of their own where Python's numbers are operands.
for _name in dict.fromkeys((*rows, "ldexp")):
    rule(_name, checker=_is_supported)(_bind_elementwise(_name))
for _name in ("where", "complex", "real", "imag"):
    rule(_name, checker=_is_supported, in_loops=True)(_bind_elementwise(_name))


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
def _convert(lowering: GraphLowering, output: TensorProxy, a: Any, dtype: DType) -> Node:
    if not isinstance(a, Node):
        return lowering.make("full", (), dtype, (a,))
    if a.op == "number":
        return lowering.make("full", (), dtype, (a,))
    if not output.shape and scalars.differs_in_arrays(a.dtype, dtype):
        a = lowering.make("convert_element_type", (), dtypes.int64, (a,))
    return lowering.make("convert_element_type", output.shape, dtype, (a,))


@rule("clone")
def _clone(lowering: GraphLowering, output: TensorProxy, a: Node) -> Node:
    return lowering.make("copy", a.shape, a.dtype, (a,))


@rule("bitcast", checker=lambda b: scalars.supports("bitcast", (b.args[0].dtype, b.args[1])), in_loops=True)
def _bitcast(lowering: Lowering, output: TensorProxy, a: Value, dtype: DType) -> Any:
    return lowering.make("bitcast", a.shape, dtype, (a,))


@rule("full", checker=lambda b: is_number(b.args[1]))
def _full(lowering: GraphLowering, output: TensorProxy, shape: Any, value: Any, **_: Any) -> Node:
    return lowering.make("full", output.shape, output.dtype, (value,))


@rule("empty")
def _empty(lowering: GraphLowering, output: TensorProxy, shape: Any, **_: Any) -> Node:
    return lowering.make("empty", output.shape, output.dtype)


def _is_plain_iota(bsym: BoundSymbol) -> bool:
    numbers = bsym.kwargs.get("start", 0), bsym.kwargs.get("step", 1)
    return bsym.kwargs["dtype"].kind in "iuf" and all(is_number(x) for x in numbers)


@rule("iota", checker=_is_plain_iota)
def _iota(
    lowering: GraphLowering, output: TensorProxy, length: Any, *, start: Any = 0, step: Any = 1, **_: Any
) -> Node:
    start, step = lowering.node(start), lowering.node(step)
    return lowering.make("iota", output.shape, output.dtype, (start, step))


@rule("require")
def _require(lowering: GraphLowering, output: TensorProxy, a: Node, condition: Node, error: Any, message: str) -> Node:
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


def _is_sorted_in_loops(
    lowering: Lowering, bsym: BoundSymbol, a: Any, dim: int, *, descending: bool = False, stable: bool = False
) -> bool:
    return a.dtype.kind in "iuf" and not (descending or stable) and a.shape[dim].high <= target.MOST_SORTED


@rule("sort", checker=_is_short_sort, in_loops=_is_sorted_in_loops)
def _sort(lowering: Lowering, output: TensorProxy, a: Value, dim: int, **_: Any) -> Any:
    """Lines in order, each in memory as a row. Shell's sort is not stable, which zeros of both signs show."""
    rank = len(a.shape)
    if lowering.length(a.shape[dim]) == 1:
        return lowering.copied(a, a.dtype)
    order = [*(d for d in range(rank) if d != dim), dim]
    rows = lowering.view(a, [a.shape[d] for d in order], lambda at: tuple(at[order.index(d)] for d in range(rank)))
    made = lowering.routine("sort", rows)
    return lowering.copied(lowering.view(made, a.shape, lambda at: tuple(at[d] for d in order)), a.dtype)
