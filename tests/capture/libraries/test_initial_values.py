"""``scipy.integrate.solve_ivp`` by explicit Runge-Kutta methods: the loop of its steps is compiled, and takes SciPy's steps."""

import numpy as np
import pytest
from scipy import integrate

import tnp
from tnp.testing import assert_same

MANY = np.linspace(0.0, 4.0, 33)


def programs(f, *calls, rtol=1e-9):
    """Compares each call with eager; gives the number of programs, all of them whole."""
    jitted = tnp.jit(f)
    for args in calls:
        assert_same(jitted(*args), f(*args), rtol=rtol)
    text = str(tnp.explain(jitted))
    assert "in parts" not in text and "runs eagerly:" not in text, text
    return tnp.cache_info(jitted).misses


@pytest.mark.parametrize("method", ["RK45", "RK23", integrate.RK45])
def test_at_given_times_and_at_the_steps(method):
    def at_times(y0, k):
        s = integrate.solve_ivp(lambda t, y: [y[1], -k * y[0] - 0.1 * t * y[1]], (0, 4), y0, method, MANY)
        return s.y, s.t, s.nfev, s.success, s.status, s.message, s["y"][0].max()

    def at_steps(y0, k):
        s = integrate.solve_ivp(lambda t, y: [y[1], -k * y[0] - 0.1 * t * y[1]], (0, 4), y0, method=method, rtol=1e-5)
        return s.y, s.t, s.nfev, s.t_events, s.sol

    calls = [(np.array([1.0, 0.0]), 2.0), (np.array([0.3, -1.0]), 9.0), (np.array([0.0, 0.0]), 1.0)]
    assert programs(at_times, *calls) <= 2
    assert programs(at_steps, *calls) <= 2


def test_backwards_arguments_and_largest_steps():
    def f(y0, a, b):
        back = integrate.solve_ivp(
            lambda t, y, a, b: a * y - b * t, (4, 0), y0, t_eval=MANY[::-1], args=(a, b), max_step=0.1
        )
        there = integrate.solve_ivp(lambda t, y, a, b: a * y - b * t, [0, 4], y0, args=(a, b), atol=1e-9, max_step=0.5)
        return back.y, back.t, there.y[:, -1], there.nfev

    assert programs(f, (np.array([1.0, 2.0, 3.0]), -0.7, 0.2), (np.array([0.0, -2.0, 5.0]), 0.3, 0.1)) <= 2


def test_ends_and_states_that_the_program_computes():
    def f(x, end):
        first = integrate.solve_ivp(lambda t, y: -y * x[:2], (0.0, end), [x[0], 2.0], t_eval=np.linspace(0, end, 5))
        second = integrate.solve_ivp(lambda t, y: np.cos(t) * y, (end, end + 1), first.y[:, -1])
        return first.y, second.y[:, -1] * 2

    assert programs(f, (np.array([1.0, 2.0, 3.0]), 2.0), (np.array([3.0, 0.5, 1.0]), 1.5)) <= 2


def test_a_system_of_many_variables_in_a_loop():
    """Diffusion on a line, from several states."""

    def f(states, d):
        def rhs(t, u):
            du = np.zeros_like(u)
            du[1:-1] = d * (u[2:] - 2 * u[1:-1] + u[:-2])
            return du

        out = np.empty_like(states)
        for k in range(len(states)):
            out[k] = integrate.solve_ivp(rhs, (0, 1), states[k], t_eval=[0.5, 1.0]).y[:, -1]
        return out

    states = np.random.default_rng(0).random((20, 30))
    assert programs(f, (states, 0.5), (states[::-1].copy(), 2.0)) <= 2


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_what_scipy_refuses_or_reports_is_eagers():
    def decays(y0, times):
        s = integrate.solve_ivp(lambda t, y: -y, (0, 2), y0, t_eval=times)
        return s.y, s.t

    def explodes(y0):
        s = integrate.solve_ivp(lambda t, y: y * y, (0, 5), y0)
        return s.status, s.message, s.success

    def one(y0):
        return integrate.solve_ivp(lambda t, y: -y[0], (0, 2), y0).y

    def raises(y0):
        def rhs(t, y):
            if y[0] < 0.2:
                raise KeyError("small")
            return -y

        return integrate.solve_ivp(rhs, (0, 2), y0).y

    y0 = np.array([1.0])
    for times in (np.array([0.5, 3.0]), np.array([1.0, 0.5]), np.array([-1.0, 0.5])):
        with pytest.raises(ValueError, match="t_eval"):
            tnp.jit(decays)(y0, times)
    with np.errstate(all="ignore"):
        assert tnp.jit(explodes)(y0) == explodes(y0)
    assert_same(tnp.jit(one)(y0), one(y0), rtol=1e-9)
    with pytest.raises(KeyError, match="small"):
        tnp.jit(raises)(y0)
    for options in (
        {"method": "LSODA"},
        {"dense_output": True},
        {"events": lambda t, y: y[0] - 0.5},
        {"first_step": 0.1},
    ):
        f = lambda y0, options=options: integrate.solve_ivp(lambda t, y: -2 * y, (0, 2), y0, **options).y * 2  # noqa: E731
        assert_same(tnp.jit(f)(y0), f(y0), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* runs ")
def test_the_result_itself():
    def f(y0):
        return integrate.solve_ivp(lambda t, y: -y, (0, 2), y0, t_eval=[1.0, 2.0])

    y0 = np.array([1.0, 3.0])
    found, expected = tnp.jit(f)(y0), f(y0)
    assert type(found) is type(expected)
    assert_same(found.y, expected.y, rtol=1e-9)


def test_calls_of_the_function_have_effects():
    def f(y0):
        seen = []

        def rhs(t, y):
            seen.append(t)
            return -y

        s = integrate.solve_ivp(rhs, (0, 2), y0)
        return s.y, len(seen), s.nfev

    y0 = np.array([1.0, 3.0])
    assert_same(tnp.jit(f)(y0), f(y0), rtol=1e-9)


def test_sizes_that_vary():
    def f(y0, times):
        return integrate.solve_ivp(lambda t, y: -y * np.arange(1.0, len(y) + 1), (0, 2), y0, t_eval=times).y

    calls = [(np.ones(n), np.linspace(0, 2, m)) for n, m in ((3, 4), (3, 9), (3, 17), (5, 17), (2, 6), (3, 1))]
    assert programs(f, *calls) <= 6
