"""Objects of the program's that NumPy's functions ask for an array, by their ``__array__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture.objects.shadows import guard_code, is_shadow
from tnp.capture.objects.twins import ARRAY_PROTOCOLS, class_of, is_twin
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.traced_values import TracedArray

__all__ = ["as_array"]

_OTHER_PROTOCOLS = (*(name for name in ARRAY_PROTOCOLS if name != "__array__"), "__array_priority__", "__buffer__")
#: what passes a ``copy`` on to the method
_COPYING = (np.array, np.copy)


def as_array(f: Any, x: Any, kwargs: dict[str, Any], call: Callable[..., Any]) -> Any:
    """The array that NumPy's function ``f`` makes of its argument ``x``, if that is an object whose class has nothing but an ``__array__``
    for NumPy; ``x`` itself otherwise. ``call`` traces a function."""
    if not (is_shadow(x) or is_twin(type(x))):
        return x
    kind = class_of(x)
    method = getattr(kind, "__array__", None)
    if not is_followed(method) or any(hasattr(kind, name) for name in _OTHER_PROTOCOLS):
        return x
    module = "numpy" if isinstance(f, np.ufunc) else str(getattr(f, "__module__", ""))
    # np.sum(x) is x.sum() where there is one, and a dtype is passed on to the method.
    is_methods = module == "numpy" and hasattr(kind, f.__name__)
    asks_for_more = f in _COPYING or "dtype" in kwargs or "copy" in kwargs or is_methods
    if module.partition(".")[0] != "numpy" or asks_for_more:
        return x
    if is_shadow(x):
        guard_code(x, "__array__")
    made = call(method, (x,), {})
    return made if type(made) in (TracedArray, np.ndarray) else x
