"""Loops and branches that do not become one operation: what happens instead is what eager does."""

import array
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tests.flow_checks import not_whole, same_as_eager, source
from tnp.capture import driver
from tnp.capture.control_flow import selection
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def test_lists_that_loops_fill_are_filled():
    def f(x):
        out, seen = [], {}
        for i in range(12):
            out.append(x[i] * 2)
            seen[i] = len(out)
        return np.array(out), seen

    jitted = same_as_eager(f, lambda: (np.arange(12.0),))
    assert "for " not in source(jitted)
    assert sum(b.sym.name == "getitem" for b in tnp.last_traces(jitted)[0].bound_symbols) == 12, (
        "an attempt has left something behind"
    )


def test_an_attempt_leaves_no_trace():
    """The program of a loop that does not roll is the one that is traced if loops never roll."""

    def f(x, y):
        view = y[1:]
        out = {}
        for i in range(12):
            y[0] += x[i]
            view[i % 3] *= 2
            out["last"] = y.sum()
        return out["last"] + view[0]

    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones(4)))
    operations = [b.sym.name for b in tnp.last_traces(jitted)[0].body]
    limit = selection.PEELED
    try:
        selection.PEELED = -1
        plain = same_as_eager(f, lambda: (np.arange(12.0), np.ones(4)))
    finally:
        selection.PEELED = limit
    assert operations == [b.sym.name for b in tnp.last_traces(plain)[0].body]


def test_numbers_that_are_needed_after_a_loop_are_there():
    def f(x):
        k = 0
        for i in range(20):
            x[i] = i
            k += 2
        return np.zeros(k)

    assert "for " not in source(same_as_eager(f, lambda: (np.ones(20),)))
    assert driver.ITERATIONS_AGAIN >= 20


def test_numbers_that_a_while_loop_computes():
    def f(x, n):
        k = 1
        while k < n:
            k *= 2
        return np.zeros(k) + x

    def g(x, n):
        k = 1
        while k < n:
            x *= k
            k *= 2
        return np.ones(k)

    for function in (f, g):
        same_as_eager(function, lambda: (np.ones(1), 20), lambda: (np.ones(1), 60))


def test_a_condition_that_changes_an_object():
    class Countdown:
        def __init__(self, n):
            self.n = n

        def goes_on(self):
            self.n -= 1
            return self.n >= 0

    def f(x):
        c = Countdown(12)
        while c.goes_on():
            x[c.n] += c.n
        return c.n

    same_as_eager(f, lambda: (np.ones(12),))


class Perceptron:
    def fit(self, x, y):
        self.errors = []
        self.parts = ({}, [[]])
        self.w = np.zeros(x.shape[1])
        for i in range(12):
            e = y - x @ self.w
            self.errors.append((e**2).mean())
            self.parts[0][i] = self.errors[-1]
            self.parts[1][0].append(e[0])
            self.w += 0.1 * x.T @ e
        return sum(self.errors)


