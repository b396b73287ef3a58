"""Making arrays: of nothing, of numbers and sequences, of other arrays' shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.devices import Device, cpu
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque, NeedsValue
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number, pyval
from tnp.lang.numpy.dtypes import dtype_argument, result_dtype, to_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, check_order, normalize_operand, static_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import language, npsymbol
from tnp.lang.numpy.shape import at_least_1d, shape_argument

__all__ = ["arange", "array", "asarray", "broadcast_to", "cpu_device", "full", "linspace", "scalar_of", "zeros"]


def _dtype(dtype: Any, default: DType) -> DType:
    return default if dtype is None else dtype_argument(dtype)


def _converted(x: Any, dtype: Any = None) -> TensorProxy:
    """``x`` as an array, or (an array of the dtype) itself; never a NumPy scalar."""
    try:
        a = as_array(x, None if dtype is None else _dtype(dtype, dtypes.float64))
    except TypeError:
        raise NeedsEager(f"it makes an array of a {type(x).__name__}") from None
    return prims.clone(a) if a.scalar else a


# Of other things


@npsymbol(returns="view", factory=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: Any = 0,
    ndmax: Any = None,
    like: Any = None,
) -> TensorProxy:
    """An array of numbers, of nested sequences of them, or of an array: a copy unless ``copy`` says otherwise."""
    check_order(order)
    check(ndmax is None, lambda: "np.array with ndmax= is not compiled", NeedsEager)
    made = _converted(object, dtype)
    if made is object:
        made = prims.clone(made) if copy else made
    elif copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    missing = static_int(ndmin) - made.ndim
    return clang.expand_dims(made, range(missing)) if missing > 0 else made


def _as_array_symbol(name: str) -> None:
    def function(
        a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
    ) -> TensorProxy:
        check_order(order)
        cpu_device(device)
        made = _converted(a, dtype)
        if made is a:
            if order in ("C", "F"):
                return _laid_out(made, order)
            return prims.clone(made) if copy else made
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return made

    function.__name__ = name
    function.__doc__ = (
        "The array itself if it has the dtype already; else a new one, of numbers, sequences or an array."
    )
    globals()[name] = npsymbol(returns="view if contiguous", factory=True)(function)


def _laid_out(a: TensorProxy, order: str) -> TensorProxy:
    """``a``, written as a reshape to its own shape of what must be contiguous for it to be a view."""
    if order == "C" or a.ndim < 2:
        return prims.reshape(a, a.shape)
    turned = clang.transpose(a, range(a.ndim)[::-1])
    return clang.transpose(prims.reshape(turned, turned.shape), range(a.ndim)[::-1])


_as_array_symbol("asarray")
_as_array_symbol("asanyarray")
asarray = globals()["asarray"]


@npsymbol(returns="view if contiguous", factory=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """As a row-major array of at least one dimension: itself if it is one."""
    return _laid_out(at_least_1d(_converted(a, dtype)), "C")


@npsymbol(returns="view if contiguous", factory=True, row_major=False)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """As a column-major array of at least one dimension: itself if it is one."""
    return _laid_out(at_least_1d(_converted(a, dtype)), "F")


@npsymbol(returns="array", factory=True, row_major=False)
def copy(a: Any, order: str = "K", subok: bool = False) -> TensorProxy:
    """A copy in memory of its own."""
    check_order(order)
    return _converted(a)


@npsymbol(id_prefix="tnp")
def scalar_of(kind: type, x: Any = 0) -> TensorProxy:
    """``np.float64(x)`` and its like: a NumPy scalar of type ``kind``, or an array where ``x`` is one."""
    dtype = _dtype(kind, dtypes.float64)
    operand = x if is_number(x) else as_array(x)
    is_complex = (
        operand.dtype.kind == "c" if isinstance(operand, TensorProxy) else isinstance(_sample(operand), complex)
    )
    if is_complex and dtype.kind not in "cb":
        raise NeedsEager("it converts a complex value to a real scalar")
    return clang.convert(operand, dtype)


# Of nothing


@npsymbol(returns="array", factory=True)
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> TensorProxy:
    """An array whose elements are whatever the memory held; float64 by default."""
    _check_contiguous(order)
    made = prims.empty(_checked(shape), device=cpu_device(device), dtype=_dtype(dtype, dtypes.float64))
    return made


def _checked(shape: Any) -> sizes.Shape:
    wanted = shape_argument(shape)
    for n in wanted:
        check(type(n) is not int or n >= 0, lambda: "negative dimensions are not allowed")
    return wanted


def _check_contiguous(order: Any) -> None:
    check_order(order)
    check(order is None or order.upper() in ("C", "F"), lambda: "only 'C' or 'F' order is permitted")


def cpu_device(device: Any) -> Device:
    """The device that an argument ``device=`` names. Raises NumPy's ``ValueError`` for any but the CPU."""
    check(device in (None, "cpu"), lambda: f'Device not understood. Only "cpu" is allowed, but received: {device}')
    return cpu


