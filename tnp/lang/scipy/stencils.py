"""What the filters of :mod:`ndimage` share: their arguments, and stencils on padded arrays.

A filter computes in double precision, adds in SciPy's order, and casts its result, as SciPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of
from tnp.lang.numpy.operands import as_array

__all__ = [
    "EPSILON",
    "MOST_TAPS",
    "axes_of",
    "axis_of",
    "cast",
    "checked_origin",
    "correlated_line",
    "for_each",
    "image_of",
    "known_number",
    "output_dtype",
    "padded_by",
    "shape_of",
    "weights_of",
]

#: filters with more weights are SciPy's: their code would take long to compile
MOST_TAPS = 128
#: SciPy leaves out weights of several dimensions that are not larger
EPSILON = sys.float_info.epsilon
MODES = {
    "constant": "constant", "grid-constant": "constant", "grid-mirror": "symmetric", "grid-wrap": "wrap", "mirror": "reflect",
    "nearest": "edge", "reflect": "symmetric", "wrap": "wrap",
}  # fmt: skip


# Arguments


def image_of(x: Any) -> TensorProxy:
    x = as_array(x)
    if x.dtype.kind not in "biuf" or (x.dtype.bits == 16 and x.dtype.kind == "f") or not x.ndim:
        raise NeedsOpaque("a filter of complex numbers or of a number")
    if any(n == 0 for n in sizes.extents(x.shape, "a filter")):
        raise NeedsOpaque("a filter of an empty array")
    return x


def output_dtype(output: Any, x: TensorProxy) -> DType:
    if output is None:
        return x.dtype
    if isinstance(output, TensorProxy):
        raise NeedsEager("a filter that writes its result to an array is not compiled")
    try:
        made = np.dtype(output)
    except TypeError:
        raise NeedsEager("a filter's output= is no dtype") from None
    if made.kind not in "biuf" or (isinstance(output, str) and made.kind == "b"):
        raise NeedsOpaque("a filter with complex output")
    return result_of(made)


def known_number(x: Any) -> Any:
    """A number, or numbers in lists and tuples, on whose values the trace depends."""
    if isinstance(x, (list, tuple)):
        return [known_number(y) for y in x]
    if isinstance(x, TensorProxy):
        raise NeedsEager("a filter's sizes come from an array")
    return x.known() if isinstance(x, NumberProxy) else x.item() if isinstance(x, np.generic) else x


def for_each(x: Any, count: int) -> list[Any]:
    """``x`` for each of so many axes."""
    x = known_number(x)
    made = x if isinstance(x, list) else [x] * count
    if len(made) != count:
        raise NeedsOpaque("a filter's sequence has another length")
    return made


def axes_of(axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    axes = known_number(axes)
    made = [
        a % ndim if type(a) is int and -ndim <= a < ndim else -1 for a in (axes if isinstance(axes, list) else [axes])
    ]
    if -1 in made or len(set(made)) != len(made):
        raise NeedsOpaque("a filter's axes are none of the array's")
    return made


def axis_of(axis: Any, ndim: int) -> int:
    axis = known_number(axis)
    if type(axis) is not int:
        raise NeedsOpaque("a filter's axis is no integer")
    return axes_of(axis, ndim)[0]


def is_known(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(is_known, x))
    return not isinstance(x, (TensorProxy, NumberProxy))


def weights_of(weights: Any) -> tuple[np.ndarray[Any, Any] | None, TensorProxy | None]:
    """Weights in double precision: as numbers, or as an array of the program."""
    if is_known(weights):
        known = np.asarray(weights)
        if known.dtype.kind not in "biuf":
            raise NeedsOpaque("complex weights")
        return known.astype(np.float64), None
    array = as_array(weights)
    if array.dtype.kind not in "biuf":
        raise NeedsOpaque("complex weights")
    return None, clang.convert(array, dtypes.float64)


def shape_of(known: np.ndarray[Any, Any] | None, array: TensorProxy | None) -> tuple[int, ...]:
    if array is None:
        return () if known is None else known.shape
    return tuple(sizes.concrete(array.shape, "a filter"))


def checked_origin(origin: Any, length: int) -> int:
    if type(origin) is not int or not -(length // 2) <= origin <= (length - 1) // 2:
        raise NeedsOpaque("a filter's origin is outside of it")
    return origin


# Stencils


def padded_by(x: TensorProxy, widths: Sequence[tuple[int, int]], mode: Any, cval: Any) -> TensorProxy:
    """``x`` extended by so much before and after each dimension."""
    kind = MODES.get(mode) if isinstance(mode, str) else None
    if kind is None:
        raise NeedsOpaque("a filter's mode")
    if not any(map(any, widths)):
        return x
    if kind != "constant":
        return lnp.pad(x, [list(w) for w in widths], mode=kind)
    if isinstance(cval, TensorProxy) and cval.ndim:
        raise NeedsOpaque("a filter's constant is an array")
    if type(cval) not in (int, float) or cval != 0 or x.dtype.kind != "f":
        x = clang.convert(x, dtypes.float64)
    return prims.pad(x, fill_value(cval), [(*w, 0) for w in widths])


def fill_value(cval: Any) -> Any:
    """The constant beyond the edges, as a float."""
    if isinstance(cval, NumberProxy):
        return cval if cval.python_type is float else prims.convert_number(cval, float)
    if isinstance(cval, TensorProxy):
        return prims.item(clang.convert(cval, dtypes.float64))
    return float(cval)


def cast(x: TensorProxy, dtype: DType) -> TensorProxy:
    """A result in the output's dtype: truncated, as C does."""
    if dtype.kind in "bu":
        # Negative numbers wrap around in C, by way of signed ones.
        return clang.convert(clang.convert(x, dtypes.int64), dtypes.uint8 if dtype.kind == "b" else dtype)
    return clang.convert(x, dtype)


