"""Shared code of the attention kernels: the arguments of a call, the shapes of tiles, packed rows."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

from tnp.executors.shared.cpu_kernels.code import LANES, SUMS, VECTOR, Code, transposed

__all__ = ["arguments", "copy", "fetch", "given", "pack", "rows_of"]

_STRIDES = ("batch", "head", "row")
_NUMBERS = ("heads", "queries", "keys", "causal")


def rows_of(head: int) -> int:
    """The rows of a tile of heads of so many numbers: with these, 24 sums at most."""
    return min(12, SUMS // (head // LANES))


def arguments(tensors: Iterable[Any], rows: Iterable[Any], keys: int, is_causal: bool, scale: float) -> Any:
    """What a kernel is told, a word each: where ``tensors`` ``[batch, heads, length, head]``, queries first, and ``rows``
    ``[batch, heads, queries]`` lie, strides in elements, lengths, and the scale's bits."""
    tensors = list(tensors)
    words = [t.data_ptr() for t in (*tensors, *rows)]
    for t in tensors:
        words += t.stride()[:3]
    words += [tensors[0].shape[1], tensors[0].shape[2], keys, int(is_causal)]
    words.append(ctypes.c_uint32.from_buffer(ctypes.c_float(scale)).value)
    return (ctypes.c_uint64 * len(words))(*words)


def given(c: Code, tensors: Iterable[str], rows: Iterable[str], item: str = "%item") -> dict[str, str]:
    """The values of :func:`arguments` by name, in a function of ``context`` and ``item``: where the item's part of each tensor begins,
    ``q.row``, the step from row to row of the tensor ``q``, and so on, and ``causal``, an ``i1``."""
    tensors, rows = list(tensors), list(rows)
    names = [*tensors, *rows, *(f"{t}.{s}" for t in tensors for s in _STRIDES), *_NUMBERS, "scale"]
    kinds = {**dict.fromkeys((*tensors, *rows), "ptr"), "scale": "float"}
    found = {
        name: c.new(f"load {kinds.get(name, 'i64')}, ptr {c.new(f'getelementptr i64, ptr %context, i64 {i}')}")
        for i, name in enumerate(names)
    }
    batch, number = (c.new(f"{op} i64 {item}, {found['heads']}") for op in ("udiv", "urem"))
    for t in tensors:
        found[t] = c.at(found[t], c.times(batch, found[f"{t}.batch"]), c.times(number, found[f"{t}.head"]))
    first = c.times(item, found["queries"])
    for name in rows:
        found[name] = c.at(found[name], first)
    found["causal"] = c.new(f"icmp ne i64 {found['causal']}, 0")
    return found


def pack(c: Code, head: int, width: int, source: str, step: str, count: str, to: str) -> None:
    """``count`` rows of ``head`` numbers, ``step`` apart, as columns: in strips ``[head, width]``, with zeros behind the last one."""
    last = c.new(f"sub i64 {count}, 1")
    with c.loop(c.times(c.blocks(count, width), width), LANES) as first:
        strip = c.times(c.new(f"udiv i64 {first}, {width}"), width * head)
        at = c.at(to, strip, c.new(f"urem i64 {first}, {width}"))
        places = [c.new(f"add i64 {first}, {lane}") for lane in range(LANES)]
        rows = [c.at(source, c.times(c.least(j, last), step)) for j in places]
        there = [c.new(f"icmp sle i64 {j}, {last}") for j in places]
        with c.loop(str(head), LANES) as i:
            block = []
            for row, is_row in zip(rows, there):
                block.append(c.new(f"select i1 {is_row}, {VECTOR} {c.vector(c.at(row, i))}, {VECTOR} zeroinitializer"))
            column = c.at(at, c.times(i, width))
            for lane, x in enumerate(transposed(c, block)):
                c.store(x, c.at(column, str(lane * width)))


def copy(c: Code, head: int, source: str, step: str | int, count: str, to: str, to_step: str | int) -> None:
    """``count`` rows of ``head`` numbers."""
    with c.loop(count, 1) as j:
        row, at = c.at(source, c.times(j, step)), c.at(to, c.times(j, to_step))
        for i in range(0, head, LANES):
            c.store(c.vector(c.at(row, str(i))), c.at(at, str(i)))


def fetch(c: Code, head: int, told: dict[str, str], tensors: Iterable[str], row: str) -> None:
    """Prefetches a row of an item of each tensor, while others are computed."""
    for name in tensors:
        at = c.at(told[name], c.times(row, told[f"{name}.row"]))
        for i in range(0, head, LANES):
            c.do(f"call void @llvm.prefetch.p0(ptr {c.at(at, str(i))}, i32 0, i32 2, i32 1)")
