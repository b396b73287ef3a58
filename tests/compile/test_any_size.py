"""Sizes that vary between calls: when programs for any size are compiled, and which sizes get programs of their own."""

import threading

import numpy as np
import pytest

import tnp
from tnp.capture.guards.varying_values import VaryingValues
from tnp.compile import any_size
from tnp.core.errors import NeedsEager
from tnp.executors import llvm
from tnp.executors.llvm.region import LaunchedRegion
from tnp.testing import assert_same

#: llvmlite has no target for some processors; programs are NumPy's there
native = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this processor")


def called(f, *sizes, **options):
    """``f`` jitted and called for vectors of these sizes, compared with eager."""
    jitted = tnp.jit(f, **options)
    for n in sizes:
        x = np.linspace(-1, 2, n)
        assert_same(jitted(x), f(x), what=f"{n} elements")
    return jitted


def programs(jitted):
    return tnp.cache_info(jitted).misses


def test_the_second_size_makes_a_program_for_all():
    f = called(lambda x: (np.where(x > 0, x, -x).sum(), x.mean(), x * 2), 7, 8, 9, 1000, 2, 8)
    assert programs(f) == 2
    assert "for any x.shape[0]" in str(tnp.explain(f))


def test_one_and_no_elements_have_programs_of_their_own():
    assert programs(called(lambda x: x + x[:1], 7, 1, 9, 1, 12)) == 3
    assert programs(called(lambda x: x * 2, 7, 0, 9, 0, 12)) == 3


def test_only_dimensions_that_vary_are_symbols():
    jitted = tnp.jit(lambda x: x.sum(axis=0) * x.shape[1])
    for n in (3, 4, 5):
        assert_same(jitted(np.ones((n, 6))), np.full(6, 6.0 * n))
    assert "for any x.shape[0]\n" in str(tnp.explain(jitted))
    assert programs(jitted) == 2
    assert_same(jitted(np.ones((3, 2))), np.full(2, 6.0))
    assert programs(jitted) == 3


def test_a_size_that_a_program_specializes_on_is_no_symbol():
    f = called(lambda x: x + 1 if len(x) in (4, 6) else x - 1, 3, 4, 5, 6, 7, 3)
    assert programs(f) <= 6


def test_sizes_are_never_symbols_where_that_is_asked_for():
    assert programs(called(lambda x: x + 1, 3, 4, 5, 6, dynamic=False)) == 4
    assert programs(called(lambda x: x + 1, 3, 4, 5, 6, dynamic=True)) == 1


@native
def test_loops_over_elements_are_native_for_any_size():
    def f(x):
        y = np.zeros(len(x))
        for i in range(1, len(x)):
            y[i] = y[i - 1] * 0.5 + x[i] * x[i - 1]
        return y

    jitted = called(f, 5, 6, 7, 8)
    assert programs(jitted) == 2 and "the whole for_loop is native, for any size" in str(tnp.explain(jitted))


def test_a_parity_takes_a_program():
    for f in (np.median, lambda x: np.percentile(x, [10, 50, 90]) + np.median(x)):
        assert programs(called(f, 10, 20, 30, 33, 41, 50, 51)) == 3


@native
def test_what_is_native_for_known_sizes_alone_is_compiled_for_them(monkeypatch):
    monkeypatch.setattr("tnp.compile.compiled_function.FOR_ONE_SIZE", 4)

    def f(x):
        total = 0.0
        for i in range(1, len(x)):
            total += np.sort(x[:i])[0] * x[i - 1]
        return total

    jitted = called(f, 5, 6, 7, 8)
    assert programs(jitted) == 4 and "for any" not in str(tnp.explain(jitted))
    for n in (9, 10, 11, 12):
        x = np.linspace(-1, 2, n)
        assert_same(jitted(x), f(x))
    assert programs(jitted) == 5 and "for any x.shape[0]" in str(tnp.explain(jitted))


