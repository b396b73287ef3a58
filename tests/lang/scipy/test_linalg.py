"""``scipy.linalg`` in compiled functions: values, dtypes, errors and gradients are SciPy's."""

import warnings

import numpy as np
import pytest

import tnp
from tests.lang.scipy.checks import compiled_as_eager, gradient_is_right, layouts, raises_as_eager
from tests.sampling import one_of

linalg = pytest.importorskip("scipy.linalg")
from scipy.linalg import blas, lapack  # noqa: E402

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 5 * np.eye(4)
B = RNG.normal(size=(4, 2))
C = RNG.normal(size=4)
P = A @ A.T
BAND = np.vstack([C, C + 9, C])

#: functions of a general matrix, a positive definite one, several right sides and one
FUNCTIONS = {
    "block_diag": lambda a, p, b, c: linalg.block_diag(a, c, b, 2.0),
    "cho_factor": lambda a, p, b, c: linalg.cho_factor(p),
    "cho_factor lower": lambda a, p, b, c: linalg.cho_factor(p, lower=True, overwrite_a=True),
    "cho_factor of a number": lambda a, p, b, c: (linalg.cho_factor(p, 1), linalg.cho_factor(p, lower=0)),
    "cho_solve": lambda a, p, b, c: linalg.cho_solve(linalg.cho_factor(p), b),
    "cho_solve lower": lambda a, p, b, c: linalg.cho_solve((linalg.cholesky(p, lower=True), True), c),
    "cholesky": lambda a, p, b, c: linalg.cholesky(p),
    "cholesky lower": lambda a, p, b, c: linalg.cholesky(p, True, check_finite=False),
    "circulant": lambda a, p, b, c: linalg.circulant(c),
    "companion": lambda a, p, b, c: linalg.companion(c),
    "det": lambda a, p, b, c: linalg.det(a),
    "eig": lambda a, p, b, c: np.sort_complex(linalg.eig(p + 0j)[0]) + np.abs(linalg.eig(a, right=False)).sum(),
    "eigh": lambda a, p, b, c: linalg.eigh(p),
    "eigh of a pencil": lambda a, p, b, c: linalg.eigh(p, p + 3 * np.eye(4), eigvals_only=True),
    "eigh of some": lambda a, p, b, c: linalg.eigh(p, subset_by_index=[0, 1], eigvals_only=True),
    "eigvals": lambda a, p, b, c: np.sort_complex(linalg.eigvals(p)),
    "eigvalsh": lambda a, p, b, c: linalg.eigvalsh(p, lower=False),
    "expm": lambda a, p, b, c: linalg.expm(a / 4),
    "hankel": lambda a, p, b, c: (linalg.hankel(c), linalg.hankel(c, b[:, 0])),
    "inv": lambda a, p, b, c: linalg.inv(a),
    "inv pos": lambda a, p, b, c: linalg.inv(p, assume_a="pos"),
    "khatri_rao": lambda a, p, b, c: linalg.khatri_rao(a, p),
    "lu": lambda a, p, b, c: linalg.lu(a),
    "lu of a tall matrix": lambda a, p, b, c: linalg.lu(b, permute_l=True),
    "lu_solve": lambda a, p, b, c: linalg.lu_solve(linalg.lu_factor(a), b),
    "norm": lambda a, p, b, c: (linalg.norm(c), linalg.norm(a), linalg.norm(b, axis=0), linalg.norm(c, 3), linalg.norm(a, "nuc")),
    "pinv": lambda a, p, b, c: linalg.pinv(b),
    "polar": lambda a, p, b, c: linalg.polar(a),
    "qr": lambda a, p, b, c: linalg.qr(b),
    "qr economic": lambda a, p, b, c: linalg.qr(b, mode="economic"),
    "qr pivoting": lambda a, p, b, c: linalg.qr(a, pivoting=True),
    "qr r": lambda a, p, b, c: linalg.qr(b, mode="r"),
    "schur": lambda a, p, b, c: linalg.schur(p),
    "riccati": lambda a, p, b, c: linalg.solve_continuous_are(a, b, p, np.eye(2)),
    "solve": lambda a, p, b, c: (linalg.solve(a, b), linalg.solve(a, c)),
    "solve pos": lambda a, p, b, c: linalg.solve(p, b, assume_a="pos", lower=True),
    "solve sym": lambda a, p, b, c: linalg.solve(p, b, assume_a="sym"),
    "solve_banded": lambda a, p, b, c: linalg.solve_banded((1, 1), np.vstack([c, c + 9, c]), b),
    "solve_circulant": lambda a, p, b, c: linalg.solve_circulant(c, b),
    "solve_sylvester": lambda a, p, b, c: linalg.solve_sylvester(a, p, a),
    "solve_toeplitz": lambda a, p, b, c: linalg.solve_toeplitz(c + np.arange(4)[::-1], b),
    "solve_triangular": lambda a, p, b, c: linalg.solve_triangular(a, b, trans="T", overwrite_b=True),
    "solve_triangular lower": lambda a, p, b, c: linalg.solve_triangular(a, c, lower=True, unit_diagonal=True),
    "solveh_banded": lambda a, p, b, c: linalg.solveh_banded(np.vstack([c, c * 0 + 9]), c),
    "svd": lambda a, p, b, c: linalg.svd(b),
    "svd reduced": lambda a, p, b, c: linalg.svd(b, full_matrices=False),
    "svd values": lambda a, p, b, c: (linalg.svd(b, compute_uv=False), linalg.svdvals(a)),
    "toeplitz": lambda a, p, b, c: (linalg.toeplitz(c), linalg.toeplitz(c, b[:, 1])),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, d) for i, name in enumerate(FUNCTIONS) for d in ("f8", *one_of(("c16", "f4", "i8"), i))],
)
def test_values(name, dtype):
    a, p, b, c = (x.astype(dtype) for x in (A, P, B, C))
    if dtype == "i8":
        a, p, b, c = (
            np.rint(A).astype(dtype),
            np.rint(P).astype(dtype),
            np.rint(5 * B).astype(dtype),
            np.array([9, 1, 2, 1]),
        )
        p = np.tril(p) + np.tril(p, -1).T
    elif dtype == "c16":
        a, p, b = a + 0.5j * B @ B.T, p + 0.1j * (A - A.T), b - 1j * b[::-1]
    if (name, dtype) == ("schur", "c16"):
        pytest.skip("of a Hermitian matrix, whose order of eigenvalues is LAPACK's affair")
    compiled_as_eager(FUNCTIONS[name], a, p, b, c)


