"""Numerical ranges: evenly spaced numbers, by step, by count, on a logarithmic scale."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, intervals, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque, NeedsValue
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number, pyval
from tnp.core.symbol import OpTags
from tnp.lang.numpy.creation import cpu_device, dtype_or, sample
from tnp.lang.numpy.dtypes import result_dtype, result_of, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, is_scalar_like, normalize_operand, size_or_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import language, npsymbol

__all__ = ["arange", "arange_length", "arange_of_length", "checked_length", "geomspace", "linspace", "logspace"]


def _arange_length(start: Any, stop: Any, step: Any) -> int:
    """How many elements ``np.arange`` gives: NumPy computes it in float64, and so does this."""
    span = stop - start
    if step == 0:
        raise ZeroDivisionError("division by zero")
    count = span / step
    if isinstance(count, complex):
        return max(0, min(math.ceil(count.real), math.ceil(count.imag)))
    if count != count:
        raise ValueError("arange: cannot compute length")
    if count == 0 and span != 0:
        return int(math.copysign(1, count) > 0)
    if not math.isfinite(count):
        raise OverflowError("Maximum allowed size exceeded")
    return max(0, math.ceil(count))


@npsymbol(returns="array", factory=True)
def arange(*bounds: Any, dtype: Any = None, device: Any = None, like: Any = None, **named: Any) -> TensorProxy:
    """``arange(stop)``, ``arange(start, stop)`` or ``arange(start, stop, step)``; the numbers decide the length."""
    cpu_device(device)
    values = dict(zip(("start", "stop", "step"), bounds), **named)
    if values.get("stop") is None:
        check("start" in values, lambda: "arange() requires stop to be specified.", TypeError)
        values["stop"], values["start"] = values["start"], 0
    start, stop = values.get("start"), values["stop"]
    step = values.get("step")
    start, step = 0 if start is None else start, 1 if step is None else step
    is_size = isinstance(stop, NumberProxy) and stop.value is None and stop.python_type is int
    if is_size and (start, step) == (0, 1):
        return prims.iota(stop, device=cpu_device(device), dtype=dtype_or(dtype, dtypes.int64))
    if any(map(symbols.is_symbol, (start, stop, step))):
        kind = dtype_or(dtype, dtypes.int64)
        made = clang.arange_of_sizes(start, stop, step, kind) if kind in (dtypes.int64, dtypes.float64) else None
        if made is not None:
            return made
    for x in (start, stop, step):
        if isinstance(x, TensorProxy):
            raise NeedsValue("the length of np.arange depends on a value that is known only when the program runs")
        if not is_scalar_like(x) or isinstance(x, (np.datetime64, np.timedelta64)):
            raise NeedsEager(f"it makes a progression of a {type(x).__name__}")
    with np.errstate(all="ignore"):
        own = result_of(np.arange(*(sample(x) for x in (start, stop, step))).dtype)
        kind = dtype_or(dtype, own)
        first, last, by = (pyval(x) for x in (start, stop, step))
        return _progression(first, by, _arange_length(first, last, by), kind)


def _progression(start: Any, step: Any, length: int, dtype: DType) -> TensorProxy:
    """``start``, ``start + step``, … as ``np.arange`` fills them: by the difference of the first two in ``dtype``."""
    np_dtype = to_numpy_dtype(dtype)
    if dtype.kind in "iu" and not all(
        map(functools.partial(_holds, np.iinfo(np_dtype)), (start, start + step)[:length])
    ):
        np.arange(start, start + step * min(length, 2), step, np_dtype)  # it raises for most of these
        raise NeedsOpaque("np.arange of numbers that its dtype does not hold")
    first, second = (np.asarray(x).astype(np_dtype) for x in (start, start + step))
    if dtype.kind == "b":
        check(
            length <= 2,
            lambda: "arange() is only supported for booleans when the result has at most length 2.",
            TypeError,
        )
        return as_array([bool(first), bool(second)][:length], dtype)
    if length <= 1:
        return clang.full((length,), first.item(), dtype=dtype)
    # float16 is filled in float32, NumPy's and the hardware's way.
    wide = dtypes.float32 if dtype is dtypes.float16 else dtype
    wide_numpy = to_numpy_dtype(wide)
    delta = np.subtract(second.astype(wide_numpy), first.astype(wide_numpy))
    made = prims.iota(length, start=first.item(), step=delta.item(), device=cpu_device(None), dtype=wide)
    return clang.convert(made, dtype)


def _holds(limits: np.iinfo[Any], x: Any) -> bool:
    return bool(limits.min <= x <= limits.max)


# Of a length that only the program knows


@npsymbol(id_prefix="tnp", tags=(OpTags.MAY_RAISE,))
def checked_length(n: Any, message: str) -> NumberProxy:
    """The integer ``n`` as a length. Raises ``ValueError`` with the message at run time if it is negative."""
    a = clang.convert(as_array(n), dtypes.int64)
    made = prims.item(prims.require(a, clang.ge(a, 0), ValueError, message))
    made.low = 0
    # One number has one length.
    constant, terms = sizes.key_of(n) if isinstance(n, NumberProxy) else (0, [(n.name, 1)])
    length = NumberProxy(f"length({constant}, {sorted(terms)})", int, low=0)
    made.form = intervals.Linear({length.name: (length, 1)}, 0)
    return made


@npsymbol(id_prefix="tnp", tags=(OpTags.MAY_RAISE,))
def arange_length(start: Any, stop: Any, step: Any) -> NumberProxy:
    """How many elements ``np.arange`` gives: the smallest integer from ``(stop - start) / step`` on, as NumPy computes it.

    Raises ``ValueError`` at run time for none, or too many.
    """
    span = as_array(language.method("sub")(stop, start))
    is_step = type(step) in (int, float) and step == 1
    count = clang.convert(span if is_step else as_array(language.method("div")(span, step)), dtypes.float64)
    fits = clang.lt(clang.abs(count), _MOST_ELEMENTS)
    count = prims.require(count, fits, ValueError, "Maximum allowed size exceeded")
    ceiling = clang.ceil(count)
    if not is_step:  # one that underflows to 0
        tiny = clang.logical_and(clang.eq(count, 0), clang.ne(span, 0))
        ceiling = clang.where(tiny, clang.convert(clang.logical_not(clang.signbit(count)), dtypes.float64), ceiling)
    made = prims.item(clang.convert(clang.maximum(ceiling, 0.0), dtypes.int64))
    made.low = 0
    return made


_MOST_ELEMENTS = 2.0**59


@npsymbol(id_prefix="tnp", returns="array")
def arange_of_length(start: Any, stop: Any, step: Any, length: Any, dtype: Any = None) -> TensorProxy:
    """``start``, ``start + step``, …: as :func:`arange` of that many elements. ``stop`` decides the dtype only."""
    own = result_of(np.arange(*(_sample_of(x) for x in (start, stop, step))).dtype)
    kind = dtype_or(dtype, own)
    if kind not in _EXACT:
        raise NeedsEager(f"it makes a progression of {kind}, of a length that is known only when the program runs")
    places = prims.iota(length, device=cpu_device(None), dtype=kind)
    if all(type(x) is int for x in (start, step)) and (start, step) == (0, 1):
        return places
    if type(step) is int and kind is dtypes.int64:
        return clang.add(places if step == 1 else clang.mul(places, step), clang.convert(as_array(start), kind))
    first, second = (clang.convert(as_array(x), kind) for x in (start, language.method("add")(start, step)))
    made = clang.add(clang.mul(places, clang.sub(second, first)), first)
    if kind.kind != "f":
        return made
    # NumPy adds multiples of the difference from the third element on.
    return clang.where(clang.lt(places, 2), clang.where(clang.lt(places, 1), first, second), made)


#: dtypes that NumPy fills without another one in between
_EXACT = (dtypes.int64, dtypes.int32, dtypes.float64, dtypes.float32)


def _sample_of(x: Any) -> Any:
    return to_numpy_dtype(x.dtype).type(1) if isinstance(x, TensorProxy) else sample(x)


def _count(num: Any) -> Any:
    """How many numbers are wanted: an integer, or an extent."""
    n = symbols.extent(symbols.as_dimension(size_or_int(num, "num")))
    check(n >= 0, lambda: f"Number of samples, {n}, must be non-negative.")
    return n


def _spaced_dtype(start: Any, stop: Any) -> DType:
    """What ``np.linspace`` computes in: the inexact dtype of its ends, of which Python numbers are weak."""
    return result_dtype(normalize_operand(start), normalize_operand(stop), 1.0)


def _spaced(start: Any, stop: Any, num: Any, endpoint: bool, dtype: DType) -> tuple[TensorProxy, Any]:
    """``num`` samples from ``start`` to ``stop`` along a new first dimension, and the step between them."""
    first, last = clang.broadcast(as_array(start, dtype), as_array(stop, dtype))
    intervals = num - 1 if endpoint else num
    delta = clang.sub(last, first)
    steps = clang.expand_dims(clang.arange(num, dtype=dtype), range(1, 1 + delta.ndim))
    step: Any = math.nan
    if intervals > 0:
        count = clang.convert(symbols.number_of(intervals), dtype)
        step = clang.div(delta, count)
        fractions = clang.div(steps, count)
        # A step that underflows to 0 must still lead to the other end.
        still = clang.eq(step, clang.full((), 0, dtype=dtype))
        y = clang.where(still, clang.mul(fractions, delta), clang.mul(steps, step))
    else:
        y = clang.mul(steps, delta)
    y = clang.add(y, first)
    if endpoint and num > 1:
        y = clang.concatenate([clang.slice_dim(y, 0, num - 1, dim=0), clang.expand_dims(last, (0,))], 0)
    return y, step


def _is_computed(num: Any) -> bool:
    """Whether a length is known only when the program runs, and not negative."""
    if (
        not isinstance(num, NumberProxy)
        or num.python_type is not int
        or num.value is not None
        or symbols.is_symbol(num)
    ):
        return False
    least = intervals.bounds(num)[0]
    return least is not None and least >= 0


def _spaced_by_computed(
    start: Any, stop: Any, num: NumberProxy, endpoint: bool, dtype: DType
) -> tuple[TensorProxy, Any]:
    """As :func:`_spaced`, of a number of samples that is known only when the program runs."""
    first, last = clang.broadcast(as_array(start, dtype), as_array(stop, dtype))
    delta = clang.sub(last, first)
    places = clang.expand_dims(prims.iota(num, device=cpu_device(None), dtype=dtypes.int64), range(1, 1 + delta.ndim))
    steps = clang.convert(places, dtype)
    intervals_of = clang.sub(as_array(num), 1) if endpoint else as_array(num)
    some = clang.gt(intervals_of, 0)
    count = clang.convert(clang.where(some, intervals_of, 1), dtype)
    step = clang.div(delta, count)
    still = clang.eq(step, clang.full((), 0, dtype=dtype))
    y = clang.where(still, clang.mul(clang.div(steps, count), delta), clang.mul(steps, step))
    y = clang.add(y, first)
    if endpoint:
        is_last = clang.logical_and(clang.eq(places, intervals_of), some)
        y = clang.where(is_last, clang.broadcast_to(last, y.shape), y)
    return y, clang.where(some, step, math.nan)


def _as_samples(y: TensorProxy, dtype: DType, axis: Any) -> TensorProxy:
    y = clang.moveaxis(y, (0,), (one_axis(y.ndim, axis),))
    if dtype.kind in "iu" and y.dtype.kind == "f":
        y = clang.floor(y)
    return clang.convert(y, dtype)


@npsymbol(returns="array", factory=True, row_major=False)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    """``num`` evenly spaced samples from ``start`` to ``stop``; with ``retstep`` also the distance between them."""
    cpu_device(device)
    working = _spaced_dtype(start, stop)
    if _is_computed(num):
        y, step = _spaced_by_computed(start, stop, num, bool(endpoint), working)
    else:
        y, step = _spaced(start, stop, _count(num), bool(endpoint), working)
    y = _as_samples(y, dtype_or(dtype, working), axis)
    if not retstep:
        return y
    if isinstance(step, TensorProxy) and step.ndim == 0:
        step.scalar = True
    return y, step


def _power(base: Any, exponent: TensorProxy) -> TensorProxy:
    return language.method("pow")(base, exponent)


@npsymbol(returns="array", factory=True, row_major=False)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> TensorProxy:
    """``base`` to the power of evenly spaced samples from ``start`` to ``stop``."""
    if not is_number(base) and as_array(base).ndim:
        raise NeedsOpaque("np.logspace is called with an array of bases")
    y, _ = _spaced(start, stop, _count(num), bool(endpoint), _spaced_dtype(start, stop))
    y = _power(base, y)
    y = clang.moveaxis(y, (0,), (one_axis(y.ndim, axis),))
    return clang.convert(y, dtype_or(dtype, y.dtype))


@npsymbol(returns="array", factory=True, row_major=False)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0
) -> TensorProxy:
    """``num`` samples from ``start`` to ``stop``, each a constant multiple of the one before."""
    count = _count(num)
    operands = [as_array(start), as_array(stop)]
    working = _spaced_dtype(*operands)
    if dtype is not None:
        working = result_dtype(*operands, 1.0, np.zeros((), to_numpy_dtype(dtype_or(dtype, working)))[()])
    if working.kind == "c":
        raise NeedsOpaque("np.geomspace is called with complex ends")
    for x in (start, stop):
        if is_number(x) and (not isinstance(x, NumberProxy) or x.value is not None):
            check(pyval(x) != 0, lambda: "Geometric sequence cannot include zero")
        elif isinstance(x, (TensorProxy, NumberProxy)):
            raise NeedsOpaque("np.geomspace must look at the values of its ends")
    first, last = clang.broadcast(*(clang.convert(a, working) for a in operands))
    sign = clang.sign(first)
    low, high = clang.div(first, sign), clang.div(last, sign)
    y, _ = _spaced(clang.log10(low), clang.log10(high), count, bool(endpoint), working)
    parts = [_power(10.0, y)]
    if count > 0:
        parts = [clang.expand_dims(low, (0,)), clang.slice_dim(parts[0], 1, count, dim=0)]
    if count > 1 and endpoint:
        parts = [parts[0], clang.slice_dim(parts[1], 0, count - 2, dim=0), clang.expand_dims(high, (0,))]
    result = clang.mul(clang.concatenate(parts, 0), sign)
    result = clang.moveaxis(result, (0,), (one_axis(result.ndim, axis),))
    return clang.convert(result, dtype_or(dtype, working))
