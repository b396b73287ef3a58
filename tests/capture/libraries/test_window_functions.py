"""``scipy.ndimage.generic_filter``: the function is compiled in loops over the elements, with the results of SciPy's."""

import functools

import numpy as np
import pytest
from scipy import ndimage

import tnp
from tnp.testing import assert_same

X = np.random.default_rng(0).random((7, 9)) * 10
CROSS = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]


def spread(w):
    return np.sqrt(np.mean((w - w.mean()) ** 2))


def contrast(w, weight, shift=1.0):
    return (w.max() - w.min()) * weight + w[len(w) // 2] * shift


def nearer(w):
    middle = w[w.size // 2]
    return middle if middle > w.mean() else np.median(w)


def changes(w):
    w -= w[0]
    return w.sum()


def whole(f, *arrays):
    """Compares each call with eager; all programs are compiled wholly."""
    jitted = tnp.jit(f)
    for x in arrays:
        assert_same(jitted(x), f(x), rtol=1e-12)
    assert "in parts" not in str(tnp.explain(jitted)) and "runs eagerly:" not in str(tnp.explain(jitted))


@pytest.mark.parametrize("function", [np.mean, np.median, np.max, spread, nearer, changes, lambda w: w[0] - w[-1]])
@pytest.mark.parametrize("size", [3, (2, 5)])
def test_functions_of_windows(function, size):
    whole(lambda x: ndimage.generic_filter(x, function, size=size), X, X[:, :4], X * 2)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "constant", "wrap", "grid-mirror", "grid-constant"])
def test_what_is_outside(mode):
    whole(lambda x: ndimage.generic_filter(x, spread, size=(5, 3), mode=mode, cval=2), X, X[:2, :3])
    whole(lambda x: ndimage.generic_filter(x, np.sum, footprint=CROSS, mode=mode, origin=(1, -1)), X)


def test_other_dimensions_and_dtypes():
    whole(lambda x: ndimage.generic_filter(x.ravel(), np.ptp, 7) + 1, X)
    whole(lambda x: ndimage.generic_filter(x.reshape(3, 3, 7), spread, 2), X)
    whole(lambda x: ndimage.generic_filter(x.astype(np.int64), np.mean, 3), X, -X)
    whole(lambda x: ndimage.generic_filter(x.astype(np.float32), spread, 3), X)
    whole(lambda x: ndimage.generic_filter(x > 5, np.max, 3), X)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64, np.uint64, np.bool_])
@pytest.mark.parametrize("function", [np.sum, lambda w: w[0] - w.sum(), lambda w: -1.7, lambda w: 300])
def test_results_are_cast_to_the_dtype(dtype, function):
    whole(lambda x: ndimage.generic_filter(x, function, 3), (X * 20).astype(dtype))


def test_what_a_function_does_besides():
    def counts(w, count):
        count[0] += 1
        return w.sum() + count[0]

    def f(x, count):
        return ndimage.generic_filter(x, counts, 3, extra_arguments=(count,)), count

    def draws(x):
        return ndimage.generic_filter(x, lambda w: w.mean() + np.random.rand(), 3), np.random.rand()

    for make in (lambda: [0], lambda: np.zeros(1)):
        assert_same(tnp.jit(f)(X, make()), f(X, make()))
    np.random.seed(0)
    expected = draws(X)
    np.random.seed(0)
    assert_same(tnp.jit(draws)(X), expected)


def test_more_arguments():
    whole(lambda x: ndimage.generic_filter(x, contrast, 3, extra_arguments=(x[0, 0],)), X, X + 1)
    whole(lambda x: ndimage.generic_filter(x, contrast, 3, extra_keywords={"shift": 0.5, "weight": 2.0}), X)
    whole(lambda x: ndimage.generic_filter(x, functools.partial(contrast, weight=x.shape[0]), 3), X, X[:4])


def refused(w):
    return w[:2]


def fails(w):
    raise ValueError("no")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.generic_filter(x, refused, 3),
        lambda x: ndimage.generic_filter(x, fails, 3),
        lambda x: ndimage.generic_filter(x, np.mean, 3, origin=5),
        lambda x: ndimage.generic_filter(x, np.mean),
        lambda x: ndimage.generic_filter(x, np.mean, 3, mode="other"),
        lambda x: ndimage.generic_filter(x, np.mean, footprint=np.ones((3, 1))),
        lambda x: ndimage.generic_filter(x[:0], np.mean, 3),
        lambda x: ndimage.generic_filter(x[:1], spread, 3, mode="mirror"),
        lambda x: ndimage.generic_filter(x, np.mean, 3, output=np.float32),
        lambda x: ndimage.generic_filter(x, str, 3),
        lambda x: ndimage.generic_filter((x * 20).astype(np.int8), np.sum, 3),
    ],
)
def test_other_calls_are_scipys(f):
    found = []
    for g in (tnp.jit(f), f):
        try:
            found.append(g(X))
        except Exception as error:
            found.append((type(error), str(error)))
    if isinstance(found[1], np.ndarray):
        assert_same(*found)
    else:
        assert found[0] == found[1]


def test_functions_are_written_out_once():
    """However short the array is along its dimensions."""
    for x in (X[:2], X[:5, :8].copy(), X[:4, :6].reshape(2, 3, 4)):
        jitted = tnp.jit(lambda x: ndimage.generic_filter(x, np.median, 3))
        assert_same(jitted(x), ndimage.generic_filter(x, np.median, 3))
        assert str(tnp.last_traces(jitted)[0]).count("lnp.median(") == 1
