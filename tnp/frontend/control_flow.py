"""Control flow while a function is traced: which loops and branches become operations of the trace, and how.

Where nothing traced decides, a loop or a branch is what Python does. A loop that can be counted is tried as one operation:
its body is traced once, with fresh proxies for what it carries (numbers and arrays that its variables are bound to, memory that
it writes). That is right if the body leaves variables of the metadata that it found. If it does not, one round is done as Python
does it (*peeled*), after which variables often have settled (``s = 0`` is a float64 once ``s += x[i]`` has run), and it is
tried again. What cannot be one operation runs round by round (*unrolls*).

A branch on a value that is known only when the program runs is traced on both sides, and what they leave is brought together.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tnp.core import langs, prims, sizes
from tnp.core.bodies import Body
from tnp.core.errors import EagerFallbackWarning, NeedsEager, NeedsValue, user_stack_level
from tnp.core.prims.control_flow import agree
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.frontend import state
from tnp.frontend.handles import Storage, TracedArray, TracedNumber
from tnp.frontend.regions import UNBOUND, Region, Retrace, Variables
from tnp.frontend.results import mark_shared
from tnp.frontend.rounds import Rounds, rounds_of
from tnp.frontend.values import carried_handle, output_handle, proxy_of, settled

__all__ = ["BREAK", "CONTINUE", "UNROLLED", "ControlFlow", "Returned"]

#: a loop of at most so many rounds, a number that stands in the program, is written out: operations of several rounds fuse (the
#: taps of a stencil, the stages of an integrator), which is worth more than a shorter program. Loops over time steps have more.
UNROLLED = 8
#: rounds after which a loop that is written out says so
WARN_ROUNDS = 1_000
#: rounds that a loop may be written out for; one of more runs eagerly, with the rest of the call
MAX_ROUNDS = 10_000
#: rounds that are peeled for variables to settle
PEELED = 3
#: times that a body is traced to find out which memory it writes
MAX_TRACES = 16


class _Jump:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: codes: how a body ended. ``None`` and CONTINUE: the next round; BREAK, a :class:`Returned`, or a :class:`_Leaving`
BREAK = _Jump("BREAK")
CONTINUE = _Jump("CONTINUE")


class Returned:
    """The code of ``return value``."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Leaving:
    """The code of a body that may have ended with ``break``: it has if ``condition``, known at run time, is true."""

    def __init__(self, condition: TracedNumber) -> None:
        self.condition = condition


