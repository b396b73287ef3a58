"""Shape manipulation: rearranging elements, mostly by views."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tnp.core import clang, dtypes, intervals, prims, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsValue
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.sizes import Dim, Shape
from tnp.core.symbol import OpTags
from tnp.lang.numpy.operands import (
    as_array,
    as_array_with,
    as_integer,
    integer_or_eager,
    is_complex,
    listed,
    size_or_int,
    static_int,
)  # fmt: skip
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import alias, npproperty, npsymbol

__all__ = [
    "diagonal",
    "expand_dims",
    "flip",
    "moveaxis",
    "normalized_axes",
    "ravel",
    "reshape",
    "roll",
    "shape_argument",
    "squeeze",
    "swapaxes",
    "transpose",
]


def shape_argument(x: Any) -> Shape:
    """A shape as NumPy takes it: an integer or a sequence of them; sizes stay sizes. Raises ``TypeError`` for a bool."""
    if isinstance(x, TensorProxy) and x.ndim and type(x.shape[0]) is int and not x.shape[0]:
        return ()  # a sequence of nothing, of whatever dtype
    if isinstance(x, TensorProxy) and x.ndim == 1 and x.dtype.kind in "iu":
        raise NeedsValue("a shape is a value that is known only when the program runs", array=x)
    return tuple(_length(d) for d in x) if isinstance(x, (tuple, list, range)) else (_length(x),)


def _length(x: Any) -> Dim:
    if is_late(x):
        return x
    if symbols.is_symbol(x):
        return symbols.as_dimension(x)
    check(type(x) is not bool, lambda: "an integer is required", TypeError)
    return static_int(x, "a shape")


def is_late(x: Any) -> bool:
    """Whether an integer may be a length, and only the running program knows it."""
    return isinstance(x, NumberProxy) and x.value is None and (x.bound is not None or _is_never_negative(x))


def _is_never_negative(x: NumberProxy) -> bool:
    """Whether an integer is surely a length, as what is computed of ``len(x[m])`` is."""
    least = intervals.bounds(x)[0] if x.python_type is int else None
    return least is not None and least >= 0


def normalized_axes(ndim: int, x: Any) -> tuple[int, ...]:
    """An axis or a sequence of axes in ``[0, ndim)``. Raises ``AxisError``, or ``ValueError`` for one named twice."""
    found = tuple(one_axis(ndim, a) for a in (x if isinstance(x, (tuple, list, range)) else (x,)))
    check(len(set(found)) == len(found), lambda: "repeated axis")
    return found


def _reversed(a: TensorProxy) -> TensorProxy:
    return clang.transpose(a, range(a.ndim)[::-1])


def _check_order(order: Any, function: str) -> str:
    """The order in capitals. Raises :class:`NeedsEager` for those that depend on memory."""
    known = order.upper() if isinstance(order, str) else order
    if known in ("A", "K"):
        raise NeedsEager(f"np.{function} with order={order!r} depends on how the array lies in memory")
    check(known in ("C", "F"), lambda: f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return cast("str", known)


@npsymbol(returns="view")
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> TensorProxy:
    """The elements in another shape, one length of which may be -1; a view where the memory allows."""
    a = as_array(a)
    order = _check_order(order, "reshape")
    if copy is False:
        raise NeedsEager("np.reshape with copy=False depends on how the array lies in memory")
    wanted = tuple(-1 if type(n) is int and n < 0 else n for n in shape_argument(shape))
    result = _reversed(clang.reshape(_reversed(a), wanted[::-1])) if order == "F" else clang.reshape(a, wanted)
    return prims.clone(result) if copy else result


@npsymbol(returns="view if contiguous", method="ravel", tags=(OpTags.ANY_SIZE,))
def ravel(a: Any, order: str = "C") -> TensorProxy:
    """All elements in one dimension: a view of contiguous memory, else a copy."""
    a = as_array(a)
    order = _check_order(order, "ravel")
    return prims.reshape(_reversed(a) if order == "F" else a, (a.numel,))


@npsymbol(returns="view")
def transpose(a: Any, axes: Any = None) -> TensorProxy:
    """Dimensions reversed, or in the given order."""
    a = as_array(a)
    order = tuple(range(a.ndim))[::-1] if axes is None else normalized_axes(a.ndim, listed(axes))
    check(len(order) == a.ndim, lambda: "axes don't match array")
    return clang.transpose(a, order)


alias("permute_dims", transpose)
npproperty("T")(lambda a: transpose(a))


@npsymbol(returns="view")
def matrix_transpose(x: Any, /) -> TensorProxy:
    """The last two dimensions swapped."""
    x = as_array(x)
    check(x.ndim >= 2, lambda: f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return clang.matrix_transpose(x)


@npsymbol(returns="view", method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> TensorProxy:
    """Two dimensions swapped."""
    a = as_array(a)
    first, second = one_axis(a.ndim, axis1), one_axis(a.ndim, axis2)
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return clang.transpose(a, order)


@npsymbol(returns="view")
def moveaxis(a: Any, source: Any, destination: Any) -> TensorProxy:
    """Dimensions ``source`` moved to ``destination``, the others in order around them."""
    a = as_array(a)
    of, to = normalized_axes(a.ndim, listed(source)), normalized_axes(a.ndim, listed(destination))
    check(
        len(of) == len(to),
        lambda: "`source` and `destination` arguments must have the same number of elements",
    )
    return clang.moveaxis(a, of, to)


@npsymbol(returns="view")
def rollaxis(a: Any, axis: Any, start: Any = 0) -> TensorProxy:
    """Dimension ``axis`` moved to before dimension ``start``."""
    a = as_array_with("ndim", a)
    at, before = one_axis(a.ndim, axis), static_int(start)
    if not -a.ndim <= before <= a.ndim:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {before} was passed"
        )
    before = before + a.ndim if before < 0 else before
    return clang.moveaxis(a, (at,), (before - 1 if at < before else before,))


@npsymbol(returns="argument", method="squeeze")
def squeeze(a: Any, axis: Any = None) -> TensorProxy:
    """Without dimensions of length 1: all of them, or those named."""
    a = as_array(a)
    if axis is None:
        return clang.squeeze(a, [d for d, n in enumerate(sizes.extents(a.shape, "np.squeeze")) if n == 1])
    dims = normalized_axes(a.ndim, axis)
    for d in dims:
        check(
            sizes.equal(a.shape[d], 1),
            lambda: "cannot select an axis to squeeze out which has size not equal to one",
        )
    return clang.squeeze(a, dims)


@npsymbol(returns="view")
def expand_dims(a: Any, axis: Any) -> TensorProxy:
    """With dimensions of length 1 at the positions ``axis`` of the result."""
    a = as_array(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return clang.expand_dims(a, normalized_axes(a.ndim + count, axis))


def _at_least(name: str, doc: str, widened: Any) -> None:
    def function(*arys: Any) -> Any:
        results = [widened(as_array(a)) for a in arys]
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__ = name
    function.__doc__ = f"{doc}; several arrays give a tuple."
    globals()[name] = npsymbol(returns="argument", factory=True)(function)
    __all__.append(name)


def at_least_1d(a: TensorProxy) -> TensorProxy:
    """A number as an array of one."""
    return clang.expand_dims(a, (0,)) if a.ndim == 0 else a


def at_least_2d(a: TensorProxy) -> TensorProxy:
    """With dimensions put before the others until there are two."""
    return clang.expand_dims(a, range(2 - a.ndim)) if a.ndim < 2 else a


def at_least_3d(a: TensorProxy) -> TensorProxy:
    """A number as ``[1, 1, 1]``, a vector as ``[1, n, 1]``, a matrix as ``[m, n, 1]``."""
    return clang.expand_dims(a, {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(a.ndim, ()))


_at_least("atleast_1d", "Numbers as arrays of one element", at_least_1d)
_at_least("atleast_2d", "Arrays with leading dimensions of 1, so that there are two", at_least_2d)
_at_least("atleast_3d", "Arrays with dimensions of 1 around, so that there are three", at_least_3d)


@npsymbol(returns="view")
def flip(m: Any, axis: Any = None) -> TensorProxy:
    """Reversed along all dimensions, or those named."""
    m = as_array(m)
    if m.ndim == 0 and not m.scalar:
        m = prims.clone(m)
        m.scalar = True
    return clang.flip(m, range(m.ndim) if axis is None else normalized_axes(m.ndim, listed(axis)))


@npsymbol(returns="view")
def fliplr(m: Any) -> TensorProxy:
    """The columns in reverse order."""
    m = as_array(m)
    check(m.ndim >= 2, lambda: "Input must be >= 2-d.")
    return clang.flip(m, (1,))


@npsymbol(returns="view")
def flipud(m: Any) -> TensorProxy:
    """The rows in reverse order."""
    m = as_array(m)
    check(m.ndim >= 1, lambda: "Input must be >= 1-d.")
    return clang.flip(m, (0,))


@npsymbol(returns="view")
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> TensorProxy:
    """Rotated by ``k`` quarter turns in the plane of ``axes``, from the first towards the second."""
    m, axes = as_array(m), listed(axes)
    check(len(axes) == 2, lambda: "len(axes) must be 2.")
    first, second = (static_int(x) for x in axes)
    check(first != second and abs(first - second) != m.ndim, lambda: "Axes must be different.")
    check(-m.ndim <= min(first, second) and max(first, second) < m.ndim, lambda: f"Axes={axes} out of range")
    turns = integer_or_eager(k) % 4
    if turns == 2:
        return clang.flip(m, (first, second))
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]
    if turns == 1:
        return clang.transpose(clang.flip(m, (second,)), order)
    return clang.flip(clang.transpose(m, order), (second,)) if turns == 3 else m


@npsymbol(returns="array")
def roll(a: Any, shift: Any, axis: Any = None) -> TensorProxy:
    """Shifted along dimensions, what leaves at one end entering at the other; of the flat array without ``axis``."""
    a, axis = as_array(a), listed(axis)
    for by in shift if isinstance(shift, (tuple, list)) else (shift,):
        if is_complex(by) or (isinstance(by, (TensorProxy, np.generic)) and by.dtype.name == "uint64"):
            raise NeedsEager("np.roll shifts by complex numbers, or by uint64, whose sums wrap around")
    shift = [as_integer(s) for s in shift] if isinstance(shift, (tuple, list)) else as_integer(listed(shift))
    if isinstance(shift, TensorProxy) and shift.ndim:
        raise NeedsEager("np.roll shifts by an array whose values are known only when the program runs")
    if axis is None:
        return clang.reshape(_rolled(clang.reshape(a, (-1,)) if a.ndim != 1 else a, _total(shift), 0), a.shape)
    dims = [one_axis(a.ndim, d) for d in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    count = max(len(dims), len(shifts))
    check({len(dims), len(shifts)} <= {1, count}, lambda: "shift and axis do not broadcast")
    for by, dim in zip(shifts * (count // len(shifts)), dims * (count // len(dims))):
        a = _rolled(a, by, dim)
    return a


#: a program for any size that is made for such a length is one for such lengths
LONG = 10


def _total(shift: Any) -> Any:
    return sum(static_int(s) for s in shift) if isinstance(shift, (tuple, list)) else shift


def _rolled(a: TensorProxy, shift: Any, dim: int) -> TensorProxy:
    length = a.shape[dim]
    if isinstance(shift, TensorProxy) or (isinstance(shift, NumberProxy) and shift.value is None):
        return _rolled_by_value(a, as_array(shift), dim)
    (length,) = sizes.extents((length,), "np.roll")
    by = sizes.modulo(symbols.extent(size_or_int(shift)), length) if length else 0
    if by == 0:
        return a
    if symbols.present(length) >= LONG:
        _ = length >= LONG  # becomes a relation: loops that are cut near both ends have a middle
    parts = [clang.slice_dim(a, length - by, length, dim=dim), clang.slice_dim(a, 0, length - by, dim=dim)]
    return clang.concatenate(parts, dim)


def _rolled_by_value(a: TensorProxy, shift: TensorProxy, dim: int) -> TensorProxy:
    """A shift that only the run knows: positions are taken modulo the length."""
    (length,) = sizes.extents((a.shape[dim],), "np.roll")
    if length == 0:
        return a
    positions = clang.sub(clang.arange(length, dtype=dtypes.int64), clang.convert(shift, dtypes.int64))
    return prims.take(a, clang.remainder(positions, symbols.number_of(length)), dim)


@npsymbol(returns="read-only view", method="diagonal")
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> TensorProxy:
    """The diagonals of the planes ``axis1`` × ``axis2``, as a new last dimension. A read-only view."""
    a = as_array(a)
    check(a.ndim >= 2, lambda: "diag requires an array of at least two dimensions")
    first, second = one_axis(a.ndim, axis1), one_axis(a.ndim, axis2)
    check(first != second, lambda: "axis1 and axis2 cannot be the same")
    return prims.diagonal(a, static_int(offset), first, second)


@npsymbol(returns="array")
def resize(a: Any, new_shape: Any) -> TensorProxy:
    """A copy in another shape, the elements repeated or cut off to fill it; zeros if there are none."""
    a = as_array(a)
    if isinstance(new_shape, TensorProxy) and not new_shape.ndim and not new_shape.scalar:
        raise NeedsEager("np.resize refuses a shape that is an array of no dimension")
    wanted = sizes.concrete(shape_argument(new_shape), "np.resize")
    check(min(wanted, default=0) >= 0, lambda: "all elements of `new_shape` must be non-negative")
    (old,) = sizes.concrete((a.numel,), "np.resize")
    new = int(np.prod(wanted, dtype=object))
    if old == 0 or new == 0:
        return clang.full(wanted, 0, dtype=a.dtype, device=a.device)
    flat = clang.reshape(a, (old,))
    if new > old:
        times = -(-new // old)
        flat = clang.reshape(clang.broadcast_to(flat, (times, old)), (times * old,))
    return clang.reshape(clang.slice_dim(flat, 0, new, dim=0) if flat.shape[0] != new else flat, wanted)


@npsymbol()
def shape(a: Any) -> tuple[Any, ...]:
    """The lengths of the dimensions, as Python integers."""
    return tuple(map(_as_number, as_array(a).shape))


def _as_number(n: Dim) -> Dim:
    """A size as a result: one that the program finds out has been defined, and a result defines a number of its own."""
    if isinstance(n, int) or n.relations is not None:
        return n
    made = prims.convert_number(n, int)
    made.form = intervals.Linear({n.name: (n, 1)}, 0)
    made.low = n.low
    return made


@npsymbol()
def ndim(a: Any) -> int:
    """The number of dimensions, as a Python integer."""
    return as_array(a).ndim


@npsymbol()
def size(a: Any, axis: Any = None) -> Dim:
    """The number of elements, of all dimensions or along those named, as a Python integer."""
    a = as_array(a)
    dims = range(a.ndim) if axis is None else normalized_axes(a.ndim, axis)
    return _as_number(sizes.product([a.shape[d] for d in dims]))
