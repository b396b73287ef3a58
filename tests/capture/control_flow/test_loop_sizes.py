"""What is known of sizes in loops: windows at a loop's index, lengths that a loop's index decides, arrays without contents."""

import itertools

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source
from tnp.core import intervals, sizes
from tnp.core.proxies import NumberProxy
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def index(start, stop):
    return NumberProxy("i", int, low=start, bound=stop - 1)


def moved(i, constant):
    """``i + constant``."""
    made = NumberProxy("sum", int)
    made.form = intervals.linear(i).plus(intervals.linear(constant))
    return made


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_lengths_of_slices_are_those_of_python(n):
    offsets = (None, *range(-3, 5))
    for (low, high), first, last in itertools.product([(0, 4), (1, 3), (-2, 3), (2, 6)], offsets, offsets):
        i = index(low, high)
        for of_index in itertools.product((False, True), repeat=2):
            made = [x if x is None or not moves else moved(i, x) for x, moves in zip((first, last), of_index)]
            found = intervals.slice_length(n, *made)
            if found is None:
                continue
            for k in range(low, high):
                ends = [x if x is None or not moves else x + k for x, moves in zip((first, last), of_index)]
                expected = len(range(n)[slice(*ends)])
                value = (
                    found if isinstance(found, int) else found.constant + sum(f * k for _, f in found.terms.values())
                )
                assert value == expected, (n, low, high, ends)


def test_windows_in_bounds_have_a_length_that_is_known():
    i = index(0, 5)
    assert intervals.slice_length(7, i, moved(i, 3)) == 3
    assert intervals.slice_length(6, i, moved(i, 3)) is None, "the last one is cut off"
    length = intervals.slice_length(9, None, i)
    assert (length.interval(), length.is_constant) == ((0, 4), False)


def test_sizes_of_one_form_are_equal():
    i = index(0, 5)
    a, b, c = (NumberProxy(name, int, bound=9, low=0) for name in "abc")
    a.form = b.form = intervals.linear(i)
    c.form = intervals.linear(moved(i, 1))
    assert sizes.equal(a, b) is True
    assert sizes.equal(a, c) is None
    assert intervals.differ_by(c, a) == 1


def test_a_convolution_has_windows_of_known_shape():
    def f(x, w, b):
        k = w.shape[0]
        out = np.empty((x.shape[0] - k + 1, x.shape[1] - k + 1), x.dtype)
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = np.sum(x[i : i + k, j : j + k] * w) + b
        return out

    jitted = same_as_eager(f, lambda: (np.arange(144.0).reshape(12, 12), np.ones((3, 3)), 0.5), executors=EXECUTORS)
    assert '"cpu f64[3, 3]"' in tnp.last_traces(jitted)[0].python()
    assert "[n" not in tnp.last_traces(jitted)[0].python()


def test_pooling_by_steps_has_windows_of_known_shape():
    def f(x):
        out = np.empty((x.shape[0] // 2, x.shape[1]))
        for i in range(x.shape[0] // 2):
            out[i] = np.max(x[2 * i : 2 * i + 2], axis=0)
        return out

    for n in (20, 21):
        jitted = same_as_eager(f, lambda n=n: (np.arange(n * 3.0).reshape(n, 3) % 7,), executors=EXECUTORS)
        assert "[n" not in tnp.last_traces(jitted)[0].python()


def test_windows_that_are_cut_off_keep_what_numpy_gives():
    def f(x, k):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i : i + k].sum() + x[i - 2 : i].sum() + x[-i:].sum()
        return s

    same_as_eager(f, *(lambda k=k: (np.arange(15.0), k) for k in (3, 20, -1)), executors=EXECUTORS)


def test_prefixes_of_one_length_update_in_place():
    def f(r, y):
        for k in range(1, r.shape[0]):
            y[:k] += r[k] * np.flip(y[:k])
            y[k] = r[k]

    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones(12)), executors=EXECUTORS)
    jitted = same_as_eager(f, lambda: (np.arange(12.0), np.ones(12)))
    assert "out=" in source(jitted)


