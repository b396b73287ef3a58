"""NumPy's functions, methods and operators where its own tests, and calls with odd arguments, found that tnp did otherwise: each case is
the eager call against the jitted one."""

import functools
import warnings
from collections import namedtuple

import numpy as np
import pytest

import tnp
from tests.lang.numpy.test_functions import EXECUTORS, X, check
from tnp.testing import assert_same

# Casts


def test_interp_at_complex_numbers():
    function = lambda z: np.interp(z, [0.0, 2.0], [1.0, 5.0])  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        check(function, np.complex128(1 + 1j), eagerly="complex values to real ones")
    with pytest.raises(TypeError, match="Cannot cast"):
        tnp.jit(function)(np.array([1 + 1j]))


# None is a number to dtypes that have one for it


@pytest.mark.parametrize("dtype", [float, np.float32, complex, bool])
def test_arrays_of_none(dtype):
    def function(x, y=None):
        return np.asarray(y, dtype=dtype), np.array([[x, None]], dtype=dtype), np.array((None, 1), dtype)

    check(function, 1.0)


def test_no_integer_is_none():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        with pytest.raises(TypeError, match="NoneType"):
            tnp.jit(lambda x: np.array([x, None], dtype=int))(1)


# Ranges are progressions, however long


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    "function",
    [
        lambda n: np.array(range(n)),
        lambda n: np.array(range(n, 0, -2)) * 2.5,
        lambda n: np.array([range(n), range(1, n + 1)], dtype=np.float32),
        lambda n: np.meshgrid(range(n), range(3)),
        lambda n: np.sum(range(n)),
        lambda n: np.ones(2000)[range(5, n)],
        lambda n: np.array(range(n), dtype=np.uint8),
        lambda n: np.ix_(range(n), range(0))[1].dtype,
        lambda n: [np.array(range(0)).dtype, np.array([range(0)]).shape],
    ],
)
def test_ranges(function, executors):
    check(function, 200, executors=executors)
    check(function, 300, executors=executors)  # too large for uint8


def test_a_range_is_one_operation():
    f = tnp.jit(lambda n: np.array(range(n)) + np.meshgrid(range(n), range(n))[0])
    f(1000)
    assert len(tnp.last_traces(f)[0].body) < 20


def test_many_numbers_in_a_list():
    """Which are not operations of one native region: those are compared with each other."""
    numbers = [float(i) for i in range(300)]
    check(lambda x: np.array([*numbers, x]) * 2, 1.5)


def test_many_known_numbers_are_one_constant():
    f = tnp.jit(lambda x: np.array([0, 1, 1.5] * 100) * x)
    f(2.0)
    assert len(tnp.last_traces(f)[0].body) < 10

    def written(x):
        a = np.array([1.0] * 20)
        a[0] = x
        return a

    check(written, 3.0)
    check(written, 4.0)
    check(lambda x: np.array([300] * 20, dtype=np.uint8) * x, 2.0)


# Python's integers compared, of any size


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("ufunc", [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal])
def test_python_integers_compared(ufunc, executors):
    for n in (2, 3, 2**70):
        check(lambda n: (ufunc(n, 3), ufunc(3, n), ufunc(n, True), ufunc(n, 2.5)), n, executors=executors)
    check(lambda x, n: ufunc(len(x[x > 0]), n), np.arange(4.0), 3, executors=executors)


# What NumPy refuses


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.zeros(True),
        lambda x: np.ones((2, True)),
        lambda x: np.eye(True),
        lambda x: x.reshape(True),
        lambda x: np.reshape(x, (1, True)),
        lambda x: np.broadcast_to(x, True),
        lambda x: np.einsum("i->i", x, order="W"),
        lambda x: x[(True,) * 64],
        lambda x: x[(None,) * 64],
        lambda x: x[(True,) * 63].ndim,
        lambda x: x[(None,) * 63].ndim,
        lambda x: [np.tri(True), np.arange(True), np.linspace(0, 1, True)],
    ],
)
def test_bools_as_lengths_orders_and_many_indices(function):
    check(function, np.ones(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.arange(-8, 8, dtype=np.uint8) * x,
        lambda x: x + np.arange(-2.0, 5.0, dtype=np.uint8),
        lambda x: x + np.arange(500, 1000, 300, dtype=np.int8),
        lambda x: np.arange(-len(x), len(x), dtype=np.uint16).sum(),
    ],
)
def test_ranges_of_numbers_that_the_dtype_does_not_hold(function):
    with pytest.raises(OverflowError):
        function(np.ones(1))
    check(function, np.ones(1))


