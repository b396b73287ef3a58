"""Warnings that NumPy's functions give because of what is in the data: as often as eager gives them, from the user's line, at each call."""

import inspect
import warnings

import numpy as np
import pytest

import tnp

NAN = np.array([[np.nan, np.nan, np.nan], [1.0, np.nan, 3.0], [2.0, 2.0, 2.0]])


def said(f, *args):
    """The result of a call, or its error, and the messages of its warnings but those of floating-point errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(f(*args))
        except Exception as error:
            result = repr(error)
    return result, [str(w.message) for w in caught if "encountered in" not in str(w.message)]


def check(f, *args):
    expected = said(f, *args)
    for executors in ((), ("numpy",), ("numpy[prims]",)):
        jitted = tnp.jit(f, executors=executors or None)
        for _ in range(2):
            assert said(jitted, *args) == expected, executors
    return expected[1]


@pytest.mark.parametrize("name", ["nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanmedian"])
def test_lines_of_nothing_but_nan(name):
    function = getattr(np, name)
    assert len(check(lambda x: function(x, axis=1), NAN)) == 1
    assert len(check(lambda x: function(x, axis=1, keepdims=True), NAN[:1])) == 1
    assert len(check(lambda x: function(x), NAN[0])) == 1
    assert not check(lambda x: function(x, axis=0), NAN)
    assert not check(lambda x: function(x), np.array([1, 2]))
    check(lambda x: function(x), NAN[0, 0])
    check(lambda x: function(x, axis=1), NAN[:, :0])


@pytest.mark.parametrize("function", [lambda x, q: np.nanquantile(x, q, axis=1), lambda x, q: np.nanmedian(x, axis=1)])
def test_one_line_warns_after_the_other(function):
    assert len(check(function, np.concatenate([NAN, NAN]), 0.5)) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.mean(x, axis=1, where=x > 1),
        lambda x: x.var(axis=1, where=x > 1),
        lambda x: np.nanmean(x, axis=0, where=x > 2),
        lambda x: np.nanvar(x, axis=1, ddof=2),
        lambda x: np.mean(x[:0]),
        lambda x: x[:1].std(axis=0, ddof=1),
        lambda x: np.median(x[:0], axis=0),
        lambda x: np.average(x[:0], axis=0),
        lambda x: np.cov(x[2:, :1]),
        lambda x: np.nanmin(x, axis=1, initial=np.nan),
    ],
)
def test_too_few_elements(function):
    assert check(function, NAN)


def test_lengths_that_are_known_at_run_time():
    for function in (np.mean, np.std, np.average, np.nanmean, np.nanmax, np.median):
        check(lambda x: function(x[x > 1.5]), NAN)
    assert check(lambda x: np.nanmean(x[x > 9]), NAN)


def test_nothing_is_said_of_enough_elements():
    assert not check(lambda x: (np.mean(x, where=x > 1), np.var(x, ddof=1), np.nanmean(x), np.cov(x)), NAN)


def test_the_line_is_the_users():
    def f(x):
        return np.nanmin(x) + 1

    jitted = tnp.jit(f)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="All-NaN slice") as caught:
            jitted(NAN[0])
        assert (caught[0].filename, caught[0].lineno) == (__file__, inspect.getsourcelines(f)[1] + 1)


def test_as_errors_they_stop_the_program():
    def f(x, y):
        y[0] = 7
        z = np.nanmean(x)
        y[1] = z

    y = np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
            tnp.jit(f)(NAN[0], y)
    assert y.tolist() == [7, 0]


def test_in_a_loop():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += np.nan_to_num(np.nanmean(x[i]))
        return total

    assert len(check(f, np.tile(NAN, (8, 1)))) == 8


def test_gradients_and_batches():
    x = np.array([[1.0, np.nan], [3.0, 4.0]])
    for executors in (None, ("numpy",)):
        jitted = tnp.jit(tnp.grad(lambda x: np.nanmax(x, axis=1).sum()), executors=executors)
        np.testing.assert_array_equal(jitted(x), [[1, 0], [0, 1]])
        with pytest.warns(RuntimeWarning, match="All-NaN") as caught:
            result = tnp.jit(tnp.vmap(lambda x: np.nanmin(x)), executors=executors)(NAN)
        assert len(caught) == 1
        np.testing.assert_array_equal(result, [np.nan, 1, 2])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1j).astype(float),
        lambda x: np.array(x + 1j, dtype=np.float32),
        lambda x: np.isclose(x, x, rtol=np.inf),
        lambda x: np.maximum(x, 1, x * 0),
        lambda x: np.row_stack((x, x)),
        lambda x: np.cross(x[0, :2], x[1, :2]),
        lambda x: np.add(x, x, where=x > 1).shape,
    ],
)
def test_what_else_numpy_warns_of(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)

        def messages(f):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    f(np.arange(6.0).reshape(2, 3))
                except (AttributeError, ValueError) as error:  # versions of NumPy have removed some
                    return [type(error)]
            return [str(w.message) for w in caught if w.category is not tnp.EagerFallbackWarning]

        jitted = tnp.jit(function)
        assert messages(jitted) == messages(jitted) == messages(function)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, mask: x[mask].mean(),
        lambda x, mask: x[mask].std(ddof=1),
        lambda x, mask: x.compress(mask).var(),
        lambda x, mask: np.average(x[mask]),
        lambda x, mask: np.nanmean(x[mask]),
        lambda x, mask: x[None][:, mask].mean(0),
        lambda x, mask: x[None][:, mask].mean(1),
        lambda x, mask: np.var(x, ddof=int(mask.sum())),
    ],
)
def test_sizes_that_only_the_program_knows(f):
    for dtype in ("float64", "uint16"):
        for mask in ([True, True], [False, True], [False, False]):
            check(f, np.ones(2, dtype), np.array(mask))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.cumprod(x, dtype="uint16"),
        lambda x: x.sum(dtype="f4"),
        lambda x: np.trace(x[None], dtype="f8"),
        lambda x: int(np.complex64(1)),
        lambda x: x.real.sum() if x.any() else int(np.complex64(1)),
        lambda x: complex(0, x[:0].real.mean()),
    ],
)
def test_each_call_warns(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        expected = said(f, np.array([1 + 1j, 2]))
    jitted = tnp.jit(f)
    for _ in range(3):
        result, messages = said(jitted, np.array([1 + 1j, 2]))
        assert (result, [m for m in messages if "runs eagerly" not in m]) == expected


def test_writing_to_what_was_broadcast():
    """NumPy warns of it, where the array repeats no element, too."""

    def f(a, b):
        c = np.broadcast_arrays(a, b)[1]
        c *= 2
        return c

    for make in (lambda: 3, lambda: np.arange(2)):
        expected = said(f, np.ones((1, 2)), make())
        jitted = tnp.jit(f)
        for _ in range(2):
            result, messages = said(jitted, np.ones((1, 2)), make())
            assert (result, [m for m in messages if "runs eagerly" not in m and "runs in parts" not in m]) == expected
