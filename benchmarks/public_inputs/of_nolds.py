"""Calls of nolds' functions on data of the sizes that its users have."""

import nolds
import numpy as np

rng = np.random.default_rng(0)


def walk(n):
    """A random walk, like the logarithm of a price."""
    return np.cumsum(rng.normal(0.0, 1.0, n))


def heart(n):
    """RR intervals with a slow modulation and noise."""
    t = np.arange(n)
    return 0.8 + 0.05 * np.sin(0.03 * t) + 0.02 * np.sin(0.41 * t) + 0.02 * rng.normal(size=n)


def logistic(n):
    x = np.empty(n)
    x[0] = 0.3
    for i in range(1, n):
        x[i] = 3.99 * x[i - 1] * (1 - x[i - 1])
    return x


def test_delay_embedding():
    for n in (100000, 150000):
        nolds.measures.delay_embedding(heart(n), 10, lag=3)


def test_rowwise_euclidean():
    for n in (20000, 30000):
        orbit = rng.normal(size=(n, 10))
        nolds.measures.rowwise_euclidean(orbit, orbit[0])


def test_rowwise_chebyshev():
    for n in (20000, 30000):
        orbit = rng.normal(size=(n, 10))
        nolds.measures.rowwise_chebyshev(orbit, orbit[0])


def test_sampen():
    for n in (1000, 1500):
        nolds.sampen(heart(n))


def test_sampen_closed_euclidean():
    nolds.sampen(heart(1000), emb_dim=3, dist=nolds.rowwise_euclidean, closed=True)


def test_corr_dim():
    for n in (400, 600):
        nolds.corr_dim(logistic(n), emb_dim=4, fit="poly")


def test_lyap_r():
    for n in (500, 750):
        nolds.lyap_r(logistic(n), emb_dim=6, lag=2, min_tsep=20, fit="poly")


def test_lyap_e():
    nolds.lyap_e(logistic(500), emb_dim=6, matrix_dim=2)


def test_dfa():
    for n in (2000, 3000):
        nolds.dfa(heart(n), fit_exp="poly")


def test_dfa_without_overlap():
    for n in (4000, 6000):
        nolds.dfa(np.diff(walk(n)), overlap=False, order=2, fit_exp="poly")


def test_detrend_data():
    for n in (20000, 30000):
        nolds.measures.detrend_data(walk(n), order=2)


def test_hurst_rs():
    for n in (10000, 15000):
        nolds.hurst_rs(np.diff(walk(n)), fit="poly")


def test_rs():
    for n in (100000, 150000):
        nolds.measures.rs(rng.normal(size=n), 100)


def test_expected_rs():
    for n in (50000, 75000):
        nolds.measures.expected_rs(n)


def test_mfhurst_b():
    for n in (20000, 30000):
        nolds.mfhurst_b(walk(n), qvals=[1, 2, 3], fit="poly")


def test_mfhurst_dm():
    for n in (2000, 3000):
        nolds.mfhurst_dm(walk(n), qvals=[1, 2])


def test_fbm():
    for n in (120, 180):
        nolds.fbm(n, H=0.7)


def test_barabasi_fractal():
    for n in (4**6, 4**7):
        nolds.datasets.barabasi1991_fractal(n, 5)
