"""What can be reached from the program's variables: the lists, dicts, sets and objects that a part of the program may change."""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Iterable, Iterator
from types import CellType
from typing import Any

from tnp.capture.libraries.numpy.list_of_rows import array_of_rows
from tnp.capture.objects.assigned_attributes import Attribute, Item, dictionaries_of
from tnp.capture.objects.attribute_dicts import AttributeDict
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.constructs import attributes_of
from tnp.capture.objects.growing_list import GrowingList
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.shadows import is_plain_object, is_shadow
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject

__all__ = ["Reachable"]

_LEAVES = frozenset(
    (
        int,
        float,
        bool,
        complex,
        str,
        bytes,
        type(None),
        TracedArray,
        TracedNumber,
        TracedObject,
        AttributeDict,
        TracedOptional,
        GrowingArray,
    )
)
#: where the classes in C are of whose objects the garbage collector is asked what they hold: bound methods, partials, iterators
_HOLDERS = frozenset(("builtins", "types", "functools", "itertools", "operator", "collections"))
#: kinds of such objects that lead outside of the program
_OUTSIDE = (types.ModuleType, types.CodeType, types.FrameType, types.TracebackType)


class Reachable:
    """What is in the lists, dicts and sets that can be reached from some values."""

    #: containers and their items that are looked at
    LIMIT = 10_000

    def __init__(self, roots: Iterable[Any], variables: Iterable[CellType] = ()) -> None:
        self.found: list[tuple[Any, Any]] = []
        #: objects and classes, and their attributes that no dict of theirs has
        self._attributes: list[tuple[Any, dict[str, Any]]] = []
        self._objects: dict[int, Any] = {}
        #: lists that are only appended to
        self.growing: list[GrowingList] = []
        #: lists that stand for others
        self.stand_ins: list[ListStandIn] = []
        #: the cells of functions
        self.cells: list[CellType] = []
        #: cells, and what they held; without those of variables, which are told apart otherwise
        self._bindings: list[tuple[CellType, Any]] = []
        self._variables = set(map(id, variables))
        #: by ``id``, what is held where nothing can take its place: in a tuple, a slot, a bound method
        self.fixed: set[int] = set()
        #: whether there is too much to look at
        self.too_many = False
        seen: set[int] = set()
        stack = list(roots)
        count = 0
        while stack and not self.too_many:
            x = stack.pop()
            kind = type(x)
            if kind in _LEAVES or id(x) in seen:
                continue
            seen.add(id(x))
            items = self._items(x, kind)
            count += 1 if kind is list and array_of_rows(items) is not None else len(items)
            self.too_many = count > self.LIMIT
            stack += items

    def _items(self, x: Any, kind: type) -> list[Any]:
        if kind is GrowingList:
            self.growing.append(x)
            return self._items(x.added, list)
        if isinstance(x, ListStandIn):
            self.stand_ins.append(x)
            items = x.held()
            self.fixed.update(map(id, items))
            return items
        if is_shadow(x):
            return [v for d in dictionaries_of((x,)) for v in d.values()]
        items = self._replaceable(x, kind)
        fixed = list(_fixed(x, kind))
        own = _own_attributes(x, kind)
        if own:
            self._attributes.append((x, own))
            fixed += own.values()
        self.fixed.update(map(id, fixed))
        return [*items, *fixed]

    def _replaceable(self, x: Any, kind: type) -> list[Any]:
        """What an object holds that it can be made to hold others for."""
        items: list[Any] = []
        if issubclass(kind, (list, set, collections.deque)):
            self.found.append((x, list(x)))
            items += self.found[-1][1] if kind is list else ()
        elif issubclass(kind, dict):
            self.found.append((x, dict(x)))
            items += dict.values(x)
        elif is_cell_array(x) and x.cells.is_loaded:
            self.found.append((x.cells.held, list(x.cells.held)))
            items += x.cells.held
        elif kind is types.FunctionType:
            cells = [c for c in x.__closure__ or () if _content(c) is not _NOTHING]
            self.cells += cells
            self._bindings += [(c, _content(c)) for c in x.__closure__ or () if id(c) not in self._variables]
            items += [c.cell_contents for c in cells]
        if is_plain_object(x):
            self._objects[id(x)] = x
        attributes = _dictionary(x, kind)
        if attributes is not None:
            self.found.append((attributes, dict(attributes)))
            items += attributes.values()
        return items

    def lists(self) -> list[Any]:
        """The lists, dicts and sets."""
        return [*(now for now, _ in self.found), *self.stand_ins]

    def reaches(self, x: Any) -> bool:
        """Whether an object of the program is among the values."""
        return self._objects.get(id(x)) is x

    def changed(self, but: Iterable[Attribute] = ()) -> bool:
        """Whether something was added, taken away or put in another's place, except attributes and items; or another value was bound to
        a closure name."""
        others: dict[int, set[Any]] = {}
        for a in but:
            if isinstance(a, Item):
                others.setdefault(id(a.owner), set()).add(a.name)
            elif not is_shadow(a.owner):
                others.setdefault(id(a.owner), set()).add(a.name)
                others.setdefault(id(_dictionary(a.owner, type(a.owner))), set()).add(a.name)
        if any(_content(cell) is not before for cell, before in self._bindings):
            return True
        if any(not _same(*_without(others.get(id(now)), now, before)) for now, before in self.found):
            return True
        now_and_before = ((x, _own_attributes(x, type(x)), before) for x, before in self._attributes)
        return any(not _same(*_without(others.get(id(x)), now, before)) for x, now, before in now_and_before)

    def replaced_items(self, but: Iterable[Attribute] = ()) -> list[Item] | None:
        """The items of lists and dicts that were replaced; ``None`` if something else was changed, too, except ``but``."""
        items: list[Item] = []
        for now, before in self.found:
            if _same(now, before):
                continue
            if type(now) not in (list, dict) or len(now) != len(before) or self._holds_attributes(now):
                return None
            if type(now) is dict and list(now) != list(before):
                return None
            keys = range(len(before)) if type(now) is list else before
            items += [Item(now, k) for k in keys if now[k] is not before[k]]
        return None if self.changed([*but, *items]) else items

    def _holds_attributes(self, x: Any) -> bool:
        return any(x is _dictionary(one, type(one)) for one in self._objects.values())

    def restore(self) -> None:
        """Puts back what was there."""
        for cell, content in self._bindings:
            if content is not _NOTHING:
                cell.cell_contents = content
            elif _content(cell) is not _NOTHING:
                del cell.cell_contents
        for now, before in self.found:
            if _same(now, before):
                continue
            kind = next(c for c in _CONTAINERS if isinstance(now, c))  # past all code of the program's
            kind.clear(now)
            if kind in _MAPPINGS or kind is set:
                kind.update(now, before)
            else:
                kind.extend(now, before)
        for x, before in self._attributes:
            now = _own_attributes(x, type(x))
            base = type if isinstance(x, type) else object
            for name in now.keys() - before.keys():
                base.__delattr__(x, name)
            for name, value in before.items():
                if name not in now or now[name] is not value:
                    base.__setattr__(x, name, value)


