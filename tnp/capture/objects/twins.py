"""Twin classes: subclasses of the user's classes whose special methods and properties are traced.

Python calls ``__add__``, ``__eq__`` or a property's getter from C, so no hook of the rewriter sees the call. A twin has
a method of that name that calls the user's method through the tracer. Stand-ins for the caller's objects, and objects
that the program creates, are instances of twins; for the program, ``type(x)`` and ``x.__class__`` are the user's class.
"""

from __future__ import annotations

import abc
import enum
import functools
import operator
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any

from tnp.capture import active
from tnp.capture.objects.type_versions import version_of
from tnp.capture.rewrite.code_origin import is_followed, is_followed_class, is_library_class
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager

__all__ = [
    "ARRAY_PROTOCOLS",
    "MISSING",
    "attributes_past_class",
    "class_attribute",
    "class_of",
    "instance_attribute",
    "is_bare",
    "is_hooked",
    "is_made_by_statement",
    "is_twin",
    "make_class",
    "traced_members",
    "twin_of",
    "user_method",
]

MISSING = object()

#: special methods that Python calls on a class, while it makes an object, or that stand-ins have of their own
_LEFT_ALONE = frozenset(
    ("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__", "__getattribute__",
     "__get__", "__set__", "__delete__", "__subclasshook__", "__instancecheck__", "__subclasscheck__", "__post_init__")
)  # fmt: skip


#: what NumPy asks of the objects that it is given
ARRAY_PROTOCOLS = (
    "__array__", "__array_ufunc__", "__array_function__", "__array_wrap__", "__array_prepare__", "__array_finalize__", "__array_interface__", "__array_struct__",
)  # fmt: skip


class ClassCache:
    """Classes made of the user's, by those; each holds until its original is changed. The ones used longest ago go first."""

    SIZE = 512

    def __init__(self, make: Callable[..., type]) -> None:
        self.make = make
        self.made: OrderedDict[type, tuple[int, type]] = OrderedDict()

    def get(self, kind: type, *args: Any) -> type:
        """What ``make(kind, *args)`` gives."""
        tag = version_of(kind)
        version = tag.value if tag is not None else 0
        known = self.made.get(kind)
        if known is not None and known[0] == version != 0:
            self.made.move_to_end(kind)
            return known[1]
        made = self.make(kind, *args)
        self.made[kind] = version, made
        self.made.move_to_end(kind)
        while len(self.made) > self.SIZE:
            self.made.popitem(last=False)
        return made


def class_attribute(kind: type, name: str) -> Any:
    """What a class or one that it inherits from has under ``name``, as it stands in its dictionary."""
    for c in kind.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return MISSING


def attributes_past_class(real: Any) -> Any:
    """The ``__dict__`` of an object, past a ``__getattribute__`` of its class; ``None`` if it has none."""
    return object.__getattribute__(real, "__dict__") if type(real).__dictoffset__ else None


def instance_attribute(real: Any, name: str) -> Any:
    """What an object itself has under ``name``, past all code of its class; ``MISSING`` if nothing."""
    own = (
        getattr(real, "__dict__", None) if not is_followed(type(real).__getattribute__) else attributes_past_class(real)
    )
    if own is not None and name in own:
        return own[name]
    descriptor = class_attribute(type(real), name)
    if isinstance(descriptor, types.MemberDescriptorType):
        return descriptor.__get__(real, type(real))
    return MISSING


#: modules whose classes are not made by class statements of the user's
_MAKE_CLASSES = frozenset(("abc", "builtins", "enum", "functools", "numpy", "tnp", "types", "typing"))


def is_made_by_statement(kind: type) -> bool:
    """Whether a class was made by a class statement, and not by a library that tnp knows."""
    if str(kind.__module__).partition(".")[0] in _MAKE_CLASSES:
        return False
    return bool(kind.__flags__ & (1 << 9))  # Py_TPFLAGS_HEAPTYPE


