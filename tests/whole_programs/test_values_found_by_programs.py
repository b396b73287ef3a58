"""Values, dtypes and sizes that random programs of the whole language (``tests/fuzzing/run.py``) found to be wrong."""

import itertools
import math
import re
import warnings

import numpy as np
import pytest

import tnp
from tests.whole_programs.checks import EXECUTORS, X, check, masks
from tnp.testing import assert_same

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


def test_a_scalar_of_float64_is_a_float_to_complex_numbers():
    scalar = np.float64(1.5)
    check(lambda z: [z + scalar, z - scalar, z * scalar, z / scalar, z**scalar, scalar + z], (2 - 1j,))


@pytest.mark.parametrize("default", [-1, 300, 2.5, True])
def test_a_number_as_the_default_of_select_is_cast(default):
    condition = np.array([True, False, True])
    for dtype in ("uint8", "int8", "uint64", "float32"):
        check(lambda a: np.select([condition], [a], default=default), (np.arange(3).astype(dtype),))
        check(lambda a: np.select([condition], [default], default=a), (np.arange(3).astype(dtype),))


def test_diagonals_are_counted_by_what_numpy_takes():
    for k in (True, np.bool(True), np.float16(0.5), 1.5, np.int8(-1)):
        check(lambda a, k=k: (np.triu(a, k), np.tril(a, k), np.tri(3, 3, k), np.rot90(a, k)), (np.ones((3, 3)),))
        check(lambda a, k=k: np.eye(3, k=k), (np.ones(3),))


def test_nothing_is_repeated_less_than_never():
    check(lambda a, n: (a.repeat(n), np.repeat(a, n)), (X[:0], -1), (X, -1), (X, 2), (np.ones((0, 2)), -3))
    check(lambda a: np.repeat(a, [1, -1], axis=1), (np.ones((3, 2)),), (np.ones((0, 2)),))


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


# Casts


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_bincount_takes_what_numpy_takes(dtype):
    check(
        lambda a: (np.bincount(a), np.bincount([])), (np.array([1, 2, 4]).astype(dtype),), (np.array([]).astype(dtype),)
    )


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


def test_a_value_is_specialized_on_behind_sizes_that_vary():
    def f(a):
        return a[1:] * 2 if a.flatten()[1] > 0 else a.sum()

    jitted = tnp.jit(f)
    for n in (3, 4, 5, 4):
        assert_same(jitted(np.arange(n)), f(np.arange(n)))
        assert_same(jitted(-np.arange(n)), f(-np.arange(n)))


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
    for n in (np.float32(2.5), np.complex64(2)):
        with pytest.warns((tnp.EagerFallbackWarning, np.exceptions.ComplexWarning)):
            assert_same(tnp.jit(lambda x, n=n: np.tri(n) * x)(2.0), np.tri(n) * 2.0)


@pytest.mark.parametrize("shift", [0.0, 1.7, -1.7, [1.0, 2], np.float64(2.9)])
def test_np_roll_makes_its_shift_an_integer(shift):
    a = np.arange(5)
    assert_same(tnp.jit(lambda a: np.roll(a, shift))(a), np.roll(a, shift))
    assert_same(tnp.jit(np.roll)(a, shift), np.roll(a, shift))


def test_lengths_that_values_decide_are_one_in_branches_of_iterations():
    def f(p):
        for _ in range(len(p)):
            found = p[1].nonzero()[0]
            if p[1].astype(int).sum():
                found[None]
        return found

    p = (1, np.arange(3, dtype=np.uint64))
    assert_same(tnp.jit(f)(p), f(p))


@pytest.mark.parametrize("repeats", [0.0, 2.0, 2.5, np.float64(1.0), [1.0, 2, 0]])
def test_np_repeat_makes_its_counts_integers(repeats):
    a = np.arange(3)
    assert_same(tnp.jit(lambda a: a.repeat(repeats))(a), a.repeat(repeats))


@pytest.mark.parametrize("name", ["t0", "result0"])
def test_buffers_of_a_kernel_have_names_of_their_own(name):
    space = {}
    exec(f"def f({name}): return {name}.sum(axis=1), {name} + 1, {name}.sum(keepdims=True)", space)
    jitted = tnp.jit(space["f"], dynamic=True)
    for n in (3, 5):
        assert_same(jitted(np.ones((n, 4))), space["f"](np.ones((n, 4))))


