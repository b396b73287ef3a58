"""``scipy.ndimage`` in compiled functions: filters are native and SciPy's to the last bit, the rest are calls."""

import numpy as np
import pytest

import tnp
from tests.sampling import one_of, pairs
from tnp.testing import assert_same

ndimage = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(0)
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
KERNEL = np.array([[1, 2, 1], [0, 0.5, -1], [0.3, -2, 1.7]])


def image(dtype, shape=(13, 17)):
    return (RNG.normal(size=shape) * 50 + 100).astype(dtype)


def is_native(jitted):
    explained = tnp.explain(jitted)
    return "kernel" in explained and "numpy" not in explained.split("guards")[0]


def is_in_trace(jitted):
    explained = tnp.explain(jitted)
    return "Python runs" not in explained and "eager" not in explained


FILTERS = {
    "gaussian_filter": lambda x, **k: ndimage.gaussian_filter(x, 1.3, **k),
    "gaussian_filter1d": lambda x, **k: ndimage.gaussian_filter1d(x, 2, axis=0, **k),
    "derivative": lambda x, **k: ndimage.gaussian_filter(x, (1, 2), order=(0, 1), radius=3, **k),
    "sobel": lambda x, **k: ndimage.sobel(x, 0, **k),
    "prewitt": lambda x, **k: ndimage.prewitt(x, **k),
    "laplace": lambda x, **k: ndimage.laplace(x, **k),
    "gaussian_laplace": lambda x, **k: ndimage.gaussian_laplace(x, [1, 1.5], **k),
    "correlate": lambda x, **k: ndimage.correlate(x, [[1, 2, 3], [0, 0.1, -2]], origin=(0, -1), **k),
    "convolve": lambda x, **k: ndimage.convolve(x, [[1, 2, 3, 4], [0, 0.1, -2, 1]], **k),
    "correlate1d": lambda x, **k: ndimage.correlate1d(x, [1, 2.5, 4, 3], origin=1, **k),
    "convolve1d": lambda x, **k: ndimage.convolve1d(x, [1, 2.5], axis=0, **k),
    "a_line": lambda x, **k: ndimage.convolve(x, [1, -2, 0.5], axes=1, **k),
    "wide": lambda x, **k: ndimage.gaussian_filter(x, 7, **k),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(FILTERS))
def test_filters(name, mode):
    choices = ({}, {"cval": 0.7}, {"output": np.float32})
    shift = sorted(FILTERS).index(name) + MODES.index(mode)
    dtypes = ("f8", "f4", "u1", "i4", "i8")
    for dtype in one_of(dtypes, shift):  # each filter and each mode has each dtype
        x, options = image(dtype), choices[(dtypes.index(dtype) + shift) % len(choices)]
        f = lambda x: FILTERS[name](x, mode=mode, **options)  # noqa: E731
        jitted = tnp.jit(f, strict=True)
        assert_same(jitted(x), f(x), exact=True)
        assert is_native(jitted)


@pytest.mark.parametrize("mode", MODES)
def test_windows(mode):
    for dtype in one_of(("f8", "f4"), MODES.index(mode)):
        x = image(dtype)

        def f(x):
            return (
                ndimage.uniform_filter(x, (3, 4), mode=mode, cval=2), ndimage.uniform_filter1d(x, 5, origin=-1, mode=mode),
                ndimage.maximum_filter(x, (3, 4), mode=mode), ndimage.minimum_filter1d(x, 5, mode=mode, origin=1),
                ndimage.gaussian_gradient_magnitude(x, 2, mode=mode),
            )  # fmt: skip

        jitted = tnp.jit(f, strict=True)
        assert_same(jitted(x), f(x), rtol=1e-13 if dtype == "f8" else 2e-6)
        assert is_native(jitted)
    for dtype in one_of(("u1", "i4"), MODES.index(mode) // 2):
        g = lambda x: ndimage.maximum_filter(x, 3, mode=mode) - ndimage.minimum_filter(x, 2, mode=mode)  # noqa: E731
        jitted = tnp.jit(g, strict=True)
        x = image(dtype)
        assert_same(jitted(x), g(x))
        assert is_native(jitted)


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (1, 5), (3, 2), (2, 3, 4)])
def test_small_images(shape):
    for mode in MODES[:5]:

        def f(x):
            return ndimage.gaussian_filter(x, 2, mode=mode), ndimage.laplace(x, mode=mode), ndimage.sobel(x, mode=mode)

        x = RNG.normal(size=shape)
        jitted = tnp.jit(f, strict=True)
        assert_same(jitted(x), f(x))


