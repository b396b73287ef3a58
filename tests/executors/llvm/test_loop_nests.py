"""Whole loops in native code: the same as eager, with nothing of Python left inside."""

import os
import signal
import threading
import warnings
from random import Random

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager, source
from tests.fuzzing import define
from tests.fuzzing.loops import loop_arguments, random_loops

EVERYTHING = ["llvm[everything]", "numpy"]


def native(f, *calls, executors=EVERYTHING):
    """Calls ``f`` compiled and as it is; what is compiled has no loop or branch left."""
    jitted = same_as_eager(f, *calls, executors=(executors,))
    lines = [line.strip() for line in source(jitted).splitlines()]
    assert not any(line.startswith(("for ", "while ", "if ")) for line in lines), source(jitted)
    assert any("_fusion" in line for line in lines)
    return jitted


def rng(seed=0):
    return np.random.default_rng(seed)


def whole(shape, seed=0, dtype=float):
    """Values whose sums and products are exact."""
    return rng(seed).integers(-5, 6, shape).astype(dtype)


# Elements, rows and columns


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "u1", "c16"])
def test_recurrences_on_elements(dtype):
    def f(x, y):
        for i in range(2, len(x)):
            x[i] = x[i - 1] + x[i - 2] * y[-i]
        return x[-1]

    with np.errstate(over="ignore"):
        native(f, lambda: [whole(9, 1, dtype), whole(9, 2, dtype)], lambda: [whole(9, 3, dtype), whole(9, 4, dtype)])


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda a: a[::-1, ::-1], lambda a: a.T])
def test_triangles_of_a_matrix_in_any_layout(layout):
    def f(a):
        for i in range(a.shape[0]):
            for j in range(i):
                a[i, j] -= a[i, :j] @ a[:j, j]
            for j in range(i, a.shape[0]):
                a[i, j] -= a[i, :i] @ a[:i, j]

    native(f, lambda: [layout(whole((6, 6)))])


def test_rows_that_overlap():
    def f(a):
        for i in range(1, len(a) - 1):
            a[i, 1:-1] += a[i, :-2] + a[i, 2:] + a[i - 1, 1:-1]  # behind and ahead of what is written
            a[i, 1:] = a[i, :-1]
            a[i, :-1] = a[i, 1:]
            a[i + 1, ::-1] = a[i + 1]

    native(f, lambda: [whole((6, 7))])


def test_slices_whose_bounds_are_loop_variables():
    def f(x, out):
        for i in range(-9, 9):
            out[i + 9, 0] = x[i:].sum()
            out[i + 9, 1] = x[:i].sum()
            out[i + 9, 2] = x[i : i + 3].sum()
            out[i + 9, 3] = x[i:-1:2].sum()

    native(f, lambda: [whole(7), np.zeros((18, 4))])


def test_reductions_of_rows_and_blocks():
    def f(a, out):
        for i in range(1, len(a)):
            b = a[:i, i:]
            out[i] = b.sum() + b.min() - b.max() + a[i].argmax() + b.mean() + b.var() + (b > 0).any() + b.sum(axis=0)[0]

    native(f, lambda: [whole((6, 8)) / 4, np.zeros(6)])


def test_long_sums_are_accurate():
    def f(x, n):
        total = 0.0 * x[0]
        for _ in range(n):
            total = (x * x).sum()
        return total

    x = rng().random(30_000) * 10.0 ** rng(1).integers(-6, 7, 30_000)
    exact = np.square(x.astype(np.longdouble)).sum()
    found = tnp.jit(f, executors=EVERYTHING)(x, 3)
    assert abs(found - exact) <= 4 * np.finfo(float).eps * exact


def test_infinite_sums():
    def f(x, out):
        for i in range(len(out)):
            out[i] = x[i].sum()

    x = np.zeros((4, 3000))
    x[0, 7], x[1, 2500], x[2, 3], x[2, 2900], x[3, 1] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        native(f, lambda: [x.copy(), np.zeros(4)])


def test_products_of_small_matrices():
    def f(a, b, c):
        for i in range(len(a)):
            c[i] += a[i] @ b[i]
            c[i, 0] = a[i, 0] @ b[i]
            c[i, :, 0] = a[i] @ b[i, :, 0]

    for dtype in ("f8", "f4", "c16", "i8"):
        native(f, lambda dtype=dtype: [whole((4, 3, 3), k, dtype) for k in range(3)])


