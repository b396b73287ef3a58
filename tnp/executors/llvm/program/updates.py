"""Writes to arrays."""

from __future__ import annotations

import math
from typing import Any

from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.integers import Atom, Int, coefficient
from tnp.executors.llvm.program.liveness import steps_of
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.numbers import as_dtype, whole
from tnp.executors.llvm.program.rules import step
from tnp.executors.llvm.program.values import Array, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import STORE, VIEWS, broadcast, sliced, take_one

__all__ = ["own"]

#: arrays with fewer elements are made as a whole
LEAST = 64


def own(p: Program, name: str, x: Array, is_needed: bool) -> StridedView:
    """Memory with the elements of ``x`` that the body being written may change; ``is_needed`` says that ``name`` is to keep
    its value."""
    if not isinstance(x, StridedView) or x.memory.level != p.level or not _has_places(x):
        return p.room(name, x)
    if is_needed:
        p.scopes[-1][name] = p.force(x)
    x.memory.indices_of = None  # anything may be written to it
    return x


def _has_places(x: StridedView) -> bool:
    """Whether each element has a place of its own, as far as that matters: a view that repeats none."""
    return all(stride or n.known == 1 for n, stride in zip(x.shape, x.strides))


def _fitted(p: Program, value: Any, target: StridedView) -> Array:
    """``value`` as elements of the target's shape and dtype."""
    if isinstance(value, (bool, int, float, complex, Number)):
        element = as_dtype(p, value, target.dtype)
        return Thunk(target.shape, target.dtype, lambda p, at: element)
    array: Array = value
    while len(array.shape) > len(target.shape):
        array = take_one(p, array, 0, ZERO)
    if array.dtype is not target.dtype:
        raise Refused("an update of another dtype")
    first = len(target.shape) - len(array.shape)
    if isinstance(array, Scalar) or array.shape != target.shape:
        return broadcast(p, array, target.shape, range(first, len(target.shape)), STORE)
    return array


@step("update")
def _update(p: Program, b: BoundSymbol) -> None:
    proxy = b.args[0]
    before = p.value(proxy)
    if isinstance(before, Thunk) and math.prod(n.high for n in before.shape) >= LEAST:
        _make_around(p, b, before)
        return
    base = own(p, proxy.name, p.value(proxy), p.is_live(proxy.name))
    target = _target(p, b, base)
    p.keep_what_is_read(base.memory, proxy.name)
    p.assign(target, _fitted(p, p.value(b.args[1]), target))
    p.bind(b.output, base)


def _make_around(p: Program, b: BoundSymbol, before: Thunk) -> None:
    """An update of an array without memory: where it is overwritten it is not made."""
    base = p.room_for(b.args[0].name, before.shape, before.dtype)
    steps = [Atom(f"%step{d}") for d in range(len(base.shape))]
    found = _target(p, b, base.like(ZERO, base.shape, [Int.of(a) for a in steps]))
    begins = [coefficient(found.offset, a) for a in steps]
    own = [[coefficient(Int.of(s), a) for s in found.strides] for a in steps]
    if any(c is None for c in (*begins, *(c for row in own for c in row))):
        raise Refused("an update through a view of other steps")
    offset, strides = base.offset, [ZERO] * len(found.shape)
    for begin, row, real in zip(begins, own, base.strides):
        offset = offset + begin * real
        strides = [s + c * real for s, c in zip(strides, row)]
    is_box = [s == Int.of(a) for s, a in zip(map(Int.of, found.strides), steps)]
    if len(found.shape) == len(base.shape) and all(is_box):
        part: Array = before
        rest: Array = base
        for d, (begin, count) in enumerate(zip(begins, found.shape)):
            end = begin + count
            for first, last in ((ZERO, begin), (end, base.shape[d])):
                if (last - first).known != 0:
                    p.fill(sliced(rest, d, first, last - first, 1), sliced(part, d, first, last - first, 1))
            rest, part = sliced(rest, d, begin, count, 1), sliced(part, d, begin, count, 1)
    else:
        p.fill(base, before)
    target = base.like(offset, found.shape, strides)
    p.keep_what_is_read(base.memory, b.args[0].name)
    p.assign(target, _fitted(p, p.value(b.args[1]), target))
    p.bind(b.output, base)


def _target(p: Program, b: BoundSymbol, base: StridedView) -> StridedView:
    """The view of ``base`` that an update writes to."""
    current: TensorProxy = b.args[0]
    found: Array = base
    for inner in steps_of(b.subsymbols) if len(b.args) > 2 else ():
        out = inner.output
        if isinstance(out, NumberProxy):
            p.step(inner)
        elif OpTags.VIEW in inner.sym.tags and inner.args[0].name == current.name:
            if inner.sym.name not in VIEWS:  # a part of complex numbers
                raise Refused(f"an update through {inner.sym.name}")
            found = VIEWS[inner.sym.name](p, out, found, *p.resolve(list(inner.args[1:])), **inner.kwargs)
            for n, m in zip(out.shape, found.shape):
                if isinstance(n, NumberProxy):
                    p.scopes[-1].setdefault(n.name, Number(int, m))
            current = out
    p.last_select = None
    p.flush()
    if not isinstance(found, StridedView) or found.memory is not base.memory:
        raise Refused("an update through a view that is a copy")
    return found


@step("copy_")
def _copy(p: Program, b: BoundSymbol) -> None:
    target = p.value(b.args[1])
    assert isinstance(target, StridedView)
    if not target.same_as(p.value(b.args[0])):
        p.keep_what_is_read(target.memory, b.args[1].name)
        p.assign(target, p.value(b.args[0]))
    p.bind(b.output, target)


@step("slice_update")
def _slice_update(p: Program, b: BoundSymbol) -> None:
    proxy, value = b.args[0], p.value(b.args[1])
    base = own(p, proxy.name, p.value(proxy), p.is_live(proxy.name))
    starts = b.args[2]
    steps = (b.args[3] if len(b.args) > 3 else b.kwargs.get("strides")) or [1] * len(starts)
    starts = p.resolve(list(starts))
    stops = [Number(int, (n - 1) * by + 1 + whole(p, start)) for start, n, by in zip(starts, value.shape, steps)]
    target = VIEWS["slice"](p, None, base, starts, stops, steps)
    assert isinstance(target, StridedView)
    p.keep_what_is_read(base.memory, proxy.name)
    p.assign(target, _fitted(p, value, target))
    p.bind(b.output, base)
