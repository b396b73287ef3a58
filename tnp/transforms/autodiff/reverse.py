"""The reverse walk through a program.

A program is the bound symbols that a trace has recorded since some point. The walk appends the operations that compute
cotangents to the same trace. So a gradient is a program like any other: a gradient of it walks through both parts, and
may use all values of the primal computation.

Inner values of a composition (the difference from the mean in a variance) are defined only inside it. If a cotangent
needs one, the composition is decomposed afterwards (:func:`decomposed`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Container, Iterable, Sequence
from typing import Any

from tnp.core import clang, devices, dtypes, languages, prims, sizes, views
from tnp.core.activity import add_dependents, is_differentiable, is_empty
from tnp.core.context import current_trace
from tnp.core.devices import DeviceType
from tnp.core.errors import GradientError
from tnp.core.gradient_marks import DETACHED
from tnp.core.proxies import ObjectProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, device_of
from tnp.transforms.autodiff.decomposing import decomposed
from tnp.transforms.autodiff.replay import live
from tnp.transforms.autodiff.rules import (
    Interleaved,
    call_interleaved,
    is_taken_by_executor,
    rule_of,
    rule_of_executor,
    without_derivative,
)

__all__ = ["Program", "Reverse", "active_names", "is_differentiable", "zeros_for"]


def zeros_for(p: Proxy) -> TensorProxy:
    """The cotangent of what nothing depends on: zeros, for a number a 0-d one."""
    if isinstance(p, TensorProxy):
        return clang.full_like(p, 0)
    return clang.full((), 0, dtype=dtype_for(p))


def dtype_for(p: Any) -> dtypes.DType:
    """The dtype of a value's cotangent."""
    if isinstance(p, TensorProxy):
        return p.dtype
    return dtypes.complex128 if p.python_type is complex else dtypes.float64


def active_names(
    bsyms: Iterable[BoundSymbol], inputs: Iterable[str], detached: Container[str] = frozenset()
) -> set[str]:
    """The names of what depends on ``inputs`` in a way that can be differentiated, those inside of compositions included."""
    active = set(inputs)
    add_dependents(bsyms, active, detached, without_derivative)
    return active


