"""Regions of arrays whose lengths only the running program knows: what masks select."""

import re

import numpy as np
import pytest

import tnp
from tests.flow_checks import source
from tnp.executors.llvm.any_size import AnySizeRegion
from tnp.testing import assert_same

pytest.importorskip("llvmlite")
RNG = np.random.default_rng(0)


def chain(x, y):
    inside = x > 0
    a, b = x[inside], y[inside]
    c = np.sqrt(a) * 2 + b**2
    d = np.where(b > 0, c, a - b)
    return d * np.exp(-a), (c * d).sum(), d.mean(), (d > 1).any()


def rows(x, y):
    pairs = np.stack([x, y], 1)[x > y]
    return pairs * np.array([2.0, 3]) + pairs.sum(0), (pairs**2).sum(1), pairs.T * 2 + 1


def columns(x, y):
    pairs = np.stack([x, y, x * y])[:, y > 0.5]
    total = pairs.sum(0)
    return pairs / (1 + total**2), total - pairs[0] * 2


def twice(x, y):
    a = x[x > 0]
    b = a[a > 0.5]
    return b * 2 + b**2, a - a.sum() * 0.5


def stored(x, y):
    inside = y > 0
    a = x[inside]
    a *= 2
    a += y[inside] ** 2
    x[inside] = a
    return x, a


def positions(x, y):
    (i,) = np.nonzero(x > y)
    return x[i] * 2 - y[i] / (1 + y[i] ** 2), i * 2 + 1


def other_dtypes(x, y):
    a = x.astype(np.float32)[y > 0]
    k = (10 * x).astype(np.int16)[y > 0]
    z = (x + 1j * y)[y > 0]
    return a * 2 + 1, k * k + k, z * z.conj() - z, (k > 2) & (a < 1), (a * k).sum()


def of_a_loop(x, y):
    total = 0.0
    for level in (0.0, 0.5, 1.0):
        a = x[x > level]
        total = total + (np.sqrt(a) * a + level).sum()
    return total


def of_some(x, y):
    a = x[y > 0]
    if y.size == 0 or not (y > 0).any():
        return a * 2
    scaled = (a - a.min()) / (a.max() - a.min() + 1)
    return scaled, np.cumsum(scaled) * 2, scaled.var(), scaled.std(ddof=1) if a.size > 1 else 0.0


PROGRAMS = (chain, of_some, rows, columns, twice, stored, positions, other_dtypes, of_a_loop)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values(program):
    jitted = tnp.jit(program, strict=True)
    arguments = [RNG.normal(size=(2, n)) for n in (40, 40, 41, 3000, 100_000)]
    arguments += [
        np.array([[1.0, -1, -2], [2, -1, -2]]),
        np.abs(RNG.normal(size=(2, 9))),
        np.ones((2, 1)),
        np.zeros((2, 0)),
    ]
    for x, y in (*arguments, *(-a for a in arguments)):
        mine, eagers = (x.copy(), y.copy()), (x.copy(), y.copy())
        assert_same(jitted(*mine), program(*eagers), rtol=1e-5 if program is other_dtypes else 1e-12)
        assert_same(mine, eagers, rtol=1e-12)
    assert "llvm_fusion" in tnp.explain(jitted).split("recompiled")[0]


def test_lengths_that_differ_raise_as_eager_does():
    def f(x, y):
        a, b = x[x > 0], y[y > 0]
        return np.sqrt(a) * 2 + b * b

    jitted = tnp.jit(f, strict=True)
    same = np.array([1.0, -1, 2, 3])
    assert_same(jitted(same, same), f(same, same))
    assert_same(
        jitted(same, np.array([-1.0, 4, -1, -1])), f(same, np.array([-1.0, 4, -1, -1]))
    )  # one element is broadcast
    with pytest.raises(ValueError, match=r"\(3,\) \(2,\)"):
        jitted(same, np.array([1.0, 2, -1, -1]))


def test_beside_symbolic_sizes():
    def f(x, y):
        table = x[x[:, 0] > 0] * y
        return table - table.mean(axis=1, keepdims=True), np.var((2 * y[None])[::-1], ddof=1)

    jitted = tnp.jit(f, strict=True)
    for shape in ((9, 5), (9, 6), (400, 7), (3, 100), (1, 4)):
        x = np.abs(RNG.normal(size=shape)) + 0.1
        x[1::2] *= -1
        assert_same(jitted(x, x[0]), f(x, x[0]), rtol=1e-12)


def test_no_elements_raise_as_eager_does():
    def f(x):
        a = x[x > 0]
        return a / a.max() + 1

    jitted = tnp.jit(f, strict=True)
    for x in (np.arange(4.0), -np.ones(3), np.arange(3.0)):
        if x.max() > 0:
            assert_same(jitted(x), f(x))
        else:
            with pytest.raises(ValueError, match="zero-size array"):
                jitted(x)


def test_what_one_mask_selects_is_one_kernel():
    jitted = tnp.jit(chain)
    jitted(*RNG.normal(size=(2, 50)))
    program = source(jitted)
    kernels = [taken for taken in re.findall(r"= llvm_fusion\d+\((.*)\)", program) if re.search(r"\b[xt]", taken)]
    assert len(kernels) == 1 and "np.sqrt" not in program and "np.where" not in program


