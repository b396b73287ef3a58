"""In-place reuse of loops and branches.

A carried array that stands for memory (the body stores its result into its own argument) is given the memory of its
initial value, as an update is: then the body writes to that memory at each iteration, and the carried value is gone
from the program. If something still reads the old value, that is copied, once, before the loop. Carried arrays that are
variables stay; what they are afterwards may look at whatever they began as or any iteration bound them to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tnp.core import prims
from tnp.core.prims.control_flow import carrying_bodies, stored
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, carried_with_inits, map_bodies
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace
from tnp.transforms.subtraces import through

if TYPE_CHECKING:
    from tnp.transforms.bufferize import MemoryOperations, Pass

__all__ = ["Block", "plan_block"]


class Block:
    """What is decided about a loop or a branch: its bodies after their own in-place reuse, and of each carried array that
    stands for memory whether it gets its initial value's memory or a copy of it."""

    def __init__(self, bsym: BoundSymbol, owner: Pass, index: int) -> None:
        self.bsym = bsym
        self.original = owner.bsyms[index]
        self.index = index
        self.location = bsym.location
        self.in_place: set[str] = set()
        #: variables that begin as a copy of their initial value, since iterations overwrite it
        self.cloned: set[str] = set()
        #: values of which a copy is made before, since the block overwrites the memory that they look at
        self.stale: dict[str, TensorProxy] = {}

    def emit(self, owner: Pass, clone: Callable[[TensorProxy], MemoryOperations]) -> BoundSymbol:
        """The statement, with carried arrays in the memory that they have; the copies that it needs go before it."""
        inits = stored(self.original)
        places = {init.name: owner.names.get(init.name, init) for init in inits.values()}
        for name, old in self.stale.items():
            kept = TensorProxy(owner.new.make_name("t"), like=old, lang=old.lang)
            owner.out.append(clone(old).clone.bind(owner.names.get(name, old), output=kept))
            owner.names[name] = kept
        memory: dict[str, Any] = {}
        for name, init in inits.items():
            target = init if name in self.in_place else None
            now = places[init.name]  # not the copy of what is overwritten
            # A 0-d value of the numpy executor is an immutable scalar.
            if target is None or (now.ndim == 0 and owner.roots[init.name] - owner.inputs):
                made = TensorProxy(owner.new.make_name("t"), like=init, lang=init.lang)
                owner.out.append(clone(init).clone.bind(now, output=made))
                now = made
            memory[name] = now
        owner.names.update(memory)
        made_bsym = self.bsym.substitute(owner.names)
        pairs = carried_with_inits(self.bsym)
        kept_at = [k for k, p in enumerate(self.bsym.output) if p.name not in memory]
        first = len(made_bsym.args) - len(pairs)
        now_inits = []
        for (p, init), now in zip(pairs, made_bsym.args[first:]):
            if p.name in self.cloned:
                made = TensorProxy(owner.new.make_name("t"), like=init, lang=init.lang)
                owner.out.append(clone(init).clone.bind(now, output=made))
                now = made
            if p.name not in memory:
                now_inits.append(now)
        carrying = carrying_bodies(made_bsym)
        head = [
            _without(a, memory, self.bsym.output if a in carrying else ()) if isinstance(a, Body) else a
            for a in made_bsym.args[:first]
        ]
        output = tuple(self.bsym.output[k] for k in kept_at)
        return BoundSymbol(self.bsym.sym, (*head, *now_inits), {}, output, (), self.location)


def _without(body: Body, memory: dict[str, Any], outputs: tuple[Proxy, ...]) -> Body:
    """``body`` with carried arrays replaced by the memory that they are in. ``outputs`` are what its first results are for."""
    args = [p for p in body.args if p.name not in memory]
    results = tuple(r for k, r in enumerate(body.results) if k >= len(outputs) or outputs[k].name not in memory)
    inner = Body((), body.bound_symbols, results).substitute(memory)  # its arguments are names like others here
    return Body(args, inner.bound_symbols, inner.results)


def plan_block(owner: Pass, i: int, make_pass: Callable[[Trace, frozenset[str]], Pass]) -> Block:
    """Plans a loop or a branch, and sets the roots of its outputs."""
    b = owner.bsyms[i]
    passes: list[Pass] = []
    memory = stored(b)
    ordered = {name for name, init in memory.items() if init.name in owner.c_ordered}
    own, exclusive = _own_variables(owner, i, memory)

    def run(trace: Trace) -> Trace:
        trace.row_major = ordered | {p.name for p in trace.args if p.name in owner.c_ordered}
        passes.append(make_pass(trace, own))
        return passes[-1].run()

    while True:
        made = map_bodies(lambda body: through(run, body, owner.new), b)
        kept = _still_own(b, passes, own)
        if kept == own:
            break
        own = kept
        passes.clear()
    block = Block(made, owner, i)
    block.cloned = _overwritten(b, passes, own) - exclusive
    inits = {p.name: p for _, p in carried_with_inits(b) if isinstance(p, TensorProxy)}
    captures = {p.name: p for body in bodies_of(b) for p in body.captures if isinstance(p, TensorProxy)}
    for name, init in memory.items():
        roots = owner.roots[init.name]
        others = [p for p in (*inits.values(), *captures.values()) if p is not init and p.name != init.name]
        if (
            init.name in captures
            or sum(x.name == init.name for _, x in carried_with_inits(b) if isinstance(x, Proxy)) > 1
        ):
            others.append(init)
        reading = {p.name: p for p in others if owner.roots[p.name] & roots}
        if len(roots) == 1 and init.name not in owner.repeating:
            (root,) = roots
            live = owner.live_after(root, i, name)
            if root in owner.inputs and owner.may_write(root, name, i):
                # The caller's memory is written as the program writes it, so that an error leaves what eager leaves.
                reading.update({n: owner.proxy_of(n) for n in live})
                block.stale.update(reading)
                block.in_place.add(name)
                owner.set_roots(name, roots)
                continue
            if not live and not reading and owner.is_own(root):
                block.in_place.add(name)
                owner.set_roots(name, roots)
                continue
        owner.set_roots(name, frozenset((name,)))
    _set_roots_of_variables(owner, b, memory, passes)
    return block