class Reverse:
    """One walk: which values are ``active``, and the cotangents found so far, by name.

    ``in_place`` are the names of values whose cotangents are memory that grows: what comes from a part of the value is added there, instead
    of being spread over zeros first. Cotangents follow the convention of torch: that of ``z = x + iy`` is ``dL/dx + i dL/dy``.
    """

    def __init__(
        self,
        active: set[str],
        cotangents: dict[str, TensorProxy],
        in_place: Iterable[str] = (),
        *,
        once: bool = False,
        made: dict[int, list[BoundSymbol]] | None = None,
    ) -> None:
        self.active = active
        #: what interleaved rules made of bound symbols, by ``id``, in an earlier walk through the same program: later ones find it there
        self.made = {} if made is None else made
        #: whether nobody differentiates what comes out, so that whole operations may do what rules do otherwise
        self.once = once
        self.cotangents = cotangents
        self.in_place = set(in_place)
        #: cotangents of slices of an array that are not yet part of its own: where each begins, and it
        self.parts: dict[str, tuple[TensorProxy, list[Part]]] = {}
        #: arrays of positions that are distinct together: of each, which ``nonzero`` made it
        self.positions: dict[str, int] = {}
        #: of bound symbols, by ``id``, what takes their place
        self.replaced: dict[int, list[BoundSymbol]] = {}
        #: what values look at the memory of, and the arguments whose memory the program writes to
        self.roots: dict[str, str] = {}
        self.written: set[str] = set()

    def see_writes(self, program: Sequence[BoundSymbol]) -> None:
        """Notes which memory ``program`` writes to."""
        self.roots = views.memory_roots(program)
        self.written = {b.args[1].name for b in program if b.operation is prims.copy_}

    def needs(self, p: Any) -> bool:
        """Whether anybody wants the cotangent of ``p``."""
        return isinstance(p, Proxy) and p.name in self.active

    def put(self, p: Any, cotangent: TensorProxy | None) -> None:
        """Adds to the cotangent of ``p``. What comes from a number that stood for a whole array is summed."""
        if cotangent is None or not self.needs(p) or is_empty(p):
            return
        cotangent = fitting(cotangent, p)
        before = self.cotangents.get(p.name)
        self.cotangents[p.name] = cotangent if before is None else clang.add(before, cotangent)

    def put_at(self, p: TensorProxy, at: views.Path, cotangent: TensorProxy) -> None:
        """Adds to the cotangent of the part of ``p`` that the view ``at`` selects, whose elements are distinct."""
        if not self.needs(p) or is_empty(cotangent):
            return
        before = self.cotangents.get(p.name)
        if before is None:
            before = zeros_for(p)
        else:
            cotangent = clang.add(at(before), cotangent)
        self.cotangents[p.name] = stored_at(before, cotangent, at)

    def put_slice(self, p: TensorProxy, starts: Sequence[int], cotangent: TensorProxy) -> None:
        """Adds to the cotangent of a slice of ``p``, of steps of 1, when that is read: stencils have many of them."""
        if self.needs(p) and not is_empty(cotangent):
            self.parts.setdefault(p.name, (p, []))[1].append((tuple(starts), fitting_dtype(cotangent, p)))

    def settle(self, name: str) -> None:
        """Makes the cotangents of slices part of the array's."""
        if name in self.parts:
            p, parts = self.parts.pop(name)
            with languages.language_context(p.lang):
                self.cotangents[name] = with_parts(p, self.cotangents.get(name), parts)

    def walk(self, bsyms: Sequence[BoundSymbol]) -> None:
        """Pulls cotangents back through a program."""
        trace = current_trace()
        assert trace is not None
        self._note_positions(bsyms)
        for bsym in reversed(bsyms):
            start = len(trace.scope)
            self.pull(bsym)
            for made in trace.scope[start:]:
                made.location = bsym.location if bsym.location is not None else made.location
        for name in list(self.parts):
            self.settle(name)

    def _note_positions(self, bsyms: Iterable[BoundSymbol]) -> None:
        for b in bsyms:
            self._note_positions(b.subsymbols)
            if b.operation is prims.nonzero:
                self.positions.update((p.name, id(b)) for p in b.flat_outputs)

    def are_distinct(self, indices: Sequence[TensorProxy]) -> bool:
        """Whether arrays of indices surely name no place twice: those of the true elements of a mask."""
        made = {self.positions.get(i.name) for i in indices}
        return (
            len(made) == 1
            and None not in made
            and len({i.name for i in indices}) == len(indices) == len(self._of(made))
        )

    def _of(self, made: set[int | None]) -> list[str]:
        return [name for name, source in self.positions.items() if source in made]

    def pull(self, bsym: BoundSymbol) -> None:
        """Pulls cotangents back through one operation. Raises :class:`GradientError` if it has no gradient."""
        for p in bsym.flat_outputs:
            self.settle(p.name)
        found = [self.cotangents.get(p.name) for p in bsym.flat_outputs]
        if all(g is None for g in found) or bsym.sym.id in without_derivative or OpTags.DETACHES in bsym.sym.tags:
            return
        inputs = {p.name for p in bsym.flat_inputs}
        if not (inputs & self.active):
            return
        if bsym.flat_outputs and all(p.name in inputs for p in bsym.flat_outputs):
            return
        language = next((p.lang for p in bsym.flat_outputs if isinstance(p, TensorProxy)), languages.current())
        with languages.language_context(language), devices.device_context(device_of(bsym)):
            self._pull(bsym, found)

    def _pull(self, bsym: BoundSymbol, found: list[TensorProxy | None]) -> None:
        known = rule_of(bsym)
        rule: Any = rule_of_executor(bsym)
        if rule is None and self.once and bsym.sym.pulls_back is not None and not isinstance(known, Interleaved):
            if bsym.sym.records is not None and self._may_record(bsym):
                self._pull_by_record(bsym, found, *bsym.sym.records)
            else:
                self._pull_by_operation(bsym, found, bsym.sym.pulls_back)
            return
        rule = known if rule is None else rule  # what was registered stands before the operation
        if isinstance(rule, Interleaved):
            self._pull_interleaved(bsym, found, rule)
            return
        if rule is not None:
            single = isinstance(bsym.output, Proxy)
            g, out = (found[0], bsym.output) if single else (tuple(found), tuple(bsym.flat_outputs))
            answer = (
                rule(self, bsym, g)
                if getattr(rule, "takes_bound_symbol", False)
                else rule(g, out, *bsym.args, **bsym.kwargs)
            )
            if answer is not NotImplemented:
                self._put_answer(bsym, answer)
                return
        if bsym.sym.pulls_back is not None and not bsym.subsymbols:
            self._pull_by_operation(bsym, found, bsym.sym.pulls_back)
            return
        if not bsym.subsymbols:
            raise no_gradient(bsym)
        path = _as_view(bsym)
        if path is not None and found[0] is not None:
            self.put_at(bsym.args[0], path, found[0])
            return
        for sub in reversed(bsym.subsymbols):
            sub.location = bsym.location if sub.location is None else sub.location
            self.pull(sub)

    def _pull_by_operation(self, bsym: BoundSymbol, found: list[TensorProxy | None], operation: Symbol) -> None:
        """Through an operation that knows no rule, but another one that does it."""
        tensors, wanted = _tensors(bsym), self._wanted(bsym)
        for i, g in zip(wanted, operation(found, wanted, bsym.args, bsym.kwargs)):
            self.put(tensors[i], g)

    def _pull_by_record(
        self, bsym: BoundSymbol, found: list[TensorProxy | None], recording: Symbol, pulling: Symbol
    ) -> None:
        """Through what an operation remembers, which stands in the program in the place of the one that does not."""
        tensors, wanted = _tensors(bsym), self._wanted(bsym)
        if id(bsym) not in self.made:
            output = bsym.output, ObjectProxy(None, object)
            self.made[id(bsym)] = [recording.bind(wanted, bsym.args, bsym.kwargs, output=output)]
        self.replaced[id(bsym)] = self.made[id(bsym)]
        # It reads all that the record may look at the memory of.
        results, record = self.made[id(bsym)][0].output
        for i, g in zip(wanted, pulling(found, wanted, record, results, bsym.args, bsym.kwargs)):
            self.put(tensors[i], g)

    def _may_record(self, bsym: BoundSymbol) -> bool:
        """Whether torch runs an operation, and what it reads is on the CPU (a capture of CUDA's calls has no objects) and no memory that the
        program writes to."""
        return not is_taken_by_executor(bsym) and all(
            p.device.devicetype is DeviceType.CPU and self.roots.get(p.name, p.name) not in self.written
            for p in _tensors(bsym)
        )

    def _wanted(self, bsym: BoundSymbol) -> list[int]:
        """Which of the tensors that an operation reads cotangents are needed of."""
        return [i for i, p in enumerate(_tensors(bsym)) if self.needs(p) and is_differentiable(p)]

    def _put_answer(self, bsym: BoundSymbol, answer: Any) -> None:
        # The last first: what was stored reads the cotangent before what was overwritten is cut out of it, in place if nobody reads it later.
        answers = answer if isinstance(answer, tuple) else (answer,)
        args = bsym.args
        if bsym.kwargs and len(answers) > len(
            args
        ):  # those passed by keyword stand behind, in the order of the parameters
            args = (*args, *map(bsym.kwargs.get, _parameters_of(bsym.sym)[len(args) :]))
        for arg, g in reversed(list(zip(args, answers))):
            if isinstance(arg, (list, tuple)):
                for a, h in zip(arg, g or ()):
                    self._put_lazily(a, h)
            else:
                self._put_lazily(arg, g)

    def _put_lazily(self, p: Any, g: Any) -> None:
        if g is not None and self.needs(p):
            if isinstance(g, Sliced):
                self.put_slice(p, g.starts, g.cotangent)
            elif isinstance(g, Placed):
                self.put_at(p, g.at, g.cotangent)
            else:
                self.put(p, g if isinstance(g, TensorProxy) else g())

    def _pull_interleaved(self, bsym: BoundSymbol, found: list[TensorProxy | None], rule: Interleaved) -> None:
        trace = current_trace()
        assert trace is not None
        scope = trace.push_scope()
        try:
            results, given = call_interleaved(rule.function, bsym, self)
            known = {r.name: (p, g) for r, p, g in zip(results, bsym.flat_outputs, found)}
            names: dict[str, Any] = {r.name: p for r, p in zip(results, bsym.flat_outputs)}
            made = list(scope)
            scope.clear()
            for p, placeholder in given.cotangents.values():
                if p.name not in known:
                    raise GradientError(
                        f"the gradient rule of {bsym.sym.qualified_name} gets the cotangent of a value that is not a result"
                    )
                primal, g = known[p.name]
                names[placeholder.name] = zeros_for(primal) if g is None else g
            extra = list(scope)
        finally:
            trace.pop_scope()
        forward, backward = _split(made, {r.name for r in results})
        earlier = self.made.setdefault(id(bsym), [b.substitute(names) for b in forward])
        for b, before in zip(forward, earlier):
            names.update((p.name, q) for p, q in zip(b.flat_outputs, before.flat_outputs) if p.name != q.name)
        own = {p.name for b in forward for p in b.flat_outputs} - {r.name for r in results}
        if any(p.name in own for b in backward for p in b.flat_inputs) or any(
            g.name in own for _, g in given.given if g is not None
        ):
            self.replaced[id(bsym)] = earlier
        trace.scope.extend([*extra, *(b.substitute(names) for b in backward)])
        for p, g in given.given:
            self.put(p, None if g is None else names.get(g.name, g))