def test_eigenvectors_of_real_matrices_are_real_or_complex():
    def f(a):
        b = np.sin(a) + a
        values, vectors = linalg.eig(b)
        return values * 2 + 1, np.abs(vectors) * 2

    jitted = tnp.jit(f)
    for a in (P, A - 9 * A.T, P, A - 9 * A.T):
        for x, y in zip(jitted(a), f(a)):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y)


@pytest.mark.parametrize("name", ["solve", "cho_solve", "lu", "qr", "svd", "eigh", "expm", "norm", "toeplitz"])
def test_memory_layouts(name):
    f = FUNCTIONS[name]
    for a, p, b, c in zip(*map(layouts, (A, P, B, C))):
        compiled_as_eager(f, a, p, b, c)


@pytest.mark.parametrize("name", ["cholesky", "det", "eigh", "expm", "inv", "lu", "qr", "solve", "svd", "norm"])
@pytest.mark.parametrize("n", [0, 1])
def test_no_and_one_element(name, n):
    if name == "norm":
        compiled_as_eager(lambda a, p, b, c: (linalg.norm(c), linalg.norm(a)), A[:n, :n], P[:n, :n], B[:n], C[:n])
    else:
        compiled_as_eager(FUNCTIONS[name], A[:n, :n], P[:n, :n], B[:n], C[:n])


@pytest.mark.parametrize("name", ["cholesky", "det", "eigh", "expm", "inv", "solve", "svd reduced"])
def test_batches(name):
    a, p, b = (np.stack([x, x + np.eye(len(x), x.shape[1])]) for x in (A, P, B))
    f = FUNCTIONS[name] if name != "solve" else lambda a, p, b, c: linalg.solve(a, b)
    compiled_as_eager(f, a, p, b, C)


def test_lapack_and_blas():
    def f(a, b, c):
        product = blas.dgemm(1.0, a, b, trans_a=True)
        _lu, _piv, x, info = lapack.dgesv(a, b)
        tridiagonal = lapack.dgtsv(c[1:], c + 9, c[1:], c)
        return (
            product * 2,
            x + 1,
            info,
            tridiagonal[3],
            blas.ddot(c, c),
            blas.dnrm2(c),
            lapack.dpotrf(a @ a.T, lower=1)[0],
        )

    compiled_as_eager(f, A, B, C)
    gemm = linalg.get_blas_funcs("gemm", (A, B))
    compiled_as_eager(lambda a, b: gemm(2.0, a, b, 1.0, b, 0, 0, 1) + 1, np.asfortranarray(A), np.asfortranarray(B))


