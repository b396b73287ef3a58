"""Functions of NumPy that are run as what they consist of, since that takes less time."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


def integers(n):
    return RNG.integers(-9, 40, n)


def floats(n):
    x = integers(n).astype(float)
    x[:6] = 0.0, -0.0, np.nan, np.inf, -np.inf, np.nan
    return x


@pytest.mark.parametrize("make", [integers, floats])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.unique(x),
        lambda x: np.unique(x).size / x.size,
        lambda x: np.unique(x.reshape(2, -1), equal_nan=False),
        lambda x: np.unique(x)[1:-1].sum(),
        lambda x: np.union1d(x, x + 1),
        lambda x: np.setdiff1d(x, x[:3]),
    ],
)
def test_distinct_elements_are_a_sort(f, make):
    jitted = tnp.jit(f)
    for n in (20, 30, 64, 200):
        x = make(n)
        result, expected = jitted(x), f(x)
        assert_same(result, expected, exact=True)
        assert np.array_equal(np.signbit(result), np.signbit(expected))
    text = str(tnp.explain(jitted))
    assert "argsort" not in text and "= np.unique" not in text, text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.unique(x, return_counts=True),
        lambda x: np.unique(x, True, True, True),
        lambda x: np.unique(x, return_inverse=True)[1],
        lambda x: np.sort(np.unique(x, sorted=False)),
        lambda x: np.unique(x, sorted=False),
    ],
)
def test_more_of_distinct_elements_is_numpys(f):
    jitted = tnp.jit(f)
    for n in (20, 30, 64):
        x = integers(n)
        assert_same(jitted(x), f(x), exact=True)


def test_distinct_elements_of_selections():
    def f(x):
        return np.unique(x[x > 3])

    for make in (integers, lambda n: np.abs(integers(n)) * 0.5):
        jitted = tnp.jit(f)
        for n in (20, 30, 64):
            for shift in (0, -1000):
                x = make(n) + shift
                assert_same(jitted(x), f(x), exact=True)
