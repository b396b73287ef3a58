"""Products of matrices: ``start + a b``, in float32 on processors with vectors of 512 bits.

The right operand is copied to strips of 32 columns, row behind row; a piece of the left one to tiles of 12 rows, column
behind column. So the loop that multiplies reads both from end to end, and has the 24 vectors of a tile's sums in
registers. The inner dimension is cut so that tiles are near, and the sums of each part are added to what is there,
which at first is ``start``: one row for all, zeros or a bias.

How work is cut to fit registers and caches is that of K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", ACM Transactions on Mathematical Software 34 (2008). How often sums are added up depends on the length
of the inner dimension alone: results are the same for any number of threads.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

from tnp.executors.shared.cpu_kernels.code import (
    BOOLS,
    INTS,
    LANES,
    SUMS,
    VECTOR,
    Code,
    Kernel,
    is_available,
    transposed,
)
from tnp.runtime import engine, threads
from tnp.runtime.pooled import pooled

__all__ = ["is_preferred", "multiply", "takes"]

#: a tile of sums
COLUMNS = 2 * LANES
ROWS = SUMS // 2
#: the inner dimension is cut into parts of at most so many elements, of a multiple of ``LANES``
DEPTH = 512
#: tiles one below the other in a piece
FEWEST_TILES, MOST_TILES = 2, 8
#: pieces for a thread
PIECES = 4
#: rows of the right operand that a thread copies at a time, where they are contiguous
SHARE = 64
#: so many rows ahead memory is asked for, where lines are short
AHEAD = 8
#: products of shorter rows, columns or sums are a library's, and of fewer multiplications
LEAST, LEAST_WORK = 48, 1 << 22
#: and those whose right operand has more bytes, which is copied
MOST_COPIED = 1 << 25

#: what a call is told, a word each: memory (``start`` is one row), strides in elements, lengths, how it is cut
FIELDS = (
    "a", "b", "start", "out", "strips", "a.step", "b.step", "out.step", "m", "n", "k", "deep", "depth", "bands", "across",
)  # fmt: skip
_ADDRESSES = 5

_LOAD, _STORE = (f"@llvm.masked.{what}.v{LANES}f32.p0" for what in ("load", "store"))
_DECLARED = f"""
declare {VECTOR} {_LOAD}(ptr, i32, {BOOLS}, {VECTOR})
declare void {_STORE}({VECTOR}, ptr, i32, {BOOLS})
"""


def takes(m: Any, n: Any, k: Any) -> bool:
    """Whether a product ``[m, k] × [k, n]`` is large enough to gain by it."""
    known = all(type(x) is int and x >= LEAST for x in (m, n, k))
    return known and m * n * k >= LEAST_WORK and 4 * n * k <= MOST_COPIED


@functools.cache
def is_preferred() -> bool:
    """Whether it is faster here than torch's library: MKL has its fastest kernels for Intel's processors alone."""
    return is_available() and engine.target().is_zen


def _told(c: Code) -> dict[str, str]:
    return {
        name: c.new(
            f"load {'ptr' if i < _ADDRESSES else 'i64'}, ptr {c.new(f'getelementptr i64, ptr %context, i64 {i}')}"
        )
        for i, name in enumerate(FIELDS)
    }


def _first(c: Code, count: str) -> str:
    """Which lanes are among the first ``count``."""
    few = c.new(f"trunc i64 {c.least(count, str(LANES))} to i32")
    lanes = ", ".join(f"i32 {i}" for i in range(LANES))
    return c.new(f"icmp slt {INTS} <{lanes}>, {c.everywhere('i32', few)}")


def _masked(c: Code, address: str, mask: str) -> str:
    """What is there, 0 in other lanes, whose memory is not touched."""
    return c.new(f"call {VECTOR} {_LOAD}(ptr {address}, i32 4, {BOOLS} {mask}, {VECTOR} zeroinitializer)")


def _copy(
    c: Code, along: bool, lines: tuple[str, str, str, str, int], k: tuple[str, str, str], tiles: tuple[str, str, str]
) -> None:
    """Copies lines of an operand to tiles, side by side, elements from ``k[0]`` up to ``k[1]`` behind each other; zeros for what is not there.

    ``lines`` are where the operand is, its stride, where it ends, the first line, and how many go to a tile; ``k[2]`` is how long they are;
    ``tiles`` where they are, how many, and how far apart. ``along``: elements of a line lie side by side. Vectors are stored whole, so
    that they write up to 16 elements too much behind a tile.
    """
    base, stride, limit, first, width = lines
    begin, end, length = k
    to, count, size = tiles
    steps, all_tiles = (c.new(f"sub i64 {end}, {begin}"), LANES if along else 1), (count, 1)
    # what lies side by side is read one behind the other
    outer, inner = (all_tiles, steps) if along else (steps, all_tiles)
    with c.loop(*outer) as i, c.loop(*inner) as j:
        tile, step = (i, j) if along else (j, i)
        at = c.new(f"add i64 {begin}, {step}")
        line = c.new(f"add i64 {first}, {c.times(tile, width)}")
        target = c.at(to, c.times(tile, size), c.times(step, width))
        for part in range(0, width, LANES):
            which = (c.new(f"add i64 {line}, {part}"), min(LANES, width - part), limit)
            block = (_along if along else _across)(c, base, stride, which, at, length)
            for n, x in enumerate(block):
                c.store(x, c.at(target, str(n * width + part)))


def _along(c: Code, base: str, stride: str, which: tuple[str, int, str], at: str, length: str) -> list[str]:
    """16 vectors of an element each, of lines whose elements lie side by side."""
    first, count, limit = which
    mask = _first(c, c.new(f"sub i64 {length}, {at}"))
    last = c.new(f"sub i64 {limit}, 1")
    places = (c.least(c.new(f"add i64 {first}, {i}"), last) for i in range(count))
    block = [_masked(c, c.at(base, c.times(line, stride), at), mask) for line in places]
    return transposed(c, block + ["poison"] * (LANES - count))


def _across(c: Code, base: str, stride: str, which: tuple[str, int, str], at: str, length: str) -> list[str]:
    """A vector of an element each, of lines that lie side by side."""
    first, count, limit = which
    there = c.least(c.new(f"sub i64 {limit}, {first}"), str(count))
    is_inside = c.new(f"icmp slt i64 {at}, {length}")
    mask = _first(c, c.new(f"select i1 {is_inside}, i64 {there}, i64 0"))
    ahead = c.at(base, c.times(c.new(f"add i64 {at}, {AHEAD}"), stride), first)
    c.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)")
    return [_masked(c, c.at(base, c.times(at, stride), first), mask)]


@functools.cache
def _strips(along: bool) -> Kernel:
    """Copies the right operand to strips; an item is a strip, or where rows are contiguous, some rows of all."""
    c = Code()
    g = _told(c)
    size = c.times(g["deep"], COLUMNS)
    if along:
        first, k = c.times("%item", COLUMNS), ("0", g["deep"], g["k"])
        tiles = (c.at(g["strips"], c.times("%item", size)), "1", size)
    else:
        begin = c.times("%item", SHARE)
        first, k = "0", (begin, c.least(c.new(f"add i64 {begin}, {SHARE}"), g["deep"]), g["k"])
        tiles = (c.at(g["strips"], c.times(begin, COLUMNS)), c.blocks(g["n"], COLUMNS), size)
    _copy(c, along, (g["b"], g["b.step"], g["n"], first, COLUMNS), k, tiles)
    return Kernel("strips", _DECLARED + c.function("strips", "ptr %context, i64 %item"), "strips")


@functools.cache
def _pieces(along: bool) -> Kernel:
    """Computes pieces of the result."""
    c = Code()
    g = _told(c)
    tiles = c.new(f"alloca float, i64 {MOST_TILES * (ROWS * DEPTH + LANES)}, align 64")
    first, height = _share(c, c.new(f"urem i64 %item, {g['bands']}"), g["bands"], c.blocks(g["m"], ROWS))
    left, width = _share(c, c.new(f"udiv i64 %item, {g['bands']}"), g["across"], c.blocks(g["n"], COLUMNS))
    with c.loop(g["deep"], g["depth"]) as at:
        end = c.least(c.new(f"add i64 {at}, {g['depth']}"), g["deep"])
        length = c.new(f"sub i64 {end}, {at}")
        size = c.new(f"add i64 {c.times(length, ROWS)}, {LANES}")
        lines = (g["a"], g["a.step"], g["m"], c.times(first, ROWS), ROWS)
        _copy(c, along, lines, (at, end, g["k"]), (tiles, height, size))
        is_first = c.new(f"icmp eq i64 {at}, 0")
        step = c.new(f"select i1 {is_first}, i64 0, i64 {g['out.step']}")
        with c.loop(width, 1) as s:
            strip = c.new(f"add i64 {left}, {s}")
            column = c.times(strip, COLUMNS)
            columns = c.new(f"sub i64 {g['n']}, {column}")
            right = c.at(g["strips"], c.times(c.times(strip, g["deep"]), COLUMNS), c.times(at, COLUMNS))
            start = c.at(g["start"], column)
            with c.loop(height, 1) as t:
                row = c.times(c.new(f"add i64 {first}, {t}"), ROWS)
                rows = c.new(f"sub i64 {g['m']}, {row}")
                to = c.at(g["out"], c.times(row, g["out.step"]), column)
                source = c.new(f"select i1 {is_first}, ptr {start}, ptr {to}")
                tile = c.at(tiles, c.times(size, t))
                operands = (
                    f"ptr {tile}, ptr {right}, i64 {length}, ptr {source}, i64 {step}, ptr {to}, i64 {g['out.step']}"
                )
                enough = (c.new(f"icmp sge i64 {x}, {n}") for x, n in ((rows, ROWS), (columns, COLUMNS)))
                is_whole = c.new(f"and i1 {', '.join(enough)}")
                with c.when(is_whole):
                    c.do(f"call void @tile({operands})")
                with c.when(c.new(f"xor i1 {is_whole}, true")):
                    c.do(f"call void @edge({operands}, i64 {rows}, i64 {columns})")
    functions = (_tile(), _edge(), c.function("piece", "ptr %context, i64 %item"))
    return Kernel("product", _DECLARED + "\n\n".join(functions), "piece")


def _share(c: Code, i: str, parts: str, count: str) -> tuple[str, str]:
    """Where share ``i`` of ``count`` things in ``parts`` begins, and how many they are."""
    begin, end = (c.new(f"udiv i64 {c.times(x, count)}, {parts}") for x in (i, c.new(f"add i64 {i}, 1")))
    return begin, c.new(f"sub i64 {end}, {begin}")


_OPERANDS = "ptr %tile, ptr %strip, i64 %length, ptr %source, i64 %source.step, ptr %to, i64 %to.step"


def _tile() -> str:
    """The function that adds the products of a tile and a strip to what ``source`` has, and stores the sums at ``to``."""
    c = Code()
    sums = c.products(
        ROWS, COLUMNS // LANES, "%length",
        lambda r, i: c.at("%tile", c.times(i, ROWS), str(r)), lambda i: c.at("%strip", c.times(i, COLUMNS)),
    )  # fmt: skip
    for r, row in enumerate(sums):
        source, to = c.at("%source", c.times("%source.step", r)), c.at("%to", c.times("%to.step", r))
        for i, x in enumerate(row):
            before = c.vector(c.at(source, str(i * LANES)))
            c.store(c.new(f"fadd {VECTOR} {before}, {x}"), c.at(to, str(i * LANES)))
    return c.function("tile", _OPERANDS)


def _edge() -> str:
    """The function that does so for a tile of which only ``rows`` rows or ``columns`` columns are of the result."""
    c = Code()
    edge = c.new(f"alloca float, i64 {ROWS * COLUMNS}, align 64")
    rows = c.least("%rows", str(ROWS))
    parts = [(str(i), _first(c, c.new(f"sub i64 %columns, {i}"))) for i in range(0, COLUMNS, LANES)]
    with c.loop(rows, 1) as r:
        source, to = c.at("%source", c.times(r, "%source.step")), c.at(edge, c.times(r, COLUMNS))
        for i, mask in parts:
            c.store(_masked(c, c.at(source, i), mask), c.at(to, i))
    place = f"ptr {edge}, i64 {COLUMNS}"
    c.do(f"call void @tile(ptr %tile, ptr %strip, i64 %length, {place}, {place})")
    with c.loop(rows, 1) as r:
        source, to = c.at(edge, c.times(r, COLUMNS)), c.at("%to", c.times(r, "%to.step"))
        for i, mask in parts:
            x = c.vector(c.at(source, i))
            c.do(f"call void {_STORE}({VECTOR} {x}, ptr {c.at(to, i)}, i32 4, {BOOLS} {mask})")
    return c.function("edge", f"{_OPERANDS}, i64 %rows, i64 %columns")


def _cut(m: int, n: int, parts: int) -> tuple[int, int]:
    """How many pieces stand one below the other, and side by side, for ``parts`` threads. What is computed does not depend on it."""
    tiles, strips = math.ceil(m / ROWS), math.ceil(n / COLUMNS)
    bands = max(math.ceil(tiles / MOST_TILES), min(PIECES * parts, tiles // FEWEST_TILES))
    bands = min(math.ceil(bands / parts) * parts, tiles)
    return bands, min(math.ceil(PIECES * parts / bands), strips)


def multiply(a: Any, b: Any, start: Any, out: Any) -> bool:
    """Computes ``start + a @ b`` of float32 tensors on the CPU, ``[m, k]`` and ``[k, n]``, into ``out``, whose rows are contiguous;
    ``start`` is a contiguous row. False, and nothing done, if neither the rows nor the columns of an operand are contiguous."""
    (m, k), n = a.shape, b.shape[1]
    if 1 not in a.stride() or 1 not in b.stride():
        return False
    left_along, right_along = a.stride(1) == 1, b.stride(0) == 1
    deep = math.ceil(k / LANES) * LANES
    depth = math.ceil(deep / LANES / math.ceil(deep / DEPTH)) * LANES
    bands, across = _cut(m, n, threads.get_num_threads())
    strips = math.ceil(n / COLUMNS)
    memory = pooled((strips * COLUMNS * deep,), "float32")
    words = [*(t.data_ptr() for t in (a, b, start, out)), memory.ctypes.data]
    words += [a.stride(0 if left_along else 1), b.stride(1 if right_along else 0), out.stride(0)]
    words += [m, n, k, deep, depth, bands, across]
    context = (ctypes.c_uint64 * len(words))(*words)
    _strips(right_along)(context, strips if right_along else math.ceil(deep / SHARE))
    _pieces(left_along)(context, bands * across)
    return True
