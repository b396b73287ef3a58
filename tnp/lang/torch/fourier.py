"""``torch.fft`` over the prims of Fourier transforms, for float32, float64 and the dtypes that torch promotes to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.joining import roll
from tnp.lang.torch.operands import dimension, float_dtype, size_or_int, tensor_only
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []


def _root(n: Any) -> Any:
    return math.sqrt(n) if type(n) is int else clang.sqrt(n * 1.0)


#: by how much a transform of n points is scaled under a norm: forward, and inverse, which the prims divide by n
_SCALES: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    None: (lambda n: 1.0, lambda n: 1.0),
    "backward": (lambda n: 1.0, lambda n: 1.0),
    "ortho": (lambda n: 1 / _root(n), _root),
    "forward": (lambda n: 1 / n, lambda n: n * 1.0),
}
#: the norm by which an inverse transform does what a forward one does under another, and the other way
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _scaled(a: TensorProxy, points: Sequence[int], norm: Any, inverse: bool) -> TensorProxy:
    if norm not in _SCALES:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    scale = math.prod(_SCALES[norm][inverse](n) for n in points)
    return a if type(scale) in (int, float) and scale == 1 else clang.mul(a, scale)


def _numbers(input: Any) -> TensorProxy:
    """What is transformed, in the dtype that torch promotes it to."""
    tensor_only(input)
    if input.dtype.kind not in "biufc" or (input.dtype.kind == "f" and input.dtype.bits == 16) or 0 in input.shape:
        raise NeedsOpaque("a transform of other numbers, or of none")
    return clang.convert(input, float_dtype(input.dtype))


def _complex(a: TensorProxy) -> TensorProxy:
    return clang.convert(a, dtypes.complex_counterpart(a.dtype))


def _resized(a: TensorProxy, dim: int, n: int) -> TensorProxy:
    """``a`` cut, or filled with zeros, to ``n`` elements along ``dim``."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    length, count = sizes.extents((a.shape[dim], n), "an FFT")
    if length == count:
        return a
    if length > count:
        return clang.slice_dim(a, 0, n, dim=dim)
    more = symbols.number_of(count - length)
    return prims.pad(a, 0, [(0, more if d == dim else 0, 0) for d in range(a.ndim)])


def _transformed(a: TensorProxy, points: list[int], dims: list[int], norm: Any, inverse: bool) -> TensorProxy:
    """The transform of complex numbers, with as many values as there are."""
    a = _complex(a)
    for n, d in zip(points, dims):
        a = _resized(a, d, n)
    return _scaled(prims.fft(a, tuple(dims), inverse), points, norm, inverse) if dims else a


def _halved(a: TensorProxy, n: int, dim: int, norm: Any, inverse: bool) -> TensorProxy:
    """The first half of the transform of real numbers; inverse that of a signal, of which they are the spectrum."""
    if a.dtype.kind == "c":
        raise NeedsOpaque("complex numbers in place of real ones")
    half = prims.rfft(_resized(a, dim, n), dim)
    return (
        clang.conj(_scaled(half, (n,), _SWAPPED.get(norm, norm), False))
        if inverse
        else _scaled(half, (n,), norm, False)
    )


def _whole(a: TensorProxy, n: int, dim: int, norm: Any, inverse: bool) -> TensorProxy:
    """The real numbers of which a half spectrum is given; not inverse, the spectrum of which half of the signal is."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    a = _resized(_complex(a), dim, n // 2 + 1)
    if inverse:
        return _scaled(prims.irfft(a, dim, n), (n,), norm, True)
    return _scaled(prims.irfft(clang.conj(a), dim, n), (n,), _SWAPPED.get(norm, norm), True)


def _where(a: TensorProxy, s: Any, dim: Any, *, to_real: bool) -> tuple[list[int], list[int]]:
    """How many points along which dimensions; -1 of ``s`` means all that there are."""
    if dim is None:
        count = a.ndim if s is None else len(s)
        if count > a.ndim:
            raise RuntimeError(f"Got shape with {count} values but input tensor only has {a.ndim} dimensions.")
        dims = list(range(a.ndim - count, a.ndim))
    else:
        dims = [dimension(a.ndim, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    lengths = [a.shape[d] for d in dims]
    if to_real and dims:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if s is not None:
        if len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        wanted = [symbols.as_dimension(size_or_int(m)) for m in s]
        lengths = [n if type(m) is int and m == -1 else m for n, m in zip(lengths, wanted)]
    return lengths, dims


def _several(kind: str, input: Any, s: Any, dim: Any, norm: Any) -> TensorProxy:
    """The transform called ``kind`` along dimensions; the last one first or last where it is halved or made whole."""
    a = _numbers(input)
    inverse = kind.startswith("i")
    to_real = kind in ("irfft", "hfft")
    points, dims = _where(a, s, dim, to_real=to_real)
    if kind in ("fft", "ifft"):
        return _transformed(a, points, dims, norm, inverse)
    if not dims:
        raise RuntimeError(f"{kind}n must transform at least one axis")
    if to_real:
        a = _transformed(a, points[:-1], dims[:-1], norm, inverse)
        return _whole(a, points[-1], dims[-1], norm, inverse)
    for n, d in zip(points[:-1], dims[:-1]):
        a = _resized(a, d, n)
    a = _halved(a, points[-1], dims[-1], norm, inverse)
    return _transformed(a, points[:-1], dims[:-1], norm, inverse)


def _family(kind: str) -> None:
    """The transform along one dimension, two, and several."""

    @torchsymbol(getattr(torch.fft, kind))
    def along_one(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> TensorProxy:
        """The transform along a dimension, cut or filled with zeros to ``n`` points."""
        tensor_only(input)
        if input.ndim == 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return _several(kind, input, None if n is None else (n,), (dim,), norm)

    for ending, default in (("2", (-2, -1)), ("n", None)):

        @torchsymbol(getattr(torch.fft, kind + ending))
        def along_several(input: Any, s: Any = None, dim: Any = default, norm: Any = None) -> TensorProxy:
            """The transform along dimensions, cut or filled with zeros to ``s`` points."""
            return _several(kind, input, s, dim, norm)


for _kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _family(_kind)


def _shift(name: str, by: Callable[[int], int]) -> None:
    @torchsymbol(getattr(torch.fft, name))
    def shift(input: Any, dim: Any = None) -> TensorProxy:
        """The frequencies in the order of their values, or back in that of a transform."""
        tensor_only(input)
        listed = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        dims = [dimension(input.ndim, d) for d in listed]
        return roll(input, [by(input.shape[d]) for d in dims], dims) if dims else input


_shift("fftshift", lambda n: n // 2)
_shift("ifftshift", lambda n: (n + 1) // 2)
