"""Nests that follow each other through the same memory, some rows behind, on any number of threads."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tnp
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same, make_array

# Rows follow each other in native code alone: where llvmlite has no target for the machine, numpy runs each statement.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


@pytest.fixture(autouse=True)
def small_arrays_go_the_way_of_large_ones(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")  # the key of cached code lacks these settings
    for name in ("SKEWED_BYTES", "SKEWED_ROW_BYTES", "SKEWED_CODE_BYTES"):
        monkeypatch.setattr(f"tnp.executors.llvm.target.{name}", 0)
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.skewed.ROWS_FOR_EACH_LEFT", 1)
    monkeypatch.setattr("tnp.executors.llvm.target.GRAIN", 1)


def compare(f, *args, follows=True):
    """Compares with eager, for one thread and for more, to the last bit."""
    before = tnp.get_num_threads()
    jitted = tnp.jit(f)
    try:
        for threads in (1, 2, 3, 7):
            tnp.set_num_threads(threads)
            mine, eagers = [np.copy(a) for a in args], [np.copy(a) for a in args]
            assert_same(jitted(*mine), f(*eagers), exact=True)
            assert_same(mine, eagers, what="arguments", exact=True)
    finally:
        tnp.set_num_threads(before)
    if follows is not None:
        text = str(tnp.explain(jitted))
        assert ("row j of the following" in text) == follows, text


def laplace(a):
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]


def field(*shape, seed=0):
    return make_array(shape, dtype="float64", seed=seed)


def test_two_steps_of_time():
    def f(a, b):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * laplace(a)
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + 0.1 * laplace(b)

    compare(f, field(40, 8), field(40, 8, seed=1))


def test_what_was_read_is_overwritten():
    def f(u, v):
        v[1:-1, 1:-1] += 0.1 * laplace(u)
        u += 0.1 * v

    compare(f, field(40, 8), field(40, 8, seed=1))


def test_a_result_that_is_read_in_other_rows():
    def f(a, out):
        s = np.sqrt(a * a + 1)
        out[:] = s[3:] * s[:-3]
        return s

    compare(f, field(40, 8), field(37, 8))


def test_shifts_to_one_side():
    def ahead(a, b):
        b[:-5] = a[5:] * 2
        a[:] = b + 1

    def behind(a, b):
        b[5:] = a[:-5] * 2
        a[:] = b + 1

    for f in (ahead, behind):
        compare(f, field(40, 8), field(40, 8, seed=1))


def test_rows_that_do_not_go_together():
    def f(a, b):
        b[:] = a[::-1] * 2
        a[:] = b.T + 1

    compare(f, field(24, 24), field(24, 24, seed=1), follows=False)


def test_a_product_reuses_what_it_reads_for_all_rows_of_a_panel():
    def f(a, b):
        return (a / b) @ b

    a, b = field(120, 120) + 3, field(120, 120, seed=1) + 3
    jitted = tnp.jit(f)
    assert_same(jitted(a, b), f(a, b), rtol=1e-10)
    text = str(tnp.explain(jitted))
    assert "by panels of rows" in text and "row j of the following" not in text, text


def test_large_arrays_follow_by_themselves(monkeypatch):
    monkeypatch.undo()

    def f(a, b):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * laplace(a)
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + 0.1 * laplace(b)

    compare(f, field(400, 400), field(400, 400, seed=1))
    compare(f, field(40, 40), field(40, 40, seed=1), follows=False)


STEPS = ("b[1:-1] = a[2:] - a[:-2]", "a[1:-1, 1:] += b[:-2, :-1]", "a[:-3] = b[3:] * 2", "b[4:] -= a[:-4]", "a *= b", "b[2:] = a[1:-1] + b[:-2].sum(axis=1)[:, None]",
         "a += b.max(axis=1, keepdims=True)", "b[:, 1:] = np.cumsum(a, axis=1)[:, :-1]", "c = np.sqrt(a * a + 1); b[1:] = c[1:] - c[:-1]", "a[::2] = b[::2]",
         "a[::-1][2:] = b[:-2]", "b[:] = a.T[:]", "a[3] = b[7] + 1")  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=5), st.integers(0, 3), st.booleans())
@example([STEPS[0], "a[::2] = b[::2]", STEPS[0]], 0, True)
def test_steps(tmp_path_factory, steps, seed, bounds):
    source = "def f(a, b):\n" + "".join(f"    {step}\n" for step in steps)
    path = tmp_path_factory.mktemp("steps") / "program.py"
    path.write_text(source)
    scope = {"np": np}
    exec(compile(source, str(path), "exec"), scope)
    arrays = field(21, 21, seed=seed), field(21, 21, seed=seed + 1)
    if bounds:
        with within_bounds():
            tnp.jit(scope["f"])(*(a.copy() for a in arrays))
    before = tnp.get_num_threads()
    mine, eagers = [a.copy() for a in arrays], [a.copy() for a in arrays]
    try:
        tnp.set_num_threads(3)
        tnp.jit(scope["f"])(*mine)
    finally:
        tnp.set_num_threads(before)
    scope["f"](*eagers)
    assert_same(mine, eagers, what="arguments")
