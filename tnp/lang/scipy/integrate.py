"""``scipy.integrate``: rules for samples. Integrals of functions call Python functions, and are Python's."""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import TensorProxy, is_number
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.linalg.operands import plain
from tnp.lang.numpy.operands import as_array
from tnp.lang.numpy.operands import axis as one_axis
from tnp.lang.scipy.registry import by_dry_run, scipysymbol

__all__ = ["cumulative_trapezoid", "romb", "simpson", "trapezoid"]

_DOUBLE = (dtypes.float64, dtypes.complex128)


def _is_real(x: Any) -> bool:
    return is_number(x) and getattr(x, "python_type", type(x)) is not complex


def _samples(y: Any, x: Any, dx: Any, axis: Any) -> tuple[TensorProxy, TensorProxy | None, int, Any]:
    """The samples and their abscissas in double precision, the dimension that is integrated over, and its length, to compute with.

    ``x`` is of ``y``'s dimensions. Other arguments are SciPy's business.
    """
    y = as_array(y)
    y = y if y.dtype.kind in "fc" else clang.convert(y, dtypes.float64)
    if y.ndim == 0 or y.dtype not in _DOUBLE or not _is_real(dx):
        raise NeedsOpaque("the samples are not in double precision")
    dim = one_axis(y.ndim, axis)
    (n,) = sizes.extents(y.shape[dim : dim + 1], "an integral")
    if x is not None:
        x = as_array(x)
        if x.dtype.kind in "iu":
            x = clang.convert(x, dtypes.float64)
        if x.dtype is not dtypes.float64 or x.ndim not in (1, y.ndim):
            raise NeedsOpaque("the abscissas are not in double precision")
        if x.ndim < y.ndim:
            x = clang.expand_dims(x, tuple(d for d in range(y.ndim) if d != dim))
        if sizes.equal(x.shape[dim], y.shape[dim]) is not True:
            raise NeedsOpaque("the lengths differ")
    return y, x, dim, n


def _cut(a: TensorProxy, dim: int, start: Any, stop: Any = None, step: Any = None) -> TensorProxy:
    key = tuple(slice(start, symbols.number_of(stop), step) if d == dim else slice(None) for d in range(a.ndim))
    made: TensorProxy = lnp.getitem(a, key)
    return made


def _at(a: TensorProxy, dim: int, i: int) -> TensorProxy:
    made: TensorProxy = lnp.getitem(a, tuple(i if d == dim else slice(None) for d in range(a.ndim)))
    return made


def _ratio(a: Any, b: Any) -> Any:
    """``a / b``, 0 where ``b`` is 0."""
    is_zero = lnp.equal(b, 0)
    return lnp.where(is_zero, 0.0, lnp.true_divide(a, lnp.where(is_zero, 1.0, b)))


@scipysymbol("integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral along ``axis`` by the trapezoidal rule."""
    y, x = as_array(y), None if x is None else as_array(x)
    single = y.dtype is dtypes.float32 and is_number(dx) and (x is None or x.dtype is dtypes.float32)
    if not (single or (y.dtype in _DOUBLE or y.dtype.kind in "iu")) or (x is not None and x.dtype.kind == "c"):
        raise NeedsOpaque("the dtypes are not those of the definition")
    if not _is_real(dx):
        raise NeedsOpaque("the spacing is no real number")
    return lnp.trapezoid(y, x, dx=dx, axis=axis)


@scipysymbol("integrate.cumulative_trapezoid")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None) -> Any:
    """The integrals up to each sample but the first by the trapezoidal rule; with ``initial=0`` that one, too."""
    y, x, dim, n = _samples(y, x, dx, axis)
    if n == 0 or (initial is not None and plain(initial) != 0):
        raise NeedsOpaque("there is nothing to begin with")
    step = dx if x is None else lnp.diff(x, axis=dim)
    means = lnp.true_divide(lnp.multiply(step, lnp.add(_cut(y, dim, 1), _cut(y, dim, None, -1))), 2.0)
    found = lnp.cumsum(means, axis=dim)
    if initial is None:
        return found
    first = lnp.zeros(tuple(1 if d == dim else m for d, m in enumerate(found.shape)), dtype=to_numpy_dtype(found.dtype))
    return lnp.concatenate([first, found], axis=dim)


