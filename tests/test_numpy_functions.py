"""NumPy's functions called in the ways that NumPy's documentation allows, where an OpInfo cannot say what is meant."""

import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

EXECUTORS = [(), ("numpy_prims",)]


def check(function, *args, executors=(), eagerly=None):
    """``function`` does the same jitted as eager: result or error, and what becomes of the arguments.

    ``eagerly`` is part of the reason for which it runs eagerly; ``None`` if it must not.
    """
    expected_args, actual_args = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
    try:
        expected = function(*expected_args)
    except Exception as error:  # the comparison is of any error
        with pytest.raises(type(error)) as raised, warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            tnp.jit(function, executors=executors)(*actual_args)
        assert str(raised.value) == str(error)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", tnp.EagerFallbackWarning)
        actual = tnp.jit(function, executors=executors)(*actual_args)
    reasons = [str(w.message) for w in caught if issubclass(w.category, tnp.EagerFallbackWarning)]
    assert (not reasons) if eagerly is None else (len(reasons) == 1 and eagerly in reasons[0]), reasons
    assert_same(actual, expected)
    assert_same(actual_args, expected_args, what="arguments")


X = np.arange(6.0).reshape(2, 3)


# Arguments that come after out, by position


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.take(x, [0, 5], 1, None, "clip"),
        lambda x: np.median(x, -1, None, False, True),
        lambda x: np.percentile(x, 50, 0, None, False, "lower", True),
        lambda x: np.nanvar(x, 0, None, None, 1, True),
        lambda x: np.amax(x, 0, None, True),
        lambda x: np.sum(x, 1, None, None, True),
        lambda x: np.choose(np.array([-1, 7]), [x[0, :2], x[1, :2]], None, "wrap"),
        lambda x: x.take([0, 5], 1, None, "clip"),
        lambda x: x.sum(1, None, None, True),
    ],
)
def test_positional_arguments_after_out(function, executors):
    check(function, X, executors=executors)


def test_out_and_what_comes_after_it_by_position():
    def function(x, out):
        return np.take(x, [0, 5], 1, out, "clip"), np.sum(x, 1, None, out[:, :1], True)

    check(function, X, np.zeros((2, 2)))


def test_out_twice():
    check(lambda x, a, b: np.isneginf(x, a, out=b), X, np.zeros((2, 3), bool), np.zeros((2, 3), bool))


# What out may be


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    ("function", "out"),
    [
        (lambda x, out: np.sum(x, out=out), np.zeros(2)),
        (lambda x, out: np.max(x, axis=0, keepdims=True, out=out), np.zeros((2, 3))),
        (lambda x, out: np.concatenate((x, x), axis=None, out=out), np.zeros((2, 12))),
        (lambda x, out: np.argmax(x, axis=0, out=out), np.zeros(3, np.float32)),
        (lambda x, out: np.nancumprod(x, axis=1, out=out), np.zeros((2, 2, 3))),
        (lambda x, out: np.dot(x, x.T, out=out), np.zeros((2, 2), np.float32)),
        (lambda x, out: np.take(x, 1, out=(out,)), np.zeros(())),
        (lambda x, out: np.add.reduce(x, 0, None, (out,)), np.zeros(3)),
        (lambda x, out: np.add(x, 1, out, out), np.zeros((2, 3))),
        (lambda x, out: np.divmod(x, 2, out=out), np.zeros((2, 3))),
        (lambda x, out: np.trace(x, out=[1.0]), np.zeros(())),
        (lambda x, out: np.isneginf(x, out=(out,)), np.zeros((2, 3), bool)),
        (lambda x, out: np.fft.ifft(x, 6, 0, out=out), np.zeros((2, 6, 3), complex)),
    ],
)
def test_out_that_is_refused(function, out, executors):
    check(function, X, out, executors=executors)


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    ("function", "out", "eagerly"),
    [
        (lambda x, out: np.sum(x, axis=0, out=out), np.zeros(3), None),
        (lambda x, out: np.add(x, 1, out=(out,)), np.zeros((2, 3)), None),
        (lambda x, out: np.add(x, 1, out=out), np.zeros((4, 2, 3)), None),
        (lambda x, out: np.add(x, 1, out), np.zeros((2, 3)), None),
        (lambda x, out: np.divmod(x, 2, out), np.zeros((2, 3)), None),
        (lambda x, out: np.divmod(x, 2, out=(None, out)), np.zeros((2, 3)), None),
        (lambda x, out: np.matmul(x, x.T, out=(out,)), np.zeros((2, 2)), None),
        (lambda x, out: np.clip(x, 1, 2, out=out, where=x > 3), np.zeros((2, 3)), None),
        (lambda x, out: x.cumsum(1, None, out), np.zeros((2, 3)), None),
        (lambda x, out: np.add.reduce(x, 0, None, out, True), np.zeros((1, 3)), None),
        (lambda x, out: np.add.reduce(x, 0, out=out), np.zeros(3, np.float32), None),
        (lambda x, out: np.add.outer(x, x, out=(out,)), np.zeros((2, 3, 2, 3)), None),
        (lambda x, out: np.sum(x, axis=0, out=out), np.zeros(3, np.float32), "another shape or dtype"),
        (lambda x, out: np.fft.ifft2(x, out=out), np.zeros((2, 3), complex), "Fourier transform into out="),
    ],
)
def test_out_that_is_taken(function, out, eagerly, executors):
    check(function, X, out, executors=executors, eagerly=eagerly)


