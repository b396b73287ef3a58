"""Rotated arrays (``np.roll``, ``np.pad(mode="wrap")``) are views: stencils on periodic grids are one kernel, without temporaries."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

# The test is about native code alone: without a target for the machine, NumPy runs each operation.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


def field(*shape, dtype="float64", seed=0):
    return make_array(shape, dtype=dtype, seed=seed)


def same(f, *shapes, dtype="float64", copies=None, dynamic=None):
    """Compares with eager for arrays of each shape, and says of the last program whether it has arrays in between."""
    jitted = tnp.jit(f, dynamic=dynamic)
    for seed, shape in enumerate(shapes):
        a = field(*shape, dtype=dtype, seed=seed)
        mine, eagers = a.copy(), a.copy()
        with within_bounds():
            assert_same(jitted(mine), f(eagers))
        assert_same(mine, eagers, what="argument")
    if copies is not None:
        text = str(tnp.explain(jitted))
        assert (" temporary" in text) == copies, text


def laplace(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def neighbours(u):
    return sum(np.roll(np.roll(u, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)


def twice(u):
    lap = np.roll(u, 1) - 2 * u + np.roll(u, -1)
    return np.roll(lap, 1) - 2 * lap + np.roll(lap, -1)


def far(u):
    return np.roll(u, 3) * np.roll(u, -4) - np.roll(u, 23)


def fluxes(u):
    f = 0.5 * u * u
    half = 0.5 * (f + np.roll(f, -1)) - 0.1 * (np.roll(u, -1) - u)
    return u - 0.1 * (half - np.roll(half, 1))


def padded(u):
    p = np.pad(u, 2, mode="wrap")
    return p[:-4] - p[4:] + 2 * p[2:-2]


def in_columns(u):
    return np.roll(u, 1, axis=1) - np.roll(u, (1, -1), axis=(0, 1))


def put_together(u):
    return np.concatenate([u[3:], u[:3]]) - u


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [twice, padded, put_together])
def test_of_one_dimension(f, dynamic):
    same(f, (50,), (40,), (133,), copies=False, dynamic=dynamic)
    same(f, (9,), (7,), (40,), (133,), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [far, fluxes])
def test_shifts_that_go_round_and_values_that_are_kept(f, dynamic):
    same(f, (9,), (7,), (40,), (133,), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [laplace, neighbours, in_columns])
def test_of_two_dimensions(f, dynamic):
    same(f, (33, 70), (21, 19), copies=False, dynamic=dynamic)
    same(f, (9, 8), (2, 3), (5, 2), (33, 70), dynamic=dynamic)


def test_of_two_elements_and_of_one():
    for shape in ((2, 2), (1, 2), (2, 1), (1, 1), (1, 5)):
        same(laplace, shape, dynamic=False)


def test_whole_numbers_of_three_dimensions():
    def f(s):
        return s * sum(np.roll(s, k, d) for d in range(3) for k in (1, -1))

    same(f, (5, 6, 7), (3, 4, 2), dtype="int32", copies=False)


def test_in_the_order_of_fortran():
    jitted, a = tnp.jit(laplace), np.asfortranarray(field(12, 9))
    assert_same(jitted(a), laplace(a))


def test_of_the_array_as_if_it_were_flat():
    same(lambda u: np.roll(u, 2) - u, (6, 5), (4, 3))


def test_reductions_read_what_was_made():
    """Loops of reductions are not cut: the innermost ones read an array in between, others a remainder."""
    same(lambda u: np.sum(u * np.roll(u, 1)), (50,), (13,), copies=True)
    same(lambda u: (u * np.roll(u, 1, 1)).max(axis=1), (20, 30), copies=True)
    same(lambda u: (u - np.roll(u, 1, 0)).sum(axis=1), (20, 30), copies=False)
    same(lambda u: np.cumsum(np.roll(u, 1)) + np.roll(u, 2), (30,))
    same(lambda u: np.roll(u, 1, 0) @ np.roll(u, 1, 1), (20, 20))


def test_a_store_beside_a_reduction():
    def f(u):
        r = u - np.roll(u, 1)
        return r, np.sum(u * u), np.abs(r).max()

    same(f, (64,), (41,))


def test_what_is_written_is_no_part_of_the_array():
    def f(u):
        r = np.roll(u, 1)
        r[2] = 5.0
        return r, u * 2

    def g(u):
        u[:] = u + 0.1 * (np.roll(u, 1) - u)
        u[1:] -= np.roll(u, 2)[:-1]

    same(f, (12,), (31,))
    same(g, (12,), (31,))


def test_backwards_and_in_parts():
    same(lambda u: np.roll(u, 3)[::-1] - np.roll(u, 2)[::-1] * u, (12,), (31,))
    same(lambda u: np.roll(u, 3)[2:-1] - u[2:-1], (12,), (31,))
    same(lambda u: np.roll(u[2:-2, ::2], 1, 0) - u[2:-2, 1::2], (12, 8), (31, 6))
    same(lambda u: np.roll(u.T, 1, 0).T - np.roll(u, 1, 1), (12, 8), (9, 9))


def diffused(u):
    for _ in range(20):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def heat(u):
    for k in range(10):
        u = u + 0.1 * laplace(u) * (k + 1)
    return u


def in_place(u):
    for _ in range(10):
        u += 0.1 * (np.roll(u, 1) - u)


def reacting(u):
    v = u * 0.5
    for _ in range(15):
        r = 0.01 * np.tanh(u * v)
        u, v = u + 0.1 * laplace(u) - r, v + 0.05 * laplace(v) + r - 0.1 * v
    return u, v


def with_a_norm(u):
    total = 0.0
    for _ in range(10):
        step = 0.1 * (np.roll(u, 1) - u)
        u = u + step
        total += np.sum(step * np.roll(step, 1)) + np.cumsum(np.roll(u, 2))[3]
    return u, total


def shifted_by_the_iteration(u):
    total = np.zeros_like(u)
    for k in range(12):
        total = total + np.roll(u, k)
    return total


def wrapped_around(u):
    for _ in range(10):
        p = np.pad(u, 1, mode="wrap")
        u = 0.25 * p[:-2] + 0.5 * p[1:-1] + 0.25 * p[2:]
    return u


@pytest.mark.parametrize("dynamic", [None, False, True], ids=["first known", "known", "any size"])
@pytest.mark.parametrize("f", [diffused, in_place, with_a_norm, shifted_by_the_iteration, wrapped_around])
def test_loops_over_a_line(f, dynamic):
    same(f, (19,), (40,), (64,), (5,), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [None, False, True], ids=["first known", "known", "any size"])
@pytest.mark.parametrize("f", [heat, reacting])
def test_loops_over_a_plane(f, dynamic):
    same(f, (9, 8), (2, 3), (12, 11), (5, 2), dynamic=dynamic)


def test_loops_over_short_lines():
    for n in (1, 2, 3, 4):
        same(diffused, (n,), dynamic=False)


def test_gradients_go_round():
    def f(u):
        return np.sum((u - np.roll(u, 1, 0)) ** 2 * np.roll(u, -2, 1))

    u, step = field(6, 7), 1e-6
    found = tnp.grad(f)(u)
    for place in ((0, 0), (5, 6), (2, 3)):
        more, less = u.copy(), u.copy()
        more[place] += step
        less[place] -= step
        np.testing.assert_allclose(found[place], (f(more) - f(less)) / (2 * step), rtol=1e-5, atol=1e-7)


def backwards(u):
    return np.roll(u, 1, axis=0)[::-1] + 2 * u, np.flip(np.pad(u, 1, mode="wrap"), 0)[1:-1] * 2


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
def test_rotated_arrays_are_read_backwards(dynamic):
    same(backwards, (11, 9), (5, 4), (2, 3), dynamic=dynamic)
    same(backwards, (11,), (40,), dynamic=dynamic)


def backwards_in_a_loop(u, v, k):
    x = v[:, ::-1]
    x[:] = u[:, ::-1] + x
    y = np.zeros_like(u)
    for _ in range(k):
        y = 2 * np.roll(x, 5, axis=1)
    return y


def test_a_view_whose_sizes_are_computed_goes_round():
    jitted = tnp.jit(backwards_in_a_loop, dynamic=True)
    for shape in ((12, 6), (7, 9)):
        a = field(*shape)
        assert_same(jitted(a, a.copy(), 2), backwards_in_a_loop(a, a.copy(), 2))


def by_a_number(u, k):
    return np.roll(u[::-1], k) + np.roll(u, 7)


def test_a_number_of_places_decides_nothing_about_sizes():
    jitted = tnp.jit(by_a_number, dynamic=True)
    for n, k in ((40, 5), (33, 2), (33, 40)):
        a = field(n)
        assert_same(jitted(a, k), by_a_number(a, k))


@pytest.mark.parametrize("shape", [(8,), (20,), (9, 5)])
def test_a_part_of_one_element_may_have_any_step(shape):
    """Its step says nothing about the others': their elements were read so far apart, and from behind the array."""
    functions = (
        lambda y: np.concatenate([y[:5], y[0:3:3]]) * 2,
        lambda y: np.concatenate([y[:5] * 2, (y * 2)[::100]]) + np.concatenate([y[1:6], y[1:2:100]]),
        lambda y: np.append(y[1:], y[::100], axis=0).cumsum(),
        lambda y: np.concatenate([y[4:5:7], y[2:3:5]]) + 1,
    )
    for function in functions:
        for dynamic in (False, True):
            assert_same(tnp.jit(function, dynamic=dynamic)(field(*shape)), function(field(*shape)))
