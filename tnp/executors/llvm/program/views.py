"""Views: new offsets and strides for arrays in memory, new positions for lazy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import view_maps
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.hoisting import is_checked_ahead, learn
from tnp.executors.llvm.program.integers import Atom, Int, coefficient, row_major, without
from tnp.executors.llvm.program.ir import Operand, Register
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.numbers import whole
from tnp.executors.llvm.program.rotations import rotation
from tnp.executors.llvm.program.rules import rule, step
from tnp.executors.llvm.program.values import Array, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.view_maps import Map
from tnp.runtime.launcher import RECORD_WORDS

__all__ = ["STORE", "VIEWS", "broadcast", "do_not_fit", "from_end", "moved", "require_equal", "sliced", "take_one"]

#: what NumPy says of two shapes: of operands, and of what is stored and where
OPERANDS = "operands could not be broadcast together with shapes {} {} "
STORE = "could not broadcast input array from shape {} into shape {}"
#: of what is stored through arrays of indices, and of those
INDEXED = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"
INDICES = "shape mismatch: indexing arrays could not be broadcast together with shapes {} {} "

#: operations up to which elements are computed again for each place of a broadcast
CHEAP = 8


def moved(x: Array, shape: Sequence[Int], where: Map) -> Array:
    """A view of ``x``: its element at a position is the element of ``x`` at ``where(position)``. An array in memory gets a new offset and
    new strides."""
    if not isinstance(x, StridedView):
        cuts = _moved_cuts(x, shape, where) if isinstance(x, Thunk) and x.cuts else {}
        return Thunk(shape, x.dtype, lambda p, at: x.element(p, tuple(map(Int.of, where(at)))), x.reads, x.cost, cuts)
    probes = [Atom(f"%at{d}") for d in range(len(shape))]
    found = [Int.of(i) for i in where(tuple(Int(0, {a: 1}) for a in probes))]
    offset, strides = x.offset, [Int()] * len(shape)
    for i, stride in zip(found, x.strides):
        offset = offset + without(i, probes) * stride
        for d, atom in enumerate(probes):
            c = coefficient(i, atom)
            assert c is not None
            strides[d] = strides[d] + c * stride
    return x.like(offset, shape, strides)


def _moved_cuts(x: Thunk, shape: Sequence[Int], where: Map) -> dict[int, tuple[Int, ...]]:
    """Where loops over a view of ``x`` are to be cut: along dimensions of its own that go along those of ``x``."""
    probes = [Int(0, {Atom(f"%at{d}"): 1}) for d in range(len(shape))]
    found = list(map(Int.of, where(tuple(probes))))
    return {
        d: tuple(cut - (found[e] - probe) for cut in cuts)
        for e, cuts in x.cuts.items()
        for d, probe in enumerate(probes)
        if not (found[e] - probe).terms.keys() & {a for other in probes for a in other.terms}
    }


def _select(p: Program, out: Any, a: Array, dim: int, index: Any) -> Array:
    n, i = a.shape[dim], whole(p, index)
    p.waiting.append((dim, lambda: _check_index(p, i, n, dim)))
    p.last_select = out.name
    return take_one(p, a, dim, _from_end(p, i, n))


def take_one(p: Program, a: Array, dim: int, i: Int) -> Array:
    return moved(a, [m for d, m in enumerate(a.shape) if d != dim], view_maps.selected(dim, i))


def from_end(p: Program, i: Operand, n: Int) -> Register:
    """``i``, or ``i + n`` if it is negative."""
    code = p.code
    negative = code.compare("slt", i, 0)
    return code.whole("add", i, code.select(negative, n, ZERO, dtypes.int64))


def _from_end(p: Program, i: Int, n: Int) -> Int:
    """An index in bounds, from the beginning."""
    if i.low >= 0:
        return i
    if i.high < 0:
        return i + n

    return p.atom(("from end", i, n), lambda: from_end(p, i, n), 0, max(0, n.high - 1), p.most(n - 1))


def _check_index(p: Program, i: Int, n: Int, dim: int) -> None:
    key = ("in bounds", i, n)
    if p.find(key):
        return
    if ((i + n).low < 0 or (n - i).low < 1) and not is_checked_ahead(p, i, n):
        above = p.less(Int(-1), i + n) if (i + n).fits else p.less(n * -1 - 1, i)
        below = p.less(i, n)
        p.check(
            p.code.both(above, below),
            lambda at, size: IndexError(f"index {at} is out of bounds for axis {dim} with size {size}"),
            i,
            n,
        )
    learn(p, i, n)
    p.known[-1][key] = True


def _bounds(p: Program, n: Int, start: Any, stop: Any, step: int) -> tuple[Int, Int]:
    """The first position of a slice, and how many there are, as Python's ``slice.indices`` has it."""
    low, high = (ZERO, n) if step > 0 else (Int(-1), n - 1)

    def clipped(x: Any, default: Int) -> Int:
        if x is None:
            return default
        i = whole(p, x)
        if i.high < 0:
            i = i + n
        elif i.low < 0:
            i = _from_end_unchecked(p, i, n)
        return p.minimum(p.maximum(i, low), high)

    first, last = (clipped(start, low), clipped(stop, high)) if step > 0 else (clipped(start, high), clipped(stop, low))
    length = p.maximum(last - first if step > 0 else first - last, ZERO)
    return first, length if abs(step) == 1 else _count(p, length, abs(step))