def test_parameters_may_have_the_names_of_builtins():
    def f(type, int, len, list, computation, x):
        return type * int + len[0] + list["a"] + computation + x

    jitted = tnp.jit(f)
    for n in (3, 4, 5):
        arguments = np.ones(n), 2, [np.arange(n)], {"a": 1.5}, 4, np.ones(n, np.float32)
        assert_same(jitted(*arguments), f(*arguments))
    assert tnp.cache_info(jitted).misses == 2


@pytest.mark.parametrize("k", [np.True_, np.float64(1), np.int8(-1)])
def test_the_diagonal_of_a_triangle_may_be_any_scalar(k):
    check(lambda a, b: np.triu(a, b[0]), (np.ones((3, 4)), np.array([k])), on=(None,))


def test_a_loop_takes_a_size_that_the_prologue_computes():
    def f(a):
        total, k = 0.0, 0
        while k < 3 and a[0] < 5:
            k += 1
            i = 0
            while i < 5 and len(a[::-1]) > 2:
                i += 1
                total = total + a[i]
        return total

    check(f, *((np.arange(n, dtype=float),) for n in (7, 9, 6)))


def test_the_text_of_what_is_an_element_or_a_number():
    def f(a):
        for x in a:
            last = x if a.sum() else 0
        return f"{last!r} {last!s} {last}", repr(last), str(last)

    check(f, (np.array([2.5, 1.5]),), (np.zeros(2),))


# Masks


@pytest.mark.parametrize(
    "where", [[1, 0, 2], (True, 0, 1), [0.0, np.nan, 0], 3, 0.0, np.int64(1), X > 1, np.array([[1]]), X]
)
def test_what_is_no_array_is_a_mask_by_its_truth(where):
    def copied(x):
        np.copyto(x, 5.0, where=where)
        return x

    functions = (
        lambda x: np.sum(x, where=where),
        lambda x: np.add.reduce(x, where=where),
        lambda x: np.mean(x, where=where),
        lambda x: np.add(x, 1, out=x.copy(), where=where),
        lambda x: np.sum(x, where=x[0]),
        copied,
    )
    for function in functions:
        check(function, (X[:3] + 1,), (X[1:4],))


def test_an_array_filled_with_a_number_or_a_scalar():
    def f(a, b):
        a.fill(max(1, b[0]))
        return a

    for dtype in (float, int, np.float32):
        check(f, *((np.zeros(3, dtype), np.array([v])) for v in (0.5, 2.5, 0.5)))


def test_the_floor_of_a_complex_scalar():
    def f(a):
        return math.floor(a.max())

    jitted = tnp.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(jitted(np.ones(3, np.complex64)), f(np.ones(3, np.complex64)))


@pytest.mark.parametrize("exponent", [-3, 0, 3])
def test_integers_to_powers_that_may_be_negative(exponent):
    def f(a, k):
        n = int(a[0])
        v = a.ndim
        v **= n
        return v, type(v), 2**n, type(pow(k, n)), k**-2 if k else None, type(bool(k) ** n)

    check(f, (np.full(3, exponent), 2))


def test_out_of_another_shape_whose_size_is_known_at_run_time():
    def f(a):
        where = np.nonzero(a)[0]
        np.sum(where, keepdims=True, out=where)
        return where

    check(f, (np.ones((2, 5)),), (np.eye(2)[:1],))


def test_writes_to_what_broadcast_arrays_makes_of_a_number():
    def f(x):
        one = np.broadcast_arrays(x, 1)[1]
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            one[0] = 2
        return one, len(found)

    check(f, (np.ones(1),), (np.ones(3),))


def test_float16_sums_of_rows_of_any_length_in_branches():
    def f(a):
        first, last = a[0], a[-1]
        if first.sum():
            if last.sum():
                last += 1.5
        return a

    rng = np.random.default_rng(0)
    check(f, *((rng.normal(size=s).astype(np.float16),) for s in ((4, 6), (5, 3), (6, 7), (9, 2000))))


