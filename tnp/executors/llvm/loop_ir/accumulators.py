"""The accumulators of reductions: places on the stack, of which LLVM makes registers, or a row of them for each of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.index import Index
from tnp.executors.llvm.loop_ir import strips
from tnp.executors.llvm.loop_ir.nodes import Apply, Expression, Reduce

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["POSITIONS_OF", "Accumulator", "accumulator"]

#: reductions whose results are positions
POSITIONS_OF = frozenset(("argmax", "argmin"))


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
        code, parts = self.body.code, []
        for slot, t, kept in zip(self.slots, self.types, self.in_memory):
            part = code.op(f"load {kept}, ptr {self._place(slot, kept, i)}")
            parts.append(part if t == kept else code.op(f"trunc {kept} {part} to {t}"))
        return tuple(parts) if len(parts) > 1 else parts[0]

    def put(self, value: Any, i: str = "0") -> None:
        code, parts = self.body.code, value if isinstance(value, tuple) else (value,)
        for slot, t, kept, part in zip(self.slots, self.types, self.in_memory, parts):
            stored = part if t == kept else code.op(f"zext {t} {part} to {kept}")
            code.line(f"store {kept} {stored}, ptr {self._place(slot, kept, i)}")

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

    def add_element(self, i: str = "0", counts: str | None = None) -> None:
        """Accumulates the value at this point; if it does not ``count``, it has been before."""
        value = self.element()
        if counts is not None and self.s.op not in strips.IDEMPOTENT:
            value = scalars.emit(self.body.code, "where", [counts, value, self.identity], self.dtype)
        self.add(value, i)

    def add(self, value: Any, i: str = "0") -> None:
        """Accumulates what comes after all before."""
        self.put(self.combine(self.body.code, self.get(i), value), i)

    def result(self, i: str = "0") -> Any:
        """What has been accumulated, as the reduction's dtype has it."""
        return scalars.convert(self.body.code, self.get(i), self.dtype, self.s.buffer.dtype)

    def save(self, place: str, i: str = "0") -> None:
        """Stores what has been accumulated at an address."""
        value = self.get(i)
        for k, (t, part) in enumerate(zip(self.types, value if isinstance(value, tuple) else (value,))):
            self.body.code.line(f"store {t} {part}, ptr {self._at(place, k)}, align 8")

    def saved(self, place: str) -> Any:
        """What :meth:`save` stored there."""
        code = self.body.code
        parts = tuple(code.op(f"load {t}, ptr {self._at(place, k)}, align 8") for k, t in enumerate(self.types))
        return parts if len(parts) > 1 else parts[0]

    def _at(self, place: str, k: int) -> str:
        return place if k == 0 else self.body.code.op(f"getelementptr i8, ptr {place}, i64 {8 * k}")


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


def _squared(x: Expression) -> Expression | None:
    """What an expression is the square of, if it is one."""
    if isinstance(x, Apply) and ((x.op == "mul" and x.args[0] is x.args[1]) or x.op == "square"):
        return x.args[0]
    return None
