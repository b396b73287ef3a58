"""``int(x)`` of a float in a loop is native if the result fits 64 bits; otherwise Python raises, or makes a long integer."""

import math

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, outcome
from tnp.testing import assert_same


def histogram(x, bins=10):
    counts, low, high = np.zeros(bins, int), x.min(), x.max()
    for v in x:
        k = min(int((v - low) / (high - low) * bins), bins - 1)
        counts[k] += 1
    return counts


def interpolated(x, n=20):
    t, out = np.linspace(0, len(x) - 1, n), np.empty(n)
    for k in range(n):
        i = min(int(np.floor(t[k])), len(x) - 2)
        w = t[k] - i
        out[k] = (1 - w) * x[i] + w * x[i + 1]
    return out


def rounded_down(x):
    out = []
    for v in x:
        out.append(int(v) + math.floor(float(v)))
    return out


def truncated(x):
    total = 0
    for v in x:
        total += int(v * 1.5)
    return total


@pytest.mark.parametrize("f", [histogram, interpolated, truncated])
def test_one_native_loop(f):
    jitted = tnp.jit(f)
    for n in (50, 51, 80, 333):
        x = np.random.default_rng(n).normal(size=n) * 20
        assert_same(jitted(x), f(x), rtol=1e-12)
    assert compiled_whole(jitted)
    assert tnp.cache_info(jitted).misses <= 2
    assert "the whole for_loop is native" in str(tnp.explain(jitted))


def written(x, out):
    for i in range(len(x)):
        out[i] = i + 1
        out[i] += int(x[i])


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 2.0**52, 1e15, 2.0**60, 1e30, -1e300, 2.0**52 - 0.5])
@pytest.mark.parametrize("f", [truncated, rounded_down, histogram, written])
def test_what_no_integer_of_64_bits_is(f, wrong):
    jitted, x = tnp.jit(f), np.arange(8.0)
    more = lambda: (np.zeros(8),) if f is written else ()  # noqa: E731
    for at in (None, 0, 5, 7):
        y = x.copy()
        if at is not None:
            y[at] = wrong
        expected, left = outcome(f, (y.copy(), *more()))
        found, mine = outcome(jitted, (y.copy(), *more()))
        assert_same(found, expected)
        assert_same(mine, left)