def test_ranges_that_wrap_around():
    check(lambda x: (x + np.arange(250, 260, dtype=np.uint8), x + np.arange(255, 256, dtype=np.uint8)), np.ones(1))


def test_a_second_dtype_of_the_same_elements_runs_eagerly():
    with pytest.warns(tnp.EagerFallbackWarning, match="asks for dtype int64"):
        assert tnp.jit(lambda x: np.sum(x, dtype=np.longlong))(np.ones(3)).dtype.char == "q"


# Functions that are handed to NumPy's functions


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: np.testing.assert_raises(IndexError, lambda a: a[np.array([9])], x), "it calls assert_raises"),
        (lambda x: np.testing.assert_raises(IndexError, x.__getitem__, np.array([9])), "it calls assert_raises"),
    ],
)
def test_functions_that_compute_with_traced_values_are_not_called_later(function, reason):
    check(function, np.ones(3), eagerly=reason)


def test_functions_of_numpys_source_are_given_what_computes_with_traced_values():
    check(lambda x: np.apply_over_axes(lambda a, axis: a[:1] + x[0], x, [0]), np.ones(3))


# Operators with what is no array


class Deferred:
    """A class to which NumPy leaves operators."""

    __array_ufunc__ = None

    def __add__(self, other):
        return "left"

    __radd__ = __eq__ = lambda self, other: "right"


class Plain:
    """A class that NumPy takes for an object, with which it computes element by element."""

    def __radd__(self, other):
        return 2 * other


