"""Functions whose parts are compiled, though NumPy has them whole: medians, histograms, searches, comparisons, weighted means."""

import warnings

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tests.sampling import one_of
from tnp.executors import llvm
from tnp.testing import assert_same

# The tests look for native code in programs, which there is only where LLVM can compile.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="LLVM cannot compile for this machine")

EDGES = np.array([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0])

SIZES = [3, 9, 60, 300]

FUNCTIONS = {
    "allclose": lambda x: np.allclose(x, x + 1e-9),
    "array_equal": lambda x: (np.array_equal(x, x + 0), np.array_equal(x, x + 1)),
    "median": lambda x: np.median(x),
    "medians of rows": lambda x: np.median(x.reshape(-1, 3), axis=1),
    "deviation from the median": lambda x: np.median(np.abs(x - np.median(x))),
    "percentiles": lambda x: np.percentile(x, [25, 75]),
    "quantile": lambda x: np.quantile(x, 0.9),
    "nanmedian": lambda x: np.nanmedian(x),
    "nanpercentile": lambda x: np.nanpercentile(x, 30),
    "histogram": lambda x: np.histogram(x, bins=7),
    "histogram of a range": lambda x: np.histogram(x, bins=5, range=(-1, 1)),
    "histogram of edges": lambda x: np.histogram(x, bins=EDGES),
    "weighted mean": lambda x: np.average(x, weights=np.abs(x)),
    "searchsorted": lambda x: (np.searchsorted(EDGES, x), np.searchsorted(EDGES, x, side="right")),
    "digitize": lambda x: (np.digitize(x, EDGES), np.digitize(x, EDGES[::-1], right=True)),
    "interp": lambda x: (np.interp(x, EDGES[[0, 1, 2, 4, 5]], EDGES[:5]), np.interp(0.1, np.sort(x[:20]), x[:20])),
    "isin": lambda x: np.isin(x, x[:3] + 0),
    "pseudoinverse": lambda x: np.linalg.pinv(x.reshape(-1, 3)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, size):
    """Each function has float64 in each size, and each of the other dtypes in some."""
    function = FUNCTIONS[name]
    jitted = tnp.jit(function)
    r = np.random.default_rng(size)
    for dtype in ("float64", *one_of(("float32", "int64"), list(FUNCTIONS).index(name) + SIZES.index(size))):
        x = (r.standard_normal(size) * (5 if dtype == "int64" else 1)).astype(dtype)
        with within_bounds():
            made = jitted(x)
        assert_same(made, function(x), rtol=1e-5 if dtype == "float32" else 1e-9)
    assert "llvm_fusion" in str(tnp.last_traces(jitted)[-1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, odd):
    function = FUNCTIONS[name]
    x = np.random.default_rng(1).standard_normal(30)
    x[[4, 17]] = odd
    try:
        expected = function(x)
    except (ValueError, np.linalg.LinAlgError) as error:
        with pytest.raises(type(error), match=str(error).replace("[", ".").replace("]", ".")):
            tnp.jit(function)(x)
        return
    assert_same(tnp.jit(function)(x), expected, rtol=1e-9)


@pytest.mark.parametrize("function", [FUNCTIONS["median"], FUNCTIONS["percentiles"], FUNCTIONS["histogram"]])
def test_nothing(function):
    for x in (np.zeros(0), np.zeros(1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = function(x)
            except Exception as error:
                with pytest.raises(type(error)):
                    tnp.jit(function)(x)
            else:
                assert_same(tnp.jit(function)(x), expected)


def test_an_array_that_is_not_sorted():
    """NumPy finds something; it is the same."""
    a, x = np.array([3.0, 1.0, 2.0, np.nan]), np.array([0.5, 2.5, np.nan])
    function = lambda a, x: np.searchsorted(a, x) + np.searchsorted(a[:3], x) + np.searchsorted(a[3:], x)  # noqa: E731
    assert_same(tnp.jit(function)(a, x), function(a, x))


def test_errors():
    weights = tnp.jit(lambda x, w: np.average(x, weights=w) * 2)
    assert_same(weights(np.ones(3), np.ones(3)), np.float64(2))
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        weights(np.ones(3), np.array([1.0, -1.0, 0.0]))
    bins = tnp.jit(lambda x, edges: np.histogram(x, bins=edges)[0])
    assert_same(bins(np.ones(3), EDGES), np.histogram(np.ones(3), bins=EDGES)[0])
    with pytest.raises(ValueError, match="must increase monotonically"):
        bins(np.ones(3), EDGES[::-1].copy())


def looked_up(ts, us, xs):
    out = np.zeros(len(xs))
    for i, x in enumerate(xs):
        left, right = np.searchsorted(ts, x), np.searchsorted(ts, x, side="right")
        out[i] = left + 10 * right + np.interp(x, ts, us)
    return out


def followed(ts, us, dt, n):
    y = np.zeros(n + 1)
    for i in range(n):
        y[i + 1] = y[i] + dt * (np.interp(i * dt, ts, us) - y[i])
    return y


@pytest.mark.parametrize("knots", [2, 30, 1000])
def test_searches_in_loops(knots):
    r = np.random.default_rng(knots)
    ts, us = np.sort(r.random(knots)), r.random(knots)
    xs = np.concatenate([r.random(50) * 1.2 - 0.1, ts[:2], ts[-2:], [np.nan, np.inf, -np.inf]])
    for function, args in ((looked_up, (ts, us, xs)), (followed, (ts, us, 0.01, 90))):
        jitted = tnp.jit(function)
        assert_same(jitted(*args), function(*args), rtol=1e-12)
        assert "is native" in tnp.explain(jitted)


def positions(x, i):
    m = (x[:, None] > x[None, :]).sum(axis=1)
    return np.arange(100.0)[m] - x, np.arange(0, 300, 3)[np.cumsum(i)], m


def test_elements_of_a_range():
    """An element of a range at a computed position is that position, times a step: what it is computed of is read."""
    x, i = np.random.default_rng(0).random(50), np.arange(50) % 3
    jitted = tnp.jit(positions)
    assert_same(jitted(x, i), positions(x, i))
    assert "llvm_fusion" in str(tnp.explain(jitted))
