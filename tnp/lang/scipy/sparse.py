"""``scipy.sparse``: products of the caller's sparse matrices and dense arrays, as calls on the arrays that the matrices consist of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.registry import language
from tnp.lang.scipy.registry import derived, own_call, scipymethod

__all__ = [
    "dense",
    "dense_operand",
    "diagonal",
    "matrix_of_state",
    "of_elements",
    "product",
    "product_from_left",
    "result_of_product",
    "sparse_array",
]

_FORMATS = ("csr", "csc", "coo", "dia", "bsr")


def sparse_array(format: str, shape: tuple[int, int], parts: Any) -> Any:
    """The sparse array of a format."""
    kind = getattr(sys.modules["scipy.sparse"], f"{format}_array")
    return kind((parts[0], tuple(parts[1:])) if format == "coo" else tuple(parts), shape=shape)


def _multiply(format: str, shape: tuple[int, int], x: Any, *parts: Any) -> Any:
    return _compressed(format, shape, x, *parts) if format in _TURNED else sparse_array(format, shape, parts) @ x


def _multiply_transposed(format: str, shape: tuple[int, int], x: Any, *parts: Any) -> Any:
    if format in _TURNED:
        return _compressed(_TURNED[format], shape[::-1], x, *parts)
    return sparse_array(format, shape, parts).T @ x


#: the formats whose arrays are those of the transposed matrix in the other
_TURNED = {"csr": "csc", "csc": "csr"}


def _compressed(format: str, shape: tuple[int, int], x: Any, data: Any, indices: Any, starts: Any) -> Any:
    """As ``sparse_array(…) @ x``, without the checks of a new object, which take longer than small products."""
    tools: Any = sys.modules["scipy.sparse._sparsetools"]
    data, indices, starts = map(np.ascontiguousarray, (data, indices, starts))
    found = np.zeros((shape[0], *x.shape[1:]), _wide(np.result_type(data, x)))
    if x.ndim == 1:
        getattr(tools, f"{format}_matvec")(*shape, starts, indices, data, np.ascontiguousarray(x), found)
    else:
        getattr(tools, f"{format}_matvecs")(*shape, x.shape[1], starts, indices, data, x.ravel(), found.reshape(-1))
    return found


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that SciPy computes in: there are no sparse matrices of half precision."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def result_of_product(*operands: TensorProxy) -> Any:
    """The dtype of a product."""
    return result_of(_wide(np.result_type(*(to_numpy_dtype(a.dtype) for a in operands))))


def _product_meta(format: str, shape: tuple[int, int], x: TensorProxy, *parts: TensorProxy) -> TensorProxy:
    return _product_like(shape[0], x, parts[0])


def _transposed_meta(format: str, shape: tuple[int, int], x: TensorProxy, *parts: TensorProxy) -> TensorProxy:
    return _product_like(shape[1], x, parts[0])


def _product_like(rows: int, x: TensorProxy, data: TensorProxy) -> TensorProxy:
    return TensorProxy(shape=(rows, *x.shape[1:]), dtype=result_of_product(data, x), lang=language)


_product = own_call("sparse.product", _multiply, _product_meta)
_transposed_product = own_call("sparse.transposed_product", _multiply_transposed, _transposed_meta)


def _pull(transposed: bool) -> Callable[..., list[TensorProxy | None]]:
    """Through a product: of ``x`` the product with the adjoint, of the elements of compressed matrices those of the outer product."""

    def pull(cotangents: Any, wanted: Any, args: Any, kwargs: Any) -> list[TensorProxy | None]:
        format, shape, x, data, *places = args
        g = cotangents[0]
        found: list[TensorProxy | None] = []
        for i in wanted:
            if i == 0:
                conjugate = clang.conj(data) if data.dtype.kind == "c" else data
                back = (_product if transposed else _transposed_product)(format, shape, g, conjugate, *places)
                found.append(clang.convert(back, x.dtype))
            else:
                left, right = (x, g) if transposed else (g, x)
                found.append(clang.convert(of_elements(format, data, places, left, right), data.dtype))
        return found

    return pull


def of_elements(format: str, data: TensorProxy, places: Any, left: TensorProxy, right: TensorProxy) -> TensorProxy:
    """``left[i] * conj(right[j])`` for the row i and the column j of each element."""
    if format == "coo":
        rows, columns = places
    elif format in ("csr", "csc"):
        (n,) = sizes.concrete(data.shape, "a sparse matrix")
        along, starts = places
        across = clang.sub(prims.searchsorted(starts, clang.arange(n, dtype=starts.dtype), right=True), 1)
        rows, columns = (across, along) if format == "csr" else (along, across)
    else:
        raise NeedsEager(f"it differentiates by the elements of a matrix in {format} format")
    a, b = prims.take(left, rows, 0), prims.take(right, columns, 0)
    each = clang.mul(a, clang.conj(b) if b.dtype.kind == "c" else b)
    return prims.sum(each, (1,)) if each.ndim == 2 else each


_product.pulls_back = _pull(False)
_transposed_product.pulls_back = _pull(True)


# Methods


def _reader(format: str) -> Callable[[Callable[..., Any]], dict[str, Any]]:
    names = {"coo": (), "dia": ("offsets",)}.get(format, ("indices", "indptr"))

    def read(get: Callable[..., Any]) -> dict[str, Any]:
        parts = [get("data"), *(get(n) for n in names)]
        if format == "coo":
            coordinates = get("coords")
            parts += [get("row"), get("col")] if coordinates is None else coordinates
        return {"format": format, "shape": get("_shape"), "parts": tuple(parts)}

    return read


def matrix_of_state(state: dict[str, Any]) -> tuple[str, tuple[int, int], list[TensorProxy]]:
    """The format, the shape and the arrays of a matrix."""
    shape = tuple(pyval(n) for n in state["shape"])
    if len(shape) != 2:
        raise NeedsEager("it multiplies a sparse array that is no matrix")
    return state["format"], (shape[0], shape[1]), [as_array(p) for p in state["parts"]]


def dense_operand(x: Any, length: int) -> TensorProxy:
    """A vector of that length, or a matrix of so many rows."""
    a = as_array(x)
    if a.ndim not in (1, 2) or sizes.equal(a.shape[0], length) is not True:
        raise NeedsEager("it multiplies a sparse matrix and an array of another shape")
    return a


def product(state: Any, other: Any) -> TensorProxy:
    """A sparse matrix times a vector or a matrix."""
    format, shape, parts = matrix_of_state(state)
    made: TensorProxy = _product(format, shape, dense_operand(other, shape[1]), *parts)
    return made


def product_from_left(state: Any, other: Any) -> TensorProxy:
    """A vector or a matrix times a sparse matrix."""
    format, shape, parts = matrix_of_state(state)
    a = as_array(other)
    a = dense_operand(clang.matrix_transpose(a) if a.ndim == 2 else a, shape[0])
    made = _transposed_product(format, shape, a, *parts)
    return clang.matrix_transpose(made) if made.ndim == 2 else made


def _read_dense(format: str, shape: tuple[int, int], *parts: Any) -> Any:
    return sparse_array(format, shape, parts).toarray()


def _read_diagonal(format: str, shape: tuple[int, int], k: int, *parts: Any) -> Any:
    return sparse_array(format, shape, parts).diagonal(k)


_dense = own_call(
    "sparse.dense", _read_dense,
    lambda format, shape, data, *places: TensorProxy(shape=shape, dtype=data.dtype, lang=language),
)  # fmt: skip
_diagonal = own_call(
    "sparse.diagonal", _read_diagonal,
    lambda format, shape, k, data, *places: TensorProxy(
        shape=(max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0))),), dtype=data.dtype, lang=language
    ),
)  # fmt: skip


def dense(state: Any, order: Any = None, out: Any = None) -> TensorProxy:
    """The matrix with its zeros, in row-major order."""
    if out is not None or pyval(order) not in (None, "C"):
        raise NeedsEager("it makes a dense matrix in column-major order, or in memory that it has")
    format, shape, parts = matrix_of_state(state)
    made: TensorProxy = _dense(format, shape, *parts)
    return made


def diagonal(state: Any, k: Any = 0) -> TensorProxy:
    """The k-th diagonal."""
    format, shape, parts = matrix_of_state(state)
    if type(pyval(k)) is not int or dtypes.bool8 in (p.dtype for p in parts):
        raise NeedsEager("it reads a diagonal of a matrix of bools")
    made: TensorProxy = _diagonal(format, shape, pyval(k), *parts)
    return made


def _define(format: str) -> None:
    read = _reader(format)
    array, matrix = f"sparse.{format}_array", f"sparse.{format}_matrix"
    for f, methods in (
        (product, [f"{k}.{m}" for k in (array, matrix) for m in ("__matmul__", "dot")] + [f"{matrix}.__mul__"]),
        (product_from_left, [f"{array}.__rmatmul__", f"{matrix}.__rmatmul__", f"{matrix}.__rmul__"]),
        (dense, [f"{array}.toarray", f"{array}.todense", f"{matrix}.toarray"]),
        (diagonal, [f"{array}.diagonal", f"{matrix}.diagonal"]),
    ):

        def method(state: Any, *args: Any, f: Any = f, **kwargs: Any) -> Any:
            return f(state, *args, **kwargs)

        method.__name__, method.__doc__ = f"{format}_{f.__name__}", f.__doc__
        scipymethod(" ".join(methods), read)(method)


for _format in _FORMATS:
    _define(_format)
    derived(f"sparse.{_format}_array sparse.{_format}_matrix", "T transpose tocsr tocsc")
