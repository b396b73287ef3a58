"""NumPy's scalars as in eager: stores that do not fit, kinds of numbers, and arithmetic with warnings of its own."""

import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check
from tests.sampling import one_of, some_of
from tnp.testing import assert_same

X = np.array([1.0, 2.0, 3.0])

# Scalars that are stored into integers


def stores_one(a, x):
    a[0] = 9
    a[1] = x[0]
    a[0] = 8


def stores_many(a, x):
    a[0] = 9
    a[1:] = x.max()
    a[0] = 8


def stores_all(a, x):
    a.fill(x[0])


def stores_argument(a, x):
    a[1] = x


def stores_at(a, x):
    a[np.array([1, 0])] = x[0]


VALUES = (
    300.0,
    1.5,
    -1.0,
    -129.0,
    1e30,
    np.nan,
    np.inf,
    np.float32(300),
    np.float16(7),
    np.int64(300),
    np.uint64(2**63),
)


@pytest.mark.parametrize(("i", "value"), [*enumerate(VALUES)], ids=repr)
@pytest.mark.parametrize(("k", "dtype"), [*enumerate([np.int8, np.int64, np.uint8, np.bool_, np.float32])])
def test_scalars_stored_into_arrays(i, value, k, dtype):
    value = np.float64(value) if type(value) is float else value
    a = np.zeros(3, dtype)
    for f in one_of((stores_one, stores_many, stores_all, stores_at), i + k):
        check(f, a, np.array([value]))
    check(stores_argument, a, value)


def test_a_scalar_that_does_not_fit_is_the_error_that_numpy_raises():
    check(stores_one, np.zeros(3, np.int8), np.array([300.0]), error=OverflowError)
    check(stores_one, np.zeros(3, np.int64), np.array([np.nan]), error=ValueError)


# Numbers


def around(x, z):
    return z + x[0], z - x.sum(), z * x[1], z / x[2], z ** x[0], x[0] - z, x - z, 1j - x[0], x[0] * 2j


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_python_complex_numbers_beside_scalars(dtype):
    check(around, X.astype(dtype), 1 + 2j)


def test_a_python_complex_number_by_zero():
    check(lambda x, z: z / x[0], np.zeros(1), 1j, error=ZeroDivisionError)


def test_float16_is_accumulated_in_float16():
    x = np.random.default_rng(0).uniform(0, 30, 100).astype(np.float16)
    y = x / 60 + np.float16(0.75)
    for executor in EXECUTORS:
        for f in (np.cumsum, np.add.accumulate, np.cumprod, np.nancumsum):
            assert_same(tnp.jit(lambda a, f=f: f(a), executors=[executor])(y), f(y), exact=True)


# NumPy's scalars


