"""Functions with a cache that the program makes: its results are the program's."""

import functools
from functools import cache, lru_cache

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.linspace(0, 1, 6)


def fibonacci(n):
    @cache
    def term(i):
        return i if i < 2 else term(i - 1) + term(i - 2)

    return [term(i) for i in range(n + 1)]


def largest(x, n):
    @cache
    def between(i, j):
        return x[i] if i == j else np.maximum(between(i, j - 1), between(i + 1, j)) + 1.0

    return between(0, n)


def is_one_object(x):
    @functools.lru_cache
    def times(i):
        return x * i

    return times(1) + times(2), times(1) is times(True), times(k=3) if times(1) is None else x


def evicted(x, ks):
    calls = []

    @lru_cache(2)
    def total(k):
        calls.append(k)
        return x.sum() * k

    found = 0.0
    for k in ks:
        found = found + total(k)
    return found, calls


def in_a_loop(x):
    times = functools.cache(lambda k: x * k)
    found = x * 0
    for i in range(5):
        found = found + times(i % 2)
    times.cache_clear()
    return found


def told_apart(x):
    calls = []

    @lru_cache(maxsize=None, typed=True)
    def doubled(v):
        calls.append(type(v).__name__)
        return v * 2

    return x * doubled(1) + doubled(1.0) + doubled(1), calls


def with_an_error(x, n):
    @cache
    def total(k):
        if k < 0:
            raise ValueError("negative")
        return x[k] + (total(k - 1) if k else 0.0)

    try:
        return total(n)
    except ValueError:
        return -1.0


PROGRAMS = [
    (fibonacci, (10,)),
    (fibonacci, (0,)),
    (largest, (X, 4)),
    (is_one_object, (X,)),
    (evicted, (X, [1, 2, 1, 3, 1, 2])),
    (in_a_loop, (X,)),
    (told_apart, (X,)),
    (with_an_error, (X, 3)),
    (with_an_error, (X, -1)),
]


@pytest.mark.parametrize("function, args", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_as_eager(function, args):
    jitted = tnp.jit(function)
    for _ in range(2):
        assert_same(jitted(*args), function(*args))
    assert "eager" not in str(tnp.explain(jitted))


def test_arguments_that_only_the_run_knows():
    """A branch tells the keys, or Python does."""

    def at(x):
        @cache
        def doubled(v):
            return v * 2

        return doubled(float(x[0])) + doubled(float(x[1]))

    jitted = tnp.jit(at)
    for x in (X, X + 1, np.zeros(6)):
        assert_same(jitted(x), at(x))


def test_a_function_that_is_returned():
    """It is the program's no longer."""

    @tnp.jit
    def makes(x):
        @cache
        def added(k):
            return x + k

        return added

    with pytest.warns(tnp.EagerFallbackWarning):
        added = makes(X)
    assert added(1) is added(1)
    np.testing.assert_array_equal(added(1), X + 1)