class _Failure(Exception):
    """A loop or branch that is no operation, and why. ``settles``: after another round it may be."""

    def __init__(self, reason: str, *, settles: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.settles = settles


def is_unknown(x: Any) -> bool:
    """Whether ``x`` is a value whose truth Python can ask for, but only when the program runs."""
    if type(x) is TracedNumber:
        return x.proxy.value is None
    if type(x) is TracedArray:
        n = sizes.product(x.shape_)
        return type(n) is int and n == 1
    return False


class ControlFlow:
    """The hooks of control flow, of every rewritten function."""

    BREAK = BREAK
    CONTINUE = CONTINUE
    returned = Returned

    # Loops

    def for_(self, iterable: Any, body: Any, orelse: Any, names: Sequence[str], stores: Sequence[str]) -> Any:
        """``for item in iterable: body(item)`` ``else: orelse()``; gives the code that is left to act on."""
        tracer = state.running()
        rounds = rounds_of(iterable) if tracer is not None else None
        if rounds is None:
            if tracer is not None and tracer.regions and hasattr(iterable, "__next__"):
                _check_own_iterator(iterable, body)
            return _as_python(iterable, body, orelse)
        reason = "it has few rounds"
        few = rounds.constant and len(rounds.indices()) <= UNROLLED
        for _ in range(0 if few else PEELED + 1):
            if rounds.known and not rounds.begins():
                return orelse() if orelse is not None else None
            try:
                broken = _Loop(body, None, names, stores, rounds).roll()
            except _Failure as failure:
                reason = failure.reason
                if not (failure.settles and rounds.known):
                    break
            else:
                return _after_loop(broken, orelse)
            code = _plain_code(body(rounds.item(rounds.start)))
            if code is not None:
                return None if code is BREAK else code
            rounds = rounds.behind_first()
        if not rounds.known:
            raise NeedsValue(f"a loop has bounds that are known only when the program runs, and {reason}")
        indices = rounds.indices()
        _check_unrolling(len(indices), reason)
        return _as_python(map(rounds.item, indices), body, orelse)

    def while_(self, test: Any, body: Any, orelse: Any, names: Sequence[str], stores: Sequence[str]) -> Any:
        """``while test(): body()`` ``else: orelse()``; gives the code that is left to act on."""
        tracer = state.running()
        done, tries = 0, 0
        reason = "its condition is known while tracing"
        while True:
            if tracer is None:
                holds = test()
            else:
                region = Region(tracer, Variables(test))
                region.open()
                try:
                    holds = test()
                except BaseException:
                    region.undo()
                    raise
                worth_it = is_unknown(holds) or (done == 0 and type(holds) is TracedNumber) or done >= UNROLLED
                if worth_it and tries <= PEELED:
                    region.undo()
                    tries += 1
                    try:
                        broken = _Loop(body, test, names, stores, None).roll()
                    except _Failure as failure:
                        reason = failure.reason
                        if not failure.settles:
                            tries = PEELED + 1
                    else:
                        return _after_loop(broken, orelse)
                    holds = test()
                else:
                    region.splice()
            if not holds:
                return orelse() if orelse is not None else None
            code = _plain_code(body())
            if code is not None:
                return None if code is BREAK else code
            done += 1
            if done in (WARN_ROUNDS + 1, MAX_ROUNDS + 1) and tracer is not None:
                _check_unrolling(done, reason)

    # Branches

    def if_(
        self,
        test: Any,
        then: Any,
        orelse: Any,
        rest: Any,
        names: Sequence[str],
        stores: Sequence[str],
        tail: str | None,
    ) -> Any:
        """``if test: then()`` ``else: orelse()`` and then ``rest()``, if the branch did not jump; gives the code that is left to
        act on. ``tail`` says that nothing follows: in a ``"body"`` of a loop or branch, or in a ``"function"``."""
        if is_unknown(test):
            found = _Branch(then, orelse, rest, names, stores, tail).join(test)
            if found is not None:
                return found[0]
        side = then if test else orelse  # asks for a value that is not known, where it must be
        code = side() if side is not None else None
        if code is None and rest is not None:
            code = rest()
        elif isinstance(code, _Leaving) and rest is not None:
            raise NeedsValue("it leaves a loop on a value that is known only when the program runs")
        return code

    def if_exp(self, test: Any, then: Any, orelse: Any) -> Any:
        """``then() if test else orelse()``."""
        if is_unknown(test):
            found = _Branch(
                lambda: Returned(then()), lambda: Returned(orelse()), None, (), (), "value", then, orelse
            ).join(test)
            if found is not None:
                return found[0].value
        return then() if test else orelse()

    def and_(self, first: Any, *later: Any) -> Any:
        """``first and later[0]() and …``."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(
                    value, lambda at=at, x=x: self.and_(x(), *later[at + 1 :]), lambda value=value: value
                )
            if not value:
                return value
            value = x()
        return value

    def or_(self, first: Any, *later: Any) -> Any:
        """``first or later[0]() or …``."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(value, lambda value=value: value, lambda at=at, x=x: self.or_(x(), *later[at + 1 :]))
            if value:
                return value
            value = x()
        return value

    def and_test(self, first: Any, *later: Any) -> Any:
        """``first and later[0]() and …``, where only the truth of it matters."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(
                    value, lambda at=at, x=x: _truth(self.and_test(x(), *later[at + 1 :])), lambda: False
                )
            if not value:
                return False
            value = x()
        return value

    def or_test(self, first: Any, *later: Any) -> Any:
        """``first or later[0]() or …``, where only the truth of it matters."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(value, lambda: True, lambda at=at, x=x: _truth(self.or_test(x(), *later[at + 1 :])))
            if value:
                return True
            value = x()
        return value

    def not_(self, x: Any) -> Any:
        """``not x``."""
        return _not(x) if is_unknown(x) else not x

    def compare(self, names: Sequence[str], left: Any, *later: Any, join: Any = None) -> Any:
        """``left < later[0]() < …``, the comparisons by the names of their classes in :mod:`ast`."""
        join = self.and_ if join is None else join
        right = later[0]()
        holds = _COMPARISONS[names[0]](left, right)
        if len(names) == 1:
            return holds
        return join(holds, lambda: self.compare(names[1:], right, *later[1:], join=join))

    def compare_test(self, names: Sequence[str], left: Any, *later: Any) -> Any:
        """As :meth:`compare`, where only the truth of it matters."""
        return self.compare(names, left, *later, join=self.and_test)

    def assert_(self, test: Any, message: Any = None) -> None:
        """``assert test, message()``."""
        if is_unknown(test):
            said = () if message is None else (message(),)
            if any(type(x) not in (str, int, float, bool, type(None)) for x in said):
                raise NeedsEager("it asserts with a message that is not a text")
            state.current().call(prims.assert_, (test, *said), {})
        elif not test:
            raise AssertionError(*(() if message is None else (message(),)))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq, "NotEq": operator.ne,
    "Is": operator.is_, "IsNot": operator.is_not, "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
}  # fmt: skip


