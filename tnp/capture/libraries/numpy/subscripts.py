"""Subscripts of NumPy's arrays: what ``a[key]`` reads, and what ``a[key] = value`` stores, converted as an assignment converts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.libraries.base import Library
from tnp.capture.libraries.numpy.operations import range_as_array
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.shadows import is_shadow
from tnp.capture.tracing.scalar_kind import TracedEither, items_stored_in
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, is_fitting_mask
from tnp.core import clang, intervals, languages, prims, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.views import Step, converts_late
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.operands import as_item

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["Subscripts", "check_mask"]


class Subscripts(Library):
    """Subscripts, of :class:`~tnp.capture.libraries.numpy.library.NumpyLibrary`."""

    def getitem(self, tracer: Tracer, a: TracedArray, key: Any) -> Any:
        if type(key) is str or (type(key) is tuple and any(type(k) is str for k in key)):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
                "and integer or boolean arrays are valid indices"
            )
        key = _static_key(tracer, key)
        tracer.flush_if_dynamic(a, key)
        found = tracer.call(lnp.getitem, (a, key), {})
        first = key[0] if type(key) is tuple and key else key
        if found.storage is not a.storage and (first is None or first is Ellipsis or type(first) is slice):
            found._strides = None  # the dimensions of advanced indices come first in memory, wherever they stand
        return found

    def setitem(self, tracer: Tracer, a: TracedArray, key: Any, value: Any) -> None:
        if a.scalar:
            raise TypeError(f"'numpy.{a.dtype.name}' object does not support item assignment")
        if not tracer.is_operand(value):
            raise NeedsEager(f"it stores a {type(value).__name__} into an array")
        if type(value) is TracedEither:
            value = value.stored_in(a)
        elif type(value) in (list, tuple):
            value = items_stored_in(a, value)
        if _selects_all(a, key):
            if type(key) is tuple and not a.shape_:
                _check_is_one(a, value)
            _check_depth(value, len(a.shape_))
            tracer.store(a, value)
            return
        key = _static_key(tracer, _with_scalars(tracer, key))
        tracer.flush_if_dynamic(a, key)
        key_value = tracer.value(key, {})
        if clang.is_basic(key_value):
            if _is_one_element(a, key_value):
                _check_is_one(a, value)
            parts = key_value if type(key_value) is tuple else (key_value,)
            _check_depth(value, len(a.shape_) + sum((p is None) - (not _keeps_dimension(p)) for p in parts))
            _read_first(a, key_value, value)
            tracer.store(a, value, Step(lnp.getitem, (key_value,)))
            return
        for part in key if type(key) is tuple else (key,):
            check_mask(a, part)
        if not (is_fitting_mask(a, key) and _is_single(value)):
            tracer.before_raising()
        key_value = tracer.value(key, {})
        # NumPy looks at arrays of indices when it has converted a number of Python's, at other indices before.
        if len(a.shape_) > 1 or type(key) is tuple:
            _read_first(a, _without_arrays(key_value) if type(value) is TracedNumber else key_value, value)
        new_value = tracer.value(value, {})
        if not converts_late(new_value, a._element_type):
            new_value = self.converted(tracer, new_value, a, by_element=False)
        updated = lnp.setitem(a.__tnp_value__(), key_value, new_value)
        tracer.store_updated(a, updated)

    def converted(self, tracer: Tracer, value: Any, a: TracedArray, *, by_element: bool = True) -> Any:
        dtype = a._element_type
        if isinstance(value, TensorProxy):
            if value.dtype.kind == "c" and dtype.kind != "c":
                raise NeedsEager("it stores complex values into a real array")
            if value.scalar and dtype.kind == "i" and by_element and not _holds(dtype, value.dtype):
                # NumPy takes a scalar for a Python number here, and raises for one that does not fit.
                tracer.before_raising()
                return prims.convert_scalar(value, dtype)
            return clang.convert(value, dtype)
        if isinstance(value, np.complexfloating) and dtype.kind != "c":
            raise NeedsEager("it stores complex values into a real array")
        if type(value) is float and dtype.kind in "iu":
            value = int(value)  # raises for what is not finite
        kind = value.python_type if isinstance(value, NumberProxy) else type(value)
        holds = {"b": (bool,), "i": (bool, int), "u": (bool, int), "f": (bool, int, float)}.get(dtype.kind, (complex,))
        if kind in holds and not isinstance(value, NumberProxy):
            if dtype.kind in "iu" and not isinstance(value, bool):
                limits = np.iinfo(to_numpy_dtype(dtype))
                if not limits.min <= value <= limits.max:
                    raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
            return value
        if kind is complex and dtype.kind != "c":
            raise NeedsEager("it stores a complex number into a real array")
        if isinstance(value, NumberProxy) and dtype.kind in "iu" and not _surely_fits(value, dtype):
            tracer.before_raising()
        with languages.language_context(lnp.language):
            return as_item(value, dtype) if by_element else lnp.as_array(value, dtype)


def check_mask(a: Any, mask: Any) -> None:
    """Refuses a write to the elements of ``a`` that a mask selects, if the mask may be another view of the memory."""
    if type(a) is not TracedArray or type(mask) is not TracedArray or mask._element_type.kind != "b":
        return
    if mask.storage is a.storage and mask.path != a.path:
        raise NeedsEager("it stores to an array where another view of it says, which NumPy reads while it writes")


def _check_is_one(a: TracedArray, value: Any) -> None:
    """Raises NumPy's error for an array or a sequence that is stored to one element."""
    if not _rank(value):
        return
    if a._element_type.kind == "b":
        raise NeedsEager("it stores the truth of an array or a sequence")
    raise ValueError("setting an array element with a sequence.")


