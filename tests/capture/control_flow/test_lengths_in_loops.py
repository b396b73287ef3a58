"""Loops over arrays that become shorter: those that one mask selects of keep one length, and what is computed of them is fused."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def arguments(n, steps):
    return lambda: (np.random.default_rng(n).normal(size=n) * 3, steps)


def escape(c, steps):
    z, where, left = np.zeros(len(c)), np.arange(len(c)), np.zeros(len(c), int)
    for i in range(steps):
        if not len(z):
            break
        z = z * z + c
        inside = np.abs(z) < 2
        left[where[~inside]] = i + 1
        z, c, where = z[inside], c[inside], where[inside]
    return left, z, c, where


def test_arrays_that_one_mask_selects_keep_one_length():
    same_as_eager(escape, *(arguments(n, k) for n in (200, 1, 5) for k in (1, 6, 30)), executors=EXECUTORS)
    jitted = tnp.jit(escape)
    jitted(*arguments(200, 30)())
    assert "for i" in str(tnp.last_traces(jitted)[-1])
    assert "llvm_fusion0: 5 operations" in tnp.explain(jitted), (
        "z * z + c, the comparison and its negation are one kernel"
    )


def test_arrays_that_two_masks_select_do_not():
    def f(x, steps):
        y = x * 1.0
        for _ in range(steps):
            x = x[x > -2]
            y = y[y < 2]
        return x.sum(), y.sum(), len(x), len(y)

    same_as_eager(f, *(arguments(n, k) for n in (50, 3) for k in (1, 2, 4)), executors=EXECUTORS)


def test_lengths_that_turn_out_to_differ_raise_as_eagerly():
    def f(x, steps):
        y = x * 1.0
        for i in range(steps):
            if i == 1:
                x = x[x > 0]
            else:
                x, y = x[x > -2], y[x > -2]
        return x + y

    same_as_eager(f, *(arguments(n, k) for n in (50, 3) for k in (1, 2, 4)), executors=EXECUTORS)


def test_one_of_the_arrays_is_not_selected_of():
    def f(x, steps):
        y, z = x * 1.0, x * 2.0
        for _ in range(steps):
            m = x > -1.5
            x, y = x[m] - 0.5, y[m]
        return x, y, z, x + y

    same_as_eager(f, *(arguments(n, k) for n in (50, 3) for k in (1, 2, 4)), executors=EXECUTORS)


def test_repeats_that_a_loop_decides():
    def f(x):
        s = np.zeros((len(x), 3))
        for k in range(1, len(x)):
            n = len(x) - k
            s[k, 0] = (np.tile(x[k - 1], n) - x[k:]).sum()
            s[k, 1] = np.abs(np.tile(x[:2], (n, 1)) - x[k:, None]).max()
            s[k, 2] = (np.repeat(x[k], n) * x[k:]).sum()
        return s

    jitted = same_as_eager(
        f, *(lambda n=n: (np.arange(float(n)) ** 1.1,) for n in (20, 31, 43)), executors=(None, ["numpy"])
    )
    assert source(jitted).count("for ") == 1

    def g(x, w):
        s = np.zeros(len(x))
        for k in range(len(x)):
            s[k] = np.tile(x[:3], k).sum() + np.repeat(x[:3], k).sum() + np.tile(x, (k, 2)).sum()
        return s

    same_as_eager(g, lambda: (np.arange(20.0), 3), executors=(None, ["numpy"]))

    def fails(x):
        s = np.zeros(len(x))
        for k in range(len(x)):
            s[k] = np.tile(x[1], 11 - k).sum()
        return s

    same_as_eager(fails, lambda: (np.arange(12.0),), lambda: (np.arange(13.0),), executors=(None,))


def blocks_by_arange(a, n, count):
    a, n = a.copy(), a.shape[0]
    for k in range(count):
        block = np.arange(k * n, k * n + n)
        a[:, block] = 0.5 * (a[:, block] + a[:, block].T)
    return a


def blocks_by_list(a, n, count):
    a, n = a.copy(), a.shape[0]
    for k in range(count):
        block = list(range(k * n, (k + 1) * n))
        a[:, block] = 0.5 * (a[:, block] + a[:, block].T)
    return a


@pytest.mark.parametrize("f", [blocks_by_arange, blocks_by_list])
def test_positions_from_one_multiple_to_the_next_are_a_known_number(f):
    jitted = same_as_eager(f, lambda: (np.arange(240.0).reshape(4, 60), 4, 15), executors=EXECUTORS)
    assert "for " in source(jitted)


def test_differences_of_positions_that_the_program_computes():
    def f(x, count):
        total = 0.0
        for i in range(count):
            places = np.arange(3 * i + 5, 3 * i, -2)
            assert places.dtype == np.int64 and len(range(i, i + 4)) == 4
            total += x[places].sum() + sum(range(i, i + 4)) + np.arange(i + 2, i).sum()
            total += x[[i, i + 2, i + 4]].sum() - x[[i, i + 1, i + 3]].sum() + x[[i + 2, i + 1, i]][0]
        return total

    jitted = same_as_eager(f, *((lambda n=n: (np.arange(100.0) ** 2, n)) for n in (12, 20, 30)), executors=EXECUTORS)
    assert "for " in source(jitted)
