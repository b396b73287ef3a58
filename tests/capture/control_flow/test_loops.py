"""Loops and branches of programs that become operations of the trace."""

import itertools
import signal
import warnings

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, not_whole, same_as_eager, source, statements
from tests.programs import branches
from tnp.capture import driver
from tnp.capture.control_flow import selection
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def test_a_stencil_writes_in_place_and_copies_nothing():
    def f(u, v, n):
        for _ in range(n):
            v[1:-1] += 0.5 * u[2:]
            u[1:-1] += v[:-2]

    jitted = same_as_eager(f, lambda: (np.arange(8.0), np.arange(8.0), 12))
    assert next(line.strip() for line in statements(jitted)) == "for i0 in range(n):"
    assert "np.array" not in source(jitted)
    assert "[...]" not in source(jitted)
    assert source(jitted).count("out=") == 2


def test_an_array_of_the_program_is_copied_once_if_another_name_needs_it():
    def f(x):
        a = x * 2
        b = a + 0
        for i in range(12):
            a[i % 4] += b[0]
        return a, b

    jitted = same_as_eager(f, lambda: (np.arange(4.0),))
    assert "np.array" not in source(jitted)


def test_another_trip_count_runs_the_same_program():
    def f(x, n):
        for i in range(n):
            x[i] *= 2
        return x.sum()

    jitted = same_as_eager(f, *(lambda n=n: (np.arange(30.0), n) for n in (5, 12, 30, 1)))
    assert tnp.cache_info(jitted) == (3, 1, 1)
    same = np.arange(30.0)
    assert_same(jitted(same, 0), f(np.arange(30.0), 0))
    assert tnp.cache_info(jitted).size == 2, "an empty loop is another program"


def test_a_trip_count_that_is_a_value_of_an_array():
    def f(x, n):
        s = x[0] * 0
        for i in range(n[1]):
            s += x[i]
        return s

    jitted = same_as_eager(f, *(lambda k=k: (np.arange(9.0), np.array([1, k])) for k in (0, 4, 9)), executors=EXECUTORS)
    assert tnp.cache_info(jitted) == (2, 1, 1)


