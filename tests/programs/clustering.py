"""Grouping points."""

import numpy as np

from .registry import call, program


def pairwise(X, Y):
    return np.sqrt(((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2))


@program(lambda rng: call(rng.random((7, 3)), rng.random((4, 3))))
def distance_matrix(X, Y):
    """The same distances by the square's expansion, without the third dimension."""
    x2 = np.einsum("ij,ij->i", X, X)[:, None]
    y2 = np.einsum("ij,ij->i", Y, Y)[None, :]
    d2 = x2 + y2 - 2 * np.dot(X, Y.T)
    np.maximum(d2, 0, out=d2)
    return np.sqrt(d2, out=d2), pairwise(X, Y)


@program(lambda rng: call(rng.random((20, 2)), rng.random((3, 2)), 3))
def k_means(X, centres, iterations):
    for _ in range(iterations):
        labels = np.argmin(pairwise(X, centres), axis=1)
        for k in range(centres.shape[0]):
            members = (labels == k)[:, None]
            count = np.maximum(members.sum(), 1)
            centres[k] = np.where(members, X, 0).sum(axis=0) / count
    return labels


@program(lambda rng: call(rng.random((15, 2)), rng.random((4, 2))))
def one_hot_update(X, centres):
    labels = pairwise(X, centres).argmin(axis=1)
    one_hot = np.eye(len(centres))[labels]
    counts = one_hot.sum(axis=0)
    sums = one_hot.T @ X
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres), labels


@program(lambda rng: call(rng.random((12, 2)), 0.3))
def mean_shift_step(points, bandwidth):
    weights = np.exp(-((pairwise(points, points) / bandwidth) ** 2) / 2)
    shifted = weights @ points / weights.sum(axis=1, keepdims=True)
    moved = np.linalg.norm(shifted - points, axis=1)
    points[:] = shifted
    return moved.max()


@program(lambda rng: call(rng.random((10, 3)), rng.random((5, 3)), rng.integers(0, 3, 10)))
def nearest_neighbours(train, test, labels, k=3):
    order = np.argsort(pairwise(test, train), axis=1, kind="stable")[:, :k]
    votes = labels[order]
    counts = (votes[:, :, None] == np.arange(3)).sum(axis=1)
    return counts.argmax(axis=1), np.take_along_axis(pairwise(test, train), order, axis=1)


@program(lambda rng: call(rng.random((14, 2)), rng.integers(0, 4, 14)))
def centroids_by_add_at(X, labels):
    sums = np.zeros((4, X.shape[1]))
    np.add.at(sums, labels, X)
    counts = np.bincount(labels, minlength=4)
    return sums / np.maximum(counts, 1)[:, np.newaxis]