@native
@pytest.mark.parametrize("is_faster", [True, False])
def test_a_size_whose_calls_take_long_gets_a_program_if_that_is_faster(monkeypatch, is_faster):
    monkeypatch.setattr(any_size, "COMPILING", 0.0)
    monkeypatch.setattr(any_size, "SHORT", 0.0)
    monkeypatch.setattr(any_size, "FASTER", 1e9 if is_faster else 0.0)
    f = called(lambda x: np.exp(x).sum() + x, 10, 20)
    monkeypatch.setattr(any_size, "COMPILING", 0.05)
    x = np.linspace(0, 1, 30)
    for entry in f._entries:
        if isinstance(entry.run, any_size.HotSizes):
            entry.run.seconds = 0.0
    for _ in range(2 * any_size.CALLS):
        assert_same(f(x), np.exp(x).sum() + x)
    kept = [g.description for e in f._entries for g in e.prologue.guards]
    assert ("argument x has shape (30,)" in kept) is is_faster
    assert programs(f) == 2
    own = [e for e in f._entries if any(g.description == "argument x has shape (30,)" for g in e.prologue.guards)]
    assert all(e.way is not None for e in own)  # its guards may take longer than eager calls


@native
def test_a_size_gets_a_program_where_eager_takes_less_time_than_the_program_for_any(monkeypatch):
    monkeypatch.setattr(any_size, "TIMED", 1)
    monkeypatch.setattr(any_size, "RARELY", 1)
    monkeypatch.setattr(any_size, "FASTER", 1e9)
    f = called(lambda x: np.exp(x).sum() + x, 10, 20)
    (hot,) = (entry.run for entry in f._entries if isinstance(entry.run, any_size.HotSizes))
    assert not hot.gets_own(any_size.WORTH / 2)

    def sizes_with_programs():
        kept = [g.description for e in f._entries for g in e.prologue.guards]
        return [n for n in (20, 30, 40) if f"argument x has shape ({n},)" in kept]

    def run(n, times=1):
        x = np.linspace(0, 1, n)
        for _ in range(times):
            assert_same(f(x), np.exp(x).sum() + x)

    run(30)
    assert hot.gets_own(1.0)
    run(40)  # which has not come before
    assert sizes_with_programs() == []
    assert hot.gets_own(1.0)
    run(30, 2 * any_size.CALLS)
    assert sizes_with_programs() == [30] and programs(f) == 2
    hot._stop()
    assert not hot.gets_own(1.0)


@native
def test_a_size_that_can_have_no_program_of_its_own(monkeypatch):
    def refuse(*args):
        raise NeedsEager("sizes decide")

    monkeypatch.setattr(any_size, "COMPILING", 0.0)
    f = called(lambda x: np.exp(x).sum() + x, 10, 20)
    x = np.linspace(0, 1, 30)
    monkeypatch.setattr(type(f), "_traced", refuse)
    for entry in f._entries:
        if isinstance(entry.run, any_size.HotSizes):
            entry.run.seconds = 0.0
    for _ in range(3):
        assert_same(f(x), np.exp(x).sum() + x)
    assert programs(f) == 2


def test_dimensions_are_marked():
    f = tnp.jit(lambda x: x.sum(axis=1))
    x = np.ones((3, 4))
    tnp.mark_dynamic(x, -2)
    for n in (3, 5, 6):
        x = x if n == 3 else np.ones((n, 4))
        assert_same(f(x), x.sum(axis=1))
    assert programs(f) == 1
    with pytest.raises(IndexError, match="no dimension 2"):
        tnp.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="takes an ndarray or a tensor, not list"):
        tnp.mark_dynamic([1], 0)


def test_an_array_of_other_dimensions_begins_anew():
    sizes = VaryingValues()
    sizes.is_on = True
    assert sizes.symbols("x", np.ones(3), True) == []
    assert sizes.symbols("x", np.ones(4), True) == [0]
    assert sizes.symbols("x", np.ones((4, 4)), True) == []
    assert sizes.symbols("x", np.ones((4, 5)), True) == [1]
    assert sizes.symbols("x", np.ones((4, 1)), True) == [] and sizes.symbols("x", np.ones((5, 4)).T, False) == []
    sizes.specialize("x", 1)
    assert sizes.symbols("x", np.ones((6, 7)), True) == [0]


def test_threads_call_with_sizes_of_their_own():
    f = tnp.jit(lambda x: (x - x.mean()) * x[::-1])
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x = rng.normal(size=rng.integers(1, 50))
            if not np.allclose(f(x), (x - x.mean()) * x[::-1], rtol=1e-12, atol=1e-12):
                wrong.append(len(x))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and programs(f) <= 3


def relations(jitted, *arguments):
    """What programs rely on of sizes, besides that they are 2 at least."""
    jitted(*arguments)
    guards = [g.description for e in jitted._entries for g in e.prologue.guards]
    return [g for g in guards if ("shape[" in g or g.startswith("dimension ")) and not g.endswith(">= 2")]