def _constant_symbols(name: str, value: int, doc: str) -> None:
    """``np.zeros`` and ``np.zeros_like``, or the pair of another number."""

    def of_shape(
        shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
    ) -> TensorProxy:
        _check_contiguous(order)
        return clang.full(_checked(shape), value, dtype=_dtype(dtype, dtypes.float64), device=cpu_device(device))

    def like(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> TensorProxy:
        check_order(order)
        a = as_array(a)
        wanted = a.shape if shape is None else _checked(shape)
        return clang.full(wanted, value, dtype=_dtype(dtype, a.dtype), device=cpu_device(device))

    of_shape.__name__, of_shape.__doc__ = name, f"An array of {doc}; float64 by default."
    like.__name__, like.__doc__ = f"{name}_like", f"{doc.capitalize()} with the shape and dtype of an array."
    globals()[name] = npsymbol(returns="array", factory=True)(of_shape)
    globals()[f"{name}_like"] = npsymbol(returns="array", factory=True)(like)


_constant_symbols("zeros", 0, "zeros")
_constant_symbols("ones", 1, "ones")
zeros = globals()["zeros"]


@npsymbol(returns="array", factory=True)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> TensorProxy:
    """Uninitialised, with the shape and dtype of an array."""
    check_order(order)
    a = as_array(prototype)
    wanted = a.shape if shape is None else _checked(shape)
    return prims.empty(wanted, device=cpu_device(device), dtype=_dtype(dtype, a.dtype))


def _filled(shape: sizes.Shape, fill_value: Any, dtype: DType) -> TensorProxy:
    """An array of a number, or of an array broadcast to ``shape``; converted as assignment does."""
    if is_number(fill_value) and not isinstance(fill_value, NumberProxy):
        if dtype.kind in "iu" and isinstance(fill_value, int):
            limits = np.iinfo(to_numpy_dtype(dtype))
            check(
                limits.min <= fill_value <= limits.max,
                lambda: f"Python integer {fill_value} out of bounds for {dtype}",
                OverflowError,
            )
        if dtype.kind in "fc" or type(fill_value) in (bool, int):
            return clang.full(shape, fill_value, dtype=dtype)
    return prims.clone(clang.broadcast_to(as_array(fill_value, dtype), shape))


@npsymbol(returns="array", factory=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> TensorProxy:
    """An array of ``fill_value``, which broadcasts; in its dtype by default."""
    _check_contiguous(order)
    wanted = _checked(shape)
    cpu_device(device)
    return _filled(wanted, fill_value, as_array(fill_value).dtype if dtype is None else _dtype(dtype, dtypes.float64))


@npsymbol(returns="array", factory=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> TensorProxy:
    """An array of ``fill_value``, which broadcasts, with the shape and dtype of an array."""
    check_order(order)
    cpu_device(device)
    a = as_array(a)
    return _filled(a.shape if shape is None else _checked(shape), fill_value, _dtype(dtype, a.dtype))


# Ranges


def _sample(x: Any) -> Any:
    """A small value of the type of a number, to ask NumPy for dtypes with."""
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    return kind(1)


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
    if isinstance(stop, NumberProxy) and stop.value is None and (start, step) == (0, 1):
        return prims.iota(stop, device=cpu_device(device), dtype=_dtype(dtype, dtypes.int64))
    for x in (start, stop, step):
        if isinstance(x, TensorProxy):
            raise NeedsValue("the length of np.arange depends on a value that is known only when the program runs")
    with np.errstate(all="ignore"):
        own = to_dtype(np.arange(*(_sample(x) for x in (start, stop, step))).dtype)
        kind = _dtype(dtype, own)
        first, last, by = (pyval(x) for x in (start, stop, step))
        return _progression(first, by, _arange_length(first, last, by), kind)


def _progression(start: Any, step: Any, length: int, dtype: DType) -> TensorProxy:
    """``start``, ``start + step``, … as ``np.arange`` fills them: by the difference of the first two in ``dtype``."""
    np_dtype = to_numpy_dtype(dtype)
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


def _count(num: Any) -> int:
    n = static_int(num, "num")
    check(n >= 0, lambda: f"Number of samples, {n}, must be non-negative.")
    return n


def _spaced_dtype(start: Any, stop: Any) -> DType:
    """What ``np.linspace`` computes in: the inexact dtype of its ends, of which Python numbers are weak."""
    return result_dtype(normalize_operand(start), normalize_operand(stop), 1.0)


def _spaced(start: Any, stop: Any, num: int, endpoint: bool, dtype: DType) -> tuple[TensorProxy, Any]:
    """``num`` samples from ``start`` to ``stop`` along a new first dimension, and the step between them."""
    first, last = clang.broadcast(as_array(start, dtype), as_array(stop, dtype))
    intervals = num - 1 if endpoint else num
    delta = clang.sub(last, first)
    steps = clang.expand_dims(clang.arange(num, dtype=dtype), range(1, 1 + delta.ndim))
    step: Any = math.nan
    if intervals > 0:
        step = clang.div(delta, clang.full((), intervals, dtype=dtype))
        fractions = clang.div(steps, clang.full((), intervals, dtype=dtype))
        # A step that underflows to 0 must still lead to the other end.
        still = clang.eq(step, clang.full((), 0, dtype=dtype))
        y = clang.where(still, clang.mul(fractions, delta), clang.mul(steps, step))
    else:
        y = clang.mul(steps, delta)
    y = clang.add(y, first)
    if endpoint and num > 1:
        y = clang.concatenate([clang.slice_dim(y, 0, num - 1, dim=0), clang.expand_dims(last, (0,))], 0)
    return y, step


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
    y, step = _spaced(start, stop, _count(num), bool(endpoint), working)
    y = _as_samples(y, _dtype(dtype, working), axis)
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
    return clang.convert(y, _dtype(dtype, y.dtype))


@npsymbol(returns="array", factory=True, row_major=False)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0
) -> TensorProxy:
    """``num`` samples from ``start`` to ``stop``, each a constant multiple of the one before."""
    count = _count(num)
    operands = [as_array(start), as_array(stop)]
    working = _spaced_dtype(*operands)
    if dtype is not None:
        working = result_dtype(*operands, 1.0, np.zeros((), to_numpy_dtype(_dtype(dtype, working)))[()])
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
    return clang.convert(result, _dtype(dtype, working))


# Matrices


def _band(rows: Any, columns: Any, k: Any, compare: Any) -> TensorProxy:
    """``compare(i + k, j)`` of the positions of a matrix."""
    i = clang.expand_dims(clang.arange(rows, dtype=dtypes.int64), (1,))
    offset = static_int(k)
    i = clang.add(i, offset) if offset else i
    return compare(i, clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,)))