def test_a_branch_whose_sizes_are_products():
    def f(one, a):
        order = a.ravel().argsort()
        if np.min(one):
            order.sum()

    check(f, (3, np.ones((3, 4))), (2, np.ones((3, 2))), (0, np.ones((3, 5))), (1, np.ones((3, 3))))


def test_an_array_is_added_to_lists_of_varying_lengths():
    def f(a):
        _first, *others = a
        others += a[1:]
        return others

    def given(v, a):
        v += a

    check(f, *((np.ones((n, 2)),) for n in (1, 3, 5, 6)))
    check(given, *(([1.0] * n, np.ones(n)) for n in (1, 3, 5, 6)))


def test_products_of_any_size_in_branches():
    def f(one, a):
        if one.max():
            made = np.tensordot(a, a, axes=0)
            np.sum(made, axis=0, keepdims=True, out=made[:1])
            return made
        return None

    check(f, *((np.ones(1) + 0j, np.ones(s)) for s in ((1, 1), (1, 7), (1, 5), (2, 3))))


def test_parts_of_operations_that_refuse_empty_arrays():
    def f(a, k):
        np.ptp(a[a > k])
        return a + 1

    check(f, (X, 2), (X, 9), (X.astype(np.float32), 9))


@pytest.mark.parametrize(
    "key",
    [
        [-9],
        [5, 1],
        [[9, 1], [0, 1]],
        ([9], [0]),
        ([0], 9),
        (9, [0]),
        ([9], slice(None)),
        (slice(None), [9]),
        (None, [9]),
    ],
)
@pytest.mark.parametrize("value", [math.nan, -1, 2**70, np.float64(1), np.int64(300)])
def test_which_is_refused_first_the_index_or_the_number(key, value):
    def f(a, key, value):
        a[key] = value

    parts = key if type(key) is tuple else (key,)
    key = tuple(np.array(k) if type(k) is list else k for k in parts)
    for given in (key, key[0]) if len(key) == 1 else (key,):
        check(f, (np.zeros((3, 3), np.uint64), given, value), (np.zeros((3, 3), np.int8), given, value))


def test_triangles_of_a_size_that_is_no_integer():
    check(lambda n, x: (np.tri(n), np.tri(2, n), x + 1), (2, X), (1.001, X), (2.5, X), (True, X))


def test_integers_that_overflow_beside_a_constant_scalar():
    def f(n, x):
        with np.errstate(all="raise"):
            n *= np.int8(100)
        return x > n, n

    check(f, (1, X), (3, X), (0, X), (-2, X), (1, X), on=(None, ("numpy",)))


@pytest.mark.parametrize("factor", [math.nan, math.inf, 0.0, 2.0])
def test_a_complex_number_that_is_a_key(factor):
    def f(x, z):
        z *= factor
        found = {z: x.sum()}
        found[z] += 1
        return found[z] + x, len(found)

    check(f, (X, 1j), (X, -1j), (X, 1j))


@pytest.mark.parametrize("fill", [np.ones(1), np.ones((1, 1)), np.ones((1, 3)), np.ones((2, 3))])
def test_leading_dimensions_of_one_are_dropped_where_an_array_is_filled(fill):
    def full(x, fill):
        return np.full(x.shape, fill), np.full_like(x, fill)

    def stored(x, fill):
        y = x.copy()
        y[()] = fill
        return y

    for f in (full, stored):
        check(f, *((x, fill) for x in (np.array(2, np.int8), np.ones(3, np.int8), np.ones(1))))


FILLING = {
    "whole": lambda v, a: v.__setitem__(..., a),
    "slice": lambda v, a: v.__setitem__(slice(3, None), a),
    "mask": lambda v, a: v.__setitem__(np.zeros(v.shape, bool), a),
    "scalar under a mask": lambda v, a: v.__setitem__(np.zeros(v.shape, bool), a[0]),
    "0-d under a mask": lambda v, a: v.__setitem__(np.zeros(v.shape, bool), a.reshape(())),
    "indices": lambda v, a: v.__setitem__(np.zeros(0, int), a),
    "copyto": lambda v, a: np.copyto(v[:0], a, casting="unsafe"),
}


