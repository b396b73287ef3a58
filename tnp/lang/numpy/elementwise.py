"""NumPy's ufuncs: the rows of the table, and compositions."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims
from tnp.core.elementwise_table import ROWS, Row
from tnp.core.proxies import NumberProxy, TensorProxy, is_number, pyval
from tnp.core.symbol import Symbol
from tnp.core.trace_templates import Templates
from tnp.lang.numpy.dtypes import resolve_ufunc, to_numpy_dtype, weak_type
from tnp.lang.numpy.operands import (
    as_array,
    as_mask,
    beyond,
    check_fits,
    check_order,
    may_be_beyond,
    normalize_operand,
)
from tnp.lang.numpy.registry import Out, alias, language, npsymbol

__all__ = ["fast_power", "loop_operands", "only_where", "powers_of_their_own", "ufunc_out"]


def ufunc_out(nin: int, nout: int = 1) -> Out:
    """How the call of a ufunc takes ``out=``."""
    return Out(position=nin, count=nout, tuples=True, converts=True)


def loop_operands(name: str, xs: tuple[Any, ...], dtype: Any, casting: str) -> tuple[list[Any], tuple[Any, ...]]:
    """The operands of ``np.<name>`` in the dtypes of the loop that it runs, and the dtypes of its results.

    A Python number stays one where an array of the loop's dtype stands beside it.
    """
    if dtype is None and casting == "same_kind":
        found = _of_one_dtype(name, xs)
        if found is not None:
            _check_numbers(xs, next(x.dtype for x in xs if type(x) is TensorProxy))
            return list(xs), found
    operands = [normalize_operand(x) for x in xs]
    loop = resolve_ufunc(name, tuple(weak_type(x) for x in operands), dtype, casting)
    shared = all(d is loop[0] for d in loop[: len(xs)])
    any_array = any(isinstance(x, TensorProxy) for x in operands)
    converted = [
        x.item() if isinstance(x, np.generic) and shared and any_array
        else x if is_number(x) and shared and any_array and _fits(x, loop[0])
        else as_array(x, d)
        for x, d in zip(operands, loop)
    ]  # fmt: skip
    if shared and any_array:
        _check_numbers(operands, loop[0])
    return converted, loop[len(xs) :]


def _check_numbers(operands: Iterable[Any], dtype: dtypes.DType) -> None:
    for x in operands:
        if is_number(x):
            check_fits(x, dtype)


def _of_one_dtype(name: str, xs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The dtypes of the results, if the operands are arrays of the loop's own dtype and numbers that fit it: most are."""
    shared = None
    kinds = []
    for x in xs:
        kind = type(x)
        if kind is TensorProxy:
            if shared is None:
                shared = x.dtype
            elif x.dtype is not shared:
                return None
            kinds.append(TensorProxy)
        elif kind is int or kind is float:
            kinds.append(kind)
        else:
            return None
    return None if shared is None else _uniform_loop(name, shared, tuple(kinds))


