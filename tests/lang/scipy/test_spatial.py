"""``scipy.spatial.distance`` in compiled functions."""

import numpy as np
import pytest

import tnp
from tests.lang.scipy.checks import compiled_as_eager, gradient_is_right, layouts, raises_as_eager
from tnp.testing import assert_same

distance = pytest.importorskip("scipy.spatial.distance")

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(7, 3))
METRICS = [
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "minkowski",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
]
NATIVE = ["euclidean", "sqeuclidean", "cityblock", "chebyshev"]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
@pytest.mark.parametrize("metric", METRICS)
def test_values(metric, dtype):
    a, b = (np.abs(9 * x + 1).astype(dtype) for x in (A, B))
    if dtype == "?" and metric not in NATIVE:
        return
    compiled_as_eager(lambda a, b: (distance.cdist(a, b, metric) * 2, distance.pdist(a, metric)), a, b, rtol=1e-12)


def test_options():
    compiled_as_eager(lambda a, b: distance.cdist(a, b, "minkowski", p=3) + 1, A, B)
    compiled_as_eager(lambda a, b: distance.cdist(a, b, "minkowski", p=np.inf) + 1, A, B)
    compiled_as_eager(lambda a, b: distance.cdist(a, b, "euclidean", w=a[0] ** 2) + 1, A, B)
    compiled_as_eager(lambda a, b: distance.cdist(a, b, "seuclidean", V=a[0] ** 2) + 1, A, B)
    compiled_as_eager(lambda a: distance.squareform(distance.pdist(a)) + 1, A)
    compiled_as_eager(lambda a: distance.pdist(a) + 1, RNG.normal(size=(60, 2)))
    compiled_as_eager(lambda a, b: (distance.euclidean(a[0], b[0]), distance.cosine(a[0], b[0]) * a), A, B)


def test_memory_layouts_and_few_points():
    for a, b in zip(layouts(A), layouts(B)):
        compiled_as_eager(lambda a, b: distance.cdist(a, b), a, b)
    compiled_as_eager(lambda a, b: (distance.cdist(a, b), distance.cdist(a[:0], b)), A[:1], B[:1, :3])
    compiled_as_eager(lambda a: distance.pdist(a) * 2, A[:1])


def test_nearest_in_a_loop():
    def f(points, centres, n):
        for _ in range(n):
            near = distance.cdist(points, centres).argmin(axis=1)
            for k in range(len(centres)):
                mask = near == k
                if mask.any():
                    centres[k] = points[mask].mean(axis=0)
        return near

    expected, found = A[:2].copy(), A[:2].copy()
    near = f(B, expected, 4)
    assert (tnp.jit(f, strict=True)(B, found, 4) == near).all()
    np.testing.assert_allclose(found, expected)


def test_errors():
    assert raises_as_eager(lambda a, b: distance.cdist(a, b[:, :2]) + 1, A, B) is ValueError
    assert raises_as_eager(lambda a, b: distance.cdist(a, b, "no such") + 1, A, B) is ValueError


@pytest.mark.parametrize("metric", [*NATIVE, "minkowski"])
def test_gradients(metric):
    gradient_is_right(lambda a, b: (distance.cdist(a, b, metric) ** 2).sum(), A, B)
    gradient_is_right(lambda a: (distance.pdist(a, metric) ** 3).sum(), A)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_one_program_for_pairs_of_any_number_of_points(metric):
    def growing(x):
        found = np.zeros(len(x))
        for i in range(2, len(x)):
            matrix = distance.squareform(distance.pdist(x[:i], metric))
            found[i] = matrix.max() + distance.squareform(matrix).sum()
        return found

    def chosen(x):
        near = x[x[:, 0] > 0]
        return distance.squareform(distance.pdist(near, metric)) + 1, distance.pdist(near, metric).shape[0]

    for f in (growing, chosen):
        jitted = tnp.jit(f, strict=True)
        for n in (40, 60, 33, 45):
            x = RNG.normal(size=(n, 3))
            assert_same(jitted(x), f(x), rtol=1e-12)
        assert tnp.cache_info(jitted).misses <= 2


def test_few_points_of_a_number_that_is_found():
    def f(x):
        return distance.squareform(distance.pdist(x[x[:, 0] > 0]))

    jitted = tnp.jit(f, strict=True)
    for least in (3, 2, 1):
        x = np.abs(A)
        x[least:, 0] *= -1
        assert_same(jitted(x), f(x))


def test_matrices_of_pairs_have_the_size_of_the_points():
    def nearest(x):
        d = distance.squareform(distance.pdist(x))
        np.fill_diagonal(d, np.inf)
        return x[d.argmin(0)] + d.min(0)[:, None], d + np.eye(len(x))

    def there_and_back(x):
        d = distance.pdist(x)
        return distance.squareform(distance.squareform(d)) - d

    def given(v):
        return distance.squareform(v) * 2

    for f, made in ((nearest, lambda n: RNG.random((n, 3))), (there_and_back, lambda n: RNG.random((n, 3)))):
        jitted = tnp.jit(f, strict=True)
        for n in (25, 30, 40, 33, 2):
            x = made(n)
            assert_same(jitted(x), f(x), rtol=1e-12)
        assert tnp.cache_info(jitted).misses <= 3
    jitted = tnp.jit(given)
    for n in (25, 30, 40, 3):
        v = RNG.random(n * (n - 1) // 2)
        assert_same(jitted(v), given(v))
    with pytest.raises(ValueError, match="Incompatible vector size"):
        jitted(RNG.random(11))
