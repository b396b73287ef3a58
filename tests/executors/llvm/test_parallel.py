"""Loops of programs whose iterations are independent run on all threads, and those of others do not."""

import os
import signal
import threading

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager
from tnp.executors.llvm.program import parallel

EXECUTORS = ["llvm[everything]", "numpy"]


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Two threads, however short the loops."""
    monkeypatch.setattr("tnp.executors.llvm.target.GRAIN_IN_LOOPS", 0)
    monkeypatch.setattr(parallel, "WORK_PER_BYTE", 0)
    before = tnp.get_num_threads()
    tnp.set_num_threads(2)
    yield
    tnp.set_num_threads(before)


def values(*shape, seed=0):
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(float)


def outlined(f, make, loops):
    """Compares with eager, one thread with two, and says how many loops run in parallel."""
    jitted = same_as_eager(f, make, executors=(EXECUTORS,))
    two, one = make(), make()
    jitted(*two)
    tnp.set_num_threads(1)
    jitted(*one)
    tnp.set_num_threads(2)
    for a, b in zip(one, two):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()
    text = str(tnp.explain(jitted))
    assert f"{loops} loops in it run in parallel" in text if loops else "in parallel" not in text, text


def rows(a, b, out):
    for i in range(a.shape[0]):
        row = np.sqrt(np.abs(a[i] * b[i]))
        out[i] = row.sum() + row[0] * i


def columns_downward(a, b, out):
    for j in range(a.shape[1] - 1, 0, -2):
        for i in range(1, a.shape[0]):
            a[i, j] += a[i - 1, j] * 0.5 + out[j] + b[j, i]


def triangle(a, b, out):
    for i in range(a.shape[0]):
        for j in range(i + 1):
            b[i, j] = a[i] @ a[j]
        b[i, :i] *= 0.5


def branches(a, b, out):
    for i in range(a.shape[0]):
        s = out[i]
        for x in a[i]:
            if x > 0:
                s += x
        n = 0
        while s > 1.0:
            s *= 0.5
            n += 1
        out[i] = s + n


def rows_of_a_product(a, b, out):
    for i in range(a.shape[0]):
        b[i] = (a.T @ a)[i] + a[i]


@pytest.mark.parametrize("f", [rows, columns_downward, triangle, branches, rows_of_a_product])
def test_independent_iterations(f):
    outlined(f, lambda: [values(40, 40), values(40, 40, seed=1), values(40)], 1)


def inside_of_another(a, b, out):
    for k in range(3):
        for i in range(1, a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] += a[i, k] * 0.5 + b[k, j]
        b[k + 1] += a[3] * 0.25


def shared_row(a, b, out):
    for i in range(a.shape[0]):
        b[0] = a[i] * 2
        out[i] = b[0].sum()


def earlier_row(a, b, out):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + np.sqrt(np.abs(a[i]))


def rows_that_meet(a, b, out):
    for i in range(a.shape[0] - 1):
        b[i : i + 2] += a[i]


def carried_sum(a, b, out):
    s = 0.0
    for i in range(len(out)):
        s += out[i]
        out[i] = s


def left_early(a, b, out):
    for i in range(len(out)):
        if out[i] > 3:
            break
        out[i] += 1


def unknown_places(a, b, out):
    for i in range(len(out)):
        out[(i * i) % 7] += i


def a_name_that_is_kept(a, b, out):
    found = np.zeros(40)
    for k in range(2):
        for i in range(40):
            if i % 3 == k:
                found[0] = i
            out[i] = found[0]


@pytest.mark.parametrize("f", [shared_row, earlier_row, rows_that_meet, carried_sum, left_early, unknown_places])
def test_iterations_that_depend_on_each_other(f, monkeypatch):
    # Inner loops over elements are independent: without them, what is left is the loop of the program.
    monkeypatch.setattr(parallel, "_parts", _parts_of_program_loops)
    outlined(f, lambda: [values(40, 40), values(40, 40, seed=1), values(40)], 0)


_parts = parallel._parts


def _parts_of_program_loops(p, loop, uses):
    return None if loop.of_elements else _parts(p, loop, uses)


def test_memory_made_outside_the_loop_is_not_each_threads_own(monkeypatch):
    monkeypatch.setattr(parallel, "_parts", _parts_of_program_loops)
    outlined(a_name_that_is_kept, lambda: [values(2, 2), values(2, 2), values(40)], 0)


def test_a_loop_inside_of_one_that_is_not_independent():
    # Of the loops over i and over the elements of b's row, the first has others inside.
    outlined(inside_of_another, lambda: [values(40, 40), values(40, 40), None], 2)


def test_temporaries_from_the_heap_are_each_threads_own():
    def f(a, b, out):
        for i in range(a.shape[0]):
            row = np.cumsum(a[i])
            for j in range(3):
                row = row[::-1] * 0.5 + b[j]
            out[i] = row[7]

    outlined(f, lambda: [values(9, 4000), values(3, 4000), values(9)], 1)


def test_bounds_that_are_numbers_of_the_caller():
    def f(a, b, n, m):
        for i in range(n):
            for j in range(1, m - 1):
                b[i, j] = a[i, j - 1] + a[i, j + 1] * i
        for i in range(n - 1, -1, -1):
            for j in range(i):
                b[i, j] += a[i] @ a[j]

    shapes = [(40, 40), (3, 5), (0, 9), (9, 0), (40, 39), (41, 40), (40, 42), (-3, 40)]
    calls = [lambda n=n, m=m: [values(40, 40), values(40, 40, seed=1), n, m] for n, m in shapes]
    same_as_eager(f, *calls, executors=(EXECUTORS,))
    jitted = same_as_eager(f, calls[0], executors=(EXECUTORS,))
    assert str(tnp.explain(jitted)).count("1 loops in it run in parallel") == 2


def test_an_index_that_only_some_iterations_have_is_checked_there():
    def f(a, b, n, m):
        for i in range(n):
            if i < m:
                b[i] = a[i + 3]
            for j in range(n - i):
                if j > 30:
                    break
                b[j + i] += 1

    calls = [
        lambda n=n, m=m: [values(40), values(40, seed=1), n, m] for n, m in [(40, 30), (40, 37), (40, 38), (41, 3)]
    ]
    same_as_eager(f, *calls, executors=(EXECUTORS,))


def test_of_several_errors_the_first_in_program_order_is_raised_and_nothing_after_it_is_seen():
    def f(x, k, y):
        for i in range(len(k)):
            y[i] = 5.0
            y[i] += x[k[i]]
        return y.sum()

    def make(*bad):
        k = np.arange(200) % 50
        for place, index in bad:
            k[place] = index
        return lambda: [values(50), k, np.zeros(200)]

    jitted = same_as_eager(
        f, make(), make((150, 60), (199, -51)), make((3, -51), (150, 60)), make((0, 50)), executors=(EXECUTORS,)
    )
    assert "1 loops in it run in parallel" in str(tnp.explain(jitted))


def test_integers_that_outgrow_64_bits_start_the_call_again():
    def f(y, n):
        for i in range(len(y)):
            a, b = n, 1
            while b < 10:
                a = a * a
                b += 1
            y[i] += a % 7

    same_as_eager(f, lambda: [np.zeros(50), 1], lambda: [np.zeros(50), 3], executors=(EXECUTORS,))


@pytest.mark.skipif(os.name == "nt", reason="signals cannot be sent to the process itself")
def test_ctrl_c_ends_a_parallel_loop():
    def f(x, y, n):
        for i in range(len(y)):
            while x[i] > 0:
                y[i] += 1
                if y[i] > n:
                    y[i] = 0

    jitted = tnp.jit(f, executors=EXECUTORS)
    x, y = np.ones(64), np.zeros(64)
    jitted(-x, y, 5)
    assert "1 loops in it run in parallel" in str(tnp.explain(jitted))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            jitted(x, y, 5)
    finally:
        signal.signal(signal.SIGINT, before)
