"""The choice of fusion regions.

An operation may join a region if no path leaves the region and re-enters it, so that a region can run as one step.
Effects keep their order among each other and with operations that may raise.

Operations on arguments alone could join any region. They are deferred to the region of their first reader; in an
earlier region, their results would be written to memory and read again.

Long regions are cut by :mod:`~tnp.transforms.region_cuts`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.graph_utils import reached
from tnp.core.proxies import Proxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.transforms.claim import Fusable
from tnp.transforms.dce import made_of_large_numbers, may_raise, refuses_values
from tnp.transforms.region_cuts import cut_region, longest

__all__ = ["find_regions"]


def find_regions(bsyms: Sequence[BoundSymbol]) -> list[list[BoundSymbol]]:
    """``bsyms`` in an order that is as valid as theirs, cut into regions; an operation that nobody fuses is alone."""
    regions = _Regions(bsyms)
    for i in range(len(bsyms)):
        regions.take(i)
    regions.place_waiting()
    return [part for g in regions.order() for part in regions.parts(g)]


class _Regions:
    """The groups found so far. Operations and groups are numbers."""

    def __init__(self, bsyms: Sequence[BoundSymbol]) -> None:
        self.bsyms = bsyms
        self.keys, self.joins_any = _keys(bsyms)
        #: by name, the operation that makes a value; arguments have none
        self.producer: dict[str, int] = {}
        self.group_of: dict[int, int] = {}
        self.members: list[list[int]] = []
        #: for each group, whose operations it takes, and of which kind
        self.kinds: list[Any] = []
        #: for each group, the groups that must run before it, and those that must run after it
        self.before: list[set[int]] = []
        self.after: list[set[int]] = []
        #: Sets of regions are integers with one bit each, so that long programs take no longer for an operation than short ones.
        #: For each group, the regions that it depends on, through others too, and the number of its own bit if it is a region
        self.above: list[int] = []
        self.bits: list[int | None] = []
        #: the group of each bit, and for each kind of regions those that are not full
        self.regions: list[int] = []
        self.open: dict[Any, int] = {}
        #: what is known of operations, by their ``id``
        self.may_raise: dict[int, bool] = {}
        self.made_of_large_numbers = made_of_large_numbers(bsyms)
        #: what enters and leaves an ``np.errstate`` under which operations raise: one of outside would raise inside
        self.borders = _borders(bsyms)
        #: operations that are in no group yet, in order
        self.waiting: dict[int, None] = {}
        #: the values that are stored into arguments: the region that makes one may write it there
        self.stored = {b.args[0].name for b in bsyms if b.operation is prims.copy_}
        #: updates since the last operation that may raise, and operations that may raise since the last update before one
        self.written: list[int] = []
        self.raised: list[int] = []
        self.last_effect: int | None = None
        #: what may raise, since the last effect
        self.raising: list[int] = []
        self.last_store: int | None = None
        #: the groups of the last store and of all that came after it
        self.since_store: set[int] = set()
        #: the first group that what comes may be part of
        self.closed = 0

    def take(self, i: int) -> None:
        """Puts an operation into a group, or lets it wait."""
        b = self.bsyms[i]
        if self._can_wait(b):
            self.waiting[i] = None
        else:
            if OpTags.PROGRAM in b.sym.tags or b.operation is prims.copy_ or _has(b, OpTags.EFFECT, OpTags.BARRIER):
                self.place_waiting()
            elif b.has_tag_inside(OpTags.UPDATE):  # of what reads the value afterwards there would have to be a copy
                self.place_waiting(self._readers_waiting(b.flat_inputs[:1]))
            self._place(i)
        if OpTags.PROGRAM not in b.sym.tags:  # what it returns as it came was made before
            came = {p.name for p in b.flat_inputs}
            self.producer.update((p.name, i) for p in b.flat_outputs if p.name not in came)

    def place_waiting(self, which: Iterable[int] | None = None) -> None:
        """Puts operations that wait, or all of them, into the last groups that take them. Those that may be part of any region come after
        those that have one, to be part of that."""
        for i in sorted(self.waiting if which is None else which, key=self.joins_any.__contains__):
            if i in self.waiting:
                self._place(i)

    def _raises(self, b: BoundSymbol) -> bool:
        found = self.may_raise.get(id(b))
        if found is None:
            too_large = any(p.name in self.made_of_large_numbers for p in b.flat_outputs)
            found = self.may_raise[id(b)] = too_large or may_raise(b)
        return found

    def _can_wait(self, b: BoundSymbol) -> bool:
        if not isinstance(b, Fusable) or is_control_flow(b) or self._raises(b):
            return False
        if self.raised and self._is_stored(b):
            return False
        makers = (self.producer.get(p.name) for p in b.flat_inputs)
        return not _has(b, *_STAYING) and all(i is None or i in self.waiting for i in makers)

    def _is_stored(self, b: BoundSymbol) -> bool:
        return any(p.name in self.stored for p in b.flat_outputs)

    def _readers_waiting(self, values: Sequence[Proxy]) -> list[int]:
        """The operations that wait and depend on ``values``."""
        names = {p.name for p in values}
        found = []
        for i in self.waiting:
            if any(p.name in names for p in self.bsyms[i].flat_inputs):
                names.update(p.name for p in self.bsyms[i].flat_outputs)
                found.append(i)
        return found

    def _waiting_for(self, b: BoundSymbol) -> list[int]:
        """The operations that wait and that ``b`` depends on, in order."""

        def makers_waiting(of: BoundSymbol) -> list[int]:
            return [i for p in of.flat_inputs if (i := self.producer.get(p.name)) in self.waiting and i is not None]

        return sorted(reached(makers_waiting(b), lambda i: makers_waiting(self.bsyms[i])))

    def _kind(self, i: int) -> Any:
        """Of which kind a region with an operation is; ``None``: it is alone. A loop is a region of its own."""
        b = self.bsyms[i]
        return (b.fuser, self.keys[i]) if isinstance(b, Fusable) and not is_control_flow(b) else None

    def _place(self, i: int) -> None:
        """Puts an operation into a group, and what waits for it."""
        b = self.bsyms[i]
        self.waiting.pop(i, None)
        kind = self._kind(i)
        joining = self._waiting_for(b)
        too_many = kind is None or len(joining) >= longest(kind[0])
        self.place_waiting([j for j in joining if too_many or not self._may_join(j, kind)])
        joining = [j for j in joining if j in self.waiting]
        is_effect = OpTags.PROGRAM in b.sym.tags or b.has_tag_inside(OpTags.EFFECT)
        is_barrier = b.has_tag_inside(OpTags.BARRIER) or i in self.borders
        is_store = b.operation is prims.copy_
        orders = is_store or is_barrier or (is_effect and is_control_flow(b))
        needs = self._needs(b, is_effect, orders).union(*(self._groups_of_makers(self.bsyms[j]) for j in joining))
        # When an operation raises, the updates before it have happened, and none after it. A region checks before it writes.
        # It also checks its numbers before it computes anything, so earlier operations that may raise go into earlier regions.
        raises = self._raises(b)
        updates = b.has_tag_inside(OpTags.UPDATE) or self._is_stored(b)
        if updates or (raises and (not isinstance(b, Fusable) or refuses_values(b))):
            needs.update(self.group_of[j] for j in self.raised)
        if raises:
            needs.update(self.group_of[j] for j in self.written)
        group = self._join([*joining, i], kind, needs, any_kind=not joining and i in self.joins_any)
        if orders:
            self.since_store = {group}
        if is_effect:
            self.last_effect, self.raising = i, []
        elif self._raises(b):
            self.raising.append(i)
        if is_barrier:
            self.closed = len(self.members)
        if is_store:
            self.last_store = i
        if raises:
            self.raised = [i] if self.written or updates else [*self.raised, i]
            self.written = []
        if updates:
            self.written.append(i)

    def _needs(self, b: BoundSymbol, is_effect: bool, orders: bool) -> set[int]:
        """The groups that must come before that of ``b``, or be it."""
        needs = self._groups_of_makers(b)
        if self.last_effect is not None and (is_effect or self._raises(b)):
            needs.add(self.group_of[self.last_effect])
        if is_effect:
            needs.update(self.group_of[j] for j in self.raising)
        if orders:
            # What was computed before may be from what it overwrites. The last one of its kind comes after all before that.
            needs |= self.since_store
        # What the caller has seen written when an operation raises is stored before: by the region, if it fuses, too.
        if self.last_store is not None and self._raises(b):
            needs.add(self.group_of[self.last_store])
        return needs

    def _groups_of_makers(self, b: BoundSymbol) -> set[int]:
        """The groups that make what ``b`` reads."""
        makers = (self.producer.get(p.name) for p in b.flat_inputs)
        return {self.group_of[j] for j in makers if j is not None and j not in self.waiting}

    def _may_join(self, i: int, kind: Any) -> bool:
        """Whether an operation may be part of a region of a kind."""
        own = self._kind(i)
        return own is not None and (own == kind or (own[0] is kind[0] and i in self.joins_any))

    def _join(self, joining: list[int], kind: Any, needs: set[int], any_kind: bool) -> int:
        """The group that operations go to, the last one that is possible: of that kind, or of any kind with that fuser."""
        chosen = None
        if kind is not None:
            limit = longest(kind[0]) - len(joining)
            behind = 0  # what another group that must come before depends on
            for g in needs:
                behind |= self.above[g]
            kinds = [k for k in self.open if k[0] is kind[0]] if any_kind else [kind]
            possible = functools.reduce(operator.or_, (self.open.get(k, 0) for k in kinds), 0) & ~behind
            while possible:
                last = possible.bit_length() - 1
                g = self.regions[last]
                if g < self.closed:
                    break
                if len(self.members[g]) <= limit:
                    chosen = g
                    break
                possible ^= 1 << last
        if chosen is None:
            chosen = self._new_group(kind)
        self.members[chosen] += joining
        self._order(needs - {chosen}, chosen)
        bit = self.bits[chosen]
        if bit is not None and len(self.members[chosen]) >= longest(kind[0]):
            self.open[self.kinds[chosen]] &= ~(1 << bit)
        for j in joining:
            self.waiting.pop(j, None)
            self.group_of[j] = chosen
        self.since_store.add(chosen)
        return chosen

    def _new_group(self, kind: Any) -> int:
        self.members.append([])
        self.before.append(set())
        self.after.append(set())
        self.above.append(0)
        self.kinds.append(kind)
        bit = None if kind is None else len(self.regions)
        self.bits.append(bit)
        if bit is not None:
            self.regions.append(len(self.members) - 1)
            self.open[kind] = self.open.get(kind, 0) | 1 << bit
        return len(self.members) - 1

    def _order(self, needs: set[int], group: int) -> None:
        """Has the groups ``needs`` run before ``group``."""
        new = needs - self.before[group]
        self.before[group] |= new
        above = self.above[group]
        for g in new:
            self.after[g].add(group)
            bit = self.bits[g]
            above |= self.above[g] | (0 if bit is None else 1 << bit)
        stack = [(group, above)]
        while stack:
            g, above = stack.pop()
            if above | self.above[g] != self.above[g]:
                self.above[g] |= above
                stack += [(h, above) for h in self.after[g]]

    def parts(self, group: int) -> list[list[BoundSymbol]]:
        """The operations of a group, as the regions that it is cut into."""
        operations = [self.bsyms[i] for i in sorted(self.members[group])]
        kind = self.kinds[group]
        return [operations] if kind is None else cut_region(operations, kind[0])

    def order(self) -> list[int]:
        """The groups so that each comes after those it needs, otherwise by their last member."""
        order: list[int] = []
        placed: set[int] = set()
        last = [max(group) for group in self.members]

        def place(g: int) -> None:
            if g not in placed:
                placed.add(g)
                for h in sorted(self.before[g], key=last.__getitem__):
                    place(h)
                order.append(g)

        for g in sorted(range(len(self.members)), key=last.__getitem__):
            place(g)
        return order


def _keys(bsyms: Sequence[BoundSymbol]) -> tuple[list[Any], set[int]]:
    """What operations of one region have in common, beside their fuser; and those that may be part of a region with another key."""
    fused = {i: b for i, b in enumerate(bsyms) if isinstance(b, Fusable) and not is_control_flow(b)}
    keys = {i: b.fuser.region_key(b) for i, b in fused.items()}
    joining = {i for i, b in fused.items() if b.fuser.joins_any(b)} if len(set(keys.values())) > 1 else set()
    return [keys.get(i) for i in range(len(bsyms))], joining


def _borders(bsyms: Sequence[BoundSymbol]) -> set[int]:
    """The statements that begin or end an ``np.errstate`` with errors."""
    found, entered = set(), set()
    for i, b in enumerate(bsyms):
        if OpTags.ENTERS_ERRSTATE in b.sym.tags and not set(b.kwargs.values()) <= {"ignore", "warn"}:
            found.add(i)
            entered.add(b.output.name)
        elif OpTags.EXITS_ERRSTATE in b.sym.tags and b.args[0].name in entered:
            found.add(i)
    return found


#: operations with these tags stay where they are
_STAYING = (OpTags.EFFECT, OpTags.UPDATE, OpTags.BARRIER, OpTags.RANDOM)


def _has(b: BoundSymbol, *tags: OpTags) -> bool:
    return any(b.has_tag_inside(t) for t in tags)