def test_routines_chosen_by_dtype():
    def f(a, b):
        getrf, getrs = linalg.get_lapack_funcs(("getrf", "getrs"), (a, b))
        nrm2 = linalg.get_blas_funcs("nrm2", (b,))
        lu, pivots, _ = getrf(a)
        return getrs(lu, pivots, b)[0] * nrm2(b[:, 0])

    for dtype in ("f8", "f4", "c16"):
        compiled_as_eager(f, A.astype(dtype), B.astype(dtype))


def test_blas_that_writes_is_left_to_python():
    def f(x, y):
        z = np.sin(x) + 1
        blas.daxpy(x, y, a=2.0)
        return z * y + np.cos(y) - z

    x, y = np.arange(3.0), np.ones(3)
    expected_y = y.copy()
    expected = f(x, expected_y)
    with pytest.warns(tnp.EagerFallbackWarning):
        found = tnp.jit(f)(x, y)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(y, expected_y)


def test_in_loops_and_branches():
    def f(a, b, n):
        x = np.zeros(4)
        for _k in range(n):
            r = b - a @ x
            d = linalg.solve_triangular(a, r, lower=True)
            x = x + d
            if linalg.norm(r) > 1e-3:
                x = x + 1e-6 * linalg.lu_factor(a)[0][0]
        return x, linalg.norm(b - a @ x) < 1e-9  # what is left is rounding

    for n in (0, 3, 40):
        compiled_as_eager(f, A, C, n)


def test_results_that_depend_on_values():
    def f(a, b):
        x, _residuals, rank, s = linalg.lstsq(b @ b.T + np.eye(4), b)
        return x * 2, rank, s, linalg.sqrtm(a @ a.T)

    turned = np.eye(4) + np.eye(4, k=1) - np.eye(4, k=-1)
    jitted = tnp.jit(f)
    for a in (P, turned, P):  # whose eigenvalues are real, complex and real
        expected = f(a, B)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            found = jitted(a, B)
        for x, y in zip(found, expected):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, atol=1e-10)


def test_errors():
    singular, unknown = np.ones((3, 3)), np.full((3, 3), np.nan)
    b = np.ones(3)
    raised = [
        raises_as_eager(lambda a, b: linalg.solve(a, b) + 1, np.zeros((3, 3)), b),
        raises_as_eager(lambda a, b: linalg.inv(a) @ b, np.zeros((3, 3)), b),
        raises_as_eager(lambda a, b: linalg.cholesky(a) @ b, -singular, b),
        raises_as_eager(lambda a, b: linalg.solve(a, b), unknown, b),
        raises_as_eager(lambda a, b: linalg.norm(a) * b, unknown, b),
        raises_as_eager(lambda a, b: linalg.expm(a[:2]) * b, singular, b),
        raises_as_eager(lambda a, b: linalg.solve(a, b[:2]), singular, b),
        raises_as_eager(lambda a, b: linalg.solve(a, b, assume_a="no such"), singular, b),
    ]
    assert set(raised) == {np.linalg.LinAlgError, ValueError}


def test_warning_of_an_ill_conditioned_matrix():
    a = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16]]) + np.array([[0, 0], [0, 3e-16]])
    jitted = tnp.jit(lambda a, b: linalg.solve(a, b) * 2)
    jitted(A, C)
    with pytest.warns(linalg.LinAlgWarning):
        jitted(a, np.ones(2))


