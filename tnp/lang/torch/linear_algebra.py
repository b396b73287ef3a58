"""``torch.linalg`` over the prims of linear algebra, for floating-point matrices; other dtypes are opaque calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.activations import floating
from tnp.lang.torch.contractions import matmul
from tnp.lang.torch.operands import dimension, static_int, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []

RAISES = (OpTags.MAY_RAISE,)


def _matrix(*xs: Any) -> None:
    floating(*xs)
    for x in xs:
        if x.ndim < 2:
            raise NeedsOpaque("no matrix")


def _square(x: Any) -> None:
    _matrix(x)
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError("A must be batches of square matrices")


@torchsymbol(torch.linalg.inv, torch.inverse, torch.Tensor.inverse, tags=RAISES)
def inv(A: Any) -> TensorProxy:
    """The inverse."""
    _square(A)
    return prims.inv(A)


@torchsymbol(torch.linalg.det, torch.det, torch.Tensor.det)
def det(A: Any) -> TensorProxy:
    """The determinant."""
    _square(A)
    return prims.det(A)


@torchsymbol(torch.linalg.cholesky, tags=RAISES)
def cholesky(A: Any, *, upper: Any = False) -> TensorProxy:
    """The lower triangular factor of positive definite matrices, of which that triangle is read; or the upper one."""
    _square(A)
    if upper:
        return clang.matrix_transpose(prims.cholesky(clang.matrix_transpose(A)))
    return prims.cholesky(A)


@torchsymbol(torch.linalg.solve, tags=RAISES)
def solve(A: Any, B: Any, *, left: Any = True) -> TensorProxy:
    """``X`` with ``A @ X = B``, or ``X @ A = B``; of one dimension less than ``A``, vectors."""
    _square(A)
    floating(A, B)
    is_vector = B.ndim == 1 or B.shape == A.shape[:-1]
    if is_vector:
        if not left:
            raise NeedsOpaque("vectors on the right")
        B = clang.expand_dims(B, (-1,))
    return _divided(A, B, left, prims.solve, is_vector)


def _divided(A: TensorProxy, B: TensorProxy, left: Any, solver: Any, is_vector: bool = False) -> TensorProxy:
    """What ``solver`` finds for the right sides, whose batches broadcast with those of the matrices."""
    if B.ndim < 2:
        raise NeedsOpaque("a right side of another shape")
    if not left:
        A, B = clang.matrix_transpose(A), clang.matrix_transpose(B)
    if B.shape[-2] != A.shape[-1]:
        raise RuntimeError("Incompatible shapes of A and B for the equation AX = B")
    batch = sizes.broadcast(A.shape[:-2], B.shape[:-2])
    found = solver(*(clang.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (A, B)))
    found = found if left else clang.matrix_transpose(found)
    return clang.squeeze(found, (-1,)) if is_vector else found


@torchsymbol(torch.linalg.eigh, tags=RAISES)
def eigh(A: Any, UPLO: Any = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    _square(A)
    return torch.return_types.linalg_eigh(prims.eigh(A, UPLO.upper() == "U"))


@torchsymbol(torch.linalg.eigvalsh, tags=RAISES)
def eigvalsh(A: Any, UPLO: Any = "L") -> TensorProxy:
    """Eigenvalues of symmetric matrices."""
    _square(A)
    return prims.eigh(A, UPLO.upper() == "U")[0]


@torchsymbol(torch.linalg.svd, tags=RAISES)
def svd(A: Any, full_matrices: Any = True, *, driver: Any = None) -> Any:
    """Singular vectors and values."""
    _matrix(A)
    return torch.return_types.linalg_svd(prims.svd(A, bool(full_matrices)))


@torchsymbol(torch.linalg.svdvals, tags=RAISES)
def svdvals(A: Any, *, driver: Any = None) -> TensorProxy:
    """Singular values."""
    _matrix(A)
    return prims.svd(A, False)[1]


@torchsymbol(torch.linalg.qr)
def qr(A: Any, mode: Any = "reduced") -> Any:
    """An orthogonal and an upper triangular factor."""
    _matrix(A)
    if mode not in ("reduced", "complete"):
        raise NeedsOpaque("one factor only")
    return torch.return_types.linalg_qr(prims.qr(A, mode == "complete"))


@torchsymbol(torch.linalg.solve_triangular)
def solve_triangular(A: Any, B: Any, *, upper: Any, left: Any = True, unitriangular: Any = False) -> TensorProxy:
    """``X`` with ``A @ X = B`` for triangular ``A``."""
    _square(A)
    floating(A, B)
    triangle = bool(upper) == bool(left)
    return _divided(A, B, left, partial(prims.triangular_solve, upper=triangle, unit=bool(unitriangular)))


@torchsymbol(torch.linalg.matrix_power, torch.matrix_power, torch.Tensor.matrix_power, tags=RAISES)
def matrix_power(A: Any, n: Any) -> TensorProxy:
    """A power of square matrices, by squaring; negative ones are of the inverse."""
    _square(A)
    exponent = static_int(n)
    if exponent == 0:
        lines = clang.arange(A.shape[-1], dtype=dtypes.int64)
        unit = clang.convert(clang.eq(clang.expand_dims(lines, (1,)), clang.expand_dims(lines, (0,))), A.dtype)
        return clang.where(
            clang.full_like(A, True, dtype=dtypes.bool8), unit, A
        )  # which autograd takes for a function of A
    if exponent < 0:
        exponent, A = -exponent, prims.inv(A)
    result: Any = None
    while exponent:
        if exponent & 1:
            result = A if result is None else matmul(result, A)
        exponent >>= 1
        A = matmul(A, A) if exponent else A
    return result


@torchsymbol(torch.linalg.vecdot)
def vecdot(x: Any, y: Any, *, dim: Any = -1) -> TensorProxy:
    """Inner products along a dimension."""
    floating(x, y)
    product = clang.mul(*clang.broadcast(x, y))
    if product.ndim == 0:
        raise NeedsOpaque("a product of numbers")
    return prims.sum(product, (dimension(product.ndim, dim),))


@torchsymbol(torch.linalg.cross)
def cross(input: Any, other: Any, *, dim: Any = -1) -> TensorProxy:
    """Cross products of vectors of three."""
    tensor_only(input, other)
    if input.dtype is not other.dtype or input.dtype.kind not in "iu":
        floating(input, other)
    if input.ndim != other.ndim or input.ndim == 0:
        raise NeedsOpaque("vectors of two ranks")
    a, b = clang.broadcast(input, other)
    d = dimension(a.ndim, dim)
    if a.shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3.")

    def at(x: TensorProxy, i: int) -> TensorProxy:
        return clang.slice_dim(x, i, i + 1, dim=d)

    parts = [
        clang.sub(clang.mul(at(a, i), at(b, j)), clang.mul(at(a, j), at(b, i))) for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return prims.concatenate(parts, d)


@torchsymbol(torch.linalg.diagonal, returns="view")
def diagonal(A: Any, *, offset: Any = 0, dim1: Any = -2, dim2: Any = -1) -> TensorProxy:
    """Diagonals of matrices, as a new last dimension."""
    tensor_only(A)
    if A.ndim < 2:
        raise NeedsOpaque("no matrix")
    return prims.diagonal(A, static_int(offset), dimension(A.ndim, dim1), dimension(A.ndim, dim2))


# Convolutions


def each(x: Any, rank: int, of: Callable[[Any], Any] = static_int) -> tuple[Any, ...]:
    """One value for each of ``rank`` dimensions; a single one is repeated. ``of`` converts each, by default to an integer."""
    values = tuple(map(of, x)) if isinstance(x, (tuple, list)) else (of(x),)
    if len(values) not in (1, rank):
        raise RuntimeError(f"expected {rank} values, but got {len(values)}")
    return values * rank if len(values) == 1 else values


def convolved(
    a: TensorProxy, weight: TensorProxy, bias: TensorProxy | None, stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], groups: int,
) -> TensorProxy:  # fmt: skip
    """The cross-correlation of ``[n, c, *spatial]`` with kernels, plus a number a channel."""
    try:
        result = prims.convolution(a, weight, stride, padding, dilation, groups)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    if bias is None:
        return result
    return clang.add(*clang.broadcast(result, clang.reshape(bias, (1, bias.shape[0], *(1,) * (a.ndim - 2)))))


def _padded_by_name(
    a: TensorProxy, name: str, kernel: tuple[int, ...], steps: tuple[int, ...], spread: tuple[int, ...]
) -> tuple[TensorProxy, tuple[int, ...]]:
    """``a``, with zeros behind it where ``"same"`` needs more of them there than before, and how many there are on both sides."""
    if name not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{name}'")
    if name == "valid":
        return a, (0,) * len(kernel)
    if any(s != 1 for s in steps):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    needed = [d * (k - 1) for d, k in zip(spread, kernel)]
    if any(n % 2 for n in needed):
        a = prims.pad(a, 0, [(0, 0, 0)] * 2 + [(0, n % 2, 0) for n in needed])
    return a, tuple(n // 2 for n in needed)


def _convolution(name: str, rank: int) -> None:
    @torchsymbol(getattr(torch.nn.functional, name))
    def convolve(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
    ) -> TensorProxy:
        """The cross-correlation of channels with kernels."""
        given = input, weight, *(() if bias is None else (bias,))
        tensor_only(*given)
        if any(x.dtype is not dtypes.int64 for x in given):
            floating(*given)
        if weight.ndim != rank + 2 or input.ndim not in (rank + 1, rank + 2) or 0 in (*input.shape, *weight.shape):
            raise NeedsOpaque("channels of other ranks, or of nothing")
        a = input if input.ndim == rank + 2 else clang.expand_dims(input, (0,))
        steps, spread = each(stride, rank), each(dilation, rank)
        if isinstance(padding, str):
            a, borders = _padded_by_name(a, padding, weight.shape[2:], steps, spread)
        else:
            borders = each(padding, rank)
        result = convolved(a, weight, bias, steps, borders, spread, static_int(groups))
        return result if input.ndim == rank + 2 else clang.squeeze(result, (0,))


for _rank in (1, 2, 3):
    _convolution(f"conv{_rank}d", _rank)