def is_twin(kind: type) -> bool:
    """Whether a class is a twin of one of the user's."""
    return "_tnp_twin_of" in kind.__dict__


def class_of(x: Any) -> type:
    """The class of an object of the program, as the user knows it."""
    kind = type(x)
    known: type = kind.__dict__.get("_tnp_twin_of", kind)
    return known


#: methods that have to return a value of Python's own, which is known then
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool, "__len__": operator.index, "__length_hint__": operator.index, "__index__": operator.index, "__int__": int, "__float__": float,
    "__complex__": complex, "__hash__": operator.index,
}  # fmt: skip


def _hooked(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    convert = _CONVERSIONS.get(name)

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        tracer = active.running()
        if tracer is None:
            return function(*args, **kwargs)
        result = tracer.runtime.call(function, *args, **kwargs)
        return convert(result) if convert is not None and type(result) in (TracedArray, TracedNumber) else result

    method.__dict__["_tnp_hooked"] = True
    return method


def is_bare(cls: type) -> bool:
    """Whether a class whose methods are traced has special methods, but neither an ``__init__`` nor a ``__new__``."""
    made_by: Any = cls
    is_plain = made_by.__new__ is object.__new__ and made_by.__init__ is object.__init__
    is_traced = not is_library_class(cls) or is_followed_class(cls)
    return is_plain and is_traced and any(name.startswith("__") for name in traced_members(cls))


def is_hooked(f: Any) -> bool:
    """Whether ``f`` is a special method of a twin, bound to an object: ``x.__call__``. It calls the user's as the tracer does."""
    return type(f) is types.MethodType and "_tnp_hooked" in getattr(f.__func__, "__dict__", ())


class _Kept:
    """A ``cached_property`` without a lock."""

    def __init__(self, function: Callable[[Any], Any], name: str) -> None:
        self.function, self.name = function, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value


class _Setting:
    """A descriptor with a ``__set__`` of the user's, which the class ``kind`` has under ``name``."""

    def __init__(self, kind: type, name: str, descriptor: Any) -> None:
        self.kind, self.name, self.descriptor = kind, name, descriptor

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        tracer = active.running()
        if tracer is None or user_method(self.descriptor, "__get__") is None:
            return self.descriptor.__get__(instance, self.kind)
        return tracer.runtime.get_by(self.descriptor, self.name, instance, self.kind)

    def __set__(self, instance: Any, value: Any) -> None:
        tracer = active.running()
        if tracer is None:
            self.descriptor.__set__(instance, value)
        else:
            tracer.runtime.set_by(self.descriptor, self.name, instance, self.kind, value)


def traced_members(kind: type) -> dict[str, Any]:
    """The special methods and the properties of the user's that a class has, as ones that the tracer calls."""
    found: dict[str, Any] = {}
    for name in {name for c in kind.__mro__ for name in c.__dict__}:
        member = class_attribute(kind, name)
        if isinstance(member, property):
            accessors = (member.fget, member.fset, member.fdel)
            if any(map(is_followed, accessors)):
                fget, fset, fdel = [f and _hooked(f) for f in accessors]
                found[name] = property(fget, fset, fdel, member.__doc__)
        elif type(member) is cached_property and is_followed(member.func):
            found[name] = _Kept(_hooked(member.func), member.attrname or name)
        elif user_method(member, "__set__") is not None:
            found[name] = _Setting(kind, name, member)
        elif name.startswith("__") and name.endswith("__") and name not in _LEFT_ALONE and is_followed(member):
            found[name] = _hooked(member, name)
    return found


def _runs_code(kind: type) -> bool:
    """Whether the metaclass of a class has code of the user's or of a library's that runs when a class is made."""
    return any(_keeps_a_record(class_attribute(type(kind), name)) for name in ("__new__", "__init__", "__prepare__"))


def _keeps_a_record(function: Any) -> bool:
    """Whether what makes a class may put it into a registry, as metaclasses of libraries do; those of the standard library do not."""
    function = getattr(function, "__func__", function)
    if type(function) is not types.FunctionType:
        return False
    return (function.__module__ or "").partition(".")[0] not in sys.stdlib_module_names


class _Unannounced:
    """As the first base of a class, this keeps the others from being told of it."""

    __slots__ = ()

    def __init_subclass__(cls, **_: Any) -> None:
        pass


class _UnannouncedWithDict:
    """The same for objects that have a ``__dict__``: bases are replaced by bases of the same layout only."""

    __init_subclass__ = _Unannounced.__dict__["__init_subclass__"]


def _unannounced(kind: type) -> type:
    """A class of the layout of ``kind`` that announces no subclass to anybody."""
    adding = kind  # the last class that added something to the memory of an object
    while adding.__base__ is not None and _layout(adding) == _layout(adding.__base__):
        adding = adding.__base__
    base = adding.__base__
    if base is None or base is object:
        return _UnannouncedWithDict if kind.__dictoffset__ else _Unannounced
    if _keeps_a_record(base.__init_subclass__):
        raise TypeError(f"{base.__name__} keeps a record of its subclasses")
    own = {"__init_subclass__": _Unannounced.__dict__["__init_subclass__"]}
    return _new_class(base, (base,), own if kind.__dictoffset__ else {"__slots__": (), **own})


def _layout(kind: type) -> tuple[int, int, int]:
    return kind.__basicsize__, kind.__dictoffset__, kind.__weakrefoffset__


def make_class(kind: type, body: dict[str, Any]) -> type:
    """A subclass of ``kind`` with ``body``, made without running code of the user's.

    Raises :class:`NeedsEager` where that is not possible.
    """
    body = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "_tnp_twin_of": kind,
        **body,
    }
    try:
        if not _keeps_a_record(kind.__init_subclass__):
            return _new_class(kind, (kind,), body)
        first = _unannounced(kind)
        made = _new_class(kind, (first, kind), body)
        _SET_BASES(made, (kind,))
        return made
    except TypeError as error:
        raise NeedsEager(f"{kind.__name__} cannot be subclassed: {error}") from error


