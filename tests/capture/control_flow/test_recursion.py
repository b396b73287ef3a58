"""Functions that call themselves: as often as a number says, and as often as values say."""

import sys

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same


def hull(y, x, found, k, first, end):
    """Puts the points of an upper hull between two others into an array, and gives how many there are by then."""
    last = end - 1
    dy, dx = x[last] - x[first], y[first] - y[last]
    m = np.argmax(x[first:last] * dx + y[first:last] * dy) + first
    if m == first:
        return k
    if m > first + 1:
        k = hull(y, x, found, k, first, m + 1)
    found[k] = m
    k += 1
    if m < end - 2:
        k = hull(y, x, found, k, m, end)
    return k


def whole_hull(y, x):
    found = np.zeros(len(y), int)
    k = hull(y, x, found, 1, 0, len(y))
    return found[:k]


def halved(x, n):
    if n == 0 or x.sum() < 1:
        return x
    return halved(x / 2, n - 1) + n


def alternating(x, n):
    if n == 0:
        return x
    if x.sum() > 0:
        return alternating(x - 1, n - 1)
    return alternating(x + 2, n - 1)


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_as_often_as_values_say():
    x, rng, jitted = np.linspace(0, 1, 40), np.random.default_rng(0), tnp.jit(whole_hull)
    for _ in range(3):
        y = rng.random(40) + np.sin(x * 6)
        assert_same(jitted(y, x), whole_hull(y, x))


@pytest.mark.filterwarnings("ignore:.* runs ")
@pytest.mark.parametrize("f", [halved, alternating])
@pytest.mark.parametrize("n", [0, 2, 3, 9])
def test_at_most_as_often_as_a_number_says(f, n):
    jitted = tnp.jit(f)
    for x in (np.ones(3), np.full(3, 100.0), np.full(3, -4.0)):
        assert_same(jitted(x, n), f(x, n))


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_tracing_does_not_recurse_as_deep_as_python_lets_it():
    deepest = [0]

    def watch(frame, event, arg):
        if event == "call" and frame.f_code.co_name == "hull":
            depth, at = 0, frame
            while at is not None:
                depth += at.f_code.co_name == "hull"
                at = at.f_back
            deepest[0] = max(deepest[0], depth)

    before, x = sys.getprofile(), np.linspace(0, 1, 40)
    sys.setprofile(watch)
    try:
        tnp.jit(whole_hull)(np.random.default_rng(1).random(40), x)
    finally:
        sys.setprofile(before)
    assert deepest[0] < 40
