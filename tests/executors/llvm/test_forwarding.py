"""What reads an array that is made box by box is computed in the same boxes: the array takes no memory."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

# The test is about native code alone: without a target for the machine, NumPy runs each operation.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


@pytest.fixture(autouse=True)
def small_arrays_go_the_way_of_large_ones(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")  # the key of cached code lacks this setting
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.dead_stores.LEAST", 0)


def laplace(u):
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return lap


def heat(u):
    return u + 0.1 * laplace(u)


def reaction(u):
    v = np.exp(-u)
    r = u * v * v
    lap_u, lap_v = laplace(u), laplace(v)
    return u + 0.1 * lap_u - r, v + 0.05 * lap_v + r


def gradient(u):
    return np.gradient(u, axis=0) * u - np.gradient(u, axis=1)


def joined(u):
    return np.concatenate([u[:1], u * 2, u[-1:]]) ** 2 - 1


def read_elsewhere(u):
    d = np.zeros_like(u)
    d[1:] = u[1:] - u[:-1]
    return d[1:] * d[:-1] + u[1:]


def read_twice(u):
    d = np.ones_like(u)
    d[:, 1:] = u[:, 1:] - u[:, :-1]
    return d * u, (d + 1).sum(axis=0), d - u


def written_in_place(u):
    d = np.zeros_like(u)
    d[1:-1] = u[2:] - u[:-2]
    u += 0.1 * d
    u[0] = u[1]


def in_order(u):
    d = np.zeros_like(u)
    d[1:-1] = u[2:] - u[:-2]
    e = np.zeros_like(u)
    e[:, 1:-1] = d[:, 2:] - d[:, :-2]
    return u - d * e


def with_edges(u):
    g = np.empty_like(u)
    g[1:-1] = (u[2:] - u[:-2]) / 2
    g[0], g[-1] = u[1] - u[0], u[-1] - u[-2]
    return np.sqrt(g * g + 1)


FUNCTIONS = [
    heat, reaction, gradient, joined, read_elsewhere, read_twice, written_in_place, in_order, with_edges,
]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_made_in_boxes(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic)
    for seed, shape in enumerate([(40, 30), (9, 12), (25, 25), (5, 6), (4, 4)]):
        a = make_array(shape, dtype="float64", seed=seed) % 2
        mine, eagers = a.copy(), a.copy()
        with within_bounds():
            assert_same(jitted(mine), f(eagers))
        assert_same(mine, eagers, what="argument")


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
@pytest.mark.parametrize("f", [heat, joined, with_edges])
def test_it_takes_no_memory(f, dynamic):
    jitted = tnp.jit(f, dynamic=dynamic)
    jitted(np.ones((40, 30)))
    text = str(tnp.explain(jitted))
    assert " temporary" not in text, text


@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "any size"])
def test_functions_of_short_rows_keep_their_vectors(dynamic):
    def costly(u):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 2:] - u[1:-1, :-2]
        return np.tanh(np.exp(-u) + 0.1 * lap)

    for n, in_boxes in ((20, False), (2000, True)):
        a, jitted = make_array((30, n), dtype="float64") % 2, tnp.jit(costly, dynamic=dynamic)
        with within_bounds():
            assert_same(jitted(a), costly(a))
        assert (" temporary" in str(tnp.explain(jitted))) != in_boxes


def test_gradients_of_it():
    u, step = make_array((6, 7), dtype="float64") % 2, 1e-6
    f = lambda u: np.sum(heat(u) ** 2)  # noqa: E731
    found = tnp.grad(f)(u)
    for place in ((0, 0), (3, 3), (5, 2)):
        more, less = u.copy(), u.copy()
        more[place] += step
        less[place] -= step
        np.testing.assert_allclose(found[place], (f(more) - f(less)) / (2 * step), rtol=1e-5, atol=1e-7)
