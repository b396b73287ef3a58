"""Functions with a cache (``functools.lru_cache``): the prologue asks them at each call."""

import functools

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

SETTINGS = {"gain": 2.0}
CALLS = []
X = np.linspace(0, 1, 20)


@functools.lru_cache(maxsize=2)
def nodes(n, kind="legendre"):
    CALLS.append((n, kind))
    return np.polynomial.legendre.leggauss(n) if kind == "legendre" else np.polynomial.chebyshev.chebgauss(n)


@functools.cache
def checked(name, names):
    if name.lower() not in names:
        raise ValueError(f"{name} is none of {names}")
    return name.lower()


@functools.cache
def gain():
    return SETTINGS["gain"]


@functools.cache
def table():
    return np.arange(3.0)


@functools.cache
def of_an_array(x):
    return x


@pytest.fixture(autouse=True)
def _empty():
    for f in (nodes, checked, gain, table):
        f.cache_clear()
    SETTINGS["gain"] = 2.0


def integral(x, n, kind, how):
    points, weights = nodes(n, kind=kind)
    values = np.exp(-x[:, None] * points) * weights
    return gain() * (values.sum(axis=1) if checked(how, ("sum", "mean")) == "sum" else values.mean(axis=1))


def outcome(f, *args):
    CALLS.clear()
    try:
        return f(*args), list(CALLS)
    except ValueError as error:
        return str(error), list(CALLS)


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_a_function_with_a_cache_is_called_as_often_as_eager_calls_it():
    jitted = tnp.jit(integral)
    calls = [(X, n, kind, "SUM") for n in (4, 5, 4, 6, 5, 4) for kind in ("legendre", "chebyshev")]
    found = []
    for f in (integral, jitted, jitted):
        nodes.cache_clear()
        found.append([outcome(f, *args) for args in calls])
    assert_same(found[2], found[0])
    for f in (integral, jitted):
        assert outcome(f, X, 4, "legendre", "none")[0] == "none is none of ('sum', 'mean')"


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_what_a_cache_holds_counts_until_it_is_cleared():
    jitted = tnp.jit(integral)
    for value in (2.0, 3.0, 4.0):
        SETTINGS["gain"] = value
        assert_same(jitted(X, 4, "legendre", "sum"), integral(X, 4, "legendre", "sum"))
        gain.cache_clear()
        assert_same(jitted(X, 4, "legendre", "sum"), integral(X, 4, "legendre", "sum"))
    assert "1 program," in tnp.explain(jitted)


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_an_array_in_a_cache_is_the_same_object_and_may_be_changed():
    def f(x):
        t = table()
        t += x
        return t, table() is t

    jitted = tnp.jit(f)
    for _ in range(3):
        found, same = jitted(np.ones(3))
        assert found is table() and same
    assert_same(table(), np.arange(3.0) + 3)


def changes_before(x, settings):
    settings["gain"] = 5.0
    return x * gain()


def of_what_may_change(x):
    return of_an_array((x.shape, len))[0][0] + x


def asked_for_its_state(x):
    gain()
    return x + gain.cache_info().currsize


def called_by_a_library(x):
    return x + len(max([("sum",), ("mean", "sum")], key=of_an_array))


def in_a_branch(x):
    if x[0] > 0.5:
        x = x * gain()
    return x


@pytest.mark.parametrize("function", [changes_before, of_what_may_change, asked_for_its_state, called_by_a_library])
def test_what_python_runs(function):
    jitted = tnp.jit(function)
    with not_compiled_whole():
        for _ in range(2):
            args = (X, SETTINGS) if function is changes_before else (X,)
            gain.cache_clear()
            expected = function(*args)
            gain.cache_clear()
            assert_same(jitted(*args), expected)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_branches_that_call_a_function_with_a_cache():
    jitted = tnp.jit(in_a_branch)
    for x in (X, X + 1, X):
        gain.cache_clear()
        expected = in_a_branch(x), gain.cache_info().currsize
        gain.cache_clear()
        assert_same((jitted(x), gain.cache_info().currsize), expected)


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_what_a_cache_keeps_is_no_part_of_the_program():
    torch = pytest.importorskip("torch")
    inner = tnp.jit(lambda n: np.arange(n) * 2.0)

    @functools.cache
    def positions(n):
        return torch.arange(n, dtype=torch.float32) * 0.5 + torch.ones(n)

    @functools.cache
    def by_a_jitted_function(n):
        return inner(n)

    def of_torch(x):
        return x * positions(3) + positions(3).sum()

    def of_numpy(x):
        return x * by_a_jitted_function(3)

    for f, x in ((of_torch, torch.ones(3)), (of_numpy, np.ones(3))):
        jitted = tnp.jit(f)
        for _ in range(2):
            assert_same(jitted(x), f(x))
    assert type(positions(3)) is torch.Tensor and type(by_a_jitted_function(3)) is np.ndarray
    assert_same(tnp.grad(lambda x: of_numpy(x).sum())(np.ones(3)), np.array([0.0, 2.0, 4.0]))
