"""Objects of SciPy's classes whose methods are operations: splines, interpolants, sparse matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.libraries.numpy.library import NUMPY

__all__ = ["call_method", "methods_of"]


def call_method(method: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a method of ``owner`` (:class:`~tnp.lang.scipy.registry.Method`), recorded: its state are inputs."""
    from tnp.capture.objects.namespaces import first_attribute  # which imports what lifts objects

    state = method.read(functools.partial(first_attribute, owner))
    return active.current().call(method.symbol, (state, *args), kwargs)


_known: dict[type, dict[str, Callable[..., Any]]] = {}


def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The methods of a class of SciPy's that are operations, as those of stand-ins for its objects."""
    operations = NUMPY.methods_of(kind)
    if operations and kind not in _known:
        _known[kind] = {name: _recorded(method) for name, method in operations.items()}
    return _known.get(kind, {})


def _recorded(method: Any) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call_method(method, self, args, kwargs)

    call.__name__ = call.__qualname__ = method.symbol.name
    return call
