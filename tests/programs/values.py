"""Programs whose course or shapes hang on values: solvers that stop when they have converged, searches, counts, reports."""

import logging
import time

import numpy as np

from .registry import call, program

logger = logging.getLogger(__name__)


def positive_definite(rng, n):
    A = rng.random((n, n))
    return A @ A.T + n * np.eye(n)


@program(lambda rng: call(positive_definite(rng, 12), rng.random(12), 1e-6, 30))
def conjugate_gradients(A, b, tolerance, most):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for step in range(most):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        if np.sqrt(new) < tolerance:
            return x, step
        p = r + (new / rs) * p
        rs = new
    return x, most


@program(lambda rng: call(rng.random(6) + 1.0, 1e-8, 40))
def newton_that_looks_first(x, tolerance, most):
    for step in range(most):
        change = (x * x - 2.0) / (2.0 * x)
        if np.abs(change).max() < tolerance:
            return x, step, True
        x = x - change
    return x, most, False


@program(lambda rng: call(rng.random(30), (rng.random(30) > 0.5).astype(float)))
def best_threshold(x, labels):
    order = np.argsort(x)
    x, labels = x[order], labels[order]
    fewest = x.size + 1.0
    for i in range(1, x.size):
        wrong = labels[:i].sum() + (1 - labels[i:]).sum()
        if wrong < fewest:
            fewest = wrong
            at, threshold = i, (x[i - 1] + x[i]) / 2
    return at, threshold, fewest


@program(lambda rng: call(rng.integers(0, 3, 40)))
def longest_run(x):
    best = length = 1
    for i in range(1, x.size):
        if x[i] == x[i - 1]:
            length += 1
            if length > best:
                best, value = length, x[i]
        else:
            length = 1
    return best, value


@program(lambda rng: call(rng.random((20, 2)), rng.random(2), 0.6))
def nearest_within(points, centre, radius):
    found = False
    closest = radius
    for i in range(points.shape[0]):
        d = np.hypot(points[i, 0] - centre[0], points[i, 1] - centre[1])
        if not d < closest:
            continue
        found = True
        closest, nearest = d, i
    return (nearest, closest) if found else (-1, closest)


@program(lambda rng: call(rng.random(16) + 1j * rng.random(16)))
def recursive_fft(x):
    def transform(x):
        n = x.shape[0]
        if n == 1:
            return x
        even, odd = transform(x[::2]), transform(x[1::2])
        turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate((even + turned, even - turned))

    return transform(x)


@program(lambda rng: call(rng.random(24), 1e-4))
def golden_section(c, tolerance):
    ratio = (np.sqrt(5.0) - 1) / 2
    low, high = c.min(), c.max()
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    while abs(b - a) > tolerance:
        if ((c - a) ** 2).sum() < ((c - b) ** 2).sum():
            high = b
        else:
            low = a
        a, b = high - ratio * (high - low), low + ratio * (high - low)
    return (low + high) / 2


@program(lambda rng: call(rng.random((8, 8)) + 8 * np.eye(8), rng.random(8), 25))
def sweeps_that_report(A, b, sweeps):
    x = np.zeros_like(b)
    d = np.diag(A)
    began = time.perf_counter()
    for k in range(sweeps):
        x += (b - A @ x) / d
        if k % 10 == 0:
            residual = np.abs(b - A @ x).max()
            logger.debug("sweep %d: %g", k, residual)
            print("sweep %3d: %.2e" % (k, residual))  # noqa: UP031
    assert time.perf_counter() >= began
    return x, residual < 1e-3


# Programs that are compiled for values


@program(lambda rng: call(rng.integers(0, 3, 25)))
def counts_of(x):
    counts = np.zeros(int(x.max()) + 1, dtype=np.int64)
    for i in range(x.size):
        counts[x[i]] += 1
    return counts


@program(lambda rng: call(rng.random(30) * 2))
def events_in_bins(times):
    width = 0.5
    bins = int(np.ceil(times.max() / width))
    edges = np.arange(bins + 1) * width
    inside = np.zeros((bins, 2))
    for k in range(bins):
        chosen = times[(times >= edges[k]) & (times < edges[k + 1])]
        inside[k] = chosen.size, chosen.sum()
    return inside


@program(lambda rng: call(rng.integers(0, 3, 6) * 1.0, rng))
def steps_until_full(levels, rng):
    history = []
    while levels.sum() < 9:
        levels += rng.integers(1, 3)
        history.append(float(levels.max()))
    return history, levels


@program(lambda rng: call(np.round(rng.random(3))))
def a_report(x):
    kind = {0.0: "none", 1.0: "one"}.get(float(x.sum()), "several")
    lines = [f"{x.size} values, {kind}"]
    if x[0] > 0.5:
        lines.append("the first: %d" % int(x[0]))  # noqa: UP031
    return lines, x.mean()


@program(lambda rng: call(rng, 2))
def a_random_number_of_draws(rng, most):
    count = int(rng.integers(1, most + 1))
    walk = np.cumsum(rng.normal(size=count))
    rows = [walk[:k] for k in range(count)]
    return rows, rng.random()


@program(lambda rng: call(rng.random(20) - 0.5))
def spectrum_of_what_is_positive(x):
    kept = x[x > 0]
    return np.abs(np.fft.rfft(kept)), np.sort(kept)


@program(lambda rng: call(rng.random(6)))
def a_number_that_becomes_complex(x):
    total = 0
    for i in range(6):
        if x[i] > 0.5:
            total = total + 1j * x[i]
    return total
