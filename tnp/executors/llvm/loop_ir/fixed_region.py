"""Regions of known sizes as kernels: one for each kind of strides of the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tnp.executors.base import Region
from tnp.executors.llvm.graph import Graph, Node, Reduction
from tnp.executors.llvm.identity import region_text
from tnp.executors.llvm.layout import Strides, strides_of_new, strides_of_nodes
from tnp.executors.llvm.loop_ir.emitter import emit
from tnp.executors.llvm.loop_ir.lowering import cost_of, kernel_of
from tnp.executors.llvm.loop_ir.nodes import Kernel
from tnp.executors.llvm.loop_ir.printing import show
from tnp.executors.llvm.loop_ir.region import interface_of, optimized
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.region import ENTRY, NativeRegion, function_attributes, input_of, output_of
from tnp.runtime import engine, launcher
from tnp.runtime.engine import Unavailable

__all__ = ["FusedRegion"]

#: additions beyond which a kernel runs without Python's lock
RELEASE_COST = 50_000
#: A program of ``LONG`` operations is long. Its regions are translated without optimisation if a call spends at most ``QUICK_COST``
#: additions on an operation; the limit grows with the program, up to ``LONGEST`` times. Optimising a line takes milliseconds, and saves a
#: microsecond a call.
LONG, QUICK_COST, LONGEST = 1_000, 1_000, 3
#: elements that may be added one after the other
LONG_SUM = 512


class FusedRegion(NativeRegion):
    """A region of straight-line code, as loop nests."""

    def __init__(self, name: str, region: Region, graph: Graph, updates: Mapping[int, int], fast: bool) -> None:
        super().__init__(name, region, updates, fast)
        self.graph = graph

    def describe(self) -> list[str]:
        """The loops of each kernel, and what they store."""
        lines = []
        for key in self._specs:
            kernel = self._kernel(self._strides(key))
            strides = ", ".join(str(s) if kind == "array" else kind for kind, s in key)
            lines.append(f"kernel for strides {strides} ({kernel.cost():.3g} additions)")
            lines += [f"  {line}" for line in show(kernel, self.name).splitlines()]
        return lines + super().describe()

    def compiled(self, key: Any) -> tuple[launcher.Spec, engine.Compiled, bool]:
        """As for any region; code on the disk is found by what the region does, without its IR."""
        is_long = self.region.length >= LONG
        text = region_text(self.region, key, self.updates, self.fast, function_attributes(), is_long)
        found = engine.recall(text, self.name) if text is not None else None
        if found is not None:
            compiled, (release, strides) = found
            return self._spec(key, list(map(tuple, strides))), compiled, release
        spec, compiled, release = super().compiled(key)
        if text is not None:
            engine.remember(text, compiled, [release, [o.strides for o in spec.outputs]])
        return spec, compiled, release

    def make(self, key: Any) -> tuple[launcher.Spec, str, bool]:
        strides = self._strides(key)
        spec = self._spec(key, [strides[n] for _, n in self._fresh()])
        is_quick = self._is_quick()
        self.level = 0 if is_quick else 1  # in a loop nest there are no branches to learn from
        kernel = self._kernel(strides)
        engine.dump("loops", lambda: show(kernel, self.name), self.name)
        interface = interface_of(kernel, self.region.inputs)
        try:
            ir = emit(kernel, ENTRY, interface, function_attributes(), fast=self.fast, is_plain=is_quick)
        except Refused as reason:
            raise Unavailable(str(reason)) from None
        return spec, ir, kernel.cost() > RELEASE_COST

    def _kernel(self, strides: Mapping[Node, Strides]) -> Kernel:
        """The kernel for arguments of one kind, by the strides of all values."""
        names, is_quick = [p.name for p in self.region.inputs], self._is_quick()
        try:
            kernel, updates = kernel_of(self.graph, names, strides, is_quick=is_quick)
        except Refused as reason:
            raise Unavailable(str(reason)) from None
        assert updates == dict(self.updates)
        return optimized(kernel, is_quick=is_quick)

    def _is_quick(self) -> bool:
        """Whether it is a part of a long program that computes little with each operation."""
        if self.region.length < LONG or any(isinstance(n, Reduction) and _is_long(n) for n in self.graph.nodes):
            return False
        cost = sum(max([n.size, *(s.size for s in n.sources)]) * (1 + cost_of(n)) for n in self.graph.nodes if n.shape)
        return cost <= QUICK_COST * min(self.region.length / LONG, LONGEST) * len(self.region.bound_symbols)

    def _fresh(self) -> list[tuple[int, Node]]:
        """The outputs that are not in the memory of inputs, and their numbers."""
        return [(k, n) for k, n in enumerate(self.graph.outputs) if k not in self.updates]

    def _strides(self, key: Any) -> dict[Node, Strides]:
        strides = strides_of_nodes(self.graph, [k[1] for k in key])
        for _, node in self._fresh():  # a view that leaves the region is a copy
            strides[node] = strides_of_new(node.shape, strides[node], node.dtype.itemsize)
        return strides

    def _spec(self, key: Any, strides: Sequence[Strides]) -> launcher.Spec:
        """What the launcher is to do, with ``strides`` of the outputs that it makes."""
        written = set(self.updates.values())
        limits = [self.graph.limits(n) if k[0] == "int" else None for n, k in zip(self.graph.inputs, key)]
        inputs = [
            input_of(p, k, j in written, limit) for j, (p, k, limit) in enumerate(zip(self.region.inputs, key, limits))
        ]
        outputs = [output_of(self.region.outputs[k], s) for (k, _), s in zip(self._fresh(), strides, strict=True)]
        return launcher.Spec(inputs=inputs, outputs=outputs, single=len(outputs) == 1)


def _is_long(n: Reduction) -> bool:
    """Whether so many elements are added up that one after the other is not accurate enough."""
    return n.sources[0].size > LONG_SUM * max(1, n.size)
