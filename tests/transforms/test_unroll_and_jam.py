"""Loops whose iterations read the same large arrays: when several iterations become one, and that nothing else changes."""

import numpy as np
import pytest

import tnp
from tests.flow_checks import source
from tnp.testing import assert_same
from tnp.transforms import unroll_and_jam

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Arrays count as large from 512 elements on; loops over them are still not compiled whole."""
    monkeypatch.setattr(unroll_and_jam, "MANY", 512)
    monkeypatch.setattr(unroll_and_jam, "BYTES", 4096)
    monkeypatch.setattr(unroll_and_jam, "REDUCED", 64)


#: more than a loop that is compiled whole has, see the llvm executor
LARGE = 40_000


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(LARGE), rng.random(LARGE)


def loops(jitted):
    """The lines at which loops begin."""
    return [line.strip() for line in source(jitted).splitlines() if line.strip().startswith("for ")]


def check(f, make, jammed):
    jitted = tnp.jit(f)
    expected_args, args = make(), make()
    assert_same(jitted(*args), f(*expected_args))
    assert_same(args, expected_args, what="arguments")
    passes = [str(t.provenance) for t in tnp.last_traces(jitted)]
    assert any("Iterations of loops together" in text for text in passes) is jammed
    return loops(jitted)


def ring_means(data, radius, n):
    edge = radius.max()
    out = np.zeros(n)
    for i in range(n):
        inside = np.logical_and(edge * i / n <= radius, radius < edge * (i + 1) / n)
        out[i] = data[inside].mean()
    return out


@pytest.mark.parametrize(
    ("n", "found"), [(15, ["range(n)"]), (16, ["range(0, 16, 8)"]), (21, ["range(5)", "range(5, 21, 8)"])]
)
def test_means_under_masks(n, found):
    lines = check(ring_means, lambda: (*arrays(), n), n >= 16)
    assert [line.partition(" in ")[2].rstrip(":") for line in lines] == found


def sums_down(x, y, out, total):
    for k in range(37, 1, -2):
        total += (x * k + y).sum() - (x > 0.02 * k).sum()
        out[k, 1:] = total
        out[k, 0] = y.max() * k
    return total


def test_what_is_carried_depends_on_reductions():
    check(sums_down, lambda: (*arrays(), np.zeros((40, 3)), 1.5), True)


def thresholds(x, y, out):
    for i in range(18):
        out[i] = (x > i / 18).sum()


def losses(x, y, out):
    for i in range(32):
        out[i] = np.abs(x - 0.1 * i * y).mean()
    return out.argmin()


@pytest.mark.parametrize("f", [thresholds, losses], ids=lambda f: f.__name__)
def test_counts_and_losses(f):
    check(f, lambda: (*arrays(), np.ones(32)), True)


def grows(x, y, out):
    for i in range(20):
        out[i] = (x + y).sum()
        x[i] += out[i]


def leaves(x, y, out):
    for i in range(20):
        out[i] = (x * i + y).sum()
        if out[i] > 3e5:
            break


def costs(x, y, out):
    for i in range(20):
        out[i] = np.exp(np.sin(x * i) + y).sum()


def keeps(x, y, out):
    for i in range(20):
        y[:] = x * i
        out[i] = (x * i).sum()


@pytest.mark.parametrize("f", [grows, leaves, costs, keeps], ids=lambda f: f.__name__)
def test_other_loops_stay(f):
    """What is read changes; an iteration may be the last; memory is not what it waits for; an array is made."""
    check(f, lambda: (*arrays(), np.zeros(20)), False)


def reads_beyond(x, y, out, at):
    for i in range(20):
        out[at[i]] = (x * i + y).sum()


def test_an_index_that_may_be_wrong():
    at = np.arange(20)
    check(reads_beyond, lambda: (*arrays(), np.zeros(20), at), False)
    at[7] = 99
    args, expected = (*arrays(), np.zeros(20), at), (*arrays(), np.zeros(20), at)
    with pytest.raises(IndexError, match="index 99 is out of bounds"):
        tnp.jit(reads_beyond)(*args)
    with pytest.raises(IndexError):
        reads_beyond(*expected)
    assert_same(args, expected)
