"""Variables of :mod:`contextvars`: a program reads what the calling context has, and may set one for a while.

A variable that the program has reset by its end, such as one that a decorator sets around a call, is left alone. Python runs what
leaves one set, as the caller's context is not the program's to change.
"""

from __future__ import annotations

from typing import Any

from tnp.capture import active
from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.mappings import AttributeReader
from tnp.capture.objects.twins import MISSING
from tnp.capture.tracing.outer_names import AssignedName
from tnp.core.errors import NeedsEager

__all__ = ["VariableReader", "is_variable_set"]


def _value(variable: Any, _: str) -> Any:
    """What the calling context has, which is no default."""
    return variable.get(MISSING)


def _value_or_default(variable: Any, _: str) -> Any:
    try:
        return variable.get()
    except LookupError:
        return MISSING


class SetVariable(AssignedName):
    """A variable that a program has set: ``value`` is what it has there now, :data:`MISSING` what its context has."""

    __slots__ = ("_description", "value")

    def __init__(self, description: str) -> None:
        self._description = description
        self.value: Any = MISSING

    def __str__(self) -> str:
        return f"the context variable {self._description}"

    def known(self, nothing: Any) -> Any:
        return nothing if self.value is MISSING else self.value

    def put(self, value: Any, nothing: Any) -> None:
        self.value = MISSING if value is nothing else value

    def is_assigned(self) -> bool:
        return self.value is not MISSING

    def bind(self, output: Any) -> None:
        raise NeedsEager(f"it leaves {self} set")


class Token:
    """What ``set`` gives in a program, for ``reset``."""

    __slots__ = ("_before", "_used", "_variable")

    def __init__(self, variable: SetVariable) -> None:
        self._variable, self._before, self._used = variable, variable.value, False

    def __getattr__(self, name: str) -> Any:
        raise NeedsEager(f"it reads {name} of the token of {self._variable}")


class VariableReader(AttributeReader):
    """Reads and sets such a variable for a program. Its value is an input; that it has none is guarded."""

    def attribute(self, of: Foreign, name: str) -> Any:
        methods = {"get": self._get, "set": self._set, "reset": self._reset}
        if name == "name":
            return real_value(of).name
        if name not in methods:
            return NotImplemented

        def method(*args: Any) -> Any:
            return methods[name](of, *args)

        return method

    def _set_by_program(self, of: Foreign) -> SetVariable:
        made = SetVariable(source_of(of).description)
        found = active.current().outer_names.setdefault((id(real_value(of)), ""), made)
        assert isinstance(found, SetVariable)
        return found

    def _get(self, of: Foreign, *default: Any) -> Any:
        if len(default) > 1:
            raise TypeError(f"get expected at most 1 argument, got {len(default)}")
        now = self._set_by_program(of).value
        if now is not MISSING:
            return now
        found = self._looked_up(of, _value if default else _value_or_default, "", ".get()")
        if found is MISSING and not default:
            raise LookupError(real_value(of))
        return default[0] if found is MISSING else found

    def _set(self, of: Foreign, value: Any) -> Token:
        variable = self._set_by_program(of)
        token = Token(variable)
        active.current().assigns(variable, "value")
        variable.value = value
        return token

    def _reset(self, of: Foreign, token: Any) -> None:
        variable = self._set_by_program(of)
        if type(token) is not Token or token._variable is not variable or token._used:
            raise NeedsEager(f"it resets {variable} by a token that is not of this program, or of another variable")
        active.current().assigns(variable, "value")
        variable.value, token._used = token._before, True


def is_variable_set() -> bool:
    """Whether the program has set a variable that it has not reset, which what Python calls for it does not see."""
    return any(type(a) is SetVariable and a.is_assigned() for a in active.current().outer_names.values())
