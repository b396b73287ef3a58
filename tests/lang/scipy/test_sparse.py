"""Products of ``scipy.sparse`` matrices in compiled functions."""

import numpy as np
import pytest

import tnp
from tests.lang.scipy.checks import gradient_is_right
from tnp.testing import assert_same

sparse = pytest.importorskip("scipy.sparse")
from scipy.sparse import linalg as sparse_linalg  # noqa: E402

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((5, 4)) < 0.6, RNG.normal(size=(5, 4)) * 5, 0)
X, MANY = RNG.normal(size=4) * 5, RNG.normal(size=(4, 3)) * 5
KINDS = [f"{f}_{k}" for f in ("csr", "csc", "coo", "dia", "bsr") for k in ("array", "matrix")]


def made(kind, dtype="f8"):
    return getattr(sparse, kind)(DENSE.astype(dtype))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("c16", "f8"), ("i8", "f4"), ("i4", "i4")]
)
def test_products(kind, dtypes):
    def f(a, x, many):
        y = a @ x
        return y, a.dot(many) * 2, a @ many[:, :1], (y + 1) @ a, a.shape[0] * a.diagonal(1), a.toarray() + 1

    a, x, many = made(kind, dtypes[0]), X.astype(dtypes[1]), MANY.astype(dtypes[1])
    found = tnp.jit(f, strict=True)(a, x, np.asfortranarray(many))
    assert_same(found, f(a, x, many))


def test_star_of_matrices():
    a = made("csr_matrix")
    assert_same(tnp.jit(lambda x, y: (a * x, y * a), strict=True)(X, np.ones(5)), (a * X, np.ones(5) * a))


def test_star_of_arrays_is_left_to_python():
    a = made("csr_array")

    def f(x):
        scaled = a * np.sin(x)
        return np.cos(x) + (scaled @ x).sum()

    with pytest.warns(tnp.EagerFallbackWarning):
        np.testing.assert_allclose(tnp.jit(f)(X), f(X))


def test_conjugate_gradients():
    n = 60
    a = sparse.diags_array(
        [np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)], offsets=[-1, 0, 1], format="csr"
    )

    def f(a, b):
        x = np.zeros_like(b)
        r = b - a @ x
        p, rr = r.copy(), r @ r
        for _ in range(200):
            ap = a @ p
            alpha = rr / (p @ ap)
            x += alpha * p
            r -= alpha * ap
            new = r @ r
            if new < 1e-20:
                break
            p = r + new / rr * p
            rr = new
        return x

    b = RNG.normal(size=n)
    jitted = tnp.jit(f, strict=True)
    np.testing.assert_allclose(jitted(a, b), f(a, b))
    np.testing.assert_allclose(
        jitted(a + 0.1 * sparse.eye_array(n, format="csr"), b), f(a + 0.1 * sparse.eye_array(n), b)
    )


def test_matrix_that_changes():
    a = made("csr_array")
    jitted = tnp.jit(lambda x: a @ x + 1, strict=True)
    assert_same(jitted(X), a @ X + 1)
    a.data *= 2
    assert_same(jitted(X), a @ X + 1)
    a.data[0] = 0.0
    a.eliminate_zeros()
    assert_same(jitted(X), a @ X + 1)


def test_errors():
    a = made("csr_array")
    for x in (X[:3], np.ones((2, 2))):
        with pytest.warns(tnp.EagerFallbackWarning), pytest.raises(ValueError, match="mismatch"):
            tnp.jit(lambda x: np.sin(a @ x))(x)