def test_empty_images_and_numbers():
    f = lambda x: ndimage.gaussian_filter(x, 1) + np.sin(x)  # noqa: E731
    assert_same(tnp.jit(f)(np.zeros((0, 3))), f(np.zeros((0, 3))))


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_weights_of_the_program(dtype):
    def f(x, k):
        w = k[0] * 2
        return ndimage.correlate(x, k), ndimage.convolve(x, k, mode="wrap"), ndimage.correlate1d(x, w, output=float)

    x = image(dtype)
    jitted = tnp.jit(f)
    for k in (KERNEL, KERNEL + 1):
        assert_same(jitted(x, k), f(x, k), rtol=1e-13)
    assert is_native(jitted)
    g = lambda x, k: ndimage.convolve1d(x, [k, 2 * k])  # noqa: E731
    assert_same(tnp.jit(g)(x, 1.5), g(x, 1.5))


def test_not_contiguous():
    x = image("f8", (20, 30))[::2, ::-3].T
    f = lambda x: ndimage.gaussian_filter(x, 1) + ndimage.uniform_filter(x) * 2  # noqa: E731
    assert_same(tnp.jit(f, strict=True)(x), f(x), rtol=1e-13)


def test_in_loops_and_branches():
    def f(x, n, k):
        for _ in range(n):
            x = x + 0.1 * ndimage.laplace(x, mode="nearest")
            if x.mean() > k:
                x = ndimage.gaussian_filter(x, 1) * 0.9
            else:
                x = ndimage.median_filter(x, 3)
        return x

    jitted = tnp.jit(f)
    for k in (0, 1000):
        x = image("f8")
        assert_same(jitted(x, 6, k), f(x, 6, k), rtol=1e-12)
    assert is_in_trace(jitted)


@pytest.mark.parametrize("mode", MODES[:5])
def test_gradients(mode):
    x, k = RNG.normal(size=(5, 6)), KERNEL

    def f(x, k):
        y = ndimage.gaussian_filter(np.sin(x), 1, mode=mode)
        return (ndimage.convolve(y, k, mode=mode) * ndimage.sobel(x, mode=mode)).sum()

    found = tnp.grad(f, argnums=(0, 1))(x, k)
    step = 1e-6
    for i, (a, g) in enumerate(zip((x, k), found)):
        expected = np.zeros_like(a)
        for at in np.ndindex(*a.shape):
            moved = np.zeros_like(a)
            moved[at] = step
            pair = [(a + moved, a - moved)[s] for s in (0, 1)]
            args = [((p, k) if i == 0 else (x, p)) for p in pair]
            expected[at] = (f(*args[0]) - f(*args[1])) / (2 * step)
        np.testing.assert_allclose(g, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("shape", "mode", "dtype"),
    pairs([(7,), (5, 6), (4, 5, 3), (1, 4), (2, 2)], ["constant", "nearest"], ["f8", "f4"]),
    ids=str,
)
def test_linear_interpolation_is_bitwise_scipys(shape, mode, dtype):
    def f(x, at, cval):
        return ndimage.map_coordinates(x, at, order=1, mode=mode, cval=cval) * 2

    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=shape).astype(dtype)
    at = np.array([rng.uniform(-2, n + 1, (3, 4)) for n in shape])
    at[:, 1] = np.round(at[:, 1])
    at[0, 0] = np.nan, shape[0] - 1, np.inf, -np.inf
    infinite = x.copy()
    infinite.flat[-1] = np.inf
    jitted = tnp.jit(f)
    for image in (x, infinite):
        for cval in (0.0, -1.5):
            for given in (at, list(at), list(at.astype(np.float32))):
                assert_same(jitted(image, given, cval), f(image, given, cval), exact=True)
    assert is_native(jitted)


