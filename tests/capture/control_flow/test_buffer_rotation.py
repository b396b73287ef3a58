"""Loops in which arrays change names: buffers that take turns, and values that are handed on from one variable to the next."""

import itertools
import warnings

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def two(n):
    return lambda: (np.arange(9.0), np.linspace(2, 3, 9), n)


def test_two_buffers_take_turns_without_copies():
    def f(u, v, n):
        for _ in range(n):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        return u.sum()

    jitted = same_as_eager(f, *map(two, (0, 1, 2, 3, 12, 13)), executors=EXECUTORS)
    jitted = tnp.jit(f, executors=["numpy"])
    for n in (12, 13, 40, 41):
        args, expected = two(n)(), two(n)()
        assert_same(jitted(*args), f(*expected))
        assert_same(args, expected)
        text = source(jitted)
        assert text.count("for ") == 1
        assert "np.array" not in text
        assert "copy" not in text
    assert tnp.cache_info(jitted).size == 2, (
        "another number of iterations runs the same program, if it is as even or odd"
    )


def test_the_buffer_that_comes_back_is_the_callers():
    def f(u, v, n):
        for _ in range(n):
            v[:] = u * 2 + 1
            u, v = v, u
        u[0] = -1
        return u, v

    for n in (2, 3, 12, 13):
        jitted, args, expected = tnp.jit(f), two(n)(), two(n)()
        first, second = jitted(*args)
        assert_same((first, second), f(*expected))
        assert_same(args, expected)
        assert first is args[n % 2]
        assert second is args[1 - n % 2]


def test_three_buffers_in_a_circle():
    def f(x, n, step):
        a, b, c = x * 1, x * 2, x * 3
        for i in range(0, n, step):
            c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.1 * (b[2:] + b[:-2]) + i
            a, b, c = b, c, a
        return a, b, c

    calls = [lambda n=n, s=s: (np.arange(6.0), n, s) for n, s in itertools.product((9, 10, 11, 12, 30), (1, 2))]
    jitted = same_as_eager(f, *calls, executors=EXECUTORS)
    assert source(jitted).count("for ") == 1


def test_buffers_that_take_turns_in_iterations_of_an_index():
    def f(x, y):
        for i in range(x.shape[0] - 2, 1, -1):
            y[i] = x[i - 1 : i + 2].sum() + y[i - 1]
            x, y = y, x
        return x, y

    jitted = same_as_eager(f, lambda: (np.arange(20.0), np.ones(20)), lambda: (np.arange(21.0), np.ones(21)))
    assert source(jitted).count("for ") == 1
    jitted = tnp.jit(f)
    jitted(np.arange(20.0), np.ones(20))
    assert "[n" not in tnp.last_traces(jitted)[0].python()


def test_buffers_of_two_shapes_take_turns():
    def f(a, b):
        out = 0.0
        for i in range(20):
            a[0] += i
            out += a.sum() - b[0]
            a, b = b, a
        return out

    same_as_eager(f, lambda: (np.arange(4.0), np.arange(7.0)), executors=EXECUTORS)


def test_one_array_under_two_names_takes_turns_with_itself():
    def f(u, v, n):
        for _ in range(n):
            v[1:] = 0.5 * u[:-1] + 1
            u, v = v, u
        return u

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for n in (12, 13):
            for same in (lambda x: (x, x), lambda x: (x[:8], x[1:]), lambda x: (x[1:], x[:8])):
                x, y = np.arange(9.0), np.arange(9.0)
                assert_same(tnp.jit(f)(*same(x), n), f(*same(y), n))
                assert_same(x, y)


