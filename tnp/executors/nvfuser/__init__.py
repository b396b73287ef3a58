"""The nvfuser executor: regions of a program as definitions of nvFuser, NVIDIA's compiler of fused operations for CUDA.

:mod:`library` knows the installed version, :mod:`writer` writes a region's prims as the calls that define it
(:mod:`elementwise` and :mod:`arrays` say which), :mod:`launch` gives definitions to nvFuser and runs them. Only the
last two need the package: what is written is text, which ``tnp.explain`` prints.

``nvfuser`` takes tensors; ``nvfuser[cupy]`` takes CuPy arrays, which the programs of ``device="cuda"`` have. Updates,
lookups, flips, sorts and positions of extremes are left to other executors, as are integers of 8 and 16 bits and
complex numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.executors.base import FusionExecutor, Refusal, Region
from tnp.executors.nvfuser import arrays, elementwise  # noqa: F401 (they fill the table of rules)
from tnp.executors.nvfuser.launch import CupyRegion, FusedRegion
from tnp.executors.nvfuser.library import load
from tnp.executors.nvfuser.writer import Refused, Writer, say, write
from tnp.executors.registry import register_executor
from tnp.executors.shared.device_errors import why_no_device

__all__ = ["NvfuserExecutor", "executor"]

#: prims of which one alone is left to torch, which has a kernel for it
_PLAIN = frozenset(
    ("broadcast_in_dim", "clone", "convert_element_type", "full", "iota", "pad", "concatenate", "stride_order")
)
_OTHERS = frozenset((OpTags.MAY_RAISE, OpTags.UPDATE, OpTags.CONTROL_FLOW, OpTags.PROGRAM))


class NvfuserExecutor(FusionExecutor):
    """Defines regions to nvFuser."""

    updates_inputs = False
    options = MappingProxyType(
        {
            "cupy": 'takes CuPy arrays, which the programs of device="cuda" have, and no tensors',
            "everything": "takes regions that others run as well, and products of matrices, for tests",
            "matmul": "computes products of matrices, too, which are left to cuBLAS otherwise",
        }
    )

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        super().__init__(name, version=version, options=options)
        self.array_kind = "cupy" if "cupy" in self.chosen_options else "torch"
        self.everything = "everything" in self.chosen_options
        self.matmul = "matmul" in self.chosen_options

    def unavailable(self) -> str | None:
        library = load()
        if library.why_not is not None:
            return library.why_not
        return None if any(d.value == "cpu" for d in library.device_types) else why_no_device()

    def region_key(self, bsym: BoundSymbol) -> Hashable:
        """A definition runs on one device."""
        return next((p.device for p in bsym.flat_outputs if isinstance(p, TensorProxy)), None)

    def can_fuse(self, bsym: BoundSymbol) -> bool | Refusal:
        library = load()
        if library.why_not is not None:
            return Refusal(library.why_not)
        found = [p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy)]
        if self.array_kind == "cupy":
            if any(a.lang.name != "numpy" for a in found):
                return Refusal("it takes arrays of NumPy programs")
        elif any(a.device.devicetype not in library.device_types for a in found):
            return Refusal(f"it takes tensors on {', '.join(d.value for d in library.device_types)}")
        if len({a.device for a in found}) > 1:
            return Refusal("arrays of several devices")
        prims = _prims_of([bsym])
        if not prims:
            return False
        try:
            self._write_alone(prims)
        except Refused as refused:
            return Refusal(str(refused))
        return True

    def _write_alone(self, prims: Sequence[BoundSymbol]) -> None:
        """Writes prims by themselves, to see whether that can be done. Raises :class:`Refused`."""
        writer = Writer(load())
        for b in prims:
            if b.sym.executor is not None or _OTHERS & b.sym.tags:
                raise Refused(f"{b.sym.name} is left to others")
            if OpTags.MATMUL in b.sym.tags and not (self.matmul or self.everything):
                raise Refused("products of matrices are cuBLAS's")
            for p in b.flat_inputs:
                if p.name not in writer.values:
                    writer.add_input(p)
            say(writer, b)

    def fuse(self, region: Region, name: str) -> Any:
        prims = _prims_of(region.bound_symbols)
        if not self.everything and not _pays(prims):
            return None
        try:
            definition = write(load(), prims, region.inputs, region.outputs)
        except Refused:
            return None
        return (CupyRegion if self.array_kind == "cupy" else FusedRegion)(name, region, definition)


def _prims_of(bound_symbols: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """The prims that symbols are made of, in order."""
    return [p for b in bound_symbols for p in ([b] if b.sym.is_prim else _prims_of(b.subsymbols))]


def _pays(prims: Sequence[BoundSymbol]) -> bool:
    """Whether a region is more than one operation: torch has a kernel for each."""
    return sum(OpTags.VIEW not in b.sym.tags and b.sym.name not in _PLAIN for b in prims) > 1


executor = NvfuserExecutor("nvfuser", version=load().version)
register_executor(executor)
