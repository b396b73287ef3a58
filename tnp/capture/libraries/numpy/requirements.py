"""``np.require``: an array with properties of its memory, which are known or guarded while the program is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager

__all__ = ["require"]

#: NumPy's names of the properties
_FLAGS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F", "A": "aligned", "ALIGNED": "aligned",
    "W": "writeable", "WRITEABLE": "writeable", "O": "owndata", "OWNDATA": "owndata", "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """``np.require`` of a traced array: the array itself, or a copy if it lacks a property."""
    if like is not None:
        raise NeedsEager("np.require with like= is not compiled")
    wanted = {_FLAGS[name.upper()] for name in requirements or ()}
    if wanted >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    function = np.asarray if "E" in wanted else np.asanyarray
    call = active.current().numpy_function
    made = call(function, (a,), {"dtype": dtype} if order == "A" else {"dtype": dtype, "order": order})
    for flag in ("aligned", "owndata", "writeable"):
        if flag in wanted and not _has(made, flag):
            if order == "A" and made.ndim > 1:
                raise NeedsEager("np.require copies an array in an order that is the array's own")
            return call(np.copy, (made,), {"order": order})
    return made


def _has(made: TracedArray, flag: str) -> bool:
    """Whether an array's memory is as a flag says. That of the caller's is guarded."""
    storage = made.storage
    if flag == "owndata" and made.path:
        return False
    if storage.origin is None:
        return storage.writable if flag == "writeable" else True
    inputs, name = active.current().inputs, storage.origin.name
    array, expression = inputs.memory_of(name)
    if not isinstance(array, np.ndarray):
        raise NeedsEager(f"np.require asks whether {name} is {flag}")
    found: bool = getattr(array.flags, flag)
    inputs.prologue.guard(f"{expression}.flags.{flag} is {found}", f"{name} {'is' if found else 'is not'} {flag}")
    return found and (flag != "writeable" or storage.writable)