def _truth(x: Any) -> Any:
    """``bool(x)``, as a traced number where it is known only when the program runs."""
    if not is_unknown(x):
        return bool(x)
    tracer = state.current()
    number = tracer.call(prims.item, (x,), {}) if type(x) is TracedArray else x
    return number if number.proxy.python_type is bool else tracer.call(prims.convert_number, (number, bool), {})


def _not(x: Any) -> Any:
    return TracedNumber(langs.core.method("logical_not")(_truth(x).proxy))


def _plain_code(code: Any) -> Any:
    """The code of a round that ran as Python: ``None`` to go on, BREAK, or what the function has to act on."""
    if isinstance(code, _Leaving):
        raise NeedsValue("it leaves a loop on a value that is known only when the program runs")
    return None if code is CONTINUE else code


def _as_python(iterable: Iterable[Any], body: Any, orelse: Any) -> Any:
    for item in iterable:
        code = _plain_code(body(item))
        if code is not None:
            return None if code is BREAK else code
    return orelse() if orelse is not None else None


def _after_loop(broken: Any, orelse: Any) -> Any:
    """The ``else`` of a loop that was one operation, and ended with ``break`` if ``broken``."""
    if orelse is None:
        return None
    if broken is None:
        return orelse()
    raise NeedsValue("a loop has an else, and a break on a value that is known only when the program runs")


def _check_unrolling(rounds: int, reason: str) -> None:
    """Warns of a long loop that is written out. Raises :class:`NeedsEager` for one that is too long."""
    if rounds > MAX_ROUNDS:
        raise NeedsEager(f"a loop has more than {MAX_ROUNDS:,} rounds, and is not one operation: {reason}")
    tracer = state.current()
    if rounds > WARN_ROUNDS and not tracer.warned_of_unrolling:
        tracer.warned_of_unrolling = True
        text = f"a loop of over {WARN_ROUNDS:,} rounds is compiled round by round: {reason}"
        warnings.warn(text, EagerFallbackWarning, stacklevel=user_stack_level())


def _check_own_iterator(iterator: Any, body: Any) -> None:
    if any(value is iterator for value in Variables(body).values().values()):
        raise NeedsEager("it takes from an iterator in a loop or a branch")


