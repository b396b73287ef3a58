"""Loops that keep an array or replace it, in native code: the array that they begin with is nobody else's, or stays itself."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.executors import llvm

# The tests assert that loops are native, which needs LLVM.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="LLVM cannot compile for this machine")


def parts(x):
    return x if isinstance(x, tuple) else (x,)


def check(f, *args, native=True):
    jitted = tnp.jit(f)
    copies = [[np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    for _ in range(2):
        got, expected = parts(jitted(*copies[0])), parts(f(*copies[1]))
        for g, e in zip(got, expected, strict=True):
            assert type(g) is type(e)
            np.testing.assert_allclose(g, e, rtol=1e-5)
            if isinstance(e, np.ndarray):  # the same object where eager's is
                assert [g is a for a in copies[0]] == [e is a for a in copies[1]]
        same = [[a is b for a in results for b in results] for results in (got, expected)]
        assert same[0] == same[1]
    assert ("is native" in tnp.explain(jitted)) is native
    return jitted


def sometimes(a, n):
    a = a.copy()
    for _ in range(n):
        s = a.sum()
        if s > 0.5:
            a = a - s * 0.01
    return a


def best(x, n):
    b = x * 1.0
    smallest, y = np.sum(b * b), x + 0.5
    for i in range(n):
        y = y * 0.95 - 0.02 * i
        v = np.sum(y * y)
        if v < smallest:
            b, smallest = y, v
    return b, smallest


def adaptive(x, tol):
    y, h, k = x / 2, 0.5, 0
    while k < 200:
        z = y + h * (1 - y * y)
        if np.max(np.abs(z - y)) < tol:
            y = z
            h *= 1.1
        else:
            h *= 0.5
        k += 1
    return y, h


def test_arrays_of_the_program():
    for x in (np.ones((4, 4)), np.zeros((4, 4)), np.ones((4, 4), dtype=np.float32)):
        check(sometimes, x, 50)
    check(best, np.linspace(-1, 1, 5), 30)
    check(adaptive, np.linspace(0, 1, 8), 0.3)


def test_arguments_stay_themselves():
    def of_argument(x, n):
        for _ in range(n):
            if x.sum() > 5:
                x = x - 1
        return x

    def search(x, steps):
        best, least = x, np.sum(x**2)
        for s in steps:
            tried = best + s
            value = np.sum(tried**2)
            if value < least:
                best, least = tried, value
        return best, least, best is x

    def two(x, y, n):
        a, b = x, y
        for i in range(n):
            if a.sum() > 5 + i:
                a = a - 1
            if b[0] > 1:
                b = b * 0.5
        return a, b, a.sum() + b.sum()

    def left(x, n):
        k = 0
        while k < n:
            if x.sum() > 5:
                x = x - 1
            k += 1
            if x[0] < -1:
                break
        return x, k

    for x in (np.ones(3), np.ones(9)):
        check(of_argument, x, 4)
        check(left, x, 6)
        for scale in (0.1, 10.0):
            check(search, x, scale * np.linspace(-1, 1, 20)[:, np.newaxis] * np.ones(len(x)))
            check(two, x, scale * x, 4)
        check(two, x, x, 4)


def test_other_sizes_have_the_same_program():
    def search(x, steps):
        best = x
        for s in steps:
            if np.sum((best + s) ** 2) < np.sum(best**2):
                best = best + s
        return best

    jitted, rng = tnp.jit(search), np.random.default_rng(0)
    for n in (20, 30, 40, 50):
        x, steps = rng.normal(size=4), rng.normal(size=(n, 4)) * 0.1
        np.testing.assert_allclose(jitted(x, steps), search(x, steps))
    assert tnp.cache_info(jitted).misses == 2


def test_a_write_to_what_may_be_the_argument():
    def written(x, n):
        a = x
        for _ in range(n):
            if a.sum() > 5:
                a = a - 1
        a[0] = 7.0
        return a

    for x in (np.ones(3), np.ones(9)):
        jitted, mine, eagers = tnp.jit(written), x.copy(), x.copy()
        with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
            np.testing.assert_array_equal(jitted(mine, 4), written(eagers, 4))
        np.testing.assert_array_equal(mine, eagers)


def test_arrays_that_others_have():
    def with_view(x, n):
        a = x * 2
        v = a[1:]
        for _ in range(n):
            if a.sum() > 9:
                a = a * 0.5
        return a, v

    def with_list(x, n):
        a = x * 2
        kept = [a]
        for _ in range(n):
            if a.sum() > 9:
                a = a * 0.5
        return a, kept[0]

    for f in (with_view, with_list):
        for x in (np.ones(3), np.ones(9)):
            jitted = tnp.jit(f)
            (a, other), (b, expected) = jitted(x, 3), f(x, 3)
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(other, expected)
            assert np.shares_memory(a, other) is np.shares_memory(b, expected)


def test_one_array_or_two():
    def either(x, n):
        a, b = x * 1, x * 2
        for i in range(n):
            if b.sum() > 4 + i:
                a = b
        return a, b

    for x in (np.ones(3), np.zeros(3)):
        check(either, x, 3, native=False)


def test_an_argument_in_a_branch():
    def replaced(x, y, n):
        a = x * 1
        for _ in range(n):
            if a.sum() > 2:
                a = y
        return a

    for x in (np.ones(3), np.zeros(3)):
        check(replaced, x, np.full(3, 0.1), 3, native=False)