def test_variables_settle_after_a_round():
    def f(x):
        s = 0
        for i in range(x.shape[0]):
            s += x[i]
            last = s * 2
        return s, last

    jitted = same_as_eager(f, lambda: (np.arange(12.0),), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_few_iterations_of_a_number_in_the_program_are_written_out():
    def f(x):
        for k in range(selection.UNROLLED):
            x += k

    def g(x):
        for k in range(20):
            x += k

    def deep(x):
        for a in range(2):
            for b in range(2):
                for c in range(2):
                    x += a * b * c

    assert "for " not in source(same_as_eager(f, lambda: (np.zeros(3),)))
    assert "for " in source(same_as_eager(g, lambda: (np.zeros(3),)))
    assert source(same_as_eager(deep, lambda: (np.zeros(3),))).count("for ") == 1


def test_indices_downward_by_steps_and_out_of_bounds():
    def f(x, start, stop, step):
        for i in range(start, stop, step):
            x[i] = i
        return x

    for bounds in ((0, 9, 2), (8, 0, -3), (-3, 3, 1), (5, 12, 1), (3, 3, 1)):
        same_as_eager(f, lambda bounds=bounds: (np.zeros(9), *bounds), executors=EXECUTORS)


def test_an_error_in_the_seventh_round_leaves_what_eager_leaves():
    def f(x, at):
        y = x[:]
        for i in range(12):
            x[0] += i
            y[at[i]] = i

    same_as_eager(f, lambda: (np.zeros(9), np.array([1, 2, 3, 4, 5, 6, 99, 1, 2, 3, 4, 5])), executors=EXECUTORS)


def test_an_assert_in_a_loop():
    f = branches.asserted  # pytest changes what asserts say, but not there
    jitted = same_as_eager(f, lambda: (np.linspace(0, 2, 12),), lambda: (np.zeros(12),))
    assert "raise AssertionError('too large')" in source(jitted)


def test_a_read_only_array_is_refused_as_numpy_does():
    def f(x):
        for i in range(12):
            x[i] = i

    def make():
        x = np.zeros(12)
        x.flags.writeable = False
        return (x,)

    same_as_eager(f, make)


def test_division_by_zero_of_numbers_in_a_loop():
    def f(x, n):
        for i in range(n):
            x += i
            x[i] = 1 // (5 - i)
            x *= 2

    same_as_eager(f, lambda: (np.zeros(12), 9), executors=EXECUTORS)

    def g(x, n):
        try:
            for i in range(n):
                x[0] += 10 // (5 - i)
        except ZeroDivisionError:
            x[1] = -1

    same_as_eager(g, lambda: (np.zeros(3), 4), lambda: (np.zeros(3), 9))


def test_python_numbers_do_not_overflow_in_loops():
    def f(x, n):
        a = 1
        for i in range(n):
            a *= 1000
            x[i % 3] += 1
        return a

    jitted = same_as_eager(f, lambda: (np.zeros(3), 40), executors=EXECUTORS)
    assert jitted(np.zeros(3), 30) == 10**90


def test_nested_triangular_loops_roll():
    def f(A):
        for i in range(A.shape[0]):
            for j in range(i + 1, A.shape[0]):
                A[i, j] -= A[i, :i] @ A[:i, j]

    jitted = same_as_eager(f, lambda: (np.arange(100.0).reshape(10, 10) / 99,), executors=EXECUTORS)
    assert source(jitted).count("for ") == 2
    assert "np.array" not in source(jitted)


def test_views_made_before_a_loop_see_what_it_writes():
    def f(A):
        row, corner = A[2], A[1:, 1:]
        for i in range(12):
            A[i % 3] += i
            corner[0, i % 2] -= 1
        return row * 1, corner.sum()

    same_as_eager(f, lambda: (np.arange(12.0).reshape(3, 4),), executors=EXECUTORS)


def test_windows_at_a_loop_variable():
    def f(image, weights):
        n, k = image.shape[0] - weights.shape[0] + 1, weights.shape[0]
        out = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                out[i, j] = np.sum(image[i : i + k, j : j + k, np.newaxis] * weights[:, :, np.newaxis])
        return np.maximum(out, 0)

    rng = np.random.default_rng(0)
    for names in EXECUTORS:
        image, weights = rng.random((61, 61)), rng.random((50, 50))
        jitted = tnp.jit(f, executors=names)
        assert_same(jitted(image, weights), f(image, weights))
    assert source(jitted).count("for ") == 2


def test_a_scalar_read_before_a_loop_keeps_its_value():
    def f(x):
        first, part = x[0], x[1:3] + 0
        for i in range(12):
            x[i % 4] += 1
        return first, part

    same_as_eager(f, lambda: (np.arange(4.0),), executors=EXECUTORS)


def test_loops_over_arrays_enumerate_zip_and_reversed():
    def f(x, rows):
        s = x[0] * 0
        for i, v in enumerate(x):
            s = s * 0.5 + v * i
        for a, row in zip(reversed(x), rows):
            row += a
        for v, k in zip(x[::-1], range(3, 30)):
            s -= v * k
        return s

    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones((11, 2))), executors=EXECUTORS)
    assert source(jitted).count("for ") == 3


def test_what_enumerate_gives_is_run_through_once():
    def f(x):
        numbered = enumerate(x)
        first = next(numbered)[1] * 1
        for i, v in numbered:
            x[0] += v * i
        return first

    same_as_eager(f, lambda: (np.arange(12.0),))

    def g(x):
        pairs = zip(x, x)
        for a, b in pairs:
            x[0] += a * b
        for a, b in pairs:
            x[1] += a + b

    not_whole(g, lambda: (np.arange(12.0),), "runs twice over")


def test_what_a_loop_binds_last_is_there_afterwards():
    def f(x, n):
        for i in range(n):
            y = x * i
            y[0] = 5
        y[1] += 1
        return i, y

    jitted = same_as_eager(f, lambda: (np.arange(4.0), 12))
    assert source(jitted).count("for ") == 1


