"""``argmax`` and ``argmin`` in native loops: the first of equals, the first NaN, and the first True."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)


def places(x):
    out = np.zeros((len(x), 3), np.int64)
    for i in range(len(x)):
        out[i, 0] = np.argmax(x[i])
        out[i, 1] = x[i].argmin()
        out[i, 2] = np.argmax(x[i] > x[i, 0]) + np.argmin(x[i] == x[i])
    return out


def rows(n, dtype):
    x = RNG.integers(0, 12, (20, n)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[::3, n // 2 :] = np.nan
        x[1::3] = -0.0
        x[1::3, n // 3] = 0.0
        x[5], x[6], x[7] = np.nan, -np.inf, np.inf
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint16", "bool"])
def test_rows_of_varying_lengths(dtype):
    jitted = tnp.jit(places)
    for n in (300, 40, 17, 16, 5, 1, 41):
        x = rows(n, dtype)
        assert_same(jitted(x), places(x))
    assert tnp.cache_info(jitted).misses <= 3


def test_columns_and_expressions():
    def f(x, y):
        total = 0
        for i in range(len(y)):
            at = np.argmin(np.abs(x - y[i]), axis=0)
            total += at.sum() + np.argmax((x * y[i])[::2, 1])
        return total

    x, y = RNG.normal(size=(50, 4)), RNG.normal(size=30)
    assert_same(tnp.jit(f)(x, y), f(x, y))


def test_nothing_has_no_place():
    def f(x):
        found = 0
        for i in range(len(x)):
            found += np.argmax(x[i])
        return found

    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        tnp.jit(f)(np.zeros((30, 0)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_extremes(dtype):
    """Of zeros the last counts, and the first NaN stays."""

    def f(x):
        rows = np.stack([x, x[::-1], x])
        return np.maximum.accumulate(x), np.minimum.accumulate(x), np.maximum.accumulate(rows, 0), np.fmax(x, 1)

    jitted = tnp.jit(f)
    for values in (
        [-0.0, 0.0, -0.0],
        [2.0, np.nan, 3.0, -np.inf],
        [np.nan, 1.0],
        [-np.inf, -5.0, -7.0, 4.0],
        [0.0, -0.0],
    ):
        x = np.array(values, dtype)
        for got, expected in zip(jitted(x), f(x), strict=True):
            assert got.tobytes() == expected.tobytes()
