"""Arrays that functions of SciPy make of constants while tracing.

These arrays are constants of the program. SciPy's functions of constants run while tracing, so ``b, a = butter(4, 0.2)`` adds
nothing to a call. A program that changes or returns such an array is traced again, with a copy of it for each call.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy.operations import fresh
from tnp.core.errors import user_location

__all__ = ["noted"]


def noted(f: Any, result: Any) -> Any:
    """What ``f``, a function of a library, returned for constants: of SciPy's, each call's own if the program changes or returns it. Others
    may return what is the caller's, or what they keep."""
    if type(f) is not types.FunctionType or not str(f.__module__).startswith("scipy."):
        return result
    arrays = [x for x in (result if type(result) in (tuple, list) else (result,)) if type(x) is np.ndarray]
    if not arrays:
        return result
    inputs = active.current().inputs
    place = f"what is made in {user_location()}"
    if place in inputs.prologue.varying.owned:
        return fresh(result)
    for x in arrays:
        inputs.results.setdefault(id(x), (x, place))
    return result
