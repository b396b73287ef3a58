"""The partition of a joint program into a forward program, which computes results and saved values, and a backward
program.

The *joint* program is the program followed by its reverse walk. The forward program returns, beside its results, the
values that the backward program needs: those *saved for backward*. The backward program recomputes all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.core import languages, prims, symbols, views
from tnp.core.activity import add_dependents, add_sources, is_differentiable
from tnp.core.errors import GradientError, NeedsEager
from tnp.core.gradient_marks import DETACHED, IS_TRAINING, RECOMPUTABLE
from tnp.core.proxies import NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Trace, tracing
from tnp.transforms.autodiff import Program, zeros_for
from tnp.transforms.autodiff.rules import executors_in_use, grad_transforms_of
from tnp.transforms.dce import common_subexpressions
from tnp.transforms.recompute_scheduling import schedule_recomputation
from tnp.transforms.rematerialize import choose_saved, is_cheap

__all__ = ["Joint", "Partition", "partition"]


@dataclass
class Joint:
    """The statements of a program, those of the walk back through it, the cotangents of its results that this begins with, and
    those of its arguments that it ends with. ``names`` is a trace of all names."""

    forward: list[BoundSymbol]
    walk: list[BoundSymbol]
    seeds: list[TensorProxy]
    found: list[TensorProxy]
    names: Trace


class Partition:
    """What :func:`split` made of a trace.

    ``forward`` returns three tuples, ``outputs``, ``others`` and ``saved``; ``finish`` takes the first two, stores attributes, and
    returns what the program returns. ``inputs`` are the arguments that cotangents are computed of.

    Where a gradient is differentiated again, what is saved counts as results, too: the backward is a function of it and of cotangents,
    and its derivative goes on through the program. ``inner`` are those saved values that only this makes results of.
    """

    def __init__(
        self, trace: Trace, inputs: list[TensorProxy], outputs: list[TensorProxy], others: list[Proxy], views_: list[BoundSymbol]
    ) -> None:  # fmt: skip
        self.trace = trace
        self.inputs = inputs
        self.outputs = outputs
        self.others = others
        #: statements that make results which are views of arguments, or of other results: ``finish`` runs them, in sight of autograd
        self.views = views_
        self.inner: list[TensorProxy] = []
        #: whose gradient rules are used, and what these made of the program: a walk of later finds it there
        self._executors = executors_in_use()
        self._made: dict[int, list[BoundSymbol]] = {}
        #: of each input, the outputs that depend on it
        self.reaches = _reached(trace, inputs, outputs)
        self.joint = self._walked(range(len(outputs)))
        #: what a call that is recorded looks at: the backward needs that very memory
        self.pinned = {p.name for b in self.joint.forward if _is_recorded(b) for p in b.flat_inputs}
        wanted = _read(self.joint.walk, self.joint)
        #: what autograd keeps, too, so that nobody may write to it, and what checkpointed functions begin with
        self.kept = [*wanted, *(p for b in self.joint.forward if self._is_checkpointed(b) for p in b.flat_inputs)]
        self.saved = choose_saved(
            self.joint.forward,
            wanted,
            trace.args,
            outputs,
            self.kept,
            views.memory_roots(self.joint.forward),
            self._may_repeat,
        )
        self.saved += _sizes_of(self.joint, trace.args, self.saved)
        names = {p.name for p in inputs}
        add_dependents(self.joint.forward, names, DETACHED.of(trace))
        #: what is saved and depends on the inputs
        self.dependent = [
            p for p in self.saved if isinstance(p, TensorProxy) and is_differentiable(p) and p.name in names
        ]
        there = {p.name for p in (*trace.args, *outputs)}
        made = {p.name for b in self.joint.forward for p in b.flat_outputs}
        self.inner = [p for p in self.dependent if p.name not in there and p.name in made and p.lang.name == "torch"]
        self.forward = self._forward()
        self.finish = self._finish()

    def _walked(self, given: Iterable[int], *, once: bool = True) -> Joint:
        """The joint program for cotangents of the outputs of these numbers; those of ``inner`` stand behind them."""
        numbers = list(given)
        # A saved value may be defined only inside a composition, which is decomposed then.
        opened = not once or any(i >= len(self.outputs) for i in numbers)
        body = self.joint.forward if opened else [b for b in self.trace.body if not _stores(b)]
        scratch = Trace.like(self.trace, body)
        if self._made:  # its names stand for what the first walk called so
            scratch.take_names(self.joint.names)
        wanted = [[*self.outputs, *self.inner][i] for i in numbers]
        inputs = self._inputs_of(numbers)
        rules = grad_transforms_of(self._executors)
        with tracing(scratch), languages.language_context(self.outputs[0].lang), rules:
            seeds = [TensorProxy(scratch.make_name("g"), like=p, lang=p.lang) for p in wanted]
            program = Program(0)
            found = _apart(
                inputs, program.pull_back(inputs, list(zip(wanted, seeds)), once=once, made=self._made), scratch
            )
        walk = {p.name for b in scratch.bound_symbols[program.stop :] for p in b.flat_outputs}
        results = (tuple(self.outputs), tuple(self.others), tuple(found))
        scratch.bound_symbols.append(prims.python_return.bind(results, output=None))
        joint = common_subexpressions(scratch)
        found = list(joint.bound_symbols[-1].args[0][2])
        backward = [b for b in joint.body if any(p.name in walk for p in b.flat_outputs)]
        kept = {id(b) for b in backward}
        return Joint([b for b in joint.body if id(b) not in kept], backward, seeds, found, joint)

    def _inputs_of(self, given: Iterable[int]) -> list[TensorProxy]:
        """The inputs that outputs of these numbers depend on."""
        numbers = list(given)
        names = {self.outputs[i].name for i in numbers if i < len(self.outputs)}
        reaches = self.reaches
        inner = [self.inner[i - len(self.outputs)] for i in numbers if i >= len(self.outputs)]
        if inner:
            found = _reached(Trace.like(self.trace, self.joint.forward), self.inputs, inner)
            reaches = {name: reaches[name] | found[name] for name in found}
            names |= {p.name for p in inner}
        return [p for p in self.inputs if reaches[p.name] & names]

    def _may_repeat(self, b: BoundSymbol) -> bool:
        """Whether a statement of the program may be run again in the backward."""
        if any(p.name in self.pinned for p in b.flat_outputs):
            return False
        said = [x for p in b.flat_outputs if (x := RECOMPUTABLE.of(self.trace).get(p.name)) is not None]
        if not said:
            return is_cheap(b)
        return all(said) and _is_repeatable(b) and not b.has_tag_inside(OpTags.LATE_GUARD)

    def _is_checkpointed(self, b: BoundSymbol) -> bool:
        return any(p.name in RECOMPUTABLE.of(self.trace) for p in b.flat_outputs)

    def _forward(self) -> Trace:
        new = _program("computation", self.joint.names, self.trace.args, self.joint.forward)
        saved = _in_own_memory(new, self.saved, [*self.outputs, *self.others], self.kept)
        return _returning(new, (tuple(self.outputs), tuple(self.others), tuple(saved)))

    def _finish(self) -> Trace:
        stores = [b for b in self.trace.body if _stores(b)]
        new = _program("finish", self.joint.names, [*self.outputs, *self.others], [*self.views, *stores])
        return _returning(new, self.trace.output)

    def backward(self, given: Sequence[int], *, once: bool = True) -> Trace | None:
        """The program that takes what was saved and the cotangents of the outputs of these numbers, and returns those of
        the inputs that depend on these outputs, in order. ``None`` if it would need more than was saved.

        With ``once`` false it is made of what can be differentiated again. Then, and where there are cotangents of ``inner``, it computes
        what it needs, whatever that costs.
        """
        whole = tuple(given) == tuple(range(len(self.outputs)))
        joint = self.joint if once and whole else self._walked(given, once=once)
        usual = once and all(i < len(self.outputs) for i in given)
        again = _computing(_read(joint.walk, joint), self.saved, joint, self._may_repeat if usual else _is_repeatable)
        if again is None:
            return None
        new = _program("backward", joint.names, [*self.saved, *joint.seeds], schedule_recomputation(again, joint.walk))
        new.value_guards = {}
        new.row_major = {p.name for p in joint.seeds} | (self.trace.row_major & {p.name for p in self.saved})
        return _returning(new, tuple(joint.found))

    @property
    def is_differentiable_again(self) -> bool:
        """Whether autograd sees all that the backward reads as arguments or results of the program."""
        seen = {p.name for p in (*self.trace.args, *self.outputs, *self.inner)}
        return all(p.name in seen and p.lang.name == "torch" for p in self.dependent)

    def positions_of(self, given: Iterable[int]) -> list[int]:
        """The numbers of the inputs whose cotangents :meth:`backward` returns."""
        names = {p.name for p in self._inputs_of(given)}
        return [i for i, p in enumerate(self.inputs) if p.name in names]


def partition(trace: Trace, requiring: set[str]) -> Partition | None:
    """The captured ``trace`` as a program whose results can be differentiated by those of its arguments that are ``requiring``.

    ``None`` if no result depends on them. Raises :class:`NeedsEager` for what has no gradient.
    """
    results = [*flat_proxies(trace.output), *(p for b in trace.body if _stores(b) for p in b.flat_inputs)]
    unique = {p.name: p for p in results}
    names = set(requiring)
    add_dependents(trace.body, names, DETACHED.of(trace))
    _check_views(trace, names)
    arguments = {p.name for p in trace.args}
    outputs = [
        p
        for p in unique.values()
        if isinstance(p, TensorProxy)
        and p.lang.name == "torch"
        and is_differentiable(p)
        and p.name in names
        and p.name not in arguments
    ]
    if not outputs:
        return None
    _check_leaves(trace, requiring, outputs)
    views_ = _views_of(trace, requiring)
    seen = {p.name for b in views_ for p in b.flat_outputs}
    outputs = [p for p in outputs if p.name not in seen]
    bases = _bases_of_several(trace, outputs, names)
    if bases:
        views_ += _views_of(trace, bases.keys())
        seen |= {p.name for b in views_ for p in b.flat_outputs}
        outputs = [*bases.values(), *(p for p in outputs if p.name not in seen and p.name not in bases)]
    if not outputs:
        raise NeedsEager("it returns nothing but views of arguments that require gradients")
    for b in trace.body:
        if any(isinstance(p, TensorProxy) and symbols.extents(p.shape) is None for p in b.flat_outputs):
            raise NeedsEager("it computes gradients through a length that is known only when the program runs")
    chosen = {p.name for p in outputs} | seen
    inputs = [p for p in trace.args if isinstance(p, TensorProxy) and p.name in requiring]
    others = {p.name: p for p in unique.values() if p.name not in chosen}
    views_ = _needed(views_, [p for p in unique.values() if p.name in seen])
    others.update((p.name, p) for b in views_ for p in b.flat_inputs if p.name not in chosen)
    try:
        return Partition(trace, inputs, outputs, list(others.values()), views_)
    except GradientError as error:
        raise NeedsEager(f"it has no gradient: {error.reason}", error.location) from error


def _check_leaves(trace: Trace, requiring: set[str], outputs: Sequence[TensorProxy]) -> None:
    """Raises :class:`NeedsEager` where an output requires a gradient only because the program has made a tensor that does."""
    arguments = {p.name for p in trace.args}
    leaves = requiring - arguments
    if not leaves:
        return
    names = requiring & arguments
    add_dependents(trace.body, names, DETACHED.of(trace))
    if any(p.name not in names for p in outputs):
        maker = next((b for b in trace.body if any(p.name in leaves for p in b.flat_outputs)), None)
        where = None if maker is None else maker.location
        raise NeedsEager("it returns what requires a gradient by a tensor that it has made", where)


def _check_views(trace: Trace, names: set[str]) -> None:
    """Raises :class:`NeedsEager` where a view of one of the values called ``names``, which require gradients, is made while those are off,
    and used where they are on: to autograd it is a leaf that requires a gradient."""
    found: set[str] = set()
    for b in trace.body:
        if not any(p.name in found or p.name in names for p in b.flat_inputs) or OpTags.DETACHES in b.sym.tags:
            continue
        made = [p for p in b.flat_outputs if is_differentiable(p)]
        if all(p.name in DETACHED.of(trace) for p in made):
            if OpTags.VIEW in b.sym.tags and _is_view(b):
                found.update(p.name for p in made)
        elif any(p.name in found for p in b.flat_inputs):
            raise NeedsEager("it uses a view of what requires a gradient that it made while gradients were off")
    if any(p.name in found for p in flat_proxies(trace.output)):
        raise NeedsEager("it returns a view of what requires a gradient that it made while gradients were off")


def _views_of(trace: Trace, bases: Iterable[str]) -> list[BoundSymbol]:
    """The statements that make views of the values called ``bases``, which require gradients. Autograd has to see them made, since it lets
    a caller write to a view that it knows to be one."""
    names, found = set(bases), []
    arguments = {p.name for p in trace.args}
    for b in trace.body:
        given, made = b.flat_inputs, b.flat_outputs
        if OpTags.VIEW not in b.sym.tags or OpTags.DETACHES in b.sym.tags or b.sym.language is None:
            continue
        is_known = all(p.name in names or (p.name in arguments and not isinstance(p, TensorProxy)) for p in given)
        if is_known and given and _is_view(b) and not any(p.name in DETACHED.of(trace) for p in made):
            names.update(p.name for p in made)
            found.append(b)
    return found


def _bases_of_several(trace: Trace, outputs: Sequence[TensorProxy], requiring: set[str]) -> dict[str, TensorProxy]:
    """What the program makes that several of its ``outputs`` look at, by name: one is returned, and the others are views of it.

    Views that one call makes together, such as those of ``torch.chunk``, stay results: autograd lets nobody write to them, either way.
    """
    roots = views.memory_roots(trace.body)
    groups: dict[str, list[TensorProxy]] = {}
    for p in outputs:
        groups.setdefault(roots.get(p.name, p.name), []).append(p)
    several = {name: group for name, group in groups.items() if len(group) > 1}
    if not several:
        return {}
    made = {p.name: p for b in trace.body for p in b.flat_outputs if p.name in several}
    found = {}
    for name, base in made.items():
        if not isinstance(base, TensorProxy) or base.lang.name != "torch" or name not in requiring:
            continue
        single = {p.name for b in _views_of(trace, [name]) if len(b.flat_outputs) == 1 for p in b.flat_outputs}
        if any(p.name in single or p is base for p in several[name]):
            found[name] = base
    return found


def _is_view(b: BoundSymbol) -> bool:
    """Whether what a statement makes is memory that it was given: not where a function gave a copy this time."""
    leaves = [b]
    while any(x.subsymbols for x in leaves):
        leaves = [y for x in leaves for y in (x.subsymbols or [x])]
    return all(OpTags.VIEW in x.sym.tags for x in leaves) and bool(leaves)


def _needed(bsyms: Sequence[BoundSymbol], wanted: Iterable[Proxy]) -> list[BoundSymbol]:
    """Those of some statements that ``wanted`` values are made by, in order."""
    names = {p.name for p in wanted}
    found = []
    for b in reversed(bsyms):
        if any(p.name in names for p in b.flat_outputs):
            names.update(p.name for p in b.flat_inputs)
            found.append(b)
    return found[::-1]


def _is_recorded(b: BoundSymbol) -> bool:
    """Whether a statement gives a record of what it did (:attr:`Symbol.records`)."""
    return any(isinstance(p, ObjectProxy) for p in b.flat_outputs)


def _stores(b: BoundSymbol) -> bool:
    """Whether a statement stores an attribute, of a module or another object, or an item."""
    return OpTags.ASSIGNS in b.operation.tags


def _program(name: str, names: Trace, args: Sequence[Proxy], bsyms: Iterable[BoundSymbol]) -> Trace:
    """A trace of its own, without its return."""
    new = Trace.like(names)
    new.name = name
    IS_TRAINING.put(new, True)
    new.args = list(args)
    new.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in new.args]
    new.bound_symbols += bsyms
    return new


def _returning(trace: Trace, output: Any) -> Trace:
    trace.output = output
    trace.bound_symbols.append(prims.python_return.bind(output, output=None))
    return trace


def _reached(trace: Trace, inputs: Sequence[TensorProxy], outputs: Sequence[TensorProxy]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {p.name: set() for p in inputs}
    for out in outputs:
        sources = {out.name}
        add_sources(trace.body, sources, DETACHED.of(trace))
        for name in sources & found.keys():
            found[name].add(out.name)
    return found


# Memory


def _apart(inputs: Sequence[TensorProxy], found: Sequence[TensorProxy | None], trace: Trace) -> list[TensorProxy]:
    """The cotangents of the inputs, each in memory that no other value looks at: autograd may keep it as a tensor's ``grad``."""
    roots = views.memory_roots(trace.bound_symbols)
    made = {p.name for b in trace.bound_symbols for p in b.flat_outputs}
    taken: set[str] = set()
    apart = []
    for p, g in zip(inputs, found):
        with languages.language_context(p.lang):
            g = zeros_for(p) if g is None else g
            root = roots.get(g.name, g.name)
            if root in taken or (root not in made and g.name in roots):
                g = prims.clone(g)
            elif g.lang is not p.lang:
                g = prims.as_language(g, p.lang.name)
        taken.add(root)
        apart.append(g)
    return apart


