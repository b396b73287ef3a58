"""Products of large matrices with vectors, and other nests that go through rows in one sweep, on any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


@pytest.fixture(autouse=True)
def small_arrays_go_the_way_of_large_ones(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")  # the key of cached code lacks these settings
    monkeypatch.setattr("tnp.executors.llvm.target.LIBRARY_BYTES", 0)
    monkeypatch.setattr("tnp.executors.llvm.target.SWEPT_BYTES", 0)
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.sweeping.ROWS", 2)
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.nests.ROWS", 4)
    monkeypatch.setattr("tnp.executors.llvm.target.GRAIN", 1)


def compare(f, *args, sweeps=True):
    """Compares with eager, and the bits for one thread with those for more."""
    before = tnp.get_num_threads()
    jitted = tnp.jit(f, executors=["llvm[everything]", "numpy"])
    first = None
    try:
        for threads in (1, 2, 3, 7):
            tnp.set_num_threads(threads)
            mine, eagers = [np.copy(a) for a in args], [np.copy(a) for a in args]
            found = jitted(*mine)
            assert_same(found, f(*eagers), rtol=1e-5 if mine[0].dtype == np.float32 else 1e-12)
            assert_same(mine, eagers, what="arguments", rtol=1e-5 if mine[0].dtype == np.float32 else 1e-12)
            first = found if first is None else first
            assert_same(found, first, exact=True)
    finally:
        tnp.set_num_threads(before)
    if sweeps is not None:
        text = str(tnp.explain(jitted))
        assert ("in the same sweep" in text) == sweeps, text


def matrix(rows, columns, dtype="f8", seed=0):
    return np.random.default_rng(seed).random((rows, columns)).astype(dtype) + 0.5


def vector(n, dtype="f8", seed=1):
    return np.random.default_rng(seed).random(n).astype(dtype) + 0.5


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("rows", "columns"), [(300, 17), (5, 3), (2, 5000), (129, 64), (1000, 1)])
def test_both_products_of_a_matrix(rows, columns, dtype):
    def f(a, p, r):
        return r @ a, a @ p

    compare(f, matrix(rows, columns, dtype), vector(columns, dtype), vector(rows, dtype), sweeps=columns > 1)


def test_a_product_of_a_product():
    def f(a, x):
        return (a @ x) @ a

    compare(f, matrix(211, 33), vector(33))


def test_products_that_are_added():
    def f(x1, x2, y1, y2, a):
        x1 += a @ y1
        x2 += y2 @ a

    compare(f, *(vector(90, seed=k) for k in range(4)), matrix(90, 90))


def test_a_matrix_of_sums_goes_into_products():
    def f(alpha, beta, a, b, x):
        return alpha[0] * a @ x + beta[0] * b @ x

    compare(f, vector(1), vector(1, seed=2), matrix(70, 50), matrix(70, 50, seed=3), vector(50), sweeps=None)


def test_the_product_of_what_was_updated():
    def f(a, u1, v1, u2, v2, y, z, x, w):
        a += np.outer(u1, v1) + np.outer(u2, v2)
        x += 1.5 * y @ a + z
        w += 0.5 * a @ x

    compare(f, matrix(64, 64), *(vector(64, seed=k) for k in range(8)), sweeps=None)


def test_a_product_that_is_needed_whole_comes_before():
    def f(a, x):
        return a @ (x @ a)

    compare(f, matrix(80, 80), vector(80), sweeps=False)


@pytest.mark.parametrize("layout", ["columns", "reversed", "every second", "repeated"])
def test_layouts(layout):
    def f(a, x):
        y = a @ x
        return y, y @ a

    a = matrix(60, 40)
    made = {
        "columns": lambda: np.asfortranarray(a),
        "reversed": lambda: a[::-1, ::-1],
        "every second": lambda: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
        "repeated": lambda: np.broadcast_to(a[0], a.shape),
    }[layout]()
    jitted = tnp.jit(f, executors=["llvm[everything]", "numpy"])
    assert_same(jitted(made, vector(40)), f(made, vector(40)), rtol=1e-12)


def test_sums_of_rows_and_columns():
    def f(a):
        return a.sum(axis=0), a.mean(axis=1), np.abs(a).max(axis=0), a / a.sum(axis=1, keepdims=True)

    compare(f, matrix(150, 30))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8", "c16", "?"])
def test_reductions_of_each_kind(dtype):
    def f(a):
        return a.sum(axis=0), a.sum(axis=1), a.prod(axis=0), a.any(axis=1), a.all(axis=0)

    def g(a):
        return a.max(axis=0), a.argmin(axis=0), a.argmax(axis=1), a.min(axis=1), a.mean(axis=0)

    a = (matrix(103, 29) / 3 + 0.7).astype(dtype)
    a[50, 7] = a[11, 3] = a[80, 3]
    for h in (f, g)[: 1 if dtype == "c16" else 2]:
        mine = tnp.jit(h, executors=["llvm[everything]", "numpy"])(a)
        assert_same(mine, h(a), rtol={"f2": 2e-2, "f4": 1e-5}.get(dtype, 1e-12))


def test_three_dimensions():
    def f(a):
        total = a.sum(axis=0)
        return total, a.sum(axis=(1, 2)), (a * a).sum(axis=(0, 2))

    compare(f, np.random.default_rng(0).random((60, 7, 12)))


def test_what_a_row_leaves_is_added_up():
    def f(a, b):
        b[:] = a / a.max(axis=1, keepdims=True)
        return b.sum(axis=0) + a.sum(axis=0)

    compare(f, matrix(90, 31), matrix(90, 31, seed=4), sweeps=None)


def test_sums_that_overwrite_what_is_read_come_after():
    def f(a, x):
        y = a @ x
        a[0] = y @ a
        return y

    compare(f, matrix(50, 20), vector(20), sweeps=None)


def test_not_a_number():
    def f(a, x):
        y = a @ x
        return y, y @ a

    a, x = matrix(40, 24), vector(24)
    a[3, 5], a[7, 2], x[9] = np.nan, np.inf, 0
    compare(f, a, x)


def test_one_product_is_the_librarys():
    def f(a, x):
        return a @ x

    jitted = tnp.jit(f)
    a, x = matrix(300, 40), vector(40)
    assert_same(jitted(a, x), f(a, x), exact=True)
    assert "np.matmul" in str(tnp.last_traces(jitted)[-1])


def test_vectors_and_empty_matrices():
    def f(a, b, c, x):
        return a @ b, c @ x

    compare(f, vector(1000), vector(1000, seed=2), np.zeros((0, 5)), vector(5), sweeps=False)


PRODUCTS = ("a @ x", "y @ a", "(a * 2) @ x", "y @ (a + b)", "(a @ x) @ a", "b @ x", "y @ b", "a.sum(axis=0)", "a.T @ y", "b.max(axis=0)")  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(PRODUCTS), min_size=2, max_size=4), st.integers(2, 140), st.integers(1, 70))
def test_random_products(terms, rows, columns):
    names = {}
    exec("def f(a, b, x, y): return (" + ", ".join(terms) + ",)", names)
    args = [matrix(rows, columns), matrix(rows, columns, seed=3), vector(columns), vector(rows)]
    with within_bounds():
        found = tnp.jit(names["f"], executors=["llvm[everything]", "numpy"])(*args)
    assert_same(found, names["f"](*args), rtol=1e-12)