@pytest.mark.parametrize("other", ["a", b"a", {}, ..., np.ndarray, Plain()], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("x", [np.arange(3.0), np.float64(2)], ids=["array", "scalar"])
def test_operators_with_objects_are_left_to_numpy(x, other):
    for function in (lambda x: x == other, lambda x: other != x):
        check(function, x, eagerly="an operator takes an array and a")
    if type(other) is Plain and isinstance(x, np.ndarray):
        with pytest.warns(tnp.EagerFallbackWarning, match="an operator takes an array and a Plain"):
            np.testing.assert_array_equal(tnp.jit(lambda x: x + other)(x), [0, 2, 4])


def test_operators_that_numpy_leaves_to_a_class():
    other = Deferred()
    check(lambda x: (x + other, other + x, x == other), np.arange(3.0))


def test_a_range_is_an_operand():
    check(lambda x: (x + range(3), range(1, 4) * x), np.arange(3.0))


# Closeness, with Python's numbers in the others' dtype


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("tolerances", [{}, {"rtol": 0, "atol": 0}, {"rtol": np.float64(0.1), "atol": [1, 0.0]}])
def test_isclose_of_python_numbers(tolerances, executors):
    below_one = float(1 - np.finfo(float).eps)
    for a in (below_one, 1, True, np.ones((), np.float32), np.float32(1), [1.0, 2], 1j):
        for b in (below_one, 0, np.ones((), np.float32), np.float64(1), np.ones(2, np.float16), 1 + 2j):
            check(lambda a, b: np.isclose(a, b, **tolerances), a, b, executors=executors)


# Flat iterators take other keys than arrays


@pytest.mark.parametrize(
    "key",
    [
        None,
        True,
        1.5,
        [True] * 6,
        np.array(True),
        np.array([1.0]),
        ...,
        (),
        (1, 1),
        (1,),
        9,
        -1,
        [2, 0],
        [1.0, 2.9],
        [np.float64(0)],
        [1 + 0j],
        [None],
        [[0, 1]],
        [np.uint8(1), -1],
        np.array([[0, 1]]),
    ],
)
def test_keys_of_flat(key):
    def same(f, *args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes = []
            for g in (f, tnp.jit(f)):
                x = X.copy()
                try:
                    outcomes.append((repr(g(x)), x.tolist()))
                except Exception as error:
                    outcomes.append((type(error), x.tolist()))
        assert outcomes[0] == outcomes[1]

    def store(x):
        x.flat[key] = 7

    def store_two(x):
        x.flat[key] = [7, 8]

    same(lambda x: x.flat[key])
    same(store)
    same(store_two)


def test_attributes_of_flat():
    check(lambda x: x.flat.index, X, eagerly="flat.index")
    check(lambda x: x.flat.foo, X)

    def delete(x):
        del x.flat[0]

    check(delete, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, o: (np.modf(x[0], o), o),
        lambda x, o: (np.frexp(2.5, o), o),
        lambda x, o: (np.divmod(7.5, x + 1, out=(None, o)), o),
        lambda x, o: np.modf(x, o[0]),
        lambda x, o: np.modf(x[0], o, o[0]),
        lambda x, o: np.einsum(2, x[0, 0]),
    ],
)
def test_some_of_several_results_in_arrays_of_the_caller(function):
    check(function, X, np.zeros((2, 3)))


@pytest.mark.parametrize("x", [X, np.array(3.0), np.float32(1.5), np.zeros((0, 3))], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.item(None),
        lambda x: x.item([0, 1]),
        lambda x: x.item(True),
        lambda x: x.item((0, 1)),
        lambda x: x.item(0),
        lambda x: x.take(0, 1),
        lambda x: np.compress([True], x, 1),
        lambda x: x.view(None).dtype,
        lambda x: np.sin(3, casting="no") + x,
        lambda x: np.fft.fftshift(x),
        lambda x: np.unwrap(x, x),
    ],
)
def test_arguments_that_methods_refuse(function, x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        outcomes = []
        for f in (function, tnp.jit(function)):
            try:
                outcomes.append(repr(f(x)))
            except Exception as error:
                outcomes.append(repr(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("value", [[1, 2, 3], [1], np.array(7), np.arange(2)], ids=str)
def test_what_an_array_is_filled_with(value):
    def fill(x):
        x.fill(value)

    check(fill, X)


@pytest.mark.parametrize("k", [2**63, -(2**63), 2**70, 5, -5, 1])
def test_diagonals_far_outside(k):
    check(lambda k: np.eye(2, 3, k), k)
    check(lambda k: np.tri(3, 2, k), k)
    check(lambda k: np.triu(np.ones((2, 3)), k), k)


@pytest.mark.parametrize("value", [-0.0, complex(-0.0, -0.0)])
def test_cumulative_sums_of_negative_zeros(value):
    for count in (1, 20, 70_000):
        check(lambda x: (np.signbit(np.cumsum(x).real), np.signbit(np.cumsum(x).imag)), np.full(count, value))


# Floating-point errors that raise


def test_errors_that_errstate_raises():
    def caught(x):
        with np.errstate(divide="raise"):
            try:
                return x / 0
            except FloatingPointError:
                return 3

    def unread(x):
        x[0, 1] = 5
        with np.errstate(divide="raise"):
            x / 0
        x[1, 1] = 6

    def twice(x):
        state = np.errstate(divide="ignore")
        with state:
            x = x / 0
        with state:
            return x + 1

    check(caught, X)
    check(unread, X)
    check(twice, X, eagerly="twice")
    x = X.copy()
    with pytest.raises(FloatingPointError):
        tnp.jit(unread)(x)
    assert x[0, 1] == 5 and x[1, 1] == X[1, 1]


# Arrays that are too large


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.expand_dims(x, tuple(range(64))),
        lambda x: np.array(1, ndmin=65),
        lambda x: np.stack([x.reshape((1,) * 62 + (2, 3))]),
        lambda x: np.ones((2**32, 2**32, 0)),
        lambda x: np.concatenate([x[0], x[1]], out=x[0], dtype=float),
        lambda x: np.add(x, x, out=()),
        lambda x: np.eye(3, like=3),
    ],
)
def test_other_errors(function):
    check(function, X)


def test_too_little_memory_is_caught():
    def f(x):
        try:
            return np.zeros(2**56)[0]
        except MemoryError:
            return -1

    check(f, X, eagerly="needs much memory")


# Arguments by other ways


def test_sort_kinds_by_their_first_letter():
    for kind in ("quick", "Q", "heap", "mergesort", "stab", None):
        check(lambda x: (np.sort(x, kind=kind), np.argsort(x, kind=kind)), X)
    check(lambda x: np.sort(x, kind="x"), X)


def test_choices_one_by_one():
    check(lambda c, x: (c.choose(x[0], x[1]), c.choose([x[0], x[1]], mode="wrap")), np.array([0, 1, 1]), X)


@pytest.mark.parametrize("items", [["b", "a"], [None, 1]])
def test_shapes_of_arrays_of_other_things(items):
    check(lambda: np.asarray(items).shape)


def test_arrays_of_other_things_run_eagerly():
    with pytest.warns(tnp.EagerFallbackWarning, match="it makes an array of a"):
        assert tnp.jit(lambda: np.asarray({}).shape)() == ()


# Views that come back as they are


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: np.interp(a + b * 2, *np.broadcast_arrays(a, b * 2)),
        lambda a, b: [(np.roots(x), a + x) for x in np.broadcast_arrays(a, b * 2)],
    ],
)
def test_one_of_broadcast_arrays_is_the_array_itself(function):
    check(function, np.ones(1), np.arange(1.0, 4))


# Decorators


