"""Loops that make the new value of an array where it is to be: in the one of its two buffers that it is not in."""

import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

# The test is about native code alone: without a target for the machine, NumPy runs each operation.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


def two_of_one_value(u, v, k):
    for _ in range(k):
        a, b = u * 0.5, u * 0.5
        a[1:-1] = u[2:] + 1
        b[1:-1] = v[:-2] + 2
        u, v = a, b
    return u, v


def the_other_first(u, v, k):
    for _ in range(k):
        a, b = u * 0.5, u * 0.5
        b[1:-1] = v[:-2] + 2
        a[1:-1] = u[2:] + 1
        v = v + b
        u = a
    return u, v


def one_in_a_branch(u, v, k):
    for _ in range(k):
        a, b = u * 0.5, u * 0.5
        a[1:-1] = u[2:] + 1
        if b.sum() > 1:
            b[1:-1] = v[:-2] + 2
            v = v + b
        u = a
    return u, v


def one_in_a_loop(u, v, k):
    for _ in range(k):
        a, b = u * 0.5, u * 0.5
        a[1:-1] = u[2:] + 1
        for _ in range(2):
            b[1:-1] = v[:-2] + 2
            v = v + b
        u = a
    return u, v


def three_levels(u, v, k):
    old = v
    for _ in range(k):
        new = 2 * u - old
        new[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        new[0] = 0
        old, u = u, new
    return u * 1, old * 1


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [two_of_one_value, the_other_first, one_in_a_branch, one_in_a_loop, three_levels])
def test_arrays_of_one_value_have_memory_of_their_own(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic)
    for n, k in ((90, 1), (90, 2), (90, 5), (12, 3)):
        a, b = make_array((n,), dtype="float64", seed=n), make_array((n,), dtype="float64", seed=k)
        with within_bounds():
            assert_same(jitted(a, b, k), f(a, b, k))
