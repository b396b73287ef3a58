"""Elementwise prims: the rows of the table, and a few that do not fit into it.

Arguments have one shape, one device and, unless stated otherwise, one dtype. A Python number stands for an array of
that number in the arrays' dtype. If all arguments are Python numbers, so is the result, by Python's rules.
"""

from __future__ import annotations

import builtins
import cmath
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import dtypes, intervals, symbols
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS, Row
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import (
    check,
    check_kind,
    check_same_device,
    check_same_dtype,
    check_same_shape,
    check_tensor,
    own_prim,
    prim,
)
from tnp.core.proxies import Number, NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags, Symbol

__all__ = ["number_function", "refuses_some"]


def number_function(row: Row) -> Callable[..., Any] | None:
    """What the row means on Python numbers (``operator.add``); complex numbers take :mod:`cmath`'s functions."""
    if not row.number:
        return None
    module, _, name = row.number.partition(".")
    real: Callable[..., Any] = getattr(importlib.import_module(module), name)
    over_complex = getattr(cmath, name, None)
    if module != "math" or over_complex is None:
        return real

    def choose(*xs: Any) -> Any:
        return over_complex(*xs) if any(type(x) is builtins.complex for x in xs) else real(*xs)

    choose.__name__ = name
    return choose


_BY_ZERO = frozenset(("div", "floor_divide", "remainder", "fmod", "divmod"))
_DIVISIONS = _BY_ZERO | {"pow", "left_shift", "right_shift"}
#: functions of :mod:`math` that are not defined everywhere, or overflow
_PARTIAL = frozenset(row.name for row in ROWS if row.number.startswith("math.") and not row.total)


#: integers of more bits take long to compute
MOST_BITS = 1_000_000


def refuses_some(name: str, args: Sequence[Any]) -> bool:
    """Whether an operation on Python numbers, some of which are known only when the program runs, may raise then.

    Overflows of floats to a known power are left out (``dx**2``): they would part what is computed before and after them."""
    if name in _DIVISIONS:
        if isinstance(args[1], NumberProxy) or (name in _BY_ZERO and args[1] == 0):
            return True
        return (
            name == "pow"
            and isinstance(args[0], NumberProxy)
            and not isinstance(args[1], builtins.complex)
            and args[1] < 0
        )
    if name == "convert_number":
        return isinstance(args[0], NumberProxy) and args[0].python_type is float and args[1] is int
    return name in _PARTIAL and any(isinstance(a, NumberProxy) for a in args)


def _check_bits(name: str, a: Any, b: Any) -> None:
    """Raises :class:`NeedsEager` for a huge integer: tracing may try an iteration that does not come."""
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1:
        bits = b * (a.bit_length() if name == "pow" else 1)
        if bits > MOST_BITS:
            raise NeedsEager(f"it computes an integer of more than {MOST_BITS:,} bits")


def _number_result(row: Row, function: Callable[..., Any] | None, args: tuple[Any, ...]) -> NumberProxy:
    check(function is not None, lambda: f"{row.name} does not take Python numbers", TypeError)
    assert function is not None
    types = [a.python_type if isinstance(a, NumberProxy) else type(a) for a in args]
    values = [a.value if isinstance(a, NumberProxy) else a for a in args]
    if None not in values:
        if row.name in ("pow", "left_shift"):
            _check_bits(row.name, *values)
        value = function(*values)
        result = NumberProxy(None, type(value), value)
        result.is_of_float = any(isinstance(a, NumberProxy) and a.is_of_float for a in args)
        intervals.note_result(result, row.name, args)
        symbols.note_relations(result, row.name, args)
        return result
    # The result's type by example: arithmetic on Python numbers has a type that depends on their types, but for
    # an integer to a negative power, which is a float only for negative exponents.
    try:
        example = function(*(t(1) for t in types))
    except ValueError:  # atanh(1)
        example = function(*(t(0) for t in types))
    result = NumberProxy(None, type(example))
    intervals.note_result(result, row.name, args)
    return result