def _tensors(bsym: BoundSymbol) -> list[TensorProxy]:
    return [p for p in bsym.flat_inputs if isinstance(p, TensorProxy)]


@functools.cache
def _parameters_of(symbol: Symbol) -> tuple[str, ...]:
    return tuple(inspect.signature(symbol.meta).parameters)


#: view operations through which an array may be written whatever its layout in memory is: a reshape may have to copy
WRITABLE = frozenset(
    (prims.slice.id, prims.select.id, prims.dynamic_slice.id, prims.flip.id, prims.transpose.id, prims.squeeze.id, prims.diagonal.id,
     prims.broadcast_in_dim.id, "numpy.ndarray.getitem")
)  # fmt: skip


def stored_at(a: TensorProxy, value: Any, at: views.Path) -> TensorProxy:
    """``a`` with ``value`` in the place of what the view ``at`` selects."""
    if all(step.symbol.id in WRITABLE for step in at.steps):
        made: TensorProxy = views.update(a, value, at)
        return made
    return views.write(a, value, at)


def _as_view(bsym: BoundSymbol) -> views.Path | None:
    """The path by which a composition of several view operations (``x[i, 1:j]``) leads from its first argument to its result."""
    if not (bsym.args and isinstance(bsym.args[0], TensorProxy) and isinstance(bsym.output, TensorProxy)):
        return None
    chain = views.prim_chain(views.prims_by_result(bsym.subsymbols), bsym.output, bsym.args[0])
    if chain is None or len(chain) < 2 or any(b.sym.id not in WRITABLE for b in chain):
        return None
    if any(
        b.operation is prims.broadcast_in_dim and sizes.equal(b.args[0].numel, b.output.numel) is not True
        for b in chain
    ):
        return None
    return views.Path(views.Step(b.sym, b.args[1:], b.kwargs) for b in chain)


