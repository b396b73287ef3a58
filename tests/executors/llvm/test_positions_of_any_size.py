"""Elements and rows at positions that follow from sizes, in kernels for any size."""

import numpy as np
import pytest

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


def middle(x):
    y = np.cos(x)
    return y + y[len(y) // 2]


def last(x):
    y = np.cos(x)
    return y * y[len(y) - 1] + y[1 - len(y)]


def crossing(x):
    y = np.cos(x)
    n, m = y.shape
    return y + y[n // 2] + y[:, m - 2][:, None] * y[n - 1, m // 3]


@pytest.mark.parametrize("f", [middle, last, crossing])
def test_one_kernel(f):
    jitted = tnp.jit(f)
    with within_bounds():
        for n in (7, 12, 31, 8, 30):
            x = np.linspace(0, 1, n) if f is not crossing else np.linspace(0, 1, n * (n + 3)).reshape(n, n + 3)
            assert_same(jitted(x), f(x))
    assert tnp.cache_info(jitted).misses == 2
    lines = [line.strip() for line in str(tnp.last_traces(jitted)[-1]).splitlines()]
    operations = [line for line in lines if " = " in line and not line.startswith("#")]
    assert len(operations) == 1 and "llvm_fusion" in operations[0]


def test_positions_are_in_bounds():
    def ahead(x, y):
        return np.cos(x) + np.sin(x)[len(y)]

    jitted = tnp.jit(ahead)
    for n, m in ((9, 4), (12, 7), (20, 19)):
        x = np.linspace(0, 1, n)
        assert_same(jitted(x, np.zeros(m)), ahead(x, np.zeros(m)))
    with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 12"):
        jitted(np.zeros(12), np.zeros(12))
