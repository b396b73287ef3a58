"""Array creation: from numbers and sequences, from a shape and a value, from other arrays' shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, views
from tnp.core.devices import Device, cpu
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags
from tnp.lang.numpy.dtypes import dtype_argument, to_numpy_dtype
from tnp.lang.numpy.operands import as_array, check_default_integer, check_order, check_real, static_int
from tnp.lang.numpy.registry import npsymbol
from tnp.lang.numpy.shape import at_least_1d, shape_argument

__all__ = [
    "array",
    "asarray",
    "broadcast_to",
    "check_contiguous",
    "checked_shape",
    "cpu_device",
    "dtype_or",
    "full",
    "laid_out",
    "sample",
    "scalar_of",
    "zeros",
]


def dtype_or(dtype: Any, default: DType) -> DType:
    return default if dtype is None else dtype_argument(dtype)


def _converted(x: Any, dtype: Any = None) -> TensorProxy:
    """``x`` as an array, or (an array of the dtype) itself; never a NumPy scalar."""
    wanted = None if dtype is None else dtype_or(dtype, dtypes.float64)
    if wanted is not None and isinstance(x, TensorProxy):
        check_real(x, wanted)
    a = as_array(x if wanted is None or wanted.kind not in _OF_NOTHING else _filled_in(x, wanted.kind), wanted)
    return prims.clone(a) if a.scalar else a


#: by kinds of dtypes, what NumPy makes of ``None``
_OF_NOTHING = {"b": False, "f": math.nan, "c": complex(math.nan, math.nan)}


def _filled_in(x: Any, kind: str) -> Any:
    """``x`` with numbers in place of each ``None`` in nested sequences, for an array of that kind of dtype."""
    if type(x) in (list, tuple):
        return type(x)(_filled_in(y, kind) for y in x)
    return _OF_NOTHING[kind] if x is None else x


# Of other things


@npsymbol(returns="argument if contiguous", factory=True, tags=(OpTags.TAKES_LISTS,))
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
    if dtype is None:
        check_default_integer(object)
    made = _converted(object, dtype)
    made = _as_asked(object, made, order, copy)
    missing = static_int(ndmin) - made.ndim
    return clang.expand_dims(made, range(missing)) if missing > 0 else made


def _as_array_symbol(name: str) -> None:
    def function(
        a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
    ) -> TensorProxy:
        check_order(order)
        cpu_device(device)
        made = _converted(a, dtype)
        return _as_asked(a, made, order, copy)

    function.__name__ = name
    function.__doc__ = (
        "The array itself if it has the dtype already; else a new one, of numbers, sequences or an array."
    )
    tags = (OpTags.TAKES_LISTS,)
    globals()[name] = npsymbol(returns="argument if contiguous", factory=True, tags=tags)(function)


def _plain_mode(copy: Any) -> Any:
    """A value of ``copy=``, with the boolean or ``None`` that one of NumPy's copy modes says."""
    return _COPY_MODES[copy] if type(copy) is np._CopyMode else copy


_COPY_MODES = {np._CopyMode.ALWAYS: True, np._CopyMode.IF_NEEDED: None, np._CopyMode.NEVER: False}


def _as_asked(given: Any, made: TensorProxy, order: str | None, copy: bool | None) -> TensorProxy:
    """``made`` of what was ``given``, in memory of its own or not as ``copy`` says."""
    copy = _plain_mode(copy)
    check(copy is None or isinstance(copy, bool), lambda: f"copy={copy!r} is not compiled", NeedsEager)
    if made is not given:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return made
    if copy:
        return prims.clone(made)
    order = "K" if order is None else order.upper()
    if order not in ("C", "F"):
        return made
    check(copy is None, lambda: f"whether order={order!r} takes a copy depends on the array's memory", NeedsEager)
    return laid_out(made, order)


def laid_out(a: TensorProxy, order: str) -> TensorProxy:
    """``a``, written as a reshape to its own shape of what must be contiguous for it to be a view."""
    if order == "C" or a.ndim < 2:
        return prims.reshape(a, a.shape)
    turned = clang.transpose(a, range(a.ndim)[::-1])
    return clang.transpose(prims.reshape(turned, turned.shape), range(a.ndim)[::-1])


