"""Decompositions of small matrices, and of stacks of them, in kernels and in loops: by LAPACK, called from native code."""

import numpy as np
import pytest

import tnp
from tests.executors.llvm.loop_ir_interpreter import ROUTINES as INTERPRETED
from tnp.core import dtypes
from tnp.executors import llvm
from tnp.executors.llvm.lapack import decomposes, layout_of_eig, layout_of_eigh, layout_of_qr, layout_of_svd
from tnp.executors.llvm.target import LIBRARY_LENGTH, LIBRARY_ROWS

# The tests assert that programs are native, which needs LLVM and the LAPACK of NumPy.
pytestmark = pytest.mark.skipif(
    not llvm.is_available() or not decomposes(dtypes.float64), reason="no native code, or no LAPACK in NumPy"
)

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [
    (2, 2),
    (3, 3),
    (5, 4),
    (4, 5),
    (12, 12),
    (1, 4),
    (LIBRARY_ROWS, 3),
    (3, LIBRARY_ROWS),
    (6, 3, 3),
    (6, 2, 5),
    (6, 5, 2),
]


def random(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    a = r.standard_normal(shape)
    return (a + 1j * r.standard_normal(shape) if dtype.startswith("c") else a).astype(dtype)


def hermitian(a):
    return a + a.swapaxes(-1, -2).conj()


def parts(x):
    return x if isinstance(x, tuple) else (x,)


def assert_same(got, expected, check_strides=True):
    """LAPACK's signs and order are NumPy's, because it is the same library."""
    for g, e in zip(parts(got), parts(expected), strict=True):
        assert type(g) is type(e) and g.dtype == e.dtype and g.shape == e.shape
        assert g.strides == e.strides or not check_strides
        tolerance = 1e-4 if g.dtype in ("f4", "c8") else 1e-10
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * max(1, np.abs(e).max(initial=0)))


def check(f, a, **options):
    jitted = tnp.jit(f)
    assert_same(jitted(a.copy()), f(a.copy()), **options)
    program = str(tnp.last_traces(jitted)[-1])
    assert "llvm_fusion" in program and " np.linalg" not in program


RECTANGULAR = {
    "svd": np.linalg.svd,
    "svd reduced": lambda a: np.linalg.svd(a, full_matrices=False),
    "singular values": lambda a: np.linalg.svd(a, compute_uv=False) * 2,
    "one factor": lambda a: np.linalg.svd(a)[2][..., -1, :],
    "largest": lambda a: np.linalg.norm(a, 2, axis=(-2, -1)),
    "rank": lambda a: np.linalg.matrix_rank(a),
}
QR = {"qr": np.linalg.qr, "complete": lambda a: np.linalg.qr(a, "complete"), "r": lambda a: np.linalg.qr(a, "r")}


