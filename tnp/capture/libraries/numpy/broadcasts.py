"""``np.broadcast`` of traced arrays: the shape that they have together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp

__all__ = ["BROADCASTS", "Broadcast"]


class Broadcast:
    """An ``np.broadcast`` object in a program. It gives shapes and sizes; to iterate over it is a matter of Python's."""

    __slots__ = ("_arrays",)

    def __init__(self, *args: Any) -> None:
        tracer = active.current()
        arrays = [tracer.call(lnp.asarray, (x,), {}) for x in args]
        self._arrays = tracer.call(lnp.broadcast_arrays, tuple(arrays), {}) if arrays else ()

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return np.broadcast

    @property
    def shape(self) -> Any:
        return self._arrays[0].shape if self._arrays else ()

    @property
    def size(self) -> Any:
        return self._arrays[0].size if self._arrays else 1

    @property
    def ndim(self) -> int:
        return len(self.shape)

    nd = ndim

    @property
    def numiter(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Any:
        raise NeedsEager("it iterates over an np.broadcast object")

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.broadcast, name):
            raise NeedsEager(f"it reads {name!r} of an np.broadcast object")
        raise AttributeError(f"'numpy.broadcast' object has no attribute {name!r}")


#: by NumPy's function, what a program calls in its place
BROADCASTS: dict[Any, Any] = {np.broadcast: Broadcast}
