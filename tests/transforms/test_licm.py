"""Loop-invariant code motion: what moves before a loop, and what stays in it."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def parts(jitted):
    """The lines before the first loop, and the others."""
    before, _, behind = source(jitted).partition("  for ")
    assert behind
    return before, behind


def test_arithmetic_on_numbers_moves_out_of_all_loops():
    def f(x, n, a, b):
        for i in range(n):
            for j in range(n):
                x[i, j] += (a + b) * 2 - a * j

    jitted = same_as_eager(f, *(lambda n=n: (np.ones((12, 12)), n, 1.5, 2.5) for n in (0, 9)), executors=EXECUTORS)
    jitted = same_as_eager(f, lambda: (np.ones((12, 12)), 9, 1.5, 2.5))
    before, behind = parts(jitted)
    assert "a + b" in before
    assert "* 2" in before
    assert "a * i1" in behind


def test_what_may_raise_stays():
    def f(x, n, a, b):
        for i in range(n):
            x[i] += a / b + a % b + a**b

    jitted = same_as_eager(f, lambda: (np.ones(12), 9, 1.5, 2.5), executors=EXECUTORS)
    jitted = same_as_eager(f, lambda: (np.ones(12), 9, 1.5, 2.5))
    assert "a / b" in parts(jitted)[1]
    assert "a ** b" in parts(jitted)[1]
    args = np.ones(12), 1, 1, 0
    with pytest.raises(ZeroDivisionError):
        jitted(*args)


def test_reductions_and_products_move_out_of_loops_that_run():
    def f(x, A, n):
        for i in range(20):
            x[i] += (A * 2).sum() + (A @ A).max() + x[i - 1]
        return x

    def g(x, A, n):
        for i in range(n):
            x[i] += A.sum()
        return x

    make = lambda: (np.arange(20.0), np.ones((3, 3)), 4)  # noqa: E731
    same_as_eager(f, make, executors=EXECUTORS)
    before, behind = parts(same_as_eager(f, make))
    assert before.count(".sum()") == before.count("np.matmul") == before.count(".max()") == 1
    assert "np.multiply" in before
    assert ".sum()" not in behind
    assert ".sum()" in parts(same_as_eager(g, make))[1], "it may have no iteration"


def test_what_a_loop_writes_is_not_invariant():
    def f(x, y):
        for i in range(12):
            y[i % 3] += x.sum() * 0.5
            x[i % 4] += y.sum()
        return x, y

    same_as_eager(f, lambda: (np.ones(4), np.ones(3)), executors=EXECUTORS)


def test_elementwise_operations_stay_where_they_fuse():
    def f(x, y):
        for _ in range(12):
            x += np.sin(y) * 2

    jitted = same_as_eager(f, lambda: (np.ones(4), np.ones(4)))
    assert "np.sin" in parts(jitted)[1]


def test_invariants_of_while_loops_and_of_nested_ones():
    def f(x, a):
        i = 0
        while x[i] < a * 2 + 1:
            for j in range(12):
                x[i] += (a + i) * 0.5 + j
            i += 1
        return i

    jitted = same_as_eager(f, *(lambda a=a: (np.arange(12.0), a) for a in (1.5, 4.0, -3.0)), executors=EXECUTORS)
    jitted = same_as_eager(f, lambda: (np.arange(12.0), 1.5))
    assert "a * 2" in source(jitted).partition("while ")[0]
    assert "a + " in parts(jitted)[0], "it moves out of the inner loop alone"
    assert tnp.cache_info(jitted).size == 1
