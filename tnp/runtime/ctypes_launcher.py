"""A launcher without Python's C API: it reads arguments and allocates results by ctypes and NumPy."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.runtime.launcher import FAILED, INPUT_KINDS, RECORD_WORDS, Input, Output, Spec, check_spec

__all__ = ["CtypesLauncher", "make_ctypes_launcher"]

#: how numbers lie in a slot
_NUMBERS = {"int": np.int64, "bool": np.int64, "float": np.float64, "complex": np.complex128}


class CtypesLauncher:
    """The same in Python, for interpreters without a native launcher."""

    def __init__(self, name: str, slow: Callable[..., Any]) -> None:
        self.name = name
        #: what is called now; a list, so that the function does not need the launcher to stay
        self._installed: list[Callable[..., Any]] = []

        def function(*args: Any, installed: list[Callable[..., Any]] = self._installed) -> Any:
            return (installed[-1] if installed else slow)(*args)

        function.__name__ = function.__qualname__ = name
        self._slow = slow
        self.function: Callable[..., Any] = function

    def install(self, spec: Spec, kernel_address: int, release_gil: bool = False, *, owner: Any = None) -> None:
        """As :meth:`Launcher.install`."""
        check_spec(spec)
        prototype = (ctypes.CFUNCTYPE if release_gil else ctypes.PYFUNCTYPE)(ctypes.c_int64, ctypes.c_void_p)
        self._installed.append(functools.partial(_call, spec, prototype(kernel_address), self._slow, owner))


def _call(spec: Spec, kernel: Callable[..., int], slow: Callable[..., Any], owner: Any, *args: Any) -> Any:
    """What the native function does; ``owner`` is only kept."""
    if len(args) != len(spec.inputs) or not all(_fits(x, a, args) for x, a in zip(spec.inputs, args)):
        return slow(*args)
    data = [a if x.kind in ("array", "dense") else _number(x, a) for x, a in zip(spec.inputs, args)]
    dims = [(ctypes.c_int64 * max(1, a.ndim))(*a.shape) for a in data]
    given = (ctypes.c_void_p * (len(spec.inputs) + len(spec.outputs) + RECORD_WORDS + len(dims)))()
    given[: len(data)] = [a.ctypes.data for a in data]
    given[len(given) - len(dims) :] = [ctypes.addressof(d) for d in dims]
    shapes = (ctypes.c_int64 * max(1, sum(len(x.shape) for x in spec.outputs)))()
    if spec.sizes and ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(spec.sizes)(given, shapes):
        return slow(*args)
    sized = iter(shapes)
    try:
        for x in spec.outputs:
            if x.kind == "sized":
                data.append(np.ndarray(tuple(next(sized) for _ in x.shape), x.dtype))
            elif x.kind == "input":
                data.append(data[x.index])
            else:
                data.append(np.ndarray(x.shape, x.dtype, strides=x.strides) if x.kind == "array" else _number(x, 0))
    except (MemoryError, ValueError):
        return slow(*args)
    slots = given
    slots[: len(data)] = [a.ctypes.data for a in data]
    code = kernel(slots)
    if code == FAILED:
        return slow(*args, ctypes.addressof(slots))
    if code:
        return slow(*args)
    results = [_result(x, a, args) for x, a in zip(spec.outputs, data[len(args) :])]
    return results[0] if spec.single else tuple(results)


def _number(x: Input | Output, value: Any) -> np.ndarray:
    """A slot's 16 bytes, as an array without dimensions that ``value`` is written to."""
    dtype = np.dtype(_NUMBERS.get(x.kind, x.dtype))
    number: np.ndarray = np.zeros(2, np.int64).view(np.int8)[: dtype.itemsize].view(dtype).reshape(())
    number[()] = value
    return number


def _fits(x: Input, arg: Any, args: Sequence[Any]) -> bool:
    """Whether ``arg`` is what ``x`` says."""
    if x.kind == "scalar":
        return type(arg) is np.dtype(x.dtype).type
    if type(arg) is not INPUT_KINDS[x.kind][1]:
        return False
    if x.kind == "int":
        return bool(x.low <= arg <= x.high)
    if x.kind not in ("array", "dense"):
        return True
    if x.kind == "dense":
        usable = arg.flags.c_contiguous and arg.flags.aligned and (arg.flags.writeable or not x.writeable)
        same_dtype = arg.dtype is x.dtype or (arg.dtype == x.dtype and not x.exact)
        lengths = [n if isinstance(n, int) else args[n[0]].shape[n[1]] for n in x.shape]
        fits = arg.ndim == len(x.shape) and all(n in (0, d) or d >= -n > 0 for n, d in zip(lengths, arg.shape))
        return bool(usable and fits and same_dtype)
    strides_fit = all(d <= 1 or s == t for d, s, t in zip(x.shape, arg.strides, x.strides))
    usable = arg.flags.aligned and (arg.flags.writeable or not x.writeable)
    same_dtype = arg.dtype is x.dtype or (arg.dtype == x.dtype and not x.exact)
    return bool(arg.shape == tuple(x.shape) and strides_fit and usable and same_dtype)


def _result(x: Output, data: np.ndarray, args: Sequence[Any]) -> Any:
    """The output ``x``, which the kernel wrote to ``data``."""
    if x.kind == "input":
        return args[x.index]
    if x.kind in ("array", "sized"):
        return data
    return data[()] if x.kind == "scalar" else INPUT_KINDS[x.kind][1](data[()])


def make_ctypes_launcher(name: str, slow: Callable[..., Any]) -> CtypesLauncher:
    """As :func:`make_launcher`, for every interpreter."""
    return CtypesLauncher(name, slow)
