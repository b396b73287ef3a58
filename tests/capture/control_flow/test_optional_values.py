"""Variables that are ``None`` until a loop or a branch gives them a value, which only the running program knows."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
ARRAYS = (*(RNG.standard_normal(n) for n in (5, 12, 40, 1, 2, 90)), -np.ones(4), np.ones(20) * 2)


def helper(v):
    return 0.0 if v is None else v * 2


def find(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return None


def best_i(x):
    bi = None
    b = None
    for i in range(len(x)):
        if b is None or x[i] < b:
            b = x[i]
            bi = i
    return bi, b


def first(x):
    at = None
    for i in range(len(x)):
        if x[i] > 1:
            at = i
            break
    if at is None:
        return -1
    return at


def first_ret(x):
    at = None
    for i in range(len(x)):
        if x[i] > 1:
            at = i
            break
    return at


def runs(x):
    start = None
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            if start is None:
                start = i
        elif start is not None:
            out.append((start, i))
            start = None
    if start is not None:
        out.append((start, len(x)))
    return out


def branch(x):
    y = None
    if x.sum() > 0:
        y = x.mean()
    return y


def branch_use(x):
    y = None
    if x.sum() > 0:
        y = x.mean()
    if y is None:
        y = 0.0
    return y * 2


def branch_arr(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    if y is not None:
        return y + 1
    return x


def branch_helper(x):
    y = None
    if x.sum() > 0:
        y = x.mean()
    return helper(y)


def ret_helper(x):
    i = find(x, 0.5)
    if i is None:
        return 0.0
    return x[i]


def prev(x):
    p = None
    s = 0.0
    for v in x:
        if p is not None:
            s += abs(v - p)
        p = v
    return s


def truth(x):
    p = None
    for i in range(len(x)):
        if x[i] > 0.5:
            p = i
    if p:
        return p
    return 7


def eqnone(x):
    p = None
    for i in range(len(x)):
        if x[i] > 0.5:
            p = x[i]
    if p == None:  # noqa: E711 (that is the question)
        return 7.0
    return p


def ifexp(x):
    p = x[0] if x[0] > 0 else None
    return 0.0 if p is None else p


def bestarr(x):
    b = None
    c = np.inf
    for i in range(len(x)):
        y = x * x[i]
        s = y.sum()
        if s < c:
            c = s
            b = y
    return b


def prevarr(x):
    p = None
    n = 0
    for i in range(len(x)):
        y = x - x[i]
        if p is not None:
            n += (y * p).sum()
        p = y
    return n


def reset(x):
    last = None
    out = []
    for i in range(len(x)):
        if x[i] > 0.3:
            if last is not None:
                out.append(i - last)
            last = i
        elif x[i] < -1:
            last = None
    return np.array(out), last


def attr(x):
    class S:
        pass

    s = S()
    s.b = None
    for v in x:
        if s.b is None or v > s.b:
            s.b = v
    return s.b


def err(x):
    b = None
    for v in x:
        if v > 1:
            b = v
    return b + 1


def wh(x):
    prevv = None
    v = x[0]
    n = 0
    while prevv is None or abs(prevv - v) > 1e-6:
        prevv = v
        v = 0.5 * v
        n += 1
    return v, n


def two_branches(x):
    lo = None
    hi = None
    if x[0] > 0:
        lo = x[0]
    if x[-1] > 0:
        hi = x[-1]
    if lo is None and hi is None:
        return 0.0
    if lo is None:
        return hi
    if hi is None:
        return lo
    return lo + hi


def scaled(a, b=None):
    if b is None:
        b = 1.0
    return a * b


def used_unchecked(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return np.sin(y)


def asked_for_its_class(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return isinstance(y, float), type(y) is np.float64


def argument_of_numpy(x):
    hi = None
    if x[0] > 0:
        hi = abs(x[0])
    return np.clip(x, -1, hi)


def arrays(x):
    y = None
    if x[0] > 0:
        y = x
    z = x if y is None else y * 2
    return z


def written_later(x):
    y = None
    if x[0] > 0:
        y = x
    if y is not None:
        y[0] = 7
    return y, x


def formatted(x):
    y = None
    if x[0] > 0:
        y = float(x[0])
    return f"{y}"


def in_containers(x):
    y = None
    if x[0] > 0:
        y = x[0]
    d = {"a": y, "b": [y, 1]}
    return d, (y, 2)


def or_another(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return y or 5.0


def truth_values(x):
    y = None
    if x[0] > 0:
        y = x[0] - 1
    return not y, bool(y), 1 if y else 2


def joined_conditions(x):
    y = None
    if x[0] > 0:
        y = int(x[0] * 3)
    if y is not None and y < len(x):
        return x[y]
    return None


def in_a_comprehension(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return [v for v in x if y is None or v < y]


def both_ends(x):
    lo = hi = None
    for v in x:
        if v > 0:
            lo = v if lo is None else min(lo, v)
            hi = v if hi is None else max(hi, v)
    return lo, hi


def default_argument(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return scaled(x, y)


def asked_in_a_loop(x):
    y = None
    if x[0] > 0:
        y = x * 2
    s = 0.0
    for i in range(len(x)):
        if y is not None:
            s += y[i]
        else:
            s -= 1
    return s


def last_array(x):
    y = None
    for i in range(len(x)):
        if x[i] > 0.5:
            y = x[:2] * x[i]
    return y


def left_out(x):
    y = None
    if x[0] > 0:
        y = x[0]
    return len([a for a in (y, None, 3) if a is not None])


def smoothed(x):
    prev = None
    out = np.zeros(len(x))
    for i in range(len(x)):
        if prev is None:
            out[i] = x[i]
        else:
            out[i] = 0.9 * prev + 0.1 * x[i]
        prev = out[i]
        if x[i] > 1.5:
            prev = None
    return out, prev


def caught(x):
    y = None
    if x[0] > 0:
        y = x[0]
    try:
        return y + 1
    except TypeError:
        return -5.0


def axis(x):
    y = None
    if x[0] > 0:
        y = 3
    return np.full(4, 2.0, dtype=float) * (y if y is not None else 1), np.sum(
        x.reshape(1, -1), axis=None if y is None else 0
    )


def subscript(x):
    y = None
    if x[0] > 0:
        y = 1
    return x[y]


def segments(x):
    seg = []
    start = None
    for i, v in enumerate(x):
        if v > 0 and start is None:
            start = i
        if v <= 0 and start is not None:
            seg.append((start, i - 1))
            start = None
    if start is not None:
        seg.append((start, len(x) - 1))
    return np.array(seg), len(seg)


def identities(x):
    y = x[0] if x[0] > 0 else None
    z = None if x[1 if len(x) > 1 else 0] > 0 else 2.0
    return y is z, (y is None) == (z is None)


def mask(x):
    y = None
    if x[0] > 0:
        y = x > 0
    return x[y] if y is not None else x.sum()


def in_a_while_loop(x):
    last = None
    n = 0
    k = 0
    while k < len(x):
        if last is not None and x[k] < last:
            n += 1
        last = x[k]
        k += 1 + int(abs(x[k]))
    return n, last


def changed_in_place(x):
    y = None
    if x[0] > 0:
        y = x * 2
    z = y
    if y is not None:
        y += 1
        y[0] *= 3
    return y, z


def key_of_a_dict(x):
    y = None
    if x[0] > 0:
        y = int(x[0] * 3)
    return {y: 1.0}


FUNCTIONS = [f for f in functions_of(globals(), "x") if f is not find]
#: where each case has a program, or Python is asked
BY_VALUE = (
    asked_for_its_class,
    written_later,
    formatted,
    or_another,
    caught,
    axis,
    subscript,
    identities,
    mask,
    arrays,
    argument_of_numpy,
    changed_in_place,
    key_of_a_dict,
    two_branches,
    used_unchecked,
)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_as_eager(f, executor):
    check_in_turn(f, executor, ARRAYS)


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f not in BY_VALUE], ids=lambda f: f.__name__)
def test_one_program(f):
    """It is compiled whole, and what is None does not decide which program runs."""
    jitted = tnp.jit(f, strict=True)
    for x in (ARRAYS[2], ARRAYS[2] * 2, ARRAYS[2] + 0.5):
        assert_same(jitted(x.copy()), f(x.copy()))
    assert "for the value" not in str(tnp.explain(jitted))


def test_where_it_is_used_although_it_is_none():
    jitted = tnp.jit(used_unchecked)
    for x in (np.ones(3), np.ones(3), np.ones(3) / 2):
        assert_same(jitted(x), used_unchecked(x))
    with pytest.raises(TypeError, match="loop of ufunc does not support argument 0 of type NoneType"):
        jitted(-np.ones(3))
