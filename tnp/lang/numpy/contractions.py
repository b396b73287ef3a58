"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.clang.einsum import (
    Label,
    Pair,
    Term,
    default_output,
    is_one,
    is_spelled,
    matrix_product_of,
    split_term,
    widest_ellipsis,
)
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.numpy.dtypes import dtype_argument, resolve_ufunc, result_dtype, to_dtype, to_numpy_dtype, weak_type
from tnp.lang.numpy.operands import as_array, check_order, check_real, listed, static_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import npsymbol

__all__ = ["conjugated", "contract", "matrix_product", "summed"]


def conjugated(a: TensorProxy) -> TensorProxy:
    """The complex conjugate; real arrays as they are."""
    return clang.conj(a) if a.dtype.kind == "c" else a


def summed(a: TensorProxy, dims: Sequence[int]) -> TensorProxy:
    """The sum along ``dims`` in the array's own dtype; of bools, whether any is true."""
    if not dims:
        return a
    return prims.any(a, tuple(dims)) if a.dtype.kind == "b" else prims.sum(a, tuple(dims))


def matrix_product(a: TensorProxy, b: TensorProxy) -> TensorProxy:
    """``a @ b`` of arrays of one dtype and rank ≥ 1: 1-d operands are a row, a column; batches broadcast.

    A batch of matrices times one matrix or vector is one product, of all their rows.
    """
    if a.ndim > 2 >= b.ndim and sizes.equal(a.shape[-1], b.shape[0]) is True:
        rows = clang.reshape(a, (sizes.product(a.shape[:-1]), a.shape[-1]))
        return clang.reshape(matrix_product(rows, b), (*a.shape[:-1], *b.shape[1:]))
    left = clang.expand_dims(a, (0,)) if a.ndim == 1 else a
    right = clang.expand_dims(b, (1,)) if b.ndim == 1 else b
    batch = sizes.broadcast(left.shape[:-2], right.shape[:-2])
    left = clang.broadcast_to(left, (*batch, *left.shape[-2:]))
    right = clang.broadcast_to(right, (*batch, *right.shape[-2:]))
    result = prims.matmul(left, right)
    gone = [d for d, operand in ((-2, a), (-1, b)) if operand.ndim == 1]
    return clang.squeeze(result, gone)


def contract(a: TensorProxy, b: TensorProxy, left: Sequence[int], right: Sequence[int]) -> TensorProxy:
    """The sum of products over dimensions ``left`` of ``a`` and ``right`` of ``b``, as one matrix product.

    What remains of ``a`` comes before what remains of ``b``. Raises ``ValueError`` if the lengths differ.
    """
    for i, j in zip(left, right):
        check(sizes.equal(a.shape[i], b.shape[j]) is not False, lambda: "shape-mismatch for sum")
    rows = [d for d in range(a.ndim) if d not in left]
    columns = [d for d in range(b.ndim) if d not in right]
    shape = (*(a.shape[d] for d in rows), *(b.shape[d] for d in columns))
    a, b = clang.transpose(a, [*rows, *left]), clang.transpose(b, [*right, *columns])
    product = prims.matmul(
        clang.reshape(a, (sizes.product(a.shape[: len(rows)]), sizes.product(a.shape[len(rows) :]))),
        clang.reshape(b, (sizes.product(b.shape[: len(right)]), sizes.product(b.shape[len(right) :]))),
    )
    return clang.reshape(product, shape)


def _operands(*xs: Any) -> list[TensorProxy]:
    """The operands as arrays of one dtype. Python numbers count at full width, as for all functions that are no ufunc."""
    arrays = [as_array(x) for x in xs]
    dtype = result_dtype(*arrays)
    return [clang.convert(a, dtype) for a in arrays]


# Generalised ufuncs


