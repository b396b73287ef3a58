"""``inspect.signature`` and ``inspect.getfullargspec`` of a function: what it is made of is guarded."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from tnp.capture import active
from tnp.core.errors import NeedsEager

__all__ = ["signature_of"]

_CONSTANTS = frozenset((bool, int, float, complex, str, bytes, type(None), type, types.FunctionType))


def signature_of(ask: Any, f: Any, **options: Any) -> Any:
    """``ask(f)``, of a function of :mod:`inspect`."""
    if type(f) is types.MethodType and ask is inspect.getfullargspec:  # which tells ``self``, too
        f = f.__func__
    if type(f) is types.MethodType:  # the object is left out, since reading its attributes would guard them
        return signature_of(functools.partial(_of_method, ask), f.__func__, **options)
    tracer = active.current()
    defaults = (
        () if type(f) is not types.FunctionType else (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    )
    if options or not _is_bare(f) or tracer.inputs.functions.is_fresh(f) or not _are_constants(defaults):
        raise NeedsEager(f"it asks for the signature of {getattr(f, '__qualname__', f)}")
    prologue = tracer.inputs.prologue
    name = prologue.constant(f, "function")
    for part in ("__code__", "__defaults__", "__kwdefaults__"):
        same = f"{name}.{part} is {prologue.constant(getattr(f, part), 'part')}"
        prologue.guard(same, f"{f.__qualname__} has the same {part}")
    prologue.guard(f"{prologue.constant(_is_bare)}({name})", f"{f.__qualname__} wraps no other function")
    return ask(f)


def _of_method(ask: Any, f: types.FunctionType) -> Any:
    """What ``ask`` gives for a function as a method of an object: it has one parameter less."""
    return ask(types.MethodType(f, object()))


def _is_bare(f: Any) -> bool:
    """Whether a function says itself what it takes."""
    return type(f) is types.FunctionType and not f.__dict__.keys() & {"__wrapped__", "__signature__"}


def _are_constants(values: Any) -> bool:
    return all(type(x) in _CONSTANTS or (type(x) is tuple and _are_constants(x)) for x in values)
