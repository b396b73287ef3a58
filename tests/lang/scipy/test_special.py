"""``scipy.special`` in compiled functions: values, dtypes and gradients are SciPy's."""

import numpy as np
import pytest

import tnp
from tnp.lang.scipy.special import _COMPOSED
from tnp.testing import assert_same

special = pytest.importorskip("scipy.special")

RNG = np.random.default_rng(0)
EDGES = [0, -0.0, 1, -1, 0.5, np.inf, -np.inf, np.nan, 1e-300, 700, -700]
X = np.concatenate([RNG.normal(size=500) * 3, EDGES])
Y = np.concatenate([RNG.normal(size=500) * 3, EDGES[::-1]])
#: where a function has its largest errors, beside a relative 1e-13
ABSOLUTE = {"digamma": 2e-14, "psi": 2e-14, "gammaln": 1e-14, "kl_div": 2e-15}


def called(name):
    function = getattr(special, name)
    return (lambda x, y: function(x)) if function.nin == 1 else (lambda x, y: function(x, y))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", sorted(_COMPOSED))
def test_values(name, dtype):
    f = called(name)
    x, y = (X, Y) if dtype != "i8" else (np.nan_to_num(a, posinf=9, neginf=-9).clip(-30, 30) for a in (X, Y))
    x, y = x.astype(dtype), y.astype(dtype)
    with np.errstate(all="ignore"):
        expected = f(x, y)
    found = tnp.jit(f, strict=True)(x, y)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    rtol = 3e-13 if expected.dtype == np.float64 else 2e-6
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=ABSOLUTE.get(name, 0))


#: arguments at which all functions have derivatives
INSIDE = np.linspace(0.15, 0.85, 7)


@pytest.mark.parametrize("name", sorted(_COMPOSED))
def test_gradients(name):
    f = called(name)
    y = INSIDE[::-1].copy() + 0.02
    step = 1e-6
    expected = (f(INSIDE + step, y) - f(INSIDE - step, y)) / (2 * step)
    found = tnp.grad(lambda x, y: f(x, y).sum())(INSIDE, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_scalars_broadcasting_and_out():
    def f(x, k):
        y = special.xlogy(x[:, None], x) + special.erf(k)
        out = np.zeros(3)
        special.expit(x, out=out)
        return y, out, special.ndtr(x[0]), special.erf(x[1]) * 2

    jitted = tnp.jit(f)
    for k in (0.5, 2):
        assert_same(jitted(np.array([0.5, -1.0, 2.0]), k), f(np.array([0.5, -1.0, 2.0]), k))


@pytest.mark.parametrize("name", ["j0", "gamma", "i1e", "ndtri", "log_ndtr", "erfcx", "betaln", "hyp2f1", "sici"])
def test_calls_of_scipys_own(name):
    function = getattr(special, name)

    def f(x, n):
        total = np.zeros_like(x)
        for i in range(n):
            found = function(*[x * 0.5 + i * 0.01] * function.nin)
            total += (found[0] if function.nout > 1 else found) * 2 + 1
        return total

    jitted = tnp.jit(f)
    for n in (3, 40):
        assert_same(jitted(INSIDE, n), f(INSIDE, n), rtol=1e-12)
    assert "opaque" not in tnp.explain(jitted) and "Python runs" not in tnp.explain(jitted)
    assert_same(jitted(INSIDE.astype("f4"), 3), f(INSIDE.astype("f4"), 3), rtol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_functions_of_whole_arrays(name):
    function = getattr(special, name)
    a = RNG.normal(size=(4, 5)) * 10
    for axis in (None, 0, -1, (0, 1)):
        assert_same(tnp.jit(lambda a: function(a, axis=axis), strict=True)(a), function(a, axis=axis), rtol=1e-13)
    a[1, 2] = -np.inf
    assert_same(tnp.jit(lambda a: function(a, 1))(a), function(a, 1), rtol=1e-13)


def test_a_stencil_with_a_special_function_is_one_program():
    def f(u):
        for _ in range(20):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return special.erf(u) + special.expit(u)

    u = RNG.normal(size=200)
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(u.copy()), f(u.copy()), rtol=1e-13)


def test_complex_numbers_are_scipys():
    def f(z):
        return special.erf(z * 2 + 1) * z + 1

    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning, match="erf of complex128"):
        assert_same(jitted(INSIDE + 0.5j), f(INSIDE + 0.5j))
