"""NumPy's functions that make arrays of objects or strings, and those that take one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.objects.cell_arrays import MOST_CELLS, CellArray, is_cell_array, objects_in
from tnp.capture.objects.text_arrays import TextArray, as_cells
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.errors import NeedsEager

__all__ = ["called"]

_ARRAYS = (np.array, np.asarray, np.asanyarray)
#: functions that make arrays of a shape, with the place of their dtype among the arguments, and what they put there
_FILLED: dict[Any, tuple[int, Any]] = {np.empty: (1, None), np.zeros: (1, 0), np.ones: (1, 1), np.full: (2, None)}
#: kinds of values that are one element to NumPy
_SINGLE = (type(None), bool, int, float, complex, str, bytes, np.str_, np.bytes_, TracedNumber)
_TEXTS = (str, bytes, np.str_, np.bytes_)
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
#: functions that give the same of equal strings
_OF_TEXTS = frozenset((
    np.append, np.argsort, np.array, np.array_equal, np.array_equiv, np.char.compare_chararrays, np.concatenate, np.count_nonzero, np.delete, np.hstack,
    np.insert, np.intersect1d, np.isin, np.lexsort, np.nonzero, np.repeat, np.searchsorted, np.setdiff1d, np.setxor1d, np.sort, np.stack, np.tile,
    np.union1d, np.unique, np.vstack, np.where,
))  # fmt: skip
_MODULES_OF_TEXTS = ("numpy.char", "numpy.strings", "numpy._core.defchararray", "numpy._core.strings")
_OBJECT = np.dtype(object)


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``function`` gives where it makes or takes an array of objects or strings; ``NotImplemented`` for any other call."""
    made: Any = NotImplemented
    if function in _ARRAYS and args:
        made = _array_of(function, *args, **kwargs)
    elif function in _FILLED:
        made = _filled(function, args, kwargs)
    if made is not NotImplemented:
        return made
    found = next((a for a in (*args, *kwargs.values()) if _holds_cells(a)), None)
    if found is None:
        return NotImplemented
    if is_cell_array(args[0]) and function in _READING and len(args) < 3 and not kwargs:
        return _READING[function](*args)
    return _computed(function, args, kwargs)


def _holds_cells(x: Any) -> bool:
    return is_cell_array(x) or (type(x) in (list, tuple) and any(map(is_cell_array, x)))


def _words(x: Any) -> str:
    """What messages say of the first array of objects or strings in nested tuples and lists."""
    if is_cell_array(x):
        return str(x.words)
    return next(filter(None, map(_words, x)), "") if type(x) in (list, tuple) else ""


def _computed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``function`` gives of strings that are known. Raises :class:`NeedsEager` where it takes something else."""
    given: list[np.ndarray[Any, Any]] = []
    is_of_texts = function in _OF_TEXTS or str(getattr(function, "__module__", "")) in _MODULES_OF_TEXTS
    if not (is_of_texts or isinstance(function, np.ufunc)):
        raise NeedsEager(f"it gives {function.__name__} {_words((args, tuple(kwargs.values())))}")

    def known(x: Any) -> Any:
        if type(x) in (list, tuple):
            return type(x)(map(known, x))
        if type(x) is TextArray:
            given.append(x.real())
            return given[-1]
        if is_cell_array(x) or is_traced(x) or type(x) not in (*_SINGLE, type, np.dtype, np.ndarray, slice):
            raise NeedsEager(f"it gives {function.__name__} {_words((args, tuple(kwargs.values())))}")
        return x

    try:
        result = function(*map(known, args), **{k: known(v) for k, v in kwargs.items()})
    except ValueError as error:  # the function may write to its argument, which is read-only
        raise NeedsEager(f"{function.__name__} does not take an array of strings that is known: {error}") from error
    for made in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(made, np.ndarray) and any(np.shares_memory(made, a) for a in given):
            raise NeedsEager(f"{function.__name__} may give a view of an array of strings")
    return active.current().constant_result(result)


def _dtype_of(dtype: Any) -> Any:
    """The dtype that NumPy takes ``dtype`` for, if that is one of objects or strings; else ``None``."""
    if dtype is None or not isinstance(dtype, (type, str, np.dtype)):
        return None
    try:
        found = np.dtype(dtype)
    except TypeError:
        return None
    return found if found.kind in "OUS" else None


def _array_of(function: Any, x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    wanted = _dtype_of(dtype)
    if is_cell_array(x):
        if (
            (dtype is not None and wanted != x.dtype)
            or kwargs.keys() - {"copy"}
            or kwargs.get("copy", True) is not True
        ):
            if type(x) is TextArray and not kwargs and isinstance(dtype, (type, str, np.dtype)):
                return x.astype(dtype)
            raise NeedsEager(f"it makes another array of {x.words}")
        return x.copy() if function is np.array else x
    if _holds_texts(x) and wanted != _OBJECT:
        return _computed(np.array, (x,), kwargs if dtype is None else {**kwargs, "dtype": dtype})
    if type(x) not in (list, tuple) or not (wanted == _OBJECT or (dtype is None and _holds_objects(x))):
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


def _holds_texts(x: Any) -> bool:
    """Whether all that is in nested lists are strings, so that an array of them is one of strings."""
    return type(x) in _TEXTS or (type(x) in (list, tuple) and len(x) > 0 and all(map(_holds_texts, x)))


def _filled(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    at, value = _FILLED[function]
    given = dict(zip(("shape", "fill_value", "dtype") if function is np.full else ("shape", "dtype"), args), **kwargs)
    dtype = _dtype_of(given.get("dtype"))
    if function is np.full:
        value = given.get("fill_value", 0)
        if given.get("dtype") is None:
            dtype = _OBJECT if value is None else np.array(value).dtype if isinstance(value, (str, bytes)) else None
    if dtype is None or len(args) > at + 1 or "shape" not in given:
        return NotImplemented
    if given.keys() - {"shape", "dtype", "fill_value", "order"} or type(value) not in _SINGLE:
        raise NeedsEager("it makes an array of objects or strings in a way that is not compiled")
    shape = active.current().known(given["shape"])
    places = np.empty(shape, dtype=np.int8)  # raises NumPy's errors
    if not places.ndim or places.size > MOST_CELLS or given.get("order", "C") != "C":
        raise NeedsEager("it makes an array of objects or strings, of many or without dimensions")
    if dtype == _OBJECT:
        return CellArray.holding([value] * places.size, places.shape)
    if type(value) is TracedNumber:
        raise NeedsEager("it makes an array of strings of a number")
    return as_cells(
        np.zeros(shape, dtype) if function is np.empty else function(shape, *([value] if at == 2 else []), dtype=dtype)
    )
