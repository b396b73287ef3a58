"""Objects that a program makes and returns: each call makes them anew."""

from __future__ import annotations

import types
from collections import OrderedDict
from typing import Any

__all__ = ["Again", "Called", "Construct", "Shared", "attributes_of", "is_made_of_attributes"]


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


class Shared:
    """What a program makes that stands in several places of its results: the first of these. The others are :class:`Again`; one of them
    may stand in it (``holds_itself``), if it is an object, a list or a dict."""

    __slots__ = ("holds_itself", "name", "value")

    def __init__(self, name: str, value: Any, holds_itself: bool = False) -> None:
        self.name, self.value, self.holds_itself = name, value, holds_itself

    def __tnp_children__(self) -> list[Any]:
        return [self.value]

    def __tnp_rebuild__(self, children: list[Any]) -> Shared:
        return Shared(self.name, children[0], self.holds_itself)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        value = self.value
        if not self.holds_itself:
            return f"({self.name} := {literal(value, context)})"
        context.update(_begun=_begun, _filled=_filled)
        is_object = isinstance(value, Construct)
        kind, is_dict = (value.kind, value.items is not None) if is_object else (type(value), False)
        parts = [f"({self.name} := _begun({literal(kind, context)}, {is_dict}))"]
        held = [value.attributes, value.items, value.fields] if is_object else [None, value]
        return f"_filled({', '.join([*parts, *(literal(x, context) for x in held)])})"


class Again:
    """Another place of what :class:`Shared` makes."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        return self.name


class Called:
    """What a function of Python's gives for these arguments: a set, a partial, a bound method, a function."""

    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Any, *arguments: Any, **keywords: Any) -> None:
        self.function, self.arguments, self.keywords = function, list(arguments), keywords

    def __tnp_children__(self) -> list[Any]:
        return [self.arguments, self.keywords]

    def __tnp_rebuild__(self, children: list[Any]) -> Called:
        arguments, keywords = children
        return Called(self.function, *arguments, **keywords)

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        given = [literal(x, context) for x in self.arguments]
        given += [f"{name}={literal(x, context)}" for name, x in self.keywords.items()]
        return f"{literal(self.function, context)}({', '.join(given)})"


def construct(
    kind: type, attributes: dict[str, Any], items: dict[Any, Any] | None = None, fields: tuple[str, ...] = ()
) -> Any:
    """An instance of ``kind`` with these attributes (and items, of which some are attributes, too), its ``__init__`` not run."""
    return _filled(_begun(kind, items is not None), attributes, items, fields)


def _begun(kind: type, is_dict: bool) -> Any:
    """An instance of ``kind`` with nothing in it."""
    if is_dict:
        return (OrderedDict if issubclass(kind, OrderedDict) else dict).__new__(kind)
    return kind() if kind in (list, dict, types.SimpleNamespace) else object.__new__(kind)


def _filled(made: Any, attributes: dict[str, Any] | None, items: Any = None, fields: tuple[str, ...] = ()) -> Any:
    if type(made) is list:
        made += items
    elif items is not None:
        base = OrderedDict if isinstance(made, OrderedDict) else dict
        for key, value in items.items():
            base.__setitem__(made, key, value)
        attributes = {**{name: items[name] for name in fields}, **(attributes or {})}
    for name, value in (attributes or {}).items():
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
