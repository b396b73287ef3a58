"""Launchers: builtin functions between a Python call and native code.

A kernel is ``i64 @name(ptr %slots)``. It returns 0; :data:`REFUSED` if it does not support the arguments and wrote
nothing; :data:`FAILED` if it raises (then the slots' first words are a record of the error, whose address ``slow`` gets
after the arguments); or :data:`INTERRUPTED`, if an exception is set. Its launcher is a builtin that checks the
arguments against the kernel's signature, finds their data through CPython's and NumPy's structures, allocates the
outputs, and calls the kernel, without Python code in between. If a check fails, or there is no kernel yet, the builtin
calls the Python function ``slow`` with the original arguments.

One native function serves all launchers. It interprets *descriptors*, tables of 64-bit words that
:meth:`Launcher.install` writes, and uses the newest one that the arguments match. The builtin's ``self`` is a
:class:`_State`, whose memory holds the address of the first. Descriptors live as long as the builtin, because a call on
another thread, whose kernel runs without the GIL, may still read one. They change only under the GIL.

Interpreters with other structures than those assumed here (PyPy, free-threaded or debugging builds, 32 bits) have no
native launcher: :func:`make_launcher` raises :class:`Unavailable`, and :func:`make_ctypes_launcher` does the same in
Python.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from tnp.runtime import locks
from tnp.runtime.engine import Compiled, Unavailable, compile_ir, define_symbol

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "METH_FASTCALL",
    "METH_KEYWORDS",
    "POLL",
    "POLL_DECLARED",
    "RECORD_WORDS",
    "REFUSED",
    "Input",
    "Launcher",
    "Output",
    "Spec",
    "check_spec",
    "make_launcher",
    "native_address",
    "new_builtin",
    "polls",
]

INT64 = np.iinfo(np.int64)

#: dtypes whose scalars fit a slot's 16 bytes
SCALAR_KINDS = "biufc"

#: inputs and outputs together; each takes 32 bytes of the stack
MAX_SLOTS = 1024


#: what kernels return besides 0
REFUSED, FAILED, INTERRUPTED = 1, 2, 3
#: words that a record may have
RECORD_WORDS = 8


@dataclass(frozen=True)
class Input:
    """What an argument must be.

    ``kind``: ``"array"``: exactly an ``ndarray`` of ``shape``, ``strides`` (bytes) and ``dtype``, aligned, and writeable if
    ``writeable``, with ``exact`` of that very object of a dtype; ``"dense"``: any C-contiguous one of as many dimensions, of which ``shape`` has the
    lengths: 0 for any, ``-n`` for ``n`` at least, ``(i, d)`` for the length of dimension ``d`` of the input ``i``, which comes before;
    ``"int"`` (from ``low`` to ``high``), ``"float"``, ``"bool"``, ``"complex"``: exactly a Python number of
    that type; ``"scalar"``: a NumPy scalar of ``dtype``, whose slot points at a value of that dtype.
    """

    kind: str = "array"
    shape: tuple[Any, ...] = ()
    strides: tuple[int, ...] = ()
    dtype: Any = None
    writeable: bool = False
    exact: bool = False
    low: int = int(INT64.min)
    high: int = int(INT64.max)


@dataclass(frozen=True)
class Output:
    """What a result is.

    ``kind``: ``"array"``: new, of ``shape`` and ``dtype``, its axes in any order but without gaps (``strides`` in bytes; C
    order without); ``"scalar"``: a NumPy scalar of ``dtype``;
    ``"int"``, ``"float"``, ``"bool"``, ``"complex"``: a Python number, which the kernel writes as numbers are passed in;
    ``"input"``: the argument number ``index`` itself; ``"sized"``: a new array in C's order, of as many dimensions as ``shape``.
    """

    kind: str = "array"
    shape: tuple[int, ...] = ()
    dtype: Any = None
    index: int = 0
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Spec:
    """A kernel's arguments and results. ``single``: the only output is returned itself, not in a tuple.

    ``sizes`` is the address of ``i64 f(ptr %slots, ptr %shapes)``, which writes the dimensions of the sized outputs, one output
    behind the other, and returns 0 if the kernel takes the arguments. Behind the record's words the slots of a call have, for each
    input that is an array, the address of its dimensions.
    """

    inputs: Sequence[Input]
    outputs: Sequence[Output]
    single: bool = False
    sizes: int = 0


# The C APIs, as functions of a module in IR

#: name: result and parameters; addresses come from the interpreter
PYTHON_API = {
    "PyTuple_GetItem": ("ptr", "ptr", "i64"),
    "PyTuple_New": ("ptr", "i64"),
    "PyTuple_SetItem": ("i32", "ptr", "i64", "ptr"),
    "PyCapsule_GetPointer": ("ptr", "ptr", "ptr"),
    "PyObject_Vectorcall": ("ptr", "ptr", "ptr", "i64", "ptr"),
    "Py_IncRef": ("void", "ptr"),
    "Py_DecRef": ("void", "ptr"),
    "PyErr_Clear": ("void",),
    "PyErr_NoMemory": ("ptr",),
    "PyErr_CheckSignals": ("i32",),
    "PyGILState_Ensure": ("i32",),
    "PyGILState_Release": ("void", "i32"),
    "PyLong_AsLongLongAndOverflow": ("i64", "ptr", "ptr"),
    "PyLong_FromLongLong": ("ptr", "i64"),
    "PyBool_FromLong": ("ptr", "i64"),
    "PyFloat_AsDouble": ("double", "ptr"),
    "PyFloat_FromDouble": ("ptr", "double"),
    "PyComplex_RealAsDouble": ("double", "ptr"),
    "PyComplex_ImagAsDouble": ("double", "ptr"),
    "PyComplex_FromDoubles": ("ptr", "double", "double"),
    "PyEval_SaveThread": ("ptr",),
    "PyEval_RestoreThread": ("void", "ptr"),
    "PyTraceMalloc_Track": ("i32", "i32", "i64", "i64"),
}

#: name: (index in NumPy's table, result and parameters)
NUMPY_API = {
    "PyArray_Scalar": (60, "ptr", "ptr", "ptr", "ptr"),
    "PyArray_ScalarAsCtype": (62, "void", "ptr", "ptr"),
    "PyArray_NewFromDescr": (94, "ptr", "ptr", "ptr", "i32", "ptr", "ptr", "ptr", "i32", "ptr"),
    "PyArray_EquivTypes": (182, "i8", "ptr", "ptr"),
}

#: where NumPy's table has the type of arrays, and the two versions of its ABI
ARRAY_TYPE, ABI_VERSION, API_VERSION = 2, 0, 211

#: the words of ``PyArrayObject_fields`` (numpy/_core/include/numpy/ndarraytypes.h); of ``nd`` and ``flags`` the lower half
FIELDS = {"type": 1, "data": 2, "nd": 3, "dimensions": 4, "strides": 5, "descr": 7, "flags": 8, "mem_handler": 11}

#: ``NPY_ARRAY_ALIGNED``, ``NPY_ARRAY_WRITEABLE``
ALIGNED, WRITEABLE, C_CONTIGUOUS = 0x100, 0x400, 0x1
#: by how many bits the flag of an array that warns when it is written to (``NPY_ARRAY_WARN_ON_WRITE``) is above ``WRITEABLE``
WARN_SHIFT = 21
#: lengths below stand for those of other inputs
DIM_OF_ANOTHER = -(1 << 62)
#: ``NPY_ARRAY_CARRAY``, ``NPY_ARRAY_FARRAY``: contiguous, aligned, writeable
CARRAY, FARRAY = 0x501, 0x502

METH_KEYWORDS, METH_FASTCALL = 0x02, 0x80


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def python_function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    """A function of CPython's API. Attributes of ``ctypes.pythonapi`` are shared by everybody, so they are left alone."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


