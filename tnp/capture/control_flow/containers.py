"""Variables bound to containers: a loop or a branch carries what is in them, part by part.

``state = (x + h * v, v - h * x)`` binds a variable to another tuple in each iteration. Where all these tuples are put together alike, their
parts are variables of the loop, and each iteration begins with a tuple of the present ones. The same holds for named tuples, lists, dicts,
objects of the user's classes, and for lists of which the program counts the items: these are one array.

Other names of a list, a dict or an object would not see what a later statement changes in the one that is put together. So its iteration
may not change the one that it begins with, and nothing else may hold the one that it ends with.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.capture import active
from tnp.capture.control_flow.counted_lists import CountedList
from tnp.capture.control_flow.item_parts import Part, parts_of_item
from tnp.capture.control_flow.kept_views import KeptView, kept_view
from tnp.capture.control_flow.lists_of_lists import ItemOfRows, look
from tnp.capture.libraries.numpy.operations import scalar_of
from tnp.capture.objects.row_list import ListStandIn, RowOfNumbers, RowOfScalars
from tnp.capture.objects.shadows import is_plain_object, is_shadow
from tnp.capture.speculation.reachable import Reachable
from tnp.capture.speculation.regions import UNBOUND, Region, Variables
from tnp.capture.speculation.trials import Failure
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.live_names import live_values
from tnp.capture.tracing.traced_values import TracedArray

__all__ = ["Containers"]

#: parts of one variable, at most
MOST = 64
_ROWS = (RowOfNumbers, RowOfScalars)


@dataclass(frozen=True)
class Structure:
    """How a container is put together: its class, its positions, keys or attributes, and the structures of its items (``None``: a part)."""

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Structure | None, ...]
    view: KeptView | None = None

    def count(self) -> int:
        """How many parts it has."""
        return sum(1 if item is None else item.count() for item in self.items)

    def is_changeable(self) -> bool:
        """Whether it is or has a list, a dict or an object."""
        return (self.view is None and _can_change(self.kind)) or any(
            item is not None and item.is_changeable() for item in self.items
        )


def _can_change(kind: Any) -> bool:
    """Whether containers of a class can be changed in place."""
    if dataclasses.is_dataclass(kind):
        return not inspect.getattr_static(kind, "__dataclass_params__").frozen
    return not issubclass(kind, tuple)


def _keys_of(x: Any) -> tuple[Any, ...] | None:
    """The positions, keys or attributes of a container; ``None`` for any other value."""
    kind = type(x)
    if kind is dict:
        return tuple(x) if all(type(k) in (str, int) for k in x) else None
    if issubclass(kind, tuple):
        is_plain = kind is tuple or (type(getattr(kind, "_fields", None)) is tuple and not getattr(x, "__dict__", None))
        return tuple(range(len(x))) if is_plain else None
    if kind is list:
        return tuple(range(len(x)))
    if is_shadow(x) or not is_plain_object(x) or not kind.__dictoffset__ or hasattr(kind, "__del__"):
        return None
    return None if any(vars(c).get("__slots__") for c in kind.__mro__[:-1]) else tuple(_attributes(x))


def _attributes(x: Any) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(x, "__dict__")
    return found


def _items_of(x: Any) -> Sequence[Any]:
    """What is in a list, a tuple, a dict or an object."""
    if isinstance(x, (tuple, list)):
        return x
    return list((x if type(x) is dict else _attributes(x)).values())


def _structure(x: Any, y: Any) -> Structure | None:
    """How both of two values are put together; ``None`` if they are not alike, or one."""
    if type(x) is not type(y) or x is y:
        return None
    keys = _keys_of(x)
    if keys is None or keys != _keys_of(y):
        return None
    return Structure(type(x), keys, tuple(map(_structure, _items_of(x), _items_of(y))))


def _structure_of_both(x: Any, y: Any) -> Structure | None:
    """How both of two values are put together; ``None`` if they are no containers, or are not alike."""
    if type(x) is ItemOfRows or type(y) is ItemOfRows:
        return None  # a list of lists holds it
    if isinstance(x, ListStandIn) or isinstance(y, ListStandIn):
        kinds = [parts_of_item(z) if isinstance(z, list) else (None, ()) for z in (x, y)]
        (kind, rows), (other, others) = kinds
        if kind is not other or kind not in _ROWS or rows[0].dtype != others[0].dtype:
            return None
        return Structure(kind, (rows[0].dtype,), (None,))
    view = kept_view(x, y)
    if view is not None:
        return Structure(TracedArray, (), (None,) * view.count(), view)
    found = _structure(x, y)
    return None if found is None or found.count() > MOST else found


def _parts(x: Any, structure: Structure | None) -> Iterator[Any]:
    """The parts of a container. Raises :class:`Failure` if it is put together otherwise."""
    if structure is None:
        if type(x) is GrowingArray:
            raise Failure("an array that grows is in a container")
        yield x
        return
    if structure.view is not None:
        positions = structure.view.positions(x)
        if positions is None:
            raise Failure("it binds a variable to a view of another array")
        yield from positions
        return
    if structure.kind in _ROWS:
        if type(x) is ItemOfRows:
            raise Failure("it binds a variable to a list that a list of lists holds")
        kind, parts = parts_of_item(x) if isinstance(x, list) else (None, ())
        if kind is not structure.kind or parts[0].dtype != structure.keys[0]:
            raise Failure("it binds a list of other items")
        yield parts[0]
        return
    if type(x) is not structure.kind or _keys_of(x) != structure.keys:
        raise Failure("it binds a variable to containers of several kinds")
    for item, value in zip(structure.items, _items_of(x)):
        yield from _parts(value, item)


def _together(structure: Structure | None, parts: Iterator[Any], description: str) -> Any:
    """A new container of that structure, of the next parts."""
    if structure is None:
        return next(parts)
    kind: Any = structure.kind
    if structure.view is not None:
        return structure.view.at(next(parts) for _ in structure.items)
    if kind in _ROWS:
        rows = next(parts)
        example: Any = scalar_of(rows.dtype.type, 0)
        if kind is RowOfNumbers:
            example = example.item()
        return CountedList.of_rows(description, example, (Part(example, rows=rows),), rows.shape[0])
    return _of_items(structure, [_together(item, parts, description) for item in structure.items])


def _of_items(structure: Structure, items: list[Any]) -> Any:
    """A new container of that structure, of its items."""
    kind: Any = structure.kind
    if kind is list:
        return items
    if issubclass(kind, tuple):
        return tuple.__new__(kind, items)
    if kind is dict:
        return dict(zip(structure.keys, items))
    made = object.__new__(kind)  # past all code of the class
    _attributes(made).update(zip(structure.keys, items))
    return made


def _changeable(x: Any, structure: Structure | None) -> Iterator[Any]:
    """The lists and dicts in a container, and the attributes of objects."""
    if structure is None or structure.view is not None:
        return
    if _can_change(structure.kind):
        yield x if isinstance(x, (list, dict)) else _attributes(x)
    if structure.kind not in _ROWS:
        for item, value in zip(structure.items, _items_of(x)):
            yield from _changeable(value, item)


def _look(x: Any) -> list[Any]:
    return look(x) if isinstance(x, list) else list(x.values())


class Containers:
    """The variables of a loop or a branch that are carried part by part. ``where`` tells its place in messages, and ``own`` are the variables
    that only the body of the loop reads. What runs ``surely`` binds all of them."""

    def __init__(
        self, variables: Variables, names: list[str], where: str, own: Sequence[str] = (), *, surely: bool = False
    ) -> None:
        self._variables, self._names, self._where, self._own, self._surely = variables, names, where, own, surely
        self._structures: dict[str, Structure] = {}
        #: of each variable, the names of its parts, and the container that it was bound to at first
        self._parts: dict[str, list[str]] = {}
        self._first: dict[str, Any] = {}
        self._former: list[str] = []
        #: variables that are bound to the container of another
        self._same: dict[str, str] = {}
        #: what variables are bound to before the region
        self._values: dict[str, Any] = {}
        #: of each variable, the container with which an iteration begins, and those that it is bound to when the parts of a region end
        self._made: dict[str, Any] = {}
        self._ends: dict[str, list[Any]] = {}
        #: the lists and dicts with which an iteration begins, as they were
        self._entered: list[tuple[Any, list[Any]]] = []

    def __len__(self) -> int:
        return len(self._structures) + len(self._same)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return (*self._structures, *self._same)

    def note(self, name: str, before: Any, after: Any) -> bool:
        """Says that a variable is bound to one container, and then to another. Whether it is carried part by part from the next attempt
        on."""
        if name in self._variables.parts or name not in self._names:
            return False
        if type(after) is TracedArray and sum(v is after for v in self._variables.values().values()) > 1:
            return False  # two views are no one array
        structure = _structure_of_both(before, after)
        varying = active.current().inputs.prologue.varying
        if structure is None or (name in self._variables.attributes and structure.is_changeable()):
            return False
        if varying.is_specialized(self._description(name)):
            return False
        self._structures[name] = structure
        self._parts[name] = [f"part {k} of {name}" for k in range(structure.count())]
        self._names.remove(name)
        self._names += self._parts[name]
        self._variables.parts.update(dict.fromkeys(self._parts[name], UNBOUND))
        return True

    def check_view(self, name: str, before: Any, value: Any) -> None:
        """Raises :class:`Failure` if a variable is bound to one view of an array, or maybe another, that is carried as a position from the next
        attempt on."""
        if type(value) is TracedArray and not value.scalar:
            if any(self.note(name, before, x) for x in active.current().choices.candidates(value)):
                raise Failure(f"{name} is a view at other positions")

    def _description(self, name: str) -> str:
        return f"the container {name} that {self._where} binds anew"

    def _note_doubt(self, name: str, value: Any) -> None:
        """Notes that a program that asks whether a tuple is another is traced again."""
        if isinstance(value, tuple) and value is not self._first[name]:
            active.current().choices.tuples[id(value)] = value, self._description(name)

    def begin(self, region: Region) -> None:
        """Takes the containers apart, before a region is opened."""
        for part in self._former:
            self._variables.parts.pop(part, None)
        self._former.clear()
        self._values, self._entered = self._variables.values(), []
        self._made, self._ends = {}, {}
        for name, other in self._same.items():
            if self._variables[name] is not self._variables[other]:
                raise Failure(f"{name} and {other} begin with two containers", settles=True)
        for name, structure in self._structures.items():
            first = self._first[name] = self._variables[name]
            if not self._surely:
                self._check_first(name, joins=True)
            if first is UNBOUND:  # of a branch, whose sides bind it
                found = dict.fromkeys(self._parts[name], UNBOUND)
            else:
                found = dict(zip(self._parts[name], _parts(first, structure)))
            self._variables.parts.update(found)
            region.values.update(found)

    def _check_first(self, name: str, *, joins: bool) -> None:
        """Raises :class:`Failure` if something else may hold what a variable is bound to at first, which may be what it is bound to at
        last."""
        structure, first = self._structures[name], self._first[name]
        if first is not UNBOUND and structure.is_changeable():
            held = [*live_values(name), *(c.made for c in active.current().inputs.containers)]
            self._check_unshared(name, first, structure, held, self._values, joins=joins)

    def enter(self, region: Region) -> None:
        """Binds the variables to containers of the present parts, at the beginning of an iteration."""
        self._entered = []
        for name, structure in self._structures.items():
            made = _together(structure, map(self._variables.__getitem__, self._parts[name]), self._description(name))
            self._variables[name] = self._made[name] = made
            self._note_doubt(name, made)
            self._entered += ((x, _look(x)) for x in _changeable(made, structure))
        region.older += (x for x, _ in self._entered)
        self._bind_the_same()

    def end(self, region: Region, *, leaves: bool = False) -> None:
        """Takes the containers apart that the variables are bound to when a region ends, which an iteration maybe ``leaves`` early. Raises
        :class:`Failure` if that cannot be."""
        if any(now is not was for x, before in self._entered for now, was in _pairs(_look(x), before)):
            raise Failure(
                "it changes a list, a dict or an object that a variable is bound to, and binds the variable anew"
            )
        for name, other in self._same.items():
            if self._variables[name] is not self._variables[other]:
                raise Failure(f"{name} and {other} are bound to one container in some iterations")
        for name, structure in self._structures.items():
            value = self._variables[name]
            if value is not self._begun(name) and structure.is_changeable():
                self._check_unshared(name, value, structure, self._held(name, value, region), self._variables.values())
            self._variables.parts.update(zip(self._parts[name], list(_parts(value, structure))))
            self._ends.setdefault(name, []).append(value)
        if self._surely and (leaves or self._hands_on()):
            for name in self._structures:
                self._check_first(name, joins=False)

    def _begun(self, name: str) -> Any:
        """The container that a variable is bound to when the region begins."""
        return self._made.get(name, self._first[name])

    def _hands_on(self) -> bool:
        """Whether an iteration leaves a list or a dict with which it begins in another place."""
        pairs = ((name, self._made[name], self._ends[name][-1]) for name in self._structures)
        found = [
            (list(_changeable(x, s)), list(_changeable(y, s))) for n, x, y in pairs for s in (self._structures[n],)
        ]
        begun = {id(x) for before, _ in found for x in before}
        return any(x is not y and id(y) in begun for before, after in found for x, y in zip(before, after))

    def _check_unshared(
        self,
        name: str,
        value: Any,
        structure: Structure,
        held: Sequence[Any],
        known: dict[str, Any],
        *,
        joins: bool = True,
    ) -> None:
        """Raises :class:`Failure` if a list or a dict in a container is ``held``, or one that another variable is bound to, or that is in
        either. ``known`` is what the variables are bound to. It ``joins`` those that are bound to one container."""
        mine = list(_changeable(value, structure))
        same = [n for n, other in self._same.items() if other == name]
        others = [v for n, v in known.items() if n not in (name, *same, *self._parts[name]) and self._is_read(n, v)]
        for n in self._structures:
            if n != name and known[n] is value and joins:
                self._join(n, name)
        elsewhere = Reachable([*others, *held])
        seen = {id(x) for x in (*elsewhere.lists(), *others, *held)}
        if elsewhere.too_many or len({id(x) for x in mine}) < len(mine) or any(id(x) in seen for x in mine):
            raise Failure(f"something else may hold the list, the dict or the object that {name} is bound to")

    def _is_read(self, name: str, value: Any) -> bool:
        """Whether what a variable is bound to may be read: of those that the region binds, the names are read later."""
        return name in self._names or name in self._structures or value is self._values.get(name)

    def _held(self, name: str, value: Any, region: Region) -> list[Any]:
        """The lists and dicts from before a region, and what is in lists that count their items."""
        known = [now for now in region.contents.lists() if now is not self._first[name]]
        return [*known, *self._items_of_lists(region, is_own=name in self._own)]

    def _items_of_lists(self, region: Region, *, is_own: bool) -> list[Any]:
        """The lists and dicts that were appended to lists. The program stores copies of them. So if only the body reads a variable
        (``is_own``), they do not matter, unless the body changes an item."""
        uses = region.list_uses() if is_own else active.current().list_uses
        changed = {id(use.list) for use in uses if any(type(n) is int and n == 0 for n in use.times)}
        given = [x for use in uses if not is_own or id(use.list) in changed for x in use.list.given()]
        inside = Reachable([*given, *(() if is_own else region.contents.growing)])
        return [*given, *inside.lists()]

    def _join(self, name: str, other: str) -> None:
        """Says that a variable is bound to the container of another."""
        for part in self._parts.pop(name):
            self._names.remove(part)
            self._former.append(part)  # a region that is undone still binds it
        del self._structures[name]
        self._same[name] = other
        raise Failure(f"{name} and {other} are bound to one container")

    def _bind_the_same(self) -> None:
        for name, other in self._same.items():
            self._variables[name] = self._variables[other]

    def leave(self) -> None:
        """Binds the variables to their containers after the loop or the branch. A variable that was not bound anew keeps the container from
        before."""
        for name, structure in self._structures.items():
            parts = iter([self._variables[p] for p in self._parts[name]])
            first, begun, ends = self._first[name], self._begun(name), self._ends[name]
            value = self._variables[name] = self._left(structure, parts, first, begun, ends, self._description(name))
            self._note_doubt(name, value)
            if structure.view is not None:  # an object that was there, which another result may be
                active.current().choices.add(value, [first, *ends], by_position=True)
            if first is not UNBOUND and (begun is not first or any(x is begun for x in ends)):
                for region in active.current().regions:
                    region.older += _changeable(value, structure)
        self._bind_the_same()

    def _left(
        self,
        structure: Structure | None,
        parts: Iterator[Any],
        first: Any,
        begun: Any,
        ends: list[Any],
        description: str,
    ) -> Any:
        """A container that a region leaves, of the next parts: ``first`` is that from before, which is ``begun`` in the region."""
        if structure is None:
            return next(parts)
        if first is UNBOUND or structure.kind in _ROWS or structure.view is not None:
            made = _together(structure, parts, description)
            return first if first is not UNBOUND and all(x is begun for x in ends) else made
        before, now, after = _items_of(first), _items_of(begun), list(zip(*map(_items_of, ends)))
        items = [
            self._left(item, parts, before[k], now[k], list(after[k]), description)
            for k, item in enumerate(structure.items)
        ]
        is_same = not self._surely and all(x is y for x, y in zip(before, items))
        return first if is_same or all(x is begun for x in ends) else _of_items(structure, items)


def _pairs(now: Sequence[Any], before: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(now, before) if len(now) == len(before) else iter([(0, 1)])
