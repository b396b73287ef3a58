"""Mappings of classes that inherit from ``dict``, such as configurations, dicts whose keys vary, and ``sys.modules``: what a program
reads of one is an input, each by itself.

Their classes have attributes and methods of their own, and read items as ``dict`` does, or by methods that are traced. The program may
not change them.
"""

from __future__ import annotations

import reprlib
import sys
import types
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, ValuesView
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.guards.varying_values import is_of_call
from tnp.capture.objects.foreign import Foreign, real_value, refuse, source_of
from tnp.capture.objects.twins import MISSING, class_attribute, is_made_by_statement
from tnp.capture.objects.uneven_lists import LeftList
from tnp.capture.rewrite.code_origin import is_followed

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["AttributeReader", "MappingReader", "is_read_as_dict", "reader_of"]

#: methods that read, and that such a class has of ``dict`` or ``OrderedDict``
_READING = ("__getitem__", "__contains__", "__iter__", "__len__", "get", "keys", "values", "items", "__getattribute__")
_METHODS = ("get", "keys", "values", "items")
#: those that a class may have of its own: they are traced
_OWN = frozenset(("__getitem__", "__contains__", *_METHODS))
_KEYS = frozenset((str, int, float, bool, bytes, type(None)))


def is_read_as_dict(value: Any) -> bool:
    """Whether a value is of a class of Python's that inherits from ``dict`` and reads items as that does, or by methods that are
    traced, or ``sys.modules``."""
    kind = type(value)
    if value is sys.modules:
        return True
    if not isinstance(value, dict) or kind in (dict, OrderedDict) or not is_made_by_statement(kind):
        return False
    if kind.__module__ == "collections" or class_attribute(kind, "__missing__") is not MISSING:
        return False
    own = [(getattr(dict, n, None), getattr(OrderedDict, n, None)) for n in _READING]
    found = {n: class_attribute(kind, n) for n in _READING}
    return all(found[n] in known or (n in _OWN and is_followed(found[n])) for n, known in zip(_READING, own))


def reader_of(value: Any, source: Source, inputs: Inputs) -> MappingReader | LeftList | None:
    """What reads a foreign value for a program with these inputs; ``None`` if it may not be read. A plain dict is foreign if its keys vary or it is large;
    one that remembers, which is no argument, is Python's alone."""
    if type(value) in (list, tuple):
        return LeftList(inputs)
    is_large = source.description in inputs.prologue.varying.large
    is_plain = type(value) is dict and (is_large or is_of_call(source.description))
    if not is_plain and not is_read_as_dict(value):
        return None
    if type(value) is not dict:
        inputs.guard_class(type(value))
    return MappingReader(inputs)


def _item(mapping: Any, key: Any) -> Any:
    return dict.get(mapping, key, MISSING)


def _attribute(mapping: Any, name: str) -> Any:
    return object.__getattribute__(mapping, "__dict__").get(name, MISSING) if type(mapping) is not dict else MISSING


