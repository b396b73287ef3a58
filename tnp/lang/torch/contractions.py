"""Matrix and vector products."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, prims, sizes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.operands import known, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__ = ["alike", "matmul"]


def alike(*xs: Any, half: bool = False) -> None:
    """Leaves to torch what is not products of integers or floating tensors of one dtype: it refuses most of it.

    With ``half``, half precision is taken, too: a function that is one product of torch's rounds once, and so does its prim.
    """
    tensor_only(*xs)
    for x in xs:
        is_half = x.dtype.kind == "f" and x.dtype.bits == 16
        if x.dtype is not xs[0].dtype or x.dtype.kind not in "iuf" or (is_half and not half):
            raise NeedsOpaque("a product of other numbers")


def _fits(condition: bool | None, a: TensorProxy, b: TensorProxy) -> None:
    if condition is False:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({list(a.shape)} and {list(b.shape)})")


@torchsymbol(
    "matmul",
    torch.linalg.matmul,
    "__matmul__",
    method="matmul",
    row_major="always",
    tags=(OpTags.PRODUCT, OpTags.MATMUL, OpTags.OVERWRITABLE),
)
def matmul(input: Any, other: Any) -> TensorProxy:
    """The product of matrices, the last two dimensions of each, those before them broadcast; 1-d tensors are vectors."""
    alike(input, other, half=True)
    return _product(input, other)


def _product(input: TensorProxy, other: TensorProxy) -> TensorProxy:
    """:func:`matmul` of tensors of one dtype."""
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D")
    a = clang.expand_dims(input, (0,)) if input.ndim == 1 else input
    b = clang.expand_dims(other, (1,)) if other.ndim == 1 else other
    _fits(sizes.equal(a.shape[-1], b.shape[-2]), input, other)
    batch = sizes.broadcast(a.shape[:-2], b.shape[:-2])  # torch.broadcast_shapes loads sympy
    product = prims.matmul(
        clang.broadcast_to(a, (*batch, *a.shape[-2:])), clang.broadcast_to(b, (*batch, *b.shape[-2:]))
    )
    if other.ndim == 1:
        product = clang.squeeze(product, (-1,))
    return clang.squeeze(product, (-1 if other.ndim == 1 else -2,)) if input.ndim == 1 else product


def _of_rank(*xs: tuple[Any, int]) -> None:
    for x, rank in xs:
        if x.ndim != rank:
            raise RuntimeError(f"expected a tensor of {rank} dimensions, but got {x.ndim}")


@torchsymbol("mm", row_major="always", tags=(OpTags.OVERWRITABLE,))
def mm(input: Any, mat2: Any) -> TensorProxy:
    """The product of two matrices."""
    alike(input, mat2, half=True)
    _of_rank((input, 2), (mat2, 2))
    return matmul(input, mat2)


@torchsymbol("bmm", row_major="always", tags=(OpTags.OVERWRITABLE,))
def bmm(input: Any, mat2: Any) -> TensorProxy:
    """The products of matrices of two batches of one length."""
    alike(input, mat2, half=True)
    _of_rank((input, 3), (mat2, 3))
    _fits(sizes.equal(input.shape[0], mat2.shape[0]), input, mat2)
    return matmul(input, mat2)


@torchsymbol("mv")
def mv(input: Any, vec: Any) -> TensorProxy:
    """The product of a matrix and a vector."""
    alike(input, vec, half=True)
    _of_rank((input, 2), (vec, 1))
    return matmul(input, vec)


@torchsymbol("dot", "vdot", tags=(OpTags.PRODUCT, OpTags.MATMUL))
def dot(input: Any, tensor: Any) -> TensorProxy:
    """The inner product of two vectors."""
    alike(input, tensor, half=True)
    _of_rank((input, 1), (tensor, 1))
    _fits(input.shape == tensor.shape, input, tensor)
    return matmul(input, tensor)


@torchsymbol("inner", tags=(OpTags.PRODUCT,))
def inner(input: Any, other: Any) -> TensorProxy:
    """The inner products of the last dimensions, of every line of one tensor and every one of the other; with a number its multiple."""
    alike(input, other)
    if input.ndim == 0 or other.ndim == 0:
        return clang.mul(*clang.broadcast(input, other))
    _fits(sizes.equal(input.shape[-1], other.shape[-1]), input, other)
    lines = [clang.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (input, other)]
    product = matmul(lines[0], clang.matrix_transpose(lines[1]))
    return clang.reshape(product, (*input.shape[:-1], *other.shape[:-1]))


@torchsymbol("outer", "ger", tags=(OpTags.PRODUCT,))
def outer(input: Any, vec2: Any) -> TensorProxy:
    """The products of every element of one vector and every one of another."""
    tensor_only(input, vec2)
    _of_rank((input, 1), (vec2, 1))
    if input.dtype is not vec2.dtype:
        raise NeedsOpaque("vectors of two dtypes")
    if input.dtype.kind == "b":
        return clang.logical_and(clang.expand_dims(input, (1,)), clang.expand_dims(vec2, (0,)))
    return clang.mul(clang.expand_dims(input, (1,)), clang.expand_dims(vec2, (0,)))


def _factor(x: Any, dtype: DType) -> Any:
    """A factor of a product; of integers a whole one, as torch rounds it towards zero."""
    x = known(x)
    if type(x) not in (bool, int, float):
        raise NeedsOpaque("a factor that is no real number")
    return x if dtype.kind == "f" else int(x)


def _times(x: TensorProxy, factor: Any) -> TensorProxy:
    return x if factor == 1 else clang.mul(x, factor)


def _sum(input: TensorProxy, made: TensorProxy, beta: Any, alpha: Any, *, is_empty: bool = False) -> TensorProxy:
    """``beta * input + alpha * made``, in the shape of ``made``; ``input`` is not looked at where ``beta`` is 0. ``is_empty``: the product
    is of nothing, all zeros, which are subtracted: minus zero stays so."""
    if input.ndim > made.ndim:
        raise RuntimeError("The expanded size of the tensor must match the existing size")
    first = clang.broadcast_to(input, made.shape)
    beta, alpha = _factor(beta, made.dtype), _factor(alpha, made.dtype)
    if beta == 0:
        return _times(made, alpha)
    return clang.sub(_times(first, beta), made) if is_empty else clang.add(_times(first, beta), _times(made, alpha))


def _plus(name: str, product: Any) -> None:
    @torchsymbol(name, row_major="always")
    def add_product(input: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> TensorProxy:
        """``beta * input + alpha * (a @ b)``."""
        alike(input, a, b)
        return _sum(input, product(a, b), beta, alpha, is_empty=a.shape[-1] == 0)


@torchsymbol("addr")
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> TensorProxy:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    tensor_only(input, vec1, vec2)
    beta, alpha = known(beta), known(alpha)
    if input.dtype.kind == "b" and vec1.dtype is vec2.dtype is input.dtype:
        made, first = outer(vec1, vec2), clang.broadcast_to(input, (*vec1.shape, *vec2.shape))
        if type(beta) is float or type(alpha) is float:
            raise NeedsOpaque("factors that torch refuses")
        product = made if alpha else clang.full_like(made, False)
        return clang.logical_or(first, product) if beta else product
    alike(input, vec1, vec2)
    if bool in map(type, (beta, alpha)) or (input.dtype.kind != "f" and float in map(type, (beta, alpha))):
        raise NeedsOpaque("factors that torch refuses")
    return _sum(input, outer(vec1, vec2), beta, alpha)


@torchsymbol(torch.Tensor.__rmatmul__)
def _rmatmul(input: Any, other: Any) -> TensorProxy:
    """``other @ input``."""
    return matmul(other, input)


_plus("addmm", mm)
_plus("addmv", mv)
_plus("baddbmm", bmm)


@torchsymbol(torch.nn.functional.linear, row_major="always", tags=(OpTags.OVERWRITABLE,))
def linear(input: Any, weight: Any, bias: Any = None) -> TensorProxy:
    """``input @ weight.T + bias``. In half precision it is torch's call, which rounds once; only the gradient is made of parts."""
    alike(input, weight, *(() if bias is None else (bias,)), half=True)
    if weight.ndim != 2 or input.ndim == 0:
        raise NeedsOpaque("a weight that is no matrix")
    _fits(sizes.equal(input.shape[-1], weight.shape[1]), input, weight)
    product = _product(input, clang.matrix_transpose(weight))
    return product if bias is None else clang.add(product, bias)


@torchsymbol("addbmm")
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> TensorProxy:
    """``beta * input + alpha *`` the sum of the products of two batches."""
    alike(input, batch1, batch2)
    return _sum(input, prims.sum(bmm(batch1, batch2), (0,)), beta, alpha)
