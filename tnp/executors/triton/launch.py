"""Regions as callables: kernels compiled for the strides of a call's arrays, and launched.

Under ``TRITON_INTERPRET=1`` kernels run on the CPU, one program after the other, for tests without a GPU.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from tnp.core.proxies import NumberProxy
from tnp.executors.base import Region
from tnp.executors.shared.diagnostics import report_failure, written
from tnp.executors.shared.unfused_fallback import UnfusedFallback
from tnp.executors.triton import tuning
from tnp.executors.triton.emit import Launch, generate, module
from tnp.executors.triton.graph import Graph, Node
from tnp.executors.triton.schedule import schedule
from tnp.runtime import locks

__all__ = ["CupyRegion", "FusedRegion", "has_device", "interprets", "load_source"]

#: kinds of strides for which a region is compiled
SPECIALISATIONS = 8
#: kernels of a process that are kept compiled
KERNELS = 4096


#: errors of memory (``MemoryError`` is CuPy's) and of the device, which say nothing about kernels
_NOT_THE_KERNELS = (
    MemoryError,
    torch.cuda.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.cuda.OutOfMemoryError),
)


def _too_much() -> type[Exception]:
    """Triton's error for a kernel that wants more of the device than there is."""
    from triton.runtime.errors import OutOfResources

    found: type[Exception] = OutOfResources
    return found