#: real functions with gradients
DIFFERENTIABLE = {
    "cho_solve": lambda a, b: linalg.cho_solve(linalg.cho_factor(a @ a.T + np.eye(4)), b).sum() + 0.0,
    "cho_solve lower": lambda a, b: (linalg.cho_solve(linalg.cho_factor(a @ a.T, lower=True), b) ** 2).sum(),
    "cholesky": lambda a, b: (linalg.cholesky(a @ a.T + np.eye(4)) ** 3).sum(),
    "det": lambda a, b: linalg.det(a),
    "eigh": lambda a, b: (linalg.eigh(a + a.T)[1][0] ** 4).sum() + linalg.eigvalsh(a + a.T)[1],
    "expm": lambda a, b: (linalg.expm(a / 5) ** 2 @ b).sum(),
    "inv": lambda a, b: (linalg.inv(a) @ b).sum(),
    "norm": lambda a, b: linalg.norm(a[0]) + linalg.norm(a) * linalg.norm(b, axis=0).sum(),
    "pinv": lambda a, b: (linalg.pinv(a[:, :2]) ** 2).sum(),
    "qr": lambda a, b: (linalg.qr(a)[1] ** 2 @ b).sum(),
    "solve": lambda a, b: (linalg.solve(a, b) ** 2).sum(),
    "solve of a vector": lambda a, b: (linalg.solve(a, b[:, 0], assume_a="gen", transposed=True) ** 2).sum(),
    "solve pos": lambda a, b: (linalg.solve(a @ a.T, b, assume_a="pos") ** 2).sum(),
    "solve_triangular": lambda a, b: (linalg.solve_triangular(a, b, lower=True) ** 2).sum(),
    "solve_triangular T": lambda a, b: (linalg.solve_triangular(a, b, trans=1) ** 2).sum(),
    "solve_banded": lambda a, b: (linalg.solve_banded((2, 1), a + 9 * (np.arange(4) == 1)[:, None], b) ** 2).sum(),
    "solve_banded of a vector": lambda a, b: (
        linalg.solve_banded((0, 1), a[:2] + np.array([[0], [9.0]]), b[:, 0]) ** 2
    ).sum(),
    "solveh_banded": lambda a, b: (linalg.solveh_banded(a[:3] + 29 * (np.arange(3) == 2)[:, None], b) ** 2).sum(),
    "solveh_banded lower": lambda a, b: (
        linalg.solveh_banded(a[:2] + np.array([[29], [0.0]]), b[:, 1], lower=True) ** 2
    ).sum(),
    "solve_sylvester": lambda a, b: (linalg.solve_sylvester(a, a[:2, :2], b) ** 2).sum(),
    "solve_continuous_lyapunov": lambda a, b: (linalg.solve_continuous_lyapunov(a, b @ b.T + a) ** 2).sum(),
    "solve_toeplitz": lambda a, b: (linalg.solve_toeplitz((a[0] + 9 * (np.arange(4) == 0), a[1]), b) ** 2).sum(),
    "svd": lambda a, b: linalg.svdvals(a)[0] + (linalg.svd(a, full_matrices=False)[0][0] ** 4).sum(),
    "toeplitz": lambda a, b: (linalg.toeplitz(a[0], a[1]) ** 3 @ b).sum() + (linalg.block_diag(a, b) ** 3).sum(),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    f = DIFFERENTIABLE[name]
    gradient_is_right(f, A, B)
    if name not in ("det", "eigh", "svd", "qr", "pinv", "cholesky"):
        gradient_is_right(lambda b, a: f(a, b), B, A)


def test_second_derivatives_of_the_exponential():
    f = lambda x, a: (linalg.expm(a * x.sum() / 5)).sum()  # noqa: E731
    gradient_is_right(lambda x, a: tnp.grad(f)(x, a).sum(), np.ones(2), A, rtol=1e-4)


def test_mapped():
    stack = np.stack([A, P, A.T])
    found = tnp.vmap(lambda a: linalg.solve(a, C))(stack)
    np.testing.assert_allclose(found, [np.linalg.solve(a, C) for a in stack])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_signs_are_scipys(dtype):
    """Eigenvectors and singular vectors are unique up to signs, which depend on LAPACK's routine and its precision."""
    r = np.random.default_rng(0)
    functions = (
        lambda a: linalg.eigh(a + a.T.conj()),
        lambda a: linalg.svd(a) + linalg.qr(a),
        lambda a: linalg.null_space(a[:2]),
    )
    for f in functions:
        jitted = tnp.jit(f)
        for _ in range(40):
            a = (r.standard_normal((4, 4)) + (1j * r.standard_normal((4, 4)) if dtype == "complex64" else 0)).astype(
                dtype
            )
            got, expected = jitted(a), f(a)
            for g, e in zip(got, expected, strict=True):
                assert g.dtype == e.dtype
                np.testing.assert_allclose(g, e, rtol=1e-2 if dtype != "float64" else 1e-7, atol=1e-3)


def test_signs_are_scipys_in_loops():
    def f(a, n):
        for _ in range(n):
            w, v = linalg.eigh(a)
            a = a + v * w
            a = a + a.T
        return a

    r = np.random.default_rng(1)
    for _ in range(10):
        a = r.standard_normal((4, 4))
        np.testing.assert_allclose(tnp.jit(f)(a + a.T, 3), f(a + a.T, 3), rtol=1e-6)
