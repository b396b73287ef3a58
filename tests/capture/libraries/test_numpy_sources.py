"""NumPy's functions without a definition: their Python source is traced, behind writes too, and libraries' copies of it."""

import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

X = np.linspace(0.1, 2, 40)
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def compiled(f, *calls):
    """Compares the jitted ``f`` with eager for several calls, twice, and checks that all of it is compiled."""
    jitted = tnp.jit(f)
    for args in calls * 2:
        copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        again = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        assert_same(jitted(*copies), f(*again))
        assert_same(copies, again)
    assert "eager" not in str(tnp.explain(jitted)), tnp.explain(jitted)
    assert "in parts" not in str(tnp.explain(jitted)), tnp.explain(jitted)
    return jitted


# Copy modes


@pytest.mark.parametrize("mode", list(np._CopyMode))
def test_copy_modes(mode):
    def f(a):
        b = np.array(a, copy=mode)
        c = np.asarray(a, copy=mode)
        b[0] = 7
        c[1] = 8
        return a.sum(), b is a, c

    compiled(f, (X,))


def test_astype_takes_no_copy_mode():
    with pytest.raises(ValueError, match="_CopyMode enum is not allowed"):
        tnp.jit(lambda a: a.astype(float, copy=np._CopyMode.IF_NEEDED))(X)


def test_copy_forbidden_raises():
    def f(a):
        return np.array(a, np.float32, copy=np._CopyMode.NEVER)

    with pytest.raises(ValueError, match="Unable to avoid copy"):
        tnp.jit(f)(X)


# Polynomials


def test_polyfit_behind_a_write():
    def f(x, y):
        x[0] = 0.5
        p = np.polyfit(x, y, 2)
        return np.polyval(p, x), np.polyfit(x, y, 1, full=True)[0]

    compiled(f, (X, np.sin(X)), (X, np.cos(X)))


def test_polyfit_with_weights_and_several_columns():
    def f(x, y, w):
        return np.polyfit(x, np.stack([y, y * 2], 1), 3, w=w), np.polyfit(x, y, 2, cov=True)

    compiled(f, (X, np.sin(X), X + 1))


def test_polyfit_warns_from_the_users_line():
    def f(x, y):
        return np.polyfit(x, y, 2)

    jitted = tnp.jit(f)
    jitted(X, X)
    for x in (X, np.ones(40)):
        found = []
        for g in (jitted, f):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                g(x, X)
            found.append([(str(w.message), w.category, w.filename, w.lineno) for w in said])
        assert found[0] == found[1]


def test_roots_and_trimmed_zeros_depend_on_values():
    def f(p):
        return np.roots(p), np.trim_zeros(p)

    compiled(f, (np.array([1.0, -3.0, 2.0]),), (np.array([1.0, 0.0, 2.0]),), (np.array([0.0, 2.0, -4.0]),))


# Rows


@pytest.mark.parametrize("function", [np.sum, np.sort, np.max, np.cumsum, np.median, np.bincount])
@pytest.mark.parametrize("axis", [0, -1])
def test_apply_along_axis_of_numpys_functions(function, axis):
    table = np.arange(12).reshape(3, 4) % 5 if function is np.bincount else np.sin(np.arange(12.0)).reshape(3, 4)
    options = {"minlength": 6} if function is np.bincount else {}
    compiled(lambda a: np.apply_along_axis(function, axis, a, **options), (table,))


def test_apply_along_axis_behind_a_write():
    def f(a):
        a[0] = 1
        return np.apply_along_axis(np.max, 0, a) + np.apply_along_axis(lambda r: r.min(), 1, a).sum()

    compiled(f, (np.sin(np.arange(12.0)).reshape(3, 4),))


# Eigenvalues


@pytest.mark.parametrize("dtype", [float, np.float32, int, complex])
def test_eig_is_real_or_complex(dtype):
    def f(a):
        values, vectors = np.linalg.eig(a)
        return values, np.abs(vectors), np.linalg.eigvals(a), np.linalg.eig(a).eigenvalues.dtype

    compiled(f, ((4 * SQUARE).astype(dtype),), (TURN.astype(dtype),))


def test_eig_behind_a_write():
    def f(a):
        a[0, 0] = 5
        values, vectors = np.linalg.eig(a)
        i = np.where(np.abs(values - 5.0) < 1.0)[0]
        return np.real(vectors[:, i[-1]]) if i.size else values.real

    compiled(f, (SQUARE,), (TURN,))


def test_scipys_eig():
    from scipy import linalg

    def f(a):
        values, vectors = linalg.eig(a)
        return values, np.abs(vectors), vectors.dtype

    compiled(f, (SQUARE,), (TURN,))