#: replaces the bases of a class without asking its metaclass
_SET_BASES: Callable[[type, tuple[type, ...]], None] = type.__dict__["__bases__"].__set__


def _new_class(kind: type, bases: tuple[type, ...], body: dict[str, Any]) -> type:
    """A class like ``kind``. What a metaclass has done to ``kind`` the new class inherits, so the metaclass is not run."""
    meta: Any = type(kind)
    if not _runs_code(kind):
        made_by_meta: type = meta(kind.__name__, bases, body)
        return made_by_meta
    if issubclass(meta, enum.EnumMeta) or _keeps_a_record(class_attribute(meta, "mro")):
        raise NeedsEager(f"the class of {kind.__name__} runs code where one inherits from it")
    made: type = type.__new__(meta, kind.__name__, bases, body)
    if issubclass(meta, abc.ABCMeta):
        abc._abc_init(made)  # type: ignore[attr-defined]  # CPython's own, which no stub has: what ABCMeta does besides
    return made


def twin_of(kind: type) -> type:
    """The twin of which an object is that the program makes of the class ``kind``; the class itself where it needs none.

    Raises :class:`NeedsEager` if there can be no twin.
    """
    return _twins.get(kind)


def _refuse_protocol(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NeedsEager(f"NumPy calls a method of a {class_of(self).__name__}")


def _make_twin(kind: type) -> type:
    members = traced_members(kind)
    members.update((n, _refuse_protocol) for n in ARRAY_PROTOCOLS if is_followed(getattr(kind, n, None)))
    if not members:
        return kind
    return make_class(kind, {"__slots__": (), "__class__": property(lambda self: kind), **members})


_twins = ClassCache(_make_twin)


def user_method(descriptor: Any, method: str) -> types.FunctionType | None:
    """The method (``"__get__"``, ``"__set__"``) that the class of a descriptor has, if it is the user's."""
    found = class_attribute(type(descriptor), method)
    return found if is_followed(found) else None
