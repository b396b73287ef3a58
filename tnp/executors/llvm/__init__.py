"""The llvm executor: regions of a program as native code for this processor.

Rules (:mod:`lowering`) say what prims are made of. A region becomes a graph of array values (:mod:`graph`), a kernel of loop nests
(:mod:`loop_ir`, with :mod:`scalars` for the elements), and machine code (:mod:`tnp.runtime.engine`), possibly from the disk cache. A
whole loop of the user's becomes a :mod:`program`. :mod:`tnp.runtime.launcher` calls the result without Python code in between.

Code is specialized on the strides of the arrays, and recompiled for others. A call with unsupported arguments
(misaligned arrays, integers beyond 64 bits, more kinds of strides than :data:`SPECIALISATIONS`) runs the region
unfused, by the next executors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

from tnp.core import prims
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.symbols import Undecided
from tnp.core.trace import Trace
from tnp.executors.base import Executor, Fused, FusionExecutor, Region
from tnp.executors.llvm import (
    loop_ir,
    program,
    rules,  # noqa: F401 — they fill the table
    target,
)
from tnp.executors.llvm.any_size import AnySizeRegion, roots_of
from tnp.executors.llvm.graph import Graph, Update, View, needed_for
from tnp.executors.llvm.graph_lowering import lower, takes
from tnp.executors.llvm.loop_ir.placement import memory_of_outputs
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.rules.decompositions import has_other_signs
from tnp.executors.llvm.rules.matmul import is_one_product
from tnp.executors.llvm.rules.panels import only_multiplies
from tnp.executors.llvm.sqrt_elision import compare_squares
from tnp.executors.registry import register_executor
from tnp.runtime import engine, launcher, logs
from tnp.runtime.engine import Unavailable

__all__ = ["LLVMExecutor", "executor", "is_available"]


class LLVMExecutor(FusionExecutor):
    """Compiles regions of elementwise operations, reductions, views and updates of arrays on the CPU, and whole loops."""

    array_kind = "numpy"
    longest_region = target.LONGEST_REGION
    cached_bytes = target.CACHED_BYTES
    most_operands = launcher.MAX_SLOTS // 2
    options = MappingProxyType({"everything": "regions are compiled that others run as well, for tests"})

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = (), fast: bool = False) -> None:
        super().__init__(name, version=version, options=options)
        self.everything = "everything" in self.chosen_options
        #: floating-point arithmetic is relaxed
        self.fast = fast

    def with_fastmath(self) -> Executor:
        if self.fast:
            return self
        return _fast(self.plain).with_options(*self.chosen_options)

    def make_variant(self, options: frozenset[str]) -> LLVMExecutor:
        return LLVMExecutor(self.name, version=self.version, options=options, fast=self.fast)

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        if bsym.sym is program.BLOCK:
            return True  # this executor made it
        if is_control_flow(bsym):
            return is_available() and program.takes(bsym, self.everything, self.fast)
        if OpTags.BETTER_OPENED in bsym.sym.tags and any(p.sym is prims.matmul for p in _prims(bsym)):
            return False  # the product is a call of a library's in most programs, and the function is not
        if loop_ir.is_symbolic(bsym):
            gives_arrays = all(isinstance(p, TensorProxy) for p in bsym.flat_outputs)
            return is_available() and gives_arrays and loop_ir.takes(bsym)
        if not is_available() or not takes(bsym):
            return False
        return not _sums_long_windows(bsym) and not has_other_signs(bsym, _prims(bsym))

    def pattern_rewrite(self, trace: Trace, executors: Sequence[Any]) -> Trace:
        if not is_available():
            return trace
        before = list(executors)[: list(executors).index(self)]

        def is_anothers(bsym: BoundSymbol) -> bool:
            return any(e.can_fuse(bsym) if e.is_fusing else e.implementation_of(bsym.sym) is not None for e in before)

        return program.with_blocks(trace, lambda b: program.takes(b, self.everything, self.fast), is_anothers)

    def needs_known_sizes(self, bsym: BoundSymbol) -> bool:
        if not is_control_flow(bsym):
            return False
        inside = [b for body in bodies_of(bsym) for b in body.bound_symbols]
        is_slow = any(map(loop_ir.is_symbolic, inside)) and any(map(_looks_at_elements, inside))
        try:
            if not is_slow or not is_available() or not program.pays(bsym):
                return False
        except Refused:  # for what native code does not have, whatever the sizes
            return False
        takes = functools.partial(program.takes, everything=self.everything, fast=self.fast)
        return not takes(bsym) and takes(program.with_sizes(bsym))

    def region_key(self, bsym: BoundSymbol) -> Hashable:
        return loop_ir.kind_of(bsym)  # of symbolic sizes, with code from the loop IR

    def joins_any(self, bsym: BoundSymbol) -> bool:
        """A few elements do not decide whether a kernel is one for any size. Updates stay: what is computed in place would be copied."""
        if bsym.has_tag_inside(OpTags.UPDATE):
            return False
        arrays = [p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy)]
        return bool(arrays) and all(map(_are_few, arrays)) and loop_ir.takes(bsym)

    def inputs_of(self, bound_symbols: Sequence[BoundSymbol], inputs: Sequence[Proxy]) -> Sequence[Proxy]:
        is_symbolic = any(map(loop_ir.is_symbolic, bound_symbols)) and not is_control_flow(bound_symbols[0])
        return loop_ir.without_sizes(bound_symbols, inputs) if is_symbolic else inputs

    def decomposes(self, bsym: BoundSymbol) -> bool:
        """Operations that should be decomposed, since their parts are compiled: those that give a Python number (``np.allclose``), except
        that it is made one; those that make a mask and count it; histograms of large arrays, except checks of the edges; medians and norms of
        small ones, except sorting and decompositions."""
        if not is_available():
            return False
        if loop_ir.counts_what_it_makes(bsym):
            return all(map(self.can_fuse, _prims(bsym)))
        if isinstance(bsym.output, NumberProxy):
            *parts, last = _prims(bsym)
            return last.sym is prims.item and len(parts) > 1 and all(map(self.can_fuse, parts))
        if OpTags.BETTER_OPENED not in bsym.sym.tags:
            return False
        parts = [p for p in _prims(bsym) if p.sym is not prims.matmul]
        large = [p for p in parts if any(isinstance(x, TensorProxy) and _is_large(x) for x in p.flat_inputs)]
        if large:
            return all(map(takes, large))
        calls = [p for p in parts if p.sym in _CALLS]
        if any(not _is_few(p.args[0]) for p in calls):
            return False  # of many, a library's selection takes less time
        return all(p in calls or self.can_fuse(p) for p in parts)

    def fuse(self, region: Region, name: str) -> Fused | None:
        if is_control_flow(region.bound_symbols[0]):
            region = program.with_symbols(region)
            for_any_size = roots_of(region.inputs)
            if not all(map(program.is_sized if for_any_size else program.has_room, region.outputs)):
                return None  # nobody can make room for them before the call
            if for_any_size:
                return _for_any_size(program.AnySizeProgram, name, region, self.fast)
            loop = program.ProgramRegion(name, region, self.fast)
            return Fused(loop.function, loop.updates, loop.describe)
        if any(map(loop_ir.is_symbolic, region.bound_symbols)):
            (first, *others) = region.bound_symbols
            if not others and loop_ir.has_unknown_lengths(first) and not _is_worth_a_kernel(first):
                return None  # NumPy's function does as well
            return _for_any_size(loop_ir.SymbolicRegion, name, region, self.fast)
        if not self.everything and _is_one_extreme(region):
            return None
        if not all(map(_has_known_sizes, region.bound_symbols)):
            return None  # a broadcast is gone that had made the lengths one: NumPy's function looks whether they are
        try:
            graph = lower(region.bound_symbols, region.inputs, region.outputs, region.stores)
        except Refused:
            return None
        compare_squares(graph)
        if not self.everything and not _pays(graph, region.whole):
            return None
        inputs = {node: j for j, node in enumerate(graph.inputs)}
        updates = {k: inputs[m] for k, m in enumerate(memory_of_outputs(graph)) if m in inputs}
        compiled = loop_ir.FusedRegion(name, region, graph, updates, self.fast)
        return Fused(compiled.launcher.function, updates, compiled.describe)

    def check_arrays(
        self, kinds: Sequence[tuple[Any, tuple[Any, ...], tuple[int, ...] | None, bool]]
    ) -> Callable[..., Any] | None:
        try:
            found = launcher.make_launcher("fits", lambda *args: None)
            compiled = _nothing()
        except Unavailable:
            return None
        inputs = [
            launcher.Input("dense" if strides is None else "array", shape, strides or (), dtype, writable, exact=True)
            for dtype, shape, strides, writable in kinds
        ]
        spec = launcher.Spec(inputs=inputs, outputs=[launcher.Output("input", index=0)], single=True)
        found.install(spec, compiled.address("fits"), owner=compiled)
        return found.function


def _is_worth_a_kernel(bsym: BoundSymbol) -> bool:
    """Whether an operation on arrays of unknown lengths takes less time in a kernel of its own: a search, or what a mask selects."""
    parts = list(_prims(bsym)) or [bsym]
    selects = engine.target().has_masks and any(p.sym is prims.nonzero for p in parts)
    return selects or any(p.sym is prims.searchsorted for p in parts)


def _for_any_size(make: Callable[..., AnySizeRegion], name: str, region: Region, fast: bool) -> Fused | None:
    try:
        made = make(name, region, fast)
    except (Refused, Unavailable, Undecided) as reason:
        logs.claims.debug("%s is not compiled for any size: %s", name, reason)
        return None
    return Fused(made.function, made.updates, made.describe)


@functools.cache
def _fast(executor: Executor) -> Executor:
    return LLVMExecutor(executor.name, version=executor.version, fast=True)


def _prims(bsym: BoundSymbol) -> Iterator[BoundSymbol]:
    """The prims that an operation is made of."""
    for b in bsym.subsymbols:
        yield from _prims(b) if b.subsymbols else (b,)


def _sums_long_windows(bsym: BoundSymbol) -> bool:
    """Whether an operation sums windows as long as those that NumPy and SciPy sum by other ways (``np.convolve`` with the ends)."""
    if not bsym.subsymbols:
        return False
    parts = list(_prims(bsym))
    is_long = any(p.sym is prims.unfold and type(p.args[2]) is int and p.args[2] > target.LONGEST_WINDOW for p in parts)
    return is_long and any(p.sym is prims.sum for p in parts)


def _looks_at_elements(bsym: BoundSymbol) -> bool:
    """Whether an operation of a loop is one on single elements, which are fast in native code only."""
    if is_control_flow(bsym):
        return any(_looks_at_elements(b) for body in bodies_of(bsym) for b in body.bound_symbols)
    return any(isinstance(p, TensorProxy) and not p.ndim for p in (*bsym.flat_inputs, *bsym.flat_outputs))


def _is_large(p: TensorProxy) -> bool:
    return all(type(n) is int for n in p.shape) and math.prod(p.shape) >= target.SINGLE_ELEMENTS


#: what a library does in an operation that is decomposed
_CALLS = frozenset((prims.sort, prims.svd, prims.eigh))


def _are_few(p: TensorProxy) -> bool:
    return all(type(n) is int for n in p.shape) and math.prod(p.shape) <= target.FEW_ELEMENTS


def _is_few(p: TensorProxy) -> bool:
    return all(type(n) is int for n in p.shape) and math.prod(p.shape) <= target.SORTED_ELEMENTS


def is_available() -> bool:
    """Whether native code can be made and called here."""
    try:
        engine.target()
    except Unavailable:
        return False
    return True


def _is_one_extreme(region: Region) -> bool:
    """Whether a region finds places of extremes along lines and nothing else: of neighbours, NumPy does so in one pass, with vectors."""
    first, *others = region.bound_symbols
    parts = list(_prims(first)) or [first]
    found = [p for p in parts if p.sym in (prims.argmax, prims.argmin)]
    if others or not found or not all(p in found or OpTags.VIEW in p.sym.tags for p in parts):
        return False
    a, dim = found[0].args
    return dim == a.ndim - 1 and not _are_few(a)


def _has_known_sizes(bsym: BoundSymbol) -> bool:
    arrays = (p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy))
    return all(isinstance(n, int) for p in arrays for n in p.shape)


def _pays(graph: Graph, whole: bool) -> bool:
    """Whether a region is more than one operation on few elements, and more than moving elements about: what gathers and
    scatters do is not that.

    One that is the ``whole`` program is called with less ado than NumPy is from Python.
    """
    used = needed_for(graph.outputs)
    by_index = {n for n in used if isinstance(n, View | Update) and n.lookups}
    plain = ("input", "number", "view", "full", "empty", "copy", "iota")
    work = [n for n in used if n in by_index or n.op not in plain]
    if not work:  # reductions of one element
        return whole and all(n.size == 1 for n in graph.outputs)
    if all(isinstance(n, Update) and n not in by_index for n in work):
        return False
    if is_one_product(work) or only_multiplies(graph, work):
        return False
    return (
        whole or len(work) > 1 or max(max(n.size, *(s.size for s in n.sources)) for n in work) >= target.SINGLE_ELEMENTS
    )


@functools.cache
def _nothing() -> engine.Compiled:
    """A kernel that does nothing: a launcher of it only looks at its arguments."""
    return engine.compile_ir("define i64 @fits(ptr %slots) {\n  ret i64 0\n}\n", "fits")


engine.check_setting()
executor = LLVMExecutor("llvm", version="0.1")
register_executor(executor)
