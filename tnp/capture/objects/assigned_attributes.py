"""Attributes and items that a loop or a branch assigns, as variables of it."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from tnp.capture.objects.shadows import is_plain_object, is_shadow
from tnp.capture.objects.twins import MISSING, class_attribute, class_of, instance_attribute, user_method
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.outer_names import Binding
from tnp.core.errors import NeedsEager

__all__ = ["UNBOUND", "Attribute", "Item", "dictionaries_of", "is_variable"]


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


#: what a variable is bound to that is not
UNBOUND = _Unbound()


class Attribute:
    """The attribute ``name`` of ``owner``, an object of the program's or what stands for one of the caller's."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: Any) -> None:
        self.owner, self.name = owner, name

    def __str__(self) -> str:
        if isinstance(self.owner, Binding):
            return str(self.owner)
        return f"{type(self.owner).__name__}.{self.name}"

    def get(self) -> Any:
        """What the object itself has. ``UNBOUND`` if that is nothing, or nothing that is traced: the class may have code for it."""
        owner, name = self.owner, self.name
        if isinstance(owner, Binding):
            return owner.known(UNBOUND)
        if not is_shadow(owner):
            return _of_instance(owner, name)
        shadowed = object.__getattribute__(owner, "_tnp_shadowed")
        if name in shadowed.stored:
            return shadowed.stored[name]
        if _of_instance(shadowed.real, name) is UNBOUND:  # what was read is of the class
            return UNBOUND
        try:
            return shadowed.read[name] if name in shadowed.read else getattr(owner, name)
        except NeedsEager:
            return UNBOUND

    def set(self, value: Any) -> None:
        """Puts ``value`` there, past all code of the class."""
        if isinstance(self.owner, Binding):
            self.owner.put(value, UNBOUND)
        elif is_shadow(self.owner):
            self._set_of_shadow(value)
        elif value is not UNBOUND:
            object.__setattr__(self.owner, self.name, value)
        elif self.get() is not UNBOUND:
            object.__delattr__(self.owner, self.name)

    def _set_of_shadow(self, value: Any) -> None:
        shadowed = object.__getattribute__(self.owner, "_tnp_shadowed")
        is_there = _of_instance(shadowed.real, self.name) is not UNBOUND
        if value is UNBOUND or (is_there and shadowed.read.get(self.name, UNBOUND) is value):
            shadowed.stored.pop(self.name, None)
        else:
            shadowed.stored[self.name] = value


class Item(Attribute):
    """The item ``name`` of a list or a dict, which the program has: a position or a key."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"item {self.name!r} of a {type(self.owner).__name__}"

    def get(self) -> Any:
        return self.owner[self.name]

    def set(self, value: Any) -> None:
        self.owner[self.name] = value


def _of_instance(real: Any, name: str) -> Any:
    try:
        held = instance_attribute(real, name)
    except AttributeError:  # a slot that nothing was assigned to
        return UNBOUND
    return UNBOUND if held is MISSING else held


def dictionaries_of(shadows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """What the program has of the attributes of objects: those that it has read and those that it has stored."""
    for x in shadows:
        shadowed = object.__getattribute__(x, "_tnp_shadowed")
        yield shadowed.read
        yield shadowed.stored


def is_variable(owner: Any, name: str, *, past_class: bool = False) -> bool:
    """Whether an assignment of the attribute stores a value in the object; ``past_class``: without a ``__setattr__`` of its class. If
    not, it calls code of the class, or raises. Raises :class:`NeedsEager` if that is not known."""
    shadowed = object.__getattribute__(owner, "_tnp_shadowed") if is_shadow(owner) else None
    real: Any = type(owner) if shadowed is None else type(shadowed.real)
    descriptor = class_attribute(real, name)
    if isinstance(descriptor, property) or user_method(descriptor, "__set__") is not None:
        return False
    is_plain = shadowed is not None or is_plain_object(owner)
    looks_up = is_followed(real.__getattribute__)
    if not is_plain or looks_up or (shadowed is not None and (shadowed.parts or shadowed.has_dictionary)):
        raise NeedsEager("it assigns an attribute of an object in a loop or a branch")
    if not past_class and is_followed(class_of(owner).__setattr__):
        return False
    return bool(real.__dictoffset__) or type(descriptor) is types.MemberDescriptorType
