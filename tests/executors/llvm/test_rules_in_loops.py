"""Prims whose lowering rule is one for regions and whole loops: the loop is native, and gives what eager gives."""

import numpy as np
import pytest
import scipy.linalg

import tnp
from tests.eager_checks import check
from tnp.executors import llvm

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


def padded(x, n):
    total = np.zeros(x.shape[1] + 3)
    for i in range(n):
        total += np.pad(x[i], (1, 2), constant_values=i)
        total[0] += np.pad(np.outer(x[i], x[i]), ((1, 0), (0, 3)))[1, 2]
    return total


def along_axis(x, n):
    order = np.array([[2, 0, 1], [0, 1, 1]])
    total = np.zeros((2, 3))
    for i in range(n):
        total += np.take_along_axis(x[i : i + 2], order, 1)
    return total


def taken(x, n):
    places = np.array([[1, -1], [0, 2]])
    total = np.zeros((2, 2))
    for i in range(n):
        total += x[i][places] + np.take(x, i, axis=0)[places]
    return total


def put(x, n):
    made = np.zeros((3, 4))
    for i in range(n):
        made[np.array([0, 2, 2]), np.array([1, -1, -1])] = x[i, :3]
        made[np.array([1, 1])] += x[i]
    return made


def turned(x, n):
    a = x[:3, :3].copy()
    for _i in range(n):
        a = np.flip(np.rot90(a), 1) + np.diagonal(a, 1).sum() + a[::-1].T * 0.5 + np.moveaxis(a[None], 0, 2)[..., 0]
        a /= np.abs(a).max()
    return a


def windows(x, n):
    total = 0.0
    for i in range(n):
        w = np.lib.stride_tricks.sliding_window_view(x[i], 2)
        total += (w[:, 0] * w[:, 1]).sum()
    return total


def spread(x, n):
    total = 0.0
    for i in range(1, n):
        total += np.var(x[i]) + np.std(x[: i + 1], axis=0, ddof=1)[0] + np.var(x[: i + 1, 1:])
    return total


def ordered(x, n):
    total = np.zeros(x.shape[1])
    for i in range(n):
        total += np.sort(x[i]) * np.median(x[i]) + np.sort(x[: i + 1], axis=0)[0]
    return total


def complex_parts(x, n):
    z = np.zeros(x.shape[1], complex)
    for i in range(n):
        z = z * 0.5 + (x[i] + 1j * x[i, ::-1])
        z = np.where(z.imag > 0, z, z.conj()) + x[i].real + x[i].imag
    return z


def triangles(x, n):
    lower = np.tril(x[:4, :4]) + 4 * np.eye(4)
    y = x[0].copy()
    for i in range(n):
        y = scipy.linalg.solve_triangular(lower, y, lower=True) + x[i]
        y = scipy.linalg.solve_triangular(lower, y, lower=True, trans=1, unit_diagonal=True)
    return y


def matrices(x, n):
    total = 0.0
    for i in range(n):
        a = x[:4, :4] + (i + 2) * np.eye(4)
        sign, log = np.linalg.slogdet(a)
        total += np.linalg.det(a) + sign * log + np.linalg.inv(a)[0, 1] + np.linalg.solve(a, x[i])[2]
        total += np.linalg.cholesky(a @ a.T)[3, 1] + np.linalg.inv(a[:1, :1])[0, 0]
    return total


def decomposed(x, n):
    total = 0.0
    for i in range(n):
        a = x[:4, :4] + i
        u, s, vh = np.linalg.svd(a)
        q, r = np.linalg.qr(a)
        values, vectors = np.linalg.eigh(a + a.T)
        total += s[0] + abs(u[0, 0] * vh[0, 1]) + abs(q[1, 1]) + abs(r[0, 2]) + values[1] + abs(vectors[0, 0])
        total += np.linalg.svd(a, compute_uv=False)[1] + np.linalg.eigvalsh(a + a.T)[0]
    return total


def backwards(x, n):
    total = np.zeros(x.shape[1])
    for i in range(n):
        y = x[i, ::-1] + x[i, -1::-1]
        total += y
        part = x[i, i:-9:-2]
        total[: len(part)] += part
        part = y[n - i :: -1]
        total[: len(part)] -= part
        part = x[:-4:-1, -1]
        total[: len(part)] += part
    return total


PROGRAMS = (backwards,
    padded, along_axis, taken, put, turned, windows, spread, ordered, complex_parts, triangles, matrices, decomposed,
)  # fmt: skip


#: sorts are native for rows of known length alone
CASES = [(f, dynamic) for f in PROGRAMS for dynamic in (False, True) if not (dynamic and f is ordered)]


@pytest.mark.parametrize(("program", "dynamic"), CASES, ids=[f"{f.__name__}-{'any size' * d}" for f, d in CASES])
def test_native(program, dynamic):
    x = np.random.default_rng(0).normal(size=(9, 4))
    jitted = tnp.jit(program, dynamic=dynamic)
    for n in (7, 5):
        got, expected = jitted(x.copy(), n), program(x.copy(), n)
        assert type(got) is type(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    assert "native" in tnp.explain(jitted)


def first_of(x, order, n):
    total = x[0].copy()
    for i in range(n):
        total[0] += i
        total += np.take_along_axis(x[i], order, 0)
    return total


def test_indices_out_of_bounds():
    x, order = np.random.default_rng(0).normal(size=(9, 4)), np.array([0, 1, 2, 4])
    check(first_of, x, order, 3, error=IndexError)


def test_singular_matrices():
    def solved(a, b, out, n):
        for i in range(n):
            out[i] = np.linalg.solve(a - i * np.eye(2), b)
        return out

    a, b = np.diag([2.0, 5.0]), np.ones(2)
    got, expected = np.zeros((4, 2)), np.zeros((4, 2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        solved(a, b, expected, 4)
    jitted = tnp.jit(solved)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jitted(a, b, got, 4)
    np.testing.assert_allclose(got, expected)


def test_torch():
    torch = pytest.importorskip("torch")

    def scattered(x, index, n):
        total = torch.zeros(3, 4)
        for i in range(n):
            total = total.scatter(1, index, x[i : i + 3] * (i + 1))
            total = total.scatter_add(1, index, x[i : i + 3]) + torch.gather(x[i : i + 3], 1, index).sum()
        return total

    x, index = torch.randn(9, 4), torch.tensor([[0, 1, 2, 0], [3, 3, 1, 2], [0, 0, 0, 1]])
    jitted = tnp.jit(scattered)
    for n in (5, 3):
        torch.testing.assert_close(jitted(x, index, n), scattered(x, index, n))