@functools.cache
def interprets() -> bool:
    """Whether Triton runs its kernels on the CPU here. It is asked once, when Triton is imported."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def has_device() -> bool:
    """Whether torch sees a CUDA device."""
    return torch.cuda.is_available()


@functools.lru_cache(KERNELS)
def load_source(source: str) -> dict[str, Any]:
    """The functions of a module of generated source, which Triton compiles once. Tracebacks, and Triton itself, find its lines."""
    name = f"<tnp triton {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "tnp_triton_kernels"}
    exec(compile(source, name, "exec"), scope)
    return scope


class FusedRegion:
    """A region as a callable from its inputs to the tuple of its outputs, tensors all of them."""

    def __init__(self, name: str, region: Region, graph: Graph) -> None:
        self.name = name
        self.region = region
        self.graph = graph
        self.kernels = schedule(graph)
        self.sources: dict[Any, str] = {}
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._lock = locks.lock()
        self._run_unfused = UnfusedFallback(region, _device)
        self._has_failed = False
        #: whether a call waits for the device, to look at what its kernels found
        self.reads_host = graph.looks_up
        self._limits = [_limits(n, graph) for n in graph.inputs]

    def __call__(self, *args: Any) -> Any:
        if not all(map(self._fits, self.region.inputs, args, self._limits)):
            return self._unfused(args)
        key = self._layout(args)
        program = self._programs.get(key)
        if program is None:
            program = self._add_program(key, args)
        try:
            result = program(*args)
        except _NOT_THE_KERNELS:
            raise
        except Exception as error:  # Triton compiles at the first launch, and each of its stages has errors of its own
            if str(error).startswith("Triton Error [CUDA]") and not isinstance(error, _too_much()):
                raise  # of the device, which others would not find in better health
            self._warn(key, error)
            return self._unfused(args)
        return self._unfused(args) if result is None else result

    def describe(self) -> list[str]:
        """In lines of text, the kernels that there are."""
        return [line for source in self.sources.values() for line in source.splitlines()]

    def _fits(self, p: Any, x: Any, limits: tuple[int, int] | None) -> bool:
        """Whether an argument is what the kernels were made for."""
        if isinstance(p, NumberProxy):
            return type(x) is p.python_type and (limits is None or limits[0] <= x <= limits[1])
        return self._is_array(x) and tuple(x.shape) == p.shape

    def _is_array(self, x: Any) -> bool:
        return isinstance(x, torch.Tensor) and not (x.is_conj() or x.is_neg())

    def _layout(self, args: Sequence[Any]) -> Any:
        """What programs are told apart by."""
        return tuple([a.stride() for a in args if isinstance(a, torch.Tensor)])

    def _strides(self, args: Sequence[Any]) -> list[tuple[int, ...]]:
        """The strides of the arrays, in elements."""
        return [a.stride() for a in args if isinstance(a, torch.Tensor)]

    def _unfused(self, args: Sequence[Any]) -> Any:
        return self._run_unfused(*args)

    def _program(self, launches: Sequence[Launch], kernels: Sequence[Any]) -> Callable[..., Any]:
        return (_Interpreted if interprets() else _Program)(self.graph, launches, kernels)

    def _add_program(self, key: Any, args: Sequence[Any]) -> Callable[..., Any]:
        with self._lock:
            if len(self._programs) >= SPECIALISATIONS:
                return lambda *args: self._unfused(args)
            if key not in self._programs:
                strides = self._strides(args)
                launches = generate(self.graph, self.kernels, strides)
                self.sources[key] = module(launches, interprets())
                kernels = [load_source(module([launch], interprets()))[launch.name] for launch in launches]
                self._programs[key] = self._program(launches, kernels)
            return self._programs[key]

    def _warn(self, key: Any, error: Exception) -> None:
        """Says once that the region runs without its kernels, and where their source is."""
        self._programs[key] = lambda *args: self._unfused(args)
        if not self._has_failed:
            self._has_failed = True
            report_failure(self.name, "Triton", written(self.sources[key], "triton", ".py"), error)


class CupyRegion(FusedRegion):
    """A region that takes and gives CuPy arrays. Its kernels run on CuPy's current stream."""

    def __call__(self, *args: Any) -> Any:
        with _on_cupys_stream():
            return super().__call__(*map(_forwards, args))

    def _is_array(self, x: Any) -> bool:
        import cupy

        return isinstance(x, cupy.ndarray)

    def _layout(self, args: Sequence[Any]) -> Any:
        return tuple([a.strides for a in args if hasattr(a, "strides")])

    def _strides(self, args: Sequence[Any]) -> list[tuple[int, ...]]:
        return [tuple(s // a.itemsize for s in a.strides) for a in args if hasattr(a, "strides")]

    def _unfused(self, args: Sequence[Any]) -> Any:
        import cupy

        return tuple(cupy.from_dlpack(t) for t in self._run_unfused(*map(_tensor, args)))

    def _program(self, launches: Sequence[Launch], kernels: Sequence[Any]) -> Callable[..., Any]:
        if not interprets():
            return _CupyProgram(self.graph, launches, kernels)
        run = super()._program(launches, kernels)

        def of_tensors(*args: Any) -> Any:
            import cupy

            found = run(*map(_tensor, args))
            return found and tuple(map(cupy.from_dlpack, found))

        return of_tensors


def _forwards(a: Any) -> Any:
    """A CuPy array that lies backwards in memory, as no tensor does, as a copy."""
    strides = getattr(a, "strides", ())
    if not strides or min(strides) >= 0:
        return a
    import cupy

    return cupy.ascontiguousarray(a)


def _tensor(a: Any) -> Any:
    """A CuPy array as a tensor on the same memory."""
    return torch.from_dlpack(a) if hasattr(a, "strides") else a


def _on_cupys_stream() -> Any:
    """A context that makes CuPy's current stream torch's current stream."""
    if interprets():
        return nullcontext()
    import cupy
    from triton.runtime import driver

    stream = cupy.cuda.get_current_stream().ptr
    # torch's own question makes an object of the answer, which takes longer than the launch of a kernel.
    if stream == driver.active.get_current_stream(cupy.cuda.runtime.getDevice()):
        return nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def _limits(node: Node, graph: Graph) -> tuple[int, int] | None:
    """From where to where an integer fits the arrays that it meets: eager raises for others."""
    if node.op != "number" or node.dtype.kind != "i":
        return None
    low, high = -(2**63), 2**63 - 1
    for user in graph.nodes:
        if node in user.sources:
            dtype = user.dtype if user.op == "convert_element_type" else user.arrays[-1].dtype
            if dtype.kind in "iu":
                width = dtype.bits - (dtype.kind == "i")
                low, high = max(low, 0 if dtype.kind == "u" else -(2**width)), min(high, 2**width - 1)
    return low, high


def _bits(x: Any) -> int:
    """A number as a 64-bit integer: Triton would take a float as float32."""
    return struct.unpack("q", struct.pack("d", x))[0] if isinstance(x, float) else int(x)


class _Program:
    """The kernels of a region for arrays of some strides: a call makes memory and launches them.

    It returns ``None`` if an index was out of bounds. Triton finds out at each launch what a compiled kernel depends on,
    which takes longer than many a kernel. Here that is the alignment of memory and the width of integers, and a kernel
    that is known for them is launched as it is.
    """

    def __init__(self, graph: Graph, launches: Sequence[Launch], kernels: Sequence[Any]) -> None:
        self.graph = graph
        self.steps = list(zip(launches, kernels))
        self.inputs = list(enumerate(graph.inputs))
        made = list(dict.fromkeys(n for launch in launches for n in launch.stores))
        self.made = [(n, n.shape, self._kind(n)) for n in made]
        self.has_flag = any(launch.has_flag for launch in launches)
        self._tuned: dict[int, Launch] = {}
        self._known: dict[Any, Callable[..., Any]] = {}

    # What differs between libraries of arrays

    def _kind(self, node: Node) -> Any:
        """The dtype that an array of a node has."""
        return getattr(torch, "bool" if node.dtype.kind == "b" else node.dtype.name)

    def _device_of(self, args: Sequence[Any]) -> torch.device:
        return next((a.device for a in args if isinstance(a, torch.Tensor)), None) or _device()

    def _empty(self, shape: Any, kind: Any, device: torch.device) -> Any:
        return torch.empty(shape, dtype=kind, device=device)

    def _address(self, x: Any) -> int:
        found: int = x.data_ptr()
        return found

    def _tensor(self, x: Any) -> Any:
        return x

    def _on(self, device: torch.device) -> Any:
        """A context that makes a device the current one: Triton launches there, wherever the arguments are."""
        if device.type != "cuda" or device.index in (None, torch.cuda.current_device()):
            return nullcontext()
        return torch.cuda.device(device)

    # A call

    def __call__(self, *args: Any) -> Any:
        device = self._device_of(args)
        with self._on(device):
            memory: dict[Node, Any] = {n: args[j] for j, n in self.inputs}
            for n, shape, kind in self.made:
                memory[n] = self._empty(shape, kind, device)
            flag = torch.zeros(1, dtype=torch.int32, device=device) if self.has_flag else None
            # From torch's generator of the device, by a kernel of torch's, so that a graph of kernels draws anew at each replay.
            draws = self.graph.draws
            seeds = torch.randint(-(2**63), 2**63 - 1, (draws,), device=device) if draws else None
            for i, (launch, kernel) in enumerate(self.steps):
                own = [x for x, wanted in ((flag, launch.has_flag), (seeds, launch.has_seeds)) if wanted]
                self._launch(i, launch, kernel, memory, own, device)
            if flag is not None and flag.item():
                return None
        return tuple([memory[n] for n in self.graph.outputs])

    def _launch(
        self, i: int, launch: Launch, kernel: Any, memory: Mapping[Node, Any], own: Sequence[Any], device: torch.device
    ) -> None:
        numbers = [_bits(memory[n]) for n in launch.numbers]
        loads, stores = ([self._address(memory[n]) for n in side] for side in (launch.loads, launch.stores))
        key = (
            i,
            device,
            *[a % 16 == 0 for a in loads],
            *[a % 16 == 0 for a in stores],
            *[-(2**31) <= x < 2**31 for x in numbers],
        )
        known = self._known.get(key)
        if known is None:
            self._known[key] = self._compiled(i, launch, kernel, memory, numbers, own, device)
        else:
            known(*loads, *numbers, *stores, *own, *self._tuned[i].constants.values())

    def _compiled(
        self, i: int, launch: Launch, kernel: Any, memory: Mapping[Node, Any], numbers: Sequence[int], own: Sequence[Any],
        device: torch.device,
    ) -> Callable[..., Any]:  # fmt: skip
        """Launches a kernel as Triton does, which compiles it; returns what launches it for others of the kind."""
        loads, stores = ([self._tensor(memory[n]) for n in side] for side in (launch.loads, launch.stores))

        def start(chosen: Launch) -> Any:
            constants = {**chosen.constants, "num_warps": chosen.num_warps, "enable_fp_fusion": False}
            return kernel[chosen.grid](*loads, *numbers, *stores, *own, **constants)

        if i not in self._tuned:
            self._tuned[i] = tuning.best(launch, start, device)
        made = start(self._tuned[i])
        found: Callable[..., Any] = made[(*self._tuned[i].grid, 1, 1)]
        return found


class _CupyProgram(_Program):
    """A program of CuPy's arrays."""

    def _kind(self, node: Node) -> Any:
        return np.dtype("bool" if node.dtype.kind == "b" else node.dtype.name)

    def _device_of(self, args: Sequence[Any]) -> torch.device:
        """CuPy's current device, where its arrays are."""
        import cupy

        return torch.device("cuda", cupy.cuda.runtime.getDevice())

    def _on(self, device: torch.device) -> Any:
        return nullcontext()

    def _empty(self, shape: Any, kind: Any, device: torch.device) -> Any:
        import cupy

        return cupy.empty(shape, kind)

    def _address(self, x: Any) -> int:
        found: int = x.data.ptr
        return found

    def _tensor(self, x: Any) -> Any:
        return torch.from_dlpack(x)


class _Interpreted(_Program):
    """A program that Triton's interpreter runs on the CPU, with NumPy."""

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return super().__call__(*map(_apart, args))

    def _launch(
        self, i: int, launch: Launch, kernel: Any, memory: Mapping[Node, Any], own: Sequence[Any], device: torch.device
    ) -> None:
        loads, stores = [memory[n] for n in launch.loads], [memory[n] for n in launch.stores]
        numbers = [_bits(memory[n]) for n in launch.numbers]
        kernel[launch.grid](*loads, *numbers, *stores, *own, **launch.constants, num_warps=launch.num_warps)


def _apart(x: Any) -> Any:
    """An argument in memory of its own: the interpreter writes all memory back, and does not expect to meet any twice."""
    if not isinstance(x, torch.Tensor):
        return x
    made = torch.empty(0, dtype=x.dtype)
    return made.set_(x.untyped_storage().clone(), x.storage_offset(), x.size(), x.stride())


def _device() -> torch.device:
    return torch.device("cpu" if interprets() else "cuda")
