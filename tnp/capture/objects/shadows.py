"""Shadows: stand-ins for instances of user classes, such as ``self`` of a jitted method or a dataclass of arrays.

A *shadow* is an instance of a generated subclass. It reads attributes of the real object lazily, as inputs of the
trace, and buffers stores. At the end of each call the program performs its stores on the real object.
"""

from __future__ import annotations

import copy
import enum
import functools
import operator
import types
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.guards.varying_values import AssignsNumber
from tnp.capture.objects.array_classes import is_array_class, mirror_of, plain_view
from tnp.capture.objects.attribute_dicts import AttributeDict
from tnp.capture.objects.dataclass_fields import FIELDS, fields_of_class
from tnp.capture.objects.foreign import Foreign
from tnp.capture.objects.simple_namespaces import namespaces_equal, text_of_namespace
from tnp.capture.objects.twins import (
    ARRAY_PROTOCOLS,
    MISSING,
    ClassCache,
    class_attribute,
    instance_attribute,
    make_class,
    traced_members,
    user_method,
)
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = [
    "CODE_TYPES",
    "Shadowed",
    "derived_from",
    "guard_code",
    "holds_others",
    "is_copy",
    "is_plain_object",
    "is_shadow",
    "is_stand_in",
    "real_object",
    "release",
    "same_entries",
    "shadow",
    "state_of",
    "stored_attributes",
]

#: kinds of what a class has to run
CODE_TYPES = (types.FunctionType, property, staticmethod, classmethod)

#: attributes that Python has of each object, or of its class
_OF_EVERY_OBJECT = ("__class__", "__dict__", "__module__", "__weakref__")

#: kinds of descriptors that do nothing but give what they hold, bound to the object
_KNOWN_DESCRIPTORS = (
    *CODE_TYPES, types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.BuiltinFunctionType, types.ClassMethodDescriptorType, type,
)  # fmt: skip


