"""Speculative traces of the bodies of loops and branches.

A trial either yields the operation, or is rolled back and yields a :class:`Failure`: see :mod:`regions`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.guards.varying_values import CountsItems, TracesAgain
from tnp.capture.speculation.constant_loops import takes_constants
from tnp.capture.speculation.regions import Growing, ListUse, Region, Retrace, Variables
from tnp.capture.tracing.scalar_kind import Kinds, condition_of
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import prims, sizes
from tnp.core.errors import NeedsEager, NotOwned
from tnp.core.proxies import TensorProxy
from tnp.runtime import signals

__all__ = [
    "BREAK",
    "CONSTANTS",
    "CONTINUE",
    "BufferRotation",
    "ConditionalExit",
    "ExitUnion",
    "Failure",
    "Returned",
    "Returning",
    "Trial",
    "blocks_at_returns",
    "grown_lists",
    "is_same_array",
    "is_same_constant",
    "is_unknown",
    "place_of",
    "ways_of",
    "without",
]

#: times that a body is traced to find out which memory it writes
MAX_TRACES = 16
#: kinds of values that are the same if they are equal
CONSTANTS = (str, bytes, type(None), int, float, bool, complex)


class _Jump:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: codes: how a body ended. ``None`` and CONTINUE: the next iteration; BREAK, a :class:`Returned`, or a :class:`ConditionalExit`
BREAK = _Jump("BREAK")
CONTINUE = _Jump("CONTINUE")


class Returned:
    """The code of ``return value``; ``payload`` is the value taken apart, where it was put together of that."""

    def __init__(self, value: Any, payload: Any = None) -> None:
        self._value = value
        self.payload = payload

    @property
    def value(self) -> Any:
        return self._value


class Returning(Returned):
    """The code of a block in a loop that ends in ``return``: ``block()``, which gives a :class:`Returned`, is for when all loops have
    ended that it stands in."""

    def __init__(self, block: Callable[[], Any]) -> None:
        self.block = block
        self.payload = None

    @property
    def value(self) -> Any:
        return self.block().value


class ExitUnion:
    """The code of a body that has ended in one of several ways: ``ways`` are conditions, one of which is true, and codes."""

    def __init__(self, ways: Sequence[tuple[Any, Any]]) -> None:
        self.ways = tuple(ways)

    def chosen(self) -> Any:
        """The code, if the trace can specialize on it."""
        return next((how for condition, how in self.ways[:-1] if condition), self.ways[-1][1])

    @property
    def value(self) -> Any:
        """What is returned."""
        return self.chosen().value


class ConditionalExit:
    """The code of a body that may have ended with ``how``, any other code but ``None``: it has if ``condition``, known at run time, is
    true."""

    def __init__(self, condition: TracedNumber, how: Any) -> None:
        self.condition = condition
        self.how = how


def _text(error: BaseException) -> str:
    try:
        return repr(error)
    except NeedsEager:  # it has traced values
        return f"a {type(error).__name__}"


class Failure(Exception):
    """A loop or branch that is no operation, and why. ``settles``: after another iteration it may be. ``needed`` is what tracing raised."""

    def __init__(self, reason: str, *, settles: bool = False, needed: NeedsEager | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.settles = settles
        self.needed = needed


class BufferRotation(Failure):
    """Arrays that a loop writes change names each iteration, and have their own again after ``period`` iterations. ``before`` says under
    which name each was an iteration before."""

    def __init__(self, before: Mapping[str, str]) -> None:
        super().__init__(f"{' and '.join(sorted(before))} take turns")
        self.names = frozenset(before)
        self.period, where = 1, dict(before)
        while any(n != m for n, m in where.items()):
            where = {n: before[m] for n, m in where.items()}
            self.period += 1


def ways_of(code: Any) -> list[tuple[Any, Any]]:
    """In which ways a body with that code may have ended early, and on what conditions."""
    condition, how = (code.condition, code.how) if isinstance(code, ConditionalExit) else (True, code)
    return [] if how is None else list(how.ways) if isinstance(how, ExitUnion) else [(condition, how)]


def without(code: Any, jump: Any) -> Any:
    """A code, where ``jump`` is as good as to go on."""
    ways = ways_of(code)
    left = [(condition, how) for condition, how in ways if how is not jump]
    if len(left) == len(ways):
        return code
    if not left:
        return None
    condition = functools.reduce(operator.or_, (c for c, _ in left))
    return ConditionalExit(condition, left[0][1] if len(left) == 1 else ExitUnion(left))


def blocks_at_returns(code: Any) -> list[Any]:
    """The functions in a code that compute what is returned."""
    return [how.block for _, how in ways_of(code) if isinstance(how, Returning)]


def is_unknown(x: Any) -> bool:
    """Whether ``x`` is a run-time value that has a truth value."""
    x = condition_of(x)
    if type(x) is TracedNumber:
        return x.proxy.value is None
    if type(x) is TracedArray:
        n = sizes.product(x.shape_)
        return type(n) is int and n == 1
    return False


class Findings:
    """What attempts at a loop or branch have found: the memory that it writes to, and the variables that are a number or a scalar, with the
    kinds. The same of the loops and branches in it. An attempt at what stands around it begins with that; else the number of attempts would
    grow exponentially with depth."""

    def __init__(self) -> None:
        self.storages: dict[int, Storage] = {}
        self.mixed: dict[str, Kinds] = {}
        self.inside: dict[Any, Findings] = {}

    def of(self, codes: Any, region: Region) -> Findings:
        """Those of the next loop or branch of these ``codes`` in an attempt, which ``region`` is."""
        region.met[codes] += 1
        return self.inside.setdefault((codes, region.met[codes]), Findings())

    def forget(self, serial: int) -> None:
        """Forgets storages that were made from ``serial`` on, in an attempt that is undone."""
        self.storages = {key: s for key, s in self.storages.items() if s.serial < serial}
        for one in self.inside.values():
            one.forget(serial)


class Trial:
    """What loops and branches have in common: bodies are traced until it is known which memory they write."""

    def __init__(self, functions: Sequence[Any], names: Sequence[str], stores: Sequence[str]) -> None:
        self.tracer = active.current()
        self.trace = self.tracer.trace
        self.variables = Variables(*functions)
        self.names = [n for n in names if n in self.variables]
        self.storages: dict[int, Storage] = {}
        for name in stores:
            value = self.variables[name] if name in self.variables else None
            if type(value) is TracedArray and not value.scalar and type(value.storage) is Storage:
                self.storages[id(value.storage)] = value.storage
        around = self.tracer.regions[-1] if self.tracer.regions else None
        codes = tuple(None if f is None else f.__code__ for f in functions)
        found = None if around is None else around.found
        self.found = Findings() if around is None or found is None else found.of(codes, around)
        self.storages |= self.found.storages
        #: the variables that are a number or a scalar, and the kinds; whether that was found in an attempt at what stands around this
        self.mixed = self.found.mixed
        self._inherits = bool(self.mixed)
        self.stores = set(stores)
        #: by ``id``, the lists of which the program counts the items: what is appended to each, and its state before
        self.lists: dict[int, tuple[Growing, Sequence[ListUse], Any]] = {}

    def attempt(self) -> Any:
        """What :meth:`once` gives. Raises :class:`Failure`, with everything as before, if it cannot be done."""
        try:
            return self._attempted()
        except BaseException:
            for one, _, state in self.lists.values():
                one.restore(state)
            raise

    def _attempted(self) -> Any:
        for one, uses, _ in self.lists.values():
            one.make_room(uses)
        for _ in range(MAX_TRACES):
            region = Region(self.tracer, self.variables)
            region.found, region.collects = self.found, True
            self.describe(region)
            try:
                if region.contents.too_many:
                    raise Failure("it can reach large lists or dicts")
                region.flush()
                return self.once(region)
            except Retrace as found:
                region.undo()
                if found.region is not region:
                    raise
                self._carry(found.storages)
                if found.uses:
                    self._make_room(found.uses)
                self._carry_assigned(region)
            except Failure:
                region.undo()
                if not self._carries_more(region):
                    raise
            except NeedsEager as reason:
                region.undo()
                if isinstance(reason, TracesAgain):
                    raise
                self.learn(reason)
                if not self._carries_more(region):
                    raise Failure(reason.reason, settles=isinstance(reason, NotOwned), needed=reason) from None
            except (Exception, SystemExit) as error:  # scripts leave by the latter
                region.undo()
                if signals.of_handler(error) is not None:
                    raise
                if self._carries_more(region):
                    continue
                self.tracer.unbound_reads += isinstance(error, NameError)
                raise Failure(f"tracing it raised {_text(error)}") from None
            except BaseException:
                region.undo()
                raise
        raise Failure("it writes to more arrays each time that it is looked at")

    def once(self, region: Region) -> Any:
        raise NotImplementedError

    def learn(self, reason: NeedsEager) -> None:
        """Looks at what an attempt met. Raises :class:`CountsItems` where that is a list whose items can be counted."""

    def describe(self, region: Region) -> None:
        """Says of a new region how often it runs."""

    def _make_room(self, uses: Sequence[ListUse]) -> None:
        """Has the list of ``uses`` make room for them, before the next attempt."""
        one = uses[0].list
        _, _, state = self.lists.get(id(one), (one, (), None))
        if state is None:
            state = one.state()
        one.restore(state)
        self.lists[id(one)] = one, uses, state
        one.make_room(uses)

    def _carry(self, storages: Iterable[Storage]) -> None:
        for storage in storages:
            self.found.storages[id(storage)] = self.storages[id(storage)] = storage

    def forgets(self) -> bool:
        """Forgets which variables are a number or a scalar if that was found in an attempt before. Returns whether it was: this one may have
        failed since they are not here."""
        inherits, self._inherits = self._inherits, False
        if inherits:
            self.mixed.clear()
        return inherits

    def _carries_more(self, region: Region) -> bool:
        """Whether the next attempt carries what this one missed: it may have failed since it did not."""
        self._carry(region.missed.values())
        return self._carry_assigned(region) or bool(region.missed)

    def _carry_assigned(self, region: Region) -> bool:
        """Makes the attributes that a region assigned variables. Returns whether there are some: it may have failed since it read
        what they had before."""
        for attribute, value in region.assigned:
            name = self.variables.add(attribute)
            self.names.append(name)
            if type(value) is TracedArray and id(value.storage) in self.storages:
                self.stores.add(name)
        return bool(region.assigned)

    def carry_storages(self, region: Region, proxies: dict[int, TensorProxy]) -> None:
        for key, storage in self.storages.items():
            region.carry(storage, proxies[key])

    def memory(self) -> dict[int, TensorProxy]:
        """The values of the carried storages, each in the memory that the operation may write to."""
        return {key: self._memory_of(s) for key, s in self.storages.items()}

    def _memory_of(self, storage: Storage) -> TensorProxy:
        """The value of a storage. Where the caller's arrays are written last, a copy of one."""
        is_callers = storage.origin is not None and storage.origin.name == storage.value.name
        if is_callers and self.trace.writes_last and not self.tracer.regions:
            made: TensorProxy = prims.clone(storage.value)
            return made
        return storage.value

    def storage_proxies(self) -> dict[int, TensorProxy]:
        made = {}
        for key, storage in self.storages.items():
            value = storage.value
            made[key] = TensorProxy(self.trace.make_name("m"), like=value, lang=value.lang, scalar=value.scalar)
        return made

    def stored_results(self, region: Region) -> dict[int, TensorProxy]:
        """What the carried storages hold at the end of a body, put into their memory; of those that were written."""
        results = {}
        for key, (storage, proxy) in region.carried.items():
            if storage.value.name != proxy.name:
                results[key] = prims.copy_(storage.value, proxy)
        return results

    def check_effects(self, region: Region) -> None:
        if region.assigned or region.missed:
            raise region.retraced()
        if region.changes_containers():
            if self.tracer.python_loops or any(r.is_loop for r in self.tracer.regions):
                self.count_items([now for now, before in region.contents.found if not _same_items(now, before)])
            if region.carries_items():
                raise Retrace(region)
            raise Failure("it changes a list, a dict or an object")
        if region.turns_modes():
            raise Failure("it turns a mode of a library on or off")

    def count_items(self, lists: Sequence[list[Any]]) -> None:
        """Raises :class:`CountsItems` for a list that a loop appends to, if the program made it and can count its items."""
        if takes_constants(self.tracer):
            return
        for items in lists:
            _, made_at, can_count = self.tracer.lists.get(id(items), (None, "", None))
            is_new = made_at and not self.tracer.inputs.prologue.varying.is_specialized(made_at)
            if is_new and can_count is not None and all(map(can_count, items)):
                raise CountsItems(made_at)

    def commit(self, written: dict[int, TensorProxy], *, was_checked: bool = False) -> None:
        """Gives storages the values that the operation left in them, in their memory at once: it may raise after it wrote some."""
        for key, proxy in written.items():
            self.storages[key].replace(proxy, was_checked=was_checked)
        if not self.trace.writes_last:
            self.tracer.flush()


def _same_items(now: Any, before: Any) -> bool:
    return type(now) is not list or (len(now) == len(before) and all(a is b for a, b in zip(now, before)))


def grown_lists(region: Region) -> Iterator[tuple[list[Any], list[Any]]]:
    """The lists that the body of ``region`` has appended to, and what it has appended."""
    for now, before in region.contents.found:
        if type(now) is list and len(now) > len(before) and all(a is b for a, b in zip(now, before)):
            yield now, now[len(before) :]


def place_of(body: Any) -> str:
    """What a body is called in messages."""
    code = body.__code__
    return f"the code in {code.co_filename}:{code.co_firstlineno}"


def is_same_array(a: Any, b: TracedArray) -> bool:
    """Whether ``a`` is an array that looks at the same elements as ``b``."""
    return type(a) is TracedArray and a.storage is b.storage and a.path == b.path


def is_same_constant(x: Any, y: Any) -> bool:
    """Whether two values are one number or text."""
    return type(x) in CONSTANTS and type(x) is type(y) and repr(x) == repr(y)