@pytest.mark.parametrize("name", FILLING)
def test_what_is_not_stored_is_not_converted(name):
    def f(v, a):
        with np.errstate(invalid="raise"):
            FILLING[name](v, a)
        return v

    nan = np.array([math.nan])
    check(f, *((np.arange(n), nan) for n in (0, 0)), *((np.arange(n), nan + 0) for n in (3, 3) if name != "whole"))
    check(f, (np.arange(0), np.array([7.5])), (np.arange(5), np.array([7.5])), (np.arange(6), np.array([7.5])))


def test_a_key_that_may_be_a_number_or_a_scalar():
    def f(x):
        s = x.sum()
        found = {"k": s}

        def put():
            found[s and 0.0] = 1

        put()
        return found

    check(f, (X,), (np.zeros(3),), (X,))


def test_functions_that_take_no_out():
    check(lambda x: np.i0(x, out=np.zeros(3)), (X,))
    check(lambda x: np.may_share_memory(x, x, out=x), (X,))
    check(lambda x, y: (np.frexp(x, y, where=True), y), (X, np.zeros(3)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint64, np.int64])
def test_numbers_of_the_program_that_a_dtype_does_not_hold_are_compared(dtype):
    def f(x, numbers):
        found = []
        for i in range(len(numbers)):
            n = numbers.item(i)
            found.append((n < x, n <= x, n > x, n >= x, n == x, n != x, x[0] < n, x[1] >= n, dtype(3) == n))
        return found

    def in_a_loop(x, numbers):
        count = np.zeros(6, int)
        for i in range(len(numbers)):
            n = numbers.item(i)
            count += [(n < x).sum(), (n <= x).sum(), (x < n).sum(), (n >= x).sum(), (x == n).sum(), (x != n).sum()]
        return count

    numbers = np.array([-1, 3, 255, 256, 2**15, 2**31, -(2**40), 0])
    limits = np.iinfo(dtype)
    x = np.array([0, 3, limits.max, limits.min, 100], dtype)
    check(f, (x, numbers), (x, numbers[::-1].copy()))
    check(in_a_loop, (x, np.repeat(numbers, 4)))


def test_objects_of_the_caller_as_keys_of_a_result():
    class Box:
        pass

    box = Box()
    with pytest.warns(tnp.EagerFallbackWarning, match="keys are objects that its caller has"):
        found = tnp.jit(lambda b, x: {b: x.sum()})(box, X)
    assert list(found) == [box] and found[box] == 10.0


def test_integers_rounded_into_themselves_where_they_are_read_only():
    x = np.arange(4)
    x.flags.writeable = False
    check(lambda x: np.round(x, 1, out=x), (x,), (np.arange(4),))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_view_that_a_region_gives_where_its_operations_run_one_by_one(dynamic):
    """Code for any size refuses Fortran order, so the region runs operation by operation. It must still return copies, not views."""

    def f(x, y):
        x += y
        y[1:] = y[:-1]

    jitted = tnp.jit(f, dynamic=dynamic)
    for shape in ((3, 4), (5, 17), (8, 6)):
        x, y = np.asfortranarray(np.ones(shape)), np.arange(np.prod(shape)).reshape(shape)
        mine = x.copy(order="K"), y.copy()
        f(x, y)
        jitted(*mine)
        assert_same(list(mine), [x, y])


@pytest.mark.parametrize("ddof", [0, 1, 2.5, 5])
def test_variances_of_too_few_at_any_size(ddof):
    jitted = tnp.jit(lambda x: (np.var(x, ddof=ddof), np.std(x, axis=0, ddof=ddof)))
    for shape in ((4, 2), (5, 2), (2, 1), (2, 2), (3, 3), (1, 4), (6, 3)):
        x = np.arange(np.prod(shape)).reshape(shape) ** 1.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert_same(jitted(x), (np.var(x, ddof=ddof), np.std(x, axis=0, ddof=ddof)))


def test_variances_have_one_program_for_all_sizes():
    jitted = tnp.jit(lambda x: np.var(x, ddof=1))
    for n in range(3, 9):
        jitted(np.ones((n, n)))
    assert tnp.cache_info(jitted).misses == 2