def test_scipys_eig_of_equal_eigenvalues_in_single_precision():
    """Any vectors of the eigenvalue's space would do, so they are SciPy's only if its own function computes them."""
    from scipy import linalg

    def f(a):
        values, vectors = linalg.eig(a * 2)
        return values, np.real(np.dot(vectors * vectors, np.exp(values))) + 1

    a = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]], "f4")
    jitted = tnp.jit(f)
    with not_compiled_whole("eigenvectors of a real matrix"):
        assert_same(jitted(a), f(a), rtol=1e-6)


def test_eig_of_infinite_elements_raises():
    jitted = tnp.jit(lambda a: np.linalg.eigvals(a))
    jitted(SQUARE)
    with pytest.raises(np.linalg.LinAlgError):
        jitted(SQUARE * np.inf)


# Functions that give complex numbers where real ones have no result

EMATH = {
    "sqrt": lambda x: np.emath.sqrt(x) * 2,
    "logarithms": lambda x: (np.emath.log(x), np.emath.log2(x), np.emath.log10(x), np.emath.logn(2, x)),
    "power": lambda x: (np.emath.power(x, 0.5), np.emath.power(x, 2)),
    "inverses": lambda x: (np.emath.arccos(x), np.emath.arcsin(x) + 1, np.emath.arctanh(x / 4)),
}


@pytest.mark.parametrize("name", EMATH)
def test_emath(name):
    x = np.array([0.25, 0.5, 0.75])
    compiled(EMATH[name], (x,), (x - 0.6,), (x + 1,), (x.astype(np.float32),), ((8 * x - 4).astype(int) * 2 - 1,))


# Copies of NumPy's functions


def solve_as_numpy(x1, x2):
    """What libraries for the Array API have: NumPy's own ``solve``, with another rule for vectors."""
    from numpy.linalg import _umath_linalg
    from numpy.linalg._linalg import _commonType, _makearray, _raise_linalgerror_singular, isComplexType

    x1, _ = _makearray(x1)
    x2, wrap = _makearray(x2)
    t, result_t = _commonType(x1, x2)
    routine = _umath_linalg.solve1 if x2.ndim == 1 else _umath_linalg.solve
    signature = "DD->D" if isComplexType(t) else "dd->d"
    with np.errstate(call=_raise_linalgerror_singular, invalid="call", over="ignore", divide="ignore", under="ignore"):
        r = routine(x1, x2, signature=signature)
    return wrap(r.astype(result_t, copy=False))


@pytest.mark.parametrize("dtype", [float, np.float32, int, complex])
def test_copy_of_solve(dtype):
    a = (4 * SQUARE).astype(dtype)
    compiled(solve_as_numpy, (a, a[:2].T.copy()), (a, a[0].copy()), (np.stack([a, a + 1]), a[:2].T.copy()))


def test_copy_of_solve_of_a_singular_matrix():
    jitted = tnp.jit(solve_as_numpy)
    jitted(SQUARE, X[:3])
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jitted(np.ones((3, 3)), X[:3])


def test_what_else_is_computed_under_that_handler_is_eager():
    from numpy.linalg._linalg import _raise_linalgerror_singular

    def f(a):
        with np.errstate(call=_raise_linalgerror_singular, invalid="call"):
            return np.sqrt(a)

    jitted = tnp.jit(f)
    with pytest.warns(tnp.EagerFallbackWarning):
        assert_same(jitted(X), f(X))
    with pytest.raises(np.linalg.LinAlgError):
        jitted(-X)


# Functions of the program


def test_attributes_of_functions_that_the_program_makes():
    def f(x):
        def g(a):
            g.calls += 1
            return a * g.factor

        g.calls, g.factor = 0, 3
        y = g(x)
        g.factor = 4
        return y, g(x), g.calls

    compiled(f, (X,))


def test_warnings_with_a_stack_level():
    def check(x, k):
        if k > 3:
            warnings.warn(f"large {k}", RuntimeWarning, stacklevel=2)
        return x * 2

    def f(x, k):
        y = x + 1
        return check(y, k)

    jitted = tnp.jit(f)
    for k in (2, 5, 2, 5):
        found = []
        for g in (jitted, f):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                assert_same(g(X, k), f(X, 1))
            found.append([(str(w.message), w.category, w.filename, w.lineno) for w in said])
        assert found[0] == found[1]
    assert "eager" not in str(tnp.explain(jitted)), tnp.explain(jitted)


@pytest.mark.parametrize("level", [2, 3])
def test_warnings_that_say_the_caller(level):
    def deprecated(x):
        warnings.warn("use another", DeprecationWarning, stacklevel=level)
        return x * 2

    def inner(x):
        return deprecated(x) + 1

    for f in (deprecated, inner):
        jitted = tnp.jit(f)

        def called(g):
            return g(X)

        for _ in range(3):
            found = []
            for g in (jitted, f):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    called(g)
                found.append([(str(w.message), w.category, w.filename, w.lineno) for w in said])
            assert found[0] == found[1]
        assert "eager" not in str(tnp.explain(jitted)), tnp.explain(jitted)
        assert "in parts" not in str(tnp.explain(jitted)), tnp.explain(jitted)
