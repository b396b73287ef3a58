"""Definitions of run-time sizes: ``n0 = t0.shape[0]`` after the operation that computes ``t0``."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from tnp.core import prims, symbols
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow, map_bodies
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["define_sizes"]


def define_sizes(trace: Trace, given: Set[str] = frozenset()) -> Trace:
    """The trace, which is ``given`` numbers beside its arguments, with each size that an operation takes as a number read from the first array that has it.

    A size that is computed (the product of two) is defined by its computation where the trace shows that. A symbolic size that no
    array has is computed of those that it is made of.
    """
    return _define(trace, {*given, *(p.name for p in trace.args)})


def _define(trace: Trace, given: Set[str]) -> Trace:
    """The trace of a program, or of a body of one, which is ``given`` numbers."""
    trace = in_bodies(lambda inner: _define(inner, given), trace)
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs if isinstance(p, NumberProxy)}
    if not used and all(b.operation is not prims.size for b in trace.bound_symbols):
        return trace  # most programs
    defined = {*given, *(p.name for p in trace.args)}
    made = defined | {p.name for b in trace.bound_symbols for p in b.flat_outputs}
    lacking = {
        p.name: p for b in trace.bound_symbols for p in b.flat_inputs if symbols.is_symbol(p) and p.name not in made
    }
    used.update(part.name for p in lacking.values() for part in _made_of(p))
    lines: list[BoundSymbol] = []
    for b in trace.bound_symbols:
        if b.flat_outputs and all(isinstance(p, NumberProxy) and p.name in defined for p in b.flat_outputs):
            if b.operation is prims.size or all(map(symbols.is_symbol, b.flat_outputs)):
                continue  # read or computed already, for an inner array of a decomposed symbol
        if is_control_flow(b):
            b = map_bodies(lambda body: _with_own_sizes(body, defined), b)
        for p in b.flat_inputs:
            if isinstance(p, NumberProxy) and symbols.is_symbol(p) and p.name not in defined:
                lines += _computed(p, defined)
        lines.append(b)
        defined.update(p.name for p in b.flat_outputs)
        for p in b.flat_outputs:
            for dim, n in enumerate(p.shape) if isinstance(p, TensorProxy) else ():
                if isinstance(n, NumberProxy) and n.name in used and n.name not in defined:
                    lines.append(prims.size.bind(p, dim, output=n))
                    lines[-1].location = b.location
                    defined.add(n.name)
    return trace if lines == trace.bound_symbols else Trace.like(trace, lines)


def _made_of(n: Any) -> Iterator[NumberProxy]:
    """A size, and those that it is made of."""
    if isinstance(n, NumberProxy):
        yield n
        for part in n.origin[1] if n.origin is not None else ():
            yield from _made_of(part)


def _computed(n: NumberProxy, defined: set[str]) -> Iterator[BoundSymbol]:
    """The operations that compute the size ``n`` from ``defined`` sizes. Adds ``n`` to those."""
    if n.name in defined or n.origin is None:
        return
    operation, args = n.origin
    for part in args:
        if isinstance(part, NumberProxy):
            yield from _computed(part, defined)
    if operation == "int":
        yield prims.convert_number.bind(*args, int, output=n)
    else:
        yield prims.registry[operation].bind(*args, output=n)
    defined.add(n.name)


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
