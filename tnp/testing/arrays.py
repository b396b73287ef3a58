"""Arrays and tensors to test with."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.lang.numpy.dtypes import to_dtype, to_numpy_dtype

if TYPE_CHECKING:
    import torch

__all__ = ["as_dtype", "make_array", "make_tensor", "special_values", "variants"]


def as_dtype(dtype: Any) -> DType:
    """tnp's dtype for one of tnp's, NumPy's or torch's own, or for a name.

    >>> from tnp.testing import as_dtype
    >>> import numpy as np
    >>> as_dtype(np.int8), as_dtype("bfloat16")
    (dtypes.int8, dtypes.bfloat16)
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in {d.name for d in dtypes.ALL}:
        return dtypes.by_name(dtype)
    if _is_torchs(dtype):
        from tnp.lang.torch.dtypes import to_dtype as from_torch

        return from_torch(dtype)
    return to_dtype(dtype)


def _is_torchs(x: Any) -> bool:
    return "torch" in sys.modules and str(type(x).__module__).partition(".")[0] == "torch"


def make_array(
    shape: int | tuple[int, ...],
    *,
    dtype: Any,
    low: float | None = None,
    high: float | None = None,
    seed: int = 0,
    device: Any = None,
    requires_grad: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of a ``shape`` of random values of ``dtype`` in ``[low, high)``, the same for the same arguments, ``seed`` among them.

    By default integers lie in [-9, 9] (unsigned: [0, 9]), floating numbers and both parts of complex ones in [-9, 9).
    ``device`` and ``requires_grad`` are taken, as sample generators pass them on, and mean nothing to an ndarray.

    >>> from tnp.testing import make_array
    >>> make_array((2, 3), dtype="int8").shape
    (2, 3)
    """
    kind = as_dtype(dtype)
    return _values(shape, kind, low, high, seed).astype(to_numpy_dtype(kind))


def _values(shape: Any, kind: DType, low: float | None, high: float | None, seed: int) -> np.ndarray[Any, Any]:
    """The values in the widest dtype of their kind."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    rng = np.random.default_rng(zlib.crc32(repr((shape, kind.name, low, high, seed)).encode()))
    if kind.kind == "b":
        return np.asarray(rng.integers(0, 2, shape))
    if kind.kind in "iu":
        first = (0 if kind.kind == "u" else -9) if low is None else int(np.ceil(low))
        last = 10 if high is None else max(int(np.ceil(high)), first + 1)
        return np.asarray(rng.integers(first, last, shape))
    first_float, last_float = -9.0 if low is None else low, 9.0 if high is None else high
    values = np.asarray(rng.uniform(first_float, last_float, shape))
    if kind.kind == "c":
        values = np.asarray(values + 1j * rng.uniform(first_float, last_float, shape))
    return values


def make_tensor(
    shape: int | tuple[int, ...],
    *,
    dtype: Any,
    low: float | None = None,
    high: float | None = None,
    seed: int = 0,
    device: Any = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A tensor of the values that :func:`make_array` gives for the same ``shape``, ``low``, ``high`` and ``seed``, on ``device``; ``dtype``
    may be bfloat16, too.

    ``requires_grad`` is set where the dtype has gradients. Raises ``ImportError`` without torch.

    >>> from tnp.testing import make_tensor  # doctest: +SKIP
    >>> make_tensor((2, 3), dtype="bfloat16").dtype
    torch.bfloat16
    """
    import torch

    from tnp.lang.torch.dtypes import to_torch_dtype

    kind = as_dtype(dtype)
    made = torch.from_numpy(np.ascontiguousarray(_values(shape, kind, low, high, seed)))
    made = made.reshape(shape).to(device=device, dtype=to_torch_dtype(kind))
    return made.requires_grad_(requires_grad and kind.kind in "fc")


def special_values(dtype: Any) -> np.ndarray[Any, Any]:
    """A 1-d array of the values of ``dtype`` that are easy to get wrong: extremes, zeros, NaN, infinities.

    >>> from tnp.testing import special_values
    >>> special_values("uint8")
    array([  0,   1,   2,   3, 255, 254,   0,   1], dtype=uint8)
    """
    kind = as_dtype(dtype)
    np_dtype = to_numpy_dtype(kind)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        limits = np.iinfo(np_dtype)
        return np.array([0, 1, 2, 3, limits.max, limits.max - 1, limits.min, limits.min + 1], np_dtype)
    real = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-4, -3.0, 100.0])
    if kind.kind == "c":
        finite = np.array([0, 1, -1, 1j, -1j, 1 + 1j, -2.5 + 0.5j, 3 - 4j, complex(np.nan, 0), complex(np.inf, 1)])
        return finite.astype(np_dtype)
    return real.astype(np_dtype)


def variants(a: Any) -> Iterator[Any]:
    """``a``, an array or a tensor, in other memory layouts, with the same values: first as it is, then in Fortran order
    (two dimensions or more), every other element, and (arrays) with a negative stride along the last dimension.

    >>> from tnp.testing import make_array, variants
    >>> [b.strides for b in variants(make_array((2, 3), dtype="int8"))]
    [(3, 1), (1, 2), (6, 2), (3, -1)]
    """
    yield a
    tensor = _is_torchs(a)
    if a.ndim >= 2:
        yield a.detach().mT.contiguous().mT.requires_grad_(a.requires_grad) if tensor else np.asfortranarray(a)
    if a.ndim == 0 or 0 in a.shape:
        return
    wide_shape = (*a.shape[:-1], a.shape[-1] * 2)
    if tensor:
        wide = a.new_zeros(wide_shape)[..., ::2]
        yield wide.copy_(a.detach()).requires_grad_(a.requires_grad)
        return
    wide = np.zeros(wide_shape, a.dtype)
    wide[..., ::2] = a
    yield wide[..., ::2]
    yield np.ascontiguousarray(a[..., ::-1])[..., ::-1]
