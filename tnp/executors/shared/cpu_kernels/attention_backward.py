"""The backward through attention in float32 on processors with vectors of 512 bits.

With ``p`` the weights, ``g`` the cotangent of the result and ``d`` the sums of ``g * out`` over a row's numbers, the
scores' cotangent is ``s = p * (g vᵀ - d) * scale``, and those of queries, keys and values are ``s k``, ``sᵀ q`` and
``pᵀ g``. The weights are computed again, from the logarithms of their sums: five products in all.

They go block by block, :data:`KEYS` keys and, of these, :data:`BLOCK` queries at a time, all in tiles of 24 sums in
registers. A block's keys and values are packed as columns, for tiles of :data:`TILE` queries and :data:`BLOCK` keys of
``q kᵀ`` and ``g vᵀ``. These become ``p`` and ``s``, which stay in the cache with the sums for the block's keys, and the
other three products read them there. Of a causal mask only what is on and below the diagonal is computed: tiles are as
wide as their last row sees, and sums begin or end at it.

One thread, batch 8, 6 heads of 64, length 256, causal: 11.8 ms, torch's kernel 26.1; 4 heads, length 128, without a
mask: 3.7 and 4.5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tnp.executors.shared.cpu_kernels.code import BOOLS, INTS, LANES, VECTOR, Code, Kernel, exp
from tnp.executors.shared.cpu_kernels.heads import arguments, copy, fetch, given, pack, rows_of

__all__ = ["attend_backward"]

#: Rows of a block of queries, keys of a strip: a multiple of the rows of all tiles. Rows of a tile of scores, which is as wide as a strip.
BLOCK, TILE = 48, 8
_VECTORS = BLOCK // LANES
#: keys of a block
KEYS = 192
#: numbers from row to row of the weights: an odd number of cache lines, as rows at a power of two would share few places in the cache
_STEP = KEYS + LANES

_TENSORS = ("q", "k", "v", "out", "g", "dq", "dk", "dv")
_ROWS = ("logarithms",)


def _scores(head: int, vectors: int) -> str:
    """A tile, ``vectors`` wide: the products of rows with a strip of columns."""
    c = Code()
    found = c.products(
        TILE,
        vectors,
        str(head),
        lambda r, d: c.at("%left", d, str(r * head)),
        lambda d: c.at("%strip", c.times(d, BLOCK)),
    )
    for r, row in enumerate(found):
        for i, x in enumerate(row):
            c.store(x, c.at("%to", str(r * _STEP + LANES * i)))
    return c.function(f"scores{vectors}", "ptr %left, ptr %strip, ptr %to")


def _weights() -> str:
    """A row of scores becomes weights, ``exp(p · scale - logarithm)``, and one of products ``g vᵀ`` the scores' cotangents
    ``p * (s - d) * scale``: the first ``seen`` numbers, and zeros behind them, whole vectors until ``stop``."""
    c = Code()
    factor = c.everywhere("float", "%scale")
    logarithm = c.everywhere("float", c.new("fneg float %logarithm"))
    d = c.everywhere("float", "%d")
    seen = c.everywhere("i32", c.new("trunc i64 %seen to i32"))
    lanes = ", ".join(f"i32 {i}" for i in range(LANES))
    with c.loop("%stop", LANES) as j:
        places = c.new(f"add {INTS} {c.everywhere('i32', c.new(f'trunc i64 {j} to i32'))}, <{lanes}>")
        below = c.new(f"icmp slt {INTS} {places}, {seen}")
        at, of_scores = c.at("%p", j), c.at("%s", j)
        e = exp(c, c.fma(c.vector(at), factor, logarithm))
        x = c.new(f"fmul {VECTOR} {e}, {c.new(f'fsub {VECTOR} {c.vector(of_scores)}, {d}')}")
        x = c.new(f"fmul {VECTOR} {x}, {factor}")
        for made, to in ((e, at), (x, of_scores)):
            c.store(c.new(f"select {BOOLS} {below}, {VECTOR} {made}, {VECTOR} zeroinitializer"), to)
    return c.function("weights", "ptr %p, ptr %s, float %logarithm, float %d, float %scale, i64 %seen, i64 %stop")


def _weighted(c: Code, head: int, weight: Callable[[int, str], str], start: str = "0") -> list[list[str]]:
    """The sums, for a tile's rows, of ``rows`` from ``start`` to ``stop`` times the number at ``weight(row of the tile, row)``."""
    return c.products(rows_of(head), head // LANES, "%stop", weight, lambda i: c.at("%rows", c.times(i, head)), start)


def _columns(head: int) -> str:
    """Adds to rows of ``sums`` columns of ``weights`` times ``rows``, from row ``start`` to row ``stop``."""
    c = Code()
    found = _weighted(c, head, lambda r, i: c.at("%weights", c.times(i, _STEP), str(r)), "%start")
    for r, row in enumerate(found):
        for i, x in enumerate(row):
            at = c.at("%sums", str(r * head + LANES * i))
            c.store(c.new(f"fadd {VECTOR} {c.vector(at)}, {x}"), at)
    return c.function(f"columns{head}", "ptr %weights, ptr %rows, i64 %start, i64 %stop, ptr %sums")


def _lines(head: int) -> str:
    """Rows of ``weights`` times ``rows``, up to row ``stop``, into the first ``count`` of rows at ``to``, or added to these."""
    c = Code()
    found = _weighted(c, head, lambda r, j: c.at("%weights", j, str(r * _STEP)))
    for r, row in enumerate(found):
        with c.when(c.new(f"icmp slt i64 {r}, %count")):
            to = c.at("%to", c.times("%step", r))
            for i, x in enumerate(row):
                at = c.at(to, str(LANES * i))
                before = c.new(f"select i1 %first, {VECTOR} zeroinitializer, {VECTOR} {c.vector(at)}")
                c.store(c.new(f"fadd {VECTOR} {before}, {x}"), at)
    parameters = "ptr %weights, ptr %rows, i64 %stop, i64 %count, i1 %first, ptr %to, i64 %step"
    return c.function(f"lines{head}", parameters)


def _packed(head: int) -> str:
    """Keys or values of a block as columns."""
    c = Code()
    pack(c, head, BLOCK, "%source", "%step", "%count", "%to")
    return c.function(f"packed{head}", "ptr %source, i64 %step, i64 %count, ptr %to")


class _Block:
    """Memory for a block of queries: the rows of ``q`` and ``g``, logarithms, and sums of ``g * out``."""

    def __init__(self, c: Code, head: int) -> None:
        self.q, self.g = (c.array(BLOCK * head) for _ in range(2))
        self.logarithms, self.d = (c.array(BLOCK) for _ in range(2))

    def load(self, c: Code, head: int, told: dict[str, str], row: str, count: str) -> None:
        """Copies ``count`` rows, and makes the rest zeros: what is computed of them is read by nobody, and fast."""
        with c.loop(count, 1) as r:
            j = c.new(f"add i64 {row}, {r}")
            q, g, out = (c.at(told[n], c.times(j, told[f"{n}.row"])) for n in ("q", "g", "out"))
            sums = "zeroinitializer"
            for i in range(0, head, LANES):
                x = c.vector(c.at(g, str(i)))
                c.store(c.vector(c.at(q, str(i))), c.at(self.q, c.times(r, head), str(i)))
                c.store(x, c.at(self.g, c.times(r, head), str(i)))
                sums = c.fma(x, c.vector(c.at(out, str(i))), sums)
            d = c.new(f"call reassoc float @llvm.vector.reduce.fadd.v{LANES}f32(float 0.0, {VECTOR} {sums})")
            c.do(f"store float {d}, ptr {c.at(self.d, r)}")
            logarithm = c.new(f"load float, ptr {c.at(told['logarithms'], j)}")
            # Where all scores are minus infinities, weights are 0.
            none = c.new(f"fcmp oeq float {logarithm}, 0xFFF0000000000000")
            logarithm = c.new(f"select i1 {none}, float 0.0, float {logarithm}")
            c.do(f"store float {logarithm}, ptr {c.at(self.logarithms, r)}")
        with c.when(c.new(f"icmp slt i64 {count}, {BLOCK}")), c.loop(str(BLOCK), 1, count) as r:
            for rows in (self.q, self.g):
                for i in range(0, head, LANES):
                    c.store("zeroinitializer", c.at(rows, c.times(r, head), str(i)))
            for numbers in (self.logarithms, self.d):
                c.do(f"store float 0.0, ptr {c.at(numbers, r)}")


def _head(head: int) -> str:
    """The function that computes one head of one batch."""
    c = Code()
    told = given(c, _TENSORS, _ROWS)
    following = given(c, _TENSORS, _ROWS, c.new("add i64 %item, 1"))
    k_columns, v_columns, k, dk, dv = (c.array(KEYS * head) for _ in range(5))
    p, s = (c.array(BLOCK * _STEP) for _ in range(2))
    block = _Block(c, head)
    queries, causal = told["queries"], told["causal"]
    length, asked = c.most(queries, told["keys"]), c.variable("i64", "0")
    with c.loop(told["keys"], KEYS) as key:
        count = c.least(c.new(f"sub i64 {told['keys']}, {key}"), str(KEYS))
        rows = {n: c.at(told[n], c.times(key, told[f"{n}.row"])) for n in ("k", "v", "dk", "dv")}
        for name, columns in (("k", k_columns), ("v", v_columns)):
            c.do(f"call void @packed{head}(ptr {rows[name]}, i64 {told[f'{name}.row']}, i64 {count}, ptr {columns})")
        copy(c, head, rows["k"], told["k.row"], count, k, head)
        with c.loop(str(KEYS * head), LANES) as i:
            for sums in (dk, dv):
                c.store("zeroinitializer", c.at(sums, i))
        start = c.new(f"select i1 {causal}, i64 {key}, i64 0")
        first = c.new(f"icmp eq i64 {key}, 0")
        with c.when(c.new(f"icmp slt i64 {start}, {queries}")), c.loop(queries, BLOCK, start) as row:
            below = c.new(f"sub i64 {row}, {key}")  # which key of the block the first row sees last
            of_block = c.least(c.new(f"sub i64 {queries}, {row}"), str(BLOCK))
            block.load(c, head, told, row, of_block)
            seen = c.least(count, c.new(f"add i64 {below}, {of_block}"))
            seen = c.new(f"select i1 {causal}, i64 {seen}, i64 {count}")
            _block_of_weights(c, head, told, block, of_block, seen, below, k_columns, v_columns, p, s)
            with c.loop(seen, rows_of(head)) as j:
                fetched = c.new(f"load i64, ptr {asked}")
                with c.when(c.new(f"icmp slt i64 {fetched}, {length}")):
                    for r in range(2):
                        fetch(c, head, following, _TENSORS, c.new(f"add i64 {fetched}, {r}"))
                    c.do(f"store i64 {c.new(f'add i64 {fetched}, 2')}, ptr {asked}")
                begin = c.most(c.new(f"sub i64 {j}, {below}"), "0")
                begin = c.new(f"select i1 {causal}, i64 {begin}, i64 0")
                for weights, of_rows, sums in ((p, block.g, dv), (s, block.q, dk)):
                    c.do(
                        f"call void @columns{head}(ptr {c.at(weights, j)}, ptr {of_rows}, i64 {begin}, i64 {of_block}, "
                        f"ptr {c.at(sums, c.times(j, head))})"
                    )
            with c.loop(of_block, rows_of(head)) as r:
                until = c.least(seen, c.new(f"add i64 {c.new(f'add i64 {below}, {rows_of(head)}')}, {r}"))
                until = c.new(f"select i1 {causal}, i64 {until}, i64 {count}")
                left = c.new(f"sub i64 {of_block}, {r}")
                to = c.at(told["dq"], c.times(c.new(f"add i64 {row}, {r}"), told["dq.row"]))
                c.do(
                    f"call void @lines{head}(ptr {c.at(s, c.times(r, _STEP))}, ptr {k}, i64 {until}, i64 {left}, "
                    f"i1 {first}, ptr {to}, i64 {told['dq.row']})"
                )
        for name, sums in (("dk", dk), ("dv", dv)):
            copy(c, head, sums, head, count, rows[name], told[f"{name}.row"])
    return c.function(f"head{head}", "ptr %context, i64 %item")


def _block_of_weights(
    c: Code, head: int, told: dict[str, str], block: _Block, rows: str, keys: str, below: str, k: str, v: str, p: str, s: str
) -> None:  # fmt: skip
    """The weights of a block's ``rows`` queries, and the scores' cotangents, for its first ``keys`` keys."""
    for left, columns, to in ((block.q, k, p), (block.g, v, s)):
        with c.loop(keys, BLOCK) as j:
            strip = c.at(columns, c.times(j, head))
            with c.loop(rows, TILE) as r:
                seen = c.new(f"add i64 {c.new(f'add i64 {below}, {TILE}')}, {r}")
                seen = c.new(f"select i1 {told['causal']}, i64 {c.least(seen, keys)}, i64 {keys}")
                at = c.at(left, c.times(r, head)), strip, c.at(to, c.times(r, _STEP), j)
                for n in c.widths(c.new(f"sub i64 {seen}, {j}"), _VECTORS):
                    c.do(f"call void @scores{n}({', '.join(f'ptr {x}' for x in at)})")
    with c.loop(rows, 1) as r:
        seen = c.new(f"add i64 {c.new(f'add i64 {below}, 1')}, {r}")
        seen = c.new(f"select i1 {told['causal']}, i64 {c.least(seen, keys)}, i64 {keys}")
        # The first row that sees a tile's first key is the first that the tile reads, to its end.
        stop = c.new(f"add i64 {seen}, {rows_of(head) - 1}")
        numbers = [c.new(f"load float, ptr {c.at(x, r)}") for x in (block.logarithms, block.d)]
        c.do(
            f"call void @weights(ptr {c.at(p, c.times(r, _STEP))}, ptr {c.at(s, c.times(r, _STEP))}, float {numbers[0]}, "
            f"float {numbers[1]}, float {told['scale']}, i64 {seen}, i64 {stop})"
        )


@functools.cache
def _kernel(head: int) -> Kernel:
    functions = (_columns, _lines, _packed, _head)
    return Kernel(
        "attend_backward",
        "\n\n".join([*(f(head) for f in functions), _weights(), *(_scores(head, n + 1) for n in range(_VECTORS))]),
        f"head{head}",
    )


def attend_backward(
    g: Any, query: Any, key: Any, value: Any, out: Any, logarithms: Any, dq: Any, dk: Any, dv: Any, is_causal: bool, scale: float
) -> None:  # fmt: skip
    """Computes the cotangents of ``query``, ``key`` and ``value`` into ``dq``, ``dk`` and ``dv`` from that of :func:`attend`'s result ``out``
    and the logarithms of its rows' sums of exponentials, ``[batch, heads, queries]`` in C's order.

    Tensors are as :func:`attend` takes them: ``[batch, heads, length, head]``, float32, with a contiguous last dimension.
    """
    batch, heads, _, head = query.shape
    told = arguments((query, key, value, out, g, dq, dk, dv), (logarithms,), key.shape[2], is_causal, scale)
    _kernel(head)(told, batch * heads)
