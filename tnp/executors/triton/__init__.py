"""The triton executor: regions of a program as Triton kernels, readable as the Python that they are.

A region goes through four steps, a module each: :mod:`graph` (what each array is computed from, with positions as
linear forms of :mod:`index`), :mod:`schedule` (which kernels, and what each computes), :mod:`emit` (their source, with
:mod:`scalars` for the elements), and :mod:`launch`. Only the last needs Triton.

Kernels run on CUDA devices; under ``TRITON_INTERPRET=1``, which Triton reads when it is imported, on the CPU in
Triton's interpreter, for tests.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from tnp.core.devices import DeviceType
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, device_of
from tnp.executors.base import FusionExecutor, Region
from tnp.executors.registry import register_executor
from tnp.executors.triton.graph import Graph, Refused, looks_up, lower, takes

__all__ = ["TritonExecutor", "executor", "is_available"]


class TritonExecutor(FusionExecutor):
    """Compiles regions of elementwise operations, views, lookups and reductions with Triton."""

    updates_inputs = False
    options = MappingProxyType(
        {
            "cupy": "takes arrays of the NumPy language, which were moved to the device, and no tensors",
            "everything": "regions are compiled that others run as well, for tests",
            "random": "random numbers are drawn in kernels: other ones than torch's, for the same seed",
        }
    )

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        super().__init__(name, version=version, options=options)
        self.array_kind = "cupy" if "cupy" in self.chosen_options else "torch"
        self.everything = "everything" in self.chosen_options
        self.random = "random" in self.chosen_options

    def unavailable(self) -> str | None:
        if not is_available():
            return "Triton is not installed"
        if importlib.util.find_spec("torch") is None:
            return "torch, which allocates its memory, is not installed"
        return _why_not()

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        arrays = [p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy)]
        if not is_available() or not takes(bsym, random=self.random):
            return False
        if self.array_kind == "cupy":
            return all(a.lang.name == "numpy" for a in arrays)
        if any(a.lang.name == "torch" and a.device.devicetype is DeviceType.CUDA for a in arrays) and looks_up(bsym):
            return False  # torch's kernels assert on the device that indices are in bounds, and need not be waited for
        return all(a.device.devicetype is _devicetype() for a in arrays)

    def region_key(self, bsym: BoundSymbol) -> Any:
        """The device: a kernel runs on one."""
        return device_of(bsym)

    def fuse(self, region: Region, name: str) -> Any:
        try:
            graph = lower(region.bound_symbols, region.inputs, region.outputs)
        except Refused:
            return None
        if not self.everything and not _pays(graph):
            return None
        from tnp.executors.triton.launch import CupyRegion, FusedRegion

        return (CupyRegion if self.array_kind == "cupy" else FusedRegion)(name, region, graph)


@functools.cache
def is_available() -> bool:
    """Whether Triton is installed."""
    return importlib.util.find_spec("triton") is not None


def _why_not() -> str | None:
    """Why no kernel can be launched."""
    from tnp.executors.triton.launch import has_device, interprets

    return None if interprets() or has_device() else "there is no CUDA device, and TRITON_INTERPRET is off"


def _devicetype() -> DeviceType:
    """On which devices arrays are that kernels take."""
    from tnp.executors.triton.launch import interprets

    return DeviceType.CPU if interprets() else DeviceType.CUDA


def _pays(graph: Graph) -> bool:
    """Whether a region is more than one operation: torch has a kernel for each."""
    return sum(n.op not in ("input", "number", "view", "iota", "copy") for n in graph.nodes) > 1


executor = TritonExecutor("triton", version=importlib.metadata.version("triton") if is_available() else None)
register_executor(executor)
