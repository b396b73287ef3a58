"""Bridges: conversions of values between array libraries.

Each executor's operations take and return arrays of one kind (``"numpy"``, ``"torch"``). For executors without a kind,
and for values that the user holds, the kind is that of the value's language. If a value is needed in another kind, this
pass inserts a conversion, one per value and kind.

A conversion shares memory if the libraries can, so it is tagged ``VIEW``: writes in one kind are visible in the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from tnp.core import prims
from tnp.core.array_kinds import HOST_ARRAYS, USER_KIND
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Symbol, map_proxies
from tnp.core.trace import Trace
from tnp.transforms.subtraces import in_bodies

__all__ = ["Conversions", "bridge", "kind_for_user", "kind_of"]

#: (kind of the argument, kind of the result) → the operation that converts; (kind, the same kind) → the one that stores into an argument of it
Conversions = Mapping[tuple[str, str], Symbol]


def kind_for_user(a: TensorProxy, trace: Trace) -> str:
    """The kind of array that the user holds: the language's own."""
    return "torch" if a.lang.name == "torch" else USER_KIND.of(trace)


def _given_kind(a: TensorProxy, trace: Trace) -> str:
    """The kind of an argument."""
    return "numpy" if a.name in HOST_ARRAYS.of(trace) else kind_for_user(a, trace)


def kind_of(bsym: BoundSymbol, a: TensorProxy, trace: Trace) -> str:
    """The kind in which ``bsym`` takes or gives ``a``."""
    kind = getattr(bsym.sym.executor, "array_kind", None)
    return kind if kind is not None else kind_for_user(a, trace)


def bridge(trace: Trace, conversions: Conversions) -> Trace:
    """The claimed ``trace`` with conversions where values cross. Raises ``KeyError`` if there is no such conversion."""
    if not conversions:
        return trace
    trace = in_bodies(lambda t: bridge(t, conversions), trace)
    new = Trace.like(trace)
    kinds = {p.name: _given_kind(p, trace) for p in trace.args if isinstance(p, TensorProxy)}
    converted: dict[tuple[str, str], TensorProxy] = {}

    for bsym in trace.bound_symbols:
        if bsym.operation is prims.copy_ and (kind := kinds[bsym.args[1].name]) != kind_of(bsym, bsym.args[1], trace):
            if (kind, kind) in conversions:  # none is needed where memory is shared
                bsym = bsym.replace(sym=conversions[kind, kind].implementing(bsym.sym))

        def in_kind(p: Proxy, bsym: BoundSymbol = bsym) -> Proxy:
            if not isinstance(p, TensorProxy):
                return p
            wanted, made = kind_of(bsym, p, trace), kinds[p.name]
            if wanted == made:
                return p
            if (p.name, wanted) not in converted:
                other = TensorProxy(new.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)
                conversion = conversions[made, wanted].bind(p, output=other)
                conversion.location = bsym.location
                new.bound_symbols.append(conversion)
                converted[p.name, wanted] = other
            return converted[p.name, wanted]

        args, kwargs = map_proxies(in_kind, bsym.args), map_proxies(in_kind, bsym.kwargs)
        # An update stays one: the class says so.
        new.bound_symbols.append(type(bsym)(bsym.sym, args, kwargs, bsym.output, bsym.subsymbols, bsym.location))
        if bsym.sym is not prims.unpack_trivial:
            kinds.update((p.name, kind_of(bsym, p, trace)) for p in bsym.flat_outputs if isinstance(p, TensorProxy))
    return new
