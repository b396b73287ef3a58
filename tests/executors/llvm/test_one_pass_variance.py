"""Variances of arrays that no cache holds: sums and sums of squares in one pass, as accurate as two."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


def of_columns(x):
    return x.var(axis=0)


def of_all(x):
    return x.mean(), x.var(ddof=1)


def written_out(x):
    mean = x.mean(axis=0)
    return mean, ((x - mean) ** 2).sum(axis=0), x.sum(axis=0)


def standardised(x):
    return (2 * x - (2 * x).mean(axis=0)) / np.sqrt((2 * x).var(axis=0) + 1e-3)


def in_one_pass(jitted):
    return "in the pass that sums the same" in tnp.explain(jitted)


def values(*shape, dtype="float64", scale=1.0, offset=0.0):
    return (np.random.default_rng(len(shape)).standard_normal(shape) * scale + offset).astype(dtype)


@pytest.mark.parametrize("function", [of_columns, of_all, written_out, standardised])
@pytest.mark.parametrize("shape", [(1031, 300), (4001, 2, 40)])
def test_functions(function, shape):
    x = values(*shape, dtype="float32")
    jitted = tnp.jit(function)
    got, expected = jitted(x), function(x.astype("float64"))
    for g, e in zip(*(y if isinstance(y, tuple) else (y,) for y in (got, expected)), strict=True):
        assert g.shape == e.shape and g.dtype == "float32"
        np.testing.assert_allclose(g, e, rtol=2e-5, atol=2e-4)
    assert in_one_pass(jitted)


def errors(found, x, axis):
    exact = x.astype(np.longdouble).var(axis=axis)
    return np.abs(found - exact).max() / exact.max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, None])
def test_accuracy(dtype, axis):
    """A variance much smaller than the mean's square, a mean that drifts, one row far away: no worse than NumPy's two passes."""
    epsilon = np.finfo(dtype).eps
    jitted = tnp.jit(lambda x: x.var(axis=axis))
    drifting = values(4100, 70, dtype=dtype) + np.linspace(0, 1e4, 4100, dtype=dtype)[:, None]
    outlier = values(4100, 70, dtype=dtype)
    outlier[0] = 1e5
    for x in (values(4100, 70, dtype=dtype, offset=1e4), values(4100, 70, dtype=dtype, offset=1e8), drifting, outlier):
        if x.std() == 0 or x.mean() * epsilon > 1e-2:
            continue  # float32 holds nothing of the noise
        assert errors(jitted(x), x, axis) <= max(1.5 * errors(x.var(axis=axis), x, axis), 16 * epsilon)
    assert in_one_pass(jitted)


def test_special_values():
    x = values(2000, 100)
    x[5, 3], x[1700, 4], x[:, 5], x[10, 6], x[:, 7] = np.nan, np.inf, np.finfo(float).max, -np.inf, 3.0
    jitted = tnp.jit(of_columns)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(jitted(x), of_columns(x), rtol=1e-13)
    assert jitted(x)[7] == 0


def test_any_number_of_threads_gives_the_same_bits():
    x = values(3000, 90)
    jitted = tnp.jit(lambda x: (x.var(axis=0), x.var()))
    before, found = tnp.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tnp.set_num_threads(threads)
            found.append(np.append(*jitted(x)))
    finally:
        tnp.set_num_threads(before)
    assert all(np.array_equal(y, found[0]) for y in found)


@pytest.mark.parametrize("columns", [17, 65])
def test_few_columns_of_many_arrays(columns):
    """Blocks are as narrow as the arrays that a value is computed from are many."""

    def f(a, b, c, d, e, f, g, h):
        return (a + b + c + d + e + f + g + h).var(axis=0)

    x = values(16000, columns, dtype="float32")
    arrays = [np.roll(x, k, axis=0) for k in range(8)]
    jitted = tnp.jit(f)
    with within_bounds():
        made = jitted(*arrays)
    np.testing.assert_allclose(made, f(*(x.astype("float64") for x in arrays)), rtol=1e-5)
    assert in_one_pass(jitted)


def test_arrays_that_change_between():
    """What is read is what was summed, though the array is overwritten after that."""

    def centred(x):
        mean = x.mean(axis=0)
        spread = ((x - mean) ** 2).sum(axis=0)
        x -= mean
        return spread

    x = values(2000, 100, offset=3)
    mine = x.copy()
    np.testing.assert_allclose(tnp.jit(centred)(mine), centred(x), rtol=1e-12)
    np.testing.assert_allclose(mine, x, atol=1e-12)
