"""Powers with short constant exponents: products and roots, rounded correctly."""

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.testing import assert_same

# The accuracy is that of native code; without a target, powers are calls of NumPy.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")

EXPONENTS = (4, 5, 6, 7, 12, 15, 16, -2, -3, -6, -13, -16, 1.5, 2.5, 3.5)
SPECIAL = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    -1.5,
    5e-324,
    1e-308,
    1e-155,
    -1e-80,
    1e155,
    -1e100,
    1e200,
    1e308,
    1.0,
    -1.0,
)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_float64(exponent):
    f = eval(f"lambda x: x ** ({exponent})")  # a constant of the code
    x = np.random.default_rng(0).uniform(0.01, 3.0, 40_000)
    wide = x.astype(np.longdouble)
    whole, half = divmod(abs(exponent), 1)
    exact = wide ** int(whole) * (np.sqrt(wide) if half else 1)
    exact = 1 / exact if exponent < 0 else exact
    made = tnp.jit(f, executors=["llvm"])(x)
    assert np.max(np.abs(made - exact) / np.spacing(made)) < 0.51
    with np.errstate(all="ignore"):
        expected = f(np.array(SPECIAL))
    assert_same(tnp.jit(f)(np.array(SPECIAL)), expected, rtol=1e-15)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_float32(exponent):
    f = eval(f"lambda x: x ** ({exponent})")  # a constant of the code
    x = np.random.default_rng(0).uniform(0.01, 3.0, 40_000).astype(np.float32)
    made = tnp.jit(f, executors=["llvm"])(x)
    assert made.dtype == np.float32
    assert np.max(np.abs(made - x.astype(np.float64) ** exponent) / np.spacing(made)) < 0.51
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(np.float32)
        expected = f(special)
    assert_same(tnp.jit(f)(special), expected, rtol=1e-6)


def test_an_exponent_that_is_an_argument():
    def f(x, p):
        return np.power(x, p), x**p

    jitted = tnp.jit(f)
    x = np.linspace(0.5, 2, 70)
    for p in (2, 3, 5, 2, 2.0, 1.5):
        assert_same(jitted(x, p), f(x, p), rtol=1e-14)
