"""The accumulators of reductions: places on the stack, of which LLVM makes registers, or a row of them for each of some columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.loop_ir.nodes import Apply, Expression, Reduce

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["IDEMPOTENT", "POSITIONS_OF", "Accumulator", "Partials", "accumulator", "may_reorder", "spread"]

#: what the same element may be accumulated in twice
IDEMPOTENT = frozenset(("amax", "amin", "any", "all"))

#: parts of a value at most, and the bytes of one at most
PARTS, PART_BYTES = 2, 8

#: reductions whose results are positions
POSITIONS_OF = frozenset(("argmax", "argmin"))


@dataclass(frozen=True)
class Partials:
    """Memory for the partial results of ``blocks`` blocks, an integer or an extent: an array for each part of a value."""

    key: str
    blocks: Any

    @classmethod
    def make(cls, take: Callable[[Any], str], blocks: Any) -> Partials:
        """New memory of a module, which ``take`` gives the key of: its ``scratch`` or ``keep``."""
        return cls(take(blocks * (PARTS * PART_BYTES)), blocks)

    def places(self, body: Body, block: str, types: Sequence[str]) -> list[str]:
        """The addresses of the parts of a block's partial result."""
        code = body.code
        arrays = [body.pointer_to(self.key)]
        if len(types) > 1:
            arrays.append(code.op(f"getelementptr i8, ptr {arrays[0]}, i64 {body.head.size(self.blocks * PART_BYTES)}"))
        return [code.op(f"getelementptr {t}, ptr {array}, i64 {block}") for t, array in zip(types, arrays)]


class Accumulator:
    """``count`` accumulators of a reduction's values, which start from what is neutral. Half precision is accumulated in single."""

    def __init__(self, body: Body, s: Reduce, count: int = 1, slots: Sequence[str] | None = None) -> None:
        self.body = body
        self.s = s
        self.dtype, self.identity, self.types = self._kind()
        #: in memory a bool is a byte; of one accumulator, a register
        self.in_memory = ["i8" if t == "i1" and count != 1 else t for t in self.types]
        self.slots = (
            list(slots[: len(self.types)])
            if slots is not None
            else [body.head.code.op(f"alloca [{count} x {t}], align 64") for t in self.in_memory]
        )

    def _kind(self) -> tuple[DType, Any, list[str]]:
        """The dtype, what is neutral, and the types of the parts in memory."""
        self.reducer = scalars.reducer(self.s.op, self.s.buffer.dtype)
        dtype = self.reducer.dtype
        parts = len(self.reducer.identity) if isinstance(self.reducer.identity, tuple) else 1
        return dtype, self.reducer.identity, [scalars.register_type(dtype)] * parts

    def _place(self, slot: str, type_: str, i: str) -> str:
        return slot if i == "0" else self.body.code.op(f"getelementptr {type_}, ptr {slot}, i64 {i}")

    def get(self, i: str = "0") -> Any:
        """What has been accumulated."""
        return self._load([self._place(slot, t, i) for slot, t in zip(self.slots, self.in_memory)], self.in_memory)

    def put(self, value: Any, i: str = "0") -> None:
        self._store(value, [self._place(slot, t, i) for slot, t in zip(self.slots, self.in_memory)], self.in_memory)

    def _load(self, places: Sequence[str], in_memory: Sequence[str]) -> Any:
        code, parts = self.body.code, []
        for place, t, kept in zip(places, self.types, in_memory):
            part = code.op(f"load {kept}, ptr {place}")
            parts.append(part if t == kept else code.op(f"trunc {kept} {part} to {t}"))
        return tuple(parts) if len(parts) > 1 else parts[0]

    def _store(self, value: Any, places: Sequence[str], in_memory: Sequence[str]) -> None:
        code, parts = self.body.code, value if isinstance(value, tuple) else (value,)
        for place, t, kept, part in zip(places, self.types, in_memory, parts):
            stored = part if t == kept else code.op(f"zext {t} {part} to {kept}")
            code.line(f"store {kept} {stored}, ptr {place}")

    def reset(self, i: str = "0") -> None:
        self.put(self.identity, i)

    def combine(self, code: Code, a: Any, b: Any) -> Any:
        """Two values as one; ``a`` comes first in the order of elements."""
        return self.reducer.combine(code, a, b)

    def element(self) -> Any:
        """The value at this point of the loops."""
        code, x = self.body.code, self.s.value
        root = _squared(x) if self.s.op == "sum" and x.dtype is self.dtype and self.dtype.kind == "f" else None
        if root is not None:
            return scalars.square_to_add(code, self.body.value(root), self.dtype)
        return scalars.convert(code, self.body.value(x), x.dtype, self.dtype)

    def add_element(self, counts: str | None = None) -> None:
        """Accumulates the value at this point in the loop's lane; if it does not ``count``, it has been before."""
        value = self.element()
        if counts is not None and self.s.op not in IDEMPOTENT:
            value = scalars.emit(self.body.code, "where", [counts, value, self.identity], self.dtype)
        self.add(value, self.body.lane)

    def add(self, value: Any, i: str = "0") -> None:
        """Accumulates what comes after all before."""
        self.put(self.combine(self.body.code, self.get(i), value), i)

    def add_all(self, values: Sequence[Any], i: str = "0") -> None:
        """Accumulates some values in their order: of extremes pairs first, which wait for less than a chain."""
        while len(values) > 1 and self.s.op in IDEMPOTENT:
            pairs = [self.combine(self.body.code, a, b) for a, b in zip(values[::2], values[1::2])]
            values = [*pairs, *values[len(values) & ~1 :]]
        total = self.get(i)
        for value in values:
            total = self.combine(self.body.code, total, value)
        self.put(total, i)

    def result(self, i: str = "0") -> Any:
        """What has been accumulated, as the reduction's dtype has it."""
        return scalars.convert(self.body.code, self.get(i), self.dtype, self.s.buffer.dtype)

    def save(self, partials: Partials, block: str, i: str = "0") -> None:
        """Leaves what has been accumulated as a block's partial result."""
        self._store(self.get(i), partials.places(self.body, block, self.saved_types), self.saved_types)

    def saved(self, partials: Partials, block: str) -> Any:
        """What :meth:`save` left there."""
        return self._load(partials.places(self.body, block, self.saved_types), self.saved_types)

    @property
    def saved_types(self) -> list[str]:
        return ["i8" if t == "i1" else t for t in self.types]


