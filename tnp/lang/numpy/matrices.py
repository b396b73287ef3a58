"""Building matrices, and arrays of indices: diagonals, triangles, grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.lang.numpy.creation import check_contiguous, checked_shape, cpu_device, dtype_or
from tnp.lang.numpy.dtypes import result_dtype
from tnp.lang.numpy.operands import as_array, as_array_with, integer_or_eager, size_or_int, static_int
from tnp.lang.numpy.registry import npsymbol
from tnp.lang.numpy.shape import shape_argument

__all__ = ["diag", "eye", "identity", "indices", "ix_", "meshgrid", "tri", "tril", "triu", "vander"]

# Matrices


def _band(rows: Any, columns: Any, k: Any, compare: Any) -> TensorProxy:
    """``compare(i + k, j)`` of the positions of a matrix."""
    i = clang.expand_dims(clang.arange(rows, dtype=dtypes.int64), (1,))
    offset = _diagonal(k)
    if type(offset) is int:
        fits = compare is clang.eq or -(2**63) < offset <= 2**63
        check(fits, lambda: "Python int too large to convert to C long", OverflowError)
        known = [n for n in (rows, columns) if type(n) is int]
        if len(known) == 2:  # beyond the corners all diagonals are alike
            offset = max(-rows, min(offset, columns))
    i = i if type(offset) is int and offset == 0 else clang.add(i, offset)
    return compare(i, clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,)))


@npsymbol(returns="array", factory=True)
def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
) -> TensorProxy:
    """A matrix with ones on the diagonal ``k`` and zeros elsewhere."""
    check_contiguous(order)
    cpu_device(device)
    rows, columns = checked_shape((N, N if M is None else M))
    wanted = dtype_or(dtype, dtypes.float64)
    if order is not None and order.upper() == "F":
        return clang.transpose(clang.convert(_band(columns, rows, -_diagonal(k), clang.eq), wanted), (1, 0))
    return clang.convert(_band(rows, columns, k, clang.eq), wanted)


@npsymbol(returns="array", factory=True)
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> TensorProxy:
    """The square matrix with ones on the diagonal and zeros elsewhere."""
    if isinstance(n, (list, tuple)) or (isinstance(n, TensorProxy) and n.ndim):
        raise NeedsEager("np.identity of several lengths")
    (length,) = checked_shape(n)
    return clang.convert(_band(length, length, 0, clang.eq), dtype_or(dtype, dtypes.float64))


@npsymbol(returns="array", factory=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> TensorProxy:
    """A matrix with ones on and below the diagonal ``k``, zeros above."""
    rows, columns = _tri_shape(N, M)
    return clang.convert(_band(rows, columns, _edge(k), clang.ge), dtype_or(dtype, dtypes.float64))


def _diagonal(k: Any) -> Any:
    """The number of a diagonal, which may be a symbolic size. Raises ``NeedsEager`` if it is no integer."""
    return k if symbols.is_symbol(k) else integer_or_eager(k)


def _edge(k: Any) -> Any:
    """The number of the diagonal at which a triangle ends."""
    if isinstance(k, (TensorProxy, np.generic)) and k.dtype.kind == "u":
        raise NeedsEager("the diagonal of a triangle is unsigned, and NumPy computes with its negative")
    return _diagonal(k)


def _tri_shape(rows: Any, columns: Any) -> list[Any]:
    """The shape of a triangle; negative lengths mean none, and bools are numbers."""
    is_float = any(
        n.python_type is float if isinstance(n, NumberProxy) else isinstance(n, float) for n in (rows, columns)
    )
    if is_float or any(isinstance(n, (TensorProxy, np.generic)) and n.dtype.kind not in "iu" for n in (rows, columns)):
        raise NeedsEager("the size of a triangle is no integer")
    lengths = (int(n) if type(n) is bool else n for n in (rows, rows if columns is None else columns))
    return [max(n, 0) if type(n) is int else n for n in shape_argument(tuple(lengths))]


def _triangle(m: Any, k: Any, *, lower: bool) -> TensorProxy:
    m = as_array(m)
    check(m.ndim > 0, lambda: "a triangle of a number", TypeError)
    rows, columns = m.shape[-2:] if m.ndim > 1 else (m.shape[0], m.shape[0])
    below = _band(rows, columns, _edge(k) - (0 if lower else 1), clang.ge)
    mask, m = clang.broadcast(below, m)
    values = (m, clang.full((), 0, dtype=m.dtype))
    return clang.where(mask, *(values if lower else values[::-1]))


@npsymbol(returns="array", factory=True, row_major=False)
def tril(m: Any, k: Any = 0) -> TensorProxy:
    """With zeros above the diagonal ``k`` of the last two dimensions."""
    return _triangle(m, k, lower=True)


@npsymbol(returns="array", factory=True, row_major=False)
def triu(m: Any, k: Any = 0) -> TensorProxy:
    """With zeros below the diagonal ``k`` of the last two dimensions."""
    return _triangle(m, k, lower=False)


@npsymbol(returns="read-only view", factory=True)
def diag(v: Any, k: Any = 0) -> TensorProxy:
    """A vector as the diagonal ``k`` of a matrix, or (a read-only view) that diagonal of a matrix."""
    v = as_array(v)
    check(v.ndim in (1, 2), lambda: "Input must be 1- or 2-d.")
    if v.ndim == 2:
        return prims.diagonal(v, static_int(k), 0, 1)
    return _on_diagonal(v, symbols.extent(size_or_int(k)))


def _on_diagonal(v: TensorProxy, k: Any) -> TensorProxy:
    """The square matrix of zeros with ``v`` on its diagonal ``k``: ``v`` spread over flat memory."""
    if symbols.extents(v.shape) is None:
        return _on_diagonal_of_computed(v, symbols.fixed(k))
    (count,) = sizes.extents(v.shape, "np.diag")
    n = count + abs(k)
    if count == 0:
        return clang.full((n, n), 0, dtype=v.dtype)
    before = k if k >= 0 else -k * n
    after = n * n - before - (count - 1) * (n + 1) - 1
    return clang.reshape(prims.pad(v, _zero(v), [tuple(map(symbols.number_of, (before, after, n)))]), (n, n))


def _on_diagonal_of_computed(v: TensorProxy, k: int) -> TensorProxy:
    """As :func:`_on_diagonal`, of a length that is known only when the program runs."""
    if k:
        v = clang.concatenate([v, clang.full((abs(k),), 0, dtype=v.dtype)], 0)
    (n,) = v.shape
    values = clang.broadcast_to(clang.expand_dims(v, (1,) if k >= 0 else (0,)), (n, n))
    return clang.where(_band(n, n, k, clang.eq), values, clang.full((), 0, dtype=v.dtype))


def _zero(a: TensorProxy) -> Any:
    """The number 0 as the arrays' dtype has it."""
    return {"b": False, "f": 0.0, "c": 0j}.get(a.dtype.kind, 0)


