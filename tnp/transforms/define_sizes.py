"""Definitions of run-time sizes: ``n0 = t0.shape[0]`` after the operation that computes ``t0``."""

from __future__ import annotations

from tnp.core import prims
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow, map_bodies
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["define_sizes"]


def define_sizes(trace: Trace) -> Trace:
    """The trace with each size that an operation takes as a number read from the first array that has it.

    A size that is computed (the product of two) is defined by its computation where the trace shows that.
    """
    trace = in_bodies(define_sizes, trace)
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs if isinstance(p, NumberProxy)}
    if not used and all(b.operation is not prims.size for b in trace.bound_symbols):
        return trace  # most programs
    defined = {p.name for p in trace.args}
    lines: list[BoundSymbol] = []
    for b in trace.bound_symbols:
        if b.operation is prims.size and isinstance(b.output, NumberProxy) and b.output.name in defined:
            continue  # read already, from an inner array of a decomposed symbol
        if is_control_flow(b):
            b = map_bodies(lambda body: _with_own_sizes(body, defined), b)
        lines.append(b)
        defined.update(p.name for p in b.flat_outputs)
        for p in b.flat_outputs:
            for dim, n in enumerate(p.shape) if isinstance(p, TensorProxy) else ():
                if isinstance(n, NumberProxy) and n.name in used and n.name not in defined:
                    lines.append(prims.size.bind(p, dim, output=n))
                    lines[-1].location = b.location
                    defined.add(n.name)
    return trace if lines == trace.bound_symbols else Trace.like(trace, lines)


def _with_own_sizes(body: Body, defined: set[str]) -> Body:
    """A body in which the sizes of its arguments are read that nothing outside defines: each iteration has its own."""
    missing = {p.name for p in body.captures if isinstance(p, NumberProxy)} - defined
    lines: list[BoundSymbol] = []
    for p in body.args:
        for dim, n in enumerate(p.shape) if isinstance(p, TensorProxy) else ():
            if isinstance(n, NumberProxy) and n.name in missing:
                lines.append(prims.size.bind(p, dim, output=n))
                missing.remove(n.name)
    return Body(body.args, [*lines, *body.bound_symbols], body.results) if lines else body
