"""Interpolants of SciPy's that a program makes of its arrays."""

import itertools

import numpy as np
import pytest
from scipy import interpolate

import tnp
from tests.eager_checks import compiled_whole, whole
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
X = np.sort(RNG.random(30))
Y = RNG.random(30)
AT = np.linspace(0.2, 0.7, 11)


@pytest.mark.parametrize(
    "kind", ["linear", "nearest", "nearest-up", "previous", "next", "slinear", "quadratic", "cubic", 3]
)
def test_kinds(kind):
    whole(lambda x, y, at: interpolate.interp1d(x, y, kind=kind)(at), X, Y, AT)


@pytest.mark.parametrize("options", [{}, {"fill_value": "extrapolate"}, {"bounds_error": False}])
@pytest.mark.parametrize("kinds", ["dd", "ld", "dl", "dD"])
@pytest.mark.parametrize("width", [0, 2])
def test_steps_between_equal_knots(options, kinds, width):
    """SciPy leaves some of the lines to ``np.interp``, which takes the last value of a step where its own code takes the first."""
    x, y = np.array([0, 0, 1, 1, 2, 3, 3]).astype(kinds[0]), np.array([-1, 4, 0, 7, 2, 5, 3]).astype(kinds[1])
    y = np.stack([y, y + 1], 1) if width else y
    at = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3])
    program = lambda x, y, at: interpolate.interp1d(x, y, axis=0, **options)(at)  # noqa: E731
    with np.errstate(invalid="ignore", divide="ignore"):
        whole(program, x, y, at)
        made = interpolate.interp1d(x, y, axis=0, **options)
        assert_same(tnp.jit(lambda made, at: made(at) + 1)(made, at), made(at) + 1)


@pytest.mark.parametrize(
    "options",
    [{"fill_value": "extrapolate"}, {"bounds_error": False}, {"bounds_error": False, "fill_value": (1.0, 2.0)}],
)
@pytest.mark.parametrize("kind", ["linear", "nearest", "cubic"])
def test_points_outside(kind, options):
    whole(lambda x, y, at: interpolate.interp1d(x, y, kind=kind, **options)(at), X, Y, np.linspace(-1, 2, 9))


@pytest.mark.parametrize("dtype", ["f8", "i8"])
@pytest.mark.parametrize("options", [{}, {"fill_value": "extrapolate"}, {"bounds_error": False, "fill_value": -1.0}])
def test_points_of_one_abscissa(options, dtype):
    """``np.interp`` computes some of them, and a formula that divides by nothing the others."""

    def f(x, y, at):
        return interpolate.interp1d(x, y, **options)(at), interpolate.interp1d(x, np.stack([y, 2 * y]), **options)(at)

    x, y = np.array([1, 1, 3, 3, 4]), np.array([0, 1, 5, 2, 2])
    at = np.array([1.0, 1.5, 3.0, 3.5, 4.0])
    with np.errstate(all="ignore"):
        whole(f, x.astype(dtype), y.astype(float), at)
        whole(f, x.astype(float), y, at)
        made, jitted = interpolate.interp1d(x, y, **options), tnp.jit(lambda g, at: g(at))
        assert_same(jitted(made, at), made(at))


SPLINES = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")


@pytest.mark.parametrize(("made", "of"), [*itertools.product(SPLINES, "fiH?e"), ("CubicSpline", "F")])
def test_other_numbers_are_doubles_in_splines(made, of):
    """SciPy's splines compute with doubles, whatever they are made of."""
    cls = getattr(interpolate, made)
    x, y = np.arange(12) if of in "F?" else np.arange(12).astype(of), (np.cos(np.arange(12)) * 5 + 5).astype(of)
    whole(lambda x, y, at: cls(x, y)(at), x, y, AT * 9)
    whole(lambda x, y, at: cls(x, y)(at), x, y, (AT * 9).astype("f"))


def test_points_outside_raise():
    jitted = tnp.jit(lambda x, y, at: interpolate.interp1d(x, y)(at))
    jitted(X, Y, AT)
    with pytest.raises(ValueError, match="above the interpolation range"):
        jitted(X, Y, AT * 3)


def test_ranges_lists_and_tables():
    def f(y, listed, rows, at):
        a = interpolate.interp1d(range(len(y)), y)(at)
        b = interpolate.interp1d(listed, y, kind="cubic")(at)
        c = interpolate.interp1d(np.arange(len(y)), rows)(at)
        d = interpolate.interp1d(np.arange(len(y)), rows.T, axis=0)(at)
        return a, b, c, d, interpolate.interp1d(np.arange(len(y)), y)(3.5)

    whole(f, Y, list(range(30)), np.stack([Y, 2 * Y]), AT * 30)


