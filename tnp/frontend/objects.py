"""Objects of the user's classes as arguments: ``self`` of a jitted method, a dataclass of arrays.

The program gets a *shadow*: an instance of a subclass made for it, which reads attributes of the real object as inputs
of the trace, when they are read, and keeps what is stored. At the end of each call the program's stores are made on the
real object.
"""

from __future__ import annotations

import dataclasses
import operator
import types
from typing import TYPE_CHECKING, Any

from tnp.core.errors import NeedsEager
from tnp.frontend.sources import Source

if TYPE_CHECKING:
    from tnp.frontend.inputs import Inputs

__all__ = [
    "CODE_TYPES",
    "Construct",
    "guard_code",
    "is_made_by_statement",
    "is_plain_object",
    "is_shadow",
    "real_object",
    "release",
    "same_entries",
    "shadow",
    "stored_attributes",
]

#: kinds of what a class has to run
CODE_TYPES = (types.FunctionType, property, staticmethod, classmethod)

_MISSING = object()


def is_made_by_statement(kind: type) -> bool:
    """Whether a class was made by a class statement, and not by a library that tnp knows."""
    if kind.__module__.partition(".")[0] in ("builtins", "types", "functools", "typing", "abc", "enum", "numpy", "tnp"):
        return False
    return bool(kind.__flags__ & (1 << 9))  # Py_TPFLAGS_HEAPTYPE


