"""Values that are a Python number or a NumPy scalar, which is known only when the program runs."""

import math

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, same_as_eager, source
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def check(f, *calls, executors=EXECUTORS):
    """As ``same_as_eager``, and that the types of results are eager's."""
    jitted = same_as_eager(f, *calls, executors=executors)
    for make in calls:
        ours, theirs = jitted(*make()), f(*make())
        pairs = zip(ours, theirs) if isinstance(theirs, (tuple, list)) else [(ours, theirs)]
        for a, b in pairs:
            assert type(a) is type(b), (a, b)
    return jitted


def floats(*xs):
    return lambda: (np.array(xs),)


def test_a_sum_of_what_a_condition_chooses():
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            if x[i] > 0.5:
                s += x[i]
        return s

    def g(x):
        s = 0
        for i in range(x.shape[0]):
            if x[i] > 0.5:
                s = s + x[i]
        return s

    many = [floats(*np.linspace(low, low + 1, 12)) for low in (-2.0, 0.0, 3.0)]
    for h in (f, g):
        jitted = check(h, *many)
        assert source(jitted).count("for ") == 1


def test_a_trip_count_that_is_known_only_at_run_time_needs_no_first_round():
    def f(x, n):
        s, p = 0, 1.0
        for i in range(n[0]):
            s += x[i]
            p *= x[i]
        return s, p

    def g(x, limit):
        s, i = 0.0, 0
        while x[i] < limit:
            s += x[i]
            i += 1
        return s, i

    check(f, *(lambda n=n: (np.arange(1.0, 9.0), np.array([n])) for n in (0, 1, 8)))
    check(g, *(lambda m=m: (np.arange(1.0, 9.0), m) for m in (0.0, 2.5, 7.5)))


def test_the_larger_of_an_element_and_a_number():
    def f(x, y):
        for i in range(x.shape[0]):
            y[i] = max(x[i], 0.0) + min(1, x[i]) - max(0.5, x[i])
            y[i] -= max(x[i], x[0], 0.25)
        return max(x[1], 0.0), min(x[1], 0), max(0.0, x[1], x[2]), min(x[1], 2.5)

    values = (-1.0, 0.0, -0.0, 2.0, np.nan, 7.0, 0.25)
    calls = [lambda k=k: (np.roll(values, k), np.zeros(7)) for k in range(7)]
    check(f, *calls)


def test_returned_values_of_either_kind():
    def relu(v):
        if v > 0:
            return v
        return 0.0

    def f(x):
        return relu(x[0]), [relu(x[1])], {"a": relu(x[0]) + relu(x[1])}

    for a in (-1.0, 2.0):
        for b in (-1.0, 2.0):
            (p, (q,), r), (s, (t,), u) = tnp.jit(f)(np.array([a, b])), f(np.array([a, b]))
            assert (type(p), type(q), type(r["a"])) == (type(s), type(t), type(u["a"]))
            assert_same([p, q, r["a"]], [s, t, u["a"]])


def test_arithmetic_in_which_the_kind_does_not_matter():
    def f(x, y, k):
        v = x[0] if x[0] > 1 else 0.5
        w = 1.5 if x[1] > 1 else x[1]
        y += v
        y[0] = v
        y[1:] *= w
        a = v * 2 - 1 + w / 4
        b = -v + abs(w) - 3.0
        c = v * x[2] + k * w
        if v < w and v != 0.25:
            c = c + 1
        return a, b, c, float(v), math.sqrt(v), np.sqrt(v), v > w, isinstance(v, float), (y * v).sum(), v == 0.5

    calls = [lambda a=a, b=b: (np.array([a, b, 3.0]), np.arange(4.0), 3.5) for a in (0.0, 2.0) for b in (0.75, 4.0)]
    check(f, *calls)


def test_integers_of_either_kind():
    def f(x, y):
        best = 0
        for i in range(x.shape[0]):
            if x[i] > best:
                best = x[i]
            y[i] = max(x[i], 3)
        y[0] += best
        return best

    check(f, *(lambda s=s: (np.arange(-12, 0) + s, np.zeros(12, np.int64)) for s in (0, 5, 30)))


def test_where_the_kind_matters_the_program_is_for_one():
    x32, x64 = np.ones(3, np.float32), np.array([2.0, 0.25])

    def promotes(x, a):
        v = x[0] if x[1] > 0 else 0.5
        return a * v

    def divides(x, a):
        v = x[0] if x[1] > 0 else 0.5
        return 1 / v

    def shows(x, a):
        v = x[0] if x[1] > 0 else 0.5
        return f"{v}"

    def asks(x, a):
        v = x[0] if x[1] > 0 else 0.5
        return isinstance(v, np.floating)

    def grows(x, a):
        v = np.int64(x[0]) if x[1] > 0 else 1
        return v + 1

    for f in (promotes, divides, shows, asks, grows):
        jitted = tnp.jit(f)
        for sign in (1, -1, 1, -1):
            ours, theirs = jitted(x64 * [1, sign], x32), f(x64 * [1, sign], x32)
            assert type(ours) is type(theirs)
            assert_same(ours, theirs)
        assert tnp.cache_info(jitted).hits == 2


def test_stores_into_arrays_of_other_dtypes():
    def f(x, a, b):
        v = x[0] if x[1] > 0 else 0.1
        a[0] = v
        b[:] = v
        a[1] = max(x[0], 0)

    check(f, *(lambda s=s: (np.array([s / 3, s]), np.zeros(2, np.float32), np.zeros(2, complex)) for s in (1.0, -1.0)))

    def into_integers(x, a):
        a[0] = x[0] if x[1] > 0 else 0.5

    check(into_integers, *(lambda s=s: (np.array([2.0, s]), np.zeros(2, np.int64)) for s in (1.0, -1.0)))


