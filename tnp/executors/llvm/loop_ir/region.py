"""Regions of symbolic sizes whose code is made from the loop IR."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from tnp.core import check, devices, dtypes, intervals, prims, symbols
from tnp.core.lengths import fits_surely
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.core.views import update
from tnp.executors.base import Region
from tnp.executors.llvm.any_size import AnySizeRegion, is_made_of, roots_of
from tnp.executors.llvm.loop_ir.compressing import compress
from tnp.executors.llvm.loop_ir.dead_stores import drop_dead_stores
from tnp.executors.llvm.loop_ir.emitter import COUNT, Interface, emit
from tnp.executors.llvm.loop_ir.forwarding import forward_stores
from tnp.executors.llvm.loop_ir.fusion import share_rows
from tnp.executors.llvm.loop_ir.lengths import with_symbols
from tnp.executors.llvm.loop_ir.lowering import lowered
from tnp.executors.llvm.loop_ir.moments import sum_squares_at_once
from tnp.executors.llvm.loop_ir.nodes import Kernel, Panels
from tnp.executors.llvm.loop_ir.printing import show
from tnp.executors.llvm.loop_ir.skewing import skew
from tnp.executors.llvm.loop_ir.splitting import split
from tnp.executors.llvm.loop_ir.sweeping import sweep
from tnp.executors.llvm.loop_ir.verify import verify
from tnp.executors.llvm.lowering import RULES, Refused
from tnp.executors.llvm.operations import collected, is_of_sizes, path_of
from tnp.executors.llvm.region import ENTRY, function_attributes
from tnp.executors.llvm.rules.views import groups_of_any_size, only_ones_differ
from tnp.runtime import engine, launcher

__all__ = [
    "SymbolicRegion", "counts_what_it_makes", "has_unknown_lengths", "interface_of", "is_symbolic", "kind_of", "optimized", "sources_of_sizes", "takes",
]  # fmt: skip


def is_symbolic(bsym: BoundSymbol) -> bool:
    """Whether an array of an operation has a symbolic size, or one that only the running program knows and that fits surely."""
    arrays = [p for p in (*bsym.flat_inputs, *bsym.flat_outputs) if isinstance(p, TensorProxy)]
    others = [n for p in arrays for n in p.shape if not isinstance(n, int)]
    return bool(others) and (all(symbols.value_of(n) is not None for n in others) or fits_surely(bsym))


def kind_of(bsym: BoundSymbol) -> Hashable:
    """What operations of one kernel for any size have in common; ``False`` for one of known sizes. A mask is no part of the kernel that
    has arrays as long as what it selects: these are made before the kernel runs."""
    if not is_symbolic(bsym):
        return False
    lengths = _lengths_in(bsym.flat_outputs) or _lengths_in(bsym.flat_inputs)
    return frozenset(name for n in lengths for name in intervals.linear(n).terms) or True


def has_unknown_lengths(bsym: BoundSymbol) -> bool:
    """Whether an array of an operation has a length that the program does not rely on."""
    return any(symbols.value_of(n) is None for n in _lengths_in((*bsym.flat_outputs, *bsym.flat_inputs)))


def _lengths_in(ps: Iterable[Proxy]) -> list[NumberProxy]:
    """The lengths of arrays that only the running program finds out."""
    dims = (n for p in ps for n in _dims(p))
    return [n for n in dims if symbols.value_of(n) is None or symbols.is_found(n)]


def takes(bsym: BoundSymbol) -> bool:
    """Whether every prim of an operation can be part of a kernel for any size. What makes the first array of a length that the program
    relies on is not: what it relies on is asserted before anything is computed of that array."""
    if _finds_length(bsym):
        return False
    if bsym.sym is update:
        path = path_of(bsym)  # a part of complex numbers is no view of them here
        is_plain = all(map(_is_plain, bsym.flat_outputs)) and all(p.output.dtype is bsym.output.dtype for p in path)
        return bool(bsym.output.ndim) and is_plain and all(map(takes, path))
    if not bsym.sym.is_prim:
        return bool(bsym.subsymbols) and not counts_what_it_makes(bsym) and all(map(takes, bsym.subsymbols))
    if bsym.sym.executor is not None or not all(map(_is_plain, (*bsym.flat_inputs, *bsym.flat_outputs))):
        return False
    name = bsym.sym.name
    if prims.registry.get(name) is not bsym.sym:  # a call of a library's function may have the name of a prim
        return False
    if is_of_sizes(bsym):
        return True
    if name == "reshape" and not _is_simple_reshape(bsym):
        return False
    return any(rule.checker(bsym) for rule in RULES.get(name, ()))


def counts_what_it_makes(bsym: BoundSymbol) -> bool:
    """Whether an operation makes a mask and counts it (``np.flatnonzero`` of floats): its parts are two kernels."""
    made: set[str] = set()
    for part in collected([bsym]):
        if part.sym is prims.nonzero and part.args[0].name in made:
            return True
        made.update(p.name for p in part.flat_outputs)
    return False


def _finds_length(bsym: BoundSymbol) -> bool:
    """Whether an operation makes the first array of a length that the program relies on."""
    made = [n for p in bsym.flat_outputs for n in _dims(p) if symbols.is_found(n)]
    there = {root.name for p in bsym.flat_inputs for n in (*_dims(p), p) for root in _roots(n)} if made else set()
    return any(root.name not in there for n in made for root in _roots(n))


def _roots(n: Any) -> Iterable[NumberProxy]:
    """The lengths that the program finds out and that a number is computed of."""
    if not isinstance(n, NumberProxy) or not symbols.is_symbol(n):
        return ()
    parts = [x for x, _ in intervals.linear(n).terms.values()]
    return [root for x in parts for root in symbols.roots(x) if symbols.is_found(root)]


def _dims(p: Proxy) -> Iterable[NumberProxy]:
    return (n for n in p.shape if isinstance(n, NumberProxy)) if isinstance(p, TensorProxy) else ()


def _is_simple_reshape(bsym: BoundSymbol) -> bool:
    shapes = [p.shape for p in (bsym.args[0], bsym.output)]
    if all(type(n) is int for shape in shapes for n in shape):
        return True
    old, new = ([symbols.provable(n) for n in shape] for shape in shapes)
    return only_ones_differ(old, new) or groups_of_any_size(new, old) is not None


def _is_plain(p: Proxy) -> bool:
    if isinstance(p, NumberProxy):
        return True
    if not isinstance(p, TensorProxy) or p.device is not devices.cpu or p.dtype is dtypes.bfloat16:
        return False
    return all(symbols.value_of(n) != 0 for n in p.shape)


class SymbolicRegion(AnySizeRegion):
    """A region, and its kernel. Raises :class:`Refused`, or ``Unavailable``, if there is no code."""

    def __init__(self, name: str, region: Region, fast: bool) -> None:
        region = with_symbols(region)
        self.numbers = [p for p in region.inputs if isinstance(p, NumberProxy)]
        kernel, updates, follows = lowered(region.bound_symbols, region.inputs, region.outputs, region.stores)
        self.kernel = optimized(kernel)
        if all(isinstance(entry, Panels) and len(entry.nests) == 1 for entry in self.kernel.nests):
            raise Refused("it only multiplies matrices, which a library does as fast")
        engine.dump("loops", lambda: show(self.kernel, name), name)
        interface = _with_lengths(interface_of(self.kernel, region.inputs, sources_of_sizes(region)), region)
        ir = emit(self.kernel, ENTRY, interface, function_attributes(), fast=fast)
        super().__init__(name, region, updates, ir, follows)

    def describe(self) -> list[str]:
        """The kernel, as text."""
        return ["kernel for any size", *(f"  {line}" for line in show(self.kernel, self.name).splitlines())]

    def number(self, p: NumberProxy) -> launcher.Input:
        n = self.kernel.numbers[[q.name for q in self.numbers].index(p.name)]
        return launcher.Input(n.python_type.__name__, low=n.low, high=n.high)


def _with_lengths(interface: Interface, region: Region) -> Interface:
    """The interface of a region whose arrays alone need positive lengths: numbers that are computed of others, such as the first
    position of a range, may be negative."""
    numbers = {
        p.name: p
        for p in region.inputs
        if isinstance(p, NumberProxy) and p.name in interface.roots and p.origin is not None
    }
    if not numbers:
        return interface
    parts = collected(region.bound_symbols)
    arrays = [p for b in parts for p in (*b.flat_inputs, *b.flat_outputs) if isinstance(p, TensorProxy)]
    sizes = {n.name: n for p in arrays for n in map(_number_of, p.shape) if n is not None}
    lengths = [n for n in sizes.values() if any(m.name in numbers for m in (n, *_made_of(n)))]
    if not all(is_made_of(n, interface.roots) for n in lengths):
        return interface
    return dataclasses.replace(interface, numbers=frozenset(numbers), lengths=lengths)


def _number_of(n: Any) -> NumberProxy | None:
    return None if isinstance(n, int) else symbols.number_of(n)


def _made_of(n: NumberProxy) -> Iterator[NumberProxy]:
    """The numbers that a size is computed of, at every step."""
    seen, left = {n.name}, [n]
    while left:
        x = left.pop()
        for m in (
            *(part for part, _ in intervals.linear(x).terms.values()),
            *(x.origin[1] if x.origin is not None else ()),
        ):
            if isinstance(m, NumberProxy) and m.name not in seen:
                seen.add(m.name)
                left.append(m)
                yield m


def sources_of_sizes(region: Region) -> dict[str, tuple[int, int | None, int]]:
    """The roots of a region's sizes, as :class:`Interface` has them: with the lengths of what masks among the inputs select."""
    roots = {name: root for name, (_, root) in roots_of(region.inputs).items()}
    places = {p.name: j for j, p in enumerate(region.inputs)}
    for b in collected(region.bound_symbols):
        if b.operation is prims.nonzero:
            positions, mask = b.output[0], b.args[0]
            if mask.name not in places:
                raise Refused("how long a result is depends on what is computed")
            roots.setdefault(positions.shape[0].name, (places[mask.name], COUNT, 0))
    return roots


def interface_of(
    kernel: Kernel, inputs: Iterable[Proxy], roots: Mapping[str, tuple[int, int | None, int]] | None = None
) -> Interface:
    """How a kernel finds what it is called with."""
    buffers, numbers = iter(kernel.inputs), iter(range(len(kernel.numbers)))
    slots: list[Any] = [next(buffers if isinstance(p, TensorProxy) else numbers) for p in inputs]
    return Interface([*slots, *kernel.outputs], len(slots), roots or {})


def optimized(kernel: Kernel, *, is_quick: bool = False) -> Kernel:
    """The kernel after all passes; of one that ``is_quick``, after those that are."""
    whole = checked(kernel)
    shared = share_rows(split(whole if is_quick else forward_stores(drop_dead_stores(whole))))
    return checked(shared if is_quick else compress(sweep(skew(sum_squares_at_once(shared)))))


def checked(kernel: Kernel) -> Kernel:
    """The kernel, verified if checks are on."""
    if check.enabled():
        verify(kernel)
    return kernel
