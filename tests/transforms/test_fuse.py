"""Regions of operations: which write their result over a product, and that nothing else changes."""

import importlib.util

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.testing import assert_same

pytestmark = [
    pytest.mark.skipif(
        not llvm.is_available(), reason="regions over products need the llvm executor, which this platform lacks"
    ),
    pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning"),
]

ROWS, INNER, COLUMNS = 24, 1100, 20


def arrays(dtype=np.float64):
    r = np.random.default_rng(0)
    return tuple(r.standard_normal(shape).astype(dtype) for shape in ((ROWS, INNER), (INNER, COLUMNS), (ROWS, COLUMNS)))


def over_products(jitted):
    """How many results of regions are in an argument."""
    regions = [b for b in tnp.last_traces(jitted)[-1].body if "fusion" in b.sym.name]
    return sum(len(b.sym.updates or ()) for b in regions)


def check(f, args, count):
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(*args), f(*args), rtol=1e-6)
    assert over_products(jitted) == count


def layer(a, b, c):
    return np.maximum(a @ b + c[0], 0)


def kernel_matrix(a, b, c):
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=0)
    return np.exp(-0.001 * (squares - 2 * np.dot(a, b)))


def residual(a, b, c):
    return np.where(c > 0, c - np.matmul(a, b), 0.5)


def two_products(a, b, c):
    return np.tanh(a @ b), np.sqrt(np.abs(a @ np.flip(a).T))


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@pytest.mark.parametrize(("f", "count"), [(layer, 1), (kernel_matrix, 1), (residual, 1), (two_products, 2)])
def test_a_region_writes_over_a_product_that_it_alone_reads(f, count, dtype):
    check(f, arrays(dtype), count)


def reads_again(a, b, c):
    p = a @ b
    return np.tanh(p), p


def reads_a_view(a, b, c):
    p = a @ b
    q = p[1:3]
    return np.tanh(p), np.linalg.norm(q, axis=1)


def two_results(a, b, c):
    p = a @ b
    return np.tanh(p), p * c


def sums(a, b, c):
    p = a @ b
    return p - p.sum(axis=1)[:, None]


def other_dtype(a, b, c):
    return (a @ b + c).astype(np.float16)


def shifts(a, b, c):
    p = a @ b
    return p + p[::-1]


def repeats(a, b, c):
    return np.tanh((a @ b)[:, None] + c)


@pytest.mark.parametrize(
    "f", [reads_again, reads_a_view, two_results, sums, other_dtype, shifts, repeats], ids=lambda f: f.__name__
)
def test_other_regions_make_new_memory(f):
    """The product is read elsewhere, or a view of it, or by two results; rows are needed whole, or read in another order; the result is of another kind, or larger."""
    check(f, arrays(np.float32), 0)


def test_a_stack_of_products_keeps_its_order_in_memory():
    """NumPy's products of stacks of matrices lie as their operands do."""
    a = np.ones((3, 2, 8, INNER)).transpose(1, 0, 2, 3)
    b = np.ones((3, 2, INNER, 7)).transpose(1, 0, 2, 3)
    check(lambda a, b: np.tanh(a @ b), (a, b), 0)


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="its programs are PyTorch's, which is an optional dependency"
)
def test_products_of_tensors():
    import torch
    import torch.nn.functional as F

    def attention(x, w, c):
        return torch.exp(torch.matmul(x.view(2, -1, x.shape[1]), w) * 0.1)

    def gated(x, w, c):
        return F.silu(F.linear(x, w.T)) * torch.mm(x, w)

    def stacks(x, w, c):
        return torch.sigmoid(torch.bmm(x.view(2, -1, x.shape[1]), w.expand(2, *w.shape)))

    def again(x, w, c):
        p = x @ w
        return torch.relu(p), p.sum()

    args = tuple(map(torch.from_numpy, arrays(np.float32)))
    with torch.no_grad():
        for f, count in ((attention, 1), (gated, 1), (stacks, 1), (again, 0)):
            jitted = tnp.jit(f)
            for _ in range(2):
                torch.testing.assert_close(jitted(*args), f(*args), rtol=1e-4, atol=1e-4)
            assert over_products(jitted) == count, f.__name__


def test_operations_stay_outside_of_blocks_that_raise():
    """A division before an ``np.errstate`` with errors only warns, also where its region is taken apart, and goes on behind the block."""

    def f(a, b):
        ones = np.ones_like(b / a)
        with np.errstate(divide="raise"):
            c = (ones == b).astype(complex, copy=False)
        for _ in range(3):
            a[0] = a[-1]
        return c

    jitted = tnp.jit(f)
    for second in (1, 0):
        mine, theirs = (np.array([[1], [second], [2], [4]], "int16") for _ in range(2))
        with np.errstate(divide="ignore", invalid="ignore"):
            assert_same(jitted(mine, np.ones((1, 4)) + 0j), f(theirs, np.ones((1, 4)) + 0j))
        assert_same(mine, theirs)
