"""Selecting elements by conditions, indices and comparisons, and storing to the selected elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols, views
from tnp.core.devices import cpu
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import OpTags, map_proxies
from tnp.lang.numpy import elementwise
from tnp.lang.numpy.dtypes import result_dtype, result_of, to_numpy_dtype
from tnp.lang.numpy.operands import (
    as_array,
    as_array_with,
    as_mask,
    check_default_integer,
    check_real,
    normalize_operand,
    promote,
)
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import npmethod, npsymbol
from tnp.lang.numpy.shape import shape_argument

__all__ = ["compress", "isclose", "nonzero", "put", "take", "where", "where_scalar"]


def truth(x: Any) -> TensorProxy:
    """Which elements are true."""
    a = as_array(x)
    return a if a.dtype.kind == "b" else clang.ne(a, 0)


def flattened(a: TensorProxy) -> TensorProxy:
    """All elements in one dimension."""
    return clang.reshape(a, (a.numel,))


def _example(p: Any) -> Any:
    if isinstance(p, TensorProxy):
        made = np.zeros((1,) * p.ndim, to_numpy_dtype(p.dtype))
        return made[()] if p.scalar else made
    return p.python_type(0) if isinstance(p, NumberProxy) else p


def ask_numpy(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy's function makes of arrays of one zero of the arguments' dtypes; raises what it raises."""
    with np.errstate(all="ignore"):
        return function(*map_proxies(_example, args), **map_proxies(_example, kwargs))


def indices_of(x: Any) -> TensorProxy:
    """Indices as int64. Other kinds of number, with which NumPy does different things, run eagerly."""
    a = as_array(x)
    if a.dtype.kind not in "biu" or a.dtype is dtypes.uint64:
        raise NeedsEager(f"it uses {a.dtype} values as indices")
    return clang.convert(a, dtypes.int64)


