"""Calls of pyriemann's functions on data of the sizes that its users have."""

import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import XdawnCovariances
from pyriemann.geometry.ajd import ajd_pham, uwedge
from pyriemann.geometry.base import logm, powm
from pyriemann.geometry.covariance import coherence, covariance_mest, covariances, cross_spectrum
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.geometry.kernel import kernel_riemann
from pyriemann.geometry.mean import mean_logdet, mean_riemann
from pyriemann.geometry.median import median_euclid
from pyriemann.geometry.tangentspace import tangent_space
from pyriemann.spatialfilters import CSP

rng = np.random.default_rng(0)


def epochs(n, channels=16, times=256):
    """Trials of a multichannel signal: sources of varying power mixed over the channels."""
    mixing = rng.normal(0, 0.3, (channels, channels)) + np.eye(channels)
    power = rng.uniform(0.5, 2.0, (n, channels, 1))
    return mixing @ (power * rng.normal(size=(n, channels, times)))


def matrices(n, channels=16):
    """Covariance matrices of such trials."""
    x = epochs(n, channels, 128)
    return x @ x.transpose(0, 2, 1) / 128


def test_covariances():
    x = epochs(300)
    covariances(x[:200], estimator="scm")
    covariances(x, estimator="scm")


def test_covariance_mest():
    x = epochs(1, 16, 5000)[0]
    covariance_mest(x, "tyl")
    covariance_mest(x[:, :3000], "stu")


def test_cross_spectrum():
    x = epochs(1, 8, 5000)[0]
    cross_spectrum(x, window=128, overlap=0.75, fmin=1, fmax=40, fs=128)


def test_coherence():
    x = epochs(1, 16, 10_000)[0]
    coherence(x, window=256, overlap=0.5, fs=256)


def test_logm():
    covs = matrices(750)
    logm(covs)
    logm(covs[:500])


def test_powm():
    covs = matrices(300, 22)
    powm(covs, 0.3)


def test_mean_riemann():
    covs = matrices(150)
    mean_riemann(covs[:100])
    mean_riemann(covs)


def test_mean_logdet():
    covs = matrices(200)
    mean_logdet(covs)


def test_median_euclid():
    covs = matrices(300)
    median_euclid(covs)
    median_euclid(covs[:200])


def test_pairwise_distance():
    covs = matrices(100, 8)
    pairwise_distance(covs, metric="riemann")


def test_geodesic_riemann():
    covs = matrices(400)
    geodesic_riemann(covs[:200], covs[200:], 0.3)


def test_kernel_riemann():
    covs = matrices(200)
    kernel_riemann(covs)
    kernel_riemann(covs[:130])


def test_tangent_space():
    covs = matrices(500)
    centre = covs.mean(axis=0)
    tangent_space(covs, centre)
    tangent_space(covs[:300], centre)


def test_ajd_pham():
    covs = matrices(40, 12)
    ajd_pham(covs)


def test_uwedge():
    covs = matrices(60, 12)
    uwedge(covs)


def test_mdm_predict():
    covs = matrices(200)
    mdm = MDM(metric="riemann").fit(covs[:100], np.repeat([0, 1], 50))
    mdm.predict(covs[100:])


def test_csp_fit():
    covs = matrices(100, 22)
    CSP(nfilter=4).fit(covs, np.repeat([0, 1], 50))


def test_xdawn_covariances():
    x = epochs(100, 8, 128)
    XdawnCovariances(nfilter=2).fit_transform(x, np.repeat([0, 1], 50))