class _ArgAccumulator(Accumulator):
    """Of ``argmax`` and ``argmin``: the best value so far, and its index. The first of equals stays; NaN is best of all."""

    def _kind(self) -> tuple[DType, Any, list[str]]:
        dtype = self.s.value.dtype
        first = scalars.reducer("amax" if self.s.op == "argmax" else "amin", dtype)
        kept = dtypes.float32 if dtype.kind == "f" and dtype.bits == 16 else dtype
        return kept, (first.identity, "0"), [scalars.register_type(kept), "i64"]

    def combine(self, code: Code, a: Any, b: Any) -> Any:
        better = scalars.emit(code, "gt" if self.s.op == "argmax" else "lt", [b[0], a[0]], self.dtype)
        if self.dtype.kind == "f":
            new, old = (scalars.emit(code, "isnan", [x[0]], self.dtype) for x in (b, a))
            better = code.op(f"or i1 {better}, {code.op(f'icmp ugt i1 {new}, {old}')}")
        value = scalars.emit(code, "where", [better, b[0], a[0]], self.dtype)
        return value, code.op(f"select i1 {better}, i64 {b[1]}, i64 {a[1]}")

    def element(self) -> Any:
        (var,) = self.s.over
        return super().element(), self.body.index(Index.of(var))

    def result(self, i: str = "0") -> Any:
        return self.get(i)[1]


def accumulator(body: Body, s: Reduce, count: int = 1, slots: Sequence[str] | None = None) -> Accumulator:
    """``count`` accumulators of a reduction, on the stack or where ``slots`` say, a row for each part of a value."""
    return (_ArgAccumulator if s.op in POSITIONS_OF else Accumulator)(body, s, count, slots)


def may_reorder(s: Reduce) -> bool:
    """Whether values may be combined in another order than they come in."""
    return s.op in IDEMPOTENT or (s.op == "sum" and s.buffer.dtype.kind in "fiu")


@contextmanager
def spread(body: Body, accumulators: Sequence[Accumulator], lanes: int, hint: str) -> Iterator[None]:
    """Replaces each accumulator by ``lanes`` accumulators, which LLVM keeps in vectors, and reduces these to one at the end."""
    own = [accumulator(body, a.s, lanes) for a in accumulators]
    with body.plain_loop("0", str(lanes), hint) as lane:
        for b in own:
            b.reset(lane)
    for a, b in zip(accumulators, own):
        b.put(a.get())  # the first lane goes on from there

    def exchange() -> None:
        for a, b in zip(accumulators, own):
            a.slots, b.slots = b.slots, a.slots
            a.in_memory, b.in_memory = b.in_memory, a.in_memory

    exchange()
    yield
    exchange()
    for a in accumulators:  # -0.0 + x is x: LLVM drops that addition, which would lengthen the chain of dependent ones
        a.put(scalars.constant(-0.0, a.dtype) if a.s.op == "sum" and a.dtype.kind == "f" else a.identity)
    with body.plain_loop("0", str(lanes), hint) as lane:
        for a, b in zip(accumulators, own):
            a.add(b.get(lane))


def _squared(x: Expression) -> Expression | None:
    """What an expression is the square of, if it is one."""
    if isinstance(x, Apply) and ((x.op == "mul" and x.args[0] is x.args[1]) or x.op == "square"):
        return x.args[0]
    return None
