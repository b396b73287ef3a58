"""Lists that a program makes by repeating others, of arrays and of ranges: where only the running program knows how many items they have
or which of them it reads and changes, it counts them."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
ARRAYS = (*(RNG.standard_normal(n) for n in (5, 12, 40, 61, 90)), np.arange(30) / 10 - 0.5)


def repeated_by_a_scalar(x):
    n = (x > 0).sum()
    return [0] * n, np.array([1.5] * n), n * [1, 2], len([2] * (n - 3))


def repeated_by_a_number(x):
    n = int((x > 0).sum())
    return [x[0]] * n, [(0, 1.0)] * n


def filled(x):
    n = (x > 0).sum()
    out = [0.0] * n
    for i in range(n):
        out[i] = x[i] * 2
    return out


def added_lists(x):
    n = (x > 0).sum()
    return np.array([2] * n + [3] * (len(x) - n)), sum([2] * n), [1.0] + [0.5] * n


def windows(x):
    low, high = np.searchsorted(np.sort(x), x - 0.5), np.searchsorted(np.sort(x), x + 0.5)
    order = np.argsort(x)
    first, second = [], []
    for j, (start, end) in enumerate(zip(low, high)):
        first.extend(order[start:end])
        second.extend([j] * (end - start))
    return first, second


def in_place(x):
    out = []
    for i in range(len(x)):
        out += [i] * int(abs(x[i]) * 3)
    return np.array(out, dtype=int)


def an_array_is_added(x):
    n = (x > 0).sum()
    out = [1.0] * n
    out += x[:1]
    return out, [1.0] * n + np.ones(1)


def counters(x):
    counts, sums = [0] * 5, [0.0] * 5
    for v in x:
        k = min(int(abs(v) * 3), 4)
        counts[k] += 1
        sums[k] += v
    counts[1] = 7
    return sums, [n + 1 for n in counts], counts, counts[int(abs(x[0])) % 5]


def from_the_end(x):
    counts = [0] * 5
    for v in x:
        counts[-1 - int(abs(v)) % 5] += 2
    return counts


def visited(x):
    seen = [False] * len(x)
    k, n = 0, 0
    while not seen[k]:
        seen[k] = True
        n += 1
        k = (k * 2 + int(abs(x[k]) * 10)) % len(x)
    return n, seen


def connected(x):
    parent = list(range(len(x)))

    def find(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for i in range(len(x) - 1):
        if abs(x[i] - x[i + 1]) < 1:
            parent[find(i + 1)] = find(i)
    return [find(i) for i in range(len(x))]


def extended(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.extend(x[:i])
    return out, np.array(out)


def of_chosen(x):
    some = x[x > 0].tolist()
    some.append(3.0)
    return some, list(np.nonzero(x > 0)[0]), [v * 2 for v in list(x[x > 0])]


def ordered(x):
    items = x.tolist()
    items.sort()
    return items, sorted(x[x > 0]), sorted(x.tolist())[:2], sorted(x, reverse=True)


def sums_of_lists(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    more = out + [1.0]
    out.append(3.0)
    return more, out, [2.0] + out, out + out


FUNCTIONS = functions_of(globals(), "x")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_as_eager(f, executor):
    check_in_turn(f, executor, ARRAYS)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_program(f):
    jitted = tnp.jit(f, strict=True)
    for x in ARRAYS[1:3]:
        for y in (x, x[::-1].copy(), x * 1.25):
            assert_same(jitted(y.copy()), f(y.copy()))
    assert "for the value" not in str(tnp.explain(jitted))


def test_empty():
    for f in FUNCTIONS[:5]:
        jitted = tnp.jit(f)
        for x in (-np.ones(4), np.ones(1), -np.ones(4)):
            assert_same(jitted(x), f(x))


def test_long_list_of_numbers():
    jitted = tnp.jit(lambda x: (x.astype(np.int32).tolist(), (x > 3).tolist()), strict=True)
    x = np.arange(3000.0)
    for y in (x, x + 1):
        found = jitted(y)
        assert_same(found, (y.astype(np.int32).tolist(), (y > 3).tolist()))
        assert type(found[0][0]) is int and type(found[1][0]) is bool


def test_scalar_argument():
    jitted = tnp.jit(lambda n: [0.0] * n)
    for n in (np.int64(3), 3, np.int64(0), 5, np.int32(7)):
        assert_same(jitted(n), [0.0] * n)


def test_errors():
    def f(x):
        counts = [0] * 5
        counts[int(x[0])] = 1
        return counts

    jitted = tnp.jit(f)
    for first in (1.0, 4.0, -5.0, 2.0, 3.0, 1.0, 0.0, 2.0, 3.0):
        assert jitted(np.array([first])) == f(np.array([first]))
    with pytest.raises(IndexError, match="list assignment index out of range"):
        jitted(np.array([9.0]))


def test_strings_are_repeated_for_each_number():
    def f(x):
        return ["a"] * (x > 0).sum()

    jitted = tnp.jit(f)
    for x in ARRAYS[:3]:
        assert jitted(x) == f(x)


def edit_distance(a, b):
    prev = list(range(len(b) + 1))
    for i in range(len(a)):
        cur = [i + 1] + [0] * len(b)
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            cur[j + 1] = min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost)
        prev = cur
    return prev[-1]


def padded(x, k):
    sums = [0.0, 1.5] + [0.0] * len(x) + [2.5]
    for i in range(len(x)):
        sums[i + 2] = sums[i + 1] * 0.5 + float(x[i])
    return sums[k], len(sums), np.array(sums)


def test_sums_of_lists_that_are_written_down():
    rng = np.random.default_rng(0)
    jitted = tnp.jit(edit_distance, strict=True)
    for n in (20, 27):
        a, b = rng.integers(0, 3, n), rng.integers(0, 3, n + 2)
        assert_same(jitted(a, b), edit_distance(a, b))
        assert "the whole for_loop is native" in str(tnp.explain(jitted))
    jitted = tnp.jit(padded, strict=True)
    for n in (30, 40, 50, 60):
        x = rng.random(n)
        assert_same(jitted(x, 3), padded(x, 3))
    assert tnp.cache_info(jitted).misses <= 3
