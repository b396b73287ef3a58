"""Whole loops in the vocabulary of lowering rules: elements are lazy, writes and checks are instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tnp.executors.llvm.rules  # noqa: F401 — they are shared
from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.lowering import RULES as SHARED
from tnp.executors.llvm.lowering import Lowering, Refused, Rule, Where, outputs_of
from tnp.executors.llvm.program.arrays import check_indices, converted, element_index, index_mismatch, operation
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import FALSE
from tnp.executors.llvm.program.lowering import ONE, ZERO, Program
from tnp.executors.llvm.program.numbers import as_dtype, whole
from tnp.executors.llvm.program.reductions import reduced
from tnp.executors.llvm.program.rules import RULES, step
from tnp.executors.llvm.program.updates import own
from tnp.executors.llvm.program.values import Array, At, Memory, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import VIEWS, moved, require_equal
from tnp.executors.llvm.routines import ROUTINES

__all__: list[str] = []

#: operations up to which an element is computed at each place where it is repeated
CHEAP = 1
#: additions that an element of a sorted row takes
SORTING = 8


class LoopLowering(Lowering):
    """Makes the values of one prim of a whole loop.

    It has many methods: they are the vocabulary of the rules.
    """

    def __init__(self, p: Program, bsym: BoundSymbol, outputs: Sequence[Any]) -> None:
        self.p = p
        self.bsym = bsym
        self.outputs = outputs
        #: memory that the rule has made, and may write to
        self._own: set[Memory] = set()

    # Sizes

    def sizes(self, shape: Sequence[Any]) -> Sequence[Int]:
        return [whole(self.p, self.p.value(n)) for n in shape]

    def length(self, n: Any) -> int | None:
        return Int.of(n).known

    def at_least_zero(self, n: Int) -> Int:
        return self.p.maximum(n, ZERO)

    def require_one(self, n: Any, failure: Callable[..., Exception]) -> None:
        require_equal(self.p, n, ONE, failure)

    def require_equal(self, a: Sequence[Int], b: Sequence[Int]) -> None:
        for n, m in zip(a, b, strict=True):
            if n != m:
                self.p.check(self.p.equal(n, m), None)

    # Values

    def make(self, op: str, shape: Sequence[Any], dtype: DType, args: Sequence[Any] = ()) -> Array:
        p = self.p
        if op in ("empty", "full", "iota"):
            return self._new(op, list(map(Int.of, shape)), dtype, args)
        if op == "convert_element_type":
            return converted(p, args[0], dtype)
        numbers = [Number(int, x) if isinstance(x, Int) else x for x in args]
        return operation(p, op, dtype, numbers, dtypes.real_counterpart(dtype) if op == "complex" else None)

    def _new(self, op: str, sizes: Sequence[Int], dtype: DType, args: Sequence[Any]) -> Array:
        p = self.p
        if op == "empty":
            return self._made(p.temporary(sizes, dtype))
        if op == "full":
            element = as_dtype(p, args[0], dtype)
            return Thunk(sizes, dtype, lambda p, at: element) if sizes else Scalar(element, dtype)
        start, by = args
        return Thunk(sizes, dtype, lambda p, at: p.code.convert(at[0] * by + start, dtypes.int64, dtype))

    def _made(self, made: StridedView) -> StridedView:
        self._own.add(made.memory)
        return made

    def view(
        self, source: Array, shape: Sequence[Any], where: Where, lookups: Sequence[Array] = (), *,
        repeats: bool = False, whole: bool = False,
    ) -> Array:  # fmt: skip
        sizes = list(map(Int.of, shape))
        if repeats and isinstance(source, Thunk) and source.cost > CHEAP:
            source = self.p.force(source)
        if not any(i.shape for i in lookups):
            return moved(source, sizes, where)
        reads = source.reads.union(*(i.reads for i in lookups))

        def make(p: Program, at: At) -> Any:
            return source.element(p, tuple(map(Int.of, where(at))))

        return Thunk(sizes, source.dtype, make, reads, 1 + source.cost)

    def reduce(self, op: str, shape: Sequence[Any], dtype: DType, source: Array, dims: Sequence[int]) -> Array:
        return reduced(self.p, op, source, dims, dtype)

    def copied(self, x: Array, dtype: DType, *, in_c_order: bool = False) -> Array:
        if x.dtype is not dtype:
            return converted(self.p, x, dtype)
        if isinstance(x, Scalar) or (isinstance(x, StridedView) and x.memory in self._own):
            return x
        return Thunk(x.shape, dtype, x.element, x.reads, x.cost)

    def update(self, base: Array, value: Array, select: Callable[[Any], Any] | None = None) -> StridedView:
        if not isinstance(base, StridedView) or base.memory not in self._own:
            base = self._made(self.p.force(base))
        target = base if select is None else select(base)
        self.p.assign(target, value)
        return base

    # Routines

    def routine(
        self, op: str, source: Array, without_vectors: str | None = None, vectors: Sequence[int] = ()
    ) -> StridedView:
        p = self.p
        if not isinstance(source, StridedView) or source.memory not in self._own:
            source = self._made(p.force(source))
        if without_vectors and not any(p.is_live(self.outputs[i].name) for i in vectors):
            op = without_vectors
        row = ROUTINES[op]
        *stack, n, width = (*source.shape, ONE) if row.dims == 1 else source.shape
        cost = row.cost * max(1, n.high) * (SORTING if row.dims == 1 else max(1, n.high) * max(1, width.high))
        with p.loops(stack) as at:
            first = p.code.address(source.memory.pointer, source.where((*at, *[ZERO] * row.dims)))
            p.code.do("in_place", first, n, width, info=(op, source.dtype, cost, source.memory))
        return source

    def lines(self, matrix: Array, count: int, width: int) -> StridedView:
        *stack, m, n = matrix.shape
        made = self._made(self.p.temporary([*stack, Int(count), Int(width)], matrix.dtype))
        columns = moved(made, [*stack, m, n], lambda at: (*at[:-2], at[-1], at[-2]))
        assert isinstance(columns, StridedView)
        self.p.fill(columns, matrix)
        return made

    # Positions that are values

    def checked(self, indices: Array, n: Int, dim: int, *, from_end: bool = True) -> Array:
        p = self.p
        if not indices.shape:
            indices = Scalar(p.scalar(indices), indices.dtype)
        elif indices.cost:
            indices = p.force(indices)
        check_indices(p, indices, n, dim, from_end=from_end)
        return indices

    def checked_together(self, indices: Sequence[Array], shape: Sequence[Int]) -> Sequence[Array]:
        p = self.p
        kept = [p.force(i) if i.cost else i for i in indices]
        for d, i in enumerate(kept):
            check_indices(p, i, shape[d], d)
            for n, m in zip(kept[0].shape, i.shape):
                require_equal(p, n, m, *index_mismatch(kept))
        return kept

    def lookup(self, indices: Array, at: At, n: Int) -> Int:
        return element_index(self.p, indices, at, n)

    def scatter(
        self, a: Array, value: Array, where: Callable[[Sequence[Any]], Where], indices: Sequence[Array], *,
        accumulates: bool, ordered_by: Sequence[Array] = (),
    ) -> StridedView:  # fmt: skip
        p, name = self.p, self.bsym.args[0].name
        base = own(p, name, a, p.is_live(name))
        found = [p.force(x) if base.memory in x.reads else x for x in (*indices, value)]
        p.keep_what_is_read(base.memory, name)
        place, value = where(found[:-1]), found[-1]
        with p.loops(value.shape) as at:
            position = tuple(map(Int.of, place(at)))
            element = value.element(p, at)
            if accumulates:
                element = p.code.apply("add", [p.load(base, position), element], base.dtype, base.dtype)
            p.store(base, position, element)
        return base

    # Checks

    def refuse(self, wrong: Array, failure: Callable[[], Exception] | None = None) -> None:
        p, code = self.p, self.p.code
        if not wrong.shape:
            p.check(code.negated(p.scalar(wrong)), failure)
            return
        some = p.cell(dtypes.bool8)
        code.set(some, FALSE)
        with p.loops(wrong.shape) as at:
            code.set(some, code.either(code.get(some), wrong.element(p, at)))
        p.check(code.negated(code.get(some)), failure)

    def expect_finite(self, x: Array) -> None:
        """To leave these to eager, all that is written would have to be copied before."""


def _rule_for(p: Program, b: BoundSymbol, lowering: LoopLowering, args: Sequence[Any], kwargs: Any) -> Rule:
    for found in SHARED[b.sym.name]:
        if found.in_loops is not None and found.in_loops(lowering, b, *args, **kwargs):
            return found
    raise Refused(f"{b.sym.name} of these arguments")


def _run(p: Program, b: BoundSymbol) -> None:
    """Lowers a prim by a rule that regions have, too."""
    args = [p.resolve(a) for a in b.args]
    outputs = outputs_of(b)
    lowering = LoopLowering(p, b, outputs)
    kwargs = {k: p.resolve(v) for k, v in b.kwargs.items()}
    made = _rule_for(p, b, lowering, args, kwargs).lower(lowering, outputs[0], *args, **kwargs)
    for output, value in zip(outputs, made if isinstance(made, tuple) else (made,), strict=True):
        p.bind(output, value)


def _view(name: str, p: Program, out: Any, a: Array, *args: Any, **kwargs: Any) -> Array:
    """What a write goes through."""
    (found,) = SHARED[name]
    made: Array = found.lower(LoopLowering(p, None, (out,)), out, a, *args, **kwargs)
    return made


for _name, _rules in SHARED.items():
    if _name not in RULES and any(r.in_loops for r in _rules):
        step(_name)(_run)
for _name in ("transpose", "squeeze", "flip", "diagonal", "as_language"):
    VIEWS[_name] = partial(_view, _name)
