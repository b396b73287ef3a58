"""NumPy's arrays and scalars as inputs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.prologue import ArrayKind, Source
from tnp.capture.guards.varying_values import is_of_call
from tnp.capture.objects.row_list import NumberList, RowList, rows_of
from tnp.capture.objects.uneven_lists import UnevenList, differ_in_length
from tnp.capture.tracing.strides import ROW_MAJOR, Strides, in_elements
from tnp.core.array_kinds import HOST_ARRAYS, USER_KIND
from tnp.core.errors import NeedsEager, TraceError
from tnp.core.proxies import TensorProxy
from tnp.lang.numpy import language
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype
from tnp.runtime.lists import numbers_of, scalars_of
from tnp.runtime.uneven_lists import joined

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.tracing.traced_values import TracedArray

__all__ = [
    "is_compiled_array",
    "lift_array",
    "lift_long_list",
    "lift_memmap",
    "lift_scalar",
    "may_be_numbers",
    "name_of_numbers",
]


def is_compiled_array(x: Any) -> bool:
    """Whether an array or a scalar is of a dtype that is compiled, in this machine's byte order, and without metadata."""
    try:
        compiled = to_numpy_dtype(to_dtype(x.dtype))
    except TraceError:
        return False
    # longlong is equal to int64, and another type
    return x.dtype.isnative and x.dtype.char == compiled.char and x.dtype.metadata is None


def lift_array(inputs: Inputs, value: np.ndarray[Any, Any], source: Source) -> TracedArray:
    """An array, under guards of its dtype, shape and strides."""
    known = inputs.known_array(value, source)
    if known is not None:
        return known
    if value.flags.num < 0:  # even to ask whether it may be written to gives a warning
        inputs.prologue.guard(f"{source.expression}.flags.num < 0", f"{source.description} warns when it is written to")
        raise NeedsEager("it is given an array of np.broadcast_arrays, which warns when it is written to")
    dtype = to_dtype(value.dtype)
    kind = ArrayKind(value.dtype, value.shape, value.strides)
    symbolic = inputs.prologue.varying.symbols(source.description, value, value.flags.c_contiguous)
    inputs.prologue.guard_array(source, kind, value.flags.c_contiguous, symbolic)
    if USER_KIND.of(inputs.trace) != "numpy" and not inputs.prologue.moves_arrays:
        raise NeedsEager(f"{source.description} is an ndarray beside arrays of CuPy's")
    shape = tuple(inputs.size(source, d, n) if d in symbolic else n for d, n in enumerate(value.shape))
    proxy = TensorProxy(inputs.name_of(source), shape=shape, dtype=dtype, lang=language)
    HOST_ARRAYS.of(inputs.trace).add(proxy.name)
    strides: Strides = ROW_MAJOR
    if not value.flags.c_contiguous:
        strides = tuple(in_elements(s, value.itemsize) for s in value.strides)
    return inputs.add_array(
        value, source, proxy, strides, value, source.expression,
        is_row_major=value.flags.c_contiguous, writable=value.flags.writeable,
    )  # fmt: skip


#: so many items of a list are inputs of their own only where that is needed
LONG = 64
#: items of a list that are inputs of their own at most, where Python may run what needs them one by one
MOST_ITEMS = 256
#: The same limits for arrays of several lengths, where each array would need guards and a copy of a loop's body: for lists whose number
#: of arrays never varied, and for lists whose number did.
LONG_UNEVEN, VARYING_UNEVEN = 32, 16


def lift_long_list(inputs: Inputs, value: list[Any], source: Source) -> RowList | NumberList | UnevenList | None:
    """A list of arrays, numbers or scalars of one kind, which is long or whose length has varied, as one array; ``None``
    for any other list. Of the lists of an object, those of numbers whose length has varied."""
    of_call = is_of_call(source.description)
    if not value or not (of_call or source.description.startswith("argument ")):
        return None
    if type(value[0]) in (float, int, np.float64):
        return _lift_numbers(inputs, value, source, LONG if of_call else sys.maxsize)
    if not of_call or not isinstance(value[0], np.ndarray):
        return None
    rows = _lift_rows(inputs, value, source)
    return _lift_uneven(inputs, value, source) if rows is None else rows


def _lift_rows(inputs: Inputs, value: list[Any], source: Source) -> RowList | None:
    varying, name = inputs.prologue.varying, f"the arrays of {source.description}"
    rows = None if varying.is_specialized(name) else rows_of(value)
    if rows is None or not is_compiled_array(rows):
        return None
    if 0 not in varying.symbols(name, rows, True) and len(value) < LONG:
        return None
    handle = _lift_made(inputs, rows_of, rows, source, name)
    inputs.lists[name] = value, source.expression
    return RowList(name, handle)