def _in_own_memory(
    trace: Trace, saved: Sequence[Proxy], results: Iterable[Proxy], kept: Iterable[Proxy]
) -> list[Proxy]:
    """What is saved, copied where it is memory of an argument that the program writes to, or that its owner may write to before the
    backward pass, since autograd would not have ``kept`` it."""
    written = {b.args[1].name for b in trace.bound_symbols if b.operation is prims.copy_}
    roots = views.memory_roots(trace.bound_symbols)
    written = {roots.get(name, name) for name in written}
    owned = {roots.get(p.name, p.name) for p in (*trace.args, *results)} - {roots.get(p.name, p.name) for p in kept}
    copies: dict[str, Proxy] = {}
    for p in saved:
        if isinstance(p, TensorProxy) and roots.get(p.name, p.name) in written | owned:
            copies[p.name] = TensorProxy(trace.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)
    if copies:
        statements = []
        for b in trace.bound_symbols:
            statements.append(b)
            for p in b.flat_outputs:
                if p.name in copies and b.operation is not prims.python_return:
                    statements.append(prims.clone.bind(p, output=copies[p.name]))
        trace.bound_symbols[:] = statements
    return [copies.get(p.name, p) for p in saved]


# What is kept


def _read(walk: Iterable[BoundSymbol], joint: Joint) -> list[Proxy]:
    """The values of the program that the walk back reads, in order; not symbolic sizes, which are made of those that are saved."""
    own = {p.name for p in joint.seeds} | {p.name for b in walk for p in b.flat_outputs}
    read = [*(p for b in walk for p in b.flat_inputs), *joint.found]
    return list({p.name: p for p in read if p.name not in own and not symbols.is_symbol(p)}.values())


