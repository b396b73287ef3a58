"""CUDA graphs: finished programs of CUDA tensors, captured once and replayed, so that a call costs one launch.

``tnp.jit(f, cudagraphs=True)`` wraps each program in a :class:`Captured` (for a differentiated program, the forward and the backward program). Its first call for a set of numbers and devices runs the program without a graph, which compiles kernels and fills caches. The second call captures; later calls replay:

- An input whose memory has not moved since the previous call, such as a parameter, is read and written in place; a call
  with other memory captures again. Other inputs have a buffer: each call copies into it, and copies back what the
  program wrote.
- Results are copies, because the next replay overwrites the memory of the graph.
- The graphs of one stream share a pool of memory. Their results are kept alive, so no graph overwrites another's.
- Random numbers come from torch's generator of the device, whose state torch registers with the graph: a replay draws
  the same numbers as a call.

A program that needs the host while it runs cannot be captured, and runs without a graph: see :func:`why_not`.
:meth:`Captured.describe` reports it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from tnp.core import prims
from tnp.core.devices import DeviceType, cpu
from tnp.core.proxies import NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Trace
from tnp.runtime import locks

__all__ = ["Captured", "why_not"]

#: graphs of a program; calls for more sets of numbers run as they are
MOST_GRAPHS = 8
#: kinds of devices whose work can be captured
DEVICES = frozenset((DeviceType.CUDA,))
#: operations that read a device's memory on the host, or make as many elements as they find
_READING = frozenset(("item", "nonzero", "searchsorted"))

#: the pool of the graphs that run on a stream, by (device, stream)
_pools: dict[Hashable, Any] = {}


def _torch_cuda() -> Any:
    """What captures: ``torch.cuda``."""
    return torch.cuda


def why_not(trace: Trace) -> str | None:
    """Why a finished program cannot be captured, as the end of a sentence; ``None`` if nothing is known that is in the way."""
    arrays = [p for b in trace.bound_symbols for p in b.flat_outputs if isinstance(p, TensorProxy)]
    if not arrays:
        return "it computes with no arrays"
    if any(isinstance(p, ObjectProxy) for p in trace.args):
        return "it is given an object that is no tensor"
    found = dict.fromkeys(p.device for p in arrays)
    others = [d for d in found if d.devicetype not in DEVICES]
    if others:
        return f"it computes on {'the host' if others[0] is cpu else others[0]}"
    if len(found) > 1:
        return f"it computes on several devices, {' and '.join(map(str, found))}"
    for b in trace.body:
        reason = _reason(b)
        if reason is not None:
            return reason
    return None


def _reason(b: BoundSymbol) -> str | None:
    name = b.sym.name
    if is_control_flow(b):
        return "it has a loop or a branch that Python runs"
    if name in _READING or (b.sym is not prims.python_return and any(_is_made(p) for p in b.flat_outputs)):
        return f"{name} reads a value on the host"
    function = getattr(b.sym, "fn", None)
    if getattr(function, "reads_host", False):
        return f"{name} looks on the host whether indices are in bounds"
    is_opaque = isinstance(b.sym.id, str) and "torch_opaque." in b.sym.id
    if is_opaque and OpTags.RANDOM not in b.sym.tags:
        return f"{name} is an opaque call"
    on_tensors = b.operation is prims.copy_ or OpTags.NOTES_WRITE in b.sym.tags or OpTags.RANDOM in b.sym.tags
    if OpTags.EFFECT in b.sym.tags and not on_tensors:
        return f"{name} acts on more than tensors"
    return None


def _is_made(p: Proxy) -> bool:
    """Whether a number is computed; those are known to Python, for the numbers that were given, only if no tensor is read."""
    return isinstance(p, NumberProxy) and p.value is None


class Captured:
    """A finished program that is replayed where it can be.

    ``numbers`` among its arguments, and whatever else is no tensor, are part of what a graph is for.
    """

    def __init__(self, trace: Trace) -> None:
        self.function = trace.python_callable()
        self.reason = why_not(trace)
        self._lock = locks.lock()
        self._runs = False
        self._graphs: dict[Hashable, _Graph] = {}
        if self.reason is not None:
            return
        names = [p.name for p in trace.args]
        #: which inputs the program writes to
        self.written = [
            names.index(b.args[0].name)
            for b in trace.body
            if OpTags.NOTES_WRITE in b.sym.tags and b.args[0].name in names
        ]
        self.results = list({p.name: p for p in flat_proxies(trace.output)}.values())
        #: the program with its results side by side, and what makes of them what it returns
        self.flat = _returning(trace, tuple(self.results))
        self.finish = _finishing(trace, self.results)
        #: results that are inputs, by number
        self.passed = {i: names.index(p.name) for i, p in enumerate(self.results) if p.name in names}

    def __call__(self, *inputs: Any) -> Any:
        if self.reason is not None or self._runs or not self._lock.acquire(blocking=False):
            return self.function(*inputs)
        try:
            self._runs = True
            cuda = _torch_cuda()
            if cuda.is_current_stream_capturing():  # somebody else's graph is to have it
                return self.function(*inputs)
            device = next((x.device for x in inputs if isinstance(x, torch.Tensor)), None)
            stream = cuda.current_stream(device)
            numbers = (repr(x) for x in inputs if not isinstance(x, torch.Tensor))  # 0.0 is not -0.0
            key = (device, stream.cuda_stream, *numbers)
            graph = self._graphs.get(key)
            if graph is None:
                if len(self._graphs) >= MOST_GRAPHS:
                    return self.function(*inputs)
                graph = self._graphs[key] = _Graph(self, cuda, device, stream)
            return graph(inputs)
        finally:
            self._runs = False
            self._lock.release()

    def describe(self) -> list[str]:
        """In lines of text, what is captured, or why nothing is."""
        if self.reason is not None:
            return [f"runs without a CUDA graph: {self.reason}"]
        lines = []
        for graph in self._graphs.values():
            if graph.graph is None:
                lines.append("CUDA graph: to be captured by the next call")
            else:
                copied = sum(b is not None for b in graph.buffers)
                lines.append(
                    f"CUDA graph: replayed {graph.replays} times; of {len(graph.buffers)} inputs each call copies {copied}"
                )
        return lines or ["CUDA graph: to be captured by the second call"]


class _Graph:
    """One graph: a program captured for a device, a stream and values of numbers."""

    def __init__(self, owner: Captured, cuda: Any, device: Any, stream: Any) -> None:
        self.owner = weakref.proxy(owner)
        self.cuda = cuda
        self.device = device
        self.stream = stream
        self.graph: Any = None
        self.replays = 0
        #: of each input where its memory was at the last call; ``None`` for what is no tensor
        self.addresses: list[int | None] = []
        #: which inputs are copied, as they have been in several places
        self.moving: set[int] = set()
        #: of inputs that are copied, the memory that the graph reads
        self.buffers: list[torch.Tensor | None] = []
        #: of results that are views of arguments: of which, their shapes and strides, and how far from its start
        self.views: dict[int, tuple[int, Any, Any, int]] = {}
        #: the results of a replay, in the graph's memory
        self.outputs: tuple[Any, ...] = ()

    def __call__(self, inputs: tuple[Any, ...]) -> Any:
        owner = self.owner
        addresses = [x.data_ptr() if isinstance(x, torch.Tensor) else None for x in inputs]
        if not self.addresses:
            self.addresses = addresses
            return self._run_first(inputs)
        moved = {i for i, (a, b) in enumerate(zip(addresses, self.addresses)) if a != b} - self.moving
        if moved:
            self.moving |= moved
            self.graph = None
        for i in self.moving:
            self.addresses[i] = addresses[i]
        if self.graph is None:
            reason = self._capture(inputs)
            if reason is not None:
                owner.reason = reason
                return owner.function(*inputs)
        for buffer, x in zip(self.buffers, inputs):
            if buffer is not None:
                buffer.copy_(x.detach())
        self.graph.replay()
        self.replays += 1
        for i in owner.written:
            buffer = self.buffers[i]
            if buffer is not None:
                with torch.no_grad():
                    inputs[i].copy_(buffer)
            else:
                torch.autograd.graph.increment_version(inputs[i])
        results = _copied([None if i in owner.passed or i in self.views else x for i, x in enumerate(self.outputs)])
        return owner.finish(*(self._result(i, x, inputs) for i, x in enumerate(results)))

    def _run_first(self, inputs: tuple[Any, ...]) -> Any:
        """A call of the program as it is. What it shows of its results decides whether there will be a graph."""
        owner = self.owner
        results = owner.flat(*inputs)
        memory: dict[int, list[int]] = {}
        for j, x in enumerate(inputs):
            if isinstance(x, torch.Tensor):
                memory.setdefault(x.untyped_storage()._cdata, []).append(j)
        for i, x in enumerate(results):
            of = (
                memory.get(x.untyped_storage()._cdata)
                if isinstance(x, torch.Tensor) and i not in owner.passed
                else None
            )
            if of is None:
                continue
            base = inputs[of[0]]
            if len(of) > 1 or base.dtype is not x.dtype:
                owner.reason = "it returns a view of memory that several arguments, or other dtypes, are views of"
            self.views[i] = of[0], x.size(), x.stride(), x.storage_offset() - base.storage_offset()
        return owner.finish(*results)

    def _result(self, i: int, x: Any, inputs: tuple[Any, ...]) -> Any:
        """A result of a replay, of which ``x`` is a copy: the argument, or a view of it, where the program returns that."""
        if i in self.owner.passed:
            return inputs[self.owner.passed[i]]
        if i in self.views:
            j, size, stride, offset = self.views[i]
            return inputs[j].as_strided(size, stride, inputs[j].storage_offset() + offset)
        return x

    def _capture(self, inputs: tuple[Any, ...]) -> str | None:
        """Captures the program; the graph is then to be replayed. Returns why it cannot be."""
        cuda, owner = self.cuda, self.owner
        for i in self.moving:
            if any(s == 0 and n > 1 for n, s in zip(inputs[i].shape, inputs[i].stride())):
                return "an argument in changing places repeats its elements"
        self.outputs = ()
        self.buffers = [
            torch.empty_strided(x.size(), x.stride(), dtype=x.dtype, device=x.device) if i in self.moving else None
            for i, x in enumerate(inputs)
        ]
        given = [x if b is None else b for x, b in zip(inputs, self.buffers)]
        place = (self.device, self.stream.cuda_stream)
        if place not in _pools:
            _pools[place] = cuda.graph_pool_handle()
        graph = cuda.CUDAGraph()
        try:
            # A capture that fails at its end leaves its own stream current; the outer context restores the caller's.
            with cuda.stream(self.stream), cuda.graph(graph, pool=_pools[place], capture_error_mode="thread_local"):
                outputs = owner.flat(*given)
        # CUDA refuses an operation, memory runs out, or a warning is an error: the call below raises what is the program's.
        except Exception as error:
            self.buffers = []
            return f"capturing it failed with {(str(error).splitlines() or [type(error).__name__])[0]}"
        self.graph, self.outputs = graph, tuple(outputs)
        return None


def _copied(results: Sequence[Any]) -> list[Any]:
    """Copies of tensors, laid out as they are; what shares memory shares it again."""
    users: dict[int, int] = {}
    for x in results:
        if isinstance(x, torch.Tensor):
            users[x.untyped_storage()._cdata] = users.get(x.untyped_storage()._cdata, 0) + 1
    memory: dict[int, Any] = {}

    def copy(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        storage = x.untyped_storage()
        if users[storage._cdata] == 1 and torch.ops.aten.is_non_overlapping_and_dense(x):
            return x.clone()
        if storage._cdata not in memory:
            memory[storage._cdata] = storage.clone()
        return torch.empty(0, dtype=x.dtype, device=x.device).set_(
            memory[storage._cdata], x.storage_offset(), x.size(), x.stride()
        )

    return [copy(x) for x in results]


def _returning(trace: Trace, output: Any) -> Callable[..., Any]:
    """The finished program with another result."""
    *before, _ = trace.bound_symbols
    made = Trace.like(trace, [*before, prims.python_return.bind(output, output=None)])
    made.output = output
    return made.python_callable()


def _finishing(trace: Trace, results: Sequence[Proxy]) -> Callable[..., Any]:
    """A function of the values of ``results`` to what the program returns."""
    made = Trace(trace.name)
    made.args = list(results)
    made.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in results]
    made.bound_symbols.append(prims.python_return.bind(trace.output, output=None))
    made.output = trace.output
    return made.python_callable()