_as_array_symbol("asarray")
_as_array_symbol("asanyarray")
asarray = globals()["asarray"]


@npsymbol(returns="argument if contiguous", factory=True, row_major="always")
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """As a row-major array of at least one dimension: itself if it is one."""
    return laid_out(at_least_1d(_converted(a, dtype)), "C")


@npsymbol(returns="argument if contiguous", factory=True, row_major=False)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """As a column-major array of at least one dimension: itself if it is one."""
    return laid_out(at_least_1d(_converted(a, dtype)), "F")


#: whether ``np.from_dlpack`` gives arrays that may be written, as it does since NumPy 2.1
_MAY_WRITE = np.from_dlpack(np.empty(0)).flags.writeable


@npsymbol(returns="view" if _MAY_WRITE else "read-only view")
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> TensorProxy:
    """Another array on the memory of an array or tensor, or, with ``copy``, a new one."""
    if isinstance(x, (tuple, list)):
        raise AttributeError(f"'{type(x).__name__}' object has no attribute '__dlpack__'")
    if not isinstance(x, TensorProxy) or not x.ndim:
        raise NeedsOpaque("what may have no memory of its own")
    cpu_device(device)
    return prims.clone(x) if copy else prims.reshape(x, x.shape)


@npsymbol(returns="array", factory=True, row_major=False, tags=(OpTags.ANY_SIZE,))
def copy(a: Any, order: str = "K", subok: bool = False) -> TensorProxy:
    """A copy in memory of its own."""
    check_order(order)
    return _converted(a)


def sample(x: Any) -> Any:
    """A small value of the type of a number, to ask NumPy for dtypes with."""
    kind = x.python_type if isinstance(x, NumberProxy) else type(x)
    return kind(1)


@npsymbol(id_prefix="tnp")
def scalar_of(kind: type, x: Any = 0) -> TensorProxy:
    """``np.float64(x)`` and its like: a NumPy scalar of type ``kind``, or an array where ``x`` is one."""
    dtype = dtype_or(kind, dtypes.float64)
    in_limits = dtype.kind in "iu" and isinstance(x, NumberProxy) and x.python_type is int
    operand = as_array(x, dtype) if in_limits else x if is_number(x) else as_array(x)
    is_complex = operand.dtype.kind == "c" if isinstance(operand, TensorProxy) else isinstance(sample(operand), complex)
    if is_complex and dtype.kind not in "cb":
        raise NeedsEager("it converts a complex value to a real scalar")
    return clang.convert(operand, dtype)


# Of nothing


@npsymbol(returns="array", factory=True)
def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> TensorProxy:
    """An array whose elements are whatever the memory held; float64 by default."""
    check_contiguous(order)
    return prims.empty(checked_shape(shape), device=cpu_device(device), dtype=dtype_or(dtype, dtypes.float64))


#: elements from which on NumPy may refuse an array for its size
_MOST_ELEMENTS = 2**59


def checked_shape(shape: Any) -> sizes.Shape:
    wanted = shape_argument(shape)
    count = 1
    for n in wanted:
        if type(n) is int:
            check(n >= 0, lambda: "negative dimensions are not allowed")
            count *= n or 1
    check(count < _MOST_ELEMENTS, lambda: f"array is too big: it has {count} elements")
    return wanted


def check_contiguous(order: Any) -> None:
    check_order(order)
    check(order is None or order.upper() in ("C", "F"), lambda: "only 'C' or 'F' order is permitted")


def cpu_device(device: Any) -> Device:
    """The device that an argument ``device=`` names. Raises NumPy's ``ValueError`` for any but the CPU."""
    check(device in (None, "cpu"), lambda: f'Device not understood. Only "cpu" is allowed, but received: {device}')
    return cpu


