"""A list of floats or integers as an array, by native code: NumPy asks each item what it is, which takes longer than most loops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.runtime import engine

__all__ = ["numbers_of", "scalars_of"]

#: Integers beyond are no items: sums of fewer than 2**31 of those within are no more than 64 bits hold.
LARGEST_INTEGER = 2**31

# The function is called with Python's lock, and calls nothing that raises or runs code of the user's.
_IR = f"""
declare ptr @PyList_GetItem(ptr, i64)
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)

define i64 @floats(ptr %list, i64 %n, ptr %type, ptr %to) nounwind uwtable {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %store ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %look, label %end
look:
  %item = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %place = getelementptr i64, ptr %item, i64 1
  %kind = load ptr, ptr %place
  %fits = icmp eq ptr %kind, %type
  br i1 %fits, label %store, label %end
store:
  %x = call double @PyFloat_AsDouble(ptr %item)
  %at = getelementptr double, ptr %to, i64 %i
  store double %x, ptr %at
  %next = add i64 %i, 1
  br label %head
end:
  ret i64 %i
}}

define i64 @integers(ptr %list, i64 %n, ptr %type, ptr %to) nounwind uwtable {{
entry:
  %overflow = alloca i32
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %store ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %look, label %end
look:
  %item = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %place = getelementptr i64, ptr %item, i64 1
  %kind = load ptr, ptr %place
  %fits = icmp eq ptr %kind, %type
  br i1 %fits, label %read, label %end
read:
  %x = call i64 @PyLong_AsLongLongAndOverflow(ptr %item, ptr %overflow)
  %beyond = load i32, ptr %overflow
  %shifted = add i64 %x, {LARGEST_INTEGER}
  %small = icmp ult i64 %shifted, {2 * LARGEST_INTEGER}
  %whole = icmp eq i32 %beyond, 0
  %good = and i1 %small, %whole
  br i1 %good, label %store, label %end
store:
  %at = getelementptr i64, ptr %to, i64 %i
  store i64 %x, ptr %at
  %next = add i64 %i, 1
  br label %head
end:
  ret i64 %i
}}
"""

_Read = Callable[[Any, int, Any, int], int]
_readers: dict[type, _Read] | None = None
_compiled: Any = None


def _in_python(dtype: type) -> _Read:
    """The same without native code."""

    def read(items: Any, n: int, kind: Any, address: int) -> int:
        if set(map(type, items)) != {kind}:
            return 0
        if kind is int and not (min(items) >= -LARGEST_INTEGER and max(items) < LARGEST_INTEGER):
            return 0
        ctypes.memmove(address, np.array(items, dtype).tobytes(), 8 * n)
        return n

    return read


def _made() -> dict[type, _Read]:
    global _compiled
    try:
        _compiled = engine.compile_ir(_IR, "numbers_of_lists")
    except engine.Unavailable:
        return {kind: _in_python(kind) for kind in (float, int)}
    make = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_int64, ctypes.py_object, ctypes.c_void_p)
    return {float: make(_compiled.address("floats")), int: make(_compiled.address("integers"))}


def numbers_of(items: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of a list as an array that cannot be written to; ``None`` unless they are two or more, all floats or all integers of 32 bits.

    >>> numbers_of([1.0, 2.5])
    array([1. , 2.5])
    >>> numbers_of([1.0, 2]) is numbers_of([True, False]) is numbers_of([2**40, 1]) is None
    True
    """
    kind = type(items[0]) if type(items) is list and len(items) > 1 else None
    return _read(items, kind, kind) if kind is float or kind is int else None


def scalars_of(items: Any) -> np.ndarray[Any, Any] | None:
    """The same for a list of NumPy's scalars of float64."""
    is_one = type(items) is list and len(items) > 1 and type(items[0]) is np.float64
    return _read(items, np.float64, float) if is_one else None


def _read(items: list[Any], kind: Any, dtype: type) -> np.ndarray[Any, Any] | None:
    global _readers
    if _readers is None:
        _readers = _made()
    n = len(items)
    made: np.ndarray[Any, Any] = np.empty(n, dtype)
    if _readers[dtype](items, n, kind, made.ctypes.data) != n:
        return None
    made.flags.writeable = False
    return made
