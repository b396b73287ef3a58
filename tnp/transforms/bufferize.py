"""Bufferization: the late pass that assigns memory to values.

Before this pass a program is in SSA form: an update makes a new value. The pass decides for each update whether the new
value can reuse the old one's memory, because nothing reads the old one afterwards. If not, the old one is copied first.
Then results are computed directly in the memory where they are stored, or in the memory of dead operands.

Memory is tracked by *root*: an argument, or an allocation. A view has the root of its source; a result that may or may
not be a view has several roots.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tnp.core import prims, sizes, views
from tnp.core.errors import NeedsValue
from tnp.core.languages import language_context
from tnp.core.prims.control_flow import starts_over, stored
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, leaves_of, map_proxies
from tnp.core.trace import Trace, tracing
from tnp.core.views import Path
from tnp.transforms.aliasing import c_ordered, makes_scalar, may_repeat, may_view
from tnp.transforms.bridge import kind_for_user, kind_of
from tnp.transforms.bufferize_subtraces import Block, plan_block
from tnp.transforms.claim import FusedSymbol, Update, claim
from tnp.transforms.dce import may_raise
from tnp.transforms.live_names import Members

__all__ = ["MemoryOperations", "bufferize"]

#: an operand's memory is reused for results from this many bytes on; below, the allocator's own reuse is cheaper
REUSE_BYTES = 16 * 1024
#: results come from a pool from this many bytes on, if their executor has one: fresh pages cost more than the arithmetic. Below,
#: the memory that the allocator gave back last is still in the cache (measured: 8% faster than the pool at 2.6 MB)
POOL_BYTES = 4 << 20


@dataclass(frozen=True)
class MemoryOperations:
    """The operations of an executor that this pass inserts: a copy, uninitialised memory like an array's, and large memory of a
    shape and dtype that is used again."""

    clone: Symbol
    empty_like: Symbol
    pooled: Symbol | None = None


@dataclass
class _Plan:
    """What the first walk decides: which updates are in place, and which results are computed into their target."""

    in_place: set[int] = field(default_factory=set)
    #: (index of a region's call, its output) of those updates that are in place
    in_region: set[tuple[int, int]] = field(default_factory=set)
    #: index of a producer → index of the update whose target it writes
    forwards: dict[int, int] = field(default_factory=dict)
    #: index of a loop or a branch → what is decided about it
    blocks: dict[int, Block] = field(default_factory=dict)


def bufferize(trace: Trace, operations: Mapping[str, MemoryOperations], executors: Sequence[Any]) -> Trace:
    """The claimed ``trace`` with its updates made writes to memory.

    ``operations`` make memory for each kind of array, and ``executors`` run the views that it needs.
    """
    return Pass(trace, operations, executors).run()


class Pass:
    """The pass on one trace, or on the body of a loop or a branch.

    It has many methods: one to plan and one to emit each way of writing in place, which share whose memory each value looks at.
    """

    def __init__(
        self,
        trace: Trace,
        operations: Mapping[str, MemoryOperations],
        executors: Sequence[Any],
        writable: frozenset[str] = frozenset(),
        *,
        is_body: bool = False,
    ) -> None:
        self.trace = trace
        #: arguments in whose memory anything may be put, since nothing outside looks at it
        self.writable = writable
        #: those of them in whose memory something is put
        self.overwritten: set[str] = set()
        self.executors = executors
        self.operations = operations
        self.bsyms = trace.bound_symbols
        self.producer: dict[str, int] = {}
        self.uses: dict[str, list[int]] = {}
        for i, b in enumerate(self.bsyms):
            # What copy_ stores to is not read.
            for p in b.flat_inputs if b.operation is not prims.copy_ else b.args[:1]:
                self.uses.setdefault(p.name, []).append(i)
            for p in b.flat_outputs:
                self.producer.setdefault(p.name, i)
        self.roots: dict[str, frozenset[str]] = {p.name: frozenset((p.name,)) for p in trace.args}
        self.members: dict[str, Members] = {p.name: Members((p.name, self._last_use(p.name))) for p in trace.args}
        self.inputs = {p.name for p in trace.args}
        #: arrays in whose memory elements may stand for several, as in a broadcast one: no place to write to
        self.repeating: set[str] = set()
        #: the last operation at which the call may start over: before it, nothing of the caller's is written
        restarts = [i for i, b in enumerate(self.bsyms) if b.has_tag_inside(OpTags.LATE_GUARD)]
        if not is_body:  # what a loop or a branch carries is the program's, if the call may start over there
            restarts += [i for i, b in enumerate(self.bsyms) if any(map(starts_over, leaves_of(b)))]
        if trace.writes_last:
            restarts += [i for i, b in enumerate(self.bsyms) if may_raise(b)]
        self.last_restart = max(restarts, default=-1)
        self.chains, self.c_ordered = self._chains(), c_ordered(trace)
        self.new = Trace.like(trace)

    def _of_body(self, trace: Trace, writable: frozenset[str]) -> Pass:
        return Pass(trace, self.operations, self.executors, writable, is_body=True)

    # Who may write where

    def _chains(self) -> dict[str, set[str]]:
        """For each argument that is stored to, the values on the way from it to what is finally stored."""
        chains: dict[str, set[str]] = {}
        for b in self.bsyms:
            if b.operation is not prims.copy_:
                continue
            value, destination = b.args
            chain = {value.name}
            name = value.name
            while name != destination.name:
                at = self.producer.get(name)
                made = self.bsyms[at] if at is not None else None
                if isinstance(made, Update):
                    name = made.args[0].name
                elif made is not None and isinstance(made.sym, FusedSymbol):
                    inputs = {made.output[k].name: made.args[j].name for k, j in made.sym.updates.items()}
                    if name not in inputs:
                        break
                    name = inputs[name]
                elif made is not None and is_control_flow(made):
                    before = stored(made)
                    if name not in before:
                        break
                    name = before[name].name
                elif made is not None and OpTags.CONVERSION in made.sym.tags:
                    name = made.args[0].name
                elif made is not None and made.operation is prims.copy_ and made.args[1].name == destination.name:
                    name = destination.name
                else:
                    break
                chain.add(name)
            if name == destination.name:
                chains.setdefault(destination.name, set()).update(chain)
        return chains

    def proxy_of(self, name: str) -> TensorProxy:
        """The array of that name."""
        at = self.producer.get(name)
        found = self.trace.args if at is None else self.bsyms[at].flat_outputs
        return next(p for p in found if p.name == name and isinstance(p, TensorProxy))

    def _last_use(self, name: str) -> int:
        return self.uses.get(name, [-1])[-1]

    def live_after(self, root: str, index: int, but: str = "") -> list[str]:
        """The names that look at ``root`` and are read after ``index``."""
        return [n for n in self.members[root].used_after(index) if n != but]

    def set_roots(self, name: str, roots: frozenset[str]) -> None:
        """Says whose memory ``name`` looks at."""
        self.roots[name] = roots
        for r in roots:
            self.members.setdefault(r, Members()).add(name, self._last_use(name))

    def is_own(self, root: str) -> bool:
        """Whether nothing outside of this program looks at the memory of ``root``."""
        if root in self.writable:
            self.overwritten.add(root)
        return root not in self.inputs or root in self.writable

    def may_write(self, root: str, result: str, index: int) -> bool:
        """Whether the value ``result`` may be put into the memory of ``root`` by what stands at ``index``."""
        if self.is_own(root):
            return True
        return result in self.chains.get(root, ()) and index > self.last_restart

    def _plan(self) -> _Plan:
        plan = _Plan()
        for i, b in enumerate(self.bsyms):
            if isinstance(b, Update):
                target, result = b.args[0], b.output.name
                roots = self.roots[target.name]
                if len(roots) == 1:
                    (root,) = roots
                    free = target.name not in self.repeating and not self.live_after(root, i, result)
                    if free and self.may_write(root, result, i):
                        plan.in_place.add(i)
                        self._plan_forward(plan, i, root)
                        self.set_roots(result, roots)
                        continue
                self.set_roots(result, frozenset((result,)))
            elif b.operation is prims.copy_:
                self.set_roots(b.output.name, self.roots[b.args[1].name])
            elif is_control_flow(b):
                plan.blocks[i] = plan_block(self, i, self._of_body)
            else:
                self._roots_of_outputs(b)
                if isinstance(b.sym, FusedSymbol):
                    self._plan_region(plan, i)
        return plan

    def _plan_region(self, plan: _Plan, i: int) -> None:
        """Which updates of a region's inputs are in place: nothing else that it is given may look at that memory."""
        b = self.bsyms[i]
        assert isinstance(b.sym, FusedSymbol)
        for k, j in b.sym.updates.items():
            target, result = b.args[j], b.output[k].name
            roots = self.roots[target.name]
            if len(roots) != 1 or target.name in self.repeating:
                continue
            (root,) = roots
            others = (p for at, p in enumerate(b.args) if at != j and isinstance(p, TensorProxy))
            if any(root in self.roots[p.name] for p in others) or self.live_after(root, i, result):
                continue
            if self.may_write(root, result, i):
                plan.in_region.add((i, k))
                self.set_roots(result, roots)

    def _roots_of_outputs(self, b: BoundSymbol) -> None:
        if b.sym is prims.unpack_trivial:
            return
        may_alias: frozenset[str] = frozenset()
        if may_view(b) and not makes_scalar(b, self.trace):
            arrays = [p for p in b.flat_inputs if isinstance(p, TensorProxy)]
            may_alias = frozenset().union(*(self.roots[p.name] for p in arrays))
            if arrays and b.sym.is_prim and OpTags.LATE_GUARD not in b.sym.tags and b.args and b.args[0] is arrays[0]:
                may_alias = self.roots[arrays[0].name]
            for p in b.flat_outputs:
                if isinstance(p, TensorProxy) and any(may_repeat(p, a) or a.name in self.repeating for a in arrays):
                    self.repeating.add(p.name)
        if OpTags.MAY_COPY in b.sym.tags and b.args[0].name not in self.c_ordered:
            self.repeating.add(b.output.name)  # what is written there may not show in the argument
        several = may_alias and b.subsymbols and len(b.flat_inputs) > 1
        inside = self._roots_inside(b) if several else {}
        for p in b.flat_outputs:
            if isinstance(p, TensorProxy):
                self.set_roots(p.name, inside.get(p.name) or may_alias or frozenset((p.name,)))

    def _roots_inside(self, b: BoundSymbol) -> dict[str, frozenset[str]]:
        """The roots of what the parts of an operation make: of ``np.broadcast_arrays(a, b)``, one result each is of ``a`` and of ``b``."""
        roots = {p.name: self.roots[p.name] for p in b.flat_inputs if isinstance(p, TensorProxy)}
        for part in leaves_of(b):
            read = [roots[p.name] for p in part.flat_inputs if isinstance(p, TensorProxy) and p.name in roots]
            views = frozenset().union(*read) if OpTags.VIEW in part.sym.tags else frozenset()
            for p in part.flat_outputs:
                roots[p.name] = views or frozenset((p.name,))
        return roots

    def _plan_forward(self, plan: _Plan, i: int, root: str) -> None:
        """Lets the producer of an update's value write into the update's target, where nothing can tell."""
        update = self.bsyms[i]
        target, value = update.args[0], update.args[1]
        # A 0-d place (``x[1] += …``) is no array to write to: NumPy gives scalars for it. So it is on the way to another (``x[1, None]``).
        if not isinstance(value, TensorProxy) or value.dtype is not target.dtype or value.ndim == 0:
            return
        if update.operation is not views.update:
            return
        j = self.producer.get(value.name)
        if j is None or self.uses[value.name] != [i] or j in plan.forwards:
            return
        producer = self.bsyms[j]
        if OpTags.TAKES_OUT not in producer.sym.tags or set(producer.kwargs) - {"dtype", "casting"}:
            return
        if root in self.inputs and (j <= self.last_restart or any(map(may_raise, self.bsyms[j + 1 : i]))):
            return
        for name in self.members[root].used_after(j):
            uses = self.uses[name]
            if bisect_right(uses, j) < bisect_left(uses, i):
                return
        at = update.args[2] if len(update.args) > 2 else None
        if at is not None and any(self.producer.get(p.name, -1) > j for p in update.flat_inputs[2:]):
            return
        if not self._is_place(target, at, value):
            return
        if target.name in self.producer and self.producer[target.name] > j:
            return
        plan.forwards[j] = i

    def _is_place(self, target: TensorProxy, at: Path | None, value: TensorProxy) -> bool:
        """Whether what ``at`` selects of ``target`` has the shape of ``value``, and nothing on the way there is 0-d."""
        scratch = Trace.like(self.trace)
        try:
            with tracing(scratch), language_context(target.lang):
                place = target if at is None else at(target)
        except NeedsValue:  # the way there has a number that was known while the function was traced
            return False
        made = [p for b in _leaves(scratch.bound_symbols) for p in b.flat_outputs]
        is_scalar = any(isinstance(p, TensorProxy) and p.ndim == 0 for p in made)
        return not is_scalar and sizes.shapes_equal(place.shape, value.shape) is True

    # Writing the program

    def _operations_for(self, b: BoundSymbol, p: TensorProxy) -> MemoryOperations:
        return self.operations[kind_of(b, p, self.trace)]

    def run(self) -> Trace:
        plan = self._plan()
        self.out = self.new.bound_symbols
        names: dict[str, Any] = {}
        self.names = names
        self.views: dict[tuple[str, Any], TensorProxy] = {}
        #: of converted arrays, the kind and the name of what they were converted from
        self.converted: dict[str, tuple[str, TensorProxy]] = {}
        self.free: dict[tuple[Any, Any], list[TensorProxy]] = {}
        self.taken: set[str] = set()
        deaths = self._deaths()
        done: set[int] = set()
        for i, b in enumerate(self.bsyms):
            for dead in deaths.get(i - 1, ()):
                self._set_free(dead)
            if i in done:
                continue
            if i in plan.forwards:
                self._emit_forward(b, self.bsyms[plan.forwards[i]])
                done.add(plan.forwards[i])
            elif isinstance(b, Update):
                self._emit_update(b, i in plan.in_place)
            elif b.operation is prims.copy_:
                self._emit_copy(b, i)
            elif isinstance(b.sym, FusedSymbol) and OpTags.TAKES_OUT not in b.sym.tags:
                self._emit_region(b, i, plan)
            elif OpTags.CONVERSION in b.sym.tags:
                self._emit_conversion(b)
            elif i in plan.blocks:
                self.out.append(plan.blocks[i].emit(self, partial(self._operations_for, b)))
            else:
                self._emit(self._reusing_operand(b.substitute(names), b, i))
        return self.new

    def _deaths(self) -> dict[int, list[TensorProxy]]:
        """By index, the results of which nothing is read after it and whose memory could hold others."""
        deaths: dict[int, list[TensorProxy]] = {}
        for b in self.bsyms:
            p = b.output
            if OpTags.TAKES_OUT not in b.sym.tags or not isinstance(p, TensorProxy) or p.name not in self.c_ordered:
                continue
            if self.roots[p.name] == frozenset((p.name,)) and _is_large(p):
                last = self.members[p.name].last_use()
                deaths.setdefault(last, []).append(p)
        return deaths

    def _set_free(self, dead: TensorProxy) -> None:
        if dead.name not in self.taken:
            memory = self.names.get(dead.name, dead)
            self.free.setdefault((dead.shape, dead.dtype), []).append(memory)

    def _emit(self, b: BoundSymbol) -> None:
        self.out.append(b)
        if OpTags.VIEW in b.sym.tags and isinstance(b.output, TensorProxy) and b.args:
            source = b.args[0]
            if isinstance(source, TensorProxy):
                self.views[source.name, _step_key(b)] = b.output

    def _emit_conversion(self, b: BoundSymbol) -> None:
        """A conversion, unless what it converts was converted from an array of the kind that it gives."""
        made = b.substitute(self.names)
        source = made.args[0]
        before = self.converted.get(source.name)
        if before is not None and kind_of(b, b.output, self.trace) == before[0]:
            self.names[b.output.name] = before[1]
            return
        self.converted[b.output.name] = ("torch" if kind_of(b, b.output, self.trace) == "numpy" else "numpy", source)
        self._emit(made)

    def _emit_update(self, b: BoundSymbol, in_place: bool) -> None:
        made = b.substitute(self.names)
        target = made.args[0]
        if not in_place:
            target = TensorProxy(self.new.make_name("t"), like=target, lang=target.lang)
            overwrites = made.operation is views.update and (len(made.args) < 3 or made.args[2] is None)
            operations = self.operations[kind_of(b, target, self.trace)]
            op = operations.empty_like if overwrites else operations.clone
            self.out.append(op.bind(made.args[0], output=target))
        elif (
            target.ndim == 0 and self.roots[b.args[0].name] - self.inputs and kind_of(b, target, self.trace) == "numpy"
        ):
            # NumPy gives immutable scalars for what is 0-d.
            array = TensorProxy(self.new.make_name("t"), like=target, lang=target.lang)
            self.out.append(self.operations["numpy"].clone.bind(target, output=array))
            target = array
        self.names[b.output.name] = target
        statement = BoundSymbol(made.sym, (target, *made.args[1:]), made.kwargs, None, made.subsymbols, b.location)
        self.out.append(statement)

    def _emit_region(self, b: BoundSymbol, i: int, plan: _Plan) -> None:
        """A region's call, which returns only what it does not write to an input."""
        assert isinstance(b.sym, FusedSymbol)
        updates = b.sym.updates
        made = b.substitute(self.names)
        args = list(made.args)
        for k, j in updates.items():
            target = args[j]
            # A 0-d value of the numpy executor is an immutable scalar.
            if (i, k) not in plan.in_region or (target.ndim == 0 and self.roots[b.args[j].name] - self.inputs):
                target = TensorProxy(self.new.make_name("t"), like=target, lang=target.lang)
                self.out.append(self.operations[kind_of(b, target, self.trace)].clone.bind(args[j], output=target))
                args[j] = target
            self.names[b.output[k].name] = target
        fresh = tuple(p for k, p in enumerate(b.output) if k not in updates)
        output = fresh[0] if len(fresh) == 1 else fresh or None
        self.out.append(BoundSymbol(b.sym, tuple(args), {}, output, b.subsymbols, b.location))

    def _emit_forward(self, producer: BoundSymbol, update: BoundSymbol) -> None:
        self.taken.add(producer.output.name)  # it has no memory of its own
        made = producer.substitute(self.names)
        target = self.names.get(update.args[0].name, update.args[0])
        at = update.args[2] if len(update.args) > 2 else None
        place = target if at is None else self._view(target, at, update)
        self.out.append(
            BoundSymbol(made.sym, made.args, {**made.kwargs, "out": place}, None, made.subsymbols, update.location)
        )
        self.names[update.output.name] = target

    def _view(self, target: TensorProxy, at: Path, update: BoundSymbol) -> TensorProxy:
        """The view that an update writes through: one that the program has taken already, or a new one."""
        current = target
        for step in _substituted(at, self.names).steps:
            key = (current.name, _path_key(step))
            known = self.views.get(key)
            if known is None:
                with tracing(self.new), language_context(target.lang):
                    before = len(self.out)
                    known = step(current)
                    recorded = self.out[before:]
                    del self.out[before:]
                scratch = Trace.like(self.new, recorded)
                kind = kind_of(update, target, self.trace)
                same_kind = [
                    e for e in self.executors
                    if not e.is_fusing and (e.array_kind or kind_for_user(target, self.trace)) == kind
                ]  # fmt: skip
                for b in claim(scratch, same_kind).bound_symbols:
                    b.location = update.location
                    self._emit(b)
                self.views[key] = known
            current = known
        return current

    def _emit_copy(self, b: BoundSymbol, i: int) -> None:
        value, destination = b.args
        memory = self.names.get(value.name, value)
        self.names[b.output.name] = destination
        if memory.name == destination.name:
            return
        (root,) = self.roots[destination.name]
        copies: dict[str, Any] = {}
        for stale in sorted(self.live_after(root, i, b.output.name), key=lambda n: self.producer.get(n, i)):
            if self.producer.get(stale, i) >= i:
                continue
            old = self.proxy_of(stale)
            now = self.names.get(stale, old)
            if now.name in self.members[root] and not self._views_a_copy(stale, root, copies):  # it is not copied yet
                kept = TensorProxy(self.new.make_name("t"), like=old, lang=old.lang)
                again = self._views_of_copies(stale, copies)
                for made in again:
                    copies[made.output.name] = TensorProxy(self.new.make_name("t"), like=made.output, lang=old.lang)
                    self.out.append(made.substitute(copies))
                if again:
                    kept = copies[stale]
                else:
                    operations = self.operations[kind_of(self.bsyms[self.producer[stale]], old, self.trace)]
                    self.out.append(operations.clone.bind(now, output=kept))
                self.names[stale] = copies[stale] = kept
        self.out.append(BoundSymbol(b.sym, (memory, destination), {}, None, b.subsymbols, b.location))

    def _views_a_copy(self, name: str, root: str, now: Container[str]) -> bool:
        """Whether ``name`` views an earlier copy, and not the memory of ``root`` itself. Copies in ``now`` are later than the view."""
        at = self.producer.get(name)
        while at is not None and OpTags.VIEW in self.bsyms[at].operation.tags:
            viewed = self.bsyms[at].args[0]
            if type(viewed) is not TensorProxy or viewed.name in now:
                return False
            if self.names.get(viewed.name, viewed).name not in self.members[root]:
                return True
            at = self.producer.get(viewed.name)
        return False

    def _views_of_copies(self, name: str, copies: dict[str, Any]) -> list[BoundSymbol]:
        """The operations that made ``name`` a view of what has been copied, so that both share memory again; none if it is no such view."""
        chain: list[BoundSymbol] = []
        while name not in copies:
            at = self.producer.get(name)
            made = None if at is None else self.bsyms[at]
            if made is None or OpTags.VIEW not in made.operation.tags or type(made.args[0]) is not TensorProxy:
                return []
            chain.append(made)
            name = made.args[0].name
        return chain[::-1]

    def _reusing_operand(self, made: BoundSymbol, original: BoundSymbol, i: int) -> BoundSymbol:
        """``made``, computed into an operand of its shape and dtype whose memory nothing reads afterwards, or into memory
        of that kind that was set free before."""
        result = original.output
        if OpTags.TAKES_OUT not in made.sym.tags or not isinstance(result, TensorProxy) or result.ndim == 0:
            return made
        if set(made.kwargs) - {"dtype", "casting"} or OpTags.PRODUCT in made.sym.tags:
            return made
        if not _is_large(result, bounded=True):
            return made
        for operand, now in zip(original.args, made.args):
            if not isinstance(operand, TensorProxy) or operand.dtype is not result.dtype:
                continue
            if sizes.shapes_equal(operand.shape, result.shape) is not True:
                continue
            roots = self.roots[operand.name]
            if roots != frozenset((operand.name,)) or operand.name in self.inputs:
                continue
            if self.live_after(operand.name, i) or may_view(self.bsyms[self.producer[operand.name]]):
                continue
            self.taken.add(operand.name)
            return self._into(now, made, result)
        if result.name not in self.c_ordered or not sizes.is_known(result.shape):
            return made
        free = self.free.get((result.shape, result.dtype))
        if free:
            return self._into(free.pop(), made, result)
        pooled = self.operations[kind_of(made, result, self.trace)].pooled
        if pooled is None or math.prod(result.shape) * result.dtype.itemsize < POOL_BYTES:
            return made
        place = TensorProxy(self.new.make_name("t"), like=result, lang=result.lang)
        self.out.append(pooled.bind(result.shape, result.dtype, output=place))
        return self._into(place, made, result)

    def _into(self, place: TensorProxy, made: BoundSymbol, result: TensorProxy) -> BoundSymbol:
        self.names[result.name] = place
        return BoundSymbol(made.sym, made.args, {**made.kwargs, "out": place}, None, made.subsymbols, made.location)


def _leaves(bsyms: Iterable[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        yield from _leaves(b.subsymbols) if b.subsymbols else (b,)


def _is_large(a: TensorProxy, bounded: bool = False) -> bool:
    """Whether an array is so large that reusing memory for it is cheaper than allocating, or may be (``bounded``)."""
    most = [sizes.bound_or_none(n) if bounded or isinstance(n, int) else None for n in a.shape]
    return None not in most and math.prod(most) * a.dtype.itemsize >= REUSE_BYTES  # type: ignore[arg-type]


def _step_key(b: BoundSymbol) -> Any:
    return repr((b.operation.id, b.args[1:], b.kwargs))


def _path_key(step: Any) -> Any:
    return repr((step.symbol.id, step.args, step.kwargs))


def _substituted(path: Path, names: dict[str, Any]) -> Path:
    made: Path = map_proxies(lambda p: names.get(p.name, p), path)
    return made
