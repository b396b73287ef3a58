"""Methods of ndarray that are taken of the class, and ``np.s_``, which gives its subscript."""

import numpy as np
import pytest

from tests.eager_checks import whole

X = np.random.default_rng(0).random(24) + 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ndarray.astype(x, "uint8") + 1,
        lambda x: np.ndarray.sum(x, axis=0) + np.ndarray.mean(x * 2),
        lambda x: np.ndarray.reshape(x, (2, -1)).T * 2 + np.ndarray.item(x[3:4]),
        lambda x: np.ndarray.copy(x[::2], order="C") + 1,
        lambda x: np.ndarray.tolist(x[:3]),
    ],
)
def test_methods_of_the_class(f):
    whole(f, X)


def test_methods_of_the_class_write_to_arrays():
    def ordered(x):
        np.ndarray.sort(x)
        np.ndarray.fill(x[::5], 3.0)
        return x * 2

    whole(ordered, X[::-1].copy())


def test_subscripts():
    def f(x, k):
        inner, last = np.s_[k : -(k // 2)], np.s_[..., None, :: k // 2]
        return x[inner], x[last], x[np.index_exp[k:]], np.index_exp[k], np.s_[k, 1:2]

    for k in (4, 6):
        whole(f, X, k)


def test_subscripts_of_computed_places():
    def f(x):
        k = int(np.argmax(x)) // 2
        return x[np.s_[k:]], np.s_[k, 1:2]

    whole(f, X)


def test_subscripts_of_grids():
    def f(n):
        rows, columns = np.ogrid[np.s_[-int(n / 2) : int(n / 2) + 1], np.s_[: n + 1]]
        return np.sqrt(rows * rows + columns * columns)

    for n in (4, 7):
        whole(f, n)
