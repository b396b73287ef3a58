"""NumPy's functions that make arrays of objects, and those that look at the shape of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.objects.cell_arrays import MOST_CELLS, CellArray, objects_in
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.errors import NeedsEager

__all__ = ["as_cells", "called"]

_ARRAYS = (np.array, np.asarray, np.asanyarray)
#: functions that make arrays of a shape, with the place of their dtype among the arguments, and what they put there
_FILLED: dict[Any, tuple[int, Any]] = {np.empty: (1, None), np.zeros: (1, 0), np.ones: (1, 1), np.full: (2, None)}
#: kinds of values that are one element to NumPy
_SINGLE = (type(None), bool, int, float, complex, str, TracedNumber)
#: functions of an array that its attributes and methods are as well
_READING: dict[Any, Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
    np.copy: lambda a: a.copy(),
    np.ravel: lambda a: a.ravel(),
    np.transpose: lambda a: a.T,
    np.reshape: lambda a, shape: a.reshape(shape),
}


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``function`` gives where it makes or takes an array of objects; ``NotImplemented`` for any other call."""
    if function in _ARRAYS:
        return _array_of(function, *args, **kwargs) if args else NotImplemented
    if function in _FILLED:
        return _filled(function, args, kwargs)
    if not any(type(a) is CellArray for a in (*args, *kwargs.values())):
        return NotImplemented
    if type(args[0]) is CellArray and function in _READING and len(args) < 3 and not kwargs:
        return _READING[function](*args)
    raise NeedsEager(f"it gives {function.__name__} an array of objects")


def as_cells(x: np.ndarray[Any, Any]) -> CellArray:
    """The array of objects ``x``, which NumPy has made of constants, as one that the program has made."""
    if not x.ndim or x.size > MOST_CELLS:
        raise NeedsEager("it makes an array of objects, of many or without dimensions")
    return CellArray.holding(x.ravel().tolist(), x.shape)


def _is_object(dtype: Any) -> bool:
    """Whether NumPy takes ``dtype`` for that of objects."""
    if dtype is None or not isinstance(dtype, (type, str, np.dtype)):
        return False
    try:
        return np.dtype(dtype) == np.dtype(object)
    except TypeError:
        return False


def _array_of(function: Any, x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if type(x) is CellArray:
        if (dtype is not None and not _is_object(dtype)) or kwargs:
            raise NeedsEager("it makes an array of another dtype of an array of objects")
        return x.copy() if function is np.array else x
    if type(x) not in (list, tuple) or not (_is_object(dtype) or (dtype is None and _holds_objects(x))):
        return NotImplemented
    if kwargs.keys() - {"copy", "order"}:
        raise NeedsEager(f"it makes an array of objects with {', '.join(kwargs)}")
    made = objects_in(x, lambda y: np.array(y, dtype=dtype))
    if made is None:
        raise NeedsEager("it makes an array of objects of what is in sequences or arrays")
    return made


def _holds_objects(x: Any) -> bool:
    """Whether there is a ``None`` in nested lists, so that an array of them is one of objects."""
    return any(y is None or (type(y) in (list, tuple) and _holds_objects(y)) for y in x)


def _filled(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    at, value = _FILLED[function]
    given = dict(zip(("shape", "fill_value", "dtype") if function is np.full else ("shape", "dtype"), args), **kwargs)
    dtype = given.get("dtype")
    if function is np.full:
        value = given.get("fill_value", 0)
    is_none = function is np.full and dtype is None and value is None
    if not (is_none or _is_object(dtype)) or len(args) > at + 1 or "shape" not in given:
        return NotImplemented
    if given.keys() - {"shape", "dtype", "fill_value", "order"} or type(value) not in _SINGLE:
        raise NeedsEager("it makes an array of objects in a way that is not compiled")
    shape = active.current().known(given["shape"])
    places = np.empty(shape, dtype=np.int8)  # raises NumPy's errors
    if not places.ndim or places.size > MOST_CELLS or given.get("order", "C") != "C":
        raise NeedsEager("it makes an array of objects, of many or without dimensions")
    return CellArray.holding([value] * places.size, places.shape)
