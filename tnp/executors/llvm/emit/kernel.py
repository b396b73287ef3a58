"""From loop nests to LLVM IR: a region's kernel.

A nest becomes one function of a context (an array of pointers to all memory) and a range of its outermost loop, which
``tnp_parallel`` splits among threads. A reduction without a loop outside it is split into blocks, whose results are
combined pairwise. Ranges and blocks have fixed lengths, so the number of threads changes no bit of a result.

Each memory has an alias scope of its own. The guards checked that memories do not overlap; the scopes tell the
vectoriser. Accumulators are stack slots, which LLVM promotes to registers.

:mod:`body` emits the code at one point of the loops, :mod:`loops` the loops around it, and this module the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import Code, told_apart
from tnp.executors.llvm.emit.body import STACK_BYTES, entry
from tnp.executors.llvm.emit.loops import emit_following, emit_group, emit_group_alone, emit_nest, emit_sliding, runs_of
from tnp.executors.llvm.emit.panels import emit_panels
from tnp.executors.llvm.emit.sweeps import emit_sweep
from tnp.executors.llvm.emit.variance import emit_moments
from tnp.executors.llvm.graph import Graph, Indices, Node
from tnp.executors.llvm.index import Index, linear
from tnp.executors.llvm.one_pass_variance import Centered, Moments
from tnp.executors.llvm.overlapped_fusion import Sliding, Window
from tnp.executors.llvm.panels import Panels
from tnp.executors.llvm.row_fusion import Sweep
from tnp.executors.llvm.schedule import Schedule
from tnp.executors.llvm.skewed_fusion import Following
from tnp.executors.llvm.statements import Nest, Statement
from tnp.runtime import allocator
from tnp.runtime.launcher import INTERRUPTED, POLL, POLL_DECLARED

__all__ = ["Memory", "Module", "emit_kernel"]

#: additions for which another thread pays
GRAIN = 150_000
#: additions from which on a nest looks for Ctrl-C, after so many of them: 0.05 to 0.2 s on one thread
LONG, SLICE = 1 << 29, 1 << 27


#: what LLVM is told of a loop; a number is that of the vectors that it is to take at a time
_HINTS: dict[str | int, str] = {
    "unrolled": '!"llvm.loop.unroll.full"',
    "scalar": '!"llvm.loop.vectorize.enable", i1 false',
    "masked": '!"llvm.loop.vectorize.predicate.enable", i1 true',
    "independent": '!"llvm.loop.parallel_accesses", !GROUP',
    **{n: f'!"llvm.loop.interleave.count", i32 {n}' for n in (1, 2, 8)},
    **{f"width {n}": f'!"llvm.loop.vectorize.width", i32 {n}' for n in (2, 4, 8, 16, 32, 64)},
}


def emit_kernel(
    name: str, graph: Graph, plan: Schedule, strides: Mapping[Node, Sequence[int]], function_attributes: str, *,
    fast: bool = False, is_plain: bool = False,
) -> str:  # fmt: skip
    """The module of a kernel.

    ``strides`` are those of inputs and outputs in bytes. ``function_attributes`` are LLVM's, of the target. A module that
    ``is_plain`` is not to be optimised: it says nothing of its accesses.
    """
    return Module(name, graph, plan, strides, function_attributes, fast, is_plain).emit()


class Memory:
    """Memory of a stored node: which entry of the context points at it, and how far its elements are apart.

    With a ``window``, it has room for some rows only, which are used again.
    """

    def __init__(
        self, node: Node, slot: int | None, strides: Sequence[int], scope: int, window: Window | None = None
    ) -> None:
        self.node = node
        self.slot = slot
        self.strides = tuple(strides)
        self.scope = scope
        self.window = window

    def offset(self, at: Indices) -> Index:
        """How many bytes the element at a position is from the first."""
        return linear(at if self.window is None else self.window.place(at), self.strides)


def c_strides(shape: Sequence[int], itemsize: int, without: frozenset[int] = frozenset()) -> list[int]:
    strides = [0] * len(shape)
    step = itemsize
    for d in reversed(range(len(shape))):
        if d not in without:
            strides[d] = step
            step *= shape[d]
    return strides


@dataclass(frozen=True)
class Temporary:
    """Memory that a call makes for itself: its entry in the context, its size in bytes, and the nests that use it."""

    slot: int
    size: int
    first: int
    last: int


class _Arena:
    """One block of memory for all temporaries of a call: on the stack, or from the pool of large memory."""

    def __init__(self, temporaries: Sequence[Temporary]) -> None:
        placed: list[tuple[int, Temporary]] = []
        for t in sorted(temporaries, key=lambda t: -t.size):
            offset = 0
            for other_offset, other in sorted(placed, key=lambda p: p[0]):
                meets = t.first <= other.last and other.first <= t.last
                if meets and offset < other_offset + other.size and other_offset < offset + t.size:
                    offset = -(-(other_offset + other.size) // 64) * 64
            placed.append((offset, t))
        where = {t: offset for offset, t in placed}
        self.offsets = [where[t] for t in temporaries]
        self.size = max((offset + t.size for offset, t in placed), default=0)
        self.is_taken = self.size > STACK_BYTES
        self._from_pool = self.is_taken and self.size >= allocator.LARGE and allocator.serves_kernels()
        self.pointer = "%arena"
        self._raw = "%arena"

    def take(self, code: Code) -> None:
        if not self.size:
            return
        if not self.is_taken:
            code.line(f"%arena = alloca [{self.size} x i8], align 64")
            return
        if self._from_pool:
            code.require("pool", "@tnp_pool = external global i8\ndeclare ptr @tnp_pool_malloc(ptr, i64)\ndeclare void @tnp_pool_free(ptr, ptr, i64)")  # fmt: skip
            self._raw = code.op(f"call ptr @tnp_pool_malloc(ptr @tnp_pool, i64 {self.size})")
        else:
            code.require("malloc", "declare ptr @malloc(i64)\ndeclare void @free(ptr)")
            self._raw = code.op(f"call ptr @malloc(i64 {self.size + 64})")
        missing, onward, refused = code.op(f"icmp eq ptr {self._raw}, null"), code.label("onward"), code.label("none")
        code.line(f"br i1 {missing}, label %{refused}, label %{onward}")
        code.block(refused)
        code.line("ret i64 1")
        code.block(onward)
        address = code.op(f"ptrtoint ptr {self._raw} to i64")
        up = code.op(f"add i64 {address}, 63")
        aligned = code.op(f"and i64 {up}, -64")
        self.pointer = code.op(f"inttoptr i64 {aligned} to ptr")

    def give_back(self, code: Code) -> None:
        if self._from_pool:
            code.line(f"call void @tnp_pool_free(ptr @tnp_pool, ptr {self._raw}, i64 {self.size})")
        elif self.is_taken:
            code.line(f"call void @free(ptr {self._raw})")


class Module:
    def __init__(
        self, name: str, graph: Graph, plan: Schedule, strides: Mapping[Node, Sequence[int]], attributes: str,
        fast: bool, is_plain: bool,
    ) -> None:  # fmt: skip
        self.name = name
        self.is_plain = is_plain
        self.graph = graph
        self.plan = plan
        self.attributes = attributes
        self.code = Code(fast=fast)
        self.functions: list[str] = []
        self._functions: dict[str, str] = {}
        self.memories: dict[Node, Memory] = {}
        self.slots = 0
        self.hinted_loops: list[Sequence[str | int]] = []
        self.temporaries: list[Temporary] = []
        #: calls that come when the center of squares is known
        self._moved: dict[Nest, Callable[[Code], None]] = {}
        #: the number of the nest whose code is being written
        self.nest = 0
        #: What has begun to change the caller's arrays goes on to its end: NumPy's functions are not left in their midst either.
        self.may_stop = all(plan.memory_of(node).op != "input" for node in graph.outputs)
        self.stops = False
        self._place(strides)

    def _place(self, strides: Mapping[Node, Sequence[int]]) -> None:
        for node in self.graph.inputs:
            self._add(node, self._slot(), strides[node])
        for node in self.graph.outputs:
            owner = self.plan.memory_of(node)
            if owner.op != "input":
                self._add(owner, self._slot(), strides[node])
        #: inputs and outputs: what the caller provides
        self.given = self.slots
        used: dict[Node, list[int]] = {}
        for i, nest in enumerate(self.plan.nests):
            for statement in nest.statements():
                for access in statement.accesses():
                    used.setdefault(self.plan.memory_of(access.node), []).append(i)
        for node, nests in used.items():
            if node in self.memories or node in self.plan.registers:
                continue
            scratch = self.plan.scratch.get(node)
            itemsize = node.dtype.itemsize
            window = self.plan.windows.get(node)
            if window is not None:
                self._add(node, None, c_strides(window.shape(node.shape), itemsize), window)
            elif scratch is not None:
                self._add(node, None, c_strides(node.shape, itemsize, scratch[1]))
            else:
                slot = self.temporary(node.size * itemsize, nests[0], nests[-1])
                self._add(node, slot, c_strides(node.shape, itemsize))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _add(self, node: Node, slot: int | None, strides: Sequence[int], window: Window | None = None) -> None:
        self.memories[node] = Memory(node, slot, strides, len(self.memories), window)

    def temporary(self, size: int, first: int | None = None, last: int | None = None) -> int:
        """The context slot of new memory of ``size`` bytes, for those nests of one call (default: the one being written)."""
        slot = self._slot()
        first, last = (self.nest, self.nest) if first is None or last is None else (first, last)
        self.temporaries.append(Temporary(slot, size, first, last))
        return slot

    def emit(self) -> str:
        steps: list[Callable[[Code], None]] = []
        for i, nest in enumerate(self.plan.nests):
            self.nest = i
            errors = [s.node for s in nest.statements() if s.node in self.graph.errors]
            if isinstance(nest, Sliding):
                steps.append(emit_sliding(self, nest))
            elif isinstance(nest, Following):
                steps += emit_following(self, nest)
            elif isinstance(nest, Sweep):
                steps += emit_sweep(self, nest)
            elif isinstance(nest, Panels):
                steps += emit_panels(self, nest, emit_group)
            elif isinstance(nest, Moments):
                steps += self._moments(nest)
            elif isinstance(nest, Centered) and nest in self._moved:
                steps.append(self._moved[nest])
            elif nest.outer:
                steps.append(emit_nest(self, nest))
            else:
                steps += self._groups_alone(nest)
            steps += [partial(self._refuse_if, node) for node in errors]
        kernel = self._kernel(steps)
        text = [*self.functions, kernel, self.code.module_text(), self._metadata()]
        text.append(f"attributes #0 = {{ nounwind {self.attributes} }}")
        return "\n\n".join(text) + "\n"

    def _groups_alone(self, nest: Nest) -> list[Callable[[Code], None]]:
        return [step for group in nest.groups for step in emit_group_alone(self, nest, group)]

    def _moments(self, nest: Moments) -> list[Callable[[Code], None]]:
        moved = next(n for n in self.plan.nests if isinstance(n, Centered) and n.moments is nest)
        runs = runs_of(self, [*nest.statements(), *moved.statements()], nest.total.loops)
        made = emit_moments(self, nest, moved, runs)
        if made is None:
            return self._groups_alone(nest)
        self._moved[moved] = made[1]
        return made[0]

    def _kernel(self, steps: Sequence[Callable[[Code], None]]) -> str:
        code = Code(self.code)
        given = self.given
        code.line(f"%ctx = alloca [{max(self.slots, 1)} x ptr], align 16")
        for i in range(given):
            value = code.op(f"load ptr, ptr {entry(code, '%slots', i)}")
            code.line(f"store ptr {value}, ptr {entry(code, '%ctx', i)}")
        arena = self._arena(code)
        for step in steps:
            step(code)
        arena.give_back(code)
        code.line("ret i64 0")
        if self.stops:
            code.block("stopped")
            arena.give_back(code)
            code.line(f"ret i64 {INTERRUPTED}")
        if self.graph.errors or arena.is_taken:
            code.block("refused")
            arena.give_back(code)
            code.line("ret i64 1")
        return f"define i64 @{self.name}(ptr %slots) #0 {{\nentry:\n{code.text()}\n}}"

    def _arena(self, code: Code) -> _Arena:
        """Gives the memories of one call their places in one block of memory, those that are never used at once the same."""
        arena = _Arena(self.temporaries)
        arena.take(code)
        for temporary, offset in zip(self.temporaries, arena.offsets):
            pointer = code.op(f"getelementptr i8, ptr {arena.pointer}, i64 {offset}")
            code.line(f"store ptr {pointer}, ptr {entry(code, '%ctx', temporary.slot)}")
        return arena

    def _refuse_if(self, node: Node, code: Code) -> None:
        """Leaves the kernel if the bool ``node`` is true."""
        slot = self.memories[self.plan.memory_of(node)].slot
        assert slot is not None
        pointer = code.op(f"load ptr, ptr {entry(code, '%ctx', slot)}")
        wrong = scalars.load(code, pointer, node.dtype)
        onward = code.label("onward")
        code.line(f"br i1 {wrong}, label %refused, label %{onward}")
        code.block(onward)

    def _metadata(self) -> str:
        """An alias scope for each memory, and the list of all others; a group of all accesses; what LLVM is told of loops."""
        count = 0 if self.is_plain else len(self.memories)
        lines = ['!0 = distinct !{!0, !"memory"}']
        lines += [f"!{1 + i} = distinct !{{!{1 + i}, !0}}" for i in range(count)]
        lines += [f"!{1 + count + i} = !{{!{1 + i}}}" for i in range(count)]
        for i in range(count):
            others = ", ".join(f"!{1 + j}" for j in told_apart(i, count))
            lines.append(f"!{1 + 2 * count + i} = !{{{others}}}")
        group = 1 + 3 * count
        lines.append(f"!{group} = distinct !{{}}")
        if self.hinted_loops:
            texts = (text.replace("GROUP", str(group)) for text in _HINTS.values())
            lines += [f"!{group + 1 + k} = !{{{text}}}" for k, text in enumerate(texts)]
        for i, kinds in enumerate(self.hinted_loops):
            node = self._loops_from + i
            hints = ", ".join(f"!{group + 1 + list(_HINTS).index(kind)}" for kind in kinds)
            lines.append(f"!{node} = distinct !{{!{node}, {hints}}}")
        return "\n".join(lines)

    @property
    def _loops_from(self) -> int:
        return 2 + 3 * (0 if self.is_plain else len(self.memories)) + len(_HINTS)

    def offsets(self, statements: Iterable[Statement]) -> Iterator[Index]:
        """Where statements access memory, in bytes from its beginning."""
        for s in statements:
            for access in s.accesses():
                memory = self.memories.get(self.plan.memory_of(access.node))
                if memory is not None:
                    yield memory.offset(access.at)

    def hinted_loop(self, kinds: Sequence[str | int]) -> int:
        """The metadata of one more loop of which LLVM is told something, by keys of :data:`_HINTS`."""
        self.hinted_loops.append(kinds)
        return self._loops_from + len(self.hinted_loops) - 1

    @property
    def access(self) -> str:
        """The metadata of an access: a loop whose iterations are ``independent`` is one whose accesses are all in the group."""
        return "" if self.is_plain else f", !llvm.access.group !{1 + 3 * len(self.memories)}"

    def alias(self, memory: Memory) -> str:
        if self.is_plain:
            return ""
        count = len(self.memories)
        own, others = 1 + count + memory.scope, 1 + 2 * count + memory.scope
        return f", !alias.scope !{own}, !noalias !{others}{self.access}"

    def function(self, body: Code) -> str:
        """A function with that body; one that there is already, if a nest before came to the same: programs repeat themselves."""
        text = body.text()
        name = self._functions.get(text)
        if name is None:
            name = self._functions[text] = f"nest{len(self._functions)}"
            # Alone, a nest is compiled in less time than as part of a large function.
            self.functions.append(
                f"define internal void @{name}(ptr %ctx, i64 %begin, i64 %end) noinline #0 {{\nentry:\n{text}\n}}"
            )
        return name

    def call(self, name: str, count: int, cost: float, least: int = 1) -> Callable[[Code], None]:
        """The call of a nest's function over ``count`` iterations that cost ``cost`` each, of which a thread takes ``least``."""
        grain = max(least, math.ceil(GRAIN / max(cost, 1)))

        def step(code: Code) -> None:
            if self.may_stop and count * cost > LONG:
                self._call_in_slices(code, name, count, max(grain, int(SLICE / cost)), grain)
            elif count >= 2 * grain:
                self.code.require("parallel", "declare void @tnp_parallel(ptr, ptr, i64, i64)")
                code.line(f"call void @tnp_parallel(ptr @{name}, ptr %ctx, i64 {count}, i64 {grain})")
            else:
                code.line(f"call void @{name}(ptr %ctx, i64 0, i64 {count})")

        return step

    def _call_in_slices(self, code: Code, name: str, count: int, length: int, grain: int) -> None:
        """The call of a nest's function for ``length`` iterations at a time; between them the kernel is left if the user has pressed Ctrl-C."""
        self.stops = True
        self.code.require("parallel_from", "declare void @tnp_parallel_from(ptr, ptr, i64, i64, i64)")
        self.code.require("@tnp_poll", POLL_DECLARED)
        self.code.require("@llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        head, ask, again, done = (code.label(hint) for hint in ("slice", "ask", "again", "sliced"))
        first, following, before = code.temp("first"), code.temp("next"), code.current
        code.line(f"br label %{head}")
        code.block(head)
        code.line(f"{first} = phi i64 [ 0, %{before} ], [ {following}, %{again} ]")
        left = code.op(f"sub i64 {count}, {first}")
        part = code.op(f"call i64 @llvm.smin.i64(i64 {left}, i64 {length})")
        code.line(f"call void @tnp_parallel_from(ptr @{name}, ptr %ctx, i64 {first}, i64 {part}, i64 {grain})")
        code.line(f"{following} = add i64 {first}, {part}")
        code.line(f"br i1 {code.op(f'icmp slt i64 {following}, {count}')}, label %{ask}, label %{done}")
        code.block(ask)
        code.line(f"br i1 {code.op(POLL)}, label %stopped, label %{again}")
        code.block(again)
        code.line(f"br label %{head}")
        code.block(done)