def _core_operands(
    name: str, xs: tuple[Any, ...], ranks: tuple[int, ...], *, dtype: Any, casting: str, order: str, axes: Any
) -> list[TensorProxy]:
    """The operands of ``np.<name>`` in the dtype of its loop. Raises ``ValueError`` for one of too few dimensions."""
    if axes is not None:
        raise NeedsEager(f"{name} with axes= is not compiled")
    check_order(order)
    arrays = [as_array(x) for x in xs]
    for i, (a, rank) in enumerate(zip(arrays, ranks)):
        check(
            a.ndim >= rank,
            lambda: (
                f"{name}: Input operand {i} does not have enough dimensions (has {a.ndim}, gufunc core with "
                f"signature {getattr(np, name).signature} requires {rank})"
            ),
        )
    loop = resolve_ufunc(name, tuple(weak_type(a) for a in arrays), dtype, casting)
    return [clang.convert(a, d) for a, d in zip(arrays, loop)]


@npsymbol(method="matmul", tags=(OpTags.TAKES_OUT, OpTags.PRODUCT, OpTags.MATMUL))
def matmul(
    x1: Any, x2: Any, /, *, casting: str = "same_kind", order: str = "K", dtype: Any = None, axes: Any = None
) -> TensorProxy:
    """``x1 @ x2``: the matrix product over the last two dimensions; batches broadcast."""
    return matrix_product(
        *_core_operands("matmul", (x1, x2), (1, 1), dtype=dtype, casting=casting, order=order, axes=axes)
    )


if hasattr(np, "vecdot"):

    @npsymbol()
    def vecdot(
        x1: Any,
        x2: Any,
        /,
        *,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        axes: Any = None,
        axis: Any = -1,
    ) -> TensorProxy:
        """The products of vectors along ``axis``, the first one's conjugate."""
        a, b = _core_operands("vecdot", (x1, x2), (1, 1), dtype=dtype, casting=casting, order=order, axes=axes)
        a = clang.moveaxis(a, (one_axis(a.ndim, axis),), (-1,))
        b = clang.moveaxis(b, (one_axis(b.ndim, axis),), (-1,))
        _check_core("vecdot", a.shape[-1], b.shape[-1])
        product = clang.mul(conjugated(a), b)
        return summed(product, (product.ndim - 1,))


if hasattr(np, "matvec"):

    @npsymbol()
    def matvec(
        x1: Any, x2: Any, /, *, casting: str = "same_kind", order: str = "K", dtype: Any = None, axes: Any = None
    ) -> TensorProxy:
        """Matrices times vectors, ``[..., m, n]`` and ``[..., n]``."""
        a, b = _core_operands("matvec", (x1, x2), (2, 1), dtype=dtype, casting=casting, order=order, axes=axes)
        return clang.squeeze(matrix_product(a, clang.expand_dims(b, (-1,))), (-1,))

    @npsymbol()
    def vecmat(
        x1: Any, x2: Any, /, *, casting: str = "same_kind", order: str = "K", dtype: Any = None, axes: Any = None
    ) -> TensorProxy:
        """The conjugates of vectors times matrices, ``[..., n]`` and ``[..., n, m]``."""
        a, b = _core_operands("vecmat", (x1, x2), (1, 2), dtype=dtype, casting=casting, order=order, axes=axes)
        return clang.squeeze(matrix_product(clang.expand_dims(conjugated(a), (-2,)), b), (-2,))


def _check_core(name: str, n: sizes.Dim, m: sizes.Dim) -> None:
    check(
        sizes.equal(n, m) is not False,
        lambda: f"{name}: Input operand 1 has a mismatch in its core dimension 0 (size {m} is different from {n})",
    )


# Products of vectors and tensors