def test_unsorted_and_written_before():
    def f(x, y, at):
        y[0] = 1
        return interpolate.interp1d(x, y)(at), interpolate.interp1d(x, y, kind="nearest")(at)

    whole(f, X[::-1], Y, AT)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_splines(name):
    whole(lambda x, y, at: getattr(interpolate, name)(x, y)(at), X, Y, AT)
    whole(lambda x, y, at: getattr(interpolate, name)(x, y, axis=1)(at), X, np.stack([Y, Y + 1]), AT)


def test_options_of_splines():
    whole(lambda x, y, at: interpolate.CubicSpline(x, y, bc_type="natural", extrapolate=False)(at, 1), X, Y, AT * 2)


def test_errors_of_constructors_are_eagers():
    jitted = tnp.jit(lambda x, y, at: interpolate.CubicSpline(x, y)(at))
    jitted(X, Y, AT)
    with pytest.raises(ValueError, match="strictly increasing"):
        jitted(X[::-1].copy(), Y, AT)


def test_values_that_are_no_numbers():
    jitted = tnp.jit(lambda x, y, at: interpolate.interp1d(x, y, kind="cubic")(at))
    assert_same(jitted(X, Y, AT), interpolate.interp1d(X, Y, kind="cubic")(AT))
    y = Y.copy()
    y[3] = np.nan
    with pytest.warns(tnp.EagerFallbackWarning):
        assert_same(jitted(X, y, AT), interpolate.interp1d(X, y, kind="cubic")(AT))


def test_classes_are_the_users():
    def f(x, y):
        made = interpolate.interp1d(x, y)
        return isinstance(made, interpolate.interp1d), type(made) is interpolate.interp1d, callable(made), made(0.5)

    whole(f, X, Y)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_is_done_otherwise_is_pythons():
    def returned(x, y):
        return interpolate.interp1d(x, y)

    def asked(x, y):
        made = interpolate.CubicSpline(x, y)
        return made.derivative()(0.4), made.c

    def written(x, y):
        made = interpolate.CubicSpline(x, y)
        x[0] = -1
        return made(0.4)

    def written_before(x, y):
        y[0] = 1
        return interpolate.CubicSpline(x, y)(0.4)

    for f in (asked, written, written_before):
        assert_same(tnp.jit(f)(X.copy(), Y), f(X.copy(), Y))
    assert type(tnp.jit(returned)(X, Y)) is interpolate.interp1d


def test_fill_values_and_loops():
    def f(x, rows, at):
        first = interpolate.interp1d(x, rows[0], bounds_error=False, fill_value=rows[0, -1])(at)
        both = interpolate.interp1d(x, rows[1], bounds_error=False, fill_value=(rows[1, 0], rows[1, -1]))(at)
        found = np.zeros((at.size, len(rows)))
        for i in range(len(rows)):
            inter = interpolate.interp1d(
                x * (i + 1), rows[i], bounds_error=False, fill_value=rows[i, -1], kind="linear"
            )
            found[:, i] += inter(at)
        return first, both, found

    whole(f, X, RNG.random((40, 30)), np.linspace(-1, 2, 9))


@pytest.mark.parametrize("kind", ["linear", "nearest", "nearest-up", "previous", "next", "zero"])
@pytest.mark.parametrize("fill", ["extrapolate", 0.0, (1, 2), ([1.0, 2.0, 3.0], 4.0), ([[1.0]], [1.0, 2.0, 3.0])])
def test_points_outside_of_rows(kind, fill):
    def f(x, rows, at):
        return interpolate.interp1d(x, rows, kind, 0, False, False, fill)(at)

    at = np.concatenate([np.linspace(-1, 2, 9), X[:3], X[-3:], [np.nan]])
    if type(fill) is tuple and np.ndim(fill[0]) == 2:
        with pytest.raises(ValueError, match="must be able to broadcast"), pytest.warns(tnp.EagerFallbackWarning):
            tnp.jit(f)(X, RNG.random((30, 3)), at)
        return
    whole(f, X, RNG.random((30, 3)), at)


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous", "next", "zero"])
def test_one_program_for_arrays_of_any_length(kind):
    def f(x, y, at):
        return interpolate.interp1d(x, y, kind=kind, bounds_error=False, fill_value=(y[0], y[-1]))(at).sum()

    jitted = tnp.jit(f, strict=True)
    for n in (30, 45, 7, 200, 31):
        x, y, at = RNG.random(n), RNG.random(n), RNG.random(3 * n)
        assert_same(jitted(x, y, at), f(x, y, at), rtol=1e-12)
    assert tnp.cache_info(jitted).misses <= 2