class MappingReader:
    """Reads a mapping for a program, which ``inputs`` are the inputs of."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        #: what was read, by the function that reads it and the key
        self._read: dict[Any, Any] = {}

    def is_left(self, of: Foreign) -> bool:
        """Whether Python does what the program may not do with a plain dict: one that is too large for each item to be an input."""
        return source_of(of).description in self._inputs.prologue.varying.larger and self._inputs.prologue.may_leave

    def _looked_up(self, of: Foreign, getter: Any, key: Any, text: str) -> Any:
        """An item or an attribute, lifted; :data:`MISSING`, which is guarded, too."""
        at = getter, type(key), key
        if at not in self._read:
            source, prologue = source_of(of), self._inputs.prologue
            found = getter(real_value(of), key)
            name = repr(key) if type(key) in (str, int, bytes) else prologue.constant(key, "key")
            where = f"{prologue.constant(getter, 'look_up')}({source.expression}, {name})"
            if found is MISSING:
                prologue.guard(
                    f"{where} is {prologue.constant(MISSING, 'missing')}", f"{source.description} has no {text}"
                )
                self._read[at] = MISSING
            else:
                self._read[at] = self._inputs.lift(found, Source(where, f"{source.description}{text}"))
        return self._read[at]

    def item(self, of: Foreign, key: Any) -> Any:
        """``mapping[key]``."""
        own = self._own(of, "__getitem__")
        return self._item(of, key) if own is None else active.current().runtime.call(own, of, key)

    def _own(self, of: Foreign, name: str) -> Any:
        """The method ``name`` that the class defines in place of ``dict``'s; ``None`` if it defines none."""
        kind = type(real_value(of))
        found = class_attribute(kind, name) if kind is not dict else MISSING
        return found if is_followed(found) else None

    def _item(self, of: Foreign, key: Any) -> Any:
        """``dict.__getitem__(mapping, key)``."""
        if type(key) not in _KEYS:
            return NotImplemented
        found = self._looked_up(of, _item, key, f"[{key!r}]")
        if found is MISSING:
            raise KeyError(key)
        return found

    def contains(self, of: Foreign, key: Any) -> Any:
        """``key in mapping``."""
        own = self._own(of, "__contains__")
        return self._contains(of, key) if own is None else bool(active.current().runtime.call(own, of, key))

    def _contains(self, of: Foreign, key: Any) -> Any:
        """``dict.__contains__(mapping, key)``."""
        if type(key) not in _KEYS:
            return NotImplemented
        return self._looked_up(of, _item, key, f"[{key!r}]") is not MISSING

    def _keys(self, of: Foreign) -> list[Any] | None:
        keys = list(real_value(of))
        if not all(type(k) is str for k in keys):
            return None
        source, prologue = source_of(of), self._inputs.prologue
        prologue.guard(
            f"list({source.expression}) == {prologue.constant(keys, 'keys')}",
            f"{source.description} has the keys {reprlib.repr(keys)}",
        )
        return keys

    def iterate(self, of: Foreign) -> Any:
        """``iter(mapping)``."""
        keys = self._keys(of)
        return NotImplemented if keys is None else iter(keys)

    def length(self, of: Foreign) -> Any:
        """``len(mapping)``."""
        keys = self._keys(of)
        return NotImplemented if keys is None else len(keys)

    def truth(self, of: Foreign) -> Any:
        """``bool(mapping)``."""
        if class_attribute(type(real_value(of)), "__bool__") is not MISSING:
            return NotImplemented
        source, found = source_of(of), len(real_value(of)) > 0
        wanted = f"(len({source.expression}) > 0) is {found}"
        self._inputs.prologue.guard(wanted, f"{source.description} has {'some' if found else 'no'} keys")
        return found

    def attribute(self, of: Foreign, name: str) -> Any:
        """An attribute: one of the object, a property or a method of its class, or what its ``__getattr__`` gives."""
        kind = type(real_value(of))
        if kind is dict:
            return self._method(of, name) if name in _METHODS else NotImplemented
        found = class_attribute(kind, name)
        call = active.current().runtime.call
        if isinstance(found, property):
            return call(found.fget, of) if is_followed(found.fget) else NotImplemented
        if name.startswith("__"):
            return NotImplemented
        own = self._looked_up(of, _attribute, name, f".{name}")
        if own is not MISSING:
            return own if not hasattr(type(found), "__set__") else NotImplemented
        if is_followed(found):
            return types.MethodType(found, of)
        if found is MISSING:
            look_up = class_attribute(kind, "__getattr__")
            return call(look_up, of, name) if is_followed(look_up) else NotImplemented
        return self._method(of, name) if name in _METHODS else NotImplemented

    def by_super(self, of: Foreign, name: str) -> Any:
        """A method of ``dict``, which a class that has its own asks ``super()`` for; ``NotImplemented`` if there is no such."""
        if name in _METHODS:
            return self._method(of, name)
        found = {"__getitem__": self._item, "__contains__": self._contains}.get(name)

        def method(key: Any) -> Any:
            read = found(of, key) if found is not None else NotImplemented
            if read is NotImplemented:
                refuse(of, f"uses {name} by super() of")
            return read

        return method if found is not None else NotImplemented

    def _method(self, of: Any, name: str) -> Any:
        def get(key: Any, default: Any = None) -> Any:
            is_there = self._contains(of, key)
            if is_there is NotImplemented:
                refuse(of, "uses")
            return self._item(of, key) if is_there else default

        def keys() -> Iterator[Any]:
            return iter(of)

        def whole() -> dict[str, Any]:
            made: dict[str, Any] = OrderedDict() if isinstance(real_value(of), OrderedDict) else {}
            made.update((k, self._item(of, k)) for k in keys())
            return made

        def values() -> ValuesView[Any]:
            return whole().values()

        def items() -> ItemsView[str, Any]:
            return whole().items()

        found: dict[str, Any] = {"get": get, "keys": keys, "values": values, "items": items}
        return found[name]


class AttributeReader(MappingReader):
    """Reads attributes, and nothing else."""

    def item(self, of: Foreign, key: Any) -> Any:
        """Python has to read items."""
        return NotImplemented

    contains = item

    def iterate(self, of: Foreign) -> Any:
        """Python has to iterate, and to ask for the length."""
        return NotImplemented

    length = truth = iterate
