"""``np.delete`` of positions that the program computes: it keeps what a mask selects, as NumPy's own does."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray

__all__ = ["DELETING"]


def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """``np.delete``."""
    tracer = active.current()
    axis = tracer.known(axis)
    (at,) = obj if type(obj) in (tuple, list) and len(obj) == 1 else (obj,)  # as np.where gives
    is_computed = type(at) is TracedArray and at._element_type.kind in "iub" and not (at.scalar and at.ndim == 0)
    if not is_computed or (axis is not None and type(axis) is not int):
        return tracer.numpy_function(np.delete, (arr, obj, axis), {})
    call = tracer.runtime.call
    a = call(np.asanyarray, arr)
    if axis is None:
        a, axis = call(np.ravel, a), 0
    if a.ndim == 0 or not -a.ndim <= axis < a.ndim:
        return tracer.numpy_function(np.delete, (arr, obj, axis), {})
    axis %= a.ndim
    if at._element_type.kind == "b":
        if at.ndim != 1 or at.shape[0] != a.shape[axis]:
            raise ValueError(
                f"boolean array argument `obj` to delete must be one-dimensional and match the axis length of {a.shape[axis]}"
            )
        keep = ~at
    else:
        keep = call(np.ones, a.shape[axis], bool)
        keep[at] = False
    return a[(slice(None),) * axis + (keep,)]


#: by NumPy's function, what a program calls in its place
DELETING: dict[Any, Any] = {np.delete: _delete}