def test_gradients():
    def loss(x, y):
        a = x[y > 0]
        return (np.sqrt(a) * np.exp(-a) / (1 + a)).sum()

    x, y = RNG.uniform(1, 2, size=(2, 30)) * np.array([[1.0], [1]])
    y[::3] *= -1
    found = tnp.grad(loss)(x, y)
    step = 1e-6
    expected = [(loss(x + step * e, y) - loss(x - step * e, y)) / (2 * step) for e in np.eye(30)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def test_indices_out_of_bounds_raise_as_eager_does():
    def f(x, i, y):
        chosen = i[y > 0]
        y *= 2
        return x[chosen] * 2 + y[chosen]

    jitted = tnp.jit(f, strict=True)
    x, y = np.arange(5.0), np.array([1.0, -1, 2, 3])
    for i in (np.array([0, 9, 1, 3]), np.array([3, 9, -4, 0]), np.array([3, 0, 7, 0])):
        mine, eagers = y.copy(), y.copy()
        try:
            expected = f(x, i, eagers)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                jitted(x, i, mine)
        else:
            assert_same(jitted(x, i, mine), expected)
        assert_same(mine, eagers)


def test_a_mask_of_another_length_raises_as_eager_does():
    def f(x, y):
        return x[x > 0][y > 0] * 2 + 1

    jitted = tnp.jit(f)
    assert_same(jitted(np.arange(4.0), np.array([1.0, -1, 1])), f(np.arange(4.0), np.array([1.0, -1, 1])))
    with pytest.raises(IndexError, match="boolean index did not match"):
        jitted(np.arange(1, 5.0), np.array([1.0, -1, 1]))


def test_one_selection_written_twice_has_two_lengths():
    def f(x, k, w):
        first = w[np.abs(x) > 0.3] * x[0] - w[0]
        k[x > 0.5] = 7
        second = w[np.abs(x) > 0.3] * 2 - w[0]
        first.sum(axis=0), w[np.abs(x) > 0.3] * x[0]
        return second.sum(axis=1)

    x, k, w = np.array([0.1, 1, -1, 0.4]), np.arange(4), np.arange(12.0).reshape(4, 3)
    assert_same(tnp.jit(f, strict=True)(x, k.copy(), w), f(x, k, w))


@pytest.mark.parametrize("kept", range(4))
def test_partial_results_of_few_rows(kept):
    """Each row continues the one before it; there may be one alone."""

    def f(x, y):
        chosen = x[y > 0]
        return np.cumsum(chosen, axis=0), np.cumprod(chosen * 2, axis=0), np.maximum.accumulate(chosen, axis=0)

    x, y = np.arange(24.0).reshape(6, 4), np.zeros(6)
    y[:kept] = 1
    jitted = tnp.jit(f)
    assert_same(jitted(x, y), f(x, y))
    y[:] = np.arange(6.0)
    assert_same(jitted(x, y), f(x, y))


def centred(a):
    n = a.shape[0]
    h = n // 2
    return np.sin(a) * np.arange(-h, n - h)


def centred_by_float(a):
    n = a.shape[0]
    h = int(n / 2)
    return a * np.arange(-h, n - h) + np.arange(h - n, h)


def between(a):
    n = a.shape[0]
    h = n - 5
    return a + np.ones(h * h).sum() + np.arange(-h, h).sum()


def transformed(a):
    n = a.shape[0]
    h = int(n / 2)
    return np.fft.fft(a) * np.arange(-h, n - h)


@pytest.mark.parametrize("f", [centred, centred_by_float, between, transformed])
@pytest.mark.parametrize("checks", [False, True])
def test_numbers_below_zero_are_no_lengths(f, checks, monkeypatch):
    """Ranges that begin at a negative number are of kernels for any size, and those kernels run."""
    if checks:
        monkeypatch.setenv("TNP_CHECK", "1")
    jitted = tnp.jit(f)
    for n in (40, 64, 101, 150, 7, 5, 6, 4, 3, 2, 64):
        a = np.linspace(0.0, 1.0, n)
        assert_same(jitted(a), f(a))
        assert_same(jitted(a[::-1]), f(a[::-1]))
    assert "runs eagerly:" not in str(tnp.explain(jitted))


GRID = np.linspace(0, 1, 40)


def counted(x, y):
    places = np.vstack([np.cos(GRID), np.sin(GRID), GRID]).T
    points = np.vstack([np.cos(x), np.sin(x), y]).T
    found = np.zeros(len(places))
    for i, place in enumerate(places):
        found[i] = np.abs(np.dot(place, points.T)).sum() - 0.5 / len(x)
    return found


def test_transposed_arrays_are_copied_where_results_have_one_dimension(monkeypatch):
    """A loop over the rows of one is native for any size."""
    unfused = []
    monkeypatch.setattr(AnySizeRegion, "_run_singly", lambda self, *args: unfused.append(self) or self._alone(*args))
    jitted = tnp.jit(counted)
    for n in (40, 64, 100, 300, 7):
        x, y = RNG.random((2, n))
        assert_same(jitted(x, y), counted(x, y))
    assert (
        "the whole for_loop is native, with the operations around it, for any size" in str(tnp.explain(jitted))
        and not unfused
    )