def test_relations_of_one_size_are_one_bound():
    f = tnp.jit(lambda x: x[2:] + x[:-2] + x[1:-1][::1], dynamic=True)
    assert relations(f, np.arange(9.0)) == ["dimension 0 of argument x >= 4"]
    assert_same(f(np.arange(4.0)), np.array([3.0, 6.0]))
    assert programs(f) == 1
    assert_same(f(np.arange(3.0)), np.array([3.0]))
    assert programs(f) == 2


def test_equal_dimensions_are_told_without_python():
    def f(x, y, z):
        x[:] = y[:, 1:] + z
        return x

    jitted = tnp.jit(f, dynamic=True)
    shapes = lambda n, m: (np.ones((n, m)), np.ones((n, m + 1)), np.ones((n, m)))  # noqa: E731
    for n, m in ((3, 4), (5, 6), (40, 2), (2, 300)):
        assert_same(jitted(*shapes(n, m)), f(*shapes(n, m)))
    assert programs(jitted) == 1
    wrong = np.ones((3, 4)), np.ones((3, 5)), np.ones((2, 4))
    with pytest.raises(ValueError, match="broadcast"):
        jitted(*wrong)
    x = np.ones((3, 4))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jitted(x, np.ones((3, 5)), np.ones((3, 4)))


def test_what_follows_of_products_is_no_relation():
    f = tnp.jit(lambda x: x.reshape(-1)[x.shape[1] :] * 2, dynamic=True)
    assert relations(f, np.ones((3, 4))) == []
    for shape in ((2, 2), (7, 5)):
        assert_same(f(np.ones(shape)), np.full(shape[1] * (shape[0] - 1), 2.0))
    assert programs(f) == 1


@native
def test_the_program_that_runs_is_tried_first():
    f = called(lambda x: x * 2 + 1, 5, 6, *([7] * 70))
    assert getattr(f._form.runs[0], "is_for_any_size", False)
    called_again = f(np.ones(5))
    assert_same(called_again, np.full(5, 3.0))
    assert programs(f) == 2


@native
def test_a_kernel_finds_sizes_that_equal_others():
    """The second kernel does not take ``a``, whose size ``s`` has: it reads the size of ``b``, which is equal."""

    def f(a, b):
        c = a[1:] + b[1:]
        s = np.sort(a[1:] * 2)
        return s * b[1:] + s, c

    jitted = tnp.jit(f, dynamic=True)
    for n in (5, 9, 40):
        a, b = np.linspace(0, 1, n), np.linspace(1, -1, n)
        assert_same(jitted(a, b), f(a, b))
    shown = str(tnp.explain(jitted, a, b))
    assert shown.count("kernel for any size") == 2 and "numpy: t" in shown and "np.multiply" not in shown


def test_a_range_as_an_array_is_one_program_for_all_lengths():
    f = tnp.jit(lambda n, x: np.array(range(1, n, 2)) * x + np.asarray(range(n), float).sum())
    g = f.__tnp_function__
    for n in (5, 6, 7, 30, 200):
        assert_same(f(n, 1.5), g(n, 1.5))
    assert programs(f) == 2
    empty = tnp.jit(lambda n: np.array(range(n)))
    for n in (4, 5, 0, 1, -3):  # of no integers, NumPy makes floats
        assert_same(empty(n), np.array(range(n)))
    with pytest.raises(OverflowError):
        tnp.jit(lambda n: np.asarray(range(n), np.uint8), dynamic=True)(300)
    with pytest.raises(ValueError, match="copy"):
        tnp.jit(lambda n: np.array(range(n), copy=False), dynamic=True)(30)


@native
@pytest.mark.parametrize("least", [0, 16])
def test_a_branch_on_how_many_a_mask_selects(least):
    """No code for one size has the branch natively, so that the program for any size is as good."""

    def f(x):
        y = x[x > 0]
        if len(y) > least:
            return y.sum() + y[0]
        return np.float64(0.0)

    jitted = tnp.jit(f)
    for n in (20, 50, 51, 300, 4000):
        x = np.random.default_rng(n).standard_normal(n)
        assert_same(jitted(x), f(x))
        assert_same(jitted(-abs(x)), f(-abs(x)))
    assert programs(jitted) == 2


