"""Windows, convolution, polynomials.

``poly``, ``polyfit``, ``polymul``, ``polydiv`` and ``roots`` have no definition, because the lengths of their results
depend on values. They are opaque calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, prims, sizes, symbols
from tnp.core.devices import cpu
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.proxies import TensorProxy, pyval
from tnp.lang.numpy.contractions import conjugated, summed
from tnp.lang.numpy.operands import as_array, integer_or_eager, listed, promote, size_or_int
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.numpy.registry import language, npsymbol

__all__: list[str] = []


# Windows


def _length(M: Any) -> Any:
    """A window's length. Lengths with a fraction, which NumPy takes too, run eagerly."""
    if symbols.is_symbol(M):
        return symbols.extent(symbols.as_dimension(M))
    number = M.item() if isinstance(M, np.generic) else pyval(M)
    if type(number) not in (int, bool, float) or number != int(number):
        raise NeedsEager("a window whose length is no integer is not compiled")
    return int(number)


def _positions(length: Any) -> TensorProxy:
    """Where the samples of a symmetric window lie, from -1 to 1."""
    count, first, span = map(symbols.number_of, (length, 1 - length, length - 1))
    at = prims.iota(count, start=first, step=2, device=cpu, dtype=dtypes.int64)
    return clang.div(clang.convert(at, dtypes.float64), span)


def _cosines(*coefficients: float) -> Callable[[TensorProxy], TensorProxy]:
    """The window ``Σ c[k] cos(k π x)``."""

    def window(x: TensorProxy) -> TensorProxy:
        constant, *rest = coefficients
        total = clang.full_like(x, constant)
        for k, c in enumerate(rest, 1):
            total = clang.add(total, clang.mul(clang.cos(clang.mul(x, k * math.pi)), c))
        return total

    return window


def _triangle(x: TensorProxy) -> TensorProxy:
    return clang.sub(1.0, clang.abs(x))


#: windows by name, as functions of the position between -1 and 1
_WINDOWS = {
    "bartlett": _triangle,
    "blackman": _cosines(0.42, 0.5, 0.08),
    "hamming": _cosines(0.54, 0.46),
    "hanning": _cosines(0.5, 0.5),
}


def _windowed(M: Any, window: Callable[[TensorProxy], TensorProxy]) -> TensorProxy:
    length = _length(M)
    if length <= 1:
        return clang.full((max(length, 0),), 1, dtype=dtypes.float64)
    return window(_positions(length))


def _define_window(name: str, window: Callable[[TensorProxy], TensorProxy]) -> None:
    def define(M: Any) -> TensorProxy:
        return _windowed(M, window)

    define.__name__ = name
    define.__doc__ = f"The {name.capitalize()} window of ``M`` points, float64; empty for ``M < 1``."
    npsymbol(factory=True)(define)


for _name, _window in _WINDOWS.items():
    _define_window(_name, _window)


#: nodes of the rule that integrates the Bessel function: enough for arguments that do not overflow it
_BESSEL_NODES = 256


