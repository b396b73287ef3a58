"""Regions as callables: kernels compiled for the strides of a call's arrays, and launched.

Under ``TRITON_INTERPRET=1`` kernels run on the CPU, one program after the other, for tests without a GPU.
"""

from __future__ import annotations

import hashlib
import linecache
import struct
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from tnp.core.proxies import NumberProxy
from tnp.executors.base import Region
from tnp.executors.shared.diagnostics import report_failure, written
from tnp.executors.shared.unfused_fallback import UnfusedFallback
from tnp.executors.triton import tuning
from tnp.executors.triton.emit import Launch, generate
from tnp.executors.triton.graph import Graph, Node
from tnp.executors.triton.schedule import schedule
from tnp.runtime import locks

__all__ = ["CupyRegion", "FusedRegion", "has_device", "interprets", "load_source"]

#: kinds of strides for which a region is compiled
SPECIALISATIONS = 8


#: errors of memory and of the device, which say nothing about kernels
_NOT_THE_KERNELS = (torch.cuda.OutOfMemoryError, getattr(torch, "AcceleratorError", torch.cuda.OutOfMemoryError))


def _too_much() -> type[Exception]:
    """Triton's error for a kernel that wants more of the device than there is."""
    from triton.runtime.errors import OutOfResources

    found: type[Exception] = OutOfResources
    return found