@functools.cache
def numpy_table() -> int:
    """The address of NumPy's table of functions; raises ``Unavailable`` if it is not the one that is known here."""
    reason = _foreign()
    if reason:
        raise Unavailable(reason)
    try:
        capsule = np._core._multiarray_umath._ARRAY_API
        get = python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        table: int = get(capsule, None)
    except (AttributeError, ValueError) as e:
        raise Unavailable(f"NumPy's C API: {e}") from e
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)
    if version(word(table, ABI_VERSION))() >> 24 != 2 or version(word(table, API_VERSION))() < 0x12:
        raise Unavailable("NumPy's C API is of another version")
    if word(table, ARRAY_TYPE) != id(np.ndarray):
        raise Unavailable("NumPy's C API has another layout")
    _check_fields()
    return table


def word(address: int, index: int = 0) -> int:
    """The 64-bit word number ``index`` at an address."""
    return ctypes.c_size_t.from_address(address + 8 * index).value


def _foreign() -> str | None:
    """Why the interpreter's structures are not those assumed here."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} has no CPython structures"
    if "t" in getattr(sys, "abiflags", ""):
        return "the interpreter is a free-threaded build"
    if (
        ctypes.sizeof(ctypes.c_void_p) != 8
        or (object.__basicsize__, tuple.__basicsize__) != (16, 24)
        or sys.byteorder != "little"
    ):
        return "the interpreter's objects have another layout"
    return None


def _check_fields() -> None:
    """Raises ``Unavailable`` if an array's fields are elsewhere: they are read natively and compared to Python's."""
    a = np.zeros((2, 3, 5), np.float32)[:, ::-1, ::2]
    a.flags.writeable = False
    field = {name: word(id(a), index) for name, index in FIELDS.items()}
    found = (
        field["type"],
        field["data"],
        field["nd"] & 0xFFFFFFFF,
        [word(field["dimensions"], i) for i in range(3)],
        [ctypes.c_int64(word(field["strides"], i)).value for i in range(3)],
        field["descr"],
        field["flags"] & (ALIGNED | WRITEABLE),
    )
    data = a.__array_interface__["data"][0]
    if found != (id(np.ndarray), data, 3, list(a.shape), list(a.strides), id(a.dtype), ALIGNED):
        raise Unavailable("NumPy's arrays have another layout")


def signatures() -> dict[str, tuple[str, ...]]:
    """Result and parameters of every function of the C APIs."""
    return PYTHON_API | {name: tuple(row[1:]) for name, row in NUMPY_API.items()}


def api_ir(functions: Mapping[str, tuple[str, ...]]) -> str:
    """IR that defines ``functions`` (result, parameters) as calls through a table, ``@tnp_api`` gives the table's address.

    Symbols would do, were they not looked up in the process, where an embedded interpreter's need not be visible; and
    addresses cannot stand in IR whose machine code is cached on disk.
    """
    table = f"[{len(functions)} x ptr]"
    text = [_WORDS, f"@api = internal global {table} zeroinitializer"]
    for i, (name, (result, *parameters)) in enumerate(functions.items()):
        given = ", ".join(f"{t} %{j}" for j, t in enumerate(parameters, 1))
        body = f"  %f = load ptr, ptr getelementptr inbounds ({table}, ptr @api, i64 0, i64 {i})\n"
        call = f"call {result} %f({given})"
        body += f"  {call}\n  ret void" if result == "void" else f"  %r = {call}\n  ret {result} %r"
        text.append(f"define internal {result} @{name}({given}) alwaysinline {{\nentry:\n{body}\n}}")
    return "\n".join(text)


#: a table's address, and 64-bit words as integers and as addresses
_WORDS = """
define ptr @tnp_api() {
  ret ptr @api
}
define internal i64 @word(ptr %p, i64 %i) alwaysinline {
  %at = getelementptr i64, ptr %p, i64 %i
  %x = load i64, ptr %at
  ret i64 %x
}
define internal ptr @pointer(ptr %p, i64 %i) alwaysinline {
  %at = getelementptr ptr, ptr %p, i64 %i
  %x = load ptr, ptr %at
  ret ptr %x
}
"""


def link_api(compiled: Compiled, addresses: Sequence[int]) -> None:
    """Writes the table that :func:`api_ir` made, and keeps the machine code for ever.

    Objects that lead into it may be freed when the interpreter is almost gone, so no reference that Python clears at its
    end may own it.
    """
    python_function("Py_IncRef", None, ctypes.py_object)(compiled)
    table = ctypes.CFUNCTYPE(ctypes.c_size_t)(compiled.address("tnp_api"))()
    (ctypes.c_size_t * len(addresses)).from_address(table)[:] = addresses


def c_api_addresses() -> list[int]:
    """Where the functions of :func:`signatures` are."""
    table = numpy_table()
    try:
        python = [ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value or 0 for name in PYTHON_API]
    except AttributeError as e:
        raise Unavailable(f"CPython's C API: {e}") from e
    return python + [word(table, row[0]) for row in NUMPY_API.values()]


# The native function

#: what an input's record says: its kind's number, and the type that the argument must have
INPUT_KINDS: dict[str, tuple[int, Any]] = {
    "array": (0, np.ndarray),
    "int": (1, int),
    "bool": (1, bool),
    "float": (2, float),
    "complex": (3, complex),
    "scalar": (4, None),
    "dense": (0, np.ndarray),
}

#: what an output's record says; ``"pooled"`` are large arrays, from the pool of allocator.py
OUTPUT_KINDS = {"array": 0, "pooled": 1, "input": 2, "scalar": 3, "int": 4, "bool": 5, "float": 6, "complex": 7,
    "sized": 8}  # fmt: skip

#: The clock by which ``tnp_poll`` knows when it has looked (``CLOCK_MONOTONIC_COARSE`` of Linux, ``CLOCK_MONOTONIC`` of macOS), and
#: how many ms go by between two looks.
POLL_CLOCK, POLL_MS = 6, 25

#: Asks whether the user has pressed Ctrl-C. What a handler of the user's does to arrays that a kernel works on, the kernel need not see.
POLL = "call i1 @tnp_poll()"
POLL_DECLARED = "declare i1 @tnp_poll() nounwind memory(inaccessiblemem: readwrite)"

#: words of a descriptor before the records, of a record, and where a descriptor has the next one's address
HEADER, RECORD, NEXT = 11, 8, 10

#: from how many bytes on, and up to how many, arrays come from the pool (allocator.py)
LARGE, TOO_LARGE = 1 << 18, 1 << 60

#: A descriptor: kernel, release the GIL, number of inputs, of outputs, single, function and argument for pooled outputs,
#: type of arrays, the function of sizes, how many dimensions it gives, the descriptor to try next. An input: type, kind, then for an array: nd, dimensions, strides, descr, flags, whether no other descr will do; for an int: low, high.
#: An output of a size that is computed: kind, descr, nd, where its dimensions begin, bytes of an element. Any other: kind, descr, nd, dimensions, bytes, flags, strides (0: C order); or kind, index of the input.
_LAUNCH = Template("\n" + Path(__file__).with_suffix(".ll").read_text())


def _launch_ir() -> str:
    kinds = {f"in_{kind}": number for kind, (number, _) in INPUT_KINDS.items() if kind != "dense"}
    kinds |= {f"out_{kind}": number for kind, number in OUTPUT_KINDS.items()}
    kinds |= {"declined": "inttoptr (i64 1 to ptr)", "refused": "inttoptr (i64 2 to ptr)"}
    return api_ir(signatures()) + _LAUNCH.substitute(FIELDS, **kinds, header=HEADER, record=RECORD, next=NEXT,
        record_words=RECORD_WORDS, failed=FAILED, interrupted=INTERRUPTED, poll_clock=POLL_CLOCK, poll_ms=POLL_MS, large=LARGE, large_range=TOO_LARGE - LARGE, carray=CARRAY,
        writeable=WRITEABLE, warn_shift=WARN_SHIFT, dim_of_another=DIM_OF_ANOTHER)  # fmt: skip


@functools.cache
def _native() -> Compiled | Unavailable:
    """The native functions, or why there are none."""
    try:
        addresses = c_api_addresses()
        compiled = compile_ir(_launch_ir(), "launcher")
        link_api(compiled, addresses)
        define_symbol("tnp_poll", compiled.address("tnp_poll"))
        _tell_main_thread.append(ctypes.CFUNCTYPE(None, ctypes.c_size_t)(compiled.address("tnp_main_thread")))
        _find_main_thread()
        return compiled
    except Unavailable as e:
        return e
    except ValueError as e:  # IR that this LLVM does not take
        return Unavailable(f"the native launcher does not compile: {e}")


def native_address(name: str) -> int:
    """The address of a native function; raises ``Unavailable``."""
    found = _native()
    if isinstance(found, Unavailable):
        raise Unavailable(*found.args)
    return found.address(name)


#: the native function that is told which thread the main one is
_tell_main_thread: list[Callable[[int], None]] = []


@locks.in_child
def _find_main_thread() -> None:
    """Says which thread learns of Ctrl-C; in a child it is the one that forked."""
    for tell in _tell_main_thread:
        tell(threading.main_thread().ident or 0)


# Launchers


#: one installs at a time
_lock = locks.lock()


class _State(tuple[Any, ...]):
    """A builtin's ``self``: what its native function reads, and what that and the builtin refer to."""

    __slots__ = ()


