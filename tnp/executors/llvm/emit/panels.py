"""Code generation for matrix products by panels.

The right operand is first packed into strips as wide as a tile, row after row, and the rows of a panel into tiles,
column after column; so the inner loop reads both sequentially. All sums of a tile are in registers; each is accumulated
in the order of the inner dimension.

The blocking for registers and caches follows K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", ACM Transactions on Mathematical Software 34 (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.body import Body, Part, entry
from tnp.executors.llvm.emit.parts import least
from tnp.executors.llvm.index import Var
from tnp.executors.llvm.panels import Panels
from tnp.executors.llvm.statements import Group
from tnp.executors.llvm.tiling import Tiling, tiling

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = ["emit_panels"]


def emit_panels(
    module: Module, nest: Panels, emit_group: Callable[[Body, Group, int], None]
) -> Iterator[Callable[[Code], None]]:
    """The functions of a product and what follows it; their calls. ``emit_group`` writes the loops inside of a row."""
    cut = tiling(nest.product.node.sources[0].shape, nest.product.node.dtype)
    itemsize = int(nest.product.node.dtype.itemsize)
    k = cut.shape[2]
    slot = module.temporary(cut.strips * cut.columns * k * itemsize)
    yield module.call(_copy_right(module, nest, cut, slot), cut.strips, cut.columns * k)
    cost = sum(s.cost() * s.iterations() for s in nest.statements())
    yield module.call(_multiply(module, nest, cut, slot, emit_group), cut.panels, cost / cut.panels)


def _begin(body: Body, i: str, length: int, limit: int) -> str:
    """Where piece ``i`` of that length begins: the last one early if it would not be full."""
    begin = body.code.op(f"mul nuw nsw i64 {i}, {length}")
    return begin if limit % length == 0 else least(body, begin, max(limit - length, 0))


def _place(body: Body, base: str, itemsize: int, *steps: tuple[str, int]) -> str:
    """The address so many elements behind ``base``: a sum of registers times numbers."""
    total = "0"
    for register, factor in steps:
        scaled = body.code.op(f"mul nuw nsw i64 {register}, {factor}")
        total = scaled if total == "0" else body.code.op(f"add nuw nsw i64 {total}, {scaled}")
    offset = body.code.op(f"mul nuw nsw i64 {total}, {itemsize}")
    return body.code.op(f"getelementptr i8, ptr {base}, i64 {offset}")


def _copy_right(module: Module, nest: Panels, cut: Tiling, slot: int) -> str:
    """The function that copies the right operand to strips."""
    body = Body(module, nest)
    product = nest.product
    dtype, itemsize = product.node.dtype, int(product.node.dtype.itemsize)
    right = product.node.sources[0].sources[1]
    _, column, inner = product.loops
    base = body.head.op(f"load ptr, ptr {entry(body.head, '%ctx', slot)}")
    filled = min(cut.columns, cut.shape[1])
    with body.loop("%begin", "%end") as strip:
        first = _begin(body, strip, cut.columns, cut.shape[1])
        with body.over(inner) as row:
            line = _place(body, base, itemsize, (strip, inner.limit * cut.columns), (row, cut.columns))
            with body.over(column, Part(first, "", filled)) as j:
                value = body.value(right, product.at)
                where = _place(body, line, itemsize, (body.code.op(f"sub nuw nsw i64 {j}, {first}"), 1))
                scalars.store(body.code, value, where, dtype, module.access)
            if filled < cut.columns:
                with body.loop(str(filled), str(cut.columns), scalar=True) as j:
                    where = _place(body, line, itemsize, (j, 1))
                    scalars.store(body.code, scalars.constant(0, dtype), where, dtype, module.access)
    return body.finish()


def _multiply(
    module: Module, nest: Panels, cut: Tiling, slot: int, emit_group: Callable[[Body, Group, int], None]
) -> str:
    """The function that makes panels of the product, and what is computed from them."""
    body = Body(module, nest)
    code, product = body.code, nest.product
    node, itemsize = product.node, int(product.node.dtype.itemsize)
    m, n, k = cut.shape
    row, column, _ = product.loops
    strips = body.head.op(f"load ptr, ptr {entry(body.head, '%ctx', slot)}")
    tiles = body.allocate(cut.panel * k * itemsize)
    panel = body.allocate((cut.rows + cut.panel) * cut.width * itemsize)
    with body.loop("%begin", "%end") as p:
        first = code.op(f"mul nuw nsw i64 {p}, {cut.panel}")
        end = least(body, code.op(f"add nuw nsw i64 {first}, {cut.panel}"), m)
        filled = code.op(f"sub nuw nsw i64 {code.op(f'add nuw nsw i64 {end}, {cut.rows - 1}')}, {first}")
        count = code.op(f"udiv i64 {filled}, {cut.rows}")
        # where row 0 would be; a tile that begins early may begin before the panel
        back = code.op(f"mul nsw i64 {code.op(f'sub nsw i64 {cut.rows}, {first}')}, {cut.width * itemsize}")
        origin = code.op(f"getelementptr i8, ptr {panel}, i64 {back}")
        with body.loop("0", count) as t:
            tile = _place(body, tiles, itemsize, (t, cut.rows * k))
            _copy_left(body, nest, cut, _row_of_tile(body, first, t, cut), tile)
        with body.loop("0", str(cut.strips)) as s:
            strip = _place(body, strips, itemsize, (s, cut.columns * k))
            left = _begin(body, s, cut.columns, n)
            with body.loop("0", count) as t:
                tile = _place(body, tiles, itemsize, (t, cut.rows * k))
                to = _place(body, origin, itemsize, (_row_of_tile(body, first, t, cut), cut.width), (left, 1))
                _multiply_tile(body, nest, cut, tile, strip, to)
        memory = module.memories[module.plan.memory_of(node)]
        if node in module.plan.scratch:
            memory.strides = (cut.width * itemsize, itemsize)
            body.pointers[memory] = origin
        else:
            _copy_panel(body, nest, cut, (row, column), (first, end), origin)
        with body.over(row, Part(first, end)):
            for group in nest.groups[1:]:
                emit_group(body, group, 1)
    return body.finish()


def _row_of_tile(body: Body, first: str, t: str, cut: Tiling) -> str:
    """The row in which tile ``t`` of the panel that begins at row ``first`` begins."""
    behind = body.code.op(f"mul nuw nsw i64 {t}, {cut.rows}")
    return least(body, body.code.op(f"add nuw nsw i64 {first}, {behind}"), cut.shape[0] - cut.rows)


def _copy_left(body: Body, nest: Panels, cut: Tiling, begin: str, tile: str) -> None:
    """Copies rows of the left operand to a tile."""
    product, code = nest.product, body.code
    dtype, itemsize = product.node.dtype, int(product.node.dtype.itemsize)
    left = product.node.sources[0].sources[0]
    row, _, inner = product.loops
    with body.loop("0", str(cut.rows), scalar=True) as r:
        body.known[-1][row] = code.op(f"add nuw nsw i64 {begin}, {r}")
        to = _place(body, tile, itemsize, (r, 1))
        with body.loop("0", str(inner.limit), scalar=True) as i:
            body.known[-1][inner] = i
            value = body.value(left, product.at)
            scalars.store(code, value, _place(body, to, itemsize, (i, cut.rows)), dtype, body.module.access)


def _multiply_tile(body: Body, nest: Panels, cut: Tiling, tile: str, strip: str, to: str) -> None:
    """The products of a tile's rows with a strip's columns, in registers until they are all summed."""
    code, dtype = body.code, nest.product.node.dtype
    itemsize = int(dtype.itemsize)
    element = scalars.register_type(dtype)
    vector = f"<{cut.vector} x {element}>"
    suffix = f"v{cut.vector}f{dtype.bits}"
    name = f"@llvm.fmuladd.{suffix}"
    code.require(name, f"declare {vector} {name}({vector}, {vector}, {vector})")
    places = [(r, v) for r in range(cut.rows) for v in range(cut.columns // cut.vector)]
    before = code.current
    head, leave = code.label("loop"), code.label("done")
    code.line(f"br label %{head}")
    code.block(head)
    counter = code.temp("i")
    sums = {place: code.temp("sum") for place in places}
    at = len(code.lines)
    for _ in range(1 + len(places)):
        code.line("")
    row = _place(body, strip, itemsize, (counter, cut.columns))
    rights = []
    for v in range(cut.columns // cut.vector):
        where = code.op(f"getelementptr i8, ptr {row}, i64 {v * cut.vector * itemsize}")
        rights.append(code.op(f"load {vector}, ptr {where}, align {cut.vector * itemsize}"))
    column = _place(body, tile, itemsize, (counter, cut.rows))
    added = {}
    for r in range(cut.rows):
        where = code.op(f"getelementptr i8, ptr {column}, i64 {r * itemsize}")
        value = code.op(f"load {element}, ptr {where}, align {itemsize}")
        one = code.op(f"insertelement {vector} poison, {element} {value}, i64 0")
        spread = code.op(f"shufflevector {vector} {one}, {vector} poison, <{cut.vector} x i32> zeroinitializer")
        for v, right in enumerate(rights):
            added[r, v] = code.op(f"call {vector} {name}({vector} {spread}, {vector} {right}, {vector} {sums[r, v]})")
    following = code.op(f"add nuw nsw i64 {counter}, 1")
    code.lines[at] = f"  {counter} = phi i64 [ 0, %{before} ], [ {following}, %{head} ]"
    for i, place in enumerate(places):
        register = sums[place]
        code.lines[at + 1 + i] = (
            f"  {register} = phi {vector} [ zeroinitializer, %{before} ], [ {added[place]}, %{head} ]"
        )
    more = code.op(f"icmp slt i64 {following}, {cut.shape[2]}")
    code.line(f"br i1 {more}, label %{head}, label %{leave}")
    code.block(leave)
    for r, v in places:
        where = code.op(f"getelementptr i8, ptr {to}, i64 {(r * cut.width + v * cut.vector) * itemsize}")
        code.line(f"store {vector} {added[r, v]}, ptr {where}, align {itemsize}")


def _copy_panel(
    body: Body, nest: Panels, cut: Tiling, loops: tuple[Var, Var], rows: tuple[str, str], origin: str
) -> None:
    """Copies a panel to the product's own memory, where others than what follows here read it."""
    code, node = body.code, nest.product.node
    itemsize = int(node.dtype.itemsize)
    row, column = loops
    with body.over(row, Part(*rows)) as i:
        line = _place(body, origin, itemsize, (i, cut.width))
        with body.over(column) as j:
            where = _place(body, line, itemsize, (j, 1))
            value = scalars.load(code, where, node.dtype, body.module.access)
            body.store(node, nest.product.store.at, value)
