"""SciPy's root finders: the function is compiled with the search, and roots and errors are eager's."""

import functools

import numpy as np
import pytest
from scipy import optimize

import tnp
from tnp.testing import assert_same

FINDERS = [optimize.brentq, optimize.bisect]


def cubic(v, p, q):
    return v * v * v - p * v - q


def flat(v, p):
    return np.exp(v) - p - v**9


def programs(f, *calls):
    """Compares each call with eager; gives the number of programs, all of them whole."""
    jitted = tnp.jit(f)
    for args in calls:
        assert_same(jitted(*args), f(*args), rtol=1e-13)
    assert "in parts" not in str(tnp.explain(jitted)) and "runs eagerly:" not in str(tnp.explain(jitted))
    return tnp.cache_info(jitted).misses


@pytest.mark.parametrize("find", FINDERS)
def test_roots_of_many_functions_are_found_in_one_program(find):
    """Brent's method interpolates, extrapolates and bisects; nothing is compiled for the values."""

    def each(x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = find(cubic, 0.5, 5 + x[i], args=(x[i], 2.0))
        return out

    def one(p):
        return find(lambda v: flat(v, p), 0, 1.5 + p * 0.25, xtol=1e-9, rtol=1e-10)

    x = np.random.default_rng(0).random(60)
    assert programs(each, (x,), (x * 3,), (x[:20],)) <= 2
    assert programs(one, *((p,) for p in (0.5, 0.9, 0.3, 0.75, 0.1, 0.65))) == 1


@pytest.mark.parametrize("find", FINDERS)
def test_ends_that_are_roots(find):
    def f(a, b):
        return find(lambda v: v * v - 3 * v + a * 0, a, b), find(lambda v: v - b, a - 1.0, b)

    assert programs(f, (0, 2.5), (0, 2.75)) <= 2
    assert programs(f, (0.5, 3), (0.25, 3)) <= 2


@pytest.mark.parametrize("find", FINDERS)
def test_errors_are_scipys(find):
    """Of a root that is not between the ends, a value that is NaN, and too few iterations; and the same program finds roots."""

    def f(p, n):
        return find(lambda v: np.log(v) - p, 0.5, 3.0, maxiter=30 if n else 2, xtol=1e-3)

    def nan(p):
        return find(lambda v: np.where(v > p, np.nan, v - p / 2), 0.0, 3.0)

    jitted = tnp.jit(f)
    for p, n in ((0.5, True), (0.6, True), (5.0, True), (0.5, False), (0.7, True)):
        if (p, n) in ((5.0, True), (0.5, False)):
            with pytest.raises((ValueError, RuntimeError)) as expected:
                f(p, n)
            with pytest.raises(expected.type, match=str(expected.value).partition("(")[0]):
                jitted(p, n)
        else:
            assert_same(jitted(p, n), f(p, n), rtol=1e-13)
    with pytest.raises(ValueError, match="is NaN; solver cannot continue"):
        tnp.jit(nan)(1.0)


@pytest.mark.filterwarnings("ignore:.* runs in parts")
def test_reports_effects_and_errors_of_the_function():
    """A result with a report is SciPy's own; what the function appends is there, and what it raises is raised."""

    def report(p):
        root, found = optimize.brentq(lambda v: v * v - p, 0.0, p + 1.0, full_output=True)
        return root, found.iterations, found.converged

    def effects(p):
        seen = []

        def f(v):
            seen.append(v)
            return v * v - p

        return optimize.brentq(f, 0.0, p + 1.0), seen

    def raising(p):
        def f(v):
            if v > 5:
                raise KeyError(v)
            return v * v - p

        return optimize.brentq(f, 0.0, p + 1.0)

    jitted = tnp.jit(report)
    for p in (2.0, 3.0, 5.0):
        assert jitted(p) == report(p)
    jitted = tnp.jit(effects)
    for p in (2.0, 3.0):
        assert jitted(p) == effects(p)
    jitted = tnp.jit(raising)
    assert jitted(2.0) == raising(2.0)
    with pytest.raises(KeyError):
        jitted(9.0)


def test_newtons_method_and_the_secant_method_are_compiled():
    """Also in a loop, with derivatives, from whole numbers, and where the tolerance is wide."""

    def kepler(anomalies, e):
        out = np.zeros(len(anomalies))
        for i, m in enumerate(anomalies):
            out[i] = optimize.newton(lambda v: v - e * np.sin(v) - m, m, lambda v: 1 - e * np.cos(v), maxiter=100)
        return out

    def secant(p, x):
        f = functools.partial(cubic, p=p, q=2.0)
        return (
            optimize.newton(f, 3),
            optimize.newton(cubic, x, args=(p, 4.0), tol=1e-3, rtol=1e-2),
            [type(optimize.newton(f, x))],
        )

    def slope_without_values(p):
        return optimize.newton(lambda v: v**3 - p, 1.0, lambda v: 3 * v**2)

    assert programs(kepler, (np.linspace(0.1, 6, 40), 0.3), (np.linspace(0.1, 5, 30), 0.8)) <= 2
    assert programs(secant, (2.0, 3.5), (2.5, 4.0), (3.0, 5.0)) == 1
    assert programs(slope_without_values, (2.0,), (3.0,), (0.5,)) == 1


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "start", [1.0, 1, np.float32(1), np.array(1.0), np.array([1.0]), np.array([1.0, 3.0]), 1.0 + 1j], ids=repr
)
def test_starts_of_newtons_method(start):
    """Roots have the types of SciPy's; those of arrays and complex numbers are not looked for here."""

    def f(p):
        return optimize.newton(lambda v: v * v - p, start)

    jitted = tnp.jit(f)
    for p in (2.0, 3.0):
        assert_same(jitted(p), f(p), rtol=1e-12)


def test_newtons_errors_are_scipys():
    """Of a slope of zero, of a secant that is level, and of too few steps."""

    def level(p):
        return optimize.newton(lambda v: v * 0 + p, 1.0)

    def slope(p):
        return optimize.newton(lambda v: v * v + p, 0.0, lambda v: 2 * v)

    def steps(p):
        return optimize.newton(lambda v: v * v - p, 50.0, maxiter=3)

    def caught(p):
        try:
            return optimize.newton(lambda v: v * v + p, p)
        except RuntimeError:
            return -1.0

    for f in (level, slope, steps):
        with pytest.raises(RuntimeError) as expected:
            f(2.0)
        with pytest.raises(RuntimeError, match=str(expected.value)[:20]):
            tnp.jit(f)(2.0)
    assert tnp.jit(caught)(2.0) == -1.0
