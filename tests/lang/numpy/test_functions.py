"""NumPy's functions called in the ways that NumPy's documentation allows, where an OpInfo cannot say what is meant."""

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

EXECUTORS = [(), ("numpy[prims]",)]


def check(function, *args, executors=(), eagerly=None):
    """``function`` does the same jitted as eager: result or error, and what becomes of the arguments.

    ``eagerly`` is part of the reason for which it runs eagerly, or in parts; ``None`` if it must not.
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
    with nullcontext() if eagerly is None else not_compiled_whole(re.escape(eagerly)):
        actual = tnp.jit(function, executors=executors)(*actual_args)
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
        (lambda x, out: np.add.reduce(x, 0, out=out), np.zeros(3, np.float32), "another dtype than it computes in"),
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


def test_what_broadcast_arrays_repeats_of_a_number_is_not_copied():
    """The caller may write to it, which changes all that it repeats."""
    check(lambda x: np.broadcast_arrays(x, 4), np.arange(3.0), eagerly="it returns what np.broadcast_arrays repeats")


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
    check(lambda x: x + 1, np.array([2**64 - 1], np.uint64), executors=("torch",))


def test_a_broadcast_constant_is_memory_of_its_own():
    result = tnp.jit(lambda x: np.tile(x, 3), executors=("numpy[prims]",))(1.5)
    result[0] = 7
    assert result.tolist() == [7, 1.5, 1.5]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: np.rec.array([(1, 2.0)])["f1"] + x[0, 0], "a recarray"),
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
