"""Branches and loops on values: conditions, breaks, early returns, and the algorithms that live on them."""

import numpy as np

from .registry import call, program


def pairs(a, b):
    if a + b == 3:
        return 1
    return 0


@program(lambda rng: call(rng.integers(0, 4, 14)))
def fold_of_bases(seq):
    n = seq.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@program(lambda rng: call(rng.integers(0, 256, 40).astype(np.uint8), 0x8408))
def checksum(data, poly):
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@program(lambda rng: call(np.sort(rng.random(40)), rng.random()))
def bisection(x, wanted):
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        if x[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@program(lambda rng: call(rng.random(5) + 1.0))
def roots_by_newton(a):
    x = a.copy()
    iterations = 0
    while np.abs(x * x - a).max() > 1e-10:
        x = 0.5 * (x + a / x)
        iterations += 1
    return x, iterations


@program(lambda rng: call(rng.random((8, 8)), 0.01, 50))
def relaxed_until_it_settles(u, tolerance, most):
    change, iterations = 1.0, 0
    while change > tolerance and iterations < most:
        before = u.copy()
        u[1:-1, 1:-1] = 0.25 * (before[2:, 1:-1] + before[:-2, 1:-1] + before[1:-1, 2:] + before[1:-1, :-2])
        change = np.abs(u - before).max()
        iterations += 1
    return iterations


@program(lambda rng: call(rng.random(20)))
def insertion_sort(x):
    for i in range(1, x.shape[0]):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


@program(lambda rng: call(rng.random(12)))
def bubble_sort_that_stops(x):
    n = x.shape[0]
    swaps = 0
    for _i in range(n):
        swapped = False
        for j in range(n - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
                swaps += 1
        if not swapped:
            break
    return swaps


@program(lambda rng: call(rng.random((9, 9))))
def pivots(A):
    signs = 0
    for i in range(A.shape[0] - 1):
        p = np.argmax(np.abs(A[i:, i])) + i
        if p != i:
            A[[i, p]] = A[[p, i]]
            signs += 1
    return signs


@program(lambda rng: call(rng.standard_normal(30)))
def largest_run(x):
    best, current = x[0], x[0]
    for i in range(1, x.shape[0]):
        current = max(x[i], current + x[i])
        best = max(best, current)
    return best


@program(lambda rng: call(rng.integers(0, 3, 10), rng.integers(0, 3, 11)))
def edit_distance(a, b):
    D = np.zeros((a.shape[0] + 1, b.shape[0] + 1), dtype=np.int64)
    D[:, 0] = np.arange(a.shape[0] + 1)
    D[0, :] = np.arange(b.shape[0] + 1)
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            cost = D[i - 1, j - 1] if a[i - 1] == b[j - 1] else D[i - 1, j - 1] + 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, cost)
    return D[-1, -1]


@program(lambda rng: call(rng.random(40), 33))
def break_and_continue(x, n):
    kept = 0
    for i in range(n):
        if x[i] > 0.95:
            break
        if x[i] > 0.6:
            continue
        x[i] = 0
        kept += 1
    return kept


@program(lambda rng: call(rng.random(20) * 1.04))
def otherwise(x):
    for i in range(20):
        if x[i] > 1.0:
            x[i] = -1
            break
    else:
        x[0] = 5
    return x


@program(lambda rng: call(rng.random(3)))
def returns_early(x):
    if x[0] > 0.5:
        return x * 2
    if x[1] > 0.5:
        return x * 3
    x *= 5
    return x * 4


@program(lambda rng: call(rng.standard_normal(4)))
def one_of_two(x):
    if x.sum() > 0:
        y = x * 2
        x[0] = 1
    else:
        y = x - 1
        x[1:] += y[1:]
    return y + x


@program(lambda rng: call(rng.random(30)))
def bands(x):
    counts = np.zeros(4, dtype=np.int64)
    for v in x:
        if v < 0.2:
            counts[0] += 1
        elif v < 0.5 and v != 0.3:
            counts[1] += 1
        elif 0.5 <= v < 0.8 or v == 2.0:
            counts[2] += 1
        elif not v < 0.8:
            counts[3] += 1
    return counts


@program(lambda rng: call(rng.random(25)))
def piecewise(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if x[i] > 0.5 else -x[i]
        y[i] = y[i] * 2 if 0.2 < x[i] < 0.8 else y[i]
        if i % 2 == 0 and i > 3:
            y[i] += 1
    return y


@program(lambda rng: call(rng.random(12) * 0.5))
def asserted(x):
    for i in range(x.shape[0]):
        x[i] += 1
        assert x[i] < 1.9, "too large"
    assert x.sum() > 0
    return x


@program(lambda rng: call(rng.integers(1, 30, 12)))
def lengths_of_collatz(start):
    lengths = np.zeros(start.shape[0], dtype=np.int64)
    for i in range(start.shape[0]):
        n = start[i]
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            lengths[i] += 1
    return lengths


@program(lambda rng: call(30))
def sieve(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for p in range(2, n):
        if prime[p]:
            for q in range(p * p, n, p):
                prime[q] = False
    return prime


@program(lambda rng: call(rng.integers(1, 9, 10), rng.integers(1, 20, 10), 15))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(weights.shape[0]):
        for c in range(capacity, 0, -1):
            if weights[i] <= c:
                best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


@program(lambda rng: call(rng.random(50), 10))
def histogram_by_hand(x, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for v in x:
        counts[int(v * bins)] += 1
    return counts


@program(lambda rng: call(rng.random((9, 9)) > 0.6, 9))
def life_by_elements(board, n):
    new = np.zeros_like(board)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            around = np.sum(board[i - 1 : i + 2, j - 1 : j + 2]) - board[i, j]
            if board[i, j]:
                new[i, j] = around == 2 or around == 3
            else:
                new[i, j] = around == 3
    return new


@program(lambda rng: call(rng.random(6), rng.random(6)))
def pick(a, b):
    """Which of two arrays is returned, values say; what is returned is that array itself."""
    return a if a.sum() > b.sum() else b


@program(lambda rng: call(rng.random(20)))
def first_large(x):
    """Returns from inside a loop."""
    for i in range(x.shape[0]):
        if x[i] > 0.9:
            return i
    return -1
