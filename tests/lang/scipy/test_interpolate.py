"""``scipy.interpolate`` in compiled functions: objects that SciPy made, evaluated."""

import hashlib

import numpy as np
import pytest

import tnp
from tests.lang.scipy.checks import compiled_as_eager, gradient_is_right, layouts, raises_as_eager
from tests.sampling import one_of
from tnp.testing import assert_same

interpolate = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(0)
X = np.linspace(0, 3, 9) ** 1.3
Y = np.sin(X)
MANY = RNG.normal(size=(2, 9, 3))
Q = RNG.uniform(-0.5, X[-1] + 0.5, size=(4, 3))
Q[0] = X[0], X[4], X[-1]
PERIODIC = np.append(Y[:-1], Y[0])

SPLINES = {
    "CubicSpline": interpolate.CubicSpline(X, Y),
    "CubicSpline of rows": interpolate.CubicSpline(X, MANY, axis=1),
    "CubicSpline, periodic": interpolate.CubicSpline(X, PERIODIC, bc_type="periodic"),
    "CubicSpline, complex": interpolate.CubicSpline(X, Y + 1j * Y**2),
    "CubicHermiteSpline": interpolate.CubicHermiteSpline(X, Y, np.cos(X)),
    "PchipInterpolator": interpolate.PchipInterpolator(X, Y, extrapolate=False),
    "Akima1DInterpolator": interpolate.Akima1DInterpolator(X, Y),
    "PPoly": interpolate.PPoly(RNG.normal(size=(3, 8)), X),
    "PPoly, descending": interpolate.PPoly(RNG.normal(size=(2, 8)), X[::-1]),
    "PPoly, constant": interpolate.PPoly(RNG.normal(size=(1, 8)), X),
    "BSpline": interpolate.make_interp_spline(X, Y),
    "BSpline of rows": interpolate.make_interp_spline(X, MANY, k=2, axis=1),
    "BSpline, complex": interpolate.make_interp_spline(X, Y + 1j, k=1),
    "BSpline, degree 5": interpolate.make_interp_spline(X, Y, k=5),
    "BSpline, equal knots": interpolate.BSpline(np.array([0, 0, 0, 1, 1, 2, 3, 3, 3.0]), np.arange(6.0), 2),
    "BSpline, periodic": interpolate.make_interp_spline(X, PERIODIC, bc_type="periodic"),
}


@pytest.mark.parametrize("name", SPLINES)
def test_splines(name):
    spline = SPLINES[name]
    compiled_as_eager(lambda q: (spline(q) * 2, spline(q, 1) + 1, spline(q[0, 1]), spline(q[:0])), Q)
    compiled_as_eager(lambda q: spline(q, extrapolate=False), Q)
    compiled_as_eager(lambda q: spline(q, nu=1, extrapolate=True) * q[0, 0], Q)
    if "PPoly" not in name:
        compiled_as_eager(lambda q: spline(q, extrapolate="periodic"), Q)
    compiled_as_eager(lambda q: spline(q), np.array([np.nan, 1.0, np.nan if "periodic" in name else np.inf]))
    for q in one_of(layouts(Q), list(SPLINES).index(name)):
        compiled_as_eager(lambda q: spline(q), q)
    compiled_as_eager(lambda q: spline(q) * 2, np.arange(3))
    compiled_as_eager(lambda q: spline(q) * 2, np.arange(3, dtype="f4"))