def symmetry_of(w: np.ndarray[Any, Any]) -> int:
    """1 for weights that are the same backwards, -1 for those that change their sign, else 0: as SciPy tells them."""
    if len(w) % 2 == 0:
        return 0
    half = len(w) // 2
    before, after = w[:half][::-1], w[half + 1 :]
    if np.all(np.abs(before - after) <= EPSILON):
        return 1
    return -1 if np.all(np.abs(before + after) <= EPSILON) else 0


def correlated_line(
    x: TensorProxy, weights: Any, axis: int, mode: Any, cval: Any, origin: int, dtype: DType, backwards: bool = False
) -> TensorProxy:
    """The correlation with weights along an axis; ``backwards``: the convolution."""
    known, array = weights_of(weights)
    shape = shape_of(known, array)
    if len(shape) != 1 or not 1 <= shape[0] <= MOST_TAPS or dtype.kind == "b":
        raise NeedsOpaque("a filter's weights")
    if array is not None and dtype.kind != "f":
        raise NeedsOpaque("an integer result, which depends on whether the weights are symmetric")
    (count,) = shape
    if backwards:
        known = None if known is None else known[::-1]
        array = None if array is None else clang.flip(array, (0,))
        origin = -origin - (0 if count % 2 else 1)
    origin = checked_origin(origin, count)
    size = count // 2
    widths = [(0, 0)] * x.ndim
    widths[axis] = size + origin, count - size - 1 - origin
    n = x.shape[axis]
    padded = padded_by(x, widths, mode, cval)

    def at(j: int) -> TensorProxy:
        return clang.convert(clang.slice_dim(padded, j, j + n, dim=axis), dtypes.float64)

    def weight(j: int) -> Any:
        return prims.select(array, 0, j) if known is None else float(known[j])

    symmetry = 0 if known is None else symmetry_of(known)
    if symmetry:
        total = clang.mul(at(size), weight(size))
        combine = clang.add if symmetry > 0 else clang.sub
        for j in range(size):
            total = clang.add(total, clang.mul(combine(at(j), at(count - 1 - j)), weight(j)))
    else:
        total = clang.mul(at(count - 1), weight(count - 1))
        for j in range(count - 1):
            total = clang.add(total, clang.mul(at(j), weight(j)))
    return cast(total, dtype)
