"""Iterations that exchange buffers, look for something, report, or keep what a condition chooses."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(rng.random((9, 10)), 15))
def jacobi_with_two_buffers(grid, iterations):
    """Two buffers take turns; after an odd number of iterations the caller's is the older one."""
    new = grid.copy()
    for _ in range(iterations):
        new[1:-1, 1:-1] = 0.25 * (grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2])
        grid, new = new, grid
    return grid


@program(lambda rng: call(rng.random(12), 1e-3))
def jacobi_until_it_settles(u, tolerance):
    old, new = u.copy(), u.copy()
    change, iterations = 1.0, 0
    while change > tolerance:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        change = np.abs(new - old).max()
        old, new = new, old
        iterations += 1
    return old, iterations


@program(lambda rng: call(rng.random(20), rng.random(20), 11, 0.3))
def wave_by_leapfrog(before, now, steps, courant):
    for _ in range(steps):
        after = 2 * now - before
        after[1:-1] += courant**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


@program(lambda rng: call(rng.random(30), 1.0 + rng.random()))
def first_above(x, threshold):
    running = 0.0
    for i, v in enumerate(x):
        running += v
        if running > threshold:
            return i, running
    return -1, running


@program(lambda rng: call(rng.standard_normal((8, 9)), rng.standard_normal(8)))
def hinge_losses(features, labels):
    weights = np.zeros(features.shape[1])
    total = 0.0
    for i in range(features.shape[0]):
        margin = labels[i] * (features[i] @ weights)
        loss = max(0.0, 1.0 - margin)
        total += loss
        if margin < 1:
            weights += 0.1 * labels[i] * features[i]
    return weights, total


@program(lambda rng: call(rng.random((12, 12)), rng.random((3, 3))))
def correlate_by_windows(image, kernel):
    k = kernel.shape[0]
    out = np.zeros((image.shape[0] - k + 1, image.shape[1] - k + 1))
    for i, j in np.ndindex(out.shape):
        out[i, j] = np.sum(image[i : i + k, j : j + k] * kernel)
    return out


@program(lambda rng: call(rng.integers(-20, 20, 25)))
def best_of_runs(x):
    """Kadane's algorithm: the largest sum of a run of elements."""
    best = current = x[0]
    for i in range(1, x.shape[0]):
        current = max(x[i], current + x[i])
        best = max(best, current)
    return best


@program(lambda rng: call(rng.random(40), 3))
def thinned(x, iterations):
    """An array becomes shorter in each iteration."""
    kept = []
    for _ in range(iterations):
        x = x[x > x.mean()]
        kept.append(len(x))
    return x, kept


@program(lambda rng: call(rng.random(9), 12))
def power_iteration_with_progress(x, iterations):
    matrix = np.outer(x, x) + np.eye(x.shape[0])
    estimate = 0.0
    for i in range(iterations):
        x = matrix @ x
        estimate = np.sqrt((x * x).sum())
        x = x / estimate
        if i % 5 == 0:
            print(f"round {i}", x.shape)
    return x, estimate


@program(lambda rng: call(rng.random((6, 6)) + 6 * np.eye(6), rng.random(6), 1e-10))
def linear_system_by_iteration(A, b, tolerance):
    d = np.diag(A).copy()
    x, iterations = np.zeros_like(b), 0
    while True:
        new = x + (b - A @ x) / d
        iterations += 1
        if (change := np.abs(new - x).max()) < tolerance:
            break
        x = new
    return x, iterations, change < tolerance