def _lift_uneven(inputs: Inputs, value: list[Any], source: Source) -> UnevenList | None:
    varying, name = inputs.prologue.varying, f"the arrays of several lengths of {source.description}"
    if varying.is_specialized(name) or not differ_in_length(value):
        return None
    if len(value) < (VARYING_UNEVEN if varying.has_other_length(name, len(value)) else LONG_UNEVEN):
        return None
    rows, offsets = joined(value)
    if rows is None or offsets is None or not is_compiled_array(rows):
        return None
    make = inputs.prologue.constant(joined, "joined")
    both = inputs.prologue.let(Source(f"{make}({source.expression})", name)).expression

    def lifted(i: int, made: np.ndarray[Any, Any], called: str) -> TracedArray:
        handle = lift_array(inputs, made, inputs.prologue.let(Source(f"{both}[{i}]", called)))
        handle.storage.writable, handle.storage.listed = False, name
        return handle

    traced = lifted(0, rows, name), lifted(1, offsets, f"the offsets of {name}")
    varying.late.add(name)
    inputs.lists[name] = value, source.expression
    return UnevenList(name, *traced, source, both)


def name_of_numbers(source: Source) -> str:
    """What the numbers of a list are called, if they are one array."""
    return f"the numbers of {source.description}"


def may_be_numbers(value: Any, source: Source) -> bool:
    """Whether :func:`lift_long_list` may take a list, however short, for one array of numbers."""
    if type(value) is not list or not value or not source.description.startswith("argument "):
        return False
    return (scalars_of if type(value[0]) is np.float64 else numbers_of)(value) is not None


def _lift_numbers(inputs: Inputs, value: list[Any], source: Source, long: int) -> NumberList | None:
    varying, name = inputs.prologue.varying, name_of_numbers(source)
    are_scalars = type(value[0]) is np.float64
    read = scalars_of if are_scalars else numbers_of
    numbers = None if varying.is_specialized(name) else read(value)
    if numbers is None:
        return None
    is_one = 0 in varying.symbols(name, numbers, True) or varying.is_counted(name)
    if not is_one and len(value) < long:
        return None
    return NumberList(name, _lift_made(inputs, read, numbers, source, name), are_scalars=are_scalars)


def _lift_made(inputs: Inputs, function: Any, made: np.ndarray[Any, Any], source: Source, name: str) -> TracedArray:
    """The array that ``function`` made of the list that ``source`` fetches, as an input that the prologue makes at each call."""
    make = inputs.prologue.constant(function, function.__name__)
    handle = lift_array(inputs, made, inputs.prologue.let(Source(f"{make}({source.expression})", name)))
    handle.storage.writable, handle.storage.listed = False, name
    inputs.prologue.varying.late.add(name)
    if len(made) >= MOST_ITEMS:
        inputs.prologue.varying.larger.add(name)
    return handle


def lift_memmap(inputs: Inputs, value: np.memmap[Any, Any], source: Source) -> TracedArray:
    """An array in a file, as the plain array that it is. Views of it would be of its class, so it may return none."""
    known = inputs.known_array(value, source)
    if known is not None:
        return known
    inputs.guard_type(value, source)
    view = inputs.prologue.constant(_as_plain_array)
    plain = inputs.prologue.let(Source(f"{view}({source.expression})", source.description))
    handle = lift_array(inputs, _as_plain_array(value), plain)
    inputs.is_also(value, handle, source)
    inputs.subclassed.add(handle.storage)
    return handle


def _as_plain_array(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a.view(np.ndarray)


def lift_scalar(inputs: Inputs, value: np.generic, source: Source) -> Any:
    """A scalar, under a guard of its class. Read again, it is the same object. Of a whole number that decides a length in a loop, the value
    is guarded, too."""
    before, known = inputs.scalars.get(source.expression, (None, None))
    if before is value:
        return known
    expression, source = source.expression, inputs.prologue.let(source)
    dtype = to_dtype(value.dtype)
    inputs.guard_type(value, source)
    if _is_whole(value) and inputs.prologue.varying.is_one_of_few(source.description, value.item()):
        inputs.prologue.guard(f"{source.expression} == {value.item()!r}", f"{source.description} == {value.item()!r}")
        inputs.scalars[expression] = (value, value)
        return value
    proxy = TensorProxy(inputs.name_of(source), shape=(), dtype=dtype, lang=language, scalar=True)
    HOST_ARRAYS.of(inputs.trace).add(proxy.name)
    made = inputs.add_scalar(value, source, proxy)
    if _is_whole(value):
        inputs.dimensions[proxy.name] = source.description, None
    inputs.scalars[expression] = (value, made)
    return made


def _is_whole(value: np.generic) -> bool:
    """Whether a scalar is an integer, or a float that ``int`` changes nothing of."""
    return value.dtype.kind in "iu" or (value.dtype == np.float64 and value != 0 and value.item().is_integer())
