"""What ``object`` itself does with an attribute, past the methods of a class: ``object.__setattr__(x, name, value)``, by which frozen
dataclasses and classes with a ``__setattr__`` of their own store a value, also as ``super().__setattr__(name, value)``.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.objects.assigned_attributes import is_variable
from tnp.capture.objects.foreign import Foreign, refuse
from tnp.capture.objects.named_tuples import check_assignment
from tnp.capture.objects.shadows import is_shadow, state_of
from tnp.capture.objects.twins import (
    MISSING,
    class_attribute,
    class_of,
    is_made_by_statement,
    is_twin,
    twin_of,
    user_method,
)
from tnp.capture.tracing.predicates import is_traced
from tnp.core.errors import NeedsEager

__all__ = ["OF_OBJECT", "is_of_object", "store_attribute"]


def is_of_object(f: Any) -> bool:
    """Whether a bound method is one of ``object`` for which there is one here."""
    return type(f) is types.MethodWrapperType and getattr(f, "__objclass__", None) is object and f.__name__ in _NAMES


def _check(owner: Any, name: Any) -> None:
    if type(owner) is Foreign:
        refuse(owner, f"assigns {name!r} of")
    if type(name) is not str or is_traced(owner) or isinstance(owner, (type, types.ModuleType, types.FunctionType)):
        raise NeedsEager(f"it assigns an attribute of a {class_of(owner).__name__} by a method of object")
    check_assignment(owner)
    tracer = active.current()
    if tracer.regions and is_variable(owner, name, past_class=True):
        tracer.assigns(owner, name)


def store_attribute(owner: Any, name: Any, value: Any) -> None:
    """``object.__setattr__(owner, name, value)``."""
    _check(owner, name)
    if is_shadow(owner):
        state_of(owner).store(owner, name, value)
    else:
        object.__setattr__(owner, name, value)


def _delete(owner: Any, name: Any) -> None:
    """``object.__delattr__(owner, name)``."""
    if is_shadow(owner):
        raise NeedsEager("it deletes an attribute of an argument")
    _check(owner, name)
    object.__delattr__(owner, name)


def _get(owner: Any, name: Any) -> Any:
    """``object.__getattribute__(owner, name)``."""
    if type(owner) is Foreign or is_traced(owner) or type(name) is not str:
        raise NeedsEager(f"it reads an attribute of a {class_of(owner).__name__} by a method of object")
    if is_shadow(owner):
        return state_of(owner).plain(owner, name)
    descriptor = class_attribute(type(owner), name)
    held = name in getattr(owner, "__dict__", ()) and not hasattr(type(descriptor), "__set__")
    if held or descriptor is MISSING or name.startswith("__"):
        return object.__getattribute__(owner, name)
    if user_method(descriptor, "__get__") is not None or isinstance(owner, (type, types.ModuleType)):
        raise NeedsEager(f"it reads {name} of a {class_of(owner).__name__} by a method of object")
    return active.current().runtime.attribute(owner, name)


def _new(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """``object.__new__(kind)``, from the ``__new__`` of a class."""
    if not isinstance(kind, type) or not is_made_by_statement(kind) or is_twin(kind):
        return object.__new__(kind, *args, **kwargs)
    inputs = active.current().inputs
    inputs.guard_class(kind, data=True)
    made: Any = object.__new__(twin_of(kind), *args, **kwargs)
    inputs.made[id(made)] = made
    return made


#: what takes the place of methods of ``object``
OF_OBJECT: dict[Any, Callable[..., Any]] = {
    object.__setattr__: store_attribute,
    object.__delattr__: _delete,
    object.__getattribute__: _get,
    object.__new__: _new,
}
_NAMES = frozenset(f.__name__ for f in OF_OBJECT)
