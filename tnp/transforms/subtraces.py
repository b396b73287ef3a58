"""Passes on subtraces: the body of a loop or a branch as a trace of its own."""

from __future__ import annotations

from collections.abc import Callable

from tnp.core import prims
from tnp.core.subtraces import Body, is_control_flow, map_bodies
from tnp.core.trace import Trace

__all__ = ["in_bodies", "through"]


def through(f: Callable[[Trace], Trace], body: Body, outer: Trace) -> Body:
    """``body`` after a pass: ``f`` gets it as a trace of its arguments and captures, with names new to ``outer``."""
    inner = Trace.like(outer)
    inner.args = [*body.args, *body.captures]
    inner.value_guards, inner.output = {}, body.results
    inner.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in inner.args]
    inner.bound_symbols += body.bound_symbols
    inner.bound_symbols.append(prims.python_return.bind(body.results, output=None))
    made = f(inner)
    if made is inner:
        return body
    outer.take_names(made)
    return Body(body.args, made.body, made.bound_symbols[-1].args[0])


def in_bodies(f: Callable[[Trace], Trace], trace: Trace) -> Trace:
    """``trace`` with the pass ``f`` applied to every body in it."""
    if not any(is_control_flow(b) for b in trace.bound_symbols):
        return trace
    new = Trace.like(trace)
    for b in trace.bound_symbols:
        new.bound_symbols.append(map_bodies(lambda body: through(f, body, new), b) if is_control_flow(b) else b)
    return trace if all(a is b for a, b in zip(new.bound_symbols, trace.bound_symbols)) else new
