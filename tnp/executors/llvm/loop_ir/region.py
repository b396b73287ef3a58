"""Regions of symbolic sizes as callables: one kernel for all sizes.

The callable is a launcher: native code reads the sizes of the inputs, makes the results, and calls the kernel. Inputs that are not
C-contiguous, and sizes of 0, run the region unfused.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tnp.core import check, devices, dtypes, intervals, symbols
from tnp.core.elementwise_table import by_name as ELEMENTWISE
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.core.views import update
from tnp.executors.base import Region
from tnp.executors.llvm.graph import REDUCTIONS as ROWS
from tnp.executors.llvm.graph import RULES, path_of
from tnp.executors.llvm.loop_ir.emitter import SIZES, Interface, emit
from tnp.executors.llvm.loop_ir.fusion import share_rows
from tnp.executors.llvm.loop_ir.lowering import SCANS, lowered
from tnp.executors.llvm.loop_ir.nodes import Kernel, Parameter, show
from tnp.executors.llvm.loop_ir.verify import verify
from tnp.executors.llvm.region import ENTRY, function_attributes, numpy_dtype
from tnp.executors.llvm.views import only_ones_differ
from tnp.runtime import ctypes_launcher, engine, launcher, locks, logs, threads
from tnp.runtime.engine import Unavailable
from tnp.runtime.gc_tuning import relaxed_gc

__all__ = ["SymbolicRegion", "is_symbolic", "takes"]

_OTHERS = (
    "where", "convert_element_type", "full", "iota", "broadcast_in_dim", "transpose", "squeeze", "slice", "dynamic_slice", "flip",
    "select", "as_language", "clone", "reshape", "var", "take", "gather", "index_get",
)  # fmt: skip

#: the first so many values without dimensions may be scalars or arrays
KINDS = 3


def is_symbolic(bsym: BoundSymbol) -> bool:
    """Whether an array of an operation has a symbolic size, and all other sizes are known."""
    found = False
    for p in (*bsym.flat_inputs, *bsym.flat_outputs):
        for n in p.shape if isinstance(p, TensorProxy) else ():
            if not isinstance(n, int):
                if symbols.value_of(n) is None:
                    return False
                found = True
    return found


def takes(bsym: BoundSymbol) -> bool:
    """Whether every prim of an operation can be part of a kernel for any size."""
    if bsym.sym is update:
        return bool(bsym.output.ndim) and all(map(_is_plain, bsym.flat_outputs)) and all(map(takes, path_of(bsym)))
    if not bsym.sym.is_prim:
        return bool(bsym.subsymbols) and all(map(takes, bsym.subsymbols))
    if bsym.sym.executor is not None or not all(map(_is_plain, (*bsym.flat_inputs, *bsym.flat_outputs))):
        return False
    name = bsym.sym.name
    if name == "reshape" and not only_ones_differ(
        *(map(symbols.provable, p.shape) for p in (bsym.args[0], bsym.output))
    ):
        return False
    if name not in RULES or not (name in _OTHERS or name in ROWS or name in SCANS or name in ELEMENTWISE):
        return False
    return any(rule.checker(bsym) for rule in RULES[name])


def _is_plain(p: Proxy) -> bool:
    if isinstance(p, NumberProxy):
        return True
    if not isinstance(p, TensorProxy) or p.device is not devices.cpu or p.dtype is dtypes.bfloat16:
        return False
    return all(symbols.value_of(n) not in (None, 0) for n in p.shape)


class SymbolicRegion:
    """A region, its kernel, and the function that calls it. Raises :class:`Refused`, or ``Unavailable``, if there is no code."""

    def __init__(self, name: str, region: Region, fast: bool) -> None:
        self.name = name
        self.region = region
        arrays = [p for p in region.inputs if isinstance(p, TensorProxy)]
        self.numbers = [p for p in region.inputs if isinstance(p, NumberProxy)]
        self.roots, self.where = _roots(arrays, self.numbers, region.outputs)
        kernel, self.updates = lowered(region.bound_symbols, region.inputs, region.outputs, region.stores)
        self.kernel = checked(share_rows(checked(kernel)))
        self._arrays = arrays
        start = time.perf_counter()
        ir = emit(self.kernel, ENTRY, self._interface(), function_attributes(), fast=fast)
        threads.ensure_runtime()
        with relaxed_gc():
            compiled = engine.compile_ir(ir, name, 1)
        logs.tell(logs.Event("native", name, time.perf_counter() - start))
        try:
            self.launcher: Any = launcher.make_launcher(name, self._unfused)
        except Unavailable:
            self.launcher = ctypes_launcher.make_ctypes_launcher(name, self._unfused)
        # Values without dimensions come as scalars or as arrays, whatever the program says: operations of others made them.
        single = {p.name: p.scalar for p in arrays if not p.ndim}
        ways = [dict(zip(single, kinds)) for kinds in itertools.product((False, True), repeat=min(len(single), KINDS))]
        for way in sorted(ways, key=lambda way: way.items() <= single.items()):  # what it says is tried first
            spec = self._spec(compiled.address(ENTRY + SIZES), way)
            self.launcher.install(spec, compiled.address(ENTRY), True, owner=compiled)
        self._alone: Callable[..., Any] | None = None
        self._lock = locks.lock()
        self.function: Callable[..., Any] = self.launcher.function

    def describe(self) -> list[str]:
        """The kernel, as text."""
        return ["kernel for any size", *(f"  {line}" for line in show(self.kernel, self.name).splitlines())]

    def _interface(self) -> Interface:
        """How the kernel finds what it is called with."""
        buffers, numbers = iter(self.kernel.inputs), iter(range(len(self.numbers)))
        slots = [next(buffers if isinstance(p, TensorProxy) else numbers) for p in self.region.inputs]
        position = {p.name: i for i, p in enumerate(self.region.inputs)}
        roots = {name: (position[source], dim, less) for name, (source, dim, less) in self.where.items()}
        return Interface([*slots, *self.kernel.outputs], len(slots), roots)

    def _spec(self, sizes: int, are_scalars: Mapping[str, bool]) -> launcher.Spec:
        numbers = iter(self.kernel.numbers)
        written = set(self.updates.values())
        inputs = [
            _dense(p, are_scalars.get(p.name, p.scalar), j in written)
            if isinstance(p, TensorProxy)
            else _number(next(numbers))
            for j, p in enumerate(self.region.inputs)
        ]
        outputs = [
            launcher.Output("scalar" if p.scalar else "sized", (0,) * p.ndim, numpy_dtype(p.dtype))
            for k, p in enumerate(self.region.outputs)
            if k not in self.updates
        ]
        return launcher.Spec(inputs=inputs, outputs=outputs, single=len(outputs) == 1, sizes=sizes)

    def _unfused(self, *inputs: Any) -> Any:
        with self._lock:
            if self._alone is None:
                assert self.region.run_unfused is not None
                self._alone = self.region.run_unfused(self.updates)
        with np.errstate(all="ignore"):
            return self._alone(*inputs)


def checked(kernel: Kernel) -> Kernel:
    """The kernel, verified if checks are on."""
    if check.enabled():
        verify(kernel)
    return kernel


def _number(n: Parameter) -> launcher.Input:
    return launcher.Input(n.python_type.__name__, low=n.low, high=n.high)


def _dense(p: TensorProxy, is_scalar: bool, is_written: bool) -> launcher.Input:
    if is_scalar:
        return launcher.Input("scalar", (), (), numpy_dtype(p.dtype))
    return launcher.Input("dense", (0,) * p.ndim, (0,) * p.ndim, numpy_dtype(p.dtype), is_written)


def _roots(
    arrays: Sequence[TensorProxy], numbers: Sequence[NumberProxy], outputs: Sequence[TensorProxy]
) -> tuple[list[NumberProxy], dict[str, tuple[str, int | None, int]]]:
    """The sizes that no others make, and where each is found: an input, its dimension, and what is to be taken from that."""
    where: dict[str, tuple[str, int | None, int]] = {}
    found: dict[str, NumberProxy] = {}
    for p in arrays:
        for d, n in enumerate(p.shape):
            if isinstance(n, int):
                continue
            if n.origin is None and n.name not in found:
                found[n.name], where[n.name] = n, (p.name, d, 0)
    for n in numbers:
        if symbols.is_symbol(n) and n.name not in found:
            found[n.name], where[n.name] = n, (n.name, None, 0)
    for p in arrays:  # a size that is only there with a number added to it
        for d, n in enumerate(p.shape):
            terms = () if isinstance(n, int) else tuple(intervals.linear(n).terms.values())
            if len(terms) == 1 and terms[0][1] == 1 and terms[0][0].name not in found:
                root = terms[0][0]
                found[root.name], where[root.name] = root, (p.name, d, intervals.linear(n).constant)
    return list(found.values()), where
