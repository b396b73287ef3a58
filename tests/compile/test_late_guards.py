"""Calls that the program makes as they are, whose results are not what they were in a dry run: Python runs them, and the rest is compiled."""

import re

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

linalg = pytest.importorskip("scipy.linalg")
ndimage = pytest.importorskip("scipy.ndimage")
optimize = pytest.importorskip("scipy.optimize")
stats = pytest.importorskip("scipy.stats")
transform = pytest.importorskip("scipy.spatial.transform")
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


def labels(x):
    image = np.outer(np.sin(9 * x), x)
    found, n = ndimage.label(image > 0.5)
    counts = ndimage.histogram(image, 0, 1, 4, found, 2)
    return counts, np.cos(image) + n


@pytest.mark.parametrize(
    ("f", "call"),
    [
        (classes, 'np.histogram(y, bins="auto")'),
        (in_a_helper, "bins_of(y)"),
        (with_scipy, "linalg.null_space(a)"),
        (labels, "ndimage.histogram(image, 0, 1, 4, found, 2)"),
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


def test_results_whose_classes_take_other_arguments():
    def f(x, y):
        found = stats.pearsonr(x, y)
        return [found], found.statistic * np.sin(x)

    x, y = RNG.random((2, 50))
    jitted = tnp.jit(f)
    for _ in range(3):
        (one,), product = jitted(x, y)
        (other,), expected = f(x, y)
        assert type(one) is type(other)
        assert tuple(one) == tuple(other)
        assert_same(product, expected)


def test_solvers_in_c_that_are_given_functions():
    def f(x):
        def fun(p):
            return [p[0] + 0.5 * (p[0] - p[1]) ** 3 - 1.0, 0.5 * (p[1] - p[0]) ** 3 + p[1]]

        def jac(p):
            return np.array(
                [[1 + 1.5 * (p[0] - p[1]) ** 2, -1.5 * (p[0] - p[1]) ** 2], [-1.5 * (p[1] - p[0]) ** 2, 1.0]]
            )

        return optimize.root(fun, [0, 0], jac=jac, method="hybr").x * np.sin(x[:2])

    x = RNG.random(5)
    assert_same(tnp.jit(f)(x), f(x), rtol=1e-9)


def test_operators_of_classes_of_a_library():
    def f(x):
        a = transform.RigidTransform.from_components(
            np.array([-2, 0, 0]), transform.Rotation.from_euler("z", 90, degrees=True)
        )
        b = transform.RigidTransform.from_components(
            np.array([0, 0, 2]), transform.Rotation.from_euler("x", 30, degrees=True)
        )
        return (a * b).apply(np.sin(x)), np.cos(x)

    x = RNG.random(3)
    jitted = tnp.jit(f)
    for _ in range(3):
        assert_same(jitted(x), f(x), rtol=1e-9)


def test_a_range_of_computed_length_is_an_array():
    def f(image):
        found, n = ndimage.label(image > 0.6)
        return n, np.sort(ndimage.sum(image, found, range(1, n + 1)))[::-1][:3]

    jitted = tnp.jit(f)
    for _ in range(3):
        image = RNG.random((20, 20))
        assert_same(jitted(image), f(image), rtol=1e-9)
    assert "runs eagerly" not in str(tnp.explain(jitted))
