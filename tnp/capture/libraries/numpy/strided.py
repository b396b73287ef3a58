"""``np.lib.stride_tricks.as_strided`` of arrays whose layout in memory is known: windows of their elements, as views."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.strides import in_bytes
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager
from tnp.core.symbols import is_symbol
from tnp.lang import numpy as lnp
from tnp.lang.numpy.signal import strided_windows

__all__ = ["as_strided", "strides_of"]


def strides_of(a: TracedArray) -> tuple[int, ...]:
    """The strides of an array in bytes. Those that NumPy may have otherwise, of one element, are asked of the caller's array, and guarded.

    Raises :class:`NeedsEager` where they are not known."""
    lengths = tuple(operator.index(n) if is_symbol(n) else n for n in a.shape_)
    known = a.strides_
    if known is not None and all(type(n) is int and n > 1 for n in lengths):
        return tuple(in_bytes(s, a._element_type.itemsize) for s in known)
    if a.storage.origin is not None and not a.path:
        inputs, name = active.current().inputs, a.storage.origin.name
        array, expression = inputs.memory_of(name)
        if isinstance(array, np.ndarray):
            inputs.prologue.guard(
                f"{expression}.strides == {array.strides!r}", f"{name} has the strides {array.strides}"
            )
            return array.strides
    raise NeedsEager("it reads the strides of an array whose layout tnp does not know")


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **others: Any
) -> Any:
    """``np.lib.stride_tricks.as_strided``: views into the elements of ``x``, not beyond."""
    if others or type(x) is not TracedArray or x.scalar or subok:
        raise NeedsEager("it calls as_strided in a way that is not compiled")
    tracer = active.current()
    wanted = _integers(tracer.known(x.shape if shape is None else shape))
    own = strides_of(x)
    steps = own if strides is None else _integers(tracer.known(strides))
    itemsize = x._element_type.itemsize
    if len(wanted) != len(steps) or any(n < 1 for n in wanted) or any(s < 0 for s in steps):
        raise NeedsEager("it calls as_strided for no elements, or backwards")
    flat, unit = _flat(x, own)
    if any(s % (unit * itemsize) for s in steps):
        raise NeedsEager("it calls as_strided with strides that lead between the elements of an array")
    steps = tuple(s // (unit * itemsize) for s in steps)
    if sum((n - 1) * s for n, s in zip(wanted, steps)) >= flat.size:
        raise NeedsEager("it calls as_strided beyond the elements of an array")
    made = tracer.call(strided_windows, (flat, wanted, steps), {})
    return made if writeable else tracer.call(lnp.broadcast_to, (made, wanted), {})


def _flat(x: TracedArray, own: tuple[int, ...]) -> tuple[TracedArray, int]:
    """The elements of ``x`` in the order of memory, and how many elements these are apart."""
    itemsize = x._element_type.itemsize
    if x.ndim == 1:
        return x, max(abs(own[0]) // itemsize, 1) if own[0] > 0 and own[0] % itemsize == 0 else _refuse()
    order = sorted(range(x.ndim), key=lambda d: -own[d])
    step = itemsize
    for d in reversed(order):
        if x.shape_[d] != 1 and own[d] != step:
            _refuse()
        step *= operator.index(x.shape_[d])
    turned = x if order == list(range(x.ndim)) else x.transpose(order)
    return turned.reshape(-1), 1


def _refuse() -> Any:
    raise NeedsEager("it calls as_strided of an array that is not contiguous")


def _integers(x: Any) -> tuple[int, ...]:
    found = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in found):
        raise NeedsEager("it calls as_strided with lengths or strides that are not known")
    return tuple(map(int, found))