def test_lists_of_attributes_are_as_before_an_attempt():
    """Those that the program has stored, too: nothing in them is of an iteration that was traced on trial."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    for executors in (None, ["numpy"], ["numpy[prims]"]):
        eager, traced = Perceptron(), Perceptron()
        jitted = tnp.jit(traced.fit, executors=executors)
        for _ in range(2):
            assert_same(jitted(x, y), eager.fit(x, y))
            assert_same(vars(traced), vars(eager))


def test_what_a_library_does_on_one_side_is_not_done_on_trial():
    kept = array.array("d", [0.0])

    def f(x):
        if x[0] > 0:
            kept.append(1.0)
        return x + len(kept)

    def g(x):
        for _ in range(12):
            kept.append(2.0)
            x = x + 1
        return x

    with not_compiled_whole("kept, a array, which may change unseen"):
        tnp.jit(f)(-np.ones(2))
    assert kept.tolist() == [0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(tnp.jit(g)(np.ones(2)), np.full(2, 13.0))
    assert kept.tolist() == [0.0] + [2.0] * 12


def test_iterators_that_loops_take_from():
    def f(x):
        it = iter(range(100))
        for i in range(12):
            x[i] = next(it)
        return x

    same_as_eager(f, lambda: (np.ones(12),))


def test_a_long_unrolling_says_so():
    def f(x, n):
        out = {}
        for i in range(n):
            out["last"] = x[i % 3]
        return out["last"] + i

    n = selection.WARN_ITERATIONS + 1
    jitted = tnp.jit(f, executors=["numpy"])
    with pytest.warns(tnp.EagerFallbackWarning, match=r"over 1,000 iterations.*changes a list"):
        assert jitted(np.ones(3), n) == n


def test_a_loop_that_would_unroll_too_far_runs_eagerly():
    def f(x, n):
        out = {}
        for i in range(n):
            out[i] = x[0]
        return sum(out.values())

    n = selection.MAX_ITERATIONS + 1
    not_whole(f, lambda: (np.ones(3), n), "more than 10,000 iterations")


def swaps_in_views_of_views(x):
    view = x
    while view.size > 3:
        mid = view.size // 2
        view[mid], view[-2] = view[-2], view[mid]
        view = view[:-2]
    return np.sort(x), view


def test_views_of_views_that_a_loop_writes_to():
    same_as_eager(swaps_in_views_of_views, lambda: (np.arange(12),))


def test_a_program_of_too_many_operations_runs_eagerly(monkeypatch):
    monkeypatch.setattr(driver, "MOST_OPERATIONS", 200)
    not_whole(swaps_in_views_of_views, lambda: (np.arange(400),), "more than 200 operations")


def test_changes_of_type_on_one_side():
    def f(x):
        s = 0
        for i in range(12):
            if x[i] > 0.5:
                s = s + 1j
        return s

    jitted = same_as_eager(f, *[lambda x=x: (x,) for x in (np.linspace(0, 1, 12), np.zeros(12), np.linspace(1, 0, 12))])
    assert "for the value True that a condition needs" in tnp.explain(jitted)


def test_errors_that_the_program_catches():
    def f(x):
        for i in range(12):
            try:
                x[i] = x[i + 5]
            except IndexError:
                x[i] = -1

    same_as_eager(f, lambda: (np.arange(12.0),))


def test_arrays_of_the_outside_that_loops_write():
    kept = np.zeros(4)

    def f(x):
        for i in range(12):
            kept[i % 4] += x[i]
        return x + kept[0]

    jitted = tnp.jit(f)
    expected = np.zeros(4)
    for _ in range(2):
        jitted(np.arange(12.0))
        for i in range(12):
            expected[i % 4] += i
        np.testing.assert_array_equal(kept, expected)


def test_two_buffers_that_take_turns():
    def f(u, v, n):
        for _ in range(n):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        return u

    same_as_eager(f, lambda: (np.arange(9.0), np.zeros(9), 12), lambda: (np.arange(9.0), np.zeros(9), 11))


def test_closures_and_comprehensions_in_loops():
    def f(x, n):
        total = x * 0
        for i in range(n):
            scale = lambda v: v * i  # noqa: E731
            total = total + scale(x) + sum(x[k] for k in range(3)) + np.array([v * 2 for v in (i, 1, 2)])
        return total

    same_as_eager(f, lambda: (np.arange(3.0), 12))


def test_random_draws_in_a_loop_are_made_in_order():
    def f(rng, n):
        path = np.zeros(n)
        for i in range(n):
            if rng.random() > 0.5:
                path[i] = rng.standard_normal()
        return path

    jitted = tnp.jit(f, executors=["numpy"])
    for seed in range(3):
        a, b = np.random.default_rng(seed), np.random.default_rng(seed)
        assert_same(jitted(a, 20), f(b, 20))
        assert a.random() == b.random()
    assert "for " in source(jitted)


def test_writes_before_a_number_that_does_not_fit():
    def f(x, k, v):
        for i in range(3):
            x[i] = i + 1
            k[i] = v * (i + 1)

    def g(x, k, v):
        for i in range(20):
            x[i % 3] = i + 1
            k[i % 3] = v * (i + 1)

    values = [(v, t) for v in (2.5, np.nan, 1e300, 100, 2**62) for t in (np.int64, np.int8)]
    for h in (f, g):
        same_as_eager(
            h, *[lambda v=v, t=t: (np.zeros(3), np.zeros(3, t), v) for v, t in values], executors=(None, ["numpy"])
        )


def growing_numbers(first, last, factor):
    numbers = [first]
    for i in range(int(np.floor(np.log(last / first) / np.log(factor))) + 1):
        n = int(np.floor(first * factor**i))
        if n > numbers[-1]:
            numbers.append(n)
    return numbers


def test_loops_that_make_lists_of_constants_run_while_tracing():
    def f(x):
        numbers = growing_numbers(4, 60, 1.2)
        squares = []
        for i in range(200):
            squares.append(i * i)
        return [x[:n].sum() for n in numbers], numbers, sum(squares), np.array(squares)

    jitted = same_as_eager(f, lambda: (np.arange(100.0),), lambda: (np.arange(80.0),))
    assert "for " not in source(jitted)


def test_loops_that_make_lists_of_what_is_computed_are_operations():
    def f(x):
        numbers, drawn = [0], []
        for i in range(200):
            if x[i] > numbers[-1]:
                numbers.append(int(x[i]))
            drawn.append(x[i] * i)
        return len(numbers), np.array(numbers), np.array(drawn)

    jitted = same_as_eager(f, lambda: (np.arange(300.0),))
    assert "for " in source(jitted)


def test_operations_of_other_sizes_in_each_iteration():
    """Nothing of such iterations is one operation: a loop of many is not written out."""

    def spread(x):
        return np.median(np.squeeze(x[:, None])) - np.kron(x, x).min()

    def f(x):
        found = np.zeros(len(x))
        for i in range(3, len(x)):
            value = spread(x[:i])
            if np.abs(value) < 1e-3:
                continue
            found[i] = value
        return found

    x = np.random.default_rng(0).random(60)
    jitted = tnp.jit(f)
    with not_compiled_whole("np.squeeze needs sizes"):
        for _ in range(2):
            assert_same(jitted(x), f(x))
    assert "spread(x[:i])" in str(tnp.explain(jitted))
