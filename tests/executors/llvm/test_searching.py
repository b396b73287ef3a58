"""Native searches in sorted arrays: a linear one in short arrays, a binary one in longer ones."""

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.testing import assert_same

# Without a target, searches are calls of NumPy, and there is no native code to test.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")
RNG = np.random.default_rng(0)


def both(a, v):
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint16"])
@pytest.mark.parametrize("n", [1, 2, 8, 9, 15, 16, 17, 63, 64, 65, 1000])
def test_lengths(n, dtype):
    a = np.sort(RNG.integers(0, 3 * n, n)).astype(dtype)
    v = np.concatenate([RNG.integers(0, 3 * n + 2, 200), a[:3], a[-3:]]).astype(dtype)
    f = tnp.jit(both)
    assert_same(f(a, v), both(a, v))
    assert "executors: llvm 1\n" in str(tnp.explain(f))


def test_special_values():
    a = np.array([-np.inf, -1.0, -0.0, 0.0, 0.0, 2.0, 2.0, 5.0, 6.0, 7.0, np.inf])
    v = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, 2.0, 1e300, -5.0] * 9)
    assert_same(tnp.jit(both)(a, v), both(a, v))
    assert_same(tnp.jit(both)(a, v.reshape(8, 9).T), both(a, v.reshape(8, 9).T))


def test_what_is_looked_for_in_order_or_not():
    """Searches go on from the one before, and by halves for blocks of points where the answer is not near."""

    def f(a, v):
        return np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.interp(v, a, a * a)

    one, many = tnp.jit(f), tnp.jit(f, dynamic=True)
    for n in (9, 40, 1000, 5000):
        a = np.sort(RNG.integers(0, 2 * n, n)) / 3.0
        ordered = np.sort(RNG.random(700) * (n + 2) - 1)
        mixed = np.where(np.arange(700) % 150 < 100, ordered, RNG.random(700) * n)
        for v in (ordered, ordered[::-1], mixed, np.repeat(a[3:5], 100), np.full(130, np.nan), a, a[::7], a[:1], a[:0]):
            for jitted in (one, many):
                assert_same(jitted(a, v), f(a, v), rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,), (3, 70), (2, 3, 130), (5, 1), (0, 4)])
def test_arrays_of_values(shape):
    a = np.sort(RNG.random(200))
    v = RNG.random(shape) * 1.2 - 0.1
    for f in (tnp.jit(both), tnp.jit(both, dynamic=True)):
        for values in (v, v.T, v[..., ::-1] if shape else v):
            assert_same(f(a, values), both(a, values))
            assert_same(f(a[::-1][::-1], values), both(a, values))


@pytest.mark.parametrize("wrong", ["not sorted", "a NaN"])
def test_arrays_that_are_not_sorted_give_what_numpy_makes_of_them(wrong):
    a = np.sort(RNG.random(50))
    a[20] = 0.99 if wrong == "not sorted" else np.nan
    v = RNG.random(300)
    assert_same(tnp.jit(both)(a, v), both(a, v))


def test_interpolation_and_classes_of_varying_lengths():
    def f(x, xp, fp):
        return np.interp(x, xp, fp) * 2, np.digitize(x, xp), np.interp(x, xp, fp, left=-1.0, right=7.0).sum()

    jitted = tnp.jit(f)
    for m in (300, 2, 17, 1000, 301):
        x, xp, fp = RNG.random(m) * 1.2 - 0.1, np.sort(RNG.random(70)), RNG.random(70)
        x[0] = xp[-1]
        assert_same(jitted(x, xp, fp), f(x, xp, fp), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 3


def test_arrays_of_values_in_loops():
    def f(x, xp, tables):
        out = np.empty((len(tables), len(x)))
        for i in range(len(tables)):
            out[i] = np.interp(x, xp, tables[i]) + np.searchsorted(xp, x + i, side="right")
        return out

    jitted = tnp.jit(f)
    xp, tables = np.sort(RNG.random(30)), RNG.random((20, 30))
    for m in (40, 57):
        x = RNG.random(m) * 1.4 - 0.2
        x[:2] = np.nan, xp[3]
        assert_same(jitted(x, xp, tables), f(x, xp, tables), rtol=1e-12)


def test_what_is_gathered_for_many_points_is_gathered_once():
    def f(x, order, points):
        return np.searchsorted(x[order], points)

    def g(x, order):
        return x[order] - x[order][:, None]

    x, points = RNG.random(50), RNG.random(200)
    order = np.argsort(x)
    for function, args in ((f, (x, order, points)), (g, (x, order))):
        jitted = tnp.jit(function, strict=True)
        assert_same(jitted(*args), function(*args))
        assert str(tnp.explain(jitted)).count("= x[order[") == 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint16"])
def test_arrays_of_any_size(dtype):
    f = tnp.jit(both, dynamic=True)
    for n, m in (
        (100, 300),
        (2, 40),
        (3, 40),
        (64, 2),
        (63, 7),
        (65, 300),
        (255, 50),
        (511, 90),
        (512, 90),
        (513, 90),
        (3000, 90),
    ):
        a = np.sort(RNG.integers(0, 3 * n, n)).astype(dtype)
        v = np.concatenate([RNG.integers(0, 3 * n + 2, m), a[:3], a[-3:]]).astype(dtype)
        assert_same(f(a, v), both(a, v))
    assert tnp.cache_info(f).misses == 1
    assert "kernel for any size" in str(tnp.explain(f))


def test_special_values_in_arrays_of_any_size():
    f = tnp.jit(both, dynamic=True)
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 0.0, 2.0, 2.0, 5.0, 6.0, 7.0, np.inf])
    for a in (numbers, numbers[1:], np.append(numbers[:5], np.nan), numbers[[4, 3, 9, 1, 0]], numbers[::-1]):
        for v in (np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, 2.0, 1e300, -5.0] * 9), np.array([2.0, np.nan])):
            assert_same(f(a, v), both(a, v))


def test_interpolation_between_any_number_of_points():
    def f(x, xp, fp):
        return np.interp(x * 1.5, xp, fp) + 1, np.searchsorted(xp, x)

    jitted = tnp.jit(f)
    for n, m in ((50, 300), (70, 300), (90, 200), (17, 1000), (400, 30)):
        x, xp, fp = RNG.random(m), np.sort(RNG.random(n)), RNG.random(n)
        x[0] = xp[-1]
        assert_same(jitted(x, xp, fp), f(x, xp, fp), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 3