def test_arrays_as_long_as_what_a_mask_selects():
    """A length that only the running program knows is one without an upper bound, where the mask is of any size."""

    def f(x):
        y = x[x > 0]
        z = np.zeros(len(y) + 2)
        z[1:-1] = y
        return z, 2.0 * np.ones(len(y)), np.full((2, len(y) // 2), 3.0)

    jitted = tnp.jit(f, strict=True)
    for n in (20, 50, 51, 300, 2000):
        x = np.random.default_rng(n).standard_normal(n)
        assert_same(jitted(x), f(x))
        assert_same(jitted(-abs(x)), f(-abs(x)))
    assert programs(jitted) == 2


def a_diagonal(x):
    d = np.diag(np.outer(x, x + 1))
    total = 0.0
    for k in range(len(x)):
        total = total + d[k] * x[k]
    return total, d * 2


def columns(x):
    values = np.linalg.eigh(np.outer(x, x) + np.eye(len(x)))[1][:, ::2]
    return np.abs(values) + 1, np.abs(values).sum(axis=0)


@native
@pytest.mark.parametrize("f", [a_diagonal, columns], ids=lambda f: f.__name__)
def test_arrays_with_gaps_are_copied_for_native_code(f, monkeypatch):
    jitted, runs = tnp.jit(f), []
    singly = LaunchedRegion._run_singly
    for n in (5, 7, 9, 12, 12):
        x = np.linspace(-1, 2, n)
        found, expected = jitted(x), f(x)
        assert_same(found, expected, rtol=1e-10)
        assert [r.strides for r in found if isinstance(r, np.ndarray)] == [
            r.strides for r in expected if isinstance(r, np.ndarray)
        ]
        monkeypatch.setattr(LaunchedRegion, "_run_singly", lambda *args: runs.append(args) or singly(*args))
    assert programs(jitted) <= 2
    assert not runs


def smoothed(x, n=14):
    d = np.diff(x)
    level, found = d[:n].mean(), []
    for i in range(n, len(d)):
        level = (level * (n - 1) + d[i]) / n
        found.append(level)
    return np.array(found)


def test_lengths_that_an_integer_decides_together_with_a_size():
    jitted, rng = tnp.jit(smoothed), np.random.default_rng(0)
    for size, n in ((44, 14), (53, 14), (60, 14), (71, 14), (71, 10), (80, 12), (65, 7)):
        x = rng.random(size)
        assert_same(jitted(x, n), smoothed(x, n), rtol=1e-12)
    assert programs(jitted) <= 3  # of one size, of any, and of any window


@native
@pytest.mark.parametrize(
    "f",
    [
        lambda u: (u - u[0]) / (u[-1] - u[0]),
        lambda u: np.sum((u[1:] + u[:-1]) * 0.5) * (u[1] - u[0]) + u[0] * u[-1],
        lambda u: np.pad(u, 2) * np.argmax(u),
        lambda u: np.abs(np.exp(1j * u) + 2j * u[::-1]),
        lambda u: np.lib.stride_tricks.sliding_window_view(u, 3).mean(axis=1) + 1,
    ],
    ids=["ends", "step", "padded", "complex", "windows"],
)
def test_a_few_elements_are_part_of_the_kernel(f):
    """Operations on single elements, between others of symbolic sizes, take no kernel of their own."""
    jitted = tnp.jit(f, dynamic=True, strict=True)
    for n in (7, 12, 100):
        x = np.random.default_rng(n).random(n)
        assert_same(jitted(x), f(x))
    text = str(tnp.explain(jitted))
    assert "executors: llvm 1\n" in text, text


def test_sizes_of_one_leave_programs_for_any_size():
    """What is fixed for 1, or for 2 where there is one less, varies in the programs of other dtypes."""

    def spaced(x, n):
        return np.linspace(0, 1, n) * x.sum()

    def counted(x, n):
        return np.histogram(x, n)

    def between(x, n):
        return np.histogram(x, np.linspace(0, 90, n + 1))[0]

    x = np.random.default_rng(0).random(200) * 100
    for f in (spaced, counted, between):
        jitted = tnp.jit(f)
        for kind in "dfl":
            for n in (10, 20, 33, 2, 1, 40, 41, 42):
                assert_same(jitted(x.astype(kind), n), f(x.astype(kind), n), rtol=1e-5)
        assert tnp.cache_info(jitted).misses <= 12
