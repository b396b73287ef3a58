"""Joining, splitting, repeating, padding."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque, NeedsValue
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.lang.numpy.dtypes import dtype_argument, result_dtype, to_numpy_dtype
from tnp.lang.numpy.operands import (
    as_array,
    as_array_with,
    as_integer,
    as_item,
    beyond,
    integer_or_eager,
    is_complex,
    normalize_operand,
    size_or_int,
    static_int,
)  # fmt: skip
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.ranges import linspace
from tnp.lang.numpy.registry import alias, npsymbol
from tnp.lang.numpy.shape import at_least_1d, at_least_2d, at_least_3d, is_late

__all__ = ["concatenate", "gather_static", "repeat", "split", "stack", "tile"]


def _items(arrays: Any) -> list[Any]:
    """The arrays of a sequence of them; an array is a sequence along its first dimension."""
    if not isinstance(arrays, TensorProxy):
        check(
            isinstance(arrays, (tuple, list)),
            lambda: 'arrays to stack must be passed as a "sequence" type such as list or tuple.',
            TypeError,
        )
        return list(arrays)
    check(arrays.ndim > 0, lambda: "iteration over a 0-d array", TypeError)
    (length,) = sizes.concrete(arrays.shape[:1], "a sequence of arrays")
    return [prims.select(arrays, 0, i) for i in range(length)]


def _joined(arrays: list[TensorProxy], dim: Any, dtype: Any, casting: str, wanted: DType | None = None) -> TensorProxy:
    """The arrays along a dimension, in the dtype that they promote to or in ``dtype``."""
    check(len(arrays) > 0, lambda: "need at least one array to concatenate")
    check(arrays[0].ndim > 0, lambda: "zero-dimensional arrays cannot be concatenated")
    at = one_axis(arrays[0].ndim, dim)
    found = dtype_argument(dtype) if dtype is not None else wanted or result_dtype(*arrays)
    for a in arrays:
        check(
            np.can_cast(to_numpy_dtype(a.dtype), to_numpy_dtype(found), casting),
            lambda: f"Cannot cast array data from {a.dtype} to {found} according to the rule {casting!r}",
            TypeError,
        )
    return clang.concatenate([clang.convert(a, found) for a in arrays], at)


@npsymbol(returns="array", factory=True)
def concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> TensorProxy:
    """The arrays joined along an existing dimension, or flat without one."""
    operands = [normalize_operand(x) for x in _items(arrays)]
    check(len(operands) > 0, lambda: "need at least one array to concatenate")
    # Python numbers among flat arrays are weak, as in arithmetic.
    wanted = result_dtype(*operands)
    made = [as_array(x, wanted if is_number(x) else None) for x in operands]
    if axis is None:
        made, axis = [clang.reshape(a, (-1,)) for a in made], 0
    return _joined(made, axis, dtype, casting, wanted)


alias("concat", concatenate)


@npsymbol(returns="array", factory=True)
def stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> TensorProxy:
    """The arrays, of one shape, joined along a new dimension."""
    made = [as_array(x) for x in _items(arrays)]
    check(len(made) > 0, lambda: "need at least one array to stack")
    for a in made:
        check(sizes.shapes_equal(a.shape, made[0].shape), lambda: "all input arrays must have the same shape")
    at = one_axis(made[0].ndim + 1, axis)
    return _joined([clang.expand_dims(a, (at,)) for a in made], at, dtype, casting)


def _column(a: TensorProxy) -> TensorProxy:
    return clang.matrix_transpose(at_least_2d(a)) if a.ndim < 2 else a


@npsymbol(returns="array", factory=True)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> TensorProxy:
    """The arrays, vectors as rows, joined along the first dimension."""
    return _joined([at_least_2d(as_array(x)) for x in _items(tup)], 0, dtype, casting)


@npsymbol(returns="array", factory=True)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> TensorProxy:
    """The arrays joined along the second dimension; vectors along their only one."""
    made = [at_least_1d(as_array(x)) for x in _items(tup)]
    check(len(made) > 0, lambda: "need at least one array to concatenate")
    return _joined(made, 0 if made[0].ndim == 1 else 1, dtype, casting)


@npsymbol(returns="array", factory=True)
def dstack(tup: Any) -> TensorProxy:
    """The arrays, as at least three-dimensional ones, joined along the third dimension."""
    return _joined([at_least_3d(as_array(x)) for x in _items(tup)], 2, None, "same_kind")


@npsymbol(returns="array", factory=True)
def column_stack(tup: Any) -> TensorProxy:
    """The arrays, vectors as columns, joined along the second dimension."""
    return _joined([_column(as_array(x)) for x in _items(tup)], 1, None, "same_kind")


@npsymbol(returns="array", factory=True)
def block(arrays: Any) -> TensorProxy:
    """Nested lists of blocks put together: the innermost lists along the last dimension, and so on outwards."""
    depth = _block_depth(arrays)
    leaves = _block_leaves(arrays)
    rank = max(depth, *(a.ndim for a in leaves))
    rest = iter(leaves)

    def join(x: Any, level: int) -> TensorProxy:
        if level == depth:
            a = next(rest)
            return clang.expand_dims(a, range(rank - a.ndim))
        return _joined([join(y, level + 1) for y in x], level - depth, None, "same_kind")

    return join(arrays, 0)


def _block_depth(x: Any) -> int:
    check(not isinstance(x, tuple), lambda: "Only lists can be used to arrange blocks", TypeError)
    if not isinstance(x, list):
        return 0
    check(len(x) > 0, lambda: "List depths are mismatched or a list is empty")
    depths = {_block_depth(y) for y in x}
    check(len(depths) == 1, lambda: "List depths are mismatched")
    return depths.pop() + 1


def _block_leaves(x: Any) -> list[TensorProxy]:
    return [a for y in x for a in _block_leaves(y)] if isinstance(x, list) else [as_array(x)]


# Splitting: lists of views


@npsymbol(returns="view")
def unstack(x: Any, /, *, axis: Any = 0) -> tuple[TensorProxy, ...]:
    """The arrays along a dimension, without it; views."""
    x = as_array_with("ndim", x)
    check(x.ndim > 0, lambda: "Input array must be at least 1-d.")
    at = one_axis(x.ndim, axis)
    (length,) = sizes.concrete(x.shape[at : at + 1], "np.unstack")
    parts = [prims.select(x, at, i) for i in range(length)]
    for part in parts:
        part.scalar = part.ndim == 0
    return tuple(parts)


def _cuts(length: Any, indices_or_sections: Any) -> list[Any]:
    """Where the parts begin and end."""
    if isinstance(indices_or_sections, TensorProxy):
        is_known = indices_or_sections.dtype.kind in "iu" and indices_or_sections.ndim == 1
        raise NeedsValue(
            "where to split is a value that is known only when the program runs",
            array=indices_or_sections if is_known else None,
        )
    if isinstance(indices_or_sections, (tuple, list, range)):
        return [0, *(symbols.extent(size_or_int(i)) for i in indices_or_sections), length]
    sections = integer_or_eager(indices_or_sections)
    check(sections > 0, lambda: "number sections must be larger than 0.")
    size, larger = length // sections, symbols.fixed(length % sections)
    return [i * size + min(i, larger) for i in range(sections + 1)]


def _parts(a: TensorProxy, indices_or_sections: Any, dim: int, *, evenly: bool) -> list[TensorProxy]:
    (length,) = sizes.extents(a.shape[dim : dim + 1], "np.split")
    is_sequence = isinstance(indices_or_sections, (tuple, list, range, TensorProxy))
    if evenly and not is_sequence and integer_or_eager(indices_or_sections) > 0:
        check(
            length % integer_or_eager(indices_or_sections) == 0,
            lambda: "array split does not result in an equal division",
        )
    cuts = _cuts(length, indices_or_sections)
    parts = []
    for first, last in itertools.pairwise(cuts):
        if all(type(n) is int for n in (first, last, length)):
            first, last, _ = slice(first, last).indices(length)
            last = max(first, last)
        parts.append(clang.slice_dim(a, first, last, dim=dim))
    return parts


@npsymbol(returns="view")
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[TensorProxy]:
    """Parts along a dimension as views; so many, as equal as they can be, or between the indices given."""
    ary = as_array(ary)
    return _parts(ary, indices_or_sections, one_axis(ary.ndim, axis), evenly=False)


@npsymbol(returns="view")
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[TensorProxy]:
    """Parts along a dimension as views: so many equal ones, or between the indices given."""
    ary = _split_argument(ary, indices_or_sections)
    return _parts(ary, indices_or_sections, one_axis(ary.ndim, axis), evenly=True)


def _split_argument(ary: Any, indices_or_sections: Any) -> TensorProxy:
    """What is split; NumPy asks it for its shape if the parts are counted."""
    counted = not isinstance(indices_or_sections, (tuple, list, TensorProxy, np.ndarray))
    return as_array_with("shape", ary) if counted else as_array(ary)


def _split_symbol(name: str, least: int, dim_of: Callable[[int], int], doc: str) -> None:
    def function(ary: Any, indices_or_sections: Any) -> list[TensorProxy]:
        ary = as_array_with("ndim", ary) if name == "hsplit" else _split_argument(ary, indices_or_sections)
        check(ary.ndim >= least, lambda: f"{name} only works on arrays of {least} or more dimensions")
        return _parts(ary, indices_or_sections, dim_of(ary.ndim), evenly=True)

    function.__name__ = name
    function.__doc__ = f"Parts along the {doc} dimension, as views."
    npsymbol(returns="view")(function)


_split_symbol("hsplit", 1, lambda rank: min(rank - 1, 1), "second (of vectors the only)")
_split_symbol("vsplit", 2, lambda rank: 0, "first")
_split_symbol("dsplit", 3, lambda rank: 2, "third")


# Taking at positions that are known: slices and repeats joined


def _progressions(positions: Sequence[int]) -> list[tuple[int, int, int]]:
    """Positions as runs ``(first, step, count)``, each as long as can be."""
    runs: list[tuple[int, int, int]] = []
    i = 0
    while i < len(positions):
        step = positions[i + 1] - positions[i] if i + 1 < len(positions) else 1
        j = i + 1
        while j < len(positions) and positions[j] - positions[j - 1] == step:
            j += 1
        if j - i == 2 and j < len(positions) and abs(step) > 1:  # two positions are a run only if nothing follows them
            j = i + 1
        runs.append((positions[i], step if j - i > 1 else 1, j - i))
        i = j
    return runs


def gather_static(a: TensorProxy, positions: Sequence[int], dim: int) -> list[TensorProxy]:
    """``a`` at known positions (≥ 0) of a dimension, as parts to be joined: slices, reversed slices, repeats."""
    parts = []
    for first, step, count in _progressions(positions):
        if step == 0:
            one = clang.slice_dim(a, first, first + 1, dim=dim)
            parts.append(clang.broadcast_to(one, (*a.shape[:dim], count, *a.shape[dim + 1 :])))
            continue
        last = first + (count - 1) * step
        part = clang.slice_dim(a, min(first, last), max(first, last) + 1, abs(step), dim=dim)
        parts.append(clang.flip(part, (dim,)) if step < 0 else part)
    return parts


def _taken(a: TensorProxy, positions: Sequence[int], dim: int) -> TensorProxy:
    if not positions:
        return clang.slice_dim(a, 0, 0, dim=dim)
    return clang.concatenate(gather_static(a, positions, dim), dim)


def _static(x: Any, what: str) -> Any:
    """An index, slice or sequence of indices with its numbers known."""
    if isinstance(x, TensorProxy):
        raise NeedsValue(f"{what} is a value that is known only when the program runs")
    if isinstance(x, (tuple, list)):
        return [_static(y, what) for y in x]
    if isinstance(x, slice):
        return slice(*(None if y is None else static_int(y) for y in (x.start, x.stop, x.step)))
    return static_int(x) if isinstance(x, NumberProxy) else x


def _position(x: Any, length: Any) -> Any:
    """The position ``x`` in a dimension of symbolic ``length``, counted from its begin; ``None`` for others."""
    is_integer = type(x) is int or symbols.is_symbol(x)
    if type(length) is int or not is_integer or not -length <= (at := symbols.extent(x)) <= length:
        return None
    return at + length if at < 0 else at


def _along(arr: Any, axis: Any) -> tuple[TensorProxy, int]:
    """The array (flat without an axis) and the dimension to work along."""
    arr = as_array(arr)
    return (clang.reshape(arr, (-1,)), 0) if axis is None else (arr, one_axis(arr.ndim, axis))


@npsymbol(returns="array", factory=True)
def append(arr: Any, values: Any, axis: Any = None) -> TensorProxy:
    """``values`` joined to the end of a dimension; both flat without one."""
    made = [as_array(arr), as_array(values)]
    if axis is None:
        made, axis = [clang.reshape(a, (-1,)) for a in made], 0
    return _joined(made, axis, None, "same_kind")


@npsymbol(returns="array", factory=True, row_major=False)
def delete(arr: Any, obj: Any, axis: Any = None) -> TensorProxy:
    """Without the elements at the indices ``obj`` of a dimension."""
    a, dim = _along(arr, axis)
    (length,) = sizes.extents(a.shape[dim : dim + 1], "np.delete")
    at = _position(obj, length)
    if at is not None and at < length:
        return clang.concatenate([clang.slice_dim(a, *ends, dim=dim) for ends in ((0, at), (at + 1, length))], dim)
    length = symbols.fixed(length)
    kept = np.delete(np.arange(length), _static(obj, "what np.delete leaves out"))
    return _taken(a, kept.tolist(), dim)


@npsymbol(returns="array", factory=True, row_major=False)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> TensorProxy:
    """With ``values``, converted to the array's dtype, before the indices ``obj`` of a dimension."""
    a, dim = _along(arr, axis)
    (length,) = sizes.extents(a.shape[dim : dim + 1], "np.insert")
    at = _position(obj, length) if as_array(values).ndim == 0 else None
    if at is None:
        at, length = _static(obj, "where np.insert inserts"), symbols.fixed(length)
    new = as_array(values)
    if new.dtype.kind == "c" and a.dtype.kind != "c":
        raise NeedsEager("it inserts complex values into a real array")
    listed = is_number(values) or isinstance(values, (tuple, list))  # whose integers must fit
    new = as_array(values, a.dtype) if listed else clang.convert(new, a.dtype)
    new = clang.expand_dims(new, range(a.ndim - new.ndim)) if new.ndim < a.ndim else new
    if type(length) is not int or (np.ndim(at) == 0 and not isinstance(at, slice)):
        new = clang.moveaxis(new, (0,), (dim,))
        (count,) = sizes.concrete(new.shape[dim : dim + 1], "np.insert")
    else:
        count = len(np.arange(length)[at]) if isinstance(at, slice) else len(at)
        if count == 1:  # a sequence of one index takes as many values as are there
            (count,) = sizes.concrete(new.shape[dim : dim + 1], "np.insert")
    extra = max(new.ndim - a.ndim, 0)
    if extra and all(n == 1 for n in sizes.concrete(new.shape[:extra], "np.insert")):  # as assignments drop them
        new = clang.reshape(new, new.shape[extra:])
    new = clang.broadcast_to(new, tuple(count if d == dim else n for d, n in enumerate(a.shape)))
    if type(length) is not int:
        first, last = (clang.slice_dim(a, *ends, dim=dim) for ends in ((0, at), (at, length)))
        return clang.concatenate([first, new, last], dim)
    # Inserting positions instead of values shows where each comes from: below 0 from what is inserted.
    order = np.insert(np.arange(length), at, -1 - np.arange(count)).tolist()
    parts = []
    for is_new, run in itertools.groupby(order, lambda p: p < 0):
        parts += gather_static(new if is_new else a, [-1 - p if is_new else p for p in run], dim)
    return clang.concatenate(parts, dim) if parts else a


