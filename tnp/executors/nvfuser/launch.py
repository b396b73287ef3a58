"""Regions as callables: nvFuser's definitions, built for the layouts of a call's arrays, and executed.

A definition fixes the order and contiguity of its arrays' strides, so a region has one per layout. Definitions are
cached by their text: regions with equal text (the blocks of a model) share one, and its compiled kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.executors.base import Region
from tnp.executors.nvfuser.library import MODULE, load
from tnp.executors.nvfuser.writer import Definition
from tnp.executors.shared.device_errors import raise_if_device_failed
from tnp.executors.shared.diagnostics import report_failure, written
from tnp.executors.shared.unfused_fallback import UnfusedFallback
from tnp.runtime import locks

__all__ = ["CupyRegion", "FusedRegion"]

#: layouts for which a region has definitions
SPECIALISATIONS = 8

_HEADER = f"from {MODULE} import DataType, FusionDefinition\n\n\n"
_FOOTER = "\n\nwith FusionDefinition() as fd:\n    define(fd)\n"


class _Fusion:
    """A definition that nvFuser has, and what may execute it: one thread at a time, since it compiles on the way."""

    def __init__(self, source: str) -> None:
        library = load()
        scope: dict[str, Any] = {"DataType": library.module.DataType}
        exec(compile(source, "<tnp nvfuser>", "exec"), scope)
        with library.module.FusionDefinition() as fd:
            scope["define"](fd)
        self.definition = fd
        self.options = library.execute_options
        self.lock = locks.lock()

    def __call__(self, inputs: list[Any], device: Any) -> list[torch.Tensor]:
        with self.lock:
            return self.definition.execute(inputs, device=device, **self.options)


@functools.lru_cache(maxsize=1024)
def fusion(source: str) -> _Fusion:
    """The definition of that text."""
    return _Fusion(source)


class FusedRegion:
    """A region as a callable from its inputs to the tuple of its outputs, tensors all of them."""

    def __init__(self, name: str, region: Region, definition: Definition) -> None:
        self.name = name
        self.region = region
        self.definition = definition
        self.sources: dict[Any, str] = {}
        self._failed: set[Any] = set()
        self._run_unfused = UnfusedFallback(region, lambda: str(self._device))
        self._device = next((p.device for p in region.outputs if isinstance(p, TensorProxy)), None)

    def __call__(self, *args: Any) -> Any:
        if not self._takes(args):
            return self._run_unfused(*args)
        arrays = [a for a in args if isinstance(a, torch.Tensor)]
        key = tuple(a.stride() for a in arrays)
        if key in self._failed or (key not in self.sources and len(self.sources) >= SPECIALISATIONS):
            return self._run_unfused(*args)
        if key not in self.sources:
            self.sources[key] = self.definition.source([_layout(a) for a in arrays])
        device = None if arrays else str(self._device)
        try:
            results = fusion(self.sources[key])(list(args), device)
        except (
            Exception
        ) as error:  # nvFuser compiles at the first execution, and each of its stages has errors of its own
            raise_if_device_failed(error)
            if not self._failed:
                path = written(_HEADER + self.sources[key] + _FOOTER, "nvfuser", ".py")
                report_failure(self.name, "nvFuser", path, error)
            self._failed.add(key)
            return self._run_unfused(*args)
        return tuple(self._own(results, arrays))

    def describe(self) -> list[str]:
        """In lines of text, the definitions that there are."""
        return [line for source in self.sources.values() for line in source.splitlines()]

    def _takes(self, args: Sequence[Any]) -> bool:
        """Whether the arguments are what the definition was made for."""
        devices = {a.device for a in args if isinstance(a, torch.Tensor)}
        return len(devices) <= 1 and all(
            _fits(p, x, self.definition.limits.get(i)) for i, (p, x) in enumerate(zip(self.region.inputs, args))
        )

    def _own(self, results: Sequence[torch.Tensor], arrays: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The results, each in memory of its own: nvFuser returns views of inputs, and of other results, where that saves a copy."""
        made, views = list(results), self.definition.views
        taken = {t.untyped_storage().data_ptr() for t in (*arrays, *(t for i, t in enumerate(made) if i not in views))}
        for i in views:
            place = made[i].untyped_storage().data_ptr()
            if place in taken:
                made[i] = made[i].clone()
            taken.add(place)
        return made


class CupyRegion(FusedRegion):
    """A region that takes and gives CuPy arrays: the tensors of DLPack look at the same memory, on the same stream."""

    def __call__(self, *args: Any) -> Any:
        import cupy

        tensors = [torch.from_dlpack(a) if isinstance(a, cupy.ndarray) else a for a in args]
        return tuple(cupy.from_dlpack(t) for t in super().__call__(*tensors))


def _fits(p: Any, x: Any, limits: tuple[int, int] | None) -> bool:
    if isinstance(p, NumberProxy):
        low, high = limits or (-(2**63), 2**63 - 1)
        return type(x) is p.python_type and (type(x) is not int or low <= x <= high)
    return (
        isinstance(x, torch.Tensor)
        and x.layout is torch.strided
        and tuple(x.shape) == p.shape
        and not (x.is_conj() or x.is_neg())
    )


def _layout(a: torch.Tensor) -> tuple[Sequence[Any], Sequence[int]]:
    contiguity, order = load().module.compute_tensor_descriptor(list(a.shape), list(a.stride()))
    return tuple(contiguity), tuple(order)
