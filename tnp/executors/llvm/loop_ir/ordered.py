"""The code of statements whose loops run in order: scans, scatters, routines, and the positions at which a mask is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tnp.core.dtypes import DType
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm import routines, scalars
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.loop_ir.nodes import InPlace, Positions, Scan, Scatter

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Body

__all__ = ["in_place", "positions", "scan", "scan_rows", "scatter"]


def _in_order(s: Scan) -> tuple[DType, Callable[[Code, Any, Any], Any]]:
    """The dtype of partial results, and how one continues another, rounded as written."""
    dtype, row = s.buffer.dtype, _ROWS[s.op]
    if s.op in ("amax", "amin") and dtype.kind == "f" and dtype.bits >= 32:
        return dtype, partial(
            _extreme, type_=scalars.register_type(dtype), condition="oge" if s.op == "amax" else "ole"
        )
    reducer = scalars.reducer(s.op, dtype)
    if row.neutral is None and reducer.dtype is dtype:
        return dtype, reducer.combine
    return dtype, lambda code, a, b: scalars.emit(code, row.combines, [a, b], dtype)


def _extreme(code: Code, a: Any, b: Any, *, type_: str, condition: str) -> Any:
    """The larger, or smaller, of two floats; of zeros the last, and of NaN the first that there is. One step waits for the comparison with
    the last one alone."""
    better = code.op(f"select i1 {code.op(f'fcmp {condition} {type_} {b}, {a}')}, {type_} {b}, {type_} {a}")
    return code.op(f"select i1 {code.op(f'fcmp uno {type_} {b}, {b}')}, {type_} {b}, {type_} {better}")


_ROWS = {row.name: row for row in REDUCTIONS}


def scan(body: Body, s: Scan) -> None:
    """A scan along the innermost loop: the running result is in a register."""
    dtype, combine = _in_order(s)
    type_ = scalars.register_type(dtype)
    reducer = scalars.reducer(s.op, dtype)
    first = (
        reducer.identity
        if reducer.dtype is dtype
        else scalars.constant(-math.inf if s.op == "amax" else math.inf, dtype)
    )
    if s.op == "sum" and dtype.kind in "fc":  # the first result is the first element, be it -0.0
        first = scalars.constant(-0.0 if dtype.kind == "f" else complex(-0.0, -0.0), dtype)
    parts = first if isinstance(first, tuple) else (first,)
    slots = [body.head.code.op(f"alloca {type_}, align 16") for _ in parts]
    for slot, part in zip(slots, parts):
        body.code.line(f"store {type_} {part}, ptr {slot}, align 16")
    with body.loop(s.along, "0", body.head.size(s.along.limit)):
        before = tuple(body.code.op(f"load {type_}, ptr {slot}, align 16") for slot in slots)
        value = combine(body.code, before if len(before) > 1 else before[0], body.value(s.value))
        for slot, part in zip(slots, value if isinstance(value, tuple) else (value,)):
            body.code.line(f"store {type_} {part}, ptr {slot}, align 16")
        body.store(s.buffer, s.at, value)


def scatter(body: Body, s: Scatter) -> None:
    """A store to a place that an iteration before may have written."""
    value = body.value(s.value)
    if s.adds:
        value = scalars.emit(body.code, "add", [body.load(s.buffer, s.at), value], s.buffer.dtype)
    body.store(s.buffer, s.at, value)


def in_place(body: Body, s: InPlace) -> None:
    """A row or a matrix is written, and a routine called for it."""
    code = body.code
    n, width = [*(body.head.size(v.limit) for v in s.inner), "1"][:2]
    with body.nested([(v, v.limit) for v in s.inner]):
        body.store(s.buffer, s.at, body.value(s.value))
    first = body.address(s.buffer, (*s.at[: -len(s.inner)], *[Index()] * len(s.inner)))
    code.line(f"call void {routines.routine(code, s.op, s.buffer.dtype)}(ptr {first}, i64 {n}, i64 {width})")


def positions(body: Body, s: Positions) -> None:
    """Each position is written, and the next one over it if it does not count. The mask was counted before: should another thread have
    changed it since, places stay within the buffer, and the last ones are 0."""
    code = body.code
    count = body.head.code.op("alloca i64, align 8")
    code.line(f"store i64 0, ptr {count}, align 8")
    start, most = body.address(s.buffer, s.at), body.head.size(s.buffer.shape[0])

    def put(position: str, at: str) -> None:
        place = code.op(f"getelementptr i64, ptr {start}, i64 {at}")
        scalars.store(code, position, place, s.buffer.dtype, body.alias(s.buffer))

    with body.loop(s.along, "0", body.head.size(s.along.limit)):
        found = extreme(code, "smin", code.op(f"load i64, ptr {count}, align 8"), most)
        put(body.index(Index.of(s.along)), found)
        counts = code.op(f"zext i1 {body.value(s.value)} to i64")
        code.line(f"store i64 {code.op(f'add nuw nsw i64 {found}, {counts}')}, ptr {count}, align 8")
    found = extreme(code, "smin", code.op(f"load i64, ptr {count}, align 8"), most)
    with body.plain_loop(found, code.op(f"add nuw nsw i64 {most}, 1"), "scalar") as missing:
        put("0", missing)


def scan_rows(body: Body, s: Scan, inner: Sequence[Var], split: Sequence[Var]) -> None:
    """A scan along a loop around others: each row continues the one before it."""
    _, combine = _in_order(s)
    before = tuple(i - 1 if i == Index.of(s.along) else i for i in s.at)
    body.values.append({s.along: "0"})
    with body.split(inner, split):
        body.store(s.buffer, s.at, body.value(s.value))
    body.values.pop()
    rows = body.head.size(s.along.limit)

    def others() -> None:
        with body.loop(s.along, "1", rows), body.split(inner, split):
            value = body.value(s.value)
            body.store(s.buffer, s.at, combine(body.code, body.load(s.buffer, before), value))

    if not rows.isdigit():  # there may be one row, of as many elements as a mask selects
        body.when(body.code.op(f"icmp sgt i64 {rows}, 1"), others)
    elif int(rows) > 1:
        others()