# Wrong options


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.exp(x, order="X"),
        lambda x: np.frexp(x, order="X"),
        lambda x: np.matmul(x, x.T, order="X"),
        lambda x: np.copy(x, order="X"),
        lambda x: np.asarray(x, order="X"),
        lambda x: np.zeros((2, 3), order="K"),
        lambda x: np.ones(2, order="X"),
        lambda x: np.full_like(x, 1, device="gpu"),
        lambda x: np.asarray([], device="gpu"),
        lambda x: np.arange(3, device="gpu"),
        lambda x: np.fft.rfftfreq(8, device="gpu"),
        lambda x: np.fft.fftfreq(-1),
        lambda x: np.array([[1.0, 2.0]], ndmax=1),
        lambda x: np.exp(x, where=np.array([1, 0, 1])),
        lambda x: np.exp(x, where=np.array([1, 0, 1]), out=np.zeros_like(x)),
        lambda x: np.sum(x, keepdims=None),
        lambda x: np.max(x, keepdims=np.True_),
        lambda x: np.add(x, 1, casting="equiv"),
        lambda x: np.remainder(2, x, dtype="i1", casting="equiv"),
        lambda x: np.add(x, x, dtype=">f8"),
        lambda x: np.var(x, ddof=1, correction=1),
    ],
)
def test_wrong_options(function, executors):
    check(function, X, executors=executors)


def test_a_python_number_in_its_own_dtype_is_cast_under_equiv():
    check(lambda x: np.add(x, 1, casting="equiv"), np.arange(3))
    check(lambda x: np.ldexp(x, 2, casting="no"), X)


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.zeros((2, 3), dtype=">f8"),
        lambda x: x.astype(">f8"),
        lambda x: np.arange(3, dtype=">f8"),
    ],
)
def test_foreign_byte_order_runs_eagerly(function, executors):
    check(function, X, executors=executors, eagerly="which tnp does not compile")


def test_object_dtype_runs_eagerly():
    with pytest.warns(tnp.EagerFallbackWarning, match="asks for dtype object"):
        result = tnp.jit(lambda x: np.add(x, x, dtype=object))(X)
    assert result.dtype == object
    with pytest.warns(tnp.EagerFallbackWarning, match="asks for dtype object"):
        assert tnp.jit(lambda x: np.sum(x, dtype=object))(X) == 15.0


# Results


