"""What the items are of lists whose items the program counts: numbers, scalars, arrays, tuples."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

X = np.random.default_rng(0).standard_normal(120).cumsum()


def buf(x):
    out = []
    b = np.zeros(2)
    for v in x:
        b[0] = v
        if v > 0:
            out.append(b)
    return np.array(out)


def buf_after(x):
    out = []
    for v in x:
        b = np.array([v, 2 * v])
        if v > 0:
            out.append(b)
        b[0] = 7
    return np.array(out)


def buf_after2(x):
    out = []
    for v in x:
        b = np.array([v, 2 * v])
        if v > 0:
            out.append(b)
    b[1] = -5
    return np.array(out)


def carried(x):
    out = []
    p = np.zeros(2)
    for v in x:
        p = p * 0.5 + v
        if v > 0:
            out.append(p)
    return np.array(out), p


def carried_write(x):
    out = []
    p = np.zeros(2)
    for v in x:
        p += v
        if v > 0:
            out.append(p)
    return np.array(out), p


def carried_copy(x):
    out = []
    p = np.zeros(2)
    for v in x:
        p += v
        if v > 0:
            out.append(p.copy())
    return np.array(out), p


def ret_list_and_item(x):
    out = []
    for v in x:
        b = np.array([v, 2 * v])
        if v > 0:
            out.append(b)
    return out, b


def twice(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out, out


def both(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out, np.array(out)


def mixed(x):
    out = [0]
    for v in x:
        if v > 0:
            out.append(v)
    return np.array(out)


def mixed2(x):
    out = []
    for v in x:
        if v > 1:
            out.append(v)
        elif v > 0:
            out.append(0)
    return out


def f32(x):
    y = x.astype(np.float32)
    out = []
    for v in y:
        if v > 0:
            out.append(v)
    return np.array(out), out


def i8(x):
    y = x.astype(np.int8)
    out = []
    for v in y:
        if v > 0:
            out.append(v)
    return np.array(out), out


def cplx(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * 1j)
    return np.array(out)


def bools(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v > 1)
        else:
            out.append(v < -1)
    return np.array(out), out


def pybools(x):
    out = []
    for v in x:
        if abs(v) > 0.5:
            out.append(bool(v > 1))
    return out


def ints(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i * 2)
    return out, sum(out), max(out), min(out)


def floats(x):
    out = []
    for v in x:
        if v > 0:
            out.append(float(v))
    return out, sum(out), max(out), any(out), all(out)


def fsum(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return sum(out), max(out), min(out)


def tup(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append((i, v))
    return out


def tup_arr(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append((i, v))
    return np.array(out)


def lst_item(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append([i, 2 * i])
    return np.array(out), out


def lst_item_mut(x):
    out = []
    for i, v in enumerate(x):
        p = [i, 2 * i]
        if v > 0:
            out.append(p)
        p[0] = 100
    return np.array(out)


def last_add(x):
    out = [0.0]
    for v in x:
        if v > 0:
            out[-1] += v
        else:
            out.append(0.0)
    return np.array(out)


def pops(x):
    st = []
    s = 0.0
    for v in x:
        if v > 0:
            st.append(v)
        elif st:
            s += st.pop() * v
    return s, len(st)


def stack_arr(x):
    st = []
    s = 0.0
    for v in x:
        if v > 0:
            st.append(np.array([v, v * v]))
        elif len(st) > 0:
            q = st.pop()
            s += q[1] - q[0]
    return s


def nones(x):
    out = []
    for v in x[:12]:
        if v > 0:
            out.append(None)
    return len(out)


def strs(x):
    out = []
    for v in x[:12]:
        out.append("a" if v > 0 else "b")
    return "".join(out)


def slc(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.array(out[1:])


def lcopy(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    o2 = list(out)
    o2.append(5.0)
    return len(out), len(o2)


def nan(x):
    y = x.copy()
    y[3] = np.nan
    out = []
    for v in y:
        if not v < 0:
            out.append(v)
    return np.array(out), max(out)


def conv(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    a = np.asarray(out)
    a[0] = 5
    return a, out


def vst(x):
    out = []
    for v in x:
        if v > 0:
            out.append(np.array([v, v**2]))
    return np.vstack(out), np.concatenate(out), np.stack(out), np.hstack(out)


def cond_arr(x):
    a = x[:4].copy()
    out = [a]
    for v in x:
        if v > 0:
            a = a + v
            out.append(a)
    return np.array(out), out[0][0]


def largest_of_ints(x):
    a = []
    b = []
    for i, v in enumerate(x):
        b.append(i)
        a.append((i, v))
    for v in x[:9]:
        a.append((v, v))
    return a, max(b), sum(b), any(b)


def an_integer_after_floats(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = v * 2
    for _ in x[:9]:
        s = 1
    return s


def sorted_after_another_append(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.append(x[0])
    out.sort()
    return out


PROGRAMS = functions_of(globals(), "x")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists(f, executor):
    """Also of few items, and of none."""
    check_in_turn(f, executor, (X, X, X * 1.1, -X, X[:61] + 3, np.abs(X) + 3000, -np.abs(X) - 9))


WHOLE = [
    carried, carried_copy, both, mixed, mixed2, f32, cplx, bools, ints, floats, fsum, tup, tup_arr, lst_item, last_add, stack_arr, vst, nan, conv, pops, slc, lcopy,
]  # fmt: skip


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_they_are_compiled_whole(f):
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(X), f(X), rtol=1e-12)
    assert "for the value" not in str(tnp.explain(jitted))


class Mixture:
    def __init__(self):
        self.options = {"components": 3}
        self.means = np.random.default_rng(0).random((3, 3))

    def scores(self, x):
        y = []
        for v in x:
            y.append([np.dot(v - self.means[c], v) for c in range(self.options["components"])])
        return np.array(y)


def test_items_are_lists_that_a_loop_makes():
    """The loop is one operation: what an item is, is known of an attempt that failed, whose values are none of the program's."""
    jitted = tnp.jit(lambda model, x: model.scores(x), strict=True)
    for n in (30, 40, 50):
        x = np.random.default_rng(n).random((n, 3))
        assert_same(jitted(Mixture(), x), Mixture().scores(x), rtol=1e-12)
    assert "loop" in str(tnp.explain(jitted))
    assert tnp.cache_info(jitted).misses <= 2


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16])
def test_items_at_positions_that_are_numpy_scalars(dtype):
    def areas(x):
        """The area up to each element, and up to half of all."""
        area, up_to = 0.0, [0.0] * (len(x) - 1)
        for i in range(1, len(x)):
            if x[i] != x[i - 1]:
                area += 0.5 * (x[i] + x[i - 1])
                up_to[i - 1] = area
        at = np.nonzero(np.array(up_to) >= area / 2)[0][0].astype(dtype)
        before = 0 if at == 0 else up_to[at - 1]
        return up_to[at], area / 2 - before, at

    jitted = tnp.jit(areas, strict=True)
    for x in (np.abs(X), np.abs(X[::-1]), np.ones(120).cumsum() // 3):
        assert_same(jitted(x), areas(x), exact=False)
    assert tnp.cache_info(jitted).misses == 1
