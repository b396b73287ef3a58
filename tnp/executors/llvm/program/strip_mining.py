"""Loops over columns, strip by strip of the rows.

``for k in range(2, n): y[:, k] = a * x[:, k] + b * y[:, k - 1]`` walks down columns of memory that lies in rows: each
iteration touches a line of the cache for every element. All that the loop does to one row is independent of the other
rows, so the whole loop may run for some rows first, then for the next, each of whose lines is then used until it is
through; and strips may be different threads' (:mod:`parallel`).

That holds for a dimension along which the body does nothing but go element by element: :func:`plan` follows the
dimensions of all arrays from operation to operation. Where a check may fail, iterations have to be in their order, and
there are no strips.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.core import prims
from tnp.core.elementwise_table import by_name
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.views import update
from tnp.executors.llvm.program.liveness import steps_of

__all__ = ["Strips", "Uncut", "plan"]

#: elements that an operation has at least in a strip, if the dimension is long enough
LEAST = 16
#: iterations, and elements of a dimension, from which on strips are worth it
MANY = 32

_VIEWS = (prims.select, prims.dynamic_slice, prims.squeeze, prims.transpose, prims.slice)
_ELEMENT_BY_ELEMENT = {*by_name, "where", "convert_element_type", "bitcast", "real", "imag", "complex", "clone"}

_Dim = tuple[str, int]


@dataclass(frozen=True)
class Strips:
    """Which dimension of each array, by name, is cut; how long it is, and how long a strip."""

    dims: dict[str, int]
    length: int
    strip: int

    def adapted(self, b: BoundSymbol) -> BoundSymbol:
        """An operation that says how large its result is, for a strip."""
        cut = self.dims.get(b.output.name)
        at = {"full": 0, "broadcast_in_dim": 1}.get(b.sym.name)
        if cut is None or at is None:
            return b
        args = list(b.args)
        args[at] = [self.strip if d == cut else n for d, n in enumerate(args[at])]
        return b.replace(args=tuple(args))

    def reads_part(self, b: BoundSymbol) -> bool:
        """Whether an operation takes a part, which is cut, of an array that is not."""
        return b.sym is prims.slice and b.output.name in self.dims and b.args[0].name not in self.dims


class Uncut(Exception):
    """A loop was cut that has to keep the order of its iterations: the program is to be written without strips."""


class _Unknown(Exception):
    """An operation that does something else."""


class _Dims:
    """Sets of dimensions that go together, element by element."""

    def __init__(self) -> None:
        self.parent: dict[_Dim, _Dim] = {}
        self.lengths: dict[_Dim, Any] = {}
        self.whole: set[_Dim] = set()

    def find(self, x: _Dim) -> _Dim:
        while self.parent[x] != x:
            x = self.parent[x]
        return x

    def add(self, p: TensorProxy) -> None:
        for d, n in enumerate(p.shape):
            self.parent.setdefault((p.name, d), (p.name, d))
            self.lengths[p.name, d] = n

    def link(self, p: TensorProxy, d: int, q: TensorProxy, e: int) -> None:
        """A dimension of one array is one of another; those of different lengths are not: one is repeated."""
        for x in (p, q):
            self.add(x)
        if _are_equal(p.shape[d], q.shape[e]):
            self.parent[self.find((p.name, d))] = self.find((q.name, e))
        else:
            self.keep(p, d)
            self.keep(q, e)

    def keep(self, p: TensorProxy, d: int) -> None:
        """The dimension cannot be cut."""
        self.add(p)
        self.whole.add((p.name, d))

    def sets(self) -> Iterator[list[_Dim]]:
        """The sets that may be cut."""
        found: dict[_Dim, list[_Dim]] = {}
        for x in self.parent:
            found.setdefault(self.find(x), []).append(x)
        kept = {self.find(x) for x in self.whole}
        for root, members in found.items():
            if root not in kept:
                yield members


def plan(b: BoundSymbol, strides: dict[str, Sequence[int]]) -> Strips | None:
    """How to cut a ``for`` loop; ``strides`` are those of the arrays that it has from outside, in bytes."""
    body: Body = b.args[3]
    args = body.args[1:]
    if not args or not all(isinstance(a, TensorProxy) and a.shape for a in args):
        return None
    dims, steps = _Dims(), list(steps_of(body.bound_symbols))
    try:
        for step in steps:
            _follow(dims, step)
    except _Unknown:
        return None
    cheapest = None
    for members in dims.sets():
        cut = dict(members)
        if len(cut) < len(members) or any(a.name not in cut for a in args):
            continue
        length = dims.lengths[members[0]]
        if type(length) is not int or length < MANY or not _is_across(steps, strides, cut):
            continue
        rest = max(_elements(s, cut) for s in steps)
        if cheapest is None or rest < cheapest[0]:
            cheapest = rest, Strips(cut, length, _strip(length, rest))
    return None if cheapest is None else cheapest[1]


def _strip(length: int, rest: int) -> int:
    """A divisor of the length, for at least some elements at once."""
    wanted = max(1, LEAST // max(1, rest))
    return next(s for s in range(wanted, length + 1) if length % s == 0)


def _elements(step: BoundSymbol, cut: dict[str, int]) -> int:
    """The elements of what a step computes, without the dimension that is cut."""
    out = step.output
    if not isinstance(out, TensorProxy) or step.sym in (update, prims.copy_) or OpTags.VIEW in step.sym.tags:
        return 0
    return math.prod(n for d, n in enumerate(out.shape) if d != cut.get(out.name) and type(n) is int)


def _is_across(steps: Sequence[BoundSymbol], strides: dict[str, Sequence[int]], cut: dict[str, int]) -> bool:
    """Whether iterations go along memory, and what is cut across."""
    across = along = 0
    for s in steps:
        if s.sym is not prims.select or not isinstance(s.args[2], Proxy):
            continue
        name, dim = s.args[0].name, s.args[1]
        if name in strides and name in cut:
            near, far = abs(strides[name][dim]), abs(strides[name][cut[name]])
            across, along = across + (near < far), along + (near >= far)
    return across > along


def _are_equal(n: Any, m: Any) -> bool:
    """Whether two lengths are known, and the same."""
    return type(n) is int and type(m) is int and n == m


def _follow(dims: _Dims, b: BoundSymbol) -> None:
    """Which dimensions of an operation's arguments are which of its result."""
    if is_control_flow(b):
        raise _Unknown
    out, arrays, name = b.output, [p for p in b.flat_inputs if isinstance(p, TensorProxy)], b.sym.name
    if isinstance(out, NumberProxy):
        if any(a.shape for a in arrays):
            raise _Unknown
        return
    if not isinstance(out, TensorProxy):
        raise _Unknown
    dims.add(out)
    if name in _ELEMENT_BY_ELEMENT:
        for a in arrays:
            for d in range(len(a.shape)):
                dims.link(a, d, out, d)
    elif b.sym is prims.copy_:
        for d in range(len(out.shape)):
            dims.link(arrays[0], d, out, d)
            dims.link(arrays[1], d, out, d)
    elif b.sym is update:
        _follow_update(dims, b)
    elif b.sym in _VIEWS:
        _follow_view(dims, b, may_be_part=True)
    elif b.sym is prims.broadcast_in_dim:
        for d, e in enumerate(b.args[2]):
            if _are_equal(arrays[0].shape[d], out.shape[e]):
                dims.link(arrays[0], d, out, e)
            else:
                dims.keep(arrays[0], d)
    elif b.sym is not prims.full or arrays:
        raise _Unknown