def _result_dtype(row: Row, dtype: DType) -> DType:
    if row.result == "bool":
        return dtypes.bool8
    if row.result == "real":
        return dtypes.real_counterpart(dtype)
    return dtypes.int32 if row.result == "int32" else dtype


def _meta_of(row: Row) -> Callable[..., Any]:
    function = number_function(row)

    if row.nargs == 1:

        def unary(a: TensorProxy | Number, /) -> TensorProxy | NumberProxy:
            if not isinstance(a, TensorProxy):
                check(is_number(a), lambda: f"{row.name} does not take {type(a).__name__}", TypeError)
                return _number_result(row, function, (a,))
            check_kind(a.dtype, row.takes, row.name)
            return TensorProxy(like=a, dtype=_result_dtype(row, a.dtype))

        return unary

    def binary(a: TensorProxy | Number, b: TensorProxy | Number, /) -> TensorProxy | NumberProxy:
        tensors = []
        for x in (a, b):
            if isinstance(x, TensorProxy):
                tensors.append(x)
            elif not is_number(x):
                raise TypeError(f"{row.name} does not take {type(x).__name__}")
        if not tensors:
            return _number_result(row, function, (a, b))
        first = tensors[0]
        dtype, shape = first.dtype, first.shape
        check_kind(dtype, row.takes, row.name)
        if len(tensors) == 2:
            check_same_dtype(row.name, *tensors)
            check_same_device(row.name, *tensors)
            shape = check_same_shape(row.name, *tensors)
        return TensorProxy(shape=shape, device=first.device, dtype=_result_dtype(row, dtype))

    return binary


def _prim_of(row: Row) -> Symbol:
    meta = _meta_of(row)
    meta.__doc__ = f"``{row.name}`` of each element ({row.numpy or row.torch or row.number} of NumPy, torch or Python)."
    return own_prim(row.name, meta, (OpTags.ELEMENTWISE, *_TAGS.get(row.name, ())))


#: what there is to know of a row beyond the table
_TAGS = {"pow": (OpTags.POWER,)}


for _row in ROWS:
    globals()[_row.name] = _prim_of(_row)
    __all__.append(_row.name)


@prim(OpTags.ELEMENTWISE)
def where(condition: TensorProxy, a: TensorProxy | Number, b: TensorProxy | Number, /) -> TensorProxy:
    """``a`` where the bool array ``condition`` holds, else ``b``."""
    check_tensor(condition, "where")
    check_kind(condition.dtype, "b", "where's condition")
    tensors = [x for x in (a, b) if isinstance(x, TensorProxy)]
    check(bool(tensors), lambda: "where needs an array among its values", TypeError)
    shape = check_same_shape("where", condition, *tensors)
    check_same_device("where", condition, *tensors)
    return TensorProxy(like=condition, shape=shape, dtype=check_same_dtype("where", *tensors))


@prim(OpTags.ELEMENTWISE)
def ldexp(a: TensorProxy, b: TensorProxy, /) -> TensorProxy:
    """``a * 2**b``; ``a`` floating, ``b`` int32 or int64."""
    check_kind(a.dtype, "f", "ldexp")
    check_kind(b.dtype, "i", "ldexp's exponent")
    return TensorProxy(like=a, shape=check_same_shape("ldexp", a, b))


@prim()
def frexp(a: TensorProxy, /) -> tuple[TensorProxy, TensorProxy]:
    """Mantissas in [0.5, 1) and int32 exponents of floating ``a``."""
    check_kind(a.dtype, "f", "frexp")
    return TensorProxy(like=a), TensorProxy(like=a, dtype=dtypes.int32)


@prim(OpTags.ELEMENTWISE)
def convert_element_type(a: TensorProxy | Number, /, dtype: DType) -> TensorProxy | NumberProxy:
    """``a`` as ``dtype``: NumPy's ``astype`` with unsafe casting; a number becomes a 0-d array."""
    if not isinstance(a, TensorProxy):
        return TensorProxy(shape=(), dtype=dtype)
    return TensorProxy(like=a, dtype=dtype, scalar=a.scalar)


