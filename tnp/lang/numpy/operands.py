"""Conversion of NumPy functions' arguments to arrays: proxies, numbers, NumPy scalars, nested lists of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, devices, dtypes, intervals, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsValue
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.trace import current_trace
from tnp.lang.numpy.dtypes import result_dtype, result_of, to_numpy_dtype

__all__ = [
    "as_array",
    "as_array_with",
    "as_integer",
    "as_item",
    "as_mask",
    "asked",
    "axes",
    "axis",
    "beyond",
    "check_default_integer",
    "check_fits",
    "check_order",
    "check_real",
    "integer_or_eager",
    "is_complex",
    "is_scalar_like",
    "listed",
    "may_be_beyond",
    "normalize_operand",
    "promote",
    "size_or_int",
    "static_axis",
    "static_int",
    "ufunc_axes",
]

#: the largest number of the dtype that NumPy makes of integers
_NO_INT64 = "it makes an array of an integer that int64 does not hold, whose dtype NumPy chooses by its value"
_INT64_MAX = 2**63 - 1


def as_mask(where: Any) -> TensorProxy:
    """``where=`` as bools: what is no array counts by its truth. Raises NumPy's ``TypeError`` for an array of another dtype."""
    if isinstance(where, TensorProxy) and not where.scalar and where.dtype is not dtypes.bool8:
        given = to_numpy_dtype(where.dtype)
        raise TypeError(f"Cannot cast array data from {given!r} to dtype('bool') according to the rule 'safe'")
    return as_array(where, dtypes.bool8)


def as_array(x: Any, dtype: DType | None = None) -> TensorProxy:
    """``x`` as a proxy: numbers become 0-d arrays, sequences are stacked (``np.asarray`` of what a trace holds).

    Raises ``ValueError`` for ragged sequences as NumPy does; what a trace does not hold makes the program run eagerly.
    """
    if isinstance(x, TensorProxy):
        if dtype is None:
            return x
        check_real(x, dtype)
        return clang.convert(x, dtype)
    if dtype is not None and dtype.kind not in "cb" and getattr(x, "python_type", type(x)) is complex:
        raise NeedsEager("it makes an element of a real array of a complex number")
    if isinstance(x, NumberProxy):
        if dtype is not None:
            check_fits(x, dtype)
        is_default = dtype is None or (dtype is dtypes.int64 and x.value is None)
        if is_default and (x.value is None or not _is_int64(x.value)):  # most fit: they need no guard
            check_default_integer(x)
        return clang.convert(x, dtypes.dtype_of_number(x.python_type) if dtype is None else dtype)
    if isinstance(x, range):
        return _progression(range(*map(int, (x.start, x.stop, x.step))), dtype)
    if isinstance(x, (tuple, list)):
        return _stack(list(x), dtype)
    if is_number(x):
        wanted = result_of(np.asarray(x).dtype) if dtype is None else dtype
        check_fits(x, wanted)
        return clang.full((), x, dtype=wanted)
    if isinstance(x, np.generic):
        if dtype is not None:
            check_real(x, dtype)
            with np.errstate(all="ignore"):
                x = x.astype(to_numpy_dtype(dtype))
        own = clang.full((), x.item(), dtype=result_of(x.dtype))
        return own if dtype is None else clang.convert(own, dtype)
    raise NeedsEager(f"it makes an array of a {type(x).__name__}")


def _is_int64(x: Any) -> bool:
    return type(x) is not int or -_INT64_MAX - 1 <= x <= _INT64_MAX


def check_default_integer(x: Any) -> None:
    """Raises ``NeedsEager`` for an integer that int64 does not hold: NumPy then chooses another dtype. Guards an argument's range."""
    if getattr(x, "python_type", type(x)) is not int:
        return
    if isinstance(x, NumberProxy):
        low, high = intervals.bounds(x)
        if x.value is None:
            if high is not None and high > _INT64_MAX:
                raise NeedsEager(_NO_INT64)
            return
        if low is not None and high is not None and -_INT64_MAX <= low <= high <= _INT64_MAX:
            return
    if asked(lambda: x < -_INT64_MAX - 1 or x > _INT64_MAX):
        raise NeedsEager(_NO_INT64)


