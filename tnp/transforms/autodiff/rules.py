"""The table of gradient rules, and the two ways to write one.

A rule of tnp's own is a function of the cotangents, the results and the arguments of an operation; it returns the cotangents of the
arguments, in order::

    @rule(prims.transpose)
    def _(g, out, a, permutation):
        return prims.transpose(g, inverse(permutation))

``None`` is no cotangent; a function is called for one if it is needed; missing ones at the end are none. Of an operation with several
results ``g`` and ``out`` are tuples, and ``None`` in ``g`` means that nothing depends on that result. ``NotImplemented`` from the rule
of a composition says that its parts do better.

A rule that an extension registers with :func:`register_grad` *is* the operation: it takes its arguments, computes its results, asks for
their cotangents with :func:`get_grad` before it knows them, and says with :func:`put_grad` what the arguments' are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import Symbol, flat_proxies

if TYPE_CHECKING:
    from tnp.transforms.autodiff.reverse import Reverse

__all__ = [
    "Interleaved",
    "get_grad",
    "grad_rules",
    "put_grad",
    "put_grads",
    "register_grad",
    "rule",
    "without_derivative",
]

Rule = Callable[..., Any]


class Interleaved:
    """A rule that computes the operation's results as well."""

    __slots__ = ("function",)

    def __init__(self, function: Rule) -> None:
        self.function = function


#: the rule of each operation, by its symbol's id
grad_rules: dict[Any, Rule | Interleaved] = {}

#: operations of floating-point numbers whose derivative is 0 wherever there is one, by id
without_derivative: set[Any] = set()


def _id_of(symbol: Any) -> Any:
    return symbol.id if isinstance(symbol, Symbol) else symbol


def rule(*symbols: Any) -> Callable[[Rule], Rule]:
    """Makes a function the gradient rule of ``symbols``, or of what has these ids."""

    def decorate(f: Rule) -> Rule:
        for symbol in symbols:
            grad_rules[_id_of(symbol)] = f
        return f

    return decorate


def register_grad(symbol: Any, function: Rule) -> None:
    """Makes ``function`` the gradient rule of an operation: a symbol, or its id.

    It is called as the operation is, returns what the operation returns, and in between asks for cotangents and gives them::

        def mul_grad(a, b):
            fwd = a * b
            g = get_grad(fwd)
            put_grads((a, b), (g * b, g * a))
            return fwd

    Results that it computes otherwise than the operation, with something besides that the gradient needs, take the operation's place.
    """
    grad_rules[_id_of(symbol)] = Interleaved(function)


class Asked(threading.local):
    """What an interleaved rule at work has asked for and given."""

    reverse: Reverse | None = None
    cotangents: dict[str, tuple[TensorProxy, TensorProxy]]
    given: list[tuple[Any, Any]]


asked = Asked()


def _at_work() -> Asked:
    if asked.reverse is None:
        raise RuntimeError("get_grad and put_grad are for gradient rules: see tnp.register_grad")
    return asked


def get_grad(p: TensorProxy) -> TensorProxy:
    """The cotangent of ``p``, one of the results of the operation whose rule this is called in."""
    found = _at_work().cotangents
    if p.name not in found:
        found[p.name] = p, TensorProxy(like=p)
    return found[p.name][1]


def put_grad(p: Any, cotangent: TensorProxy | None) -> None:
    """Says what the cotangent of ``p`` is, an argument of the operation; what is put twice adds up."""
    if isinstance(p, Proxy) and cotangent is not None:
        _at_work().given.append((p, cotangent))


def put_grads(ps: Any, cotangents: Any) -> None:
    """:func:`put_grad` for several."""
    for p, cotangent in zip(ps, cotangents):
        put_grad(p, cotangent)


def call_interleaved(function: Rule, bsym: Any, reverse: Reverse) -> tuple[list[Proxy], Asked]:
    """Calls such a rule, with what it asks for and gives kept apart."""
    before = asked.__dict__.copy()
    asked.reverse, asked.cotangents, asked.given = reverse, {}, []
    try:
        results = function(*bsym.args, **bsym.kwargs)
        found = Asked()
        found.cotangents, found.given = asked.cotangents, asked.given
    finally:
        asked.__dict__.clear()
        asked.__dict__.update(before)
    return flat_proxies(results), found
