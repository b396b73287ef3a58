"""The ``__dict__`` of a stand-in for an object: a view of the attributes, each read when the program reads it.

Descriptors of the user's keep what they have computed there: ``instance.__dict__[self.name] = value``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.prologue import Source
from tnp.capture.objects.twins import MISSING, attributes_past_class, class_attribute
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.objects.shadows import Shadowed

__all__ = ["AttributeDict"]


class AttributeDict(dict[str, Any]):
    """``real.__dict__`` of the object of which ``shadowed`` knows, whose stand-in is ``made``. As a dict it is empty."""

    #: what ``type`` gives
    _tnp_twin_of = dict

    def __init__(self, shadowed: Shadowed, made: Any, store: Callable[[Any, str, Any], None]) -> None:
        super().__init__()
        self._shadowed, self._made, self._store = shadowed, made, store
        self.source: Source = shadowed.place_of("__dict__")
        self.real: dict[str, Any] = attributes_past_class(shadowed.real)

    def _is_there(self, key: str) -> bool:
        """Whether the object had this attribute before the program ran, which is guarded."""
        found = key in self.real
        if key not in self._shadowed.read or not found:
            condition = f"({key!r} in {self.source.expression}) is {found}"
            self._shadowed.inputs.prologue.guard(
                condition, f"{self.source.description} has {'' if found else 'no '}{key}"
            )
        return found

    def _look_up(self, key: Any) -> Any:
        shadowed = self._shadowed
        if type(key) is not str:
            raise NeedsEager(f"it looks for a {type(key).__name__} in {self.source.description}")
        if _is_data(class_attribute(type(shadowed.real), key)):
            raise NeedsEager(f"it reads {key} in {self.source.description}, of which its class has a descriptor")
        if key in shadowed.stored:
            return shadowed.stored[key]
        if not self._is_there(key):
            return MISSING
        if key in shadowed.read:
            return shadowed.read[key]
        where = Source(f"{self.source.expression}[{key!r}]", f"{shadowed.source.description}.{key}")
        return shadowed.lifted(self.real[key], key, where)

    def _whole(self) -> dict[str, Any]:
        """All that there is, as a dict of the program's own."""
        shadowed, held = self._shadowed, list(self.real)
        keys = shadowed.inputs.prologue.constant(held, "keys")
        text = f"{shadowed.source.description} has the attributes {held}"
        shadowed.inputs.prologue.guard(f"list({self.source.expression}) == {keys}", text)
        slots = [k for k in shadowed.stored if _is_data(class_attribute(type(shadowed.real), k))]
        return {k: self._look_up(k) for k in (*held, *(k for k in shadowed.stored if k not in held and k not in slots))}

    def __getitem__(self, key: Any) -> Any:
        found = self._look_up(key)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return self._look_up(key) is not MISSING

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._look_up(key)
        return default if found is MISSING else found

    def __setitem__(self, key: Any, value: Any) -> None:
        is_name = type(key) is str and key.isidentifier()
        if not is_name or _is_data(class_attribute(type(self._shadowed.real), key)):
            raise NeedsEager(f"it assigns {key!r} in {self.source.description}")
        self._store(self._made, key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        found = self._look_up(key)
        if found is MISSING:
            self[key] = found = default
        return found

    def update(self, *others: Any, **more: Any) -> None:
        for key, value in dict(*others, **more).items():
            self[key] = value

    def __ior__(self, other: Any) -> AttributeDict:  # type: ignore[override]  # typeshed overloads dict.__ior__
        self.update(other)
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._whole())

    def __eq__(self, other: object) -> bool:
        return self is other or self._whole() == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return self._whole() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._whole()

    def keys(self) -> Any:
        return self._whole().keys()

    def values(self) -> Any:
        return self._whole().values()

    def items(self) -> Any:
        return self._whole().items()

    def copy(self) -> dict[str, Any]:
        return self._whole()

    __copy__ = copy

    def pop(self, key: Any, *default: Any) -> Any:
        if self._look_up(key) is not MISSING:
            self._refuse()
        if not default:
            raise KeyError(key)
        return default[0]

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager(f"it takes attributes out of {self.source.description}")

    popitem = clear = __delitem__ = __deepcopy__ = __reduce_ex__ = _refuse


def _is_data(descriptor: Any) -> bool:
    """Whether what a class has under the name of an attribute comes before what its objects have."""
    return hasattr(type(descriptor), "__set__")
