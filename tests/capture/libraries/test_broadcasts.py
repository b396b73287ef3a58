"""``np.broadcast`` in programs: shapes are known, and iterating is Python's."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole, whole
from tnp.testing import assert_same


def test_shapes_and_sizes():
    def f(x, y):
        both = np.broadcast(x, y)
        out = np.empty(both.shape)
        out[...] = x * 2 + y
        return out, both.shape, both.size, both.ndim, both.nd, both.numiter, isinstance(both, np.broadcast)

    for n in (1, 4, 7):
        whole(f, np.arange(3.0 * n).reshape(n, 3), np.ones(3))
    whole(lambda x: np.zeros(np.broadcast(x, [1.0, 2, 3], 5).shape) + x, np.ones((2, 1)))


def test_shapes_that_do_not_fit():
    jitted = tnp.jit(lambda x, y: np.zeros(np.broadcast(x, y).shape))
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be broadcast to a single shape"):
            jitted(np.ones(3), np.ones(4))


def test_what_python_does():
    def iterated(x, y):
        z = np.sin(x) + np.cos(x)
        return [a * b for a, b in np.broadcast(z, y)]

    def returned(x, y):
        return np.broadcast(x, y)

    x, y = np.ones((2, 3)), np.arange(3.0)
    with not_compiled_whole("it iterates over an np.broadcast object"):
        assert_same(tnp.jit(iterated)(x, y), iterated(x, y))
    with not_compiled_whole("it returns a broadcast"):
        assert type(tnp.jit(returned)(x, y)) is np.broadcast
