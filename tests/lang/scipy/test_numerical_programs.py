"""Small programs of SciPy and NumPy: none runs eagerly as a whole, and results are eager's."""

import copy
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

scipy = pytest.importorskip("scipy")
from scipy import fft, integrate, interpolate, linalg, sparse  # noqa: E402
from scipy.spatial.distance import cdist, pdist, squareform  # noqa: E402

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 6)) + 8 * np.eye(6)
B = RNG.normal(size=6)
T = np.linspace(0, 4, 65)
SIGNAL = np.sin(3 * T) + 0.3 * RNG.normal(size=65)
POINTS = RNG.normal(size=(30, 2))


def newton(a, b, n):
    """Newton's method for a @ x + x**3 = b."""
    x = np.zeros_like(b)
    for _ in range(n):
        residual = a @ x + x**3 - b
        if linalg.norm(residual) < 1e-12:
            break
        x = x - linalg.solve(a + np.diag(3 * x**2), residual)
    return x


def low_pass(y, cutoff):
    spectrum = fft.rfft(y)
    frequencies = fft.rfftfreq(y.size, d=T[1])
    spectrum[frequencies > cutoff] = 0
    return fft.irfft(spectrum, n=y.size)


def positive_area(y, x):
    masked = np.where(y > 0, y, 0)
    return (
        integrate.simpson(masked, x=x),
        integrate.trapezoid(np.abs(masked), x),
        integrate.cumulative_trapezoid(masked, x, initial=0)[-1],
    )


SPLINE = interpolate.CubicSpline(T, SIGNAL)


def along_a_spline(x, n):
    for _ in range(n):
        x = x - 0.05 * SPLINE(x, 1)
        x = np.clip(x, T[0], T[-1])
    return x, SPLINE(x)


def kalman(f, h, q, r, measured):
    x, p, found = np.zeros(2), np.eye(2), np.zeros(len(measured))
    for i in range(len(measured)):
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = linalg.cho_solve(linalg.cho_factor(s), h @ p).T
        x = x + gain @ (measured[i : i + 1] - h @ x)
        p = p - gain @ h @ p
        found[i] = x[0]
    return found


def gaussian_process(x, y, new, scale):
    k = np.exp(-cdist(x, x, "sqeuclidean") / scale) + 1e-3 * np.eye(len(x))
    factor = linalg.cholesky(k, lower=True)
    weights = linalg.solve_triangular(factor.T, linalg.solve_triangular(factor, y, lower=True))
    likelihood = -0.5 * y @ weights - np.log(np.diag(factor)).sum()
    return np.exp(-cdist(new, x, "sqeuclidean") / scale) @ weights, likelihood


def heat_equation(u, n, r):
    """The implicit method, a tridiagonal system a step."""
    bands = np.zeros((3, u.size))
    bands[0, 1:], bands[1], bands[2, :-1] = -r, 1 + 2 * r, -r
    for _ in range(n):
        u = linalg.solve_banded((1, 1), bands, u)
        u[0] = u[-1] = 0
    return u


def conjugate_gradients(a, b, n):
    x, r = np.zeros_like(b), b.copy()
    p, rr = r, r @ r
    for _ in range(n):
        ap = a @ p
        step = rr / (p @ ap)
        x, r = x + step * p, r - step * ap
        before, rr = rr, r @ r
        p = r + rr / before * p
    return x


def linear_system_in_time(a, x, n):
    step = linalg.expm(-0.1 * a)
    states = np.empty((n, x.size))
    for i in range(n):
        x = step @ x
        states[i] = x
    return states


def autocorrelation(y):
    n = fft.next_fast_len(2 * y.size - 1)
    spectrum = fft.fft(y - y.mean(), n)
    return fft.ifft(spectrum * spectrum.conj()).real[: y.size] / y.size


def prediction(y, order):
    """Linear prediction by the Yule-Walker equations."""
    r = np.array([y[: y.size - k] @ y[k:] for k in range(5)])
    coefficients = linalg.solve_toeplitz(r[:4], r[1:])
    return coefficients, linalg.toeplitz(r[:4]) @ coefficients - r[1:] + order


def k_means(points, centres, n):
    centres = centres.copy()
    for _ in range(n):
        near = cdist(points, centres).argmin(axis=1)
        for k in range(3):
            chosen = near == k
            if chosen.any():
                centres[k] = points[chosen].mean(axis=0)
    return centres, near


def stress(points, n):
    for _ in range(n):
        distances = squareform(pdist(points))
        points = points * (1 + 0.01 / (1 + distances.mean(axis=1, keepdims=True)))
    return points, distances


def principal_components(x):
    centred = x - x.mean(axis=0)
    u, s, vh = linalg.svd(centred, full_matrices=False)
    return np.abs(u * s), s**2 / (s**2).sum(), np.abs(vh)


def power_iteration(a, n):
    """Inverse iteration on one factorisation."""
    factors, x = linalg.lu_factor(a), np.ones(len(a))
    for _ in range(n):
        x = linalg.lu_solve(factors, x)
        x = x / linalg.norm(x)
    return x @ a @ x


