"""Small matrices and stacks of them: products, and systems of linear equations, in kernels and in loops."""

import warnings

import numpy as np
import pytest
from scipy import linalg

import tnp
from tests.executors.llvm.loop_ir_interpreter import ROUTINES as INTERPRETED
from tests.kernel_bounds import within_bounds
from tnp.api import programs_of
from tnp.executors import llvm
from tnp.executors.llvm.routines import ROUTINES
from tnp.executors.llvm.target import MOST_ROWS
from tnp.testing import assert_same

# The tests look for native code in programs, which there is only where LLVM can compile.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="LLVM cannot compile for this machine")

DTYPES = ["float32", "float64", "complex64", "complex128"]
#: rows, of one matrix and of stacks
SIZES = {(): [1, 2, 3, 7, MOST_ROWS], (5,): [1, 4]}


def matrices(n, dtype, *stack, seed=0):
    """Well-conditioned ones; pivots are not on the diagonal."""
    r = np.random.default_rng(seed + n)
    a = r.standard_normal((*stack, n, n)) * 0.3 + np.roll(np.eye(n), 1, axis=0) * 3
    return (a + 0.2j * r.standard_normal(a.shape) if dtype.startswith("c") else a).astype(dtype)


def definite(a):
    """Positive definite matrices."""
    return a @ a.swapaxes(-1, -2).conj() + np.eye(a.shape[-1], dtype=a.dtype)


def assert_close(got, expected):
    got, expected = (x if isinstance(x, tuple) else (x,) for x in (got, expected))
    for g, e in zip(got, expected, strict=True):
        assert type(g) is type(e) and g.dtype == e.dtype and g.shape == e.shape and g.strides == e.strides
        rtol = 3e-4 if g.dtype in ("f4", "c8") else 1e-10
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol)


def runs_natively(jitted):
    """Whether the last program calls no function of NumPy's."""
    lines = [line.strip() for line in str(tnp.last_traces(jitted)[-1]).splitlines()]
    return any("llvm_fusion" in line for line in lines) and not any(" = np." in line for line in lines)


FUNCTIONS = {
    "inv": lambda a: np.linalg.inv(a) * 2,
    "solve": lambda a: np.linalg.solve(a, a[..., :1] + 1) - 1,
    "several right sides": lambda a: np.linalg.solve(a, np.concatenate([a, a + 1], axis=-1)) - 1,
    "det": lambda a: np.linalg.det(a) + 1,
    "slogdet": lambda a: np.linalg.slogdet(a),
    "cholesky": lambda a: np.linalg.cholesky(definite(a)) * 2,
    "as it is": lambda a: (np.linalg.inv(a), np.linalg.det(a)),
    "twice": lambda a: np.linalg.inv(np.linalg.inv(a)) + np.linalg.inv(a + 1),
    "product": lambda a: a @ a + a,
    "products": lambda a: a @ a.swapaxes(-1, -2) @ (a @ a - 1),
    "product with a vector": lambda a: a @ a[..., 0, :, None] + a[..., :1],
}


