"""Arrays that loops append to: NumPy copies them each time, the program stores what is appended behind their rows."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
ARRAYS = (*(RNG.standard_normal(n) for n in (20, 40, 1)), -np.ones(4), np.ones(20) * 2, np.zeros(0))


def added(o, v):
    return np.append(o, v)


def each(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v * 2)
    return out


def chosen(x):
    out = np.array([])
    for v in x:
        if v > 0:
            out = np.append(out, v * 2)
    return out


def positions(x):
    out = np.array([], dtype=int)
    for i in range(len(x)):
        if x[i] > 0:
            out = np.append(out, i)
    return out


def behind_the_last(x):
    out = np.zeros(1)
    for i in range(len(x)):
        out = np.concatenate((out, x[i : i + 1] + out[-1]))
    return out


def parts_of_any_length(x):
    out = np.zeros(0)
    for i in range(len(x)):
        out = np.concatenate([out, x[:i]])
    return out


def chosen_rows(x):
    out = np.zeros((0, 2))
    for i in range(len(x)):
        if x[i] > 0:
            out = np.vstack([out, [i, x[i]]])
    return out


def rows(x):
    out = np.zeros((1, 2))
    for i in range(len(x)):
        out = np.vstack((out, np.array([x[i], x[i] ** 2])))
    return out


def by_subscript(x):
    out = np.array([0.0])
    for v in x:
        if v > 0:
            out = np.r_[out, v]
    return out


def side_by_side(x):
    out = np.array([])
    for v in x:
        out = np.hstack((out, v))
    return out


def halves(x):
    out = np.array([x[0]])
    while out[-1] > 1e-3:
        out = np.append(out, abs(out[-1]) / 2)
    return out, len(out), out.sum()


def two_arrays(x):
    a = np.array([])
    b = np.array([])
    for i in range(len(x)):
        if x[i] > 0:
            a = np.append(a, x[i])
        else:
            b = np.append(b, i)
    return a, b, a.mean() if len(a) else 0.0


def integers_as_floats(x):
    out = np.array([])
    for i in range(len(x)):
        if x[i] > 0:
            out = np.append(out, i)
    return out


def along_an_axis(x):
    out = np.empty((0, 3))
    for v in x:
        if v > 0:
            out = np.append(out, [[v, v, 1]], axis=0)
    return out


def larger_than_the_last(x):
    out = np.array([])
    for v in x:
        if len(out) == 0 or v > out[-1]:
            out = np.append(out, v)
    return out


def before_it(x):
    out = np.array([])
    prev = out
    for v in x:
        prev = out
        out = np.append(out, v)
    return prev, out


def sum_of_what_was(x):
    out = np.array([])
    s = 0.0
    for v in x:
        old = out
        out = np.append(out, v)
        s += old.sum()
    return out, s


def written(x):
    out = np.zeros(1)
    for v in x:
        out = np.append(out, v)
        out[0] += 1
        out[-1] *= 2
    return out


def other_dtype(x):
    out = np.array([], dtype=np.float32)
    for v in x:
        out = np.append(out, v)
    return out


def in_two_loops(x):
    out = np.array([], dtype=int)
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                out = np.append(out, i * j)
    return out


def of_each_iteration(x):
    tot = np.zeros(0)
    for i in range(len(x)):
        cur = np.array([])
        for j in range(i):
            if x[j] > 0:
                cur = np.append(cur, x[j])
        tot = np.concatenate([tot, cur])
    return tot


def left_early(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        if out.sum() > 2:
            break
    return out


def returned_early(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        if len(out) > 3 and v > 0:
            return out
    return None


def in_a_function(x):
    out = np.array([])
    for v in x:
        if v > 0:
            out = added(out, v)
    return out


def of_an_argument(x):
    out = x[:1]
    for v in x:
        out = np.append(out, [v, v * 2])
    return out, x


def rows_twice(x):
    out = np.array([[0.0, 1.0]])
    for i in range(len(x)):
        out = np.vstack([out, [i, x[i]]])
        if out[-1, 1] > 1:
            out = np.vstack([out, out[-1] * 2])
    return out, out.shape


def appended_twice(x):
    a = np.array([])
    for v in x:
        b = np.append(a, v)
        c = np.append(a, -v)
        a = b if v > 0 else c
    return a


def scaled(x):
    a = np.array([])
    for v in x:
        if v > 0:
            a = np.append(a, v)
        else:
            a = a * 0.5
    return a


def statistics(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        m = out.mean()
        sd = np.std(out)
        if abs(v - m) > 2 * sd:
            out = np.append(out, m)
    return out, np.median(out)


def solution(x):
    t = np.array([0.0])
    y = np.array([1.0])
    h = 0.3
    while t[-1] < abs(x).sum():
        k = -y[-1] * 0.1
        y = np.append(y, y[-1] + h * k)
        t = np.append(t, t[-1] + h)
        h *= 1.01
    return t, y


def in_a_list(x):
    out = np.array([])
    lst = []
    for v in x:
        out = np.append(out, v)
        lst.append(out)
    return lst


def written_behind(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
    out[0] = 5
    return out


def integers(x):
    out = np.array([1, 2])
    for i in range(len(x)):
        out = np.append(out, i)
    return out, out.dtype


def slices(x):
    out = np.array([])
    for i in range(len(x)):
        if x[i] > 0:
            out = np.hstack([out, x[i : i + 2]])
    return out


def read(x):
    out = np.array([])
    for i in range(len(x)):
        out = np.concatenate([out, [x[i]]])
        z = out[::-1]
        w = out[out > 0]
    return out, z, w


def peaks(x):
    peaks = np.empty((0, 2))
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            peaks = np.append(peaks, np.array([[i, x[i]]]), axis=0)
    if len(peaks) == 0:
        return None
    return peaks[np.argmax(peaks[:, 1])], peaks


def until_it_is_long(x):
    out = np.array([])
    while len(out) < len(x) * 3:
        out = np.append(out, x[len(out) % len(x)])
    return out


def complex_numbers(x):
    out = np.array([], dtype=complex)
    for v in x:
        out = np.append(out, v + 1j)
    return out


def bools(x):
    out = np.array([], dtype=bool)
    for v in x:
        out = np.append(out, v > 0)
    return out


def in_front(x):
    out = np.array([])
    for v in x:
        if v > 0:
            out = np.append(v, out)
    return out


def three_loops(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
    for v in x:
        out = np.append(out, -v)
    for i in range(len(out)):
        out[i] += i
    return out


def written_in_the_loop_1(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        np.multiply(out, 2, out)
    return out


def written_in_the_loop_2(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        out += 1
    return out


def written_in_the_loop_3(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        y = out[1:]
        y[:] = 3
    return out


def written_in_the_loop_4(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        out.sort()
    return out


def written_in_the_loop_5(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        out[:1] = 7
        out.fill(2) if v > 1 else None
    return out


def written_in_the_loop_6(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        np.add.at(out, 0, 1)
        np.cumsum(out, out=out)
    return out


def written_in_the_loop_7(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        z = out.reshape(-1, 1)
        z[0, 0] = 5
        w = out.T
        w[0] += 1
        np.put(out, 0, 3)
        np.copyto(out, out * 2)
    return out


def written_in_the_loop_8(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v)
        z = np.asarray(out)
        z[0] = 9
        y = np.ravel(out)
        y[-1] = 8
    return out


def written_in_the_loop_9(x):
    out = np.array([])
    keep = []
    for v in x:
        out = np.append(out, v)
        keep.append(np.asarray(out))
        z = out.view()
        z[0] = 4
    return out, keep[0]


def written_in_the_loop_10(x):
    out = np.array([])
    d = {}
    for v in x:
        out = np.append(out, v)
        d["a"] = out
    return out is d.get("a"), d


def written_in_the_loop_11(x):
    out = np.array([])
    t = (0,)
    for v in x:
        out = np.append(out, v)
        t = (out, 1)
    return t


class History:
    def __init__(self):
        self.values = np.array([])

    def record(self, v):
        self.values = np.append(self.values, v)


def attribute(x):
    history = History()
    for v in x:
        if v > 0:
            history.record(v)
    return history.values


def columns(x):
    h = np.zeros((2, 1))
    v = h
    for i in range(len(x)):
        v = v * 0.5 + np.array([[x[i]], [1.0]])
        h = np.hstack((h, v))
    return h


def chosen_columns(x):
    h = np.zeros((2, 0))
    for v in x:
        if v > 0:
            h = np.concatenate([h, np.array([[v], [v**2]])], axis=1)
    return h, h.shape[1]


def columns_of_vectors(x):
    h = np.ones((2, 1))
    for v in x:
        h = np.column_stack((h, [v, h[0, -1]]))
        h[:, -1] += 1
    return h


def appended_columns(x):
    h = np.zeros((3, 0))
    for i in range(len(x)):
        h = np.append(h, np.full((3, 2), x[i]), axis=-1)
    return h


def columns_by_subscript(x):
    h = np.zeros((2, 1))
    for v in x:
        h = np.c_[h, np.array([v, 1.0])]
    return h, h[:, -1]


def columns_and_rows(x):
    h, g = np.zeros((1, 1)), np.zeros((1, 1))
    for v in x:
        h, g = np.hstack((h, [[v]])), np.vstack((g, [[v]]))
    return h, g


FUNCTIONS = functions_of(globals(), "x")
#: these bind the array to another name, or make another array of it
NO_OPERATION = (before_it, sum_of_what_was, other_dtype, appended_twice, scaled, in_a_list, in_front)
#: here values decide more than how long the loop runs
BY_VALUE = (returned_early, statistics, read, peaks, until_it_is_long)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning", "ignore::RuntimeWarning")
def test_as_eager(f, executor):
    check_in_turn(f, executor, ARRAYS)


@pytest.mark.parametrize(
    "f",
    [f for f in FUNCTIONS if f not in (*NO_OPERATION, *BY_VALUE) and "written_in" not in f.__name__],
    ids=lambda f: f.__name__,
)
def test_one_program(f):
    jitted = tnp.jit(f, strict=True)
    for x in (ARRAYS[1], ARRAYS[1] * 2, ARRAYS[1] + 0.5):
        assert_same(jitted(x.copy()), f(x.copy()))
    text = str(tnp.explain(jitted))
    assert "for the value" not in text
    assert "for_loop" in text or "while_loop" in text or "whole loop" in text or "loops" in text


def test_more_than_there_is_room_for():
    """Room for a few MiB is allocated where the number of iterations is unknown."""

    def f(x):
        out = np.array([0.0])
        while out[-1] < x[0]:
            out = np.append(out, out[-1] + 1)
        return out.sum(), len(out)

    jitted = tnp.jit(f)
    for n in (10.0, 100.0, 20_000.0):
        assert_same(jitted(np.array([n])), f(np.array([n])))


def test_results_are_memory_of_their_own():
    jitted = tnp.jit(each)
    found = jitted(ARRAYS[1])
    assert found.base is None and found.flags.owndata and found.flags.writeable


def while_loop(x, most):
    out = np.array([])
    p, e = 0, 1.0
    while p < most and e > 1e-3:
        e *= 0.9 * min(abs(float(x[0])), 1.0)
        p += 1
        out = np.append(out, e)
    return out, p


def while_loop_with_break(x, most):
    out = []
    p, e = 10, 1.0
    while p <= most:
        e *= 0.9 * min(abs(float(x[0])), 1.0)
        out.append(e)
        p += 2
        if e < 1e-3:
            break
    return out, p


@pytest.mark.parametrize("f", [while_loop, while_loop_with_break])
def test_a_counter_bounds_the_memory(f):
    """The memory has room for as many iterations as the condition allows, and is not the most that is allocated."""
    jitted = tnp.jit(f, strict=True)
    for most in (30, 31, 0, 5, 12, 60):
        for first in (1.0, 0.5, 0.1):
            assert_same(jitted(np.array([first]), most), f(np.array([first]), most))
    assert "524289" not in str(tnp.explain(jitted))
    assert "for the value True that Python" not in str(tnp.explain(jitted))


def counters_in_loops(x):
    out, more = [], np.array([])
    for i in range(len(x)):
        k = 0
        while k < i and x[k] < 1:
            out.append(x[k] * i)
            k += 1
        k, most = 0, int(abs(x[i]) * 3)
        while k < most:
            more = np.append(more, k * x[i])
            k += 1
    return out, more


def test_bounds_of_one_loop_in_another():
    jitted = tnp.jit(counters_in_loops)
    for x in ARRAYS:
        assert_same(jitted(x), counters_in_loops(x))
