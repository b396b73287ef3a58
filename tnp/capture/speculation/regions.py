"""Regions: parts of a program that are traced speculatively, such as the body of a loop.

While a region is open, operations are recorded into a body of its own. It ends in one of two ways. Either the body
becomes part of a loop or a branch, or everything is rolled back: the trace, the contents of storages, the program's
variables, and reachable lists and dicts. Values that were lifted meanwhile stay inputs; the program drops unused
inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import CellType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tnp.capture.objects.assigned_attributes import UNBOUND, Attribute
from tnp.capture.objects.shadows import is_shadow
from tnp.capture.speculation.reachable import Reachable
from tnp.capture.tracing.outer_names import Binding
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber, serials
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol

if TYPE_CHECKING:
    from tnp.capture.speculation.trials import Findings
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["UNBOUND", "Growing", "ListUse", "Region", "Retrace", "Variables"]


#: how many items of lists and dicts a loop or a branch carries as variables at most, and their types
MOST_ITEMS = 64
_CARRIED = (TracedArray, TracedNumber, TracedEither, int, float, bool, complex, np.generic, tuple)


class Growing(Protocol):
    """A list that the program makes, whose items are in memory that loops and branches write to."""

    def state(self) -> Any:
        """What :meth:`restore` puts back."""

    def restore(self, state: Any) -> None: ...

    def make_room(self, uses: Sequence[ListUse]) -> None:
        """Has memory for what ``uses`` append. Called before the region is opened in which they do."""

    def share(self, holders: Sequence[Storage]) -> None:
        """Says that ``holders`` may be the memory of an item."""

    def given(self) -> Sequence[Any]:
        """The lists that were appended to it."""


@dataclass(frozen=True)
class ListUse:
    """An operation that appends to a list: as often as the product of ``times`` says, at most (``None``: nobody knows). ``arrays`` are
    the appended ones, with the version of each, and ``given`` is the appended list, with what is in it."""

    list: Growing
    times: tuple[Any, ...]
    arrays: tuple[tuple[Storage, int], ...] = ()
    given: tuple[Any, Any] | None = None

    @property
    def appends_nothing(self) -> bool:
        """Whether the operation only changes items, or their order."""
        return any(type(n) is int and n == 0 for n in self.times)


class Retrace(BaseException):
    """Raised where a region writes to storages, or assigns attributes, that it does not carry yet, or appends to a list that has no room
    (``uses``). It is traced again."""

    def __init__(self, region: Region, storages: Sequence[Storage] = (), uses: Sequence[ListUse] = ()) -> None:
        super().__init__("storages are written" if storages else "attributes are assigned")
        self.region = region
        self.storages = tuple(storages)
        self.uses = uses


class Variables:
    """The names that functions share with the function that they were made in, attributes that they assign, and parts of the containers that
    names are bound to."""

    def __init__(self, *functions: Any) -> None:
        self.attributes: dict[str, Attribute] = {}
        self.parts: dict[str, Any] = {}
        self.cells: dict[str, CellType] = {}
        for f in functions:
            if f is not None:
                self.cells.update(zip(f.__code__.co_freevars, f.__closure__ or ()))

    def add(self, attribute: Attribute) -> str:
        """Makes an attribute one of the variables. Gives the name that it has among them."""
        name = str(attribute)
        while name in self.attributes:  # of another object of the class
            name += "'"
        self.attributes[name] = attribute
        return name

    def bound(self, name: str, number: Any) -> None:
        """Says of a number that stands for a variable what is known of all its values."""
        attribute = self.attributes.get(name)
        if attribute is not None and isinstance(attribute.owner, Binding) and isinstance(number, NumberProxy):
            number.low, number.bound = attribute.owner.interval

    def has(self, owner: Any, name: str) -> bool:
        """Whether an attribute is one of the variables."""
        return any(a.owner is owner and a.name == name for a in self.attributes.values())

    def __contains__(self, name: str) -> bool:
        return name in self.cells or name in self.attributes or name in self.parts

    def __getitem__(self, name: str) -> Any:
        if name in self.parts:
            return self.parts[name]
        if name in self.attributes:
            return self.attributes[name].get()
        try:
            return self.cells[name].cell_contents
        except ValueError:
            return UNBOUND

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.parts:
            self.parts[name] = value
        elif name in self.attributes:
            self.attributes[name].set(value)
        elif value is not UNBOUND:
            self.cells[name].cell_contents = value
        elif self[name] is not UNBOUND:
            del self.cells[name].cell_contents

    def update(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self[name] = value

    def values(self) -> dict[str, Any]:
        return {name: self[name] for name in (*self.cells, *self.attributes, *self.parts)}


class Region:
    """A part of the trace being recorded, on trial. ``carried`` are the storages that it may write to, with the proxies that
    stand for their values at its beginning."""

    def __init__(self, tracer: Tracer, variables: Variables) -> None:
        self.tracer = tracer
        self.variables = variables
        self.values = variables.values()
        inputs = tracer.inputs
        lifted = (*(c.made for c in inputs.containers), *inputs.shadows, *inputs.copies)
        self.contents = Reachable([*self.values.values(), *lifted], variables.cells.values())
        self._lifted_before = len(inputs.containers)
        self.serial = next(serials)
        #: what attempts at it have found; how many loops and branches it has met, by their code
        self.found: Findings | None = None
        self.met = Counter[Any]()
        #: Storages that it has written and does not carry. If it ``collects`` them, it goes on to the end, and is traced again then
        self.missed: dict[int, Storage] = {}
        self.collects = False
        #: attributes that were assigned and are no variables yet, and what they were before
        self.assigned: list[tuple[Attribute, Any]] = []
        self.carried: dict[int, tuple[Storage, TensorProxy]] = {}
        #: how many arrays' present values had been looked up, each as a value of its own
        self._looked_up = len(tracer.looked_up)
        #: storages that were marked as maybe sharing memory with another
        self.marked: list[tuple[Storage, Storage]] = []
        #: storages of which it is not known any more what they hold
        self.lost: list[Storage] = []
        #: the storages as they are behind the region if it is undone, and if it is not
        self._before = self._storages = self._states()
        self._guards = dict(tracer.trace.value_guards)
        self._catching = tracer.catching
        self._must_run_eagerly = tracer.must_run_eagerly
        self._modes = tracer.modes()
        self._is_open = False
        self._outer_length = len(tracer.trace.statements)
        self._names_before = tracer.trace.name_count - tracer.trace.undone_names
        #: how often it runs, at most (``None``: nobody knows); whether that is for a loop; and the lists that this runs over
        self.times: Any = 1
        self.is_loop = False
        self.over: tuple[Any, ...] = ()
        #: of a loop between constants: the names of its own constants, which are others in each iteration
        self.constants: set[str] | None = None
        self._list_uses = len(tracer.list_uses)
        #: lists that were put together in it, and may be those from before
        self.older: list[Any] = []

    def writes(self, storage: Storage) -> None:
        """Called before ``storage`` gets a new value. Notes it, or raises :class:`Retrace`, if the region does not carry it."""
        if storage.serial < self.serial and id(storage) not in self.carried:
            self.missed[id(storage)] = storage
            if not self.collects:
                raise self.retraced()
            self._remember(storage)

    def assigns(self, owner: Any, name: str) -> None:
        """Called before an attribute gets another value. If the region does not carry it, it is traced again when it has ended."""
        if self.variables.has(owner, name) or any(a.owner is owner and a.name == name for a, _ in self.assigned):
            return
        is_binding = isinstance(owner, Binding) and owner.serial < self.serial
        if is_binding or is_shadow(owner) or self.contents.reaches(owner):  # or it was made here
            attribute = Attribute(owner, name)
            self.assigned.append((attribute, attribute.get()))

    def _states(self) -> dict[int, Any]:
        return {id(s): (s, s.value, s.origin, s.source, s.written) for s in self.tracer.inputs.storages}

    def flush(self) -> None:
        """Makes pending writes visible before the region, unless that is undone."""
        if not self.tracer.trace.writes_last:
            self.tracer.flush()
        self._storages = self._states()

    def open(self) -> None:
        """From here on, what is recorded is the region's."""
        trace = self.tracer.trace
        self.tracer.regions.append(self)
        trace.push_body()
        self._is_open = True

    def carry(self, storage: Storage, proxy: TensorProxy) -> None:
        """Inside the region ``storage`` holds what ``proxy`` stands for, in memory that stands for the storage's."""
        self._remember(storage)
        self.carried[id(storage)] = (storage, proxy)
        storage.set_value(proxy)
        storage.source = proxy.name
        if storage.origin is not None:
            storage.origin = proxy

    def _remember(self, storage: Storage) -> None:
        """Has what ``storage`` holds restored when the region ends."""
        for states in (self._before, self._storages):
            states.setdefault(id(storage), (storage, storage.value, storage.origin, storage.source, storage.written))

    def lose(self, storage: Storage) -> None:
        """Says that from here on it is not known what ``storage`` holds, unless the region is undone."""
        storage.lost = True
        for region in {id(r): r for r in (*self.tracer.regions, self)}.values():
            region.lost.append(storage)

    def take(self) -> list[BoundSymbol]:
        """The operations recorded since the region was opened, or since the last call; the region stays open."""
        scope = self.tracer.trace.pop_body()
        self._forget_values()
        self.tracer.trace.push_body()
        return scope

    def close(self) -> list[BoundSymbol]:
        """Ends the recording and gives what was recorded. Storages are as before, except those made inside."""
        scope = self._end()
        self._restore_storages(self._storages)
        self._hand_on_marks()
        return scope

    def undo(self) -> None:
        """Ends the region, as if it had never been."""
        if self._is_open:
            self._end()
        if self.found is not None:
            self.found.forget(self.serial)
        self._forget_values()
        tracer = self.tracer
        tracer.trace.undone_names = tracer.trace.name_count - self._names_before
        del tracer.trace.statements[self._outer_length :]
        self._restore_storages(self._before)
        for storage, other in self.marked:
            storage.chosen_with[:] = [s for s in storage.chosen_with if s is not other]
        for storage in self.lost:
            storage.lost = False
        tracer.trace.value_guards.clear()
        tracer.trace.value_guards.update(self._guards)
        tracer.catching = self._catching
        tracer.must_run_eagerly = self._must_run_eagerly
        if self.turns_modes():
            tracer.put_back_modes(self._modes)
        for attribute, value in self.assigned:
            attribute.set(value)
        self.restore_variables()
        self.contents.restore()
        del tracer.list_uses[self._list_uses :]
        for container in tracer.inputs.containers[self._lifted_before :]:
            container.restore()

    def changes_containers(self) -> bool:
        """Whether it has changed what lists, dicts or sets hold, of the program's or of its caller's."""
        return self.contents.changed(self.variables.attributes.values()) or self._changes_lifted()

    def carries_items(self) -> bool:
        """Whether it has changed lists and dicts only by replacing items that can be variables. From the next attempt on they are."""
        carried = list(self.variables.attributes.values())
        found = None if self._changes_lifted() else self.contents.replaced_items(carried)
        if not found or len(found) > MOST_ITEMS:
            return False
        before = {id(now): then for now, then in self.contents.found}
        known = [(a, before[id(a.owner)][a.name]) for a in found]
        if not all(isinstance(x, _CARRIED) for a, then in known for x in (a.get(), then)):
            return False
        mine = [(a, then) for a, then in known if not self.variables.has(a.owner, a.name)]
        self.assigned += mine
        return bool(mine)

    def _changes_lifted(self) -> bool:
        return any(container.changed() for container in self.tracer.inputs.containers[self._lifted_before :])

    def turns_modes(self) -> bool:
        """Whether a library's modes are not what they were at the region's beginning."""
        return bool(self.tracer.modes() != self._modes)

    def retraced(self, uses: Sequence[ListUse] = ()) -> Retrace:
        """What to raise where it missed storages, or a list has no room for ``uses``."""
        return Retrace(self, tuple(self.missed.values()), uses)

    def list_uses(self) -> list[ListUse]:
        """What it has appended to lists of which the program counts the items."""
        found: list[ListUse] = self.tracer.list_uses[self._list_uses :]
        return found

    def restore_variables(self) -> None:
        """Binds the program's variables to what they were bound to before."""
        for name, value in self.values.items():
            self.variables[name] = value

    def splice(self) -> None:
        """Ends the region; what was recorded becomes part of what stands around it, as if there had been none."""
        trace = self.tracer.trace
        scope = trace.pop_body()
        self.tracer.regions.remove(self)
        self._is_open = False
        trace.statements.extend(scope)
        self._hand_on_marks()

    def _end(self) -> list[BoundSymbol]:
        scope = self.tracer.trace.pop_body()
        while self.tracer.regions.pop() is not self:
            self.tracer.trace.pop_body()  # one inside that an error left open
        self._is_open = False
        self._forget_values()
        return scope

    def _hand_on_marks(self) -> None:
        if self.tracer.regions:
            self.tracer.regions[-1].marked += self.marked

    def _forget_values(self) -> None:
        """Forgets the values that were looked up since the region was made: what defines them is taken away."""
        looked_up = self.tracer.looked_up
        for handle in looked_up[self._looked_up :]:
            if type(handle) is TracedNumber:
                del handle.proxy
            elif type(handle) is TracedArray:
                handle._seen = -1
        del looked_up[self._looked_up :]

    def _restore_storages(self, states: dict[int, Any]) -> None:
        for storage, value, origin, source, written in states.values():
            if storage.value is not value or storage.origin is not origin:
                storage.set_value(value)
            storage.origin, storage.source, storage.written = origin, source, written