def test_variables_that_arrays_are_bound_to_anew():
    def f(A, x, n):
        y = x
        for _ in range(n):
            x = A @ x
            x = x / x.max()
        x[0] = 7
        return x, y

    same_as_eager(
        f, *(lambda n=n: (np.arange(1.0, 10).reshape(3, 3), np.ones(3), n) for n in (12, 1, 0)), executors=EXECUTORS
    )


def test_names_that_were_never_bound():
    def f(x, n):
        for i in range(n):
            y = x[i]
        return y

    same_as_eager(f, lambda: (np.ones(3), 0))

    def g(x):
        for i in range(20):
            if i > 0:
                z = x[i]
            x[0] = z
        return z

    same_as_eager(g, lambda: (np.ones(20),))


def test_loops_with_else_break_and_continue():
    def f(x, limit):
        kept = 0
        for i in range(x.shape[0]):
            if x[i] > limit:
                break
            if x[i] < 0.2:
                continue
            kept += 1
        else:
            x[0] = -1
        return kept

    rng = np.random.default_rng(0)
    values = rng.random(20)
    jitted = same_as_eager(f, lambda: (values.copy(), 0.9), lambda: (values.copy(), 2.0), executors=EXECUTORS)
    assert "break" in source(jitted)
    assert tnp.cache_info(jitted).size == 1


def test_a_while_loop_stops_when_it_is_interrupted():
    @tnp.jit
    def f(x):
        while x[0] > 0:
            x[1] += 1

    def interrupt(*args):
        raise KeyboardInterrupt

    stopped = np.zeros(2)
    f(stopped)
    before = signal.signal(signal.SIGALRM, interrupt)
    x = np.array([1.0, 0.0])
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            f(x)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert x[1] > 0


# Branches of programs


def test_a_branch_on_a_value_is_one_program():
    def f(x):
        if x.sum() > 0:
            y = x * 2
            x[0] = 9
        else:
            y = x - 1
        return y

    jitted = same_as_eager(f, lambda: (np.ones(3),), lambda: (-np.ones(3),), executors=EXECUTORS)
    assert tnp.cache_info(jitted) == (1, 1, 1)


def test_what_is_returned_is_the_array_that_eager_returns():
    def f(x, y):
        return x if x[0] > y[0] else y

    jitted = tnp.jit(f, executors=["numpy"])
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert jitted(a, b) is b
    assert jitted(b, a) is b


def test_a_write_to_one_of_two_arrays_runs_eagerly():
    def f(x, y):
        z = x if x[0] > y[0] else y
        z[1] = 5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        not_whole(f, lambda: (np.array([1.0, 2]), np.array([3.0, 4])), "may be another one")