def _own_variables(owner: Pass, i: int, memory: dict[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of a loop whose memory an iteration may overwrite, if it also ends so: they begin in memory of the program. Those in
    the second set begin in memory that nothing else looks at, then or later; the others have to begin as a copy."""
    b = owner.bsyms[i]
    if b.sym is prims.cond:
        return frozenset(), frozenset()
    inits = [x for _, x in carried_with_inits(b) if isinstance(x, TensorProxy)]
    captures = [p for body in bodies_of(b) for p in body.captures if isinstance(p, TensorProxy)]
    own, exclusive = set(), set()
    for p, init in carried_with_inits(b):
        if not isinstance(init, TensorProxy) or p.name in memory or init.ndim == 0:
            continue
        roots = owner.roots[init.name]
        if roots & (owner.inputs - owner.writable):
            continue
        own.add(p.name)
        others = [x for x in inits if x is not init] + captures
        alone = sum(x.name == init.name for x in inits) == 1 and not any(owner.roots[x.name] & roots for x in others)
        if alone and len(roots) == 1 and init.name not in owner.repeating:
            (root,) = roots
            if not owner.live_after(root, i):
                exclusive.add(p.name)
                owner.is_own(root)
    return frozenset(own), frozenset(exclusive)


def _overwritten(b: BoundSymbol, passes: list[Pass], own: frozenset[str]) -> set[str]:
    """The variables whose first memory some iteration may overwrite: as theirs, or as that of a variable that it was handed on to."""
    found = {name for inner in passes for name in inner.overwritten}
    sources = list(_results(b, passes)) if found else []
    for _ in own:
        found |= {root for p, roots, _ in sources if p.name in found for root in roots if root in own}
    return found


def _still_own(b: BoundSymbol, passes: list[Pass], own: frozenset[str]) -> frozenset[str]:
    """Those of ``own`` that each iteration ends in memory of their own, too."""
    kept = set(own)
    for inner in passes[len(passes) - len(carrying_bodies(b)) :] if own else ():
        pairs = [(p.name, r) for p, r in zip(b.output, inner.bsyms[-1].args[0]) if isinstance(r, TensorProxy)]
        for name, result in pairs:
            roots = inner.roots[result.name]
            shared = any(inner.roots[r.name] & roots for other, r in pairs if other != name)
            if shared or result.name in inner.repeating or not (roots & inner.inputs) <= own:
                kept.discard(name)
    return frozenset(kept)


def _set_roots_of_variables(owner: Pass, b: BoundSymbol, memory: dict[str, Any], passes: list[Pass]) -> None:
    """The roots of what a carried array is bound to: those of its initial value, and of every body's result for it."""
    roots = {p.name: owner.roots[x.name] for p, x in carried_with_inits(b) if isinstance(x, TensorProxy)}
    roots.update({name: owner.roots[name] for name in memory})
    outputs = [p for p in b.output if isinstance(p, TensorProxy) and p.name not in memory]
    sources: dict[str, set[str]] = {p.name: set() for p in outputs}
    # What is bound to a broadcast array on some way is no place to write to.
    owner.repeating.update(
        p.name for p, x in carried_with_inits(b) if isinstance(x, Proxy) and x.name in owner.repeating
    )
    for at, result, repeats in _results(b, passes):
        if at.name in sources:
            sources[at.name] |= result
            if repeats or not result.isdisjoint(owner.repeating):
                owner.repeating.add(at.name)
    for p in outputs:
        roots.setdefault(p.name, frozenset())
    for _ in range(len(outputs) + 1):  # a value moves on by one variable an iteration
        for p in outputs:
            found = roots[p.name]
            for name in sources[p.name]:
                found |= roots.get(name, owner.roots.get(name, frozenset((p.name,))))
            roots[p.name] = found
    for p in outputs:
        owner.set_roots(p.name, roots[p.name] or frozenset((p.name,)))


def _results(b: BoundSymbol, passes: list[Pass]) -> Iterator[tuple[Proxy, set[str], bool]]:
    """Each output with the roots, in its body, of what a body gives for it, and whether elements of that may share memory."""
    for inner in passes[len(passes) - len(carrying_bodies(b)) :]:
        results = inner.bsyms[-1].args[0]
        for p, r in zip(b.output, results):
            if isinstance(r, TensorProxy):
                yield p, set(inner.roots[r.name]), r.name in inner.repeating
