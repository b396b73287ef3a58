"""Some seconds that tell whether anything works at all; the pre-commit hook runs them."""

import numpy as np

import tnp


def test_expression():
    f = tnp.jit(lambda a, b: np.sin(a) * b + 1)
    a, b = np.linspace(0, 1, 5), np.arange(5.0)
    np.testing.assert_array_equal(f(a, b), np.sin(a) * b + 1)


def test_in_place_through_a_view():
    @tnp.jit
    def f(x):
        x[1:-1] += x[:-2]
        return x.sum()

    x, y = np.arange(6.0), np.arange(6.0)
    y[1:-1] += y[:-2]
    assert f(x) == y.sum()
    np.testing.assert_array_equal(x, y)


def test_second_call_comes_from_the_cache():
    f = tnp.jit(lambda a: a * 2)
    f(np.ones(3))
    f(np.zeros(3))
    assert tnp.cache_info(f) == (1, 1, 1)
