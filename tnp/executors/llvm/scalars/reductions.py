"""The accumulation steps of reductions, in forms that LLVM's loop vectoriser supports.

The accumulator has the reduction's dtype, except that float16 and bfloat16 accumulate in float32, as in NumPy, and that
``any`` and ``all`` accumulate bools. Elements are converted to it before they are combined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars.complexes import COMPLEXES
from tnp.executors.llvm.scalars.conversions import NARROW
from tnp.executors.llvm.scalars.floats import FLOATS
from tnp.executors.llvm.scalars.integers import BOOLS, INTEGERS
from tnp.executors.llvm.scalars.registers import (
    Register,
    Value,
    complex_of,
    constant,
    intrinsic,
    register_type,
    value_of,
)

__all__ = ["Reducer", "is_identity_of_extreme", "reducer", "square_to_add"]

Combine = Callable[[Code, Value, Value], Value]


@dataclass(frozen=True)
class Reducer:
    """A reduction: ``combine(code, accumulator, x)`` from ``identity`` on, both of ``dtype``."""

    dtype: DType
    identity: Value
    combine: Combine


_ROWS = {row.name: row for row in REDUCTIONS}


def _identity(name: str, dtype: DType) -> Value:
    neutral = _ROWS[name].neutral
    if neutral is not None:
        return constant(neutral, dtype)
    sign = -1 if name == "amax" else 1
    if dtype.kind == "c":
        return constant(complex(sign * math.inf, sign * math.inf), dtype)
    if dtype.kind == "f":
        return constant(sign * math.inf, dtype)
    if dtype.kind == "b":
        return constant(sign > 0, dtype)
    return constant(dtype.limits[sign > 0], dtype)


def is_identity_of_extreme(x: object, dtype: DType) -> bool:
    """Whether ``x`` is a number that changes no maximum, or no minimum, of ``dtype``."""
    if type(x) not in (int, float) or dtype.kind not in "iuf" or dtype in NARROW:
        return False
    return constant(x, dtype) in (_identity("amax", dtype), _identity("amin", dtype))


def _floating(name: str, dtype: DType) -> Combine:
    def accumulate(code: Code, a: Value, b: Value) -> Value:
        # Only sums may be reordered: it lets the vectoriser keep several partial results. Those of a product may overflow.
        op, flags = ("fadd", "reassoc contract ") if name == "sum" else ("fmul", "")
        return code.op(f"{op} {'fast ' if code.fast else flags}{register_type(dtype)} {a}, {b}")

    def extreme(code: Code, a: Value, b: Value) -> Value:
        # Of two zeros with different signs NumPy returns either. To order them would double the instructions.
        function = "maximum" if name == "amax" else "minimum"
        return intrinsic(function, Register(code, a, dtype), Register(code, b, dtype), flags="nsz").text

    def combine(code: Code, a: Value, b: Value) -> Value:
        made: Register = FLOATS[_ROWS[name].combines](Register(code, a, dtype), Register(code, b, dtype))
        return made.text

    return accumulate if name in ("sum", "prod") else extreme if name in ("amax", "amin") else combine


def _complex(name: str, dtype: DType) -> Combine:
    part = dtypes.real_counterpart(dtype)
    if name == "sum":
        add = _floating("sum", part)
        return lambda code, a, b: (add(code, a[0], b[0]), add(code, a[1], b[1]))
    rule = COMPLEXES[_ROWS[name].combines]
    return lambda code, a, b: value_of(rule(complex_of(code, a, dtype), complex_of(code, b, dtype)))


def _exact(name: str, dtype: DType) -> Combine:
    rule = (BOOLS if dtype.kind == "b" else INTEGERS)[_ROWS[name].combines]
    return lambda code, a, b: rule(Register(code, a, dtype), Register(code, b, dtype)).text


def reducer(name: str, dtype: DType) -> Reducer:
    """The reduction of ``dtype`` values by a row of the table of reductions."""
    if name in ("any", "all"):
        dtype = dtypes.bool8
    elif dtype in NARROW:
        dtype = dtypes.float32
    family = {"f": _floating, "c": _complex}.get(dtype.kind, _exact)
    return Reducer(dtype, _identity(name, dtype), family(name, dtype))


def square_to_add(code: Code, x: Value, dtype: DType) -> Value:
    """The square of a float, which a sum that it is added to may take with one rounding instead of two.

    Squares alone: of other products, those that cancel in eager would leave the rounding of one.
    """
    return code.op(f"fmul contract {register_type(dtype)} {x}, {x}")