@pytest.mark.parametrize("stack", [(), (5,)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype, stack):
    function = FUNCTIONS[name]
    for n in SIZES[stack] if dtype == "float64" else SIZES[stack][-1:]:
        a = matrices(n, dtype, *stack)
        jitted = tnp.jit(function)
        with within_bounds():
            made = jitted(a)
        assert_close(made, function(a))
        if not (dtype.startswith("c") and name in ("det", "slogdet", "cholesky", "as it is")):
            assert runs_natively(jitted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_number_of_matrices(name):
    function = FUNCTIONS[name]
    jitted = tnp.jit(function)
    for length in (4, 6, 30, 7, 501):
        a = matrices(3, "float64", length, seed=length)
        assert_close(jitted(a), function(a))
    assert len(programs_of(jitted)) <= 2
    assert runs_natively(jitted) or name == "several right sides"  # arrays of any size are put together by NumPy


def test_orders_in_memory():
    for a in (matrices(3, "float64", 2, 4), matrices(4, "float64", 5)):
        axes = range(a.ndim - 2)
        for view in (
            a,
            a[::-1],
            np.asfortranarray(a),
            a.swapaxes(-1, -2),
            a.transpose(*reversed(axes), -1, -2),
            a[..., ::-1, :],
        ):
            other = view + 1
            function = lambda x, y: (x @ y, np.linalg.inv(x), np.linalg.solve(x, y), np.linalg.det(x) * 2)  # noqa: E731
            assert_close(tnp.jit(function)(view, other), function(view, other))


def test_integers():
    a = np.arange(-8, 8).reshape(4, 4)
    for dtype in "i1 u1 i4 u8".split():
        x = a.astype(dtype)
        function = lambda x: (x @ x + x, x @ x[0], x[1] @ x[2])  # noqa: E731
        for g, e in zip(tnp.jit(function)(x), function(x), strict=True):
            assert g.dtype == e.dtype and np.array_equal(g, e)


SINGULAR = {
    "zeros": np.zeros((3, 3)),
    "one row of zeros": np.diag([1.0, 0.0, 2.0]),
    "equal rows": np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 5.0]]),
}
ODD = {
    "nan": np.diag([1.0, np.nan, 2.0]),
    "infinity": np.diag([np.inf, 1.0, 2.0]),
    "tiny": np.diag([1e-200, 1e-200, 1e-200]),
    "huge": np.diag([1e200, 1e200, 1e200]),
    "negative zero": np.array([[-0.0, 1.0, 0.0], [1.0, -0.0, 0.0], [0.0, 0.0, -1.0]]),
    "permutation": np.roll(np.eye(3), 1, axis=0),
    "negative": -np.eye(3),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("stack", [False, True])
@pytest.mark.parametrize("which", [*SINGULAR, *ODD])
@pytest.mark.parametrize(
    "function", [np.linalg.inv, np.linalg.det, np.linalg.cholesky, lambda a: np.linalg.solve(a, a + 1)]
)
def test_special_matrices(function, which, stack):
    """Errors, and what is not finite, are NumPy's."""
    a = {**SINGULAR, **ODD}[which]
    if stack:
        a = np.stack([np.eye(3), a, np.eye(3)])

    def changed(a):
        return function(a) + 1

    try:
        expected = changed(a)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            tnp.jit(changed)(a)
        return
    np.testing.assert_allclose(tnp.jit(changed)(a), expected, rtol=1e-12)


def test_an_error_leaves_arguments_as_they_were():
    def function(a, out):
        out += 1
        out[:] = np.linalg.inv(a) + out

    jitted = tnp.jit(function)
    for a in (np.eye(2), np.eye(2) * 3):
        outs = np.ones((2, 2)), np.ones((2, 2))
        jitted(a, outs[0])
        function(a, outs[1])
        assert np.allclose(*outs)
    eager, native = np.ones((2, 2)), np.ones((2, 2))
    for f, out in ((function, eager), (jitted, native)):
        with pytest.raises(np.linalg.LinAlgError):
            f(np.zeros((2, 2)), out)
    assert np.array_equal(eager, native)


TRIANGULAR = {
    "upper": lambda a, b: linalg.solve_triangular(a, b) * 2,
    "lower": lambda a, b: linalg.solve_triangular(a, b, lower=True) * 2,
    "transposed": lambda a, b: linalg.solve_triangular(a, b, trans=1) * 2,
    "unit diagonal": lambda a, b: linalg.solve_triangular(a, b, unit_diagonal=True, lower=True) * 2,
    "factored": lambda a, b: linalg.cho_solve(linalg.cho_factor(definite(a)), b) * 2,
}


@pytest.mark.parametrize("name", TRIANGULAR)
def test_triangles(name):
    function = TRIANGULAR[name]
    for n in (1, 2, 5):
        a = np.random.default_rng(n).random((n, n)) + n * np.eye(n)
        for b in (a[:, :1] + 1, a[0].copy()):
            jitted = tnp.jit(function)
            assert_close(jitted(a, b), function(a, b))
            assert runs_natively(jitted)
    a[1, 1] = 0 if name != "factored" else np.nan
    for f in (function, jitted):
        if name == "unit diagonal":
            assert_close(f(a, b), function(a, b))
        else:
            with pytest.raises((np.linalg.LinAlgError, ValueError)):
                f(a, b)


def kalman(zs, x, P, F, Q, H, R):
    out = np.empty((len(zs), len(x)))
    for i, z in enumerate(zs):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (np.eye(len(x)) - K @ H) @ P
        out[i] = x
    return out, P


def step(z, x, P, F, Q, H, R):
    return kalman(z[None], x, P, F, Q, H, R)[0]


@pytest.mark.parametrize("measured", [1, 2, 3])
def test_kalman_filter(measured):
    r = np.random.default_rng(measured)
    F = np.eye(4) + 0.1 * r.random((4, 4))
    args = (
        r.random((50, measured)),
        r.random(4),
        np.eye(4),
        F,
        np.eye(4) * 0.1,
        r.random((measured, 4)),
        np.eye(measured),
    )
    jitted = tnp.jit(kalman)
    assert_close(jitted(*args), kalman(*args))
    assert "the whole for_loop is native" in tnp.explain(jitted)
    one = tnp.jit(step)
    assert_close(one(args[0][0], *args[1:]), step(args[0][0], *args[1:]))
    assert runs_natively(one)


def solved_one_by_one(a, b):
    x = np.zeros_like(b)
    for i in range(len(a)):
        x[i] = np.linalg.solve(a[i], b[i]) * np.linalg.det(a[i])
    return x


def factored_one_by_one(a):
    total = np.zeros(a.shape[1:])
    for m in a:
        total = total + np.linalg.cholesky(m @ m.T + np.eye(len(m))) + np.linalg.inv(m)
    return total


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_loops(n, dtype):
    a = matrices(n, dtype, 9)
    args = a, a[:, 0] + 1
    jitted = tnp.jit(solved_one_by_one)
    assert_close(jitted(*args), solved_one_by_one(*args))
    assert "the whole for_loop is native" in tnp.explain(jitted)
    a = a.astype("float64")
    jitted = tnp.jit(factored_one_by_one)
    assert_close(jitted(a), factored_one_by_one(a))
    assert "the whole for_loop is native" in tnp.explain(jitted)


def test_errors_in_loops():
    jitted = tnp.jit(solved_one_by_one)
    a = matrices(3, "float64", 9)
    jitted(a, a[:, 0])
    a[4] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jitted(a, a[:, 0])
    jitted = tnp.jit(lambda a: [np.linalg.cholesky(m) for m in a])
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        jitted(-matrices(3, "float64", 9))


def test_routines_are_interpreted():
    """What the interpreter of the loop IR takes the routines for is what NumPy computes."""
    assert INTERPRETED.keys() == ROUTINES.keys()
    a = matrices(4, "float64", 3)
    both = np.concatenate([a, a + 1], axis=-1)
    np.testing.assert_allclose(INTERPRETED["eliminate"](both)[..., 4:], np.linalg.solve(a, a + 1))


def test_matrices_that_are_singular_but_for_rounding():
    """Rounding decides whether the last pivot is 0. It agrees with OpenBLAS, which NumPy's wheels contain."""
    r = np.random.default_rng(0)
    inverse, determinant = tnp.jit(lambda a: np.linalg.inv(a) * 1.0), tnp.jit(lambda a: np.linalg.det(a) * 1.0)
    same = 0
    for _ in range(100):
        n, rank = 4, int(r.integers(1, 4))
        a = (r.integers(-4, 5, (n, rank)) @ r.integers(-4, 5, (rank, n))).astype("f8")
        expected = np.linalg.det(a)
        assert abs(determinant(a) - expected) < 1e-10
        try:
            inverse(a)
            same += expected != 0
        except np.linalg.LinAlgError:
            same += expected == 0
    assert same >= 90


OF_SCIPY = {
    "inv": lambda a: linalg.inv(a) * 2,
    "solve": lambda a: linalg.solve(a, a[:, 0] + 1) - 1,
    "several right sides": lambda a: linalg.solve(a, a + 1) - 1,
    "symmetric": lambda a: linalg.solve(definite(a), a, assume_a="pos") + 1,
}


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
@pytest.mark.parametrize("name", OF_SCIPY)
def test_scipy_of_well_conditioned_matrices(name, dtype):
    for n in (1, 3, 7):
        a = (matrices(n, "float64") * 4).astype(dtype) if dtype == "int64" else matrices(n, dtype)
        jitted = tnp.jit(OF_SCIPY[name], strict=True)
        assert_close(jitted(a), OF_SCIPY[name](a))
        assert runs_natively(jitted) or dtype == "complex128"


def warned(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*args)
    return found, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("function", [linalg.inv, lambda a: linalg.solve(a, a[0])], ids=["inv", "solve"])
def test_scipy_warns_of_ill_conditioned_matrices(function):
    def several(stack):
        total = 0.0
        for a in stack:
            total = total + function(a).sum()
        return total

    once, loop = tnp.jit(lambda a: function(a) + 1, strict=True), tnp.jit(several, strict=True)
    for n in (4, 11, 12, 14):
        a = linalg.hilbert(n)
        found, expected = warned(once, a), warned(lambda a: function(a) + 1, a)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9 * np.linalg.cond(a) if n < 11 else 1)
        assert found[1] == expected[1] and bool(expected[1]) == (n > 11)
        stack = np.array([np.eye(n)] * 20 + [a] * 2)
        assert warned(loop, stack)[1] == warned(several, stack)[1]


