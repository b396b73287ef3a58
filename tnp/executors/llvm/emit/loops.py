"""The loops of nests and groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.emit.accumulators import SLOT_BYTES, Accumulator, combine_pairwise, make_accumulator
from tnp.executors.llvm.emit.body import Body, Part, entry, set_bytes
from tnp.executors.llvm.emit.columns import ROWS, Columns
from tnp.executors.llvm.emit.parts import (
    CHUNK,
    blocks_of,
    goes_backwards,
    innermost,
    part_of,
    parts_of,
    repeats_stores,
    tail_of,
)
from tnp.executors.llvm.emit.prefetch import ask_for_beginning, next_rows
from tnp.executors.llvm.emit.tiles import tiles_of
from tnp.executors.llvm.graph import Scan
from tnp.executors.llvm.index import Index, Var
from tnp.executors.llvm.overlapped_fusion import Sliding
from tnp.executors.llvm.skewed_fusion import Following
from tnp.executors.llvm.statements import Group, Nest, Statement

if TYPE_CHECKING:
    from tnp.executors.llvm.emit.kernel import Module

__all__ = [
    "ROW_BLOCKS",
    "accumulators_in",
    "emit_ending",
    "emit_following",
    "emit_group",
    "emit_group_alone",
    "emit_nest",
    "emit_sliding",
    "emit_stage",
    "runs_of",
]

#: side of the squares in which loops go through memory that lies across, and the bytes of a cache line
SQUARE, LINE_BYTES = 64, 64
#: blocks of rows of such a reduction that has one tile of columns only
ROW_BLOCKS = 64
#: rows that are left by threads which are made by one, which does not wait for the others again
FEW_ROWS = 4
#: blocks of a reduction that has no loop outside it
BLOCKS = 1024
#: iterations that are no loop worth vectorising if they are run once in a call
FEW = 64
#: vectors at a time of the maximum or minimum of floats, whose steps are three instructions that wait for one another, for so many elements
EXTREMES, LEAST_FOR_EXTREMES = 8, 1024


def runs_of(module: Module, statements: Sequence[Statement], loops: Sequence[Var]) -> list[list[Var]]:
    """``loops`` in runs that can be one loop each: every memory is gone through evenly, and no value depends on a loop
    variable itself."""
    offsets = list(module.offsets(statements))
    for s in statements:
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
    return offset.is_affine or not {outer, inner} & offset.variables() - set(offset.terms)


def _reduced_alike(statements: Sequence[Statement], a: Var, b: Var) -> bool:
    return all((a in s.reduced) == (b in s.reduced) for s in statements)


def emit_nest(module: Module, nest: Nest) -> Callable[[Code], None]:
    """The function of a nest with outer loops; its call."""
    body = Body(module, nest)
    first, *others = runs_of(module, list(nest.statements()), nest.outer)
    limit = math.prod(v.limit for v in first)
    per_iteration = sum(s.cost() * s.iterations() for s in nest.statements()) / limit
    alone = not others and all(not g.inner(len(nest.outer)) for g in nest.groups)
    if alone:
        statements = list(nest.statements())
        parts = parts_of(module, statements, limit)
        backwards = goes_backwards(module, first, statements)
        with ExitStack() as loops:
            i = loops.enter_context(body.loop("%begin", "%end")) if parts.count > 1 else "0"
            loops.enter_context(body.together(first, parts.part(body, i), from_last=backwards))
            _emit_groups(body, nest)
        return module.call(body.finish(), parts.count, per_iteration * parts.length)
    runs = [first, *others]
    tiled = _is_tiled(module, nest, runs)
    count = -(-limit // SQUARE) if tiled and len(runs) == 2 else limit
    _emit_loops(body, nest, runs, tiled, part=Part("%begin", "%end"))
    return module.call(body.finish(), count, per_iteration * limit / count)


def _is_tiled(module: Module, nest: Nest, runs: Sequence[list[Var]]) -> bool:
    """Whether the two innermost loops go through squares."""
    if len(runs) < 2 or any(g.inner(len(nest.outer)) for g in nest.groups):
        return False
    return _crosses(module, nest, *runs[-2:])


def _emit_loops(body: Body, nest: Nest, runs: Sequence[list[Var]], tiled: bool, **bounds: Any) -> None:
    """The loops ``runs``, of which ``bounds`` limit the first, and the groups in them."""
    with ExitStack() as loops:
        for k, run in enumerate(runs[:-2] if tiled else runs):
            if k == 0 and bounds:
                loops.enter_context(body.together(run, **bounds))
            elif run is runs[-1] and all(not g.inner(len(nest.outer)) for g in nest.groups):
                loops.enter_context(innermost(body, run, list(nest.statements())))
            else:
                loops.enter_context(body.together(run))
        if tiled:
            _enter_squares(body, loops, *runs[-2:], split=len(runs) == 2 and bool(bounds))
        _emit_groups(body, nest)


def emit_sliding(module: Module, nest: Sliding) -> Callable[[Code], None]:
    """The function of stages that follow each other row by row; its call."""
    body = Body(module, nest)
    (lead,) = nest.outer
    cost = sum(s.cost() * s.iterations() for s in nest.statements())
    *ahead, last = nest.stages
    runs = [runs_of(module, list(s.nest.statements()), s.nest.outer[1:]) for s in nest.stages]
    tiles = tiles_of(module, nest, runs)
    with ExitStack() as loops:
        left = tiles.begin(body, loops.enter_context(body.loop("0", str(tiles.count)))) if tiles else ""
        i = loops.enter_context(body.loop("%begin", "%end"))
        is_first = body.code.op(f"icmp eq i64 {i}, %begin")
        for stage in ahead:
            top = body.code.op(f"add nuw nsw i64 {i}, {stage.high}")
            bottom = body.code.op(f"add nuw nsw i64 {i}, {stage.low}")
            begin = body.code.op(f"select i1 {is_first}, i64 {bottom}, i64 {top}")
            end = body.code.op(f"add nuw nsw i64 {top}, 1")
            with body.over(stage.nest.outer[0], Part(begin, end)):
                emit_stage(body, stage.nest, tiles.part(body, left, stage) if tiles else None)
        body.known[-1][lead] = i
        emit_stage(body, last.nest, tiles.part(body, left, last) if tiles else None)
    return module.call(body.finish(), lead.limit, cost / lead.limit, nest.rows_for_a_thread())


def emit_following(module: Module, nest: Following) -> Iterator[Callable[[Code], None]]:
    """The functions of two nests of which the second follows the first some rows behind; their calls.

    A byte for each row of the second nest says whether it has been made, and a number how many have been.
    """
    leading, behind = nest.parts()
    first, second = _rows(module, leading), _rows(module, behind, maybe_empty=True)
    rows, limit = nest.first.outer[0].limit, nest.second.outer[0].limit
    slot, counter = module.temporary(limit), module.temporary(8)
    cost = sum(s.cost() * s.iterations() for s in nest.statements())

    def clear(code: Code) -> None:
        set_bytes(code, _pointer_in(code, slot), str(limit), 0)
        code.line(f"store i64 0, ptr {_pointer_in(code, counter)}, align 8")

    body = Body(module, nest)
    code, made = body.code, _pointer_in(body.head, slot)
    # rows of the second nest all of whose rows of the first one are this thread's
    low = code.op(f"sub nsw i64 %begin, {nest.low}")
    from_start = code.op("icmp eq i64 %begin, 0")
    low = code.op(f"select i1 {from_start}, i64 0, i64 {extreme(code, 'smax', low, '0')}")
    high = code.op(f"sub nsw i64 %end, {nest.high}")
    to_end = code.op(f"icmp eq i64 %end, {rows}")
    high = code.op(f"select i1 {to_end}, i64 {limit}, i64 {extreme(code, 'smin', high, str(limit))}")
    with body.loop("%begin", "%end") as i:
        following = code.op(f"add nuw nsw i64 {i}, 1")
        code.line(f"call void @{first}(ptr %ctx, i64 {i}, i64 {following})")
        # after the thread's first row, all up to there; after its last one, all that are left
        is_first, is_last = code.op(f"icmp eq i64 {i}, %begin"), code.op(f"icmp eq i64 {following}, %end")
        begin, end = (code.op(f"sub nsw i64 {x}, {nest.high}") for x in (i, following))
        begin = code.op(f"select i1 {is_first}, i64 {low}, i64 {extreme(code, 'smax', begin, low)}")
        end = code.op(f"select i1 {is_last}, i64 {high}, i64 {extreme(code, 'smin', end, high)}")
        code.line(f"call void @{second}(ptr %ctx, i64 {begin}, i64 {end})")
    count = extreme(code, "smax", code.op(f"sub nsw i64 {high}, {low}"), "0")
    set_bytes(code, code.op(f"getelementptr i8, ptr {made}, i64 {low}"), count, 1)
    code.line(f"atomicrmw add ptr {_pointer_in(body.head, counter)}, i64 {count} monotonic")
    together = module.call(body.finish(), rows, cost / rows, nest.rows_for_a_thread())

    body = Body(module, nest)
    code, made = body.code, _pointer_in(body.head, slot)
    with body.loop("%begin", "%end") as j:
        done = code.op(f"load i8, ptr {code.op(f'getelementptr i8, ptr {made}, i64 {j}')}, align 1")
        end = code.op(f"add nuw nsw i64 {j}, 1")
        end = code.op(f"select i1 {code.op(f'icmp eq i8 {done}, 0')}, i64 {end}, i64 {j}")
        code.line(f"call void @{second}(ptr %ctx, i64 {j}, i64 {end})")
    name = body.finish()
    on_all = module.call(name, limit, cost / rows, nest.rows_for_a_thread())

    def rest(code: Code) -> None:
        done = code.op(f"load i64, ptr {_pointer_in(code, counter)}, align 8")
        few = code.op(f"icmp sge i64 {done}, {limit - FEW_ROWS}")
        alone, parallel, onward = code.label("alone"), code.label("parallel"), code.label("onward")
        code.line(f"br i1 {few}, label %{alone}, label %{parallel}")
        code.block(alone)
        code.line(f"call void @{name}(ptr %ctx, i64 0, i64 {limit})")
        code.line(f"br label %{onward}")
        code.block(parallel)
        on_all(code)
        code.line(f"br label %{onward}")
        code.block(onward)

    yield from (clear, together, rest)


def _rows(module: Module, nest: Nest, maybe_empty: bool = False) -> str:
    """The function of a nest over rows of its outermost loop, which may be none."""
    body = Body(module, nest)
    with body.loop("%begin", "%end", maybe_empty=maybe_empty) as i:
        body.known[-1][nest.outer[0]] = i
        emit_stage(body, nest)
    return body.finish()


def _pointer_in(code: Code, slot: int) -> str:
    return code.op(f"load ptr, ptr {entry(code, '%ctx', slot)}")


def emit_stage(body: Body, nest: Nest, part: Part | None = None) -> None:
    """What a nest does in one iteration of its outermost loop, or part of that."""
    runs = runs_of(body.module, list(nest.statements()), nest.outer[1:])
    if part is not None:
        _emit_loops(body, nest, runs, False, part=part)
    else:
        _emit_loops(body, nest, runs, _is_tiled(body.module, nest, runs))


def _crosses(module: Module, nest: Nest, outer: list[Var], inner: list[Var]) -> bool:
    """Whether the inner loop jumps through some memory through which the outer one goes step by step, as in a transpose."""
    if math.prod(v.limit for v in outer) < SQUARE or math.prod(v.limit for v in inner) < SQUARE:
        return False
    for s in nest.statements():
        for access in s.accesses():
            memory = module.memories.get(module.plan.memory_of(access.node))
            terms = memory.offset(access.at).terms if memory is not None else {}
            if abs(terms.get(inner[-1], 0)) >= LINE_BYTES > abs(terms.get(outer[-1], LINE_BYTES)):
                return True
    return False


def _enter_squares(body: Body, loops: ExitStack, outer: list[Var], inner: list[Var], split: bool) -> None:
    """Two loops as loops over squares and inside them: lines of memory are used while they are in the cache."""
    sides = [math.prod(v.limit for v in run) for run in (outer, inner)]
    counts = [str(-(-n // SQUARE)) for n in sides]
    if split:
        row = loops.enter_context(body.loop("%begin", "%end"))
    else:
        row = loops.enter_context(body.loop("0", counts[0]))
    column = loops.enter_context(body.loop("0", counts[1]))
    loops.enter_context(body.together(outer, part_of(body, row, SQUARE, sides[0])))
    loops.enter_context(body.together(inner, part_of(body, column, SQUARE, sides[1])))


def _emit_groups(body: Body, nest: Nest) -> None:
    for group in nest.groups:
        emit_group(body, group, len(nest.outer))


def emit_group(body: Body, group: Group, depth: int) -> None:
    """The loops of a group inside ``depth`` outer ones."""
    loops = group.inner(depth)
    if isinstance(group.statements[0].node, Scan):
        _emit_scan(body, group.statements[0], loops)
    elif all(s.reduces_last for s in group.statements):
        _emit_inner(body, group, runs_of(body.module, group.statements, loops), {})
    else:
        columns = Columns(body, group, loops)
        with body.loop("0", str(columns.tiles)) as t:
            columns.emit(t)


def _emit_inner(body: Body, group: Group, loops: list[list[Var]], accumulators: dict[Statement, Accumulator]) -> None:
    """Loops of which each reduction runs over the innermost ones: its accumulator is set before the first of those."""
    done: list[Statement] = []
    for statement in group.statements:
        if statement.reduced and statement not in accumulators and (not loops or loops[0][0] in statement.reduced):
            accumulators[statement] = make_accumulator(body, statement)
            accumulators[statement].reset()
            done.append(statement)
    if not loops:
        for statement in group.statements:
            if statement.reduced:
                accumulators[statement].add_element()
            else:
                body.run(statement)
    elif len(loops) == 1 and math.prod(v.limit for v in loops[0]) > CHUNK and accumulators:
        _emit_blocks(body, group, loops[0], accumulators)
    elif len(loops) == 1 and accumulators:
        ask_for_beginning(body, next_rows(body, loops[0], group.statements))
        _emit_reduced(body, group, loops[0], accumulators, "0", math.prod(v.limit for v in loops[0]))
    else:
        with innermost(body, loops[0], group.statements) if len(loops) == 1 else body.together(loops[0]):
            _emit_inner(body, group, loops[1:], accumulators)
    for statement in done:
        body.store(statement.node, statement.store.at, accumulators.pop(statement).result())


def _emit_blocks(body: Body, group: Group, run: list[Var], accumulators: dict[Statement, Accumulator]) -> None:
    """A long innermost loop that is reduced: block by block, their results combined pairwise."""
    limit = math.prod(v.limit for v in run)
    length, blocks, rest = blocks_of(group.statements, limit)
    count = blocks + bool(rest)
    partial = {s: make_accumulator(body, s, count) for s in accumulators}

    def emit_block(block: str, begin: str, iterations: int) -> None:
        own = _accumulators(body, list(accumulators))
        _emit_reduced(body, group, run, own, begin, iterations)
        for s, a in own.items():
            partial[s].put(a.get(), block)

    with body.loop("0", str(blocks)) as block:
        emit_block(block, body.code.op(f"mul nuw nsw i64 {block}, {length}"), length)
    if rest:
        emit_block(str(blocks), str(blocks * length), rest)
    combine_pairwise(list(partial.values()), count)
    for s, a in partial.items():
        accumulators[s].add(a.get())


def _emit_reduced(
    body: Body, group: Group, run: list[Var], accumulators: dict[Statement, Accumulator], begin: str, limit: int, *,
    once: bool = False,
) -> None:  # fmt: skip
    """So many iterations of an innermost loop that is reduced, from ``begin`` on. What is run ``once`` in a call and fills few vectors is
    not worth the time to vectorise it."""

    def add(into: dict[Statement, Accumulator], counts: str | None = None) -> None:
        for statement in group.statements:
            if statement in into:
                into[statement].add_element(counts=counts)
            else:
                body.run(statement)

    tail = None if body.module.is_plain else tail_of(group.statements, limit)
    vectors = _vectors(accumulators, limit)
    if tail is None or not _takes_tail(body.module, group, accumulators):
        with body.together(run, Part(begin, "", limit, vectors), scalar=once and tail is None and limit < FEW):
            add(accumulators)
        return
    with body.together(run, Part(begin, "", tail.whole, vectors)):
        add(accumulators)
    rests = _accumulators(body, list(accumulators))
    code = body.code
    start = limit - tail.length
    first = str(start) if begin == "0" else code.op(f"add nuw nsw i64 {begin}, {start}")
    with body.together(run, Part(first, "", tail.length, tail.vectors)) as i:
        counts = None
        if tail.first:
            counts = code.op(f"icmp uge i64 {code.op(f'sub nuw nsw i64 {i}, {first}')}, {tail.first}")
        add(rests, counts)
    for s, a in rests.items():
        accumulators[s].add(a.get())


def _vectors(accumulators: Mapping[Statement, Accumulator], limit: int) -> int | None:
    """How many vectors at a time a reduction of ``limit`` elements accumulates, if LLVM is to be told."""
    (first, *others) = accumulators.values()
    is_extreme = first.node.op in ("amax", "amin") and first.dtype.kind == "f" and first.dtype.bits >= 32
    return EXTREMES if is_extreme and not others and limit >= LEAST_FOR_EXTREMES else None


def _takes_tail(module: Module, group: Group, accumulators: Mapping[Statement, Accumulator]) -> bool:
    """Whether some of a loop's iterations may be run twice, without counting."""
    return all(a.takes_tail for a in accumulators.values()) and repeats_stores(module, group.statements)


