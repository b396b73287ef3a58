"""Objects of SciPy's classes whose methods are operations: splines, interpolants, sparse matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.objects.shadows import derived_from, is_shadow
from tnp.capture.objects.twins import class_attribute, class_of
from tnp.core.errors import NeedsEager

__all__ = ["as_state", "call_method", "methods_of"]


def call_method(method: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a method of ``owner`` (:class:`~tnp.lang.scipy.registry.Method`), recorded: its state are inputs."""
    from tnp.capture.objects.namespaces import first_attribute  # which imports what lifts objects

    state = method.read(functools.partial(first_attribute, owner))
    return active.current().call(method.symbol, (state, *args), kwargs)


def as_state(x: Any) -> Any:
    """``x``, a stand-in for a sparse matrix as the state that products take."""
    from tnp.capture.objects.namespaces import first_attribute

    product = NUMPY.methods_of(class_of(x)).get("__matmul__") if is_shadow(x) else None
    return x if product is None else product.read(functools.partial(first_attribute, x))


_known: dict[type, dict[str, Any]] = {}


def methods_of(kind: type) -> dict[str, Any]:
    """The methods of a class of SciPy's that are operations, as those of stand-ins for its objects."""
    operations, members = NUMPY.methods_of(kind), NUMPY.derived_of(kind)
    if (operations or members) and kind not in _known:
        found: dict[str, Any] = {name: _recorded(method) for name, method in operations.items()}
        for name in members:
            is_property = isinstance(class_attribute(kind, name), property)
            found[name] = property(_derived(name, "")) if is_property else _derived(name, "()")
        _known[kind] = found
    return _known.get(kind, {})


def _derived(name: str, call: str) -> Callable[..., Any]:
    """A member that gives what the real object's gives at each call: the program fetches it before it does anything."""

    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = active.current()
        known, options = tracer.known(args), tracer.known_values(kwargs)
        if any(type(a) not in (int, bool) for a in (*known, *options.values())):
            raise NeedsEager(f"it gives .{name}() what is no integer")
        text = ", ".join([*map(str, known), *(f"{k}={v}" for k, v in options.items())])
        return derived_from(
            self,
            f"{name}({text})" if call else name,
            lambda real: getattr(real, name)(*known, **options) if call else getattr(real, name),
        )

    get.__name__ = get.__qualname__ = name
    return get


def _recorded(method: Any) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call_method(method, self, args, kwargs)

    call.__name__ = call.__qualname__ = method.symbol.name
    return call
