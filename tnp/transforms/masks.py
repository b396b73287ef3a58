"""Masked values: ``x[m] = f(y[m])``, ``x[m] += c`` and ``x[m].sum()`` without gathering.

An array selected by a mask has a run-time length, and gathering it often costs more than the operations on it. If it is
only used by elementwise operations, with others of the same mask, the operations may run on all elements, as long as
the results at unselected elements are not observed. That holds if the result is stored under the mask (a ``where``), or
reduced (with the neutral element elsewhere). If a masked value is needed as an array, it stays gathered, and so do its
operands.

Operations on unselected elements raise no error, but NumPy would warn of their overflows. So the pass applies only to
operations that a fusing executor supports, whose code does not warn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from tnp.core import dtypes, prims, sizes
from tnp.core.elementwise_table import by_name as rows
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.reduction_table import REDUCTIONS
from tnp.core.sizes import Dim
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Trace, tracing
from tnp.transforms.claim import fuses
from tnp.transforms.dce import common_subexpressions, dead_code, unneeded
from tnp.transforms.dead_stores import dead_stores, forward_stores, restore_stores
from tnp.transforms.define_sizes import define_sizes
from tnp.transforms.subtraces import in_bodies

__all__ = ["masked_values"]

#: functions computed for elements that the mask leaves out: with more, gathering is cheaper where few are selected
COSTLY_LIMIT = 6
_CHEAP = frozenset(
    ("div", "sqrt", "reciprocal", "rsqrt", "copysign", "isnan", "isinf", "isfinite", "sign", "heaviside", "round")
)


def masked_values(trace: Trace, executors: Sequence[Any], given: Set[str] = frozenset()) -> Trace:
    """``trace`` with masked values computed in place of all elements, where nothing needs them gathered. As the body of a loop or a branch
    it is ``given`` the numbers that the program has for arguments."""
    inside = given | {p.name for p in trace.args if isinstance(p, NumberProxy)}
    trace = in_bodies(lambda t: masked_values(t, executors, inside), trace)
    fusers = [e for e in executors if e.is_fusing and not e.reports_errors]
    if not fusers or not any(b.sym is prims.nonzero for b in _prims(trace.bound_symbols)):
        return trace
    forwarding, forwarded = forward_stores(trace)
    before = common_subexpressions(forwarding)  # a mask computed twice is one mask
    gathered: set[str] = set()
    dead = _with_inner(trace, unneeded(trace))
    while True:
        attempt = _Attempt(before, fusers, gathered, dead, given)
        new = attempt.run()
        if new is not None:
            if not attempt.masked and not attempt.ends:
                return trace
            return restore_stores(dead_stores(dead_code(new, dead)), forwarded)
        assert not attempt.needed <= gathered, "an attempt needs what it was told to gather"
        gathered |= attempt.needed


def _with_inner(trace: Trace, names: set[str]) -> set[str]:
    """``names`` of results, with the results of all operations inside those that make them."""
    makers = (b for b in trace.bound_symbols if any(p.name in names for p in b.flat_outputs))
    return names | {p.name for b in makers for part in with_parts(b) for p in part.flat_outputs}


def _prims(bsyms: Sequence[BoundSymbol]) -> Iterator[BoundSymbol]:
    for b in bsyms:
        if b.sym.is_prim:
            yield b
        else:
            yield from _prims(b.subsymbols)


class _Masked:
    """The elements (or rows) of ``full`` where ``mask`` holds; ``full.shape`` begins with ``mask.shape``."""

    __slots__ = ("full", "mask")

    def __init__(self, mask: TensorProxy, full: TensorProxy) -> None:
        self.mask = mask
        self.full = full


def _has_elements(mask: TensorProxy) -> bool:
    """Whether it is decided that it has some, and how many."""
    return sizes.is_decided(mask.shape) and sizes.is_never_empty(mask.shape)


class _Gather(Exception):
    """An operation needs its masked values as they are."""


class _Attempt:
    """One walk over the trace, in which the values named in ``gathered`` are gathered. ``needed`` collects those that it
    found to be missing there."""

    def __init__(
        self, trace: Trace, fusers: Sequence[Any], gathered: set[str], dead: set[str], given: Set[str]
    ) -> None:
        self.trace = trace
        #: numbers of the program that a body sees, whether or not it reads them
        self.given = given
        #: the results that nothing needs
        self.dead = dead
        self.new = Trace.like(trace)
        self.fusers = fusers
        self.gathered = gathered
        self.needed: set[str] = set()
        self.masked: dict[str, _Masked] = {}
        #: the positions where a mask holds, and its lengths, by name
        self.positions: dict[str, tuple[TensorProxy, int]] = {}
        self.lengths: dict[str, TensorProxy] = {}
        #: what the first and last of them became, by the name of the positions
        self.ends: dict[str, set[str]] = {}
        #: what is read as it is
        self.read = {p.name for p in flat_proxies(trace.output)}
        self.costly: dict[str, int] = {}
        #: the lengths that were read off an array which is masked now
        self.counted: set[str] = set()
        self.made: list[BoundSymbol] = []

    def run(self) -> Trace | None:
        for b in self.trace.bound_symbols:
            for p in _prims([b]):
                if p.sym is prims.nonzero:
                    self._note_positions(p)
            if not self._convert(b):
                self.needed.update(p.name for p in b.flat_inputs if p.name in self.masked)
                self.read.update(p.name for p in b.flat_inputs)
                self.new.bound_symbols += _with_masks_shown(b)
        # Where all positions are made, the first and the last of them are read.
        self.needed.update(name for read in self.read & self.ends.keys() for name in self.ends[read])
        if self.needed:
            return None
        return self._with_lengths()

    def _note_positions(self, b: BoundSymbol) -> None:
        (mask,) = b.args
        for k, p in enumerate(b.output):
            self.positions[p.name] = mask, k
            self.lengths[p.shape[0].name] = mask

    def _convert(self, b: BoundSymbol) -> bool:
        """Whether ``b`` could be put into terms of all elements."""
        concerned = any(map(self._concerns, b.flat_inputs)) or any(p.sym is prims.nonzero for p in _prims(b.subsymbols))
        # What acts on the outside (prints) may have no parts to convert.
        acts = OpTags.PROGRAM in b.sym.tags or not any(True for _ in _prims([b]))
        if not concerned or acts or any(p.name in self.gathered for p in b.flat_outputs):
            return False
        self.made = []
        before = dict(self.masked)
        try:
            for p in _prims([b]):
                self._convert_prim(p)
        except _Gather:
            self.masked = before
            return False
        inside = {p.name for p in _flat_outputs(self.made)} | self.counted
        if not all(p.name in self.masked or p.name in inside for p in b.flat_outputs):
            self.masked = before
            return False
        for made in self.made:
            made.location = b.location
        self.new.bound_symbols += self.made
        return True

    def _convert_prim(self, b: BoundSymbol) -> None:
        if b.sym is prims.nonzero:
            return
        rule = _RULES.get(b.sym.name) if prims.registry.get(b.sym.name) is b.sym else None
        if rule is None and OpTags.ELEMENTWISE in b.sym.tags:
            rule = _elementwise
        if not any(map(self._concerns, b.flat_inputs)):
            self.made.append(b)
        elif rule is None:
            raise _Gather
        else:
            rule(self, b)

    def _concerns(self, p: Proxy) -> bool:
        return p.name in self.masked or p.name in self.positions or p.name in self.lengths

    # What the rules are written with

    def emit(self, sym: Any, *args: Any, shape: Sequence[Dim], dtype: Any, **kwargs: Any) -> TensorProxy:
        """Records a prim on whole arrays. Raises :class:`_Gather` if no fuser takes it."""
        like = next(p for p in args if isinstance(p, TensorProxy))
        made = TensorProxy(self.new.make_name("t"), like=like, shape=tuple(shape), dtype=dtype, lang=like.lang)
        self.emit_into(made, sym, *args, **kwargs)
        return made

    def twin(self, p: TensorProxy) -> TensorProxy:
        """Another array, or scalar, like ``p``."""
        return TensorProxy(self.new.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)

    def emit_into(self, output: TensorProxy, sym: Any, *args: Any, **kwargs: Any) -> None:
        b = sym.bind(*args, output=output, **kwargs)
        if not any(fuses(f, b) for f in self.fusers):
            raise _Gather
        self.made.append(b)

    def wide(self, mask: TensorProxy, shape: Sequence[Dim]) -> TensorProxy:
        """``mask`` for arrays of ``shape``, which begins with its own."""
        if mask.ndim == len(shape):
            return mask
        return self.emit(
            prims.broadcast_in_dim, mask, tuple(shape), tuple(range(mask.ndim)), shape=shape, dtype=mask.dtype
        )

    def mask_of(self, indices: Sequence[Any]) -> TensorProxy | None:
        """The mask whose positions ``indices`` are, all of them and in order."""
        found = [self.positions[p.name] for p in indices if p.name in self.positions]
        if not found or len(found) < len(indices):
            return None
        mask = found[0][0]
        in_order = all(of is mask and at == k for k, (of, at) in enumerate(found))
        return mask if in_order and mask.ndim == len(found) and _has_elements(mask) else None

    def operand(self, x: Any, mask: TensorProxy) -> Any:
        """What stands for an operand on all elements."""
        if is_number(x) or not isinstance(x, Proxy):
            return x
        found = self.masked.get(x.name)
        if found is None or found.mask is not mask:
            raise _Gather
        return found.full

    def _with_lengths(self) -> Trace:
        """The new trace with the lengths that it reads defined: by an array that has one, else by counting."""
        sized = define_sizes(self.new, self.given)
        lines: list[BoundSymbol] = []
        defined: set[str] = set()
        for b in sized.bound_symbols:
            if b.sym is prims.size and b.output.name in defined:
                continue
            for p in b.flat_inputs:
                if isinstance(p, NumberProxy) and p.name in self.lengths and p.name not in defined:
                    lines += self._count(p)
                    defined.add(p.name)
            lines.append(b)
            defined.update(p.name for p in b.flat_outputs)
        return Trace.like(self.new, lines)

    def _count(self, length: NumberProxy) -> list[BoundSymbol]:
        scratch = Trace.like(self.new)
        with tracing(scratch):
            ones = prims.convert_element_type(self.lengths[length.name], dtypes.int64)
            total = prims.sum(ones, tuple(range(ones.ndim)))
        self.new.take_names(scratch)
        return [*scratch.bound_symbols, prims.item.bind(total, output=length)]


def _with_masks_shown(b: BoundSymbol) -> list[BoundSymbol]:
    """``b``, or its parts if it makes a mask that only they define (``np.nonzero(x)`` is where ``x != 0``)."""
    parts = list(_prims(b.subsymbols))
    masks = {p.args[0].name for p in parts if p.sym is prims.nonzero}
    if masks.isdisjoint(p.name for p in _flat_outputs(parts)):
        return [b]
    for part in parts:
        part.location = b.location
    return parts


def _flat_outputs(bsyms: Sequence[BoundSymbol]) -> Iterator[Proxy]:
    for b in bsyms:
        yield from b.flat_outputs


# What each prim means on all elements. A rule raises ``_Gather`` where it means nothing there.

_RULES: dict[str, Callable[[_Attempt, BoundSymbol], None]] = {}


def _rule(*names: str) -> Callable[[Any], Any]:
    def decorate(f: Any) -> Any:
        _RULES.update(dict.fromkeys(names, f))
        return f

    return decorate


def _elementwise(attempt: _Attempt, b: BoundSymbol) -> None:
    mask = next((attempt.masked[p.name].mask for p in b.flat_inputs if p.name in attempt.masked), None)
    if mask is None and not any(p.name in attempt.positions for p in b.flat_inputs):
        _with_count(attempt, b)
        return
    if mask is None or OpTags.MAY_RAISE in b.sym.tags:
        raise _Gather
    row = rows.get(b.sym.name)
    if row is not None and "i" not in row.takes and row.name not in _CHEAP:
        attempt.costly[mask.name] = attempt.costly.get(mask.name, 0) + 1
        if attempt.costly[mask.name] > COSTLY_LIMIT:
            raise _Gather
    args = [attempt.operand(x, mask) for x in b.args]
    shape = (*mask.shape, *b.output.shape[1:])
    full = attempt.emit(b.sym, *args, shape=shape, dtype=b.output.dtype, **b.kwargs)
    attempt.masked[b.output.name] = _Masked(mask, full)


def _with_count(attempt: _Attempt, b: BoundSymbol) -> None:
    """An operation that reads how many there are: of a 0-d array, if a fuser takes that, so that the program need not wait for a number."""
    made = len(attempt.made)
    try:
        if not isinstance(b.output, TensorProxy):
            raise _Gather
        if b.sym is prims.convert_element_type and b.output.dtype is dtypes.int64:
            ones = _ones(attempt, attempt.lengths[b.args[0].name])
            attempt.emit_into(b.output, prims.sum, ones, tuple(range(ones.ndim)))
        elif b.output.dtype in (dtypes.float32, dtypes.float64) and rows.get(b.sym.name) is not None:
            args = [_counted(attempt, x, b.output) for x in b.args]
            attempt.emit_into(b.output, b.sym, *args, **b.kwargs)
        else:
            raise _Gather
    except _Gather:
        attempt.made[made:] = [b]


def _ones(attempt: _Attempt, mask: TensorProxy) -> TensorProxy:
    return attempt.emit(prims.convert_element_type, mask, dtypes.int64, shape=mask.shape, dtype=dtypes.int64)


def _counted(attempt: _Attempt, x: Any, like: TensorProxy) -> Any:
    """The length ``x`` as an array like another; any other operand as it is."""
    if not isinstance(x, NumberProxy):
        return x
    if x.name not in attempt.lengths:
        raise _Gather
    ones = _ones(attempt, attempt.lengths[x.name])
    count = attempt.emit(prims.sum, ones, tuple(range(ones.ndim)), shape=(), dtype=ones.dtype)
    count = attempt.emit(prims.convert_element_type, count, like.dtype, shape=(), dtype=like.dtype)
    if not like.ndim:
        return count
    return attempt.emit(prims.broadcast_in_dim, count, like.shape, (), shape=like.shape, dtype=like.dtype)


@_rule("clone")
def _clone(attempt: _Attempt, b: BoundSymbol) -> None:
    if b.args[0].name not in attempt.masked:
        raise _Gather
    attempt.masked[b.output.name] = attempt.masked[b.args[0].name]


@_rule("take")
def _take(attempt: _Attempt, b: BoundSymbol) -> None:
    a, indices, dim = b.args
    _select(attempt, b, a, [indices] if dim == 0 else [])


@_rule("index_get")
def _index_get(attempt: _Attempt, b: BoundSymbol) -> None:
    _select(attempt, b, *b.args)


def _select(attempt: _Attempt, b: BoundSymbol, a: TensorProxy, indices: Sequence[Any]) -> None:
    mask = attempt.mask_of(indices)
    if mask is None or sizes.shapes_equal(a.shape[: mask.ndim], mask.shape) is not True:
        raise _Gather
    attempt.masked[b.output.name] = _Masked(mask, a)


@_rule("index_put")
def _index_put(attempt: _Attempt, b: BoundSymbol) -> None:
    a, indices, values, accumulate = b.args
    mask = attempt.mask_of(indices)
    if mask is None or sizes.shapes_equal(a.shape[: mask.ndim], mask.shape) is not True:
        raise _Gather
    full = attempt.operand(values, mask)
    if accumulate:  # each position is there once
        full = attempt.emit(prims.add, a, full, shape=a.shape, dtype=a.dtype)
    attempt.emit_into(b.output, prims.where, attempt.wide(mask, a.shape), full, a)


@_rule("full")
def _full(attempt: _Attempt, b: BoundSymbol) -> None:
    shape, value = b.args
    mask = attempt.lengths.get(getattr(shape[0], "name", "")) if shape else None
    if mask is None or not sizes.is_decided((*mask.shape, *shape[1:])):
        raise _Gather
    wanted = (*mask.shape, *shape[1:])
    full = TensorProxy(attempt.new.make_name("t"), like=b.output, shape=wanted, lang=b.output.lang)
    attempt.emit_into(full, b.sym, wanted, value, **b.kwargs)
    attempt.masked[b.output.name] = _Masked(mask, full)


@_rule("broadcast_in_dim")
def _broadcast(attempt: _Attempt, b: BoundSymbol) -> None:
    a, shape, dims = b.args
    mask = attempt.lengths.get(getattr(shape[0], "name", "")) if shape else None
    if mask is None or not sizes.is_decided(shape[1:]):
        raise _Gather
    rest = [d - 1 + mask.ndim for d in dims if d != 0]
    if a.name in attempt.masked:
        if 0 not in dims:
            raise _Gather
        a, rest = attempt.operand(a, mask), [*range(mask.ndim), *rest]
    elif 0 in dims:
        raise _Gather
    wanted = (*mask.shape, *shape[1:])
    if sizes.shapes_equal(a.shape, wanted) is not True:
        a = attempt.emit(prims.broadcast_in_dim, a, wanted, tuple(rest), shape=wanted, dtype=a.dtype)
    attempt.masked[b.output.name] = _Masked(mask, a)


@_rule("squeeze")
def _squeeze(attempt: _Attempt, b: BoundSymbol) -> None:
    a, dims = b.args
    found = attempt.masked.get(a.name)
    if found is None or 0 in dims:
        raise _Gather
    rest = tuple(d - 1 + found.mask.ndim for d in dims)
    shape = (*found.mask.shape, *b.output.shape[1:])
    made = attempt.emit(prims.squeeze, found.full, rest, shape=shape, dtype=a.dtype)
    attempt.masked[b.output.name] = _Masked(found.mask, made)


@_rule("size")
def _size(attempt: _Attempt, b: BoundSymbol) -> None:
    if b.output.name not in attempt.lengths:
        raise _Gather
    attempt.counted.add(b.output.name)


@_rule("select")
def _end(attempt: _Attempt, b: BoundSymbol) -> None:
    """The first position where a mask holds, or the last one: the extreme of them."""
    a, _, index = b.args
    mask, _ = attempt.positions.get(a.name, (None, 0))
    is_end = type(index) is int and index in (0, -1) and a.lang.name == "numpy"  # others have another error
    is_kept = b.output.name in attempt.dead or b.output.name in attempt.gathered
    if mask is None or not is_end or mask.ndim != 1 or not _has_elements(mask) or is_kept:
        raise _Gather
    reduction, dtype = "amin" if index == 0 else "amax", a.dtype
    places = TensorProxy(attempt.new.make_name("t"), like=a, shape=mask.shape, lang=a.lang)
    attempt.emit_into(places, prims.iota, mask.shape[0], device=a.device, dtype=dtype)
    neutral = _neutral(reduction, dtype)
    chosen = attempt.emit(prims.where, mask, places, neutral, shape=mask.shape, dtype=dtype)
    found = attempt.twin(b.output)
    attempt.emit_into(found, prims.registry[reduction], chosen, (0,))
    some = attempt.emit(prims.ne, found, neutral, shape=(), dtype=dtypes.bool8)
    error = IndexError, f"index {index} is out of bounds for axis 0 with size 0"
    attempt.emit_into(b.output, prims.require, found, some, *error)
    attempt.ends.setdefault(a.name, set()).add(b.output.name)


_ROWS = {row.name: row for row in REDUCTIONS}
#: reductions of which NumPy has no result for nothing, and NumPy's ufunc
_OF_SOME = {row.name: rows[row.combines].numpy for row in REDUCTIONS if row.neutral is None}


@_rule(*_ROWS)
def _reduce(attempt: _Attempt, b: BoundSymbol) -> None:
    a, dims = b.args
    found = attempt.masked.get(a.name)
    if found is None:
        raise _Gather
    mask, full = found.mask, found.full
    rest = [d - 1 + mask.ndim for d in dims if d != 0]
    if 0 not in dims:
        shape = (*mask.shape, *b.output.shape[1:])
        made = attempt.emit(b.sym, full, tuple(rest), shape=shape, dtype=b.output.dtype)
        attempt.masked[b.output.name] = _Masked(mask, made)
        return
    neutral = _neutral(b.sym.name, a.dtype)
    if neutral is None:
        raise _Gather
    chosen = attempt.emit(prims.where, attempt.wide(mask, full.shape), full, neutral, shape=full.shape, dtype=a.dtype)
    every = (*range(mask.ndim), *rest)
    says = _OF_SOME.get(b.sym.name)
    if says is None:
        attempt.emit_into(b.output, b.sym, chosen, every)
        return
    some = attempt.emit(prims.any, mask, tuple(range(mask.ndim)), shape=(), dtype=mask.dtype)
    message = f"zero-size array to reduction operation {says} which has no identity"
    before = len(attempt.made)
    try:
        if b.output.name in attempt.dead:
            raise _Gather  # what nothing reads raises, too: under its own name
        checked = attempt.emit(prims.require, chosen, some, ValueError, message, shape=chosen.shape, dtype=a.dtype)
        attempt.emit_into(b.output, b.sym, checked, every)
    except _Gather:  # an executor of single operations checks
        del attempt.made[before:]
        found_one = attempt.twin(b.output)
        attempt.emit_into(found_one, b.sym, chosen, every)
        attempt.made.append(prims.require.bind(found_one, some, ValueError, message, output=b.output))


def _neutral(reduction: str, dtype: dtypes.DType) -> Any:
    """What changes nothing in a reduction of values of that kind; ``None`` if nothing does."""
    neutral = _ROWS[reduction].neutral
    if neutral is not None:
        if (dtype.kind == "b") != isinstance(neutral, bool):
            return None
        made = {"f": float, "c": complex}.get(dtype.kind, type(neutral))(neutral)
        return -made if reduction == "sum" and dtype.kind in "fc" else made
    if dtype.kind in "iu":
        return dtype.limits[reduction != "amax"]
    return {"b": reduction == "amin", "f": -math.inf if reduction == "amax" else math.inf}.get(dtype.kind)


@_rule("var")
def _var(attempt: _Attempt, b: BoundSymbol) -> None:
    a, dims = b.args
    correction = b.kwargs["correction"]
    found = attempt.masked.get(a.name)
    if found is None or type(correction) not in (int, float) or a.dtype.kind != "f" or a.dtype.bits < 32:
        raise _Gather
    mask, full, dtype, shape = found.mask, found.full, a.dtype, b.output.shape
    rest = [d - 1 + mask.ndim for d in dims if d != 0]
    if 0 not in dims:
        outer = (*mask.shape, *shape[1:])
        made = attempt.emit(b.sym, full, tuple(rest), shape=outer, dtype=dtype, correction=correction)
        attempt.masked[b.output.name] = _Masked(mask, made)
        return
    every = (*range(mask.ndim), *rest)
    kept = tuple(d for d in range(full.ndim) if d not in every)
    wide = attempt.wide(mask, full.shape)

    def total(x: TensorProxy) -> TensorProxy:
        return attempt.emit(prims.sum, x, every, shape=shape, dtype=x.dtype)

    def chosen(x: TensorProxy) -> TensorProxy:
        return attempt.emit(prims.where, wide, x, 0.0, shape=full.shape, dtype=dtype)

    def both(sym: Any, x: TensorProxy, y: Any) -> TensorProxy:
        return attempt.emit(sym, x, y, shape=x.shape, dtype=dtype)

    counted = total(attempt.emit(prims.convert_element_type, wide, dtypes.int64, shape=full.shape, dtype=dtypes.int64))
    count = attempt.emit(prims.convert_element_type, counted, dtype, shape=shape, dtype=dtype)
    mean = both(prims.div, total(chosen(full)), count)
    spread = attempt.emit(prims.broadcast_in_dim, mean, full.shape, kept, shape=full.shape, dtype=dtype)
    distance = chosen(both(prims.sub, full, spread))
    squares = total(both(prims.mul, distance, distance))
    if correction:
        count = both(prims.maximum, both(prims.sub, count, float(correction)), 0.0)
    attempt.emit_into(b.output, prims.div, squares, count)
