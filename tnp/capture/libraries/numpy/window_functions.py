"""``scipy.ndimage.generic_filter``: a function of the user's or of NumPy's for the window around each element. It is traced in loops over
the elements, whose windows are read from an array with its edges extended."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import Iterations, calls_by_library
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import sizes
from tnp.core.errors import NeedsEager

__all__ = ["filtered"]

#: how :func:`numpy.pad` calls what SciPy's filters take for elements outside
_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "constant": "constant",
    "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


def _each(length: Any) -> Iterations:
    """The positions along a dimension. Loops over them are never written out, which would be so for each element of a small array."""
    return calls_by_library(0, length, 0)


def _along_line(f: Any, x: Any, out: Any, at: Any, args: Any, kwargs: Any) -> Any:
    (columns,) = at
    for i in _each(out.shape[0]):
        out[i] = np.float64(_number(f(x[i + columns], *args, **kwargs)))
    return out


def _in_plane(f: Any, x: Any, out: Any, at: Any, args: Any, kwargs: Any) -> Any:
    rows, columns = at
    for i in _each(out.shape[0]):
        for j in _each(out.shape[1]):
            out[i, j] = np.float64(_number(f(x[i + rows, j + columns], *args, **kwargs)))
    return out


def _in_space(f: Any, x: Any, out: Any, at: Any, args: Any, kwargs: Any) -> Any:
    planes, rows, columns = at
    for i in _each(out.shape[0]):
        for j in _each(out.shape[1]):
            for k in _each(out.shape[2]):
                out[i, j, k] = np.float64(_number(f(x[i + planes, j + rows, k + columns], *args, **kwargs)))
    return out


_WAYS: dict[int, Callable[..., Any]] = {1: _along_line, 2: _in_plane, 3: _in_space}


def _number(x: Any) -> Any:
    """What a function gives, if it is one real number."""
    dtype = getattr(x, "dtype", None)
    if tuple(getattr(x, "shape", ())) or (dtype is not None and np.dtype(dtype).kind not in "fiub"):
        raise NeedsEager("a function of a filter gives no real number")
    return x


@functools.cache
def _signature(f: Any) -> inspect.Signature:
    return inspect.signature(f)


def filtered(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of ``generic_filter``; ``NotImplemented`` if ``f`` is another function, or called another way than is written here."""
    if f.__name__ != "generic_filter" or not str(f.__module__).startswith("scipy.ndimage"):
        return NotImplemented
    try:
        given = _signature(f).bind(*args, **kwargs)
    except TypeError:
        return NotImplemented
    given.apply_defaults()
    known = active.current().known
    p = {k: v if k in ("input", "function", "extra_arguments") else known(v) for k, v in given.arguments.items()}
    x, function, mode = p["input"], p["function"], _MODES.get(p["mode"]) if type(p["mode"]) is str else None
    if type(x) is not TracedArray or x.ndim not in _WAYS or not _may_hold(x.dtype) or not _is_known_function(function):
        return NotImplemented
    if p["output"] is not None or p["axes"] is not None or mode is None or type(p["cval"]) not in (int, float):
        return NotImplemented
    window = _window(p["size"], p["footprint"], p["origin"], x.ndim)
    lengths = [n for n in x.shape if isinstance(n, int)]
    if window is None or any(n < 2 for n in lengths) or not sizes.is_known(x.shape):
        return NotImplemented
    return _computed(function, x, window, mode, p["cval"], p["extra_arguments"], p["extra_keywords"] or {})


def _may_hold(dtype: Any) -> bool:
    """Whether results are stored as SciPy stores them: short integers may not hold them, which is an error elsewhere."""
    return dtype.kind in "fub" or dtype == np.int64


def _is_known_function(f: Any) -> bool:
    """Whether a function is the program's, or an operation of NumPy's."""
    inner = f
    while type(inner) is functools.partial:
        inner = inner.func
    if type(inner) not in (types.FunctionType, types.MethodType):
        return NUMPY.symbol_of(inner) is not None
    return is_followed(getattr(inner, "__func__", inner)) or NUMPY.symbol_of(inner) is not None


def _window(size: Any, footprint: Any, origin: Any, ndim: int) -> tuple[np.ndarray, Sequence[int]] | None:
    """Which elements around one a window has, and the position of that one; ``None`` if it is none that SciPy takes."""
    if footprint is None:
        lengths = (size,) * ndim if type(size) is int else size
        if (
            type(lengths) not in (tuple, list)
            or len(lengths) != ndim
            or not all(type(n) is int and n > 0 for n in lengths)
        ):
            return None
        footprint = np.ones(lengths, bool)
    elif size is not None or type(footprint) not in (np.ndarray, list, tuple):
        return None
    try:
        window = np.asarray(footprint, bool)
    except (TypeError, ValueError, NeedsEager):
        return None
    origins = (origin,) * ndim if type(origin) is int else origin
    if window.ndim != ndim or not window.any() or type(origins) not in (tuple, list) or len(origins) != ndim:
        return None
    middle = [n // 2 + o if type(o) is int else -1 for n, o in zip(window.shape, origins)]
    return (window, middle) if all(0 <= m < n for m, n in zip(middle, window.shape)) else None


def _computed(
    function: Any, x: Any, window: tuple[np.ndarray, Sequence[int]], mode: str, cval: Any, args: Any, kwargs: Any
) -> Any:
    from tnp.capture.tracing.hooks import rewritten

    tracer = active.current()
    inside, middle = window
    widths = tuple((m, n - 1 - m) for m, n in zip(middle, inside.shape))
    more = {"constant_values": float(cval)} if mode == "constant" else {}
    wide = tracer.numpy_function(np.pad, (x.astype(np.float64), widths, mode), more)
    out = tracer.numpy_function(np.empty, (x.shape, x.dtype), {})
    at = tuple(tracer.inputs.constant_array(np.ascontiguousarray(i)) for i in np.nonzero(inside))
    evaluator, tracer.specializer.evaluator = tracer.specializer.evaluator, None  # the loops are for any values
    try:
        way: Any = rewritten(_WAYS[inside.ndim])
        return way(function, wide, out, at, tuple(args), kwargs)
    finally:
        tracer.specializer.evaluator = evaluator
