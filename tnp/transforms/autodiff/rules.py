"""The table of gradient rules, and two ways to write one.

A rule of tnp's own is a function of the cotangents, the results and the arguments of an operation. It returns the
cotangents of the arguments, in order::

    @rule(prims.transpose)
    def _(g, out, a, permutation):
        return prims.transpose(g, inverse(permutation))

``None`` means no cotangent; a function is called if its cotangent is needed; missing ones at the end are ``None``. If
an operation has several results, ``g`` and ``out`` are tuples, and ``None`` in ``g`` means that nothing depends on that
result. If the rule of a composition returns ``NotImplemented``, the composition is decomposed.

A rule that an extension registers with :func:`register_grad` computes the operation: it takes its arguments, computes
its results, gets their cotangents with :func:`get_grad`, and sets those of the arguments with :func:`put_grad`. An
executor may have such a rule for its own implementation (``register_implementation(…, grad_transform=…)``), which has
priority over all others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tnp.core import clang, dtypes
from tnp.core.context import current_trace, registrations
from tnp.core.errors import ExtensionError, GradientError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, flat_proxies, id_of, map_proxies
from tnp.transforms.claim import REFUSALS, opaque_function_of

if TYPE_CHECKING:
    from tnp.transforms.autodiff.reverse import Reverse

__all__ = [
    "Interleaved",
    "executors_in_use",
    "get_grad",
    "grad_rules",
    "grad_transforms_of",
    "is_taken_by_executor",
    "of_bound_symbol",
    "put_grad",
    "put_grads",
    "register_grad",
    "rule",
    "rule_of",
    "rule_of_executor",
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
registrations.tables.append(grad_rules)

#: operations of floating-point numbers whose derivative is 0 wherever there is one, by id
without_derivative: set[Any] = set()


#: operations whose rule has been looked up: programs may have been compiled with it, or without
_looked_up: set[Any] = set()


def rule(*symbols: Any) -> Callable[[Rule], Rule]:
    """Makes a function the gradient rule of ``symbols``, or of what has these ids."""

    def decorate(f: Rule) -> Rule:
        for symbol in symbols:
            grad_rules[symbol.id if isinstance(symbol, Symbol) else symbol] = f
        return f

    return decorate


def of_bound_symbol(f: Rule) -> Rule:
    """Marks a rule that takes the walk, the bound symbol and its cotangents, ``f(reverse, bsym, g)``."""
    marked: Any = f
    marked.takes_bound_symbol = True
    return f


def register_grad(symbol: Any, function: Rule) -> None:
    """Makes ``function`` the gradient rule of an operation: a symbol, or its id. Registering again replaces, for gradients that are
    compiled already, too.

    It is called as the operation is, returns what the operation returns, and in between gets cotangents and sets others. Each argument
    that is differentiated by must be given one (``put_grad(a, None)`` says that nothing depends on it): a rule that forgets one is a
    :class:`~tnp.GradientError`. Results that it computes otherwise than the operation, with something besides that the gradient
    needs, take the operation's place; they must have the operation's shapes and dtypes.

    Raises ``TypeError`` if ``function`` cannot be called, or ``symbol`` is a function of a library, and ``ValueError`` for an id of no
    operation.

    >>> import numpy as np, tnp
    >>> from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grad, register_grad
    >>> ex = OperatorExecutor("cubes")
    >>> cube = ex.register_operator("cube", meta=lambda a: TensorProxy(like=a), fn=lambda a: a**3)
    >>> def cube_grad(a):
    ...     fwd = cube(a)
    ...     put_grad(a, 3 * a * a * get_grad(fwd))
    ...     return fwd
    >>> register_grad(cube, cube_grad)
    >>> tnp.grad(lambda x: cube(x).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if not callable(function):
        raise TypeError(f"register_grad takes a function, not {type(function).__name__} {function!r}")
    key = id_of(symbol)
    grad_rules[key] = Interleaved(function)
    if key in _looked_up:
        registrations.note(f"{key} has another gradient rule", lambda f: True)


class _InUse(threading.local):
    """The executors of the program being traced."""

    executors: Sequence[Any] = ()


_in_use = _InUse()


def executors_in_use() -> Sequence[Any]:
    """The executors that :func:`grad_transforms_of` names at present."""
    return _in_use.executors


@contextmanager
def grad_transforms_of(executors: Sequence[Any]) -> Iterator[None]:
    """Gradients taken inside use the gradient rules that these executors have for what they run."""
    before, _in_use.executors = _in_use.executors, executors
    try:
        yield
    finally:
        _in_use.executors = before


def rule_of_executor(bsym: BoundSymbol) -> Interleaved | None:
    """The gradient rule of the first executor in use that has one and takes the operation. An opaque call of a function is that function."""
    function = opaque_function_of(bsym)
    for executor in _in_use.executors:
        found = executor.implementation_of(bsym.sym)
        if found is None and function is not None and not executor.is_fusing:
            found = executor.implementations.get(function)
        if found is None or found.grad_transform is None:
            continue
        answer = found.checker is None or found.checker(*bsym.args, **bsym.kwargs)
        if answer:
            return Interleaved(found.grad_transform)
        trace, reason = current_trace(), getattr(answer, "reason", None)
        if trace is not None and reason is not None:
            REFUSALS.of(trace).append((executor.name, bsym.sym.qualified_name, reason, bsym.location))
    return None


def is_taken_by_executor(bsym: BoundSymbol) -> bool:
    """Whether an executor in use has an implementation, if not a gradient rule, of the function that an opaque call is."""
    function = opaque_function_of(bsym)
    executors = (e for e in _in_use.executors if not e.is_fusing)
    return any(e.implementation_of(bsym.sym) is None and function in e.implementations for e in executors)


def rule_of(bsym: BoundSymbol) -> Rule | Interleaved | None:
    """The gradient rule of an operation that no executor in use has one of its own for."""
    _looked_up.add(bsym.sym.id)
    found = grad_rules.get(bsym.sym.id)
    if OpTags.ROUNDS_ONCE in bsym.sym.tags and any(b.sym is bsym.sym for b in bsym.subsymbols):
        return found if found is None or isinstance(found, Interleaved) else _rounding_once(found)
    return found


def _rounding_once(rule: Rule) -> Rule:
    """A rule for half precision that computes in float32, as the operation does, and rounds what it finds."""

    def pull(g: TensorProxy, out: TensorProxy, *args: Any, **kwargs: Any) -> Any:
        half = out.dtype

        def widened(p: Any) -> Any:
            return clang.convert(p, dtypes.float32) if isinstance(p, TensorProxy) and p.dtype is half else p

        def rounded(x: Any) -> Any:
            if isinstance(x, TensorProxy):
                return clang.convert(x, half)
            return (lambda: rounded(x())) if callable(x) else x

        answer = rule(*map_proxies(widened, (g, out, *args)), **map_proxies(widened, kwargs))
        if answer is NotImplemented:
            return answer
        return tuple(map(rounded, answer)) if isinstance(answer, tuple) else rounded(answer)

    return pull


class Requested(threading.local):
    """The cotangents that an active interleaved rule has got and set."""

    reverse: Reverse | None = None
    cotangents: dict[str, tuple[TensorProxy, TensorProxy]]
    given: list[tuple[Any, Any]]


asked = Requested()


def _at_work() -> Requested:
    if asked.reverse is None:
        raise RuntimeError("get_grad and put_grad are for gradient rules: see tnp.register_grad")
    return asked


def get_grad(p: TensorProxy) -> TensorProxy:
    """The cotangent of ``p``, one of the results of the operation whose rule this is called in: of its shape and dtype, zeros if nothing
    depends on it.

    Raises ``RuntimeError`` outside of gradient rules; what is no result of the operation is a :class:`~tnp.GradientError`. An
    example is at :func:`register_grad`.
    """
    found = _at_work().cotangents
    if p.name not in found:
        found[p.name] = p, TensorProxy(like=p)
    return found[p.name][1]


def put_grad(p: Any, cotangent: TensorProxy | None) -> None:
    """Says what the cotangent of ``p`` is, an argument of the operation: an array of its shape, ``None`` for zeros. What is put
    twice adds up; what is put for a constant is ignored.

    Raises ``RuntimeError`` outside of gradient rules. An example is at :func:`register_grad`.
    """
    if isinstance(p, Proxy):
        _at_work().given.append((p, cotangent))


def put_grads(ps: Any, cotangents: Any) -> None:
    """:func:`put_grad` for several arguments ``ps`` and their ``cotangents``, in order. Raises ``ValueError`` for more of the one than of the other.
    An example is at :func:`register_grad`.
    """
    ps, cotangents = tuple(ps), tuple(cotangents)
    if len(ps) != len(cotangents):
        raise ValueError(f"put_grads got {len(ps)} arguments and {len(cotangents)} cotangents")
    for p, cotangent in zip(ps, cotangents):
        put_grad(p, cotangent)


def call_interleaved(function: Rule, bsym: Any, reverse: Reverse) -> tuple[list[Proxy], Requested]:
    """Calls such a rule, with the cotangents that it gets and sets kept separate."""
    before = asked.__dict__.copy()
    asked.reverse, asked.cotangents, asked.given = reverse, {}, []
    try:
        results = function(*bsym.args, **bsym.kwargs)
        _check_rule(bsym, flat_proxies(results), reverse)
        found = Requested()
        found.cotangents, found.given = asked.cotangents, asked.given
    finally:
        asked.__dict__.clear()
        asked.__dict__.update(before)
    return flat_proxies(results), found


def _check_rule(bsym: Any, results: Sequence[Proxy], reverse: Reverse) -> None:
    """Raises unless a rule returned results like the operation's, and gave cotangents to all arguments that want one."""
    what = f"the gradient rule of {bsym.sym.qualified_name}"
    expected = [p.type_string() for p in bsym.flat_outputs]
    if [p.type_string() for p in results] != expected:
        returned = ", ".join(p.type_string() for p in results) or "nothing"
        raise ExtensionError(f"{what} returns {returned}, where the operation returns {', '.join(expected)}")
    given = {p.name for p, _ in asked.given}
    forgotten = [p for p in bsym.flat_inputs if reverse.needs(p) and p.name not in given]
    if forgotten:
        names = ", ".join(f"{p.name} ({p.type_string()})" for p in dict.fromkeys(forgotten))
        raise GradientError(
            f"{what} gives no cotangent for its argument {names}; call put_grad for it, with None if nothing depends on it",
            bsym.location,
        )
