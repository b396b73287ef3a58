"""What needs a CUDA device: ``make test-gpu``. Everywhere else these tests are skipped."""

import os

import numpy as np
import pytest
import triton_regions as regions

import tnp
from tnp.testing import assert_same


def _why_not():
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "TRITON_INTERPRET is on: make test-gpu turns it off"
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    if cupy.__version__ == "0":
        return "CuPy is a stand-in here"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "there is no CUDA device"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA device: {error}"


WHY_NOT = _why_not()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")]


def matrix(rows, columns, dtype):
    return (np.sin(np.arange(rows * columns)).reshape(rows, columns) * 9).astype(dtype)


CASES = [
    (regions.chain, lambda d: (abs(matrix(300, 40, d)), abs(matrix(300, 40, d)))),
    (regions.softmax, lambda d: (matrix(70, 333, d),)),
    (regions.softmax, lambda d: (matrix(3, 20_000, d),)),
    (regions.layer_norm, lambda d: (matrix(70, 333, d), matrix(1, 333, d)[0], matrix(1, 333, d)[0])),
    (regions.reductions, lambda d: (matrix(70, 13, d),)),
    (regions.reductions, lambda d: (matrix(700, 1300, d) % 1,)),
    (regions.with_numbers, lambda d: (matrix(3, 5, d), 0.1, 2)),
    (regions.lookups, lambda d: (matrix(6, 5, d), np.array([0, -1, 3, 3, 2, -6]))),
    (regions.stencil, lambda d: (matrix(90, 110, d),)),
    (regions.many_stencils, lambda d: (matrix(60, 61, d),)),
    (regions.joined, lambda d: (matrix(4, 5, d), matrix(4, 6, d))),
    (regions.positions, lambda d: (matrix(4, 5, d),)),
    (regions.transposed, lambda d: (matrix(40, 50, d), matrix(40, 50, d))),
    (regions.booleans, lambda d: (matrix(4, 5, d), -matrix(4, 5, d))),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CASES)])
def test_programs(function, arguments, dtype):
    f = tnp.jit(function, device="cuda")
    assert_same(f(*arguments(dtype)), function(*arguments(dtype)))


def test_a_chain_is_bitwise_that_of_numpy():
    a, b = abs(matrix(300, 400, np.float32)), abs(matrix(300, 400, np.float32))
    assert_same(tnp.jit(regions.chain, device="cuda")(a, b), regions.chain(a, b), exact=True)


def test_an_index_out_of_bounds():
    def look(x, i):
        return x[i] * 2 + 1

    f = tnp.jit(look, device="cuda")
    with pytest.raises(IndexError, match="out of bounds"):
        f(matrix(5, 2, np.float32), np.array([0, 5]))
    x, i = matrix(5, 2, np.float32), np.array([0, 4])
    assert_same(f(x, i), look(x, i))
