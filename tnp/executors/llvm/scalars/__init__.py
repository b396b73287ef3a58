"""Elementwise prims on registers: for each prim and dtype, IR with the results of NumPy's loop.

Tables by family (:mod:`integers`, :mod:`floats`, :mod:`complexes`) contain the rules, keyed by the prim's name and
written with the operators of :class:`~tnp.executors.llvm.scalars.registers.Register`. float16 and bfloat16 are computed
in float32 and rounded after each operation.

>>> from tnp.core import dtypes
>>> from tnp.executors.llvm.code import Code
>>> code = Code()
>>> emit(code, "maximum", ["%a", "%b"], dtypes.int32)
'%t0'
>>> print(code.text())
  %t0 = call i32 @llvm.smax.i32(i32 %a, i32 %b)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import by_name
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars.complexes import COMPLEXES, NEED_LIBM, has_complex_libm
from tnp.executors.llvm.scalars.conversions import NARROW, bitcast, convert, differs_in_arrays, load, store
from tnp.executors.llvm.scalars.floats import FLOATS
from tnp.executors.llvm.scalars.integers import BOOLS, INTEGERS
from tnp.executors.llvm.scalars.reductions import Reducer, is_identity_of_extreme, reducer, square_to_add
from tnp.executors.llvm.scalars.registers import (
    Register,
    Value,
    complex_of,
    constant,
    itemsize,
    memory_type,
    register_type,
    value_of,
)
from tnp.executors.llvm.scalars.special import NARROW_BITS, frexp, ldexp

__all__ = [
    "Reducer",
    "Value",
    "bitcast",
    "constant",
    "convert",
    "cost",
    "differs_in_arrays",
    "emit",
    "emit_ldexp",
    "is_identity_of_extreme",
    "itemsize",
    "load",
    "memory_type",
    "reducer",
    "register_type",
    "square_to_add",
    "store",
    "supports",
    "where",
]

_TABLES: dict[str, dict[str, Callable[..., Any]]] = {
    "b": BOOLS,
    "i": INTEGERS,
    "u": INTEGERS,
    "f": FLOATS,
    "c": COMPLEXES,
}


#: what :func:`emit`, :func:`convert` and :func:`bitcast` do besides the tables, by kind
_ANY = ("where", "convert_element_type", "bitcast")
_OTHERS = {"b": _ANY, "i": _ANY, "u": _ANY, "f": (*_ANY, "complex", "frexp", "ldexp"), "c": _ANY}


def supports(name: str, operands: tuple[DType, ...]) -> bool:
    """Whether :func:`emit` (or :func:`convert`, :func:`bitcast`) has the prim for arrays of these dtypes."""
    first = operands[-1] if name == "where" else operands[0]
    if first.kind == "c" and name in NEED_LIBM and not has_complex_libm():
        return False
    return name in _OTHERS.get(first.kind, "") or name in _TABLES[first.kind]


#: the number of the metadata of choices that nobody can tell
UNPREDICTABLE = 29_999_999


def where(code: Code, args: list[Value], dtype: DType, *, is_unpredictable: bool = False) -> Value:
    """One value or the other. Where LLVM does not vectorise, it may make a branch of that, unless it ``is_unpredictable``."""
    condition, a, b = args
    type_, hint = register_type(dtype), ""
    if is_unpredictable:
        code.require("unpredictable", f"!{UNPREDICTABLE} = !{{}}")
        hint = f", !unpredictable !{UNPREDICTABLE}"
    if dtype.kind == "c":
        return tuple(code.op(f"select i1 {condition}, {type_} {x}, {type_} {y}{hint}") for x, y in zip(a, b))
    return code.op(f"select i1 {condition}, {type_} {a}, {type_} {b}{hint}")


def emit(code: Code, name: str, args: list[Value], dtype: DType) -> Value:
    """Appends the instructions of a prim; its result's operand.

    ``dtype`` is the operands' (of ``where``, the values'). ``frexp`` gives a pair; :func:`emit_ldexp` has operands of two dtypes.
    """
    if name == "where":
        return where(code, args, dtype)
    if name == "frexp":
        return value_of(frexp(Register(code, args[0], dtype)))
    if name == "complex":
        part = dtypes.real_counterpart(dtypes.complex_counterpart(dtype))
        return tuple(convert(code, a, dtype, part) for a in args)
    if dtype in NARROW and name in NARROW_BITS:
        return NARROW_BITS[name](*(Register(code, a, dtype) for a in args)).text
    if dtype in NARROW:
        wide = [convert(code, a, dtype, dtypes.float32) for a in args]
        result = emit(code, name, wide, dtypes.float32)
        return result if by_name[name].result == "bool" else convert(code, result, dtypes.float32, dtype)
    rule = _TABLES[dtype.kind][name]
    if dtype.kind == "c":
        return value_of(rule(*(complex_of(code, a, dtype) for a in args)))
    return value_of(rule(*(Register(code, a, dtype) for a in args)))


def emit_ldexp(code: Code, a: Value, n: Value, dtype: DType, exponent_dtype: DType) -> Value:
    """``a * 2**n``; ``n`` is of an integer dtype."""
    exponent = Register(code, convert(code, n, exponent_dtype, dtypes.int64), dtypes.int64)
    return ldexp(Register(code, a, dtype), exponent).text


#: in additions of real numbers
_COSTS = {
    **dict.fromkeys(("abs", "bitcast", "complex", "conj", "imag", "neg", "positive", "real", "signbit"), 0),
    **dict.fromkeys(("div", "reciprocal", "sqrt", "rsqrt"), 5),
    **dict.fromkeys(("floor_divide", "fmod", "remainder"), 8),
    **dict.fromkeys(("digamma", "erfinv", "gcd", "lcm", "lgamma", "logaddexp", "logaddexp2"), 40),
}


def cost(name: str, dtype: DType) -> int:
    """About how many additions an operation takes."""
    if dtype.kind in "iu" and name == "pow":
        return 20
    one = _COSTS.get(name, 20 if name in by_name and by_name[name].c in vectormath.FUNCTIONS else 1)
    if dtype.kind != "c":
        return one
    return {"abs": 20, "mul": 6, "square": 6, "div": 20}.get(name, 100 if name in NEED_LIBM else 3 * one)