def test_results_that_are_constants_of_the_trace():
    check(lambda: (np.absolute(-1.5), np.float64("nan"), np.float32(0.1), np.complex64(1 + 2j), np.bool(True)))
    check(lambda x: np.median([1.0, 2.0]), X)


@pytest.mark.parametrize("executors", EXECUTORS)
def test_meshgrid_without_copies_is_a_list_if_sparse(executors):
    def function(x, y):
        return [np.meshgrid(x, y, copy=c, sparse=s) for c in (True, False) for s in (True, False)]

    check(function, np.arange(3.0), np.arange(2.0), executors=executors)


@pytest.mark.parametrize("executors", EXECUTORS)
@pytest.mark.parametrize("number", [2, 1.5, 1 + 2j, True])
def test_parts_of_python_numbers_are_python_numbers(number, executors):
    def function(number, x):
        return np.real(number), np.imag(number), np.real(number) * x

    check(function, number, np.ones(2, np.float32), executors=executors)


def test_scalars_of_functions_that_return_arrays():
    check(lambda x: np.real_if_close(x), np.float32(1.5))
    for executors in EXECUTORS:
        check(lambda x: np.unique(x, return_inverse=True), np.float64(2), executors=executors)
        check(lambda x: np.unique_inverse(x), np.float64(2), executors=executors)


def test_two_to_the_64_minus_1_in_torch():
    pytest.importorskip("torch")
    check(lambda x: x + 1, np.array([2**64 - 1]), executors=("torch",))


def test_a_broadcast_constant_is_memory_of_its_own():
    result = tnp.jit(lambda x: np.tile(x, 3), executors=("numpy_prims",))(1.5)
    result[0] = 7
    assert result.tolist() == [7, 1.5, 1.5]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: np.rec.array([(1, 2.0)])["f1"] + x[0, 0], "it makes a recarray"),
        (lambda x: np.less(x, x, dtype=object).shape, "dtype object"),
    ],
)
def test_arrays_of_other_kinds_made_inside_run_eagerly(function, reason):
    with pytest.warns(tnp.EagerFallbackWarning, match=reason):
        actual = tnp.jit(function)(X)
    np.testing.assert_array_equal(actual, function(X))
    assert type(actual) is type(function(X))


def test_answers_about_dtypes():
    check(lambda x, y: (np.can_cast(x, "f4"), np.can_cast(x.dtype, y.dtype), np.common_type(x, y, 1j)), X, X[0])
    check(lambda x: np.can_cast(x, x), X)
    check(lambda x: np.common_type(x, 3), X)
    check(lambda x: np.common_type(x, [3]), X)
    check(lambda x, y: np.common_type(x, y), X, np.float32(1))


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


def test_a_second_dtype_of_the_same_elements_runs_eagerly():
    with pytest.warns(tnp.EagerFallbackWarning, match="asks for dtype int64"):
        assert tnp.jit(lambda x: np.sum(x, dtype=np.longlong))(np.ones(3)).dtype.char == "q"


# Functions that are handed to NumPy's functions


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.testing.assert_raises(IndexError, lambda a: a[np.array([9])], x),
        lambda x: np.testing.assert_raises(IndexError, x.__getitem__, np.array([9])),
        lambda x: np.apply_over_axes(lambda a, axis: a[:1] + x[0], x, [0]),
    ],
)
def test_functions_that_compute_with_traced_values_are_not_called_later(function):
    check(function, np.ones(3), eagerly="a function that computes with traced values")


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


@pytest.mark.parametrize("other", [None, "a", b"a", {}, ..., np.ndarray, Plain()], ids=repr)
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

    check(caught, X, eagerly="catches errors")
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


@pytest.mark.parametrize("items", [["b", "a"], [None, 1], {}])
def test_arrays_of_other_things_run_eagerly(items):
    with pytest.warns(tnp.EagerFallbackWarning, match="it makes an array of a"):
        assert tnp.jit(lambda: np.asarray(items).shape)() == np.asarray(items).shape
