"""Branches and loops that take from iterators of the outside: what is traced several times takes from them once."""

import itertools

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

X = np.linspace(1.0, 2.0, 6)
pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")


def consumed_by_a_loop(x, pairs):
    s = 0.0
    for a, b in pairs:
        s += a * b + len(x)
    return s


def consumed_by_a_list(x, pairs):
    return len(list(pairs)) + x[0]


def consumed_by_a_sum(x, pairs):
    return sum(a * b for a, b in pairs)


def consumed_by_a_comprehension(x, pairs):
    return len([a for a, _ in pairs]) * x[0]


def consumed_by_unpacking(x, pairs):
    (a, b), *rest = pairs
    return a * b + len(rest)


WAYS = [
    consumed_by_a_loop, consumed_by_a_list, consumed_by_a_sum, consumed_by_a_comprehension, consumed_by_unpacking,
]  # fmt: skip


@pytest.mark.parametrize("take", WAYS)
def test_after_an_early_return(take):
    def f(x):
        pairs = itertools.combinations(x[:3], 2)
        if x.sum() == 0:
            return 0.0
        return take(x, pairs)

    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(X), f(X))


@pytest.mark.parametrize("take", WAYS)
def test_in_a_branch_and_in_a_list(take):
    def f(x):
        held = [itertools.combinations(x[:3], 2), itertools.combinations(x, 2)]
        y = x[0]
        if x.sum() > 0:
            y = take(x, held[1])
        return y + take(x, held[0])

    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(X), f(X))


def test_in_a_loop():
    def f(x):
        steps = map(abs, [1.0, -2.0, 3.0])
        s = x * 0
        for i in range(len(x)):
            for v in steps:
                s = s + v * i + x
        return s

    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(X), f(X))
