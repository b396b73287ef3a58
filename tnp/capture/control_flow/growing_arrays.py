"""Arrays that loops append to: ``out = np.append(out, v)``, ``np.vstack((out, row))``, ``np.hstack((out, column))``, ``np.r_[out, v]``.

NumPy copies the array each time. In a loop, such a variable is bound to a :class:`GrowingArray`: the first rows of memory that the program
has allocated, and of which it counts how many there are, as it does for a list. What a loop appends is stored behind them. Behind the
outermost loop, the variable is bound to an array again. If it is columns that are appended, these are the rows of the memory.

An array has its elements only until something is appended to it. So of all that a program holds of it, one is the present array. The
uses of others raise :class:`NeedsEager`, and the loop is no operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.counted_lists import CountedList
from tnp.capture.control_flow.item_parts import Part
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.operations import as_array, scalar_of
from tnp.capture.speculation.regions import ListUse, Variables
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import sizes, symbols

__all__ = ["GrownVariables", "appended", "grows", "is_renewed", "renew"]


class _Rows(CountedList):
    """The rows of a :class:`GrowingArray`."""

    def extend_by(self, rows: Any) -> None:
        """Appends the rows of an array of their shape and dtype."""
        around = [r for r in active.current().regions if r.serial > self.serial]
        n = rows.shape[0]
        times = n if not around or type(n) is int else None
        self._use(ListUse(self, (*(r.times for r in around), times)), self._example)
        if self.may_overflow:
            self._demand(self.filled + n <= self.capacity)
        (mine,) = self.parts
        assert mine.rows is not None
        if type(n) is int and n == 1:
            mine.rows[self.filled] = rows[0]
        else:
            mine.store_all(self.filled, n, Part(self._example, rows=rows))
        self._set_count(self.filled + n)

    def row(self, key: Any) -> Any:
        at = self._position(key)
        assert self.parts[0].rows is not None
        found = self.parts[0].rows[at]
        return found if found.scalar else found.copy()

    def write(self, key: Any, value: Any) -> None:
        self._use(ListUse(self, (0,)), self._example)
        assert self.parts[0].rows is not None
        self.parts[0].rows[self._position(key)] = value


def _begun(name: str, value: Any, axis: int) -> GrowingArray | None:
    """An array, bound to a variable, as one that a loop may append to along an axis; ``None`` for others than arrays of the program's."""
    if type(value) is not TracedArray or value.scalar or value.library is not NUMPY or not 1 <= value.ndim <= 2:
        return None
    value = value.T if axis else value
    if value._element_type.kind not in "biufc" or symbols.extents(value.shape_[1:]) is None:
        return None
    dtype, call = value.dtype, active.current().numpy_function
    example = scalar_of(dtype.type, 0) if value.ndim == 1 else call(np.zeros, (value.shape[1:], dtype), {})
    rows = _Rows.of_rows(
        f"the array {name} that a loop appends to", example, (Part(example, rows=value.copy()),), value.shape[0]
    )
    return GrowingArray(rows, axis)


def grows(before: Any, after: Any) -> int | None:
    """The axis along which an array is another one with more elements; ``None`` if it is something else."""
    if type(after) is GrowingArray:
        return after.axis if type(before) is TracedArray else None
    if type(before) is not TracedArray or type(after) is not TracedArray or before.scalar or after.scalar:
        return None
    if before.dtype != after.dtype or before.ndim != after.ndim or not before.ndim:
        return None
    others = [i for i, (n, m) in enumerate(zip(before.shape_, after.shape_)) if sizes.equal(n, m) is not True]
    if len(others) != 1 or others[0] > 1 or (others[0] and before.ndim > 2):
        return None
    (axis,) = others
    least, most = (sizes.bound_or_none(x.shape_[axis]) for x in (before, after))
    return axis if least is None or most is None or most > least else None


def appended(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function that joins arrays makes of a growing one and others; ``NotImplemented`` if that is no longer one."""
    if function is np.append and len(args) in (2, 3):
        first, others = args[0], (args[1],)
        axis = args[2] if len(args) == 3 else kwargs.get("axis")
    elif function in _JOINING and args and type(args[0]) in (list, tuple) and len(args[0]) > 1:
        first, *others = args[0]
        axis = kwargs.get("axis", 0) if len(args) == 1 else args[1]
    else:
        return NotImplemented
    if type(first) is not GrowingArray or set(kwargs) - {"axis"} or any(type(x) is GrowingArray for x in others):
        return NotImplemented
    if len(first.shape) == 1:
        if function in (np.vstack, np.column_stack) or axis not in (None, 0):
            return NotImplemented
    else:
        if function in (np.hstack, np.column_stack):
            axis = 1
        if type(axis) is not int or axis not in (first.axis, first.axis - 2):
            return NotImplemented
    return _appended(function, first, others)


_JOINING = (np.concatenate, np.hstack, np.vstack, np.column_stack)


def _appended(function: Any, first: GrowingArray, others: Any) -> Any:
    rows, ndim = first.rows(), len(first.shape)
    call = active.current().numpy_function
    arrays = []
    for x in others:
        array = as_array(x)
        if function is np.append and ndim == 1:
            array = call(np.ravel, (array,), {})
        elif function is np.column_stack and array.ndim < 2:
            array = call(np.reshape, (array, (-1, 1)), {})
        elif function is np.vstack or (function is np.hstack and ndim == 1):
            array = call(np.atleast_1d if ndim == 1 else np.atleast_2d, (array,), {})
        if array.ndim != ndim:
            return NotImplemented
        array = array.T if first.axis else array
        fits = all(sizes.equal(n, m) is True for n, m in zip(array.shape_[1:], rows.parts[0].dims))
        if not fits or np.result_type(array.dtype, first.dtype) != first.dtype:
            return NotImplemented
        arrays.append(array.astype(first.dtype))
    for array in arrays:
        rows.extend_by(array)
    return GrowingArray(rows, first.axis)


class GrownVariables:
    """The variables of a loop that it binds to arrays with more rows each time, and the arrays that they were bound to."""

    def __init__(self, found: dict[str, int]) -> None:
        #: the axis along which each grows
        self._found = found
        self._before: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._before)

    def begin(self, names: Iterable[str], variables: Variables) -> None:
        """Replaces each array that was found to grow by one that counts its rows."""
        for name in names:
            value = variables[name] if name in self._found and name not in self._before else None
            made = None if value is None else _begun(name, value, self._found[name])
            if made is not None:
                self._before[name] = value
                variables[name] = made

    def end(self, variables: Variables) -> None:
        """Binds them to arrays, behind the loop."""
        for name in self._before:
            variables[name] = variables[name].copied()

    def undo(self, variables: Variables) -> None:
        for name, value in self._before.items():
            variables[name] = value
        self._before.clear()


def renew(names: Iterable[str], variables: Variables) -> None:
    """Binds variables to the arrays of the rows that there are, where the counts are others: in a loop, and behind it."""
    for name in names:
        if type(value := variables[name]) is GrowingArray:
            variables[name] = value.renewed()


def is_renewed(before: Any, value: Any) -> bool:
    """Whether something may have been appended to an array, and that is all."""
    return type(before) is GrowingArray and before.is_of(value) and value.is_present()