# Repeating


def _check_repeats(repeats: Any) -> None:
    if isinstance(repeats, TensorProxy) and repeats.dtype is dtypes.uint64 and not repeats.scalar:
        raise NeedsEager("it repeats as often as an array of uint64 says, which NumPy refuses in some shapes")


@npsymbol(returns="array", factory=True)
def tile(A: Any, reps: Any) -> TensorProxy:
    """The array repeated along each dimension as a whole."""
    a = as_array(A)
    _check_repeats(reps)
    if getattr(reps, "python_type", type(reps)) is float:
        raise NeedsEager("np.tile repeats as often as a float says, which NumPy does not always refuse")
    if isinstance(reps, TensorProxy):
        is_known = reps.dtype.kind in "iu" and reps.ndim == 1
        raise NeedsValue(
            "the repeats of np.tile are known only when the program runs", array=reps if is_known else None
        )
    given = reps if isinstance(reps, (tuple, list)) else (reps,)
    counts: list[Any] = [r if is_late(r) else symbols.extent(size_or_int(r)) for r in given]
    a = clang.expand_dims(a, range(len(counts) - a.ndim)) if a.ndim < len(counts) else a
    counts = [1] * (a.ndim - len(counts)) + counts
    if any(map(is_late, counts)):
        return _tiled_late(a, symbols.dimensions(counts))
    if min(counts, default=1) < 0:
        check(not sizes.is_known(a.shape) or 0 in a.shape, lambda: "negative dimensions are not allowed")
        raise NeedsEager("np.tile repeats less than no times, which NumPy allows for some arrays without elements")
    if all(c == 1 for c in counts):
        return a
    lengths = sizes.extents(a.shape, "np.tile")
    wide = clang.expand_dims(a, range(0, 2 * a.ndim, 2))
    wide = clang.broadcast_to(wide, [n for pair in zip(counts, lengths) for n in pair])
    return clang.reshape(wide, [c * n for c, n in zip(counts, lengths)])