def interprets() -> bool:
    """Whether Triton runs its kernels on the CPU here. It is asked once, when Triton is imported."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def has_device() -> bool:
    """Whether torch sees a CUDA device."""
    return torch.cuda.is_available()


def load_source(source: str) -> dict[str, Any]:
    """The functions of a module of generated source. Tracebacks, and Triton itself, find its lines."""
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
        if not all(map(_fits, self.region.inputs, args, self._limits)):
            return self._run_unfused(*args)
        key = tuple(a.stride() for a in args if isinstance(a, torch.Tensor))
        program = self._programs.get(key)
        if program is None:
            program = self._add_program(key)
        try:
            result = program(*args)
        except _NOT_THE_KERNELS:
            raise
        except Exception as error:  # Triton compiles at the first launch, and each of its stages has errors of its own
            if str(error).startswith("Triton Error [CUDA]") and not isinstance(error, _too_much()):
                raise  # of the device, which others would not find in better health
            self._warn(key, error)
            return self._run_unfused(*args)
        return self._run_unfused(*args) if result is None else result

    def describe(self) -> list[str]:
        """In lines of text, the kernels that there are."""
        return [line for source in self.sources.values() for line in source.splitlines()]

    def _add_program(self, key: Any) -> Callable[..., Any]:
        with self._lock:
            if len(self._programs) >= SPECIALISATIONS:
                return self._run_unfused
            if key not in self._programs:
                source, launches = generate(self.name, self.graph, self.kernels, key, interpreted=interprets())
                self.sources[key] = source
                scope = load_source(source)
                self._programs[key] = _program(self.graph, launches, [scope[launch.name] for launch in launches])
            return self._programs[key]

    def _warn(self, key: Any, error: Exception) -> None:
        """Says once that the region runs without its kernels, and where their source is."""
        self._programs[key] = self._run_unfused
        if not self._has_failed:
            self._has_failed = True
            report_failure(self.name, "Triton", written(self.sources[key], "triton", ".py"), error)


class CupyRegion(FusedRegion):
    """A region that takes and gives CuPy arrays: the tensors of DLPack look at the same memory.

    Kernels run on CuPy's current stream, which torch is told of. DLPack makes the stream that takes an array wait for what the other one has to do.
    """

    def __call__(self, *args: Any) -> Any:
        import cupy

        with _on_stream(cupy.cuda.get_current_stream()):
            return tuple(cupy.from_dlpack(t) for t in super().__call__(*map(_looked_at, args)))


def _looked_at(a: Any) -> Any:
    """A CuPy array as a tensor on the same memory; one that lies backwards, as no tensor does, as a copy."""
    import cupy

    if not isinstance(a, cupy.ndarray):
        return a
    return torch.from_dlpack(a if all(s >= 0 for s in a.strides) else cupy.ascontiguousarray(a))


def _on_stream(stream: Any) -> Any:
    """A context in which a stream of CuPy's is torch's current one."""
    if interprets() or stream.ptr == torch.cuda.current_stream().cuda_stream:
        return nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr))


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


def _fits(p: Any, x: Any, limits: tuple[int, int] | None) -> bool:
    """Whether an argument is what the kernels were made for."""
    if isinstance(p, NumberProxy):
        return type(x) is p.python_type and (limits is None or limits[0] <= x <= limits[1])
    return isinstance(x, torch.Tensor) and tuple(x.shape) == p.shape and not (x.is_conj() or x.is_neg())


def _bits(x: Any) -> int:
    """A number as a 64-bit integer: Triton would take a float as float32."""
    return struct.unpack("q", struct.pack("d", x))[0] if isinstance(x, float) else int(x)


def _program(graph: Graph, launches: Sequence[Launch], kernels: Sequence[Any]) -> Callable[..., Any]:
    """A function that makes memory and launches; it returns ``None`` if an index was out of bounds."""
    position = {node: j for j, node in enumerate(graph.inputs)}
    made = list(dict.fromkeys(n for launch in launches for n in launch.stores))
    kinds = {n: getattr(torch, "bool" if n.dtype.kind == "b" else n.dtype.name) for n in made}
    has_flag = any(launch.has_flag for launch in launches)
    options = {} if interprets() else {"enable_fp_fusion": False}

    tuned: dict[int, Launch] = {}

    def run(*args: Any) -> Any:
        device = next((a.device for a in args if isinstance(a, torch.Tensor)), None) or _device()
        if interprets():
            args = tuple(_apart(a) for a in args)
        memory: dict[Node, Any] = {n: args[j] for n, j in position.items()}
        for n in made:
            memory[n] = torch.empty(n.shape, dtype=kinds[n], device=device)
        flag = torch.zeros(1, dtype=torch.int32, device=device) if has_flag else None
        # From torch's generator of the device, by a kernel of torch's, so that a graph of kernels draws anew at each replay.
        seeds = torch.randint(-(2**63), 2**63 - 1, (graph.draws,), device=device) if graph.draws else None
        with _on(device), np.errstate(all="ignore"):  # the interpreter computes with NumPy
            for i, (launch, kernel) in enumerate(zip(launches, kernels)):
                parameters = [memory[n] for n in launch.loads]
                parameters += [_bits(memory[n]) for n in launch.numbers]
                parameters += [memory[n] for n in launch.stores]
                if launch.has_flag:
                    parameters.append(flag)
                if launch.has_seeds:
                    parameters.append(seeds)

                def start(chosen: Launch, kernel: Any = kernel, parameters: Sequence[Any] = tuple(parameters)) -> None:
                    kernel[chosen.grid](*parameters, **chosen.constants, num_warps=chosen.num_warps, **options)

                if i not in tuned:
                    tuned[i] = tuning.best(launch, start, device)
                start(tuned[i])
        if flag is not None and flag.item():
            return None
        return tuple(memory[n] for n in graph.outputs)

    return run


def _apart(x: Any) -> Any:
    """An argument in memory of its own: the interpreter writes all memory back, and does not expect to meet any twice."""
    if not isinstance(x, torch.Tensor):
        return x
    made = torch.empty(0, dtype=x.dtype)
    return made.set_(x.untyped_storage().clone(), x.storage_offset(), x.size(), x.stride())


def _device() -> torch.device:
    return torch.device("cpu" if interprets() else "cuda")


def _on(device: torch.device) -> Any:
    """A context in which Triton launches on that device: it takes the current one, not that of the arguments."""
    return torch.cuda.device(device) if device.type == "cuda" else torch.autograd.profiler.record_function("tnp")
