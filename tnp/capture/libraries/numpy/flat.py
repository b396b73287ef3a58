"""``x.flat`` of a traced array: reads, iterates over and stores its elements in C order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import sizes
from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["TracedFlat"]

#: elements that are read one by one at most
_MOST_ELEMENTS = 1000


def _is_position(k: Any) -> bool:
    """Whether an item of a list is an integer, or a list or an array of some."""
    if isinstance(k, list):
        return all(map(_is_position, k))
    if type(k) is TracedNumber:
        return k.proxy.python_type is int
    if type(k) is TracedArray:
        return k._element_type.kind in "iu"
    return isinstance(k, (int, np.integer)) or (isinstance(k, np.ndarray) and k.dtype.kind in "iu")


def _compared(other: Any) -> Any:
    """What elements are compared with."""
    return other._elements() if type(other) is TracedFlat else other


class TracedFlat:
    """The flat iterator of an array. What is read is a copy; what is stored goes to the array, repeated as needed."""

    __slots__ = ("_tracer", "base")

    def __init__(self, tracer: Tracer, base: TracedArray) -> None:
        self._tracer = tracer
        self.base = base

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return np.flatiter

    def _elements(self) -> TracedArray:
        """The elements as a 1-d array of its own."""
        flattened: TracedArray = self._tracer.call(lnp.language.method("flatten"), (self.base,), {})
        return flattened

    def as_array(self) -> Any:
        """What NumPy makes of it where it takes an array: a view of a contiguous array, a copy of another one, not to be written."""
        return self.base.ravel() if self.base.contiguous_ else self._elements()

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        """The elements, each as it is when the iterator comes to it."""
        if self.base.contiguous_:
            return iter(self.base.ravel())
        if not sizes.is_known(self.base.shape_) or self.base.size > _MOST_ELEMENTS:
            raise NeedsEager("it iterates over the elements of an array that is not contiguous")
        return (self.base[at] for at in np.ndindex(*self.base.shape_))

    def _key(self, key: Any) -> Any:
        """``key`` without a tuple around it. Raises :class:`NeedsEager` for what flat iterators take otherwise than arrays, or refuse."""
        if type(key) is tuple and len(key) == 1:
            (key,) = key
        if type(key) is int or isinstance(key, list):
            count = self.base.size
            for k in key if isinstance(key, list) else (key,):
                if type(k) is int and isinstance(count, int) and not -count <= k < count:
                    raise NeedsEager(f"{k} is out of bounds for .flat")
                if isinstance(k, (bool, np.bool)):
                    raise NeedsEager("a flat iterator takes no lists of bools")
                if not _is_position(k):  # it takes lists of other numbers, which arrays refuse
                    raise NeedsEager("a flat iterator is indexed by a list of what are no positions")
        elif isinstance(key, (np.ndarray, np.generic)):
            if key.dtype.kind not in "iub" or (key.dtype.kind == "b" and key.ndim == 0):
                raise NeedsEager("a flat iterator is indexed by what is no position")
        elif not (key is ... or type(key) in (slice, TracedNumber)) or isinstance(key, (bool, float, complex)):
            raise NeedsEager(f"a flat iterator is indexed by a {type(key).__name__}")
        return key

    def __getitem__(self, key: Any) -> Any:
        return self._elements()[self._key(key)]

    def __eq__(self, other: Any) -> Any:
        return self._elements() == _compared(other)

    def __ne__(self, other: Any) -> Any:
        return self._elements() != _compared(other)

    def __lt__(self, other: Any) -> Any:
        return self._elements() < _compared(other)

    def __le__(self, other: Any) -> Any:
        return self._elements() <= _compared(other)

    def __gt__(self, other: Any) -> Any:
        return self._elements() > _compared(other)

    def __ge__(self, other: Any) -> Any:
        return self._elements() >= _compared(other)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Stores as arrays are stored, scalars too; but to one element as Python's ``int()`` has it."""
        tracer = self._tracer
        key = self._key(key)
        if key is ...:
            raise NeedsEager("a flat iterator is assigned to at an ellipsis")
        if self._may_stop_midway(key):
            raise NeedsEager(
                "it stores to .flat at positions of which one may be out of bounds, behind those that are not"
            )
        if type(key) is TracedArray and key.storage is self.base.storage:
            raise NeedsEager("it stores to .flat where the array itself says, which NumPy reads while it writes")
        elements = self._elements()
        if not np.isscalar(value):
            if isinstance(key, (int, np.integer)) or type(key) is TracedNumber or getattr(key, "ndim", 1) == 0:
                raise NeedsEager("it stores an array or a sequence to an element of .flat")
            stored = tracer.call(lnp.language.method("flatten"), (tracer.array_handle(value),), {})
            wanted = elements[key].size
            if not isinstance(wanted, int) or not isinstance(stored.size, int) or not stored.size:
                raise NeedsEager("it stores to .flat an array of a length that is known only when the program runs")
            repeats = -(-wanted // stored.size)
            value = tracer.call(lnp.tile, (stored, repeats), {})[:wanted] if repeats != 1 else stored[:wanted]
        if type(value) is TracedArray and self.base._element_type.kind == "i" and value._element_type.kind != "c":
            if isinstance(key, int) and value.scalar:
                raise NeedsEager("it stores a scalar to an element of .flat, which may not hold it")
            value = value.astype(self.base.dtype)
        elif type(value) in (TracedNumber, float, int) and self._may_refuse(value) and type(key) in (int, TracedNumber):
            raise NeedsEager("it stores a number to an element of .flat, which may not hold it")
        elements[key] = value
        tracer.store(self.base, tracer.call(lnp.reshape, (elements, self.base.shape), {}))

    @staticmethod
    def _may_stop_midway(key: Any) -> bool:
        """Whether NumPy may store to some positions before it meets one that is out of bounds: arrays look at all of them first."""
        if isinstance(key, list):
            return any(isinstance(k, (TracedNumber, TracedArray)) for k in key)
        return isinstance(key, TracedArray) and key._element_type.kind in "iu"

    def _may_refuse(self, value: Any) -> bool:
        """Whether the array's dtype may not hold a number. ``.flat`` raises another error for that than arrays do."""
        dtype = self.base._element_type
        if dtype.kind not in "iu":
            return False
        if type(value) is int:
            return not np.iinfo(self.base.dtype).min <= value <= np.iinfo(self.base.dtype).max
        return type(value) is float or value.proxy.python_type is float or dtype.itemsize < 8 or dtype.kind == "u"

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.flatiter, name):
            raise NeedsEager(f"it reads .flat.{name}")
        raise AttributeError(f"'numpy.flatiter' object has no attribute {name!r}")

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def copy(self) -> TracedArray:
        return self._elements()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager("it passes .flat to a function that tnp does not trace")
