"""``scipy.integrate.quad``: the function is compiled with the quadrature, and integrals and warnings are eager's."""

import numpy as np
import pytest
from scipy import integrate, optimize

import tnp
from tnp.capture.libraries.numpy import quadrature
from tnp.testing import assert_same


def programs(f, *calls, rtol=1e-12, error_rtol=1e-5):
    """Compares each call with eager: integrals, and errors of integrals, which hang on rounding; gives the number of programs, all of them
    whole."""
    jitted = tnp.jit(f)
    for args in calls:
        for found, expected in zip(jitted(*args), f(*args), strict=True):
            if isinstance(expected, tuple):
                assert [type(x) for x in found] == [float, float]
                assert_same(found[0], expected[0], rtol=rtol)
                assert found[1] == pytest.approx(expected[1], rel=error_rtol, abs=1e-11)
            else:
                assert_same(found, expected, rtol=rtol)
    text = str(tnp.explain(jitted))
    assert "in parts" not in text and "runs eagerly:" not in text, text
    return tnp.cache_info(jitted).misses


@pytest.mark.parametrize("rule", ["15", "21"])
def test_rules_are_exact_for_polynomials(rule):
    """Kronrod's for degrees up to 3n + 1, Gauss's up to 2n - 1, where it has n nodes."""
    nodes, kronrod, gauss = (getattr(quadrature, f"_{name}_{rule}") for name in ("NODES", "KRONROD", "GAUSS"))
    n = np.count_nonzero(gauss)
    for weights, degree in ((kronrod, 3 * n + 1), (gauss, 2 * n - 1)):
        for k in range(degree + 1):
            assert abs((weights * nodes**k).sum() - (2 / (k + 1) if k % 2 == 0 else 0)) < 1e-15


def test_integrals_in_a_loop_are_one_program():
    def distances(z, omega):
        out = np.zeros(len(z))
        for i in range(len(z)):
            out[i] = integrate.quad(lambda x: 1 / np.sqrt(omega * (1 + x) ** 3 + 1 - omega), 0, z[i])[0]
        return (out,)

    z = np.linspace(0.0, 3.0, 40)
    assert programs(distances, (z, 0.3), (z[::-1].copy(), 0.2), (z[:17], 0.25)) <= 2


def test_ends_of_every_kind():
    """Numbers of the caller's and of the program, in both orders, equal ones, and infinite ones."""

    def f(a, b):
        g = lambda x: np.exp(-a * x * x) / (1 + b * x * x)  # noqa: E731
        return (
            integrate.quad(g, a, b), integrate.quad(g, b, a), integrate.quad(g, a, a + b), integrate.quad(g, 0, 2),
        )  # fmt: skip

    def endless(a):
        g = lambda x: np.exp(-a * abs(x)) / (1 + x * x)  # noqa: E731
        return (
            integrate.quad(g, a, np.inf), integrate.quad(g, -np.inf, a), integrate.quad(g, np.inf, a),
            integrate.quad(g, a, -np.inf), integrate.quad(g, -np.inf, np.inf), integrate.quad(g, np.inf, -np.inf),
        )  # fmt: skip

    assert programs(f, (0.5, 2.0), (2.0, 0.5), (1.0, 1.0), (0.25, 3.0)) == 1
    assert programs(endless, (0.5,), (2.0,), (1.5,)) == 1


