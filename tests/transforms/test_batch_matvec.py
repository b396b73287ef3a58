"""Loops with a product of a vector and a matrix in each iteration: when they become one product of matrices, and that nothing else changes."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import source
from tnp.testing import assert_same
from tnp.transforms import batch_matvec

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

N, M = 40, 24


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Matrices count as large from 256 elements on."""
    monkeypatch.setattr(batch_matvec, "MANY", 256)


def matrices(dtype=float):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((N, M)) for _ in range(2))
    return (a.astype(dtype), b.astype(dtype), np.zeros((M, M), dtype))


def check(f, make, found):
    jitted = tnp.jit(f)
    for _ in range(2):
        expected_args, args = make(), make()
        assert_same(jitted(*args), f(*expected_args))
        assert_same(args, expected_args, what="arguments")
    passes = [str(t.provenance) for t in tnp.last_traces(jitted)]
    assert any("Products of iterations" in text for text in passes) is found
    return source(jitted)


def gram(a, b, out):
    m = a.shape[1]
    for i in range(m):
        out[i:, i] = out[i, i:] = a[:, i] @ a[:, i:] / (len(a) - 1.0)


def beyond(a, b, out):
    m = a.shape[1]
    for i in range(m - 1):
        out[i + 1 : m, i] = a[:, i] @ b[:, i + 1 : m]


def upwards(a, b, out):
    m = a.shape[1]
    for i in range(m - 1, -1, -1):
        out[i] += np.dot(b.T, a[:, i])


def rows_times(a, b, out):
    w = out + a[: a.shape[1]]
    total = 0.0
    for i in range(len(a)):
        y = a[i] @ w
        y[0] = 1.0  # the product is an array of its own
        total += y.sum()
    return total, y


def matrix_first(a, b, out):
    m = a.shape[1]
    for k in range(m):
        out[:, k] = b.T @ a[:, k]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128], ids=lambda d: d.__name__)
@pytest.mark.parametrize("f", [gram, beyond, upwards, rows_times, matrix_first], ids=lambda f: f.__name__)
def test_one_product(f, dtype):
    check(f, lambda: matrices(dtype), True)


def test_row_count_of_the_caller():
    """A number that decides the shape of something is known; another, which does not, is not."""

    def sized(n, a):
        out = np.zeros((n, M))
        for i in range(1, n - 1):
            out[i] = a[i] @ a[:M]
        return out

    def counted(n, a, out):
        for i in range(n):
            out[i] += a[:, i] @ a

    a = np.random.default_rng(1).standard_normal((M, M))
    for f, args, found in (
        (sized, lambda: (M, a.copy()), True),
        (counted, lambda: (M, a.copy(), np.ones((M, M))), False),
    ):
        jitted = tnp.jit(f)
        mine, theirs = args(), args()
        assert_same(jitted(*mine), f(*theirs))
        assert_same(mine, theirs, what="arguments")
        assert any("Products of iterations" in str(t.provenance) for t in tnp.last_traces(jitted)) is found


def changes(a, b, out):
    m = a.shape[1]
    for i in range(m):
        a[0] += a[:, i] @ b


def leaves(a, b, out):
    m = a.shape[1]
    for i in range(m):
        out[i] = a[:, i] @ b
        if out[i, 0] > 3.0:
            break


def branches(a, b, out):
    m = a.shape[1]
    for i in range(m):
        if a[0, i] > 0:
            out[i] = a[:, i] @ b


def windows(a, b, out):
    m = a.shape[1]
    for i in range(m - 3):
        out[i, :3] = a[:, i] @ b[:, i : i + 3]


def same_vector(a, b, out):
    m = a.shape[1]
    for i in range(m):
        out[i] = a[:, 3] @ (b + i)


def few(a, b, out):
    for i in range(10):
        out[i] = a[:, i] @ b


@pytest.mark.parametrize("f", [changes, leaves, branches, windows, same_vector, few], ids=lambda f: f.__name__)
def test_other_loops_stay(f):
    """What is multiplied changes; an iteration may be the last, or go by; little of the product is needed; no vector is the iteration's own."""
    check(f, matrices, False)


def test_integers_stay():
    check(gram_of_integers, lambda: (np.arange(N * M).reshape(N, M), None, np.zeros((M, M), int)), False)


def gram_of_integers(a, b, out):
    m = a.shape[1]
    for i in range(m):
        out[i] = a[:, i] @ a