def test_arrays_that_are_written_after_they_were_interpolated():
    def f(x, y, at):
        made = interpolate.interp1d(x, y, assume_sorted=True)
        y[:] = 0
        return made(at)

    whole(f, X.copy(), Y.copy(), AT)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x, y: interpolate.interp1d(x, y[:-1]), "must be equal in length"),
        (lambda x, y: interpolate.interp1d(x, y, "linear", x=x), "multiple values"),
        (lambda x, y: interpolate.interp1d(x, y, fill_value="extrapolate", bounds_error=True), "Cannot extrapolate"),
        (lambda x, y: interpolate.interp1d(x, y, "linear", 1), "out of range"),
        (lambda x, y: interpolate.interp1d(x[:1], y[:1])(x), "above|below"),
        (lambda x, y: interpolate.interp1d(np.append(x, x[-1]), np.append(y, 1), "zero")(x), "not have duplicates"),
    ],
)
def test_errors_of_interp1d_are_eagers(call, match):
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, IndexError), match=match):
            call(X, Y)
        with pytest.raises((ValueError, TypeError, IndexError), match=match):
            tnp.jit(call)(X, Y)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "interp1d"])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_one_program_for_splines_of_any_length(name, columns):
    options = {"kind": "cubic", "axis": 0, "fill_value": "extrapolate"} if name == "interp1d" else {}

    def given(x, y, at):
        return getattr(interpolate, name)(x, y, **options)(at)

    def found(x, y, at):
        chosen = np.nonzero(x > 0.3)[0]
        return getattr(interpolate, name)(x[chosen], y[chosen], **options)(at)

    for f in (given, found):
        jitted = tnp.jit(f, strict=True)
        for n in (30, 45, 10, 200, 31):
            x, y, at = np.sort(RNG.random(n)), RNG.random((n, *columns)), RNG.random(3 * n)
            assert_same(jitted(x, y, at), f(x, y, at), rtol=1e-9)
        assert tnp.cache_info(jitted).misses <= 2


def test_splines_of_too_few_points_raise_as_eager():
    def f(x, y):
        chosen = np.nonzero(y > 0)[0]
        return interpolate.CubicSpline(x[chosen], y[chosen])(x)

    jitted = tnp.jit(f, strict=True)
    for n in (9, 3, 2, 1, 0):
        y = np.where(np.arange(30) < n, Y, -1)
        if n < 2:
            with pytest.raises(ValueError, match="at least 2 elements"):
                jitted(X, y)
        else:
            assert_same(jitted(X, y), f(X, y), rtol=1e-9)


@pytest.mark.parametrize(
    "made",
    [
        interpolate.make_interp_spline,
        interpolate.CubicSpline,
        interpolate.InterpolatedUnivariateSpline,
        lambda x, y: interpolate.interp1d(x, y, kind="quadratic"),
    ],
)
def test_one_program_for_objects_of_any_length(made):
    jitted = tnp.jit(lambda g, at: g(at) + 1, strict=True)
    for n in (30, 45, 10, 200, 31):
        x, y = np.sort(RNG.random(n)), RNG.random(n)
        g, at = made(x, y), np.linspace(x[0], x[-1], 50)
        assert_same(jitted(g, at), g(at) + 1, rtol=1e-9)
    assert tnp.cache_info(jitted).misses <= 2


def test_splines_in_loops():
    def counted(x, rows, at):
        total = np.zeros_like(at)
        for i in range(len(rows)):
            if rows[i, 0] > 0.5:
                total += interpolate.CubicSpline(x, rows[i])(at)
        return total

    def shorter(x, rows, at):
        y, k = rows[0], 0
        while True:
            keep = y > 0.3
            found = interpolate.CubicSpline(x[keep], y[keep])(at)
            y, k = y * 0.9, k + 1
            if found.max() < 1 or k > 4 or keep.sum() < 6:
                return found, k

    for f in (counted, shorter):
        jitted = tnp.jit(f)
        for n in (20, 20, 30, 31, 32):
            x, rows, at = np.linspace(0, 1, n), RNG.random((7, n)), np.linspace(0, 1, n + 5)
            assert_same(jitted(x, rows, at), f(x, rows, at), rtol=1e-9)
        assert compiled_whole(jitted), tnp.explain(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_methods_of_splines_in_c():
    def given(spline, t):
        return spline.integrate(0, 1) * 2, spline(t)

    def made(x, y, t):
        spline = interpolate.CubicSpline(x, y)
        return spline.integrate(0, 1), spline.derivative()(t), spline.c

    spline, t = interpolate.CubicSpline(X, Y), np.linspace(0, 1, 5)
    for _ in range(2):
        assert_same(tnp.jit(given)(spline, t), given(spline, t))
        assert_same(tnp.jit(made)(X, Y, t), made(X, Y, t))