@npsymbol(returns="array", factory=True)
def diagflat(v: Any, k: Any = 0) -> TensorProxy:
    """The matrix of zeros with all elements of ``v`` on its diagonal ``k``."""
    return _on_diagonal(clang.reshape(as_array(v), (-1,)), symbols.extent(size_or_int(k)))


@npsymbol(returns="array", factory=True)
def vander(x: Any, N: Any = None, increasing: Any = False) -> TensorProxy:
    """The powers of a vector's elements as rows, highest first unless ``increasing``."""
    x = as_array(x)
    check(x.ndim == 1, lambda: "x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else static_int(N)
    check(type(columns) is not int or columns >= 0, lambda: "negative dimensions are not allowed")
    x = clang.convert(x, result_dtype(x, np.int64(0)))
    wide = clang.broadcast_to(clang.expand_dims(x, (1,)), (x.shape[0], max(columns - 1, 0)))
    ones = clang.full((x.shape[0], min(columns, 1)), 1, dtype=x.dtype)
    powers = clang.concatenate([ones, prims.cumprod(wide, 1)], 1)
    return powers if increasing else clang.flip(powers, (1,))


# Grids


def _grid_shape(at: int, rank: int, length: Any) -> tuple[Any, ...]:
    return tuple(length if d == at else 1 for d in range(rank))


@npsymbol(returns="array", factory=True)
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    """The index along each dimension of every position, stacked; ``sparse``: a tuple that broadcasts to them."""
    shape = checked_shape(dimensions)
    kind = dtype_or(dtype, dtypes.float64)
    open_grid = [clang.reshape(clang.arange(n, dtype=kind), _grid_shape(d, len(shape), n)) for d, n in enumerate(shape)]
    if sparse:
        return tuple(open_grid)
    if not shape:
        return clang.full((0,), 0, dtype=kind)
    return clang.stack([clang.broadcast_to(x, shape) for x in open_grid], 0)


@npsymbol(returns="view", factory=True, row_major=False)
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: str = "xy") -> Any:
    """Coordinate matrices from coordinate vectors, as copies unless told otherwise.

    A tuple; until NumPy 2.5 a list of sparse ones that are no copies.
    """
    check(indexing in ("xy", "ij"), lambda: "Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    grids = []
    for at, x in enumerate(xi):
        flat = clang.reshape(as_array(x), (-1,))
        swapped = 1 - at if indexing == "xy" and rank > 1 and at < 2 else at
        grids.append(clang.reshape(flat, _grid_shape(swapped, rank, flat.shape[0])))
    if not sparse and grids:
        grids = clang.broadcast(*grids)
    if copy:
        grids = [prims.clone(g) for g in grids]
    return type(np.meshgrid(copy=bool(copy), sparse=bool(sparse)))(grids)


@npsymbol(returns="view", factory=True)
def ix_(*args: Any) -> tuple[TensorProxy, ...]:
    """One-dimensional sequences as an open grid of indices; of booleans the positions of the true ones."""
    grid = []
    for at, x in enumerate(args):
        a = as_array(x)
        check(a.ndim == 1, lambda: "Cross index must be 1 dimensional")
        if a.dtype.kind == "b":
            (a,) = prims.nonzero(a)
        elif not isinstance(x, TensorProxy) and a.shape[0] == 0:
            a = clang.convert(a, dtypes.int64)
        grid.append(clang.reshape(a, _grid_shape(at, len(args), a.shape[0])))
    return tuple(grid)


def _triangle_positions(rows: Any, columns: Any, k: Any, *, lower: bool) -> tuple[TensorProxy, ...]:
    rows, columns = _tri_shape(rows, columns)
    offset = _diagonal(k)
    if not sizes.is_known((rows, columns, offset)):
        mask = _band(rows, columns, offset if lower else offset - 1, clang.ge)
        return tuple(prims.nonzero(mask if lower else clang.logical_not(mask)))
    below = sum(min(max(i + offset + (1 if lower else 0), 0), columns) for i in range(rows))
    mask = _band(rows, columns, offset if lower else offset - 1, clang.ge)
    found = prims.nonzero(mask if lower else clang.logical_not(mask))
    count = below if lower else rows * columns - below
    return tuple(prims.reshape(x, (count,)) for x in found)


@npsymbol(returns="array", factory=True)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorProxy, ...]:
    """The positions on and below the diagonal ``k`` of an ``n`` × ``m`` matrix."""
    return _triangle_positions(n, m, k, lower=True)


