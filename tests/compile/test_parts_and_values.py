"""Parts of functions that are compiled for values: how often, and when they are left to Python."""

from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tests.compile.test_resume_points import X, points_of
from tests.eager_checks import outcome
from tnp.compile.eager_calls import has_too_many
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs in parts")


def iterated(x, tolerance):
    log, count = [], 0
    while count < 40:
        last = x
        x = 0.5 * (x + 2 / x)
        count += 1
        log.append(count)
        if np.abs(x - last).max() < tolerance:
            break
    return x, log


@pytest.mark.parametrize("size", [50, 60_000])
def test_what_a_value_was_needed_of_is_not_computed_again_and_again(size):
    x = np.linspace(1, 4, size)
    jitted = tnp.jit(iterated)
    for tolerance in (1e-9, 1e-9, 1e-3):
        assert_same(jitted(x, tolerance), iterated(x, tolerance))
    assert "Python runs" not in str(tnp.explain(jitted))


def test_functions_inside_that_call_one_another_are_the_same_at_each_call():
    def f(x, log):
        def square(y):
            return y * y

        def half(y):
            return square(y) / 2

        log.append(memoryview(x).nbytes)
        return np.sqrt(half(x) + square(x)) + np.cos(half(x))

    jitted = tnp.jit(f)
    for _ in range(8):
        assert_same(jitted(X, []), f(X, []))
    spans = [p for p in points_of(jitted).parts if tnp.cache_info(p[1]).misses]
    assert spans and all(tnp.cache_info(jitted_span).misses <= 2 for _, jitted_span in spans)


def test_a_part_with_many_programs_is_left_to_python():
    def f(x, rates):
        total = x * 0
        for k in range(len(x)):
            for _ in range(6):
                memoryview(x)
                total = total + np.sin(x) * rates[k]
        return total

    jitted = tnp.jit(f)
    x = np.linspace(0, 1, 60)
    for _ in range(3):
        assert_same(jitted(x, [1.0] * 60), f(x, [1.0] * 60))
    assert "it was compiled 24 times" in str(tnp.explain(jitted))


def test_whether_a_function_in_parts_has_loops():
    def plain(x, n):
        memoryview(x)
        return np.sin(x) * n + np.cos(x)

    def of_itself(x, n):
        memoryview(x)
        return np.sin(x) * 2 + np.cos(x) if n == 0 else of_itself(x + 1, n - 1)

    def with_a_loop(x, n):
        memoryview(x)
        for i in range(1, len(x)):
            x[i] = x[i - 1] * 0.5 + x[i] * n
        return x

    for f, has_loops in ((plain, False), (of_itself, False), (with_a_loop, True)):
        jitted = tnp.jit(f)
        for _ in range(3):
            assert_same(jitted(X.copy(), 2), f(X.copy(), 2))
        assert points_of(jitted).has_loops() == has_loops


def test_whether_a_program_has_native_loops():
    """Eager may take a thousand times as long for these, and is not tried where they take long. Python runs other loops, about as eager does."""

    def native(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * i
        return s

    def pythons(x):
        for _ in range(30):
            x = np.argsort(np.sin(x[x.argsort()]) * 2 + x) * 1.0
        return x

    def both(x):
        for _ in range(30):
            x = x[np.argsort(x)] + native(x)
        return x

    for f, has_loops in ((native, True), (pythons, False), (both, True)):
        jitted = tnp.jit(f)
        jitted(np.linspace(0.0, 1.0, 50))
        (entry,) = jitted._entries
        assert entry.has_loops() == has_loops


def test_arrays_that_are_resized_in_place():
    """Python does it; who refers to the array counts only where NumPy asks."""

    def grown(x):
        a = np.zeros(0)
        b = a
        for k in range(5):
            a.resize(a.size + 1, refcheck=False)
            a[k] = x[k:].sum() * np.sin(x[k])
        return a, b is a, b.size, (x * a.sum()).cumsum()

    def given(x):
        y = np.sin(x) * 2
        x.resize((2, x.size), refcheck=False)
        return y + x, y[:3]

    for f in (grown, given):
        jitted = tnp.jit(f)
        for n in (8, 9, 10):
            mine, theirs = np.arange(n) * 1.0, np.arange(n) * 1.0
            assert_same(jitted(mine), f(theirs))
            assert_same(mine, theirs)
        assert "in parts" in str(tnp.explain(jitted))


@pytest.mark.parametrize(
    ("traced", "seconds", "hits", "is_too_many"),
    [
        (3, 9.0, 0, False),
        (4, 0.1, 0, False),
        (4, 0.3, 0, True),
        (4, 0.3, 12, False),
        (12, 0.0, 0, True),
        (24, 0.0, 999, True),
    ],
)
def test_a_span_that_is_compiled_for_each_call_is_left_to_python(traced, seconds, hits, is_too_many):
    """Earlier if that takes long."""
    form, other = SimpleNamespace(traced=traced), SimpleNamespace(traced=99)
    entries = [SimpleNamespace(form=form, seconds=seconds)] * traced + [SimpleNamespace(form=other, seconds=99.0)]
    assert has_too_many(form, entries, hits) is is_too_many


def test_arrays_of_the_program_that_are_resized_in_place():
    """NumPy counts who refers to them, as it does in eager."""

    def alone(x):
        y = np.cumsum(x) * 2
        total = y[1:].sum()
        y.resize((3, 4))
        return y + total

    def in_a_loop(x):
        y = np.zeros(3)
        for k in range(4):
            y.resize(3 + k)
            y[k] = x[k] + y.sum()
        return y * 2

    def viewed(x):
        y = np.cumsum(x) * 2
        z = y[1:]
        y.resize(3)
        return y, z

    def held(x):
        y = np.cumsum(x) * 2
        z = [y]
        y.resize(3)
        return y, z

    def a_part(x):
        y = np.cumsum(x)[1:]
        y.resize(3)
        return y

    for f in (alone, in_a_loop, viewed, held, a_part):
        jitted = tnp.jit(f)
        for n in (20, 20, 24, 30):
            x = np.random.default_rng(n).random(n)
            assert_same(outcome(jitted, (x,)), outcome(f, (x,)))
        assert "in parts" in str(tnp.explain(jitted))
