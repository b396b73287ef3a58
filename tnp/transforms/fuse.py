"""Regions: which fusable operations go together, and handing them to their executor.

Operations join a region if no path leads from the region through an operation outside it back in; so a region can run as
one step. Effects keep their order among each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core.proxies import Proxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.transforms.claim import Fusable, claim

__all__ = ["find_regions", "fuse"]


def find_regions(bsyms: Sequence[BoundSymbol]) -> list[list[BoundSymbol]]:
    """``bsyms`` in an order that is as valid as theirs, cut into regions; an operation that nobody fuses is alone."""
    producer: dict[str, int] = {}
    group_of: list[int] = []
    members: list[list[int]] = []
    fuser_of: list[Any] = []
    #: for each group, the groups that must run before it
    before: list[set[int]] = []
    last_effect: int | None = None

    def reach(groups: set[int]) -> set[int]:
        """The groups that ``groups`` need, themselves included."""
        found: set[int] = set()
        stack = list(groups)
        while stack:
            g = stack.pop()
            if g not in found:
                found.add(g)
                stack += before[g]
        return found

    for i, b in enumerate(bsyms):
        needs = {group_of[producer[p.name]] for p in b.flat_inputs if p.name in producer}
        is_effect = b.has_tag_inside(OpTags.EFFECT) or OpTags.PROGRAM in b.sym.tags
        if is_effect and last_effect is not None:
            needs.add(group_of[last_effect])
        chosen = None
        if isinstance(b, Fusable):
            for g in reversed(range(len(members))):
                if fuser_of[g] is b.fuser and g not in reach(
                    set().union(*(before[h] | {h} for h in needs - {g}), set())
                ):
                    chosen = g
                    break
        if chosen is None:
            chosen = len(members)
            members.append([])
            before.append(set())
            fuser_of.append(b.fuser if isinstance(b, Fusable) else None)
        members[chosen].append(i)
        before[chosen] |= needs - {chosen}
        group_of.append(chosen)
        for p in b.flat_outputs:
            producer[p.name] = i
        if is_effect:
            last_effect = i
    return [[bsyms[i] for i in members[g]] for g in _order(members, before)]


def _order(members: list[list[int]], before: list[set[int]]) -> list[int]:
    """The groups so that each comes after those it needs, otherwise by their last member."""
    order: list[int] = []
    placed: set[int] = set()

    def place(g: int) -> None:
        if g not in placed:
            placed.add(g)
            for h in sorted(before[g], key=lambda x: members[x][-1]):
                place(h)
            order.append(g)

    for g in sorted(range(len(members)), key=lambda x: members[x][-1]):
        place(g)
    return order


def fuse(trace: Trace, executors: Sequence[Any], make_region: Any) -> Trace:
    """The trace with each region replaced by one call.

    What a fuser declines goes to the fusers behind it, and to all executors of single operations.
    """
    count = 0
    while any(isinstance(b, Fusable) for b in trace.bound_symbols):
        trace, count = _fuse_once(trace, executors, make_region, count)
    return trace


def _fuse_once(trace: Trace, executors: Sequence[Any], make_region: Any, count: int) -> tuple[Trace, int]:
    """``trace`` with its regions given to their fusers, ``count`` of which have been taken before."""
    new = Trace.like(trace)
    groups = find_regions(trace.bound_symbols)
    needed_after = _needed_after(groups)
    for group, needed in zip(groups, needed_after):
        first = group[0]
        if not isinstance(first, Fusable):
            new.bound_symbols += group
            continue
        inputs, outputs = _boundary(group, needed)
        name = f"{first.fuser.name}_fusion{count}"
        function = first.fuser.fuse(make_region(tuple(group), inputs, outputs), name)
        if function is None:
            plain = [BoundSymbol(b.sym, b.args, b.kwargs, b.output, b.subsymbols, b.location) for b in group]
            behind = executors[list(executors).index(first.fuser) + 1 :]
            rest = [e for e in executors if not hasattr(e, "can_fuse") or e in behind]
            new.bound_symbols += claim(Trace.like(trace, plain), rest).bound_symbols
            continue
        count += 1
        op = Symbol(name, _no_meta, is_prim=True, executor=first.fuser, fn=function)
        new.bound_symbols.append(BoundSymbol(op, tuple(inputs), {}, tuple(outputs), group, first.location))
    return new, count


def _no_meta(*args: Any) -> Any:
    raise AssertionError("a fusion is made, not traced")


def _needed_after(groups: list[list[BoundSymbol]]) -> list[set[str]]:
    needed: set[str] = set()
    result: list[set[str]] = []
    for group in reversed(groups):
        result.append(set(needed))
        for b in group:
            needed.update(p.name for p in b.flat_inputs)
    return result[::-1]


def _boundary(group: list[BoundSymbol], needed: set[str]) -> tuple[list[Proxy], list[Proxy]]:
    """What a region reads from outside, and what of its results is read outside; each in order, once."""
    made: dict[str, Proxy] = {}
    inputs: dict[str, Proxy] = {}
    for b in group:
        for p in b.flat_inputs:
            if p.name not in made:
                inputs.setdefault(p.name, p)
        for p in b.flat_outputs:
            if p.name not in inputs:
                made[p.name] = p
    return list(inputs.values()), [p for p in made.values() if p.name in needed]
