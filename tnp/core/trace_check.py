"""The trace checker: what must hold of a trace after every pass (under ``TNP_CHECK=1``, and in the tests)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from tnp.core import prims, symbols
from tnp.core.errors import TraceCheckError
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of
from tnp.core.symbol import BoundSymbol, flat_proxies
from tnp.core.trace import Trace

__all__ = ["check_trace"]

#: what a name is that so far only the shape of an array gives
_SIZE = "a size"


def check_trace(trace: Trace) -> None:
    """Raises :class:`TraceCheckError` unless every name is defined once, before it is used, with one type.

    The last line must be the return, and the outputs of an operation must be among those of its subsymbols or its inputs.
    """
    defined: dict[str, Proxy | str] = {}
    for p in trace.args:
        if p.name in defined:
            raise TraceCheckError(f"argument {p.name} stands twice")
        defined[p.name] = p
    for bsym in trace.bound_symbols:
        _check_one(bsym, defined, trace)
    last = trace.bound_symbols[-1] if trace.bound_symbols else None
    if last is None or last.sym is not prims.python_return:
        raise TraceCheckError(f"the trace does not end with its return:\n{trace}")


def _check_one(bsym: BoundSymbol, defined: dict[str, Proxy | str], trace: Trace, *, runs: bool = True) -> None:
    """``defined`` has what defines each name, or ``_SIZE``. ``runs`` is false for the parts of an executor's operation, which do not run:
    they may name sizes that are not defined any more."""
    if bsym.sym in (prims.unpack_trivial, prims.python_del):
        return
    for p in bsym.flat_inputs:
        if not runs and isinstance(p, NumberProxy):
            continue
        if p.name not in defined and symbols.is_symbol(p) and _is_made_of(p, defined):
            continue  # made of sizes that are there, where an executor's operation takes it
        if p.name not in defined:
            raise TraceCheckError(f"{p.name} is used before it is defined, in\n{bsym}\nof\n{trace}")
        known = defined.get(p.name)
        if known is not p and isinstance(p, TensorProxy) and _type_of(known) != p.type_string():
            raise TraceCheckError(f"{p.name} is {_type_of(known)}, but used as {p.type_string()} in\n{bsym}")
    inner = dict(defined) if bsym.subsymbols else defined
    for sub in bsym.subsymbols:
        _check_one(sub, inner, trace, runs=runs and bsym.sym.executor is None)
    for body in bodies_of(bsym):
        _check_body(body, defined, trace)
    for p in bsym.flat_outputs:
        if defined.get(p.name, _SIZE) is not _SIZE:
            if all(p.name != q.name for q in bsym.flat_inputs):
                raise TraceCheckError(f"{p.name} is defined twice, the second time in\n{bsym}")
            continue
        if bsym.subsymbols and bsym.sym.executor is None and p.name not in inner:
            raise TraceCheckError(f"{p.name} comes out of\n{bsym}\nbut of none of its subsymbols")
        defined[p.name] = p
        _define_sizes(p, defined)


def _is_made_of(n: Any, defined: Container[str]) -> bool:
    """Whether a size follows from defined names."""
    if not isinstance(n, Proxy) or n.name in defined:
        return True
    origin = getattr(n, "origin", None)
    return origin is not None and all(_is_made_of(part, defined) for part in origin[1])


def _type_of(known: Proxy | str | None) -> str | None:
    return known.type_string() if isinstance(known, Proxy) else known


def _define_sizes(p: Proxy, defined: dict[str, Proxy | str]) -> None:
    for d in p.shape if isinstance(p, TensorProxy) else ():
        if isinstance(d, Proxy):
            defined.setdefault(d.name, _SIZE)


def _check_body(body: Body, defined: dict[str, Proxy | str], trace: Trace) -> None:
    """A body sees what is defined before it, and defines nothing outside."""
    inner = dict(defined)
    for p in body.args:
        if inner.get(p.name, _SIZE) is not _SIZE:
            raise TraceCheckError(f"the body's argument {p.name} is defined before, in\n{trace}")
        inner[p.name] = p
        _define_sizes(p, inner)
    for b in body.bound_symbols:
        _check_one(b, inner, trace)
    for q in flat_proxies(body.results):
        if q.name not in inner:
            raise TraceCheckError(f"a body gives {q.name}, which is not defined, in\n{trace}")
