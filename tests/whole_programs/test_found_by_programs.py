"""What random programs of the whole language (``tests/fuzzing/run.py``) found: each jitted and eager, on several executors, in several calls."""

import copy
import itertools
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

EXECUTORS = (None, ("numpy",), ("numpy[prims]",))
X = np.arange(5.0)


def outcome(f, args):
    """What a call gives or raises, what it leaves its arguments as, and what it says of tnp's own trouble."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            result = f(*args)
        except Exception as error:
            result = type(error)
    return result, args, [str(w.message) for w in caught if "tracing raised" in str(w.message)]


def check(f, *calls, on=EXECUTORS):
    """``f`` with the arguments of each call, one after the other, jitted as eager; nothing is raised by tracing alone."""
    for executors in on:
        jitted = tnp.jit(f, executors=executors)
        for args in (*calls, calls[0]):
            expected, left, _ = outcome(f, copy.deepcopy(args))
            got, mine, trouble = outcome(jitted, copy.deepcopy(args))
            assert not trouble
            assert_same(got, expected, what=f"{executors}: the result")
            assert_same(list(mine), list(left), exact=True, what=f"{executors}: the arguments")


def masks(*rows):
    return [np.array([c == "1" for c in row]) for row in rows]


# Lengths that are known at run time only, and turn out to be 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m, k: (x[m] + x[k], np.zeros(len(x[m] + x[k])), (x[m] * x[k]).shape, np.ones((x[m] - x[k]).shape)),
        lambda x, m, k: np.zeros(3) + x[m],
        lambda x, m, k: np.where(x[m] > 1, x[k], 0.5),
        lambda x, m, k: (np.broadcast_to(x[m], (6,)), np.copyto(np.zeros(6), x[m])),
        lambda x, m, k: np.array([x[m], x[k]]).shape,
        lambda x, m, k: (np.squeeze(x[m]), x[k].squeeze().shape, np.squeeze(x[m][None], 0)),
        lambda x, m, k: [x[m] == x[k], np.hypot(x[m], x[k]).sum(), np.minimum(x[m], x[k], out=np.zeros(3))],
        lambda x, m, k: x[m] ** np.flatnonzero(2),
    ],
)
def test_lengths_that_turn_out_to_be_one(function):
    rows = ("10000", "11100"), ("11100", "10000"), ("11000", "01100"), ("00001", "10000"), ("00000", "00100")
    check(function, *((X, *masks(*pair)) for pair in rows))


def test_what_is_computed_into_such_an_array_has_its_length():
    def update(x, m, k):
        a, y = x[m], np.zeros(6)
        y[:] = x[k]
        a += x[k]
        return a, y

    check(update, *((X, *masks(*pair)) for pair in (("10000", "11000"), ("11000", "10000"), ("11000", "00110"))))


def test_counts_of_one_mask_are_one_length():
    """Also of a mask that is computed anew: nothing is broadcast then."""

    def f(x, y):
        y[(x > 1) & (x < 4)] = x[(x > 1) & (x < 4)] * y[(x > 1) & (x < 4)]
        return len(x[x > 1] + y[x > 1])

    check(f, (X, X + 1), (-X, X))
    assert not any("broadcast_in_dim" in str(b) for b in tnp.trace()(f, X, X + 1).bound_symbols)


# Scalars and numbers where arrays are expected, and what arrays do not hold


def store_all(a, v):
    a[:] = v


def store_one(a, v):
    a[1] = v


def store_masked(a, v):
    a[a >= 0] = v


def set_real(a, v):
    a.real = v


def set_where(a, v):
    np.putmask(a, a != 0, v)


def set_flat(a, v):
    a[0].flat[0] = v


def add_at(a, v):
    np.add.at(a, [1, 1, 0], v)


@pytest.mark.parametrize("function", [store_all, store_one, store_masked, set_real, set_where, set_flat, add_at])
def test_values_that_an_array_does_not_hold(function):
    for dtype in ("int8", "uint64", "float16"):
        for value in (-1, 300, 2.5, np.uint8(200), np.float32(np.nan), np.float64(0.1)):
            array = np.arange(3).astype(dtype)
            if isinstance(value, np.generic):
                check(lambda a, v=value: function(a, v), (array,), on=(None, ("numpy[prims]",)))
            else:
                check(function, (array, value), on=(None, ("numpy[prims]",)))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.putmask(a, a != 0, [1, 2]),
        lambda a: np.putmask(a, a != 0, a * 2),
        lambda a: np.putmask(a, a != 0, np.int64(1)),
        lambda a: np.subtract.at(a, 1, 0.1),
        lambda a: a.__setitem__(slice(None), np.complex64(1)),
        lambda a: np.insert(a, 0, 1j),
        lambda a: np.insert(a, 0, np.ones((1, 1), a.dtype)),
        lambda a: np.insert(a, [0, 1], np.ones((1, 1, 2), a.dtype)),
        lambda a: (a > 0).__setitem__(0, [1.0]),
    ],
)
def test_other_values(function):
    for dtype in ("int8", "float32", "complex64"):
        check(function, (np.arange(3).astype(dtype),))


def test_numbers_compared_with_scalars_that_do_not_hold_them():
    check(lambda k: (k > np.uint8(2), np.int8(1) == k, np.uint16(7) != k), (-1,), (300,), (2,))


def test_a_scalar_of_float64_is_a_float_to_complex_numbers():
    scalar = np.float64(1.5)
    check(lambda z: [z + scalar, z - scalar, z * scalar, z / scalar, z**scalar, scalar + z], (2 - 1j,))


@pytest.mark.parametrize("default", [-1, 300, 2.5, True])
def test_a_number_as_the_default_of_select_is_cast(default):
    condition = np.array([True, False, True])
    for dtype in ("uint8", "int8", "uint64", "float32"):
        check(lambda a: np.select([condition], [a], default=default), (np.arange(3).astype(dtype),))
        check(lambda a: np.select([condition], [default], default=a), (np.arange(3).astype(dtype),))


def test_errors_come_in_the_order_of_the_program():
    def f(a, n):
        v = a[1:] * 2
        v[[1]] = n
        1 / n
        np.put(a, 0, 7)

    check(f, (X[:1], 1), (X[:1], 0), (X[:3], 1), (X[:3], 0))


def test_a_dictionary_of_attributes_shows_what_is_assigned_afterwards():
    def assigned(o):
        held = vars(o)
        o.extra = 3
        return held["extra"], len(held)

    def stored(o):
        vars(o)["extra"] = 4
        return o.extra

    for function in (assigned, stored):
        check(function, (SimpleNamespace(x=1),), on=(None,))


def test_a_list_that_is_put_back_shows_what_was_in_it_when_the_program_raised():
    outside = []

    def f(a):
        outside.append(1)
        a[2, []]
        outside.pop()

    jitted = tnp.jit(f)
    for a in (np.ones((3, 1)), np.ones((1, 1))):
        outside.clear()
        got = outcome(jitted, (a,))[0], list(outside)
        outside.clear()
        assert got == (outcome(f, (a,))[0], list(outside))


def test_diagonals_are_counted_by_what_numpy_takes():
    for k in (True, np.bool(True), np.float16(0.5), 1.5, np.int8(-1)):
        check(lambda a, k=k: (np.triu(a, k), np.tril(a, k), np.tri(3, 3, k), np.rot90(a, k)), (np.ones((3, 3)),))
        check(lambda a, k=k: np.eye(3, k=k), (np.ones(3),))


def test_arrays_of_a_length_that_values_decide_are_printed(capsys):
    functions = (
        lambda a: print(a[a > 0]),
        lambda a: print(f"{np.unique(a)} of {len(a)}"),
        lambda a: print(np.flatnonzero(a)),
    )
    for function in functions:
        function(X)
        expected = capsys.readouterr().out
        for executors in EXECUTORS:
            jitted = tnp.jit(function, executors=executors)
            for _ in range(2):
                jitted(X)
                assert capsys.readouterr().out == expected != ""


def test_nothing_is_repeated_less_than_never():
    check(lambda a, n: (a.repeat(n), np.repeat(a, n)), (X[:0], -1), (X, -1), (X, 2), (np.ones((0, 2)), -3))
    check(lambda a: np.repeat(a, [1, -1], axis=1), (np.ones((3, 2)),), (np.ones((0, 2)),))


def test_an_array_that_warns_when_it_is_written_to():
    jitted = tnp.jit(lambda a: a.cumsum())
    for a in (np.arange(2), np.broadcast_arrays(np.arange(2), 3)[1], np.arange(2)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert_same(jitted(a), a.cumsum())
        assert not any(w.category is FutureWarning for w in caught)


def test_what_raises_comes_before_a_store_that_a_region_could_make_earlier():
    def f(a, b, c):
        int(a.flat[0])
        c[c > b] += 4

    check(f, (X + np.nan, X, X[::-1].copy()), (X, X, X[::-1].copy()))


def test_what_an_array_does_not_hold_comes_after_the_writes_before_it():
    def f(a, x, y):
        y[...] = 3
        a[::2] = x.item(0)

    check(f, *((np.ones(4, np.uint8), np.array([v]), np.ones(3)) for v in (2.5, np.nan, 300.0)))


# Results that are arguments, and scalars


def test_an_argument_among_the_results_is_written_to():
    def f(x, y):
        y[...] = 1
        return np.broadcast_arrays(x, y)[1]

    check(f, (np.zeros(1), np.zeros(5)))


def test_a_sum_is_a_scalar_whatever_becomes_of_what_it_is_of():
    def f(x):
        total = np.einsum("i,i->", x, x)
        x[0] = 1
        return (total,)

    check(f, (np.arange(4),))


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "count_nonzero"])
def test_zero_dimensional_arrays_along_axis_0(name):
    check(lambda x: getattr(np, name)(x, axis=0), (np.array(2.0),))
    check(lambda x: getattr(np, name)(x, axis=1), (np.array(2.0),))


def test_an_index_is_looked_at_for_a_result_that_nothing_reads():
    check(lambda x: np.unique(np.take(x, [7])) is None, (X,))


def test_empty_tuples_from_branches():
    def f(x):
        if x.sum() > 3:
            return ()
        return ()

    def g(x):
        if x.sum() > 3:
            found = 1, "a"
        else:
            found = 1, "a"
        return found

    for function in (f, g):
        check(function, (X,), (-X,))


def test_conditions_on_numbers_in_a_branch_are_mapped():
    def f(x, n):
        if x.sum() > 0:
            if n > 2:
                return x * 2
        return x

    mapped = tnp.jit(tnp.vmap(f, in_axes=(0, None)))
    rows = np.array([[1.0, 2.0], [-1.0, -2.0]])
    for n in (3, 1, 3):
        np.testing.assert_array_equal(mapped(rows, n), np.stack([f(row, n) for row in rows]))


# Patterns


class Place:
    x = 3

    def __init__(self, of=None):
        self.of = of


def matched(n, p):
    match n:
        case float() as kind:
            pass
        case bool() | str() as kind:
            kind = "other"
        case Place.x:
            kind = "x"
        case _:
            kind = None
    print(kind)
    match p:
        case Place(of=np.ndarray() as found):
            return kind, found * 2
        case {"of": Place.x | 4, **rest} if rest:
            return kind, len(rest), p["more"] * n
        case [Place.x, *rest]:
            return kind, [2 * y for y in rest]
        case np.ndarray():
            return p + 1
        case Place.missing:
            return 0


def test_patterns_name_classes_and_attributes(capsys):
    jitted = tnp.jit(matched)
    for x in (3, 4, 3):
        Place.x = x
        for n in (2.5, 3, True, 4):
            for p in (Place(X), {"of": 3, "more": X}, {"of": 2}, [3, X, 1.0], (4, 2), X):
                expected, _, _ = outcome(matched, (n, p))
                printed = capsys.readouterr().out
                for _ in range(2):
                    got, _, trouble = outcome(jitted, (n, p))
                    assert not trouble
                    assert capsys.readouterr().out == printed
                    assert_same(got, expected)
    assert not any("source cannot be had" in str(entry.eager_reason) for entry, _ in programs_of(jitted))


def test_what_has_no_source_prints_at_each_call(capsys):
    names = {}
    exec("def f(a):\n    print('s')\n    return a + 1", names)
    jitted = tnp.jit(names["f"])
    with pytest.warns(tnp.EagerFallbackWarning, match="uses print"):
        for _ in range(3):
            jitted(X)
    assert capsys.readouterr().out == "s\n" * 3


# Effects and errors, in order


@pytest.mark.parametrize(
    "function",
    [
        lambda a, i: (print(f"{a}"), a[[i]]),
        lambda a, i: (a[[i]], print("behind"), a + 1)[0],
        lambda a, i: (print("%s" % (a + 1)), np.take(a, i) + 1, print("between"), (a * 2)[[i]]),
    ],
)
def test_what_is_printed_before_an_error_and_what_not(function, capsys):
    for executors in EXECUTORS:
        jitted = tnp.jit(function, executors=executors)
        for i in (-2, 0, -2, 7, 1):
            expected, _, _ = outcome(function, (X[:1], i))
            printed = capsys.readouterr().out
            got, _, trouble = outcome(jitted, (X[:1], i))
            assert not trouble
            assert capsys.readouterr().out == printed
            assert_same(got, expected)


# Powers


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex64"])
def test_powers_by_numbers_that_vary(dtype):
    def power(a, n):
        return a**n

    def in_place(a, n):
        a **= n
        return a

    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5]) + (1j if dtype == "complex64" else 0)
    numbers = [3, 4, 2, 0, 1, 5, 2, 2.5, 0.5, 2.0, 1.5, 0.5] + (
        [-2, -1, -3, -1, -1.0, -0.5] if dtype[0] in "fc" else []
    )
    with np.errstate(all="ignore"):
        a = values.astype(dtype)
    for function in (power, in_place) if dtype[0] in "fc" else (power,):
        check(function, *((a, n) for n in numbers))


# Views of arrays whose sizes are known at run time only


@pytest.mark.parametrize("turned", [False, True])
def test_writes_through_ravel_of_a_part(turned):
    def f(a, n):
        for k in range(n):
            (a[:, :k] if turned else a[:k]).ravel()[1:] += 1
        return a.sum()

    check(f, *((np.ones((6, 4)), n) for n in (2, 5, 4, 6)))


# Read-only arrays


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.add.at(a, [0], 1),
        lambda a: np.negative.at(a, [1]),
        lambda a: np.copyto(a, a, where=a > 0),
        lambda a: np.copyto(a, a),
        lambda a: np.copyto(a, a[::-1]),
        lambda a: np.copyto(a, 1),
    ],
)
def test_read_only_arrays_that_numpy_does_not_refuse(function):
    for executors in (None, ("numpy[prims]",)):
        jitted = tnp.jit(function, executors=executors)
        for _ in range(2):
            arrays = X.copy(), X.copy()
            for a in arrays:
                a.flags.writeable = False
            assert_same(outcome(jitted, arrays[:1])[0], outcome(function, arrays[1:])[0])
            assert_same(*arrays)


@pytest.mark.parametrize("other", [3.0, np.float64(3), np.ones(1), np.ones(()), np.ones(5)])
def test_what_is_broadcast_together_is_written_to(other):
    def f(x, y):
        both = np.broadcast_arrays(x, y)
        both[1][-1] -= 1
        return both

    check(f, (X, other))


@pytest.mark.parametrize(
    "function", [lambda s: s.fill(2), lambda s: s.put(0, 1), lambda s: s.put(3, 1), lambda s: s.fill("a")]
)
def test_methods_that_write_leave_scalars_as_they_are(function):
    def f(a):
        total = a.sum()
        function(total)
        return total

    check(f, (X,))


# Casts


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_bincount_takes_what_numpy_takes(dtype):
    check(
        lambda a: (np.bincount(a), np.bincount([])), (np.array([1, 2, 4]).astype(dtype),), (np.array([]).astype(dtype),)
    )


def test_imaginary_parts_that_are_dropped_are_warned_of():
    def f(a, m, v):
        np.putmask(a, m, v)
        np.copyto(a, v, casting="unsafe")

    jitted = tnp.jit(f)
    for value in (np.complex64(2), np.complex64(1j)):
        for _ in range(2):
            mine, eagers = X.copy(), X.copy()
            for function, a in ((f, eagers), (jitted, mine)):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    function(a, X > 1, value)
                assert sum("discards the imaginary part" in str(w.message) for w in caught) == 2
            assert_same(mine, eagers)


# Extremes of nothing


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (0, 0), (2, 0, 3), (2, 3)])
def test_extremes_with_an_initial_value(shape):
    check(
        lambda a: (a.max(initial=1), np.min(a, initial=-2), a.max(0, initial=0.5), a.min(axis=(0, 1), initial=3)),
        (np.ones(shape),),
    )
    check(lambda a, m: a[m][:, m].max(initial=1), *((np.ones((3, 3)) * 5, m) for m in masks("000", "010", "111")))


# Python numbers


@pytest.mark.parametrize("number", [1.5j, complex(-0.0, -0.0), True, 2.5, 3])
def test_parts_of_python_numbers(number):
    def f(s, a):
        return s.real, s.imag, (s * 2).real, a.item().real, a.item().imag

    check(f, *((x, np.array(x)) for x in (number, number * 3)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32"])
def test_degrees_are_numpys_to_the_last_bit(dtype):
    def f(a):
        return np.rad2deg(a).sum(), np.degrees(a), np.deg2rad(a), np.radians(a)

    a = (np.random.default_rng(0).normal(size=20) * 30).astype(dtype)
    for executors in EXECUTORS:
        for got, expected in zip(tnp.jit(f, executors=executors)(a)[1:], f(a)[1:]):
            assert_same(got, expected, exact=True, what=f"{executors}")


def test_complex_numbers_of_complex_parts():
    def f(a, s):
        return complex(1, a.item(0)), complex(s, 2) + a, complex(a.item(1), s)

    for s in (2.5, 1j):
        check(f, (np.array([1j, 2 - 1j]), s))


# Numbers that an array may not hold


@pytest.mark.parametrize("dtype", ["uint64", "int8", "int64", "uint8", "float32"])
def test_numbers_that_arrays_do_not_hold_are_refused_where_the_result_is_unused(dtype):
    def f(a, b):
        v = int(b[0])
        a[0] = 5
        v & a if a.dtype.kind != "f" else a
        a[1] = 9
        v**a
        a[2] = 9
        _ = v < a
        a + v
        return v

    check(f, *((np.arange(7).astype(dtype), np.full(7, b, np.int16)) for b in (3, -3, 300)))


def test_numbers_and_arrays_of_unknown_lengths_whose_result_is_unused():
    def f(a, n):
        counts = np.unique(a, return_counts=True)[1]
        counts + int(a[0]), np.append(counts, n), counts * n
        return counts

    check(f, (np.array([3, 1, 3]), 2), (np.array([3, 3, 3]), 2))


def test_a_part_of_complex_numbers_is_written_in_a_branch():
    def f(a):
        if a.all():
            a.imag = 0.3
        a.real[0] = 7
        return a

    check(f, (np.array([1 + 1j, 2], np.complex64),), (np.array([1 + 1j, 0], np.complex64),))


# Which object it is


def _bound_on_one_side(a, n):
    if a.sum() < 100:
        b = a
    return b


def _swapped(a, n):
    b = a.view()
    for _ in range(n):
        a, b = b, a
        if b.any():
            return a
    return b


def _in_a_branch(a, n):
    if (a == n).any():
        b = a[...]
    else:
        b = a
    return b


@pytest.mark.parametrize(
    "function",
    [
        lambda a, n: a if (a == n).any() else a.reshape(-1),
        lambda a, n: a[...] if a.all() else a,
        _in_a_branch,
        _bound_on_one_side,
        _swapped,
    ],
)
def test_an_argument_is_told_from_a_view_of_all_of_it(function):
    for executors in EXECUTORS:
        jitted = tnp.jit(function, executors=executors)
        for a, n in (
            (np.arange(3), 13),
            (np.arange(3), 12),
            (np.arange(1, 3), 1),
            (np.zeros(2), 12),
            (np.array(3.0), 3),
        ):
            for _ in range(2):
                expected, got = function(a, n), jitted(a, n)
                assert (got is a, np.shares_memory(got, a)) == (expected is a, np.shares_memory(expected, a))


def _chosen_scalar(a):
    if a.sum():
        return (a,)
    return (a,)


def _of_unknown_length(a):
    b = np.unique(a)
    c = a[a > 0]
    return b, b.reshape(-1), b, c, c[...], c.view()


def _kept(a):
    made = SimpleNamespace(a=a)
    made.both = [a[None] for _ in range(2)]
    return (*made.both, a)


@pytest.mark.parametrize("function", [_chosen_scalar, _of_unknown_length, _kept])
@pytest.mark.parametrize("a", [np.arange(3), np.array(3)])
def test_views_of_all_of_an_array_are_objects_of_their_own(function, a):
    for executors in EXECUTORS:
        expected, got = function(a), tnp.jit(function, executors=executors)(a)
        assert_same(got, expected)
        pairs = list(itertools.combinations(range(len(expected)), 2))
        assert [got[i] is got[j] for i, j in pairs] == [expected[i] is expected[j] for i, j in pairs]
        assert [x is a for x in got] == [x is a for x in expected]


def test_a_branch_gives_a_view_of_a_view_as_a_view():
    def f(a):
        turned = np.fliplr(a[::-1])
        more = turned + 1
        return turned if a.sum() else more

    for executors in EXECUTORS:
        a = X.copy().reshape(1, 5)
        result = tnp.jit(f, executors=executors)(a)
        assert_same(result, f(a))
        assert np.shares_memory(result, a)


def test_views_that_an_object_keeps_are_objects_of_their_own():
    def f(o):
        o.views = [o.a[None], o.a[None]]

    o = SimpleNamespace(a=np.arange(3))
    tnp.jit(f)(o)
    assert o.views[0] is not o.views[1]
    assert np.shares_memory(o.views[0], o.a)


@pytest.mark.parametrize("axis", [0, -1])
def test_a_number_is_repeated_along_its_one_axis(axis):
    def f(s):
        return np.repeat(s, 2, axis=axis), np.repeat(s, [3], axis)

    assert_same(tnp.jit(f)(np.float32(3)), f(np.float32(3)))


def powers_of_two(a, k):
    return 2**k + a


def powers_of_a_negative_number(a, k):
    return (-2) ** k + a, (-2.5) ** k + a


def powers_of_itself(a, k):
    k **= k
    return a + k


def powers_in_a_loop(a, k):
    total = 0
    for i in range(len(a)):
        total += a[i] * 2**i * k**i + 2**-i
    return total


@pytest.mark.parametrize("f", [powers_of_two, powers_of_a_negative_number, powers_of_itself, powers_in_a_loop])
def test_a_power_of_numbers_is_of_the_kind_that_signs_decide(f):
    jitted, a = tnp.jit(f), np.arange(4)
    for k in (-2, 5, 2.0, 0.5, -1.5, -3, True, 2, -3.0):
        assert_same(jitted(a, k), f(a, k), what=f"{k!r}")


def test_a_list_is_as_its_program_left_it_when_that_raised():
    kept = [1, 2.0, np.array(3)]

    def f(a):
        a -= 1
        for _ in range(2):
            kept.reverse()
            np.select([1 > 2], [a])[[4]]

    with pytest.warns(tnp.EagerFallbackWarning, match="changes a container"), pytest.raises(IndexError):
        tnp.jit(f)(np.arange(8).reshape(4, 2))
    assert kept[1:] == [2.0, 1]


def test_a_view_of_the_whole_is_a_result():
    def f(a, b):
        _, v = a
        return np.broadcast_arrays(b, v)[1]

    a = np.arange(2, dtype=np.uint16)
    assert_same(tnp.jit(f)(a, np.float32(3)), f(a, np.float32(3)))


@pytest.mark.filterwarnings("ignore:Non-integer input:DeprecationWarning")
def test_bincount_takes_a_list_that_is_none_of_integers():
    def f(a):
        return np.bincount([1, a[0]])

    with pytest.warns(tnp.EagerFallbackWarning, match="bincount"):
        assert_same(tnp.jit(f)(np.array([3], np.uint64)), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 2, 2)])
def test_a_product_with_zero_is_that_of_blas(dtype, shape):
    def f(a, b):
        return np.dot(a, b), np.dot(b, a), np.inner(a, b)

    a = np.array([1, -2, -0.0, 3]).reshape(shape).astype(dtype)
    if dtype != "i8":
        a.flat[0] = np.inf
    for b in (np.dtype(dtype).type(0), np.array(1, dtype)):
        with np.errstate(all="ignore"):
            results = list(zip(tnp.jit(f)(a, b), f(a, b)))
        for result, expected in results:
            assert_same(result, expected)
            np.testing.assert_array_equal(np.signbit(result.real), np.signbit(expected.real))


def test_complex_scalars_are_ordered_as_by_operators():
    def f(a, b):
        x, y = a[0], b[0]
        return x < 7, x <= y, x > y, x >= y, (x * 1 < y) + 1, max(x, y), np.less(x, y), np.maximum(x, y)

    jitted, parts = tnp.jit(f), (1.0, np.inf, np.nan)
    numbers = [np.array([complex(x, y)]) for x in parts for y in parts]
    for a, b in itertools.product(numbers, numbers):
        with np.errstate(all="ignore"):
            assert repr(jitted(a, b)) == repr(f(a, b))


@pytest.mark.parametrize("k", [np.inf, 1.0, np.nan, 2, 1])
def test_the_least_of_a_number_and_a_scalar_is_of_its_own_kind(k):
    def f(k):
        return min(k, np.float64(1.5)), max(k, np.float64(1.5)), min(np.float64(1.5), k)

    assert repr(tnp.jit(f)(k)) == repr(f(k))


def test_an_array_that_is_written_whole_lies_in_memory_as_before():
    def f(b):
        a = np.zeros((2, 3))
        a[...] = b.T
        a *= 3
        return a, a.ravel(), a * 2

    def g(b):
        a = np.zeros((2, 3))
        a.T[...] = b
        a += a
        return a, a.ravel(), a * 2

    for function in (f, g):
        result, expected = (made(np.arange(6.0).reshape(3, 2)) for made in (tnp.jit(function), function))
        assert_same(result, expected)
        assert [x.strides for x in result] == [x.strides for x in expected]
        assert np.shares_memory(*result[:2])


def test_a_value_is_specialized_on_behind_sizes_that_vary():
    def f(a):
        return a[1:] * 2 if a.flatten()[1] > 0 else a.sum()

    jitted = tnp.jit(f)
    for n in (3, 4, 5, 4):
        assert_same(jitted(np.arange(n)), f(np.arange(n)))
        assert_same(jitted(-np.arange(n)), f(-np.arange(n)))


def test_nothing_of_an_array_of_varying_size_is_written():
    def f(a):
        a[None, 0:1:-1] = 1

    jitted = tnp.jit(f)
    for shape in ((0, 2), (1, 3), (2, 4), (1, 5)):
        a = np.zeros(shape)
        jitted(a)
        assert not a.any()


@pytest.mark.parametrize("x", [np.ones(3), np.array(2.5), np.float64(2.5), np.int32(25), np.True_, np.complex64(1)])
@pytest.mark.parametrize("digits", [(), (1,), (-1,)])
def test_round_takes_scalars_alone(x, digits):
    def f(x):
        return round(x, *digits)

    try:
        expected = f(x)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error))):
            tnp.jit(f)(x)
    else:
        assert_same(tnp.jit(f)(x), expected)


def test_a_triangle_has_a_size_that_is_no_integer():
    def f(n):
        return np.tri(n[()])

    with pytest.warns(tnp.EagerFallbackWarning, match="is no integer"):
        assert_same(tnp.jit(f)(np.array(3, np.float16)), np.tri(3))


def test_which_of_two_objects_a_result_is_depends_on_a_branch():
    def f(a):
        a = doubled = a * 2
        b = turned = a.T
        if doubled.sum() > 0:
            a, b = b, a
        return a, turned

    for a in (np.ones(3), -np.ones(3)):
        with pytest.warns(tnp.EagerFallbackWarning, match="one object"):
            result = tnp.jit(f)(a)
        assert (result[0] is result[1]) is bool(a[0] > 0)


@pytest.mark.parametrize("shift", [0.0, 1.7, -1.7, [1.0, 2], np.float64(2.9)])
def test_np_roll_makes_its_shift_an_integer(shift):
    a = np.arange(5)
    assert_same(tnp.jit(lambda a: np.roll(a, shift))(a), np.roll(a, shift))
    assert_same(tnp.jit(np.roll)(a, shift), np.roll(a, shift))


def test_a_written_argument_is_itself_behind_branches_in_branches():
    def f(a):
        a <<= a
        if a.any():
            pass
        elif np.isfinite(a).all():
            v = a
        return v

    a = np.zeros(2, int)
    assert tnp.jit(f)(a) is a


def test_elements_are_read_when_an_iteration_comes_to_them():
    def f(a):
        global _never_written
        for x in a:  # noqa: B007
            a -= a
        return x

    def g(a):
        def inner():
            nonlocal a

        for x in a:  # noqa: B007
            a *= 2
        return x

    for function in (f, g):
        assert_same(tnp.jit(function)(np.arange(3.0)), function(np.arange(3.0)))


def test_lengths_that_values_decide_are_one_in_branches_of_iterations():
    def f(p):
        for _ in range(len(p)):
            found = p[1].nonzero()[0]
            if p[1].astype(int).sum():
                found[None]
        return found

    p = (1, np.arange(3, dtype=np.uint64))
    assert_same(tnp.jit(f)(p), f(p))


def test_what_is_caught_of_a_variable_without_a_value_is_its_own_error(capsys):
    def f(a):
        if (a > 2.0).all():
            return np
        try:
            v += 2  # noqa: F821, F841
        except Exception as error:
            print(type(error))

    with pytest.warns(tnp.EagerFallbackWarning, match="catch"):
        tnp.jit(f)(np.ones(3))
    assert capsys.readouterr().out == "<class 'UnboundLocalError'>\n"


def test_an_iteration_that_does_not_come_computes_no_huge_integer():
    def f(a, k, n):
        for _ in range(n, 1, -1):
            k **= k
        return a * float(k)

    a = np.ones(2)
    assert_same(tnp.jit(f)(a, 3, 3), f(a, 3, 3))


@pytest.mark.parametrize("shape", [(0, 0), (0, 0, 3), (3, 0, 0), (2, 0, 3)])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_an_extreme_of_nothing_raises_where_it_is_not_read(shape, axis):
    def f(a):
        np.max(a, axis=axis)

    try:
        np.max(np.empty(shape), axis=axis)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            tnp.jit(f)(np.empty(shape))
    else:
        tnp.jit(f)(np.empty(shape))


@pytest.mark.parametrize("repeats", [0.0, 2.0, 2.5, np.float64(1.0), [1.0, 2, 0]])
def test_np_repeat_makes_its_counts_integers(repeats):
    a = np.arange(3)
    assert_same(tnp.jit(lambda a: a.repeat(repeats))(a), a.repeat(repeats))


def test_an_errstate_in_a_loop_ends_with_an_error():
    def f(a):
        for i in range(len(a)):
            with np.errstate(all="raise"):
                a[[i, -7]] = 1.0

    before = np.geterr()
    with pytest.raises(IndexError):
        tnp.jit(f)(np.ones(3))
    assert np.geterr() == before


@pytest.mark.parametrize("name", ["t0", "result0"])
def test_buffers_of_a_kernel_have_names_of_their_own(name):
    space = {}
    exec(f"def f({name}): return {name}.sum(axis=1), {name} + 1, {name}.sum(keepdims=True)", space)
    jitted = tnp.jit(space["f"], dynamic=True)
    for n in (3, 5):
        assert_same(jitted(np.ones((n, 4))), space["f"](np.ones((n, 4))))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_gives_what_may_be_the_callers_array_or_a_view_of_it(sign):
    def f(a, k):
        copied = a.copy()
        chosen = copied if a.sum() == k else a
        return chosen if copied.sum() <= 0.0 else chosen[:]

    jitted, a = tnp.jit(f), sign * np.ones(3)
    for k in (3.0, 4.0):
        assert (jitted(a, k) is a) is (f(a, k) is a)


def test_parameters_may_have_the_names_of_builtins():
    def f(type, int, len, list, computation, x):
        return type * int + len[0] + list["a"] + computation + x

    jitted = tnp.jit(f)
    for n in (3, 4, 5):
        arguments = np.ones(n), 2, [np.arange(n)], {"a": 1.5}, 4, np.ones(n, np.float32)
        assert_same(jitted(*arguments), f(*arguments))
    assert tnp.cache_info(jitted).misses == 2
