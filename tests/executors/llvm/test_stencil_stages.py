"""Stages of stencils, one behind the other, some rows apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


@pytest.fixture(autouse=True)
def small_arrays_go_the_way_of_large_ones(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")  # the key of cached code lacks these settings
    monkeypatch.setattr("tnp.executors.llvm.target.RECOMPUTE", 1)
    for name in ("SKEWED_BYTES", "SKEWED_ROW_BYTES", "SKEWED_CODE_BYTES"):
        monkeypatch.setattr(f"tnp.executors.llvm.target.{name}", 0)
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.skewed.ROWS_FOR_EACH_LEFT", 1)
    monkeypatch.setattr("tnp.executors.llvm.target.GRAIN", 1)


def compare(f, *args):
    """Compares with eager, for one thread and for more, to the last bit."""
    results = []
    before = tnp.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            tnp.set_num_threads(threads)
            jitted = tnp.jit(f)
            mine, eagers = [np.copy(a) for a in args], [np.copy(a) for a in args]
            found, expected = jitted(*mine), f(*eagers)
            assert_same(found, expected)
            assert_same(mine, eagers, what="arguments")
            results.append((found, mine))
    finally:
        tnp.set_num_threads(before)
    for other in results[1:]:
        assert_same(other, results[0], exact=True)
    return jitted


def laplace(a):
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]


def field(*shape, seed=0):
    return make_array(shape, dtype="float64", seed=seed)


def test_the_laplacian_of_the_laplacian():
    compare(lambda a: laplace(laplace(a)), field(30, 9))


def test_a_chain_of_three():
    compare(lambda a: laplace(laplace(laplace(a))), field(30, 11))


def test_horizontal_diffusion():
    def f(field, out, coefficient):
        lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
        d = lap[1:, 1:-1] - lap[:-1, 1:-1]
        fx = np.where(d * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, d)
        d = lap[1:-1, 1:] - lap[1:-1, :-1]
        fy = np.where(d * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, d)
        out[:] = field[2:-2, 2:-2] - coefficient * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])

    compare(f, field(40, 9, 4), field(36, 5, 4), field(36, 5, 4, seed=1))


def test_rows_that_are_reduced():
    def f(a):
        row = np.exp(a).sum(axis=1)
        return np.tanh(row[1:] - row[:-1])[:, None] + a[1:]

    compare(f, field(50, 6))


def test_a_smoothed_softmax():
    def f(a):
        e = np.exp(a - a.max(axis=1, keepdims=True))
        e /= e.sum(axis=1, keepdims=True)
        return (e[2:] + e[1:-1] + e[:-2]) / 3

    g = tnp.jit(f)
    a = field(60, 7)
    assert_same(g(a), f(a))


def test_an_update_in_place_reads_no_row_that_is_written():
    def f(u):
        u[2:-2, 2:-2] -= 0.1 * laplace(laplace(u))

    compare(f, field(40, 8))


def test_two_steps_of_time():
    def f(a, b):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * laplace(a)
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + 0.1 * laplace(b)

    compare(f, field(40, 8), field(40, 8, seed=1))


def test_what_is_returned_has_all_its_rows():
    def f(a):
        once = laplace(np.sin(a))
        return once, laplace(once)

    compare(f, field(40, 8))


def test_rows_in_the_other_direction():
    def f(a):
        s = np.sin(a)
        return s[::-1][1:] * s[:-1], s[2:] - s[:-2]

    compare(f, field(40, 8))


def test_columns_in_fortran_order():
    compare(lambda a: laplace(laplace(a)), np.asfortranarray(field(9, 30)))


STAGES = ("np.tanh(x)[1:] - np.tanh(x)[:-1]", "x[2:] * 0.5 + x[:-2]", "np.sqrt(x * x + 1)[:, 1:] - np.sqrt(x * x + 1)[:, :-1]", "np.sin(x)",
          "np.where(x[1:] > x[:-1], np.exp(-x * x)[1:], np.exp(-x * x)[:-1])", "x - x.mean(axis=1, keepdims=True)",
          "np.cumsum(x, axis=1)[1:] / (1 + abs(x[:-1]))", "np.arctan(x)[3:] + np.arctan(x)[:-3]", "(x / (1 + x * x)).T[::-1].T",
          "x[1:] * y[: len(x) - 1, : x.shape[1]]", "x + y[3 : 3 + len(x), : x.shape[1]]")  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(STAGES), min_size=2, max_size=6), st.integers(0, 3), st.booleans())
def test_chains(tmp_path_factory, stages, seed, store):
    body = "".join(f"    x = {stage}\n" for stage in stages)
    end = "    y[: len(x), : x.shape[1]] += x\n    return y.sum()\n" if store else "    return x\n"
    source = f"def f(x, y):\n{body}{end}"
    path = tmp_path_factory.mktemp("stages") / "program.py"
    path.write_text(source)
    scope = {"np": np}
    exec(compile(source, str(path), "exec"), scope)
    f = scope["f"]
    x, y = field(37, 12, seed=seed), field(41, 12, seed=seed + 1)
    mine, eagers = y.copy(), y.copy()
    with within_bounds():
        found = tnp.jit(f)(x, mine)
    assert_same(found, f(x, eagers))
    assert_same(mine, eagers)


def fluxes(field, out):
    """Along both axes of planes, from a Laplacian: what is between is needed in columns beside."""
    lap = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4 * field[1:-1, 1:-1]
    along = lap[1:, 1:-1] - lap[:-1, 1:-1]
    across = lap[1:-1, 1:] - lap[1:-1, :-1]
    out[...] = field[2:-2, 2:-2] - (along[1:] - along[:-1]) * (across[:, 1:] - across[:, :-1])


@pytest.mark.parametrize("columns", [69, 133])
def test_tiles_of_columns(columns):
    compare(lambda a: laplace(laplace(a)), field(12, columns))


def test_tiles_of_planes():
    compare(fluxes, field(12, 70, 5), np.zeros((8, 66, 5)))


def test_tiles_of_three_stages():
    """The stage between reads no more of the first than that has."""
    with within_bounds():
        compare(lambda a: laplace(laplace(laplace(a))), field(20, 110, 3))


def test_no_tiles_where_columns_are_written_that_are_read():
    def f(a, out):
        lap = laplace(a)
        out += lap[1:-1] + lap[2:] + lap[:-2]

    compare(f, field(20, 100), field(16, 98))