def _in_bounds(index: TensorProxy, length: Any, mode: str) -> TensorProxy:
    """Indices of a dimension by NumPy's ``mode``; with ``"raise"`` they are left as they are."""
    if mode == "raise":
        return index
    check(mode in ("wrap", "clip"), lambda: f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if mode == "clip":
        return clang.minimum(clang.maximum(index, 0), length - 1)
    return clang.remainder(index, length)


def _raising_unless(valid: TensorProxy, index: TensorProxy) -> TensorProxy:
    """``index``; at run time raises ``IndexError`` unless all of ``valid`` hold."""
    zero = prims.take(clang.full((1,), 0, dtype=dtypes.int64), clang.convert(clang.logical_not(valid), dtypes.int64), 0)
    return clang.add(index, zero)


def _repeated(values: TensorProxy, count: sizes.Dim) -> TensorProxy:
    """1-d ``values``, over and over, to a length."""
    if sizes.equal(values.shape[0], count):
        return values
    position = clang.remainder(prims.iota(count, device=values.device, dtype=dtypes.int64), values.shape[0])
    return prims.take(values, position, 0)


# By conditions


@npsymbol(returns="array")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """``x`` where the condition holds, else ``y``; with a condition alone, :func:`nonzero` of it."""
    if x is None and y is None:
        return nonzero(condition)
    check(x is not None and y is not None, lambda: "either both or neither of x and y should be given")
    operands = [normalize_operand(v) for v in (x, y)]
    dtype = result_dtype(*operands)
    # NumPy makes arrays of numbers first, and casts those unchecked.
    wraps = dtype.kind in "iu"
    for v in operands if wraps else ():
        check_default_integer(v)
    values = [clang.convert(as_array(v), dtype) if wraps and is_number(v) else as_array(v, dtype) for v in operands]
    return clang.where(truth(condition), *values)


@npsymbol(id_prefix="tnp")
def where_scalar(condition: Any, a: Any, b: Any, /) -> TensorProxy:
    """:func:`where` of 0-d arrays, as the NumPy scalar that ``a if condition else b`` is."""
    return clang.where(truth(condition), *promote(a, b))


@npsymbol(returns="array")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> TensorProxy:
    """The first choice whose condition holds, else the default, elementwise."""
    check(len(condlist) == len(choicelist), lambda: "list of cases must be same length as list of conditions")
    check(len(condlist) > 0, lambda: "select with an empty condition list is not possible")
    conditions = [as_array(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    operands = [normalize_operand(x) for x in (*choicelist, default)]
    dtype = result_dtype(*operands)
    # NumPy makes arrays of numbers first. It casts the default unchecked, and a choice by the rule "same_kind".
    *choices, result = [clang.convert(as_array(x), dtype) if is_number(x) else as_array(x, dtype) for x in operands]
    if any(is_number(x) and dtype.kind in "iu" and dtype is not dtypes.int64 for x in choicelist):
        raise NeedsEager("np.select has a number among its choices, whose type the result's dtype may not hold")
    for condition, choice in reversed(list(zip(conditions, choices))):
        result = clang.where(condition, choice, result)
    return result


@npsymbol(method="nonzero")
def nonzero(a: Any) -> tuple[TensorProxy, ...]:
    """The positions of the elements that are not zero, an array a dimension; their length is known at run time."""
    mask = truth(a)
    check(
        mask.ndim > 0,
        lambda: "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.",
    )
    return tuple(prims.nonzero(mask))


@npsymbol()
def flatnonzero(a: Any) -> TensorProxy:
    """The positions, in C order, of the elements that are not zero."""
    return prims.nonzero(flattened(truth(a)))[0]


@npsymbol(row_major=False)
def argwhere(a: Any) -> TensorProxy:
    """The positions of the elements that are not zero, one a row."""
    mask = truth(a)
    if mask.ndim == 0:
        raise NeedsEager("np.argwhere of a 0-d array has a length that depends on its value")
    return clang.stack(list(prims.nonzero(mask)), 1)


@npsymbol(tags=(OpTags.MAY_RAISE,))
def compress(condition: Any, a: Any, axis: Any = None) -> TensorProxy:
    """The slices along an axis (of the flattened array) where a 1-d condition holds."""
    mask, a = truth(condition), as_array(a)
    check(mask.ndim == 1, lambda: "condition must be a 1-d array")
    at = 0 if axis is None else one_axis(max(a.ndim, 1), axis)
    a = flattened(a) if axis is None or a.ndim == 0 else a
    return prims.take(a, prims.nonzero(mask)[0], at)


@npmethod("compress", tags=(OpTags.MAY_RAISE,))
def _compress_method(a: TensorProxy, condition: Any, axis: Any = None) -> TensorProxy:
    """``np.compress`` with the array first."""
    return compress(condition, a, axis)


@npsymbol(tags=(OpTags.MAY_RAISE,))
def extract(condition: Any, arr: Any) -> TensorProxy:
    """The elements where a condition holds, in C order."""
    return prims.take(flattened(as_array(arr)), prims.nonzero(flattened(truth(condition)))[0], 0)


# By indices


@npsymbol(method="take", tags=(OpTags.MAY_RAISE,))
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> TensorProxy:
    """Elements along an axis (of the flattened array) at indices. Raises ``IndexError`` at run time, by ``mode``."""
    a, index = as_array(a), indices_of(indices)
    at = 0 if axis is None else one_axis(max(a.ndim, 1), axis)
    a = flattened(a) if axis is None or a.ndim == 0 else a
    return prims.take(a, _in_bounds(index, a.shape[at], mode), at)


def _along_axis(a: TensorProxy, indices: TensorProxy, axis: Any) -> tuple[TensorProxy, int]:
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        check(indices.ndim == 1, lambda: "when axis=None, `indices` must have a single dimension.")
        return flattened(a), 0
    check(a.ndim == indices.ndim, lambda: "`indices` and `arr` must have the same number of dimensions")
    return a, one_axis(a.ndim, axis)


@npsymbol(returns="array", row_major=False, tags=(OpTags.MAY_RAISE,))
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> TensorProxy:
    """``result[i][j] = arr[indices[i][j]][j]`` for axis 0: one index for each line along the axis."""
    index = as_array(indices)
    a, at = _along_axis(as_array_with("ndim", arr), index, axis)
    others = [tuple(n for d, n in enumerate(x.shape) if d != at) for x in (a, index)]
    shape = sizes.broadcast(*others)
    a, index = (clang.broadcast_to(x, (*shape[:at], x.shape[at], *shape[at:])) for x in (a, index))
    index = clang.convert(index, dtypes.int64)
    return prims.gather(a, clang.where(clang.lt(index, 0), clang.add(index, a.shape[at]), index), at)


@npsymbol(returns="update", tags=(OpTags.MAY_RAISE,))
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> TensorProxy:
    """``arr`` with ``arr[indices[i][j]][j] = values[i][j]`` for axis 0."""
    index, value = as_array(indices), as_array(values, arr.dtype)
    a, at = _along_axis(arr, index, axis)
    key = [
        index if d == at else clang.reshape(_positions(n), [-1 if e == d else 1 for e in range(a.ndim)])
        for d, n in enumerate(a.shape)
    ]
    return _written(arr, clang.setitem(a, tuple(key), value))


def _positions(length: sizes.Dim) -> TensorProxy:
    return prims.iota(length, device=cpu, dtype=dtypes.int64)


def _written(a: TensorProxy, elements: TensorProxy) -> TensorProxy:
    """``elements`` in the shape of ``a``, as memory of its own."""
    return clang.reshape(elements, a.shape) if elements.ndim != a.ndim else elements


# NumPy takes scalars, too, to no effect.
@npsymbol(returns="update", tags=(OpTags.MAY_RAISE, OpTags.MAY_TAKE_READ_ONLY))
def put(a: TensorProxy, ind: Any, v: Any, mode: str = "raise") -> TensorProxy:
    """``a`` with values, repeated as needed, at indices of its elements in C order."""
    flat, index = flattened(a), flattened(indices_of(ind))
    values = flattened(as_array(v, a.dtype))
    if values.shape[0] == 0 or index.shape[0] == 0:
        return prims.clone(a)
    index = _in_bounds(index, flat.shape[0], mode)
    return _written(a, prims.index_put(flat, [index], _repeated(values, index.shape[0]), False))


@npsymbol(returns="update", tags=(OpTags.MAY_RAISE,))
def place(arr: TensorProxy, mask: Any, vals: Any) -> TensorProxy:
    """``arr`` with values, repeated as needed, in order at the elements where a mask holds."""
    chosen, values = flattened(truth(mask)), flattened(as_array(vals, arr.dtype))
    check(sizes.equal(arr.numel, chosen.shape[0]), lambda: "place: mask and data must be the same size")
    if values.shape[0] == 0:
        raise NeedsEager("np.place of no values is right only where the mask is false everywhere")
    (positions,) = prims.nonzero(chosen)
    return _written(arr, prims.index_put(flattened(arr), [positions], _repeated(values, positions.shape[0]), False))


@npsymbol(returns="update")
def putmask(a: TensorProxy, /, mask: Any, values: Any) -> TensorProxy:
    """``a`` with the values at the same positions where a mask holds; values are repeated as needed."""
    chosen = truth(mask)
    _check_real(values, a)
    ask_numpy(np.putmask, a, np.True_, values)
    check(sizes.equal(a.numel, chosen.numel), lambda: "putmask: mask and data must be the same size")
    flat = flattened(as_array(values, a.dtype))
    if flat.shape[0] == 0:
        return prims.clone(a)
    fitting = clang.reshape(_repeated(flat, a.numel), a.shape)
    return clang.where(clang.reshape(chosen, a.shape), fitting, a)


@npsymbol(returns="update", tags=(OpTags.MAY_TAKE_READ_ONLY,))
def copyto(dst: TensorProxy, src: Any, casting: str = "same_kind", where: Any = True) -> TensorProxy:
    """``dst`` with the values of ``src``, which broadcasts, where a condition holds."""
    if casting == "unsafe":
        _check_real(src, dst)
    ask_numpy(np.copyto, dst, _plain(src), casting)
    source = src if views.converts_late(src, dst.dtype) else as_array(src, dst.dtype)
    fitting = clang.convert(views.fit(source, dst.shape), dst.dtype)
    if where is True:
        return prims.clone(fitting)
    return clang.where(views.fit(as_mask(where), dst.shape), fitting, dst)


def _check_real(x: Any, a: TensorProxy) -> None:
    """Raises :class:`NeedsEager` for values of which ``a`` would drop imaginary parts: asking NumPy would warn, too."""
    x = normalize_operand(x)
    if isinstance(x, (TensorProxy, np.generic)):
        check_real(x, a.dtype)


def _plain(x: Any) -> Any:
    """An operand for :func:`ask_numpy`: sequences as arrays, an array as one of a single element."""
    x = normalize_operand(x)
    return TensorProxy(like=x, shape=()) if isinstance(x, TensorProxy) else x


@npsymbol(returns="update")
def fill_diagonal(a: TensorProxy, val: Any, wrap: bool = False) -> TensorProxy:
    """``a`` with values, repeated as needed, on its main diagonal."""
    check(a.ndim >= 2, lambda: "array must be at least 2-d")
    if a.ndim == 2 and not sizes.is_known(a.shape) and not wrap and as_array(val).ndim == 0:
        return views.write(a, as_array(val, a.dtype), lambda x: prims.diagonal(x, 0, 0, 1))
    shape = sizes.concrete(a.shape, "fill_diagonal")
    end = None
    if a.ndim == 2:
        step = shape[1] + 1
        end = None if wrap else shape[1] * shape[1]
    else:
        check(len(set(shape)) == 1, lambda: "All dimensions of input must be of equal length")
        step = 1 + sum(math.prod(shape[:d]) for d in range(1, a.ndim))
    count = len(range(*slice(0, end, step).indices(math.prod(shape))))
    values = flattened(as_array(val, a.dtype))
    if count == 0 or values.shape[0] == 0:
        return prims.clone(a)
    flat = flattened(a)
    return _written(a, prims.slice_update(flat, _repeated(values, count), [0], [step]))


@npsymbol(tags=(OpTags.MAY_RAISE,))
def choose(a: Any, choices: Any, mode: str = "raise") -> TensorProxy:
    """From the array of ``choices`` that ``a`` names, elementwise. Raises ``ValueError`` for a name of none."""
    if isinstance(choices, TensorProxy):
        count = sizes.concrete(choices.shape[:1], "choose")[0]
        choices = [prims.select(choices, 0, i) for i in range(count)]
    arrays = [as_array(c) for c in choices]
    check(len(arrays) > 0, lambda: "need at least one array to choose from")
    wanted = result_of(ask_numpy(np.choose, 0, [normalize_operand(c) for c in choices]).dtype)
    index, *arrays = clang.broadcast(indices_of(a), *(clang.convert(c, wanted) for c in arrays))
    index = _in_bounds(index, len(arrays), mode)
    if mode == "raise":
        index = _raising_unless(clang.ge(index, 0), index)
    return prims.select(prims.gather(clang.stack(arrays, 0), clang.expand_dims(index, (0,)), 0), 0, 0)


@npmethod("choose", tags=(OpTags.MAY_RAISE,))
def _choose_method(a: TensorProxy, *choices: Any, mode: str = "raise") -> TensorProxy:
    """``np.choose`` as a method, which takes the choices one by one, too."""
    return choose(a, choices[0] if len(choices) == 1 else choices, mode)


def _strides_of(shape: tuple[Any, ...], order: str) -> list[Any]:
    check(order in ("C", "F"), lambda: "only 'C' or 'F' order is permitted")
    rank = len(shape)
    return [math.prod(shape[d + 1 :] if order == "C" else shape[:d]) for d in range(rank)]


@npsymbol(tags=(OpTags.MAY_RAISE,))
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[TensorProxy, ...]:
    """Positions in the flattened array as coordinates, one array a dimension."""
    lengths = sizes.extents(shape_argument(shape), "unravel_index")
    index = as_array(indices)
    if index.dtype.kind == "b":
        index = clang.convert(index, dtypes.int64)
    if index.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    index = clang.convert(index, dtypes.int64)  # what int64 does not hold becomes negative, and so invalid
    if not lengths:
        raise NeedsEager("np.unravel_index of a 0-d shape is for NumPy to check")
    valid = clang.logical_and(clang.ge(index, 0), clang.lt(index, symbols.number_of(math.prod(lengths))))
    index = _raising_unless(valid, index)
    return tuple(
        clang.remainder(clang.floor_divide(index, symbols.number_of(max(step, 1))), symbols.number_of(max(n, 1)))
        for n, step in zip(lengths, _strides_of(lengths, order))
    )


@npsymbol(tags=(OpTags.MAY_RAISE,))
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> TensorProxy:
    """Coordinates, one array a dimension, as positions in the flattened array."""
    lengths = sizes.extents(shape_argument(dims), "ravel_multi_index")
    if isinstance(multi_index, TensorProxy):
        count = sizes.concrete(multi_index.shape[:1], "ravel_multi_index")[0]
        multi_index = [prims.select(multi_index, 0, i) for i in range(count)]
    found = [as_array(x) for x in multi_index]
    check(
        len(found) == len(lengths),
        lambda: f"parameter multi_index must be a sequence of length {len(lengths)}",
    )
    found = [clang.convert(x, dtypes.int64) if x.dtype.kind == "b" else x for x in found]
    if any(x.dtype.kind not in "iu" for x in found):
        raise TypeError("only int indices permitted")
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    total: Any = None
    parts = clang.broadcast(*(clang.convert(x, dtypes.int64) for x in found))
    steps = map(symbols.number_of, _strides_of(lengths, order))
    for index, n, step, how in zip(parts, map(symbols.number_of, lengths), steps, modes):
        index = _in_bounds(index, n, how)
        if how == "raise":
            index = _raising_unless(clang.logical_and(clang.ge(index, 0), clang.lt(index, n)), index)
        term = clang.mul(index, step)
        total = term if total is None else clang.add(total, term)
    return total


# By comparison


@npsymbol()
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> TensorProxy:
    """Whether elements are equal to ``atol + rtol * abs(b)``; infinities to themselves, NaN as asked."""
    for tolerance in (rtol, atol):
        if type(tolerance) is float:
            check(math.isfinite(tolerance), lambda: "a tolerance is not finite, of which NumPy warns", NeedsOpaque)
    # Python's numbers take the others' dtype, as long as there are others.
    x, y, rtol, atol = (z if is_number(z) else as_array(z) for z in (a, b, rtol, atol))
    if isinstance(y, TensorProxy):
        y = clang.convert(y, result_dtype(y, 1.0))
    elif isinstance(y, NumberProxy):
        y = prims.convert_number(y, float) if y.python_type in (bool, int) else y
    elif type(y) in (bool, int):
        y = float(y)
    distance = elementwise.absolute(elementwise.subtract(x, y))
    size = abs(y) if is_number(y) else elementwise.absolute(y)
    relative = rtol * size if is_number(rtol) and is_number(size) else elementwise.multiply(rtol, size)
    allowed = atol + relative if is_number(atol) and is_number(relative) else elementwise.add(atol, relative)
    near = clang.logical_and(*clang.broadcast(elementwise.less_equal(distance, allowed), elementwise.isfinite(y)))
    near = clang.logical_or(near, elementwise.equal(x, y))
    if equal_nan:
        near = clang.logical_or(near, clang.logical_and(elementwise.isnan(x), elementwise.isnan(y)))
    return near


def _all_of(mask: TensorProxy) -> Any:
    return prims.item(prims.all(mask, tuple(range(mask.ndim))))


@npsymbol()
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements are close; a Python bool."""
    return _all_of(isclose(a, b, rtol, atol, equal_nan))


def _two_arrays(a1: Any, a2: Any) -> tuple[TensorProxy, TensorProxy] | None:
    """Two operands as arrays; ``None`` if NumPy makes no array of one: nothing is equal to that."""
    try:
        return as_array(a1), as_array(a2)
    except (OverflowError, TypeError, ValueError):
        return None


@npsymbol()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and all elements are equal; a Python bool."""
    arrays = _two_arrays(a1, a2)
    if arrays is None:
        return False
    x, y = arrays
    same = sizes.shapes_equal(x.shape, y.shape)
    if same is None:
        sizes.concrete((*x.shape, *y.shape), "array_equal")
    if not same:
        return False
    equal = elementwise.equal(x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        equal = clang.logical_or(equal, clang.logical_and(clang.isnan(x), clang.isnan(y)))
    return _all_of(equal)


@npsymbol()
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether shapes broadcast and all elements are equal; a Python bool."""
    arrays = _two_arrays(a1, a2)
    if arrays is None:
        return False
    x, y = arrays
    sizes.concrete((*x.shape, *y.shape), "array_equiv")
    try:
        sizes.broadcast(x.shape, y.shape)
    except ValueError:
        return False
    return _all_of(elementwise.equal(x, y))


@npsymbol(returns="array", tags=(OpTags.BETTER_OPENED,))
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> TensorProxy:
    """Whether each element is among the ``test_elements``."""
    x, among = as_array(element), as_array(test_elements)
    check(kind in (None, "sort", "table"), lambda: f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if kind == "table":
        check(
            x.dtype.kind in "biu" and among.dtype.kind in "biu",
            lambda: "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None.",
        )
    x, among = promote(x, among)
    length = symbols.extent(among.numel) if symbols.is_symbol(among.numel) else among.numel
    if isinstance(length, NumberProxy):  # known only when the program runs, maybe 0
        ordered = prims.sort(flattened(among), 0)
        first, behind = (prims.searchsorted(ordered, x, right=right) for right in (False, True))
        found = clang.logical_and(clang.lt(first, behind), clang.eq(x, x))  # no NaN is equal to another
        return clang.logical_not(found) if invert else found
    if length == 0:
        return clang.full_like(x, invert, dtype=dtypes.bool8)
    ordered = prims.sort(flattened(among), 0)
    at = clang.minimum(prims.searchsorted(ordered, x), symbols.number_of(length - 1))
    found = clang.eq(prims.take(ordered, at, 0), x)
    return clang.logical_not(found) if invert else found


if hasattr(np, "in1d"):  # until NumPy 2.4

    @npsymbol(returns="array")
    def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> TensorProxy:
        """Whether each element of ``ar1``, in one dimension, is among those of ``ar2``."""
        return isin(flattened(as_array(ar1)), ar2, assume_unique, invert, kind=kind)


def _imaginary(x: Any) -> TensorProxy | None:
    a = as_array(x)
    return prims.imag(a) if a.dtype.kind == "c" else None


def _bools(x: Any, value: bool) -> TensorProxy:
    return clang.full(as_array(x).shape, value, dtype=dtypes.bool8)


@npsymbol()
def iscomplex(x: Any) -> TensorProxy:
    """Which elements have an imaginary part that is not zero."""
    part = _imaginary(x)
    return _bools(x, False) if part is None else clang.ne(part, 0)


@npsymbol()
def isreal(x: Any) -> Any:
    """Which elements have an imaginary part of zero."""
    part = _imaginary(x)
    if is_number(x):  # a Python bool, which the attribute of a Python number gives
        return True if part is None else prims.item(clang.eq(part, 0))
    return _bools(x, True) if part is None else clang.eq(part, 0)


def _signed_infinity(x: Any, negative: bool) -> TensorProxy:
    a = as_array(x)
    if a.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {a.dtype} values because it would be ambiguous.")
    if a.dtype.kind != "f":
        return _bools(a, False)
    sign: DType = a.dtype
    return clang.eq(a, clang.full((), -math.inf if negative else math.inf, dtype=sign))


@npsymbol()
def isneginf(x: Any) -> TensorProxy:
    """Which elements are -inf."""
    return _signed_infinity(x, True)


@npsymbol()
def isposinf(x: Any) -> TensorProxy:
    """Which elements are inf."""
    return _signed_infinity(x, False)