def test_values_handed_on_from_variable_to_variable():
    def f(u, n, dt):
        before = u
        for _ in range(n):
            after = 2 * u - before
            after[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
            before, u = u, after
        return before, u

    jitted = same_as_eager(f, *(lambda n=n: (np.arange(7.0) ** 2, n, 0.1) for n in (1, 2, 12)), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1
    args = (np.arange(7.0), 1, 0.1)
    assert jitted(*args)[0] is args[0]


def test_fibonacci_of_arrays():
    def f(a, b, n):
        for _ in range(n):
            a, b = b, a + b
        return a, b

    def g(a, b, n):
        while n[0] > 0:
            a, b = b, a + b
            n[0] -= 1
        return a, b

    calls = [lambda n=n: (np.arange(3), np.ones(3, int), n) for n in (0, 1, 2, 12)]
    same_as_eager(f, *calls, executors=EXECUTORS)
    same_as_eager(g, *(lambda c=c: (*c()[:2], np.array([c()[2]])) for c in calls), executors=EXECUTORS)


def test_a_write_to_what_was_handed_on_is_seen_by_all_its_names():
    def f(a, b, n):
        first = a
        for _ in range(n[0]):
            a, b = b, a
        a[0] = 100
        return first, a, b

    def g(a, b, n):
        for _ in range(n):
            a, b = b, b * 2
        a[0] = 100
        return a, b

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for n in (0, 1, 2, 5):
            same_as_eager(f, lambda n=n: (np.arange(3.0), np.ones(3), np.array([n])))
            same_as_eager(g, lambda n=n: (np.arange(3.0), np.ones(3), n))


def test_turns_that_end_early_or_meet_run_as_eager_does():
    def left(u, v, n):
        for _ in range(n):
            v[:] = u + 1
            u, v = v, u
            if u[0] > 4:
                break
        return u, v

    def met(u, v, n):
        for _ in range(n):
            v[0] += u[1]
            u = v
        return u, v

    def sometimes(u, v, n):
        for i in range(n):
            v[1:] = u[:-1] + i
            if u[1] > 3:
                u, v = v, u
        return u, v

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for f in (left, met, sometimes):
            same_as_eager(f, *map(two, (3, 12)))


def test_variables_that_are_written_before_they_are_bound_anew():
    def f(x, n):
        z = x * 0
        for i in range(n):
            np.multiply(z, z, z)
            np.add(z, x, z)
            z[i % 3] += 1
            z = z * 0.5
        return z

    jitted = same_as_eager(f, *(lambda n=n: (np.linspace(-1, 1, 5), n) for n in (1, 2, 12)), executors=EXECUTORS)
    assert source(jitted).count("for ") == 1
    jitted = same_as_eager(f, lambda: (np.linspace(-1, 1, 5), 12))
    assert "np.array" not in source(jitted), "it is written in place"


def test_points_that_have_diverged_are_left_out():
    def f(n, m, iterations, horizon):
        i, j = np.mgrid[0:n, 0:m]
        c = np.linspace(-2, 1, n)[i] + 1j * np.linspace(-1, 1, m)[j]
        count = np.zeros((n, m), np.int64)
        i.shape = j.shape = c.shape = n * m
        z = np.zeros(c.shape, np.complex128)
        for k in range(iterations):
            if not len(z):
                break
            np.multiply(z, z, z)
            np.add(z, c, z)
            gone = abs(z) > horizon
            count[i[gone], j[gone]] = k + 1
            np.logical_not(gone, gone)
            z = z[gone]
            i, j, c = i[gone], j[gone], c[gone]
        return count, z, c.shape

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of setting shapes
        calls = [lambda r=r, h=h: (6, 5, r, h) for r, h in ((1, 2.0), (12, 2.0), (12, 0.1))]
        same_as_eager(f, *calls[:2], executors=EXECUTORS)
        jitted = same_as_eager(f, *calls)
    assert source(jitted).count("for ") == 1
    assert "np.array" not in source(jitted)


def test_an_array_that_shrinks_until_nothing_is_left():
    def f(x):
        iterations = 0
        while len(x) > 0:
            x = x[x > 0.5] - 0.25
            iterations += 1
        return iterations, x

    def g(x, n):
        total = 0.0
        for i in range(n):
            x = x[x > i]
            total += x.sum() * len(x)
        return total, x

    same_as_eager(f, lambda: (np.linspace(0, 3, 20),), lambda: (np.zeros(0),), executors=EXECUTORS)
    same_as_eager(g, *(lambda n=n: (np.linspace(0, 9, 20), n) for n in (1, 4, 15)), executors=EXECUTORS)


def test_an_array_that_one_side_shortens():
    def f(x, y):
        if y[0] > 0:
            z = x[x > 1]
        else:
            z = x[x > y[0]] * 2
        return z, z.sum(), len(z)

    same_as_eager(f, *(lambda y=y: (np.arange(5.0), np.array([y])) for y in (1.0, -1.0)), executors=EXECUTORS)


def test_buffers_of_the_program_take_turns_until_a_condition_ends_it():
    def f(x, tolerance):
        u, v = x.copy(), x.copy()
        iterations = 0
        change = x[0] * 0 + 1
        while change > tolerance:
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            change = abs(v - u).max()
            u, v = v, u
            iterations += 1
        return u, v, iterations

    calls = [lambda t=t: (np.arange(8.0) ** 2, t) for t in (2.0, 0.5, 0.01)]
    jitted = same_as_eager(f, *calls, executors=EXECUTORS)
    assert source(jitted).count("while ") == 1


def test_an_older_name_of_what_a_loop_overwrites_sees_that():
    def after(x, n):
        z = x * 2
        first = z
        for _ in range(n):
            z[1:] += z[:-1]
            z = z * 0.5
        return first, z

    def inside(x, n):
        z = x * 2
        first = z
        for _ in range(n):
            z[1:] += z[:-1] + first[0]
            z = z * 0.5 + first[-1]
        return z

    def view(x, n):
        z = x * 2
        first = z[1:]
        for _ in range(n):
            z[1:] += z[:-1]
            z = z * 0.5
        return first, z

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for f in (after, inside, view):
            same_as_eager(f, *(lambda n=n: (np.arange(4.0), n) for n in (1, 2, 12)), executors=EXECUTORS)


def test_two_variables_that_begin_as_one_array():
    def f(x, n):
        a = b = x * 2
        for _ in range(n):
            a[0] += 1
            b[1] += a[0]
            a, b = a * 1, b * 2
        return a, b

    def g(x, n):
        a = b = x * 2
        for _ in range(n):
            a, b = b, a + b
            b[0] += 1
        a[1] += 5
        return a, b

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for h in (f, g):
            same_as_eager(h, *(lambda n=n: (np.arange(4.0), n) for n in (1, 2, 3, 12)), executors=EXECUTORS)


def test_what_is_handed_on_is_not_overwritten():
    def f(x, n):
        a, b = x + 1, x + 2
        for i in range(n):
            old = a
            a = b * 1.5
            a[0] += i
            b[1] -= i
            b = old
        return a, b

    def g(x, n):
        a, b, c = x + 1, x + 2, x + 3
        for _ in range(n):
            np.add(a, b, a)
            a, b, c = c, a, a * 0.5 - c
        return a, b, c

    for h in (f, g):
        same_as_eager(h, *(lambda n=n: (np.arange(4.0), n) for n in (1, 2, 3, 12)), executors=EXECUTORS)


def test_an_older_name_of_what_is_handed_on_to_a_variable_that_is_written():
    def f(x, y):
        u, v = x * 2, x * 3
        first = u
        while y[0] > 0:
            v[0] += 1
            u, v = v, u
            y[0] -= 1
        return first, u

    def g(x, y):
        u, v = x * 2, x * 3
        while y[0] > 0:
            v[0] += 1
            u, v = v, u
            y[0] -= 1
        return x * 2, u

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for h in (f, g):
            calls = [lambda n=n: (np.arange(3.0), np.array([n])) for n in (0, 1, 2, 5)]
            same_as_eager(h, *calls, executors=EXECUTORS)


def test_buffers_that_took_turns_are_written_afterwards():
    def f(x, y):
        u, v = x * 2, x * 3
        while y[0] > 0:
            v[0] += 1
            u, v = v, u
            y[0] -= 1
        u += 100
        v[1] = -1
        u[1:] += v[:-1]
        return u, v

    calls = [lambda n=n: (np.arange(3.0), np.array([n])) for n in (0, 1, 2, 5)]
    same_as_eager(f, *calls, executors=EXECUTORS)