INTERPOLANTS = {
    **{kind: interpolate.interp1d(X, Y, kind, fill_value="extrapolate")
       for kind in ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic")},
    "of rows": interpolate.interp1d(X, MANY, axis=1, fill_value="extrapolate"),
    "filled": interpolate.interp1d(X, Y, bounds_error=False),
    "filled with two values": interpolate.interp1d(X, Y, "cubic", bounds_error=False, fill_value=(1, 2)),
    "filled rows": interpolate.interp1d(X, MANY, "nearest", axis=1, bounds_error=False, fill_value=RNG.normal(size=(2, 3))),
    "of integers": interpolate.interp1d(np.arange(5), np.arange(5) ** 2, "linear", bounds_error=False, fill_value=-1),
}  # fmt: skip


@pytest.mark.parametrize("name", INTERPOLANTS)
def test_interp1d(name):
    f = INTERPOLANTS[name]
    compiled_as_eager(lambda q: (f(q) * 2, f(q[0, 1]), f(q[1:2])), Q)
    compiled_as_eager(lambda q: f(q) * 2, np.arange(3))


GRID = (X, np.array([0.0, 1.0, 3.0]))


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_regular_grids(method):
    values = RNG.normal(size=(9, 3))
    points = RNG.uniform(0, 3, size=(10, 2))
    points[0] = 0, 3
    points[1] = X[-1], 0
    plain = interpolate.RegularGridInterpolator(GRID, values, method)
    compiled_as_eager(lambda p: (plain(p) * 2, plain((p[:, :1], p[:, 1])), plain(p[3])), points)
    filled = interpolate.RegularGridInterpolator(GRID, MANY[0][:, :, None] * np.arange(2.0), method, bounds_error=False)
    compiled_as_eager(lambda p: filled(p) * 2, 2 * points - 1)
    beyond = interpolate.RegularGridInterpolator(GRID, values, method, bounds_error=False, fill_value=None)
    compiled_as_eager(lambda p: beyond(p) * 2, 2 * points - 1)
    line = interpolate.RegularGridInterpolator((X,), Y + 1j, method, bounds_error=False, fill_value=-1.0)
    compiled_as_eager(lambda p: line(p[:, :1]), 2 * points - 1)
    assert raises_as_eager(lambda p: plain(p * 2) + 1, points) is ValueError


def test_points_outside():
    f = interpolate.interp1d(X, Y)
    compiled_as_eager(lambda q: f(q) * 2, np.clip(Q, 0, X[-1]))
    assert raises_as_eager(lambda q: f(q) * 2, Q + 9) is ValueError
    assert raises_as_eager(lambda q: f(q) * 2, Q - 9) is ValueError


def test_in_a_loop_and_as_an_argument():
    def f(spline, q, n):
        for _ in range(n):
            q = q - 0.1 * spline(q) / (1 + spline(q, 1) ** 2)
            if q[0, 0] > 0.5:
                q = q * 0.9
        return q

    jitted = tnp.jit(f, strict=True)
    for spline in (SPLINES["CubicSpline"], interpolate.CubicSpline(X, Y**2), SPLINES["BSpline"]):
        for n in (0, 3, 40):
            assert_same(jitted(spline, Q.copy(), n), f(spline, Q.copy(), n))


def test_made_in_the_function():
    def f(x, y, q):
        a = np.sin(y) * 2 + x
        spline = interpolate.CubicSpline(x, a)
        b = spline(q) * 2 + np.cos(q)
        return b + interpolate.interp1d(x, a, fill_value="extrapolate")(q) * q

    compiled_as_eager(f, X, Y, Q)


def test_functions():
    tck = interpolate.splrep(X, Y)
    compiled_as_eager(lambda q: interpolate.splev(q, tck) * 2, Q)
    compiled_as_eager(lambda q, x, y: interpolate.pchip_interpolate(x, y, q[0]) * 2, Q, X, Y)
    compiled_as_eager(lambda q, x, y: interpolate.barycentric_interpolate(x, y, q[0]) * 2, Q, X, Y)
    compiled_as_eager(lambda p, x, y: interpolate.interpn((x,), y, p[:, None]) * 2, np.array([0.5, 1.5]), X, Y)


def test_changed_objects():
    spline = interpolate.CubicSpline(X, Y)
    jitted = tnp.jit(lambda q: spline(q) * 2, strict=True)
    np.testing.assert_allclose(jitted(Q), spline(Q) * 2)
    spline.c[...] *= 3
    np.testing.assert_allclose(jitted(Q), spline(Q) * 2)
    spline.extrapolate = False
    np.testing.assert_allclose(jitted(Q), spline(Q) * 2)


def test_subclasses_are_left_alone():
    class Twice(interpolate.CubicSpline):
        def __call__(self, x, *args):
            return 2 * super().__call__(x, *args)

    spline = Twice(X, Y)
    with pytest.warns(tnp.EagerFallbackWarning):
        found = tnp.jit(lambda q: spline(q) * 2)(Q)
    np.testing.assert_allclose(found, spline(Q) * 2)


INSIDE = RNG.uniform(0.1, 2.9, size=7)


@pytest.mark.parametrize(
    "name", ["CubicSpline", "PPoly, descending", "BSpline", "BSpline, degree 5", "PchipInterpolator"]
)
def test_gradients(name):
    spline = SPLINES[name]
    gradient_is_right(lambda q: (spline(q) ** 2).sum() + spline(q, 1).sum(), INSIDE)


@pytest.mark.parametrize("name", ["linear", "cubic", "filled"])
def test_gradients_of_interp1d(name):
    f = INTERPOLANTS[name]
    gradient_is_right(lambda q: (f(q) ** 2).sum(), INSIDE)


def test_gradient_on_a_grid():
    f = interpolate.RegularGridInterpolator(GRID, RNG.normal(size=(9, 3)))
    gradient_is_right(lambda p: (f(p) ** 2).sum(), RNG.uniform(0.1, 2.9, size=(6, 2)))


def test_derived_splines():
    cubic, b_spline = SPLINES["CubicSpline"], SPLINES["BSpline"]

    def f(q):
        slope = cubic.derivative()
        return slope(q) * b_spline.antiderivative(2)(q), cubic.antiderivative()(q) - b_spline.derivative(2)(q)

    compiled_as_eager(f, Q)
    gradient_is_right(lambda q: (cubic.derivative()(q) ** 2).sum(), INSIDE)


FITTED = {
    "interpolating": interpolate.InterpolatedUnivariateSpline(X, Y),
    "of lines": interpolate.InterpolatedUnivariateSpline(X, Y, k=1),
    "smoothing, boundary values outside": interpolate.UnivariateSpline(X, Y, s=0.01, ext="const"),
    "degree 5, zeros outside": interpolate.UnivariateSpline(X, Y, k=5, ext=1),
    "with knots": interpolate.LSQUnivariateSpline(X, Y, [0.8, 2.0]),
}


@pytest.mark.parametrize("name", FITTED)
def test_splines_of_fitpack(name):
    spline = FITTED[name]
    compiled_as_eager(lambda q: (spline(q) * 2, spline(q[0, 1]), spline(q.ravel()[2:])), Q)
    compiled_as_eager(lambda q: (spline(q, ext=3), spline(q, ext="zeros"), spline(q, ext=0)), Q)
    compiled_as_eager(lambda q: spline(q) + q, np.array([np.nan, 1.0, -4.0, X[0], X[3], X[-1], 9.0]))
    if name != "of lines":
        compiled_as_eager(lambda q: spline(q, 1, ext=1) + spline(q, nu=1, ext=0), Q)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("name", FITTED)
def test_splines_of_fitpack_that_run_eagerly(name):
    spline = FITTED[name]
    raises_as_eager(lambda q: spline(q, ext=2), Q + 20)
    for f in (lambda q: spline(q), lambda q: spline(q, spline._data[5]), lambda q: spline(q, 1, ext=3)):
        assert_same(tnp.jit(f)(Q[:0]), f(Q[:0]))
        assert_same(tnp.jit(f)(Q[2]), f(Q[2]))


def test_splines_in_a_cache():
    """What an object keeps under the hash of its settings is looked up once."""

    class Tables:
        def __init__(self, power):
            self.power, self.kept = power, {}

        def spline(self):
            key = hashlib.md5(f"{self.power:.3f}".encode()).hexdigest()
            if key not in self.kept:
                self.kept[key] = interpolate.InterpolatedUnivariateSpline(X, X**self.power)
            return self.kept[key]

        def at(self, q):
            return self.spline()(q) * 2

    tables = Tables(1.5)
    expected = [tables.at(Q), tables.at(Q + 0.1)]
    jitted = tnp.jit(tables.at)
    assert_same([jitted(Q), jitted(Q + 0.1)], expected)
    assert "in parts" not in str(tnp.explain(jitted)) and "runs eagerly:" not in str(tnp.explain(jitted))
    tables.power = 2.5
    with pytest.warns(tnp.EagerFallbackWarning):  # it makes another spline
        assert_same(jitted(Q), Tables(2.5).at(Q))


STATE = hashlib.sha256(b"a")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_hashes():
    def made(x, name):
        state = hashlib.sha1(name.encode())
        state.update(str(len(x)).encode())
        return x + 1, state.hexdigest(), hashlib.blake2b(b"1").digest()

    def given(x):
        STATE.update(b"1")
        return x + 1, STATE.copy().hexdigest()

    def of_values(x):
        return hashlib.md5(x).hexdigest(), x + 1

    for f, args in ((made, (X, "a")), (made, (X[:3], "b")), (of_values, (X,)), (of_values, (Y,))):
        assert_same(tnp.jit(f)(*args), f(*args))
    jitted = tnp.jit(given)
    found = [jitted(X)[1] for _ in range(3)]
    assert len(set(found)) == 3 and given(X)[1] not in found
