"""Copies that a program makes of the caller's objects (:mod:`copy`): stand-ins that read the same attributes, and keep what is stored to them."""

from __future__ import annotations

import copy
import enum
import functools
import types
from typing import Any

from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.foreign import Foreign
from tnp.capture.objects.shadows import CODE_TYPES, Shadowed, is_plain_object, is_shadow, state_of
from tnp.capture.objects.twins import attributes_past_class, class_attribute
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager

__all__ = ["attributes_of_copy", "copied", "deeply_copied"]

#: methods by which a class says how its objects are copied
_SAYING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
#: kinds of attributes that never change, so that it does not matter when they are copied
_UNCHANGING = (bool, int, float, complex, str, bytes, type(None), type, *CODE_TYPES, enum.Enum, types.ModuleType)


def copied(x: Any) -> Any:
    """``copy.copy(x)`` of a stand-in."""
    made, own = _begun(x)
    before = state_of(x).copies
    own.copies = before if before is not None else lambda v: v
    own.stored = dict(state_of(x).stored)
    own.changed = copy.copy(state_of(x).changed)
    return made


def deeply_copied(x: Any, memo: dict[int, Any]) -> Any:
    """``copy.deepcopy(x, memo)`` of a stand-in. What may change is copied now."""
    made, own = _begun(x)
    memo[id(x)] = made
    copies = functools.partial(_deeply, memo)
    before = state_of(x).copies
    own.copies = copies if before is None else lambda v: copies(before(v))
    own.stored = {name: copies(value) for name, value in state_of(x).stored.items()}
    own.changed = copy.copy(state_of(x).changed)
    if own.changed is None:
        for name in _names_of_what_changes(own.real):
            if name not in own.stored:
                try:
                    state_of(made).plain(made, name)
                except NeedsEager:  # which the program may never read
                    continue
    return made


def _names_of_what_changes(real: Any) -> list[str]:
    """The attributes of an object itself that may be changed in place."""
    kind = type(real)
    held = dict(attributes_past_class(real) or {})
    for name in {n for c in kind.__mro__ for n, m in vars(c).items() if type(m) is types.MemberDescriptorType}:
        held[name] = getattr(real, name, None)
    return [
        name
        for name, value in held.items()
        if not isinstance(value, _UNCHANGING)
        and (type(d := class_attribute(kind, name)) is types.MemberDescriptorType or not hasattr(type(d), "__set__"))
    ]


def _begun(x: Any) -> tuple[Any, Shadowed]:
    shadowed = state_of(x)
    kind, where = type(shadowed.real), shadowed.source.description
    if shadowed.parts or hasattr(shadowed.real, "__del__"):
        raise NeedsEager(f"it copies {where}, a module or an object that does something when it dies")
    if any(getattr(kind, name, None) is not getattr(object, name, None) for name in _SAYING):
        if kind is not types.SimpleNamespace:
            raise NeedsEager(f"it copies {where}, whose class says how")
    new = types.SimpleNamespace.__new__ if kind is types.SimpleNamespace else object.__new__
    made = new(type(x))
    own = Shadowed(shadowed.real, shadowed.source, shadowed.inputs, (), shadowed.constant_numbers)
    object.__setattr__(made, "_tnp_shadowed", own)
    shadowed.inputs.copies.append(made)
    return made, own


def _deeply(memo: dict[int, Any], x: Any) -> Any:
    """What a deep copy has in place of an attribute ``x``."""
    kinds = (TracedArray, TracedNumber, bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
    if (
        is_shadow(x)
        or is_cell_array(x)
        or x is None
        or type(x) in kinds
        or isinstance(x, (type, *CODE_TYPES, enum.Enum))
    ):
        return copy.deepcopy(x, memo)
    if type(x).__module__ == "torch" or (type(x) is not Foreign and is_plain_object(x)):
        return copy.deepcopy(x, memo)
    raise NeedsEager(f"it copies an object that holds a {type(x).__name__}")


def attributes_of_copy(x: Any) -> dict[str, Any]:
    """All attributes of a copy that the program has made, as it has them."""
    shadowed = state_of(x)
    kind = type(shadowed.real)
    if shadowed.changed is not None or "__slots__" in vars(kind) or kind is types.SimpleNamespace:
        raise NeedsEager(f"it returns a copy of an object of the class {kind.__name__}")
    return dict(x.__dict__)
