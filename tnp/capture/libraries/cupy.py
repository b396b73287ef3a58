"""CuPy arrays as arguments of NumPy programs: the program treats them like ndarrays, and its results are CuPy arrays.

CuPy is optional: if a CuPy array is met, CuPy is installed. Such a program runs on the device of its arrays. With
``jit(device="cuda")``, ndarrays beside them are moved to the device. Otherwise the call runs eagerly, which raises
CuPy's error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import Extent
from tnp.capture.libraries.numpy.library import NumpyLibrary
from tnp.core.array_kinds import HOST_ARRAYS, USER_KIND
from tnp.core.errors import NeedsEager, TraceError
from tnp.core.proxies import TensorProxy
from tnp.lang.numpy import language
from tnp.lang.numpy.dtypes import to_dtype
from tnp.runtime.modules import loaded

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source

__all__ = ["CUPY", "CupyLibrary", "is_cupy_array", "memory_of"]


def is_cupy_array(x: Any) -> bool:
    """Whether ``x`` is an array of CuPy's own class."""
    cupy = loaded("cupy")
    return cupy is not None and type(x) is cupy.ndarray


def memory_of(a: Any) -> Extent:
    """Where in the device's memory an array is, its last byte included: negative strides lead below its pointer."""
    reach = [(n - 1) * s for n, s in zip(a.shape, a.strides)] if a.size else []
    start = a.data.ptr + sum(min(r, 0) for r in reach)
    return Extent(start, start + (sum(map(abs, reach)) + a.itemsize if a.size else 0))


class CupyLibrary(NumpyLibrary):
    """CuPy: NumPy's library with another lifting of arguments."""

    def lift(self, inputs: Inputs, value: Any, source: Source) -> Any:
        """A CuPy array as an input, under guards of its dtype, shape, strides and device."""
        known = inputs.known_array(value, source)
        if known is not None:
            return known
        if HOST_ARRAYS.of(inputs.trace) and not inputs.prologue.moves_arrays:
            raise NeedsEager(f"{source.description} is an array of CuPy's beside ndarrays")
        prologue, e, what = inputs.prologue, source.expression, source.description
        try:
            dtype = to_dtype(np.dtype(value.dtype))
        except (TraceError, TypeError):
            raise NeedsEager(f"{what} has dtype {value.dtype}, which tnp does not compile") from None
        prologue.guard(f"type({e}) is {prologue.constant(type(value), 'type')}", f"{what} is an array of CuPy's")
        prologue.guard(f"{e}.dtype == {prologue.constant(value.dtype, 'dtype')}", f"{what} has dtype {value.dtype}")
        prologue.guard(f"{e}.shape == {tuple(value.shape)}", f"{what} has shape {tuple(value.shape)}")
        prologue.guard(f"{e}.strides == {tuple(value.strides)}", f"{what} has strides {tuple(value.strides)}")
        prologue.guard(f"{e}.device.id == {value.device.id}", f"{what} is on device {value.device.id}")
        current = prologue.constant(_current_device, "current_device")
        if value.device.id != _current_device():
            prologue.guard(f"{current}() != {value.device.id}", f"{what} is not on the current device")
            raise NeedsEager(f"{what} is on device {value.device.id}, which is not the current one")
        prologue.guard(f"{current}() == {value.device.id}", f"{what} is on the current device")
        USER_KIND.put(inputs.trace, "cupy")
        proxy = TensorProxy(inputs.name_of(source), shape=tuple(value.shape), dtype=dtype, lang=language)
        strides = tuple(s // value.itemsize for s in value.strides)
        repeats = any(s == 0 and n > 1 for n, s in zip(value.shape, strides))
        return inputs.add_array(
            value, source, proxy, strides, memory_of(value), f"{prologue.constant(memory_of, 'memory')}({e})",
            is_row_major=bool(value.flags.c_contiguous), writable=not repeats,
        )  # fmt: skip


CUPY = CupyLibrary(language)


def _current_device() -> int:
    return int(sys.modules["cupy"].cuda.runtime.getDevice())
