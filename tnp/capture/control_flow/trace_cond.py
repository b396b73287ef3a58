"""Branches on run-time values, as operations of the trace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.capture import active
from tnp.capture.control_flow.containers import Containers
from tnp.capture.control_flow.early_exit import ExitPath, Payload, joined, payload_of
from tnp.capture.control_flow.growing_arrays import grows
from tnp.capture.control_flow.loop_carried import either_of, output_handle, parts_of, proxy_of
from tnp.capture.control_flow.maybe_unbound import TracedMaybe, nothing_like, split
from tnp.capture.speculation.regions import UNBOUND, Region, Retrace, Variables
from tnp.capture.speculation.trials import (
    CONTINUE,
    ConditionalExit,
    ExitUnion,
    Failure,
    Returned,
    Returning,
    Trial,
    blocks_at_returns,
    is_same_array,
    is_same_constant,
    place_of,
    ways_of,
    without,
)
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.optional_values import TracedOptional, settled_if_known
from tnp.capture.tracing.output_aliasing import mark_shared, view_of_all
from tnp.capture.tracing.scalar_kind import TracedEither, condition_of, either, kinds_of_both
from tnp.capture.tracing.strides import same_layout
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import prims, symbols
from tnp.core.errors import NeedsEager
from tnp.core.prims.control_flow import are_alike
from tnp.core.proxies import Proxy
from tnp.core.subtraces import Body

__all__ = ["Branch"]


def _nothing_like(p: Any) -> Any:
    """What can stand where a value is of no account: :func:`nothing_like`, also of the two parts of a number or a scalar."""
    return tuple(map(nothing_like, p)) if type(p) is tuple else nothing_like(p)


class Branch(Trial):
    """An ``if`` on a value that is known only when the program runs, tried as one operation."""

    def __init__(
        self, then: Any, orelse: Any, rest: Any, names: Sequence[str], stores: Sequence[str], tail: str | None,
        *functions: Any,
    ) -> None:  # fmt: skip
        super().__init__((then, orelse, rest, *functions), names, stores)
        self.sides = (then, orelse)
        #: why it is no operation, if it is none
        self.reason = ""
        self.needed: NeedsEager | None = None
        self.rest, self.tail = rest, tail
        #: the side that raised when it was traced
        self.raising: Any = None
        #: of each side, what variables are bound to at its end
        self.ends: list[dict[str, tuple[Any, Any]]] = []
        self.containers = Containers(self.variables, self.names, place_of(then or orelse or rest))

    def join(self, test: Any) -> tuple[Any] | None:
        """Records the branch and gives its code, in a tuple; ``None``, with everything as before, if that cannot be."""
        self.condition = proxy_of(condition_of(test))
        try:
            return (self.attempt(),)
        except Failure as failure:
            self.reason, self.needed = failure.reason, failure.needed
            return None

    def attempt(self) -> Any:
        while True:
            known = len(self.mixed), len(self.containers)
            try:
                code = super().attempt()
                self.containers.leave()
                return code
            except Failure:
                if known == (len(self.mixed), len(self.containers)) and not self.forgets():
                    raise

    def _run(self, side: Any) -> Any:
        with self._noting_errors(side):
            code = side() if side is not None else None
        if code is None and self.rest is not None:
            code = self.rest()
        elif isinstance(code, ConditionalExit) and self.rest is not None:
            code = self._inner(code.condition, lambda: code.how, self.rest, code)
        if self.tail == "function":
            with self._noting_errors(side):  # what is raised in a loop is raised where the loop's code is acted on
                return self._returned(code)
        return without(code, CONTINUE) if self.tail == "body" else code

    @contextmanager
    def _noting_errors(self, side: Any) -> Iterator[None]:
        """Notes the side of the program that raises."""
        try:
            yield
        except Failure:
            raise
        except (Exception, SystemExit, NeedsEager) as error:
            if not isinstance(error, NeedsEager) or error.is_raising:
                self.raising = side
            raise

    def _inner(self, condition: Any, then: Any, otherwise: Any, code: Any) -> Any:
        """The code of a branch in this one, at its end; ``code`` is what it acts on."""
        names, stores = (*self.names, *self.containers.names), tuple(self.stores)
        found = Branch(then, otherwise, None, names, stores, self.tail, *blocks_at_returns(code)).join(condition)
        if found is None:
            raise Failure("it leaves a loop in a branch of a branch")
        return found[0]

    def _returned(self, code: Any) -> Any:
        """A code at the end of the function, with what it returns."""
        if isinstance(code, Returning):
            return code.block()
        if not isinstance(code, ExitUnion):
            return code
        (condition, first), *others = code.ways
        second = others[0][1] if len(others) == 1 else ExitUnion(others)
        return self._inner(condition, lambda: first, lambda: second, code)

    def once(self, region: Region) -> Any:
        self.containers.begin(region)
        memory = self.memory()
        proxies = self.storage_proxies()
        scopes, codes, raw, ends, stores = [], [], [], [], []
        regions = [region, Region(self.tracer, self.variables)]
        for at, (side, r) in enumerate(zip(self.sides, regions)):
            if at:
                r.serial, r.assigned, r.found, r.met = region.serial, region.assigned, region.found, region.met
                r.missed, r.collects = region.missed, True
            r.open()
            try:
                with self.tracer.facts.assumed(self.condition, not at):
                    self.carry_storages(r, proxies)
                    codes.append(_with_known_value(self._run(side)))
                    self.containers.end(r)
                    self.check_effects(r)
                    raw.append({n: self.variables[n] for n in self.names})
                    values = {n: _as_known(v) for n, v in raw[-1].items()}
                    ends.append({n: (v, self._proxies_of(n, v)) for n, v in values.items()})
                    codes[-1] = self._code_as_value(codes[-1], region)
                    stores.append(self.stored_results(r))
            except Retrace as found:
                if at:
                    r.undo()
                    raise Retrace(region, found.storages, found.uses) if found.region is r else found from None
                raise
            except BaseException:
                if at:
                    r.undo()
                raise
            scopes.append(r.close())
            r.restore_variables()
        self.ends = ends
        merged, renewed, failures = {}, [], []
        for n in self.names:
            if raw[0][n] is raw[1][n]:
                self.variables[n] = raw[0][n]
            elif type(values := raw[0][n]) is GrowingArray and values.is_of(raw[1][n]):
                if not (ends[0][n][0] and ends[1][n][0]):
                    raise Failure(f"{n} is an array to which something was appended")
                renewed.append(n)
            else:
                try:
                    if (one := self._merge(n, ends[0][n], ends[1][n], region)) is not None:
                        merged[n] = one
                except Failure as failure:  # others may be found to differ, too, in the same attempt
                    failures.append(failure)
        if failures:
            raise failures[0]
        code, pairs = self._join_codes(codes[0], codes[1], region)
        written = [k for k in proxies if any(k in s for s in stores)]
        unchanged = {proxies[k].name: memory[k] for k in proxies if k not in written}
        bodies = []
        for at, (scope, into) in enumerate(zip(scopes, stores)):
            results = [into.get(k, proxies[k]) for k in written]
            results += [pair[at] for found, _ in merged.values() for pair in found] + [pair[at] for pair in pairs]
            bodies.append(Body([proxies[k] for k in written], scope, results).substitute(unchanged))
        outputs = prims.cond(self.condition, *bodies, *(memory[k] for k in written))
        new = list(outputs[len(written) :])
        # Writes to memory that was shared already have raised while the sides were traced. What is marked by now was chosen later.
        self.commit({k: proxies[k] for k in written}, was_checked=True)
        for name, (parts, make) in merged.items():
            self.variables[name] = make(*new[: len(parts)])
            self.variables.bound(name, new[0])
            del new[: len(parts)]
        for name in renewed:  # the counts of their rows are variables, too
            self.variables[name] = raw[0][name].renewed()
        return code(*new) if callable(code) else code

    def _proxies_of(self, name: str, value: Any) -> Any:
        """A value at the end of a side: its proxy, or the two of one that is a number or a scalar."""
        value, _ = split(value)
        if value is UNBOUND:
            return None
        if type(value) is tuple and not name.isidentifier():
            return tuple(self._proxies_of(f"{name}[{k}]", v) for k, v in enumerate(value))
        if name not in self.mixed:
            return self._own_object(value, proxy_of(value))
        found = either(value, self.mixed[name])
        return None if found is None else parts_of(found)

    def _is_one_array(self, x: Any, y: Any) -> bool:
        """Whether both look at the same elements, and neither of two is an argument, which the caller would tell from the other."""
        if type(x) is not TracedArray or not is_same_array(y, x):
            return False
        if x is not y and (self._may_be_callers(x) or self._may_be_callers(y)):
            return False
        return x is y or x.storage.origin is None or all(h is not x and h is not y for h in self.tracer.inputs.arrays())

    def _may_be_callers(self, x: TracedArray) -> bool:
        """Whether a branch chose an array, maybe one of the caller's."""
        candidates = {id(c) for c in self.tracer.choices.candidates(x) if c is not x}
        return bool(candidates) and any(id(h) in candidates for h in self.tracer.inputs.arrays())

    def _own_object(self, value: Any, proxy: Any) -> Any:
        """The proxy of a value, for a view of all of an argument another one than the argument's."""
        if type(value) is not TracedArray or value.scalar:
            return proxy
        chosen = (c for c in self.tracer.choices.chosen() if c is not value and is_same_array(value, c))
        if any(map(self._may_be_callers, chosen)):
            return view_of_all(proxy)
        if value.storage.origin is None:
            return proxy
        if symbols.extents(proxy.shape) is None or all(
            value is h or h.__tnp_value__().name != proxy.name for h in self.tracer.inputs.arrays()
        ):
            return proxy
        return view_of_all(proxy)

    def _code_as_value(self, code: Any, region: Region) -> tuple[Any, Any, list[ExitPath]]:
        """A code; the proxy of its value, made inside of the branch; and, in the body of a loop or a side of a branch, whether it leaves
        that, and in which ways."""
        proxy = self._proxies_of("", code.value) if type(code) is Returned and code.value is not None else None
        if self.tail not in ("body", "side"):
            return code, proxy, []
        condition = code.condition if isinstance(code, ConditionalExit) else code is not None
        ways = [ExitPath(c, how, self._payload(how, region)) for c, how in ways_of(code)]
        return code, proxy, [ExitPath(condition, None, None), *ways]

    def _payload(self, how: Any, region: Region) -> Payload | None:
        return payload_of(how, region, self.variables, self.names) if type(how) is Returned else None

    def _merge(self, name: str, a: tuple[Any, Any], b: tuple[Any, Any], region: Region) -> Any:
        """What the sides give for a variable, in pairs, and what makes the value that the program holds of the results; ``None`` if
        the two are one."""
        x, y = a[0], b[0]
        if x is y or is_same_constant(x, y):
            self.variables[name] = x
            return None
        if self._is_one_array(x, y):
            self.variables[name] = _one_of(x, y)
            return None
        if any(v is UNBOUND or type(v) is TracedMaybe for v in (x, y)):
            if name in self.variables.attributes:
                raise Failure(f"{name} is assigned on one side only, and was missing")
            return self._merge_maybe(name, a, b, region)
        if type(x) is TracedArray and self.containers.note(name, x, y):
            raise Failure(f"{name} is a view at one of two positions")
        return self._bring_together(name, a, b, region, f"{name} is of another kind on either side")

    def _merge_maybe(
        self, name: str, a: tuple[Any, Any], b: tuple[Any, Any], region: Region, nothing: Any = UNBOUND
    ) -> Any:
        """As :meth:`_merge`, of a variable that is ``nothing`` on one side, or may be: not bound, or ``None``."""
        ((x, is_x), p), ((y, is_y), q) = (split(a[0], nothing), a[1]), (split(b[0], nothing), b[1])
        if x is UNBOUND:
            x, p = y, _nothing_like(q)
        elif y is UNBOUND:
            y, q = x, _nothing_like(p)
        if (p is None or q is None) and not (nothing is UNBOUND and TracedEither in (type(x), type(y))):
            raise Failure(
                f"{name} is {'bound on one side only' if nothing is UNBOUND else 'of another kind on either side'}"
            )
        pairs, make = self._bring_together(name, (x, p), (y, q), region, f"{name} is of another kind on either side")
        kind = TracedMaybe if nothing is UNBOUND else TracedOptional
        if kind is TracedOptional:
            self.tracer.inputs.prologue.varying.has_optionals = True
            if any(type(v) is TracedArray and (v.path or v.storage.origin is not None) for v in (a[0], b[0])):
                raise Failure(f"{name} is of another kind on either side")
        return [*pairs, (is_x, is_y)], lambda *made: kind(make(*made[:-1]), TracedNumber(made[-1]))

    def _bring_together(self, name: str, a: tuple[Any, Any], b: tuple[Any, Any], region: Region, reason: str) -> Any:
        (x, p), (y, q) = a, b
        if (p is None or q is None) and self.containers.note(name, x, y):
            raise Failure(reason)
        is_optional = any(v is None or type(v) is TracedOptional for v in (x, y))
        if is_optional and not self.tracer.inputs.prologue.varying.knows_none and UNBOUND is not x and UNBOUND is not y:
            return self._merge_maybe(name, a, b, region, None)
        if type(x) is type(y) is tuple and type(p) is type(q) is tuple and len(x) == len(y):
            return self._bring_tuples_together(name, a, b, region, reason)
        if name in self.mixed and p is not None and q is not None:
            return list(zip(p, q)), lambda *made: either_of(made, self.mixed[name])
        axis = grows(x, y) if (found := grows(y, x)) is None else found
        if axis is not None:
            self.tracer.growing.setdefault(name, axis)
        if p is None or q is None or not are_alike(p, q):
            kinds = kinds_of_both(x, y)
            if kinds is not None:
                self.mixed[name] = kinds
            raise Failure(reason)
        _check_mergeable(x, y, region)
        shared = [v for v, end in zip((x, y), self.ends) if type(v) is TracedArray and not _is_alone(v, end, region)]
        return [(p, q)], lambda proxy: _either(proxy, x, y, shared)

    def _bring_tuples_together(self, name: str, a: Any, b: Any, region: Region, reason: str) -> Any:
        items: list[Any] = []
        pairs: list[Any] = []
        for k, (x, p, y, q) in enumerate(zip(*a, *b)):
            if is_same_constant(x, y) or self._is_one_array(x, y):
                items.append((0, lambda x=x: x))
                continue
            found, make = self._bring_together(f"{name}[{k}]", (x, p), (y, q), region, reason)
            items.append((len(found), make))
            pairs += found

        def together(*made: Any) -> tuple[Any, ...]:
            left = iter(made)
            return tuple(make(*itertools.islice(left, n)) for n, make in items)

        return pairs, together

    def _join_codes(
        self, a: tuple[Any, Any, list[ExitPath]], b: tuple[Any, Any, list[ExitPath]], region: Region
    ) -> tuple[Any, Any]:
        """The code of the branch; or a function that makes it of values, and these as pairs of what the sides give."""
        (x, p, _), (y, q, _) = a, b
        returning = type(x) is Returned and type(y) is Returned
        if self.tail in ("body", "side") and not returning:
            return _leaving(x, y, a[2], b[2], self.variables)
        if x is y:
            return x, []
        if self.tail == "function":
            x, y = (Returned(None) if c is None else c for c in (x, y))
        if type(x) is Returned and type(y) is Returned and self.tail is not None:
            if x.value is None and y.value is None:
                return x, []
            if type(x.value) is TracedArray and x.value is y.value:
                return x, []
            if is_same_constant(x.value, y.value):
                return x, []
            pairs, make = self._bring_together(
                "", (x.value, p), (y.value, q), region, "it returns values of different kinds"
            )
            return lambda *made: Returned(make(*made)), pairs
        raise Failure("it jumps on one side")


