"""``scipy.stats`` in compiled functions: distributions, with gradients, and summaries of samples."""

import numpy as np
import pytest

import tnp
from tests.sampling import one_of
from tnp.testing import assert_same

stats = pytest.importorskip("scipy.stats")

from tnp.lang.scipy.stats_distributions import _TABLE  # noqa: E402 (it names SciPy's ufuncs)

RNG = np.random.default_rng(0)
SHAPES = {"a": 2.3, "b": 1.7, "df": 3.5, "dfn": 3.0, "dfd": 5.5, "s": 0.7, "c": 1.4, "mu": 3.2, "n": 7, "p": 0.35}
X = np.concatenate(
    [RNG.normal(size=60) * 3, RNG.uniform(0, 1, 30), [0, 1, 2, 3, -1, np.nan, np.inf, -np.inf, 0.5, 7, 8]]
)
K = np.concatenate([np.arange(-3, 15), [np.nan, np.inf, -np.inf, 1.5]])
Q = np.concatenate([RNG.uniform(0, 1, 40), [0, 1, -0.1, 1.1, np.nan, 0.5]])
METHODS = [(dist, method) for dist, row in sorted(_TABLE.items()) for method in sorted(row.formulas)]


def is_in_trace(jitted):
    explained = tnp.explain(jitted)
    return "Python runs" not in explained and "eager" not in explained


@pytest.mark.parametrize(("dist", "method"), METHODS)
def test_values(dist, method):
    row = _TABLE[dist]
    function = getattr(getattr(stats, dist), method)
    shapes = [SHAPES[s] for s in row.shapes]
    x = Q if method in ("ppf", "isf") else K if row.is_discrete else X
    moved = {"loc": 1} if row.is_discrete else {"loc": 0.3, "scale": 1.7}

    def of_numbers(x):
        return function(x, *shapes)

    def moved_by_numbers(x):
        return function(x, *shapes, **moved)

    def of_arguments(x, shapes, loc):
        return function(x, *shapes, loc=loc)

    with np.errstate(all="ignore"):
        f, args = of_arguments, (x, tuple(shapes), 0.5 if not row.is_discrete else 2)
        assert_same(tnp.jit(f, strict=True)(*args), f(*args), rtol=2e-12)
        # each distribution has each of these ways
        others = ((of_numbers, x, True), (moved_by_numbers, x, True), (of_numbers, x[3], False))
        for f, y, strict in one_of(others, METHODS.index((dist, method))):
            assert_same(tnp.jit(f, strict=strict)(y), f(y), rtol=2e-12)


@pytest.mark.parametrize("dist", sorted(_TABLE))
def test_impossible_parameters_and_scales(dist):
    row = _TABLE[dist]
    distribution = getattr(stats, dist)
    density = distribution.pmf if not hasattr(distribution, "pdf") or row.is_discrete else distribution.pdf

    def f(x, shapes, scale):
        options = {} if row.is_discrete else {"scale": scale}
        return (
            density(x, *shapes, **options),
            distribution.cdf(x, *shapes, **options),
            distribution.ppf(x, *shapes, **options),
        )

    shapes = tuple(np.array([SHAPES[s], -1.0, np.nan, 0.0]) for s in row.shapes)
    scale = np.array([1.0, 2.0, -1.0, 0.0])
    x = np.array([0.3, 0.5, 0.25, 0.75])
    with np.errstate(all="ignore"):
        assert_same(tnp.jit(f, strict=True)(x, shapes, scale), f(x, shapes, scale), rtol=2e-12)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_errors_are_scipys():
    for f in (lambda x: stats.gamma.pdf(x), lambda x: stats.norm.pdf(x, 1, 2, 3), lambda x: stats.norm.pdf(x, shift=1)):
        with pytest.raises(TypeError) as expected:
            f(SAMPLES)
        with pytest.raises(TypeError) as found:
            tnp.jit(lambda x: f(np.sin(x)))(SAMPLES)
        assert str(found.value) == str(expected.value)


INSIDE = {"pareto": 1.5, "uniform": 0.4, "beta": 0.4}


def derivative(f, x):
    step = 1e-6
    return (f(x + step) - f(x - step)) / (2 * step)