def _read_first(a: TracedArray, key: Any, value: Any) -> None:
    """Reads the elements that a number is about to be stored to, if it may not fit: a wrong index raises before that, as in NumPy."""
    dtype = a._element_type
    if type(value) is TracedNumber:
        may_not_fit = dtype.kind in "iu" and not (value.proxy.python_type is int and dtype.itemsize == 8)
    else:
        may_not_fit = (
            type(value) is TracedArray and value.scalar and dtype.kind == "i" and not _holds(dtype, value._element_type)
        )
    if may_not_fit:
        if any(isinstance(k, (Proxy, int)) for k in (key if type(key) is tuple else (key,))):
            lnp.getitem(a.__tnp_value__(), key)


def _without_arrays(key: Any) -> Any:
    """The key with a full slice for each dimension that one of its arrays indexes."""
    parts: list[Any] = []
    for k in key if type(key) is tuple else (key,):
        is_mask = isinstance(k, TensorProxy) and k.dtype.kind == "b"
        is_array = isinstance(k, list) or (isinstance(k, TensorProxy) and not k.scalar)
        parts += [slice(None)] * (k.ndim if is_mask else 1) if is_array else [k]
    return tuple(parts)


def _with_scalars(tracer: Tracer, key: Any) -> Any:
    """A key that elements are stored to, with scalars for arrays without dimensions, which NumPy takes for integers."""
    if type(key) is tuple:
        return tuple([_with_scalars(tracer, k) for k in key])
    if type(key) is TracedArray and not key.scalar and not key.shape_ and key._element_type.kind in "iu":
        return tracer.call(lnp.getitem, (key, ()), {})
    return key


def _static_key(tracer: Tracer, key: Any, *, in_slice: bool = False) -> Any:
    """The key with known numbers as ints, so that it prints as the user wrote it. Indices computed from floats stay numbers: each value
    would need a program of its own."""
    kind = type(key)
    if kind is tuple:
        return tuple([_static_key(tracer, k) for k in key])
    if kind is TracedEither and key.python_type is int and key.scalar.dtype.kind in "iu":
        return _static_key(tracer, key.scalar)  # a number and a scalar are the same index
    if kind is TracedNumber and key.proxy.value is not None and key.proxy.python_type in (bool, int):
        if key.proxy.is_of_float and key.proxy.python_type is int and not in_slice:
            return TracedNumber(key.proxy.without_value())
        return key if symbols.is_symbol(key.proxy) else key.proxy.known()
    if kind is TracedArray and key.scalar and key._element_type.kind in "iu":
        known = tracer.known_scalar(key)
        return key if known is None else int(known)
    if kind is slice:
        return slice(*(_static_key(tracer, x, in_slice=True) for x in (key.start, key.stop, key.step)))
    if isinstance(key, np.integer) and kind is not TracedArray:
        return int(key)
    if isinstance(key, ListStandIn):
        return key.as_subscript()
    if kind is TracedRange:
        return range_as_array(key, None)
    if is_shadow(key) and hasattr(kind, "__array__"):
        raise NeedsEager(f"it indexes an array with a {kind.__name__}, whose methods NumPy calls")
    return key


def _holds(dtype: DType, source: DType) -> bool:
    """Whether a ``dtype`` holds every value of ``source``."""
    return np.can_cast(to_numpy_dtype(source), to_numpy_dtype(dtype), "safe")


def _surely_fits(number: NumberProxy, dtype: DType) -> bool:
    """Whether an integer dtype holds a number, which NumPy raises for otherwise, whatever that is when the program runs."""
    if number.python_type is bool:
        return True
    if number.python_type is not int:
        return False
    low, high = intervals.bounds(number)
    limits = np.iinfo(to_numpy_dtype(dtype))
    if low is None or high is None:
        return False
    return limits.min <= low and high <= limits.max


def _rank(x: Any) -> int:
    """The number of dimensions of an operand; nested sequences have some."""
    if type(x) is TracedArray:
        return len(x.shape_)
    return 1 if isinstance(x, (list, tuple, range)) else x.ndim if isinstance(x, np.ndarray) else 0


def _is_single(x: Any) -> bool:
    """Whether ``x`` is a number, or an array without dimensions."""
    if type(x) is TracedArray:
        return not x.shape_
    return type(x) in (bool, int, float, complex, TracedNumber) or isinstance(x, np.generic)


def _keeps_dimension(part: Any) -> bool:
    """Whether a part of a basic key takes no dimension away."""
    return part is None or part is Ellipsis or type(part) is slice


def _check_depth(value: Any, rank: int) -> None:
    """Raises NumPy's ``ValueError`` for nested lists deeper than the place that they are stored to has dimensions."""
    if isinstance(value, (list, tuple)) and _depth(value) > rank:
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of dimension of "
            f"{rank}."
        )


def _depth(x: Any) -> int:
    """The number of dimensions of nested lists, arrays and numbers."""
    return 1 + max(map(_depth, x), default=0) if isinstance(x, (list, tuple)) else _rank(x)


def _is_one_element(a: TracedArray, key: Any) -> bool:
    """Whether a basic key is a number for each dimension."""
    parts = key if type(key) is tuple else (key,)
    return len(parts) == a.ndim and not any(map(_keeps_dimension, parts))


def _selects_all(a: TracedArray, key: Any) -> bool:
    """Whether ``key`` is one of ``()``, ``...`` and ``:``."""
    if type(key) is slice:
        return bool(a.shape_) and key.start is None and key.stop is None and key.step is None
    return key is Ellipsis or (type(key) is tuple and not key)
