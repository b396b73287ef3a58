"""Regions as callables: the kernels for each kind of arguments, and the unfused fallback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.executors.base import Region
from tnp.executors.llvm.layout import Strides
from tnp.runtime import ctypes_launcher, engine, launcher, locks, logs, threads
from tnp.runtime.engine import Unavailable
from tnp.runtime.gc_tuning import relaxed_gc

__all__ = ["ENTRY", "LaunchedRegion", "NativeRegion", "function_attributes", "input_of", "numpy_dtype", "output_of"]

#: kinds of strides that one region is compiled for
SPECIALISATIONS = 8
#: The name of every region's function in its module. Equal regions have equal modules, and share code.
ENTRY = "region"


class LaunchedRegion:
    """A region, and what calls its code. ``updates``: which output, by its number, is in the memory of which input."""

    #: how hard LLVM tries
    level = 3

    def __init__(self, name: str, region: Region, updates: Mapping[int, int]) -> None:
        self.name = name
        self.region = region
        self.updates = updates
        self._lock = locks.lock()
        self._alone: Callable[..., Any] | None = None
        try:
            self.launcher: Any = launcher.make_launcher(name, self._slow)
        except Unavailable:
            self.launcher = ctypes_launcher.make_ctypes_launcher(name, self._slow)

    def describe(self) -> list[str]:
        """In lines of text, what was compiled."""
        raise NotImplementedError

    def error(self, record: int) -> BaseException:
        """The exception that is noted in the record at that address, see :mod:`~tnp.runtime.launcher`."""
        raise NotImplementedError

    def _slow(self, *args: Any) -> Any:
        """What a call comes to whose arguments do not fit the code, or that fails."""
        if len(args) > len(self.region.inputs):
            raise self.error(args[-1])
        return self._run_singly(*args)

    def _run_singly(self, *args: Any) -> Any:
        if self._alone is None:
            assert self.region.run_unfused is not None
            self._alone = self.region.run_unfused(self.updates)
        with np.errstate(
            all="ignore"
        ):  # native code gives no warnings either; and some elements are computed for nothing
            return self._alone(*args)


class NativeRegion(LaunchedRegion):
    """A region that is compiled for each kind of arguments. Subclasses write the code."""

    def __init__(self, name: str, region: Region, updates: Mapping[int, int], fast: bool) -> None:
        self.fast = fast
        #: why there is no code for some kinds of arguments
        self.refusals: dict[Any, str] = {}
        self._specs: dict[Any, tuple[launcher.Spec, engine.Compiled, bool]] = {}
        #: the kind of arguments whose code was installed last, and the threads that have called it
        self._current: Any = None
        self._callers: set[int] = set()
        super().__init__(name, region, updates)

    def describe(self) -> list[str]:
        return [f"operations run one by one: {reason}" for reason in dict.fromkeys(self.refusals.values())]

    def make(self, key: Any) -> tuple[launcher.Spec, str, bool]:
        """What the launcher is to do for one kind of arguments, the module, and whether it runs without Python's lock.

        Raises ``Unavailable`` if there is no code for them.
        """
        raise NotImplementedError

    def compiled(self, key: Any) -> tuple[launcher.Spec, engine.Compiled, bool]:
        """What :meth:`make` gives, with the module's code."""
        spec, ir, release = self.make(key)
        return spec, engine.compile_ir(ir, self.name, self.level), release

    def _slow(self, *args: Any) -> Any:
        """The same, where arguments may fit other code than that which is installed."""
        if len(args) > len(self.region.inputs):
            raise self.error(args[-1])
        key = tuple(_key(p, a) for p, a in zip(self.region.inputs, args))
        caller = threading.get_ident()
        with self._lock:
            if (
                key == self._current
            ):  # it does not take these arguments, unless another thread installed it since they came
                unfit = caller in self._callers
            else:
                unfit = None in key or not self._install(key)
            self._callers.add(caller)
        if unfit:
            return self._run_singly(*args)
        return self.launcher.function(*args)

    def _install(self, key: Any) -> bool:
        """Makes the code for these arguments the one that is called, compiling it if it is new."""
        if key not in self._specs:
            if len(self._specs) >= SPECIALISATIONS:
                return False
            try:
                threads.ensure_runtime()
                start = time.perf_counter()
                logs.go_on(self.name)
                with relaxed_gc():
                    self._specs[key] = self.compiled(key)
                logs.tell(logs.Event("native", self.name, time.perf_counter() - start))
            except Unavailable as reason:
                self.refusals[key] = str(reason)
                return False
            finally:
                logs.end()
        spec, compiled, release = self._specs[key]
        try:
            self.launcher.install(spec, compiled.address(ENTRY), release, owner=compiled)
        except Unavailable as reason:
            self.refusals[key] = str(reason)
            return False
        self._callers.clear()
        self._current = key
        return True


def _key(p: Any, x: Any) -> Any:
    """What code is compiled for of an argument: its kind and strides; ``None`` if none takes it."""
    if isinstance(p, NumberProxy):
        return (p.python_type.__name__, None) if type(x) is p.python_type else None
    if type(x) is np.ndarray:
        return ("array", x.strides) if x.flags.aligned and x.shape == p.shape else None
    return ("scalar", ()) if isinstance(x, np.generic) and not p.shape else None


def input_of(p: Any, key: Any, is_written: bool, limits: tuple[int, int] | None = None) -> launcher.Input:
    """What the launcher has to look for, of an argument of that kind."""
    kind, strides = key
    if kind == "int":
        low, high = limits or (int(launcher.INT64.min), int(launcher.INT64.max))
        return launcher.Input(kind, low=low, high=high)
    if kind not in ("array", "scalar"):
        return launcher.Input(kind)
    if is_written and _shares_places(p.shape, strides, p.dtype.itemsize):
        raise Unavailable("an array that is written to may have several elements in one place")
    return launcher.Input(kind, p.shape, strides, numpy_dtype(p.dtype), is_written)


def _shares_places(shape: Sequence[Any], strides: Sequence[int], itemsize: int) -> bool:
    """Whether what the inner dimensions span is more than one step of an outer one: elements may lie in one place then."""
    span = itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(strides, shape) if n != 1):
        if step < span:
            return 0 not in shape
        span += step * (n - 1)
    return False


def output_of(p: TensorProxy, strides: Strides | None = None) -> launcher.Output:
    """What the launcher has to make for a result."""
    kind = "scalar" if p.scalar else "array"
    return launcher.Output(kind, p.shape, numpy_dtype(p.dtype), strides=strides)


def numpy_dtype(dtype: DType) -> Any:
    """NumPy's dtype of that name."""
    return np.dtype(dtype.name)


def function_attributes() -> str:
    """LLVM's attributes of functions for this processor."""
    bits = engine.target().vector_bits
    return f'"prefer-vector-width"="{bits}"' if bits > 128 else ""
