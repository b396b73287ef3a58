"""Attention in float32 on processors with vectors of 512 bits: ``softmax(q kᵀ · scale) v``, a few queries at a time.

A tile is as many rows of queries as leave, with the numbers of one head, 24 sums in registers. Its scores are a product with the transposed
keys, which are packed once a head; then their maxima and exponentials; then a product with the values, divided by the sums of
exponentials in registers. The scores of a tile stay in the cache, and of a causal mask only tiles below the diagonal are computed.
torch's kernel calls BLAS for blocks of 32 to 256 rows, whose scores go through memory three times.

One thread, batch 8, 6 heads of 64, length 256, causal: 7 ms, torch's kernel 12; 4 heads, length 128, without a mask: 2.1 and 2.5.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tnp.executors.llvm import engine, threads

__all__ = ["LONGEST_KEYS", "attend", "is_available", "rows_of", "takes"]

#: numbers in a vector, and sums in registers
LANES, SUMS = 16, 24
#: bytes of packed keys and values on a thread's stack
LONGEST_KEYS = 1 << 20

#: what a call is told, a word each: memory, strides in elements, lengths
FIELDS = (
    "q", "k", "v", "out", "maxima", "sums", "qb", "qh", "qt", "kb", "kh", "kt", "vb", "vh", "vt", "ob", "oh", "ot",
    "heads", "queries", "keys", "causal",
)  # fmt: skip

#: exp(f) for |f| <= log(2) / 2, from the highest power down (Taylor's, the last ones adjusted: 1 ulp); log2(e), and log(2) in two parts
_POLYNOMIAL = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)
_LOG2_E, _LOG_2 = 1.4426950408889634, (0.693359375, -2.12194440e-4)
#: added to a float32 and subtracted, it rounds; its bits; below the last number exp is 0
_ROUND, _ROUND_BITS, _LOWEST = 12582912.0, 0x4B400000, -87.0


def rows_of(head: int) -> int:
    """The rows of a tile of heads of so many numbers."""
    return min(12, SUMS // (head // LANES))


def takes(head: int, queries: int, keys: int) -> bool:
    """Whether there is a kernel for heads of so many numbers, and so many queries and keys."""
    if head % LANES or not LANES < head <= 128 or queries < rows_of(head) or keys < 1:
        return False
    return 2 * (keys + head) * head * 4 <= LONGEST_KEYS


@functools.cache
def is_available() -> bool:
    """Whether this machine has the vectors, and a compiler."""
    try:
        return engine.target().vector_bits >= 512
    except engine.Unavailable:
        return False


class _Code:
    """Lines of a function. Variables are memory on the stack, which LLVM turns into registers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.variables: list[str] = []
        self._count = 0

    def new(self, expression: str) -> str:
        """The name of a new value."""
        self._count += 1
        self.lines.append(f"  %x{self._count} = {expression}")
        return f"%x{self._count}"

    def do(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def variable(self, kind: str, start: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self.variables.append(f"  {name} = alloca {kind}, align 64")
        self.do(f"store {kind} {start}, ptr {name}")
        return name

    @contextmanager
    def loop(self, stop: str, step: int) -> Iterator[str]:
        """``for i in range(0, stop, step)``, of at least one round."""
        at = self.variable("i64", "0")
        self._count += 1
        label = f"loop{self._count}"
        self.do(f"br label %{label}")
        self.lines.append(f"{label}:")
        i = self.new(f"load i64, ptr {at}")
        yield i
        following = self.new(f"add i64 {i}, {step}")
        self.do(f"store i64 {following}, ptr {at}")
        again = self.new(f"icmp slt i64 {following}, {stop}")
        self.do(f"br i1 {again}, label %{label}, label %{label}.end")
        self.lines.append(f"{label}.end:")

    def at(self, base: str, *terms: str) -> str:
        """The address of ``base``'s element at the sum of ``terms``."""
        for term in terms:
            base = self.new(f"getelementptr float, ptr {base}, i64 {term}")
        return base

    def times(self, a: str, b: str | int) -> str:
        return self.new(f"mul i64 {a}, {b}")

    def blocks(self, n: str, size: int) -> str:
        """How many blocks of ``size`` cover ``n``."""
        return self.new(f"udiv i64 {self.new(f'add i64 {n}, {size - 1}')}, {size}")

    def least(self, a: str, b: str) -> str:
        return self.new(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def vector(self, address: str) -> str:
        return self.new(f"load {_V}, ptr {address}, align 4")

    def everywhere(self, kind: str, x: str) -> str:
        """A vector of one number."""
        one = self.new(f"insertelement <{LANES} x {kind}> poison, {kind} {x}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return self.new(f"shufflevector <{LANES} x {kind}> {one}, <{LANES} x {kind}> poison, {zeros}")

    def broadcast(self, address: str) -> str:
        return self.everywhere("float", self.new(f"load float, ptr {address}, align 4"))

    def fma(self, a: str, b: str, c: str) -> str:
        return self.new(f"call {_V} @llvm.fma.v{LANES}f32({_V} {a}, {_V} {b}, {_V} {c})")


_V, _I, _B = f"<{LANES} x float>", f"<{LANES} x i32>", f"<{LANES} x i1>"


def _all(x: float) -> str:
    """A constant vector."""
    bits = ctypes.c_uint64.from_buffer(ctypes.c_double(ctypes.c_float(x).value)).value
    return f"splat (float 0x{bits:016X})"


def _exp(c: _Code, x: str) -> str:
    """exp(x) of numbers that are not above 0; NaN stays NaN."""
    low = c.new(f"fcmp olt {_V} {x}, {_all(_LOWEST)}")
    y = c.new(f"select {_B} {low}, {_V} {_all(_LOWEST)}, {_V} {x}")
    shifted = c.fma(y, _all(_LOG2_E), _all(_ROUND))
    n = c.new(f"fsub {_V} {shifted}, {_all(_ROUND)}")
    f = c.fma(n, _all(-_LOG_2[0]), y)
    f = c.fma(n, _all(-_LOG_2[1]), f)
    p = _all(_POLYNOMIAL[0])
    for coefficient in _POLYNOMIAL[1:]:
        p = c.fma(p, f, _all(coefficient))
    bits = c.new(f"bitcast {_V} {shifted} to {_I}")
    bits = c.new(f"add {_I} {bits}, splat (i32 {127 - _ROUND_BITS})")
    bits = c.new(f"shl {_I} {bits}, splat (i32 23)")
    power = c.new(f"bitcast {_I} {bits} to {_V}")
    found = c.new(f"fmul {_V} {p}, {power}")
    return c.new(f"select {_B} {low}, {_V} zeroinitializer, {_V} {found}")


def _head(head: int) -> str:
    """The function that computes one head of one batch."""
    vectors, rows = head // LANES, rows_of(head)
    width = LANES * vectors  # keys of a strip
    c = _Code()
    given = {
        name: c.new(f"load {'ptr' if i < 6 else 'i64'}, ptr {c.new(f'getelementptr i64, ptr %context, i64 {i}')}")
        for i, name in enumerate(FIELDS)
    }
    scale = c.new(f"load float, ptr {c.new(f'getelementptr i64, ptr %context, i64 {len(FIELDS)}')}")
    batch, number = (c.new(f"{op} i64 %item, {given['heads']}") for op in ("udiv", "urem"))
    q, k, v, out = (
        c.at(given[n], c.times(batch, given[f"{n[0]}b"]), c.times(number, given[f"{n[0]}h"]))
        for n in ("q", "k", "v", "out")
    )
    first_row = c.times("%item", given["queries"])
    padded = c.times(c.blocks(given["keys"], width), width)
    packed = c.new(f"alloca float, i64 {c.times(padded, head)}, align 64")
    scores = c.new(f"alloca float, i64 {c.times(padded, rows)}, align 64")
    _pack(c, head, k, given, packed, padded)
    values = _dense(c, head, v, given)
    tiles = c.blocks(given["queries"], rows)
    last = c.new(f"sub i64 {given['queries']}, {rows}")
    causal = c.new(f"icmp ne i64 {given['causal']}, 0")
    with c.loop(tiles, 1) as tile:
        row = c.least(c.times(tile, rows), last)  # the last tile begins early
        until = c.least(c.new(f"add i64 {row}, {rows}"), given["keys"])
        until = c.new(f"select i1 {causal}, i64 {until}, i64 {given['keys']}")
        _scores(c, head, q, row, given, scale, packed, padded, scores, until)
        _softmax(c, rows, row, first_row, given, causal, scores, padded, until)
        _values(c, head, values, row, given, padded, scores, until, out, c.at(given["sums"], first_row, row))
    lines = [f"define internal void @head{head}(ptr %context, i64 %item) #0 {{", "entry:", *c.variables, *c.lines]
    return "\n".join([*lines, "  ret void", "}"])


def _pack(c: _Code, head: int, k: str, given: dict[str, str], packed: str, padded: str) -> None:
    """Keys in strips, a strip ``[head, width]``; zeros behind the last one."""
    width = head
    last = c.new(f"sub i64 {given['keys']}, 1")
    with c.loop(padded, LANES) as first:
        strip = c.times(c.new(f"udiv i64 {first}, {width}"), width * head)
        to = c.at(packed, strip, c.new(f"urem i64 {first}, {width}"))
        keys = [c.new(f"add i64 {first}, {lane}") for lane in range(LANES)]
        rows = [c.at(k, c.times(c.least(j, last), given["kt"])) for j in keys]
        there = [c.new(f"icmp sle i64 {j}, {last}") for j in keys]
        for i in range(0, head, LANES):
            block = []
            for row, is_key in zip(rows, there):
                x = c.vector(c.at(row, str(i)))
                block.append(c.new(f"select i1 {is_key}, {_V} {x}, {_V} zeroinitializer"))
            for lane, x in enumerate(_transposed(c, block)):
                c.do(f"store {_V} {x}, ptr {c.at(to, str((i + lane) * width))}, align 4")


def _transposed(c: _Code, block: list[str]) -> list[str]:
    """A square of vectors, transposed: halves, quarters, … change places."""
    block = list(block)
    width = LANES // 2
    while width:
        lower = [j if not j & width else LANES + j - width for j in range(LANES)]
        upper = [j + width if not j & width else LANES + j for j in range(LANES)]
        for i in range(LANES):
            if not i & width:
                pair = f"{_V} {block[i]}, {_V} {block[i + width]}"
                block[i], block[i + width] = (
                    c.new(f"shufflevector {pair}, {_I} <{', '.join(f'i32 {n}' for n in order)}>")
                    for order in (lower, upper)
                )
        width //= 2
    return block


def _dense(c: _Code, head: int, v: str, given: dict[str, str]) -> str:
    """The values of a head side by side: each tile reads them all, and rows that are far apart are on as many pages."""
    values = c.new(f"alloca float, i64 {c.times(given['keys'], head)}, align 64")
    with c.loop(given["keys"], 1) as j:
        row, to = c.at(v, c.times(j, given["vt"])), c.at(values, c.times(j, head))
        for i in range(0, head, LANES):
            c.do(f"store {_V} {c.vector(c.at(row, str(i)))}, ptr {c.at(to, str(i))}, align 4")
    return values


def _scores(
    c: _Code, head: int, q: str, row: str, given: dict[str, str], scale: str, packed: str, padded: str, scores: str, until: str
) -> None:  # fmt: skip
    """The scores of a tile, for the strips of keys before ``until``."""
    vectors, rows = head // LANES, rows_of(head)
    factor = c.everywhere("float", scale)
    queries = [c.at(q, c.times(c.new(f"add i64 {row}, {r}"), given["qt"])) for r in range(rows)]
    with c.loop(until, head) as key:
        strip = c.at(packed, c.times(key, head))
        sums = [[c.variable(_V, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        with c.loop(str(head), 1) as d:
            at = c.at(strip, c.times(d, head))
            keys = [c.vector(c.at(at, str(LANES * i))) for i in range(vectors)]
            for r in range(rows):
                x = c.broadcast(c.at(queries[r], d))
                for i in range(vectors):
                    made = c.fma(x, keys[i], c.new(f"load {_V}, ptr {sums[r][i]}"))
                    c.do(f"store {_V} {made}, ptr {sums[r][i]}")
        for r in range(rows):
            to = c.at(scores, c.times(padded, r), key)
            for i in range(vectors):
                made = c.new(f"fmul {_V} {c.new(f'load {_V}, ptr {sums[r][i]}')}, {factor}")
                c.do(f"store {_V} {made}, ptr {c.at(to, str(LANES * i))}, align 4")


def _softmax(
    c: _Code, rows: int, row: str, first_row: str, given: dict[str, str], causal: str, scores: str, padded: str, until: str
) -> None:  # fmt: skip
    """The exponentials of a tile's scores below each row's maximum, zeros behind the keys that a query sees; the maxima, and the sums of the
    exponentials. Rows go side by side, as each operation waits for the one before it."""
    least = _all(float("-inf"))
    lines = [c.at(scores, c.times(padded, r)) for r in range(rows)]
    numbers = []
    for r in range(rows):
        seen = c.least(c.new(f"add i64 {row}, {r + 1}"), given["keys"])
        seen = c.new(f"select i1 {causal}, i64 {seen}, i64 {given['keys']}")
        numbers.append(c.everywhere("i32", c.new(f"trunc i64 {seen} to i32")))
    lanes = ", ".join(f"i32 {i}" for i in range(LANES))

    def chosen(r: int, j: str, where: str) -> tuple[str, str]:
        at = c.at(lines[r], j)
        below = c.new(f"icmp slt {_I} {where}, {numbers[r]}")
        return at, c.new(f"select {_B} {below}, {_V} {c.vector(at)}, {_V} {least}")

    def places(j: str) -> str:
        return c.new(f"add {_I} {c.everywhere('i32', c.new(f'trunc i64 {j} to i32'))}, <{lanes}>")

    largest = [c.variable(_V, least) for _ in range(rows)]
    with c.loop(until, LANES) as j:
        where = places(j)
        for r in range(rows):
            _, x = chosen(r, j, where)
            before = c.new(f"load {_V}, ptr {largest[r]}")
            above = c.new(f"fcmp ogt {_V} {x}, {before}")  # NaN is not
            c.do(f"store {_V} {c.new(f'select {_B} {above}, {_V} {x}, {_V} {before}')}, ptr {largest[r]}")
    shifts: list[str] = []
    empty: list[str] = []
    for r in range(rows):
        found = c.new(f"load {_V}, ptr {largest[r]}")
        m = c.new(f"call nnan float @llvm.vector.reduce.fmax.v{LANES}f32({_V} {found})")
        c.do(f"store float {m}, ptr {c.at(given['maxima'], first_row, row, str(r))}")
        # A row without a largest score, of minus infinities or NaN, comes out as zeros, as from torch's kernel.
        empty.append(c.new(f"fcmp oeq float {m}, 0xFFF0000000000000"))
        shifts.append(c.everywhere("float", c.new(f"select i1 {empty[r]}, float 0.0, float {m}")))
    sums = [c.variable(_V, "zeroinitializer") for _ in range(rows)]
    with c.loop(until, LANES) as j:
        where = places(j)
        for r in range(rows):
            at, x = chosen(r, j, where)
            e = _exp(c, c.new(f"fsub {_V} {x}, {shifts[r]}"))
            c.do(f"store {_V} {e}, ptr {at}, align 4")
            before = c.new(f"load {_V}, ptr {sums[r]}")
            c.do(f"store {_V} {c.new(f'fadd {_V} {before}, {e}')}, ptr {sums[r]}")
    for r in range(rows):
        found = c.new(f"load {_V}, ptr {sums[r]}")
        reduced = c.new(f"call reassoc float @llvm.vector.reduce.fadd.v{LANES}f32(float 0.0, {_V} {found})")
        reduced = c.new(f"select i1 {empty[r]}, float 0.0, float {reduced}")
        c.do(f"store float {reduced}, ptr {c.at(given['sums'], first_row, row, str(r))}")


def _values(
    c: _Code, head: int, v: str, row: str, given: dict[str, str], padded: str, scores: str, until: str, out: str, totals: str
) -> None:  # fmt: skip
    """The results of a tile: values by exponentials, divided by the sums of these."""
    vectors, rows = head // LANES, rows_of(head)
    sums = [[c.variable(_V, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
    weights = [c.at(scores, c.times(padded, r)) for r in range(rows)]
    with c.loop(until, 1) as j:
        at = c.at(v, c.times(j, head))
        values = [c.vector(c.at(at, str(LANES * i))) for i in range(vectors)]
        for r in range(rows):
            x = c.broadcast(c.at(weights[r], j))
            for i in range(vectors):
                made = c.fma(x, values[i], c.new(f"load {_V}, ptr {sums[r][i]}"))
                c.do(f"store {_V} {made}, ptr {sums[r][i]}")
    for r in range(rows):
        total = c.new(f"load float, ptr {c.at(totals, str(r))}")
        nothing = c.new(f"fcmp oeq float {total}, 0.0")
        factor = c.everywhere("float", c.new(f"fdiv float 1.0, {total}"))
        to = c.at(out, c.times(c.new(f"add i64 {row}, {r}"), given["ot"]))
        for i in range(vectors):
            made = c.new(f"fmul {_V} {c.new(f'load {_V}, ptr {sums[r][i]}')}, {factor}")
            made = c.new(f"select i1 {nothing}, {_V} zeroinitializer, {_V} {made}")
            c.do(f"store {_V} {made}, ptr {c.at(to, str(LANES * i))}, align 4")


_DECLARED = f"""
declare void @tnp_parallel(ptr, ptr, i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare {_V} @llvm.fma.v{LANES}f32({_V}, {_V}, {_V})
declare float @llvm.vector.reduce.fmax.v{LANES}f32({_V})
declare float @llvm.vector.reduce.fadd.v{LANES}f32(float, {_V})
"""


def _ir(head: int) -> str:
    return f"""{_DECLARED}
{_head(head)}

define internal void @part(ptr %context, i64 %begin, i64 %end) #0 {{
entry:
  %none = icmp sge i64 %begin, %end
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  call void @head{head}(ptr %context, i64 %i)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %done
done:
  ret void
}}

define void @attend(ptr %context, i64 %count) #0 {{
  call void @tnp_parallel(ptr @part, ptr %context, i64 %count, i64 1)
  ret void
}}

attributes #0 = {{ noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
"""


@functools.cache
def _compiled(head: int) -> tuple[engine.Compiled, Callable[..., None]]:
    threads.ensure_runtime()
    made = engine.compile_ir(_ir(head), f"attention{head}")
    kinds = (ctypes.c_void_p, ctypes.c_int64)
    return made, ctypes.CFUNCTYPE(None, *kinds)(made.address("attend"))


def attend(query: Any, key: Any, value: Any, out: Any, maxima: Any, sums: Any, is_causal: bool, scale: float) -> None:
    """Computes attention of tensors ``[batch, heads, length, head]`` of float32 on the CPU, whose last dimension is contiguous, into ``out``, and
    for each query the largest of its scores and the sum of the exponentials of what they are below it into ``maxima`` and ``sums``,
    ``[batch, heads, queries]`` in C's order.

    :func:`takes` says which lengths it takes. A causal mask begins at the first key.
    """
    batch, heads, queries, head = query.shape
    words = [t.data_ptr() for t in (query, key, value, out, maxima, sums)]
    for t in (query, key, value, out):
        words += t.stride()[:3]
    words += [heads, queries, key.shape[2], int(is_causal)]
    words.append(ctypes.c_uint32.from_buffer(ctypes.c_float(scale)).value)
    context = (ctypes.c_uint64 * len(words))(*words)
    _compiled(head)[1](ctypes.addressof(context), batch * heads)
