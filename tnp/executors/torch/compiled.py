"""The torch_compile executor: regions of prims handed to ``torch.compile``, as an alternative to tnp's own fusing
executors.

A region is written as the calls of torch that the torch executor makes of its prims, one function, which torch's
compiler (Inductor, if no other backend is asked for) makes kernels of, for the CPU and for CUDA. How those round is its
own affair: contractions and reorderings may change last bits.

``tnp.jit(f, executors=["torch_compile"])`` asks Inductor; another backend is an executor of another name,
``TorchCompileExecutor("traced", backend="aot_eager")``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tnp.core import prims
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, device_of
from tnp.core.trace import Trace, tracing
from tnp.executors.base import FusionExecutor, Region
from tnp.executors.registry import register_executor
from tnp.executors.torch import executor as torch_executor

__all__ = ["TorchCompileExecutor", "executor"]

#: what is left to others: what has an order, draws random numbers, may raise, or changes memory
_OTHERS = frozenset(
    (OpTags.EFFECT, OpTags.RANDOM, OpTags.MAY_RAISE, OpTags.UPDATE, OpTags.CONTROL_FLOW, OpTags.PROGRAM)
)


class TorchCompileExecutor(FusionExecutor):
    """Compiles regions with ``torch.compile(backend=backend)``."""

    array_kind = "torch"
    updates_inputs = False

    def __init__(self, name: str, *, backend: str = "inductor") -> None:
        super().__init__(name, version=torch.__version__)
        self.backend = backend

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        """Whether the torch executor runs every prim of it, on arrays of known shape and without numbers of the run time."""
        values = (*bsym.flat_inputs, *bsym.flat_outputs)
        known = all(isinstance(p, TensorProxy) and all(type(n) is int for n in p.shape) for p in values)
        return known and bool(bsym.flat_inputs) and all(map(_runs, _prims_of([bsym])))

    def region_key(self, bsym: BoundSymbol) -> Any:
        """The device: a kernel runs on one."""
        return device_of(bsym)

    def fuse(self, region: Region, name: str) -> Callable[..., Any] | None:
        found = _prims_of(region.bound_symbols)
        if sum(OpTags.VIEW not in b.sym.tags for b in found) < 2:
            return None  # one call of torch, which has a kernel for it
        program = _program(found, region.inputs, region.outputs)
        return torch.compile(program, backend=self.backend, dynamic=False)


def _prims_of(bound_symbols: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """The prims that symbols are made of, in order."""
    return [p for b in bound_symbols for p in ([b] if b.sym.is_prim else _prims_of(b.subsymbols))]


def _runs(bsym: BoundSymbol) -> bool:
    found = torch_executor.implementation_of(bsym.sym)
    if found is None or found.op is None or _OTHERS & bsym.sym.tags:
        return False
    return found.checker is None or found.checker(*bsym.args, **bsym.kwargs)


def _program(found: Sequence[BoundSymbol], inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[..., Any]:
    """A function of tensors to the tuple of a region's results, each in memory of its own."""
    trace = Trace()
    trace.args = list(inputs)
    trace.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in inputs]
    views = {p.name for p in inputs}
    for b in found:
        op = torch_executor.implementation_of(b.sym).op
        trace.bound_symbols.append(BoundSymbol(op, b.args, b.kwargs, b.output))
        if OpTags.VIEW in b.sym.tags:
            views.update(p.name for p in b.flat_outputs)
    results = []
    with tracing(trace):
        for p in outputs:
            if p.name in views or p.name in {r.name for r in results}:
                made = TensorProxy(like=p)
                copy = torch_executor.implementation_of(prims.clone).op
                trace.bound_symbols.append(BoundSymbol(copy, (p,), {}, made))
                p = made
            results.append(p)
        trace.output = tuple(results)
        prims.python_return(trace.output)
    return trace.python_callable()


executor = TorchCompileExecutor("torch_compile")
register_executor(executor)
