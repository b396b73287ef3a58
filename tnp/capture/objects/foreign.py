"""Foreign values: stand-ins for objects whose state has no guard.

The program may pass a foreign value on, store it, return it, and test its class or its identity. Any other use runs the
call eagerly, because the object's state may differ at the next call. Strings that vary are foreign, too
(:mod:`~tnp.capture.guards.constants`), and dicts whose keys vary, whose items may be read; any other use of these is traced again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.objects.twins import class_attribute
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.prologue import Source

__all__ = [
    "READ_BY",
    "Foreign",
    "by_super",
    "holds_foreign",
    "is_read",
    "real_value",
    "says_another_class",
    "source_of",
]


#: what gives an object's class, unless its class has something else in its place
_OWN_CLASS = object.__dict__["__class__"]


class Foreign:
    """Stands for ``value``, which ``source`` fetches at each call."""

    __slots__ = ("__weakref__", "_tnp_reader", "_tnp_source", "_tnp_value")

    def __init__(self, value: Any, source: Source, reader: Any = None) -> None:
        object.__setattr__(self, "_tnp_value", value)
        object.__setattr__(self, "_tnp_source", source)
        #: reads what there is to read of it (:class:`~tnp.capture.objects.mappings.MappingReader`)
        object.__setattr__(self, "_tnp_reader", reader)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":  # the prologue checks it
            if says_another_class(real_value(self)):
                refuse(self, "asks for the class of")
            return type(real_value(self))
        reader = object.__getattribute__(self, "_tnp_reader")
        found = NotImplemented if reader is None else reader.attribute(self, name)
        if found is NotImplemented:
            refuse(self, f"reads {name!r} of")
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        refuse(self, f"assigns {name!r} of")

    def __delattr__(self, name: str) -> None:
        refuse(self, f"deletes {name!r} of")


def says_another_class(x: Any) -> bool:
    """Whether an object gives out another class than its own as ``__class__``, as mocks and proxies do, or none."""
    kind: Any = type(x)
    if kind.__getattribute__ is object.__getattribute__ and class_attribute(kind, "__class__") is _OWN_CLASS:
        return False
    try:
        return x.__class__ is not kind
    except Exception:  # what the user's code raises
        return True


def is_read(x: Any) -> bool:
    """Whether ``x`` is a foreign value of which the program may read items."""
    return type(x) is Foreign and object.__getattribute__(x, "_tnp_reader") is not None


def real_value(x: Foreign) -> Any:
    """The object that a foreign value stands for."""
    return object.__getattribute__(x, "_tnp_value")


def by_super(x: Foreign, name: str) -> Any:
    """What a method of its class asks ``super()`` for; it raises :class:`NeedsEager` unless that reads an item as ``dict`` does."""
    reader = object.__getattribute__(x, "_tnp_reader")
    found = NotImplemented if reader is None else reader.by_super(x, name)
    if found is NotImplemented:
        refuse(x, f"reads {name} by super() of")
    return found


def source_of(x: Foreign) -> Source:
    """Where the object comes from at each call."""
    source: Source = object.__getattribute__(x, "_tnp_source")
    return source


def refuse(x: Foreign, what: str) -> NoReturn:
    """Raises :class:`NeedsEager` for a use of a foreign value."""
    value, description = real_value(x), source_of(x).description
    if type(value) is str:
        raise ReadsVarying(description)
    if type(value) is dict and is_read(x) and value is not sys.modules:
        if not object.__getattribute__(x, "_tnp_reader").is_left(x):
            raise ReadsVarying(description)
        raise NeedsEager(f"it {what} {description}, a dict of {len(value)} items")
    if type(value) in (list, tuple):
        items = "arrays of several lengths" if isinstance(value[0], np.ndarray) else "rows"
        raise NeedsEager(f"it {what} {description}, a {type(value).__name__} of {len(value)} {items}")
    if isinstance(value, (np.ndarray, np.generic)):
        raise NeedsEager(
            f"it {what} {description}, a {type(value).__name__} of {value.dtype}, which tnp does not compile "
            "(it takes plain arrays of bool, integers, floating and complex numbers)"
        )
    raise NeedsEager(f"it {what} {description}, a {type(value).__name__}, which may change unseen")


def holds_foreign(x: Any) -> Foreign | None:
    """A foreign value that is ``x``, or that a list, tuple, dict or set in it holds."""
    kind = type(x)
    if kind is Foreign:
        foreign: Foreign = x
        return foreign
    if kind in (list, tuple, set, frozenset):
        return next((found for y in x if (found := holds_foreign(y)) is not None), None)
    if kind is dict:
        return next((found for y in x.values() if (found := holds_foreign(y)) is not None), None)
    return None


#: the methods of a reader by those of the object
READ_BY = {
    "__getitem__": "item", "__contains__": "contains", "__iter__": "iterate", "__len__": "length", "__bool__": "truth",
    "__setitem__": "store",
}  # fmt: skip


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        reader = object.__getattribute__(self, "_tnp_reader") if name in READ_BY else None
        read = None if reader is None else getattr(reader, READ_BY[name], None)
        found = NotImplemented if read is None else read(self, *args, **kwargs)
        if found is NotImplemented:
            refuse(self, "uses")
        return found

    method.__name__ = name
    return method


_USES = """
    abs add and await bool bytes call ceil complex contains copy deepcopy delitem dir divmod enter eq exit float floor floordiv format
    fspath ge getitem gt hash iadd iand ifloordiv ilshift imatmul imod imul index int invert ior ipow irshift isub iter itruediv ixor
    le len length_hint lshift lt matmul mod mul ne neg next or pos pow radd rand rdivmod reduce reduce_ex repr reversed rfloordiv
    rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem sizeof str sub truediv trunc xor array
    array_ufunc array_function array_interface torch_function buffer
""".split()
for _use in _USES:
    setattr(Foreign, f"__{_use}__", _refusing(f"__{_use}__"))
