"""Reshapes of symbolic sizes are views in kernels. Quotients by sizes that vary vanish: into positions in memory, or where loops are cut."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import outcome
from tnp.executors import llvm
from tnp.testing import assert_same

# Without a target, reshapes between operations are NumPy's, and there are no kernels to look at.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")
RNG = np.random.default_rng(0)


def blocks(x):
    return np.sqrt(x * 2).reshape(-1, 4).mean(axis=1)


def tiles(x):
    h, w = x.shape
    return (x + 1).reshape(h // 2, 2, w // 2, 2).mean(axis=(1, 3))


def pairs(x):
    return (x.reshape(-1, 3) * np.array([1.0, 2.0, 3.0])).sum(axis=1) + 1


def lines(x):
    return (x[:, None] * np.ones(3)).reshape(-1) * 2 + 1


def flat(x):
    return np.exp(x).ravel()[::2] * 2, (x.T * 3).reshape(-1) + 1


def flat_with_rows(x):
    return (x * 2 + x[0] + np.arange(x.shape[1])).reshape(-1) + 1, (x + x[:, :1]).ravel() * x.ravel()


def others(x):
    h, w = x.shape
    return (x * 2).reshape(h * w // 6, 6).sum(axis=1), (x - 1).reshape(w, h).max(axis=0)


def tiled(x):
    return np.tile(x * 2, 3) + 1, np.tile(x - 1, 20) * 2, np.tile(x, (2, 2)) + 1


def tiled_matrices(x):
    return np.tile(x * 2, (2, 3)) + 1, np.repeat(x + 1, 2, axis=0).ravel() * 2


KERNELS = {
    flat: [(40, 60), (42, 80), (8, 9), (2, 2), (1, 7)],
    flat_with_rows: [(40, 60), (42, 80), (8, 9), (2, 2), (1, 7)],
    others: [(12, 10), (18, 7), (6, 7), (3, 4), (12, 4)],
    tiled: [(60,), (90,), (2,), (1,)],
    tiled_matrices: [(40, 60), (42, 80), (8, 9), (2, 2), (1, 7)],
    blocks: [(40,), (80,), (44,), (42,), (4,), (0,)],
    tiles: [(40, 60), (42, 80), (40, 61), (41, 80), (8, 8), (2, 2)],
    pairs: [(60,), (90,), (61,), (3,)],
    lines: [(60,), (90,), (2,), (1,)],
}


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_runs_of_dimensions(f):
    jitted = tnp.jit(f, dynamic=True)
    for shape in (*KERNELS[f], *KERNELS[f]):
        x = RNG.random(shape)
        assert_same(outcome(jitted, [x])[0], outcome(f, [x])[0], rtol=1e-12)
    text = str(tnp.explain(jitted))
    assert "executors: llvm 1\n" in text and "kernel for any size" in text, text


def test_runs_that_are_others_in_another_call():
    def f(x, rows):
        return (x * 2).reshape(rows, 3, x.shape[0] * x.shape[1] // rows // 3).sum(axis=2)

    jitted = tnp.jit(f, dynamic=True)
    for shape, rows in (((12, 30), 12), ((14, 30), 14), ((12, 30), 6), ((6, 15), 10), ((12, 15), 12)):
        x = RNG.random(shape)
        assert_same(jitted(x, rows), f(x, rows), rtol=1e-12)


def test_sums_of_rows_of_which_a_known_number_is_a_block():
    """Positions of rows, quotients of the loop's variable, are computed before the loop along them."""

    def summed(x):
        blocks = (x[:, ::2] * 2).reshape(-1, x.shape[2])
        return blocks.sum(axis=0), (x.transpose(1, 0, 2) + 1).reshape(-1, x.shape[2]).sum(axis=0)

    for shape in ((64, 32, 40), (33, 66, 128), (5, 7, 300)):
        jitted = tnp.jit(summed)
        for n in (shape[0], shape[0] + 3, shape[0] + 1):
            x = RNG.random((n, *shape[1:]))
            assert_same(jitted(x), summed(x), rtol=1e-12)


def test_writes_through_reshapes():
    """The elements that are written are the array's own."""

    def written(x):
        x[None].reshape(-1)[1] = 7
        x.reshape(-1)[::2] += 3
        return x.sum()

    jitted = tnp.jit(written, dynamic=True)
    for shape in ((5, 4), (3, 6), (7, 2)):
        x = RNG.normal(size=shape)
        (got, mine), (expected, left) = outcome(jitted, [x.copy()]), outcome(written, [x.copy()])
        assert_same(got, expected)
        assert_same(mine, left)
    assert "kernel for any size" in tnp.explain(jitted)