@npsymbol(method="dot", tags=(OpTags.PRODUCT, OpTags.MATMUL))
def dot(a: Any, b: Any) -> TensorProxy:
    """The sum of products over the last dimension of ``a`` and the last but one of ``b`` (its only one if 1-d).

    A 0-d operand multiplies. Raises ``ValueError`` for shapes that do not align.
    """
    a, b = _operands(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _scaled(a, b)
    return contract(a, b, (a.ndim - 1,), (max(b.ndim - 2, 0),))


def _scaled(a: TensorProxy, b: TensorProxy) -> TensorProxy:
    """The product with a 0-d operand. For vectors and matrices, NumPy calls a routine of BLAS that adds the product to zeros, and
    adds nothing if the operand is 0."""
    product = clang.mul(a, b)
    array, factor = (b, a) if a.ndim == 0 else (a, b)
    if array.ndim not in (1, 2) or product.dtype not in _OF_BLAS or all(type(n) is int and n == 1 for n in array.shape):
        return product
    is_added = clang.logical_or(clang.ne(factor, 0), clang.isfinite(array))
    return clang.add(clang.where(is_added, product, 0.0), 0.0)


#: the dtypes of BLAS
_OF_BLAS = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


@npsymbol(tags=(OpTags.PRODUCT,))
def vdot(a: Any, b: Any, /) -> TensorProxy:
    """The sum of the products of all elements, the first ones' conjugates."""
    a, b = (clang.reshape(x, (x.numel,)) for x in _operands(a, b))
    return contract(conjugated(a), b, (0,), (0,))


@npsymbol(tags=(OpTags.PRODUCT,))
def inner(a: Any, b: Any, /) -> TensorProxy:
    """The sum of products over the last dimensions; a 0-d operand multiplies."""
    a, b = _operands(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _scaled(a, b)
    return contract(a, b, (a.ndim - 1,), (b.ndim - 1,))


@npsymbol(tags=(OpTags.PRODUCT,))
def outer(a: Any, b: Any) -> TensorProxy:
    """The product of each element of ``a`` with each of ``b``: ``[m, n]``."""
    a, b = (clang.reshape(x, (x.numel,)) for x in _operands(a, b))
    return clang.mul(clang.expand_dims(a, (1,)), clang.expand_dims(b, (0,)))


@npsymbol()
def kron(a: Any, b: Any) -> TensorProxy:
    """The Kronecker product: each element of ``a`` replaced by it times ``b``; missing dimensions are leading ones."""
    a, b = _operands(a, b)
    rank = max(a.ndim, b.ndim)
    if min(a.ndim, b.ndim) == 0:
        return clang.mul(a, b)
    a = clang.expand_dims(a, range(rank - a.ndim))
    b = clang.expand_dims(b, range(rank - b.ndim))
    products = clang.mul(clang.expand_dims(a, range(1, 2 * rank, 2)), clang.expand_dims(b, range(0, 2 * rank, 2)))
    return clang.reshape(products, tuple(sizes.product((n, m)) for n, m in zip(a.shape, b.shape)))


def _axes_of(x: Any) -> list[int]:
    x = listed(x)
    return [static_int(d) for d in x] if isinstance(x, (tuple, list)) else [static_int(x)]


@npsymbol(returns="array", tags=(OpTags.PRODUCT,))
def tensordot(a: Any, b: Any, axes: Any = 2) -> TensorProxy:
    """The sum of products over the last ``axes`` dimensions of ``a`` and the first ones of ``b``, or over two lists.

    Raises ``ValueError`` if the lengths of the dimensions differ.
    """
    (a, b), axes = _operands(a, b), listed(axes)
    if isinstance(axes, (tuple, list)):
        left, right = (_axes_of(x) for x in axes)
    else:
        count = static_int(axes)
        left, right = list(range(-count, 0)), list(range(count))
    check(len(left) == len(right), lambda: "shape-mismatch for sum")
    check(len(left) <= min(a.ndim, b.ndim), lambda: "tuple index out of range", IndexError)
    left = [_front_axis(a, d) for d in left]
    right = [_front_axis(b, d) for d in right]
    return contract(a, b, left, right)


def _front_axis(a: TensorProxy, d: int) -> int:
    """Dimension ``d`` counted from the front. Raises ``IndexError``, as NumPy does here, if there is none."""
    check(-a.ndim <= d < a.ndim, lambda: "tuple index out of range", IndexError)
    return d % a.ndim


@cache
def _trace_dtype(dtype: DType) -> DType:
    return to_dtype(np.zeros((1, 1), to_numpy_dtype(dtype)).trace().dtype)


@npsymbol(method="trace")
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> TensorProxy:
    """The sums along the diagonals of the planes ``axis1`` × ``axis2``; small integers add up in the default integer."""
    a = as_array(a)
    check(a.ndim >= 2, lambda: "diag requires an array of at least two dimensions")
    first, second = one_axis(a.ndim, axis1), one_axis(a.ndim, axis2)
    check(first != second, lambda: "axis1 and axis2 cannot be the same")
    diagonals = prims.diagonal(a, static_int(offset), first, second)
    wanted = _trace_dtype(a.dtype) if dtype is None else dtype_argument(dtype)
    check_real(a, wanted)
    return summed(clang.convert(diagonals, wanted), (diagonals.ndim - 1,))


# Einstein summation

#: a label of a dimension: a letter, or a negative number for one that an ellipsis stands for, counted from the right
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The form ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as subscripts and arrays."""

    def letters(sublist: Any) -> str:
        sublist = listed(sublist)
        check(
            isinstance(sublist, (list, tuple)),
            lambda: "the subscripts for each operand must be a list or a tuple",
            TypeError,
        )
        return "".join("..." if x is Ellipsis else _LETTERS[static_int(x)] for x in sublist)

    pairs = len(operands) // 2
    subscripts = ",".join(letters(operands[2 * i + 1]) for i in range(pairs))
    if len(operands) % 2:
        subscripts += "->" + letters(operands[-1])
    return subscripts, [operands[2 * i] for i in range(pairs)]


def _check_letters(term: str) -> None:
    check(is_spelled(term), lambda: f"invalid subscript in {term!r}")


def _labels(term: str, rank: int) -> tuple[Label, ...]:
    """The labels of an operand's term."""
    _check_letters(term)
    labels, missing = split_term(term, rank, 0)
    check(
        missing >= 0 if "..." in term else missing == 0,
        lambda: f"einstein sum subscripts {term!r} do not fit an operand of {rank} dimensions",
    )
    return labels


def _parse(
    subscripts: str, arrays: Sequence[TensorProxy], lenient: bool
) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """The labels of each operand and of the result. Raises ``ValueError`` for subscripts that say nothing."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    check(
        len(terms) == len(arrays),
        lambda: "more operands provided to einstein sum function than specified in the subscripts string",
    )
    inputs = [_labels(t, a.ndim) for t, a in zip(terms, arrays)]
    if not arrow:
        return inputs, default_output(inputs)
    _check_letters(right)
    widest = widest_ellipsis(inputs)
    output, _ = split_term(right, None, widest)
    check(
        "..." in right or widest == 0 or lenient,
        lambda: (
            "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided "
            "to broadcast the extra dimensions."
        ),
    )
    for label in output:
        check(output.count(label) == 1, lambda: f"output subscript {label!r} appears multiple times")
        check(
            any(label in labels for labels in inputs),
            lambda: f"output subscript {label!r} never appeared in an input",
        )
    return inputs, output


def _check_diagonal(label: Label, n: sizes.Dim, m: sizes.Dim) -> None:
    if any(type(x) is int and x == 0 for x in (n, m)) and sizes.equal(n, m) is not True:
        raise NeedsEager("np.einsum takes a diagonal of nothing")
    check(
        sizes.equal(n, m) is not False,
        lambda: f"dimensions in operand for collapsing index {label!r} don't match ({n} != {m})",
    )


def _fitted(term: Term, lengths: dict[Label, sizes.Dim]) -> Term:
    """A term without dimensions that broadcast. One that may be 1 when the program runs gets the other's length."""
    term = term.without_ones(lengths)
    known = [lengths[x] if _may_broadcast(n, lengths[x]) else n for n, x in zip(term.array.shape, term.labels)]
    return Term(clang.broadcast_to(term.array, known), term.labels)


def _may_broadcast(a: sizes.Dim, b: sizes.Dim) -> bool:
    """Whether only the running program knows if two lengths are equal, or if one of them is 1."""
    return sizes.equal(a, b) is not True and not sizes.is_decided((a, b))


#: sums of at most this many products are not lowered to a matrix product, which costs a library call per matrix and transposed copies
_FEW_PRODUCTS = 8


def _multiplied(a: Term, b: Term, kept: Sequence[Label]) -> Term:
    """The product of two terms, summed over the labels that are not ``kept``; the result prefers the order of ``kept``.

    Long sums of rows times columns become a matrix product. Others become elementwise products and a sum, which fuse.
    """
    pair = Pair.of(a, b, kept)
    a, b = pair.left, pair.right
    length = sizes.product([a.length(label) for label in pair.contracted])
    is_few = type(length) is int and length <= _FEW_PRODUCTS
    if pair.contracted and not is_few and (not pair.batch or (pair.rows and pair.columns)):
        return matrix_product_of(pair)
    labels = [label for label in kept if label in (*a.labels, *b.labels)]
    is_along = labels[-1:] in (list(a.labels[-1:]), list(b.labels[-1:]))  # what lies side by side stays so
    at = len(labels) - is_along
    labels[at:at] = pair.contracted
    return a.times(b, labels).summed(kept)


@npsymbol(returns="view", tags=(OpTags.PRODUCT, OpTags.BETTER_OPENED))
def einsum(
    *operands: Any, optimize: Any = False, dtype: Any = None, casting: str = "safe", order: str = "K"
) -> TensorProxy:
    """Einstein's summation convention; of one operand without a sum, a view (``einsum("ii->i", a)`` is the diagonal).

    Operands are multiplied from left to right. Raises ``ValueError`` for subscripts that do not fit.
    """
    check_order(order)
    check(len(operands) > 0, lambda: "must specify the einstein sum subscripts string and at least one operand")
    subscripts, arrays = (operands[0], operands[1:]) if isinstance(operands[0], str) else _from_sublists(operands)
    arrays = [as_array(x) for x in arrays]
    check(len(arrays) > 0, lambda: "must specify the einstein sum subscripts string and at least one operand")
    wanted = result_dtype(*arrays) if dtype is None else dtype_argument(dtype)
    for a in arrays:
        check(
            np.can_cast(to_numpy_dtype(a.dtype), to_numpy_dtype(wanted), casting),
            lambda: f"Iterator operand could not be cast from {a.dtype} to {wanted} according to the rule '{casting}'",
            TypeError,
        )
    inputs, output = _parse(subscripts, arrays, bool(optimize))
    terms = [
        Term(clang.convert(a, wanted), labels).with_diagonals(_check_diagonal) for a, labels in zip(arrays, inputs)
    ]
    terms = [_fitted(t, _lengths(terms)) for t in terms]
    result, *rest = terms
    for i, term in enumerate(rest, 1):
        later = [label for t in terms[i + 1 :] for label in t.labels]
        result = _multiplied(result, term, list(dict.fromkeys([*output, *later])))
    array = result.summed(output).arranged(output)
    if array.ndim == 0:
        array = prims.clone(array) if any(array is a for a in arrays) else array
        array.scalar = True
    return array


def _lengths(terms: Sequence[Term]) -> dict[Label, sizes.Dim]:
    """The length of each label; 1 gives way to any other. Raises ``ValueError`` where two differ."""
    lengths: dict[Label, sizes.Dim] = {}
    for term in terms:
        for label, n in zip(term.labels, term.array.shape):
            known = lengths.get(label, 1)
            if not (is_one(known) or is_one(n)) and _may_broadcast(known, n):
                # the other is that or 1, or the program raises
                lengths[label] = (
                    known if type(known) is int else n if type(n) is int else sizes.broadcast([known], [n])[0]
                )
                continue
            check(
                is_one(known) or is_one(n) or sizes.equal(known, n) is not False,
                lambda: f"operands could not be broadcast together: {label!r} is {known} and {n}",
            )
            lengths[label] = n if is_one(known) else known
    return lengths