def test_the_gradient_of_a_linear_interpolation():
    x, at = RNG.normal(size=(5, 6)), RNG.uniform(0.1, 3.9, (2, 4))
    f = lambda x, at: (ndimage.map_coordinates(x, at, order=1) ** 2).sum()  # noqa: E731
    for i, g in enumerate(tnp.grad(f, argnums=(0, 1))(x, at)):
        args, step = [x, at], 1e-6
        for place in np.ndindex(*g.shape):
            moved = np.zeros_like(args[i])
            moved[place] = step
            up, down = ([a + s * moved if j == i else a for j, a in enumerate(args)] for s in (1, -1))
            assert abs(g[place] - (f(*up) - f(*down)) / (2 * step)) < 1e-6


def test_coordinates_that_scipy_refuses():
    f = lambda x, at: ndimage.map_coordinates(x, at, order=1)  # noqa: E731
    for at in (np.ones((3, 4)), np.ones(2), np.ones((2, 3)) * 1j):
        with pytest.raises((RuntimeError, TypeError)) as eager:
            f(np.ones((4, 4)), at)
        with pytest.raises(eager.type):
            tnp.jit(f)(np.ones((4, 4)), at)


LABELS = np.array([[0, 1, 1, 0, 2], [0, 1, 0, 0, 2], [3, 0, 0, 2, 2], [3, 3, 0, 0, 0]])

CALLS = {
    "affine_transform": lambda x: ndimage.affine_transform(x, [[1, 0.2], [0, 0.9]], offset=0.5, order=1),
    "binary_dilation": lambda x: ndimage.binary_dilation(x > 100, iterations=2),
    "binary_erosion": lambda x: ndimage.binary_erosion(x > 80),
    "binary_fill_holes": lambda x: ndimage.binary_fill_holes(x > 100),
    "center_of_mass": lambda x: ndimage.center_of_mass(x),
    "distance_transform_edt": lambda x: ndimage.distance_transform_edt(x > 100),
    "grey_erosion": lambda x: ndimage.grey_erosion(x, size=(3, 3)),
    "label": lambda x: ndimage.label(x > 100)[0],
    "map_coordinates": lambda x: ndimage.map_coordinates(x, [x[0] / 20, x[1] / 20]),
    "maximum": lambda x: ndimage.maximum(x[:4, :5], LABELS, index=[1, 2, 3]),
    "mean": lambda x: ndimage.mean(x[:4, :5], LABELS, index=np.arange(1, 4)),
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "of_a_footprint": lambda x: ndimage.maximum_filter(x, footprint=np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])),
    "of_integers": lambda x: ndimage.uniform_filter(x.astype(int), 3),
    "percentile_filter": lambda x: ndimage.percentile_filter(x, 20, size=3),
    "rotate": lambda x: ndimage.rotate(x, 30.0),
    "rotate_in_shape": lambda x: ndimage.rotate(x, 30.0, reshape=False, order=1),
    "shift": lambda x: ndimage.shift(x, (0.5, -1.2)),
    "spline_filter": lambda x: ndimage.spline_filter(x),
    "standard_deviation": lambda x: ndimage.standard_deviation(x),
    "sum_labels": lambda x: ndimage.sum_labels(x[:4, :5], LABELS, index=[1, 2, 3]),
    "variance": lambda x: ndimage.variance(x),
    "wide_mean": lambda x: ndimage.uniform_filter(x, 31),
    "zoom": lambda x: ndimage.zoom(x, 1.7),
    "zoom_of_axes": lambda x: ndimage.zoom(x, (2, 0.5), order=1),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls(name):
    f = lambda x: CALLS[name](np.abs(x) * 1.5)  # noqa: E731
    x = image("f8") * 0.7
    jitted = tnp.jit(f)
    assert_same(jitted(x), f(x))
    assert is_in_trace(jitted)