@cache
def _uniform_loop(name: str, dtype: dtypes.DType, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    types = tuple(to_numpy_dtype(dtype) if k is TensorProxy else k for k in kinds)
    loop = resolve_ufunc(name, types, None, "same_kind")
    fits = all(d is dtype and (k is TensorProxy or _fits(k(1), dtype)) for d, k in zip(loop, kinds))
    return loop[len(kinds) :] if fits else None


def _fits(x: Any, dtype: dtypes.DType) -> bool:
    """Whether a Python number can stand for an array of ``dtype``: NumPy would not convert it to another kind."""
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    return kind in {"b": (bool,), "i": (bool, int), "u": (bool, int), "f": (bool, int, float)}.get(
        dtype.kind, (bool, int, float, complex)
    )


def _symbol_of(row: Row) -> Symbol:
    function = getattr(clang, row.name)

    def meta(*xs: Any, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None) -> Any:
        if len(xs) != row.nargs:
            raise TypeError(f"{row.numpy}() takes {row.nargs} positional arguments but {len(xs)} were given")
        check_order(order)
        if row.name in _MIRRORED and dtype is None:
            found = _compare_beyond(row.name, *xs)
            if found is not None:
                return found if where is True else only_where(where, found)
        if row.name == "pow" and isinstance(xs[1], NumberProxy) and xs[1].value == 2:
            xs = xs[0], pyval(xs[1])  # a square takes a tenth of the time, and other exponents seldom become it
        operands, (result_dtype,) = loop_operands(row.numpy, xs, dtype, casting)
        if row.name in _MIRRORED and operands_differ(operands):
            result = _compare_signs(row.name, *operands)
        else:
            result = clang.convert(function(*operands), result_dtype)
        return result if where is True else only_where(where, result)

    meta.__name__ = row.numpy
    meta.__doc__ = getattr(np, row.numpy).__doc__
    symbol = npsymbol(method=row.name, tags=prims.registry[row.name].tags, out=ufunc_out(row.nargs))(meta)
    symbol.templates = Templates()
    return symbol


#: comparisons, and the same with the sides exchanged
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def operands_differ(operands: list[Any]) -> bool:
    """Whether a loop takes two dtypes: NumPy compares int64 with uint64 without converting either."""
    return len({x.dtype for x in operands if isinstance(x, TensorProxy)}) > 1


def _compare_beyond(name: str, a: Any, b: Any) -> TensorProxy | None:
    """A comparison of integers with a Python integer that their dtype does not hold, or of two of Python's, which NumPy decides by
    value. Also a comparison with ``None``, which equals no number."""
    if all(is_number(x) and (x.python_type if isinstance(x, NumberProxy) else type(x)) is int for x in (a, b)):
        # Of any size: NumPy compares Python's integers as objects.
        return as_array(getattr(clang, name)(a, b), dtypes.bool8)
    if name in ("eq", "ne") and (a is None) != (b is None):  # no number is None
        return clang.full_like(as_array(b if a is None else a), name == "ne", dtype=dtypes.bool8)
    for x, number, sides in ((a, b, lambda s: (0, s)), (b, a, lambda s: (s, 0))):
        x = as_array(x) if isinstance(x, np.integer) else x
        if isinstance(x, TensorProxy) and is_number(number):
            side = beyond(number, x.dtype)
            if side:
                return clang.full_like(x, getattr(operator, name)(*sides(side)), dtype=dtypes.bool8)
            if isinstance(number, NumberProxy) and may_be_beyond(number, x.dtype):
                return _compare_clamped(name if number is b else _MIRRORED[name], x, number)
    return None


def _compare_clamped(name: str, x: TensorProxy, number: NumberProxy) -> TensorProxy:
    """A comparison of integers with one of Python's that their dtype may not hold: with the nearest that it holds, but
    where the number's side decides."""
    limits = np.iinfo(to_numpy_dtype(x.dtype))
    low, high = limits.min, min(limits.max, np.iinfo(np.int64).max)
    wide = clang.convert(number, dtypes.int64)
    nearest = clang.convert(clang.minimum(clang.maximum(wide, low), high), x.dtype)
    result = getattr(clang, name)(x, nearest)
    below, above = clang.lt(wide, low), clang.gt(wide, high)
    true_for = {"ne": (below, above), "lt": (above,), "gt": (below,)}.get(name, ())
    for side in true_for:
        result = clang.logical_or(result, side)
    false_for = {"eq": (below, above), "le": (below,), "ge": (above,)}.get(name, ())
    for side in false_for:
        result = clang.logical_and(result, clang.logical_not(side))
    return result


def _compare_signs(name: str, a: TensorProxy, b: TensorProxy) -> TensorProxy:
    """A comparison of a signed with an unsigned integer: by value where the signed one is not negative."""
    if a.dtype.kind == "i":
        return _compare_signs(_MIRRORED[name], b, a)
    negative = clang.lt(b, 0)
    by_value = getattr(clang, name)(a, clang.convert(b, a.dtype))
    if name in ("ne", "gt", "ge"):
        return clang.logical_or(negative, by_value)
    return clang.logical_and(clang.logical_not(negative), by_value)


def only_where(condition: Any, result: TensorProxy) -> TensorProxy:
    """``result`` where a mask holds, else uninitialised. Raises NumPy's ``TypeError`` for an array that is no mask."""
    mask, result = clang.broadcast(as_mask(condition), result)
    unset = prims.empty(result.shape, device=result.device, dtype=result.dtype)
    return clang.where(mask, result, unset)


for _row in ROWS:
    # A few ufuncs came with later versions of NumPy than the oldest supported.
    if _row.numpy and hasattr(np, _row.numpy):
        globals()[_row.numpy] = _symbol_of(_row)
        __all__.append(_row.numpy)

#: what ``x ** exponent`` runs for floating and complex arrays instead of ``np.power``, and for integers and bools where the
#: exponent is 2: NumPy's operator knows these, its function does not
_FAST_POWERS = {2: "square", 0.5: "sqrt", 1: "positive", -1: "reciprocal"}


def _is_fast_of_complex(exponent: int | float) -> bool:
    """Whether NumPy's operator, which differs from version to version, runs that ufunc for complex arrays: it and the power differ at infinity."""
    infinite = np.array([np.inf + 0j])
    with np.errstate(all="ignore"):
        fast = getattr(np, _FAST_POWERS[exponent])(infinite)
        return bool(np.array_equal(infinite**exponent, fast, equal_nan=True))


_FAST_OF_COMPLEX = [(type(e), e) for e in (2, 1, -1, 2.0, 0.5, 1.0, -1.0) if _is_fast_of_complex(e)]


def fast_power(kind: str, exponent: Any) -> Symbol | None:
    """The ufunc that ``x ** exponent`` runs for an array of dtype kind ``kind`` where that is not ``np.power``."""
    if type(exponent) not in (int, float) or exponent not in _FAST_POWERS:
        return None
    if kind == "c":
        is_fast = (type(exponent), exponent) in _FAST_OF_COMPLEX
    else:
        is_fast = kind == "f" or (kind in "biu" and type(exponent) is int and exponent == 2)
    return globals()[_FAST_POWERS[exponent]] if is_fast else None


def powers_of_their_own(kind: str, exponent: type) -> tuple[int | float, ...]:
    """The exponents of a Python type for which ``x ** exponent``, of an array of dtype kind ``kind``, has another dtype or other values (at
    infinities and zeros) than ``np.power``."""
    if kind == "c":
        return tuple(e for of, e in _FAST_OF_COMPLEX if of is exponent)
    if kind == "f":
        return (0.5,) if exponent is float else ()
    return (2,) if kind == "b" and exponent is int else ()


absolute = language.methods["abs"]
for _name, _symbol in {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert", "bitwise_right_shift": "right_shift", "conj": "conjugate", "divide": "true_divide",
    "mod": "remainder", "pow": "power",
}.items():  # fmt: skip
    alias(_name, globals()[_symbol])
for _method in ("conj", "conjugate"):
    language.methods[_method] = globals()["conjugate"]