def warned(f, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = f(*args)
    return result, [str(w.message) for w in found]


ARITHMETIC = (
    lambda x, y: x[0] + y[0], lambda x, y: x[0] * y[0], lambda x, y: x[0] - 200, lambda x, y: -x[0], lambda x, y: abs(x[0]),
    lambda x, y: x[0] / y[1], lambda x, y: x[0] // y[1], lambda x, y: x[0] % y[1], lambda x, y: divmod(x[0], y[1]),
    lambda x, y: 2 ** x[0], lambda x, y: (x[0] + 1) ** 2, lambda x, y: ~x[0], lambda x, y: x[0] << 1, lambda x, y: (-3) * x[0],
    lambda x, y: x[0] < y[0], lambda x, y: x.sum() == x[0],
)  # fmt: skip


@pytest.mark.parametrize(
    ("f", "dtype"),
    [
        (f, dtype)
        for i, f in enumerate(ARITHMETIC)
        for dtype in some_of((np.uint8, np.int8, np.int64, np.float16, np.float64), i, 2)
    ],
)
def test_scalars_have_arithmetic_and_warnings_of_their_own(f, dtype):
    x, y = np.array([100, 3], dtype), np.array([101, 0], dtype)
    try:
        expected, messages = warned(f, x, y)
    except (TypeError, OverflowError) as error:
        with pytest.raises(type(error)):
            tnp.jit(f, executors=["numpy"])(x, y)
        return
    jitted = tnp.jit(f, executors=["numpy"])
    for _ in range(2):
        got, mine = warned(jitted, x, y)
        assert_same(got, expected, exact=True)
        assert mine == messages


def test_a_list_times_an_integer_scalar_is_repeated():
    check(lambda x: x[0] * [1, 2], np.array([2, 3]))
    check(lambda x: (1, 2) * x[1], np.array([2, 3]))
    check(lambda x: x[0] * [1, 2], X + 0j, error=TypeError)


def test_scalars_have_the_methods_of_their_kind():
    check(lambda x: (hasattr(x[0], "bit_count"), hasattr(x, "bit_count")), np.array([7]))
    check(lambda x: (hasattr(x[0], "is_integer"), hasattr(x[0], "bit_count")), X)
    check(lambda x: round(x[0], 1), X + 0j, error=TypeError)


# Where scalars are converted as arrays are, and where they must fit

CONVERTED = (
    lambda a, x: a.flat.__setitem__(slice(None), x[0]), lambda a, x: np.copyto(a, x[0], casting="unsafe"),
    lambda a, x: np.full(2, x[0], a.dtype), lambda a, x: np.full_like(a, x[0]), lambda a, x: np.append(a, x[0]),
    lambda a, x: np.insert(a, 0, x[0]), lambda a, x: np.put(a, [0], x[0]),
    lambda a, x: np.maximum(x[0], 1.0, out=a[:1].reshape(()), casting="unsafe"),
)  # fmt: skip
FITTED = (
    lambda a, x: np.array([x[0], 1], dtype=a.dtype), lambda a, x: np.asarray((1, x[0]), a.dtype),
    lambda a, x: np.pad(a, 1, constant_values=x[0]),
)  # fmt: skip


def real_part(a, x):
    a.real = x[0]


def flat_element(a, x):
    a.flat[0] = x[0]


def everywhere(a, x):
    a.flat = x[0]


@pytest.mark.parametrize("value", [300.0, -129.0, 2.5, 1e30])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_scalars_on_their_way_into_arrays(value, dtype):
    for f in (*CONVERTED, *FITTED, real_part, flat_element, everywhere):
        check(f, np.zeros(3, dtype), np.array([value]))


def test_results_of_no_dimensions_are_cast_into_out():
    check(lambda a, b, c: np.maximum(a, b, out=c), np.array(5, np.int8), np.array(195, np.uint8), np.array(0, np.int8))

    def adds_to(a, b):
        a += b
        return a

    check(adds_to, np.array(100, np.int8), np.array(100, np.int8))


def test_python_numbers_that_do_not_fit():
    a = np.array([1, 0, 2], np.int8)
    check(lambda a: np.insert(a, 0, 300), a, error=OverflowError)
    check(lambda a: np.insert(a, [0, 1], [300, 1]), a, error=OverflowError)
    check(lambda a: np.insert(a, 0, 2.5), a)
    check(lambda a: np.full_like(a, 3 + 1j), a)
    check(lambda a: np.full(2, 3 + 1j, np.float64), a)


def test_odd_arguments():
    check(lambda a: a.sort(axis=None), X, error=TypeError)
    check(lambda a: np.var(a, dtype=np.float64), np.array([1 + 2j, 3 - 1j, 2j]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
@pytest.mark.parametrize("number", [1j, 1 + 0j, complex("nan")])
def test_complex_numbers_compare_with_scalars(dtype, number):
    """To a Python complex number a scalar of float64 is a float, so that the result is a bool of Python's."""

    def compared(a, k):
        return k == a[0], a[0] == k, k != a[0], k == a

    def decided(a, k):
        with np.errstate(all="raise"):
            return 1 if a.any() and k == a[0] else 2

    a = np.ones(3, dtype)
    for function in (compared, decided):
        expected, found = function(a, number), tnp.jit(function)(a, number)
        assert repr(found) == repr(expected)


# None


def is_none(x):
    return x == None, x != None, None == x, None != x  # noqa: E711


def is_none_by_functions(x):
    return np.equal(x, None), np.not_equal(None, x), np.any(np.equal(x, None)), np.where(x == None, 0, x)  # noqa: E711


def branches_on_none(x):
    total = x.sum()
    if total == None:  # noqa: E711
        return x
    return x / total


@pytest.mark.parametrize("f", [is_none, is_none_by_functions, branches_on_none])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c8"])
@pytest.mark.parametrize("shape", [(2, 3), (0,), ()])
def test_nothing_is_equal_to_none(f, dtype, shape):
    a = np.ones(shape, dtype)
    check(f, a)
    check(f, a[()])
    tnp.jit(f, strict=True)(a)


def test_none_has_no_order():
    check(lambda x: x < None, X, error=TypeError)