def _from_end_unchecked(p: Program, i: Int, n: Int) -> Int:
    return p.atom(("slice from end", i, n), lambda: from_end(p, i, n), i.low, max(i.high, n.high - 1))


def _count(p: Program, length: Int, step: int) -> Int:
    if length.known is not None:
        return Int(-(-length.known // step))
    up = length + (step - 1)
    return p.atom(
        ("count", length, step), lambda: p.code.whole("udiv", up, step), up.low // step, up.high // step,
        p.most(length),
    )  # fmt: skip


def _dynamic_slice(p: Program, out: Any, a: Array, dim: int, start: Any, stop: Any, step: int = 1) -> Array:
    first, length = _bounds(p, a.shape[dim], start, stop, step)
    return sliced(a, dim, first, length, step)


def sliced(a: Array, dim: int, first: Int, length: Int, step: int) -> Array:
    shape = [length if d == dim else m for d, m in enumerate(a.shape)]
    starts, steps = (
        [first if d == dim else 0 for d in range(len(shape))],
        [step if d == dim else 1 for d in range(len(shape))],
    )
    return moved(a, shape, view_maps.sliced(starts, steps))


def _slice(p: Program, out: Any, a: Array, starts: Any, stops: Any, strides: Any = None) -> Array:
    for d, (start, stop, by) in enumerate(zip(starts, stops, strides or [1] * len(starts))):
        first, last = whole(p, start), whole(p, stop)
        unchanged = first == ZERO and by == 1 and (last - a.shape[d]).low >= 0
        if not unchanged:
            if a.shape[d].known is None and not a.shape[d].is_of_sizes:
                raise Refused("a slice of a size of the program")
            length = last - first
            a = sliced(a, d, first, length if by == 1 else _count(p, length, by), by)
    return a


def _broadcast_in_dim(p: Program, out: Any, a: Array, shape: Sequence[Any], dims: Sequence[int]) -> Array:
    return broadcast(p, a, [whole(p, n) for n in shape], dims, _words(p, out))


def _words(p: Program, out: Any) -> str:
    """What NumPy says if what becomes ``out`` does not fit: that depends on who wants it in that shape."""
    for later in p.blocks[-1].steps if p.blocks else ():
        if later.sym in (prims.index_put, prims.index_get):
            if any(i.name == out.name for i in later.args[1]):
                return INDICES
            if later.sym is prims.index_put and later.args[2].name == out.name:
                return INDEXED
    return OPERANDS


def broadcast(p: Program, a: Array, shape: Sequence[Int], dims: Sequence[int], words: str = OPERANDS) -> Array:
    """``a`` repeated to ``shape``, its dimension ``i`` at ``dims[i]``. ``words`` say what is wrong with two shapes."""
    if isinstance(a, Scalar):
        value = a
        return Thunk(shape, a.dtype, lambda p, at: value.value) if shape else a
    repeated = [n.known == 1 and shape[d].known != 1 for n, d in zip(a.shape, dims)]
    for n, d, again in zip(a.shape, dims, repeated):
        if not again:
            # Of two operands it is the second that is repeated to the shape of the first.
            order = (a.shape, shape) if words in (STORE, INDEXED) else (shape, a.shape)
            require_equal(p, n, shape[d], *do_not_fit(*order, words))
    if isinstance(a, Thunk) and a.cost > CHEAP and (any(repeated) or len(shape) > len(dims)):
        a = p.force(a)
    return moved(a, shape, view_maps.broadcast(repeated, dims))


def do_not_fit(a: Sequence[Int], b: Sequence[Int], words: str = OPERANDS) -> tuple[Callable[..., Exception], list[Int]]:
    """What to raise of two shapes that do not fit, and of what numbers, for :func:`require_equal`."""
    rank = len(a)

    def failure(*sizes: int) -> Exception:
        kind = IndexError if words is INDICES else ValueError
        return kind(words.format(*(f"({', '.join(map(str, s))}{',' * (len(s) == 1)})".replace(" ", "") for s in (sizes[:rank], sizes[rank:]))))  # fmt: skip

    return failure, [*a, *b]


def require_equal(
    p: Program, n: Int, m: Int, failure: Callable[..., BaseException], numbers: Sequence[Int] | None = None
) -> None:
    """Raises ``failure(*numbers)`` (default: the two) at run time if two sizes differ. Where one may be 1, eager would repeat it: it
    runs instead, as it does if there are more numbers than a record has room for."""
    if n == m:
        return
    key = ("equal", *sorted((n, m), key=repr))
    if p.find(key):
        return
    same = p.equal(n, m)
    told = [n, m] if numbers is None else list(numbers)
    left = any(x.low <= 1 <= x.high for x in (n, m)) or len(told) >= RECORD_WORDS
    p.check(same, None if left else failure, *(() if left else told))
    p.known[-1][key] = True


def _reshape(p: Program, out: TensorProxy, a: Array, shape: Sequence[Any]) -> Array:
    new = [whole(p, n) for n in shape]
    if isinstance(a, Scalar):
        return broadcast(p, a, new, ())
    kept = [d for d, n in enumerate(a.shape) if n.known != 1]
    wanted = [d for d, n in enumerate(new) if n.known != 1]
    if len(kept) == len(wanted) and all(a.shape[d] == new[e] for d, e in zip(kept, wanted)):
        return moved(a, new, view_maps.with_ones(dict(zip(kept, wanted)), len(a.shape)))
    if not all(n.is_of_sizes for n in (*a.shape, *new)) and not _only_rows_differ(a.shape, new):
        raise Refused("a reshape to sizes of the program")
    place = a if isinstance(a, StridedView) and _is_contiguous(a) else p.force(a)
    strides, _ = row_major(new, place.dtype.itemsize)
    return place.like(place.offset, new, strides)


def _only_rows_differ(a: Sequence[Int], b: Sequence[Int]) -> bool:
    """Whether the first dimension alone has a size of the program, of which there is the same number of elements in both shapes."""
    rows = []
    for first, *others in (a, b):
        sizes = [n.known for n in others]
        if None in sizes:
            return False
        rows.append(first * math.prod(n for n in sizes if n is not None))
    return rows[0] == rows[1]


def _is_contiguous(a: StridedView) -> bool:
    expected, _ = row_major(a.shape, a.dtype.itemsize)
    return all(n.low > 0 and (n.known == 1 or Int.of(s) == e) for n, s, e in zip(a.shape, a.strides, expected))


#: The prims that look at memory and have rules of their own here, by name. :mod:`.vocabulary` adds those that are lowered as in regions.
#: A write may go through all of them.
VIEWS: dict[str, Callable[..., Array]] = {
    "select": _select,
    "dynamic_slice": _dynamic_slice,
    "slice": _slice,
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
}
for _name, _view in VIEWS.items():
    rule(_name)(_view)


@step("slice")
def _slice_or_part(p: Program, b: BoundSymbol) -> None:
    """A slice; of an array that is read as a whole, the part that a strip needs (:mod:`strips`)."""
    a, starts, stops, steps = (
        p.value(b.args[0]),
        *b.args[1:3],
        b.args[3] if len(b.args) > 3 else b.kwargs.get("strides"),
    )
    if p.strips is not None and p.strips.reads_part(b):
        cut = p.strips.dims[b.output.name]
        by = steps[cut] if steps else 1
        a = sliced(a, cut, p.strip_begin * by + starts[cut], Int(p.strips.strip), by)
        starts, stops = list(starts), list(stops)
        starts[cut], stops[cut] = 0, p.strips.strip
        steps = [1 if d == cut else s for d, s in enumerate(steps)] if steps else None
    p.bind(b.output, _slice(p, b.output, a, starts, stops, steps))


@rule("size")
def _size(p: Program, out: Any, a: Array, dim: int) -> Number:
    return Number(int, a.shape[dim])


@rule("clone", "stride_order")
def _clone(p: Program, out: Any, a: Array, order: Any = None) -> Array:
    if isinstance(a, Scalar):
        return a
    return Thunk(a.shape, a.dtype, a.element, a.reads, a.cost, a.cuts if isinstance(a, Thunk) else None)


@rule("concatenate")
def _concatenate(p: Program, out: TensorProxy, arrays: Sequence[Array], dim: int) -> Array:
    total, starts = ZERO, list[Int]()
    for a in arrays:
        starts.append(total)
        total = total + a.shape[dim]
    first = arrays[0]
    for a in arrays[1:]:
        for d, (n, m) in enumerate(zip(first.shape, a.shape)):
            if d != dim:
                require_equal(p, n, m, *do_not_fit(first.shape, a.shape))
    shape = [total if d == dim else n for d, n in enumerate(first.shape)]
    round_ = rotation(p, arrays, dim, starts, shape)
    if round_ is not None:
        return round_
    made = p.room_for(out.name, shape, out.dtype)
    for begin, a in zip(starts, arrays):
        part = sliced(made, dim, begin, a.shape[dim], 1)
        assert isinstance(part, StridedView)
        p.fill(part, a)
    return made