def test_no_rows_and_no_elements():
    for a in (sparse.csr_array((0, 4)), sparse.csr_array((5, 4)), sparse.csc_array((1, 4))):
        assert_same(tnp.jit(lambda x, a=a: a @ x, strict=True)(X), a @ X)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    a = made(kind)
    gradient_is_right(lambda x: ((a @ x) ** 2).sum(), X)
    gradient_is_right(lambda x: ((a @ x) ** 3).sum() + ((x.T @ a.toarray().T) ** 2).sum(), MANY)
    gradient_is_right(lambda y: ((y @ a) ** 2).sum(), np.arange(5.0))


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array"])
def test_gradients_of_elements(kind):
    a = made(kind)

    def f(w, x):
        a.data[...] = np.sin(w)
        return ((a @ x) ** 2).sum() + ((np.arange(5.0) @ a) ** 2).sum()

    w = RNG.normal(size=a.nnz)
    gradient = tnp.grad(f)(w, MANY)
    d = RNG.normal(size=a.nnz)
    expected = (f(w + 1e-6 * d, MANY) - f(w - 1e-6 * d, MANY)) / 2e-6
    np.testing.assert_allclose((gradient * d).sum(), expected, rtol=1e-6)


SQUARE = sparse.diags_array([np.full(5, -1.0), np.full(6, 2.5), np.full(5, -1.3)], offsets=[-1, 0, 1], format="csc")


@pytest.mark.parametrize("made_as", [sparse.csc_array, sparse.csr_array, sparse.csr_matrix])
def test_solving(made_as):
    a, b = made_as(SQUARE), np.arange(6.0)

    def f(a, b, n):
        for _ in range(n):
            b = sparse_linalg.spsolve(a, b) * 1.5 + 0.1
        return b, sparse_linalg.spsolve(a, np.outer(b, np.arange(3.0))), a.T @ b

    jitted = tnp.jit(f, strict=True)
    for n in (0, 3, 30):
        assert_same(jitted(a, b, n), f(a, b, n))
    gradient_is_right(lambda b: (sparse_linalg.spsolve(a, b) ** 2).sum(), b)


def test_transposes():
    a = made("csr_array")

    def f(a, y, n):
        z = a.T @ y
        for _ in range(n):
            z = z + 0.01 * (a.T @ (y - a @ z))
        return z, a.transpose().tocsr() @ y, a.T

    jitted = tnp.jit(f, strict=True)
    for n in (0, 30):
        found, expected = jitted(a, np.arange(5.0), n), f(a, np.arange(5.0), n)
        assert_same(found[:2], expected[:2])
        assert type(found[2]) is type(expected[2]) and (found[2] != expected[2]).nnz == 0


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix"])
def test_conversions_with_options(kind):
    def f(a, x, is_copied):
        return a.tocsr(copy=False) @ x, a.tocsc(copy=is_copied) @ x, a.transpose(copy=True).tocsr(False) @ a.toarray()

    a, jitted = made(kind), tnp.jit(f, strict=True)
    for is_copied in (True, False):
        assert_same(jitted(a, X, is_copied), f(a, X, is_copied))

    def components(edges):
        graph = sparse.coo_matrix((np.ones(len(edges)), edges.T), shape=(9, 9))
        return sparse.csgraph.connected_components(graph, directed=False)[1]

    for edges in (np.array([[0, 1], [1, 4], [5, 8]]), np.array([[2, 1], [1, 4], [3, 8]])):
        with pytest.warns(tnp.EagerFallbackWarning, match="parts"):
            assert_same(tnp.jit(components)(edges), components(edges))


def test_transpose_of_what_was_changed():
    def f(a, y):
        a.data[...] *= 2
        z = a.T @ y
        return np.sin(z) + z

    a, other = made("csr_array"), made("csr_array")
    expected = f(other, np.arange(5.0))
    with pytest.warns(tnp.EagerFallbackWarning):
        assert_same(tnp.jit(f)(a, np.arange(5.0)), expected)


@pytest.mark.parametrize("order", [None, "C"])
def test_dense_arrays(order):
    def f(a, x):
        return a.todense() * 2, a.toarray(order=order) @ x

    a = made("csr_array")
    assert_same(tnp.jit(f, strict=True)(a, X), f(a, X))