def test_functions_that_are_hard_to_integrate():
    """Intervals are halved, and sums are extrapolated where the function has no finite value or slope."""

    def f(a):
        return (
            integrate.quad(lambda x: x ** (-0.5) * np.log(a * x), 0, 1),
            integrate.quad(lambda x: abs(x - a) ** 0.5, 0, 1),
            integrate.quad(lambda x: np.sin(50 * a * x) ** 2, 0, 5, limit=100),
            integrate.quad(lambda x: 1.0 if x < a else 2.0, 0, 1),
            integrate.quad(lambda x: np.log(x) ** 2 * a, 0, 1, epsabs=0, epsrel=1e-11),
            integrate.quad(lambda x, p, q: np.cos(p * x) / (q + x), 0, 30, args=(a, 0.1)),
            integrate.quad(lambda x: 1 / (1e-4 + (x - a) ** 2), 0, 1, epsrel=1e-10, limit=200),
        )

    assert programs(f, (0.3,), (0.7,), (0.35,), rtol=1e-9) == 1


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning", "ignore::tnp.EagerFallbackWarning")
def test_integrals_that_scipy_warns_of_and_other_ways_to_call_it():
    """Their results are SciPy's own, and so are warnings, reports, break points and weights."""

    def divergent(a):
        return integrate.quad(lambda x: a / x, 0, 1)

    def few(a):
        return integrate.quad(lambda x: np.sin(100 * a * x) ** 2, 0, 9, limit=3)

    def others(a):
        g = lambda x: np.exp(-a * x)  # noqa: E731
        return (
            integrate.quad(g, 0, 1, points=[0.25]), integrate.quad(g, 0, 1, weight="cos", wvar=a),
            integrate.quad(g, 0, 1, full_output=1)[0], integrate.quad(lambda x: np.exp(1j * a * x), 0, 1, complex_func=True),
        )  # fmt: skip

    for f in (divergent, few):
        jitted = tnp.jit(f)
        for a in (0.5, 0.75):
            with pytest.warns(integrate.IntegrationWarning):
                found = jitted(a)
            assert_same(found, f(a))
    assert_same(tnp.jit(others)(0.5), others(0.5))


def test_what_the_function_does_besides():
    """Its effects are in SciPy's order of calls, and its errors are raised."""

    def effects(a):
        seen = []

        def g(x):
            seen.append(x)
            return np.exp(-a * abs(x))

        return integrate.quad(g, 0, 1), seen

    def raising(a):
        def g(x):
            if x > a:
                raise KeyError("too large")
            return x

        return integrate.quad(g, 0.0, 1.0)

    jitted = tnp.jit(effects)
    for a in (0.5, 0.75):
        assert_same(jitted(a)[-1], effects(a)[-1])
    jitted = tnp.jit(raising)
    assert jitted(2.0) == raising(2.0)
    with pytest.raises(KeyError, match="too large"):
        jitted(0.5)


def test_integrals_of_integrals():
    def f(a):
        return (integrate.quad(lambda x: integrate.quad(lambda y: np.exp(-a * x * y), 0, x)[0], 0, 1),)

    assert programs(f, (0.5,), (0.75,)) == 1


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_ends_that_turn_out_to_be_infinite_or_equal():
    """SciPy takes another rule for an infinite end, and does not call the function for an empty range."""

    def f(a, b):
        asked = np.zeros(1)

        def g(x):
            asked[0] += 1
            return a / (1 + x**4)

        return integrate.quad(g, 0.5, b)[0], asked

    jitted = tnp.jit(f)
    for b in (2.0, 0.5, np.inf, 0.75, -np.inf):
        found, expected = jitted(1.5, b), f(1.5, b)
        assert_same(found, expected, rtol=1e-12)

    def strict(a, b):
        return integrate.quad(lambda x: 1 / (1 + a * x * x) if x == x else 1 // 0, 0, b)

    jitted = tnp.jit(strict)
    for b in (2.0, np.inf):
        assert_same(jitted(1.5, b)[0], strict(1.5, b)[0], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_name_that_the_function_counts_calls_in():
    def f(a, find):
        calls = 0

        def g(x):
            nonlocal calls
            calls += 1
            return x * x * x - a

        return find(g), calls

    for find in (lambda g: integrate.quad(g, 0.0, 3.0), lambda g: optimize.brentq(g, -3.0, 3.0)):
        jitted = tnp.jit(f)
        for a in (1.5, 2.5):
            assert jitted(a, find)[1] == f(a, find)[1]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_lists_of_ends_do_not_take_a_loop_each():
    """A comprehension over a list is written out. Only its first integrals are compiled."""

    def f(ends):
        return [integrate.quad(lambda x: np.exp(-x * x), 0, end)[0] for end in ends]

    jitted = tnp.jit(f)
    for n in (30, 40):
        ends = [np.float64(0.1 * k) for k in range(n)]
        assert_same(jitted(ends), f(ends), rtol=1e-12)
    text = str(tnp.explain(jitted))
    assert text.count("in a loop, ") < 20, text
