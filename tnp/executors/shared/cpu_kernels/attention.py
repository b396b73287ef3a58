"""Attention in float32 on processors with vectors of 512 bits: ``softmax(q kᵀ · scale) v``, a few queries at a time.

A tile is as many rows of queries as leave, with the numbers of one head, 24 sums in registers. Its scores are a product
with the transposed keys, which are packed once a head; then their maxima and exponentials; then a product with the
values, divided by the sums of exponentials in registers. The scores of a tile stay in the cache, and of a causal mask
only tiles below the diagonal are computed, as wide as their last row sees. torch's kernel calls BLAS for blocks of 32
to 256 rows, whose scores go through memory three times.

One thread, batch 8, 6 heads of 64, length 256, causal: 7 ms, torch's kernel 12; 4 heads, length 128, without a mask:
2.1 and 2.5.
"""

from __future__ import annotations

import functools
from typing import Any

from tnp.executors.shared.cpu_kernels.code import BOOLS, INTS, LANES, VECTOR, Code, Kernel, everywhere, exp
from tnp.executors.shared.cpu_kernels.heads import arguments, copy, fetch, given, pack, rows_of

__all__ = ["LONGEST_KEYS", "attend", "takes"]

#: bytes of packed keys and values on a thread's stack
LONGEST_KEYS = 1 << 20

_TENSORS, _ROWS = ("q", "k", "v", "out"), ("maxima", "sums")


def takes(head: int, queries: int, keys: int) -> bool:
    """Whether there is a kernel for heads of so many numbers, and so many queries and keys."""
    if head % LANES or not LANES < head <= 128 or queries < rows_of(head) or keys < 1:
        return False
    return 2 * (keys + head) * head * 4 <= LONGEST_KEYS


def _head(head: int) -> str:
    """The function that computes one head of one batch."""
    vectors, rows = head // LANES, rows_of(head)
    width = LANES * vectors  # keys of a strip
    c = Code()
    told = given(c, _TENSORS, _ROWS)
    following = given(c, _TENSORS, _ROWS, c.new("add i64 %item, 1"))
    padded = c.times(c.blocks(told["keys"], width), width)
    packed = c.new(f"alloca float, i64 {c.times(padded, head)}, align 64")
    scores = c.new(f"alloca float, i64 {c.times(padded, rows)}, align 64")
    pack(c, head, width, told["k"], told["k.row"], told["keys"], packed)
    # Each tile reads all values, and rows that are far apart are on as many pages.
    values = c.new(f"alloca float, i64 {c.times(told['keys'], head)}, align 64")
    copy(c, head, told["v"], told["v.row"], told["keys"], values, head)
    tiles = c.blocks(told["queries"], rows)
    last = c.new(f"sub i64 {told['queries']}, {rows}")
    with c.loop(tiles, 1) as tile:
        row = c.least(c.times(tile, rows), last)  # the last tile begins early
        until = c.least(c.new(f"add i64 {row}, {rows}"), told["keys"])
        until = c.new(f"select i1 {told['causal']}, i64 {until}, i64 {told['keys']}")
        for r in range(rows):
            fetch(c, head, following, _TENSORS, c.new(f"add i64 {row}, {r}"))
        _scores(c, head, row, told, packed, padded, scores, until)
        _softmax(c, rows, row, told, scores, padded, until)
        _values(c, head, values, row, told, padded, scores, until)
    return c.function(f"head{head}", "ptr %context, i64 %item")


def _scores(
    c: Code, head: int, row: str, told: dict[str, str], packed: str, padded: str, scores: str, until: str
) -> None:  # fmt: skip
    """The scores of a tile, for the strips of keys before ``until``."""
    vectors, rows = head // LANES, rows_of(head)
    factor = c.everywhere("float", told["scale"])
    queries = [c.at(told["q"], c.times(c.new(f"add i64 {row}, {r}"), told["q.row"])) for r in range(rows)]
    with c.loop(until, head) as key:
        strip = c.at(packed, c.times(key, head))
        for n in c.widths(c.new(f"sub i64 {until}, {key}"), vectors):
            sums = c.products(
                rows, n, str(head), lambda r, d: c.at(queries[r], d), lambda d: c.at(strip, c.times(d, head))
            )
            for r in range(rows):
                to = c.at(scores, c.times(padded, r), key)
                for i in range(n):
                    c.store(c.new(f"fmul {VECTOR} {sums[r][i]}, {factor}"), c.at(to, str(LANES * i)))


