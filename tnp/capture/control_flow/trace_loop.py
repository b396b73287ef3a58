"""Loops as operations of the trace (*rolled* loops)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.capture.control_flow.appended_lists import APPENDED, AppendedList
from tnp.capture.control_flow.containers import Containers
from tnp.capture.control_flow.early_exit import ExitPath, exits_of, joined
from tnp.capture.control_flow.growing_arrays import GrownVariables, grows, is_renewed, renew
from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.control_flow.iteration_bounds import IterationBound, bound_of
from tnp.capture.control_flow.joint_names import JointNames
from tnp.capture.control_flow.loop_carried import (
    CarriedSizes,
    bound_counters,
    carried_handle,
    dims_that_shrink,
    either_of,
    handed_by,
    is_bound,
    is_callers,
    is_scalar,
    output_handle,
    own_sizes,
    parts_of,
    places_before,
    proxy_of,
    settle_counters,
    settled,
    stand_in,
    tell_apart,
)
from tnp.capture.control_flow.maybe_unbound import TracedMaybe, split
from tnp.capture.control_flow.unsettled_variables import UnsettledVariables
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.speculation.constant_loops import own_names, takes_constants
from tnp.capture.speculation.regions import UNBOUND, Region, Retrace
from tnp.capture.speculation.trials import (
    BREAK,
    CONSTANTS,
    CONTINUE,
    BufferRotation,
    Failure,
    grown_lists,
    is_same_array,
    is_unknown,
    place_of,
)
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.output_aliasing import mark_shared, may_share
from tnp.capture.tracing.scalar_kind import TracedEither, condition_of, either, kinds_of_both
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import prims
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import fits
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.subtraces import Body
from tnp.core.symbol import BoundSymbol

__all__ = ["Loop"]


class Loop(UnsettledVariables):
    """A ``for`` loop over ``iterations``, or a ``while`` loop on ``test``, tried as one operation.

    ``names`` and ``stores`` are what the rewriter knows of the body: the variables that it binds and that are read later, and
    those that hold arrays of which it stores elements. That is a first guess: which memory is written, tracing finds out. ``own`` are those
    of ``names`` that only the body reads.

    It has many methods: the steps of an attempt, and what each attempt finds out for the next.
    """

    def __init__(
        self, body: Any, test: Any, names: Sequence[str], stores: Sequence[str], iterations: Iterations | None, *, tells: bool,
        knows_first_test: bool = False, turns: BufferRotation | None = None, lifts: bool = False, forever: bool = False,
        own: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__((body, test), names, stores)
        #: whether integers are taken to keep the values that they begin with, and those that do not
        self.assumes = False
        self.counting: set[str] = set()
        #: whether a number becomes one that may be a scalar as well, where no iteration can be peeled for it to settle
        self.lifts = lifts
        #: whether it is to be rolled only if its condition holds whatever it computes, and whether that does
        self.forever, self.is_endless = forever, False
        #: those that it binds to arrays with more rows each time
        self.grown = GrownVariables(self.tracer.growing)
        #: those that it binds to containers
        begins = iterations is not None and iterations.known
        self.containers = Containers(self.variables, self.names, place_of(body), own, surely=begins)
        #: those that an iteration leaves bound to the array of another
        self.joint = JointNames()
        #: what bounds how often it runs as long as its condition holds, and how often that is at most (``None``: nobody knows)
        self.bound: IterationBound | None = None
        self.most: Any = None
        #: arrays that take turns, which all are back after ``times`` iterations: so many are one of this loop
        self.turning = frozenset() if turns is None else turns.names
        self.times = 1 if turns is None else turns.period
        #: whether it is asked if it ended with ``break``
        self.tells = tells
        #: whether Python can tell if a ``while`` loop begins
        self.knows_first_test = knows_first_test
        self.body, self.test, self.iterations = body, test, iterations
        #: arrays that variables are bound to anew, of which it is not known how they lie in memory
        self.loose: set[str] = set()
        #: variables that hold arrays that are stored to, and are bound to others all the same
        self.rebound: set[str] = set()
        #: variables to whose own arrays the body writes before it binds them anew
        self.owned: set[str] = set()
        #: of arrays that variables are bound to anew, the dimensions that are others in each iteration
        self.varying: dict[str, set[int]] = {}
        #: the sizes of dimensions that are others in each iteration
        self.sizes = CarriedSizes()
        #: the lists that each iteration appends to, by ``id``
        self.appended: dict[int, AppendedList] = {}
        self._made: list[int] = []

    def roll(self) -> Any:
        """Records the loop. Gives how it was left, if that is asked and known only when the program runs.

        Raises :class:`Failure`, with everything as before, if it cannot be one operation.
        """
        code = self.body.__code__
        self._repeats = 1 if self.iterations is None else self.iterations.length() or 1
        if not self.tracer.rolls:
            raise Failure("what follows needs values that it computes")
        if code in self.tracer.unrollable:
            reason, needed = self.tracer.unrollable[code]
            raise Failure(reason, needed=needed)
        unbound_reads = self.tracer.unbound_reads
        try:
            return self.attempt()
        except Failure as failure:
            failure.settles = failure.settles or self.tracer.unbound_reads > unbound_reads
            if not failure.settles and not isinstance(failure, BufferRotation):
                self.tracer.unrollable[code] = failure.reason, failure.needed
            raise

    def attempt(self) -> Any:
        while True:
            before = self._findings()
            try:
                left = super().attempt()
                self.grown.end(self.variables)
                self.containers.leave()
                return left
            except Failure:
                self.grown.begin(self.names, self.variables)
                if self.bound is not None and self.most is None:
                    self.most = self.bound.most()
                    self.lists.clear()  # there is room for so many
                if before == self._findings() and not self._may_assume() and not self.forgets():
                    self.grown.undo(self.variables)
                    raise
                for name in self.rebound:  # what it is bound to at first may not be written at all
                    self.storages.pop(id(self.variables[name].storage), None)

    def _find_bound(self, region: Region, tested: Any, condition: Any, carried: Any, inits: Any) -> None:
        """Finds out how often it runs at most. Raises :class:`Failure` where there is to be room for as much as it appends then."""
        if self.bound is None and self.iterations is None:
            ends = {n: proxy_of(self.variables[n]) for n in inits if n in self.variables}
            self.bound = bound_of(tested, condition, carried, inits, ends, in_another=len(self.tracer.regions) > 1)
        if self.bound is not None and self.most is None and region.list_uses():
            raise Failure("there is room for as many items as it has iterations")

    def _may_assume(self) -> bool:
        """Whether it is worth another look to take it that integers keep the values that they begin with: then they may be values
        of a scalar's dtype, as the 0 is of ``s = 0``. What shows to be no such integer is in ``counting`` from then on."""
        if self.assumes or not any(type(self.variables[n]) is int for n in self.names):
            return False
        self.assumes = True
        return True

    def _findings(self) -> tuple[int, ...]:
        """How much is known of the variables; if more than before, the body is worth another look."""
        return (
            len(self.loose),
            len(self.stores),
            len(self.rebound),
            len(self.owned),
            len(self.mixed),
            len(self.maybe),
            len(self.bound_first),
            len(self.counting),
            len(self.grown),
            len(self.joint),
            len(self.containers),
            self.most is not None,
            sum(map(len, self.varying.values())),
            self.sizes.kinds(),
        )

    def _may_own(self, value: Any) -> bool:
        """Whether the body may write to the array that a variable is bound to: memory of the program that no other variable that the
        loop carries looks at."""
        if type(value) is not TracedArray or value.scalar or type(value.storage) is not Storage or value.path:
            return False
        storage = value.storage
        holders = [v for n in self.names if type(v := self.variables[n]) is TracedArray and v.storage is storage]
        return storage.origin is None and storage.writable and not storage.maybe_shared and len(holders) == 1

    def _carry_in(self, name: str, inits: dict[str, Any], carried: dict[str, Any], entries: dict[str, Any]) -> None:
        """Carries a variable, if each iteration may have another value of it: adds what it begins with, its proxy, and what it is bound to at
        the beginning of an iteration."""
        value = self.variables[name]
        if self._may_be_nothing(name, value):
            self._carry_maybe(name, value, inits, carried, entries)
            return
        if value is UNBOUND and name in self.bound_first:
            value = stand_in(self.bound_first[name])
        if type(value) is TracedEither:
            self.mixed[name] = value.kinds
        if name in self.mixed:
            self._carry_either(name, value, inits, carried, entries)
            return
        written = (name in self.stores and name not in self.rebound) or name in self.turning
        kept = type(value) is TracedArray and not value.scalar and written
        made = None if kept else carried_handle(
            name, value, is_loose=name in self.loose, writable=self._may_own(value), varying=self.varying.get(name, ()),
            size=self.sizes.size,
        )  # fmt: skip
        if made is not None and self.assumes and type(value) is int and name not in self.counting:
            made[1].low = made[1].bound = value
        elif made is not None:
            self.variables.bound(name, made[1])
        if made is not None:
            inits[name], carried[name], entries[name] = made
            if type(value) is TracedArray and value.storage.writable and type(entries[name]) is TracedArray:
                entries[name].storage.unowned = not entries[name].storage.writable

    def once(self, region: Region) -> Any:
        carried, inits, entries = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        self.sizes.begin()
        self.containers.begin(region)
        for name in self.names:
            self._carry_in(name, inits, carried, entries)
        self._make_arrays_of_lists()
        memory = self.memory()
        self._check_begin(inits, carried)
        tell_apart(self.variables.values(), inits)
        proxies = self.storage_proxies()
        index = NumberProxy(self.trace.make_name("i"), int)
        if self.iterations is not None:
            self.iterations.bound(index)
            region.constants = own_names(self.iterations, index, carried, inits)
        region.open()
        for name in self.owned:
            region.lose(self.variables[name].storage)
        self.carry_storages(region, proxies)
        self.joint.begin(entries, index)
        self._enter(entries, carried, region)
        tested, condition = self._trace_test(region)
        self.is_endless = condition is True
        self.containers.enter(region)  # what was recorded is the test's
        code, appended = self._traced_body(region, TracedNumber(index))
        self.containers.end(region, leaves=code is not None and code is not CONTINUE)
        leaves = exits_of(code, region, self.variables, self.names)
        if not leaves and (self.forever or condition is True):
            reason = "its condition does not depend on what it computes"  # or the end is not to be seen yet
            raise Failure(reason if condition is True else "its condition is known while tracing", settles=self.forever)
        self.lifts = self.lifts or bool(leaves)  # an iteration that may leave the loop cannot be peeled
        self._find_bound(region, tested, condition, carried, inits)
        self._check_turns(region, entries)
        self.check_effects(region)
        self._check_owned(entries)
        results, handles, held = self._results(region, carried, entries)
        bound_counters(carried, inits, results)
        holders = [self._holders(storage, held) for storage in appended]
        in_lists = [(use.list, self._holders(s, held)) for use in region.list_uses() for s, _ in use.arrays]
        stored = self.stored_results(region)
        scope = region.close()
        self._check_worth([*tested, *scope], stored)
        scope, tested = ([*own_sizes(carried.values(), inits.values()), *of] for of in (scope, tested))
        left = self._record(
            region, scope, index, (tested, condition), leaves,
            list(results), [(carried[n], inits[n], results[n]) for n in results] + [(proxies[k], memory[k], stored[k]) for k in stored],
            {carried[n].name: inits[n] for n in carried if n not in results}
            | {proxies[k].name: memory[k] for k in proxies if k not in stored},
            {n: (carried[n], handles[n], places_before(n, held, entries)) for n in results if n in handles},
            {k: proxies[k] for k in stored},
        )  # fmt: skip
        settle_counters(self.variables, carried, inits, results, None if leaves or self.times > 1 else self.iterations)
        for one, names in zip(self.appended.values(), holders):
            one.extend([split(self.variables[n])[0].storage for n in names])
        for counted, names in in_lists:
            counted.share([split(self.variables[n])[0].storage for n in names])
        return left

    def _check_begin(self, inits: dict[str, Any], carried: dict[str, Any]) -> None:
        """Raises :class:`Failure` if a variable whose value is carried begins as part of an array that the body writes."""
        for name in inits:
            held, _ = split(self.variables[name]) if name in self.variables else (None, None)
            if type(held) is TracedArray and not held.scalar and name in carried and id(held.storage) in self.storages:
                if name in self.variables.parts and name not in self.rebound:
                    self.stores.add(name)  # it may be the same array in all iterations
                raise Failure(f"{name} begins as part of an array that is written", settles=True)

    def _enter(self, entries: dict[str, Any], carried: dict[str, Any], region: Region) -> None:
        """Binds the variables to their stand-ins at the beginning of an iteration."""
        for name, handle in entries.items():
            flag = carried.get(is_bound(name))
            self.variables[name] = handle if flag is None else self._maybe(name, handle, flag)
        renew(self.names, self.variables)
        self.containers.enter(region)

    def learn(self, reason: NeedsEager) -> None:
        if isinstance(reason, ReadsVarying) and reason.description == APPENDED:  # the body reads the list
            self.count_items([one.items for one in self.appended.values()])

    def describe(self, region: Region) -> None:
        region.is_loop = True
        region.times = self.most if self.iterations is None else self.iterations.most()
        region.over = () if self.iterations is None else tuple(x for x, _ in self.iterations.over)

    def _holders(self, storage: Storage | None, handles: dict[str, TracedArray | None]) -> list[str]:
        """The variables that are bound to the array at the end of an iteration that it appended to a list."""
        names = [n for n, x in handles.items() if x is not None and storage in may_share(x.storage)]
        if not self.owned.isdisjoint(names):
            raise Failure("it writes to an array that is in a list")
        return names

    def _traced_body(self, region: Region, index: TracedNumber) -> tuple[Any, list[Storage | None]]:
        """Traces the body. Returns its code and, for each list that it appends to, the memory of the appended array."""
        self.tracer.repeats *= self._repeats
        try:
            for one in self.appended.values():
                one.stand_in(region, begins=True)
            code = self._one_round(index)
        finally:
            for one in self.appended.values():
                one.stand_in(region, begins=False)
            self.tracer.repeats //= self._repeats
        if self.appended and code is not None and code is not CONTINUE:
            self.count_items([one.items for one in self.appended.values()])
            raise Failure("it appends to a list, and may be left early")
        try:
            stored = [one.store(region, index) for one in self.appended.values()]
        except Failure:
            self.count_items([one.items for one in self.appended.values()])
            raise
        memory = [id(s) for s in stored if s is not None]
        if len(set(memory)) < len(memory):
            raise Failure("it appends an array to two lists")
        return code, stored

    def _make_arrays_of_lists(self) -> None:
        """Makes the arrays that the lists' items are rows of, which the loop stores into."""
        for key in self._made:
            self.storages.pop(key, None)
        length = len(self.iterations.indices()) if self.appended and self.iterations is not None else 0
        made = [one.make(length) for one in self.appended.values()]
        self._made = [id(s) for s in made]
        self.storages.update(zip(self._made, made))

    def check_effects(self, region: Region) -> None:
        for items, added in grown_lists(region):
            is_fixed = id(items) in self.appended or id(items) in region.contents.fixed
            is_plain = self.iterations is not None and self.iterations.is_of_one_length and self.times == 1
            if self.iterations is None or not is_plain or is_fixed or takes_constants(self.tracer):
                self.count_items([items])
                raise Failure("it changes a list, a dict or an object")
            try:
                self.appended[id(items)] = AppendedList(items, added, self.iterations)
            except Failure:
                self.count_items([items])
                raise
            raise Retrace(region)
        super().check_effects(region)

    def _one_round(self, index: TracedNumber) -> Any:
        """The body, as often as it takes for arrays to have their names again; gives its code."""
        if self.iterations is None or self.times == 1:
            return self.body() if self.iterations is None else self.body(self.iterations.item(index))
        for k in range(self.times):
            code = self.body(self.iterations.item(index + k * (self.iterations.step // self.times) if k else index))
            if code is not None and code is not CONTINUE:
                raise Failure("it may be left while its arrays take turns")
        return None

    def _check_turns(self, region: Region, entries: dict[str, Any]) -> None:
        """Raises :class:`BufferRotation` if an iteration exchanges the names of arrays and writes to one of them."""
        begin = {n: entries.get(n, region.values[n]) for n in self.names}
        arrays = {n: x for n, x in begin.items() if type(x) is TracedArray and not x.scalar}
        now: dict[str, str] = {}
        for name in arrays:
            value = self.variables[name]
            if not is_same_array(value, arrays[name]):
                now[name] = next((m for m, x in arrays.items() if is_same_array(value, x)), "")
        if not now or set(now) != set(now.values()):
            return
        written = any(n in self.stores and n not in self.rebound for n in now)
        if not written and not any(is_callers(region.values[n]) for n in now):
            return
        if self.iterations is None or not self.iterations.known:  # it may end on any turn, so they are variables
            self.rebound.update(n for n in now if n in self.stores)
            raise Failure("arrays that it writes take turns")
        raise BufferRotation(now)

    def _trace_test(self, region: Region) -> tuple[list[BoundSymbol], Any]:
        if self.test is None:
            return [], None
        holds = self.test()
        if not is_unknown(holds) and not holds:
            raise Failure("its condition does not depend on what it computes")
        if any(s.value.name != p.name for s, p in region.carried.values()):
            raise Failure("its condition writes to an array")
        condition = proxy_of(condition_of(holds)) if is_unknown(holds) else True
        return region.take(), condition

    def _results(
        self, region: Region, carried: dict[str, Proxy], entries: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, TracedArray | None], dict[str, TracedArray | None]]:
        """What variables that changed are at the end of an iteration: values, the arrays among them, and these before some were copied."""
        is_certain = self.iterations is not None and self.iterations.known and not self.lifts
        copied = self.joint.copy(self.variables, entries, region, self.loose, is_certain=is_certain)
        results: dict[str, Any] = {}
        handles: dict[str, TracedArray | None] = {}
        known = len(self.loose)
        failures = []
        for name in self.names:
            try:
                self._result(name, region, carried, entries, results, handles)
            except Failure as failure:  # others may be found to change, too, in the same attempt
                failures.append(failure)
        if failures:
            raise failures[0]
        if len(self.loose) > known:
            raise Failure(f"{' and '.join(sorted(self.loose))} do not keep their layout")
        self.sizes.check(carried, results)
        ends = {n: handles.get(n, x) for n, x in entries.items()}
        if self.joint.find({n: h for n, h in ends.items() if type(h) is TracedArray and not h.scalar}):
            raise Failure("two of its variables may be bound to one array")
        return results, handles, {**handles, **copied}

    def _result(
        self, name: str, region: Region, carried: dict[str, Proxy], entries: dict[str, Any],
        results: dict[str, Any], handles: dict[str, TracedArray | None],
    ) -> None:  # fmt: skip
        """Adds what a variable is at the end of an iteration, if it changed."""
        value = self.variables[name]
        if name in self.maybe:
            held, results[is_bound(name)] = split(value, self._nothing(name))
            results[name] = carried[name] if held is UNBOUND else proxy_of(held)
            if results[name] is None or not fits(carried[name], results[name]):
                raise Failure(f"{name} does not keep its type, shape and dtype", settles=True)
            handles[name] = settled(name, held, entries, region, self.loose)
            return
        if name in self.mixed:
            end = either(value, self.mixed[name])
            if end is None:
                raise Failure(f"{name} becomes another kind of number")
            results[name], results[is_scalar(name)] = parts_of(end)
            handles[name] = None
            return
        if name not in carried:
            before = region.values[name]
            if value is before or is_renewed(before, value):
                return
            if type(before) is TracedArray and is_same_array(value, before):
                raise Failure(f"{name} becomes a view of itself", settles=True)
            if type(before) is TracedArray and name in self.stores:
                self.rebound.add(name)
            if type(before) in CONSTANTS and type(value) is type(before) and value == before:
                return
            may_be = self.lifts or type(value) is TracedMaybe
            if self.containers.note(name, before, value):
                raise Failure(f"{name} is bound to containers")
            if before is None and (self.lifts or type(value) is TracedOptional):
                self._may_be_none(name, proxy_of(split(value, None)[0]))
            if before is UNBOUND and may_be and name not in self.variables.attributes:
                self._note_unbound(name, value)
            raise Failure(f"{name} changes from iteration to iteration", settles=True)
        self.containers.check_view(name, region.values[name], value)
        result = proxy_of(value)
        if isinstance(result, Proxy) and result.name == carried[name].name:
            if type(value) is TracedArray and not value.scalar and value is not entries[name]:
                raise Failure(f"{name} becomes a view of itself", settles=True)
            return
        if type(region.values[name]) is int and self.assumes and name not in self.counting and is_number(result):
            self.counting.add(name)
            raise Failure(f"{name} counts")
        if value is None or type(value) is TracedOptional:
            self._may_be_none(name, carried[name])
        if name not in self.variables.parts and (axis := grows(region.values[name], value)) is not None:
            self.tracer.growing.setdefault(name, axis)
        if result is None or not fits(carried[name], result):
            self._note_varying(name, carried[name], result)
            lifts = self.lifts or type(value) is TracedEither
            before = entries[name] if region.values[name] is UNBOUND else region.values[name]
            kinds = kinds_of_both(before, value) if lifts else None
            if kinds is not None:
                self.mixed[name] = kinds
            raise Failure(f"{name} does not keep its type, shape and dtype", settles=True)
        handles[name] = settled(name, value, entries, region, self.loose)
        results[name] = result

    def _check_owned(self, entries: dict[str, Any]) -> None:
        """Raises :class:`Failure` if the body writes to arrays of variables of which that was not known."""
        arrays = {n: x for n, x in entries.items() if type(x) is TracedArray}
        written = [n for n, x in arrays.items() if x.storage.written]
        for name in written:  # what is handed on to one of them is written an iteration later
            handle, _ = split(self.variables[name])
            written += handed_by(handle if type(handle) is TracedArray else None, entries, written)
        if not all(arrays[n].storage.writable for n in written):
            raise Failure("it writes to what another variable was bound to")
        if not self.owned.issuperset(written):
            self.owned.update(written)
            raise Failure(f"it writes to what {' and '.join(sorted(written))} are bound to before it binds them anew")

    def _note_varying(self, name: str, arg: Proxy, result: Any) -> None:
        """Notes the dimensions of a variable that change from iteration to iteration, where that is all that does, and none grows."""
        if (changed := dims_that_shrink(arg, result)) is not None:
            self.varying.setdefault(name, set()).update(changed)

    def _check_worth(self, scope: Sequence[BoundSymbol], stored: Any) -> None:
        """A short loop over numbers alone is better run now, as long as it can be: what follows may need to know them."""
        known = self.knows_first_test if self.iterations is None else self.iterations.known
        arrays = any(isinstance(p, TensorProxy) for b in scope for p in (*b.flat_inputs, *b.flat_outputs))
        if known and not arrays and not stored and not (self.iterations and self.iterations.is_long):
            raise Failure("it computes numbers only")

    def _record(
        self, region: Region, scope: list[BoundSymbol], index: NumberProxy, test: tuple[list[BoundSymbol], Any], leaves: list[ExitPath],
        names: list[str], carried: list[tuple[Any, Any, Any]], unchanged: dict[str, Any], variables: dict[str, tuple[Any, Any, list[str]]],
        written: dict[int, TensorProxy],
    ) -> Any:  # fmt: skip
        """Records the operation, and binds variables and storages to what it leaves. ``names`` are what is carried first."""
        told: list[NumberProxy] = []
        if self.tells or any(way.how is not BREAK for way in leaves):
            values = [v for way in leaves for v in way.values]
            told = [NumberProxy(self.trace.make_name("n"), t) for way in leaves for t in way.types]
            carried = [*carried, *((t, t.python_type(), v) for t, v in zip(told, values))]
        args, inits = [c for c, _, _ in carried], [i for _, i, _ in carried]
        results = [r for _, _, r in carried] + [way.flag for way in leaves[:1]]
        if self.iterations is None:
            body = Body(args, scope, results).substitute(unchanged)
            tested = Body(args, test[0], [test[1]]).substitute(unchanged)
            prims.while_loop(tested, body, *inits)
        else:
            r = self.iterations
            body = Body([index, *args], scope, results).substitute(unchanged)
            bounds = [x.proxy if type(x) is TracedNumber else x for x in (r.start, r.stop, r.step)]
            prims.for_loop(*bounds, body, *inits)
        self.trace.statements.extend(own_sizes(args, inits))  # of the arrays that the loop leaves
        self.tracer.rolled = True
        self.tracer.rolled_iterations += self._repeats * self.tracer.repeats
        region.restore_variables()
        surely_ran = self.iterations is not None and self.iterations.known
        for name, (proxy, handle, sources) in variables.items():
            self.variables[name] = output_handle(proxy, handle)
            if name in self.maybe:
                flag = args[names.index(is_bound(name))]
                self.variables[name] = self._maybe(name, self.variables[name], flag)
            elif name in self.mixed:
                self.variables[name] = either_of((proxy, args[names.index(is_scalar(name))]), self.mixed[name])
            for source in sources if surely_ran else [name, *sources]:
                before, _ = split(region.values[source])
                if handle is not None and type(before) is TracedArray and not before.storage.lost:
                    mark_shared(split(self.variables[name])[0].storage, before.storage, is_chosen=True)
        self.joint.settle(self.variables, self.iterations if surely_ran and not leaves else None)
        self.commit(written)
        renew(self.names, self.variables)
        if not told:
            return None
        return joined([way.rebuilt([told.pop(0) for _ in way.values], self.variables) for way in leaves])