def asked(question: Callable[[], Any]) -> bool:
    """The answer to a question about numbers. It becomes a guard; its operations are not recorded in the trace."""
    trace = current_trace()
    if trace is None:
        return bool(question())
    trace.push_scope()
    try:
        return bool(question())
    finally:
        trace.pop_scope()


def beyond(x: Any, dtype: DType) -> int:
    """-1 if ``x`` is a Python integer below all that an integer ``dtype`` holds, 1 if it is above, else 0.

    Of an argument, the trace depends on the answer, unless int64 holds it, as it holds nearly all. What the program computes
    is left to executors, who take no number for one that it does not fit.
    """
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    if kind is not int or dtype.kind not in "iu":
        return 0
    limits = np.iinfo(to_numpy_dtype(dtype))
    if isinstance(x, NumberProxy):
        if x.value is None or (dtype is dtypes.int64 and limits.min <= x.value <= limits.max):
            return 0
    return -1 if x < limits.min else 1 if x > limits.max else 0


def may_be_beyond(x: NumberProxy, dtype: DType) -> bool:
    """Whether a Python integer that the program computes may be one that an integer ``dtype`` does not hold; int64 holds
    what programs compute."""
    if x.python_type is not int or x.value is not None or dtype.kind not in "iu" or dtype is dtypes.int64:
        return False
    low, high = intervals.bounds(x)
    limits = np.iinfo(to_numpy_dtype(dtype))
    above = dtype.itemsize < 8 and (high is None or high > limits.max)
    return low is None or low < limits.min or above


def check_fits(x: Any, dtype: DType) -> None:
    """Raises NumPy's ``OverflowError`` for a Python integer that ``dtype`` does not hold, and Python's for one that no float does."""
    if type(x) is int and dtype.kind in "fc":
        float(x)
    if beyond(x, dtype):
        raise OverflowError(f"Python integer {x.value if isinstance(x, NumberProxy) else x} out of bounds for {dtype}")


def as_array_with(attribute: str, x: Any) -> TensorProxy:
    """``x`` as a proxy, where NumPy's function reads an attribute of it before anything else: of a list, that raises."""
    if not isinstance(x, (TensorProxy, np.generic)):
        kind = x.python_type if isinstance(x, NumberProxy) else type(x)
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{attribute}'")
    return as_array(x)


def _progression(x: range, dtype: DType | None) -> TensorProxy:
    """The integers of a range, as NumPy takes them out of one: without any, they are of no dtype of theirs."""
    if not x:
        return clang.full((0,), 0, dtype=dtypes.float64 if dtype is None else dtype)
    ends = (x[0], x[-1])
    own = result_of(np.asarray(ends).dtype)
    wanted = own if dtype is None else dtype
    if own is not dtypes.int64:
        return _stack(list(x), wanted)
    for end in ends:
        check_fits(end, wanted)
    made = prims.iota(len(x), start=x.start, step=x.step, device=devices.current(), dtype=dtypes.int64)
    # Inexact numbers are rounded from Python's floats.
    made = clang.convert(made, dtypes.float64) if wanted.kind in "fc" else made
    return clang.convert(made, wanted)


def _stack(items: list[Any], dtype: DType | None) -> TensorProxy:
    if not items:
        return clang.full((0,), 0, dtype=dtypes.float64 if dtype is None else dtype)
    wanted = _nested_dtype(items) if dtype is None else dtype
    step = _step_of(items) if wanted is dtypes.int64 else None
    if step is not None:
        places = prims.iota(len(items), device=devices.current(), dtype=wanted)
        as_array(items[-1])  # it fits, or that is guarded
        return clang.add(places if step == 1 else clang.mul(places, step), as_array(items[0], wanted))
    arrays = [as_item(x, wanted) for x in items]
    check(
        all(sizes.shapes_equal(a.shape, arrays[0].shape) is not False for a in arrays),
        lambda: (
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
            f"1 dimensions. The detected shape was ({len(items)},) + inhomogeneous part."
        ),
    )
    return clang.stack(arrays, 0)


