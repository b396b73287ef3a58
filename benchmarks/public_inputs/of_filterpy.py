"""Calls of filterpy's functions on data of the sizes that its users have."""

import filterpy.common as common
import filterpy.discrete_bayes as discrete_bayes
import filterpy.gh as gh
import filterpy.kalman as kalman
import filterpy.monte_carlo as monte_carlo
import filterpy.stats as stats
import numpy as np

rng = np.random.default_rng(0)


def track(n, dt=0.1):
    """Noisy positions of a target that moves in a plane."""
    acceleration = rng.normal(0.0, 0.3, (n, 2))
    velocity = np.cumsum(acceleration, axis=0) * dt + np.array([3.0, -1.0])
    position = np.cumsum(velocity, axis=0) * dt
    return position + rng.normal(0.0, 1.5, (n, 2))


def constant_velocity_filter(cls, dt=0.1):
    f = cls(dim_x=4, dim_z=2)
    f.F = np.array([[1, dt, 0, 0], [0, 1, 0, 0], [0, 0, 1, dt], [0, 0, 0, 1]], dtype=float)
    f.H = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], dtype=float)
    f.R = np.eye(2) * 2.25
    f.P = np.eye(4) * 50.0
    f.Q = common.Q_discrete_white_noise(2, dt=dt, var=0.09, block_size=2)
    return f


def move(x, dt):
    """Coordinated turn: position, speed, heading, turn rate."""
    heading = x[3] + x[4] * dt
    return np.array([x[0] + x[2] * np.cos(heading) * dt, x[1] + x[2] * np.sin(heading) * dt, x[2], heading, x[4]])


def radar(x):
    return np.array([np.hypot(x[0], x[1]), np.arctan2(x[1], x[0])])


def unscented_filter():
    points = kalman.MerweScaledSigmaPoints(5, alpha=0.1, beta=2.0, kappa=-2.0)
    ukf = kalman.UnscentedKalmanFilter(dim_x=5, dim_z=2, dt=0.5, hx=radar, fx=move, points=points)
    ukf.x = np.array([500.0, 500.0, 10.0, 0.5, 0.001])
    ukf.P = np.diag([100.0, 100.0, 4.0, 0.05, 0.0001])
    ukf.Q = np.diag([0.1, 0.1, 0.1, 1e-4, 1e-6])
    ukf.R = np.diag([25.0, 1e-4])
    return ukf


def radar_track(n):
    x = np.array([500.0, 500.0, 10.0, 0.5, 0.001])
    zs = []
    for _ in range(n):
        x = move(x, 0.5)
        zs.append(radar(x) + rng.normal(0.0, [5.0, 0.01]))
    return zs


def covariances(n, dim):
    a = rng.normal(size=(n, dim, dim))
    return a @ a.transpose(0, 2, 1) / dim + np.eye(dim)


def particle_weights(n):
    distance = rng.gamma(2.0, 1.0, n)
    w = np.exp(-0.5 * distance**2) + 1e-300
    return w / w.sum()


def test_kalman_filter_batch_filter():
    kf = constant_velocity_filter(kalman.KalmanFilter)
    zs = track(1500).reshape(-1, 2, 1)
    kf.batch_filter(zs)


def test_kalman_filter_rts_smoother():
    kf = constant_velocity_filter(kalman.KalmanFilter)
    means, covs, _, _ = kf.batch_filter(track(2000).reshape(-1, 2, 1))
    kf.rts_smoother(means, covs)


def test_kalman_batch_filter():
    for n in (800, 1200):
        kf = constant_velocity_filter(kalman.KalmanFilter)
        zs = track(n)
        kalman.batch_filter(np.zeros(4), kf.P, zs, [kf.F] * n, [kf.Q] * n, [kf.H] * n, [kf.R] * n)


def test_kalman_rts_smoother():
    n = 2000
    kf = constant_velocity_filter(kalman.KalmanFilter)
    means = np.repeat(track(n), 2, axis=1)
    kalman.rts_smoother(means, covariances(n, 4), [kf.F] * n, [kf.Q] * n)