@pytest.mark.parametrize("name", [*RECTANGULAR, *QR])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rectangular_matrices(name, dtype):
    for shape in SHAPES:
        if name not in QR or shape[-2] > 1:  # the rows of one row are left to NumPy
            check((RECTANGULAR | QR)[name], random(shape, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("triangle", "LU")
def test_hermitian_matrices(dtype, triangle):
    for shape in ((2, 2), (7, 7), (4, 3, 3)):
        a = random(shape, dtype)
        check(lambda a: np.linalg.eigh(a, triangle), a)  # the triangles differ
        check(lambda a: np.linalg.eigvalsh(a, triangle) + 1, a)
        check(lambda a: (a @ np.linalg.eigh(hermitian(a))[1])[..., 0], a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_general_matrices(dtype):
    """Real ones with conjugate pairs of eigenvalues, and with real ones."""
    for shape in ((2, 2), (7, 7), (4, 3, 3)):
        for a in (random(shape, dtype), hermitian(random(shape, dtype))):
            check(np.linalg.eig, a, check_strides=False)
            check(lambda a: np.linalg.eigvals(a) * 2, a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_matrices(dtype):
    for shape in ((LIBRARY_LENGTH, 4), (4, LIBRARY_LENGTH), (200, LIBRARY_ROWS), (3, 100, 5)):
        check(lambda a: np.linalg.svd(a, full_matrices=False), random(shape, dtype))
        check(np.linalg.qr, random(shape, dtype))


def test_results_that_are_read_in_part():
    """Of a composite operation, what nobody reads need not be compiled: the length of ``lstsq``'s residuals is known at run time."""
    a, b = random((30, 4), "float64"), random((30,), "float64")
    check(lambda a: np.linalg.lstsq(a, a[:, 0] + 1, rcond=None)[0], a)
    check(lambda a: np.linalg.lstsq(a, a[:, :2] + 1, rcond=None)[3] * 2, a)
    jitted = tnp.jit(lambda a, b: np.linalg.lstsq(a, b, rcond=None))
    for g, e in zip(jitted(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
        np.testing.assert_allclose(g, e)
    polyfit = tnp.jit(np.polyfit)
    np.testing.assert_allclose(polyfit(a[:, 0], b, 3), np.polyfit(a[:, 0], b, 3))


def test_operands_of_other_layouts():
    a = random((4, 5, 3), "float64")
    check(lambda a: np.linalg.svd(a[::-1, ::2, :2]), a)
    check(lambda a: np.linalg.svd(a.transpose(0, 2, 1), full_matrices=False), a)
    check(lambda a: np.linalg.qr(a[0].T[:, ::-1]), a)


def test_values_that_are_not_finite():
    for f in (np.linalg.svd, np.linalg.eigh, np.linalg.eigvals):
        jitted = tnp.jit(f)
        for bad in (np.nan, np.inf):
            a = random((3, 3), "float64")
            jitted(a)
            a[1, 1] = bad
            try:
                expected = f(a)
            except np.linalg.LinAlgError as error:
                with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                    jitted(a)
            else:
                np.testing.assert_array_equal(jitted(a)[0], expected[0])


def test_large_and_empty_matrices_are_numpys():
    for shape in ((LIBRARY_ROWS + 1,) * 2, (LIBRARY_LENGTH + 1, 3), (0, 3), (3, 0), (0, 3, 3), (1, 1)):
        a = random(shape, "float64")
        jitted = tnp.jit(lambda a: np.linalg.svd(a, full_matrices=False))
        assert_same(jitted(a), np.linalg.svd(a, full_matrices=False), check_strides=False)


# In loops


def rotations(points, target, steps):
    """Iterated alignment (Kabsch)."""
    for _ in range(steps):
        u, _s, vh = np.linalg.svd(points.T @ target)
        r = vh.T @ u.T
        if np.linalg.det(r) < 0:
            vh[2] *= -1
            r = vh.T @ u.T
        points = points @ r.T * 0.99 + target * 0.01
    return points


def qr_iterations(a, steps):
    for _ in range(steps):
        q, r = np.linalg.qr(a)
        a = r @ q
    return a


def deflated(a, steps):
    values = np.zeros(steps)
    for i in range(steps):
        w, v = np.linalg.eigh(a)
        values[i] = w[-1]
        a = a - w[-1] * np.outer(v[:, -1], v[:, -1].conj())
    return values, a


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loops(dtype):
    points, target = random((20, 3), dtype), random((20, 3), dtype, seed=1)
    for f, args in (
        (rotations, (points, target, 7)),
        (qr_iterations, (random((5, 5), dtype), 6)),
        (deflated, (hermitian(random((4, 4), dtype)), 4)),
    ):
        jitted = tnp.jit(f)
        assert_same(jitted(*args), f(*args))
        program = str(tnp.last_traces(jitted)[-1])
        assert program.count("llvm_fusion") <= 3 and " np.linalg" not in program and "\n  for" not in program


def test_complex_loops():
    jitted, args = tnp.jit(deflated), (hermitian(random((4, 4), "complex128")), 3)
    assert_same(jitted(*args), deflated(*args))


def distances(stack):
    """Of each matrix to those behind it: stacks of a length that the loop decides, as many as there are left."""
    made = np.zeros((len(stack), len(stack)))
    for i, x in enumerate(stack):
        values = np.linalg.eigvalsh(x @ stack[i:] @ x)
        made[i, i:] = np.sum(np.log(np.abs(values)) ** 2, axis=-1)
    return made


def test_stacks_in_loops():
    for n in (40, 41, 300):
        stack = random((n, 3, 3), "float64")
        stack = stack @ stack.swapaxes(-1, -2) + np.eye(3)
        jitted = tnp.jit(distances)
        assert_same(jitted(stack), distances(stack))
        assert "the whole for_loop is native" in tnp.explain(jitted)
    assert "1 loops in it run in parallel" in tnp.explain(jitted)


def test_stacks_of_any_length():
    def f(stack):
        w, v = np.linalg.eigh(stack)
        return (v * w[..., None, :]) @ v.swapaxes(-1, -2), np.linalg.svd(stack)[1].sum(), np.linalg.qr(stack)[1]

    jitted = tnp.jit(f)
    for n in (5, 9, 30, 17, 1, 0):
        stack = hermitian(random((n, 4, 4), "float64"))
        assert_same(jitted(stack), f(stack), check_strides=False)
    assert tnp.cache_info(jitted).size <= 4


def test_failure_in_a_loop():
    a = hermitian(random((4, 4), "float64"))
    jitted = tnp.jit(qr_then_eigenvalues)
    jitted(a, 3)
    a[0, 0] = np.nan
    for f in (jitted, qr_then_eigenvalues):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            f(a, 3)


def qr_then_eigenvalues(a, steps):
    total = 0.0
    for _ in range(steps):
        a = a @ np.linalg.qr(a)[0]
        total += np.linalg.eigvalsh(a + a.T)[0]
    return total


# The routines


@pytest.mark.parametrize("kind", "fc")
def test_layouts_and_routines(kind):
    """What the interpreters take the routines for, in the layouts that native code uses."""
    dtype = {"f": dtypes.float64, "c": dtypes.complex128}[kind]
    layouts = [layout_of_eigh(3, False), layout_of_eigh(3, True), layout_of_eig(3, dtype)]
    layouts += [layout_of_eig(3, dtype, vectors=False)]
    layouts += [layout_of_svd(m, n, full) for m, n in ((4, 3), (3, 4), (3, 3)) for full in (False, True)]
    layouts += [layout_of_qr(m, n, full) for m, n in ((4, 3), (3, 4)) for full in (False, True)]
    for layout in layouts:
        memory = random((layout.lines, layout.width), dtype.name)
        made = INTERPRETED[layout.routine](memory)
        assert made.shape == memory.shape and made.dtype == memory.dtype and not np.array_equal(made, memory)