def _tiled_late(a: TensorProxy, counts: Sequence[Any]) -> TensorProxy:
    """:func:`tile` as often as only the running program knows."""
    check(
        all(is_late(c) or type(c) is not int or c >= 0 for c in counts), lambda: "negative dimensions are not allowed"
    )
    for dim, (count, length) in enumerate(zip(counts, a.shape)):
        if type(count) is int and count == 1:
            continue
        if type(length) is int and length == 1:
            a = clang.broadcast_to(a, (*a.shape[:dim], count, *a.shape[dim + 1 :]))
        else:
            wide = clang.broadcast_to(clang.expand_dims(a, (dim,)), (*a.shape[:dim], count, *a.shape[dim:]))
            a = clang.reshape(wide, (*a.shape[:dim], sizes.product((count, length)), *a.shape[dim + 1 :]))
    return a


@npsymbol(returns="array", method="repeat", factory=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> TensorProxy:
    """Each element along a dimension repeated, all equally often or each as often as said."""
    made, dim = _along(at_least_1d(as_array(a)), axis)  # a number has an axis here
    _check_repeats(repeats)
    repeats = symbols.as_dimension(repeats) if symbols.is_symbol(repeats) else repeats
    if is_late(repeats) and type(made.shape[dim]) is int and made.shape[dim] == 1:
        return clang.broadcast_to(made, (*made.shape[:dim], repeats, *made.shape[dim + 1 :]))
    if symbols.is_symbol(repeats) or is_late(repeats):
        return clang.repeat_dim(made, repeats, dim)
    if not isinstance(repeats, TensorProxy):
        repeats = [as_integer(n) for n in repeats] if isinstance(repeats, (list, tuple)) else as_integer(repeats)
    counts = _static(repeats, "how often np.repeat repeats")
    counts = counts if isinstance(counts, list) else [counts]
    (length,) = sizes.extents(made.shape[dim : dim + 1], "np.repeat")
    if not isinstance(repeats, (list, tuple, TensorProxy)) and static_int(repeats) < 0:
        check(length == 0, lambda: "negative dimensions are not allowed")
        return made  # of nothing
    check(all(static_int(c) >= 0 for c in counts), lambda: "repeats may not contain negative values.")
    if len(counts) == 1:
        return clang.repeat_dim(made, static_int(counts[0]), dim)
    length = symbols.fixed(length)
    check(len(counts) == length, lambda: "operands could not be broadcast together")
    return _taken(made, np.repeat(np.arange(length), counts).tolist(), dim)


# Padding


def _pairs(x: Any, rank: int) -> list[tuple[Any, Any]]:
    """A (before, after) a dimension from ``x``, ``(x, y)``, ``((x, y),)`` or all of them."""
    if not isinstance(x, (tuple, list)):
        return [(x, x)] * rank
    rows = [tuple(r) if isinstance(r, (tuple, list)) else (r,) for r in x]
    if all(len(r) == 1 for r in rows) and not any(isinstance(r, (tuple, list)) for r in x):
        check(len(rows) in (1, 2), lambda: "operands could not be broadcast together")
        return [(rows[0][0], rows[-1][0])] * rank
    rows = [r * 2 if len(r) == 1 else r for r in rows]
    check(len(rows) in (1, rank) and all(len(r) == 2 for r in rows), lambda: "operands could not be broadcast together")
    return rows * rank if len(rows) == 1 else rows


def _widths(pad_width: Any, rank: int) -> list[tuple[Any, Any]]:
    """How many elements come before and after each dimension, to compute with."""
    if isinstance(pad_width, TensorProxy):
        is_known = pad_width.dtype.kind in "iu" and pad_width.ndim > 0
        raise NeedsValue(
            "the widths of np.pad are known only when the program runs", array=pad_width if is_known else None
        )
    if isinstance(pad_width, dict):
        np.pad(np.empty(1), {0: 0})  # raises where this version of NumPy takes no dict
        named = {one_axis(rank, d): _pairs(w, 1)[0] for d, w in pad_width.items()}
        pairs = [named.get(d, (0, 0)) for d in range(rank)]
    else:
        pairs = _pairs(pad_width, rank)
    widths = [tuple(symbols.extent(size_or_int(n)) for n in pair) for pair in pairs]
    check(all(n >= 0 for pair in widths for n in pair), lambda: "index can't contain negative values")
    return widths


#: the modes that repeat elements at positions that do not depend on values
_POSITION_MODES = ("edge", "reflect", "symmetric", "wrap")


@npsymbol(returns="array", factory=True)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> TensorProxy:
    """With elements before and after each dimension: a constant, or made of the array's own elements by ``mode``."""
    a = as_array(array)
    widths = _widths(pad_width, a.ndim)
    if mode in ("constant", "empty") and set(kwargs) <= {"constant_values"}:
        return _pad_constant(a, widths, kwargs.get("constant_values", 0))
    if mode in _POSITION_MODES and kwargs.get("reflect_type", "even") == "even" and set(kwargs) <= {"reflect_type"}:
        for d, (before, after) in enumerate(widths):
            (length,) = sizes.extents(a.shape[d : d + 1], "np.pad")
            if before > 0 or after > 0:
                check(length > 0, lambda: f"can't extend empty axis {d} using modes other than 'constant' or 'empty'")
                if type(length) is not int and (mode == "edge" or (length > before and length > after)):
                    a = _pad_positions(a, length, before, after, mode, d)
                    continue
                known = tuple(map(symbols.fixed, (before, after)))
                a = _taken(a, np.pad(np.arange(symbols.fixed(length)), known, mode=mode).tolist(), d)
        return a
    check(
        callable(mode) or mode in (*_FILLS, *_POSITION_MODES, "constant", "median"),
        lambda: f"mode '{mode}' is not supported",
    )
    fill = _FILLS.get(mode) if isinstance(mode, str) else None
    if fill is None or set(kwargs) - {"stat_length", "end_values"}:
        raise NeedsOpaque(f"np.pad is called with mode={mode!r} and {sorted(kwargs)}")
    option = kwargs.get("end_values", 0) if mode == "linear_ramp" else kwargs.get("stat_length")
    for d, (width, (left, right)) in enumerate(zip(widths, _pairs(option, a.ndim))):
        before, after = map(symbols.fixed, width)
        (length,) = sizes.concrete(a.shape[d : d + 1], "np.pad")
        check(length > 0 or not (before or after), lambda: f"can't extend empty axis {d}")
        parts = [a]
        if before:
            parts.insert(0, fill(a, before, left, d, False))
        if after:
            parts.append(fill(a, after, right, d, True))
        a = clang.concatenate(parts, d) if len(parts) > 1 else a
    return a


def _pad_positions(a: TensorProxy, length: Any, before: Any, after: Any, mode: str, dim: int) -> TensorProxy:
    """``a`` padded by less elements than it has, by a mode that repeats its elements."""
    edge = {"edge": 0, "reflect": 1, "symmetric": 0, "wrap": 0}[mode]  # how far from the end what is repeated begins
    left, right = (
        (0, 1) if mode == "edge" else (edge, before + edge),
        (0, 1) if mode == "edge" else (edge, after + edge),
    )
    if mode == "wrap":
        if symbols.present(length) > 2 * (before + after):
            _ = length > 2 * (before + after)  # becomes a relation: loops that are cut near both ends have a middle
        parts = [clang.slice_dim(a, length - before, length, dim=dim), a, clang.slice_dim(a, 0, after, dim=dim)]
    else:
        first = clang.slice_dim(a, *left, dim=dim)
        last = clang.slice_dim(a, length - right[1], length - right[0], dim=dim)
        if mode == "edge":
            parts = [_repeated(first, before, dim), a, _repeated(last, after, dim)]
        else:
            parts = [clang.flip(first, (dim,)), a, clang.flip(last, (dim,))]
    return clang.concatenate(parts, dim)


def _pad_constant(a: TensorProxy, widths: list[tuple[Any, Any]], values: Any) -> TensorProxy:
    if isinstance(values, TensorProxy) and values.ndim:
        raise NeedsOpaque("np.pad takes its constants from an array")
    pairs = _pairs(values, a.ndim)
    plain = [v for pair in pairs for v in pair]
    if a.dtype.kind == "u" and any(is_complex(v) or (is_number(v) and beyond(v, a.dtype)) for v in plain):
        raise NeedsEager("np.pad with a number that an unsigned dtype may not hold, which NumPy casts unchecked")
    if all(type(v) in (bool, int) for v in plain) and len(set(plain)) <= 1 and a.dtype.kind not in "bu":
        return prims.pad(a, plain[0] if plain else 0, [(*map(symbols.number_of, w), 0) for w in widths])
    for d, (width, pair) in enumerate(zip(widths, pairs)):
        ends = [
            clang.broadcast_to(as_item(v, a.dtype), symbols.dimensions((*a.shape[:d], n, *a.shape[d + 1 :])))
            for n, v in zip(width, pair)
        ]
        a = clang.concatenate([ends[0], a, ends[1]], d)
    return a


def _repeated(a: TensorProxy, count: Any, dim: int) -> TensorProxy:
    """``a``, of one element along ``dim``, ``count`` times."""
    return clang.broadcast_to(a, symbols.dimensions(count if d == dim else n for d, n in enumerate(a.shape)))


def _statistic(of: Callable[[TensorProxy, int], TensorProxy]) -> Callable[..., TensorProxy]:
    """A fill with a statistic of the ``stat_length`` elements next to the end."""

    def fill(a: TensorProxy, width: int, stat_length: Any, dim: int, after: bool) -> TensorProxy:
        (length,) = sizes.concrete(a.shape[dim : dim + 1], "np.pad")
        count = length if stat_length is None else min(static_int(stat_length), length)
        check(count > 0, lambda: "it pads with a statistic of no elements", NeedsEager)
        chunk = clang.slice_dim(a, length - count if after else 0, length if after else count, dim=dim)
        return _repeated(clang.expand_dims(of(chunk, dim), (dim,)), width, dim)

    return fill


def _mean(a: TensorProxy, dim: int) -> TensorProxy:
    """The mean in the array's dtype, integers rounded."""
    wide = dtypes.float64 if a.dtype.kind in "biu" else dtypes.float32 if a.dtype is dtypes.float16 else a.dtype
    total = prims.sum(clang.convert(a, wide), (dim,))
    mean = clang.div(total, clang.full((), sizes.bound(a.shape[dim]), dtype=wide))
    return clang.convert(clang.round(mean) if a.dtype.kind in "iu" else mean, a.dtype)


def _ramp(a: TensorProxy, width: int, end_value: Any, dim: int, after: bool) -> TensorProxy:
    """Evenly spaced values from the array's end to ``end_value``."""
    (length,) = sizes.concrete(a.shape[dim : dim + 1], "np.pad")
    edge = prims.select(a, dim, length - 1 if after else 0)
    made = linspace(end_value, edge, width, endpoint=False, dtype=to_numpy_dtype(a.dtype), axis=dim)
    return clang.flip(made, (dim,)) if after else made


_FILLS: dict[str, Callable[..., TensorProxy]] = {
    "linear_ramp": _ramp,
    "maximum": _statistic(lambda a, dim: prims.amax(a, (dim,))),
    "minimum": _statistic(lambda a, dim: prims.amin(a, (dim,))),
    "mean": _statistic(_mean),
}
