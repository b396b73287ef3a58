"""Medians, quantiles and covariances of arrays whose lengths only the running program knows: one program serves all lengths."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)

FUNCTIONS = [
    lambda x, y, m: np.median(x[m]),
    lambda x, y, m: np.median(y[x > np.median(y[m])]),
    lambda x, y, m: np.percentile(x[m], 30),
    lambda x, y, m: np.quantile(x[m], [0.25, 0.5, 0.9]),
    lambda x, y, m: np.corrcoef(x[m], y[m]),
    lambda x, y, m: np.corrcoef(x[m], y[m])[0, 1] * np.percentile(y[m], 10),
    lambda x, y, m: np.cov(x[m], y[m]),
    lambda x, y, m: np.cov(np.column_stack([x, y, x * y])[m].T, ddof=2),
    lambda x, y, m: np.median(np.column_stack([x, y])[m], axis=0),
    lambda x, y, m: np.quantile(np.column_stack([x, y])[m], 0.3, axis=0, keepdims=True),
    lambda x, y, m: np.median(np.arange(x.size)[m]),
    lambda x, y, m: (np.median(x[m].astype(np.float32)), np.percentile(x[m].astype(np.float32), 40.0)),
]


def samples(*counts):
    for n in counts:
        x, y = RNG.random(n), RNG.random(n)
        yield x, y, RNG.random(n) > 0.4


@pytest.mark.parametrize("f", FUNCTIONS)
def test_one_program_serves_all_lengths(f):
    jitted = tnp.jit(f)
    for args in samples(40, 47, 60, 90, 91, 200, 41):
        assert_same(jitted(*args), f(*args), rtol=1e-12)
    x, y, m = next(samples(64))
    x[5] = np.nan
    m[5] = True
    assert_same(jitted(x, y, m), f(x, y, m), rtol=1e-12)
    text = str(tnp.explain(jitted))
    assert "eager" not in text and "in parts" not in text, text
    assert tnp.cache_info(jitted).misses == 2


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_few_elements(f, chosen):
    """Of none, and of one or two, the call warns or raises as eager's."""
    jitted = tnp.jit(f)
    few = np.arange(40) < chosen
    x, y = RNG.random((2, 40))
    for m in (x > 0.5, few, few):
        found = []
        for g in (jitted, f):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    result = g(x, y, m)
                except IndexError as error:
                    result = str(error)
            found.append((result, sorted({str(w.message) for w in caught if w.category is RuntimeWarning})))
        assert_same(found[0], found[1], rtol=1e-12)


def test_after_random_numbers():
    """A program that has drawn may not start over."""

    def f(x, m):
        noise = np.random.random(x.size)
        return np.median((x + noise)[m]), np.percentile(noise[m], 20)

    jitted = tnp.jit(f)
    for x, _, m in samples(40, 41, 42):
        for mask in (m, m & False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = []
                for g in (jitted, f):
                    np.random.seed(1)
                    try:
                        results.append(g(x, mask))
                    except IndexError as error:
                        results.append(str(error))
                    results.append(np.random.random())
            assert_same(results[:2], results[2:], rtol=1e-12)


def test_any_size_is_not_numpys():
    """Sizes that vary have a sort and a few elements of it in one program, and covariances their sums."""

    def f(x, y):
        return np.median(x), np.percentile(y, [5, 50.0]), np.corrcoef(x, y), np.cov(x)

    jitted = tnp.jit(f)
    for x, y, _ in samples(30, 40, 55, 70, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(jitted(x, y), f(x, y), rtol=1e-12)
    text = str(tnp.explain(jitted))
    assert not [
        name for name in ("median", "percentile", "corrcoef", "cov") if f"= np.{name}" in text.split("program 1")[1]
    ], text
