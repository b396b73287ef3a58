"""The fields of a dataclass, which :func:`dataclasses.fields` gives: Python makes them with the class, and they stay as they are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.prologue import Source

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["FIELDS", "attribute_of_field", "fields_of_class", "is_field"]

#: the name by which a class has its fields
FIELDS = "__dataclass_fields__"
#: attributes of a field that may be something which changes
_DATA = frozenset(("default", "metadata"))


def is_field(x: Any) -> bool:
    """Whether ``x`` is a field of a dataclass."""
    return type(x) is dataclasses.Field


def attribute_of_field(inputs: Inputs, field: Any, name: str) -> Any:
    """An attribute of a field."""
    value = getattr(field, name)
    if name not in _DATA or value is dataclasses.MISSING:
        return value
    return inputs.lift(value, Source(f"{inputs.prologue.constant(field, 'field')}.{name}", f"{name} of a field"))


def fields_of_class(inputs: Inputs, kind: type) -> Any:
    """``kind.__dataclass_fields__``, a dict; the class is guarded."""
    source = Source(f"{inputs.prologue.constant(kind, 'class')}.{FIELDS}", f"{kind.__name__}.{FIELDS}")
    return inputs.lift(getattr(kind, FIELDS), source)