def test_values_of_either_kind_beside_scalars_and_in_lists():
    def total(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                s += x[i]
        return s

    def f(x):
        s = total(x)
        return s / np.fmax(s, np.finfo(float).eps).astype(float), np.maximum(s, np.float64(3.0))

    def g(x):
        s = total(x)
        both = (
            np.array([s, 1.0]),
            np.asarray([[s], [x[0]]]),
            np.array((s, np.float32(2.0))),
            np.array([s, 2], dtype="f4"),
        )
        return *both, [s, 1.0]

    calls = floats(1.0, -2.0, 3.5, 0.5), floats(-1.0, -2.0, -3.0, -4.0)
    for h in (f, g):
        jitted = check(h, *calls)
        assert tnp.cache_info(jitted).misses == 1


def test_scalar_types_make_the_same_of_either_kind():
    def f(x):
        y = 0 if np.isnan(x[0]) else x[0] * 2
        return np.float64(y) + 1, np.float32(y), np.int64(y), np.complex128(y)

    jitted = check(f, floats(1.0), floats(np.nan), floats(-2.0))
    assert tnp.cache_info(jitted).misses == 1


def test_functions_that_take_either_kind_alike():
    def f(x):
        r = 0.0 if x[0] > 1 else x[0]
        made = (
            np.asarray(r),
            np.full(3, r),
            np.where(x > 1, r, x),
            np.clip(x, r, 2),
            np.stack([r, x[1]]),
            np.mean([r, x[1]]),
        )
        return *made, np.isclose(r, x), np.array([r, 1])

    def g(x):
        r = 0 if x[0] > 1 else x[0]
        return np.sqrt(r), np.isnan(r), np.exp(r) * x

    for h in (f, g):
        jitted = check(h, floats(0.5, 1.0), floats(2.0, 1.0), floats(0.25, 3.0))
        assert tnp.cache_info(jitted).misses == 1


def test_functions_that_do_not_take_either_kind_alike():
    def f(x):
        r = 0 if x[0] > 1 else x[0]
        return np.abs(r), np.asarray(r), np.negative(r), np.full(2, r)

    def g(x):
        r = np.nan if x[0] > 1 else x[0]
        return np.array(r, dtype=np.float32), np.real(r), np.asarray(r, np.int64)

    def h(x, y):
        r = 0.5 if x[0] > 1 else x[0]
        return np.where(y > 0, r, y), np.append(y, r), y * r

    check(f, floats(0.5), floats(2.0))
    check(g, floats(0.5), floats(1.0))
    check(h, *(lambda v=v: (np.array([v]), np.ones(3, np.float32)) for v in (0.5, 2.0)))
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        tnp.jit(g)(np.array([2.0]))


def test_quotients_and_squares_run_again_eagerly_where_a_float_raises():
    def f(x, y):
        s = 0.5
        if x[0] > 0:
            s = x[1]
        return s**2 + 1, 1.0 / s, s / y, s**3

    def regular(*x):
        return lambda: (np.array(x), 2.0)

    jitted = check(f, regular(1, 2), regular(-1, 2), regular(1, -3), regular(1, math.nan), regular(1, math.inf))
    assert "specializ" not in str(tnp.explain(jitted))
    for x, y in (([1, 0], 2.0), ([1, 1e200], 2.0), ([-1, 2], 0.0), ([1, 2], 0.0), ([1, 0], 0.0)):
        x = np.array(x, float)
        with np.errstate(all="ignore"):
            try:
                expected = f(x, y)
            except ArithmeticError as error:
                with pytest.raises(type(error)):
                    jitted(x, y)
            else:
                assert_same(jitted(x, y), expected)


def test_powers_run_again_eagerly_where_a_float_raises_or_is_complex():
    def of_larger(x, p):
        return [max(v, low) ** p for v in x for low in (-1.5, 0.0)]

    def to_larger(x, p):
        return p ** max(x[0], 0.25), max(x[0], -2.5) ** min(x[1], 1.5)

    def outcome(f, x, p):
        try:
            with np.errstate(all="ignore"):
                return f(x, p)
        except (OverflowError, ZeroDivisionError) as error:
            return str(error)

    for f in (of_larger, to_larger):
        jitted = tnp.jit(f)
        for p in (0.5, 2.5, -1.0, 3.0):
            for x in ([0.5, 2.0], [-2.0, 0.5], [0.0, 1e300], [np.nan, np.inf], [-np.inf, 0.1]):
                ours, theirs = outcome(jitted, np.array(x), p), outcome(f, np.array(x), p)
                assert_same(ours, theirs, rtol=1e-13)


def test_loops_with_powers_of_either_kind_are_native():
    def speed(p, q, g):
        s = 0.5 * (p + q)
        if s > 0.2:
            if s < min(p, q):
                s = (p / q) ** ((g - 1.0) / (2.0 * g))
            else:
                s = p * (1.0 + s) ** (1.0 / g) + max(0.0, s) ** 2
        return s, p if s <= p else q * np.sqrt(1.0 + s)

    def f(x, g):
        out = np.zeros((x.shape[0], 2))
        for i in range(x.shape[0] - 1):
            out[i] = speed(max(x[i], 1e-3), max(x[i + 1], 1e-3), g)
        return out

    def h(x, k):
        out = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            out[i] = k * max(x[i], 0.0)
        return out

    for function, other in ((f, 1.4), (h, 3)):
        jitted = check(function, *(lambda n=n: (np.random.default_rng(n).random(n) - 0.3, other) for n in (20, 30)))
        assert tnp.cache_info(jitted).misses <= 2 and "in parts" not in str(tnp.explain(jitted))
