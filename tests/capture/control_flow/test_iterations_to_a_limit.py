"""Iterations that end where two iterates are close: the last one is returned from inside the loop, or after it."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS
from tnp.core.subtraces import is_control_flow
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def a_tuple(m, b):
    x, k = np.zeros_like(b), 0
    while True:
        following = b - m @ x
        k += 1
        if np.max(np.abs(following - x)) < 1e-8:
            return following, k
        x = following


def one_array(m, b):
    x, k = np.zeros_like(b), 0
    while True:
        following = b - m @ x
        k += 1
        if np.max(np.abs(following - x)) < 1e-8 or k > 200:
            return following
        x = following


def by_break(m, b):
    x, k = np.zeros_like(b), 0
    while True:
        following = b - m @ x
        k += 1
        if np.max(np.abs(following - x)) < 1e-8:
            break
        x = following
    return following, k, x.sum()


def with_else(m, b):
    x = np.zeros_like(b)
    while True:
        following = b - m @ x
        if np.max(np.abs(following - x)) < 1e-8:
            break
        x = following
    else:
        following = following * 0
    return following


def at_most(m, b, most=200, tolerance=1e-8):
    x = np.zeros_like(b)
    for k in range(most):
        following = b - m @ x
        if np.max(np.abs(following - x)) < tolerance:
            return following, k, True
        x = following
    return x, most, False


def too_few(m, b):
    return at_most(m, b, 9, 1e-30)


def numbers(m, b):
    x, k = 0.5, 0
    while True:
        following = b[0] - m[0, 0] * x
        k += 1
        if abs(following - x) < 1e-8:
            return following, k
        x = following


def two_ways(m, b):
    x, k = np.zeros_like(b), 0
    while True:
        following = b - m @ x
        k += 1
        if k > 50:
            break
        if np.max(np.abs(following - x)) < 1e-3:
            return following
        x = following
    return x


def with_a_history(m, b):
    x, history = np.zeros_like(b), []
    while True:
        following = b - m @ x
        error = np.max(np.abs(following - x))
        history.append(error)
        if error < 1e-8:
            return following, history
        x = following


FUNCTIONS = [a_tuple, one_array, by_break, with_else, at_most, too_few, numbers, two_ways, with_a_history]


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(f, executors):
    jitted, rng = tnp.jit(f, executors=executors), np.random.default_rng(0)
    for n in (12, 15, 20, 30):
        m, b = rng.random((n, n)) * 0.5 / n, rng.random(n)
        assert_same(jitted(m, b), f(m, b), rtol=1e-7)  # of differences of nearly equal numbers
    assert tnp.cache_info(jitted).misses <= 2  # of one size, and of any
    assert any(is_control_flow(x) for x in tnp.last_traces(jitted)[0].bound_symbols)