def test_gathers_and_scatters():
    def f(x, rows, columns, out):
        for i in range(len(rows) - 1):
            out[i] = x[columns[rows[i] : rows[i + 1]]].sum()
            out[columns[: i + 1]] += 1.0
            out[columns[i] - 1] -= 0.5

    rows = np.array([0, 2, 2, 5, 8])
    native(f, lambda: [whole(6), rows.copy(), np.array([0, 5, -1, 2, 2, -6, 3, 1]), np.zeros(6)])


# Scalars


def test_python_numbers_and_numpy_scalars():
    def f(x, n, poly):
        crc, total, flag = 0xFFFF, 0.5, False
        for i in range(n):
            byte = x[i] & 0xFF
            for _ in range(8):
                if (crc & 1) ^ (byte & 1):
                    crc = (crc >> 1) ^ poly
                else:
                    crc >>= 1
                byte >>= 1
            total = total * 0.5 - crc // 3 + crc % 7 - -crc // 2
            flag = not flag
        return crc, total, flag

    jitted = native(f, lambda: [whole(20, dtype=np.uint8), 20, 0x8408], lambda: [whole(20, dtype=np.uint8), 3, 5])
    assert tnp.cache_info(jitted).misses == 1, "another count is no other program"


def test_integers_beyond_64_bits_are_pythons():
    def f(x, n):
        s = 3
        for i in range(n):
            x[i] += 1.0
            s = s * 7 - i
        return s

    native(f, lambda: [np.zeros(50), 10], lambda: [np.zeros(50), 50])


def test_division_by_zero():
    def f(x, k, n):
        for i in range(n):
            x[i] = 100 // (k - i)
        return x

    native(f, lambda: [np.zeros(9), 20, 9], lambda: [np.zeros(9), 5, 9])


def test_steps_of_all_kinds():
    def f(x, start, stop, n):
        for i in range(start, stop):
            x[i] += 1
        for i in range(start, stop, -2):
            x[i] += 10
        for i in range(n - 1, -1, -1):
            x[i] += x[i - 1]
        for i in range(0, n, 3):
            x[i] *= 2

    native(f, *(lambda a=a, b=b: [whole(8), a, b, 8] for a, b in ((0, 8), (7, -1), (3, 3), (-8, 0), (5, 2))))


# Ways out


def test_loops_that_are_left():
    def f(x, limit):
        found, passed = -1, 0.0
        for i in range(len(x)):
            if x[i] > limit:
                found = i
                break
            passed += x[i]
        while passed > 0.5:
            passed = passed * 0.5
        return found, passed

    native(f, lambda: [np.arange(30.0), 4.5], lambda: [np.arange(30.0), 99.0])


def test_arrays_that_are_bound_anew():
    def f(a, b, tolerance):
        x = np.zeros_like(b)
        r = b - a @ x
        p, rs, steps = r, r @ r, 0
        while rs > tolerance:
            ap = a @ p
            alpha = rs / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = r @ r
            p = r + new / rs * p
            rs = new
            steps += 1
        return x, steps

    m = rng().random((8, 8))
    a, b = m @ m.T + 8 * np.eye(8), rng(1).random(8)
    jitted = tnp.jit(f, executors=EVERYTHING)
    for tolerance in (1e-12, 1e9):
        (x, steps), (expected, expected_steps) = jitted(a, b, tolerance), f(a, b, tolerance)
        assert steps == expected_steps
        np.testing.assert_allclose(x, expected, rtol=1e-10)
    assert "while" not in source(jitted)


def test_a_loop_without_iterations_gives_the_very_array():
    def f(x, n):
        for _ in range(n):
            x = x * 2
        return x

    jitted = native(f, lambda: [np.ones(5), 3])
    x = np.ones(5)
    assert jitted(x, 0) is x


@pytest.mark.parametrize("n", [5, 6, 9])
def test_index_errors_leave_what_eager_leaves(n):
    def f(x, y, n):
        for i in range(n):
            x[i] = 1.0
            y[1, n - i - 1] = x[i + 1 - 1] + y[-1 - i % 2, i]

    native(f, lambda: [np.zeros(5), whole((2, 6)), n])


def test_the_first_axis_out_of_bounds_is_named():
    def f(x, i, j):
        for k in range(2):
            x[i + k, j - k] = 1.0

    native(f, *(lambda i=i, j=j: [np.zeros((4, 5)), i, j] for i, j in ((0, 1), (9, 9), (-7, 0), (0, -7), (3, 0))))