@npsymbol(returns="array", factory=True)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[TensorProxy, ...]:
    """The positions on and above the diagonal ``k`` of an ``n`` × ``m`` matrix."""
    return _triangle_positions(n, m, k, lower=False)


def _from_symbol(name: str, lower: bool) -> None:
    def function(arr: Any, k: Any = 0) -> tuple[TensorProxy, ...]:
        arr = as_array_with("ndim", arr)
        check(arr.ndim == 2, lambda: "input array must be 2-d")
        return _triangle_positions(*arr.shape, k, lower=lower)

    function.__name__ = name
    function.__doc__ = f"The positions {'below' if lower else 'above'} and on the diagonal ``k`` of a matrix like this."
    globals()[name] = npsymbol(returns="array")(function)


_from_symbol("tril_indices_from", True)
_from_symbol("triu_indices_from", False)


@npsymbol(returns="array", factory=True)
def diag_indices(n: Any, ndim: Any = 2) -> tuple[TensorProxy, ...]:
    """The positions of the main diagonal of an array of ``ndim`` dimensions of length ``n``."""
    return tuple(clang.arange(size_or_int(n), dtype=dtypes.int64) for _ in range(static_int(ndim)))


@npsymbol(returns="array")
def diag_indices_from(arr: Any) -> tuple[TensorProxy, ...]:
    """The positions of the main diagonal of an array like this, whose dimensions are equal."""
    arr = as_array_with("ndim", arr)
    check(arr.ndim >= 2, lambda: "input array must be at least 2-d")
    lengths = sizes.extents(arr.shape, "np.diag_indices_from")
    check(all(n == lengths[0] for n in lengths), lambda: "All dimensions of input must be of equal length")
    return tuple(clang.arange(lengths[0], dtype=dtypes.int64) for _ in lengths)