class Placed:
    """A cotangent of a part of an argument: of what the view ``at`` selects."""

    __slots__ = ("at", "cotangent")

    def __init__(self, at: views.Path, cotangent: TensorProxy) -> None:
        self.at = at
        self.cotangent = cotangent


class Sliced:
    """A cotangent of a slice of an argument, of steps of 1."""

    __slots__ = ("cotangent", "starts")

    def __init__(self, starts: Sequence[int], cotangent: TensorProxy) -> None:
        self.starts = starts
        self.cotangent = cotangent


#: where a slice begins, and its cotangent
Part = tuple[tuple[int, ...], TensorProxy]


def with_parts(p: TensorProxy, whole: TensorProxy | None, parts: Sequence[Part]) -> TensorProxy:
    """The cotangent of ``p``: that of all of it, if there is one, and those of its slices.

    What all slices have in common, of a stencil nearly everything, is computed in one pass; then what is left of each is added.
    """
    joined = _joined(p, parts) if whole is None else None
    if joined is not None:
        return joined
    total = zeros_for(p) if whole is None else whole
    boxes = [(starts, tuple(s + n for s, n in zip(starts, g.shape))) for starts, g in parts]
    begin = tuple(max(b[0][d] for b in boxes) for d in range(p.ndim))
    end = tuple(min(b[1][d] for b in boxes) for d in range(p.ndim))
    if any(a >= b for a, b in zip(begin, end)):
        begin = end = (0,) * p.ndim  # nothing
    else:
        common = None if whole is None else _cut(whole, (0,) * p.ndim, begin, end)
        for starts, g in parts:
            piece = _cut(g, starts, begin, end)
            common = piece if common is None else clang.add(common, piece)
        total = views.update(total, common, _box(begin, end))
    for (starts, g), (first, last) in zip(parts, boxes):
        for lower, upper in _around(first, last, begin, end):
            before = _cut(total, (0,) * p.ndim, lower, upper)
            total = views.update(total, clang.add(before, _cut(g, starts, lower, upper)), _box(lower, upper))
    return total