def _of_prototype(a: TensorProxy, dtype: Any, order: Any, shape: Any, device: Any) -> tuple[sizes.Shape, DType, Device]:
    """The shape, dtype and device of an array that is made like ``a``, but for what is asked for otherwise."""
    check_order(order)
    wanted = a.shape if shape is None else checked_shape(shape)
    return wanted, dtype_or(dtype, a.dtype), cpu_device(device)


def _constant_symbols(name: str, value: int, doc: str) -> None:
    """``np.zeros`` and ``np.zeros_like``, or the pair of another number."""

    def of_shape(
        shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
    ) -> TensorProxy:
        check_contiguous(order)
        return clang.full(checked_shape(shape), value, dtype=dtype_or(dtype, dtypes.float64), device=cpu_device(device))

    def like(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> TensorProxy:
        wanted, wanted_dtype, on = _of_prototype(as_array(a), dtype, order, shape, device)
        return clang.full(wanted, value, dtype=wanted_dtype, device=on)

    of_shape.__name__, of_shape.__doc__ = name, f"An array of {doc}; float64 by default."
    like.__name__, like.__doc__ = f"{name}_like", f"{doc.capitalize()} with the shape and dtype of an array."
    globals()[name] = npsymbol(returns="array", factory=True)(of_shape)
    globals()[f"{name}_like"] = npsymbol(returns="array", factory=True)(like)


_constant_symbols("zeros", 0, "zeros")
_constant_symbols("ones", 1, "ones")
zeros = globals()["zeros"]


@npsymbol(returns="array", factory=True)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> TensorProxy:
    """Uninitialised, with the shape and dtype of an array."""
    wanted, wanted_dtype, on = _of_prototype(as_array(prototype), dtype, order, shape, device)
    return prims.empty(wanted, device=on, dtype=wanted_dtype)


def _filled(shape: sizes.Shape, fill_value: Any, dtype: DType) -> TensorProxy:
    """An array of a number, or of an array broadcast to ``shape``; converted as assignment does."""
    if isinstance(fill_value, (complex, NumberProxy)) and dtype.kind != "c":
        kind = fill_value.python_type if isinstance(fill_value, NumberProxy) else complex
        check(kind is not complex, lambda: "it fills a real array with a complex number", NeedsOpaque)
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
    return prims.clone(views.fit(as_array(fill_value, dtype), shape))


@npsymbol(returns="array", factory=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> TensorProxy:
    """An array of ``fill_value``, which broadcasts; in its dtype by default."""
    check_contiguous(order)
    wanted = checked_shape(shape)
    cpu_device(device)
    if dtype is None:
        check_default_integer(fill_value)
    return _filled(wanted, fill_value, as_array(fill_value).dtype if dtype is None else dtype_or(dtype, dtypes.float64))


@npsymbol(returns="array", factory=True)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> TensorProxy:  # fmt: skip
    """An array of ``fill_value``, which broadcasts, with the shape and dtype of an array."""
    wanted, wanted_dtype, _ = _of_prototype(as_array(a), dtype, order, shape, device)
    return _filled(wanted, fill_value, wanted_dtype)


# Broadcasting


@npsymbol(returns="read-only view", factory=True, row_major=False)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> TensorProxy:
    """A read-only view of another shape, in which dimensions of 1 are repeated."""
    a = as_array(array)
    wanted = shape_argument(shape)
    known = [n for n in wanted if type(n) is int]
    check(all(n >= 0 for n in known), lambda: "all elements of broadcast shape must be non-negative")
    check(math.prod(known) < _MOST_ELEMENTS, lambda: "it repeats an array to more than memory can hold", NeedsEager)
    check(len(wanted) >= a.ndim, lambda: "input operand has more dimensions than allowed by the axis remapping")
    return prims.broadcast_in_dim(a, wanted, tuple(range(len(wanted) - a.ndim, len(wanted))))


@npsymbol(returns="argument", factory=True, row_major=False)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[TensorProxy, ...]:
    """Views of the arrays in the shape that they broadcast to."""
    return tuple(clang.broadcast(*(_converted(a) for a in args))) if args else ()
