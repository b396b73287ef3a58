"""Lists of lists of numbers: rows of arrays, in loops for any size."""

import math
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def numbers(n):
    return (n,)


def floats(n):
    return (np.random.default_rng(n).random(n),)


def symbols(n):
    rng = np.random.default_rng(n)
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 3)


def hilbert(n):
    return np.array([[1.0 / (i + j + 1) for j in range(n)] for i in range(n)])


def outer(x):
    return np.array([[a * b for b in x] for a in x])


def table(n):
    return [[i * 10 + j for j in range(n)] for i in range(n)]


def scalars(x):
    return [[v * k for v in x] for k in range(len(x))]


def common(a, b):
    n, m = len(a), len(b)
    found = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                found[i][j] = found[i - 1][j - 1] + 1
            else:
                found[i][j] = max(found[i - 1][j], found[i][j - 1])
    return found[n][m], found[-1][-2]


def turned(x):
    rows = [[v + k for v in x] for k in range(len(x))]
    return np.array([[rows[j][i] for j in range(len(rows))] for i in range(len(rows[0]))])


def sums(x):
    rows = [[float(v) * k for v in x] for k in range(len(x))]
    total = 0.0
    for row in rows:
        for v in row:
            total += v * len(row)
    return total, [sum(row) for row in rows], max(rows[1])


def entropy(u, r=0.2):
    def apart(a, b):
        return max([abs(p - q) for p, q in zip(a, b)])

    def phi(m):
        x = [[u[j] for j in range(i, i + m)] for i in range(n - m + 1)]
        c = [len([1 for b in x if apart(a, b) <= r]) / (n - m + 1.0) for a in x]
        return sum(np.log(c)) / (n - m + 1.0)

    n = len(u)
    return abs(phi(3) - phi(2))


def smoothed(x):
    grid = [[0.0 for _ in range(len(x))] for _ in range(len(x))]
    for i in range(len(x)):
        grid[i][i] = float(x[i])
        grid[i][0] += 1.0
    for i in range(1, len(x) - 1):
        for j in range(1, len(x) - 1):
            grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4
    return grid


PROGRAMS = [
    (hilbert, numbers), (outer, floats), (table, numbers), (scalars, floats), (common, symbols), (turned, floats),
    (sums, floats), (entropy, floats), (smoothed, floats),
]  # fmt: skip


@pytest.mark.parametrize("f, make", PROGRAMS, ids=lambda x: x.__name__)
def test_for_all_sizes(f, make):
    jitted = tnp.jit(f)
    for n in (20, 25, 33, 40):
        assert_same(jitted(*make(n)), f(*make(n)), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 2, tnp.explain(jitted)
    assert "for_loop is native" in tnp.explain(jitted)


@pytest.mark.parametrize("f, make", PROGRAMS, ids=lambda x: x.__name__)
@pytest.mark.parametrize("n", [3, 4])
def test_few(f, make, n):
    with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
        found = tnp.jit(f)(*make(n))
    assert_same(found, f(*make(n)), rtol=1e-12)


@pytest.mark.parametrize("n", [20, 3])
def test_lists_that_change_or_are_shared(n):
    def changed(n):
        out = []
        for i in range(n):
            row = [i, i + 1, i + 2]
            out.append(row)
            row.append(7)
        return out

    def aliased(n):
        row = [1.0] * n
        rows = [row for _ in range(n)]
        rows[0][1] = 5.0
        return rows

    def uneven(n):
        return [[j + i for j in range(i)] for i in range(n)]

    def mixed(n):
        rows = [[0] * n for _ in range(n)]
        rows[1][1] = 0.5
        return rows

    def put(n):
        rows = [[0.0] * n for _ in range(n)]
        rows[2] = [1.0, 2.0]
        rows[0] = rows[1]
        rows[1][0] = 9.0
        return rows

    def identical(n):
        rows = [[0.0] * n for _ in range(n)]
        first = rows[0]
        first[1] = 3.0
        return rows[0] is first, rows[0][1], rows[0] == rows[1], 3.0 in rows[0], first[:2], rows[-1]

    def items(n):
        rows = [[0] * 2 for _ in range(n)]
        for i in range(n):
            rows[i][1] = i
        row, last = rows[1], 0
        for r in rows:
            last += r is rows[-1]
        told = row is rows[1], rows[0] is rows[0], row is not rows[1], rows[0] is rows[1], [r is row for r in rows]
        return told, last, rows[1].count(0), [r.count(0) for r in rows]

    def order(n):
        row = [0] * n
        for i in range(n):
            row[i] = 1
        return row < [1], row < [1, 1, 1], row >= [1] * n, row > [2], row == [1] * n, row.count(1)

    def out_of_bounds(n):
        rows = [[0.0] * n for _ in range(n)]
        try:
            rows[n - 1][n] = 1.0
        except IndexError as error:
            return str(error)
        return rows

    for f in (changed, aliased, uneven, mixed, put, identical, items, order, out_of_bounds):
        jitted = tnp.jit(f)
        for m in (n, n + 1, n + 5):
            with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
                found = jitted(m)
            assert_same(found, f(m))


def test_math_of_elements():
    def f(n):
        rows = [[math.sin(i * j) for j in range(n)] for i in range(n)]
        return [[math.exp(v) for v in row] for row in rows]

    jitted = tnp.jit(f)
    for n in (20, 30):
        assert_same(jitted(n), f(n), rtol=1e-12)