def _scaled_bessel(x: TensorProxy) -> TensorProxy:
    """``exp(-|x|) I₀(x)`` of a vector: the mean of ``exp(|x| (cos t - 1))`` over the circle.

    The trapezoidal rule with N nodes is wrong by a factor of about ``exp(-N² / 2x)`` (Trefethen and Weideman, SIAM
    Review 56, 2014).
    """
    half = prims.iota(_BESSEL_NODES // 2, device=cpu, dtype=dtypes.float64)
    nodes = clang.mul(clang.add(half, 0.5), 2 * math.pi / _BESSEL_NODES)
    exponents = clang.sub(clang.cos(nodes), 1.0)
    grid = clang.mul(clang.expand_dims(clang.abs(x), (1,)), clang.expand_dims(exponents, (0,)))
    return clang.div(prims.sum(clang.exp(grid), (1,)), _BESSEL_NODES // 2)


@npsymbol(factory=True)
def kaiser(M: Any, beta: Any) -> TensorProxy:
    """The Kaiser window ``I₀(β √(1 - x²)) / I₀(β)`` of ``M`` points."""
    beta = as_array(beta)
    if beta.ndim or beta.dtype.kind == "c":
        raise NeedsEager("a Kaiser window needs a real number beta")
    beta = clang.reshape(clang.convert(beta, dtypes.float64), (1,))

    def window(x: TensorProxy) -> TensorProxy:
        inside = clang.maximum(clang.sub(1.0, clang.mul(x, x)), 0.0)
        z = clang.mul(clang.sqrt(inside), beta)
        decay = clang.exp(clang.sub(clang.abs(z), clang.abs(beta)))
        return clang.div(clang.mul(_scaled_bessel(z), decay), _scaled_bessel(beta))

    return _windowed(M, window)


# Convolution

_MODES = {"valid": "valid", "same": "same", "full": "full", 0: "valid", 1: "same", 2: "full"}


def _correlated(a: TensorProxy, v: TensorProxy, mode: Any) -> TensorProxy:
    """``Σ a[n + k] v[n]`` of vectors of one dtype, ``a`` the longer; ``k`` as ``mode`` says."""
    check(mode in _MODES, lambda: f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    n, m = sizes.extents((a.shape[0], v.shape[0]), "a convolution")
    before = {"valid": 0, "same": m // 2, "full": m - 1}[_MODES[mode]]
    after = {"valid": 0, "same": m - 1 - m // 2, "full": m - 1}[_MODES[mode]]
    (length,) = symbols.dimensions((n + before + after - m + 1,))
    if before or after:
        widths = symbols.number_of(before), symbols.number_of(after), 0
        a = prims.pad(a, False if a.dtype.kind == "b" else 0, (widths,))
    windows = prims.unfold(a, 0, symbols.number_of(m), 1)
    if not (before or after):
        return clang.squeeze(prims.matmul(windows, clang.expand_dims(v, (1,))), (1,))
    # What lies beyond the ends does not count, not even times infinity.
    at = clang.add(
        clang.expand_dims(prims.iota(length, start=symbols.number_of(-before), device=cpu, dtype=dtypes.int64), (1,)),
        clang.expand_dims(clang.arange(m, dtype=dtypes.int64), (0,)),
    )
    inside = clang.logical_and(clang.ge(at, 0), clang.lt(at, symbols.number_of(n)))
    return summed(clang.mul(windows, clang.where(inside, v, False if v.dtype.kind == "b" else 0)), (1,))


def _vectors(a: Any, v: Any) -> list[TensorProxy]:
    """The operands as vectors of one dtype. Raises ``ValueError`` for more dimensions, or for an empty one."""
    arrays = promote(as_array(a), as_array(v))
    arrays = [clang.expand_dims(x, (0,)) if x.ndim == 0 else x for x in arrays]
    for x, name in zip(arrays, "av"):
        check(x.ndim == 1, lambda: "object too deep for desired array")
        check(x.shape[0] != 0, lambda: f"{name} cannot be empty")
    return arrays


def _is_longer(a: TensorProxy, b: TensorProxy) -> bool:
    if symbols.relations_of(a.shape[0], b.shape[0]) is None:
        return sizes.bound(a.shape[0]) > sizes.bound(b.shape[0])
    return bool(symbols.extent(a.shape[0]) > symbols.extent(b.shape[0]))


@npsymbol()
def convolve(a: Any, v: Any, mode: Any = "full") -> TensorProxy:
    """The discrete convolution of two vectors: ``"full"``, ``"same"`` (as long as the longer) or ``"valid"``."""
    a, v = _vectors(a, v)
    if _is_longer(v, a):
        a, v = v, a
    return _correlated(a, clang.flip(v, (0,)), mode)


@npsymbol()
def correlate(a: Any, v: Any, mode: Any = "valid") -> TensorProxy:
    """The cross-correlation ``Σ a[n + k] conj(v[n])`` of two vectors, ``k`` as ``mode`` says."""
    check(all(as_array(x).ndim for x in (a, v)), lambda: "object of too small depth for desired array")
    a, v = _vectors(a, v)
    v = conjugated(v)
    if _is_longer(v, a):
        return clang.flip(_correlated(v, a, mode), (0,))
    return _correlated(a, v, mode)


# Polynomials: coefficients, the highest power first


@npsymbol()
def polyval(p: Any, x: Any) -> TensorProxy:
    """The polynomial's values at ``x``, by Horner's rule."""
    p, x = as_array(p), as_array(x)
    check(p.ndim >= 1, lambda: "iteration over a 0-d array", TypeError)
    (count,) = sizes.concrete(p.shape[:1], "polyval")
    if count == 0:
        raise NeedsEager("polyval without coefficients is not compiled")
    multiply, add = language.method("mul"), language.method("add")
    value = clang.full_like(x, False if x.dtype.kind == "b" else 0)
    for i in range(count):
        value = add(multiply(value, x), prims.select(p, 0, i))
    return value


def _aligned(a: TensorProxy, length: int) -> TensorProxy:
    missing = length - sizes.concrete(a.shape, "a polynomial")[0]
    return prims.pad(a, False if a.dtype.kind == "b" else 0, ((missing, 0, 0),)) if missing else a


def _coefficients(*polynomials: Any) -> list[TensorProxy]:
    """Coefficients, filled with leading zeros to one length."""
    arrays = [as_array(p) for p in polynomials]
    arrays = [clang.expand_dims(a, (0,)) if a.ndim == 0 else a for a in arrays]
    for a in arrays:
        if a.ndim != 1:
            raise NeedsEager("polynomials of several dimensions are not compiled")
    longest = max(sizes.concrete(a.shape, "a polynomial")[0] for a in arrays)
    return [_aligned(a, longest) for a in arrays]


@npsymbol()
def polyadd(a1: Any, a2: Any) -> TensorProxy:
    """The sum of two polynomials."""
    return language.method("add")(*_coefficients(a1, a2))


@npsymbol()
def polysub(a1: Any, a2: Any) -> TensorProxy:
    """The difference of two polynomials."""
    return language.method("sub")(*_coefficients(a1, a2))


@npsymbol(returns="argument")
def polyder(p: Any, m: Any = 1) -> TensorProxy:
    """The ``m``-th derivative; for 0 the polynomial itself. Raises ``ValueError`` for a negative one."""
    m = integer_or_eager(m)
    check(m >= 0, lambda: "Order of derivative must be positive (see polyint)")
    p = as_array(p)
    if p.ndim != 1:
        raise NeedsEager("a derivative of coefficients of several dimensions is not compiled")
    for _ in range(m):
        (count,) = sizes.concrete(p.shape, "polyder")
        if count == 0:
            raise NeedsEager("a derivative without coefficients is not compiled")
        powers = prims.iota(count - 1, start=count - 1, step=-1, device=cpu, dtype=dtypes.int64)
        p = language.method("mul")(clang.slice_dim(p, 0, count - 1, dim=0), powers)
    return p


@npsymbol(returns="argument")
def polyint(p: Any, m: Any = 1, k: Any = None) -> TensorProxy:
    """The ``m``-th antiderivative with integration constants ``k`` (default 0), in the order of integration."""
    m = integer_or_eager(m)
    check(m >= 0, lambda: "Order of integral must be positive (see polyder)")
    p = as_array(p)
    constants = clang.full((m,), 0, dtype=dtypes.float64) if k is None else as_array(k)
    if constants.ndim == 0:
        constants = clang.expand_dims(constants, (0,))
    if p.ndim != 1 or constants.ndim != 1:
        raise NeedsEager("an integral of coefficients of several dimensions is not compiled")
    (given,) = sizes.concrete(constants.shape, "polyint")
    if given == 1 and m > 1:
        ones = clang.full((m,), 1, dtype=dtypes.float64)
        constants = language.method("mul")(constants, ones)
    check(given == 1 or given >= m, lambda: "k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        (count,) = sizes.concrete(p.shape, "polyint")
        powers = prims.iota(count, start=count, step=-1, device=cpu, dtype=dtypes.int64)
        constant = clang.slice_dim(constants, i, i + 1, dim=0)
        p = clang.concatenate(promote(language.method("div")(p, powers), constant), 0)
    return p


# Windows over an array


@npsymbol("lib.stride_tricks.sliding_window_view", returns="view")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> TensorProxy:
    """The windows of that shape along ``axis`` (default: all axes), as new last dimensions of a read-only view."""
    if writeable:
        raise NeedsEager("a writeable sliding_window_view is not compiled")
    a, window_shape, axis = as_array(x), listed(window_shape), listed(axis)
    windows = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    lengths = [symbols.extent(size_or_int(n)) for n in windows]
    check(all(n >= 0 for n in lengths), lambda: "`window_shape` cannot contain negative values")
    if axis is None:
        dims = list(range(a.ndim))
        check(
            len(lengths) == a.ndim,
            lambda: (
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; "
                f"got {len(lengths)} window_shape elements and `x.ndim` is {a.ndim}."
            ),
        )
    else:
        dims = [one_axis(a.ndim, d) for d in (axis if isinstance(axis, (tuple, list)) else (axis,))]
        check(
            len(lengths) == len(dims),
            lambda: (
                "Must provide matching length window_shape and axis; got "
                f"{len(lengths)} window_shape elements and {len(dims)} axes elements."
            ),
        )
    for d, n in zip(dims, lengths):
        (length,) = sizes.extents(a.shape[d : d + 1], "sliding_window_view")
        check(length >= n, lambda: "window shape cannot be larger than input array shape")
        a = prims.unfold(a, d, symbols.number_of(n), 1)
    return a


@npsymbol(id_prefix="tnp", returns="view")
def strided_windows(a: Any, shape: tuple[int, ...], steps: tuple[int, ...]) -> TensorProxy:
    """``a[i * steps[0] + j * steps[1] + …]`` at ``i, j, …`` below ``shape``, of a vector ``a``; all within it."""
    a = as_array(a)
    last = len(shape) - 1
    for d, (n, step) in enumerate(zip(shape, steps)):
        span = 1 + sum((m - 1) * s for m, s in zip(shape[d + 1 :], steps[d + 1 :]))  # of what is behind this dimension
        if step == 0 or n == 1:
            a = clang.slice_dim(a, 0, span, dim=d)
            before, (rest,) = a.shape[:d], a.shape[d:]
            kept = (*range(d), d + 1)
            a = prims.broadcast_in_dim(a, (*before, n, rest), kept)
            continue
        a = clang.slice_dim(a, 0, (n - 1) * step + span, dim=d)
        a = prims.unfold(a, d, span, step)
    return prims.squeeze(a, (last + 1,)) if shape else prims.squeeze(clang.slice_dim(a, 0, 1, dim=0), (0,))