def same_entries(found: Any, count: int, names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether a class's dictionary has ``count`` entries, and these very values; the one that ``copy`` adds is not counted."""
    return len(found) - ("__slotnames__" in found) == count and all(map(operator.is_, map(found.get, names), values))


def is_plain_object(value: Any) -> bool:
    """Whether ``value`` is an instance of a class written in Python, or of ``SimpleNamespace``, all of whose state is in attributes that a
    program may read and write."""
    kind: Any = type(value)
    if kind is types.SimpleNamespace:
        return True
    if str(kind.__module__).partition(".")[0] in ("builtins", "types", "functools", "tnp") or isinstance(
        value, (type, enum.Enum)
    ):
        return False
    if not kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: made by a class statement
        return False
    # hasattr(value, "__dict__") would run a `__getattribute__` of the user's
    return not _has_hidden_state(kind) and (kind.__dictoffset__ != 0 or hasattr(kind, "__slots__"))


@functools.lru_cache(1_000)
def _has_hidden_state(kind: type) -> bool:
    """Whether objects of a class have memory beside their attributes, or are made by code in C (``ast.Module``): a class in C is among
    those that it inherits from."""
    if any(type(vars(c).get("__new__")) is types.BuiltinFunctionType for c in kind.__mro__ if c is not object):
        return True
    slots = sum(
        isinstance(member, types.MemberDescriptorType)
        for c in kind.__mro__
        if "__slots__" in c.__dict__
        for member in c.__dict__.values()
    )
    pointers = slots + (kind.__weakrefoffset__ > 0) + (kind.__dictoffset__ > 0)
    return kind.__basicsize__ != object.__basicsize__ + 8 * pointers or kind.__itemsize__ != 0


class Shadowed:
    """What a shadow knows: the real object, where it comes from, and the attributes read or stored so far."""

    __slots__ = (
        "attributes", "changed", "constant_numbers", "copies", "has_dictionary", "inputs", "parts", "read", "real", "source", "stored", "whole_parts",
    )  # fmt: skip

    def __init__(
        self, real: Any, source: Source, inputs: Inputs, parts: tuple[str, ...], constant_numbers: bool
    ) -> None:
        #: names of dicts of the object in which there are further attributes
        self.parts = parts
        #: of those, the ones that the program has got hold of: attributes are looked up there from then on
        self.whole_parts: dict[str, dict[str, Any]] = {}
        #: whether numbers among the attributes are guarded by value: code without hooks uses them
        self.constant_numbers = constant_numbers
        self.real = real
        self.source = source
        self.inputs = inputs
        self.read: dict[str, Any] = {}
        self.stored: dict[str, Any] = {}
        #: whether the program has its ``__dict__``, which shows what is assigned afterwards
        self.has_dictionary = False
        #: its ``__dict__``, as the program sees it
        self.attributes: AttributeDict | None = None
        #: of a copy that the program made of the object: how what the object is made of is copied
        self.copies: Callable[[Any], Any] | None = None
        #: of such a copy, where attributes are looked up by code of the class: an object that is stored to
        self.changed: Any = None

    def look_up(self, name: str) -> Any:
        """An attribute of an object whose class looks attributes up itself."""
        found = getattr(self.real, name)
        if self.changed is not None:
            now = getattr(self.changed, name)
            if now is not found:
                return now
        return self.lifted(found, name)

    def to_change(self, name: str) -> Any:
        """What an attribute is stored to, or deleted from, of a copy whose class looks attributes up itself."""
        if self.copies is None:
            raise NeedsEager(
                f"it assigns {name!r} of {self.source.description}, whose class looks attributes up itself"
            )
        if self.changed is None:
            self.changed = copy.copy(self.real)
        self.read.clear()  # it may be looked up under another name
        return self.changed

    def lifted(self, found: Any, name: str, source: Source | None = None) -> Any:
        """What the attribute ``name`` is to the program, which reads it now, from ``source`` if that is not the attribute."""
        with self.inputs.numbers_as(constant=self.constant_numbers):
            lifted = self.inputs.lift(found, source or self.place_of(name))
        if self.copies is not None:
            lifted = self.copies(lifted)
        self.read[name] = lifted
        return lifted

    def place_of(self, name: str) -> Source:
        """Where an attribute comes from at each call."""
        if not is_followed(type(self.real).__getattribute__):
            return self.source.attribute(name)
        read = self.inputs.prologue.constant(object.__getattribute__, "read")
        return Source(f"{read}({self.source.expression}, {name!r})", f"{self.source.description}.{name}")

    def dictionary(self) -> dict[str, Any]:
        """The object's ``__dict__``, all in it lifted. The program may not change it."""
        e, description = self.source.expression, self.source.description
        held = self.real.__dict__
        keys = self.inputs.prologue.constant(list(held), "keys")
        self.inputs.prologue.guard(f"list({e}.__dict__) == {keys}", f"{description} has the attributes {list(held)}")
        made = {k: self.lifted(v, k, Source(f"{e}.__dict__[{k!r}]", f"{description}.{k}")) for k, v in held.items()}
        if self.changed is not None:
            now = self.changed.__dict__
            made = {k: v for k, v in made.items() if k in now}
            made.update({k: v for k, v in now.items() if held.get(k, MISSING) is not v})
        made.update(self.stored)
        self.has_dictionary = True
        self.inputs.watch(made, Source(f"{e}.__dict__", f"{description}.__dict__"), held)
        return made

    def elements(self) -> Any:
        """Of an array of a user's class, the plain array on its memory."""
        plain = self.inputs.prologue.constant(plain_view, "plain_view")
        source = self.inputs.prologue.let(Source(f"{plain}({self.source.expression})", self.source.description))
        return self.inputs.lift(plain_view(self.real), source)

    def view(self, made: Any) -> AttributeDict:
        """The same where the class does not look attributes up itself, which the program may change. ``made`` is the stand-in."""
        if not type(self.real).__dictoffset__:
            raise AttributeError(f"{type(self.real).__name__!r} object has no attribute '__dict__'")
        if self.attributes is None:
            self.attributes = AttributeDict(self, made, active.current().runtime.store_attribute)
        return self.attributes

    def guard_same_object(self) -> Any:
        """The real object, on which the trace specializes: the program uses its identity."""
        self.inputs.guard_identity(self.real, self.source)
        return self.real

    def get_by(self, getter: Any, descriptor: Any, name: str, made: Any) -> Any:
        """The attribute ``name`` of ``made``, as the ``__get__`` of a descriptor of the user's gives it."""
        look_up = self.inputs.prologue.constant(_attribute, "attribute")
        where = Source(f"{look_up}({self.source.expression}, {name!r})", f"{self.source.description}.{name}")
        lifted = self.inputs.lift(descriptor, where)
        return active.current().runtime.call(getter, lifted, made, type(self.real))

    def guard_code(self, name: str, descriptor: Any) -> None:
        """The trace holds only while ``name`` is this method, property or other descriptor of the class, or is missing."""
        prologue, e = self.inputs.prologue, self.source.expression
        description = f"{self.source.description}.{name} is " + ("missing" if descriptor is MISSING else "the same")
        expected = prologue.constant(descriptor, "code")
        looks_up_itself = is_followed(type(self.real).__getattribute__)
        if isinstance(descriptor, types.FunctionType) and not name.startswith("__") and not looks_up_itself:
            prologue.guard(f"{e}.{name}.__func__ is {expected}", description)
        elif isinstance(descriptor, property) and not name.startswith("__"):
            prologue.guard(f"{prologue.constant(type(self.real), 'type')}.{name} is {expected}", description)
        else:
            look_up = prologue.constant(_attribute, "attribute")
            prologue.guard(f"{look_up}({e}, {name!r}) is {expected}", description)

    def own(self, name: str) -> Source:
        """Where an attribute of the object itself comes from, in whose absence code of its class would run."""
        look_up = self.inputs.prologue.constant(instance_attribute, "own_attribute")
        return Source(f"{look_up}({self.source.expression}, {name!r})", f"{self.source.description}.{name}")

    def may_keep(self, name: str, descriptor: cached_property[Any]) -> bool:
        """Whether the program computes a cached property itself, and assigns it to the object as it does other attributes."""
        return descriptor.attrname == name and is_followed(descriptor.func)

    def in_part(self, name: str) -> Any:
        """An attribute that is in one of the dicts :attr:`parts`, lifted."""
        for part in self.parts:
            whole, held = self.whole_parts.get(part), self.real.__dict__[part]
            if whole is not None:
                if name in whole:
                    return whole[name]
            elif name in held:
                where = Source(f"{self.source.expression}.{part}[{name!r}]", f"{self.source.description}.{name}")
                self.read[name] = lifted = self.inputs.lift(held[name], where)
                return lifted
        return MISSING

    def whole_part(self, part: str) -> dict[str, Any]:
        """One of the dicts :attr:`parts`, all in it lifted. What the program puts there it finds there; a program that leaves it changed
        runs eagerly."""
        made = self.whole_parts.get(part)
        if made is None:
            held, prologue = self.real.__dict__[part], self.inputs.prologue
            e, description = f"{self.source.expression}.{part}", self.source.description
            if not held.keys().isdisjoint(self.stored):
                raise NeedsEager(f"it reads {part} of {description} after it has stored attributes that are there")
            keys = prologue.constant(list(held), "keys")
            prologue.guard(f"list({e}) == {keys}", f"{description} has in {part} {list(held)}")
            made = {k: self.inputs.lift(v, Source(f"{e}[{k!r}]", f"{description}.{k}")) for k, v in held.items()}
            for name in held:
                self.read.pop(name, None)
            self.inputs.watch(made, Source(e, f"{description}.{part}"))
            self.whole_parts[part] = made
        return made

    def plain(self, made: Any, name: str) -> Any:
        """An attribute of the object, whose stand-in is ``made``, past a ``__getattribute__`` and a ``__getattr__`` of its class."""
        return type(made)._tnp_read(made, name)

    def store(self, made: Any, name: str, value: Any) -> None:
        """Stores an attribute of the object, whose stand-in is ``made``, past a ``__setattr__`` of its class."""
        kind, where = type(self.real), f"{self.source.description}.{name}"
        descriptor = class_attribute(kind, name)
        if name in _OF_EVERY_OBJECT or (is_array_class(kind) and name in vars(np.ndarray)):
            raise NeedsEager(f"it assigns {where}")
        if isinstance(descriptor, property):
            class_attribute(type(made), name).__set__(made, value)
            return
        if user_method(descriptor, "__set__") is not None:
            active.current().runtime.set_by(descriptor, name, made, kind, value)
            return
        if not hasattr(self.real, "__dict__") and not isinstance(descriptor, types.MemberDescriptorType):
            kept = "is read-only" if descriptor is not MISSING else f"is no attribute of {kind.__name__!r}"
            raise AttributeError(f"{name!r} {kept}")
        if self.has_dictionary:
            raise NeedsEager(f"it assigns {where} and holds its __dict__")
        if self.constant_numbers and self.copies is None:
            was: Any = self.read.get(name)
            varying = self.inputs.prologue.varying
            if type(was) in (int, float) and varying.has_other_value(where, was):
                raise AssignsNumber(where)
        part = self.part_with(name)
        (self.stored if part is None else part)[name] = value

    def part_with(self, name: str) -> dict[str, Any] | None:
        """The dict among :attr:`whole_parts` in which there is an attribute of that name."""
        return next((made for made in self.whole_parts.values() if name in made), None)


def _attribute(real: Any, name: str) -> Any:
    """What ``real.name`` is found as: a value of the instance, or what stands in its class."""
    found = instance_attribute(real, name)
    return class_attribute(type(real), name) if found is MISSING else found


def state_of(shadow: Any) -> Shadowed:
    found: Shadowed = object.__getattribute__(shadow, "_tnp_shadowed")
    return found


def _is_data_descriptor(descriptor: Any) -> bool:
    kind = type(descriptor)
    return isinstance(descriptor, property) or (hasattr(kind, "__get__") and hasattr(kind, "__set__"))


def _is_objects_own(kind: type, name: str) -> bool:
    """Whether a class has a special method from ``object`` itself."""
    return getattr(kind, name) is getattr(object, name)


def _class_or_own_attribute(shadow: Any, kind: type, name: str, descriptor: Any) -> Any:
    """What a shadow of an object of the class ``kind``, which has ``descriptor`` for that name, gives for an attribute."""
    shadowed = state_of(shadow)
    found = MISSING if _is_data_descriptor(descriptor) and type(descriptor) is not types.MemberDescriptorType else (
        instance_attribute(shadowed.real, name)
    )  # fmt: skip
    lifted = shadowed.in_part(name) if found is MISSING and descriptor is MISSING else MISSING
    if lifted is not MISSING:
        return lifted
    if found is MISSING:
        if name == FIELDS and type(descriptor) is dict:
            return fields_of_class(shadowed.inputs, kind)
        if descriptor is MISSING or hasattr(type(descriptor), "__get__"):
            getter = user_method(descriptor, "__get__")
            if getter is not None:
                return shadowed.get_by(getter, descriptor, name, shadow)
            if type(descriptor) is cached_property and shadowed.may_keep(name, descriptor):
                return _kept(shadow, name, descriptor)
            if descriptor is not MISSING and not _is_known_descriptor(descriptor):
                raise NeedsEager(f"{shadowed.source.description}.{name} is made by a {type(descriptor).__name__}")
            shadowed.guard_code(name, descriptor)
            if type(descriptor) is classmethod:
                return descriptor.__get__(None, kind)
            return object.__getattribute__(shadow, name)
        found = descriptor  # data of the class
    elif type(descriptor) is cached_property or user_method(descriptor, "__get__") is not None:
        return shadowed.lifted(found, name, shadowed.own(name))
    return shadowed.lifted(found, name)


def _kept(shadow: Any, name: str, descriptor: cached_property[Any]) -> Any:
    """What a ``cached_property`` gives, which is an attribute of the object from then on."""
    state_of(shadow).guard_code(name, descriptor)
    value = active.current().runtime.call(descriptor.func, shadow)
    active.current().runtime.store_attribute(shadow, name, value)
    return value


def _shadow_class(kind: type, methods: dict[str, Any]) -> type:
    looks_up_itself = not _is_objects_own(kind, "__getattribute__") and type not in kind.__mro__
    if kind is types.SimpleNamespace:
        looks_up_itself = False
    own_look_up: Any = kind.__getattribute__ if is_followed(kind.__getattribute__) else None
    if own_look_up is not None:
        looks_up_itself = False

    def __getattribute__(self: Any, name: str) -> Any:
        if own_look_up is None or name in ("_tnp_shadowed", "__class__") or active.running() is None:
            return read(self, name)
        return active.current().runtime.call(own_look_up, self, name)

    def read(self: Any, name: str) -> Any:
        shadowed = state_of(self)
        if name in ("_tnp_shadowed", "__class__"):
            return shadowed if name == "_tnp_shadowed" else kind
        if name == "__module__":  # the class is guarded
            return kind.__module__
        if name in shadowed.stored:
            return shadowed.stored[name]
        if name in shadowed.read:
            return shadowed.read[name]
        if name in shadowed.parts:
            return shadowed.whole_part(name)
        if name == "__dict__":
            if shadowed.parts:
                raise NeedsEager(f"it reads __dict__ of {shadowed.source.description}")
            return shadowed.dictionary() if looks_up_itself else shadowed.view(self)
        descriptor = class_attribute(kind, name)
        if looks_up_itself and not isinstance(descriptor, CODE_TYPES) and not name.startswith("__"):
            return shadowed.look_up(name)
        return _class_or_own_attribute(self, kind, name, descriptor)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if looks_up_itself:
            setattr(state_of(self).to_change(name), name, value)
        elif sets_itself:
            active.current().runtime.call(kind.__setattr__, self, name, value)
        else:
            state_of(self).store(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        shadowed = state_of(self)
        if not looks_up_itself or shadowed.copies is None:
            raise NeedsEager("it deletes an attribute of an argument")
        delattr(shadowed.to_change(name), name)

    sets_itself = is_followed(kind.__setattr__)
    body = {
        "__slots__": ("_tnp_shadowed",),
        **_identity_methods(kind),
        **traced_members(kind),
        **{name: _refuse_protocol for name in ARRAY_PROTOCOLS if callable(getattr(kind, name, None))},
        "__getattribute__": __getattribute__,
        "_tnp_read": read,
        "__setattr__": __setattr__,
        "__delattr__": __delattr__,
        **_copying_methods(kind),
        **methods,
    }
    if is_array_class(kind):
        body["_tnp_twin_of"], body["_tnp_lifted"] = kind, lambda self: state_of(self).elements()
        return make_class(mirror_of(kind), body)
    return make_class(kind, body)


_shadow_classes = ClassCache(_shadow_class)


def _copying_methods(kind: type) -> dict[str, Any]:
    """What :mod:`copy` calls, where a class does not have it."""
    methods = {
        "__copy__": lambda self: active.current().runtime.copied(self),
        "__deepcopy__": lambda self, memo: active.current().runtime.deeply_copied(self, memo),
    }
    return {name: method for name, method in methods.items() if not is_followed(getattr(kind, name, None))}


def _is_known_descriptor(descriptor: Any) -> bool:
    known = isinstance(descriptor, _KNOWN_DESCRIPTORS) or hasattr(descriptor, "__tnp_function__")  # a jitted method
    return known or str(type(descriptor).__module__).partition(".")[0] == "torch"


def _identity_methods(kind: type) -> dict[str, Any]:
    """What Python asks of an object whose class does not say it: the hash, equality and text of the real one."""
    methods: dict[str, Any] = (
        {"__del__": lambda self: None} if hasattr(kind, "__del__") else {}
    )  # the real object lives on
    if kind is types.SimpleNamespace:
        return {"__eq__": namespaces_equal, "__hash__": None, "__repr__": text_of_namespace}
    if _is_objects_own(kind, "__hash__"):
        methods["__hash__"] = lambda self: hash(state_of(self).guard_same_object())
    elif kind.__hash__ is None:
        methods["__hash__"] = None
    else:
        methods["__hash__"] = kind.__hash__
    if _is_objects_own(kind, "__eq__"):

        def __eq__(self: Any, other: Any) -> Any:
            if self is other or state_of(self).real is other:
                state_of(self).guard_same_object()
                return True
            return NotImplemented

        methods["__eq__"] = __eq__
    if _is_objects_own(kind, "__repr__"):

        def __repr__(self: Any) -> str:
            if active.running() is None:  # in the message of an error
                return f"<{kind.__qualname__} object>"
            raise NeedsEager(f"it writes {state_of(self).source.description}, which has no text but its address")

        methods["__repr__"] = __repr__
    return methods


def _refuse_protocol(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NeedsEager(f"NumPy calls a method of {state_of(self).source.description}")


def shadow(
    real: Any, source: Source, inputs: Inputs, *, parts: tuple[str, ...] = (), methods: dict[str, Any] | None = None,
    constant_numbers: bool = False,
) -> Any:  # fmt: skip
    """A stand-in for ``real`` in the program being traced.

    ``parts`` names dicts of the object in which it looks for attributes, ``methods`` are those of its class that the
    stand-in has others for; with ``constant_numbers`` the program depends on the values of the numbers that it reads.
    """
    shadow_class = _shadow_classes.get(type(real), methods or {})
    new = types.SimpleNamespace.__new__ if type(real) is types.SimpleNamespace else object.__new__
    made: Any = new(shadow_class)
    object.__setattr__(made, "_tnp_shadowed", Shadowed(real, source, inputs, parts, constant_numbers))
    return made


def is_copy(x: Any) -> bool:
    """Whether a shadow is a copy that the program made of an object."""
    return object.__getattribute__(x, "_tnp_shadowed").copies is not None


def is_shadow(x: Any) -> bool:
    """Whether ``x`` is a stand-in for an object."""
    return "_tnp_shadowed" in type(x).__dict__


def is_stand_in(x: Any) -> bool:
    """Whether ``x`` stands for an object of the caller."""
    return type(x) is Foreign or is_shadow(x)


def stored_attributes(x: Any) -> tuple[Source, type, dict[str, Any]]:
    """Where a shadow's real object comes from, its class, and the attributes that the program stored."""
    shadowed: Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    return shadowed.source, type(shadowed.real), shadowed.stored


def holds_others(x: Any) -> bool:
    """Whether the program stored anything in a shadow but what was there: ``a.x += b`` stores the array that it changed."""
    shadowed: Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    return any(shadowed.read.get(name) is not value for name, value in shadowed.stored.items())


def real_object(x: Any) -> tuple[Any, Source, Inputs]:
    """What a shadow stands for, where that comes from, and the inputs that it is among."""
    shadowed: Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    return shadowed.real, shadowed.source, shadowed.inputs


def derived_from(x: Any, text: str, make: Callable[[Any], Any]) -> Any:
    """What ``make`` gives of the real object of a shadow, lifted; ``text`` is the same as a member of an expression. It is made before the
    program runs, which may not have changed the object."""
    shadowed: Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    if text in shadowed.read:
        return shadowed.read[text]
    written = any(type(a) is TracedArray and a.storage.written for a in shadowed.read.values())
    if written or shadowed.stored or shadowed.copies is not None:
        raise NeedsEager(f"it has changed {shadowed.source.description}, and reads .{text}")
    return shadowed.lifted(make(shadowed.real), text)


def guard_code(x: Any, name: str) -> None:
    """Guards what a shadow's class has for ``name``, a method that Python calls without asking the object for it."""
    shadowed: Shadowed = object.__getattribute__(x, "_tnp_shadowed")
    shadowed.guard_code(name, class_attribute(type(shadowed.real), name))


def release(x: Any) -> None:
    """Lets go of a shadow's real object."""
    object.__getattribute__(x, "_tnp_shadowed").real = None
