"""What NumPy's own tests found, each test function jitted whole (``tools/conformance``): the smallest programs, jitted and eager."""

import collections.abc
import copy
import functools
import sys
import warnings

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

RNG = np.random.default_rng(0)
DRAW = RNG.integers
X = np.arange(4.0)


def outcome(f, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:
            return type(error), str(error)


def check(f, *calls):
    """``f`` jitted and eager, with the arguments of each call, one after the other and again."""
    jitted = tnp.jit(f)
    for args in (*calls, *calls):
        assert_same(outcome(jitted, copy.deepcopy(args)), outcome(f, copy.deepcopy(args)))


# Methods of C's, bound to objects that the program has stand-ins for


@pytest.mark.parametrize(
    "function",
    [
        lambda: list(map(DRAW, [3, 4])),
        lambda: max([3, 4], key=DRAW),
        lambda: np.fromfunction(DRAW, (3,)),
        lambda: functools.reduce(lambda a, b: a + DRAW(b), [3, 4, 5], 0),
        lambda: (DRAW(5), DRAW(7, size=3), DRAW.__name__),
        lambda: list(map(np.random.Generator.random, [RNG, RNG])),
    ],
)
def test_methods_of_generators_that_c_code_calls(function):
    start = RNG.bit_generator.state
    jitted = tnp.jit(function)
    for _ in range(2):
        results = []
        for f in (function, jitted):
            RNG.bit_generator.state = start
            results.append(outcome(f, ()))
        assert_same(results[1], results[0])


def test_attributes_that_generators_lack():
    def f(g):
        return hasattr(g, "rand"), hasattr(g, "random"), getattr(g, "random_sample", None) is None

    check(f, (np.random.default_rng(0),), (np.random.RandomState(0),))


# Dtypes that are equal, and yet others


def test_second_dtypes_of_the_same_elements():
    def f(x):
        return x + 1

    jitted = tnp.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for char in "lqlLQL":
            x = np.arange(3).astype(char)
            assert jitted(x).dtype.char == f(x).dtype.char
            assert type(jitted(x[0])) is type(f(x[0]))


def test_metadata_of_dtypes():
    jitted = tnp.jit(lambda x: x.dtype.metadata)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for metadata in (None, {"unit": "m"}, None):
            x = X.astype(np.dtype("f8", metadata=metadata)) if metadata else X
            assert jitted(x) == x.dtype.metadata


# Classes that ask for methods


def test_instances_of_abstract_classes():
    kinds = tuple(
        getattr(collections.abc, n) for n in ("Hashable", "Iterable", "Sized", "Callable", "Iterator", "Sequence")
    )

    def f(x, n):
        return [[isinstance(v, k) for k in kinds] for v in (x, x[0], x.flat, n)], type(x.flat).__name__

    check(f, (X, 3))


# Functions without source


def test_functions_without_source_that_handle_errors():
    made = {"np": np}
    exec(
        "def f(x, i):\n    try:\n        return x[i]\n    except IndexError:\n        return 0\n"
        "def g(x, i):\n    with np.errstate(divide='raise'):\n        return x / 0\n",
        made,
    )
    check(made["f"], (X, np.array([1, 7])), (X, np.array([1, 2])))
    check(made["g"], (X + 1, 0))


def test_a_function_that_says_to_stand_where_another_does():
    def stands_for(x):
        assert x is not None
        return missing_name(x)  # noqa: F821

    made = {}
    exec("def stands_for(x):\n    return x + 1\n", made)
    f = made["stands_for"]
    there = stands_for.__code__
    f.__code__ = f.__code__.replace(co_filename=there.co_filename, co_firstlineno=there.co_firstlineno)
    check(f, (X,))


# Floating-point errors of what is known while tracing


def test_errors_of_known_scalars():
    def f(a):
        with np.errstate(all="raise"):
            try:
                np.finfo(float).max * np.float64(2)
            except FloatingPointError:
                return a + 1
        return a

    check(f, (X,))


# Results of which only a dry run is known


def test_errors_that_follow_from_a_dry_run():
    def f(x):
        if np.linalg.eigvals(x).dtype != complex:
            raise ValueError("real")
        return 1

    check(f, (np.array([[1, 0.5], [-1, 1]]),), (np.array([[1, 0.5], [0.5, 1]]),))


# Errors that the program has caught


@pytest.mark.parametrize("name", ["concatenate", "asarray"])
def test_words_of_errors_that_the_program_caught(name):
    def f(x):
        try:
            getattr(np, name)()
        except TypeError as error:
            words = error.args[0]
        assert words.startswith(f"{name}()"), "the words are eager's"
        return x

    check(f, (X,))


def test_warnings_of_undefined_elements_are_the_programs():
    jitted = tnp.jit(lambda x, m: np.sqrt(x, where=m, out=None)[m], executors=["numpy"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(jitted(-X, X < 1), np.sqrt(X[:1]))


def test_long_comprehensions_run_eagerly():
    x = np.arange(20_000.0)
    check(lambda x: sum(v for _, v in [divmod(a, 7) for a in x]), (x,))


# Shapes that are arrays


@pytest.mark.parametrize(
    "function",
    [
        lambda n: np.ones(n),
        lambda n: np.full(n + 0, 3),
        lambda n: np.arange(6).reshape(n),
        lambda n: np.broadcast_to(3, n),
        lambda n: np.ones(n[np.delete(np.arange(2), 0)]),
    ],
)
def test_shapes_that_are_arrays(function):
    check(function, (np.array([2, 3]),), (np.array([3, 2]),))


def test_a_view_in_a_shape_that_is_an_array():
    def f(x, n):
        np.reshape(x, n)[0] = 7
        return x

    check(f, (X, np.array([2, 2])), (np.arange(4), np.array([4])))


@pytest.mark.parametrize(
    "function",
    [
        lambda g, n: (g.random(n).shape, g.random()),
        lambda g, n: g.multinomial(1, [0.5, 0.5], n),
        lambda g, n: (g.permutation(n), g.choice(n, 3), g.poisson(n), g.integers(n)),
        lambda g, n: g.integers(0, n, n),
    ],
)
def test_shapes_of_draws_that_are_arrays(function):
    check(function, (np.random.default_rng(0), np.array([2, 3])), (np.random.default_rng(1), np.array([3, 2])))


# What only NumPy makes of its arguments


@pytest.mark.parametrize(
    "function",
    [
        lambda n, x: str(np.datetime64(n, "D")),
        lambda n, x: np.complex64(n, 2),
        lambda n, x: x.astype(np.float32, casting="same_value"),
        lambda n, x: np.arange(start=3, stop=9) + n,
        lambda n, x: np.arange("2010-01-05", "2010-01-10", dtype="M8[D]").tolist(),
        lambda n, x: np.array([n, 2**80]).tolist(),
        lambda n, x: np.array([2**63]),
        lambda n, x: np.bincount(x.astype(np.uint64)),
        lambda n, x: np.pad(x, 1, "mean", stat_length=0),
        lambda n, x: np.dtype([("a", "f4", x.astype(int) + 1)]),
        lambda n, x: np.recarray(2, formats="i4,f8", names="id,x", buf=x).tolist(),
        lambda n, x: np.multiply.reduce(x.astype(int), initial="ab", dtype=np.dtypes.StringDType),
        lambda n, x: x.__array_function__(func=lambda v: v * 2, types=(np.ndarray,), args=(x,), kwargs={}),
        lambda n, x: list(map(float.hex, x)),
        lambda n, x: repr(np.poly1d([n, 2])),
        lambda n, x: np.r_["x, x"].tolist(),
        lambda n, x: np.broadcast_to(x[0], 2**62).shape,
        lambda n, x: x + sys.flags.optimize + sys.version_info.major,
    ],
)
def test_what_only_numpy_makes(function):
    check(function, (5, X))


def test_lists_that_hold_themselves():
    def f():
        items = []
        items.append(items)
        return np.array([items, items], dtype=object).ndim

    check(f, ())


def test_setting_a_dtype():
    def f(x):
        y = x.copy()
        y.dtype = np.int64
        return y

    check(f, (X,))
