"""Long lists and tuples of rows, and large dicts: their items are not inputs of programs."""

import copy

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")
rng = np.random.default_rng(0)
TABLE = [[int(v) for v in rng.integers(0, 99, k % 7 + 1)] for k in range(3000)]
ROWS = tuple((k, k * 0.5) for k in range(2000))
BY_NUMBER = dict(enumerate(TABLE))
X = np.linspace(0, 1, 50)


def check(f, *calls):
    """``f`` with the arguments of each call, jitted as eager; returns the length of its explanation, and the jitted function."""
    jitted = tnp.jit(f)
    for args in (*calls, *calls):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        assert_same(jitted(*mine), f(*theirs))
        assert_same(list(mine), list(theirs), what="arguments")
    return len(str(tnp.explain(jitted))), jitted


@pytest.mark.parametrize("table", [TABLE, ROWS, BY_NUMBER], ids=["list", "tuple", "dict"])
def test_tables_of_modules(table):
    def known(x):
        return np.sin(x) * table[7][0] + table[1999][1] + len(TABLE) * len(ROWS)

    def number(x, k):
        return np.sin(x) * table[k][0]

    assert check(known, (X,), (X[:9],))[0] < 10_000
    with not_compiled_whole():
        assert check(number, *((X[:n], k) for k in (3, 4, 7) for n in (9, 20)))[0] < 10_000


def test_a_row_that_is_made_an_array_in_a_loop():
    def f(count, n):
        found = np.zeros((count, n))
        for i in range(count):
            row = np.array(TABLE[i], dtype=int)
            for j in range(n):
                found[i, j] = row[j % len(row)] * j
        return found

    assert check(f, (4, 20), (5, 20), (5, 30))[0] < 60_000


def test_points_of_any_number():
    def steps(points):
        total = 0.0
        for i in range(len(points) - 1):
            total += abs(points[i + 1][0] - points[i][0])
        return total

    def distances(points):
        total = 0.0
        for x, y in points:
            total += np.sqrt(x * x + y * y)
        return total

    def mean(points, x):
        return np.sin(x) * np.array(points).mean(axis=0)

    def changed(points):
        points[0][1] += 1.0
        points.append([2.0, 1.0])
        return np.array(points) * 2

    calls = [([[k * 1.0, k * 0.5] for k in range(n)],) for n in (3, 80, 600, 700, 701)]
    for f in (steps, distances, changed):
        assert tnp.cache_info(check(f, *calls)[1]).misses <= 5
    check(mean, *((points, X[:2]) for (points,) in calls))


def test_rows_that_are_arguments_too():
    def f(table, row, x):
        row[0] = 5.0
        return np.cos(x) * table[3][0], table[3] is row, len(table)

    jitted = tnp.jit(f)
    for n in (90, 100, 110):
        table, other = ([[float(k), 1.0] for k in range(n)] for _ in range(2))
        for row in (table[3], table[4]):
            assert_same(jitted(table, row, X), f(other, other[3 if row is table[3] else 4], X))
        assert_same(table, other)


def test_methods_of_long_lists_are_pythons():
    def rows(x):
        path = [(0, 0)]
        while len(path) < 90:
            path.append((len(path), int(x[len(path)] * 10)))
        path.reverse()
        return np.array(path) * 2, (3, 4) in path

    def reversed_points(points, p):
        points.reverse()
        return points[0], p in points, points.count(p)

    check(rows, (np.arange(100.0),), (np.arange(120.0),))
    check(reversed_points, *(([(k, 2.0) for k in range(n)], (5, 2.0)) for n in (80, 90, 600)))


def test_long_lists_of_strings():
    def f(labels, x):
        numbers = {s: i for i, s in enumerate(sorted(set(labels)))}
        found = [numbers[s.lower()] for s in labels]
        y = np.sin(x) * len(labels)
        return np.array(found), y + (labels[3] == "b")

    calls = [(["abc"[k % 3] for k in range(n)], np.linspace(0, 1, n)) for n in (900, 700)]
    with not_compiled_whole():
        assert check(f, *calls)[0] < 10_000
