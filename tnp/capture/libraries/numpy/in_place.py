"""NumPy's functions that change an array if an option says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray
from tnp.lang import numpy as lnp

__all__ = ["IN_PLACE"]


def _nan_to_num(x: Any, copy: Any = True, *args: Any, **kwargs: Any) -> Any:
    """``np.nan_to_num``, which gives the array itself where ``copy`` is false."""
    tracer = active.current()
    if type(copy) not in (bool, int) or copy or type(x) is not TracedArray or x.scalar:
        return tracer.numpy_function(np.nan_to_num, (x, copy, *args), kwargs)
    if x._element_type.kind in "fc":
        tracer.store(x, tracer.call(lnp.nan_to_num, (x, True, *args), kwargs))
    return x


#: by NumPy's function, what a program calls in its place
IN_PLACE: dict[Any, Any] = {np.nan_to_num: _nan_to_num}
