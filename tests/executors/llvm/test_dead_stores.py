"""Of arrays that are made and then overwritten in part, only the rest is made: ``new = u.copy(); new[1:-1] = ...``."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

# The test is about native code alone: without a target for the machine, NumPy runs each operation.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


def smoothed(u):
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return new


def laplace(u):
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return u + 0.1 * lap, lap


def by_itself(u):
    new = u.copy()
    new[1:-1, 1:-1] = new[1:-1, 1:-1] + 0.1 * (new[2:, 1:-1] + new[:-2, 1:-1] - 2 * new[1:-1, 1:-1])
    return new


def with_edges(u):
    new = u * 2
    new[:, 2:-1] = u[:, 1:-2] - u[:, 3:]
    new[0] = new[1]
    new[-1] = 0
    return new


def in_place(u):
    old = u.copy()
    u[1:-1, 1:-1] = old[:-2, 1:-1] + old[1:-1, 2:]
    return old


def several(u):
    a, b = np.zeros(u.shape), np.ones(u.shape)
    a[1:] = u[1:] - u[:-1]
    b[:, :-1] = u[:, 1:] * a[:, :-1]
    return a - b, a


def all_of_it(u):
    a = np.full_like(u, 3.0)
    a[:, :] = u[::-1]
    return a


def read_before(u):
    a = u * 3
    total = a.sum(axis=0)
    a[1:-1] = total
    return a


def added_to(u):
    a = u + 1
    a[1:-1, 1:-1] += u[1:-1, 1:-1]
    a[2:-2, 2:-2] *= 2
    return a


def added_twice(u):
    a = np.zeros_like(u)
    a[1:, 1:] += u[1:, 1:]
    a[1:, 1:] += u[:-1, :-1] * 2
    a[:, :-1] -= u[:, 1:]
    return a


def shorter(u):
    a = np.zeros((u.shape[0] - 2, u.shape[1]))
    a[:, 1:] = u[2:, 1:] - u[:-2, :-1]
    return a


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize(
    "f",
    [
        smoothed,
        laplace,
        by_itself,
        with_edges,
        in_place,
        several,
        all_of_it,
        read_before,
        added_to,
        added_twice,
        shorter,
    ],
)
def test_around_what_is_overwritten(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic)
    for seed, shape in enumerate([(40, 30), (33, 50), (25, 25), (6, 7)]):
        a = make_array(shape, dtype="float64", seed=seed)
        mine, eagers = a.copy(), a.copy()
        with within_bounds():
            assert_same(jitted(mine), f(eagers))
        assert_same(mine, eagers, what="argument")


def test_the_rest_alone_is_made():
    jitted = tnp.jit(smoothed)
    jitted(np.ones((40, 30)))
    text = str(tnp.explain(jitted))
    assert "result0[0, i1] = u[0, i1]" in text
    assert "result0[i0, i1] = u[i0, i1]" not in text


def test_in_the_order_of_fortran():
    jitted, a = tnp.jit(smoothed), np.asfortranarray(make_array((40, 30), dtype="float64"))
    assert_same(jitted(a), smoothed(a))


def diagonal(u):
    new = u * 2
    np.einsum("ii->i", new)[:] = 1
    return new


def updated_twice(u):
    a = np.zeros_like(u)
    a[1:-1] += u[1:-1]
    a[1:-1] *= u[2:]
    return a


def updated_whole_and_in_part(u):
    a = np.full_like(u, 2)
    a += u
    a[1:-1] -= u[:-2]
    return a


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [diagonal, updated_twice, updated_whole_and_in_part])
def test_what_an_update_leaves_is_kept(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic)
    for n in (40, 33, 3):
        a = make_array((n, n), dtype="float64")
        with within_bounds():
            assert_same(jitted(a), f(a))
