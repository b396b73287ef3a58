"""Tables filled step by step, and running sums."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(rng.integers(0, 4, 6), rng.integers(0, 4, 5)))
def needleman_wunsch(a, b, match=1, mismatch=-1, gap=-2):
    n, m = len(a), len(b)
    F = np.zeros((n + 1, m + 1))
    F[:, 0] = gap * np.arange(n + 1)
    F[0, :] = gap * np.arange(m + 1)
    score = np.where(a[:, None] == b[None, :], match, mismatch)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            F[i, j] = max(F[i - 1, j - 1] + score[i - 1, j - 1], F[i - 1, j] + gap, F[i, j - 1] + gap)
    return F[-1, -1], F


@program(lambda rng: call(rng.integers(0, 3, 5), rng.integers(0, 3, 6)))
def levenshtein(s, t):
    """Row by row; a comparison counts as 0 or 1."""
    previous = np.arange(len(t) + 1)
    for i in range(len(s)):
        current = np.empty_like(previous)
        current[0] = i + 1
        for j in range(len(t)):
            cost = int(s[i] != t[j])
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous = current
    return previous[-1]


@program(lambda rng: call(rng.integers(0, 3, 4), rng.integers(0, 3, 4)))
def longest_common_subsequence(x, y):
    L = np.zeros((len(x) + 1, len(y) + 1), dtype=int)
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if x[i - 1] == y[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = max(L[i - 1, j], L[i, j - 1])
    return L[-1, -1]


@program(lambda rng: call(rng.integers(-9, 9, 12), [(0, 3), (2, 9), (5, 12)]))
def prefix_sums(x, queries):
    sums = np.concatenate(([0], np.cumsum(x)))
    return [sums[stop] - sums[start] for start, stop in queries]


@program(lambda rng: call(rng.random((5, 6))))
def seam_cost(energy):
    """Dynamic programming over rows, vectorised over columns."""
    cost = energy.copy()
    for i in range(1, cost.shape[0]):
        above = cost[i - 1]
        left = np.r_[np.inf, above[:-1]]
        right = np.r_[above[1:], np.inf]
        cost[i] += np.minimum(np.minimum(left, above), right)
    return cost[-1].min(), np.argmin(cost[-1])


@program(lambda rng: call(rng.standard_normal(10)))
def maximum_subarray(x):
    best = current = x[0]
    for value in x[1:]:
        current = np.maximum(value, current + value)
        best = np.maximum(best, current)
    return best


@program(lambda rng: call(rng.random((3, 3)), rng.random((3, 4)), rng.random(3), rng.integers(0, 4, 5)))
def viterbi_scores(transition, emission, initial, observed):
    T = len(observed)
    delta = np.zeros((T, 3))
    delta[0] = np.log(initial) + np.log(emission[:, observed[0]])
    back = np.zeros((T, 3), dtype=np.intp)
    for t in range(1, T):
        candidates = delta[t - 1][:, None] + np.log(transition)
        back[t] = candidates.argmax(axis=0)
        delta[t] = candidates.max(axis=0) + np.log(emission[:, observed[t]])
    return delta[-1].max(), back


@program(lambda rng: call(rng.integers(0, 5, 20)))
def run_starts(x):
    changes = np.empty(x.size, dtype=bool)
    changes[0] = True
    np.not_equal(x[1:], x[:-1], out=changes[1:])
    starts = np.flatnonzero(changes)
    return starts, np.diff(np.append(starts, x.size))


@program(lambda rng: call(rng.random((4, 4)) * 10))
def floyd_warshall(D):
    for k in range(D.shape[0]):
        D[:] = np.minimum(D, D[:, k, None] + D[None, k, :])
    return D
