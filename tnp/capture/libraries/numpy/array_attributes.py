"""ndarray's methods and attributes that are not functions of the language.

They query the traced array (``strides``), store to it (``fill``, ``x.real = …``), or convert it for Python (``item``,
``flat``). Their first arguments are the tracer and the traced array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.libraries.numpy.flags import set_writeable
from tnp.capture.libraries.numpy.flat import TracedFlat
from tnp.capture.libraries.numpy.strided import strides_of
from tnp.capture.objects.array_classes import is_array_class, made_of
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.core import prims
from tnp.core.errors import NeedsEager, NeedsValue, user_stack_level
from tnp.lang import numpy as lnp

if TYPE_CHECKING:
    from tnp.capture.tracing.traced_values import TracedArray
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["ARRAY_ATTRIBUTES", "ARRAY_METHODS", "ARRAY_SETTERS"]

# Methods


def _written_to(tracer: Tracer, a: TracedArray) -> TracedArray:
    """What methods that write, and ``.flat``, go to: of a scalar an array of its own."""
    made: TracedArray = tracer.call(lnp.array, (a,), {}) if a.scalar else a
    return made


def _fill(tracer: Tracer, a: TracedArray, value: Any) -> None:
    if type(value) is TracedEither:
        value = value.stored_in(a)
    if not np.isscalar(value) and getattr(value, "ndim", 1) != 0:
        raise ValueError("setting an array element with a sequence.")
    tracer.store(_written_to(tracer, a), value)


def _sort(tracer: Tracer, a: TracedArray, *args: Any, **kwargs: Any) -> None:
    if kwargs.get("axis", args[0] if args else -1) is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    tracer.store(a, tracer.numpy_function(np.sort, (a, *args), kwargs))


def _partition(tracer: Tracer, a: TracedArray, kth: Any, *args: Any, **kwargs: Any) -> None:
    tracer.store(a, tracer.call(lnp.partition, (a, kth, *args), kwargs))


def _put(tracer: Tracer, a: TracedArray, *args: Any, **kwargs: Any) -> None:
    tracer.call(lnp.put, (_written_to(tracer, a), *args), kwargs)


def _view(tracer: Tracer, a: TracedArray, *args: Any, **kwargs: Any) -> Any:
    (kind,) = args if len(args) == 1 and not kwargs else (None,)
    if is_array_class(kind) and not a.scalar and a.__class__ is np.ndarray:
        return made_of(kind, a[...], a)
    if kind is np.ndarray and not a.scalar and a.__class__ is np.ndarray:
        return a[...]
    return tracer.call(lnp.language.method("view"), (a, *args), kwargs)


def _array_namespace(tracer: Tracer, a: TracedArray, *, api_version: Any = None) -> Any:
    if api_version is not None:
        raise NeedsEager("it asks for a version of the Array API")
    return np


def _to_device(tracer: Tracer, a: TracedArray, device: Any, /, *, stream: Any = None) -> Any:
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device}.")
    return a


def _item(tracer: Tracer, a: TracedArray, *args: Any) -> Any:
    positions = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if any(isinstance(p, (bool, np.bool)) or not isinstance(p, (int, np.integer)) for p in positions) or (
        positions is not args and len(positions) != a.ndim
    ):
        raise TypeError("the arguments of item() are an integer, or as many as there are dimensions")
    if args:
        key = args[0] if len(args) == 1 else args
        a = (a if isinstance(key, tuple) else tracer.call(lnp.reshape, (a, -1), {}))[key]
    elif a.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return tracer.call(prims.item, (a,), {})


def _tolist(tracer: Tracer, a: TracedArray) -> Any:
    if a.ndim == 0:
        return _item(tracer, a)
    return tracer.list_of_numbers(a, lambda: _listed(tracer, a))


def _listed(tracer: Tracer, a: TracedArray) -> Any:
    if not isinstance(a.size, int) or a.size > 1000:
        raise NeedsValue("tolist() of a large array needs its values")
    return [_tolist(tracer, x) for x in a]


def _is_integer(tracer: Tracer, a: TracedArray) -> Any:
    kind = a._element_type.kind
    return True if kind in "iu" else _item(tracer, a) % 1 == 0


def _setflags(tracer: Tracer, a: TracedArray, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if align is not None or uic is not None or a.scalar:
        raise NeedsEager("it sets flags of an array")
    if write is not None:
        set_writeable(tracer, a, write)


def _array_wrap(tracer: Tracer, a: TracedArray, array: Any, context: Any = None, return_scalar: Any = False, /) -> Any:
    """What NumPy makes of a result for an array like ``a``: of plain arrays, the result."""
    is_plain = not a.scalar and not getattr(array, "scalar", True) and not tracer.inputs.subclassed
    if not is_plain or context is not None or return_scalar:
        raise NeedsEager("it calls __array_wrap__ of other objects than plain arrays")
    return array


ARRAY_METHODS: dict[str, Callable[..., Any]] = {
    "__copy__": lambda tracer, a: a.copy(),
    "__deepcopy__": lambda tracer, a: a.copy(),
    "fill": _fill,
    "setflags": _setflags,
    "sort": _sort,
    "partition": _partition,
    "put": _put,
    "is_integer": _is_integer,
    "item": _item,
    "tolist": _tolist,
    "view": _view,
    "to_device": _to_device,
    "__array_namespace__": _array_namespace,
    "__array_wrap__": _array_wrap,
}


# Attributes, read


def _flat(tracer: Tracer, a: TracedArray) -> TracedFlat:
    return TracedFlat(tracer, _written_to(tracer, a))


ARRAY_ATTRIBUTES: dict[str, Callable[..., Any]] = {
    "device": lambda tracer, a: "cpu",
    "flat": _flat,
    "itemsize": lambda tracer, a: a._element_type.itemsize,
    "nbytes": lambda tracer, a: a.size * a._element_type.itemsize,
    "strides": lambda tracer, a: strides_of(a),
}


# Attributes, set


def _set_shape(tracer: Tracer, a: TracedArray, value: Any) -> None:
    if tracer.inputs.value_of(a) is not None:
        raise NeedsEager("it sets the shape of an array that it did not make")
    _warn_of_setting_shape()
    shape = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    new = tracer.call(lnp.reshape, (a, shape), {})
    if new.storage is not a.storage:
        raise NeedsEager("it sets the shape of an array that is not contiguous")
    a.path, a.shape_, a._strides = new.path, new.shape_, new._strides
    a._proxy, a._seen = new._proxy, new._seen


def _warn_of_setting_shape() -> None:
    """Says what NumPy says to who sets the shape of an array: since 2.5, that it is deprecated."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        np.empty(0).shape = (0,)
    for warning in said:
        warnings.warn(warning.message, stacklevel=user_stack_level())


def _set_real(tracer: Tracer, a: TracedArray, value: Any) -> None:
    tracer.store(a.real, tracer.call(lnp.asarray, (value,), {}))  # as an array of its own: a number need not fit


def _set_imag(tracer: Tracer, a: TracedArray, value: Any) -> None:
    if a._element_type.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    tracer.store(a.imag, tracer.call(lnp.asarray, (value,), {}))


def _set_flat(tracer: Tracer, a: TracedArray, value: Any) -> None:
    TracedFlat(tracer, a)[:] = value


ARRAY_SETTERS: dict[str, Callable[..., None]] = {
    "flat": _set_flat,
    "imag": _set_imag,
    "real": _set_real,
    "shape": _set_shape,
}
