"""Lists of arrays that differ in their first dimension: one array of the rows of all, and the offsets at which each begins.

Native code, since NumPy looks at each array for longer than most loops over the list take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from string import Template
from typing import Any

import numpy as np

from tnp.runtime import engine, launcher

__all__ = ["joined", "measured", "parted"]

_Joined = tuple["np.ndarray[Any, Any] | None", "np.ndarray[Any, Any] | None"]
_FUNCTIONS = launcher.signatures()

# The functions are called with Python's lock, and call nothing that runs code of the user's. Another thread may have changed the list
# before, so arrays are looked at again in each. ``width`` is the bytes of a row.
_IR = Template("""
declare ptr @PyList_GetItem(ptr, i64)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i64 @rows(ptr %array, ptr %like) {
entry:
  %type = call ptr @pointer(ptr %array, i64 $type)
  %type.like = call ptr @pointer(ptr %like, i64 $type)
  %is.array = icmp eq ptr %type, %type.like
  br i1 %is.array, label %look, label %other
look:
  %descr = call ptr @pointer(ptr %array, i64 $descr)
  %descr.like = call ptr @pointer(ptr %like, i64 $descr)
  %same.descr = icmp eq ptr %descr, %descr.like
  %nd = call i64 @word(ptr %array, i64 $nd)
  %nd.like = call i64 @word(ptr %like, i64 $nd)
  %nd.differ = xor i64 %nd, %nd.like
  %nd.low = and i64 %nd.differ, 4294967295
  %same.nd = icmp eq i64 %nd.low, 0
  %flags = call i64 @word(ptr %array, i64 $flags)
  %contiguous = and i64 %flags, $contiguous
  %is.contiguous = icmp ne i64 %contiguous, 0
  %same.kind = and i1 %same.descr, %same.nd
  %fits = and i1 %same.kind, %is.contiguous
  br i1 %fits, label %dims, label %other
dims:
  %count = and i64 %nd, 4294967295
  %shape = call ptr @pointer(ptr %array, i64 $dimensions)
  %shape.like = call ptr @pointer(ptr %like, i64 $dimensions)
  br label %head
head:
  %d = phi i64 [ 1, %dims ], [ %next, %dim ]
  %more = icmp slt i64 %d, %count
  br i1 %more, label %dim, label %end
dim:
  %n = call i64 @word(ptr %shape, i64 %d)
  %n.like = call i64 @word(ptr %shape.like, i64 %d)
  %next = add i64 %d, 1
  %same = icmp eq i64 %n, %n.like
  br i1 %same, label %head, label %other
end:
  %rows = load i64, ptr %shape
  ret i64 %rows
other:
  ret i64 -1
}

define i64 @tnp_offsets(ptr %list, i64 %n, ptr %to) {
entry:
  %offsets = call ptr @pointer(ptr %to, i64 $data)
  %size = call i64 @PyList_Size(ptr %list)
  %is.whole = icmp eq i64 %size, %n
  br i1 %is.whole, label %begin, label %other
begin:
  %like = call ptr @PyList_GetItem(ptr %list, i64 0)
  store i64 0, ptr %offsets
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %next, %fits ]
  %at = phi i64 [ 0, %begin ], [ %end, %fits ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %look, label %done
look:
  %array = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %rows = call i64 @rows(ptr %array, ptr %like)
  %is.one = icmp sge i64 %rows, 0
  br i1 %is.one, label %fits, label %other
fits:
  %next = add i64 %i, 1
  %end = add i64 %at, %rows
  %place = getelementptr i64, ptr %offsets, i64 %next
  store i64 %end, ptr %place
  br label %head
done:
  ret i64 %at
other:
  ret i64 -1
}

define i64 @tnp_join(ptr %list, i64 %n, ptr %places, i64 %width, ptr %like, ptr %made) {
entry:
  %offsets = call ptr @pointer(ptr %places, i64 $data)
  %to = call ptr @pointer(ptr %made, i64 $data)
  %size = call i64 @PyList_Size(ptr %list)
  %is.whole = icmp eq i64 %size, %n
  br i1 %is.whole, label %head, label %other
head:
  %i = phi i64 [ 0, %entry ], [ %next, %copy ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %look, label %done
look:
  %array = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %rows = call i64 @rows(ptr %array, ptr %like)
  %next = add i64 %i, 1
  %begin = call i64 @word(ptr %offsets, i64 %i)
  %end = call i64 @word(ptr %offsets, i64 %next)
  %expected = sub i64 %end, %begin
  %fits = icmp eq i64 %rows, %expected
  br i1 %fits, label %copy, label %other
copy:
  %from = call ptr @pointer(ptr %array, i64 $data)
  %first = mul i64 %begin, %width
  %bytes = mul i64 %rows, %width
  %place = getelementptr i8, ptr %to, i64 %first
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %from, i64 %bytes, i1 false)
  br label %head
done:
  ret i64 1
other:
  ret i64 0
}

