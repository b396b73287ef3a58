"""cuDNN's graphs: built once for each kind of operation and layout, executed on torch's tensors and stream.

The frontend is imported when it is first asked for. One handle a device; a graph belongs to the handle it was built
with.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from tnp.core.devices import Device, DeviceType
from tnp.executors.shared.device_errors import raise_if_device_failed
from tnp.runtime import locks

__all__ = ["Built", "build", "data_type", "device_types", "load", "supported", "torch_device", "why_not"]

#: the first frontend whose attention graphs are those used here
OLDEST = (1, 5, 2)

#: graphs that are kept
LIMIT = 1024


@functools.cache
def load() -> Any:
    """The frontend's module. Raises ``ImportError`` or ``OSError`` where it, or what it is linked with, is not there."""
    return importlib.import_module("cudnn")


@functools.cache
def why_not() -> str | None:
    """Why the frontend cannot be used, as the end of a sentence; ``None`` if it can, on a device."""
    try:
        cudnn = load()
        cudnn.backend_version()
    except (ImportError, OSError, RuntimeError) as error:
        return f"cudnn cannot be imported: {error}"
    version = tuple(map(int, re.findall(r"\d+", cudnn.__version__)[:3]))
    if version < OLDEST:
        return f"the cuDNN frontend {'.'.join(map(str, OLDEST))} or newer is needed, and this is {cudnn.__version__}"
    return None


def device_types() -> tuple[DeviceType, ...]:
    """On which devices graphs run: a build for others than CUDA names them."""
    return tuple(DeviceType(name) for name in getattr(load(), "DEVICE_TYPES", ("cuda",)))


_DATA_TYPES = {"float16": "HALF", "bfloat16": "BFLOAT16", "float32": "FLOAT"}


def data_type(dtype: Any) -> Any:
    """cuDNN's name of a dtype of tnp's or torch's."""
    return getattr(load().data_type, _DATA_TYPES[str(dtype).removeprefix("torch.")])


class Built:
    """A graph with its tensors by name. One thread executes it at a time: the handle knows one stream."""

    def __init__(self, graph: Any, tensors: Mapping[str, Any], device: torch.device) -> None:
        self.graph = graph
        self.tensors = tensors
        self.device = device

    def __call__(self, **buffers: torch.Tensor) -> None:
        """Computes on the tensors' memory; those for results among them are written."""
        cudnn = load()
        with _lock, _on(self.device):
            handle = _handle(str(self.device))
            if self.device.type == "cuda":
                cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream(self.device).cuda_stream)
            size = self.graph.get_workspace_size()
            workspace = torch.empty(size, dtype=torch.uint8, device=self.device)
            given = {self.tensors[name]: buffer for name, buffer in buffers.items()}
            try:
                self.graph.execute(given, workspace, handle=handle)
            except RuntimeError as error:
                raise_if_device_failed(error)
                raise


_lock = locks.lock()
_graphs: dict[Hashable, Built | Exception] = {}


def build(key: Hashable, device: torch.device, describe: Callable[[Any], Mapping[str, Any]], dtype: Any) -> Built:
    """The graph of that key, built by ``describe(graph)``, which returns its tensors by name, if there is none yet.

    Raises ``cudnn.cudnnGraphNotSupportedError`` if cuDNN has no kernel for it on this device, which is remembered.
    """
    with _lock:
        found = _graphs.get((key, device))
        if found is None:
            found = _graphs[key, device] = _built(device, describe, dtype)
            if len(_graphs) > LIMIT:
                del _graphs[next(iter(_graphs))]
        if isinstance(found, Exception):
            raise found
        return found


def _built(device: torch.device, describe: Callable[[Any], Mapping[str, Any]], dtype: Any) -> Built | Exception:
    cudnn = load()
    with _on(device):
        graph = cudnn.pygraph(
            io_data_type=data_type(dtype), intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT, handle=_handle(str(device)),
        )  # fmt: skip
        try:
            tensors = describe(graph)
            graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        except cudnn.cudnnGraphNotSupportedError as error:
            return error
    return Built(graph, tensors, device)


def supported(make: Callable[[], Built]) -> str | None:
    """Why cuDNN has no kernel for a graph, which is built to see that; ``None`` if it has."""
    try:
        make()
    except (load().cudnnGraphNotSupportedError, RuntimeError) as error:
        raise_if_device_failed(error)
        return str(error).splitlines()[0] if str(error) else "cuDNN does not support this graph"
    return None


@functools.cache
def _handle(device: str) -> Any:
    return load().create_handle()


def torch_device(device: Device) -> torch.device:
    """torch's name of a device of tnp's."""
    return torch.device(str(device))


def _on(device: torch.device) -> AbstractContextManager[Any]:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
