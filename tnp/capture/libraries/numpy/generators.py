"""NumPy's random generators, and the functions of :mod:`numpy.random`: called where the program runs, in their place in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.core.errors import NeedsEager
from tnp.core.proxies import ObjectProxy
from tnp.lang.numpy import opaque

if TYPE_CHECKING:
    from tnp.capture.tracing.traced_values import TracedObject

__all__ = ["call_random", "example_of", "is_generator", "is_random", "method_of"]


def is_generator(x: Any) -> bool:
    """Whether ``x`` is a random generator of NumPy's."""
    return isinstance(x, opaque.generators())


def is_random(function: Any) -> bool:
    """Whether it is of :mod:`numpy.random`: a function, a class, or a method of a generator."""
    return opaque.is_random(function)


def example_of(p: ObjectProxy) -> Any:
    """An object that a proxy could stand for."""
    return opaque.dummy(p)


def call_random(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a random function (:func:`is_random`). Its generator need not be an input of the program."""
    if f is np.random.default_rng and len(args) == 1 and not kwargs and isinstance(args[0], np.random.Generator):
        return args[0]  # which it gives back
    owner = getattr(f, "__self__", None)
    if is_generator(owner) and owner is not opaque.global_generator():
        inputs = active.current().inputs
        generator = inputs.lift(owner, Source(inputs.prologue.constant(owner, "rng"), "captured generator"))
        return getattr(generator, f.__name__)(*args, **kwargs)
    return active.current().call(opaque.symbol_for(f), args, kwargs)


def method_of(generator: TracedObject, name: str) -> Callable[..., Any]:
    """A method of a random generator, called at run time at its place in the program."""
    kind = type(generator.example)
    if not hasattr(kind, name):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
    if not callable(getattr(kind, name)) or name.startswith("__"):
        raise NeedsEager(f"it reads {name} of a random generator")

    def method(*args: Any, **kwargs: Any) -> Any:
        return active.current().call(opaque.method_symbol(generator.example, name), (generator, *args), kwargs)

    method.__name__ = method.__qualname__ = name
    return method
