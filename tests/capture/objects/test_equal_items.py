"""``items.index(x)``, ``x in items`` and ``items.count(x)`` of lists that are rows of an array, and lists of NumPy's scalars as arguments."""

import math

import numpy as np
import pytest

import tnp
from tests.eager_checks import functions_of, outcome
from tnp.testing import assert_same


def nearest(xs):
    distances = [abs(x - 0.5) for x in xs]
    at = distances.index(min(distances))
    return at, xs[at], distances[at]


def nearest_of_points(xs):
    dx = [0.3 - x for x in xs]
    dy = [x * x for x in xs]
    d = [math.hypot(x, y) for x, y in zip(dx, dy)]
    at = d.index(min(d))
    return at, xs[at] * 2


def nearest_again_and_again(xs):
    out = []
    for k in range(5):
        d = [abs(x - k * 0.2) for x in xs]
        out.append(d.index(min(d)))
    return out


def of_an_argument(xs):
    return xs.index(max(xs)), xs.index(xs[-1]), xs.count(xs[0])


def is_in_it(xs):
    largest = [x * 2 for x in xs]
    m = max(largest)
    return m in largest, m + 1 in largest, m not in largest, m in xs, xs[1] in xs, xs[1] not in xs


def integers(xs):
    found = []
    for i in range(len(xs)):
        if xs[i] > 0.5:
            found.append(i * 3)
    return found.index(found[-1]), found[0] in found


def missing(xs):
    return [x + 1 for x in xs].index(xs[0] - 5)


def of_a_nan(xs):
    d = [x * math.nan for x in xs]
    return d.index(d[2]), d[0] in d


def condition(xs):
    if xs[3] * 2 in [x * 2 for x in xs]:
        return xs[0]
    return xs[1] * 3


def sums(xs):
    total = 0
    for i in range(len(xs) - 1):
        total = total + xs[i] * xs[i + 1]
    return total, sum(xs), max(xs), np.sum(xs), len(xs), xs[0]


FUNCTIONS = functions_of(globals(), "xs")
CALLS = [np.random.default_rng(n).random(n) for n in (70, 100, 80, 66)]


@pytest.mark.parametrize("listed", [list, np.ndarray.tolist], ids=["scalars", "numbers"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_as_eager(f, listed):
    jitted = tnp.jit(f)
    for x in CALLS:
        found, expected = outcome(jitted, (listed(x),)), outcome(f, (listed(x),))
        assert_same(found, expected, rtol=1e-12)


@pytest.mark.parametrize("listed", [list, np.ndarray.tolist], ids=["scalars", "numbers"])
@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f not in (missing, of_a_nan)], ids=lambda f: f.__name__)
def test_one_program(f, listed):
    jitted = tnp.jit(f, strict=True)
    for x in CALLS:
        jitted(listed(x))
    assert tnp.cache_info(jitted).misses <= 3


def test_scalars_and_numbers_have_programs_of_their_own():
    jitted = tnp.jit(lambda xs: (xs[5], xs[-1] * 2))
    x = CALLS[0]
    for xs in (list(x), x.tolist(), list(x * 2), [*x[:-1], 1.0], [*x[:-1].tolist(), x[-1]], list(x.astype(np.float32))):
        assert_same(jitted(xs), (xs[5], xs[-1] * 2))


def edges(d):
    for i in range(1, d.shape[0] - 1):
        for j in range(1, d.shape[1] - 1):
            if d[i, j] == 128:
                d[i, j] = 255 if 255 in (d[i, j - 1], d[i - 1, j], d[i, j + 1], d[i + 1, j]) else 0
    return d


def counts(d):
    n = 0
    for i in range(d.shape[0]):
        if d[i, 0] not in (0.0, 128.0):
            n += 1
        if n in [1, 2, 3] or i in (5, 7):
            n += 1
        if True in (d[i, 0] > 1, d[i, 1] > 200):
            n += 10
        n += (d[i, 1] in [d[i, 0], d[i, 2]]) + (255 in (i, n))
    return n, type(n)


def until_found(d):
    k = 0
    while k not in (20, 21, d.shape[0]):
        k += 1
    return k


def with_the_very_same(d):
    d = d / d
    found = []
    for i in range(d.shape[0]):
        x = d[i, 0]
        found.append(1.0 if x in (x, 3.0) else 2.0)
        found.append(1.0 if x in (d[i, 0], 3.0) else 2.0)
        found.append(1.0 if np.nan in (x, np.nan) else 2.0)
    return found


@pytest.mark.parametrize("f", [edges, counts, until_found, with_the_very_same])
def test_a_number_is_one_of_a_few_in_a_loop(f):
    jitted = tnp.jit(f, strict=True)
    for n in (12, 13, 30):
        mine = np.random.default_rng(n).choice([0.0, 128.0, 255.0], size=(n, n))
        theirs = mine.copy()
        with np.errstate(all="ignore"):
            assert_same(jitted(mine), f(theirs))
        assert_same(mine, theirs)


def sums_along(x, mode):
    return x.sum(axis=mode) if mode in (0, 1) else x.sum()


def test_one_of_a_few_outside_of_loops_says_which():
    jitted, x = tnp.jit(sums_along, strict=True), np.arange(6.0).reshape(2, 3)
    for mode in (0, 1, 2, 0, 5):
        assert_same(jitted(x, mode), sums_along(x, mode))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_the_largest_of_arrays_of_one_element_is_one_of_them():
    def changed(x, k):
        largest = max([row for row in x if row])
        largest |= k

    for values in ([1, 4, 1], [9, 4, 1], [0, 2, 0]):
        mine, eagers = (np.array(values)[:, np.newaxis] for _ in range(2))
        jitted = tnp.jit(changed)
        for _ in range(2):
            jitted(mine, 2), changed(eagers, 2)
            assert_same(mine, eagers)
