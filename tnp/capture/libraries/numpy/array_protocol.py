"""What NumPy's functions make arrays of: objects of the program's that have an ``__array__``, and ranges of sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.libraries.numpy.operations import range_as_array
from tnp.capture.objects.shadows import guard_code, is_shadow
from tnp.capture.objects.twins import ARRAY_PROTOCOLS, class_of, is_twin
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.traced_values import TracedArray

__all__ = ["as_arrays"]

_OTHER_PROTOCOLS = (*(name for name in ARRAY_PROTOCOLS if name != "__array__"), "__array_priority__", "__buffer__")
#: more arguments than there are
_ALL = 1000
#: functions that make arrays of so many of their first arguments. Others may refuse what is no array, write to it, or pass on a ``copy``.
_CONVERTING = {
    **dict.fromkeys(
        "asarray asanyarray ascontiguousarray atleast_1d atleast_2d shape ndim size transpose reshape ravel squeeze swapaxes expand_dims "
        "moveaxis broadcast_to flip roll repeat tile sort argsort diag diagonal trace triu tril sum prod mean std var median average "
        "percentile quantile min max amin amax argmin argmax ptp any all cumsum cumprod diff round nan_to_num nonzero unique cov corrcoef "
        "nansum nanmean nanstd nanvar nanmin nanmax zeros_like ones_like "
        "linalg.norm linalg.inv linalg.det linalg.slogdet linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd linalg.qr "
        "linalg.cholesky linalg.matrix_rank linalg.cond linalg.pinv linalg.matrix_power "
        "fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.fftshift fft.ifftshift".split(),
        1,
    ),
    **dict.fromkeys(
        "dot vdot inner outer kron cross tensordot isclose allclose array_equal searchsorted linalg.solve linalg.lstsq".split(),
        2,
    ),
    **dict.fromkeys(
        "take outer polyfit polyval isin digitize trapezoid append setdiff1d union1d intersect1d histogram".split(), 2
    ),
    **dict.fromkeys("bincount median".split(), 1),
    **dict.fromkeys("where clip interp".split(), 3),
    **dict.fromkeys("meshgrid ix_".split(), _ALL),
}
#: those that make arrays of the dtype that they are asked for, which may not hold the numbers of a range
_OF_DTYPES = (np.asarray, np.asanyarray, np.ascontiguousarray)
#: functions that join the arrays of a sequence
_JOINING = frozenset("concatenate stack vstack hstack dstack column_stack".split())


def _count(f: Any, args: tuple[Any, ...]) -> int:
    """How many of the arguments of a NumPy function are made arrays of."""
    if isinstance(f, np.ufunc):
        return f.nin
    module, _, inner = str(getattr(f, "__module__", "")).partition(".")
    if module != "numpy":
        return 0
    if inner == "" and f.__name__ == "einsum":
        return len(args)
    return _CONVERTING.get(f"{inner}.{f.__name__}" if inner else f.__name__, 0)


def as_arrays(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any]) -> tuple[Any, ...]:
    """``args`` of NumPy's function ``f``, with the arrays that it makes of ranges of sizes, and of objects whose classes have nothing but an
    ``__array__`` for NumPy. ``call`` traces a function."""
    args = _without_ranges(f, args)
    if not any(is_shadow(x) or is_twin(type(x)) for x in args) or "dtype" in kwargs or "copy" in kwargs:
        return args  # a dtype is passed on to the method
    count = _count(f, args)
    return (*(_as_array(f, x, call) for x in args[:count]), *args[count:])


def _without_ranges(f: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``args`` with arrays in place of ranges whose numbers are traced."""
    if any(type(x) is TracedRange for x in args):
        count = 0 if f in _OF_DTYPES else _count(f, args)
        args = (*(range_as_array(x, None) if type(x) is TracedRange else x for x in args[:count]), *args[count:])
    is_sequence = bool(args) and type(args[0]) in (list, tuple) and any(type(x) is TracedRange for x in args[0])
    if is_sequence and getattr(f, "__module__", None) == "numpy" and f.__name__ in _JOINING:
        args = [range_as_array(x, None) if type(x) is TracedRange else x for x in args[0]], *args[1:]
    return args


def _as_array(f: Any, x: Any, call: Callable[..., Any]) -> Any:
    if not (is_shadow(x) or is_twin(type(x))):
        return x
    kind = class_of(x)
    method = getattr(kind, "__array__", None)
    if not is_followed(method) or any(hasattr(kind, name) for name in _OTHER_PROTOCOLS):
        return x
    if getattr(f, "__module__", None) == "numpy" and hasattr(kind, f.__name__):
        return x  # np.sum(x) is x.sum() where there is one
    if is_shadow(x):
        guard_code(x, "__array__")
    made = call(method, (x,), {})
    return made if type(made) in (TracedArray, np.ndarray) else x
