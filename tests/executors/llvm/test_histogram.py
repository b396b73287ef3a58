"""Histograms are compiled: the bins are NumPy's, to the element."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import source
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
N = 40_000


def counts(a, n):
    return np.histogram(a, n)


def weighted(a, w, n):
    return np.histogram(a, n, weights=w)[0] / np.maximum(np.histogram(a, n)[0], 1)


def between(a):
    return np.histogram(a, 37, range=(-0.3, 0.8)), np.histogram(a, bins=12, range=(0.1, 0.7), density=True)


def given_edges(a):
    return np.histogram(a, [0.0, 0.2, 0.5, 1.0])


def data(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, N).astype(dtype)
    return np.where(rng.random(N) < 0.5, rng.integers(0, 51, N) / 50, rng.random(N)).astype(dtype)  # half on edges


def check(f, *args):
    jitted = tnp.jit(f)
    assert_same(jitted(*args), f(*args))
    assert "np.histogram" not in source(jitted)
    return jitted


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64])
def test_counts(dtype):
    for n in (1, 7, 50) if dtype is np.float64 else (50,):
        jitted = check(counts, data(dtype), n)
    assert source(jitted).count("llvm_fusion") == 1


def test_two_histograms_of_one_array_share_their_bins():
    jitted = check(weighted, data(), data(seed=1), 60)
    assert source(jitted).count("llvm_fusion") == 1


def test_ranges_and_given_edges():
    a = data()
    a[::100] = np.nan
    check(between, a)
    check(counts, np.full(N, 3.0), 5)
    check(given_edges, data())
    check(counts, data()[:100], 5)


def test_a_range_that_is_not_finite():
    a = data()
    jitted = tnp.jit(counts)
    jitted(a, 5)
    a[7] = np.inf
    with pytest.raises(ValueError, match="autodetected range") as caught:
        jitted(a, 5)
    with pytest.raises(ValueError, match="autodetected range") as expected:
        counts(a, 5)
    assert "not finite" in str(caught.value)
    assert "not finite" in str(expected.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_one_program_for_any_number_of_bins(dtype):
    def edges(a, n):
        return np.histogram_bin_edges(a, n, range=(0, 50))

    def dense(a, n):
        return np.histogram(a, bins=n, density=True)

    a = data(dtype)
    w = np.random.default_rng(1).random(N)
    for f, args in ((counts, (a,)), (weighted, (a, w)), (edges, (a,)), (dense, (a,))):
        jitted = tnp.jit(f, strict=True)
        for n in (10, 37, 1000, 5, 64):
            assert_same(jitted(*args, n), f(*args, n), rtol=1e-6 if dtype is np.float32 else 1e-12)
        assert tnp.cache_info(jitted).misses <= 2
        assert "np.histogram" not in source(jitted)


def test_any_number_of_bins_raises_as_eager():
    jitted = tnp.jit(counts)
    a = data()
    for n in (10, 20, 0, -1):
        if n > 0:
            jitted(a, n)
        else:
            with pytest.raises(ValueError, match="must be positive"):
                jitted(a, n)
    with pytest.raises(ValueError, match="Cannot create 50 finite-sized bins"):
        jitted(np.array([1e20, np.nextafter(1e20, 2e20)] * (N // 2)), 50)
