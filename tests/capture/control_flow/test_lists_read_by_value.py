"""Short lists of numbers, read at positions that only the running program knows, and tables as wide as an argument says."""

import copy
import warnings

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.InternalErrorWarning")


def integers(n, seed=0):
    return np.random.default_rng(seed).integers(1, 9, n).tolist()


def floats(n, seed=0):
    return np.random.default_rng(seed).random(n).tolist()


def length(jitted):
    return [len(program.traces[0].bound_symbols) for program, _ in programs_of(jitted)]


def called(f, *args):
    """What a call gives or raises, and what it leaves its arguments as."""
    args = copy.deepcopy(args)
    with warnings.catch_warnings(action="ignore", category=tnp.EagerFallbackWarning):
        try:
            return f(*args), args
        except Exception as error:
            return repr(error), args


def knapsack(capacity, weights, values, n):
    best = [[0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(1, capacity + 1):
            if weights[i - 1] <= w:
                best[i][w] = max(values[i - 1] + best[i - 1][w - weights[i - 1]], best[i - 1][w])
            else:
                best[i][w] = best[i - 1][w]
    return best[n][capacity], best


def paths(width, height):
    found = [[1] * (width + 1) for _ in range(height + 1)]
    for i in range(1, height + 1):
        for j in range(1, width + 1):
            found[i][j] = found[i - 1][j] + found[i][j - 1]
    return found


def weighted(weights, n):
    total = 0
    for i in range(n):
        total = total + weights[i] * i
    return total


def backwards(weights, n):
    total = 0
    for i in range(n):
        total = total + weights[-i - 1] * i
    return total


def chained(weights, n):
    at, seen = 0, []
    for _ in range(n):
        at = int(weights[at] * 3) % len(weights)
        seen.append(weights[at])
    return seen


def halved(weights, x):
    low, high = 0, len(weights)
    while low < high:
        middle = (low + high) // 2
        if weights[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def changed(weights, n):
    for i in range(n):
        weights[i] = weights[i] * 2
    return weights


def appended(weights, n):
    total = 0
    for i in range(n):
        total = total + weights[i]
    weights.append(total)
    return len(weights), weights


def told_apart(weights, n):
    total, other = 0, weights
    for i in range(n):
        total = total + other[i]
    return total, other is weights, weights[0], weights[1:4], [*weights, total], max(weights), 3 in weights


def test_a_table_of_an_argument_s_width():
    jitted = tnp.jit(knapsack)
    for seed in range(3):
        args = 60, integers(20, seed), integers(20, seed + 9), 20
        assert_same(jitted(*args), knapsack(*args))
    assert len(length(jitted)) == 1
    assert max(length(jitted)) < 50  # the loops are operations; they were written out
    for capacity, n in ((30, 20), (31, 12), (60, 7), (0, 3)):
        args = capacity, integers(20), integers(20, 1), n
        assert_same(jitted(*args), knapsack(*args))


def test_tables_of_several_widths():
    jitted = tnp.jit(paths)
    for width, height in ((20, 30), (21, 30), (9, 9), (0, 5), (-1, 5), (-4, 0), (3, -7)):
        assert_same(called(jitted, width, height), called(paths, width, height))
    assert max(length(jitted)) < 50


@pytest.mark.parametrize("numbers", [integers, floats])
@pytest.mark.parametrize("f", [weighted, backwards, chained, changed, appended, told_apart])
def test_as_eager(f, numbers):
    jitted = tnp.jit(f)
    many = [(numbers(20, k), n) for k, n in enumerate((20, 20, 12, 5))]
    others = [(numbers(30), 25), (numbers(2), 2), (numbers(20), 21), ([3], 1)]
    mixed = [([*numbers(10), x], 11) for x in (True, 2**40, 2.5)]
    for args in (*many, *others, *mixed, *many):
        assert_same(called(jitted, *args), called(f, *args))


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_a_loop_of_any_length_is_one_operation():
    for f in (weighted, backwards):
        jitted = tnp.jit(f)
        for n in (20, 15):
            args = floats(20, n), n
            assert_same(jitted(*args), f(*args))
        assert max(length(jitted)) < 15


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_a_search_by_halves():
    jitted = tnp.jit(halved)
    for seed in range(4):
        args = sorted(integers(40, seed)), 4
        assert_same(jitted(*args), halved(*args))
    assert len(length(jitted)) == 1
