"""Calls of ot's functions on data of the sizes that its users have."""

import numpy as np
import ot

rng = np.random.default_rng(0)


def clouds(n, m, dim=2):
    """Two clouds of points."""
    return rng.normal(size=(n, dim)), rng.normal(size=(m, dim)) * 1.3 + 1.0


def problem(n, m, dim=2):
    """Uniform weights and the normalised costs between two clouds of points."""
    xs, xt = clouds(n, m, dim)
    cost = ((xs[:, None] - xt) ** 2).sum(axis=2)
    return np.full(n, 1.0 / n), np.full(m, 1.0 / m), cost / cost.max()


def covariance(dim):
    """A well-conditioned covariance matrix."""
    x = rng.normal(size=(4 * dim, dim))
    return x.T @ x / (4 * dim)


def test_dist():
    xs, xt = clouds(800, 1000, 5)
    ot.dist(xs, xt)
    ot.dist(xs[:500], xt[:700], metric="euclidean")


def test_sinkhorn():
    a, b, cost = problem(200, 300)
    ot.sinkhorn(a, b, cost, 0.05)
    a, b, cost = problem(300, 400)
    ot.sinkhorn(a, b, cost, 0.05)


def test_sinkhorn_log():
    a, b, cost = problem(150, 200)
    ot.bregman.sinkhorn_log(a, b, cost, 0.1)


def test_empirical_sinkhorn_divergence():
    xs, xt = clouds(200, 200)
    ot.bregman.empirical_sinkhorn_divergence(xs, xt, 2.0)


def test_barycenter():
    x = np.arange(100.0)
    hist = np.exp(-0.5 * ((x[:, None] - np.array([25.0, 50.0, 70.0])) / np.array([5.0, 8.0, 6.0])) ** 2)
    cost = (x[:, None] - x) ** 2
    hist, cost = hist / hist.sum(axis=0), cost / cost.max()
    ot.bregman.barycenter(hist, cost, 1e-2)


def test_convolutional_barycenter2d():
    images = rng.random((3, 64, 64)) ** 6
    images /= images.sum(axis=(1, 2), keepdims=True)
    ot.bregman.convolutional_barycenter2d(images, 0.01, numItermax=200)


def test_sinkhorn_unbalanced():
    a, b, cost = problem(200, 300)
    ot.unbalanced.sinkhorn_unbalanced(a, b, cost, 0.1, 1.0)


def test_mm_unbalanced():
    a, b, cost = problem(100, 150)
    ot.unbalanced.mm_unbalanced(a, b, cost, 1.0, div="kl")


def test_wasserstein_1d():
    u, v = rng.normal(size=20_000), rng.normal(1.0, 2.0, 30_000)
    ot.wasserstein_1d(u, v, p=2)
    ot.wasserstein_1d(u[:13_000], v[:20_000], p=2)


def test_wasserstein_circle():
    u, v = rng.random(300), rng.vonmises(0, 2, 300) / (2 * np.pi) % 1.0
    ot.wasserstein_circle(u, v, p=2)


def test_sliced_wasserstein_distance():
    xs, xt = clouds(2000, 3000, 10)
    ot.sliced_wasserstein_distance(xs, xt, n_projections=50, seed=0)


def test_projection_simplex():
    v = rng.normal(size=(300, 400))
    ot.smooth.projection_simplex(v, axis=0)
    ot.smooth.projection_simplex(v[:200, :300], axis=0)


def test_bures_wasserstein_distance():
    ms, mt, cs, ct = rng.normal(size=60), rng.normal(size=60), covariance(60), covariance(60)
    ot.gaussian.bures_wasserstein_distance(ms, mt, cs, ct)


def test_bures_wasserstein_barycenter():
    means, covs = rng.normal(size=(10, 20)), np.stack([covariance(20) for _ in range(10)])
    ot.gaussian.bures_wasserstein_barycenter(means, covs)


def test_gmm_pdf():
    x = rng.normal(size=(5000, 3))
    means, covs = rng.normal(size=(6, 3)), np.stack([covariance(3) for _ in range(6)])
    ot.gmm.gmm_pdf(x, means, covs, np.full(6, 1 / 6))


def test_entropic_gromov_wasserstein():
    xs, xt = clouds(60, 60)
    cs, ct = ((xs[:, None] - xs) ** 2).sum(axis=2), ((xt[:, None] - xt) ** 2).sum(axis=2)
    cs, ct = cs / cs.max(), ct / ct.max()
    ot.gromov.entropic_gromov_wasserstein(cs, ct, loss_fun="square_loss", epsilon=0.05, max_iter=20)


def test_lowrank_sinkhorn():
    xs, xt = clouds(300, 400)
    ot.lowrank.lowrank_sinkhorn(xs, xt, reg=0.1, rank=10, numItermax=50, warn=False)


def test_sinkhorn_l1l2_gl():
    a, b, cost = problem(80, 100)
    labels = rng.integers(0, 3, 80)
    ot.da.sinkhorn_l1l2_gl(a, labels, b, cost, 0.1, eta=0.1)