@npsymbol(returns="array", factory=True)
def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
) -> TensorProxy:
    """A matrix with ones on the diagonal ``k`` and zeros elsewhere."""
    _check_contiguous(order)
    cpu_device(device)
    rows, columns = _checked((N, N if M is None else M))
    return clang.convert(_band(rows, columns, k, clang.eq), _dtype(dtype, dtypes.float64))


@npsymbol(returns="array", factory=True)
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """The square matrix with ones on the diagonal and zeros elsewhere."""
    (length,) = _checked(n)
    return clang.convert(_band(length, length, 0, clang.eq), _dtype(dtype, dtypes.float64))


@npsymbol(returns="array", factory=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> TensorProxy:
    """A matrix with ones on and below the diagonal ``k``, zeros above."""
    rows, columns = _tri_shape(N, M)
    return clang.convert(_band(rows, columns, k, clang.ge), _dtype(dtype, dtypes.float64))


def _tri_shape(rows: Any, columns: Any) -> list[Any]:
    """The shape of a triangle; negative lengths mean none."""
    return [max(n, 0) if type(n) is int else n for n in shape_argument((rows, rows if columns is None else columns))]


def _triangle(m: Any, k: Any, *, lower: bool) -> TensorProxy:
    m = as_array(m)
    check(m.ndim > 0, lambda: "a triangle of a number", TypeError)
    rows, columns = m.shape[-2:] if m.ndim > 1 else (m.shape[0], m.shape[0])
    below = _band(rows, columns, static_int(k) - (0 if lower else 1), clang.ge)
    mask, m = clang.broadcast(below, m)
    values = (m, clang.full((), 0, dtype=m.dtype))
    return clang.where(mask, *(values if lower else values[::-1]))


@npsymbol(returns="array", factory=True, row_major=False)
def tril(m: Any, k: Any = 0) -> TensorProxy:
    """With zeros above the diagonal ``k`` of the last two dimensions."""
    return _triangle(m, k, lower=True)


@npsymbol(returns="array", factory=True, row_major=False)
def triu(m: Any, k: Any = 0) -> TensorProxy:
    """With zeros below the diagonal ``k`` of the last two dimensions."""
    return _triangle(m, k, lower=False)


@npsymbol(returns="read-only view", factory=True)
def diag(v: Any, k: Any = 0) -> TensorProxy:
    """A vector as the diagonal ``k`` of a matrix, or (a read-only view) that diagonal of a matrix."""
    v = as_array(v)
    check(v.ndim in (1, 2), lambda: "Input must be 1- or 2-d.")
    if v.ndim == 2:
        return prims.diagonal(v, static_int(k), 0, 1)
    return _on_diagonal(v, static_int(k))


def _on_diagonal(v: TensorProxy, k: int) -> TensorProxy:
    """The square matrix of zeros with ``v`` on its diagonal ``k``: ``v`` spread over flat memory."""
    (count,) = sizes.concrete(v.shape, "np.diag")
    n = count + abs(k)
    if count == 0:
        return clang.full((n, n), 0, dtype=v.dtype)
    before = k if k >= 0 else -k * n
    after = n * n - before - (count - 1) * (n + 1) - 1
    return clang.reshape(prims.pad(v, _zero(v), [(before, after, n)]), (n, n))


def _zero(a: TensorProxy) -> Any:
    """The number 0 as the arrays' dtype has it."""
    return {"b": False, "f": 0.0, "c": 0j}.get(a.dtype.kind, 0)


@npsymbol(returns="array", factory=True)
def diagflat(v: Any, k: Any = 0) -> TensorProxy:
    """The matrix of zeros with all elements of ``v`` on its diagonal ``k``."""
    return _on_diagonal(clang.reshape(as_array(v), (-1,)), static_int(k))


@npsymbol(returns="array", factory=True)
def vander(x: Any, N: Any = None, increasing: Any = False) -> TensorProxy:
    """The powers of a vector's elements as rows, highest first unless ``increasing``."""
    x = as_array(x)
    check(x.ndim == 1, lambda: "x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else static_int(N)
    x = clang.convert(x, result_dtype(x, np.int64(0)))
    wide = clang.broadcast_to(clang.expand_dims(x, (1,)), (x.shape[0], max(columns - 1, 0)))
    ones = clang.full((x.shape[0], min(columns, 1)), 1, dtype=x.dtype)
    powers = clang.concatenate([ones, prims.cumprod(wide, 1)], 1)
    return powers if increasing else clang.flip(powers, (1,))


# Grids


def _grid_shape(at: int, rank: int, length: Any) -> tuple[Any, ...]:
    return tuple(length if d == at else 1 for d in range(rank))


@npsymbol(returns="array", factory=True)
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    """The index along each dimension of every position, stacked; ``sparse``: a tuple that broadcasts to them."""
    shape = _checked(dimensions)
    kind = _dtype(dtype, dtypes.float64)
    open_grid = [clang.reshape(clang.arange(n, dtype=kind), _grid_shape(d, len(shape), n)) for d, n in enumerate(shape)]
    if sparse:
        return tuple(open_grid)
    if not shape:
        return clang.full((0,), 0, dtype=kind)
    return clang.stack([clang.broadcast_to(x, shape) for x in open_grid], 0)


@npsymbol(returns="view", factory=True, row_major=False)
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: str = "xy") -> Any:
    """Coordinate matrices from coordinate vectors, as copies unless told otherwise.

    A tuple; until NumPy 2.5 a list of sparse ones that are no copies.
    """
    check(indexing in ("xy", "ij"), lambda: "Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    grids = []
    for at, x in enumerate(xi):
        flat = clang.reshape(as_array(x), (-1,))
        swapped = 1 - at if indexing == "xy" and rank > 1 and at < 2 else at
        grids.append(clang.reshape(flat, _grid_shape(swapped, rank, flat.shape[0])))
    if not sparse and grids:
        grids = clang.broadcast(*grids)
    if copy:
        grids = [prims.clone(g) for g in grids]
    return type(np.meshgrid(copy=bool(copy), sparse=bool(sparse)))(grids)


@npsymbol(returns="view", factory=True)
def ix_(*args: Any) -> tuple[TensorProxy, ...]:
    """One-dimensional sequences as an open grid of indices; of booleans the positions of the true ones."""
    grid = []
    for at, x in enumerate(args):
        a = as_array(x)
        check(a.ndim == 1, lambda: "Cross index must be 1 dimensional")
        if a.dtype.kind == "b":
            (a,) = prims.nonzero(a)
        elif isinstance(x, (list, tuple)) and not x:
            a = clang.convert(a, dtypes.int64)
        grid.append(clang.reshape(a, _grid_shape(at, len(args), a.shape[0])))
    return tuple(grid)


def _triangle_positions(rows: Any, columns: Any, k: Any, *, lower: bool) -> tuple[TensorProxy, ...]:
    rows, columns = sizes.concrete(_tri_shape(rows, columns), "the indices of a triangle")
    offset = static_int(k)
    below = sum(min(max(i + offset + (1 if lower else 0), 0), columns) for i in range(rows))
    mask = _band(rows, columns, offset if lower else offset - 1, clang.ge)
    found = prims.nonzero(mask if lower else clang.logical_not(mask))
    count = below if lower else rows * columns - below
    return tuple(prims.reshape(x, (count,)) for x in found)


@npsymbol(returns="array", factory=True)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorProxy, ...]:
    """The positions on and below the diagonal ``k`` of an ``n`` × ``m`` matrix."""
    return _triangle_positions(n, m, k, lower=True)


@npsymbol(returns="array", factory=True)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorProxy, ...]:
    """The positions on and above the diagonal ``k`` of an ``n`` × ``m`` matrix."""
    return _triangle_positions(n, m, k, lower=False)