def same_entries(found: Any, count: int, names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether a class's dictionary has ``count`` entries, and these very values."""
    return len(found) == count and all(map(operator.is_, map(found.get, names), values))


def is_plain_object(value: Any) -> bool:
    """Whether ``value`` is an instance of a class written in Python whose attributes a program may read and write."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("builtins", "types", "functools", "tnp") or isinstance(
        value, (type, BaseException)
    ):
        return False
    if not kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: made by a class statement
        return False
    if isinstance(value, (int, float, complex, str, bytes, tuple, list, dict, set, frozenset)):
        return False
    return hasattr(value, "__dict__") or hasattr(kind, "__slots__")


class _Shadowed:
    """What a shadow knows: the real object, where it comes from, and the attributes read or stored so far."""

    __slots__ = ("constant_numbers", "inputs", "parts", "read", "real", "source", "stored")

    def __init__(
        self, real: Any, source: Source, inputs: Inputs, parts: tuple[str, ...], constant_numbers: bool
    ) -> None:
        #: names of dicts of the object in which there are further attributes
        self.parts = parts
        #: whether numbers among the attributes are guarded by value: code without hooks uses them
        self.constant_numbers = constant_numbers
        self.real = real
        self.source = source
        self.inputs = inputs
        self.read: dict[str, Any] = {}
        self.stored: dict[str, Any] = {}

    def guard_code(self, name: str, descriptor: Any) -> None:
        """The trace holds only while ``name`` is this method, property or other descriptor of the class, or is missing."""
        prologue, e = self.inputs.prologue, self.source.expression
        description = f"{self.source.description}.{name} is " + ("missing" if descriptor is _MISSING else "the same")
        expected = prologue.constant(descriptor, "code")
        if isinstance(descriptor, types.FunctionType) and not name.startswith("__"):
            prologue.guard(f"{e}.{name}.__func__ is {expected}", description)
        elif isinstance(descriptor, property):
            prologue.guard(f"{prologue.constant(type(self.real), 'type')}.{name} is {expected}", description)
        else:
            look_up = prologue.constant(_attribute, "attribute")
            prologue.guard(f"{look_up}({e}, {name!r}) is {expected}", description)

    def in_part(self, name: str) -> Any:
        """An attribute that is in one of the dicts :attr:`parts`, lifted."""
        for part in self.parts:
            held = self.real.__dict__[part]
            if name in held:
                where = Source(f"{self.source.expression}.{part}[{name!r}]", f"{self.source.description}.{name}")
                return self.inputs.lift(held[name], where)
        return _MISSING

    def whole_part(self, part: str) -> dict[str, Any]:
        """One of the dicts :attr:`parts`, all in it lifted."""
        held, prologue = self.real.__dict__[part], self.inputs.prologue
        e, description = f"{self.source.expression}.{part}", self.source.description
        keys = prologue.constant(list(held), "keys")
        prologue.guard(f"list({e}) == {keys}", f"{description} has in {part} {list(held)}")
        return {k: self.inputs.lift(v, Source(f"{e}[{k!r}]", f"{description}.{k}")) for k, v in held.items()}


_shadow_classes: dict[type, type] = {}


def _instance_attribute(real: Any, name: str) -> Any:
    own = getattr(real, "__dict__", None)
    if own is not None and name in own:
        return own[name]
    descriptor = _class_attribute(type(real), name)
    if isinstance(descriptor, types.MemberDescriptorType):
        return descriptor.__get__(real, type(real))
    return _MISSING


def _class_attribute(kind: type, name: str) -> Any:
    for c in kind.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return _MISSING


def _attribute(real: Any, name: str) -> Any:
    """What ``real.name`` is found as: a value of the instance, or what stands in its class."""
    found = _instance_attribute(real, name)
    return _class_attribute(type(real), name) if found is _MISSING else found


def _shadow_class(kind: type, methods: dict[str, Any]) -> type:
    known = _shadow_classes.get(kind)
    if known is not None:
        return known

    def __getattribute__(self: Any, name: str) -> Any:
        state: _Shadowed = object.__getattribute__(self, "_tnp_shadowed")
        if name in ("_tnp_shadowed", "__class__"):
            return state if name == "_tnp_shadowed" else kind
        if name == "__module__":  # the class is guarded
            return kind.__module__
        if name in state.stored:
            return state.stored[name]
        if name in state.read:
            return state.read[name]
        if name in state.parts:
            return state.whole_part(name)
        if name == "__dict__":
            raise NeedsEager(f"it reads __dict__ of {state.source.description}")
        descriptor = _class_attribute(kind, name)
        found = _MISSING if isinstance(descriptor, property) else _instance_attribute(state.real, name)
        lifted = state.in_part(name) if found is _MISSING and descriptor is _MISSING else _MISSING
        if lifted is not _MISSING:
            state.read[name] = lifted
            return lifted
        if found is _MISSING:
            if descriptor is _MISSING or hasattr(type(descriptor), "__get__") or name.startswith("__"):
                state.guard_code(name, descriptor)
                return object.__getattribute__(self, name)
            found = descriptor  # data of the class
        lifted = state.inputs.lift(found, state.source.attribute(name))
        if state.constant_numbers:
            lifted = state.inputs.tracer.known(lifted)
        state.read[name] = lifted
        return lifted

    def __setattr__(self: Any, name: str, value: Any) -> None:
        state: _Shadowed = object.__getattribute__(self, "_tnp_shadowed")
        descriptor = _class_attribute(kind, name)
        if isinstance(descriptor, property):
            descriptor.__set__(self, value)
            return
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        state.stored[name] = value

    def __delattr__(self: Any, name: str) -> None:
        raise NeedsEager("it deletes an attribute of an argument")

    body = {
        "__slots__": ("_tnp_shadowed",),
        "__getattribute__": __getattribute__,
        "__setattr__": __setattr__,
        "__delattr__": __delattr__,
        "__hash__": object.__hash__,
        **methods,
    }
    try:
        made = type(kind)(kind.__name__, (kind,), body)
    except TypeError as error:
        raise NeedsEager(f"{kind.__name__} cannot be subclassed: {error}") from error
    _shadow_classes[kind] = made
    return made


def shadow(
    real: Any, source: Source, inputs: Inputs, *, parts: tuple[str, ...] = (), methods: dict[str, Any] | None = None,
    constant_numbers: bool = False,
) -> Any:  # fmt: skip
    """A stand-in for ``real`` in the program being traced.

    ``parts`` names dicts of the object in which it looks for attributes, ``methods`` are those of its class that the
    stand-in has others for; with ``constant_numbers`` the program depends on the values of the numbers that it reads.
    """
    made = object.__new__(_shadow_class(type(real), methods or {}))
    object.__setattr__(made, "_tnp_shadowed", _Shadowed(real, source, inputs, parts, constant_numbers))
    return made


def is_shadow(x: Any) -> bool:
    return type(x) in _shadow_classes.values()


def stored_attributes(x: Any) -> tuple[Source, type, dict[str, Any]]:
    """Where a shadow's real object comes from, its class, and the attributes that the program stored."""
    state: _Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    return state.source, type(state.real), state.stored


def real_object(x: Any) -> tuple[Any, Source, Inputs]:
    """What a shadow stands for, where that comes from, and the inputs that it is among."""
    state: _Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    return state.real, state.source, state.inputs


def guard_code(x: Any, name: str) -> None:
    """Guards what a shadow's class has for ``name``, a method that Python calls without asking the object for it."""
    state: _Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    state.guard_code(name, _class_attribute(type(state.real), name))


def release(x: Any) -> None:
    """Lets go of a shadow's real object."""
    object.__getattribute__(x, "_tnp_shadowed").real = None


class Construct:
    """An object that the program made and returns: rebuilt at each call from its class and its attributes."""

    __slots__ = ("attributes", "kind")

    def __init__(self, kind: type, attributes: dict[str, Any]) -> None:
        self.kind = kind
        self.attributes = attributes

    def __tnp_children__(self) -> list[Any]:
        return [self.attributes]

    def __tnp_rebuild__(self, children: list[Any]) -> Construct:
        return Construct(self.kind, children[0])

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        from tnp.core.printing import literal

        context["_construct"] = construct
        return f"_construct({literal(self.kind, context)}, {literal(self.attributes, context)})"


def construct(kind: type, attributes: dict[str, Any]) -> Any:
    """An instance of ``kind`` with these attributes, its ``__init__`` not run."""
    made = object.__new__(kind)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def attributes_of(x: Any) -> dict[str, Any]:
    """The attributes of an object that the program made."""
    found = dict(getattr(x, "__dict__", {}))
    for c in type(x).__mro__:
        for name in getattr(c, "__slots__", ()):
            if hasattr(x, name):
                found[name] = getattr(x, name)
    return found