def test_zoom_by_an_argument():
    f = lambda x, by: ndimage.zoom(x, by) * 2  # noqa: E731
    jitted, x = tnp.jit(f), image("f8")
    for by in (1.5, 2.0, 0.5):
        assert_same(jitted(x, by), f(x, by))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_results_in_the_callers_arrays():
    def f(x):
        out = np.zeros_like(x)
        ndimage.gaussian_filter(x, 1, output=out)
        return np.sin(out) * 2 + 1

    x = image("f8")
    jitted = tnp.jit(f)
    assert_same(jitted(x), f(x))
    assert "writes its result to an array" in tnp.explain(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.gaussian_filter(x, 1, mode="unheard"),
        lambda x: ndimage.correlate1d(x, [1, 2, 3], origin=2),
        lambda x: ndimage.correlate(x, [1, 2, 3]),
        lambda x: ndimage.correlate1d(x, []),
        lambda x: ndimage.sobel(x, axis=2),
        lambda x: ndimage.uniform_filter(x, (3, 4, 5)),
        lambda x: ndimage.gaussian_filter(x, 1, radius=-1),
        lambda x: ndimage.maximum_filter(x),
    ],
)
def test_errors_are_scipys(f):
    x = image("f8")
    with pytest.raises(Exception) as expected:
        f(x)
    with pytest.raises(type(expected.value)) as found:
        tnp.jit(lambda x: f(np.sin(x)))(x)
    assert str(found.value) == str(expected.value)


def test_sums_of_labels_beside_kernels_for_any_size():
    """``ndimage.sum`` has the name of a prim, and is none."""

    def f(x):
        labels, count = ndimage.label(x > 0.4)
        found = ndimage.sum(x > 0.8, labels, np.arange(count + 1)) > 0
        return found[labels]

    jitted = tnp.jit(f)
    for n in (20, 24, 31):
        x = RNG.random((n, n))
        assert_same(jitted(x), f(x))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_centers_of_mass(kind):
    """They are native for images of any size; SciPy computes those of parts with labels, and of complex numbers."""
    image = (np.arange(63).reshape(9, 7) * 37 % 11).astype(kind)
    jitted = tnp.jit(lambda x: ndimage.center_of_mass(x), dynamic=True, strict=True)
    for part in (image, image[:5], image[:, :4].T, image[2]):
        assert_same(jitted(part), ndimage.center_of_mass(part))
    labels = np.arange(63).reshape(9, 7) % 3
    assert_same(
        tnp.jit(lambda x, at: ndimage.center_of_mass(x, at, [1, 2]))(image, labels),
        ndimage.center_of_mass(image, labels, [1, 2]),
    )
    assert_same(tnp.jit(lambda x: ndimage.center_of_mass(x))(image * 1j), ndimage.center_of_mass(image * 1j))


@pytest.mark.parametrize("filter", [ndimage.convolve, ndimage.correlate])
def test_weights_of_nan_are_left_out(filter):
    image, weights = np.random.default_rng(0).random((6, 7)), np.array([[1, np.nan, 2], [0, 1, 0], [3, 0, np.nan]])
    image[2, 3] = np.inf
    assert_same(tnp.jit(lambda x: filter(x, weights))(image), filter(image, weights))
    assert_same(tnp.jit(lambda x, w: filter(x, w))(image, weights), filter(image, weights))