@prim(OpTags.MAY_RAISE)
def convert_scalar(a: TensorProxy, /, dtype: DType) -> TensorProxy:
    """A 0-d ``a`` as a signed integer ``dtype``, truncated. ``OverflowError`` or ``ValueError`` at run time for what that does
    not hold, as Python's ``int()`` and NumPy's stores of scalars have it."""
    check_tensor(a, "convert_scalar")
    check_kind(dtype, "i", "convert_scalar")
    check(a.ndim == 0, lambda: f"convert_scalar takes a 0-d array, not one of {a.ndim} dimensions")
    return TensorProxy(like=a, dtype=dtype, scalar=a.scalar)


@prim(OpTags.VIEW)
def bitcast(a: TensorProxy, /, dtype: DType) -> TensorProxy:
    """The same bytes as another dtype of the same width."""
    check(a.dtype.bits == dtype.bits, lambda: f"bitcast needs dtypes of one width, not {a.dtype} and {dtype}")
    return TensorProxy(like=a, dtype=dtype)


@prim(OpTags.VIEW)
def real(a: TensorProxy, /) -> TensorProxy:
    """The real part of a complex array."""
    check_kind(a.dtype, "c", "real")
    return TensorProxy(like=a, dtype=dtypes.real_counterpart(a.dtype))


@prim(OpTags.VIEW)
def imag(a: TensorProxy, /) -> TensorProxy:
    """The imaginary part of a complex array."""
    check_kind(a.dtype, "c", "imag")
    return TensorProxy(like=a, dtype=dtypes.real_counterpart(a.dtype))


@prim(OpTags.ELEMENTWISE)
def complex(a: TensorProxy, b: TensorProxy, /) -> TensorProxy:
    """``a + b·i`` of two float32 or float64 arrays."""
    check_kind(a.dtype, "f", "complex")
    dtype = dtypes.complex_counterpart(check_same_dtype("complex", a, b))
    return TensorProxy(like=a, shape=check_same_shape("complex", a, b), dtype=dtype)


@prim()
def item(a: TensorProxy, /) -> NumberProxy:
    """The element of an array of one element, as a Python number known at run time."""
    check_tensor(a, "item")
    python_type = {"b": bool, "i": int, "u": int, "f": float, "c": builtins.complex}[a.dtype.kind]
    if a.dtype is dtypes.uint64:  # which holds numbers that int64, that integers are taken to fit, does not
        return NumberProxy(None, python_type, low=0, bound=2**64 - 1)
    return NumberProxy(None, python_type)


@prim()
def convert_number(a: Number, /, python_type: type) -> NumberProxy:
    """``python_type(a)`` of a Python number: ``int``, ``float``, ``bool`` or ``complex``."""
    value = a.value if isinstance(a, NumberProxy) else a
    made = NumberProxy(None, python_type, None if value is None else python_type(value))
    made.is_of_float = python_type is int and isinstance(a, NumberProxy) and a.python_type is float
    if python_type in (int, float) and made.value is not None:
        symbols.note_relations(made, python_type.__name__, (a,))
    return made


@prim(OpTags.FACTORY)
def full(shape: Any, fill_value: Number, *, device: Device, dtype: DType) -> TensorProxy:
    """An array of that shape with every element ``fill_value``."""
    return TensorProxy(shape=tuple(shape), device=device, dtype=dtype)


@prim(OpTags.FACTORY)
def iota(length: Any, *, start: Number = 0, step: Number = 1, device: Device, dtype: DType) -> TensorProxy:
    """``start + step * i`` for i below ``length``, computed so in ``dtype``."""
    return TensorProxy(shape=(length,), device=device, dtype=dtype)


@prim(OpTags.FACTORY)
def empty(shape: Any, *, device: Device, dtype: DType) -> TensorProxy:
    """An array of that shape whose elements are whatever the memory held."""
    return TensorProxy(shape=tuple(shape), device=device, dtype=dtype)
