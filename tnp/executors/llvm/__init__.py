"""The llvm executor: regions of a program as native code for this processor.

A region goes through four steps, a module each: :mod:`graph` (what each array is computed from), :mod:`schedule` (what
has memory, and which loops are shared), :mod:`emit` (LLVM IR, with :mod:`scalars` for the elements), and :mod:`engine`
(machine code, or the same from the disk cache). :mod:`launcher` calls the result without Python in between.

Code is compiled for the strides that arrays have: at the first call, and again for others. Arguments that native code does
not take (misaligned arrays, integers beyond 64 bits, more kinds of strides than :data:`SPECIALISATIONS`) make the call run
the region's operations one by one, as the executors behind this one do.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import Fused, FusionExecutor, Region
from tnp.executors.llvm import engine, indexing, launcher, threads, views  # noqa: F401 — indexing and views register rules
from tnp.executors.llvm.emit import Kernel, emit_kernel
from tnp.executors.llvm.engine import Unavailable
from tnp.executors.llvm.graph import Graph, Node, Refused, Update, View, lower, needed_for, takes
from tnp.executors.llvm.layout import Strides, strides_of_new, strides_of_nodes
from tnp.executors.llvm.schedule import Schedule, memory_of_outputs, schedule
from tnp.executors.registry import register_executor

__all__ = ["FusedRegion", "LLVMExecutor", "executor", "is_available"]

#: kinds of strides that one region is compiled for
SPECIALISATIONS = 8
#: a single operation on fewer elements is left to NumPy, whose loop is as good
SINGLE_ELEMENTS = 32 * 1024
#: additions beyond which a kernel runs without Python's lock
RELEASE_COST = 50_000


class LLVMExecutor(FusionExecutor):
    """Compiles regions of elementwise operations, reductions, views and updates of arrays on the CPU."""

    array_kind = "numpy"

    def __init__(self, name: str, *, version: Any = None, everything: bool = False, fast: bool = False) -> None:
        super().__init__(name, version=version)
        #: regions are compiled that others run as well: for tests
        self.everything = everything
        #: floating-point arithmetic is relaxed
        self.fast = fast

    def with_fastmath(self) -> LLVMExecutor:
        if self.fast:
            return self
        return _fast(self)

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        return is_available() and takes(bsym)

    def fuse(self, region: Region, name: str) -> Fused | None:
        try:
            graph = lower(region.bound_symbols, region.inputs, region.outputs, region.stores)
        except Refused:
            return None
        if not self.everything and not _pays(graph, region.whole):
            return None
        inputs = {node: j for j, node in enumerate(graph.inputs)}
        updates = {k: inputs[m] for k, m in enumerate(memory_of_outputs(graph)) if m in inputs}
        compiled = FusedRegion(name, region, graph, updates, self.fast)
        return Fused(compiled.launcher.function, updates, compiled.describe)

    def check_arrays(self, kinds: Sequence[tuple[Any, tuple[int, ...], tuple[int, ...]]]) -> Callable[..., Any] | None:
        try:
            found = launcher.make_launcher("fits", lambda *args: None)
            compiled = _nothing()
        except Unavailable:
            return None
        inputs = [launcher.Input("array", shape, strides, dtype) for dtype, shape, strides in kinds]
        spec = launcher.Spec(inputs=inputs, outputs=[launcher.Output("input", index=0)], single=True)
        found.install(spec, compiled.address("fits"), owner=compiled)
        return found.function


@functools.cache
def _fast(executor: LLVMExecutor) -> LLVMExecutor:
    return LLVMExecutor(executor.name, version=executor.version, everything=executor.everything, fast=True)


def is_available() -> bool:
    """Whether native code can be made and called here."""
    try:
        engine.target()
    except Unavailable:
        return False
    return True


def _pays(graph: Graph, whole: bool) -> bool:
    """Whether a region is more than one operation on few elements, and more than moving elements about: what gathers and
    scatters do is not that.

    One that is the ``whole`` program is called with less ado than NumPy is from Python.
    """
    used = needed_for(graph.outputs)
    by_index = {n for n in used if isinstance(n, View | Update) and n.lookups}
    plain = ("input", "number", "view", "full", "empty", "copy", "iota")
    work = [n for n in used if n in by_index or n.op not in plain]
    if all(isinstance(n, Update) and n not in by_index for n in work):
        return False
    return whole or len(work) > 1 or max(max(n.size, *(s.size for s in n.sources)) for n in work) >= SINGLE_ELEMENTS


class FusedRegion:
    """A region, and the kernels that it has been compiled to."""

    def __init__(self, name: str, region: Region, graph: Graph, updates: Mapping[int, int], fast: bool) -> None:
        self.name = name
        self.fast = fast
        self.region = region
        self.graph = graph
        self.updates = updates
        self.kernels: dict[Any, Kernel] = {}
        self.schedules: dict[Any, Schedule] = {}
        #: why there is no kernel for some strides
        self.refusals: dict[Any, str] = {}
        self._specs: dict[Any, tuple[launcher.Spec, engine.Compiled, bool]] = {}
        self._lock = threading.RLock()
        self._current: Any = None
        self._alone: Callable[..., Any] | None = None
        try:
            self.launcher: Any = launcher.make_launcher(name, self._slow)
        except Unavailable:
            self.launcher = launcher.make_ctypes_launcher(name, self._slow)

    def describe(self) -> list[str]:
        """The loops of each kernel, and what they store."""
        lines = []
        for key, plan in self.schedules.items():
            strides = ", ".join(str(s) if kind == "array" else kind for kind, s in key)
            lines.append(f"kernel for strides {strides} ({self.kernels[key].cost:.3g} additions)")
            lines += [f"  {line}" for line in plan.describe()]
        lines += [f"operations run one by one: {reason}" for reason in dict.fromkeys(self.refusals.values())]
        return lines

    def _slow(self, *args: Any) -> Any:
        """What a call comes to whose arguments do not fit the kernel that is installed."""
        key = tuple(_key(node, a) for node, a in zip(self.graph.inputs, args))
        with self._lock:
            unfit = None in key or key == self._current
            if not unfit:
                unfit = not self._install(key)
        if unfit:
            return self._run_singly(*args)
        return self.launcher.function(*args)

    def _install(self, key: Any) -> bool:
        """Makes the kernel for these strides the one that is called, compiling it if it is new."""
        if key not in self._specs:
            if len(self._specs) >= SPECIALISATIONS:
                return False
            try:
                self._specs[key] = self._compile(key)
            except Unavailable as reason:
                self.refusals[key] = str(reason)
                return False
        spec, compiled, release = self._specs[key]
        self._current = key
        self.launcher.install(spec, compiled.address(self.name), release, owner=compiled)
        return True

    def _compile(self, key: Any) -> tuple[launcher.Spec, engine.Compiled, bool]:
        threads.ensure_runtime()
        strides = strides_of_nodes(self.graph, [k[1] for k in key])
        fresh = [(k, n) for k, n in enumerate(self.graph.outputs) if k not in self.updates]
        for _, node in fresh:  # a view that leaves the region is a copy
            strides[node] = strides_of_new(node.shape, strides[node], node.dtype.itemsize)
        plan = schedule(self.graph, strides)
        kernel = emit_kernel(self.name, self.graph, plan, strides, _function_attributes(), fast=self.fast)
        self.kernels[key] = kernel
        self.schedules[key] = plan
        written = set(self.updates.values())
        inputs = [_input(n, k, j in written, self.graph) for j, (n, k) in enumerate(zip(self.graph.inputs, key))]
        outputs = [_output(n, self.region.outputs[k], strides[n]) for k, n in fresh]
        spec = launcher.Spec(inputs=inputs, outputs=outputs, single=len(outputs) == 1)
        return spec, engine.compile_ir(kernel.ir, self.name), kernel.cost > RELEASE_COST

    def _run_singly(self, *args: Any) -> Any:
        if self._alone is None:
            assert self.region.run_singly is not None
            self._alone = self.region.run_singly(self.updates)
        with np.errstate(
            all="ignore"
        ):  # native code gives no warnings either; and some elements are computed for nothing
            return self._alone(*args)


@functools.cache
def _nothing() -> engine.Compiled:
    """A kernel that does nothing: a launcher of it only looks at its arguments."""
    return engine.compile_ir("define i64 @fits(ptr %slots) {\n  ret i64 0\n}\n", "fits")


def _key(node: Node, x: Any) -> Any:
    """What a kernel is compiled for of an argument: its kind and strides; ``None`` if none takes it."""
    if node.op == "number":
        return (node.params["python_type"].__name__, None) if type(x) is node.params["python_type"] else None
    if type(x) is np.ndarray:
        return ("array", x.strides) if x.flags.aligned and x.shape == node.shape else None
    return ("scalar", ()) if isinstance(x, np.generic) and not node.shape else None


def _input(node: Node, key: Any, is_written: bool, graph: Graph) -> launcher.Input:
    kind, strides = key
    if kind == "int":
        low, high = _limits(node, graph)
        return launcher.Input(kind, low=low, high=high)
    if kind not in ("array", "scalar"):
        return launcher.Input(kind)
    return launcher.Input(kind, node.shape, strides, _numpy_dtype(node.dtype), is_written)


def _limits(number: Node, graph: Graph) -> tuple[int, int]:
    """From where to where a Python integer fits the dtypes of the arrays that it meets; NumPy raises for others (``u8 + 300``)."""
    low, high = launcher.INT64.min, launcher.INT64.max
    for node in graph.nodes:
        arrays = [a for a in node.sources if a.op != "number"]
        if number in node.sources and arrays and arrays[-1].dtype.kind in "iu":
            limits = np.iinfo(_numpy_dtype(arrays[-1].dtype))
            low, high = max(low, limits.min), min(high, limits.max)
    return int(low), int(high)


def _output(node: Node, proxy: TensorProxy, strides: Strides) -> launcher.Output:
    kind = "scalar" if proxy.scalar else "array"
    return launcher.Output(kind, node.shape, _numpy_dtype(node.dtype), strides=strides)


def _numpy_dtype(dtype: DType) -> Any:
    return np.dtype(dtype.name)


def _function_attributes() -> str:
    bits = engine.target().vector_bits
    return f'"prefer-vector-width"="{bits}"' if bits > 128 else ""


executor = LLVMExecutor("llvm", version="0.1")
register_executor(executor)
register_executor(LLVMExecutor("llvm_everything", version="0.1", everything=True))
