"""Samples and estimates."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(rng.standard_normal((20, 3)) * 3 + 1))
def z_score(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


@program(lambda rng: call(rng.standard_normal((15, 4)) @ np.diag([5.0, 2.0, 1.0, 0.5])))
def pca(X, components=2):
    X = X - X.mean(axis=0)
    covariance = X.T @ X / (X.shape[0] - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    vectors = vectors * np.sign(vectors[0])
    return X @ vectors[:, :components], values / values.sum()


@program(lambda rng: call(rng.random((12, 2)), rng.random(12)))
def linear_regression(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    beta = np.linalg.solve(A.T @ A, A.T @ y)
    residuals = y - A @ beta
    r2 = 1 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum()
    return {"beta": beta, "r2": r2, "residuals": residuals}


@program(lambda rng: call(rng.random(20), np.random.default_rng(rng.integers(1000)), 25))
def bootstrap(sample, rng, n):
    means = np.empty(n)
    index = rng.integers(0, sample.size, size=(n, sample.size))
    means[:] = sample[index].mean(axis=1)
    means.sort()
    return means.mean(), np.percentile(means, [2.5, 97.5])


@program(lambda rng: call(rng.standard_normal(15), np.linspace(-3, 3, 11), 0.4))
def kernel_density(sample, grid, bandwidth):
    z = (grid[:, np.newaxis] - sample) / bandwidth
    return np.exp(-0.5 * z * z).sum(axis=-1) / (len(sample) * bandwidth * np.sqrt(2 * np.pi))


@program(lambda rng: call(rng.random(18), 5))
def running_median(x, window):
    return np.median(np.lib.stride_tricks.sliding_window_view(x, window), axis=-1)


@program(lambda rng: call(np.where(rng.random((6, 5)) < 0.2, np.nan, rng.random((6, 5)))))
def impute_missing(X):
    means = np.nanmean(X, axis=0)
    missing = np.isnan(X)
    X[missing] = np.broadcast_to(means, X.shape)[missing]
    return missing.sum(axis=0)


@program(lambda rng: call(rng.random(30)))
def summary(x):
    q1, q2, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    centred = x - x.mean()
    m2 = np.mean(centred**2)
    return {
        "n": x.size,
        "range": np.ptp(x),
        "iqr": q3 - q1,
        "median": q2,
        "skew": np.mean(centred**3) / m2**1.5,
        "kurtosis": np.mean(centred**4) / m2**2 - 3,
    }


@program(lambda rng: call(rng.random(16), rng.random(16)))
def spearman(x, y):
    def ranks(a):
        r = np.empty(len(a))
        r[a.argsort()] = np.arange(len(a))
        return r

    return np.corrcoef(ranks(x), ranks(y))[0, 1]


@program(lambda rng: call(rng.random((8, 8)) + 0.1, np.zeros(5), 0.5))
def metropolis_acceptance(energies, counts, beta):
    probability = np.exp(-beta * np.diff(energies, axis=1))
    accepted = np.minimum(probability, 1) > 0.97
    counts += np.bincount(accepted.sum(axis=1), minlength=8)[:5]
    return accepted
