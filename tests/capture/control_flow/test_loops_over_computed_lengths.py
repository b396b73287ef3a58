"""Loops over arrays whose length the program computes: ``for i in np.flatnonzero(mask)``. They are native, one program for any."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole
from tnp.testing import assert_same


def signal(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def total(x):
    s = 0.0
    for i in np.where(x > 0.5)[0]:
        s += x[i]
    return s


def windows(x):
    s = 0.0
    for i in np.flatnonzero(x > 0.5):
        if 2 < i < len(x) - 2:
            s += x[i - 2 : i + 3].sum()
    return s


def numbered(x):
    s = 0.0
    for k, i in enumerate(np.nonzero(x > 0.3)[0]):
        s += k * x[i]
    return s


def gaps(x):
    at = np.flatnonzero(np.abs(x) > 0.5)
    out = np.zeros(len(x))
    for k in range(1, len(at)):
        out[at[k]] = at[k] - at[k - 1]
    return out


def run_lengths(x):
    edges = np.flatnonzero(np.diff(np.sign(x)))
    out = []
    for a, b in zip(edges[:-1], edges[1:]):  # noqa: RUF007  # slices of a computed length
        out.append(b - a)
    return np.array(out)


def smoothed(x):
    y = x[x > -0.5]
    for i in range(1, len(y)):
        y[i] = 0.5 * y[i - 1] + y[i]
    return y


def values(x):
    s = 1.0
    for v in x[np.abs(x) > 0.1]:
        s = s * 0.9 + v
    return s


def pairs(x):
    s = 0.0
    for i, j in zip(*np.nonzero(x[:, None] > x[None, :] + 1)):
        s += x[i] * x[j]
    return s


def places(x):
    s = 0.0
    for i, j in np.argwhere(x[:, None] > x[None, :] + 1):
        s += x[i] - x[j]
    return s


def nested(x):
    at = np.flatnonzero(x > 0.8)
    s = 0.0
    for i in at:
        for j in at:
            if i != j:
                s += 1.0 / abs(i - j)
    return s


def two_lengths(x):
    up, down = np.flatnonzero(x > 0.5), np.flatnonzero(x < -0.5)
    out = np.zeros(len(up))
    for k in range(len(up)):
        out[k] = np.min(np.abs(down - up[k])) if len(down) else -1
    return out


def first_above(x):
    for i in np.flatnonzero(x > 0.2):
        if x[i] > 1.0:
            return i
    return -1


def merged(x, least=3):
    at = np.flatnonzero(x > 0.5)
    kept = []
    for i in at:
        if not kept or i - kept[-1] >= least:
            kept.append(i)
    return np.array(kept)


LOOPS = [
    total,
    windows,
    numbered,
    gaps,
    run_lengths,
    smoothed,
    values,
    pairs,
    places,
    nested,
    two_lengths,
    first_above,
    merged,
]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", LOOPS)
def test_any_length(f):
    jitted = tnp.jit(f)
    for n, seed in ((50, 0), (51, 1), (80, 2), (333, 3), (52, 4), (4, 5), (9, 6)):
        assert_same(jitted(signal(n, seed)), f(signal(n, seed)), rtol=1e-12)


@pytest.mark.parametrize("f", [total, windows, numbered, gaps, smoothed, values, pairs, nested])
def test_one_native_loop_for_all(f):
    jitted = tnp.jit(f)
    for n, seed in ((50, 0), (51, 1), (80, 2), (333, 3), (52, 4)):
        assert_same(jitted(signal(n, seed)), f(signal(n, seed)), rtol=1e-12)
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).misses <= 2
    assert "the whole for_loop is native, for any size" in str(tnp.explain(jitted))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", LOOPS)
def test_no_length(f):
    jitted = tnp.jit(f)
    for x in (signal(40), np.full(40, 0.0), signal(40), np.full(40, 0.05)):
        assert_same(jitted(x.copy()), f(x.copy()), rtol=1e-12)


def cuts(x, count=5):
    """Minima and maxima of the values above each level. Both raise if there is none."""
    levels = np.arange(x.min(), x.max(), (x.max() - x.min()) / count)
    out = np.zeros((count, 2))
    for k in range(1, count):
        above = x[levels[k] <= x]
        out[k, [0, 1]] = np.hstack((above.min(), above.max()))
    return out


def test_a_check_that_two_operations_share():
    jitted = tnp.jit(cuts)
    for n in (50, 51, 80):
        assert_same(jitted(signal(n)), cuts(signal(n)), rtol=1e-12)
    assert "the whole for_loop is native" in str(tnp.explain(jitted))


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2"])
def test_other_kinds(dtype):
    jitted = tnp.jit(total)
    for n in (50, 60):
        x = (signal(n) * 9).astype(dtype)
        assert_same(jitted(x), total(x), rtol=1e-6)