def scaled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        kwargs.setdefault("scale", 10.0)
        return f(*args, **kwargs) + len(args) + len(kwargs)

    return wrapper


def given_three(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, 3.0, **kwargs)

    return wrapper


def test_decorated_functions_are_called_as_they_are_written():
    @scaled
    def f(x, y=1.0, scale=1.0):
        return x * y * scale

    @given_three
    def g(x, y):
        return x * y

    jitted = tnp.jit(f)
    x = np.ones(2)
    for args, kwargs in (((x,), {}), ((x, 2.0), {}), ((x,), {"y": 2.0}), ((), {"x": x, "scale": 3.0})):
        np.testing.assert_array_equal(jitted(*args, **kwargs), f(*args, **kwargs))
    np.testing.assert_array_equal(tnp.jit(g)(x), g(x))
    with pytest.raises(TypeError):
        tnp.jit(g)(x, x)


def test_a_complex_constant_is_added_at_indices():
    def function(x):
        x = x.copy()
        np.add.at(x, [1, 1], 1 + 2j)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        for dtype in ("float32", "float64", "complex128"):
            check(function, np.ones(3, dtype))


@pytest.mark.parametrize("index", [np.array([True, False]), np.array(True), np.bool_(True), np.array([2], np.uint8)])
def test_flat_indices_may_be_bools(index):
    check(lambda x: np.unravel_index(x, (3, 2)), index)
    check(lambda x: np.ravel_multi_index((x, x), (3, 3)), index)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_shifts_of_floats():
    for shift in (np.ones(3), np.array([1.0, 2.0]), np.array([1, 2]), np.float64(2)):
        expected = np.roll(X, shift)
        assert np.array_equal(tnp.jit(lambda x, s: np.roll(x, s))(X, shift), expected)


Two = namedtuple("Two", "a b")


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x[n],
        lambda x, n: np.zeros(n) + x.sum(),
        lambda x, n: np.concatenate(Two(x, x * n.a)),
        lambda x, n: x.sum(axis=Two(0, 1)) + n.a,
        lambda x, n: np.maximum(Two(1.0, n.b), x[:, :2] * n.a),
        lambda x, n: np.add(n, n) * x[0, 0],
        lambda x, n: np.asarray(n, dtype=np.float32) * x[0, 0],
        lambda x, n: Two(x.sum(), np.array([n, n]) * x[0, 0]),
    ],
)
def test_named_tuples_are_sequences(function):
    jitted = tnp.jit(function)
    x = np.arange(12.0).reshape(3, 4)
    for n in (Two(1, 2), Two(2, 2), Two(1, 3)):
        assert_same(jitted(x, n), function(x, n))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_products_that_overflow_on_the_way(dtype):
    def f(x):
        return np.prod(x * 1), (x * 0.5).prod(axis=-1), np.prod(x[..., :3] + x[..., :3], axis=0)

    for shape in ((5,), (9,), (400,), (3, 300), (5000,)):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        with np.errstate(all="ignore"):
            for dynamic in (None, True):
                assert_same(tnp.jit(f, dynamic=dynamic)(x), f(x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_rows_have_numpys_bits(dtype):
    def f(x):
        return np.prod(x * 1), np.nanprod(x, axis=-1), np.prod(x.reshape(-1, 10), axis=1), x.prod(keepdims=True)

    jitted = tnp.jit(f, strict=True)
    for n in (40, 60, 9000, 10):
        x = np.random.default_rng(n).normal(1, 0.1, n).astype(dtype)
        for a, e in zip(jitted(x), f(x)):
            np.testing.assert_array_equal(a, e)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.histogram_bin_edges, (X, np.array([0.0, 2.0, 1.0]))),
        (np.histogram_bin_edges, (X, np.array([0.0, 1.0, 2.0]))),
        (np.linalg.tensorsolve, (np.float64(3), np.float64(2))),
        (np.linalg.tensorsolve, (np.array(3.0), np.array(2.0))),
        (np.linalg.tensorinv, (np.float64(3),)),
        (np.polyder, (np.ones((0, 3)), 0)),
        (np.polyder, (np.ones((2, 3)), 0)),
        (np.roots, (np.float32(3),)),
        (np.roots, (np.array(3.0),)),
        (np.poly, (np.float64(3),)),
        (np.poly, (np.array(3.0),)),
    ],
)
def test_functions_of_no_dimensions_or_of_what_they_refuse(function, args):
    def outcome(f):
        try:
            return f(*args)
        except Exception as error:
            return type(error), str(error)

    found, expected = outcome(tnp.jit(lambda *args: function(*args))), outcome(function)
    assert type(found) is type(expected)
    assert_same(found, expected)