def test_unscented_batch_filter():
    ukf = unscented_filter()
    zs = radar_track(400)
    ukf.batch_filter(zs)


def test_unscented_rts_smoother():
    ukf = unscented_filter()
    means, covs = ukf.batch_filter(radar_track(300))
    ukf.rts_smoother(means, covs)


def test_unscented_transform():
    for dim in (60, 90):
        points = kalman.MerweScaledSigmaPoints(dim, alpha=0.5, beta=2.0, kappa=3.0 - dim)
        sigmas = points.sigma_points(rng.normal(size=dim), covariances(1, dim)[0])
        kalman.unscented_transform(np.tanh(sigmas), points.Wm, points.Wc, np.eye(dim) * 0.1)


def test_merwe_sigma_points():
    for dim in (60, 90):
        points = kalman.MerweScaledSigmaPoints(dim, alpha=0.5, beta=2.0, kappa=3.0 - dim)
        points.sigma_points(rng.normal(size=dim), covariances(1, dim)[0])


def test_ensemble_kalman_filter_update():
    for n in (1000, 1500):
        enkf = kalman.EnsembleKalmanFilter(
            x=rng.normal(size=12),
            P=covariances(1, 12)[0],
            dim_z=6,
            dt=0.1,
            N=n,
            hx=lambda x: x[::2],
            fx=lambda x, dt: x + dt * np.sin(x),
        )
        enkf.R = np.eye(6) * 0.5
        enkf.update(rng.normal(size=6))


def test_van_loan_discretization():
    for n in (40, 60):
        stiffness = np.diag(np.full(n // 2 - 1, 4.0), 1)
        stiffness = stiffness + stiffness.T - np.eye(n // 2) * 8.0
        f = np.block([[np.zeros((n // 2, n // 2)), np.eye(n // 2)], [stiffness, -0.2 * np.eye(n // 2)]])
        g = np.vstack([np.zeros((n // 2, n // 2)), np.eye(n // 2) * 0.3])
        common.van_loan_discretization(f, g, 0.05)


def test_fixed_lag_smoother_batch():
    f = kalman.FixedLagSmoother(dim_x=4, dim_z=2, N=10)
    g = constant_velocity_filter(kalman.KalmanFilter)
    f.x = np.zeros((4, 1))
    f.F, f.H, f.R, f.P, f.Q = g.F, g.H, g.R, g.P, g.Q
    f.smooth_batch(track(1000).reshape(-1, 2, 1), N=10)


def test_spherical_radial_sigmas():
    for dim in (40, 60):
        kalman.spherical_radial_sigmas(rng.normal(size=(dim, 1)), covariances(1, dim)[0])


def test_gh_filter_batch_filter():
    for n in (20000, 30000):
        f = gh.GHFilter(x=0.0, dx=0.0, dt=1.0, g=0.6, h=0.02)
        f.batch_filter(np.cumsum(rng.normal(0.5, 1.0, n)))


def test_systematic_resample():
    for n in (50000, 75000):
        w = particle_weights(n)
        monte_carlo.systematic_resample(w)


def test_residual_resample():
    for n in (50000, 75000):
        w = particle_weights(n)
        monte_carlo.residual_resample(w)


def test_discrete_bayes_predict():
    kernel = np.exp(-0.5 * np.linspace(-3.0, 3.0, 101) ** 2)
    kernel /= kernel.sum()
    for n in (10000, 15000):
        belief = discrete_bayes.normalize(rng.random(n))
        discrete_bayes.predict(belief, 7, kernel)


def test_nees():
    for n in (5000, 7500):
        xs = rng.normal(size=(n, 4))
        estimated, ps = xs + rng.normal(size=(n, 4)), covariances(n, 4)
        stats.NEES(xs, estimated, ps)


def test_outer_product_sum():
    for n in (10000, 15000):
        residuals = rng.normal(size=(n, 12))
        common.outer_product_sum(residuals)
