"""k-means on scikit-learn's handwritten digits, under NumPy and under tnp."""

import argparse
import time

import numpy as np

import tnp


def assign(points, centres):
    """The nearest centre of each point, and the squared distance to it."""
    distance = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    nearest = distance.argmin(axis=1)
    return nearest, np.take_along_axis(distance, nearest[:, None], axis=1)[:, 0]


def lloyd(points, centres, iterations):
    """Lloyd's iterations; moves ``centres`` in place. Returns the assignment and the mean squared distance."""
    k = centres.shape[0]
    for _ in range(iterations):
        nearest, _ = assign(points, centres)
        belongs = nearest[:, None] == np.arange(k)
        counts = belongs.sum(axis=0)
        sums = belongs.T.astype(points.dtype) @ points
        kept = counts[:, None] > 0
        centres[...] = np.where(kept, sums / np.maximum(counts, 1)[:, None], centres)
    nearest, squared = assign(points, centres)
    return nearest, squared.mean()


def purity(nearest, labels, k):
    """The share of points whose label is the commonest of their cluster."""
    return sum(np.bincount(labels[nearest == c]).max() for c in range(k) if (nearest == c).any()) / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=20)
    chosen = parser.parse_args()

    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)
    start = points[np.random.default_rng(0).choice(len(points), chosen.clusters, replace=False)]
    compiled = tnp.jit(lloyd)
    results = {}
    for name, f in (("NumPy", lloyd), ("tnp", compiled)):
        f(points, start.copy(), chosen.iterations)
        centres = start.copy()
        begin = time.perf_counter()
        nearest, error = f(points, centres, chosen.iterations)
        results[name] = (nearest, error, centres, time.perf_counter() - begin)
    (eager_nearest, eager_error, eager_centres, numpy_time), (nearest, error, centres, tnp_time) = results.values()
    np.testing.assert_array_equal(nearest, eager_nearest)
    np.testing.assert_allclose(centres, eager_centres)
    np.testing.assert_allclose(error, eager_error)
    print(f"{len(points)} digits, {chosen.clusters} clusters: NumPy and tnp agree on every assignment and centre")
    print(
        f"{chosen.iterations} iterations: NumPy {numpy_time * 1e3:.1f} ms, tnp {tnp_time * 1e3:.1f} ms ({numpy_time / tnp_time:.2f}x)"
    )
    print(f"mean squared distance {error:.1f}, purity {purity(nearest, labels, chosen.clusters):.2f}")


if __name__ == "__main__":
    main()
