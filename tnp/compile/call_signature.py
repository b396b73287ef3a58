"""Call signatures: binding a call's values to parameters, and calling a function with such values."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core.errors import TraceError
from tnp.core.printing import compile_source

__all__ = ["binder", "check_compilable", "name_of", "signature_of", "spelled"]


def check_compilable(function: Any) -> None:
    """Raises what says why a function cannot be compiled: ``TypeError`` for what is none, :class:`TraceError` for kinds that have no trace."""
    if not callable(function):
        raise TypeError(f"tnp.jit takes a function, not {type(function).__name__}")
    kinds: dict[str, Callable[[Any], bool]] = {
        "a generator": inspect.isgeneratorfunction,
        "a coroutine": inspect.iscoroutinefunction,
        "an asynchronous generator": inspect.isasyncgenfunction,
        "a class": inspect.isclass,
    }
    for kind, is_it in kinds.items():
        if is_it(function):
            code = getattr(function, "__code__", None)
            where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
            raise TraceError(
                f"{getattr(function, '__qualname__', function)}{where} is {kind}, which tnp does not compile; "
                "jit the functions that it calls"
            )


def signature_of(function: Any) -> inspect.Signature:
    """Its signature, or ``(*args, **kwargs)`` if it has none, or defaults that are not to be passed: those of functions written in
    C may mean something else than nothing (``np.where(c, None, None)``), and ``np.sum`` has one that is no value.

    Of what a decorator made it is its own, not that of the function within: the two may be called differently."""
    if type(function) is types.FunctionType and {"__wrapped__", "__signature__"} & vars(function).keys():
        own = types.FunctionType(function.__code__, {}, function.__name__, function.__defaults__, function.__closure__)
        own.__kwdefaults__ = function.__kwdefaults__
        return inspect.signature(own)
    behind = inspect.unwrap(function)
    while isinstance(behind, functools.partial):
        behind = inspect.unwrap(behind.func)
    if hasattr(behind, "__code__") or hasattr(type(behind).__call__, "__code__"):
        signature = inspect.signature(function)
        if not any(p.default is np._NoValue for p in signature.parameters.values()):
            return signature
    kinds = {"args": inspect.Parameter.VAR_POSITIONAL, "kwargs": inspect.Parameter.VAR_KEYWORD}
    return inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds.items()])


def spelled(signature: inspect.Signature, default: Callable[[inspect.Parameter], str]) -> tuple[str, list[str]]:
    """The parameters of a signature as Python, each that has a default with ``default(parameter)``; and how a call passes each."""
    parts: list[str] = []
    passed: list[str] = []
    seen_star = seen_positional_only = False
    for p in signature.parameters.values():
        if p.kind is p.POSITIONAL_ONLY:
            seen_positional_only = True
        elif seen_positional_only:
            parts.append("/")
            seen_positional_only = False
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
            parts.append(f"{stars}{p.name}")
            passed.append(f"{stars}{{}}")
            seen_star = True
            continue
        if p.kind is p.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        parts.append(p.name if p.default is p.empty else f"{p.name}={default(p)}")
        passed.append(f"{p.name}={{}}" if p.kind is p.KEYWORD_ONLY else "{}")
    if seen_positional_only:
        parts.append("/")
    return ", ".join(parts), passed


def binder(signature: inspect.Signature, name: str) -> tuple[Callable[..., Any], Callable[..., Any], bool]:
    """From a signature: a function from its arguments to the tuple of its parameters' values, its inverse
    ``apply(f, values)``, and whether that is ``f(*values)``."""
    context = {f"_default_{p.name}": p.default for p in signature.parameters.values()}
    parameters, passed = spelled(signature, lambda p: f"_default_{p.name}")
    names = "".join(f"{p}, " for p in signature.parameters)
    values = ", ".join(text.format(f"values[{i}]") for i, text in enumerate(passed))
    bind = compile_source(f"def {name}({parameters}):\n  return ({names})\n", name, context)
    apply = compile_source(f"def apply(_f, values):\n  return _f({values})\n", "apply", {})
    return bind, apply, all(text == "{}" for text in passed)


def name_of(function: Any) -> str:
    """The name of a callable in messages. A partial has the name of its function, an instance that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    names = (getattr(function, a, None) for a in ("__qualname__", "__name__"))
    return next((str(name) for name in names if name), type(function).__qualname__)
