"""What NumPy's own tests found, each test function jitted whole (``tools/conformance``): the smallest programs, jitted and eager."""

import collections.abc
import copy
import functools
import itertools
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import tnp
from tests.sampling import EVERYTHING, some_of
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


def test_signs_of_zeros_and_nans_in_constants():
    def f(x):
        zeros = np.array([0 - 2j, complex(-0.0, 1), complex(1, -0.0), complex(1, 0.0)])
        return (
            x + complex(0.0, -2.0),
            zeros.real,
            np.signbit(zeros.imag),
            np.signbit(np.array([np.nan, -np.nan])),
        )

    for executors in (None, ["numpy"]):
        assert_same(tnp.jit(f, executors=executors)(np.zeros(2, complex)), f(np.zeros(2, complex)))


class ArrayLike:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, o: np.add(o, x), lambda x, o: o * np.float32(3), lambda x, o: np.intersect1d(ArrayLike(x), ArrayLike(x)), lambda x, o: np.mean(o),
        lambda x, o: x + ArrayLike(x), lambda x, o: np.asarray(ArrayLike(x)) + x,
    ],
)  # fmt: skip
def test_objects_that_numpy_asks_for_an_array(function):
    check(function, (X, ArrayLike([1.0, 2.0, 3.0, 4.0])))


def test_warnings_that_somebody_records():
    def told(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            y = np.log(x) * 2 + 1
            z = y / x - y
        return len(found), z

    def raised(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return np.sqrt(x) + np.log(x) * 2
            except RuntimeWarning:
                return x

    for function in (told, raised):
        check(function, (X - 1,), (X + 1,))


def test_writes_of_library_functions_into_numbers_that_are_what_they_write():
    from numpy.lib import recfunctions

    def f(x):
        a, b = np.array(3), np.array(0)
        recfunctions.assign_fields_by_name(b, a)
        return b[()] + x

    check(f, (X,))


def test_states_of_generators_that_values_depend_on():
    def f():
        rng = np.random.RandomState(4)
        state = rng.get_state()
        before = rng.tomaxint(4)
        rng.set_state(state)
        if (before == rng.tomaxint(4)).all():
            return before
        return None

    def g():
        rng = np.random.default_rng(3)
        return "Generator" in repr(rng), str(rng)[:9], rng.normal()

    check(f, ())
    check(g, ())


def test_ids_do_not_leave_a_part():
    def f(n):
        a = np.arange(n).reshape(-1, 2).astype(float)
        before = id(a)
        b = np.ones((2, 2)) @ a.T
        compile("1", "", "eval")  # Python's
        a @= np.ones((2, 2))
        return id(a) == before, a, b

    check(f, (20_000,))


def test_effects_of_wrapped_methods_of_c_happen_once(tmp_path):
    def f(file, x):
        file.write(b"abc")
        return x + 1

    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        with pytest.warns(tnp.EagerFallbackWarning):
            tnp.jit(f)(file, X)
        file.flush()
        assert Path(file.name).read_bytes() == b"abc"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(2, 2).flatten("f"), lambda x: np.reshape(x, (2, 2), order="f"), lambda x: np.array(x, copy=np._CopyMode.IF_NEEDED),
        lambda x: bytes(x.astype(np.uint8)), lambda x: np.partition(x[::-1], range(2)), lambda x: x.clip(1, 2, np.empty(4)),
        lambda x: np.ravel_multi_index((x.astype(np.uint64),), (9,)), lambda x: np.frexp(x, np.empty(4), None)[0], lambda x: [x + 10**400, x][1],
    ],
)  # fmt: skip
def test_arguments_of_kinds_that_only_some_functions_take(function):
    check(function, (X,))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1), (), (0,)])
