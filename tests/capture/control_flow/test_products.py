"""Loops over tuples of positions: ``itertools.product`` and ``combinations``, ``np.ndindex`` and ``np.ndenumerate``."""

import itertools
import math

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def distances(n):
    x = np.random.default_rng(n).random((n, 3))

    def f(x):
        out = []
        for i, j in itertools.combinations(range(len(x)), 2):
            out.append(np.sqrt(((x[i] - x[j]) ** 2).sum()))
        return np.array(out)

    return f, (x,)


def farthest(n):
    def f(x):
        most = 0.0
        for a, b in itertools.combinations(x, 2):
            most = max(most, abs(a - b))
        return most

    return f, (np.random.default_rng(n).random(n),)


def symmetric(n):
    def f(n):
        a = np.zeros((n, n))
        for i, j in itertools.combinations_with_replacement(range(n), 2):
            a[i, j] = a[j, i] = i * 100 + j
        return a

    return f, (n,)


def grid(n):
    def f(n, m):
        a = np.zeros((n, m))
        for i, j in itertools.product(range(n), range(1, m)):
            a[i, j] = math.sin(i * 0.1) * j
        return a

    return f, (n, n + 3)


def cubes(n):
    def f(n):
        total = 0
        for i, j, k in itertools.product(range(n), repeat=3):
            total += i * 100 + j * 10 + k
        return total

    return f, (n,)


def positions(n):
    def f(a):
        out = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            out[at] = a[at] * 2 + at[0]
        return out

    return f, (np.random.default_rng(n).random((n, n + 2)),)


def elements(n):
    def f(a):
        total = 0.0
        for (i, j), v in np.ndenumerate(a):
            total += v * (i - j)
        return total

    return f, (np.random.default_rng(n).random((n, n + 2)),)


MAKERS = [distances, farthest, symmetric, grid, cubes, positions, elements]


@pytest.mark.parametrize("maker", MAKERS)
def test_one_native_loop_for_all_sizes(maker):
    jitted = tnp.jit(maker(20)[0])
    for n in (20, 25, 33, 40):
        f, args = maker(n)
        assert_same(jitted(*args), f(*args), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 2
    assert "the whole for_loop is native" in tnp.explain(jitted)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few(maker, n):
    f, args = maker(n)
    assert_same(tnp.jit(f)(*args), f(*args), rtol=1e-12)


def test_every_pair_of_many():
    def f(n):
        count = last = 0
        for i, j in itertools.combinations(range(n), 2):
            count += 1
            last = i * n + j
            if j <= i:
                return -1, last
        return count, last

    jitted = tnp.jit(f)
    for n in (1000, 1500):
        assert jitted(n) == (n * (n - 1) // 2, (n - 2) * n + n - 1)


def test_what_python_iterates_over():
    def f(x):
        pairs = itertools.product(x, range(2))
        first = next(pairs)
        rest = [a * b for a, b in pairs]
        names = ["".join(p) for p in itertools.product("ab", repeat=2)]
        return first[0], rest, names, list(itertools.combinations("abc", 2)), list(itertools.combinations([1, 2, 3], 3))

    x = np.arange(3.0)
    assert_same(tnp.jit(f)(x), f(x))
