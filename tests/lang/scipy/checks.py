"""What the tests of SciPy's functions have in common."""

import copy
import warnings

import numpy as np

import tnp
from tnp.testing import assert_same


def compiled_as_eager(f, *args, rtol=None):
    """Compares ``f`` compiled, none of it run eagerly, with eager: results, and that arguments stay as they are. Returns the result."""
    expected = f(*copy.deepcopy(args))
    given = copy.deepcopy(args)
    found = tnp.jit(f, strict=True)(*given)
    assert_same(found, expected, rtol=rtol)
    assert_same(given, args, exact=True)
    return found


def raises_as_eager(f, *args):
    """Compares the error of ``f`` compiled with eager's: its class and its text. Returns the class."""
    errors = []
    for g in (f, tnp.jit(f), tnp.jit(f)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                g(*copy.deepcopy(args))
        except Exception as error:
            errors.append(error)
    assert len(errors) == 3, f"{len(errors)} of three calls raise"
    assert len({(type(e), str(e)) for e in errors}) == 1, errors
    return type(errors[0])


def gradient_is_right(f, x, *args, rtol=1e-5):
    """Compares the gradient of a real ``f(x, *args)`` along some directions with central differences."""
    rng = np.random.default_rng(1)
    gradient = tnp.grad(f)(x, *args)
    assert gradient.shape == x.shape and gradient.dtype == x.dtype
    for _ in range(3):
        d = rng.normal(size=x.shape)
        step = 1e-6
        expected = (f(x + step * d, *args) - f(x - step * d, *args)) / (2 * step)
        np.testing.assert_allclose((gradient * d).sum(), expected, rtol=rtol, atol=1e-7)


def layouts(a):
    """``a`` in several layouts of memory: C's order, Fortran's, with gaps, backwards."""
    wide = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    gaps = wide[(slice(None, None, 2),) * a.ndim]
    gaps[...] = a
    backwards = np.ascontiguousarray(a[::-1])[::-1] if a.ndim else a
    return [a, np.asfortranarray(a), gaps, backwards]