def new_builtin(name: str, address: int, flags: int, state: tuple[Any, ...]) -> Callable[..., Any]:
    """A builtin that calls the native function at ``address``; its ``self`` begins with ``state``."""
    encoded = name.encode()
    # In an array, which stays to the end: the collector frees the memory of a ctypes structure in a cycle before the builtin goes,
    # which looks at it once more then.
    method = np.zeros(ctypes.sizeof(_MethodDef), np.uint8)
    ctypes.memmove(method.ctypes.data, ctypes.byref(_MethodDef(encoded, address, flags, None)), method.size)
    new = python_function("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    made: Callable[..., Any] = new(method.ctypes.data, _State((*state, method, encoded)), __name__)
    return made


def check_spec(spec: Spec) -> None:
    """Raises ``ValueError`` for a specification that does not make sense."""
    if spec.single and len(spec.outputs) != 1:
        raise ValueError("single=True needs exactly one output")
    for x in spec.inputs:
        if x.kind not in INPUT_KINDS:
            raise ValueError(f"unknown kind of input {x.kind!r}")
        if x.kind == "array" and len(x.shape) != len(x.strides):
            raise ValueError(f"{len(x.shape)} dimensions, but {len(x.strides)} strides")
        if x.kind == "int" and not INT64.min <= x.low <= x.high <= INT64.max:
            raise ValueError(f"no 64-bit integers from {x.low} to {x.high}")
    for x in spec.outputs:
        if x.kind not in OUTPUT_KINDS or x.kind == "pooled":
            raise ValueError(f"unknown kind of output {x.kind!r}")
        if x.kind == "sized" and not spec.sizes:
            raise ValueError("nothing gives the size of a sized output")
        if x.kind == "input" and not 0 <= x.index < len(spec.inputs):
            raise ValueError(f"there is no input {x.index}")
        if (
            x.kind == "array"
            and x.strides is not None
            and not _is_dense(x.shape, x.strides, np.dtype(x.dtype).itemsize)
        ):
            raise ValueError(f"an array of shape {x.shape} does not fill its memory with strides {x.strides}")
    for x in (*spec.inputs, *spec.outputs):
        if x.kind in ("array", "dense", "scalar", "sized") and np.dtype(x.dtype).hasobject:
            raise ValueError(f"kernels do not take {x.dtype}")
        if x.kind == "scalar" and (np.dtype(x.dtype).kind not in SCALAR_KINDS or np.dtype(x.dtype).itemsize > 16):
            raise ValueError(f"kernels do not take scalars of {x.dtype}")
        if x.kind in ("array", "dense", "scalar") and not np.dtype(x.dtype).isnative:
            raise ValueError(f"kernels do not take {x.dtype} of the other byte order")


def _is_dense(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether strides are those of an array whose axes, in some order, fill its memory."""
    step = itemsize
    for stride, n in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if stride != step:
            return False
        step *= n
    return len(shape) == len(strides)


class Launcher:
    """A builtin ``function`` that runs the kernel installed last, and ``slow`` where that does not take the arguments."""

    def __init__(self, name: str, slow: Callable[..., Any]) -> None:
        address = native_address("tnp_launch")
        memory = (ctypes.c_size_t * 2)(0, id(slow))
        capsule = python_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self._memory = memory
        #: what was installed, newest first: how, its descriptor, what that refers to, and the machine code's owner
        self._installed: list[tuple[Any, Any, Any, Any]] = []
        state = (capsule(ctypes.addressof(memory), None, None), memory, slow, self._installed)
        #: the builtin; it does not need the launcher to stay
        self.function = new_builtin(name, address, METH_FASTCALL, state)

    def install(self, spec: Spec, kernel_address: int, release_gil: bool = False, *, owner: Any = None) -> None:
        """From now on, arguments that fit ``spec`` go to the kernel at ``kernel_address``, others as before.

        ``owner`` is kept as long as the builtin: what the kernel's machine code belongs to. Raises ``ValueError`` for a
        specification that does not make sense, ``Unavailable`` for one with too many inputs and outputs.
        """
        check_spec(spec)
        if len(spec.inputs) + len(spec.outputs) > MAX_SLOTS:
            raise Unavailable(f"more than {MAX_SLOTS} inputs and outputs")
        with _lock:
            known = (spec, kernel_address, release_gil)
            entry = next((e for e in self._installed if e[0] == known), None)
            if entry is None:
                entry = (known, *_descriptor(spec, kernel_address, release_gil), owner)
            else:
                self._installed.remove(entry)
            self._installed.insert(0, entry)
            _link(self._memory, [e[1] for e in self._installed])


def _link(memory: Any, descriptors: Sequence[Any]) -> None:
    """Makes the descriptors a chain that begins in ``memory``; at every moment the chain is whole."""
    addresses = [ctypes.addressof(d) for d in descriptors] + [0]
    for descriptor, following in reversed(list(zip(descriptors, addresses[1:]))):
        descriptor[NEXT] = following
    memory[0] = addresses[0]


def _descriptor(spec: Spec, kernel: int, release_gil: bool) -> tuple[Any, list[Any]]:
    """The words that the native function reads, and the objects whose addresses are among them."""
    from tnp.runtime.allocator import pooled_array  # allocator.py is written with this module's C APIs

    kept: list[Any] = []

    def address(x: Any) -> int:
        kept.append(x)
        return id(x)

    def integers(values: Sequence[int]) -> int:
        array = (ctypes.c_int64 * max(1, len(values)))(*values)
        kept.append(array)
        return ctypes.addressof(array)

    pool = (0, 0)
    dims = 0
    records: list[list[int]] = []
    for x in spec.inputs:
        number, kind_type = INPUT_KINDS[x.kind]
        if x.kind in ("array", "dense"):
            flags = ALIGNED | (WRITEABLE if x.writeable else 0) | (C_CONTIGUOUS if x.kind == "dense" else 0)
            words = [
                len(x.shape),
                integers([_length(n) for n in x.shape]) if any(x.shape) or x.kind == "array" else 0,
                integers(x.strides) if x.kind == "array" else 0,
                address(np.dtype(x.dtype)),
                flags,
                int(x.exact),
            ]
        elif x.kind == "scalar":
            kind_type, words = np.dtype(x.dtype).type, []
        else:
            words = [0, 1] if x.kind == "bool" else [x.low, x.high]
        records.append([address(kind_type), number, *words])
    for x in spec.outputs:
        number = OUTPUT_KINDS[x.kind]
        if x.kind == "input":
            records.append([number, x.index])
            continue
        dtype = np.dtype(x.dtype) if x.kind in ("array", "scalar", "sized") else None
        if x.kind == "sized":
            assert dtype is not None
            records.append([number, address(dtype), len(x.shape), dims, dtype.itemsize])
            dims += len(x.shape)
            pool = pooled_array(LARGE) or pool
            continue
        size = math.prod(x.shape) * dtype.itemsize if x.kind == "array" else 0
        flags = 0  # what NumPy gives an array that it makes
        if found := pooled_array(size):
            number, pool, flags = OUTPUT_KINDS["pooled"], found, CARRAY
        strides = 0 if x.strides is None else integers(x.strides)
        records.append([number, address(dtype), len(x.shape), integers(x.shape), size, flags, strides])
    words = [
        kernel,
        int(release_gil),
        len(spec.inputs),
        len(spec.outputs),
        int(spec.single),
        *pool,
        id(np.ndarray),
        spec.sizes,
        dims,
        0,
    ]
    for record in records:
        words += record + [0] * (RECORD - len(record))
    return (ctypes.c_int64 * len(words))(*words), kept


def _length(n: int | tuple[int, int]) -> int:
    """A length of an input, as native code has it."""
    return n if isinstance(n, int) else DIM_OF_ANOTHER - (n[0] * 256 + n[1])


def polls() -> bool:
    """Whether kernels may ask for Ctrl-C by :data:`POLL`: its function is part of the native launcher."""
    return not isinstance(_native(), Unavailable)


def make_launcher(name: str, slow: Callable[..., Any]) -> Launcher:
    """A launcher that calls ``slow`` until a kernel is installed; raises ``Unavailable``."""
    return Launcher(name, slow)