class _Traced:
    """What loops and branches have in common: bodies are traced until it is known which memory they write."""

    def __init__(self, functions: Sequence[Any], names: Sequence[str], stores: Sequence[str]) -> None:
        self.tracer = state.current()
        self.trace = self.tracer.trace
        self.variables = Variables(*functions)
        self.names = [n for n in names if n in self.variables]
        self.storages: dict[int, Storage] = {}
        for name in stores:
            value = self.variables[name] if name in self.variables else None
            if type(value) is TracedArray and not value.scalar and type(value.storage) is Storage:
                self.storages[id(value.storage)] = value.storage
        self.stores = set(stores)

    def attempt(self) -> Any:
        """What :meth:`once` gives. Raises :class:`_Failure`, with everything as before, if it cannot be done."""
        for _ in range(MAX_TRACES):
            region = Region(self.tracer, self.variables)
            try:
                if region.contents.too_many:
                    raise _Failure("it can reach large lists or dicts")
                self.tracer.flush()
                return self.once(region)
            except Retrace as found:
                region.undo()
                if found.region is not region:
                    raise
                self.storages[id(found.storage)] = found.storage
            except _Failure:
                region.undo()
                raise
            except NeedsEager as reason:
                region.undo()
                raise _Failure(reason.reason) from None
            except Exception as error:
                region.undo()
                raise _Failure(f"tracing it raised {error!r}") from None
            except BaseException:
                region.undo()
                raise
        raise _Failure("it writes to more arrays each time that it is looked at")

    def once(self, region: Region) -> Any:
        raise NotImplementedError

    def carry_storages(self, region: Region, proxies: dict[int, TensorProxy]) -> None:
        for key, storage in self.storages.items():
            region.carry(storage, proxies[key])

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
        if region.contents.changed():
            raise _Failure("it changes a list, a dict or an object")

    def commit(self, written: dict[int, TensorProxy]) -> None:
        """Gives storages the values that the operation left in them."""
        for key, proxy in written.items():
            self.storages[key].replace(proxy)


