"""Members of enumerations that have special methods of the user's, such as a ``__str__``: a program reads their names and values.

Python calls those methods by itself, so that any other use of such a member is Python's. Other members are constants.
"""

from __future__ import annotations

import enum
from typing import Any

from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.mappings import AttributeReader
from tnp.capture.objects.twins import class_attribute

__all__ = ["MemberReader"]

_READ = frozenset(("name", "value"))
_CONSTANTS = frozenset((bool, int, float, str, type(None)))


class MemberReader(AttributeReader):
    """Reads the name and the value of a member, which is guarded to be the same."""

    def attribute(self, of: Foreign, name: str) -> Any:
        member = real_value(of)
        if name not in _READ or class_attribute(type(member), name) is not enum.Enum.__dict__[name]:
            return NotImplemented
        value = getattr(member, name)
        if type(value) not in _CONSTANTS:
            return NotImplemented
        source, prologue = source_of(of), self._inputs.prologue
        prologue.guard(
            f"{source.expression} is {prologue.constant(member, 'member')}",
            f"{source.description} is the member {member.name} of {type(member).__name__}",
        )
        return value
