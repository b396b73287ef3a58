"""``torch.linalg`` over the prims of linear algebra, of floating matrices; the rest is left to torch."""

from __future__ import annotations

from typing import Any

import torch

from tnp.core import clang, prims
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.activations import floating
from tnp.lang.torch.operands import dimension, static_int, tensor_only
from tnp.lang.torch.products import matmul
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []

RAISES = (OpTags.MAY_RAISE,)


def _matrix(*xs: Any) -> None:
    floating(*xs)
    for x in xs:
        if x.ndim < 2 or 0 in x.shape:
            raise NeedsOpaque("no matrix, or an empty one")


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
    """The lower triangular factor of positive definite matrices."""
    _square(A)
    if upper:
        raise NeedsOpaque("the upper factor")
    return prims.cholesky(A)


@torchsymbol(torch.linalg.solve, tags=RAISES)
def solve(A: Any, B: Any, *, left: Any = True) -> TensorProxy:
    """``X`` with ``A @ X = B``."""
    _square(A)
    floating(A, B)
    if not left or B.ndim != A.ndim or B.shape[:-1] != A.shape[:-1] or 0 in B.shape:
        raise NeedsOpaque("a right side of another shape")
    return prims.solve(A, B)


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
    if not left or B.ndim != A.ndim or B.shape[:-1] != A.shape[:-1] or 0 in B.shape:
        raise NeedsOpaque("a right side of another shape")
    return prims.triangular_solve(A, B, upper=bool(upper), unit=bool(unitriangular))


@torchsymbol(torch.linalg.matrix_power, torch.matrix_power, torch.Tensor.matrix_power)
def matrix_power(A: Any, n: Any) -> TensorProxy:
    """A power of square matrices, by squaring."""
    _square(A)
    exponent = static_int(n)
    if exponent < 1:
        raise NeedsOpaque("no power, or one of the inverse")
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


def each(x: Any, rank: int) -> tuple[int, ...]:
    """A value for each of ``rank`` dimensions, of which one may stand for all."""
    values = tuple(static_int(n) for n in x) if isinstance(x, (tuple, list)) else (static_int(x),)
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


def _convolution(name: str, rank: int) -> None:
    @torchsymbol(getattr(torch.nn.functional, name))
    def convolve(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
    ) -> TensorProxy:
        """The cross-correlation of channels with kernels."""
        floating(input, weight, *(() if bias is None else (bias,)))
        if (
            isinstance(padding, str)
            or weight.ndim != rank + 2
            or input.ndim not in (rank + 1, rank + 2)
            or 0 in input.shape
        ):
            raise NeedsOpaque("padding by name")
        batched = input if input.ndim == rank + 2 else clang.expand_dims(input, (0,))
        sizes = each(stride, rank), each(padding, rank), each(dilation, rank)
        result = convolved(batched, weight, bias, *sizes, static_int(groups))
        return result if input.ndim == rank + 2 else clang.squeeze(result, (0,))


for _rank in (1, 2, 3):
    _convolution(f"conv{_rank}d", _rank)