def test_bad_indices_in_arrays_are_named_before_anything_is_read():
    def f(x, k, out):
        for i in range(len(out)):
            out[i] = x[k[i]].sum()

    native(f, lambda: [whole(5), np.array([[0, 1], [4, -5], [5, 0], [1, 1]]), np.zeros(4)])


def test_shapes_that_do_not_fit_at_run_time():
    def f(x, y, n):
        for i in range(n):
            y[i:4] = x[:2] * 2.0

    native(f, lambda: [whole(5), whole(6), 3])


def test_assertions():
    # pytest would rewrite one that stands here.
    program = """
def program(x):
    for i in range(len(x)):
        assert x[i] > -4, "too small"
        x[i] = 0
    return x
"""
    native(define(program), lambda: [np.ones(20)], lambda: [np.arange(20.0) - 10.0 * (np.arange(20) == 5)])


def test_ctrl_c_in_a_loop_without_end():
    @tnp.jit
    def f(x):
        i = 0
        while x[0] < 1:
            i = (i + 1) & 1023
            x[1] = i
        return i

    f(np.ones(2))
    # A process that was started in the background may have been told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            f(np.zeros(2))
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert "while" not in source(f)


# What is decided


def test_large_arrays_are_left_to_kernels():
    def f(x, n):
        for _ in range(n):
            x[1:-1] = (x[:-2] + x[2:]) * 0.5

    small, large = tnp.jit(f), tnp.jit(f)
    small(np.ones(100), 20)
    large(np.ones(1_000_000), 20)
    assert "for " not in source(small)
    assert "for " in source(large)


def test_explain_says_so():
    @tnp.jit
    def f(x):
        for i in range(1, len(x)):
            x[i] += x[i - 1]

    f(np.ones(50))
    assert "the whole for_loop is native" in tnp.explain(f)


def test_threads_share_a_compiled_loop():
    @tnp.jit(executors=EVERYTHING)
    def f(x, k):
        for i in range(len(x)):
            x[k[i]] = x[k[i]] + i
        return x

    good = np.arange(300) % 100
    bad = good.copy()
    bad[-1] = 300
    f(np.zeros(300), good)
    wrong = []

    def work(number):
        for _ in range(50):
            try:
                found = f(np.zeros(300), bad if number % 2 else good)
                expected = np.zeros(300)
                np.add.at(expected, good, np.arange(300))
                if number % 2 or not np.array_equal(found, expected):
                    wrong.append(number)
            except IndexError as error:
                if number % 2 == 0 or "index 300 is out of bounds for axis 0 with size 300" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def _is_close(a, e):
    if isinstance(e, (tuple, list)):
        return type(a) is type(e) and len(a) == len(e) and all(map(_is_close, a, e))
    if isinstance(e, (np.ndarray, np.generic)):
        return type(a) is type(e) and a.dtype == e.dtype and np.allclose(a, e, rtol=1e-9, atol=1e-9, equal_nan=True)
    return type(a) is type(e) and a == pytest.approx(e, rel=1e-9, nan_ok=True)


#: the numbers of the random programs; ``TNP_FUZZ_SEED`` and ``TNP_FUZZ_EXAMPLES`` choose others
FIRST, COUNT = int(os.environ.get("TNP_FUZZ_SEED", "13")), int(os.environ.get("TNP_FUZZ_EXAMPLES", "8"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("any_size", [False, True], ids=["", "any size"])
def test_random_loops(seed, any_size):
    text = random_loops(Random(seed))
    program = define(text)
    jitted = tnp.jit(program, executors=EVERYTHING, dynamic=any_size)
    for k, n in enumerate((5, 7, 0)):
        expected_args, args = (loop_arguments(seed + k, n, more=any_size * k) for _ in range(2))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = program(*expected_args)
            except (
                IndexError,
                ValueError,
            ) as error:  # rows and columns of other lengths than the program was written for
                assert any_size
                with pytest.raises(type(error)):
                    jitted(*args)
                continue
            actual = jitted(*args)
        if max(np.abs(x).max() for x in (*expected_args[:3], expected[3])) < 1e12:
            assert _is_close(actual, expected), f"\n{text}\n{actual}\n{expected}"
            assert _is_close(args, expected_args), f"\n{text}\n{args}\n{expected_args}"