def rayleigh(a, x):
    s = (a + a.T) / 2
    values, vectors = linalg.eigh(s)
    weights = (vectors.T @ x) ** 2
    return values @ weights / weights.sum(), linalg.det(s) / np.prod(values), linalg.eigvalsh(s, check_finite=False)


TABLE = interpolate.RegularGridInterpolator((T, T), np.sin(T)[:, None] * np.cos(T), bounds_error=False, fill_value=0.0)


def through_a_table(points, n):
    total = 0.0
    for _ in range(n):
        values = TABLE(np.abs(points))
        points = points + 0.1 * values[:, None]
        total += values.sum()
    return points, total


def resampled(t, y, new):
    smooth = np.convolve(y, np.ones(3) / 3, "same")
    f = interpolate.interp1d(t, smooth, kind="cubic")
    g = interpolate.PchipInterpolator(t, smooth)
    return f(new) - g(new), np.abs(f(new)).max()


def cosine_compression(image, keep):
    c = fft.dctn(image, norm="ortho")
    threshold = np.sort(np.abs(c).ravel())[-keep]
    c = np.where(np.abs(c) >= threshold, c, 0)
    return fft.idctn(c, norm="ortho")


def poisson(f):
    """Poisson's equation on a periodic square."""
    k = 2 * np.pi * fft.fftfreq(f.shape[0])
    squares = k[:, None] ** 2 + k**2
    squares[0, 0] = 1
    u = fft.fft2(f) / -squares
    u[0, 0] = 0
    return fft.ifft2(u).real, fft.fftshift(np.abs(u))


def diffusion_on_a_graph(weights, x, n):
    degrees = weights @ np.ones_like(x)
    history = []
    for _ in range(n):
        x = x + 0.2 * (weights @ x - degrees * x)
        history.append(np.abs(x).max())
    return x, np.array(history), weights.diagonal().sum()


def least_squares(x, y):
    q, r = linalg.qr(np.vander(x, 4), mode="economic")
    coefficients = linalg.solve_triangular(r, q.T @ y)
    return coefficients, linalg.pinv(np.vander(x, 4)) @ y, linalg.norm(np.polyval(coefficients, x) - y)


def moments(y, x):
    density = np.exp(-((x - 2) ** 2) / 0.5)
    density = density / integrate.simpson(density, x=x)
    mean = integrate.romb(density * x, dx=x[1] - x[0])
    return mean, integrate.romb(density * (x - mean) ** 2, dx=x[1] - x[0]), y.sum()


LAPLACIAN = sparse.diags_array(
    [np.full(29, -1.0), np.full(30, 2.2), np.full(29, -1.0)], offsets=[-1, 0, 1], format="csr"
)
GRAPH = sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(0), format="csr") * 0.1

PROGRAMS = [
    (newton, A, B, 30),
    (low_pass, SIGNAL, 2.0),
    (positive_area, SIGNAL, T),
    (along_a_spline, T[::7].copy(), 40),
    (kalman, np.array([[1, 0.1], [0, 1]]), np.array([[1.0, 0]]), 0.01 * np.eye(2), 0.1 * np.eye(1), SIGNAL),
    (gaussian_process, POINTS, POINTS[:, 0] ** 2, POINTS[:4] + 0.1, 1.5),
    (heat_equation, np.sin(T), 25, 0.4),
    (conjugate_gradients, LAPLACIAN, POINTS[:, 1].copy(), 20),
    (linear_system_in_time, A, B, 20),
    (autocorrelation, SIGNAL),
    (prediction, SIGNAL, 4),
    (k_means, POINTS, POINTS[:3], 20),
    (stress, POINTS, 18),
    (principal_components, POINTS),
    (power_iteration, A @ A.T, 40),
    (rayleigh, A, B),
    (through_a_table, POINTS, 20),
    (resampled, T, SIGNAL, T[3:-3:2] + 0.01),
    (cosine_compression, A, 9),
    (poisson, RNG.normal(size=(8, 8))),
    (diffusion_on_a_graph, GRAPH, POINTS[:, 0].copy(), 20),
    (least_squares, T, SIGNAL),
    (moments, SIGNAL, T),
]
#: programs that make objects of SciPy's, which Python does
IN_PARTS = {"resampled"}


@pytest.mark.parametrize(("f", "args"), [pytest.param(f, args, id=f.__name__) for f, *args in PROGRAMS])
def test_program(f, args):
    expected = f(*copy.deepcopy(args))
    jitted = tnp.jit(f, strict=f.__name__ not in IN_PARTS)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(3):
            found = jitted(*copy.deepcopy(args))
            assert_same(found, expected, rtol=1e-9)
    assert not any("runs eagerly" in str(w.message) for w in given)
    assert {w.category for w in given} <= ({tnp.EagerFallbackWarning} if f.__name__ in IN_PARTS else set())
