"""Variables that loops and branches bind to views of one array, on conditions: they stay views, at positions that are carried."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def the_best_row(x):
    best, least = x[0], np.sum(x[0] ** 2)
    for k in range(1, len(x)):
        value = np.sum(x[k] ** 2)
        if value < least:
            best, least = x[k], value
    return best, least


def the_best_column(x):
    best = x[:, 0]
    for k in range(1, x.shape[1]):
        if x[:, k].max() > best.max():
            best = x[:, k]
    return best


def the_best_line(x):
    y = x.reshape(len(x), 2, 2)
    best = y[0, :, 1]
    for k in range(len(y)):
        for j in range(2):
            if y[k, :, j].sum() > best.sum():
                best = y[k, :, j]
    return best


def in_a_while_loop(x):
    best, k = x[0], 1
    while k < len(x) and best[0] < 1.5:
        if x[k, 0] > best[0]:
            best = x[k]
        k += 1
    return best, k


def left_early(x):
    best = x[0]
    for k in range(len(x)):
        if x[k, 0] > 1.2:
            best = x[k]
            break
    return best


def the_array_is_written_later(x):
    best = x[0]
    for k in range(1, len(x)):
        if x[k, 1] > best[1]:
            best = x[k]
        x[k - 1, 1] *= 0.5
    return best, x.sum()


def written_after_the_loop(x):
    best = x[0]
    for k in range(1, len(x)):
        if x[k, 1] > best[1]:
            best = x[k]
    best[0] = 100.0
    return x.sum()


def in_a_branch(x):
    row = x[0]
    if x[1, 0] > x[0, 0]:
        row = x[1]
    return row * 2, row


def on_both_sides(x):
    if x.sum() > 0:
        row = x[2]
    else:
        row = x[3]
    row += 1
    return row


FUNCTIONS = [
    the_best_row, the_best_column, the_best_line, in_a_while_loop, left_early, the_array_is_written_later, written_after_the_loop, in_a_branch,
    on_both_sides,
]  # fmt: skip


def shared(result, x):
    return [np.shares_memory(r, x) for r in (result if type(result) is tuple else (result,)) if type(r) is np.ndarray]


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(f, executors):
    jitted, rng = tnp.jit(f, executors=executors), np.random.default_rng(0)
    for n in (30, 40, 50, 60):
        x = rng.standard_normal((n, 4))
        mine, eagers = x.copy(), x.copy()
        found, expected = jitted(mine), f(eagers)
        assert_same(found, expected, rtol=1e-12)
        assert_same(mine, eagers)
        assert shared(found, mine) == shared(expected, eagers)
    if f is not the_array_is_written_later:  # which is written out
        assert tnp.cache_info(jitted).misses <= 2  # of one length, and of any


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_views_of_several_arrays():
    def one_of_two(x):
        y = x * 2
        best = x[0]
        for k in range(1, len(x)):
            if y[k, 0] > best[0]:
                best = y[k]
            elif x[k, 0] > best[1]:
                best = x[k]
        return best

    jitted, rng = tnp.jit(one_of_two), np.random.default_rng(0)
    for _ in range(3):
        x = rng.standard_normal((12, 4))
        found, expected = jitted(x), one_of_two(x)
        assert_same(found, expected)
        assert np.shares_memory(found, x) == np.shares_memory(expected, x)