def _softmax(
    c: Code, rows: int, row: str, told: dict[str, str], scores: str, padded: str, until: str
) -> None:  # fmt: skip
    """The exponentials of a tile's scores below each row's maximum, zeros behind the keys that a query sees; the maxima, and the sums of the
    exponentials. Rows go side by side, as each operation waits for the one before it."""
    least = everywhere(float("-inf"))
    lines = [c.at(scores, c.times(padded, r)) for r in range(rows)]
    numbers = []
    for r in range(rows):
        seen = c.least(c.new(f"add i64 {row}, {r + 1}"), told["keys"])
        seen = c.new(f"select i1 {told['causal']}, i64 {seen}, i64 {told['keys']}")
        numbers.append(c.everywhere("i32", c.new(f"trunc i64 {seen} to i32")))
    lanes = ", ".join(f"i32 {i}" for i in range(LANES))

    def chosen(r: int, j: str, where: str) -> tuple[str, str]:
        at = c.at(lines[r], j)
        below = c.new(f"icmp slt {INTS} {where}, {numbers[r]}")
        return at, c.new(f"select {BOOLS} {below}, {VECTOR} {c.vector(at)}, {VECTOR} {least}")

    def places(j: str) -> str:
        return c.new(f"add {INTS} {c.everywhere('i32', c.new(f'trunc i64 {j} to i32'))}, <{lanes}>")

    largest = [c.variable(VECTOR, least) for _ in range(rows)]
    with c.loop(until, LANES) as j:
        where = places(j)
        for r in range(rows):
            _, x = chosen(r, j, where)
            before = c.new(f"load {VECTOR}, ptr {largest[r]}")
            above = c.new(f"fcmp ogt {VECTOR} {x}, {before}")  # NaN is not
            c.do(
                f"store {VECTOR} {c.new(f'select {BOOLS} {above}, {VECTOR} {x}, {VECTOR} {before}')}, ptr {largest[r]}"
            )
    shifts: list[str] = []
    empty: list[str] = []
    for r in range(rows):
        found = c.new(f"load {VECTOR}, ptr {largest[r]}")
        m = c.new(f"call nnan float @llvm.vector.reduce.fmax.v{LANES}f32({VECTOR} {found})")
        c.do(f"store float {m}, ptr {c.at(told['maxima'], row, str(r))}")
        empty.append(c.new(f"fcmp oeq float {m}, 0xFFF0000000000000"))
        shifts.append(c.everywhere("float", c.new(f"select i1 {empty[r]}, float 0.0, float {m}")))
    sums = [c.variable(VECTOR, "zeroinitializer") for _ in range(rows)]
    with c.loop(until, LANES) as j:
        where = places(j)
        for r in range(rows):
            at, x = chosen(r, j, where)
            e = exp(c, c.new(f"fsub {VECTOR} {x}, {shifts[r]}"))
            c.store(e, at)
            before = c.new(f"load {VECTOR}, ptr {sums[r]}")
            c.do(f"store {VECTOR} {c.new(f'fadd {VECTOR} {before}, {e}')}, ptr {sums[r]}")
    # As from torch's kernel, rows of minus infinities come out as zeros, and rows of NaN if they are less than a vector.
    few = c.new(f"icmp slt i64 {told['keys']}, {LANES}")
    for r in range(rows):
        found = c.new(f"load {VECTOR}, ptr {sums[r]}")
        reduced = c.new(f"call reassoc float @llvm.vector.reduce.fadd.v{LANES}f32(float 0.0, {VECTOR} {found})")
        zero = c.new(f"and i1 {few}, {empty[r]}")
        reduced = c.new(f"select i1 {zero}, float 0.0, float {reduced}")
        c.do(f"store float {reduced}, ptr {c.at(told['sums'], row, str(r))}")


def _values(
    c: Code, head: int, v: str, row: str, told: dict[str, str], padded: str, scores: str, until: str
) -> None:  # fmt: skip
    """The results of a tile: values by exponentials, divided by the sums of these."""
    vectors, rows = head // LANES, rows_of(head)
    weights = [c.at(scores, c.times(padded, r)) for r in range(rows)]
    found = c.products(rows, vectors, until, lambda r, j: c.at(weights[r], j), lambda j: c.at(v, c.times(j, head)))
    for r in range(rows):
        total = c.new(f"load float, ptr {c.at(told['sums'], row, str(r))}")
        nothing = c.new(f"fcmp oeq float {total}, 0.0")
        factor = c.everywhere("float", c.new(f"fdiv float 1.0, {total}"))
        to = c.at(told["out"], c.times(c.new(f"add i64 {row}, {r}"), told["out.row"]))
        for i in range(vectors):
            made = c.new(f"fmul {VECTOR} {found[r][i]}, {factor}")
            made = c.new(f"select i1 {nothing}, {VECTOR} zeroinitializer, {VECTOR} {made}")
            c.store(made, c.at(to, str(LANES * i)))


@functools.cache
def _kernel(head: int) -> Kernel:
    return Kernel("attend", _head(head), f"head{head}")


def attend(query: Any, key: Any, value: Any, out: Any, maxima: Any, sums: Any, is_causal: bool, scale: float) -> None:
    """Computes attention of tensors ``[batch, heads, length, head]`` of float32 on the CPU, whose last dimension is contiguous, into ``out``, and
    for each query the largest of its scores and the sum of the exponentials of what they are below it into ``maxima`` and ``sums``,
    ``[batch, heads, queries]`` in C's order.

    :func:`takes` says which lengths it takes. A causal mask begins at the first key.
    """
    batch, heads, _, head = query.shape
    told = arguments((query, key, value, out), (maxima, sums), key.shape[2], is_causal, scale)
    _kernel(head)(told, batch * heads)