def test_no_axis_of_methods_that_take_one(shape):
    a = (np.ones(shape),)
    check(lambda a: np.add.accumulate(a, axis=None), a)
    check(lambda a: np.hypot.accumulate(a, None), a)
    check(lambda a: np.add.reduceat(a, [0], axis=None), a)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "bitwise_or", "logical_and", "logical_xor", "less", "hypot"]
)
def test_out_of_another_dtype_than_a_method_of_a_ufunc_computes_in(name, method):
    """NumPy keeps partial results in it, each converted: the largest of [-7, 300] into uint8 is 249."""
    rest, shape = {"reduce": ((), ()), "accumulate": ((), 3), "reduceat": (([0, 1],), 2)}[method]

    def f(a, out):
        return getattr(getattr(np, name), method)(a, *rest, out=out)

    dtypes, number = [np.dtype(c) for c in "?bBilLfdF"], len(name) + len(method)
    both = [*itertools.product(dtypes, dtypes)]
    for own, other in both if EVERYTHING else [d for i, d in enumerate(both) if (i // 9 + i + number) % 3 == 0]:
        with np.errstate(invalid="ignore"):
            a = np.array([3, -7, 300]).astype(own)
        check(f, (a, np.zeros(shape, other)))


def test_span_of_bools_into_an_array():
    check(lambda a, out: np.ptp(a, out=out), (X > 1, np.zeros((), np.int8)))
    check(lambda a, out: np.ptp(a, out=out), (X > 1, np.zeros((), bool)))


@pytest.mark.parametrize("positions", [[[1, 0], [7, 7]], [[1, 2**63 + 1], [2, 3]], [[1, 2**64 - 1], [2, 3]]])
def test_positions_of_uint64(positions):
    positions = np.array(positions, np.uint64)
    check(lambda p: np.ravel_multi_index(p, (5, 8)), (positions,))
    check(lambda p: np.ravel_multi_index(p, (5, 8), mode=("wrap", "clip")), (positions,))
    check(lambda p: np.unravel_index(p[0], (5, 8)), (positions,))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (2, 3)])
def test_functions_by_element_of_arrays_without_any(shape):
    def f(x):
        found = []
        for signature, otypes in itertools.product((None, "()->()", "(n)->(n)", "()->(n)"), (None, "i")):
            by_element = np.vectorize(lambda x: x, signature=signature, otypes=otypes)
            try:
                found.append(by_element(x))
            except ValueError as error:
                found.append(str(error))
        return found

    check(f, (np.ones(shape),))


def test_the_name_of_a_function_by_element():
    def f(x):
        @np.vectorize(signature="(n)->(n)", otypes=["float64"])
        def g(x):
            """Its argument."""
            return x

        return g(x), g.__name__, g.__doc__

    check(f, (X,))


def test_arrays_of_integers_that_are_no_int64():
    small, large = [1, 2], [2477551240072187391, 9577394838764454085]
    calls = [(X, *pair) for pair in (small, large, small[::-1], large[::-1], [-1, large[1]])]
    for ordered in (calls, calls[::-1]):
        check(lambda a, n, m: (np.array([n, m]), np.array(m)), *ordered)
        check(lambda a, n, m: np.array([n, m]) * 0.5, *ordered)
        check(lambda a, n, m: np.full(3, m), *ordered)
        check(lambda a, n, m: np.where(a > 1, m, 0), *ordered)


@pytest.mark.parametrize(
    ("number", "function"),
    [*enumerate([
        lambda a, n: np.union1d(a, n), lambda a, n: np.roll(a, n), lambda a, n: np.pad(a, 1, constant_values=n),
        lambda a, n: np.nan_to_num(a, nan=n), lambda a, n: np.repeat(a, abs(n) % 7), lambda a, n: np.tile(a, abs(n) % 7),
    ])],
)  # fmt: skip
def test_numbers_of_other_kinds_than_the_array(number, function):
    numbers = (2, -1, 300, True, 1j, np.uint64(2), np.array(2, np.uint64), np.array([1, 2**64 - 1, 200], np.uint64))
    for dtype in some_of((np.uint8, np.uint64, np.float32, np.int8), number, 2):
        check(function, *((np.array([3, 0, 2], dtype), n) for n in numbers))


def test_slopes_over_coordinates_that_are_bools():
    check(lambda f, x: np.gradient(f, x), (np.array([3, 0, 2]), np.array([True, False, True])))
