"""A pool that reuses the memory of large arrays, instead of returning it to the operating system with each array.

Fresh memory is slow: the operating system clears each page at its first use, which takes longer than a kernel takes to
fill it. So arrays from :func:`empty`, and the launcher's outputs, belong to a *memory handler* (NEP 49). It keeps the
blocks of freed arrays and reuses them for requests of nearly the same size. From :data:`HUGE` bytes on, blocks consist
of huge pages if the system has them.

The handler is native code, because NumPy frees arrays from any thread, and during the shutdown of the interpreter. It
is never installed: ``PyDataMem_SetHandler`` would change the thread's context, and changing it back can fail. Instead
such an array is created around its memory, and becomes its owner through the fields that NumPy itself would set.

Each block has a header of 64 bytes before its data: the address of the system's allocation, its length if it was mapped
(0: it comes from ``malloc``), and the capacity. Free blocks are in a table of :data:`ENTRIES` entries behind a
try-lock: a thread that does not get it bypasses the pool.

``TNP_POOL_MB`` limits the size of the pool, in MB; 0 disables it. The default is a sixteenth of the memory, at most
1024.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import operator
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from tnp.runtime import environment, launcher, locks
from tnp.runtime.engine import Unavailable, compile_ir, define_symbol

__all__ = ["empty", "pool_info", "pooled_array", "serves_kernels", "trim"]

MB = 1 << 20

#: smaller blocks are never kept
LARGE = launcher.LARGE
#: from here on, blocks are mapped and aligned to huge pages
HUGE = 4 * MB
HUGE_PAGE = 2 * MB
#: more than there are addresses
TOO_LARGE = launcher.TOO_LARGE

#: flags of new arrays in C's and in Fortran's order: contiguous, aligned, writeable
NEW_ARRAY = {"C": launcher.CARRAY, "F": launcher.FARRAY}
#: ``NPY_ARRAY_OWNDATA``, and the domain under which NumPy's memory is known to tracemalloc
OWNDATA, TRACE_DOMAIN = 0x4, 389047

#: where NumPy's table has ``PyDataMem_GetHandler``
GET_HANDLER = 305

#: free blocks that the pool keeps at most
ENTRIES = 64

#: words of the pool's state; the entries (data, capacity, time of release) follow
STATE = {
    name: i
    for i, name in enumerate(
        (
            "lock",
            "limit",
            "held",
            "count",
            "hits",
            "misses",
            "clock",
            "page",
            "advice",
            "capsule",
            "array_type",
            "entries",
        )
    )
}

#: words of a block's header
BLOCK = {"begin": 0, "mapped": 1, "capacity": 2, "next": 3}

#: name: result and parameters
_LIBC = {
    "malloc": ("ptr", "i64"),
    "free": ("void", "ptr"),
    "mmap": ("ptr", "ptr", "i64", "i32", "i32", "i32", "i64"),
    "munmap": ("i32", "ptr", "i64"),
    "madvise": ("i32", "ptr", "i64", "i32"),
    "memcpy": ("ptr", "ptr", "ptr", "i64"),
    "memset": ("ptr", "ptr", "i32", "i64"),
}

_IR = Template("\n" + Path(__file__).with_suffix(".ll").read_text())


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler``."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 4),
    )


#: the name that NumPy asks of a handler's capsule; the capsule keeps the address
_HANDLER_NAME = ctypes.create_string_buffer(b"mem_handler")


def _limit() -> int:
    """How many bytes the pool may keep."""
    text = environment.text("TNP_POOL_MB")
    if text:
        try:
            return max(0, int(float(text) * MB))
        except (ValueError, OverflowError):
            warnings.warn(f"TNP_POOL_MB={text!r} is no number of MB", RuntimeWarning, stacklevel=2)
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        pass  # no control group, or one without a limit
    return min(min(sizes) // 16, 1024 * MB)


def _check_handler_field() -> None:
    """Raises ``Unavailable`` if an array's handler is elsewhere."""
    current = ctypes.PYFUNCTYPE(ctypes.py_object)(launcher.word(launcher.numpy_table(), GET_HANDLER))
    a = np.empty(3)
    if launcher.word(id(a), launcher.FIELDS["mem_handler"]) != id(current()):
        raise Unavailable("NumPy's arrays have another layout")