def _step_of(items: list[Any]) -> int | None:
    """By how much each of some integers that the program computes is more than the one before; ``None`` if that is not one known
    number."""
    if len(items) < 3 or not all(
        isinstance(x, NumberProxy) and x.python_type is int and x.value is None for x in items
    ):
        return None
    steps = {intervals.differ_by(b, a) for a, b in itertools.pairwise(items)}
    return steps.pop() if len(steps) == 1 else None


def as_item(x: Any, dtype: DType) -> TensorProxy:
    """An item of a list in the dtype of the array that is made of it: scalars must fit signed integers."""
    if isinstance(x, TensorProxy) and x.scalar and dtype.kind == "i" and x.dtype is not dtype:
        if not np.can_cast(to_numpy_dtype(x.dtype), to_numpy_dtype(dtype), "safe"):
            return prims.convert_scalar(x, dtype)
    if isinstance(x, np.generic) and x.dtype.kind in "iuf" and dtype.kind == "i":
        made = np.empty((), to_numpy_dtype(dtype))
        made[...] = x  # raises what NumPy does
        x = made[()]
    return as_array(x, dtype)


def _leaves(items: Any) -> list[Any]:
    if isinstance(items, range):
        return [items[0]] if items else []
    if isinstance(items, (tuple, list)):
        return [leaf for x in items for leaf in _leaves(x)]
    return [items]


def _nested_dtype(items: list[Any]) -> DType:
    leaves = _leaves(items)
    if not leaves:
        return dtypes.float64
    strong = []
    for x in leaves:
        if is_number(x):
            kind = x.python_type if isinstance(x, NumberProxy) else type(x)
            check_default_integer(x)
            strong.append(np.dtype(kind))
        elif isinstance(x, TensorProxy):
            strong.append(to_numpy_dtype(x.dtype))
        elif isinstance(x, np.generic):
            strong.append(x.dtype)
        else:
            raise NeedsEager(f"it makes an array of a {type(x).__name__}")
    return result_of(np.result_type(*strong))


def is_complex(x: Any) -> bool:
    """Whether ``x`` is a complex number or array, or stands for one."""
    if isinstance(x, (TensorProxy, np.generic)):
        return x.dtype.kind == "c"
    return getattr(x, "python_type", type(x)) is complex


def is_scalar_like(x: Any) -> bool:
    """Whether ``x`` is a Python number, a NumPy scalar, or stands for one."""
    return is_number(x) or isinstance(x, np.generic)


def normalize_operand(x: Any) -> Any:
    """``x`` as promotion needs it: a proxy, a Python number or a NumPy scalar; sequences become arrays."""
    if isinstance(x, (TensorProxy, NumberProxy, np.generic)) or type(x) in (bool, int, float, complex):
        return x
    return as_array(x)


def promote(*xs: Any) -> list[TensorProxy]:
    """The operands as arrays of the dtype that they promote to."""
    operands = [normalize_operand(x) for x in xs]
    dtype = result_dtype(*operands)
    return [as_array(x, dtype) for x in operands]


def static_int(x: Any, what: str = "an integer") -> int:
    """``x`` as an int that the trace depends on. Raises ``TypeError`` if it is none, ``NeedsValue`` for a 0-d array of integers, and
    ``NeedsEager`` for other arrays."""
    if isinstance(x, TensorProxy) and x.dtype.kind in "iu" and x.ndim == 0:
        trace = current_trace()
        known = trace.scalar_values.get(x.name) if trace is not None else None
        if known is not None:
            return int(known())
        raise NeedsValue(f"{what} is a value that is known only when the program runs")
    if isinstance(x, TensorProxy):
        raise NeedsEager(f"{what} is an array, and no integer")
    try:
        return int(x.__index__())
    except AttributeError:
        name = getattr(x, "python_type", type(x)).__name__
        raise TypeError(f"{what} must be an integer, not {name}") from None