@pytest.mark.parametrize("dist", [d for d in sorted(_TABLE) if not _TABLE[d].is_discrete])
def test_gradients(dist):
    row = _TABLE[dist]
    shapes = [SHAPES[s] for s in row.shapes]
    for method in row.formulas:
        function = getattr(getattr(stats, dist), method)
        at = 0.4 if method in ("ppf", "isf") else INSIDE.get(dist, 0.8)

        def total(x, loc, scale):
            return (function(x, *shapes, loc=loc, scale=scale) * 2).sum()

        x = np.array([at, at * 1.1])
        found = tnp.grad(total, argnums=(0, 1, 2))(x, 0.05, 1.1)
        expected = (
            np.array(
                [derivative(lambda y: total(np.where(np.arange(2) == i, y, x), 0.05, 1.1), x[i]) for i in range(2)]
            ),
            derivative(lambda loc: total(x, loc, 1.1), 0.05),
            derivative(lambda scale: total(x, 0.05, scale), 1.1),
        )
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)


GRADIENTS_BY_SHAPES = {
    "beta": ("logpdf", "pdf"), "binom": (), "chi2": ("logpdf", "pdf"), "gamma": ("logpdf", "pdf"), "lognorm": ("logpdf", "pdf", "cdf", "ppf"),
    "pareto": ("logpdf", "pdf", "sf"), "poisson": ("logpmf", "pmf", "cdf", "sf"), "t": ("logpdf",), "weibull_min": ("logpdf", "pdf", "cdf", "ppf"),
    "bernoulli": ("pmf", "logpmf"), "geom": ("pmf", "logpmf", "cdf"), "nbinom": ("pmf", "logpmf"), "f": ("logpdf",),
}  # fmt: skip


@pytest.mark.parametrize("dist", sorted(GRADIENTS_BY_SHAPES))
def test_gradients_by_shapes(dist):
    row = _TABLE[dist]
    shapes = [float(SHAPES[s]) for s in row.shapes]
    for method in GRADIENTS_BY_SHAPES[dist]:
        function = getattr(getattr(stats, dist), method)
        x = np.array([1.0]) if row.is_discrete else np.array([0.6 if method == "ppf" else INSIDE.get(dist, 0.8)])
        f = lambda *shapes: function(x, *shapes).sum()  # noqa: E731
        for i in range(len(shapes)):
            found = tnp.grad(f, argnums=i)(*shapes)
            expected = derivative(lambda s: f(*shapes[:i], s, *shapes[i + 1 :]), shapes[i])
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-8)


def test_gradient_of_binomial_probabilities():
    k = np.arange(5.0)
    for method in ("pmf", "logpmf", "cdf", "sf"):
        f = lambda p: (getattr(stats.binom, method)(k, 4, p) * k).sum()  # noqa: E731
        np.testing.assert_allclose(tnp.grad(f)(0.3), derivative(f, 0.3), rtol=1e-6)


GLOBAL = stats.norm(0.5, 2.0)