def _as_known(x: Any) -> Any:
    """A value at the end of a side, as what is known of it there: for an array that a loop appends to, whether it is the present one."""
    return x.is_present() if type(x) is GrowingArray else settled_if_known(x)


def _with_known_value(code: Any) -> Any:
    """A code, with what it returns as what that is known to be on a side."""
    if type(code) is not Returned or code.value is settled_if_known(code.value):
        return code
    return Returned(settled_if_known(code.value))


def _leaving(x: Any, y: Any, a: list[ExitPath], b: list[ExitPath], variables: Variables) -> tuple[Any, Any]:
    """The code of a branch that nothing follows in the body of a loop, as of :meth:`Branch._join_codes`; its sides end with ``x`` and
    ``y``, that is in the ways ``a`` and ``b``."""
    if x is y:
        return x, []
    sides = [{w.key: w for w in ways} for ways in (a, b)]
    keys = list(dict.fromkeys(w.key for w in (*a, *b)))
    if len(keys) == 2:
        keys = keys[1:]  # whether it leaves is whether it does so in the only way
    pairs: list[Any] = []
    known: list[ExitPath] = []
    for key in keys:
        found = [side.get(key) for side in sides]
        way = next(w for w in found if w is not None)
        if any(w is not None and w.template != way.template for w in found):
            raise Failure("it returns values of different kinds")
        # Where it does not return, what it would return is of no account.
        nothing = [t() for t in way.types]
        pairs += zip(*(nothing if w is None else w.values for w in found))
        known.append(way)

    def make(*made: Any) -> ConditionalExit:
        left = list(made)
        return joined([way.rebuilt([left.pop(0) for _ in way.values], variables) for way in known])

    return make, pairs


