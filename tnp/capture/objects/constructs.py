"""Objects that a program makes and returns: each call makes them anew."""

from __future__ import annotations

import types
from collections import OrderedDict
from typing import Any

__all__ = ["Construct", "attributes_of", "is_made_of_attributes"]


class Construct:
    """An object that the program made and returns: rebuilt at each call from its class and its attributes.

    If it is a dict, ``items`` are what is in it; attributes that are the very items of their name (a dataclass that is a dict
    of its fields) stand in ``fields``.
    """

    __slots__ = ("attributes", "fields", "items", "kind")

    def __init__(
        self, kind: type, attributes: dict[str, Any], items: dict[Any, Any] | None = None, fields: tuple[str, ...] = ()
    ) -> None:
        self.kind = kind
        self.attributes = attributes
        self.items = items
        self.fields = fields

    def __tnp_children__(self) -> list[Any]:
        return [self.attributes, self.items]

    def __tnp_rebuild__(self, children: list[Any]) -> Construct:
        attributes, items = children
        return Construct(self.kind, attributes, items, self.fields)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_construct"] = construct
        parts = [literal(self.kind, context), literal(self.attributes, context)]
        if self.items is not None:
            parts += [literal(self.items, context), literal(self.fields, context)]
        return f"_construct({', '.join(parts)})"


def construct(
    kind: type, attributes: dict[str, Any], items: dict[Any, Any] | None = None, fields: tuple[str, ...] = ()
) -> Any:
    """An instance of ``kind`` with these attributes (and items, of which some are attributes, too), its ``__init__`` not run."""
    if items is None:
        made = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    else:
        base = OrderedDict if issubclass(kind, OrderedDict) else dict
        made = base.__new__(kind)
        for key, value in items.items():
            base.__setitem__(made, key, value)
        attributes = {**{name: items[name] for name in fields}, **attributes}
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def is_made_of_attributes(x: Any) -> bool:
    """Whether all that there is to ``x`` are its attributes, and its items if it is a dict: no class of its is a library's in C."""
    kinds = [c for c in type(x).__mro__ if c not in (object, dict, OrderedDict)]
    return bool(kinds) and all(c.__flags__ & (1 << 9) for c in kinds) and not isinstance(x, (type, BaseException))


def attributes_of(x: Any) -> dict[str, Any]:
    """The attributes of an object that the program made."""
    found = dict(getattr(x, "__dict__", {}))
    for c in type(x).__mro__:
        for member in c.__dict__.values():
            if type(member) is types.MemberDescriptorType and "__slots__" in c.__dict__:
                try:
                    found[member.__name__] = member.__get__(x, type(x))
                except AttributeError:  # nothing was assigned to it
                    continue
    return found