def test_lengths_of_downward_and_triangular_loops():
    def f(A, b):
        n = A.shape[0]
        x = np.zeros_like(b)
        for i in range(n - 1, -1, -1):
            x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        for i in range(n):
            for j in range(i):
                A[i, j] -= A[i, :j] @ A[:j, j]
        return x

    same_as_eager(f, lambda: (np.eye(12) * 3 + 0.1, np.arange(12.0)), executors=EXECUTORS)


def test_a_window_whose_length_a_branch_decides():
    def f(x):
        s = 0.0
        for i in range(x.shape[0] - 4):
            k = 2 if x[i] > 3 else 4
            s += x[i : i + k].sum()
        return s

    same_as_eager(f, lambda: (np.arange(16.0) % 6,), executors=EXECUTORS)


def test_arrays_without_contents_are_the_programs_own():
    def f(x, n):
        shape = x.shape[0], n
        a = np.ndarray(shape, dtype=x.dtype)
        b = np.ndarray(n)
        c = np.ndarray((n,), np.int32, order="F")
        for i in range(n):
            a[:, i] = x * i
            b[i] = c[i] = i
        return a, b, c

    jitted = same_as_eager(f, lambda: (np.arange(3.0, dtype=np.float32), 12), executors=EXECUTORS)
    first, second = jitted(np.ones(3, np.float32), 12), jitted(np.ones(3, np.float32), 12)
    assert not np.shares_memory(first[0], second[0])


def test_grids_whose_bounds_are_arguments():
    def f(n, m):
        i, j = np.mgrid[0:n, 1:m]
        p, q = np.ogrid[0:n, 0:m:2]
        return i * 10 + j, p + q, np.r_[0:n, m]

    same_as_eager(f, lambda: (3, 4), lambda: (4, 2), executors=EXECUTORS)


def test_loops_over_the_positions_of_an_array():
    def f(x, n):
        s = 0.0
        for i, j in np.ndindex(x.shape):
            x[i, j] += i - j
        for at in np.ndindex(n, 2, 3):
            s += x[at[0], at[1]] * at[2]
        for (k,) in np.ndindex(9):
            s += k
        for (i, j), v in np.ndenumerate(x):
            s += v * i + j
        for at in np.ndindex(0, 3):
            s += at
        for at in np.ndindex():
            s += len(at)
        return s

    jitted = same_as_eager(f, lambda: (np.arange(12.0).reshape(4, 3), 4), executors=EXECUTORS)
    assert source(jitted).count("for ") == 4

    def g(x):
        return [x[i] for i in np.ndindex(2, 2)]

    same_as_eager(g, lambda: (np.arange(4.0).reshape(2, 2),))


def every_other(x):
    found, count = [], 3
    for i in range(0, len(x), 2):
        found.append(x[i] * 2)
        count += 2
    return np.array(found) + x[::2], count


def test_counters_are_known_after_the_loop():
    """A list gets one item per iteration, so its length is the number of iterations."""
    jitted = tnp.jit(every_other)
    for n in (20, 31, 48, 77):
        x = np.random.default_rng(n).random(n)
        assert_same(jitted(x), every_other(x))
    assert tnp.cache_info(jitted).misses == 2
    shapes = str(tnp.last_traces(jitted)[0])
    assert "starts over" not in shapes


def test_joined_slices_of_any_length():
    """How much memory they take is known, since no slice is longer than its array."""

    def f(x, w):
        out, pad = np.zeros(len(x)), np.zeros(w)
        for i in range(w):
            out += np.concatenate((pad, x[i : len(x) - w + i]))
        return out

    jitted = same_as_eager(f, *(lambda n=n: (np.arange(float(n)) ** 1.1, 9) for n in (40, 51, 63)), executors=(None,))
    assert tnp.cache_info(jitted).misses == 2
    assert "the whole for_loop is native, for any size" in str(tnp.explain(jitted))