def _from_symbol(name: str, lower: bool) -> None:
    def function(arr: Any, k: Any = 0) -> tuple[TensorProxy, ...]:
        arr = as_array(arr)
        check(arr.ndim == 2, lambda: "input array must be 2-d")
        return _triangle_positions(*arr.shape, k, lower=lower)

    function.__name__ = name
    function.__doc__ = f"The positions {'below' if lower else 'above'} and on the diagonal ``k`` of a matrix like this."
    globals()[name] = npsymbol(returns="array")(function)


_from_symbol("tril_indices_from", True)
_from_symbol("triu_indices_from", False)


@npsymbol(returns="array", factory=True)
def diag_indices(n: Any, ndim: Any = 2) -> tuple[TensorProxy, ...]:
    """The positions of the main diagonal of an array of ``ndim`` dimensions of length ``n``."""
    return tuple(clang.arange(static_int(n), dtype=dtypes.int64) for _ in range(static_int(ndim)))


@npsymbol(returns="array")
def diag_indices_from(arr: Any) -> tuple[TensorProxy, ...]:
    """The positions of the main diagonal of an array like this, whose dimensions are equal."""
    arr = as_array(arr)
    check(arr.ndim >= 2, lambda: "input array must be at least 2-d")
    lengths = sizes.concrete(arr.shape, "np.diag_indices_from")
    check(len(set(lengths)) == 1, lambda: "All dimensions of input must be of equal length")
    return tuple(clang.arange(lengths[0], dtype=dtypes.int64) for _ in lengths)


# Broadcasting


@npsymbol(returns="read-only view", factory=True, row_major=False)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> TensorProxy:
    """A read-only view of another shape, in which dimensions of 1 are repeated."""
    a = as_array(array)
    wanted = _checked(shape)
    check(len(wanted) >= a.ndim, lambda: "input operand has more dimensions than allowed by the axis remapping")
    return prims.broadcast_in_dim(a, wanted, tuple(range(len(wanted) - a.ndim, len(wanted))))


@npsymbol(returns="view", factory=True, row_major=False)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[TensorProxy, ...]:
    """Views of the arrays in the shape that they broadcast to."""
    return tuple(clang.broadcast(*(_converted(a) for a in args))) if args else ()
