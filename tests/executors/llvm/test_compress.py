"""What a mask selects of arrays is written in one pass over the mask."""

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")
RNG = np.random.default_rng(0)


def selected(x, y, mask):
    return x[mask], y[mask], np.flatnonzero(mask)


def masks(n):
    for density in (0.0, 0.01, 0.5, 0.99, 1.0):
        yield RNG.random(n) < density
    yield np.arange(n) // 9 % 2 == 0
    yield np.arange(n) % max(n // 3, 1) == 1


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "int64", "float64", "complex64", "complex128"])
def test_all_dtypes_and_lengths(dtype):
    jitted = tnp.jit(selected, dynamic=True)
    for n in (2, 7, 8, 9, 64, 65, 500, 8192, 8200, 20_000):
        x, y = (RNG.random(n) * 100).astype(dtype), np.arange(n, dtype="float32")
        for mask in masks(n):
            assert_same(jitted(x, y, mask), selected(x, y, mask), exact=True)
    assert "result0 = x[i0] where mask[i0]" in tnp.explain(jitted)


def test_what_is_computed_of_selected_elements():
    def f(x, y, mask):
        chosen = x[mask]
        return chosen, np.sqrt(abs(chosen)) + y[mask].sum(), y[mask] * 2

    jitted = tnp.jit(f, dynamic=True)
    for n in (10, 1000, 333):
        x, y = RNG.normal(size=n), RNG.normal(size=n)
        for mask in masks(n):
            assert_same(jitted(x, y, mask), f(x, y, mask))


def test_loops_that_drop_elements():
    def escaped(z, c, n):
        numbers, steps = np.arange(len(c)), np.zeros(len(c), int)
        for i in range(n):
            if not len(z):
                break
            z = z * z + c
            stays = abs(z) < 2
            steps[numbers[~stays]] = i
            z, c, numbers = z[stays], c[stays], numbers[stays]
        return steps, z, numbers

    jitted = tnp.jit(escaped)
    for n in (3000, 500, 1):
        c = RNG.normal(size=n) + 1j * RNG.normal(size=n)
        assert_same(jitted(np.zeros(n, complex), c, 30), escaped(np.zeros(n, complex), c, 30))


def test_masks_that_are_written():
    """What is selected is what the mask was then."""

    def f(x, mask):
        first = x[mask]
        np.logical_not(mask, mask)
        return first, x[mask], mask

    x, mask = RNG.normal(size=100), RNG.random(100) < 0.5
    got, expected = tnp.jit(f, dynamic=True)(x, mask.copy()), f(x, mask.copy())
    assert_same(got, expected, exact=True)


def test_arrays_with_gaps_and_other_lengths():
    jitted = tnp.jit(lambda x, mask: x[mask], dynamic=True)
    x, mask = RNG.normal(size=200), RNG.random(100) < 0.5
    assert_same(jitted(x[:100], mask), x[:100][mask], exact=True)
    assert_same(jitted(x[::2], mask), x[::2][mask], exact=True)
    assert_same(jitted(x[::-2], mask[::-1]), x[::-2][mask[::-1]], exact=True)
    with pytest.raises(IndexError, match="boolean index did not match"):
        jitted(x, mask)


def test_masks_of_several_dimensions():
    def f(x, mask, rows):
        return x[mask], x[mask].sum(), x[rows], np.flatnonzero(np.diff(x[0])), np.nonzero(x), np.argwhere(mask)

    jitted = tnp.jit(f, dynamic=True)
    for shape in ((4, 5), (7, 3, 2), (9, 1)):
        x = RNG.normal(size=shape).round()
        mask, rows = RNG.random(shape) < 0.5, RNG.random(shape[:-1]) < 0.5
        assert_same(jitted(x, mask, rows), f(x, mask, rows))
    with pytest.raises(IndexError, match="boolean index did not match"):
        jitted(x, mask[:-1], rows)