define ptr @tnp_part(ptr %all, i64 %n, ptr %places, i64 %width) {
entry:
  %offsets = call ptr @pointer(ptr %places, i64 $data)
  %nd.word = call i64 @word(ptr %all, i64 $nd)
  %nd = trunc i64 %nd.word to i32
  %dims = and i64 %nd.word, 4294967295
  %shape.all = call ptr @pointer(ptr %all, i64 $dimensions)
  %shape = alloca i64, i64 %dims
  %dim.bytes = mul i64 %dims, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %shape, ptr %shape.all, i64 %dim.bytes, i1 false)
  %type = call ptr @pointer(ptr %all, i64 $type)
  %descr = call ptr @pointer(ptr %all, i64 $descr)
  %from = call ptr @pointer(ptr %all, i64 $data)
  %list = call ptr @PyList_New(i64 %n)
  %has.list = icmp ne ptr %list, null
  br i1 %has.list, label %head, label %failed
head:
  %i = phi i64 [ 0, %entry ], [ %next, %copy ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %make, label %done
make:
  %next = add i64 %i, 1
  %begin = call i64 @word(ptr %offsets, i64 %i)
  %end = call i64 @word(ptr %offsets, i64 %next)
  %rows = sub i64 %end, %begin
  store i64 %rows, ptr %shape
  call void @Py_IncRef(ptr %descr)
  %array = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %shape, ptr null, ptr null, i32 0, ptr null)
  %is.made = icmp ne ptr %array, null
  br i1 %is.made, label %copy, label %lost
copy:
  %first = mul i64 %begin, %width
  %bytes = mul i64 %rows, %width
  %place = getelementptr i8, ptr %from, i64 %first
  %to = call ptr @pointer(ptr %array, i64 $data)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %place, i64 %bytes, i1 false)
  %stored = call i32 @PyList_SetItem(ptr %list, i64 %i, ptr %array)
  br label %head
lost:
  call void @Py_DecRef(ptr %list)
  br label %failed
failed:
  ret ptr null
done:
  ret ptr %list
}
""")

_native: tuple[Callable[..., Any], ...] | None = None
_compiled: Any = None


def _functions() -> tuple[Callable[..., Any], ...]:
    """The three functions of the IR; none where there is no native code."""
    global _native, _compiled
    if _native is None:
        try:
            addresses = launcher.c_api_addresses()
            text = _IR.substitute(launcher.FIELDS, contiguous=launcher.C_CONTIGUOUS)
            _compiled = engine.compile_ir(launcher.api_ir(_FUNCTIONS) + text, "uneven_lists")
            launcher.link_api(_compiled, addresses)
        except engine.Unavailable:
            _native = ()
            return _native
        whole, object_ = ctypes.c_int64, ctypes.py_object
        kinds = {
            "tnp_offsets": (whole, object_, whole, object_),
            "tnp_join": (whole, object_, whole, object_, whole, object_, object_),
            "tnp_part": (object_, object_, whole, object_, whole),
        }
        _native = tuple(ctypes.PYFUNCTYPE(*kind)(_compiled.address(name)) for name, kind in kinds.items())
    return _native


def joined(items: Any) -> _Joined:
    """The rows of the arrays in a list as one array, and the offsets at which each begins and the last one ends; neither can be written
    to. Two ``None`` unless they are C-contiguous arrays of one dtype that differ in their first dimension alone, of at least a row in all.

    >>> joined([np.array([1.0, 2.0]), np.array([3.0])])
    (array([1., 2., 3.]), array([0, 2, 3]))
    >>> joined([np.array([1.0, 2.0]), np.array([3])])
    (None, None)
    """
    made, offsets = measured(items)
    if made is None or offsets is None:
        return None, None
    made.flags.writeable = True
    native = _functions()
    if not native:
        np.concatenate(items, out=made)
    else:
        width = made.nbytes // made.shape[0]
        if not native[1](items, len(items), offsets, width, items[0], made):
            return None, None
    made.flags.writeable = False
    return made, offsets


def measured(items: Any) -> _Joined:
    """As :func:`joined`, with anything in the first array: for who wants to know how long the arrays are."""
    if type(items) is not list or not items or type(items[0]) is not np.ndarray or not items[0].ndim:
        return None, None
    like = items[0]
    offsets: np.ndarray[Any, Any] = np.empty(len(items) + 1, np.int64)
    native = _functions()
    total = native[0](items, len(items), offsets) if native else _measure(items, offsets)
    if total <= 0:
        return None, None
    made: np.ndarray[Any, Any] = np.empty((total, *like.shape[1:]), like.dtype)
    made.flags.writeable = offsets.flags.writeable = False
    return made, offsets


def _measure(items: list[Any], offsets: np.ndarray[Any, Any]) -> int:
    """The same without native code."""
    like = items[0]
    alike = all(
        type(x) is np.ndarray and x.dtype is like.dtype and x.flags.c_contiguous and x.shape[1:] == like.shape[1:] and x.ndim
        for x in items
    )  # fmt: skip
    if not alike:
        return -1
    offsets[0] = 0
    np.cumsum([len(x) for x in items], out=offsets[1:])
    return int(offsets[-1])


def parted(rows: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """New arrays, of the rows of an array in C order from each offset up to the next.

    >>> parted(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2, 3]))
    [array([1., 2.]), array([], dtype=float64), array([3.])]
    """
    native = _functions()
    if not native or not (rows.flags.c_contiguous and offsets.flags.c_contiguous):
        return [rows[begin:end].copy() for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist())]
    width = rows.strides[0] if rows.shape[0] > 1 else rows.nbytes
    made: list[np.ndarray[Any, Any]] = native[2](rows, len(offsets) - 1, offsets, width)
    return made
