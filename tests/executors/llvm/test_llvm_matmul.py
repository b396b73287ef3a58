"""Large products in compiled loops: NumPy's own library, called with what NumPy calls it with, so that results have the same bits."""

import re

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager, source
from tnp.executors.llvm.program import blas, reductions
from tnp.testing import assert_same

EXECUTORS = ["llvm[everything]", "numpy"]

pytestmark = pytest.mark.skipif(not blas.multiplies(reductions.dtypes.float64), reason="NumPy's library was not found")


def native(f, make):
    jitted, expected, actual = tnp.jit(f, executors=EXECUTORS), make(), make()
    assert_same(jitted(*actual), f(*expected), exact=True)
    assert_same(actual, expected, exact=True)
    text = source(jitted)
    assert "for " not in text and "matmul" not in text and " @ " not in text, text


def noise(*shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_matrices_of_each_dtype(dtype):
    def f(a, b, out, n):
        for i in range(n):
            a[i] += i
            out[i] = a @ b + i

    native(
        f, lambda: [noise(70, 80, dtype=dtype), noise(80, 90, dtype=dtype, seed=1), noise(3, 70, 90, dtype=dtype), 3]
    )


LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "part of a row": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
}


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", ["rows", "columns", "part of a row"])
def test_layouts(left, right):
    def f(a, b, out, n):
        for i in range(n):
            a[i] += i
            out[i] = a @ b
            out[i] *= 0.5

    native(f, lambda: [LAYOUTS[left](noise(65, 80)), LAYOUTS[right](noise(80, 70, seed=1)), noise(2, 65, 70), 2])


def test_layouts_that_no_library_takes_are_copied():
    def f(a, b, out, n):
        for i in range(n):
            a[i] += i
            out[i] = a[::-1, ::2] @ b

    def make():
        return [noise(64, 160), noise(80, 64, seed=1), noise(2, 64, 64), 2]

    expected, actual = make(), make()
    f(*expected)
    tnp.jit(f, executors=EXECUTORS)(*actual)
    np.testing.assert_allclose(actual[2], expected[2], rtol=1e-12, atol=1e-12)


def test_a_matrix_times_its_own_transpose():
    def f(a, out, n):
        for i in range(n):
            a[i] += i
            out[i, 0, :80, :80] = a @ a.T
            out[i, 1] = a.T @ a

    native(f, lambda: [noise(80, 90), np.zeros((2, 2, 90, 90)), 2])


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_vectors(layout):
    def f(a, x, y, n):
        for _ in range(n):
            y[:] = a @ x
            x[::-1] = y @ a
            x /= abs(x).max()

    native(f, lambda: [layout(noise(600, 600)), noise(600), noise(600), 3])


def test_sizes_that_change_from_round_to_round():
    def f(a, b, out, n):
        for i in range(20, n, 20):
            out[i:] += a[i:, :i] @ b[:i]

    native(f, lambda: [noise(80, 80), noise(80, 90), noise(80, 90), 79])


def test_lengths_that_do_not_fit_raise_as_in_numpy():
    def f(a, b, n):
        s = 0.0
        for i in range(n - 57):
            s += (a[:, : n + i] @ b[: n + 1])[0, 0]
        return s

    same_as_eager(f, lambda: [noise(80, 80), noise(80, 90), 60], executors=(EXECUTORS,))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_products_of_vectors_of_any_length(dtype):
    def f(x, y):
        norm = np.linalg.norm(x)
        return x @ y + 1, np.dot(x, y[::-1]), np.vdot(x, y) / norm, np.inner(x, x * 2), np.einsum("i,i->", x, y)

    jitted = tnp.jit(f, strict=True)
    for n in (3, 4, 70, 5000, 60_000):
        rng = np.random.default_rng(n)
        x, y = (rng.normal(size=n).astype(dtype) * (1j if dtype == "c16" and k else 1) for k in range(2))
        assert_same(jitted(x, y), f(x, y), rtol=1e-3 if dtype == "f4" else 1e-9)
    assert not re.search(r"numpy: .*(dot|norm|inner|matmul)\(", str(tnp.explain(jitted)))


@pytest.mark.parametrize(
    ("left", "right", "is_librarys"),
    [
        ((8, 8), (8, 8), False),
        ((24, 24), (24, 24), True),
        ((60, 20), (20, 10), True),
        ((900, 3), (3, 3), False),
        ((2, 24, 24), (2, 24, 24), False),
        ((70, 70), (70,), False),
    ],
    ids=str,
)
def test_products_of_two_matrices_are_the_librarys_from_some_thousand_multiplications_on(
    left, right, is_librarys, monkeypatch
):
    made, product = [], blas.large_product
    monkeypatch.setattr(blas, "large_product", lambda *args: made.append(args) or product(*args))
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")

    def f(a, b, out, n):
        for i in range(n):
            a += i
            out[i] = a @ b

    def make():
        a, b = noise(*left), noise(*right, seed=1)
        return [a, b, np.zeros((3, *(a @ b).shape)), 3]

    jitted, expected, actual = tnp.jit(f, executors=EXECUTORS), make(), make()
    assert_same(jitted(*actual), f(*expected))
    assert_same(actual, expected, rtol=1e-12)
    assert bool(made) == is_librarys
