"""What a variable is bound to that is an array to which a loop appends (:mod:`tnp.capture.control_flow.growing_arrays`)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.core import languages
from tnp.core.errors import NeedsEager

__all__ = ["GrowingArray", "array_of", "holds_growing"]


class GrowingArray:
    """The array that the first rows of memory are while ``count`` is how many there are. It is as any array, or raises :class:`NeedsEager`.

    With an ``axis`` of 1, the rows are its columns.
    """

    __slots__ = ("_rows", "axis", "count")
    __array_priority__ = 1003.0

    def __init__(self, rows: Any, axis: int) -> None:
        self._rows = rows
        self.axis = axis
        self.count = rows.filled

    def is_present(self) -> bool:
        """Whether nothing was appended to it."""
        return self._rows.filled is self.count

    def is_of(self, other: Any) -> bool:
        return type(other) is GrowingArray and other._rows is self._rows and other.axis == self.axis

    def renewed(self) -> GrowingArray:
        """The array of all rows that there are now."""
        return GrowingArray(self._rows, self.axis)

    def rows(self) -> Any:
        if not self.is_present():
            raise NeedsEager("it uses an array after something was appended to it")
        return self._rows

    def copied(self) -> Any:
        rows = self.rows()
        found = rows.parts[0].first(rows.filled)
        return (found.T if self.axis else found).copy()

    def array(self) -> Any:
        """A copy of it, to read from: what is written to it would be lost."""
        made = self.copied()
        made.storage.writable, made.storage.listed = False, self._rows.description
        return made

    @property
    def shape(self) -> tuple[Any, ...]:
        rows = self.rows()
        shape = rows.parts[0].shape
        return (*shape, rows.filled) if self.axis else (rows.filled, *shape)

    @property
    def size(self) -> Any:
        n = self.shape[0]
        for m in self.shape[1:]:
            n = n * m
        return n

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.rows().parts[0].dtype

    def length(self) -> Any:
        return self.shape[0]

    def _row(self, key: Any) -> int | None:
        """Which row of the memory a subscript means, if it means one."""
        if self.axis:
            is_column = type(key) is tuple and len(key) == 2 and type(key[0]) is slice
            key = key[1] if is_column and (key[0].start is key[0].stop is key[0].step is None) else None
        return key if isinstance(key, int) and type(key) is not bool else None

    def __getitem__(self, key: Any) -> Any:
        row = self._row(key)
        return self.array()[key] if row is None else self.rows().row(row)

    def __setitem__(self, key: Any, value: Any) -> None:
        row = self._row(key)
        if row is None:
            raise NeedsEager("it writes to a part of an array that a loop appends to")
        self.rows().write(row, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.array(), name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return active.current().ufunc(ufunc, method, tuple(map(array_of, inputs)), kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return active.current().numpy_function(function, args, kwargs)

    def _refuse(self, *args: Any) -> Any:
        raise NeedsEager("it asks for more of an array that a loop appends to than NumPy's functions do")

    __bool__ = __int__ = __float__ = __index__ = __hash__ = __format__ = __len__ = __array__ = _refuse

    def __iter__(self) -> Any:
        return iter(self.array())


def holds_growing(x: Any) -> bool:
    """Whether ``x`` is an array that a loop appends to, or a list or a tuple of some."""
    kind = type(x)
    return kind is GrowingArray or ((kind is list or kind is tuple) and any(type(y) is GrowingArray for y in x))


def array_of(x: Any) -> Any:
    """``x``, with arrays in place of those that loops append to, also in lists and tuples."""
    if type(x) is GrowingArray:
        return x.array()
    if holds_growing(x):
        return type(x)([array_of(y) for y in x])
    return x


def _operator(name: str, reflected: bool) -> Callable[..., Any]:
    python = getattr(operator, name)

    def operate(self: GrowingArray, *others: Any) -> Any:
        operands = (self.array(), *map(array_of, others))
        return python(*reversed(operands) if reflected else operands)

    return operate


for _name in (*languages.BINARY_OPERATORS, *languages.UNARY_OPERATORS, *languages.COMPARISONS, "contains"):
    if hasattr(operator, f"__{_name}__"):
        setattr(GrowingArray, f"__{_name}__", _operator(f"__{_name}__", False))
    if _name in languages.BINARY_OPERATORS and hasattr(operator, f"__{_name}__"):
        setattr(GrowingArray, f"__r{_name}__", _operator(f"__{_name}__", True))
        setattr(GrowingArray, f"__i{_name}__", GrowingArray._refuse)