def _emit_scan(body: Body, statement: Statement, loops: list[Var]) -> None:
    """A cumulative operation: a row of accumulators as long as the loops inside the one along it, stored as it goes."""
    if loops[0] not in statement.reduced:
        with body.over(loops[0]):
            _emit_scan(body, statement, loops[1:])
        return
    node = statement.node
    along, *others = loops
    running = make_accumulator(body, statement, math.prod(v.limit for v in others))

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
        running.add_element(column)
        body.store(node, statement.at, running.result(column))


# Groups with no loop outside


def emit_group_alone(module: Module, nest: Nest, group: Group) -> Iterator[Callable[[Code], None]]:
    """The functions of a group that is not inside any loop; their calls."""
    loops = group.inner(0)
    cost = sum(s.cost() * s.iterations() for s in group.statements)
    body = Body(module, nest)
    first = group.statements[0]
    if not loops or isinstance(first.node, Scan) or first.ordered:
        emit_group(body, group, 0)
        yield module.call(body.finish(), 1, 0)
    elif all(s.reduces_last for s in group.statements):
        yield from _emit_whole(module, body, group, loops, cost)
    else:
        yield from _emit_columns_alone(module, Columns(body, group, loops), cost)


def _emit_columns_alone(module: Module, columns: Columns, cost: float) -> Iterator[Callable[[Code], None]]:
    """Reductions over outer loops: tiles of columns in parallel, or blocks of rows where there is one tile only."""
    body, limit = columns.body, columns.loops[0].limit
    rows = max(ROWS, -(-limit // ROW_BLOCKS))
    blocks = -(-limit // rows)
    if columns.tiles > 1 or blocks == 1 or columns.loops[0] is columns.first:
        with body.loop("%begin", "%end") as t:
            columns.emit(t)
        yield module.call(body.finish(), columns.tiles, cost / columns.tiles)
        return
    slots = {s: module.temporary(blocks * columns.width * SLOT_BYTES) for s in columns.members}
    with body.loop("%begin", "%end") as block:
        first = body.code.op(f"mul nuw nsw i64 {block}, {columns.width}")
        own = {s: accumulators_in(body, s, slots[s], first) for s in columns.members}
        columns.reset(own)
        columns.add_rows(own, part_of(body, block, rows, limit))
    yield module.call(body.finish(), blocks, cost / blocks)
    yield emit_ending(columns, slots, blocks)


def emit_ending(columns: Columns, slots: Mapping[Statement, int], blocks: int) -> Callable[[Code], None]:
    """The function that combines the sums of blocks of rows; its call."""
    module = columns.body.module
    ending = Body(module, columns.body.nest)
    last = Columns(ending, columns.group, columns.loops, columns.tile)
    totals = {s: accumulators_in(ending, s, slots[s], "0") for s in columns.members}
    combine_pairwise(list(totals.values()), blocks, columns.width, columns.vectors(columns.width))
    last.store(totals)
    return module.call(ending.finish(), 1, 0)


def _emit_whole(
    module: Module, body: Body, group: Group, loops: list[Var], cost: float
) -> Iterator[Callable[[Code], None]]:
    """Reductions over all loops: blocks of the first loop, in parallel, whose results a second function combines."""
    first, *others = runs_of(module, group.statements, loops)
    limit = math.prod(v.limit for v in first)
    if others:
        length, rest = -(-limit // BLOCKS), 0
        count = -(-limit // length)
    else:
        length, count, rest = blocks_of(group.statements, limit)
    whole = [s for s in group.statements if first[0] in s.reduced]
    slots = {s: module.temporary(count * SLOT_BYTES) for s in whole}
    with ExitStack() as loop:
        block = loop.enter_context(body.loop("%begin", "%end")) if count > 1 else "0"
        own = _accumulators(body, whole)
        if others:
            with body.together(first, part_of(body, block, length, limit)):
                _emit_inner(body, group, others, dict(own))
        else:
            begin = body.code.op(f"mul nuw nsw i64 {block}, {length}") if count > 1 else "0"
            _emit_reduced(body, group, first, own, begin, length)
        for s, a in own.items():
            accumulators_in(body, s, slots[s], "0").put(a.get(), block)
    yield module.call(body.finish(), count, cost / count)
    ending = Body(module, body.nest)
    totals = {s: accumulators_in(ending, s, slots[s], "0") for s in whole}
    combine_pairwise(list(totals.values()), count)
    if rest:
        last = _accumulators(ending, whole)
        _emit_reduced(ending, group, first, last, str(limit - rest), rest, once=True)
        for s, a in last.items():
            totals[s].add(a.get())
    for s, total in totals.items():
        ending.store(s.node, s.store.at, total.result())
    yield module.call(ending.finish(), 1, 0)


def _accumulators(body: Body, statements: Sequence[Statement]) -> dict[Statement, Accumulator]:
    """An accumulator for each statement, before anything is added."""
    found = {s: make_accumulator(body, s) for s in statements}
    for a in found.values():
        a.reset()
    return found


def accumulators_in(body: Body, statement: Statement, slot: int, first: str) -> Accumulator:
    """Accumulators in memory of the call, from number ``first`` on."""
    base = body.head.op(f"load ptr, ptr {entry(body.head, '%ctx', slot)}")
    whole = make_accumulator(body, statement, pointer=base)
    return whole if first == "0" else make_accumulator(body, statement, pointer=whole.part(first))
