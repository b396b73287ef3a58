"""Floats that do not fit unsigned integers: scalars are converted as NumPy converts scalars."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

VALUES = [-5.5, -1.0, 300.7, 3e9, 5e9, -5e9, 2.0**32, 1e30, -1e30, np.nan, np.inf]


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_scalars(kind, dtype):
    def converted(x):
        return kind(x[0]), x[1].astype(kind)

    def stored(x):
        a = np.zeros(len(x), kind)
        for i in range(len(x)):
            a[i] = x[i]
        return a

    for f in (converted, stored):
        jitted = tnp.jit(f)
        for value in VALUES:
            x = np.full(3, value, dtype)
            assert_same(jitted(x), f(x))


def test_an_accumulator_that_wraps():
    def f(x):
        phase, found = np.uint32(0), np.zeros(len(x))
        for i in range(len(x)):
            phase = np.uint32(np.rint(float(phase) + x[i]))
            found[i] = np.sin(2 * np.pi * phase / 2**32)
        return phase, found

    x = np.random.default_rng(0).normal(size=300) * 2e9
    assert_same(tnp.jit(f, strict=True)(x), f(x), rtol=1e-9)