def _joined(p: TensorProxy, parts: Sequence[Part]) -> TensorProxy | None:
    """The cotangent of an array of which only slices are used that lie side by side and fill it (those of ``torch.split``)."""
    for dim in range(p.ndim):
        ordered = sorted(parts, key=lambda part: part[0][dim])
        at = 0
        for starts, g in ordered:
            if starts[dim] != at or any(starts[d] or g.shape[d] != p.shape[d] for d in range(p.ndim) if d != dim):
                break
            at += g.shape[dim]
        else:
            if at == p.shape[dim] and len(ordered) > 1:
                made: TensorProxy = prims.concatenate([g for _, g in ordered], dim)
                return made
    return None


def _box(begin: Sequence[int], end: Sequence[int]) -> views.Path:
    return views.Path([views.Step(prims.slice, (list(begin), list(end), [1] * len(begin)))])


def _cut(a: TensorProxy, starts: Sequence[int], begin: Sequence[int], end: Sequence[int]) -> TensorProxy:
    """Of an array that begins at ``starts`` what lies between ``begin`` and ``end``."""
    lower, upper = [b - s for b, s in zip(begin, starts)], [e - s for e, s in zip(end, starts)]
    if not any(lower) and tuple(upper) == tuple(a.shape):
        return a
    made: TensorProxy = prims.slice(a, lower, upper, [1] * a.ndim)
    return made


def _around(
    first: Sequence[int], last: Sequence[int], begin: Sequence[int], end: Sequence[int]
) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """The box from ``first`` to ``last`` without the one from ``begin`` to ``end`` inside it, as boxes."""
    lower, upper = list(first), list(last)
    if all(b >= e for b, e in zip(begin, end)):
        if all(a < b for a, b in zip(lower, upper)):
            yield lower, upper
        return
    for d in range(len(lower)):
        if lower[d] < begin[d]:
            yield list(lower), [*upper[:d], begin[d], *upper[d + 1 :]]
        if end[d] < upper[d]:
            yield [*lower[:d], end[d], *lower[d + 1 :]], list(upper)
        lower[d], upper[d] = begin[d], end[d]


def _split(made: list[BoundSymbol], results: set[str]) -> tuple[list[BoundSymbol], list[BoundSymbol]]:
    """What computes ``results``, and the rest."""
    needed = set(results)
    forward: list[BoundSymbol] = []
    backward: list[BoundSymbol] = []
    for b in reversed(made):
        if any(p.name in needed for p in b.flat_outputs):
            needed.update(p.name for p in b.flat_inputs)
            forward.append(b)
        else:
            backward.append(b)
    return forward[::-1], backward[::-1]


def fitting_dtype(cotangent: TensorProxy, p: Proxy) -> TensorProxy:
    """A cotangent in the dtype of that of ``p``: the real part for a real one."""
    wanted = dtype_for(p)
    if cotangent.dtype.kind == "c" and wanted.kind != "c":
        cotangent = prims.real(cotangent)
    return clang.convert(cotangent, wanted)


def fitting(cotangent: TensorProxy, p: Proxy) -> TensorProxy:
    """A cotangent as one of ``p``: of its dtype and shape; of a number, summed to 0-d."""
    if not isinstance(p, TensorProxy) and cotangent.ndim:
        cotangent = prims.sum(cotangent, tuple(range(cotangent.ndim)))
    cotangent = fitting_dtype(cotangent, p)
    shape = p.shape if isinstance(p, TensorProxy) else ()
    if sizes.shapes_equal(cotangent.shape, shape) is False:
        raise AssertionError(f"a cotangent of {p!r} has shape {cotangent.shape}")
    return cotangent