def _sizes_of(joint: Joint, arguments: Iterable[Proxy], saved: Iterable[Proxy]) -> list[Proxy]:
    """The symbolic arguments, and lengths that the program finds out, that must be saved as well: the backward computes every size that it
    reads from them."""
    there = {p.name for p in saved}
    sizes = {p.name for p in arguments if symbols.is_symbol(p)}
    made = (p for b in joint.forward for p in b.flat_outputs if isinstance(p, TensorProxy))
    sizes.update(n.name for p in made for n in p.shape if isinstance(n, NumberProxy) and symbols.is_found(n))
    if not sizes:
        return []
    computed = {p.name for b in joint.forward for p in b.flat_outputs if isinstance(p, NumberProxy)}
    read: dict[str, NumberProxy] = {}
    for b in joint.walk:
        for part in with_parts(b):
            for p in (*part.flat_inputs, *part.flat_outputs):
                dims = p.shape if isinstance(p, TensorProxy) else (p,)
                for n in dims:
                    if isinstance(n, NumberProxy) and symbols.is_symbol(n):
                        roots = list(symbols.roots(n))
                        # What a length is computed of may be gone: another one, which is as long, stands for it.
                        is_left = n.name in computed and any(root.name not in sizes for root in roots)
                        read.update((m.name, m) for m in ([n] if is_left else roots))
    return [n for n in read.values() if n.name not in there and n.name in sizes | computed]


def _is_repeatable(b: BoundSymbol) -> bool:
    """Whether a statement can be run again."""
    return not any(b.has_tag_inside(t) for t in (OpTags.EFFECT, OpTags.RANDOM))


def _computing(
    wanted: Iterable[Proxy], known: Iterable[Proxy], joint: Joint, may: Callable[[BoundSymbol], bool]
) -> list[BoundSymbol] | None:
    """Statements of the program that compute values from those that are known; ``None`` if some would be needed that ``may`` not run
    again."""
    available = {p.name for p in known}
    needed = {p.name for p in wanted} - available
    found = []
    for b in reversed(joint.forward):
        made = {p.name for p in b.flat_outputs} & needed
        if not made:
            continue
        if not may(b):
            return None
        needed -= {p.name for p in b.flat_outputs}
        needed |= {p.name for p in b.flat_inputs if not symbols.is_symbol(p)} - available
        found.append(b)
    return None if needed else found[::-1]