def test_and_or_not_and_chains_of_values():
    def f(x):
        c = np.zeros(5)
        for v in x:
            c[0] += v > 0.2 and v < 0.9
            c[1] += v < 0.2 or v > 0.9
            if not v > 0.5 and not v < 0.1:
                c[2] += 1
            if 0.1 < v <= 0.6 != v:
                c[3] += 1
            c[4] += v if 0.3 < v else -v
        return c

    jitted = same_as_eager(f, lambda: (np.linspace(0, 1, 31),), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_what_is_not_reached_is_not_evaluated():
    def f(x, n):
        hits = 0
        for i in range(n):
            if i < x.shape[0] and x[i] > 0.5:
                hits += 1
        return hits

    same_as_eager(f, lambda: (np.linspace(0, 1, 12), 20), executors=EXECUTORS)


def test_functions_with_early_returns():
    def kind(v):
        if v > 0.8:
            return 2
        if v > 0.4:
            return 1
        return 0

    def f(x):
        counts = np.zeros(3)
        for v in x:
            counts[kind(v)] += 1
        return counts

    same_as_eager(f, lambda: (np.linspace(0, 1, 31),), executors=EXECUTORS)


def test_python_decides_where_nothing_is_traced():
    def f(x, mode, options):
        if mode == "double" and options.get("on", True):
            x = x * 2
        for name in options:
            if name == "stop":
                break
            if name == "skip":
                continue
            x = x + len(name)
        else:
            x = -x
        while mode:
            mode = mode[1:]
            if mode == "ble":
                return x
        return x + 1

    for mode in ("double", "single"):
        for options in ({}, {"skip": 1, "abc": 2}, {"stop": 1}):
            jitted = same_as_eager(f, lambda mode=mode, options=options: (np.ones(3), mode, dict(options)))
            assert "for " not in source(jitted)


STEPS = 3


def test_few_iterations_by_a_global_are_written_out(monkeypatch):
    def f(x):
        for _ in range(STEPS):
            x = x * 2 + 1
        return x

    g = tnp.jit(f)
    x = np.arange(4.0) / 2**500
    for steps, misses in ((3, 1), (2, 2), (500, 3), (501, 3)):
        monkeypatch.setitem(globals(), "STEPS", steps)
        assert_same(g(x), f(x))
        assert tnp.cache_info(g).misses == misses


def test_a_loop_that_raises_and_gives_nothing_is_kept():
    def f(n, x):
        for v in range(n, 3):
            v /= n
            y = sum(x.ravel()[:3])  # noqa: F841 (it is dead)
        return n

    same_as_eager(f, *[lambda n=n: (n, np.ones(7, np.int8)) for n in (1, -1, 0)])


@pytest.mark.parametrize("view", (lambda a: a, lambda a: a.T, lambda a: a[:], lambda a: a.view()))
def test_views_of_all_of_an_array_are_objects_of_their_own_behind_a_loop(view):
    def swapped(x):
        a = x * 2
        b = view(a)
        n = 0
        while n < 8 and x.sum() > -2:
            n += 1
            a, b = b, a
        return a, b

    def never(x):
        a = x * 2
        b, c, d = view(a), view(a), x * 2
        n = 0
        while n < 8 and x.sum() < n:
            n += 1
            a, b, c, d = a * 3, b + 1, c + 1, d + 2
        return a, b, c, d

    for f in (swapped, never):
        arrays, expected = tnp.jit(f)(np.ones(3)), f(np.ones(3))
        assert_same(arrays, expected)
        for (x, y), (u, v) in zip(itertools.combinations(arrays, 2), itertools.combinations(expected, 2)):
            assert (x is y) == (u is v)
            assert np.shares_memory(x, y) == np.shares_memory(u, v)


def test_a_comprehension_of_many_operations_is_not_written_out(monkeypatch):
    assert driver.MOST_OPERATIONS == 50_000
    monkeypatch.setattr(driver, "MOST_OPERATIONS", 2_000)

    def f(x, n):
        return [x[0] * np.ones(i % 3) for i in range(int(n[0]))][-1]

    not_whole(f, lambda: (np.ones(2), np.array([2_400])), "2,400 iterations")


@pytest.mark.parametrize(("most", "is_written_out"), [(5_000, True), (300, False)])
def test_a_loop_that_is_an_operation_is_not_written_out_for_long(monkeypatch, most, is_written_out):
    assert driver.MOST_OPERATIONS_AGAIN == 5_000
    monkeypatch.setattr(driver, "MOST_OPERATIONS_AGAIN", most)

    def f(x):
        n = 0
        for i in range(200):
            x = np.sin(x) + 1
            n += i
        return {f"after {n}": x}

    jitted = same_as_eager(f, lambda: (np.arange(3.0),))
    assert ("for " not in source(jitted)) == is_written_out


def test_integers_to_negative_powers_in_a_loop():
    def arrays(x, n):
        total = x
        for _ in range(n):
            total = total + x**x
        return total

    def dead(x, n):
        while True:
            n += 1
            if n > 2:
                break
            np.add.reduce(x**x)

    def elements(x, n):
        for _ in range(n):
            x[0] = x[1] ** x[2]
        return x

    def of_a_number(x, n):
        for i in range(12):
            x = x ** (n - i)
        return x

    values = [lambda v=v, n=n: (np.array(v), n) for v in ([2, 1, 0], [2, 3, -1], [-1, 2, 3]) for n in (0, 11, 12)]
    for f in (arrays, dead, elements, of_a_number):
        same_as_eager(f, *values)
        same_as_eager(f, lambda: (np.zeros(0, np.int64), 3) if f is not elements else values[0]())
