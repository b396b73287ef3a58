"""Errors, warnings, prints and writes that random programs of the whole language (``tests/fuzzing/run.py``) found to be wrong."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tests.whole_programs.checks import EXECUTORS, X, check, outcome
from tnp.api import programs_of
from tnp.testing import assert_same

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


def test_numbers_compared_with_scalars_that_do_not_hold_them():
    check(lambda k: (k > np.uint8(2), np.int8(1) == k, np.uint16(7) != k), (-1,), (300,), (2,))


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


@pytest.mark.parametrize(
    "function", [lambda s: s.fill(2), lambda s: s.put(0, 1), lambda s: s.put(3, 1), lambda s: s.fill("a")]
)
def test_methods_that_write_leave_scalars_as_they_are(function):
    def f(a):
        total = a.sum()
        function(total)
        return total

    check(f, (X,))


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


def test_a_list_is_as_its_program_left_it_when_that_raised():
    kept = [1, 2.0, np.array(3)]

    def f(a):
        a -= 1
        for _ in range(2):
            kept.reverse()
            np.select([1 > 2], [a])[[4]]

    a = np.arange(8).reshape(4, 2)
    with pytest.raises(IndexError):
        tnp.jit(f)(a)
    assert kept[1:] == [2.0, 1]
    assert_same(a, np.arange(8).reshape(4, 2) - 1)


@pytest.mark.filterwarnings("ignore:Non-integer input:DeprecationWarning")
def test_bincount_takes_a_list_that_is_none_of_integers():
    def f(a):
        return np.bincount([1, a[0]])

    with pytest.warns(tnp.EagerFallbackWarning, match="bincount"):
        assert_same(tnp.jit(f)(np.array([3], np.uint64)), np.array([0, 1, 0, 1]))


def test_nothing_of_an_array_of_varying_size_is_written():
    def f(a):
        a[None, 0:1:-1] = 1

    jitted = tnp.jit(f)
    for shape in ((0, 2), (1, 3), (2, 4), (1, 5)):
        a = np.zeros(shape)
        jitted(a)
        assert not a.any()


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


def test_what_is_caught_of_a_variable_without_a_value_is_its_own_error(capsys):
    def f(a):
        if (a > 2.0).all():
            return np
        try:
            v += 2  # noqa: F821, F841
        except Exception as error:
            print(type(error))

    with not_compiled_whole("catch"):
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


def test_an_errstate_in_a_loop_ends_with_an_error():
    def f(a):
        for i in range(len(a)):
            with np.errstate(all="raise"):
                a[[i, -7]] = 1.0

    before = np.geterr()
    with pytest.raises(IndexError):
        tnp.jit(f)(np.ones(3))
    assert np.geterr() == before


def test_a_registry_of_classes_that_a_library_keeps_gets_none_of_tnps():
    space = {"__name__": "numpy.made_up", "known": []}
    text = (
        "class Registering(type):\n"
        "    def __init__(cls, *args):\n"
        "        known.append(cls)\n"
        "class Single(metaclass=Registering):\n"
        "    value = 2.0\n"
    )
    exec(compile(text, np.__file__.replace("__init__", "made_up"), "exec"), space)
    single = space["Single"]()

    def f(a):
        return a * single.value

    assert_same(tnp.jit(f, strict=True)(X), f(X))
    assert space["known"] == [space["Single"]]


def test_an_interpolant_of_a_number():
    interpolate = pytest.importorskip("scipy.interpolate")
    found = interpolate.interp1d(np.arange(5.0), np.arange(5.0) ** 2)

    def f(x):
        return found(x)

    jitted = tnp.jit(f)
    for x in (1.5, 2.5, np.float64(0.5)):
        assert_same(jitted(x), f(x))


@pytest.mark.parametrize("value", [3, 127, 128, -129, 2**70])
def test_kernels_for_any_size_refuse_integers_that_do_not_fit(value):
    jitted = tnp.jit(lambda a, n: a * n)
    for length in (3, 5, 8):
        got, *_ = outcome(jitted, (np.ones(length, np.int8), value))
        assert_same(got, outcome(lambda a, n: a * n, (np.ones(length, np.int8), value))[0])


@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
def test_a_part_of_an_empty_part_is_written_to(dtype):
    def f(a):
        part = np.array_split(a, 2)[0]
        part[0:1:-1] **= 2
        part[1:] **= 2

    check(f, *((np.arange(n).astype(dtype),) for n in (6, 7)))


def test_a_mask_of_another_size_than_that_of_the_array():
    def f(a, b):
        a[1:] = a[:-1]
        a[b < b[1]] = 0.5
        return a

    check(f, *((np.arange(float(n)), np.arange(float(m))) for n, m in ((4, 4), (2, 6), (6, 6), (5, 7), (7, 7))))


def test_numbers_that_an_element_cannot_be():
    def put(a, x):
        np.put(a, 0, x)
        return a

    def caught(a, x):
        try:
            np.fill_diagonal(a[:, :0].astype(np.uint16), x)
        except OverflowError:
            return 3.25
        return a

    for function, x in ((put, 1j), (put, 2.5), (caught, -5), (caught, 5)):
        jitted = tnp.jit(function)
        for _ in range(2):
            got, mine, trouble = outcome(jitted, (np.ones((2, 2)), x))
            expected, left, _ = outcome(function, (np.ones((2, 2)), x))
            assert not trouble
            assert_same(got, expected)
            assert_same(list(mine), list(left))


def test_a_printed_dict_has_keys_that_were_computed(capsys):
    def f(a):
        print({"k": 1, a[0].item(): a, (a[1].item(), 2): a[1]})

    jitted = tnp.jit(f)
    for first in (1, 2):
        jitted(np.array([first, 5]))
        printed = capsys.readouterr().out
        f(np.array([first, 5]))
        assert printed == capsys.readouterr().out