class _Pool:
    """The native pool: its state, and the addresses of its functions."""

    def __init__(self) -> None:
        if not hasattr(mmap, "MAP_ANONYMOUS"):
            raise Unavailable("the system has no anonymous mappings")
        _check_handler_field()
        functions = {f"libc.{name}": signature for name, signature in _LIBC.items()}
        functions |= launcher.signatures()
        addresses = launcher.c_api_addresses()
        libc = ctypes.CDLL(None)
        try:
            addresses = [ctypes.cast(libc[name], ctypes.c_void_p).value or 0 for name in _LIBC] + addresses
        except AttributeError as e:
            raise Unavailable(f"the C library: {e}") from e
        try:
            compiled = compile_ir(launcher.api_ir(functions) + _pool_ir(), "memory")
        except ValueError as e:
            raise Unavailable(f"the native pool does not compile: {e}") from e
        launcher.link_api(compiled, addresses)
        words = STATE["entries"] + 3 * ENTRIES
        # Neither the state nor the handler is ever freed: arrays may be, at any time.
        allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(("calloc", libc))
        self.address: int = allocate(1, words * 8 + ctypes.sizeof(_Handler))
        if not self.address:
            raise Unavailable("no memory")
        self.state = (ctypes.c_uint64 * words).from_address(self.address)
        handler = _Handler.from_address(self.address + words * 8)
        handler.name, handler.version, handler.context = b"tnp_pool", 1, self.address
        handler.functions[:] = [compiled.address(f"tnp_pool_{f}") for f in ("malloc", "calloc", "realloc", "free")]
        new = launcher.python_function(
            "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        self.capsule = new(ctypes.addressof(handler), ctypes.addressof(_HANDLER_NAME), None)
        for kept in (self.capsule, _HANDLER_NAME):
            launcher.python_function("Py_IncRef", None, ctypes.py_object)(kept)
        self["limit"] = _limit()
        self["page"] = mmap.PAGESIZE
        self["advice"] = getattr(mmap, "MADV_HUGEPAGE", 0)
        self["capsule"] = id(self.capsule)
        self["array_type"] = id(np.ndarray)
        self.array_address = compiled.address("tnp_pool_array")
        self.array = ctypes.PYFUNCTYPE(
            ctypes.py_object,
            ctypes.c_void_p,
            ctypes.py_object,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
        )(self.array_address)
        self.trim = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64)(
            compiled.address("tnp_pool_trim")
        )
        for name in ("tnp_pool_malloc", "tnp_pool_free"):
            define_symbol(name, compiled.address(name))
        define_symbol("tnp_pool", self.address)

    def __getitem__(self, name: str) -> int:
        return self.state[STATE[name]]

    def __setitem__(self, name: str, value: int) -> None:
        self.state[STATE[name]] = value


def _pool_ir() -> str:
    return _IR.substitute(
        STATE | BLOCK | launcher.FIELDS,
        large=LARGE,
        too_large=TOO_LARGE,
        huge=HUGE,
        huge_page=HUGE_PAGE,
        huge_page_less_1=HUGE_PAGE - 1,
        owndata=OWNDATA,
        trace_domain=TRACE_DOMAIN,
        capacity_of_table=ENTRIES,
        capacity_of_table_less_1=ENTRIES - 1,
        protection=mmap.PROT_READ | mmap.PROT_WRITE,
        mapping=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
    )


#: two threads would else make a pool each
_making = locks.lock()


@functools.cache
def _pool() -> _Pool | Unavailable:
    """The pool of this process, or why there is none."""
    with _making:
        try:
            return _Pool()
        except Unavailable as e:
            return e


@locks.in_child
def _after_fork_in_child() -> None:
    """A table that another thread was changing when the process was forked is given up."""
    pool = _pool() if _pool.cache_info().currsize else None
    if isinstance(pool, _Pool) and pool["lock"]:
        pool["count"] = pool["held"] = pool["lock"] = 0


def _usable() -> _Pool | None:
    """The pool, if there is one and it may keep anything."""
    pool = _pool()
    return pool if isinstance(pool, _Pool) and pool["limit"] >= LARGE else None


def pooled_array(size: int) -> tuple[int, int] | None:
    """How native code makes an array of ``size`` bytes; ``None``: as any other.

    The address of ``ptr f(ptr pool, ptr descr, i32 nd, ptr shape, ptr strides, i64 size, i32 flags)``, which returns a new
    reference, or null with a Python exception set, and its first argument. Null for ``strides`` is the order of ``flags``.
    It borrows ``descr``, which must not hold objects.
    """
    if not LARGE <= size < TOO_LARGE:
        return None
    pool = _usable()
    return (pool.array_address, pool.address) if pool else None


def serves_kernels() -> bool:
    """Whether kernels may take memory from the pool: ``ptr @tnp_pool_malloc(ptr @tnp_pool, i64 size)``, and give it back by
    ``void @tnp_pool_free(ptr @tnp_pool, ptr data, i64 size)``. It is 64-byte aligned; null if there is none."""
    return _usable() is not None


def empty(shape: int | Sequence[int], dtype: Any = float, order: str = "C") -> np.ndarray:
    """``numpy.empty``, from the pool if the array is large.

    >>> empty((1000, 1000)).shape
    (1000, 1000)
    """
    dtype = np.dtype(dtype)
    try:
        dims = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        dims = tuple(map(operator.index, shape))  # type: ignore[arg-type]
    size = math.prod(dims) * dtype.itemsize
    plain = dtype.hasobject or dtype.subdtype is not None or order not in NEW_ARRAY or min(dims, default=0) < 0
    if not plain and LARGE <= size < TOO_LARGE and (pool := _usable()):
        try:
            shape = (ctypes.c_ssize_t * max(1, len(dims)))(*dims)
            return pool.array(pool.address, dtype, len(dims), shape, None, size, NEW_ARRAY[order])
        except MemoryError:
            pass  # NumPy may have what the pool has not, or a better message
    return np.empty(dims, dtype, order)  # type: ignore[call-overload]


def pool_info() -> dict[str, int]:
    """The free blocks that are kept, how many bytes they are and may be, and how often there was one that fitted."""
    pool = _pool()
    get = pool.__getitem__ if isinstance(pool, _Pool) else lambda name: 0
    return {
        "blocks": get("count"),
        "held_bytes": get("held"),
        "limit_bytes": get("limit"),
        "hits": get("hits"),
        "misses": get("misses"),
    }


def trim(limit_bytes: int = 0) -> None:
    """Gives memory back to the system, the block that was freed first before the others, until ``limit_bytes`` are kept."""
    if limit_bytes < 0:
        raise ValueError(f"limit_bytes is negative: {limit_bytes}")
    pool = _pool()
    if isinstance(pool, _Pool):
        while not pool.trim(pool.address, limit_bytes):
            time.sleep(0)