def _pairs(y: TensorProxy, x: TensorProxy | None, dx: Any, dim: int, stop: Any) -> TensorProxy:
    """The integral over pairs of intervals up to the sample ``stop + 1``."""
    a, b, c = (_cut(y, dim, i, stop + i, 2) for i in range(3))
    if x is None:
        total = lnp.sum(lnp.add(lnp.add(a, lnp.multiply(4.0, b)), c), axis=dim)
        made: TensorProxy = lnp.multiply(total, lnp.true_divide(dx, 3.0))
        return made
    h = lnp.diff(x, axis=dim)
    first, second = _cut(h, dim, 0, stop, 2), _cut(h, dim, 1, stop + 1, 2)
    both, ratio = lnp.add(first, second), _ratio(first, second)
    middle = lnp.multiply(both, _ratio(both, lnp.multiply(first, second)))
    terms = lnp.add(lnp.multiply(a, lnp.subtract(2.0, _ratio(1.0, ratio))), lnp.multiply(b, middle))
    terms = lnp.add(terms, lnp.multiply(c, lnp.subtract(2.0, ratio)))
    made = lnp.sum(lnp.multiply(lnp.true_divide(both, 6.0), terms), axis=dim)
    return made


@scipysymbol("integrate.simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral along ``axis`` by Simpson's rule, the last of an odd number of intervals as K. V. Cartwright's Simpson's rule cumulative
    integration with MS Excel and irregularly-spaced data (2017) has it."""
    y, x, dim, n = _samples(y, x, dx, axis)
    if n == 0:
        raise NeedsOpaque("there are no samples")
    if n % 2:
        return _pairs(y, x, dx, dim, n - 2)
    last, before = _at(y, dim, -1), _at(y, dim, -2)
    if n == 2:
        step = dx if x is None else lnp.subtract(_at(x, dim, -1), _at(x, dim, -2))
        return lnp.multiply(lnp.multiply(0.5, step), lnp.add(last, before))
    if x is None:
        g = h = as_array(dx, dtypes.float64)
    else:
        steps = lnp.diff(x, axis=dim)
        g, h = _at(steps, dim, -2), _at(steps, dim, -1)
    square, product, total = lnp.multiply(h, h), lnp.multiply(g, h), lnp.add(g, h)
    of_last = _ratio(lnp.add(lnp.multiply(2, square), lnp.multiply(3, product)), lnp.multiply(6, total))
    of_before = _ratio(lnp.add(square, lnp.multiply(3.0, product)), lnp.multiply(6, g))
    of_third = _ratio(lnp.multiply(square, h), lnp.multiply(lnp.multiply(6, g), total))
    correction = lnp.subtract(
        lnp.add(lnp.multiply(of_last, last), lnp.multiply(of_before, before)), lnp.multiply(of_third, _at(y, dim, -3))
    )
    return lnp.add(_pairs(y, x, dx, dim, n - 3), correction)


@scipysymbol("integrate.romb")
def romb(y: Any, dx: Any = 1.0, axis: Any = -1, show: Any = False) -> Any:
    """The integral along ``axis`` of ``2**k + 1`` samples by Romberg's method."""
    if plain(show):
        raise NeedsEager("it prints a table")
    y, _, dim, n = _samples(y, None, dx, axis)
    n = symbols.fixed(n)
    count = max(n - 1, 0).bit_length() - 1
    if n - 1 != 1 << max(count, 0):
        raise NeedsOpaque("the number of samples is none")
    h = lnp.multiply(float(n - 1), dx)
    row = [lnp.multiply(lnp.true_divide(lnp.add(_at(y, dim, 0), _at(y, dim, -1)), 2.0), h)]
    for i in range(1, count + 1):
        new = lnp.sum(_cut(y, dim, (n - 1) >> i, n - 1, (n - 1) >> (i - 1)), axis=dim)
        finer = [lnp.multiply(0.5, lnp.add(row[0], lnp.multiply(h, new)))]
        for j in range(1, i + 1):
            gain = lnp.true_divide(lnp.subtract(finer[j - 1], row[j - 1]), (1 << (2 * j)) - 1)
            finer.append(lnp.add(finer[j - 1], gain))
        row, h = finer, lnp.true_divide(h, 2.0)
    return row[-1]


by_dry_run("integrate", "cumulative_simpson newton_cotes")
