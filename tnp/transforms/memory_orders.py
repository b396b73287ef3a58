"""Copies that only bring a result into the memory order that it already has.

torch's attention returns its heads side by side, whatever the layout of its arguments. Where a program depends on that
layout, capture asks for it with ``prims.stride_order``. Kernels that make the result in this order need no copy.
"""

from __future__ import annotations

from typing import Any

from tnp.core import prims
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["without_reorders"]


def without_reorders(trace: Trace) -> Trace:
    """With each ``stride_order`` dropped whose operand an operation makes in that order (:attr:`~tnp.core.symbol.Symbol.memory_order`)."""
    trace = in_bodies(without_reorders, trace)
    returned = {p.name for p in trace.bound_symbols[-1].flat_inputs}
    orders: dict[str, tuple[int, ...]] = {}
    names: dict[str, Any] = {}
    kept = []
    for bsym in trace.bound_symbols:
        bsym = bsym.substitute(names)
        if bsym.operation is prims.stride_order and bsym.args[1:] not in ((), (None,)):
            a, order = bsym.args
            are_two = {a.name, bsym.output.name} <= returned  # a result, and what is saved for the backward
            if orders.get(a.name) == tuple(order) and not are_two:
                names[bsym.output.name] = a
                continue
        elif bsym.sym.memory_order is not None:
            orders[bsym.flat_outputs[0].name] = bsym.sym.memory_order
        kept.append(bsym)
    return Trace.like(trace, kept) if names else trace