def test_distributions_with_parameters():
    def f(x, mu, scale, n):
        made = stats.norm(mu, scale)
        total = made.logpdf(np.sin(x)).sum() + GLOBAL.cdf(x).mean()
        for i in range(n):
            total = total + stats.gamma(2.0, scale=1 + i).sf(np.abs(x)).sum()
            if total > 1:
                total = total * 0.5 + GLOBAL.ppf(0.3)
        return total, stats.poisson(3).pmf(np.arange(4))

    jitted = tnp.jit(f, strict=True)
    x = RNG.normal(size=20)
    for n in (3, 20):
        assert_same(jitted(x, 0.1, 1.5, n), f(x, 0.1, 1.5, n), rtol=1e-12)
    g = lambda x, mu, scale: stats.norm(mu, scale).logpdf(x).sum()  # noqa: E731
    gradient = tnp.grad(g, argnums=(1, 2))(x, 0.1, 1.5)
    np.testing.assert_allclose(gradient[0], ((x - 0.1) / 1.5**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient[1], ((x - 0.1) ** 2 / 1.5**3 - 1 / 1.5).sum(), rtol=1e-12)


def test_other_distributions_are_calls():
    made = stats.levy(scale=2.0)

    def f(x, c):
        y = stats.gengamma.pdf(x, 2.0, c) + stats.gengamma(2.0, c).logcdf(x) * 2
        return y + stats.zipf.pmf(np.floor(x * 4), 2.0) + made.sf(x)

    x = RNG.uniform(0.1, 2, 20)
    jitted = tnp.jit(f)
    assert_same(jitted(x, 1.5), f(x, 1.5), rtol=1e-12)
    assert is_in_trace(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_draws_are_pythons():
    def f(x):
        y = np.sin(x) * 2 + 1
        return y * stats.norm.rvs(size=len(x)) + np.cos(y) * GLOBAL.rvs(size=len(x))

    jitted, x = tnp.jit(f), np.ones(5)
    assert not np.array_equal(jitted(x), jitted(x))
    np.random.seed(3)
    found = jitted(x)
    np.random.seed(3)
    assert_same(found, f(x), rtol=1e-12)
    assert "rvs" in tnp.explain(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_random_matrices_are_pythons():
    sparse = pytest.importorskip("scipy.sparse")

    def f(x):
        y = np.sin(x) * 2 + 1
        return y * sparse.random(5, 5, 0.5).toarray() + np.cos(y)

    jitted, x = tnp.jit(f), np.ones(5)
    assert not np.array_equal(jitted(x), jitted(x))


SAMPLES = RNG.gamma(2.0, size=(7, 9))
SUMMARIES = {
    "entropy": lambda x: (stats.entropy(x), stats.entropy(x, axis=1, base=2), stats.entropy(x, x[::-1], keepdims=True)),
    "gmean": lambda x: (stats.gmean(x), stats.gmean(x, axis=None), stats.gmean(x, 1, weights=x**2)),
    "iqr": lambda x: (stats.iqr(x), stats.iqr(x, axis=1, rng=(10, 80), scale=2.0)),
    "kurtosis": lambda x: (
        stats.kurtosis(x),
        stats.kurtosis(x, axis=1, bias=False),
        stats.kurtosis(x, None, fisher=False),
    ),
    "sem": lambda x: (stats.sem(x), stats.sem(x, axis=None), stats.sem(x, 1, ddof=0)),
    "skew": lambda x: (
        stats.skew(x),
        stats.skew(x, axis=1, bias=False),
        stats.skew(x, axis=None),
        stats.skew(x, keepdims=True),
    ),
    "variation": lambda x: (stats.variation(x), stats.variation(x, axis=1, ddof=1)),
    "zscore": lambda x: (stats.zscore(x), stats.zscore(x, axis=1, ddof=1)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", sorted(SUMMARIES))
def test_summaries(name, dtype):
    x = (SAMPLES * (1 if dtype != "i8" else 10) + 1).astype(dtype)
    f = SUMMARIES[name]
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(x), f(x), rtol=1e-11 if dtype != "f4" else 2e-5)
    assert_same(tnp.jit(f)(x[:, ::2].T), f(x[:, ::2].T), rtol=1e-11 if dtype != "f4" else 2e-5)
    if dtype == "f8":
        x[2, 3] = np.nan
        with np.errstate(all="ignore"):
            assert_same(jitted(x), f(x), rtol=1e-11)


def test_equal_samples():
    f = lambda x: (stats.skew(x), stats.kurtosis(x), stats.zscore(x))  # noqa: E731
    x = np.full(8, 0.1)
    found = tnp.jit(f, strict=True)(x)
    assert all(np.isnan(r).all() for r in found)


@pytest.mark.parametrize("name", sorted(set(SUMMARIES) - {"iqr"}))
def test_gradients_of_summaries(name):
    x = SAMPLES[:4, :3]
    f = lambda x: sum((r * np.arange(1, 1 + r.size).reshape(r.shape)).sum() for r in SUMMARIES[name](x))  # noqa: E731
    found = tnp.grad(f)(x)
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    expected = np.reshape([(f(x + s) - f(x - s)) / 2e-6 for s in steps], x.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


CALLS = {
    "describe": lambda x: stats.describe(x).variance,
    "hmean": lambda x: stats.hmean(x),
    "median_abs_deviation": lambda x: stats.median_abs_deviation(x, axis=1),
    "moment": lambda x: stats.moment(x, 3),
    "multivariate_normal": lambda x: stats.multivariate_normal.logpdf(x[:, :2], np.zeros(2), np.eye(2)),
    "omitting": lambda x: stats.skew(x, nan_policy="omit"),
    "rankdata": lambda x: stats.rankdata(x, axis=1),
    "trim_mean": lambda x: stats.trim_mean(x, 0.1),
    "wasserstein_distance": lambda x: stats.wasserstein_distance(x[0], x[1]),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls(name):
    f = lambda x: CALLS[name](np.sqrt(x) * 2) * 2 + 1  # noqa: E731
    jitted = tnp.jit(f)
    assert_same(jitted(SAMPLES), f(SAMPLES), rtol=1e-12)
    assert is_in_trace(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_tests_are_pythons():
    def f(x):
        y = np.sqrt(x) * 2
        found = stats.ttest_ind(y[0], y[1])
        return np.exp(y) * found.pvalue + y * stats.pearsonr(y[0], y[1]).statistic

    jitted = tnp.jit(f)
    assert_same(jitted(SAMPLES), f(SAMPLES), rtol=1e-12)
