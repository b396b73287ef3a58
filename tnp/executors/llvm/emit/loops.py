"""The loops of nests and groups, and what reductions accumulate in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.emit.body import Body, entry
from tnp.executors.llvm.graph import Indices, Node, Scan
from tnp.executors.llvm.index import Index, Var, linear
from tnp.executors.llvm.schedule import Group, Nest, Statement

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = ["emit_group_alone", "emit_nest"]

#: elements of one innermost loop that a thread goes through at a time, and that one accumulator sums
CHUNK = 4096
#: columns of a reduction over rows that are accumulated at a time
TILE = 2048
#: rows that one accumulator sums in a reduction over rows
ROWS = 128
#: blocks of a reduction that has no loop outside it
BLOCKS = 1024

_SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "amax", "cummin": "amin"}


class Accumulator:
    """A stack slot (or a row of them) that accumulates values of a reduction, half precision in single."""

    def __init__(self, body: Body, node: Node, count: int = 1) -> None:
        self.body = body
        self.node = node
        self.reducer = scalars.reducer(_SCANS.get(node.op, node.op), node.dtype)
        self.dtype = self.reducer.dtype
        self.count = count
        self.pointer = body.allocate(count * max(self.dtype.itemsize, 1))

    def place(self, i: str | None = None) -> str:
        if i is None:
            return self.pointer
        offset = self.body.code.op(f"mul nuw nsw i64 {i}, {self.dtype.itemsize}")
        return self.body.code.op(f"getelementptr inbounds i8, ptr {self.pointer}, i64 {offset}")

    def reset(self, i: str | None = None) -> None:
        scalars.store(self.body.code, self.reducer.identity, self.place(i), self.dtype)

    def add(self, value: Any, i: str | None = None) -> None:
        place = self.place(i)
        before = scalars.load(self.body.code, place, self.dtype)
        scalars.store(self.body.code, self.reducer.combine(self.body.code, before, value), place, self.dtype)

    def add_element(self, at: Indices, i: str | None = None) -> None:
        (source,) = self.node.sources
        value = self.body.value(source, at)
        self.add(scalars.convert(self.body.code, value, source.dtype, self.dtype), i)

    def get(self, i: str | None = None) -> Any:
        return scalars.load(self.body.code, self.place(i), self.dtype)

    def result(self, i: str | None = None) -> Any:
        return scalars.convert(self.body.code, self.get(i), self.dtype, self.node.dtype)


def _runs(module: Module, statements: Sequence[Statement], loops: Sequence[Var]) -> list[list[Var]]:
    """``loops`` in runs that can be one loop each: every memory is gone through evenly, and no value depends on a loop
    variable itself."""
    offsets: list[Index] = []
    for s in statements:
        for access in s.accesses():
            memory = module.memories.get(module.plan.memory_of(access.node))
            if memory is not None:
                offsets.append(linear(access.at, memory.strides))
        offsets += [i for node, at in s.visits if node.op == "iota" for i in (*at, Index(0, dict.fromkeys(loops, 1)))]
        if s.node.op == "iota":
            offsets.append(Index(0, dict.fromkeys(loops, 1)))
    runs: list[list[Var]] = []
    for var in loops:
        if (
            runs
            and all(_is_even(i, runs[-1][-1], var) for i in offsets)
            and _reduced_alike(statements, runs[-1][-1], var)
        ):
            runs[-1].append(var)
        else:
            runs.append([var])
    return runs


def _is_even(offset: Index, outer: Var, inner: Var) -> bool:
    if offset.terms.get(outer, 0) != offset.terms.get(inner, 0) * inner.limit:
        return False
    return offset.is_affine() or not {outer, inner} & offset.variables() - set(offset.terms)


def _reduced_alike(statements: Sequence[Statement], a: Var, b: Var) -> bool:
    return all((a in s.reduced) == (b in s.reduced) for s in statements)


def emit_nest(module: Module, nest: Nest) -> Callable[[Code], None]:
    """The function of a nest with outer loops; its call."""
    body = Body(module, nest)
    first, *others = _runs(module, list(nest.statements()), nest.outer)
    limit = math.prod(v.limit for v in first)
    per_iteration = sum(s.cost() * s.iterations() for s in nest.statements()) / limit
    alone = not others and all(not g.inner(len(nest.outer)) for g in nest.groups)
    name = f"nest{len(module.functions)}"
    if alone:
        count = -(-limit // CHUNK)
        with body.loop("%begin", "%end", maybe_empty=True) as chunk:
            begin, end = _part(body, chunk, CHUNK, limit)
            with body.together(first, begin, end):
                _emit_groups(body, nest)
        body.finish(name)
        return module.call(name, count, per_iteration * min(CHUNK, limit))
    with ExitStack() as loops:
        loops.enter_context(body.together(first, "%begin", "%end", maybe_empty=True))
        for run in others:
            loops.enter_context(body.together(run))
        _emit_groups(body, nest)
    body.finish(name)
    return module.call(name, limit, per_iteration)


def _part(body: Body, i: str, length: int, limit: int) -> tuple[str, str]:
    """Where part ``i`` of a loop begins and ends: ``length`` iterations, of the last one what is left."""
    if limit <= length:
        return "0", str(limit)
    begin = body.code.op(f"mul nuw nsw i64 {i}, {length}")
    end = body.code.op(f"add nuw nsw i64 {begin}, {length}")
    if limit % length:
        body.code.require("@llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        end = body.code.op(f"call i64 @llvm.smin.i64(i64 {end}, i64 {limit})")
    return begin, end


def _emit_groups(body: Body, nest: Nest) -> None:
    for group in nest.groups:
        _emit_group(body, group, len(nest.outer))


def _emit_group(body: Body, group: Group, depth: int) -> None:
    loops = group.inner(depth)
    if isinstance(group.statements[0].node, Scan):
        _emit_scan(body, group.statements[0], loops)
    elif all(s.reduces_last for s in group.statements):
        _emit_inner(body, group, _runs(body.module, group.statements, loops), {})
    else:
        reduced = next(s.reduced for s in group.statements if s.reduced)
        first = next(v for v in loops if v not in reduced)
        inner = math.prod(v.limit for v in loops[loops.index(first) + 1 :] if v not in reduced)
        tile = min(first.limit, max(1, TILE // inner))
        with body.loop("0", str(-(-first.limit // tile))) as t:
            _emit_columns(body, group, loops, first, tile, t)


def _emit_inner(body: Body, group: Group, loops: list[list[Var]], accumulators: dict[Statement, Accumulator]) -> None:
    """Loops of which each reduction runs over the innermost ones: its accumulator is set before the first of those."""
    done: list[Statement] = []
    for statement in group.statements:
        if statement.reduced and statement not in accumulators and (not loops or loops[0][0] in statement.reduced):
            accumulators[statement] = Accumulator(body, statement.node)
            accumulators[statement].reset()
            done.append(statement)
    if not loops:
        for statement in group.statements:
            if statement.reduced:
                accumulators[statement].add_element(statement.at)
            else:
                body.run(statement)
    elif len(loops) == 1 and math.prod(v.limit for v in loops[0]) > CHUNK and accumulators:
        _emit_blocks(body, group, loops[0], accumulators)
    else:
        with body.together(loops[0]):
            _emit_inner(body, group, loops[1:], accumulators)
    for statement in done:
        body.store(statement.node, statement.store.at, accumulators.pop(statement).result())


def _emit_blocks(body: Body, group: Group, run: list[Var], accumulators: dict[Statement, Accumulator]) -> None:
    """A long innermost loop that is reduced: block by block, their results combined pairwise."""
    limit = math.prod(v.limit for v in run)
    count = -(-limit // CHUNK)
    partial = {s: Accumulator(body, s.node, count) for s in accumulators}
    with body.loop("0", str(count)) as block:
        begin, end = _part(body, block, CHUNK, limit)
        own = {s: Accumulator(body, s.node) for s in accumulators}
        for a in own.values():
            a.reset()
        with body.together(run, begin, end):
            for statement in group.statements:
                if statement in own:
                    own[statement].add_element(statement.at)
                else:
                    body.run(statement)
        for s, a in own.items():
            scalars.store(body.code, a.get(), partial[s].place(block), a.dtype)
    for s, a in partial.items():
        _combine_pairwise(body, a, count)
        accumulators[s].add(a.get())


def _combine_pairwise(body: Body, a: Accumulator, count: int) -> None:
    """Combines ``count`` accumulators into the first, neighbours first."""
    code = body.code
    while count > 1:
        half = count // 2
        with body.loop("0", str(half)) as i:
            left = code.op(f"shl nuw nsw i64 {i}, 1")
            right = code.op(f"or disjoint i64 {left}, 1")
            made = a.reducer.combine(code, a.get(left), a.get(right))
            scalars.store(code, made, a.place(i), a.dtype)
        if count % 2:
            scalars.store(code, a.get(str(count - 1)), a.place(str(half)), a.dtype)
        count = half + count % 2


def _emit_columns(body: Body, group: Group, loops: list[Var], first: Var, tile: int, t: str) -> None:
    """A reduction over outer loops, for the tile ``t`` of the columns: a row of accumulators, added to row by row."""
    code = body.code
    members = [s for s in group.statements if s.reduced]
    reduced = members[0].reduced
    kept = [v for v in loops if v not in reduced]
    inner = kept[1:]
    width = tile * math.prod(v.limit for v in inner)
    begin, end = _part(body, t, tile, first.limit)
    totals = {s: Accumulator(body, s.node, width) for s in members}

    def place() -> str:
        column = body.find(first) if begin == "0" else code.op(f"sub nuw nsw i64 {body.find(first)}, {begin}")
        for v in inner:
            column = code.op(f"mul nuw nsw i64 {column}, {v.limit}")
            column = code.op(f"add nuw nsw i64 {column}, {body.find(v)}")
        return column

    @contextmanager
    def columns() -> Iterator[str]:
        with body.over(first, begin, end), body.nested(inner):
            yield place()

    def rows(remaining: list[Var], into: dict[Statement, Accumulator]) -> None:
        if not remaining:
            column = place()
            for s in group.statements:
                if s in into:
                    into[s].add_element(s.at, column)
                else:
                    body.run(s)
        elif remaining[0] is first:
            with body.over(first, begin, end):
                rows(remaining[1:], into)
        else:
            with body.over(remaining[0]):
                rows(remaining[1:], into)

    with columns() as column:
        for a in totals.values():
            a.reset(column)
    outermost = loops[0]
    is_float = any(a.dtype.kind in "fc" for a in totals.values())
    if outermost.limit > 2 * ROWS and is_float:
        partial = {s: Accumulator(body, s.node, width) for s in members}
        with body.loop("0", str(-(-outermost.limit // ROWS))) as block:
            with columns() as column:
                for a in partial.values():
                    a.reset(column)
            low, high = _part(body, block, ROWS, outermost.limit)
            with body.over(outermost, low, high):
                rows(loops[1:], partial)
            with columns() as column:
                for s, a in partial.items():
                    totals[s].add(a.get(column), column)
    else:
        rows(loops, totals)
    with columns() as column:
        for s, a in totals.items():
            body.store(s.node, s.store.at, a.result(column))


def _emit_scan(body: Body, statement: Statement, loops: list[Var]) -> None:
    """A cumulative operation along the first loop: a row of accumulators as long as the other loops, stored as it goes."""
    node = statement.node
    along, *others = loops
    running = Accumulator(body, node, math.prod(v.limit for v in others))

    @contextmanager
    def columns() -> Iterator[str]:
        with body.nested(others):
            column = "0"
            for v in others:
                column = body.code.op(f"mul nuw nsw i64 {column}, {v.limit}")
                column = body.code.op(f"add nuw nsw i64 {column}, {body.find(v)}")
            yield column

    with columns() as column:
        running.reset(column)
    with body.over(along), columns() as column:
        running.add_element(statement.at, column)
        body.store(node, statement.at, running.result(column))


# Groups with no loop outside


def emit_group_alone(module: Module, nest: Nest, group: Group) -> Iterator[Callable[[Code], None]]:
    """The functions of a group that is not inside any loop; their calls."""
    loops = group.inner(0)
    name = f"nest{len(module.functions)}"
    cost = sum(s.cost() * s.iterations() for s in group.statements)
    body = Body(module, nest)
    if not loops or isinstance(group.statements[0].node, Scan):
        _emit_group(body, group, 0)
        body.finish(name)
        yield module.call(name, 1, 0)
    elif all(s.reduces_last for s in group.statements):
        yield from _emit_whole(module, body, group, loops, name, cost)
    else:
        reduced = next(s.reduced for s in group.statements if s.reduced)
        first = next(v for v in loops if v not in reduced)
        inner = math.prod(v.limit for v in loops[loops.index(first) + 1 :] if v not in reduced)
        tile = min(first.limit, max(1, TILE // inner))
        tiles = -(-first.limit // tile)
        with body.loop("%begin", "%end", maybe_empty=True) as t:
            _emit_columns(body, group, loops, first, tile, t)
        body.finish(name)
        yield module.call(name, tiles, cost / tiles)


def _emit_whole(
    module: Module, body: Body, group: Group, loops: list[Var], name: str, cost: float
) -> Iterator[Callable[[Code], None]]:
    """Reductions over all loops: blocks of the first loop, in parallel, whose results a second function combines."""
    first, *others = _runs(module, group.statements, loops)
    limit = math.prod(v.limit for v in first)
    rows = -(-limit // BLOCKS) if others else CHUNK
    count = -(-limit // rows)
    whole = [s for s in group.statements if first[0] in s.reduced]
    slots = {s: module.temporary(count * 16) for s in whole}
    with body.loop("%begin", "%end", maybe_empty=True) as block:
        accumulators = {s: Accumulator(body, s.node) for s in whole}
        for a in accumulators.values():
            a.reset()
        begin, end = _part(body, block, rows, limit)
        with body.together(first, begin, end):
            _emit_inner(body, group, others, dict(accumulators))
        for s, a in accumulators.items():
            scalars.store(body.code, a.get(), _partial(body, slots[s], a, block), a.dtype)
    body.finish(name)
    yield module.call(name, count, cost / count)
    if not whole:
        return
    ending = Body(module, body.nest)
    for s in whole:
        a = Accumulator(ending, s.node, 1)
        a.pointer = ending.head.op(f"load ptr, ptr {entry(ending.head, '%ctx', slots[s])}")
        _combine_pairwise(ending, a, count)
        ending.store(s.node, s.store.at, a.result())
    combine = f"combine{len(module.functions)}"
    ending.finish(combine)
    yield module.call(combine, 1, 0)


def _partial(body: Body, slot: int, a: Accumulator, block: str) -> str:
    base = body.head.op(f"load ptr, ptr {entry(body.head, '%ctx', slot)}")
    offset = body.code.op(f"mul nuw nsw i64 {block}, {a.dtype.itemsize}")
    return body.code.op(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