def no_gradient(bsym: BoundSymbol) -> GradientError:
    """What to say of an operation that cannot be differentiated."""
    name = bsym.sym.qualified_name
    if isinstance(bsym.sym.id, str) and bsym.sym.id.startswith("opaque."):
        why = f"np.{bsym.sym.id.removeprefix('opaque.')} runs as an opaque call, of which tnp knows no gradient"
        way = "compute it from other NumPy functions, or from values that do not depend on what is differentiated"
    else:
        why = f"{name} has no gradient rule"
        way = "register one with tnp.register_grad, or use it on values that do not depend on what is differentiated"
    return GradientError(f"{why}; {way}", bsym.location)


class Program:
    """What a trace recorded from a point on, so far: the statements of a function, to be walked through backwards.

    Statements may be recorded after it, and its own be decomposed; it knows where it ends by counting.
    """

    def __init__(self, start: int, stop: int | None = None) -> None:
        trace = current_trace()
        assert trace is not None
        self.trace = trace
        self.statements = trace.statements
        self.start = start
        self.stop = len(self.statements) if stop is None else stop

    def pull_back(
        self, inputs: Sequence[Proxy], seeds: Sequence[tuple[Proxy, TensorProxy]], *, once: bool = False,
        made: dict[int, list[BoundSymbol]] | None = None,
    ) -> list[TensorProxy | None]:  # fmt: skip
        """The cotangents of ``inputs``, given those of some values; ``None`` stands for zeros. ``made`` is as in :class:`Reverse`.

        ``seeds`` are values and their cotangents. What computes the result is recorded in the current trace, maybe in a body inside the
        one that the program is in. Raises :class:`GradientError` for operations on the way that have no gradient.
        """
        active = active_names(self.bound_symbols, (p.name for p in inputs), DETACHED.of(self.trace))
        reverse = Reverse(active, {}, once=once, made=made)
        if once:
            reverse.see_writes(self.bound_symbols)
        for p, g in seeds:
            reverse.put(p, g)
        self.walk(reverse, inputs)
        return [reverse.cotangents.get(p.name) for p in inputs]

    @property
    def bound_symbols(self) -> list[BoundSymbol]:
        return self.statements[self.start : self.stop]

    def walk(self, reverse: Reverse, wanted: Sequence[Proxy] | None = None) -> None:
        """Pulls cotangents back, and decomposes compositions whose inner values it needs. Of what is recorded, only what the cotangents
        of ``wanted`` need stays."""
        trace = current_trace()
        assert trace is not None
        program = self.bound_symbols
        before = len(trace.statements)
        reverse.walk(program)
        found = [g for g in reverse.cotangents.values() if wanted is None]
        found += [reverse.cotangents[p.name] for p in wanted or () if p.name in reverse.cotangents]
        if wanted is not None:
            _keep_live(before, found)
        needed = [p for b in trace.statements[before:] for p in b.flat_inputs]
        shown = decomposed(program, [*needed, *found], reverse.replaced)
        self.statements[self.start : self.stop] = shown
        self.stop = self.start + len(shown)

    def push_forward(
        self, inputs: Sequence[tuple[Proxy, TensorProxy]], outputs: Sequence[Proxy]
    ) -> list[TensorProxy | None]:
        """The tangents of ``outputs``, given those of some values; ``None`` stands for zeros.

        The program that pulls a cotangent back is linear in it: pulling the tangents back through that one is pushing them forward
        through the first. Its arguments are cotangents of zeros; nothing that is kept reads them.
        """
        trace = current_trace()
        assert trace is not None
        dummies = [zeros_for(p) for p in outputs]
        begin = len(trace.statements)
        inside = trace.statements is self.statements
        length = self.stop
        linear = self.pull_back([p for p, _ in inputs], list(zip(outputs, dummies)))
        if inside:
            begin += self.stop - length
        seeds = [(g, fitting(t, g)) for g, (_, t) in zip(linear, inputs) if g is not None]
        tangents = Program(begin).pull_back(dummies, seeds)
        _keep_live(begin, tangents)
        return tangents


def _keep_live(start: int, results: Sequence[Any]) -> None:
    """Of what was recorded from ``start`` on, which has no effects, keeps what ``results`` need."""
    trace = current_trace()
    assert trace is not None
    guarded = list(trace.value_guards.values())
    trace.statements[start:] = live(trace.statements[start:], [*results, *guarded])
