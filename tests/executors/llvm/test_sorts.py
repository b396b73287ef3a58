"""Short lines sorted in kernels, and lines of any length in native loops."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.executors.llvm.target import SORTED_BY_INSERTION
from tnp.testing import assert_same

# The tests look for native code in programs, which there is only where LLVM can compile.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="LLVM cannot compile for this machine")

DTYPES = ["float64", "float32", "float16", "int64", "int8", "uint8", "uint64"]


def numbers(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    x = (r.standard_normal(shape) * 40).astype(dtype if dtype[0] != "u" else "int64").astype(dtype)
    if x.dtype.kind == "f" and x.size > 4:
        x.flat[:: max(3, x.size // 4)] = [np.nan, np.inf, -np.inf, np.nan, 1][: len(x.flat[:: max(3, x.size // 4)])]
    return x


def doubled(x):
    return np.sort(x) * 2


def rows(x):
    return np.sort(x, axis=1) + 1, np.sort(x, axis=0), np.sort(x[:, ::-1].T, axis=0)


@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_lines(dtype):
    for n in range(1, SORTED_BY_INSERTION + 1):
        x = numbers(n, dtype, n)
        jitted = tnp.jit(doubled)
        with within_bounds():
            made = jitted(x)
        assert_same(made, doubled(x))
        assert " = np.sort" not in str(tnp.last_traces(jitted)[-1])
    x = numbers((4, SORTED_BY_INSERTION), dtype)
    for view in (x, np.asfortranarray(x), x[::-1, ::2]):
        with within_bounds():
            made = tnp.jit(rows)(view)
        assert_same(made, rows(view))
        assert [a.strides for a in made] == [a.strides for a in rows(view)]


def test_any_number_of_lines():
    jitted = tnp.jit(rows)
    for n in (3, 5, 40):
        x = numbers((n, 6), "float64", n)
        assert_same(jitted(x), rows(x))


def median_filter(x, out):
    for i in range(2, len(x) - 2):
        out[i] = np.median(x[i - 2 : i + 3])
    return out


def ordered_prefixes(x, out):
    for i in range(1, len(x)):
        ordered = np.sort(x[:i])
        out[i] = ordered[i // 2] + ordered[-1]
    return out


@pytest.mark.parametrize("function", [median_filter, ordered_prefixes])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_loops(function, dtype):
    x = (np.random.default_rng(1).standard_normal(300) * 50).astype(dtype)
    jitted = tnp.jit(function)
    outs = np.zeros(300), np.zeros(300)
    assert_same(jitted(x, outs[0]), function(x, outs[1]))
    assert "the whole for_loop is native" in tnp.explain(jitted)


def test_nan_in_loops():
    x = np.random.default_rng(1).standard_normal(50)
    x[[3, 30, 31]] = np.nan
    for function in (median_filter, ordered_prefixes):
        assert_same(tnp.jit(function)(x, np.zeros(50)), function(x, np.zeros(50)))


def partitioned(x, y):
    x.partition(2)
    for i in range(2):
        y[i] = np.partition(y[i], 1)
    return np.partition(x, 3) * 2


def test_partitions_are_numpys():
    """The elements beside the one that is in its place are in NumPy's order."""
    r = np.random.default_rng(0)
    for _ in range(5):
        x, y = r.permutation(20) * 1.0, r.random((2, 9))
        args = [(x.copy(), y.copy()) for _ in range(2)]
        assert_same(tnp.jit(partitioned)(*args[0]), partitioned(*args[1]))
        assert_same(args[0], args[1])
