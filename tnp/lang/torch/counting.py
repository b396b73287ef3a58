"""Functions whose results' lengths or values depend on data: where elements are not zero, and whether tensors are
equal.
"""

from __future__ import annotations

import itertools
from typing import Any

from tnp.core import clang, dtypes, prims
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import OpTags
from tnp.lang.torch.contractions import matmul
from tnp.lang.torch.creation import from_sequence
from tnp.lang.torch.indexing import lined, nothing_of
from tnp.lang.torch.operands import float_dtype, known, static_int, tensor_only
from tnp.lang.torch.reductions import reduced
from tnp.lang.torch.registry import torchsymbol
from tnp.lang.torch.selecting import isclose

__all__: list[str] = []


def _truth(a: TensorProxy) -> TensorProxy:
    return a if a.dtype.kind == "b" else clang.ne(a, 0)


@torchsymbol("nonzero")
def nonzero(input: Any, *, as_tuple: Any = False) -> Any:
    """The positions of what is not zero: a row each, or a tensor a dimension."""
    tensor_only(input)
    if 0 in input.shape:
        shape = (0,) if as_tuple else (0, input.ndim)
        none = [clang.full(shape, 0, dtype=dtypes.int64) for _ in range(input.ndim if as_tuple else 1)]
        return tuple(none) if as_tuple else none[0]
    found = prims.nonzero(_truth(*lined(input)))
    if as_tuple:
        return tuple(found)
    places = prims.concatenate([clang.expand_dims(x, (1,)) for x in found], 1)
    return places if input.ndim else clang.slice_dim(places, 0, 0, dim=1)


@torchsymbol("argwhere")
def argwhere(input: Any) -> TensorProxy:
    """The positions of what is not zero, a row each."""
    return nonzero(input)


@torchsymbol("masked_select")
def masked_select(input: Any, mask: Any) -> TensorProxy:
    """The elements where ``mask`` holds, in order."""
    tensor_only(input, mask)
    if mask.dtype is not dtypes.bool8 or 0 in (*input.shape, *mask.shape):
        raise NeedsOpaque("a mask of another kind")
    a, m = clang.broadcast(*lined(input, mask))
    return clang.getitem(a, m)


def _all(a: TensorProxy) -> Any:
    return prims.item(prims.all(a, tuple(range(a.ndim))) if a.ndim else a)


@torchsymbol("equal")
def equal(input: Any, other: Any) -> Any:
    """Whether two tensors have one shape and the same elements."""
    tensor_only(input, other)
    if input.dtype is not other.dtype:
        raise NeedsOpaque("tensors of two dtypes")
    return _all(clang.eq(input, other)) if input.shape == other.shape else False


@torchsymbol("allclose")
def allclose(input: Any, other: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether all elements are close, as :func:`isclose` says."""
    return _all(isclose(input, other, rtol, atol, equal_nan))


@torchsymbol("combinations", tags=(OpTags.MAY_RAISE,))
def combinations(input: Any, r: Any = 2, with_replacement: Any = False) -> TensorProxy:
    """The combinations of ``r`` elements of a vector, a row each."""
    tensor_only(input)
    count = static_int(r)
    choose = itertools.combinations_with_replacement if known(with_replacement) else itertools.combinations
    if input.ndim != 1 or not 1 <= count <= 4 or input.shape[0] > 8:
        raise NeedsOpaque("many combinations")
    places = list(choose(range(input.shape[0]), count))
    if not places:
        return nothing_of(input, (0, count))
    flat = from_sequence([i for place in places for i in place], dtypes.int64)
    return clang.reshape(prims.take(input, flat, 0), (len(places), count))


@torchsymbol("cov")
def cov(input: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> TensorProxy:
    """Covariances of the rows."""
    tensor_only(input)
    if fweights is not None or aweights is not None or input.ndim > 2 or input.dtype.kind in "bc" or 0 in input.shape:
        raise NeedsOpaque("covariances with weights")
    a = clang.convert(input, float_dtype(input.dtype))
    a = clang.reshape(a, (1, -1)) if a.ndim < 2 else a
    n = a.shape[1]
    rest = n - static_int(correction)
    if rest <= 0:
        raise NeedsOpaque("covariances of too few observations")
    centred = clang.sub(a, clang.div(reduced(prims.sum, a, (1,), True), n))
    found = clang.div(matmul(centred, clang.matrix_transpose(centred)), rest)
    return clang.reshape(found, ()) if found.shape == (1, 1) else found


@torchsymbol("corrcoef")
def corrcoef(input: Any) -> TensorProxy:
    """Correlations of the rows."""
    c = cov(input)
    if c.ndim == 0:
        return clang.div(c, c)
    deviation = clang.sqrt(prims.diagonal(c, 0, 0, 1))
    c = clang.div(clang.div(c, clang.expand_dims(deviation, (1,))), clang.expand_dims(deviation, (0,)))
    return clang.minimum(clang.maximum(c, -1.0), 1.0)