def _follow_view(dims: _Dims, b: BoundSymbol, may_be_part: bool = False) -> None:
    a, out = b.args[0], b.output
    if b.sym in (prims.select, prims.squeeze):
        gone = [b.args[1]] if b.sym is prims.select else list(b.args[1])
        for d in gone:
            dims.keep(a, d)
        left = [d for d in range(len(a.shape)) if d not in gone]
    else:
        left = list(b.args[1]) if b.sym is prims.transpose else list(range(len(a.shape)))
    for e, d in enumerate(left):
        cut = b.sym is prims.dynamic_slice and d == b.args[1]
        if cut:
            dims.keep(a, d)
            dims.keep(out, e)
        elif b.sym is prims.slice and may_be_part and not _are_equal(a.shape[d], out.shape[e]):
            dims.keep(a, d)  # of an array that is only read, any part will do
        else:
            dims.link(a, d, out, e)


def _follow_update(dims: _Dims, b: BoundSymbol) -> None:
    base, value = b.args[:2]
    for d in range(len(base.shape)):
        dims.link(base, d, b.output, d)
    current = base
    for inner in steps_of(b.subsymbols) if len(b.args) > 2 else ():
        if OpTags.VIEW in inner.sym.tags and inner.args[0].name == current.name:
            if inner.sym not in _VIEWS:
                raise _Unknown
            dims.add(inner.output)
            _follow_view(dims, inner)
            current = inner.output
    if not isinstance(value, TensorProxy):
        return
    first = len(current.shape) - len(value.shape)
    for d in range(len(value.shape)):
        if d + first < 0:
            dims.keep(value, d)
        else:
            dims.link(value, d, current, d + first)