def test_scipy_warns_after_arrays_of_the_caller_s_were_written():
    def stored(stack, out, m):
        m += 1.0
        for k, a in enumerate(stack):
            out[k] = linalg.inv(a)[0, 0] + m[0]

    def drawn(stack, out, m):
        for k, a in enumerate(stack):
            out[k] = linalg.inv(a)[0, 0] + np.random.normal()

    good, bad = np.array([np.eye(12)] * 20), np.array([np.eye(12)] * 20 + [linalg.hilbert(12)] * 2)
    for f in (stored, drawn):
        jitted = tnp.jit(f, strict=True)
        for stack in (good, bad, good, bad):
            ours, theirs = (np.zeros(22), np.zeros(3)), (np.zeros(22), np.zeros(3))
            np.random.seed(0)
            found = warned(jitted, stack, *ours)
            np.random.seed(0)
            assert found == warned(f, stack, *theirs)
            for x, y in zip(ours, theirs):
                np.testing.assert_allclose(x, y)


def test_logarithms_of_determinants_of_singular_matrices():
    def stacked(ms):
        return [np.linalg.slogdet(m) for m in ms], np.linalg.slogdet(ms)

    def looped(ms):
        total, positive = 0.0, 0
        for m in ms:
            sign, logarithm = np.linalg.slogdet(m)
            if sign > 0:
                total += logarithm
                positive += 1
        return total, positive

    singular = [np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, 0.0, 2.0])]
    ms = np.array([*singular, *matrices(3, "float64", 20)])
    for function in (stacked, looped):
        jitted = tnp.jit(function)
        assert_same(jitted(ms), function(ms), rtol=1e-10)
        assert runs_natively(jitted)
    for m in (*singular, np.ones((3, 3), "f4"), np.ones((2, 2)), np.ones((40, 40)), np.ones((2, 2), complex)):
        assert_same(tnp.jit(np.linalg.slogdet)(m), np.linalg.slogdet(m))


def test_logarithms_of_determinants_of_several_sizes():
    jitted = tnp.jit(np.linalg.slogdet)
    for n in (2, 3, 5, 7):
        a = matrices(n, "float64")
        assert_same(jitted(a), np.linalg.slogdet(a), rtol=1e-10)
        assert runs_natively(jitted) or n > 2
    assert tnp.cache_info(jitted).misses == 2