def integer_or_eager(x: Any, what: str = "an integer") -> int:
    """:func:`static_int` for functions that also take other numbers (``np.triu(a, 0.5)``). Raises ``NeedsEager`` for those."""
    try:
        return static_int(x, what)
    except TypeError as error:
        raise NeedsEager(f"it counts by what is no integer: {error}") from None


def size_or_int(x: Any, what: str = "an integer") -> int | NumberProxy:
    """``x`` where a length or a position is wanted: a symbolic size as it is, anything else as :func:`static_int` has it."""
    return x if symbols.is_symbol(x) else static_int(x, what)


def listed(x: Any) -> Any:
    """``x`` where a function takes an integer or a sequence of them. Raises ``NeedsValue`` for an array of several."""
    if isinstance(x, TensorProxy) and x.ndim and x.dtype.kind in "iu":
        raise NeedsValue("an array of axes or lengths is known only when the program runs", array=x)
    return x


def check_real(a: TensorProxy | np.generic, dtype: DType) -> None:
    """Raises :class:`NeedsEager` for a conversion that drops imaginary parts, of which NumPy warns at each call."""
    if a.dtype.kind == "c" and dtype.kind not in "cb":
        raise NeedsEager("it converts complex values to real ones, of which NumPy warns")


#: the order that nearly every call has
_KEEP = "K"


def check_order(order: Any) -> None:
    """Raises NumPy's ``ValueError`` for what is no memory order: one of C, F, A and K, or ``None``."""
    if order is None or order is _KEEP:
        return
    valid = isinstance(order, str) and order.upper() in ("C", "F", "A", "K")
    check(valid, lambda: f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


def static_axis(x: Any) -> int:
    """An axis as an int that the trace depends on."""
    if isinstance(x, (bool, np.bool_)) or (isinstance(x, NumberProxy) and x.python_type is bool):
        raise NeedsEager("an axis is a bool, which some functions of NumPy take and others refuse")
    return static_int(x, "an axis")


def axis(ndim: int, x: Any) -> int:
    """One axis in ``[0, ndim)``. Raises NumPy's ``AxisError``."""
    at = static_axis(x)
    if not -ndim <= at < ndim:
        raise np.exceptions.AxisError(at, ndim)
    return at % ndim if ndim else 0


def axes(ndim: int, x: Any) -> tuple[int, ...]:
    """Axes in ``[0, ndim)``, ``None`` meaning all. Raises ``AxisError``, or ``ValueError`` for one named twice."""
    if x is None:
        return tuple(range(ndim))
    found = tuple(axis(ndim, a) for a in x) if isinstance(x, (tuple, list)) else (axis(ndim, x),)
    check(len(set(found)) == len(found), lambda: "duplicate value in 'axis'")
    return found


def ufunc_axes(ndim: int, x: Any) -> tuple[int, ...]:
    """:func:`axes` as ufuncs reduce along them: a 0-d array has an axis 0. Raises ``TypeError`` for a list."""
    if isinstance(x, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    if ndim == 0 and x is not None and not isinstance(x, tuple):
        axis(1, x)
        return ()
    return axes(ndim, x)


def as_integer(n: Any) -> Any:
    """A count, which NumPy makes an integer even if it is a float."""
    if isinstance(n, (str, bytes)):
        raise NeedsEager("a count is text, which NumPy reads")
    if isinstance(n, NumberProxy) and n.python_type is float:
        n = n.known()
    return int(n) if isinstance(n, (float, np.floating)) else n
