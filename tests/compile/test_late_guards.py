"""Calls that the program makes as they are, whose results are not what they were in a dry run: Python runs them, and the rest is compiled."""

import re

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

linalg = pytest.importorskip("scipy.linalg")
pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")
RNG = np.random.default_rng(0)


def classes(x):
    y = np.sin(x) ** 2 + np.sqrt(x)
    counts, edges = np.histogram(y, bins="auto")
    return counts / counts.sum(), edges[:-1] + np.diff(edges) / 2, np.exp(-y)


def bins_of(y):
    return np.histogram_bin_edges(y, bins="fd")


def in_a_helper(x):
    y = np.log(x + 1) * 2
    edges = bins_of(y)
    return np.tanh(y) + edges[0], edges.mean()


def with_scipy(x):
    a = np.outer(np.sin(x), x)[:4, :4]
    basis = linalg.null_space(a)
    return np.cos(x) * 2, basis.T @ a


@pytest.mark.parametrize(
    ("f", "call"),
    [
        (classes, 'np.histogram(y, bins="auto")'),
        (in_a_helper, "bins_of(y)"),
        (with_scipy, "linalg.null_space(a)"),
    ],
)
def test_what_stands_around_is_compiled(f, call):
    jitted = tnp.jit(f)
    for n in (500, 500, 500, 900):
        x = RNG.random(n)
        assert_same(jitted(x), f(x), rtol=1e-9)
    text = str(tnp.explain(jitted))
    assert "program 0: in parts" in text
    assert re.search(re.escape(call) + ": .* returned .* depends on values", text)
    assert "llvm_fusion0" in text or "numpy: " in text


def test_promotion_of_a_number_or_a_scalar():
    def f(a):
        w = a.sum() if a[0] > 0 else 1
        return a.astype(np.result_type(w, np.float32))

    for dtype in ("f4", "i4", "f8"):
        for a in (np.ones(3, dtype), -np.ones(3, dtype)):
            assert_same(tnp.jit(f)(a), f(a))