_MAPPINGS = (collections.OrderedDict, dict)
_CONTAINERS: tuple[Any, ...] = (*_MAPPINGS, set, list, collections.deque)


def _fixed(x: Any, kind: type) -> Iterator[Any]:
    """What an object holds where nothing can take its place."""
    if issubclass(kind, (tuple, frozenset, set, collections.deque)) or (issubclass(kind, list) and kind is not list):
        yield from x
    if kind is types.FunctionType:
        yield from (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *vars(x).values())
    elif _is_made_by_statement(kind):
        yield from (c for c in kind.__mro__ if "<locals>" in c.__qualname__)
    elif kind.__module__ in _HOLDERS and not issubclass(kind, (list, dict, type, *_OUTSIDE)):
        yield from gc.get_referents(x)


def _own_attributes(x: Any, kind: type) -> dict[str, Any]:
    """The attributes of an object that stand in slots, or those of a class that may be the program's: one made in a function."""
    if issubclass(kind, type):
        return dict(vars(x)) if "<locals>" in x.__qualname__ else {}
    if not _is_made_by_statement(kind) or not any("__slots__" in c.__dict__ for c in kind.__mro__):
        return {}
    attributes = _dictionary(x, kind) or ()
    return {name: value for name, value in attributes_of(x).items() if name not in attributes}


def _is_made_by_statement(kind: type) -> bool:
    """Whether a class is the program's, or one like it."""
    is_heap_type = bool(kind.__flags__ & (1 << 9))
    return is_heap_type and kind.__module__.partition(".")[0] not in (
        "builtins",
        "types",
        "functools",
        "itertools",
        "tnp",
    )


def _dictionary(x: Any, kind: type) -> dict[str, Any] | None:
    """The attributes of an object that has them in a dict."""
    if kind is not types.SimpleNamespace and (not _is_made_by_statement(kind) or issubclass(kind, type)):
        return None
    return object.__getattribute__(x, "__dict__") if kind.__dictoffset__ else None


#: stands for the content of an empty cell
_NOTHING = object()


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


def _without(names: set[Any] | None, *containers: Any) -> Iterable[Any]:
    """Dicts without some keys, lists without the items at some positions."""
    if names is None:
        return containers
    if isinstance(containers[0], list):
        return ([None if i in names else x for i, x in enumerate(c)] for c in containers)
    return ({k: v for k, v in d.items() if k not in names} for d in containers)


def _same(now: Any, before: Any) -> bool:
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(k in before and v is before[k] for k, v in now.items()) and list(now) == list(before)
    if isinstance(now, set):
        return all(x in now for x in before)
    return all(a is b for a, b in zip(now, before))
