"""Loops over tuples of positions: ``itertools.product``, ``combinations`` and ``permutations``, ``np.ndindex`` and ``np.ndenumerate``."""

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


def concordance(n):
    def f(x, y):
        total = count = 0
        for i, j in itertools.permutations(range(len(x)), 2):
            sign = np.sign((x[i] - x[j]) * (y[i] - y[j])) * (i + 2 * j)
            total += sign
            if sign:
                count += 1
        return total, count

    rng = np.random.default_rng(n)
    return f, (rng.random(n), rng.random(n).round(1))


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


MAKERS = [distances, farthest, symmetric, concordance, grid, cubes, positions, elements]


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


LISTS = {
    "product": lambda x, y: np.array(list(itertools.product(x, y))),
    "display": lambda x, y: np.array([*itertools.product(x, y)]) * 2,
    "of arrays": lambda x, y: np.array(list(itertools.combinations(x, 2))).reshape(-1, 2).sum(axis=1),
    "of positions": lambda x, y: np.array(list(itertools.product(range(len(x)), range(len(y))))),
    "ordered": lambda x, y: np.array(list(itertools.permutations(x, 2))).reshape(-1, 2) @ np.array([1, 10]),
    "repeated": lambda x, y: np.array(list(itertools.combinations_with_replacement(y, 2))) @ np.ones(2),
    "of rows": lambda x, y: [a * b for a, b in list(itertools.product(np.outer(x, y), y[:2]))],
    "counted": lambda x, y: len(list(itertools.product(x, y))) * y,
    "indices": lambda x, y: np.array(list(np.ndindex(len(x), len(y)))),
}


def of_pairs(x, y):
    pairs = list(itertools.combinations(range(len(x)), 2))
    found = np.zeros(len(pairs))
    for k, (i, j) in enumerate(pairs):
        found[k] = x[i] * x[j]
    return found, pairs[-1:], pairs[:0]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", [*LISTS.values(), of_pairs], ids=[*LISTS, "of_pairs"])
def test_lists_of_their_items(f):
    jitted = tnp.jit(f)
    for n in (3, 40, 50, 60, 0, 1):
        x, y = np.random.default_rng(n).random(n), np.arange(n // 4 + 2.0)
        assert_same(jitted(x, y), f(x, y), rtol=1e-12)


def test_lists_of_the_items_of_many_are_not_written_out():
    def f(x, y):
        return np.array(list(itertools.product(x, y)))

    jitted = tnp.jit(f, strict=True)
    for n in (300, 400, 500):
        x, y = np.random.default_rng(n).random(n), np.arange(40.0)
        assert_same(jitted(x, y), f(x, y))
    assert tnp.cache_info(jitted).misses == 2
    assert len(str(tnp.explain(jitted))) < 5_000


def test_few_items_are_known():
    names = "abcdef"

    def f(x):
        pairs = list(itertools.combinations(range(4), 2))
        return [names[i] + names[j] for i, j in pairs], x * len(pairs), sorted(pairs, reverse=True)

    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(np.ones(3)), f(np.ones(3)))


def test_a_function_called_list_or_product():
    def product(x, y):
        return x * y

    def f(x, list):
        return list(product(x, 2.0)), [*product(x, 3.0)]

    x = np.arange(3.0)
    for function in (sum, tuple, np.cumsum):
        assert_same(tnp.jit(f)(x, function), f(x, function))


def test_other_permutations_are_pythons():
    def f(x):
        return (
            [x[list(p)] for p in itertools.permutations(range(3))],
            list(itertools.permutations("abc", r=2)),
            sum(x[i] * j for i, j, k in itertools.permutations(range(3), 3)),
        )

    x = np.arange(3.0)
    assert_same(tnp.jit(f)(x), f(x))