class _Loop(_Traced):
    """A ``for`` loop, or with ``test`` a ``while`` loop, tried as one operation."""

    def __init__(
        self, body: Any, test: Any, names: Sequence[str], stores: Sequence[str], rounds: Rounds | None
    ) -> None:
        super().__init__((body, test), names, stores)
        self.body, self.test, self.rounds = body, test, rounds
        #: arrays that variables are bound to anew, of which it is not known how they lie in memory
        self.loose: set[str] = set()
        #: variables that hold arrays that are stored to, and are bound to others all the same
        self.rebound: set[str] = set()

    def roll(self) -> Any:
        """Records the loop. The condition on which it was left by ``break``, or ``None``.

        Raises :class:`_Failure`, with everything as before, if it cannot be one operation.
        """
        code = self.body.__code__
        if not self.tracer.rolls:
            raise _Failure("what follows needs values that it computes")
        if code in self.tracer.unrollable:
            raise _Failure(self.tracer.unrollable[code])
        try:
            return self.attempt()
        except _Failure as failure:
            if not failure.settles:
                self.tracer.unrollable[code] = failure.reason
            raise

    def attempt(self) -> Any:
        while True:
            before = len(self.loose), len(self.rebound)
            try:
                return super().attempt()
            except _Failure:
                if before == (len(self.loose), len(self.rebound)):
                    raise

    def once(self, region: Region) -> Any:
        carried: dict[str, Proxy] = {}
        inits: dict[str, Any] = {}
        entries: dict[str, Any] = {}
        for name in self.names:
            value = self.variables[name]
            kept = type(value) is TracedArray and not value.scalar and name in self.stores and name not in self.rebound
            made = None if kept else carried_handle(name, value, name in self.loose)
            if made is not None:
                inits[name], carried[name], entries[name] = made
        memory = {key: s.value for key, s in self.storages.items()}
        for name, init in inits.items():
            value = self.variables[name]
            if isinstance(init, TensorProxy) and not init.scalar and id(value.storage) in memory:
                raise _Failure(f"{name} begins as part of an array that is written", settles=True)
        proxies = self.storage_proxies()
        index = NumberProxy(self.trace.make_name("i"), int)
        region.open()
        self.carry_storages(region, proxies)
        for name, handle in entries.items():
            self.variables[name] = handle
        tested, condition = self._trace_test(region)
        code = self.body(*(() if self.rounds is None else (self.rounds.item(TracedNumber(index)),)))
        leaves = self._leaving(code)
        self.check_effects(region)
        results, handles = self._results(region, carried, entries)
        stored = self.stored_results(region)
        scope = region.close()
        self._check_worth(scope, stored)
        return self._record(
            region, scope, index, (tested, condition), leaves,
            [(carried[n], inits[n], results[n]) for n in results] + [(proxies[k], memory[k], stored[k]) for k in stored],
            {carried[n].name: inits[n] for n in carried if n not in results}
            | {proxies[k].name: memory[k] for k in proxies if k not in stored},
            {n: (carried[n], handles[n]) for n in results}, {k: proxies[k] for k in stored},
        )  # fmt: skip

    def _trace_test(self, region: Region) -> tuple[list[BoundSymbol], Any]:
        if self.test is None:
            return [], None
        holds = self.test()
        if not is_unknown(holds):
            raise _Failure("its condition does not depend on what it computes")
        if any(s.value.name != p.name for s, p in region.carried.values()):
            raise _Failure("its condition writes to an array")
        condition = proxy_of(holds)
        return region.take(), condition

    def _leaving(self, code: Any) -> Any:
        """The condition of a ``break``, as a value of the body."""
        if code is None or code is CONTINUE:
            return None
        if isinstance(code, _Leaving):
            return code.condition.proxy
        raise _Failure("it is left in each round")

    def _results(
        self, region: Region, carried: dict[str, Proxy], entries: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, TracedArray | None]]:
        """What variables that changed are at the end of a round: values, and the arrays among them."""
        results: dict[str, Any] = {}
        handles: dict[str, TracedArray | None] = {}
        for name in self.names:
            value = self.variables[name]
            if name not in carried:
                before = region.values[name]
                if value is before or (type(before) is TracedArray and _is_same_array(value, before)):
                    continue
                if type(before) is TracedArray and name in self.stores:
                    self.rebound.add(name)
                if type(before) in _CONSTANTS and type(value) is type(before) and value == before:
                    continue
                raise _Failure(f"{name} changes from round to round", settles=True)
            if value is entries[name]:
                continue
            result = proxy_of(value)
            if isinstance(result, Proxy) and result.name == carried[name].name:
                continue
            if result is None or not agree(carried[name], result):
                raise _Failure(f"{name} does not keep its type, shape and dtype", settles=True)
            handles[name] = settled(name, value, entries[name], region, self.loose)
            results[name] = result
        found = [h.storage for h in handles.values() if h is not None]
        if len({id(s) for s in found}) < len(found):
            raise _Failure("two of its variables are bound to one array")
        return results, handles

    def _check_worth(self, scope: Sequence[BoundSymbol], stored: Any) -> None:
        """A loop over numbers alone is better run now, as long as it can be: what follows may need to know them."""
        known = self.rounds is not None and self.rounds.known
        arrays = any(isinstance(p, TensorProxy) for b in scope for p in (*b.flat_inputs, *b.flat_outputs))
        if known and not arrays and not stored:
            raise _Failure("it computes numbers only")

    def _record(
        self, region: Region, scope: list[BoundSymbol], index: NumberProxy, test: tuple[list[BoundSymbol], Any], leaves: Any,
        carried: list[tuple[Any, Any, Any]], unchanged: dict[str, Any], variables: dict[str, tuple[Any, Any]],
        written: dict[int, TensorProxy],
    ) -> Any:  # fmt: skip
        """Records the operation, and binds variables and storages to what it leaves."""
        args = [c for c, _, _ in carried]
        inits = [i for _, i, _ in carried]
        results = [r for _, _, r in carried] + ([] if leaves is None else [leaves])
        if self.rounds is None:
            body = Body(args, scope, results).substitute(unchanged)
            tested = Body(args, test[0], [test[1]]).substitute(unchanged)
            prims.while_loop(tested, body, *inits)
        else:
            r = self.rounds
            body = Body([index, *args], scope, results).substitute(unchanged)
            bounds = [x.proxy if type(x) is TracedNumber else x for x in (r.start, r.stop, r.step)]
            prims.for_loop(*bounds, body, *inits)
        self._count_rounds()
        region.restore_variables()
        for name, (proxy, handle) in variables.items():
            before = region.values[name]
            self.variables[name] = output_handle(proxy, handle)
            surely_ran = self.rounds is not None and self.rounds.known
            if handle is not None and not surely_ran and type(before) is TracedArray:
                mark_shared(self.variables[name].storage, before.storage)
        self.commit(written)
        return leaves

    def _count_rounds(self) -> None:
        n = None if self.rounds is None else self.rounds.length()
        known = self.tracer.rolled_rounds
        self.tracer.rolled_rounds = None if n is None or known is None else known + n
        self.tracer.rolled = True