def _check_mergeable(x: Any, y: Any, region: Region) -> None:
    """Refuses arrays of which it is not known what a write to them would change: those of the caller that the branch writes."""
    for v in (x, y):
        if type(v) is not TracedArray or v.scalar:
            continue
        written = id(v.storage) in region.carried and (v.path or v.storage.origin is not None)
        if type(v.storage) is not Storage or written:
            raise Failure("it chooses between arrays that share memory with others")


def _is_alone(x: TracedArray, end: dict[str, tuple[Any, Any]], region: Region) -> bool:
    """Whether an array is memory that a side of a branch has made, and nothing else that it leaves (``end``) looks at."""
    storage = x.storage
    fresh = storage.serial >= region.serial and storage.origin is None and not storage.maybe_shared and not x.path
    found = [split(v)[0] for value, _ in end.values() for v in _leaves(value)]
    return fresh and sum(type(v) is TracedArray and v.storage is storage for v in found) <= 1


def _leaves(x: Any) -> Iterator[Any]:
    if type(x) is tuple:
        for y in x:
            yield from _leaves(y)
    else:
        yield x


def _one_of(x: TracedArray, y: TracedArray) -> TracedArray:
    """An array that is one of two objects, which look at the same elements."""
    made = TracedArray(x.storage, x.path, x.__tnp_value__(), x.strides_ if same_layout(x, y) else None)
    active.current().choices.add(made, (x, y))
    return made


def _either(proxy: Proxy, x: Any, y: Any, shared: Sequence[TracedArray]) -> Any:
    """What the program holds for a value that is one of two; it may be the memory of those that are ``shared``."""
    handle = x if type(x) is TracedArray and not x.scalar else None
    made = output_handle(proxy, handle)
    if handle is not None:
        if not same_layout(x, y):
            made._strides = None
        for v in shared:
            mark_shared(made.storage, v.storage, is_chosen=True)
        active.current().choices.add(made, (x, y))
    return made
