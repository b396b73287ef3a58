"""NumPy's functions of arrays of the user's subclasses of ndarray."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.objects.array_classes import (
    ArrayOfClass,
    computed,
    dot,
    elements,
    has_own,
    is_array_of_class,
    made_of,
)
from tnp.capture.objects.twins import class_of
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.libraries.numpy.library import NumpyLibrary
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["called", "operated"]

#: functions that take any array for a plain one, and make no other on the way
_PLAIN = frozenset((
    np.array, np.asarray, np.copy, np.linalg.norm, np.concatenate, np.array_equal, np.outer, np.cross, np.einsum, np.where, np.interp,
    np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.ndim, np.shape, np.size, np.ascontiguousarray, np.pad,
    np.linalg.matrix_rank,
))  # fmt: skip
#: functions that make views of the class on the way, which nobody sees unless the class has an ``__array_finalize__``
_STACKING = frozenset((np.vstack, np.hstack, np.stack, np.column_stack))
#: functions that call methods of an array that is not plain
_REDUCTIONS = {
    np.sum: "sum",
    np.prod: "prod",
    np.max: "max",
    np.min: "min",
    np.any: "any",
    np.all: "all",
    np.mean: "mean",
}


def called(library: NumpyLibrary, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``function`` gives where one of its arguments is of a user's class; ``NotImplemented`` for any other call."""
    found = [a for a in (*args, *kwargs.values()) if _holds(a)]
    if not found:
        return NotImplemented
    if isinstance(function, np.ufunc) and function.nout == 1 and len(args) == function.nin and not kwargs:
        return computed(lambda *given: library.call(tracer, function, given, {}), args)
    is_stacking = function in _STACKING and not any(_finalizes(a) for a in found)
    if (function in _PLAIN or is_stacking) and not kwargs.keys() & {"out", "subok", "like", "where"}:
        made = library.call(tracer, function, tuple(map(_plain, args)), {k: _plain(v) for k, v in kwargs.items()})
        return made[...] if function in (np.asarray, np.ascontiguousarray) and made is elements(found[0]) else made
    if function is np.dot and len(args) == 2 and not kwargs:
        return dot(*args)
    if function is np.asanyarray and is_array_of_class(args[0]):
        return _as_any(*args, **kwargs)
    if function is np.unique and is_array_of_class(args[0]) and len(args) == 1 and kwargs.keys() <= {"equal_nan"}:
        return _unique(tracer, *args, **kwargs)
    method = _REDUCTIONS.get(function)
    if method is not None and is_array_of_class(args[0]) and not has_own(args[0], method):
        return getattr(ArrayOfClass, method)(*args, **kwargs)
    raise NeedsEager(f"it gives {function.__name__} a {class_of(_one_in(found[0])).__name__}")


def _as_any(x: Any, dtype: Any = None, order: Any = None) -> Any:
    if order is not None:
        raise NeedsEager(f"it asks for the layout of a {class_of(x).__name__}")
    return x if dtype is None or elements(x).dtype == np.dtype(dtype) else x.astype(dtype)


def _unique(tracer: Tracer, x: Any, **kwargs: Any) -> Any:
    """``np.unique(x)``, of the class of ``x`` again. NumPy makes it by ``__array_wrap__`` where it has a table for the dtype, and by more
    methods elsewhere."""
    found: Callable[..., Any] | None = getattr(np.lib._arraysetops_impl, "_unique_hash", None)
    has_table = found is not None and found(np.zeros(1, elements(x).dtype), **kwargs) is not NotImplemented
    if any(has_own(x, name) for name in ("flatten", "sort", "__array_wrap__", *(() if has_table else _OWN_OF_SORTING))):
        raise NeedsEager(f"it gives unique a {class_of(x).__name__}, which has methods of its own")
    flat = made_of(class_of(x), elements(x).flatten(), x)
    if hasattr(flat, "_mask"):  # as masked arrays have
        raise NeedsEager(f"it gives unique a {class_of(x).__name__}, which has a mask")
    return made_of(class_of(x), tracer.numpy_function(np.unique, (elements(flat),), kwargs), flat)


#: methods that NumPy calls where it finds equal elements by sorting
_OWN_OF_SORTING = ("__array_finalize__", "__getitem__", "__ne__")


def operated(tracer: Tracer, method: str, dunder: str, args: tuple[Any, ...]) -> Any:
    """A Python operator of a plain array or a scalar and an array of a user's class, which Python asks first if it has a method of its own
    for that."""
    left, right = args
    is_array = is_array_of_class(right) and not (is_array_of_class(left) or getattr(left, "scalar", True))
    if is_array and has_own(right, dunder):
        return tracer.runtime.call(getattr(class_of(right), dunder), right, left)
    return computed(partial(tracer.operate, method), args)


def _holds(x: Any) -> bool:
    return is_array_of_class(x) or (type(x) in (list, tuple) and any(map(_holds, x)))


def _one_in(x: Any) -> Any:
    return x if is_array_of_class(x) else next(_one_in(y) for y in x if _holds(y))


def _finalizes(x: Any) -> bool:
    return has_own(x, "__array_finalize__") if is_array_of_class(x) else any(_finalizes(y) for y in x if _holds(y))


def _plain(x: Any) -> Any:
    if is_array_of_class(x):
        return elements(x)
    return type(x)(map(_plain, x)) if type(x) in (list, tuple) else x