_CONSTANTS = (str, bytes, type(None), int, float, bool, complex)


def _is_same_array(a: Any, b: TracedArray) -> bool:
    return type(a) is TracedArray and a.storage is b.storage and a.path == b.path and a.shape_ == b.shape_


class _Branch(_Traced):
    """An ``if`` on a value that is known only when the program runs, tried as one operation."""

    def __init__(
        self, then: Any, orelse: Any, rest: Any, names: Sequence[str], stores: Sequence[str], tail: str | None,
        *functions: Any,
    ) -> None:  # fmt: skip
        super().__init__(functions or (then, orelse, rest), names, stores)
        self.sides = (then, orelse)
        self.rest, self.tail = rest, tail

    def join(self, test: Any) -> tuple[Any] | None:
        """Records the branch and gives its code, in a tuple; ``None``, with everything as before, if that cannot be."""
        self.condition = proxy_of(test)
        try:
            return (self.attempt(),)
        except _Failure:
            return None

    def _run(self, side: Any) -> Any:
        code = side() if side is not None else None
        if code is None and self.rest is not None:
            code = self.rest()
        elif isinstance(code, _Leaving) and self.rest is not None:
            raise _Failure("it leaves a loop in a branch of a branch")
        return None if code is CONTINUE and self.tail == "body" else code

    def once(self, region: Region) -> Any:
        memory = {key: s.value for key, s in self.storages.items()}
        proxies = self.storage_proxies()
        scopes, codes, ends, stores = [], [], [], []
        regions = [region, Region(self.tracer, self.variables)]
        for at, (side, r) in enumerate(zip(self.sides, regions)):
            if at:
                r.serial = region.serial
            r.open()
            try:
                self.carry_storages(r, proxies)
                codes.append(self._run(side))
                self.check_effects(r)
                values = {n: self.variables[n] for n in self.names}
                ends.append({n: (v, None if v is UNBOUND else proxy_of(v)) for n, v in values.items()})
                codes[-1] = self._code_as_value(codes[-1])
                stores.append(self.stored_results(r))
            except Retrace as found:
                if at:
                    r.undo()
                    raise Retrace(region, found.storage) if found.region is r else found from None
                raise
            except BaseException:
                if at:
                    r.undo()
                raise
            scopes.append(r.close())
            r.restore_variables()
        merged = {n: m for n in self.names if (m := self._merge(n, ends[0][n], ends[1][n], region)) is not None}
        code, pair = self._join_codes(*codes, region)
        written = [k for k in proxies if any(k in s for s in stores)]
        unchanged = {proxies[k].name: memory[k] for k in proxies if k not in written}
        bodies = []
        for at, (scope, found) in enumerate(zip(scopes, stores)):
            results = [found.get(k, proxies[k]) for k in written]
            results += [m[at] for m in merged.values()] + ([] if pair is None else [pair[at]])
            bodies.append(Body([proxies[k] for k in written], scope, results).substitute(unchanged))
        outputs = prims.cond(self.condition, *bodies, *(memory[k] for k in written))
        new = outputs[len(written) :]
        for (name, (_, _, first, second)), proxy in zip(merged.items(), new):
            self.variables[name] = _either(proxy, first, second)
        self.commit({k: proxies[k] for k in written})
        return code if pair is None else code(new[-1])

    def _code_as_value(self, code: Any) -> tuple[Any, Any]:
        """A code, and the proxy of its value, made inside of the branch."""
        if isinstance(code, Returned) and code.value is not None:
            return code, proxy_of(code.value)
        return code, code.condition.proxy if isinstance(code, _Leaving) else None

    def _merge(self, name: str, a: tuple[Any, Any], b: tuple[Any, Any], region: Region) -> Any:
        """The two values of a variable, as proxies and as they are; ``None`` if they are one."""
        (x, p), (y, q) = a, b
        if x is y or (type(x) is TracedArray and _is_same_array(y, x)):
            self.variables[name] = x
            return None
        if type(x) in _CONSTANTS and type(y) is type(x) and repr(x) == repr(y):
            self.variables[name] = x
            return None
        if p is None or q is None or not agree(p, q):
            raise _Failure(f"{name} is of another kind on either side")
        _check_mergeable(x, y, region)
        return p, q, x, y

    def _join_codes(self, a: tuple[Any, Any], b: tuple[Any, Any], region: Region) -> tuple[Any, Any]:
        """The code of the branch; or a function that makes it of a value, and that value's proxies on both sides."""
        (x, p), (y, q) = a, b
        if x is y:
            return x, None
        if self.tail == "function":
            x, y = (Returned(None) if c is None else c for c in (x, y))
        if isinstance(x, Returned) and isinstance(y, Returned) and self.tail is not None:
            if x.value is None and y.value is None:
                return x, None
            if _is_same_constant(x.value, y.value):
                return x, None
            if p is None or q is None or not agree(p, q):
                raise _Failure("it returns values of different kinds")
            _check_mergeable(x.value, y.value, region)
            return lambda proxy: Returned(_either(proxy, x.value, y.value)), (p, q)
        leaving = [None, BREAK]
        if self.tail == "body" and all(c in leaving or isinstance(c, _Leaving) for c in (x, y)):
            values = [c is BREAK if c in leaving else v for c, v in ((x, p), (y, q))]
            return lambda proxy: _Leaving(TracedNumber(proxy)), values
        raise _Failure("it jumps on one side")


def _is_same_constant(x: Any, y: Any) -> bool:
    return type(x) in _CONSTANTS and type(x) is type(y) and repr(x) == repr(y)


def _check_mergeable(x: Any, y: Any, region: Region) -> None:
    """Refuses arrays that look at part of memory that other arrays look at: what a write to them would change is not known."""
    for v in (x, y):
        if (
            type(v) is TracedArray
            and not v.scalar
            and (type(v.storage) is not Storage or id(v.storage) in region.carried)
        ):
            raise _Failure("it chooses between arrays that share memory with others")


def _either(proxy: Proxy, x: Any, y: Any) -> Any:
    """What the program holds for a value that is one of two."""
    handle = x if type(x) is TracedArray and not x.scalar else None
    made = output_handle(proxy, handle)
    if handle is not None:
        if x.strides_ != y.strides_:
            made._strides = None
        for v in (x, y):
            mark_shared(made.storage, v.storage)
    return made
